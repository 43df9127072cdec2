"""Which tests pass through which functions of a module, and how long each takes, as coverage.py measures it."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import signal
import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import FrameType
from typing import TextIO

import coverage
import pytest

from proofs_tests.mutation.mutants import lines_of
from proofs_tests.mutation.processes import in_processes
from proofs_tests.mutation.targets import ROOT, source

TIMES, COVERAGE = "times.jsonl", "coverage.sqlite"
LONGEST = 60.0
"""Seconds of processor time of one test; what takes more is left out."""

OPTIONS = ("-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=--strict-markers")
DEFAULT = ("-m", "not thorough")
"""Options that leave out the thorough tests; one of them that killed a mutant before is run by its name."""


@dataclass(frozen=True)
class Measured:
    """What `measure` has written to a folder."""

    folder: Path

    @cached_property
    def seconds(self) -> Mapping[str, float]:
        """The time of each test that passed, by its node id."""
        return _seconds((self.folder / TIMES).read_text(encoding="utf-8").splitlines())

    @cached_property
    def _contexts(self) -> Mapping[str, dict[int, list[str]]]:
        """The tests that pass through each line of each module, by the module's path from the root."""
        data = coverage.CoverageData(str(self.folder / COVERAGE))
        data.read()
        found = ((Path(os.path.realpath(name)), name) for name in data.measured_files())
        return {
            path.relative_to(ROOT).as_posix(): data.contexts_by_lineno(name)
            for path, name in found
            if path.is_relative_to(ROOT)
        }

    def reaching(self, module: str, function: str) -> frozenset[str] | None:
        """The tests that pass through a function of a module at a path; None if none does, but at import.

        What the set-up of a test passes through is passed through by all tests of its file, which may share it.
        """
        contexts = self._contexts.get(module, {})
        lines = lines_of(source(module), function) or ()
        names = {name for line in lines for name in contexts.get(line, ()) if name}
        if not names:
            return None
        shared = {name.partition("::")[0] for name in names if name.endswith("|setup")}
        tests = {name.rpartition("|")[0] for name in names}
        return frozenset(test for test in self.seconds if test in tests or test.partition("::")[0] in shared)


def _seconds(lines: Iterable[str]) -> Mapping[str, float]:
    """The time of each test that passed, from what `_Times` has written of its parts."""
    rows = [json.loads(line) for line in lines]
    failed = {row["test"] for row in rows if row["failed"]}
    if failed:
        some = ", ".join(sorted(failed)[:5])
        warnings.warn(f"{len(failed)} tests are left out, as they fail without a mutant: {some} …", stacklevel=3)
    times: dict[str, float] = defaultdict(float)
    for row in rows:
        if row["test"] not in failed:
            times[row["test"]] += row["seconds"]
    return times


def times_of(tests: Collection[str], jobs: int, compiled: bool) -> Mapping[str, float]:
    """The time of each of these tests, by their node ids, that passes without a mutant; nothing is traced."""
    work = partial(_timed, tests=frozenset(tests), compiled=compiled)
    files = sorted({test.partition("::")[0] for test in tests})
    return _seconds(line for _, lines in in_processes(files, work, jobs) for line in lines)


def measure(checks: Collection[str], jobs: int, folder: Path, compiled: bool) -> Measured:
    """Runs files of tests without a mutant, each in a process, with the loops of cerify compiled or as Python.

    checks: files, with options of pytest, which count only where the file is not there without options.
    """
    folder.mkdir(parents=True, exist_ok=True)
    work = partial(_measured, folder=folder, compiled=compiled)
    with (folder / TIMES).open("w", encoding="utf-8") as times:
        files = sorted(check for check in checks if " " not in check or check.partition(" ")[0] not in checks)
        for _, lines in in_processes(files, work, jobs):
            times.writelines(f"{line}\n" for line in lines)
    together = coverage.CoverageData(str(folder / COVERAGE))
    for part in folder.glob("*.part"):
        data = coverage.CoverageData(str(part))
        data.read()
        together.update(data)
        part.unlink()
    together.write()
    return Measured(folder)


def _timed(file: str, out: TextIO, tests: frozenset[str], compiled: bool) -> None:
    importlib.import_module("numba").config.DISABLE_JIT = not compiled
    pytest.main([str(ROOT / file), *OPTIONS], plugins=[Selection(tests), _Times(out)])


def _measured(check: str, out: TextIO, folder: Path, compiled: bool) -> None:
    importlib.import_module("numba").config.DISABLE_JIT = not compiled
    os.environ["COVERAGE_FILE"] = str(folder / f"{os.getpid()}.part")
    file, *options = shlex.split(check)
    options += ("--cov=cerify", "--cov-context=test", "--cov-report=")
    pytest.main([str(ROOT / "proofs_tests" / file), *OPTIONS, *DEFAULT, *options], plugins=[_Times(out)])


class Selection:
    """Leaves out all tests but those given, None for all, and records which failed first, and which begins."""

    def __init__(self, tests: frozenset[str] | None, begins: Callable[[str], None] = lambda test: None) -> None:
        self.tests = tests
        self.begins = begins
        self.failed: str | None = None

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.begins(nodeid)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.tests is not None:
            items[:] = [item for item in items if item.nodeid in self.tests]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and self.failed is None:
            self.failed = "import"


class _Times:
    """Writes the time of each test, and ends those that take too long."""

    def __init__(self, out: TextIO) -> None:
        self.out = out

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        signal.signal(signal.SIGPROF, _out_of_time)
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        row = {"test": report.nodeid, "failed": report.failed, "seconds": round(report.duration, 4)}
        self.out.write(json.dumps(row) + "\n")


def _out_of_time(_: int, __: FrameType | None) -> None:
    raise TimeoutError(f"more than {LONGEST:g} s")
