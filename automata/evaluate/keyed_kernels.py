"""Evaluate under PER KEY in compiled loops over flat arrays: one automaton reads the stream of each key.

evaluate/jit.py says why the loops are long and have a parameter for each array. The readable twin is
streaming.KeyedEvaluation. The nodes are those of scoped_kernels.py. There a skipped event moves the runs of all keys,
so all keys of a state share one slot. Here an event moves only the runs of its own key, so each key has a row for each
state, and no slots are needed. With K keys and S states:

    rows    int32 [K, S, 3 + W]  as in scoped_kernels; of the first three entries only size and whole are used
    home    int64 [K, 3]         for each key: the stream to which its rows belong (STREAM); the state of its run that
                                 has marked nothing, or -1 (ORIGIN); a mask of the states that have a series (STATES)

Rows that do not belong to the current stream count as empty. So they need not be cleared when a new stream begins or
when a number is given to another key.
"""

from __future__ import annotations

import numpy as np

from cerify.automata.evaluate.jit import bare, compiled, part
from cerify.automata.evaluate.scope_columns import NO_KEY, UNEQUAL
from cerify.automata.evaluate.scoped_kernels import LAST_BIT, NODES, SIZE, WHOLE, _add_output, _insert, _whole

STREAM, ORIGIN, STATES, HOME = range(4)
COUNT, LATE = 1, 2  # instead of ORIGIN, the number of events; instead of STATES, how many of them no match can contain
NODES_MADE, STREAMS, NODES_SHORT, ROOTS_SHORT, COUNTERS = range(5)


@part
def _merge(flat, row, beside, other, nodes, tree):  # type: ignore[no-untyped-def]
    """Add the series of a row of `beside` to a row of `flat`; return the number of nodes."""
    size, rest = beside[other + SIZE], 0
    if flat[row + SIZE] > 0 and tree[beside[other + NODES]].latest <= tree[flat[row + NODES]].latest:
        rest, nodes = _whole(beside, other, nodes, tree)
    else:
        if flat[row + SIZE] > 0:
            rest, nodes = _whole(flat, row, nodes, tree)
        for x in range(SIZE, NODES + size):
            flat[row + x] = beside[other + x]
    if rest > 0:
        nodes = _insert(flat, row, rest, nodes, tree)
    return nodes


