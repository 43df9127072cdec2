"""Evaluation under windows and partitions in compiled loops over flat arrays: the update phase.

evaluate/jit.py says why the loops are long and have a parameter for each array.
The readable twins are streaming.ScopedEvaluation (update) and ces.py (the data structure). Positions are 64-bit,
because a stream may never end. tree [N] holds the nodes as records, so that fields used together lie together; node 0
is the terminator:

    event  int64  the position of an output    floor int64  the first position in its window
    latest int64  the latest first position of its complex events
    left, right  int32  the operands of a union; for an output, its child, and minus its label

A run that has marked events has the key of these events. A skipped event, whatever its key, moves the runs of all keys
in the same way. So the sets of a state stand in a *slot*, with one set for each key, and a skip hands the whole slot to
another state. If two slots meet, the slot with fewer keys is emptied into the other. With K keys, S states (and as many
slots) and series of at most W nodes:

    rows  int32 [K, S, 3 + W]   for a key in a slot (next, size, whole, nodes): the next key in the slot (END if none;
                                OUT if this key is not in it), the size of its series, one node for the whole series or
                                0, and the series
    slot  int32 [S]             the slot of a state, or -1
    first int32 [S], keys int32 [S]   the first key of a slot, or END, and the number of its keys
"""

from __future__ import annotations

import numpy as np

from cerify.automata.evaluate.jit import bare, compiled, part

END, OUT = -1, -2
NEXT, SIZE, WHOLE, NODES = range(4)
NODES_MADE, UNMARKED, MEMBERS, NODES_SHORT, ROOTS_SHORT, COUNTERS = range(6)
LAST_BIT = 63


@bare
def reach_in_window(values, positions, old, width, begins, low):  # type: ignore[no-untyped-def]
    """Write the first position in the window of each new event into low, int64 [n].

    The first `old` of the values belong to earlier events. Windows may begin at them, but nothing is written for them.
    Return the index of the first event in the window of the last one.

    values: uint64 or float64 [old + n], ascending in each stream, with a width of the same type; an infinite difference
    exceeds every width. positions: int64 [old + n]. begins: the indices at which another stream begins.
    """
    begin, stream = 0, 0
    for index in range(old, values.size):
        while stream < begins.size and begins[stream] <= index:
            begin, stream = begins[stream], stream + 1
        while values[index] - values[begin] > width:
            begin += 1
        low[index - old] = positions[begin]
    return begin


@part
def _union(l, r, nodes, tree):  # type: ignore[no-untyped-def]
    tree[nodes].event = -1
    tree[nodes].latest = tree[l].latest
    tree[nodes].left = l
    tree[nodes].right = r
    return nodes + 1


@part
def _whole(flat, row, nodes, tree):  # type: ignore[no-untyped-def]
    """Return one safe node for the union of a row's series (ces.merge), and the number of nodes.

    The node is made once, and kept until the series changes.
    """
    if flat[row + WHOLE] == 0:
        last = row + NODES + flat[row + SIZE] - 1
        node = flat[last]
        for x in range(last - 1, row + NODES - 1, -1):
            nodes = _union(flat[x], node, nodes, tree)
            node = nodes - 1
        flat[row + WHOLE] = node
    return flat[row + WHOLE], nodes


@part
def _insert(flat, row, node, nodes, tree):  # type: ignore[no-untyped-def]
    """Add a safe node to a series whose first node is at least as recent; return the number of nodes."""
    x, end = row + NODES + 1, row + NODES + flat[row + SIZE]
    while x < end and tree[flat[x]].latest > tree[node].latest:
        x += 1
    flat[row + WHOLE] = 0
    if x < end and tree[flat[x]].latest == tree[node].latest:
        n1, n2 = flat[x], node
        if tree[n1].right <= 0:
            nodes = _union(n1, n2, nodes, tree)
        elif tree[n2].right <= 0:
            nodes = _union(n2, n1, nodes, tree)
        else:
            r1, r2 = tree[n1].right, tree[n2].right
            if tree[r1].latest < tree[r2].latest:
                r1, r2 = r2, r1
            nodes = _union(r1, r2, nodes, tree)
            nodes = _union(tree[n2].left, nodes - 1, nodes, tree)
            nodes = _union(tree[n1].left, nodes - 1, nodes, tree)
        flat[x] = nodes - 1
        return nodes
    for y in range(end, x, -1):
        flat[y] = flat[y - 1]
    flat[x] = node
    flat[row + SIZE] += 1
    return nodes


