"""The conditions of WHERE over a match, whole or in part: which events references name, and when a conjunct counts.

A match in part says which positions each variable has so far, the event that is looked at last. While a[i] is looked
at, i is the number of positions of a, so that a[i] is the last of them and a[..i-1] all before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from cerify.semantics.events import Event
from cerify.semantics.predicates import Attribute, Predicate, compare, mentions
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import NO_OPERATIONS, Operations
from cerify.semantics.sase.folding import folded
from cerify.semantics.values import Value

Bound: TypeAlias = Mapping[str, Sequence[int]]
"""The positions that each variable has so far, ascending; a variable without any may be left out."""

ValueOf: TypeAlias = Callable[[Attribute], Value | None]

Edge = Literal["first", "each", "later", "end"]
"""When a conjunct is looked at, in the component of its last identifier.

first  when its first event is selected: a[1], or a
each   when any of its events is selected: a[i] with no other event of a, i >= 1
later  when any but the first is selected: a[i-1], a[..i-1], or a[i] compared with a[1]; i > 1
end    when the component is complete: a[a.LEN], avg(a[].x)
"""


def value_of(bound: Bound, S: Sequence[Event], operations: Operations = NO_OPERATIONS) -> ValueOf:
    """The values of references and aggregates over a match in part; None where an event or its attribute is absent."""

    def value(attribute: Attribute) -> Value | None:
        positions = bound.get(attribute.variable or "", ())
        match attribute:
            case sase.Reference(name, _, place):
                p = position(positions, place)
                return None if p is None else S[p].get(name)
            case sase.Aggregate(running=running):
                meant = positions[:-1] if running else positions
                return folded(attribute, (S[p] for p in meant), operations)
            case _:
                raise TypeError(f"{attribute} is no reference of SASE+")

    return value


def position(positions: Sequence[int], place: sase.Index) -> int | None:
    """The position that a reference names among those of its variable, None where there is none."""
    match place:
        case "only" | "first":
            return positions[0] if positions else None
        case "current" | "last":
            return positions[-1] if positions else None
        case "previous":
            return positions[-2] if len(positions) > 1 else None
        case _:
            assert_never(place)


def agree(attribute: str, event: Event, before: Event) -> bool:
    """An equivalence test in its canonical form: the event has the value of the one selected before it."""
    return compare("=", event.get(attribute), before.get(attribute))


@dataclass(frozen=True, slots=True)
class Placed:
    """When a conjunct counts: the component, by its index in the pattern, and the edge of it."""

    component: int
    edge: Edge


def placed(p: Predicate, pattern: Sequence[sase.Component]) -> Placed:
    """The place of a conjunct by its last identifier (section A.1). Its variables are those of the pattern.

    One that mentions a negated component belongs to that, whatever else it mentions: it says what must not be there.
    """
    order = {k.variable: index for index, k in enumerate(pattern)}
    mentioned = {order[a.variable or ""] for a in mentions(p)}
    last = max({index for index in mentioned if pattern[index].negated} or mentioned)
    return Placed(last, _edge({rank(a) for a in mentions(p) if a.variable == pattern[last].variable}))


def rank(attribute: Attribute) -> int:
    """The order of the identifiers of one array: a[1], then a[i-1] and a[..i-1], then a[i], then a[a.LEN] and a[]."""
    match attribute:
        case sase.Aggregate(running=running):
            return 1 if running else 3
        case sase.Reference(place=place):
            ranks: Mapping[sase.Index, int] = {"only": 0, "first": 0, "previous": 1, "current": 2, "last": 3}
            return ranks[place]
        case _:
            raise TypeError(f"{attribute} is no reference of SASE+")


def _edge(ranks: set[int]) -> Edge:
    if 3 in ranks:
        return "end"
    if ranks == {0}:
        return "first"
    return "each" if ranks == {2} else "later"
