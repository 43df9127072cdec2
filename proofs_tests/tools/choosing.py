"""Which of many candidates become cases of a suite: those that kill mutants, which are wrong semantics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

Candidate = TypeVar("Candidate")


def most_killing(candidates: Iterable[tuple[Candidate, frozenset[str]]], count: int) -> Iterator[Candidate]:
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


def greedy_cover(candidates: Iterable[tuple[Candidate, frozenset[str]]], most: int) -> Iterator[Candidate]:
    """At least one candidate, and more as long as they kill mutants that none before did, the best first."""
    remaining = list(candidates)
    killed: frozenset[str] = frozenset()
    for number in range(most):
        best = max(remaining, key=lambda candidate: len(candidate[1] - killed), default=None)
        if best is None or (number and not best[1] - killed):
            return
        remaining.remove(best)
        killed |= best[1]
        yield best[0]