@part
def _enter(flat, row, k, s, first, keys):  # type: ignore[no-untyped-def]
    """Add the key to the slot if it is missing there; return the number of new keys."""
    if flat[row + NEXT] != OUT:
        return 0
    flat[row + NEXT], flat[row + SIZE] = first[s], 0
    first[s] = k
    keys[s] += 1
    return 1


@part
def _add_output(flat, row, node, nodes, tree):  # type: ignore[no-untyped-def]
    """Add an output to the series of a row; return the number of nodes."""
    if flat[row + SIZE] == 0:
        flat[row + SIZE], flat[row + WHOLE], flat[row + NODES] = 1, node, node
    elif tree[node].latest <= tree[flat[row + NODES]].latest:
        nodes = _insert(flat, row, node, nodes, tree)
    else:
        flat[row + NODES + 1], nodes = _whole(flat, row, nodes, tree)
        flat[row + SIZE], flat[row + WHOLE], flat[row + NODES] = 2, 0, node
    return nodes


@part
def _empty(rows, s, first, keys):  # type: ignore[no-untyped-def]
    """Remove all keys from a slot."""
    k = first[s]
    while k != END:
        next_ = rows[k, s, NEXT]
        rows[k, s, NEXT] = OUT
        k = next_
    first[s], keys[s] = END, 0


@part
def _pour(rows, s, into, first, keys, nodes, tree):  # type: ignore[no-untyped-def]
    """Add slot s to slot `into`, key by key; return the number of nodes, and the number of keys new in `into`."""
    flat, width, new = rows.reshape(-1), rows.shape[2], 0
    k = first[s]
    while k != END:
        row, other = (k * rows.shape[1] + into) * width, (k * rows.shape[1] + s) * width
        new += _enter(flat, row, k, into, first, keys)
        size = flat[other + SIZE]
        if size > 0:
            rest = 0
            if flat[row + SIZE] > 0 and tree[flat[other + NODES]].latest <= tree[flat[row + NODES]].latest:
                rest, nodes = _whole(flat, other, nodes, tree)
            else:
                if flat[row + SIZE] > 0:
                    rest, nodes = _whole(flat, row, nodes, tree)
                for x in range(SIZE, NODES + size):
                    flat[row + x] = flat[other + x]
            if rest > 0:
                nodes = _insert(flat, row, rest, nodes, tree)
        k = flat[other + NEXT]
    return nodes, new


@part
def _forget(alive, live, slot, rows, first, keys, free, spare):  # type: ignore[no-untyped-def]
    """Empty the slots of all live states, and list these slots as free; return the number of free slots."""
    for a in range(alive):
        s = slot[live[a]]
        _empty(rows, s, first, keys)
        slot[live[a]] = -1
        free[spare] = s
        spare += 1
    return spare


