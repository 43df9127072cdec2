"""tods21, proof of Theorem 6.2, letter for letter.

An automaton is the paper's tuple (Q, Delta, I, F); a transition is (p, P, L, q). States are arbitrary values, so that
"a fresh state" and "disjoint sets of states" are had by tagging.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

from cerify.automata.algebra.finite import types
from cerify.automata.cea.model import CEA, Transition, io_determinize
from cerify.semantics.cel import syntax as cel
from cerify.semantics.predicates import Anything, Both, OfType, Predicate

State = Any
Delta = frozenset[tuple[State, Predicate, frozenset[str], State]]
TRUE = Anything()
EMPTY: frozenset[str] = frozenset()
_fresh = count()


class Automaton(NamedTuple):
    """(Q, Delta, I, F)."""

    Q: frozenset[State]
    Delta: Delta
    I: frozenset[State]
    F: frozenset[State]


def construct(phi: cel.Formula, given: Callable[[cel.Formula], Automaton]) -> Automaton:
    """A_phi by the case for phi's operator, given the automata of its operands."""
    match phi:
        case cel.EventAtom(R):
            q1, q2 = next(_fresh), next(_fresh)
            return Automaton(
                frozenset({q1, q2}),
                frozenset({(q1, OfType(R), frozenset({R}), q2), (q1, TRUE, EMPTY, q1)}),
                frozenset({q1}),
                frozenset({q2}),
            )
        case cel.In(psi, A):
            Q, D, I, F = given(psi)
            unmarked = frozenset((p, P, L, q) for p, P, L, q in D if L == EMPTY)
            return Automaton(Q, unmarked | {(p, P, L | {A}, q) for p, P, L, q in D if L != EMPTY}, I, F)
        case cel.Filter(psi, cel.Every(A, P)):
            Q, D, I, F = given(psi)
            others = frozenset((p, P_, L, q) for p, P_, L, q in D if A not in L)
            return Automaton(Q, others | {(p, Both(P, P_), L, q) for p, P_, L, q in D if A in L}, I, F)
        case cel.Seq(psi1, psi2):
            Q1, D1, I1, F1 = given(psi1)
            Q2, D2, I2, F2 = given(psi2)
            bridge = frozenset((p, P, L, q) for q in I2 for p, P, L, q_ in D1 if q_ in F1)
            return Automaton(Q1 | Q2, D1 | D2 | bridge, I1, F2)
        case cel.Plus(psi):
            Q, D, I, F = given(psi)
            return Automaton(Q, D | {(p, P, L, q) for q in I for p, P, L, q_ in D if q_ in F}, I, F)
        case cel.ContiguousSeq(psi1, psi2):
            Q1, D1, I1, F1 = given(psi1)
            Q2, D2, I2, F2 = given(psi2)
            q = next(_fresh)
            ending = frozenset((q1, P, L, q) for q1, P, L, q_ in D1 if L != EMPTY and q_ in F1)
            starting = frozenset((q, P, L, q2) for q_, P, L, q2 in D2 if L != EMPTY and q_ in I2)
            return Automaton(Q1 | Q2 | {q}, D1 | D2 | ending | starting, I1, F2)
        case cel.ContiguousPlus(psi):
            Q, D, I, F = given(psi)
            q = next(_fresh)
            ending = frozenset((q1, P, L, q) for q1, P, L, q_ in D if L != EMPTY and q_ in F)
            starting = frozenset((q, P, L, q2) for q_, P, L, q2 in D if L != EMPTY and q_ in I)
            return Automaton(Q | {q}, D | ending | starting, I, F)
        case cel.Or(psi1, psi2):
            Q1, D1, I1, F1 = given(psi1)
            Q2, D2, I2, F2 = given(psi2)
            return Automaton(Q1 | Q2, D1 | D2, I1 | I2, F1 | F2)
        case cel.Project(L, psi):
            Q, D, I, F = given(psi)
            return Automaton(Q, frozenset((p, P, L & L_, q) for p, P, L_, q in D), I, F)
        case cel.Start(psi):
            Q, D, I, F = given(psi)
            q = next(_fresh)
            leaving = frozenset((q, P, L, p) for q_, P, L, p in D if L != EMPTY and q_ in I)
            return Automaton(Q | {q}, D | leaving, frozenset({q}), F)
        case cel.And(psi1, psi2):
            Q1, D1, I1, F1 = given(psi1)
            Q2, D2, I2, F2 = given(psi2)
            both = frozenset(
                ((q1, q2), Both(P1, P2), L, (p1, p2)) for q1, P1, L, p1 in D1 for q2, P2, L2, p2 in D2 if L == L2
            )
            return Automaton(times(Q1, Q2), both, times(I1, I2), times(F1, F2))
        case cel.All(psi1, psi2):
            Q1, D1, I1, F1 = without_incoming_and_outgoing(given(psi1))
            Q2, D2, I2, F2 = without_incoming_and_outgoing(given(psi2))
            lockstep = frozenset(
                ((q1, q2), Both(P1, P2), L1 | L2, (p1, p2)) for q1, P1, L1, p1 in D1 for q2, P2, L2, p2 in D2
            )
            second_alone = frozenset(((q1, q2), P2, L2, (q1, p2)) for q1 in I1 | F1 for q2, P2, L2, p2 in D2)
            first_alone = frozenset(((q1, q2), P1, L1, (p1, q2)) for q2 in I2 | F2 for q1, P1, L1, p1 in D1)
            return Automaton(times(Q1, Q2), lockstep | second_alone | first_alone, times(I1, I2), times(F1, F2))
        case cel.Unless(psi1, psi2):
            Q1, D1, I1, F1 = given(psi1)
            QE, DE, IE, FE = lifted(io_determinize_complete(numbered(given(cel.Project(EMPTY, psi2)))))
            both = frozenset(
                ((q1, q2), Both(P1, P2), L, (p1, p2)) for q1, P1, L, p1 in D1 for q2, P2, L2, p2 in DE if L2 == EMPTY
            )
            return Automaton(times(Q1, QE), both, times(I1, IE), times(F1, QE - FE))
        case _:
            raise NotImplementedError(f"the proof has no case for {type(phi).__name__}")


