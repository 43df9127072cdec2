"""Explanations as one self-contained HTML page: the stream as a timeline, and steps that unfold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeAlias, TypeVar

from cerify.draw.page import markup, page
from cerify.draw.stream import WHOLE
from cerify.explanations.evidence import row
from cerify.explanations.explainer import Explainer, Listing
from cerify.explanations.step import View
from cerify.semantics.events import Stream

E = TypeVar("E")
Walked: TypeAlias = tuple[str, str, list[tuple[str, int]]]
"""A position or positions, the event, and the matches reported there with the numbers of their explanations."""


def render(explainer: Explainer[E], found: Sequence[E], listing: Listing[E] | None = None) -> str:
    """The page of some explanations; of a listing it begins with the stream as a whole, event by event."""
    S, views = explainer.S, list(map(explainer.view, found))
    walked = list(_walked(S, range(listing.first, listing.last + 1), views)) if listing else []
    return page(
        "explanations/page.html",
        explainer=explainer,
        length=len(S),
        views=views,
        svg=lambda drawing: markup(drawing.svg(S)),
        walked=walked,
        overview=explainer.overview(views) if walked else None,
        more=listing is not None and listing.more,
        reasons=listing.reasons if listing else (),
    )


def _walked(S: Stream, positions: range, views: Sequence[View]) -> Iterator[Walked]:
    """The events one by one; on a long stream, events in a row without a match are one entry."""
    found: dict[int, dict[str, int]] = {}
    for number, view in enumerate(views, 1):
        found.setdefault(view.at, {}).setdefault(view.label, number)
    for idle, together in groupby(positions, key=lambda p: len(positions) > WHOLE and p not in found):
        run = list(together)
        if idle and len(run) > 1:
            yield f"{run[0]} to {run[-1]}", f"{len(run)} events", []
        else:
            yield from ((str(p), row(S[p]), list(found.get(p, {}).items())) for p in run)
