"""Standard streams that are closed, full, unread or in another encoding: no status is a wrong answer, or a fault."""

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
def test_an_answer_that_cannot_be_written_is_an_error(
    command: str,
    stdout: Callable[[], IO[str] | None],
    status: Streams,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert status(*command.split("|"), stdout=stdout()) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("cerify: cannot write: ")


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
def test_streams_of_a_process(redirected: str, expected: int, files: Path) -> None:
    """Also the last flush of Python, at the exit, changes nothing."""
    ran = subprocess.run(
        ["sh", "-c", f'exec "{sys.executable}" -m cerify.cli {redirected}'],
        cwd=files,
        stdout=subprocess.PIPE,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (expected, b'{"at": 1, "events": [0, 1]}\n' if expected == 0 else b"")
