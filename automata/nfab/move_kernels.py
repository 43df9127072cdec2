"""The moves of one run of an NFA^b with one event, compiled into the loop in kernels.py, which describes the arrays."""

from __future__ import annotations

from cerify.automata.evaluate.jit import inlined
from cerify.automata.nfab.opcodes import (
    ADD,
    AFTER,
    AFTER_EACH,
    ALIVE,
    AND,
    ANY,
    CHECK,
    COLUMN,
    COMPONENT,
    CONSTANT,
    COUNT,
    CUT,
    END,
    EQUAL,
    ERROR,
    EXACT,
    FALSE,
    FIRST,
    FREE,
    GREATER,
    GREATER_EQUAL,
    HAS_END,
    INEXACT,
    IS_LAST,
    ITSELF,
    KEEPS_NEXT,
    KIND,
    LAST,
    LESS,
    LESS_EQUAL,
    MARK,
    MORE,
    MULTIPLY,
    NEXT,
    NODES,
    NOT,
    NUMBER,
    OR,
    PARTITION,
    PENDING,
    REGISTER,
    SMALLEST,
    STRATEGY,
    SUBTRACT,
    SUM,
    TEST,
    TESTED,
    TRUE,
    TWICE,
    UPDATE,
    WAITING,
    WIDTH,
)


@inlined
def holds(low, high, plan, work, data, e, registers, run, numbers):  # type: ignore[no-untyped-def]
    """Whether the conditions with code from low to high are true of event e and the registers of a run."""
    if low == high:
        return True
    top = -2
    for at in range(low, high, 2):
        operation, argument = plan[at], plan[at + 1]
        if operation <= FALSE:
            top += 2
            if operation == COLUMN:
                work[top], work[top + 1] = data[e, argument], data[e, argument + 1]
            elif operation == REGISTER:
                work[top], work[top + 1] = registers[run, argument], registers[run, argument + 1]
            else:
                work[top + 1] = 1.0
                work[top] = work[argument] if operation == CONSTANT else 1.0 if operation == TRUE else 0.0
        elif operation == NOT:
            work[top] = 1.0 - work[top]
        elif operation == CHECK:
            if work[top + 1] != 0.0 and abs(work[top]) >= EXACT:
                numbers[ERROR] = INEXACT
        else:
            top -= 2
            x, y = work[top], work[top + 2]
            both = work[top + 1] != 0.0 and work[top + 3] != 0.0
            if operation >= LESS:
                if operation == LESS:
                    true = x < y
                elif operation == LESS_EQUAL:
                    true = x <= y
                elif operation == GREATER:
                    true = x > y
                elif operation == GREATER_EQUAL:
                    true = x >= y
                elif operation == EQUAL:
                    true = x == y
                else:
                    true = x != y
                work[top], work[top + 1] = 1.0 if both and true else 0.0, 1.0
            elif operation == AND:
                work[top] = min(x, y)
            elif operation == OR:
                work[top] = max(x, y)
            else:
                if operation == ADD:
                    work[top] = x + y
                elif operation == SUBTRACT:
                    work[top] = x - y
                elif operation == MULTIPLY:
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
    for at in range(plan[place + UPDATE], plan[place + UPDATE + 1], 3):
        how, register, column = plan[at], plan[at + 1], plan[at + 2]
        if how == NUMBER:
            registers[run, register] += 1.0
        elif how == LAST or (how == FIRST and plan[place + KIND] != MORE):
            registers[run, register], registers[run, register + 1] = data[e, column], data[e, column + 1]
        elif how >= COUNT and data[e, column + 1] != 0.0:
            x, y = data[e, column], registers[run, register]
            if how == COUNT:
                registers[run, register] = y + 1.0
            elif how == SUM:
                registers[run, register] = y + x
                if abs(y + x) >= EXACT:
                    numbers[ERROR] = INEXACT
            elif registers[run, register + 1] == 0.0 or x != x or (x < y if how == SMALLEST else x > y):
                registers[run, register], registers[run, register + 1] = x, 1.0


@inlined
def agrees(place, marked, plan, data, e, registers, run):  # type: ignore[no-untyped-def]
    """Whether event e passes the equivalence tests, or those that define the partition."""
    for at in range(plan[place + TESTED], plan[place + TESTED + 1], 3):
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
    new = numbers[FREE]
    numbers[FREE] = runs[new, 0]
    numbers[ALIVE] += 1
    runs[new, 1], runs[new, 2] = runs[run, 1], runs[run, 2]
    for at in range(registers.shape[1]):
        registers[new, at] = registers[run, at]
    return new


@inlined
def released(run, runs, numbers):  # type: ignore[no-untyped-def]
    """Delete a run."""
    runs[run, 0] = numbers[FREE]
    numbers[FREE] = run
    numbers[ALIVE] -= 1


