"""The Boolean operations on complex event automata, and the smallest I/O-deterministic one (cep17, Proposition 1).

Two automata are combined as sets of valuations: at every position of every stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.io_determinize import io_determinize
from cerify.automata.cea.model import CEA, UNMARKED, Marks, Transition
from cerify.automata.cea.product import conjunction
from cerify.automata.cea.reachable_cea import Label, reachable_cea
from cerify.automata.cea.trim import trim
from cerify.automata.minimize import classes
from cerify.automata.subsets import Subset, members, subset
from cerify.semantics.budget import Budget


def union(A: CEA, B: CEA) -> CEA:
    """The valuations of either: the two side by side."""
    states, B = A.states + B.states, B.shifted(A.states)
    return CEA(states, A.transitions + B.transitions, A.initial | B.initial, A.final | B.final)


def intersection(A: CEA, B: CEA, budget: Budget = Budget()) -> CEA:
    """The valuations of both. Raises BudgetExceeded."""
    return conjunction(A, B, budget)


def complement(A: CEA, marks: Iterable[Marks] = (), budget: Budget = Budget()) -> CEA:
    """All valuations that A has not, of those that mark each event with one of A's sets of variables, or with none.

    marks are further sets of variables to mark with. Raises BudgetExceeded.
    """
    algebra = Algebra(A.predicates, budget)
    allowed = dict.fromkeys((UNMARKED, *(t.marks for t in A.transitions), *marks))
    types = [(P, {A.predicates[i] for i in chosen}) for chosen, P in algebra.types(A.predicates)]
    final = subset(A.final)

    def successors(states: Subset) -> Iterator[tuple[Label, Subset]]:
        for P, satisfied in types:
            targets = dict.fromkeys(allowed, 0)
            for q in members(states):
                for t in A.leaving[q]:
                    if t.predicate in satisfied:
                        targets[t.marks] |= 1 << t.target
            yield from (((P, L), reached) for L, reached in targets.items())

    return reachable_cea([subset(A.initial)], successors, lambda states: not states & final, budget, "the complement")


def minimized(A: CEA, budget: Budget = Budget()) -> CEA:
    """The I/O-deterministic CEA with the same valuations that has the fewest states; unique but for their numbers.

    It has no states from which nothing is accepted. Transitions that differ in their predicates only are one. Raises
    BudgetExceeded.
    """
    algebra = Algebra(A.predicates, budget)
    D = trim(io_determinize(A, budget, algebra))
    if not D.states:
        return D
    of = classes(
        [{(t.predicate, t.marks): t.target for t in leaving} for leaving in D.leaving],
        [q in D.final for q in range(D.states)],
    )
    merged: dict[tuple[int, Marks, int], int] = {}
    for t in D.transitions:
        edge = (of[t.source], t.marks, of[t.target])
        merged[edge] = merged.get(edge, 0) | algebra.mask(t.predicate)
    transitions = (Transition(p, algebra.predicate(mask), marks, q) for (p, marks, q), mask in merged.items())
    return CEA(
        max(of) + 1,
        tuple(transitions),
        frozenset(of[q] for q in D.initial),
        frozenset(of[q] for q in D.final),
    )
