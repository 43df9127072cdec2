"""The syntax of regular expressions, as RE2 has it (https://github.com/google/re2/wiki/Syntax), as trees.

Not covered are named groups, Unicode classes, single bytes, and characters beyond ASCII under (?i): a pattern with one
of these raises `NotCovered`, and RE2 itself has to match it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

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
FOLDED: Mapping[int, int] = {ord("k"): 0x212A, ord("s"): 0x17F}  # what RE2 takes for these letters, beside the capital

_REPEAT = re.compile(r"([*+?]|\{(\d+)(,?)(\d*)\})(\??)", re.ASCII)
_FLAGS = re.compile(r"\(\?([imsU]*)(-[imsU]+)?([:)])")
_OCTAL = re.compile(r"[1-7][0-7]{1,2}|0[0-7]{0,2}", re.ASCII)
_HEX = re.compile(r"x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))")
_CLASS_NAME = re.compile(r"\[:(\^?)(.*?):\]", re.DOTALL)


class PatternError(ValueError):
    """The text is no regular expression."""


class NotCovered(PatternError):
    """The regular expression, if it is one, has to be matched by RE2."""


@dataclass(frozen=True)
class _Flags:
    fold: bool = False
    lines: bool = False
    dot_all: bool = False


@dataclass(frozen=True)
class Characters:
    """One of a set of characters."""

    ranges: Ranges


@dataclass(frozen=True)
class Test:
    """What stands before and after, without a character of its own."""

    kind: Assertion


@dataclass(frozen=True)
class Concatenation:
    """One part after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    """Any of the parts."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """A part several times; most is None for as often as one likes."""

    part: Node
    least: int
    most: int | None


Node: TypeAlias = "Characters | Test | Concatenation | Choice | Repeat"


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
    """Whether a code point is in a set."""
    at = bisect_right(ranges, (code, LAST)) - 1
    return at >= 0 and ranges[at][1] >= code


def _folded(ranges: Ranges) -> Ranges:
    """The characters with the other cases of their letters. Raises NotCovered for characters beyond ASCII."""
    if ranges and ranges[-1][1] > 127:
        raise NotCovered("letters beyond ASCII under (?i)")
    letters = [chr(code) for low, high in ranges for code in range(low, high + 1) if chr(code).isalpha()]
    others = [ord(letter.swapcase()) for letter in letters]
    others += [FOLDED[code] for letter in letters if (code := ord(letter.lower())) in FOLDED]
    return _united([*ranges, *((code, code) for code in others)])


# --- the syntax -------------------------------------------------------------------------------------------------------


def parse(text: str) -> Node:
    """The tree of a regular expression. Raises PatternError, and NotCovered."""
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
        """Alternatives up to the end, or to a closing parenthesis, which is left."""
        parts: list[Node] = []
        sequence: list[Node] = []
        repeated = False  # whether the last part has a repetition operator already
        while self._at < len(self._text) and (c := self._text[self._at]) != ")":
            again, repeated = repeated, False
            if c == "|":
                self._at += 1
                parts.append(Concatenation(tuple(sequence)))
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
        return Choice((*parts, Concatenation(tuple(sequence))))

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
                yield Test("line begin" if flags.lines else "begin")
            case "$":
                yield Test("line end" if flags.lines else "end")
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
            yield Test(assertions[c])
        elif (named := self._shorthand(flags)) is not None:
            yield Characters(named)
        else:
            yield self._literal(self._escaped(), flags)

    def _shorthand(self, flags: _Flags) -> Ranges | None:
        """The set of characters that an escape names, if it does."""
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
        """The code point that an escape stands for."""
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
        """One character inside brackets."""
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
        if any(isinstance(node, Repeat) and (node.least, node.most) not in UNCOUNTED for node in _inside(part)):
            raise NotCovered("counted repetitions inside each other")
    return Repeat(part, least, most)


def _inside(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, Concatenation | Choice):
            pending += node.parts
        elif isinstance(node, Repeat):
            pending.append(node.part)
