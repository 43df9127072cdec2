"""The meaning of SASE+ without an automaton: which positions of a stream are a match, by sase07, section 2.2.

A match is a sequence of events, each selected for a component of the pattern, by three rules:
- Each selected event satisfies all conditions of WHERE on it and on the events selected before (`selects`).
- The strategy allows each event between two selected events to be skipped (`skips`).
- A Kleene plus goes on until it stops. Between its last event and the first event of the next component there is a
  position at which it may stop (`may_stop`). The Kleene plus skips the events before this position, and the next
  component skips those after it. Once it must stop (`must_stop`) it neither selects nor skips.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, assert_never, cast, get_args

from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.errors import BudgetExceeded, IllFormed, Unsupported
from cerify.semantics.events import Bindings, Event, Stream
from cerify.semantics.predicates import Attribute, Predicate, compare, mentions, satisfied
from cerify.semantics.readings import DECIDED, NO_OPERATIONS, Operation, Operations, Reading, State
from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.syntax import BUILT_IN, RANKED, SaseAggregate
from cerify.semantics.values import Value, kind

# ---------------------------------------------------------------------------------------------------------------------
# The budget of a search. It is not part of the definition, whose steps it counts.

T = TypeVar("T")


class SaseStepBudget(Protocol):
    """Counts the steps of a search. Raises BudgetExceeded if there are too many."""

    def __call__(self, steps: Iterable[T], /) -> Iterable[T]: ...


class Counted:
    """A budget of `limit` steps, which several searches can share. Raises BudgetExceeded when it is used up."""

    def __init__(self, limit: int, what: str) -> None:
        self.limit, self.what, self.number = limit, what, 0

    def __call__(self, steps: Iterable[T], /) -> Iterator[T]:
        for step in steps:
            check_time()
            self.number += 1
            if self.number > self.limit:
                raise BudgetExceeded(
                    f"the query needs more than {self.limit} {self.what}; the reference evaluator is slow by design: "
                    "use a shorter stream, a window, or a stricter strategy"
                )
            yield step


def unwatched(steps: Iterable[T], /) -> Iterable[T]:
    """Return the steps unchanged: a step budget without a limit."""
    return steps


# ---------------------------------------------------------------------------------------------------------------------
# The values of the aggregates of SASE+ by their definition: sase07, section 2.2.4 and footnote 3.
#
# An operation folds the values of an attribute over the events of an array, in the order of the stream: the identity
# first, then `combine` with the lifted value of one event after the other. The rules that every evaluator follows:
# - an event that lacks the attribute does not count; over no events the state is the identity;
# - a value of the wrong kind leaves the aggregate without a value, and so does a number that is too large;
# - sum and avg are exact on integers; with a float each step is the addition of binary64, in the order of the stream;
# - min, max, highest and lowest are defined for numbers, strings and times, of one kind only; a NaN among them gives
# NaN;
# - highest(k, …) is the k-th highest value, counting repetitions; it has no value if there are fewer than k values.


def operation_of(aggregate: SaseAggregate, operations: Operations = NO_OPERATIONS) -> Operation:
    """Return the operation that an aggregate names. Raises Unsupported if it is not registered."""
    match aggregate.function:
        case "count":
            return _COUNT
        case "sum":
            return _SUM
        case "avg":
            return _AVG
        case "min" | "max" as function:
            return ranked(1, "lowest" if function == "min" else "highest")
        case "highest" | "lowest" as function:
            if not aggregate.parameter:
                raise IllFormed(f"{function} needs a rank: write {function}(3, …)")
            return ranked(aggregate.parameter, function)
        case name:
            if (operation := operations.get(name)) is None:
                known = ", ".join((*BUILT_IN, *RANKED, *sorted(operations)))
                raise Unsupported(f"the aggregate {name} is not registered; known are {known}")
            return _guarded(name, operation)


def extended(operation: Operation, state: State, event: Event, name: str) -> State:
    """Return the state of an operation after one more event. name: the attribute; with "" every event counts."""
    value = 1 if name == "" else event.get(name)
    return state if value is None else operation.combine(state, operation.lift(value))


def folded(aggregate: SaseAggregate, events: Iterable[Event], operations: Operations = NO_OPERATIONS) -> Value | None:
    """Return the value of an aggregate over some events; None if the aggregate has no value."""
    operation = operation_of(aggregate, operations)
    state = operation.identity
    for event in events:
        state = extended(operation, state, event, aggregate.name)
    return operation.result(state)


# --- those of the language --------------------------------------------------------------------------------------------


class _Undefined:
    """A state without a value; combined with any other state it stays undefined."""


UNDEFINED = _Undefined()


def _count_lift(value: Value) -> State:
    return 1


_COUNT = Operation(0, _count_lift, operator.add, lambda state: state)


def _number(value: Value) -> State:
    return value if kind(value) == "number" else UNDEFINED


def _plus(left: State, right: State) -> State:
    if left is UNDEFINED or right is UNDEFINED:
        return UNDEFINED
    try:
        return left + right
    except OverflowError:  # an integer beyond binary64 and a float
        return UNDEFINED


def _defined(state: State) -> Value | None:
    value: Value | None = None if state is UNDEFINED else state
    return value


def _average(state: State) -> Value | None:
    sum_, count = state
    if sum_ is UNDEFINED or count == 0:
        return None
    try:
        value: Value = sum_ / count
    except OverflowError:
        return None
    return value


_SUM = Operation(0, _number, _plus, _defined)
_AVG = Operation(
    (0, 0),
    lambda value: (_number(value), 1),
    lambda left, right: (_plus(left[0], right[0]), left[1] + right[1]),
    _average,
)


def ranked(k: int, end: Literal["highest", "lowest"]) -> Operation:
    """Return the operation for the k-th highest or lowest value.

    Its state is the k best values so far, or UNDEFINED, or a NaN alone.
    """
    return Operation((), _ranked_lift, partial(_best, k, end == "highest"), partial(_kth, k))


def _ranked_lift(value: Value) -> State:
    return UNDEFINED if isinstance(value, bool) else (value,)


def _best(k: int, highest: bool, left: State, right: State) -> State:
    if left is UNDEFINED or right is UNDEFINED:
        return UNDEFINED
    values = (*left, *right)
    if len(set(map(kind, values))) > 1:
        return UNDEFINED
    # Before sorting, since a NaN would stay wherever it stands and hide values behind it.
    if nans := [value for value in values if _is_nan(value)]:
        return (nans[0],)
    return tuple(sorted(values, reverse=highest)[:k])


def _kth(k: int, state: State) -> Value | None:
    if state is UNDEFINED:
        return None
    # A NaN alone is the answer for every rank, even if fewer than k values were seen.
    value: Value | None = state[k - 1] if len(state) >= k else state[0] if state and _is_nan(state[0]) else None
    return value


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


# --- those of a user --------------------------------------------------------------------------------------------------


def _guarded(name: str, operation: Operation) -> Operation:
    """Return the operation with checks: it raises IllFormed if one of its functions fails or returns a bad value."""

    def guard(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except Exception as error:  # a user's function may raise any exception
                reason = f"{type(error).__name__}: {error}".removesuffix(": ")
                raise IllFormed(f"the aggregate {name} failed with {reason}") from error

        return call

    def result(state: State) -> Value | None:
        value = guard(operation.result)(state)
        if value is not None and not isinstance(value, get_args(Value)):
            raise IllFormed(f"the aggregate {name} gave {value!r}; it must return a number, string, bool, time or None")
        return cast("Value | None", value)

    return Operation(operation.identity, guard(operation.lift), guard(operation.combine), result)


# ---------------------------------------------------------------------------------------------------------------------
# The conditions of WHERE over a complete or partial match: which events references name, and when a conjunct counts.
#
# A partial match says which positions each variable has so far, with the event under test as the last. While a[i] is
# tested, i is the number of positions of a, so that a[i] is the last of them and a[..i-1] all before it.

Bound: TypeAlias = Mapping[str, Sequence[int]]
"""The positions that each variable has so far, ascending; a variable without positions may be left out."""

ValueOf: TypeAlias = Callable[[Attribute], Value | None]

Edge = Literal["first", "each", "later", "end"]
"""When a conjunct is tested, in the component of its last identifier.

