"""Runs of an NFA^b by their definition: sase07, appendix A.2. Every run is followed, move by move, without sharing or
pruning.

A run is a sequence of moves. Position j is the current event, or len(S) after the last one. There a run can still
follow a proceed edge, and all conditions on the missing event are false (docs/decisions/sase.md).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias, assert_never, get_args

from cerify.automata.nfab import model as nfab
from cerify.automata.nfab.compile import Identifier, compile_absence, compile_query, identifier
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.errors import BudgetExceeded, IllFormed, Unsupported
from cerify.semantics.events import TIME, Bindings, Event, Stream
from cerify.semantics.predicates import Attribute, satisfied
from cerify.semantics.readings import DECIDED, NO_OPERATIONS, Operation, Operations, Reading
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.syntax import BUILT_IN, RANKED, SaseAggregate
from cerify.semantics.values import Value, kind

# ---------------------------------------------------------------------------------------------------------------------
# The aggregates of SASE+, one event at a time: sase07, section 2.2.4 and footnote 3.
#
# A fold has a start, a step for one more value, and a result. A state is a number, a tuple of values, or None if the
# aggregate will have no value; a user's operation has states of its own types. The rules for absent values, kinds and
# NaN are those of the reference evaluator, semantics/sase/denote.py, but none of its code is used here.

State = Any


@dataclass(frozen=True, slots=True)
class Fold:
    """An aggregate, such as avg, computed value by value.

    start: the state before the first value. step: computes the state after one more value. result: the aggregate's
    value in a state.
    """

    start: State
    step: Callable[[State, Value], State]
    result: Callable[[State], Value | None]

    def add_event(self, state: State, event: Event, name: str) -> State:
        """Return the state after one more event. An absent attribute changes nothing; the name "" counts all events."""
        value = event.get(name) if name else 1
        return state if value is None else self.step(state, value)


def fold_of(aggregate: SaseAggregate, operations: Operations = NO_OPERATIONS) -> Fold:
    """Return how to compute an aggregate, such as avg, value by value.

    Raises Unsupported for a name that is not registered, and IllFormed for `highest` or `lowest` without a rank.
    """
    match aggregate.function:
        case "count":
            return Fold(0, _one_more, _itself)
        case "sum":
            return Fold(0, _added, _itself)
        case "avg":
            return Fold((0, 0), _added_and_counted, _mean)
        case "min":
            return _best(1, highest=False)
        case "max":
            return _best(1, highest=True)
        case "highest" | "lowest" as function:
            if not aggregate.parameter:
                raise IllFormed(f"{function} needs a rank: write {function}(3, …)")
            return _best(aggregate.parameter, highest=function == "highest")
        case name:
            if (operation := operations.get(name)) is None:
                known = ", ".join((*BUILT_IN, *RANKED, *sorted(operations)))
                raise Unsupported(f"the aggregate {name} is not registered; known are {known}")
            return _registered(name, operation)


def value_over(
    aggregate: SaseAggregate, events: Iterable[Event], operations: Operations = NO_OPERATIONS
) -> Value | None:
    """Return the value of an aggregate over some events; None if it has no value."""
    fold = fold_of(aggregate, operations)
    state = fold.start
    for event in events:
        state = fold.add_event(state, event, aggregate.name)
    return fold.result(state)


def _itself(state: State) -> Value | None:
    value: Value | None = state
    return value


def _one_more(state: State, value: Value) -> State:
    return state + 1


def _added(state: State, value: Value) -> State:
    if state is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return state + value
    except OverflowError:  # an integer beyond binary64 and a float
        return None


def _added_and_counted(state: State, value: Value) -> State:
    total, number = state
    return _added(total, value), number + 1


def _mean(state: State) -> Value | None:
    total, number = state
    if total is None or number == 0:
        return None
    try:
        mean: Value = total / number
    except OverflowError:
        return None
    return mean


def _best(k: int, highest: bool) -> Fold:
    """Return the fold for the k-th highest or lowest value. A state is the k best values, ascending, or NaN alone.

    Of equal values, such as 1 and 1.0, the earlier one is better.
    """

    def step(state: State, value: Value) -> State:
        if state is None or isinstance(value, bool) or (state and kind(state[0]) != kind(value)):
            return None
        if state and _is_nan(state[0]):
            return state
        if _is_nan(value):
            return (value,)
        at = (bisect_left if highest else bisect_right)(state, value)
        values = (*state[:at], value, *state[at:])
        return values[-k:] if highest else values[:k]

    def result(state: State) -> Value | None:
        if not state or (len(state) < k and not _is_nan(state[0])):
            return None
        value: Value = state[0] if highest else state[-1]
        return value

    return Fold((), step, result)


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _registered(name: str, operation: Operation) -> Fold:
    """Return the fold of a user's operation, which raises IllFormed if a function fails or returns a bad value."""

    def step(state: State, value: Value) -> State:
        try:
            return operation.combine(state, operation.lift(value))
        except Exception as error:  # a user's function may raise anything
            raise _failed(name, error) from error

    def result(state: State) -> Value | None:
        try:
            value = operation.result(state)
        except Exception as error:  # a user's function may raise anything
            raise _failed(name, error) from error
        if value is not None and not isinstance(value, get_args(Value)):
            raise IllFormed(
                f"the aggregate {name} returned {value!r}; it must return a number, string, bool, time or None"
            )
        return value

    return Fold(operation.identity, step, result)


