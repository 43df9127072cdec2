"""What the valuations of a formula hold, as far as its syntax tells: clause by clause as in Figure 3 of tods21.

`must` is read downwards, that is nothing in it is wrong but something may be missing; `kinds` upwards, that is nothing
is missing but some may never occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import BudgetExceeded

Variables: TypeAlias = frozenset[str]

KINDS = 5_000  # sets of variables that ALL may make of its operands'


@dataclass(frozen=True)
class Held:
    """must: variables that hold an event in each valuation. binds: whether each valuation holds an event at all.

    kinds: the sets of variables that may hold the same event; so in each valuation each event is of one of the kinds.
    """

    must: Variables
    binds: bool
    kinds: frozenset[Variables]


def held(phi: cel.Formula) -> Held:
    """What the valuations of phi hold, over every interval of every stream. Raises BudgetExceeded."""
    match phi:
        case cel.Event(R):
            return Held(frozenset({R}), True, frozenset({frozenset({R})}))
        case cel.In(psi, A):
            h = held(psi)
            must = h.must | {A} if h.binds else h.must
            return Held(must, h.binds, frozenset(kind | {A} for kind in h.kinds))
        case cel.Project(L, psi):
            h = held(psi)
            binds = bool(h.must & L) or (h.binds and all(kind & L for kind in h.kinds))
            return Held(h.must & L, binds, frozenset(kind & L for kind in h.kinds if kind & L))
        case cel.Or(left, right):
            h, k = held(left), held(right)
            return Held(h.must & k.must, h.binds and k.binds, h.kinds | k.kinds)
        case cel.And(left, right):
            h, k = held(left), held(right)
            return Held(h.must | k.must, h.binds or k.binds, h.kinds & k.kinds)
        case cel.Seq(left, right):
            h, k = held(left), held(right)
            return Held(h.must | k.must, h.binds or k.binds, h.kinds | k.kinds)
        case cel.ContiguousSeq(left, right):
            h, k = held(left), held(right)
            return Held(h.must | k.must, True, h.kinds | k.kinds)
        case cel.All(left, right):
            h, k = held(left), held(right)
            if len(h.kinds) * len(k.kinds) > KINDS:
                raise BudgetExceeded("ALL may give an event too many sets of variables; bind fewer below it", phi.span)
            together = frozenset(a | b for a in h.kinds for b in k.kinds)
            return Held(h.must | k.must, h.binds or k.binds, h.kinds | k.kinds | together)
        case cel.Start(psi) | cel.Within(psi, _):  # neither keeps a valuation that holds nothing
            h = held(psi)
            return Held(h.must, True, h.kinds)
        case cel.Unless(psi, _):
            return held(psi)
        case (
            cel.Filter(psi, _) | cel.Plus(psi) | cel.ContiguousPlus(psi) | cel.PartitionBy(psi, _)
            | cel.Strict(psi) | cel.Next(psi) | cel.Last(psi) | cel.Max(psi)
        ):  # fmt: skip
            return held(psi)
        case _:
            assert_never(phi)
