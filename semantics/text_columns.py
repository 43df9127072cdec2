"""Columns of text to columns of values, with the place of the first cell that is none."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import NoReturn, TypeAlias

from cerify.semantics.arrow_types import ARROW
from cerify.semantics.errors import InputError
from cerify.semantics.packages import pa, pc
from cerify.semantics.values import EXACT, PATTERNS, ValueType, blanks_around, parse_time, shown

RowLocation: TypeAlias = Callable[[int], str]
"""Where a row, counted from 0, stands in its file, for a message."""

ZONE = r"(?i)\d\d(z|[+-]\d\d(:?\d\d)?)\z"
WHOLE = r"\A\s*[+-]?[0-9]+\s*\z"
DATE = r"\A\d\d\d\d-\d\d-\d\d\z"


def values_of_text(text: pa.ChunkedArray, value_type: ValueType, field: str, place: RowLocation) -> pa.ChunkedArray:
    """The column of the values that the cells write, null where a cell is. Raises InputError for the first bad cell."""
    match value_type:
        case "string":
            return text
        case "timestamp":
            return _timestamps(text, field, place)
        case _:
            pattern, expected = PATTERNS[value_type]
            wrong = pc.invert(pc.match_substring_regex(text, rf"\A(?:{pattern})\z"))
            if (row := first(wrong)) is not None:
                _refuse(text, row, f"is not {expected}{blanks_around(text[row].as_py())}", field, place)
            return _numbers(text, value_type, field, place)


def may_be_rounded(floats: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether each float is so large that a whole number, or one beyond all floats, may have been rounded to it."""
    return pc.greater_equal(pc.abs(floats), EXACT)


def require_kept(text: pa.ChunkedArray, floats: pa.ChunkedArray, field: str, place: RowLocation) -> None:
    """Raises InputError for the first cell that is too large for its float, or a whole number and not equal to it."""
    too_large = pc.and_(pc.is_inf(floats), pc.match_substring_regex(text, "[0-9]"))
    if (row := first(too_large)) is not None:
        _refuse(text, row, "is too large for a 64-bit float", field, place)
    rows = pc.indices_nonzero(pc.and_(may_be_rounded(floats), pc.match_substring_regex(text, WHOLE)))
    written, read = text.take(rows).to_pylist(), floats.take(rows).to_pylist()
    for row, cell, value in zip(rows.to_pylist(), written, read, strict=True):
        # exact, as comparisons of the two are, and without the limit on the digits of an int
        if Decimal(cell) != value:
            _refuse(text, row, "is not exact as 64-bit float", field, place)


def first(flags: pa.ChunkedArray) -> int | None:
    """The first row whose flag is true, if there is one."""
    row: int = pc.index(flags, True).as_py()
    return row if row >= 0 else None


def first_failure(column: pa.ChunkedArray, convert: Callable[[pa.ChunkedArray], object]) -> int:
    """The first row that makes the conversion of the column fail with ArrowInvalid; one of them does."""
    good, bad = 0, len(column)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            convert(column.slice(good, middle - good))
            good = middle
        except pa.ArrowInvalid:
            bad = middle
    return good


def _numbers(text: pa.ChunkedArray, value_type: ValueType, field: str, place: RowLocation) -> pa.ChunkedArray:
    def convert(cells: pa.ChunkedArray) -> pa.ChunkedArray:
        return cells.cast(ARROW[value_type])

    try:
        values = convert(text)
    except pa.ArrowInvalid:
        _refuse(text, first_failure(text, convert), "does not fit in 64 bits", field, place)
    if value_type == "float":
        require_kept(text, values, field, place)
    return values


def _timestamps(text: pa.ChunkedArray, field: str, place: RowLocation) -> pa.ChunkedArray:
    """Arrow reads the usual forms at once; whatever it does not know goes through parse_time, the definition."""
    offset = pc.if_else(pc.match_substring_regex(text, ZONE), "", "Z")
    rest = pc.if_else(pc.match_substring_regex(text, DATE), "T00:00:00Z", offset)
    try:
        return pc.binary_join_element_wise(text, rest, "").cast(ARROW["timestamp"])
    except pa.ArrowInvalid:
        pass
    times = []
    for row, cell in enumerate(text.to_pylist()):
        try:
            times.append(None if cell is None else parse_time(cell))
        except ValueError as error:
            _refuse(text, row, f"{error}{blanks_around(cell)}", field, place)
    return pa.chunked_array([pa.array(times, ARROW["timestamp"])])


def _refuse(text: pa.ChunkedArray, row: int, problem: str, field: str, place: RowLocation) -> NoReturn:
    raise InputError(f"{place(row)}, field {field!r}: {shown(text[row].as_py())} {problem}")
