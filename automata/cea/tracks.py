"""Operations on automata over whole streams that mark the positions of single variables, for compiling core-CEL.

An automaton reads a stream to its end. IN marks the events of the complex event C, every variable at most one event: a
variable that a run does not mark may be anywhere. So an automaton is a set of pairs (C, nu) over each stream, in which
nu is a partial map, as in semantics/core_cel/interpreter.py. Two parts of C are read side by side from position 0, each
with marks of its own (docs/theory/compilation.md, core-CEL).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TypeAlias

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.io_determinize import MARKED
from cerify.automata.cea.model import CEA, UNMARKED, Marks, Transition
from cerify.automata.cea.product import intersection
from cerify.automata.cea.reachable_cea import Label, reachable_cea
from cerify.automata.cea.strategies import NO_STATES, DominanceMonitor, MonitorStep
from cerify.automata.subsets import Subset, members, subset
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.predicates import Anything, Predicate

Variables: TypeAlias = frozenset[str]
EventClass: TypeAlias = tuple[Predicate, frozenset[Predicate], frozenset[Predicate]]
"""Events that are alike: their predicate, and the predicates that they are in, of those that were looked at."""


def selects(t: Transition) -> bool:
    """Whether the event becomes one of the complex event."""
    return t.marks >= MARKED


def guess_position(A: CEA, x: str, budget: Budget) -> CEA:
    """The same pairs, with x at any event where it had no position. Raises BudgetExceeded."""

    def successors(state: tuple[int, bool]) -> Iterator[tuple[Label, tuple[int, bool]]]:
        q, seen = state
        for t in A.leaving[q]:
            if x not in t.marks:
                yield (t.predicate, t.marks), (t.target, seen)
            if not seen:
                yield (t.predicate, t.marks | {x}), (t.target, True)

    starts = [(q, False) for q in sorted(A.initial)]
    return reachable_cea(
        starts, successors, lambda state: state[0] in A.final and state[1], budget, f"{x} at any event"
    )


def sequence(A: CEA, B: CEA, budget: Budget) -> CEA:
    """A complex event of A and a later one of B, under one valuation. Raises BudgetExceeded."""
    shared = _variables(A) & _variables(B)
    finishing = _finishing(A)
    State: TypeAlias = tuple[int, int, bool, Variables]  # of A, of B, whether B has taken, what was seen of shared

    def successors(state: State) -> Iterator[tuple[Label, State]]:
        p, q, begun, seen = state
        for t in A.leaving[p]:
            for u in B.leaving[q]:
                marks, begun_ = t.marks | u.marks, begun or selects(u)
                if (begun_ and (selects(t) or t.target not in finishing)) or marks & seen:
                    continue
                predicate = intersection(t.predicate, u.predicate)
                yield (predicate, marks), (t.target, u.target, begun_, seen | marks & shared)

    starts: list[State] = [(p, q, False, frozenset()) for p in sorted(A.initial) for q in sorted(B.initial)]
    return reachable_cea(starts, successors, lambda s: s[0] in A.final and s[1] in B.final, budget, "the sequence")


def apply_strategy(A: CEA, W: Variables, step: MonitorStep, algebra: Algebra) -> CEA:
    """The pairs whose complex event no rival dominates; all of W need positions. Raises BudgetExceeded.

    The rivals have the same last position and agree on W. The monitor of strategies.py reads what the run reads, with
    the marks of W, so that it follows the runs with these marks alone. At the last event that is selected, the runs
    that do not select it stop being rivals; among the others the winners do not change.
    """
    follow = _Follow(A, W, algebra)
    final = subset(A.final)
    State: TypeAlias = tuple[int, DominanceMonitor, bool]  # of A, its monitor, whether the last event was taken

    def successors(state: State) -> Iterator[tuple[Label, State]]:
        q, monitor, ended = state
        for kind in follow.kinds(monitor[0] | monitor[1] | monitor[2], taking=not ended):
            for t in A.leaving[q]:
                if (ended and selects(t)) or (predicate := _met(kind, t.predicate)) is None:
                    continue
                label, L = (predicate, t.marks), t.marks & W

                def delta(states: Subset, marked: bool, kind: EventClass = kind, L: Marks = L) -> Subset:
                    return follow.delta(states, marked, L, kind)

                if not ended:
                    yield label, (t.target, step(monitor, selects(t), delta), False)
                if ended or selects(t):
                    yield label, (t.target, (NO_STATES, delta(monitor[1], selects(t)), NO_STATES), True)

    def accepts(state: State) -> bool:
        q, (_, winners, _), ended = state
        return ended and q in A.final and not winners & final

    starts: list[State] = [(q, (subset(A.initial), NO_STATES, NO_STATES), False) for q in sorted(A.initial)]
    return reachable_cea(starts, successors, accepts, algebra.budget, "the automaton of the strategy")


def iterated(A: CEA, W: Variables, algebra: Algebra) -> CEA:
    """One round of A after the other, all with the same W, which need positions. Raises BudgetExceeded.

    Each round reads the whole stream, but selects nothing before its first event and nothing after its last. So the
    rounds to come are a set of states, those of any run that has selected nothing yet (waiting); of the rounds that are
    over the states remain (pending), each of which has to reach a final one; two rounds in the same state have the same
    continuations.
    """
    rounds = _Rounds(A.remarked({L: L & (W | MARKED) for L in A.marks}), W, algebra)
    starts: list[_RoundsState] = [(subset(A.initial), None, NO_STATES, False)]
    return reachable_cea(starts, rounds.successors, rounds.accepts, algebra.budget, "the iteration")


_RoundsState: TypeAlias = tuple[Subset, int | None, Subset, bool]
"""The states waiting; that of the round under way, if there is one; those pending; whether an event was selected."""


class _Rounds:
    """The states of an iteration, and the steps between them."""

    def __init__(self, A: CEA, W: Variables, algebra: Algebra) -> None:
        self.A, self.W, self.budget = A, W, algebra.budget
        self.follow = _Follow(A, W, algebra)
        self.final = subset(A.final)
        self.settled = {q for q in A.final if (q, Anything(), UNMARKED, q) in A.leaving[q]}

    def successors(self, state: _RoundsState) -> Iterator[tuple[Label, _RoundsState]]:
        """The steps from a state."""
        waiting, q, pending, begun = state
        here = [*members(waiting | pending), *(() if q is None else (q,))]
        for L in dict.fromkeys([UNMARKED, *(t.marks & self.W for p in here for t in self.A.leaving[p])]):
            for kind in self.follow.kinds(waiting, taking=False):
                over, on = self._over(pending, kind, L), list(self._under_way(state, kind, L))
                waiting_ = self.follow.delta(waiting, False, L, kind)
                for P, pending_ in over:
                    for Q, selects_, q_, ended in on:
                        after = waiting_, q_, pending_ | ended, begun or selects_
                        yield (intersection(P, Q), L | MARKED if selects_ else L), after

    def accepts(self, state: _RoundsState) -> bool:
        """Whether an event was selected, and all rounds are over and in final states."""
        _, q, pending, begun = state
        return begun and q is None and not pending & ~self.final

    def _pending(self, q: int) -> Subset:
        """The state of a round that is over; nothing if it accepts whatever follows."""
        return NO_STATES if q in self.settled else 1 << q

    def _over(self, pending: Subset, kind: EventClass, L: Marks) -> set[tuple[Predicate, Subset]]:
        """The ways for all rounds that are over to continue, each with the events that allow it."""
        ways = {(kind[0], NO_STATES)}
        for q in members(pending):
            steps = [t for t in self.A.leaving[q] if t.marks == L]
            ways = {
                (intersection(P, met), states | self._pending(t.target))
                for P, states in ways
                for t in steps
                if (met := _met(kind, t.predicate)) is not None
            }
            if len(ways) > self.budget.states:
                raise BudgetExceeded(f"rounds that are over can go on in more than {self.budget.states} ways")
        return ways

    def _under_way(
        self, state: _RoundsState, kind: EventClass, L: Marks
    ) -> Iterator[tuple[Predicate, bool, int | None, Subset]]:
        """The steps of the round under way, or of one that begins: the events, whether it selects them, its state
        after, and its pending state if it is over."""
        waiting, q, _, _ = state
        if q is None:
            yield kind[0], False, None, NO_STATES
        for p in members(waiting) if q is None else (q,):
            for t in self.A.leaving[p]:
                P = _met(kind, t.predicate)
                if P is None or t.marks & self.W != L or (q is None and not selects(t)):
                    continue
                yield P, selects(t), t.target, NO_STATES
                if selects(t):
                    yield P, True, None, self._pending(t.target)


def merged(A: CEA, algebra: Algebra) -> CEA:
    """The automaton with one transition for those that select nothing and differ in their predicates only."""
    beside: dict[Transition, list[Predicate]] = {}
    for t in A.transitions:
        beside.setdefault(t if selects(t) else t._replace(predicate=Anything()), []).append(t.predicate)
    return replace(
        A,
        transitions=tuple(
            t._replace(predicate=predicates[0] if len(predicates) == 1 else _either(predicates, algebra))
            for t, predicates in beside.items()
        ),
    )


def _either(predicates: Iterable[Predicate], algebra: Algebra) -> Predicate:
    return algebra.predicate(reduce(or_, map(algebra.mask, predicates)))


class _Follow:
    """The sets of states that runs of an automaton reach which make given marks of W, and any others."""

    def __init__(self, A: CEA, W: Variables, algebra: Algebra) -> None:
        self.A = A
        self.W = W
        self.algebra = algebra
        self._kinds: dict[tuple[Predicate, ...], list[EventClass]] = {}
        self._known: dict[tuple[Subset, bool, Marks, Predicate], Subset] = {}

    def kinds(self, states: Subset, taking: bool) -> list[EventClass]:
        """The kinds of events that the steps of these states distinguish: all steps, or those that select nothing."""
        leaving = (t for q in members(states) for t in self.A.leaving[q])
        found = dict.fromkeys(t.predicate for t in leaving if taking or not selects(t))
        found.pop(Anything(), None)
        predicates = tuple(found)
        if not predicates:
            return [(Anything(), frozenset({Anything()}), frozenset({Anything()}))]
        if (kinds := self._kinds.get(predicates)) is None:
            looked_at = frozenset({Anything(), *predicates})
            kinds = self._kinds[predicates] = [
                (P, frozenset({Anything(), *(predicates[i] for i in among)}), looked_at)
                for among, P in self.algebra.types(predicates)
            ]
        return kinds

    def delta(self, states: Subset, marked: bool, L: Marks, kind: EventClass) -> Subset:
        """The states reached on an event of the kind, which is selected or not, with the marks L of W."""
        key = states, marked, L, kind[0]
        if (reached := self._known.get(key)) is None:
            reached = self._known[key] = subset(
                t.target
                for q in members(states)
                for t in self.A.leaving[q]
                if selects(t) == marked and t.marks & self.W == L and t.predicate in kind[1]
            )
        return reached


def _met(kind: EventClass, P: Predicate) -> Predicate | None:
    """The events of the kind that are in P; None if there are none."""
    predicate, satisfied, looked_at = kind
    if P in looked_at:
        return predicate if P in satisfied else None
    return intersection(predicate, P)


def _variables(A: CEA) -> Variables:
    return frozenset[str]().union(*(t.marks for t in A.transitions)) - MARKED


def _finishing(A: CEA) -> set[int]:
    """The states from which a run can reach a final one without selecting anything more."""
    found, pending = set(A.final), list(A.final)
    entering: dict[int, list[int]] = {}
    for t in A.transitions:
        if not selects(t):
            entering.setdefault(t.target, []).append(t.source)
    while pending:
        for p in entering.get(pending.pop(), ()):
            if p not in found:
                found.add(p)
                pending.append(p)
    return found
