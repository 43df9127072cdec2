"""Follow the runs of a SASE+ query in compiled loops over flat arrays; the readable twin is evaluate.BlockRunner.

automata/evaluate/jit.py explains why the loops are long and have a parameter for each array.

Arrays, with n events, D columns that conditions read, P states, C registers:

    bits    int64 [n]          bit s is set if the event has the type and passes the conditions on one event of state s
    keys    int32 [n]          the partition of each event, 0 if the event is alone in its partition
    times   float64 [n]        the times, if there is a window
    data    float64 [n, 2 D]   the columns, each followed by a column that is 0 where a value is missing
    plan    int32 [.]          the query; work, float64 [.], a stack and constants: see opcodes.py
    initial float64 [2 C + 1]  the registers of a new run
    numbers int64 [10]         counters that live from batch to batch, see opcodes.py
    head    int32 [keys, 2]    the first run of each partition, and how many it has
    runs    int32 [R, 3]       the next run of the partition, the state, the last node; free rows are linked too
    registers float64 [R, 2 C + 1]  the time of the first event of a run; its registers, each followed by 0 if empty
    nodes   int64 [N, 5]       the node before, position, component, number of nodes up to it, when a run last waited
    queue_times float64, queue_keys int32   the runs that began, by time, to be checked when their window is over
    pending int64 [.]          the last nodes of matches to be written
Nodes that no run needs are deleted when there is no room; the order of the others does not change.
"""

from __future__ import annotations

import numpy as np

from cerify.automata.evaluate.jit import bare, compiled, inlined
from cerify.automata.nfab import opcodes as op

# ---------------------------------------------------------------------------------------------------------------------
# The moves of one run of an NFA^b with one event, compiled into the loop `advance`.
#
# The numbers of runs and states are int64 wherever they are passed on, because numba compiles a function for each type
# that it gets.


@inlined
def holds(low, high, plan, work, data, e, registers, run, numbers):  # type: ignore[no-untyped-def]
    """Return whether the conditions in plan[low:high] are true for event e and the registers of a run."""
    if low == high:
        return True
    top = -2
    for at in range(low, high, 2):
        operation, argument = plan[at], plan[at + 1]
        if operation <= op.FALSE:
            top += 2
            if operation == op.COLUMN:
                work[top], work[top + 1] = data[e, argument], data[e, argument + 1]
            elif operation == op.REGISTER:
                work[top], work[top + 1] = registers[run, argument], registers[run, argument + 1]
            else:
                work[top + 1] = 1.0
                work[top] = work[argument] if operation == op.CONSTANT else 1.0 if operation == op.TRUE else 0.0
        elif operation == op.NOT:
            work[top] = 1.0 - work[top]
        elif operation == op.CHECK:
            if work[top + 1] != 0.0 and abs(work[top]) >= op.EXACT:
                numbers[op.ERROR] = op.INEXACT
        else:
            top -= 2
            x, y = work[top], work[top + 2]
            both = work[top + 1] != 0.0 and work[top + 3] != 0.0
            if operation >= op.LESS:
                if operation == op.LESS:
                    true = x < y
                elif operation == op.LESS_EQUAL:
                    true = x <= y
                elif operation == op.GREATER:
                    true = x > y
                elif operation == op.GREATER_EQUAL:
                    true = x >= y
                elif operation == op.EQUAL:
                    true = x == y
                else:
                    true = x != y
                work[top], work[top + 1] = 1.0 if both and true else 0.0, 1.0
            elif operation == op.AND:
                work[top] = min(x, y)
            elif operation == op.OR:
                work[top] = max(x, y)
            else:
                if operation == op.ADD:
                    work[top] = x + y
                elif operation == op.SUBTRACT:
                    work[top] = x - y
                elif operation == op.MULTIPLY:
                    work[top] = x * y
                elif y != 0.0:
                    work[top] = x / y
                else:
                    both = False
                work[top + 1] = 1.0 if both else 0.0
    return work[0] != 0.0


