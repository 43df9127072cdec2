"""Equivalence, containment and satisfiability of event expressions, for all histories.

The minimal automata of the two are compared over the types of events that they distinguish together. A difference is a
shortest history, replayed by the definition; a proof is the relation of the states that the two reach together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from cerify.automata.dfa.compile import compile_expression, compile_together
from cerify.automata.dfa.decide import accepted_word, separating_word, stream_of, types_under, uncontained_word
from cerify.automata.dfa.model import DFA
from cerify.automata.explore import explore
from cerify.equivalence.claim import Claim
from cerify.equivalence.decide.certificate import Certificate
from cerify.equivalence.decide.valued_expressions import attributes_of, over_values, pairings, sources, values_for
from cerify.equivalence.verdict import Contained, Different, Equivalent, Undecided
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, InternalError, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.show import show
from cerify.semantics.events import Event, Match, Schema, Stream
from cerify.semantics.values import Value, ValueType

NEEDS_SCHEMA = "with attribute variables, a schema has to say what the arguments stand for; give one"
ExpressionVerdict: TypeAlias = Equivalent | Contained | Different | Undecided


def equivalent(
    E: expr.Expression, F: expr.Expression, schema: Schema | None = None, budget: Budget = Budget()
) -> ExpressionVerdict:
    """Whether the two take place at the same events of every history, or of every history of the schema."""
    return _compared(E, F, "equivalent", schema, budget)


def contained(
    E: expr.Expression, F: expr.Expression, schema: Schema | None = None, budget: Budget = Budget()
) -> ExpressionVerdict:
    """Whether F takes place wherever E does."""
    return _compared(E, F, "contained", schema, budget)


def shortest_history(E: expr.Expression, schema: Schema | None = None, budget: Budget = Budget()) -> Stream | None:
    """A shortest history at whose last event E takes place, None if there is none at all.

    With attribute variables it is one over a few values. Raises Unsupported where there is none over these, or masks
    are beyond z3, and BudgetExceeded.
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
        raise Unsupported("it takes place on no history with a few values; there may be others", E.span)
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
    """A difference over a few values, or a proof for all of them; valued_expressions.py says how."""
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
        return _replayed(E, F, stream_of(word, events, schema), claim, False, budget)
    for left, right, wider in pairings(E, F, claim, schema, budget):
        A, B = compile_together([left, right], wider, budget)
        verdict = _searched(left, right, A, B, claim, wider, budget)
        if isinstance(verdict, Equivalent | Contained):
            return verdict
    return Undecided(
        "they do not differ over a few values, but no pairing of their variables proves that they never do"
    )


def _within(
    event: Event | None, sources_of: list[tuple[str, str]], schema: Schema, pools: Mapping[ValueType, Sequence[Value]]
) -> bool:
    """Whether the event gives the variables only such values."""
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
    if not shortest:  # an event of it may not exist; there may be a longer history of events that do
        word = separate(A, B, shown, budget)
    if word is None:
        return Undecided(
            "z3 returned unknown for an event type that matters; compare attributes with values in the masks"
        )
    return _replayed(E, F, stream_of(word, events, schema), claim, shortest, budget)


def _together(A: DFA, B: DFA, types: set[int], budget: Budget) -> list[tuple[int, int]]:
    """The pairs of states that the two are in after the same history. Raises BudgetExceeded."""

    def successors(pair: tuple[int, int]) -> list[tuple[int, tuple[int, int]]]:
        coming = A.alphabet.coming if pair != (0, 0) else range(len(A.alphabet.types))
        return [(a, (A.step(pair[0], a), B.step(pair[1], a))) for a in sorted(types.intersection(coming))]

    return list(explore([(0, 0)], successors, budget.states, "the pairs of states of the two automata"))


def _replayed(
    E: expr.Expression, F: expr.Expression, S: Stream, claim: Claim, shortest: bool, budget: Budget
) -> Different:
    """The difference at the last event, as the meaning has it. Raises InternalError if it is none."""
    e = len(S) - 1
    left, right = ((Match(e, (e,)),) if e in takes_place(G, S, budget) else () for G in (E, F))
    if left == right or (claim == "contained" and not left):
        raise InternalError(
            f"{show(E)} and {show(F)} were separated by {list(S)}, on which the definition finds no difference"
        )
    return Different(S, e, left, right, shortest)
