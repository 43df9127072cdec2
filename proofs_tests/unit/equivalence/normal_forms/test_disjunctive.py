"""Disjunctive normal form of CEL: what becomes of each operator, and why some hold their OR."""

import pytest

from cerify.equivalence.rewrite.normal_forms import disjunctive
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show, size
from cerify.semantics.errors import BudgetExceeded
from proofs_tests.support import FIRE, by_position
from proofs_tests.unit.equivalence.normal_forms.shapes import is_disjunctive


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("(A OR B) ; (C OR D)", "A ; C OR A ; D OR B ; C OR B ; D"),
        ("(A OR B) : C", "A : C OR B : C"),
        ("(A OR B) IN X", "A IN X OR B IN X"),
        ("PROJECT[A](A OR B)", "PROJECT[A](A) OR PROJECT[A](B)"),
        ("START(A OR B)", "START(A) OR START(B)"),
        ("STRICT(A OR B)", "STRICT(A) OR STRICT(B)"),
        ("(A OR B) WITHIN 2 EVENTS", "(A WITHIN 2 EVENTS) OR (B WITHIN 2 EVENTS)"),
        ("(A OR B) PARTITION BY [id]", "(A PARTITION BY [id]) OR (B PARTITION BY [id])"),
        ("A AND (B OR C)", "(A AND B) OR (A AND C)"),
        ("(A OR B) ALL C", "(A ALL C) OR (B ALL C)"),
        ("(A OR B) UNLESS C", "(A UNLESS C) OR (B UNLESS C)"),
        ("A UNLESS (B OR START(C OR D))", "A UNLESS B UNLESS START(C) UNLESS START(D)"),
        ("A FILTER A.x = 1 OR A.x = 2", "(A FILTER A.x = 1) OR (A FILTER A.x = 2)"),
        ("A FILTER A.x = 1 AND A.y = 2", "A FILTER A.x = 1 FILTER A.y = 2"),
        (
            "A FILTER (A.x = 1 OR A.x = 2) AND (A.y = 1 OR A.y = 2)",
            "(A FILTER A.x = 1 FILTER A.y = 1) OR (A FILTER A.x = 2 FILTER A.y = 1) OR "
            "(A FILTER A.x = 1 FILTER A.y = 2) OR (A FILTER A.x = 2 FILTER A.y = 2)",
        ),
        ("A OR (B OR A)", "A OR B"),
        ("((A OR B) ; C OR D)+ ; E", "(A ; C OR B ; C OR D)+ ; E"),
        ("(A OR B):+", "(A OR B):+"),
        ("NXT(A ; (B OR C))", "NXT(A ; B OR A ; C)"),
        ("LAST(A OR B) ; (C OR D)", "LAST(A OR B) ; C OR LAST(A OR B) ; D"),
        ("MAX(A OR B)", "MAX(A OR B)"),
    ],
)
def test_each_operator(query: str, expected: str) -> None:
    assert disjunctive(parse(query)) == parse(expected)
    assert is_disjunctive(parse(expected))


def test_the_running_example() -> None:
    phi = parse(f"((T ; H) OR (H ; T)) {FIRE}")
    filters = "FILTER T.tmp > 40 FILTER H.hum <= 25 FILTER T.id = 0 FILTER H.id = 0"
    assert show(disjunctive(phi)) == f"(T ; H {filters}) OR (H ; T {filters})"


@pytest.mark.parametrize(
    ("whole", "apart", "types"),
    [
        ("(A OR B)+", "A+ OR B+", "A B"),
        ("(A OR B):+", "A:+ OR B:+", "A B"),
        ("NXT(A OR (A ; A))", "NXT(A) OR NXT(A ; A)", "A A"),
        ("LAST(A OR (A ; A))", "LAST(A) OR LAST(A ; A)", "A A"),
        ("MAX(A OR (A ; A))", "MAX(A) OR MAX(A ; A)", "A A"),
        ("A UNLESS (B OR C)", "(A UNLESS B) OR (A UNLESS C)", "B A"),
    ],
)
def test_why_these_do_not_distribute(whole: str, apart: str, types: str) -> None:
    assert by_position(whole, types) != by_position(apart, types)
    assert by_position(show(disjunctive(parse(whole))), types) == by_position(whole, types)


def test_a_form_that_is_too_large_is_an_error_that_names_the_place() -> None:
    query = " ; ".join(["(A OR B)"] * 30)
    with pytest.raises(BudgetExceeded, match=r"already at this ;, and 10000 are allowed") as caught:
        disjunctive(parse(query))
    assert caught.value.span is not None
    assert query[caught.value.span.start : caught.value.span.end].count("A OR B") == 10  # of 2^9 disjuncts, 9727 nodes
    with pytest.raises(BudgetExceeded, match="at this FILTER"):
        disjunctive(parse("A FILTER " + " AND ".join(["(A.x = 1 OR A.y = 1)"] * 30)))
    with pytest.raises(BudgetExceeded, match="at this UNLESS"):
        disjunctive(parse("(A OR B OR C) UNLESS (A OR B OR C)"), 20)


def test_a_form_just_as_large_as_allowed() -> None:
    phi = parse("(A OR B) ; (C OR D)")
    assert size(disjunctive(phi, 15)) == 15
    with pytest.raises(BudgetExceeded):
        disjunctive(phi, 14)
    phi = parse("A UNLESS (B OR C OR D)")
    assert size(disjunctive(phi, 7)) == 7
    copies = parse("A FILTER (A.x = 1 OR A.x = 1) AND A.y = 1")
    assert size(disjunctive(copies, 7)) == 3
    with pytest.raises(BudgetExceeded):  # all copies are made before all but one are left out
        disjunctive(copies, 6)


def test_very_many_disjuncts_are_joined_as_a_tree() -> None:
    psi = disjunctive(parse(" ; ".join(["(A OR B)"] * 9)))
    assert show(psi).count(" OR ") == 511
    assert parse(show(psi)) == psi
