"""EQL without keys in CEL: the complex events of the formula are the matches, on random rules and logs."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

import cerify
from cerify.equivalence.eql.to_cel import eql_to_cel
from cerify.equivalence.generate.eql import PROFILES, random_log, random_query
from cerify.semantics.cel.parse import parse as parse_cel
from cerify.semantics.cel.syntax import show as show_cel
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.denote import matches_of
from cerify.semantics.eql.parse import parse
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Event, Stream
from proofs_tests.support import sampled


def single(event: Event) -> Event:
    """The event with the first value of each field, and names that CEL has."""
    kept = {name.replace(".", "_"): v for name, v in event.attributes.items() if "[" not in name}
    return Event(event.type, kept)


def renamed(query: eql.EqlQuery) -> eql.EqlQuery:
    text = eql.show(query)
    for name in ("user.name", "process.args"):
        text = text.replace(name, name.replace(".", "_"))
    return parse(text)


@pytest.mark.parametrize("cases", sampled((300, 20_000), (300,)))
@pytest.mark.parametrize("profile", ["plain", "sequences"])
def test_the_complex_events_of_the_formula_are_the_matches(profile: str, cases: int) -> None:
    translated = with_matches = 0
    for seed in range(cases):
        rng = Random(seed)
        query = renamed(random_query(rng, replace(PROFILES[profile], keys=False, steps=3), 3))
        try:
            phi = eql_to_cel(query)
        except Unsupported:
            continue
        assert parse_cel(show_cel(phi)) == phi
        S = Stream([single(event) for event in random_log(rng, None, rng.randint(1, 7), query)])
        expected = [(m.at, m.events) for m in matches_of(query, S)]
        found = [(m.at, m.events) for m in cerify.match(phi, S)]
        assert found == expected, (seed, eql.show(query), show_cel(phi))
        translated, with_matches = translated + 1, with_matches + bool(expected)
    assert translated > cases / 10
    assert with_matches > translated / 10


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("sequence by x [A where true] [B where true]", "UNLESS sees the events of all keys"),
        ("sequence [A where true] by x [B where true] by y", "UNLESS sees the events of all keys"),
        ("sequence with maxspan=1s [A where true] ![B where true]", "a missing event"),
        ("any where true", "no event of any type"),
        ("A where true | head 1", "reports all matches"),
        ("sample by x [A where true] [B where true]", "one match for each key"),
        ('A where not endsWith(x, "a")', "has no truth value"),
        ("A where length(x) > 3", r"no condition for length\(x\) > 3"),
        ('A where a.b == "x"', "is no name in CEL"),
        ("sequence with maxspan=5ms [A where true] [B where true]", "whole seconds"),
    ],
)
def test_what_cel_does_not_have_is_refused_with_its_place(query: str, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason) as raised:
        eql_to_cel(parse(query))
    assert raised.value.span is not None


def test_with_keys_the_formula_of_one_key_is_not_that_of_all() -> None:
    """The smallest log on which the sequence by key is not what the formula without keys has."""
    log = [Event("A", {"x": 1}), Event("A", {"x": 2}), Event("B", {"x": 1})]
    keyed = [m.events for m in matches_of(parse("sequence by x [A where true] [B where true]"), log)]
    keyless = [m.events for m in cerify.match(eql_to_cel(parse("sequence [A where true] [B where true]")), log)]
    assert (keyed, keyless) == ([(0, 2)], [(1, 2)])
