"""The trials of faults: a work that survives, and works with planted mistakes that are found."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest

from proofs_tests.faults.run import FAULTS, killed, outcome_of, trial_of
from proofs_tests.faults.works import WORKS, Work

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals and limits of Linux")
WRITES = """
import pathlib, sys, time
path = pathlib.Path(sys.argv[1], "out")
with path.open("a") as file:
    for i in range(20):
        print(i, file=file, flush=True)
        time.sleep(0.02)
print("done")
"""
LEAVES = "import subprocess, time; subprocess.Popen(['sleep', '60']); time.sleep(1)"
ENDS = """
import os, sys
try:
    open(sys.argv[1] + "/out", "w").write("x" * 10_000)
    print(1, flush=True)
except OSError:
    os._exit(3)
"""
BREAKS = "import sys; open(sys.argv[1] + '/out', 'w').write('x' * 10_000); print(1, flush=True)"


def program(text: str) -> Work:
    """A work that is a small program."""

    def found(folder: Path, out: str) -> object:
        return out, (folder / "out").read_text(encoding="utf-8") if (folder / "out").exists() else ""

    return Work(lambda folder: [sys.executable, "-c", text, str(folder)], found)


@pytest.mark.parametrize(
    ("text", "fault", "found"),
    [
        (WRITES, "killed", "the result differs"),  # it begins anew in the same file
        (LEAVES, "killed", "still running"),
        (ENDS, "disk full", "status 3, not 2"),
        (BREAKS, "read-only", "status 1, not 2"),  # a traceback
        (WRITES, "two at once", "differs"),
    ],
)
def test_a_planted_mistake_is_found(text: str, fault: str, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proofs_tests.faults.run.GONE", 1.0)
    done = {"killed": partial(killed, kills=2), **FAULTS}[fault]
    with trial_of(program(text), 1) as trial:
        outcome, survived = outcome_of(trial, fault, done)
    assert not survived
    assert found in outcome


@pytest.mark.thorough
def test_a_campaign_survives_being_killed() -> None:
    with trial_of(WORKS["fuzz, an engine"], 1) as trial:
        assert outcome_of(trial, "killed", partial(killed, kills=2))[1]


@pytest.mark.thorough
@pytest.mark.parametrize("work", ["fuzz on Spark", "a stream on Spark"])
def test_two_runs_on_spark_in_one_folder(work: str) -> None:
    pytest.importorskip("pyspark")
    with trial_of(WORKS[work], 1) as trial:
        outcome, survived = outcome_of(trial, "two at once", FAULTS["two at once"])
    assert survived, outcome
