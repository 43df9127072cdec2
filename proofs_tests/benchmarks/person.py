"""The figures of a person's time: how long commands take, from the start of the process to its end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from tempfile import TemporaryDirectory

from proofs_tests.benchmarks.figure import RUNS, Figure
from proofs_tests.benchmarks.installed import FARM, QUERY

ROOT = Path(__file__).parents[2]
CERIFY = str(Path(sys.executable).with_name("cerify"))
RECORDED = [sys.executable, "-S", str(Path(__file__).with_name("recorded_engine.py"))]
RECORDING = "ANSWERS"
"""Stands for a file: a run that does not count records the automaton's answers there, and the others repeat them."""
COMMANDS: dict[str, tuple[list[str], int, float, int]] = {
    "match": (["match", QUERY, FARM], 0, 0.2, RUNS),
    "conform": (["conform", "--engine", "automaton"], 0, 6, 3),
    "conform.recorded": (["conform", "--", *RECORDED, RECORDING], 0, 6, 3),
    "claims": (["claims"], 0, 20, 1),
}
"""The arguments, the exit status, the seconds that it may take, and the runs."""


def person(quick: bool) -> Iterator[Figure]:
    """Commands by the clock on the wall, and their CPU time, against starting Python.

    `match` reads the ten lines of workbench/examples/farm.csv; `conform` asks all cases of the built-in suites of the
    automaton, behind the protocol in a process of its own, and `.recorded` an engine that repeats its answers, so that
    the harness is what takes time; `claims` checks the whole ledger with the budget quick.
    Python finds its bytecode in a folder, as in an installation: each command is first run once that does not count.
    """
    with TemporaryDirectory() as folder:
        yield from _measured(quick, {**os.environ, "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""})


def _measured(quick: bool, environment: Mapping[str, str]) -> Iterator[Figure]:
    """The figures, in an environment."""
    for name, (arguments, status, most, runs) in COMMANDS.items():
        if quick and name != "match":
            continue
        answers = Path(environment["PYTHONPYCACHEPREFIX"], "answers.jsonl")
        command = [CERIFY, *(str(answers) if argument == RECORDING else argument for argument in arguments)]
        recording = [CERIFY, "engine"] if RECORDING in arguments else []
        _seconds([*command, *recording], status, environment)
        taken = [_seconds(command, status, environment) for _ in range(runs)]
        bare = _seconds([sys.executable, "-c", ""], 0, environment)
        for i, figure in enumerate((f"person.{name}", f"person.{name}.cpu")):
            values = sorted(each[i] for each in taken)
            value = median(values)
            target, met = (f"≤ {most:g} s", value <= most) if i == 0 else (None, None)
            yield Figure(
                figure, value, "s", "starting Python", value / bare[i], runs, (values[0], values[-1]), target, met
            )


def _seconds(command: list[str], status: int, environment: Mapping[str, str]) -> tuple[float, float]:
    """By the wall, and of the CPU. Raises AssertionError for another exit status."""
    begun, before = time.perf_counter(), getrusage(RUSAGE_CHILDREN)
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    wall, after = time.perf_counter() - begun, getrusage(RUSAGE_CHILDREN)
    assert ran.returncode == status, (command, ran.stderr[-2000:])
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
