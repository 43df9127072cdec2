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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

import pytest

from proofs_tests.mutation.measured import DEFAULT, OPTIONS, Measured, Selection, measure, times_of
from proofs_tests.mutation.mutants import DELETION, Key, Mutant, mutated
from proofs_tests.mutation.processes import in_processes
from proofs_tests.mutation.targets import ROOT, checks_of, own_checks, source
from proofs_tests.mutation.types import TYPES, with_type_errors

PATIENCE, LEAST = 4.0, 10.0
"""A mutant is killed by tests that take PATIENCE times the time that they take without a mutant, and LEAST seconds
of processor time more."""

WAITING = 10
"""How many times its processor time a test may take by the clock: one that waits without end kills the mutant, too."""

LONGEST = 600.0
"""Seconds of processor time for tests of which it is not known how long they take."""


@dataclass(frozen=True)
class Outcome:
    """What a mutant did, and the seconds of processor time that each of its tests took.

    `by` is the first test that failed, or "import" if the module could not be imported, or the test in which the time
    ran out, with the word "(time)"; None if the mutant survived.
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


def first_failure(test: str, tests: frozenset[str] | None, begins: Callable[[str], None]) -> str | None:
    """What of these tests fails first in this process, "import" if they cannot be collected; None if all pass."""
    selection = Selection(tests, begins)
    path, *options = shlex.split(test)
    chosen = DEFAULT if tests is None else ()
    status = pytest.main([str(ROOT / "proofs_tests" / path), *options, "-x", *OPTIONS, *chosen], plugins=[selection])
    passed = status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    return None if passed else selection.failed or "import"


def name_of(path: str) -> str:
    """The name of the module at a path from the root."""
    return ".".join(["cerify", *Path(path.removeprefix("workbench/")).with_suffix("").parts]).removesuffix(".__init__")


def outcomes_of(tests: Sequence[str], mutants: Sequence[Mutant], jobs: int) -> Iterator[Outcome]:
    """What these tests, files with options of pytest, find of each mutant."""
    checks = tuple(_Check(test, None, LONGEST) for test in tests)
    for task, lines in in_processes((_Task(mutant, checks) for mutant in mutants), _tested, jobs):
        yield outcome_of(task.mutant, lines)


def outcomes(mutants: Sequence[Mutant], jobs: int, folder: Path, killers: Mapping[Key, str]) -> Iterator[Outcome]:
    """What each mutant did, in the order in which they are done, by `jobs` processes at a time.

    First each mutant is run against the test that has killed it before, by its node id; a table without one of its
    operators of which no such test is known, against the test of types, as many are parts of an exhaustive match. The
    tests of those that pass it are measured without a mutant, unless the folder has that already; one that fails then
    is left out, with a warning.
    """
    expected = {m.key: killers.get(m.key, TYPES if m.kind == DELETION else "") for m in mutants}
    mistyped = set[Key]()
    for mutant in with_type_errors([m for m in mutants if expected[m.key] == TYPES], jobs):
        mistyped.add(mutant.key)
        yield Outcome(mutant, TYPES, ())
    killers = {key: by for key, by in expected.items() if by != TYPES}
    mutants = [mutant for mutant in mutants if mutant.key not in mistyped]
    left = [mutant for mutant in mutants if "::" not in killers.get(mutant.key, "")]
    for compiled in (True, False):
        some = [m for m in mutants if "::" in killers.get(m.key, "") and _is_compiled(m.module) != compiled]
        known = {mutant.key: killers[mutant.key].removesuffix(" (time)") for mutant in some}
        seconds = times_of(set(known.values()), jobs, compiled)
        left += [mutant for mutant in some if known[mutant.key] not in seconds]  # it fails without a mutant, too
        tasks = [_Task(m, (_killer(test, seconds[test]),)) for m in some if (test := known[m.key]) in seconds]
        for task, lines in in_processes(tasks, _tested, jobs):
            outcome = outcome_of(task.mutant, lines)
            if outcome.by is None:
                left.append(task.mutant)
            else:
                yield outcome
    for compiled in (True, False):
        some = [mutant for mutant in left if _is_compiled(mutant.module) != compiled]
        if some:
            place = folder / ("compiled" if compiled else "python")
            checks = {check for module in {m.module for m in some} for check in checks_of(module)}
            measured = Measured(place) if place.exists() else measure(checks, jobs, place, compiled)
            tasks = (_Task(mutant, tuple(_checks(mutant, measured))) for mutant in some)
            for task, lines in in_processes(tasks, _tested, jobs):
                yield outcome_of(task.mutant, lines)


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


def _killer(test: str, seconds: float) -> _Check:
    """One test, by its node id."""
    return _Check(test.partition("::")[0].removeprefix("proofs_tests/"), frozenset({test}), LEAST + PATIENCE * seconds)


def _is_compiled(path: str) -> bool:
    """Whether there may be machine code of the module in a cache, so that it has to be run as Python."""
    text = source(path)
    return "import numba" in text or ".jit import" in text


def outcome_of(mutant: Mutant, lines: list[str]) -> Outcome:
    """From what a process wrote: each test when it begins, and of some tests together what failed, or null."""
    written = [json.loads(line) for line in lines]
    seconds = tuple(round(line["seconds"], 1) for line in written if "seconds" in line)
    last = written[-1]
    return Outcome(mutant, last["by"] if "seconds" in last else f"{last['begins']} (time)", seconds)


def _tested(task: _Task, out: TextIO) -> None:
    mutant = task.mutant
    if _is_compiled(mutant.module):
        importlib.import_module("numba").config.DISABLE_JIT = True
    sys.meta_path.insert(0, _Finder(name_of(mutant.module), mutated(mutant, source(mutant.module))))

    def write(**line: str | float | None) -> None:
        out.write(json.dumps(line) + "\n")

    for check in (None, *task.checks):
        most = check.most if check else LEAST
        signal.setitimer(signal.ITIMER_PROF, most)  # ends the process, as nothing handles its signal; so does the next
        signal.alarm(WAITING * math.ceil(most))
        write(begins=check.test if check else "import")
        begun = time.process_time()
        by = (
            first_failure(check.test, check.tests, lambda test: write(begins=test))
            if check
            else _import_failure(mutant)
        )
        write(by=by, seconds=time.process_time() - begun)
        if by is not None:
            return


def _import_failure(mutant: Mutant) -> str | None:
    try:
        importlib.import_module(name_of(mutant.module))
    except BaseException:
        return "import"
    return None
