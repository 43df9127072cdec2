"""What Python may give for the value of an attribute, and the value that is taken for it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cerify.semantics.errors import InputError

if TYPE_CHECKING:
    from cerify.semantics.events import Value

PLAIN = frozenset({bool, int, float})
"""Classes whose instances are values, whichever they are."""


def value_of(value: object, where: str) -> Value:
    """The value of an attribute, at home in one of our types; where says whose. Raises InputError."""
    if hasattr(value, "dtype") and hasattr(value, "item"):
        value = value.item()  # a scalar of NumPy
    match value:
        case bool() | int() | float():
            return value
        case str() if encodable(value):
            return value
        case datetime():
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value
        case str():
            raise InputError(f"{where}: {value!r} is no text in Unicode")
        case _:
            raise InputError(
                f"{where}: a value of type {type(value).__name__}; "
                "an attribute is an int, float, string, bool or timestamp, so convert it or leave it out"
            )


def encodable(text: str) -> bool:
    """Whether the text has no half of a surrogate pair, which no file and no Arrow column can hold."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
