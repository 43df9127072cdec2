"""The Arrow type of each value type.

The two tables are built on first use, because Arrow is not installed everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TypeVar

from cerify.semantics.nanoseconds import nanoseconds
from cerify.semantics.packages import np, pa, pc
from cerify.semantics.values import ValueType, has_nanoseconds

K = TypeVar("K")
V = TypeVar("V")


class LazyTable(Mapping[K, V]):
    """A mapping that is built on first use."""

    def __init__(self, make: Callable[[], Mapping[K, V]]) -> None:
        self._make = make

    @cached_property
    def _table(self) -> Mapping[K, V]:
        return self._make()

    def __getitem__(self, key: K) -> V:
        return self._table[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


def _arrow_types() -> Mapping[ValueType, pa.DataType]:
    return {
        "int": pa.int64(),
        "float": pa.float64(),
        "string": pa.string(),
        "bool": pa.bool_(),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }


def _value_types() -> Mapping[pa.DataType, ValueType]:
    return {arrow: value_type for value_type, arrow in ARROW.items()} | {nanosecond_type(): "timestamp"}


ARROW: Mapping[ValueType, pa.DataType] = LazyTable(_arrow_types)
VALUE_TYPES: Mapping[pa.DataType, ValueType] = LazyTable(_value_types)
"""The value type of each Arrow type that a stream's columns may have: those of ARROW, and times with nanoseconds."""


NANOSECONDS_IN_LOOPS = (
    "the column {} has times with nanoseconds, but the compiled evaluator keeps only microseconds: use another "
    "evaluator, or round the times with --round-times (in Python, round_times=True)"
)
"""The reason why a compiled loop does not take a column."""


def is_nanoseconds(type_: pa.DataType) -> bool:
    """Return whether a column of this type has times with nanoseconds."""
    return bool(pa.types.is_timestamp(type_) and type_.unit == "ns")


def nanosecond_type() -> pa.DataType:
    """Return the type of a column with times that have nanoseconds."""
    return pa.timestamp("ns", tz="UTC")


def array_of_times(times: Sequence[datetime | None]) -> pa.Array:
    """Return the times as an array of microseconds, or of nanoseconds if a time has any. Raises OverflowError."""
    if not has_nanoseconds(times):
        return pa.array(times, ARROW["timestamp"])
    return pa.array([None if time is None else nanoseconds(time) for time in times], pa.int64()).cast(nanosecond_type())


DIGITS = {"int": 18, "float": 15}
"""Decimals with at most this many digits stay different, and in the same order, as numbers of the type."""


EXACT_POWER = 22
"""The largest power of ten that a float has exactly."""


def type_of_decimals(precision: int, scale: int) -> ValueType | None:
    """Return a value type in which all such decimals stay different; None if no type has enough digits."""
    if scale <= 0:
        return "int" if precision - scale <= DIGITS["int"] else None
    return "float" if precision <= DIGITS["float"] else None


def numbers_of_decimals(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return a column of decimals as int64 or as the nearest float64 (see `type_of_decimals`), others unchanged."""
    if not pa.types.is_decimal(column.type):
        return column
    precision, scale = column.type.precision, column.type.scale
    if scale <= 0:
        return column.cast(pa.int64())
    if scale > EXACT_POWER:
        return column.cast(pa.string()).cast(pa.float64())
    column = column.cast(pa.decimal128(precision, scale))
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([_nearest_floats(chunk) for chunk in column.chunks], pa.float64())
    return _nearest_floats(column)


def _nearest_floats(column: pa.Array) -> pa.Array:
    # a cast by Arrow multiplies by a power of ten that is no float, and so misses the nearest float by a digit
    whole = np.frombuffer(column.buffers()[1], "<i8").reshape(-1, 2)[column.offset : column.offset + len(column), 0]
    return pa.array(whole / 10.0**column.type.scale, mask=pc.is_null(column).to_numpy(zero_copy_only=False))
