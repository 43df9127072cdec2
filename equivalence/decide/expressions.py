"""Decide equivalence, containment and satisfiability of event expressions for all histories.

The minimal automata of two expressions are compared over the types of events that they distinguish together. A
difference is a shortest history, replayed with the reference evaluator. A proof is the relation of the states that the
two automata reach together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from typing import TypeAlias

from cerify.automata.dfa.compile import (
    ArgumentOrder,
    ArgumentPosition,
    argument_places,
    compile_expression,
    compile_together,
    grounded,
    kinded,
    order_under,
    ranging_variables,
    with_terms,
)
from cerify.automata.dfa.model import DFA, accepted_word, separating_word, stream_of, types_under, uncontained_word
from cerify.automata.exploration import explore
from cerify.equivalence.decide.replay import replay_expressions
from cerify.equivalence.verdict import Certificate, Claim, Contained, Different, Equivalent, Undecided
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.predicates import Attribute, Comparison, Constant
from cerify.semantics.values import Value, ValueType, kind

# ---------------------------------------------------------------------------------------------------------------------
# Compare event expressions with attribute variables: find a proof that they agree for all values, or a difference.
#
# A proof. Replace each variable by an attribute that all events have (a(X) is a[n = X] for the first attribute n of a).
# If E and F are then equivalent, they are equivalent for each choice of values: give each event of the history these
# values. If the variables also get their values from the same places, E and F take place for the same choices. For
# containment it is enough that E's places are among F's.
#
# A difference. Over a few values there are finitely many choices, and an expression is the disjunction of its instances
# for all choices. A history on which the automata of two such disjunctions differ is a difference. If all variables get
# their values from Boolean attributes, two values are all values, so finding no difference is a proof.

EACH = 3  # at least so many values of a variable are tried to find a difference


def body_of(E: expr.Expression) -> expr.Expression:
    """Return the expression without its definitions."""
    return E.body if isinstance(E, expr.Let) else E


def sources(E: expr.Expression) -> dict[str, frozenset[ArgumentPosition]]:
    """Return, for each attribute variable, the arguments of events from which it gets its values.

    An argument is given by the event type and its index.
    """
    definitions = {d.name: d for d in E.definitions} if isinstance(E, expr.Let) else {}
    places = argument_places(body_of(E), definitions)
    return {X: places.get(X, frozenset()) for X in ranging_variables(body_of(E))}


def pairings(
    E: expr.Expression, F: expr.Expression, claim: Claim, schema: Schema, budget: Budget
) -> Iterator[tuple[expr.Expression, expr.Expression, Schema]]:
    """Yield the two expressions with their variables replaced by attributes, each time with a schema that has these
    attributes.

    Each variable of F is paired with a variable of E that gets its values from the same arguments. For containment,
    some of these arguments are enough. Raises Unsupported for prefix and constraints.
    """
    left, right = sources(E), sources(F)
    types: dict[str, ValueType] = {}
    names = {X: _fresh(X, schema) for X in left}
    for X, where in left.items():
        value_types = {schema.attributes[name] for _, name in attributes_of({X: where}, schema)}
        if len(value_types) != 1:
            raise Unsupported(f"the attributes that {X} stands for have different types", E.span)
        types[names[X]] = value_types.pop()
    wider = Schema({T: {**attributes, **types} for T, attributes in schema.types.items()})
    for chosen_ones in product(left, repeat=len(right)):
        pairs = [(left[X], right[Y]) for X, Y in zip(chosen_ones, right, strict=True)]
        if claim == "equivalent":
            fits = sorted(chosen_ones) == sorted(left) and all(p == q for p, q in pairs)
        else:
            fits = all(p <= q for p, q in pairs)
        if fits:
            renamed = {Y: names[X] for X, Y in zip(chosen_ones, right, strict=True)}
            yield _as_attributes(E, names, schema, budget), _as_attributes(F, renamed, schema, budget), wider


def _fresh(X: str, schema: Schema) -> str:
    while X in schema.attributes:
        X += "_"
    return X


def _as_attributes(E: expr.Expression, names: Mapping[str, str], schema: Schema, budget: Budget) -> expr.Expression:
    def decide(comparison: Comparison) -> bool:
        raise Unsupported(
            "no difference was found, but cerify cannot prove equivalence of expressions with constraints", E.span
        )

    if any(isinstance(F, expr.Prefix) for F in expr.subexpressions(E)):
        raise Unsupported(
            "no difference was found, but cerify cannot prove equivalence of expressions with prefix", E.span
        )
    definitions = {d.name: d for d in E.definitions} if isinstance(E, expr.Let) else {}
    terms = {X: Attribute(name) for X, name in names.items()}
    return with_terms(body_of(E), terms, decide, definitions, order_under(schema), budget)


def values_for(E: expr.Expression, F: expr.Expression) -> dict[ValueType, list[Value]]:
    """Return some values of each type: all constants of the two expressions, and others."""
    named: list[Value] = []
    for G in (*expr.subexpressions(E), *expr.subexpressions(F)):
        match G:
            case expr.Primitive(_, given) | expr.ExpressionNamed(_, given):
                named += [argument.value for argument in given if isinstance(argument, Constant)]
            case expr.Constraint(Comparison(_, left, right)):
                named += [side.value for side in (left, right) if isinstance(side, Constant)]
    few: dict[ValueType, list[Value]] = {
        "bool": [False, True],
        "int": list(range(EACH)),
        "float": [float(n) for n in range(EACH)],
        "string": list("xyz"),
    }
    for value_type, pool in few.items():
        if value_type != "bool":
            pool += [v for v in named if kind(v) == kind(pool[0])]
    return few


def over_values(
    E: expr.Expression, schema: Schema, pools: Mapping[ValueType, Sequence[Value]], budget: Budget
) -> expr.Expression:
    """Return E restricted to histories in which its variables have only these values.

    pools: the values of each type. Raises Unsupported, BudgetExceeded.
    """
    definitions = {d.name: d for d in E.definitions} if isinstance(E, expr.Let) else {}
    order, where = order_under(schema), sources(E)
    found: list[expr.Expression] = []
    for values in product(*(_pool(where[X], schema, pools) for X in where)):
        ground = grounded(body_of(E), dict(zip(where, values, strict=True)), definitions, order, budget)
        seen = (expr.Happened(_has(where[X], v, order)) for X, v in zip(where, values, strict=True))
        found.append(reduce(expr.ExpressionAnd, seen, ground))
        if len(found) > budget.states:
            raise BudgetExceeded("there are too many choices of values; use fewer variables or constants", E.span)
    return reduce(expr.ExpressionOr, found) if found else expr.Null()


def attributes_of(where: Mapping[str, frozenset[ArgumentPosition]], schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield the (event type, attribute) pairs that these arguments stand for in the schema."""
    order = order_under(schema)
    return ((T, order[T][k]) for found in where.values() for T, k in sorted(found) if k < len(order.get(T, ())))


