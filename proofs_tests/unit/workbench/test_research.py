"""Experiments: the same seed gives the same cases, the columns are what they say, and files have the provenance."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cerify import Budget, IllFormed, Stream
from cerify.research import ExperimentCase, evaluation, experiment, random_formulas, sizes, use_queries
from proofs_tests.support import stream

SMALL = random_formulas(range(1, 5), each=3, profile="core", events=6)


def test_a_seed_makes_the_same_cases() -> None:
    found = [experiment(SMALL, [sizes], seed=seed).rows for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    assert len(found[0]) == 12


def test_sizes_are_those_of_known_automata() -> None:
    """A;B needs three states; (A OR B);A+ has different numbers before and after."""
    rows = experiment(use_queries({"seq": "A ; B", "same": "A OR A"}, Stream([])), [sizes]).rows
    assert [(row["name"], row["deterministic"], row["minimal"]) for row in rows] == [("seq", 3, 3), ("same", 2, 2)]


@pytest.mark.parametrize("evaluator", ["denotational", "automaton", "kernel"])
def test_all_evaluators_are_measured_alike(evaluator: str) -> None:
    pytest.importorskip("numba")
    (row,) = experiment(use_queries({"q": "A+ ; B"}, stream("A A B A B")), [evaluation(evaluator)]).rows
    assert row[f"{evaluator}.matches"] == 3 + 7
    assert row["problem"] is None
    assert row[f"{evaluator}.update"] > 0  # type: ignore[operator]


def test_the_time_of_an_event_does_not_grow_with_the_number_of_matches() -> None:
    """`A ; B` has quadratically many matches; the time to read an event stays the same."""
    measures = [evaluation("automaton")]
    runs = [experiment(use_queries({"q": "A ; B"}, stream("A B " * n)), measures) for n in (50, 400)]
    rows = [row for run in runs for row in run.rows]
    short, long = (row["automaton.update"] for row in rows)
    assert rows[1]["automaton.matches"] == 400 * 401 // 2
    assert long < 2.5 * short  # type: ignore[operator]


def test_other_languages() -> None:
    (row,) = experiment(use_queries({"q": "prior(A, B)"}, stream("A B"), "event-expression"), [sizes]).rows
    assert (row["states"], row["minimal"]) == (None, 3)


def test_what_has_no_value_says_why() -> None:
    """The measures after one that fails still have their values."""
    (row,) = experiment(
        use_queries({"q": "A+ ; B"}, stream("A B")), [sizes, evaluation("automaton")], budget=Budget(states=1)
    ).rows
    assert "minimal" not in row
    assert "state" in str(row["problem"])
    correlated = use_queries({"q": "A ; B FILTER A.x = B.x"}, stream("A B"))
    (row,) = experiment(correlated, [sizes, lambda case, budget: {"k": 1}]).rows
    assert row["k"] == 1
    assert row["problem"]


def test_rows_without_a_value_have_the_column() -> None:
    """A query that no automaton carries has None for its states, and a plot leaves it out."""
    S = Stream([{"type": T, "x": 1} for T in "AB"])
    queries = {"two": "A ; B", "across": "A ; B FILTER A.x < B.x"}
    found = experiment(use_queries(queries, S), [sizes])
    assert [row["states"] for row in found.rows] == [3, None]
    assert all(set(row) == set(found.columns) for row in found.rows)


def test_files_have_the_provenance(tmp_path: Path) -> None:
    found = experiment(SMALL, [sizes], seed=7)
    found.write(tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text(encoding="utf-8").splitlines()
    assert "# seed: 7" in lines
    assert sum(not line.startswith("#") for line in lines) == 13
    found.write(tmp_path / "t.parquet")
    table = pq.read_table(tmp_path / "t.parquet")
    assert json.loads(table.schema.metadata[b"cerify"])["seed"] == 7
    assert table.column_names == list(found.columns)
    assert found.to_pandas().attrs["seed"] == 7


def test_a_plot_and_a_wrong_column(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = experiment(SMALL, [sizes])
    found.plot("size", ["states", "minimal"], tmp_path / "t.svg", log=True)
    drawn = (tmp_path / "t.svg").read_text(encoding="utf-8")
    assert "minimal" in drawn
    assert all(f"{name} {value}" in drawn for name, value in found.provenance.items())
    by = {"by": "query", "labels": {"states": "states (number)", "query": "formula"}, "log": "both"}
    found.plot("size", "states", tmp_path / "by.svg", **by)
    assert {"states (number)", "formula A"} & set(re.findall("<!-- (.*?) -->", (tmp_path / "by.svg").read_text()))
    with pytest.raises(IllFormed, match="no column weight"):
        found.plot("size", "states", tmp_path / "by.svg", by="weight")
    for suffix, key in ((".png", b"Description"), (".pdf", b"Subject")):
        found.plot("size", ["states"], tmp_path / f"t{suffix}")
        assert key in (tmp_path / f"t{suffix}").read_bytes()
    with pytest.raises(IllFormed, match="no column weight; the columns are size, query, states"):
        found.plot("size", ["weight"], tmp_path / "u.svg")


def test_wrong_names() -> None:
    with pytest.raises(IllFormed, match="there is no profile 'nothing'"):
        random_formulas([1], 1, "nothing")
    with pytest.raises(IllFormed, match=r"end in \.csv or \.parquet"):
        experiment(lambda rng: [], []).write("t.txt")
    assert experiment(lambda rng: [ExperimentCase({}, query, Stream([])) for query in ()], []).rows == []
