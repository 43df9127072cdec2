"""The meanings that converters of Sigma give to correlations, as axes: the readings of the specification, and others.

An axis matters for the rules that have its feature, as `cerify.equivalence.sigma.features` names them. The windows of
counts and those of temporal correlations are two axes, because converters write them by two templates.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import trunc
from typing import Any

from cerify.automata.evaluator import Output
from cerify.equivalence.sigma import (
    BEARS,
    compare_cased_literally,
    compare_networks_as_texts,
    features,
    features_of,
    find_cased_anywhere,
    ignore_case_of_signs,
    lose_network_parentheses,
    lose_nulls,
    read_cased_as_glob,
    read_question_marks_as_characters,
    read_signs_as_wildcards,
)
from cerify.hypotheses.interpretation import Axis, Choices, Interpretation, axes
from cerify.semantics.arguments import Budget, choices
from cerify.semantics.eql import syntax as eql
from cerify.semantics.events import Event, Match, result_of
from cerify.semantics.readings import SigmaReading, SigmaWindow
from cerify.semantics.schemas import field_name
from cerify.semantics.sigma.denote import (
    SECOND,
    AlertOccurrence,
    DetectionTests,
    LogOfRules,
    SigmaAlert,
    events_of,
    satisfies,
)
from cerify.semantics.sigma.parse import load_documents
from cerify.semantics.sigma.syntax import (
    NUMERIC,
    SEARCHED,
    SIGNS,
    TEMPORAL,
    SigmaCorrelation,
    SigmaDetection,
    SigmaQuery,
    SigmaRule,
    rules_of,
)
from cerify.semantics.trees import children, rebuilt
from cerify.semantics.values import Microseconds, Value

SAYS: dict[str, str] = {
    "window": "what counts see: the timespan before an event; a piece of the time axis as long as the timespan; all of "
    "the log before the event; all of the log if the events of the group are within the timespan",
    "edge": "events exactly the timespan apart: are together; are not",
    "instant": "events of one time: come in the order of the log; come at once",
    "alerts": "an alert is raised: at each event with which the condition holds; where it begins to hold; where it "
    "holds for events that no earlier alert has; at the last event of a group; only once for a group",
    "null_groups": "events without a value of a group field: are in no group; are a group",
    "groups": "values of group fields: are compared as they are; without case; are ignored",
    "values": "values that value_count counts: are compared as they are; without case",
    "null_values": "events without the value that is counted: are left out; are kept, but count nothing",
    "order": "temporal_ordered: requires the order; ignores the order",
    "counted": "an event that several rules find: counts once; counts once each",
    "resolution": "times: are exact; are cut to seconds",
    "percentile": "a percentile between two values: is between them; is one of them",
    "case": "texts without cased: match in any case; match in their own case; match in any case if they have "
    "wildcards, and in their own otherwise",
    "absent": "not of a test of an absent field: is true; is false",
}
"""For each field of `SigmaReading`, what it is about and the meanings of its values, in their order.

