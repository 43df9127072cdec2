"""The values of one attribute, one for each result of its simple tests: the interval algebra.

A simple test compares one attribute with constants. The constants cut the values of each kind into points and open
intervals, and all values of a piece pass the same tests; so one value of each piece, and no value at all, stand for
everything. A pattern cuts the strings further: see strings.py.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TypeAlias, assert_never

from cerify.automata.algebra.strings import decidable, samples_of_strings
from cerify.semantics import predicates as pred
from cerify.semantics.budget import check_time
from cerify.semantics.predicates import satisfied
from cerify.semantics.values import EXACT, INT64, Value, ValueType, kind

Truth: TypeAlias = tuple[bool, ...]
"""Which of the tests pass."""

Number: TypeAlias = int | float
STEPS = tuple(timedelta(**{unit: 1}) for unit in ("days", "hours", "minutes", "seconds", "microseconds"))
FIRST_TIME, LAST_TIME = (time.replace(tzinfo=UTC) for time in (datetime.min, datetime.max))
DAY_0 = datetime(2000, 1, 1, tzinfo=UTC)
DEFAULT: dict[ValueType, Value] = {"int": 0, "float": 0.0, "string": "", "bool": False, "timestamp": DAY_0}


def tested_attribute(test: pred.Predicate) -> str | None:
    """The attribute, if the test is a simple one: an attribute against constants, or a pattern that can be decided."""
    match test:
        case (
            pred.Comparison(_, pred.Attribute(name), pred.Constant())
            | pred.Comparison(_, pred.Constant(), pred.Attribute(name))
            | pred.OneOf(pred.Attribute(name), _)
            | pred.InRange(pred.Attribute(name), _, _)
        ):
            return name
        case pred.Like(pred.Attribute(name), pattern) if decidable(pattern):
            return name
    return None


def pieces(tests: Sequence[pred.Predicate], value_type: ValueType | None) -> dict[Truth, Value | None]:
    """What can be true of the simple tests of one attribute together, each with its simplest value, None for absent.

    value_type is the type that the schema gives the attribute; None lets a value be of any kind. Raises BudgetExceeded.
    """
    found: dict[Truth, Value | None] = {}
    passed = [_passed(test) for test in tests]
    for value in _candidates(tests, value_type):
        check_time()
        found.setdefault(tuple(passes(value) for passes in passed), value)
    return found


def _passed(test: pred.Predicate) -> Callable[[Value | None], bool]:
    """Whether the attribute passes the test with a value; thousands of constants are looked up, not gone through."""
    if isinstance(test, pred.OneOf):
        constants = {(kind(c), c) for c in test.values if not _is_nan(c)}
        return lambda value: value is not None and (kind(value), value) in constants
    return lambda value: satisfied(test, lambda _: value)


def _candidates(tests: Sequence[pred.Predicate], value_type: ValueType | None) -> Iterator[Value | None]:
    """A value of each piece, simple ones first; then none at all, and last what is not a number."""
    constants = [value for test in tests for value in _constants(test)]
    if value_type is not None:
        yield DEFAULT[value_type]
    of_kind = {name: [c for c in constants if kind(c) == name] for name in ("number", "string", "bool", "timestamp")}
    if of_kind["number"] and value_type in ("int", "float", None):
        numbers = {_simple(number) for number in of_kind["number"] if not _is_nan(number)}  # type: ignore[arg-type]
        yield from sorted(_numbers(sorted(numbers), value_type), key=lambda v: (abs(v), v < 0, isinstance(v, float)))
    patterns = tuple(test.pattern for test in tests if isinstance(test, pred.Like))
    if (of_kind["string"] or patterns) and value_type in ("string", None):
        yield from samples_of_strings(tuple(sorted(set(of_kind["string"]))), patterns)  # type: ignore[arg-type]
    if of_kind["bool"] and value_type in ("bool", None):
        yield from (False, True)
    if of_kind["timestamp"] and value_type in ("timestamp", None):
        yield from _times(sorted(set(of_kind["timestamp"])))  # type: ignore[arg-type]
    yield None
    if of_kind["number"] and value_type in ("float", None):
        yield math.nan


def _constants(test: pred.Predicate) -> Iterator[Value]:
    match test:
        case pred.Comparison(_, pred.Constant(value), _) | pred.Comparison(_, _, pred.Constant(value)):
            yield value
        case pred.OneOf(_, values):
            yield from values
        case pred.InRange(_, low, high):
            yield from (low, high)
        case (
            pred.Comparison() | pred.Like() | pred.Anything() | pred.OfType() | pred.Not() | pred.Both() | pred.Either()
        ):
            return
        case _:
            assert_never(test)


def _numbers(constants: list[Number], value_type: ValueType | None) -> Iterator[Number]:
    """Each constant, and a number of each open interval between them and outside."""
    bounds: list[Number] = [-math.inf, *constants, math.inf]
    wanted = [(c, c) for c in constants] + [(a, b) for a, b in pairwise(bounds) if a < b]
    for low, high in wanted:
        value: Number | None = low if low == high else _between(low, high)
        match value_type:
            case "int" if not isinstance(value, int) or value not in INT64:
                continue
            case "float":
                exact = _exact_float(value)
                value = _float_above(low) if exact is None and low < high else exact
        if value is not None and (low < value < high or low == value == high):
            yield value
    if value_type != "int":  # the ends of the line lie in no open interval
        yield from (-math.inf, math.inf)


def _between(low: Number, high: Number) -> Number | None:
    """The simplest number of the open interval: an integer near zero if it has one."""
    if low < 0 < high:
        return 0
    if low >= 0 and low != math.inf and math.floor(low) + 1 < high:
        return math.floor(low) + 1
    if high <= 0 and high != -math.inf and math.ceil(high) - 1 > low:
        return math.ceil(high) - 1
    if math.isinf(low) or math.isinf(high):
        return None
    if abs(low) >= EXACT:  # every float is an integer there
        return None
    middle = low + (high - low) / 2
    return middle if low < middle < high else _float_above(low)


def _exact_float(number: Number | None) -> float | None:
    """The number as a float, None if no float has its value."""
    try:
        return None if number is None or float(number) != number else float(number)
    except OverflowError:
        return None


def _float_above(low: Number) -> float:
    """The least float above the number; infinity where there is none."""
    try:
        rounded = float(low)
    except OverflowError:
        return math.inf if low > 0 else -sys.float_info.max
    return rounded if rounded > low else math.nextafter(rounded, math.inf)


def _times(constants: list[datetime]) -> Iterator[datetime]:
    """Each constant, and a time of each open interval between them and outside, in steps that a person can read."""
    yield from constants
    for low, high in pairwise(constants):
        yield from [low + step for step in STEPS if step < high - low][:1]
    if (before := constants[0] - FIRST_TIME) > timedelta():
        yield constants[0] - min(before, timedelta(days=1))
    if (after := LAST_TIME - constants[-1]) > timedelta():
        yield constants[-1] + min(after, timedelta(days=1))


def _simple(number: Number) -> Number:
    """The number as an integer if it is one."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _is_nan(value: Value) -> bool:
    return value != value
