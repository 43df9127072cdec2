"""Sigma: conditions and correlations by the definition, readings, messages, relations, and commands on rule files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from itertools import combinations, product
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

import cerify
from cerify import api
from cerify.automata.sigma import count_alerts, unsupported_rules
from cerify.commands.rules import cases_of_rules
from cerify.conformance.cases import claims_of_json, load
from cerify.conformance.model import of_output, shown_match
from cerify.equivalence.sigma import (
    PROFILES,
    LogSearch,
    SameRules,
    _coercing_judges,
    compare_sigma,
    features,
    find_log,
    fires_on_some_log,
    has_one_kind_a_field,
    judge,
    logs_around,
    make_sigma_tests,
    mutants_of,
    random_case,
    readings,
    sigma_to_cel,
)
from cerify.equivalence.verdict import Claim, Different, Undecided
from cerify.explanations.explanation import Request
from cerify.explanations.sigma import SigmaExplainer
from cerify.hypotheses.interpretation import choices_of
from cerify.hypotheses.sigma import AXES, documents_of, find_matches
from cerify.languages import LANGUAGES
from cerify.protocol import MatchesAnswer, answer_of_json
from cerify.semantics.arguments import Budget
from cerify.semantics.ecs import document_of_event, event_of_document
from cerify.semantics.errors import BudgetExceeded, CerifyError, IllFormed, ParseError, QueryWarning, Unsupported
from cerify.semantics.events import Event, Match, Stream, result_of
from cerify.semantics.files import read_stream
from cerify.semantics.json_events import event_of_json, json_of_event, stream_of_json
from cerify.semantics.patterns import Pattern, match_same_texts
from cerify.semantics.readings import SigmaReading
from cerify.semantics.schemas import NULL
from cerify.semantics.sigma.denote import alerts_of, detection_test
from cerify.semantics.sigma.parse import parse, show_documents, split_by_alerts
from cerify.semantics.sigma.syntax import SigmaCorrelation, SigmaDetection, rules_of
from cerify.semantics.tables import SMALL
from proofs_tests.campaigns.sigma import differences
from proofs_tests.support import sampled

Run = Callable[..., tuple[int, str, str]]


def detection(name: str, selection: Any, condition: str = "s", **more: Any) -> dict[str, Any]:
    body = {"s": selection, "condition": condition, **more}
    return {"title": name, "name": name, "logsource": {"category": "test"}, "detection": body}


def rules(correlation: dict[str, Any], *others: dict[str, Any]) -> str:
    base = [detection(name, {"kind": name}) for name in "abc"]
    return show_documents([{"title": "t", "correlation": {"timespan": "5s", **correlation}}, *others, *base])


def raised(text: str, log: list[tuple[str, float] | tuple[str, float, dict[str, Any]]], **reading: Any) -> list[Any]:
    events = [Event("event", {"kind": one[0], "time": one[1], **(one[2] if len(one) > 2 else {})}) for one in log]
    return [(a.at, a.events) for a in alerts_of(parse(text), events, SigmaReading(**reading)) if a.rule == "t"]


# --- conditions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selection", "passing", "failing"),
    [
        ({"f": "cmd.exe"}, [{"f": "CMD.exe"}], [{}, {"f": "cmd"}, {"f": 1}]),
        ({"f|cased": "Cmd"}, [{"f": "Cmd"}], [{"f": "cmd"}]),
        ({"f": "a*b?"}, [{"f": "A--bx"}], [{"f": "ab"}]),
        ({"f": r"a\*b*"}, [{"f": "a*bc"}], [{"f": "axbc"}]),
        ({"f|contains|cased": "B"}, [{"f": "aBc"}], [{"f": "abc"}]),
        ({"f|startswith": "a"}, [{"f": "Ab"}], [{"f": "ba"}]),
        ({"f|endswith|cased": "C"}, [{"f": "abC"}], [{"f": "abc"}]),
        ({"f": "*"}, [{"f": 1}, {"f": ""}], [{}]),
        ({"f": ""}, [{"f": ""}], [{}]),
        ({"f": None}, [{}], [{"f": ""}]),
        ({"f|exists": True}, [{"f": 0}], [{}]),
        ({"f|exists": False}, [{}], [{"f": 0}]),
        ({"f": 5}, [{"f": 5}, {"f": 5.0}, {"f": "5"}], [{"f": 6}, {"f": True}, {}]),
        ({"f": "5"}, [{"f": 5}, {"f": "5"}], [{"f": "05"}]),
        ({"f": True}, [{"f": True}], [{"f": 1}]),
        ({"f|gte": 5}, [{"f": 5}], [{"f": 4}, {"f": "5"}]),
        ({"f|re": "b[0-9]"}, [{"f": "ab1c"}], [{"f": "bx"}, {"f": "B1"}]),
        ({"f|re|i": "b1"}, [{"f": "aB1"}], [{"f": "a"}]),
        ({"f|cidr": "10.0.0.0/8"}, [{"f": "10.1.2.3"}], [{"f": "11.1.2.3"}, {}]),
        ({"f|fieldref": "g"}, [{"f": "x", "g": "x"}], [{"f": "x"}, {"f": "x", "g": "y"}]),
        ({"f": ["a", "b"]}, [{"f": "a"}, {"f": "B"}], [{"f": "c"}]),
        ({"f|contains|all": ["a", "b"]}, [{"f": "xbya"}], [{"f": "a"}]),
        ({"f|windash|contains": " -h"}, [{"f": "x /h"}], [{"f": "x h"}]),
        ([{"f": "a"}, {"g": "b"}], [{"f": "a"}, {"g": "b"}], [{"f": "b"}]),
        (["fail"], [{"message": "it FAILed"}], [{"f": "fail"}]),
        ({"f": "a"}, [{"f": "x", "f[1]": "a"}], [{"f": "x", "f[1]": "y"}]),
    ],
)
def test_conditions(selection: Any, passing: list[dict[str, Any]], failing: list[dict[str, Any]]) -> None:
    for condition, right, wrong in (("s", passing, failing), ("not s", failing, passing)):
        (rule,) = parse(show_documents([detection("r", selection, condition)])).rules
        assert isinstance(rule, SigmaDetection)
        test = detection_test(rule)
        assert all(test(Event("event", fields)) for fields in right)
        assert not any(test(Event("event", fields)) for fields in wrong)


# --- correlations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("thresholds", [{"gt": 6, "lt": 5}, {"lt": 1}, {"gt": 5, "lt": 6}])
@pytest.mark.slow
def test_a_count_that_no_number_satisfies_never_fires(thresholds: dict[str, int]) -> None:
    text = rules({"type": "event_count", "rules": ["a"], "condition": thresholds})
    assert fires_on_some_log(parse(text)) is False


@pytest.mark.parametrize("selection", [{"user": ["x", "y", "z"]}, {"user|startswith": "adm", "host": "h"}])
def test_values_that_are_counted_and_tested_are_found(selection: dict[str, Any]) -> None:
    """As in rules that count which of some groups are listed: once no log was found on which they fire."""
    body = {"type": "value_count", "rules": ["u"], "group-by": ["host"], "condition": {"field": "user", "gte": 3}}
    text = rules(body, detection("u", selection))
    assert fires_on_some_log(parse(text)) is True


def test_a_group_is_found_that_one_rule_excludes() -> None:
    filtered = detection("u", {"kind": "x"}, "s and e and not f", e={"host": None}, f={"user|contains": "svc"})
    other = detection("v", {"kind": "y"}, "s and e and z", e={"host": None}, z={"size": 0})
    text = rules({"type": "temporal_ordered", "rules": ["v", "u"], "group-by": ["user"]}, filtered, other)
    assert fires_on_some_log(parse(text)) is True


@pytest.mark.slow
def test_a_filter_on_the_field_of_the_group_has_a_test_log() -> None:
    filtered = detection("u", {"kind": "x"}, "s and not f", f={"ip|contains": "svc"})
    text = rules({"type": "event_count", "rules": ["u"], "group-by": ["ip"], "condition": {"gte": 2}}, filtered)
    assert not [words for words in make_sigma_tests(parse(text)).left if not words.startswith("reading")]


def test_a_sum_of_texts_warns() -> None:
    text = rules({"type": "value_sum", "rules": ["a"], "condition": {"gte": 2, "field": "n"}})
    log = [{"type": "event", "kind": "a", "time": 1, "n": n} for n in ("3", "4")]
    with pytest.warns(QueryWarning, match="value_sum needs numbers and ignores texts, but n is a text"):
        assert not cerify.match(text, log, language="sigma")


def test_a_log_without_times_warns() -> None:
    """Of a log whose times stand in another column it said "no match"."""
    text = rules({"type": "event_count", "rules": ["a"], "condition": {"gte": 1}})
    with pytest.warns(QueryWarning, match="these events have no time and are ignored"):
        assert not cerify.match(text, [{"type": "event", "kind": "a", "ts": 3}], language="sigma")


def test_fields_that_no_event_has_warn_and_are_errors_if_strict() -> None:
    """A field that a rule wants to be absent is none of these."""
    body = {"type": "event_count", "rules": ["u"], "group-by": ["usr"], "condition": {"gte": 1}}
    text = rules(body, detection("u", {"knd": "a", "error": None, "fault|exists": False}))
    log = [{"type": "event", "kind": "z", "user": "x", "time": 1}]
    said = "no event has the fields knd, usr; did you mean kind for knd, user for usr?"
    with pytest.warns(QueryWarning, match=re.escape(said)):
        assert not cerify.match(text, log, language="sigma")
    with pytest.raises(IllFormed, match=re.escape(said)):
        cerify.match(text, log, language="sigma", strict=True)
    with pytest.raises(IllFormed, match=re.escape("no event has the field 'kin'; did you mean kind?")):
        cerify.match(show_documents([detection("u", {"kin": "a"})]), log, language="sigma", strict=True)


def test_a_detection_that_no_condition_names_warns() -> None:
    text = show_documents([detection("u", {"kind": "a"}, other={"kind": "b"})])
    with pytest.warns(QueryWarning, match="u: the condition does not name the detection 'other'"):
        assert cerify.match(text, [{"type": "event", "kind": "a"}], language="sigma")
    with pytest.raises(IllFormed, match="does not name the detection 'other'"):
        cerify.match(text, [{"type": "event", "kind": "a"}], language="sigma", strict=True)
    assert not parse(text.replace("condition: s", "condition: 1 of them")).unused


def test_an_alias_that_nothing_names_warns(tmp_path: Path, run: Run) -> None:
    rule, aliases = tmp_path / "rule.yml", {"who": {"a": "user"}, "where": {"a": "host"}}
    body = {"type": "event_count", "rules": ["a"], "aliases": aliases, "condition": {"gte": 2}}
    rule.write_text(rules({**body, "group-by": ["who"]}), encoding="utf-8")
    assert "t: group-by does not name the alias 'where'" in run("check", str(rule))[1]
    assert not parse(rules({**body, "group-by": ["who", "where"]})).unused


@pytest.mark.parametrize("written", ["group_by: [user]", "groupby:\n  - user", "'groupby' : [user]"])
def test_a_misspelt_key_of_a_correlation_is_refused_at_its_line(written: str) -> None:
    """pySigma passes over it, so that the alerts were those of a rule without groups."""
    body = f"correlation:\n  timespan: 5s\n  {written}\n  type: event_count\n  rules: [a]\n  condition: {{gte: 2}}\n"
    text = f"title: t\n{body}---\n{show_documents([detection('a', {'kind': 'a'})])}"
    with pytest.raises(Unsupported, match=r"is not a key of a correlation.*did you mean group-by\?") as raised:
        parse(text)
    assert raised.value.span is not None
    assert text.count("\n", 0, raised.value.span.start) == 3


def test_what_lies_in_other_groups_is_named_if_it_is_not_later() -> None:
    text = rules({"type": "temporal", "rules": ["a", "b"], "group-by": ["user"]})
    log = [Event("event", {"kind": k, "time": t, "user": user}) for t, (k, user) in enumerate(("bx", "ay", "bz"))]
    reasons = cerify.explain(text, Stream(log), [1], language="sigma").reasons
    assert 't: b: only in other groups, at event 0 of user "x"' in reasons


COUNT = {"type": "event_count", "rules": ["a"], "group-by": ["user"], "timespan": "5s", "condition": {"gte": 2}}
INNER = {"title": "inner", "name": "inner", "correlation": COUNT}
X, Y = {"user": "x", "host": "h"}, {"user": "y", "host": "h"}
BRUTE = rules(
    {"type": "temporal_ordered", "rules": ["inner", "b"], "group-by": ["user"], "timespan": "10s"},
    {"title": "inner", "name": "inner", "correlation": {**COUNT, "condition": {"gte": 3}}},
)
STEPS = rules(
    {"type": "event_count", "rules": ["step"], "group-by": ["host"], "timespan": "20s", "condition": {"gte": 2}},
    {"title": "step", "name": "step",
     "correlation": {"type": "temporal", "rules": ["a", "b"], "group-by": ["host", "user"], "timespan": "5s"}},
)  # fmt: skip
FILTERED = rules(
    {"type": "temporal_ordered", "rules": ["a", "u"], "group-by": ["user"], "timespan": "9s"},
    detection("u", {"kind": "u", "size": 1}, "s and not f", f={"ip|cidr": "10.0.0.0/8"}),
)
OF_TWO = [("a", 0, X), ("a", 1, X), ("a", 5.001, X), ("b", 7, X), ("a", 8, Y), ("a", 8, Y), ("a", 8, Y), ("b", 9, Y)]
IN_NETWORK = 'it requires that f is false: the event has ip|cidr: 10.0.0.0/8, and ip is "10.1.1.1"'


@pytest.mark.parametrize(
    ("text", "log", "named", "said"),
    [
        (BRUTE, OF_TWO, {0, 1, 2, 3}, {
            '1 of 2 rules occur within 10s before event 3 of user "x"', "b: event 3",
            'inner: it occurs nowhere in this group; nearest at event 1 (events: 2 within 5s of user "x"; '
            "an alert needs at least 3)",
            'inner: events: 2 within 5s before event 2 of user "x"; an alert needs at least 3',
            "inner: in the window: events 1, 2", "inner: the last before the window, event 0, is 0.001 s too early",
        }),
        (STEPS, [("a", 0, X), ("b", 1, X), ("a", 2, X), ("b", 3, Y)], {2, 3}, {
            'step: 1 of 2 rules occur within 5s before event 3 of host "h", user "y"', "step: b: event 3",
            'step: a: only in other groups, at events 0, 2 of host "h", user "x"',
            'step: event 2 belongs to host "h", user "x", not to host "h", user "y"',
            'step: other groups at the same time: events 0, 1, 2 of host "h", user "x"',
        }),
        (FILTERED, [("a", 0, X), ("u", 1, {**X, "size": 1, "ip": "10.1.1.1"}), ("a", 2, X)], {1, 2}, {
            '1 of 2 rules occur within 9s before event 2 of user "x"', "a: events 0, 2",
            f"u: it occurs nowhere in the log; event 1 is the nearest: {IN_NETWORK}",
            f"event 1 does not satisfy u: {IN_NETWORK}",
        }),
    ],
)  # fmt: skip
def test_why_not_is_said_of_the_group_of_the_last_event(text: str, log: Any, named: set[int], said: set[str]) -> None:
    """Events of x were said to be of another group than a later alert of y, and to satisfy none of all rules."""
    events = [Event("event", {"kind": kind, "time": t, **(more[0] if more else {})}) for kind, t, *more in log]
    reasons = cerify.explain(text, Stream(events), sorted(named), language="sigma").reasons
    assert {reason.removeprefix("t: ") for reason in reasons if reason.startswith("t: ")} == said


def test_an_invalid_network_is_at_its_line() -> None:
    text = show_documents([detection("a", {"kind": "a", "ip|cidr": ["10.0.0.0/8", "10.0.0.5/24"]})])
    with pytest.raises(ParseError, match="host bits") as raised:
        parse(text)
    assert raised.value.span is not None
    assert text[raised.value.span.start :].strip().startswith("- 10.0.0.5/24")


@pytest.mark.parametrize("sign", ["gt", "gte", "lt", "lte"])
def test_a_text_that_is_compared_with_a_number_warns(sign: str) -> None:
    text = show_documents([detection("big", {f"n|{sign}": 3})])
    with pytest.warns(QueryWarning, match=f"{sign} needs numbers and ignores texts, but n is a text"):
        assert not cerify.match(text, [{"type": "event", "n": n} for n in ("5", "2")], language="sigma")


def test_generate_stands_beside_the_correlation_too_and_references_may_be_a_text() -> None:
    text = rules({"type": "event_count", "rules": ["a"], "condition": {"gte": 2}})
    beside = text.replace("title: t\n", "title: t\ngenerate: true\nreferences: x\n")
    assert beside != text
    assert {rule.name for rule in parse(beside).rules} == {rule.name for rule in parse(text).rules} | {"a"}


@pytest.mark.parametrize(
    ("correlation", "log", "expected"),
    [
        ({"type": "event_count", "rules": ["a"], "condition": {"gte": 2}},
         [("a", 0), ("b", 1), ("a", 5), ("a", 10.5)], [(2, (0, 2))]),
        ({"type": "event_count", "rules": ["a", "b"], "condition": {"gt": 1, "lte": 2}},
         [("a", 0), ("b", 1), ("a", 2)], [(1, (0, 1))]),
        ({"type": "event_count", "rules": ["a"], "condition": {"lt": 2}}, [("a", 0), ("a", 1)], [(0, (0,))]),
        ({"type": "event_count", "rules": ["a"], "condition": {"neq": 1}}, [("a", 0), ("a", 1)], [(1, (0, 1))]),
        ({"type": "value_count", "rules": ["a"], "condition": {"gte": 2, "field": "user"}},
         [("a", 0, X), ("a", 1, X), ("a", 2), ("a", 3, Y)], [(3, (0, 1, 3))]),
        ({"type": "value_count", "rules": ["a"], "condition": {"gte": 2, "field": ["user", "host"]}},
         [("a", 0, X), ("a", 1, {**X, "host": "i"})], [(1, (0, 1))]),
        ({"type": "temporal", "rules": ["a", "b"]},
         [("b", 0), ("a", 1), ("b", 7), ("a", 8)], [(1, (0, 1)), (3, (2, 3))]),
        ({"type": "temporal", "rules": ["a", "b", "c"], "condition": {"gte": 2}}, [("b", 0), ("c", 1)], [(1, (0, 1))]),
        ({"type": "temporal_ordered", "rules": ["a", "b"]},
         [("b", 0), ("a", 1), ("a", 2), ("b", 3), ("b", 9)], [(3, (2, 3))]),
        ({"type": "temporal_ordered", "rules": ["a", "b", "c"], "condition": {"gte": 2}},
         [("b", 0), ("a", 1), ("c", 2)], [(2, (1, 2))]),
        ({"type": "temporal_ordered", "rules": ["a", "a"]}, [("a", 0), ("a", 1)], [(1, (0, 1))]),
        ({"type": "value_sum", "rules": ["a"], "condition": {"gt": 3, "field": "n"}},
         [("a", 0, {"n": 2}), ("a", 1, {"n": "9"}), ("a", 2, {"n": 1.5})], [(2, (0, 2))]),
        ({"type": "value_avg", "rules": ["a"], "condition": {"gte": 2, "field": "n"}},
         [("a", 0, {"n": 1}), ("a", 1, {"n": 3})], [(1, (0, 1))]),
        ({"type": "value_percentile", "rules": ["a"], "condition": {"eq": 2, "field": "n", "percentile": 50}},
         [("a", 0, {"n": 1}), ("a", 1, {"n": 3})], [(1, (0, 1))]),
        ({"type": "event_count", "rules": ["a"], "group-by": ["user"], "condition": {"gte": 2}},
         [("a", 0, X), ("a", 1, Y), ("a", 2), ("a", 3, X), ("a", 4)], [(3, (0, 3))]),
        ({"type": "temporal", "rules": ["a", "b"], "group-by": ["who"],
          "aliases": {"who": {"a": "user", "b": "host"}}},
         [("a", 0, X), ("b", 1, X), ("b", 2, {"host": "x"})], [(2, (0, 2))]),
        ({"type": "temporal_ordered", "rules": ["inner", "b"], "group-by": ["host"]},  # of user, then of host
         [("a", 0, X), ("a", 1, Y), ("b", 2, X), ("a", 3, X), ("b", 7, Y)], [(4, (0, 3, 4))]),
        ({"type": "temporal_ordered", "rules": ["inner", "a", "b"], "group-by": ["host"], "condition": {"eq": 2}},
         [("a", 0, X), ("a", 1, X), ("b", 2, X)], [(2, (0, 1, 2))]),  # two chains, at the same events
        ({"type": "event_count", "rules": ["inner"], "condition": {"gte": 2}},
         [("a", 0, X), ("a", 1, X), ("a", 2, X)], [(2, (0, 1, 2))]),
    ],
)  # fmt: skip
def test_correlations(correlation: dict[str, Any], log: list[Any], expected: list[Any]) -> None:
    assert raised(rules(correlation, INNER), log) == expected


def test_the_query_is_what_no_correlation_refers_to() -> None:
    text = rules({"type": "temporal", "rules": ["a", "b"]})
    assert [rule.name for rule in parse(text).rules] == ["t", "c"]
    assert [rule.name for rule in parse(text.replace("type: temporal", "type: temporal\n  generate: true")).rules] == [
        "a", "b", "t", "c",
    ]  # fmt: skip
    matches = api.match(text, [{"type": "event", "kind": "c", "time": 0}], language="sigma")
    assert [m.result.attributes for m in matches if m.result] == [{"rule": "c", "group": {}}]


@pytest.mark.parametrize("seed", sampled(range(60), set(range(30))))
def test_the_definition_agrees_with_brute_force_and_with_cel(seed: int) -> None:
    assert differences(seed)[0] == ""


@pytest.mark.thorough
@pytest.mark.slow
def test_random_cases_tell_each_reading_apart_from_the_decisions() -> None:
    left = {words for n in range(4) for words, _ in readings(random_case(Random(n), PROFILES["rules"], 3, 5)[0])}
    for n in range(300):
        query, S = random_case(Random(n), PROFILES["rules"], 3, 12)
        for words, reading in readings(query):
            if words in left and alerts_of(query, S, reading) != alerts_of(query, S):
                left.discard(words)
    assert left == set()


# The smallest logs: detections by kind (`all` of any) and of an event without a size, and correlations over them.
DETECTED = "".join(
    f"---\nname: {name}\ntitle: {name}\nlogsource: {{category: test}}\n"
    f"detection: {{s: {{{test}}}, condition: {condition}}}\n"
    for name, test, condition in (
        ("a", "kind: a", "s"),
        ("b", "kind: b", "s"),
        ("all", "kind: '*'", "s"),
        ("unsized", "size: 1", "not s"),
    )
)
TWO = "type: event_count, rules: [a], timespan: 5s, condition: {gte: 2}"
BY = "type: event_count, rules: [a], group-by: [user], timespan: 5s, condition: {gte: 2}"
ONE = "type: event_count, rules: [a], timespan: 5s, condition: {gte: 1}"
AB = "type: temporal_ordered, rules: [a, b], timespan: 5s"
SIZES = "type: value_percentile, rules: [a], timespan: 5s, condition: {field: size, percentile: 50, gte: 2}"
VALUES = "type: value_count, rules: [a], timespan: 5s, condition: {field: size, lt: 2}"
BOTH = "type: event_count, rules: [a, all], timespan: 5s, condition: {gte: 2}"
NOT = "type: event_count, rules: [unsized], timespan: 5s, condition: {gte: 1}"


@pytest.mark.parametrize(
    ("reading", "correlation", "log", "decided", "read"),
    [
        ({"window": "bucketed"}, TWO, [("a", 4, {}), ("a", 6, {})], [1], []),
        ({"window": "unlimited"}, TWO, [("a", 0, {}), ("a", 6, {})], [], [1]),
        ({"window": "extent"}, TWO, [("a", 0, {}), ("a", 1, {}), ("a", 6, {})], [1, 2], []),
        ({"edge": "open"}, TWO, [("a", 0, {}), ("a", 5, {})], [1], []),
        ({"instant": "together"}, ONE, [("a", 0, {}), ("a", 0, {})], [0, 1], [1]),
        ({"instant": "together"}, AB, [("a", 0, {}), ("b", 0, {})], [1], []),
        ({"alerts": "episode"}, ONE, [("a", 0, {}), ("a", 1, {})], [0, 1], [0]),
        ({"alerts": "consumed"}, TWO, [("a", 0, {}), ("a", 1, {}), ("a", 2, {})], [1, 2], [1]),
        ({"alerts": "last"}, ONE, [("a", 0, {}), ("a", 1, {})], [0, 1], [1]),
        ({"alerts": "first"}, ONE, [("a", 0, {}), ("a", 1, {})], [0, 1], [0]),
        ({"values": "folded"}, VALUES, [("a", 0, {"size": "x"}), ("a", 1, {"size": "X"})], [0], [0, 1]),
        ({"groups": "folded"}, BY, [("a", 0, {"user": "x"}), ("a", 1, {"user": "X"})], [], [1]),
        ({"groups": "ignored"}, BY, [("a", 0, {"user": "x"}), ("a", 1, {"user": "y"})], [], [1]),
        ({"null_groups": "joined"}, BY, [("a", 0, {}), ("a", 1, {})], [], [1]),
        ({"null_values": "kept"}, VALUES, [("a", 0, {})], [], [0]),
        ({"order": "any"}, AB, [("b", 0, {}), ("a", 1, {})], [], [1]),
        ({"resolution": "seconds"}, TWO, [("a", 0.5, {}), ("a", 5.9, {})], [], [1]),
        ({"percentile": "nearest"}, SIZES, [("a", 0, {"size": 1}), ("a", 1, {"size": 3})], [1], []),
        ({"case": "exact"}, ONE, [("A", 0, {})], [0], []),
        ({"case": "wildcards"}, ONE, [("A", 0, {})], [0], []),
        ({"counted": "matches"}, BOTH, [("a", 0, {})], [], [0]),
        ({"absent": "unknown"}, NOT, [("a", 0, {})], [0], []),
    ],
)  # fmt: skip
def test_a_reading_raises_other_alerts_on_its_smallest_log(
    reading: dict[str, Any], correlation: str, log: list[Any], decided: list[int], read: list[int]
) -> None:
    text = f"title: t\ncorrelation: {{{correlation}}}\n{DETECTED}"
    events = [Event("event", {"kind": kind, "time": time, **more}) for kind, time, more in log]
    for choices, expected in (({}, decided), (reading, read)):
        alerts = alerts_of(parse(text), events, SigmaReading(**choices))
        assert [alert.at for alert in alerts if alert.rule == "t"] == expected


def test_a_long_log_takes_a_budget() -> None:
    text = rules({"type": "event_count", "rules": ["a"], "condition": {"gte": 2}})
    log = [Event("event", {"kind": "a", "time": 0})] * 200
    with pytest.raises(BudgetExceeded, match="shorter log"):
        alerts_of(parse(text), log, budget=Budget(valuations=100))


# --- messages ---------------------------------------------------------------------------------------------------------

GOOD = rules({"type": "temporal", "rules": ["a", "b"]})


@pytest.mark.parametrize(
    ("text", "kind", "says", "line"),
    [
        ("a: [", ParseError, "not YAML", 1),
        ("title: x\ntitle: y", ParseError, "Duplicate key", 0),
        ("- a", ParseError, "a rule must be a mapping", 1),
        ("title: t\ntype: temporal\nrules: [a]", ParseError, "below `correlation:`", 2),
        ("", ParseError, "the query is empty", 0),
        (GOOD.replace("timespan: 5s", "timespan: 5 minutes"), ParseError, "Timespan", 3),
        (GOOD.replace("- b\n", "- missing\n"), IllFormed, "'missing' not found", 7),
        (GOOD.replace("type: temporal", "type: sometimes"), ParseError, "sometimes", 4),
        (GOOD.replace("condition: s", "condition: s and"), ParseError, "a: Expected", 16),
        (GOOD.replace("kind: a", "kind|hour: 3"), Unsupported, "parts of a time", 9),
        (GOOD.replace("kind: a", "kind|nonsense: 3"), ParseError, "nonsense", 15),
        (GOOD.replace("type: temporal", "type: value_percentile\n  condition: {gt: 1, field: n, percentile: 99.9}"),
         Unsupported, "would read 99.9 as 99", 5),
        (GOOD.replace("name: b", "name: a"), IllFormed, "two rules have the name 'a'", 0),
    ],
)  # fmt: skip
def test_messages_have_a_place(text: str, kind: type[CerifyError], says: str, line: int) -> None:
    with pytest.raises(kind, match=re.escape(says)) as raised_:
        parse(text)
    span = raised_.value.span
    assert not line or (span is not None and text.count("\n", 0, span.start) + 1 == line)


@pytest.mark.parametrize("end", ["---\n", "---\n# a comment", "---\n---\n", "--- # a comment\n---\nnull\n"])
def test_empty_documents_are_no_rules(end: str, tmp_path: Path, run: Run) -> None:
    """They ended in a traceback, for the other files of a folder too."""
    assert parse(GOOD + end).rules == parse(end.replace("null", "") + "\n---\n" + GOOD).rules == parse(GOOD).rules
    with pytest.raises(ParseError, match="a rule must be a mapping") as raised_:
        parse(end.replace("null", "") + "\n---\n- a")
    assert raised_.value.span is not None
    assert raised_.value.span.start > len(end)
    assert [one.place for one in documents_of(end.replace("null", "") + "\n---\n" + GOOD).values()] == [0, 1, 2, 3]
    base, _, others = GOOD.partition("---\n")
    (tmp_path / "rule.yml").write_text(base + end)
    (tmp_path / "others.yml").write_text(others.replace("---\n", "--- # the next one\n") + end)
    status, out, _ = run("check", str(tmp_path))
    assert (status, out) == (0, "2 rules: 2 can fire, 0 never\n")
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps({"type": "event", "time": t, "kind": k}) + "\n" for t, k in enumerate("cab")))
    assert run("match", str(tmp_path / "rule.yml"), str(log))[1].count('rule: "') == 1  # none of others.yml


def test_aliases_that_multiply_are_refused_at_once() -> None:
    lines = "x0: &x0 [1, 1]\n" + "".join(f"x{n}: &x{n} [*x{n - 1}, *x{n - 1}]\n" for n in range(1, 40))
    with pytest.raises(ParseError):
        parse(f"title: t\nlogsource: {{category: t}}\ndetection: {{s: {{a: 1}}, condition: s}}\n{lines}")


@pytest.mark.slow
def test_without_pysigma_the_extra_is_named(tmp_path: Path) -> None:
    rule = tmp_path / "rule.yml"
    rule.write_text(GOOD)
    program = (
        "import sys; sys.modules['yaml'] = None\nfrom cerify.cli import main\n"
        f"sys.argv = ['cerify', 'check', {str(rule)!r}, '--language', 'sigma']\nmain()"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == 2
    assert "cerify[sigma]" in ran.stderr


# --- relations and commands -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("kind: a", "kind: [a, A]", True),
        ("kind: a", "kind|cased: a", False),
        ("5s", "6s", False),
        ("type: temporal", "type: temporal_ordered", False),
    ],
)
def test_rules_are_compared(old: str, new: str, same: bool) -> None:
    left, right = parse(GOOD), parse(GOOD.replace(old, new))
    found = compare_sigma(left, right)
    assert isinstance(found, Different) is not same
    if isinstance(found, Different):
        at = {m.events for m in (*found.left_only, *found.right_only)}
        one, other = ({a.events for a in alerts_of(q, found.stream)} for q in (left, right))
        assert at <= one ^ other


@pytest.mark.parametrize(("field", "same"), [("to", True), ("host", False)])
def test_an_alias_may_have_another_name(field: str, same: bool) -> None:
    def written(alias: str, second: str) -> str:
        return rules({"type": "temporal", "rules": ["a", "b"], "group-by": [alias], "timespan": "5s",
                      "aliases": {alias: {"a": "from", "b": second}}})  # fmt: skip

    found = compare_sigma(parse(written("who", "to")), parse(written("user", field)))
    assert isinstance(found, SameRules if same else Different)


COUNT = {"type": "event_count", "rules": ["a"], "group-by": ["user", "host"], "condition": {"gte": 5}}


@pytest.mark.parametrize(
    ("one", "other", "claim", "kind"),
    [
        ({}, {"condition": {"gt": 4}}, "equivalent", SameRules),
        ({}, {"condition": {"gt": 4.5}}, "equivalent", SameRules),
        ({}, {"condition": {"gt": 5}}, "equivalent", Different),
        ({}, {"condition": {"gte": 4}}, "contained", SameRules),
        ({"condition": {"gte": 4}}, {}, "contained", Different),
        ({"condition": {"gte": 5, "lte": 5}}, {"condition": {"eq": 5}}, "equivalent", SameRules),
        ({"condition": {"gte": 0}}, {"condition": {"gte": 1}}, "equivalent", SameRules),  # an event is in its window
        ({}, {"group-by": ["host", "user"]}, "equivalent", SameRules),
        ({"rules": ["a", "b"]}, {"rules": ["b", "a"]}, "equivalent", SameRules),
        ({"type": "temporal_ordered", "rules": ["a", "b"], "condition": None},
         {"type": "temporal_ordered", "rules": ["b", "a"], "condition": None}, "equivalent", Different),
        ({"type": "temporal", "rules": ["a", "b"], "condition": {"gte": 2}},
         {"type": "temporal", "rules": ["a", "b"], "condition": {"eq": 2}}, "equivalent", SameRules),
        ({"type": "value_count", "condition": {"gte": 1, "field": "n"}},
         {"type": "value_count", "condition": {"gte": 0, "field": "n"}}, "equivalent", SameRules),
        ({"type": "value_sum", "condition": {"gte": 5, "field": "n"}},
         {"type": "value_sum", "condition": {"gt": 4, "field": "n"}}, "equivalent", Different),
        ({"type": "value_sum", "condition": {"gt": 5, "field": "n"}},
         {"type": "value_sum", "condition": {"gte": 5.5, "field": "n"}}, "equivalent", Different),
        ({"type": "value_avg", "condition": {"gt": 5, "field": "n"}},
         {"type": "value_avg", "condition": {"gte": 5, "field": "n"}}, "contained", SameRules),
        ({"condition": {"lt": 10}}, {"condition": {"lt": 11}}, "equivalent", Different),
        ({"condition": {"gte": 2, "lte": 9}}, {"condition": {"gte": 2, "lte": 10}}, "equivalent", Different),
        ({"condition": {"neq": 8}}, {"condition": {"neq": 9}}, "contained", Different),
        ({"condition": {"lt": 10}}, {"condition": {"lt": 10}, "timespan": "6s"}, "equivalent", Different),
        *(({"type": "value_count", "condition": {sign: 4, "field": "n"}},
           {"type": "value_count", "condition": {sign: 5, "field": "n"}}, "equivalent", Different)
          for sign in ("lt", "lte", "neq", "eq")),
        ({"type": "temporal", "rules": ["a", "b", "c"], "condition": {"lt": 3}},
         {"type": "temporal", "rules": ["a", "b", "c"], "condition": {"gte": 1}}, "equivalent", Different),
        *(({"type": "value_percentile", "condition": {sign: 500, "field": "n", "percentile": one}},
           {"type": "value_percentile", "condition": {sign: 500, "field": "n", "percentile": other}},
           "equivalent", Different)
          for sign in ("gt", "gte", "lt", "lte", "eq", "neq") for one, other in ((95, 90), (0, 100))),
    ],
)  # fmt: skip
def test_thresholds_are_compared_as_sets_of_numbers(
    one: dict[str, Any], other: dict[str, Any], claim: Claim, kind: type
) -> None:
    left, right = (parse(rules({k: v for k, v in (COUNT | d).items() if v is not None})) for d in (one, other))
    assert isinstance(found := compare_sigma(left, right, claim), kind), found


def test_logs_find_the_mistakes_of_a_rule() -> None:
    found = make_sigma_tests(parse(GOOD))
    assert found.tests[0].alerts
    assert not any(words.startswith("reading") for words in found.same)
    assert {"a: other case" in words for words in found.left} <= {False}
    kills = {words for test in found.tests for words in test.kills}
    assert {"t: timespan 4s", "t: timespan 6s", "reading window=bucketed", "t: without the rule b"} <= kills
    assert len(found.left) <= found.mistakes // 5


@pytest.mark.parametrize(
    "correlation",
    [
        {"type": "event_count", "condition": {"lt": 11}},
        {"type": "event_count", "condition": {"gte": 2, "lte": 5}},
        {"type": "value_count", "condition": {"lte": 4, "field": "n"}},
        {"type": "value_percentile", "condition": {"gte": 500, "field": "n", "percentile": 95}},
        {"type": "event_count", "rules": ["inner"], "condition": {"lt": 3}},
        {"type": "value_count", "rules": ["a"], "condition": {"gte": 2, "field": ["m", "n"]}},
        {"type": "temporal", "rules": ["a", "b"], "group-by": ["x", "y"],
         "aliases": {"x": {"a": "from", "b": "to"}, "y": {"a": "to", "b": "from"}}},
    ],
)  # fmt: skip
@pytest.mark.slow
def test_every_mistake_in_one_place_has_a_log(correlation: dict[str, Any]) -> None:
    text = rules({"rules": ["a"], **correlation}, *([INNER] if "inner" in correlation.get("rules", ()) else []))
    wanted = {*correlation.get("rules", "a")}
    documents = [
        one for one in yaml.safe_load_all(text) if one["title"] not in set("abc") - wanted or "inner" in wanted
    ]
    found = make_sigma_tests(parse(show_documents(documents)))
    assert not found.left
    percentiles = [words for test in found.tests for words in test.kills if "percentile: " in words]
    assert len(percentiles) == ("percentile" in correlation.get("condition", ()))
    if correlation["type"] == "value_count" and len(correlation["condition"]["field"]) > 1:
        assert {"t: m not counted", "t: n not counted"} <= {words for test in found.tests for words in test.kills}


@pytest.mark.thorough
def test_mistakes_about_values_of_inner_groups_have_logs() -> None:
    """All events of an inner alert have to have another value."""
    inner = {"type": "event_count", "rules": ["a"], "group-by": ["user", "host"], "timespan": "5s"}
    count = {"type": "value_count", "rules": ["i"], "group-by": ["user"], "condition": {"field": "host", "gte": 2}}
    text = rules(count, {"title": "i", "name": "i", "correlation": {**inner, "condition": {"gte": 2}}})
    found = make_sigma_tests(parse(show_documents(list(yaml.safe_load_all(text))[:3])))
    kills = {words for test in found.tests for words in test.kills}
    assert {"reading values=folded", "t: not grouped by user"} <= kills


@pytest.mark.thorough
def test_all_rules_of_an_order_occur_in_a_log_for_engines(tmp_path: Path) -> None:
    """A converter that asks for all of them seemed to have no alert ever."""
    text = rules({"type": "temporal_ordered", "rules": ["a", "b", "c"], "condition": {"gt": 1}})
    (tmp_path / "rule.yml").write_text(text, encoding="utf-8")
    kinds = ["".join(event["kind"] for event in case.events) for case in cases_of_rules(tmp_path / "rule.yml")[0]]
    assert any(word in ("abc", "aabbcc") for word in kinds), kinds


@pytest.mark.slow
def test_commands_of_the_default_reading_refuse_another(tmp_path: Path, run: Run) -> None:
    rule, log = tmp_path / "rule.yml", tmp_path / "log.jsonl"
    rule.write_text(rules(COUNT), encoding="utf-8")
    log.write_text("", encoding="utf-8")
    status, _, err = run("vectors", str(rule), "--reading", "alerts=last")
    assert (status, "supports only the default reading" in err) == (2, True)
    assert run("explain", str(rule), str(log), "--reading", "alerts=never")[0] == 2


@pytest.mark.parametrize(
    ("reading", "at", "said"),
    [
        ("window=bucketed", 2, "events: 1 in the 5s from 2026-01-01T00:00:05Z, up to event 2"),
        ("window=bucketed", 2, "the last before the window, event 1, is 1 s too early"),
        ("window=bucketed", 1, "they take 4 s; they are in the 5s from 2026-01-01T00:00:00Z, up to event 1"),
        ("window=unlimited", 3, "they take 11 s; the reading window=unlimited has no timespan"),
        ("window=extent", 2, "the events of the group take 11 s in all, longer than the timespan 5s"),
        ("edge=open", 3, "event 2, is exactly the timespan before it, which edge=open leaves out"),
        ("alerts=episode", 2, "it held at 1 too"),
        ("alerts=consumed", 2, "the alert at event 1 has used up the events of the group up to there"),
        ("alerts=first", 2, "this group had it at event 1"),
        ("alerts=last", 1, "only the last event of the group can raise an alert: event 3"),
        ("groups=folded", 4, "failed: events 2, 3, 4"),
        ("case=exact", 5, 's requires kind: "a", and kind is "A", in another case'),
        ("resolution=seconds", 0, "events: 1 within 5s before event 0"),
    ],
)
def test_an_explanation_follows_the_reading(reading: str, at: int, said: str, tmp_path: Path, run: Run) -> None:
    rule, log = tmp_path / "rule.yml", tmp_path / "log.jsonl"
    count = {
        "type": "event_count",
        "rules": ["failed"],
        "group-by": ["user"],
        "timespan": "5s",
        "condition": {"gte": 2},
    }
    documents = [detection("failed", {"kind": "a"}), {"title": "t", "correlation": count}]
    rule.write_text(show_documents(documents), encoding="utf-8")
    events = [("a", "x", 0), ("a", "x", 4), ("a", "x", 6), ("a", "x", 11), ("a", "X", 11), ("A", "y", 30)]
    lines = [{"@timestamp": f"2026-01-01T00:00:{t:02}Z", "kind": kind, "user": user} for kind, user, t in events]
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    assert said in run("explain", str(rule), str(log), "--reading", reading, "--at", str(at))[1]


@pytest.mark.parametrize("seed", sampled(range(60), range(8)))
def test_explanations_have_reasons_in_every_reading(seed: int) -> None:
    query, S = random_case(Random(seed), PROFILES["rules"], 3, 8)
    for words, reading in readings(query):
        explainer = SigmaExplainer(query, S, query.text, reading)
        for at in range(len(S)):
            asked = explainer.explain_request(Request(frozenset({0, at}), None, at, 1, 10, "matches"))
            here = explainer.all(Request(None, None, at, 1, 10, "matches"))
            assert asked is not None
            assert asked.reasons, (words, at)
            assert here.reasons, (words, at)
            assert [one.at for one in here.found] == [a.at for a in alerts_of(query, S, reading) if a.at == at]


def test_an_explanation_says_that_the_not_of_an_absent_field_is_unknown(tmp_path: Path, run: Run) -> None:
    rule, log = tmp_path / "rule.yml", tmp_path / "log.jsonl"
    rule.write_text(show_documents([detection("d", {"kind": "a"}, "s and not f", f={"x": 1})]), encoding="utf-8")
    log.write_text('{"@timestamp": 1, "kind": "a"}\n', encoding="utf-8")
    said = "neither a test of an absent field nor its not is true: x: 1, and x is absent"
    assert said in run("explain", str(rule), str(log), "--at", "0", "--reading", "absent=unknown")[1]


def test_the_words_of_a_rule_name_its_timespan(tmp_path: Path, run: Run) -> None:
    rule, log = tmp_path / "rule.yml", tmp_path / "log.jsonl"
    rule.write_text(rules({**COUNT, "timespan": "30m"}), encoding="utf-8")
    log.write_text('{"type": "event", "time": 1, "kind": "a", "user": "x", "host": "h"}\n', encoding="utf-8")
    assert "within 30m before event 0" in run("explain", str(rule), str(log), "--at", "0")[1]
    assert parse(rules({**COUNT, "timespan": "30m"})) == parse(rules({**COUNT, "timespan": "1800s"}))


@pytest.mark.parametrize(
    "correlation",
    [
        {"type": "value_sum", "condition": {"gt": 1_000_000, "field": "n"}},
        {"type": "value_avg", "condition": {"gte": 1000, "field": "n"}},
        {"type": "value_percentile", "condition": {"gte": 500, "field": "n", "percentile": 95}},
        {"type": "value_count", "condition": {"lt": 5, "field": "n"}},
    ],
)
@pytest.mark.slow
def test_a_timespan_shows_in_where_alerts_are(correlation: dict[str, Any]) -> None:
    """Converters that give no events of alerts passed without any timespan."""
    text = rules({"rules": ["a"], "group-by": ["user"], **correlation})
    tests = make_sigma_tests(parse(show_documents(list(yaml.safe_load_all(text))[:2]))).tests
    for seconds in ("4s", "6s", "10s", "100000s"):
        other = parse(text.replace("timespan: 5s", f"timespan: {seconds}"))
        assert any(
            {a.at for a in test.alerts} != {a.at for a in alerts_of(other, test.log) if a.rule == "t"} for test in tests
        ), seconds


@pytest.mark.parametrize(
    "correlation",
    [
        {"type": "event_count", "rules": ["a"], "condition": {"lt": 2}},
        {"type": "value_sum", "rules": ["a"], "condition": {"gte": 2, "field": "n"}},
        {"type": "temporal", "rules": ["inner", "a"]},
    ],
)
def test_what_cel_cannot_say_is_refused(correlation: dict[str, Any]) -> None:
    query = parse(show_documents([*yaml.safe_load_all(rules(correlation, INNER))][:3]))
    with pytest.raises(Unsupported):
        sigma_to_cel(query)


def test_commands_take_files_of_rules(tmp_path: Path, run: Run) -> None:
    rule, log = tmp_path / "rule.yml", tmp_path / "log.ndjson"
    rule.write_text(rules({"type": "temporal_ordered", "rules": ["a", "b", "c"], "group-by": ["user"]}))
    events = [("a", 0, "x"), ("b", 1, "x"), ("c", 9, "x"), ("c", 3, "y")]
    lines = [json.dumps({"@timestamp": f"2026-01-31T12:00:0{t}Z", "kind": k, "user": u}) for k, t, u in events]
    log.write_text("\n".join(lines))
    assert run("match", str(rule), str(log))[:2] == (1, "no match in 4 events; cerify explain QUERY FILE says why\n")
    status, out, _ = run("explain", str(rule), str(log), "--at", "1")
    assert status == 1
    assert "2 of 3 rules occur within 5s before event 1" in out
    assert "c: event 2 comes 4 s too late" in out
    log.write_text("\n".join(lines[:2]) + "\n" + lines[2].replace("09Z", "04Z"))
    status, out, _ = run("match", str(rule), str(log), "--json")
    assert (status, json.loads(out)["events"]) == (0, [0, 1, 2])
    assert 'user "x"' in run("explain", str(rule), str(log))[1]
    assert run("match", str(rule), str(log), "--reading", "edge=open")[0] == 0
    (tmp_path / "bad.yml").write_text("title: x\na: [\n")
    status, _, said = run("match", str(tmp_path / "bad.yml"), str(log))
    assert status == 2
    assert "bad.yml:3: not YAML" in said


def test_a_rule_in_two_groups_at_one_event_raises_two_alerts() -> None:
    correlation = {"type": "event_count", "rules": ["a", "all"], "group-by": ["who"], "condition": {"gte": 1},
                   "aliases": {"who": {"a": "user", "all": "host"}}}  # fmt: skip
    query = parse(rules(correlation, detection("all", {"kind": "*"})))
    alerts = [a for a in alerts_of(query, [Event("event", {"kind": "a", "time": 0, **X})]) if a.rule == "t"]
    assert sorted(str(a.group) for a in alerts) == ["(('who', 'h'),)", "(('who', 'x'),)"]
    assert any(isinstance(rule, SigmaCorrelation) for rule in query.rules)


# --- the suite and what engines claim ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_suite_finds_every_meaning_of_a_converter() -> None:
    left = {(axis.name, value) for axis in AXES.values() for value in axis.values[1:]}
    cases = load("sigma")
    assert len(cases) >= 300
    for case in cases:
        query, S = parse(case.query), stream_of_json(case.events, None, case.id, "event", keep_nulls=True)
        here = features(query)
        for name, value in list(left):
            if here & set(AXES[name].operators):
                other = find_matches(query, S, choices_of({name: value}, AXES), "valuations", Budget())
                if other != sorted(case.matches):
                    left.discard((name, value))
    # A sum is of no numbers only where events without a number stay (null_values=kept); texts with `_` match in any
    # case by the specification, and differ from others only where these do not (case=wildcards)
    assert left == {("empty-sum", "zero"), ("like-texts", "any-case")}


@pytest.mark.thorough
def test_the_logs_of_a_rule_find_an_order_that_ends_before_the_event(tmp_path: Path) -> None:
    """pysigma-backend-sqlite 2.1.1 raises the alert of a, b again at the next a."""
    text = rules({"type": "temporal_ordered", "rules": ["a", "b"]})
    log = [Event("event", {"kind": kind, "time": t}) for t, kind in enumerate("aba")]
    assert (found_by(text, log), found_by(text, log, sequence="ends-by-event")) == ([1], [1, 2])
    one = rules({"type": "temporal_ordered", "rules": ["a", "b"], "condition": {"eq": 1}})
    both = {"sequence": "ends-by-event", "ordered-threshold": "all-in-order"}
    assert found_by(one, log[1:], **both) == [0]  # at the second event both rules occur, and not in order
    (tmp_path / "rule.yml").write_text(text, encoding="utf-8")
    cases = [case for case in cases_of_rules(tmp_path / "rule.yml")[0] if case.feature == "t"]
    streams = ((case, stream_of_json(case.events, None, case.id, "event")) for case in cases)
    assert any(
        found_by(case.query, list(S), sequence="ends-by-event") != [m.at for m in case.matches] for case, S in streams
    )


def found_by(text: str, log: list[Event], **choices: str) -> list[int]:
    return [m.at for m in find_matches(parse(text), Stream(log), choices_of(choices, AXES), "valuations", Budget())]


NETWORKS = {"s": {"k": "x", "ip|cidr": "10.20.0.0/15", "src|cidr": "10.0.0.0/8"}, "f": {"ip|cidr": "10.21.0.0/16"}}


@pytest.mark.parametrize(
    ("condition", "choices", "expected"),
    [
        ("s", {}, {0, 1}),
        ("s", {"network-parentheses": "lost"}, {0, 1, 2, 4}),  # k and 10.20.*, or 10.21.* and src
        ("s", {"networks": "texts"}, {0, 1, 3}),
        ("not f", {"network-parentheses": "lost"}, {0, 3, 4}),  # one text needs no parentheses
        ("s and not f", {"network-parentheses": "lost", "networks": "texts"}, {0, 3, 4}),
    ],
)
def test_networks_as_converters_write_them(condition: str, choices: dict[str, str], expected: set[int]) -> None:
    """As pysigma-backend-duckdb 0.1.4 writes them."""
    written = ("x 10.20.0.1 10.1.1.1", "x 10.21.0.1 10.1.1.1", "y 10.21.0.1 10.1.1.1")
    written += ("x 10.20.text 10.1.1.1", "x 10.20.0.1 9.1.1.1")
    addresses = (text.split() for text in written)
    log = [Event("e", {"time": 0, "k": k, "ip": ip, "src": src}) for k, ip, src in addresses]
    rule = {"title": "t", "logsource": {"category": "x"}, "detection": {**NETWORKS, "condition": condition}}
    assert set(found_by(show_documents([rule]), log, **choices)) == expected


def test_meanings_of_converters_that_depend_on_the_documents() -> None:
    two = rules({"type": "temporal", "rules": ["a", "b"]})
    log = [Event("event", {"kind": kind, "time": t}) for kind, t in (("a", 0), ("a", 60), ("b", 90))]
    assert found_by(two, log) == []
    assert found_by(two, log, sample="events") == [1]
    assert found_by(two, log, **{"temporal-default": "one-rule"}) == [0, 1, 2]
    written = rules({"type": "temporal", "rules": ["a", "b"], "condition": {"gte": 2}})
    assert found_by(written, log, **{"temporal-default": "one-rule"}) == []
    some = detection("some", {"kind": ["a", "b"]})  # stands before the others
    any_of = rules({"type": "event_count", "rules": ["a", "some"], "condition": {"eq": 1}}, some)
    assert found_by(any_of, log[:1], matches="one-by-one", counted="matches") == [0]
    assert found_by(any_of, log[:1], matches="one-by-one", window="extent", alerts="consumed") == [0]


def test_a_sequence_that_is_used_up_has_one_alert() -> None:
    """The answers of the engine eql 1.0.1 to `sequence with maxspan=5s [kind a] [kind b]`, and with runs=2."""
    ordered = rules({"type": "temporal_ordered", "rules": ["a", "b"]})
    counted = rules({"type": "event_count", "rules": ["a", "b"], "condition": {"gte": 2}})

    def found(text: str, kinds: str, **choices: str) -> list[int]:
        log = [Event("event", {"kind": kind, "time": t}) for t, kind in enumerate(kinds)]
        return found_by(text, log, sequence="used-up", **choices)

    assert [found(ordered, kinds) for kinds in ("abb", "aabb", "abab", "addddddb")] == [[1], [2], [1, 3], []]
    assert found(counted, "abbab", **{"several-rules": "sequence"}) == [2]
    assert found(counted, "abbabb", **{"several-rules": "sequence"}) == [2, 5]


def test_alerts_of_inner_rules_that_come_late() -> None:
    inner = {"title": "i", "name": "i", "correlation": {"type": "event_count", "rules": ["a"], "timespan": "5s"}}
    inner["correlation"]["condition"] = {"gte": 1}  # type: ignore[index]
    log = [Event("event", {"kind": kind, "time": t}) for t, kind in enumerate("aab")]
    count = rules({"type": "event_count", "rules": ["i"], "condition": {"gte": 2}}, inner)
    assert (found_by(count, log[:2]), found_by(count, log[:2], chained="silent")) == ([1], [])
    ordered = rules({"type": "temporal_ordered", "rules": ["i", "b"]}, inner)
    assert found_by(ordered, log) == found_by(ordered, log, chained="silent") == [2]


def test_an_engine_may_claim_positions_or_groups_alone() -> None:
    case = next(case for case in load("sigma") if len(case.matches) > 1 and case.matches[0].result is not None)
    claims = {"sigma": {"output": ["positions"]}}
    asked = claims_of_json(claims, "sigma").restrict_case(case)
    assert [(m.at, m.events, m.result) for m in asked.matches] == sorted({(m.at, (), None) for m in case.matches})
    asked = claims_of_json({"sigma": {"output": ["groups"]}}, "sigma").restrict_case(case)
    assert {(m.at, m.events) for m in asked.matches} == {(0, ())}
    assert {m.result for m in asked.matches} == {m.result for m in case.matches}
    answer = {"id": "1", "matches": [{"at": 0, "events": [], "result": {"rule": "t", "group": {}}}]}
    found = answer_of_json(answer, "groups", 3)
    assert isinstance(found, MatchesAnswer)
    assert found.matches[0].result is not None


@pytest.mark.parametrize("seed", sampled(range(20), range(3)))
@pytest.mark.slow
def test_counting_in_one_pass_is_the_definition(seed: int) -> None:
    rng, cases, alerts = Random(f"counting {seed}"), 0, 0
    while cases < 100 or alerts <= 10:
        cases += 1
        query, S = random_case(rng, PROFILES["rules"], 3, rng.randint(3, 25))
        if unsupported_rules(query) is None:
            found = [(m.at, m.events, m.result) for m in count_alerts(query, S)]
            assert found == [
                (a.at, a.events, result_of({"rule": a.rule, "group": dict(a.group)})) for a in alerts_of(query, S)
            ], query.text
            alerts += len(found)


@pytest.mark.thorough
@pytest.mark.parametrize("events", sampled([7_000, 70_000], [7_000]))
@pytest.mark.slow
def test_sixty_values_in_a_long_window(events: int) -> None:
    """By the definition these are more look at events more than than there is a budget for."""
    count = {"type": "value_count", "rules": ["a"], "group-by": ["user"], "timespan": "15m"}
    text = rules({**count, "condition": {"field": "size", "gte": 60}})
    S = Stream(Event("event", {"kind": "a", "user": n % 3, "size": n % 70, "time": n}) for n in range(events))
    assert api.count(text, S, language="sigma") == events - 3 * 59
    with pytest.raises(BudgetExceeded, match="look at events more than"):
        api.count(text, S, language="sigma", evaluator="denotational", budget=Budget(valuations=100_000))
    assert unsupported_rules(parse(rules({"type": "temporal", "rules": ["a"]}))) is not None


def test_rules_of_a_folder_refer_to_each_other(tmp_path: Path, run: Run) -> None:
    rule = (
        "title: two\ncorrelation:\n  type: event_count\n  rules:\n    - 'a'  # in another file\n"
        "  timespan: 5s\n  condition: {{gte: {}}}\n"
    )
    base = "title: a\nname: a\nlogsource: {category: test}\ndetection: {s: {k: x}, condition: s}\n"
    for folder, count in (("old", 2), ("new", 3)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "two.yml").write_text(rule.format(count), encoding="utf-8")
        (tmp_path / folder / "base.yml").write_text(f"title: b\nname: b\n{base[17:]}---\n{base}", encoding="utf-8")
    log = tmp_path / "log.jsonl"
    log.write_text('{"type": "event", "time": 1, "k": "x"}\n{"type": "event", "time": 2, "k": "x"}\n', encoding="utf-8")
    status, out, _ = run("match", str(tmp_path / "old" / "two.yml"), str(log), "--json")
    assert (status, json.loads(out)["at"]) == (0, 1)
    status, out, _ = run("diff", str(tmp_path / "old"), str(tmp_path / "new"))
    assert (status, out.splitlines()[-1]) == (1, "1 changed, 1 the same, 0 undecided")
    status, out, _ = run("check", str(tmp_path / "old"))
    assert (status, out) == (0, "2 rules: 2 can fire, 0 never\n")
    (tmp_path / "new" / "base.yml").unlink()
    assert (
        "'a' not found in rule collection; put the rule into the same file or folder"
        in run("check", str(tmp_path / "new"))[2]
    )
    (tmp_path / "old" / "never.yml").write_text(base.replace("{k: x}", "{k: x, 'k|startswith': y}"), encoding="utf-8")
    assert run("check", str(tmp_path / "old" / "never.yml"))[0] == 1


def test_a_message_about_a_key_is_at_its_line() -> None:
    text = "title: a\nlogsource: {category: test}\ndate: none\ndetection: {s: {k: x}, condition: s}\n"
    with pytest.raises(ParseError, match="date") as raised:
        parse(text)
    assert raised.value.span is not None
    assert text[raised.value.span.start : raised.value.span.end] == "date: none"


def test_the_table_of_a_converter_has_the_fields_of_rules_and_events_and_no_others() -> None:
    from types import SimpleNamespace

    from cerify.conformance.adapters.python import sigma_adapter as adapter

    text = rules(
        {"type": "value_count", "rules": ["a"], "group-by": ["User"], "condition": {"gte": 2, "field": "Port"}}
    )
    run: Any = SimpleNamespace(query=text, events=[{"type": "event", "time": 1, "kind": "a", "Bytes": 5, "User": "u"}])
    assert set(adapter.columns_of(run)) == {"kind", "Bytes", "User", "Port"}
    assert [adapter.is_number(name, run) for name in ("Bytes", "User", "size")] == [True, False, True]
    assert adapter.nested({"user.name": "a", "user.id": 1, "x": 2}) == {"user": {"name": "a", "id": 1}, "x": 2}
    alias = {"type": "event_count", "rules": ["a"], "group-by": ["user"], "condition": {"gte": 2}}
    run.query = rules({**alias, "aliases": {"user": {"a": "User"}}})
    assert set(adapter.columns_of(run)) == {"kind", "Bytes", "User"}  # and no alias, which was a field in other case
    run.query, run.events[0]["user"] = text, "v"
    with pytest.raises(adapter.Skip, match="differ only in case"):
        adapter.columns_of(run)


def test_rules_are_converted_once_for_many_logs() -> None:
    from cerify.adapter import RunMessage
    from cerify.conformance.adapters.python import sigma_adapter as adapter

    converted: list[Any] = []

    class Backend:
        def convert(self, rules: Any) -> list[str]:
            converted.append(rules)
            return ["SELECT"]

    text = rules({"type": "event_count", "rules": ["a", "b", "c"], "condition": {"gte": 2}})
    for _ in range(2):
        run = RunMessage({"query": text, "events": []})
        correlation, query = adapter.converted(run, Backend)
        assert (correlation.title, query, run.translations) == ("t", "SELECT", ["SELECT"])
    assert len(converted) == 1


def test_the_time_that_an_alert_takes_is_that_between_alerts_of_inner_rules(tmp_path: Path, run: Run) -> None:
    """The events of the inner rule, before the timespan, were counted."""
    rule, log = tmp_path / "rule.yml", tmp_path / "log.jsonl"
    inner = {"type": "event_count", "rules": ["a"], "timespan": "9s", "condition": {"gte": 2}}
    text = rules({"type": "temporal", "rules": ["i", "b"]}, {"title": "i", "name": "i", "correlation": inner})
    rule.write_text(text, encoding="utf-8")
    events = [{"type": "event", "time": t, "kind": k} for k, t in (("a", 0), ("a", 1), ("a", 8), ("b", 12))]
    log.write_text("".join(json.dumps(one) + "\n" for one in events), encoding="utf-8")
    said = run("explain", str(rule), str(log), "--at", "3")[1]
    assert "i: event 2\n" in said
    assert "from the first alert to the last: 4 s; the timespan is 5s" in said


def test_generate_in_a_rule_with_a_detection_warns() -> None:
    """It was ignored silently; only a correlation has it."""
    text = show_documents([{**detection("u", {"kind": "a"}), "generate": True}])
    with pytest.warns(QueryWarning, match="u: a rule with a detection has no key 'generate'"):
        assert cerify.match(text, [{"type": "event", "kind": "a"}], language="sigma")
    assert not parse(rules({"type": "event_count", "rules": ["a"], "condition": {"gte": 2}, "generate": True})).unused


def test_a_reference_to_a_part_of_a_field_is_refused_in_words_at_its_line() -> None:
    text = (
        "title: t\nlogsource: {category: c}\ndetection:\n  s:\n    a: 1\n    b|fieldref|startswith: c\n  condition: s\n"
    )
    with pytest.raises(Unsupported, match=r"b\|fieldref compares whole values") as refused:
        parse(text)
    assert refused.value.span is not None
    assert text[refused.value.span.start :].startswith("    b|fieldref")


def test_other_groups_at_the_same_time_are_shown_for_temporal_rules(tmp_path: Path, run: Run) -> None:
    """Only counts had this line."""
    rule, log = tmp_path / "rule.yml", tmp_path / "log.jsonl"
    rule.write_text(rules({"type": "temporal", "rules": ["a", "b"], "group-by": ["user"]}), encoding="utf-8")
    events = [{"type": "event", "time": t, "kind": k, "user": u} for t, (k, u) in enumerate(["ax", "by"])]
    log.write_text("".join(json.dumps(one) + "\n" for one in events), encoding="utf-8")
    said = run("explain", str(rule), str(log), "--at", "1")[1]
    assert 'other groups at the same time: event 0 of user "x"' in said


@pytest.mark.thorough
def test_test_logs_that_are_no_cases_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule = tmp_path / "rule.yml"
    body = {"type": "temporal", "rules": ["m", "n"]}
    numbers = [detection("m", {"id": 1}), detection("n", {"id": 2})]
    rule.write_text(show_documents(list(yaml.safe_load_all(rules(body, *numbers)))[:3]), encoding="utf-8")
    assert cases_of_rules(rule)[0]
    said = capsys.readouterr().err
    assert "test logs are skipped, because a field in them has both texts and numbers" in said
    assert 'not tested: rule.yml: m: without "1"' in said


@pytest.mark.thorough
def test_fractions_and_whole_numbers_are_one_type_in_cases(tmp_path: Path) -> None:
    """Logs with 0 and 0.5 in a field were no cases, so that no case of a sum had its timespan, by groups either."""
    rule, body = tmp_path / "rule.yml", {"type": "value_sum", "rules": ["a"], "group-by": ["user"]}
    documents = list(yaml.safe_load_all(rules({**body, "condition": {"gt": 0, "field": "n"}})))[:2]
    rule.write_text(show_documents(documents), encoding="utf-8")
    found = cases_of_rules(rule)[0]
    assert any(event.get("n") == 0.5 for case in found for event in case.events)
    unlimited = choices_of({"window": "unlimited"}, AXES)
    for case in found:
        S = stream_of_json(case.events, None, case.id, "event")
        said = {m.result for m in find_matches(parse(case.query), S, unlimited, "valuations", Budget())}
        if said != {m.result for m in case.matches}:
            return
    raise AssertionError


@pytest.mark.thorough
def test_each_rule_of_a_file_that_raises_alerts_has_cases_of_its_own(tmp_path: Path) -> None:
    """Converters are compared by one correlation at a time, and passed over files with two."""
    text = rules(COUNT, {"title": "u", "correlation": {**COUNT, "rules": ["b"], "timespan": "5s"}}).partition(
        "---\ntitle: c"
    )[0]
    one, other = split_by_alerts(parse(f"# of two\n{text}"))
    assert [*one.rules, *other.rules] == [*parse(text).rules]
    (tmp_path / "two.yml").write_text(text, encoding="utf-8")
    cases, _ = cases_of_rules(tmp_path)
    assert {(case.feature, case.query) for case in cases} == {
        ("t", one.text.removeprefix("# of two\n")),
        ("u", other.text),
    }
    assert len({case.id for case in cases}) == len(cases)
    own_alerts = text.replace("correlation:\n", "correlation:\n  generate: true\n", 1)
    assert split_by_alerts(parse(own_alerts)) == [parse(own_alerts)]  # what it refers to raises alerts with it


def test_a_text_where_numbers_are_added_is_named(tmp_path: Path, run: Run) -> None:
    rule, log = tmp_path / "rule.yml", tmp_path / "log.jsonl"
    body = {"type": "value_sum", "rules": ["a"], "condition": {"gte": 1, "field": "size"}}
    rule.write_text(rules(body), encoding="utf-8")
    log.write_text('{"type": "event", "time": 1, "kind": "a", "size": "600"}\n', encoding="utf-8")
    assert 'whose size is "600": value_sum needs numbers' in run("explain", str(rule), str(log), "--at", "0")[1]


NULLS = [
    '{"f": null}',
    '{"f": 0}',
    '{"g": 1}',
    '{"f": [null, null]}',
    '{"f": [null, "x"]}',
    '{"f": []}',
]
"""Fields of events, of which the first, the second, the fourth and the fifth have f."""


@pytest.mark.parametrize("head", ['"type": "event", "time": {n}', '"@timestamp": "2026-01-01T00:00:0{n}Z"'])
def test_a_field_that_is_null_exists(tmp_path: Path, run: Run, head: str) -> None:
    """By the specification; in lists only where the log has documents, in which a field may have several values."""
    lines = [line for line in NULLS if "[" not in line or "@" in head]
    rule, log = tmp_path / "rule.yml", tmp_path / "log.jsonl"
    text = "".join(line.replace("{", "{" + head.replace("{n}", str(n)) + ", ") + "\n" for n, line in enumerate(lines))
    log.write_text(text, encoding="utf-8")
    for tests, wanted in (
        ({"f|exists": True}, [0, 1, 3, 4]),
        ({"f|exists": False}, [2, 5]),
        ({"f": None}, [0, 2, 3, 5]),
        ({"f": "*"}, [1, 4]),
    ):
        rule.write_text(show_documents([detection("d", tests)]), encoding="utf-8")
        out = run("match", str(rule), str(log), "--json")[1]
        assert [json.loads(line)["at"] for line in out.splitlines()] == [p for p in wanted if p < len(lines)], tests
        rows = [json.loads(line) for line in text.splitlines()]
        rows = [row | {"type": "event"} for row in rows] if "@" not in head else rows
        assert [m.at for m in cerify.match(rule.read_text(), rows, language="sigma")] == [
            p for p in wanted if p < len(lines)
        ]


def test_a_nested_field_that_is_null_exists(tmp_path: Path, run: Run) -> None:
    rule, log = tmp_path / "rule.yml", tmp_path / "log.jsonl"
    rule.write_text(show_documents([detection("d", {"a.b|exists": True})]), encoding="utf-8")
    log.write_text('{"@timestamp": 0, "a": {"b": null}}\n{"@timestamp": 0, "a": null}\n', encoding="utf-8")
    assert [json.loads(one)["at"] for one in run("match", str(rule), str(log), "--json")[1].splitlines()] == [0]
    log.write_text('{"type": "t", "a": {"b": null}}\n{"type": "t", "a": null}\n', encoding="utf-8")
    assert [json.loads(one)["at"] for one in run("match", str(rule), str(log), "--json")[1].splitlines()] == [0]


@pytest.mark.parametrize("value", ["null", '"x"'])
def test_a_large_file_keeps_its_nulls_and_is_a_table_without_them(value: str, tmp_path: Path) -> None:
    """A table would lose them; it is read faster."""
    log, rows = tmp_path / "log.jsonl", SMALL // 30
    lines = [json.dumps({"type": "event", "time": n, "g": "y" * 9}) for n in range(rows)]
    log.write_text("\n".join([*lines, f'{{"type": "event", "time": 9, "f": {value}}}']), encoding="utf-8")
    S = read_stream(log, keep_fields=True)
    assert S.is_columnar is (value != "null" and find_spec("pyarrow") is not None)
    assert S[rows].attributes.get("f[null]") is (True if value == "null" else None)


def test_a_null_of_a_table_is_an_absent_field(tmp_path: Path, run: Run) -> None:
    """Each row of a table has a cell for each field, so that a cell without a value cannot say more."""
    rule, csv, parquet = tmp_path / "rule.yml", tmp_path / "log.csv", tmp_path / "log.parquet"
    rule.write_text(show_documents([detection("d", {"f|exists": True})]), encoding="utf-8")
    csv.write_text("type,f\nevent,\nevent,1\n", encoding="utf-8")
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({"type": ["event"] * 2, "f": [None, 1]}), parquet)
    for log in (csv, parquet):
        assert [json.loads(one)["at"] for one in run("match", str(rule), str(log), "--json")[1].splitlines()] == [1]


OWN_FIELDS = [
    {"a": 1},
    {"event": {"category": "network"}, "type": "t1"},
    {"event": {"category": ["network", "web"]}, "time": "x"},
    {"event": {"category": None}, "type": None},
    {"event.category": "event", "type": "event"},
    {"event": {"category": []}},
    {"event": {"category": 7}},
]
"""Documents that have, or lack, the fields from which an event has its type and its time."""


@pytest.mark.parametrize(
    ("selection", "wanted"),
    [
        ({"event.category": "event"}, [4]),
        ({"event.category|exists": True}, [1, 2, 3, 4, 6]),
        ({"event.category": None}, [0, 3, 5]),
        ({"event.category": "web"}, [2]),
        ({"time": "x"}, [2]),
        ({"time": None}, [0, 1, 3, 4, 5, 6]),
        ({"time|exists": True}, [2]),
        ({"type": "event"}, [4]),
        ({"type": None}, [0, 2, 3, 5, 6]),
        ({"type|exists": True}, [1, 3, 4]),
        ({"@timestamp|startswith": "2026-11-30T08:00:2"}, [2]),
    ],
)
def test_a_rule_sees_only_the_fields_of_the_document(
    selection: dict[str, Any], wanted: list[int], tmp_path: Path, run: Run
) -> None:
    """The type and the time that every event has were seen as `event.category`, `time` and `@timestamp`."""
    rule, log = tmp_path / "rule.yml", tmp_path / "log.ndjson"
    text = rules({"type": "event_count", "rules": ["d"], "condition": {"gte": 1}}, detection("d", selection))
    rule.write_text(text, encoding="utf-8")
    documents = [{"@timestamp": f"2026-11-30T08:00:{n}0Z", **one} for n, one in enumerate(OWN_FIELDS[:6])]
    documents.append({"@timestamp": "2026-11-30T08:01:00Z", **OWN_FIELDS[6]})
    log.write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    out = run("match", str(rule), str(log), "--json")[1]
    assert [json.loads(line)["at"] for line in out.splitlines()] == wanted
    events = [event_of_document(one, "here", keep_fields=True) for one in documents]
    assert [alert.at for alert in alerts_of(parse(text), events)] == wanted
    assert [event_of_document(document_of_event(e), "here", keep_fields=True) for e in events] == events
    assert [m.at for m in cerify.match(text, documents, language="sigma")] == wanted
    if "@timestamp|startswith" in selection:
        return
    if find_spec("z3"):
        assert fires_on_some_log(parse(text)) is True
    if 0 not in wanted:
        assert "is absent" in run("explain", str(rule), str(log), "--at", "0")[1]


def test_a_group_has_no_value_of_a_field_that_a_document_lacks() -> None:
    text = rules(
        {"type": "event_count", "rules": ["d"], "group-by": ["event.category"], "condition": {"gte": 1}},
        detection("d", {"a": 1}),
    )
    documents: list[dict[str, Any]] = [{"a": 1}, {"a": 1, "event": {"category": "network"}}]
    documents = [{"@timestamp": f"2026-01-01T00:00:0{n}Z", **one} for n, one in enumerate(documents)]
    S = Stream([event_of_document(one, "here", keep_fields=True) for one in documents])
    assert [a.group for a in alerts_of(parse(text), S)] == [(("event.category", "network"),)]
    assert [m.at for m in count_alerts(parse(text), S)] == [1]


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl"])
@pytest.mark.parametrize("options", [(), ("--type", "kind", "--time", "ts")])
def test_columns_of_type_and_time_are_fields_too(name: str, options: tuple[str, ...], tmp_path: Path, run: Run) -> None:
    """They were read as the event's type and time alone: `type: login` found nothing."""
    rule, log = tmp_path / "rule.yml", tmp_path / name
    rows = [{"type": "login", "time": 1, "ts": 5, "kind": "k"}, {"type": "event", "time": 2, "ts": 6, "kind": "event"}]
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    log.write_text("\n".join(lines if name == "log.csv" else map(json.dumps, rows)), encoding="utf-8")
    for selection, wanted in (
        ({"type": "login"}, [0]),
        ({"type": "event"}, [1]),
        ({"kind": "event"}, [1]),
        ({"time": 2}, [1]),
        ({"ts|gte": 6}, [1]),
        ({"event.category|exists": True}, []),
        ({"@timestamp": None}, [0, 1]),
    ):
        rule.write_text(show_documents([detection("d", selection)]), encoding="utf-8")
        out = run("match", str(rule), str(log), "--json", *options)[1]
        assert [json.loads(line)["at"] for line in out.splitlines()] == wanted, selection
        if not options:
            text = rule.read_text(encoding="utf-8")
            assert [m.at for m in cerify.match(text, rows, language="sigma")] == wanted