If several choices explain an answer, the first one here is reported. So `null_groups` comes before `groups`, which
changes more answers.
"""
WINDOWS = ("sliding", "bucketed", "unlimited", "extent")
BEAR = {"window": ("count",), "alerts": ("count",), "counted": ("several-counted", "several-added")}
"""The features of rules for which an axis matters; `BEARS` has those of the axes that are not listed here."""
AXES = axes(
    *(
        Axis(name, values, BEAR.get(name, (BEARS[name],)), says)
        for name, says in SAYS.items()
        for values in (choices(SigmaReading)[name],)
    ),
    Axis("window-temporal", WINDOWS, TEMPORAL, SAYS["window"].replace("counts see", "temporal correlations see")),
    Axis(
        "several-rules",
        ("any-of", "sequence"),
        ("several-counted",),
        "a count of events of several rules: counts the events of any rule; requires an event of each rule in their "
        "order, and counts the last one",
    ),
    Axis(
        "ordered-threshold",
        ("longest", "all-in-order"),
        ("ordered-threshold",),
        "a condition of temporal_ordered other than gte: counts the rules of the longest sequence in order; counts the "
        "rules that occur, if all of them occur in order",
    ),
    Axis(
        "threshold",
        ("as-written", "at-least", "one-less"),
        ("other-threshold",),
        "a threshold: is as written; is taken for a gte, whatever its operator; is taken for one less",
    ),
    Axis(
        "counted-values",
        ("different", "same"),
        ("value_count",),
        "value_count: counts different values; counts events with the same value",
    ),
    Axis(
        "constants",
        ("exact", "truncated"),
        ("fraction",),
        "thresholds: are as written; lose their fraction",
    ),
    Axis(
        "threshold-temporal",
        ("as-written", "all-rules"),
        ("temporal-threshold",),
        "the condition of a temporal correlation: is as written; requires all rules, whatever is written",
    ),
    Axis(
        "temporal-default",
        ("all-rules", "one-rule"),
        ("temporal",),
        "temporal without a condition: requires all of its rules; requires one of them",
    ),
    Axis(
        "sample",
        ("rules", "events"),
        ("temporal",),
        "temporal: requires different rules within the timespan; requires as many events as there are rules, of any "
        "rules and at any distance, and uses each event for one alert",
    ),
    Axis(
        "sequence",
        ("ends-at-event", "anywhere-in-window", "used-up", "ends-by-event"),
        ("temporal_ordered", "several-counted"),
        "a sequence of temporal_ordered: ends at the event; is anywhere in the window, but must have all rules, those "
        "of one time in any order; ends at the event, and its alert uses up the latest events before it; ends at the "
        "event or before it in the window",
    ),
    Axis(
        "cased",
        ("exact", "folded"),
        ("cased",),
        "texts with cased: match in their own case; in any case",
    ),
    Axis(
        "cased-texts",
        ("whole", "anywhere", "literal", "glob"),
        ("cased-text",),
        "texts with cased: match a whole value, up to wildcards; match anywhere in a value; match a value that has "
        "their wildcards as plain characters; are patterns of GLOB, where `*`, `?`, `[` and a backslash are special",
    ),
    Axis(
        "question-marks",
        ("wildcards", "plain"),
        ("question-mark",),
        "`?` in texts without cased: is a wildcard; is a plain character",
    ),
    Axis(
        "like-signs",
        ("plain", "wildcards"),
        ("like-signs",),
        "`_` and `%` in texts without cased: are plain characters; are wildcards, as in LIKE",
    ),
    Axis(
        "like-texts",
        ("as-others", "any-case"),
        ("like-text",),
        "texts without wildcards that have `_`, `%` or a backslash: match as other texts without wildcards do; match "
        "in any case, as texts with wildcards do",
    ),
    Axis(
        "fieldref",
        ("exact", "folded"),
        ("fieldref",),
        "fieldref: compares the case of texts; ignores their case",
    ),
    Axis(
        "compared-texts",
        ("false", "as-numbers", "as-texts"),
        ("compared",),
        "gt, gte, lt and lte of a text: are false; compare the number in the text, if it is one; compare the text with "
        "the text of the number",
    ),
    Axis(
        "added-texts",
        ("left-out", "numbers"),
        NUMERIC,
        "texts such as '5', in sums, averages and percentiles: are left out; are numbers",
    ),
    Axis(
        "nulls",
        ("there", "absent"),
        ("exists",),
        "a field that is null: exists; does not exist",
    ),
    Axis(
        "network-parentheses",
        ("kept", "lost"),
        ("network-beside",),
        "a cidr that becomes several texts joined by OR: has parentheses; has none, so that the conditions beside it "
        "concern one of the texts only",
    ),
    Axis(
        "networks",
        ("addresses", "texts"),
        ("network",),
        "cidr: finds the addresses of the network; finds every text that begins like these addresses",
    ),
    Axis(
        "percentile-condition",
        ("tested", "ignored"),
        ("value_percentile",),
        "the condition of a percentile: is tested; is not, so that each event with a number raises an alert",
    ),
    Axis(
        "chained",
        ("at-once", "silent"),
        ("chained",),
        "an alert of a correlation in another one: counts at once; counts for later events only",
    ),
    Axis(
        "empty-sum",
        ("none", "zero"),
        ("value_sum", "value_avg"),
        "the sum and the average of no numbers: satisfy no condition; are 0",
    ),
    Axis(
        "alert-fields",
        ("last", "each", "group"),
        ("chained",),
        "an alert of a correlation in another one: has the fields of its last event; counts for each of its "
        "events, with the fields of that event; has the fields of its group alone, and no value to count",
    ),
    Axis(
        "matches",
        ("together", "one-by-one"),
        ("several-rules",),
        "what several rules find at one event: is judged together; is judged rule by rule, and each can raise an alert",
    ),
    Axis(
        "alerts-temporal",
        choices(SigmaReading)["alerts"],
        TEMPORAL,
        SAYS["alerts"].replace("an alert", "a temporal alert"),
    ),
)

OF_CONDITIONS = (
    "network-parentheses", "networks", "cased-texts", "question-marks", "like-signs", "like-texts", "fieldref",
    "compared-texts", "nulls", "cased",
)  # fmt: skip
"""The axes about the conditions of detections, in the order in which `_change_condition` applies them.

