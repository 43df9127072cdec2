"""Evaluate event expressions by their definition, with memoization and a budget.

With plain=True nothing is remembered and every expression is evaluated by its clause in denote.py. The default saves
time in three ways, none of which changes the result: the meaning of an expression over a history is computed once;
bindings of names that do not occur in an expression are dropped; and prefix(E) runs a state machine (continuations.py)
instead of searching through possible futures. `python -m proofs_tests.campaigns.expressions` compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.continuations import ExpressionLetter, Machine, words
from cerify.semantics.event_expressions.denote import (
    NOTHING_BOUND,
    Bindings,
    Events,
    History,
    choices,
    clause,
    find_scope_variables,
    from_on,
    in_scope,
    names_in,
    places_of,
    require_start_first,
)
from cerify.semantics.event_expressions.syntax import Relation, Row, brief
from cerify.semantics.events import Event, Match, Stream


def takes_place(E: expr.Expression, S: Stream, budget: Budget = Budget(), *, plain: bool = False) -> frozenset[int]:
    """Return the positions of S at which E takes place: E[h] for the history h of all of S.

    With `plain`, the clauses of the definition are followed without shortcuts. Raises BudgetExceeded, Unsupported.
    """
    return ExpressionInterpreter(E, S, budget, plain=plain).events()


def matches_of(E: expr.Expression, S: Stream, budget: Budget = Budget()) -> list[Match]:
    """Return one match for each position at which E takes place, in order. Raises BudgetExceeded, Unsupported."""
    return [Match(e, (e,)) for e in sorted(takes_place(E, S, budget))]


class ExpressionInterpreter:
    """Computes the meaning of an expression's parts over one stream; the clauses use it as their context.

    budget.valuations limits the total number of events in the histories to which expressions are applied, counted again
    for each application. The error names the innermost expression that used more than half of this limit at once.
    """

    def __init__(self, E: expr.Expression, S: Stream, budget: Budget = Budget(), *, plain: bool = False) -> None:
        require_start_first(S)
        self.order = places_of(S)
        self.budget = budget
        self.plain = plain
        self.history: History = tuple(range(len(S)))
        self.whole = E.body if isinstance(E, expr.Let) else E
        definitions = E.definitions if isinstance(E, expr.Let) else ()
        self.definitions: Mapping[str, expr.ExpressionDefinition] = {d.name: d for d in definitions}
        self._events = list(S)  # the events of the stream, and then the events of possible futures
        self._counted = 0
        self._spent: BudgetExceeded | None = None
        self._meanings: dict[tuple[int, History, Bindings], Events] = {}
        self._names: dict[int, frozenset[str]] = {}
        self._machines: dict[tuple[int, Bindings], Machine] = {}
        self._alive: dict[int, expr.Expression] = {}  # keys are identities, which are reused once an object is gone

    def events(self) -> Events:
        """Return the positions at which the whole expression takes place."""
        return in_scope(self.whole, (), self.history, NOTHING_BOUND, self)

    def event(self, e: int) -> Event:
        """Return the event at a position."""
        return self._events[e]

    def meaning(self, E: expr.Expression, h: History, b: Bindings) -> Events:
        """Return E[h] under the bindings b. Raises BudgetExceeded, Unsupported."""
        if not self.plain:
            b = self._about(E, b)
            if (remembered := self._meanings.get((id(E), h, b))) is not None:
                return remembered
        before = self._counted
        try:
            self._count(len(h))
            if self.plain:
                return clause(E, h, b, self)
            events = self._viable_prefixes(E, h, b) if isinstance(E, expr.Prefix) else clause(E, h, b, self)
        except BudgetExceeded as error:
            if error is not self._spent or 2 * (self._counted - before) <= self.budget.valuations:
                raise
            raise BudgetExceeded(f"{brief(E)}: {error.message}", E.span) from None
        except RecursionError:
            raise BudgetExceeded("the expression is nested too deeply", E.span) from None
        self._alive[id(E)] = E
        self._meanings[id(E), h, b] = events
        return events

    def continuations(self, E: expr.Expression, h: History, b: Bindings) -> Iterator[History]:
        """Yield histories that begin with h, as `Context.continuations` promises."""
        for word in words(E, b, self.definitions, self.order, self.budget):
            begin = len(self._events)
            self._events.extend(word)
            yield (*h, *range(begin, len(self._events)))

    def _viable_prefixes(self, E: expr.Prefix, h: History, b: Bindings) -> Events:
        """Return the events of h after which the operand can still take place, found by an automaton."""
        F = E.operand
        values = frozenset(pair for pair in b if pair[1][0] != "position")
        if (machine := self._machines.get((id(F), values))) is None:
            machine = Machine(F, values, self.definitions, self.order, self.budget)
            self._machines[id(F), values] = machine
        found = set()
        state = machine.initial
        for e in h:
            at_e = frozenset(x for x, to in b if to == ("position", e))
            state = machine.step(state, ExpressionLetter(self.event(e), at_e))
            if machine.may_accept(state):
                found.add(e)
        return frozenset(found)

    def _about(self, E: expr.Expression, b: Bindings) -> Bindings:
        """Return the bindings of the names that occur in E, because the meaning of E does not depend on other names."""
        if not b:
            return b
        if (names := self._names.get(id(E))) is None:
            self._alive[id(E)] = E
            names = self._names[id(E)] = names_in(E)
        return frozenset(pair for pair in b if pair[0] in names)

    def _count(self, more: int) -> None:
        self._counted += more
        check_time()
        if self._counted > self.budget.valuations:
            self._spent = BudgetExceeded(
                f"expressions were applied to more than {self.budget.valuations} events in all; the interpreter "
                "follows the definition and is slow by design: use a shorter stream, or raise the budget",
                self.whole.span,
            )
            raise self._spent


# ---------------------------------------------------------------------------------------------------------------------
# The compatible tuples: the events at which an expression takes place, each with the values of the attribute variables
# for which it does (vldb92, section 6.1).
#
# Each choice of values gives one expression (section 6.2), and one row for each event at which that expression takes
# place. The variables are those that occur in several places, or in the head of the definition that ends the text. A
# variable that occurs in a single place does not constrain anything.


def compatible(E: expr.Expression, S: Stream, budget: Budget = Budget(), *, plain: bool = False) -> Relation:
    """Return the events of S at which E takes place, each with the values for which it does. Raises BudgetExceeded."""
    context = ExpressionInterpreter(E, S, budget, plain=plain)
    body, h = context.whole, context.history
    variables = find_scope_variables(body, ())
    rows: set[Row] = set()
    for b, earliest in choices(body, (), h, NOTHING_BOUND, context):
        values = tuple(dict(b)[X] for X in variables)
        rows.update((e, values) for e in from_on(earliest, context.meaning(body, h, b)))
    return Relation(variables, frozenset(rows))
