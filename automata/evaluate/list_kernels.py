"""Evaluation without windows in compiled loops: Algorithm 2 of tods21, on lists of nodes in one flat array.

The loops are long, and have a parameter for each array, for the reason that evaluate/jit.py gives.
The readable twins are streaming.Evaluation (update) and ces.CompactComplexEventSet (the data structure, enumeration).
A list here grows at its front: a node that had a list as its children keeps it, as what came before a node does not
change. So a list is given by its first node alone, and three numbers make a node. tree int32 [3 or 4, N] has them as

    POSITION  the position of the event, less that of its era      CHILD  the list of its children
    NEXT      the node after it in the list, or 0                  LABEL  how it is marked: an index into Tables.labels

the last only if labels are wanted. Node 0 is none. A *reference* stands for a list: its first node, or 0 if it is
empty; the complement ~n stands for the list n and, beside it, the empty complex event, which Algorithm 2 has as the
terminator. A union has another list as its CHILD and as NEXT the complement of the node after it; it is no event. Of
two unions one after the other the first leads to a node at once, so that between two complex events there are never
many. Children and what comes after a node have smaller numbers than the node.

For each state refs int32 [S] has the reference of its list, and runs int64 [S] the number of complex events it stands
for, which Algorithm 2 would enumerate; CAP stands for that many or more. At most one reference is a complement, as the
run that has marked nothing is in one state. Position = eras[e, 1] + tree[POSITION, n] for the last row e of eras int64
[E, 2] with eras[e, 0] <= n.

While no state gets its first run or loses its last, what an event does depends on its class only, and mostly it is one
or two nodes. Where that lasts, the events of a block are looked through without a branch for those that do something,
and these are then applied without a branch. This *plan* has code int32 [C], how many nodes an event of a class makes
that way, or -1, and ops int32 [2 C, WIDTH], a row (source, target, flip, keep, final, label, hold) for each; hold is 0
where the node replaces the list of the target, else -1.
"""

from __future__ import annotations

import numpy as np

from cerify.automata.evaluate.jit import bare, compiled, part

CAP = 1 << 61
LAST_BIT = 63
POSITION, CHILD, NEXT, LABEL = range(4)
SOURCE, TARGET, FLIP, KEEP, FINAL, MARK, HOLD, WIDTH = range(8)
BLOCK = 1024  # events looked through at a time, so that what is found stays in a cache
CALM = 16  # events without a change after which there is a plan; more where plans did not last
LASTING = 32  # how many times as long as this a plan should last
MOST_CALM = 1 << 20


@part
def _node(tree, n, position, child, following, label):  # type: ignore[no-untyped-def]
    tree[POSITION, n], tree[CHILD, n], tree[NEXT, n] = position, child, following
    if tree.shape[0] > LABEL:
        tree[LABEL, n] = label


@part
def _joined(l, r, tree, nodes):  # type: ignore[no-untyped-def]
    """The reference of two lists as one, and the number of nodes."""
    flag = -1 if l < 0 or r < 0 else 0
    l, r = (~l if l < 0 else l), (~r if r < 0 else r)
    if l == 0 or r == 0:
        return (l | r) ^ flag, nodes
    if tree[NEXT, r] < 0:
        l, r = r, l
    if tree[NEXT, r] < 0:  # two unions: the node that r leads to, before all others
        _node(tree, nodes, 0, l, tree[NEXT, r], 0)
        l, r, nodes = nodes, tree[CHILD, r], nodes + 1
    _node(tree, nodes, 0, r, ~l, 0)
    return nodes ^ flag, nodes + 1


@part
def _operation(ops, row, n, p, l, q, empty, refs):  # type: ignore[no-untyped-def]
    """Add to the n operations of a class that an event marks the runs of p, which then are in q; how many there are.

    A list and the empty complex event, in another state, have one node together if it is marked alike.
    """
    for x in range(min(n, 2)):
        o = row + x
        alike = ops[o, TARGET] == q and ops[o, MARK] == l and ops[o, FLIP] == 0
        if alike and (empty or refs[ops[o, SOURCE]] == -1):
            ops[o, SOURCE], ops[o, FLIP] = (ops[o, SOURCE] if empty else p), -1
            return n
    if n < 2:
        o = row + n
        ops[o, SOURCE], ops[o, TARGET], ops[o, FLIP], ops[o, MARK] = p, q, 0, l
    return n + 1


@part
def _replaced(c, row, n, skip, ended, refs, ops):  # type: ignore[no-untyped-def]
    """Whether each list that a skip moves ends there, and one of the n operations of the class replaces it."""
    for p in range(refs.size):
        if refs[p] != 0 and not ended[p] and skip[c, p] != p:
            o = row
            while o < row + n and ops[o, TARGET] != p:
                o += 1
            if o == row + n or skip[c, p] >= 0:
                return False
            ops[o, HOLD] = 0
    return True


