"""The output table of MATCH_RECOGNIZE from Python, and the time limit of the command."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import cerify
from cerify.commands import match as command
from cerify.semantics.errors import BudgetExceeded, Unsupported

TABLE = [{"sym": sym, "price": price} for sym in "AB" for price in (3, 2, 5)]
FALLS = "PARTITION BY sym MEASURES LAST(U.price) AS top PATTERN (D U) DEFINE D AS price < PREV(price)"


@pytest.mark.parametrize("evaluator", [None, "denotational", "automaton"])
def test_the_table_has_the_partition_and_the_measures(evaluator: str | None) -> None:
    table = cerify.match(
        f"MATCH_RECOGNIZE ({FALLS})", TABLE, language="row-pattern", output="rows", evaluator=evaluator
    )
    assert table.columns == ("sym", "top")
    assert table.rows == (("A", 5), ("B", 5))


def test_rows_without_a_match_are_in_the_table() -> None:
    rows = "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A) DEFINE A AS x > 1"
    q = f"MATCH_RECOGNIZE (MEASURES CLASSIFIER() AS label {rows})"
    table = cerify.match(q, [{"x": 1}, {"x": 2}], language="row-pattern", output="rows")
    assert table.rows == ((None, 1), ("A", 2))
    assert table.to_pandas().to_dict("list") == {"label": [None, "A"], "x": [1, 2]}


def test_other_languages_have_no_table() -> None:
    with pytest.raises(Unsupported, match="makes no table"):
        cerify.match("A", [cerify.Event("A")], output="rows")


def test_the_command_stops_after_its_time(tmp_path: Path) -> None:
    """The search would remember two million failures, which takes minutes."""
    file = tmp_path / "x.csv"
    file.write_text("x\n" + "1\n2\n" * 30, encoding="utf-8")
    define = "DEFINE A AS SUM(A.x) < 1000000, B AS SUM(B.x) <> 3, C AS SUM(A.x) = 77777"
    query = f"MATCH_RECOGNIZE (PATTERN ((A | B)* C) {define})"
    arguments = [query, str(file), "--language", "row-pattern", "--time-limit", "0.2"]
    with pytest.raises(BudgetExceeded, match=r"takes more than 0\.2 seconds.*--time-limit"):
        CliRunner().invoke(command.match_command, arguments, catch_exceptions=False, standalone_mode=False)


@pytest.mark.parametrize(
    ("test", "rows"),
    [
        ("b IS TRUE", [0]),
        ("b IS NOT TRUE", [1, 2]),
        ("b IS FALSE", [1]),
        ("b IS NOT FALSE", [0, 2]),
        ("b IS UNKNOWN", [2]),
        ("b IS NOT UNKNOWN", [0, 1]),
        ("x > 1 IS TRUE", [1]),
    ],
)
def test_truth_is_tested_of_what_is_unknown(test: str, rows: list[int]) -> None:
    table = [{"b": True, "x": 1}, {"b": False, "x": 2}, {"x": None}]
    query = f"MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS {test})"
    assert [match.at for match in cerify.match(query, table, language="row-pattern")] == rows


def test_the_time_is_looked_at_among_the_matches_of_one_event(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("type,x\n" + "A,1\n" * 25, encoding="utf-8")  # 16,777,216 matches at the last event
    arguments = ["(A AS x)+", str(file), "--language", "core-cel", "--time-limit", "0.2", "--json"]
    with pytest.raises(BudgetExceeded, match="takes more than"):
        CliRunner().invoke(command.match_command, arguments, catch_exceptions=False, standalone_mode=False)
