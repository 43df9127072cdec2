"""The meaning of event expressions one event at a time, and what may still come of it.

prefix(E) asks for all histories to come (vldb92, section 2.3, o). An expression distinguishes only finitely many pasts;
a state says which one it is. Each case of step reads one event: from a state to the next, and whether the expression
takes place at that event. A state of None is that of nothing read yet.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple, TypeAlias

from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.alphabet import letters
from cerify.semantics.event_expressions.derived import definition
from cerify.semantics.events import Event
from cerify.semantics.predicates import holds

State: TypeAlias = Any
"""None, True, or tuples and frozen sets of states."""

SILENT = "silent"  # of F /+ E: no delimiter yet


class Letter(NamedTuple):
    """An event, and the correlation variables that are at it."""

    event: Event
    variables: frozenset[str] = frozenset()


class Machine:
    """Reads histories for one expression without names and attribute variables."""

    initial: State = None

    def __init__(self, E: expr.Expression, budget: Budget = Budget()) -> None:
        self.E = E
        self.budget = budget
        self._letters: tuple[Event, ...] | None = None
        self._futures: dict[tuple[int, State], bool] = {}
        self._definitions: dict[int, expr.Expression] = {}

    def step(self, state: State, letter: Letter) -> State:
        """The state after one more event."""
        return self._step(self.E, state, letter)[0]

    def may_accept(self, state: State) -> bool:
        """Whether the expression may take place at an event to come. Raises BudgetExceeded, Unsupported."""
        return self._may_accept(self.E, state)

    def events(self, h: tuple[Letter, ...]) -> frozenset[int]:
        """The numbers of the letters at which the expression takes place."""
        found, state = set(), self.initial
        for e, letter in enumerate(h):
            state, here = self._step(self.E, state, letter)
            if here:
                found.add(e)
        return frozenset(found)

    def _step(self, E: expr.Expression, state: State, letter: Letter) -> tuple[State, bool]:
        match E:
            case expr.Null():
                return None, False
            case expr.Primitive(T, (), mask):
                return None, letter.event.type == T and (mask is None or holds(mask, letter.event))
            case expr.AnyEvent():
                return None, letter.event.type != expr.START
            case expr.First():
                return True, state is None
            case expr.Variable(x):
                return None, x in letter.variables
            case expr.Equated(F, x):
                q, here = self._step(F, state, letter)
                return q, here and x in letter.variables
            case expr.Not(F):
                q, here = self._step(F, state, letter)
                return q, not here
            case expr.And(left, right):
                q1, q2 = state or (None, None)
                q1, here = self._step(left, q1, letter)
                q2, too = self._step(right, q2, letter)
                return (q1, q2), here and too
            case expr.Relative((left, right)):  # the right begins anew after each event of the left
                q1, running = state or (None, frozenset())
                q1, ends = self._step(left, q1, letter)
                after, here = self._step_all(right, running, letter)
                return (q1, after | {None} if ends else after), here
            case expr.RelativePlus(F):
                after, here = self._step_all(F, state or frozenset({None}), letter)
                return after | {None} if here else after, here
            case expr.Pipe(left, right):  # the right sees the events of the left
                q1, q2 = state or (None, None)
                q1, seen = self._step(left, q1, letter)
                q2, here = self._step(right, q2, letter) if seen else (q2, False)
                return (q1, q2), here
            case expr.Between(
                left, right
            ):  # the left begins anew after each event of the right, and only that one goes on
                q1, q2 = state or (SILENT, None)
                q2, delimits = self._step(right, q2, letter)
                if delimits or q1 == SILENT:
                    return (None if delimits else q1, q2), False
                q1, here = self._step(left, q1, letter)
                return (q1, q2), here
            case expr.Nth(n, F):
                count, q = state or (0, None)
                q, here = self._step(F, q, letter)
                return (min(n, count + here), q), here and count == n - 1
            case expr.EveryNth(n, F):
                count, q = state or (0, None)
                q, here = self._step(F, q, letter)
                return ((count + here) % n, q), here and count == n - 1
            case expr.Prefix(F):
                q, _ = self._step(F, state, letter)
                return q, self._may_accept(F, q)
            case expr.Exists(x, F):  # x is still to come; or it is this event; or it has been
                to_come, been = state or (None, frozenset())
                elsewhere = Letter(letter.event, letter.variables - {x})
                been, before = self._step_all(F, been, elsewhere)
                q, now = self._step(F, to_come, Letter(letter.event, letter.variables | {x}))
                return (self._step(F, to_come, elsewhere)[0], been | {q}), before or now
            case _:
                return self._step(self._definition(E), state, letter)

    def _step_all(self, E: expr.Expression, states: frozenset[State], letter: Letter) -> tuple[frozenset[State], bool]:
        stepped = [self._step(E, q, letter) for q in states]
        return frozenset(q for q, _ in stepped), any(here for _, here in stepped)

    def _may_accept(self, E: expr.Expression, state: State) -> bool:
        key = (id(E), state)
        if key not in self._futures:
            self._futures[key] = self._reaches(E, state)
        return self._futures[key]

    def _reaches(self, E: expr.Expression, state: State) -> bool:
        """Whether some events from the state on make E take place."""
        if self._letters is None:
            self._letters = letters(self.E, self.budget)
        pending, seen = deque([state]), {state}
        while pending:
            q = pending.popleft()
            for event in self._letters:
                following, here = self._step(E, q, Letter(event))
                if here:
                    return True
                if following not in seen:
                    seen.add(following)
                    pending.append(following)
            if len(seen) > self.budget.states:
                raise BudgetExceeded(f"prefix has to tell more than {self.budget.states} histories apart", E.span)
        return False

    def _definition(self, E: expr.Expression) -> expr.Expression:
        if (known := self._definitions.get(id(E))) is None:
            short_for = definition(E)
            if short_for is None:
                raise Unsupported("prefix needs an expression without attribute variables", E.span)
            known = self._definitions[id(E)] = short_for
        return known
