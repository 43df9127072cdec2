"""The selection strategies as constructions on automata: tods21, Theorem 7.2, corrected.

The printed constructions for NXT, LAST and MAX compare a run with those of the same valuation and with its winners. A
run with the same support under other variables is neither, so that what it wins by later is lost. Here supports alone
are compared, and a valuation is kept if its support is: the automaton runs beside a *dominance monitor*, which follows
one support and the states of all runs with that support (ties), with better ones (winners) and, for LAST, with worse
ones (losers). The monitor is I/O-deterministic; the product with the automaton has the automaton's valuations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.model import CEA, Marks, Transition
from cerify.automata.cea.reachable_cea import reachable_cea
from cerify.automata.subsets import Subset, members, subset
from cerify.semantics.predicates import Predicate

DominanceMonitor: TypeAlias = tuple[Subset, Subset, Subset]  # ties, winners, losers
Delta: TypeAlias = Callable[[Subset, bool], Subset]  # the states reached on this event, with a mark or without
MonitorStep: TypeAlias = Callable[[DominanceMonitor, bool, Delta], DominanceMonitor]

NO_STATES: Subset = 0


def is_marked(t: Transition) -> bool:
    """Whether the transition marks the event."""
    return bool(t.marks)


def strict(A: CEA, selects: Callable[[Transition], bool] = is_marked) -> CEA:
    """STRICT: nothing selected, then everything, then nothing: a copy of the automaton for each part."""
    n = A.states
    parts = {False: ((0, 0), (1, 2), (2, 2)), True: ((0, 1), (1, 1))}
    return CEA(
        3 * n,
        tuple(
            t._replace(source=before * n + t.source, target=after * n + t.target)
            for t in A.transitions
            for before, after in parts[selects(t)]
        ),
        A.initial,
        frozenset(part * n + q for q in A.final for part in range(3)),
    )


def next_(A: CEA, algebra: Algebra) -> CEA:
    """NXT: no other support marks the first event in which the two differ."""
    return _dominated(A, after_next, algebra)


def last(A: CEA, algebra: Algebra) -> CEA:
    """LAST: no other support marks the last event in which the two differ."""
    return _dominated(A, after_last, algebra)


def max_(A: CEA, algebra: Algebra) -> CEA:
    """MAX: no other support is a strict superset."""
    return _dominated(A, after_max, algebra)


def after_next(monitor: DominanceMonitor, marked: bool, delta: Delta) -> DominanceMonitor:
    """The monitor of NXT after one more event."""
    ties, winners, _ = monitor
    won = delta(winners, True) | delta(winners, False)
    return delta(ties, marked), won if marked else won | delta(ties, True), NO_STATES


def after_last(monitor: DominanceMonitor, marked: bool, delta: Delta) -> DominanceMonitor:
    """The monitor of LAST after one more event."""
    ties, winners, losers = monitor
    if marked:
        lost = delta(losers, True) | delta(losers | ties | winners, False)
        return delta(ties, True), delta(winners, True), lost
    return delta(ties, False), delta(winners | ties | losers, True) | delta(winners, False), delta(losers, False)


def after_max(monitor: DominanceMonitor, marked: bool, delta: Delta) -> DominanceMonitor:
    """The monitor of MAX after one more event."""
    ties, winners, _ = monitor
    if marked:
        return delta(ties, True), delta(winners, True), NO_STATES
    return delta(ties, False), delta(winners | ties, True) | delta(winners, False), NO_STATES


def _dominated(A: CEA, step: MonitorStep, algebra: Algebra) -> CEA:
    """The automaton beside its monitor: a run accepts if the automaton does and no winner does."""
    types = [(P, _Steps(A, {A.predicates[i] for i in chosen})) for chosen, P in algebra.types(A.predicates)]
    final = subset(A.final)

    def successors(
        state: tuple[int, DominanceMonitor],
    ) -> Iterator[tuple[tuple[Predicate, Marks], tuple[int, DominanceMonitor]]]:
        q, monitor = state
        for P, steps in types:
            for marked in (False, True):
                if leaving := steps.leaving[marked][q]:
                    after = step(monitor, marked, steps.delta)
                    for t in leaving:
                        yield (P, t.marks), (t.target, after)

    def accepts(state: tuple[int, DominanceMonitor]) -> bool:
        q, (_, winners, _) = state
        return q in A.final and not winners & final

    starts = [(q, (subset(A.initial), NO_STATES, NO_STATES)) for q in sorted(A.initial)]
    return reachable_cea(starts, successors, accepts, algebra.budget, "the automaton of the selection strategy")


class _Steps:
    """The transitions of an automaton on one type of events: of each state without a mark, and with one."""

    def __init__(self, A: CEA, satisfied: set[Predicate]) -> None:
        self.leaving = tuple(
            [[t for t in leaving if bool(t.marks) == marked and t.predicate in satisfied] for leaving in A.leaving]
            for marked in (False, True)
        )
        self._targets = [[subset(t.target for t in some) for some in leaving] for leaving in self.leaving]
        self._known: tuple[dict[Subset, Subset], ...] = ({NO_STATES: NO_STATES}, {NO_STATES: NO_STATES})

    def delta(self, states: Subset, marked: bool) -> Subset:
        """The states reached on this event, with a mark or without."""
        known = self._known[marked]
        if (reached := known.get(states)) is None:
            reached = NO_STATES
            for q in members(states):
                reached |= self._targets[marked][q]
            known[states] = reached
        return reached
