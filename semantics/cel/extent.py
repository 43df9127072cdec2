"""Where a formula can have valuations at all: what its clauses say of the two ends of an interval, before any is found.

The interpreter asks here first. Every clause of tods21, Figure 3, and of section 7.1 is looked at by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from cerify.semantics.cel import syntax as cel
from cerify.semantics.trees import children

ASKS_WHERE_IT_BEGINS = cel.Start | cel.Project | cel.Unless | cel.Next | cel.Last | cel.Max


@dataclass(frozen=True, slots=True)
class Extent:
    """What is known of the valuations of phi over the stream from i to j.

    last: the types that the event at j can have; over an interval that ends in another one there is no valuation.
    inherits: whether they are those valuations over any interval from h < i to j that use no event before i.
    """

    last: frozenset[str]
    inherits: bool


def extents(phi: cel.Formula) -> dict[int, Extent]:
    """The extents of a formula and of all in it, by the identity of the formulas.

    An event type looks at j only. An operator inherits where its operands do and it looks at nothing but valuations:
    so do not START, which looks at i; UNLESS and the strategies that compare, to which more events are more rivals; and
    PROJECT, which forgets where a valuation began.
    """
    found: dict[int, Extent] = {}
    for psi in reversed(list(cel.subformulas(phi))):
        below = [found[id(child)] for child in children(psi)]
        inherits = all(e.inherits for e in below) and not isinstance(psi, ASKS_WHERE_IT_BEGINS)
        match psi:
            case cel.Event(R):
                last = frozenset({R})
            case cel.Seq() | cel.ContiguousSeq():
                last = below[1].last
            case cel.Or() | cel.All():
                last = below[0].last | below[1].last
            case cel.And():
                last = below[0].last & below[1].last
            case _:  # an operator on one formula, or UNLESS, keeps some of its first operand's valuations
                last = below[0].last
        found[id(psi)] = Extent(last, inherits)
    return found
