"""Evaluation under windows and partitions in compiled loops over flat arrays: the update phase.

The readable twins are scoped.ScopedEvaluation (update) and ces_window (the data structure). Positions are 64-bit, as a
stream may never end. tree [N] holds the nodes, node 0 the terminator, as records, so that what is used together lies
together:

    event  int64  the position of an output    label  int16  its marks; 0 for a union
    left, right  int32  of a union; the child of an output is its left
    latest int64  the latest first position    floor  int64  how far back an output's window reaches

A run of which events are marked has their key; an event that is skipped, of whatever key, does the same to the runs of
all keys. So the sets of a state stand in a *slot*, one for each key, and a skip hands the slot on to another state,
whatever it holds. Only where two slots meet, the one with fewer keys is emptied into the other. With K keys, S states
(and as many slots) and series of at most W nodes:

    rows  int32 [K, S, 2 + W]   (next, size, nodes) of a key in a slot: the key after it there (END; OUT if it is not
                                in the slot), and its series
    slot  int32 [S]             the slot of a state, or -1
    first int32 [S], keys int32 [S]   the first key of a slot, or END, and how many there are
"""

from __future__ import annotations

import numpy as np

from cerify.automata.evaluate.jit import compiled

END, OUT = -1, -2
NEXT, SIZE, NODES = 0, 1, 2
NODES_MADE, UNMARKED, MEMBERS, NODES_SHORT, ROOTS_SHORT, COUNTERS = range(6)
LAST_BIT = 63


@compiled
def _union(l, r, nodes, tree):  # type: ignore[no-untyped-def]
    tree[nodes].event = -1
    tree[nodes].label = 0
    tree[nodes].left = l
    tree[nodes].right = r
    tree[nodes].latest = tree[l].latest
    return nodes + 1


@compiled
def _merge(series, row, size, nodes, tree):  # type: ignore[no-untyped-def]
    """The safe node of all that is in the series that starts at row, and the number of nodes."""
    node = series[row + size - 1]
    for x in range(row + size - 2, row - 1, -1):
        nodes = _union(series[x], node, nodes, tree)
        node = nodes - 1
    return node, nodes


@compiled
def _add(series, row, size, other, begin, others, nodes, tree):  # type: ignore[no-untyped-def]
    """Add the series in other from begin on to the one at row; returns the size of that and the number of nodes."""
    if tree[other[begin]].latest > tree[series[row]].latest:
        node, nodes = _merge(series, row, size, nodes, tree)
        size = others
        for x in range(size):
            series[row + x] = other[begin + x]
    else:
        node, nodes = _merge(other, begin, others, nodes, tree)
    x, end = row + 1, row + size
    while x < end and tree[series[x]].latest > tree[node].latest:
        x += 1
    if x < end and tree[series[x]].latest == tree[node].latest:
        n1, n2 = series[x], node
        if n1 == 0 or tree[n1].label > 0:
            nodes = _union(n1, n2, nodes, tree)
        elif n2 == 0 or tree[n2].label > 0:
            nodes = _union(n2, n1, nodes, tree)
        else:
            r1, r2 = tree[n1].right, tree[n2].right
            if tree[r1].latest < tree[r2].latest:
                r1, r2 = r2, r1
            nodes = _union(r1, r2, nodes, tree)
            nodes = _union(tree[n2].left, nodes - 1, nodes, tree)
            nodes = _union(tree[n1].left, nodes - 1, nodes, tree)
        series[x] = nodes - 1
        return size, nodes
    for y in range(end, x, -1):
        series[y] = series[y - 1]
    series[x] = node
    return size + 1, nodes


@compiled
def _put(flat, row, k, s, first, keys, made, m, nodes, tree):  # type: ignore[no-untyped-def]
    """Add made[m] to the series of a key in a slot; returns the number of nodes, and of keys that are new there."""
    new = 0
    if flat[row + NEXT] == OUT:
        flat[row + NEXT], flat[row + SIZE] = first[s], 0
        first[s] = k
        keys[s] += 1
        new = 1
    if flat[row + SIZE] == 0:
        flat[row + NODES], flat[row + SIZE] = made[m], 1
    else:
        flat[row + SIZE], nodes = _add(flat, row + NODES, flat[row + SIZE], made, m, 1, nodes, tree)
    return nodes, new


