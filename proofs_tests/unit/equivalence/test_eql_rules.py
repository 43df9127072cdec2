"""Whether rules in EQL mean the same: verdicts known by hand, logs replayed, and random rules on all short logs."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import pytest

import cerify
from cerify.equivalence.eql.decide import Asked, Same, compare_rules
from cerify.equivalence.eql.letters import FilterAlphabet
from cerify.equivalence.eql.slots import SlotRule, step_rules
from cerify.equivalence.eql.texts import SearchLimit, TooManyTexts, exact, find_text, wild
from cerify.equivalence.eql.times import Moment, times_of
from cerify.equivalence.generate.eql import PROFILES, random_log, random_query
from cerify.equivalence.verdict import Certificate, Contained, Different, Equivalent, Undecided
from cerify.languages import language_named
from cerify.semantics.arguments import Budget
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import filter_test
from cerify.semantics.eql.denote import matches_of
from cerify.semantics.eql.parse import parse
from cerify.semantics.errors import BudgetExceeded, IllFormed
from cerify.semantics.events import Event, Schema
from proofs_tests.support import sampled


def read(text: str) -> eql.EqlQuery:
    return parse(re.sub(r"\[(\w)\]", r"[\1 where true]", text))


SINGLE = {"arrays": False}
CONTAINED = {"claim": "contained"}
FIRES = {"claim": "contained", "level": "positions"}


@pytest.mark.parametrize(
    ("left", "right", "asked", "kind"),
    [
        ("sequence [A] [B] until [A]", "sequence [A] [B]", SINGLE, Same),
        ("sequence [A] [B] until [A]", "sequence [A] [B]", {}, Different),  # an event may be both A and B
        ("sequence with maxspan=5s [A] [B] until [A]", "sequence with maxspan=5000ms [A] [B]", SINGLE, Same),
        ("sequence [A where x == 4] [B]", "sequence [A] [B]", CONTAINED, Different),
        ("sequence [A where x == 4] [B]", "sequence [A] [B]", FIRES, Same),
        ("sequence with maxspan=5s [A where x == 4] [B]", "sequence with maxspan=5s [A] [B]", FIRES, Same),
        ("sequence [A] [B where x == 4]", "sequence [A] [B]", FIRES, Different),
        ("sequence [A] [B where x == 4] [C]", "sequence [A] [B] [C]", FIRES, Different),
        ("sequence by u [A] [B]", "sequence [A] by u [B] by u", {}, Same),
        ("sequence by u [A] [B]", "sequence [A] by u [B] by v", {}, Different),
        ("sequence by u [A] [B]", "sequence by u, v [A] [B]", {}, Different),
        ("sequence with maxspan=5s [A] [B]", "sequence with maxspan=6s [A] [B]", {}, Different),
        ("sequence [A] with runs=3", "sequence [A] [A] [A]", {}, Same),
        ("sequence [A] [B] [C]", "sequence [A] [B]", {}, Different),
        ("sequence with maxspan=5s [A] ![C] [B]", "sequence with maxspan=5s [A] [B]", {}, Different),
        ("sequence by u [A where u == 1] [B where u == 2]", "sequence by u [A where false] [B]", {}, Same),
        ('A where x : ("a*", "b*")', 'A where x : "a*" or x : "b*"', {}, Same),
        ('A where x : ("a*", "b*")', 'A where x like ("a*", "b*")', {}, Different),
        ("A where not (x == 1 or y == 2)", "A where x != 1 and y != 2", {}, Same),
        ("A where not x >= 3", "A where x < 3", {}, Different),  # x may be absent
        ('A where x : "*ab*" and not x : "*a*"', "A where false", {}, Same),
        ('A where x == "a" and x == "b"', "A where false", SINGLE, Same),
        ('A where x == "a" and x == "b"', "A where false", {}, Different),
        ('A where endsWith(x, "a")', 'A where x like "*a"', {}, Same),
        ('A where not endsWith(x, "a")', 'A where not x like "*a"', {}, Different),
        ('A where cidrMatch(x, "10.0.0.0/8")', 'A where cidrMatch(x, "10.0.0.0/9", "10.128.0.0/9")', {}, Same),
        ("sample by u [A] [B]", "sample by u [A where x == 1] [B]", {}, Different),
        ("sequence [A] [B] | head 1", "sequence [A] [B] | head 2", {}, Different),
        ("A where length(x) > 3 and length(x) < 4", "A where false", SINGLE, Undecided),
    ],
)
def test_a_verdict(left: str, right: str, asked: dict[str, Any], kind: type) -> None:
    verdict = compare_rules(read(left), read(right), Asked(**asked))
    assert isinstance(verdict, kind), verdict


SCHEMA = Schema({"A": {"x": "int", "u": "int"}, "B": {"u": "int", "s": "string", "s[1]": "string"}})


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        ("any where x == 1", "A where x == 1", Same),
        ("any where u == 1", "A where u == 1", Different),
        ("A where x > 3.5 and x < 5", "A where x == 4", Same),  # of integers
        ("A where x == 1 and x == 2", "A where false", Same),  # no arrays
        ('B where s == "a" and s == "b"', "B where false", Different),
        ('B where s == "a" and s == "b" and s == "c"', "B where false", Undecided),  # of two values at most
        ("sequence by u [A] [B]", "sequence by u [any where x != null or s == null and not s != null] [B]", Different),
        ("sequence by u [A] [any where s != null]", "sequence by u [A] [B where s != null]", Same),
    ],
)
def test_a_verdict_about_logs_of_a_schema(left: str, right: str, kind: type) -> None:
    verdict = compare_rules(read(left), read(right), Asked(schema=SCHEMA))
    assert isinstance(verdict, kind), verdict
    if isinstance(verdict, Different):
        for event in verdict.stream:
            assert set(event.attributes) <= {*SCHEMA.types[event.type], "time"}


def random_pair(rng: Random, profile: str) -> tuple[eql.EqlQuery, eql.EqlQuery]:
    """Two rules that differ in a step, a condition or the window, or not."""
    query = random_query(rng, replace(PROFILES[profile], steps=3, runs=False), 3)
    body = query.body
    if not isinstance(body, eql.EventSequence):
        return query, random_query(rng, replace(PROFILES[profile], steps=3), 3)
    other = random_query(rng, replace(PROFILES[profile], steps=3, runs=False), 3).body
    if isinstance(other, eql.EventSequence) and rng.random() < 0.6:
        steps = list(body.steps)
        i = rng.randrange(len(steps))
        steps[i] = replace(steps[i], filter=rng.choice(other.steps).filter)
        return query, eql.EqlQuery(replace(body, steps=tuple(steps)))
    if body.until is not None:
        return query, eql.EqlQuery(replace(body, until=None))
    return query, eql.EqlQuery(replace(body, steps=(*body.steps, body.steps[0])))


@pytest.mark.parametrize("cases", sampled((60, 5_000), (60,)))
@pytest.mark.parametrize("profile", ["plain", "sequences"])
def test_random_rules_that_are_the_same_agree_on_random_logs(cases: int, profile: str) -> None:
    """And those that are not have a log on which they differ, which is replayed when it is found."""
    kinds = set()
    for seed in range(cases):
        rng = Random(seed)
        left, right = random_pair(rng, profile)
        verdict = compare_rules(left, right, Asked(), Budget(states=3_000))
        kinds.add(type(verdict))
        if isinstance(verdict, Same):
            for _ in range(60):
                S = random_log(rng, None, rng.randint(1, 8), left)
                assert matches_of(left, S) == matches_of(right, S), (seed, eql.show(left), eql.show(right))
    assert {Same, Different} <= kinds


@pytest.mark.parametrize("cases", sampled((40, 2_000), (40,)))
def test_plain_rules_are_the_same_if_they_are_on_all_logs_of_seven_events(cases: int) -> None:
    """Of sequences of two steps over three categories, each log of up to that length is tried."""
    logs = [[Event(c) for c in log] for n in range(1, 8) for log in product(("process", "file"), repeat=n)]
    for seed in range(cases):
        rng = Random(seed)
        left, right = random_pair(rng, "plain")
        if any(isinstance(q.body, eql.EventSequence) and q.body.maxspan is not None for q in (left, right)):
            continue
        same = isinstance(compare_rules(left, right, Asked(arrays=False)), Same)
        differ = any(matches_of(left, log) != matches_of(right, log) for log in logs)
        assert not (same and differ), (eql.show(left), eql.show(right))


@pytest.mark.parametrize("cases", sampled((150, 10_000), (150,)))
def test_letters_are_those_of_events(cases: int) -> None:
    """The event of a letter passes just its filters, and random events are those of a letter."""
    for seed in range(cases):
        rng = Random(seed)
        query = random_query(rng, PROFILES["rules"], 3)
        filters = list(dict.fromkeys(eql.filters_of(query)))
        alphabet = FilterAlphabet(filters, True)
        letters = alphabet.letters()
        for letter in letters:
            passed = {i for i, f in enumerate(filters) if filter_test(f)(letter.event())}
            assert passed == letter.passes, (seed, eql.show(query))
        known = {letter.passes for letter in letters} | {frozenset()}
        for event in random_log(rng, None, 40, query):
            here = frozenset(i for i, f in enumerate(filters) if filter_test(f)(event))
            assert here in known or not alphabet.exact, (seed, eql.show(query), event)


def test_texts() -> None:
    limit = SearchLimit(1000)
    assert find_text([(wild("*.EXE", True),)], [(wild("?.exe", False),)], limit) in ("q.EXE", ".EXE", ".EXe", ".exe")
    assert find_text([(exact("ab", False),)], [(wild("a*", True),)], limit) is None
    assert find_text([(wild("a?", False), wild("b", False))], [(wild("b", False),)], limit) == "aq"
    assert find_text([], [(wild("*", False),)], limit) is None
    with pytest.raises(TooManyTexts):
        find_text([(wild("*a*b*c*d", False),)], [], SearchLimit(1))


def test_times_grow_old_as_they_are_asked_to() -> None:
    rule = SlotRule((0, 1), None, 5_000_000)
    path = [Moment(frozenset({0}), 0), Moment(frozenset({2}), 0), Moment(frozenset({0}), 1), Moment(frozenset({1}), 0)]
    times = times_of(path, 5_000_000, [rule])
    assert times == sorted(times)
    assert times[2] - times[0] > 5_000_000
    assert times[3] - times[2] <= 5_000_000
    with pytest.raises(BudgetExceeded):  # a window of less than nothing, at which no sequence is young
        times_of([Moment(frozenset({0}), 0), Moment(frozenset(), 0)], -1, [rule])


def test_the_public_functions_and_their_certificates() -> None:
    left, right = ("sequence by u [A where true] [B where true]", "sequence [A where true] by u [B where true] by u")
    verdict = cerify.equivalent(left, right, languages=("eql", "eql"))
    assert isinstance(verdict, Equivalent)
    certificate = Certificate.from_json(verdict.certificate.to_json())
    language = language_named("eql")
    assert language.flaw(certificate) is None
    assert language.flaw(replace(certificate, right="sequence [A where true] [B where true]")) is not None
    narrow = left.replace("A where true", "A where x == 1")
    found = cerify.contained(narrow, left, languages=("eql", "eql"), level="positions")
    assert isinstance(found, Contained)
    assert isinstance(cerify.contained(narrow, left, languages=("eql", "eql")), Different)
    with pytest.raises(IllFormed, match="compare at the level of events"):
        cerify.equivalent(left, right, languages=("eql", "eql"), level="valuations")


def test_a_sequence_that_is_too_old_waits_no_longer() -> None:
    rule = SlotRule((0, 1, 1), None, 5_000_000)
    begun, _ = step_rules((rule, rule), (((), ()), ((), ())), frozenset({0}), 0)
    assert begun == (((0,), ()), ((0,), ()))
    young, _ = step_rules((rule, rule), begun, frozenset({1}), 0)
    assert young == (((), (0, 1)), ((), (0, 1)))
    old, ended = step_rules((rule, rule), begun, frozenset({1}), 1)
    assert (old, ended) == ((((), ()), ((), ())), ((), ()))
