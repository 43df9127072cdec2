"""The meaning of Sigma rules: which alerts a log raises.

Letters: S the log, p and q positions from 0, t(p) the time of the event at p, w the timespan of a correlation.

A detection raises an alert at each event that satisfies its condition. An alert of a rule R, at p, is an *occurrence*
of R in each correlation that refers to R, in the group of the values that the event at p has for the fields of
`group-by`; an event without a value for one of them is in no group. An alert of a correlation has the values of its own
group first, then those of the event at p.

At p, with an occurrence in a group, the **window** has the occurrences of that group at q <= p with t(p) - t(q) <= w.
The correlation raises an alert there if its number for the window satisfies the condition. This number is:

- event_count: the events of the window, each once;
- value_count: the different values of the field. Occurrences without a value do not count;
- value_sum, value_avg, value_percentile: the sum, the average or the percentile of the numbers in the field.
  Occurrences without a number do not count;
- temporal: the different rules that occur;
- temporal_ordered: the length of the longest chain of occurrences in the window that ends at p, whose rules are in
  the order of `rules` and whose events follow each other in the log.

Without a condition, temporal and temporal_ordered require as many as there are rules. The events of an alert are those
of its window; for temporal_ordered they are those of the chain. Of several longest chains, the chain with the latest
alerts counts, then the chain whose rules are named first, both compared from the end. `SigmaReading` has other answers
to open questions; each changes a line or two here.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import condition_test, fold, own_values_of, time_of
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Event
from cerify.semantics.readings import SPECIFICATION, EqlReading, SigmaCase, SigmaReading, SigmaWindow
from cerify.semantics.schemas import attribute_of
from cerify.semantics.sigma.syntax import (
    TEMPORAL,
    SigmaCorrelation,
    SigmaDetection,
    SigmaQuery,
    SigmaRule,
    Threshold,
)
from cerify.semantics.trees import children, rebuilt
from cerify.semantics.values import Microseconds, Value, kind

Group: TypeAlias = tuple[tuple[str, Value | None], ...]
"""The names of a group's fields, each with its value in the event."""
SECOND = 1_000_000
MOST_REMEMBERED = 20_000  # events of which a detection's answer is kept
COMPARE = {
    "gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le, "eq": operator.eq, "neq": operator.ne,
}  # fmt: skip


@dataclass(frozen=True)
class SigmaAlert:
    """An alert of a rule: the position at which it is raised, its events, and its group."""

    at: int
    events: tuple[int, ...]
    rule: str
    group: Group = ()


@dataclass(frozen=True)
class AlertOccurrence:
    """An alert as a correlation sees it: with its time, the index of its rule, and its values to be counted."""

    alert: SigmaAlert
    time: Microseconds
    rule: int
    values: tuple[Value, ...] | None

    @property
    def at(self) -> int:
        """Return the position of the alert."""
        return self.alert.at


DetectionTests: TypeAlias = dict[int, tuple[SigmaRule, Callable[[Event], bool]]]
"""The tests of detections, by the identity of the rule. The rule is kept too, so that its identity stays unique."""


def alerts_of(
    query: SigmaQuery, S: Sequence[Event], reading: SigmaReading = SPECIFICATION, budget: Budget = Budget(),
    tests: DetectionTests | None = None,
) -> list[SigmaAlert]:  # fmt: skip
    """Return the alerts that a log raises, in the order of positions and of rules. Raises BudgetExceeded.

    An event without a time is in no window, so that a correlation does not see it. tests: a cache that calls for many
    short logs with the same reading can share.
    """
    log = LogOfRules(S, reading, budget, tests)
    return sorted((alert for rule in query.rules for alert in log.alerts(rule)), key=lambda alert: alert.at)


