"""What is compiled of a query for columns of some kinds: its states and conditions as the arrays of kernels.py."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cerify.automata.nfab import opcodes as op
from cerify.automata.nfab.plan import QueryPlan, StatePlan
from cerify.automata.nfab.programs import STACK, Kind, Programs
from cerify.semantics.errors import Unsupported
from cerify.semantics.sase import syntax as sase

STRATEGIES = dict(zip(sase.STRATEGIES, (op.STRICT, op.PARTITION, op.NEXT, op.ANY), strict=True))
KINDS = {"single": op.SINGLE, "first": op.FIRST_OF_MORE, "more": op.MORE}


@dataclass(frozen=True)
class Layout:
    """A query for columns of some kinds; plan, work and initial are arrays of kernels.py."""

    programs: Programs
    plan: NDArray[np.int32]
    work: NDArray[np.float64]
    initial: NDArray[np.float64]


def layout_of(plan: QueryPlan, kinds: dict[str, Kind]) -> Layout | Unsupported:
    """The conditions of a query compiled for columns of these kinds, or why they are not."""
    programs, variables = Programs(kinds), [k.variable for k in plan.pattern]
    tests = [x for x in plan.registers.tests if x not in plan.routes]
    tested = [(programs.test(x, variables), programs.column(x), x in plan.partition) for x in tests]
    ranges = [
        [
            programs.conditions(state.on_run, state, "event"),
            programs.conditions(state.in_partition if state.strategy == "partition_contiguity" else (), state, "event"),
            programs.conditions(state.at_end, state, "end"),
        ]
        for state in plan.states
    ]
    if programs.refused is not None:
        return programs.refused
    work = np.array([0.0] * 2 * (STACK + 1) + programs.constants)
    initial = np.zeros(2 * len(programs.registers) + 1)
    for (how, _, _), register in programs.registers.items():
        initial[2 * register + 2] = how in (op.NUMBER, op.COUNT, op.SUM)
    return Layout(programs, _rows(plan, programs, ranges, tested), work, initial)


def _rows(
    plan: QueryPlan, programs: Programs, ranges: list[list[tuple[int, int]]], tested: list[tuple[int, int, bool]]
) -> NDArray[np.int32]:
    """The array plan of kernels.py: the states, and behind them the rows that they refer to by their index."""
    rest: list[int] = []
    begin = op.WIDTH * len(plan.states)

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
                    argument += 2 * (STACK + 1)
            rows.append((operation, argument))
        return rows

    tests = stands([(2 * register + 1, 2 * column, marked) for register, column, marked in tested])
    updates = {
        v: stands([(how, 2 * register + 1, 2 * column) for how, register, column in programs.updates.get(v, [])])
        for v in dict.fromkeys(k.variable for k in plan.pattern)
    }
    states: list[int] = []
    for state, spans in zip(plan.states, ranges, strict=True):
        pairs = [updates[state.variable], *(stands(code_of(span)) for span in spans), tests]
        states += [*_flags(plan, state), *(at for pair in pairs for at in pair)]
    return np.array([*states, *rest], np.int32)


def _flags(plan: QueryPlan, state: StatePlan) -> list[int]:
    following = plan.states[state.number + 1 :][:1]
    skipping = any(after.strategy == "skip_till_any_match" for after in following)
    twice = state.kind == "more" and not state.is_last and (state.leaving == "by_condition" or skipping)
    return [
        KINDS[state.kind],
        STRATEGIES[state.strategy],
        state.component,
        state.is_last,
        state.cut,
        state.leaving == "after_each",
        not state.skips_next,
        state.leaving == "by_condition",
        state.stops_by_itself,
        twice,
        -1 if (after := plan.after_selecting(state)) is None else after.number,
    ]
