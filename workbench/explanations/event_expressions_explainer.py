"""Explanations of event expressions as commands ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from cerify.explanations.event_expressions import (
    DoesNot,
    TakesPlace,
    as_json,
    explain_event,
    explain_events,
    print_event,
)
from cerify.explanations.explainer import Explainer, Json, Listing, Request
from cerify.semantics.errors import InputError
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.events import Stream

if TYPE_CHECKING:
    from rich.console import Console

Found: TypeAlias = TakesPlace | DoesNot


class ExpressionExplainer(Explainer[Found]):
    """The occurrences of an expression at an event, or why there are none."""

    def __init__(self, E: expr.Expression, S: Stream, query: str) -> None:
        self.E, self.S, self.query = E, S, query

    def one(self, request: Request) -> Found | None:
        at = request.at
        if request.events is not None:
            if len(request.events) != 1 or at not in (None, *request.events):
                raise InputError("an event expression takes place at single events: give --match one position")
            (at,) = request.events
        if at is None:
            return None
        self.require_on_stream(at, "--at")
        return explain_event(self.E, self.S, at, request.count)

    def all(self, request: Request) -> Listing[Found]:
        listed = list(islice(explain_events(self.E, self.S), request.limit + 1))
        more = len(listed) > request.limit
        last = listed[request.limit - 1].at if more else len(self.S) - 1
        return Listing(listed[: request.limit], more, 0, last)

    def is_match(self, found: Found) -> bool:
        return isinstance(found, TakesPlace)

    def json(self, found: Found) -> Json:
        return as_json(found, self.E, self.S)

    def page(self, found: Sequence[Found], listing: Listing[Found] | None) -> str:
        from cerify.explanations.event_expressions_html import render

        if listing is None:
            return render(self.E, self.S, found)
        return render(self.E, self.S, found, listing.more, listing.last + 1)

    def print(self, found: Found, console: Console) -> None:
        print_event(found, self.E, self.S, console)

    def print_listing(self, listing: Listing[Found], console: Console) -> None:
        for one in listing.found:
            self.print(one, console)
            console.print()
        if listing.more:
            known = len(listing.found)
            console.print(f"There are more than {known}: --limit N explains the first N events.", style="dim")
        if not listing.found:
            console.print(f"takes place at none of the {len(self.S)} events")
