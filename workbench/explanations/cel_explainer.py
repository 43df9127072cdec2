"""Explanations of CEL as commands ask for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from cerify.draw.timeline import Row
from cerify.explanations.evidence import bindings_text, braces
from cerify.explanations.explainer import Explainer, Json, Listing, Request, listing
from cerify.explanations.explanation import (
    Derived,
    Explanation,
    Rejected,
    as_json,
    explain,
    explain_stream,
    rejection_lines,
    relaxed_text,
    steps_of,
    summary,
)
from cerify.explanations.rejection import Reason
from cerify.explanations.step import Step
from cerify.explanations.view import Drawing, Part, View, nearest, numbered
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.show import show
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import InputError
from cerify.semantics.events import ComplexEvent, Stream, bindings_of


class CelExplainer(Explainer[Explanation]):
    """The derivations of matches of a formula, or why a set of positions is rejected."""

    heading = "Why it matches, and why not"
    legend = (
        "(i, j) is the part of the stream from event i to event j that a step is about, and T -> {1} says that the "
        "variable T binds event 1. A dot is an event of a match, the flag stands after the event at which it is "
        "reported; diamonds are a set in question that is no match."
    )

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
        return listing(found, request, len(self.S), lambda one: one.at)

    def json(self, found: Explanation) -> Json:
        return as_json(found, self.phi)

    def listing_json(self, listing: Listing[Explanation]) -> Json:
        answer = super().listing_json(listing)
        at: dict[int, dict[tuple[int, ...], None]] = {n: {} for n in range(listing.first, listing.last + 1)}
        for one in listing.found:
            at[one.at][tuple(sorted(one.events))] = None
        walked = [{"at": n, "matches": list(map(list, matches))} for n, matches in at.items()]
        return {"query": answer.pop("query"), "steps": walked, **answer}

    def view(self, found: Explanation) -> View:
        C, at, label = found.events, found.at, braces(found.events)
        shown = partial(View, summary(found), isinstance(found, Derived), tuple(sorted(C)), at, label, listed=True)
        if isinstance(found, Derived):
            parts = numbered("derivation", [Part(trees=(steps_of(root),)) for root in found.derivations])
            bound: dict[int, list[str]] = {}
            for variable, positions in bindings_of(found.derivations[0].valuation):
                for p in positions:
                    bound.setdefault(p, []).append(variable)
            marks = {p: f"in {', '.join(names)}" for p, names in bound.items()}
            drawing = Drawing((Row("common", sorted(C), at, f"match · {label} at {at}"),), marks)
            return shown(parts, drawing, more="derivations" if found.more else "")
        rejection = found.rejection
        near = () if rejection.bindings else rejection.nearest or ()
        rows = [Row("extra", sorted(C), at, f"{label} at {at}, no match")]
        rows += [Row("common", sorted(D), at, f"nearest match · {braces(D)} at {at}") for D in near]
        return shown(tuple(_rejection(found, near)), Drawing(tuple(rows)))


def _rejection(found: Rejected, near: Iterable[ComplexEvent]) -> Iterator[Part]:
    rejection, at = found.rejection, found.at
    if rejection.reasons:
        yield Part("rejected by", tuple(map(_reason, rejection.reasons)))
    if text := relaxed_text(rejection):
        yield Part("it is a match of", lines=(text,))
    if rejection.bindings:
        yield Part(
            f"{braces(found.events)} is a match at {at} with", lines=tuple(map(bindings_text, rejection.bindings))
        )
    yield from nearest(f" at {at}", near, found.events)
    if lines := tuple(rejection_lines(rejection, at)):
        yield Part(lines=lines)


def _reason(reason: Reason) -> Step:
    clause = f"{reason.clause}: {reason.message}"
    if reason.valuation is None:
        return Step(show(reason.formula), clause=clause)
    return Step(show(reason.formula), f"({reason.i}, {reason.j})", bindings_text(reason.valuation), clause)
