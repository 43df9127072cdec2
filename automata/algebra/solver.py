"""Tests that z3 decides: arithmetic, and comparisons between attributes.

Each kind of value is tried for each attribute: numbers, strings, times in microseconds, booleans, and no value at all.
Without arithmetic a number is a point of a line, or not a number; with it, an integer in 64 bits or a float as in IEEE
754. An event that the solver finds is evaluated before it is used; what it cannot decide, or what symbolic.py cannot
express, counts as possible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product
from typing import TYPE_CHECKING, TypeAlias

from cerify.automata.algebra.values import DEFAULT, pieces, tested_attribute
from cerify.semantics.budget import check_time, time_left
from cerify.semantics.events import TIME
from cerify.semantics.packages import z3
from cerify.semantics.predicates import Arithmetic, Comparison, InRange, Like, OfType, OneOf, mentions, nodes, satisfied
from cerify.semantics.values import Value, ValueType

if TYPE_CHECKING:
    from cerify.automata.algebra.symbolic import Sort

Test: TypeAlias = OfType | Comparison | OneOf | InRange | Like
Values: TypeAlias = Mapping[str, Value | None]
Allowed: TypeAlias = Mapping[str, ValueType] | None
"""The attributes that an event may have, with their types; None if it may have any."""

OTHERS: tuple[Sort | None, ...] = ("string", "timestamp", "bool", None)
GUESSES = 500  # combinations of likely values that are tried before the solver
SHAPES = 300  # combinations of kinds that the solver decides
STEPS = 3_000_000  # of z3 for one question, a second; a limit of time would make the answer depend on the machine


@dataclass(frozen=True)
class Solution:
    """Whether the tests may have the wanted results, and values with which they do, if some were found."""

    possible: bool
    values: Values | None = None


POSSIBLE = Solution(True)


def solve(tests: Mapping[Test, bool], allowed: Allowed, ask: bool = True) -> Solution:
    """Whether one event can have the wanted results of these tests, with values that do if some are found.

    Without asking the solver only a few likely values are tried; what they do not show is possible.
    """
    return _solve(tuple(tests.items()), allowed if allowed is None else tuple(allowed.items()), ask)


def fits(test: Test, tests: Mapping[Test, bool], allowed: Allowed) -> bool:
    """Whether some value has the wanted results of the simple tests of the attribute that a test is about.

    True also where the test is not simple, or the answer is not known.
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
    # An attribute that is calculated with and not compared to others is a number, or one of the guesses was right.
    guessed = math.prod(map(len, likely)) <= GUESSES
    kinds = [_kinds(name, allowed, not calculated, guessed and name not in compared) for name in names]
    return _possible(names, kinds, tests)


def _possible(names: Sequence[str], kinds: Sequence[Sequence[Sort | None]], tests: Mapping[Test, bool]) -> Solution:
    """What the solver says of each choice of kinds."""
    from cerify.automata.algebra.symbolic import TooHard

    unknown = False
    for count, shape in enumerate(product(*kinds)):
        if count >= SHAPES:
            return POSSIBLE
        check_time()
        try:
            found = _asked(dict(zip(names, shape, strict=True)), tests)
        except TooHard:
            unknown = True
            continue
        if found is not None:
            return Solution(True, found)
    check_time()  # "unknown" for want of time is no answer, and must not be remembered as one
    return Solution(unknown)


def _right(values: Values, tests: Mapping[Test, bool]) -> bool:
    return all(satisfied(test, lambda a: values.get(a.name)) == wanted for test, wanted in tests.items())


def _may_have(name: str, allowed: Allowed) -> bool:
    return allowed is None or name in allowed or name == TIME


def _kinds(name: str, allowed: Allowed, ordered: bool, number: bool) -> tuple[Sort | None, ...]:
    """The kinds of value that an attribute may have; ordered if numbers are only compared, number if it is one."""
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
    """Values with the wanted results of the simple tests of the attribute: none if no value has them."""
    simple = {test: wanted for test, wanted in tests.items() if tested_attribute(test) == name}
    if not _may_have(name, allowed):
        return [] if any(simple.values()) else [None]
    cut = _pieces(tuple(simple), (allowed or {}).get(name))
    return [value for truth, value in cut.items() if truth == tuple(simple.values())]


_pieces = lru_cache(maxsize=1_000)(pieces)  # the same tests, each time with other results that are wanted


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


def _asked(shape: Mapping[str, Sort | None], tests: Mapping[Test, bool]) -> Values | None:
    """Values of these kinds with the wanted results of the tests; None if there are none. Raises TooHard."""

    from cerify.automata.algebra.symbolic import BOUNDS, Symbol, TooHard, formula, value_of, variable

    solver = z3.Solver()
    solver.set("rlimit", STEPS)
    if (left := time_left()) < math.inf:
        solver.set("timeout", max(1, int(1000 * left)))
    variables = {name: variable(name, kind) for name, kind in shape.items() if kind is not None}
    symbols = {name: Symbol(shape[name], v, z3.BoolVal(True)) for name, v in variables.items()}  # type: ignore[arg-type]
    for test, wanted in tests.items():
        solver.add(formula(test, lambda a: symbols.get(a.name), lambda R: z3.BoolVal(False)) == wanted)
    answer = solver.check()  # without the bounds it is often quicker to see that there are none
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
