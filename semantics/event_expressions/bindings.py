"""What variables stand for: a correlation variable for a position, an attribute variable for a value."""

from __future__ import annotations

from typing import TypeAlias, cast

from cerify.semantics.event_expressions.syntax import Argument
from cerify.semantics.predicates import Constant
from cerify.semantics.values import Value, kind

Bound: TypeAlias = tuple[str, Value]
"""A position or a value with its kind, so that 1 and true are two."""

Bindings: TypeAlias = frozenset[tuple[str, Bound]]
NOTHING_BOUND: Bindings = frozenset()


def position(p: int) -> Bound:
    """What a correlation variable is bound to."""
    return "position", p


def value(v: Value) -> Bound:
    """What an attribute variable is bound to."""
    return kind(v), v


def bound(b: Bindings, name: str, to: Bound) -> Bindings:
    """The bindings with one name bound anew."""
    return frozenset(pair for pair in b if pair[0] != name) | {(name, to)}


def position_of(x: str, b: Bindings) -> int:
    """Where a correlation variable is."""
    return cast("int", dict(b)[x][1])


def value_of(argument: Argument, b: Bindings) -> Value | None:
    """The value of an argument; None if it is a variable that has none, and so is no constraint."""
    if isinstance(argument, Constant):
        return argument.value
    found = dict(b).get(argument)
    return None if found is None else found[1]
