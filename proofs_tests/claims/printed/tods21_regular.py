"""tods21, proofs of Theorems 6.3 and 8.9: from an automaton to a formula, letter for letter.

States are numbered from 0 instead of 1. Each proof defines phi_ij^k for the runs from i to j by way of states below k;
the recursion that the text prints, and the corrected one, are arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, reduce

from cerify.automata.cea.model import CEA, Transition
from cerify.equivalence.decide.cel import NEVER
from cerify.semantics.cel import syntax as cel

TYPES = ("A", "B")
FRESH = "fresh"

Step = Callable[[cel.Formula, cel.Formula, cel.Formula, cel.Formula], cel.Formula]
"""phi_ij^k from phi_ij, phi_ik, phi_kk and phi_kj, all of k - 1."""

FALSE: cel.Formula = cel.Filter(cel.EventAtom(TYPES[0]), cel.Every(TYPES[0], NEVER))


def either(formulas: Sequence[cel.Formula]) -> cel.Formula:
    return reduce(cel.Or, formulas) if formulas else FALSE


def one_initial_one_final(A: CEA) -> CEA:
    """The step taken without loss of generality: state 0 is initial, the last one final, and they are no other's."""
    start, end = 0, A.states + 1
    inner = [t._replace(source=t.source + 1, target=t.target + 1) for t in A.transitions]
    starting = [t._replace(source=start) for t in inner if t.source - 1 in A.initial]
    ending = [t._replace(target=end) for t in (*inner, *starting) if t.target - 1 in A.final]
    return replace(
        A,
        states=A.states + 2,
        transitions=tuple(dict.fromkeys((*inner, *starting, *ending))),
        initial=frozenset({start}),
        final=frozenset({end}),
    )


def from_first_to_last(A: CEA, base: Callable[[Iterable[Transition]], cel.Formula], step: Step) -> cel.Formula:
    """phi_1n by the recursion; phi is FALSE where both its parts are, which shortens it and nothing else."""

    @cache
    def phi(i: int, j: int, k: int) -> cel.Formula:
        if k == 0:
            return base([t for t in A.transitions if (t.source, t.target) == (i, j)])
        before, entering, leaving = phi(i, j, k - 1), phi(i, k - 1, k - 1), phi(k - 1, j, k - 1)
        if entering is FALSE or leaving is FALSE:
            return before
        through = step(before, entering, phi(k - 1, k - 1, k - 1), leaving)
        return through.right if before is FALSE and isinstance(through, cel.Or) else through

    return phi(0, A.states - 1, A.states)


# --- Theorem 6.3 ------------------------------------------------------------------------------------------------------


def contiguous_step(ij: cel.Formula, ik: cel.Formula, kk: cel.Formula, kj: cel.Formula) -> cel.Formula:
    through: cel.Formula = cel.ContiguousSeq(ik, kj)
    if kk is not FALSE:
        through = cel.Or(through, cel.ContiguousSeq(cel.ContiguousSeq(ik, cel.ContiguousPlus(kk)), kj))
    return cel.Or(ij, through)


def of_transition(t: Transition, keep: frozenset[str]) -> cel.Formula:
    """psi_t, projected on L and the variables to keep: none, as printed, or the fresh one."""
    psi: cel.Formula = either([cel.EventAtom(R) for R in TYPES])
    for variable in sorted(t.marks | {FRESH}):
        psi = cel.In(psi, variable)
    return cel.Project(t.marks | keep, cel.Filter(psi, cel.Every(FRESH, t.predicate)))


def theorem_6_3(A: CEA) -> cel.Formula:
    """phi_A as printed."""
    return cel.Start(
        from_first_to_last(A, lambda ts: either([of_transition(t, frozenset()) for t in ts]), contiguous_step)
    )


def theorem_6_3_corrected(A: CEA) -> cel.Formula:
    """phi_A with every event marked by the fresh variable, which is projected away at the end."""
    keep = frozenset({FRESH})
    phi = cel.Start(from_first_to_last(A, lambda ts: either([of_transition(t, keep) for t in ts]), contiguous_step))
    return cel.Project(frozenset[str]().union(*(t.marks for t in A.transitions)), phi)


# --- Theorem 8.9 ------------------------------------------------------------------------------------------------------


def star_step(ij: cel.Formula, ik: cel.Formula, kk: cel.Formula, kj: cel.Formula) -> cel.Formula:
    """As printed: once by way of k, or twice."""
    through: cel.Formula = cel.Seq(ik, kj)
    return cel.Or(ij, through if kk is FALSE else cel.Or(through, cel.Seq(cel.Seq(ik, kk), kj)))


def star_step_iterated(ij: cel.Formula, ik: cel.Formula, kk: cel.Formula, kj: cel.Formula) -> cel.Formula:
    """With phi_kk+ in the place of phi_kk."""
    return star_step(ij, ik, kk if kk is FALSE else cel.Plus(kk), kj)


def of_marking(ts: Iterable[Transition]) -> cel.Formula:
    """The rho_P; the filter is put on a variable that stands for the one event, since the text leaves it out."""
    events = cel.In(either([cel.EventAtom(R) for R in TYPES]), FRESH)
    return either([cel.Filter(events, cel.Every(FRESH, t.predicate)) for t in ts if t.marks])


def theorem_8_9(A: CEA, step: Step) -> cel.Formula:
    """phi_A in CEL*."""
    return from_first_to_last(A, of_marking, step)
