"""The page of Trino's documentation on MATCH_RECOGNIZE: each of its examples, and what it says of them.

It prints no results; aggregates other than COUNT, SUM, AVG, MIN and MAX are left out.
"""

from __future__ import annotations

import pytest

from cerify.automata.row_pattern import evaluate
from cerify.semantics.errors import IllFormed, ParseError
from cerify.semantics.row_pattern import interpreter
from cerify.semantics.row_pattern.check import require_wellformed
from cerify.semantics.row_pattern.interpreter import RowOutput
from cerify.semantics.row_pattern.parse import parse
from proofs_tests.unit.semantics.row_pattern.tables import labels, numbered, rows, table

V_SHAPE = """MATCH_RECOGNIZE(
     PARTITION BY custkey
     ORDER BY orderdate
     MEASURES
              A.totalprice AS starting_price,
              LAST(B.totalprice) AS bottom_price,
              LAST(U.totalprice) AS top_price
     ONE ROW PER MATCH
     AFTER MATCH SKIP PAST LAST ROW
     PATTERN (A B+ C+ D+)
     SUBSET U = (C, D)
     DEFINE
              B AS totalprice < PREV(totalprice),
              C AS totalprice > PREV(totalprice) AND totalprice <= A.totalprice,
              D AS totalprice > PREV(totalprice)
     )"""
ORDERS = table(
    "custkey orderdate totalprice",
    *((k, d, p) for k, prices in ((1, (90, 80, 70, 80, 90, 95)), (2, (50, 40, 45))) for d, p in enumerate(prices)),
)


def test_a_v_shape_past_the_starting_point() -> None:
    q = parse(V_SHAPE)
    for find in (interpreter.find_matches, evaluate.find_matches):
        assert list(RowOutput(q, ORDERS).rows(find(q, ORDERS))) == [(1, 90, 70, 95)]
    shown = V_SHAPE.replace("ONE ROW", "ALL ROWS").replace("A B+ C+ D+", "A {- B+ C+ -} D+")
    assert rows(shown, ORDERS) == [(1, 0, 90, None, None, 90), (1, 5, 90, 70, 95, 95)]


EXPRESSIONS = (
    "A.totalprice", "U.orderdate", "orderstatus", "CLASSIFIER()", "CLASSIFIER(A)", "CLASSIFIER(U)", "MATCH_NUMBER()",
    "FIRST(A.totalprice, 2)", "LAST(A.totalprice, 2)", "PREV(A.totalprice, 2)", "NEXT(A.totalprice, 2)",
    "PREV(FIRST(A.totalprice, 3), 2)", "LAST('pattern_variable_' || CLASSIFIER())", "NEXT(U.totalprice + 10)",
    "LAST(CLASSIFIER() = 'A' OR totalprice > 10)", "LAST(CLASSIFIER(U) = 'A' OR U.totalprice > 10)",
    "avg(A.totalprice)", "avg(U.totalprice)", "avg(totalprice)", "count(*)", "count()", "count(totalprice)",
    "count(A.totalprice)", "count(A.*)", "count(U.*)", "count(1)", "RUNNING LAST(A.totalprice)",
    "FINAL LAST(A.totalprice)",
    "RUNNING avg(A.totalprice)", "FINAL count(A.*)",
)  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_that_are_correct(expression: str) -> None:
    require_wellformed(parse(f"MATCH_RECOGNIZE (MEASURES {expression} AS e PATTERN (A B) SUBSET U = (A, B))"))


@pytest.mark.parametrize("expression", ["LAST(1)", "LAST(A.totalprice + B.totalprice)", "SUM(LAST(totalprice))"])
def test_expressions_that_are_not(expression: str) -> None:
    with pytest.raises((IllFormed, ParseError)):
        require_wellformed(parse(f"MATCH_RECOGNIZE (MEASURES {expression} AS e PATTERN (A B))"))
    with pytest.raises(IllFormed, match="FINAL looks at a whole match"):
        require_wellformed(parse("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS FINAL LAST(x) > 1)"))


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("A B C", "1:ABC"),
        ("A | B | C", "1:A 2:A 3:A"),
        ("PERMUTE(A, B, C)", "1:ABC"),
        ("^ A", "1:A"),
        ("A $", "3:A"),
        ("()", "1: 2: 3:"),
        ("A{,}", "1:AAA"),
        ("A{2}", "1:AA"),
        ("A{1,2}", "1:AA 3:A"),
        ("A{1,2}?", "1:A 2:A 3:A"),
        ("A{,2}", "1:AA 3:A"),
        ("A?", "1:A 2:A 3:A"),
        ("A??", "1: 2: 3:"),
    ],
)
def test_patterns(pattern: str, found: str) -> None:
    assert labels(f"MATCH_RECOGNIZE (PATTERN ({pattern}))", numbered("1 2 3")) == found.split()


@pytest.mark.parametrize(
    ("skip", "message"), [("TO A", "the first row of match 1"), ("TO LAST C", "no row of match 1")]
)
def test_skips_that_fail(skip: str, message: str) -> None:
    with pytest.raises(IllFormed, match=message):
        labels(f"MATCH_RECOGNIZE (AFTER MATCH SKIP {skip} PATTERN (A B C?) DEFINE C AS id < 0)", numbered("1 2 3"))


def test_an_empty_match_and_an_unmatched_row() -> None:
    measures = "MATCH_NUMBER() AS n, CLASSIFIER() AS c, value AS v, LAST(value) AS l, COUNT(*) AS k, SUM(value) AS s"
    body = f"MEASURES {measures} ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN ({{}}) DEFINE A AS value > 5"
    S = numbered("1 7")
    empty, full = (1, None, None, None, 0, None), ("A", 7, 7, 1, 7)
    assert [row[:6] for row in rows(f"MATCH_RECOGNIZE ({body.format('A?')})", S)] == [empty, (2, *full)]
    assert [row[:6] for row in rows(f"MATCH_RECOGNIZE ({body.format('A')})", S)] == [(None,) * 6, (1, *full)]
