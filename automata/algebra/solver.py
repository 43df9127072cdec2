"""Decide with z3 the tests that use arithmetic or compare attributes.

The solver tries every kind of value for each attribute: numbers, strings, times in microseconds, Booleans, and no
value. Without arithmetic a number is a point on a line, or NaN; with arithmetic it is a 64-bit integer or an IEEE 754
float. An event that the solver finds is checked by evaluation before it is used. A combination of tests that z3 cannot
express or decide counts as possible.
"""

from __future__ import annotations

import math
import re
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from itertools import islice, product
from typing import Any, Literal, NamedTuple, TypeAlias, assert_never

from cerify.automata.algebra.values import DEFAULT, pieces, tested_attribute
from cerify.semantics import predicates as pred
from cerify.semantics.arguments import check_time, time_left
from cerify.semantics.events import TIME
from cerify.semantics.packages import z3
from cerify.semantics.predicates import (
    Arithmetic,
    Comparison,
    InRange,
    Like,
    OfType,
    OneOf,
    combined,
    mentions,
    nodes,
    satisfied,
)
from cerify.semantics.values import EXACT, INT64, Value, ValueType, encodable, microseconds, time_at

Test: TypeAlias = OfType | Comparison | OneOf | InRange | Like
Values: TypeAlias = Mapping[str, Value | None]
Allowed: TypeAlias = Mapping[str, ValueType] | None
"""The attributes that an event may have, with their types; None if it may have any."""

OTHERS: tuple[Sort | None, ...] = ("string", "timestamp", "bool", None)
GUESSES = 500  # combinations of likely values that are tried before the solver
SHAPES = 300  # combinations of kinds that the solver decides
STEPS = 3_000_000  # of z3 for one question, about a second; a time limit would make answers depend on the machine


@dataclass(frozen=True)
class Solution:
    """The answer of `solve`: whether one event can give the tests the wanted results, with example values if some
    were found.
    """

    possible: bool
    values: Values | None = None


POSSIBLE = Solution(True)


def solve(tests: Mapping[Test, bool], allowed: Allowed, ask: bool = True) -> Solution:
    """Return whether one event can have the wanted results of these tests, with example values if some are found.

    If `ask` is false, only a few likely values are tried instead of the solver; if none fits, the answer is still
    "possible".
    """
    return _solve(tuple(tests.items()), allowed if allowed is None else tuple(allowed.items()), ask)


def fits(test: Test, tests: Mapping[Test, bool], allowed: Allowed) -> bool:
    """Return whether some value of the test's attribute gives all simple tests of that attribute the wanted results.

    A simple test compares one attribute with constants. If `test` is not simple, the answer is True.
    """
    name = tested_attribute(test)
    return name is None or bool(_fitting(name, tests, allowed))


@lru_cache(maxsize=10_000)  # the same tests recur for each type of event
def _solve(
    pairs: tuple[tuple[Test, bool], ...], allowed_: tuple[tuple[str, ValueType], ...] | None, ask: bool
) -> Solution:
    tests, allowed = dict(pairs), allowed_ if allowed_ is None else dict(allowed_)
    names = list(dict.fromkeys(a.name for test in tests for a in mentions(test)))
    fitting = {name: _fitting(name, tests, allowed) for name in names}
    if not all(fitting.values()):
        return Solution(False)
    likely = [[*values, *_plain((allowed or {}).get(name))] for name, values in fitting.items()]
    for guess in islice(product(*likely), GUESSES):
        if _right(values := dict(zip(names, guess, strict=True)), tests):
            return Solution(True, values)
    if not ask:
        return POSSIBLE
    calculated = [test for test in tests if any(isinstance(node, Arithmetic) for node in nodes(test))]
    compared = {a.name for t in tests if t not in calculated and tested_attribute(t) is None for a in mentions(t)}
    # An attribute in arithmetic that is not compared with others is a number: the guesses cover all other cases.
    guessed = math.prod(map(len, likely)) <= GUESSES
    kinds = [_kinds(name, allowed, not calculated, guessed and name not in compared) for name in names]
    return _possible(names, kinds, tests)