@part
def _plan(mask, skip, begin, marks, finals, ended, moving, busy, refs, code, ops):  # type: ignore[no-untyped-def]
    """Write what an event of each class does while the same states have runs."""
    silent = True  # no state reports without a mark
    for f in range(finals.size):
        silent = silent and refs[finals[f]] == 0
    for c in range(begin.size - 1):
        row, n, simple = 2 * c, 0, silent
        for t in range(begin[c], begin[c + 1]):
            p, q = marks[t, 0], marks[t, 2]
            if refs[p] != 0:
                simple = simple and refs[p] >= -1 and (ended[q] or refs[q] > 0)
                n = _operation(ops, row, n, p, marks[t, 1], q, refs[p] == -1, refs)
        if n == 2 and ops[row, TARGET] == ops[row + 1, SOURCE]:  # what reads a list goes before what changes it
            for x in range(WIDTH):
                ops[row, x], ops[row + 1, x] = ops[row + 1, x], ops[row, x]
            simple = simple and ops[row, TARGET] != ops[row + 1, SOURCE]
        for o in range(row, row + 2):
            ops[o, FINAL] = ended[ops[o, TARGET]]
            ops[o, KEEP], ops[o, HOLD] = ops[o, FINAL] - 1, -1
        if mask & moving[c] != 0:
            simple = simple and _replaced(c, row, min(n, 2), skip, ended, refs, ops)
        code[c] = n if simple and n <= 2 else -1
        if mask & busy[c] == 0:
            code[c] = 0


@part
def _scan(classes, index, end, code, found):  # type: ignore[no-untyped-def]
    """Write index << 32 | row of ops for what the events up to the end do; stop at one that is not in the plan."""
    number = np.uintp(0)
    while index < end:
        c = classes[index]
        if c < 0 or code[c] < 0:
            break
        found[number] = np.int64(index) << 32 | 2 * c
        found[number + np.uintp(1)] = np.int64(index) << 32 | 2 * c + 1
        number += np.uintp(code[c])
        index += 1
    return index, number


@part
def _apply(found, number, base, offset, ops, tree, nodes, refs, runs, roots, completed):  # type: ignore[no-untyped-def]
    """Make a node for each of the operations found; returns the number of nodes and of roots."""
    n, done = np.uintp(nodes), np.uintp(completed)
    for x in range(number):
        i, o = found[x] >> 32, np.uintp(found[x] & 0xFFFFFFFF)
        p, q, keep, hold = np.uintp(ops[o, SOURCE]), np.uintp(ops[o, TARGET]), ops[o, KEEP], ops[o, HOLD]
        more = runs[p] - ops[o, FLIP]
        _node(tree, n, offset + i, refs[p] ^ ops[o, FLIP], refs[q] & hold, ops[o, MARK])
        roots[done, 0], roots[done, 1], roots[done, 2] = base + i, n, min(more, CAP)
        done += np.uintp(ops[o, FINAL])
        refs[q], runs[q] = np.intp(n) & keep, min((runs[q] & hold) + more, CAP) & keep
        n += np.uintp(1)
    return np.intp(n), np.intp(done)


@part
def _marked(c, begin, marks, refs, runs, made):  # type: ignore[no-untyped-def]
    """Write (children, label, target, number) for each node that an event of the class makes; how many there are."""
    count = 0
    for t in range(begin[c], begin[c + 1]):
        p, l, q = marks[t, 0], marks[t, 1], marks[t, 2]
        ref, at = refs[p], count
        if ref == 0:
            continue
        for m in range(count):  # a list and the empty complex event have one node together
            if made[m, 2] == q and made[m, 1] == l and min(ref, made[m, 0]) == -1 and max(ref, made[m, 0]) > 0:
                at = m
        if at < count:
            made[at, 0], made[at, 3] = ~max(ref, made[at, 0]), min(made[at, 3] + runs[p], CAP)
        else:
            made[at, 0], made[at, 1], made[at, 2], made[at, 3] = ref, l, q, runs[p]
            count += 1
    return count


@part
def _bit(q):  # type: ignore[no-untyped-def]
    return np.uint64(1) << np.uint64(min(q, LAST_BIT))


@part
def _moved(skip, c, ended, live, alive, tree, nodes, refs, runs, had, ran):  # type: ignore[no-untyped-def]
    """Take all lists along a skip; how many states have one that stays, the mask of these, and the number of nodes."""
    for a in range(alive):
        p = live[a]
        had[p], ran[p] = refs[p], runs[p]
        refs[p], runs[p] = 0, 0
    arrived, mask = 0, np.uint64(0)
    for a in range(alive):
        p = live[a]
        q = skip[c, p]
        if q < 0:
            continue
        if refs[q] == 0:
            refs[q], runs[q] = had[p], ran[p]
            if not ended[q]:
                live[arrived] = q  # never beyond a
                arrived += 1
                mask |= _bit(q)
        else:
            refs[q], nodes = _joined(refs[q], had[p], tree, nodes)
            runs[q] = min(runs[q] + ran[p], CAP)
    return arrived, mask, nodes


