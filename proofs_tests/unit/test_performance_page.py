"""The page about speed has the figures that are stored, and no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from proofs_tests.benchmarks import page
from proofs_tests.benchmarks.figure import Figure

DOCS = Path(__file__).parents[2] / "docs"


def test_the_tables_are_made_from_the_stored_figures() -> None:
    text = (DOCS / page.PAGE).read_text(encoding="utf-8")
    figures, others = page.read(DOCS), page.peers(DOCS)
    again = "python -m proofs_tests.benchmarks --write docs --from docs/guide/performance.jsonl"
    assert page.rendered(text, figures, others) == text, again
    changed = [one | {"value": 1.5 * one["value"]} for one in figures]
    assert page.rendered(text, changed, others) != text


def test_every_stored_figure_is_on_the_page_once_and_says_where_it_is_from() -> None:
    text = (DOCS / page.PAGE).read_text(encoding="utf-8")
    names = [one["name"] for one in page.read(DOCS)]
    assert len(names) == len(set(names))
    for one in page.read(DOCS):
        assert text.count(f"| `{one['name']}` |") == 1, one["name"]
        assert {"machine", "version", "date", "load"} <= one.keys()
        assert {"cpu", "cores", "python"} <= one["machine"].keys()


def test_figures_take_the_place_of_earlier_ones(tmp_path: Path) -> None:
    for folder in ("guide", "findings"):
        (tmp_path / folder).mkdir()
    (tmp_path / page.PEERS).write_text('{"rows": []}')
    (tmp_path / page.PAGE).write_text("# Speed\n\n<!-- table: cores text -->\n<!-- end of table -->\nafter\n")
    slow = Figure("cores.keys", 2e6, "events/s", "one thread", 1.5, 9, (1e6, 3e6), "≥ 1.8 ×", False)
    other = Figure("text.csv", 0.25, "s", "Arrow's reader", 1.3, 5, (0.25, 0.25))
    page.write(tmp_path, [slow.as_json(), other.as_json()])
    page.write(tmp_path, [replace(slow, value=4.21e6, ratio=1.91, met=True).as_json()])
    lines = (tmp_path / page.PAGE).read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| `")]
    assert rows == [
        "| `cores.keys` | 4.21 M events/s (1 M to 3 M) | 1.91 × as fast as one thread | ≥ 1.8 × | met |",
        "| `text.csv` | 0.25 s | 1.3 × Arrow's reader |  |  |",
    ]
    assert lines[-1] == "after"
    assert sum(line.startswith("Measured on") for line in lines) == 1
