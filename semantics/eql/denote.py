"""The meaning of EQL: which events of a log are a match of a query.

Letters: S the log, e an event, p its position from 0, K a key, w the width of maxspan.

A sequence of n steps is evaluated for each key K separately, over the events of K alone. An event is *at step i* if it
passes the filter of step i and K is one of its keys for step i (an event with arrays has several). A **run** begins at
each event at step 1. The run takes the next event at step 2, then the next event at step 3, and so on, and ends with an
event at step n. **Of the runs that end at an event e, only the run that begins last** can be a match. It is a match if

- the time of e is at most w after the time of the run's first event (without maxspan: whatever the times are),
- no event from the run's first event on, and before e, is at `until`,
- no missing event is in its gap. A gap between two steps lies between their events. The gap before the first step
  begins at w before the time of e. The gap after the last step ends at w after the time of the first event.

Times have no other use: the order of events is that of the log.

Elastic's documentation describes the same matches by a machine with one place for each step ("How sequence queries
handle matches"). The evaluators follow that description. They share with this module only the filters, keys and times
of single events.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar, assert_never

from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import Key, filter_test, keys_of, span_of, time_of
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Event, Match
from cerify.semantics.readings import ELASTIC, EqlReading
from cerify.semantics.values import Microseconds

T = TypeVar("T")
Run = tuple[int, ...]
"""The positions of a run, one for each step that is not missing."""


def matches_of(
    query: eql.EqlQuery, S: Sequence[Event], reading: EqlReading = ELASTIC, budget: Budget = Budget()
) -> list[Match]:
    """Return the matches of a query over a log, in the order in which they end. Raises BudgetExceeded.

    >>> from cerify.semantics.eql.parse import parse
    >>> log = [Event("A"), Event("A"), Event("B")]
    >>> [m.events for m in matches_of(parse("sequence [A where true] [B where true]"), log)]
    [(1, 2)]
    """
    meter = _Meter(budget)
    found = sorted(set(_of_body(query.body, S, reading, meter)))
    for pipe in query.pipes:
        found = found[: pipe.count] if pipe.name == "head" else found[-pipe.count :]
    return found


def _of_body(
    body: eql.EventFilter | eql.EventSequence | eql.EventSample, S: Sequence[Event], reading: EqlReading, meter: _Meter
) -> Iterable[Match]:
    match body:
        case eql.EventFilter():
            test = filter_test(body, reading)
            return (Match(p, (p,)) for p, e in enumerate(meter.limit_items(S)) if test(e))
        case eql.EventSequence():
            return (Match(run[-1], run) for run in _of_sequence(body, S, reading, meter))
        case eql.EventSample():
            return _of_sample(body, S, reading, meter)
        case _:
            assert_never(body)


@dataclass(frozen=True)
class _KeyView:
    """The positions of the events of one key: at each step, at each missing step, and at `until`."""

    steps: tuple[tuple[int, ...], ...]
    missing: tuple[tuple[int, tuple[int, ...]], ...]  # the number of steps before it, and the positions
    until: tuple[int, ...]


def _of_sequence(query: eql.EventSequence, S: Sequence[Event], reading: EqlReading, meter: _Meter) -> Iterator[Run]:
    steps = eql.step_expanded(query)
    times, w = [time_of(e) for e in S], span_of(query.maxspan, reading)
    at_step = {step: _by_key(query, step, S, reading, meter) for step in dict.fromkeys(steps)}
    at = [at_step[step] for step in steps]
    until = {} if query.until is None else _by_key(query, query.until, S, reading, meter)
    first = next(i for i, step in enumerate(steps) if not step.missing)
    for K in at[first]:
        view = _KeyView(
            tuple(tuple(at[i].get(K, ())) for i, step in enumerate(steps) if not step.missing),
            tuple(
                (sum(not before.missing for before in steps[:i]), tuple(at[i].get(K, ())))
                for i, step in enumerate(steps)
                if step.missing
            ),
            tuple(until.get(K, ())),
        )
        last_to_begin: dict[int, Run] = {}  # runs come in the order of their beginnings, so later runs replace earlier
        for run in _runs(view, meter):
            last_to_begin[run[-1]] = run
        for run in last_to_begin.values():
            if not _ended_between(run, view, reading) and _holds(run, view, times, w):
                yield run


def _by_key(
    query: eql.EventSequence | eql.EventSample, step: eql.SequenceStep, S: Sequence[Event], reading: EqlReading,
    meter: _Meter,
) -> dict[Key, list[int]]:  # fmt: skip
    """Return the positions of the events that pass the step's filter, by their keys for the step."""
    test, fields = filter_test(step.filter, reading), eql.step_keys(query, step)
    found: dict[Key, list[int]] = {}
    for p, e in enumerate(meter.limit_items(S)):
        for K in keys_of(e, fields, reading) if test(e) else ():
            found.setdefault(K, []).append(p)
    return found


