"""Enumeration in compiled loops: the complex events of sets that list_kernels and scoped_kernels have made.

The readable twins are ces.CompactComplexEventSet (Algorithm 1 of tods21) and ces_window.enumerate_. A walk leads from
the last position to the first. Where several nodes before which nothing comes stand in a row, complex events differ in
this one position only, and are written at once, as a *run*. Many complex events end in the same run, or in the end of
one: the nodes of the run met last stay in arrays, so that it is not followed again from node to node.

    leaves int32 [M], firsts int64 [M]   the nodes of the run, or what stands for them, and their positions
    places int32 [2 ** k]                where node n may be among the leaves, at n modulo 2 ** k
"""

from __future__ import annotations

import numpy as np

from cerify.automata.evaluate.jit import bare, part
from cerify.automata.evaluate.list_kernels import CHILD, LABEL, NEXT, POSITION

HEIGHT, BOUND, FILLED, REST = range(4)


@part
def _common(position, number, size, path, marks, depth, found, written, at, offsets, events, labels):  # type: ignore[no-untyped-def]
    """Write the common part of a run of complex events of one size: all but their first positions."""
    begin, step, end = np.uintp(found), np.uintp(size), np.uintp(written)
    for x in range(np.uintp(number)):
        end += step
        at[begin + x] = position
        offsets[begin + x + np.uintp(1)] = end
    for y in range(depth):
        to, value = np.uintp(written + size - 1 - y), path[y]
        for _ in range(number):
            events[to] = value
            to += step
        if labels.size > 0:
            to = np.uintp(written + size - 1 - y)
            for _ in range(number):
                labels[to] = marks[y]
                to += step


@part
def _firsts(firsts, w, number, size, written, events):  # type: ignore[no-untyped-def]
    """Write the first positions of a run of complex events of one size."""
    to, step = np.uintp(written), np.uintp(size)
    for x in range(np.uintp(w), np.uintp(w + number)):
        events[to] = firsts[x]
        to += step


@part
def _place(n, leaves, places, filled):  # type: ignore[no-untyped-def]
    """Where the node is among the leaves, or -1."""
    w = places[n & (places.size - 1)]
    return w if w < filled and leaves[w] == n else -1


@part
def _position(n, tree, eras):  # type: ignore[no-untyped-def]
    e = eras.shape[0] - 1
    while eras[e, 0] > n:
        e -= 1
    return eras[e, 1] + tree[POSITION, n]


@part
def _leaves_of_list(n, tree, eras, leaves, firsts, places):  # type: ignore[no-untyped-def]
    """Write the leaves from a node on; returns how many there are, and the node after them or 0."""
    filled, node, last = np.uintp(0), np.uintp(n), np.uintp(places.size - 1)
    while filled < leaves.size and node > 0 and tree[CHILD, node] == -1:
        following = tree[NEXT, node]
        if following < 0:
            break
        leaves[filled], firsts[filled], places[node & last] = node, _position(node, tree, eras), filled
        filled += np.uintp(1)
        node = np.uintp(following)
    return np.intp(filled), np.int32(node)


