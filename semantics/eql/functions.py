"""The functions and the arithmetic of EQL, as documented.

Each function takes the list of its arguments' values, and whether to ignore case. A function of null is null, unless
the documentation says otherwise. A value of a wrong kind gives null too, although Elastic refuses such a query: in an
index a field has one kind.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeAlias

from cerify.semantics.values import show_time

Function: TypeAlias = Callable[[list[Any], bool], Any]
LONGEST_TEXT = 1_000_000
BEYOND_CASED = 0x1F000
"""A code point above all letters that have a lower case."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@lru_cache(maxsize=100_000)
def fold(text: str) -> str:
    """Return the text in lower case, character by character, so that its length stays the same."""
    if text.isascii():
        return text.lower()
    return "".join(low if len(low := c.lower()) == 1 else c for c in text)


def same_folded(c: str) -> tuple[str, ...]:
    """Return the characters that `fold` maps to the same character as c, sorted. There may be three:

    >>> same_folded("k")
    ('K', 'k', '\u212a')
    """
    return _folded_to().get(fold(c), (c,))


@lru_cache(maxsize=1)
def _folded_to() -> Mapping[str, tuple[str, ...]]:
    """Return a map from each folded character to all characters that fold to it, itself included."""
    found: dict[str, list[str]] = {}
    for c in map(chr, range(BEYOND_CASED)):
        if len(low := c.lower()) == 1 and low != c:
            found.setdefault(low, []).append(c)
    return {low: tuple(sorted((low, *others))) for low, others in found.items()}


def _fold(text: str, folded: bool) -> str:
    return fold(text) if folded else text


def _arithmetic(compute: Callable[[Any, Any], Any]) -> Function:
    def function(values: list[Any], _: bool) -> Any:
        a, b = values
        if not (_is_number(a) and _is_number(b)):
            return None
        try:
            result = compute(a, b)
        except (ZeroDivisionError, OverflowError, ValueError):
            return None
        return None if isinstance(result, float) and math.isnan(result) else result

    return function


def _divided(a: Any, b: Any) -> Any:
    """Return the quotient; for two integers, truncated."""
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return a / b


def _remainder(a: Any, b: Any) -> Any:
    """Return the remainder, with the sign of the dividend."""
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) % abs(b) * (-1 if a < 0 else 1)
    return math.fmod(a, b)


ARITHMETIC: Mapping[str, Function] = {
    "+": _arithmetic(lambda a, b: a + b),
    "-": _arithmetic(lambda a, b: a - b),
    "*": _arithmetic(lambda a, b: a * b),
    "/": _arithmetic(_divided),
    "%": _arithmetic(_remainder),
}


def _texts(compute: Callable[[str, str], bool]) -> Function:
    def function(values: list[Any], folded: bool) -> bool | None:
        a, b = values
        return compute(_fold(a, folded), _fold(b, folded)) if isinstance(a, str) and isinstance(b, str) else None

    return function


def _between(values: list[Any], folded: bool) -> str | None:
    source, left, right, greedy = (*values, False)[:4]
    if not (isinstance(source, str) and isinstance(left, str) and isinstance(right, str)):
        return None
    text, left, right = _fold(source, folded), _fold(left, folded), _fold(right, folded)
    begin = text.find(left)
    if begin < 0:
        return ""
    begin += len(left)
    end = text.rfind(right, begin) if greedy is True else text.find(right, begin)
    return "" if end < 0 else source[begin:end]


@lru_cache(maxsize=4096)
def network_of(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """Return the address block that a text writes; None if the text is not an address block."""
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


@lru_cache(maxsize=65_536)
def address_of(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that a text writes; None if the text is not an address."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _in_block(values: list[Any], _: bool) -> bool | None:
    source, *blocks = values
    if any(value is None for value in values):
        return None
    address = address_of(source) if isinstance(source, str) else None
    if address is None:
        return False
    networks = [network_of(block) for block in blocks if isinstance(block, str)]
    return any(n is not None and n.version == address.version and address in n for n in networks)


def text_of_value(value: Any) -> str:
    """Return the text of a value, as EQL's function `string` returns it."""
    if isinstance(value, bool):
        return str(value).lower()
    return show_time(value) if isinstance(value, datetime) else str(value)


def _concat(values: list[Any], _: bool) -> str | None:
    if any(value is None for value in values):
        return None
    text = "".join(map(text_of_value, values))
    return text if len(text) <= LONGEST_TEXT else None


def _index_of(values: list[Any], folded: bool) -> int | None:
    source, part, start = (*values, 0)[:3]
    if not (isinstance(source, str) and isinstance(part, str) and isinstance(start, int)) or start > len(source):
        return None
    found = _fold(source, folded).find(_fold(part, folded), max(start, 0))
    return None if found < 0 else found


def _number(values: list[Any], _: bool) -> int | float | None:
    text, base = (*values, None)[:2]
    if _is_number(text):
        return text  # type: ignore[no-any-return]
    if not isinstance(text, str) or not (base is None or (isinstance(base, int) and 2 <= base <= 36)):
        return None
    text = text.strip()
    if len(text) > 300 or "_" in text:
        return None
    bare = text.lstrip("+-").lower()
    try:
        if bare.startswith("0x") and base in (None, 16):
            return int(text, 16)
        if base is not None and base != 10:
            return int(text, base)
        if re.fullmatch(r"[+-]?[0-9]+", text):
            return int(text)
        value = float(text) if re.fullmatch(r"[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?", text) else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _substring(values: list[Any], _: bool) -> str | None:
    source, start, end = (*values, None)[:3]
    if not isinstance(source, str) or type(start) is not int or (len(values) == 3 and type(end) is not int):
        return None
    return source[start:end]


BY_NAME: Mapping[str, Function] = {
    "add": ARITHMETIC["+"],
    "between": _between,
    "cidrMatch": _in_block,
    "concat": _concat,
    "divide": ARITHMETIC["/"],
    "endsWith": _texts(str.endswith),
    "indexOf": _index_of,
    "length": lambda values, _: len(values[0]) if isinstance(values[0], str) else None,
    "modulo": ARITHMETIC["%"],
    "multiply": ARITHMETIC["*"],
    "number": _number,
    "startsWith": _texts(str.startswith),
    "string": lambda values, _: None if values[0] is None else text_of_value(values[0]),
    "stringContains": _texts(lambda a, b: b != "" and b in a),
    "substring": _substring,
    "subtract": ARITHMETIC["-"],
}
