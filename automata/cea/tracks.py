"""Automata over whole streams whose marks say where single variables are: what core-CEL is compiled with.

An automaton reads a stream to its end. IN marks the events of the complex event C, every variable at most one event: a
variable that a run does not mark may be anywhere. So an automaton is a set of pairs (C, nu) over each stream, in which
nu is a partial map, as in semantics/core_cel/interpreter.py. What is asked of a part of C is asked of the whole stream:
two parts are read side by side from position 0, each with its own marks (docs/theory/compilation.md, core-CEL).
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
from cerify.automata.cea.strategies import NO_STATES, Judge, Verdict
from cerify.automata.subsets import Subset, members, subset
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.predicates import Anything, Predicate

Variables: TypeAlias = frozenset[str]
Kind: TypeAlias = tuple[Predicate, frozenset[Predicate], frozenset[Predicate]]
"""Events that are alike: their predicate, and the predicates that they are in, of those that were looked at."""


def takes(t: Transition) -> bool:
    """Whether the event becomes one of the complex event."""
    return t.marks >= MARKED


def placed(A: CEA, x: str, budget: Budget) -> CEA:
    """The same pairs, with x at any event where it was nowhere. Raises BudgetExceeded."""

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
                marks, begun_ = t.marks | u.marks, begun or takes(u)
                if (begun_ and (takes(t) or t.target not in finishing)) or marks & seen:
                    continue
                predicate = intersection(t.predicate, u.predicate)
                yield (predicate, marks), (t.target, u.target, begun_, seen | marks & shared)

    starts: list[State] = [(p, q, False, frozenset()) for p in sorted(A.initial) for q in sorted(B.initial)]
    return reachable_cea(starts, successors, lambda s: s[0] in A.final and s[1] in B.final, budget, "the sequence")


def interval(A: CEA) -> CEA:
    """The pairs whose complex event has no gap: nothing is taken, then everything, then nothing."""
    n = A.states
    parts = {False: ((0, 0), (1, 2), (2, 2)), True: ((0, 1), (1, 1))}
    return CEA(
        3 * n,
        tuple(
            t._replace(source=before * n + t.source, target=after * n + t.target)
            for t in A.transitions
            for before, after in parts[takes(t)]
        ),
        A.initial,
        frozenset(part * n + q for q in A.final for part in range(3)),
    )


def chosen(A: CEA, W: Variables, step: Verdict, algebra: Algebra) -> CEA:
    """The pairs whose complex event no rival wins over; all of W have to be placed. Raises BudgetExceeded.

    The rivals have the same last position and agree on W. The judge of strategies.py reads what the run reads, the
    marks of W with it, and of the runs with other marks it knows nothing. At the last event that is taken the runs that
    do not take it are no rivals; of the others it stays as it is who wins.
    """
    follow = _Follow(A, W, algebra)
    final = subset(A.final)
    State: TypeAlias = tuple[int, Judge, bool]  # of A, its judge, whether the last event was taken

    def successors(state: State) -> Iterator[tuple[Label, State]]:
        q, judge, ended = state
        for kind in follow.kinds(judge[0] | judge[1] | judge[2], taking=not ended):
            for t in A.leaving[q]:
                if (ended and takes(t)) or (predicate := _met(kind, t.predicate)) is None:
                    continue
                label, L = (predicate, t.marks), t.marks & W

                def delta(states: Subset, marked: bool, kind: Kind = kind, L: Marks = L) -> Subset:
                    return follow.delta(states, marked, L, kind)

                if not ended:
                    yield label, (t.target, step(judge, takes(t), delta), False)
                if ended or takes(t):
                    yield label, (t.target, (NO_STATES, delta(judge[1], takes(t)), NO_STATES), True)

    def accepts(state: State) -> bool:
        q, (_, winners, _), ended = state
        return ended and q in A.final and not winners & final

    starts: list[State] = [(q, (subset(A.initial), NO_STATES, NO_STATES), False) for q in sorted(A.initial)]
    return reachable_cea(starts, successors, accepts, algebra.budget, "the automaton of the strategy")


def iterated(A: CEA, W: Variables, algebra: Algebra) -> CEA:
    """One round of A after the other, all with the same W, which have to be placed. Raises BudgetExceeded.

    Each round reads the whole stream, but takes nothing before its first event and nothing after its last. So the
    rounds to come are a set of states, those of any run that has taken nothing yet (waiting); of those that are over
    the states are kept (owed), each of which has to come to a final one, and two that are in the same state can go on
    in the same way.
    """
    A = A.remarked(lambda marks: marks & (W | MARKED))
    follow = _Follow(A, W, algebra)
    final = subset(A.final)
    settled = {q for q in A.final if (q, Anything(), UNMARKED, q) in A.leaving[q]}
    State: TypeAlias = tuple[Subset, int | None, Subset, bool]  # waiting, of the round under way, owed, after the start

    def owing(q: int) -> Subset:
        return NO_STATES if q in settled else 1 << q

    def resting(owed: Subset, kind: Kind, L: Marks) -> set[tuple[Predicate, Subset]]:
        """The ways for all rounds that are over to go on, each with the events that allow it."""
        ways = {(kind[0], NO_STATES)}
        for q in members(owed):
            steps = [t for t in A.leaving[q] if t.marks == L]
            ways = {
                (intersection(P, met), states | owing(t.target))
                for P, states in ways
                for t in steps
                if (met := _met(kind, t.predicate)) is not None
            }
            if len(ways) > algebra.budget.states:
                raise BudgetExceeded(f"rounds that are over can go on in more than {algebra.budget.states} ways")
        return ways

    def going(state: State, kind: Kind, L: Marks) -> Iterator[tuple[Predicate, bool, int | None, Subset]]:
        """What the round under way can do, or one that begins: whether it takes the event, and what it then is."""
        waiting, q, _, _ = state
        if q is None:
            yield kind[0], False, None, NO_STATES
        for p in members(waiting) if q is None else (q,):
            for t in A.leaving[p]:
                P = _met(kind, t.predicate)
                if P is None or t.marks & W != L or (q is None and not takes(t)):
                    continue
                yield P, takes(t), t.target, NO_STATES
                if takes(t):
                    yield P, True, None, owing(t.target)

    def successors(state: State) -> Iterator[tuple[Label, State]]:
        waiting, q, owed, begun = state
        here = [*members(waiting | owed), *(() if q is None else (q,))]
        for L in dict.fromkeys([UNMARKED, *(t.marks & W for p in here for t in A.leaving[p])]):
            for kind in follow.kinds(waiting, taking=False):
                rest, on = resting(owed, kind, L), list(going(state, kind, L))
                waiting_ = follow.delta(waiting, False, L, kind)
                for P, owed_ in rest:
                    for Q, takes_, q_, over in on:
                        after = waiting_, q_, owed_ | over, begun or takes_
                        yield (intersection(P, Q), L | MARKED if takes_ else L), after

    def accepts(state: State) -> bool:
        _, q, owed, begun = state
        return begun and q is None and not owed & ~final

    starts: list[State] = [(subset(A.initial), None, NO_STATES, False)]
    return reachable_cea(starts, successors, accepts, algebra.budget, "the iteration")


def merged(A: CEA, algebra: Algebra) -> CEA:
    """One step for those that take nothing and differ in their predicates only: kinds of events have split them."""
    beside: dict[Transition, list[Predicate]] = {}
    for t in A.transitions:
        beside.setdefault(t if takes(t) else t._replace(predicate=Anything()), []).append(t.predicate)
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
        self._kinds: dict[tuple[Predicate, ...], list[Kind]] = {}
        self._known: dict[tuple[Subset, bool, Marks, Predicate], Subset] = {}

    def kinds(self, states: Subset, taking: bool) -> list[Kind]:
        """The kinds of events that the steps of these states tell apart; all, or those that take nothing."""
        leaving = (t for q in members(states) for t in self.A.leaving[q])
        asked = dict.fromkeys(t.predicate for t in leaving if taking or not takes(t))
        asked.pop(Anything(), None)
        predicates = tuple(asked)
        if not predicates:
            return [(Anything(), frozenset({Anything()}), frozenset({Anything()}))]
        if (kinds := self._kinds.get(predicates)) is None:
            looked_at = frozenset({Anything(), *predicates})
            kinds = self._kinds[predicates] = [
                (P, frozenset({Anything(), *(predicates[i] for i in among)}), looked_at)
                for among, P in self.algebra.types(predicates)
            ]
        return kinds

    def delta(self, states: Subset, marked: bool, L: Marks, kind: Kind) -> Subset:
        """The states reached on an event of the kind, which is taken or not, with the marks L of W."""
        key = states, marked, L, kind[0]
        if (reached := self._known.get(key)) is None:
            reached = self._known[key] = subset(
                t.target
                for q in members(states)
                for t in self.A.leaving[q]
                if takes(t) == marked and t.marks & self.W == L and t.predicate in kind[1]
            )
        return reached


def _met(kind: Kind, P: Predicate) -> Predicate | None:
    """The events of the kind that are in P; None if there are none."""
    predicate, satisfied, looked_at = kind
    if P in looked_at:
        return predicate if P in satisfied else None
    return intersection(predicate, P)


def _variables(A: CEA) -> Variables:
    return frozenset[str]().union(*(t.marks for t in A.transitions)) - MARKED


def _finishing(A: CEA) -> set[int]:
    """The states from which a run can come to a final one without taking anything more."""
    found, pending = set(A.final), list(A.final)
    entering: dict[int, list[int]] = {}
    for t in A.transitions:
        if not takes(t):
            entering.setdefault(t.target, []).append(t.source)
    while pending:
        for p in entering.get(pending.pop(), ()):
            if p not in found:
                found.add(p)
                pending.append(p)
    return found
