"""Which variables bind events in the valuations of a formula, as far as its syntax shows: a clause for each operator.

Bounds from both sides, for all streams (tods21, Figure 3): `definite` may lack variables, but has none too many;
`possible` may have sets too many, but lacks none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import BudgetExceeded

Variables: TypeAlias = frozenset[str]

MAX_SETS = 5_000  # sets of variables that ALL may make of its operands'


@dataclass(frozen=True)
class BindingAnalysis:
    """definite: variables that bind an event in each valuation. binds: whether each valuation binds any event.

    possible: for each event of a valuation, the set of the variables that bind it is one of these.
    """

    definite: Variables
    binds: bool
    possible: frozenset[Variables]


def analyze_bindings(phi: cel.Formula) -> BindingAnalysis:
    """The analysis of phi, for every interval of every stream. Raises BudgetExceeded."""
    match phi:
        case cel.Event(R):
            return BindingAnalysis(frozenset({R}), True, frozenset({frozenset({R})}))
        case cel.In(psi, A):
            h = analyze_bindings(psi)
            definite = h.definite | {A} if h.binds else h.definite
            return BindingAnalysis(definite, h.binds, frozenset(kind | {A} for kind in h.possible))
        case cel.Project(L, psi):
            h = analyze_bindings(psi)
            binds = bool(h.definite & L) or (h.binds and all(kind & L for kind in h.possible))
            return BindingAnalysis(h.definite & L, binds, frozenset(kind & L for kind in h.possible if kind & L))
        case cel.Or(left, right):
            h, k = analyze_bindings(left), analyze_bindings(right)
            return BindingAnalysis(h.definite & k.definite, h.binds and k.binds, h.possible | k.possible)
        case cel.And(left, right):
            h, k = analyze_bindings(left), analyze_bindings(right)
            return BindingAnalysis(h.definite | k.definite, h.binds or k.binds, h.possible & k.possible)
        case cel.Seq(left, right):
            h, k = analyze_bindings(left), analyze_bindings(right)
            return BindingAnalysis(h.definite | k.definite, h.binds or k.binds, h.possible | k.possible)
        case cel.ContiguousSeq(left, right):
            h, k = analyze_bindings(left), analyze_bindings(right)
            return BindingAnalysis(h.definite | k.definite, True, h.possible | k.possible)
        case cel.All(left, right):
            h, k = analyze_bindings(left), analyze_bindings(right)
            if len(h.possible) * len(k.possible) > MAX_SETS:
                raise BudgetExceeded("ALL may give an event too many sets of variables; bind fewer below it", phi.span)
            together = frozenset(a | b for a in h.possible for b in k.possible)
            return BindingAnalysis(h.definite | k.definite, h.binds or k.binds, h.possible | k.possible | together)
        case cel.Start(psi) | cel.Within(psi, _):  # a valuation of these binds an event
            h = analyze_bindings(psi)
            return BindingAnalysis(h.definite, True, h.possible)
        case cel.Unless(psi, _):
            return analyze_bindings(psi)
        case (
            cel.Filter(psi, _) | cel.Plus(psi) | cel.ContiguousPlus(psi) | cel.PartitionBy(psi, _)
            | cel.Strict(psi) | cel.Next(psi) | cel.Last(psi) | cel.Max(psi)
        ):  # fmt: skip
            return analyze_bindings(psi)
        case cel.Derived():
            return analyze_bindings(phi.expansion)
        case _:
            assert_never(phi)
