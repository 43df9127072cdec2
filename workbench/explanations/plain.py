"""Explanations of a language that has none of its own: whether positions are a match, and the nearest matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cerify.explanations.evidence import braces, row
from cerify.explanations.explainer import Explainer, Json, Listing, Request
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import ComplexEvent, Match, Stream

if TYPE_CHECKING:
    from rich.console import Console

NEAREST = 3


@dataclass(frozen=True)
class Found:
    """Whether the positions are a match reported at a position; if not, the matches that differ from them least."""

    events: ComplexEvent
    at: int
    match: bool
    nearest: tuple[Match, ...] = ()


class PlainExplainer(Explainer[Found]):
    """Explanations by the matches of the definition alone."""

    def __init__(self, matches: Sequence[Match], S: Stream, query: str) -> None:
        self.matches, self.S, self.query = matches, S, query

    def one(self, request: Request) -> Found | None:
        if request.valuation is not None:
            raise Unsupported("of this language only the positions of a match are explained, not what variables bind")
        if request.events is None:
            return None
        if not request.events and request.at is None:
            raise InputError("the match of no event needs --at: it has no last event to be reported at")
        C, at = request.events, max(request.events) if request.at is None else request.at
        if any(m.at == at and set(m.events) == C for m in self.matches):
            return Found(C, at, True)
        near = sorted(self.matches, key=lambda m: (len(C.symmetric_difference(m.events)), m))
        return Found(C, at, False, tuple(near[:NEAREST]))

    def all(self, request: Request) -> Listing[Found]:
        found = [Found(frozenset(m.events), m.at, True) for m in self.matches if request.at in (None, m.at)]
        return Listing(found[: request.limit], len(found) > request.limit, matches=len(found))

    def is_match(self, found: Found) -> bool:
        return found.match

    def json(self, found: Found) -> Json:
        answer: Json = {"query": self.query, "events": sorted(found.events), "at": found.at, "match": found.match}
        near = [{"events": list(m.events), "at": m.at} for m in found.nearest]
        return answer if found.match else answer | {"nearest": near}

    def page(self, found: Sequence[Found], listing: Listing[Found] | None) -> str:
        raise Unsupported("there is no page of explanations of this language; leave --html out")

    def print(self, found: Found, console: Console) -> None:
        console.print(f"{braces(found.events)} is {'a' if found.match else 'not a'} match at {found.at}")
        for p in sorted(found.events):
            console.print(f"  {p}  {row(self.S[p])}", markup=False)
        for near in found.nearest:
            console.print(f"nearest match: {braces(near.events)} at {near.at}")

    def print_listing(self, listing: Listing[Found], console: Console) -> None:
        for one in listing.found:
            self.print(one, console)
        if listing.more:
            console.print(f"There are {listing.matches} matches: --limit N explains the first N.")
        if not listing.found:
            console.print(f"no match in {len(self.S)} events")
