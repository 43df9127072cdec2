"""The number of complex events of a set, without enumerating them, on the arrays of scoped_kernels.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerify.automata.evaluate.jit import compiled


def numbers(roots: NDArray[np.int64], tree: NDArray[np.void]) -> NDArray[Any]:
    """The exact number of complex events of each root. What passes 61 bits is counted again in Python's integers."""
    found, counts = np.empty(len(roots), np.int64), np.zeros(tree.size, np.int64)
    stamp, pending, done = np.full(tree.size, -1, np.int64), np.zeros(1024, np.int32), 0
    while True:
        done = _numbers(roots, done, tree, counts, stamp, pending, found)
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


@compiled
def _number(root, tree, counts, stamp, pending):  # type: ignore[no-untyped-def]
    """The number of complex events of a root; -1 past 62 bits, -2 if pending is too small.

    counts [N] holds for the bound stamp [N] how many of a node's complex events begin there or later. With the bound
    the count stays valid, so that nodes below earlier roots are not counted again.
    """
    total, height, ends = 0, 0, 1
    pending[0] = root
    while ends > 0:
        ends -= 1
        end = pending[ends]
        if end == 0:
            total += 1
            continue
        if ends + 4 > pending.size:
            return -2
        if tree[end].right > 0:
            pending[ends], pending[ends + 1] = tree[end].left, tree[end].right
            ends += 2
            continue
        bound = tree[end].floor
        pending[ends] = end
        height = ends + 1
        while height > ends:
            node = pending[height - 1]
            if height + 3 > pending.size:
                return -2
            l = tree[node].left
            r = tree[node].right if tree[node].right > 0 and tree[tree[node].right].latest >= bound else -1
            ready = True
            if l > 0 and stamp[l] != bound:
                pending[height] = l
                height += 1
                ready = False
            if r > 0 and stamp[r] != bound:
                pending[height] = r
                height += 1
                ready = False
            if ready:
                number = 1 if l == 0 else counts[l]
                if r >= 0:
                    number += 1 if r == 0 else counts[r]
                if number >= 1 << 61:
                    return -1
                counts[node], stamp[node] = number, bound
                height -= 1
        total += counts[end]
        if total >= 1 << 61:
            return -1
    return total


@compiled
def _numbers(roots, done, tree, counts, stamp, pending, found):  # type: ignore[no-untyped-def]
    """The number of each root from the one of this index on; returns the index at which pending is too small."""
    for i in range(done, roots.shape[0]):
        found[i] = _number(roots[i, 1], tree, counts, stamp, pending)
        if found[i] == -2:
            return i
    return roots.shape[0]
