"""The board of engines: made from the stored runs, and every difference in it has a finding with a section."""

import json

import pytest

from proofs_tests.tools import engine_board
from proofs_tests.tools.engine_board import FINDINGS, Finding, cell, stored

FEATURE = {"cases": 5, "passed": 1, "skipped": 1, "not_passed": {"a/1": "failed", "a/2": "failed", "a/3": "timeout"}}


def test_the_page_is_that_of_the_stored_runs() -> None:
    assert engine_board.PAGE.read_text() == engine_board.page(
        engine_board.results(), engine_board.findings(), engine_board.fuzz_runs()
    )


def test_every_finding_has_its_section() -> None:
    for finding in engine_board.findings():
        assert finding.kind in ("defect", "choice")
        page = (FINDINGS / finding.engine / "README.md").read_text()
        headings = {line[3:].lower().replace(" ", "-") for line in page.splitlines() if line.startswith("## ")}
        assert finding.id in headings


def test_a_cell_counts_what_each_finding_explains_and_what_none_does() -> None:
    known = [
        Finding("esper", "late", "defect", frozenset({"a/1", "other"})),
        Finding("esper", "no", "choice", frozenset()),
    ]
    text = "1 of 4; 1 defect [late](esper/README.md#late); 1 failed, not explained; 1 timeout, not explained"
    assert cell(FEATURE, known) == text


@pytest.mark.parametrize(("feature", "text"), [(None, "not spoken"), ({"cases": 2, "skipped": 2}, "not claimed")])
def test_a_cell_without_claimed_cases(feature: dict[str, int] | None, text: str) -> None:
    assert cell(feature, []) == text


def test_a_run_is_stored_in_short() -> None:
    engine = {"name": "esper", "version": "9"}
    results = [
        {"id": "a/1", "feature": "a", "outcome": "passed"},
        {"id": "a/2", "feature": "a", "outcome": "skipped"},
        {"id": "a/3", "feature": "a", "outcome": "failed"},
    ]
    lines = [json.dumps(line) for line in ({"summary": {"engine": engine}}, *results)]
    assert stored(lines, "2026-11-22") == {
        "engine": engine,
        "date": "2026-11-22",
        "features": {"a": {"cases": 3, "passed": 1, "skipped": 1, "not_passed": {"a/3": "failed"}}},
    }


def test_a_run_of_random_cases_is_a_row() -> None:
    outcomes = {"unsupported": 4, "disagreed": 1}
    summary = {
        "tested": "toy 1",
        "profile": "core",
        "seed": 3,
        "cases": 10,
        "agreed": 5,
        "outcomes": outcomes,
        "more": 0,
    }
    run = engine_board.stored_fuzz([json.dumps({"summary": summary}), "{}"], "2026-11-22")
    assert "| toy 1 | 2026-11-22 | core, 3 | 10 | 6 | 5 | 1 |" in engine_board.page([], [], [run])
