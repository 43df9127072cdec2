"""The fragment of CEL that a formula is written in: CEL*, or more (tods21, Definition 8.1, section 8.2)."""

from __future__ import annotations

from cerify.semantics.cel import syntax as cel

STAR = (cel.Event, cel.In, cel.Filter, cel.Seq, cel.Plus, cel.Or)
SYMBOLS: dict[type[cel.Formula], str] = {
    cel.ContiguousSeq: ":",
    cel.ContiguousPlus: ":+",
    cel.Project: "PROJECT",
    cel.Start: "START",
    cel.And: "AND",
    cel.All: "ALL",
    cel.Unless: "UNLESS",
    cel.Strict: "STRICT",
    cel.Next: "NXT",
    cel.Last: "LAST",
    cel.Max: "MAX",
    cel.Within: "WITHIN",
    cel.PartitionBy: "PARTITION BY",
}


def beyond_star(phi: cel.Formula) -> frozenset[str]:
    """The set O such that the formula is in CEL* with the operators of O, and with no fewer; empty for CEL* itself.

    This is about how the formula is written: an equivalent one may be in a smaller fragment.
    """
    return frozenset(SYMBOLS[type(psi)] for psi in cel.subformulas(phi) if not isinstance(psi, STAR))
