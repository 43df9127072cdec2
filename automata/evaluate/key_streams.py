"""The stream of each key under PER KEY: the events of the key, and their positions in the whole stream."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import TypeAlias

from cerify.automata.evaluate.scope import Key, key_of
from cerify.semantics.events import Stream, Valuation

Found: TypeAlias = Iterator[tuple[int, Valuation]]


class KeyStreams:
    """The stream of each key on some attributes. Positions in the stream of a key count from 0.

    keys: the key of each event; None for an event that has no key.
    """

    def __init__(self, S: Stream, names: tuple[str, ...]) -> None:
        self.names = names
        self.keys = [key_of(names, event) for event in S]
        self._S = S
        self._number: list[int] = []  # the position of each event in the stream of its key
        self._positions: dict[Key, list[int]] = {}
        for p, key in enumerate(self.keys):
            positions = [] if key is None else self._positions.setdefault(key, [])
            self._number.append(len(positions))
            positions.append(p)

    def stream(self, key: Key) -> Stream:
        """Return the events of a key, as a stream."""
        return Stream([self._S[p] for p in self._positions[key]])

    def between(self, begin: int, end: int) -> Iterator[tuple[Key, int, int]]:
        """Yield (key, l, m) for each key with events from position `begin` up to, but not including, `end`.

        In the stream of the key, these events have the positions l to m - 1.
        """
        for key, positions in self._positions.items():
            l, m = bisect_left(positions, begin), bisect_left(positions, end)
            if l < m:
                yield key, l, m

    def interval(self, key: Key, i: int, j: int) -> tuple[int, int]:
        """Convert the interval from i to j to positions in the stream of the key. The event at j must have the key."""
        return bisect_left(self._positions[key], i), self._number[j]

    def inside(self, mu: Valuation, j: int) -> Valuation | None:
        """Convert the positions in a valuation to positions in the stream of the key that the event at j has.

        Return None if the valuation binds an event with another key.
        """
        if any(self.keys[p] != self.keys[j] for _, p in mu):
            return None
        return frozenset((A, self._number[p]) for A, p in mu)

    def moved(self, found: Found, key: Key) -> Found:
        """Convert pairs (end, valuation) from positions in the stream of a key to positions in the whole stream."""
        P = self._positions[key]
        return ((P[n], frozenset((A, P[p]) for A, p in mu)) for n, mu in found)
