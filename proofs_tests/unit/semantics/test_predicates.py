"""The definition of a predicate on one event, with every answer written down."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from random import Random

import pytest

from cerify.api import contained, equivalent
from cerify.automata.algebra.values import decidable
from cerify.equivalence.verdict import Contained, Different, Equivalent
from cerify.semantics import patterns
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import ParseError
from cerify.semantics.events import Event, Schema
from cerify.semantics.parsing import pattern_of_network
from cerify.semantics.patterns import Pattern, PatternError
from cerify.semantics.patterns import matches as matches_networks
from cerify.semantics.predicates import (
    Anything,
    Arithmetic,
    Attribute,
    Both,
    Comparison,
    Constant,
    Either,
    InRange,
    Like,
    Not,
    OfType,
    OneOf,
    Predicate,
    about,
    compare,
    evaluate,
    holds,
    mapped_predicate,
    matches,
    mentions,
    never_true,
)
from cerify.semantics.values import Value

# ---- predicates ----
#

X, Y = Attribute("x"), Attribute("y")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON.replace(hour=13)
EVENT = Event("A", {"x": 2, "y": 0.5, "s": "uv", "b": True, "t": NOON})
YES, NO = Comparison("=", X, Constant(2)), Comparison("=", X, Constant(3))


@pytest.mark.parametrize(
    ("left", "right", "true"),
    [
        (1, 2, "< <= !="), (2, 2, "<= >= ="), (3, 2, "> >= !="), (2, 2.0, "<= >= ="), (1.5, 2, "< <= !="),
        ("a", "b", "< <= !="), ("a", "a", "<= >= ="), ("", "a", "< <= !="), (NOON, LATER, "< <= !="),
        (NOON, NOON, "<= >= ="),
        (True, True, "="), (True, False, "!="), (False, True, "!="),
        (1, "1", ""), (1, True, ""), (True, 1, ""), (NOON, 1, ""), (None, 1, ""), (1, None, ""), (None, None, ""),
        (float("nan"), float("nan"), "!="), (float("inf"), 1, "> >= !="), (-0.0, 0, "<= >= ="),
        (2**53 + 1, 2.0**53, "> >= !="),
    ],
)  # fmt: skip
def test_comparisons(left: Value | None, right: Value | None, true: str) -> None:
    assert [sign for sign in ("<", "<=", ">", ">=", "=", "!=") if compare(sign, left, right)] == [  # type: ignore[arg-type]
        sign for sign in ("<", "<=", ">", ">=", "=", "!=") if sign in true.split()
    ]


@pytest.mark.parametrize(
    ("symbol", "left", "right", "value"),
    [
        ("+", 2, 3, 5), ("-", 2, 3, -1), ("*", 2, 3, 6), ("/", 3, 2, 1.5), ("/", 4, 2, 2.0), ("+", 0.5, 1, 1.5),
        ("/", 1, 0, None), ("+", "a", "b", None), ("+", True, 1, None), ("+", 1, True, None), ("-", None, 1, None),
        ("-", 1, None, None), ("*", NOON, 2, None), ("/", 10**400, 1, None),
    ],
)  # fmt: skip
def test_arithmetic(symbol: str, left: Value | None, right: Value | None, value: Value | None) -> None:
    values = {"x": left, "y": right}
    found = evaluate(Arithmetic(symbol, X, Y), lambda a: values[a.name])  # type: ignore[arg-type]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("predicate", "true"),
    [
        (Anything(), True),
        (OfType("A"), True), (OfType("B"), False),
        (OneOf(X, (1, 2)), True), (OneOf(X, (1, 3)), False), (OneOf(X, ("2",)), False),
        (OneOf(Attribute("z"), (1,)), False),
        (OneOf(X, ()), False),
        (InRange(X, 1, 3), True), (InRange(X, 2, 2), True), (InRange(X, 2.5, 3), False), (InRange(X, 0, 1), False),
        (InRange(X, "1", 3), False), (InRange(Attribute("t"), NOON, LATER), True),
        (Like(Attribute("s"), "u."), True), (Like(Attribute("s"), "u"), False), (Like(Attribute("s"), "v"), False),
        (Like(Attribute("s"), "u|uvw"), False), (Like(X, "2"), False), (Like(Attribute("z"), ".*"), False),
        (Not(YES), False), (Not(NO), True), (Not(Comparison("=", Attribute("z"), Constant(1))), True),
        (Both(YES, YES), True), (Both(YES, NO), False), (Both(NO, YES), False), (Both(NO, NO), False),
        (Either(YES, YES), True), (Either(YES, NO), True), (Either(NO, YES), True), (Either(NO, NO), False),
        (Comparison("<", Arithmetic("*", X, Y), Constant(2)), True),
        (Not(Both(OfType("A"), Not(OfType("B")))), False),
        (Either(OfType("B"), Both(OfType("A"), YES)), True),
    ],
)  # fmt: skip
def test_predicates(predicate: Predicate, true: bool) -> None:
    assert holds(predicate, EVENT) is true


def test_a_pattern_matches_the_whole_of_a_text_over_several_lines() -> None:
    assert matches("a.b", "a-b")
    assert not matches("a", "a\n")
    assert not matches("a|b", "ab")
    assert not matches("a", 1)
    assert not matches("a", None)


EVERYTHING = Both(
    Either(Not(Comparison("<", Arithmetic("+", X, Constant(1)), Y)), OneOf(X, (1, 2))),
    Both(InRange(Y, 1, 2), Both(Like(X, "u"), Both(Anything(), OfType("A")))),
)


def test_the_attributes_of_a_predicate_are_listed_left_to_right() -> None:
    assert list(mentions(EVERYTHING)) == [X, Y, X, Y, X]
    assert list(mentions(OfType("A"))) == []


def test_the_attributes_and_constants_of_a_predicate_are_replaced() -> None:
    BX, BY = Attribute("x", "B"), Attribute("y", "B")
    assert about(EVERYTHING, "B") == Both(
        Either(Not(Comparison("<", Arithmetic("+", BX, Constant(1)), BY)), OneOf(BX, (1, 2))),
        Both(InRange(BY, 1, 2), Both(Like(BX, "u"), Both(Anything(), OfType("A")))),
    )
    assert about(about(EVERYTHING, "B"), None) == EVERYTHING
    assert mapped_predicate(EVERYTHING, value=lambda v: str(v)) == Both(
        Either(Not(Comparison("<", Arithmetic("+", X, Constant("1")), Y)), OneOf(X, ("1", "2"))),
        Both(InRange(Y, "1", "2"), Both(Like(X, "u"), Both(Anything(), OfType("A")))),
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Constant(1), Constant(True)), (Constant(1), Constant(1.0)), (OneOf(X, (1,)), OneOf(X, (True,))),
        (InRange(X, 0, 1), InRange(X, 0, 1.0)), (InRange(X, 0, 1), InRange(X, False, 1)),
        (OneOf(X, (1,)), OneOf(Y, (1,))),
        (InRange(X, 0, 1), InRange(Y, 0, 1)),
    ],
)  # fmt: skip
def test_constants_of_other_types_are_other_constants(one: object, other: object) -> None:
    assert one != other
    assert len({one, other}) == 2


def test_what_is_true_of_every_event_is_no_problem_and_what_no_type_can_make_true_is() -> None:
    schema = Schema({"A": {"x": "int"}, "B": {"y": "int"}})
    held = frozenset({"A", "B"})
    assert list(never_true("v", Anything(), held, schema, None, held)) == []
    assert list(never_true("v", OfType("A"), held, schema, None)) == []
    both = Both(Comparison("=", Attribute("x"), Constant(1)), Comparison("=", Attribute("y"), Constant(1)))
    (problem,) = never_true("v", both, held, schema, None)
    assert problem.message == "this is never true for the types that v may hold: A has x; B has y"


# ---- patterns ----
# Patterns of `like` whose meaning is written down: matches, and why a text is no pattern.

PLAIN = "invalid escape sequence: \\x{110000}"


@pytest.mark.parametrize(
    ("pattern", "matched", "others"),
    [
        ("a", ["a"], ["", "aa", "b"]),
        ("a|bc", ["a", "bc"], ["ac", "abc"]),
        ("a*b+c?", ["b", "aabbc"], ["", "ac", "bcc"]),
        ("a{2}", ["aa"], ["a", "aaa"]),
        ("a{2,}", ["aa", "aaa"], ["a"]),
        ("a{1,2}", ["a", "aa"], ["", "aaa"]),
        ("[a-c]", ["a", "c"], ["d", "-"]),
        ("[^a-c]", ["d", "\n"], ["a", "c"]),
        (r"\x{10FFFF}", ["\U0010ffff"], ["a"]),
        (r"\x41\101", ["AA"], ["A"]),
        (".", ["a", "é"], ["\n", "ab"]),
        ("(?s).", ["\n"], [""]),
        ("(?i)ab", ["AB", "aB"], ["ac"]),
        (r"\d\s\w", ["1 a"], ["a a", "1aa", "1 -"]),
        (r"\D\S\W", ["ab-"], ["1b-", "a -", "abc"]),
    ],
)
def test_a_pattern_matches_a_text_as_a_whole(pattern: str, matched: list[str], others: list[str]) -> None:
    assert all(patterns.matches(pattern, text) for text in matched)
    assert not any(patterns.matches(pattern, text) for text in others)
    assert patterns.flaw(pattern) is None
    assert not patterns.matches(pattern, 7)


def test_the_largest_code_point_is_the_last_that_an_escape_names() -> None:
    with pytest.raises(PatternError, match="invalid escape sequence"):
        Pattern(r"\x{110000}")


def test_re2_says_what_is_wrong_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert patterns.flaw("(?P<a>x") == "missing ): (?P<a>x"  # not covered in plain Python
    assert patterns.flaw("a**") == "bad repetition operator: **"
    monkeypatch.setattr(patterns, "installed", lambda name: False)
    assert patterns.flaw(r"\x{110000}") == PLAIN
    assert patterns.flaw("(?P<a>x") == "missing ): (?P<a>x"


# ---- networks ----
# Ranges of addresses as patterns.


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
            assert matches_networks(pattern, str(ip_address(number))) == (ip_address(number) in network)


RANGES = (
    "fe80::/10", "::1", "ff00::/8", "2001:db8::/32", "2001:db8:0:1::/64", "::/0", "::/96", "::ffff:10.0.0.0/104",
    "64:ff9b::/96", "1:0:0:2::3", "::8/125", "2001::/23",
)  # fmt: skip


@pytest.mark.parametrize("text", RANGES)
@pytest.mark.slow
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
    assert not matches_networks(pattern_of_network("0.0.0.0/0"), text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("10.1.2.3/8", "10.1.2.3/8 has host bits set"),
        ("10.0.0.0/33", "not a range of addresses such as '10.0.0.0/8'"),
        ("intranet", "not a range of addresses"),
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
