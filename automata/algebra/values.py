"""Enumerate values of one attribute, one for each combination of results of its simple tests.

A simple test compares one attribute with constants, or with itself. The constants cut the values of each kind into
points and open intervals, and all values of a piece give the same results. So one value of each piece, and the absent
value, represent all. A pattern cuts the strings further: see `samples_of_strings`.
"""

from __future__ import annotations

import math
import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain, pairwise
from typing import TypeAlias, assert_never

from cerify.automata.exploration import explore
from cerify.semantics import predicates as pred
from cerify.semantics.arguments import check_time
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.predicates import satisfied
from cerify.semantics.values import EXACT, FIRST_TIME, INT64, LAST_TIME, Value, ValueType, kind

# ---------------------------------------------------------------------------------------------------------------------
# Classes of strings that constants and patterns do not distinguish.
#
# A pattern of the common core of RE2 is a regular language, read by sets of its positions; constants are compared
# character by character. All are followed in step, breadth first, so that the first string of a class is a shortest.
# The flags (?i) and (?s) may begin a pattern; under (?i) its letters are those of ASCII.
# `decidable` is false for other patterns (anchors, other flags, named classes) and for those whose automaton is large,
# which this module does not handle.

LARGEST_REPETITION = 50
LARGEST_AUTOMATON = 400  # states of the automaton of one pattern
LARGEST_PATTERN = 4 * LARGEST_AUTOMATON  # characters and ranges of characters in one pattern, without repetition
LARGEST_PRODUCT = 30_000  # transitions of the automaton of all patterns and constants of an attribute
FIRST, LAST, SURROGATES = "\0", "\U0010ffff", range(0xD800, 0xE000)
PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 "
SHORTHANDS = {"d": "09", "w": "09AZ__az", "s": "\t\n\f\r  "}  # the ends of ranges
FOLDED = {"k": "\u212a", "s": "\u017f"}  # under (?i), RE2 accepts these for the letters, besides the capitals
CONTROLS = {"n": "\n", "t": "\t", "f": "\f", "r": "\r"}

_ESCAPED = r"\\[-.^$*+?()\[\]{}|\\/ntfr]"
_ITEM = re.compile(rf"(?P<low>{_ESCAPED}|[^\\\[\]])(?:-(?P<high>{_ESCAPED}|[^\\\[\]-]))?", re.DOTALL)
_FLAGS = re.compile(r"\(\?([is]+)\)")  # of a whole pattern
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


@dataclass(frozen=True, slots=True)
class CharacterSet:
    """The characters in some ascending ranges of codes; if negated, all other characters."""

    ranges: tuple[tuple[int, int], ...]
    negated: bool = False

    @classmethod
    def from_ends(cls, ends: str, negated: bool = False) -> CharacterSet:
        """Return the set whose ranges are written in `ends` as first character, last character, first, last, ..."""
        codes = [ord(c) for c in ends]
        return cls(tuple(sorted({*zip(codes[::2], codes[1::2], strict=True)})), negated)

    def accepts(self, c: str) -> bool:
        """Return whether a character is in the set."""
        return self.negated != any(low <= ord(c) <= high for low, high in self.ranges)


Alternatives: TypeAlias = "list[list[tuple[CharacterSet | Alternatives, int, int | None]]]"
"""A pattern: alternative sequences of parts; each part is (part, least number of repetitions, greatest or None)."""

Reached: TypeAlias = frozenset[int]
"""The positions of a pattern at which a string can end; -1 is the position before the first character."""

START: Reached = frozenset({-1})


@lru_cache(maxsize=1024)
def decidable(pattern: str) -> bool:
    """Return whether the regular expression uses only supported syntax and has a small enough automaton."""
    language = _language(pattern)
    if language is None or not language.fits:
        return False
    letters = _letters([language], [])
    try:
        explore([START], lambda q: [(c, language.step(q, c)) for c in letters], LARGEST_AUTOMATON * len(letters), "it")
    except BudgetExceeded:
        check_time()
        return False
    return True


