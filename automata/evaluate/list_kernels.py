"""Evaluate without windows in compiled loops: Algorithm 2 of tods21, on lists of nodes in one flat array.

evaluate/jit.py explains why the loops are long and have a parameter for each array. The readable twins are
ces.Evaluation (update) and ces.CompactComplexEventSet (the data structure, enumeration). A list grows at its
front, and the nodes after a node never change. So the list of the children of a node stays as it was. A list is given
by its first node. The nodes are the columns of tree, int32 [3 or 4, N]:

    POSITION  the position of the event, minus that of its era     CHILD  the list of its children
    NEXT      the node after it in the list, or 0                  LABEL  how it is marked: an index into Tables.labels

The last row exists only if labels are wanted. Node 0 means that there is no node. A *reference* stands for a list: it
is the number of the first node, or 0 for the empty list. The complement ~n stands for the list n with the empty complex
event, which is the terminator of Algorithm 2. A union is a node without an event: its CHILD is another list, and its
NEXT is the complement of the node after it. If a list begins with a union, the CHILD of the union begins with an event,
so few unions lie between two complex events. CHILD and NEXT have smaller numbers than the node.

For each state, refs, int32 [S], has the reference of its list, and runs, int64 [S], the number of complex events in the
list; CAP stands for CAP or more. At most one reference is a complement, because the run without marks is in one state.
The event of node n has the position eras[e, 1] + tree[POSITION, n], where e is the last row of eras, int64 [E, 2], with
eras[e, 0] <= n.

While no state gets its first run or loses its last one, the effect of an event depends only on its class, and is
usually one or two new nodes. A *plan* describes these effects. With it, one loop without branches finds the events of a
block that have an effect, and another applies the effects. In the plan, code, int32 [C], is the number of nodes that an
event of each class makes, or -1 if the plan does not cover the class. ops, int32 [2 C, WIDTH], has two rows for each
class, one for each node: (source, target, flip, keep, final, label, hold). hold is 0 if the node replaces the list of
the target, else -1.
"""

from __future__ import annotations

import numpy as np

from cerify.automata.evaluate.jit import bare, compiled, inlined, part

CAP = 1 << 61
LAST_BIT = 63
POSITION, CHILD, NEXT, LABEL = range(4)
SOURCE, TARGET, FLIP, KEEP, FINAL, MARK, HOLD, WIDTH = range(8)
BLOCK = 1024  # events searched at a time, so that the operations found stay in a cache
CALM = 16  # a plan is made after this many events without a change, or after more if plans did not last
LASTING = 32  # a plan should last this many times as long
MOST_CALM = 1 << 20


@part
def _node(tree, n, position, child, following, label):  # type: ignore[no-untyped-def]
    tree[POSITION, n], tree[CHILD, n], tree[NEXT, n] = position, child, following
    if tree.shape[0] > LABEL:
        tree[LABEL, n] = label


@part
def _joined(l, r, tree, nodes):  # type: ignore[no-untyped-def]
    """Join two lists; return the reference of the result and the number of nodes."""
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
    """Add one operation to the n operations of a class; return the new number of operations.

    The operation marks the event with label l in the runs of state p, which then reach state q. A list and the empty
    complex event of another state share one node if label and target are the same.
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
    """Return whether a skip ends each list that it does not leave in place, and one of the n operations of the class
    replaces that list.
    """
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
    """Write the plan: the effect of an event of each class. It is valid as long as the same states have runs."""
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
        if n == 2 and ops[row, TARGET] == ops[row + 1, SOURCE]:  # an operation that reads a list goes first
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
    """Write `index << 32 | row` for each operation (a row of ops) of the events before `end`.

    Stop at an event that the plan does not cover. Return the index reached and the number of operations.
    """
    number = np.uintp(0)
    while index < end:
        c = classes[index]
        if c < 0 or code[c] < 0:
            break
        # Both rows are written in any case, and `number` says how many count: a branch would be mispredicted often.
        found[number] = np.int64(index) << 32 | 2 * c
        found[number + np.uintp(1)] = np.int64(index) << 32 | 2 * c + 1
        number += np.uintp(code[c])
        index += 1
    return index, number


@part
def _apply(found, number, base, offset, ops, tree, nodes, refs, runs, roots, completed):  # type: ignore[no-untyped-def]
    """Make a node for each operation found; return the number of nodes and of roots."""
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
def _write_nodes(c, begin, marks, refs, runs, made):  # type: ignore[no-untyped-def]
    """Write the nodes that an event of the class makes; return their number.

    A row of `made` is (children, label, target, number of complex events).
    """
    count = 0
    for t in range(begin[c], begin[c + 1]):
        p, l, q = marks[t, 0], marks[t, 1], marks[t, 2]
        ref, at = refs[p], count
        if ref == 0:
            continue
        for m in range(count):  # a list and the empty complex event share one node
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
    """Move all lists to the states that they reach if an event of class c is skipped.

    Return how many states still have a list, the mask of these states, and the number of nodes.
    """
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
    """Read events from index start on; stop before an event whose nodes or roots might not fit in the arrays.

    Return the index reached, the number of nodes and the number of roots.

    classes: int32 [n], the class c of each event, or -1 - c if a new stream begins with it. base: the position of the
    first event. offset: base minus the position from which nodes count (their era). skip to busy: see TransitionTables.
    roots: int64 [R, 3], a row (position, reference, number of complex events) for each completed list. scratch: see
    UnwindowedStore._scratch.
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
        count = _write_nodes(c, begin, marks, refs, runs, made)
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
    """Remove the nodes that no state needs, and close the gaps; return the number of remaining nodes."""
    # Children have smaller numbers than their parents: a pass down finds the live nodes, a pass up moves them.
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


