"""The decider for MATCH_RECOGNIZE and its certificates, against the definition on all short tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from random import Random
from typing import Any, Literal

import pytest

import cerify
from cerify.equivalence.decide.replay import difference_on, tables, values
from cerify.equivalence.decide.row_checker import row_flaw
from cerify.equivalence.decide.row_clauses import compare, shortest_match
from cerify.equivalence.generate.row_pattern import RowProfile, clause
from cerify.equivalence.verdict import Certificate, Claim, Different, Equivalent, Fact, Level
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, IllFormed, InputError, Unsupported
from cerify.semantics.events import Schema, Stream
from cerify.semantics.row_pattern.interpreter import find_matches
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.syntax import MatchRecognize, RowDefinition, RowSkip, show
from proofs_tests.support import sampled

PROFILE = RowProfile(context=0)
BUDGET = Budget(states=20_000)
TRIED = 1500  # tables of a pair
INTEGERS = Schema({"row": {"x": "int", "k": "int", "s": "string"}})
SKIPS: tuple[Literal["first", "last"], ...] = ("first", "last")
CLAIMS: tuple[Claim, ...] = ("equivalent", "contained")
LEVELS: tuple[Level, ...] = ("events", "valuations")


def of(text: str) -> MatchRecognize:
    return parse(f"MATCH_RECOGNIZE ({text})")


def decided(
    left: str, right: str, claim: Claim = "equivalent", level: Level = "events", schema: Schema | None = None
) -> Any:
    return compare(of(left), of(right), claim, level, schema, BUDGET)


def pair(rng: Random) -> tuple[MatchRecognize, MatchRecognize]:
    """Two clauses that are alike: with the conditions of one, or some of the other's, and the pattern of either."""
    q, other = (clause(rng, PROFILE, rng.randint(1, 6)) for _ in range(2))
    pattern = rng.choice([q, other]).pattern
    conditions = other.conditions | q.conditions
    if conditions and other.conditions and rng.random() < 0.5:
        conditions[rng.choice(list(conditions))] = rng.choice(list(other.conditions.values()))
    changed = replace(q, pattern=pattern, subsets=(), measures=())
    common = [A for A in q.primary if A in changed.primary]
    skip = rng.choice([RowSkip(), RowSkip("next row"), *(RowSkip(to, A) for A in common for to in SKIPS)])
    define = tuple(RowDefinition(A, e) for A, e in conditions.items() if A in changed.primary)
    left, right = replace(q, skip=skip, subsets=(), measures=()), replace(changed, skip=skip, define=define)
    return replace(left, rows="one"), replace(right, rows="one")  # {- -} goes with not all others


def differences(
    left: MatchRecognize, right: MatchRecognize, claim: Claim, level: Level, shorter_than: int
) -> Iterator[Stream]:
    """The tables on which they differ, of those that are tried."""
    tried = takewhile(lambda S: len(S) < shorter_than, tables(values((left, right), None), 4))
    for _, S in zip(range(TRIED), tried, strict=False):
        with suppress(IllFormed):
            if difference_on(S, left, right, claim, level) is not None:
                yield S


@pytest.mark.parametrize("seed", sampled(range(400), (0, 96, 128, 224, 320, 384)))
def test_a_verdict_on_random_clauses_is_right(seed: int) -> None:
    rng = Random(seed)
    left, right = pair(rng)
    claim, level = rng.choice(CLAIMS), rng.choice(LEVELS)
    try:
        verdict = compare(left, right, claim, level, None, BUDGET)
    except (Unsupported, BudgetExceeded):
        return
    longer = len(verdict.stream) if isinstance(verdict, Different) else 5
    assert next(differences(left, right, claim, level, longer), None) is None
    if isinstance(verdict, Different):
        proof = Certificate(claim, show(left), show(right), level, None, False, (), "row-pattern", ())
        assert row_flaw(proof, BUDGET) is not None
        return
    proof = verdict.certificate
    assert Certificate.from_json(proof.to_json()) == proof
    assert row_flaw(proof, BUDGET) is None
    for i, fact in enumerate(proof.facts):  # what says more is not so
        for row, letter in enumerate(fact.rows):
            for known in letter:
                more = (*fact.rows[:row], letter - {known}, *fact.rows[row + 1 :])
                facts = (*proof.facts[:i], replace(fact, rows=more), *proof.facts[i + 1 :])
                assert row_flaw(replace(proof, facts=facts), BUDGET) is not None


