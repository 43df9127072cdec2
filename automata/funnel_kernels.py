"""Functions that evaluate funnels over columns, in one pass over the rows of each key.

They take arrays of numbers. numba compiles them if it is installed, and otherwise Python runs them.

Common parameters: `times` and `masks` have the rows of each key together, with ascending times. `starts` has the offset
of each key in them, and at last their length. Bit i of a mask is set if the row satisfies step i + 1; bit n, after the
bits of the n steps, is set if the row is barred, that is, may not occur between steps. `window` is the longest time
from the first step to the last. `work` is room for two numbers per step. The chains of keys are written one after the
other; each chain has as many rows as the level of its key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cerify.semantics.packages import installed

Array = Any
Loop = Callable[..., Any]
NONE = -1  # no row

if installed("numba"):
    from numpy import uint64

    from cerify.automata.evaluate.jit import compiled

    unsigned: Any = uint64  # compiled loops would test each time whether a signed index is negative
else:
    unsigned = int

    def compiled(loop: Loop) -> Any:
        """Return the function unchanged, so that Python runs it."""
        return loop


@compiled
def keep_rows(
    first: int, n: int, every: bool, pruned: bool, given: Array, valid: Array, bits: Array, state: Array, kept: Array
) -> int:
    """Write to `kept` the rows that can affect the result, in order; return their number.

    given: (keys, low, times, masks) for the rows from position `first` on. Keys are whole numbers, of which `low` is
    the least; a key out of range means that the row has no key. If `bits` is given, it is the table of masks, and
    `masks` has indices into it. valid: whether each row has a time, None if all have. kept: four columns: the number of
    the key (from 0), the position, the time and the mask. Rows that match no step are left out unless `every` is true.
    If `pruned` is true, the rows of each key must come in order. Then rows of steps that no chain has reached yet are
    left out too: in a long funnel these are most rows.

    state: (reached, counts, latest), carried from call to call. reached: for each key 0 before its first row, then one
    more than the number of steps reached, regardless of windows. counts: the numbers of rows without a key, of other
    rows without a time, and of rows earlier than the row before. latest: the last time.
    """
    keys, low, times, numbers = given
    reached, counts, latest = state
    to_codes, to_rows, to_times, to_masks = kept
    back, last = 0, latest[0]
    for row in range(len(times)):
        if valid is None or valid[row]:
            back += times[row] < last
            last = times[row]
    counts[2], latest[0] = counts[2] + back, last
    size, one, count = unsigned(len(reached)), unsigned(1), unsigned(0)
    for row in range(len(keys)):
        key = keys[row] - low
        code = unsigned(key)
        if key < 0 or code >= size:
            counts[0] += 1
            continue
        steps = unsigned(max(reached[code], 1))
        if valid is not None and not valid[row]:
            counts[1] += 1
            reached[code] = steps
            continue
        mask = unsigned(numbers[row]) if bits is None else unsigned(bits[unsigned(numbers[row])])
        due = mask
        if pruned:
            if mask >> n:
                if steps == 1:  # there is no chain that it could end
                    due &= one
                steps = one
            else:
                due &= (one << steps) - one
                steps += (due >> (steps - one)) & one
        reached[code] = steps
        if every or due != 0:
            to_codes[count], to_rows[count], to_times[count], to_masks[count] = code, first + row, times[row], mask
            count += one
    return int(count)


@compiled
def place_rows(shift: int, free: Array, given: Array, placed: Array) -> None:
    """Sort rows into buckets of neighbouring keys: write each row to the next free place of its bucket.

    The bucket of a key is the key without its `shift` low bits. given: columns as `keep_rows` writes them. placed: the
    same columns, with only the low bits of the keys. free: the next free place of each bucket.
    """
    codes, rows, times, masks = given
    to_codes, to_rows, to_times, to_masks = placed
    low = (1 << shift) - 1
    for row in range(len(codes)):
        code = codes[row]
        place = free[code >> shift]
        free[code >> shift] = place + 1
        to_codes[place], to_rows[place] = code & low, rows[row]
        to_times[place], to_masks[place] = times[row], masks[row]


@compiled
def group_bucket(starts: Array, given: Array, placed: Array) -> None:
    """Write the rows of a bucket grouped by key, each group in its old order, and the row with which each key starts.

    given: columns as `place_rows` writes them. placed: the same columns without the keys. `starts` has one place more
    than the bucket has keys, and is zero before the call.
    """
    codes, rows, times, masks = given
    to_rows, to_times, to_masks = placed
    for row in range(len(codes)):
        starts[codes[row] + 1] += 1
    for key in range(1, len(starts)):
        starts[key] += starts[key - 1]
    for row in range(len(codes)):  # each start moves to the next free place of its key
        key = codes[row]
        place = starts[key]
        starts[key] = place + 1
        to_rows[place] = rows[row]
        to_times[place] = times[row]
        to_masks[place] = masks[row]
    # Each start has moved to the start of the next key, so they are shifted back.
    for key in range(len(starts) - 1, 0, -1):
        starts[key] = starts[key - 1]
    starts[0] = 0


@compiled
def follow_steps(
    times: Array, masks: Array, n: int, increasing: bool, first: int, high: int, level: int, chain: Array
) -> None:
    """Write to `chain` the rows of the chain that begins at row `first` and takes each further step as early as
    possible.

    high: the row after the last row of the key. level: the number of steps to take.
    """
    chain[0] = first
    step, last = 1, times[first]
    row = first + 1
    while step < level and row < high:
        if (masks[row] >> step) & 1 and (not increasing or times[row] > last):
            chain[step] = row
            last = times[row]
            step += 1
        row += 1


@compiled
def chain_levels(
    starts: Array, times: Array, masks: Array, n: int, window: Any, increasing: bool, work: Array, out: Array
) -> None:
    """Write the level of each key, and the rows of its chain.

    Several chains may have this level; the one with the earliest rows is written. To find the level, a row extends one
    of the chains that end with the step before: the chain that begins last. If any of them is within the window, this
    one is. If times must increase, the chains that end at the current time stay in `waiting` until the time changes.
    Once the level is known, the same search runs backwards with the chains that end first, and finds the first row at
    which a chain of this level begins. From there each step is taken at its earliest row.
    """
    newest, waiting = work[0], work[1]  # used only up to the level, because most keys have one row
    levels, chains = out
    written = 0
    for key in range(len(levels)):
        low, high = starts[key], starts[key + 1]
        if low == high:
            continue
        newest[0], waiting[0], level, first, now = NONE, NONE, 0, NONE, times[low]
        for row in range(low, high):
            mask, time = masks[row], times[row]
            if increasing and time != now:
                for i in range(level):
                    if waiting[i] != NONE:
                        newest[i], waiting[i] = waiting[i], NONE
                now = time
            if (mask >> n) & 1:
                for i in range(level):
                    newest[i], waiting[i] = NONE, NONE
                continue
            # From the last step down, so that a row is one step of a chain.
            for i in range(min(level, n - 1), 0, -1):
                if (mask >> i) & 1 and newest[i - 1] != NONE and time - times[newest[i - 1]] <= window:
                    if i == level:
                        newest[i], waiting[i], level = NONE, NONE, i + 1
                    if increasing:
                        waiting[i] = max(waiting[i], newest[i - 1])
                    else:
                        newest[i] = newest[i - 1]
            if mask & 1:
                if level == 0:
                    first, level = row, 1
                if increasing:
                    waiting[0] = row
                else:
                    newest[0] = row
            if level == n:
                break
        levels[key] = level
        if level < 2:
            if level == 1:
                chains[written] = first
                written += 1
            continue
        for i in range(level):
            newest[i], waiting[i] = NONE, NONE
        now = times[high - 1]
        for row in range(high - 1, low - 1, -1):
            mask, time = masks[row], times[row]
            if increasing and time != now:
                for i in range(level):
                    if waiting[i] != NONE:
                        newest[i], waiting[i] = waiting[i], NONE
                now = time
            if (mask >> n) & 1:
                for i in range(level):
                    newest[i], waiting[i] = NONE, NONE
                continue
            if mask & 1 and newest[1] != NONE and times[newest[1]] - time <= window:
                first = row
            for i in range(1, level):
                if (mask >> i) & 1 and (i == level - 1 or newest[i + 1] != NONE):
                    end = row if i == level - 1 else newest[i + 1]
                    if increasing:
                        waiting[i] = end
                    else:
                        newest[i] = end
        follow_steps(times, masks, n, increasing, first, high, level, chains[written:])
        written += level


@compiled
def first_levels(
    starts: Array, times: Array, masks: Array, n: int, window: Any, increasing: bool, work: Array, out: Array
) -> None:
    """Write the level and the chain of each key, if chains may begin only at the key's first row of step 1."""
    levels, chains = out
    written = 0
    for key in range(len(levels)):
        low, high = starts[key], starts[key + 1]
        while low < high and not masks[low] & 1:
            low += 1
        if low == high or (masks[low] >> n) & 1:
            continue
        chains[written] = low
        level, last = 1, times[low]
        for row in range(low + 1, high):
            if level == n or (masks[row] >> n) & 1 or times[row] - times[low] > window:
                break
            if (masks[row] >> level) & 1 and (not increasing or times[row] > last):
                chains[written + level] = row
                last = times[row]
                level += 1
        levels[key] = level
        written += level


