"""Compile event expressions to minimal automata: vldb92, section 3, with correlation variables also under negation.

An event expression is a regular language of histories: E takes place at an event if the history up to it is in the
language. The constructions follow the paper, except where the printed one is wrong (`F /+ E`, `prefix`, and `!` on an
automaton that comes back to its initial state). The docstring of a derived operator names its item in the paper.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TypeAlias, assert_never

from cerify.automata.algebra.finite import Algebra
from cerify.automata.dfa.model import DFA, Alphabet, Names, built, coaccessible_states
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.syntax import KindedValue, brief
from cerify.semantics.events import TIME, Schema, Stream
from cerify.semantics.predicates import Attribute, Both, Comparison, Constant, OfType, Predicate, Term, satisfied
from cerify.semantics.values import Value, kind

# ---------------------------------------------------------------------------------------------------------------------
# Find the variables of a resolved expression for the automata: vldb92, sections 5 and 6.
#
# The reference evaluator has its own code for this, in semantics/event_expressions/denote.py. The two are independent.

ArgumentPosition: TypeAlias = tuple[str, int]
"""An event type, and the 0-based number of one of its arguments."""

ArgumentPositions: TypeAlias = Mapping[str, frozenset[ArgumentPosition]]
"""The places of each attribute variable; a variable without places may be missing."""


def unbound_variables(E: expr.Expression) -> tuple[str, ...]:
    """Return the correlation variables that E uses but does not bind by `exists`, sorted (vldb92, section 5,
    1 to 7).
    """
    found: set[str] = set()
    pending: list[tuple[expr.Expression, frozenset[str]]] = [(E, frozenset())]
    while pending:
        F, bound = pending.pop()
        match F:
            case expr.Exists(x, _):
                bound |= {x}
            case expr.Equated(_, x) | expr.ExpressionVariable(x):
                found |= {x} - bound
        pending.extend((G, bound) for G in expr.children(F))
    return tuple(sorted(found))


def ranging_variables(body: expr.Expression, parameters: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the attribute variables of an expression that range over all values, sorted (vldb92, section 6.2).

    body: the expression, or the body of a definition. parameters: the parameters of this definition. They are left out,
    because the caller chooses their values. A variable that occurs only once, as an argument of a primitive event, is
    left out too, because it constrains nothing: "if the same variable appears in multiple places in an expression, it
    constrains the corresponding values to be identical". A variable in a constraint, or passed to a definition, is
    included.
    """
    once: set[str] = set()
    ranging: set[str] = set()
    for F in expr.subexpressions(body):
        match F:
            case expr.Primitive(_, arguments):
                for X in arguments:
                    if isinstance(X, str):
                        (ranging if X in once else once).add(X)
            case expr.ExpressionNamed(_, arguments):
                ranging.update(X for X in arguments if isinstance(X, str))
            case expr.Constraint(comparison):
                sides = (comparison.left, comparison.right)
                ranging.update(side.name for side in sides if isinstance(side, Attribute))
    return tuple(sorted(ranging.difference(parameters)))


def variable_names(E: expr.Expression) -> frozenset[str]:
    """Return the names of all correlation and attribute variables in E, bound or not."""
    found: set[str] = set()
    for F in expr.subexpressions(E):
        match F:
            case expr.Primitive(_, arguments) | expr.ExpressionNamed(_, arguments):
                found.update(X for X in arguments if isinstance(X, str))
            case expr.Constraint(comparison):
                sides = (comparison.left, comparison.right)
                found.update(side.name for side in sides if isinstance(side, Attribute))
            case expr.ExpressionVariable(x) | expr.Equated(_, x) | expr.Exists(x, _):
                found.add(x)
    return frozenset(found)


