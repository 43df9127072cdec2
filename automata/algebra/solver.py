"""Tests that are not simple, decided by a solver: arithmetic, and comparisons between attributes.

Each kind of value is tried for each attribute: numbers, strings, times in microseconds, booleans, and no value at all.
Where there is no arithmetic a number is a point of a line, or not a number; where there is, it is an integer in 64 bits
or a float as in IEEE 754. What the solver says is possible is evaluated before it is believed; what it cannot tell, or
cannot be told (a quotient of integers, a pattern, an integer beside a float), is kept as possible.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from itertools import islice, product
from typing import Any, Literal, NamedTuple, TypeAlias, assert_never

from cerify.automata.algebra.values import DEFAULT, LARGEST_INT, pieces, tested_attribute
from cerify.semantics.events import TIME, Value, ValueType
from cerify.semantics.predicates import (
    Arithmetic,
    Attribute,
    Comparator,
    Comparison,
    Constant,
    InRange,
    Like,
    OfType,
    OneOf,
    Term,
    mentions,
    satisfied,
)

Test: TypeAlias = OfType | Comparison | OneOf | InRange | Like
Values: TypeAlias = Mapping[str, Value | None]
Allowed: TypeAlias = Mapping[str, ValueType] | None
"""The attributes that an event may have, with their types; None if it may have any."""

Kind = Literal["int", "float", "real", "nan", "string", "timestamp", "bool"]
OTHERS: tuple[Kind | None, ...] = ("string", "timestamp", "bool", None)
NUMBERS: tuple[Kind, ...] = ("int", "float", "real", "nan")
GUESSES = 500  # combinations of likely values that are tried before the solver is asked
SHAPES = 300  # combinations of kinds that the solver is asked about
MILLISECONDS = 250  # for one question
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LARGEST_FLOAT = sys.float_info.max
TRUSTED = 2**53  # integers up to here are floats exactly


def _microseconds(time: datetime) -> int:
    return (time.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


BOUNDS: Mapping[Kind | None, tuple[int, int]] = {
    "int": (-LARGEST_INT, LARGEST_INT),
    "timestamp": (_microseconds(datetime.min), _microseconds(datetime.max)),
}


@dataclass(frozen=True)
class Solution:
    """Whether the tests may come out as asked, and values with which they do, if some were found."""

    possible: bool
    values: Values | None = None


POSSIBLE = Solution(True)


class _TooHard(Exception):
    """The solver cannot be told this exactly."""


class _Term(NamedTuple):
    """A term's kind, its expression, and when it has a value."""

    kind: Kind
    expression: Any
    defined: Any


def solve(tests: Mapping[Test, bool], allowed: Allowed) -> Solution:
    """Whether one event can pass and fail these tests as asked, with values that do so if some are found."""
    return _solve(tuple(tests.items()), allowed if allowed is None else tuple(allowed.items()))


@lru_cache(maxsize=10_000)  # the same tests are asked about for each type of event
def _solve(asked: tuple[tuple[Test, bool], ...], allowed_: tuple[tuple[str, ValueType], ...] | None) -> Solution:
    tests, allowed = dict(asked), allowed_ if allowed_ is None else dict(allowed_)
    names = list(dict.fromkeys(a.name for test in tests for a in mentions(test)))
    fitting = {name: _fitting(name, tests, allowed) for name in names}
    if not all(fitting.values()):
        return Solution(False)
    likely = [[*values, *_plain((allowed or {}).get(name))] for name, values in fitting.items()]
    for guess in islice(product(*likely), GUESSES):
        if _right(values := dict(zip(names, guess, strict=True)), tests):
            return Solution(True, values)
    calculated = [test for test in tests if any(isinstance(term, Arithmetic) for term in _sides(test))]
    compared = {a.name for t in tests if t not in calculated and tested_attribute(t) is None for a in mentions(t)}
    # An attribute that is calculated with and not compared to others is a number, or one of the guesses was right.
    guessed = math.prod(map(len, likely)) <= GUESSES
    kinds = [_kinds(name, allowed, not calculated, guessed and name not in compared) for name in names]
    unknown = False
    for count, shape in enumerate(product(*kinds)):
        if count >= SHAPES:
            return POSSIBLE
        try:
            found = _asked(dict(zip(names, shape, strict=True)), tests)
        except _TooHard:
            unknown = True
            continue
        if found is not None:
            return Solution(True, found)
    return Solution(unknown)


