"""The page of speed beside other engines: made from what was measured, without times where the matches differ."""

import json
from typing import Any

from proofs_tests.benchmarks import peers
from proofs_tests.tools.engine_board import FINDINGS

ROW: dict[str, Any] = {
    "engine": "toy",
    "version": "1",
    "date": "2026-11-23",
    "query": "Q1",
    "events": 1000,
    "matches": 7,
    "found": 7,
    "theirs": {"thread": 0.5, "process": 1.0},
    "ours": {"thread": 0.01, "process": 0.02},
    "ratio": 50.0,
    "spread": [40.0, 60.0],
}


def test_the_page_is_that_of_what_was_measured() -> None:
    run = json.loads((FINDINGS / "speed.json").read_text())
    assert (FINDINGS / "speed.md").read_text() == peers.page(run)


def test_a_row_has_the_times_of_both() -> None:
    assert peers.cells(ROW) == ["Q1", "1,000", "7", "500 ms", "1,000 ms", "20 ms", "1,000", "50 (40 to 60)"]


def test_where_the_matches_differ_or_there_is_no_answer_there_are_no_times() -> None:
    assert peers.cells(ROW | {"found": 6}) == ["Q1", "1,000", "6, where there are 7", *[""] * 5]
    assert peers.cells({"query": "Q1", "why": "no words | for it"})[2:] == ["no words \\| for it", *[""] * 5]
