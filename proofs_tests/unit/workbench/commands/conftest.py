"""How a command is run in these tests: as from a shell, with its exit status and what it prints."""

from __future__ import annotations

import pytest

from cerify import cli


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    def ran(*arguments: str) -> tuple[int | str | None, str, str]:
        monkeypatch.setattr("sys.argv", ["cerify", *arguments])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        return exit_.value.code, *capsys.readouterr()

    return ran
