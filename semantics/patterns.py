"""Regular expressions matched in plain Python, in time linear in the text.

A pattern becomes a nondeterministic automaton (K. Thompson, Regular expression search algorithm, 1968). The sets of
states that a text reaches are computed when they are needed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal, TypeAlias

from cerify.semantics.packages import installed, pa, pc

# ---------------------------------------------------------------------------------------------------------------------
# The syntax of regular expressions, as RE2 has it (https://github.com/google/re2/wiki/Syntax), as trees.
#
# Not covered are named groups, Unicode classes, single bytes, and characters beyond ASCII under (?i): a pattern with
# one of these raises `NotCovered`, and RE2 itself has to match it.

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""A set of code points, as ascending ranges that do not touch, both ends included."""

Assertion = Literal["begin", "end", "line begin", "line end", "boundary", "no boundary"]
LAST = 0x10FFFF
LARGEST_REPETITION = 1000
DEEPEST = 100
UNCOUNTED: tuple[tuple[int, int | None], ...] = ((0, None), (1, None), (0, 1))  # the repetitions *, + and ?

DIGIT: Ranges = ((48, 57),)
SPACE: Ranges = ((9, 10), (12, 13), (32, 32))
WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
NAMED: Mapping[str, Ranges] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)),
    "digit": DIGIT,
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "word": WORD,
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}
SHORTHANDS: Mapping[str, Ranges] = {"d": DIGIT, "s": SPACE, "w": WORD}
CONTROLS: Mapping[str, int] = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
FOLDED: Mapping[int, int] = {ord("k"): 0x212A, ord("s"): 0x17F}  # RE2 also matches these characters, beside the capital

_REPEAT = re.compile(r"([*+?]|\{(\d+)(,?)(\d*)\})(\??)", re.ASCII)
_FLAGS = re.compile(r"\(\?([imsU]*)(-[imsU]+)?([:)])")
_OCTAL = re.compile(r"[1-7][0-7]{1,2}|0[0-7]{0,2}", re.ASCII)
_HEX = re.compile(r"x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))")
_CLASS_NAME = re.compile(r"\[:(\^?)(.*?):\]", re.DOTALL)


class PatternError(ValueError):
    """The text is not a regular expression."""


class NotCovered(PatternError):
    """Raised for a text that this module cannot parse, although RE2 may accept it."""


@dataclass(frozen=True)
class _Flags:
    fold: bool = False
    lines: bool = False
    dot_all: bool = False


@dataclass(frozen=True)
class Characters:
    """One character, from a set of characters."""

    ranges: Ranges


@dataclass(frozen=True)
class RegexTest:
    """An assertion, such as ^: a test of the characters before and after a position."""

    kind: Assertion


@dataclass(frozen=True)
class RegexConcatenation:
    """The parts, one after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class RegexChoice:
    """One of the parts."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class RegexRepeat:
    """A part that is repeated from `least` to `most` times; most is None for no limit."""

    part: Node
    least: int
    most: int | None


Node: TypeAlias = "Characters | RegexTest | RegexConcatenation | RegexChoice | RegexRepeat"


# --- sets of characters -----------------------------------------------------------------------------------------------


def _united(ranges: Iterable[tuple[int, int]]) -> Ranges:
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return tuple(found)


def _complement(ranges: Ranges) -> Ranges:
    begins = [0, *(high + 1 for _, high in ranges)]
    ends = [*(low - 1 for low, _ in ranges), LAST]
    return tuple((low, high) for low, high in zip(begins, ends, strict=True) if low <= high)


def contains(ranges: Ranges, code: int) -> bool:
    """Return whether a code point is in a set."""
    at = bisect_right(ranges, (code, LAST)) - 1
    return at >= 0 and ranges[at][1] >= code


def _folded(ranges: Ranges) -> Ranges:
    """Return the characters, with every letter in both cases. Raises NotCovered for characters beyond ASCII."""
    if ranges and ranges[-1][1] > 127:
        raise NotCovered("letters beyond ASCII under (?i)")
    letters = [chr(code) for low, high in ranges for code in range(low, high + 1) if chr(code).isalpha()]
    others = [ord(letter.swapcase()) for letter in letters]
    others += [FOLDED[code] for letter in letters if (code := ord(letter.lower())) in FOLDED]
    return _united([*ranges, *((code, code) for code in others)])


