"""Leaving out the states and transitions that no accepting run uses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from cerify.automata.algebra.event_types import satisfiable
from cerify.automata.cea.model import CEA
from cerify.semantics.predicates import Atomic


def trim(A: CEA) -> CEA:
    """An automaton with the same runs that accept, without dead states and with the rest renumbered."""
    combined = {t.predicate for t in A.transitions if not isinstance(t.predicate, Atomic)}
    empty = {P for P in combined if not satisfiable(P)}
    alive = [t for t in A.transitions if t.predicate not in empty] if empty else A.transitions
    forward, backward = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for t in alive:
        forward[t.source].append(t.target)
        backward[t.target].append(t.source)
    kept = sorted(_reachable(A.initial, forward) & _reachable(A.final, backward))
    number = {q: i for i, q in enumerate(kept)}
    return CEA(
        len(kept),
        tuple(
            t._replace(source=number[t.source], target=number[t.target])
            for t in alive
            if t.source in number and t.target in number
        ),
        frozenset(number[q] for q in A.initial if q in number),
        frozenset(number[q] for q in A.final if q in number),
    )


def _reachable(starts: frozenset[int], edges: Mapping[int, list[int]]) -> set[int]:
    found, pending = set(starts), list(starts)
    while pending:
        new = set(edges.get(pending.pop(), ())) - found
        found |= new
        pending += new
    return found
