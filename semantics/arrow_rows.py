"""Convert tables of any origin to events, leniently: a column that cannot be an attribute is left out with the reason.

For tables with a schema, which every value must fit, see `tables.py` and `arrow_columns.py`; this module is for
tables without one. `Stream.require_read` raises the reason if a query names a column that was left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cerify.semantics.arrow_columns import RowLocation, canonical, first, has_each_text_once, require_moderate
from cerify.semantics.arrow_times import times_if_text, times_in_column, times_of_text_column
from cerify.semantics.arrow_types import ARROW, is_nanoseconds, numbers_of_decimals, type_of_decimals
from cerify.semantics.errors import InputError
from cerify.semantics.object_rows import COUNT, elements_of, what_list
from cerify.semantics.packages import pa, pc
from cerify.semantics.schemas import TIME, TYPE, Schema
from cerify.semantics.time_columns import NO_TYPE, FieldReading, rename_fields, with_type

DEEPEST = 64  # structs inside each other


@dataclass(frozen=True)
class ReadTable:
    """The table of a stream as it was read from a file.

    unread: the columns that were left out, each with the reason. lists: the columns that were left out because they
    have lists. notes: warnings about the other columns.
    """

    table: pa.Table
    unread: dict[str, str] = field(default_factory=dict)
    lists: dict[str, pa.ChunkedArray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def rows_of_table(table: pa.Table, reading: FieldReading, name: str, place: RowLocation) -> ReadTable:
    """Return the table of a stream: columns have types in ARROW; the columns of type and time have their reserved
    names.

    For messages, `name` is the name of the file, and `place` returns the place of a row. Raises InputError if there is
    no column for the type, or if a row has no type.
    """
    flat = flat_table(table, name, place)
    table = with_type(flat, reading.type_column, reading.default_type)
    hidden = reading.hidden(table.column_names)
    table = table.select([i for i, column in enumerate(table.column_names) if column not in hidden])
    in_file = table.column_names
    table = table.rename_columns(rename_fields(in_file, reading.reserved, name))
    for column, attribute in reading.own_fields(flat.column_names).items():
        table, in_file = table.append_column(attribute, flat[column]), [*in_file, column]
    found = ReadTable(table)
    columns: dict[str, pa.ChunkedArray] = {}
    for i, (column, origin) in enumerate(zip(table.column_names, in_file, strict=True)):
        if column == TYPE:
            columns[column] = _renamed(_types(table.column(i), origin, name, place, reading.default_type), reading)
            continue
        try:
            values = _readable(table.column(i), column, origin, reading, name, place, found)
        except InputError as error:
            found.unread[column] = error.message
            continue
        if values is not None and not pa.types.is_null(values.type):
            columns[column] = values
    for column, origin in zip(table.column_names, in_file, strict=True):
        values = table[column]
        counted = f"{column}.{COUNT}"
        if is_list(values.type) and counted not in columns:
            columns[counted] = pc.list_value_length(values).cast(pa.int64())
            found.unread[column] = f"{name}, field {origin!r}: {what_list(column, _paths(values.type.value_type))}"
            found.lists[column] = values
    return ReadTable(pa.table(columns), found.unread, found.lists, found.notes)


def _paths(type_: pa.DataType, path: str = "") -> list[str]:
    """Return the paths to the values that queries can test in one element of a list; [""] if the element is a value.

    type_: the Arrow type of the element. path: the path to the element.
    """
    if pa.types.is_struct(type_):
        return [found for one in type_ for found in _paths(one.type, f"{path}.{one.name}" if path else one.name)]
    if is_list(type_):
        inner = type_.value_type
        return [path] if path and not (pa.types.is_struct(inner) or is_list(inner)) else []
    return [path]


def is_list(type_: pa.DataType) -> bool:
    """Return whether a column of this type has lists."""
    return bool(pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_))


def flat_table(table: pa.Table, name: str, place: RowLocation) -> pa.Table:
    """Return the table with each field of a struct as a column, named by its path.

    Raises InputError if a row has two values for one path.
    """
    for _ in range(DEEPEST):
        if not any(pa.types.is_struct(kind) for kind in table.schema.types):
            break
        table = table.flatten()
    else:
        raise InputError(f"{name}: structs are nested more than {DEEPEST} deep")
    names = table.column_names
    if len(set(names)) == len(names) or not any("." in one for one in names if names.count(one) > 1):
        return table
    columns: dict[str, pa.ChunkedArray] = {}
    for column, values in zip(names, table.columns, strict=True):
        if column not in columns:
            columns[column] = values
        elif "." not in column or columns[column].type != values.type:
            raise InputError(f"{name}: two columns are called {column!r}; give each its own name")
        else:
            known = columns[column]
            differs = pc.fill_null(pc.not_equal(known, values), False)
            if (row := first(differs)) is not None:
                raise InputError(
                    f"{place(row)}: {column!r} has two values, one from a column and one from a struct; rename "
                    f"the column"
                )
            columns[column] = pc.coalesce(known, values)
    return pa.table(columns)


def _types(
    types: pa.ChunkedArray, origin: str, name: str, place: RowLocation, default_type: str | None
) -> pa.ChunkedArray:
    """Return the column of event types as texts. Numbers become their texts; a list of one element becomes this
    element. A dictionary of distinct texts stays as it is.
    """
    if not types.null_count and has_each_text_once(types):
        empty = any(pc.any(pc.equal(chunk.dictionary, "")).as_py() for chunk in types.chunks)
        if not empty:
            require_moderate(types, origin, name)
            return types
    if is_list(types.type) and pc.all(pc.equal(pc.list_value_length(types), 1)).as_py():
        types = pc.list_element(types, 0)
    if pa.types.is_null(types.type):
        types = types.cast(ARROW["string"])
    types = canonical(types, origin, name, place)
    if types.type == ARROW["float"] and pc.all(pc.equal(types, pc.floor(types))).as_py():
        types = types.cast(ARROW["int"])
    if types.type in (ARROW["int"], ARROW["float"]):
        types = types.cast(ARROW["string"])
    if types.type != ARROW["string"]:
        raise InputError(f"{place(0)}, field {origin!r}: the event type must be a string, not {types.type}")
    if default_type is not None:
        types = pc.fill_null(types, default_type)
    if (row := first(pc.fill_null(pc.equal(types, ""), True))) is not None:
        raise InputError(f"{place(row)}, field {origin!r}: {NO_TYPE}")
    return types


def _renamed(types: pa.ChunkedArray, reading: FieldReading) -> pa.ChunkedArray:
    if reading.types:
        types = types.cast(ARROW["string"])
    for old, new in reading.types.items():
        types = pc.if_else(pc.equal(types, old), new, types)
    return types


def _readable(
    values: pa.ChunkedArray,
    column: str,
    origin: str,
    reading: FieldReading,
    name: str,
    place: RowLocation,
    found: ReadTable,
) -> pa.ChunkedArray | None:
    """Return a column in the Arrow type of its value type; None if it has lists. Raises InputError if it has none."""
    if is_list(values.type):
        return None
    kind = values.type
    if pa.types.is_decimal(kind) and type_of_decimals(kind.precision, kind.scale) is not None:
        values = numbers_of_decimals(values)
    values = canonical(_cut(values, reading), origin, name, place)
    if column in reading.texts:
        return values
    if column != TIME:
        return times_if_text(values, origin, place, reading.times.round_times)
    times, note = times_in_column(values, origin, reading.times, place)
    found.notes.extend([] if note is None else [note])
    return times


def _cut(values: pa.ChunkedArray, reading: FieldReading) -> pa.ChunkedArray:
    """Return the times of a column without digits beyond microseconds, if the options say so."""
    cuts = reading.times.round_times and is_nanoseconds(values.type)
    return pc.floor_temporal(values, unit="microsecond") if cuts else values


def timed_table(
    table: pa.Table, schema: Schema, reading: FieldReading, name: str, place: RowLocation
) -> tuple[pa.Table, list[str]]:
    """Return a table that `fitted_table` can read: it has a type column, times are parsed, and columns that others
    replace are left out.

    Times are the columns of `FieldReading.timed_fields`. A column of lists is replaced by the number of elements of
    each list if the schema has that attribute. Also returns warnings. Raises InputError, IllFormed.
    """
    table = _counted_lists(flat_table(table, name, place), schema)
    table = with_type(table, reading.type_column, reading.default_type)
    hidden = reading.hidden(table.column_names)
    table = table.select([i for i, column in enumerate(table.column_names) if column not in hidden])
    if reading.types and table.column_names.count(reading.type_column) == 1:
        at = table.column_names.index(reading.type_column)
        table = table.set_column(at, reading.type_column, _renamed(table.column(at), reading))
    notes = []
    timed = reading.timed_fields(schema)
    declared = [attribute for attribute, value_type in schema.attributes.items() if value_type == "timestamp"]
    for attribute in dict.fromkeys([*timed, *declared]):
        column = reading.field(attribute)
        if table.column_names.count(column) != 1:
            continue
        at = table.column_names.index(column)
        values, note = canonical(_cut(table.column(at), reading), column, name, place), None
        if attribute in timed:
            times, note = times_in_column(values, column, timed[attribute], place, attribute in schema.attributes)
        elif values.type == ARROW["string"]:
            times = times_of_text_column(values, column, place, reading.times.round_times)
        elif pa.types.is_timestamp(values.type):
            times = values
        else:
            continue  # numbers without a unit are no times
        table = table.set_column(at, column, times)
        notes += [] if note is None else [note]
    return table, notes


def _counted_lists(table: pa.Table, schema: Schema) -> pa.Table:
    """Replace each column x of lists by the attributes made from x that are in the schema.

    These are `x.count`, the number of elements, and `x.any.v`, whether v is an element.
    """
    for column in [f.name for f in table.schema if is_list(f.type) and f.name not in schema.attributes]:
        counts, counted = table[column], f"{column}.{COUNT}"
        table = table.drop_columns([column])
        if counted in schema.attributes and counted not in table.column_names:
            table = table.append_column(counted, pc.list_value_length(counts).cast(pa.int64()))
        for asked in schema.attributes.keys() - {*table.column_names}:
            if asked.startswith(column) and (flags := elements_of(asked, {column: counts.to_pylist()})) is not None:
                table = table.append_column(asked, pa.array(flags, pa.bool_()))
    return table