# --- the syntax -------------------------------------------------------------------------------------------------------


def parse(text: str) -> Node:
    """Return the tree of a regular expression. Raises PatternError, and NotCovered."""
    return _Parser(text).parsed()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0

    def parsed(self) -> Node:
        found = self._choice(_Flags())
        if self._at < len(self._text):
            raise PatternError(f"unexpected ): {self._text}")
        return found

    def _choice(self, flags: _Flags) -> Node:
        """Parse alternatives up to the end, or up to a closing parenthesis, which is not consumed."""
        parts: list[Node] = []
        sequence: list[Node] = []
        repeated = False  # whether the last part has a repetition operator already
        while self._at < len(self._text) and (c := self._text[self._at]) != ")":
            again, repeated = repeated, False
            if c == "|":
                self._at += 1
                parts.append(RegexConcatenation(tuple(sequence)))
                sequence = []
            elif (change := _FLAGS.match(self._text, self._at)) and change[3] == ")":
                self._at = change.end()
                flags = _changed(flags, change)
            elif (repeat := _REPEAT.match(self._text, self._at)) and not (repeat[4] and not repeat[3]):
                if not sequence or again:
                    raise PatternError(f"no argument for repetition operator: {repeat[0]}")
                self._at, repeated = repeat.end(), True
                sequence[-1] = _repeated(sequence[-1], repeat)
            else:
                sequence += self._atom(c, flags)
        return RegexChoice((*parts, RegexConcatenation(tuple(sequence))))

    def _atom(self, c: str, flags: _Flags) -> Iterator[Node]:
        if c == "(":
            yield self._group(flags)
            return
        self._at += 1
        match c:
            case "[":
                yield self._class(flags)
            case ".":
                yield Characters(((0, LAST),) if flags.dot_all else _complement(((10, 10),)))
            case "^":
                yield RegexTest("line begin" if flags.lines else "begin")
            case "$":
                yield RegexTest("line end" if flags.lines else "end")
            case "\\":
                yield from self._escape(flags)
            case _:
                yield self._literal(ord(c), flags)

    def _group(self, flags: _Flags) -> Node:
        begin = self._at
        if (change := _FLAGS.match(self._text, begin)) is not None:
            self._at, flags = change.end(), _changed(flags, change)
        elif self._text.startswith(("(?P<", "(?<"), begin):
            raise NotCovered("named groups")
        elif self._text.startswith("(?", begin):
            raise PatternError(f"invalid or unsupported Perl syntax: {self._text[begin : begin + 3]}")
        else:
            self._at += 1
        self._depth += 1
        if self._depth > DEEPEST:
            raise NotCovered("groups inside each other")
        found = self._choice(flags)
        if self._at == len(self._text):
            raise PatternError(f"missing ): {self._text}")
        self._at, self._depth = self._at + 1, self._depth - 1
        return found

    def _literal(self, code: int, flags: _Flags) -> Node:
        ranges = ((code, code),)
        return Characters(_folded(ranges) if flags.fold else ranges)

    def _escape(self, flags: _Flags) -> Iterator[Node]:
        c = self._text[self._at : self._at + 1]
        if c == "Q":
            end = self._text.find("\\E", self._at)
            if end < 0:
                raise PatternError("\\Q without \\E")
            quoted = self._text[self._at + 1 : end]
            self._at = end + 2
            yield from (self._literal(ord(q), flags) for q in quoted)
            return
        assertions: Mapping[str, Assertion] = {"A": "begin", "z": "end", "b": "boundary", "B": "no boundary"}
        if c in assertions:
            self._at += 1
            yield RegexTest(assertions[c])
        elif (named := self._shorthand(flags)) is not None:
            yield Characters(named)
        else:
            yield self._literal(self._escaped(), flags)

    def _shorthand(self, flags: _Flags) -> Ranges | None:
        """Return the set of characters for an escape that names one, such as d, w or s; None for other escapes."""
        c = self._text[self._at : self._at + 1]
        if c in ("p", "P", "C"):
            raise NotCovered(f"the escape \\{c}")
        if not c or c.lower() not in SHORTHANDS:
            return None
        self._at += 1
        ranges = SHORTHANDS[c.lower()]
        ranges = _folded(ranges) if flags.fold else ranges
        return ranges if c.islower() else _complement(ranges)

    def _escaped(self) -> int:
        """Return the code point that an escape stands for."""
        c = self._text[self._at : self._at + 1]
        for form, base in ((_OCTAL, 8), (_HEX, 16)):
            if (found := form.match(self._text, self._at)) is not None:
                digits = found[0] if base == 8 else found[1] or found[2]
                if len(digits.lstrip("0")) > 6 or (code := int(digits, base)) > LAST:
                    raise PatternError(f"invalid escape sequence: \\{found[0]}")
                self._at = found.end()
                return code
        if not c:
            raise PatternError("trailing \\")
        self._at += 1
        if c in CONTROLS:
            return CONTROLS[c]
        if not c.isascii() or c.isalnum():
            raise PatternError(f"invalid escape sequence: \\{c}")
        return ord(c)

    def _class(self, flags: _Flags) -> Node:
        begin, ranges = self._at - 1, list[tuple[int, int]]()
        negated = self._text.startswith("^", self._at)
        self._at += negated
        first = True
        while first or not self._text.startswith("]", self._at):
            if self._at >= len(self._text):
                raise PatternError(f"missing ]: {self._text[begin:]}")
            ranges += self._item(flags)
            first = False
        self._at += 1
        united = _united(ranges)
        return Characters(_complement(united) if negated else united)

    def _item(self, flags: _Flags) -> Ranges:
        if (name := _CLASS_NAME.match(self._text, self._at)) is not None:
            if name[2] not in NAMED:
                raise PatternError(f"invalid character class range: {name[0]}")
            self._at = name.end()
            ranges = _folded(NAMED[name[2]]) if flags.fold else NAMED[name[2]]
            return _complement(ranges) if name[1] else ranges
        if self._text.startswith("\\", self._at):
            self._at += 1
            if (named := self._shorthand(flags)) is not None:
                return named
            self._at -= 1
        low = high = self._single()
        if self._text.startswith("-", self._at) and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
            self._at += 1
            high = self._single()
        if high < low:
            raise PatternError(f"invalid character class range: {chr(low)}-{chr(high)}")
        return _folded(((low, high),)) if flags.fold else ((low, high),)

    def _single(self) -> int:
        """Parse one character inside brackets."""
        c = self._text[self._at : self._at + 1]
        if not c:
            raise PatternError(f"missing ]: {self._text}")
        self._at += 1
        return self._escaped() if c == "\\" else ord(c)


