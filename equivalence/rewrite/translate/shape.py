"""core-CEL formulas written as trees of CEL, symbol by symbol, so that what works on these works on them.

R AS x becomes R IN x, and nothing else changes. This is no translation: as a formula of
CEL the tree may mean something else. It serves the machinery that takes formulas apart, such as shrinking.
"""

from __future__ import annotations

from typing import assert_never

from cerify.semantics.cel import syntax as cel
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.errors import Unsupported
from cerify.semantics.predicates import about, mentions

STRATEGIES: dict[type[core.Strategy], type[cel.Strategy]] = {
    core.Strict: cel.Strict,
    core.Next: cel.Next,
    core.Last: cel.Last,
    core.Max: cel.Max,
}
BACK = {to: from_ for from_, to in STRATEGIES.items()}


def as_cel_tree(phi: core.Formula) -> cel.Formula:
    """The tree of a core-CEL formula."""
    match phi:
        case core.Event(R, x):
            return cel.In(cel.Event(R), x)
        case core.Filter(psi, condition):
            return cel.Filter(as_cel_tree(psi), as_cel_condition(condition))
        case core.Or(left, right):
            return cel.Or(as_cel_tree(left), as_cel_tree(right))
        case core.Seq(left, right):
            return cel.Seq(as_cel_tree(left), as_cel_tree(right))
        case core.Plus(psi):
            return cel.Plus(as_cel_tree(psi))
        case core.Strict(psi) | core.Next(psi) | core.Last(psi) | core.Max(psi):
            return STRATEGIES[type(phi)](as_cel_tree(psi))
        case _:
            assert_never(phi)


def as_cel_condition(condition: core.Condition) -> cel.Condition:
    """The condition on sets that is written like the one on single events, and says the same of sets of one event."""
    match condition:
        case core.Unary(x, predicate):
            return cel.Every(x, predicate, span=condition.span)
        case core.Correlated(predicate):
            return cel.Correlated(predicate, span=condition.span)
        case core.Conjunction(left, right):
            return cel.Conjunction(as_cel_condition(left), as_cel_condition(right), span=condition.span)
        case core.Disjunction(left, right):
            return cel.Disjunction(as_cel_condition(left), as_cel_condition(right), span=condition.span)
        case _:
            assert_never(condition)


def of_cel_tree(phi: cel.Formula) -> core.Formula:
    """The core-CEL formula of which this is the tree. Raises Unsupported if there is none."""
    match phi:
        case cel.In(cel.Event(R), x):
            return core.Event(R, x)
        case cel.Filter(psi, condition):
            return core.Filter(of_cel_tree(psi), of_cel_condition(condition))
        case cel.Or(left, right):
            return core.Or(of_cel_tree(left), of_cel_tree(right))
        case cel.Seq(left, right):
            return core.Seq(of_cel_tree(left), of_cel_tree(right))
        case cel.Plus(psi):
            return core.Plus(of_cel_tree(psi))
        case cel.Strict(psi) | cel.Next(psi) | cel.Last(psi) | cel.Max(psi):
            return BACK[type(phi)](of_cel_tree(psi))
        case _:
            raise Unsupported("not the tree of a core-CEL formula", phi.span)


def of_cel_condition(condition: cel.Condition) -> core.Condition:
    """The condition on single events that is written like the one on sets. Raises Unsupported if there is none."""
    match condition:
        case cel.Every(x, predicate):
            return core.Unary(x, predicate)
        case cel.Correlated(predicate):
            match sorted({a.variable or "" for a in mentions(predicate)}):
                case [x]:
                    return core.Unary(x, about(predicate, None))
                case _:
                    return core.Correlated(predicate)
        case cel.Conjunction(left, right):
            return core.Conjunction(of_cel_condition(left), of_cel_condition(right))
        case cel.Disjunction(left, right):
            return core.Disjunction(of_cel_condition(left), of_cel_condition(right))
        case cel.Named():
            raise Unsupported("not the tree of a core-CEL condition", condition.span)
        case _:
            assert_never(condition)
