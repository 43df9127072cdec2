"""Filter push-down for CEL: every filter moved as close to the events of its variables as its meaning allows.

`A[p]` is a condition on each event of A alone. So it moves to both sides of an operator that unites valuations, and
into each round of an iteration; where `IN A` binds A, to everything below; through PROJECT, as far as that keeps the
variable. It stops at event types, and at NXT, LAST and MAX: these choose among valuations, and would choose among
others if the filter came first. A filter that is no such condition (correlated, registered, or an OR of atoms) moves as
one piece, to the one side that binds all its variables; it does not move into an iteration, nor below an IN that binds
one of them.
"""

from __future__ import annotations

from typing import assert_never

from cerify.equivalence.rewrite.normal_forms.limit import NODES, check_nodes
from cerify.equivalence.rewrite.normal_forms.variables import Variables, bindable, spoken_of
from cerify.equivalence.rewrite.trees import variables_of
from cerify.semantics.budget import depth_limited
from cerify.semantics.cel import syntax as cel
from cerify.semantics.predicates import Predicate
from cerify.semantics.trees import children, rebuilt


def push_filters(phi: cel.Formula, nodes: int = NODES) -> cel.Formula:
    """phi with its filters pushed down: the same valuations. A filter that always holds goes. Raises BudgetExceeded."""
    with depth_limited(phi.span):
        return _pushed(cel.expanded(phi), nodes)


def _pushed(phi: cel.Formula, nodes: int) -> cel.Formula:
    below = [_pushed(psi, nodes) for psi in children(phi)]
    psi = _filtered(below[0], phi.condition) if isinstance(phi, cel.Filter) else rebuilt(phi, below)
    check_nodes(cel.size(psi), nodes, phi)
    return psi


def _filtered(phi: cel.Formula, condition: cel.Condition) -> cel.Formula:
    match condition:
        case cel.Conjunction(left, right):
            return _filtered(_filtered(phi, left), right)
        case cel.Every(A, p):
            return _each(phi, frozenset({A}), p)
        case cel.Correlated() | cel.Named() | cel.Disjunction():
            return _whole(phi, condition)
        case _:
            assert_never(condition)


def _each(phi: cel.Formula, L: Variables, p: Predicate) -> cel.Formula:
    """phi where each event that a variable of L holds satisfies p."""
    L = L & bindable(phi)
    if not L:
        return phi
    match phi:
        case cel.Event(R):
            return cel.Filter(phi, cel.Every(R, p))
        case cel.In(psi, A):  # A holds all that psi matched
            return cel.In(_each(psi, bindable(psi) if A in L else L, p), A)
        case cel.Filter(psi, condition):
            return _through(phi, _each(psi, L - {A for A in L if condition == cel.Every(A, p)}, p))
        case cel.Unless(left, right):
            return cel.Unless(_each(left, L, p), right)
        case cel.Next() | cel.Last() | cel.Max():
            for A in sorted(L):
                phi = cel.Filter(phi, cel.Every(A, p))
            return phi
        case (
            cel.Seq() | cel.ContiguousSeq() | cel.Or() | cel.And() | cel.All() | cel.Plus() | cel.ContiguousPlus()
            | cel.Project() | cel.Start() | cel.Strict() | cel.Within() | cel.PartitionBy()
        ):  # fmt: skip
            return rebuilt(phi, [_each(psi, L, p) for psi in children(phi)])
        case cel.Derived():
            return _each(phi.expansion, L, p)
        case _:
            assert_never(phi)


def _whole(phi: cel.Formula, condition: cel.Condition) -> cel.Formula:
    """phi FILTER condition, the condition as far down as all that its variables hold is on one side."""
    L = spoken_of(condition)
    if _holds_anyway(condition, bindable(phi)):
        return phi
    match phi:
        case cel.Filter(psi, other):
            return phi if other == condition else _through(phi, _whole(psi, condition))
        case cel.In(psi, A) if A not in L:
            return cel.In(_whole(psi, condition), A)
        case cel.Project(kept, psi) if kept >= L:
            return cel.Project(kept, _whole(psi, condition))
        case cel.Seq() | cel.ContiguousSeq() | cel.All() if L.isdisjoint(bindable(phi.right)):
            return rebuilt(phi, [_whole(phi.left, condition), phi.right])
        case cel.Seq() | cel.ContiguousSeq() | cel.All() if L.isdisjoint(bindable(phi.left)):
            return rebuilt(phi, [phi.left, _whole(phi.right, condition)])
        case cel.Unless(left, right):
            return cel.Unless(_whole(left, condition), right)
        case cel.Or() | cel.And() | cel.Start() | cel.Strict() | cel.Within() | cel.PartitionBy():
            return rebuilt(phi, [_whole(psi, condition) for psi in children(phi)])
        case (
            cel.Event() | cel.In() | cel.Project() | cel.Seq() | cel.ContiguousSeq() | cel.All() | cel.Plus()
            | cel.ContiguousPlus() | cel.Next() | cel.Last() | cel.Max()
        ):  # fmt: skip
            return cel.Filter(phi, condition)
        case cel.Derived():
            return _whole(phi.expansion, condition)
        case _:
            assert_never(phi)


def _through(phi: cel.Filter, below: cel.Formula) -> cel.Formula:
    """phi over what a new filter made of its operand; on top of it, if the filter went no further."""
    new: list[cel.Condition] = []
    psi = below
    while psi is not phi.phi:
        if not isinstance(psi, cel.Filter):
            return cel.Filter(below, phi.condition)
        new.append(psi.condition)
        psi = psi.phi
    filtered: cel.Formula = phi
    for condition in reversed(new):
        filtered = cel.Filter(filtered, condition)
    return filtered


def _holds_anyway(condition: cel.Condition, bound: Variables) -> bool:
    """Whether the condition holds because a variable holds nothing (docs/decisions/filters.md)."""
    match condition:
        case cel.Every() | cel.Correlated():
            return not frozenset(variables_of(condition)) <= bound
        case cel.Named():
            return False
        case cel.Conjunction(left, right):
            return _holds_anyway(left, bound) and _holds_anyway(right, bound)
        case cel.Disjunction(left, right):
            return _holds_anyway(left, bound) or _holds_anyway(right, bound)
        case _:
            assert_never(condition)
