"""Compute the values of SQL's operators: three-valued logic, arithmetic, CAST (ISO/IEC 9075-2).

None is NULL, and as a condition it is neither true nor false. An operation without a value (7 / 0, ABS of a string, a
comparison of values of different kinds, a CAST that fails) gives NULL; docs/decisions/row-patterns.md has the reasons.
"""

from __future__ import annotations

import math
import operator
import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import lru_cache
from typing import Any, Literal, TypeAlias, assert_never, cast

from cerify.semantics import patterns, trees
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import TYPE, Match, Stream
from cerify.semantics.readings import RowReading
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.syntax import ROW, MatchRecognize
from cerify.semantics.trees import subtrees
from cerify.semantics.values import (
    EPOCH,
    NanosecondInterval,
    Value,
    ValueKind,
    is_number,
    kind,
    nanoseconds,
    parse_time,
    show_interval,
    show_time,
)

Nullable: TypeAlias = Value | timedelta | None
COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "<>": operator.ne,
}  # fmt: skip
TRUTH = {"true": True, "false": False}


def combined(e: rows.Scalar, values: Sequence[Nullable], reading: RowReading) -> Nullable:
    """Return the value of an expression whose operands, from left to right, have these values."""
    match e:
        case rows.RowConstant(constant):
            return constant
        case rows.Negative():
            return -values[0] if _is_quantity(values[0]) else None  # type: ignore[operator]
        case rows.Sum(_, sign, _) | rows.Product(_, sign, _):
            return _arithmetic(sign, values[0], values[1], reading)
        case rows.Absolute():
            return cast("Nullable", abs(cast(Any, values[0]))) if _is_quantity(values[0]) else None
        case rows.Cast(_, type_):
            return None if values[0] is None else _cast(values[0], type_)
        case rows.Coalesce():
            return next((value for value in values if value is not None), None)
        case rows.RowCall(function):
            return FUNCTIONS[function].call(values)
        case rows.Extract(part):
            return None if values[0] is None else extracted(part, values[0])
        case rows.RowCase():
            # `is True`: an unknown condition takes ELSE.
            return values[1] if values[0] is True else values[2]
        case rows.RowComparison(_, comparator, _):
            return compared(comparator, values[0], values[1])
        case rows.IsNull(_, negated):
            return (values[0] is None) != negated
        case rows.RowBetween(_, _, _, negated):
            inside = both(compared(">=", values[0], values[1]), compared("<=", values[0], values[2]))
            return inverted(inside) if negated else inside
        case rows.RowIn(_, _, negated):
            found: bool | None = False
            for value in values[1:]:
                found = either(found, compared("=", values[0], value))
            return inverted(found) if negated else found
        case rows.RowLike(_, _, escape, negated):
            alike = _like(values[0], values[1], escape)
            return inverted(alike) if negated else alike
        case rows.RowNot():
            return inverted(truth(values[0]))
        case rows.RowAnd():
            return both(truth(values[0]), truth(values[1]))
        case rows.RowOr():
            return either(truth(values[0]), truth(values[1]))
        case _:
            assert_never(e)


def truth(value: Nullable) -> bool | None:
    """Return the truth of a value as a condition; None (unknown) if it is not a Boolean."""
    return value if isinstance(value, bool) else None


def both(one: bool | None, other: bool | None) -> bool | None:
    """Return the AND of two truth values."""
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def either(one: bool | None, other: bool | None) -> bool | None:
    """Return the OR of two truth values."""
    return inverted(both(inverted(one), inverted(other)))


def inverted(one: bool | None) -> bool | None:
    """Return the NOT of a truth value."""
    return None if one is None else not one


def compared(comparator: str, one: Nullable, other: Nullable) -> bool | None:
    """Return the truth of a comparison; None (unknown) with NULL, and for values of different kinds."""
    if one is None or other is None or (type(one) is not type(other) and kind(one) != kind(other)):
        return None
    return COMPARE[comparator](one, other)