`cased` is last, because the others have to know which texts have the modifier.
"""


@dataclass(frozen=True)
class Document:
    """The index of a rule among the YAML documents of a text, and whether it is a correlation that has a
    `condition`.
    """

    place: int
    has_condition: bool


@lru_cache(maxsize=1024)
def documents_of(text: str) -> Mapping[str, Document]:
    """Return, for each rule's name, its `Document`; empty if the text is not YAML."""
    import yaml

    found: dict[str, Document] = {}
    with suppress(yaml.YAMLError, AttributeError):
        for place, one in enumerate(load_documents(text)):
            name = str(one.get("name") or one.get("title") or one.get("id"))
            found[name] = Document(place, "condition" in one.get("correlation", {}))
    return found


class LogOfConverter(LogOfRules):
    """A log as a converter with these choices evaluates it."""

    choices: Choices
    correlations: frozenset[str]
    documents: Mapping[str, Document]
    event_with_fields = 0  # the event whose fields an alert has, if alert-fields is each

    def window_of(self, rule: SigmaCorrelation) -> SigmaWindow:
        return self.choices["window-temporal" if rule.kind in TEMPORAL else "window"]  # type: ignore[return-value]

    def alerts_when(self, rule: SigmaCorrelation) -> str:
        return self.choices["alerts-temporal" if rule.kind in TEMPORAL else "alerts"]

    def _correlated(self, rule: SigmaCorrelation) -> Iterator[SigmaAlert]:
        if rule.kind == "temporal_ordered" and self.choices["sequence"] == "used-up":
            return iter(sorted(self._used_up(rule), key=lambda alert: (alert.at, alert.events)))
        if rule.kind != "temporal" or self.choices["sample"] == "rules":
            return super()._correlated(rule)
        groups, number = self.occurrences(rule).values(), len(rule.rules)
        samples = [group[i : i + number] for group in groups for i in range(0, len(group) - number + 1, number)]
        found = (self.alert_of(rule, events_of(some), some[-1]) for some in samples)
        return iter(sorted(found, key=lambda alert: (alert.at, alert.events)))

    def _used_up(self, rule: SigmaCorrelation) -> Iterator[SigmaAlert]:
        """Yield the alerts of a sequence as EQL finds them: at each step only the latest sequence waits for the next
        event.
        """
        width = rule.seconds * SECOND - (self.reading.edge == "open")
        for group in self.occurrences(rule).values():
            waiting: dict[int, tuple[AlertOccurrence, ...]] = {}
            for one in sorted(group, key=lambda o: (o.at, -o.rule)):  # an event takes the latest possible step first
                before = waiting.pop(one.rule - 1, ())
                if one.rule and (not before or one.time - before[0].time > width):
                    continue
                waiting[one.rule] = (*before, one)
                if one.rule == len(rule.rules) - 1 and satisfies(len(rule.rules), rule.thresholds):
                    yield self.alert_of(rule, events_of(waiting.pop(one.rule)), one)

    def occurrences(self, rule: SigmaCorrelation) -> dict[Any, list[AlertOccurrence]]:
        if self.choices["matches"] == "one-by-one":
            taken: dict[tuple[int, int], AlertOccurrence] = {}
            groups = super().occurrences(rule)
            for one in (one for some in groups.values() for one in some):
                taken.setdefault((one.rule, one.at), one)  # of several alerts at an event the first counts
            return {group: [one for one in some if taken[one.rule, one.at] is one] for group, some in groups.items()}
        if self.choices["alert-fields"] != "each":
            return super().occurrences(rule)
        found: dict[Any, dict[AlertOccurrence, None]] = {}
        longest = max((len(alert.events) for part in rule.rules for alert in self.alerts(part)), default=0)
        for self.event_with_fields in range(longest):
            for group, some in super().occurrences(rule).items():
                found.setdefault(group, {}).update(dict.fromkeys(one for one in some if one.alert.events))
        return {group: sorted(some, key=lambda one: (one.at, one.rule)) for group, some in found.items()}

    def group_of(self, rule: SigmaCorrelation, alert: SigmaAlert, fields: tuple[str, ...]) -> Any:
        if alert.rule in self.correlations and self.choices["alert-fields"] == "group":
            fields = rule.group_by  # an alias of an inner rule is not followed
        return super().group_of(rule, alert, fields)

    def _values_counted(self, rule: SigmaCorrelation, number: int, alert: SigmaAlert) -> tuple[Value, ...] | None:
        if alert.rule in self.correlations and self.choices["alert-fields"] == "group":
            return None
        values = super()._values_counted(rule, number, alert)
        if values is None and rule.kind in NUMERIC and self.choices["added-texts"] == "numbers":
            written = (_number_in(self.value_of(alert, field)) for field in rule.values[number])
            values = tuple(value for value in written if value is not None) or None
        return values

    def value_of(self, alert: SigmaAlert, field: str) -> Value | None:
        if alert.events and self.choices["alert-fields"] == "each":
            alert = replace(alert, at=alert.events[min(self.event_with_fields, len(alert.events) - 1)])
        if alert.rule in self.correlations and self.choices["alert-fields"] == "group":
            return dict(alert.group).get(field_name(field))
        return super().value_of(alert, field)

    def _moments(self, group: list[AlertOccurrence]) -> Iterator[tuple[int, Microseconds, list[AlertOccurrence]]]:
        for p, t, of_p in super()._moments(group):
            if self.choices["chained"] == "silent":
                of_p = [one for one in of_p if one.alert.rule not in self.correlations]
            if self.choices["matches"] == "together":
                yield from [(p, t, of_p)] * bool(of_p)
            else:
                yield from ((p, t, [one]) for one in sorted(of_p, key=self._place))

    def _place(self, one: AlertOccurrence) -> tuple[int, int]:
        """Return a sort key for an occurrence: the index of its rule's document in the text, and the rule's index in
        the correlation.
        """
        document = self.documents.get(one.alert.rule)
        return (document.place if document else 0), one.rule

    def measure(
        self, rule: SigmaCorrelation, window: list[AlertOccurrence], of_p: list[AlertOccurrence]
    ) -> tuple[float | None, tuple[int, ...]]:
        if self.choices["matches"] == "one-by-one":
            last = self._place(of_p[-1])
            window = [one for one in window if one.at < of_p[-1].at or self._place(one) <= last]
        if self.choices["chained"] == "silent":
            window = [one for one in window if one.at < of_p[-1].at or one.alert.rule not in self.correlations]
        number, events = super().measure(rule, window, of_p)
        if self.choices["alert-fields"] == "each" and rule.kind in NUMERIC:  # an event without a number gives no fields
            events = events_of(one for one in window if one.values is not None)
        if number is None and rule.kind in ("value_sum", "value_avg") and self.choices["empty-sum"] == "zero":
            number = 0
        if rule.kind == "temporal_ordered" and self.choices["sequence"] == "ends-by-event":
            chains = [self.longest_chain(window, {place}) for place in sorted({one.at for one in window})]
            number = len(max(chains, key=len, default=()))
            first = self._first_times(rule, window, operator.gt)
            events = events_of(one for one in window if first.get(one.rule) == one.time)
        if rule.kind == "temporal_ordered" and self.choices["sequence"] == "anywhere-in-window":
            is_whole = len(self._first_times(rule, window, operator.ge)) == len(rule.rules)
            return len(rule.rules) if is_whole else 0, events
        if self.choices["ordered-threshold"] == "all-in-order" and "ordered-threshold" in features_of(rule):
            present = len({one.rule for one in window})
            chain = self.longest_chain(window, {one.at for one in window})
            return (present if len(chain) == present else None), events
        return number, events

    def _first_times(
        self, rule: SigmaCorrelation, window: list[AlertOccurrence], follows: Callable[[Any, Any], bool]
    ) -> dict[int, Microseconds]:
        """Return, for each rule of a sequence, its first time in the window that follows the first times of the earlier
        rules.

        follows: whether a time may come after another one (> or >=).
        """
        found: dict[int, Microseconds] = {}
        for i in range(len(rule.rules)):
            before = max(found.values(), default=None)
            times = [one.time for one in window if one.rule == i and (before is None or follows(one.time, before))]
            if times:
                found[i] = min(times)
        return found


