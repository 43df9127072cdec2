"""The match stores of formulas without windows and partitions (Algorithm 2 of tods21), and with them; compiled.

WindowedStore could serve all formulas. But without windows and partitions a node needs no bound of its window, a state
has one list instead of a series for each key, and matches are counted as events are read: UnwindowedStore has smaller
nodes and a shorter loop. Both keep everything in arrays, which the loops of numba change in place and saved states
contain as they are. tables.py has what the stores share.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerify.automata.evaluate import list_kernels as kernels
from cerify.automata.evaluate import scoped_kernels
from cerify.automata.evaluate.list_kernels import (
    CAP,
    CHILD,
    LABEL,
    NEXT,
    POSITION,
    enumerate_lists,
    enumerate_scoped,
    numbers_of_roots,
)
from cerify.automata.evaluate.list_kernels import in_windows as count_in_windows
from cerify.automata.evaluate.tables import (
    Enumeration,
    EventBatch,
    MatchBatch,
    MatchStore,
    Numbers,
    TransitionTables,
    require,
)
from cerify.semantics.errors import BudgetExceeded

ROOTS = 16_384  # lists completed between two enumerations
ERA = 2**31  # a node has 31 bits for its position, which counts from the beginning of an era of this length


class UnwindowedStore(MatchStore):
    """A match store for formulas without windows and partitions: a list of nodes for each state of the automaton.

    Nodes have labels if labels are wanted. list_kernels has the compiled functions on these lists.
    """

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
        """Return the position of each node (int64 [nodes]); the number means nothing for a node that is no event."""
        eras = self.eras[np.searchsorted(self.eras[:, 0], np.arange(self.nodes), side="right") - 1, 1]
        positions: NDArray[np.int64] = eras + self.tree[POSITION, : self.nodes]
        return positions

    def resize(self, states: int, keys: int) -> None:
        more = states - self.runs.size
        self.refs = np.concatenate([self.refs, np.zeros(more, np.int32)])
        self.runs = np.concatenate([self.runs, np.zeros(more, np.int64)])

    def _load(self, arrays: dict[str, NDArray[Any]], position: int) -> None:
        tree, refs, runs, eras = (arrays[name] for name in ("tree", "refs", "runs", "eras"))
        require(tree.dtype == refs.dtype == np.int32, "an array has the wrong type")
        require(runs.dtype == eras.dtype == np.int64, "an array has the wrong type")
        require(tree.ndim == 2 and len(tree) == len(self.tree) and tree.shape[1] >= 1, "the nodes have the wrong shape")
        require(refs.shape == self.refs.shape and runs.shape == self.runs.shape, "a table has the wrong shape")
        require(((runs >= 0) & (runs <= CAP)).all(), "a number of runs is out of range")
        nodes = tree.shape[1]
        lists = np.maximum(refs, ~refs)
        require((lists < nodes).all() and (refs < 0).sum() <= 1, "a list is out of range")
        child, following = tree[CHILD, 1:], tree[NEXT, 1:]
        for links in (child, following):
            require((np.maximum(links, ~links) <= np.arange(nodes - 1)).all(), "a node comes before its children")
        require((child != 0).all() and ((following >= 0) | (child > 0)).all(), "a node has no children")
        require((following != -1).all(), "a union has only one list")
        require(eras.ndim == 2 and eras.shape[1] == 2 and len(eras) >= 1, "the eras have the wrong shape")
        require((np.diff(eras, axis=0) >= [0, ERA]).all() and (eras % [1, ERA] == 0).all(), "the eras are out of order")
        require(eras[0].tolist() == [0, 0] and eras[-1, 0] <= nodes, "the eras are out of range")
        require((eras[:, 1] <= position).all() and (tree[POSITION] >= 0).all(), "a node is after the saved position")
        self.tree, self._nodes, self.refs, self.runs, self.eras = np.ascontiguousarray(tree), nodes, refs, runs, eras
        require((self.positions[1:] < max(position, 1)).all(), "a node is after the saved position")
        self._exact = -1, []

    def _compact(self, bound: int) -> NDArray[np.bool_]:
        """Delete unreachable nodes. Without windows and partitions the bound is ignored, and there is one key."""
        self._nodes = kernels.compact_lists(self.tree, self._nodes, self.refs, self.eras)
        return np.ones(1, np.bool_)

    def _scratch(self, transitions: TransitionTables) -> tuple[NDArray[Any], ...]:
        """Return the working memory of update_lists.

        It holds the states with runs, copies of their lists and numbers, the nodes that one event makes, the two parts
        of a plan, and the operations found in a block of events.
        """
        states, classes = self.refs.size, len(transitions.skip)
        return (
            np.empty(states, np.int32), np.empty(states, np.int32), np.empty(states, np.int64),
            np.empty((len(transitions.marks), 4), np.int64), np.empty(classes, np.int32),
            np.zeros((2 * classes, kernels.WIDTH), np.int32), np.empty(2 * kernels.BLOCK + 1, np.int64),
        )  # fmt: skip

    def advance(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[NDArray[np.int64]]:
        # More than ROOTS, because one event may complete a list in each final state.
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
            # The batch is cut at the end of the era: after that, positions would not fit in 31 bits.
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
        """Read all events. Yield for each completed list, in order, its position and its number of matches.

        If a number might not fit in 64 bits (CAP), the batch is counted again with Python's integers, starting from the
        numbers at its beginning. Raises BudgetExceeded if these are not exact either.
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
                "earlier batches, which were not counted, have left 2^61 partial matches or more, so later matches "
                "cannot be counted; count from the first batch"
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


