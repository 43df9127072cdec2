"""Runs tests against mutants: of the tests of a module those that pass through the changed function."""

from __future__ import annotations

import ast
import importlib
import json
import math
import shlex
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

import pytest

from proofs_tests.mutation.measured import OPTIONS, Measured, measure
from proofs_tests.mutation.mutants import Mutant, mutated
from proofs_tests.mutation.processes import in_processes
from proofs_tests.mutation.targets import ROOT, checks_of, own_checks, source

PATIENCE, LEAST = 4.0, 10.0
"""A mutant is killed by tests that take so many times the time that they take without a mutant, and so many seconds
of processor time more."""

WAITING = 10
"""How many times its processor time a test may take by the clock: one that waits without end kills the mutant, too."""

LONGEST = 600.0
"""Seconds of processor time for tests of which it is not known how long they take."""


@dataclass(frozen=True)
class Outcome:
    """What a mutant did, and the seconds of processor time that each of its tests took.

    `by` is the first test that failed, or "import" if the module could not be imported, or the tests that ran out of
    their time, with the words "(time)"; None if the mutant survived.
    """

    mutant: Mutant
    by: str | None
    seconds: tuple[float, ...]


class _Loader(SourceFileLoader):
    """Loads a module from another tree than that of its file."""

    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        super().__init__(name, path)
        self.tree = tree

    def get_code(self, fullname: str) -> Any:
        return compile(self.tree, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    """Finds the mutant in the place of the module."""

    def __init__(self, name: str, tree: ast.Module) -> None:
        self.name, self.tree = name, tree

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        spec = PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(fullname, spec.origin, self.tree)
        return spec


class _Selection:
    """Leaves out all tests but those given, None for all, and records which failed first."""

    def __init__(self, tests: frozenset[str] | None) -> None:
        self.tests = tests
        self.failed: str | None = None

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


@dataclass(frozen=True)
class _Check:
    """Tests of a file, with options of pytest, None for all, and the most seconds of processor time for them."""

    test: str
    tests: frozenset[str] | None
    most: float


@dataclass(frozen=True)
class _Task:
    mutant: Mutant
    checks: tuple[_Check, ...]


def first_failure(test: str, tests: frozenset[str] | None) -> str | None:
    """What of these tests fails first in this process, "import" if they cannot be collected; None if all pass."""
    selection = _Selection(tests)
    path, *options = shlex.split(test)
    status = pytest.main([str(ROOT / "proofs_tests" / path), *options, "-x", *OPTIONS], plugins=[selection])
    passed = status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    return None if passed else selection.failed or "import"


def name_of(path: str) -> str:
    """The name of the module at a path from the root."""
    return ".".join(["cerify", *Path(path.removeprefix("workbench/")).with_suffix("").parts]).removesuffix(".__init__")


def outcomes_of(tests: Sequence[str], mutants: Sequence[Mutant], jobs: int) -> Iterator[Outcome]:
    """What these tests, files with options of pytest, find of each mutant."""
    checks = tuple(_Check(test, None, LONGEST) for test in tests)
    for task, lines in in_processes((_Task(mutant, checks) for mutant in mutants), _tested, jobs):
        yield _outcome(task.mutant, lines)


def outcomes(mutants: Sequence[Mutant], jobs: int, folder: Path) -> Iterator[Outcome]:
    """What each mutant did, in the order in which they are done, by so many processes at a time.

    The tests are measured without a mutant first, unless the folder has that already; one that fails then is left out,
    with a warning.
    """
    for compiled in (True, False):
        some = [mutant for mutant in mutants if _is_compiled(mutant.module) != compiled]
        if some:
            place = folder / ("compiled" if compiled else "python")
            files = {shlex.split(check)[0] for module in {m.module for m in some} for check in checks_of(module)}
            measured = Measured(place) if place.exists() else measure(files, jobs, place, compiled)
            tasks = (_Task(mutant, tuple(_checks(mutant, measured))) for mutant in some)
            for task, lines in in_processes(tasks, _tested, jobs):
                yield _outcome(task.mutant, lines)


def _checks(mutant: Mutant, measured: Measured) -> Iterable[_Check]:
    """The tests for a mutant: those of the files named after its module first, then those that take least."""
    own, reaching = own_checks(mutant.module), measured.reaching(mutant.module, mutant.function)
    found = []
    for check in checks_of(mutant.module):
        path = f"proofs_tests/{shlex.split(check)[0]}::"
        tests = frozenset(t for t in measured.seconds if t.startswith(path) and (reaching is None or t in reaching))
        if tests:
            seconds = sum(measured.seconds[test] for test in tests)
            found.append((check not in own, seconds, _Check(check, tests, LEAST + PATIENCE * seconds)))
    return [check for *_, check in sorted(found, key=lambda entry: entry[:2])]


def _is_compiled(path: str) -> bool:
    """Whether there may be machine code of the module in a cache, so that it has to be run as Python."""
    text = source(path)
    return "import numba" in text or ".jit import" in text


def _outcome(mutant: Mutant, lines: list[str]) -> Outcome:
    """From what a process wrote, line by line: a test when it begins, then what failed in it, or null, and its time."""
    tests, ends = lines[::2], [json.loads(line) for line in lines[1::2]]
    seconds = tuple(round(end["seconds"], 1) for end in ends)
    if len(tests) > len(ends):
        return Outcome(mutant, f"{tests[-1]} (time)", seconds)
    return Outcome(mutant, ends[-1]["by"], seconds)


def _tested(task: _Task, out: TextIO) -> None:
    mutant = task.mutant
    if _is_compiled(mutant.module):
        importlib.import_module("numba").config.DISABLE_JIT = True
    sys.meta_path.insert(0, _Finder(name_of(mutant.module), mutated(mutant, source(mutant.module))))
    for check in (None, *task.checks):
        most = check.most if check else LEAST
        signal.setitimer(signal.ITIMER_PROF, most)  # ends the process, as nothing handles its signal; so does the next
        signal.alarm(WAITING * math.ceil(most))
        out.write(f"{check.test if check else 'import'}\n")
        begun = time.process_time()
        by = first_failure(check.test, check.tests) if check else _import_failure(mutant)
        out.write(json.dumps({"by": by, "seconds": time.process_time() - begun}) + "\n")
        if by is not None:
            return


def _import_failure(mutant: Mutant) -> str | None:
    try:
        importlib.import_module(name_of(mutant.module))
    except BaseException:
        return "import"
    return None
