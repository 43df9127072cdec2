"""Disjunctive normal form of CEL: every OR as far out as the meaning lets it go.

The operators that look at one valuation at a time, or put together one of each operand, distribute over OR: their
clauses in tods21, Figure 3, are unions. Four do not, and hold their operand in disjunctive normal form themselves:
the rounds of `+` and `:+` may each choose another disjunct, and NXT, LAST and MAX compare the valuations of all
disjuncts with each other. UNLESS asks of its right side that it have no valuation: an OR there becomes one UNLESS
after another.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from cerify.equivalence.rewrite.normal_forms.limit import (
    NODES,
    check_nodes,
    filtered,
    filtered_size,
    joined,
    product_size,
)
from cerify.semantics.budget import depth_limited
from cerify.semantics.cel import syntax as cel
from cerify.semantics.trees import children, rebuilt

Disjuncts: TypeAlias = list[cel.Formula]


def disjunctive(phi: cel.Formula, nodes: int = NODES) -> cel.Formula:
    """The disjunctive normal form of phi: the same valuations. May be exponentially larger. Raises BudgetExceeded."""
    with depth_limited(phi.span):
        return _or(_disjuncts(cel.expanded(phi), nodes))


def _or(disjuncts: Disjuncts) -> cel.Formula:
    phi: cel.Formula = joined(cel.Or, disjuncts)
    return phi


def _disjuncts(phi: cel.Formula, nodes: int) -> Disjuncts:
    """Formulas without OR, but for that inside iterations and strategies, whose union phi is; none twice."""
    if isinstance(phi, cel.Derived):
        return _disjuncts(phi.expansion, nodes)
    below = [_disjuncts(psi, nodes) for psi in children(phi)]
    sizes = [[cel.size(psi) for psi in disjuncts] for disjuncts in below]
    found: Disjuncts
    match phi:
        case cel.Event(R):
            found = [cel.Event(R)]
        case cel.Or():
            found = below[0] + below[1]
        case cel.Filter(_, condition):
            check_nodes(filtered_size(condition, sizes[0]), nodes, phi)
            found = filtered(below[0], condition)
        case (
            cel.In() | cel.Project() | cel.Start() | cel.Strict() | cel.Within() | cel.PartitionBy()
        ):  # fmt: skip
            found = [rebuilt(phi, [psi]) for psi in below[0]]
        case cel.Seq() | cel.ContiguousSeq() | cel.And() | cel.All():
            check_nodes(product_size(*sizes), nodes, phi)
            found = [rebuilt(phi, [left, right]) for left in below[0] for right in below[1]]
        case cel.Unless():
            check_nodes(sum(sizes[0]) + len(sizes[0]) * (sum(sizes[1]) + len(sizes[1])), nodes, phi)
            found = [_unless(left, below[1]) for left in below[0]]
        case cel.Plus() | cel.ContiguousPlus() | cel.Next() | cel.Last() | cel.Max():
            found = [rebuilt(phi, [_or(below[0])])]
        case _:
            assert_never(phi)
    found = list(dict.fromkeys(found))
    check_nodes(sum(map(cel.size, found)) + len(found) - 1, nodes, phi)
    return found


def _unless(phi: cel.Formula, disjuncts: Disjuncts) -> cel.Formula:
    """phi UNLESS (d1 OR d2 OR ...) is ((phi UNLESS d1) UNLESS d2) ..."""
    for d in disjuncts:
        phi = cel.Unless(phi, d)
    return phi