@inlined
def remember(place, plan, data, e, registers, run, numbers):  # type: ignore[no-untyped-def]
    """Update the registers of a run that selects event e. place: the index in `plan` at which its state begins."""
    for at in range(plan[place + op.UPDATE], plan[place + op.UPDATE + 1], 4):
        how, register, column, detail = plan[at], plan[at + 1], plan[at + 2], plan[at + 3]
        if how == op.NUMBER:
            registers[run, register] += 1.0
        elif how == op.LAST or (how == op.FIRST and plan[place + op.KIND] != op.MORE):
            registers[run, register], registers[run, register + 1] = data[e, column], data[e, column + 1]
        elif how >= op.VOID and data[e, column + 1] != 0.0:
            x, y = data[e, column], registers[run, register]
            if how == op.VOID:
                registers[run, register + 1] = 0.0
            elif how == op.COUNT:
                registers[run, register] = y + 1.0
            elif how == op.SUM:
                registers[run, register] = y + x
                if detail and abs(y + x) >= op.EXACT:
                    numbers[op.ERROR] = op.INEXACT
            else:
                # x replaces the first value that is worse, and that value goes on to the next place; NaN fills all
                for best in range(register, register + 2 * detail, 2):
                    y = registers[run, best]
                    empty = registers[run, best + 1] == 0.0
                    if empty or x != x or (x < y if how == op.SMALLEST else x > y):
                        registers[run, best], registers[run, best + 1] = x, 1.0
                        if empty and x == x:
                            break
                        x = y if x == x else x


@inlined
def agrees(place, marked, plan, data, e, registers, run):  # type: ignore[no-untyped-def]
    """Return whether event e passes the equivalence tests of a state.

    marked: whether to apply only the tests that define the partition. place: the index in `plan` at which the state
    begins.
    """
    for at in range(plan[place + op.TESTED], plan[place + op.TESTED + 1], 3):
        register, column = plan[at], plan[at + 1]
        if (not marked or plan[at + 2] != 0) and not (
            registers[run, register + 1] != 0.0
            and data[e, column + 1] != 0.0
            and registers[run, register] == data[e, column]
        ):
            return False
    return True


@inlined
def twin(run, runs, registers, numbers):  # type: ignore[no-untyped-def]
    """Copy a run; return the number of the copy."""
    new = numbers[op.FREE]
    numbers[op.FREE] = runs[new, 0]
    numbers[op.ALIVE] += 1
    runs[new, 1], runs[new, 2] = runs[run, 1], runs[run, 2]
    for at in range(registers.shape[1]):
        registers[new, at] = registers[run, at]
    return new


@inlined
def released(run, runs, numbers):  # type: ignore[no-untyped-def]
    """Delete a run and free its row."""
    runs[run, 0] = numbers[op.FREE]
    numbers[op.FREE] = run
    numbers[op.ALIVE] -= 1


@inlined
def add(run, key, runs, head):  # type: ignore[no-untyped-def]
    """Add a run to its partition."""
    runs[run, 0] = head[key, 0]
    head[key, 0] = run
    head[key, 1] += 1


@inlined
def matched(node, pending, numbers):  # type: ignore[no-untyped-def]
    """Add a match, given its last node, to the matches to be written."""
    pending[numbers[op.PENDING]] = node
    numbers[op.PENDING] += 1


@inlined
def select(run, s, key, position, plan, work, data, e, registers, runs, nodes, head, pending, numbers):  # type: ignore[no-untyped-def]
    """Let a run select an event: the run moves to the next state, or becomes a match."""
    place = s * op.WIDTH
    node = numbers[op.NODES]
    numbers[op.NODES] += 1
    before = runs[run, 2]
    nodes[node, 0], nodes[node, 1], nodes[node, 2] = before, position, plan[place + op.COMPONENT]
    nodes[node, 3] = 1 if before < 0 else nodes[before, 3] + 1
    nodes[node, 4] = -1
    runs[run, 2] = node
    remember(place, plan, data, e, registers, run, numbers)
    if plan[place + op.AFTER] < 0:
        matched(node, pending, numbers)
        released(run, runs, numbers)
        return
    runs[run, 1] = plan[place + op.AFTER]
    place = plan[place + op.AFTER] * op.WIDTH
    if plan[place + op.KIND] == op.MORE and plan[place + op.IS_LAST]:
        if plan[place + op.HAS_END]:
            matches = holds(
                plan[place + op.END], plan[place + op.END + 1], plan, work, data, e, registers, run, numbers
            )
        else:
            matches = plan[place + op.AFTER_EACH] != 0 or plan[place + op.CUT] != 0
        if matches:
            matched(node, pending, numbers)
            if plan[place + op.CUT]:
                released(run, runs, numbers)
                return
    add(run, key, runs, head)


@inlined
def selects(bit, s, run, plan, work, data, e, registers, numbers):  # type: ignore[no-untyped-def]
    """Return whether state s lets the run select the event."""
    place = s * op.WIDTH
    return (
        (bit >> s) & 1 != 0
        and agrees(place, False, plan, data, e, registers, run)
        and holds(plan[place + op.TEST], plan[place + op.TEST + 1], plan, work, data, e, registers, run, numbers)
    )


