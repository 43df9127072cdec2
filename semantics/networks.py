"""Ranges of IP addresses as regular expressions that match the texts of the addresses.

An attribute has an address as a text. So `x in cidr('10.0.0.0/8')` is a pattern, and all code that handles patterns
handles it: evaluators of columns, the predicate algebra and the deciders. An address of IPv4 is four numbers from 0 to
255 in decimal, without leading zeros. An address of IPv6 has several texts, and the pattern matches all of them: digits
of both cases, leading zeros, and `::` for any groups of zeros (RFC 4291, section 2.2). A dotted end, as in
::ffff:10.0.0.1, is matched only if the first 96 bits are fixed and not all zero, as in ::ffff:0:0/96. Other texts are
in no range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from ipaddress import IPv4Network, ip_network
from typing import TypeAlias

ANY = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
DIGIT, GROUP = "[0-9A-Fa-f]", "[0-9A-Fa-f]{1,4}"

Interval: TypeAlias = tuple[int, int]
WHOLE: Interval = (0, 0xFFFF)


@lru_cache(maxsize=256)
def pattern_of_network(text: str) -> str:
    """Return the regular expression (RE2 syntax) of the addresses in a range, such as 10.0.0.0/8 or fe80::/10.

    Raises ValueError, with a sentence for its message, for a text that is not a range of addresses.

    >>> pattern_of_network("10.1.2.0/31")
    '10[.]1[.]2[.](?:[0-1])'
    """
    try:
        network = ip_network(text)
    except ValueError as error:
        raise ValueError(f"not a range of addresses such as '10.0.0.0/8': {error}") from None
    first, last = network.network_address.packed, network.broadcast_address.packed
    dotted = "[.]".join(_number(low, high) for low, high in zip(first[-4:], last[-4:], strict=True))
    if isinstance(network, IPv4Network):
        return dotted
    groups = [(int.from_bytes(first[i : i + 2]), int.from_bytes(last[i : i + 2])) for i in range(0, 16, 2)]
    if network.prefixlen < 96 or not any(first[:12]):
        return _addresses(groups, "")
    return f"(?:{_addresses(groups, '')}|{_addresses(groups[:6], f':{dotted}')})"


# --- IPv4 -------------------------------------------------------------------------------------------------------------


def _number(low: int, high: int) -> str:
    """Return a pattern for the decimal numbers from low to high."""
    if low == high:
        return str(low)
    if (low, high) == (0, 255):
        return ANY
    return f"(?:{'|'.join(_tens(low, high))})"


def _tens(low: int, high: int) -> Iterator[str]:
    for tens in range(low // 10, high // 10 + 1):
        first, last = max(low, 10 * tens) % 10, min(high, 10 * tens + 9) % 10
        digit = str(first) if first == last else f"[{first}-{last}]"
        yield f"{tens or ''}{digit}"


# --- IPv6 -------------------------------------------------------------------------------------------------------------


def _addresses(groups: Sequence[Interval], end: str, i: int = 0) -> str:
    """Return a pattern for the groups from index i on, in which `::` may replace zeros, followed by the end."""
    plain = _group(groups[i]) + (f":{_addresses(groups, end, i + 1)}" if i + 1 < len(groups) else end)
    if groups[i][0] > 0:
        return plain
    zeros = next((k for k in range(i, len(groups)) if groups[k][0] > 0), len(groups))
    return f"(?:{plain}|{':' if i else '::'}{_after_zeros(groups[i + 1 : zeros], groups[zeros:], end)})"


def _after_zeros(optional: Sequence[Interval], rest: Sequence[Interval], end: str) -> str:
    """Return a pattern for the part after `::`: any number of the optional groups, then the rest."""
    if rest or end:
        return _last_of(optional) + ":".join(map(_group, rest)) + (end if rest else end.removeprefix(":"))
    return f"(?:{_last_of(optional[:-1])}{_group(optional[-1])})?" if optional else ""


def _last_of(groups: Sequence[Interval]) -> str:
    """Return a pattern for the last k groups, for any k, each with a colon after it."""
    if len({*groups}) == 1:
        return f"(?:{_group(groups[0])}:){{0,{len(groups)}}}"
    return reduce(lambda text, group: f"(?:{text}{_group(group)}:)?", groups, "")


@lru_cache(maxsize=256)
def _group(interval: Interval) -> str:
    """Return a pattern for the hexadecimal numbers from low to high, which share their first digits."""
    low, high = interval
    if interval == WHOLE:
        return GROUP
    ways = []
    for digits in (1, 2, 3, 4):  # numbers with this many digits
        least, most = max(low, 16 ** (digits - 1) if digits > 1 else 0), min(high, 16**digits - 1)
        if least <= most:
            zeros = f"0{{0,{4 - digits}}}" if digits < 4 else ""
            ways.append(zeros + _digits(f"{least:0{digits}x}", f"{most:0{digits}x}"))
    return ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"


def _digits(low: str, high: str) -> str:
    """Return a pattern for numbers of one length: the first digits are fixed, one is in a range, the rest are free."""
    text = ""
    for a, b in zip(low, high, strict=True):
        between = "0123456789abcdef"[int(a, 16) : int(b, 16) + 1]
        both = between + "".join(d.upper() for d in between if d.isalpha())
        text += DIGIT if len(between) == 16 else between if len(both) == 1 else f"[{both}]"
    return text
