"""What comes from outside cannot steer a terminal, nor begin a line of its own where it is one of ours."""

from __future__ import annotations

import ast
import io
import json
import re
import shlex
import sys
import time
import xml.etree.ElementTree as ElementTree
from itertools import product
from pathlib import Path

import pytest

import cerify.commands
from cerify.api import equivalent
from cerify.commands.options import progress
from cerify.conformance.engines import NAMES
from cerify.equivalence.verdict import Equivalent
from cerify.semantics.events import Schema
from cerify.terminal import echo_line, echo_lines, printable, screen, shielded, table_lines
from proofs_tests.conftest import Run

HOSTILE = "\x1b[2K\x1b[1Gproved\x9b31m\u202e\x07\r\x7f\u2028\ud800\n"


FORGED = "no failing case\n\n99 of 99 passed: the engine conforms on all it claims."
ENGINE = """
import json, sys

FORGED = "x\\n" + REPORT
for line in sys.stdin:
    message = json.loads(line)
    if sys.argv[1] == "start" or message["cmd"] == "stop":
        sys.exit(FORGED)
    if message["cmd"] == "start":
        answer = {"protocol": 1, "engine": {"name": FORGED, "version": FORGED}, "languages": ["cel"]}
    elif sys.argv[1] == "die":
        sys.exit(FORGED)
    else:
        code = "unsupported" if sys.argv[1] == "skip" else "internal"
        answer = {"id": message["id"], "error": {"code": code, "message": FORGED}}
    print(json.dumps(answer), flush=True)
"""


def steers(text: str) -> bool:
    """Whether a text has a character that is not printable, other than those of its layout."""
    return any(not c.isprintable() and c not in "\n\t" for c in text)


def test_no_character_that_steers_is_left() -> None:
    assert printable(HOSTILE) == (r"\x1b[2K\x1b[1Gproved\x9b31m\u202e\x07\r\x7f\u2028\ud800\n")
    assert not steers(shielded(HOSTILE))
    assert shielded("a\tb\nc ü 日") == "a\tb\nc ü 日"


def test_json_means_the_same_when_it_is_shielded() -> None:
    value = {HOSTILE: ["\U000e0001", "\x80", HOSTILE]}
    written = shielded(json.dumps(value, ensure_ascii=False))
    assert not steers(written)
    assert json.loads(written) == value


def test_a_line_a_table_and_a_screen_print_no_codes(capsys: pytest.CaptureFixture[str]) -> None:
    file = io.StringIO()
    screen(file=file, force_terminal=True, color_system=None, width=200).print(f"{HOSTILE}[red]x[/red] :smile: [/]")
    echo_line(HOSTILE + "y", "bold")
    echo_lines(table_lines(["name"], [[HOSTILE + "z"]]))
    line, *table = capsys.readouterr().out.splitlines()
    assert line == printable(HOSTILE) + "y"
    assert "[red]x[/red] :smile: [/]" in file.getvalue()
    assert "z" in table[-2]
    assert not steers("\n".join(table) + file.getvalue())


def test_a_table_is_as_wide_as_it_needs_in_a_pipe(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader of a pipe searches for names, so no name is broken in two."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("CERIFY_CORE_HOME", raising=False)
    _, out, _ = run("engines")
    assert "the environment variable CERIFY_CORE_HOME is not set" in out
    rows = out.splitlines()[3:-1]
    assert [row.split()[0] for row in rows] == list(NAMES)


def test_the_schema_of_a_proved_claim_is_shown_on_one_line(tmp_path: Path, run: Run) -> None:
    """Without it the claim may be false: the queries differ on events that the schema does not have."""
    schema = Schema({"A": {"x\x1b\nproved": "int"}, "B": {"y" * 2000: "int"}})
    verdict = equivalent("A ; B", "(A ; B)", schema=schema)
    assert isinstance(verdict, Equivalent)
    file = tmp_path / "certificate.json"
    file.write_text(verdict.certificate.to_json())
    status, out, _ = run("verify", str(file))
    assert (status, out.count("\n"), steers(out)) == (0, 1, False)
    start = r'(complex events, under the schema {"A": {"x\u001b\nproved": "int"}, "B": {"'
    assert start in out
    assert re.search("y… and 1,[0-9]{3} characters more, which the file has\\)", out)


@pytest.mark.parametrize("field", ["left", "right"])
@pytest.mark.parametrize(
    "attack", ["A\x1b[2K\x1b[1Gproved: A  is equivalent to  B", "A\nproved: A  is equivalent to  B\n;", "A\rproved: "]
)
def test_a_certificate_cannot_show_that_it_is_proved(field: str, attack: str, tmp_path: Path, run: Run) -> None:
    verdict = equivalent("A ; B", "(A ; B)")
    assert isinstance(verdict, Equivalent)
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(json.loads(verdict.certificate.to_json()) | {field: attack}))
    status, out, err = run("verify", str(file))
    assert status in (1, 2)
    assert not steers(out + err)
    assert not any(line.startswith("proved") for line in (out + err).splitlines())


