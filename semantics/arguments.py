"""Checks of the arguments of public functions: an argument of a wrong kind is an IllFormed that names it."""

from __future__ import annotations

from numbers import Integral, Real
from reprlib import repr as shortened
from types import UnionType

from cerify.semantics.errors import IllFormed


def require_kind(name: str, value: object, kind: type | UnionType, wanted: str) -> None:
    """Raises IllFormed unless the value is of the kind; wanted names it, as in "a cerify.Budget"."""
    if not isinstance(value, kind):
        raise IllFormed(f"{name}: expected {wanted}, not {shortened(value)}")


def require_whole(name: str, value: object, least: int = 0) -> None:
    """Raises IllFormed unless the value is a whole number, and at least this."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise IllFormed(f"{name}: expected a whole number from {least} on, not {shortened(value)}")


def require_seconds(name: str, value: object) -> None:
    """Raises IllFormed unless the value is a number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0:
        raise IllFormed(f"{name}: expected a number from 0 on, not {shortened(value)}")