def _failed(name: str, error: Exception) -> IllFormed:
    reason = f"{type(error).__name__}: {error}".removesuffix(": ")
    return IllFormed(f"the aggregate {name} failed with {reason}")


# ---------------------------------------------------------------------------------------------------------------------
# The values of identifiers over a buffer, and whether an event is in the window: sase07, appendix A.2.
#
# While an array a has n events in the buffer, a[1] is the first event, a[i] and a[a.LEN] are the n-th, a[i-1] is the
# event before the n-th, and a[..i-1] are all before the n-th. If a formula mentions the current event, the buffer
# already contains it.

Values: TypeAlias = Callable[[Attribute], Value | None]
"""The value of each reference and aggregate; None if it has no value."""

NO_NUMBERS = (bool, str, datetime)
INDEX: Mapping[Identifier, int] = {"a": 0, "a[1]": 0, "a[i]": -1, "a[a.LEN]": -1, "a[i-1]": -2}
"""The index of the event to which an identifier refers, in the array of its variable."""


def values_in(buffer: Bindings, S: Sequence[Event], operations: Operations = NO_OPERATIONS) -> Values:
    """Return a function from references and aggregates to their values.

    buffer: the events bound to each variable so far, as positions in S.
    """
    selected = dict(buffer)

    def value(a: Attribute) -> Value | None:
        positions = selected.get(a.variable or "", ())
        form = identifier(a)
        if isinstance(a, sase.SaseAggregate):
            of = positions[:-1] if form == "a[..i-1]" else positions
            return value_over(a, [S[p] for p in of], operations)
        at = instantiated(form, positions)
        return None if at is None else S[at].get(a.name)

    return value


def instantiated(form: Identifier, positions: Sequence[int]) -> int | None:
    """Return the position of the event that a reference such as a[1] means; None if too few events are bound.

    positions: the events bound to the reference's variable so far.
    """
    index = INDEX[form]
    return positions[index] if -len(positions) <= index < len(positions) else None


def in_window(window: sase.SaseWindow, closed: bool, first: Event, event: Event) -> bool | None:
    """Return whether the event is within the window that begins with the first; None if the times are incomparable."""
    elapsed = _seconds(first.get(TIME), event.get(TIME))
    if elapsed is None:
        return None
    if elapsed < window.seconds:
        return True
    if elapsed == window.seconds:
        return closed
    return False if elapsed > window.seconds else None  # NaN


def _seconds(start: Value | None, time: Value | None) -> int | float | None:
    if isinstance(start, datetime) and isinstance(time, datetime):
        return (time - start).total_seconds()
    if isinstance(start, NO_NUMBERS) or isinstance(time, NO_NUMBERS):
        return None
    try:
        return None if start is None or time is None else time - start
    except OverflowError:  # a whole number beyond binary64 and a float
        return None


@dataclass(frozen=True, slots=True)
class NfabStep:
    """A move: the state that it leaves, and the position of its current event."""

    move: nfab.Move
    state: nfab.NfabState
    at: int


@dataclass(frozen=True, slots=True)
class NfabConfiguration:
    """The end of a run: its state, its current position, and the buffer."""

    state: nfab.NfabState
    at: int
    buffer: Bindings = ()