def _possible(names: Sequence[str], kinds: Sequence[Sequence[Sort | None]], tests: Mapping[Test, bool]) -> Solution:
    """Solve for one choice of kinds after another, and return the first solution. If there is none, the tests count as
    possible if some choice was too hard, or if there are too many choices.
    """

    unknown = False
    for count, shape in enumerate(product(*kinds)):
        if count >= SHAPES:
            return POSSIBLE
        check_time()
        try:
            found = _solve_tests(dict(zip(names, shape, strict=True)), tests)
        except TooHard:
            unknown = True
            continue
        if found is not None:
            return Solution(True, found)
    check_time()  # an "unknown" for lack of time must not be remembered as an answer
    return Solution(unknown)


def _right(values: Values, tests: Mapping[Test, bool]) -> bool:
    return all(satisfied(test, lambda a: values.get(a.name)) == wanted for test, wanted in tests.items())


def _may_have(name: str, allowed: Allowed) -> bool:
    return allowed is None or name in allowed or name == TIME


def _kinds(name: str, allowed: Allowed, ordered: bool, number: bool) -> tuple[Sort | None, ...]:
    """Return the kinds of value that an attribute may have.

    ordered: whether no test has arithmetic, so that a number is a point on a line. number: whether the attribute must
    be a number if there is arithmetic.
    """
    if not _may_have(name, allowed):
        return (None,)
    others: tuple[Sort | None, ...] = () if number and not ordered else OTHERS
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
    """Return values of the attribute that give its simple tests the wanted results; None stands for no value."""
    simple = {test: wanted for test, wanted in tests.items() if tested_attribute(test) == name}
    if not _may_have(name, allowed):
        return [] if any(simple.values()) else [None]
    cut = _pieces(tuple(simple), (allowed or {}).get(name))
    return [value for truth, value in cut.items() if truth == tuple(simple.values())]


_pieces = lru_cache(maxsize=1_000)(pieces)  # the same tests recur with other wanted results


def _plain(value_type: ValueType | None) -> list[Value | None]:
    """Return values that satisfy many tests, to be tried first."""
    match value_type:
        case "int":
            return [0, 1, -1, 2, None]
        case "float":
            return [0.0, 1.0, -1.0, 0.5, math.inf, math.nan, None]
        case None:
            return [0, 1, -1, 2, 0.5, math.inf, math.nan, None]
        case _:
            return [DEFAULT[value_type], None]


def _solve_tests(shape: Mapping[str, Sort | None], tests: Mapping[Test, bool]) -> Values | None:
    """Return values of these kinds with the wanted results of the tests; None if there are none. Raises TooHard."""

    solver = z3.Solver()
    solver.set("rlimit", STEPS)
    if (left := time_left()) < math.inf:
        solver.set("timeout", max(1, int(1000 * left)))
    variables = {name: variable(name, kind) for name, kind in shape.items() if kind is not None}
    symbols = {name: Symbol(shape[name], v, z3.BoolVal(True)) for name, v in variables.items()}  # type: ignore[arg-type]
    for test, wanted in tests.items():
        solver.add(formula(test, lambda a: symbols.get(a.name), lambda R: z3.BoolVal(False)) == wanted)
    answer = solver.check()  # without the bounds, z3 often sees faster that there is no solution
    bounded = [(v, BOUNDS[kind]) for name, v in variables.items() if (kind := shape[name]) in BOUNDS]
    if answer != z3.unsat and bounded:
        for expression, (low, high) in bounded:
            solver.add(expression >= low, expression <= high)
        answer = solver.check()
    if answer == z3.unsat:
        return None
    if answer == z3.sat:
        model = solver.model()
        values = {
            name: None if kind is None else value_of(model.evaluate(variables[name], model_completion=True), kind)
            for name, kind in shape.items()
        }
        if _right(values, tests):
            return values
    raise TooHard


# ---------------------------------------------------------------------------------------------------------------------
# Translate tuple predicates to formulas of z3, and values of z3 back.
#
# A term has one kind. Integers have 64 bits, floats are those of IEEE 754, and a number that is only compared may be a
# point of the line ("real") or not a number ("nan"). TooHard is raised for what z3 cannot express exactly: a pattern; a
# quotient of integers, unless a constant divides it and it is compared with a constant; an integer beside a float,
# unless it is compared with a constant.

