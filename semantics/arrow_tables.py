"""From an Arrow table of any origin to the table of a stream, each column of one of our value types."""

from __future__ import annotations

from collections.abc import Mapping

from cerify.semantics.arguments import listed
from cerify.semantics.arrow_columns import canonical, has_each_text_once, lossless
from cerify.semantics.arrow_types import ARROW, VALUE_TYPES
from cerify.semantics.csv_rows import renamed
from cerify.semantics.errors import InputError
from cerify.semantics.events import TIME, TYPE, Schema
from cerify.semantics.packages import pa, pc
from cerify.semantics.text_columns import RowLocation, first, values_of_text
from cerify.semantics.values import shown


def fitted_table(
    table: pa.Table,
    schema: Schema | None,
    reserved: Mapping[str, str],
    name: str,
    place: RowLocation,
    coded: bool = False,
) -> pa.Table:
    """The table with every column of a type in ARROW and the reserved columns renamed. Raises InputError.

    With coded event types may stay a dictionary.

    reserved maps the columns of the event type and of the time to "type" and "time". For messages, name is the name of
    the file, and place gives the place of a row in it.
    """
    in_file = table.column_names
    table = table.rename_columns(renamed(in_file, reserved, name))
    fields = dict(zip(table.column_names, in_file, strict=True))  # for messages
    coded = coded and schema is None and _all_coded(table[TYPE])
    columns = {
        column: table[column] if coded and column == TYPE else canonical(table[column], field, name, place)
        for column, field in fields.items()
    }
    if not coded:
        columns[TYPE] = _types(columns[TYPE], fields[TYPE], schema, place)
    if TIME in columns and (schema is None or TIME not in schema.attributes):
        columns[TIME] = _times(columns[TIME], fields[TIME], place)
    if schema is not None:
        for column in columns.keys() - {TYPE}:
            columns[column] = _fitted(columns[column], column, fields[column], columns[TYPE], schema, place)
    return pa.table({column: values for column, values in columns.items() if not pa.types.is_null(values.type)})


def _all_coded(types: pa.ChunkedArray) -> bool:
    """Whether each row has one of the different texts of a dictionary, none of which is empty."""
    if types.null_count or not has_each_text_once(types):
        return False
    return not any(pc.any(pc.equal(chunk.dictionary, "")).as_py() for chunk in types.chunks)


def _types(types: pa.ChunkedArray, field: str, schema: Schema | None, place: RowLocation) -> pa.ChunkedArray:
    if pa.types.is_null(types.type):
        types = types.cast(ARROW["string"])
    if types.type != ARROW["string"]:
        raise InputError(f"{place(0)}, field {field!r}: the event type is a string, not {VALUE_TYPES[types.type]}")
    if (row := first(pc.fill_null(pc.equal(types, ""), True))) is not None:
        raise InputError(f"{place(row)}, field {field!r}: empty; every event has a type")
    if schema is not None:
        unknown = pc.invert(pc.is_in(types, pa.array(list(schema.types), ARROW["string"])))
        if (row := first(unknown)) is not None:
            raise InputError(
                f"{place(row)}, field {field!r}: unknown event type {shown(types[row].as_py())}; "
                f"the schema has {listed(schema.types)}"
            )
    return types


def _times(times: pa.ChunkedArray, field: str, place: RowLocation) -> pa.ChunkedArray:
    """The times as integer seconds or timestamps; a column of text is read as the first of its cells is written."""
    if times.type == ARROW["string"]:
        cell = next((cell.as_py() for cell in times if cell.is_valid), "")
        return values_of_text(times, "int" if cell.lstrip("-").isdecimal() else "timestamp", field, place)
    if times.type in (ARROW["bool"], ARROW["float"]) and (row := first(times.is_valid())) is not None:
        raise InputError(
            f"{place(row)}, field {field!r}: {VALUE_TYPES[times.type]}; a time is in whole seconds or ISO 8601, "
            "such as 2013-01-31T14:05:00Z"
        )
    return times


def _fitted(
    column: pa.ChunkedArray, attribute: str, field: str, types: pa.ChunkedArray, schema: Schema, place: RowLocation
) -> pa.ChunkedArray:
    """The column in the type that the schema gives it, after a check that only events that have it hold a value."""
    owners = [type_ for type_, attributes in schema.types.items() if attribute in attributes or attribute == TIME]
    foreign = pc.and_(column.is_valid(), pc.invert(pc.is_in(types, pa.array(owners, ARROW["string"]))))
    if (row := first(foreign)) is not None:
        type_ = types[row].as_py()
        known = ", ".join(schema.types[type_]) or "none in the schema"
        raise InputError(f"{place(row)}, field {field!r}: unknown attribute; {type_} has {known}")
    declared = schema.attributes.get(attribute)
    if declared is None or column.type == ARROW[declared]:
        return column
    if pa.types.is_null(column.type) or {VALUE_TYPES[column.type], declared} == {"int", "float"}:
        return lossless(column, declared, field, place)
    row = first(column.is_valid())
    if row is None:
        return pa.chunked_array([pa.nulls(len(column), ARROW[declared])])
    raise InputError(f"{place(row)}, field {field!r}: {VALUE_TYPES[column.type]}, where the schema has {declared}")