def test_another_field_of_time_leaves_timestamp_to_the_document(tmp_path: Path, run: Run) -> None:
    rule, log = tmp_path / "rule.yml", tmp_path / "log.ndjson"
    rule.write_text(show_documents([detection("d", {"@timestamp|exists": True})]), encoding="utf-8")
    log.write_text('{"ts": 5, "event": {"kind": "a"}}\n{"ts": 6, "@timestamp": "no time"}\n', encoding="utf-8")
    out = run("match", str(rule), str(log), "--json", "--time", "ts")[1]
    assert [json.loads(line)["at"] for line in out.splitlines()] == [1]


def test_deciders_know_that_a_document_may_lack_its_category() -> None:
    """They said "equivalent", and that a rule never fires."""
    pytest.importorskip("z3")
    correlation = {"type": "event_count", "rules": ["d"], "condition": {"gte": 1}}
    network = {"event.category": "network"}
    for one, other in (
        (detection("d", {"a": 1}), detection("d", {"a": 1, "event.category|exists": True})),
        (
            detection("d", {"a": 1}, "s and not n", n=network),
            detection("d", {"a": 1, "event.category|exists": True}, "s and not n", n=network),
        ),
        (detection("d", {"time": 1}), detection("d", {"time": [1, 2]})),
        (detection("d", {"a": 1}), detection("d", {"a": 1, "type": None})),
    ):
        left, right = parse(rules(correlation, one)), parse(rules(correlation, other))
        verdict = compare_sigma(left, right)
        assert isinstance(verdict, Different)
        S = [event_of_document(document_of_event(e), "here", keep_fields=True) for e in verdict.stream]
        assert {a.at for a in alerts_of(left, S)} != {a.at for a in alerts_of(right, S)}