@compiled
def entry_levels(
    starts: Array, times: Array, masks: Array, n: int, window: Any, rules: Array, work: Array, levels: Array
) -> None:
    """Write the level of each key in the modes of ClickHouse that read entries (time, step), in ascending order.

    A row has an entry for each of its steps. rules: four Booleans: strict_increase, strict_order, allow_reentry and
    strict_deduplication. For each step, the first and the last row of the newest accepted chain to it are kept. Rows of
    equal times are read together, step by step. Rows that match no step come first; only strict_order uses them.
    """
    increase, order, reentry, deduplication = rules[0], rules[1], rules[2], rules[3]
    began, last = work[0], work[1]
    every = (1 << n) - 1
    for key in range(len(levels)):
        for i in range(n):
            began[i], last[i] = NONE, NONE
        level, over = 0, False
        block, high = starts[key], starts[key + 1]
        while block < high and not over:
            end, both, empty = block, 0, False
            while end < high and times[end] == times[block]:
                both |= masks[end] & every
                empty = empty or not masks[end] & every
                end += 1
            if order and empty and level > 0:
                break
            time = times[block]
            for i in range(n):
                if not (both >> i) & 1:
                    continue
                if i == 0:
                    began[0], last[0] = block, block
                    level = max(level, 1)
                    continue
                if order and level == 0:
                    continue
                repeats = 0
                for row in range(block, end):
                    repeats += (masks[row] >> i) & 1
                if deduplication and last[i] != NONE:
                    over = True
                    break
                if order and last[i - 1] == NONE:
                    if reentry:
                        continue
                    over = True
                    break
                if last[i - 1] == NONE or time - times[began[i - 1]] > window:
                    continue
                if increase and not times[last[i - 1]] < time:
                    continue
                began[i], last[i] = began[i - 1], block
                level = max(level, i + 1)
                if deduplication and repeats > 1:
                    over = True
                    break
            block = end
        levels[key] = level


