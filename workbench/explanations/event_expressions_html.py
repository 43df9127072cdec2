"""Explanations of event expressions as one self-contained HTML page: timelines, and occurrences that unfold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from cerify.draw.page import page
from cerify.draw.stream import WHOLE, columns, drawn, places_row
from cerify.draw.timeline import Row, timeline
from cerify.explanations.absence import Absence
from cerify.explanations.event_expressions import DoesNot, TakesPlace, below, citation, steps_of
from cerify.explanations.evidence import braces, row
from cerify.explanations.step import Step
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.occurrences import Occurrence
from cerify.semantics.event_expressions.show import show
from cerify.semantics.events import Stream


def render(
    E: expr.Expression,
    S: Stream,
    found: Sequence[TakesPlace | DoesNot],
    more: bool = False,
    walked: int = 0,
) -> str:
    """The page that explains some events of E; more: whether it takes place at others too.

    If events have been walked, the page begins with so many of the history, one by one.
    """
    numbers = {one.at: number for number, one in enumerate(found, start=1)}
    part = S.part(0, walked)
    return page(
        "explanations/event_expressions.html",
        query=show(E),
        length=len(S),
        views=[View.of(number, one, S) for number, one in enumerate(found, start=1)],
        more=more,
        overview=Markup(drawn(part, [places_row("takes place", numbers)])) if walked else "",
        steps=list(_steps(part, numbers)),
        show=show,
        citation=citation,
    )


def _steps(S: Stream, numbers: Mapping[int, int]) -> Iterator[tuple[str, str, int | None]]:
    """The events, each with the number of its explanation; on a long history those without one are told together."""
    for idle, together in groupby(enumerate(S), key=lambda step: len(S) > WHOLE and step[0] not in numbers):
        run = list(together)
        if idle and len(run) > 1:
            yield f"{run[0][0]} to {run[-1][0]}", f"{len(run)} events", None
        else:
            yield from ((str(e), row(event), numbers.get(e)) for e, event in run)


@dataclass(frozen=True)
class View:
    """What an event is to the expression as the page shows it."""

    number: int
    takes_place: bool
    sentence: str
    occurrences: tuple[tuple[Markup, Step], ...] = ()
    more: bool = False
    reasons: tuple[Absence, ...] = ()
    drawing: str = ""

    @classmethod
    def of(cls, number: int, found: TakesPlace | DoesNot, S: Stream) -> View:
        e = found.at
        match found:
            case TakesPlace(_, listed, more):
                shown = tuple((_drawing(one, S), steps_of(one, S)) for one in listed)
                return cls(number, True, f"takes place at event {e}: {row(S[e])}", shown, more)
            case DoesNot(_, reasons):
                rows = [Row("extra", [e], None, f"does not take place at event {e}")]
                sentence = f"does not take place at event {e}: {row(S[e])}"
                return cls(number, False, sentence, reasons=reasons, drawing=Markup(drawn(S, rows)))


def _drawing(found: Occurrence, S: Stream) -> Markup:
    """The events at which the expression and its parts take place, joined, with what variables name them."""
    parts = list(_all(found))
    places = {one.at for one in parts}
    named: dict[int, list[str]] = {}
    for one in parts:
        for name, (sort, to) in sorted(one.bound):
            if sort == "position" and isinstance(to, int):
                named.setdefault(to, []).append(name)
    marks = {p: f"is {', '.join(dict.fromkeys(names))}" for p, names in named.items()}
    rows = [Row("common", sorted(places), found.at, f"takes place at {found.at}, because of {braces(places)}")]
    return Markup(timeline(columns(S, places | named.keys(), marks), rows))


def _all(found: Occurrence) -> Iterator[Occurrence]:
    pending = [found]
    while pending:
        one = pending.pop()
        yield one
        pending.extend(below(one))
