"""Explanations of CEL as commands ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from cerify.explanations.explainer import Explainer, Json, Listing, Request
from cerify.explanations.explanation import (
    Derived,
    Explanation,
    as_json,
    explain,
    explain_stream,
    steps,
    steps_as_json,
)
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.show import show
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import InputError
from cerify.semantics.events import Stream

if TYPE_CHECKING:
    from rich.console import Console


class CelExplainer(Explainer[Explanation]):
    """The derivations of matches of a formula, or why a set of positions is rejected."""

    def __init__(self, phi: Formula, S: Stream) -> None:
        self.phi, self.S, self.query = phi, S, show(phi)

    def one(self, request: Request) -> Explanation | None:
        if request.at is not None:
            self.require_on_stream(request.at, "--at")
        if not request.single:
            return None
        events = request.events if request.events is not None else sup(request.valuation or frozenset())
        if request.at is None and not events:
            raise InputError("the match of no event needs --at: it has no last event to be reported at")
        at = max(events) if request.at is None else request.at
        return explain(self.phi, self.S, events, at, valuation=request.valuation, count=request.count)

    def all(self, request: Request) -> Listing[Explanation]:
        first, last = (0, len(self.S) - 1) if request.at is None else (request.at, request.at)
        found = explain_stream(self.phi, self.S, first, last, output=request.output)
        listed = list(islice(found, request.limit + 1))
        return Listing(listed[: request.limit], len(listed) > request.limit, first, last)

    def is_match(self, found: Explanation) -> bool:
        return isinstance(found, Derived)

    def json(self, found: Explanation) -> Json:
        return as_json(found, self.phi)

    def listing_json(self, listing: Listing[Explanation]) -> Json:
        matches = list(map(self.json, listing.found))
        walked = steps_as_json(steps(_derived(listing), listing.first, _last(listing)))
        return {"query": self.query, "steps": walked, "matches": matches, "more": listing.more}

    def page(self, found: Sequence[Explanation], listing: Listing[Explanation] | None) -> str:
        from cerify.explanations.html import render

        if listing is None:
            return render(self.phi, self.S, found)
        walked = steps(_derived(listing), listing.first, _last(listing))
        return render(self.phi, self.S, found, listing.more, walked)

    def print(self, found: Explanation, console: Console) -> None:
        from cerify.explanations.text import print_explanation

        print_explanation(found, self.S, console)

    def print_listing(self, listing: Listing[Explanation], console: Console) -> None:
        from cerify.explanations.text import print_stream

        print_stream(Listing(_derived(listing), listing.more, listing.first, listing.last), self.S, console)


def _derived(listing: Listing[Explanation]) -> list[Derived]:
    return [one for one in listing.found if isinstance(one, Derived)]


def _last(listing: Listing[Explanation]) -> int:
    """The last position of which all matches are known: with more, what comes after the last one shown is not."""
    return listing.found[-1].at if listing.more else listing.last
