"""Why a match does not have a valuation that was asked about: what its variables bind instead, and by which clause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cerify.explanations.evidence import braces, positions
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.show import show
from cerify.semantics.events import Valuation


def misbound(phi: cel.Formula, mu: Valuation, nearest: Valuation) -> Iterator[tuple[cel.Formula, str, str]]:
    """For each variable that binds something else in nearest: the part of phi that binds it, the clause, and why."""
    for A in sorted({A for A, _ in mu ^ nearest}):
        asked, bound = (braces(positions(nu, A)) for nu in (mu, nearest))
        binders = [psi for psi in cel.subformulas(phi) if _binds(psi, A)]
        hiding = [psi for psi in cel.subformulas(phi) if isinstance(psi, cel.Project) and A not in psi.variables]
        if not binders:
            yield phi, "variable binding", f"nothing in the formula binds {A}"
        elif hiding and not positions(nearest, A):
            kept = ", ".join(sorted(hiding[0].variables)) or "no variable"
            yield hiding[0], "projection", f"PROJECT keeps {kept} only, so {A} binds nothing, not {asked}"
        else:
            yield binders[0], _clause(binders[0]), f"{_binding(binders)} binds {A} to {bound}, not to {asked}"


def _binds(psi: cel.Formula, A: str) -> bool:
    return (isinstance(psi, cel.In) and psi.variable == A) or (isinstance(psi, cel.Event) and psi.type == A)


def _clause(binder: cel.Formula) -> str:
    return "variable binding" if isinstance(binder, cel.In) else "event type"


def _binding(binders: Sequence[cel.Formula]) -> str:
    shown = dict.fromkeys(map(show, binders))
    return " or ".join(shown)
