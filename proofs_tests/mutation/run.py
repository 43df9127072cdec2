"""Runs tests against mutants: each in a process that is forked from one that has the heavy libraries, and no cerify."""

from __future__ import annotations

import ast
import gc
import importlib
import json
import os
import resource
import shlex
import signal
import sys
import time
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, TextIO

import pytest

from proofs_tests.mutation.mutants import Mutant, control, mutated
from proofs_tests.mutation.targets import ROOT, checks_of, own_checks, source

LIBRARIES = ("numpy", "pyarrow", "pyarrow.compute", "lark", "z3", "numba", "greenery", "jsonschema", "rich", "click",
             "hypothesis", "jinja2")  # fmt: skip
PATIENCE, LEAST = 4.0, 10.0
"""A mutant is killed by a test that takes so many times the processor time that it takes without a mutant, and so many
seconds more."""

MEMORY = 8 << 30
OPTIONS = ("-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not thorough",
           "-o", "addopts=--strict-markers")  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What a mutant did, and the seconds of processor time that each of its tests took.

    `by` is the first test that failed, or "import" if the module could not be imported, or the test that ran out of its
    time, with the words "(time)"; None if the mutant survived.
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


class _Recorder:
    """Which test failed first."""

    def __init__(self) -> None:
        self.failed: str | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and self.failed is None:
            self.failed = "import"


def first_failure(test: str) -> str | None:
    """What of a test fails first in this process, "import" if it cannot be collected; None if all passes."""
    recorder = _Recorder()
    path, *options = shlex.split(test)
    status = pytest.main([str(ROOT / "proofs_tests" / path), *options, *OPTIONS], plugins=[recorder])
    passed = status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    return None if passed else recorder.failed or "import"


def name_of(path: str) -> str:
    """The name of the module at a path from the root."""
    return ".".join(["cerify", *Path(path.removeprefix("workbench/")).with_suffix("").parts]).removesuffix(".__init__")


def outcomes(mutants: Sequence[Mutant], jobs: int) -> Iterator[Outcome]:
    """What each mutant did, in the order in which they are done, by so many processes at a time.

    The tests are run without a mutant first; one that fails then is left out, with a warning.
    """
    for library in LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(library)
    assert "cerify" not in sys.modules, "mutants are made of what is not imported yet"
    gc.freeze()
    queue = _Queue(deque(mutants))
    running: dict[int, _Task] = {}
    with TemporaryDirectory() as folder:
        while True:
            while len(running) < jobs and (task := queue.next()) is not None:
                running[_started(task, Path(folder))] = task
            if not running:
                return
            pid, _ = os.wait()
            with suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
            task, lines = running.pop(pid), (Path(folder) / str(pid)).read_text().splitlines()
            one = _outcome(task, lines)
            if task.mutant.kind != "control":
                yield one
            else:
                queue.add(task, one)


@dataclass(frozen=True)
class _Task:
    """A mutant, what is run against it, and the most seconds of processor time for each."""

    mutant: Mutant
    checks: tuple[str, ...]
    most: tuple[float, ...]


class _Queue:
    """Mutants in their order, each when the module itself, unchanged, has passed the same tests.

    The tests that are named after a module come first, then those that take least.
    """

    def __init__(self, waiting: deque[Mutant]) -> None:
        self.waiting = waiting
        self._usual: dict[tuple[bool, str], float] = {}  # by whether loops are compiled, as that changes the time
        self._begun: set[tuple[bool, str]] = set()

    def next(self) -> _Task | None:
        """What can be started now; None if there is nothing, or nothing yet."""
        for mutant in self.waiting:
            own, checks, slow = own_checks(mutant.module), checks_of(mutant.module), _is_compiled(mutant.module)
            if all((slow, check) in self._usual for check in checks):
                self.waiting.remove(mutant)
                passing = (check for check in checks if self._usual[slow, check] < inf)
                order = sorted(passing, key=lambda check: (check not in own, self._usual[slow, check]))
                most = tuple(LEAST + PATIENCE * self._usual[slow, check] for check in order)
                return _Task(mutant, tuple(order), most)
            for check in checks:
                if (slow, check) not in self._begun:
                    self._begun.add((slow, check))
                    return _Task(control(mutant.module), (check,), (600.0,))
        return None

    def add(self, task: _Task, one: Outcome) -> None:
        """Adds how long a test takes without a mutant; one that fails is left out, with a warning."""
        if one.by is not None:
            warnings.warn(f"left out, as it fails without a mutant: {one.by}", stacklevel=2)
        seconds = one.seconds[-1] if one.by is None else inf
        self._usual[_is_compiled(task.mutant.module), *task.checks] = seconds


def _is_compiled(path: str) -> bool:
    """Whether there may be machine code of the module in a cache, so that it has to be run as Python."""
    text = source(path)
    return "numba" in text or ".jit import" in text


def _outcome(task: _Task, lines: list[str]) -> Outcome:
    """From what a process wrote, line by line: a test when it begins, then what failed in it, or null, and its time."""
    tests, ends = lines[::2], [json.loads(line) for line in lines[1::2]]
    seconds = tuple(round(end["seconds"], 1) for end in ends)
    if len(tests) > len(ends):
        return Outcome(task.mutant, f"{tests[-1]} (time)", seconds)
    return Outcome(task.mutant, ends[-1]["by"], seconds)


def _started(task: _Task, folder: Path) -> int:
    """The process that runs the tests of the mutant, and writes what they do to a file of its number."""
    if pid := os.fork():
        return pid
    try:
        os.setsid()  # a group of its own, which is killed with all that it started
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        os.chdir(ROOT)
        with (folder / str(os.getpid())).open("w", buffering=1) as out:
            _tested(task, out)
    finally:
        os._exit(0)


def _tested(task: _Task, out: TextIO) -> None:
    mutant = task.mutant
    if _is_compiled(mutant.module):
        importlib.import_module("numba").config.DISABLE_JIT = True
    sys.meta_path.insert(0, _Finder(name_of(mutant.module), mutated(mutant, source(mutant.module))))
    for check, most in zip(("import", *task.checks), (LEAST, *task.most), strict=True):
        signal.setitimer(signal.ITIMER_PROF, most)  # ends the process: nothing handles its signal
        out.write(f"{check}\n")
        begun = time.process_time()
        by = _import_failure(mutant) if check == "import" else first_failure(check)
        out.write(json.dumps({"by": by, "seconds": time.process_time() - begun}) + "\n")
        if by is not None:
            return


def _import_failure(mutant: Mutant) -> str | None:
    try:
        importlib.import_module(name_of(mutant.module))
    except BaseException:
        return "import"
    return None
