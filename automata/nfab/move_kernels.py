"""The moves of one run of an NFA^b with one event, compiled into the loop in kernels.py, which describes the arrays.

They are long, and have a parameter for each array, for the reason that automata/evaluate/jit.py gives.
The numbers of runs and states are int64 wherever they are passed on: numba compiles a function for each type it gets.
"""

from __future__ import annotations

import numpy as np

from cerify.automata.evaluate.jit import inlined
from cerify.automata.nfab import opcodes as op


@inlined
def holds(low, high, plan, work, data, e, registers, run, numbers):  # type: ignore[no-untyped-def]
    """Whether the conditions with code from low to high are true of event e and the registers of a run."""
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
    """Update the registers of a run that selects event e."""
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
                # x takes the place of the first value that it is better than, which goes on to the next; NaN fills all
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
    """Whether event e passes the equivalence tests, or those that define the partition."""
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
    """A copy of a run."""
    new = numbers[op.FREE]
    numbers[op.FREE] = runs[new, 0]
    numbers[op.ALIVE] += 1
    runs[new, 1], runs[new, 2] = runs[run, 1], runs[run, 2]
    for at in range(registers.shape[1]):
        registers[new, at] = registers[run, at]
    return new


@inlined
def released(run, runs, numbers):  # type: ignore[no-untyped-def]
    """Delete a run."""
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
    """Report the match that ends with the node."""
    pending[numbers[op.PENDING]] = node
    numbers[op.PENDING] += 1


@inlined
def select(run, s, key, position, plan, work, data, e, registers, runs, nodes, head, pending, numbers):  # type: ignore[no-untyped-def]
    """Let a run select an event that its state awaits: it moves to the next state, or is a match."""
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
    """Whether the event is one that state s selects for the run."""
    place = s * op.WIDTH
    return (
        (bit >> s) & 1 != 0
        and agrees(place, False, plan, data, e, registers, run)
        and holds(plan[place + op.TEST], plan[place + op.TEST + 1], plan, work, data, e, registers, run, numbers)
    )


@inlined
def skips(s, selected, run, plan, work, data, e, registers, numbers):  # type: ignore[no-untyped-def]
    """Whether the event may be passed over (Table 1)."""
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
    """Move a run by one event: it takes, ignores, proceeds, several of these, or is deleted."""
    s, node = np.int64(runs[run, 1]), runs[run, 2]
    place = s * op.WIDTH
    more, last, has_end = plan[place + op.KIND] == op.MORE, plan[place + op.IS_LAST] != 0, plan[place + op.HAS_END] != 0
    stops, proceeds, following = False, False, False
    concerns = plan[place + op.CONCERNS]
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
