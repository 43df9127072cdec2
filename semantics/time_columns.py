"""Decide which columns of texts and numbers are times, and in which unit; convert them to times.

All readers of files, tables, frames and lists of mappings follow one rule, so that the same rows give the same answers
in every format (docs/decisions/times.md). A column of text holds times if all its values are ISO 8601 dates or
date-times. Numbers in the time column are read in the unit that puts all of them in the years 1990 to 2100, and
otherwise as seconds. The rule is here for Python's values, and in arrow_rows.py for Arrow's columns: a reader should
neither import Arrow for ten lines of JSON nor make a Python object of each cell of a Parquet file. A property test
compares the two.
"""

from __future__ import annotations

import dataclasses
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, get_args

from cerify.semantics.arguments import did_you_mean, require_kind
from cerify.semantics.errors import IllFormed, InputError, InputWarning
from cerify.semantics.packages import pa, pc
from cerify.semantics.schemas import TIME, TYPE, Schema, attribute_of
from cerify.semantics.values import (
    FRACTION,
    NANOSECONDS_OUT_OF_RANGE,
    TimeUnit,
    Value,
    first_out_of_range,
    parse_time,
    quote_text,
    time_at,
    time_at_nanoseconds,
)

PER_SECOND: Mapping[TimeUnit, int] = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
UNIT_NAMES: Mapping[TimeUnit, str] = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
FROM_1990, TO_2100 = 631_152_000, 4_102_444_800
"""The first second of 1990, and of 2100."""

LAST_SECOND = 253_402_300_800
"""The first second of the year 10000. It bounds times before 1970 too, because the year 1 is nearer to 1970."""

DATE_TIME = r"\d{4}-\d\d-\d\d([Tt ]\d\d(:\d\d(:\d\d([.,]\d+)?)?)?([Zz]|[+-]\d\d(:?\d\d)?)?)?"
"""An ISO 8601 date or date-time as data has it: with dashes and colons, and with or without an offset."""

IS_DATE_TIME = re.compile(DATE_TIME, re.ASCII)
IS_WHOLE = re.compile(r"-?[0-9]+", re.ASCII)
IS_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?", re.ASCII)
TYPE_OPTION = (
    "; name it by --type, in Python type_column, or give all events one type by --default-type, in Python default_type"
)


def type_option(fields: Iterable[object], reserved: Iterable[str]) -> str:
    """Return advice for the end of a message: which option names the field with the event type.

    If no field is called `time`, the advice also names the option for the time.
    """
    named = TIME in (*fields, *reserved)
    return TYPE_OPTION + ("" if named else "; name the time, if there is one, by --time, in Python time_column")


SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
"""Characters that other programs write between the fields of a row instead of commas."""

_DATES = (
    "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y.%m.%d", "%d %b %Y", "%d-%b-%Y",
    "%b %d, %Y", "%b %d %Y", "%d/%m/%y", "%m/%d/%y",
)  # fmt: skip
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %H:%M:%S,%f", " %I:%M %p", " %I:%M:%S %p")
FORMATS = (
    *(date + clock for date in _DATES for clock in _CLOCKS),
    "%d/%b/%Y:%H:%M:%S %z", "%d/%b/%Y:%H:%M:%S", "%a %b %d %H:%M:%S %Y", "%a, %d %b %Y %H:%M:%S %z",
    "%Y-%m-%d-%H.%M.%S.%f", "%Y%m%d-%H:%M:%S:%f", "%b %d %H:%M:%S %Y",
)  # fmt: skip
"""Common forms of times other than ISO 8601. Messages propose them for --time-format."""

FORMS = (
    "a time is ISO 8601, such as 2013-01-31T14:05:00Z, or a number of seconds; "
    "for other forms give --time-format or --time-unit"
)


@dataclass(frozen=True)
class TimeReading:
    """Says how to read a column of times.

    unit: the unit of numbers; None infers it. format: the format of texts, as strptime takes it ("%d/%m/%Y %H:%M:%S");
    None is ISO 8601. round_times: whether to cut off digits beyond microseconds; if not, nanoseconds are kept.
    """

    unit: TimeUnit | None = None
    format: str | None = None
    round_times: bool = False

    def __post_init__(self) -> None:
        """Raise IllFormed for an unknown unit, or a format that is not a text."""
        if self.unit is not None and self.unit not in get_args(TimeUnit):
            raise IllFormed(f"there is no unit {self.unit!r} of times; use one of {', '.join(get_args(TimeUnit))}")
        if self.format is not None:
            require_kind("time_format", self.format, str | None, "a text, as '%d/%m/%Y %H:%M:%S'")


