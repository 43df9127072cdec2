"""Where a formula can have valuations, by the two ends of an interval: what lets the interpreter skip a clause.

An operator that is in none of the tables is never skipped. Each entry is a fact about one clause of tods21, Figure 3,
or section 7.1; proofs_tests/unit/semantics/cel/test_extent.py takes each out, and puts each wrong one in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cerify.semantics.cel import syntax as cel
from cerify.semantics.trees import children

Types = frozenset[str] | None
"""Event types; None for all."""


@dataclass(frozen=True, slots=True)
class Extent:
    """A bound on the valuations of phi over the stream from i to j.

    last: the types that the event at j can have, None for any; if it has another one there is no valuation.
    inherits: whether they are those valuations over any interval from h < i to j that use no event before i, and use
    one event at least.
    """

    last: Types
    inherits: bool


NOTHING = Extent(None, inherits=False)
"""The extent that skips no clause."""


# Operators whose clause looks at nothing but its operands' valuations and at the events in them, so that it inherits
# where all operands do. Not so START, which looks at i; UNLESS and the strategies that compare, to which more events
# are more rivals; and PROJECT, which drops the positions by which one would see where a valuation began.
INHERITING: set[type] = {
    cel.Event, cel.In, cel.Filter, cel.Seq, cel.Plus, cel.ContiguousSeq, cel.ContiguousPlus, cel.Or, cel.And, cel.All,
    cel.Strict, cel.Within, cel.PartitionBy,
}  # fmt: skip


def _first(below: Sequence[Types]) -> Types:
    return below[0]


def _second(below: Sequence[Types]) -> Types:
    return below[1]


def _either(below: Sequence[Types]) -> Types:
    left, right = below
    return None if left is None or right is None else left | right


def _both(below: Sequence[Types]) -> Types:
    left, right = below
    return right if left is None else left if right is None else left & right


LAST: dict[type, Callable[[Sequence[Types]], Types]] = {
    cel.Seq: _second,
    cel.ContiguousSeq: _second,
    cel.Or: _either,
    cel.All: _either,
    cel.And: _both,
    cel.Unless: _first,
    cel.In: _first,
    cel.Filter: _first,
    cel.Plus: _first,
    cel.ContiguousPlus: _first,
    cel.Project: _first,
    cel.Start: _first,
    cel.Strict: _first,
    cel.Next: _first,
    cel.Last: _first,
    cel.Max: _first,
    cel.Within: _first,
    cel.PartitionBy: _first,
}
"""From the types of the last event of an operator's operands to those of its own."""


def extents(phi: cel.Formula) -> Mapping[int, Extent]:
    """The extents of a formula and of all in it, by the identity of the formulas."""
    found: dict[int, Extent] = {}
    for psi in reversed(list(cel.subformulas(phi))):
        below = [found[id(child)] for child in children(psi)]
        if isinstance(psi, cel.Event):
            last: Types = frozenset({psi.type})
        else:
            last = LAST[type(psi)]([e.last for e in below]) if type(psi) in LAST else None
        found[id(psi)] = Extent(last, type(psi) in INHERITING and all(e.inherits for e in below))
    return found