def _runs(view: _KeyView, meter: _Meter) -> Iterator[Run]:
    """Yield the runs of a key in the order in which they begin."""
    for begin in view.steps[0]:
        run = [begin]
        for places in view.steps[1:]:
            later = bisect_right(places, run[-1])
            if later == len(places):
                break
            run += meter.limit_items(places[later : later + 1])
        else:
            yield tuple(run)


def _ended_between(run: Run, view: _KeyView, reading: EqlReading) -> bool:
    """Return whether an `until` event ends the run, by the rule that `EqlReading.until` chooses."""
    if reading.until == "last":
        return any(run[0] < p <= run[-1] for p in view.until)
    return any(run[0] <= p < run[-1] for p in view.until)


def _holds(run: Run, view: _KeyView, times: Sequence[Microseconds | None], w: int | None) -> bool:
    """Return whether a run is within the span, and no missing step has an event in its gap."""
    begin, end = times[run[0]], times[run[-1]]
    if w is not None and (begin is None or end is None or end - begin > w):
        return False
    return not any(_in_gap(p, before, run, times, w) for before, places in view.missing for p in places)


def _in_gap(p: int, before: int, run: Run, times: Sequence[Microseconds | None], w: int | None) -> bool:
    """Return whether position p is in the gap that follows the first `before` steps of the run."""
    begin, end, time = times[run[0]], times[run[-1]], times[p]
    if 0 < before < len(run):
        return run[before - 1] < p < run[before]
    if begin is None or end is None or time is None or w is None:
        return False
    return p < run[0] and time >= end - w if before == 0 else p > run[-1] and time <= begin + w


def _of_sample(query: eql.EventSample, S: Sequence[Event], reading: EqlReading, meter: _Meter) -> Iterator[Match]:
    """Yield one match for each key, at the first position by which all steps can have different events.

    If several choices of events are possible, the match has the choice that is lexicographically first.
    """
    at = [_by_key(query, step, S, reading, meter) for step in query.steps]
    for K in at[0]:
        places = [found.get(K, []) for found in at]
        for n in sorted({p for found in places for p in found}):
            chosen = _choice([[p for p in found if p <= n] for found in places], meter)
            if chosen is not None:
                yield Match(n, tuple(sorted(chosen)))
                break


def _choice(places: list[list[int]], meter: _Meter, taken: frozenset[int] = frozenset()) -> tuple[int, ...] | None:
    """Return the lexicographically first choice of distinct positions, one from each list, outside `taken`; or None."""
    if not places:
        return ()
    for p in meter.limit_items(places[0]):
        if p not in taken and (rest := _choice(places[1:], meter, taken | {p})) is not None:
            return (p, *rest)
    return None


class _Meter:
    """Counts steps against the budget."""

    def __init__(self, budget: Budget) -> None:
        self.budget, self.count = budget, 0

    def limit_items(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items until the budget is used up. Raises BudgetExceeded."""
        for item in items:
            self.count += 1
            # Reading the clock costs more than a step.
            if self.count % 1024 == 0:
                check_time()
            if self.count > 10 * self.budget.valuations:
                raise BudgetExceeded(
                    f"the query looks at events more than {10 * self.budget.valuations} times; the interpreter "
                    "follows the definition and is slow by design: use a shorter log, or raise the budget"
                )
            yield item
