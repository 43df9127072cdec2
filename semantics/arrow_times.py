"""Decide which Arrow columns are times, by the rule of time_columns.py."""

from __future__ import annotations

import math
from datetime import datetime

from cerify.semantics.arrow_columns import RowLocation, values_of_text
from cerify.semantics.arrow_types import ARROW, array_of_times, nanosecond_type
from cerify.semantics.errors import InputError
from cerify.semantics.packages import pa, pc
from cerify.semantics.time_columns import (
    DATE_TIME,
    IS_DATE_TIME,
    LAST_SECOND,
    PER_SECOND,
    BadTime,
    TimeReading,
    are_epochs,
    times_as_declared,
    times_of_column,
    times_of_texts,
    unit_note,
    unit_of,
)
from cerify.semantics.values import time_at, value_type_of


def times_if_text(
    column: pa.ChunkedArray, field: str, place: RowLocation, round_times: bool = False
) -> pa.ChunkedArray:
    """Return a column of text as times if all its values are ISO 8601 dates or date-times; else return it unchanged.

    Raises InputError for a date-time that does not exist, such as the 30th of February.
    """
    if column.type != ARROW["string"]:
        return column
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
    """Return the column of the time as whole seconds or as times, with a warning about its unit or None.

    The column is of a type in ARROW, or of nulls. If `declared` is true, as for a timestamp of a schema, the result is
    always times. Raises InputError, with the row, for a value that is not a time.
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
