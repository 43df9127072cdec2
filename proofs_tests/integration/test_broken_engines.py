"""A broken engine is caught, and the case that shows it is small: each of these faults is planted in an engine."""

import sys

import pytest

from cerify.conformance.cases import Case, load
from cerify.conformance.run import conform
from cerify.equivalence.generate.sase import size as sase_size
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import EventAtom, subformulas
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.parse import parse as parse_core_cel
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.parse import parse as parse_expression
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.parse import parse as parse_sase
from proofs_tests.support import sampled

BROKEN = ("-m", "proofs_tests.integration.engines.broken")
MOST_OPERATORS, MOST_EVENTS = 4, 5
FEW = 40  # cases of other features: enough that the engine is not wrong in all it is asked

FAULTS = [
    "cseq: off by one",
    "in: binds the last event only",
    "filter: two mentions, one event",
    "event: reported one position later",
    "event: a complex event reported once",
]
"""Each mutant fails a case of the suite, by another test, and choices of an engine are in test_peeling; these are some
faults behind the protocol, the size of whose smallest case is seen."""


# The same for the other languages.
CORE_FAULTS = [
    "plus: one round",
    "nxt: LAST",
]
EXPRESSION_FAULTS = [
    "ev-nth: from the n-th on",
    "ev-correlation: for all",
]
SASE_FAULTS = [
    "negation: conditions ignored",
    "cut: ignored",
    "return: series backwards",
]
SAMPLE = {
    "in: binds the last event only",
    "ev-nth: from the n-th on",
}
"""Those that every run of the tests plants; the others are for `pytest -m thorough`."""

SOME = 10
CORE_OPERATORS, CORE_EVENTS = 3, 3
EXPRESSIONS, EXPRESSION_EVENTS = 4, 2
SASE_PARTS, SASE_EVENTS = 5, 3


def of_feature(feature: str) -> list[Case]:
    return [case for case in load(None) if case.feature == feature]


@pytest.mark.parametrize("fault", sampled(FAULTS, SAMPLE))
def test_a_planted_fault_is_caught_by_a_small_case(fault: str) -> None:
    feature = fault.split(":")[0]
    cases = [*of_feature(feature), *of_feature("plus")[:FEW], *of_feature("project")[:FEW]]
    report = conform([sys.executable, *BROKEN, fault], cases)
    assert not report.conforms
    assert report.defects
    for defect in report.defects:
        case = defect.result.case
        operators = sum(not isinstance(phi, EventAtom) for phi in subformulas(parse(case.query)))
        assert operators <= MOST_OPERATORS, case.query
        assert len(case.events) <= MOST_EVENTS, case.events
        assert defect.result.outcome == "failed"


@pytest.mark.parametrize("fault", sampled(CORE_FAULTS, SAMPLE))
def test_a_planted_fault_in_core_cel_is_caught_by_a_small_case(fault: str) -> None:
    cases = [*of_feature(f"core-{fault.split(':')[0]}"), *of_feature("core-or")[:3]]
    report = conform([sys.executable, *BROKEN, fault, "core-cel"], cases)
    assert report.defects
    for defect in report.defects:
        case = defect.result.case
        operators = [
            phi for phi in core.subformulas(parse_core_cel(case.query)) if not isinstance(phi, core.CoreEventAtom)
        ]
        assert len(operators) <= CORE_OPERATORS, case.query
        assert len(case.events) <= CORE_EVENTS, case.events
        assert defect.result.outcome == "failed"


@pytest.mark.thorough
@pytest.mark.parametrize("fault", sampled(EXPRESSION_FAULTS, SAMPLE))
def test_a_planted_fault_in_event_expressions_is_caught_by_a_small_case(fault: str) -> None:
    cases = [*of_feature(fault.split(":")[0])[:SOME], *of_feature("ev-or")[:3]]
    report = conform([sys.executable, *BROKEN, fault, "event-expression"], cases)
    assert report.defects
    for defect in report.defects:
        case = defect.result.case
        assert expr.size(parse_expression(case.query)) <= EXPRESSIONS, case.query
        assert len(case.events) <= EXPRESSION_EVENTS, case.events
        assert defect.result.outcome == "failed"


@pytest.mark.parametrize("fault", sampled(SASE_FAULTS, SAMPLE))
def test_a_planted_fault_in_sase_is_caught_by_a_small_case(fault: str) -> None:
    cases = [*of_feature(f"sase-{fault.split(':')[0]}")[:SOME], *of_feature("sase-event")[:3]]
    report = conform([sys.executable, *BROKEN, fault, "sase"], cases)
    assert report.defects
    for defect in report.defects:
        case = defect.result.case
        q = parse_sase(case.query)
        assert isinstance(q, sase.SaseQuery)
        assert sase_size(q) <= SASE_PARTS, case.query
        assert len(case.events) <= SASE_EVENTS, case.events
        assert defect.result.outcome == "failed"


@pytest.mark.parametrize("step", sampled([3, 1], [3]))
def test_the_engine_without_a_fault_conforms(step: int) -> None:
    """What the faults are planted in is right to begin with, so that it is the fault that is caught."""
    cases = [*of_feature("plus")[:FEW], *of_feature("filter")[::step]]
    report = conform([sys.executable, "-m", "cerify.cli", "engine", "--evaluator", "denotational"], cases)
    assert report.conforms
    assert report.totals["passed"] == len(cases)
