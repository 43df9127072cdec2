"""The reach of a formula: how many events before a match it may depend on.

Over the stream from i to j a formula can have other valuations than over all of it up to j. It has the same ones if i
precedes all events that the formula depends on; it has a reach if these lie in some windows that end at j. By
the clauses of tods21, Figure 3, and of section 7.1:

- A formula whose operators look at nothing but valuations has over a shorter interval those that lie in it
  (semantics/cel/extent.py). So if all of them lie in a window it depends on that window only: WITHIN, or neighbours.
- An operator whose clause is over one interval depends on no more than its operands do. So NXT, LAST, MAX and PROJECT
  have the reach of what is inside, and none of what is around: NXT(A ; B) WITHIN 5 EVENTS depends on all events before.
- START depends on the beginning of the stream, and UNLESS on matches of its right side anywhere in it.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from cerify.automata.evaluate.reach import LookbackBounds
from cerify.automata.evaluate.scope import SECONDS
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.extent import extents
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import TIME
from cerify.semantics.trees import children

Found: TypeAlias = LookbackBounds | None


def reach_of(phi: Formula) -> Found:
    """The reach of a formula; None if it may depend on all events before."""
    known, found = extents(phi), dict[int, Found]()
    for psi in reversed(list(cel.subformulas(phi))):
        found[id(psi)] = _reach(psi, [found[id(child)] for child in children(psi)], known[id(psi)].inherits)
    return found[id(phi)]


def _reach(phi: Formula, below: list[Found], inherits: bool) -> Found:
    match phi:
        case cel.Event():
            return LookbackBounds()
        case cel.Within(_, window):
            return _narrower(below[0], window) if inherits else below[0]
        case cel.In() | cel.Filter() | cel.Strict() | cel.PartitionBy():
            return below[0]
        case cel.Project() | cel.Next() | cel.Last() | cel.Max():
            return below[0]
        case cel.Or() | cel.And():
            return _both(below[0], below[1])
        case cel.ContiguousSeq():
            left, right = below
            if inherits and left and right and not left.widths and not right.widths:
                return LookbackBounds(left.events + right.events)
            return None
        case cel.Seq() | cel.Plus() | cel.ContiguousPlus() | cel.All() | cel.Start() | cel.Unless():
            return None
        case cel.Derived():
            return reach_of(phi.expansion)
        case _:
            assert_never(phi)


def _narrower(inside: Found, window: cel.Window) -> Found:
    """The reach of valuations in a window, which may have one already; either would do."""
    match window:
        case cel.EventWindow(count):
            return LookbackBounds(max(1, count if inside is None or inside.widths else min(count, inside.events)))
        case cel.TimeWindow(amount, unit):
            width = TIME, amount * SECONDS[unit]
        case cel.AttributeWindow(extent, a):
            width = a, extent
        case _:
            assert_never(window)
    if inside is None or (inside.events == 1 and [a for a, _ in inside.widths] == [width[0]]):
        return LookbackBounds(1, (min([width, *(inside.widths if inside else ())]),))
    return inside


def _both(left: Found, right: Found) -> Found:
    if left is None or right is None:
        return None
    widths = dict(left.widths)
    for a, width in right.widths:
        widths[a] = max(width, widths.get(a, width))
    return LookbackBounds(max(left.events, right.events), tuple(widths.items()))
