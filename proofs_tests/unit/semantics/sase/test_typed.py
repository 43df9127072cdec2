"""The value types of terms of SASE+."""

import pytest

from cerify.semantics.predicates import Arithmetic, Attribute, Constant
from cerify.semantics.sase.check import value_type
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import Reference, SaseAggregate, SaseQuery

Q = parse("PATTERN SEQ(A a) RETURN a.x")


def test_the_type_of_an_attribute_of_no_event_is_not_known() -> None:
    assert isinstance(Q, SaseQuery)
    assert value_type(Attribute("x"), Q, {"A": {"x": "int"}}) is None
    assert value_type(Arithmetic("+", Constant(1), Constant(2)), Q, None) == "int"
    assert value_type(Arithmetic("+", Attribute("x"), Constant(2)), Q, None) == "float"


@pytest.mark.parametrize(
    ("function", "known"),
    [("count", "int"), ("avg", "float"), *((f, "string") for f in ("sum", "min", "max", "highest", "lowest"))],
)
def test_an_aggregate_has_the_type_of_what_it_is_taken_of(function: str, known: str) -> None:
    """But for the number of events, and the mean."""
    assert isinstance(Q, SaseQuery)
    assert value_type(SaseAggregate("x", "a", function), Q, {"A": {"x": "string"}}) == known
    assert value_type(Reference("x", "a"), Q, {"A": {"x": "string"}}) == "string"