@dataclass(frozen=True, slots=True)
class NfabRun:
    """A run: its moves, and the configuration after them."""

    steps: tuple[NfabStep, ...]
    now: NfabConfiguration

    @property
    def pairs(self) -> tuple[tuple[int, str], ...]:
        """Return the run in the notation of sase07, A.2: pairs (position of an event, identifier bound to it).

        Positions count from 0. The last pair is the current position and the state reached.
        """
        taken = [(step.at, step.state) for step in self.steps if step.move in ("begin", "take")]
        names = []
        for number, (at, state) in enumerate([*taken, (self.now.at, self.now.state)]):
            i = 1 + sum(earlier.variable == state.variable for _, earlier in taken[:number])
            names.append((at, f"{state.variable}[{i}]" if state.kind in ("first", "more") else state.name))
        return tuple(names)


class Runs:
    """The runs of one automaton over one stream."""

    def __init__(
        self,
        A: nfab.NFAb,
        S: Stream,
        reading: Reading = DECIDED,
        budget: Budget = Budget(),
        operations: Operations = NO_OPERATIONS,
    ) -> None:
        self.A = A
        self.S = S
        self.reading = reading
        self.budget = budget
        self.operations = operations
        self._following = dict(zip(A.states, A.states[1:], strict=False))
        self._ignoring = {edge.source for edge in A.edges if edge.move == "ignore"}

    def all(self, start: int | None = None) -> Iterator[NfabRun]:
        """Yield all runs that begin at `start` (None: anywhere), each run before the runs that extend it."""
        starts = range(len(self.S)) if start is None else (start,)
        pending = [NfabRun((), NfabConfiguration(self.A.initial, j)) for j in reversed(starts)]  # (base case)
        made = 0
        while pending:
            run = pending.pop()
            made += 1
            self._check(made)
            yield run
            further = [NfabRun((*run.steps, step), now) for step, now in self.moves(run.now)]
            pending += reversed(further)

    def accepting(self, start: int | None = None) -> Iterator[NfabRun]:
        """Yield the runs that end in the final state F; start: the position at which they begin (None: any)."""
        return (run for run in self.all(start) if run.now.state == self.A.final)

    def find_runs(self, M: Bindings) -> Iterator[NfabRun]:
        """Yield the accepting runs whose buffer is M. Runs that select any other event are dropped."""
        pending = [NfabRun((), NfabConfiguration(self.A.initial, min(p for _, ps in M for p in ps)))]
        while pending:
            check_time()
            run = pending.pop()
            if run.now.state == self.A.final and run.now.buffer == M:
                yield run
            further = [NfabRun((*run.steps, step), now) for step, now in self.moves(run.now)]
            pending += [run for run in reversed(further) if _within(run.now, M)]

    def matches(self) -> set[Bindings]:
        """Return the buffers of the accepting runs."""
        found: set[Bindings] = set()
        for now in self.reached(NfabConfiguration(self.A.initial, j) for j in range(len(self.S))):
            if now.state == self.A.final:
                found.add(now.buffer)
                if len(found) > self.budget.matches:
                    raise BudgetExceeded(
                        f"there are more than {self.budget.matches} matches; set a window or a stricter strategy"
                    )
        return found

    def reached(
        self, initial: Iterable[NfabConfiguration], looking: Callable[[NfabConfiguration], bool] = lambda now: True
    ) -> Iterator[NfabConfiguration]:
        """Yield, each once, the configurations that runs from `initial` reach.

        Runs are followed only through configurations for which `looking` is true.
        """
        seen: set[NfabConfiguration] = set()
        pending = list(initial)
        while pending:
            now = pending.pop()
            if now in seen or not looking(now):
                continue
            seen.add(now)
            self._check(len(seen))
            yield now
            pending.extend(following for _, following in self.moves(now))

    def accepts(self) -> bool:
        """Return whether the stream is in L(A): some accepting run reads it from its first event to its last."""
        end = len(self.S)
        return end > 0 and any(run.now.at == end for run in self.accepting(0))

    def moves(self, now: NfabConfiguration) -> Iterator[tuple[NfabStep, NfabConfiguration]]:
        """Yield the moves from a configuration, by the inductive cases of appendix A.2 of sase07."""
        q, j = now.state, now.at
        step = partial(NfabStep, state=q, at=j)
        match q.kind:
            case "single" | "first":
                if self.holds("begin", now):
                    yield step("begin"), NfabConfiguration(self._following[q], j + 1, self.selected(now))
                if q in self._ignoring and self.holds("ignore", now):
                    yield step("ignore"), NfabConfiguration(q, j + 1, now.buffer)
            case "more":
                if self.holds("take", now):
                    yield step("take"), NfabConfiguration(q, j + 1, self.selected(now))
                if self.holds("ignore", now):
                    yield step("ignore"), NfabConfiguration(q, j + 1, now.buffer)
                if self.holds("proceed", now):
                    yield step("proceed"), NfabConfiguration(self._following[q], j, now.buffer)
            case "final":
                return
            case _:
                assert_never(q.kind)

    def holds(self, part: nfab.Part, now: NfabConfiguration) -> bool:
        """Return whether the formula on an edge of the current state is true in a configuration.

        part: which edge, such as "take".
        """
        return self.label(nfab.NfabLabel(now.state, part), now)

    def label(self, label: nfab.NfabLabel, now: NfabConfiguration) -> bool:
        """Return whether the formula with this label holds in the configuration.

        After the last event, `begin`, `take` and `ignore` are false.
        """
        if now.at == len(self.S):
            match label.part:
                case "begin" | "take" | "ignore":
                    return False
                case "auto-stop" if self.reading.stream_end == "waits":
                    return self.label(nfab.NfabLabel(label.state, "forced-stop"), now)
        return self.formula(self.A.theta[label], now)

    def formula(self, f: nfab.Formula, now: NfabConfiguration) -> bool:
        """Return whether a formula is true for the current event and the buffer."""
        match f:
            case nfab.Truth(value):
                return value
            case nfab.Negation(inner):
                return not self.formula(inner, now)
            case nfab.NfabConjunction(parts):
                return all(self.formula(part, now) for part in parts)
            case nfab.NfabDisjunction(parts):
                return any(self.formula(part, now) for part in parts)
            case nfab.Theta(label):
                return self.label(label, now)
            case nfab.NfabTest(p, None):
                return satisfied(p, values_in(now.buffer, self.S, self.operations))
        if now.at == len(self.S):
            return False
        match f:
            case nfab.TypeTest(_, type_):
                return self.S[now.at].type == type_
            case nfab.NfabTest(p, state) if state is not None:
                return satisfied(p, values_in(selected(now, state.variable), self.S, self.operations))
            case nfab.Elapsed(_, first, window, closed, over):
                within = in_window(window, closed, self.S[dict(now.buffer)[first.variable][0]], self.S[now.at])
                return within is not None and within != over
            case _:
                raise TypeError(f"{f} is not a formula")

    def selected(self, now: NfabConfiguration) -> Bindings:
        """Return the buffer with the current event added; the variable of the current state binds it."""
        return selected(now, now.state.variable)

    def _check(self, made: int) -> None:
        check_time()
        if made > self.budget.valuations:
            raise BudgetExceeded(
                f"there are more than {self.budget.valuations} runs, which are followed one by one: use a "
                f"shorter stream, a window, or a stricter strategy"
            )


