"""Which of many candidates become cases of a suite: those that tell wrong semantics, the mutants, from the meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

Answer = TypeVar("Answer")
Candidate = TypeVar("Candidate")


def departing(right: Answer, found: Iterable[tuple[str, Answer | None]]) -> frozenset[str]:
    """The mutants, each given with its answer, that give another one than is right; None is no answer."""
    return frozenset(name for name, wrong in found if wrong is not None and wrong != right)


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
