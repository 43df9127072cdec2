"""What holds for all tests: which are quick, which files begin first, and whether the installed links are current."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import cerify
from cerify import cli

Run = Callable[..., tuple[int, str, str]]
Write = Callable[[str, Any], Path]


# Where the environment forbids byte code, each of the processes that tests start would compile all sources anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The Java of Spark runs for minutes only: the slower of its two compilers costs more than it saves.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

HERE = Path(__file__).parent
ROOT = HERE.parent
FOLDERS = {"workbench": ".", "semantics": "semantics", "automata": "automata", "equivalence": "equivalence"}
"""The folders at the root, and where they stand in the package."""

REINSTALL = "python -m pip install -e '.[test]'"

QUICK = (
    "unit/automata/test_algebra.py",
    "unit/automata/test_cea.py",
    "unit/automata/test_dfa.py",
    "unit/automata/test_eql.py",
    "unit/automata/test_nfab.py",
    "unit/equivalence/test_decide.py",
    "unit/equivalence/test_shrink.py",
    "unit/semantics",
    "unit/workbench/conformance/test_runs.py",
    "unit/workbench/spark/test_answers.py",
    "unit/workbench/test_api.py",
    "unit/workbench/test_command_equiv.py",
    "unit/workbench/test_command_match.py",
    "unit/workbench/test_draw.py",
    "unit/workbench/test_explain.py",
    "unit/workbench/test_funnels.py",
    "unit/workbench/test_grade.py",
    "unit/workbench/test_messages.py",
)
"""What `pytest -m quick` runs: files and folders of every chapter, but for the tests that are marked as slow."""

FIRST = (
    "test_docs.py",
    "test_architecture.py",
    "integration/spark",
    "claims/test_claims.py",
    "integration/test_conform.py",
    "test_book.py",
    "integration",
    "unit/workbench/conformance",
    "properties",
)
"""The files and folders that take longest: they begin first, so that no process waits for one of them at the end."""

SINGLE = ("test_docs.py", "integration/test_conform.py", "integration/test_broken_engines.py")
"""Files whose tests share nothing, so that each may run in any process."""


def missing_links(installed: Path) -> list[str]:
    """The source files that the installed package does not have: a strict editable install makes its links once."""
    return [
        str(path.relative_to(ROOT))
        for folder, place in FOLDERS.items()
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "adapters" not in path.parts and not (installed / place / path.relative_to(ROOT / folder)).exists()
    ]


def pytest_configure(config: pytest.Config) -> None:
    """Stops before any test if a module was added or renamed after the install."""
    if missing := missing_links(Path(cerify.__file__).parent):
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise pytest.UsageError(f"{missing[0]}{more} is not in the installed package; install it anew: {REINSTALL}")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Looks for no garbage while tests are collected, and afterwards not among what was collected, which stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@cache
def place(path: Path, files: tuple[str, ...]) -> int:
    """The number of the first of these files and folders that the file is in; their number if it is in none."""
    name = f"{path.relative_to(HERE).as_posix()}/"
    return next((n for n, file in enumerate(files) if name.startswith(f"{file}/")), len(files))


def is_quick(path: Path) -> bool:
    """Whether a file has quick tests."""
    return place(path, QUICK) < len(QUICK)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Whether a file need not be imported, as no test of it is quick and no others are asked for."""
    slow = collection_path.suffix == ".py" and not is_quick(collection_path)
    return True if config.option.markexpr == "quick" and slow else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the quick tests, and puts the files that take longest first."""
    for item in items:
        if is_quick(item.path) and not any(item.get_closest_marker(name) for name in ("slow", "thorough")):
            item.add_marker("quick")
    spark = FIRST.index(
        "integration/spark"
    )  # later than the pages in which the loops are compiled that Spark runs, too
    items.sort(key=lambda item: max(place(item.path, FIRST), spark * needs_spark(item.nodeid)))


def needs_spark(nodeid: str) -> bool:
    """Whether a test is of Spark, by its file or the page that it runs."""
    return "/spark" in nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Keeps a file in one process, all tests with a Spark session in one, and lets tests of SINGLE go to any."""
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            if needs_spark(nodeid):
                return "spark"
            return nodeid if file.removeprefix("proofs_tests/") in SINGLE else file

    return Files(config, log)


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


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes text, bytes or an Arrow table to a file of this name."""

    def write(name: str, content: Any) -> Path:
        path = tmp_path / name
        if isinstance(content, str | bytes):
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        else:
            import pyarrow.parquet

            pyarrow.parquet.write_table(content, path)
        return path

    return write