first  when its first event is selected: a[1], or a
each   when any of its events is selected: a[i] with no other event of a, i >= 1
later  when any but the first is selected: a[i-1], a[..i-1], or a[i] compared with a[1]; i > 1
end    when the component is complete: a[a.LEN], avg(a[].x)
"""


def value_of(bound: Bound, S: Sequence[Event], operations: Operations = NO_OPERATIONS) -> ValueOf:
    """Return a function from references and aggregates to their values over a partial match.

    A value is None if the event or its attribute is absent.
    """

    def value(attribute: Attribute) -> Value | None:
        positions = bound.get(attribute.variable or "", ())
        match attribute:
            case sase.Reference(name, _, place):
                p = position(positions, place)
                return None if p is None else S[p].get(name)
            case sase.SaseAggregate(running=running):
                meant = positions[:-1] if running else positions
                return folded(attribute, (S[p] for p in meant), operations)
            case _:
                raise TypeError(f"{attribute} is not a reference of SASE+")

    return value


def position(positions: Sequence[int], place: sase.Index) -> int | None:
    """Return the position that a reference names among the positions of its variable; None if there is none."""
    match place:
        case "only" | "first":
            return positions[0] if positions else None
        case "current" | "last":
            return positions[-1] if positions else None
        case "previous":
            return positions[-2] if len(positions) > 1 else None
        case _:
            assert_never(place)


def agree(attribute: str, event: Event, before: Event) -> bool:
    """Return whether an event agrees on an attribute with the event selected before it: an equivalence test."""
    return compare("=", event.get(attribute), before.get(attribute))


@dataclass(frozen=True, slots=True)
class Placed:
    """The place where a conjunct of WHERE is tested: the index of a component in the pattern, and an edge of it.

    The edge is the moment in the selection of a Kleene plus: its first event, any event, a later event, or its end.
    """

    component: int
    edge: Edge


def placed(p: Predicate, pattern: Sequence[sase.Component]) -> Placed:
    """Return where a conjunct is tested: at the last component that it mentions (sase07, section A.1).

    pattern: components that include those of all its variables. A conjunct that mentions a negated component belongs to
    that component, whatever else it mentions, because it says which events must be absent.
    """
    order = {k.variable: index for index, k in enumerate(pattern)}
    mentioned = {order[a.variable or ""] for a in mentions(p)}
    last = max({index for index in mentioned if pattern[index].negated} or mentioned)
    return Placed(last, _edge({rank(a) for a in mentions(p) if a.variable == pattern[last].variable}))


def rank(attribute: Attribute) -> int:
    """Return how late a reference or aggregate can be evaluated: 0 for a[1], up to 3 for a[a.LEN] and a[]."""
    match attribute:
        case sase.SaseAggregate(running=running):
            return 1 if running else 3
        case sase.Reference(place=place):
            ranks: Mapping[sase.Index, int] = {"only": 0, "first": 0, "previous": 1, "current": 2, "last": 3}
            return ranks[place]
        case _:
            raise TypeError(f"{attribute} is not a reference of SASE+")


def _edge(ranks: set[int]) -> Edge:
    if 3 in ranks:
        return "end"
    if ranks == {0}:
        return "first"
    return "each" if ranks == {2} else "later"


# ---------------------------------------------------------------------------------------------------------------------
# The meaning of negation: no event in its scope is as the negated component describes (sase07, section 2.2.3).
#
# A match of the other components stands unless an event in the scope (for a Kleene plus: a series of events) satisfies
# all clauses that mention the negated variable. The paper does not say where the scope of a first or last component
# begins or ends, nor what a strategy means for it: see docs/decisions/sase.md.


class SaseAbsences:
    """The events that must not occur, because negated components of a query describe them, over one stream.

    A negated Kleene plus describes a series of events, another negated component a series of one event. In all methods
    k is a negated component, M a match, and series the positions of the series so far. watch: a function that counts
    the series that are tried.
    """

    def __init__(
        self, q: sase.SaseQuery, S: Stream, reading: Reading, operations: Operations, watch: SaseStepBudget
    ) -> None:
        self.q, self.S, self.reading, self.operations, self.watch = q, S, reading, operations, watch

    def forbid(self, M: Bindings) -> bool:
        """Return whether the negated components forbid the match: their events occur, or may still occur."""
        return any(self.is_there(k, M) for k in self.q.pattern if k.negated)

    def is_there(self, k: sase.Component, M: Bindings) -> bool:
        """Return whether a series of events occurs that the negated component describes, or may still occur."""
        scope = self.scope(k, M)
        # In the reading stream_end=waits the window is still open, so an event that forbids the match may yet come.
        if scope is None:
            return True
        # The other edges were tested while the series grew; the conditions for its end apply to the complete series
        # only.
        return any(self.satisfy(k, M, series, ("end",)) for series in self.watch(self.series(k, M, scope)))

    def series(self, k: sase.Component, M: Bindings, scope: list[int]) -> Iterator[tuple[int, ...]]:
        """Yield the series of events in the scope that fit the negated component, and their beginnings."""
        pending: list[tuple[int, ...]] = [(p,) for p in scope if self.describes(k, M, (p,))]
        while pending:
            series = pending.pop()
            yield series
            if k.kleene:
                # A series that satisfies its end may also go on: a longer one can satisfy conditions that a shorter one
                # does not.
                pending.extend((*series, p) for p in scope if p > series[-1] and self.goes_on(k, M, series, p))

    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        """Return the positions in a negated component's scope: between its neighbours, or to the end of the window."""
        at, bound, n = self.q.pattern.index(k), dict(M), len(self.S)
        low = max((p + 1 for c in self.q.pattern[:at] for p in bound.get(c.variable, ())), default=None)
        high = min((p for c in self.q.pattern[at:] for p in bound.get(c.variable, ())), default=None)
        match low, high, self.q.within:
            case None, int(), sase.SaseWindow() as window if self.reading.negation_in_front == "window":
                return [p for p in range(high) if self.spans(window, p, M[-1][1][-1])]
            case int(), None, sase.SaseWindow() as window:
                since = {p: self.spans(window, M[0][1][0], p) for p in range(low, n)}
                if self.reading.stream_end == "waits" and False not in since.values():
                    return None
                return [p for p, within in since.items() if within]
            case _:
                return list(range(low or 0, n if high is None else high))

    def spans(self, window: sase.SaseWindow, p: int, r: int) -> bool | None:
        return clauses.spans(window, self.S[p], self.S[r], closed=self.reading.window == "closed")

    def goes_on(self, k: sase.Component, M: Bindings, series: tuple[int, ...], p: int) -> bool:
        """Return whether the series can go on with the event at p, and skip the events before it."""
        return self.describes(k, M, (*series, p)) and all(
            self.leaves_out(k, M, series, r) for r in range(series[-1] + 1, p)
        )

    def describes(self, k: sase.Component, M: Bindings, series: tuple[int, ...]) -> bool:
        """Return whether the last event of the series fits the negated component, given the events before it.

        It must have the component's type, and pass the equivalence tests and clauses on the component.
        """
        edges: tuple[Edge, ...] = ("first", "each") if len(series) == 1 else ("each", "later")
        tests = [x for x, _ in clauses.equivalences(self.q)]
        return (
            self.S[series[-1]].type == k.type and self.agrees(k, M, series, tests) and self.satisfy(k, M, series, edges)
        )

    def leaves_out(self, k: sase.Component, M: Bindings, series: tuple[int, ...], r: int) -> bool:
        """Return whether the strategy of the negated component lets the series skip the event at r."""
        if self.reading.negated_series == "any":
            return True
        match clauses.strategy_of(self.q, k.variable):
            case "strict_contiguity":
                return False
            case "partition_contiguity":
                return not self.in_partition(k, M, (*series, r))
            case "skip_till_next_match":
                return not self.describes(k, M, (*series, r))
            case "skip_till_any_match":
                return True
            case strategy:
                assert_never(strategy)

    def in_partition(self, k: sase.Component, M: Bindings, series: tuple[int, ...]) -> bool:
        """Return whether the last event of the series belongs to the partition of the event before it."""
        marked = [c.condition for c in clauses.conjuncts(self.q) if c.underlined]
        tests = [x for x, underlined in clauses.equivalences(self.q) if underlined or not marked]
        return self.agrees(k, M, series, tests) and self.satisfy(k, M, series, ("each", "later"), marked)

    def agrees(self, k: sase.Component, M: Bindings, series: tuple[int, ...], tests: Iterable[str]) -> bool:
        """Return whether the last event of the series passes the equivalence tests of a negated component.

        This event is compared with the event before it. If there is none, because the negation is in front, it is
        compared with the first event of the match.
        """
        *before, p = series
        earlier = [r for c in self.q.pattern[: self.q.pattern.index(k)] for r in dict(M).get(c.variable, ())]
        neighbour = before[-1] if before else earlier[-1] if earlier else M[0][1][0]
        return all(agree(x, self.S[p], self.S[neighbour]) for x in tests)

    def satisfy(
        self,
        k: sase.Component,
        M: Bindings,
        series: tuple[int, ...],
        edges: tuple[Edge, ...],
        only: list[Predicate | sase.Equivalence] | None = None,
    ) -> bool:
        """Return whether the series satisfies the clauses on the negated component that are tested at these edges.

        edges: the moments of a series at which clauses are tested, see `Placed`. only: the clauses to test, None for
        all. All variables of the match are bound, so a clause is tested as if the negated component were the last.
        """
        value = value_of(dict(M) | {k.variable: series}, self.S, self.operations)
        order = (*clauses.positive(self.q), k)
        return all(
            satisfied(c, value)
            for c in clauses.clauses_of_absence(self.q, k.variable)
            if placed(c, order).edge in edges and (only is None or c in only)
        )


