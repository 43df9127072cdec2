"""Which variables the valuations of a CEL formula may bind, and which its filters speak of."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from cerify.equivalence.rewrite.trees import variables_of
from cerify.semantics.cel import syntax as cel
from cerify.semantics.trees import children

Variables: TypeAlias = frozenset[str]


def bindable(phi: cel.Formula) -> Variables:
    """The variables that some valuation of phi may bind to an event; all others are bound to none in each of them."""
    match phi:
        case cel.Event(R):
            return frozenset({R})
        case cel.In(psi, A):
            bound = bindable(psi)
            return bound | {A} if bound else bound
        case cel.Project(L, psi):
            return bindable(psi) & L
        case cel.And(left, right):
            return bindable(left) & bindable(right)
        case cel.Unless(left, _):
            return bindable(left)
        case cel.Derived():
            return bindable(phi.expansion)
        case (
            cel.Seq() | cel.ContiguousSeq() | cel.Or() | cel.All() | cel.Plus() | cel.ContiguousPlus() | cel.Filter()
            | cel.Start() | cel.Strict() | cel.Next() | cel.Last() | cel.Max() | cel.Within() | cel.PartitionBy()
        ):  # fmt: skip
            return frozenset[str]().union(*map(bindable, children(phi)))
        case _:
            assert_never(phi)


def spoken_of(condition: cel.Condition) -> Variables:
    """The variables of a filter: which valuations it keeps depends on what these hold, and on nothing else."""
    return frozenset(A for atom in cel.atoms(condition) for A in variables_of(atom))
