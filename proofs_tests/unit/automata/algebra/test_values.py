"""The pieces of an attribute's values and the simplest value of each."""

from datetime import UTC, datetime

import pytest

from cerify.automata.algebra.values import pieces
from cerify.semantics.predicates import Attribute, Comparison, Constant, Predicate
from cerify.semantics.values import Value, ValueType

X = Attribute("x")


def between(low: Value, high: Value) -> list[Predicate]:
    return [Comparison(">", X, Constant(low)), Comparison("<", X, Constant(high))]


@pytest.mark.parametrize(
    ("low", "high", "value_type", "value"),
    [
        (1, 5, None, 2),
        (-5, -1, None, -2),
        (-2, -1, None, -1.5),
        (1, 2, None, 1.5),
        (1, 2, "float", 1.5),
        (-2, -1, "float", -1.5),
        (-3, 4, "int", 0),
        (0.25, 0.5, None, 0.375),
        (-0.5, -0.25, None, -0.375),
        (-1, 0, None, -0.5),
        (0, 1, None, 0.5),
    ],
)
def test_a_number_between_two(low: Value, high: Value, value_type: ValueType | None, value: Value) -> None:
    assert pieces(between(low, high), value_type)[True, True] == value


def test_no_integer_is_between_two_neighbours() -> None:
    assert (True, True) not in pieces(between(1, 2), "int")
    assert (True, True) not in pieces(between(-2, -1), "int")


@pytest.mark.parametrize(
    ("high", "value"),
    [
        (datetime(2021, 1, 9, tzinfo=UTC), datetime(2021, 1, 2, tzinfo=UTC)),
        (datetime(2021, 1, 1, 9, tzinfo=UTC), datetime(2021, 1, 1, 1, tzinfo=UTC)),
        (datetime(2021, 1, 1, 0, 9, tzinfo=UTC), datetime(2021, 1, 1, 0, 1, tzinfo=UTC)),
        (datetime(2021, 1, 1, 0, 0, 9, tzinfo=UTC), datetime(2021, 1, 1, 0, 0, 1, tzinfo=UTC)),
        (datetime(2021, 1, 1, 0, 0, 0, 9, tzinfo=UTC), datetime(2021, 1, 1, 0, 0, 0, 1, tzinfo=UTC)),
    ],
)
def test_a_time_between_two_is_one_that_a_person_can_read(high: datetime, value: datetime) -> None:
    assert pieces(between(datetime(2021, 1, 1, tzinfo=UTC), high), None)[True, True] == value