@inlined
def skips(s, selected, run, plan, work, data, e, registers, numbers):  # type: ignore[no-untyped-def]
    """Return whether the run may skip the event (sase07, Table 1)."""
    place = s * op.WIDTH
    strategy = plan[place + op.STRATEGY]
    if strategy == op.NEXT:
        return not selected
    if strategy == op.PARTITION:
        return not (
            agrees(place, True, plan, data, e, registers, run)
            and holds(plan[place + op.MARK], plan[place + op.MARK + 1], plan, work, data, e, registers, run, numbers)
        )
    return strategy == op.ANY


@inlined
def look(run, bit, key, position, plan, work, data, e, registers, runs, nodes, head, pending, numbers):  # type: ignore[no-untyped-def]
    """Move a run by one event: it takes or ignores the event, or proceeds to the next component, or is deleted.

    A run that may do several of these is copied.
    """
    s, node = np.int64(runs[run, 1]), runs[run, 2]
    place = s * op.WIDTH
    more, last, has_end = plan[place + op.KIND] == op.MORE, plan[place + op.IS_LAST] != 0, plan[place + op.HAS_END] != 0
    stops, proceeds, following = False, False, False
    concerns = plan[place + op.CONCERNS]
    # Neither this state nor the next can select the event, so that the run only waits: most looks end here.
    if concerns and (bit >> s) & concerns == 0:
        add(run, key, runs, head)
        return
    if more:
        if not last and (not has_end or plan[place + op.KEEPS_NEXT]):
            following = selects(bit, s + 1, run, plan, work, data, e, registers, numbers)
        if has_end:
            # in last place a run is a match as soon as the condition holds, and with `!` is over then
            proceeds = not last and holds(
                plan[place + op.END], plan[place + op.END + 1], plan, work, data, e, registers, run, numbers
            )
            stops = plan[place + op.CUT] != 0 and proceeds
        else:
            stops = plan[place + op.CUT] != 0 and following
        low, high = plan[place + op.OVER], plan[place + op.OVER + 1]
        stops = stops or (low < high and holds(low, high, plan, work, data, e, registers, run, numbers))
    selected = not stops and selects(bit, s, run, plan, work, data, e, registers, numbers)
    skipped = (
        not stops
        and not (following and plan[place + op.KEEPS_NEXT])
        and skips(s, selected, run, plan, work, data, e, registers, numbers)
    )
    if more and not has_end:
        auto = not selected and not skipped
        proceeds = not last and (following or auto)
        if auto and plan[place + op.ITSELF]:
            matched(node, pending, numbers)
    if proceeds and plan[place + op.TWICE]:
        # the same run may have proceeded before and have waited until now
        if nodes[node, 4] == op.WAITING or nodes[node, 4] == position:
            proceeds = False
        else:
            nodes[node, 4] = position
    if proceeds:
        taken = following or selects(bit, s + 1, run, plan, work, data, e, registers, numbers)
        waits = skips(s + 1, taken, run, plan, work, data, e, registers, numbers)
        if taken:
            new = twin(run, runs, registers, numbers)
            select(new, s + 1, key, position, plan, work, data, e, registers, runs, nodes, head, pending, numbers)
        if waits:
            new = twin(run, runs, registers, numbers)
            runs[new, 1] = s + 1
            add(new, key, runs, head)
            nodes[node, 4] = op.WAITING
    if not more and not skipped:
        nodes[node, 4] = position
    goes_on = run
    if skipped:
        if selected:
            goes_on = twin(run, runs, registers, numbers)
        add(run, key, runs, head)
    if selected:
        select(goes_on, s, key, position, plan, work, data, e, registers, runs, nodes, head, pending, numbers)
    elif not skipped:
        released(run, runs, numbers)


