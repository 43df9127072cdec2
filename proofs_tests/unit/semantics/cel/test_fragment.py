"""Fragments of CEL, by the operators that a formula is written with."""

import pytest

from cerify.semantics.cel.check import beyond_star
from cerify.semantics.cel.parse import parse


@pytest.mark.parametrize(
    ("query", "operators"),
    [
        ("(A IN X ; B+) OR C FILTER X.x = C.x", set()),
        ("A : (B OR C)", {":"}),
        ("STRICT(A ; B)+", {"STRICT"}),
        ("(A : B):+ ; C", {":", ":+"}),
        ("PROJECT[A](START(A AND (B ALL C))) WITHIN 3 EVENTS", {"PROJECT", "START", "AND", "ALL", "WITHIN"}),
    ],
)
def test_the_operators_beyond_the_star_fragment(query: str, operators: set[str]) -> None:
    assert beyond_star(parse(query)) == operators