# ---------------------------------------------------------------------------------------------------------------------
# Enumeration in compiled loops: the complex events of sets that list_kernels and scoped_kernels have made.
#
# The readable twins are ces.CompactComplexEventSet (Algorithm 1 of tods21) and ces.enumerate_. A walk leads
# from the last position to the first. A *run* is a row of leaves: nodes before which no position comes. Its complex
# events differ only in the first position, and are written at once. Many complex events lead to the same run, or to
# the end of a run. So the leaves of the newest run stay in arrays, and are not followed again from node to node.
#
#     leaves int32 [M], firsts int64 [M]   the nodes of the run (or the unions above them), and their positions
#     places int32 [2 ** k]                the possible index of node n among the leaves, at n modulo 2 ** k

HEIGHT, BOUND, FILLED, REST = range(4)


@part
def _common(position, number, size, path, marks, depth, found, written, at, offsets, events, labels):  # type: ignore[no-untyped-def]
    """Write the common part of complex events of one size that differ only in their first position."""
    begin, step, end = np.uintp(found), np.uintp(size), np.uintp(written)
    for x in range(np.uintp(number)):
        end += step
        at[begin + x] = position
        offsets[begin + x + np.uintp(1)] = end
    for y in range(depth):
        to, value = np.uintp(written + size - 1 - y), path[y]
        for _ in range(number):
            events[to] = value
            to += step
        if labels.size > 0:
            to = np.uintp(written + size - 1 - y)
            for _ in range(number):
                labels[to] = marks[y]
                to += step


@part
def _firsts(firsts, w, number, size, written, events):  # type: ignore[no-untyped-def]
    """Write the first positions of complex events of one size that differ only there."""
    to, step = np.uintp(written), np.uintp(size)
    for x in range(np.uintp(w), np.uintp(w + number)):
        events[to] = firsts[x]
        to += step


@part
def _place(n, leaves, places, filled):  # type: ignore[no-untyped-def]
    """Return the index of node n among the leaves, or -1 if it is not there."""
    w = places[n & (places.size - 1)]
    return w if w < filled and leaves[w] == n else -1


@part
def _position(n, tree, eras):  # type: ignore[no-untyped-def]
    e = eras.shape[0] - 1
    while eras[e, 0] > n:
        e -= 1
    return eras[e, 1] + tree[POSITION, n]


@part
def _leaves_of_list(n, tree, eras, leaves, firsts, places):  # type: ignore[no-untyped-def]
    """Write the leaves from node n on. Return their number, and the node after them or 0."""
    filled, node, last = np.uintp(0), np.uintp(n), np.uintp(places.size - 1)
    while filled < leaves.size and node > 0 and tree[CHILD, node] == -1:
        following = tree[NEXT, node]
        if following < 0:
            break
        leaves[filled], firsts[filled], places[node & last] = node, _position(node, tree, eras), filled
        filled += np.uintp(1)
        node = np.uintp(following)
    return np.intp(filled), np.int32(node)


