"""core-CEL formulas taken apart and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from cerify.equivalence.rewrite.normal_forms.limit import joined, named
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.variables import defined_outside_iteration, free
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import TIME
from cerify.semantics.predicates import Attribute, Comparison
from cerify.semantics.trees import rebuilt

NEVER = Comparison("<", Attribute(TIME), Attribute(TIME))
"""A predicate without events: core-CEL has no word for false, and every event may have a time."""


def with_children(phi: core.Formula, below: Sequence[core.Formula]) -> core.Formula:
    """The formula with other formulas directly below it; what stood in a text keeps its span for messages."""
    return replace(rebuilt(phi, below), span=phi.span)


def never(phi: core.Formula, x: str | None = None) -> core.Formula:
    """A safe formula in LP-normal form that has no complex event; it defines x, or any variable, as phi does."""
    event = next(psi for psi in core.subformulas(phi) if isinstance(psi, core.Event) and x in (None, psi.variable))
    return core.Filter(event, core.Unary(event.variable, NEVER))


def around(phi: core.Plus | core.Strategy, body: core.Formula) -> core.Formula:
    """phi around another body that has the same complex events under each valuation, but may define less.

    An iteration chooses anew what its body defines, a strategy lets it vary among the rivals. A variable that the body
    goes on to use has to be defined in it still.
    """
    lost = (defined_outside_iteration(phi.phi) - defined_outside_iteration(body)) & free(body)
    match phi:
        case core.Plus():
            return core.Plus(joined(core.Or, [body, *(never(phi.phi, x) for x in sorted(lost))]), span=phi.span)
        case core.Strict():
            return core.Strict(body, span=phi.span)
        case core.Next() | core.Last() | core.Max():
            if lost:
                raise Unsupported(
                    f"{named(phi)} compares matches for all events of {', '.join(sorted(lost))}, which only an "
                    "impossible part of it defines; the theorems do not speak of selection strategies: define it on "
                    "every way through",
                    phi.span,
                )
            return with_children(phi, [body])
        case _:
            assert_never(phi)
