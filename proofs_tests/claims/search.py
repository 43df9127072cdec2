"""Looking for a difference between two things that should mean the same: all small cases, smallest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product, starmap
from typing import Any

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.syntax import show
from cerify.semantics.events import Event, Stream, Valuation
from cerify.semantics.json_events import json_of_event
from cerify.semantics.predicates import Attribute, Comparison, Constant

Output = Callable[[cel.Formula, Stream], list[frozenset[Valuation]]]

EVENTS = (Event("A", {"x": 0}), Event("A", {"x": 1}), Event("B", {"x": 0}))
ONE_EVENT = (Event("A", {"x": 0}),)
POSITIVE = Comparison(">", Attribute("x"), Constant(0))
EQUAL = Comparison("=", Attribute("x", "A"), Attribute("x", "B"))

UNARY: dict[str, Callable[[cel.Formula], cel.Formula]] = {
    "in": lambda phi: cel.In(phi, "X"),
    "filter": lambda phi: cel.Filter(phi, cel.Every("A", POSITIVE)),
    "correlated": lambda phi: cel.Filter(phi, cel.Correlated(EQUAL)),
    "plus": cel.Plus,
    "cplus": cel.ContiguousPlus,
    "project": lambda phi: cel.Project(frozenset({"A"}), phi),
    "start": cel.Start,
    "strict": cel.Strict,
    "nxt": cel.Next,
    "last": cel.Last,
    "max": cel.Max,
}
BINARY: dict[str, Callable[[cel.Formula, cel.Formula], cel.Formula]] = {
    "seq": cel.Seq,
    "cseq": cel.ContiguousSeq,
    "or": cel.Or,
    "and": cel.And,
    "all": cel.All,
    "unless": cel.Unless,
}


@dataclass(frozen=True)
class Difference:
    """A formula and a stream on which two things differ at a position."""

    phi: cel.Formula
    S: Stream
    position: int
    expected: frozenset[Valuation]
    got: frozenset[Valuation]

    def as_json(self) -> dict[str, Any]:
        """The query, the stream, and both results as sorted lists of (variable, position)."""
        return {
            "query": show(self.phi),
            "events": [json_of_event(event) for event in self.S],
            "at": self.position,
            "expected": sorted(sorted(mu) for mu in self.expected),
            "got": sorted(sorted(mu) for mu in self.got),
        }


@dataclass(frozen=True)
class Space:
    """All formulas to a size over some operators and types, and all streams to a length over some events.

    With leaves, formulas that count as one node each stand in the place of the types.
    """

    operators: tuple[str, ...]
    nodes: int
    events: int
    alphabet: tuple[Event, ...] = EVENTS
    leaves: tuple[cel.Formula, ...] = ()

    @property
    def atoms(self) -> tuple[cel.Formula, ...]:
        """The formulas of one node."""
        return self.leaves or tuple(map(cel.EventAtom, dict.fromkeys(event.type for event in self.alphabet)))

    @property
    def _leaves_in_words(self) -> str:
        """Return which leaves these are; nothing for the types A and B, which the page says once."""
        leaves = " and ".join(map(show, self.leaves)) or ", ".join(map(show, self.atoms))
        return "" if leaves == "A, B" else f" over {leaves}"

    @property
    def formulas_in_words(self) -> str:
        """Which formulas the space has."""
        return f"all formulas to {self.nodes} nodes{self._leaves_in_words} with {', '.join(self.operators)}"

    def describe(self, root: str | None = None) -> str:
        """What the space covers, in words and numbers; with a root, of those operators only that fit below it."""
        streams = f"all streams to {self.events} events over {len(self.alphabet)} tuple{'s' * (len(self.alphabet) > 1)}"
        if root is None:
            return f"{self.formulas_in_words}, {streams}"
        left = self.nodes - (2 if root in BINARY else 1)
        below = ", ".join(name for name in self.operators if left >= (3 if name in BINARY else 2))
        on_top = f"the operator on top of {below or 'types'}"
        return f"all formulas to {self.nodes} nodes{self._leaves_in_words} with {on_top}, {streams}"

    def formulas(self, size: int) -> Iterator[cel.Formula]:
        """All formulas of exactly the size in nodes."""
        if size == 1:
            yield from self.atoms
        for name in self.operators:
            yield from self.rooted(name, size)

    def rooted(self, root: str, size: int) -> Iterator[cel.Formula]:
        """All formulas of exactly the size with the operator root on top and those of the space below it."""
        if root in UNARY and size > 1:
            yield from map(UNARY[root], self.formulas(size - 1))
        if root in BINARY:
            for left in range(1, size - 1):
                yield from starmap(BINARY[root], product(self.formulas(left), self.formulas(size - 1 - left)))

    def topped(self, root: str) -> Iterator[cel.Formula]:
        """All formulas to the size with the operator root on top, smallest first."""
        for size in range(1, self.nodes + 1):
            yield from self.rooted(root, size)

    def every(self) -> Iterator[cel.Formula]:
        """All formulas to the size, smallest first."""
        for size in range(1, self.nodes + 1):
            yield from self.formulas(size)

    def streams(self, length: int) -> Iterator[Stream]:
        """All streams of the length."""
        return map(Stream, product(self.alphabet, repeat=length))

    def cases(self, root: str) -> Iterator[tuple[cel.Formula, Stream]]:
        """All formulas with the operator root on top, with all streams; the sum of their sizes grows."""
        for total in range(2, self.nodes + self.events + 1):
            for size in range(max(1, total - self.events), min(self.nodes, total - 1) + 1):
                yield from product(self.rooted(root, size), self.streams(total - size))


def meaning(phi: cel.Formula, S: Stream) -> list[frozenset[Valuation]]:
    """The valuations of phi at each position of S."""
    interpreter = Interpreter(S)
    return [interpreter.meaning(phi, 0, n) for n in range(len(S))]


def first_difference(candidate: Output, cases: Iterable[tuple[cel.Formula, Stream]]) -> tuple[Difference | None, int]:
    """The first case in which the candidate departs from the meaning, and how many cases were looked at."""
    looked_at = 0
    for phi, S in cases:
        looked_at += 1
        expected, got = meaning(phi, S), candidate(phi, S)
        for n in range(len(S)):
            if expected[n] != got[n]:
                return Difference(phi, S, n, expected[n], got[n]), looked_at
    return None, looked_at
