"""From unary core-CEL to complex event automata: cep17, sections 3, 4 and 6, with what its letter implies.

The paper compiles core-CEL without strategies, in LP-normal form, and each strategy around a whole formula. Here
every formula whose filters are about single events is compiled as it stands, strategies anywhere, as
docs/decisions/core-cel.md reads them: they compare what they are applied to over the whole stream. So every automaton
below reads the stream from position 0 to its end, and marks the variables that something around it may still ask for;
see tracks.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.io_determinize import MARKED
from cerify.automata.cea.model import CEA, UNMARKED, Transition
from cerify.automata.cea.operations import union
from cerify.automata.cea.product import intersection
from cerify.automata.cea.quotient import quotient
from cerify.automata.cea.state_explosion_error import state_explosion_error
from cerify.automata.cea.strategies import MonitorStep, after_last, after_max, after_next, strict
from cerify.automata.cea.tracks import apply_strategy, guess_position, iterated, merged, selects, sequence
from cerify.automata.cea.trim import trim
from cerify.automata.cea.variables import Variables, bound, defined_outside_iteration, free, mentioned
from cerify.semantics.budget import Budget, depth_limited
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.errors import BudgetExceeded, Span, Unsupported
from cerify.semantics.predicates import Anything, OfType, Predicate
from cerify.semantics.trees import children

CHOICES: dict[type[core.Formula], MonitorStep] = {core.Next: after_next, core.Last: after_last, core.Max: after_max}

LOOKING = (core.Plus, core.Next, core.Last, core.Max)  # their automata look at kinds of events


def compile_core(phi: core.Formula, budget: Budget = Budget()) -> CEA:
    """A CEA with the complex events of phi at every position of every stream, marked with one variable.

    Raises Unsupported where phi compares events with each other, or looks ahead (then see whole_stream), and
    BudgetExceeded as compile_cel does.
    """
    for x, span in looks_ahead(phi)[:1]:
        raise Unsupported(
            f"{x} need not hold an event of what is matched or compared here, so that any event, even a later one, may "
            "pass the filter, and an automaton that reports a match when it ends does not look ahead: define "
            f"{x} on every way through the filtered formula",
            span,
        )
    A = whole_stream(phi, budget)
    end = A.states
    ending = (t._replace(target=end) for t in A.transitions if selects(t) and t.target in A.final)
    return quotient(trim(CEA(end + 1, (*A.transitions, *ending), A.initial, frozenset({end}))))


def whole_stream(phi: core.Formula, budget: Budget = Budget()) -> CEA:
    """A CEA that at the end of a stream has all complex events of phi over it. Raises Unsupported, BudgetExceeded."""
    with depth_limited(phi.span):
        A = _compiled(phi, Algebra(_generators(phi), budget))
        return quotient(trim(A.remarked({L: L & MARKED for L in A.marks})))


def looks_ahead(phi: core.Formula) -> list[tuple[str, Span | None]]:
    """The variables in filters that may be at any event of the stream, of the match itself or of one of its rivals.

    Raises BudgetExceeded where phi is nested too deeply.
    """
    with depth_limited(phi.span):
        return list(_open(phi, frozenset()))


def _generators(phi: core.Formula) -> Iterator[Predicate]:
    for psi in core.subformulas(phi):
        match psi:
            case core.Event(R, _):
                yield OfType(R)
            case core.Filter(_, condition):
                yield from (atom.predicate for atom in core.atoms(condition) if isinstance(atom, core.Unary))


def _open(phi: core.Formula, around: Variables) -> Iterator[tuple[str, Span | None]]:
    """Where the variables around it are bound; iterations and the rivals of a strategy choose those of phi anew."""
    around = around | bound(phi)
    match phi:
        case core.Filter(_, condition):
            for atom in core.atoms(condition):
                yield from ((x, atom.span) for x in sorted(mentioned(atom) - around))
        case core.Plus(psi) | core.Next(psi) | core.Last(psi) | core.Max(psi):
            around = around - defined_outside_iteration(psi)
        case core.Event() | core.Or() | core.Seq() | core.Strict():
            pass
        case _:
            assert_never(phi)
    for psi in children(phi):
        yield from _open(psi, around)


def _compiled(phi: core.Formula, algebra: Algebra) -> CEA:
    operands = [_compiled(psi, algebra) for psi in children(phi)]
    try:
        A = _case(phi, operands, algebra)
        if len(A.transitions) > algebra.budget.states:
            raise BudgetExceeded(f"the automaton has more than {algebra.budget.states} transitions")
    except BudgetExceeded as error:
        raise state_explosion_error(phi, operands, error) from None
    A = quotient(trim(A))
    return merged(A, algebra) if isinstance(phi, LOOKING) else A


def _case(phi: core.Formula, operands: list[CEA], algebra: Algebra) -> CEA:
    if isinstance(phi, core.Event):
        return _event(phi.type, phi.variable)
    A, B = operands[0], operands[-1]
    match phi:
        case core.Filter(psi, condition):
            return _filter(A, condition, bound(psi), algebra.budget)
        case core.Or():
            return union(A, B)
        case core.Seq():
            return sequence(A, B, algebra.budget)
        case core.Strict():
            return strict(A, selects)
        case core.Plus(core.Plus()):  # rounds of rounds
            return A
        case core.Plus(psi):
            A, W = _surrounded(psi, A, algebra.budget)
            return iterated(A, W, algebra)
        case core.Next(psi) | core.Last(psi) | core.Max(psi):
            A, W = _surrounded(psi, A, algebra.budget)
            return apply_strategy(A, W, CHOICES[type(phi)], algebra)
        case _:
            assert_never(phi)


def _event(R: str, x: str) -> CEA:
    """R AS x: skip anything, take one event of type R, which x holds, and skip anything."""
    before, after = (Transition(q, Anything(), UNMARKED, q) for q in (0, 1))
    return CEA(2, (before, Transition(0, OfType(R), MARKED | {x}, 1), after), frozenset({0}), frozenset({1}))


def _filter(A: CEA, condition: core.Condition, held: Variables, budget: Budget) -> CEA:
    """FILTER: the variable is somewhere, and its event satisfies the predicate; held are those that surely are."""
    match condition:
        case core.Unary(x, P):
            A = A if x in held else guess_position(A, x, budget)
            return replace(
                A,
                transitions=tuple(
                    t._replace(predicate=intersection(t.predicate, P)) if x in t.marks else t for t in A.transitions
                ),
            )
        case core.Conjunction(left, right):
            return _filter(_filter(A, left, held, budget), right, held, budget)
        case core.Disjunction(left, right):
            return union(_filter(A, left, held, budget), _filter(A, right, held, budget))
        case core.Correlated():
            raise Unsupported(
                "an automaton looks at one event at a time, so it cannot carry a filter across events", condition.span
            )
        case _:
            assert_never(condition)


def _surrounded(psi: core.Formula, A: CEA, budget: Budget) -> tuple[CEA, Variables]:
    """The automaton of psi with a place for all variables that come from around it, and these variables."""
    W = free(psi) - defined_outside_iteration(psi)
    for x in sorted(W):
        A = quotient(trim(guess_position(A, x, budget)))
    return A, W