@bare
def enumerate_lists(  # type: ignore[no-untyped-def]
    roots, r, nodes, path, marks, pending, walk, run, at, offsets, events, labels
):
    """Write the complex events of the roots from r on, each as its positions in ascending order.

    nodes: the arrays tree and eras. walk: int64 [4], the height of the stack pending, int32 [., 2], of rows (reference,
    depth); the bound of enumerate_scoped; how many leaves there are, and what comes after them. path, marks: the
    positions and labels of the path, from the latest on. run: the arrays leaves, firsts and places. at [M], offsets
    [M + 1], events: int64, as in an Arrow list array; labels: int32, as long as events if labels are wanted, else
    empty. Returns the root reached and how many events were written. The enumeration is complete when the root is the
    last and the stack is empty; otherwise the next call continues it.
    """
    tree, eras = nodes
    leaves, firsts, places = run
    found, written, height, filled, rest = 0, 0, walk[HEIGHT], walk[FILLED], walk[REST]
    while True:
        if height == 0:
            r += 1
            if r >= roots.shape[0]:
                break
            pending[0, 0], pending[0, 1], height = roots[r, 1], 0, 1
        n, depth = pending[height - 1, 0], pending[height - 1, 1]
        end, most = events.size - depth, at.size - found
        if written >= end or most == 0 or depth + 2 > path.size or height + 2 > pending.shape[0]:
            break
        if n < 0:
            _common(roots[r, 0], 1, depth, path, marks, depth, found, written, at, offsets, events, labels)
            found, written = found + 1, written + depth
            pending[height - 1, 0] = ~n
            height -= n == -1
            continue
        child, following = tree[CHILD, n], tree[NEXT, n]
        if following < 0:
            pending[height - 1, 0], pending[height, 0], pending[height, 1] = ~following, child, depth
            height += 1
            continue
        if child != -1:
            pending[height - 1, 0] = following
            height -= following == 0
            path[depth] = _position(n, tree, eras)
            if labels.size > 0:
                marks[depth] = tree[LABEL, n]
            pending[height, 0], pending[height, 1] = child, depth + 1
            height += 1
            continue
        w = _place(n, leaves, places, filled)
        if w < 0:
            w = 0
            filled, rest = _leaves_of_list(n, tree, eras, leaves, firsts, places)
        number = min(filled - w, most, (end - written - 1) // (depth + 1) + 1)
        _firsts(firsts, w, number, depth + 1, written, events)
        if labels.size > 0:
            for x in range(number):
                labels[written + x * (depth + 1)] = tree[LABEL, leaves[w + x]]
        _common(roots[r, 0], number, depth + 1, path, marks, depth, found, written, at, offsets, events, labels)
        found, written = found + number, written + number * (depth + 1)
        pending[height - 1, 0] = leaves[w + number] if w + number < filled else rest
        height -= pending[height - 1, 0] == 0
    walk[HEIGHT], walk[FILLED], walk[REST] = height, filled, rest
    return r, found


@part
def _leaves_of_set(n, low, tree, leaves, firsts, places):  # type: ignore[no-untyped-def]
    """Write the leaves from a node on, down to a position; returns how many there are, and the node after them or 0."""
    filled = 0
    while filled < leaves.size and n > 0 and tree[n].latest >= low:
        left, right = n, np.int32(0)
        if tree[n].right > 0:
            left, right = tree[n].left, tree[n].right
        if left == 0 or tree[left].left > 0:
            break
        leaves[filled], firsts[filled] = n, tree[left].event
        places[n & (places.size - 1)] = filled
        filled += 1
        n = right
    return filled, n


@part
def _within(low, w, filled, firsts):  # type: ignore[no-untyped-def]
    """How many leaves from w on are not before a position; they descend."""
    below, above = w, filled
    if firsts[filled - 1] >= low:
        below = filled
    while below < above:
        middle = (below + above) // 2
        if firsts[middle] >= low:
            below = middle + 1
        else:
            above = middle
    return below - w


@bare
def enumerate_scoped(  # type: ignore[no-untyped-def]
    roots, r, tree, path, marks, pending, walk, run, at, offsets, events, labels
):
    """Write the complex events of the roots from r on, each as its positions in ascending order.

    pending: int32 [., 2], of rows (node, depth). walk has, beside what it has in enumerate_lists, the bound of the
    complex event that is under way. The rest is as there.
    """
    leaves, firsts, places = run
    found, written, height, bound, filled, rest = 0, 0, walk[HEIGHT], walk[BOUND], walk[FILLED], walk[REST]
    while True:
        if height == 0:
            r += 1
            if r >= roots.shape[0]:
                break
            pending[0, 0], pending[0, 1], height = roots[r, 1], 0, 1
        n, depth = pending[height - 1, 0], pending[height - 1, 1]
        end, most, low = events.size - depth, at.size - found, bound if depth > 0 else 0
        if written >= end or most == 0 or depth + 2 > path.size or height + 2 > pending.shape[0]:
            break
        left, right = n, np.int32(0)
        if tree[n].right > 0:
            left, right = tree[n].left, tree[n].right
            right = right if tree[right].latest >= low else np.int32(0)
        if left == 0:
            _common(roots[r, 0], 1, depth, path, marks, depth, found, written, at, offsets, events, labels)
            found, written = found + 1, written + depth
            pending[height - 1, 0] = right
            height -= right == 0
        elif tree[left].left == 0:
            w = _place(n, leaves, places, filled)
            if w < 0:
                w = 0
                filled, rest = _leaves_of_set(n, low, tree, leaves, firsts, places)
            inside = _within(low, w, filled, firsts)
            number = min(inside, most, (end - written - 1) // (depth + 1) + 1)
            _firsts(firsts, w, number, depth + 1, written, events)
            if labels.size > 0:
                for x in range(number):
                    n = leaves[w + x]
                    n = tree[n].left if tree[n].right > 0 else n
                    labels[written + x * (depth + 1)] = -tree[n].right
            _common(roots[r, 0], number, depth + 1, path, marks, depth, found, written, at, offsets, events, labels)
            found, written = found + number, written + number * (depth + 1)
            n = leaves[w + number] if w + number < filled else rest
            pending[height - 1, 0] = n
            height -= n == 0 or tree[n].latest < low
        elif left == n:
            bound = tree[n].floor if depth == 0 else bound
            path[depth], marks[depth] = tree[n].event, -tree[n].right
            pending[height - 1, 0], pending[height - 1, 1] = tree[n].left, depth + 1
        else:
            pending[height - 1, 0] = right
            height += right > 0
            pending[height - 1, 0], pending[height - 1, 1] = left, depth
    walk[HEIGHT], walk[BOUND], walk[FILLED], walk[REST] = height, bound, filled, rest
    return r, found
