"""All small core-CEL formulas, and random larger ones, with streams to hold them against."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random

from cerify.semantics.core_cel import syntax as core
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import Attribute, Comparison, Constant

WRAPPERS = (core.CorePlus, core.CoreStrict, core.CoreNext, core.CoreLast, core.CoreMax)


def about(x: str, value: int) -> core.Atom:
    return core.Unary(x, Comparison("=", Attribute("a"), Constant(value)))


def equal(x: str, y: str) -> core.Atom:
    return core.CoreCorrelated(Comparison("=", Attribute("a", x), Attribute("a", y)))


@cache
def of_size(n: int) -> tuple[core.Formula, ...]:
    """All formulas of n nodes over the types A, B and the variables x, y, with three filters."""
    if n == 1:
        return tuple(core.CoreEventAtom(R, x) for R in "AB" for x in "xy")
    found: list[core.Formula] = []
    for psi in of_size(n - 1):
        found.extend(wrapper(psi) for wrapper in WRAPPERS)
        found.extend(core.CoreFilter(psi, atom) for atom in (about("x", 1), about("y", 0), equal("x", "y")))
    for left_size in range(1, n - 1):
        for left in of_size(left_size):
            for right in of_size(n - 1 - left_size):
                found += [core.CoreOr(left, right), core.CoreSeq(left, right)]
    return tuple(found)


def condition(random: Random, depth: int = 2) -> core.Condition:
    match random.randrange(4 if depth else 2):
        case 0:
            return about(random.choice("xyz"), random.randrange(2))
        case 1:
            x, y = random.sample("xyz", 2)
            return equal(x, y)
        case 2:
            return core.CoreConjunction(condition(random, depth - 1), condition(random, depth - 1))
        case _:
            return core.CoreDisjunction(condition(random, depth - 1), condition(random, depth - 1))


def formula(random: Random, nodes: int) -> core.Formula:
    """A random formula with that many operators and event types."""
    if nodes == 1:
        return core.CoreEventAtom(random.choice("AB"), random.choice("xyz"))
    if nodes > 2 and random.random() < 0.5:
        left = random.randrange(1, nodes - 1)
        binary = core.CoreSeq if random.random() < 0.7 else core.CoreOr
        return binary(formula(random, left), formula(random, nodes - 1 - left))
    psi = formula(random, nodes - 1)
    match random.randrange(3):
        case 0:
            return core.CoreFilter(psi, condition(random))
        case 1:
            return core.CorePlus(psi)
        case _:
            return random.choice(WRAPPERS)(psi)


def stream_of(random: Random, length: int) -> Stream:
    return Stream(Event(random.choice("AB"), {"a": random.randrange(2)}) for _ in range(length))


def cases(seed: int, count: int) -> Iterator[tuple[core.Formula, Stream]]:
    """Random formulas, each with a random stream of up to four events."""
    random = Random(seed)
    for _ in range(count):
        yield formula(random, random.randrange(3, 10)), stream_of(random, random.randrange(5))
