"""Find texts that match some patterns and not others: constants, wildcards, prefixes, suffixes and substrings of EQL.

A pattern is a row of pieces: sets of characters, any character, or any text. All patterns are followed at the same
time, breadth first. So the first text that is found is a shortest one, and if no text is found, there is none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from cerify.semantics.arguments import check_time
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.functions import same_folded
from cerify.semantics.patterns import (
    LAST,
    Characters,
    Node,
    PatternError,
    RegexChoice,
    RegexConcatenation,
    RegexRepeat,
    RegexTest,
    parse,
)

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