# ---------------------------------------------------------------------------------------------------------------------
# Count complex events under windows without enumerating them.
#
# `numbers` visits the nodes of sets, on the arrays of scoped_kernels.py. `in_windows` makes no nodes. It represents an
# event by its step: for S states, an S x S matrix of numbers of ways from state to state. A run whose first marked
# event is at position i or later had marked nothing before i. So the numbers of such runs, by their states at j, are a
# row of the product of the steps from i to j. For a sliding window, the product is kept in two parts. For each event of
# the older part, `front` has its row of the product up to the end of that part; `back` is the product of all newer
# steps. Once the window has left the older part behind, the newer part takes its place. So each event is multiplied
# only twice, however long the window is. Numbers stop at CAP.

STATES = 16  # matrices are used for automata of at most this many states


def numbers(roots: NDArray[np.int64], tree: NDArray[np.void]) -> NDArray[Any]:
    """Return the exact number of complex events of each root."""
    found, counts = np.empty(len(roots), np.int64), np.zeros(tree.size, np.int64)
    stamp, pending, done = np.full(tree.size, -1, np.int64), np.zeros(1024, np.int32), 0
    while True:
        done = numbers_of_roots(roots, done, tree, counts, stamp, pending, found)
        if done == len(roots):
            break
        pending = np.zeros(2 * pending.size, np.int32)
    large = np.flatnonzero(found < 0)
    if not large.size:
        return found
    exact = found.astype(object)
    exact[large] = [_exact(root, tree) for root in roots[large, 1].tolist()]
    return exact


def _exact(root: int, tree: NDArray[np.void]) -> int:
    left, right = tree["left"], tree["right"]
    total, ends = 0, [root]
    while ends:
        node = ends.pop()
        if node == 0:
            total += 1
        elif right[node] <= 0:
            total += _paths(node, tree, int(tree["floor"][node]))
        else:
            ends += [left[node], right[node]]
    return total


def _paths(root: int, tree: NDArray[np.void], bound: int) -> int:
    left, right, latest = (tree[name] for name in ("left", "right", "latest"))
    counts: dict[int, int] = {0: 1}
    pending = [root]
    while pending:
        node = int(pending[-1])
        children = [int(left[node])]
        if right[node] > 0 and latest[right[node]] >= bound:
            children.append(int(right[node]))
        unknown = [child for child in children if child not in counts]
        pending += unknown
        if not unknown:
            counts[node] = sum(counts[child] for child in children)
            pending.pop()
    return counts[root]


def in_windows(
    batch: EventBatch, unmarked: int, start: int, cut: int, transitions: TransitionTables
) -> tuple[Numbers, int] | None:
    """Count the matches of events of one key without storing partial matches.

    Return (numbers, state), or None if a number of matches might not fit in 64 bits (CAP). numbers: the positions with
    matches from index `start` on, and the number of matches at each. state: the state of the run without marks before
    the event at index `cut`. batch: events of one key, from the beginning of the window of the event at `start` on.
    unmarked: the state of the run without marks before the first event, or -1.
    """
    n, states = batch.classes.size, transitions.ended.size
    final = np.zeros(states, np.bool_)
    final[transitions.finals] = True
    matrices, front = np.zeros((3, states, states), np.int64), np.empty((n, states), np.int64)
    steps, found = np.empty((3, n), np.int32), np.empty((2, n), np.int64)
    number, unmarked = count_in_windows(
        batch.classes, batch.keys, batch.admitted, batch.low, batch.positions, start, cut, *transitions.arrays, final,
        unmarked, matrices, front, steps, found,
    )  # fmt: skip
    return None if number < 0 else ((batch.positions[found[0, :number]], found[1, :number]), unmarked)


