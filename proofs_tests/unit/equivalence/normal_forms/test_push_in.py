"""IN pushed to the event types: tods21, appendix B, and the operators beyond CEL*."""

import pytest

from cerify.equivalence.rewrite.normal_forms import push_in
from cerify.semantics.cel.interpreter import valuations
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Stream
from proofs_tests.support import by_position, stream
from proofs_tests.unit.equivalence.normal_forms.passes import cel_meaning
from proofs_tests.unit.equivalence.normal_forms.shapes import has_in_on_types_only

APPENDIX_B = [
    ("(H ; T) IN X", "H IN X ; T IN X"),
    ("(H : T) IN X", "H IN X : T IN X"),
    ("(H OR T) IN X", "H IN X OR T IN X"),
    ("H+ IN X", "(H IN X)+"),
    ("H:+ IN X", "(H IN X):+"),
    ("(H FILTER H.id = 0) IN X", "H IN X FILTER H.id = 0"),
    ("(H IN X FILTER X.id = 0) IN X", "PROJECT[H, X](H IN X_1 IN X FILTER X_1.id = 0)"),
    ("((H ; T+) IN X OR T) IN Y", "H IN X IN Y ; (T IN X IN Y)+ OR T IN Y"),
]
BEYOND = [
    ("(A ALL B) IN X", "A IN X ALL B IN X"),
    ("START(A) IN X", "START(A IN X)"),
    ("STRICT(A ; B) IN X", "STRICT(A IN X ; B IN X)"),
    ("NXT(A ; B) IN X", "NXT(A IN X ; B IN X)"),
    ("LAST(A ; B) IN X", "LAST(A IN X ; B IN X)"),
    ("MAX(A ; B) IN X", "MAX(A IN X ; B IN X)"),
    ("(A UNLESS (B IN Y)) IN X", "A IN X UNLESS B IN Y"),
    ("((A ; B) WITHIN 2 EVENTS) IN X", "A IN X ; B IN X WITHIN 2 EVENTS"),
    ("(A+ PARTITION BY [id]) IN X", "(A IN X)+ PARTITION BY [id]"),
    ("(A AND A) IN X", "A IN X AND A IN X"),
    ("(A IN X AND A IN Y) IN X", "A IN X_1 IN X AND A IN Y IN X"),
    ("PROJECT[B](A ; B) IN X", "PROJECT[B, X](A ; B IN X)"),
    ("PROJECT[B](PROJECT[A, B](A ; B ; C)) IN X", "PROJECT[B, X](PROJECT[A, B, X](A ; B IN X ; C))"),
    ("PROJECT[A](A) IN A", "PROJECT[A](PROJECT[A, A_1](A IN A_1))"),
    ("PROJECT[B](A ; B) IN A", "PROJECT[A, B](PROJECT[A_1](A IN A_1) ; B IN A)"),
    ("(A ; B) IN A", "A ; B IN A"),
    ("A IN A IN X IN X", "A IN X"),
    ("((A ; B) FILTER A.x = B.x) IN A", "PROJECT[A, B](A IN A_1 ; B IN A FILTER A_1.x = B.x)"),
    ("((A ; B) FILTER X.x = 1) IN X", "A IN X ; B IN X FILTER X_1.x = 1"),
]


@pytest.mark.parametrize(("query", "expected"), APPENDIX_B + BEYOND)
def test_each_operator(query: str, expected: str) -> None:
    assert show(push_in(parse(query))) == show(parse(expected))
    assert has_in_on_types_only(parse(expected))


@pytest.mark.parametrize(
    ("query", "wrong", "S"),
    [
        # a filter on the variable itself: it would ask of B what it asks of A
        ("((A ; B) FILTER A.x = 1) IN A", "(A ; B) IN A FILTER A.x = 1", stream("A B", x=[1, 0])),
        # a filter on a variable that nothing binds below the IN
        ("(A FILTER X.x = 1) IN X", "A IN X FILTER X.x = 1", stream("A", x=[0])),
        # AND: valuations that differ in X are no longer told apart
        ("(A IN X AND A) IN X", "A IN X AND A IN X", stream("A")),
        # PROJECT: what it hides is not in X
        ("PROJECT[B](A ; B) IN X", "PROJECT[B, X]((A ; B) IN X)", stream("A B")),
        # the letter of appendix B, which renames the event type as well
        ("((A ; B) FILTER A.x = 1) IN A", "(A_1 ; B) IN A FILTER A_1.x = 1", stream("A B", x=[1, 0])),
    ],
)
def test_what_does_not_commute(query: str, wrong: str, S: Stream) -> None:
    """Each on one short stream: the plain exchange gives other valuations, the pass the same."""
    phi = parse(query)
    assert cel_meaning(phi, S) != cel_meaning(parse(wrong), S)
    assert cel_meaning(phi, S) == cel_meaning(push_in(phi), S)


def test_the_fresh_variable_has_a_name_of_its_own() -> None:
    phi = parse("((A ; A_1) FILTER A.x = 1) IN A")
    assert show(push_in(phi)) == "PROJECT[A, A_1](A IN A_2 ; A_1 IN A FILTER A_2.x = 1)"


def test_and_does_not_see_the_fresh_variable() -> None:
    phi = parse("((A IN X FILTER X.x = 0) IN X) AND A IN X")
    S = stream("A", x=[0])
    assert valuations(phi, S, 0)
    assert cel_meaning(push_in(phi), S) == cel_meaning(phi, S)


def test_what_stands_right_of_unless_keeps_its_names() -> None:
    """Nobody sees its variables; renamed, its AND would compare others."""
    phi = parse("((A FILTER A.x = 0) UNLESS (PROJECT[A](A) AND A)) IN A")
    S = stream("A", x=[0])
    assert not valuations(phi, S, 0)
    assert not valuations(push_in(phi), S, 0)


def test_complex_events_stay_too() -> None:
    query = "((H IN X ; T+ ; H) FILTER H.id = T.id) IN H"
    S = stream("H T T H", id=[1, 1, 1, 1])
    assert (
        by_position(show(push_in(parse(query))), S)
        == by_position(query, S)
        == {3: {(0, 1, 3), (0, 2, 3), (0, 1, 2, 3)}}
    )


def test_a_form_that_is_too_large_is_an_error() -> None:
    with pytest.raises(BudgetExceeded, match="at this IN, and 6 are allowed"):
        push_in(parse("(A ; B ; C) IN X"), 6)
