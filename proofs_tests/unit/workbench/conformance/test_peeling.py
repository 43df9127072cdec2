"""Engines with several defects at once: each planted one is named once, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest

from cerify.conformance.cases import load
from cerify.conformance.defects import defects_behind
from cerify.conformance.hypotheses import answer
from cerify.conformance.model import Case, Defect, Result
from cerify.conformance.oracle import stream_of
from cerify.conformance.peeling import Peeler
from cerify.languages import LANGUAGES
from cerify.protocol import Failed
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import CerifyError
from proofs_tests.support import sampled

HANGS, CRASHES = "hangs", "crashes"

ENGINES: Mapping[str, Mapping[str, str]] = {
    "loops and windows": {"loop": "at-least-two", "window@attribute": "open", "or": "left-first"},
    "sequences": {"seq": "next-from-left", "seq@cseq": "any", "start": "ignored"},
    "strategies": {"selection@max": "ignored", "selection@nxt": "last", "loop": "greedy"},
    "filters": {"filter-loop": "some", "integer-division": "truncating", "partition": "ignored"},
    "absent": {"absent": "error", "partition": "substream"},
    "negation": {"negation": "next", "loop@cplus": "all"},
    "six": {
        "seq": "next-from-right",
        "loop": "at-least-two",
        "selection@last": "ignored",
        "filter-loop": "first",
        "start": "ignored",
        "partition": "ignored",
    },
    "overlap": {"overlap": "to-next", "absent": "error"},
    "one per position": {"emit": "one-per-position", "filter-loop": "some"},
    "contiguity": {"loop": "omit-nothing", "seq": "strict", "negation": "any-between"},
    "hangs": {"seq": "next-from-left", HANGS: "strict"},
    "crashes": {"loop": "at-least-two", "filter-loop": "last", CRASHES: "all"},
}
"""By name: the choices of an engine, and the operator on which it hangs or crashes."""

STEP = 3  # every third case of the suites


@cache
def cases() -> list[Case]:
    return [case for case in load(None) if case.language == "cel"][::STEP]


def recorded(engine: Mapping[str, str], case: Case) -> Result:
    """What the engine answers."""
    operators = LANGUAGES["cel"].constructs(parse(case.query))
    if engine.get(HANGS) in operators:
        return Result(case, "timeout", detail="no answer within 1 s")
    if engine.get(CRASHES) in operators:
        return Result(case, "crashed", detail="the process ended with status 7")
    chosen = {axis: value for axis, value in engine.items() if axis not in (HANGS, CRASHES)}
    try:
        found = answer("cel", case.query, stream_of(case), chosen, case.output)
    except CerifyError as error:
        return Result(case, "skipped", detail=error.message)
    if isinstance(found, Failed):
        return Result(case, "error", detail=f"{found.code}: {found.message}")
    right = set(found.matches) == set(case.matches)
    return Result(case, "passed" if right else "failed", found.matches)


def defects_of(engine: Mapping[str, str], asked: list[Case]) -> tuple[list[Defect], list[Result]]:
    """The defects found in an engine, and its results."""
    results = [recorded(engine, case) for case in asked]
    failures = [result for result in results if result.outcome not in ("passed", "skipped")]
    peeler = Peeler(lambda case, query, S: recorded(engine, case))
    return defects_behind(peeler, failures, results), results


def named(defects: list[Defect]) -> list[tuple[str, str]]:
    """What each defect is, as its likely cause or the operator that it needs."""
    found = []
    for defect in defects:
        if defect.kind == "timeout":
            found.append((HANGS, *defect.operators))
        elif defect.kind == "crash":
            found.append((CRASHES, *defect.operators))
        else:
            found.append((defect.causes[0].axis, defect.causes[0].value) if defect.causes else ("none", defect.kind))
    return sorted(found)


@pytest.mark.parametrize("name", sampled(list(ENGINES), ["filters"]))
def test_each_planted_defect_is_named_once_and_nothing_else(name: str) -> None:
    defects, results = defects_of(ENGINES[name], cases())
    shown = [(d.kind, d.operators, d.result.case.query) for d in defects]
    assert named(defects) == sorted(ENGINES[name].items()), shown
    explained = [id_ for defect in defects for id_ in defect.cases]
    assert len(explained) == len(set(explained))
    assert set(explained) == {r.case.id for r in results if r.outcome not in ("passed", "skipped")}