@pytest.mark.parametrize(
    "command",
    ["verify FILE", "match A FILE", "conform --suite FILE -- cat", "check A --schema FILE", "draw A FILE FILE"],
)
@pytest.mark.parametrize("there", [True, False])
def test_the_name_of_a_file_begins_no_line(command: str, there: bool, tmp_path: Path, run: Run) -> None:
    file = tmp_path / "n\x1b[2Jame\nproved: A  is equivalent to  B"
    if there:
        file.write_text("x")
    status, out, err = run(*(str(file) if part == "FILE" else part for part in command.split()))
    assert status == 2
    assert not steers(out + err)
    assert not any(line.startswith("proved") for line in (out + err).splitlines())


def test_a_claim_that_fails_is_shown_on_one_line(tmp_path: Path, run: Run) -> None:
    """A space of a query may be any white space, so that a query that parses can begin a line with a word of ours."""
    verdict = equivalent("A ; B", "(A ; B)")
    assert isinstance(verdict, Equivalent)
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(json.loads(verdict.certificate.to_json()) | {"left": "A ;\nproved"}))
    status, out, _ = run("verify", str(file))
    assert status == 1
    assert out.startswith(r"not proved: A ;\nproved  is equivalent to")


def test_values_of_events_are_shown_without_codes(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text(json.dumps({"type": "A", "x\x1b": "\x1b[31m\x9b"}) + "\n")
    for command in (["match", "A"], ["explain", "A"], ["match", "A FILTER A.y > 1"], ["match", "B\x1b"]):
        _, out, err = run(*command, str(path))
        assert not steers(out + err)


@pytest.mark.parametrize(
    "command",
    [
        "draw 'A ; B' {events} -o {out}.svg",
        "draw 'A ; B' {events} -o {out}.html",
        "draw \"A FILTER A.x = '\x1b'\" -o {out}.svg",
        "explain 'A ; B' {events} --html {out}.html",
        "explain 'A ; B' {events} --match 0 --at 1 --html {out}.html",
        "step 'A ; B' {events} -o {out}.html",
    ],
)
def test_no_page_and_no_picture_has_codes_of_values(command: str, tmp_path: Path, run: Run) -> None:
    """`cat` of the file would steer the terminal, and an SVG with such characters is no XML."""
    events, out = tmp_path / "e.jsonl", tmp_path / "out"
    value = "\0\x1b]0;t\x07\x9b31m\u202e\ufffe"
    events.write_text("".join(json.dumps({"type": R, "x": value, "y\x1b": 1}) + "\n" for R in ("A", "B")))
    status, *_ = run(*shlex.split(command.format(events=events, out=out)))
    (written,) = tmp_path.glob("out.*")
    text = written.read_text(encoding="utf-8")
    assert status in (0, 1)
    assert "\\u001b" in text
    assert not steers(text)
    if written.suffix == ".svg":
        ElementTree.fromstring(text)


def test_commands_write_through_one_function() -> None:
    """click.echo, print and a console of rich write what they are given."""
    wrong, unshielded = [], ("print", "click.echo", "click.secho", "Console")
    for path in Path(cerify.commands.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in unshielded:
                wrong.append(f"{path.name}:{node.lineno}")
    assert wrong == []


COMMANDS = ["conform --case cel/repeat/1001", "fuzz --cases 2", "fuzz --query 'A ; B' --all-streams 1", "identify"]
HOW = ["error", "skip", "die", "start"]
LONG = [("fuzz --cases 2", "die"), ("identify", "error"), ("identify", "skip"), ("identify", "die")]
"""The pairs that take longest, for `pytest -m thorough`."""


@pytest.mark.parametrize(
    ("command", "how"),
    [pytest.param(*one, marks=[pytest.mark.thorough] * (one in LONG)) for one in product(COMMANDS, HOW)],
)
def test_an_engine_begins_no_line_of_a_report(command: str, how: str, tmp_path: Path, run: Run) -> None:
    engine = tmp_path / "engine.py"
    engine.write_text(ENGINE.replace("REPORT", repr(FORGED)), encoding="utf-8")
    _, out, err = run(*shlex.split(command), "--", sys.executable, str(engine), how)
    assert "99 of 99 passed" in out + err
    assert not [line for line in (out + err).splitlines() if line.startswith("99 of 99 passed")]


def test_a_step_that_takes_long_says_that_it_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(every=0.01) as shown:
        shown("asking", 1, 1_000)
        time.sleep(0.1)
    lines = capsys.readouterr().err.splitlines()
    assert any(re.fullmatch(r"cerify: asking: 1 of 1,000, after \d+ s", line) for line in lines)