TYPED = Schema({"A": {"x": "int"}, "B": {"x": "int", "y": "int"}})
ATOMS = ("type = 'A'", "type <> 'B'", "TYPE = 'C'", "x = 1", "y = 1", "x > y", "y IS NULL", "x < 9223372036854775808")


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("type = 'A' OR type = 'B'", "TRUE", True),
        ("TYPE = 'A'", "type <> 'B'", True),
        ("type = 'A' AND y = 1", "FALSE", True),
        ("type = 'A'", "y IS NULL", False),
        ("x < 9223372036854775808", "x IS NOT NULL", True),
        ("x < 9223372036854775807", "x IS NOT NULL", False),
    ],
)
def test_rows_of_a_schema_have_its_types(left: str, right: str, same: bool) -> None:
    """Found by a trial: a difference was shown on an event of a type that the schema does not have."""
    verdict = decided(f"PATTERN (P) DEFINE P AS {left}", f"PATTERN (P) DEFINE P AS {right}", schema=TYPED)
    assert isinstance(verdict, Equivalent) is same
    if isinstance(verdict, Equivalent):
        assert row_flaw(verdict.certificate, BUDGET) is None
        assert row_flaw(replace(verdict.certificate, schema=None), BUDGET) is not None
    else:
        assert cerify.match("MATCH_RECOGNIZE (PATTERN (P))", verdict.stream, language="row-pattern")


@pytest.mark.parametrize("seed", sampled(range(60), range(6)))
def test_a_verdict_under_a_schema_is_right(seed: int) -> None:
    rng = Random(seed)

    def condition() -> str:
        return f" {rng.choice(('AND', 'OR'))} ".join(rng.sample(ATOMS, rng.randint(1, 2)))

    left, right = (of(f"PATTERN (P Q?) DEFINE P AS {condition()}, Q AS {condition()}") for _ in range(2))
    verdict = compare(left, right, "equivalent", "events", TYPED, BUDGET)
    tried = tables(values((left, right), TYPED), 2, TYPED)
    found = next((S for S in tried if difference_on(S, left, right, "equivalent", "events") is not None), None)
    if isinstance(verdict, Different):
        assert cerify.match("MATCH_RECOGNIZE (PATTERN (P))", verdict.stream, language="row-pattern")  # it fits
        assert found is None or len(found) >= len(verdict.stream)
    else:
        assert found is None


@pytest.mark.parametrize("seed", sampled(range(300), (0, 160, 192)))
def test_a_shortest_table_with_a_match(seed: int) -> None:
    rng = Random(seed)
    q = replace(clause(rng, PROFILE, rng.randint(1, 6)), skip=RowSkip("next row"))
    try:
        found = shortest_match(q, None, BUDGET)
    except (Unsupported, BudgetExceeded):
        return
    shorter = takewhile(lambda S: found is None or len(S) < len(found), tables(values([q], None), 4))
    assert not any(list(find_matches(q, S)) for _, S in zip(range(TRIED), shorter, strict=False))
    assert found is None or list(find_matches(q, found))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("PATTERN (A | A B)", "PATTERN (A)"),
        ("PATTERN (A?? B)", "PATTERN (A?? B | B)"),
        ("PATTERN ((A*)*)", "PATTERN (A*)"),
        ("PATTERN (A+ B) DEFINE A AS x < 3, B AS x >= 3", "PATTERN (A+? B) DEFINE A AS x < 3, B AS NOT x < 3"),
        ("PATTERN (A B) DEFINE A AS x > 1, B AS PREV(x) > 1", "PATTERN (A B) DEFINE A AS x > 1"),
        ("PATTERN (A B) DEFINE B AS PREV(x, 2) = 1", "PATTERN (A B) DEFINE A AS PREV(x) = 1"),
        ("PATTERN (A B C) DEFINE B AS NEXT(x) > x", "PATTERN (A B C) DEFINE C AS x > PREV(x)"),
        ("PATTERN (A B C) DEFINE C AS C.x > A.x", "PATTERN (A B C) DEFINE A AS x < NEXT(x, 2)"),
        ("PATTERN (^ A B* $)", "PATTERN (^ A B*)"),
        ("PATTERN (A) DEFINE A AS s LIKE 'a%'", "PATTERN (A) DEFINE A AS s LIKE 'a%' AND s IS NOT NULL"),
        ("PATTERN (A) DEFINE A AS x + 1 > x + 1", "PATTERN (A ^ A)"),
        ("ORDER BY x PATTERN (A B) DEFINE B AS x >= PREV(x)", "ORDER BY x PATTERN (A B) DEFINE B AS x IS NOT NULL"),
        ("PARTITION BY k PATTERN (A B) DEFINE B AS k = PREV(k)", "PARTITION BY k PATTERN (A B) DEFINE B AS k = k"),
        ("AFTER MATCH SKIP TO B PATTERN (A B)", "AFTER MATCH SKIP TO B PATTERN (A B) DEFINE B AS 1 = 1"),
        ("PATTERN (A)", "AFTER MATCH SKIP TO NEXT ROW PATTERN (A)"),
        ("AFTER MATCH SKIP TO U PATTERN (A B) SUBSET U=(A, B)", "AFTER MATCH SKIP TO V PATTERN (A B) SUBSET V=(B, A)"),
        ("PARTITION BY k, s ORDER BY x PATTERN (A B)", "PARTITION BY s, k ORDER BY x ASC NULLS LAST PATTERN (A B)"),
        ("PATTERN (A) DEFINE A AS x + 1 > k", "PATTERN (A) DEFINE A AS x >= k"),
        ("PATTERN (A) DEFINE A AS x / 2 = 1", "PATTERN (A) DEFINE A AS x IN (2, 3)"),
        ("PATTERN (A) DEFINE A AS x % 3 = -1 AND x > -3", "PATTERN (A) DEFINE A AS x = -1"),
    ],
)  # fmt: skip
def test_clauses_that_are_equivalent(left: str, right: str) -> None:
    proof = decided(left, right, schema=INTEGERS).certificate
    assert proof.claim == "equivalent"
    assert row_flaw(proof) is None


