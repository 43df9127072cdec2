"""Filters that no event passes, and formulas without a match."""

from __future__ import annotations

import pytest

from cerify.equivalence.decide.cel import satisfiable, vacuous
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.events import Schema


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("A FILTER A[x > 3 and x < 2]", "A[x > 3 and x < 2]"),
        ("A ; (B FILTER B[s like 'a.*' and s like 'b.*']) ; C", "B[s like 'a.*' and s like 'b.*']"),
        ("(A OR B) FILTER A[not (x = 1 or x != 1) and x > 0]", "A[not (x = 1 or x != 1) and x > 0]"),
        ("(A IN X ; B) FILTER X[x < y and y < x]", "X[x < y and y < x]"),
        ("A ; ((B FILTER B.x > 3) FILTER B.x < 2)", "(B FILTER B.x > 3) FILTER B.x < 2"),
        ("(A ; (B AND C)) OR (A : (B AND C))", "B AND C"),
        ("STRICT(A ; B) UNLESS A", "STRICT(A ; B) UNLESS A"),
    ],
)
def test_what_can_never_match_is_found_where_it_stands(query: str, place: str) -> None:
    (problem,) = vacuous(parse(query))
    assert problem.rule == "never"
    assert problem.span is not None
    assert query[problem.span.start : problem.span.end].strip("()") == place.strip("()")


@pytest.mark.parametrize(
    "query",
    [
        "A ; B",
        "A FILTER A[x > 3 and x < 4]",
        "(A OR B) FILTER A.x > 3",
        "A UNLESS (B AND C)",
        "MAX(A+) ; B",
        "A FILTER B[x < x]",
    ],
)
def test_what_can_match_is_no_finding(query: str) -> None:
    assert not list(vacuous(parse(query)))
    assert satisfiable(parse(query)) is True


def test_a_schema_decides_what_values_there_are() -> None:
    phi = parse("A FILTER A[x > 3 and x < 4]")
    assert satisfiable(phi, Schema({"A": {"x": "float"}})) is True
    assert satisfiable(phi, Schema({"A": {"x": "int"}})) is False
    assert [problem.rule for problem in vacuous(phi, Schema({"A": {"x": "int"}}))] == ["never"]


def test_what_is_not_decided_is_none() -> None:
    assert satisfiable(parse("A ; B FILTER A.x = B.x")) is None
    assert satisfiable(parse("MAX(A+ ALL B+ ALL C+)"), budget=Budget(states=3)) is None
    assert not list(vacuous(parse("A ; B FILTER A.x < B.x AND A.x > B.x")))
