"""Explanations of SASE+ as commands ask for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias

from cerify.draw.timeline import Row
from cerify.explanations import sase as runs
from cerify.explanations.evidence import braces
from cerify.explanations.explainer import Explainer, Json, Listing, Request, listing
from cerify.explanations.sase import Accepted, Failure, NoMatch, bound_text
from cerify.explanations.step import Drawing, Part, Step, View, json_of_nearest, json_of_run, nearest, numbered
from cerify.semantics.errors import InputError
from cerify.semantics.events import Bindings, Stream, bindings_of
from cerify.semantics.sase.show import show
from cerify.semantics.sase.syntax import Tree
from cerify.semantics.values import plain
from cerify.terminal import printable

Found: TypeAlias = Accepted | NoMatch


class SaseExplainer(Explainer[Found]):
    """The runs that bind the events of a match, or the step that no run can make; S is the stream that is read."""

    heading = "The runs that make a match"
    legend = (
        "A run begins with an event, takes more for a Kleene plus, ignores what its strategy lets it skip, and "
        "proceeds to the next component without an event. A dot is an event that is bound, the flag stands where the "
        "match is reported; diamonds are events that are no match."
    )

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
        found = (one for one in self.runs.all() if request.at in (None, one.match.at))
        return listing(found, request, len(self.S), _at)

    def json(self, found: Found) -> Json:
        return as_json(found, self.runs.q)

    def view(self, found: Found) -> View:
        match found:
            case Accepted(match, M, runs, more, absent):
                sentence = f"{braces(match.events)} is a match at {match.at}: {bound_text(M)}"
                marks = {p: a if len(at) == 1 else f"{a}[{i}]" for a, at in M for i, p in enumerate(at, 1)}
                drawing = Drawing((Row("common", match.events, match.at, bound_text(M)),), marks)
                parts = numbered("run", [Part(run=tuple(move.step for move in run)) for run in runs])
                result = (
                    ()
                    if match.result is None
                    else (f"RETURN {printable(json.dumps(plain(match.result.attributes), ensure_ascii=False))}",)
                )
                parts += (Part(lines=(*absent, *result)),) if absent or result else ()
                label = braces(match.events)
                return View(sentence, True, match.events, match.at, label, parts, drawing, more="runs" if more else "")
            case NoMatch(events, failures, near, in_the_way):
                label, places = braces(events), tuple(sorted(events))
                rows = [Row("extra", places, None, f"no match: {label}")]
                rows += [Row("common", C, max(C), f"nearest match · {braces(C)}") for C in near]
                without = (Part("it is a match without", lines=in_the_way),) if in_the_way else ()
                parts = (*map(_failure, failures), *without, *nearest("", near, events))
                return View(f"{label} is not a match", False, places, max(places), label, parts, Drawing(tuple(rows)))


def _at(found: Found) -> int:
    return found.match.at if isinstance(found, Accepted) else max(found.events)


def _failure(found: Failure) -> Part:
    stuck = Step(found.text, facts=found.because, move="stuck")
    heading = f"with {bound_text(found.bindings)}" if found.bindings else ""
    return Part(heading, run=(*(move.step for move in found.steps), stuck))


def as_json(found: Found, q: Tree) -> Json:
    """What the events are to the query, as one JSON object."""
    answer: Json = {"query": show(q), "events": None, "at": _at(found), "match": isinstance(found, Accepted)}
    match found:
        case Accepted(match, M, runs, more, absent):
            return answer | {
                "events": list(match.events),
                "bindings": _positions(M),
                "result": None if match.result is None else plain(match.result.attributes),
                "runs": [json_of_run(move.step for move in run) for run in runs],
                "more": more,
                "absent": list(absent),
            }
        case NoMatch(events, failures, nearest, in_the_way):
            reasons = [
                {
                    "bindings": _positions(f.bindings),
                    "steps": json_of_run(move.step for move in f.steps),
                    "message": f.text,
                    "because": list(f.because),
                }
                for f in failures
            ]
            return answer | {
                "events": sorted(events),
                "reasons": reasons,
                "in_the_way": list(in_the_way),
                "nearest": json_of_nearest(nearest, events),
            }


def _positions(M: Bindings) -> Mapping[str, list[int]]:
    return {a: list(at) for a, at in M}
