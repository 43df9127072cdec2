"""Loops over the arrays of scoped_kernels.py: compaction, and the check of a saved state."""

from __future__ import annotations

import numpy as np

from cerify.automata.evaluate.jit import compiled
from cerify.automata.evaluate.scoped_kernels import END, MEMBERS, NEXT, NODES, NODES_MADE, OUT, SIZE, WHOLE


@compiled
def compact_scoped(tree, rows, slot, first, keys, used, counters, bound):  # type: ignore[no-untyped-def]
    """Remove all complex events that begin before the bound, and close the gaps.

    Children come before their parents, so that one way down finds what is alive and one way up moves it. A union whose
    right is gone is its left. used: bool [K], set to whether anything is left of a key.
    """
    nodes, members = counters[NODES_MADE], 0
    alive = np.zeros(nodes, np.bool_)
    for k in range(used.size):
        used[k] = False
    for q in range(slot.size):
        s = slot[q]
        if s < 0:
            continue
        k = first[s]
        first[s], keys[s] = END, 0
        while k != END:
            next_, size = rows[k, s, NEXT], rows[k, s, SIZE]
            while size > 0 and tree[rows[k, s, NODES + size - 1]].latest < bound:
                size -= 1
            rows[k, s, NEXT], rows[k, s, SIZE], rows[k, s, WHOLE] = OUT, size, 0
            if size > 0:
                rows[k, s, NEXT] = first[s]
                first[s] = k
                keys[s] += 1
                members += 1
                used[k] = True
            for x in range(size):
                alive[rows[k, s, NODES + x]] = True
            k = next_
    for n in range(nodes - 1, 0, -1):
        if alive[n]:
            alive[tree[n].left] = True
            if tree[n].right > 0 and tree[tree[n].right].latest >= bound:
                alive[tree[n].right] = True
    moved = np.zeros(nodes, np.int32)
    kept = 1
    for n in range(1, nodes):
        if alive[n]:
            if tree[n].right > 0 and not alive[tree[n].right]:  # what was there may be overwritten by now
                moved[n] = moved[tree[n].left]
                continue
            moved[n] = kept
            tree[kept].event, tree[kept].floor = tree[n].event, tree[n].floor
            tree[kept].latest = tree[n].latest
            tree[kept].left = moved[tree[n].left]
            tree[kept].right = moved[tree[n].right] if tree[n].right > 0 else tree[n].right
            kept += 1
    for q in range(slot.size):
        if slot[q] >= 0:
            k = first[slot[q]]
            while k != END:
                for x in range(NODES, NODES + rows[k, slot[q], SIZE]):
                    rows[k, slot[q], x] = moved[rows[k, slot[q], x]]
                k = rows[k, slot[q], NEXT]
    counters[NODES_MADE], counters[MEMBERS] = kept, members


@compiled
def in_slots(rows, slot, first, keys, nodes):  # type: ignore[no-untyped-def]
    """Over all slots how many keys each has, or -1 if they are not what the loops above make of them."""
    members, outside = 0, 0
    taken = np.zeros(slot.size, np.bool_)
    for q in range(slot.size):
        if slot[q] >= 0:
            if taken[slot[q]]:
                return -1
            taken[slot[q]] = True
    for s in range(slot.size):
        k, count = first[s], 0
        while k != END and count <= rows.shape[0]:
            if k < 0 or k >= rows.shape[0] or rows[k, s, SIZE] < 0 or rows[k, s, SIZE] > rows.shape[2] - NODES:
                return -1
            for x in range(NODES, NODES + rows[k, s, SIZE]):
                if rows[k, s, x] < 0 or rows[k, s, x] >= nodes:
                    return -1
            if rows[k, s, WHOLE] < 0 or rows[k, s, WHOLE] >= nodes:
                return -1
            k = rows[k, s, NEXT]
            count += 1
        if count != keys[s] or (count > 0 and not taken[s]):
            return -1
        members += count
    for k in range(rows.shape[0]):
        for s in range(rows.shape[1]):
            outside += rows[k, s, NEXT] == OUT
    return members if members + outside == rows.shape[0] * rows.shape[1] else -1
