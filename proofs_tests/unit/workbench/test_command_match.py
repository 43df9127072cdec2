"""The commands match and check: what they print, where, and the exit status."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO

import pytest

from cerify import cli, equivalent
from cerify.equivalence.verdict import Equivalent
from proofs_tests.conftest import Run
from proofs_tests.support import EXAMPLES, FIGURE_1

# ---- match and check ----
#

SCHEMA = '{"T": {"id": "int", "tmp": "int"}, "H": {"id": "int", "hum": "int"}}'


@pytest.fixture
def figure_1(tmp_path: Path) -> str:
    """The stream of tods21, Figure 1, as a CSV file."""
    rows = "".join(f"{e.type},{e.get('id')},{e.get('tmp') or ''},{e.get('hum') or ''}\n" for e in FIGURE_1)
    (tmp_path / "figure-1.csv").write_text("type,id,tmp,hum\n" + rows)
    return str(tmp_path / "figure-1.csv")


@pytest.mark.parametrize("evaluator", ["automaton", "denotational"])
@pytest.mark.parametrize("name", ["phi1", "phi1'", "phi2", "phi3", "phi3'"])
def test_the_papers_examples_from_a_file(name: str, evaluator: str, figure_1: str, run: Run) -> None:
    """tods21, section 3: one line for each match."""
    query, expected = EXAMPLES[name]
    status, out, _ = run("match", query, figure_1, "--json", "--evaluator", evaluator, "--schema", SCHEMA)
    lines = [json.loads(line) for line in out.splitlines()]
    assert all(line.keys() == {"at", "events"} for line in lines)
    assert sorted((line["at"], line["events"]) for line in lines) == [
        (at, list(events)) for at in expected for events in sorted(expected[at])
    ]
    assert status == 0


def test_a_correlated_query_by_automaton_and_by_the_definition(figure_1: str, run: Run) -> None:
    """phi5 compares events with each other."""
    query = EXAMPLES["phi5"][0]
    status, out, _ = run("match", query, figure_1, "--json")
    assert status == 0
    assert len(out.splitlines()) == 3
    _, defined, _ = run("match", query, figure_1, "--json", "--evaluator", "denotational")
    assert sorted(out.splitlines()) == sorted(defined.splitlines())


def test_every_evaluator_matches_a_strategy_over_a_comparison(figure_1: str, run: Run) -> None:
    query = "T ; NXT((T IN A ; H IN B) FILTER A.id = B.id)"
    _, defined, _ = run("match", query, figure_1, "--json", "--evaluator", "denotational")
    assert defined
    for chosen in ([], ["--evaluator", "automaton"], ["--evaluator", "kernel"]):
        status, out, err = run("match", query, figure_1, "--json", *chosen)
        assert (status, sorted(out.splitlines()), err) == (0, sorted(defined.splitlines()), "")


def test_what_the_compiled_loops_do_not_carry_points_to_the_definition(figure_1: str, run: Run) -> None:
    query = "MATCH_RECOGNIZE (PATTERN (A+ B+) DEFINE B AS tmp > A.tmp)"
    status, out, err = run("match", query, figure_1, "--language", "row-pattern", "--evaluator", "kernel", "--json")
    assert (status, out) == (2, "")
    assert "try --evaluator denotational\n" in err
    assert err.endswith("^\n")


def test_valuations_have_bindings(figure_1: str, run: Run) -> None:
    query = "(T ; H) IN A FILTER A.id = 0"
    _, out, _ = run("match", query, figure_1, "--json", "--valuations", "--limit", "1")
    assert json.loads(out) == {"at": 2, "events": [1, 2], "bindings": {"A": [1, 2], "H": [2], "T": [1]}}


@pytest.mark.parametrize(("language", "query"), [("cel", "T+ ; H"), ("core-cel", "(T AS x)+ ; H AS y")])
def test_a_selection_is_the_operator_around_the_query(language: str, query: str, figure_1: str, run: Run) -> None:
    for selection, operator in (("strict", "STRICT"), ("next", "NXT"), ("last", "LAST"), ("max", "MAX"), ("all", "")):
        options = figure_1, "--json", "--language", language
        chosen = run("match", query, *options, "--selection", selection)
        assert chosen == run("match", f"{operator}({query})", *options)
        assert chosen[0] == 0


def test_nothing_found_is_no(figure_1: str, run: Run) -> None:
    assert run("match", "T FILTER T.tmp > 1000", figure_1, "--json") == (1, "", "")
    said = "no match in 9 events; cerify explain QUERY FILE says why\n"
    assert run("match", "T FILTER T.tmp > 1000", figure_1) == (1, said, "")


def test_a_query_that_can_never_match_is_said_to_be_by_explain_as_by_match(figure_1: str, run: Run) -> None:
    warnings = [run(command, "T AND H", figure_1)[2] for command in ("match", "explain")]
    assert warnings[0].startswith("cerify: warning: this has no match on any stream")
    assert warnings[0] == warnings[1] == run("explain", "T AND H", figure_1, "--match", "0,1")[2]
    assert run("explain", "T FILTER T.tmp > 1000", figure_1)[2] == ""


def test_a_limit_does_not_wait_for_all_matches(tmp_path: Path, run: Run) -> None:
    """Sixty events have more than 10^17 matches: enumerated before they are cut, they would never come."""
    (tmp_path / "e.csv").write_text("type\n" + "A\n" * 60)
    status, out, _ = run("match", "A+", str(tmp_path / "e.csv"), "--json", "--limit", "2000")
    assert (status, len(out.splitlines())) == (0, 2000)
    status, out, _ = run("match", "A+", str(tmp_path / "e.csv"))
    assert status == 0
    assert "the first 100 matches; there are more" in out
    assert sum(line.split()[:1] != [] and line.split()[0].isdecimal() for line in out.splitlines()) == 100


def test_standard_input_time_and_type_columns(run: Run) -> None:
    text = "kind,at\nT,5\nH,3\n"
    query = "(T ; H) FILTER T.time = 5 AND H.time = 3"
    status, out, _ = run("match", query, "-", "--json", "--type", "kind", "--time", "at", stdin=text)
    assert (status, json.loads(out)) == (0, {"at": 1, "events": [0, 1]})
    status, _, err = run("match", query, "-", "--format", "jsonl", stdin=text)
    assert status == 2
    assert err.startswith("cerify: standard input, line 1: not JSON: ")


def test_the_table_says_positions_events_and_how_many(figure_1: str, run: Run) -> None:
    status, out, _ = run("match", EXAMPLES["phi1"][0], figure_1, "--valuations")
    lines = [line.split() for line in out.splitlines() if line.strip()]
    assert status == 0
    assert lines[0] == ["at", "events", "bindings"]
    assert lines[2] == ["2", "1", "2", "H:", "2"]
    assert lines[3] == ["T:", "1"]
    assert lines[-1] == ["3", "matches", "in", "9", "events"]


def test_on_a_terminal_the_events_are_shown(figure_1: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as rich understands it: standard output is a terminal
    _, out, _ = run("match", "T FILTER T.tmp = 45", figure_1)
    assert "T id=0 tmp=45" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["T ; (H", "{}"], "cerify: the query ends too early; this bracket is never closed\nT ; (H\n    ^\n"),
        (["T", "gone.csv"], "cerify: no file gone.csv\n"),
        (["T", "{}", "--schema", '{"T": {"id": "int"}}'], "cerify: {}, line 2, field 'type': unknown event type 'H'"),
        (["T", "{}", "--schema", "gone.json"], "cerify: no file gone.json\n"),
        (
            ["T", "{}", "--time", "when"],
            "cerify: {}: no column 'when' for the time; the columns are type, id, tmp, hum",
        ),
        (["T FILTER T.hum = 1", "{}", "--schema", SCHEMA], "cerify: T has no attribute 'hum'; it has id, tmp\n"),
    ],
)
def test_what_is_wrong_gets_one_message(arguments: list[str], message: str, figure_1: str, run: Run) -> None:
    status, out, err = run("match", *(a.replace("{}", figure_1) if a == "{}" else a for a in arguments))
    assert (status, out) == (2, "")
    assert err.startswith(message.replace("{}", figure_1))


@pytest.mark.parametrize("option", [["--language", "sql"], ["--evaluator", "x"], ["--limit", "0"], ["--format", "xls"]])
def test_an_option_that_does_not_exist_is_a_usage_error(option: list[str], figure_1: str, run: Run) -> None:
    status, out, err = run("match", "T", figure_1, *option)
    assert (status, out) == (2, "")
    assert f"invalid value for '{option[0]}'" in err


@pytest.mark.slow
def test_the_installed_program_reports_a_bad_row(tmp_path: Path) -> None:
    """As a process of its own, with a real standard input."""
    process = subprocess.run(
        [sys.executable, "-c", "from cerify.cli import main; main()", "match", "T", "-", "--schema", SCHEMA],
        input="type,id\nT,1\nT,x\n", capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr == "cerify: standard input, line 3, field 'id': 'x' is not an integer\n"


def test_check_prints_the_pinned_json(run: Run) -> None:
    assert run("check", "T ; H", "--json", "--schema", SCHEMA) == (
        0,
        '{"language": "cel", "fragment": {"unary": true, "star": true, "beyond_star": []}, '
        '"satisfiable": true, "problems": []}\n',
        "",
    )
    status, out, _ = run("check", "(T ; H) FILTER T.hum = H.id", "--json", "--schema", SCHEMA)
    assert status == 1
    assert json.loads(out) == {
        "language": "cel",
        "fragment": {"unary": False, "star": True, "beyond_star": []},
        "satisfiable": None,
        "problems": [
            {
                "rule": "attribute",
                "message": "T has no attribute 'hum'; it has id, tmp",
                "mend": "name an attribute that the type has, or add this one to the schema",
                "span": [15, 27],
            },
        ],
    }


def test_check_underlines_every_problem(run: Run) -> None:
    status, out, _ = run("check", "T FILTER T.hum = 3 AND X.y = 3", "--schema", SCHEMA)
    assert status == 1
    assert out == (
        "CEL*, unary\n"
        "\nattribute: T has no attribute 'hum'; it has id, tmp\n"
        "T FILTER T.hum = 3 AND X.y = 3\n"
        "         ^^^^^^^^^\n"
        "to mend it: name an attribute that the type has, or add this one to the schema\n"
        "\nunbound: X is not bound here; the bound variables are T\n"
        "T FILTER T.hum = 3 AND X.y = 3\n"
        "                       ^^^^^^^\n"
        "to mend it: bind the variable, or name one that is bound\n"
    )


def test_check_says_what_was_probably_meant(run: Run) -> None:
    status, out, _ = run("check", "(T IN first ; H) FILTER frist.tpm > 3 AND first.tpm > 3", "--schema", SCHEMA)
    assert status == 1
    assert "to mend it: did you mean first? Or bind the variable" in out
    assert "to mend it: did you mean tmp? Or name an attribute" in out


def test_check_names_the_predicates_that_have_to_be_registered(run: Run) -> None:
    query = "(T ; H) FILTER near(T, H) AND hot(T) OR near(T, H)"
    status, out, _ = run("check", query)
    assert status == 0
    assert out.splitlines()[1] == "needs registered predicates: near(T, H), hot(T)"
    answer = json.loads(run("check", query, "--json")[1])
    assert answer["predicates"] == [
        {"name": "near", "variables": ["T", "H"]},
        {"name": "hot", "variables": ["T"]},
    ]


def test_check_finds_a_variable_that_nothing_uses(run: Run) -> None:
    status, out, _ = run("check", "PROJECT[T](T ; H IN spare)")
    assert status == 1
    assert out.splitlines()[2:] == [
        "unused: spare is bound here but never used: no filter around it names it, and no output contains it",
        "PROJECT[T](T ; H IN spare)",
        "               ^^^^^^^^^^",
        "to mend it: leave the variable out, or use it in a filter or in PROJECT",
    ]


def test_check_underlines_what_does_not_parse(run: Run) -> None:
    """A text that is no formula is an input error, not a formula with a problem."""
    status, out, err = run("check", "T ;; H", "--json")
    assert (status, out) == (2, "")
    assert err.startswith("cerify: ';' is not expected here")
    assert err.endswith("\nT ;; H\n   ^\n")


def test_core_cel_is_matched_and_checked_by_its_own_definition(figure_1: str, run: Run) -> None:
    correlated = "(H AS x ; (T AS y FILTER y.id = x.id)+ ; H AS z) FILTER x.hum < 30 AND z.hum > 60 AND x.id = z.id"
    status, out, _ = run("match", correlated, figure_1, "--language", "core-cel", "--json")
    assert status == 0
    assert [json.loads(line)["events"] for line in out.splitlines()] == [[3, 4, 6, 7], [3, 4, 7], [3, 6, 7]]
    _, by_automaton, _ = run(
        "match", correlated, figure_1, "--language", "core-cel", "--json", "--evaluator", "automaton"
    )
    assert sorted(by_automaton.splitlines()) == sorted(out.splitlines())
    status, out, _ = run("check", "T AS x ; T AS x", "--language", "core-cel", "--json")
    assert status == 1
    assert json.loads(out)["fragment"] == {"unary": True, "well_formed": True, "safe": False, "lp_normal": True}


@pytest.mark.parametrize(
    ("query", "unary", "words"),
    [
        ("A+ WITHIN 3 EVENTS", False, "equiv decides it"),
        ("A+ WITHIN 3 seconds", False, "equiv decides it"),
        ("A+ PARTITION BY [x]", False, "equiv decides it"),
        ("A+ FILTER A.x < A.x", False, "it compares events with each other"),
        ("A{2,3}", True, "CEL*, unary"),
    ],
)
def test_check_says_what_an_automaton_carries(query: str, unary: bool, words: str, run: Run) -> None:
    """A window that counts is not unary by Definition 4.1, and decided all the same."""
    assert words in run("check", query)[1].splitlines()[0]
    assert json.loads(run("check", query, "--json")[1])["fragment"]["unary"] is unary
    decided = run("equiv", query, f"({query}) AND ({query})", "--bound", "0")[1].startswith("equivalent")
    assert decided is (unary or "equiv decides" in words)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mtach", "A", "x.csv"], "did you mean 'match'?"),
        (["grade", "cel-thn"], "did you mean 'cel-then'?"),
        (
            ["check", "A ; B filter A.x > 1"],
            "written in capitals: FILTER\nA ; B filter A.x > 1\n      ^^^^^^",
        ),
        (["check", "PATTERN SEQ(A a, B b)"], "it is a query in another language: --language sase"),
        (["check", "relative(A, B)"], "it is a query in another language: --language event-expression"),
        (["check", "A ; B", "--language", "sase"], "it is a query in another language: --language cel"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_nearly_right_is_named(arguments: list[str], message: str, run: Run) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert message in err


def test_what_is_a_query_in_no_language_has_no_such_hint(run: Run) -> None:
    _, _, err = run("check", "A ; ; B")
    assert "another language" not in err


# ---- strict ----
# Commands that run a query over a file say what of it does not fit the events, and with --strict refuse it.

QUERY = "T FILTER T.temp > 40"
MESSAGE = f"T has no attribute 'temp'; it has id, tmp; did you mean tmp?\n{QUERY}\n         ^^^^^^^^^^^\n"


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """A file of three events."""
    path = tmp_path / "events.csv"
    path.write_text("type,id,tmp\nT,1,40\nT,2,50\nH,1,3\n")
    return path


@pytest.mark.parametrize("command", ["match", "explain", "step", "draw"])
@pytest.mark.slow
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
            "this has no match on any stream: AND needs one match that both sides have",
            "\nT AND H\n^^^^^^^\n",
        ),
        ("H ; (T FILTER T.tmp > 4 AND T.tmp < 3)", "cel", "this has no match on any stream", "\n     ^^^^^"),
        (
            "T and H",
            "event-expression",
            "the expression takes place at no event of any history",
            "\nT and H\n^^^^^^^\n",
        ),
        (
            "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS id > 2 AND id < 1)",
            "row-pattern",
            "no table has a match",
            "\n                          ^\n",
        ),
    ],
)
@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.slow
def test_a_query_that_matches_no_stream_is_a_warning_where_nothing_matched(
    query: str, language: str, message: str, place: str, options: tuple[str, ...], events: Path, run: Run
) -> None:
    """It was said by `check` alone."""
    status, _, err = run("match", query, str(events), "--language", language, *options)
    assert status == 1
    assert err.startswith(f"cerify: warning: {message}")
    assert place in err
    assert run("match", "T ; H ; T", str(events), *options)[::2] == (1, "")


@pytest.mark.slow
def test_what_takes_long_to_decide_is_no_warning(events: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cerify.commands.options.SOON", 0.0)
    assert run("match", "T AND H", str(events))[::2] == (1, "")


@pytest.mark.slow
def test_what_fits_is_no_warning(events: Path, run: Run) -> None:
    status, _, err = run("match", "T FILTER T.tmp > 40", str(events), "--strict")
    assert (status, err) == (0, "")


@pytest.mark.slow
def test_the_schema_of_a_file_of_events(events: Path, run: Run) -> None:
    status, out, _ = run("check", QUERY, "--schema", str(events), "--json")
    (problem,) = json.loads(out)["problems"]
    assert (status, problem["rule"], problem["span"]) == (1, "attribute", [9, 20])
    assert run("check", "T FILTER T.tmp > 40", "--schema", str(events))[0] == 0
    assert run("match", QUERY, str(events), "--schema", str(events))[2] == f"cerify: {MESSAGE}"


@pytest.mark.slow
def test_the_columns_of_a_file_of_events_can_be_named(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "events.csv"
    path.write_text("kind,when,x\nA,1,1\nA,2,2\n")
    query = ("check", "A+ WITHIN 5 [time]", "--schema", str(path))
    assert run(*query)[0] == 2
    assert run(*query, "--type", "kind")[0] == 1
    assert run(*query, "--type", "kind", "--time", "when")[0] == 0


@pytest.mark.slow
def test_what_is_left_out_of_a_file_is_a_note(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "events.csv"
    path.write_text("type,id,,\nT,1,,\n")
    note = f"cerify: note: {path}: ignored column 3, 4: no name and no values\n"
    assert run("match", "T", str(path))[::2] == (0, note)
    assert run("check", "T", "--schema", str(path))[::2] == (0, note)


# ---- streams ----
# Standard streams that are closed, full, unread or in another encoding: no status is a wrong answer, or a fault.

Streams = Callable[..., int]

FULL = pytest.param(
    partial(open, "/dev/full", "w"),
    id="full",
    marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux"),
)
CLOSED = pytest.param(lambda: None, id="closed")


def unread() -> IO[str]:
    """The writing end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return open(writing, "w")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, in which commands are run, with a stream and a certificate."""
    verdict = equivalent("A", "A")
    assert isinstance(verdict, Equivalent)
    (tmp_path / "good.json").write_text(verdict.certificate.to_json())
    (tmp_path / "g.csv").write_text("type\nA\nB\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def status(monkeypatch: pytest.MonkeyPatch) -> Iterator[Streams]:
    """Runs the command line in this process with these standard streams: its exit status."""
    opened: list[IO[str] | None] = []

    def status(*arguments: str, **streams: IO[str] | None) -> int:
        opened.extend(streams.values())  # none is closed before the end of the test
        with monkeypatch.context() as patched:
            patched.setattr("sys.argv", ["cerify", *arguments])
            for name, stream in streams.items():
                patched.setattr(f"sys.{name}", stream)
            with pytest.raises(SystemExit) as exit_:
                cli.main()
        assert isinstance(exit_.value.code, int)
        return exit_.value.code

    yield status
    for stream in opened:
        with suppress(OSError):
            if stream is not None:
                stream.close()


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("stderr", [CLOSED, FULL, pytest.param(unread, id="unread")])
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("match|A ; B|g.csv", 0),
        ("match|A ; B|none.csv", 2),
        ("match|A ;|g.csv", 2),
        ("match|A|g.csv|--limit|0", 2),
        ("match|A ; C|g.csv", 1),
        ("equiv|A|A", 0),
        ("equiv|A|B", 1),
        ("verify|good.json", 0),
        ("check|A", 0),
        ("simplify|A OR A", 0),
        ("conform|--engine|automaton|--case|cel/ex3/phi1", 0),
        ("fuzz|--evaluator|automaton|--cases|1", 0),
        ("", 2),
    ],
)
@pytest.mark.slow
def test_the_status_does_not_depend_on_standard_error(
    command: str, expected: int, stderr: Callable[[], IO[str] | None], status: Streams
) -> None:
    """Status 1, that of an exception in Python, was read as "they differ", "it failed" and "it does not prove"."""
    assert status(*filter(None, command.split("|")), stderr=stderr()) == expected


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("stdout", [CLOSED, FULL])
@pytest.mark.parametrize(
    "command",
    [
        "match|A ; B|g.csv",
        "check|A",
        "equiv|A|A",
        "verify|good.json",
        "explain|A ; B|g.csv",
        "draw|A|--svg",
        "grade",
        "engines",
        "fuzz|--evaluator|automaton|--cases|1",
        "--help",
        "match|--help",
    ],
)
@pytest.mark.slow
def test_an_answer_that_cannot_be_written_is_an_error(
    command: str,
    stdout: Callable[[], IO[str] | None],
    status: Streams,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert status(*command.split("|"), stdout=stdout()) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("cerify: cannot write to standard output: ")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", ["match|A ; B|g.csv", "match|A ; C|g.csv", "equiv|A|B", "match|--help"])
def test_a_status_without_reader_is_no_answer(command: str, status: Streams) -> None:
    """It was 1: nothing matched, they differ."""
    assert status(*command.split("|"), stdout=unread()) == 141


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("command", "expected", "message"),
    [
        ("match|A|-|--format|csv", 2, "cerify: standard input: empty; a CSV file starts with a line of column names\n"),
        ("explain|A|-", 2, "cerify: standard input: empty; a CSV file starts with a line of column names\n"),
        ("engine", 0, ""),
    ],
)
def test_a_closed_standard_input_is_empty(
    command: str, expected: int, message: str, status: Streams, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(*command.split("|"), stdin=None) == expected
    assert capsys.readouterr() == ("", message)


def test_a_standard_input_that_cannot_be_read_is_an_error(
    files: Path, status: Streams, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message was that it cannot be written."""
    with (files / "out").open("w") as out, open(out.fileno(), closefd=False) as stdin:
        assert status("match", "A", "-", stdin=stdin) == 2
    assert capsys.readouterr().err.startswith("cerify: cannot read standard input: ")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "ascii", "koi8-r", "utf-16", "utf-8"])
