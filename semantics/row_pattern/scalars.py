"""What an operator of SQL makes of the values of its operands: three-valued logic, arithmetic, CAST (ISO/IEC 9075-2).

None is NULL, and as a condition it is neither true nor false. What has no value (7 / 0, ABS of a string, a comparison
of values of different kinds, a CAST that fails) is NULL; docs/decisions/row-patterns.md has the reasons.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from typing import Any, TypeAlias, assert_never, cast

from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.reading import RowReading
from cerify.semantics.values import Value, kind, parse_time, show_time

Nullable: TypeAlias = Value | None
COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "<>": operator.ne,
}  # fmt: skip
TRUTH = {"true": True, "false": False}


def combined(e: rows.Scalar, values: Sequence[Nullable], reading: RowReading) -> Nullable:
    """The value of an expression whose operands, from left to right, have these values."""
    match e:
        case rows.Constant(constant):
            return constant
        case rows.Negative():
            return None if not _is_number(values[0]) else -values[0]  # type: ignore[operator]
        case rows.Sum(_, sign, _) | rows.Product(_, sign, _):
            return _arithmetic(sign, values[0], values[1], reading)
        case rows.Absolute():
            return None if not _is_number(values[0]) else abs(values[0])  # type: ignore[arg-type]
        case rows.Cast(_, type_):
            return None if values[0] is None else _cast(values[0], type_)
        case rows.Coalesce():
            return next((value for value in values if value is not None), None)
        case rows.Case():
            return values[1] if values[0] is True else values[2]
        case rows.Comparison(_, comparator, _):
            return compared(comparator, values[0], values[1])
        case rows.IsNull(_, negated):
            return (values[0] is None) != negated
        case rows.Between(_, _, _, negated):
            inside = both(compared(">=", values[0], values[1]), compared("<=", values[0], values[2]))
            return inverted(inside) if negated else inside
        case rows.In(_, _, negated):
            found: bool | None = False
            for value in values[1:]:
                found = either(found, compared("=", values[0], value))
            return inverted(found) if negated else found
        case rows.Like(_, _, escape, negated):
            alike = _like(values[0], values[1], escape)
            return inverted(alike) if negated else alike
        case rows.Not():
            return inverted(truth(values[0]))
        case rows.And():
            return both(truth(values[0]), truth(values[1]))
        case rows.Or():
            return either(truth(values[0]), truth(values[1]))
        case _:
            assert_never(e)


def truth(value: Nullable) -> bool | None:
    """A value as a condition; what is no Boolean is unknown."""
    return value if isinstance(value, bool) else None


def both(one: bool | None, other: bool | None) -> bool | None:
    """AND."""
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def either(one: bool | None, other: bool | None) -> bool | None:
    """OR."""
    return inverted(both(inverted(one), inverted(other)))


def inverted(one: bool | None) -> bool | None:
    """NOT."""
    return None if one is None else not one


def compared(comparator: str, one: Nullable, other: Nullable) -> bool | None:
    """A comparison; unknown with NULL, and for values of different kinds."""
    if one is None or other is None or kind(one) != kind(other):
        return None
    return COMPARE[comparator](one, other)


def aggregated(function: str, values: Sequence[Nullable]) -> Nullable:
    """An aggregate of the values that are not NULL; those of different kinds have no sum and no order."""
    there = [value for value in values if value is not None]
    if function == "COUNT":
        return len(there)
    if not there or len({kind(value) for value in there}) > 1:
        return None
    if function in ("MIN", "MAX"):
        ordered: list[Any] = list(there)
        return cast("Value", min(ordered) if function == "MIN" else max(ordered))
    if not _is_number(there[0]):
        return None
    total: Any = there[0]
    for value in there[1:]:
        total += value
    return _finite(lambda: total if function == "SUM" else total / len(there))


def _arithmetic(sign: str, one: Nullable, other: Nullable, reading: RowReading) -> Nullable:
    if sign == "||":
        return one + other if isinstance(one, str) and isinstance(other, str) else None
    if not (_is_number(one) and _is_number(other)):
        return None
    x: Any = one
    y: Any = other
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
            return int(abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1))
        case "/":
            return _finite(lambda: x / y)
        case _:  # % has the sign of the dividend
            return _finite(lambda: abs(x) % abs(y) * (-1 if x < 0 else 1) if whole else math.fmod(x, y))


def _finite(compute: Callable[[], Any]) -> Nullable:
    """A number; None where it is beyond a 64-bit float."""
    try:
        value: Value = compute()
    except (OverflowError, ValueError):
        return None
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _is_number(value: Nullable) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cast(value: Value, type_: rows.SqlType) -> Nullable:
    """A value as another type. A number with a fraction is rounded to a BIGINT, halves away from zero."""
    match type_:
        case "VARCHAR":
            if isinstance(value, bool):
                return str(value).lower()
            return show_time(value) if isinstance(value, datetime) else str(value)
        case "BOOLEAN":
            if isinstance(value, str):
                return TRUTH.get(value.strip().lower())
            return None if isinstance(value, datetime) else bool(value)
        case "TIMESTAMP":
            if isinstance(value, str):
                return _finite(lambda: parse_time(value))
            return value if isinstance(value, datetime) else None
        case "BIGINT" | "DOUBLE":
            if isinstance(value, datetime):
                return None
            number = float if type_ == "DOUBLE" else _rounded
            return _finite(lambda: number(value))
        case _:
            assert_never(type_)


def _rounded(value: Any) -> int:
    """Raises ValueError, OverflowError."""
    if isinstance(value, float):
        return int(Decimal(value).to_integral_value(ROUND_HALF_UP)) if math.isfinite(value) else int(value)
    return int(value)


def _like(value: Nullable, pattern: Nullable, escape: tuple[str, ...]) -> bool | None:
    if not (isinstance(value, str) and isinstance(pattern, str)):
        return None
    return _like_regex(pattern, escape).fullmatch(value) is not None


@cache
def _like_regex(pattern: str, escape: tuple[str, ...]) -> re.Pattern[str]:
    """The pattern as a regular expression, which takes no more steps than the lengths of pattern and text multiplied.

    What stands between two % is found where it comes first, and looked for nowhere else: a match there loses no other.
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