def samples_of_strings(constants: Sequence[str], patterns: Sequence[str]) -> Iterator[str]:
    """Yield one string for each result that comparisons with the constants and matches of the patterns can have
    together.

    constants: sorted. patterns: decidable regular expressions. Raises BudgetExceeded if there are too many or too large
    patterns and constants.
    """
    yield from sorted(constants, key=lambda s: (len(s), s))
    if not patterns:
        gaps = zip([None, *constants], [*constants, None], strict=True)
        yield from (s for low, high in gaps if (s := _between(low, high)) is not None)
        return
    languages = [language for pattern in patterns if (language := _language(pattern)) is not None]
    letters = _letters(languages, constants)

    def successors(
        state: tuple[tuple[Reached, ...], _Place],
    ) -> Iterator[tuple[str, tuple[tuple[Reached, ...], _Place]]]:
        reached, place = state
        for c in letters:
            then = tuple(language.step(q, c) for language, q in zip(languages, reached, strict=True))
            yield c, (then, place.after(c, constants))

    start = (tuple(START for _ in languages), _Place(0, len(constants), 0))
    what = f"the automaton of the {len(patterns)} patterns and the constants that one attribute is compared with"
    strings, classes = {start: ""}, set[object]()
    for state, steps in explore([start], successors, LARGEST_PRODUCT, what).items():
        reached, place = state
        class_ = tuple(language.accepts(q) for language, q in zip(languages, reached, strict=True)), place.low
        if class_ not in classes and not place.is_constant(constants):
            classes.add(class_)
            yield strings[state]
        for c, target in steps:
            strings.setdefault(target, strings[state] + c)


