"""Tuple predicates as formulas of a solver: the terms, the tests, and values back again.

A term has one kind; integers are those of 64 bits, floats are those of IEEE 754, and a number that is only ever
compared may be a point of the line ("real"), or not a number ("nan"). What z3 cannot express exactly is
TooHard: a quotient of integers, a pattern, an integer beside a float, unless it is compared with a constant.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeAlias, assert_never

import z3

from cerify.semantics import predicates as pred
from cerify.semantics.predicates import combined
from cerify.semantics.values import EXACT, INT64, Value, microseconds, time_at

Kind = Literal["int", "float", "real", "nan", "string", "timestamp", "bool"]
NUMBERS: frozenset[Kind] = frozenset({"int", "float", "real", "nan"})
LARGEST_FLOAT = sys.float_info.max


class TooHard(Exception):
    """z3 cannot express this exactly."""


BOUNDS: Mapping[Kind | None, tuple[int, int]] = {
    "int": (INT64[0], INT64[-1]),
    "timestamp": (microseconds(datetime.min), microseconds(datetime.max)),
}


class Symbol(NamedTuple):
    """A term as the solver knows it: its kind, its expression, and when it has a value."""

    kind: Kind
    expression: Any
    defined: Any


def variable(name: str, kind: Kind) -> Any:
    match kind:
        case "int" | "timestamp":
            return z3.Int(name)
        case "real":
            return z3.Real(name)
        case "float":
            return z3.FP(name, z3.Float64())
        case "nan":
            return z3.fpNaN(z3.Float64())
        case "string":
            return z3.String(name)
        case "bool":
            return z3.Bool(name)


Lookup: TypeAlias = Callable[[pred.Attribute], Symbol | None]
"""What stands for an attribute; None where it has no value."""


def formula(predicate: pred.Predicate, lookup: Lookup, type_is: Callable[[str], Any]) -> Any:
    """The predicate as a formula, true exactly where it is satisfied (predicates.satisfied). Raises TooHard."""
    return combined(predicate, lambda atom: _atom(atom, lookup, type_is), z3.Not, z3.And, z3.Or)


def _atom(atom: pred.Atomic, lookup: Lookup, type_is: Callable[[str], Any]) -> Any:
    match atom:
        case pred.Anything():
            return z3.BoolVal(True)
        case pred.OfType(R):
            return type_is(R)
        case pred.Comparison(comparator, left, right):
            return compared(comparator, _term(left, lookup), _term(right, lookup))
        case pred.OneOf(term, values):
            t = _term(term, lookup)
            return z3.Or([compared("=", t, constant(value)) for value in values])
        case pred.InRange(term, low, high):
            t = _term(term, lookup)
            return z3.And(compared("<=", constant(low), t), compared("<=", t, constant(high)))
        case pred.Like():
            raise TooHard
        case _:
            assert_never(atom)


def _term(term: pred.Term, lookup: Lookup) -> Symbol | None:
    """The term for the solver, None if it has no value."""
    match term:
        case pred.Attribute():
            return lookup(term)
        case pred.Constant(value):
            return constant(value)
        case pred.Arithmetic(symbol, left, right):
            a, b = _term(left, lookup), _term(right, lookup)
            if a is None or b is None or not {a.kind, b.kind} <= NUMBERS:
                return None
            if a.kind != b.kind:
                a, b = _as_float(a), _as_float(b)
            defined = z3.And(a.defined, b.defined)
            match symbol, a.kind:
                case "/", "int":
                    raise TooHard
                case "/", _:
                    defined = z3.And(defined, z3.Not(z3.fpIsZero(b.expression)))
                    return Symbol("float", a.expression / b.expression, defined)
                case "+", _:
                    return Symbol(a.kind, a.expression + b.expression, defined)
                case "-", _:
                    return Symbol(a.kind, a.expression - b.expression, defined)
                case _:
                    return Symbol(a.kind, a.expression * b.expression, defined)


def constant(value: Value) -> Symbol:
    true = z3.BoolVal(True)
    match value:
        case bool():
            return Symbol("bool", z3.BoolVal(value), true)
        case int():
            return Symbol("int", z3.IntVal(value), true)
        case float():
            return Symbol("float", z3.FPVal(value, z3.Float64()), true)
        case str():
            return Symbol("string", z3.StringVal(value), true)
        case datetime():
            return Symbol("timestamp", z3.IntVal(microseconds(value)), true)


def _as_float(term: Symbol) -> Symbol:
    """A number as a float, if it is exactly one."""
    if term.kind == "float":
        return term
    if not z3.is_int_value(term.expression) or abs(term.expression.as_long()) > EXACT:
        raise TooHard
    return Symbol("float", z3.FPVal(float(term.expression.as_long()), z3.Float64()), term.defined)


def _as_real(term: Symbol) -> Symbol:
    """A number as a point of the line."""
    match term.kind:
        case "real":
            return term
        case "int":
            return Symbol("real", z3.ToReal(term.expression), term.defined)
        case _:
            value = _float(term.expression)
            if not math.isfinite(value):
                raise TooHard
            return Symbol("real", z3.RealVal(Fraction(value)), term.defined)


def compared(comparator: pred.Comparator, left: Symbol | None, right: Symbol | None) -> Any:
    """The comparison; false where a side has no value or they are of different kinds (predicates.compare)."""
    if left is None or right is None:
        return z3.BoolVal(False)
    if left.kind != right.kind:
        if not {left.kind, right.kind} <= NUMBERS:
            return z3.BoolVal(False)
        if "nan" in (left.kind, right.kind):
            return z3.BoolVal(comparator == "!=")
        points = any(side.kind == "real" or z3.is_fp_value(side.expression) for side in (left, right))
        convert = _as_real if points else _as_float  # a constant float is a point of the line
        left, right = convert(left), convert(right)
    a, b = left.expression, right.expression
    if left.kind == "bool" and comparator not in ("=", "!="):
        return z3.BoolVal(False)
    equal = z3.fpEQ(a, b) if left.kind in ("float", "nan") else a == b
    match comparator:
        case "=":
            result = equal
        case "!=":
            result = z3.Not(equal)
        case "<":
            result = a < b
        case ">":
            result = b < a
        case "<=":
            result = z3.Or(a < b, equal)
        case ">=":
            result = z3.Or(b < a, equal)
    return z3.And(left.defined, right.defined, result)


def value_of(found: Any, kind: Kind) -> Value:
    """A value of the solver's as one of ours."""
    match kind:
        case "int":
            return int(found.as_long())
        case "timestamp":
            return time_at(found.as_long())
        case "bool":
            return bool(z3.is_true(found))
        case "string":
            return str(found.as_string())
        case "real":
            exact = Fraction(found.numerator_as_long(), found.denominator_as_long())
            return float(exact) if abs(exact) < LARGEST_FLOAT else math.copysign(math.inf, exact)
        case "float":
            return _float(found)
        case "nan":
            return math.nan


def _float(found: Any) -> float:
    if found.isNaN():
        return math.nan
    bits = z3.simplify(z3.fpToIEEEBV(found)).as_long()
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])
