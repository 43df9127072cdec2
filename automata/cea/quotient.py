"""States that behave alike are one: the quotient by bisimulation, which keeps the valuations and loses states.

It is not the smallest automaton, which would have to be deterministic first; it is what can be had for little.
"""

from __future__ import annotations

from cerify.automata.cea.model import CEA, Transition


def quotient(A: CEA) -> CEA:
    """An automaton with the same valuations in which no two states have the same steps to the same states."""
    of = [int(q in A.final) for q in range(A.states)]
    classes = len(set(of))
    while True:
        behaviour = [
            (of[q], frozenset((t.predicate, t.marks, of[t.target]) for t in leaving))
            for q, leaving in enumerate(A.leaving)
        ]
        number = {kind: i for i, kind in enumerate(dict.fromkeys(behaviour))}
        of = [number[kind] for kind in behaviour]
        if len(number) == classes:
            break
        classes = len(number)
    transitions = (Transition(of[t.source], t.predicate, t.marks, of[t.target]) for t in A.transitions)
    return CEA(
        classes,
        tuple(dict.fromkeys(transitions)),
        frozenset(of[q] for q in A.initial),
        frozenset(of[q] for q in A.final),
    )