@lru_cache(maxsize=64)  # a decider asks for the same attribute in each case of the keys, and the checker once more
def _known_samples(constants: tuple[str, ...], patterns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(samples_of_strings(constants, patterns))


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a string among sorted constants.

    Constants before index `low` are less than the string. Constants from `low` up to `high` begin with the string;
    `length` is its length, or 0 if there are none. The other constants are greater.
    """

    low: int
    high: int
    length: int

    def after(self, c: str, constants: Sequence[str]) -> _Place:
        """Return the place of the string with one more character."""
        here = [s[self.length : self.length + 1] for s in constants[self.low : self.high]]
        low, same = self.low + sum(d < c for d in here), here.count(c)
        return _Place(low, low + same, self.length + 1 if same else 0)

    def is_constant(self, constants: Sequence[str]) -> bool:
        """Return whether the string is one of the constants."""
        return self.low < self.high and len(constants[self.low]) == self.length


def _between(low: str | None, high: str | None) -> str | None:
    """Return the simplest string after low and before high."""
    for candidate in ("" if low is None else low + "a", (low or "") + FIRST):
        if (low is None or low < candidate) and (high is None or candidate < high):
            return candidate
    return None


def _letters(languages: Iterable[_Language], constants: Iterable[str]) -> list[str]:
    """Return one character of each class that patterns and constants distinguish, if possible a letter or digit."""
    classes = list(dict.fromkeys(klass for language in languages for klass in language.classes))
    known = sorted(set(chain.from_iterable(constants)))
    ranges = [*(range_ for klass in classes for range_ in klass.ranges), *((ord(c), ord(c)) for c in known)]
    begins = {0, SURROGATES.stop, *(low for low, _ in ranges), *(high + 1 for _, high in ranges)}
    found: dict[object, str] = {}
    for c in (*PLAIN, *(chr(code) for code in sorted(begins) if code <= ord(LAST) and code not in SURROGATES)):
        check_time()
        kind = tuple(klass.accepts(c) for klass in classes), bisect_left(known, c), bisect_right(known, c)
        found.setdefault(kind, c)
    return sorted(found.values(), key=lambda c: (c not in PLAIN, c))


class _Language:
    """The strings of a pattern, as an automaton with a position for each occurrence of a character class in it.

    The construction is from V. M. Glushkov, The abstract theory of automata, 1961. `fits` is false if there are too
    many positions or parts; the automaton is then incomplete.
    """

    def __init__(self, pattern: Alternatives) -> None:
        self.classes: list[CharacterSet] = []
        self._following: list[set[int]] = []
        self._parts = 0
        self._steps: dict[tuple[Reached, str], Reached] = {}
        self._first, last, empty = self._add(pattern)
        self._accepting = last | START if empty else last

    @property
    def fits(self) -> bool:
        return len(self.classes) <= LARGEST_PATTERN and self._parts <= 40 * LARGEST_AUTOMATON

    def step(self, reached: Reached, c: str) -> Reached:
        """Return the positions after one more character."""
        if (then := self._steps.get((reached, c))) is None:
            coming = set[int]().union(*(self._first if p < 0 else self._following[p] for p in reached))
            then = self._steps[reached, c] = frozenset(p for p in coming if self.classes[p].accepts(c))
        return then

    def accepts(self, reached: Reached) -> bool:
        """Return whether the automaton accepts a string that it has read up to these positions."""
        return not self._accepting.isdisjoint(reached)

    def _add(self, part: CharacterSet | Alternatives) -> tuple[set[int], set[int], bool]:
        """Add a part. Return the positions at which it can begin, those at which it can end, and whether it may be
        empty.
        """
        self._parts += 1
        if isinstance(part, CharacterSet):
            self.classes.append(part)
            self._following.append(set())
            return {len(self.classes) - 1}, {len(self.classes) - 1}, False
        first, last, empty = set[int](), set[int](), False
        for sequence in part:
            begins, ends, skips = set[int](), set[int](), True
            for repeated in sequence:
                for b, e, s in self._copies(*repeated):
                    for p in ends:
                        self._following[p] |= b
                    begins |= b if skips else set()
                    ends = e | (ends if s else set())
                    skips = skips and s
            first, last, empty = first | begins, last | ends, empty or skips
        return first, last, empty

    def _copies(
        self, part: CharacterSet | Alternatives, least: int, most: int | None
    ) -> Iterator[tuple[set[int], set[int], bool]]:
        """Add the copies of a repeated part, required copies first, and yield for each copy what `_add` returns.

        If `most` is None, the last copy may repeat without end.
        """
        for i in range(max(least, 1) if most is None else most):
            if not self.fits:
                return
            b, e, s = self._add(part)
            if most is None and i >= least - 1:
                for p in e:
                    self._following[p] |= b
            yield b, e, s or i >= least


@lru_cache(maxsize=256)
def _language(pattern: str) -> _Language | None:
    """Return the language of a pattern; None if it uses unsupported syntax or is too long."""
    parsed = _parse(pattern)
    return None if parsed is None else _Language(parsed)


def _parse(pattern: str) -> Alternatives | None:
    """Parse a pattern to a tree. Return None if it uses unsupported syntax or is too long."""
    flags = _FLAGS.match(pattern)
    at = flags.end() if flags is not None else 0
    fold, dot_all = (flags is not None and flag in flags[1] for flag in "is")
    groups: list[Alternatives] = [[[]]]  # the groups not yet closed; the last sequence of each is unfinished
    characters = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            return None
        at, sequence = token.end(), groups[-1][-1]
        match token.lastgroup:
            case "open":
                groups.append([[]])
            case "plain" if token["plain"] == "|":
                groups[-1].append([])
            case "plain":
                inner = groups.pop()
                if not groups:
                    return None
                groups[-1][-1].append((inner, 1, 1))
            case "any" | "items" | "shorthand" | "character":
                characters += len(_ITEM.findall(token["items"] or "")) or 1
                part = _character_set(token, fold, dot_all)
                if part is None or characters > LARGEST_PATTERN:
                    return None
                sequence.append((part, 1, 1))
            case _:
                least, most = _REPEATED.get(token["repeat"]) or _bounds(token)
                if not sequence or max(least, most or 0) > LARGEST_REPETITION or (most is not None and most < least):
                    return None
                sequence[-1] = (sequence[-1][0], least, most)
    return groups[0] if len(groups) == 1 else None


_REPEATED: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def _bounds(token: re.Match[str]) -> tuple[int, int | None]:
    least, most = int(token["least"]), token["most"]
    return least, least if most is None else int(most) if most else None


def _character_set(token: re.Match[str], fold: bool, dot_all: bool) -> CharacterSet | None:
    """Return the characters that a token stands for; None if the pattern ignores case and some are beyond ASCII."""
    match token.lastgroup:
        case "any":
            return CharacterSet.from_ends("" if dot_all else "\n\n", True)
        case "shorthand":
            shorthand = token["shorthand"]
            if fold and shorthand in "wW":
                return None  # ignoring case, \w has two letters beyond ASCII
            return CharacterSet.from_ends(SHORTHANDS[shorthand.lower()], shorthand.isupper())
    ranges = [
        (_character(item["low"]), _character(item["high"] or item["low"]))
        for item in _ITEM.finditer(token["items"] or token["character"])
    ]
    if fold:
        if not all(high.isascii() for _, high in ranges):
            return None
        letters = {chr(code) for low, high in ranges for code in range(ord(low), ord(high) + 1) if chr(code).isalpha()}
        others = {letter.swapcase() for letter in letters} | {FOLDED[c] for c in map(str.lower, letters) if c in FOLDED}
        ranges += [(c, c) for c in sorted(others)]
    return CharacterSet.from_ends("".join(chain.from_iterable(ranges)), bool(token["negated"]))


def _character(text: str) -> str:
    return text if text[0] != "\\" else CONTROLS.get(text[1], text[1])


Truth: TypeAlias = tuple[bool, ...]
"""Which of the tests pass."""

Number: TypeAlias = int | float
STEPS = tuple(timedelta(**{unit: 1}) for unit in ("days", "hours", "minutes", "seconds", "microseconds"))
DAY_0 = datetime(2000, 1, 1, tzinfo=UTC)
DEFAULT: dict[ValueType, Value] = {"int": 0, "float": 0.0, "string": "", "bool": False, "timestamp": DAY_0}


def tested_attribute(test: pred.Predicate) -> str | None:
    """Return the attribute of a simple test; None for any other predicate.

    A simple test compares one attribute with constants or with itself, or matches it against a decidable pattern.
    """
    match test:
        case (
            pred.Comparison(_, pred.Attribute(name), pred.Constant())
            | pred.Comparison(_, pred.Constant(), pred.Attribute(name))
            | pred.OneOf(pred.Attribute(name), _)
            | pred.InRange(pred.Attribute(name), _, _)
        ):
            return name
        case pred.Comparison(_, pred.Attribute(name), pred.Attribute(other)) if name == other:
            return name
        case pred.Like(pred.Attribute(name), pattern) if decidable(pattern):
            return name
    return None


def pieces(tests: Sequence[pred.Predicate], value_type: ValueType | None) -> dict[Truth, Value | None]:
    """Return the combinations of truth values that the simple tests of one attribute can have, each with an example
    value.

    The example is the simplest value; the value None stands for an absent attribute.

    value_type is the type of the attribute in the schema; None allows values of any kind. Raises BudgetExceeded.
    """
    found: dict[Truth, Value | None] = {}
    passed = [_compile_test(test) for test in tests]
    for value in _candidates(tests, value_type):
        check_time()
        found.setdefault(tuple(passes(value) for passes in passed), value)
    return found


def _compile_test(test: pred.Predicate) -> Callable[[Value | None], bool]:
    """Compile a test to a function of the attribute's value. A long list of constants is looked up in a set."""
    if isinstance(test, pred.OneOf):
        # With its kind, because in Python True is equal to 1.
        constants = {(kind(c), c) for c in test.values if not _is_nan(c)}
        return lambda value: value is not None and (kind(value), value) in constants
    return lambda value: satisfied(test, lambda _: value)


def _candidates(tests: Sequence[pred.Predicate], value_type: ValueType | None) -> Iterator[Value | None]:
    """Yield a value of each piece, simple ones first, then the absent value, and last NaN."""
    constants = [value for test in tests for value in _constants(test)]
    if value_type is not None:
        yield DEFAULT[value_type]
    of_kind = {name: [c for c in constants if kind(c) == name] for name in ("number", "string", "bool", "timestamp")}
    if of_kind["number"] and value_type in ("int", "float", None):
        # 2 and 2.0 are equal, and so one point of the line.
        numbers = {_simple(number) for number in of_kind["number"] if not _is_nan(number)}  # type: ignore[arg-type]
        # The first value of a piece is its example, which people read: small, positive and whole ones come first.
        yield from sorted(_numbers(sorted(numbers), value_type), key=lambda v: (abs(v), v < 0, isinstance(v, float)))
    patterns = tuple(test.pattern for test in tests if isinstance(test, pred.Like))
    if (of_kind["string"] or patterns) and value_type in ("string", None):
        yield from _known_samples(tuple(sorted(set(of_kind["string"]))), patterns)
    if of_kind["bool"] and value_type in ("bool", None):
        yield from (False, True)
    if of_kind["timestamp"] and value_type in ("timestamp", None):
        yield from _times(sorted(set(of_kind["timestamp"])))  # type: ignore[arg-type]
    with_itself = any(isinstance(test, pred.Comparison) and test.left == test.right for test in tests)
    if with_itself and value_type is None:
        yield from DEFAULT.values()
    yield None
    if (of_kind["number"] or with_itself) and value_type in ("float", None):
        yield math.nan


def _constants(test: pred.Predicate) -> Iterator[Value]:
    match test:
        case pred.Comparison(_, pred.Constant(value), _) | pred.Comparison(_, _, pred.Constant(value)):
            yield value
        case pred.OneOf(_, values):
            yield from values
        case pred.InRange(_, low, high):
            yield from (low, high)
        case (
            pred.Comparison() | pred.Like() | pred.Anything() | pred.OfType() | pred.Not() | pred.Both() | pred.Either()
        ):
            return
        case _:
            assert_never(test)


def _numbers(constants: list[Number], value_type: ValueType | None) -> Iterator[Number]:
    """Yield each constant, and a number from each open interval between, below and above the constants."""
    bounds: list[Number] = [-math.inf, *constants, math.inf]
    wanted = [(c, c) for c in constants] + [(a, b) for a, b in pairwise(bounds) if a < b]
    for low, high in wanted:
        value: Number | None = low if low == high else _value_between(low, high)
        match value_type:
            case "int" if not isinstance(value, int) or value not in INT64:
                continue
            case "float":
                exact = _exact_float(value)
                value = _float_above(low) if exact is None and low < high else exact
        if value is not None and (low < value < high or low == value == high):
            yield value
    if value_type != "int":  # the ends of the line lie in no open interval
        yield from (-math.inf, math.inf)


def _value_between(low: Number, high: Number) -> Number | None:
    """Return the simplest number of the open interval, an integer near zero if possible; None if there is none."""
    if low < 0 < high:
        return 0
    if low >= 0 and low != math.inf and math.floor(low) + 1 < high:
        return math.floor(low) + 1
    if high <= 0 and high != -math.inf and math.ceil(high) - 1 > low:
        return math.ceil(high) - 1
    if math.isinf(low) or math.isinf(high):
        return None
    if abs(low) >= EXACT:  # every float is an integer there
        return None
    middle = low + (high - low) / 2
    return middle if low < middle < high else _float_above(low)


def _exact_float(number: Number | None) -> float | None:
    """Return the number as a float, None if no float has its value."""
    try:
        return None if number is None or float(number) != number else float(number)
    except OverflowError:
        return None


def _float_above(low: Number) -> float:
    """Return the least float above the number; infinity if there is none."""
    try:
        rounded = float(low)
    except OverflowError:
        return math.inf if low > 0 else -sys.float_info.max
    return rounded if rounded > low else math.nextafter(rounded, math.inf)


def _times(constants: list[datetime]) -> Iterator[datetime]:
    """Yield each constant, and a time from each open interval between, before and after the constants."""
    yield from constants
    for low, high in pairwise(constants):
        yield from [low + step for step in STEPS if step < high - low][:1]
    if (before := constants[0] - FIRST_TIME) > timedelta():
        yield constants[0] - min(before, timedelta(days=1))
    if (after := LAST_TIME - constants[-1]) > timedelta():
        yield constants[-1] + min(after, timedelta(days=1))


def _simple(number: Number) -> Number:
    """Return the number as an integer if it is one."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _is_nan(value: Value) -> bool:
    return value != value
