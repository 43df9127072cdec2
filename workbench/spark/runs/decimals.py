"""Columns of decimals as columns of the values that an attribute can have."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cerify.semantics.values import ValueType

EXACT = {"int": 18, "float": 15}
"""The digits up to which different decimals are different numbers, in the same order."""


def type_of_decimals(precision: int, scale: int) -> ValueType | None:
    """The type of the values that stand for such decimals, each for one; None if no type has enough digits."""
    if scale <= 0:
        return "int" if precision - scale <= EXACT["int"] else None
    return "float" if precision <= EXACT["float"] else None


def plain_numbers(column: pa.Array) -> pa.Array:
    """The column, if it is one of decimals as int64 or as the nearest float64."""
    if not pa.types.is_decimal(column.type):
        return column
    if column.type.scale <= 0:
        return column.cast(pa.int64())
    # a cast by Arrow multiplies by a power of ten that is no float, and so misses the nearest float by a digit
    whole = np.frombuffer(column.buffers()[1], "<i8").reshape(-1, 2)[column.offset : column.offset + len(column), 0]
    return pa.array(whole / 10.0**column.type.scale, mask=pc.is_null(column).to_numpy(zero_copy_only=False))
