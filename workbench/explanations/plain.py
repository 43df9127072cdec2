"""Explanations of a language that has none of its own: whether positions are a match, and the nearest matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cerify.draw.timeline import Row
from cerify.explanations.evidence import braces
from cerify.explanations.explainer import Explainer, Json, Listing, Request, listing
from cerify.explanations.step import Drawing, View, nearest
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import ComplexEvent, Match, Stream

NEAREST = 3


@dataclass(frozen=True)
class MembershipAnswer:
    """Whether the positions are a match reported at a position; if not, the matches that differ from them least."""

    events: ComplexEvent
    at: int
    match: bool
    nearest: tuple[Match, ...] = ()


class PlainExplainer(Explainer[MembershipAnswer]):
    """Explanations by the matches of the definition alone."""

    def __init__(self, matches: Sequence[Match], S: Stream, query: str) -> None:
        self.matches, self.S, self.query = matches, S, query

    def one(self, request: Request) -> MembershipAnswer | None:
        if request.valuation is not None:
            raise Unsupported("of this language only the positions of a match are explained, not what variables bind")
        if request.events is None:
            return None
        if not request.events and request.at is None:
            raise InputError("the match of no event needs --at: it has no last event to be reported at")
        C, at = request.events, max(request.events) if request.at is None else request.at
        for place in (*sorted(C), at):
            self.require_on_stream(place, "--match")
        if any(m.at == at and set(m.events) == C for m in self.matches):
            return MembershipAnswer(C, at, True)
        near = sorted(self.matches, key=lambda m: (len(C.symmetric_difference(m.events)), m))
        return MembershipAnswer(C, at, False, tuple(near[:NEAREST]))

    def all(self, request: Request) -> Listing[MembershipAnswer]:
        found = [MembershipAnswer(frozenset(m.events), m.at, True) for m in self.matches if request.at in (None, m.at)]
        return listing(found, request, len(self.S), lambda one: one.at)

    def json(self, found: MembershipAnswer) -> Json:
        answer: Json = {"query": self.query, "events": sorted(found.events), "at": found.at, "match": found.match}
        near = [{"events": list(m.events), "at": m.at} for m in found.nearest]
        return answer if found.match else answer | {"nearest": near}

    def view(self, found: MembershipAnswer) -> View:
        label = braces(found.events)
        sentence = f"{label} is {'a' if found.match else 'not a'} match at {found.at}"
        rows = [Row("common" if found.match else "extra", sorted(found.events), found.at, sentence)]
        rows += [Row("common", m.events, m.at, f"nearest match · {braces(m.events)} at {m.at}") for m in found.nearest]
        parts = nearest("", (m.events for m in found.nearest), found.events)
        return View(
            sentence, found.match, tuple(sorted(found.events)), found.at, label, parts, Drawing(tuple(rows)), True
        )
