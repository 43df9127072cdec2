"""The Arrow type of each value type."""

from __future__ import annotations

from collections.abc import Mapping

from cerify.semantics.packages import pa
from cerify.semantics.values import ValueType

ARROW: Mapping[ValueType, pa.DataType] = {
    "int": pa.int64(),
    "float": pa.float64(),
    "string": pa.string(),
    "bool": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
VALUE_TYPES: Mapping[pa.DataType, ValueType] = {arrow: value_type for value_type, arrow in ARROW.items()}
