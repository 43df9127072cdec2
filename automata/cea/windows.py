"""WITHIN n EVENTS as a construction: the automaton counts the events since its first mark.

Not in the paper, where a window is a filter across events and so no matter for automata; but the position needs no
attribute, so a finite count will do. A long window makes a large automaton: around a whole formula an evaluator does
better without (automata/evaluate/scope.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from cerify.automata.cea.model import CEA
from cerify.automata.cea.reachable_cea import Label, reachable_cea
from cerify.semantics.budget import Budget


def within_events(A: CEA, count: int, budget: Budget) -> CEA:
    """Those valuations of A that bind something and whose first and last events are less than count apart."""

    def successors(state: tuple[int, int]) -> Iterator[tuple[Label, tuple[int, int]]]:
        q, seen = state  # seen: how many events of the window there were, none before the first mark
        for t in A.leaving[q]:
            if t.marks and seen < count:
                yield (t.predicate, t.marks), (t.target, seen + 1)
            elif not t.marks:
                yield (t.predicate, t.marks), (t.target, min(seen + 1, count) if seen else 0)

    starts = [(q, 0) for q in sorted(A.initial)]
    what = f"the automaton of a window of {count} events"
    return reachable_cea(starts, successors, lambda state: state[0] in A.final and state[1] > 0, budget, what)
