"""States that behave alike are one: the quotient by bisimulation, which keeps the valuations and loses states.

It is not the smallest automaton, which would have to be deterministic first; it is what can be had for little.
"""

from __future__ import annotations

from cerify.automata.cea.model import CEA, Marks, Transition
from cerify.semantics.predicates import Predicate


def quotient(A: CEA) -> CEA:
    """An automaton with the same valuations in which no two states have the same steps to the same states."""
    block = _blocks(A)
    number = {b: i for i, b in enumerate(dict.fromkeys(block))}
    of = [number[b] for b in block]
    transitions = (Transition(of[t.source], t.predicate, t.marks, of[t.target]) for t in A.transitions)
    return CEA(
        len(number),
        tuple(dict.fromkeys(transitions)),
        frozenset(of[q] for q in A.initial),
        frozenset(of[q] for q in A.final),
    )


def _blocks(A: CEA) -> list[int]:
    """For each state its block, where the states of a block behave alike.

    Of a block only the states in doubt are looked at, those of which a step leads to a block that was split; all
    others are alike. The largest part keeps the number, so that a state gets a new one no more than log n times.
    """
    labels: dict[tuple[Predicate, Marks], int] = {}
    leaving: list[list[tuple[int, int]]] = [[] for _ in range(A.states)]
    entering: list[list[int]] = [[] for _ in range(A.states)]
    for t in A.transitions:
        leaving[t.source].append((labels.setdefault((t.predicate, t.marks), len(labels)), t.target))
        entering[t.target].append(t.source)
    of = [int(q in A.final) for q in range(A.states)]
    blocks = [{q for q, b in enumerate(of) if b == side} for side in (0, 1)]
    doubtful = {b: set(block) for b, block in enumerate(blocks) if block}
    while doubtful:
        b, some = doubtful.popitem()
        alike: dict[frozenset[tuple[int, int]], set[int]] = {}
        for q in some:
            alike.setdefault(frozenset([(label, of[p]) for label, p in leaving[q]]), set()).add(q)
        rest = blocks[b]
        rest -= some  # no step of these leads to what was split off, so they are like none of the others
        largest, *others = sorted([rest, *alike.values()], key=len, reverse=True)
        blocks[b] = largest
        for part in filter(None, others):
            for q in part:
                of[q] = len(blocks)
            blocks.append(part)
        for part in others:
            for q in part:
                for p in entering[q]:
                    doubtful.setdefault(of[p], set()).add(p)
    return of
