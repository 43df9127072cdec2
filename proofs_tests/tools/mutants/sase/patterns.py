"""Mutants that get PATTERN wrong: events, sequences, and Kleene plus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from cerify.semantics.events import TIME, Bindings, Stream
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.denote import Chosen, SaseDefinition
from cerify.semantics.sase.interpreter import positions_of
from proofs_tests.tools.mutants.sase.model import wrong
from proofs_tests.tools.mutants.sase.ways import Kept, answered, by, kept


class _AnyType(SaseDefinition):
    def selects(self, chosen: Chosen, k: int, p: int) -> bool:
        if chosen and not self.in_window(chosen[0][1], p):
            return False
        return self.agrees(chosen, p, self.tests) and self.satisfies(chosen, k, p, self.conditions)


class _SharedEvent(SaseDefinition):
    """An event may be the last of one component and the first of the next."""

    def following(self, chosen: Chosen) -> Iterator[tuple[int, int]]:
        yield from super().following(chosen)
        if chosen and chosen[-1][0] + 1 < len(self.pattern) and self.selects(chosen, chosen[-1][0] + 1, chosen[-1][1]):
            yield chosen[-1][0] + 1, chosen[-1][1]


class _LaterTimes(SaseDefinition):
    """Two events of one match have different times."""

    def selects(self, chosen: Chosen, k: int, p: int) -> bool:
        time = self.S[p].get(TIME)
        same = chosen and time is not None and time == self.S[chosen[-1][1]].get(TIME)
        return not same and super().selects(chosen, k, p)


class _Once(SaseDefinition):
    def goes_on(self, chosen: Chosen, p: int) -> bool:
        return False


class _Greedy(SaseDefinition):
    """A Kleene plus is left only where it can go on no longer."""

    def may_stop(self, chosen: Chosen, t: int) -> bool:
        k = chosen[-1][0]
        if self.ends(k) or t == len(self.S):
            return super().may_stop(chosen, t)
        return super().may_stop(chosen, t) and (self.must_stop(chosen, t) or not self.selects(chosen, k, t))


def consuming(q: sase.SaseQuery, S: Stream, found: list[Bindings]) -> Iterator[Bindings]:
    """No event belongs to two matches."""
    used: set[int] = set()
    for M in sorted(found, key=lambda M: (positions_of(M)[-1], positions_of(M))):
        if used.isdisjoint(positions_of(M)):
            used.update(positions_of(M))
            yield M


def _best(at: int, best: Callable[[Sequence[Bindings]], Bindings]) -> Kept:
    """One match of those that have the same first event, or the same last one."""

    def keep(q: sase.SaseQuery, S: Stream, found: list[Bindings]) -> Iterator[Bindings]:
        groups: dict[int, list[Bindings]] = {}
        for M in found:
            groups.setdefault(positions_of(M)[at], []).append(M)
        return (best(group) for group in groups.values())

    return keep


def _size(M: Bindings) -> tuple[Any, ...]:
    return len(positions_of(M)), M


def _twice(q: sase.SaseQuery, S: Stream, found: list[Bindings]) -> Iterator[Bindings]:
    arrays = {k.variable for k in q.pattern if k.kleene}
    return (M for M in found if all(len(at) > 1 for variable, at in M if variable in arrays))


def _at_most_seven(q: sase.SaseQuery, S: Stream, found: list[Bindings]) -> Iterator[Bindings]:
    arrays = {k.variable for k in q.pattern if k.kleene}
    return (M for M in found if all(len(at) <= 7 for variable, at in M if variable in arrays))


PATTERNS = (
    *wrong(
        "event",
        {
            "any type": by(_AnyType),
            "one position later": answered(lambda m: replace(m, at=m.at + 1)),
            "reported at its first event": answered(lambda m: replace(m, at=min(m.events))),
        },
    ),
    *wrong(
        "sequence",
        {
            "each event in one match": kept(consuming),
            "components share an event": by(_SharedEvent),
            "one match for each end": kept(_best(-1, max)),
            "one match for each beginning": kept(_best(0, min)),
            "equal times are no sequence": by(_LaterTimes),
        },
    ),
    *wrong(
        "kleene",
        {
            "once": by(_Once),
            "twice at least": kept(_twice),
            "at most seven times": kept(_at_most_seven),
            "the longest from each beginning": kept(_best(0, lambda group: max(group, key=_size))),
            "the shortest from each beginning": kept(_best(0, lambda group: min(group, key=_size))),
            "greedy": by(_Greedy),
        },
    ),
)
