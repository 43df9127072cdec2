"""A conformance run as one self-contained HTML page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from cerify.conformance.model import Divergence, Json, Outcome, Report, Result
from cerify.conformance.words import sentence, shown_match, unasked_sentence
from cerify.draw.page import page
from cerify.draw.timeline import Column, Kind, Row, timeline
from cerify.semantics.events import TYPE, Match

DRAWN = 16  # complex events drawn for one divergence; a longer list is cut, and the page says by how much

EXPLANATION: dict[Outcome, str] = {
    "passed": "the matches are exactly the expected ones",
    "failed": "the matches are not the expected ones",
    "skipped": "the engine does not claim the feature; the case still counts",
    "error": "the engine answered with an error",
    "crashed": "the engine's process ended before it answered",
    "timeout": "no answer within the time limit",
    "memory": "stopped because it passed the memory cap",
    "protocol": "what it wrote is not an answer of the protocol",
    "not_run": "not asked, because the restarts were used up",
    "disputed": "cerify contradicts itself about the expected matches: no fault of the engine, please report it",
}
LABEL: dict[Outcome, str] = {outcome: outcome.replace("_", " ") for outcome in EXPLANATION}
KEYS: dict[Kind, str] = {"common": "in common", "missing": "missing", "extra": "extra"}


def render(report: Report) -> str:
    """The page of a conformance run."""
    return page(
        "conformance/report.html",
        report=report,
        parts=summary(report),
        unasked=unasked_sentence(report),
        label=LABEL,
        explanation=EXPLANATION,
        features=[FeatureView.of(feature, report) for feature in features(report)],
        divergences=[DivergenceView.of(number, d) for number, d in enumerate(_ordered(report), start=1)],
        reasons=list(reasons(report)),
    )


def summary(report: Report) -> dict[str, int]:
    """The run in the four parts that a bar shows: passed, failed, other and skipped."""
    return _parts(report.totals)


def features(report: Report) -> list[str]:
    """The features of a run, in the order of the suite."""
    return list(dict.fromkeys(result.case.feature for result in report.results))


def _parts(totals: Counter[Outcome]) -> dict[str, int]:
    known = {"passed": totals["passed"], "failed": totals["failed"], "skipped": totals["skipped"]}
    other = totals.total() - sum(known.values())
    return {"passed": known["passed"], "failed": known["failed"], "other": other, "skipped": known["skipped"]}


def _ordered(report: Report) -> list[Divergence]:
    place = {feature: i for i, feature in enumerate(features(report))}
    return sorted(report.divergences, key=lambda d: (place.get(d.feature, len(place)), d.feature))


@dataclass(frozen=True)
class FeatureView:
    """A feature and what became of its cases; first is the number of its first divergence, if it has one."""

    name: str
    parts: dict[str, int]
    total: int
    first: int | None

    @classmethod
    def of(cls, name: str, report: Report) -> FeatureView:
        totals: Counter[Outcome] = Counter(r.outcome for r in report.results if r.case.feature == name)
        numbers = (i for i, d in enumerate(_ordered(report), start=1) if d.feature == name)
        return cls(name, _parts(totals), totals.total(), next(numbers, None))


@dataclass(frozen=True)
class DivergenceView:
    """A divergence as the page shows it."""

    number: int
    divergence: Divergence
    sentence: str
    drawing: Markup
    undrawn: int

    @classmethod
    def of(cls, number: int, divergence: Divergence) -> DivergenceView:
        rows = rows_of(divergence.result)
        drawn, undrawn = rows[:DRAWN], max(0, len(rows) - DRAWN)
        svg = timeline(columns_of(divergence.result.case.events), drawn)
        words = sentence(divergence.result)
        return cls(number, divergence, words[:1].upper() + words[1:], Markup(svg), undrawn)


def columns_of(events: Sequence[Json]) -> list[Column]:
    """Events of the protocol as a timeline draws them: the type, then each attribute with its value."""
    return [
        Column(position, str(event.get(TYPE, "?")), [f"{k} {_value(v)}" for k, v in event.items() if k != TYPE])
        for position, event in enumerate(events)
    ]


def rows_of(result: Result) -> list[Row]:
    """The matches of a result as a timeline draws them; those that are right come last."""
    expected, reported = set(result.case.matches), set(result.matches or ())
    keys = KEYS if result.matches is not None else KEYS | {"missing": "expected"}
    kinds: list[tuple[Kind, set[Match]]] = [
        ("missing", expected - reported),
        ("extra", reported - expected),
        ("common", expected & reported),
    ]
    return [
        Row(kind, match.events, match.at, f"{keys[kind]} · {shown_match(match)}")
        for kind, matches in kinds
        for match in sorted(matches)
    ]


def reasons(report: Report) -> Iterator[tuple[Outcome, str, list[str]]]:
    """Why cases have no verdict: each outcome other than pass and fail, each reason, the ids of the cases."""
    groups: dict[tuple[Outcome, str], list[str]] = {}
    for result in report.results:
        groups.setdefault((result.outcome, result.detail), []).append(result.case.id)
    for outcome in EXPLANATION:
        if outcome not in ("passed", "failed"):
            own = [(detail, ids) for (known, detail), ids in groups.items() if known == outcome]
            yield from ((outcome, detail, ids) for detail, ids in sorted(own, key=lambda group: -len(group[1])))


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
