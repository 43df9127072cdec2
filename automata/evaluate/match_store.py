"""The partial matches of a compiled evaluator as arrays: nodes that share their beginnings.

There are two kinds, since one would be slow: without windows and partitions a node needs no window, a state has one
list in place of a series for each key, and matches are counted as events are read. See docs/guide/performance.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cerify.automata.evaluate.batches import EventBatch, MatchBatch, Numbers, enlarged
from cerify.automata.evaluate.tables import TransitionTables
from cerify.semantics.errors import BudgetExceeded

NODES_AT_FIRST = 8_192


class MatchStore(ABC):
    """Partial matches of one stream; `tree` [..., capacity] has the nodes, of which node 0 ends the others.

    growth: by which factor the capacity grows. most: the greatest capacity.
    """

    growth: ClassVar[int]
    most: ClassVar[int]

    def __init__(self, rows: tuple[int, ...], node: np.dtype[Any]) -> None:
        self.tree: NDArray[Any] = np.zeros((*rows, NODES_AT_FIRST), node)
        self._compact_from = 0  # the capacity from which on compaction is tried; greater after one that freed little
        self._freed, self._loaded = 0, 1  # nodes removed by compaction; nodes at the beginning

    @property
    @abstractmethod
    def nodes(self) -> int:
        """The number of nodes."""

    @property
    def made(self) -> int:
        """The number of nodes made since the store was made or loaded."""
        return self.nodes + self._freed - self._loaded

    @property
    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays, by the names under which they are saved."""

    @property
    @abstractmethod
    def labels(self) -> NDArray[np.int32]:
        """How each node is marked, as an index into Tables.labels."""

    @property
    @abstractmethod
    def positions(self) -> NDArray[np.int64]:
        """The position of each node; any number for what is no event."""

    @abstractmethod
    def resize(self, states: int, keys: int) -> None:
        """Make room for states and keys up to these numbers. Raises BudgetExceeded."""

    def load(self, arrays: dict[str, NDArray[Any]], position: int) -> None:
        """Continue from saved arrays, of a state before the position.

        Raises ValueError, or what NumPy raises, if they cannot be arrays of such a state.
        """
        self._load(arrays, position)
        self._freed, self._loaded = 0, self.nodes

    def compact(self, bound: int) -> NDArray[np.bool_]:
        """Remove the nodes that no match can use any more, given that none begins before the bound.

        Returns for each key whether anything of it is left.
        """
        before = self.nodes
        used = self._compact(bound)
        self._freed += before - self.nodes
        return used

    @abstractmethod
    def advance(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[NDArray[np.int64]]:
        """Read events; the roots of the sets of complex events completed, rows that begin with the position.

        They are to be used before the next are taken. Raises BudgetExceeded.
        """

    @abstractmethod
    def match_batches(self, roots: NDArray[np.int64], labelled: bool) -> Iterator[MatchBatch]:
        """The complex events of roots that `advance` has returned last."""

    @abstractmethod
    def numbers(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[Numbers]:
        """Read events; the positions of the sets completed and the exact number of matches of each, in their order."""

    @abstractmethod
    def _load(self, arrays: dict[str, NDArray[Any]], position: int) -> None: ...

    @abstractmethod
    def _compact(self, bound: int) -> NDArray[np.bool_]: ...

    def _make_room(self, more: int, bound: int) -> None:
        """Room for more nodes, by compaction or a larger array. Raises BudgetExceeded."""
        size = self.tree.shape[-1]
        if bound > 0 or size >= self._compact_from:
            self.compact(bound)
            self._compact_from = 16 * size if 2 * self.nodes > size else size
        while size < 2 * self.nodes + more:
            size *= self.growth
        size = min(size, self.most)
        if size < self.nodes + more:
            raise BudgetExceeded(f"the partial matches take more than {self.most} nodes; a shorter window takes fewer")
        if size > self.tree.shape[-1]:
            self.tree = enlarged(self.tree, self.nodes, size)