def argument_places(body: expr.Expression, definitions: Mapping[str, expr.ExpressionDefinition]) -> ArgumentPositions:
    """Return for each attribute variable of an expression its positions: pairs (event type, index of the argument).

    If the expression passes a variable to a definition, its positions in the definition are included. definitions: by
    name, each after the definitions that it uses.
    """
    of_parameters: dict[str, tuple[frozenset[ArgumentPosition], ...]] = {}
    for name, definition in definitions.items():
        inside = _places(definition.body, of_parameters)
        of_parameters[name] = tuple(inside.get(X, frozenset()) for X in definition.parameters)
    return _places(body, of_parameters)


def _places(
    body: expr.Expression, of_parameters: Mapping[str, Sequence[frozenset[ArgumentPosition]]]
) -> ArgumentPositions:
    found: defaultdict[str, frozenset[ArgumentPosition]] = defaultdict(frozenset)
    for F in expr.subexpressions(body):
        match F:
            case expr.Primitive(T, arguments):
                for k, X in enumerate(arguments):
                    if isinstance(X, str):
                        found[X] |= {(T, k)}
            case expr.ExpressionNamed(name, arguments):
                for X, where in zip(arguments, of_parameters[name], strict=True):
                    if isinstance(X, str):
                        found[X] |= where
    return found


# ---------------------------------------------------------------------------------------------------------------------
# The attribute that each argument of a primitive event stands for (vldb92, section 6: attributes are positional).

ArgumentOrder: TypeAlias = Mapping[str, tuple[str, ...]]
"""The attributes of each event type except the time, in the order of the arguments."""


def order_under(schema: Schema | None) -> ArgumentOrder:
    """Return the order in which the schema lists attributes; empty without a schema."""
    return {} if schema is None else {T: tuple(filter(TIME.__ne__, names)) for T, names in schema.types.items()}


def order_in(S: Stream) -> ArgumentOrder:
    """Return the order of attributes in the stream's schema; without a schema, the order of their first occurrence."""
    if S.schema is not None:
        return order_under(S.schema)
    columns: dict[str, set[str]] = {}  # the types of each attribute
    types: dict[str, None] = {}
    for event in S:
        types[event.type] = None
        for name in event.attributes:
            columns.setdefault(name, set()).add(event.type)
    return {T: tuple(name for name, having in columns.items() if T in having and name != TIME) for T in types}


def kinded(v: Value) -> KindedValue:
    """Return the pair (kind, value), because 1 and true are equal in Python but different here."""
    return kind(v), v


# ---------------------------------------------------------------------------------------------------------------------
# One expression for one choice of values (vldb92, section 6.2): names and attribute variables are replaced.

EVERY_EVENT = expr.ExpressionNot(expr.Null())

Terms: TypeAlias = Mapping[str, Constant | Attribute]
"""The terms that attribute variables stand for; a missing variable constrains nothing."""

Decide: TypeAlias = Callable[[Comparison], bool]
"""Whether a constraint between terms is true."""


def grounded(
    E: expr.Expression,
    values: Mapping[str, Value],
    definitions: Mapping[str, expr.ExpressionDefinition],
    order: ArgumentOrder,
    budget: Budget = Budget(),
) -> expr.Expression:
    """Return E without names of definitions and without arguments.

    Names are replaced by their definitions, and arguments by conditions on attributes. values: the value of each
    attribute variable. Raises Unsupported if a definition has its own attribute variables, because there would be an
    expression for each value. Raises BudgetExceeded if the expression becomes too large, because definitions use others
    several times.
    """
    terms = {X: Constant(v) for X, v in values.items()}
    return with_terms(E, terms, _is_true, definitions, order, budget)


def with_terms(
    E: expr.Expression,
    terms: Terms,
    decide: Decide,
    definitions: Mapping[str, expr.ExpressionDefinition],
    order: ArgumentOrder,
    budget: Budget = Budget(),
) -> expr.Expression:
    """Same as `grounded`, but replaces each variable by a term instead of a value: a constant or another attribute.

    decide: a function that returns whether a constraint between terms is true.
    """
    found = tried_with_terms(E, terms, decide, definitions, order, budget)
    if isinstance(found, Unsupported):
        raise found
    return found


