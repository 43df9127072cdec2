"""Evaluate counting correlations of Sigma in one pass: each group keeps the events of its window and its counts.

The reference evaluator (semantics/sigma/denote.py) looks at a whole window for each event. Here each event enters the
window once and leaves it once. This supports rules about one event, and `event_count` and `value_count` of such rules,
as the specification reads them. The reference evaluator evaluates all other correlations and readings.
"""

from __future__ import annotations

import operator
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from cerify.semantics.arguments import Budget, check_time, too_many_matches
from cerify.semantics.eql.conditions import condition_test, own_values_of, time_of
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Event, Match, Stream, result_of
from cerify.semantics.readings import EqlReading
from cerify.semantics.sigma.syntax import SigmaCorrelation, SigmaDetection, SigmaQuery
from cerify.semantics.values import Microseconds, Value, kind

COUNTS = ("event_count", "value_count")
COMPARE: dict[str, Callable[[float, float], bool]] = {
    "gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le, "eq": operator.eq, "neq": operator.ne,
}  # fmt: skip
Alert: TypeAlias = tuple[int, int, Match]
"""An alert: its position, the place of its rule in the query, and the match."""


@dataclass
class GroupWindow:
    """The events of a group within the timespan, as (time, position, what), and how often each `what` occurs.

    what: the values that count, such as those of the field of `value_count`.
    """

    events: deque[tuple[Microseconds, int, tuple[Hashable, ...]]] = field(default_factory=deque)
    counted: Counter[Hashable] = field(default_factory=Counter)

    def add(self, time: Microseconds, position: int, what: tuple[Hashable, ...], width: int) -> None:
        """Add an event, and drop the events more than `width` microseconds before it. what: the values that count."""
        self.events.append((time, position, what))
        self.counted.update(what)
        while time - self.events[0][0] > width:
            for one in self.events.popleft()[2]:
                self.counted[one] -= 1
                if not self.counted[one]:
                    del self.counted[one]


def unsupported_rules(query: SigmaQuery) -> Unsupported | None:
    """Return why the rules cannot be evaluated in one pass; None if they can."""
    for rule in query.rules:
        if isinstance(rule, SigmaCorrelation):
            if rule.kind not in COUNTS:
                return Unsupported(f"counting in one pass supports only {' and '.join(COUNTS)}, not {rule.kind}")
            if any(isinstance(part, SigmaCorrelation) for part in rule.rules):
                return Unsupported("counting in one pass does not support a correlation of other correlations")
    return None


def count_alerts(query: SigmaQuery, S: Stream, budget: Budget = Budget()) -> list[Match]:
    """Return the alerts of counting rules as matches, in the order of positions and then of rules.

    A match's result has the rule and its group. `unsupported_rules` must return None for the query, and times must not
    decrease. Raises BudgetExceeded for too many alerts.
    """
    times = [time_of(event) for event in S]
    found: list[Alert] = []
    for place, rule in enumerate(query.rules):
        for at, match in _detected(rule, S) if isinstance(rule, SigmaDetection) else _find_counted(rule, S, times):
            found.append((at, place, match))
            if len(found) > budget.matches:
                raise too_many_matches(budget.matches)
    return [match for _, _, match in sorted(found, key=lambda alert: (*alert[:2], alert[2].events))]


def times_ascend(S: Stream) -> bool:
    """Return whether no time is less than an earlier one. Counting in one pass needs this."""
    times = [time for event in S if (time := time_of(event)) is not None]
    return times == sorted(times)


def _test(rule: SigmaDetection) -> Callable[[Event], bool]:
    truth = condition_test(rule.condition, EqlReading("exact", "false"), own_values_of)
    return lambda event: truth(event) is True


def _detected(rule: SigmaDetection, S: Stream) -> Iterator[tuple[int, Match]]:
    test = _test(rule)
    return ((p, _alert(p, (p,), rule.name, {})) for p, event in enumerate(S) if test(event))


def _find_counted(rule: SigmaCorrelation, S: Stream, times: list[Microseconds | None]) -> Iterator[tuple[int, Match]]:
    parts = [
        (_test(part), keys, values)
        for part, keys, values in zip(rule.rules, rule.keys, rule.values, strict=True)
        if isinstance(part, SigmaDetection)
    ]
    groups: dict[Hashable, GroupWindow] = {}
    width = rule.seconds * 1_000_000
    for p, (event, time) in enumerate(zip(S, times, strict=True)):
        check_time()
        here: dict[Hashable, tuple[dict[str, Value | None], set[Hashable]]] = {}
        for test, keys, fields in parts if time is not None else ():
            if not test(event):
                continue
            group = [_value(event, name) for name in keys]
            values = [_value(event, name) for name in fields]
            if None in group or None in values:
                continue
            key = tuple((kind(value), value) for value in group if value is not None)
            compared = tuple((kind(value), value) for value in values if value is not None)
            # A set, so that an event which several rules detect counts once.
            named, what = here.get(key, ({}, set()))
            what.add(compared if rule.kind == "value_count" else (p, compared))
            here[key] = dict(zip(rule.group_by, group, strict=True)), what
        for own, (named, what) in here.items():
            assert time is not None
            window = groups.setdefault(own, GroupWindow())
            window.add(time, p, tuple(what), width)
            number = len(window.counted)
            if all(COMPARE[name](number, bound) for name, bound in rule.thresholds):
                yield p, _alert(p, tuple(position for _, position, _ in window.events), rule.name, named)


def _value(event: Event, name: str) -> Value | None:
    return next(iter(own_values_of(event, name)), None)


def _alert(at: int, events: tuple[int, ...], rule: str, group: dict[str, Value | None]) -> Match:
    return Match(at, events, (), result_of({"rule": rule, "group": group}))
