"""What of a formula can be relaxed, and the formula with some of that relaxed.

To relax is to ask for less at one place: to leave a condition out, or to let the order or the type of events be free.
A relaxed formula remembers, for each place, what stood there: so a derivation of it shows where the formula fails.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal, TypeAlias, assert_never

from cerify.explanations.oracle import ANY
from cerify.semantics.cel import syntax as cel
from cerify.semantics.trees import children

RelaxationKind = Literal[
    "filter", "window", "partition", "strategy", "contiguity", "anchor", "guard", "conjunction", "projection",
    "order", "type",
]  # fmt: skip
LATE: tuple[RelaxationKind, ...] = ("projection", "order", "type")
"""What is relaxed only if nothing else helps, one kind at a time: without it the formula asks for other events."""

KINDS: Mapping[type, RelaxationKind] = {
    cel.Within: "window",
    cel.PartitionBy: "partition",
    **dict.fromkeys((cel.Strict, cel.Next, cel.Last, cel.Max), "strategy"),
    cel.Start: "anchor",
    cel.Project: "projection",
    cel.ContiguousPlus: "contiguity",
    cel.Seq: "order",
    cel.Event: "type",
}
"""What can be relaxed of the operators of which that is one thing."""

Restore: TypeAlias = Callable[[cel.Formula], cel.Formula]
Path: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Point:
    """One thing to relax at the node that a path of child numbers leads to; part numbers a filter's conjuncts."""

    path: Path
    kind: RelaxationKind
    part: int = 0


@dataclass(frozen=True)
class Relaxed:
    """A formula with some points relaxed. lost has, by the identity of a node, what stood in its place instead."""

    formula: cel.Formula
    lost: dict[int, list[tuple[Point, cel.Formula]]]


def points(phi: cel.Formula, path: Path = ()) -> Iterator[Point]:
    """All that can be relaxed in a formula, outer nodes first; what a guard forbids is left as it is."""
    match phi:
        case cel.Filter(_, condition):
            for part, _ in enumerate(conjuncts(condition)):
                yield Point(path, "filter", part)
        case (
            cel.Within() | cel.PartitionBy() | cel.Strict() | cel.Next() | cel.Last() | cel.Max() | cel.Start()
            | cel.Project() | cel.ContiguousPlus() | cel.Seq() | cel.Event()
        ):  # fmt: skip
            yield Point(path, KINDS[type(phi)])
        case cel.ContiguousSeq():
            yield from (Point(path, "contiguity"), Point(path, "order"))
        case cel.Unless(left, _):
            yield Point(path, "guard")
            yield from points(left, (*path, 0))
            return
        case cel.And():
            yield from (Point(path, "conjunction", part) for part in (0, 1))
        case cel.In() | cel.Plus() | cel.Or() | cel.All() | cel.Derived():
            pass
        case _:
            assert_never(phi)
    for number, child in enumerate(children(phi)):
        yield from points(child, (*path, number))


def relax(phi: cel.Formula, chosen: Collection[Point], types: Iterable[str]) -> Relaxed:
    """The formula with the chosen points relaxed; where the type is free, it is one of the types."""
    return _Relaxing(chosen, tuple(sorted(types))).result(phi)


def at_path(phi: cel.Formula, path: Path) -> cel.Formula:
    """The part of a formula that a path of child numbers leads to."""
    for number in path:
        phi = children(phi)[number]
    return phi


def conjuncts(condition: cel.Condition) -> list[cel.Condition]:
    """The conditions that an AND of a filter joins, left to right."""
    if isinstance(condition, cel.Conjunction):
        return conjuncts(condition.left) + conjuncts(condition.right)
    return [condition]


class _Relaxing:
    """Builds one relaxed formula; every node of it is new, so that identity tells the places apart."""

    def __init__(self, chosen: Collection[Point], types: tuple[str, ...]) -> None:
        self.chosen = frozenset(chosen)
        self.types = types
        self.lost: dict[int, list[tuple[Point, cel.Formula]]] = {}

    def result(self, phi: cel.Formula) -> Relaxed:
        return Relaxed(self._at(phi, ()), self.lost)

    def _at(self, phi: cel.Formula, path: Path) -> cel.Formula:
        def below(number: int) -> cel.Formula:
            return self._at(children(phi)[number], (*path, number))

        def drop(kind: RelaxationKind, restore: Restore, part: int = 0, child: int = 0) -> cel.Formula | None:
            point = Point(path, kind, part)
            return self._instead(below(child), point, restore) if point in self.chosen else None

        match phi:
            case cel.Event():
                point = Point(path, "type")
                return self._instead(self._any(), point, lambda _: phi) if point in self.chosen else replace(phi)
            case cel.Filter(_, condition):
                return self._filter(below(0), list(enumerate(conjuncts(condition))), path)
            case (
                cel.Within() | cel.PartitionBy() | cel.Strict() | cel.Next() | cel.Last() | cel.Max() | cel.Start()
                | cel.Project()
            ):  # fmt: skip
                dropped = drop(KINDS[type(phi)], lambda psi: replace(phi, phi=psi))
                return dropped or replace(phi, phi=below(0))
            case cel.Unless():
                dropped = drop("guard", lambda psi: replace(phi, left=psi))
                return dropped or replace(phi, left=below(0))
            case cel.And():
                return (
                    drop("conjunction", lambda psi: replace(phi, right=psi), part=0, child=1)
                    or drop("conjunction", lambda psi: replace(phi, left=psi), part=1, child=0)
                    or replace(phi, left=below(0), right=below(1))
                )
            case cel.ContiguousPlus():
                rounds = replace(phi, phi=below(0))
                return self._either(rounds, cel.Plus(rounds.phi), Point(path, "contiguity"))
            case cel.ContiguousSeq() | cel.Seq():
                left, right = below(0), below(1)
                kept: cel.Formula = replace(phi, left=left, right=right)
                if isinstance(phi, cel.ContiguousSeq):
                    kept = self._either(kept, cel.Seq(left, right), Point(path, "contiguity"))
                return self._either(kept, cel.All(left, right), Point(path, "order"))
            case cel.In() | cel.Plus() | cel.Derived():
                return replace(phi, phi=below(0))
            case cel.Or() | cel.All():
                return replace(phi, left=below(0), right=below(1))
            case _:
                assert_never(phi)

    def _instead(self, formula: cel.Formula, point: Point, restore: Restore) -> cel.Formula:
        self.lost.setdefault(id(formula), []).append((point, restore(formula)))
        return formula

    def _either(self, kept: cel.Formula, looser: cel.Formula, point: Point) -> cel.Formula:
        return self._instead(looser, point, lambda _: kept) if point in self.chosen else kept

    def _filter(self, psi: cel.Formula, parts: list[tuple[int, cel.Condition]], path: Path) -> cel.Formula:
        dropped = {part for part, _ in parts if Point(path, "filter", part) in self.chosen}
        kept = [condition for part, condition in parts if part not in dropped]
        formula = cel.Filter(psi, reduce(cel.Conjunction, kept)) if kept else psi
        for part, condition in parts:
            if part in dropped:
                restored = cel.Filter(formula, condition, span=condition.span)
                self._instead(formula, Point(path, "filter", part), lambda _, restored=restored: restored)  # type: ignore[misc]
        return formula

    def _any(self) -> cel.Formula:
        """One event of any of the types, bound to no variable of the formula; without types, of one that is not."""
        if not self.types:
            return cel.Event(ANY)
        each: list[cel.Formula] = [cel.Project(frozenset({ANY}), cel.In(cel.Event(name), ANY)) for name in self.types]
        return reduce(cel.Or, each[1:], each[0])
