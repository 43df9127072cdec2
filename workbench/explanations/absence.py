"""Why an event expression does not take place at an event: the operands that fail, as far down as one is to blame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from cerify.explanations.evidence import braces, row
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.bindings import Bindings, bound, position, position_of
from cerify.semantics.event_expressions.denote import History, after, segments
from cerify.semantics.event_expressions.occurrences import Occurrences
from cerify.semantics.event_expressions.show import show
from cerify.semantics.predicate_text import show_predicate
from cerify.semantics.predicates import holds

_Single: TypeAlias = (
    expr.Null | expr.Primitive | expr.AnyEvent | expr.First | expr.Variable | expr.Constraint
    | expr.Not | expr.Prefix | expr.RelativePlus | expr.Before | expr.Happened | expr.Named
)  # fmt: skip


@dataclass(frozen=True)
class Absence:
    """That an expression, applied to the events from start on, does not take place at an event, and a sentence why."""

    expression: expr.Expression
    start: int
    at: int
    why: str


def absences(known: Occurrences, e: int) -> tuple[Absence, ...]:
    """The reasons why the expression does not take place at the event e of the stream; none where it does."""
    choices = list(known.choices(known.whole, (), known.history, e, frozenset()))
    if any(next(known.at(known.whole, known.history, e, b), None) is not None for b in choices):
        return ()
    if len(choices) == 1:
        return tuple(dict.fromkeys(_why(known, known.whole, known.history, e, choices[0])))
    names = "it takes place for no choice of its variables" if choices else "its variables have no value up to there"
    return (Absence(known.whole, 0, e, names),)


def _why(known: Occurrences, E: expr.Expression, h: History, e: int, b: Bindings) -> Iterator[Absence]:
    """The reasons of an E that does not take place at e, with the history h and the bindings b."""

    def because(why: str) -> Iterator[Absence]:
        yield Absence(E, h[0], e, why)

    def of(F: expr.Expression, part: History = h) -> Iterator[Absence]:
        if e not in known.events(F, part, b):
            yield from _why(known, F, part, e, b)

    def before(F: expr.Expression) -> list[int]:
        return sorted(d for d in known.events(F, h, b) if d < e)

    match E:
        case (
            expr.Null() | expr.Primitive() | expr.AnyEvent() | expr.First() | expr.Variable() | expr.Constraint()
            | expr.Not() | expr.Prefix() | expr.RelativePlus() | expr.Before() | expr.Happened() | expr.Named()
        ):  # fmt: skip
            yield from because(_fact(known, E, h, e, b))
        case expr.And(left, right) | expr.Or(left, right):
            yield from of(left)
            yield from of(right)
        case expr.Relative() | expr.Prior() | expr.Sequence():
            yield from _one_after_another(known, E, h, e, b)
        case expr.Pipe(left, right):
            part = tuple(sorted(known.events(left, h, b)))
            yield from of(right, part) if e in part else of(left)
        case expr.Nth(_, F) | expr.EveryNth(_, F):
            yield from of(F)
            if e in (found := sorted(known.events(F, h, b))):
                yield from because(f"it is number {found.index(e) + 1} of the events of {show(F)}")
        case expr.After(left, right):
            ends = before(right)
            yield from of(left, after(h, ends[0])) if ends else because(f"{show(right)} does not take place before it")
        case expr.Between(left, right):
            yield from _in_segment(known, E, right, h, e, b, left)
        case expr.FirstAfter(opening, event, closing):
            for part in segments(h, known.events(opening, h, b)):
                closed = sorted(d for d in known.events(closing, part, b) if e in part and d < e)
                if closed and e in known.events(event, part, b):
                    yield from because(f"{show(closing)} has taken place at {_events(closed[:1])}")
                    return
            yield from _in_segment(known, E, opening, h, e, b, event)
        case expr.Series(left, right):
            yield from of(right)
            if odd := [d for d in h if d < e and d not in known.events(left, h, b)]:
                yield from because(f"{show(left)} does not take place at {_events(odd[:1])} before it")
        case expr.Equated(F, x):
            yield from because(f"{x} is event {position_of(x, b)}") if e != position_of(x, b) else of(F)
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
) -> Iterator[Absence]:
    """The reasons, for an expression whose parts take place one after another."""
    first = E.parts[0] if len(E.parts) == 2 else type(E)(E.parts[:-1])
    last = E.parts[-1]
    ends = sorted(d for d in known.events(first, h, b) if d < e)
    if isinstance(E, expr.Sequence):
        just_before = next((d for d in reversed(h) if d < e), None)
        ends = [d for d in ends if d == just_before]
    if not ends:
        where = "just before" if isinstance(E, expr.Sequence) else "before"
        yield Absence(E, h[0], e, f"{show(first)} does not take place {where} event {e}")
    elif isinstance(E, expr.Relative) and len(ends) > 1:
        why = f"{show(last)} does not take place there in what follows any of {_events(ends)}"
        yield Absence(E, h[0], e, why)
    else:
        part = after(h, ends[0]) if isinstance(E, expr.Relative) else h
        if e not in known.events(last, part, b):
            yield from _why(known, last, part, e, b)


def _fact(known: Occurrences, E: _Single, h: History, e: int, b: Bindings) -> str:
    """The reason, for an expression that is not explained by its operands."""
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
        case expr.Variable(x):
            return f"{x} is event {position_of(x, b)}"
        case expr.Constraint():
            return "the values do not compare so"
        case expr.Not(F):
            return f"{show(F)} does take place there"
        case expr.Prefix(F):
            return f"{show(F)} can take place at no event to come"
        case expr.RelativePlus(F):
            return f"no round of {show(F)} ends there"
        case expr.Before(F):
            return f"{show(F)} does not take place before event {e}"
        case expr.Happened(F):
            return f"{show(F)} does not take place up to event {e}"
        case expr.Named(name):
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
) -> Iterator[Absence]:
    """Why F does not take place in the history, of those that the delimiter cuts, which would have to have e."""
    cuts = known.events(delimiter, h, b)
    if e in cuts:
        yield Absence(E, h[0], e, f"event {e} is itself one of {show(delimiter)}, which begins a new history after it")
    elif not any(d < e for d in cuts):
        yield Absence(E, h[0], e, f"{show(delimiter)} does not take place before event {e}")
    else:
        part = next(part for part in segments(h, cuts) if e in part)
        yield from _why(known, F, part, e, b)


def _events(places: Iterable[int]) -> str:
    listed = list(places)
    return f"event {listed[0]}" if len(listed) == 1 else f"the events {braces(listed)}"
