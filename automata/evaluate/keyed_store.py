"""The match store under PER KEY: the sets of ces.py for the stream of each key, compiled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerify.automata.evaluate import keyed_kernels as kernels
from cerify.automata.evaluate.match_stores import ENTRIES, NODE, ROOTS, TreeStore, numbers, require_tree
from cerify.automata.evaluate.scoped_kernels import NODES
from cerify.automata.evaluate.tables import (
    EventBatch,
    Numbers,
    TransitionTables,
    require,
)
from cerify.semantics.errors import BudgetExceeded


class KeyedStore(TreeStore):
    """A match store under PER KEY: each key has its own partial matches in each state of the automaton.

    reports_at_last_event, windowed, consume: as in WindowedStore. ascending: whether the beginning of the window never
    moves back along the whole stream. The beginning of a window of n events of a key may move back.
    """

    growth, most = 2, 2**30

    def __init__(self, reports_at_last_event: bool, windowed: bool, consume: bool, ascending: bool) -> None:
        self._how = reports_at_last_event, windowed, consume
        self._bounded = reports_at_last_event and ascending
        super().__init__((), NODE)
        self.tree["latest"][0] = np.iinfo(np.int64).max
        self.counters = np.zeros(kernels.COUNTERS, np.int64)
        self.counters[kernels.NODES_MADE] = 1
        self.rows = np.zeros((0, 0, NODES), np.int32)
        self.home = np.zeros((0, kernels.HOME), np.int64)

    @property
    def nodes(self) -> int:
        return int(self.counters[kernels.NODES_MADE])

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"tree": self.tree[: self.nodes], "counters": self.counters, "rows": self.rows, "home": self.home}

    def resize(self, states: int, keys: int) -> None:
        had_keys, had_states, had_width = self.rows.shape
        if keys > had_keys or states > had_states:
            keys = max(had_keys, keys)
            shape = keys, states, NODES + states + 2
            if np.prod(shape, dtype=object) > ENTRIES:
                raise BudgetExceeded(
                    f"the compiled evaluator has no room for {keys} keys and {states} states; use a shorter window"
                )
            rows = np.zeros(shape, np.int32)
            rows[:had_keys, :had_states, :had_width] = self.rows
            home = np.full((keys, kernels.HOME), -1, np.int64)  # they belong to no stream
            home[:had_keys] = self.home
            self.rows, self.home = rows, home

    def _load(self, arrays: dict[str, NDArray[Any]], position: int) -> None:
        tree, counters, rows, home = (arrays[name] for name in ("tree", "counters", "rows", "home"))
        require(tree.dtype == NODE and counters.dtype == np.int64, "an array has the wrong type")
        require(rows.dtype == np.int32 and home.dtype == np.int64, "an array has the wrong type")
        tree = tree.view(NODE)
        require(rows.ndim == 3 and rows.shape[1:] == self.rows.shape[1:], "a table has the wrong shape")
        require(home.shape == (len(rows), kernels.HOME), "a table has the wrong shape")
        require(
            counters.shape == (kernels.COUNTERS,) and counters[kernels.NODES_MADE] == tree.size >= 1,
            "the number of nodes is wrong",
        )
        require_tree(tree, position)
        stream = int(counters[kernels.STREAMS])
        fitting = 0 <= stream < 2**62 and kernels.rows_fit(rows, home, stream, tree.size)
        require(fitting, "the rows of a key are damaged")
        self.tree, self.counters = tree, counters
        self.rows, self.home = np.ascontiguousarray(rows), np.ascontiguousarray(home)

    def _compact(self, bound: int) -> NDArray[np.bool_]:
        used = np.zeros(len(self.rows), np.bool_)
        kernels.compact_keyed(self.tree, self.rows, self.home, used, self.counters, bound if self._bounded else 0)
        return used

    def advance(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[NDArray[np.int64]]:
        roots = np.empty((ROOTS, 2), np.int64)
        made, into = (np.empty(2 * len(transitions.marks), np.int32) for _ in range(2))
        aside = np.empty(self.rows[:1].size, np.int32)
        index = 0
        while True:
            index, found = kernels.update_keyed(
                batch.classes, batch.keys, batch.admitted, batch.low, batch.positions, index, *transitions.arrays,
                *self._how, self.counters, made, into, aside, self.tree, self.rows, self.home, roots,
            )  # fmt: skip
            if found:
                yield roots[:found]
            if index == batch.classes.size:
                return
            room, ends = self.counters[[kernels.NODES_SHORT, kernels.ROOTS_SHORT]].tolist()
            if self.nodes + room > self.tree.size:
                self._make_room(room, int(batch.low[index]) if self._bounded else 0)
            if ends > len(roots):
                roots = np.empty((2 * ends, 2), np.int64)

    def numbers(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[Numbers]:
        for roots in self.advance(batch, transitions):
            yield roots[:, 0].copy(), numbers(roots, self.tree)
