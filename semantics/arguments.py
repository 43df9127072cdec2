"""Checks of the arguments of public functions: an argument of a wrong kind is an IllFormed that names it."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from numbers import Integral, Real
from types import UnionType
from typing import Any

from cerify.semantics.errors import IllFormed

LANGUAGE_ARGUMENT = r'language="([^"]+)"'
"""How messages name the argument for a language; the command line and the playground put their own way there."""


MOST = 10**18
"""The largest number that an argument may be which limits something: one more still fits where Python counts."""


def short_repr(value: object) -> str:
    """The repr of a value, cut to what a message can hold."""
    try:
        return reprlib.repr(value)
    except ValueError:  # Python writes no number of more digits
        return f"one of more than {sys.get_int_max_str_digits()} digits"


def require_kind(name: str, value: object, kind: type | UnionType, wanted: str) -> None:
    """Raises IllFormed unless the value is of the kind; wanted names it, as in "a cerify.Budget"."""
    if not isinstance(value, kind):
        raise IllFormed(f"{name}: expected {wanted}, not {short_repr(value)}")


def require_whole(name: str, value: object, least: int = 0) -> None:
    """Raises IllFormed unless the value is a whole number, at least this, and at most MOST."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise IllFormed(f"{name}: expected a whole number from {least} on, not {short_repr(value)}")
    if int(value) > MOST:
        raise IllFormed(f"{name}: expected at most 10**18, not {short_repr(value)}")


def require_seconds(name: str, value: object) -> None:
    """Raises IllFormed unless the value is a number from 0 on that a float can have."""
    try:
        if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0:
            raise IllFormed(f"{name}: expected a number from 0 on, not {short_repr(value)}")
    except OverflowError:
        raise IllFormed(f"{name}: expected a number that fits in a float, not {short_repr(value)}") from None


def require_keywords(function: Callable[..., Any], given: Iterable[str], options: type) -> None:
    """Raises IllFormed for a name that is neither a keyword argument of the function nor a field of the TypedDict.

    The name that is most like it is in the message.
    """
    names = {*(function.__kwdefaults__ or ()), *options.__annotations__}
    for name in given:
        if name not in names:
            meant = did_you_mean(name, names) or f"; it has {', '.join(sorted(names))}"
            raise IllFormed(f"{function.__name__} has no argument {name!r}{meant}")


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that is most like this one, if any is; one that begins with another letter has to be more like it."""
    near = get_close_matches(name, list(names), 1)
    alike = near if near and near[0][:1] == name[:1] else get_close_matches(name, near, 1, 0.75)  # not "id" for "kind"
    return next(iter(alike), None)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The end of a message: "; did you mean", and the name that is most like this one; "" if none is."""
    near = nearest(name, names)
    return "" if near is None else f"; did you mean {near!r}?"


def listed(names: Collection[str]) -> str:
    """The names for a message: the first ten, and how many there are; in quotes where one has blanks at its ends."""
    first = list(names)[:10]
    few = ", ".join(map(repr, first) if any(name != name.strip() for name in first) else first) or "none"
    return few if len(names) <= 10 else f"{few}, ... ({len(names)} in all)"
