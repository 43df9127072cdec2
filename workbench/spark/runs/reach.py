"""The reach of a query: how many events before a match it may depend on.

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

from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

from cerify.automata.evaluate.scope import SECONDS, Width
from cerify.semantics.budget import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.extent import extents
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import TIME
from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase
from cerify.semantics.trees import children
from cerify.spark.runs.query import Query


@dataclass(frozen=True)
class Reach:
    """Windows that end with the event at which a match is reported; it depends on nothing before all of them.

    events: the number of events of a window, that event included. widths: windows on values, each with its attribute.
    """

    events: int = 1
    widths: tuple[tuple[str, Width], ...] = ()

    def __str__(self) -> str:
        """The windows in words."""
        widths = [f"{width:g} {'seconds' if name == TIME else f'of {name}'}" for name, width in self.widths]
        events = [f"{self.events} event{'s' * (self.events > 1)}"] if self.events > 1 or not widths else []
        return " and ".join(events + widths)


Found: TypeAlias = Reach | None


def reach_of_query(query: Query, budget: Budget) -> Found:
    """The reach of a query; None if it may depend on all events before."""
    phi = query.in_cel(budget)
    return reach_of_block(query.parsed) if isinstance(phi, Unsupported) else reach_of(phi)


def reach_of(phi: Formula) -> Found:
    """The reach of a formula; None if it may depend on all events before."""
    known, found = extents(phi), dict[int, Found]()
    for psi in reversed(list(cel.subformulas(phi))):
        found[id(psi)] = _reach(psi, [found[id(child)] for child in children(psi)], known[id(psi)].inherits)
    return found[id(phi)]


def reach_of_block(q: Any) -> Found:
    """The reach of a query of SASE+ whose matches depend on the events from the first to the last, and on no others.

    So no components are negated, since their scopes may begin before it or end after it; the last component is no
    Kleene plus, which extends until an event stops it; and no matches are left out because of others. Then WITHIN is a
    reach, and so is the number of components if each is the event that follows the one before it.
    """
    if not isinstance(q, sase.Query) or q.source is not None:
        return None
    if clauses.negated(q) or q.returned.non_overlap or q.pattern[-1].kleene:
        return None
    adjacent = all(clauses.strategy_of(q, k.variable) == "strict_contiguity" for k in q.pattern[1:])
    if adjacent and not any(k.kleene for k in q.pattern):
        return Reach(len(q.pattern))
    return None if q.within is None else Reach(1, ((TIME, q.within.seconds),))


def _reach(phi: Formula, below: list[Found], inherits: bool) -> Found:
    match phi:
        case cel.Event():
            return Reach()
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
                return Reach(left.events + right.events)
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
            return Reach(max(1, count if inside is None or inside.widths else min(count, inside.events)))
        case cel.TimeWindow(amount, unit):
            width = TIME, amount * SECONDS[unit]
        case cel.AttributeWindow(extent, a):
            width = a, extent
        case _:
            assert_never(window)
    if inside is None or (inside.events == 1 and [a for a, _ in inside.widths] == [width[0]]):
        return Reach(1, (min([width, *(inside.widths if inside else ())]),))
    return inside


def _both(left: Found, right: Found) -> Found:
    if left is None or right is None:
        return None
    widths = dict(left.widths)
    for a, width in right.widths:
        widths[a] = max(width, widths.get(a, width))
    return Reach(max(left.events, right.events), tuple(widths.items()))
