"""The Arrow type of each value type.

The two tables are made when they are first read: Arrow is not installed everywhere, and modules that only sometimes
meet a table of Arrow import them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TypeVar

from cerify.semantics.packages import pa
from cerify.semantics.values import ValueType

K = TypeVar("K")
V = TypeVar("V")


class LazyTable(Mapping[K, V]):
    """A mapping that is made when it is first read."""

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
    return {arrow: value_type for value_type, arrow in ARROW.items()}


ARROW: Mapping[ValueType, pa.DataType] = LazyTable(_arrow_types)
VALUE_TYPES: Mapping[pa.DataType, ValueType] = LazyTable(_value_types)