Sort = Literal["int", "float", "real", "nan", "string", "timestamp", "bool"]
NUMBERS: frozenset[Sort] = frozenset({"int", "float", "real", "nan"})
MIRRORED: Mapping[pred.Comparator, pred.Comparator] = {
    "=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<=",
}  # fmt: skip
MAX_EXPONENT = sys.float_info.max_exp  # 2 to this power is too large for a float
LARGEST_FLOAT = sys.float_info.max
LARGEST_CHARACTER = 0x2FFFF  # in strings of z3


class TooHard(Exception):
    """Raised if z3 cannot express the tests exactly, or cannot decide them."""


BOUNDS: Mapping[Sort | None, tuple[int, int]] = {
    "int": (INT64[0], INT64[-1]),
    "timestamp": (microseconds(datetime.min), microseconds(datetime.max)),
}


class Symbol(NamedTuple):
    """A term for the solver: its kind, its expression, and the condition under which it has a value.

    If `divisor` is positive, the term is the integer expression divided by `divisor` and rounded to a float.
    """

    kind: Sort
    expression: Any
    defined: Any
    divisor: int = 0


def variable(name: str, kind: Sort) -> Any:
    """Return the z3 variable for an attribute whose values are of this kind."""
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
"""Returns the symbol of an attribute; None if the attribute has no value."""


def formula(predicate: pred.Predicate, lookup: Lookup, type_is: Callable[[str], Any]) -> Any:
    """Return a z3 formula that is true exactly where the predicate is satisfied (see `predicates.satisfied`). Raises
    TooHard.
    """
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
    """Return the term for the solver; None if the term never has a value."""
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
            # A quotient is kept as its numerator, which helps only in a comparison with a constant.
            if a.divisor or b.divisor:
                raise TooHard
            defined = z3.And(a.defined, b.defined)
            if left == right and symbol in ("-", "/"):
                return _of_itself(symbol, a, defined)
            match symbol, a.kind:
                case "/", "int":
                    return _quotient(a, b, defined)
                case "/", _:
                    defined = z3.And(defined, z3.Not(z3.fpIsZero(b.expression)))
                    return Symbol("float", a.expression / b.expression, defined)
                case "+", _:
                    return Symbol(a.kind, a.expression + b.expression, defined)
                case "-", _:
                    return Symbol(a.kind, a.expression - b.expression, defined)
                case _:
                    return Symbol(a.kind, a.expression * b.expression, defined)


def _of_itself(symbol: Literal["-", "/"], term: Symbol, defined: Any) -> Symbol:
    """Return 0 for `x - x` and 1 for `x / x`, because z3 is slow with arithmetic of floats.

    For infinity and NaN both results are NaN, and 0 / 0 has no value.
    """
    x = term.expression
    if term.kind in ("float", "nan"):
        odd = z3.Or(z3.fpIsNaN(x), z3.fpIsInf(x))
        result = z3.If(odd, z3.fpNaN(z3.Float64()), z3.FPVal(float(symbol == "/"), z3.Float64()))
        return Symbol("float", result, z3.And(defined, z3.Not(z3.fpIsZero(x))) if symbol == "/" else defined)
    if symbol == "/":
        return Symbol("float", z3.FPVal(1.0, z3.Float64()), z3.And(defined, x != 0))
    return Symbol(term.kind, x - x, defined)


def _quotient(a: Symbol, b: Symbol, defined: Any) -> Symbol | None:
    """Return an integer divided by a constant; None if the constant is 0. Raises TooHard if the divisor is not
    constant.
    """
    if not z3.is_int_value(b.expression):
        raise TooHard
    divisor = b.expression.as_long()
    if divisor == 0:
        return None
    expression = a.expression if divisor > 0 else -a.expression
    largest = _least(abs(divisor), lambda quotient: quotient == math.inf)
    return Symbol("float", expression, z3.And(defined, -largest < expression, expression < largest), abs(divisor))


def _divided(n: int, divisor: int) -> float:
    """Return n / divisor. A quotient too large for a float is returned as infinity, and counts as no value."""
    try:
        return n / divisor
    except OverflowError:
        return math.inf if n > 0 else -math.inf


