"""Filters pushed down in CEL: how far each kind goes, and what it must not pass."""

import pytest

from cerify.equivalence.rewrite.normal_forms import push_filters
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Stream
from proofs_tests.support import FIRE, SENSOR_1, stream
from proofs_tests.unit.equivalence.normal_forms.passes import cel_meaning


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # the running examples of tods21, section 3
        (f"(T ; H) {FIRE}", "(T FILTER T.tmp > 40 FILTER T.id = 0) ; (H FILTER H.hum <= 25 FILTER H.id = 0)"),
        (
            f"(H IN H1 ; T+ ; H IN H2) {SENSOR_1}",
            "(H FILTER H.hum < 30 FILTER H.id = 1) IN H1 ; (T FILTER T.id = 1)+ ; "
            "(H FILTER H.hum > 60 FILTER H.id = 1) IN H2",
        ),
        # of each event
        ("(A ; A) FILTER A.x = 1", "(A FILTER A.x = 1) ; (A FILTER A.x = 1)"),
        ("(A : B) FILTER A.x = 1", "(A FILTER A.x = 1) : B"),
        ("(A ALL B) FILTER B.x = 1", "A ALL (B FILTER B.x = 1)"),
        ("(A OR B) FILTER A.x = 1", "(A FILTER A.x = 1) OR B"),
        ("(A AND A) FILTER A.x = 1", "(A FILTER A.x = 1) AND (A FILTER A.x = 1)"),
        ("(A+ ; B):+ FILTER A.x = 1", "((A FILTER A.x = 1)+ ; B):+"),
        ("(A ; B) IN X FILTER X.x = 1", "((A FILTER A.x = 1) ; (B FILTER B.x = 1)) IN X"),
        ("(A ; B) IN X FILTER A.x = 1", "((A FILTER A.x = 1) ; B) IN X"),
        ("A IN X IN Y FILTER Y.x = 1", "(A FILTER A.x = 1) IN X IN Y"),
        ("PROJECT[A](A ; B) FILTER A.x = 1", "PROJECT[A]((A FILTER A.x = 1) ; B)"),
        ("PROJECT[A](A ; B) IN X FILTER X.x = 1", "PROJECT[A]((A FILTER A.x = 1) ; B) IN X"),
        ("START(A) FILTER A.x = 1", "START(A FILTER A.x = 1)"),
        ("STRICT(A+) FILTER A.x = 1", "STRICT((A FILTER A.x = 1)+)"),
        ("(A UNLESS A) FILTER A.x = 1", "(A FILTER A.x = 1) UNLESS A"),
        ("((A ; B) WITHIN 3 EVENTS) FILTER A.x = 1", "(A FILTER A.x = 1) ; B WITHIN 3 EVENTS"),
        ("(A+ PARTITION BY [y]) FILTER A.x = 1", "(A FILTER A.x = 1)+ PARTITION BY [y]"),
        # stopped by a strategy, where a variable for the whole becomes one for each part
        ("NXT(A ; B) FILTER A.x = 1", "NXT(A ; B) FILTER A.x = 1"),
        (
            "(C ; MAX(A ; B)) IN X FILTER X.x = 1",
            "((C FILTER C.x = 1) ; (MAX(A ; B) FILTER A.x = 1 FILTER B.x = 1)) IN X",
        ),
        # it holds anyway
        ("A FILTER B.x = 1", "A"),
        ("PROJECT[A](A ; B) FILTER B.x = 1", "PROJECT[A](A ; B)"),
        ("A FILTER A.x = B.x", "A"),
        ("(A OR B) FILTER A.x = 1 OR B.x = 1", "A OR B"),
        # as one piece
        ("(A ; B ; C) FILTER A.x = B.x", "(A ; B FILTER A.x = B.x) ; C"),
        ("(A ; B ; C) FILTER A.x = C.x", "A ; B ; C FILTER A.x = C.x"),
        ("((A ; B) ALL C) FILTER A.x = B.x", "(A ; B FILTER A.x = B.x) ALL C"),
        ("(C : (A ; B)) FILTER A.x = 1 OR B.x = 1", "C : (A ; B FILTER A.x = 1 OR B.x = 1)"),
        ("(A ; B) IN X FILTER A.x = B.x", "(A ; B FILTER A.x = B.x) IN X"),
        ("(A ; B) IN X FILTER X.x = X.x", "(A ; B) IN X FILTER X.x = X.x"),
        ("(A ; B)+ FILTER A.x = B.x", "(A ; B)+ FILTER A.x = B.x"),
        ("((A ; B) OR C) FILTER A.x = B.x", "(A ; B FILTER A.x = B.x) OR C"),
        ("((A ; B) UNLESS C) FILTER A.x = B.x", "(A ; B FILTER A.x = B.x) UNLESS C"),
        ("PROJECT[A, B](A ; B ; C) FILTER A.x = B.x", "PROJECT[A, B]((A ; B FILTER A.x = B.x) ; C)"),
        ("STRICT(START(A ; B)) FILTER A.x = B.x", "STRICT(START(A ; B FILTER A.x = B.x))"),
        ("LAST(A ; B) FILTER A.x = B.x", "LAST(A ; B) FILTER A.x = B.x"),
        ("(A ; (B FILTER B.x = 1)) FILTER A.x = 1 AND B.x = 1", "(A FILTER A.x = 1) ; (B FILTER B.x = 1)"),
        ("(A ; B) FILTER same(A) AND both(A, B)", "(A FILTER same(A)) ; B FILTER both(A, B)"),
    ],
)
def test_how_far_a_filter_goes(query: str, expected: str) -> None:
    phi = push_filters(parse(query))
    assert show(phi) == show(parse(expected))
    assert push_filters(phi) == phi


