"""From the core of unary CEL to complex event automata: tods21, Theorem 6.2.

The construction is the paper's, case by case, but for contiguous iteration: as printed, a round that consists of a
single event cannot stand between two others, so that R:+ stops at two rounds (see docs/errata.md). Here the state
between rounds also steps to itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from cerify.automata.cea.model import CEA, UNMARKED, Transition
from cerify.automata.cea.trim import trim
from cerify.semantics.budget import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.predicates import Anything, Both, OfType, Predicate


def compile_cel(phi: cel.Formula, budget: Budget = Budget()) -> CEA:
    """A CEA with the valuations of phi at every position of every stream.

    Raises Unsupported where phi correlates events or uses an operator beyond R, IN, FILTER, ;, :, +, :+ and OR, and
    BudgetExceeded where the automaton would be too large.
    """
    return trim(_thompson(phi, budget))


def _thompson(phi: cel.Formula, budget: Budget) -> CEA:
    A = _case(phi, budget)
    if len(A.transitions) > budget.states:
        raise BudgetExceeded(f"the automaton has more than {budget.states} transitions", phi.span)
    return A


def _case(phi: cel.Formula, budget: Budget) -> CEA:
    match phi:
        case cel.Event(R):
            return _event(R)
        case cel.In(psi, A):
            return _bind(_thompson(psi, budget), A)
        case cel.Filter(psi, condition):
            return _filter(_thompson(psi, budget), condition)
        case cel.Seq(left, right):
            return _sequence(_thompson(left, budget), _thompson(right, budget))
        case cel.Plus(psi):
            return _iterate(_thompson(psi, budget))
        case cel.ContiguousSeq(left, right):
            return _contiguous_sequence(_thompson(left, budget), _thompson(right, budget))
        case cel.ContiguousPlus(psi):
            return _contiguous_iterate(_thompson(psi, budget))
        case cel.Or(left, right):
            return _union(_thompson(left, budget), _thompson(right, budget))
        case _:
            raise Unsupported(f"the automaton does not carry {type(phi).__name__.upper()} yet", phi.span)


def _event(R: str) -> CEA:
    """Figure 5: skip anything, then mark one event of type R."""
    skip, take = Transition(0, Anything(), UNMARKED, 0), Transition(0, OfType(R), frozenset({R}), 1)
    return CEA(2, (skip, take), frozenset({0}), frozenset({1}))


def _bind(A: CEA, variable: str) -> CEA:
    """IN: whatever is marked is marked with the variable too."""
    return replace(
        A, transitions=tuple(replace(t, marks=t.marks | {variable}) if t.marks else t for t in A.transitions)
    )


def _filter(A: CEA, condition: cel.Condition) -> CEA:
    """FILTER: an event marked with the variable has to satisfy the predicate; AND and OR by the sugar of section 4."""
    match condition:
        case cel.Every(variable, P):
            return replace(
                A,
                transitions=tuple(
                    replace(t, predicate=_intersection(t.predicate, P)) if variable in t.marks else t
                    for t in A.transitions
                ),
            )
        case cel.Conjunction(left, right):
            return _filter(_filter(A, left), right)
        case cel.Disjunction(left, right):
            return _union(_filter(A, left), _filter(A, right))
        case cel.Correlated() | cel.Named():
            raise Unsupported(
                "an automaton looks at one event at a time, so it cannot carry a filter across events", condition.span
            )
        case _:
            assert_never(condition)


def _sequence(A: CEA, B: CEA) -> CEA:
    """A step into a final state of A may lead to where B starts instead."""
    states, B = A.states + B.states, _shifted(B, A.states)
    bridge = (replace(t, target=q) for t in A.transitions if t.target in A.final for q in B.initial)
    return CEA(states, _distinct(*A.transitions, *B.transitions, *bridge), A.initial, B.final)


def _iterate(A: CEA) -> CEA:
    """A step into a final state may lead back to the start."""
    again = (replace(t, target=q) for t in A.transitions if t.target in A.final for q in A.initial)
    return replace(A, transitions=_distinct(*A.transitions, *again))


def _contiguous_sequence(A: CEA, B: CEA) -> CEA:
    """A and B meet in a fresh state, which is entered and left by marking only."""
    meeting, B = A.states + B.states, _shifted(B, A.states)
    ending = (replace(t, target=meeting) for t in A.transitions if t.marks and t.target in A.final)
    starting = (replace(t, source=meeting) for t in B.transitions if t.marks and t.source in B.initial)
    return CEA(meeting + 1, _distinct(*A.transitions, *B.transitions, *ending, *starting), A.initial, B.final)


def _contiguous_iterate(A: CEA) -> CEA:
    """The rounds meet in a fresh state, which is entered and left by marking only."""
    meeting = A.states
    ending = [replace(t, target=meeting) for t in A.transitions if t.marks and t.target in A.final]
    starting = [replace(t, source=meeting) for t in A.transitions if t.marks and t.source in A.initial]
    single = [replace(t, source=meeting) for t in ending if t.source in A.initial]  # a round of one event: not printed
    return CEA(A.states + 1, _distinct(*A.transitions, *ending, *starting, *single), A.initial, A.final)


def _union(A: CEA, B: CEA) -> CEA:
    """OR: the two side by side."""
    states, B = A.states + B.states, _shifted(B, A.states)
    return CEA(states, A.transitions + B.transitions, A.initial | B.initial, A.final | B.final)


def _shifted(A: CEA, by: int) -> CEA:
    """The same automaton with its states renumbered from by on, to stand beside one of by states."""
    return CEA(
        A.states,
        tuple(replace(t, source=t.source + by, target=t.target + by) for t in A.transitions),
        frozenset(q + by for q in A.initial),
        frozenset(q + by for q in A.final),
    )


def _distinct(*transitions: Transition) -> tuple[Transition, ...]:
    return tuple(dict.fromkeys(transitions))


def _intersection(P: Predicate, Q: Predicate) -> Predicate:
    return Q if P == Anything() else Both(P, Q)
