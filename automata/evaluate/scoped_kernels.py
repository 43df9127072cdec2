"""Evaluation under windows and partitions in compiled loops over flat arrays.

The readable twins are scoped.ScopedEvaluation (update) and ces_window (the data structure, enumeration). Positions are
64-bit, as a stream may never end. tree [N] holds the nodes, node 0 the terminator, as records, so that what is used
together lies together:

    event  int64  the position of an output    label  int16  its marks; 0 for a union
    left, right  int32  of a union; the child of an output is its left
    latest int64  the latest first position    floor  int64  how far back an output's window reaches

and with K keys, S states and rows of S + 2 nodes:

    series int32 [K, S, S + 2]    sizes  int32 [K, S]  the series of a state, and how many nodes it has
    active int32 [K, S]           actives int32 [K]    the states that have one
    seen   int64 [K]  the position up to which a key's series are right: what skips leave is made up for later
"""

from __future__ import annotations

import numpy as np

from cerify.automata.evaluate.kernels import compiled


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
def update_scoped(  # type: ignore[no-untyped-def]
    classes, keys, marks, low, base, start, step, idle, final, punctual, windowed, consume, unmarked, restart,
    tree, nodes, series, sizes, active, actives, seen, roots, found,
):  # fmt: skip
    """Read events from index start on; stop where the nodes or the roots might not hold what an event adds.

    classes, keys int32, marks bool, low int64 [n]: of each event its class, its key or -1, whether a match can have it,
    and how far back it reaches; base is the position of the first. idle: bool [S, C], whether a state that is not final
    only loops on a class, unmarked. unmarked: the state of the run that has marked nothing, or -1. restart: what was
    seen before this position is forgotten. roots: int64 [R, 2], a row (position, node) for each set of complex events
    completed. With consume a position with one forgets all partial matches. series comes flat.
    Returns the index reached, the number of nodes and of roots, unmarked and restart.
    """
    states, _, labels = step.shape
    width = states + 2
    series_ = np.empty((states + 1) * width, np.int32)
    single = states * width  # where a series of one node is put
    sizes_, active_ = np.zeros(states, np.int32), np.empty(states, np.int32)
    room = (states + 1) * (labels + 2) * (width + 4)
    for i in range(start, classes.size):
        if nodes + room > tree.size or found + states * width + 1 > roots.shape[0]:
            return i, nodes, found, unmarked, restart
        position, c, k = base + i, classes[i], keys[i]
        before = found
        if k >= 0:
            if seen[k] < restart:
                actives[k] = 0
            behind = False  # whether skips left out would have changed something; any skip is as good as those
            if seen[k] < position - 1:
                for a in range(actives[k]):
                    behind |= step[active[k, a], c, 0] != active[k, a]
            quiet = not behind and (unmarked < 0 or idle[unmarked, c])
            if quiet:
                for a in range(actives[k]):
                    if not idle[active[k, a], c]:
                        quiet = False
                        break
            if quiet:
                seen[k] = position
                continue
            count = 0
            rows = k * states * width
            if behind:
                for a in range(actives[k]):
                    p = active[k, a]
                    q = step[p, c, 0]
                    if q < 0:
                        continue
                    if sizes_[q] == 0:
                        sizes_[q] = sizes[k, p]
                        for x in range(sizes[k, p]):
                            series_[q * width + x] = series[rows + p * width + x]
                        active_[count] = q
                        count += 1
                    else:
                        sizes_[q], nodes = _add(
                            series_, q * width, sizes_[q], series, rows + p * width, sizes[k, p],
                            nodes, tree,
                        )  # fmt: skip
                for a in range(count):
                    q = active_[a]
                    active[k, a] = q
                    sizes[k, q] = sizes_[q]
                    for x in range(sizes_[q]):
                        series[rows + q * width + x] = series_[q * width + x]
                    sizes_[q] = 0
                actives[k] = count
                count = 0
            bound = low[i]
            for a in range(-1, actives[k]):
                p, size, child = unmarked, 1, 0
                if a >= 0:
                    p = active[k, a]
                    size, child = sizes[k, p], -1
                    row = rows + p * width
                    while punctual and size > 0 and tree[series[row + size - 1]].latest < bound:
                        size -= 1
                elif p < 0:
                    continue
                if size == 0:
                    continue
                for l in range(0 if a >= 0 else 1, labels):
                    q = step[p, c, l]
                    if q < 0:
                        continue
                    begin, number = q * width, sizes_[q]
                    if number == 0:
                        active_[count] = q
                        count += 1
                    if l > 0:
                        if not marks[i] or (a >= 0 and tree[series[row]].latest < bound):
                            count -= number == 0
                            continue
                        if child < 0:
                            child, nodes = _merge(series, row, size, nodes, tree)
                        tree[nodes].event, tree[nodes].label = position, l
                        tree[nodes].left, tree[nodes].right = child, -1
                        tree[nodes].latest = position if child == 0 else tree[child].latest
                        tree[nodes].floor = bound
                        nodes += 1
                        if number == 0:
                            series_[begin] = nodes - 1
                            sizes_[q] = 1
                        else:
                            series_[single] = nodes - 1
                            sizes_[q], nodes = _add(series_, begin, number, series_, single, 1, nodes, tree)
                    elif number == 0:
                        for x in range(size):
                            series_[begin + x] = series[row + x]
                        sizes_[q] = size
                    else:
                        sizes_[q], nodes = _add(series_, begin, number, series, row, size, nodes, tree)
            for a in range(count):
                q = active_[a]
                active[k, a] = q
                size = sizes_[q]
                sizes[k, q] = size
                sizes_[q] = 0
                for x in range(size):
                    series[rows + q * width + x] = series_[q * width + x]
                    if final[q]:
                        roots[found, 0] = position
                        roots[found, 1] = series_[q * width + x]
                        found += 1
            actives[k] = count
            seen[k] = position
        if unmarked >= 0:
            unmarked = step[unmarked, c, 0]
            if unmarked >= 0 and final[unmarked] and not windowed:
                roots[found, 0] = position
                roots[found, 1] = 0
                found += 1
        if consume and found > before:
            unmarked, restart = 0, position + 1
    return classes.size, nodes, found, unmarked, restart


