"""The match store under windows and partitions: the sets of ces_window, compiled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerify.automata.evaluate import scoped_kernels as kernels
from cerify.automata.evaluate import scoped_walks
from cerify.automata.evaluate.batches import Enumeration, EventBatch, MatchBatch, Numbers, require
from cerify.automata.evaluate.counting import STATES, in_windows, numbers
from cerify.automata.evaluate.enumeration_kernels import enumerate_scoped
from cerify.automata.evaluate.match_store import MatchStore
from cerify.automata.evaluate.tables import TransitionTables
from cerify.semantics.errors import BudgetExceeded

ROOTS = 16_384  # sets of complex events between two enumerations
ENTRIES = 2**30  # of the table of series
FIELDS = [("event", "<i8"), ("latest", "<i8"), ("floor", "<i8"), ("left", "<i4"), ("right", "<i4")]
# Records, so that their fields are attributes in the loops also where these are run as Python.
NODE = np.dtype((np.record, np.dtype(FIELDS, align=True)))


class WindowedStore(MatchStore):
    """A series of nodes for each state and key; see scoped_kernels.

    reports_at_last_event: whether what begins too early for an event is of no use to later ones. windowed: whether a
    match that binds nothing is none. consume: whether a match ends everything before it.
    """

    growth, most = 2, 2**30

    def __init__(self, reports_at_last_event: bool, windowed: bool, consume: bool) -> None:
        self._how = reports_at_last_event, windowed, consume
        self._reports_at_last_event = reports_at_last_event
        super().__init__((), NODE)
        self.tree["latest"][0] = np.iinfo(np.int64).max
        self.counters = np.zeros(kernels.COUNTERS, np.int64)
        self.counters[kernels.NODES_MADE] = 1
        self.rows = np.empty((0, 0, kernels.NODES), np.int32)
        self.slot, self.first, self.keys = (np.empty(0, np.int32) for _ in range(3))
        self._recent: tuple[EventBatch, int] | None = None  # those of the last window, if they were counted

    @property
    def nodes(self) -> int:
        return int(self.counters[kernels.NODES_MADE])

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "tree": self.tree[: self.nodes], "counters": self.counters, "rows": self.rows, "slot": self.slot,
            "first": self.first, "keys": self.keys,
        }  # fmt: skip

    @property
    def labels(self) -> NDArray[np.int32]:
        """How the nodes are marked; 0 for unions."""
        labels: NDArray[np.int32] = np.maximum(-self.tree["right"][: self.nodes], 0)
        return labels

    @property
    def positions(self) -> NDArray[np.int64]:
        positions: NDArray[np.int64] = self.tree["event"][: self.nodes]
        return positions

    def resize(self, states: int, keys: int) -> None:
        had_keys, had_states, had_width = self.rows.shape
        if keys > had_keys or states > had_states:
            keys = max(had_keys, keys)
            shape = keys, states, kernels.NODES + states + 2
            if np.prod(shape, dtype=object) > ENTRIES:
                raise BudgetExceeded(
                    f"{keys} keys in {states} states are more than the compiled evaluator has room for; "
                    "with a shorter window there are fewer at a time"
                )
            rows = np.zeros(shape, np.int32)
            rows[:, :, 0] = kernels.OUT
            rows[:had_keys, :had_states, :had_width] = self.rows
            self.rows = rows
            more = states - had_states
            self.slot = np.concatenate([self.slot, np.full(more, -1, np.int32)])
            self.first = np.concatenate([self.first, np.full(more, kernels.END, np.int32)])
            self.keys = np.concatenate([self.keys, np.zeros(more, np.int32)])

    def _load(self, arrays: dict[str, NDArray[Any]], position: int) -> None:
        tree, counters, rows = (arrays[name] for name in ("tree", "counters", "rows"))
        slot, first, keys = (arrays[name] for name in ("slot", "first", "keys"))
        require(tree.dtype == NODE and counters.dtype == np.int64, "an array is of another type")
        tree = tree.view(NODE)
        require(all(a.dtype == np.int32 for a in (rows, slot, first, keys)), "an array is of another type")
        states = self.slot.size
        require(rows.ndim == 3 and rows.shape[1:] == self.rows.shape[1:], "a table has no such shape")
        require(all(a.shape == (states,) for a in (slot, first, keys)), "a table has no such shape")
        require(
            counters.shape == (kernels.COUNTERS,) and counters[kernels.NODES_MADE] == tree.size >= 1,
            "the nodes differ in number",
        )
        require(-1 <= counters[kernels.UNMARKED] < states, "a state is out of range")
        below, inner = np.arange(1, tree.size), slice(1, None)
        children = tree["left"][inner], np.maximum(tree["right"][inner], 0)
        require(all(((c >= 0) & (c < below)).all() for c in children), "a node is not above its children")
        require((tree["event"][1:] < position).all(), "a node lies in the future")  # the terminator has no position
        require((tree["floor"] <= position).all(), "a node lies in the future")
        require(((slot >= -1) & (slot < states)).all(), "a slot is out of range")
        members = scoped_walks.in_slots(rows, slot, first, keys, tree.size)
        require(members == counters[kernels.MEMBERS], "the keys of a slot are not right")
        self.tree, self.counters, self.rows = tree, counters, np.ascontiguousarray(rows)
        self.slot, self.first, self.keys = slot, first, keys

    def _compact(self, bound: int) -> NDArray[np.bool_]:
        used = np.zeros(len(self.rows), np.bool_)
        bound = bound if self._reports_at_last_event else 0
        scoped_walks.compact_scoped(self.tree, self.rows, self.slot, self.first, self.keys, used, self.counters, bound)
        return used

    def advance(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[NDArray[np.int64]]:
        self._recent = None
        roots = np.empty((ROOTS, 2), np.int64)
        scratch = tuple(np.empty(max(self.slot.size, 2 * len(transitions.marks)), np.int32) for _ in range(5))
        index = 0
        while True:
            index, found = kernels.update_scoped(
                batch.classes, batch.keys, batch.admitted, batch.low, batch.base, index, *transitions.arrays,
                *self._how, self.counters, scratch, self.tree, self.rows, self.slot, self.first, self.keys, roots,
            )  # fmt: skip
            if found:
                yield roots[:found]
            if index == batch.classes.size:
                return
            room, ends = self.counters[[kernels.NODES_SHORT, kernels.ROOTS_SHORT]].tolist()
            if self.nodes + room > self.tree.size:
                self._make_room(room, int(batch.low[index]))
            if ends > len(roots):
                roots = np.empty((2 * ends, 2), np.int64)

    def match_batches(self, roots: NDArray[np.int64], labelled: bool) -> Iterator[MatchBatch]:
        found: Iterator[MatchBatch] = Enumeration(labelled).match_batches(enumerate_scoped, roots, self.tree)
        return found

    def numbers(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[Numbers]:
        """As of MatchStore. Without keys, most are counted without nodes, which are made of the last window only.

        So it is where all windows lie in what is known: this batch, and of the one before it, if it was counted so too,
        the last window.
        """
        whole, unmarked = batch, int(self.counters[kernels.UNMARKED])
        if self._recent is not None:
            whole, unmarked = self._recent[0].then(batch), self._recent[1]
        n, before = batch.classes.size, batch.base - whole.base
        start, first = int(np.searchsorted(batch.low, whole.base)), int(batch.low[-1]) - whole.base
        possible = self._how == (True, True, False) and len(self.rows) == 1 and self.slot.size <= STATES
        if not possible or 4 * (n - start) < n + before:
            start = n
        for roots in self.advance(batch.part(0, start), transitions):
            yield roots[:, 0].copy(), numbers(roots, self.tree)
        if start == n:
            return
        counted, rest = in_windows(whole, unmarked, before + start, first, transitions), batch.part(start, n)
        if counted is None:
            for roots in self.advance(rest, transitions):
                yield roots[:, 0].copy(), numbers(roots, self.tree)
            return
        found, unmarked = counted
        yield found
        last = whole.part(first, n + before)
        if last.classes.size < n - start:
            self._clear(unmarked)
            rest = last
        for _ in self.advance(rest, transitions):
            pass
        self._recent = last, unmarked

    def _clear(self, unmarked: int) -> None:
        """Remove all partial matches but the run that has marked nothing, which is in this state or, at -1, none."""
        self._freed += self.nodes - 1
        self.counters[:] = 0
        self.counters[kernels.NODES_MADE], self.counters[kernels.UNMARKED] = 1, unmarked
        self.rows[:, :, kernels.NEXT] = kernels.OUT
        self.slot[:], self.first[:], self.keys[:] = -1, kernels.END, 0