@bare
def update_keyed(  # type: ignore[no-untyped-def]
    classes, numbers, admitted, low, positions, start, skip, begin, marks, finals, ended, moving, busy,
    reports_at_last_event, windowed, consume, counters, made, into, aside, tree, rows, home, roots,
):  # fmt: skip
    """Read events from index start on; stop before an event whose nodes or roots might not fit in the arrays.

    Return the index reached and the number of roots.

    classes: int32 [n], the class c of each event, or -1 - c if a new stream begins with it. numbers: int32 [n], the
    number of its key, or -1 if no key sees it. admitted: bool [n], whether a match can contain it. low: int64 [n], the
    first position in its window. positions: int64 [n], its position. skip to busy: see TransitionTables. consume:
    whether a completed set drops all partial matches. roots: int64 [R, 2], a row (position, node) for each completed
    set of complex events. counters: the number of nodes; the number of the current stream; how many nodes and roots the
    next event may need. Working memory: made, into: int32 [2 × rows of marks]; aside: int32
    [S × (3 + W)].
    """
    states, row_width, width = rows.shape[1], rows.shape[2], rows.shape[2] - NODES
    flat = rows.reshape(-1)
    nodes, stream, found, index = counters[NODES_MADE], counters[STREAMS], 0, start
    while index < classes.size:
        c, k = classes[index], numbers[index]
        if c < 0:
            stream, c = stream + 1, -1 - c
        if k < 0:
            index += 1
            continue
        if home[k, STREAM] != stream:
            home[k, STREAM], home[k, ORIGIN], home[k, STATES] = stream, 0, 0
            for q in range(states):
                flat[(k * states + q) * row_width + SIZE] = 0
        unmarked, mask = home[k, ORIGIN], np.uint64(home[k, STATES])
        origin = np.uint64(0) if unmarked < 0 else np.uint64(1) << np.uint64(min(unmarked, LAST_BIT))
        if (mask | origin) & busy[c] == 0:
            index += 1
            continue
        need, ends = marks.shape[0] * (3 * width + 8) + states * (2 * width + 8), finals.size * width + 1
        if nodes + need > tree.size or found + ends > roots.shape[0]:
            counters[NODES_SHORT], counters[ROOTS_SHORT] = need, ends
            if classes[index] < 0:
                stream -= 1  # it is read again
            break
        position, before, count, bound, first = positions[index], found, 0, low[index], k * states * row_width
        if admitted[index]:
            source, child = -1, -1
            for t in range(begin[c], begin[c + 1]):
                p = marks[t, 0]
                if p != source:
                    source, child = p, -1
                    row = first + p * row_width
                    if flat[row + SIZE] > 0:
                        if tree[flat[row + NODES]].latest >= bound:
                            child, nodes = _whole(flat, row, nodes, tree)
                        elif reports_at_last_event:
                            flat[row + SIZE] = 0
                for way in range(2):
                    node = child if way == 0 else 0
                    if node < 0 or (way == 1 and p != unmarked):
                        continue
                    tree[nodes].event = position
                    tree[nodes].left, tree[nodes].right = node, -marks[t, 1]
                    tree[nodes].latest = position if node == 0 else tree[node].latest
                    tree[nodes].floor = bound
                    made[count], into[count] = nodes, marks[t, 2]
                    nodes += 1
                    count += 1
        if (mask | origin) & moving[c] != 0:
            # All series that leave are put aside first, because one may enter a state that another is still to leave.
            leaving = 0
            for p in range(states):
                row = first + p * row_width
                if flat[row + SIZE] > 0 and skip[c, p] != p:
                    if skip[c, p] >= 0:
                        other = leaving * row_width
                        aside[other] = skip[c, p]
                        for x in range(SIZE, NODES + flat[row + SIZE]):
                            aside[other + x] = flat[row + x]
                        leaving += 1
                    flat[row + SIZE] = 0
            for a in range(leaving):
                other = a * row_width
                nodes = _merge(flat, first + aside[other] * row_width, aside, other, nodes, tree)
            if unmarked >= 0:
                unmarked = skip[c, unmarked]
        for m in range(count):
            row = first + into[m] * row_width
            if reports_at_last_event and flat[row + SIZE] > 0 and tree[flat[row + NODES]].latest < bound:
                flat[row + SIZE] = 0  # too old for every match to come
            nodes = _add_output(flat, row, made[m], nodes, tree)
        for f in range(finals.size):
            row = first + finals[f] * row_width
            for x in range(flat[row + SIZE]):
                roots[found, 0], roots[found, 1] = position, flat[row + NODES + x]
                found += 1
            if ended[finals[f]]:
                flat[row + SIZE] = 0
            if finals[f] == unmarked and not windowed:
                roots[found, 0], roots[found, 1] = position, 0
                found += 1
        mask = np.uint64(0)
        for q in range(states):
            if flat[first + q * row_width + SIZE] > 0:
                mask |= np.uint64(1) << np.uint64(min(q, LAST_BIT))
        home[k, ORIGIN], home[k, STATES] = unmarked, np.int64(mask)
        if consume and found > before:
            stream += 1
        index += 1
    counters[NODES_MADE], counters[STREAMS] = nodes, stream
    return index, found


@compiled
def compact_keyed(tree, rows, home, used, counters, bound):  # type: ignore[no-untyped-def]
    """Remove all complex events that begin before the bound, and close the gaps; like scoped_kernels.compact_scoped.

    used: bool [K], set for each key that has partial matches left, or whose run without marks has left state 0.
    """
    nodes, stream = counters[NODES_MADE], counters[STREAMS]
    alive = np.zeros(nodes, np.bool_)
    for k in range(used.size):
        used[k] = False
        if home[k, STREAM] != stream:
            continue
        mask = np.uint64(0)
        for q in range(rows.shape[1]):
            size = rows[k, q, SIZE]
            while size > 0 and tree[rows[k, q, NODES + size - 1]].latest < bound:
                size -= 1
            rows[k, q, SIZE], rows[k, q, WHOLE] = size, 0
            for x in range(size):
                alive[rows[k, q, NODES + x]] = True
            if size > 0:
                mask |= np.uint64(1) << np.uint64(min(q, LAST_BIT))
        home[k, STATES] = np.int64(mask)
        used[k] = mask != 0 or home[k, ORIGIN] != 0
        if not used[k]:
            home[k, STREAM] = -1
    for n in range(nodes - 1, 0, -1):
        if alive[n]:
            alive[tree[n].left] = True
            if tree[n].right > 0 and tree[tree[n].right].latest >= bound:
                alive[tree[n].right] = True
    moved = np.zeros(nodes, np.int32)
    kept = 1
    for n in range(1, nodes):
        if alive[n]:
            if tree[n].right > 0 and not alive[tree[n].right]:
                moved[n] = moved[tree[n].left]
                continue
            moved[n] = kept
            tree[kept].event, tree[kept].floor = tree[n].event, tree[n].floor
            tree[kept].latest = tree[n].latest
            tree[kept].left = moved[tree[n].left]
            tree[kept].right = moved[tree[n].right] if tree[n].right > 0 else tree[n].right
            kept += 1
    for k in range(used.size):
        if home[k, STREAM] == stream:
            for q in range(rows.shape[1]):
                for x in range(NODES, NODES + rows[k, q, SIZE]):
                    rows[k, q, x] = moved[rows[k, q, x]]
    counters[NODES_MADE] = kept