def _pool(
    where: frozenset[ArgumentPosition], schema: Schema, pools: Mapping[ValueType, Sequence[Value]]
) -> list[Value]:
    types = {schema.attributes[name] for _, name in attributes_of({"": where}, schema)}
    if unknown := types - pools.keys():
        raise Unsupported(f"cerify has no example values of the type {', '.join(sorted(unknown))} to search with")
    return list({kinded(v): v for value_type in sorted(types) for v in pools[value_type]}.values())


def _has(where: frozenset[ArgumentPosition], v: Value, order: ArgumentOrder) -> expr.Expression:
    """Return the expression for an event that gives the variable this value."""
    masked: list[expr.Expression] = [
        expr.Primitive(T, (), Comparison("=", Attribute(order[T][k]), Constant(v)))
        for T, k in sorted(where)
        if k < len(order.get(T, ()))
    ]
    return reduce(expr.ExpressionOr, masked) if masked else expr.Null()


NEEDS_SCHEMA = "an expression has attribute variables; give a schema, which says what the arguments stand for"
ExpressionVerdict: TypeAlias = Equivalent | Contained | Different | Undecided


def equivalent(
    E: expr.Expression, F: expr.Expression, schema: Schema | None = None, budget: Budget = Budget()
) -> ExpressionVerdict:
    """Decide whether E and F take place at the same events of every history, or of every history of the schema."""
    return _compared(E, F, "equivalent", schema, budget)


def contained(
    E: expr.Expression, F: expr.Expression, schema: Schema | None = None, budget: Budget = Budget()
) -> ExpressionVerdict:
    """Decide whether F takes place wherever E does."""
    return _compared(E, F, "contained", schema, budget)


def shortest_history(E: expr.Expression, schema: Schema | None = None, budget: Budget = Budget()) -> Stream | None:
    """Return a shortest history at whose last event E takes place; None if there is none.

    With attribute variables only a few values are tried. Raises Unsupported if no history with these values is found,
    or if z3 cannot decide the masks; BudgetExceeded.
    """
    if sources(E):
        return _over_a_few(E, schema, budget)
    A = compile_expression(E, schema, budget)
    events = types_under(A.alphabet, schema, budget)
    word = accepted_word(A, events, budget)
    return None if word is None else stream_of(word, events, schema)


