"""What of a row pattern has no effect, against all short tables."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import pytest

from cerify.equivalence.decide.row_clauses import idle_quantifiers, made_greedy, parts_without_rows
from cerify.equivalence.generate import row_pattern
from cerify.equivalence.generate.row_pattern import RowProfile
from cerify.semantics import trees
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.check import may_be_empty
from cerify.semantics.row_pattern.interpreter import find_matches
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.syntax import ROW, MatchRecognize, RowDefinition, RowSkip, show_pattern
from cerify.semantics.trees import subtrees
from proofs_tests.support import sampled

CONDITIONS = {"A": rows.RowColumn("a"), "B": rows.RowColumn("b")}
PROFILE = RowProfile()
TABLES = [
    Stream(Event(ROW, {"a": a, "b": b}) for a, b in table)
    for n in range(5)
    for table in product([(False, False), (False, True), (True, False), (True, True)], repeat=n)
]


LONGEST = max(map(len, TABLES))


def fewest(p: Any) -> int:
    """The rows that a match of the pattern has at least; anchors ask for none."""
    if isinstance(p, rows.RowVariable):
        return 1
    below = [fewest(one) for one in trees.children(p)]
    if isinstance(p, rows.Quantified):
        return p.low * below[0]
    return min(below) if isinstance(p, rows.Alternation) else sum(below)


def clause(p: rows.Pattern) -> MatchRecognize:
    """The clause of a pattern with any conditions on A and B, and none on C, that finds the match at each row."""
    there = MatchRecognize(p).primary
    define = tuple(RowDefinition(A, e) for A in there for name, e in CONDITIONS.items() if A.startswith(name))
    return MatchRecognize(p, define, skip=RowSkip("next row"))


def found(q: MatchRecognize) -> list[Any]:
    """The rows and labels of the matches on all short tables."""
    return [[(m.at, m.bindings, m.excluded) for m in find_matches(q, S)] for S in TABLES]


def apart(p: Any, number: list[int]) -> Any:
    """The pattern with a name of its own for each place where a variable stands."""
    if isinstance(p, rows.RowVariable):
        number[0] += 1
        return rows.RowVariable(f"{p.name}{number[0]}")
    below = trees.children(p)
    return trees.rebuilt(p, [apart(one, number) for one in below]) if below else p


@pytest.mark.parametrize("seed", sampled(range(300), range(0, 300, 30)))
def test_what_has_no_effect_has_none_on_any_short_table_and_all_else_has_one(seed: int) -> None:
    rng = Random(seed)
    q = clause(apart(row_pattern.clause(rng, PROFILE, rng.randint(2, 5)).pattern, [0]))
    untaken = {id(one) for p in parts_without_rows(q) for one in subtrees(p)}
    idle, meant = idle_quantifiers(q), found(q)
    labels = {A for table in meant for _, bound, _ in table for A, _ in bound}
    short = all(
        p.low < 2 for p in subtrees(q.pattern) if isinstance(p, rows.Quantified)
    )  # else longer tables may differ
    for p in subtrees(q.pattern):
        if isinstance(p, rows.Alternation):
            for one in (p.left, p.right):
                never = labels.isdisjoint(MatchRecognize(one).primary)
                assert never or id(one) not in untaken
                known = id(one) in untaken or may_be_empty(one) or isinstance(one, rows.Alternation)
                assert known or not (never and short)
        if isinstance(p, rows.Quantified) and p.low == 0 and (primary := MatchRecognize(p).primary):
            never = labels.isdisjoint(primary)
            assert never or id(p) not in untaken
            assert id(p) in untaken or p.high == 0 or not (never and short)
        if isinstance(p, rows.Quantified) and not p.greedy:
            same = found(replace(q, pattern=made_greedy(q.pattern, p))) == meant
            assert same or not any(p is one for one in idle)
            seen = short and fewest(q.pattern) + fewest(p.pattern) <= LONGEST  # else it takes a longer table
            assert not (same and seen) or any(p is one for one in idle)


@pytest.mark.parametrize(
    ("pattern", "untaken", "idle"),
    [
        ("A | A B", ["A B"], []),
        ("(A | A B) A", [], []),
        ("A | B | A", ["A"], []),
        ("(A | C | B) A", ["B"], []),
        ("A? | B", ["B"], []),
        ("(^ A | A) B", [], []),
        ("A*? $", [], ["A*?"]),
        ("A{2}? B+?", [], ["A{2}?"]),
        ("A B*?", ["B*?"], []),
        ("A A ((C?)+ | B?)", ["B?"], []),
        ("A+? B", [], []),
        ("(A C)*? $ | B", [], ["(A C)*?"]),
    ],
)
def test_what_has_no_effect(pattern: str, untaken: list[str], idle: list[str]) -> None:
    q = parse(f"MATCH_RECOGNIZE (PATTERN ({pattern}) DEFINE A AS a{', B AS b' if 'B' in pattern else ''})")
    assert list(map(show_pattern, parts_without_rows(q))) == untaken
    assert list(map(show_pattern, idle_quantifiers(q))) == idle


def test_conditions_on_the_match_so_far_are_left_alone() -> None:
    q = parse("MATCH_RECOGNIZE (PATTERN (A | A B{1}?) DEFINE A AS COUNT(*) > 1)")
    assert (parts_without_rows(q), idle_quantifiers(q)) == ([], [])


def test_the_variable_is_a_part_of_a_condition_that_names_it() -> None:
    q = parse("MATCH_RECOGNIZE (PATTERN (A | B) DEFINE A AS CLASSIFIER() = 'B', B AS CLASSIFIER() = 'B')")
    assert list(map(show_pattern, parts_without_rows(q))) == ["A"]


def test_conditions_are_looked_at() -> None:
    define = "A AS x > 1, B AS Y IS NULL AND x > 5, D AS X > 0, C AS x = 1"
    q = parse(f"MATCH_RECOGNIZE (PATTERN (A C | B C | D C+?) DEFINE {define})")
    assert list(map(show_pattern, parts_without_rows(q))) == ["B C"]
    q = parse("MATCH_RECOGNIZE (PATTERN (A | B | C*? D) DEFINE A AS x >= 2, B AS x > 1, C AS x < 9, D AS x > 9)")
    integers = Schema({"row": {"x": "int"}})
    assert [list(map(show_pattern, parts_without_rows(q, schema))) for schema in (None, integers)] == [[], ["B"]]
    assert list(map(show_pattern, idle_quantifiers(q))) == ["C*?"]


def test_a_large_pattern_exceeds_the_budget() -> None:
    q = parse("MATCH_RECOGNIZE (PATTERN (A{3000}?))")
    with pytest.raises(BudgetExceeded, match="more than 2000"):
        idle_quantifiers(q)
