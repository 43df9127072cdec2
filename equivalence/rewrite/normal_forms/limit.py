"""What keeps a rewriting from running away: the number of nodes that its result may have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.operators import OPERATORS as CEL
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.operators import OPERATORS as CORE_CEL
from cerify.semantics.errors import BudgetExceeded

NODES = 10_000
"""The most nodes that a normal form may have, unless told otherwise."""

CHAIN = 64  # disjuncts in a row; more are joined as a tree, which is not as deep

_OPERATORS = {**CEL, **CORE_CEL}


def named(phi: cel.Formula | core.Formula) -> str:
    """The operator of a formula, as one writes it."""
    return _OPERATORS[type(phi)].symbol


def check_nodes(made: int, limit: int, phi: cel.Formula | core.Formula) -> None:
    """Raises BudgetExceeded if the formula would be rewritten to more nodes than the limit."""
    if made > limit:
        raise BudgetExceeded(
            f"the normal form would have {made} nodes already at this {named(phi)}, and {limit} are allowed; "
            "rewrite a part of the formula, or allow more",
            phi.span,
        )


def joined(Or: Any, disjuncts: Sequence[Any]) -> Any:
    """The OR of the formulas, in their order; of very many as a tree, so that it can be read and evaluated."""
    if len(disjuncts) > CHAIN:
        half = len(disjuncts) // 2
        return Or(joined(Or, disjuncts[:half]), joined(Or, disjuncts[half:]))
    phi, *others = disjuncts
    for psi in others:
        phi = Or(phi, psi)
    return phi


def product_size(left: Sequence[int], right: Sequence[int]) -> int:
    """The nodes of all pairs of formulas of these sizes, each under an operator of its own."""
    return len(right) * sum(left) + len(left) * sum(right) + len(left) * len(right)


def filtered(phis: list[Any], condition: cel.Condition | core.Condition) -> list[Any]:
    """The formulas under the filter, its AND and OR as what they are short for."""
    match condition:
        case cel.Conjunction(left, right) | core.Conjunction(left, right):
            return filtered(filtered(phis, left), right)
        case cel.Disjunction(left, right) | core.Disjunction(left, right):
            return filtered(phis, left) + filtered(phis, right)
        case cel.Every() | cel.Correlated() | cel.Named():
            return [cel.Filter(phi, condition, span=condition.span) for phi in phis]
        case core.Unary() | core.Correlated():
            return [core.Filter(phi, condition, span=condition.span) for phi in phis]
        case _:
            assert_never(condition)


def filtered_size(condition: cel.Condition | core.Condition, sizes: Sequence[int]) -> int:
    """The nodes of the OR of all that `filtered` makes of formulas of these sizes."""
    count, nodes = _filtered_nodes(condition, len(sizes), sum(sizes))
    return nodes + count - 1


def _filtered_nodes(condition: cel.Condition | core.Condition, count: int, size: int) -> tuple[int, int]:
    """The numbers of formulas that `filtered` makes of `count` formulas, and of nodes, of `size` nodes."""
    match condition:
        case cel.Conjunction(left, right) | core.Conjunction(left, right):
            return _filtered_nodes(right, *_filtered_nodes(left, count, size))
        case cel.Disjunction(left, right) | core.Disjunction(left, right):
            (count1, size1), (count2, size2) = _filtered_nodes(left, count, size), _filtered_nodes(right, count, size)
            return count1 + count2, size1 + size2
        case cel.Every() | cel.Correlated() | cel.Named() | core.Unary() | core.Correlated():
            return count, size + count
        case _:
            assert_never(condition)
