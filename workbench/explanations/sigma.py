"""Explain why Sigma rules raised an alert or not: which events the window contained, and which were missing.

Windows, groups and quantities come from the reference evaluator itself (`LogOfRules`), so that an explanation cannot
contradict the alerts. Only what evaluation does not need is computed here: which tests fail, and what was nearest.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf

from cerify.draw.timeline import Row
from cerify.explanations.eql import cut, values_text
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
from cerify.semantics.eql.conditions import condition_test, fold, own_values_of
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import ComplexEvent, Event, Stream
from cerify.semantics.readings import SPECIFICATION, EqlReading, SigmaReading
from cerify.semantics.schemas import NULL, field_name
from cerify.semantics.sigma.denote import (
    COMPARE,
    SECOND,
    AlertOccurrence,
    Group,
    LogOfRules,
    SigmaAlert,
    cased_condition,
    satisfies,
)
from cerify.semantics.sigma.syntax import (
    NUMERIC,
    SIGNS,
    TEMPORAL,
    SigmaCorrelation,
    SigmaDetection,
    SigmaQuery,
    SigmaRule,
    field_there,
    rules_of,
    show_condition,
)
from cerify.semantics.values import Microseconds, kind, show_seconds, show_time, time_at

NEAREST = 3  # the most nearest alerts that are listed
MOST_RANGES = 10  # the most runs of positions that a line lists
NEAR_EVENTS = 20  # the events on each side of an event among which the nearest to a rule is searched
MOST_EARLIER = 500  # the most occurrences of a group for which a longer timespan is tried
BEFORE_ALL = -(10**18)  # in microseconds
ANY_CASE = EqlReading("folded")
LEAST = ("gt", "gte", "eq")
WORDS = {
    "gt": "more than", "gte": "at least", "lt": "fewer than", "lte": "at most", "eq": "exactly", "neq": "other than",
}  # fmt: skip


@dataclass(frozen=True)
class SigmaAnswer:
    """The answer whether an alert with these events is raised at a position, with reasons, and the nearest alerts."""

    events: ComplexEvent
    at: int
    alert: SigmaAlert | None
    reasons: tuple[str, ...]
    nearest: tuple[SigmaAlert, ...] = ()


class SigmaExplainer(Explainer[SigmaAnswer]):
    """An explainer that uses the reference evaluator: the windows of groups, and the occurrences near them."""

    hint = "--at N says why no alert is raised at event N, --match POSITIONS why no alert with these events is raised."
    idle = "no alert"

    def __init__(self, query: SigmaQuery, S: Stream, text: str, reading: SigmaReading = SPECIFICATION) -> None:
        self.rules, self.S, self.query, self.reading = query, S, text, reading
        self.log, self._groups = LogOfRules(S, reading), dict[int, dict[object, list[AlertOccurrence]]]()
        self.alerts = sorted((a for rule in query.rules for a in self.log.alerts(rule)), key=lambda alert: alert.at)

    def explain_request(self, request: Request) -> SigmaAnswer | None:
        if request.valuation is not None:
            raise Unsupported("an alert of Sigma has no variables that bind its events; give its positions")
        if request.events is None:
            return None
        if not request.events:
            raise InputError("--match needs at least one position: an alert of Sigma is never empty")
        C = request.events
        at = max(C) if request.at is None else request.at
        self.require_on_stream(at, "--at")
        here = [a for a in self.alerts if a.at == at and set(a.events) == C]
        if here:
            return SigmaAnswer(C, at, here[0], tuple(self._why(here[0])))
        sharing = [alert for alert in self.alerts if C.intersection(alert.events)]
        near = sorted(
            sharing, key=lambda a: (-len(C.intersection(a.events)), len(set(a.events) - C), abs(a.at - at), a.events)
        )
        return SigmaAnswer(C, at, None, tuple(self.why_not(at, C)), tuple(near[:NEAREST]))

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
        sentence = f"{label} is {'an' if raised else 'not an'} alert at {found.at}"
        rows = [Row("common" if raised else "extra", sorted(found.events), found.at, sentence)]
        rows += [Row("common", a.events, a.at, f"nearest alert · {braces(a.events)} at {a.at}") for a in found.nearest]
        heading = "why" if raised else "what is in the way"
        parts: tuple[ExplanationPart, ...] = (ExplanationPart(heading, lines=found.reasons),) if found.reasons else ()
        none = "" if raised else "none: no alert has any of these events"
        parts += nearest("", (a.events for a in found.nearest), found.events, none)
        places = tuple(sorted(found.events))
        return ExplanationView(sentence, raised, places, found.at, label, parts, Drawing(tuple(rows)), True)

    def groups(self, rule: SigmaCorrelation) -> dict[object, list[AlertOccurrence]]:
        """Return the occurrences of a correlation's rules, by group. The result is cached."""
        if id(rule) not in self._groups:
            self._groups[id(rule)] = self.log.occurrences(rule)
        return self._groups[id(rule)]

    # --- windows ------------------------------------------------------------------------------------------------------

    def _begin(self, rule: SigmaCorrelation, t: Microseconds) -> Microseconds:
        """Return the time from which on events are in a window that ends at time t."""
        w = rule.seconds * SECOND
        match self.reading.window:
            case "sliding":
                return t - w + (self.reading.edge == "open")
            case "bucketed":
                return t // w * w
        return BEFORE_ALL

    def _within(self, rule: SigmaCorrelation, at: int) -> str:
        """Return a text that says which part of the log is in a correlation's window at a position."""
        match self.reading.window:
            case "sliding":
                return f"within {rule.timespan} before event {at}"
            case "bucketed":
                begin = time_at(int(self._begin(rule, self.log.times[at] or 0)))
                return f"in the {rule.timespan} from {show_time(begin)}, up to event {at},"
        return f"up to event {at}"

    def _early(self, rule: SigmaCorrelation, t: Microseconds, time: Microseconds) -> str:
        """Return a text that says by how much an event is too early for a window that ends at time t."""
        by = (t - rule.seconds * SECOND if self.reading.window == "sliding" else self._begin(rule, t)) - time
        return f"{_seconds(by)} too early" if by else "exactly the timespan before it, which edge=open leaves out"

    def _moment(self, of: list[AlertOccurrence], at: int) -> list[AlertOccurrence]:
        """Return the occurrences of a group that are judged together at a position."""
        t = self.log.times[at]
        return [o for o in of if (o.time == t if self.reading.instant == "together" else o.at == at)]

    def _window(
        self, rule: SigmaCorrelation, of: list[AlertOccurrence], at: int
    ) -> tuple[list[AlertOccurrence], float | None, ComplexEvent]:
        """Return a group's window at a position, the quantity that the condition compares, and the window's events."""
        used = self._alerts_before(rule, of, at)[-1:] if self.reading.alerts == "consumed" else []
        left = [o for o in of if not used or o.at > used[0]]
        window = self.log.window(rule, left, at, self.log.times[at] or 0)
        number, events = self.log.measure(rule, window, self._moment(left, at))
        return window, number, frozenset(events)

    def _alerts_before(self, rule: SigmaCorrelation, of: list[AlertOccurrence], at: int) -> list[int]:
        """Return the positions before `at` at which a group had alerts."""
        places = {o.at for o in of}
        return sorted({a.at for a in self.log.alerts(rule) if a.at < at and a.at in places})

    def _held_back(self, rule: SigmaCorrelation, of: list[AlertOccurrence], at: int, holds: bool) -> Iterator[str]:
        """Yield why the reading of `alerts` raises no alert at a position, and which events were used up by earlier
        alerts.
        """
        before, when = self._alerts_before(rule, of, at), self.reading.alerts
        if when == "consumed" and before:
            yield f"the alert at event {before[-1]} has used up the events of the group up to there"
        elif when == "last" and at != of[-1].at:
            yield f"with alerts=last only the last event of the group can raise an alert: event {of[-1].at}"
        elif when == "first" and before:
            yield f"with alerts=first a group has one alert; this group had it at event {before[0]}"
        elif when == "episode" and holds:
            earlier = max(o.at for o in of if o.at < at and o not in self._moment(of, at))
            yield f"with alerts=episode an alert is raised where the condition begins to hold; it held at {earlier} too"

    # --- why ----------------------------------------------------------------------------------------------------------

    def _counts(self) -> Iterator[str]:
        """Yield a line for each rule: how many alerts it raises on the log."""
        for rule in rules_of(self.rules):
            alerts = self.log.alerts(rule)
            where = ""
            if isinstance(rule, SigmaCorrelation):
                groups = self.groups(rule)
                where = f", from {sum(map(len, groups.values()))} in {_many(len(groups), 'group')}"
                if not alerts and (near := self._nearest_miss(rule)):
                    where += f"; nearest at {near}"
            yield f"{rule.name}: {_many(len(alerts), 'alert')}{where}"

    def _why(self, alert: SigmaAlert) -> Iterator[str]:
        rule = next(rule for rule in self.rules.rules if rule.name == alert.rule)
        if isinstance(rule, SigmaDetection):
            yield f"event {alert.at} satisfies {rule.name}"
            return
        if alert.group and self.reading.groups != "ignored":
            yield f"the group is {_values(alert.group)}"
        last = self.log.times[alert.at] or 0
        first = last
        for part in rule.rules:  # the timespan covers alerts, whose own events may begin before it
            own = [a for a in self.log.alerts(part) if a.at in alert.events and set(a.events) <= set(alert.events)]
            times = [(a.at, t) for a in own if (t := self.log.times[a.at] or 0) >= self._begin(rule, last)]
            if times:
                yield f"{part.name}: {_places([at for at, _ in times])}"
                first = min(first, *(t for _, t in times))
        span = {
            "bucketed": f"they are {self._within(rule, alert.at)}".rstrip(","),
            "unlimited": "the reading window=unlimited has no timespan",
        }
        chained = any(isinstance(part, SigmaCorrelation) for part in rule.rules)
        took = f"{'from the first alert to the last:' if chained else 'they take'} {_seconds(last - first)}"
        yield f"{took}; {span.get(self.reading.window, f'the timespan is {rule.timespan}')}"
        if rule.kind not in TEMPORAL or _has_own_condition(rule):
            yield f"{self._amount(rule, alert)}; an alert needs {_condition_of(rule)}"

    def _amount(self, rule: SigmaCorrelation, alert: SigmaAlert) -> str:
        """Return a text with the quantity that a correlation's condition compares, and its value at an alert."""
        for of in self.groups(rule).values():
            _, number, events = self._window(rule, of, alert.at)
            if any(o.at == alert.at for o in of) and events == {*alert.events}:
                return _amount_text(rule, number)
        return _what(rule)

    def why_not(self, at: int, named: ComplexEvent = frozenset()) -> Iterator[str]:
        """Yield the reasons, rule by rule, why no rule raises an alert with the named events at a position."""
        for rule in self.rules.rules:
            own = [a for a in self.log.alerts(rule) if a.at == at]
            for alert in own:
                yield f"{rule.name} raises an alert here, with the events {braces(alert.events)}"
                yield from self._other_events(rule, alert, named)
            several = f"{rule.name}: " * (len(self.rules.rules) > 1)
            reasons = [] if own else [*self._rejected(rule, at)]
            if isinstance(rule, SigmaCorrelation):
                reasons += self._rejected_events(rule, at, named, "; ".join(reasons))
            yield from (f"{several}{reason}" for reason in dict.fromkeys(reasons))

    def _other_events(self, rule: SigmaRule, alert: SigmaAlert, named: ComplexEvent) -> Iterator[str]:
        """Yield the reason why the alert at a position has its own events and not the named events."""
        missing = sorted({*alert.events} - named)
        if not named or isinstance(rule, SigmaDetection):
            return
        if rule.kind != "temporal_ordered" or self.reading.order == "any":
            if missing:
                yield f"an alert of {rule.kind} has all events of the window, so also {_places(missing)}"
            return
        windows = [self._window(rule, of, alert.at)[0] for of in self.groups(rule).values()]
        inside = [one for window in windows if any(o.at == alert.at for o in window) for one in window]
        if named <= {p for one in inside for p in one.alert.events} and missing:
            length = len(self.log.longest_chain(inside, {alert.at}))
            chosen = [one for one in inside if {*one.alert.events} <= named]
            if len(self.log.longest_chain(chosen, {alert.at})) < length:
                yield f"an alert of temporal_ordered has the longest chain of rules in their order: {length} rules"
            else:
                latest = f"{_places(missing)}, not {_places(sorted(named - {*alert.events}))}"
                yield f"of several chains of {length} rules, an alert has the one with the latest events: {latest}"

    def _rejected(self, rule: SigmaRule, at: int) -> Iterator[str]:
        if isinstance(rule, SigmaDetection):
            for reason in self._unsatisfied(rule, self.S[at]):
                yield f"event {at} does not satisfy {rule.name}: {reason}"
            return
        if self.log.times[at] is None:
            yield f"event {at} has no time; name its column with --time"
            return
        here = [of for of in self.groups(rule).values() if any(o.at == at for o in of)]
        if not here:
            yield from self._nothing_occurs(rule, at)
        for of in here:
            yield from self._number(rule, of, at)

    def _rejected_events(self, rule: SigmaCorrelation, at: int, named: ComplexEvent, said: str = "") -> Iterator[str]:
        """Yield the reason why each of the named events is not in a correlation's window at a position.

        The window is that of the group of the event at the position; if this event is in no group, that of the group of
        most named events. said: the reasons that were already given; an event that they call too early is not mentioned
        again.
        """
        t = self.log.times[at] or 0
        begin = self._begin(rule, t)
        of = {p: self._groups_with(rule, p) for p in {at, *named}}
        number = Counter(key for p in sorted(named) for key in of[p])
        own = of[at] or {key: text for p in named for key, text in of[p].items() if number[key] == max(number.values())}
        earlier = [o for key in own for o in self.groups(rule).get(key, ()) if o.at <= at]
        left = []
        for p in sorted(named - {at}):
            time = self.log.times[p]
            if not of[p] or time is None:
                present = {o.rule for o in earlier if o.time >= begin}
                yield from self._unfit(rule, p, [part for i, part in enumerate(rule.rules) if i not in present])
            elif not own.keys() & of[p].keys():
                group, wanted = (next(iter(some.values())) for some in (of[p], own))
                case = ": they differ in case" * (group.lower() == wanted.lower())
                yield f"event {p} belongs to {group}, not to {wanted}{case}"
            elif p > at or time > t:
                yield f"event {p} comes after event {at}"
            elif time < begin and p in {o.at for o in earlier}:
                if not re.search(rf"{p},? is", said):
                    bucketed = f"event {p} is {self._early(rule, t, time)} for the {rule.timespan} of event {at}"
                    sliding = f"event {p} is {_seconds(t - time)} before event {at}; the timespan is {rule.timespan}"
                    yield bucketed if self.reading.window == "bucketed" else sliding
            else:
                left.append(p)
        at_part = [part for part in rule.rules if not any(o.at == at for o in earlier) and self._alerts_with(part, at)]
        for part in (part for part in rule.rules if isinstance(part, SigmaCorrelation)):
            own_alerts = [set(o.alert.events) for o in earlier if rule.rules[o.rule] == part]
            inside = {p for p in left if self._alerts_with(part, p)}
            if part in at_part:  # the named events that are all those of an earlier alert may belong to it
                inside -= set[int]().union(*(events for events in own_alerts if events <= named))
                reasons = [*self._rejected_events(part, at, frozenset(inside), said)]
            elif all(any(p in events for events in own_alerts) for p in inside):
                continue
            else:
                end = max(inside)
                reasons = [] if any(a.at == end for a in self.log.alerts(part)) else [*self._rejected(part, end)]
                reasons += self._rejected_events(part, end, frozenset(inside), "; ".join(reasons))
            yield from (f"{part.name}: {reason}" for reason in reasons)

    def _alerts_with(self, rule: SigmaRule, p: int) -> list[SigmaAlert]:
        """Return the alerts of a rule that have an event. If there are none, return possible alerts: one for each group
        that the event could be in.
        """
        found = [alert for alert in self.log.alerts(rule) if p in alert.events]
        if found or isinstance(rule, SigmaDetection):
            return found
        parts = zip(rule.rules, rule.keys, strict=True)
        pairs = ((fields, alert) for part, fields in parts for alert in self._alerts_with(part, p))
        groups = dict.fromkeys(self._group_of(rule, fields, alert) for fields, alert in pairs)
        return [SigmaAlert(p, (p,), rule.name, group) for group in groups]

    def _groups_with(self, rule: SigmaCorrelation, p: int) -> dict[object, str]:
        """Return the groups of a correlation that an event is in or could be in, each with its text."""
        found: dict[object, str] = {}
        for part, fields in zip(rule.rules, rule.keys, strict=True):
            for alert in self._alerts_with(part, p):
                if (key := self.log.group_of(rule, alert, fields)) is not None:
                    found.setdefault(key, _values(self._group_of(rule, fields, alert)))
        return found

    def _unfit(self, rule: SigmaCorrelation, p: int, lacking: Sequence[SigmaRule]) -> Iterator[str]:
        """Yield the reasons why an event is in no group of a correlation.

        If the event satisfies no detection, the reasons are the failed tests of the detection of which it fails the
        fewest. The detections of the rules in `lacking`, which have no alert in the window, are tried; if it is empty,
        those of all rules.
        """
        if self.log.times[p] is None or self._alerts_with(rule, p):
            yield from self._rejected(rule, p)
            return
        failing = [
            (before, detection, [*self._unsatisfied(detection, self.S[p])])
            for part in lacking or rule.rules
            for before, detection in _detections_of(part)
        ]
        least = min(len(reasons) for *_, reasons in failing)
        for before, detection, reasons in failing:
            for reason in reasons if len(reasons) == least else ():
                yield f"{before}event {p} does not satisfy {detection.name}: {reason}"

    def _nothing_occurs(self, rule: SigmaCorrelation, at: int) -> Iterator[str]:
        """Yield the reasons why no rule of a correlation occurs at a position.

        Either no rule matches the event, or a value that is needed for the group or for the count is absent.
        """
        numbers = [i for i, part in enumerate(rule.rules) if any(a.at == at for a in self.log.alerts(part))]
        for i in numbers[:1]:
            alert = next(a for a in self.log.alerts(rule.rules[i]) if a.at == at)
            yield from (f"{rule.rules[i].name} occurs at event {at}, {said}" for said in self._lacking(rule, i, alert))
        for part in () if numbers else rule.rules:
            yield from (f"{part.name}: {r}" * isinstance(part, SigmaCorrelation) or r for r in self._rejected(part, at))

    def _lacking(self, rule: SigmaCorrelation, i: int, alert: SigmaAlert) -> Iterator[str]:
        """Yield the values that an alert of rule i lacks to occur in a correlation: for its group, or to be counted."""
        grouped = rule.keys[i] if self.reading.null_groups == "apart" and self.reading.groups != "ignored" else ()
        for name in (*grouped, *(rule.values[i] if self.reading.null_values == "apart" else ())):
            value = self.log.value_of(alert, name)
            if value is None:
                yield f"which has no value of {field_name(name)}"
            elif name in rule.values[i] and rule.kind in NUMERIC and kind(value) != "number":
                shown = eql.show_constant(value) if isinstance(value, str) else value
                yield f"whose {field_name(name)} is {shown}: {rule.kind} needs numbers"

    def _could_be_of(self, rule: SigmaCorrelation, i: int, alert: SigmaAlert, one: AlertOccurrence) -> bool:
        """Return whether an alert of rule i has the group values of an occurrence; an absent value agrees with every
        value.
        """
        pairs = zip(rule.keys[i], rule.keys[one.rule], strict=True)
        values = ((self.log.value_of(alert, name), self.log.value_of(one.alert, other)) for name, other in pairs)
        if self.reading.groups == "ignored":
            return True
        folds = self.reading.groups == "folded"
        pairs_ = ([fold(x) if folds and isinstance(x, str) else x for x in pair] for pair in values)
        return all(v is None or w is None or (kind(v), v) == (kind(w), w) for v, w in pairs_)

    def _group_of(self, rule: SigmaCorrelation, fields: Sequence[str], alert: SigmaAlert) -> Group:
        """Return the names and values of an alert's group in a correlation.

        fields: for each name, the field of the alert that has the value.
        """
        names = () if self.reading.groups == "ignored" else zip(rule.group_by, fields, strict=True)
        return tuple((name, self.log.value_of(alert, field)) for name, field in names)

    def _group_text(self, rule: SigmaCorrelation, one: AlertOccurrence) -> str:
        """Return the names and values of an occurrence's group as text."""
        return _values(self._group_of(rule, rule.keys[one.rule], one.alert))

    def _by_groups(self, rule: SigmaCorrelation, some: list[AlertOccurrence]) -> str:
        """List the events of occurrences, group by group."""
        groups: dict[str, list[int]] = {}
        for one in some:
            groups.setdefault(self._group_text(rule, one), []).append(one.at)
        more = f"; and {_many(len(groups) - NEAREST, 'group')} more" if len(groups) > NEAREST else ""
        said = [f"{_places(places)}{f' of {name}' if name else ''}" for name, places in groups.items()]
        return "; ".join(said[:NEAREST]) + more

    def _number(self, rule: SigmaCorrelation, of: list[AlertOccurrence], at: int) -> Iterator[str]:
        """Yield lines about the contents of a group's window at a position, and about occurrences near it."""
        t, groups, when = self.log.times[at] or 0, self.groups(rule), self._within(rule, at)
        begin, extent = self._begin(rule, t), of[-1].time - of[0].time
        if (last := self._moment(of, at)[-1].at) != at:
            yield f"event {at} is judged together with event {last}, which has the same time"
            return
        if self.reading.window == "extent" and extent > rule.seconds * SECOND:
            yield f"the events of the group take {_seconds(extent)} in all, longer than the timespan {rule.timespan}"
            return
        window, number, _ = self._window(rule, of, at)
        wanted = _condition_of(rule)
        yield from self._held_back(rule, of, at, bool(window) and satisfies(number, rule.thresholds))
        here = next(o for o in of if o.at == at)
        name = self._group_text(rule, here)
        group = f" of {name}" if name else ""
        if rule.kind in TEMPORAL:
            there = sorted({o.rule for o in window})
            ordered = rule.kind == "temporal_ordered" and number != len(there)
            yield (
                f"{len(there)} of {len(rule.rules)} rules occur {when}{group}"
                + (f"; {number or 0:.15g} in their order, up to this event" if ordered else "")
                + (f"; an alert needs {wanted}" if _has_own_condition(rule) else "")
            )
            for i in there:
                yield f"{rule.rules[i].name}: {_places([o.at for o in window if o.rule == i])}"
            if ordered:
                yield f"the order is {', then '.join(part.name for part in rule.rules)}"
            for i, part in enumerate(rule.rules):  # an absent rule matters only for a lower bound
                if i not in there and _lacks(rule, number or 0):
                    yield f"{part.name}: {self._nearest(rule, i, of, window)}"
        else:
            amount = f"{_amount_text(rule, number)} {when}{group}"
            yield f"{amount}; an alert needs {wanted}"
            if len(window) > 1 or any(rule.values):  # otherwise it has only the event that was just named
                yield f"in the window: {_places_with_values(window)}"
            before = max((o for o in of if o.at < at and o.time < begin), key=lambda o: (o.time, o.at), default=None)
            used = self.reading.alerts == "consumed" and self._alerts_before(rule, of, at)
            if before and not used:
                yield f"the last before the window, event {before.at}, is {self._early(rule, t, before.time)}"
        some = [o for own in groups.values() if own is not of for o in own]
        if others := [o for o in some if o.at <= at and begin <= o.time <= t]:
            yield f"other groups at the same time: {self._by_groups(rule, others)}"
        for i, part in enumerate(rule.rules):
            times = ((alert, self.log.times[alert.at]) for alert in self.log.alerts(part) if alert.at <= at)
            near = [alert for alert, time in times if time is not None and begin <= time <= t]
            lacking: dict[str, list[int]] = {}
            for alert in near:
                for said in self._lacking(rule, i, alert) if self._could_be_of(rule, i, alert, here) else ():
                    lacking.setdefault(said, []).append(alert.at)
            for said, places in lacking.items():
                verb = "which have" if len(set(places)) > 1 else "which has"
                yield f"left out: {_places_by_ranges(places)}, {said.replace('which has', verb)}"

    def _reached(self, rule: SigmaCorrelation, i: int, window: list[AlertOccurrence], since: Microseconds) -> int:
        """Return how many other rules could count together with a later occurrence of rule i.

        These are the rules that occur in the window from the time `since` on; if the order counts, only those in order
        before i.
        """
        part = [o for o in window if o.time >= since]
        if rule.kind == "temporal" or self.reading.order == "any":
            return len({o.rule for o in part})
        earlier = [o for o in part if o.rule < i]
        return len(self.log.longest_chain(earlier, {o.at for o in earlier}))

    def _nearest(self, rule: SigmaCorrelation, i: int, of: list[AlertOccurrence], window: list[AlertOccurrence]) -> str:
        """Return a text with the nearest occurrences of rule i, which does not occur in a window.

        The latest part of the window that has enough of the other rules decides whether a later occurrence is too late:
        it must come within the timespan after the beginning of this part.
        """
        w, last, part = rule.seconds * SECOND, window[-1], rule.rules[i]
        own = sorted((o for o in of if o.rule == i), key=lambda o: o.time)
        before = [o for o in own if o.time < self._begin(rule, last.time)]
        after = [o for o in own if o.time >= last.time]
        said = []
        if before:
            said.append(f"event {before[-1].at} is {self._early(rule, last.time, before[-1].time)}")
        if after:
            times = sorted(o.time for o in window)
            needed = min(_rules_needed(rule) - 1, self._reached(rule, i, window, times[0]))
            late = bisect_left(times, True, key=lambda time: self._reached(rule, i, window, time) < needed)
            over = after[0].time - times[late - 1] - w if needed and self.reading.window == "sliding" else 0
            later = f"{_seconds(after[0].time - last.time)} later"
            if self.reading.window == "bucketed" and self._begin(rule, after[0].time) > last.time:
                later += f", in another {rule.timespan}"
            said.append(f"event {after[0].at} comes {f'{_seconds(over)} too late' if over > 0 else later}")
        if not said:
            others = [o for some in self.groups(rule).values() for o in some if o.rule == i]
            earlier = [o for o in others if o.time <= last.time]  # later ones have no effect here
            said = [f"only in other groups, at {self._by_groups(rule, earlier)}"] if earlier else []
            said = said or ["it occurs nowhere in this group"] * bool(others)
        if not said:
            alerts = sorted(self.log.alerts(part), key=lambda alert: not self._could_be_of(rule, i, alert, last))
            lacking = [(a.at, text) for a in alerts for text in self._lacking(rule, i, a)]
            said = [f"it occurs at event {at}, {text}" for at, text in lacking[:1]] or ["it occurs nowhere in the log"]
        if isinstance(part, SigmaCorrelation) and not own:
            near = self._nearest_miss(part, self._group_text(rule, last))
            said += [f"nearest at {near}"] if near else []
        elif isinstance(part, SigmaDetection) and not self.log.alerts(part):
            said += self._nearest_event(part, last)
        return "; ".join(said)

    def _nearest_event(self, part: SigmaDetection, last: AlertOccurrence) -> Iterator[str]:
        """Yield a text with the event near an occurrence that fails the fewest tests of a rule, and these tests."""
        near = range(max(last.at - NEAR_EVENTS, 0), min(last.at + NEAR_EVENTS + 1, len(self.S)))
        failing = {p: [*self._unsatisfied(part, self.S[p])] for p in near}
        best = min(near, key=lambda p: (len(failing[p]), abs(p - last.at)))
        yield f"event {best} is the nearest: {'; '.join(failing[best])}"

    def _nearest_miss(self, rule: SigmaCorrelation, group: str | None = None) -> str | None:
        """Return a text with the event at which a correlation is nearest to an alert; None if it never occurs.

        group: the text of the only group to consider; None: all groups.
        """
        best: tuple[tuple[float, float], str] | None = None
        for of in self.groups(rule).values():
            name = self._group_text(rule, of[-1])
            for p in dict.fromkeys(o.at for o in of) if group in (None, name) else ():
                here = self._moment(of, p)
                _, number, _ = self._window(rule, of, p)
                gap, without = _distance(rule, number), inf
                if rule.kind in TEMPORAL and len(of) < MOST_EARLIER and (best is None or gap <= best[0][0]):
                    # Without a timespan the window is the whole group up to here. It is measured only where it can
                    # decide between gaps.
                    without = _distance(rule, self.log.measure(rule, [o for o in of if o.at <= p], here)[0])
                if best is None or (gap, without) < best[0]:
                    when = f"within {rule.timespan}" if self.reading.window == "sliding" else self._within(rule, p)
                    said = f"{_amount_text(rule, number)} {when}{f' of {name}' if name else ''}"
                    more = "" if without else ", or a longer timespan"
                    best = (gap, without), f"event {p} ({said}; an alert needs {_condition_of(rule)}{more})"
        return best and best[1]

    def _truth(self, condition: eql.Condition, event: Event) -> bool | None:
        """Return whether an event satisfies a condition in this reading; None if that is unknown."""
        cased = cased_condition(condition, self.reading.case)
        return condition_test(cased, EqlReading("exact", self.reading.absent), own_values_of)(event)

    def _unsatisfied(self, rule: SigmaDetection, event: Event) -> Iterator[str]:
        """Yield each test of a rule that an event fails, with its selection and the values of its fields."""
        # Reversed, so that of selections with equal conditions the first gives the name.
        names = {condition: name for name, condition in reversed(rule.selections)}

        def failing(condition: eql.Condition, selection: str | None) -> Iterator[str]:
            selection = selection or names.get(condition)
            if self._truth(condition, event) is True:
                return
            match condition:
                case eql.AllConditions(parts):
                    for part in parts:
                        yield from failing(part, selection)
                case eql.NegatedCondition(part) if self._truth(part, event) is None:
                    unknown = self._test_with_values(part, event)
                    yield f"with absent=unknown, neither a test of an absent field nor its not is true: {unknown}"
                case eql.NegatedCondition(part):
                    yield from excluding(part, names.get(part))
                case eql.AnyConditions(parts) if len({f.name.removesuffix(NULL) for f in eql.fields_of(condition)}) > 1:
                    reasons = [next(failing(part, selection), "") for part in parts]
                    yield cut(f"none of these holds: {'; '.join(reasons)}")
                case eql.AnyConditions() | eql.SingleCondition():
                    yield f"{selection or 'it'} requires {self._test_with_values(condition, event)}"

        def excluding(condition: eql.Condition, selection: str | None) -> Iterator[str]:
            """Yield the parts of a condition under `not` that the event satisfies, so that `not` is false."""
            selection = selection or names.get(condition)
            match condition:
                case eql.AnyConditions(parts) if field_there(condition) is None:
                    yield from excluding(next(one for one in parts if self._truth(one, event) is True), selection)
                case eql.AllConditions(parts) if selection is None:
                    for part in parts:
                        yield from excluding(part, selection)
                case eql.NegatedCondition(part):
                    yield from failing(part, selection)
                case eql.AnyConditions() | eql.AllConditions() | eql.SingleCondition():
                    unwanted = selection or "this condition"
                    has = self._test_with_values(condition, event)
                    yield f"it requires that {unwanted} is false: the event has {has}"

        yield from failing(rule.condition, None)

    def _test_with_values(self, condition: eql.Condition, event: Event) -> str:
        """Return a condition as text, with the values of its fields. Name a wrong case or type."""
        said, folded = f"{cut(show_condition(condition))}, and {values_text(condition, event, True)}", condition
        if self._truth(condition, event) is True:
            return said
        if isinstance(condition, eql.ValueLookup) and condition.operator == "regex":
            folded = eql.ValueLookup("regex~", condition.term, condition.values)
        if condition_test(folded, ANY_CASE, own_values_of)(event) is True:
            return f"{said}, in another case"
        values = [v for field in eql.fields_of(condition) for v in own_values_of(event, field.name)]
        of_number = isinstance(condition, eql.FieldComparison) and condition.comparator in SIGNS
        return f"{said}, a text and no number" if of_number and isinstance(next(iter(values), None), str) else said