def _right(values: Values, tests: Mapping[Test, bool]) -> bool:
    return all(satisfied(test, lambda a: values.get(a.name)) == wanted for test, wanted in tests.items())


def _may_have(name: str, allowed: Allowed) -> bool:
    return allowed is None or name in allowed or name == TIME


def _sides(test: Test) -> tuple[Term, ...]:
    match test:
        case Comparison(_, left, right):
            return left, right
        case OneOf(term, _) | InRange(term, _, _) | Like(term, _):
            return (term,)
        case OfType():
            return ()
        case _:
            assert_never(test)


def _kinds(name: str, allowed: Allowed, ordered: bool, number: bool) -> tuple[Kind | None, ...]:
    """The kinds of value that an attribute may have; ordered if numbers are only compared, number if it is one."""
    if not _may_have(name, allowed):
        return (None,)
    others: tuple[Kind | None, ...] = () if number and not ordered else OTHERS
    match None if allowed is None else allowed.get(name):
        case "int":
            return ("int", *others[-1:])
        case "float":
            return ("real", "nan", None) if ordered else ("float", *others[-1:])
        case None:
            return ("real", "nan", *OTHERS) if ordered else ("int", "float", *others)
        case value_type:
            return (value_type, None)


def _fitting(name: str, tests: Mapping[Test, bool], allowed: Allowed) -> list[Value | None]:
    """Values that pass and fail the simple tests of the attribute as asked: none if no value does."""
    simple = {test: wanted for test, wanted in tests.items() if tested_attribute(test) == name}
    if not _may_have(name, allowed):
        return [] if any(simple.values()) else [None]
    cut = pieces(tuple(simple), (allowed or {}).get(name))
    return [value for truth, value in cut.items() if truth == tuple(simple.values())]


def _plain(value_type: ValueType | None) -> list[Value | None]:
    """Values that are often right."""
    match value_type:
        case "int":
            return [0, 1, -1, 2, None]
        case "float":
            return [0.0, 1.0, -1.0, 0.5, math.inf, math.nan, None]
        case None:
            return [0, 1, -1, 2, 0.5, math.inf, math.nan, None]
        case _:
            return [DEFAULT[value_type], None]


def _asked(shape: Mapping[str, Kind | None], tests: Mapping[Test, bool]) -> Values | None:
    """Values of these kinds with which the tests come out as asked; None if there are none. Raises _TooHard."""
    import z3

    solver = z3.Solver()
    solver.set("timeout", MILLISECONDS)
    variables = {name: _variable(name, kind) for name, kind in shape.items() if kind is not None}
    terms = {name: _Term(shape[name], variable, z3.BoolVal(True)) for name, variable in variables.items()}  # type: ignore[arg-type]
    for test, wanted in tests.items():
        solver.add(_test(test, terms) == wanted)
    if solver.check() == z3.unsat:  # without the bounds that is often quicker to see
        return None
    for name, variable in variables.items():
        if (bounds := BOUNDS.get(shape[name])) is not None:
            solver.add(variable >= bounds[0], variable <= bounds[1])
    answer = solver.check()
    if answer == z3.unsat:
        return None
    if answer == z3.sat:
        model = solver.model()
        values = {
            name: None if kind is None else _value(model.eval(variables[name], model_completion=True), kind)
            for name, kind in shape.items()
        }
        if _right(values, tests):
            return values
    raise _TooHard