def test_every_generated_document_has_its_time_in_timestamp() -> None:
    """Only documents whose time is elsewhere lack the field, and none is generated: the answer is undecided."""
    pytest.importorskip("z3")
    left = parse(show_documents([detection("d", {"a": 1})]))
    right = parse(show_documents([detection("d", {"a": 1, "@timestamp|exists": True})]))
    assert isinstance(compare_sigma(left, right), Undecided)
    absent = parse(show_documents([detection("d", {"@timestamp": None})]))
    assert fires_on_some_log(absent) is None
    for log in logs_around(right):
        documents = [event_of_document(document_of_event(e), "here", keep_fields=True) for e in log]
        assert [a.at for a in alerts_of(right, log)] == [a.at for a in alerts_of(right, documents)]


def test_logs_for_engines_keep_the_category() -> None:
    """It became the type of the event, which a converter's query does not see."""
    pytest.importorskip("z3")
    query = parse(show_documents([detection("d", {"event.category": "network"})]))
    logs = logs_around(query)
    found = [json_of_event(log[a.at]) for log in logs for a in alerts_of(query, log)]
    assert found
    assert {str(one["event.category"]).lower() for one in found} == {"network"}
    assert {one["type"] for one in found} == {"event"}


def test_a_group_by_type_has_no_alias() -> None:
    text = rules({"type": "event_count", "rules": ["a"], "group-by": ["type", "time"], "condition": {"gte": 2}})
    assert "aliases" not in LANGUAGES["sigma"].syntax.constructs(parse(text))