def tried_with_terms(
    E: expr.Expression,
    terms: Terms,
    decide: Decide,
    definitions: Mapping[str, expr.ExpressionDefinition],
    order: ArgumentOrder,
    budget: Budget = Budget(),
) -> expr.Expression | Unsupported:
    """Same as `with_terms`, but returns Unsupported instead of raising it. Raises BudgetExceeded."""
    grounding = _Grounding(decide, definitions, order, budget)
    found = grounding.expression(E, terms)
    return grounding.refused or found


def _is_true(comparison: Comparison) -> bool:
    return satisfied(comparison, lambda X: None)


@dataclass
class _Grounding:
    """Replaces names and arguments in an expression.

    refused: the first reason for a failure; if it is not None, all results are invalid.
    """

    decide: Decide
    definitions: Mapping[str, expr.ExpressionDefinition]
    order: ArgumentOrder
    budget: Budget
    nodes: int = field(default=0, init=False)
    refused: Unsupported | None = field(default=None, init=False)

    def expression(self, E: expr.Expression, terms: Terms) -> expr.Expression:
        self.nodes += 1
        check_time()
        if self.nodes > self.budget.states:
            raise BudgetExceeded(
                f"with its names written out, the expression has more than {self.budget.states} operators", E.span
            )
        match E:
            case expr.Primitive():
                return replace(E, arguments=(), mask=self._mask(E, terms))
            case expr.Constraint(Comparison(comparator, left, right)):
                comparison = Comparison(comparator, _side(left, terms), _side(right, terms))
                return EVERY_EVENT if self.decide(comparison) else expr.Null()
            case expr.ExpressionNamed():
                return self._body(E, terms)
        return expr.rebuilt(E, tuple(self.expression(F, terms) for F in expr.children(E)))

    def _body(self, E: expr.ExpressionNamed, terms: Terms) -> expr.Expression:
        definition = self.definitions[E.name]
        if own := ranging_variables(definition.body, definition.parameters):
            names = ", ".join(own)
            why = f"{E.name} takes place for each value of {names}, and the number of values has no limit"
            self.refused = self.refused or Unsupported(f"{why}; make {names} parameters of {E.name}", E.span)
            return E
        given = zip(definition.parameters, E.arguments, strict=True)
        inner = {X: term for X, argument in given if (term := _term(argument, terms)) is not None}
        body = self.expression(definition.body, inner)
        # The correlation variables of a definition are its own. Bound here, they cannot meet those around the name.
        for x in unbound_variables(body):
            body = expr.Exists(x, body, span=E.span)
        return body

    def _mask(self, E: expr.Primitive, terms: Terms) -> Predicate | None:
        names = self.order.get(E.type, ())
        mask = E.mask
        for k, argument in enumerate(E.arguments):
            if (term := _term(argument, terms)) is None:
                continue
            if k >= len(names):
                why = f"the attribute for argument {k + 1} of {E.type} is unknown. Give the stream a schema"
                self.refused = self.refused or Unsupported(why, E.span)
                return mask
            test = Comparison("=", Attribute(names[k]), term)
            mask = test if mask is None else Both(mask, test)
        return mask


def _term(argument: expr.Argument, terms: Terms) -> Constant | Attribute | None:
    return argument if isinstance(argument, Constant) else terms.get(argument)


def _side(side: Term, terms: Terms) -> Term:
    return terms.get(side.name, side) if isinstance(side, Attribute) else side


# ---------------------------------------------------------------------------------------------------------------------
# An expression that is a single name, replaced by the body of its definition.
#
# rehired(Z) := sequence(fire(X), hire(X, Y, Z)) has a variable X of its own. Where such a name is the whole
# expression, X ranges over the same values inside the definition and around it, so that the body can stand for the
# name.