@compiled
def rows_fit(rows, home, stream, nodes):  # type: ignore[no-untyped-def]
    """Return whether saved arrays are valid: whether the functions above could have written these rows and `home`."""
    for k in range(rows.shape[0]):
        if home[k, STREAM] > stream or home[k, ORIGIN] < -1 or home[k, ORIGIN] >= rows.shape[1]:
            return False
        if home[k, STREAM] != stream:
            continue
        mask = np.uint64(0)
        for q in range(rows.shape[1]):
            size = rows[k, q, SIZE]
            if size < 0 or size > rows.shape[2] - NODES or rows[k, q, WHOLE] < 0 or rows[k, q, WHOLE] >= nodes:
                return False
            for x in range(NODES, NODES + size):
                if rows[k, q, x] <= 0 or rows[k, q, x] >= nodes:
                    return False
            if size > 0:
                mask |= np.uint64(1) << np.uint64(min(q, LAST_BIT))
        if np.uint64(home[k, STATES]) != mask:
            return False
    return True


@bare
def last_of_chain(  # type: ignore[no-untyped-def]
    classes, numbers, admitted, low, positions, start, taken, consume, counters, rows, home, roots, events
):
    """Read events from index `start` on, for LAST of n events of one kind; stop when `roots` is full.

    Return the index reached and the number of roots.

    The greatest match at an event of the kind consists of the last n such events of its key, so only their positions
    are kept. classes to low: see update_keyed. taken: bool [classes], whether events of the class are of the kind.
    counters: STREAMS is the number of the current stream. rows: int64 [K, n], the kept positions; the x-th event of a
    key stands at x modulo n. home: int64 [K, 2]: for each key the stream to which its rows belong, and the number of
    events of the kind so far. roots: int64 [R, 2], a row (position, number of the match) for each match. events: int64
    [R × n], the positions of all matches, or empty if matches are only counted.
    """
    n, stream, found, index = rows.shape[1], counters[STREAMS], 0, start
    flat = rows.reshape(-1)
    while index < classes.size and found < roots.shape[0]:
        c, k = classes[index], numbers[index]
        if c < 0:
            stream, c = stream + 1, -1 - c
        if k >= 0 and taken[c]:
            # An event of the kind that no match can contain would belong to the greatest match, so none reaches across
            # it.
            if home[k, STREAM] != stream or not admitted[index]:
                home[k, STREAM], home[k, COUNT] = stream, 0
            if admitted[index]:
                count, place = home[k, COUNT] + 1, k * n + home[k, COUNT] % n
                flat[place], home[k, COUNT] = positions[index], count
                counters[NODES_MADE] += 1
                first = k * n + count % n  # the oldest, which is overwritten next
                if count >= n and flat[first] >= low[index]:
                    roots[found, 0], roots[found, 1] = positions[index], found
                    if events.size > 0:
                        for x in range(n):
                            events[found * n + x] = flat[k * n + (count + x) % n]
                    found += 1
                    if consume:
                        stream += 1
        index += 1
    counters[STREAMS] = stream
    return index, found


