"""Parquet files that are read part by part have the answers of their tables."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cerify import count, match
from cerify.api import read_query
from cerify.languages.language import Options
from cerify.parts import FileQuery
from cerify.semantics import files
from cerify.semantics.events import Stream

Run = Callable[..., tuple[int, str, str]]
KEYED = "((A ; B+) PARTITION BY [user]) WITHIN 9 seconds"


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PART_ROWS", 13)
    monkeypatch.setattr("cerify.parts.LISTED_ROWS", 7)
    monkeypatch.setattr(sys.modules["cerify.plan"], "LONG", 1)


@pytest.fixture
def never_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        pytest.fail("the file was read as a whole")

    monkeypatch.setattr("cerify.api.as_stream", fail)
    monkeypatch.setattr("cerify.commands.options.read_stream", fail)


def make_log(random: Random, size: int, **columns: Any) -> pa.Table:
    """Return events with text keys, times in whole milliseconds, and attributes that some events lack."""
    times = sorted(random.choices(range(1_700_000_000_000, 1_700_000_000_000 + 2000 * size), k=size))
    types = random.choices("ABC", k=size)
    return pa.table(
        {
            "type": types,
            "time": times,
            "user": random.choices(("ann", "bob", None), k=size),
            "x": [random.random() if R != "C" and random.random() < 0.7 else None for R in types],
            "late": [None] * (size // 2) + [R == "B" for R in types[size // 2 :]],
            "day": pa.array([t // 1000 for t in times], pa.timestamp("s")),
        }
        | columns
    )


def write_parquet(table: pa.Table, folder: Path, cuts: tuple[int, ...] = ()) -> list[str]:
    """Write a table to one or several files."""
    ends = (*cuts, len(table))
    paths = [str(folder / f"{n}.parquet") for n in range(len(ends))]
    for path, start, end in zip(paths, (0, *ends), ends, strict=False):
        pq.write_table(table.slice(start, end - start), path, row_group_size=11)
    return paths


QUERIES = [
    KEYED,
    "(A ; B ; C) WITHIN 6 EVENTS",
    "A+ : B WITHIN 4 seconds",
    "((A ; C ; A) PARTITION BY [user]) WITHIN 20 seconds",
    "(A[user = 'ann'] ; B) WITHIN 30 EVENTS",
    "((A OR C) ; (B OR C)) WITHIN 5 seconds",
]


@pytest.mark.filterwarnings("ignore::cerify.InputWarning")
@pytest.mark.parametrize("cuts", [(), (20, 60, 61)])
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.usefixtures("never_whole")
def test_matches_and_their_number_are_those_of_the_table(query: str, cuts: tuple[int, ...], tmp_path: Path) -> None:
    table = make_log(Random(query), 150)
    paths: Any = write_parquet(table, tmp_path, cuts)
    expected = match(query, Stream(table))
    assert len(expected) > 3
    assert any(m.at // 13 > m.events[0] // 13 for m in expected)  # some lie in two parts
    assert match(query, paths) == expected
    assert count(query, paths) == len(expected)


def read_back(path: Path) -> Any:
    return pq.read_table(path) if path.suffix == ".parquet" else path.read_text()


@pytest.mark.parametrize(
    ("suffix", "show"), [("csv", ()), ("jsonl", ("--show", "late,x,type")), ("parquet", ("--show", "user,x"))]
)
@pytest.mark.parametrize("query", QUERIES)
def test_a_table_of_matches_is_written_as_files_are_read(
    query: str, suffix: str, show: tuple[str, ...], tmp_path: Path, run: Run, request: pytest.FixtureRequest
) -> None:
    paths = write_parquet(make_log(Random(query), 150), tmp_path, (70,))
    whole, parts = tmp_path / f"whole.{suffix}", tmp_path / f"parts.{suffix}"
    status, _, said = run("match", query, *paths, "-o", str(whole), "--format", "parquet", *show)
    request.getfixturevalue("never_whole")
    found = run("match", query, *paths, "-o", str(parts), *show)
    notes, expected = found[2].splitlines(), said.replace("whole.", "parts.").splitlines()
    assert (found[0], notes[-1]) == (status, expected[-1])
    assert {*notes} <= {*expected}  # of the times that are not read there is no note
    assert read_back(parts) == read_back(whole)


@pytest.mark.usefixtures("never_whole")
def test_a_later_part_changes_the_columns(tmp_path: Path, run: Run) -> None:
    """The second event A of a match, and the first value of an attribute, come last."""
    types = [*"AB", *"C" * 50, *"AB", *"C" * 42, *"AAAB"]
    table = pa.table({"type": types, "n": range(100), "x": [None] * 98 + [1.5, None]})
    paths = write_parquet(table, tmp_path)
    out = tmp_path / "out.parquet"
    assert run("match", "(A+ ; B) WITHIN 2 EVENTS", *paths, "-o", str(out))[0] == 0
    assert pq.read_table(out).to_pydict() == {
        "at": [1, 53, 99],
        "events": [[0, 1], [52, 53], [98, 99]],
        "A.n": [0, 52, 98],
        "A.x": [None, None, 1.5],
        "B.n": [1, 53, 99],
    }
    assert run("match", "(A+ ; B) WITHIN 3 EVENTS", *paths, "-o", str(out), "--show", "n")[0] == 0
    assert pq.read_table(out).to_pydict() == {
        "at": [1, 53, 99, 99, 99],
        "events": [[0, 1], [52, 53], [97, 98, 99], [97, 99], [98, 99]],
        "A.n": [[0], [52], [97, 98], [97], [98]],
        "B.n": [1, 53, 99, 99, 99],
    }


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("A ; B", {}),  # without a window all rows are needed for attributes
        (KEYED, {"time": [f"2024-01-01T00:{n // 15:02}:{4 * (n % 15):02}Z" for n in range(150)]}),
        (KEYED, {"user": ["2024-01-01"] * 13 + ["ann"] * 137}),  # a time, as far as the first part shows
        (KEYED, {"user": [None] * 13 + ["2024-01-01"] * 137}),
        (KEYED, {"time": [10**9 + 10 * n for n in range(100)] + [1_700_000_000_000 + 1000 * n for n in range(50)]}),
        (KEYED.replace("+", ""), {"time": [1_700_000_000_000 - 1000 * n for n in range(150)]}),
        (KEYED, {"x": [[1.0]] * 150}),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_needs_all_rows_is_written_from_the_whole_file(
    query: str, columns: dict[str, Any], tmp_path: Path, run: Run
) -> None:
    table = make_log(Random(5), 150)
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    (path,) = write_parquet(table, tmp_path)
    whole, parts = tmp_path / "whole.csv", tmp_path / "parts.csv"
    status, _, said = run("match", query, path, "-o", str(whole), "--format", "parquet")
    found = run("match", query, path, "-o", str(parts))
    assert (found[0], found[2]) == (status, said.replace("whole.", "parts."))
    assert parts.read_text() == whole.read_text()
    assert count(query, path) == len(match(query, path)) == len(match(query, Stream(table)))


@pytest.mark.parametrize("query", ["A ; B", KEYED])
def test_large_files_show_progress_and_the_state_that_grows(
    query: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_log(Random(5), 150)
    (path,) = write_parquet(table.drop_columns(["time"]).append_column("time", table["day"]), tmp_path)
    monkeypatch.setattr("cerify.commands.options.LARGE_FILES", 0)
    said = run("match", query, path, "-o", str(tmp_path / "out.csv"))[2]
    assert ("the query has no window around it, so memory grows" in said) == (query != KEYED)
    reported: list[tuple[str, int, int]] = []
    lang, tree = read_query(query, "cel")
    number = FileQuery(lang, tree, path, Options(), lambda *of: reported.append(of)).count()
    assert number == len(match(query, path))
    assert len(reported) > 5
    assert reported == sorted(reported)
    assert reported[-1] == ("events", 150, 150)
