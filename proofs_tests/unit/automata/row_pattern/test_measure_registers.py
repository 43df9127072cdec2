"""Measures by registers: as those of the definition, in a number of steps that is linear in the rows of a match."""

import sys
from collections.abc import Callable
from random import Random
from types import FrameType
from typing import Any

import pytest

from cerify.automata.row_pattern import evaluate
from cerify.equivalence.generate.row_pattern import PROFILES, case
from cerify.languages.row_pattern import RegisterOutput
from cerify.semantics.row_pattern.interpreter import RowOutput
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.syntax import show
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.row_pattern.tables import table

MEASURES = (
    "CLASSIFIER()", "A.x", "FIRST(B.x)", "LAST(x, 2)", "PREV(LAST(A.x, 1), 2)", "PREV(CLASSIFIER())", "COUNT(A.*)",
    "SUM(x)", "AVG(B.x)", "MIN(x)", "FINAL LAST(B.x)", "FINAL SUM(A.x)", "NEXT(x)", "FINAL COUNT(*) - COUNT(B.*)",
)  # fmt: skip


@pytest.mark.parametrize("profile", ["everything", "windows"])
@pytest.mark.parametrize("cases", sampled([150, 10_000], [150]))
def test_the_measures_are_those_of_the_definition(cases: int, profile: str) -> None:
    shown = 0
    for number in range(cases):
        q, S = case(Random(number), PROFILES[profile], 8, 8)
        right, made = RowOutput(q, S), RegisterOutput(q, S)
        matches = list(evaluate.find_matches(q, S))
        expected = [list(right.measured(match)) for match in matches]
        assert repr([list(made.measured(match)) for match in matches]) == repr(expected), show(q)
        listed = list(made.rows(map(made.with_result, matches)))
        assert repr(listed) == repr(list(right.rows(matches))), show(q)
        shown += sum(map(len, expected))
    assert shown > cases


def steps(call: Callable[[], Any]) -> int:
    """How many instructions of Python a call takes."""
    number = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal number
        number += event == "opcode"
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return number


@pytest.mark.parametrize("measure", MEASURES)
def test_twice_the_rows_take_twice_the_steps(measure: str) -> None:
    q = parse(f"MATCH_RECOGNIZE (MEASURES {measure} AS m ALL ROWS PER MATCH PATTERN ((A | B)+) DEFINE A AS x > 1)")
    taken = []
    for length in (100, 200):
        S = table("x", *((n % 4,) for n in range(length)))
        (match,) = evaluate.find_matches(q, S)
        made = RegisterOutput(q, S)
        assert len(list(made.rows([match]))) == length
        taken.append(steps(lambda made=made, match=match: list(made.rows([made.with_result(match)]))))  # type: ignore[misc]
    assert taken[1] < 2.2 * taken[0]
