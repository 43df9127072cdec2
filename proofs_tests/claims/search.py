"""Looking for a difference between two things that should mean the same: all small cases, smallest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import Interpreter
from cerify.semantics.cel.show import show
from cerify.semantics.events import Event, Stream, Valuation
from cerify.semantics.json_events import json_of_event
from cerify.semantics.predicates import Attribute, Comparison, Constant

Output = Callable[[cel.Formula, Stream], list[frozenset[Valuation]]]

EVENTS = (Event("A", {"x": 0}), Event("A", {"x": 1}), Event("B", {"x": 0}))
POSITIVE = Comparison(">", Attribute("x"), Constant(0))

UNARY: dict[str, Callable[[cel.Formula], cel.Formula]] = {
    "in": lambda phi: cel.In(phi, "X"),
    "filter": lambda phi: cel.Filter(phi, cel.Every("A", POSITIVE)),
    "plus": cel.Plus,
    "cplus": cel.ContiguousPlus,
}
BINARY: dict[str, Callable[[cel.Formula, cel.Formula], cel.Formula]] = {
    "seq": cel.Seq,
    "cseq": cel.ContiguousSeq,
    "or": cel.Or,
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


def formulas(size: int, operators: Iterable[str]) -> Iterator[cel.Formula]:
    """All formulas of exactly the size in nodes over A, B and the operators."""
    operators = list(operators)
    if size == 1:
        yield from (cel.Event("A"), cel.Event("B"))
    for name in operators:
        if name in UNARY and size > 1:
            yield from (UNARY[name](phi) for phi in formulas(size - 1, operators))
        if name in BINARY:
            for left in range(1, size - 1):
                for phi, psi in product(formulas(left, operators), formulas(size - 1 - left, operators)):
                    yield BINARY[name](phi, psi)


def streams(length: int) -> Iterator[Stream]:
    """All streams of the length over three events that tell types and values apart."""
    return (Stream(events) for events in product(EVENTS, repeat=length))


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


def small_cases(
    operator: str, operators: Iterable[str], nodes: int, events: int
) -> Iterator[tuple[cel.Formula, Stream]]:
    """All formulas to a size with the operator at the root, with all streams to a length, smallest sums first."""
    kind = type((UNARY | BINARY)[operator](*[cel.Event("A")] * (1 if operator in UNARY else 2)))  # type: ignore[operator]
    operators = list(operators)
    for total in range(2, nodes + events + 1):
        for size in range(max(1, total - events), min(nodes, total - 1) + 1):
            for phi in formulas(size, operators):
                if isinstance(phi, kind):
                    yield from ((phi, S) for S in streams(total - size))
