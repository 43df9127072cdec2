"""Arrow columns of any origin as columns of our value types, without loss."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from cerify.semantics.errors import InputError
from cerify.semantics.text_columns import Place, first, first_failure
from cerify.semantics.values import ARROW, ValueType, microseconds

EARLIEST, LATEST = map(microseconds, (datetime.min, datetime.max))
READY = {arrow.id for name, arrow in ARROW.items() if name != "timestamp"}  # of which not each is a time of ours


def with_value_types(table: pa.Table) -> pa.Table:
    """The table of a stream with every column of a type in ARROW; dictionaries of texts may stay. Raises InputError."""
    names, types = table.column_names, table.schema.types
    if len(set(names)) < len(names):
        doubled = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two columns are called {doubled!r}; give each its own name")
    if all(type_.id in READY for type_ in types):
        return table
    return pa.table({name: _kept(table[name], name) for name in names})


def _kept(column: pa.ChunkedArray, field: str) -> pa.ChunkedArray:
    """A dictionary that has each text once as it is; any other column in its canonical type."""
    if pa.types.is_dictionary(column.type) and column.type.value_type == ARROW["string"]:
        dictionaries = [chunk.dictionary for chunk in column.chunks]
        if all(d.null_count == 0 and len(pc.unique(d)) == len(d) for d in dictionaries):
            return column
    return canonical(column, field, "the table", "row {}".format)


def canonical(column: pa.ChunkedArray, field: str, name: str, place: Place) -> pa.ChunkedArray:
    """The column in the Arrow type of its value type; one of nulls stays as it is. Naive times are taken as UTC."""
    is_ = pa.types
    match column.type:
        case t if is_.is_null(t):
            return column
        case t if is_.is_dictionary(t):
            return canonical(column.cast(t.value_type), field, name, place)
        case t if is_.is_boolean(t):
            value_type: ValueType = "bool"
        case t if is_.is_integer(t):
            value_type = "int"
        case t if is_.is_floating(t):
            value_type = "float"
        case t if is_.is_string(t) or is_.is_large_string(t) or is_.is_string_view(t):
            value_type = "string"
        case t if is_.is_timestamp(t) or is_.is_date(t):
            value_type = "timestamp"
        case t:
            raise InputError(
                f"{name}, field {field!r}: a column of type {t}; an attribute is {', '.join(ARROW)}, so convert it "
                "or leave it out"
            )
    column = lossless(column, value_type, field, place)
    if value_type == "timestamp":
        ticks = column.cast(pa.int64())
        beyond = pc.or_(pc.less(ticks, EARLIEST), pc.greater(ticks, LATEST))
        if (row := first(beyond)) is not None:
            raise InputError(f"{place(row)}, field {field!r}: a time outside the years 1 to 9999")
    return column


def lossless(column: pa.ChunkedArray, value_type: ValueType, field: str, place: Place) -> pa.ChunkedArray:
    def convert(values: pa.ChunkedArray) -> pa.ChunkedArray:
        return values.cast(ARROW[value_type])

    try:
        return convert(column)
    except pa.ArrowInvalid:
        row = first_failure(column, convert)
        value = column.slice(row, 1).cast(pa.string())[0].as_py()
        exactly = "microseconds in 64 bits" if value_type == "timestamp" else f"64-bit {value_type}"
        raise InputError(f"{place(row)}, field {field!r}: {value} cannot be kept exactly as {exactly}") from None