def test_no_mistake_groups_by_a_null() -> None:
    text = rules(
        {"type": "event_count", "rules": ["d"], "condition": {"gte": 1}}, detection("d", {"time|exists": True})
    )
    assert [words for words, _ in mutants_of(parse(text)) if " too" in words] == ["t: grouped by time too"]


def test_cel_has_no_fields_type_and_time() -> None:
    with pytest.raises(Unsupported, match="the field time cannot be translated: in CEL, time is the time of the event"):
        sigma_to_cel(parse(show_documents([detection("d", {"time": 1})])))


@pytest.mark.parametrize(
    ("kind", "bound", "wanted"), [("value_sum", 3, [1]), ("value_count", 2, [1]), ("value_avg", 2, [])]
)
def test_an_array_is_counted_and_added_by_its_first_value(kind: str, bound: int, wanted: list[int]) -> None:
    """So is it in a group: an event is in one group and adds one number."""
    condition = {"field": "n", "gte": bound}
    text = rules({"type": kind, "rules": ["d"], "condition": condition}, detection("d", {"a": 1}))
    documents = [{"@timestamp": "2026-01-01T00:00:00Z", "a": 1, "n": n} for n in ([1, 5], [2, 5])]
    S = Stream([event_of_document(one, "here", keep_fields=True) for one in documents])
    assert [a.at for a in alerts_of(parse(text), S)] == wanted
    if kind == "value_count":
        assert [m.at for m in count_alerts(parse(text), S)] == wanted


