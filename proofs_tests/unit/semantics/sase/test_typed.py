"""The value types of terms of SASE+."""

from cerify.semantics.predicates import Arithmetic, Attribute, Constant
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import Query
from cerify.semantics.sase.typed import value_type

Q = parse("PATTERN SEQ(A a) RETURN a.x")


def test_the_type_of_an_attribute_of_no_event_is_not_known() -> None:
    assert isinstance(Q, Query)
    assert value_type(Attribute("x"), Q, {"A": {"x": "int"}}) is None
    assert value_type(Arithmetic("+", Constant(1), Constant(2)), Q, None) == "int"
    assert value_type(Arithmetic("+", Attribute("x"), Constant(2)), Q, None) == "float"
