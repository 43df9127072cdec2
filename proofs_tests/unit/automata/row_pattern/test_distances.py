"""Rows of the match at one distance: which conditions become ones on columns, and that the matches stay."""

from __future__ import annotations

from random import Random

import pytest

from cerify.automata.row_pattern.compile import at_fixed_distances, why_not
from cerify.equivalence.decide.replay import tables, values
from cerify.equivalence.generate.row_pattern import RowProfile, clause
from cerify.semantics.errors import IllFormed
from cerify.semantics.row_pattern.interpreter import find_matches
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.syntax import show, show_expression
from proofs_tests.support import sampled


@pytest.mark.parametrize(
    ("pattern", "condition", "rewritten"),
    [
        ("A B", "B.price < A.price", "price < PREV(price)"),
        ("A C B", "B.price < A.price", "price < PREV(price, 2)"),
        ("(A | C) C B", "price < FIRST(price)", "price < PREV(price, 2)"),
        ("A* C B", "price < LAST(C.price)", "price < PREV(price)"),
        ("A C B", "price < PREV(A.price)", "price < PREV(price, 3)"),
        ("A C B", "price < NEXT(A.price)", "price < PREV(price)"),
        ("A C B", "price < NEXT(LAST(A.price + 1), 2)", "price < price + 1"),
        ("A C B", "price < NEXT(A.price, 3)", "price < NEXT(price)"),
        ("A B+", "price < FIRST(B.price)", None),
        ("A? B", "price < A.price", None),
        ("A+ B+", "price < A.price", None),
        ("A+ B+", "price < FIRST(A.price)", None),
        ("A B", "price < LAST(A.price, 1)", None),
        ("A B", "CLASSIFIER(A) = 'A'", None),
        ("A B", "price < LAST(CLASSIFIER(A))", None),
        ("A B", "price < SUM(A.price)", None),
        ("PERMUTE(A, B)", "price < A.price", None),
        ("A B C", "price < C.price", None),
    ],
)
def test_what_is_looked_up_at_one_distance(pattern: str, condition: str, rewritten: str | None) -> None:
    q = parse(f"MATCH_RECOGNIZE (PATTERN ({pattern}) DEFINE B AS {condition})")
    (found,) = at_fixed_distances(q).define
    assert show_expression(found.condition) == (rewritten or condition)
    assert (why_not(at_fixed_distances(q)) is None) == (rewritten is not None)


@pytest.mark.parametrize("seed", sampled(range(600), range(0, 600, 30)))
def test_the_matches_stay(seed: int) -> None:
    q = clause(Random(seed), RowProfile(), Random(seed).randint(2, 6))
    changed = at_fixed_distances(q)
    if changed.define == q.define:
        return
    for _, S in zip(range(400), tables(values([q], None), 4), strict=False):
        try:
            expected = list(find_matches(q, S))
        except IllFormed:
            continue
        assert list(find_matches(changed, S)) == expected, show(changed)
