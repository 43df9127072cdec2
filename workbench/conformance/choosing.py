"""Which of many candidates become cases of a suite: those that tell wrong semantics from the meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

Candidate = TypeVar("Candidate")


def telling(candidates: Iterable[tuple[Candidate, frozenset[str]]], count: int) -> Iterator[Candidate]:
    """The candidates, each given with the mutants that it kills, that kill the most; of equally good ones the first.

    A mutant counts less the more often it is killed already.
    """
    remaining = list(candidates)
    often: Counter[str] = Counter()
    for _ in range(count):
        # sorted, since a sum of floats depends on the order of its terms
        best = max(remaining, key=lambda candidate: sum(1 / (1 + often[name]) ** 2 for name in sorted(candidate[1])))
        remaining.remove(best)
        often.update(best[1])
        yield best[0]
