"""tods21, Definition 8.7, letter for letter: the *-runs of an automaton."""

from __future__ import annotations

from cerify.automata.cea.model import CEA
from cerify.semantics.events import Stream, Valuation
from cerify.semantics.predicates import holds


def star_valuations(A: CEA, S: Stream, n: int) -> frozenset[Valuation]:
    """The valuations of the accepting *-runs that end at n; positions are counted from 0."""
    # (q, i, mu): a *-run that ends in q with its last mark at i, -1 before the first.
    pending: list[tuple[int, int, Valuation]] = [(q, -1, frozenset()) for q in A.initial]
    found = set()
    while pending:
        q, i, mu = pending.pop()
        if i == n and q in A.final:
            found.add(mu)
        for j in range(i + 1, n + 1):
            for t in A.leaving[q]:
                if t.marks and holds(t.predicate, S[j]):
                    pending.append((t.target, j, mu | {(variable, j) for variable in t.marks}))
    return frozenset(found)