# ---------------------------------------------------------------------------------------------------------------------
# The match store under windows and partitions: the sets of ces.py, compiled.

ENTRIES = 2**30  # the table of series has at most this many
FIELDS = [("event", "<i8"), ("latest", "<i8"), ("floor", "<i8"), ("left", "<i4"), ("right", "<i4")]
# Records, so that compiled functions can use their fields as attributes, also when they run as plain Python.
NODE = np.dtype((np.record, np.dtype(FIELDS, align=True)))


class TreeStore(MatchStore):
    """A match store that keeps all nodes in one array of records, `tree`; NODE has their fields."""

    @property
    def labels(self) -> NDArray[np.int32]:
        """Return the label of each node; 0 for unions."""
        labels: NDArray[np.int32] = np.maximum(-self.tree["right"][: self.nodes], 0)
        return labels

    @property
    def positions(self) -> NDArray[np.int64]:
        positions: NDArray[np.int64] = self.tree["event"][: self.nodes]
        return positions

    def match_batches(self, roots: NDArray[np.int64], labelled: bool) -> Iterator[MatchBatch]:
        found: Iterator[MatchBatch] = Enumeration(labelled).match_batches(enumerate_scoped, roots, self.tree)
        return found


def require_tree(tree: NDArray[Any], position: int) -> None:
    """Raise ValueError unless each node comes after its children and is at a position before `position`."""
    below, inner = np.arange(1, tree.size), slice(1, None)
    children = tree["left"][inner], np.maximum(tree["right"][inner], 0)
    require(all(((c >= 0) & (c < below)).all() for c in children), "a node comes before its children")
    # the terminator has no position
    require((tree["event"][1:] < position).all(), "a node is after the saved position")
    require((tree["floor"] <= position).all(), "a node is after the saved position")


