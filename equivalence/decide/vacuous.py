"""What of a formula can never match: filters that no event passes, sub-formulas without a match on any stream."""

from __future__ import annotations

from collections.abc import Iterator

from cerify.automata.algebra.minterms import minterms
from cerify.equivalence.decide.cel import shortest_match
from cerify.semantics.budget import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.wellformed import types_held
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Schema
from cerify.semantics.predicate_types import Problem
from cerify.semantics.predicates import Both, OfType
from cerify.semantics.trees import children


def satisfiable(phi: cel.Formula, schema: Schema | None = None, budget: Budget = Budget()) -> bool | None:
    """Whether the formula has a match on some stream; None where that is not decided."""
    try:
        return shortest_match(phi, schema, budget) is not None
    except (Unsupported, BudgetExceeded):
        return None


def vacuous(phi: cel.Formula, schema: Schema | None = None, budget: Budget = Budget()) -> Iterator[Problem]:
    """The filters that no event can pass; and if the whole has no match, the innermost sub-formula that has none."""
    impossible = list(_impossible_filters(phi, schema, budget))
    yield from impossible
    if not impossible and satisfiable(phi, schema, budget) is False:
        while (inner := _without_match(children(phi), schema, budget)) is not None:
            phi = inner
        both = (
            ": AND asks for one match of both sides, and ALL puts one of each together"
            if isinstance(phi, cel.And)
            else ""
        )
        yield Problem("never", f"this has no match on any stream{both}", phi.span)


def _impossible_filters(phi: cel.Formula, schema: Schema | None, budget: Budget) -> Iterator[Problem]:
    for psi in cel.subformulas(phi):
        if isinstance(psi, cel.Filter):
            held = types_held(psi.phi)
            for atom in cel.atoms(psi.condition):
                if isinstance(atom, cel.Every) and (types := held.get(atom.variable)):
                    some = [Both(OfType(R), atom.predicate) for R in sorted(types)]
                    if not any(minterm.chosen for minterm in minterms(some, schema, budget)):
                        yield Problem("never", f"no event of {atom.variable} can pass this filter", atom.span)


def _without_match(formulas: tuple[cel.Formula, ...], schema: Schema | None, budget: Budget) -> cel.Formula | None:
    return next((phi for phi in formulas if satisfiable(phi, schema, budget) is False), None)
