"""Disjunctive normal form of core-CEL: cep17, Lemma 2.

Every OR is at the top, or at the top of what an iteration repeats. The lemma is for formulas without strategies:
STRICT distributes over OR as a filter does, and NXT, LAST and MAX, which choose among the complex events of all
disjuncts, hold their operand in disjunctive normal form, as an iteration does.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from cerify.equivalence.rewrite.normal_forms.core_trees import with_children
from cerify.equivalence.rewrite.normal_forms.limit import (
    NODES,
    check_nodes,
    filtered,
    filtered_size,
    joined,
    product_size,
)
from cerify.semantics.budget import depth_limited
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.trees import children

Disjuncts: TypeAlias = list[core.Formula]


def disjunctive(phi: core.Formula, nodes: int = NODES) -> core.Formula:
    """The disjunctive normal form of phi: the same complex events under each valuation. Raises BudgetExceeded."""
    with depth_limited(phi.span):
        return _or(_disjuncts(phi, nodes))


def _or(disjuncts: Disjuncts) -> core.Formula:
    phi: core.Formula = joined(core.Or, disjuncts)
    return phi


def _disjuncts(phi: core.Formula, nodes: int) -> Disjuncts:
    """Formulas without OR, but for that inside iterations and strategies, whose union phi is; none twice."""
    below = [_disjuncts(psi, nodes) for psi in children(phi)]
    sizes = [[core.size(psi) for psi in disjuncts] for disjuncts in below]
    found: Disjuncts
    match phi:
        case core.Event():
            found = [phi]
        case core.Or():
            found = below[0] + below[1]
        case core.Filter(_, condition):
            check_nodes(filtered_size(condition, sizes[0]), nodes, phi)
            found = filtered(below[0], condition)
        case core.Strict():
            found = [with_children(phi, [psi]) for psi in below[0]]
        case core.Seq():
            check_nodes(product_size(*sizes), nodes, phi)
            found = [with_children(phi, [left, right]) for left in below[0] for right in below[1]]
        case core.Plus() | core.Next() | core.Last() | core.Max():
            found = [with_children(phi, [_or(below[0])])]
        case _:
            assert_never(phi)
    found = list(dict.fromkeys(found))
    check_nodes(sum(map(core.size, found)) + len(found) - 1, nodes, phi)
    return found
