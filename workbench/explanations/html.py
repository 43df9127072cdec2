"""Explanations as one self-contained HTML page: the stream as a timeline, each derivation as a tree that unfolds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from markupsafe import Markup

from cerify.draw.page import page
from cerify.draw.stream import WHOLE, columns
from cerify.draw.timeline import Column, Row, timeline
from cerify.explanations.derivation import Node
from cerify.explanations.evidence import bindings_text, braces, row
from cerify.explanations.explanation import Derived, Explanation, Position, changes, relaxed_text, steps_of, summary
from cerify.explanations.rejection import Reason
from cerify.explanations.step import Step
from cerify.explanations.text import rejection_lines
from cerify.semantics.cel.show import show
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import ComplexEvent, Stream, bindings_of

Walked: TypeAlias = tuple[str, str, list[tuple[int, str]]]
"""A step on the page: its position or positions, the event, and the matches with the numbers of their explanations."""


def render(
    phi: Formula, S: Stream, explanations: Sequence[Explanation], more: bool = False, walked: Sequence[Position] = ()
) -> str:
    """The page of explanations of phi over S; more says that there are matches beyond those given.

    With steps, the page begins with the stream as a whole: what there is after each event.
    """
    return page(
        "explanations/cel.html",
        query=show(phi),
        length=len(S),
        views=[View.of(number, explanation, S) for number, explanation in enumerate(explanations, start=1)],
        more=more,
        overview=_overview(S, explanations, walked) if walked else "",
        steps=list(_steps(S, explanations, walked)),
        show=show,
        bindings_text=bindings_text,
    )


def _overview(S: Stream, explanations: Sequence[Explanation], walked: Sequence[Position]) -> Markup:
    """The part of the stream that was walked, with every match found on it."""
    rows = [Row("common", sorted(C), step.at, f"{braces(C)} at {step.at}") for step in walked for C in step.matches]
    places = frozenset(p for step in walked for C in step.matches for p in C | {step.at})
    return Markup(timeline(_columns(S, places or frozenset({walked[0].at, walked[-1].at}), None), rows))


def _steps(S: Stream, explanations: Sequence[Explanation], walked: Sequence[Position]) -> Iterator[Walked]:
    """The steps as the page shows them; on a long stream those without a match are told together."""
    numbers = {(one.at, one.events): number for number, one in reversed(list(enumerate(explanations, start=1)))}
    for idle, together in groupby(walked, key=lambda step: len(walked) > WHOLE and not step.matches):
        run = list(together)
        if idle and len(run) > 1:
            yield f"{run[0].at} to {run[-1].at}", f"{len(run)} events", []
            continue
        for step in run:
            yield str(step.at), row(S[step.at]), [(numbers[step.at, C], braces(C)) for C in step.matches]


@dataclass(frozen=True)
class View:
    """An explanation as the page shows it."""

    number: int
    matched: bool
    sentence: str
    drawing: Markup
    derivations: tuple[Step, ...] = ()
    more: bool = False
    reasons: tuple[Reason, ...] = ()
    relaxed: str | None = None
    nearest: tuple[tuple[str, str], ...] = ()
    bindings: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()

    @classmethod
    def of(cls, number: int, explanation: Explanation, S: Stream) -> View:
        C, at, sentence = explanation.events, explanation.at, summary(explanation)
        if isinstance(explanation, Derived):
            rows = [Row("common", sorted(C), at, f"match · {braces(C)} at {at}")]
            drawing = timeline(_columns(S, C | {at}, explanation.derivations[0]), rows)
            return cls(
                number, True, sentence, Markup(drawing), tuple(map(steps_of, explanation.derivations)), explanation.more
            )
        rejection = explanation.rejection
        nearest = () if rejection.bindings else rejection.nearest or ()
        rows = [Row("extra", sorted(C), at, f"asked about · {braces(C)} at {at}, no match")]
        rows += [Row("common", sorted(near), at, f"nearest match · {braces(near)} at {at}") for near in nearest]
        places = C.union({at}, *nearest)
        return cls(
            number,
            False,
            sentence,
            Markup(timeline(_columns(S, places, None), rows)),
            reasons=rejection.reasons,
            relaxed=relaxed_text(rejection),
            bindings=tuple(map(bindings_text, rejection.bindings)),
            nearest=tuple((braces(near), changes(near, C)) for near in nearest),
            lines=tuple(rejection_lines(rejection, at)),
        )


def _columns(S: Stream, places: ComplexEvent, root: Node | None) -> list[Column]:
    """The events to draw, each with its values and, if there is a derivation, the variables that bind it."""
    bound: dict[int, list[str]] = {}
    for variable, positions in bindings_of(root.valuation) if root is not None else ():
        for p in positions:
            bound.setdefault(p, []).append(variable)
    return columns(S, places, {p: f"in {', '.join(names)}" for p, names in bound.items()})
