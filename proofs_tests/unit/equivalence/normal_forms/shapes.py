"""What the result of each pass has to look like, said without looking at the passes."""

from collections.abc import Iterator

from cerify.semantics.cel import syntax as cel
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.trees import children

CHOOSING = (cel.Plus, cel.ContiguousPlus, cel.Next, cel.Last, cel.Max)
CORE_CHOOSING = (core.CorePlus, core.CoreNext, core.CoreLast, core.CoreMax)


def is_disjunctive(phi: cel.Formula) -> bool:
    """Whether every OR is under ORs only, up to the top or to an operator that it cannot pass; filters are atoms."""
    below = children(phi)
    if not isinstance(phi, (cel.Or, *CHOOSING)) and any(isinstance(psi, cel.Or) for psi in below):
        return False
    if isinstance(phi, cel.Filter) and isinstance(phi.condition, cel.Conjunction | cel.Disjunction):
        return False
    return all(map(is_disjunctive, below))


def is_core_disjunctive(phi: core.Formula) -> bool:
    """The same for core-CEL: cep17, appendix B.1."""
    below = children(phi)
    if not isinstance(phi, (core.CoreOr, *CORE_CHOOSING)) and any(isinstance(psi, core.CoreOr) for psi in below):
        return False
    if isinstance(phi, core.CoreFilter) and isinstance(phi.condition, core.CoreConjunction | core.CoreDisjunction):
        return False
    return all(map(is_core_disjunctive, below))


def has_in_on_types_only(phi: cel.Formula) -> bool:
    """Whether every IN is on an event type, or on another IN."""
    return all(isinstance(psi.phi, cel.EventAtom | cel.In) for psi in cel.subformulas(phi) if isinstance(psi, cel.In))


def stuck_filters(phi: cel.Formula) -> Iterator[cel.Filter]:
    """The filters of single variables that stand, under other filters, on neither an event type nor a strategy."""
    for psi in cel.subformulas(phi):
        if isinstance(psi, cel.Filter) and isinstance(psi.condition, cel.Every):
            below: cel.Formula = psi
            while isinstance(below, cel.Filter):
                below = below.phi
            if not isinstance(below, cel.EventAtom | cel.Next | cel.Last | cel.Max):
                yield psi
