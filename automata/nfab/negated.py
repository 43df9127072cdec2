"""Negated components of the compiled evaluator: what the stream's end has for them, and the matches they may forbid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerify.automata.evaluate.stores import numba_required
from cerify.automata.nfab import opcodes as op
from cerify.automata.nfab.layout import CompiledPlan, Layout
from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import BudgetExceeded


class Found(NamedTuple):
    """Matches: those of match i are the events, and their components, from offsets[i] to offsets[i + 1]."""

    offsets: NDArray[np.int64]
    labels: NDArray[np.uint8]
    events: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def those(self, some: NDArray[np.bool_]) -> Found:
        """Some of the matches."""
        lengths = np.diff(self.offsets)
        of = np.repeat(some, lengths)
        return Found(np.append(0, np.cumsum(lengths[some])), self.labels[of], self.events[of])

    def __add__(self, other: Found) -> Found:  # type: ignore[override]
        return Found(
            np.append(self.offsets, other.offsets[1:] + self.offsets[-1]),
            np.append(self.labels, other.labels),
            np.append(self.events, other.events),
        )


NONE = Found(np.zeros(1, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.int64))


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
        self._keys, self._times, self._bits = np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int64)
        self.data = np.zeros((0, 2 * len(layout.programs.columns)))
        self._rows = 16
        self.inexact = False

    def read(
        self, keys: NDArray[np.int32], times: NDArray[np.float64], bits: NDArray[np.int64], data: NDArray[np.float64]
    ) -> None:
        """Store some more events."""
        self._keys, self._bits = np.append(self._keys, keys), np.append(self._bits, bits)
        self._times = np.append(self._times, times if self.windowed else np.zeros(len(keys)))
        self.data = np.concatenate([self.data, data])
        partitions, positions = self._keys.astype(np.int64) << op.KEY_BITS, self.start + np.arange(len(self._keys))
        self._coded = np.sort(partitions + positions)
        bits = self._bits[(self._coded & (1 << op.KEY_BITS) - 1) - self.start]
        noted = [self._coded[bits >> s & 1 == 1] for s in self.layout.negated[:, op.STATE]]
        self._noted = np.concatenate(noted)
        self._noted_from = np.cumsum([0, *map(len, noted)])

    def standing(self, found: Found, at_end: bool = False) -> Found:
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
                done, stands, *found, self.start, self._keys, self._times, self._bits, self.data, layout.negated,
                layout.begins, self._coded, self._noted, self._noted_from, layout.plan, layout.work, layout.initial,
                match, now, then, numbers, self.scale, self.width, self.closed, self.ascending,
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
            since = (oldest - self._times) / self.scale
            self._delete(int(((since > self.width) if self.closed else (since >= self.width)).sum()))

    def renumber(self, kept: NDArray[np.int64]) -> None:
        """Number the partitions anew; those kept, ascending, include all that stored events have."""
        self._keys = np.searchsorted(kept, self._keys).astype(np.int32)

    def mark(self, alive: NDArray[np.bool_]) -> None:
        """Mark the partitions that stored events have."""
        alive[self._keys] = True

    def _delete(self, number: int) -> None:
        self.start += number
        self._keys, self._times = self._keys[number:], self._times[number:]
        self._bits, self.data = self._bits[number:], self.data[number:]

    def _over(self, found: Found) -> NDArray[np.bool_]:
        """Whether the window of each match is over at some event after it."""
        firsts, behind = found.events[found.offsets[:-1]] - self.start, found.events[found.offsets[1:] - 1] + 1
        latest = np.append(np.fmax.accumulate(self._times[::-1])[::-1], -np.inf)
        since = (latest[behind - self.start] - self._times[firsts]) / self.scale
        over: NDArray[np.bool_] = (since > self.width) if self.closed else (since >= self.width)
        return over & self.windowed
