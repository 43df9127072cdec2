"""A state machine for prefix(E), with which the interpreter saves the search through histories to come.

An expression distinguishes only finitely many pasts; a state stands for one of them. Each case of _step reads one
event: from a state to the next, and whether the expression takes place at that event. The state None is that before the
first event. The definition of prefix is in denote.py, and does not use this module.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeAlias, assert_never

from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.bindings import Bindings, value_of
from cerify.semantics.event_expressions.continuations import letters
from cerify.semantics.event_expressions.denote import is_occurrence, passed
from cerify.semantics.event_expressions.derived import definition
from cerify.semantics.event_expressions.history import Places
from cerify.semantics.event_expressions.scope import free_variables
from cerify.semantics.events import Event
from cerify.semantics.predicates import satisfied

State: TypeAlias = Any
"""None, True, or tuples and frozen sets of states."""

SILENT = "silent"  # of F /+ E: no delimiter yet


class Letter(NamedTuple):
    """An event, and the correlation variables that are at it."""

    event: Event
    variables: frozenset[str] = frozenset()


@dataclass
class Machine:
    """Reads histories for one expression, under values of its attribute variables."""

    E: expr.Expression
    b: Bindings
    definitions: Mapping[str, expr.Definition]
    order: Places
    budget: Budget = field(default_factory=Budget)
    initial: ClassVar[State] = None

    def __post_init__(self) -> None:
        self._require_small()
        self._letters = letters(self.E, self.b, self.definitions, self.order, self.budget)
        self._futures: dict[tuple[int, Bindings, State], bool] = {}
        self._instead: dict[int, expr.Expression] = {}

    def step(self, state: State, letter: Letter) -> State:
        """The state after one more event."""
        return self._step(self.E, state, letter, self.b)[0]

    def may_accept(self, state: State) -> bool:
        """Whether the expression can take place at an event to come. Raises BudgetExceeded."""
        return self._may_accept(self.E, state, self.b)

    def events(self, h: tuple[Letter, ...]) -> frozenset[int]:
        """The numbers of the letters at which the expression takes place."""
        found, state = set(), self.initial
        for e, letter in enumerate(h):
            state, here = self._step(self.E, state, letter, self.b)
            if here:
                found.add(e)
        return frozenset(found)

    def _step(self, E: expr.Expression, state: State, letter: Letter, b: Bindings) -> tuple[State, bool]:
        if isinstance(E, expr.Derived):
            return self._step_derived(E, state, letter, b)
        match E:
            case expr.Null():
                return None, False
            case expr.Primitive():
                return None, is_occurrence(E, letter.event, b, self.order)
            case expr.Constraint(comparison):
                return None, satisfied(comparison, lambda X: value_of(X.name, b))
            case expr.Variable(x):
                return None, x in letter.variables
            case expr.Equated(F, x):
                q, here = self._step(F, state, letter, b)
                return q, here and x in letter.variables
            case expr.Not(F):
                q, here = self._step(F, state, letter, b)
                return q, not here
            case expr.And(left, right):
                q1, q2 = state or (None, None)
                q1, here = self._step(left, q1, letter, b)
                q2, too = self._step(right, q2, letter, b)
                return (q1, q2), here and too
            case expr.Relative((left, right)):  # the right begins anew after each event of the left
                q1, running = state or (None, frozenset())
                q1, ends = self._step(left, q1, letter, b)
                after, here = self._step_all(right, running, letter, b)
                return (q1, after | {None} if ends else after), here
            case expr.Relative():
                return self._step(self._expansion(E), state, letter, b)
            case expr.RelativePlus(F):
                after, here = self._step_all(F, state or frozenset({None}), letter, b)
                return after | {None} if here else after, here
            case expr.Exists(x, F):  # x is still to come; or it is this event; or it has been
                to_come, been = state or (None, frozenset())
                elsewhere = Letter(letter.event, letter.variables - {x})
                been, before = self._step_all(F, been, elsewhere, b)
                q, now = self._step(F, to_come, Letter(letter.event, letter.variables | {x}), b)
                return (self._step(F, to_come, elsewhere, b)[0], been | {q}), before or now
            case expr.Named(name, arguments):
                return self._step(self._body(E), state, letter, passed(self.definitions[name].parameters, arguments, b))
            case expr.Let():
                raise ValueError("definitions stand at the beginning of a text, not inside an expression")
            case _:
                assert_never(E)

    def _step_derived(self, E: expr.Derived, state: State, letter: Letter, b: Bindings) -> tuple[State, bool]:
        match E:
            case expr.AnyEvent():
                return None, letter.event.type != expr.START
            case expr.First():
                return True, state is None
            case expr.Pipe(left, right):  # the right sees the events of the left
                q1, q2 = state or (None, None)
                q1, seen = self._step(left, q1, letter, b)
                q2, here = self._step(right, q2, letter, b) if seen else (q2, False)
                return (q1, q2), here
            case expr.Between(left, right):  # the left begins anew after each event of the right
                q1, q2 = state or (SILENT, None)
                q2, delimits = self._step(right, q2, letter, b)
                if delimits or q1 == SILENT:
                    return (None if delimits else q1, q2), False
                q1, here = self._step(left, q1, letter, b)
                return (q1, q2), here
            case expr.Nth(n, F):
                count, q = state or (0, None)
                q, here = self._step(F, q, letter, b)
                return (min(n, count + here), q), here and count == n - 1
            case expr.EveryNth(n, F):
                count, q = state or (0, None)
                q, here = self._step(F, q, letter, b)
                return ((count + here) % n, q), here and count == n - 1
            case expr.Prefix(F):
                q, _ = self._step(F, state, letter, b)
                return q, self._may_accept(F, q, b)
            case expr.Or() | expr.Prior() | expr.Sequence() | expr.After() | expr.FirstAfter():
                return self._step(self._expansion(E), state, letter, b)
            case expr.Before() | expr.Happened() | expr.Series():
                return self._step(self._expansion(E), state, letter, b)
            case _:
                assert_never(E)

    def _step_all(
        self, E: expr.Expression, states: frozenset[State], letter: Letter, b: Bindings
    ) -> tuple[frozenset[State], bool]:
        stepped = [self._step(E, q, letter, b) for q in states]
        return frozenset(q for q, _ in stepped), any(here for _, here in stepped)

    def _may_accept(self, E: expr.Expression, state: State, b: Bindings) -> bool:
        key = (id(E), b, state)
        if key not in self._futures:
            self._futures[key] = self._reaches(E, state, b)
        return self._futures[key]

    def _reaches(self, E: expr.Expression, state: State, b: Bindings) -> bool:
        """Whether some events from the state on make E take place."""
        pending, seen = deque([state]), {state}
        while pending:
            check_time()
            q = pending.popleft()
            for event in self._letters:
                following, here = self._step(E, q, Letter(event), b)
                if here:
                    return True
                if following not in seen:
                    seen.add(following)
                    pending.append(following)
            if len(seen) > self.budget.states:
                raise BudgetExceeded(f"prefix distinguishes more than {self.budget.states} histories", E.span)
        return False

    def _body(self, E: expr.Named) -> expr.Expression:
        """The body of the definition, in which correlation variables that nothing binds are bound."""
        if (body := self._instead.get(id(E))) is None:
            body = self.definitions[E.name].body
            for x in sorted(free_variables(body)):
                body = expr.Exists(x, body)
            self._instead[id(E)] = body
        return body

    def _expansion(self, E: expr.Expression) -> expr.Expression:
        if (instead := self._instead.get(id(E))) is None:
            found = definition(E)
            assert found is not None, E
            instead = self._instead[id(E)] = found
        return instead

    def _require_small(self) -> None:
        """Raises BudgetExceeded where names that use names several times make the expression too large."""
        sizes: dict[str, int] = {}

        def size(E: expr.Expression) -> int:
            return sum(sizes[F.name] if isinstance(F, expr.Named) else 1 for F in expr.subexpressions(E))

        for name, definition_ in self.definitions.items():
            sizes[name] = size(definition_.body)
        if size(self.E) > self.budget.states:
            raise BudgetExceeded(
                f"without its names the expression has more than {self.budget.states} operators", self.E.span
            )