def selected(now: NfabConfiguration, variable: str) -> Bindings:
    """Return the buffer with the current event added as the last one that the variable binds."""
    match now.buffer:
        case (*before, (last, positions)) if last == variable:
            return (*before, (variable, (*positions, now.at)))
        case _:
            return (*now.buffer, (variable, (now.at,)))


def _within(now: NfabConfiguration, M: Bindings) -> bool:
    """Return whether for each variable the buffer has a prefix of the events that M has."""
    wanted = dict(M)
    return all(wanted[variable][: len(positions)] == positions for variable, positions in now.buffer)


# ---------------------------------------------------------------------------------------------------------------------
# Negated components: a small automaton of their own, run between the events of a match.
#
# Section 3 of sase07 leaves negation out of the automaton. Here a match of the positive components stands if the
# automaton of the negated component accepts no events in its scope. The scope lies strictly between the events of the
# neighbours. For a component in front it begins with the stream, or with the window that ends with the match. For a
# component at the end it ends with the window that begins with the match. docs/decisions/sase.md says what the strategy
# of a negated component means.


def present(q: sase.SaseQuery, k: sase.Component, M: Bindings, runs: Runs) -> bool:
    """Return whether a negated component forbids the match M, or may still forbid it because of a future event.

    It forbids the match if its events occur in its scope.
    """
    scope = scope_of(q, k, M, runs)
    if not scope:
        return scope is None
    own = Runs(compile_absence(q, k, runs.reading), runs.S, runs.reading, runs.budget, runs.operations)
    return accepted(own, M, scope, scope)


