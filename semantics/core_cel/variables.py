"""Which variables a core-CEL formula mentions, defines and binds (cep17, sections 3 and 5.1)."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from cerify.semantics.core_cel import syntax as core
from cerify.semantics.predicates import mentions
from cerify.semantics.trees import children

Variables: TypeAlias = frozenset[str]


def mentioned(condition: core.Condition) -> Variables:
    """The variables x1, ..., xn of the atoms P(x1, ..., xn) of a filter."""
    found: set[str] = set()
    for atom in core.atoms(condition):
        match atom:
            case core.Unary(x, _):
                found.add(x)
            case core.Correlated(predicate):
                found.update(a.variable for a in mentions(predicate) if a.variable is not None)
            case _:
                assert_never(atom)
    return frozenset(found)


def variables(phi: core.Formula) -> Variables:
    """vars(phi): all variables that occur in phi, its filters included (section 3)."""
    match phi:
        case core.Event(_, x):
            return frozenset({x})
        case core.Filter(psi, condition):
            return variables(psi) | mentioned(condition)
        case core.Or() | core.Seq() | core.Plus() | core.Strict() | core.Next() | core.Last() | core.Max():
            return frozenset[str]().union(*map(variables, children(phi)))
        case _:
            assert_never(phi)


def defined(phi: core.Formula) -> Variables:
    """vdef(phi): the variables x of the sub-formulas R AS x (section 3)."""
    return frozenset(node.variable for node in core.subformulas(phi) if isinstance(node, core.Event))


def defined_outside_iteration(phi: core.Formula) -> Variables:
    """vdef+(phi): the variables x of the sub-formulas R AS x that stand in no iteration (section 3)."""
    match phi:
        case core.Event(_, x):
            return frozenset({x})
        case core.Plus():
            return frozenset()
        case core.Filter() | core.Or() | core.Seq() | core.Strict() | core.Next() | core.Last() | core.Max():
            return frozenset[str]().union(*map(defined_outside_iteration, children(phi)))
        case _:
            assert_never(phi)


def free(phi: core.Formula) -> Variables:
    """The variables on whose event it depends which complex events phi has; an iteration chooses those it defines anew.

    The paper has no name for them: by its clauses two valuations that agree here give phi the same complex events.
    """
    match phi:
        case core.Event(_, x):
            return frozenset({x})
        case core.Filter(psi, condition):
            return free(psi) | mentioned(condition)
        case core.Plus(psi):
            return free(psi) - defined_outside_iteration(psi)
        case core.Or() | core.Seq() | core.Strict() | core.Next() | core.Last() | core.Max():
            return frozenset[str]().union(*map(free, children(phi)))
        case _:
            assert_never(phi)


def bound(phi: core.Formula) -> Variables:
    """bound(phi): the variables that hold an event of every complex event of phi (section 5.1)."""
    match phi:
        case core.Event(_, x):
            return frozenset({x})
        case core.Or(left, right):
            return bound(left) & bound(right)
        case core.Seq(left, right):
            return bound(left) | bound(right)
        case core.Plus():
            return frozenset()
        case core.Filter(psi, _) | core.Strict(psi) | core.Next(psi) | core.Last(psi) | core.Max(psi):
            return bound(psi)
        case _:
            assert_never(phi)