@bare
def newest_values(  # type: ignore[no-untyped-def]
    classes, numbers, values, admitted, low, positions, start, taken, consume, counters, rows, names, kinds, home,
    roots, events, labels,
):  # fmt: skip
    """Read events from index start on, for LAST of n events of one kind with different values; stop when `roots` is
    full.

    Return the index reached and the number of roots.

    The greatest match consists of the newest event of each of the n values that occurred last in the key. These events
    are kept in any order: a new event replaces the one with its value, which is found by trying all; if there is none
    and n are kept, it replaces the oldest. values: int32, for each event the number of its value, NO_KEY if it has
    none, or UNEQUAL. rows: int64 [K, n], twice the position of each kept event, plus one if no match can contain the
    event. names, kinds: int32 [K, n], the number of its value, and its class. home: int64 [K, 3]: STREAM, COUNT, LATE.
    events, labels: [R × n], the events of each match in any order, and their classes; or empty. Other parameters: see
    last_of_chain.
    """
    n, stream, found, index = rows.shape[1], counters[STREAMS], 0, start
    flat, known, classed = rows.reshape(-1), names.reshape(-1), kinds.reshape(-1)
    while index < classes.size and found < roots.shape[0]:
        c, k, value = classes[index], numbers[index], values[index]
        if c < 0:
            stream, c = stream + 1, -1 - c
        if k >= 0 and value != NO_KEY and taken[c]:
            if home[k, STREAM] != stream:
                home[k, STREAM], home[k, COUNT], home[k, LATE] = stream, 0, 0
            first, count = k * n, home[k, COUNT]
            place = count
            if value != UNEQUAL:
                for x in range(count):
                    if known[first + x] == value:
                        place = x
            if place == n:
                oldest = flat[first]
                for x in range(1, n):
                    oldest = min(oldest, flat[first + x])
                for x in range(n):
                    if flat[first + x] == oldest:
                        place = x
            if place < count:
                home[k, LATE] -= flat[first + place] & 1
            else:
                home[k, COUNT] = count + 1
            late = 0 if admitted[index] else 1
            flat[first + place] = 2 * positions[index] + late
            known[first + place], classed[first + place] = value, c
            home[k, LATE] += late
            counters[NODES_MADE] += 1
            if home[k, COUNT] == n and home[k, LATE] == 0:
                oldest = flat[first]
                for x in range(1, n):
                    oldest = min(oldest, flat[first + x])
                if oldest >= 2 * low[index]:
                    roots[found, 0], roots[found, 1] = positions[index], found
                    if events.size > 0:
                        for x in range(n):
                            events[found * n + x] = flat[first + x] >> 1
                            labels[found * n + x] = classed[first + x]
                    found += 1
                    if consume:
                        stream += 1
        index += 1
    counters[STREAMS] = stream
    return index, found


@bare
def first_of_runs(  # type: ignore[no-untyped-def]
    classes, numbers, admitted, low, positions, start, members, places, consume, counters, rows, home, roots, events
):
    """Read events from index start on, for NXT of runs such as A{3} ; B; stop when `roots` is full.

    Return the index reached and the number of roots.

    In the greatest match, each event except the last is the earliest that fits, whatever comes later. So each key keeps
    these events, and then any event of the last run completes a match. members: see last_of_runs. places: int64 [n],
    the run of each event of a match. rows: int64 [K, n], the kept positions. home: int64 [K, 3]: STREAM, COUNT, LATE
    (the number of kept events that no match can contain). Other parameters: see last_of_chain.
    """
    n, stream, found, index = rows.shape[1], counters[STREAMS], 0, start
    flat = rows.reshape(-1)
    while index < classes.size and found < roots.shape[0]:
        c, k, position = classes[index], numbers[index], positions[index]
        if c < 0:
            stream, c = stream + 1, -1 - c
        if k >= 0 and members[c] != 0:
            if home[k, STREAM] != stream:
                home[k, STREAM], home[k, COUNT], home[k, LATE] = stream, 0, 0
            count = home[k, COUNT]
            if members[c] >> np.uint64(places[count]) & np.uint64(1) != 0:
                if count < n - 1:
                    flat[k * n + count], home[k, COUNT] = position, count + 1
                    counters[NODES_MADE] += 1
                    if not admitted[index]:
                        home[k, LATE] += 1
                elif admitted[index] and home[k, LATE] == 0 and (n == 1 or flat[k * n] >= low[index]):
                    roots[found, 0], roots[found, 1] = position, found
                    if events.size > 0:
                        for x in range(n - 1):
                            events[found * n + x] = flat[k * n + x]
                        events[found * n + n - 1] = position
                    found += 1
                    if consume:
                        stream += 1
        index += 1
    counters[STREAMS] = stream
    return index, found


EVENT, BEFORE, BASE, FIRST, FIRST_OF_BASE, RUN_NODE = range(6)  # the rows of the tree of last_of_runs
KEPT_FROM = 2  # of counters: the number of the first node that is kept


