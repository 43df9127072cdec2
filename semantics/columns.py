"""Evaluate tuple predicates on whole Arrow columns, all rows at once; predicates.py defines them on one event.

Arrow's arithmetic has fixed width, and it rounds an integer that is compared with a float. A test whose result could
therefore differ from the exact rules of predicates.py is evaluated row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, assert_never

from cerify.semantics import predicates as pred
from cerify.semantics.arguments import timed_items
from cerify.semantics.arrow_columns import ARROW, VALUE_TYPES, is_nanoseconds
from cerify.semantics.events import TYPE, Stream
from cerify.semantics.packages import pa, pc
from cerify.semantics.patterns import whole
from cerify.semantics.predicates import combined, holds, mentions
from cerify.semantics.values import EXACT, KIND_OF, Value, ValueKind, value_type_of

Column: TypeAlias = pa.ChunkedArray | pa.Scalar
"""One value for each row, or one for all rows; null for a row without a value."""

ABSENT = pa.scalar(None, pa.null())
KINDS: Mapping[pa.DataType, ValueKind] = {arrow: KIND_OF[value_type] for arrow, value_type in VALUE_TYPES.items()}
COMPARE: Mapping[pred.Comparator, Callable[[Column, Column], Column]] = {
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
    "=": pc.equal,
    "!=": pc.not_equal,
}
INTEGER: Mapping[pred.Operator, Callable[[Column, Column], Column]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
}
FLOAT: Mapping[pred.Operator, Callable[[Column, Column], Column]] = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}


class _Inexact(Exception):
    """Raised where Arrow's answer to a test might not be the exact one."""


def mask(predicate: pred.Predicate, table: pa.Table) -> pa.BooleanArray:
    """Return for each row whether the predicate holds, as `predicates.holds` defines it. The result has no nulls."""
    result = combined(predicate, lambda P: _mask(P, table), pc.invert, pc.and_, pc.or_)
    if isinstance(result, pa.Scalar):
        return pa.repeat(result, table.num_rows)
    return result.combine_chunks()


def _mask(predicate: pred.Atomic, table: pa.Table) -> Column:
    match predicate:
        case pred.Anything():
            return pa.scalar(True)
        case pred.OfType(name):
            return pc.equal(table[TYPE].cast(pa.string()), name)
        case pred.Comparison() | pred.OneOf() | pred.InRange() | pred.Like():
            try:
                return _test(predicate, table)
            except _Inexact:
                return _row_by_row(predicate, table)
        case _:
            assert_never(predicate)


def _test(predicate: pred.Comparison | pred.OneOf | pred.InRange | pred.Like, table: pa.Table) -> Column:
    match predicate:
        case pred.Comparison(comparator, left, right):
            return _compare(comparator, _evaluate(left, table), _evaluate(right, table))
        case pred.OneOf(term, values):
            # Value by value, because Arrow's `is_in` has one type for all values, and here kinds may be mixed.
            column, found = _evaluate(term, table), pa.scalar(False)
            for value in values:
                found = pc.or_(found, _compare("=", column, _scalar(value)))
            return found
        case pred.InRange(term, low, high):
            column = _evaluate(term, table)
            return pc.and_(_compare("<=", _scalar(low), column), _compare("<=", column, _scalar(high)))
        case pred.Like(term, pattern):
            column = _evaluate(term, table)
            if KINDS.get(column.type) != "string":
                return pa.scalar(False)
            return _false_if_null(pc.match_substring_regex(column, whole(pattern)))
        case _:
            assert_never(predicate)


def _row_by_row(predicate: pred.Predicate, table: pa.Table) -> pa.ChunkedArray:
    # Only these columns become events: making all of them costs more than the test.
    names = {attribute.name for attribute in mentions(predicate)} & set(table.column_names)
    events = Stream.from_table(table.select([TYPE, *sorted(names - {TYPE})]))
    return pa.chunked_array([pa.array([holds(predicate, event) for event in timed_items(events, 16)], pa.bool_())])


def _evaluate(term: pred.Term, table: pa.Table) -> Column:
    match term:
        case pred.Attribute(name):
            if name == TYPE or name not in table.column_names:  # the event's type is no attribute of it
                return ABSENT
            column = table[name]
            if column.type not in KINDS and not pa.types.is_null(column.type):
                raise _Inexact
            return column
        case pred.Constant(value):
            return _scalar(value)
        case pred.Arithmetic(symbol, left, right):
            return _arithmetic(symbol, _evaluate(left, table), _evaluate(right, table))
        case _:
            assert_never(term)


def _scalar(value: Value) -> pa.Scalar:
    try:
        return pa.scalar(value, ARROW[value_type_of(value)])
    except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):  # beyond 64 bits, or no Unicode text
        raise _Inexact from None


def _arithmetic(symbol: pred.Operator, left: Column, right: Column) -> Column:
    if KINDS.get(left.type) != "number" or KINDS.get(right.type) != "number":
        return ABSENT
    integers = left.type == right.type == ARROW["int"]
    if symbol == "/":
        if integers and not (_exact_as_floats(left) and _exact_as_floats(right)):
            raise _Inexact  # the quotient of two rounded integers is rounded twice
        divisor = _as_floats(right)
        nothing = pa.scalar(None, ARROW["float"])
        return pc.divide(_as_floats(left), pc.if_else(pc.equal(divisor, 0.0), nothing, divisor))
    if not integers:
        return FLOAT[symbol](_as_floats(left), _as_floats(right))
    try:
        return INTEGER[symbol](left, right)
    except pa.ArrowInvalid:  # beyond 64 bits
        raise _Inexact from None


def _compare(comparator: pred.Comparator, left: Column, right: Column) -> Column:
    kind = KINDS.get(left.type)
    if kind is None or kind != KINDS.get(right.type) or (kind == "bool" and comparator not in ("=", "!=")):
        return pa.scalar(False)
    if kind == "timestamp" and left.type != right.type:
        left, right = _as_nanoseconds(left), _as_nanoseconds(right)
    elif left.type != right.type:  # an integer and a float
        if not (_exact_as_floats(left) and _exact_as_floats(right)):
            raise _Inexact
        left, right = _as_floats(left), _as_floats(right)
    return _false_if_null(COMPARE[comparator](left, right))


def _exact_as_floats(column: Column) -> bool:
    """Return whether a float can represent every number of the column exactly."""
    if column.type == ARROW["float"]:
        return True
    if isinstance(column, pa.Scalar):
        value = column.as_py()
        return value is None or -EXACT <= value <= EXACT
    extremes = pc.min_max(column).as_py()
    return extremes["min"] is None or (extremes["min"] >= -EXACT and extremes["max"] <= EXACT)


def _as_nanoseconds(column: Column) -> Column:
    try:
        return column if is_nanoseconds(column.type) else column.cast(pa.timestamp("ns", tz="UTC"))
    except pa.ArrowInvalid:  # a year that 64 bits of nanoseconds do not have
        raise _Inexact from None


def _as_floats(column: Column) -> Column:
    """Return the column in binary64; an integer beyond 2^53 is rounded to the nearest, as Python rounds it."""
    return pc.cast(column, ARROW["float"], safe=False)


def _false_if_null(column: Column) -> Column:
    return pc.fill_null(column, False)