@compiled
def _empty(rows, s, first, keys):  # type: ignore[no-untyped-def]
    """Take all keys out of a slot."""
    k = first[s]
    while k != END:
        next_ = rows[k, s, NEXT]
        rows[k, s, NEXT] = OUT
        k = next_
    first[s], keys[s] = END, 0


@compiled
def _pour(rows, s, into, first, keys, nodes, tree):  # type: ignore[no-untyped-def]
    """Add what a slot holds to another one, key by key; returns the number of nodes, and of keys that are new there."""
    flat, width, new = rows.reshape(-1), rows.shape[2], 0
    k = first[s]
    while k != END:
        row, other = (k * rows.shape[1] + into) * width, (k * rows.shape[1] + s) * width
        if flat[row + NEXT] == OUT:
            flat[row + NEXT], flat[row + SIZE] = first[into], 0
            first[into] = k
            keys[into] += 1
            new += 1
        size = flat[other + SIZE]
        if flat[row + SIZE] == 0:
            for x in range(SIZE, NODES + size):
                flat[row + x] = flat[other + x]
        elif size > 0:
            flat[row + SIZE], nodes = _add(flat, row + NODES, flat[row + SIZE], flat, other + NODES, size, nodes, tree)
        k = flat[other + NEXT]
    return nodes, new


