"""Evaluation without windows in compiled loops: Algorithm 2 of tods21, on lists of nodes in one flat array.

The readable twins are streaming.Evaluation (update) and ces.CompactComplexEventSet (the data structure, enumeration).
tree [N] holds the nodes, node 0 the terminator, as records:

    event int64  the position of a node         label int32  how it is marked: an index into Tables.labels
    first, last int32  the list of its children    next int32  its successor in the list it is in, or -1

and for each state ends int32 [S, 2] has the first and last node of its list, or -1, and runs int64 [S] the number of
complex events that list stands for, which Algorithm 2 would enumerate; CAP stands for that many or more.
"""

from __future__ import annotations

import numpy as np

from cerify.automata.evaluate.jit import compiled

CAP = 1 << 61
LAST_BIT = 63


@compiled
def update_lists(  # type: ignore[no-untyped-def]
    classes, base, start, skip, begin, marks, finals, ended, moving, busy, tree, nodes, ends, runs, roots
):
    """Read events from index start on; stop where there might not be room for the nodes or roots that an event adds.

    classes: int32 [n], base the position of the first; a class is given as -1 - c where a new stream begins. skip to
    busy are those of TransitionTables. roots: int64 [R, 4], a row (position, first, last, number) for each list
    completed. Returns the index reached, the number of nodes and of roots.
    """
    states = ends.shape[0]
    ends_, runs_ = np.empty((states, 2), np.int32), np.empty(states, np.int64)
    into = np.empty(marks.shape[0], np.int32)
    numbers = np.empty(marks.shape[0], np.int64)
    live = np.empty(states, np.int32)
    alive, mask, found = 0, np.uint64(0), 0
    for q in range(states):
        if ends[q, 0] >= 0:
            live[alive] = q
            alive += 1
            mask |= np.uint64(1) << np.uint64(min(q, LAST_BIT))
    for i in range(start, classes.size):
        c = classes[i]
        if c < 0:
            if found and tree[0].next >= 0:  # lists of the stream before go through the terminator
                return i, nodes, found
            for a in range(alive):
                ends[live[a], 0], runs[live[a]] = -1, 0
            tree[0].next = -1
            ends[0, 0], ends[0, 1], runs[0] = 0, 0, 1
            live[0], alive, mask, c = 0, 1, np.uint64(1), -1 - c
        if mask & busy[c] == 0:
            continue
        if nodes + marks.shape[0] > tree.size or found + finals.size > roots.shape[0]:
            return i, nodes, found
        made = 0
        for t in range(begin[c], begin[c + 1]):
            p = marks[t, 0]
            if ends[p, 0] >= 0:
                tree[nodes].event = base + i
                tree[nodes].label = marks[t, 1]
                tree[nodes].first = ends[p, 0]
                tree[nodes].last = ends[p, 1]
                tree[nodes].next = -1
                into[made] = marks[t, 2]
                numbers[made] = runs[p]
                nodes += 1
                made += 1
        if mask & moving[c] != 0:
            mask, count = np.uint64(0), 0
            for a in range(alive):
                p = live[a]
                ends_[p, 0], ends_[p, 1], runs_[p] = ends[p, 0], ends[p, 1], runs[p]
                ends[p, 0] = -1
            for a in range(alive):
                p = live[a]
                q = skip[c, p]
                if q < 0:
                    continue
                if ends[q, 0] < 0:
                    ends[q, 0], ends[q, 1], runs[q] = ends_[p, 0], ends_[p, 1], runs_[p]
                    if not ended[q]:
                        live[count] = q  # never beyond a
                        count += 1
                        mask |= np.uint64(1) << np.uint64(min(q, LAST_BIT))
                else:
                    tree[ends[q, 1]].next = ends_[p, 0]
                    ends[q, 1] = ends_[p, 1]
                    runs[q] = min(runs[q] + runs_[p], CAP)
            alive = count
        for m in range(made):
            q, node = into[m], nodes - made + m
            if ends[q, 0] < 0:
                ends[q, 0], ends[q, 1], runs[q] = node, node, numbers[m]
                if not ended[q]:
                    live[alive] = q
                    alive += 1
                    mask |= np.uint64(1) << np.uint64(min(q, LAST_BIT))
            else:
                tree[ends[q, 1]].next = node
                ends[q, 1] = node
                runs[q] = min(runs[q] + numbers[m], CAP)
        for f in range(finals.size):
            q = finals[f]
            if ends[q, 0] >= 0:
                roots[found, 0] = base + i
                roots[found, 1] = ends[q, 0]
                roots[found, 2] = ends[q, 1]
                roots[found, 3] = runs[q]
                found += 1
                if ended[q]:
                    ends[q, 0], runs[q] = -1, 0
    return classes.size, nodes, found


@compiled
def compact_lists(tree, nodes, ends):  # type: ignore[no-untyped-def]
    """Remove the nodes that no list of a state leads to, and close the gaps; returns the number of nodes left.

    Of a list of several nodes all that come after the first stay, so that each is walked once however many end in it.
    """
    alive = np.zeros(nodes, np.uint8)  # 1: alone, 2: with what comes after it
    pending, height = np.empty((nodes + ends.shape[0], 2), np.int32), 0
    for q in range(ends.shape[0]):
        if ends[q, 0] >= 0:
            pending[height, 0], pending[height, 1] = ends[q, 0], ends[q, 1]
            height += 1
    while height > 0:
        height -= 1
        n = pending[height, 0]
        how = 1 if n == pending[height, 1] else 2
        while n >= 0 and alive[n] < how:
            if alive[n] == 0 and n > 0:
                pending[height, 0], pending[height, 1] = tree[n].first, tree[n].last
                height += 1
            alive[n] = how
            n = tree[n].next if how == 2 else -1
    alive[0] = 2
    moved, kept = np.empty(nodes, np.int32), 0
    for n in range(nodes):
        moved[n] = kept if alive[n] else -1
        kept += alive[n] > 0
    for n in range(nodes):
        if alive[n]:
            to = moved[n]
            tree[to].event, tree[to].label = tree[n].event, tree[n].label
            tree[to].first, tree[to].last = moved[tree[n].first], moved[tree[n].last]
            tree[to].next = moved[tree[n].next] if tree[n].next >= 0 else -1
    for q in range(ends.shape[0]):
        if ends[q, 0] >= 0:
            ends[q, 0], ends[q, 1] = moved[ends[q, 0]], moved[ends[q, 1]]
        else:
            ends[q, 1] = -1  # what an empty list ended in may be gone, and is saved with it
    return kept


@compiled
def in_lists(tree, ends):  # type: ignore[no-untyped-def]
    """Whether the children of each node, and what the states have, are lists: from the first along next to the last."""
    nodes = tree.size
    begun, chain, rank = np.zeros(nodes, np.bool_), np.full(nodes, -1, np.int32), np.empty(nodes, np.int32)
    for n in range(nodes):
        if tree[n].next >= 0:
            if begun[tree[n].next]:
                return False
            begun[tree[n].next] = True
    for n in range(nodes):
        m, at = n, 0
        while not begun[n] and m >= 0:
            chain[m], rank[m] = n, at
            m, at = tree[m].next, at + 1
    for n in range(nodes):
        f, l = tree[n].first, tree[n].last
        if chain[n] < 0 or (n > 0 and (chain[f] != chain[l] or rank[f] > rank[l])):
            return False
    for q in range(ends.shape[0]):
        f, l = ends[q, 0], ends[q, 1]
        if f >= 0 and (chain[f] != chain[l] or rank[f] > rank[l] or tree[l].next >= 0):
            return False
    return True
