"""Ranges of IPv4 addresses as regular expressions of the texts of their addresses.

An attribute has an address as a text. So `x in cidr('10.0.0.0/8')` is a pattern, and whatever carries patterns carries
it: evaluators of columns, the predicate algebra and the deciders. An address is four numbers from 0 to 255 in decimal,
without leading zeros; other texts are in no range. The texts of IPv6 addresses are not unique, and make patterns that
are too large to be decided: ranges of these are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Network, ip_network

ANY = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"


@lru_cache(maxsize=256)
def pattern_of_network(text: str) -> str:
    """Return the regular expression (RE2 syntax) of the addresses in a range, such as 10.0.0.0/8.

    Raises ValueError, with a sentence for its message, for a text that is no range of IPv4 addresses.

    >>> pattern_of_network("10.1.2.0/31")
    '10[.]1[.]2[.](?:[0-1])'
    """
    try:
        network = ip_network(text)
    except ValueError as error:
        raise ValueError(f"no range of addresses such as '10.0.0.0/8': {error}") from None
    if not isinstance(network, IPv4Network):
        raise ValueError("ranges of IPv6 addresses are not supported: an address of IPv6 has several texts")
    first, last = network.network_address.packed, network.broadcast_address.packed
    return "[.]".join(_number(low, high) for low, high in zip(first, last, strict=True))


def _number(low: int, high: int) -> str:
    """The pattern of the decimal texts of the numbers of a range."""
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
