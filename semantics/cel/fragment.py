"""The fragment of CEL that a formula is written in: CEL*, or more (tods21, Definition 8.1, section 8.2)."""

from __future__ import annotations

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.operators import OPERATORS

STAR = (cel.Event, cel.In, cel.Filter, cel.Seq, cel.Plus, cel.Or)


def beyond_star(phi: cel.Formula) -> frozenset[str]:
    """The set O such that the formula is in CEL* with the operators of O, and with no fewer; empty for CEL* itself.

    This is about how the formula is written: an equivalent one may be in a smaller fragment.
    """
    primitive = cel.subformulas(cel.expanded(phi))
    return frozenset(OPERATORS[type(psi)].symbol for psi in primitive if not isinstance(psi, STAR))
