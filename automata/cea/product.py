"""Two complex event automata run at once: the operators AND, ALL and UNLESS (tods21, Theorem 6.2).

Two cases differ from the printed ones. ALL: an operand that waits, or is done, is in a state of its own, so that it can
be so only before its run and after it. UNLESS: the printed case looks for matches of the right operand on the whole
interval only; here they are looked for on every interval inside, as Figure 3 has it. See docs/errata.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.io_determinize import io_determinize
from cerify.automata.cea.model import CEA, UNMARKED, Marks, Transition
from cerify.automata.cea.reachable_cea import reachable_cea
from cerify.semantics.budget import Budget
from cerify.semantics.predicates import Anything, Both, Predicate

Pair: TypeAlias = tuple[int, int]
Step: TypeAlias = tuple[tuple[Predicate, Marks], Pair]

PRODUCT = "the product automaton"


def conjunction(A: CEA, B: CEA, budget: Budget) -> CEA:
    """AND: both make the same marks."""

    def successors(pair: Pair) -> Iterator[Step]:
        for t in A.leaving[pair[0]]:
            for u in B.leaving[pair[1]]:
                if t.marks == u.marks:
                    yield (intersection(t.predicate, u.predicate), t.marks), (t.target, u.target)

    starts = [(p, q) for p in A.initial for q in B.initial]
    return reachable_cea(starts, successors, lambda pair: pair[0] in A.final and pair[1] in B.final, budget, PRODUCT)


def interleaving(A: CEA, B: CEA, budget: Budget) -> CEA:
    """ALL: each makes its run on an interval of its own; one of them begins at the start, one ends at the end.

    An operand that may skip anything before it marks need not wait for its interval: it has the same runs without.
    """
    waits_a, waits_b = not _skips_first(A), not _skips_first(B)
    A, B = _with_rests(A), _with_rests(B)

    def successors(pair: Pair) -> Iterator[Step]:
        for t in A.leaving[pair[0]]:
            for u in B.leaving[pair[1]]:
                yield (intersection(t.predicate, u.predicate), t.marks | u.marks), (t.target, u.target)

    starts = [(p, q) for p in A.initial for q in B.initial]
    starts += [(A.states - 2, q) for q in B.initial if waits_a] + [(p, B.states - 2) for p in A.initial if waits_b]

    def accepts(pair: Pair) -> bool:
        p, q = pair
        ends_a, ends_b = p in A.final, q in B.final
        return (ends_a and (ends_b or q == B.states - 1)) or (ends_b and p == A.states - 1)

    return reachable_cea(starts, successors, accepts, budget, PRODUCT)


def _skips_first(A: CEA) -> bool:
    """Whether each run may as well begin later: any event may be skipped in each initial state."""
    return all((q, Anything(), UNMARKED, q) in A.leaving[q] for q in A.initial)


def unless(A: CEA, B: CEA, algebra: Algebra) -> CEA:
    """UNLESS: what A has on an interval if B has nothing on any interval inside."""
    budget = algebra.budget
    guard = io_determinize(_anywhere(B.remarked(dict.fromkeys(B.marks, UNMARKED))), budget, algebra)

    def successors(pair: Pair) -> Iterator[Step]:
        for t in A.leaving[pair[0]]:
            for u in guard.leaving[pair[1]]:
                yield (intersection(t.predicate, u.predicate), t.marks), (t.target, u.target)

    # The determinized guard has a transition for every event: its first state loops, and so does every subset with it.
    starts = [(p, q) for p in A.initial for q in guard.initial]
    return reachable_cea(
        starts, successors, lambda pair: pair[0] in A.final and pair[1] not in guard.final, budget, PRODUCT
    )


def intersection(P: Predicate, Q: Predicate) -> Predicate:
    """The predicate of the events in both."""
    if Anything() == P or P == Q:
        return Q
    return P if Anything() == Q else Both(P, Q)


def separate_start(A: CEA) -> CEA:
    """The same runs from a single fresh initial state, the last one, that no transition leads to."""
    start = A.states
    leaving = (t._replace(source=start) for t in A.transitions if t.source in A.initial)
    return replace(
        A, states=A.states + 1, transitions=tuple(dict.fromkeys((*A.transitions, *leaving))), initial=frozenset({start})
    )


def _with_rests(A: CEA) -> CEA:
    """With two more states: one to wait in before the run, the last but one, and one to rest in after it, the last."""
    A = separate_start(A)
    wait, done = A.states, A.states + 1
    skip = Anything()
    rests = [Transition(wait, skip, UNMARKED, wait), Transition(done, skip, UNMARKED, done)]
    rests += [Transition(wait, skip, UNMARKED, q) for q in A.initial]
    rests += [Transition(q, skip, UNMARKED, done) for q in A.final]
    return replace(A, states=A.states + 2, transitions=(*A.transitions, *rests))


def _anywhere(A: CEA) -> CEA:
    """An automaton without marks that accepts where A does on some interval inside the one that is read."""
    A = separate_start(A)
    begin, found = A.states, A.states + 1
    skip = Anything()
    bridges = [Transition(begin, skip, UNMARKED, begin), Transition(found, skip, UNMARKED, found)]
    bridges += [t._replace(source=begin) for t in A.transitions if t.source in A.initial]
    bridges += [
        t._replace(source=begin, target=found) for t in A.transitions if t.source in A.initial and t.target in A.final
    ]
    bridges += [t._replace(target=found) for t in A.transitions if t.target in A.final]
    return CEA(A.states + 2, (*A.transitions, *dict.fromkeys(bridges)), frozenset({begin}), frozenset({found}))
