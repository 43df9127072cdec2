"""Negated components in compiled loops, looked for around matches that are found; the readable twin is absences.py.

With the arrays of kernels.py, and of the end of the stream that is stored, from position base on: keys, times, bits and
data, a row for each event; previous and following: int64, the positions of the events of its partition before and after
it, -1 if there is none. negated and begins are those of a Layout. match, now and then: float64 [1 or R, 2 C + 1],
registers of the match, and of the series of a component that are under way.
"""

from __future__ import annotations

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
def completes(  # type: ignore[no-untyped-def]
    begin, end, s, side, first, last, base, following, times, bits, data, plan, work, match, now, then, numbers, scale,
    width, closed,
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
        now, then, rows, e = then, now, left, following[e] - base
    return 0


@bare
def stand(  # type: ignore[no-untyped-def]
    start, stands, offsets, labels, events, base, keys, times, bits, data, previous, following, negated, begins, plan,
    work, initial, match, now, then, numbers, scale, width, closed, ascending,
):  # fmt: skip
    """Write into stands, from match `start` on, 0 for a match that a negated component forbids, else 1.

    Returns the number of matches, or that of the match for which now and then are too short.
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
