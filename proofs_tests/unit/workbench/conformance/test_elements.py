"""What of a case a failure is blamed on, and cases without it."""

import pytest

from cerify.conformance.peeling import ABSENT, elements, without
from cerify.languages import LANGUAGES
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.values import ValueType

CEL = LANGUAGES["cel"]


@pytest.mark.parametrize("value_type", ["int", "float", "string", "bool", "timestamp"])
def test_an_absent_value_of_every_type_is_filled_in(value_type: ValueType) -> None:
    query = CEL.parse("A FILTER A.x = A.x")
    S = Stream([Event("A")], Schema({"A": {"x": value_type}}))
    assert ABSENT in elements(CEL, query, S)
    cases = list(without(CEL, query, S, ABSENT))
    assert cases
    for other, filled in cases:
        assert other == query
        assert ABSENT not in elements(CEL, other, filled)