def _over_a_few(E: expr.Expression, schema: Schema | None, budget: Budget) -> Stream:
    if schema is None:
        raise Unsupported(NEEDS_SCHEMA, E.span)
    A = compile_expression(over_values(E, schema, values_for(E, E), budget), schema, budget)
    events = types_under(A.alphabet, schema, budget)
    if (word := accepted_word(A, events, budget)) is None:
        raise Unsupported(
            "no history over a few values was found on which the expression takes place; others may exist", E.span
        )
    return stream_of(word, events, schema)


def _compared(
    E: expr.Expression, F: expr.Expression, claim: Claim, schema: Schema | None, budget: Budget
) -> ExpressionVerdict:
    try:
        if sources(E) or sources(F):
            return _for_values(E, F, claim, schema, budget)
        A, B = compile_together([E, F], schema, budget)
        return _searched(E, F, A, B, claim, schema, budget)
    except (Unsupported, BudgetExceeded) as error:
        return Undecided(error.message)


def _for_values(
    E: expr.Expression, F: expr.Expression, claim: Claim, schema: Schema | None, budget: Budget
) -> ExpressionVerdict:
    """Return a difference over a few values, or a proof for all values; see `pairings`."""
    if schema is None:
        raise Unsupported(NEEDS_SCHEMA)
    pools = values_for(E, F)
    G, H = over_values(E, schema, pools, budget), over_values(F, schema, pools, budget)
    A, B = compile_together([G, H], schema, budget)
    sources_of = [*attributes_of(sources(E), schema), *attributes_of(sources(F), schema)]
    if {schema.attributes[name] for _, name in sources_of} <= {"bool"}:
        return _searched(G, H, A, B, claim, schema, budget)
    separate = separating_word if claim == "equivalent" else uncontained_word
    types = types_under(A.alphabet, schema, budget)
    events = {a: event for a, event in types.items() if _within(event, sources_of, schema, pools)}
    if (word := separate(A, B, events, budget)) is not None:
        return replay_expressions(E, F, stream_of(word, events, schema), claim, False, budget)
    for left, right, wider in pairings(E, F, claim, schema, budget):
        A, B = compile_together([left, right], wider, budget)
        verdict = _searched(left, right, A, B, claim, wider, budget)
        if isinstance(verdict, Equivalent | Contained):
            return verdict
    return Undecided(
        "with a few values of their variables the expressions do not differ, but cerify cannot prove that they never do"
    )


def _within(
    event: Event | None, sources_of: list[tuple[str, str]], schema: Schema, pools: Mapping[ValueType, Sequence[Value]]
) -> bool:
    """Return whether the event gives the variables only these values."""
    if event is None:
        return False
    given = ((name, event.get(name)) for T, name in sources_of if event.type == T)
    return all(v is None or v in pools[schema.attributes[name]] for name, v in given)


def _searched(
    E: expr.Expression, F: expr.Expression, A: DFA, B: DFA, claim: Claim, schema: Schema | None, budget: Budget
) -> ExpressionVerdict:
    separate = separating_word if claim == "equivalent" else uncontained_word
    events = types_under(A.alphabet, schema, budget)
    word = separate(A, B, events, budget)
    if word is None:
        relation = tuple(((p,), (q,)) for p, q in _together(A, B, set(events), budget))
        certificate = Certificate(claim, show(E), show(F), "events", schema, False, relation, "event-expression")
        answer = Equivalent if claim == "equivalent" else Contained
        return answer(certificate, (len(A.following), len(B.following)))
    shown = {a for a, event in events.items() if event is not None}
    shortest = shown.issuperset(word)
    if not shortest:  # an event of the word may not exist; a longer word may have only events that exist
        word = separate(A, B, shown, budget)
    if word is None:
        return Undecided(
            "z3 could not decide whether an event type is possible; compare attributes with constants in the masks"
        )
    return replay_expressions(E, F, stream_of(word, events, schema), claim, shortest, budget)


def _together(A: DFA, B: DFA, types: set[int], budget: Budget) -> list[tuple[int, int]]:
    """Return the pairs of states that some history leads A and B to. Raises BudgetExceeded."""

    def successors(pair: tuple[int, int]) -> list[tuple[int, tuple[int, int]]]:
        coming = A.alphabet.coming if pair != (0, 0) else range(len(A.alphabet.types))
        return [(a, (A.step(pair[0], a), B.step(pair[1], a))) for a in sorted(types.intersection(coming))]

    return list(explore([(0, 0)], successors, budget.states, "the pairs of states of the two automata"))
