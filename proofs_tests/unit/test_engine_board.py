"""The board of engines: made from the stored runs, and every difference in it has a finding with a section."""

import json
from typing import Any

import pytest

from proofs_tests.tools import engine_board
from proofs_tests.tools.engine_board import FINDINGS, Finding, cell, stored

FEATURE = {"cases": 5, "passed": 1, "skipped": 1, "not_passed": {"a/1": "failed", "a/2": "failed", "a/3": "timeout"}}


def test_the_page_is_that_of_the_stored_runs() -> None:
    assert engine_board.PAGE.read_text() == engine_board.page(
        engine_board.results(), engine_board.findings(), engine_board.fuzz_runs(), engine_board.profiles()
    )


def test_the_comparison_is_that_of_the_stored_runs() -> None:
    page = engine_board.COMPARISON.read_text()
    assert page == engine_board.compared(engine_board.results(), engine_board.findings())


def test_of_two_runs_of_one_day_that_of_the_later_version_is_the_newest() -> None:
    versions = ("5.1.9", "5.1.30", "5.1.27", "5.2.1")
    runs = [{"engine": {"name": "e", "version": version}, "date": "2026-11-23"} for version in versions]
    assert engine_board.newest(runs)[0]["engine"]["version"] == "5.2.1"
    assert engine_board.newest(runs[:3])[0]["engine"]["version"] == "5.1.30"
    assert engine_board.newest([*runs, runs[0] | {"date": "2026-11-24"}])[0]["engine"]["version"] == "5.1.9"


def test_a_run_held_to_choices_is_among_all_runs_alone() -> None:
    """It is compared with the version before that was held to the same."""

    def run(version: str, failing: str, **held: str) -> dict[str, Any]:
        feature = {"cases": 4, "passed": 4 - len(failing), "skipped": 0, "not_passed": dict.fromkeys(failing, "failed")}
        engine = {"name": "e", "version": version}
        return {"engine": engine, "date": "2026-11-23", "features": {"seq": feature}, "answers": {}, **held}

    runs = [run("2", "bc"), run("1", "ab"), run("2", "c", held_to="cel with seq=x"), run("1", "a")]
    runs[3]["held_to"] = "cel with seq=x"
    assert engine_board.newest(runs) == [runs[0]]
    assert list(engine_board.history(runs)) == [
        ["e 1", "2026-11-23", "", "2 of 4", "4", "", ""],
        ["e 2", "2026-11-23", "", "2 of 4", "4", "1", "1"],
        ["e 1", "2026-11-23", "cel with seq=x", "3 of 4", "4", "", ""],
        ["e 2", "2026-11-23", "cel with seq=x", "3 of 4", "4", "1", "1"],
    ]
    summary = {"engine": runs[0]["engine"], "held_to": "cel with seq=x"}
    assert stored([json.dumps({"summary": summary})], "2026-11-23")["held_to"] == "cel with seq=x"


def test_a_cell_of_the_comparison_is_what_was_stored() -> None:
    run = {"engine": {"name": "esper", "version": "9"}, "date": "2026-11-22", "features": {}}
    answers = {"cel/seq/001": "passed", "cel/seq/007": "{0, 1, 3} at 3", "cel/cseq/001": "skipped"}
    finding = Finding("esper", "late", "defect", frozenset({"cel/seq/007"}))
    page = engine_board.compared([run | {"answers": answers}], [finding])
    ends = {line.split("`")[1]: line.split(" | ")[-1].removesuffix(" |") for line in page.splitlines() if "| `" in line}
    assert ends["cel/seq/001"] == "as defined"
    assert ends["cel/seq/007"] == "{0, 1, 3} at 3: [late](../findings/esper/README.md#late)"
    assert ends["cel/cseq/001"] == "skipped"
    assert ends["cel/plus/002"] == "not checked"
    assert ends["sase/sase-any/001"] == "not spoken"


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
    text = "1 of 4; 1 by defect [late](esper/README.md#late); 1 failed, not explained; 1 timeout, not explained"
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
        {"id": "cel/seq/001", "feature": "seq", "outcome": "failed", "got": [{"at": 3, "events": [0, 3]}]},
    ]
    lines = [json.dumps(line) for line in ({"summary": {"engine": engine}}, *results)]
    assert stored(lines, "2026-11-22") == {
        "engine": engine,
        "date": "2026-11-22",
        "features": {
            "a": {"cases": 3, "passed": 1, "skipped": 1, "not_passed": {"a/3": "failed"}},
            "seq": {"cases": 1, "passed": 0, "skipped": 0, "not_passed": {"cel/seq/001": "failed"}},
        },
        "answers": {"cel/seq/001": "{0, 3} at 3"},
    }


def test_a_profile_is_a_row_of_what_departs() -> None:
    as_defined = {"value": "any", "answers": 9, "explained": 9}
    axes = {"seq": as_defined, "emit": as_defined | {"value": "one-later", "explained": 8}, "loop": {"value": None}}
    profile = {"engine": {"name": "toy", "version": "1"}, "date": "2026-11-22", "language": "cel", "questions": 40}
    (row,) = engine_board.profile_rows([profile | {"axes": axes}])
    assert row == ["toy 1", "2026-11-22", "cel", "40", "`emit=one-later` 8 of 9", "`loop`"]


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
