"""cep17, proof of Proposition 1, letter for letter: union, intersection, I/O-determinization and complement.

A CEA of cep17 marks a position or not, and its runs end with a mark; complex_events says what it outputs.
"""

from __future__ import annotations

from itertools import product

from cerify.automata.algebra.finite import types
from cerify.automata.cea.model import CEA, MARKED, UNMARKED, Transition
from cerify.semantics.cel.denote import sup
from cerify.semantics.events import ComplexEvent, Stream
from cerify.semantics.predicates import Both
from proofs_tests.claims import cea_runs

SYMBOLS = (MARKED, UNMARKED)


def complex_events(A: CEA, S: Stream, n: int) -> frozenset[ComplexEvent]:
    return frozenset(C for C in map(sup, cea_runs.valuations(A, S, n)) if n in C)


def union(A: CEA, B: CEA) -> CEA:
    shifted = (t._replace(source=t.source + A.states, target=t.target + A.states) for t in B.transitions)
    return CEA(
        A.states + B.states,
        (*A.transitions, *shifted),
        A.initial | {q + A.states for q in B.initial},
        A.final | {q + A.states for q in B.final},
    )


def intersection(A: CEA, B: CEA) -> CEA:
    def pair(p: int, q: int) -> int:
        return p * B.states + q

    both = tuple(
        Transition(pair(t.source, u.source), Both(t.predicate, u.predicate), t.marks, pair(t.target, u.target))
        for t, u in product(A.transitions, B.transitions)
        if t.marks == u.marks
    )
    starts, ends = product(A.initial, B.initial), product(A.final, B.final)
    return CEA(A.states * B.states, both, frozenset(pair(*pq) for pq in starts), frozenset(pair(*pq) for pq in ends))


def determinized(A: CEA) -> CEA:
    """All sets of states, numbered as bit masks; of each a transition for every type and symbol."""
    found = []
    split = types(A.predicates)
    for R in range(2**A.states):
        for chosen, P in split:
            satisfied = {A.predicates[i] for i in chosen}
            for symbol in SYMBOLS:
                U = {
                    t.target
                    for t in A.transitions
                    if R >> t.source & 1 and t.marks == symbol and t.predicate in satisfied
                }
                found.append(Transition(R, P, symbol, sum(1 << q for q in U)))
    final = frozenset(R for R in range(2**A.states) if any(R >> q & 1 for q in A.final))
    return CEA(2**A.states, tuple(found), frozenset({sum(1 << q for q in A.initial)}), final)


def complement(A: CEA) -> CEA:
    D = determinized(A)
    return CEA(D.states, D.transitions, D.initial, frozenset(range(D.states)) - D.final)
