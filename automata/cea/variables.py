"""Which variables a core-CEL formula mentions, defines and binds: cep17, sections 3 and 5.1, read for the automata.

semantics/core_cel/variables.py is the reading of the definition; the two share no code.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from cerify.semantics.core_cel import syntax as core
from cerify.semantics.predicates import mentions

Variables: TypeAlias = frozenset[str]


def mentioned(condition: core.Condition) -> Variables:
    """The variables of the atoms of a filter."""
    match condition:
        case core.Unary(x, _):
            return frozenset({x})
        case core.Correlated(predicate):
            return frozenset(a.variable for a in mentions(predicate) if a.variable is not None)
        case core.Conjunction(left, right) | core.Disjunction(left, right):
            return mentioned(left) | mentioned(right)
        case _:
            assert_never(condition)


def defined_outside_iteration(phi: core.Formula) -> Variables:
    """vdef+(phi): the variables of the definitions that no + is around (section 3)."""
    match phi:
        case core.Event(_, x):
            return frozenset({x})
        case core.Or(left, right) | core.Seq(left, right):
            return defined_outside_iteration(left) | defined_outside_iteration(right)
        case core.Filter(psi, _) | core.Strict(psi) | core.Next(psi) | core.Last(psi) | core.Max(psi):
            return defined_outside_iteration(psi)
        case core.Plus():
            return frozenset()
        case _:
            assert_never(phi)


def free(phi: core.Formula) -> Variables:
    """The variables on which [phi](S, nu) depends: those mentioned in phi less those that a + around them rechooses."""
    match phi:
        case core.Event(_, x):
            return frozenset({x})
        case core.Or(left, right) | core.Seq(left, right):
            return free(left) | free(right)
        case core.Filter(psi, condition):
            return mentioned(condition) | free(psi)
        case core.Plus(psi):
            return free(psi).difference(defined_outside_iteration(psi))
        case core.Strict(psi) | core.Next(psi) | core.Last(psi) | core.Max(psi):
            return free(psi)
        case _:
            assert_never(phi)


def bound(phi: core.Formula) -> Variables:
    """bound(phi): the variables that are at an event of every complex event of phi (section 5.1)."""
    match phi:
        case core.Event(_, x):
            return frozenset({x})
        case core.Seq(left, right):
            return bound(left) | bound(right)
        case core.Or(left, right):
            return bound(left).intersection(bound(right))
        case core.Plus():
            return frozenset()
        case core.Filter(psi, _) | core.Strict(psi) | core.Next(psi) | core.Last(psi) | core.Max(psi):
            return bound(psi)
        case _:
            assert_never(phi)