class LogOfRules:
    """A log, and the alerts that rules raise on it. The alerts of each rule are computed only once."""

    def __init__(
        self, S: Sequence[Event], reading: SigmaReading = SPECIFICATION, budget: Budget = Budget(),
        tests: DetectionTests | None = None,
    ) -> None:  # fmt: skip
        self.S, self.reading, self.budget = S, reading, budget
        self._tests, self._shares_tests = ({}, False) if tests is None else (tests, True)
        self.times = [None if (t := time_of(e)) is None else self._rounded(t) for e in S]
        self._alerts: dict[int, tuple[SigmaRule, list[SigmaAlert]]] = {}
        times = [t for t in self.times if t is not None]
        # The shortcuts below search by halves, which needs sorted times; a log out of order takes the long way.
        self._in_order = times == sorted(times)
        self._looks = 0

    def _rounded(self, time: Microseconds) -> Microseconds:
        return time // SECOND * SECOND if self.reading.resolution == "seconds" else time

    def alerts(self, rule: SigmaRule) -> list[SigmaAlert]:
        """Return the alerts of a rule, in the order of positions."""
        if id(rule) not in self._alerts:
            made = self._detected(rule) if isinstance(rule, SigmaDetection) else self._correlated(rule)
            self._alerts[id(rule)] = rule, list(made)  # the rule is kept, so that its identity stays unique
        return self._alerts[id(rule)][1]

    def _detected(self, rule: SigmaDetection) -> Iterator[SigmaAlert]:
        if id(rule) not in self._tests:
            test = detection_test(rule, self.reading.case, self.reading.absent)
            self._tests[id(rule)] = rule, _remembering(test) if self._shares_tests else test
        test = self._tests[id(rule)][1]
        return (SigmaAlert(p, (p,), rule.name) for p, e in enumerate(self.S) if test(e))

    # --- groups and windows -------------------------------------------------------------------------------------------

    def occurrences(self, rule: SigmaCorrelation) -> dict[Any, list[AlertOccurrence]]:
        """Return, by group, the alerts that a correlation counts, in the order of positions, then of their rules."""
        reading, found = self.reading, []
        for number, (part, fields) in enumerate(zip(rule.rules, rule.keys, strict=True)):
            for alert in self.alerts(part):
                time = self.times[alert.at]
                group = self.group_of(rule, alert, fields)
                # An alert without a time is in no window, and one without a group in no count.
                if time is None or group is None:
                    continue
                values = self._values_counted(rule, number, alert)
                if rule.values[number] and values is None and reading.null_values == "apart":
                    continue
                found.append((group, AlertOccurrence(alert, time, number, values)))
        groups: dict[Any, list[AlertOccurrence]] = {}
        # Sorted here once: occurrences come rule by rule, and windows are read by position.
        for group, one in sorted(found, key=lambda pair: (pair[1].at, pair[1].rule)):
            groups.setdefault(group, []).append(one)
        return groups

    def value_of(self, alert: SigmaAlert, field: str) -> Value | None:
        """Return an alert's value for a field: the value in its group, or else the first value of its last event."""
        for name, value in alert.group:
            if attribute_of(name) == field:
                return value
        return next(iter(own_values_of(self.S[alert.at], field)), None)

    def group_of(self, rule: SigmaCorrelation, alert: SigmaAlert, fields: tuple[str, ...]) -> Any:
        """Return the key of an alert's group; None for an alert in no group."""
        if self.reading.groups == "ignored":
            return ()
        values = [self.value_of(alert, field) for field in fields]
        if None in values and self.reading.null_groups == "apart":
            return None
        folds = self.reading.groups == "folded"
        return tuple(None if v is None else (kind(v), fold(v) if folds and isinstance(v, str) else v) for v in values)

    def _values_counted(self, rule: SigmaCorrelation, number: int, alert: SigmaAlert) -> tuple[Value, ...] | None:
        if not rule.values[number]:
            return None
        values = [self.value_of(alert, field) for field in rule.values[number]]
        numeric = rule.kind not in ("event_count", "value_count")
        if any(v is None or (numeric and (isinstance(v, bool) or not isinstance(v, int | float))) for v in values):
            return None
        return tuple(values)  # type: ignore[arg-type]

    def window(
        self, rule: SigmaCorrelation, group: list[AlertOccurrence], p: int, t: Microseconds
    ) -> list[AlertOccurrence]:
        """Return the occurrences of a group in the window that ends at position p, at time t."""
        w, reading = rule.seconds * SECOND, self.reading
        together = reading.instant == "together"
        if self._in_order and self.window_of(rule) == "sliding":  # a shortcut: others cannot be in the window
            low = bisect_left(group, t - w, key=lambda o: o.time)
            group = group[low : bisect_right(group, t, key=lambda o: o.time)]
        seen = [o for o in self._watched(group) if o.at <= p or (together and o.time == t)]
        match self.window_of(rule):
            case "unlimited":
                return seen
            case "extent":
                times = [o.time for o in group]
                return seen if times and max(times) - min(times) <= w else []
            case "bucketed":
                return [o for o in seen if o.time // w == t // w]
            case "sliding":
                closed = reading.edge == "closed"
                return [o for o in seen if o.time <= t and (t - o.time <= w if closed else t - o.time < w)]

    def window_of(self, rule: SigmaCorrelation) -> SigmaWindow:
        """Return how far the window of a correlation reaches: one of the values of `SigmaReading.window`."""
        return self.reading.window

    def alerts_when(self, rule: SigmaCorrelation) -> str:
        """Return at which events a correlation raises alerts: one of the values of `SigmaReading.alerts`."""
        return self.reading.alerts

    def _watched(self, items: list[AlertOccurrence]) -> Iterator[AlertOccurrence]:
        self._looks += len(items)
        if self._looks > 10 * self.budget.valuations:
            raise BudgetExceeded(
                f"the rules look at events more than {10 * self.budget.valuations} times; the reference evaluator is "
                "slow by design: use a shorter log, or raise the budget"
            )
        check_time()
        return iter(items)

    # --- correlations -------------------------------------------------------------------------------------------------

    def _correlated(self, rule: SigmaCorrelation) -> Iterator[SigmaAlert]:
        made: list[SigmaAlert] = []
        for group in self.occurrences(rule).values():
            held, used = False, -1
            moments = list(self._moments(group))
            when = self.alerts_when(rule)
            least = _least_number(rule)
            for p, t, of_p in moments[-1:] if when == "last" else moments:
                before = bisect_right(group, p, key=lambda o: o.at) if self._in_order else len(group)
                if before < least:  # a shortcut: a window has no more occurrences than there were
                    held = False
                    continue
                left = [o for o in group if o.at > used] if when == "consumed" else group
                window = self.window(rule, left, p, t)
                number, events = self.measure(rule, window, of_p)
                holds = bool(window) and satisfies(number, rule.thresholds)
                if holds and not (held and when == "episode") and not (used >= 0 and when == "first"):
                    made.append(self.alert_of(rule, events, of_p[-1]))
                    used = p
                held = holds
        return iter(sorted(made, key=lambda alert: (alert.at, alert.events)))

    def alert_of(self, rule: SigmaCorrelation, events: tuple[int, ...], last: AlertOccurrence) -> SigmaAlert:
        """Return a correlation's alert with these events; its position and its group are those of the occurrence
        `last`.
        """
        named = zip(rule.group_by, rule.keys[last.rule], strict=True)
        return SigmaAlert(
            last.at, events, rule.name, tuple((n, self.value_of(last.alert, field)) for n, field in named)
        )

    def _moments(self, group: list[AlertOccurrence]) -> Iterator[tuple[int, Microseconds, list[AlertOccurrence]]]:
        """Yield the positions at which the condition is tested for a group, each with its time and occurrences."""
        together = self.reading.instant == "together"
        at_once: dict[Microseconds, list[AlertOccurrence]] = {}
        for one in group:
            at_once.setdefault(one.time if together else one.at, []).append(one)
        for moment in at_once.values():
            yield moment[-1].at, moment[-1].time, moment

    def measure(
        self, rule: SigmaCorrelation, window: list[AlertOccurrence], of_p: list[AlertOccurrence]
    ) -> tuple[float | None, tuple[int, ...]]:
        """Return (number, events) for a window: the number that the condition compares, and the events of an alert.

        The number is None if no value is counted, as for an average of no values. of_p: the occurrences at the
        window's last event.
        """
        events = events_of(window)
        # One event can be an occurrence of two rules; it counts as one event, and as one value.
        once = {(self._identity(rule, o), o.values): o for o in window}
        seen = window if self.reading.counted == "matches" else once.values()
        values = [o.values for o in seen if o.values is not None]
        match rule.kind:
            case "event_count":
                return len(seen), events
            case "value_count":
                return len({tuple(map(self._compared, value)) for value in values}), events
            case "temporal":
                return len({rule.rules[o.rule].name for o in window}), events
            case "temporal_ordered":
                if self.reading.order == "any":
                    return len({rule.rules[o.rule].name for o in window}), events
                chain = self.longest_chain(window, {o.at for o in of_p})
                return len(chain), events_of(chain)
            case "value_sum" | "value_avg" | "value_percentile":
                numbers = sorted(float(value[0]) for value in values)  # type: ignore[arg-type]
                if not numbers:
                    return None, events
                if rule.kind == "value_percentile":
                    return self._percentile(numbers, rule.percentile or 0.0), events
                # Exact up to one rounding, so that the sum does not depend on the order in which an evaluator adds.
                total = math.fsum(numbers)
                return total if rule.kind == "value_sum" else total / len(numbers), events

    def _compared(self, value: Value) -> object:
        folds = self.reading.values == "folded" and isinstance(value, str)
        return kind(value), fold(value) if folds and isinstance(value, str) else value

    def _identity(self, rule: SigmaCorrelation, one: AlertOccurrence) -> object:
        """Return the key by which counts are distinct: the position of an event, or an alert of a correlation."""
        return one.at if isinstance(rule.rules[one.rule], SigmaDetection) else one.alert

    def longest_chain(self, window: list[AlertOccurrence], last: set[int]) -> tuple[AlertOccurrence, ...]:
        """Return the longest chain of occurrences whose rules are in order and whose end is at a position in `last`.

        Of several, return the latest.
        """
        together = self.reading.instant == "together"
        best: dict[int, tuple[AlertOccurrence, ...]] = {}  # by the rule of its last occurrence
        ending: list[tuple[AlertOccurrence, ...]] = []
        moments: dict[Microseconds, list[AlertOccurrence]] = {}
        for one in window:
            moments.setdefault(one.time if together else one.at, []).append(one)
        for moment in moments.values():
            # Chains of one moment are made before any of them is stored: events of one moment do not follow each other.
            new = []
            for one in moment:
                before = [chain for number, chain in best.items() if number < one.rule]
                new.append((*max(before, key=_latest, default=()), one))
            for chain in new:
                number = chain[-1].rule
                best[number] = max(best.get(number, ()), chain, key=_latest)
                if chain[-1].at in last:
                    ending.append(chain)
        return max(ending, key=_latest, default=())

    def _percentile(self, numbers: list[float], percent: float) -> float:
        place = percent / 100 * (len(numbers) - 1)
        if self.reading.percentile == "nearest":
            return numbers[max(math.ceil(percent / 100 * len(numbers)) - 1, 0)]
        low = math.floor(place)
        high = min(low + 1, len(numbers) - 1)
        return numbers[low] + (place - low) * (numbers[high] - numbers[low])


def _least_number(rule: SigmaCorrelation) -> float:
    """Return a number of occurrences that a window needs at least for the condition to hold."""
    bounds = [bound for name, bound in rule.thresholds if name in ("gt", "gte", "eq")]
    return max(bounds, default=0) if rule.kind in ("event_count", "value_count", *TEMPORAL) else 0


def events_of(occurrences: Iterable[AlertOccurrence]) -> tuple[int, ...]:
    """Return the positions of the events of occurrences, in order."""
    return tuple(sorted({p for o in occurrences for p in o.alert.events}))


def _latest(chain: tuple[AlertOccurrence, ...]) -> tuple[int, list[int], list[int]]:
    """Return the sort key of a chain, highest for the best: longer, then later alerts, then rules named first.

    Alerts and rules are compared from the last one on.
    """
    return len(chain), [one.at for one in reversed(chain)], [-one.rule for one in reversed(chain)]


def satisfies(number: float | None, thresholds: Iterable[Threshold]) -> bool:
    """Return whether a number satisfies all thresholds; None satisfies none."""
    if number is None:
        return False
    return all(COMPARE[name](number, bound) for name, bound in thresholds)


def detection_test(
    rule: SigmaDetection, case: SigmaCase = "folded", absent: Literal["false", "unknown"] = "false"
) -> Callable[[Event], bool]:
    """Return a function that tells whether an event satisfies a detection. case, absent: see `SigmaReading`."""
    truth = condition_test(cased_condition(rule.condition, case), EqlReading("exact", absent), own_values_of)
    return lambda event: truth(event) is True


def _remembering(test: Callable[[Event], bool]) -> Callable[[Event], bool]:
    """Return the test with a cache of its answers, because searches make many logs from the same events."""
    known: dict[int, tuple[Event, bool]] = {}

    def satisfied(event: Event) -> bool:
        found = known.get(id(event))
        if found is None:
            if len(known) >= MOST_REMEMBERED:
                known.clear()
            known[id(event)] = found = event, test(event)  # the event is kept, so that its identity stays unique
        return found[1]

    return satisfied


CASED: Mapping[SigmaCase, Mapping[str, eql.MatchOperator]] = {
    "folded": {},
    "exact": {"in~": "in", "like~": "like"},
    "wildcards": {"in~": "in"},
}
"""For each reading of `case`, operators that ignore case, each with the case-sensitive operator to use instead."""


def cased_condition(node: eql.Condition, case: SigmaCase) -> eql.Condition:
    """Return the condition with case-sensitive operators where `case`, as in `SigmaReading.case`, requires them."""
    cased = CASED[case]
    if not cased:
        return node
    if isinstance(node, eql.ValueLookup) and node.operator in cased:
        return eql.ValueLookup(cased[node.operator], node.term, node.values)
    return rebuilt(node, [cased_condition(part, case) for part in children(node)])