@dataclass(frozen=True)
class Inlined:
    """An expression, the definitions that it uses, and its attribute variables that range over values.

    visible: the variables in the text of the expression. local: the variables inside the definitions.
    """

    body: expr.Expression
    definitions: Mapping[str, expr.ExpressionDefinition]
    visible: tuple[str, ...]
    local: tuple[str, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """Return all variables that range over values, the visible ones first."""
        return self.visible + self.local


def inlined(E: expr.Expression) -> Inlined:
    """Separate the expression from its definitions.

    If the expression consists of a single name, the result has the body of the name's definition instead; if that body
    is a single name, again, and so on.
    """
    definitions = {d.name: d for d in E.definitions} if isinstance(E, expr.Let) else {}
    body = E.body if isinstance(E, expr.Let) else E
    visible, local = ranging_variables(body), tuple[str, ...]()
    while isinstance(body, expr.ExpressionNamed):
        definition = definitions[body.name]
        inside = ranging_variables(definition.body, definition.parameters)
        names = variable_names(definition.body)
        taken = {*visible, *local, *inside, *names}
        terms: dict[str, expr.Argument] = dict(zip(definition.parameters, body.arguments, strict=True))
        for X in inside:
            terms[X] = X if X not in (*visible, *local) else _fresh(X, taken)
        # A variable that occurs once constrains nothing; under the name of an outer variable it would.
        single = {X for X in names if X in (*visible, *local) and X not in terms}
        terms.update((X, _fresh(X, taken)) for X in single)
        local = (*local, *(str(terms[X]) for X in inside))
        body = _renamed(definition.body, terms)
    return Inlined(body, definitions, visible, local)


def _fresh(X: str, taken: set[str]) -> str:
    while X in taken:
        X += "'"
    taken.add(X)
    return X


def _renamed(E: expr.Expression, terms: Mapping[str, expr.Argument]) -> expr.Expression:
    """Return the expression with its attribute variables replaced by other variables, or by values."""

    def renamed(argument: expr.Argument) -> expr.Argument:
        return terms.get(argument, argument) if isinstance(argument, str) else argument

    def term(side: Term) -> Term:
        if not isinstance(side, Attribute):
            return side
        found = renamed(side.name)
        return found if isinstance(found, Constant) else Attribute(found)

    match E:
        case expr.Primitive(_, given) | expr.ExpressionNamed(_, given):
            return replace(E, arguments=tuple(map(renamed, given)))
        case expr.Constraint(Comparison(comparator, left, right)):
            return replace(E, comparison=Comparison(comparator, term(left), term(right)))
    return expr.rebuilt(E, tuple(_renamed(F, terms) for F in expr.children(E)))


# ---------------------------------------------------------------------------------------------------------------------
# The derived operators on automata: vldb92, section 2.3, built from the text and not from their definitions.
#
# Each result is about as small as a product of the operands' automata; the definitions would need subsets of states. A
# and B are the automata of the operands, in their order. The tests decide that the results equal the definitions.

# ---------------------------------------------------------------------------------------------------------------------
# The constructions, operator by operator.

Pair: TypeAlias = tuple[int, int]


def prior(A: DFA, B: DFA, budget: Budget) -> DFA:
    """Build prior(A, B) (vldb92, section 2.3, item c): an event of B after one of A; both read the whole history.

    A flag in each state records whether A has occurred.
    """

    def step(q: tuple[int, int, bool], a: int, here: Names) -> tuple[int, int, bool]:
        return A.step(q[0], a, here), B.step(q[1], a, here), q[2] or q[0] in A.accepting

    def accepts(q: tuple[int, int, bool]) -> bool:
        return q[2] and q[1] in B.accepting

    return built(A.alphabet, A.variables | B.variables, (0, 0, False), step, accepts, budget)


def sequence(A: DFA, B: DFA, budget: Budget) -> DFA:
    """Build sequence(A, B) (vldb92, section 2.3, item e): an event of B directly after one of A.

    A flag in each state records whether the preceding event was one of A.
    """

    def step(q: tuple[int, int, bool], a: int, here: Names) -> tuple[int, int, bool]:
        return A.step(q[0], a, here), B.step(q[1], a, here), q[0] in A.accepting

    def accepts(q: tuple[int, int, bool]) -> bool:
        return q[2] and q[1] in B.accepting

    return built(A.alphabet, A.variables | B.variables, (0, 0, False), step, accepts, budget)


def after(A: DFA, B: DFA, budget: Budget) -> DFA:
    """Build `A / B` (vldb92, section 2.3, item j): A on the history that follows the first event of B.

    Each state is a state of A or of B.
    """

    def step(q: tuple[bool, int], a: int, here: Names) -> tuple[bool, int]:
        if q[0]:
            return True, A.step(q[1], a, here)
        p = B.step(q[1], a, here)
        return (True, 0) if p in B.accepting else (False, p)

    return built(
        A.alphabet, A.variables | B.variables, (False, 0), step, lambda q: q[0] and q[1] in A.accepting, budget
    )


def first_after(opening: DFA, event: DFA, closing: DFA, budget: Budget) -> DFA:
    """Build firstAfter (vldb92, section 2.3, item l): `event` after the last `opening`, with no `closing` in between.

    Each occurrence of `opening` restarts the automata of `event` and `closing`. A flag in each state records whether
    `closing` has occurred since.
    """

    def step(q: tuple[int, Pair | None, bool], a: int, here: Names) -> tuple[int, Pair | None, bool]:
        p, running, closed = opening.step(q[0], a, here), q[1], q[2]
        if p in opening.accepting:
            return p, (0, 0), False
        if running is None:
            return p, None, False
        closed = closed or running[1] in closing.accepting
        return p, (event.step(running[0], a, here), closing.step(running[1], a, here)), closed

    def accepts(q: tuple[int, Pair | None, bool]) -> bool:
        return q[1] is not None and q[1][0] in event.accepting and not q[2]

    variables = opening.variables | event.variables | closing.variables
    before: tuple[int, Pair | None, bool] = (0, None, False)
    return built(opening.alphabet, variables, before, step, accepts, budget)


def before(A: DFA, budget: Budget) -> DFA:
    """Build before(A) (vldb92, section 2.3, item m): every event after the first event of A."""

    def step(q: tuple[int, bool], a: int, here: Names) -> tuple[int, bool]:
        return (0, True) if q[1] or q[0] in A.accepting else (A.step(q[0], a, here), False)

    return built(A.alphabet, A.variables, (0, False), step, lambda q: q[1], budget)


def happened(A: DFA, budget: Budget) -> DFA:
    """Build happened(A) (vldb92, section 2.3, item n): the first event of A and every event after it."""

    def step(q: int | None, a: int, here: Names) -> int | None:
        p = None if q is None else A.step(q, a, here)
        return None if p in A.accepting else p

    initial: int | None = 0
    return built(A.alphabet, A.variables, initial, step, lambda q: q is None, budget)


def series(A: DFA, B: DFA, budget: Budget) -> DFA:
    """Build `A * B` (vldb92, section 2.3, item p): an event of B preceded only by events of A.

    The state None means that another event came before.
    """

    def step(q: tuple[Pair, bool] | None, a: int, here: Names) -> tuple[Pair, bool] | None:
        if q is None or not q[1]:
            return None
        p = A.step(q[0][0], a, here)
        return (p, B.step(q[0][1], a, here)), p in A.accepting

    def accepts(q: tuple[Pair, bool] | None) -> bool:
        return q is not None and q[0][1] in B.accepting

    nothing_yet: tuple[Pair, bool] | None = ((0, 0), True)
    return built(A.alphabet, A.variables | B.variables, nothing_yet, step, accepts, budget)


NOWHERE: Names = frozenset()


def compile_expression(E: expr.Expression, schema: Schema | None = None, budget: Budget = Budget()) -> DFA:
    """Return the minimal automaton that accepts a history if E takes place at its last event.

    Raises BudgetExceeded, and Unsupported if E has attribute variables, because each value needs its own automaton.
    """
    return compile_together([E], schema, budget)[0]


def compile_together(
    expressions: Sequence[expr.Expression], schema: Schema | None = None, budget: Budget = Budget()
) -> tuple[DFA, ...]:
    """Return the minimal automata of some expressions over one alphabet: expressions are equivalent if and only if
    their automata are equal.

    Raises the errors of `compile_expression`.
    """
    return automata_of([_ground(E, schema, budget) for E in expressions], budget)


def automata_of(
    expressions: Sequence[expr.Expression], budget: Budget = Budget(), solver: bool = True
) -> tuple[DFA, ...]:
    """Return the minimal automata, over one alphabet, of expressions without names and attribute variables.

    Free correlation variables are bound by an outermost `exists`. Without the solver, the alphabet may have types that
    no event can have.
    """
    closed = list(map(_closed, expressions))
    compiler = _Compiler(_alphabet(closed, budget, solver), budget)
    return tuple(compiler.automaton(E) for E in closed)


def _ground(E: expr.Expression, schema: Schema | None, budget: Budget) -> expr.Expression:
    """Return E without names and arguments."""
    definitions = {d.name: d for d in E.definitions} if isinstance(E, expr.Let) else {}
    body = E.body if isinstance(E, expr.Let) else E
    if own := ranging_variables(body):
        raise Unsupported(
            f"one automaton cannot evaluate the variables {', '.join(own)}: each value needs its own automaton",
            body.span,
        )
    return grounded(body, {}, definitions, order_under(schema), budget)


def _closed(E: expr.Expression) -> expr.Expression:
    for x in unbound_variables(E):
        E = expr.Exists(x, E, span=E.span)
    return E


def _alphabet(expressions: Sequence[expr.Expression], budget: Budget, solver: bool) -> Alphabet:
    """Return the types of events that the expressions distinguish, and the predicate of the start event."""
    predicates = {_predicate(F) for E in expressions for F in expr.subexpressions(E) if isinstance(F, expr.Primitive)}
    # Sorted, because the order of a set differs between processes, and saved states contain the numbers of states.
    algebra = Algebra((OfType(expr.START), *sorted(predicates, key=repr)), budget, solver=solver)
    return Alphabet(tuple(algebra.generators), algebra.atoms)


def _predicate(E: expr.Primitive) -> Predicate:
    return OfType(E.type) if E.mask is None else Both(OfType(E.type), E.mask)


class _Compiler:
    """The construction for each operator, over one alphabet."""

    def __init__(self, alphabet: Alphabet, budget: Budget) -> None:
        self.alphabet = alphabet
        self.budget = budget
        self._reported: BudgetExceeded | None = None

    def automaton(self, E: expr.Expression) -> DFA:
        """Return the minimal automaton of E. It reads at which events the free variables of E are."""
        try:
            return self._automaton(E)
        except RecursionError:
            raise BudgetExceeded("the expression is nested too deeply", E.span) from None

    def _automaton(self, E: expr.Expression) -> DFA:
        """Return the automaton of E. If it is too large, the error names the innermost expression that is too large."""
        try:
            return self._construction(E)
        except BudgetExceeded as error:
            if error is self._reported:
                raise
            self._reported = BudgetExceeded(f"{brief(E)}: {error.message}", E.span)
            raise self._reported from None

    def _construction(self, E: expr.Expression) -> DFA:
        match E:
            case expr.Null():  # 1
                return built(self.alphabet, NOWHERE, None, lambda q, a, here: None, lambda q: False, self.budget)
            case expr.Primitive():  # 2
                i = self.alphabet.predicates.index(_predicate(E))
                accepted = frozenset(a for a, t in enumerate(self.alphabet.types) if i in t.chosen)
                return built(self.alphabet, NOWHERE, False, lambda q, a, here: a in accepted, bool, self.budget)
            case expr.ExpressionVariable(x):
                return built(self.alphabet, frozenset({x}), False, lambda q, a, here: x in here, bool, self.budget)
            case expr.AnyEvent():
                coming = frozenset(self.alphabet.coming)
                return built(self.alphabet, NOWHERE, False, lambda q, a, here: a in coming, bool, self.budget)
            case expr.First():
                return built(self.alphabet, NOWHERE, 0, lambda q, a, here: min(q + 1, 2), lambda q: q == 1, self.budget)
            case expr.Equated(F, x):
                return self._automaton(expr.ExpressionAnd(F, expr.ExpressionVariable(x)))
            case expr.ExpressionNot(F):  # 4: accepting and not accepting exchanged
                A = self._automaton(F)
                return built(self.alphabet, A.variables, 0, A.step, lambda q: q not in A.accepting, self.budget)
            case expr.ExpressionAnd(left, right):  # 3
                return self._product(self._automaton(left), self._automaton(right), True)
            case expr.ExpressionOr(left, right):
                return self._product(self._automaton(left), self._automaton(right), False)
            case expr.Relative(parts):
                return reduce(self._relative, map(self._automaton, parts))
            case expr.RelativePlus(F):
                return self._relative_plus(self._automaton(F))
            case expr.Pipe(left, right):
                return self._pipe(self._automaton(left), self._automaton(right))
            case expr.Nth(n, F):
                return self._nth(n, self._automaton(F))
            case expr.EveryNth(n, F):
                return self._every(n, self._automaton(F))
            case expr.ExpressionBetween(left, right):
                return self._between(self._automaton(left), self._automaton(right))
            case expr.Prefix(F):
                return self._prefix(self._automaton(F))
            case expr.Exists(x, F):
                return self._exists(x, self._automaton(F))
            case expr.Prior(parts):
                return reduce(lambda A, B: prior(A, B, self.budget), map(self._automaton, parts))
            case expr.Sequence(parts):
                return reduce(lambda A, B: sequence(A, B, self.budget), map(self._automaton, parts))
            case expr.After(left, right):
                return after(self._automaton(left), self._automaton(right), self.budget)
            case expr.FirstAfter(opening, event, closing):
                opens, takes_place, closes = map(self._automaton, (opening, event, closing))
                return first_after(opens, takes_place, closes, self.budget)
            case expr.Before(F):
                return before(self._automaton(F), self.budget)
            case expr.Happened(F):
                return happened(self._automaton(F), self.budget)
            case expr.ExpressionSeries(left, right):
                return series(self._automaton(left), self._automaton(right), self.budget)
            case expr.Constraint() | expr.ExpressionNamed() | expr.Let():
                raise Unsupported("an automaton cannot evaluate names and attribute variables", E.span)
            case _:
                assert_never(E)

    def _product(self, A: DFA, B: DFA, both: bool) -> DFA:
        def step(q: tuple[int, int], a: int, here: Names) -> tuple[int, int]:
            return A.step(q[0], a, here), B.step(q[1], a, here)

        def accepts(q: tuple[int, int]) -> bool:
            left, right = q[0] in A.accepting, q[1] in B.accepting
            return left and right if both else left or right

        return built(self.alphabet, A.variables | B.variables, (0, 0), step, accepts, self.budget)

    def _relative(self, A: DFA, B: DFA) -> DFA:
        """Build relative(A, B), construction 5 of vldb92: each accepting state of A also leads to the beginning of
        B.
        """

        def step(q: tuple[int, frozenset[int]], a: int, here: Names) -> tuple[int, frozenset[int]]:
            p = A.step(q[0], a, here)
            # B begins after the event at which A takes place, so its initial state joins after this step.
            running = frozenset(B.step(r, a, here) for r in q[1])
            return p, running | {0} if p in A.accepting else running

        def accepts(q: tuple[int, frozenset[int]]) -> bool:
            return not q[1].isdisjoint(B.accepting)

        return built(self.alphabet, A.variables | B.variables, (0, frozenset[int]()), step, accepts, self.budget)

    def _relative_plus(self, A: DFA) -> DFA:
        """Build relative+(A), construction 6 of vldb92: each accepting state of A also leads to the beginning of A."""

        def step(q: frozenset[int], a: int, here: Names) -> frozenset[int]:
            running = frozenset(A.step(p, a, here) for p in q)
            return running if running.isdisjoint(A.accepting) else running | {0}

        def accepts(q: frozenset[int]) -> bool:
            return not q.isdisjoint(A.accepting)

        return built(self.alphabet, A.variables, frozenset({0}), step, accepts, self.budget)

    def _pipe(self, A: DFA, B: DFA) -> DFA:
        """Build `A | B`: B moves only on the events of A."""

        def step(q: tuple[int, int], a: int, here: Names) -> tuple[int, int]:
            p = A.step(q[0], a, here)
            return p, B.step(q[1], a, here) if p in A.accepting else q[1]

        def accepts(q: tuple[int, int]) -> bool:
            return q[0] in A.accepting and q[1] in B.accepting

        return built(self.alphabet, A.variables | B.variables, (0, 0), step, accepts, self.budget)

    def _nth(self, n: int, A: DFA) -> DFA:
        """Build `<n> A`: the state also counts the events of A, up to n + 1."""

        def step(q: tuple[int, int], a: int, here: Names) -> tuple[int, int]:
            p = A.step(q[0], a, here)
            return p, min(n + 1, q[1] + (p in A.accepting))

        return built(self.alphabet, A.variables, (0, 0), step, lambda q: q[0] in A.accepting and q[1] == n, self.budget)

    def _every(self, n: int, A: DFA) -> DFA:
        """Build `every <n> A`: the state also counts the events of A since the last one reported."""

        def step(q: tuple[int, int], a: int, here: Names) -> tuple[int, int]:
            p = A.step(q[0], a, here)
            return p, (q[1] + (p in A.accepting)) % n

        return built(self.alphabet, A.variables, (0, 0), step, lambda q: q[0] in A.accepting and q[1] == 0, self.budget)

    def _between(self, A: DFA, B: DFA) -> DFA:
        """Build `A /+ B`: A begins anew at each event of B. Unlike in the printed construction, B reads the whole
        history.
        """

        def step(q: tuple[int | None, int], a: int, here: Names) -> tuple[int | None, int]:
            p = B.step(q[1], a, here)
            if p in B.accepting:
                return 0, p
            return None if q[0] is None else A.step(q[0], a, here), p

        before: tuple[int | None, int] = (None, 0)
        variables = A.variables | B.variables
        return built(self.alphabet, variables, before, step, lambda q: q[0] in A.accepting, self.budget)

    def _prefix(self, A: DFA) -> DFA:
        """Build prefix(A): a state accepts if one or more events lead from it to an accepting state of A."""
        # A type without events could lead to acceptance; elsewhere such types only make automata larger.
        if any(minterm.witness is None for minterm in self.alphabet.types):
            raise Unsupported(
                "z3 could not decide which events satisfy the conditions; inside prefix, compare attributes "
                "with constants"
            )
        viable = coaccessible_states(A)
        return built(self.alphabet, A.variables, 0, A.step, lambda q: q in viable, self.budget)

    def _exists(self, x: str, A: DFA) -> DFA:
        """Build exists: track one state for an x still to come, and one state for each past x."""

        def step(q: tuple[int, frozenset[int]], a: int, here: Names) -> tuple[int, frozenset[int]]:
            been = frozenset(A.step(p, a, here - {x}) for p in q[1])
            return A.step(q[0], a, here - {x}), been | {A.step(q[0], a, here | {x})}

        def accepts(q: tuple[int, frozenset[int]]) -> bool:
            return not q[1].isdisjoint(A.accepting)

        return built(self.alphabet, A.variables - {x}, (0, frozenset[int]()), step, accepts, self.budget)
