"""Evaluation of complex event automata in compiled loops over flat arrays: the only module that knows numba.

The readable twins are streaming.Evaluation (update) and ces.CompactComplexEventSet (the data structure, enumerate); the
names are theirs. Arrays, with N nodes, node 0 the terminator:

    event  int32 [N]  the position of a node            label  int16 [N]  how it is marked: an index into Tables.labels
    first, last  int32 [N]  the list of its children    next   int32 [N]  its successor in the list it is in, or -1
    head, tail   int32 [states]  the list of a state    active int32 [states]  the states that have one, in order
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Nodes = tuple[Ints, NDArray[np.int16], Ints, Ints, Ints]

compiled: Any = njit(cache=True, nogil=True)


@compiled
def update(  # type: ignore[no-untyped-def]
    classes, start, step, final, event, label, first, last, next_, nodes, active, head, tail, actives, roots, found
):
    """Read events from position start on; stop where the nodes or the roots might not hold what an event adds.

    classes: int32 [n]. roots: int32 [R, 3], a row (position, first, last) for each list of complex events completed.
    Returns the position reached, the number of nodes, of active states, and of roots. The tables step and final are
    those of Tables.
    """
    states, _, labels = step.shape
    stamp = np.full(states, -1, np.int32)
    head_, tail_ = np.empty(states, np.int32), np.empty(states, np.int32)
    active_ = np.empty(states, np.int32)
    room = states * labels
    for i in range(start, classes.size):
        if nodes + room > event.size or found + states > roots.shape[0]:
            return i, nodes, actives, found
        c = classes[i]
        count = 0
        for a in range(actives):
            p = active[a]
            for l in range(labels - 1, -1, -1):
                q = step[p, c, l]
                if q < 0:
                    continue
                if l > 0:
                    event[nodes] = i
                    label[nodes] = l
                    first[nodes] = head[p]
                    last[nodes] = tail[p]
                    next_[nodes] = -1
                    begin, end = nodes, nodes
                    nodes += 1
                else:
                    begin, end = head[p], tail[p]
                if stamp[q] == i:
                    next_[tail_[q]] = begin
                    tail_[q] = end
                else:
                    stamp[q] = i
                    head_[q] = begin
                    tail_[q] = end
                    active_[count] = q
                    count += 1
        for a in range(count):
            q = active_[a]
            active[a] = q
            head[q] = head_[q]
            tail[q] = tail_[q]
            if final[q]:
                roots[found, 0] = i
                roots[found, 1] = head[q]
                roots[found, 2] = tail[q]
                found += 1
        actives = count
    return classes.size, nodes, actives, found


@compiled
def enumerate_(root, first, last, next_, path, pending, depths, lengths, out, limit):  # type: ignore[no-untyped-def]
    """Write the complex events of one list, each as its nodes from the latest position to the first (Algorithm 1).

    root: (first, last) of the list. path, pending, depths: the state of the walk; path[0] is its length, depths[0] the
    height of the stack pending of pairs (node, last). lengths: int32 [limit], the length of each event written. out:
    int32 [.], the nodes written one after another. Returns how many events and how many nodes were written; the walk is
    over when the stack is empty, and goes on with the next call if it is not.
    """
    if root[0] >= 0:
        pending[0, 0], pending[0, 1], depths[1], depths[0] = root[0], root[1], 0, 1
    events, written, length = 0, 0, path[0]
    height = depths[0]
    while height > 0 and events < limit:
        node, end, depth = pending[height - 1, 0], pending[height - 1, 1], depths[height]
        if written + depth + 1 > out.size or height + 2 > pending.shape[0] or depth + 2 > path.size:
            break
        height -= 1
        length = depth
        if node != end:
            pending[height, 0], pending[height, 1] = next_[node], end
            height += 1
            depths[height] = depth
        if node == 0:
            for k in range(length):
                out[written + k] = path[1 + k]
            written += length
            lengths[events] = length
            events += 1
        else:
            length += 1
            path[length] = node
            pending[height, 0], pending[height, 1] = first[node], last[node]
            height += 1
            depths[height] = length
    path[0], depths[0] = length, height
    return events, written
