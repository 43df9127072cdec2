"""What is compiled of a query for columns of some kinds: its states and conditions as the arrays of kernels.py."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cerify.automata.nfab import opcodes as op
from cerify.automata.nfab.edges import absence_layout
from cerify.automata.nfab.plan import QueryPlan, StatePlan
from cerify.automata.nfab.programs import Programs
from cerify.semantics.errors import Unsupported
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import NO_OPERATIONS
from cerify.semantics.sase.reading import Reading
from cerify.semantics.values import ValueType

STRATEGIES = dict(zip(sase.STRATEGIES, (op.STRICT, op.PARTITION, op.NEXT, op.ANY), strict=True))
KINDS = {"single": op.SINGLE, "first": op.FIRST_OF_MORE, "more": op.MORE}


@dataclass(frozen=True)
class Layout:
    """A query for columns of some kinds; plan, work and initial are arrays of kernels.py.

    negated: int64 [K, 5], the negated components, see opcodes.py; begins: int64, of each component its first state.
    """

    programs: Programs
    plan: NDArray[np.int32]
    work: NDArray[np.float64]
    initial: NDArray[np.float64]
    negated: NDArray[np.int64]
    begins: NDArray[np.int64]


class CompiledPlan:
    """The plans of a query and of its negated components, and the attributes by whose values runs are found.

    ascending: whether times ascend; else the window is a condition on each event, and no attribute finds the runs.
    """

    def __init__(self, q: sase.Query, reading: Reading, ascending: bool) -> None:
        self.q, self.reading, self.ascending = q, reading, ascending
        self.matched = QueryPlan(q, reading, NO_OPERATIONS)
        self.absent = [(k, self._absent(k)) for k in q.pattern if k.negated]
        plans = [self.matched, *(plan for _, plan in self.absent)]
        self.placed = [(plan, state) for plan in plans for state in plan.states]
        found = [plan.routes for plan in plans] if ascending or q.within is None else [()]
        self.routes = tuple(x for x in found[0] if all(x in other for other in found))

    def _absent(self, k: sase.Component) -> QueryPlan:
        layout = absence_layout(self.q, k)
        if self.reading.negated_series == "any":
            layout = replace(layout, strategies={k.variable: "skip_till_any_match"})
        return QueryPlan(self.q, self.reading, NO_OPERATIONS, layout)

    def layout(self, kinds: dict[str, ValueType]) -> Layout | Unsupported:
        """The conditions compiled for columns of these kinds, or why they are not."""
        plan, programs = self.matched, Programs(kinds)
        variables = [k.variable for k in plan.pattern]
        tests = [x for x in plan.registers.tests if x not in self.routes]
        tested = [(programs.test(x, variables), programs.column(x), x in plan.partition) for x in tests]
        ranges = [self._conditions(programs, state, n) for n, (_, state) in enumerate(self.placed)]
        if programs.refused is not None:
            return programs.refused
        constants = 2 * (programs.depth + 1)
        work = np.array([0.0] * constants + programs.constants)
        initial = np.zeros(2 * programs.size + 1)
        for (how, *_), register in programs.registers.items():
            initial[2 * register + 2] = how in (op.NUMBER, op.COUNT, op.SUM, op.VOID)
        begins = [state.number for state in plan.states if state.kind != "more"]
        rows = _rows(self, programs, ranges, tested, constants)
        return Layout(programs, rows, work, initial, self._negated(), np.array(begins, np.int64))

    def _conditions(self, programs: Programs, state: StatePlan, n: int) -> list[tuple[int, int]]:
        """Of a state, the n-th of all, the conditions TEST, MARK, END and OVER."""
        within, first = self.q.within, self.matched.pattern[0].variable
        selecting, over = [programs.condition(p, state, "event") for p in state.on_run], []
        if within is not None and not self.ascending and 0 < n < len(self.matched.states):
            closed = self.reading.window == "closed"
            selecting.append(programs.elapsed(first, within.seconds, "<=" if closed else "<"))
            if state.kind == "more":
                over.append(programs.elapsed(first, within.seconds, ">" if closed else ">="))
        marked = state.in_partition if state.strategy == "partition_contiguity" else ()
        return [
            programs.conjunction(selecting),
            programs.conditions(marked, state, "event"),
            programs.conditions(state.at_end, state, "end"),
            programs.conjunction(over),
        ]

    def _negated(self) -> NDArray[np.int64]:
        pattern, rows, first = self.q.pattern, list[list[int]](), len(self.matched.states)
        for k, plan in self.absent:
            at = pattern.index(k)
            before = sum(not c.negated for c in pattern[:at]) - 1
            behind = -1 if all(c.negated for c in pattern[at:]) else before + 1
            side = op.BETWEEN
            if self.q.within is not None and before < 0 and self.reading.negation_in_front == "window":
                side = op.IN_FRONT
            elif self.q.within is not None and before >= 0 and behind < 0:
                side = op.AT_END
            rows.append([first, bool(plan.states[-1].at_end), before, behind, side])
            first += len(plan.states)
        return np.array(rows, np.int64).reshape(-1, 5)


def _rows(
    plan: CompiledPlan,
    programs: Programs,
    ranges: list[list[tuple[int, int]]],
    tested: list[tuple[int, int, bool]],
    constants: int,
) -> NDArray[np.int32]:
    """The array plan of kernels.py: the states, and behind them the rows that they refer to by their index."""
    rest: list[int] = []
    begin = op.WIDTH * len(plan.placed)

    def stands(rows: list[tuple[int, ...]]) -> tuple[int, int]:
        start = begin + len(rest)
        rest.extend(value for row in rows for value in row)
        return start, begin + len(rest)

    def code_of(span: tuple[int, int]) -> list[tuple[int, ...]]:
        rows: list[tuple[int, ...]] = []
        for operation, argument in programs.code[slice(*span)]:
            match operation:
                case op.COLUMN:
                    argument = 2 * argument
                case op.REGISTER:
                    argument = 2 * argument + 1
                case op.CONSTANT:
                    argument += constants
            rows.append((operation, argument))
        return rows

    tests = stands([(2 * register + 1, 2 * column, marked) for register, column, marked in tested])
    updates = {
        v: stands([(how, 2 * register + 1, 2 * column, k) for how, register, column, k in programs.updates.get(v, [])])
        for v in dict.fromkeys(state.variable for _, state in plan.placed)
    }
    states: list[int] = []
    for (owner, state), spans in zip(plan.placed, ranges, strict=True):
        pairs = [updates[state.variable], *(stands(code_of(span)) for span in spans), tests]
        states += [*_flags(owner, state, spans[-1]), *(at for pair in pairs for at in pair)]
    return np.array([*states, *rest], np.int32)


def _flags(plan: QueryPlan, state: StatePlan, over: tuple[int, int]) -> list[int]:
    following = plan.states[state.number + 1 :][:1]
    skipping = any(after.strategy == "skip_till_any_match" for after in following)
    more, by_condition = state.kind == "more", state.leaving == "by_condition"
    skips = state.strategy == "skip_till_next_match" and not by_condition and over[0] == over[1]
    return [
        KINDS[state.kind],
        STRATEGIES[state.strategy],
        state.component,
        state.is_last,
        state.cut,
        state.leaving == "after_each",
        not state.skips_next,
        by_condition,
        state.stops_by_itself,
        more and not state.is_last and (by_condition or skipping),
        -1 if (after := plan.after_selecting(state)) is None else after.number,
        (3 if more and not state.is_last else 1) if skips else 0,
    ]
