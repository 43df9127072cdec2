"""The cases of the adapters' tests in Java: their trees and matches are those of the queries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from cerify import protocol
from cerify.conformance import sql
from cerify.conformance.engines import ADAPTERS
from proofs_tests.tools.adapter_cases import case_of, completed, files, matches, tables

LARGE = 200_000  # bytes; a larger file takes over a second


def parameters() -> list[ParameterSet]:
    """The files, a large one for the thorough tests."""
    return [
        pytest.param(
            path,
            id=f"{path.parents[3].name}/{path.stem}",
            marks=[pytest.mark.thorough] if path.stat().st_size > LARGE else [],
        )
        for path in files()
    ]


@pytest.mark.parametrize("path", parameters())
def test_the_file_has_the_trees_and_matches_of_its_queries(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "".join(f"{line}\n" for line in completed(text)) == text


@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parents[3].name}/{path.stem}")
def test_each_line_is_a_run_message(path: Path) -> None:
    for text in path.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        names = ("language", "query", "tree", "schema", "events", "output", "sql")
        message = {name: line[name] for name in names if name in line}
        assert protocol.read(protocol.line({"cmd": "run", "id": "", **message}), "run")["tree"] is not None


@pytest.mark.parametrize("engine", ["calcite", "flink-sql", "trino"])
def test_the_harness_reads_the_matches_of_the_definition_from_the_tables(engine: str) -> None:
    path = ADAPTERS / "java" / engine / "src" / "test" / "resources" / "cases.jsonl"
    for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        if "error" in line or line["query"].startswith("WINDOW"):  # of which an adapter has no tables here
            continue
        shown = tables(line)
        expected = [protocol.json_of_match(match) for match in sorted(matches(line))]
        assert sql.answer(case_of(line), shown)["matches"] == expected
        assert shown == line.get("tables", shown)


def test_a_wrong_tree_and_a_wrong_match_are_seen() -> None:
    written = {"language": "cel", "query": "A", "events": [{"type": "A"}], "tree": None, "matches": []}
    (line,) = map(json.loads, completed(json.dumps(written)))
    assert line["tree"] == {"node": "Event", "type": "A"}
    assert line["matches"] == [{"at": 0, "events": [0]}]