def _variable(name: str, kind: Kind) -> Any:
    import z3

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


def _test(test: Test, terms: Mapping[str, _Term]) -> Any:
    import z3

    match test:
        case Comparison(comparator, left, right):
            return _comparison(comparator, _term(left, terms), _term(right, terms))
        case OneOf(term, values):
            t = _term(term, terms)
            return z3.Or([_comparison("=", t, _constant(value)) for value in values])
        case InRange(term, low, high):
            t = _term(term, terms)
            return z3.And(_comparison("<=", _constant(low), t), _comparison("<=", t, _constant(high)))
        case _:
            raise _TooHard


def _term(term: Term, terms: Mapping[str, _Term]) -> _Term | None:
    """The term for the solver, None if it has no value."""
    import z3

    match term:
        case Attribute(name):
            return terms.get(name)
        case Constant(value):
            return _constant(value)
        case Arithmetic(symbol, left, right):
            a, b = _term(left, terms), _term(right, terms)
            if a is None or b is None or not {a.kind, b.kind} <= set(NUMBERS):
                return None
            if a.kind != b.kind:
                a, b = _as_float(a), _as_float(b)
            defined = z3.And(a.defined, b.defined)
            match symbol, a.kind:
                case "/", "int":
                    raise _TooHard
                case "/", _:
                    defined = z3.And(defined, z3.Not(z3.fpIsZero(b.expression)))
                    return _Term("float", a.expression / b.expression, defined)
                case "+", _:
                    return _Term(a.kind, a.expression + b.expression, defined)
                case "-", _:
                    return _Term(a.kind, a.expression - b.expression, defined)
                case _:
                    return _Term(a.kind, a.expression * b.expression, defined)


def _constant(value: Value) -> _Term:
    import z3

    true = z3.BoolVal(True)
    match value:
        case bool():
            return _Term("bool", z3.BoolVal(value), true)
        case int():
            return _Term("int", z3.IntVal(value), true)
        case float():
            return _Term("float", z3.FPVal(value, z3.Float64()), true)
        case str():
            return _Term("string", z3.StringVal(value), true)
        case datetime():
            return _Term("timestamp", z3.IntVal(_microseconds(value)), true)


def _as_float(term: _Term) -> _Term:
    """A number as a float, if it is known to be one exactly."""
    import z3

    if term.kind == "float":
        return term
    if not z3.is_int_value(term.expression) or abs(term.expression.as_long()) > TRUSTED:
        raise _TooHard
    return _Term("float", z3.FPVal(float(term.expression.as_long()), z3.Float64()), term.defined)


def _as_real(term: _Term) -> _Term:
    """A number as a point of the line."""
    import z3

    match term.kind:
        case "real":
            return term
        case "int":
            return _Term("real", z3.ToReal(term.expression), term.defined)
        case _:
            value = _float(term.expression)
            if not math.isfinite(value):
                raise _TooHard
            return _Term("real", z3.RealVal(Fraction(value)), term.defined)


def _comparison(comparator: Comparator, left: _Term | None, right: _Term | None) -> Any:
    """The comparison; false where a side has no value or they are of different kinds (predicates.compare)."""
    import z3

    if left is None or right is None:
        return z3.BoolVal(False)
    if left.kind != right.kind:
        if not {left.kind, right.kind} <= set(NUMBERS):
            return z3.BoolVal(False)
        if "nan" in (left.kind, right.kind):
            return z3.BoolVal(comparator == "!=")
        convert = _as_real if "real" in (left.kind, right.kind) else _as_float
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


def _value(found: Any, kind: Kind) -> Value:
    """A value of the solver's as one of ours."""
    import z3

    match kind:
        case "int":
            return int(found.as_long())
        case "timestamp":
            return EPOCH + timedelta(microseconds=found.as_long())
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
    import z3

    if found.isNaN():
        return math.nan
    bits = z3.simplify(z3.fpToIEEEBV(found)).as_long()
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])