TESTS: dict[tuple[str, str], DetectionTests] = {}
"""A cache of the tests of detections, by the readings `case` and `absent`, on which they depend."""
MOST_TESTS = 2_000


def _shared_tests(case: str, absent: str) -> DetectionTests:
    """Return the tests of detections for these readings, cached because the same rules are asked about thousands of
    logs.
    """
    tests = TESTS.setdefault((case, absent), {})
    if len(tests) > MOST_TESTS:
        tests.clear()
    return tests


def find_matches(q: SigmaQuery, S: Sequence[Event], choices: Choices, output: Output, budget: Budget) -> list[Match]:
    """Return the alerts of a converter with these choices. Raises BudgetExceeded."""
    reading = SigmaReading(**{name: choices[name] for name in SAYS})  # type: ignore[arg-type]
    log = LogOfConverter(S, reading, budget, _shared_tests(reading.case, reading.absent))
    log.choices, log.documents = choices, documents_of(q.text)
    log.correlations = frozenset(rule.name for rule in rules_of(q) if isinstance(rule, SigmaCorrelation))
    return sorted(
        Match(a.at, a.events, (), result_of({"rule": a.rule, "group": dict(a.group)}))
        for rule in q.rules
        for a in log.alerts(change_thresholds(rule, choices, log.documents))
    )


