"""Conformance runs that were stored as JSON: a baseline of known failures, and the trend over versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cerify.conformance.model import FAILURES, Report
from cerify.conformance.report_json import case_json
from cerify.semantics.errors import InputError
from cerify.semantics.json_events import lines_of, parse_json

GIVE = "give the whole of what `cerify conform --json` printed"
CASE: Mapping[str, type | tuple[type, ...]] = {"id": str, "outcome": str}
SUMMARY: Mapping[str, type | tuple[type, ...]] = {
    "summary.engine.name": str,
    "summary.engine.version": str,
    "summary.totals.passed": int,
    "summary.totals.skipped": int,
    "summary.cases": int,
    "summary.claimed": (int, type(None)),  # runs of earlier versions do without these
    "summary.defects": (list, type(None)),
    "summary.held_to": (str, type(None)),
}


@dataclass(frozen=True)
class Stored:
    """What `cerify conform --json` printed: the summary, and the object of each case by its id."""

    summary: dict[str, Any]
    cases: dict[str, dict[str, Any]]

    @property
    def failing(self) -> frozenset[str]:
        """The ids of the cases that failed."""
        return frozenset(id_ for id_, case in self.cases.items() if case["outcome"] in FAILURES)


def read_stored(path: Path) -> Stored:
    """The run in a file. Raises InputError."""
    lines = [(where, parse_json(text, where)) for text, where in lines_of(path)]
    if not lines:
        raise InputError(f"{path} is empty: {GIVE}")
    (_, first), *cases = lines
    _require(first, SUMMARY, f"{path} is no run")
    for where, case in cases:
        _require(case, CASE, f"{where} is no case")
    if len(cases) < (all_ := first["summary"]["cases"]):
        raise InputError(f"{path} was cut: it has the results of {len(cases):,} of its {all_:,} cases; {GIVE}")
    return Stored(first["summary"], {case["id"]: case for _, case in cases})


def _require(obj: Any, fields: Mapping[str, type | tuple[type, ...]], where: str) -> None:
    """Raises InputError, which names the field, for a field that is of none of its types; an absent one is a null."""
    for name, types in fields.items():
        value = obj
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if not isinstance(value, types):
            raise InputError(f"{where}: its field {name} is missing or not of its kind; {GIVE}")


def against(report: Report, baseline: Stored) -> Report:
    """The report with the failing cases as known that have the same outcome and the same answer in a baseline.

    A defect with other cases is new; these come first, and are numbered so.
    """
    known = set()
    for result in report.results:
        before = baseline.cases.get(result.case.id)
        if result.outcome in FAILURES and before is not None:
            now = case_json(result)
            if all(before.get(key) == now[key] for key in ("outcome", "got")):
                known.add(result.case.id)
    new = [defect for defect in report.defects if not known.issuperset(defect.cases)]
    old = [defect for defect in report.defects if known.issuperset(defect.cases)]
    defects = [
        *(replace(defect, id=f"d{i}", baseline="new") for i, defect in enumerate(new, 1)),
        *(replace(defect, id=f"d{i}", baseline="known") for i, defect in enumerate(old, len(new) + 1)),
    ]
    return replace(report, known=frozenset(known), defects=defects)


@dataclass(frozen=True)
class Step:
    """One run of a trend: the engine, its numbers, and the ids that fail no longer, and those that fail since.

    held_to: the choices by which it was judged, "" if by the definition.
    """

    engine: str
    held_to: str
    passed: int
    claimed: int
    defects: int
    mended: frozenset[str]
    broken: frozenset[str]

    def json(self) -> dict[str, Any]:
        """The step as one object."""
        return {
            "engine": self.engine,
            "held_to": self.held_to or None,
            "passed": self.passed,
            "claimed": self.claimed,
            "defects": self.defects,
            "mended": sorted(self.mended),
            "broken": sorted(self.broken),
        }


def trend(runs: Sequence[Stored]) -> Iterator[Step]:
    """The runs in their order, each compared with the last one before it that was held to the same choices."""
    last: dict[str, frozenset[str]] = {}
    for run in runs:
        totals, engine = run.summary["totals"], run.summary["engine"]
        held_to = run.summary.get("held_to") or ""
        failing, before = run.failing, last.get(held_to)
        asked = frozenset(run.cases)
        yield Step(
            f"{engine['name']} {engine['version']}",
            held_to,
            totals["passed"],
            run.summary["cases"] - totals["skipped"] if run.summary.get("claimed") is None else run.summary["claimed"],
            len(run.summary.get("defects") or ()),
            frozenset() if before is None else (before - failing) & asked,
            frozenset() if before is None else failing - before,
        )
        last[held_to] = failing
