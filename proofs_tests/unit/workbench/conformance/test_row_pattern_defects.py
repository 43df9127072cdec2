"""Engines for MATCH_RECOGNIZE that depart from the definition in one axis: the report names it."""

from __future__ import annotations

from functools import cache

import pytest

from cerify.conformance.cases import load
from cerify.conformance.defects import defects_behind
from cerify.conformance.hypotheses.predicting import MatchPredictor
from cerify.conformance.model import Case, Defect, Result
from cerify.conformance.oracle import stream_of
from cerify.conformance.peeling import Peeler
from cerify.semantics.errors import CerifyError

PLANTED = (
    ("alternation", "last"),
    ("skip", "next-row"),
    ("permute", "reversed"),
    ("exclusion", "shown"),
    ("running", "final"),
    ("physical", "table"),
    ("unknown", "false"),
    ("union", "name"),
    ("match-number", "goes-on"),
    ("empty", "dropped"),
    ("reluctant", "greedy"),
    ("preference", "longest"),
    ("bounded_iterations", "stop"),
    ("integer_division", "exact"),
)
STEP = 5


@cache
def predictor() -> MatchPredictor:
    """The answers of all engines, each computed once."""
    return MatchPredictor("row-pattern")


def recorded(axis: str, value: str, case: Case) -> Result:
    """What an engine answers that departs in one axis."""
    key = repr((case.events, case.schema))
    try:
        found = predictor().matches(case.query, stream_of(case), key, {**predictor().default, axis: value}, case.output)
    except CerifyError as error:
        return Result(case, "skipped", detail=error.message)
    if isinstance(found, str):
        return Result(case, "error" if found == "error" else "skipped", detail=found)
    return Result(case, "passed" if found == set(case.matches) else "failed", sorted(found))


def defects(axis: str, value: str) -> list[Defect]:
    """The defects found in that engine, with every fifth case of the suite and those of the axis's features."""
    results = [recorded(axis, value, case) for case in load("row-pattern")[::STEP]]
    failing = [result for result in results if result.outcome in ("failed", "error")]
    return defects_behind(Peeler(lambda case, query, S: recorded(axis, value, case)), failing, results)


@pytest.mark.thorough
@pytest.mark.parametrize(("axis", "value"), PLANTED)
def test_a_planted_departure_is_named(axis: str, value: str) -> None:
    found = defects(axis, value)
    assert found
    assert (axis, value) in {(cause.axis, cause.value) for cause in found[0].causes}, found[0].causes
    smallest = found[0].result.case
    assert len(smallest.events) <= 4
    assert len(smallest.query) <= 160
