"""The demo's page: each question, what was found, examples drawn, and how the evaluators compare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from cerify.conformance.html import rows_of, summary
from cerify.conformance.model import Report, Result
from cerify.draw.page import markup, page
from cerify.draw.timeline import Column, Row, timeline
from cerify.examples.findings import Finding, Sample, passed
from cerify.examples.flights import new_york
from cerify.semantics.events import TIME, Event, Match, Stream

if TYPE_CHECKING:
    from markupsafe import Markup

CONTEXT = 1  # events drawn before and after those of a match


@dataclass(frozen=True)
class Section:
    """A finding as the page shows it: differs are the drawings of samples on which an evaluator departs."""

    finding: Finding
    agreed: int
    with_matches: int
    engine: Sequence[tuple[str, int, str]]
    drawings: Sequence[Markup]
    differs: Sequence[tuple[str, Markup]]


def render(findings: Sequence[Finding], report: Report, engine: str, note: str, conformance: str) -> str:
    """The page as HTML.

    engine: the name of the second engine. note: why there is none, or "". conformance: the address of the report.
    """
    return page(
        "examples/page.html",
        sections=[section(finding, engine) for finding in findings],
        report=report,
        parts=summary(report),
        engine=engine,
        note=note,
        conformance=conformance,
    )


def section(finding: Finding, engine: str) -> Section:
    """The view of a finding."""
    samples = finding.samples
    differs = [
        (f"{name} on a window of {len(sample.window.positions)} events", drawing_of_result(result, sample, finding))
        for sample in samples
        for name, result in (("The automaton", sample.automaton), (engine, sample.engine))
        if result is not None and result.outcome == "failed"
    ]
    return Section(
        finding,
        passed(sample.automaton for sample in samples),
        sum(bool(sample.automaton.case.matches) for sample in samples),
        outcomes(sample.engine for sample in samples),
        [drawing_of_match(match, finding.stream) for match in finding.illustrations],
        differs,
    )


def outcomes(results: Iterable[Result | None]) -> list[tuple[str, int, str]]:
    """Each outcome with its number of results, and the reason where it is not a matter of matches."""
    counts: dict[tuple[str, str], int] = {}
    for result in results:
        if result is not None:
            key = (result.outcome, "" if result.outcome in ("passed", "failed") else result.detail)
            counts[key] = counts.get(key, 0) + 1
    return [(outcome, number, detail) for (outcome, detail), number in counts.items()]


def drawing_of_match(match: Match, stream: Stream) -> Markup:
    """A match on its substream, with the events just around those it is made of; the others are left out."""
    near = {p + d for p in match.events for d in range(-CONTEXT, CONTEXT + 1)}
    positions = sorted(p for p in near if 0 <= p < len(stream))
    events = Stream.from_table(stream.table.take(positions), stream.schema)
    columns = [column(position, event) for position, event in zip(positions, events, strict=True)]
    caption = f"a match of {len(match.events)} events, complete at position {match.at:,}"
    return markup(timeline(columns, [Row("common", match.events, match.at, caption)]))


def drawing_of_result(result: Result, sample: Sample, finding: Finding) -> Markup:
    """A sample with the expected and the reported matches; its positions are its own, from 0."""
    window = sample.window.of(finding.stream)
    return markup(timeline([column(position, event) for position, event in enumerate(window)], rows_of(result)))


def column(position: int, event: Event) -> Column:
    """An event of the flights, readable: what it is, what happened, when on the clock of New York."""
    time = event.get(TIME)
    assert isinstance(time, datetime)
    local = new_york(time)
    when = f"{local.day} {local:%b %H:%M}"
    if event.type == "Weather":
        wind, visib, precip = (event.get(name) for name in ("wind_speed", "visib", "precip"))
        readings = [f"visib {_number(visib)} mi", f"precip {_number(precip)} in"]
        return Column(position, "Weather", [str(event.get("origin")), f"wind {_number(wind)} mph", *readings, when])
    route = f"{event.get('origin')} to {event.get('dest')}"
    what = "cancelled" if event.type == "Cancellation" else _delay(event.get("dep_delay"))
    return Column(position, f"{event.get('carrier')} {event.get('flight')}", [what, route, when])


def _delay(minutes: object) -> str:
    assert isinstance(minutes, int)
    return "on time" if minutes == 0 else f"{abs(minutes)} min {'late' if minutes > 0 else 'early'}"


def _number(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "?"
