"""The calls from one of our files to another that a request makes: what a reader follows, and part of the time.

A hop is a call by a function in one file of the product of a function in another file. It is counted in a second call
of the same request, so that modules are imported and grammars are built. A generator counts once, where it is started.
Methods that dataclasses generate are in no file, and count for none; nor does a hash that is remembered in the place of
a generated one, which no line calls: a table or a set asks for it. The engine of `conform` is a process of its own,
whose calls are not counted.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import FrameType

import cerify
from cerify import Event, Stream
from cerify.conformance.cases import load
from cerify.conformance.engines import command_of
from proofs_tests.benchmarks.figure import Figure

TOP = Path(__file__).resolve().parents[2]
ROOTS = tuple(TOP / name for name in ("semantics", "automata", "equivalence", "workbench"))
CASES = 50
EVENTS = Stream([Event("A", {"x": 1}), Event("B", {"x": 2}), Event("A", {"x": 1})])

SASE = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { a.x < b.x }"
ROWS = "MATCH_RECOGNIZE (PATTERN (A B) DEFINE A AS x = 1, B AS x = 2)"

BEFORE: Mapping[str, tuple[float, str]] = {
    "match": (72, "at df2df87"),
    "equivalent": (123, "at df2df87"),
    "sase": (221, "at 45caed41"),
    "row_pattern": (236, "at 45caed41"),
    "conform": (7.28, "at df2df87"),
}
"""What this script counted at a commit: at df2df87, the last one before languages were plug-ins; at 45caed41, the one
where small modules had become subjects.

Since df2df87 match also looks whether the query fits its events, and conform judges by a second opinion.
"""
GOALS: Mapping[str, float] = {"match": 40, "equivalent": 60, "sase": 90, "row_pattern": 100, "conform": 20}
"""The most hops of each request."""


def match_cel() -> object:
    """Match a query of CEL."""
    return cerify.match("A ; B", EVENTS)


def compare_cel() -> object:
    """Compare two queries of CEL."""
    return cerify.equivalent("A ; B", "A ; B OR A ; B")


def match_sase() -> object:
    """Match a query of SASE+."""
    return cerify.match(SASE, EVENTS, language="sase")


def match_rows() -> object:
    """Match a clause of MATCH_RECOGNIZE."""
    return cerify.match(ROWS, EVENTS, language="row-pattern")


REQUESTS: Mapping[str, Callable[[], object]] = {
    "match": match_cel,
    "equivalent": compare_cel,
    "sase": match_sase,
    "row_pattern": match_rows,
}
"""The requests that this process answers by itself."""


@cache
def ours(name: str) -> str | None:
    """The file of the product that a module's file is; None for other files, and for generated code."""
    path = Path(name).resolve() if Path(name).is_absolute() else TOP
    return next((str(path) for root in ROOTS if root in path.parents), None)


def hops_of(request: Callable[[], object]) -> int:
    """The hops of the second call of a request."""
    request()
    found = 0
    started: set[FrameType] = set()  # generators: they are called again for each of their values

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal found
        if event != "call" or frame.f_back is None or frame in started or frame.f_code.co_name == "__hash__":
            return
        if frame.f_code.co_flags & inspect.CO_GENERATOR:
            started.add(frame)
        caller, called = ours(frame.f_back.f_code.co_filename), ours(frame.f_code.co_filename)
        found += caller is not None and called is not None and caller != called

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        request()
    finally:
        sys.setprofile(before)
    return found


def hops(quick: bool) -> Iterator[Figure]:
    """The hops of a match in three languages, of a comparison, and of a conformance run for each of its cases."""
    cases = [case for case in load(None) if case.language == "cel"][:CASES]
    requests: dict[str, tuple[Callable[[], object], int]] = {
        **{name: (request, 1) for name, request in REQUESTS.items()},
        "conform": (lambda: cerify.conform(command_of("automaton"), cases), len(cases)),
    }
    for name, (request, things) in requests.items():
        number = hops_of(request) / things
        unit = "calls" if things == 1 else "calls/case"
        (before, when), goal = BEFORE[name], GOALS[name]
        runs = (number, number)
        yield Figure(f"hops.{name}", number, unit, when, number / before, 1, runs, f"at most {goal:g}", number <= goal)
