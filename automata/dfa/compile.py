"""Compile event expressions to minimal automata: vldb92, section 3, with correlation variables also under negation.

An event expression is a regular language of histories: E takes place at an event if the history up to it is in the
language. The constructions follow the paper, except where the printed one is wrong (`F /+ E`, `prefix`, and `!` on an
automaton that comes back to its initial state). The docstring of a derived operator names its item in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TypeAlias, assert_never

from cerify.automata.algebra.finite import Algebra
from cerify.automata.dfa.model import DFA, Alphabet, Names, built, coaccessible_states
from cerify.automata.dfa.scopes import grounded, order_under, ranging_variables, unbound_variables
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.syntax import brief
from cerify.semantics.events import Schema
from cerify.semantics.predicates import Both, OfType, Predicate

# ---------------------------------------------------------------------------------------------------------------------
# The derived operators on automata: vldb92, section 2.3, built from the text and not from their definitions.
#
# Each result is about as small as a product of the operands' automata; the definitions would need subsets of states. A
# and B are the automata of the operands, in their order. The tests decide that the results equal the definitions.

Pair: TypeAlias = tuple[int, int]


def prior(A: DFA, B: DFA, budget: Budget) -> DFA:
    """Build prior(A, B), item (c) of section 2.3: an event of B after one of A; both read the whole history. A flag
    records whether A occurred.
    """

    def step(q: tuple[int, int, bool], a: int, here: Names) -> tuple[int, int, bool]:
        return A.step(q[0], a, here), B.step(q[1], a, here), q[2] or q[0] in A.accepting

    def accepts(q: tuple[int, int, bool]) -> bool:
        return q[2] and q[1] in B.accepting

    return built(A.alphabet, A.variables | B.variables, (0, 0, False), step, accepts, budget)


def sequence(A: DFA, B: DFA, budget: Budget) -> DFA:
    """Build sequence(A, B), item (e): an event of B directly after one of A. A flag records whether the preceding event
    was one of A.
    """

    def step(q: tuple[int, int, bool], a: int, here: Names) -> tuple[int, int, bool]:
        return A.step(q[0], a, here), B.step(q[1], a, here), q[0] in A.accepting

    def accepts(q: tuple[int, int, bool]) -> bool:
        return q[2] and q[1] in B.accepting

    return built(A.alphabet, A.variables | B.variables, (0, 0, False), step, accepts, budget)


def after(A: DFA, B: DFA, budget: Budget) -> DFA:
    """Build `A / B`, item (j): A on the rest of the history after the first event of B. Each state is one of A or B."""

    def step(q: tuple[bool, int], a: int, here: Names) -> tuple[bool, int]:
        if q[0]:
            return True, A.step(q[1], a, here)
        p = B.step(q[1], a, here)
        return (True, 0) if p in B.accepting else (False, p)

    return built(
        A.alphabet, A.variables | B.variables, (False, 0), step, lambda q: q[0] and q[1] in A.accepting, budget
    )


def first_after(opening: DFA, event: DFA, closing: DFA, budget: Budget) -> DFA:
    """Build firstAfter, item (l): each occurrence of `opening` restarts `event` and `closing`. A flag records whether
    `closing` has occurred since then.
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
    """Build before(A), item (m): every event after the first event of A. A is not read any further."""

    def step(q: tuple[int, bool], a: int, here: Names) -> tuple[int, bool]:
        return (0, True) if q[1] or q[0] in A.accepting else (A.step(q[0], a, here), False)

    return built(A.alphabet, A.variables, (0, False), step, lambda q: q[1], budget)


def happened(A: DFA, budget: Budget) -> DFA:
    """Build happened(A), item (n): the first event of A and every event after it."""

    def step(q: int | None, a: int, here: Names) -> int | None:
        p = None if q is None else A.step(q, a, here)
        return None if p in A.accepting else p

    initial: int | None = 0
    return built(A.alphabet, A.variables, initial, step, lambda q: q is None, budget)


def series(A: DFA, B: DFA, budget: Budget) -> DFA:
    """Build `A * B`, item (p): an event of B preceded only by events of A. The state None means that another event came
    before.
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

    Free correlation variables are bound by exists. Without the solver, the alphabet may have types that no event can
    have.
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