def times(Q1: frozenset[State], Q2: frozenset[State]) -> frozenset[State]:
    """Q1 x Q2."""
    return frozenset((q1, q2) for q1 in Q1 for q2 in Q2)


def without_incoming_and_outgoing(A: Automaton) -> Automaton:
    """The assumption of the case ALL, by the copies that the text describes: initial states first, then final ones."""
    Q, D, I, F = A
    copy = {q: next(_fresh) for q in I}
    D = frozenset((p, P, L, copy.get(q, q)) for p, P, L, q in D)
    D |= frozenset((copy[p], P, L, q) for p, P, L, q in D if p in copy)
    F |= frozenset(copy[q] for q in F if q in copy)
    Q |= frozenset(copy.values())
    end = {q: next(_fresh) for q in F}
    D |= frozenset((p, P, L, end[q]) for p, P, L, q in D if q in end)
    return Automaton(Q | frozenset(end.values()), D, I, frozenset(end.values()))


def io_determinize_complete(A: CEA) -> CEA:
    """Proposition 5.5 with its state for the empty set, which the complement in the case UNLESS needs."""
    B = io_determinize(A)
    sink, skip = B.states, EMPTY
    missing = tuple(
        Transition(q, P, skip, sink)
        for q in range(B.states)
        for _, P in types(A.predicates)
        if not any(t.source == q and t.predicate == P for t in B.transitions)
    )
    loop = (Transition(sink, TRUE, skip, sink),)
    return CEA(B.states + 1, B.transitions + missing + loop, B.initial, B.final)


def lifted(A: CEA) -> Automaton:
    """An automaton of the library as the paper's tuple, its states made fresh."""
    q = [next(_fresh) for _ in range(A.states)]
    Delta = frozenset((q[t.source], t.predicate, t.marks, q[t.target]) for t in A.transitions)
    return Automaton(frozenset(q), Delta, frozenset(q[p] for p in A.initial), frozenset(q[p] for p in A.final))


def numbered(A: Automaton) -> CEA:
    """The same automaton with its states numbered, for running it."""
    number = {q: i for i, q in enumerate(sorted(A.Q, key=repr))}
    transitions = tuple(Transition(number[p], P, L, number[q]) for p, P, L, q in sorted(A.Delta, key=repr))
    return CEA(len(number), transitions, frozenset(number[q] for q in A.I), frozenset(number[q] for q in A.F))
