"""Which predicates some event may be in, by its type alone."""

import pytest

from cerify.automata.algebra.finite import satisfiable
from cerify.semantics.predicates import Anything, Attribute, Both, Comparison, Constant, Either, Not, OfType, Predicate

A, B, X = OfType("A"), OfType("B"), Comparison(">", Attribute("x"), Constant(1))


@pytest.mark.parametrize(
    ("predicate", "answer"),
    [
        (A, True), (Not(A), True), (Anything(), True), (Not(Anything()), False), (X, True), (Not(X), True),
        (Both(A, B), False), (Both(A, Not(B)), True), (Both(A, Not(A)), False), (Both(Not(A), Not(B)), True),
        (Either(A, B), True), (Not(Either(A, Not(A))), False), (Not(Either(A, B)), True),
        (Not(Both(A, B)), True), (Both(A, Not(Both(A, X))), True), (Both(A, Not(Both(X, A))), True),
        (Not(Both(Anything(), Anything())), False), (Both(X, Not(X)), True), (Not(Either(X, Anything())), False),
        (Both(A, Not(Either(A, X))), False),
    ],
)  # fmt: skip
def test_satisfiable(predicate: Predicate, answer: bool) -> None:
    """Of X both may be: comparisons are free choices."""
    assert satisfiable(predicate) is answer
