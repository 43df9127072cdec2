"""Conditions: each a function of the events that steps have taken, and the Python source of that function."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from operator import eq, ge, gt, le, lt, ne
from typing import Any

Json = Mapping[str, Any]
Taken = Mapping[str, Any]
"""Maps the name of a step to its event, and the name of a closure to its list of events."""
COMPARE = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


@dataclass(frozen=True)
class Code:
    """An expression as Python source, and the function that evaluates it. No text of a query is executed."""

    source: str
    value: Callable[[Taken], Any]


def constant(value: Any) -> Code:
    """Return code for a constant."""
    return Code(repr(value), lambda taken: value)


def value_of_name(name: str) -> Code:
    """Return code that reads the value of this name."""
    return Code(name, lambda taken: taken[name])


def attribute(event: Code, name: str) -> Code:
    """Return the attribute of an event; None if it is absent."""
    return Code(f"{event.source}.get({name!r})", lambda taken: event.value(taken).get(name))


def call(function: Callable[..., Any], *arguments: Code) -> Code:
    """Return code for a call of the function."""
    source = f"{function.__name__}({', '.join(one.source for one in arguments)})"
    return Code(source, lambda taken: function(*(one.value(taken) for one in arguments)))


def both(left: Code, right: Code) -> Code:
    """Return code for the conjunction."""
    return Code(f"({left.source} and {right.source})", lambda taken: left.value(taken) and right.value(taken))


def either(left: Code, right: Code) -> Code:
    """Return code for the disjunction."""
    return Code(f"({left.source} or {right.source})", lambda taken: left.value(taken) or right.value(taken))


def complement(test: Code) -> Code:
    """Return code for the negation."""
    return Code(f"(not {test.source})", lambda taken: not test.value(taken))


def every(test: Code, ranges: Mapping[str, Code]) -> Code:
    """Return code that tests a condition for every choice of values from the ranges. Each value has the name of its
    range.
    """
    if not ranges:
        return test
    loops = " ".join(f"for {name} in {values.source}" for name, values in ranges.items())

    def value(taken: Taken) -> bool:
        choices = product(*(values.value(taken) for values in ranges.values()))
        return all(test.value({**taken, **dict(zip(ranges, choice))}) for choice in choices)

    return Code(f"all({test.source} {loops})", value)


def compare(left: Any, comparator: str, right: Any) -> bool:
    """Return whether a comparison is true. It is false for an absent value, values of two kinds, or an order of
    Booleans.
    """
    if left is None or right is None or _kind(left) != _kind(right):
        return False
    if isinstance(left, bool) and comparator not in ("=", "!="):
        return False
    return COMPARE[comparator](left, right)


def _kind(value: Any) -> str:
    return "bool" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "string"


def one_of(value: Any, values: Sequence[Any]) -> bool:
    """Return whether a value is one of these."""
    return any(compare(value, "=", other) for other in values)


def events(*taken: Any) -> list[Json]:
    """Return the events of steps as one list. A closure has a list of events; a step has one event."""
    return [event for some in taken for event in (some if isinstance(some, list) else [some])]


def at(some: Sequence[Json], place: int) -> Json:
    """Return the event at a place, counted from the end if negative; if there is none, an event without attributes."""
    return some[place] if len(some) >= abs(place) else {}


def beginnings(some: Sequence[Json], least: int) -> list[Sequence[Json]]:
    """Return the prefixes of `some` that have at least `least` events."""
    return [some[:n] for n in range(least, len(some) + 1)]


def agree(some: Sequence[Json], name: str) -> bool:
    """Return whether each event has the same value as the event before it."""
    return all(compare(one.get(name), "=", other.get(name)) for one, other in pairwise(some))


FUNCTIONS = {one.__name__: one for one in (compare, one_of, events, at, beginnings, agree)}


def predicate(tree: Json, value: Callable[[Json], Code]) -> Code:
    """Return a predicate on single events as code. value: makes code for an attribute or a reference.

    Raises ValueError for other predicates.
    """

    def term(side: str) -> Code:
        found = tree[side]
        return constant(found["value"]) if found["node"] == "Constant" else value(found)

    def below(side: str) -> Code:
        return predicate(tree[side], value)

    match tree["node"]:
        case "Comparison":
            return call(compare, term("left"), constant(tree["comparator"]), term("right"))
        case "OneOf":
            return call(one_of, term("term"), constant(tree["values"]))
        case "InRange":
            low = call(compare, constant(tree["low"]), constant("<="), term("term"))
            return both(low, call(compare, term("term"), constant("<="), constant(tree["high"])))
        case "Complement":
            return complement(below("predicate"))
        case "Both":
            return both(below("left"), below("right"))
        case "Either":
            return either(below("left"), below("right"))
        case "Anything":
            return constant(True)
    raise ValueError(f"there is no condition for {tree['node']}")
