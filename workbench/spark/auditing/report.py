"""The findings of an audit as text, as JSON, and as one self-contained HTML page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from cerify.conformance.diagnosis import Report
from cerify.conformance.words import difference, shown_match
from cerify.draw.page import page
from cerify.draw.stream import every_column
from cerify.draw.timeline import Presence, Row, timeline
from cerify.semantics.events import Match, Stream
from cerify.semantics.json_events import json_of_event
from cerify.spark.auditing.audit import DISPUTED, NO_SEMANTICS, Explained, Findings, Unexplained, Verdict

MEANING = {
    "missing": "due, and not reported",
    "extra": "reported, and no match",
    "late": "reported at a later event than it is due",
    "early": "reported at an earlier event than it is due",
    "duplicated": "reported more than once",
    "disputed": "cerify contradicts itself here, and is wrong rather than the engine; please report it",
    "malformed": "reported without a key or events, or of events that the log does not have",
}


@dataclass(frozen=True)
class View:
    """A finding as it is shown: a headline, the smallest case, and verdicts of the log."""

    title: str
    note: str
    query: str
    S: Stream | None
    expected: Report
    reported: Report
    verdicts: tuple[Verdict, ...]

    @property
    def sentence(self) -> str:
        """How the report on the small case differs from the meaning."""
        return difference(_matches(self.expected), _matches(self.reported)) or "the same matches, reported again"

    @property
    def drawing(self) -> Markup:
        """The small case as a timeline."""
        return Markup(timeline(every_column(self.S or Stream()), self._rows()))

    def _rows(self) -> list[Row]:
        kinds: list[tuple[Presence, Report]] = [
            ("missing", self.expected - self.reported),
            ("extra", self.reported - self.expected),
            ("common", self.expected & self.reported),
        ]
        return [
            Row(kind, match.events, match.at, f"{'in common' if kind == 'common' else kind} · {shown_match(match)}")
            for kind, report in kinds
            for match in sorted(_matches(report))
        ]

    @property
    def where(self) -> list[str]:
        """The verdicts in words."""
        return [
            ", ".join(f"{name} {json.dumps(value, default=str)}" for name, value in v.items()) for v in self.verdicts
        ]


def views(findings: Findings) -> Iterator[View]:
    """All findings, those with a cause first."""
    for one in findings.explained:
        yield _with_cause(one)
    for other in findings.unexplained:
        yield _without_cause(other, findings.query.text)


def _with_cause(one: Explained) -> View:
    cause, small = one.cause, one.cause.smallest
    alike = f" Or {', or '.join(cause.alike)}: the sample does not decide." if cause.alike else ""
    note = f"Explains {one.sampled} of the sample ({', '.join(one.kinds)}).{alike}"
    if small is None:
        return View(cause.name, note, "", None, frozenset(), frozenset(), one.verdicts)
    return View(cause.name, note, small.query, small.S, small.expected, small.reported, one.verdicts)


def _without_cause(one: Unexplained, query: str) -> View:
    title = f"{one.kind}: {MEANING[one.kind]}" + (f" ({' '.join(one.types)})" if one.types else "")
    semantics = "" if one.kind in (*NO_SEMANTICS, DISPUTED) else "; no wrong semantics that is known reports this"
    note = f"{one.sampled} of the sample{semantics}."
    if one.piece is None:
        return View(title, note, query, None, frozenset(), frozenset(), one.verdicts)
    return View(title, note, query, one.piece.S, one.piece.expected, one.piece.reported, one.verdicts)


def _matches(report: Report) -> set[Match]:
    return {Match(at, C) for at, C in report}


def text(findings: Findings) -> str:
    """The findings for a terminal."""
    lines = [f"{count:>10,}  {kind:<11} {MEANING[kind]}" for kind, count in findings.counts.items()]
    if not lines:
        return "Nothing diverges: all that is due was reported once, and nothing else."
    lines.append(f"Looked at: {findings.sampled}.")
    for view in views(findings):
        lines += ["", view.title, f"  {view.note}"]
        if view.S is not None:
            events = " ".join(_event(view.S, i) for i in range(len(view.S)))
            lines += [f"  {view.query}", f"  over {events}: {view.sentence}"]
        lines += [f"  seen: {where}" for where in view.where]
    return "\n".join(lines)


def as_json(findings: Findings) -> dict[str, Any]:
    """The findings as JSON: counts, and for each finding its smallest case in the form of the engine protocol."""
    return {
        "query": findings.query.text,
        "language": findings.query.language,
        "counts": dict(findings.counts),
        "sampled": findings.sampled,
        "findings": [
            {
                "title": view.title,
                "note": view.note,
                "query": view.query,
                "events": None if view.S is None else [json_of_event(event) for event in view.S],
                "expected": _places(view.expected),
                "reported": _places(view.reported),
                "seen": [json.loads(json.dumps(dict(verdict), default=str)) for verdict in view.verdicts],
            }
            for view in views(findings)
        ],
    }


def html(findings: Findings) -> str:
    """The findings as a page."""
    return page("spark/auditing/report.html", findings=findings, views=list(views(findings)), meaning=MEANING)


def _places(report: Report) -> list[dict[str, Any]]:
    return [{"at": at, "events": list(C)} for at, C in sorted(report)]


def _event(S: Stream, i: int) -> str:
    attributes = ", ".join(f"{name}={json.dumps(value, default=str)}" for name, value in S[i].attributes.items())
    return f"{S[i].type}({attributes})" if attributes else S[i].type