@dataclass(frozen=True)
class FieldReading:
    """Which fields hold the type and the time of an event, and how the time is read.

    type_column, time_column: names, or paths into objects such as "event.category".
    default_type: the type of events without a type; with None such an event is an error.
    texts: the attributes whose texts stay texts even if they all look like times.
    types: new names of event types; {"start": "begin"} reads the type start as begin.
    records: the path to the list of events in a file that is one JSON object.
    header: the column names of a CSV file without a header.
    object_type: for OCEL logs: an event is read once for each of its objects of this type.
    keep_fields: whether the fields of type and time, and fields that are null in JSON, have attributes of their own,
    see `FIELD` and `NULL`.
    """

    type_column: str = TYPE
    time_column: str | None = None
    default_type: str | None = None
    times: TimeReading = TimeReading()
    texts: Set[str] = frozenset()
    types: Mapping[str, str] = dataclasses.field(default_factory=dict)
    records: str | None = None
    object_type: str | None = None
    header: Sequence[str] | None = None
    keep_fields: bool = False

    @property
    def reserved(self) -> dict[str, str]:
        """Return the fields of type and time, each with its reserved name, such as {"kind": "type", "at": "time"}."""
        return {self.type_column: TYPE} | ({} if self.time_column is None else {self.time_column: TIME})

    def hidden(self, names: Iterable[str]) -> set[str]:
        """Return the columns that are left out because other columns take their names, "type" or "time"."""
        there = set(names)
        return {meant for column, meant in self.reserved.items() if column != meant and column in there} & there

    def own_fields(self, names: Iterable[str]) -> dict[str, str]:
        """Map the fields that are read as type or time, or have these names, to the attributes that keep their values.

        Return {} unless `keep_fields` is set.
        """
        meant = {self.type_column, self.time_column or TIME, TYPE, TIME} if self.keep_fields else set()
        return {name: attribute_of(name) for name in names if name in meant}

    def timed_fields(self, schema: Schema) -> dict[str, TimeReading]:
        """Return the attributes whose values become times under a schema, with the way to read them.

        They are the attribute `time`, unless the schema declares it as a number, and the attributes with a unit. Raises
        IllFormed if an option says how to read times, but the schema declares the time as a number or a text.
        """
        times = {name: TimeReading(unit, None, self.times.round_times) for name, unit in schema.units.items()}
        declared = schema.attributes.get(TIME, "timestamp")
        if declared == "timestamp":
            unit = schema.units.get(TIME, self.times.unit)
            return times | {TIME: dataclasses.replace(self.times, unit=unit)}
        if self.times.format is not None or self.times.unit not in (None, "s"):
            option = "--time-unit" if self.times.format is None else "--time-format"
            raise IllFormed(
                f"{option} reads timestamps, but the schema declares the time as {declared}: declare it as timestamp, "
                "or as timestamp[ms]"
            )
        return times

    def field(self, name: str) -> str:
        """Return the name that an attribute has in the data."""
        if name == TYPE:
            return self.type_column
        return self.time_column or TIME if name == TIME else name


