"""Looking through all queries of SASE+ and all streams to a size, and what a difference looks like in the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

from cerify.semantics.events import Bindings, Stream
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.denote import bindings
from cerify.semantics.sase.syntax import show
from proofs_tests.claims.ledger import Evidence, Finding
from proofs_tests.unit.semantics.sase_cases import events, query, shown

Find = Callable[[sase.SaseQuery, Stream], set[Bindings]]


def streams(length: int, letters: tuple[str, ...]) -> Iterator[Stream]:
    """All streams of 1 to `length` events, an event a second, the shorter first."""
    for n in range(1, length + 1):
        for word in product(letters, repeat=n):
            yield events(" ".join(f"{letter}@{time}" for time, letter in enumerate(word)))


def difference(
    cases: Iterable[tuple[sase.SaseQuery, Stream]], expected: Find, got: Find, contained: bool = False
) -> tuple[dict[str, Any] | None, int]:
    """The first case in which the two differ, or what is expected is not all got; and how many were looked at."""
    looked_at = 0
    for q, S in cases:
        looked_at += 1
        left, right = expected(q, S), got(q, S)
        if left - right or (right - left and not contained):
            return counterexample(q, S, left, right), looked_at
    return None, looked_at


def counterexample(q: sase.SaseQuery, S: Stream, expected: set[Bindings], got: set[Bindings]) -> dict[str, Any]:
    """A difference, as the ledger shows it: a match is the positions of each component."""
    said = [{"type": e.type, **e.attributes} for e in S]
    return {"query": show(q), "events": said, "expected": shown(expected), "got": shown(got)}


def example(text: str, S: str, got: Iterable[str]) -> dict[str, Any]:
    """A query and a stream on which something else is got than the query means."""
    return {
        "query": text,
        "events": [{"type": e.type, **e.attributes} for e in events(S)],
        "expected": shown(bindings(query(text), events(S))),
        "got": sorted(got),
    }


def passed(ok: bool, bound: str, evidence: Evidence) -> Finding:
    return Finding("holds" if ok else "refuted", evidence, bound)
