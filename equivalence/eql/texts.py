"""Find values that the tests of a field distinguish, above all texts that match some patterns and not others.

Patterns are constants, wildcards, prefixes, suffixes and substrings of EQL. A pattern is a row of pieces: sets of
characters, any character, or any text. All patterns are followed at the same time, breadth first. So the first text
that is found is a shortest one, and if no text is found, there is none.
"""

from __future__ import annotations

import ipaddress
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations, islice, pairwise, product
from typing import Any, Final, TypeAlias, assert_never

from cerify.automata.algebra.values import decidable, samples_of_strings
from cerify.semantics.arguments import check_time
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import condition_test, fold, network_of, same_folded
from cerify.semantics.events import Event
from cerify.semantics.patterns import (
    LAST,
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

ANY: Final = "*"  # any text, also none
ONE: Final = "?"  # any one character
Piece: TypeAlias = tuple[str, ...] | str
"""The characters that fit at a place, or ANY, or ONE."""
Pattern: TypeAlias = tuple[Piece, ...]
Language: TypeAlias = tuple[Pattern, ...]
"""The texts that match one of the patterns."""
LONGEST = 40  # if there are other tests, texts of each length up to this are tried
MOST_CHARACTERS, MOST_TIMES, MOST_ROWS = 64, 4, 64  # limits for a regular expression that is written as patterns
EVERY_CHARACTER = ((0, LAST),)
FRESH = "qzjxk0123456789"


class TooManyTexts(Exception):
    """Raised if the search was given up, so that it is unknown whether such a text exists."""


def exact(text: str, folded: bool) -> Pattern:
    """Return the pattern of one text. folded: whether the pattern also matches the texts that differ only in case."""
    return tuple(same_folded(c) if folded else (c,) for c in text)


def wild(text: str, folded: bool) -> Pattern:
    """Return the pattern of a text with wildcards."""
    return tuple(c if c in (ANY, ONE) else same_folded(c) if folded else (c,) for c in text)


def language_of(test: eql.Condition) -> Language | None:
    """Return the texts of a field for which a test of that field alone is true; None for other tests."""
    match test:
        case eql.FieldComparison("==", eql.EventField(), eql.FieldConstant(str() as text)):
            return (exact(text, False),)
        case eql.ValueLookup("in" | "in~" as operator, eql.EventField(), values):
            return tuple(exact(v, operator == "in~") for v in values if isinstance(v, str))
        case eql.ValueLookup(":" | "like" | "like~" as operator, eql.EventField(), values):
            return tuple(wild(v, operator != "like") for v in values if isinstance(v, str))
        case eql.ValueLookup("regex" | "regex~" as operator, eql.EventField(), values):
            written = (f"(?i:{v})" if operator == "regex~" else v for v in values if isinstance(v, str))
            with suppress(PatternError):
                return tuple(row for pattern in written for row in _rows_of_expression(pattern))
        case eql.FunctionCall(name, folded, (eql.EventField(), eql.FieldConstant(str() as text))):
            pattern = exact(text, folded)
            if name == "startsWith":
                return ((*pattern, ANY),)
            if name == "endsWith":
                return ((ANY, *pattern),)
            if name == "stringContains" and text:
                return ((ANY, *pattern, ANY),)
    return None


@dataclass(frozen=True)
class _FurtherTimes:
    """Any number of further repetitions of the last pieces of a row, which can be left out next to ANY."""

    pieces: int


_Row: TypeAlias = tuple["Piece | RegexTest | _FurtherTimes", ...]


@lru_cache(maxsize=512)
def _rows_of_expression(pattern: str) -> Language:
    """Return patterns equivalent to a regular expression. Raises PatternError if there are none."""
    return tuple(dict.fromkeys(one for row in _rows(parse(pattern)) if (one := _without_tests(row)) is not None))


def _rows(node: Node) -> list[_Row]:
    """Return the rows of pieces for the alternatives of a regular expression."""
    match node:
        case Characters(ranges):
            if ranges == EVERY_CHARACTER:
                return [(ONE,)]
            if sum(high - low + 1 for low, high in ranges) > MOST_CHARACTERS:
                raise PatternError("too many characters")
            return [(tuple(chr(code) for low, high in ranges for code in range(low, high + 1)),)]
        case RegexTest("begin" | "end"):
            return [(node,)]
        case RegexConcatenation(parts):
            return _joined(parts)
        case RegexChoice(parts):
            return [row for part in parts for row in _rows(part)]
        case RegexRepeat(Characters(ranges), least, None) if ranges == EVERY_CHARACTER:
            return [(*(ONE,) * least, ANY)]
        case RegexRepeat(part, least, None):
            # a part that must occur must be a single row; a part that may be missing is not looked at
            rows = _joined((part,) * least)
            return [(*row, _FurtherTimes(len(row))) for row in rows if least == 0 or len(rows) == 1] or _refuse()
        case RegexRepeat(part, least, int(most)) if most <= MOST_TIMES:
            return [row for times in range(least, most + 1) for row in _joined((part,) * times)]
    return _refuse()


def _refuse() -> list[_Row]:
    raise PatternError("not a choice of rows of characters")


def _joined(parts: Iterable[Node]) -> list[_Row]:
    rows: list[_Row] = [()]
    for part in parts:
        rows = [(*before, *after) for before in rows for after in _rows(part)]
        if len(rows) > MOST_ROWS:
            raise PatternError("too many alternatives")
    return rows


def _without_tests(row: _Row) -> Pattern | None:
    """Return the pieces of a row without its tests; None if no text fits, because a character comes before `^`."""
    begins = max((i for i, piece in enumerate(row) if piece == RegexTest("begin")), default=-1)
    ends = min((i for i, piece in enumerate(row) if piece == RegexTest("end")), default=len(row))
    outside = (*row[: max(begins, 0)], *row[ends:])
    if begins > ends or any(isinstance(piece, tuple) or piece == ONE for piece in outside):
        return None
    found: list[Piece] = []
    inside = row[begins + 1 : ends]
    for i, piece in enumerate(inside):
        if isinstance(piece, _FurtherTimes):
            before = found[: len(found) - piece.pieces][-1:]
            if ANY not in (*before, *inside[i + 1 : i + 2]):
                raise PatternError("repeated")
        elif not isinstance(piece, RegexTest):
            found.append(piece)
    return tuple(found)


class SearchLimit:
    """The total number of states that the searches of a comparison may use."""

    def __init__(self, states: int) -> None:
        self.left = states

    def spend(self) -> None:
        """Count a state. Raises TooManyTexts beyond the limit."""
        self.left -= 1
        if self.left < 0:
            raise TooManyTexts


def find_text(
    inside: Sequence[Language],
    outside: Sequence[Language],
    limit: SearchLimit,
    accepts: Callable[[str], bool] | None = None,
) -> str | None:
    """Return a shortest text in all languages of `inside` and in none of `outside`; None if there is none.

    A text is not extended if one of the languages in `outside` accepts every extension of it. accepts: a further
    condition on the text; then not all texts are tried, but some of each length. Raises TooManyTexts.
    """
    machines = [_Machine(language) for language in (*inside, *outside)]
    letters = _letters((*inside, *outside))
    number = len(inside)
    start = tuple(machine.start for machine in machines), 0
    if any(m.takes_all(q) for m, q in zip(machines[number:], start[0][number:], strict=True)):
        return None
    texts: dict[tuple[tuple[frozenset[int], ...], int], str] = {start: ""}
    pending = deque([start])
    while pending:
        check_time()
        states, length = state = pending.popleft()
        accepted = [m.accepts(q) for m, q in zip(machines, states, strict=True)]
        if all(accepted[:number]) and not any(accepted[number:]) and (accepts is None or accepts(texts[state])):
            return texts[state]
        for c in letters:
            after = tuple(m.step(q, c) for m, q in zip(machines, states, strict=True))
            then = after, min(length + 1, LONGEST) if accepts is not None else 0
            if all(after[:number]) and then not in texts:
                if any(m.takes_all(q) for m, q in zip(machines[number:], after[number:], strict=True)):
                    continue
                limit.spend()
                texts[then] = texts[state] + c
                pending.append(then)
    return None


def samples_of(language: Language) -> Iterable[str]:
    """Return a few texts of a language, with each wildcard replaced by nothing and by another character."""
    for pattern in language[:40]:
        for star, one in (("", "q"), ("q", "q"), ("", "z"), ("\\", "q")):
            for case in (0, -1):
                yield "".join(star if piece == ANY else one if piece == ONE else piece[case] for piece in pattern)


def _letters(languages: Iterable[Language]) -> list[str]:
    """Return a character that is in no pattern, followed by the characters in the patterns."""
    named = {
        c
        for language in languages
        for pattern in language
        for piece in pattern
        if isinstance(piece, tuple)
        for c in piece
    }
    fresh = next((c for c in FRESH if c not in named), None) or next(
        chr(code) for code in range(0x4E00, 0x9FFF) if chr(code) not in named
    )
    return [fresh, *sorted(named)]


class _Machine:
    """An automaton for a language. A state is a set of places in its patterns, which stand one after the other."""

    def __init__(self, language: Language) -> None:
        self._pieces: list[Piece | None] = []
        first = []
        for pattern in language:
            first.append(len(self._pieces))
            self._pieces += [*pattern, None]
        self._steps: dict[tuple[frozenset[int], str], frozenset[int]] = {}
        ends = (p for p, piece in enumerate(self._pieces) if piece == ANY and self._pieces[p + 1] is None)
        self._endless = frozenset(ends)
        self.start = self._closed(first)

    def _closed(self, places: Iterable[int]) -> frozenset[int]:
        found = set[int]()
        for place in places:
            found.add(place)
            while self._pieces[place] == ANY:
                place += 1
                found.add(place)
        return frozenset(found)

    def step(self, places: frozenset[int], c: str) -> frozenset[int]:
        """Return the places after one more character."""
        known = self._steps.get((places, c))
        if known is None:
            after = []
            for place in places:
                piece = self._pieces[place]
                if piece == ANY:
                    after.append(place)
                elif piece is not None and (piece == ONE or c in piece):
                    after.append(place + 1)
            known = self._steps[places, c] = self._closed(after)
        return known

    def accepts(self, places: frozenset[int]) -> bool:
        """Return whether a text that ends here matches a pattern."""
        return any(self._pieces[place] is None for place in places)

    def takes_all(self, places: frozenset[int]) -> bool:
        """Return whether every continuation of the text matches a pattern."""
        return not self._endless.isdisjoint(places)


# ---------------------------------------------------------------------------------------------------------------------
# Find values that the tests of a field distinguish: constants, their neighbours, and texts that match patterns.

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
