"""Find the matches of a clause in compiled loops over flat arrays; the readable twin is evaluate.RowPartition.

automata/evaluate/jit.py says why the loops are long and have a parameter for each array.

Arrays, with n rows, m states in W words of 64 bits, P partitions, and c variables that have a condition:

    starts    int64 [P + 1]        the row at which each partition begins, and n
    codes     uint8 [c / 8, n]     for each row a bit for each condition that is true, eight conditions in a plane
    takes     uint64 [c / 8, 256, W]  for each byte of a plane the states that the conditions allow
    before    uint64 [m / 8, 256, W]  for each set of states, of eight, the states with a way to one in the set
    ends      uint64 [2, W]        the states with a way to the end, and those with one after the last row
    ways      int64 [m + 2]        the first way of each state, and of the beginning (m)
    targets   int32 [.]            the states that ways lead to, the end is -1
    anchors   uint8 [.]            1: before the first row only; 2: after the last row only
    open_     uint64 [longest + 1, W]  for each row of a partition the states that can take the row so that a match can
                                   be completed; none after the last row
    wanted    uint8 [m]            1 for the states of the variable to skip to, 2 for those of rows before a match
    numbers   int64 [7]            see the constants below; they live from call to call
    begins, matches, offsets       int64 [matches], [matches], [matches + 1]: the row at which each match starts, its
                                   number, and where its states are in labels
    labels    int32 [.]            the states of the rows of matches; there is room for the longest partition
"""

from __future__ import annotations

from numba import uint64

from cerify.automata.evaluate.jit import compiled

PARTITION, ROW, MATCH, OPENED, FOUND, ERROR, SKIP = range(7)
"""The partition, the row in it, the last match's number, whether open_ is filled, the matches written, the error, and
the kind of AFTER MATCH SKIP."""

PAST_LAST, NEXT, FIRST, LAST = range(4)
"""The kinds of AFTER MATCH SKIP."""

NO_ROW, FIRST_ROW = 1, 2
"""Errors: AFTER MATCH SKIP leads to a variable without a row in the match, or to the first row of the match."""

FOLDS = ("SUM", "AVG", "MIN", "MAX")


@compiled
def open_states(start, length, codes, takes, before, ends, open_):  # type: ignore[no-untyped-def]
    """Write into `open_`, for each row of a partition, the states from which a match can still be completed.

    The rows are read from the last to the first.
    """
    words, planes, bytes_ = ends.shape[1], codes.shape[0], before.shape[0]
    for w in range(words):
        open_[length, w] = 0
    # Most patterns have at most 64 states: the set then stays in one variable instead of an array.
    if words == 1:
        later = uint64(0)
        completed = ends[1, 0]
        for r in range(length - 1, -1, -1):
            found = completed
            completed = ends[0, 0]
            for b in range(bytes_):
                found |= before[b, (later >> uint64(8 * b)) & uint64(255), 0]
            for plane in range(planes):
                found &= takes[plane, codes[plane, start + r], 0]
            open_[r, 0] = found
            later = found
        return
    for r in range(length - 1, -1, -1):
        for w in range(words):
            open_[r, w] = ends[1 if r == length - 1 else 0, w]
        for b in range(bytes_):
            eight = (open_[r + 1, b >> 3] >> uint64(8 * (b & 7))) & uint64(255)
            if eight:
                for w in range(words):
                    open_[r, w] |= before[b, eight, w]
        for plane in range(planes):
            for w in range(words):
                open_[r, w] &= takes[plane, codes[plane, start + r], w]


@compiled
def find(  # type: ignore[no-untyped-def]
    starts, codes, takes, before, ends, ways, targets, anchors, open_, wanted, numbers, begins, matches, offsets, labels
):  # fmt: skip
    """Search matches, and write them until the arrays are full or no match is left. For the arrays, see this module.

    At the end numbers[PARTITION] is the number of partitions. The search also stops at an error, which concerns the
    last match written.
    """
    beginning, skip = ways.size - 2, numbers[SKIP]
    found, written = 0, 0
    offsets[0] = 0
    numbers[FOUND] = 0
    while numbers[PARTITION] < starts.size - 1:
        start = starts[numbers[PARTITION]]
        length = starts[numbers[PARTITION] + 1] - start
        if not numbers[OPENED]:
            open_states(start, length, codes, takes, before, ends, open_)
            numbers[OPENED] = 1
        s = numbers[ROW]
        while s < length:
            if found == begins.size:
                numbers[ROW], numbers[FOUND] = s, found
                return
            state, r, to = beginning, s, written
            while True:
                target = -2
                for way in range(ways[state], ways[state + 1]):
                    if (anchors[way] & 1 and r > 0) or (anchors[way] & 2 and r < length):
                        continue
                    t = targets[way]
                    if t < 0 or (open_[r, t >> 6] >> uint64(t & 63)) & uint64(1):
                        target = t
                        break
                if target < 0:
                    break
                if to == labels.size:  # no room: the next call finds the match again
                    numbers[ROW], numbers[FOUND] = s, found
                    return
                labels[to] = target
                to += 1
                r += 1
                state = target
            if target == -2:
                s += 1
                continue
            begins[found] = start + s
            numbers[MATCH] += 1
            matches[found] = numbers[MATCH]
            found += 1
            offsets[found] = to
            step = r - s
            if step == 0 or skip == NEXT:
                step = 1
            elif skip != PAST_LAST:
                first = 0
                while first < step and wanted[labels[written + first]] == 2:
                    first += 1
                k = first if skip == FIRST else step - 1
                while first <= k < step and wanted[labels[written + k]] != 1:
                    k += 1 if skip == FIRST else -1
                if k == first or not first <= k < step:
                    numbers[ERROR] = FIRST_ROW if k == first else NO_ROW
                    numbers[FOUND] = found
                    return
                step = k
            written = to
            s += step
        numbers[PARTITION] += 1
        numbers[ROW], numbers[MATCH], numbers[OPENED] = 0, 0, 0
    numbers[FOUND] = found


@compiled
def fold(values, places, used, offsets, function, folded):  # type: ignore[no-untyped-def]
    """Write for each row of a match an aggregate of the match up to this row; it is undefined before the first value.

    values [n]: the value of each row of the table. places int64 [l]: the table row of each row of the matches. used
    bool [l]: whether its value counts. offsets: as in this module's docstring. function: an index of FOLDS (0 and 1 are
    sums). folded [l + 1]: the aggregates.
    """
    for i in range(offsets.size - 1):
        found = False
        so_far = values[0]
        for k in range(offsets[i], offsets[i + 1]):
            if used[k]:
                value = values[places[k]]
                if not found:
                    so_far = value
                elif function < 2:
                    so_far += value
                elif (value < so_far) if function == 2 else (value > so_far):
                    so_far = value
                found = True
            folded[k] = so_far