def aggregated(function: str, values: Sequence[Nullable]) -> Nullable:
    """Return an aggregate of the values that are not NULL; None if they are of different kinds, except for COUNT."""
    there = [value for value in values if value is not None]
    if function == "COUNT":
        return len(there)
    if not there or len({kind(value) for value in there}) > 1:
        return None
    if function in ("MIN", "MAX"):
        ordered: list[Any] = list(there)
        return cast("Value", min(ordered) if function == "MIN" else max(ordered))
    if not _is_quantity(there[0]):
        return None
    # Not 0, which cannot be added to an interval.
    total: Any = there[0]
    for value in there[1:]:
        total += value
    return _finite(lambda: total if function == "SUM" else total / len(there))


def collected(e: rows.Collection, values: Sequence[Sequence[Nullable]]) -> Any:
    """Return the value of an aggregate of a list.

    Each row of `values` has the argument, and then the value to order by if the aggregate has an order.
    """
    listed = [one for one in values if one[0] is not None or e.function == "ARRAY_AGG"]
    if e.order:
        there = sorted((one for one in listed if one[1] is not None), key=_order_key, reverse=e.descending)
        listed = [*there, *(one for one in listed if one[1] is None)]
    found = [one[0] for one in listed]
    if e.distinct:
        first: dict[Any, Nullable] = {}
        for value in found:
            # DISTINCT counts NaN once, although NaN is unequal to itself, and 1 and TRUE apart, although Python takes
            # them for equal.
            first.setdefault((kind_of(value), "NaN" if value != value else value), value)
        found = list(first.values())
    if e.function == "ARRAY_AGG":
        return tuple(found) or None
    if e.function == "LISTAGG":
        texts = [value for value in found if isinstance(value, str)]
        return e.separator.join(texts) if texts and len(texts) == len(found) else None
    return aggregated(e.function, found)


def _order_key(one: Sequence[Any]) -> tuple[ValueKind, bool, Any]:
    """Return the sort key of a row by its second value; NaN is above other numbers."""
    value = one[1]
    return kind(value), value != value, 0 if value != value else value


def _arithmetic(sign: str, one: Nullable, other: Nullable, reading: RowReading) -> Nullable:
    if sign == "||":
        return one + other if isinstance(one, str) and isinstance(other, str) else None
    x: Any = one
    y: Any = other
    if not (is_number(one) and is_number(other)):
        return _finite(lambda: TIMES[sign](x, y)) if (kind_of(x), sign, kind_of(y)) in TIMED else None
    if sign in "/%" and y == 0:
        return None
    whole = isinstance(x, int) and isinstance(y, int)
    match sign:
        case "+":
            return _finite(lambda: x + y)
        case "-":
            return _finite(lambda: x - y)
        case "*":
            return _finite(lambda: x * y)
        case "/" if whole and reading.integer_division == "truncated":
            # On absolute values, because Python rounds down where SQL truncates; a float would lose digits beyond 2^53.
            return int(abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1))
        case "/":
            return _finite(lambda: x / y)
        case _:  # % has the sign of the dividend
            return _finite(lambda: abs(x) % abs(y) * (-1 if x < 0 else 1) if whole else math.fmod(x, y))


def _add(x: Any, y: Any) -> Any:
    return y + x if isinstance(y, NanosecondInterval) else x + y  # a datetime would drop nanoseconds


TIMES: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": _add, "-": lambda x, y: _add(x, -y) if isinstance(y, timedelta) else x - y,
    "*": operator.mul, "/": operator.truediv,
}  # fmt: skip
TIMED: Mapping[tuple[ValueKind | None, str, ValueKind | None], ValueKind] = {
    ("timestamp", "-", "timestamp"): "interval", ("timestamp", "+", "interval"): "timestamp",
    ("timestamp", "-", "interval"): "timestamp", ("interval", "+", "timestamp"): "timestamp",
    ("interval", "+", "interval"): "interval", ("interval", "-", "interval"): "interval",
    ("interval", "*", "number"): "interval", ("number", "*", "interval"): "interval",
    ("interval", "/", "number"): "interval",
}  # fmt: skip
"""The kind of the result of an operator with a time or an interval, by the operands' kinds and the operator."""