class BadTime(ValueError):
    """Raised for a value in a column of times that is not a time; row is its row, and the message names the problem."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row


def unit_of(low: float, high: float) -> TimeUnit:
    """Return the unit of a column's numbers, given the smallest and the largest.

    This unit puts both numbers in the years 1990 to 2100. If no unit does, it is seconds.
    """
    # The four ranges of 1990 to 2100 do not overlap: each is above the one before, so at most one unit fits.
    for unit, per in PER_SECOND.items():
        if FROM_1990 * per <= low and high < TO_2100 * per:
            return unit
    return "s"


def are_epochs(low: float, high: float) -> bool:
    """Return whether all numbers between these two are seconds of the years 1990 to 2100.

    Other numbers may be something else, such as the hour of the day.
    """
    return low >= FROM_1990 and high < TO_2100


def unit_note(field: str, unit: TimeUnit, low: float, high: float) -> str | None:
    """Return the warning about a column whose unit was inferred, given its smallest and largest number; None for
    seconds.
    """
    if unit == "s":
        other = unit_of(high, high)
        if other == "s" or not are_epochs(low, low):
            return None
        return (
            f"field {field!r}: its numbers are read as seconds since 1970, but {high} looks like {UNIT_NAMES[other]}: "
            "write all of them in one unit"
        )
    return (
        f"field {field!r}: its numbers are read as {UNIT_NAMES[unit]} since 1970, because as seconds they are beyond "
        "the year 2100; give --time-unit s|ms|us|ns, in Python time_unit, to choose the unit without this warning"
    )


def time_of_text(text: str, how: TimeReading = TimeReading()) -> datetime:
    """Return the UTC time of a text. Raises ValueError, whose message says what is wrong."""
    if how.format is None:
        return parse_time(_cut(text) if how.round_times else text, keep_nanoseconds=True)
    try:
        time = datetime.strptime(text, how.format)
    except (ValueError, OverflowError, re.error) as error:
        # strptime's own messages repeat the text, which does not help
        problem = "is not of the format" if "match format" in str(error) or "remains" in str(error) else f"({error})"
        raise ValueError(f"{problem} {how.format!r}") from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def likely_formats(texts: Iterable[object]) -> list[str]:
    """Return the formats of FORMATS that fit the first thousand of these texts.

    >>> likely_formats(["2024/03/01 10:00", "2024/03/14 9:30"]), likely_formats(["03/04/2024"])
    (['%Y/%m/%d %H:%M'], ['%d/%m/%Y', '%m/%d/%Y'])
    """
    found = list(FORMATS)
    for text in islice(texts, 1000):
        found = [form for form in found if isinstance(text, str) and _has_form(text, form)]
    return found


def _has_form(text: str, form: str) -> bool:
    try:
        return bool(time_of_text(text, TimeReading(format=form)))
    except ValueError:
        return False


def _what_to_write(texts: Iterable[object]) -> str:
    """Return the advice on texts that are not times: the option that reads them, or the forms of times."""
    if likely := likely_formats(texts):
        forms = " or ".join(f"'{form}'" for form in likely)
        return f"--time-format {forms}, in Python time_format, reads times of this form"
    return FORMS


def time_of_number(number: float, unit: TimeUnit, round_times: bool = False) -> datetime:
    """Return the time that is this number of units after 1970; a fraction is rounded to microseconds.

    round_times: whether to cut off digits beyond microseconds. Raises ValueError for times outside the years 1 to 9999.
    """
    per = PER_SECOND[unit]
    if isinstance(number, int):
        # In integers: nanoseconds since 1970 have 19 digits, and a float keeps 15.
        ticks, rest = divmod(number * 10**6, per)
        if rest and not round_times:
            try:
                return time_at_nanoseconds(number)  # only nanoseconds leave a remainder
            except OverflowError:
                raise ValueError("is outside the years 1 to 9999") from None
    elif not math.isfinite(number):
        raise ValueError("is not a time")
    elif abs(number) / per > LAST_SECOND:
        raise ValueError("is outside the years 1 to 9999")
    else:
        ticks = round(_microseconds(number, per))
    try:
        return time_at(ticks)
    except OverflowError:
        raise ValueError("is outside the years 1 to 9999") from None


def _microseconds(number: float, per: int) -> float:
    """Return the microseconds of a number of units, of which `per` make a second, rounded as Arrow rounds."""
    return number * (10**6 / per) if per <= 10**6 else number / (per / 10**6)


def _cut(text: str) -> str:
    return FRACTION.sub(r"\1", text)


def are_date_times(values: Sequence[Value | None]) -> bool:
    """Return whether all values but None are texts of ISO 8601 dates or date-times, and there is at least one text."""
    texts = [value for value in values if value is not None]
    return bool(texts) and all(isinstance(text, str) and IS_DATE_TIME.fullmatch(text) for text in texts)


def times_of_texts(values: Sequence[Value | None], how: TimeReading = TimeReading()) -> list[Value | None]:
    """Return the time of each text, and None for None. Raises BadTime."""
    found: list[Value | None] = []
    for row, value in enumerate(values):
        try:
            found.append(None if value is None else time_of_text(str(value), how))
        except ValueError as error:
            raise BadTime(row, f"{quote_text(str(value))} {error}") from None
    return require_range(found)


def require_range(times: list[Value | None]) -> list[Value | None]:
    """Return the times unchanged. Raises BadTime if some have nanoseconds and others do not fit in such a column.

    A column of nanoseconds has 64 bits, enough for the years 1678 to 2261.
    """
    if (row := first_out_of_range(times)) is not None:
        raise BadTime(row, f"{times[row]} {NANOSECONDS_OUT_OF_RANGE}")
    return times


def times_of_column(
    values: Sequence[Value | None], field: str, how: TimeReading
) -> tuple[list[Value | None], str | None]:
    """Return the values of the time column as whole seconds or as times, and a warning about their unit, if any.

    field: the name of the column in the data. An empty text counts as absent, as in CSV. Raises BadTime for a value
    that is not a time, and for values of several kinds.
    """
    values = [None if isinstance(value, str) and not value else value for value in values]
    known = [(row, value) for row, value in enumerate(values) if value is not None]
    if not known:
        return list(values), None
    start = known[0][1]
    if isinstance(start, str) and (how.format is not None or not all(_is_numeral(value) for _, value in known)):
        for row, value in known:
            if not isinstance(value, str):
                raise BadTime(
                    row, f"the time is {value!r}, where others are texts; write all times of a stream in one form"
                )
        if how.format is None:
            if _is_numeral(start):
                row, value = next((row, value) for row, value in known if not _is_numeral(value))
                raise BadTime(row, f"{quote_text(str(value))} is not a time; {FORMS}")
            for row, value in known:
                if not (IS_DATE_TIME.fullmatch(str(value)) or _is_iso(str(value))):
                    hint = _what_to_write(value for _, value in known)
                    raise BadTime(row, f"{quote_text(str(value))} is not a time; {hint}")
        return times_of_texts(values, how), None
    numbers: list[int | float | None] = []
    for row, cell in enumerate(values):
        of_two_kinds = cell is not None and isinstance(cell, datetime) != isinstance(start, datetime)
        if isinstance(cell, bool) or of_two_kinds:
            raise BadTime(row, f"{cell!r} is not a time; {FORMS}")
        numbers.append(None if cell is None or isinstance(cell, datetime) else _number(cell, row))
    if isinstance(start, datetime):
        return list(values), None
    present = [number for number in numbers if number is not None]
    if not all(map(math.isfinite, present)):
        row = next(r for r, n in enumerate(numbers) if n is not None and not math.isfinite(n))
        raise BadTime(row, f"{numbers[row]} is not a time; {FORMS}")
    unit = how.unit or unit_of(min(present), max(present))
    note = unit_note(field, unit, min(present), max(present)) if how.unit is None else None
    if unit == "s" and all(isinstance(number, int) for number in present):
        return list(numbers), note
    # Such numbers may be hours of a day. They stay numbers; windows measure them as seconds.
    if how.unit is None and unit == "s" and not are_epochs(min(present), max(present)):
        return [_as_float(number, row) for row, number in enumerate(numbers)], note
    times: list[Value | None] = []
    for row, number in enumerate(numbers):
        try:
            times.append(None if number is None else time_of_number(number, unit, how.round_times))
        except ValueError as error:
            raise BadTime(row, f"{number} {error}") from None
    return require_range(times), note


def times_as_declared(
    values: Sequence[Value | None], field: str, how: TimeReading
) -> tuple[list[Value | None], str | None]:
    """Return the times of a column that a schema declares as times, and a warning about their unit or None.

    Raises BadTime.
    """
    start = next((value for value in values if value is not None), None)
    if isinstance(start, str) and how.unit is None and how.format is None and _is_iso(_cut(start)):
        return times_of_texts(values, how), None
    times, note = times_of_column(values, field, how)
    found: list[Value | None] = []
    for row, value in enumerate(times):
        try:
            is_number = isinstance(value, int | float)
            found.append(time_of_number(value, "s", how.round_times) if is_number else value)  # type: ignore[arg-type]
        except ValueError as error:
            raise BadTime(row, f"{value} {error}") from None
    return found, note


def _is_numeral(value: object) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and IS_NUMBER.fullmatch(value) is not None)


def _is_iso(text: str) -> bool:
    try:
        parse_time(text, keep_nanoseconds=True)
    except ValueError:
        return False
    return True


def _as_float(number: float | None, row: int) -> float | None:
    if isinstance(number, int) and float(number) != number:
        raise BadTime(row, f"{number} cannot be stored exactly as a 64-bit float")
    return None if number is None else float(number)


def _number(value: Value, row: int) -> int | float:
    if isinstance(value, str):
        if not IS_NUMBER.fullmatch(value) or len(value) > 40:
            raise BadTime(row, f"{quote_text(value)} is not a time; {FORMS}")
        return int(value) if IS_WHOLE.fullmatch(value) else float(value)
    if isinstance(value, datetime):
        raise BadTime(row, f"the time is {value}, but others are numbers; write all times of a stream in one form")
    return value


def rename_fields(names: Sequence[str], reserved: Mapping[str, str], name: str) -> list[str]:
    """Return the names of columns, with "type" and "time" for the columns in `reserved`, see `fitted_table`.

    name: the file, for messages. Raises InputError for a missing column, and for a name that occurs twice.
    """
    for blank in (column for column in names if column != column.strip()):
        warnings.warn(InputWarning(f"{name}: the blanks around {blank!r} belong to the column's name"), stacklevel=2)
    for column, meant in reserved.items():
        if column not in names:
            purpose = {TYPE: "the event type", TIME: "the time"}[meant]
            mark = next((word for sign, word in SEPARATORS.items() if sign in names[0]), "") if len(names) == 1 else ""
            hint = f"; its fields are separated by {mark}: write them with commas" if mark else ""
            hint = (
                hint or did_you_mean(column, names) or (type_option(names, reserved.values()) if column == TYPE else "")
            )
            for other in names:
                if other.strip() == column:
                    hint = f"; the blanks around {other!r} belong to its name: remove them"
            there = f"the columns are {', '.join(names)}" if names else "there are no columns"
            raise InputError(f"{name}: no column {column!r} for {purpose}; {there}{hint}")
    found = [reserved.get(column, column) for column in names]
    if (doubled := first_doubled(found)) is not None:
        origin = next((column for column, meant in reserved.items() if meant == doubled and column != doubled), None)
        reason = f"; {origin!r} takes that name, so rename the other" if origin else "; give each its own name"
        raise InputError(f"{name}: two columns are called {doubled!r}{reason}")
    return found


def first_doubled(names: Sequence[str]) -> str | None:
    """Return the first name that occurs twice."""
    counts = Counter(names)
    return next((name for name in names if counts[name] > 1), None)


GIVE_TYPE = "--default-type, in Python default_type, gives one"
NO_TYPE = f"empty; every event needs a type: {GIVE_TYPE}"


def with_type(table: pa.Table, type_column: str, default_type: str | None) -> pa.Table:
    """Return the table with the default type, if it is not None, in rows without a type."""
    if default_type is None or table.column_names.count(type_column) > 1:
        return table
    if type_column in table.column_names:
        types = table[type_column]
        if pa.types.is_dictionary(types.type):
            types = types.cast(types.type.value_type)
        if pa.types.is_string(types.type) or pa.types.is_large_string(types.type):
            types = pc.if_else(pc.fill_null(pc.equal(types, ""), True), default_type, types)
            table = table.set_column(table.column_names.index(type_column), type_column, types)
        return table
    return table.append_column(type_column, pa.repeat(pa.scalar(default_type, pa.string()), table.num_rows))


def typed(obj: Mapping[str, Any], type_column: str, default_type: str | None) -> Mapping[str, Any]:
    """Return the object, with the default type if it has no type and the default is not None."""
    return obj if default_type is None or not is_blank(obj.get(type_column)) else {**obj, type_column: default_type}


def how_to_type(field: str, fields: Iterable[object], reserved: Iterable[str]) -> str:
    """Return advice for a message about an object without a field for its type: which options to give."""
    names = list(map(str, fields))
    if field == TYPE:
        return type_option(names, reserved)
    return did_you_mean(field, names) or f"; {GIVE_TYPE}"


def is_blank(type_: object) -> bool:
    """Return whether this value of the type field means that the event has no type."""
    return type_ is None or (isinstance(type_, str) and not type_)