def _detections_of(rule: SigmaRule, before: str = "") -> Iterator[tuple[str, SigmaDetection]]:
    """Yield the detections that a rule refers to, each after the names of the correlations above it."""
    if isinstance(rule, SigmaDetection):
        yield before, rule
        return
    for part in rule.rules:
        yield from _detections_of(part, f"{before}{rule.name}: ")


def _distance(rule: SigmaCorrelation, number: float | None) -> float:
    """Return how far a number is from satisfying a correlation's condition."""
    if number is None:
        return inf
    # A number equal to a bound fails `more than` and `fewer than`: it is close, but must count as a miss.
    return sum(abs(bound - number) or 0.5 for name, bound in rule.thresholds if not COMPARE[name](number, bound))


def _rules_needed(rule: SigmaCorrelation) -> int:
    """Return the least number of rules that a condition requires; the number of all rules if it has no lower bound."""
    least = [floor(bound) + 1 if name == "gt" else ceil(bound) for name, bound in rule.thresholds if name in LEAST]
    return max(least, default=len(rule.rules))


def _condition_of(rule: SigmaCorrelation) -> str:
    """Return the condition of a correlation in words."""
    words = WORDS | {"lt": "less than"} if rule.kind in NUMERIC else WORDS
    return " and ".join(f"{words[name]} {bound:.15g}" for name, bound in rule.thresholds)