@bare
def enumerate_lists(  # type: ignore[no-untyped-def]
    roots, r, nodes, path, marks, pending, walk, run, at, offsets, events, labels
):
    """Write the complex events of the roots from r on, each as its positions in ascending order.

    Return the root reached and the number of complex events written. If the last root is not reached, or the stack is
    not empty, the next call continues the enumeration.

    nodes: the arrays tree and eras. pending: int32 [., 2], a stack of rows (reference, depth). walk: int64 [4]: the
    height of the stack; a bound, which only enumerate_scoped uses; the number of leaves; the node after the leaves.
    path, marks: the positions and labels of the path, from the latest on. run: the arrays leaves, firsts and places.
    at, offsets, events, labels: the result, as in MatchBatch; labels has the length of events, or 0 if not wanted.
    """
    tree, eras = nodes
    leaves, firsts, places = run
    found, written, height, filled, rest = 0, 0, walk[HEIGHT], walk[FILLED], walk[REST]
    while True:
        if height == 0:
            r += 1
            if r >= roots.shape[0]:
                break
            pending[0, 0], pending[0, 1], height = roots[r, 1], 0, 1
        n, depth = pending[height - 1, 0], pending[height - 1, 1]
        end, most = events.size - depth, at.size - found
        if written >= end or most == 0 or depth + 2 > path.size or height + 2 > pending.shape[0]:
            break
        if n < 0:
            _common(roots[r, 0], 1, depth, path, marks, depth, found, written, at, offsets, events, labels)
            found, written = found + 1, written + depth
            pending[height - 1, 0] = ~n
            height -= n == -1
            continue
        child, following = tree[CHILD, n], tree[NEXT, n]
        if following < 0:
            pending[height - 1, 0], pending[height, 0], pending[height, 1] = ~following, child, depth
            height += 1
            continue
        if child != -1:
            pending[height - 1, 0] = following
            height -= following == 0
            path[depth] = _position(n, tree, eras)
            if labels.size > 0:
                marks[depth] = tree[LABEL, n]
            pending[height, 0], pending[height, 1] = child, depth + 1
            height += 1
            continue
        w = _place(n, leaves, places, filled)
        if w < 0:
            w = 0
            filled, rest = _leaves_of_list(n, tree, eras, leaves, firsts, places)
        number = min(filled - w, most, (end - written - 1) // (depth + 1) + 1)
        _firsts(firsts, w, number, depth + 1, written, events)
        if labels.size > 0:
            for x in range(number):
                labels[written + x * (depth + 1)] = tree[LABEL, leaves[w + x]]
        _common(roots[r, 0], number, depth + 1, path, marks, depth, found, written, at, offsets, events, labels)
        found, written = found + number, written + number * (depth + 1)
        pending[height - 1, 0] = leaves[w + number] if w + number < filled else rest
        height -= pending[height - 1, 0] == 0
    walk[HEIGHT], walk[FILLED], walk[REST] = height, filled, rest
    return r, found


@part
def _leaves_of_set(n, low, tree, leaves, firsts, places):  # type: ignore[no-untyped-def]
    """Write the leaves from node n on that are at `low` or later. Return their number, and the node after them or 0."""
    filled = 0
    while filled < leaves.size and n > 0 and tree[n].latest >= low:
        left, right = n, np.int32(0)
        if tree[n].right > 0:
            left, right = tree[n].left, tree[n].right
        if left == 0 or tree[left].left > 0:
            break
        leaves[filled], firsts[filled] = n, tree[left].event
        places[n & (places.size - 1)] = filled
        filled += 1
        n = right
    return filled, n


@part
def _within(low, w, filled, firsts):  # type: ignore[no-untyped-def]
    """Return how many leaves from index w on are at `low` or later; their positions descend."""
    below, above = w, filled
    if firsts[filled - 1] >= low:
        below = filled
    while below < above:
        middle = (below + above) // 2
        if firsts[middle] >= low:
            below = middle + 1
        else:
            above = middle
    return below - w


@bare
def enumerate_scoped(  # type: ignore[no-untyped-def]
    roots, r, tree, path, marks, pending, walk, run, at, offsets, events, labels
):
    """Write the complex events of the roots from r on, each as its positions in ascending order.

    pending: int32 [., 2], a stack of rows (node, depth). walk[BOUND]: the bound of the current complex event. Other
    parameters: see enumerate_lists.
    """
    leaves, firsts, places = run
    found, written, height, bound, filled, rest = 0, 0, walk[HEIGHT], walk[BOUND], walk[FILLED], walk[REST]
    while True:
        if height == 0:
            r += 1
            if r >= roots.shape[0]:
                break
            pending[0, 0], pending[0, 1], height = roots[r, 1], 0, 1
        n, depth = pending[height - 1, 0], pending[height - 1, 1]
        end, most, low = events.size - depth, at.size - found, bound if depth > 0 else 0
        if written >= end or most == 0 or depth + 2 > path.size or height + 2 > pending.shape[0]:
            break
        left, right = n, np.int32(0)
        if tree[n].right > 0:
            left, right = tree[n].left, tree[n].right
            right = right if tree[right].latest >= low else np.int32(0)
        if left == 0:
            _common(roots[r, 0], 1, depth, path, marks, depth, found, written, at, offsets, events, labels)
            found, written = found + 1, written + depth
            pending[height - 1, 0] = right
            height -= right == 0
        elif tree[left].left == 0:
            w = _place(n, leaves, places, filled)
            if w < 0:
                w = 0
                filled, rest = _leaves_of_set(n, low, tree, leaves, firsts, places)
            inside = _within(low, w, filled, firsts)
            number = min(inside, most, (end - written - 1) // (depth + 1) + 1)
            _firsts(firsts, w, number, depth + 1, written, events)
            if labels.size > 0:
                for x in range(number):
                    n = leaves[w + x]
                    n = tree[n].left if tree[n].right > 0 else n
                    labels[written + x * (depth + 1)] = -tree[n].right
            _common(roots[r, 0], number, depth + 1, path, marks, depth, found, written, at, offsets, events, labels)
            found, written = found + number, written + number * (depth + 1)
            n = leaves[w + number] if w + number < filled else rest
            pending[height - 1, 0] = n
            height -= n == 0 or tree[n].latest < low
        elif left == n:
            bound = tree[n].floor if depth == 0 else bound
            path[depth], marks[depth] = tree[n].event, -tree[n].right
            pending[height - 1, 0], pending[height - 1, 1] = tree[n].left, depth + 1
        else:
            pending[height - 1, 0] = right
            height += right > 0
            pending[height - 1, 0], pending[height - 1, 1] = left, depth
    walk[HEIGHT], walk[BOUND], walk[FILLED], walk[REST] = height, bound, filled, rest
    return r, found


# ---------------------------------------------------------------------------------------------------------------------
# Counting complex events: from the nodes of sets, or under windows from the steps between states.
#
# evaluate/jit.py says why these functions are long and have a parameter for each array.


@inlined
def _number(root, tree, counts, stamp, pending):  # type: ignore[no-untyped-def]
    """Count the complex events of a root. Return -1 if there are 2^61 or more, and -2 if `pending` is too small.

    counts[n] is the number of complex events of node n that begin at stamp[n] or later. While the bound is the same, it
    is used again for later roots.
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


@bare
def numbers_of_roots(roots, done, tree, counts, stamp, pending, found):  # type: ignore[no-untyped-def]
    """Write the number of complex events of each root from index `done` on.

    Return the index of the first root for which `pending` is too small, or else the number of roots.
    """
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
    """Multiply a product of steps by the step of an event of the class, on the left.

    If `forward`, multiply on the right; the matrix is then the transpose of the product.
    """
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
    """Return `row` times column p of a matrix, at most CAP; `matrix` is its transpose."""
    total = 0
    for x in range(row.size):
        if row[x] > 0 and matrix[p, x] > 0:
            # As floats, because the product of two numbers below 2^61 may overflow 64 bits.
            large = float(row[x]) * float(matrix[p, x]) >= CAP
            total = min(total + (CAP if large else row[x] * matrix[p, x]), CAP)
    return total


@bare
def in_windows(  # type: ignore[no-untyped-def]
    classes, keys, admitted, low, positions, start, cut, skip, begin, marks, finals, ended, moving, busy, final,
    unmarked, matrices, front, steps, found,
):  # fmt: skip
    """Compute the result of `match_stores.in_windows`.

    Return the number of positions found, or -1 if a number reaches CAP; and the state at cut.

    classes to busy: see update_scoped, where keys is called numbers. final: bool [S]. matrices: int64 [3, S, S].
    front: int64 [n, S]. steps: int32 [3, n]: for each event that may be in a window its index, its class (-1 - c if it
    cannot be marked), and the state of the unmarked run before it. found: int64 [2, n], the indices and numbers.
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
        marking, number, bound = keys[index] >= 0 and admitted[index], 0, low[index]
        leads = moving[c] != 0  # whether anything can follow
        for t in range(begin[c], begin[c + 1]):
            leads = leads or (marking and not ended[marks[t, 2]])
            if not marking or index < start or not final[marks[t, 2]]:
                continue
            while head < size and positions[steps[0, head]] < bound:
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


# ---------------------------------------------------------------------------------------------------------------------
# The classes of events, and the events that have an effect.


@bare
def look_up(codes, table, found):  # type: ignore[no-untyped-def]
    """Write table[code] into found for each code. NumPy's take is slower because it converts the codes first."""
    for i in range(codes.size):
        found[i] = table[codes[i]]


@bare
def effective_rows(classes, busy, rows):  # type: ignore[no-untyped-def]
    """Write the indices of the events that begin a stream, or that change some state, into `rows`, int64 [n + 1].

    Return their number. classes: see update_lists. busy: see TransitionTables.
    """
    found = 0
    for row in range(classes.size):
        c = classes[row]
        rows[found] = row
        found += (c < 0) | (busy[max(c, 0)] != 0)  # without a branch, which would be mispredicted often
    return found