def test_explanations_tell_null_from_absent(tmp_path: Path, run: Run) -> None:
    rule, log = tmp_path / "rule.yml", tmp_path / "log.jsonl"
    rule.write_text(show_documents([detection("d", {"f|exists": False})]), encoding="utf-8")
    log.write_text('{"type": "event", "time": 1, "f": null}\n{"type": "event", "time": 2}\n', encoding="utf-8")
    out = run("explain", str(rule), str(log), "--match", "0")[1]
    assert "event time=1 f=null" in out
    assert "d requires f|exists: false, and f is null" in out or "f|exists: true, and f is null" in out
    rule.write_text(show_documents([detection("d", {"f|exists": True})]), encoding="utf-8")
    assert "f|exists: true, and f is absent" in run("explain", str(rule), str(log), "--match", "1")[1]


def test_nulls_are_written_back_and_compared() -> None:
    """Test logs, differences and the protocol's events carry null; other languages read no null."""
    one = parse(show_documents([detection("d", {"kind": "a", "f|exists": True})]))
    other = parse(show_documents([detection("d", {"kind": "a", "f": "*"})]))
    verdict = compare_sigma(one, other)
    assert isinstance(verdict, Different)
    (event,) = verdict.stream
    assert document_of_event(event)["f"] is None
    assert json_of_event(event)["f"] is None
    assert event_of_json(json_of_event(event), None, "here", {}, True) == event
    assert event_of_json(json_of_event(event), None, "here").attributes.keys() == {"kind", "time"}
    assert event_of_document(document_of_event(event), "here", keep_fields=True).attributes["f[null]"] is True
    found = make_sigma_tests(one)
    kills = [word for test in found.tests for word in test.kills]
    assert "d: null as absent in f|exists: true" in kills
    assert not found.left
    assert [word for word in kills if "[" in word] == []
    assert isinstance(compare_sigma(one, one), SameRules)


