"""Evaluation under windows and partitions in compiled loops over flat arrays.

The readable twins are scoped.ScopedEvaluation (update) and ces_window (the data structure, enumeration). Positions are
64-bit, as a stream may never end. tree [N] holds the nodes, node 0 the terminator, as records, so that what is used
together lies together:

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

from cerify.automata.evaluate.kernels import compiled

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


@compiled
def compact_scoped(tree, rows, slot, first, keys, used, counters, bound):  # type: ignore[no-untyped-def]
    """Let go of all complex events that begin before bound, and close the gaps.

    Children come before their parents, so that one way down finds what is alive and one way up moves it. A union whose
    right is gone is its left. used: bool [K], set to whether anything is left of a key.
    """
    nodes, members = counters[NODES_MADE], 0
    alive = np.zeros(nodes, np.bool_)
    used[:] = False
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
            rows[k, s, NEXT], rows[k, s, SIZE] = OUT, size
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
            if tree[n].label == 0 and tree[tree[n].right].latest >= bound:
                alive[tree[n].right] = True
    moved = np.zeros(nodes, np.int32)
    kept = 1
    for n in range(1, nodes):
        if alive[n]:
            if tree[n].label == 0 and not alive[tree[n].right]:  # what was there may be overwritten by now
                moved[n] = moved[tree[n].left]
                continue
            moved[n] = kept
            tree[kept].event, tree[kept].label = tree[n].event, tree[n].label
            tree[kept].latest, tree[kept].floor = tree[n].latest, tree[n].floor
            tree[kept].left = moved[tree[n].left]
            tree[kept].right = moved[tree[n].right] if tree[n].label == 0 else -1
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
def enumerate_scoped(  # type: ignore[no-untyped-def]
    roots, r, tree, path, marks, pending, walk, at, offsets, events, labels
):
    """Write the complex events of the roots from r on, each as its positions in ascending order.

    walk: int64 [2], the height of the stack pending, int32 [., 2], of rows (node, depth), and the bound of the complex
    event that is under way. The rest is as in list_kernels.enumerate_lists.
    """
    found, written, height, bound = 0, 0, walk[0], walk[1]
    labelled, full = labels.size > 0, False
    while found < at.size and not full:
        if height == 0:
            r += 1
            if r >= roots.shape[0]:
                break
            pending[0, 0], pending[0, 1], height = roots[r, 1], 0, 1
        height -= 1
        node, depth = pending[height, 0], pending[height, 1]
        while True:
            if written + depth + 1 > events.size or height + 2 > pending.shape[0] or depth + 2 > path.size:
                pending[height, 0], pending[height, 1] = node, depth
                height += 1
                full = True
                break
            if node > 0 and tree[node].label == 0:
                right = tree[node].right
                if depth == 0 or tree[right].latest >= bound:
                    pending[height, 0], pending[height, 1] = right, depth
                    height += 1
                node = tree[node].left
                continue
            if node > 0:
                if depth == 0:
                    bound = tree[node].floor
                if tree[node].left > 0:
                    path[depth], marks[depth] = tree[node].event, tree[node].label
                    depth += 1
                    node = tree[node].left
                    continue
                events[written] = tree[node].event
                if labelled:
                    labels[written] = tree[node].label
                written += 1
            for x in range(depth - 1, -1, -1):
                events[written] = path[x]
                if labelled:
                    labels[written] = marks[x]
                written += 1
            at[found] = roots[r, 0]
            found += 1
            offsets[found] = written
            break
    walk[0], walk[1] = height, bound
    return r, found


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
            k = rows[k, s, NEXT]
            count += 1
        if count != keys[s] or (count > 0 and not taken[s]):
            return -1
        members += count
    for k in range(rows.shape[0]):
        for s in range(rows.shape[1]):
            outside += rows[k, s, NEXT] == OUT
    return members if members + outside == rows.shape[0] * rows.shape[1] else -1