@inlined
def add(run, key, runs, head):  # type: ignore[no-untyped-def]
    """Add a run to its partition."""
    runs[run, 0] = head[key, 0]
    head[key, 0] = run
    head[key, 1] += 1


@inlined
def matched(node, pending, numbers):  # type: ignore[no-untyped-def]
    """Report the match that ends with the node."""
    pending[numbers[PENDING]] = node
    numbers[PENDING] += 1


@inlined
def select(run, s, key, position, plan, work, data, e, registers, runs, nodes, head, pending, numbers):  # type: ignore[no-untyped-def]
    """Let a run select an event that its state awaits: it moves to the next state, or is a match."""
    place = s * WIDTH
    node = numbers[NODES]
    numbers[NODES] += 1
    before = runs[run, 2]
    nodes[node, 0], nodes[node, 1], nodes[node, 2] = before, position, plan[place + COMPONENT]
    nodes[node, 3] = 1 if before < 0 else nodes[before, 3] + 1
    nodes[node, 4] = -1
    runs[run, 2] = node
    remember(place, plan, data, e, registers, run, numbers)
    if plan[place + AFTER] < 0:
        matched(node, pending, numbers)
        released(run, runs, numbers)
        return
    runs[run, 1] = plan[place + AFTER]
    place = plan[place + AFTER] * WIDTH
    if plan[place + KIND] == MORE and plan[place + IS_LAST]:
        if plan[place + HAS_END]:
            matches = holds(plan[place + END], plan[place + END + 1], plan, work, data, e, registers, run, numbers)
        else:
            matches = plan[place + AFTER_EACH] != 0 or plan[place + CUT] != 0
        if matches:
            matched(node, pending, numbers)
            if plan[place + CUT]:
                released(run, runs, numbers)
                return
    add(run, key, runs, head)


@inlined
def selects(bit, s, run, plan, work, data, e, registers, numbers):  # type: ignore[no-untyped-def]
    """Whether the event is one that state s selects for the run."""
    place = s * WIDTH
    return (
        (bit >> s) & 1 != 0
        and agrees(place, False, plan, data, e, registers, run)
        and holds(plan[place + TEST], plan[place + TEST + 1], plan, work, data, e, registers, run, numbers)
    )


@inlined
def skips(s, selected, run, plan, work, data, e, registers, numbers):  # type: ignore[no-untyped-def]
    """Whether the event may be passed over (Table 1)."""
    place = s * WIDTH
    strategy = plan[place + STRATEGY]
    if strategy == NEXT:
        return not selected
    if strategy == PARTITION:
        return not (
            agrees(place, True, plan, data, e, registers, run)
            and holds(plan[place + MARK], plan[place + MARK + 1], plan, work, data, e, registers, run, numbers)
        )
    return strategy == ANY


@inlined
def look(run, bit, key, position, plan, work, data, e, registers, runs, nodes, head, pending, numbers):  # type: ignore[no-untyped-def]
    """Move a run by one event: it takes, ignores, proceeds, several of these, or is deleted."""
    s, node = runs[run, 1], runs[run, 2]
    place = s * WIDTH
    more, last, has_end = plan[place + KIND] == MORE, plan[place + IS_LAST] != 0, plan[place + HAS_END] != 0
    stops, proceeds, following = False, False, False
    if plan[place + STRATEGY] == NEXT and not has_end and (bit >> s) & (1 if last or not more else 3) == 0:
        add(run, key, runs, head)  # nobody selects the event
        return
    if more:
        if not last and (not has_end or plan[place + KEEPS_NEXT]):
            following = selects(bit, s + 1, run, plan, work, data, e, registers, numbers)
        if has_end:
            # in last place a run is a match as soon as the condition holds, and with `!` is over then
            proceeds = not last and holds(
                plan[place + END], plan[place + END + 1], plan, work, data, e, registers, run, numbers
            )
            stops = plan[place + CUT] != 0 and proceeds
        else:
            stops = plan[place + CUT] != 0 and following
    selected = not stops and selects(bit, s, run, plan, work, data, e, registers, numbers)
    skipped = (
        not stops
        and not (following and plan[place + KEEPS_NEXT])
        and skips(s, selected, run, plan, work, data, e, registers, numbers)
    )
    if more and not has_end:
        auto = not selected and not skipped
        proceeds = not last and (following or auto)
        if auto and plan[place + ITSELF]:
            matched(node, pending, numbers)
    if proceeds and plan[place + TWICE]:
        # the same run may have proceeded before and have waited until now
        if nodes[node, 4] == WAITING or nodes[node, 4] == position:
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
            nodes[node, 4] = WAITING
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
