"""Explanations of MATCH_RECOGNIZE and WINDOW: why rows have their labels, what was preferred, why there is no match.

The labellings are tried in the order of preferment, as the definition has them, and each test of a condition is noted.
What comes before the first labelling that is complete is what was preferred to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cerify.draw.timeline import Row
from cerify.explanations.evidence import braces
from cerify.explanations.explainer import Explainer, Json, Listing, Request, listing
from cerify.explanations.row_rejection import Rejection
from cerify.explanations.step import Drawing, Part, View, nearest
from cerify.semantics.budget import Budget
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import ComplexEvent, Stream
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.row_pattern.denote import Labelling, visible_rows
from cerify.semantics.row_pattern.interpreter import Watch, answers
from cerify.semantics.row_pattern.matches import NumberedMatch
from cerify.semantics.row_pattern.output import Output
from cerify.semantics.row_pattern.reading import STANDARD
from cerify.semantics.row_pattern.search_text import condition_text
from cerify.semantics.row_pattern.traced import Attempt, Traced
from cerify.terminal import printable

NEAREST = 3


@dataclass(frozen=True)
class Labelled:
    """One row of a match: its position, its label, and why; preferred: what was tried before and did not lead on."""

    place: int
    label: str
    why: str
    preferred: tuple[str, ...]


@dataclass(frozen=True)
class Explained:
    """A match, its rows, and what was taken further and given up."""

    match: NumberedMatch
    rows: tuple[Labelled, ...]
    further: str = ""


@dataclass(frozen=True)
class NotMatched:
    """Rows that are no match, why, and the matches that differ from them least."""

    events: ComplexEvent
    reasons: tuple[str, ...]
    near: tuple[NumberedMatch, ...]


class RowExplainer(Explainer[Explained | NotMatched]):
    """Explanations by the definition."""

    heading = "Why rows are labelled as they are"
    legend = "A dot is a row of a match; diamonds are rows that are no match, rings those of a match near to them."

    def __init__(self, q: MatchRecognize, S: Stream, query: str) -> None:
        self.S, self.query, self.made = S, query, Output(q, S)
        self.in_order = not q.order
        self.matches = sorted(answers(q, S))

    def one(self, request: Request) -> Explained | NotMatched | None:
        if request.valuation is not None:
            raise Unsupported("of MATCH_RECOGNIZE the rows of a match are explained, not what variables bind")
        if request.events is None:
            return None
        C, at = request.events, request.at
        for place in sorted(C) if at is None else [*sorted(C), at]:
            self.require_on_stream(place, "--match")
        if not C and at is None:
            raise InputError("an empty match needs --at: the row at which it is")
        fitting = (m for m in self.matches if set(m.events) == C and at in (None, m.at))
        found = next(fitting, None)
        return self._explained(found) if found is not None else self._rejected(C, at)

    def all(self, request: Request) -> Listing[Explained | NotMatched]:
        found: Iterator[Explained | NotMatched] = (
            self._explained(m) for m in self.matches if request.at in (None, m.at)
        )
        listed = listing(found, request, len(self.S), lambda one: one.match.at if isinstance(one, Explained) else -1)
        return listed if self.matches else replace(listed, reasons=Rejection(self.made, ()).farthest())

    def json(self, found: Explained | NotMatched) -> Json:
        if isinstance(found, NotMatched):
            near = [{"events": list(m.events), "at": m.at} for m in found.near]
            events = sorted(found.events)
            return {"query": self.query, "events": events, "match": False, "reasons": [*found.reasons], "nearest": near}
        match = found.match
        shown = [{"row": r.place, "variable": r.label, "why": r.why, "preferred": [*r.preferred]} for r in found.rows]
        answer: Json = {"query": self.query, "events": list(match.events), "at": match.at, "match": True}
        return answer | match.more() | {"rows": shown, "further": found.further}

    def view(self, found: Explained | NotMatched) -> View:
        if isinstance(found, NotMatched):
            label, places = braces(found.events), tuple(sorted(found.events))
            sentence = f"{label} is not a match"
            drawn = [Row("extra", places, None, sentence)]
            drawn += [Row("missing", m.events, m.at, f"a match: {braces(m.events)}") for m in found.near]
            parts = (
                Part(lines=tuple(map(printable, found.reasons))),
                *nearest("", (m.events for m in found.near), found.events),
            )
            return View(sentence, False, places, max(places, default=0), label, parts, Drawing(tuple(drawn)))
        match, label = found.match, braces(found.match.events)
        kind, where = "match" if match.events else "empty match", f"reported at {match.at}"
        where = where if self.made.q.window is None else f"in the window of row {match.at}"
        sentence = f"{label} is {kind} {match.match_number} of its partition, {where}"
        lines = []
        for row in found.rows:
            lines.append(f"row {row.place} is {printable(row.label)}: {printable(row.why)}")
            lines += [f"  {printable(text)}" for text in row.preferred]
        lines += [found.further] if found.further else []
        drawing = Drawing(
            (Row("common", sorted(match.events), match.at, sentence),), {r.place: r.label for r in found.rows}
        )
        parts = (Part(lines=tuple(lines)),) if lines else ()
        return View(sentence, True, tuple(sorted(match.events)), match.at, label, parts, drawing)

    # --- the search at one row ----------------------------------------------------------------------------------------

    def _traced(self, place: int, searched: int, number: int) -> tuple[Traced, Labelling | None]:
        """The match of that number at a position; searched: the position of the row whose search is there."""
        partition, s = self.made.place[place]
        visible = visible_rows(self.made.q, self.made.place[searched][1], len(partition))
        traced = Traced(self.made.q, partition, s, visible, number, STANDARD, Watch(Budget().valuations))
        return traced, next(traced.labellings(self.made.q.pattern, ()), None)

    def _explained(self, match: NumberedMatch) -> Explained:
        first = match.events[0] if match.events else match.at
        traced, labelling = self._traced(first, self.made.row_of(match), match.match_number)
        assert labelling is not None, "the definition has found it"
        labels = tuple(label.variable for label in labelling)
        shown = tuple(
            Labelled(place, labels[k], self._why(traced, labelling[: k + 1]), self._preferred(traced, labels, k))
            for k, place in enumerate(match.events)
        )
        taken = (len(a.labels) for a in traced.attempts if a.outcome and a.labels[: len(labels)] == labels)
        more = max(taken, default=0) - len(labels)
        rest = f"{more} more row{'s' * (more > 1)}" if more > 0 else ""
        return Explained(match, shown, f"{rest} could be labelled, but no match goes on with them" if rest else "")

    def _why(self, traced: Traced, w: Labelling) -> str:
        """The condition of the last label, with the values that it looks up."""
        A = w[-1].variable
        if A not in self.made.q.conditions:
            return "it has no condition"
        return condition_text(self.made, A, traced.frame(w, len(w)))

    def _preferred(self, traced: Traced, labels: tuple[str, ...], k: int) -> tuple[str, ...]:
        """The labels of the row of that number that were tried before its own, after the same labels."""
        found: dict[str, None] = {}
        for attempt in traced.attempts:
            if attempt.labels == labels[: k + 1]:
                break
            if len(attempt.labels) == k + 1 and attempt.labels[:k] == labels[:k]:
                found[self._refusal(traced, attempt)] = None
        return tuple(found)

    def _refusal(self, traced: Traced, attempt: Attempt) -> str:
        A = attempt.labels[-1]
        if attempt.outcome:
            length = len(attempt.labels)
            deeper = [a.labels for a in traced.attempts if a.outcome and a.labels[:length] == attempt.labels]
            further = max(map(len, deeper)) - length
            return f"{A} is preferred and could be taken, but no match goes on from there ({further} more rows at most)"
        if not attempt.there:
            return f"{A} is preferred, but there is no row"
        return f"{A} is preferred, but its condition is {'unknown' if attempt.outcome is None else 'false'}"

    def _rejected(self, C: ComplexEvent, at: int | None) -> NotMatched:
        sharing = [m for m in self.matches if not C.isdisjoint(m.events)] or self.matches
        near = sorted(sharing, key=lambda m: (len(C.symmetric_difference(m.events)), m))[:NEAREST]
        return NotMatched(C, Rejection(self.made, self.matches).reasons(C, at), tuple(near))