@bare
def update_scoped(  # type: ignore[no-untyped-def]
    classes, numbers, admitted, low, positions, start, skip, begin, marks, finals, ended, moving, busy,
    reports_at_last_event, windowed, consume, counters, scratch, tree, rows, slot, first, keys, roots,
):  # fmt: skip
    """Read events from index start on; stop before an event whose nodes or roots might not fit in the arrays.

    Return the index reached and the number of roots.

    classes: int32 [n], the class c of each event, or -1 - c if a new stream begins with it. numbers: int32 [n], the
    number of its key, or -1. admitted: bool [n], whether a match can contain it. low: int64 [n], the first position in
    its window. positions: int64 [n], its position. skip to busy: see TransitionTables. consume: whether a completed
    set drops all partial matches. roots: int64 [R, 2], a row (position, node) for each completed set of complex events.
    counters: the number of nodes; the state of the run without marks, or -1; the total number of keys in slots; how
    many nodes and roots the next event may need. scratch: five int32 [max(S, 2 × rows of
    marks)]; twice, because a state may belong to the run without marks and to other runs.
    """
    states, width = slot.size, rows.shape[2] - NODES
    flat, row_width = rows.reshape(-1), rows.shape[2]
    nodes, unmarked, members = counters[NODES_MADE], counters[UNMARKED], counters[MEMBERS]
    made, into, live, slot_, free = scratch
    alive, mask, spare, found = 0, np.uint64(0), 0, 0
    for q in range(states):
        free[q] = 0
    for q in range(states):
        if slot[q] >= 0:
            free[slot[q]] = 1
            live[alive] = q
            alive += 1
            mask |= np.uint64(1) << np.uint64(min(q, LAST_BIT))
    for s in range(states):
        if free[s] == 0:
            free[spare] = s
            spare += 1
    origin = np.uint64(0) if unmarked < 0 else np.uint64(1) << np.uint64(min(unmarked, LAST_BIT))
    index = start
    while index < classes.size:
        c, k = classes[index], numbers[index]
        if c < 0:
            spare = _forget(alive, live, slot, rows, first, keys, free, spare)
            alive, members, unmarked, c = 0, 0, 0, -1 - c
            mask, origin = np.uint64(0), np.uint64(1)
        if (mask | origin) & busy[c] == 0:
            index += 1
            continue
        moves = (mask | origin) & moving[c] != 0
        # for each mark the event may need two nodes and the merging of three series; as much for each key that moves
        need, ends = marks.shape[0] * (3 * width + 8), marks.shape[0] * width + finals.size + 1
        if moves:
            for a in range(alive):
                if skip[c, live[a]] != live[a]:
                    need += keys[slot[live[a]]] * (width + 4)
        if not reports_at_last_event:
            ends += members * width
        if nodes + need > tree.size or found + ends > roots.shape[0]:
            # Nothing of this event has been done, so the caller can enlarge the arrays and go on with it.
            counters[NODES_SHORT], counters[ROOTS_SHORT] = need, ends
            break
        position, before, count = positions[index], found, 0
        if k >= 0 and admitted[index]:
            bound, source, child = low[index], -1, -1
            for t in range(begin[c], begin[c + 1]):
                p = marks[t, 0]
                if p != source:
                    source, child = p, -1
                    if slot[p] >= 0:
                        row = (k * states + slot[p]) * row_width
                        if flat[row + NEXT] != OUT and flat[row + SIZE] > 0:
                            if tree[flat[row + NODES]].latest >= bound:
                                child, nodes = _whole(flat, row, nodes, tree)
                            elif reports_at_last_event:
                                flat[row + SIZE] = 0
                # Way 0 extends the runs with marks, way 1 the run without: a state may have both.
                for way in range(2):
                    node = child if way == 0 else 0
                    if node < 0 or (way == 1 and p != unmarked):
                        continue
                    tree[nodes].event = position
                    tree[nodes].left, tree[nodes].right = node, -marks[t, 1]
                    tree[nodes].latest = position if node == 0 else tree[node].latest
                    tree[nodes].floor = bound
                    # Put into its state only after the skips have moved the slots: both start from the states before
                    # the event.
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
            members += _enter(flat, row, k, slot[q], first, keys)
            if reports_at_last_event and flat[row + SIZE] > 0 and tree[flat[row + NODES]].latest < low[index]:
                flat[row + SIZE] = 0  # too old for every match to come
            nodes = _add_output(flat, row, made[m], nodes, tree)
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
            spare = _forget(alive, live, slot, rows, first, keys, free, spare)
            alive, members, unmarked = 0, 0, 0
        if moves or count or found > before:
            mask = np.uint64(0)
            for a in range(alive):
                mask |= np.uint64(1) << np.uint64(min(live[a], LAST_BIT))
            origin = np.uint64(0) if unmarked < 0 else np.uint64(1) << np.uint64(min(unmarked, LAST_BIT))
        index += 1
    counters[NODES_MADE], counters[UNMARKED], counters[MEMBERS] = nodes, unmarked, members
    return index, found


# ---------------------------------------------------------------------------------------------------------------------
# Loops over the same arrays: compaction, and the check of a saved state.


@compiled
def compact_scoped(tree, rows, slot, first, keys, used, counters, bound):  # type: ignore[no-untyped-def]
    """Remove all complex events that begin before the bound, and close the gaps.

    Children come before their parents, so one pass down finds the live nodes and one pass up moves them. A union
    without its right child becomes its left child. used: bool [K], set to whether a key has any nodes left.
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
    """Return how many keys all slots have together; -1 if the saved arrays are invalid."""
    members, outside = 0, 0
    taken = np.zeros(slot.size, np.bool_)
    for q in range(slot.size):
        if slot[q] >= 0:
            if taken[slot[q]]:
                return -1
            taken[slot[q]] = True
    for s in range(slot.size):
        k, count = first[s], 0
        # The bound ends the loop for a damaged list that leads back into itself.
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
