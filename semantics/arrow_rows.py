"""Convert tables of any origin to events, leniently: a column that cannot be an attribute is left out with the reason.

For tables with a schema, which every value must fit, see `tables.py` and `arrow_columns.py`; this module is for
tables without one. `Stream.require_read` raises the reason if a query names a column that was left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime

from cerify.semantics.arrow_columns import (
    ARROW,
    RowLocation,
    array_of_times,
    canonical,
    first,
    has_each_text_once,
    is_nanoseconds,
    nanosecond_type,
    numbers_of_decimals,
    require_moderate,
    type_of_decimals,
    values_of_text,
)
from cerify.semantics.errors import InputError
from cerify.semantics.object_rows import COUNT, elements_of, what_list
from cerify.semantics.packages import pa, pc
from cerify.semantics.schemas import TIME, TYPE, Schema
from cerify.semantics.time_columns import (
    DATE_TIME,
    IS_DATE_TIME,
    LAST_SECOND,
    NO_TYPE,
    PER_SECOND,
    BadTime,
    FieldReading,
    TimeReading,
    are_epochs,
    rename_fields,
    times_as_declared,
    times_of_column,
    times_of_texts,
    unit_note,
    unit_of,
    with_type,
)
from cerify.semantics.values import time_at, value_type_of

# ---------------------------------------------------------------------------------------------------------------------
# Decide which Arrow columns are times, by the rule of time_columns.py.


def times_if_text(
    column: pa.ChunkedArray, field: str, place: RowLocation, round_times: bool = False
) -> pa.ChunkedArray:
    """Return a column of text as times if all its values are ISO 8601 dates or date-times; else return it unchanged.

    Raises InputError for a date-time that does not exist, such as the 30th of February.
    """
    if column.type != ARROW["string"]:
        return column
    # One cell first: only if it looks like a time are all cells matched with the regular expression.
    start = next((cell.as_py() for chunk in column.chunks for cell in chunk if cell.is_valid), None)
    if start is None or not IS_DATE_TIME.fullmatch(start):
        return column
    if not pc.all(pc.match_substring_regex(column, rf"\A(?:{DATE_TIME})\z")).as_py():
        return column
    return times_of_text_column(column, field, place, round_times)


def times_of_text_column(
    column: pa.ChunkedArray, field: str, place: RowLocation, round_times: bool = False
) -> pa.ChunkedArray:
    """Return a column of texts as times. Raises InputError, with the row, for a text that is not a time."""
    if not round_times:
        return values_of_text(column, "timestamp", field, place)
    try:
        times = times_of_texts(column.to_pylist(), TimeReading(round_times=True))
    except BadTime as error:
        raise InputError(f"{place(error.row)}, field {field!r}: {error}") from None
    return pa.chunked_array([array_of_times(times)])  # type: ignore[arg-type]


def times_in_column(
    column: pa.ChunkedArray, field: str, how: TimeReading, place: RowLocation, declared: bool = False
) -> tuple[pa.ChunkedArray, str | None]:
    """Convert the column of the times to whole seconds or to timestamps; also return a warning about its unit, or None.

    The column's type is in ARROW, or the column has only nulls. declared: whether the result is always timestamps,
    because a schema declares them. Raises InputError, which names the row, for a value that is not a time.
    """
    if pa.types.is_null(column.type) or pa.types.is_timestamp(column.type) or column.null_count == len(column):
        return column, None
    if column.type in (ARROW["string"], ARROW["bool"]):
        return _by_values(column, field, how, place, declared)
    extremes = pc.min_max(column).as_py()
    low, high = extremes["min"], extremes["max"]
    if not (math.isfinite(low) and math.isfinite(high)) or (
        column.type == ARROW["float"] and pc.any(pc.is_nan(column)).as_py()
    ):
        return _by_values(column, field, how, place, declared)
    unit = how.unit or unit_of(low, high)
    note = unit_note(field, unit, low, high) if how.unit is None else None
    if unit == "s" and column.type == ARROW["int"] and not declared:
        return column, note
    if how.unit is None and unit == "s" and not are_epochs(low, high) and not declared:
        return column, note
    per = PER_SECOND[unit]
    if column.type == ARROW["float"]:
        if max(abs(low), abs(high)) / per > LAST_SECOND:
            return _by_values(column, field, how, place, declared)
        scaled = pc.multiply(column, 10**6 / per) if per <= 10**6 else pc.divide(column, per / 10**6)
        ticks = pc.round(scaled).cast(pa.int64())
    elif max(abs(low), abs(high)) // per > 2 * 10**11 or low < -(2**63) + 1000:
        return _by_values(column, field, how, place, declared)
    elif per > 10**6:
        return _of_nanoseconds(column, field, how, place), note
    else:
        ticks = pc.multiply(column, pa.scalar(10**6 // per, pa.int64()))
    return _checked_years(ticks, column, field, how, place), note


def _of_nanoseconds(column: pa.ChunkedArray, field: str, how: TimeReading, place: RowLocation) -> pa.ChunkedArray:
    rest = _remainder(column)
    if not how.round_times and pc.any(pc.not_equal(rest, 0)).as_py():
        return column.cast(nanosecond_type())
    quotient = pc.divide(pc.subtract(column, rest), pa.scalar(1000, pa.int64()))
    return _checked_years(quotient, column, field, how, place)


def _remainder(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return each integer modulo 1000, never negative, as in Python."""
    thousand = pa.scalar(1000, pa.int64())
    rest = pc.subtract(column, pc.multiply(pc.divide(column, thousand), thousand))  # Arrow's division truncates
    return pc.if_else(pc.less(rest, 0), pc.add(rest, thousand), rest)


