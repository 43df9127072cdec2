"""Explain why Sigma rules raised an alert or not: what the window contained, and what was missing."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor

from cerify.draw.timeline import Row
from cerify.explanations.eql import failures
from cerify.explanations.explanation import (
    Drawing,
    Explainer,
    ExplanationPart,
    ExplanationView,
    Json,
    Listing,
    Request,
    braces,
    listing,
    nearest,
)
from cerify.semantics.eql import syntax as eql
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import ComplexEvent, Stream
from cerify.semantics.sigma.denote import SECOND, AlertOccurrence, LogOfRules, SigmaAlert, alerts_of
from cerify.semantics.sigma.syntax import (
    NUMERIC,
    TEMPORAL,
    SigmaCorrelation,
    SigmaDetection,
    SigmaQuery,
    SigmaRule,
    rules_of,
)
from cerify.semantics.values import Microseconds, show_seconds

NEAREST = 3
LEAST = ("gt", "gte", "eq")
WORDS = {
    "gt": "more than", "gte": "at least", "lt": "fewer than", "lte": "at most", "eq": "exactly", "neq": "other than",
}  # fmt: skip


@dataclass(frozen=True)
class SigmaAnswer:
    """Whether an alert with these events is raised at a position, why or why not, and the nearest alerts."""

    events: ComplexEvent
    at: int
    alert: SigmaAlert | None
    reasons: tuple[str, ...]
    nearest: tuple[SigmaAlert, ...] = ()


class SigmaExplainer(Explainer[SigmaAnswer]):
    """Explains by the definition: the windows of groups, and the occurrences around them."""

    hint = "--at N says why no alert is raised at an event, --match POSITIONS why one with other events is not."
    idle = "no alert"

    def __init__(self, query: SigmaQuery, S: Stream, text: str) -> None:
        self.rules, self.S, self.query = query, S, text
        self.log, self.alerts = LogOfRules(S), alerts_of(query, S)

    def explain_request(self, request: Request) -> SigmaAnswer | None:
        if request.valuation is not None:
            raise Unsupported("an alert of Sigma is its events; there are no variables that bind them")
        if request.events is None:
            return None
        if not request.events:
            raise InputError("--match: an alert of Sigma has at least one event")
        C = request.events
        at = max(C) if request.at is None else request.at
        self.require_on_stream(at, "--at")
        here = [a for a in self.alerts if a.at == at and set(a.events) == C]
        if here:
            return SigmaAnswer(C, at, here[0], tuple(self._why(here[0])))
        near = sorted(self.alerts, key=lambda a: (len(C.symmetric_difference(a.events)), abs(a.at - at), a.events))
        return SigmaAnswer(C, at, None, tuple(self.why_not(at)), tuple(near[:NEAREST]))

    def all(self, request: Request) -> Listing[SigmaAnswer]:
        if request.at is not None:
            self.require_on_stream(request.at, "--at")
        answers = (
            SigmaAnswer(frozenset(a.events), a.at, a, tuple(self._why(a)))
            for a in self.alerts
            if request.at in (None, a.at)
        )
        found = listing(answers, request, len(self.S), lambda one: one.at)
        reasons = self._counts() if request.at is None or found.found else self.why_not(request.at)
        return Listing(found.found, found.more, found.first, found.last, tuple(reasons))

    def json(self, found: SigmaAnswer) -> Json:
        answer: Json = {"query": self.query, "events": sorted(found.events), "at": found.at}
        answer |= {"match": found.alert is not None, "because": list(found.reasons)}
        if found.alert is not None:
            return answer | {"rule": found.alert.rule, "group": dict(found.alert.group)}
        return answer | {"nearest": [{"events": list(a.events), "at": a.at} for a in found.nearest]}

    def view(self, found: SigmaAnswer) -> ExplanationView:
        label, raised = braces(found.events), found.alert is not None
        sentence = f"{label} is {'an' if raised else 'no'} alert at {found.at}"
        rows = [Row("common" if raised else "extra", sorted(found.events), found.at, sentence)]
        rows += [Row("common", a.events, a.at, f"nearest alert · {braces(a.events)} at {a.at}") for a in found.nearest]
        heading = "the rules say so" if raised else "what is in the way"
        parts: tuple[ExplanationPart, ...] = (ExplanationPart(heading, lines=found.reasons),) if found.reasons else ()
        parts += nearest("", (a.events for a in found.nearest), found.events)
        places = tuple(sorted(found.events))
        return ExplanationView(sentence, raised, places, found.at, label, parts, Drawing(tuple(rows)), True)

    # --- why ----------------------------------------------------------------------------------------------------------

    def _counts(self) -> Iterator[str]:
        """Yield the number of alerts of each rule on the log."""
        for rule in rules_of(self.rules):
            alerts = self.log.alerts(rule)
            where = ""
            if isinstance(rule, SigmaCorrelation):
                groups = self.log.occurrences(rule)
                where = f", from {sum(map(len, groups.values()))} in {_many(len(groups), 'group')}"
            yield f"{rule.name}: {_many(len(alerts), 'alert')}{where}"

    def _why(self, alert: SigmaAlert) -> Iterator[str]:
        rule = next(rule for rule in self.rules.rules if rule.name == alert.rule)
        if isinstance(rule, SigmaDetection):
            yield f"event {alert.at} satisfies {rule.name}"
            return
        if alert.group:
            yield f"the group is {_values(alert.group)}"
        last = self.log.times[alert.at] or 0
        first = last
        for part in rule.rules:  # the timespan is of their alerts, whose own events may begin before it
            own = [a for a in self.log.alerts(part) if a.at in alert.events and set(a.events) <= set(alert.events)]
            times = [(a.at, t) for a in own if (t := self.log.times[a.at] or 0) >= last - rule.seconds * SECOND]
            if times:
                yield f"{part.name}: {_places([at for at, _ in times])}"
                first = min(first, *(t for _, t in times))
        yield f"they take {_seconds(last - first)}; the timespan is {rule.timespan}"
        if rule.kind not in TEMPORAL or _has_own_condition(rule):
            yield f"{self._amount(rule, alert)}; an alert has {_condition_of(rule)}"

    def _amount(self, rule: SigmaCorrelation, alert: SigmaAlert) -> str:
        """Return what a condition compares, with its number at an alert."""
        time = self.log.times[alert.at] or 0
        groups = self.log.occurrences(rule).values()
        some = ((of, [o for o in of if o.at == alert.at]) for of in groups)
        for of, here in some:
            number, events = self.log.measure(rule, self.log.window(rule, of, alert.at, time), here)
            if here and events == alert.events:
                return f"{_what(rule)}: {0 if number is None else number:.15g}"
        return _what(rule)

    def why_not(self, at: int) -> Iterator[str]:
        """Yield why no rule raises an alert at a position, rule by rule."""
        for rule in self.rules.rules:
            own = [a for a in self.log.alerts(rule) if a.at == at]
            for alert in own:
                yield f"{rule.name} raises an alert here, with the events {braces(alert.events)}"
            if not own:
                several = f"{rule.name}: " * (len(self.rules.rules) > 1)
                yield from (f"{several}{reason}" for reason in self._rejected(rule, at))

    def _rejected(self, rule: SigmaRule, at: int) -> Iterator[str]:
        if isinstance(rule, SigmaDetection):
            for reason in failures(eql.EventFilter(None, rule.condition), self.S[at]):
                yield f"event {at} does not satisfy it: {reason}"
            return
        if self.log.times[at] is None:
            yield f"event {at} has no time; name its column with --time"
            return
        groups = self.log.occurrences(rule)
        here = [(key, of) for key, of in groups.items() if any(o.at == at for o in of)]
        if not here:
            yield from self._nothing_occurs(rule, at)
        for _, of in here:
            yield from self._number(rule, of, at, groups)

    def _nothing_occurs(self, rule: SigmaCorrelation, at: int) -> Iterator[str]:
        """Yield the reasons why no rule of a correlation occurs at a position: no rule fits, or no group or value."""
        for part, fields, values in zip(rule.rules, rule.keys, rule.values, strict=True):
            for alert in self.log.alerts(part):
                if alert.at == at:
                    for name in (*fields, *values):
                        value = self.log.value_of(alert, name)
                        if value is None:
                            yield f"{part.name} occurs at event {at}, which has no value of {name}"
                        elif (
                            name in values
                            and rule.kind in NUMERIC
                            and (isinstance(value, bool) or not isinstance(value, int | float))
                        ):
                            said = f"whose {name} is {value!r}: {rule.kind} is of numbers"
                            yield f"{part.name} occurs at event {at}, {said}"
                    return
        for part in rule.rules:
            yield from (f"{part.name}: {reason}" for reason in self._rejected(part, at))

    def _number(
        self, rule: SigmaCorrelation, of: list[AlertOccurrence], at: int, groups: dict[object, list[AlertOccurrence]]
    ) -> Iterator[str]:
        """Yield the contents of the window at a position, and occurrences near it."""
        t = self.log.times[at] or 0
        window = self.log.window(rule, of, at, t)
        number, _ = self.log.measure(rule, window, [o for o in window if o.at == at])
        wanted = _condition_of(rule)
        one = next(o for o in of if o.at == at)
        values = [(n, self.log.value_of(one.alert, f)) for n, f in zip(rule.group_by, rule.keys[one.rule], strict=True)]
        group = f" of {_values(values)}" if values else ""
        if rule.kind in TEMPORAL:
            there = sorted({o.rule for o in window})
            ordered = rule.kind == "temporal_ordered"
            yield (
                f"{len(there)} of {len(rule.rules)} rules occur within {rule.timespan} before event {at}{group}"
                + (f"; {number or 0:.15g} in their order, up to this event" if ordered and number != len(there) else "")
                + (f", and {wanted} would be an alert" if _has_own_condition(rule) else "")
            )
            for i in there:
                yield f"{rule.rules[i].name}: {_places([o.at for o in window if o.rule == i])}"
            for i, part in enumerate(rule.rules):  # a rule that is not there is in the way of "at least" alone
                if i not in there and _lacks(rule, number or 0):
                    yield f"{part.name}: {self._nearest(rule, i, of, window, groups)}"
        else:
            what = _what(rule)
            amount = "none" if number is None else f"{number:.15g}"
            yield f"{what}: {amount} within {rule.timespan} before event {at}{group}, and {wanted} would be an alert"
            yield f"in the window: {_places([o.at for o in window])}"
            w = rule.seconds * SECOND
            before = max((o for o in of if o.at < at and o.time < t - w), key=lambda o: (o.time, o.at), default=None)
            if before:
                yield f"the one before, event {before.at}, is {_seconds(t - w - before.time)} too early"
            others = [
                o
                for key, some in groups.items()
                for o in some
                if some is not of and o.at <= at and 0 <= t - o.time <= w
            ]
            if others:
                yield f"in other groups within that time: {_places([o.at for o in others])}"

    def _reached(self, rule: SigmaCorrelation, i: int, window: list[AlertOccurrence], since: Microseconds) -> int:
        """Return the number of rules in a window since a time that can stand beside a later occurrence of rule i."""
        part = [o for o in window if o.time >= since]
        if rule.kind == "temporal":
            return len({o.rule for o in part})
        earlier = [o for o in part if o.rule < i]
        return len(self.log.longest_chain(earlier, {o.at for o in earlier}))

    def _nearest(
        self, rule: SigmaCorrelation, i: int, of: list[AlertOccurrence], window: list[AlertOccurrence],
        groups: dict[object, list[AlertOccurrence]],
    ) -> str:  # fmt: skip
        """Return the nearest occurrences of a rule that has none in a window.

        One that comes later is late for the latest part of the window that has what the condition needs beside it.
        """
        w, last = rule.seconds * SECOND, window[-1]
        own = sorted((o for o in of if o.rule == i), key=lambda o: o.time)
        before = [o for o in own if o.time < last.time - w]
        after = [o for o in own if o.time >= last.time]
        said = []
        if before:
            said.append(f"event {before[-1].at} is {_seconds(last.time - before[-1].time - w)} too early")
        if after:
            times = sorted(o.time for o in window)
            needed = min(_rules_needed(rule) - 1, self._reached(rule, i, window, times[0]))
            late = bisect_left(times, True, key=lambda time: self._reached(rule, i, window, time) < needed)
            over = after[0].time - times[late - 1] - w if needed else 0
            said.append(f"event {after[0].at} comes {f'{_seconds(over)} too late' if over > 0 else 'later'}")
        if said:
            return ", ".join(said)
        others = [o.at for some in groups.values() for o in some if o.rule == i]
        if others:
            return f"only in other groups, at {_places(others)}"
        return "it occurs nowhere in a group" if self.log.alerts(rule.rules[i]) else "it occurs nowhere in the log"


def _rules_needed(rule: SigmaCorrelation) -> int:
    """Return the number of rules that a condition asks for at least; all of them if it has no such bound."""
    least = [floor(bound) + 1 if name == "gt" else ceil(bound) for name, bound in rule.thresholds if name in LEAST]
    return max(least, default=len(rule.rules))


def _condition_of(rule: SigmaCorrelation) -> str:
    """Return the condition of a correlation in words."""
    return " and ".join(f"{WORDS[name]} {bound:.15g}" for name, bound in rule.thresholds)


def _has_own_condition(rule: SigmaCorrelation) -> bool:
    """Return whether a condition asks for another number than that of all rules."""
    return rule.thresholds != (("gte", len(rule.rules)),)


def _lacks(rule: SigmaCorrelation, number: float) -> bool:
    """Return whether a number of rules is too small for a condition."""
    return any(number < bound or (name == "gt" and number == bound) for name, bound in rule.thresholds if name in LEAST)


def _what(rule: SigmaCorrelation) -> str:
    """Return what the condition of a correlation is about."""
    if rule.kind in TEMPORAL:
        return "rules in their order" if rule.kind == "temporal_ordered" else "rules"
    return "events" if rule.kind == "event_count" else f"{rule.kind} of {', '.join(rule.values[0])}"


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _seconds(microseconds: Microseconds) -> str:
    return f"{show_seconds(microseconds)} s"


def _places(places: list[int]) -> str:
    different = sorted(set(places))
    more = f" and {len(different) - 10} more" if len(different) > 10 else ""
    return f"event{'s' * (len(different) != 1)} {', '.join(map(str, different[:10]))}{more}"


def _values(values: object) -> str:
    return ", ".join(
        f"{name} {'absent' if value is None else eql.show_constant(value) if isinstance(value, str) else value}"
        for name, value in values  # type: ignore[attr-defined]
    )
