"""Engines for MATCH_RECOGNIZE that depart from the definition in one axis: the report names it."""

from __future__ import annotations

from functools import cache

import pytest

from cerify.conformance.cases import load
from cerify.conformance.defects import defects_behind
from cerify.conformance.model import Case, CaseResult, Defect
from cerify.conformance.oracle import stream_of
from cerify.conformance.peeling import Peeler
from cerify.conformance.prediction import MatchPredictor
from cerify.hypotheses.row_pattern import DEPARTURES
from cerify.semantics.errors import CerifyError
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.syntax import show, show_pattern

PLANTED = (
    ("alternation", "last", "row-alternation"),
    ("skip", "next-row", "row-skip"),
    ("permute", "reversed", "row-permute"),
    ("exclusion", "shown", "row-exclusion"),
    ("running", "final", "row-running"),
    ("physical", "table", "row-physical"),
    ("unknown", "false", "row-null"),
    ("union", "name", "row-classifier"),
    ("match-number", "goes-on", "row-match-number"),
    ("empty", "dropped", "row-empty"),
    ("reluctant", "greedy", "row-reluctant"),
    ("integer_division", "exact", "row-expression"),
)


@cache
def predictor() -> MatchPredictor:
    """The answers of all engines, each computed once."""
    return MatchPredictor("row-pattern")


def recorded(axis: str, value: str, case: Case) -> CaseResult:
    """What an engine answers that departs in one axis."""
    key = repr((case.events, case.schema))
    try:
        found = predictor().matches(case.query, stream_of(case), key, {**predictor().default, axis: value}, case.output)
    except CerifyError as error:
        return CaseResult(case, "skipped", detail=error.message)
    if isinstance(found, str):
        return CaseResult(case, "error" if found == "error" else "skipped", detail=found)
    return CaseResult(case, "passed" if found == set(case.matches) else "failed", sorted(found))


def defects(axis: str, value: str, feature: str) -> list[Defect]:
    """The defects found in that engine with some cases of a feature, three of which fail."""
    cases = [case for case in load("row-pattern") if case.feature == feature]
    results = [recorded(axis, value, case) for case in cases]
    failing = [result for result in results if result.outcome in ("failed", "error")][:3]
    return defects_behind(Peeler(lambda case, query, S: recorded(axis, value, case)), failing, results)


@pytest.mark.thorough
@pytest.mark.parametrize(("axis", "value", "feature"), PLANTED)
def test_a_planted_departure_is_named(axis: str, value: str, feature: str) -> None:
    found = defects(axis, value, feature)
    assert found
    assert (axis, value) in {(cause.axis, cause.value) for cause in found[0].causes}, found[0].causes
    smallest = found[0].result.case
    assert len(smallest.events) <= 4
    assert len(smallest.query) <= 200


@pytest.mark.parametrize(
    ("axis", "value", "pattern"),
    [
        ("bounds", "ignored", "^ A+ {- B -}"),
        ("exclusion", "shown", "^ A{1,2} B"),
        ("anchors", "ignored", "() A{1,2} {- B -}"),
    ],
)
def test_a_departure_is_another_pattern(axis: str, value: str, pattern: str) -> None:
    departure = DEPARTURES[axis][2][value]
    assert departure.clause is not None
    q = departure.clause(parse("MATCH_RECOGNIZE (PATTERN (^ A{1,2} {- B -}))"))
    assert show_pattern(q.pattern) == pattern


@pytest.mark.parametrize("condition", ["x = 1", "x BETWEEN 1 AND 2", "x IN (1)", "s LIKE 'a'"])
def test_each_test_of_null_may_be_false(condition: str) -> None:
    departure = DEPARTURES["unknown"][2]["false"]
    assert departure.clause is not None
    q = departure.clause(parse(f"MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS {condition} AND x IS NULL)"))
    assert f"COALESCE({condition}, FALSE)" in show(q)
