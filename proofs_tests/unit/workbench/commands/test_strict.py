"""Commands that run a query over a file say what of it does not fit the events, and with --strict refuse it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proofs_tests.conftest import Run

QUERY = "T FILTER T.temp > 40"
MESSAGE = f"T has no attribute 'temp'; it has id, tmp; did you mean tmp?\n{QUERY}\n         ^^^^^^^^^^^\n"


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """A file of three events."""
    path = tmp_path / "events.csv"
    path.write_text("type,id,tmp\nT,1,40\nT,2,50\nH,1,3\n")
    return path


@pytest.mark.parametrize("command", ["match", "explain", "step", "draw"])
def test_what_does_not_fit_is_a_warning_or_an_error(command: str, events: Path, run: Run) -> None:
    options = ["-o", str(events.with_suffix(".html"))] if command in ("step", "draw") else []
    status, out, err = run(command, QUERY, str(events), *options)
    assert status == (0 if options else 1)
    assert "warning" not in out
    assert err == f"cerify: warning: {MESSAGE}"
    assert run(command, QUERY, str(events), *options, "--strict") == (2, "", f"cerify: {MESSAGE}")


@pytest.mark.parametrize(
    ("query", "language", "message", "place"),
    [
        (
            "T AND H",
            "cel",
            "this has no match on any stream: AND asks for one match of both sides",
            "\nT AND H\n^^^^^^^\n",
        ),
        ("H ; (T FILTER T.tmp > 4 AND T.tmp < 3)", "cel", "this has no match on any stream", "\n     ^^^^^"),
        ("T and H", "event-expression", "it takes place at no event of any history", "\nT and H\n^^^^^^^\n"),
        (
            "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS id > 2 AND id < 1)",
            "row-pattern",
            "no table has a match",
            "\n                          ^\n",
        ),
    ],
)
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_query_that_matches_no_stream_is_a_warning_where_nothing_matched(
    query: str, language: str, message: str, place: str, options: tuple[str, ...], events: Path, run: Run
) -> None:
    """It was said by `check` alone."""
    status, _, err = run("match", query, str(events), "--language", language, *options)
    assert status == 1
    assert err.startswith(f"cerify: warning: {message}")
    assert place in err
    assert run("match", "T ; H ; T", str(events), *options)[::2] == (1, "")


def test_what_takes_long_to_decide_is_no_warning(events: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cerify.commands.options.SOON", 0.0)
    assert run("match", "T AND H", str(events))[::2] == (1, "")


def test_what_fits_is_no_warning(events: Path, run: Run) -> None:
    status, _, err = run("match", "T FILTER T.tmp > 40", str(events), "--strict")
    assert (status, err) == (0, "")


def test_the_schema_of_a_file_of_events(events: Path, run: Run) -> None:
    status, out, _ = run("check", QUERY, "--schema", str(events), "--json")
    (problem,) = json.loads(out)["problems"]
    assert (status, problem["rule"], problem["span"]) == (1, "attribute", [9, 20])
    assert run("check", "T FILTER T.tmp > 40", "--schema", str(events))[0] == 0
    assert run("match", QUERY, str(events), "--schema", str(events))[2] == f"cerify: {MESSAGE}"


def test_the_columns_of_a_file_of_events_can_be_named(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "events.csv"
    path.write_text("kind,when,x\nA,1,1\nA,2,2\n")
    query = ("check", "A+ WITHIN 5 [time]", "--schema", str(path))
    assert run(*query)[0] == 2
    assert run(*query, "--type", "kind")[0] == 1
    assert run(*query, "--type", "kind", "--time", "when")[0] == 0


def test_what_is_left_out_of_a_file_is_a_note(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "events.csv"
    path.write_text("type,id,,\nT,1,,\n")
    note = f"cerify: note: {path}: left out without name and values: column 3, 4\n"
    assert run("match", "T", str(path))[::2] == (0, note)
    assert run("check", "T", "--schema", str(path))[::2] == (0, note)
