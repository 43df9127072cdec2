"""Explanations of event expressions: the occurrences at an event, or why there is none; as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from cerify.draw.stream import places_row
from cerify.draw.timeline import Row
from cerify.explanations.absence import Absence, absences
from cerify.explanations.evidence import braces, row, value_text
from cerify.explanations.explainer import Explainer, Json, Listing, Request, listing
from cerify.explanations.step import Drawing, Part, Step, View, json_of_tree, numbered, tree_of
from cerify.semantics.budget import Budget
from cerify.semantics.errors import InputError
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.bindings import Bindings
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.occurrences import Occurrence, Occurrences, occurrence_tuple, occurrences
from cerify.semantics.event_expressions.operators import OPERATORS
from cerify.semantics.event_expressions.show import show
from cerify.semantics.events import Stream

CLAUSES: Mapping[type, str] = {
    **{node: operator.clause.removeprefix("vldb92 section ") for node, operator in OPERATORS.items()},
    expr.Prior: "2.3, c",
}


@dataclass(frozen=True)
class TakesPlace:
    """The expression takes place at the event: the requested number of occurrences; more: whether there are others."""

    at: int
    occurrences: tuple[Occurrence, ...]
    more: bool


@dataclass(frozen=True)
class DoesNot:
    """The expression does not take place at the event, for these reasons."""

    at: int
    reasons: tuple[Absence, ...]


def explain_event(
    E: expr.Expression, S: Stream, e: int, count: int = 1, budget: Budget = Budget()
) -> TakesPlace | DoesNot:
    """Why E takes place at the event e of S, or why it does not. Raises InputError, Unsupported, BudgetExceeded."""
    if not 0 <= e < len(S):
        raise InputError(f"position {e} is not on the stream, which has {len(S)} events")
    S = S.part(0, e + 1)  # what takes place at an event depends on no later one
    found = list(islice(occurrences(E, S, e, budget), count + 1))
    if found:
        return TakesPlace(e, tuple(found[:count]), len(found) > count)
    return DoesNot(e, absences(Occurrences(E, S, budget), e))


def explain_events(E: expr.Expression, S: Stream, budget: Budget = Budget()) -> Iterator[TakesPlace]:
    """Every event at which E takes place, in order, each with an occurrence. Raises Unsupported, BudgetExceeded."""
    for e in sorted(takes_place(E, S, budget)):
        found = explain_event(E, S, e, 1, budget)
        assert isinstance(found, TakesPlace)
        yield found


def as_json(found: TakesPlace | DoesNot, E: expr.Expression, S: Stream) -> Json:
    """What an event is to the expression, as one JSON object; intervals are [f, e], both inclusive."""
    head: Json = {"query": show(E), "events": [found.at], "at": found.at}
    match found:
        case TakesPlace(_, listed, more):
            trees = [json_of_tree(steps_of(one, S)) | {"tuple": occurrence_tuple(one)} for one in listed]
            return {**head, "match": True, "derivations": trees, "more": more}
        case DoesNot(_, reasons):
            said = [
                {"formula": show(reason.expression), "interval": [reason.start, reason.at], "message": reason.why}
                for reason in reasons
            ]
            return {**head, "match": False, "reasons": said}


def citation(E: expr.Expression) -> str:
    """Where the paper defines the operator."""
    return f"vldb92 {CLAUSES[type(E)]}"


def facts(found: Occurrence, S: Stream) -> list[str]:
    """What an occurrence rests on that is no occurrence of an operand."""
    E = found.expression
    if isinstance(E, expr.Primitive):
        return [row(S[found.at])]
    if isinstance(E, expr.Not):
        return [f"{show(E.operand)} does not take place there"]
    if isinstance(E, expr.Prefix):
        return [f"{show(E.operand)} may take place at an event to come"]
    return []


def below(found: Occurrence) -> list[Occurrence]:
    """The occurrences of the operands that an occurrence rests on."""
    return [part for part in found.parts if part is not None]


def steps_of(root: Occurrence, S: Stream) -> Step:
    """An occurrence as a tree of steps."""

    def step(found: Occurrence, children: tuple[Step, ...]) -> Step:
        cited = citation(found.expression)
        fields: Json = {"formula": show(found.expression), "interval": [found.start, found.at], "citation": cited}
        if found.bound:
            fields["bindings"] = {
                name: to if isinstance(to, bool | int | float | str) else to.isoformat()
                for name, (_, to) in sorted(found.bound)
            }
        where, known = f"from {found.start} at {found.at}", tuple(facts(found, S))
        return Step(show(found.expression), where, bound_text(found.bound), cited, known, children, json=fields)

    return tree_of(root, below, step)


def bound_text(b: Bindings) -> str:
    """What variables are, in words."""
    shown = ((name, sort, to) for name, (sort, to) in sorted(b))
    return ", ".join(f"{name} is {f'event {to}' if sort == 'position' else value_text(to)}" for name, sort, to in shown)


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
    hint = "--at N says why it does not take place at event N."
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
