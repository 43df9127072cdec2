"""The pieces of an attribute's values and the simplest value of each."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random

import pytest

from cerify.automata.algebra.values import LAST_TIME, STEPS, pieces
from cerify.semantics.predicates import Attribute, Comparison, Constant, InRange, OneOf, Predicate, satisfied
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


def test_what_is_absent_neither_equals_nor_differs_from_itself() -> None:
    tests = [Comparison("=", X, X), Comparison("!=", X, X), Comparison("<=", X, X), Comparison("<", X, X)]
    found = pieces([*tests, Comparison(">", X, Constant(3))], None)
    assert {truth: type(value).__name__ for truth, value in found.items()} == {
        (True, False, True, False, False): "int",
        (True, False, True, False, True): "int",
        (True, False, False, False, False): "bool",
        (False, False, False, False, False): "NoneType",
        (False, True, False, False, False): "float",
    }


def test_no_integer_is_between_two_neighbours() -> None:
    assert (True, True) not in pieces(between(1, 2), "int")
    assert (True, True) not in pieces(between(-2, -1), "int")


LARGE: list[int | float] = [
    *(sign * (2**e + d) for e in (52, 53, 54, 62, 63, 64) for d in (-2, -1, 0, 1, 2, 3) for sign in (1, -1)),
    *(sign * n for n in (10**17, 10**22, 10**23, int(1.7976931348623157e308), 2**1024, 10**400) for sign in (1, -1)),
    *(0, 0.5, 2.0**53, 1e22, 1e308, -1e308, 5e-324, 4503599627370496.5),
]  # fmt: skip


def around(number: int | float) -> Iterator[int | float]:
    """The number, its neighbours among the integers and among the floats, and the float that it rounds to."""
    yield from (number, math.floor(number) - 1, math.floor(number), math.floor(number) + 1)
    try:
        rounded = float(number)
    except OverflowError:
        return
    yield from (rounded, math.nextafter(rounded, math.inf), math.nextafter(rounded, -math.inf))


def large_tests(rng: Random) -> Iterator[Predicate]:
    """Tests whose constants are large."""
    for n in LARGE:
        yield from (Comparison("=", X, Constant(n)), Comparison("<=", X, Constant(n)))
    for _ in range(100):
        low, high, *rest = rng.sample(LARGE, 4)
        yield from (InRange(X, low, high), OneOf(X, (low, *rest)))


@pytest.mark.parametrize("value_type", ["int", "float", None])
def test_every_number_has_a_piece_also_where_floats_are_far_apart(value_type: ValueType | None) -> None:
    """A float of 2^53 and more was in no piece, and a filter that it passes was taken for one that nothing passes."""
    rng = Random(2)
    numbers = [v for n in LARGE for v in around(n)]
    if value_type == "int":
        numbers = [v for v in numbers if isinstance(v, int) and -(2**63) <= v < 2**63]
    if value_type == "float":
        numbers = [v for v in numbers if isinstance(v, float)]
    tests = list(large_tests(rng))
    for _ in range(150):
        chosen = rng.sample(tests, 3)
        found = pieces(chosen, value_type)
        for truth, value in found.items():
            assert truth == tuple(satisfied(test, lambda _, v=value: v) for test in chosen)
            assert value_type != "float" or value is None or isinstance(value, float)
        for number in (*numbers, None, *([] if value_type == "int" else [math.nan, math.inf, -math.inf])):
            assert tuple(satisfied(test, lambda _, v=number: v) for test in chosen) in found, (chosen, number)


def test_a_time_between_two_of_the_last_day() -> None:
    """It ended in an OverflowError: a day after the first of them is none that Python has."""
    low, high = datetime(9999, 12, 31, tzinfo=UTC), datetime(9999, 12, 31, 0, 0, 2, tzinfo=UTC)
    assert pieces(between(low, high), None)[True, True] == datetime(9999, 12, 31, 0, 0, 1, tzinfo=UTC)
    assert (True, True) not in pieces(between(LAST_TIME - STEPS[-1], LAST_TIME), "timestamp")


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