def _has_own_condition(rule: SigmaCorrelation) -> bool:
    """Return whether a correlation has a condition of its own, instead of requiring all rules."""
    return rule.thresholds != (("gte", len(rule.rules)),)


def _lacks(rule: SigmaCorrelation, number: float) -> bool:
    """Return whether `number` rules are too few for the condition."""
    return any(number < bound or (name == "gt" and number == bound) for name, bound in rule.thresholds if name in LEAST)


def _what(rule: SigmaCorrelation) -> str:
    """Return the quantity that the condition of a correlation compares, in words."""
    if rule.kind in TEMPORAL:
        return "rules in their order" if rule.kind == "temporal_ordered" else "rules"
    return "events" if rule.kind == "event_count" else f"{rule.kind} of {', '.join(map(field_name, rule.values[0]))}"


def _amount_text(rule: SigmaCorrelation, number: float | None) -> str:
    """Return the quantity that a correlation's condition compares as text, with its value."""
    return f"{_what(rule)}: {'none' if number is None else f'{number:.15g}'}"


def _places_with_values(window: list[AlertOccurrence]) -> str:
    """Return the events of a window as text, each with the values for which it is counted."""
    values = {o.at: ", ".join(map(str, o.values)) for o in window if o.values is not None}
    return _places([o.at for o in window], values)


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _seconds(microseconds: Microseconds) -> str:
    return f"{show_seconds(microseconds)} s"


def _places(places: list[int], values: Mapping[int, str] = {}) -> str:
    different = sorted(set(places))
    more = f" and {len(different) - 10} more" if len(different) > 10 else ""
    said = (f"{p} ({values[p]})" if p in values else str(p) for p in different[:10])
    return f"event{'s' * (len(different) != 1)} {', '.join(said)}{more}"


def _places_by_ranges(places: list[int]) -> str:
    """Return events as text, three or more in a row by the first and the last, such as `events 0 to 4, 7`."""
    ranges: list[list[int]] = []
    for place in sorted(set(places)):
        if ranges and ranges[-1][-1] == place - 1:
            ranges[-1].append(place)
        else:
            ranges.append([place])
    said = [f"{some[0]} to {some[-1]}" if len(some) > 2 else ", ".join(map(str, some)) for some in ranges]
    left = sum(map(len, ranges[MOST_RANGES:]))
    more = f" and {left} more" if left else ""
    return f"event{'s' * (len(set(places)) != 1)} {', '.join(said[:MOST_RANGES])}{more}"


def _values(values: object) -> str:
    return ", ".join(
        f"{name} {'absent' if value is None else eql.show_constant(value) if isinstance(value, str) else value}"
        for name, value in values  # type: ignore[attr-defined]
    )
