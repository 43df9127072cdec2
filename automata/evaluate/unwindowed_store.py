"""The match store of a formula without windows and partitions: Algorithm 2 of tods21, compiled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerify.automata.evaluate import list_kernels as kernels
from cerify.automata.evaluate.batches import Enumeration, EventBatch, MatchBatch, Numbers, require
from cerify.automata.evaluate.enumeration_kernels import enumerate_lists
from cerify.automata.evaluate.list_kernels import CAP, CHILD, LABEL, NEXT, POSITION
from cerify.automata.evaluate.match_store import MatchStore
from cerify.automata.evaluate.tables import TransitionTables
from cerify.semantics.errors import BudgetExceeded

ROOTS = 16_384  # lists completed between two enumerations
ERA = 2**31  # positions are numbers of 31 bits in a node, and begin anew after as many


class UnwindowedStore(MatchStore):
    """A list of nodes for each state, with their labels if these are wanted; see list_kernels."""

    growth, most = 4, 2**31 - 1

    def __init__(self, labelled: bool) -> None:
        super().__init__((LABEL + 1 if labelled else LABEL,), np.dtype(np.int32))
        self._nodes = 1
        self.refs, self.runs = np.array([-1], np.int32), np.ones(1, np.int64)
        self.eras = np.zeros((1, 2), np.int64)
        self._exact: tuple[int, list[int]] = (0, [1])  # the runs of each state where they were last counted

    @property
    def nodes(self) -> int:
        return self._nodes

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"tree": self.tree[:, : self.nodes], "refs": self.refs, "runs": self.runs, "eras": self.eras}

    @property
    def labels(self) -> NDArray[np.int32]:
        if len(self.tree) <= LABEL:
            return np.zeros(self.nodes, np.int32)
        labels: NDArray[np.int32] = self.tree[LABEL, : self.nodes]
        return labels

    @property
    def positions(self) -> NDArray[np.int64]:
        """The position of each node; that of its era for what is no event."""
        eras = self.eras[np.searchsorted(self.eras[:, 0], np.arange(self.nodes), side="right") - 1, 1]
        positions: NDArray[np.int64] = eras + self.tree[POSITION, : self.nodes]
        return positions

    def resize(self, states: int, keys: int) -> None:
        more = states - self.runs.size
        self.refs = np.concatenate([self.refs, np.zeros(more, np.int32)])
        self.runs = np.concatenate([self.runs, np.zeros(more, np.int64)])

    def _load(self, arrays: dict[str, NDArray[Any]], position: int) -> None:
        tree, refs, runs, eras = (arrays[name] for name in ("tree", "refs", "runs", "eras"))
        require(tree.dtype == refs.dtype == np.int32, "an array is of another type")
        require(runs.dtype == eras.dtype == np.int64, "an array is of another type")
        require(tree.ndim == 2 and len(tree) == len(self.tree) and tree.shape[1] >= 1, "there are no nodes")
        require(refs.shape == self.refs.shape and runs.shape == self.runs.shape, "a table has no such shape")
        require(((runs >= 0) & (runs <= CAP)).all(), "a number is out of range")
        nodes = tree.shape[1]
        lists = np.maximum(refs, ~refs)
        require((lists < nodes).all() and (refs < 0).sum() <= 1, "a list is out of range")
        child, following = tree[CHILD, 1:], tree[NEXT, 1:]
        for links in (child, following):
            require((np.maximum(links, ~links) <= np.arange(nodes - 1)).all(), "a node is not above what it leads to")
        require((child != 0).all() and ((following >= 0) | (child > 0)).all(), "a node has no children")
        require((following != -1).all(), "a union is of one list")
        require(eras.ndim == 2 and eras.shape[1] == 2 and len(eras) >= 1, "the eras have no such shape")
        require((np.diff(eras, axis=0) >= [0, ERA]).all() and (eras % [1, ERA] == 0).all(), "the eras do not follow")
        require(eras[0].tolist() == [0, 0] and eras[-1, 0] <= nodes, "the eras are out of range")
        require((eras[:, 1] <= position).all() and (tree[POSITION] >= 0).all(), "a node lies in the future")
        self.tree, self._nodes, self.refs, self.runs, self.eras = np.ascontiguousarray(tree), nodes, refs, runs, eras
        require((self.positions[1:] < max(position, 1)).all(), "a node lies in the future")
        self._exact = -1, []

    def _compact(self, bound: int) -> NDArray[np.bool_]:
        """There is no bound without a window, and one key."""
        self._nodes = kernels.compact_lists(self.tree, self._nodes, self.refs, self.eras)
        return np.ones(1, np.bool_)

    def _scratch(self, transitions: TransitionTables) -> tuple[NDArray[Any], ...]:
        """What update_lists works with: the states that have runs, two copies of what these have, the nodes that one
        event makes, and a plan with what it finds in a block of events."""
        states, classes = self.refs.size, len(transitions.skip)
        return (
            np.empty(states, np.int32), np.empty(states, np.int32), np.empty(states, np.int64),
            np.empty((len(transitions.marks), 4), np.int64), np.empty(classes, np.int32),
            np.zeros((2 * classes, kernels.WIDTH), np.int32), np.empty(2 * kernels.BLOCK + 1, np.int64),
        )  # fmt: skip

    def advance(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[NDArray[np.int64]]:
        roots = np.empty((ROOTS + transitions.finals.size, 3), np.int64)
        scratch = self._scratch(transitions)
        index = 0
        while index < batch.classes.size:
            era = (batch.base + index) // ERA * ERA
            if self.eras[-1, 1] != era:
                self.eras = np.concatenate([self.eras, [[self.nodes, era]]])
            room = len(transitions.marks) + 2 * self.refs.size
            if self.nodes + room > self.tree.shape[1]:
                self._make_room(room, 0)
            index, self._nodes, found = kernels.update_lists(
                batch.classes[: era + ERA - batch.base], batch.base, batch.base - era, index, *transitions.arrays,
                scratch, self.tree, self.nodes, self.refs, self.runs, roots,
            )  # fmt: skip
            if found:
                yield roots[:found]

    def match_batches(self, roots: NDArray[np.int64], labelled: bool) -> Iterator[MatchBatch]:
        store = self.tree, self.eras
        found: Iterator[MatchBatch] = Enumeration(labelled).match_batches(enumerate_lists, roots, store)
        return found

    def numbers(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[Numbers]:
        """Read all events; for the lists completed, in their order, the positions and how many matches each has.

        What passes the machine's words is counted again in Python's integers, from where all were last known.
        Raises BudgetExceeded.
        """
        before = self.runs.tolist()
        base, known = self._exact
        found = [roots[:, [0, 2]].copy() for roots in self.advance(batch, transitions)]
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
        runs, finals = [*known, *[0] * (self.runs.size - len(known))], transitions.finals.tolist()
        states, ended, steps = range(self.runs.size), transitions.ended.tolist(), []
        for c, skip in enumerate(transitions.skip.tolist()):
            marks = transitions.marks[transitions.begin[c] : transitions.begin[c + 1]].tolist()
            moved = [p for p in states if skip[p] != p and not ended[p]]
            steps.append((moved, [(p, skip[p]) for p in moved if skip[p] >= 0] + [(p, q) for p, _, q in marks]))
        positions, numbers = [], []
        for position, c in enumerate(batch.classes.tolist(), batch.base):
            if c < 0:
                runs, c = [int(q == 0) for q in states], -1 - c
            moved, added = steps[c]
            more = [(q, runs[p]) for p, q in added if runs[p]]
            for p in moved:
                runs[p] = 0
            for q, some in more:
                runs[q] += some
            number = 0
            for q in finals:
                number += runs[q]
                if ended[q]:
                    runs[q] = 0
            if number:
                positions.append(position)
                numbers.append(number)
        self._exact = batch.base + batch.classes.size, runs
        yield np.array(positions, np.int64), np.array(numbers, object)
