"""Explain event expressions: their occurrences at an event, or why there are none, as JSON and as text.

An occurrence is a tree of smaller occurrences, as the interpreter finds it. Why there is none is not the opposite of
such a tree: `absences` follows only the operands that fail, from the whole expression down. Then both become JSON and
steps of the common form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias, assert_never

from cerify.draw.timeline import Row, places_row
from cerify.explanations.explanation import (
    Drawing,
    Explainer,
    ExplanationPart,
    ExplanationStep,
    ExplanationView,
    Json,
    Listing,
    Request,
    braces,
    json_of_tree,
    listing,
    numbered,
    row,
    tree_of,
    value_text,
)
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import InputError
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import Bindings, History, after, bound, position, position_of, segments
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.occurrences import Occurrence, Occurrences, occurrence_tuple, occurrences
from cerify.semantics.event_expressions.syntax import OPERATORS, show
from cerify.semantics.events import Stream
from cerify.semantics.predicates import holds, show_predicate

# ---------------------------------------------------------------------------------------------------------------------
# Why an event expression does not take place at an event: the operands that fail, from the whole expression downwards.

_Single: TypeAlias = (
    expr.Null | expr.Primitive | expr.AnyEvent | expr.First | expr.ExpressionVariable | expr.Constraint
    | expr.ExpressionNot | expr.Prefix | expr.RelativePlus | expr.Before | expr.Happened | expr.ExpressionNamed
)  # fmt: skip


@dataclass(frozen=True)
class NonOccurrence:
    """An expression that does not take place at event `at`, and the reason.

    start: the first event of the history to which the expression is applied.
    """

    expression: expr.Expression
    start: int
    at: int
    why: str


def absences(known: Occurrences, e: int) -> tuple[NonOccurrence, ...]:
    """Return the reasons why the expression does not take place at event e of the stream; () if it takes place."""
    choices = list(known.choices(known.whole, (), known.history, e, frozenset()))
    if any(next(known.at(known.whole, known.history, e, b), None) is not None for b in choices):
        return ()
    if len(choices) == 1:
        return tuple(dict.fromkeys(_why(known, known.whole, known.history, e, choices[0])))
    names = (
        "it does not take place, whatever the values of its variables"
        if choices
        else "no event up to there gives its variables a value"
    )
    return (NonOccurrence(known.whole, 0, e, names),)


def _why(known: Occurrences, E: expr.Expression, h: History, e: int, b: Bindings) -> Iterator[NonOccurrence]:
    """Yield the reasons why E does not take place at e, if it is applied to the history h with the bindings b."""

    def because(why: str) -> Iterator[NonOccurrence]:
        yield NonOccurrence(E, h[0], e, why)

    def explain_part(F: expr.Expression, part: History = h) -> Iterator[NonOccurrence]:
        if e not in known.events(F, part, b):
            yield from _why(known, F, part, e, b)

    def before(F: expr.Expression) -> list[int]:
        return sorted(d for d in known.events(F, h, b) if d < e)

    match E:
        case (
            expr.Null() | expr.Primitive() | expr.AnyEvent() | expr.First() | expr.ExpressionVariable()
            | expr.Constraint()
            | expr.ExpressionNot() | expr.Prefix() | expr.RelativePlus() | expr.Before() | expr.Happened()
            | expr.ExpressionNamed()
        ):  # fmt: skip
            yield from because(_fact(known, E, h, e, b))
        case expr.ExpressionAnd(left, right) | expr.ExpressionOr(left, right):
            yield from explain_part(left)
            yield from explain_part(right)
        case expr.Relative() | expr.Prior() | expr.Sequence():
            yield from _one_after_another(known, E, h, e, b)
        case expr.Pipe(left, right):
            part = tuple(sorted(known.events(left, h, b)))
            yield from explain_part(right, part) if e in part else explain_part(left)
        case expr.Nth(_, F) | expr.EveryNth(_, F):
            yield from explain_part(F)
            if e in (found := sorted(known.events(F, h, b))):
                yield from because(f"event {e} is number {found.index(e) + 1} of the events of {show(F)}")
        case expr.After(left, right):
            ends = before(right)
            yield from (
                explain_part(left, after(h, ends[0]))
                if ends
                else because(f"{show(right)} does not take place before it")
            )
        case expr.ExpressionBetween(left, right):
            yield from _in_segment(known, E, right, h, e, b, left)
        case expr.FirstAfter(opening, event, closing):
            for part in segments(h, known.events(opening, h, b)):
                closed = sorted(d for d in known.events(closing, part, b) if e in part and d < e)
                if closed and e in known.events(event, part, b):
                    yield from because(f"{show(closing)} has taken place at {_events(closed[:1])}")
                    return
            yield from _in_segment(known, E, opening, h, e, b, event)
        case expr.ExpressionSeries(left, right):
            yield from explain_part(right)
            if odd := [d for d in h if d < e and d not in known.events(left, h, b)]:
                yield from because(f"{show(left)} does not take place at {_events(odd[:1])} before it")
        case expr.Equated(F, x):
            yield from because(f"{x} is event {position_of(x, b)}") if e != position_of(x, b) else explain_part(F)
        case expr.Exists(x, F):
            places = [p for p in h if p <= e]
            if len(places) == 1:
                yield from _why(known, F, h, e, bound(b, x, position(places[0])))
            else:
                yield from because(f"{show(F)} does not take place there, whichever event {x} is")
        case expr.Let():
            raise ValueError("definitions stand at the beginning of a text, not inside an expression")
        case _:
            assert_never(E)


def _one_after_another(
    known: Occurrences, E: expr.Relative | expr.Prior | expr.Sequence, h: History, e: int, b: Bindings
) -> Iterator[NonOccurrence]:
    """Yield the reasons why an expression whose parts must take place one after another does not take place."""
    first = E.parts[0] if len(E.parts) == 2 else type(E)(E.parts[:-1])
    last = E.parts[-1]
    ends = sorted(d for d in known.events(first, h, b) if d < e)
    if isinstance(E, expr.Sequence):
        just_before = next((d for d in reversed(h) if d < e), None)
        ends = [d for d in ends if d == just_before]
    if not ends:
        where = "just before" if isinstance(E, expr.Sequence) else "before"
        yield NonOccurrence(E, h[0], e, f"{show(first)} does not take place {where} event {e}")
    elif isinstance(E, expr.Relative) and len(ends) > 1:
        why = f"{show(last)} does not take place at event {e} if only the events after one of {_events(ends)} count"
        yield NonOccurrence(E, h[0], e, why)
    else:
        part = after(h, ends[0]) if isinstance(E, expr.Relative) else h
        if e not in known.events(last, part, b):
            yield from _why(known, last, part, e, b)


def _fact(known: Occurrences, E: _Single, h: History, e: int, b: Bindings) -> str:
    """Return the reason why an expression does not take place at event e, if the reason is not one of its operands."""
    match E:
        case expr.Null():
            return "it never takes place"
        case expr.Primitive(type_, _, mask):
            event = known.S[e]
            if event.type == type_ and mask is not None and not holds(mask, event):
                return f"{show_predicate(mask)} is false: event {e} is {row(event)}"
            return f"event {e} is {row(event)}"
        case expr.AnyEvent():
            return f"event {e} is the start event"
        case expr.First():
            return f"event {h[0]} is the first"
        case expr.ExpressionVariable(x):
            return f"{x} is event {position_of(x, b)}"
        case expr.Constraint():
            return "the comparison of its values is false"
        case expr.ExpressionNot(F):
            return f"{show(F)} does take place there"
        case expr.Prefix(F):
            return f"{show(F)} cannot take place at any later event"
        case expr.RelativePlus(F):
            return f"no round of {show(F)} ends there"
        case expr.Before(F):
            return f"{show(F)} does not take place before event {e}"
        case expr.Happened(F):
            return f"{show(F)} does not take place up to event {e}"
        case expr.ExpressionNamed(name):
            return f"{name} does not take place there"
        case _:
            assert_never(E)


def _in_segment(
    known: Occurrences,
    E: expr.Expression,
    delimiter: expr.Expression,
    h: History,
    e: int,
    b: Bindings,
    F: expr.Expression,
) -> Iterator[NonOccurrence]:
    """Yield the reasons why F does not take place at e in its part of the history between delimiters."""
    cuts = known.events(delimiter, h, b)
    if e in cuts:
        yield NonOccurrence(
            E, h[0], e, f"{show(delimiter)} takes place at event {e}, so that a new history begins after it"
        )
    elif not any(d < e for d in cuts):
        yield NonOccurrence(E, h[0], e, f"{show(delimiter)} does not take place before event {e}")
    else:
        part = next(part for part in segments(h, cuts) if e in part)
        yield from _why(known, F, part, e, b)


def _events(places: Iterable[int]) -> str:
    listed = list(places)
    return f"event {listed[0]}" if len(listed) == 1 else f"the events {braces(listed)}"


CLAUSES: Mapping[type, str] = {
    **{node: operator.clause.removeprefix("vldb92 section ") for node, operator in OPERATORS.items()},
    expr.Prior: "2.3, c",
}


@dataclass(frozen=True)
class TakesPlace:
    """The answer that the expression takes place at the event, with up to the requested number of occurrences.

    more: whether there are more occurrences.
    """

    at: int
    occurrences: tuple[Occurrence, ...]
    more: bool


@dataclass(frozen=True)
class DoesNot:
    """The answer that the expression does not take place at the event, with the reasons."""

    at: int
    reasons: tuple[NonOccurrence, ...]


def explain_event(
    E: expr.Expression, S: Stream, e: int, count: int = 1, budget: Budget = Budget()
) -> TakesPlace | DoesNot:
    """Explain why E takes place at event e of S, or why not. Raises InputError, Unsupported, BudgetExceeded."""
    if not 0 <= e < len(S):
        raise InputError(f"position {e} is not on the stream, which has {len(S)} events")
    S = S.part(0, e + 1)  # the meaning at an event does not depend on later events
    found = list(islice(occurrences(E, S, e, budget), count + 1))
    if found:
        return TakesPlace(e, tuple(found[:count]), len(found) > count)
    return DoesNot(e, absences(Occurrences(E, S, budget), e))


def explain_events(E: expr.Expression, S: Stream, budget: Budget = Budget()) -> Iterator[TakesPlace]:
    """Yield an explanation, with one occurrence, for each event at which E takes place, in order.

    Raises Unsupported, BudgetExceeded.
    """
    for e in sorted(takes_place(E, S, budget)):
        found = explain_event(E, S, e, 1, budget)
        assert isinstance(found, TakesPlace)
        yield found


def as_json(found: TakesPlace | DoesNot, E: expr.Expression, S: Stream) -> Json:
    """Return the explanation of an event as one JSON object; intervals are [f, e], both inclusive."""
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
    """Return the place in the paper that defines the operator."""
    return f"vldb92 {CLAUSES[type(E)]}"


def facts(found: Occurrence, S: Stream) -> list[str]:
    """Return the facts on which an occurrence depends, besides the occurrences of its operands."""
    E = found.expression
    if isinstance(E, expr.Primitive):
        return [row(S[found.at])]
    if isinstance(E, expr.ExpressionNot):
        return [f"{show(E.operand)} does not take place there"]
    if isinstance(E, expr.Prefix):
        return [f"{show(E.operand)} can take place at a later event"]
    return []


def below(found: Occurrence) -> list[Occurrence]:
    """Return the occurrences of the operands on which an occurrence depends."""
    return [part for part in found.parts if part is not None]


def steps_of(root: Occurrence, S: Stream) -> ExplanationStep:
    """Return an occurrence as a tree of steps."""

    def step(found: Occurrence, children: tuple[ExplanationStep, ...]) -> ExplanationStep:
        cited = citation(found.expression)
        fields: Json = {"formula": show(found.expression), "interval": [found.start, found.at], "citation": cited}
        if found.bound:
            fields["bindings"] = {
                name: to if isinstance(to, bool | int | float | str) else to.isoformat()
                for name, (_, to) in sorted(found.bound)
            }
        where, known = f"from {found.start} at {found.at}", tuple(facts(found, S))
        return ExplanationStep(
            show(found.expression), where, bound_text(found.bound), cited, known, children, json=fields
        )

    return tree_of(root, below, step)


def bound_text(b: Bindings) -> str:
    """Format the values of variables."""
    shown = ((name, sort, to) for name, (sort, to) in sorted(b))
    return ", ".join(f"{name} is {f'event {to}' if sort == 'position' else value_text(to)}" for name, sort, to in shown)


Found: TypeAlias = TakesPlace | DoesNot


class ExpressionExplainer(Explainer[Found]):
    """An explainer that explains an expression at an event by its occurrences, or by the reasons why there are none."""

    heading = "Why it takes place, and why not"
    legend = (
        "“from i at j” says that a part of the expression is applied to the history that begins with event i, and "
        "takes place at event j. A dot is an event at which the expression, or a part of it, takes place. A flag "
        "stands after the event that is explained. A diamond is an event at which the expression does not take place."
    )
    walk = "The history, event by event"
    idle = "does not take place"
    hint = "--at N says why it does not take place at event N."
    nothing = "It takes place at no event."

    def __init__(self, E: expr.Expression, S: Stream, query: str) -> None:
        self.E, self.S, self.query = E, S, query

    def explain_request(self, request: Request) -> Found | None:
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

    def view(self, found: Found) -> ExplanationView:
        e = found.at
        match found:
            case TakesPlace(_, listed, more):
                parts = [ExplanationPart(trees=(steps_of(one, self.S),), drawing=_drawing(one)) for one in listed]
                sentence = f"takes place at event {e}: {row(self.S[e])}"
                shown = numbered("occurrence", parts)
                return ExplanationView(
                    sentence, True, (e,), e, "takes place", shown, more="occurrences" if more else ""
                )
            case DoesNot(_, reasons):
                sentence = f"does not take place at event {e}"
                drawing = Drawing((Row("extra", [e], None, sentence),))
                part = ExplanationPart("what is in the way", tuple(map(_reason, reasons)))
                return ExplanationView(
                    f"{sentence}: {row(self.S[e])}", False, (e,), e, "does not take place", (part,), drawing
                )

    def overview(self, views: Sequence[ExplanationView]) -> Drawing:
        return Drawing((places_row("takes place", [view.at for view in views]),))


def _reason(reason: NonOccurrence) -> ExplanationStep:
    return ExplanationStep(
        show(reason.expression), f"from {reason.start}", "", citation(reason.expression), (reason.why,)
    )


def _drawing(found: Occurrence) -> Drawing:
    """Draw the events at which the expression and its parts take place, with the variables that name them."""
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