def test_cel_has_no_null() -> None:
    with pytest.raises(Unsupported, match=r"f\|exists cannot be translated: it is true of a field that is null"):
        sigma_to_cel(parse(show_documents([detection("d", {"f|exists": True})])))


def test_only_events_that_could_be_of_the_group_are_left_out_for_an_absent_field(tmp_path: Path, run: Run) -> None:
    rule, log = tmp_path / "rule.yml", tmp_path / "log.jsonl"
    body = {"type": "temporal", "rules": ["a", "b"], "group-by": ["host", "user"]}
    rule.write_text(rules(body), encoding="utf-8")
    events = [("a", {"user": "x"}), ("a", {"user": "y"}), ("a", {}), ("b", {"host": "h", "user": "y"})]
    lines = (json.dumps({"type": "event", "time": t, "kind": k, **more}) + "\n" for t, (k, more) in enumerate(events))
    log.write_text("".join(lines), encoding="utf-8")
    said = run("explain", str(rule), str(log), "--at", "3")[1]
    assert "a: it occurs at event 1, which has no value of host" in said
    left_out = re.findall(r"left out: (.*), which ha(?:s|ve) no value of (\w+)", said)
    assert left_out == [("events 1, 2", "host"), ("event 2", "user")]


def test_all_events_that_lack_a_value_are_listed_and_the_nearest_alerts_share_events(tmp_path: Path, run: Run) -> None:
    """Of five events without a user the last alone was named; and alerts were near that share no event."""
    rule, log = tmp_path / "rule.yml", tmp_path / "log.jsonl"
    body = {"type": "event_count", "rules": ["a"], "group-by": ["user"], "timespan": "9s", "condition": {"gte": 2}}
    rule.write_text(rules(body), encoding="utf-8")
    users = [None] * 5 + ["x", "y", None, "y", "z", "y"]
    events = [{"type": "event", "time": t, "kind": "a", **({"user": u} if u else {})} for t, u in enumerate(users)]
    log.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    said = run("explain", str(rule), str(log), "--at", "9")[1]
    assert "left out: events 0 to 4, 7, which have no value of user" in said
    said = run("explain", str(rule), str(log), "--match", "8,9")[1]
    assert said.partition("nearest matches\n")[2].split("\n")[:2] == [
        "  {6, 8}: with 6 and without 9",
        "  {6, 8, 10}: with 6, 10 and without 9",
    ]
    said = run("explain", str(rule), str(log), "--match", "5,9")[1]
    assert "nearest matches\n  none: no alert has any of these events" in said
    assert "nearest" not in run("explain", str(rule), str(log), "--match", "6,8")[1]


@pytest.mark.parametrize(
    ("body", "log", "at", "said"),
    [
        ({"condition": {"gte": 2}}, [("a", 0), ("a", 1.5), ("b", 6.6)], 1, "b: event 2 comes 0.1 s too late"),
        ({}, [("a", 0), ("b", 1), ("a", 2), ("c", 6.5)], 2, "c: event 3 comes 0.5 s too late"),
        (
            {"type": "temporal_ordered"},
            [("a", 0), ("b", 1), ("a", 2), ("c", 6.5)],
            2,
            "c: event 3 comes 1.5 s too late",
        ),
        (
            {"type": "temporal_ordered", "condition": {"gte": 2}},
            [("b", 0), ("b", 1), ("a", 7)],
            1,
            "a: event 2 comes 6 s later",
        ),
        (
            {"type": "event_count", "condition": {"gte": 2}},
            [("a", 0), ("a", 9), ("a", 6)],
            2,
            "event 0, is 1 s too early",
        ),
    ],
)
def test_an_event_is_late_for_the_nearest_events_that_it_needs(
    body: dict[str, Any], log: list[tuple[str, float]], at: int, said: str, tmp_path: Path, run: Run
) -> None:
    """It was late for the first event of the window, which the alert did not need."""
    rule, file = tmp_path / "rule.yml", tmp_path / "log.jsonl"
    rule.write_text(rules({"type": "temporal", "rules": ["a", "b", "c"], **body}), encoding="utf-8")
    lines = (json.dumps({"type": "event", "time": t, "kind": kind}) + "\n" for kind, t in log)
    file.write_text("".join(lines), encoding="utf-8")
    assert said in run("explain", str(rule), str(file), "--at", str(at))[1]


@pytest.mark.thorough
def test_test_logs_find_a_threshold_that_lost_its_fraction(tmp_path: Path) -> None:
    """pySigma 1.5 reads `gt: 3.5` as 3; a threshold of at least 3.5 gave the same answers."""
    body = {"type": "value_avg", "rules": ["a"], "group-by": ["user"], "condition": {"gt": 3.5, "field": "n"}}
    text = show_documents(list(yaml.safe_load_all(rules(body)))[:2])
    assert not make_sigma_tests(parse(text)).left
    (tmp_path / "rule.yml").write_text(text, encoding="utf-8")
    streams = [list(stream_of_json(c.events, None, c.id, "event")) for c in cases_of_rules(tmp_path / "rule.yml")[0]]
    cut, least = {"constants": "truncated"}, {"threshold": "at-least"}
    assert any(found_by(text, S, **cut) not in (found_by(text, S), found_by(text, S, **least)) for S in streams)


@pytest.mark.slow
def test_test_logs_find_a_value_that_is_added_once_for_each_rule() -> None:
    """Only of event_count was the reading tried; of a sum over two rules, not at all."""
    body = {"type": "value_avg", "rules": ["a", "big"], "condition": {"gt": 3, "field": "n"}}
    query = parse(rules(body, detection("big", {"host": "h"})))
    tests = make_sigma_tests(query).tests
    assert "reading counted=matches" in {words for test in tests for words in test.kills}


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("[0-9]+", "[0-9][0-9]*", True),
        ("^a(b|c)$", "^(ab|ac)$", True),
        (r"\bx{2,3}", r"\b(xx|xxx)", True),
        ("[0-9]+", "[0-9]*", False),
        ("^a.*z$", "^a.*", False),
    ],
)
def test_regular_expressions_that_match_the_same_texts_are_the_same_test(old: str, new: str, same: bool) -> None:
    left, right = (parse(show_documents([detection("r", {"f|re": one})])) for one in (old, new))
    assert isinstance(compare_sigma(left, right), SameRules) == same


def test_automata_of_expressions_agree_with_their_matches() -> None:
    expressions = ("a*", "a+", "(a|b)*a", "(b*a)+", "a|aa|aaa+", "^a", "a$|b", r"\ba\b", "(ab)*", "()|ab(ab)*", "[^b]*")
    texts = ["".join(word) for n in range(5) for word in product("ab ", repeat=n)]
    for one, other in product(expressions, repeat=2):
        by_texts = all(Pattern(one).matches(t) == Pattern(other).matches(t) for t in texts)
        assert match_same_texts(one, other) == by_texts, (one, other)


def test_a_condition_is_said_of_alerts_and_of_temporal_rules_that_do_not_fire(tmp_path: Path, run: Run) -> None:
    """Of fewer than two rules the one that was not there was said to be missing."""
    rule, log = tmp_path / "rule.yml", tmp_path / "log.jsonl"
    lines = [json.dumps({"type": "event", "time": t, "kind": kind}) + "\n" for t, kind in enumerate("aba")]
    log.write_text("".join(lines), encoding="utf-8")
    rule.write_text(rules({"type": "temporal", "rules": ["a", "b", "c"], "condition": {"lt": 2}}), encoding="utf-8")
    said = run("explain", str(rule), str(log), "--at", "1")[1]
    assert "2 of 3 rules occur within 5s before event 1; an alert needs fewer than 2" in said
    assert "c: " not in said
    rule.write_text(rules({"type": "event_count", "rules": ["a"], "condition": {"gte": 2}}), encoding="utf-8")
    assert "events: 2; an alert needs at least 2" in run("explain", str(rule), str(log))[1]
    average = {"type": "value_avg", "rules": ["a"], "condition": {"field": "time", "lt": 0}}
    rule.write_text(rules(average), encoding="utf-8")
    assert "; an alert needs less than 0" in run("explain", str(rule), str(log), "--at", "2")[1]


def test_diff_names_the_rule_of_a_file_that_changed(tmp_path: Path, run: Run) -> None:
    body = {"type": "event_count", "rules": ["a"], "generate": True}
    for name, least in (("old", 2), ("new", 3)):
        text = rules({**body, "condition": {"gte": least}})
        (tmp_path / f"{name}.yml").write_text(text, encoding="utf-8")
    out = run("diff", str(tmp_path / "old.yml"), str(tmp_path / "new.yml"))[1]
    assert out.startswith("changed: t (new.yml)\n")


def test_a_converter_may_compare_cased_texts_in_any_case() -> None:
    count = rules({"type": "event_count", "rules": ["x"], "condition": {"gte": 1}}, detection("x", {"f|cased": "Ab"}))
    log = [Event("event", {"f": f, "time": t}) for t, f in enumerate(("Ab", "aB", "b"))]
    query = parse(count)
    assert "cased" in features(query)
    assert "cased" not in features(parse(rules({"type": "event_count", "rules": ["a"], "condition": {"gte": 1}})))
    assert (found_by(count, log), found_by(count, log, cased="folded")) == ([0], [0, 1])


