"""Regular expressions matched in plain Python, in time linear in the text.

A pattern becomes a nondeterministic automaton (K. Thompson, Regular expression search algorithm, 1968), of which the
sets of states that a text reaches are computed as they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from cerify.semantics.pattern_syntax import (
    WORD,
    Assertion,
    Characters,
    Choice,
    Concatenation,
    Node,
    NotCovered,
    Ranges,
    Repeat,
    Test,
    contains,
    parse,
)

LARGEST_AUTOMATON = 5000  # states
REMEMBERED = 50_000  # steps of one pattern
ACCEPT: Final = 0


class Pattern:
    """A regular expression. Raises PatternError, and NotCovered for what has to be matched by RE2."""

    def __init__(self, text: str) -> None:
        self._automaton = _Automaton(parse(text))
        self._steps: dict[tuple[frozenset[int], str, str], frozenset[int]] = {}

    def matches(self, text: str) -> bool:
        """Whether the pattern matches the text as a whole."""
        automaton, steps, before = self._automaton, self._steps, ""
        states = automaton.start
        for c in text:
            key = states, _kind(before) if automaton.asserts else "", c
            if (then := steps.get(key)) is None:
                if len(steps) >= REMEMBERED:
                    steps.clear()
                then = steps[key] = automaton.step(states, before, c)
            if not then:
                return False
            states, before = then, c
        return automaton.accepts(states, before)


def _kind(c: str) -> str:
    """What assertions see of a character: "" for none, a newline, "w" for one of a word, "." for any other."""
    return c if c in ("", "\n") else "w" if contains(WORD, ord(c)) else "."


class _Automaton:
    """Thompson's automaton. A state reads a character, tests an assertion, or goes on to other states; 0 accepts."""

    def __init__(self, root: Node) -> None:
        self._reads: dict[int, tuple[Ranges, int]] = {}
        self._tests: dict[int, tuple[Assertion, int]] = {}
        self._goes: dict[int, tuple[int, ...]] = {}
        self._size = 1
        self.start = frozenset({self._before(root, ACCEPT)})
        self.asserts = bool(self._tests)

    def step(self, states: frozenset[int], before: str, c: str) -> frozenset[int]:
        """The states after a character, which comes after another one ("" at the beginning)."""
        code = ord(c)
        reads = (self._reads[q] for q in self._closure(states, before, c) if q in self._reads)
        return frozenset(then for ranges, then in reads if contains(ranges, code))

    def accepts(self, states: frozenset[int], before: str) -> bool:
        """Whether a text can end here."""
        return ACCEPT in self._closure(states, before, "")

    def _closure(self, states: frozenset[int], before: str, after: str) -> set[int]:
        found, pending = set[int](), list(states)
        while pending:
            q = pending.pop()
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
        """The state from which a text of the node leads to the state `then`."""
        match node:
            case Characters(ranges):
                q = self._new()
                self._reads[q] = ranges, then
                return q
            case Test(kind):
                q = self._new()
                self._tests[q] = kind, then
                return q
            case Concatenation(parts):
                for part in reversed(parts):
                    then = self._before(part, then)
                return then
            case Choice(parts):
                q = self._new()
                self._goes[q] = tuple(self._before(part, then) for part in parts)
                return q
            case Repeat(part, least, most):
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


TESTS: Mapping[Assertion, Callable[[str, str], bool]] = {
    "begin": lambda before, after: not before,
    "end": lambda before, after: not after,
    "line begin": lambda before, after: before in ("", "\n"),
    "line end": lambda before, after: after in ("", "\n"),
    "boundary": lambda before, after: (_kind(before) == "w") != (_kind(after) == "w"),
    "no boundary": lambda before, after: (_kind(before) == "w") == (_kind(after) == "w"),
}
