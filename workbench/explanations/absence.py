"""Why an event expression does not take place at an event: the operands that fail, as far down as one is to blame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import assert_never

from cerify.explanations.evidence import braces, row
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.bindings import Bindings, bound, position, position_of
from cerify.semantics.event_expressions.denote import History, after, segments
from cerify.semantics.event_expressions.occurrences import Occurrences
from cerify.semantics.event_expressions.show import show


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
    """Of an E that does not take place."""

    def because(why: str) -> Iterator[Absence]:
        yield Absence(E, h[0], e, why)

    def of(F: expr.Expression, part: History = h) -> Iterator[Absence]:
        if e not in known.events(F, part, b):
            yield from _why(known, F, part, e, b)

    def before(F: expr.Expression) -> list[int]:
        return sorted(d for d in known.events(F, h, b) if d < e)

    match E:
        case expr.Null():
            yield from because("it never takes place")
        case expr.Primitive():
            yield from because(f"event {e} is {row(known.S[e])}")
        case expr.AnyEvent():
            yield from because(f"event {e} is the start event")
        case expr.First():
            yield from because(f"event {h[0]} is the first")
        case expr.Variable(x):
            yield from because(f"{x} is event {position_of(x, b)}")
        case expr.Constraint():
            yield from because("the values do not compare so")
        case expr.Not(F):
            yield from because(f"{show(F)} does take place there")
        case expr.Prefix(F):
            yield from because(f"{show(F)} can take place at no event to come")
        case expr.And(left, right) | expr.Or(left, right):
            yield from of(left)
            yield from of(right)
        case expr.Relative() | expr.Prior() | expr.Sequence():
            first = E.parts[0] if len(E.parts) == 2 else type(E)(E.parts[:-1])
            last = E.parts[-1]
            ends = before(first)
            if isinstance(E, expr.Sequence):
                just_before = next((d for d in reversed(h) if d < e), None)
                ends = [d for d in ends if d == just_before]
            if not ends:
                where = "just before" if isinstance(E, expr.Sequence) else "before"
                yield from because(f"{show(first)} does not take place {where} event {e}")
            elif not isinstance(E, expr.Relative):
                yield from of(last)
            elif len(ends) == 1:
                yield from of(last, after(h, ends[0]))
            else:
                yield from because(f"{show(last)} does not take place there in what follows any of {_events(ends)}")
        case expr.RelativePlus(F):
            yield from because(f"no round of {show(F)} ends there")
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
        case expr.Before(F):
            yield from because(f"{show(F)} does not take place before event {e}")
        case expr.Happened(F):
            yield from because(f"{show(F)} does not take place up to event {e}")
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
        case expr.Named(name):
            yield from because(f"{name} does not take place there")
        case expr.Let():
            raise ValueError("definitions stand at the beginning of a text, not inside an expression")
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
