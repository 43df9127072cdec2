"""The long work that is put under faults: commands that write into a folder, and what has to be there in the end."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

from proofs_tests.campaigns import spark_streaming
from proofs_tests.integration.spark.disorder import Pair, pair

TIMES = {
    "seconds", "cases_per_second", "cases_per_second_of_a_worker", "per_second",
    "resumed", "this_call", "restarts", "rerun", "stderr",
}  # fmt: skip
"""Fields that differ from one call to the next."""
SLOW = (sys.executable, "-m", "proofs_tests.faults.slow_engine")
FAULTY = (sys.executable, "-m", "cerify.cli", "engine", "--hypothesis", "seq=strict")


@dataclass(frozen=True)
class Work:
    """A command, which may be run again in the same folder.

    argv: the command, and if it asks an engine, another one. found: what the folder and standard output have after a
    whole call, without times. partial: raises AssertionError if what a killed call has left is no part of that. sole:
    whether one of two calls is refused; None if it may be. untouched: faults that do not concern it.
    """

    argv: Callable[[Path], Sequence[str]]
    found: Callable[[Path, str], object]
    partial: Callable[[Path], None] = lambda folder: None
    prepare: Callable[[Path], None] = lambda folder: None
    with_slow_engine: Callable[[Path], Sequence[str]] | None = None
    sole: bool | None = False
    untouched: frozenset[str] = frozenset()


def cerify(*options: str) -> list[str]:
    """A command of cerify in a process of its own."""
    return [sys.executable, "-m", "cerify.cli", *options]


def lasting(value: Any) -> Any:
    """JSON without the fields that differ from one call to the next."""
    if isinstance(value, dict):
        return {name: lasting(part) for name, part in value.items() if name not in TIMES}
    return [lasting(part) for part in value] if isinstance(value, list) else value


def printed(out: str) -> list[Any]:
    """The JSON Lines that a command has printed, without times."""
    return [lasting(json.loads(line)) for line in out.splitlines()]


# --- a campaign that is kept in a file --------------------------------------------------------------------------------


def fuzz(folder: Path, *more: str) -> list[str]:
    """A campaign with a file to resume from."""
    return cerify("fuzz", "--seed", "3", "--json", "--resume", str(folder / "campaign.jsonl"), *more)


def with_engine(folder: Path, engine: Sequence[str] = FAULTY) -> list[str]:
    """A campaign that finds and shrinks disagreements of an engine."""
    limit = "0.5" if engine == SLOW else "60"
    return fuzz(folder, "--cases", "60", "--stop-after", "100", "--time-limit", limit, "--", *engine)


def cases_once(folder: Path) -> None:
    """Each case is in the file once, and each line but the last is whole."""
    path = folder / "campaign.jsonl"
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    numbers = [json.loads(line)["case"] for line in lines[1:]]
    assert len(numbers) == len(set(numbers)), "a case is there twice"


def found_by_fuzz(folder: Path, out: str) -> object:
    """What was printed, and the cases of the file."""
    cases_once(folder)
    lines = (folder / "campaign.jsonl").read_text(encoding="utf-8").splitlines()
    return printed(out), sorted(lines[1:])


# --- conform, and the ledger of claims --------------------------------------------------------------------------------


def conform(folder: Path, engine: Sequence[str] = FAULTY) -> list[str]:
    """A conformance run with all of its files."""
    files = (
        "--html",
        str(folder / "page.html"),
        "--junit",
        str(folder / "junit.xml"),
        "--badge",
        str(folder / "b.svg"),
    )
    limit = "0.5" if engine == SLOW else "60"
    return cerify("conform", "--feature", "crepeat", "--time-limit", limit, "--json", *files, "--", *engine)


def whole_pages(folder: Path) -> None:
    """Each file that is there is whole."""
    for path in (folder / "junit.xml", folder / "b.svg"):
        if path.exists():
            ElementTree.fromstring(path.read_text(encoding="utf-8"))
    page = folder / "page.html"
    assert not page.exists() or page.read_text(encoding="utf-8").rstrip().endswith("</html>"), "half a page"


def found_by_conform(folder: Path, out: str) -> object:
    """What was printed, and that all files are there and whole."""
    whole_pages(folder)
    assert all((folder / name).exists() for name in ("page.html", "junit.xml", "b.svg"))
    return printed(out)


# --- Spark ------------------------------------------------------------------------------------------------------------


def spark_fuzz(folder: Path) -> list[str]:
    """A campaign as a Spark job."""
    job = ("--spark", "local[2]", "--evaluator", "automaton", "--cases", "2000", "--json")
    return cerify("fuzz", *job, "--out", str(folder / "out"))


def found_by_spark(folder: Path, out: str) -> object:
    """The summary and the disagreements."""
    return printed(out)


@cache
def stream() -> Pair:
    """A query, and rows in three batches."""
    return pair(Random("faults/1"), events=60, batches=3, sets=8)


def spark_stream(folder: Path) -> list[str]:
    """A stream on Spark, until all of its files are read."""
    return [sys.executable, "-m", "proofs_tests.campaigns.spark_streaming", "--run", str(folder)]


def found_by_stream(folder: Path, out: str) -> object:
    """That nothing differs from the local evaluator."""
    assert not (wrong := list(spark_streaming.differences(folder, stream()))), wrong
    return "as the local evaluator has it"


WORKS = {
    "fuzz, an engine": Work(
        with_engine, found_by_fuzz, cases_once, with_slow_engine=lambda folder: with_engine(folder, SLOW), sole=True
    ),
    "fuzz, two processes": Work(
        lambda folder: fuzz(folder, "--evaluator", "automaton", "--processes", "2", "--cases", "1500"),
        found_by_fuzz,
        cases_once,
        sole=True,
    ),
    "conform": Work(conform, found_by_conform, whole_pages, with_slow_engine=lambda folder: conform(folder, SLOW)),
    "claims": Work(
        lambda folder: cerify("claims", "tods21.fig3", "--json", "--jobs", "2"),
        lambda folder, out: printed(out),
        untouched=frozenset({"read-only"}),
    ),
    "fuzz on Spark": Work(spark_fuzz, found_by_spark, sole=True),
    "a stream on Spark": Work(
        spark_stream,
        found_by_stream,
        prepare=lambda folder: spark_streaming.write(folder, stream()),
        sole=None,  # not if the other one has ended by then
    ),
}