def kind_of(value: Nullable) -> ValueKind | None:
    """Return the kind of a value, None for NULL."""
    return None if value is None else kind(value)


def _is_quantity(value: Nullable) -> bool:
    return is_number(value) or isinstance(value, timedelta)


def _finite(compute: Callable[[], Any]) -> Nullable:
    """Return a value; None for a number beyond a 64-bit float, a time outside the years 1 to 9999, or a division by
    zero.
    """
    try:
        value: Nullable = compute()
    except (OverflowError, ValueError, ZeroDivisionError):
        return None
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ---------------------------------------------------------------------------------------------------------------------
# Functions of values: one row for each, for the check of types and for the evaluators.


@dataclass(frozen=True)
class ScalarFunction:
    """A function of SQL.

    kinds: the kinds of its arguments, of which at least `least` must be given. The result is NULL if an argument is.
    result: the type of its values; "number" for the type of the first argument.
    """

    kinds: tuple[ValueKind, ...]
    result: Literal["int", "float", "string", "bool", "timestamp", "number"]
    compute: Callable[..., Any]
    least: int = 0

    def call(self, values: Sequence[Nullable]) -> Nullable:
        """Return the value for these arguments; None if an argument is NULL or of another kind, or the function has no
        value.
        """
        if any(kind_of(value) != wanted for value, wanted in zip(values, self.kinds, strict=False)):
            return None
        return _finite(lambda: self.compute(*values))


def _round(x: Any, digits: Any = 0) -> Any:
    """Round halves away from zero, as SQL does; Python rounds them to even."""
    if abs(digits) > 400:
        return None
    if not math.isfinite(x) or (isinstance(x, int) and digits >= 0):
        return x
    unit = Decimal(1).scaleb(-int(digits))
    # 309 digits before the point and 400 after it fit, so that the only rounding is the requested one.
    with localcontext(prec=800):
        found = (Decimal(repr(x)) / unit).to_integral_value(ROUND_HALF_UP) * unit
    return int(found) if isinstance(x, int) else float(found)


def _substring(text: str, start: Any, length: Any = None) -> str | None:
    """Return the characters from `start`, counted from 1. Positions before the first count, but have no characters."""
    if length is not None and length < 0:
        return None
    end = None if length is None else max(start + length - 1, 0)
    return text[max(start - 1, 0) : end] if isinstance(start, int) and not isinstance(length, float) else None


