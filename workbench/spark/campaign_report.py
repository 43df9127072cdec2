"""The report of a campaign from its Parquet files: as data, as JSON, and as an HTML page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from markupsafe import Markup

from cerify.conformance.campaigns import Job
from cerify.conformance.model import CONTRADICTION, FUZZED_OUTCOMES, Case, CaseResult, difference
from cerify.conformance.report import columns_of, rows_of
from cerify.draw.diagram import page
from cerify.draw.timeline import timeline
from cerify.equivalence.differential import Outcome
from cerify.protocol import matches_of_json
from cerify.spark.campaign import DEFINITION, Folder, Row
from cerify.terminal import picked

DRAWN = 16  # matches drawn for one disagreement
REASONS = 20  # reasons why queries are not evaluated that the page lists
OVER = 200  # cases over a budget, and disputed cases, that the page lists

BAR: dict[Outcome, str] = {
    "matched": "passed",
    "empty": "passed",
    "disagreed": "failed",
    "disputed": "other",
    "budget": "other",
    "unsupported": "skipped",
}


@dataclass(frozen=True)
class CampaignVerdicts:
    """The verdicts of a campaign, read from its folder.

    totals: the number of cases by worst outcome. by_language: these numbers for each language and profile.
    by_evaluator: the outcomes of each evaluator. reasons: why evaluators did not evaluate queries. causes: the causes
    of disagreements by evaluator. sample: shrunk disagreements. over: cases over a budget. disputed: cases on which
    cerify contradicts itself. seconds: the time of all workers. of_evaluators: the time of each evaluator.
    """

    job: Job
    totals: Counter[Outcome]
    by_language: dict[tuple[str, str], Counter[Outcome]]
    by_evaluator: dict[str, Counter[Outcome]]
    reasons: Counter[tuple[str, str]]
    causes: Counter[tuple[str, str, str]]
    sample: tuple[Row, ...]
    over: tuple[Row, ...]
    disputed: tuple[Row, ...]
    seconds: float
    of_evaluators: dict[str, float]

    @property
    def cases(self) -> int:
        """Return the number of cases."""
        return self.totals.total()

    @property
    def agreed(self) -> int:
        """Return the number of cases on which all evaluators have the same matches."""
        return self.totals["matched"] + self.totals["empty"]

    @property
    def wrong(self) -> int:
        """Return the number of cases with a fault of an evaluator or of cerify's definition."""
        return self.totals["disagreed"] + self.totals["disputed"]

    @property
    def per_second(self) -> float:
        """Return the number of cases per second and worker. A worker uses one core."""
        return self.cases / self.seconds if self.seconds else 0.0

    @cached_property
    def groups(self) -> dict[tuple[str, str, str], list[Row]]:
        """Return the sample grouped by language, evaluator and cause, each group with its smallest case first."""
        found: dict[tuple[str, str, str], list[Row]] = {}
        for row in sorted(self.sample, key=lambda row: (len(row["query"]) + len(row["stream"]), row["case"])):
            found.setdefault((row["language"], row["evaluator"], row["cause"]), []).append(row)
        return found

    def json(self) -> dict[str, Any]:
        """Return the report as JSON; apart from seconds it does not depend on interruptions of the campaign."""
        return {
            "tested": sorted(name for name in self.by_evaluator if name != DEFINITION),
            "parts": [[part.language, part.profile] for part in self.job.parts],
            **picked(self.job, "seed", "nodes", "events"),
            **picked(self, "cases", "agreed"),
            "outcomes": _all(self.totals),
            "languages": {" ".join(key): _all(counts) for key, counts in self.by_language.items()},
            "evaluators": {name: _all(counts) for name, counts in self.by_evaluator.items()},
            "reasons": [[*key, cases] for key, cases in _ordered(self.reasons)],
            "disputed": [
                picked(row, "case", "language", "evaluator", "output", "query", "detail") for row in self.disputed
            ],
            "causes_as_found": [[*key, cases] for key, cases in _ordered(self.causes)],
            "seconds": round(self.seconds, 3),
            "cases_per_second_of_a_worker": round(self.per_second, 1),
        }

    def disagreements(self) -> list[dict[str, Any]]:
        """Return the sample of disagreements as a list of objects."""
        return [
            {
                **picked(row, "case", "language", "evaluator", "cause", "output", "query"),
                **json.loads(row["stream"]),
                "expected": json.loads(row["expected"]),
                "got": json.loads(row["got"]),
                **picked(row, "found", "note"),
            }
            for group in self.groups.values()
            for row in group
        ]