@pytest.mark.parametrize(
    ("query", "wrong", "S"),
    [
        ("NXT(A ; B) FILTER A.x = 1", "NXT((A FILTER A.x = 1) ; B)", stream("A A B", x=[0, 1, 0])),
        ("LAST(A ; B) FILTER A.x = 1", "LAST((A FILTER A.x = 1) ; B)", stream("A A B", x=[1, 0, 0])),
        ("MAX(A+) FILTER A.x = 1", "MAX((A FILTER A.x = 1)+)", stream("A A", x=[0, 1])),
        ("A+ FILTER A.x < 2 OR A.x > 4", "(A FILTER A.x < 2 OR A.x > 4)+", stream("A A", x=[1, 5])),
        ("A+ FILTER A.x = A.x", "(A FILTER A.x = A.x)+", stream("A A", x=[1, 5])),
        ("(A ; A) FILTER A.x = A.x", "(A FILTER A.x = A.x) ; (A FILTER A.x = A.x)", stream("A A", x=[1, 5])),
        ("(A ; B) IN A FILTER A.x = 1", "((A ; B) FILTER A.x = 1) IN A", stream("A B", x=[1, 0])),
        ("PROJECT[A](A ; B) FILTER B.x = 1", "PROJECT[A](A ; (B FILTER B.x = 1))", stream("A B", x=[1, 0])),
        (  # B is hidden, so that nothing is asked of it
            "PROJECT[A](A ; B) FILTER (A.x = 1 AND B.x = 1) OR A.x = 2",
            "PROJECT[A]((A ; B) FILTER (A.x = 1 AND B.x = 1) OR A.x = 2)",
            stream("A B", x=[1, 0]),
        ),
        ("(A UNLESS A) FILTER A.x = 1", "A UNLESS (A FILTER A.x = 1)", stream("A", x=[0])),
    ],
)
def test_what_a_filter_must_not_pass(query: str, wrong: str, S: Stream) -> None:
    phi = parse(query)
    assert cel_meaning(phi, S) != cel_meaning(parse(wrong), S)
    assert cel_meaning(phi, S) == cel_meaning(push_filters(phi), S)


def test_a_registered_predicate_of_nothing_need_not_hold() -> None:
    """So it stays, where another filter on an unbound variable goes."""
    phi = parse("A FILTER nonempty(B)")
    assert push_filters(phi) == phi
    assert push_filters(parse("(A ; C) FILTER nonempty(B)")) == parse("(A FILTER nonempty(B)) ; C")


def test_the_order_of_filters_stays() -> None:
    phi = parse("A FILTER A.x = 1 FILTER A.x = A.y FILTER A.y = 1 OR A.y = 2")
    assert push_filters(phi) == phi
    assert isinstance(phi, cel.Filter)


def test_a_form_that_is_too_large_is_an_error() -> None:
    with pytest.raises(BudgetExceeded, match="at this FILTER, and 6 are allowed"):
        push_filters(parse("(A ; A ; A) FILTER A.x = 1"), 6)


@pytest.mark.parametrize("operator", [";", ":", "ALL"])
def test_a_condition_across_events_goes_to_the_operand_that_has_them(operator: str) -> None:
    both = "(A ; B FILTER A.x = B.x)"
    for query, pushed in (
        (f"((A ; B) {operator} C) FILTER A.x = B.x", f"{both} {operator} C"),
        (f"(C {operator} (A ; B)) FILTER A.x = B.x", f"C {operator} {both}"),
    ):
        assert show(push_filters(parse(query))) == pushed