@compiled
def compact(  # type: ignore[no-untyped-def]
    tree, nodes, series, sizes, active, actives, seen, restart, bound
):
    """Let go of all complex events that begin before bound, and close the gaps; returns the number of nodes left.

    Children come before their parents, so that one way down finds what is alive and one way up moves it. A union whose
    right is gone is its left.
    """
    alive = np.zeros(nodes, np.bool_)
    for k in range(actives.size):
        count = 0
        for a in range(actives[k] if seen[k] >= restart else 0):
            q = active[k, a]
            size = sizes[k, q]
            while size > 0 and tree[series[k, q, size - 1]].latest < bound:
                size -= 1
            if size > 0:
                sizes[k, q] = size
                active[k, count] = q
                count += 1
            for x in range(size):
                alive[series[k, q, x]] = True
        actives[k] = count
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
    for k in range(actives.size):
        for a in range(actives[k]):
            q = active[k, a]
            for x in range(sizes[k, q]):
                series[k, q, x] = moved[series[k, q, x]]
    return kept


@compiled
def enumerate_scoped(  # type: ignore[no-untyped-def]
    roots, r, tree, path, pending, depths, walk, at, lengths, out
):
    """Write the complex events of the roots from r on, each as its nodes from the first position to the latest.

    walk: int64 [3], the length of the path, the height of the stack pending with its depths, and the bound of the
    complex event that is under way. at, lengths: int64 [M], the position and the length of each event written; out:
    int32 [.], their nodes. Returns the root reached, how many events and how many nodes were written; it is over when
    the root is the last and the stack is empty, and goes on with the next call otherwise.
    """
    events, written = 0, 0
    length, height, bound = walk[0], walk[1], walk[2]
    while events < at.size:
        if height == 0:
            r += 1
            if r >= roots.shape[0]:
                break
            pending[0], depths[0], height = roots[r, 1], 0, 1
        node, depth = pending[height - 1], depths[height - 1]
        if written + depth > out.size or height + 2 > pending.size or depth + 2 > path.size:
            break
        height -= 1
        length = depth
        if node == 0:
            for x in range(length):
                out[written + x] = path[length - 1 - x]
            at[events] = roots[r, 0]
            lengths[events] = length
            written += length
            events += 1
        elif tree[node].label > 0:
            if length == 0:
                bound = tree[node].floor
            path[length] = node
            length += 1
            pending[height], depths[height] = tree[node].left, length
            height += 1
        else:
            if length == 0 or tree[tree[node].right].latest >= bound:
                pending[height], depths[height] = tree[node].right, depth
                height += 1
            pending[height], depths[height] = tree[node].left, depth
            height += 1
    walk[0], walk[1], walk[2] = length, height, bound
    return r, events, written
