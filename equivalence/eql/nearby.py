"""Find values that the tests of a field distinguish: constants, their neighbours, and texts that match patterns."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, combinations, islice, pairwise, product
from typing import Any, TypeAlias, assert_never

from cerify.automata.algebra.values import decidable, samples_of_strings
from cerify.equivalence.eql.texts import language_of, samples_of
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import condition_test
from cerify.semantics.eql.functions import fold, network_of, same_folded
from cerify.semantics.events import Event
from cerify.semantics.patterns import (
    Characters,
    Node,
    PatternError,
    RegexChoice,
    RegexConcatenation,
    RegexRepeat,
    RegexTest,
    differing_texts,
    matches,
    parse,
)
from cerify.semantics.trees import subtrees
from cerify.semantics.values import Value

MOST_SPLIT = 60  # another text is inserted into a text after at most so many characters
MOST_PAIRS = 20  # pairs of regular expressions of a field, for which texts are sought that only one of them matches
Block: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


def values_near(tests: Iterable[eql.Condition]) -> Iterator[Value]:
    """Yield distinct values on both sides of each point where the result of a test changes."""
    seen: dict[tuple[type, Value], None] = {}
    for value in _all_near(list(tests)):
        if (type(value), value) not in seen:
            seen[type(value), value] = None
            yield value


def _all_near(tests: list[eql.Condition]) -> Iterator[Value]:
    constants: list[Any] = []
    for test in tests:
        for node in subtrees(test):
            if isinstance(node, eql.FieldConstant):
                constants.append(node.value)
            elif isinstance(node, eql.ValueLookup):
                constants += node.values
    texts = [c for c in constants if isinstance(c, str)]
    numbers = sorted({c for c in constants if isinstance(c, int | float) and not isinstance(c, bool)})
    written = {
        constant.value
        for test in tests
        for node in subtrees(test)
        if isinstance(node, eql.FunctionCall) and node.name == "cidrMatch"
        for constant in node.arguments[1:]
        if isinstance(constant, eql.FieldConstant) and isinstance(constant.value, str)
    }
    blocks = [network for text in sorted(written) if (network := network_of(text)) is not None]
    if blocks:
        yield from ("8.8.8.8", "2001:4860:4860::8888", *_addresses(blocks, set(texts)))
        yield from (address for block in blocks for address in _with_its_first_letters(block))
    yield from (c for c in constants if isinstance(c, str | int | float) and not _is_wild(c))
    for number in numbers:
        yield from (number - 1, number + 1, number + 0.5, number - 0.5)
        if isinstance(number, float) and math.isfinite(number):
            yield from (math.floor(number), math.ceil(number))
    yield from ((a + b) / 2 for a, b in pairwise(numbers))
    yield from ("q", "other", "", 0, 1, True, False)
    patterns = {
        f"(?i:{pattern})" if test.operator == "regex~" else pattern
        for test in tests
        if isinstance(test, eql.ValueLookup) and test.operator in ("regex", "regex~")
        for pattern in test.values
        if isinstance(pattern, str)
    }
    for pattern in sorted(patterns):
        if decidable(pattern):
            yield from islice(samples_of_strings((), (pattern,)), 20)
        with suppress(PatternError):
            yield _sample(parse(pattern))
    for pair in islice(combinations(sorted(patterns), 2), MOST_PAIRS):
        with suppress(PatternError):
            yield from filter(None, differing_texts(*pair))
    for pattern in sorted(patterns):
        with suppress(PatternError):
            yield from _texts_of_both(pattern, [test for test in tests if language_of(test)])
    for test in tests:
        yield from islice(samples_of(language_of(test) or ()), 200)
    for text in texts:
        yield from (text.upper(), text.lower(), text.replace("*", "q").replace("?", "q"), text + "q", "q" + text)
    for test in tests:
        for node in subtrees(test):
            if isinstance(node, eql.FunctionCall) and node.name == "length":
                yield from ("q" * n for number in numbers for n in (int(number), int(number) + 1) if 0 <= n < 10_000)


def sample_text(pattern: str, n: int) -> str:
    """Return a text that a regular expression should match; another text for each n, if possible. Raises PatternError.

    >>> sample_text("[a-z]+[.]exe", 0), sample_text("[a-z]+[.]exe", 2)
    ('a.exe', 'ccc.exe')
    """
    return _sample(parse(pattern), n)


def _sample(node: Node, n: int = 0) -> str:
    """Return a text that a regular expression matches if its assertions are ignored. n: the number of the text."""
    match node:
        case Characters(ranges):
            low, high = ranges[0] if ranges else (0, 0)
            first = max(low, min(high, ord("a")))
            return chr(first + n % min(high - first + 1, 26))
        case RegexConcatenation(parts):
            return "".join(_sample(part, n) for part in parts)
        case RegexChoice(parts):
            return _sample(parts[0], n)
        case RegexRepeat(part, least, most):
            return _sample(part, n) * min(least + (n if most is None else min(n, most - least)), 1_000)
        case RegexTest():
            return ""
        case _:
            assert_never(node)


def _texts_of_both(pattern: str, others: Iterable[eql.Condition]) -> Iterator[str]:
    """Yield texts that a regular expression and another test accept: a text of one with a text of the other inside."""
    text = _sample(parse(pattern))
    for test in islice(others, MOST_PAIRS):
        accepts = condition_test(test)
        field = next(iter(eql.fields_of(test)))
        inner = dict.fromkeys(islice(samples_of(language_of(test) or ()), 2))
        near = (f"{text[:i]}{other}{text[i:]}" for other in inner for i in range(min(len(text), MOST_SPLIT) + 1))
        accepted = (one for one in near if accepts(Event("", {field.name: one})) is True)
        yield from islice((one for one in accepted if matches(pattern, one)), 2)


def _is_wild(value: object) -> bool:
    return isinstance(value, str) and ("*" in value or "?" in value)


def _addresses(blocks: list[Block], constants: set[str]) -> Iterator[str]:
    """Yield a text for each set of tests for address blocks and single texts that one text can pass.

    These are an address for each set of blocks, another spelling of each constant, and a text that is not an address.
    The constants themselves are left out.
    """
    folded = {fold(text) for text in constants}
    for kind, size in ((ipaddress.IPv4Address, 2**32), (ipaddress.IPv6Address, 2**128)):
        mine = [block for block in blocks if type(block.network_address) is kind]
        bounds = {0, size, *(int(b[0]) for b in mine), *(int(b[-1]) + 1 for b in mine)}
        for first, end in pairwise(sorted(bounds) if mine else ()):
            near = range(first, min(end, first + len(folded) + 1))
            spelled = chain.from_iterable(_spellings(kind(n), len(folded)) for n in near)
            yield from islice((text for text in spelled if fold(text) not in folded), 1)
    for text in sorted(constants):
        cases = map("".join, product(*map(same_folded, text)))
        yield from islice((other for other in cases if other not in constants), 1)
    yield "q" * (1 + max(map(len, constants)))


def _with_its_first_letters(block: Block) -> Iterator[str]:
    """Yield an address outside a block whose text begins like the block's, such as 100.1.1.1 for 10.0.0.0/8."""
    octets = str(block.network_address).split(".")[: block.prefixlen // 8]
    if block.version == 4 and octets and int(octets[-1]) in range(1, 26):
        yield ".".join([*octets[:-1], f"{octets[-1]}0", *["1"] * (4 - len(octets))])


def _spellings(address: ipaddress.IPv4Address | ipaddress.IPv6Address, others: int) -> Iterator[str]:
    """Yield different spellings of an address, the usual one first; for IPv6 more spellings than `others`."""
    yield str(address)
    if address.version == 6:
        yield address.exploded
        yield from (f"{address}%{n}" for n in range(others))
