"""Negated components of the compiled evaluator: what the stream's end has for them, and the matches they may forbid."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerify.automata.evaluate.stores import numba_required
from cerify.automata.nfab import opcodes as op
from cerify.automata.nfab.layout import CompiledPlan, Layout
from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import BudgetExceeded


class MatchArrays(NamedTuple):
    """Matches: those of match i are the events, and their components, from offsets[i] to offsets[i + 1]."""

    offsets: NDArray[np.int64]
    labels: NDArray[np.uint8]
    events: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def those(self, some: NDArray[np.bool_]) -> MatchArrays:
        """Some of the matches."""
        lengths = np.diff(self.offsets)
        of = np.repeat(some, lengths)
        return MatchArrays(np.append(0, np.cumsum(lengths[some])), self.labels[of], self.events[of])

    def __add__(self, other: MatchArrays) -> MatchArrays:  # type: ignore[override]
        return MatchArrays(
            np.append(self.offsets, other.offsets[1:] + self.offsets[-1]),
            np.append(self.labels, other.labels),
            np.append(self.events, other.events),
        )


NONE = MatchArrays(np.zeros(1, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.int64))


class NegatedComponents:
    """Which matches of one stream the negated components forbid.

    start: the position of the first event stored. inexact: whether a number was beyond 2^53, so that the answers are of
    no use. Matches are withheld while events to come may forbid them.
    """

    def __init__(self, plan: CompiledPlan, layout: Layout, budget: Budget, scale: float, start: int) -> None:
        q, reading = plan.q, plan.reading
        self.ascending, self.windowed, self.layout, self.budget = plan.ascending, q.within is not None, layout, budget
        self.scale, self.start = scale, start
        self.width = 0.0 if q.within is None else float(q.within.seconds)
        self.closed, self.waits = reading.window == "closed", reading.stream_end == "waits"
        self.withholds, self.withheld = q.pattern[-1].negated, NONE
        in_front = q.pattern[0].negated
        self._needs_all = not self.windowed or (in_front and reading.negation_in_front == "stream")
        self._stored = 0
        self._keys, self._times, self._bits = np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int64)
        self._previous, self._following = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._data = np.zeros((0, 2 * len(layout.programs.columns)))
        self._last = np.zeros(0, np.int64)  # of each partition the position of its last event
        self._rows = 16
        self.inexact = False

    def read(
        self, keys: NDArray[np.int32], times: NDArray[np.float64], bits: NDArray[np.int64], data: NDArray[np.float64]
    ) -> None:
        """Store some more events."""
        n, begin = len(keys), self._stored
        if begin + n > len(self._keys):
            self._resize(2 * (begin + n))
        self._stored += n
        own = slice(begin, self._stored)
        self._keys[own], self._bits[own], self._data[own] = keys, bits, data
        self._times[own] = times if self.windowed else 0.0
        if (more := int(keys.max(initial=0)) + 1 - len(self._last)) > 0:
            self._last = np.append(self._last, np.full(2 * more, -1))
        order = np.argsort(keys, kind="stable")
        ordered, positions = keys[order], self.start + begin + order
        begins = np.append(True, ordered[1:] != ordered[:-1])[:n]
        before = np.append(-1, positions[:-1])[:n]
        before[begins] = self._last[ordered[begins]]
        self._last[ordered] = positions
        self._previous[begin + order], self._following[own] = before, -1
        there = before >= self.start
        self._following[before[there] - self.start] = positions[there]

    def standing(self, found: MatchArrays, at_end: bool = False) -> MatchArrays:
        """Those of the matches, and of the ones withheld, that stand; at the end of the stream nothing is withheld."""
        if self.withholds:
            found, self.withheld = self.withheld + found, NONE
            if not at_end or (self.waits and self.windowed):
                over = self._over(found)
                self.withheld, found = found.those(~over), found.those(over)
        with numba_required():
            from cerify.automata.nfab.absence_kernels import stand
        layout, stands, done = self.layout, np.zeros(len(found), np.uint8), 0
        match, numbers = np.empty((1, len(layout.initial))), np.zeros(10, np.int64)
        while True:
            check_time()
            now, then = (np.empty((self._rows, len(layout.initial))) for _ in range(2))
            done = stand(
                done, stands, *found, self.start, *self._arrays(), layout.negated, layout.begins, layout.plan,
                layout.work, layout.initial, match, now, then, numbers, self.scale, self.width, self.closed,
                self.ascending,
            )  # fmt: skip
            if done == len(stands):
                break
            self._rows *= 2
            if self._rows > 2 * self.budget.states:
                raise BudgetExceeded(f"more than {self.budget.states} series of a negated component at a time")
        self.inexact |= bool(numbers[op.ERROR] == op.INEXACT)
        return found.those(stands == 1)

    def delete_unneeded(self, oldest: float) -> None:
        """Delete the events before the window that ends at that time, with which the oldest run began."""
        if not self._needs_all:
            since = (oldest - self._times[: self._stored]) / self.scale
            number = int(((since > self.width) if self.closed else (since >= self.width)).sum())
            if 2 * number > self._stored:
                self._resize(2 * (self._stored - number), number)

    def renumber(self, kept: NDArray[np.int64]) -> None:
        """Number the partitions anew; those kept, ascending, include all that stored events have."""
        self._keys = np.searchsorted(kept, self._keys).astype(np.int32)
        self._last = self._last[kept[kept < len(self._last)]]

    def renumber_strings(self, column: int, new: NDArray[np.float64]) -> None:
        """Number the strings of a column anew, by their old numbers."""
        self._data[:, column] = new[self._data[:, column].astype(np.int64)]

    def mark(self, alive: NDArray[np.bool_]) -> None:
        """Mark the partitions that stored events have."""
        alive[self._keys[: self._stored]] = True

    def _arrays(self) -> list[NDArray[Any]]:
        """The arrays of the events stored, as absence_kernels.py names them."""
        arrays = (self._keys, self._times, self._bits, self._data, self._previous, self._following)
        return [array[: self._stored] for array in arrays]

    def _resize(self, room: int, without: int = 0) -> None:
        """Move the events to arrays with `room` entries, without the first ones."""
        moved = []
        for array in self._arrays():
            larger = np.zeros((room, *array.shape[1:]), array.dtype)
            larger[: len(array) - without] = array[without:]
            moved.append(larger)
        self._keys, self._times, self._bits, self._data, self._previous, self._following = moved
        self._stored -= without
        self.start += without

    def _over(self, found: MatchArrays) -> NDArray[np.bool_]:
        """Whether the window of each match is over at some event after it."""
        firsts, behind = found.events[found.offsets[:-1]] - self.start, found.events[found.offsets[1:] - 1] + 1
        times = self._times[: self._stored]
        latest = np.append(np.fmax.accumulate(times[::-1])[::-1], -np.inf)
        since = (latest[behind - self.start] - times[firsts]) / self.scale
        over: NDArray[np.bool_] = (since > self.width) if self.closed else (since >= self.width)
        return over & self.windowed
