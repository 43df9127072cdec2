"""Streams led to a match: most have one, and they are of the length and of the schema that was asked for."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from cerify.automata.cea.compile import compilable
from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate.cel import (
    CORE,
    EVERYTHING,
    FIGURE_3,
    PROFILES,
    CelProfile,
    case,
    guided_case,
    matching_stream,
    stream,
    tuple_predicates_only,
    with_copy,
)
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.check import require_typed
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show, size, subformulas
from cerify.semantics.events import Stream
from proofs_tests.unit.equivalence.random_profiles import random_profile


def guided_stream(rng: Random, profile: CelProfile, length: int, phi: Formula) -> Stream:
    """A stream of that length, with a match if one is found."""
    return matching_stream(rng, profile, length, phi) or stream(rng, profile, length, phi)


def matches(phi: Formula, S: Stream) -> bool:
    interpreter = Interpreter(S, Budget(200_000))
    return any(interpreter.meaning(phi, 0, n) for n in range(len(S)))


@pytest.mark.parametrize("profile", [CORE, FIGURE_3, EVERYTHING], ids=["core", "figure3", "everything"])
def test_most_streams_have_a_match_and_some_have_none(profile: CelProfile) -> None:
    """Random streams have one in 47 to 60 of 100 cases."""
    had = Counter(matches(*guided_case(Random(i), profile, 8, 6)) for i in range(250))
    by_chance = Counter(matches(*case(Random(i), profile, 8, 6)) for i in range(250))
    assert had[True] > 0.78 * 250
    assert had[False] > 5
    assert had[True] > by_chance[True] + 30


@pytest.mark.parametrize("name", PROFILES)
def test_cases_keep_to_their_bounds_and_their_schema(name: str) -> None:
    profile = PROFILES[name]
    sizes, lengths = set(), set()
    for i in range(120):
        phi, S = guided_case(Random(i), profile, 7, 5)
        sizes.add(size(phi))
        lengths.add(len(S))
        assert parse(show(phi)) == phi
        require_typed(phi, profile.schema)
        assert S.schema == profile.schema
        assert S.table.num_rows == len(S)
    assert sizes == set(range(1, 8))
    assert lengths == set(range(1, 6))


def test_the_same_seed_gives_the_same_case() -> None:
    first, second = (guided_case(Random(5), EVERYTHING, 10, 8) for _ in range(2))
    assert first[0] == second[0]
    assert first[1].events == second[1].events


@pytest.mark.parametrize(
    "query",
    ["A : B : C", "START(A ; B) FILTER A.x = 4 AND B.y = 2", "A FILTER A.y < 0", "(A ; B ; C) UNLESS (B ; B)",
     "(A ; B) FILTER A.x > B.x", "(A+ IN X FILTER X.x = X.x) WITHIN 2 EVENTS", "STRICT(A ; A ; A)"],
)  # fmt: skip
def test_a_match_that_chance_would_miss_is_found(query: str) -> None:
    phi = parse(query)
    for i in range(30):
        S = matching_stream(Random(i), CORE, 6, phi)
        assert S is None or (matches(phi, S) and len(S) == 6)
    assert sum(matches(phi, guided_stream(Random(i), CORE, 6, phi)) for i in range(30)) >= 25


def test_a_formula_without_a_match_gets_a_random_stream() -> None:
    phi = parse("A UNLESS A")
    assert matching_stream(Random(0), CORE, 5, phi) is None
    assert len(guided_stream(Random(0), CORE, 5, phi)) == 5


def test_a_formula_too_large_for_an_automaton_gets_a_random_stream() -> None:
    phi = parse(" ALL ".join(["(A ; B ; C)"] * 9))
    assert len(guided_stream(Random(0), CORE, 4, phi)) == 4


@pytest.mark.parametrize(
    ("query", "rest"),
    [
        ("(A ; B) FILTER A.x = B.x AND A.x > 1", "A ; B FILTER X[TRUE] AND A.x > 1"),
        ("(A WITHIN 2 [x]) ; (B WITHIN 3 EVENTS) PARTITION BY [x]", "A ; (B WITHIN 3 EVENTS)"),
        ("A FILTER A.x > 1", "A FILTER A.x > 1"),
        ("(A WITHIN 2 seconds) ; B", "A ; B"),
    ],
)
def test_an_automaton_looks_at_what_is_left(query: str, rest: str) -> None:
    phi = tuple_predicates_only(parse(query))
    assert compilable(phi)
    assert show(phi) == rest


def test_a_copy_is_there_twice_and_the_size_stays() -> None:
    phi = parse("(A ; B) OR (C : C) OR A+")
    copied = {show(with_copy(Random(i), phi)) for i in range(20)}
    assert "A ; B OR A ; B OR A+" in copied
    assert all(size(parse(text)) == size(phi) for text in copied)
    assert with_copy(Random(0), parse("A ; B")) == parse("A ; B")
    shared = 0
    for i in range(200):
        psi = guided_case(Random(i), CORE, 12, 3, shared=1.0)[0]
        parts = Counter(chi for chi in subformulas(psi) if size(chi) > 1)
        shared += any(count > 1 for count in parts.values())
    assert shared > 60


def test_random_schemas_have_formulas_and_streams() -> None:
    kinds: set[str] = set()
    for i in range(60):
        rng = Random(i)
        profile = random_profile(rng)
        kinds |= set(profile.schema.attributes.values())
        assert 1 <= len(profile.schema.types) <= 5
        phi = generate.formula(rng, profile, 8)
        require_typed(phi, profile.schema)
        S = guided_stream(rng, profile, 5, phi)
        assert S.table.num_rows == 5
        assert parse(show(phi)) == phi
    assert kinds == {"int", "float", "string", "bool", "timestamp"}
