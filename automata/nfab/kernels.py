"""The runs of a SASE+ query in compiled loops over flat arrays; the readable twin is evaluate.BlockRunner.

The loops are long, and have a parameter for each array, for the reason that automata/evaluate/jit.py gives.

Arrays, with n events, D columns that conditions read, P states, C registers:

    bits    int64 [n]          bit s is set if the event has the type and passes the conditions on one event of state s
    keys    int32 [n]          the partition of each event, 0 if it has one of its own
    times   float64 [n]        the times, where there is a window
    data    float64 [n, 2 D]   the columns, each with a column that is 0 where there is no value
    plan    int32 [.]          the query, and work float64 [.] a stack and constants: see opcodes.py
    initial float64 [2 C + 1]  the registers of a new run
    numbers int64 [10]         counters that live from batch to batch, see opcodes.py
    head    int32 [keys, 2]    the first run of each partition, and how many it has
    runs    int32 [R, 3]       the next run of the partition, the state, the last node; those not used are linked too
    registers float64 [R, 2 C + 1]  the time of the first event of a run; its registers, each with 0 if it is empty
    nodes   int64 [N, 5]       the node before, position, component, how many there are, when a run last waited with it
    queue_times float64, queue_keys int32   the runs that began, by time, to be looked at when their window is over
    pending int64 [.]          the last nodes of matches to be written
Nodes that no run needs are deleted when there is no room; the order of the others does not change.
"""

from __future__ import annotations

import numpy as np

from cerify.automata.evaluate.jit import bare, compiled
from cerify.automata.nfab import opcodes as op
from cerify.automata.nfab.move_kernels import add, look, matched, released, select


@compiled
def clear(nodes, runs, head, pending, numbers):  # type: ignore[no-untyped-def]
    """Delete the nodes that neither a run nor a match still to be written needs."""
    needed = np.zeros(numbers[op.NODES], np.uint8)
    for at in range(numbers[op.PENDING]):
        node = pending[at]
        while node >= 0 and not needed[node]:
            needed[node] = 1
            node = nodes[node, 0]
    for key in range(head.shape[0]):
        run = head[key, 0]
        while run >= 0:
            node = runs[run, 2]
            while node >= 0 and not needed[node]:
                needed[node] = 1
                node = nodes[node, 0]
            run = runs[run, 0]
    moved = np.empty(numbers[op.NODES], np.int64)
    kept = 0
    for node in range(numbers[op.NODES]):
        if needed[node]:
            moved[node] = kept
            for column in range(nodes.shape[1]):  # `nodes[kept] = nodes[node]` takes seconds longer to compile
                nodes[kept, column] = nodes[node, column]
            if nodes[kept, 0] >= 0:
                nodes[kept, 0] = moved[nodes[kept, 0]]
            kept += 1
    for key in range(head.shape[0]):
        run = head[key, 0]
        while run >= 0:
            runs[run, 2] = moved[runs[run, 2]]
            run = runs[run, 0]
    for at in range(numbers[op.PENDING]):
        pending[at] = moved[pending[at]]
    numbers[op.NODES] = kept


@bare
def advance(  # type: ignore[no-untyped-def]
    start, bits, keys, times, scale, width, closed, data, plan, work, initial, numbers, head, runs, registers, nodes,
    queue_times, queue_keys, pending, offsets, labels, events, most_runs, most_matches, base, listed,
):  # fmt: skip
    """Read a batch from the event `start` on; returns the event to continue with, once an array is longer.

    offsets, labels (components) and events (positions) are those of the matches.
    """
    windowed = width >= 0
    for e in range(start, bits.size + 1):
        # the matches of the event before
        while numbers[op.PENDING] > 0:
            node, found = pending[numbers[op.PENDING] - 1], numbers[op.FOUND]
            if listed:
                end = numbers[op.EVENTS] + nodes[node, 3]
                if end > events.size or found + 1 == offsets.size:
                    numbers[op.NEEDED] = op.OUTPUT
                    return e
                if found == most_matches:
                    numbers[op.ERROR] = op.MATCHES_EXCEEDED
                    return e
                numbers[op.EVENTS] = end
                offsets[found + 1] = end
                while node >= 0:
                    end -= 1
                    labels[end], events[end] = nodes[node, 2], nodes[node, 1]
                    node = nodes[node, 0]
            numbers[op.FOUND] = found + 1
            numbers[op.PENDING] -= 1
        if numbers[op.ERROR] or e == bits.size:
            return e
        bit, key, position = bits[e], keys[e], base + e

        # windows that are over
        while windowed and numbers[op.QUEUE_FROM] < numbers[op.QUEUE_TO]:
            since = (times[e] - queue_times[numbers[op.QUEUE_FROM]]) / scale
            if (since <= width) if closed else (since < width):
                break
            of = queue_keys[numbers[op.QUEUE_FROM]]
            if pending.size < numbers[op.PENDING] + head[of, 1]:
                numbers[op.NEEDED] = op.ROOM_FOR_PENDING
                return e
            numbers[op.QUEUE_FROM] += 1
            run = np.int64(head[of, 0])
            head[of, 0], head[of, 1] = -1, 0
            while run >= 0:
                after = np.int64(runs[run, 0])
                since = (times[e] - registers[run, 0]) / scale
                if (since <= width) if closed else (since < width):
                    add(run, of, runs, head)
                else:
                    if plan[runs[run, 1] * op.WIDTH + op.ITSELF]:
                        matched(runs[run, 2], pending, numbers)
                    released(run, runs, numbers)
                run = after

        # room for what the event can lead to
        at_most = 2 if key == 0 else 3 * head[key, 1] + 4
        if pending.size < numbers[op.PENDING] + at_most:
            numbers[op.NEEDED] = op.ROOM_FOR_PENDING
            return e
        if nodes.shape[0] < numbers[op.NODES] + at_most:
            numbers[op.NEEDED] = op.ROOM_FOR_NODES
            return e
        if runs.shape[0] < numbers[op.ALIVE] + at_most:
            numbers[op.NEEDED] = op.ROOM_FOR_RUNS
            return e
        if numbers[op.QUEUE_TO] == queue_times.size:
            numbers[op.NEEDED] = op.ROOM_IN_QUEUE
            return e

        # the runs of the partition look at the event, and perhaps one begins
        if key > 0:
            run = np.int64(head[key, 0])
            head[key, 0], head[key, 1] = -1, 0
            while run >= 0:
                after = np.int64(runs[run, 0])
                look(run, bit, key, position, plan, work, data, e, registers, runs, nodes, head, pending, numbers)
                run = after
        if bit & 1:
            run = numbers[op.FREE]
            numbers[op.FREE] = runs[run, 0]
            numbers[op.ALIVE] += 1
            runs[run, 2] = -1
            for at in range(registers.shape[1]):
                registers[run, at] = initial[at]
            if windowed:
                registers[run, 0] = times[e]
                queue_times[numbers[op.QUEUE_TO]] = times[e]
                queue_keys[numbers[op.QUEUE_TO]] = key
                numbers[op.QUEUE_TO] += 1
            select(run, np.int64(0), key, position, plan, work, data, e, registers, runs, nodes, head, pending, numbers)
        if numbers[op.ALIVE] > most_runs:
            numbers[op.ERROR] = op.RUNS_EXCEEDED
    return bits.size