@pytest.mark.parametrize(
    ("left", "right", "rows"),
    [
        ("PATTERN (B)", "PATTERN (B $)", 2),  # the partition has to go on after the last row that a thread takes
        ("PATTERN (A* B)", "PATTERN (A*? B)", 2),
        ("PATTERN (A B)", "PATTERN (A C B?)", 3),
        ("PATTERN (A) DEFINE A AS x > 1", "PATTERN (A) DEFINE A AS x >= 1", 1),
        ("PATTERN (A) DEFINE A AS x = x", "PATTERN (A)", 1),
        ("PATTERN (A) DEFINE A AS PREV(x, 3) = 1", "PATTERN (A) DEFINE A AS PREV(x, 3) = 1 AND PREV(x) = 2", 4),
        ("PATTERN (A) DEFINE A AS s < 'b'", "PATTERN (A) DEFINE A AS s <= 'a'", 1),
        ("PATTERN (A B{3})", "PATTERN (A B{4})", 4),
    ],
)
def test_a_shortest_table_shows_a_difference(left: str, right: str, rows: int) -> None:
    found = decided(left, right)
    assert isinstance(found, Different)
    assert found.shortest
    assert len(found.stream) == rows


def test_the_level_and_the_claim_count() -> None:
    assert isinstance(decided("PATTERN (A | B)", "PATTERN (B | A)", level="valuations"), Different)
    assert decided("PATTERN (A | B)", "PATTERN (B | A)").certificate.level == "events"
    narrow, wide = (f"AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE A AS {c}" for c in ("x = 1", "x > 0"))
    assert decided(narrow, wide, "contained").certificate.claim == "contained"
    assert isinstance(decided(wide, narrow, "contained"), Different)


def test_the_types_of_columns_count() -> None:
    left, right = "PATTERN (A) DEFINE A AS x > 1", "PATTERN (A) DEFINE A AS x >= 2"
    assert isinstance(decided(left, right), Different)
    assert decided(left, right, schema=Schema({"row": {"x": "int"}})).certificate.schema is not None


