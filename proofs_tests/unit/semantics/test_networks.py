"""Ranges of addresses as patterns."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
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


@pytest.mark.parametrize("text", ["10.0.0.01", "10.0.0", "10.0.0.256", "10.0.0.1.1", " 10.0.0.1", "", "x"])
def test_what_is_no_address_is_in_no_range(text: str) -> None:
    assert not matches(pattern_of_network("0.0.0.0/0"), text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("10.1.2.3/8", "10.1.2.3/8 has host bits set"),
        ("10.0.0.0/33", "no range of addresses such as '10.0.0.0/8'"),
        ("intranet", "no range of addresses"),
        ("fe80::/10", "ranges of IPv6 addresses are not supported"),
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
