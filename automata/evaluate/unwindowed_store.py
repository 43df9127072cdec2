"""The match store of a formula without windows and partitions: Algorithm 2 of tods21, compiled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerify.automata.evaluate import list_kernels
from cerify.automata.evaluate.batches import Enumeration, EventBatch, MatchBatch, Numbers, require
from cerify.automata.evaluate.enumeration_kernels import enumerate_lists
from cerify.automata.evaluate.list_kernels import CAP
from cerify.automata.evaluate.match_store import MatchStore
from cerify.automata.evaluate.tables import TransitionTables
from cerify.semantics.errors import BudgetExceeded

ROOTS = 16_384  # lists completed between two enumerations
# Records, so that their fields are attributes in the loops also where these are run as Python.
NODE = np.dtype((np.record, [("event", "<i8"), ("first", "<i4"), ("last", "<i4"), ("next", "<i4"), ("label", "<i4")]))


class UnwindowedStore(MatchStore):
    """A list of nodes for each state; see list_kernels."""

    growth, most = 4, 2**31 - 1

    def __init__(self) -> None:
        super().__init__(NODE)
        self.tree["next"][0] = -1
        self._nodes = 1
        self.ends, self.runs = np.zeros((1, 2), np.int32), np.ones(1, np.int64)
        self._exact: tuple[int, list[int]] = (0, [1])  # the runs of each state where they were last counted

    @property
    def nodes(self) -> int:
        return self._nodes

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"tree": self.tree[: self.nodes], "ends": self.ends, "runs": self.runs}

    @property
    def labels(self) -> NDArray[np.int32]:
        labels: NDArray[np.int32] = self.tree["label"][: self.nodes]
        return labels

    def resize(self, states: int, keys: int) -> None:
        more = states - self.runs.size
        self.ends = np.concatenate([self.ends, np.full((more, 2), -1, np.int32)])
        self.runs = np.concatenate([self.runs, np.zeros(more, np.int64)])

    def _load(self, arrays: dict[str, NDArray[Any]], position: int) -> None:
        tree, ends, runs = (arrays[name] for name in ("tree", "ends", "runs"))
        require(tree.dtype == NODE and ends.dtype == np.int32 and runs.dtype == np.int64, "an array is of another type")
        tree = tree.view(NODE)
        require(tree.ndim == 1 and tree.size >= 1, "there are no nodes")
        require(ends.shape == self.ends.shape and runs.shape == self.runs.shape, "a table has no such shape")
        require(((runs >= 0) & (runs <= CAP)).all(), "a number is out of range")
        require(((ends >= -1) & (ends < tree.size)).all(), "a list is out of range")
        require(((ends[:, 0] < 0) | (ends[:, 1] >= 0)).all(), "a list has no end")
        below = np.arange(tree.size)
        for name in ("first", "last"):
            require(((tree[name] >= 0) & (tree[name] < np.maximum(below, 1))).all(), "a node is not above its children")
        require(((tree["next"] >= -1) & (tree["next"] < tree.size)).all(), "a list leads out of the nodes")
        require((tree["event"][1:] < position).all(), "a node lies in the future")  # the terminator has no position
        require(bool(list_kernels.in_lists(tree, ends)), "a list does not reach its end")
        self.tree, self._nodes, self.ends, self.runs = tree, tree.size, ends, runs
        self._exact = -1, []

    def _compact(self, bound: int) -> NDArray[np.bool_]:
        """There is no bound without a window, and one key."""
        self._nodes = list_kernels.compact_lists(self.tree, self._nodes, self.ends)
        return np.ones(1, np.bool_)

    def advance(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[NDArray[np.int64]]:
        roots = np.empty((ROOTS + transitions.finals.size, 4), np.int64)
        index = 0
        while index < batch.classes.size:
            if self.nodes + len(transitions.marks) > self.tree.size:
                self._make_room(len(transitions.marks), 0)
            index, self._nodes, found = list_kernels.update_lists(
                batch.classes, batch.base, index, *transitions.arrays, self.tree, self.nodes, self.ends, self.runs,
                roots,
            )  # fmt: skip
            if found:
                yield roots[:found]

    def match_batches(self, roots: NDArray[np.int64], labelled: bool) -> Iterator[MatchBatch]:
        found: Iterator[MatchBatch] = Enumeration(3, labelled).match_batches(enumerate_lists, roots, self.tree)
        return found

    def numbers(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[Numbers]:
        """Read all events; for the lists completed, in their order, the positions and how many matches each has.

        What passes the machine's words is counted again in Python's integers, from where all were last known.
        Raises BudgetExceeded.
        """
        before = self.runs.tolist()
        base, known = self._exact
        found = [roots[:, [0, 3]].copy() for roots in self.advance(batch, transitions)]
        if all((rows[:, 1] < CAP).all() for rows in found) and (self.runs < CAP).all():
            yield from ((rows[:, 0], rows[:, 1]) for rows in found)
            return
        if max(before) < CAP:
            base, known = batch.base, before
        if base != batch.base:
            raise BudgetExceeded(
                "more than 2^61 partial matches before this batch, and their exact number is available only if all "
                "batches were counted by this evaluator: it is not part of a saved state, so count from the first batch"
            )
        runs = dict(enumerate(known))
        positions, numbers = [], []
        for position, c in enumerate(batch.classes.tolist(), batch.base):
            if c < 0:
                runs, c = {0: 1}, -1 - c
            runs_: dict[int, int] = {}
            marks = transitions.marks[transitions.begin[c] : transitions.begin[c + 1]].tolist()
            for p, q in [*enumerate(transitions.skip[c].tolist()), *((p, q) for p, _, q in marks)]:
                if q >= 0 and runs.get(p):
                    runs_[q] = runs_.get(q, 0) + runs[p]
            runs = runs_
            number = sum(runs.get(q, 0) for q in transitions.finals.tolist())
            if number:
                positions.append(position)
                numbers.append(number)
        self._exact = batch.base + batch.classes.size, [runs.get(q, 0) for q in range(self.runs.size)]
        yield np.array(positions, np.int64), np.array(numbers, object)