@pytest.mark.parametrize(
    "command",
    [
        "explain|A ; B|g.csv",
        "draw|A ; é⊕|--svg",
        "draw|A ; é⊕|--dot",
        "simplify|A ∨ A ∨ é𝒜|--steps|--json",
        "match|A ; B|g.csv",
    ],
)
def test_an_encoding_without_some_characters_has_their_escapes(
    command: str, encoding: str, status: Streams, run: Run
) -> None:
    """A redirected output on Windows is often in cp1252, which has no characters to draw lines."""
    data = io.BytesIO()
    answer = status(*command.split("|"), stdout=io.TextIOWrapper(data, encoding))
    written = data.getvalue().decode("utf-8" if encoding == "ascii" else encoding)  # click: ASCII means none is chosen
    expected = run(*command.split("|"))
    assert (answer, len(written.splitlines())) == (expected[0], len(expected[1].splitlines()))
    if "--json" in command:
        assert json.loads(written) == json.loads(expected[1])
    if encoding.startswith("utf"):
        assert written.replace("\r\n", "\n") == expected[1]


def test_the_engine_answers_in_utf_8(status: Streams) -> None:
    """The protocol is UTF-8, whatever the encoding of the locale."""
    data, asked = io.BytesIO(), json.dumps({"cmd": "é"}, ensure_ascii=False).encode()
    assert status("engine", stdout=io.TextIOWrapper(data, "cp1252"), stdin=io.TextIOWrapper(io.BytesIO(asked))) == 0
    assert "not 'é'" in json.loads(data.getvalue().decode())["error"]["message"]


@pytest.mark.skipif(sys.platform == "win32", reason="redirections of a shell")
@pytest.mark.parametrize(
    ("redirected", "expected"),
    [("match 'A ; B' g.csv --json 2>&- <&-", 0), ("match 'A ;' g.csv 2>/dev/full", 2), ("equiv A A >&-", 2)],
)
@pytest.mark.slow
def test_streams_of_a_process(redirected: str, expected: int, files: Path) -> None:
    """Also the last flush of Python, at the exit, changes nothing."""
    ran = subprocess.run(
        ["sh", "-c", f'exec "{sys.executable}" -m cerify.cli {redirected}'],
        cwd=files,
        stdout=subprocess.PIPE,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (expected, b'{"at": 1, "events": [0, 1]}\n' if expected == 0 else b"")
