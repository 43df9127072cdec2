"""Explanations of SASE+ as commands ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from cerify.explanations import sase as runs
from cerify.explanations.explainer import Explainer, Json, Listing, Request
from cerify.explanations.sase import Accepted, NoMatch
from cerify.explanations.sase_json import as_json
from cerify.semantics.errors import InputError
from cerify.semantics.events import Stream, bindings_of
from cerify.semantics.sase.syntax import Tree

if TYPE_CHECKING:
    from rich.console import Console

Found: TypeAlias = Accepted | NoMatch


class SaseExplainer(Explainer[Found]):
    """The runs that bind the events of a match, or the step that no run can make; S is the stream that is read."""

    def __init__(self, q: Tree, S: Stream, query: str) -> None:
        self.runs, self.query = runs.Explainer(q, S), query
        self.S = self.runs.S

    def one(self, request: Request) -> Found | None:
        if not request.single:
            return None
        bound = None if request.valuation is None else bindings_of(request.valuation)
        events = request.events or frozenset(p for _, places in bound or () for p in places)
        if request.at is not None and events and request.at != max(events):
            raise InputError(f"a match of SASE+ is reported at its last event, {max(events)}, not at {request.at}")
        return self.runs.explain(events, bound, request.count)

    def all(self, request: Request) -> Listing[Found]:
        listed = [one for one in self.runs.all() if request.at in (None, one.match.at)]
        return Listing(listed[: request.limit], len(listed) > request.limit, matches=len(listed))

    def is_match(self, found: Found) -> bool:
        return isinstance(found, Accepted)

    def json(self, found: Found) -> Json:
        return as_json(found, self.runs.q)

    def page(self, found: Sequence[Found], listing: Listing[Found] | None) -> str:
        from cerify.explanations.sase_html import render

        return render(self.runs, found)

    def print(self, found: Found, console: Console) -> None:
        from cerify.explanations.sase_text import print_found

        print_found(found, console)

    def print_listing(self, listing: Listing[Found], console: Console) -> None:
        from cerify.explanations.sase_text import print_matches

        shown = [one for one in listing.found if isinstance(one, Accepted)]
        print_matches(shown, listing.matches or 0, self.runs, console)
