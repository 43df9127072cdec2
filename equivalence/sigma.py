"""Make random Sigma rules and logs, translate rules to CEL, compare rules, and make logs that find mistakes.

Rules are compared in three steps. Detections are decided like conditions of EQL. Correlations with the same parameters
have the same meaning if their detections agree pairwise. For other rules, logs are searched for one on which the rules
differ: logs on which a rule fires, with one or two changes where mistakes show (a gap of the timespan, an event of
another group, one event less). If no such log is found, the answer is undecided.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_network
from itertools import chain, combinations, islice, pairwise, permutations
from math import ceil, floor, inf, trunc
from random import Random
from typing import Any, TypeAlias

from cerify.equivalence.eql.letters import EventLetter, FilterAlphabet, language_of, sample_text, values_near
from cerify.equivalence.eql.mutants import condition_mutants, has_case, regex_mutants
from cerify.equivalence.eql.translate import eql_to_cel
from cerify.equivalence.generate.shrink import Generator
from cerify.equivalence.verdict import Claim, Different, Level, Undecided
from cerify.semantics.arguments import Budget, check_time, choices
from cerify.semantics.cel.parse import parse as parse_cel
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.cel.syntax import show as show_cel
from cerify.semantics.ecs import TIMESTAMP, timestamp_of
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import condition_test, own_values_of
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import TIME, Event, Match, Stream
from cerify.semantics.packages import installed
from cerify.semantics.patterns import NotCovered, PatternError, match_same_texts
from cerify.semantics.readings import SPECIFICATION, SigmaReading
from cerify.semantics.schemas import FIELD, NULL, field_name
from cerify.semantics.sigma import syntax as sigma
from cerify.semantics.sigma.denote import DetectionTests, SigmaAlert, alerts_of, detection_test, satisfies
from cerify.semantics.sigma.parse import parse, show_documents
from cerify.semantics.trees import children, rebuilt, subtrees
from cerify.semantics.values import Value, microseconds, time_at

SECOND = 1_000_000
BEGIN = microseconds(datetime(2026, 1, 1, tzinfo=UTC))

# ---------------------------------------------------------------------------------------------------------------------
# Random rules and logs: few values, so that conditions overlap, windows are full, and groups meet.

USERS, HOSTS, SIZES, KINDS = ("ann", "Ann", "bob"), ("h1", "h2"), (0, 1, 2, 5), ("login", "fail", "exec")


@dataclass(frozen=True)
class SigmaProfile:
    """The parameters of random rules.

    kinds: the types of correlations. nested: whether a correlation may refer to another. aliases: whether groups may
    have aliases. ranges: whether a condition may have two bounds. thresholds: the operators of conditions; an operator
    that occurs twice is chosen more often. detections: whether rules about one event may have further tests. several:
    whether all correlations have at least two rules, and a group.
    """

    kinds: tuple[sigma.CorrelationKind, ...] = sigma.KINDS
    nested: bool = True
    aliases: bool = True
    ranges: bool = True
    thresholds: tuple[str, ...] = ("gte", "gte", "gt", "lt", "lte", "eq", "neq")
    detections: bool = True
    several: bool = False


PROFILES = {
    "rules": SigmaProfile(),
    "cel": SigmaProfile(
        ("event_count", "value_count", "temporal", "temporal_ordered"), False, False, False, ("gte", "gt")
    ),
}


def random_detection(rng: Random, name: str, conditions: bool = True) -> dict[str, Any]:
    """Return the document of a rule about one event."""
    selection: dict[str, Any] = {"kind": rng.choice(KINDS) if rng.random() < 0.8 else rng.sample(KINDS, 2)}
    detection: dict[str, Any] = {"selection": selection, "condition": "selection"}
    if conditions and rng.random() < 0.4:
        tests = ({"size|gte": 1}, {"size": 1}, {"user|startswith": "a"}, {"user|contains|cased": "n"}, {"host": "H1"})
        more = ({"size": None}, {"host|re": "h[12]"}, {"host|exists": True}, {"size|exists": False})
        detection["other"] = rng.choice((*tests, *more))
        detection["condition"] = rng.choice(("selection and other", "selection and not other", "1 of them"))
    return {"title": name, "name": name, "logsource": {"category": "test"}, "detection": detection}


def random_documents(rng: Random, profile: SigmaProfile, nodes: int) -> list[dict[str, Any]]:
    """Return the documents of a correlation and the rules to which it refers."""
    names = ["a", "b", "c"][: rng.randint(1 + profile.several, max(2, min(3, nodes)))]
    documents = [random_detection(rng, name, profile.detections) for name in names]
    if profile.nested and rng.random() < 0.3:
        documents.append(_random_correlation(rng, profile, "inner", rng.sample(names, rng.randint(1, len(names)))))
        names = [*names, "inner"]
    rng.shuffle(names)
    documents.append(_random_correlation(rng, profile, "outer", names))
    return documents


def _random_correlation(rng: Random, profile: SigmaProfile, name: str, rules: list[str]) -> dict[str, Any]:
    kind = rng.choice(profile.kinds)
    body: dict[str, Any] = {"type": kind, "rules": list(rules)}
    group_by = rng.choice((["user"], ["user"], ["host"], ["user", "host"], ["host"] if profile.several else []))
    if profile.aliases and group_by and rng.random() < 0.15:
        body["aliases"] = {"who": {rule: rng.choice(("user", "host")) for rule in rules}}
        group_by = ["who"]
    if group_by:
        body["group-by"] = group_by
    body["timespan"] = f"{rng.choice((1, 2, 2, 5))}s"
    condition: dict[str, Any] = {}
    if kind not in sigma.TEMPORAL or rng.random() < 0.3:
        most = len(rules) if kind in sigma.TEMPORAL else 3
        condition[rng.choice(profile.thresholds)] = rng.randint(1, most)
        if profile.ranges and rng.random() < 0.1 and "gte" in condition:
            condition["lte"] = condition["gte"] + 1
    if kind not in ("event_count", *sigma.TEMPORAL):
        condition["field"] = rng.choice(("host", "user", "size")) if kind == "value_count" else "size"
    if kind == "value_percentile":
        condition["percentile"] = rng.choice((0, 50, 75, 100))
    if condition:
        body["condition"] = condition
    return {"title": name, "name": name, "correlation": body}


def random_event(rng: Random, seconds: float) -> Event:
    """Return a random event, this number of seconds after the beginning of 2026."""
    attributes: dict[str, Value] = {TIME: time_at(BEGIN + round(seconds * SECOND)), "kind": rng.choice(KINDS)}
    choices: dict[str, tuple[Value, ...]] = {"user": USERS, "host": HOSTS, "size": SIZES}
    for name, values in choices.items():
        if rng.random() < 0.85:
            attributes[name] = rng.choice(values)
        elif rng.random() < 0.3:
            attributes[name + NULL] = True
    return Event("event", attributes)


def random_log(rng: Random, profile: SigmaProfile, length: int, query: sigma.SigmaQuery) -> Stream:
    """Return a random log of that length, in the order of time, in steps of half a second."""
    time, events = float(rng.randint(0, 4)), []
    for _ in range(length):
        time += rng.choice((0, 0, 0.5, 0.5, 1, 1, 2))
        events.append(random_event(rng, time))
    return Stream(events)


def random_case(rng: Random, profile: SigmaProfile, nodes: int, events: int) -> tuple[sigma.SigmaQuery, Stream]:
    """Return random rules and a random log for them."""
    query = parse(show_documents(random_documents(rng, profile, nodes)))
    return query, random_log(rng, profile, rng.randint(1, events), query)


SIGMA: Generator[sigma.SigmaQuery] = Generator(PROFILES, random_case, random_log)

# ---------------------------------------------------------------------------------------------------------------------
# CEL.


def sigma_to_cel(query: sigma.SigmaQuery) -> Formula:
    """Return the formula of CEL with the alerts of a rule, on logs of events of type `event` in the order of time.

    d1 ... dn are the detections, D is any of them, and w is the timespan. All formulas are PER KEY of the group:

        event_count >= k          MAX((D ; ... ; D ; D+) WITHIN w)                  (k - 1 times `D ;`)
        value_count >= k          MAX(((D ; ... ; D) FILTER their values differ) ALL D+ WITHIN w)
        temporal, k of n          MAX((d1 ALL ... ALL dk ALL D+) OR ... WITHIN w)
        temporal_ordered          LAST(d1 ; ... ; dn WITHIN w)

    Raises Unsupported for other thresholds than "at least", correlations of correlations, aliases, sums, averages and
    percentiles, and conditions that CEL does not have.
    """
    if len(query.rules) != 1:
        raise Unsupported("several rules raise alerts; translate them one by one")
    if there := [name for one in sigma.rules_of(query) for name in _fields_with_null(one)]:
        raise Unsupported(
            f"{field_name(there[0])}|exists cannot be translated: it is true of a field that is null, but in CEL "
            "a null is absent"
        )
    if own := [name for one in sigma.rules_of(query) for name in attributes_in(one) if name.endswith(FIELD)]:
        name = field_name(own[0])
        raise Unsupported(f"the field {name} cannot be translated: in CEL, {name} is the {name} of the event itself")
    (rule,) = query.rules
    if isinstance(rule, sigma.SigmaDetection):
        return eql_to_cel(eql.EqlQuery(eql.EventFilter("event", rule.condition)))
    names = {part.name for part in rule.rules}
    if any(isinstance(part, sigma.SigmaCorrelation) for part in rule.rules) or len(names) < len(rule.rules):
        raise Unsupported("a correlation of correlations cannot be translated: its timespan begins at their alerts")
    if any(keys != rule.group_by for keys in rule.keys) or len(set(rule.values)) > 1:
        raise Unsupported("aliases are not translated: PER KEY of CEL uses the same attributes for all events")
    least = _least(rule)
    parts = [_event(part) for part in rule.rules if isinstance(part, sigma.SigmaDetection)]
    any_of = f"({' OR '.join(parts)})"
    match rule.kind:
        case "event_count":
            text = f"MAX(({' ; '.join([any_of] * (least - 1) + [f'{any_of}+'])}) WITHIN {rule.seconds} seconds)"
        case "value_count":
            (values,) = set(rule.values)
            if len(values) != 1:
                raise Unsupported("a value_count of several fields together cannot be translated to CEL")
            name = _name(values[0])
            any_of = f"(({any_of} IN v) FILTER v[{name} = {name}])"
            chosen = f"({' ; '.join(f'({any_of} IN v{i})' for i in range(least))})"
            for i, j in combinations(range(least), 2):
                chosen = f"({chosen} FILTER v{i}.{name} != v{j}.{name})"
            text = f"MAX(({chosen} ALL ({any_of}+)) WITHIN {rule.seconds} seconds)"
        case "temporal":
            some = [f"({' ALL '.join([*few, f'({any_of}+)'])})" for few in combinations(parts, least)]
            text = f"MAX(({' OR '.join(some)}) WITHIN {rule.seconds} seconds)"
        case "temporal_ordered" if least == len(parts):
            text = f"LAST(({' ; '.join(parts)}) WITHIN {rule.seconds} seconds)"
        case _:
            raise Unsupported(
                "a temporal_ordered rule can be translated to CEL only if all of its rules must occur"
                if rule.kind == "temporal_ordered"
                else f"a {rule.kind} rule cannot be translated to CEL; event_count, value_count and temporal can"
            )
    return parse_cel(f"{text} PER KEY [{', '.join(map(_name, rule.group_by))}]" if rule.group_by else text)


def attributes_in(rule: sigma.SigmaRule) -> list[str]:
    """Return the fields that a rule tests, counts or groups by."""
    if isinstance(rule, sigma.SigmaDetection):
        return [field.name for field in eql.fields_of(rule.condition)]
    return [name for names in (*rule.keys, *rule.values) for name in names]


def _fields_with_null(rule: sigma.SigmaRule) -> list[str]:
    """Return the fields that a detection requires to be there, even with null."""
    nodes = subtrees(rule.condition) if isinstance(rule, sigma.SigmaDetection) else ()
    return list(dict.fromkeys(name for node in nodes if (name := sigma.field_there(node)) is not None))


def _least(rule: sigma.SigmaCorrelation) -> int:
    """Return the number n of a condition "at least n"."""
    bounds = dict(rule.thresholds)
    if len(rule.thresholds) != 1 or not {"gt", "gte"} & set(bounds) or rule.kind in sigma.NUMERIC:
        raise Unsupported("CEL can only express that a count is at least n: write the condition with gte or gt alone")
    least = int(bounds["gte"]) if "gte" in bounds else int(bounds["gt"]) + 1
    most = len(rule.rules) if rule.kind in sigma.TEMPORAL else 20
    if not 1 <= least <= most:
        raise Unsupported(
            f"a count of at least {least} cannot be translated: the CEL formula names each counted event, so the count "
            f"must be from 1 to {most}"
        )
    return least


def _event(rule: sigma.SigmaDetection) -> str:
    return f"({show_cel(eql_to_cel(eql.EqlQuery(eql.EventFilter('event', rule.condition))))})"


def _name(name: str) -> str:
    if not name.isidentifier():
        raise Unsupported(f"CEL has no names such as {name!r}")
    return name


# ---------------------------------------------------------------------------------------------------------------------
# Logs on which a rule fires, and what is near them.

Judge: TypeAlias = Callable[[Sequence[Event]], list[SigmaAlert]]
EDGE = 6  # positions from either end of a long log at which it is changed
MOST_BURST = 400
MOST_VALUES, MOST_TEXTS, MOST_FIRST_LETTERS = 24, 5, 8
TEXT = eql.EventField("text")
RANDOM_LOGS = 300
MOST_LOGS, MOST_LOGS_OF_TESTS, MOST_FIRING_LOGS, MOST_KEPT_EVENTS = 4_000, 1_500, 400, 100_000
MOST_DISTINGUISHING_LOGS = 200
MOST_LOGS_OF_MISTAKES = 600  # for a mistake with conditions or groups that the rule does not have


@dataclass(frozen=True)
class _Draft:
    """An event that is being planned: its letter (the filters it passes), the microseconds since the event before it,
    and fields that replace fields of the letter.
    """

    letter: EventLetter
    gap: int
    more: tuple[tuple[str, Value | None], ...]

    def event(self, time: int) -> Event:
        found = {**self.letter.attributes(), **dict(self.more), TIME: time_at(time)}
        return Event("event", {name: value for name, value in found.items() if value is not None})

    def with_letter(self, letter: EventLetter) -> _Draft:
        """Return the planned event with another letter and the fields of that letter."""
        own = letter.attributes()
        return replace(self, letter=letter, more=tuple((n, v) for n, v in self.more if n not in own))

    def having(self, name: str, value: Value | None) -> _Draft:
        return _Draft(self.letter, self.gap, (*[one for one in self.more if one[0] != name], (name, value)))

    def after(self, gap: int) -> _Draft:
        """Return the planned event with another distance from the event before it."""
        return _Draft(self.letter, gap, self.more)


Drafts: TypeAlias = tuple[_Draft, ...]
Instead: TypeAlias = tuple[sigma.SigmaCorrelation, Drafts] | None


class LogSearch:
    """Makes logs on which some queries' rules fire, and variants of these logs.

    Raises BudgetExceeded if conditions are too large.
    """

    def __init__(self, queries: Sequence[sigma.SigmaQuery]) -> None:
        self.rules = list(dict.fromkeys(rule for query in queries for rule in sigma.rules_of(query)))
        self.detections = [rule for rule in self.rules if isinstance(rule, sigma.SigmaDetection)]
        self.correlations = [rule for rule in self.rules if isinstance(rule, sigma.SigmaCorrelation)]
        self.roots = list(dict.fromkeys(rule for query in queries for rule in query.rules))
        filters = [eql.EventFilter(None, rule.condition) for rule in self.detections]
        self.alphabet = FilterAlphabet(filters, False, values=own_values_of)
        self.letters = self.alphabet.letters()
        self._tests = [detection_test(rule) for rule in self.detections]
        self.groups = list(dict.fromkeys(f for rule in self.correlations for keys in rule.keys for f in keys))
        self.counted = list(dict.fromkeys(f for rule in self.correlations for names in rule.values for f in names))
        known = {*self.groups, *self.counted}
        fields_ = (field.name for rule in self.detections for field in eql.fields_of(rule.condition))
        self.equal: dict[str, list[str]] = {}
        for node in (node for rule in self.detections for node in subtrees(rule.condition)):
            match node:
                case eql.FieldComparison("==", eql.EventField(one), eql.EventField(other)):
                    self.equal.setdefault(one, []).append(other)
                    self.equal.setdefault(other, []).append(one)
        self.coerced = list(dict.fromkeys(one for q in queries for *_, some in _coercions(q) for one in some.items()))
        self.tested = [name for name in dict.fromkeys(fields_) if name not in known and not name.endswith(NULL)]
        self.null = list(dict.fromkeys(name for rule in self.detections for name in _fields_with_null(rule)))
        nodes = [node for rule in self.detections for node in subtrees(rule.condition)]
        self.networks = list(dict.fromkeys(pair for node in nodes for pair in _texts_like_addresses(node)))
        self._bounds_compared: dict[str, list[float]] = {}
        for node in nodes:
            match node:
                case eql.FieldComparison(sign, eql.EventField(field), eql.FieldConstant(int() | float() as value)):
                    if sign in sigma.SIGNS:
                        self._bounds_compared.setdefault(field, []).append(value)
        self._shows_time = any(TIMESTAMP in attributes_in(rule) for rule in self.rules)
        self._spans = sorted({rule.seconds * SECOND for rule in self.correlations})
        self._linked = _find_linked_fields(self.correlations)
        self._events: dict[tuple[int, int], tuple[_Draft, Event]] = {}  # a draft is kept, so that its identity is
        self._fired: dict[sigma.SigmaDetection, _Draft | None] = {}
        self._values: dict[tuple[str, int], list[Value]] = {}  # by a field and a number
        self._texts: dict[str, list[str]] = {}  # by an operator and regular expressions
        self._near: dict[tuple[EventLetter, str, str], list[Value]] = {}  # by a draft and a field

    def knows(self, query: sigma.SigmaQuery) -> bool:
        """Return whether the queries of this search have all detections, and all fields of groups, of this query."""
        rules = list(sigma.rules_of(query))
        keys = {f for rule in rules if isinstance(rule, sigma.SigmaCorrelation) for names in rule.keys for f in names}
        detections = {rule for rule in rules if isinstance(rule, sigma.SigmaDetection)}
        return detections <= set(self.detections) and keys <= set(self.groups)

    def firing(self, rule: sigma.SigmaRule, instead: Instead = None) -> Drafts:
        """Return planned events on which a rule should fire; () if none are found.

        instead: a rule, and planned events to use for it.
        """
        if instead is not None and rule == instead[0]:
            return instead[1]
        if isinstance(rule, sigma.SigmaDetection):
            if rule not in self._fired:
                number = self.detections.index(rule)
                letters = sorted((one for one in self.letters if number in one.passes), key=lambda o: len(o.passes))
                drafts = [
                    self._with_all_fields(self._giving(_Draft(letter, SECOND, ()), dict.fromkeys(self.groups, "a")))
                    for letter in letters[:MOST_FIRST_LETTERS]
                ]
                # an event with a value of its own for a field of the group may have no group with the others
                self._fired[rule] = min(
                    drafts, key=lambda d: sum(v != "a" for n, v in d.more if n in self.groups), default=None
                )
            return () if (draft := self._fired[rule]) is None else (draft,)
        return self._measuring(rule, self._choose_number(rule), instead)

    def _choose_number(self, rule: sigma.SigmaCorrelation) -> float:
        """Return a number that should satisfy a correlation's condition."""
        bounds = [bound for name, bound in rule.thresholds if name in ("gte", "eq", "lte")]
        return (bounds or [bound + 1 for name, bound in rule.thresholds if name == "gt"] or [1])[0]

    def _measuring(self, rule: sigma.SigmaCorrelation, wanted: float, instead: Instead = None) -> Drafts:
        """Return events for which the number that the condition of a correlation tests is `wanted`."""
        parts = [self.firing(part, instead) for part in rule.rules]
        if rule.kind in sigma.TEMPORAL:
            drafts = [draft for part in parts[: max(int(wanted), 1)] for draft in part]
        elif rule.kind in ("event_count", "value_count"):
            several = [parts[i % len(parts)] for i in range(min(max(int(wanted), 1), MOST_BURST))]
            drafts = [
                self._giving(draft, {name: self._nth_value(name, n) for name in rule.values[n % len(parts)]}, n)
                for n, part in enumerate(several)
                for draft in part
            ]
        else:
            drafts = [draft.having(name, wanted) for draft in parts[0] for name in rule.values[0]]
        for fields_ in zip(*rule.keys, strict=True):
            drafts = self._sharing(drafts, fields_[0])
        return self._within(rule, drafts)

    def _sharing(self, drafts: Sequence[_Draft], name: str) -> list[_Draft]:
        """Give the planned events one common value in a grouping field, if the same detections still find each of them.

        Otherwise return them unchanged.
        """
        links, own = self._linked.get(name, (name,)), [draft.event(BEGIN).attributes for draft in drafts]
        values = list(dict.fromkeys(one[link] for one in own for link in links if link in one))
        for value in values if len(values) > 1 else ():
            others = [self._with_value(draft, name, value) for draft in drafts]
            if all(self._list_detected(one) == self._list_detected(o) for one, o in zip(drafts, others, strict=True)):
                return others
        return list(drafts)

    def _with_value(self, draft: _Draft, name: str, value: Value | None) -> _Draft:
        """Return the planned event with this value in a field of groups, and in the fields that aliases link to it."""
        for one in self._linked.get(name, (name,)):
            draft = self._tied(draft, one, value)
        return draft

    def _within(self, rule: sigma.SigmaCorrelation, drafts: Sequence[_Draft]) -> Drafts:
        """Place planned events inside one window of a correlation."""
        gap = min(SECOND, rule.seconds * SECOND // (2 * max(len(drafts), 1)))
        return tuple(draft.after(min(draft.gap, gap)) for draft in drafts)

    def _draft_near(self, rule: sigma.SigmaCorrelation) -> Iterator[Drafts]:
        """Yield planned events that nearly satisfy a condition: an event too many, half of a sum, values around a
        percentile.
        """
        if rule.kind == "value_percentile":
            known = {one.percentile for one in self.correlations if one.percentile is not None}
            shares = {p + d for p in known for d in (-0.5, 0, 0.5)} | {(a + b) / 2 for a, b in pairwise(sorted(known))}
            for _, bound in rule.thresholds:
                for share in sorted(shares):  # the percentile at which the line between two values is at the bound
                    if 0 <= share <= 100:
                        low, high = (self._measuring(rule, bound - share + more) for more in (0, 100))
                        yield self._within(rule, (*low, *high))
        elif rule.kind == "value_sum":
            yield self._within(rule, self._measuring(rule, self._choose_number(rule) / 2) * 2)
        if rule.kind in sigma.NUMERIC:
            yield from self._draft_doubled(rule)
            own = {bound for one in self.correlations if one.kind == rule.kind for _, bound in one.thresholds}
            bounds = sorted({*own, *map(trunc, own)})  # converters cut fractions
            yield from (self._measuring(rule, (low + high) / 2) for low, high in pairwise(bounds))
        else:
            most = len(rule.rules) if rule.kind in sigma.TEMPORAL else MOST_BURST
            if rule.kind in sigma.TEMPORAL and self._choose_number(rule) < most:
                yield self._measuring(rule, most)
            for name, bound in rule.thresholds:
                number = floor(bound) + 1 if name == "lte" else ceil(bound)
                if name in ("lt", "lte", "neq") and 1 <= number <= most:
                    yield self._measuring(rule, number)

    def _pairs(self, rule: sigma.SigmaCorrelation) -> Iterator[Drafts]:
        """Yield two events with values far above and far below a bound: in one window, in two windows, in two groups.

        Whether a group has an alert depends on which of its events are in one window.
        """
        for _, bound in rule.thresholds if rule.kind in sigma.NUMERIC else ():
            values = (2 * bound + 10, bound / 2, -3 * bound - 20)
            for first, second in permutations(values, 2):
                low, high = (self._measuring(rule, value)[:1] for value in (first, second))
                # Inside one window, and just outside.
                for gap in (SECOND, (rule.seconds + 1) * SECOND):
                    yield (*low, *(draft.after(gap) for draft in high))
                if names := dict.fromkeys(self.groups, "b"):
                    yield (*(self._giving(draft, names) for draft in low), *high)

    def _draft_doubled(self, rule: sigma.SigmaCorrelation) -> Iterator[Drafts]:
        """Yield events whose sum or average changes if an event that several rules detect is counted once per rule."""
        numbers = {self.detections.index(part) for part in rule.rules if isinstance(part, sigma.SigmaDetection)}
        both = max(self.letters, key=lambda letter: len(letter.passes & numbers), default=None)
        if both is None or len(both.passes & numbers) < 2:
            return
        for _, bound in rule.thresholds:
            last = self._measuring(rule, bound)[-1:]
            for more in (-1, 1):
                first = (draft.with_letter(both).having(rule.values[0][0], bound + more) for draft in last)
                yield self._within(rule, (*first, *(d.having(rule.values[0][0], bound - more) for d in last)))
            half = (draft.with_letter(both).having(rule.values[0][0], bound * 0.6) for draft in last)
            yield self._within(rule, tuple(half))

    def _giving(self, draft: _Draft, values: Mapping[str, Value], n: int = 0) -> _Draft:
        """Return the planned event with these field values, or with others that its letter allows. n: the first other
        value to try.
        """
        for name, value in values.items():
            others = (self._tied(draft, name, other) for other in (value, *self._values_of(name, n)))
            draft = next((one for one in others if self._passes(one) == draft.letter.passes), draft)
        return draft

    def _passes(self, draft: _Draft) -> set[int]:
        """Return the numbers of the detections that find the planned event."""
        return {number for number, found in enumerate(self._list_detected(draft)) if found}

    def _tied(self, draft: _Draft, name: str, value: Value | None) -> _Draft:
        """Return the planned event with this value in a field, and in the fields that conditions compare with it, if
        the same detections still find it.
        """
        tied = draft.having(name, value)
        for one in self.equal.get(name, ()):
            tied = tied.having(one, value)
        if name in self.equal and self._passes(tied) != draft.letter.passes:
            apart = draft.having(name, value)  # a condition may require that they differ
            return apart if self._passes(apart) == draft.letter.passes else tied
        return tied

    def _with_all_fields(self, draft: _Draft) -> _Draft:
        """Return the planned event with values for all fields of conditions, as far as the same detections still find
        it.

        Without these values, a converter's treatment of missing fields would hide all other differences.
        """
        found = self._list_detected(draft)
        for name in self.tested:
            if name not in draft.event(BEGIN).attributes:
                values = [one[0] for one in self.alphabet.values_of(name) if one]
                others = (draft.having(name, value) for value in (*values, f"other {name}", 0))
                draft = next((one for one in others if self._list_detected(one) == found), draft)
        return draft

    def _list_detected(self, draft: _Draft) -> list[bool]:
        """Return for each detection whether it finds the planned event."""
        event = draft.event(BEGIN)
        return [test(event) for test in self._tests]

    def _nth_value(self, name: str, n: int) -> Value:
        """Return a value of its own for each n: a number for a field that is compared with numbers, otherwise a
        text.
        """
        return n + 1 if name in self._bounds_compared else f"v{n}"

    def _values_of(self, name: str, n: int) -> list[Value]:
        """Return values that the conditions on a field look for.

        For patterns, regular expressions and networks this is a different value for each n. The constants follow,
        starting with the n-th.
        """
        if (name, n) in self._values:
            return self._values[name, n]
        bounds = self._bounds_compared.get(name, ())
        fresh: list[Value] = [value for bound in bounds for value in (bound + n + 1, bound - n - 1)]
        found = list[Value]()
        for node in (node for rule in self.detections for node in subtrees(rule.condition)):
            match node:
                case eql.ValueLookup(operator, eql.EventField(field), values) if field == name:
                    if operator in ("in", "in~"):
                        found += (value for value in values if value is not None)
                    elif operator in ("like", "like~"):
                        fresh += (str(value).replace("*", f"v{n}").replace("?", "x") for value in values)
                    else:
                        texts = self._texts_matching(operator, values)
                        fresh += (change for text in texts for change in (f"{text}v{n}", f"v{n}{text}"))
                        for pattern in map(str, values):
                            with suppress(PatternError):
                                searched = sigma.SEARCHED.fullmatch(pattern)
                                fresh.append(sample_text(searched[2] if searched else pattern, n))
                        found += texts
                case eql.FunctionCall("cidrMatch", _, (eql.EventField(field), eql.FieldConstant(str(block)))):
                    if field == name:
                        network = ip_network(block, strict=False)
                        fresh.append(str(network[n % network.num_addresses]))
        near = [one[0] for one in self.alphabet.values_of(name) if one]
        self._values[name, n] = list(dict.fromkeys((*fresh, *found[n:], *found[:n], *near[:MOST_VALUES])))
        return self._values[name, n]

    def _texts_matching(self, operator: str, patterns: tuple[object, ...]) -> list[str]:
        """Return a few texts that regular expressions match."""
        key = f"{operator} {patterns}"
        if key not in self._texts:
            test = condition_test(eql.ValueLookup("regex~" if operator == "regex~" else "regex", TEXT, patterns))  # type: ignore[arg-type]
            with suppress(PatternError):
                near = values_near([eql.ValueLookup("regex", TEXT, patterns)])  # type: ignore[arg-type]
                some = (one for one in near if isinstance(one, str) and test(Event("", {TEXT.name: one})))
                self._texts[key] = list(islice(some, MOST_TEXTS))
        return self._texts.get(key, [])

    def _near_values(self, draft: _Draft, name: str) -> list[Value]:
        """Return other values for a field: the present value in the other case, two values with which the same
        detections find the draft, and one value for each other set of detections.
        """
        key = draft.letter, repr(draft.more), name
        if key not in self._near:
            self._near[key] = self._find_near_values(draft, name)
        return self._near[key]

    def _find_near_values(self, draft: _Draft, name: str) -> list[Value]:
        own = draft.event(BEGIN).attributes.get(name)
        known = [value for value in self._values_of(name, 1) if value != own]
        if not known:
            return []
        passes, seen = self._passes(draft), dict[frozenset[int], int]()
        near: list[Value] = [own.swapcase()] if isinstance(own, str) else []
        for value in known:
            found = frozenset(self._passes(self._tied(draft, name, value)))
            seen[found] = seen.get(found, 0) + 1
            near += [value] * (seen[found] <= (2 if found == passes else 1))
        return near

    def bases(self) -> list[Drafts]:
        """Return logs, as events without times, on which the rules that raise alerts should fire or nearly fire."""
        first = [base for rule in self.roots if (base := self.firing(rule))]
        near = [(one, drafts) for one in self.correlations for drafts in self._draft_near(one)]
        bases = [*first, *(base for two in near for rule in self.roots if (base := self.firing(rule, two)))]
        return list(dict.fromkeys([*bases, *((*base, *base) for base in first)]))

    def logs(self, rng: Random) -> Iterator[list[Event]]:
        """Yield logs to compare rules on: logs on which a rule fires, the same with one or two changes, random logs."""
        bases = self.bases()
        for base in bases:
            yield self._timed(base)
        for rule in self.roots:
            yield from map(self._timed, self._pairs(rule) if isinstance(rule, sigma.SigmaCorrelation) else ())
        for base in bases:
            for drafts, start in self._changes(base):
                yield self._timed(drafts, start)
        for base in bases:
            singles = list(islice(self._changes(base), 4_000))
            for _ in range(RANDOM_LOGS):
                drafts, start = rng.choice(singles)
                nearby = list(self._changes_at(drafts, rng.choice(self._places(drafts)))) if drafts else [drafts]
                yield self._timed(rng.choice(nearby), start)

    def logs_with(self, letters: Sequence[EventLetter]) -> Iterator[list[Event]]:
        """Yield logs on which a rule fires, and variants of them with the example events `letters`.

        An example event replaces an event or follows it, or it replaces all events with the fields of another example.
        """
        for base in self.bases():
            yield self._timed(base)
            yield from map(self._timed, self._change_letters(base, letters))
            for i in self._places(base):
                for letter in letters:
                    draft = base[i].with_letter(letter)
                    values = {name: value for name, value in base[i].more if value is not None}
                    for changed in (draft, self._with_all_fields(self._giving(draft, values))):
                        yield self._timed((*base[:i], changed, *base[i + 1 :]))
                        yield self._timed((*base[: i + 1], changed, *base[i + 1 :]))

    def _change_letters(self, base: Drafts, letters: Sequence[EventLetter]) -> Iterator[Drafts]:
        """Yield the planned events with one letter in place of another, in all events that have it."""
        for old in dict.fromkeys(draft.letter for draft in base):
            for letter in letters:
                drafts = [d.with_letter(letter) if d.letter == old else d for d in base] if letter != old else []
                yield from [tuple(drafts)] * bool(drafts)
                if drafts and (counted := [name for name in self.counted if name in letter.attributes()]):
                    drafts = [  # each event with a value of its own, as the letter has only one
                        self._giving(draft, {name: self._nth_value(name, n) for name in counted}, n)
                        if draft.letter == letter
                        else draft
                        for n, draft in enumerate(drafts)
                    ]
                    yield tuple(drafts)
                for name in self.groups if drafts else ():
                    if (value := letter.attributes().get(name)) is not None:
                        drafts = [self._with_value(draft, name, value) for draft in drafts]
                        yield tuple(drafts)

    def _places(self, base: Drafts) -> list[int]:
        """Return the positions at which events are changed: the first ones and the last ones."""
        return [i for i in range(len(base)) if i < EDGE or i >= len(base) - EDGE]

    def _timed(self, drafts: Drafts, start: int = 0) -> list[Event]:
        time, events = BEGIN + start, []
        for number, draft in enumerate(drafts):
            time += draft.gap if number else 0
            key = id(draft), time
            if key not in self._events:
                self._events[key] = draft, self._with_timestamp(draft.event(time))
            events.append(self._events[key][1])
        return events

    def _with_timestamp(self, event: Event) -> Event:
        """Return the event with its time as the field `@timestamp` if a rule uses it: a document has the time there."""
        if not self._shows_time:
            return event
        own = {name: value for name, value in event.attributes.items() if name != TIMESTAMP + NULL}
        return Event(event.type, {**own, TIMESTAMP: timestamp_of(own[TIME])})

    def _changes(self, base: Drafts) -> Iterator[tuple[Drafts, int]]:
        """Yield the planned events with one change each, and the offset of the first event in microseconds."""
        yield from ((drafts, 0) for drafts in self._change_wholly(base))
        for i in self._places(base):
            yield from ((drafts, 0) for drafts in self._changes_at(base, i))
        for span in self._spans:
            yield base, span - 1_000 - BEGIN % span
            yield (*base, base[0].after(3 * span), *base[1:]), 0
            yield (*base, base[-1].after(3 * span)), 0
            yield (*base, base[-1].after(span)), 0

    def _changes_at(self, base: Drafts, i: int) -> Iterator[Drafts]:
        """Yield the planned events with changes at one position."""
        starts = {0, *(j for i, (one, o) in enumerate(pairwise(base)) if one.letter != o.letter for j in (i, i + 1))}

        def substitute(*drafts: _Draft) -> Drafts:
            return (*base[:i], *drafts, *base[i + 1 :])

        yield substitute()
        ends = [sum(d.gap for d in base[1:])]
        ends += (sum(d.gap for d in base[j + 1 : i + 1]) for j in sorted(starts) if j < i)
        for span in self._spans:
            for over in (0, 1_000, SECOND, -1_000):
                for before in dict.fromkeys(end - base[i].gap for end in ends):
                    if i and span + over >= before:
                        yield substitute(base[i].after(span + over - before))
                yield substitute(base[i].after(max(span + over, 0)))
        yield substitute(base[i].after(0))
        yield substitute(base[i], base[i].after(0))
        yield substitute(base[i], base[i])
        if i + 1 < len(base):
            first = base[i + 1].after(base[i].gap)
            for gap in (base[i + 1].gap, 0):
                yield (*base[:i], first, base[i].after(gap), *base[i + 2 :])
        for name in self.groups:
            for key in dict.fromkeys(("b", "A", None, *self._near_values(base[i], name))):
                yield substitute(self._tied(base[i], name, key))
        for name in self.counted:
            near = self._near_values(base[i], name)
            for other in dict.fromkeys(("v0", "V0", "v1", None, 0, 1, *self._bounds(), *near)):
                yield substitute(base[i].having(name, other))
        for name in self.tested:
            yield substitute(base[i].having(name, None))
        for name in self.null:
            for value in (True, None):
                yield substitute(base[i].having(name, None).having(name + NULL, value))
        yield from (substitute(draft) for draft in self._coerced(base[i]))
        for letter in self.letters:
            yield substitute(base[i].with_letter(letter))
            yield substitute(base[i], base[i].with_letter(letter))
            yield substitute(base[i].with_letter(letter), base[i])

    def _change_wholly(self, base: Drafts) -> Iterator[Drafts]:
        """Yield the planned events with the same change everywhere, or in the second half."""
        yield from (tuple(drafts) for drafts in zip(*map(self._coerced, base), strict=False))
        yield from self._change_letters(base, self.letters)
        for name in (*self.groups, *self.counted):
            known = self._values_of(name, 0)[:MOST_VALUES]
            for value in ("A", None, 1, *known, *(v.swapcase() for v in known if isinstance(v, str))):
                yield tuple(self._with_value(draft, name, value) for draft in base)
        for name in (one for one in self.counted if one in self._bounds_compared):
            # texts that are less than a positive number, more, and the same but for their case
            for text in ("-{n}", "v{n}", "{letter}{half}"):
                own = [text.format(n=n + 1, letter="vV"[n % 2], half=n // 2) for n in range(len(base))]
                yield tuple(draft.having(name, one) for draft, one in zip(base, own, strict=True))
        for name in (*self.groups, *self.counted):  # one value for another, in all of its events
            values = list(dict.fromkeys(v for d in base[:EDGE] if isinstance(v := dict(d.more).get(name), str)))
            for value, other in permutations(values[:3], 2):
                yield tuple(d.having(name, other.swapcase()) if (name, value) in d.more else d for d in base)
        for name in self.groups:
            half = len(base) // 2
            for value in ("b", *self._near_values(base[-1], name)[:3]):
                yield (*base[:half], *(self._with_value(draft, name, value) for draft in base[half:]))
        letters = dict.fromkeys(draft.letter for draft in base)
        for name in self.groups if len(letters) > 1 else ():  # the events of one rule in another group
            for letter in letters:
                yield tuple(self._with_value(draft, name, "b") if draft.letter == letter else draft for draft in base)
        yield from (tuple(d.having(name, None).having(name + NULL, True) for d in base) for name in self.null)
        for absent in (*((name,) for name in self.tested), *self._fields_of_groups()):
            drafts = base
            for name in absent:
                drafts = tuple(draft.having(name, None) for draft in drafts)
            yield drafts

    def _fields_of_groups(self) -> Iterable[tuple[str, ...]]:
        """Return the sets of fields that different rules use as the same field of groups, and the set of all fields of
        groups.

        Sets with a single field are left out.
        """
        named = [tuple(fields) for rule in self.correlations for fields in zip(*rule.keys, strict=True)]
        return (one for one in dict.fromkeys((*named, tuple(self.groups))) if len(set(one)) > 1)

    def _coerced(self, draft: _Draft) -> list[_Draft]:
        """Return the planned event with one value replaced that an engine may convert.

        A number becomes its text, a text the text in the other case, and an address a text that only begins like one.
        """
        found = [draft.having(name, text) for name, text in self.networks]
        attributes = draft.event(BEGIN).attributes
        for name, change in self.coerced:
            own = attributes.get(name)
            if change is _in_lower_case and isinstance(own, str):
                found.append(draft.having(name, own.swapcase()))
                for other in self.equal.get(name, ()):  # they differ only in case, even under `not`
                    found.append(draft.having(other, own.swapcase()))
            elif change is _as_number and isinstance(own, int | float):
                found.append(draft.having(name, f"{own:.15g}"))
            elif change is _above_numbers:  # in the order of texts, 9 is more than 10, and 100 less than 5
                digits = len(str(trunc(max(map(abs, chain(*self._bounds_compared.values())), default=0))))
                found += (draft.having(name, text) for text in ("9", f"1{'0' * digits}"))
        return found

    def _bounds(self) -> set[float]:
        bounds = {bound for rule in self.correlations for _, bound in rule.thresholds}
        return {bound + d for bound in bounds for d in (-1, -0.5, 0, 0.5, 1)}


def _find_linked_fields(correlations: Iterable[sigma.SigmaCorrelation]) -> dict[str, tuple[str, ...]]:
    """Map each field of groups to the fields that must have the same value in other events of the group, by aliases."""
    links: list[set[str]] = []
    for rule in correlations:
        for fields_ in zip(rule.group_by, *rule.keys, strict=True):
            joined = [one for one in links if one & {*fields_}]
            links = [one for one in links if one not in joined] + [{*fields_}.union(*joined)]
    keys = list(dict.fromkeys(name for rule in correlations for names in rule.keys for name in names))
    return {name: tuple(key for key in keys if key in link) for link in links for name in link}


def fires_on_some_log(query: sigma.SigmaQuery) -> bool | None:
    """Return whether each rule that raises alerts fires on some log; None if no log was found but one may exist.

    Raises BudgetExceeded.
    """
    for rule in query.rules:
        if isinstance(rule, sigma.SigmaCorrelation):
            # Above 0 and below 0 at once: no number is, so a rule that is contained in this one never fires.
            never = replace(rule, thresholds=(("gt", 0), ("lt", 0)))
            if _thresholds_hold(rule, never, "contained"):
                return False
    search, left = LogSearch((query,)), {rule.name for rule in query.rules}
    passing = {number for letter in search.letters for number in letter.passes}
    for rule in query.rules if search.alphabet.exact else ():
        parts = [part for part in sigma.rules_of(sigma.SigmaQuery((rule,))) if isinstance(part, sigma.SigmaDetection)]
        if not passing & {search.detections.index(part) for part in parts}:
            return False
    raised = judge(query)
    for log in islice(search.logs(Random(0)), MOST_FIRING_LOGS):
        check_time()
        left -= {alert.rule for alert in raised(log)}
        if not left:
            return True
    return None


def _said(alerts: Iterable[SigmaAlert]) -> set[tuple[int, tuple[int, ...]]]:
    return {(alert.at, alert.events) for alert in alerts}


def _places(alerts: Iterable[SigmaAlert]) -> set[int]:
    return {alert.at for alert in alerts}


def find_log(
    logs: Iterable[list[Event]], one: Judge, other: Judge, said: Callable[[Iterable[SigmaAlert]], object] = _said
) -> list[Event] | None:
    """Return a short log on which two judges disagree; None if they agree on all of these logs.

    one, other: return the alerts of a log. said: returns what is compared of these.
    """
    for log in logs:
        check_time()
        if said(one(log)) != said(other(log)):
            i = 0
            while i < len(log):  # without the events that it does not need
                fewer = log[:i] + log[i + 1 :]
                if fewer and said(one(fewer)) != said(other(fewer)):
                    # Back by one, because the event before may no longer be needed; in a long log this would take too
                    # many tries.
                    log, i = fewer, max(i - 1, 0) if len(log) < 30 else i
                else:
                    i += 1
            return log
    return None


def _find_separating_log(
    logs: Sequence[list[Event]], one: Judge, other: Judge, said: Callable[[Iterable[SigmaAlert]], object]
) -> int | None:
    """Return the number of the first log on which two judges disagree; None if they agree on all logs."""
    return next((n for n, log in enumerate(logs) if said(one(log)) != said(other(log))), None)


def judge(query: sigma.SigmaQuery, reading: SigmaReading = SPECIFICATION) -> Judge:
    """Return a function that maps a log to the alerts that a query raises."""
    tests: DetectionTests = {}
    return lambda log: alerts_of(query, log, reading, tests=tests)


# ---------------------------------------------------------------------------------------------------------------------
# Comparison.


@dataclass(frozen=True)
class SameRules:
    """The answer that the claim about the rules holds on every log, with the reason."""

    reason: str


def compare_sigma(
    left: sigma.SigmaQuery, right: sigma.SigmaQuery, claim: Claim = "equivalent", level: Level = "events",
    budget: Budget = Budget(),
) -> SameRules | Different | Undecided:  # fmt: skip
    """Decide a claim about two queries: on every log, both raise the same alerts, or the right one raises all of the
    left.

    A difference comes with a log.
    """
    # The alphabet takes two spellings of a regular expression that it cannot search for two tests that may differ.
    right = _with_patterns_of(left, right)
    if left == right:
        return SameRules("they are the same rules")
    if not installed("z3"):
        return Undecided("comparing rules needs the extra `solver`: pip install 'cerify[sigma,solver]'")
    try:
        search = LogSearch((left, right))
        if _agree(left, right, search, claim):
            return SameRules("they have the same parts, and the detections and thresholds agree")
    except BudgetExceeded as error:
        return Undecided(error.message)

    tests: DetectionTests = {}

    def said(query: sigma.SigmaQuery, log: Sequence[Event]) -> set[Match]:
        alerts = alerts_of(query, log, budget=budget, tests=tests)
        return {Match(a.at, (a.at,) if level == "positions" else a.events) for a in alerts}

    def differences(log: Sequence[Event]) -> tuple[set[Match], set[Match]]:
        mine, theirs = said(left, log), said(right, log)
        return mine - theirs, theirs - mine if claim == "equivalent" else set()

    def differing_alerts(log: Sequence[Event]) -> list[SigmaAlert]:
        return [SigmaAlert(m.at, m.events, "") for side in differences(log) for m in side]

    # Always the same random logs, so that a question has the same answer each time.
    log = find_log(islice(search.logs(Random(0)), MOST_LOGS), differing_alerts, lambda _: [])
    if log is None:
        why = "no log was found on which the rules differ, but it is not proved that there is no such log"
        tried = [] if search.alphabet.exact else list(dict.fromkeys(_tests_of_some_values((left, right))))
        more = f"; {' and '.join(tried)} {'was' if len(tried) == 1 else 'were'} tried with some values only" * bool(
            tried
        )
        return Undecided(why + more)
    only, others = differences(log)
    at = min(m.at for m in (*only, *others))
    left_only, right_only = (tuple(sorted(m for m in side if m.at == at)) for side in (only, others))
    return Different(Stream(log[: at + 1]), at, left_only, right_only, False)


def _tests_of_some_values(queries: Iterable[sigma.SigmaQuery]) -> Iterator[str]:
    """Yield the tests that are tried only with some values: regular expressions that cannot be searched, and tests of
    two fields.
    """
    conditions = [r.condition for q in queries for r in sigma.rules_of(q) if isinstance(r, sigma.SigmaDetection)]
    for node in (node for condition in conditions for node in subtrees(condition)):
        match node:
            case eql.ValueLookup("regex" | "regex~") if language_of(node) is None:
                yield sigma.show_condition(node)
            case eql.FieldComparison(_, eql.EventField(), eql.EventField()):
                yield sigma.show_condition(node)


def _with_patterns_of(left: sigma.SigmaQuery, right: sigma.SigmaQuery) -> sigma.SigmaQuery:
    """Return the right rules with regular expressions spelled as in the left ones, where both mean the same."""

    def patterns(query: sigma.SigmaQuery) -> list[eql.ValueLookup]:
        conditions = [rule.condition for rule in sigma.rules_of(query) if isinstance(rule, sigma.SigmaDetection)]
        nodes = (node for condition in conditions for node in subtrees(condition))
        return [node for node in nodes if isinstance(node, eql.ValueLookup) and node.operator in ("regex", "regex~")]

    instead: dict[eql.ValueLookup, eql.ValueLookup] = {}
    for node in patterns(right):
        for known in patterns(left):
            with suppress(PatternError, NotCovered):
                if node.term == known.term and match_same_texts(*map(_searched_for, (node, known))):
                    instead[node] = known
                    break

    def rewritten(node: eql.Condition) -> eql.Condition:
        if isinstance(node, eql.ValueLookup):
            return instead.get(node, node)
        return rebuilt(node, [rewritten(part) for part in children(node)])

    def changed(rule: sigma.SigmaRule) -> sigma.SigmaRule:
        if isinstance(rule, sigma.SigmaDetection):
            return replace(rule, condition=rewritten(rule.condition))
        return replace(rule, rules=tuple(map(changed, rule.rules)))

    return replace(right, rules=tuple(map(changed, right.rules))) if instead else right


def _searched_for(node: eql.ValueLookup) -> str:
    """Return the regular expression of all patterns of a test."""
    return f"(?{'i' * (node.operator == 'regex~')}:{'|'.join(map(str, node.values))})"


def _agree(left: sigma.SigmaQuery, right: sigma.SigmaQuery, search: LogSearch, claim: Claim = "equivalent") -> bool:
    """Return whether rules have the same parts, with conditions and thresholds that agree on every event and number.

    A rule is contained in one that raises alerts at more events or numbers, because alerts have the same events.
    """
    pairs: list[tuple[int, int]] = []
    implied: list[tuple[int, int]] = []

    def alike(one: sigma.SigmaRule, other: sigma.SigmaRule, claim: Claim = "equivalent") -> bool:
        if isinstance(one, sigma.SigmaDetection) and isinstance(other, sigma.SigmaDetection):
            numbers = search.detections.index(one), search.detections.index(other)
            (pairs if claim == "equivalent" else implied).append(numbers)
            return True
        if isinstance(one, sigma.SigmaDetection) or isinstance(other, sigma.SigmaDetection):
            return False
        one, other = _in_order(one), _in_order(other)
        parts = len(one.rules) == len(other.rules) and all(map(alike, one.rules, other.rules))
        mine, theirs = (replace(rule, rules=(), name="", thresholds=()) for rule in (one, other))
        return parts and mine == theirs and _thresholds_hold(one, other, claim)

    def all_alike(one: sigma.SigmaRule, other: sigma.SigmaRule) -> bool:
        return alike(one, other, claim) or alike(_named_by_fields(one), _named_by_fields(other), claim)

    return (
        len(left.rules) == len(right.rules)
        and all(map(all_alike, left.rules, right.rules))
        and (
            search.alphabet.agree_by_form([*pairs, *implied])
            or (
                search.alphabet.agree(pairs)
                and all(search.alphabet.implies(i, j) for i, j in implied)
                and search.alphabet.exact
            )
        )
    )


def _agree_in_groups(left: sigma.SigmaQuery, right: sigma.SigmaQuery) -> bool:
    """Return whether rules agree as in `_agree`, on the events that their correlations can count.

    An event without a value for the group or the count is in no window, so detections may differ on it. Raises
    BudgetExceeded.
    """
    one, other = (replace(q, rules=tuple(map(_with_needed_fields, q.rules))) for q in (left, right))
    return _agree(one, other, LogSearch((one, other)))


def _with_needed_fields(rule: sigma.SigmaRule) -> sigma.SigmaRule:
    """Return a rule with detections that require the fields of its groups and counts, unless they raise alerts."""
    if isinstance(rule, sigma.SigmaDetection):
        return rule
    parts: list[sigma.SigmaRule] = []
    for part, keys, values in zip(rule.rules, rule.keys, rule.values, strict=True):
        if isinstance(part, sigma.SigmaDetection) and (keys or values):
            there = [eql.FieldComparison("!=", eql.EventField(name), sigma.ABSENT) for name in (*keys, *values)]
            parts.append(replace(part, condition=eql.AllConditions((part.condition, *dict.fromkeys(there)))))
        else:
            parts.append(_without_constant_groups(_with_needed_fields(part)))
    return replace(rule, rules=tuple(parts))


def _without_constant_groups(rule: sigma.SigmaRule) -> sigma.SigmaRule:
    """Return a correlation without the fields of its group for which its detections require the same single text."""
    if isinstance(rule, sigma.SigmaDetection):
        return rule
    kept = [
        i
        for i in range(len(rule.group_by))
        if None in (found := {_required_text(part, keys[i]) for part, keys in zip(rule.rules, rule.keys, strict=True)})
        or len(found) > 1
    ]
    keys = tuple(tuple(fields[i] for i in kept) for fields in rule.keys)
    return replace(rule, group_by=tuple(rule.group_by[i] for i in kept), keys=keys)


def _required_text(rule: sigma.SigmaRule, name: str) -> str | None:
    """Return the text, in its own case, that a detection requires of a field; None if it does not require one."""
    conditions = rule.condition if isinstance(rule, sigma.SigmaDetection) else eql.AnyConditions(())
    for part in conditions.conditions if isinstance(conditions, eql.AllConditions) else (conditions,):
        match part:
            case eql.ValueLookup("in", eql.EventField(field), (str(text),)) if field == name:
                return text
            case eql.AllConditions() if isinstance(rule, sigma.SigmaDetection):
                if (text_ := _required_text(replace(rule, condition=part), name)) is not None:
                    return text_
    return None


def _named_by_fields(rule: sigma.SigmaRule) -> sigma.SigmaRule:
    """Return the rule with its fields in place of its aliases. Alerts show aliases, but no other rule reads them."""
    if isinstance(rule, sigma.SigmaDetection):
        return rule
    return replace(rule, group_by=tuple(", ".join(fields) for fields in zip(*rule.keys, strict=True)))


def _in_order(rule: sigma.SigmaCorrelation) -> sigma.SigmaCorrelation:
    """Return the correlation with the fields of its group sorted, and also its rules if their order does not matter."""
    order = sorted(range(len(rule.group_by)), key=lambda i: rule.group_by[i])
    group_by, *keys = (tuple(fields[i] for i in order) for fields in (rule.group_by, *rule.keys))
    rule = replace(rule, group_by=group_by, keys=tuple(keys))
    # Sorting by name would not put rules of equal names into one order on both sides.
    if rule.kind == "temporal_ordered" or len({part.name for part in rule.rules}) < len(rule.rules):
        return rule
    order = sorted(range(len(rule.rules)), key=lambda i: rule.rules[i].name)
    return replace(
        rule,
        rules=tuple(rule.rules[i] for i in order),
        keys=tuple(rule.keys[i] for i in order),
        values=tuple(rule.values[i] for i in order),
    )


def _thresholds_hold(one: sigma.SigmaCorrelation, other: sigma.SigmaCorrelation, claim: Claim) -> bool:
    """Return whether the thresholds hold for the same numbers; for containment, whether the threshold of `one` implies
    that of `other`.

    Counts are whole numbers of at least 1. Numbers of rules are also at most the number of rules in the correlation.
    """
    # A threshold changes its truth only at a bound: the numbers at, between and beside the bounds stand for all
    # numbers.
    bounds = sorted({float(bound) for rule in (one, other) for _, bound in rule.thresholds})
    if one.kind in sigma.NUMERIC:
        near = {
            -inf,
            inf,
            *(bound + d for bound in bounds for d in (-1, 0, 1)),
            *((a + b) / 2 for a, b in pairwise(bounds)),
        }
    else:
        most = len(one.rules) if one.kind in sigma.TEMPORAL else inf
        near = {float(n) for bound in bounds for n in range(floor(bound) - 1, floor(bound) + 3)} | {1.0}
        near = {n for n in near if 1 <= n <= most}
    holds = [(satisfies(number, one.thresholds), satisfies(number, other.thresholds)) for number in near]
    return all(mine == theirs if claim == "equivalent" else theirs or not mine for mine, theirs in holds)


# ---------------------------------------------------------------------------------------------------------------------
# Mistakes in one place, and logs that find them.


def mutants_of(query: sigma.SigmaQuery) -> Iterator[tuple[str, sigma.SigmaQuery]]:
    """Yield the rules that differ in one place from those of a query, each with a description of the change."""
    for rule in sigma.rules_of(query):  # a rule to which several correlations refer changes in all of them
        mutants = _mutants(rule) if isinstance(rule, sigma.SigmaCorrelation) else _mutants_of_detection(rule, query)
        yield from ((words, _with_rule(query, rule, other)) for words, other in mutants)


CASES = {
    operator: f"in {'any' if operator.endswith('~') else 'its own'} case"
    for operator in ("in", "in~", "like", "like~", "regex", "regex~")
}
"""For each operator of EQL that a mistake can put in a lookup, a description of the mistake in words about rules."""


def _mutants_of_detection(
    rule: sigma.SigmaDetection, query: sigma.SigmaQuery
) -> Iterator[tuple[str, sigma.SigmaDetection]]:
    mutants = condition_mutants(
        _with_exists(rule.condition), lambda one: sigma.show_condition(_without_exists(one)), CASES
    )
    own = ((words, _without_exists(condition)) for words, condition in mutants)
    others = _with_other_fields(rule.condition, _fields_of_query(query))
    for words, condition in (*own, *mistakes_of_converters(rule.condition), *others):
        yield f"{rule.name}: {words}", replace(rule, condition=condition)


def _fields_of_query(query: sigma.SigmaQuery) -> list[str]:
    """Return the fields of a query's groups, then those of its conditions."""
    rules = list(sigma.rules_of(query))
    groups = (f for rule in rules if isinstance(rule, sigma.SigmaCorrelation) for keys in rule.keys for f in keys)
    tested = (f.name for r in rules if isinstance(r, sigma.SigmaDetection) for f in eql.fields_of(r.condition))
    return [name for name in dict.fromkeys((*groups, *tested)) if not name.endswith(NULL)]


def _with_other_fields(condition: eql.Condition, names: Sequence[str]) -> Iterator[tuple[str, eql.Condition]]:
    """Yield the condition with another field in one comparison of two fields. names: the fields to choose from."""
    match condition:
        case eql.FieldComparison("==", eql.EventField(one), eql.EventField(two)):
            other = next((name for name in names if name not in (one, two)), None)
            if other is not None:
                words = f"fieldref: {field_name(other)} in {sigma.show_condition(condition)}"
                yield words, eql.FieldComparison("==", condition.left, eql.EventField(other))
        case eql.AllConditions() | eql.AnyConditions() | eql.NegatedCondition():
            below = children(condition)
            for i, part in enumerate(below):
                for words, changed in _with_other_fields(part, names):
                    yield words, rebuilt(condition, [*below[:i], changed, *below[i + 1 :]])


def _mutants(rule: sigma.SigmaCorrelation) -> Iterator[tuple[str, sigma.SigmaCorrelation]]:
    for i, part in enumerate(rule.rules if len(rule.rules) > 1 else ()):
        yield f"{rule.name}: without the rule {part.name}", _without_rule(rule, i)
    for seconds in (rule.seconds + 1, rule.seconds - 1):
        if seconds > 0:
            yield f"{rule.name}: timespan {seconds}s", replace(rule, seconds=seconds)
    for i, (name, bound) in enumerate(rule.thresholds):
        opposite = {"gte": "gt", "gt": "gte", "lte": "lt", "lt": "lte", "eq": "gte", "neq": "gte"}[name]
        for words, changed in (
            (f"{opposite}: {bound:.15g}", (opposite, bound)),
            (f"{name}: {bound + 1:.15g}", (name, bound + 1)),
            *([(f"{name}: {trunc(bound)}", (name, trunc(bound)))] if bound % 1 else []),
        ):
            yield (
                f"{rule.name}: {words}",
                replace(
                    rule,
                    thresholds=(*rule.thresholds[:i], changed, *rule.thresholds[i + 1 :]),  # type: ignore[arg-type]
                ),
            )
    if rule.percentile is not None:
        share = rule.percentile + (-1 if rule.percentile >= 1 else 1)
        yield f"{rule.name}: percentile: {share:.15g}", replace(rule, percentile=share)
    for i, field in enumerate(rule.group_by):
        fewer = tuple((*keys[:i], *keys[i + 1 :]) for keys in rule.keys)
        yield (
            f"{rule.name}: not grouped by {field}",
            replace(rule, group_by=(*rule.group_by[:i], *rule.group_by[i + 1 :]), keys=fewer),
        )
    yield from _other_groups(rule)
    for field in dict.fromkeys(rule.values[0] if len(rule.values[0]) > 1 else ()):
        place = rule.values[0].index(field)
        fewer = tuple((*names[:place], *names[place + 1 :]) for names in rule.values)
        yield f"{rule.name}: {field_name(field)} not counted", replace(rule, values=fewer)
    other_kind = {"temporal": "temporal_ordered", "temporal_ordered": "temporal", "value_count": "event_count"}
    if rule.kind in other_kind:
        yield f"{rule.name}: type {other_kind[rule.kind]}", replace(rule, kind=other_kind[rule.kind])  # type: ignore[arg-type]


EXISTS = "[exists]"


def _with_exists(condition: eql.Condition) -> eql.Condition:
    """Return a condition with a single test, of the field `name[exists]`, for each `name|exists`."""
    if (name := sigma.field_there(condition)) is not None:
        return eql.FieldComparison("!=", eql.EventField(name + EXISTS), sigma.ABSENT)
    return rebuilt(condition, [_with_exists(part) for part in children(condition)])


def _without_exists(condition: eql.Condition) -> eql.Condition:
    """Return a condition that `_with_exists` has changed with `name|exists` as it was."""
    match condition:
        case eql.FieldComparison(sign, eql.EventField(name), _) if name.endswith(EXISTS):
            found = sigma.has_field(name.removesuffix(EXISTS))
            return found if sign == "!=" else eql.NegatedCondition(found)
    return rebuilt(condition, [_without_exists(part) for part in children(condition)])


def _other_groups(rule: sigma.SigmaCorrelation) -> Iterator[tuple[str, sigma.SigmaCorrelation]]:
    """Yield the correlation with one more field in its group, and with another field for a name of its group."""
    detections = [part for part in rule.rules if isinstance(part, sigma.SigmaDetection)]
    tested = dict.fromkeys(field.name for part in detections for field in eql.fields_of(part.condition))
    known = {*rule.group_by, *(name for names in (*rule.keys, *rule.values) for name in names)}
    for name in tested if len(detections) == len(rule.rules) else ():
        if name not in known and not name.endswith(NULL):  # a null has no value for a group
            keys = tuple((*fields, name) for fields in rule.keys)
            own = field_name(name)
            yield f"{rule.name}: grouped by {own} too", replace(rule, group_by=(*rule.group_by, own), keys=keys)
    for i, name in enumerate(rule.group_by):
        others = dict.fromkeys((*(fields[i] for fields in rule.keys), name))
        for j, (part, fields_) in enumerate(zip(rule.rules, rule.keys, strict=True)):
            for other in others if len(others) > 1 else ():
                if other != fields_[i]:
                    changed = (*fields_[:i], other, *fields_[i + 1 :])
                    keys = (*rule.keys[:j], changed, *rule.keys[j + 1 :])
                    yield f"{rule.name}: {name} is {field_name(other)} in {part.name}", replace(rule, keys=keys)


def mistakes_of_converters(condition: eql.Condition) -> Iterator[tuple[str, eql.Condition]]:
    """Yield the wrong conditions that converters have made of conditions like this one, each with a description.

    Parentheses are lost around an operand of `not` or `and`, or around the texts of a network; `%` and `_` become
    wildcards; a cased text is found anywhere, or as a pattern of GLOB; blanks around a text are lost; a network becomes
    the text before its first variable part; a regular expression changes; a test for null becomes one that the field
    does not exist.
    """
    if (lost := lose_network_parentheses(condition)) != condition:
        yield f"{LOST} around the texts of networks in {sigma.show_condition(condition)}", lost
    yield from _mistakes_below(condition)


def _mistakes_below(condition: eql.Condition) -> Iterator[tuple[str, eql.Condition]]:
    yield from ((f"{words} in {sigma.show_condition(condition)}", other) for words, other in _mistakes_at(condition))
    whole = not isinstance(condition, CONNECTIVES) or sigma.field_there(condition) is not None
    below = () if whole else children(condition)
    for i, part in enumerate(below):
        for words, other in _mistakes_below(part):
            yield words, rebuilt(condition, [*below[:i], other, *below[i + 1 :]])


CONNECTIVES = eql.AllConditions | eql.AnyConditions | eql.NegatedCondition
LIKE: Mapping[str, eql.MatchOperator] = {"in": "like", "in~": "like~", "like": "like", "like~": "like~"}
SPACES = re.compile(r"^(\*?) +(?=[^ *])| +(\*?)$")
"""The blanks at the beginning and the end of a text with wildcards."""
LOST = "parentheses lost"


def _mistakes_at(condition: eql.Condition) -> Iterator[tuple[str, eql.Condition]]:
    if (without := lose_nulls(condition)) != condition and sigma.field_there(condition) is not None:
        yield "null as absent", without
    match condition:
        case eql.FieldComparison("==", eql.EventField(name), sigma.ABSENT):
            yield "exists: false", eql.NegatedCondition(sigma.has_field(name))
        case eql.NegatedCondition(part):
            if isinstance(part, eql.AnyConditions | eql.AllConditions):
                first, *rest = part.conditions
                yield f"{LOST} after not", type(part)((eql.NegatedCondition(first), *rest))
        case eql.AllConditions(parts):
            for i, part in enumerate(parts):
                negated = isinstance(part, eql.NegatedCondition)
                inner = part.condition if isinstance(part, eql.NegatedCondition) else part
                if isinstance(inner, eql.AnyConditions):
                    first, *between, last = inner.conditions
                    before = _all((*parts[:i], eql.NegatedCondition(first) if negated else first))
                    yield f"{LOST} around or", eql.AnyConditions((before, *between, _all((last, *parts[i + 1 :]))))
        case eql.ValueLookup("in" | "in~" | "like" | "like~" as operator, term, values):
            for sign, wildcard in (("_", "?"), ("%", "*")):
                changed = tuple(v.replace(sign, wildcard) if isinstance(v, str) else v for v in values)
                if changed != values:
                    yield f"{sign} as a wildcard", eql.ValueLookup(LIKE[operator], term, changed)
            if (glob := read_cased_as_glob(condition)) != condition:
                yield "as a pattern of GLOB", glob
            if operator == "in" and (anywhere := find_cased_anywhere(condition)) != condition:
                yield "anywhere", anywhere
            trimmed = tuple(SPACES.sub(r"\1\2", v) if isinstance(v, str) else v for v in values)
            if trimmed != values:
                yield "spaces lost", eql.ValueLookup(operator, term, trimmed)
        case eql.ValueLookup("regex" | "regex~" as operator, term, (str(pattern),)):
            if written := sigma.SEARCHED.fullmatch(pattern):
                for other in regex_mutants(written[2]):
                    around = f"{pattern[: written.start(2)]}{other}{pattern[written.end(2) :]}"
                    yield f"|re: {other}", eql.ValueLookup(operator, term, (around,))
        case eql.FunctionCall("cidrMatch", folded, (field, eql.FieldConstant(str(block)))):
            network = ip_network(block)
            for prefix in (network.prefixlen - 1, network.prefixlen + 1):
                if 0 <= prefix <= network.max_prefixlen:
                    other_block = eql.FieldConstant(f"{ip_network((network.network_address, prefix), strict=False)}")
                    yield f"/{prefix}", eql.FunctionCall("cidrMatch", folded, (field, other_block))
            if network.version == 4 and (known := network.prefixlen // 8):
                begin = ".".join(str(network.network_address).split(".")[:known])
                for text in (f"{begin}*", *([f"{begin}.*"] if network.prefixlen % 8 else [])):
                    yield f"the text {text}", eql.ValueLookup("like~", field, (text,))


def _all(parts: tuple[eql.Condition, ...]) -> eql.Condition:
    return parts[0] if len(parts) == 1 else eql.AllConditions(parts)


def lose_nulls(condition: eql.Condition) -> eql.Condition:
    """Return a condition in which a field whose value is null counts as a field that does not exist."""
    if (name := sigma.field_there(condition)) is not None:
        return eql.FieldComparison("!=", eql.EventField(name), sigma.ABSENT)
    return rebuilt(condition, [lose_nulls(part) for part in children(condition)])


def lose_network_parentheses(condition: eql.Condition) -> eql.Condition:
    """Return what a condition means if its networks become texts joined by OR, without the parentheses.

    Converters write a network as one text for each part that ends with a whole group of digits: 10.20.0.0/15 becomes
    `f LIKE '10.20.%' OR f LIKE '10.21.%'`. Beside AND or after NOT, this means another condition.
    """
    match condition:
        case eql.NegatedCondition(part) if len(parts := _in_whole_groups(part)) > 1:
            return eql.AnyConditions((eql.NegatedCondition(parts[0]), *parts[1:]))
        case eql.AllConditions(parts):
            between_or: list[list[eql.Condition]] = [[]]
            for part in parts:
                first, *rest = _in_whole_groups(part) or [lose_network_parentheses(part)]
                between_or[-1].append(first)
                between_or += [[one] for one in rest]
            some = tuple(_all(tuple(one)) for one in between_or)
            return eql.AnyConditions(some) if len(some) > 1 else rebuilt(condition, list(between_or[0]))
        case eql.AnyConditions(parts):
            return rebuilt(condition, [lose_network_parentheses(part) for part in parts])
        case eql.NegatedCondition(part):
            return eql.NegatedCondition(lose_network_parentheses(part))
    return condition


def _in_whole_groups(condition: eql.Condition) -> list[eql.Condition]:
    """Return the conditions on the parts of a network that end with a whole group of digits; an empty list if there is
    no network.
    """
    match condition:
        case eql.FunctionCall("cidrMatch", folded, (field, eql.FieldConstant(str(block)))):
            network = ip_network(block)
            digits = 8 if network.version == 4 else 4
            parts = network.subnets(-network.prefixlen % digits)
            return [eql.FunctionCall("cidrMatch", folded, (field, eql.FieldConstant(str(one)))) for one in parts]
    return []


def compare_networks_as_texts(condition: eql.Condition) -> eql.Condition:
    """Return a condition that compares networks as texts: whether an address begins like those of the network."""
    if isinstance(condition, CONNECTIVES):
        return rebuilt(condition, [compare_networks_as_texts(part) for part in children(condition)])
    texts: list[str] = []
    for part in _in_whole_groups(condition):
        match part:
            case eql.FunctionCall(_, _, (_, eql.FieldConstant(str(block)))):
                first, last = str(ip_network(block)[0]), str(ip_network(block)[-1])
                same = next((i for i, (c, d) in enumerate(zip(first, last, strict=False)) if c != d), len(first))
                texts.append(first if first == last else f"{first[:same]}*")
    return eql.ValueLookup("like~", children(condition)[0], tuple(texts)) if texts else condition


WILDCARD = re.compile(r"\(\?s:(\.\*?)\)")
"""A wildcard in the regular expression of a text that has `*` or `?` as characters too."""
NOTHING = r"[^\s\S]"
Part: TypeAlias = tuple[str, bool]
"""A character of a text in a rule, or a wildcard (`*` or `?`), and whether it is a wildcard."""


def _parts_of_text(condition: eql.Condition) -> list[Part] | None:
    """Return the characters and wildcards of the text that a test compares with; None if it compares with no text."""
    match condition:
        case eql.ValueLookup("in" | "in~", _, (str(text),)):
            return [(c, False) for c in text]
        case eql.ValueLookup("like" | "like~", _, (str(text),)):
            return [(c, c in "*?") for c in text]
        case eql.ValueLookup("regex" | "regex~", _, (str(text),)) if not sigma.SEARCHED.fullmatch(text):
            found: list[Part] = []
            for i, piece in enumerate(WILDCARD.split(text)):  # literals and wildcards take turns
                literals = [(c, False) for c in re.sub(r"\\(.)", r"\1", piece, flags=re.DOTALL)]
                found += [("*" if piece == ".*" else "?", True)] if i % 2 else literals
            return found
    return None


def _is_text(condition: eql.Condition, cased: bool) -> bool:
    operators = ("in", "like", "regex") if cased else ("in~", "like~", "regex~")
    return isinstance(condition, eql.ValueLookup) and condition.operator in operators


def _regex_of(parts: Iterable[Part]) -> str:
    return "".join(f"(?s:{'.*' if c == '*' else '.'})" if wild else re.escape(c) for c, wild in parts)


def read_signs_as_wildcards(condition: eql.Condition) -> eql.Condition:
    """Make `_` and `%` wildcards in a test of a text, as LIKE reads them, unless it has the modifier `cased`."""
    if not _is_text(condition, cased=False):
        return condition
    parts = _parts_of_text(condition) or []
    changed = [({"_": "?", "%": "*"}[c], True) if c in "_%" else (c, wild) for c, wild in parts]
    return condition if changed == parts else _with_parts(condition, changed)


def ignore_case_of_signs(condition: eql.Condition) -> eql.Condition:
    """Return a test of a text that contains `_`, `%` or a backslash as a test with wildcards.

    A test with wildcards ignores case in every reading of `case` except `exact`. Any other test, and one with the
    modifier `cased`, is returned unchanged.
    """
    parts = _parts_of_text(condition) if _is_text(condition, cased=False) else None
    has_sign = any(c in "_%\\" and not wild for c, wild in parts or ())
    return _with_parts(condition, parts) if parts and has_sign else condition


def _with_parts(condition: eql.Condition, parts: Sequence[Part]) -> eql.Condition:
    (term,) = children(condition)
    if any(c in "*?" and not wild for c, wild in parts):
        return eql.ValueLookup("regex~", term, (_regex_of(parts),))
    return eql.ValueLookup("like~", term, ("".join(c for c, _ in parts),))


def read_question_marks_as_characters(condition: eql.Condition) -> eql.Condition:
    """Make `?` an ordinary character in a test of a text, unless it has the modifier `cased`."""
    parts = _parts_of_text(condition) if _is_text(condition, cased=False) else None
    changed = [(c, wild and c != "?") for c, wild in parts or ()]
    return _with_parts(condition, changed) if parts and changed != parts else condition


def compare_cased_literally(condition: eql.Condition) -> eql.Condition:
    """Make the wildcards of a test with the modifier `cased` ordinary characters. Return other tests unchanged."""
    parts = _parts_of_text(condition) if _is_text(condition, cased=True) else None
    if not any(wild for _, wild in parts or ()):
        return condition
    return eql.ValueLookup("in", children(condition)[0], ("".join(c for c, _ in parts or ()),))


def find_cased_anywhere(condition: eql.Condition) -> eql.Condition:
    """Let a test with the modifier `cased` find its text anywhere in a value. Return other tests unchanged."""
    parts = _parts_of_text(condition) if _is_text(condition, cased=True) else None
    if parts is None:
        return condition
    return eql.ValueLookup("regex", children(condition)[0], (_regex_of([("*", True), *parts, ("*", True)]),))


def read_cased_as_glob(condition: eql.Condition) -> eql.Condition:
    """Let a test with the modifier `cased` read `*`, `?`, `[` and backslashes as DuckDB's GLOB does.

    Other tests are returned unchanged.
    """
    parts = _parts_of_text(condition) if _is_text(condition, cased=True) else None
    if not any(c in "*?[\\" and not wild for c, wild in parts or ()):
        return condition
    text, pattern, i = "".join(c for c, _ in parts or ()), "", 0
    while i < len(text):
        sign, end = text[i], text.find("]", i + 2)
        if sign == "[" and end > 0:
            negated = text[i + 1] == "!"
            signs = re.sub(r"([][\\^])", r"\\\1", text[i + 1 + negated : end])
            pattern, i = f"{pattern}[{'^' * negated}{signs}]", end
        elif sign == "\\" and i + 1 < len(text):
            i += 1
            pattern += re.escape(text[i])
        else:  # a class or an escape without an end matches nothing
            pattern += {"*": "(?s:.*)", "?": "(?s:.)", "[": NOTHING, "\\": NOTHING}.get(sign, re.escape(sign))
        i += 1
    return eql.ValueLookup("regex", children(condition)[0], (pattern,))


TEXTS: Mapping[str, Callable[[eql.Condition], eql.Condition]] = {
    "like-signs": read_signs_as_wildcards,
    "like-text": ignore_case_of_signs,
    "question-mark": read_question_marks_as_characters,
    "cased-text": find_cased_anywhere,
}
"""Features of detections with texts, each with a change that concerns only such detections."""


def _texts_like_addresses(condition: eql.Condition) -> Iterator[tuple[str, str]]:
    """Yield the field of a network with texts that are no addresses, but begin like those of the network."""
    if isinstance(condition, CONNECTIVES):
        return
    match compare_networks_as_texts(condition):
        case eql.ValueLookup("like~", eql.EventField(name), texts) if isinstance(condition, eql.FunctionCall):
            begins = (str(text)[:-1] for text in texts[:MOST_TEXTS] if str(text).endswith("*"))  # not a single address
            yield from ((name, f"{begin}x") for begin in begins)


Coercion: TypeAlias = Callable[[Value], Value]


CONVERTED = "[converted]"
"""The end of the name of a field that is a converted copy of another field."""


def _coercions(query: sigma.SigmaQuery) -> Iterator[tuple[str, sigma.SigmaQuery, dict[str, Coercion]]]:
    """Yield the conversions that a database may make before it compares or adds, each in one place of the rules.

    Each comes with a description, the query with copies of fields in this place, and for each of these fields the
    function that converts it. Other places, such as groups, keep the fields as they are.
    """
    for rule in sigma.rules_of(query):
        changed: list[tuple[str, Any, dict[str, Coercion]]] = []
        if isinstance(rule, sigma.SigmaDetection):
            compared = [n for n in dict.fromkeys(subtrees(rule.condition)) if isinstance(n, eql.FieldComparison)]
            signed = [node for node in compared if node.comparator in sigma.SIGNS]
            for name in dict.fromkeys(n.left.name for n in signed if isinstance(n.left, eql.EventField)):
                there = [node for node in signed if node.left == eql.EventField(name)]
                other = replace(rule, condition=_with_copies(rule.condition, there))
                text = f"texts in {field_name(name)} are"
                changed.append((f"{text} compared as numbers", other, {name: _as_number}))
                changed.append((f"{text} more than numbers", other, {name: _above_numbers}))
            for node in compared:
                match node:
                    case eql.FieldComparison(sign, eql.EventField(one), eql.EventField(two)) if sign not in sigma.SIGNS:
                        other = replace(rule, condition=_with_copies(rule.condition, [node]))
                        lower: dict[str, Coercion] = dict.fromkeys((one, two), _in_lower_case)
                        changed.append((f"{sigma.show_condition(node)} without case", other, lower))
        elif rule.kind in sigma.NUMERIC:
            for name in dict.fromkeys(field for names in rule.values for field in names):
                values = tuple(tuple(n + CONVERTED * (n == name) for n in names) for names in rule.values)
                text = f"texts in {field_name(name)} are numbers"
                changed.append((text, replace(rule, values=values), {name: _as_number}))
        yield from ((f"{rule.name}: {text}", _with_rule(query, rule, new), changes) for text, new, changes in changed)


def _with_copies(condition: eql.Condition, some: Sequence[eql.FieldComparison]) -> eql.Condition:
    """Return a condition in which some comparisons are of the converted copies of their fields."""
    if isinstance(condition, eql.FieldComparison):
        sides = condition.left, condition.right
        copies = (eql.EventField(s.name + CONVERTED) if isinstance(s, eql.EventField) else s for s in sides)
        return eql.FieldComparison(condition.comparator, *copies) if condition in some else condition
    return rebuilt(condition, [_with_copies(part, some) for part in children(condition)])


def _with_rule(query: sigma.SigmaQuery, old: sigma.SigmaRule, new: sigma.SigmaRule) -> sigma.SigmaQuery:
    """Return a query with another rule wherever it has the old rule."""

    def changed(rule: sigma.SigmaRule) -> sigma.SigmaRule:
        if rule == old:
            return new
        if isinstance(rule, sigma.SigmaCorrelation):
            return replace(rule, rules=tuple(map(changed, rule.rules)))
        return rule

    return sigma.SigmaQuery(tuple(map(changed, query.rules)))


def _as_number(value: Value) -> Value:
    if isinstance(value, str):
        with suppress(ValueError):
            return float(value)
    return value


def _above_numbers(value: Value) -> Value:
    return inf if isinstance(value, str) else value


def _in_lower_case(value: Value) -> Value:
    return value.lower() if isinstance(value, str) else value


def _coercing_judges(query: sigma.SigmaQuery) -> Iterator[tuple[str, Judge]]:
    """Yield a description of each set of conversions, with a judge that makes them.

    The last judges compare addresses as texts that begin like a network.
    """

    def judged(raised: Judge, changes: Mapping[str, Coercion], log: Sequence[Event]) -> list[SigmaAlert]:
        own = ({n + CONVERTED: f(e.attributes[n]) for n, f in changes.items() if n in e.attributes} for e in log)
        return raised([Event(e.type, {**e.attributes, **copies}) for e, copies in zip(log, own, strict=True)])

    yield from ((words, partial(judged, judge(changed), changes)) for words, changed, changes in _coercions(query))
    detections = (rule for rule in sigma.rules_of(query) if isinstance(rule, sigma.SigmaDetection))
    for rule in detections:
        if any(text for node in subtrees(rule.condition) for text in _texts_like_addresses(node)):
            other = replace(rule, condition=compare_networks_as_texts(rule.condition))
            yield f"{rule.name}: addresses are compared as texts with networks", judge(_with_rule(query, rule, other))


def _without_rule(rule: sigma.SigmaCorrelation, i: int) -> sigma.SigmaCorrelation:
    rules, keys, values = ((*x[:i], *x[i + 1 :]) for x in (rule.rules, rule.keys, rule.values))
    thresholds = rule.thresholds
    if rule.kind in sigma.TEMPORAL:  # without a condition all rules are required
        thresholds = tuple((n, b - 1 if b == len(rule.rules) else b) for n, b in thresholds)
    return replace(rule, rules=rules, keys=keys, values=values, thresholds=thresholds)


def readings(query: sigma.SigmaQuery) -> Iterator[tuple[str, SigmaReading]]:
    """Yield ("axis=value", reading) for each reading that answers one question unlike the specification's.

    A reading is a choice of answers to the questions that the specification leaves open. Only questions that matter for
    the query are considered.
    """
    used = features(query)
    for one in fields(SigmaReading):
        if BEARS[one.name] in used or (one.name == "counted" and "several-added" in used):
            for value in choices(SigmaReading)[one.name][1:]:
                if value == "wildcards" and "whole-text" not in used:
                    continue
                yield f"{one.name}={value}", replace(SPECIFICATION, **{one.name: value})  # type: ignore[arg-type]


BEARS: Mapping[str, str] = {
    "window": "timespan", "edge": "timespan", "instant": "timespan", "alerts": "timespan", "resolution": "timespan",
    "groups": "group-by", "null_groups": "group-by", "values": "value_count", "null_values": "field",
    "order": "temporal_ordered", "counted": "several-counted", "percentile": "value_percentile", "case": "text",
    "absent": "not",
}  # fmt: skip
"""Maps each question of a reading to the feature of rules that it concerns; see `features`."""


def features(query: sigma.SigmaQuery) -> frozenset[str]:
    """Return the features of a query whose meaning differs between readings: types of correlations, or names in
    `BEARS`.
    """
    return frozenset(name for rule in sigma.rules_of(query) for name in features_of(rule))


def features_of(rule: sigma.SigmaRule) -> Iterator[str]:
    """Yield the features of one rule whose meaning differs between readings or converters."""
    if isinstance(rule, sigma.SigmaDetection):
        yield from ["network"] * (compare_networks_as_texts(rule.condition) != rule.condition)
        yield from ["network-beside"] * (lose_network_parentheses(rule.condition) != rule.condition)
        yield from ["exists"] * bool(_fields_with_null(rule))
        for node in subtrees(rule.condition):
            yield from (name for name, change in TEXTS.items() if change(node) != node)
            if isinstance(node, eql.NegatedCondition):
                yield "not"
            elif isinstance(node, eql.FieldComparison) and isinstance(node.right, eql.EventField):
                yield "fieldref"
            elif isinstance(node, eql.FieldComparison) and node.comparator in sigma.SIGNS:
                yield "compared"
            elif isinstance(node, eql.ValueLookup) and node.operator in ("in~", "like~") and has_case(node):
                yield from ("text", *(["whole-text"] * (node.operator == "in~")))
            elif isinstance(node, eql.ValueLookup) and node.operator in ("in", "like"):
                yield from ["cased"] * has_case(node)
        return
    temporal, names = rule.kind in sigma.TEMPORAL, [name for name, _ in rule.thresholds]
    yield from (
        "timespan",
        rule.kind,
        *(["group-by"] if rule.group_by else []),
        *(["field"] if any(rule.values) else []),
    )
    yield from ["several-counted"] * (rule.kind == "event_count" and len(rule.rules) > 1)
    yield from ["several-rules"] * (len(rule.rules) > 1)
    yield from ["several-added"] * (len(rule.rules) > 1 and rule.kind in sigma.NUMERIC)
    yield from ["chained"] * any(isinstance(part, sigma.SigmaCorrelation) for part in rule.rules)
    yield from ["count"] * (not temporal) + ["other-threshold"] * (not temporal and names != ["gte"])
    yield from ["fraction"] * any(bound % 1 for _, bound in rule.thresholds)
    yield from ["temporal-threshold"] * (temporal and rule.thresholds != (("gte", len(rule.rules)),))
    yield from ["ordered-threshold"] * (rule.kind == "temporal_ordered" and not {"gt", "gte"} & set(names))


@dataclass(frozen=True)
class SigmaTest:
    """A log with the alerts that rules raise on it, and descriptions of the mistakes that it finds."""

    log: tuple[Event, ...]
    alerts: tuple[SigmaAlert, ...]
    kills: tuple[str, ...]


@dataclass(frozen=True)
class SigmaTests:
    """Logs that find mistakes. same: mistakes that change nothing. left: mistakes for which no log was found."""

    tests: tuple[SigmaTest, ...]
    mistakes: int
    same: tuple[str, ...]
    left: tuple[str, ...]


def make_sigma_tests(query: sigma.SigmaQuery) -> SigmaTests:
    """Return logs that find mistakes in a rule or in its conversion; the rule fires on the first log.

    A mistake is a rule that differs in one place (`mutants_of`), or another reading of the specification (`readings`).
    Raises BudgetExceeded, and MissingPackage without the solver.
    """
    search, raised = LogSearch((query,)), judge(query)
    kept: list[list[Event]] = []  # as mistakes are tried on the same logs
    for log in islice(search.logs(Random(0)), MOST_LOGS_OF_TESTS):
        if len(kept) * len(log) > MOST_KEPT_EVENTS:
            break
        kept.append(log)
    known: dict[int, list[SigmaAlert] | None] = dict.fromkeys(map(id, kept))

    def logs_to_try() -> Iterator[list[Event]]:
        yield from kept
        if len(kept) < MOST_LOGS_OF_TESTS:
            yield from islice(search.logs(Random(0)), len(kept), MOST_LOGS_OF_TESTS)

    def right(log: Sequence[Event]) -> list[SigmaAlert]:
        found = known.get(id(log))
        if found is None:
            found = raised(log)
            if id(log) in known:
                known[id(log)] = found
        return found

    logs = list(islice(filter(right, islice(logs_to_try(), 40)), 1))
    known |= dict.fromkeys(map(id, logs))
    kills: dict[int, list[str]] = {n: [] for n in range(len(logs))}
    equal: list[str] = []
    unfound: list[tuple[str, Judge, sigma.SigmaQuery]] = []
    wrong: list[tuple[str, Judge, sigma.SigmaQuery]] = [(words, judge(m), m) for words, m in mutants_of(query)]
    wrong += [(words, other, query) for words, other in _coercing_judges(query)]
    wrong += [(f"reading {words}", judge(query, reading), query) for words, reading in readings(query)]
    same_readings = {f"reading {words}" for words in _readings_without_effect(query)}
    for words, other, mutant in wrong:
        killer = _find_separating_log(logs, right, other, _places)
        if killer is None:
            mutant = query if mutant is query else _with_patterns_of(query, mutant)
            both = search if search.knows(mutant) else LogSearch((query, mutant))
            if (mutant is not query and _agree(query, mutant, both)) or words in same_readings:
                equal.append(words)
                continue
            for said in (_places, _said):  # many converters say no more than where alerts are
                killer = _find_separating_log(logs, right, other, said)
                if killer is None:
                    tried = _logs_of_mistake(query, mutant, both) if both is not search else logs_to_try()
                    if (found := find_log(islice(tried, MOST_LOGS_OF_TESTS), right, other, said)) is not None:
                        killer = len(logs)
                        logs.append(found)
                        known[id(found)] = None  # so that its alerts are kept
                if killer is not None:
                    break
            else:
                unfound.append((words, other, mutant))
                continue
        kills.setdefault(killer, []).append(words)
    left: list[str] = []
    for words, other, mutant in unfound:  # logs that were made for later mistakes may find these too
        found_by = (_find_separating_log(logs, right, other, said) for said in (_places, _said))
        killer = next((n for n in found_by if n is not None), None)
        if killer is None:
            same = mutant is not query and _agree_in_groups(query, mutant)
            (equal if same else left).append(words)
        else:
            kills.setdefault(killer, []).append(words)
    tests = (SigmaTest(tuple(log), tuple(right(log)), tuple(kills.get(n, ()))) for n, log in enumerate(logs))
    return SigmaTests(tuple(tests), len(wrong), tuple(equal), tuple(left))


def _logs_of_mistake(query: sigma.SigmaQuery, mutant: sigma.SigmaQuery, search: LogSearch) -> Iterator[list[Event]]:
    """Yield logs for a mistake: first those with an event that only one of two detections finds."""
    mine, theirs = ([r for r in sigma.rules_of(q) if isinstance(r, sigma.SigmaDetection)] for q in (query, mutant))
    places = [(search.detections.index(o), search.detections.index(m)) for o, m in zip(mine, theirs, strict=False)]
    telling = [
        letter for letter in search.letters if any((i in letter.passes) != (j in letter.passes) for i, j in places)
    ]
    yield from islice(search.logs_with(telling) if telling else (), MOST_LOGS_OF_MISTAKES)
    yield from islice(search.logs(Random(0)), MOST_LOGS_OF_MISTAKES)


def _readings_without_effect(query: sigma.SigmaQuery) -> Iterator[str]:
    """Yield the answers about absent fields that change nothing, because the detections require that these fields
    exist.

    Each is written as axis=value. Raises BudgetExceeded.
    """
    rules = list(sigma.rules_of(query))
    detections = [rule for rule in rules if isinstance(rule, sigma.SigmaDetection)]
    needed: dict[str, set[tuple[int, str]]] = {"null_groups=joined": set(), "null_values=kept": set()}
    for rule in rules:
        if isinstance(rule, sigma.SigmaCorrelation):
            for part, keys, values in zip(rule.rules, rule.keys, rule.values, strict=True):
                if isinstance(part, sigma.SigmaDetection):
                    needed["null_groups=joined"] |= {(detections.index(part), name) for name in keys}
                    number = detections.index(part) if rule.kind not in sigma.NUMERIC else -1
                    needed["null_values=kept"] |= {(number, name) for name in values}
                elif keys or values:
                    needed["null_groups=joined"] |= {
                        (-1, name) for name in keys if field_name(name) not in part.group_by
                    }
                    needed["null_values=kept"] |= {
                        (-1, name) for name in values if field_name(name) not in part.group_by
                    }
    filters = [eql.EventFilter(None, rule.condition) for rule in detections]
    names = list(dict.fromkeys(name for pairs in needed.values() for _, name in pairs))
    filters += [eql.EventFilter(None, eql.FieldComparison("!=", eql.EventField(n), sigma.ABSENT)) for n in names]
    alphabet = FilterAlphabet(filters, False, values=own_values_of)
    for words, pairs in needed.items():
        if all(i >= 0 and alphabet.implies(i, len(detections) + names.index(name)) for i, name in sorted(pairs)):
            yield from [words] * alphabet.exact
    known = [eql.EventFilter(None, _known_true(rule.condition)) for rule in detections]
    alphabet = FilterAlphabet([*filters[: len(detections)], *known], False, values=own_values_of)
    if alphabet.agree((i, len(detections) + i) for i in range(len(detections))):
        yield from ["absent=unknown"] * alphabet.exact


def _known_true(condition: eql.Condition, truth: bool = True) -> eql.Condition:
    """Return the condition under which a condition is true, or false, if a test of an absent field is neither true nor
    false.
    """
    match condition:
        case eql.NegatedCondition(part):
            return _known_true(part, not truth)
        case eql.AllConditions(parts) | eql.AnyConditions(parts):
            kind = eql.AllConditions if isinstance(condition, eql.AllConditions) is truth else eql.AnyConditions
            return kind(tuple(_known_true(part, truth) for part in parts))
    if truth:
        return condition
    if isinstance(condition, eql.FieldComparison) and sigma.ABSENT in (condition.left, condition.right):
        return eql.NegatedCondition(condition)
    there = (eql.FieldComparison("!=", field, sigma.ABSENT) for field in eql.fields_of(condition))
    return eql.AllConditions((eql.NegatedCondition(condition), *there))


Meaning: TypeAlias = Callable[[Sequence[Event]], tuple[object, ...]]
"""Maps a log to the answers of one meaning of rules: one for each form in which answers are compared."""


def find_distinguishing_logs(
    query: sigma.SigmaQuery,
    meanings: Sequence[Meaning],
    known: Iterable[Sequence[Event]],
    more: Iterable[Sequence[Event]] = (),
) -> list[list[Event]]:
    """Return a few logs that distinguish pairs of meanings that the known logs do not distinguish.

    A meaning maps a log to several answers; two meanings are distinguished in each of these. In the logs each field has
    values of one kind, as in a table. more: further logs to try. Raises BudgetExceeded.
    """

    def differing_pairs(log: Sequence[Event]) -> int:
        """Return a bit mask of the pairs of meanings, in each form of answers, that differ on a log."""
        found = 0
        for answers in zip(*(meaning(log) for meaning in meanings), strict=True):
            for one, other in combinations(answers, 2):
                found = found << 1 | (one != other)
        return found

    tried = [*logs_around(query), *map(list, filter(has_one_kind_a_field, more))]
    told = [(log, differing_pairs(log)) for log in sorted(tried, key=len)]
    left, chosen = ~0, list[list[Event]]()
    for log in filter(has_one_kind_a_field, known):
        left &= ~differing_pairs(log)
    while told:
        check_time()
        best, pairs = max(told, key=lambda one: (one[1] & left).bit_count())
        if not pairs & left:
            break
        chosen.append(best)
        left &= ~pairs
    return chosen


def logs_around(query: sigma.SigmaQuery) -> list[list[Event]]:
    """Return logs on which rules fire, and variants of these, with values of one kind in each field."""
    rng, most = Random(0), MOST_DISTINGUISHING_LOGS
    logs = list(filter(has_one_kind_a_field, islice(LogSearch((query,)).logs(rng), MOST_LOGS_OF_TESTS)))
    return [*logs[:most], *rng.sample(logs[most:], min(most, len(logs[most:])))]  # the last ones have two changes


def has_one_kind_a_field(log: Iterable[Event]) -> bool:
    """Return whether each field of the log has values of one kind only, such as texts or numbers."""
    kinds: dict[str, type] = {}
    values = ((name, value) for event in log for name, value in event.attributes.items())
    named = ((name, float if type(value) is int else type(value)) for name, value in values)
    return all(kinds.setdefault(name, own) is own for name, own in named)
