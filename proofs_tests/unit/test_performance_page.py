"""The pages with tables about speed have the figures that are stored, and no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from proofs_tests.benchmarks import keys, page, recognize
from proofs_tests.benchmarks.figure import Figure

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", page.PAGES)
def test_the_tables_are_made_from_the_stored_figures(name: str) -> None:
    text = (DOCS / name).read_text(encoding="utf-8")
    figures, others = page.read(DOCS), page.peers(DOCS)
    again = "python -m proofs_tests.benchmarks --write docs --from docs/guide/performance.jsonl"
    assert page.rendered(text, figures, others) == text, again


def test_another_figure_makes_another_page() -> None:
    text = (DOCS / page.PAGES[0]).read_text(encoding="utf-8")
    changed = [one | {"value": 1.5 * one["value"]} for one in page.read(DOCS)]
    assert page.rendered(text, changed, page.peers(DOCS)) != text


def test_every_stored_figure_is_on_a_page_once_and_says_where_it_is_from() -> None:
    text = "".join((DOCS / name).read_text(encoding="utf-8") for name in page.PAGES)
    names = [one["name"] for one in page.read(DOCS)]
    assert len(names) == len(set(names))
    for one in page.read(DOCS):
        group = one["name"].partition(".")[0]
        part = f"<!-- table: {group} -->" if group in page.SHARES else f"| `{one['name']}` |"
        assert text.count(part) == 1, one["name"]
        assert {"machine", "version", "date", "load"} <= one.keys()
        assert {"cpu", "cores", "python"} <= one["machine"].keys()


def test_the_parts_of_an_identity_on_spark() -> None:
    """By the CPU, in parentheses by the wall; what is below its target is in bold type."""
    turns = {"matches": [(4.0, 2.0)], "count": [(1.0, 1.0)], "group": [(2.0, 1.0)], "plan": [(8.0, 4.0)]}
    figures = [one.as_json() for one in keys.figures(10, 1, 1_000_000, turns)]
    text = page.rendered("<!-- table: keys -->\n<!-- end of table -->", figures, [])
    lines = text.splitlines()
    assert lines[2].count("|") == lines[4].count("|") == 10
    assert lines[4] == (
        "| 10 | 1 | 500,000 | 50&nbsp;% (50&nbsp;%) | 200&nbsp;% (200&nbsp;%) "
        "| 1&nbsp;M | 100&nbsp;% (200&nbsp;%) | 400&nbsp;% (800&nbsp;%) | 200&nbsp;% (400&nbsp;%) |"
    )
    slow = [one | {"ratio": 0.4, "met": False} if one["name"] == "keys.count.plan.10.1.cpu" else one for one in figures]
    assert "**40&nbsp;%** (800&nbsp;%)" in page.rendered(text, slow, [])


def test_the_figures_of_clauses_on_spark_are_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognize, "watched", lambda plan: (1.0, 2.0))
    figures = [one.as_json() for one in recognize.figures(None, 500_000, 100)]  # type: ignore[arg-type]
    lines = page.rendered("<!-- table: recognize -->\n<!-- end of table -->", figures, []).splitlines()
    assert lines[2].startswith(
        "| rows in a partition | cores | a row per match: rows/CPU s | of groups | of the same plan | all"
    )
    assert lines[4] == (
        "| 100 | 2 | 250,000 | 100&nbsp;% (100&nbsp;%) | 100&nbsp;% (100&nbsp;%) "
        "| 250,000 | 100&nbsp;% (100&nbsp;%) | 100&nbsp;% (100&nbsp;%) |"
    )


def test_figures_take_the_place_of_earlier_ones(tmp_path: Path) -> None:
    for folder in ("guide", "findings"):
        (tmp_path / folder).mkdir()
    (tmp_path / page.PEERS).write_text('{"rows": []}')
    for name in page.PAGES:
        (tmp_path / name).write_text("# Speed\n\n<!-- table: cores text -->\n<!-- end of table -->\nafter\n")
    slow = Figure("cores.keys", 2e6, "events/s", "one thread", 1.5, 9, (1e6, 3e6), "≥ 1.8 ×", False)
    other = Figure("text.csv", 0.25, "s", "Arrow's reader", 1.3, 5, (0.25, 0.25))
    page.write(tmp_path, [slow.as_json(), other.as_json()])
    page.write(tmp_path, [replace(slow, value=4.21e6, ratio=1.91, met=True).as_json()])
    lines = (tmp_path / page.PAGES[0]).read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| `")]
    assert rows == [
        "| `cores.keys` | 4.21 M events/s (1 M to 3 M) | 1.91 × as fast as one thread | ≥ 1.8 × | met |",
        "| `text.csv` | 0.25 s | 1.3 × Arrow's reader |  |  |",
    ]
    assert lines[-1] == "after"
    assert sum(line.startswith("Measured on") for line in lines) == 1
