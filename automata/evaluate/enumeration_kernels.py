"""Enumeration in compiled loops: the complex events of sets that list_kernels and scoped_kernels have made.

The readable twins are ces.CompactComplexEventSet (Algorithm 1 of tods21) and ces_window.enumerate_. A walk leads from
the last position to the first. Where several nodes before which nothing comes stand in a row, complex events differ in
this one position only, and are written at once, as a *run*.
"""

from __future__ import annotations

import numpy as np

from cerify.automata.evaluate.jit import bare, part


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


@bare
def enumerate_lists(  # type: ignore[no-untyped-def]
    roots, r, tree, path, marks, pending, walk, at, offsets, events, labels
):
    """Write the complex events of the roots from r on, each as its positions in ascending order.

    walk: int64 [1], the height of the stack pending, int32 [., 3], of rows (node, last, depth). path, marks: the
    positions and labels of the path, from the latest on. at [M], offsets [M + 1], events: int64, as in an Arrow list
    array; labels: int32, as long as events if labels are wanted, else empty. Returns the root reached and how many
    events were written. The enumeration is complete when the root is the last and the stack is empty; otherwise the
    next call continues it.
    """
    found, written, height = 0, 0, walk[0]
    while True:
        if height == 0:
            r += 1
            if r >= roots.shape[0]:
                break
            pending[0, 0], pending[0, 1], pending[0, 2], height = roots[r, 1], roots[r, 2], 0, 1
        node, last, depth = pending[height - 1, 0], pending[height - 1, 1], pending[height - 1, 2]
        end, most = events.size - depth, at.size - found
        if written >= end or most == 0 or depth + 2 > path.size or height + 2 > pending.shape[0]:
            break
        if tree[node].first > 0 or tree[node].last > 0:
            pending[height - 1, 0] = tree[node].next
            height -= node == last
            path[depth], marks[depth] = tree[node].event, tree[node].label
            pending[height, 0], pending[height, 1] = tree[node].first, tree[node].last
            pending[height, 2] = depth + 1
            height += 1
            continue
        number, first, size = 0, np.uintp(written), depth + (node > 0)
        most = min(most, (end - written - 1) // (depth + 1) + 1)
        n, step = np.uintp(node), np.uintp(size)
        while True:
            if n > 0:
                events[first] = tree[n].event
                if labels.size > 0:
                    labels[first] = tree[n].label
            number += 1
            first += step
            if n == last:
                height -= 1
                break
            n = np.uintp(tree[n].next)
            if number == most or n == 0 or size == depth or tree[n].first | tree[n].last:
                pending[height - 1, 0] = n
                break
        _common(roots[r, 0], number, size, path, marks, depth, found, written, at, offsets, events, labels)
        found, written = found + number, np.intp(first)  # type: ignore[assignment]
    walk[0] = height
    return r, found


@bare
def enumerate_scoped(  # type: ignore[no-untyped-def]
    roots, r, tree, path, marks, pending, walk, at, offsets, events, labels
):
    """Write the complex events of the roots from r on, each as its positions in ascending order.

    walk: int64 [2], the height of the stack pending, int32 [., 2], of rows (node, depth), and the bound of the complex
    event that is under way. The rest is as in enumerate_lists.
    """
    found, written, height, bound = 0, 0, walk[0], walk[1]
    while True:
        if height == 0:
            r += 1
            if r >= roots.shape[0]:
                break
            pending[0, 0], pending[0, 1], height = roots[r, 1], 0, 1
        node, depth = pending[height - 1, 0], pending[height - 1, 1]
        end, most = events.size - depth, at.size - found
        if written >= end or most == 0 or depth + 2 > path.size or height + 2 > pending.shape[0]:
            break
        most = min(most, (end - written - 1) // (depth + 1) + 1)
        number, first, size, low = 0, np.uintp(written), depth + (node > 0), bound if depth > 0 else 0
        n, step = node, np.uintp(size)
        while True:
            left, right = np.uintp(n), tree[np.uintp(n)].right
            if right > 0:
                left = np.uintp(tree[left].left)
                right = right if tree[np.uintp(right)].latest >= low else -1
            inner = tree[left].left > 0
            if inner:
                break
            if left > 0:
                events[first] = tree[left].event
                if labels.size > 0:
                    labels[first] = -tree[left].right
            number += 1
            first += step
            n = right
            if n <= 0 or number == most:
                break
        _common(roots[r, 0], number, size, path, marks, depth, found, written, at, offsets, events, labels)
        found, written = found + number, np.intp(first)  # type: ignore[assignment]
        if not inner:
            pending[height - 1, 0] = n
            height -= n <= 0
        elif left == n:
            bound = tree[left].floor if depth == 0 else bound
            path[depth], marks[depth] = tree[left].event, -right
            pending[height - 1, 0], pending[height - 1, 1] = tree[left].left, depth + 1
        else:
            pending[height - 1, 0] = right
            height += right > 0
            pending[height - 1, 0], pending[height - 1, 1] = left, depth
    walk[0], walk[1] = height, bound
    return r, found