@compiled
def augment(masks: Array, block: int, size: int, owner: Array, step: int, n: int) -> bool:
    """Assign a row of a block to the step, moving other steps to other rows if needed; return whether that was
    possible.

    The block has `size` rows from row `block` on. owner: the step that each of them is assigned to, or NONE. This is
    one augmenting path of a bipartite matching, searched breadth first. `via[row]` is the row whose owner would move to
    `row`.
    """
    via, queue = [NONE] * size, [0] * size
    seen = [False] * size
    first, after = 0, 0
    for row in range(size):
        if (masks[block + row] >> step) & 1:
            seen[row] = True
            queue[after] = row
            after += 1
    while first < after:
        row = queue[first]
        first += 1
        if owner[row] == NONE:
            while via[row] != NONE:
                owner[row] = owner[via[row]]
                row = via[row]
            owner[row] = step
            return True
        for other in range(size):
            if not seen[other] and (masks[block + other] >> owner[row]) & 1:
                seen[other] = True
                via[other] = row
                queue[after] = other
                after += 1
    return False


@compiled
def once_levels(starts: Array, times: Array, masks: Array, n: int, window: Any, work: Array, levels: Array) -> None:
    """Write the levels of ClickHouse's strict_once: a chain has different rows, and rows of equal times are in any
    order.

    For each step, the latest row at which a chain to this step begins is kept. Among rows of equal times, a chain
    matches its next steps with different rows. This matching is extended step by step along augmenting paths.
    """
    newest, reached = work[0], work[1]
    for key in range(len(levels)):
        for i in range(n):
            newest[i] = NONE
        level = 0
        block, high = starts[key], starts[key + 1]
        while block < high and level < n:
            end = block + 1
            while end < high and times[end] == times[block]:
                end += 1
            time = times[block]
            for i in range(n):
                # Put aside until all rows of this time are read: a chain may take them only in one matching, and not
                # twice.
                reached[i] = newest[i]
            for before in range(n):  # steps that the chain has before these rows
                began = block if before == 0 else newest[before - 1]
                if began == NONE or time - times[began] > window:
                    continue
                size = end - block
                owner = [NONE] * size  # of a row: the step that it serves
                step = before
                while step < n and step - before < size and augment(masks, block, size, owner, step, n):
                    reached[step] = max(reached[step], began)
                    level = max(level, step + 1)
                    step += 1
            for i in range(n):
                newest[i] = reached[i]
            block = end
        levels[key] = level