def _changed(flags: _Flags, change: re.Match[str]) -> _Flags:
    if not change[1] and not change[2] and change[3] == ")":
        raise PatternError("missing argument to repetition operator: ?")
    for letters, value in ((change[1], True), (change[2] or "", False)):
        fields = {"i": "fold", "m": "lines", "s": "dot_all"}
        flags = replace(flags, **{fields[letter]: value for letter in letters if letter in fields})
    return flags


def _repeated(part: Node, repeat: re.Match[str]) -> Node:
    if repeat[1] in "*+?":
        least, most = UNCOUNTED["*+?".index(repeat[1])]
    else:
        least = int(repeat[2])
        most = (int(repeat[4]) if repeat[4] else None) if repeat[3] else least
        if max(least, most or 0) > LARGEST_REPETITION or (most is not None and most < least):
            raise PatternError(f"invalid repetition size: {repeat[1]}")
        if any(isinstance(node, RegexRepeat) and (node.least, node.most) not in UNCOUNTED for node in _inside(part)):
            raise NotCovered("counted repetitions inside each other")
    return RegexRepeat(part, least, most)


def _inside(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, RegexConcatenation | RegexChoice):
            pending += node.parts
        elif isinstance(node, RegexRepeat):
            pending.append(node.part)


LARGEST_AUTOMATON = 5000  # states
REMEMBERED = 50_000  # steps of one pattern
ACCEPT: Final = 0