@compiled
def clear(nodes, runs, head, pending, numbers):  # type: ignore[no-untyped-def]
    """Delete the nodes that no run and no unwritten match needs."""
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
    """Read a batch from the event `start` on; return the event at which to continue after enlarging an array.

    offsets, labels (components) and events (positions) are the matches, as in MatchArrays.
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
        # A run may skip, take, proceed and wait: it becomes at most four, three of them new. An event begins one more.
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


# ---------------------------------------------------------------------------------------------------------------------
# Look for negated components around matches, in compiled loops; the readable twin is evaluate.NfabAbsences.
#
# The end of the stream is stored, from position `base` on. keys, times, bits and data have a row for each stored event.
# previous and following, int64, have the positions of the events before and after it in its partition, or -1. negated
# and begins: see programs.ArrayLayout. match, float64 [1, 2 C + 1], has the registers of the match; `now` and `then`,
# float64 [R, 2 C + 1], those of the open series of a component.


@inlined
def in_scope(side, p, first, last, times, scale, width, closed):  # type: ignore[no-untyped-def]
    """Return whether event p is in the scope of a negated component. first, last: the first and last event of the
    match.

    side: whether the component stands before, between or after the others. Only before and after them does the window
    bound the scope.
    """
    if side == op.BETWEEN:
        return True
    since = (times[last] - times[p] if side == op.IN_FRONT else times[p] - times[first]) / scale
    return since <= width if closed else since < width


@inlined
def copied(source, row, target, to):  # type: ignore[no-untyped-def]
    """Copy the registers of a row."""
    for at in range(source.shape[1]):
        target[to, at] = source[row, at]


@inlined
def completes(  # type: ignore[no-untyped-def]
    begin, end, s, side, first, last, base, following, times, bits, data, plan, work, match, now, then, numbers, scale,
    width, closed,
):  # fmt: skip
    """Return 1 if events of a negated Kleene plus, from event `begin` on, satisfy its conditions before event `end`.

    Return 0 if no series of events does, and -1 if more partial series must be followed than `now` and `then` have rows
    for. s: the first state of the component. Events of other partitions are skipped: if a strategy forbids that, there
    is only one partition.
    """
    more = s + 1
    place = more * op.WIDTH
    low_end, high_end = plan[place + op.END], plan[place + op.END + 1]
    copied(match, 0, now, 0)
    remember(s * op.WIDTH, plan, data, begin, now, 0, numbers)
    if holds(low_end, high_end, plan, work, data, begin, now, 0, numbers):
        return 1
    rows = 1
    e = following[begin] - base
    while 0 <= e < end and rows:
        inside = in_scope(side, e, first, last, times, scale, width, closed)
        left = 0
        for row in range(rows):
            selected = selects(bits[e], more, row, plan, work, data, e, now, numbers)
            if left + 2 > now.shape[0]:
                return -1
            if skips(more, selected, row, plan, work, data, e, now, numbers):
                copied(now, row, then, left)
                left += 1
            if selected and inside:
                copied(now, row, then, left)
                remember(place, plan, data, e, then, left, numbers)
                if holds(low_end, high_end, plan, work, data, e, then, left, numbers):
                    return 1
                left += 1
        # The two arrays change places, so that nothing is allocated.
        now, then, rows, e = then, now, left, following[e] - base
    return 0


@bare
def link(begin, end, start, keys, last, previous, following):  # type: ignore[no-untyped-def]
    """Link the stored events from index `begin` up to `end` with the events before them in their partitions.

    start: the position of the first stored event. last: int64 [partitions], the position of the last event of each
    partition, or -1. previous, following: int64, positions, or -1.
    """
    for i in range(begin, end):
        before = last[keys[i]]
        previous[i], following[i], last[keys[i]] = before, -1, start + i
        if before >= start:
            following[before - start] = start + i


@bare
def stand(  # type: ignore[no-untyped-def]
    start, stands, offsets, labels, events, base, keys, times, bits, data, previous, following, negated, begins, plan,
    work, initial, match, now, then, numbers, scale, width, closed, ascending,
):  # fmt: skip
    """Write into `stands`, from match `start` on, 0 for each match that a negated component forbids, and 1 for others.

    Return the number of matches, or the index of the match for which the arrays `now` and `then` are too short.
    """
    for m in range(start, stands.size):
        low, high = offsets[m], offsets[m + 1]
        first, last = events[low] - base, events[high - 1] - base
        for at in range(initial.size):
            match[0, at] = initial[at]
        for i in range(low, high):
            s = begins[labels[i]] + (1 if i > low and labels[i - 1] == labels[i] else 0)
            remember(s * op.WIDTH, plan, data, events[i] - base, match, 0, numbers)
        stands[m] = 1
        for k in range(negated.shape[0]):
            s, side = negated[k, op.STATE], negated[k, op.SIDE]
            begin, end = -1, keys.size
            for i in range(low, high):
                if labels[i] == negated[k, op.BEFORE]:
                    begin = events[i] - base
                elif labels[i] == negated[k, op.BEHIND]:
                    end = events[i] - base
                    break
            if keys[first] == 0:
                continue
            forward = begin >= 0
            at = (following[begin] if forward else previous[end]) - base
            while 0 <= at < end:
                p, at = at, (following[at] if forward else previous[at]) - base
                if not in_scope(side, p, first, last, times, scale, width, closed):
                    if ascending:
                        break
                    continue
                if not selects(bits[p], s, 0, plan, work, data, p, match, numbers):
                    continue
                found = 1
                if negated[k, op.COMPLETE]:
                    found = completes(
                        p, end, s, side, first, last, base, following, times, bits, data, plan, work, match, now, then,
                        numbers, scale, width, closed,
                    )  # fmt: skip
                if found < 0:
                    return m
                if found:
                    stands[m] = 0
                    break
            if not stands[m]:
                break
    return stands.size
