"""A safe formula for every formula of core-CEL: cep17, Theorem 1 (Lemmas 2 and B.12).

In disjunctive normal form an unsafe disjunct asks one variable to hold two events, and so has no complex event: it
goes. The proof passes over what it takes along: a variable that an iteration chose anew in each round because of that
disjunct would then be chosen outside. So if the iteration still uses it, an impossible disjunct goes on defining it.
"""

from __future__ import annotations

from typing import assert_never

from cerify.equivalence.rewrite.normal_forms.core_disjunctive import disjunctive
from cerify.equivalence.rewrite.normal_forms.core_trees import around, never, with_children
from cerify.equivalence.rewrite.normal_forms.limit import NODES
from cerify.semantics.budget import depth_limited
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.variables import bound, defined_outside_iteration
from cerify.semantics.errors import Unsupported
from cerify.semantics.trees import children


def safe(phi: core.Formula, nodes: int = NODES) -> core.Formula:
    """A safe formula with the complex events of phi, in disjunctive normal form. Raises BudgetExceeded, Unsupported."""
    with depth_limited(phi.span):
        return _possible(disjunctive(phi, nodes)) or never(phi)


def _possible(phi: core.Formula) -> core.Formula | None:
    """phi without its impossible disjuncts, None if there are no others."""
    match phi:
        case core.Event():
            return phi
        case core.Or():
            found = [psi for psi in map(_possible, children(phi)) if psi is not None]
            return with_children(phi, found) if len(found) == 2 else found[0] if found else None
        case core.Plus() | core.Strict() | core.Next() | core.Last() | core.Max():
            body = _possible(phi.phi)
            return None if body is None else around(phi, body)
        case core.Filter():
            filtered = _possible(phi.phi)
            return None if filtered is None else with_children(phi, [filtered])
        case core.Seq():
            left, right = map(_possible, children(phi))
            if left is None or right is None or bound(left) & bound(right):
                return None
            if shared := defined_outside_iteration(left) & defined_outside_iteration(right):
                raise Unsupported(
                    f"a strategy chooses among matches with and without {', '.join(sorted(shared))}, which the other "
                    "side of ; defines too; Theorem 1 does not speak of selection strategies: give one of them "
                    "another name",
                    phi.span,
                )
            return core.Seq(left, right, span=phi.span)
        case _:
            assert_never(phi)
