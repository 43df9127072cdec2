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

BEFORE: Mapping[str, float] = {"match": 72, "equivalent": 123, "conform": 7.28}
"""What this script counted at df2df87, the last commit before languages were plug-ins.

Since then match also looks whether the query fits its events, and conform judges by a second opinion.
"""


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
    """The hops of a match, of a comparison, and of a conformance run for each of its cases."""
    cases = [case for case in load(None) if case.language == "cel"][:CASES]
    requests: dict[str, tuple[Callable[[], object], int]] = {
        "match": (lambda: cerify.match("A ; B", EVENTS), 1),
        "equivalent": (lambda: cerify.equivalent("A ; B", "A ; B OR A ; B"), 1),
        "conform": (lambda: cerify.conform(command_of("automaton"), cases), len(cases)),
    }
    for name, (request, things) in requests.items():
        number = hops_of(request) / things
        unit = "calls" if things == 1 else "calls/case"
        yield Figure(f"hops.{name}", number, unit, "at df2df87", number / BEFORE[name], 1, (number, number))
