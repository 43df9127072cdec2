"""tods21, Definition 8.7: the *-runs of an automaton, and their valuations with the index that is meant.

By the letter the valuation of a run of k steps is μ(A) = {i_k | A ∈ L_i}, which has the last position only, and
positions begin with 1: the entry tods21.def8.7 is about that. Here μ(A) = {i_j | A ∈ L_j}, and they begin with 0.
"""

from __future__ import annotations

from typing import TypeAlias

from cerify.automata.cea.model import CEA
from cerify.semantics.events import Stream, Valuation
from cerify.semantics.predicates import holds

Run: TypeAlias = tuple[tuple[int, frozenset[str]], ...]
"""The steps of a *-run: the position of each, and the variables that it marks."""


def star_runs(A: CEA, S: Stream, n: int) -> list[Run]:
    """Return the accepting *-runs that end at n."""
    pending: list[tuple[int, Run]] = [(q, ()) for q in A.initial]
    found = []
    while pending:
        q, run = pending.pop()
        i = run[-1][0] if run else -1
        if i == n and q in A.final:
            found.append(run)
        for j in range(i + 1, n + 1):
            for t in A.leaving[q]:
                if t.marks and holds(t.predicate, S[j]):
                    pending.append((t.target, (*run, (j, t.marks))))
    return found


def star_valuations(A: CEA, S: Stream, n: int) -> frozenset[Valuation]:
    """Return the valuations of the accepting *-runs that end at n."""
    return frozenset(frozenset((variable, i) for i, marks in run for variable in marks) for run in star_runs(A, S, n))
