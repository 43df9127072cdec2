"""Decimals as the numbers of attributes."""

from __future__ import annotations

from decimal import Decimal
from random import Random

import pyarrow as pa

from cerify.spark.rows import EXACT, plain_numbers, type_of_decimals


def test_a_decimal_is_the_float_that_its_text_is() -> None:
    rng = Random(3)
    for scale in range(1, EXACT["float"] + 1):
        values = [Decimal(rng.randint(1 - 10**15, 10**15 - 1)).scaleb(-scale) for _ in range(200)]
        column = pa.array([None, *values, None], pa.decimal128(15, scale)).slice(1)
        assert plain_numbers(column).to_pylist() == [*map(float, values), None]


def test_decimals_without_a_fraction_are_whole_numbers() -> None:
    column = pa.array([Decimal(10**18 - 1), None, Decimal(-5)], pa.decimal128(18, 0))
    assert plain_numbers(column).to_pylist() == [10**18 - 1, None, -5]


def test_more_digits_than_a_number_has_are_no_attribute() -> None:
    types = [type_of_decimals(*one) for one in ((18, 0), (19, 0), (15, 2), (16, 2))]
    assert types == ["int", None, "float", None]