def accepted(own: Runs, M: Bindings, starts: Iterable[int], scope: list[int]) -> bool:
    """Return whether the events in the scope of a negated component have a match of this component, given the match M.

    own: the runs of the component's automaton. starts: the positions at which the events may begin. scope: the
    positions that they may have.
    """
    inside = frozenset(scope)

    def looking(now: NfabConfiguration) -> bool:
        return now.at <= scope[-1] + 1 and (now.buffer == M or inside.issuperset(now.buffer[-1][1]))

    initial = (NfabConfiguration(own.A.initial, j, M) for j in starts)
    return any(now.state == own.A.final for now in own.reached(initial, looking))


def scope_of(q: sase.SaseQuery, k: sase.Component, M: Bindings, runs: Runs) -> list[int] | None:
    """Return the positions in the scope of a negated component; None if future events may be in it too."""
    low, high = neighbours(q, k, M, 0, len(runs.S))
    positions = range(low, high)
    if is_unfinished(q, k, M, runs.S, runs.reading, positions):
        return None
    return in_scope(q, k, M, runs.S, runs.reading, positions)


def neighbours(q: sase.SaseQuery, k: sase.Component, M: Bindings, start: int, end: int) -> tuple[int, int]:
    """Return (low, high): the positions in range(low, high) lie between the components beside a negated component.

    start, end: the bounds of the stream, for a component in first or last place.
    """
    bound = dict(M)
    at = q.pattern.index(k)
    before = [c.variable for c in q.pattern[:at] if not c.negated]
    after = [c.variable for c in q.pattern[at:] if not c.negated]
    return (bound[before[-1]][-1] + 1 if before else start), (bound[after[0]][0] if after else end)


def is_unfinished(
    q: sase.SaseQuery, k: sase.Component, M: Bindings, S: Sequence[Event], reading: Reading, positions: Iterable[int]
) -> bool:
    """Return whether a future event may still be in the scope of a negated component.

    It may, as long as all events after the match are within the window. positions: the events after the match.
    """
    window = q.within
    if window is None or reading.stream_end == "stops" or not _is_at_end(q, k):
        return False
    first, closed = S[M[0][1][0]], reading.window == "closed"
    return all(in_window(window, closed, first, S[p]) is not False for p in positions)


def in_scope(
    q: sase.SaseQuery, k: sase.Component, M: Bindings, S: Sequence[Event], reading: Reading, positions: Iterable[int]
) -> list[int]:
    """Return those of the positions that are in the scope of a negated component.

    positions: all between the components beside it. The window of the query may bound the scope further.
    """
    window, closed = q.within, reading.window == "closed"
    first, last = M[0][1][0], M[-1][1][-1]
    if window is None:
        return list(positions)
    if _is_in_front(q, k) and reading.negation_in_front == "window":
        return [p for p in positions if in_window(window, closed, S[p], S[last])]
    if _is_at_end(q, k):
        return [p for p in positions if in_window(window, closed, S[first], S[p])]
    return list(positions)


def _is_in_front(q: sase.SaseQuery, k: sase.Component) -> bool:
    return all(c.negated for c in q.pattern[: q.pattern.index(k)])


def _is_at_end(q: sase.SaseQuery, k: sase.Component) -> bool:
    return all(c.negated for c in q.pattern[q.pattern.index(k) :])


# ---------------------------------------------------------------------------------------------------------------------
# The bindings of a query by the runs of its automaton: sase07, section 3.2 and appendix A.2.


def bindings(
    q: sase.SaseQuery,
    S: Stream,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> set[Bindings]:
    """Return the matches of a query, as bindings of its variables, by following the runs of its automaton one by one.

    A match is left out if a negated component forbids it; see `present`. Raises BudgetExceeded.
    """
    runs = Runs(compile_query(q, reading), S, reading, budget, operations)
    absences = [k for k in q.pattern if k.negated]
    return {M for M in runs.matches() if not any(present(q, k, M, runs) for k in absences)}
