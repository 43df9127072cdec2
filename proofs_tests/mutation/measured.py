"""Which tests pass through which functions of a module, and how long each takes, as coverage.py measures it."""

from __future__ import annotations

import importlib
import json
import os
import signal
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
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

OPTIONS = ("-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not thorough",
           "-o", "addopts=--strict-markers")  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """What `measure` has written to a folder."""

    folder: Path

    @cached_property
    def seconds(self) -> Mapping[str, float]:
        """The time of each test that passed, by its node id."""
        rows = [json.loads(line) for line in (self.folder / TIMES).read_text(encoding="utf-8").splitlines()]
        failed = {row["test"] for row in rows if row["failed"]}
        if failed:
            some = ", ".join(sorted(failed)[:5])
            warnings.warn(f"{len(failed)} tests are left out, as they fail without a mutant: {some} …", stacklevel=2)
        times: dict[str, float] = defaultdict(float)
        for row in rows:
            if row["test"] not in failed:
                times[row["test"]] += row["seconds"]
        return times

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


def measure(files: Collection[str], jobs: int, folder: Path, compiled: bool) -> Measured:
    """Runs files of tests without a mutant, each in a process, with the loops of cerify compiled or as Python."""
    folder.mkdir(parents=True, exist_ok=True)
    work = partial(_measured, folder=folder, compiled=compiled)
    with (folder / TIMES).open("w", encoding="utf-8") as times:
        for _, lines in in_processes(sorted(files), work, jobs):
            times.writelines(f"{line}\n" for line in lines)
    together = coverage.CoverageData(str(folder / COVERAGE))
    for part in folder.glob("*.part"):
        data = coverage.CoverageData(str(part))
        data.read()
        together.update(data)
        part.unlink()
    together.write()
    return Measured(folder)


def _measured(file: str, out: TextIO, folder: Path, compiled: bool) -> None:
    if not compiled:
        importlib.import_module("numba").config.DISABLE_JIT = True
    os.environ["COVERAGE_FILE"] = str(folder / f"{os.getpid()}.part")
    options = ("--cov=cerify", "--cov-context=test", "--cov-report=")
    pytest.main([str(ROOT / "proofs_tests" / file), *OPTIONS, *options], plugins=[_Times(out)])


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