@bare
def update_lists(  # type: ignore[no-untyped-def]
    classes, base, offset, start, skip, begin, marks, finals, ended, moving, busy, scratch, tree, nodes, refs, runs,
    roots,
):  # fmt: skip
    """Read events from index start on; stop where there might not be room for the nodes or roots that an event adds.

    classes: int32 [n], base the position of the first, offset the same less that of the era; a class is given as -1 - c
    where a new stream begins. skip to busy are those of TransitionTables. roots: int64 [R, 3], a row (position,
    reference, number) for each list completed. scratch: see UnwindowedStore.scratch. Returns the index reached, the
    number of nodes and of roots.
    """
    live, had, ran, made, code, ops, operations = scratch
    index, found, alive, mask = start, 0, 0, np.uint64(0)
    for q in range(refs.size):
        if refs[q] != 0:
            live[alive] = q
            alive += 1
            mask |= _bit(q)
    planned, since, calm = False, start, CALM  # since: where the plan was made, or the last change was
    while index < classes.size:
        if planned:
            room = min(tree.shape[1] - nodes, roots.shape[0] - found) // 2
            end = min(index + min(BLOCK, room), classes.size)
            index, number = _scan(classes, index, end, code, operations)
            nodes, found = _apply(operations, number, base, offset, ops, tree, nodes, refs, runs, roots, found)
            if index == end and room > 0:
                continue
        c = classes[index]
        if c >= 0 and mask & busy[c] == 0:
            index += 1
            continue
        if nodes + marks.shape[0] + 2 * refs.size > tree.shape[1] or found + finals.size > roots.shape[0]:
            return index, nodes, found
        changed = c < 0
        if changed:
            for a in range(alive):
                refs[live[a]], runs[live[a]] = 0, 0
            refs[0], runs[0], live[0], alive, mask, c = -1, 1, 0, 1, np.uint64(1), -1 - c
        count = _marked(c, begin, marks, refs, runs, made)
        if mask & moving[c] != 0:
            alive, mask, nodes = _moved(skip, c, ended, live, alive, tree, nodes, refs, runs, had, ran)
            changed = True
        for m in range(count):
            q = made[m, 2]
            if refs[q] == 0 and not ended[q]:
                live[alive] = q
                alive += 1
                mask |= _bit(q)
                changed = True
            flag = -1 if refs[q] < 0 else 0
            _node(tree, nodes, offset + index, made[m, 0], refs[q] ^ flag, made[m, 1])
            refs[q], runs[q] = nodes ^ flag, min(runs[q] + made[m, 3], CAP)
            nodes += 1
        for f in range(finals.size):
            q = finals[f]
            if refs[q] != 0:
                roots[found, 0], roots[found, 1], roots[found, 2] = base + index, refs[q], runs[q]
                found += 1
                if ended[q]:
                    refs[q], runs[q] = 0, 0
        index += 1
        if changed:
            if planned:
                calm = CALM if index - since > LASTING * calm else min(2 * calm, MOST_CALM)
            planned, since = False, index
        elif not planned and index - since >= calm:
            _plan(mask, skip, begin, marks, finals, ended, moving, busy, refs, code, ops)
            planned, since = True, index
    return classes.size, nodes, found


@compiled
def compact_lists(tree, nodes, refs, eras):  # type: ignore[no-untyped-def]
    """Remove the nodes that no list of a state leads to, and close the gaps; returns the number of nodes left."""
    alive, moved = np.zeros(nodes, np.bool_), np.zeros(nodes, np.int32)
    for q in range(refs.size):
        alive[refs[q] if refs[q] >= 0 else ~refs[q]] = True
    for n in range(nodes - 1, 0, -1):
        if alive[n]:
            for y in range(CHILD, NEXT + 1):
                alive[tree[y, n] if tree[y, n] >= 0 else ~tree[y, n]] = True
    kept, era = 1, 1
    for n in range(1, nodes):
        while era < eras.shape[0] and eras[era, 0] <= n:
            eras[era, 0] = kept
            era += 1
        if alive[n]:
            for y in range(tree.shape[0]):
                ref = tree[y, n]
                if y in (CHILD, NEXT):
                    ref = moved[ref] if ref >= 0 else ~moved[~ref]
                tree[y, kept] = ref
            moved[n] = kept
            kept += 1
    eras[era:, 0] = kept
    for q in range(refs.size):
        refs[q] = moved[refs[q]] if refs[q] >= 0 else ~moved[~refs[q]]
    return kept