def _checked_years(
    ticks: pa.ChunkedArray, column: pa.ChunkedArray, field: str, how: TimeReading, place: RowLocation
) -> pa.ChunkedArray:
    extremes = pc.min_max(ticks).as_py()
    for value in extremes.values():
        try:
            time_at(value)
        except OverflowError:
            return _by_values(column, field, how, place)[0]
    return ticks.cast(ARROW["timestamp"])


def _by_values(
    column: pa.ChunkedArray, field: str, how: TimeReading, place: RowLocation, declared: bool = False
) -> tuple[pa.ChunkedArray, str | None]:
    """Convert the column value by value, as Python values are converted; errors name the row of a wrong value.

    Texts are converted here, and so are columns with a wrong value.
    """
    if column.type == ARROW["string"] and how == TimeReading():
        start = next(cell.as_py() for chunk in column.chunks for cell in chunk if cell.is_valid)
        if IS_DATE_TIME.fullmatch(start):
            try:
                return values_of_text(column, "timestamp", field, place), None
            except InputError:
                pass  # with its message below
    try:
        read_times = times_as_declared if declared else times_of_column
        values, note = read_times(column.to_pylist(), field, how)
    except BadTime as error:
        raise InputError(f"{place(error.row)}, field {field!r}: {error}") from None
    start = next((value for value in values if value is not None), 0)
    try:
        if isinstance(start, datetime):
            return pa.chunked_array([array_of_times(values)]), note  # type: ignore[arg-type]
        return pa.chunked_array([pa.array(values, ARROW[value_type_of(start)])]), note
    except OverflowError:
        row = next(row for row, value in enumerate(values) if isinstance(value, int) and abs(value) >= 2**63)
        raise InputError(f"{place(row)}, field {field!r}: {values[row]} does not fit in 64 bits") from None


# ---------------------------------------------------------------------------------------------------------------------
# Rows of a table as events.

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
    """Return the table of a stream: each column has a type in ARROW; the type and the time are in the columns "type"
    and "time".

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
    """Return (table, warnings): a table that `fitted_table` can read, with times converted and the default type filled
    in.

    Times are the columns of `FieldReading.timed_fields`. A column named "type" or "time" is dropped if the type or the
    time is read from another column. A column of lists is replaced by the number of elements of each list if the schema
    has that attribute. Raises InputError, IllFormed.
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
