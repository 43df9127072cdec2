"""Evaluate LAST and NXT of counted events, such as `LAST(A{60} ; B)` and `LAST(A{5,60})`, on a whole stream.

LAST finds the greatest match at an event by going back from the event: each event of the match is the latest that fits.
NXT goes forward from the beginning of the window: each is the earliest that fits. Lists hold the positions so far for
each key and each kind of event, so a run of events of one kind is a slice, and the time for a match depends on the
number of its runs, not of its events. For batches see chain_store.py.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import product
from math import nan
from typing import TypeAlias

from cerify.automata.cea.compile import EventChain, Link, newest_chain
from cerify.automata.evaluate.scope import Scope, key_of, lookback_bounds, within_width
from cerify.automata.evaluate.tables import classify
from cerify.semantics.arguments import timed_items
from cerify.semantics.events import Stream, Valuation
from cerify.semantics.predicates import Predicate
from cerify.semantics.values import Value, kind

Chosen: TypeAlias = tuple[int, ...]
"""The positions of a match."""


class NewestValues:
    """The newest event of each of the newest values of a key, at most `count` of them.

    events: for each value the position of its newest event, in ascending order. A value that equals nothing, such as
    NaN, is stored under its position. late: the positions of events that cannot be in a match.
    """

    def __init__(self, count: int) -> None:
        self.events: dict[Value | tuple[int], int] = {}
        self.late: set[int] = set()
        self._count = count

    def add(self, value: Value, position: int, is_late: bool = False) -> None:
        """Add the next event of the key. is_late: whether the event cannot be in a match."""
        name = value if value == value else (position,)
        gone = self.events.pop(name, None)
        self.events[name] = position  # last, so that the values are in the order of their newest events
        if len(self.events) > self._count:
            gone = self.events.pop(next(iter(self.events)))
        if gone is not None:
            self.late.discard(gone)
        if is_late:
            self.late.add(position)

    def items(self) -> Iterator[tuple[Value, int]]:
        """Yield the values and the positions of their events, ascending."""
        return ((nan if isinstance(name, tuple) else name, p) for name, p in self.events.items())

    def is_complete(self, low: int) -> bool:
        """Return whether the events form a match that begins at position low or later."""
        return len(self.events) == self._count and not self.late and next(iter(self.events.values())) >= low


class GreatestChains:
    """The greatest matches of LAST or NXT of a chain on a stream, at each position.

    chain: what `newest_chain` returns for the formula. scope: the windows, partitions and keys inside the strategy.
    unordered: True if this class cannot find the matches, for one of three reasons: the values of a window's attribute
    decrease, so nothing bounds where a match begins; a guard would see the events of all keys of a partition; or
    DISTINCT counts values of different kinds, which are neither equal nor different.
    """

    def __init__(self, chain: EventChain, scope: Scope, S: Stream) -> None:
        self._last, self._runs, self._guard, self._scope, self._S = chain.is_last, chain.runs, chain.guard, scope, S
        self._bounds = lookback_bounds(scope, S)
        self.unordered = bool(self._bounds.unordered) or bool(chain.guard is not None and scope.attributes)
        self._values: list[Value | None] = []
        if chain.distinct is not None:
            self._values = [event.get(chain.distinct) for event in S]
            present = [value for value in self._values if value is not None]
            self.unordered |= len(set(map(kind, present))) > 1

    def find(self) -> Iterator[tuple[int, Chosen]]:
        """Yield each position with a match, together with the match."""
        if self._values:
            yield from self._newest_values()
            return
        links = list(dict.fromkeys(link for link, _, _ in self._runs))
        forbidden = 1 << len(links)
        runs = [(links.index(link), least, most) for link, least, most in self._runs]
        choose = self._latest if self._last else self._earliest
        bounds, before = self._bounds, dict[object, list[list[int]]]()
        for n, kinds in enumerate(timed_items(self._kinds(links if self._guard is None else [*links, self._guard]))):
            if not kinds or bounds.keys[n] is None:
                continue
            key = bounds.keys[n], key_of(self._scope.attributes, self._S[n])
            lists = before.setdefault(key, [[] for _ in links])
            # Before the test of marks: a guard also forbids events that no match can contain.
            if kinds & forbidden:
                for positions in lists:
                    positions.clear()
            if not bounds.marks[n]:
                continue
            if kinds >> runs[-1][0] & 1 and (chosen := choose(runs, lists, n)) is not None:
                yield n, chosen
            # The event is added after its own match was sought, in which it is the last event and no earlier one.
            for i, positions in enumerate(lists):
                if kinds >> i & 1:
                    positions.append(n)

    def _newest_values(self) -> Iterator[tuple[int, Chosen]]:
        """Yield the matches of a chain with different values. For each key, keep the newest event of each of the newest
        values.
        """
        bounds, newest = self._bounds, dict[object, NewestValues]()
        for n, kinds in enumerate(timed_items(self._kinds([self._runs[0][0]]))):
            value = self._values[n]
            if not kinds or value is None or bounds.keys[n] is None or not bounds.marks[n]:
                continue
            key = bounds.keys[n], key_of(self._scope.attributes, self._S[n])
            of_key = newest.setdefault(key, NewestValues(len(self._runs)))
            of_key.add(value, n)
            if of_key.is_complete(bounds.low[n]):
                yield n, tuple(of_key.events.values())

    def valuations(self, chosen: Chosen) -> Iterator[Valuation]:
        """Yield the valuations with these positions, one for each combination of ways to mark the events."""
        more = len(chosen) - sum(least for _, least, _ in self._runs)
        varying = 0 if self._last else len(self._runs) - 1
        counts = (least + more * (i == varying) for i, (_, least, _) in enumerate(self._runs))
        links = (link for (link, _, _), count in zip(self._runs, counts, strict=True) for _ in range(count))
        ways = []
        for p, link in zip(chosen, links, strict=True):
            masks = classify([P for P, _ in link], self._S.part(p, 1))[0]
            ways.append({frozenset((A, p) for A in L) for i, (_, L) in enumerate(link) if masks >> i & 1})
        for pairs in product(*ways):
            yield frozenset().union(*pairs)

    def _kinds(self, links: list[Link]) -> list[int]:
        """Return for each event a bit mask of the links of the chain at which it can stand."""
        predicates: list[Predicate] = list(dict.fromkeys(P for link in links for P, _ in link))
        bits = [sum(1 << predicates.index(P) for P in {P for P, _ in link}) for link in links]
        masks = classify(predicates, self._S)
        known = {mask: sum(1 << i for i, of in enumerate(bits) if mask & of) for mask in set(masks)}
        return [known[mask] for mask in masks]

    def _latest(self, runs: list[tuple[int, int, int | None]], before: list[list[int]], n: int) -> Chosen | None:
        # `here` is 1 in the last run, to which the event at n belongs besides the positions listed.
        parts, at = list[Chosen]([(n,)]), n
        for i in range(len(runs) - 1, -1, -1):
            link, least, most = runs[i]
            positions, here = before[link], i == len(runs) - 1
            end = bisect_left(positions, at)
            begin = bisect_left(positions, self._bounds.low[n], 0, end)
            if most is not None:
                begin = max(begin, end - most + here)
            if end - begin < least - here:
                return None
            parts.append(tuple(positions[begin:end]))
            at = positions[begin] if begin < end else at
        return sum(reversed(parts), ())

    def _earliest(self, runs: list[tuple[int, int, int | None]], before: list[list[int]], n: int) -> Chosen | None:
        parts, at = list[Chosen](), self._bounds.low[n]
        for i, (link, least, most) in enumerate(runs):
            positions, here = before[link], i == len(runs) - 1
            begin = bisect_left(positions, at)
            end = len(positions) if most is None else min(len(positions), begin + most - here)
            if end - begin < least - here:
                return None
            parts.append(tuple(positions[begin:end]))
            at = positions[end - 1] + 1 if begin < end else at
        return (*sum(parts, ()), n)


def greatest_in_scope(scope: Scope, S: Stream) -> tuple[GreatestChains, Iterator[tuple[int, Chosen]]] | None:
    """Return (chains, matches) for LAST or NXT of a chain: matches satisfy the windows and partitions around it.

    Return None for any other formula, and if the chain is `unordered`.
    """
    if (chain := newest_chain(scope.core)) is None:
        return None
    chains = GreatestChains(chain, Scope(keys=scope.keys, core=scope.core), S)
    return None if chains.unordered else (chains, _in_scope(chains, scope, S))


def _in_scope(chains: GreatestChains, scope: Scope, S: Stream) -> Iterator[tuple[int, Chosen]]:
    around = lookback_bounds(scope, S)
    for n, chosen in chains.find():
        if chosen[0] < around.low[n] or not all(around.marks[p] for p in chosen):
            continue
        if scope.attributes and len({key_of(scope.attributes, S[p]) for p in chosen}) > 1:
            continue
        if all(within_width(width, [S[p].get(a) for p in chosen]) for a, width in around.unordered):
            yield n, chosen