@pytest.mark.parametrize(
    ("test", "choice", "value", "places"),
    [
        ({"f|startswith|cased": "h"}, "cased-texts", "literal", [1]),
        ({"f|cased": "h"}, "cased-texts", "anywhere", [0, 1, 2, 3]),
        ({"f|cased": "h[12]"}, "cased-texts", "glob", [2]),
        ({"f|cased": "h?"}, "question-marks", "plain", [1, 2, 3]),
        ({"f|re": "^h1$"}, "cased-texts", "anywhere", []),
    ],
)
def test_cased_texts_without_case_are_still_those_that_other_choices_are_about(
    test: dict[str, str], choice: str, value: str, places: list[int]
) -> None:
    """EQL compares `h*` as a text and in any case, and no choice was named, since one hid the other."""
    count = rules({"type": "event_count", "rules": ["x"], "condition": {"gte": 1}}, detection("x", test))
    log = [Event("event", {"f": f, "time": t}) for t, f in enumerate(("xH", "H*", "H1", "HX"))]
    assert found_by(count, log, **{"cased": "folded", choice: value}) == places


WHY_NOT = """
title: t
correlation:
  type: event_count
  rules: [a]
  group-by: [user]
  timespan: 10s
  condition: {gte: 3}
---
title: a
name: a
logsource: {category: test}
detection:
  selection: {kind: a, size: [3, 10]}
  net: {ip|cidr: 10.0.0.0/8}
  named: {name|endswith|cased: X}
  shown: {text|re: '^go$'}
  filter_one: {host: h1}
  filter_two: {host: h2, user|fieldref: owner}
  condition: selection and (net or named) and shown and not 1 of filter_*
"""


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"kind": "b"}, 'selection requires kind: "a", and kind is "b"'),
        ({"size": 4}, "selection requires size: 3 or size: 10, and size is 4"),
        (
            {"ip": "11.0.0.1", "name": "mx"},
            'none of these holds: net requires ip|cidr: 10.0.0.0/8, and ip is "11.0.0.1"; '
            'named requires name|cased: "*X", and name is "mx", in another case',
        ),
        ({"text": "GO"}, 'shown requires text|re: ^go$, and text is "GO", in another case'),
        ({"host": "H1"}, 'it requires that filter_one is false: the event has host: "h1", and host is "H1"'),
        (
            {"host": "h2", "owner": "x"},
            'it requires that filter_two is false: the event has host: "h2" and user|fieldref: owner',
        ),
        ({"user": "X"}, 'event 1 belongs to user "X", not to user "x": they differ in case'),
        ({"user": None}, "a occurs at event 1, which has no value of user"),
        ({"time": -10}, "event 0, is 1 s too early"),
    ],
)
def test_what_keeps_a_named_event_out_is_said(event: dict[str, Any], said: str, tmp_path: Path, run: Run) -> None:
    """Only the last event was looked at, and no selection was named."""
    good = {"kind": "a", "size": 3, "ip": "10.1.1.1", "text": "go", "user": "x", "host": "h3"}
    log = [{**good, "time": 0}, {**good, "time": 1, **event}, {**good, "time": 1}]
    log = sorted(({n: v for n, v in e.items() if v is not None} for e in log), key=lambda e: e["time"])
    rule, file = tmp_path / "rule.yml", tmp_path / "log.jsonl"
    rule.write_text(WHY_NOT, encoding="utf-8")
    file.write_text("".join(json.dumps({"type": "event", **e}) + "\n" for e in log), encoding="utf-8")
    assert said in run("explain", str(rule), str(file), "--match", "0,1,2")[1]


@pytest.mark.parametrize(
    ("body", "named", "said"),
    [
        (
            {"type": "temporal_ordered", "rules": ["a", "b"]},
            "0,2",
            "of several chains of 2 rules, an alert has the one with the latest events: event 1, not event 0",
        ),
        (
            {"type": "temporal_ordered", "rules": ["a", "b"], "condition": {"gte": 1}},
            "2",
            "an alert of temporal_ordered has the longest chain of rules in their order: 2 rules",
        ),
        ({"type": "temporal", "rules": ["a", "b"]}, "0,2", "has all events of the window, so also event 1"),
        (
            {"type": "event_count", "rules": ["a", "b"], "condition": {"gte": 2}},
            "2",
            "an alert of event_count has all events of the window, so also events 0, 1",
        ),
    ],
)
def test_why_an_alert_has_other_events_is_said(
    body: dict[str, Any], named: str, said: str, tmp_path: Path, run: Run
) -> None:
    rule, log = tmp_path / "rule.yml", tmp_path / "log.jsonl"
    rule.write_text(rules(body), encoding="utf-8")
    events = ({"type": "event", "time": n, "kind": kind} for n, kind in enumerate("aab"))
    log.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    assert said in run("explain", str(rule), str(log), "--match", named)[1]


@pytest.mark.parametrize(("group", "counted"), [("user", "ip"), ("ip", "user")])
@pytest.mark.parametrize("other", [{"user|endswith": "$"}, {"user": ["p", "q", "r"]}])
def test_a_network_that_a_filter_no_longer_has_is_found_beside_a_group(
    group: str, counted: str, other: dict[str, Any]
) -> None:
    """Each event got the same address of the network, so that the different addresses of an alert were not found."""

    def rule(*networks: str) -> Any:
        body = {"type": "value_count", "rules": ["d"], "group-by": [group], "timespan": "9s"}
        condition = {"gt": 4 if "user|endswith" in other else 2, "field": counted}
        filter_ = {"ip|cidr": [*networks], **other}
        d = detection("d", {"kind": "a"}, "s and not f", f=filter_)
        return parse(show_documents([{"title": "t", "correlation": {**body, "condition": condition}}, d]))

    nets = ("10.0.0.0/8", "192.168.0.0/16")
    for left, right in ((rule(*nets), rule(nets[0])), (rule(*nets), rule(nets[1]))):
        assert isinstance(compare_sigma(left, right), Different)


def test_an_answer_by_groups_is_shown_as_its_group() -> None:
    """Position 0, which stands for no position, was shown."""
    match = Match(2, (1, 2), (), result_of({"rule": "t", "group": {"user": "ann"}}))
    (of_group,) = of_output([match], "sigma", "groups")
    assert shown_match(of_group) == '{"group": {"user": "ann"}, "rule": "t"}'
    assert shown_match(match).startswith("{1, 2} at 2")


OF_CONDITIONS: list[tuple[dict[str, Any], dict[str, str], list[dict[str, Any]], set[int]]] = [
    ({"f|gte": 10}, {}, [{"f": 10}, {"f": "10"}, {"f": "9"}, {"f": "100"}], {0}),
    ({"f|gte": 10}, {"compared-texts": "as-numbers"}, [{"f": 10}, {"f": "10"}, {"f": "9"}, {"f": "x"}], {0, 1}),
    ({"f|gte": 10}, {"compared-texts": "as-texts"}, [{"f": 9}, {"f": "10"}, {"f": "9"}, {"f": "0"}], {1, 2}),
    ({"f|lt": 5}, {"compared-texts": "as-texts"}, [{"f": 4}, {"f": "10"}, {"f": "9"}, {}], {0, 1}),
    ({"f|fieldref": "g"}, {}, [{"f": "A", "g": "a"}, {"f": "a", "g": "a"}, {"f": 1, "g": 1}], {1, 2}),
    (
        {"f|fieldref": "g"},
        {"fieldref": "folded"},
        [{"f": "A", "g": "a"}, {"f": 1, "g": 1}, {"f": "ab", "g": "a"}],
        {0, 1},
    ),
    ({"f|exists": True}, {"nulls": "absent"}, [{"f[null]": True}, {"f": 1}, {}], {1}),
    ({"f|exists": False}, {"nulls": "absent"}, [{"f[null]": True}, {"f": 1}, {}], {0, 2}),
]


@pytest.mark.parametrize(("selection", "choices", "events", "passing"), OF_CONDITIONS)
def test_a_converter_compares_fields_and_texts_in_its_own_way(
    selection: dict[str, Any], choices: dict[str, str], events: list[dict[str, Any]], passing: set[int]
) -> None:
    text = show_documents([detection("d", selection)])
    log = [Event("event", {**fields, "time": n}) for n, fields in enumerate(events)]
    assert set(found_by(text, log, **choices)) == passing


@pytest.mark.parametrize(("kind", "number"), [("value_sum", 9), ("value_avg", 4.5), ("value_percentile", 4.5)])
def test_texts_that_say_numbers_are_added(kind: str, number: float) -> None:
    """As the converter for SQLite has it, in its sums and in those of DuckDB."""
    more = {"percentile": 50} if kind == "value_percentile" else {}
    condition = {"gte": number, "lte": number, "field": "n", **more}
    text = rules({"type": kind, "rules": ["a"], "condition": condition})
    log = [Event("event", {"kind": "a", "time": t, "n": n}) for t, n in enumerate(("4", " 5 ", "x", "1e999x"))]
    assert found_by(text, log) == []
    assert found_by(text, log, **{"added-texts": "numbers"}) == [1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("selection", "correlation", "axes"),
    [
        ({"kind": "a", "size|gte": 10}, {}, {"compared-texts"}),
        ({"size|lt": 5}, {}, {"compared-texts"}),
        ({"u|fieldref": "v"}, {}, {"fieldref"}),
        ({"kind": "a", "u|exists": True}, {}, {"nulls"}),
        ({"kind": "a"}, {"type": "value_avg", "condition": {"gte": 10, "field": "n"}}, {"added-texts"}),
    ],
)
def test_logs_for_engines_tell_these_meanings_apart(
    selection: dict[str, Any], correlation: dict[str, Any], axes: set[str]
) -> None:
    """So that `conform` names the cause; logs in which a field has texts and numbers are left out."""
    body = {"type": "event_count", "condition": {"gte": 2}, **correlation, "rules": ["d"], "timespan": "5s"}
    query = parse(show_documents([{"title": "t", "correlation": body}, detection("d", selection)]))
    lines = api.language_named("sigma").explanations.logs_for_engines(query).lines
    read = ([event_of_document(one, "here", keep_fields=True) for one in line["log"]] for line in lines)
    logs = [log for log in read if has_one_kind_a_field(log)]
    for name in axes:
        meanings = [choices_of({name: value}, AXES) for value in AXES[name].values]
        for one, other in combinations(meanings, 2):
            assert any(
                {m.at for m in find_matches(query, log, one, "valuations", Budget())}
                != {m.at for m in find_matches(query, log, other, "valuations", Budget())}
                for log in logs
            ), (name, one[name], other[name])


def test_an_alert_counts_with_the_fields_of_each_of_its_events() -> None:
    """As pysigma-backend-sqlite 2.1.1 has it; an order that ends before the event has the event at which it ends."""
    log = [Event("event", {"kind": "a", "time": t, **n}) for t, n in enumerate(({"n": 3}, {"n": 1}, {"n": 0}))]
    average = {"type": "value_avg", "rules": ["inner"], "timespan": "1s", "condition": {"gte": 1, "field": "n"}}
    each = {"alert-fields": "each"}
    meanings: list[dict[str, str]] = [{}, each, {**each, "sequence": "ends-by-event"}]
    for kind, expected in (("temporal", [2, 3, 3]), ("temporal_ordered", [2, 2, 3])):
        body = {"type": kind, "rules": ["a"], "timespan": "1s"}
        text = rules(average, {"title": "inner", "name": "inner", "correlation": body})
        assert [len(found_by(text, log, **choices)) for choices in meanings] == expected


def test_the_events_whose_fields_an_alert_has() -> None:
    """As pysigma-backend-sqlite 2.1.1 has them: those with the value, and those of the earliest order."""
    each = {"alert-fields": "each", "null_values": "kept", "sequence": "ends-by-event"}

    def found(outer: dict[str, Any], inner: dict[str, Any], *events: dict[str, Any]) -> list[int]:
        text = rules(
            {"rules": ["inner"], "timespan": "1s", **outer}, {"title": "inner", "name": "inner", "correlation": inner}
        )
        return found_by(text, [Event("event", {"time": t, **one}) for t, one in enumerate(events)], **each)

    count = {"type": "event_count", "group-by": ["n"], "condition": {"gte": 1}}
    total = {"type": "value_sum", "rules": ["a"], "timespan": "9s", "condition": {"gte": 1, "field": "m"}}
    assert found(count, total, {"kind": "a", "m": 1, "n": 0}, {"kind": "a", "n": 1}) == [0, 1]
    one = {"type": "value_sum", "condition": {"eq": 1, "field": "n"}}
    ordered = {"type": "temporal_ordered", "rules": ["a", "b"], "timespan": "9s"}
    assert found(one, ordered, {"kind": "a", "n": 1}, {"kind": "a", "n": 5}, {"kind": "b", "n": 0}) == [2]


def test_an_inner_alert_counts_once_for_an_event_and_has_the_group_by_its_own_name() -> None:
    """As rsigma 0.23 has it: no alias of the outer rule is followed to the group of an inner alert."""
    rsigma = {"matches": "one-by-one", "counted": "matches", "null_groups": "joined", "alert-fields": "group"}
    inner = {"type": "event_count", "rules": ["a", "b"], "group-by": ["u"], "condition": {"gte": 1}, "timespan": "9s"}
    both = detection("b", {"kind": "a"})

    def found(outer: dict[str, Any], **choices: str) -> list[int]:
        documents = [{"title": "inner", "name": "inner", "correlation": inner}, detection("a", {"kind": "a"}), both]
        outer = {"title": "t", "correlation": {"type": "event_count", "rules": ["inner"], "timespan": "5s", **outer}}
        return found_by(
            show_documents([outer, *documents]), [Event("event", {"kind": "a", "time": 0, "u": "x"})], **choices
        )

    assert found({"condition": {"gte": 2}}, **rsigma) == []
    alias = {"aliases": {"who": {"inner": "u", "a": "u"}}, "group-by": ["who"], "rules": ["a", "inner"]}
    assert found({"condition": {"gte": 2}, **alias}, **rsigma) == []
    assert found({"condition": {"gte": 2}, **alias}, **rsigma | {"alert-fields": "last"}) == [0]


def test_sums_of_no_numbers_and_alerts_without_fields() -> None:
    """As rsigma 0.23 has them: both are 0."""
    total = {"type": "value_sum", "timespan": "1s", "condition": {"lt": 2, "field": "n"}}
    temporal = {"type": "temporal", "rules": ["a"], "timespan": "1s"}
    inner = {"title": "inner", "name": "inner", "correlation": temporal}
    kept = {"null_values": "kept", "empty-sum": "zero"}
    none = [Event("event", {"kind": "a", "time": 0})]
    assert [found_by(rules({**total, "rules": ["a"]}), none, **some) for some in ({}, kept)] == [[], [0]]
    two = [Event("event", {"kind": "a", "time": 0, "n": 2})]
    of_alerts = rules({**total, "rules": ["inner"]}, inner)
    assert found_by(of_alerts, two, **kept) == []
    assert found_by(of_alerts, two, **kept, **{"alert-fields": "group"}) == [0]
    by_n = {"title": "inner", "name": "inner", "correlation": temporal | {"group-by": ["n"]}}
    count = {"type": "value_count", "rules": ["inner"], "timespan": "1s", "condition": {"gte": 1, "field": "n"}}
    assert [found_by(rules(count, by_n), two, **some) for some in ({}, {"alert-fields": "group"})] == [[0], []]


