"""`cerify conform` and `cerify engine` as a person runs them."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as ET

import psutil
import pytest

from cerify.conformance.cases import load
from proofs_tests.conftest import Run
from proofs_tests.support import sampled

CERIFY = [sys.executable, "-m", "cerify.cli"]
RUDE = Path(__file__).parent / "engines" / "rude.py"
BROKEN = ("-m", "proofs_tests.integration.engines.broken")


def case(query: str, matches: str) -> str:
    """A line of a suite over one event."""
    return (
        f'{{"id": "x", "feature": "f", "clause": "c", "language": "cel", "query": "{query}", "output": "matches", '
        f'"events": [{{"type": "A"}}], "matches": {matches}}}'
    )


def in_a_process(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CERIFY, *arguments], input=stdin, capture_output=True, text=True, timeout=120)


SKIPS = (
    "partitions formulas that wait for their events",
    "takes place for each value of",
    "depends on the match so far, not only on columns",
)


WINDOWS = "automaton --suite cel-windows"


@pytest.mark.parametrize("engine", sampled([WINDOWS, "automaton", "denotational", "kernel"], [WINDOWS]))
def test_our_engines_conform_on_all_they_claim(run: Run, engine: str) -> None:
    status, out, err = run("conform", "--json", "--engine", *engine.split())
    assert status == 0, out + err
    first, *rest = map(json.loads, out.splitlines())
    totals = first["summary"]["totals"]
    assert sum(totals.values()) == first["summary"]["cases"] == len(rest) >= 300
    assert totals["passed"] + totals["skipped"] == len(rest)
    assert totals["skipped"] == sum(case["outcome"] == "skipped" for case in rest)
    if engine == "denotational":
        assert totals["skipped"] == 0
    for case in rest:
        assert case["outcome"] != "skipped" or any(reason in case["detail"] for reason in SKIPS)


@pytest.mark.thorough
def test_a_broken_engine_gets_a_report_in_every_form(run: Run, tmp_path: Path) -> None:
    html, junit = tmp_path / "report.html", tmp_path / "report.xml"
    engine = [sys.executable, *BROKEN, "cseq: off by one"]
    status, out, _ = run("conform", "--feature", "cseq", "--html", str(html), "--junit", str(junit), "--", *engine)
    assert status == 1
    assert "departs from the semantics" in out
    assert "A : A" in out
    assert "A : A" in html.read_text(encoding="utf-8")
    suite = ET.parse(junit).getroot()
    assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure")) > 0
    assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))


@pytest.mark.thorough
def test_cases_that_were_not_run_are_counted_apart(run: Run) -> None:
    """An engine that got no question has no wrong answer."""
    _, out, _ = run("conform", "--suite", "cel-core", "--feature", "seq", "--", sys.executable, str(RUDE), "dies")
    counts = re.search(r"(\d+) of (\d+) passed, 0 skipped, (\d+) not run, 10 restarts", out)
    assert counts is not None, out
    passed, cases, not_run = map(int, counts.groups())
    assert f"departs from the semantics in {cases - passed - not_run} cases" in out


@pytest.mark.parametrize("option", ["--html", "--junit"])
def test_a_file_that_cannot_be_written_takes_no_report_away(run: Run, option: str, tmp_path: Path) -> None:
    """Nor does a feature that looks like markup of a terminal."""
    suite = tmp_path / "mine.jsonl"
    line = case("A", '[{"at": 0, "events": [0]}]').replace('"f"', '"seq[/x]"')
    suite.write_text(f"{line}\n", encoding="utf-8")
    target = tmp_path / ("x" * 300)  # too long a name
    status, out, err = run("conform", "--engine", "denotational", "--suite", str(suite), option, str(target))
    assert status == 2
    assert "1 of 1 passed" in out
    assert "seq[/x]" in out
    assert f"cannot write {target}" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "after --, or a built-in engine with --engine"),
        (["--engine", "nobody"], "no engine 'nobody'; there are automaton"),
        (["--engine", "automaton", "--suite", "none"], "no suite 'none'"),
        (
            ["--engine", "automaton", "--feature", "sequ"],
            "no feature sequ; did you mean seq, cseq? `cerify conform ",
        ),
        (["--engine", "automaton", "--feature", "blah"], "in all); `cerify conform --list` lists"),
        (
            ["--engine", "automaton", "--suite", "cel-windows", "--feature", "xyz"],
            "no feature xyz; it has partition, within",
        ),
        (
            ["--engine", "automaton", "--html", "/no/such/folder/x.html"],
            "'--html': the folder /no/such/folder does not exist",
        ),
        (["--", "no-such-engine-anywhere"], "cannot be started: no-such-engine-anywhere"),
        (["--", sys.executable, str(RUDE), "dies at once"], "no licence"),
    ],
)
def test_what_is_wrong_gets_one_message_and_status_2(run: Run, arguments: list[str], says: str) -> None:
    status, _, err = run("conform", *arguments)
    assert status == 2
    assert says in err


def test_features_are_listed_without_an_engine(run: Run) -> None:
    status, out, _ = run("conform", "--list", "--suite", "cel-windows")
    assert (status, [line.split("\t")[:2] for line in out.splitlines()]) == (
        0,
        [["cel", "within"], ["cel", "partition"]],
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("not json", "line 2: not JSON"),
        ('{"id": "x"}', "line 2: the field 'feature' is missing"),
        (
            '{"id": "x", "feature": "f", "clause": "c", "language": "cel", "query": "A", "output": "matches", '
            '"schema": {"A": {"x": "int"}}, "events": [{"type": "A", "x": "one"}], "matches": []}',
            "line 2, event 0, field 'x'",
        ),
        (case("A ;; B", "[]"), "line 2: the field 'query': ';' is not expected here"),
        (
            case("A", '[{"at": 3, "events": [3]}]'),
            "line 2: the field 'matches': the match {'at': 3, 'events': [3]} has a position beyond the 1 events",
        ),
        (
            case("A", '[{"at": 0, "events": [0]}, {"at": 0, "events": [0]}]'),
            "line 2: the field 'matches': the answer is a",
        ),
        (
            '{"id": "good", "feature": "f", "clause": "c", "language": "cel", "query": "A", "events": [], '
            '"output": "matches", "matches": []}',
            "mine.jsonl, line 2: the field 'id': 'good' is already the id of {suite}, line 1",
        ),
    ],
)
def test_a_bad_line_of_a_suite_is_named(run: Run, line: str, says: str, tmp_path: Path) -> None:
    good = (
        '{"id": "good", "feature": "f", "clause": "c", "language": "cel", "query": "A", "events": [], '
        '"output": "matches", "matches": []}'
    )
    suite = tmp_path / "mine.jsonl"
    suite.write_text(f"{good}\n{line}\n", encoding="utf-8")
    status, _, err = run("conform", "--engine", "automaton", "--suite", str(suite))
    assert status == 2
    assert says.replace("{suite}", str(suite)) in err


def test_a_suite_may_have_any_line_end_of_unicode_inside_a_string(tmp_path: Path) -> None:
    suite = tmp_path / "mine.jsonl"
    line = case("A", '[{"at": 0, "events": [0]}]').replace('"c"', '"c\u2028\u0085"')
    suite.write_text(f"{line}\n", encoding="utf-8")
    (read,) = load(str(suite))
    assert read.clause == "c\u2028\u0085"


def test_the_engine_command_survives_every_line_and_stops_when_told() -> None:
    lines = [
        '{"cmd": "start", "protocol": 1}',
        "nonsense",
        "[]",
        '{"cmd": "dance"}',
        '{"cmd": "run", "id": "1"}',
        '{"cmd": "run", "id": "2", "language": "cel", "query": "A ; B :", "events": []}',
        '{"cmd": "run", "id": "3", "language": "sase", "query": "x", "events": []}',
        '{"cmd": "run", "id": "4", "language": "event-expression", "query": "prior(a(I), a(I))", "events": []}',
        '{"cmd": "run", "id": "5", "language": "cel", "query": "A FILTER A.x = \'1\'", "schema": {"A": {"x": "int"}}, '
        '"events": [{"type": "A", "x": 1}]}',
        '{"cmd": "run", "id": "6", "language": "cel", "query": "A+ IN X", "events": [{"type": "A"}], '
        '"output": "valuations"}',
        '{"cmd": "stop"}',
        '{"cmd": "run", "id": "7", "language": "cel", "query": "A", "events": []}',
    ]
    ran = in_a_process("engine", stdin="\n".join(lines) + "\n")
    assert ran.returncode == 0
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert answers[0]["engine"]["name"] == "cerify-automaton"
    assert [a.get("id") for a in answers[1:]] == [None, None, None, "1", "2", "3", "4", "5", "6"]
    assert [a["error"]["code"] if "error" in a else "skipped" in a for a in answers[5:9]] == [
        "parse",
        "parse",
        True,
        "ill_formed",
    ]
    assert answers[5]["error"]["span"] == [7, 7]
    assert answers[9]["matches"] == [{"at": 0, "events": [0], "bindings": {"A": [0], "X": [0]}}]


@pytest.mark.thorough
def test_the_files_are_written_though_nobody_reads_standard_output(tmp_path: Path) -> None:
    """As in `cerify conform --html page.html … | head -1`."""
    page = tmp_path / "page.html"
    command = [*CERIFY, "conform", "--json", "--html", str(page), "--feature", "seq", "--engine", "automaton"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.wait()
    assert "Conformance of" in page.read_text(encoding="utf-8")


@contextmanager
def killed_at_the_end(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """A context that leaves no process behind where a test fails in it."""
    try:
        yield
    finally:
        process.kill()


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGHUP")
@pytest.mark.parametrize(
    "command",
    sampled([("conform", "--case", "cel/repeat/1001"), ("identify",)], [("conform", "--case", "cel/repeat/1001")]),
    ids=" ".join,
)
@pytest.mark.parametrize("until", sampled(["start", "run", "nohup"], ["run"]))
def test_no_engine_outlives_a_closed_terminal(command: tuple[str, ...], until: str, tmp_path: Path) -> None:
    """Closing a terminal sends SIGHUP, which nohup has ignored."""
    pid = tmp_path / "pid"
    engine = tmp_path / "engine.py"
    engine.write_text(
        "import os, pathlib, sys, time\n"
        "if sys.argv[1] != 'start':\n"
        "    input()\n"
        """    print('{"protocol": 1, "engine": {"name": "e", "version": "1"}, "languages": ["cel"]}', flush=True)\n"""
        "    input()\n"
        f"pathlib.Path({str(tmp_path / 'new')!r}).write_text(str(os.getpid()))\n"
        f"os.rename({str(tmp_path / 'new')!r}, {str(pid)!r})\n"
        "time.sleep(600)\n"
    )
    ignored = until == "nohup"
    call = [*CERIFY, *command, "--time-limit", "600", "--", sys.executable, str(engine), until]
    # what the tests run under may ignore SIGHUP, too
    disposition = partial(signal.signal, signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    with (
        subprocess.Popen(
            call, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=disposition
        ) as process,
        killed_at_the_end(process),
    ):
        while not pid.exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGHUP)
        if ignored:
            time.sleep(0.5)
            assert process.poll() is None
            process.terminate()
        assert process.wait(30) in (128 + signal.SIGHUP, 128 + signal.SIGTERM, 1, 130)
    assert not psutil.pid_exists(int(pid.read_text()))