@pytest.mark.parametrize(
    ("left", "right"), [("x / 2 = 0", "x = 0"), ("x / 2 = 0.5", "x = 1.0"), ("x / 4 * 4 = x", "x = x")]
)
def test_a_column_of_floats_is_not_divided_as_whole_numbers_are(left: str, right: str) -> None:
    clauses = [of(f"PATTERN (A) DEFINE A AS {condition}") for condition in (left, right)]
    floats = Schema({"row": {"x": "float"}})
    try:
        found = compare(*clauses, "equivalent", "events", floats, BUDGET)
    except Unsupported:
        return
    assert isinstance(found, Different)  # by rounding
    assert all(isinstance(event.attributes.get("x", 0.0), float) for event in found.stream)


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        ("PATTERN (A+ B) DEFINE B AS B.x > FIRST(A.x)", "PATTERN (A B)", "looks at what the match has so far"),
        ("PARTITION BY k PATTERN (A B)", "PATTERN (A B)", "do not partition"),
        ("ORDER BY x PATTERN (A B)", "ORDER BY x DESC PATTERN (A B)", "do not partition and order"),
        ("AFTER MATCH SKIP TO A PATTERN (A B)", "PATTERN (A B)", "go on at different rows"),
        (
            "AFTER MATCH SKIP TO U PATTERN (A B C) SUBSET U = (A, B)",
            "AFTER MATCH SKIP TO U PATTERN (A B C) SUBSET U = (B, C)",
            "go on at",
        ),
        ("PATTERN (A) DEFINE A AS PREV(x, 51) > 1", "PATTERN (A)", "look further than 50 rows"),
        ("PATTERN (A B) DEFINE A AS x = 1", "PATTERN (A B)", "whether it may skip that is not decided"),
    ],
)
def test_what_is_not_decided_has_a_reason(left: str, right: str, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        decided(left, right, "contained")


def test_a_comparison_that_is_too_large_says_so() -> None:
    left, right = (of(f"PATTERN (B*? A {name * 8} $) DEFINE A AS x > 1") for name in (" B", " C"))
    with pytest.raises(BudgetExceeded, match="more than 200 transitions"):
        compare(left, right, "equivalent", "events", None, Budget(states=200))


FALLING = ("PATTERN (A B) DEFINE A AS x > 1, B AS PREV(x) > 1", "PATTERN (A B) DEFINE A AS x > 1")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"facts": ()}, "may differ on a table"),
        ({"facts": (Fact((frozenset({(0, True)}),)),)}, "fact 0 is not shown"),
        ({"facts": (Fact((frozenset({(7, True)}),)),)}, "names a condition that the clauses do not have; they have 2"),
        (
            {
                "left": "MATCH_RECOGNIZE (AFTER MATCH SKIP TO LAST U PATTERN (A B C) SUBSET U = (A, B))",
                "right": "MATCH_RECOGNIZE (AFTER MATCH SKIP TO LAST U PATTERN (A B C) SUBSET U = (B, C))",
            },
            "go on at different rows",
        ),
        ({"left": "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS SUM(x) > 1)"}, "looks at what the match has so far"),
        ({"right": "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS NOPE.x > 1)"}, "NOPE"),
        ({"right": "MATCH_RECOGNIZE (PATTERN (A B) DEFINE A AS x > 2)"}, "not shown|may differ"),
    ],
)
def test_a_certificate_that_proves_nothing_is_refused(changed: dict[str, Any], reason: str) -> None:
    proof = decided(*FALLING).certificate
    assert proof.facts
    flaw = row_flaw(replace(proof, **changed))
    assert flaw is not None
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(flaw)


@pytest.mark.parametrize(
    "damaged",
    [
        ('"relation": []', '"relation": [[[0], [1]]]'),
        ('"facts"', '"fact"'),
        ('"first": false', '"first": 0'),
        ('"true": [', '"true": [-1, '),
        ('"language": "row-pattern"', '"language": "cel"'),
    ],
)
def test_a_damaged_certificate_is_no_certificate(damaged: tuple[str, str]) -> None:
    text = decided(*FALLING).certificate.to_json()
    assert damaged[0] in text
    with pytest.raises(InputError, match="certificate"):
        Certificate.from_json(text.replace(*damaged))


@pytest.mark.parametrize(
    "condition", ["x < {n} * {n}", "x > {n} * {n}", "x = 1.5 AND y = x + {n}*{n}", "x * {m} * {m} = y", "x < {many}"]
)
@pytest.mark.parametrize("schema", [None, Schema({"row": {"x": "float", "y": "int"}})])
def test_numbers_beyond_the_floats_are_undecided(condition: str, schema: Schema | None) -> None:
    """They ended in an OverflowError, and numbers of more than 4,300 digits in a ValueError."""
    n, m = "9" * 200, "9" * 300
    left = f"PATTERN (A) DEFINE A AS {condition.format(n=n, m=m, many='*'.join([m] * 30))}"
    languages = ("row-pattern", "row-pattern")
    query, other = (f"MATCH_RECOGNIZE ({text})" for text in (left, "PATTERN (A)"))
    assert not isinstance(cerify.equivalent(query, other, schema=schema, languages=languages), Equivalent)
    cerify.check(query, schema, language="row-pattern")
    facts = (Fact((frozenset({(0, True)}),)),)
    proof = Certificate("equivalent", query, other, "events", schema, True, (), "row-pattern", facts)
    with suppress(Unsupported):
        assert row_flaw(proof) is not None