@bare
def last_of_runs(  # type: ignore[no-untyped-def]
    classes, numbers, admitted, low, positions, start, members, lengths, begins, consume, counters, tree, ring, taken,
    home, roots,
):  # fmt: skip
    """Read events from index start on, for LAST of runs such as A{3} ; B; stop when `roots` or `tree` is full.

    Return the index reached and the number of roots.

    The greatest match is found from its end: the newest events that fit the last run, then the newest earlier events
    that fit the run before it, and so on. So an event becomes a node for each run in which it can stand. A node links
    to the node before it in the same run (BEFORE), and to the last node of the run before if its run could begin with
    it (BASE). classes to low: see update_keyed. members: uint64 [classes], the runs in which an event can stand, as
    bits. lengths, begins: int64 [runs], the number of events of each run, and where its nodes begin in a row of `ring`.
    counters: NODES_MADE, STREAMS, KEPT_FROM. tree: int64 [RUN_NODE, .]; FIRST is the first position of the greatest
    match of the runs up to this one that ends with the node, or -1. ring: int64 [K, n], the last nodes of each run; the
    x-th node of a run stands at x modulo its length. taken: int64 [K, runs], the number of nodes so far. home: int64
    [K, 2]: for each key the stream to which its rows belong, and the position of its newest node. roots: int64 [R, 2],
    a row (position, last node) for each match; list_runs lists the events of the matches.
    """
    runs, stream, found, index = lengths.size, counters[STREAMS], 0, start
    nodes, kept = counters[NODES_MADE], counters[KEPT_FROM]
    while index < classes.size and found < roots.shape[0] and nodes - kept + runs <= tree.shape[1]:
        c, k, position = classes[index], numbers[index], positions[index]
        if c < 0:
            stream, c = stream + 1, -1 - c
        if k >= 0 and members[c] != 0:
            if home[k, STREAM] != stream:
                home[k, STREAM] = stream
                for g in range(runs):
                    taken[k, g] = 0
            complete = -1
            # The last run first: an event that fits two runs must not become its own predecessor.
            for g in range(runs - 1, -1, -1):
                if members[c] >> np.uint64(g) & np.uint64(1) == 0:
                    continue
                if not admitted[index]:
                    taken[k, g] = 0
                    continue
                before, count, length = -1, taken[k, g], lengths[g]
                if g > 0 and taken[k, g - 1] >= lengths[g - 1]:
                    before = ring[k, begins[g - 1] + (taken[k, g - 1] - 1) % lengths[g - 1]]
                    if before < kept or tree[FIRST, before - kept] < 0:
                        before = -1
                if g > 0 and before < 0 and count == 0:
                    continue
                row = nodes - kept
                tree[EVENT, row], tree[BASE, row], tree[FIRST, row] = position, before, -1
                tree[BEFORE, row] = ring[k, begins[g] + (count - 1) % length] if count > 0 else -1
                tree[FIRST_OF_BASE, row] = tree[FIRST, before - kept] if before >= 0 else -1
                ring[k, begins[g] + count % length] = nodes
                taken[k, g], home[k, COUNT] = count + 1, position
                if count + 1 >= length:
                    oldest = ring[k, begins[g] + (count + 1) % length]
                    if oldest >= kept:
                        tree[FIRST, row] = tree[EVENT if g == 0 else FIRST_OF_BASE, oldest - kept]
                if g == runs - 1 and tree[FIRST, row] >= low[index]:
                    complete = nodes
                nodes += 1
            if complete >= 0:
                roots[found, 0], roots[found, 1] = position, complete
                found += 1
                if consume:
                    stream += 1
        index += 1
    counters[STREAMS], counters[NODES_MADE] = stream, nodes
    return index, found


@bare
def list_runs(roots, lengths, kept, tree, events):  # type: ignore[no-untyped-def]
    """Write the positions of the matches that last_of_runs has found into the rows of events, int64 [R, n].

    roots: as last_of_runs returns them. lengths: the number of events of each run. kept: the number of the first node
    that the tree still has, because earlier nodes have been removed.
    """
    for r in range(roots.shape[0]):
        x, node = events.shape[1] - 1, roots[r, 1] - kept
        for g in range(lengths.size - 1, -1, -1):
            last = node
            for _ in range(lengths[g]):
                if node < 0:
                    break
                events[r, x] = tree[EVENT, node]
                x, last, node = x - 1, node, tree[BEFORE, node] - kept
            node = tree[BASE, last] - kept if last >= 0 else -1