class WindowedStore(TreeStore):
    """A match store for all formulas: the partial matches in each state of the automaton, for each key of a partition.

    reports_at_last_event: whether each match is reported at its last event, so that partial matches outside the window
    can be dropped. windowed: whether to leave out a match that binds no event. consume: whether a match ends all
    partial matches that began before it.
    """

    growth, most = 2, 2**30

    def __init__(self, reports_at_last_event: bool, windowed: bool, consume: bool) -> None:
        self._how = reports_at_last_event, windowed, consume
        self._reports_at_last_event = reports_at_last_event
        super().__init__((), NODE)
        self.tree["latest"][0] = np.iinfo(np.int64).max
        self.counters = np.zeros(scoped_kernels.COUNTERS, np.int64)
        self.counters[scoped_kernels.NODES_MADE] = 1
        self.rows = np.empty((0, 0, scoped_kernels.NODES), np.int32)
        self.slot, self.first, self.keys = (np.empty(0, np.int32) for _ in range(3))
        self._recent: tuple[EventBatch, int] | None = None  # the last window and its unmarked run, if counted

    @property
    def nodes(self) -> int:
        return int(self.counters[scoped_kernels.NODES_MADE])

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "tree": self.tree[: self.nodes], "counters": self.counters, "rows": self.rows, "slot": self.slot,
            "first": self.first, "keys": self.keys,
        }  # fmt: skip

    def resize(self, states: int, keys: int) -> None:
        had_keys, had_states, had_width = self.rows.shape
        if keys > had_keys or states > had_states:
            keys = max(had_keys, keys)
            shape = keys, states, scoped_kernels.NODES + states + 2
            # Python's integers, because a product in 64 bits may overflow without an error.
            if np.prod(shape, dtype=object) > ENTRIES:
                raise BudgetExceeded(
                    f"the compiled evaluator has no room for {keys} keys and {states} states; use a shorter window"
                )
            rows = np.zeros(shape, np.int32)
            rows[:, :, 0] = scoped_kernels.OUT
            rows[:had_keys, :had_states, :had_width] = self.rows
            self.rows = rows
            more = states - had_states
            self.slot = np.concatenate([self.slot, np.full(more, -1, np.int32)])
            self.first = np.concatenate([self.first, np.full(more, scoped_kernels.END, np.int32)])
            self.keys = np.concatenate([self.keys, np.zeros(more, np.int32)])

    def _load(self, arrays: dict[str, NDArray[Any]], position: int) -> None:
        tree, counters, rows = (arrays[name] for name in ("tree", "counters", "rows"))
        slot, first, keys = (arrays[name] for name in ("slot", "first", "keys"))
        require(tree.dtype == NODE and counters.dtype == np.int64, "an array has the wrong type")
        tree = tree.view(NODE)
        require(all(a.dtype == np.int32 for a in (rows, slot, first, keys)), "an array has the wrong type")
        states = self.slot.size
        require(rows.ndim == 3 and rows.shape[1:] == self.rows.shape[1:], "a table has the wrong shape")
        require(all(a.shape == (states,) for a in (slot, first, keys)), "a table has the wrong shape")
        require(
            counters.shape == (scoped_kernels.COUNTERS,) and counters[scoped_kernels.NODES_MADE] == tree.size >= 1,
            "the number of nodes is wrong",
        )
        require(-1 <= counters[scoped_kernels.UNMARKED] < states, "a state is out of range")
        require_tree(tree, position)
        require(((slot >= -1) & (slot < states)).all(), "a slot is out of range")
        members = scoped_kernels.in_slots(rows, slot, first, keys, tree.size)
        require(members == counters[scoped_kernels.MEMBERS], "the keys of a slot are wrong")
        self.tree, self.counters, self.rows = tree, counters, np.ascontiguousarray(rows)
        self.slot, self.first, self.keys = slot, first, keys

    def _compact(self, bound: int) -> NDArray[np.bool_]:
        used = np.zeros(len(self.rows), np.bool_)
        bound = bound if self._reports_at_last_event else 0
        scoped_kernels.compact_scoped(
            self.tree, self.rows, self.slot, self.first, self.keys, used, self.counters, bound
        )
        return used

    def advance(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[NDArray[np.int64]]:
        self._recent = None
        roots = np.empty((ROOTS, 2), np.int64)
        scratch = tuple(np.empty(max(self.slot.size, 2 * len(transitions.marks)), np.int32) for _ in range(5))
        index = 0
        while True:
            index, found = scoped_kernels.update_scoped(
                batch.classes, batch.keys, batch.admitted, batch.low, batch.positions, index, *transitions.arrays,
                *self._how, self.counters, scratch, self.tree, self.rows, self.slot, self.first, self.keys, roots,
            )  # fmt: skip
            if found:
                yield roots[:found]
            if index == batch.classes.size:
                return
            room, ends = self.counters[[scoped_kernels.NODES_SHORT, scoped_kernels.ROOTS_SHORT]].tolist()
            if self.nodes + room > self.tree.size:
                self._make_room(room, int(batch.low[index]))
            if ends > len(roots):
                roots = np.empty((2 * ends, 2), np.int64)

    def numbers(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[Numbers]:
        """Read events; yield the positions with matches and the exact numbers of matches, like MatchStore.numbers.

        Without keys, a match is counted without nodes if the events of its window are still at hand: in this batch, or
        in the last window of the batch before, if that batch was counted in the same way. Then only the events of the
        last window become nodes.
        """
        whole, unmarked = batch, int(self.counters[scoped_kernels.UNMARKED])
        if self._recent is not None:
            whole, unmarked = self._recent[0].then(batch), self._recent[1]
        n, before = batch.classes.size, whole.classes.size - batch.classes.size
        start = int(np.searchsorted(batch.low, whole.base))
        first = int(np.searchsorted(whole.positions, batch.low[-1]))
        possible = self._how == (True, True, False) and len(self.rows) == 1 and self.slot.size <= STATES
        # The matrices also pass over the events before `start`. If few events remain to be counted, nodes cost less.
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
            # The last window has all partial matches that can still be completed, so only its events are read again.
            self._clear(unmarked)
            rest = last
        for _ in self.advance(rest, transitions):
            pass
        self._recent = last, unmarked

    def _clear(self, unmarked: int) -> None:
        """Remove all partial matches except the run without marks. unmarked: the state of that run, or -1 for none."""
        self._freed += self.nodes - 1
        self.counters[:] = 0
        self.counters[scoped_kernels.NODES_MADE], self.counters[scoped_kernels.UNMARKED] = 1, unmarked
        self.rows[:, :, scoped_kernels.NEXT] = scoped_kernels.OUT
        self.slot[:], self.first[:], self.keys[:] = -1, scoped_kernels.END, 0
