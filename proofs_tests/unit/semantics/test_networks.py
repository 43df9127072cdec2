"""Ranges of addresses as patterns."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from random import Random

import pytest

from cerify.api import contained, equivalent
from cerify.automata.algebra.values import decidable
from cerify.equivalence.verdict import Contained, Different, Equivalent
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import ParseError
from cerify.semantics.networks import pattern_of_network
from cerify.semantics.patterns import matches


@pytest.mark.parametrize("bits", range(33))
def test_a_range_has_its_addresses_and_no_others(bits: int) -> None:
    rng = Random(bits)
    network = ip_network((rng.getrandbits(32), bits), strict=False)
    pattern = pattern_of_network(str(network))
    assert decidable(pattern)
    first, last = int(network.network_address), int(network.broadcast_address)
    inside = [first, last, *(rng.randint(first, last) for _ in range(20))]
    for number in (*inside, first - 1, last + 1, *(rng.getrandbits(32) for _ in range(20))):
        if 0 <= number < 2**32:
            assert matches(pattern, str(ip_address(number))) == (ip_address(number) in network)


RANGES = (
    "fe80::/10", "::1", "ff00::/8", "2001:db8::/32", "2001:db8:0:1::/64", "::/0", "::/96", "::ffff:10.0.0.0/104",
    "64:ff9b::/96", "1:0:0:2::3", "::8/125", "2001::/23",
)  # fmt: skip


@pytest.mark.parametrize("text", RANGES)
def test_a_range_has_all_texts_of_its_ipv6_addresses(text: str) -> None:
    rng, network, pattern = Random(text), IPv6Network(text), pattern_of_network(text)
    assert decidable(pattern)
    first, last = int(network.network_address), int(network.broadcast_address)
    near = [first, last, max(first - 1, 0), min(last + 1, 2**128 - 1), rng.randint(first, last)]
    sparse = [sum(rng.choice((0, 0, 1, 0xFE80)) << 16 * i for i in range(8)) for _ in range(20)]
    for address in map(IPv6Address, (*near, *sparse)):
        for written, dotted in ipv6_texts(address, rng):
            assert IPv6Address(written) == address
            read = not dotted or (network.prefixlen >= 96 and any(network.network_address.packed[:12]))
            assert matches(pattern, written) == (read and address in network), written


def ipv6_texts(address: IPv6Address, rng: Random) -> Iterator[tuple[str, bool]]:
    """Texts of an address, with :: at each place, and whether their end is dotted."""
    groups = [int(address) >> 16 * (7 - i) & 0xFFFF for i in range(8)]
    digits = [rng.choice((f"{g:x}", f"{g:04x}", f"{g:X}")) for g in groups]
    for parts, dotted in ((digits, False), ([*digits[:6], str(IPv4Address(int(address) & 0xFFFFFFFF))], True)):
        yield ":".join(parts), dotted
        for i in range(8 - 2 * dotted):
            for k in range(i + 1, 9 - 2 * dotted):
                if not any(groups[i:k]):
                    yield f"{':'.join(parts[:i])}::{':'.join(parts[k:])}", dotted


@pytest.mark.parametrize(
    "text", ["", ":", "1::2::3", "12345::", "::g", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8::", "::1%eth0"]
)
def test_what_is_no_ipv6_address_is_in_no_range(text: str) -> None:
    assert not matches(pattern_of_network("::/0"), text)


@pytest.mark.parametrize("text", ["10.0.0.01", "10.0.0", "10.0.0.256", "10.0.0.1.1", " 10.0.0.1", "", "x"])
def test_what_is_no_address_is_in_no_range(text: str) -> None:
    assert not matches(pattern_of_network("0.0.0.0/0"), text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("10.1.2.3/8", "10.1.2.3/8 has host bits set"),
        ("10.0.0.0/33", "no range of addresses such as '10.0.0.0/8'"),
        ("intranet", "no range of addresses"),
        ("fe80::1/10", "fe80::1/10 has host bits set"),
    ],
)
def test_a_malformed_range_is_an_error_with_its_place(text: str, reason: str) -> None:
    query = f"A[ip in cidr('{text}')]"
    with pytest.raises(ParseError, match=reason) as error:
        parse(query)
    assert error.value.span is not None
    assert query[error.value.span.start : error.value.span.end] == f"'{text}'"


def test_ranges_are_compared_exactly() -> None:
    whole, part = "A[ip in cidr('10.0.0.0/8')]", "A[ip in cidr('10.0.0.0/9')]"
    assert isinstance(contained(part, whole), Contained)
    assert isinstance(contained(whole, part), Different)
    halves = "A[ip in cidr('10.0.0.0/9') or ip in cidr('10.128.0.0/9')]"
    assert isinstance(equivalent(halves, whole), Equivalent)
    local, wider = "A[not (ip in cidr('::1') or ip in cidr('fe80::/10'))]", "A[not ip in cidr('fe80::/9')]"
    assert isinstance(contained(wider.replace("fe80::/9", "::/0"), local), Contained)
    assert isinstance(contained(wider, local), Different)