class Pattern:
    """A regular expression. Raises PatternError, and NotCovered for one that only RE2 can match."""

    def __init__(self, text: str) -> None:
        self._automaton = _Automaton(parse(text))
        self._steps: dict[tuple[frozenset[int], str, str], frozenset[int]] = {}

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches the text as a whole."""
        automaton, steps, before = self._automaton, self._steps, ""
        states = automaton.start
        for c in text:
            # The character before matters to assertions only; without any, fewer steps are remembered.
            key = states, _kind(before) if automaton.asserts else "", c
            if (then := steps.get(key)) is None:
                # Forgetting all is cheaper than to keep an order of use, and a text that needs so many steps is rare.
                if len(steps) >= REMEMBERED:
                    steps.clear()
                then = steps[key] = automaton.step(states, before, c)
            if not then:
                return False
            states, before = then, c
        return automaton.accepts(states, before)


def _kind(c: str) -> str:
    """Return the kind of a character for assertions: "w" in a word, "." for others; "" and a newline stay."""
    return c if c in ("", "\n") else "w" if contains(WORD, ord(c)) else "."


class _Automaton:
    """Thompson's automaton. A state reads a character, tests an assertion, or leads to other states; 0 accepts."""

    def __init__(self, root: Node) -> None:
        self._reads: dict[int, tuple[Ranges, int]] = {}
        self._tests: dict[int, tuple[Assertion, int]] = {}
        self._goes: dict[int, tuple[int, ...]] = {}
        self._size = 1
        self.start = frozenset({self._before(root, ACCEPT)})
        self.asserts = bool(self._tests)

    def step(self, states: frozenset[int], before: str, c: str) -> frozenset[int]:
        """Return the states after the character c; `before` is the character before c, or ""."""
        code = ord(c)
        reads = (self._reads[q] for q in self._closure(states, before, c) if q in self._reads)
        return frozenset(then for ranges, then in reads if contains(ranges, code))

    def accepts(self, states: frozenset[int], before: str) -> bool:
        """Return whether a text can end here."""
        return ACCEPT in self._closure(states, before, "")

    def _closure(self, states: frozenset[int], before: str, after: str) -> set[int]:
        found, pending = set[int](), list(states)
        while pending:
            q = pending.pop()
            # Loops without a character, as in (a*)*, would not end otherwise.
            if q in found:
                continue
            found.add(q)
            if q in self._tests:
                kind, then = self._tests[q]
                pending += [then] if TESTS[kind](before, after) else []
            else:
                pending += self._goes.get(q, ())
        return found

    def _new(self) -> int:
        self._size += 1
        if self._size > LARGEST_AUTOMATON:
            raise NotCovered("a pattern as large as this")
        return self._size - 1

    def _before(self, node: Node, then: int) -> int:
        """Return the state from which a text that matches the node leads to the state `then`."""
        match node:
            case Characters(ranges):
                q = self._new()
                self._reads[q] = ranges, then
                return q
            case RegexTest(kind):
                q = self._new()
                self._tests[q] = kind, then
                return q
            case RegexConcatenation(parts):
                # From the end, because each state is made with the state that follows it.
                for part in reversed(parts):
                    then = self._before(part, then)
                return then
            case RegexChoice(parts):
                q = self._new()
                self._goes[q] = tuple(self._before(part, then) for part in parts)
                return q
            case RegexRepeat(part, least, most):
                return self._repetition(part, least, most, then)

    def _repetition(self, part: Node, least: int, most: int | None, then: int) -> int:
        if most is None:
            q = self._new()
            self._goes[q] = (self._before(part, q), then)
            end = q
        else:
            end = then
            for _ in range(most - least):
                q = self._new()
                self._goes[q] = (self._before(part, end), then)
                end = q
        for _ in range(least):
            end = self._before(part, end)
        return end


MOST_COMPARED = 2_000  # pairs of states


def match_same_texts(one: str, other: str) -> bool:
    """Return whether two regular expressions match the same texts; False also if this takes too long to decide.

    >>> match_same_texts("[0-9]+", "[0-9][0-9]*"), match_same_texts("a+", "a*")
    (True, False)

    Raises PatternError, and NotCovered for an expression that only RE2 can match.
    """
    return not any(True for _ in differing_texts(one, other))