Chosen: TypeAlias = tuple[tuple[int, int], ...]
"""The events selected so far: pairs (component, position), in the order of the stream."""

Conditions: TypeAlias = dict[tuple[int, Edge], list[Predicate]]
"""The clauses of WHERE by their last identifier: its component, and when it is tested (appendix A.1)."""


def bindings(
    q: sase.SaseQuery,
    S: Stream,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> set[Bindings]:
    """Return the matches of a query over a stream. Raises BudgetExceeded."""
    return set(matches_by(SaseDefinition, q, S, reading, budget, operations))


class SaseDefinition:
    """Computes the matches of one query over one stream as the papers define them, without shortcuts."""

    def __init__(
        self,
        q: sase.SaseQuery,
        S: Stream,
        reading: Reading = DECIDED,
        operations: Operations = NO_OPERATIONS,
        watch: SaseStepBudget = unwatched,
    ) -> None:
        self.q, self.S, self.reading, self.operations, self.watch = q, S, reading, operations, watch
        self.pattern = clauses.positive(q)
        predicates, tests = clauses.clauses_of_matches(q), clauses.equivalences(q)
        self.conditions = self._by_place(c for c, _ in predicates)
        self.marked_conditions = self._by_place(c for c, underlined in predicates if underlined)
        self.tests = [x for x, _ in tests]
        self.marked_tests = [x for x, underlined in tests if underlined]
        self.absences = SaseAbsences(q, S, reading, operations, watch)

    # --- matches ------------------------------------------------------------------------------------------------------

    def matches(self) -> Iterator[Bindings]:
        """Yield the matches: complete selections in which no negated component occurs."""
        for chosen in self.watch(self.selections()):
            if self.is_complete(chosen) and not self.absences.forbid(M := self.bindings(chosen)):
                yield M

    def selections(self) -> Iterator[Chosen]:
        """Yield all selections, complete or not. Each grows by one event at a time, in every way that is allowed."""
        pending: list[Chosen] = [()]
        while pending:
            chosen = pending.pop()
            yield chosen
            pending.extend((*chosen, following) for following in self.following(chosen))

    def following(self, chosen: Chosen) -> Iterator[tuple[int, int]]:
        """Yield the events that may extend a selection: pairs (component, position)."""
        if not chosen:
            yield from ((0, p) for p in range(len(self.S)) if self.selects(chosen, 0, p))
            return
        k, last = chosen[-1]
        for p in range(last + 1, len(self.S)):
            # Both branches may hold for one event: which component takes it is a choice, and each choice is a match.
            if self.pattern[k].kleene and self.goes_on(chosen, p):
                yield k, p
            if k + 1 < len(self.pattern) and self.comes_next(chosen, p):
                yield k + 1, p

    def goes_on(self, chosen: Chosen, p: int) -> bool:
        """Return whether the current Kleene plus can select the event at p next and skip the events before it."""
        k, last = chosen[-1]
        return (
            self.selects(chosen, k, p)
            and not self.must_stop(chosen, p)
            and all(self.passes(chosen, r) for r in range(last + 1, p))
        )

    def comes_next(self, chosen: Chosen, p: int) -> bool:
        """Return whether the event at p can be the first event of the next component."""
        k = chosen[-1][0]
        if not self.selects(chosen, k + 1, p):
            return False
        return any(all(self.skips(chosen, k + 1, r) for r in range(t, p)) for t in self.stops(chosen, p))

    def is_complete(self, chosen: Chosen) -> bool:
        """Return whether the last component is selected and, if it is a Kleene plus, may stop."""
        return bool(chosen) and chosen[-1][0] == len(self.pattern) - 1 and any(self.stops(chosen, len(self.S)))

    def stops(self, chosen: Chosen, until: int) -> Iterator[int]:
        """Yield the positions, up to `until`, before which the current component may end.

        A Kleene plus may end before several positions.
        """
        k, last = chosen[-1]
        if not self.pattern[k].kleene:
            yield last + 1
            return
        for t in range(last + 1, until + 1):
            if self.may_stop(chosen, t):
                yield t
            # Whatever ends later must skip the event at t, so there is no later end if it cannot.
            if t == len(self.S) or not self.passes(chosen, t):
                return

    # --- what must hold of the events selected ------------------------------------------------------------------------

    def selects(self, chosen: Chosen, k: int, p: int) -> bool:
        """Return whether component k may select the event at p, by its type, the window and the component's clauses."""
        if self.S[p].type != self.pattern[k].type:
            return False
        if chosen and not self.in_window(chosen[0][1], p):
            return False
        return self.agrees(chosen, p, self.tests) and self.satisfies(chosen, k, p, self.conditions)

    def satisfies(self, chosen: Chosen, k: int, p: int, conditions: Conditions) -> bool:
        """Return whether the conditions hold that can be tested once component k selects the event at p."""
        # Conditions for the end wait for `may_stop`: they are about the last event, and this one may not be it.
        edges: tuple[Edge, Edge] = ("each", "later") if chosen and chosen[-1][0] == k else ("first", "each")
        bound = dict(self.bindings((*chosen, (k, p))))
        return all(self.satisfied(c, bound) for edge in edges for c in conditions.get((k, edge), ()))

    def in_window(self, first: int, p: int) -> bool:
        """Return whether the event at p is within the window of the match's first event (WITHIN)."""
        return self.q.within is None or self.spans(first, p) is True

    def spans(self, first: int, p: int) -> bool | None:
        """Return whether two events are within the window; None if their times cannot be compared."""
        window, closed = self.q.within, self.reading.window == "closed"
        return None if window is None else clauses.spans(window, self.S[first], self.S[p], closed)

    def agrees(self, chosen: Chosen, p: int, tests: Iterable[str]) -> bool:
        """Return whether the event at p agrees on these attributes with the event selected before it."""
        return not chosen or all(agree(x, self.S[p], self.S[chosen[-1][1]]) for x in tests)

    # --- what may be skipped: the strategies of section 2.2.1 ---------------------------------------------------------

    def skips(self, chosen: Chosen, k: int, r: int) -> bool:
        """Return whether the event at r may be skipped while component k waits for its next event."""
        match clauses.strategy_of(self.q, self.pattern[k].variable):
            case "strict_contiguity":
                return False
            case "partition_contiguity":
                return not self.in_partition(chosen, k, r)
            case "skip_till_next_match":
                return not self.selects(chosen, k, r)
            case "skip_till_any_match":
                return True
            case strategy:
                assert_never(strategy)

    def in_partition(self, chosen: Chosen, k: int, r: int) -> bool:
        """Return whether the event at r is in the partition of the selected events.

        The underlined conditions define the partition; if there are none, the equivalence tests do.
        """
        if any(c.underlined for c in clauses.conjuncts(self.q)):
            return self.agrees(chosen, r, self.marked_tests) and self.satisfies(chosen, k, r, self.marked_conditions)
        return self.agrees(chosen, r, self.tests)

    def passes(self, chosen: Chosen, r: int) -> bool:
        """Return whether a Kleene plus skips the event at r and goes on."""
        k = chosen[-1][0]
        if self.must_stop(chosen, r) or not self.skips(chosen, k, r):
            return False
        careful = self.reading.kleene_skips == "neither"
        by_relevance = clauses.strategy_of(self.q, self.pattern[k].variable) == "skip_till_next_match"
        return not (careful and by_relevance and self.next_selects(chosen, r))

    # --- when a Kleene plus stops: section 2.2.2 ----------------------------------------------------------------------

    def may_stop(self, chosen: Chosen, t: int) -> bool:
        """Return whether the current Kleene plus may stop before position t.

        It may stop if its condition on its last event holds. Without such a condition, it may stop if the next
        component selects the event at t, or if the Kleene plus itself can neither select nor skip that event.
        """
        k = chosen[-1][0]
        if self.ends(k):
            return self.is_ended(chosen)
        if k == len(self.pattern) - 1 and self.reading.last_kleene == "every":
            return True
        if t == len(self.S):
            return self.reading.stream_end == "stops" or self.must_stop(chosen, t)
        return self.next_selects(chosen, t) or not (
            self.passes(chosen, t) or (self.selects(chosen, k, t) and not self.must_stop(chosen, t))
        )

    def must_stop(self, chosen: Chosen, t: int) -> bool:
        """Return whether the current Kleene plus must stop before position t: the window is over, or `!` cuts it."""
        k, at_end = chosen[-1][0], t == len(self.S)
        if not at_end and self.spans(chosen[0][1], t) is False:
            return True
        if not clauses.is_cut(self.q, self.pattern[k].variable):
            return False
        if self.ends(k):
            return self.is_ended(chosen)
        if k == len(self.pattern) - 1:
            return self.reading.cut_in_last_place == "first"
        return not at_end and self.next_selects(chosen, t)

    def next_selects(self, chosen: Chosen, t: int) -> bool:
        """Return whether the next component may select the event at t."""
        k = chosen[-1][0]
        return k + 1 < len(self.pattern) and self.selects(chosen, k + 1, t)

    def ends(self, k: int) -> list[Predicate]:
        """Return the conditions of component k that are tested when it ends: on a[a.LEN], and on all of a[]."""
        return self.conditions.get((k, "end"), [])

    def is_ended(self, chosen: Chosen) -> bool:
        """Return whether the selection satisfies the conditions for the end of its current component."""
        bound = dict(self.bindings(chosen))
        return all(self.satisfied(c, bound) for c in self.ends(chosen[-1][0]))

    # --- for all clauses ----------------------------------------------------------------------------------------------

    def bindings(self, chosen: Chosen) -> Bindings:
        """Return the selected positions by variable."""
        return tuple(
            (self.pattern[k].variable, tuple(p for j, p in chosen if j == k)) for k in sorted({j for j, _ in chosen})
        )

    def satisfied(self, c: Predicate, bound: dict[str, tuple[int, ...]]) -> bool:
        return satisfied(c, value_of(bound, self.S, self.operations))

    def _by_place(self, conditions: Iterable[Predicate]) -> Conditions:
        found: Conditions = {}
        for c in conditions:
            at = placed(c, self.pattern)
            found.setdefault((at.component, at.edge), []).append(c)
        return found


# --- the budget around it ---------------------------------------------------------------------------------------------


def matches_by(
    definition: type[SaseDefinition],
    q: sase.SaseQuery,
    S: Stream,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> Iterable[Bindings]:
    """Return the matches that the definition finds; its steps count against the budget. Raises BudgetExceeded."""
    # Two counters: a query can search through many sequences and find few matches, or find a match in each.
    watch = Counted(budget.valuations, "sequences of events")
    return Counted(budget.matches, "matches")(definition(q, S, reading, operations, watch).matches())
