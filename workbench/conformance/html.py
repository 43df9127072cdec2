"""A conformance run as one self-contained HTML page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cerify.conformance.model import Defect, Json, Outcome, Report, Result
from cerify.conformance.report_json import again
from cerify.conformance.report_text import alike_text, axis_says, entitled, issue_text, opening, title
from cerify.conformance.words import second_sentence, sentence, shown_match, unasked_sentence
from cerify.draw.page import markup, page
from cerify.draw.timeline import Column, Presence, Row, timeline
from cerify.semantics.events import TYPE, Match

if TYPE_CHECKING:
    from markupsafe import Markup

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
    "not_run": "not asked: the restarts were used up, or the engine never came back from one of its operators",
    "disputed": "cerify contradicts itself about the expected matches: no fault of the engine, please report it",
}
LABEL: dict[Outcome, str] = {outcome: outcome.replace("_", " ") for outcome in EXPLANATION}
KEYS: dict[Presence, str] = {"common": "in common", "missing": "missing", "extra": "extra"}


def render(report: Report) -> str:
    """The page of a conformance run."""
    return page(
        "conformance/report.html",
        report=report,
        opening=opening(report),
        parts=summary(report),
        claimed={name: number for name, number in summary(report).items() if name != "skipped"} | {"skipped": 0},
        unasked=unasked_sentence(report),
        label=LABEL,
        explanation=EXPLANATION,
        features=[FeatureView.of(feature, report) for feature in features(report)],
        defects=[DefectView.of(defect, report) for defect in report.defects],
        disputed=report.disputed,
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


@dataclass(frozen=True)
class FeatureView:
    """A feature and what became of its cases; first is the first defect that one of them shows, if there is one."""

    name: str
    parts: dict[str, int]
    total: int
    first: Defect | None

    @classmethod
    def of(cls, name: str, report: Report) -> FeatureView:
        own = [r for r in report.results if r.case.feature == name]
        totals: Counter[Outcome] = Counter(r.outcome for r in own)
        ids = {r.case.id for r in own}
        first = next((defect for defect in report.defects if not ids.isdisjoint(defect.cases)), None)
        return cls(name, _parts(totals), totals.total(), first)


@dataclass(frozen=True)
class DefectView:
    """A defect as the page shows it."""

    defect: Defect
    title: str
    sentence: str
    second: str
    drawing: Markup
    undrawn: int
    says: str
    alike: str
    entitled: str
    again: str
    issue: str

    @classmethod
    def of(cls, defect: Defect, report: Report) -> DefectView:
        rows = rows_of(defect.result)
        svg = timeline(columns_of(defect.result.case.events), rows[:DRAWN])
        words = sentence(defect.result)
        first = defect.causes[0] if defect.causes else None
        return cls(
            defect=defect,
            title=title(defect),
            sentence=words[:1].upper() + words[1:],
            second=second_sentence(defect.result),
            drawing=markup(svg),
            undrawn=max(0, len(rows) - DRAWN),
            says=axis_says(defect, first) if first else "",
            alike=alike_text(defect, report),
            entitled=entitled(defect, first) if first else "",
            again="\n".join(again(defect, report)),
            issue=issue_text(defect, report),
        )


def columns_of(events: Sequence[Json]) -> list[Column]:
    """Events of the protocol as a timeline draws them: the type, then each attribute with its value."""
    return [
        Column(position, str(event.get(TYPE, "?")), [f"{k} {_value(v)}" for k, v in event.items() if k != TYPE])
        for position, event in enumerate(events)
    ]


def rows_of(result: Result) -> list[Row]:
    """The matches of a result as a timeline draws them; those that are right come last."""
    expected, reported = set(result.case.matches), set(result.matches or ())
    keys = KEYS if result.matches is not None else {"missing": "expected"}  # no other row
    kinds: list[tuple[Presence, set[Match]]] = [
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