def differing_texts(one: str, other: str) -> Iterator[str | None]:
    """Yield a shortest text that only the first regular expression matches, and one that only the second matches.

    Both automata are followed side by side. One character, printable if possible, stands for all characters that
    neither distinguishes from it. None at the end says that the search stopped at its limit. Raises the errors of
    `match_same_texts`.

    >>> [*differing_texts("^a{2}$", "^a{2,3}$")]
    ['aaa']
    """
    both = _Automaton(parse(one)), _Automaton(parse(other))
    # WORD and the newline count even if neither pattern names them: assertions tell them apart.
    ranges = [*WORD, (10, 10), *(pair for a in both for read, _ in a._reads.values() for pair in read)]
    bounds = sorted({0, LAST + 1, *(low for low, _ in ranges), *(high + 1 for _, high in ranges)})
    choices = [range(low, min(high, low + 128)) for low, high in pairwise(bounds)]
    letters = [next((c for c in map(chr, codes) if c.isprintable()), chr(codes[0])) for codes in choices]
    letters.sort(key=lambda c: (not c.isprintable(), c))
    begin = both[0].start, both[1].start, ""
    # A queue, not a stack: the first text found is a shortest one.
    seen, pending = {(begin[0], begin[1], "")}, deque([begin])
    sides = {True, False}  # which expression alone may still match a text
    while pending:
        mine, theirs, text = pending.popleft()
        accepted = both[0].accepts(mine, text[-1:]), both[1].accepts(theirs, text[-1:])
        if accepted[0] != accepted[1] and accepted[0] in sides:
            sides.remove(accepted[0])
            yield text
            if not sides:
                return
        for c in letters:
            then = both[0].step(mine, text[-1:], c), both[1].step(theirs, text[-1:], c)
            if any(then) and (key := (*then, _kind(c))) not in seen:
                if len(seen) >= MOST_COMPARED:
                    yield None
                    return
                seen.add(key)
                pending.append((*then, text + c))


TESTS: Mapping[Assertion, Callable[[str, str], bool]] = {
    "begin": lambda before, after: not before,
    "end": lambda before, after: not after,
    "line begin": lambda before, after: before in ("", "\n"),
    "line end": lambda before, after: after in ("", "\n"),
    "boundary": lambda before, after: (_kind(before) == "w") != (_kind(after) == "w"),
    "no boundary": lambda before, after: (_kind(before) == "w") == (_kind(after) == "w"),
}


# ---------------------------------------------------------------------------------------------------------------------
# Whether a text matches a regular expression in RE2's syntax: in plain Python, or by RE2 where a pattern needs it.


def matches(pattern: str, value: object) -> bool:
    """Return whether the value is a string that the pattern matches as a whole; takes time linear in the string.

    Raises MissingPackage for a pattern that only RE2 can match, if Arrow is not installed.
    """
    return isinstance(value, str) and _matches(pattern, value)


def flaw(pattern: str) -> str | None:
    """Return why a text is not a regular expression in RE2's syntax; None if it is one.

    Raises MissingPackage in the same cases as `matches`.
    """

    try:
        Pattern(pattern)
    except PatternError as error:
        # RE2 accepts some patterns that the parser here refuses, so it decides if it is installed.
        if isinstance(error, NotCovered) or installed("pyarrow"):
            return _flaw_by_re2(pattern)
        return str(error)
    return None


def _flaw_by_re2(pattern: str) -> str | None:
    match_regex = pc.match_substring_regex
    try:
        for text in (pattern, whole(pattern)):  # `)(` is invalid only alone, `\\Q` only in parentheses
            match_regex(pa.scalar(""), text)
    except pa.ArrowInvalid as error:
        return str(error).removeprefix("Invalid regular expression: ")
    return None


@lru_cache(maxsize=100_000)
def _matches(pattern: str, value: str) -> bool:
    return _matcher(pattern)(value)


@lru_cache(maxsize=1000)
def _matcher(pattern: str) -> Callable[[str], bool]:

    try:
        return Pattern(pattern).matches
    except PatternError:  # RE2 accepts some patterns that the parser here does not, as (?)
        return lambda value: bool(pc.match_substring_regex(pa.scalar(value), whole(pattern)).as_py())


def whole(pattern: str) -> str:
    """Return the pattern between anchors, so that a search for it finds whole strings only."""
    return rf"\A(?:{pattern})\z"
