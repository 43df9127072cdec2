"""A broken engine is caught, and the case that shows it is small: each of these faults is planted in an engine."""

import sys
from pathlib import Path

import pytest

from cerify.conformance.cases import load
from cerify.conformance.run import conform
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Event, subformulas

BROKEN = Path(__file__).parent / "engines" / "broken.py"
MOST_OPERATORS, MOST_EVENTS = 4, 5

FAULTS = [
    "cseq: off by one",
    "seq: contiguous",
    "plus: at least twice",
    "cplus: taken for +",
    "or: the right only where the left fails",
    "in: binds the last event only",
    "filter: > taken for >=",
    "filter: the first event",
    "filter: two mentions, one event",
    "filter: absent is 0",
    "event: reported one position later",
    "event: reported at its first event",
    "event: a complex event reported once",
    "event: matches do not overlap",
    "event: the shortest match of a position",
    "nxt: taken for LAST",
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught_by_a_small_case(fault: str) -> None:
    feature = fault.split(":")[0]
    cases = [case for case in load(None) if case.feature in (feature, "plus", "project")]
    report = conform([sys.executable, str(BROKEN), fault], cases)
    assert not report.conforms
    assert report.divergences
    for divergence in report.divergences:
        case = divergence.result.case
        operators = sum(not isinstance(phi, Event) for phi in subformulas(parse(case.query)))
        assert operators <= MOST_OPERATORS, case.query
        assert len(case.events) <= MOST_EVENTS, case.events
        assert divergence.result.outcome == "failed"


def test_the_engine_without_a_fault_conforms() -> None:
    """What the faults are planted in is right to begin with, so that it is the fault that is caught."""
    cases = [case for case in load(None) if case.feature in ("plus", "filter")]
    report = conform([sys.executable, "-m", "cerify.cli", "engine", "--evaluator", "denotational"], cases)
    assert report.conforms
    assert report.totals["passed"] == len(cases)
