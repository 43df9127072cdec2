"""Negated components in compiled loops, looked for around matches that are found; the readable twin is absences.py.

With the arrays of kernels.py, and of the end of the stream that is stored, from position base on: keys, times, bits and
data, a row for each event. negated and begins are those of a Layout. coded: int64, all these events as
partition << KEY_BITS | position, ascending; noted: of each component those that could be its first, those of component
k from noted_from[k] on. match, now and then: float64 [1 or R, 2 C + 1], registers of the match, and of the series of a
component that are under way.
"""

from __future__ import annotations

from numba import int64

from cerify.automata.evaluate.jit import bare, inlined
from cerify.automata.nfab import opcodes as op
from cerify.automata.nfab.move_kernels import holds, remember, selects, skips


@inlined
def in_scope(side, p, first, last, times, scale, width, closed):  # type: ignore[no-untyped-def]
    """Whether the window lets a component look at event p: it ends with the match, or begins with it."""
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
def first_from(codes, low, high, code):  # type: ignore[no-untyped-def]
    """The first index from low to high, exclusive, whose code is not less; high if there is none."""
    while low < high:
        middle = (low + high) >> 1
        if codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def completes(  # type: ignore[no-untyped-def]
    begin, end, s, side, first, last, base, coded, partition, times, bits, data, plan, work, match, now, then, numbers,
    scale, width, closed,
):  # fmt: skip
    """1 if a series of the component whose first state is s, from event `begin` on, is complete before event `end`.

    0 if none is, -1 if there are more of them under way than there are rows. Events of other partitions are skipped:
    where a strategy forbids that, there is one partition.
    """
    more = s + 1
    place = more * op.WIDTH
    low_end, high_end = plan[place + op.END], plan[place + op.END + 1]
    copied(match, 0, now, 0)
    remember(s * op.WIDTH, plan, data, begin, now, 0, numbers)
    if holds(low_end, high_end, plan, work, data, begin, now, 0, numbers):
        return 1
    rows = 1
    for at in range(first_from(coded, 0, coded.size, partition + base + begin + 1), coded.size):
        e = coded[at] - partition - base
        if rows == 0 or e >= end:
            return 0
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
        now, then, rows = then, now, left
    return 0


@bare
def stand(  # type: ignore[no-untyped-def]
    start, stands, offsets, labels, events, base, keys, times, bits, data, negated, begins, coded, noted, noted_from,
    plan, work, initial, match, now, then, numbers, scale, width, closed, ascending,
):  # fmt: skip
    """Write into stands, from match `start` on, 0 for a match that a negated component forbids, else 1.

    Returns the number of matches, or that of the match for which now and then are too short.
    """
    n = keys.size
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
            begin, end = 0, n
            for i in range(low, high):
                if labels[i] == negated[k, op.BEFORE]:
                    begin = events[i] - base + 1
                elif labels[i] == negated[k, op.BEHIND]:
                    end = events[i] - base
                    break
            if keys[first] == 0:
                continue
            partition = int64(keys[first]) << op.KEY_BITS
            at = first_from(noted, noted_from[k], noted_from[k + 1], partition + base + begin)
            until = first_from(noted, at, noted_from[k + 1], partition + base + end)
            for i in range(until - at):
                p = noted[until - 1 - i if side == op.IN_FRONT else at + i] - partition - base
                if not in_scope(side, p, first, last, times, scale, width, closed):
                    if ascending:
                        break
                    continue
                if not selects(bits[p], s, 0, plan, work, data, p, match, numbers):
                    continue
                found = 1
                if negated[k, op.COMPLETE]:
                    found = completes(
                        p, end, s, side, first, last, base, coded, partition, times, bits, data, plan, work, match, now,
                        then, numbers, scale, width, closed,
                    )  # fmt: skip
                if found < 0:
                    return m
                if found:
                    stands[m] = 0
                    break
            if not stands[m]:
                break
    return stands.size
