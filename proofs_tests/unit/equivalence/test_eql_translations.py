"""EQL in CEL, SASE+ and MATCH_RECOGNIZE: the same matches on random rules and logs; and CEL in EQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import cerify
from cerify.equivalence.eql.translate import cel_to_eql, eql_to_cel, eql_to_rows, eql_to_sase
from cerify.equivalence.generate.eql import PROFILES, random_log, random_query
from cerify.languages import language_named
from cerify.semantics.cel.parse import parse as parse_cel
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.denote import matches_of
from cerify.semantics.eql.parse import parse
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Event, Stream
from proofs_tests.support import sampled


def single(event: Event) -> Event:
    """The event with the first value of each field."""
    kept = {name: v for name, v in event.attributes.items() if "[" not in name}
    return Event(event.type, kept)


def plain_log(rng: Random, query: eql.EqlQuery) -> Stream:
    """A log whose fields have one value each, whose times are whole seconds."""
    events = [single(event) for event in random_log(rng, None, rng.randint(1, 7), query)]
    begin: Any = events[0].attributes["time"]
    return Stream(
        Event(e.type, {**e.attributes, "time": int((e.attributes["time"] - begin).total_seconds())})  # type: ignore[operator]
        for e in events
    )


TRANSLATIONS: dict[str, Callable[[eql.EqlQuery], Any]] = {
    "cel": eql_to_cel, "sase": eql_to_sase, "row-pattern": eql_to_rows,
}  # fmt: skip


def matches_in(language: str, translated: Any, S: Stream) -> list[tuple[int, ...]]:
    found = cerify.match(translated, S, language=language)
    return sorted(tuple(p for p in m.events if p not in getattr(m, "excluded", ())) for m in found)


@pytest.mark.parametrize("cases", sampled((300, 20_000), (300,)))
@pytest.mark.parametrize("profile", ["plain", "sequences"])
@pytest.mark.parametrize("language", TRANSLATIONS)
@pytest.mark.filterwarnings("ignore")
def test_a_translation_has_the_matches_of_the_rule(language: str, profile: str, cases: int) -> None:
    translated = with_matches = 0
    for seed in range(cases):
        rng = Random(seed)
        query = random_query(rng, replace(PROFILES[profile], keys=bool(seed % 3), steps=3 + seed % 2), 3)
        try:
            tree = TRANSLATIONS[language](query)
        except Unsupported:
            continue
        plugin = language_named(language)
        assert plugin.parse(plugin.show(tree)) == tree
        S = plain_log(rng, query)
        expected = sorted(m.events for m in matches_of(query, S))
        assert matches_in(language, tree, S) == expected, (seed, eql.show(query), plugin.show(tree), list(S))
        translated, with_matches = translated + 1, with_matches + bool(expected)
    assert translated > cases / 20
    assert with_matches > translated / 20


@pytest.mark.parametrize(
    ("language", "query", "reason"),
    [
        ("cel", "sequence by ?x [A where true] [B where true]", "leave the \\? out"),
        ("cel", "sequence [A where true] by x [B where true] by y", "differ by step"),
        ("sase", "sequence [A where true] by x [B where true] by y", "differ by step"),
        ("sase", "sequence [A where true] [B where true] [C where true]", "absence of a sequence"),
        ("sase", "any where true", "no event of any type"),
        ("row-pattern", 'A where x : "a*"', "no LOWER here"),
        ("row-pattern", "A where x + 1 == 2", "no condition for"),
        ("cel", "sequence with maxspan=1s [A where true] ![B where true]", "a missing event"),
        ("cel", "any where true", "no event of any type"),
        ("cel", "A where true | head 1", "reports all matches"),
        ("cel", "sample by x [A where true] [B where true]", "one match for each key"),
        ("cel", 'A where not endsWith(x, "a")', "has no truth value"),
        ("cel", "A where length(x) > 3", r"no condition for length\(x\) > 3"),
    ],
)
def test_what_a_language_does_not_have_is_refused_with_its_place(language: str, query: str, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason) as raised:
        TRANSLATIONS[language](parse(query))
    assert raised.value.span is not None


def test_three_steps_are_no_sequence_of_sase() -> None:
    log = [Event(R) for R in "ABABC"]
    rule = parse("sequence [A where true] [B where true] [C where true]")
    assert [m.events for m in matches_of(rule, log)] == [(2, 3, 4)]
    assert (0, 1, 4) in matches_in("sase", "PATTERN SEQ(A a, B b, C c)", Stream(log))


@pytest.mark.parametrize("cases", sampled((60, 3_000), (60,)))
def test_a_rule_comes_back_from_its_formula(cases: int) -> None:
    back = 0
    for seed in range(cases):
        query = random_query(Random(seed), replace(PROFILES["sequences"], keys=bool(seed % 2), steps=2, runs=False), 3)
        try:
            rule = cel_to_eql(eql_to_cel(query))
        except Unsupported:
            continue
        back += 1
        S = plain_log(Random(seed), query)
        assert matches_of(rule, S) == matches_of(query, S), (eql.show(query), eql.show(rule))
    assert back > cases / 10


@pytest.mark.parametrize(
    ("formula", "rule"),
    [
        ("A", "A where true"),
        ("A FILTER A[x > 3 and y != 'a']", 'A where x > 3 and (y != null and y != "a")'),
        ("A ; B", "on A A B only the formula has {0, 2}"),
        ("A ; (B UNLESS B ; B UNLESS A ; B)", "sequence [A where true] [B where true]"),
        ("(A ; B) FILTER A.x = B.x", "a filter of EQL is one on one event"),
        ("A : B", "only chains"),
    ],
)
def test_a_formula_is_a_rule_or_a_stream_shows_that_it_is_none(formula: str, rule: str) -> None:
    try:
        found = eql.show(cel_to_eql(parse_cel(formula)))
    except Unsupported as error:
        found = error.message
    assert rule in found


def test_with_keys_the_formula_of_one_key_is_not_that_of_all() -> None:
    """The smallest log on which the sequence by key is not what the formula without keys has."""
    log = [Event("A", {"x": 1}), Event("A", {"x": 2}), Event("B", {"x": 1})]
    keyed = [m.events for m in matches_of(parse("sequence by x [A where true] [B where true]"), log)]
    keyless = [m.events for m in cerify.match(eql_to_cel(parse("sequence [A where true] [B where true]")), log)]
    assert (keyed, keyless) == ([(0, 2)], [(1, 2)])
