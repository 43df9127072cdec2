"""Explanations of event expressions as commands ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from cerify.draw.stream import places_row
from cerify.draw.timeline import Row
from cerify.explanations.absence import Absence
from cerify.explanations.event_expressions import (
    DoesNot,
    TakesPlace,
    as_json,
    below,
    citation,
    explain_event,
    explain_events,
    steps_of,
)
from cerify.explanations.evidence import braces, row
from cerify.explanations.explainer import Explainer, Json, Listing, Request, listing
from cerify.explanations.step import Step
from cerify.explanations.view import Drawing, Part, View, numbered
from cerify.semantics.errors import InputError
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.occurrences import Occurrence
from cerify.semantics.event_expressions.show import show
from cerify.semantics.events import Stream

Found: TypeAlias = TakesPlace | DoesNot


class ExpressionExplainer(Explainer[Found]):
    """The occurrences of an expression at an event, or why there are none."""

    heading = "Why it takes place, and why not"
    legend = (
        "“from i at j” says that a part of the expression is applied to the history that begins with event i, and "
        "takes place at event j. A dot is an event at which the expression, or a part of it, takes place; the flag "
        "stands after the event that is explained; a diamond is an event at which it does not take place."
    )
    walk = "The history, event by event"
    idle = "does not take place"
    nothing = "It takes place at no event."

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
        return listing(explain_events(self.E, self.S), request, len(self.S), lambda one: one.at)

    def json(self, found: Found) -> Json:
        return as_json(found, self.E, self.S)

    def view(self, found: Found) -> View:
        e = found.at
        match found:
            case TakesPlace(_, listed, more):
                parts = [Part(trees=(steps_of(one, self.S),), drawing=_drawing(one)) for one in listed]
                sentence = f"takes place at event {e}: {row(self.S[e])}"
                shown = numbered("occurrence", parts)
                return View(sentence, True, (e,), e, "takes place", shown, more="occurrences" if more else "")
            case DoesNot(_, reasons):
                sentence = f"does not take place at event {e}"
                drawing = Drawing((Row("extra", [e], None, sentence),))
                part = Part("what is in the way", tuple(map(_reason, reasons)))
                return View(f"{sentence}: {row(self.S[e])}", False, (e,), e, "does not take place", (part,), drawing)

    def overview(self, views: Sequence[View]) -> Drawing:
        return Drawing((places_row("takes place", [view.at for view in views]),))


def _reason(reason: Absence) -> Step:
    return Step(show(reason.expression), f"from {reason.start}", "", citation(reason.expression), (reason.why,))


def _drawing(found: Occurrence) -> Drawing:
    """The events at which the expression and its parts take place, joined, with what variables name them."""
    parts, pending = list[Occurrence](), [found]
    while pending:
        parts.append(pending.pop())
        pending.extend(below(parts[-1]))
    places = {one.at for one in parts}
    named: dict[int, list[str]] = {}
    for one in parts:
        for name, (sort, to) in sorted(one.bound):
            if sort == "position" and isinstance(to, int):
                named.setdefault(to, []).append(name)
    marks = {p: f"is {', '.join(dict.fromkeys(names))}" for p, names in named.items()}
    caption = f"takes place at {found.at}, because of {braces(places)}"
    return Drawing((Row("common", sorted(places), found.at, caption),), marks)