def _truncate_time(part: str, time: datetime) -> datetime | None:
    """Return the first instant of the hour, day, … of a time. Weeks begin on Monday."""
    name = part.upper()
    if name == "WEEK":
        return _truncate_time("DAY", time - timedelta(days=time.weekday()))
    if name == "QUARTER":
        return _truncate_time("MONTH", time.replace(month=(time.month - 1) // 3 * 3 + 1, day=1))
    names = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
    if name not in names:
        return None
    first = (1, 1, 1, 0, 0, 0)
    kept = time.timetuple()[: names.index(name) + 1]
    return datetime(*kept, *first[len(kept) :], tzinfo=time.tzinfo)  # type: ignore[arg-type,misc]


def _complete_units(part: str, start: datetime, end: datetime) -> int | None:
    """Return the number of complete units from one time to another; negative if `end` is before `start`."""
    if part.upper() in MONTHS:
        # Counted forwards, and given a sign: months differ in length, and swapping the times must only change the sign.
        first, last = sorted((start, end))
        months = 12 * (last.year - first.year) + last.month - first.month
        months -= (last.day, last.timetz()) < (first.day, first.timetz())
        return months // MONTHS[part.upper()] * (1 if end >= start else -1)
    unit = LENGTHS.get(part.upper())
    return None if unit is None else abs(end - start) // unit * (1 if end >= start else -1)


def _boundaries(part: str, start: datetime, end: datetime) -> int | None:
    """Return the number of boundaries of a unit between two times: one hour from 9:59 to 10:01.
    Weeks begin on Monday.
    """
    if part.upper() in MONTHS:
        months = (12 * time.year + time.month - 1 for time in (start, end))
        first_, last_ = (number // MONTHS[part.upper()] for number in months)
        return last_ - first_
    if part.upper() not in LENGTHS:
        return None
    first, last = (_truncate_time(part, time) for time in (start, end))
    return None if first is None or last is None else (last - first) // LENGTHS[part.upper()]


def _add_months(time: datetime, months: Any) -> datetime | None:
    """Return the time that many months later, on the last day of a month that has fewer days."""
    if not isinstance(months, int):
        return None
    year, month = divmod(12 * time.year + time.month - 1 + months, 12)
    return time.replace(year=year, month=month + 1, day=min(time.day, monthrange(year, month + 1)[1]))


MONTHS: dict[str, int] = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
"""The units without a fixed length, in months."""
LENGTHS: dict[str, timedelta] = {"WEEK": timedelta(days=7), **rows.UNITS}
"""The units of a fixed length."""
FIELDS: Mapping[str, tuple[int, int]] = {"DAY": (86_400, 10**9), "HOUR": (3_600, 24), "MINUTE": (60, 60)}
"""For each field of an interval, its length in seconds, and how many of it make one of the next longer field."""


def extracted(part: rows.TimePart, value: Nullable) -> Nullable:
    """Return a part of a time, or a field of an interval; seconds have their fraction."""
    if isinstance(value, timedelta):
        seconds = value / timedelta(seconds=1)
        if part == "EPOCH":
            return seconds
        if part in FIELDS:
            length, number = FIELDS[part]
            size = int(abs(seconds)) // length % number
            return -size if seconds < 0 else size
        return math.fmod(seconds, 60) if part == "SECOND" else None
    if not isinstance(value, datetime):
        return None
    fraction = nanoseconds(value) % 10**9
    second = value.second + fraction / 10**9 if fraction else value.second
    found = {
        "YEAR": value.year, "QUARTER": (value.month + 2) // 3, "MONTH": value.month, "DAY": value.day,
        "HOUR": value.hour, "MINUTE": value.minute, "SECOND": second, "EPOCH": (value - EPOCH) / timedelta(seconds=1),
    }  # fmt: skip
    return cast("Nullable", found[part])


def _regexp_like(text: str, pattern: str) -> bool | None:
    """Return whether a part of a text matches a regular expression; None for an invalid pattern."""
    searched = searched_pattern(pattern)
    return None if searched is None else patterns.matches(searched, text)


@lru_cache(maxsize=1000)
def searched_pattern(pattern: str) -> str | None:
    """Return a regular expression that matches a whole text if a part of it matches the pattern.

    Return None for a text that is not a pattern.
    """
    if patterns.flaw(pattern) is not None:
        return None
    start, inner, end = _ANCHORED.fullmatch(pattern).groups()  # type: ignore[union-attr]  # it matches any text
    with suppress(patterns.PatternError):  # an escape that is cut in two, or a pattern that only RE2 can parse
        if "(?m" not in inner and len(getattr(patterns.parse(inner), "parts", ())) == 1:  # no alternatives outside
            return rf"{'' if start else '(?s:.*)'}(?:{inner}){'' if end else '(?s:.*)'}"
    return rf"(?s:.*)(?:{pattern})(?s:.*)"


_ANCHORED = re.compile(r"(\^|\\A)?(.*?)(\$|\\z)?", re.S)


TIME_FORMAT = re.compile(r'"(?P<text>[^"]*)"|YYYY|YY|MM|MON|DD|DY|HH24|HH12|MI|SS|FF[369]|Q|AM|PM', re.I)
"""The parts of a format of TO_CHAR; what stands between quotation marks is written as it is."""
_MONTH_NAMES = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_DAY_NAMES = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def _format_time(time: datetime, pattern: str) -> str:
    """Return a time in Oracle's format, such as YYYY-MM-DD HH24:MI:SS. MON, DY and AM keep the case of the format."""

    def write_part(found: re.Match[str]) -> str:
        if found["text"] is not None:
            return found["text"]
        part = found[0].upper()
        if part in ("MON", "DY", "AM", "PM"):
            name = {"MON": _MONTH_NAMES[time.month - 1], "DY": _DAY_NAMES[time.weekday()]}
            text = name.get(part, "AM" if time.hour < 12 else "PM")
            return text.upper() if found[0].isupper() else text.lower() if found[0].islower() else text.title()
        if part.startswith("FF"):
            return f"{nanoseconds(time) % 10**9:09}"[: int(part[2])]
        values = {
            "YYYY": f"{time.year:04}", "YY": f"{time.year % 100:02}", "MM": f"{time.month:02}", "DD": f"{time.day:02}",
            "HH24": f"{time.hour:02}", "HH12": f"{(time.hour - 1) % 12 + 1:02}", "MI": f"{time.minute:02}",
            "SS": f"{time.second:02}", "Q": str((time.month + 2) // 3),
        }  # fmt: skip
        return values[part]

    return TIME_FORMAT.sub(write_part, pattern)


FUNCTIONS: Mapping[str, ScalarFunction] = {
    "TO_CHAR": ScalarFunction(("timestamp", "string"), "string", _format_time),
    "REGEXP_LIKE": ScalarFunction(("string", "string"), "bool", _regexp_like),
    "UPPER": ScalarFunction(("string",), "string", str.upper),
    "LOWER": ScalarFunction(("string",), "string", str.lower),
    "TRIM": ScalarFunction(("string",), "string", lambda text: text.strip(" ")),
    "CHAR_LENGTH": ScalarFunction(("string",), "int", len),
    "SUBSTRING": ScalarFunction(("string", "number", "number"), "string", _substring, least=2),
    "REPLACE": ScalarFunction(("string", "string", "string"), "string", str.replace),
    "FLOOR": ScalarFunction(("number",), "number", lambda x: type(x)(math.floor(x))),
    "CEIL": ScalarFunction(("number",), "number", lambda x: type(x)(math.ceil(x))),
    "ROUND": ScalarFunction(("number", "number"), "number", _round, least=1),
    "SIGN": ScalarFunction(("number",), "int", lambda x: (x > 0) - (x < 0)),
    "SQRT": ScalarFunction(("number",), "float", math.sqrt),
    "POWER": ScalarFunction(("number", "number"), "float", math.pow),
    "LN": ScalarFunction(("number",), "float", math.log),
    "EXP": ScalarFunction(("number",), "float", math.exp),
    "DATE_TRUNC": ScalarFunction(("string", "timestamp"), "timestamp", _truncate_time),
    "ADD_MONTHS": ScalarFunction(("timestamp", "number"), "timestamp", _add_months),
    "TIMESTAMPDIFF": ScalarFunction(("string", "timestamp", "timestamp"), "int", _complete_units),
    "DATEDIFF": ScalarFunction(("string", "timestamp", "timestamp"), "int", _boundaries),
}
SPELLINGS: Mapping[str, str] = {
    "LENGTH": "CHAR_LENGTH", "CHARACTER_LENGTH": "CHAR_LENGTH", "LEN": "CHAR_LENGTH", "SUBSTR": "SUBSTRING",
    "CEILING": "CEIL", "POW": "POWER",
}  # fmt: skip
"""Other names of these functions."""


def _cast(value: Any, type_: rows.SqlType) -> Nullable:
    """Return a value as another type. A number with a fraction is rounded to a BIGINT, halves away from zero."""
    match type_:
        case "VARCHAR":
            if isinstance(value, bool):
                return str(value).lower()
            if isinstance(value, timedelta):
                return show_interval(value)
            return show_time(value) if isinstance(value, datetime) else str(value)
        case "BOOLEAN":
            if isinstance(value, str):
                return TRUTH.get(value.strip().lower())
            return None if isinstance(value, datetime | timedelta) else bool(value)
        case "TIMESTAMP":
            if isinstance(value, str):
                return _finite(lambda: parse_time(value))
            return value if isinstance(value, datetime) else None
        case "BIGINT" | "DOUBLE":
            if isinstance(value, datetime | timedelta):
                return None
            if isinstance(value, str) and not _NUMBERS[type_].fullmatch(value):
                return None
            number = float if type_ == "DOUBLE" else _rounded
            return _finite(lambda: number(value))
        case _:
            assert_never(type_)


_NUMBERS = {  # Python reads more: 1_000, and the digits of other scripts
    "BIGINT": re.compile(r"\s*[+-]?[0-9]+\s*"),
    "DOUBLE": re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(E[+-]?[0-9]+)?\s*", re.I),
}


def _rounded(value: Any) -> int:
    """Return the nearest integer, halves away from zero. Raises ValueError or OverflowError if there is none."""
    if isinstance(value, float):
        return int(Decimal(value).to_integral_value(ROUND_HALF_UP)) if math.isfinite(value) else int(value)
    return int(value)


def _like(value: Nullable, pattern: Nullable, escape: tuple[str, ...]) -> bool | None:
    if not (isinstance(value, str) and isinstance(pattern, str)):
        return None
    return _like_regex(pattern, escape).fullmatch(value) is not None


@lru_cache(maxsize=1000)  # a pattern may be a column, with another one in each row
def _like_regex(pattern: str, escape: tuple[str, ...]) -> re.Pattern[str]:
    """Return a regular expression for a pattern of LIKE; matching takes at most len(pattern) * len(text) steps.

    A piece between two % is matched at its first place only: if the rest fails from there, it fails from later places.
    """
    parts, literal = [""], False
    for character in pattern:
        if not literal and character in escape:
            literal = True
            continue
        if character == "%" and not literal:
            parts.append("")
        else:
            parts[-1] += "." if character == "_" and not literal else re.escape(character)
        literal = False
    first, *others = parts
    searched = "".join(f"(?>.*?{part})" for part in others[:-1])
    end = "".join(f".*{part}" for part in others[-1:])
    return re.compile(first + searched + end, re.DOTALL)


# ---------------------------------------------------------------------------------------------------------------------
# The column of a table for each name in a clause. A name without quotation marks matches in any case.


def columns_of(S: Stream) -> tuple[str, ...]:
    """Return the columns of a table in their order, without columns that have no value in any row.

    The column "type" is among them if a row has another type than ROW.
    """
    if S.is_columnar:
        names, typed = S.table.column_names, any(R.as_py() != ROW for R in S.coded_types.unique())
    else:
        declared, events = [] if S.schema is None else [*S.schema.attributes], S.events
        names = [TYPE, *dict.fromkeys([*declared, *(name for event in events for name in event.attributes)])]
        typed = any(event.type != ROW for event in events)
    return tuple(name for name in names if name != TYPE or typed)


def column_values(S: Stream) -> dict[str, list[Value | None]]:
    """Return the values of each column, and of "type", from the first row to the last."""
    if S.is_columnar:
        from cerify.semantics.arrow_columns import values_in

        return {name: values_in(S.table[name]) for name in S.table.column_names}
    events = S.events
    rows_ = [event.attributes for event in events]
    names = dict.fromkeys(name for row in rows_ for name in row)
    return {TYPE: [event.type for event in events], **{name: [row.get(name) for row in rows_] for name in names}}


def resolved(q: MatchRecognize, names: Iterable[str]) -> MatchRecognize:
    """Return the clause with its columns spelled as in the table; a missing column stays as it is, and is NULL.

    Raises IllFormed if a name may mean two columns that differ only in case.
    """
    known = [*names]
    return with_columns(q, lambda one: replace(one, name=resolve_column(one, known), quoted=True))


def with_column_names(e: rows.Expression, names: Iterable[str]) -> rows.Expression:
    """Return the expression with the names of its columns spelled as in the table.

    Raises IllFormed if a name may be one of two columns that differ only in case.
    """
    known = [*names]
    return _with_columns(e, lambda one: replace(one, name=resolve_column(one, known), quoted=True))


def with_columns(q: MatchRecognize, column: Callable[[rows.RowColumn], rows.RowColumn]) -> MatchRecognize:
    """Return the clause with `column` applied to each of its columns."""
    return with_expressions(q, lambda e: _with_columns(e, column))


def _with_columns(e: rows.Expression, column: Callable[[rows.RowColumn], rows.RowColumn]) -> rows.Expression:
    if isinstance(e, rows.RowColumn):
        return column(e)
    if not e.operands:
        return e
    return replace(trees.rebuilt(e, [_with_columns(operand, column) for operand in rows.below(e)]), span=e.span)


def with_expressions(q: MatchRecognize, change: Callable[[rows.Expression], rows.Expression]) -> MatchRecognize:
    """Return the clause with `change` applied to its keys, measures and conditions."""
    return replace(
        q,
        define=tuple(replace(one, condition=change(one.condition)) for one in q.define),
        partition=tuple(map(change, q.partition)),
        order=tuple(replace(one, column=change(one.column)) for one in q.order),
        measures=tuple(replace(one, expression=change(one.expression)) for one in q.measures),
    )


def resolve_column(one: rows.RowColumn, names: Iterable[str]) -> str:
    """Return the name of a column as the table spells it; its own name if the table lacks it.

    Raises IllFormed if it may mean two columns.
    """
    names = list(names)
    if one.quoted or one.name in names:
        return one.name
    found = [name for name in names if name.lower() == one.name.lower()]
    if len(found) > 1:
        raise IllFormed(f'{one.name} may mean the columns {", ".join(found)}; write it as "{found[0]}"', one.span)
    return found[0] if found else one.name


def key_value(e: rows.Expression, row: Mapping[str, Value], reading: RowReading) -> Nullable:
    """Return the value of an expression of PARTITION BY or ORDER BY in a row."""
    if isinstance(e, rows.RowColumn):
        return row.get(e.name)
    assert not isinstance(e, rows.Lookup)  # a well-formed clause has no such expression there
    return combined(e, [key_value(operand, row, reading) for operand in rows.below(e)], reading)


def columns_in(q: MatchRecognize) -> Iterator[rows.RowColumn]:
    """Yield all columns that a clause mentions, with repetitions."""
    for e in (*q.keys, *q.expressions):
        yield from (node for node in subtrees(e) if isinstance(node, rows.RowColumn))


# ---------------------------------------------------------------------------------------------------------------------
# A match of MATCH_RECOGNIZE.


@dataclass(frozen=True, slots=True, order=True)
class NumberedMatch(Match):
    """A match of MATCH_RECOGNIZE: `events` are the positions of its rows, in order.

    match_number: the number of the match in its partition, from 1.

    excluded: the rows that the output of ALL ROWS PER MATCH leaves out.
    """

    match_number: int = field(kw_only=True)
    excluded: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def json(self) -> dict[str, Any]:
        return Match.json(self) | {"match_number": self.match_number}