def change_thresholds(rule: SigmaRule, choices: Choices, documents: Mapping[str, Document]) -> SigmaRule:
    """Return the rule as a converter with these choices understands it, with other thresholds or conditions.

    documents: for each rule's name, its place in the text.
    """
    if not isinstance(rule, SigmaCorrelation):
        return _change_condition(rule, *(choices[name] for name in OF_CONDITIONS))
    rule = replace(rule, rules=tuple(change_thresholds(part, choices, documents) for part in rule.rules))
    thresholds: Any = rule.thresholds
    if choices["constants"] == "truncated":
        thresholds = tuple((name, trunc(bound)) for name, bound in thresholds)
    if rule.kind == "value_count" and choices["counted-values"] == "same":
        keys = tuple(map(operator.add, rule.keys, rule.values))
        group_by, none = (*rule.group_by, *rule.values[0]), ((),) * len(rule.rules)
        rule = replace(rule, kind="event_count", group_by=group_by, keys=keys, values=none)
    if rule.kind in TEMPORAL:
        if choices["threshold-temporal"] == "all-rules":
            thresholds = (("gte", len(rule.rules)),)
        elif choices["temporal-default"] == "one-rule" and rule.kind == "temporal":
            written = rule.name in documents and documents[rule.name].has_condition
            thresholds = thresholds if written else (("gte", 1),)
    elif rule.kind == "value_percentile" and choices["percentile-condition"] == "ignored":
        thresholds = ()
    elif choices["several-rules"] == "sequence" and rule.kind == "event_count" and len(rule.rules) > 1:
        # The last rule stands once for each time that it is counted, so the sequence asks for so many events of it.
        more = max(int(thresholds[0][1]) - 1, 0)
        parts: tuple[Any, ...] = (rule.rules, rule.keys, rule.values)
        rules, keys, values = (part + part[-1:] * more for part in parts)
        return replace(
            rule, kind="temporal_ordered", rules=rules, keys=keys, values=values, thresholds=(("gte", len(rules)),)
        )
    elif choices["threshold"] == "at-least":
        thresholds = (("gte", thresholds[0][1]),)
    elif choices["threshold"] == "one-less":
        thresholds = ((thresholds[0][0], thresholds[0][1] - 1),)
    return replace(rule, thresholds=thresholds)