def found_in(path: Path) -> CampaignVerdicts:
    """Return the verdicts in the folder of a campaign. Raises InputError."""
    folder = Folder(path)
    job, _ = folder.plan()
    totals, reasons, causes = Counter[Outcome](), Counter[tuple[str, str]](), Counter[tuple[str, str, str]]()
    languages: dict[tuple[str, str], Counter[Outcome]] = {}
    evaluators: dict[str, Counter[Outcome]] = {}
    seconds, of_evaluators = 0.0, Counter[str]()
    for row in folder.counts().to_pylist():
        outcome, cases, name = row["outcome"], row["cases"], row["evaluator"]
        if name is None:
            totals[outcome] += cases
            languages.setdefault((row["language"], row["profile"]), Counter())[outcome] += cases
            seconds += row["seconds"]
        else:
            evaluators.setdefault(name, Counter())[outcome] += cases
            of_evaluators[name] += row["seconds"]
            if row["reason"]:
                reasons[name, row["reason"]] += cases
    for row in folder.verdicts("disagreed", ("language", "evaluator", "cause")).to_pylist():
        causes[row["language"], row["evaluator"], row["cause"]] += 1
    disputed = folder.verdicts("disputed").slice(0, OVER).to_pylist()
    over = folder.verdicts("budget", ("case", "language", "evaluator", "query", "detail")).slice(0, OVER).to_pylist()
    return CampaignVerdicts(
        job,
        totals,
        dict(sorted(languages.items())),
        dict(sorted(evaluators.items())),
        reasons,
        causes,
        tuple(folder.shrunk()),
        tuple(over),
        tuple(disputed),
        seconds,
        dict(of_evaluators),
    )


def render(found: CampaignVerdicts) -> str:
    """Return the page of a campaign."""
    return page(
        "spark/campaign.html",
        found=found,
        words=FUZZED_OUTCOMES,
        contradiction=CONTRADICTION,
        parts=_parts(found.totals),
        languages=[(" · ".join(key), counts, _parts(counts)) for key, counts in found.by_language.items()],
        evaluators=[
            (name, counts, found.of_evaluators[name] / max(1, counts.total()) * 1000)
            for name, counts in found.by_evaluator.items()
        ],
        examples=[
            CampaignExample.from_group(number, group) for number, group in enumerate(found.groups.values(), start=1)
        ],
        causes=_ordered(found.causes),
        reasons=_ordered(found.reasons)[:REASONS],
    )


@dataclass(frozen=True)
class CampaignExample:
    """A cause with its smallest case, for the page."""

    number: int
    row: Row
    cases: Sequence[int]
    sentence: str
    drawing: Markup
    undrawn: int

    @classmethod
    def from_group(cls, number: int, group: Sequence[Row]) -> CampaignExample:
        row = group[0]
        result = result_of(row)
        rows = rows_of(result)
        svg = timeline(columns_of(result.case.events), rows[:DRAWN])
        cases = sorted({other["case"] for other in group})
        return cls(number, row, cases, sentence(result), Markup(svg), max(0, len(rows) - DRAWN))


def result_of(row: Row) -> CaseResult:
    """Return a disagreement as the result of a case."""
    stream, expected, got = json.loads(row["stream"]), json.loads(row["expected"]), json.loads(row["got"])

    def matches(answer: Any) -> Any:
        return () if isinstance(answer, str) else tuple(matches_of_json(answer, row["output"]))

    case = Case(
        f"case {row['case']}",
        row["cause"],
        "",
        row["language"],
        row["query"],
        stream["schema"],
        stream["events"],
        row["output"],
        matches(expected),
    )
    if isinstance(failure := next((s for s in (got, expected) if isinstance(s, str)), None), str):
        return CaseResult(case, "error", None, failure)
    return CaseResult(case, "failed", matches(got))


def sentence(result: CaseResult) -> str:
    """Describe in words how the answers differ."""
    if result.matches is None:
        return f"no answer: {result.detail}"
    return difference(set(result.case.matches), set(result.matches))


def _parts(counts: Counter[Outcome]) -> dict[str, int]:
    parts = dict.fromkeys(("passed", "failed", "other", "skipped"), 0)
    for outcome, cases in counts.items():
        parts[BAR[outcome]] += cases
    return parts


def _all(counts: Counter[Outcome]) -> dict[str, int]:
    return {outcome: counts[outcome] for outcome in FUZZED_OUTCOMES}


def _ordered(counts: Counter[Any]) -> list[tuple[Any, int]]:
    """Return the counts, the most frequent first, then by name."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
