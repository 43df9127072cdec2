"""How these tests run a command."""

from __future__ import annotations

import io
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from cerify import cli

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line in this process: its exit status, standard output and standard error."""

    def run(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["cerify", *arguments])
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        out, err = capsys.readouterr()
        assert isinstance(exit_.value.code, int)
        assert "Traceback" not in err
        return exit_.value.code, out, err

    return run