@lru_cache(maxsize=256)
def _change_condition(rule: SigmaDetection, *values: str) -> SigmaDetection:
    """Return a detection as a converter writes it with these values of the axes in OF_CONDITIONS."""
    condition = rule.condition
    for name, value in zip(OF_CONDITIONS, values, strict=True):
        if value != AXES[name].default:
            condition = CHANGES[name, value](condition)
    return rule if condition == rule.condition else replace(rule, condition=condition)


def _in_tests(change: Callable[[eql.Condition], eql.Condition]) -> Callable[[eql.Condition], eql.Condition]:
    """Return a function that changes each test of a condition."""

    def changed(node: eql.Condition) -> eql.Condition:
        other = change(node)
        return rebuilt(node, [changed(part) for part in children(node)]) if other is node else other

    return changed


def _ignore_case(node: eql.Condition) -> eql.Condition:
    """Change a test of texts so that it ignores case; return other conditions, also `|re`, unchanged."""
    texts = [v for v in node.values if isinstance(v, str)] if isinstance(node, eql.ValueLookup) else []
    if isinstance(node, eql.ValueLookup) and node.operator in FOLDED and not all(map(SEARCHED.fullmatch, texts)):
        return eql.ValueLookup(FOLDED[node.operator], node.term, node.values)
    return node


def _ignore_case_of_fields(node: eql.Condition) -> eql.Condition:
    """Change a test that two fields are equal so that it ignores the case of texts; return other conditions
    unchanged.
    """
    match node:
        case eql.FieldComparison("==", eql.EventField() as one, eql.EventField() as other):
            begins = tuple(eql.FunctionCall("startsWith", True, pair) for pair in ((one, other), (other, one)))
            return eql.AnyConditions((node, eql.AllConditions(begins)))
    return node


def _compare_texts(node: eql.Condition, as_numbers: bool) -> eql.Condition:
    """Change a comparison with a number so that it also compares texts; return other conditions unchanged.

    as_numbers: whether to compare the number that a text says; otherwise the text is compared with the number's text.
    """
    match node:
        case eql.FieldComparison(sign, eql.EventField() as field, eql.FieldConstant(bound)) if sign in SIGNS:
            number = eql.FunctionCall("number", False, (field,))
            of_texts = (number, node.right) if as_numbers else (field, eql.FieldConstant(f"{bound:.15g}"))
            return eql.AnyConditions((node, eql.FieldComparison(sign, *of_texts)))
    return node


CHANGES: Mapping[tuple[str, str], Callable[[eql.Condition], eql.Condition]] = {
    ("network-parentheses", "lost"): lose_network_parentheses,
    ("networks", "texts"): compare_networks_as_texts,
    ("cased-texts", "anywhere"): _in_tests(find_cased_anywhere),
    ("cased-texts", "literal"): _in_tests(compare_cased_literally),
    ("question-marks", "plain"): _in_tests(read_question_marks_as_characters),
    ("cased-texts", "glob"): _in_tests(read_cased_as_glob),
    ("like-signs", "wildcards"): _in_tests(read_signs_as_wildcards),
    ("like-texts", "any-case"): _in_tests(ignore_case_of_signs),
    ("fieldref", "folded"): _in_tests(_ignore_case_of_fields),
    ("compared-texts", "as-numbers"): _in_tests(partial(_compare_texts, as_numbers=True)),
    ("compared-texts", "as-texts"): _in_tests(partial(_compare_texts, as_numbers=False)),
    ("nulls", "absent"): lose_nulls,
    ("cased", "folded"): _in_tests(_ignore_case),
}
"""For each axis and value, the function that changes a condition as converters with this value do."""


NUMBER = re.compile(r"\s*(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*")


def _number_in(value: Value | None) -> float | None:
    """Return a number, given the number or its text; None for any other value."""
    if isinstance(value, str):
        written = NUMBER.fullmatch(value)
        return None if written is None else float(written[1])
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


FOLDED: Mapping[str, eql.MatchOperator] = {"in": "in~", "like": "like~", "regex": "regex~"}
"""For each operator that compares case, the one that ignores it."""

INTERPRETATION = Interpretation(AXES, find_matches, features, compared="valuations")
