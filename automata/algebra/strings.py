"""Classes of strings that constants and patterns do not distinguish, as Boolean combinations of regular languages.

A pattern of the common core of RE2 is a regular language; so are the strings between two constants. `decidable` is
false for other patterns (anchors, flags, named classes) and for those whose automaton is large, which this module does
not handle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from cerify.semantics.errors import BudgetExceeded

if TYPE_CHECKING:
    from greenery import Charclass, Fsm, Pattern

LARGEST_REPETITION = 50
LARGEST_AUTOMATON = 130  # states; greenery takes some 20 milliseconds for each, more for larger ones
LARGEST_PRODUCT = 3_000  # states of two automata, multiplied
LONGEST_CONSTANT = 200  # characters of a constant beside a pattern
FIRST, LAST = "\0", "\U0010ffff"
PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 "
EVERYTHING = r"([^\n]|\n)*"
SHORTHANDS = {"d": "[0-9]", "w": "[0-9A-Za-z_]", "s": r"[\t\n\f\r ]"}
CONTROLS = {"n": "\n", "t": "\t", "f": "\f", "r": "\r"}

_ESCAPED = r"\\[-.^$*+?()\[\]{}|\\/ntfr]"
_ITEM = re.compile(rf"(?P<low>{_ESCAPED}|[^\\\[\]])(?:-(?P<high>{_ESCAPED}|[^\\\[\]-]))?", re.DOTALL)
_TOKEN = re.compile(
    rf"""(?P<any>\.)
      | (?P<open>\((?:\?:)?(?!\?))
      | (?P<plain>[)|])
      | (?P<repeat>[*+?]|\{{(?P<least>\d+)(?:,(?P<most>\d*))?\}})\??(?![*+?{{])
      | \[(?P<negated>\^?)(?P<items>(?:{_ESCAPED}|[^\\\[\]])+)\]
      | \\(?P<shorthand>[dwsDWS])
      | (?P<character>{_ESCAPED}|[^\\.()|*+?{{}}\[\]^$])""",
    re.VERBOSE | re.DOTALL,
)


@lru_cache(maxsize=1024)
def decidable(pattern: str) -> bool:
    """Whether the pattern is of the core that is decided here, and its automaton is not too large."""
    translated = _translated(pattern)
    return translated is not None and _is_small(translated)


def samples_of_strings(constants: Sequence[str], patterns: Sequence[str]) -> Iterator[str]:
    """A string of each piece into which the sorted constants and the decidable patterns cut all strings.

    Raises BudgetExceeded where the patterns together, or a constant beside them, would take too long.
    """
    yield from sorted(constants, key=lambda s: (len(s), s))
    gaps = list(zip([None, *constants], [*constants, None], strict=True))
    if not patterns:
        yield from (s for low, high in gaps if (s := _between(low, high)) is not None)
        return
    if (longest := max(map(len, constants), default=0)) > LONGEST_CONSTANT:
        raise BudgetExceeded(f"an attribute with a pattern is compared with a text of {longest} characters; shorten it")
    for piece in _cut(tuple(patterns)):
        for low, high in gaps:
            if (shortest := _shortest(piece & _gap(low, high))) is not None:
                yield shortest


def _between(low: str | None, high: str | None) -> str | None:
    """The simplest string after low and before high."""
    for candidate in ("" if low is None else low + "a", (low or "") + FIRST):
        if (low is None or low < candidate) and (high is None or candidate < high):
            return candidate
    return None


@lru_cache(maxsize=256)
def _cut(patterns: tuple[str, ...]) -> list[Fsm]:
    """The non-empty pieces, as automata."""
    pieces = [_parsed(EVERYTHING)]
    for pattern in patterns:
        language = _parsed(_translated(pattern) or "")
        if max(len(piece.states) for piece in pieces) * len(language.states) > LARGEST_PRODUCT:
            raise BudgetExceeded(f"the {len(patterns)} patterns of one attribute are too large together; simplify them")
        halves = [half for piece in pieces for half in (piece & language, piece - language)]
        pieces = [half for half in halves if not half.empty()]
    return pieces


@lru_cache(maxsize=256)
def _gap(low: str | None, high: str | None) -> Fsm:
    """The strings after low and before high."""
    language = _parsed(EVERYTHING)
    if low is not None:
        language = language & _parsed(f"({_greater(low)})")
    if high is not None:
        language = language - _parsed(f"({_greater(high)}|{_quoted(high)})")
    return language


def _greater(text: str) -> str:
    """The strings greater than a text by code points: longer ones that begin with it, or with a greater character."""
    ways = [f"{_quoted(text)}({_range(FIRST, LAST)}){EVERYTHING}"]
    ways += [f"{_quoted(text[:i])}{_range(chr(ord(c) + 1), LAST)}{EVERYTHING}" for i, c in enumerate(text) if c != LAST]
    return "|".join(ways)


@lru_cache(maxsize=256)
def _parsed(pattern: str) -> Fsm:
    from greenery import parse

    return parse(pattern).to_fsm()


def _is_small(pattern: str) -> bool:
    """Whether determinizing the pattern, and each part of it that is repeated, reaches few sets of positions.

    For greenery builds the automaton of each part, whose sizes can be exponential in that of the pattern.
    """
    from greenery import parse

    positions = _Positions()
    first, _, _ = positions.add(parse(pattern))
    if not positions.fits:
        return False
    texts = [range_ for klass in positions.classes for range_ in klass.ord_ranges]
    letters = sorted({0, *(low for low, _ in texts), *(high + 1 for _, high in texts)})
    start = frozenset({-1})
    reached, pending = {start}, [start]
    while pending and len(reached) <= LARGEST_AUTOMATON:
        here = pending.pop()
        coming = frozenset().union(*(first if p < 0 else positions.following[p] for p in here))
        for letter in letters:
            then = frozenset(p for p in coming if letter <= ord(LAST) and positions.classes[p].accepts(chr(letter)))
            if then not in reached:
                reached.add(then)
                pending.append(then)
    return len(reached) <= LARGEST_AUTOMATON


class _Positions:
    """The positions of a pattern, one for each character class that is written out, and those that may follow each.

    V. M. Glushkov, The abstract theory of automata, 1961. fits: false once there are too many, or the pattern is nested
    too deeply in repetitions.
    """

    def __init__(self) -> None:
        self.classes: list[Charclass] = []
        self.following: list[set[int]] = []

    @property
    def fits(self) -> bool:
        return len(self.classes) <= 4 * LARGEST_AUTOMATON

    def add(self, part: Pattern | Charclass) -> tuple[set[int], set[int], bool]:
        """The positions with which a part can begin and end, and whether it may be empty."""
        from greenery import Charclass

        if isinstance(part, Charclass):
            self.classes.append(part)
            self.following.append(set())
            return {len(self.classes) - 1}, {len(self.classes) - 1}, False
        first, last, empty = set[int](), set[int](), False
        for concatenation in part.concs:
            begins, ends, skips = set[int](), set[int](), True
            for repeated in concatenation.mults:
                for b, e, s in self._copies(repeated):
                    for p in ends:
                        self.following[p] |= b
                    begins |= b if skips else set()
                    ends = e | (ends if s else set())
                    skips = skips and s
            first, last, empty = first | begins, last | ends, empty or skips
        return first, last, empty

    def _copies(self, repeated: Any) -> Iterator[tuple[set[int], set[int], bool]]:
        """The part as often as it has to be there, and then as often as it may be; the last one for ever, if it may."""
        least, most = repeated.multiplier.min.v or 0, repeated.multiplier.max.v
        for i in range(max(least, 1) if most is None else most):
            if not self.fits:
                return
            b, e, s = self.add(repeated.multiplicand)
            if most is None and i >= least - 1:
                for p in e:
                    self.following[p] |= b
            yield b, e, s or i >= least


@lru_cache(maxsize=256)
def _translated(pattern: str) -> str | None:
    """The pattern in greenery's syntax, where a dot is every character; None for what is not of the core."""
    translated, at, nested = "", 0, 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None or max(int(token["least"] or 0), int(token["most"] or 0)) > LARGEST_REPETITION:
            return None
        text = _token(token)
        nested += {"(": 1, ")": -1}.get(text, 0)
        if nested < 0:
            return None
        translated += text
        at = token.end()
    return None if nested else translated


def _token(token: re.Match[str]) -> str:
    match token.lastgroup:
        case "any":
            return r"[^\n]"
        case "open":
            return "("
        case "shorthand":
            inside = SHORTHANDS[token["shorthand"].lower()]
            return inside if token["shorthand"].islower() else "[^" + inside[1:]
        case "character":
            return _quoted(_character(token["character"]))
        case "items":
            return _class(token["items"], bool(token["negated"]))
        case _:
            return token["repeat"] or token["plain"]


def _class(items: str, negated: bool) -> str:
    from greenery import Charclass

    ranges = [(_character(item["low"]), _character(item["high"] or item["low"])) for item in _ITEM.finditer(items)]
    klass = Charclass(tuple(ranges))
    return _text(~klass if negated else klass)


def _character(text: str) -> str:
    return text if text[0] != "\\" else CONTROLS.get(text[1], text[1])


def _quoted(text: str) -> str:
    return "".join(_range(c, c) for c in text)


def _range(low: str, high: str) -> str:
    from greenery import Charclass

    return _text(Charclass(((low, high),)))


def _shortest(language: Fsm) -> str | None:
    """A shortest string of the language, None if it is empty."""
    reached = {language.initial: ""}
    for state in (pending := [language.initial]):
        if state in language.finals:
            return reached[state]
        steps = [(_representative(klass), target) for klass, target in language.map[state].items() if klass.num_chars()]
        for character, target in sorted(steps, key=lambda step: (step[0] not in PLAIN, step[0])):
            if target not in reached:
                reached[target] = reached[state] + character
                pending.append(target)
    return None


def _representative(klass: Charclass) -> str:
    """A character of the class, a letter or a digit if it has one."""
    return next(c for c in chain(PLAIN, map(chr, range(0xD800)), map(chr, range(0xE000, 0x110000))) if klass.accepts(c))


def _text(klass: Charclass) -> str:
    return str(klass)
