"""The numbers of complex events under windows, without enumerating them.

`numbers` visits the nodes of sets, on the arrays of scoped_kernels.py. `in_windows` makes no nodes. Of S states, it
takes each event for the step that it makes, an S x S matrix of numbers of ways. The runs of which the first marked
event is at position i or later are those that had marked nothing before i: so their numbers by states at j are a row of
the product of the steps from i to j. The product over a window that slides is kept as that of two: for each event of
the older part its row of the product to where that part ends (front), and the product of all newer steps (back). Once
the window has left the older part behind, the newer one takes its place. So an event is twice multiplied by, whatever
the window. Numbers stop at CAP.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerify.automata.evaluate.batches import EventBatch, Numbers
from cerify.automata.evaluate.counting_kernels import in_windows as count_in_windows
from cerify.automata.evaluate.counting_kernels import numbers_of_roots
from cerify.automata.evaluate.tables import TransitionTables

STATES = 16  # of the automata for which matrices are used, at most


def numbers(roots: NDArray[np.int64], tree: NDArray[np.void]) -> NDArray[Any]:
    """The exact number of complex events of each root. What passes 61 bits is counted again in Python's integers."""
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
    """The positions from index start on with matches, and their numbers; None if one is CAP or more.

    batch: events of one key from where the windows of those at start begin. unmarked: the state, before the first, of
    the run that has marked nothing, or -1; that before the event at index cut is returned too.
    """
    n, states = batch.classes.size, transitions.ended.size
    final = np.zeros(states, np.bool_)
    final[transitions.finals] = True
    matrices, front = np.zeros((3, states, states), np.int64), np.empty((n, states), np.int64)
    steps, found = np.empty((3, n), np.int32), np.empty((2, n), np.int64)
    number, unmarked = count_in_windows(
        batch.classes, batch.keys, batch.admitted, batch.low, batch.base, start, cut, *transitions.arrays, final,
        unmarked, matrices, front, steps, found,
    )  # fmt: skip
    return None if number < 0 else ((batch.base + found[0, :number], found[1, :number]), unmarked)