@pytest.mark.parametrize(
    ("detection", "said"),
    [
        ({"s": {"ip|cidr": "10.0.0.0/15"}, "o": {"k": "x"}, "condition": "o and not s"},
         {"parentheses lost around the texts of networks", "/14", "/16", "the text 10*", "are compared as texts"}),
        ({"s": {"ip|cidr": "10.1.2.3/32"}, "condition": "s"}, {"/31"}),
        ({"s": {"k": "x", "m": "y"}, "o": {"n": 1}, "condition": "o and not 1 of s*"}, {"parentheses lost after not"}),
        ({"s": {"k": "x"}, "t": {"m": "y"}, "o": {"n": 1}, "condition": "o and (s or t)"},
         {"parentheses lost around or"}),
        ({"s": {"ip|cidr": "172.16.0.0/12"}, "condition": "s"}, {"the text 172*", "the text 172.*"}),
        ({"s": {"k|contains": " a", "n": "b "}, "condition": "s"},
         {'spaces lost in k: "* a*"', 'spaces lost in n: "b "'}),
        ({"s": {"k": "a_b%"}, "condition": "s"}, {"_ as a wildcard", "% as a wildcard"}),
        ({"s": {"n|gte": 5}, "condition": "s"}, {"texts in n are compared as numbers", "texts in n are more than"}),
        ({"s": {"n|fieldref": "m"}, "condition": "s"}, {"n|fieldref: m without case"}),
        ({"s": {"a": 1}, "f": {"n|fieldref": "m"}, "condition": "s and not f"}, {"n|fieldref: m without case"}),
        ({"s": {"k|re": "^ab{2,3}c+$"}, "condition": "s"},
         {"|re: ab{2,3}c+$", "|re: ^ab{2,3}c+", "|re: ^ab{3,3}c+$", "|re: ^ab{1,3}c+$", "|re: ^ab{2,4}c+$",
          "|re: ^ab{2,3}c*$", "in any case"}),
    ],
)  # fmt: skip
def test_logs_find_what_converters_make_of_a_condition(detection: dict[str, Any], said: set[str]) -> None:
    rule = {"title": "t", "name": "t", "logsource": {"category": "test"}, "detection": detection}
    found = make_sigma_tests(parse(show_documents([rule])))
    kills = [words for test in found.tests for words in test.kills]
    assert [one for one in said if not any(one in words for words in kills)] == []
    assert not found.left


OF_FIELDS = [
    # a group and an alias have a field that a filter compares
    rules(
        {"type": "temporal", "rules": ["d", "b"], "group-by": ["host", "who"],
         "aliases": {"who": {"d": "user", "b": "member"}}},
        detection("d", {"kind": "d"}, "s and not f", f={"owner|fieldref": "user"}),
    ),
    rules(
        {"type": "event_count", "rules": ["d"], "group-by": ["user"], "condition": {"gte": 2}},
        detection("d", {"kind": "d", "user|fieldref": "owner"}),
    ),
]  # fmt: skip


@pytest.mark.parametrize("text", OF_FIELDS)
@pytest.mark.slow
def test_a_log_that_finds_a_comparison_without_case_has_other_alerts_by_it(text: str) -> None:
    found = make_sigma_tests(parse(text))
    finding = [test for test in found.tests if any("without case" in words for words in test.kills)]
    assert finding
    for test in finding:
        log = list(test.log)
        assert found_by(text, log) != found_by(text, log, fieldref="folded")
    kills = [words for test in found.tests for words in test.kills]
    assert [one for one in ("d: fieldref: ", "without case") if not any(one in w for w in kills)] == []
    assert not [words for words in found.left if words.startswith("d: ")]


def test_a_comparison_without_case_leaves_groups_as_they_are() -> None:
    """The whole log was in lower case, its groups too: a log whose alerts the comparison does not change was named."""
    fields = ({"kind": "d", "user": "A", "owner": "x"}, {"kind": "b", "member": "a"})
    log = [Event("event", {**own, "host": "h", "time": t}) for t, own in enumerate(fields)]
    ((_, without_case),) = _coercing_judges(parse(OF_FIELDS[0]))
    assert [alert for alert in without_case(log) if alert.rule == "t"] == []


def test_a_conversion_of_added_texts_leaves_a_group_of_the_same_field() -> None:
    body = {"type": "value_sum", "rules": ["a"], "group-by": ["n"], "condition": {"field": "n", "gte": 2}}
    judges = dict(_coercing_judges(parse(rules(body))))
    log = [Event("event", {"kind": "a", "n": n, "time": t}) for t, n in enumerate(("1", 1))]
    assert judges["t: texts in n are numbers"](log) == []  # "1" and 1 are two groups


def test_logs_find_texts_of_a_rule_that_are_shorter_or_wider() -> None:
    selection = {"u|startswith": "ab", "v": "a?b", "w|endswith": "ab", "x|contains|cased": "A", "y|re|i": "^a"}
    detection = {"title": "D", "logsource": {"product": "p"}, "detection": {"s": selection, "condition": "s"}}
    found = make_sigma_tests(parse(show_documents([detection])))
    killed = {words.removeprefix("D: ") for test in found.tests for words in test.kills}
    wider = {'"a*" for "ab*"', '"a*b" for "a?b"', '"ab" for "a?b"', '"*b" for "*ab"', "|re: a in y|re|i: ^a"}
    assert wider | {'in any case in x|cased: "*A*"', "in its own case in y|re|i: ^a"} <= killed
    assert found.left == ()


def test_a_rule_of_several_correlations_changes_in_all_of_them() -> None:
    inner = {"title": "i", "name": "i", "correlation": {**COUNT, "timespan": "5s"}}
    text = rules({"type": "temporal", "rules": ["i", "a"], "group-by": ["user"]}, inner)
    for words, other in mutants_of(parse(text)):
        named_a = [rule for rule in rules_of(other) if rule.name == "a"]
        assert len(named_a) <= 1, words


PORTS = """title: T
correlation: {{type: value_count, rules: [l], timespan: 5m, condition: {{field: p, gte: {}}}}}
---
title: L
name: l
logsource: {{product: x}}
detection: {{s: {{a: 1}}, n: {{p|gte: 100}}, condition: s and not n}}
"""


def test_a_counted_field_that_is_compared_with_numbers_has_numbers_in_logs() -> None:
    """There were only texts, so that no log found a reversed comparison of a count of six values."""
    query = parse(PORTS.format(6))
    first = [event.attributes["p"] for event in next(iter(LogSearch((query,)).logs(Random(0))))]
    assert len(set(first)) == 6
    assert all(isinstance(value, int) and value < 100 for value in first)
    reversed_ = parse(PORTS.format(6).replace("gte: 100", "lte: 100"))
    assert find_log(logs_around(query), judge(query), judge(reversed_)) is not None


@pytest.mark.slow
def test_a_log_has_numbers_in_texts_that_tell_two_meanings_of_comparisons_apart() -> None:
    """Every text was more than the number, so that an order of texts gave the answers of an absent field."""
    query, said = parse(PORTS.format(6)), []
    for one in ({"absent": "unknown"}, {"compared-texts": "as-texts"}):
        found = (find_matches(query, log, choices_of(one, AXES), "valuations", Budget()) for log in logs_around(query))
        said.append([{m.at for m in matches} for matches in found])
    assert said[0] != said[1]


def test_a_log_with_null_finds_that_a_test_for_null_became_one_for_an_absent_field() -> None:
    query = parse(show_documents([detection("r", {"a": 1, "b": None})]))
    (test,) = (one for one in make_sigma_tests(query).tests if "r: exists: false in b: null" in one.kills)
    assert [event.attributes.get("b" + NULL) for event in test.log] == [True]


def test_a_group_field_that_an_inner_rule_lost_has_a_log() -> None:
    """The rules of the inner correlation must then be of different groups, in all of its alerts."""
    body = {"type": "value_count", "rules": ["pair"], "group-by": ["src"], "condition": {"gte": 2, "field": "dst"}}
    scan = {"type": "event_count", "rules": ["a"], "timespan": "4s", "condition": {"gte": 3}}
    pair = {"type": "temporal_ordered", "rules": ["scan", "b"], "timespan": "9s"}
    old, new = (
        parse(
            rules(
                {**body, "timespan": "1m"},
                {"title": "pair", "name": "pair", "correlation": {**pair, "group-by": fields}},
                {"title": "scan", "name": "scan", "correlation": {**scan, "group-by": ["src", "dst"]}},
            )
        )
        for fields in (["src", "dst"], ["dst"])
    )
    assert isinstance(compare_sigma(old, new), Different)


def test_a_mistake_is_left_only_if_no_log_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was not tried on the logs that were made for later mistakes."""
    monkeypatch.setattr("cerify.equivalence.sigma.MOST_LOGS_OF_MISTAKES", 0)
    query = parse(show_documents([detection("d", {"k": ["x", "y"], "n|gte": 5})]))
    found, mutants = make_sigma_tests(query), dict(mutants_of(query))
    assert found.left
    for words in set(found.left) & mutants.keys():
        assert all(alerts_of(query, test.log) == alerts_of(mutants[words], test.log) for test in found.tests), words
    assert found.mistakes == sum(len(test.kills) for test in found.tests) + len(found.left) + len(found.same)


def test_logs_find_groups_of_other_fields_and_added_texts() -> None:
    body = {"type": "value_sum", "rules": ["a"], "condition": {"gt": 5, "field": "n"}, "group-by": ["who"]}
    text = rules({**body, "aliases": {"who": {"a": "user"}}})
    found = make_sigma_tests(parse(show_documents(list(yaml.safe_load_all(text))[:2])))
    kills = {words for test in found.tests for words in test.kills}
    assert {"t: grouped by kind too", "t: who is who in a", "t: texts in n are numbers"} <= kills


def one_rule(detection: dict[str, Any], **correlation: Any) -> str:
    """Return the documents of a correlation of one rule about an event."""
    body = {"type": "event_count", "rules": ["d"], "timespan": "5m", "group-by": ["user"], "condition": {"gte": 3}}
    rule = {"title": "d", "name": "d", "logsource": {"category": "x"}, "detection": detection}
    return show_documents([{"title": "t", "correlation": {**body, **correlation}}, rule])


def select(condition: str = "s", **selection: Any) -> dict[str, Any]:
    return {"s": {name.replace("__", "|"): value for name, value in selection.items()}, "condition": condition}


NETWORK = {"s": {"ip|cidr": ["10.0.0.0/8"]}, "f": {"ip|cidr": "10.1.2.0/24"}, "condition": "s and not f"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("detection", "correlation"),
    [
        (NETWORK, {"group-by": ["ip", "user"]}),
        (NETWORK, {"type": "value_count", "condition": {"gte": 5, "field": "ip"}}),
        (select(k__re="^(C:|D:).x[a-z]+$"), {"type": "value_count", "condition": {"gte": 4, "field": "k"}}),
        (select(k__re=r"\s-[eE][nN]\S*\s"), {"group-by": ["k", "user"]}),
        ({"s": {"k": "x"}, "f": {"user|re": r".*\$$"}, "condition": "s and not f"}, {}),
        ({"s": {"k": "x"}, "f": {"user": ["-", "local"]}, "condition": "s and not f"}, {"group-by": ["user", "host"]}),
    ],
)
def test_mistakes_about_a_field_that_is_tested_and_grouped_have_logs(
    detection: dict[str, Any], correlation: dict[str, Any]
) -> None:
    left = make_sigma_tests(parse(one_rule(detection, **correlation))).left
    assert [words for words in left if not words.startswith("reading")] == []


@pytest.mark.thorough
def test_mistakes_about_inner_rules_of_linked_fields_have_logs() -> None:
    inner = {"type": "value_count", "rules": ["failed"], "group-by": ["ip"], "timespan": "30m"}
    inner["condition"] = {"gte": 8, "field": "user"}
    aliases = {"from": {"spray": "ip", "ok": "ip", "read": "client"}}
    outer = {"type": "temporal_ordered", "rules": ["spray", "ok", "read"], "aliases": aliases, "group-by": ["from"]}
    parts: dict[str, Any] = {
        "failed": {"s": {"id": [4625, 4771]}, "f": {"user|endswith": "$"}, "condition": "s and not f"},
        "ok": {"s": {"id": 4624}, "f": {"ip": ["127.0.0.1", "-"]}, "condition": "s and not f"},
        "read": {"s": {"id": 5145, "name|contains|cased": "NTDS"}, "condition": "s"},
    }
    documents: list[dict[str, Any]] = [{"title": "t", "correlation": {**outer, "timespan": "2h"}}]
    documents.append({"title": "spray", "name": "spray", "correlation": inner})
    documents += ({"title": n, "name": n, "logsource": {"category": "x"}, "detection": d} for n, d in parts.items())
    assert make_sigma_tests(parse(show_documents(documents))).left == ()


@pytest.mark.parametrize(
    ("old", "new", "answer"),
    [
        (select(ip__cidr="10.0.0.0/24"), {"group-by": ["ip", "user"]}, "different"),
        (select(k__re="abc"), select(k__contains__cased="abc"), "same"),
        (select(k__re="x.exe$"), select(k__endswith__cased="x.exe"), "different"),
        (select(k__re=r"x\.exe$"), select(k__endswith__cased="x.exe"), "same"),
        (select(k__re__i="^abc|.*b+$"), select(k__re=["^[aA][bB][cC]", "[bB]$"]), "same"),
        (select(k__re=".*"), select(k__re=""), "same"),
        (select(k__fieldref="m", n="a"), select(n="A", m__fieldref="k"), "same"),
        (select(k__fieldref="m", k="a"), select(k="a"), "different"),
    ],
)
def test_expressions_and_two_fields_are_compared(old: dict[str, Any], new: dict[str, Any], answer: str) -> None:
    written = one_rule(old, **new) if "group-by" in new else one_rule(new)
    found = compare_sigma(parse(one_rule(old)), parse(written))
    assert type(found) is {"same": SameRules, "different": Different}[answer]


def test_an_undecided_comparison_names_the_tests_of_some_values() -> None:
    old, new = (
        one_rule({**select(k__fieldref="m"), "o": o, "condition": "s and o"})
        for o in ({"k|cased": "x"}, {"m|cased": "x"})
    )
    found = compare_sigma(parse(old), parse(new))
    assert isinstance(found, Undecided)
    assert "k|fieldref: m was tried with some values only" in found.reason


def test_a_rule_with_an_expression_and_a_text_in_one_field_fires() -> None:
    query = parse(one_rule(select(k__re=r"^(?:[^ ]+ )+-[eE][nN]\S*\s$", k__contains="foo")))
    assert fires_on_some_log(query)


@pytest.mark.slow
def test_mistakes_on_events_that_are_in_no_group_mean_the_same() -> None:
    """No log was found for them, as if the search had been too short."""
    inner = {"type": "event_count", "rules": ["in"], "group-by": ["user"], "timespan": "5s", "condition": {"gte": 2}}
    outer = {"type": "temporal", "rules": ["i", "add"], "group-by": ["user"], "timespan": "10s"}
    documents = [
        detection("in", {"kind": "b", "host|cased": "H"}),
        detection("add", {"kind": "a", "user|exists": True}),
        {"title": "i", "name": "i", "correlation": inner},
        {"title": "o", "name": "o", "correlation": outer},
    ]
    query = parse(show_documents(documents))
    found = make_sigma_tests(query)
    assert found.left == ()
    same = {"i: grouped by host too", "add: without user|exists: true", "add: null as absent in user|exists: true"}
    assert same <= set(found.same)
    for words, mutant in mutants_of(query):
        if words in found.same:
            assert all(alerts_of(query, log) == alerts_of(mutant, log) for log in logs_around(query)), words