@compiled
def update_scoped(  # type: ignore[no-untyped-def]
    classes, numbers, admitted, low, base, start, skip, begin, marks, finals, ended, moving, busy,
    punctual, windowed, consume, counters, tree, rows, slot, first, keys, roots,
):  # fmt: skip
    """Read events from index start on; stop where the nodes or the roots might not hold what an event adds.

    classes, numbers int32, admitted bool, low int64 [n]: of each event its class, the number of its key or -1, whether
    a match can have it, and how far back it reaches; base is the position of the first. skip to busy are those of
    Moves. roots: int64 [R, 2], a row (position, node) for each set of complex events completed. With consume a position
    with one forgets all partial matches. counters: the number of nodes; the state of the run that has marked nothing,
    or -1; in how many slots a key is, over all keys; and how many nodes or roots were missing where it stopped.
    Returns the index reached and the number of roots.
    """
    states, width = slot.size, rows.shape[2] - NODES
    flat, row_width = rows.reshape(-1), rows.shape[2]
    nodes, unmarked, members = counters[NODES_MADE], counters[UNMARKED], counters[MEMBERS]
    made, into = np.empty(marks.shape[0], np.int32), np.empty(marks.shape[0], np.int32)
    live, slot_ = np.empty(states, np.int32), np.empty(states, np.int32)
    free = np.empty(states, np.int32)
    alive, mask, spare, found = 0, np.uint64(0), 0, 0
    used = np.zeros(states, np.bool_)
    for q in range(states):
        if slot[q] >= 0:
            used[slot[q]] = True
            live[alive] = q
            alive += 1
            mask |= np.uint64(1) << np.uint64(min(q, LAST_BIT))
    for s in range(states):
        if not used[s]:
            free[spare] = s
            spare += 1
    origin = np.uint64(0) if unmarked < 0 else np.uint64(1) << np.uint64(min(unmarked, LAST_BIT))
    index = start
    while index < classes.size:
        c, k = classes[index], numbers[index]
        if (mask | origin) & busy[c] == 0:
            index += 1
            continue
        moves = (mask | origin) & moving[c] != 0
        # what this event may need: as a mark one node and the merging of two series, and so for each key that is moved
        need, ends = marks.shape[0] * (2 * width + 4), marks.shape[0] * width + finals.size + 1
        if moves:
            for a in range(alive):
                if skip[c, live[a]] != live[a]:
                    need += keys[slot[live[a]]] * (width + 4)
        if not punctual:
            ends += members * width
        if nodes + need > tree.size or found + ends > roots.shape[0]:
            counters[NODES_SHORT], counters[ROOTS_SHORT] = need, ends
            break
        position, before, count = base + index, found, 0
        if k >= 0 and admitted[index]:
            bound, source, child = low[index], -1, -1
            for t in range(begin[c], begin[c + 1]):
                p = marks[t, 0]
                if p != source:
                    source, child = p, -1
                    if slot[p] >= 0:
                        row = (k * states + slot[p]) * row_width
                        if flat[row + NEXT] != OUT:
                            size = flat[row + SIZE]
                            while punctual and size > 0 and tree[flat[row + NODES + size - 1]].latest < bound:
                                size -= 1
                            flat[row + SIZE] = size
                            if size > 0 and tree[flat[row + NODES]].latest >= bound:
                                child, nodes = _merge(flat, row + NODES, size, nodes, tree)
                for way in range(2):
                    node = child if way == 0 else 0
                    if node < 0 or (way == 1 and p != unmarked):
                        continue
                    tree[nodes].event, tree[nodes].label = position, marks[t, 1]
                    tree[nodes].left, tree[nodes].right = node, -1
                    tree[nodes].latest = position if node == 0 else tree[node].latest
                    tree[nodes].floor = bound
                    made[count], into[count] = nodes, marks[t, 2]
                    nodes += 1
                    count += 1
        if moves:
            for a in range(alive):
                slot_[live[a]] = slot[live[a]]
                slot[live[a]] = -1
            arrived = 0
            for a in range(alive):
                p = live[a]
                s, q = slot_[p], skip[c, p]
                if q >= 0 and slot[q] < 0:
                    slot[q] = s
                    live[arrived] = q  # never beyond a
                    arrived += not ended[q]
                    continue
                if q >= 0:
                    if keys[s] > keys[slot[q]]:
                        s, slot[q] = slot[q], s
                    nodes, new = _pour(rows, s, slot[q], first, keys, nodes, tree)
                    members += new
                members -= keys[s]
                _empty(rows, s, first, keys)
                free[spare] = s
                spare += 1
            alive = arrived
            if unmarked >= 0:
                unmarked = skip[c, unmarked]
        for m in range(count):
            q = into[m]
            if slot[q] < 0:
                spare -= 1
                slot[q] = free[spare]
                live[alive] = q
                alive += not ended[q]
            row = (k * states + slot[q]) * row_width
            nodes, new = _put(flat, row, k, slot[q], first, keys, made, m, nodes, tree)
            members += new
        for f in range(finals.size):
            if slot[finals[f]] >= 0:
                s = slot[finals[f]]
                key = first[s]
                while key != END:
                    for x in range(rows[key, s, SIZE]):
                        roots[found, 0], roots[found, 1] = position, rows[key, s, NODES + x]
                        found += 1
                    key = rows[key, s, NEXT]
                if ended[finals[f]]:
                    members -= keys[s]
                    _empty(rows, s, first, keys)
                    slot[finals[f]] = -1
                    free[spare] = s
                    spare += 1
            if finals[f] == unmarked and not windowed:
                roots[found, 0], roots[found, 1] = position, 0
                found += 1
        if consume and found > before:
            for a in range(alive):
                s = slot[live[a]]
                _empty(rows, s, first, keys)
                slot[live[a]] = -1
                free[spare] = s
                spare += 1
            alive, members, unmarked = 0, 0, 0
        if moves or count or found > before:
            mask = np.uint64(0)
            for a in range(alive):
                mask |= np.uint64(1) << np.uint64(min(live[a], LAST_BIT))
            origin = np.uint64(0) if unmarked < 0 else np.uint64(1) << np.uint64(min(unmarked, LAST_BIT))
        index += 1
    counters[NODES_MADE], counters[UNMARKED], counters[MEMBERS] = nodes, unmarked, members
    return index, found
