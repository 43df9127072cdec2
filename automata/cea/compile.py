"""From unary CEL to complex event automata: tods21, Theorems 6.2 and 7.2.

The construction is the paper's, case by case, but where the printed case fails (see docs/errata.md). Contiguous
iteration as printed cannot have a round of a single event between two others, so that R:+ stops at two rounds; here the
state between rounds also steps to itself. For ALL and UNLESS see product.py, for the strategies strategies.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.model import CEA, UNMARKED, Transition
from cerify.automata.cea.product import conjunction, interleaving, intersection, separate_start, unless
from cerify.automata.cea.strategies import last, max_, next_, strict
from cerify.automata.cea.trim import trim
from cerify.semantics.budget import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.predicates import Anything, OfType, Predicate


def compile_cel(phi: cel.Formula, budget: Budget = Budget()) -> CEA:
    """A CEA with the valuations of phi at every position of every stream.

    Raises Unsupported where phi compares events with each other, and BudgetExceeded where the automaton, or one on the
    way to it, would be too large.
    """
    return _trimmed(phi, Algebra(_generators(phi), budget))


def _generators(phi: cel.Formula) -> Iterator[Predicate]:
    """The tuple predicates of which all predicates of the automaton are combinations."""
    for psi in cel.subformulas(phi):
        match psi:
            case cel.Event(R):
                yield OfType(R)
            case cel.Filter(_, condition):
                yield from (atom.predicate for atom in cel.atoms(condition) if isinstance(atom, cel.Every))


def _trimmed(phi: cel.Formula, algebra: Algebra) -> CEA:
    return trim(_thompson(phi, algebra))


def _thompson(phi: cel.Formula, algebra: Algebra) -> CEA:
    A = _case(phi, algebra)
    if len(A.transitions) > algebra.budget.states:
        raise BudgetExceeded(f"the automaton has more than {algebra.budget.states} transitions", phi.span)
    return A


def _case(phi: cel.Formula, algebra: Algebra) -> CEA:
    match phi:
        case cel.Event(R):
            return _event(R)
        case cel.In(psi, A):
            return _bind(_thompson(psi, algebra), A)
        case cel.Filter(psi, condition):
            return _filter(_thompson(psi, algebra), condition)
        case cel.Seq(left, right):
            return _sequence(_thompson(left, algebra), _thompson(right, algebra))
        case cel.Plus(psi):
            return _iterate(_thompson(psi, algebra))
        case cel.ContiguousSeq(left, right):
            return _contiguous_sequence(_thompson(left, algebra), _thompson(right, algebra))
        case cel.ContiguousPlus(psi):
            return _contiguous_iterate(_thompson(psi, algebra))
        case cel.Or(left, right):
            return _union(_thompson(left, algebra), _thompson(right, algebra))
        case cel.Project(L, psi):
            return _project(_thompson(psi, algebra), L)
        case cel.Start(psi):
            return _anchor(_thompson(psi, algebra))
        case cel.And(left, right):
            return conjunction(_trimmed(left, algebra), _trimmed(right, algebra), algebra.budget)
        case cel.All(left, right):
            return interleaving(_trimmed(left, algebra), _trimmed(right, algebra), algebra.budget)
        case cel.Unless(left, right):
            return unless(_trimmed(left, algebra), _trimmed(right, algebra), algebra)
        case cel.Strict(psi):
            return strict(_trimmed(psi, algebra))
        case cel.Next(psi):
            return next_(_trimmed(psi, algebra), algebra)
        case cel.Last(psi):
            return last(_trimmed(psi, algebra), algebra)
        case cel.Max(psi):
            return max_(_trimmed(psi, algebra), algebra)
        case cel.Within() | cel.PartitionBy():
            raise Unsupported(
                "an automaton looks at one event at a time, so it cannot carry a window or a partition", phi.span
            )
        case _:
            assert_never(phi)


def _event(R: str) -> CEA:
    """Figure 5: skip anything, then mark one event of type R."""
    skip, take = Transition(0, Anything(), UNMARKED, 0), Transition(0, OfType(R), frozenset({R}), 1)
    return CEA(2, (skip, take), frozenset({0}), frozenset({1}))


def _bind(A: CEA, variable: str) -> CEA:
    """IN: whatever is marked is marked with the variable too."""
    return A.remarked(lambda marks: marks | {variable} if marks else marks)


def _filter(A: CEA, condition: cel.Condition) -> CEA:
    """FILTER: an event marked with the variable has to satisfy the predicate; AND and OR by the sugar of section 4."""
    match condition:
        case cel.Every(variable, P):
            return replace(
                A,
                transitions=tuple(
                    t._replace(predicate=intersection(t.predicate, P)) if variable in t.marks else t
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
    bridge = (t._replace(target=q) for t in A.transitions if t.target in A.final for q in B.initial)
    return CEA(states, _distinct(*A.transitions, *B.transitions, *bridge), A.initial, B.final)


def _iterate(A: CEA) -> CEA:
    """A step into a final state may lead back to the start."""
    again = (t._replace(target=q) for t in A.transitions if t.target in A.final for q in A.initial)
    return replace(A, transitions=_distinct(*A.transitions, *again))


def _contiguous_sequence(A: CEA, B: CEA) -> CEA:
    """A and B meet in a fresh state, which is entered and left by marking only."""
    meeting, B = A.states + B.states, _shifted(B, A.states)
    ending = (t._replace(target=meeting) for t in A.transitions if t.marks and t.target in A.final)
    starting = (t._replace(source=meeting) for t in B.transitions if t.marks and t.source in B.initial)
    return CEA(meeting + 1, _distinct(*A.transitions, *B.transitions, *ending, *starting), A.initial, B.final)


def _contiguous_iterate(A: CEA) -> CEA:
    """The rounds meet in a fresh state, which is entered and left by marking only."""
    meeting = A.states
    ending = [t._replace(target=meeting) for t in A.transitions if t.marks and t.target in A.final]
    starting = [t._replace(source=meeting) for t in A.transitions if t.marks and t.source in A.initial]
    single = [t._replace(source=meeting) for t in ending if t.source in A.initial]  # a round of one event: not printed
    return CEA(A.states + 1, _distinct(*A.transitions, *ending, *starting, *single), A.initial, A.final)


def _project(A: CEA, L: frozenset[str]) -> CEA:
    """PROJECT: the marks that are kept."""
    return A.remarked(lambda marks: marks & L)


def _anchor(A: CEA) -> CEA:
    """START: the first step marks."""
    A = separate_start(A)
    return replace(A, transitions=tuple(t for t in A.transitions if t.marks or t.source not in A.initial))


def _union(A: CEA, B: CEA) -> CEA:
    """OR: the two side by side."""
    states, B = A.states + B.states, _shifted(B, A.states)
    return CEA(states, A.transitions + B.transitions, A.initial | B.initial, A.final | B.final)


def _shifted(A: CEA, by: int) -> CEA:
    """The same automaton with its states renumbered from by on, to stand beside one of by states."""
    return CEA(
        A.states,
        tuple(t._replace(source=t.source + by, target=t.target + by) for t in A.transitions),
        frozenset(q + by for q in A.initial),
        frozenset(q + by for q in A.final),
    )


def _distinct(*transitions: Transition) -> tuple[Transition, ...]:
    return tuple(dict.fromkeys(transitions))
