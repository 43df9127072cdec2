"""The loops of counting.py: numbers from the nodes of sets, and from the steps of states under windows.

The loops are long, and have a parameter for each array, for the reason that evaluate/jit.py gives.
"""

from __future__ import annotations

from cerify.automata.evaluate.jit import bare, compiled, part
from cerify.automata.evaluate.list_kernels import CAP


@compiled
def _number(root, tree, counts, stamp, pending):  # type: ignore[no-untyped-def]
    """The number of complex events of a root; -1 past 62 bits, -2 if pending is too small.

    counts [N] holds for the bound stamp [N] how many of a node's complex events begin there or later. With the bound
    the count stays valid, so that nodes below earlier roots are not counted again.
    """
    total, height, ends = 0, 0, 1
    pending[0] = root
    while ends > 0:
        ends -= 1
        end = pending[ends]
        if end == 0:
            total += 1
            continue
        if ends + 4 > pending.size:
            return -2
        if tree[end].right > 0:
            pending[ends], pending[ends + 1] = tree[end].left, tree[end].right
            ends += 2
            continue
        bound = tree[end].floor
        pending[ends] = end
        height = ends + 1
        while height > ends:
            node = pending[height - 1]
            if height + 3 > pending.size:
                return -2
            l = tree[node].left
            r = tree[node].right if tree[node].right > 0 and tree[tree[node].right].latest >= bound else -1
            ready = True
            if l > 0 and stamp[l] != bound:
                pending[height] = l
                height += 1
                ready = False
            if r > 0 and stamp[r] != bound:
                pending[height] = r
                height += 1
                ready = False
            if ready:
                number = 1 if l == 0 else counts[l]
                if r >= 0:
                    number += 1 if r == 0 else counts[r]
                if number >= 1 << 61:
                    return -1
                counts[node], stamp[node] = number, bound
                height -= 1
        total += counts[end]
        if total >= 1 << 61:
            return -1
    return total


@compiled
def numbers_of_roots(roots, done, tree, counts, stamp, pending, found):  # type: ignore[no-untyped-def]
    """The number of each root from the one of this index on; returns the index at which pending is too small."""
    for i in range(done, roots.shape[0]):
        found[i] = _number(roots[i, 1], tree, counts, stamp, pending)
        if found[i] == -2:
            return i
    return roots.shape[0]


@part
def _identity(matrix):  # type: ignore[no-untyped-def]
    for x in range(matrix.shape[0]):
        for y in range(matrix.shape[1]):
            matrix[x, y] = 0
        matrix[x, x] = 1


@part
def _add(matrix, x, old, y):  # type: ignore[no-untyped-def]
    for z in range(matrix.shape[1]):
        matrix[x, z] = min(matrix[x, z] + old[y, z], CAP)


@part
def _multiply(matrix, old, c, marking, forward, skip, begin, marks, moving):  # type: ignore[no-untyped-def]
    """Multiply by the step of an event of the class, which comes before all others, or, forward, after, transposed."""
    if moving[c] == 0 and begin[c + 1] - begin[c] == 1:  # most are so: one row is added to another
        old = matrix
    else:
        for x in range(matrix.shape[0]):
            for y in range(matrix.shape[1]):
                old[x, y] = matrix[x, y]
                matrix[x, y] = 0 if moving[c] != 0 else old[x, y]
    if moving[c] != 0:
        for p in range(matrix.shape[0]):
            q = skip[c, p]
            if q >= 0:
                _add(matrix, q if forward else p, old, p if forward else q)
    if marking:
        for t in range(begin[c], begin[c + 1]):
            p, q = marks[t, 0], marks[t, 2]
            _add(matrix, q if forward else p, old, p if forward else q)


@part
def _ways(row, matrix, p):  # type: ignore[no-untyped-def]
    """A row times column p of a matrix that is given transposed."""
    total = 0
    for x in range(row.size):
        if row[x] > 0 and matrix[p, x] > 0:
            large = float(row[x]) * float(matrix[p, x]) >= CAP
            total = min(total + (CAP if large else row[x] * matrix[p, x]), CAP)
    return total


@bare
def in_windows(  # type: ignore[no-untyped-def]
    classes, keys, admitted, low, base, start, cut, skip, begin, marks, finals, ended, moving, busy, final, unmarked,
    matrices, front, steps, found,
):  # fmt: skip
    """See in_windows of counting.py; classes to busy are those of update_scoped, final bool [S].

    matrices int64 [3, S, S]; front int64 [n, S]; steps int32 [3, n], of the events that may be in a window the index,
    the class, given as -1 - c if it cannot be marked, and the state before it of the run that has marked nothing; found
    int64 [2, n]. Returns how many positions were found, or -1, and the state at cut.
    """
    back, old, product = matrices[0], matrices[1], matrices[2]
    head, middle, size, count, state = 0, 0, 0, 0, unmarked
    _identity(back)
    for index in range(classes.size):
        c = classes[index]
        if index == cut:
            state = unmarked
        if c < 0:
            c, unmarked, head, middle, size = -1 - c, 0, 0, 0, 0
            _identity(back)
        if busy[c] == 0:
            continue
        marking, number, bound = keys[index] >= 0 and admitted[index], 0, low[index] - base
        leads = moving[c] != 0  # whether anything can follow
        for t in range(begin[c], begin[c + 1]):
            leads = leads or (marking and not ended[marks[t, 2]])
            if not marking or index < start or not final[marks[t, 2]]:
                continue
            while head < size and steps[0, head] < bound:
                head += 1
            if head > middle:
                for x in range(head, size):
                    for y in range(3):
                        steps[y, x - head] = steps[y, x]
                head, middle, size = 0, size - head, size - head
                _identity(back)
                _identity(product)
                for x in range(size - 1, -1, -1):
                    d = steps[1, x]
                    _multiply(product, old, max(d, -1 - d), d >= 0, False, skip, begin, marks, moving)
                    for y in range(product.shape[0]):
                        front[x, y] = product[steps[2, x], y] if steps[2, x] >= 0 else 0
            p = marks[t, 0]
            if head < middle:
                number = min(number + _ways(front[head], back, p), CAP)
            elif head == size:
                number += p == unmarked
            elif steps[2, head] >= 0:
                number = min(number + back[p, steps[2, head]], CAP)
        if number >= CAP:
            return -1, state
        if number > 0:
            found[0, count], found[1, count] = index, number
            count += 1
        if leads:
            steps[0, size], steps[1, size], steps[2, size] = index, c if marking else -1 - c, unmarked
            size += 1
            _multiply(back, old, c, marking, True, skip, begin, marks, moving)
            if unmarked >= 0:
                unmarked = skip[c, unmarked]
    return count, state