def _least(divisor: int, reached: Callable[[float], bool]) -> int:
    """Return the least integer whose quotient by the divisor satisfies `reached`, a condition that all larger quotients
    then satisfy.
    """
    # The quotients of these are beyond all floats, so the answer lies between them.
    below, at = -divisor << MAX_EXPONENT, divisor << MAX_EXPONENT
    while at - below > 1:
        middle = (below + at) // 2
        if reached(_divided(middle, divisor)):
            at = middle
        else:
            below = middle
    return at


def _compared_quotient(comparator: pred.Comparator, left: Symbol, right: Symbol) -> Any:
    """Compare a quotient with a constant. The numerators for which the comparison is true form an interval, or the
    complement of an interval.
    """
    k: int | float
    if right.divisor:
        raise TooHard
    if z3.is_int_value(right.expression):
        k = right.expression.as_long()
    elif z3.is_fp_value(right.expression):
        k = _float(right.expression)
    else:
        raise TooHard
    if math.isnan(k):
        return z3.And(left.defined, right.defined, z3.BoolVal(comparator == "!="))
    n = left.expression
    at_least = n >= _least(left.divisor, lambda quotient: quotient >= k)
    above = n >= _least(left.divisor, lambda quotient: quotient > k)
    results = {
        "=": z3.And(at_least, z3.Not(above)),
        "!=": z3.Or(z3.Not(at_least), above),
        "<": z3.Not(at_least),
        ">": above,
        "<=": z3.Not(above),
        ">=": at_least,
    }
    return z3.And(left.defined, right.defined, results[comparator])


def constant(value: Value) -> Symbol:
    """Return the value as a z3 constant, with its kind. Raises TooHard for a text with characters that z3 lacks."""
    true = z3.BoolVal(True)
    match value:
        case bool():
            return Symbol("bool", z3.BoolVal(value), true)
        case int():
            return Symbol("int", z3.IntVal(value), true)
        case float():
            return Symbol("float", z3.FPVal(value, z3.Float64()), true)
        case str():
            if max(map(ord, value), default=0) > LARGEST_CHARACTER:
                raise TooHard
            return Symbol("string", z3.StringVal(value.replace("\\", r"\u{5c}")), true)  # \u{...} would be an escape
        case datetime():
            return Symbol("timestamp", z3.IntVal(microseconds(value)), true)


def _as_float(term: Symbol) -> Symbol:
    """Return a number as a float. Raises TooHard for an integer that may have no exact float."""
    if term.kind == "float":
        return term
    if not z3.is_int_value(term.expression) or abs(term.expression.as_long()) > EXACT:
        raise TooHard
    return Symbol("float", z3.FPVal(float(term.expression.as_long()), z3.Float64()), term.defined)


def _as_real(term: Symbol) -> Symbol:
    """Return a number as a real number. Raises TooHard for NaN and infinity."""
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
    """Return the comparison as a formula; it is false if a side has no value or the kinds differ (see
    `predicates.compare`).
    """
    if left is None or right is None:
        return z3.BoolVal(False)
    if right.divisor:
        left, right, comparator = right, left, MIRRORED[comparator]
    if left.kind != right.kind:
        if not {left.kind, right.kind} <= NUMBERS:
            return z3.BoolVal(False)
        if "nan" in (left.kind, right.kind):
            return z3.BoolVal(comparator == "!=")
        if left.divisor:
            return _compared_quotient(comparator, left, right)
        points = any(side.kind == "real" or z3.is_fp_value(side.expression) for side in (left, right))
        convert = _as_real if points else _as_float  # a constant float is a point of the line
        left, right = convert(left), convert(right)
    if left.divisor:
        return _compared_quotient(comparator, left, right)
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


def value_of(found: Any, kind: Sort) -> Value:
    """Convert a z3 value to a Python value. Raises TooHard for a text that UTF-8 cannot represent."""
    match kind:
        case "int":
            return int(found.as_long())
        case "timestamp":
            return time_at(found.as_long())
        case "bool":
            return bool(z3.is_true(found))
        case "string":
            text = re.sub(r"\\u\{(\w+)\}", lambda escape: chr(int(escape[1], 16)), found.as_string())
            if not encodable(text):
                raise TooHard
            return text
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
