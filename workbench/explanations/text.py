"""Explanations as text: trees with a line for the step, a line for its clause, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from cerify.explanations.evidence import row
from cerify.explanations.explainer import Explainer, Listing
from cerify.explanations.step import Part, Step, View
from cerify.semantics.events import Stream
from cerify.terminal import Line, lines_of, printable

E = TypeVar("E")
STYLES = {"begin": "green", "take": "blue", "ignore": "dim", "proceed": "dim", "stuck": "red"}  # of the moves of a run


def explanation_lines(explainer: Explainer[E], found: E) -> Iterator[Line]:
    """What a set of positions is to the query, and why."""
    return _view(explainer.view(found), explainer.S)


def _view(view: View, S: Stream) -> Iterator[Line]:
    yield from lines_of(view.sentence, "bold green" if view.matched else "bold red")
    for p in view.places if view.listed else ():
        yield Line([(f"  {p}  {row(S[p])}", "dim")])
    for part in view.parts:
        yield Line()
        yield from _part(part)
    if view.more:
        yield from lines_of(f"\nThere are more {view.more}: `cerify explain --derivations N` shows N of them.", "dim")


def listing_lines(explainer: Explainer[E], listing: Listing[E]) -> Iterator[Line]:
    """The explanations of a listing, position by position."""
    if not explainer.S:
        yield from lines_of(f"{explainer.idle} in 0 events")
    first = listing.first if explainer.in_order else len(explainer.S)
    for view in map(explainer.view, listing.found):
        yield from _idle(first, view.at - 1, explainer.idle)
        if first <= view.at or not explainer.in_order:
            when = f"{'after event' if explainer.in_order else 'at row'} {view.at}"
            yield Line([(f"{when}: {row(explainer.S[view.at])}", "bold")])
        first = max(first, view.at + 1)
        yield from _view(view, explainer.S)
        yield Line()
    if listing.more:
        shown = len(listing.found)
        yield from lines_of(f"\nThere are more than {shown}: --limit N explains the first N matches.", "dim")
    elif explainer.in_order or not listing.found:
        yield from _idle(first if explainer.in_order else listing.first, listing.last, explainer.idle)
    yield from _part(Part(lines=tuple(map(printable, listing.reasons))))
    if explainer.S and not listing.found and not listing.reasons:
        yield from lines_of(explainer.hint, "dim")


def _idle(first: int, last: int, idle: str) -> Iterator[Line]:
    if first <= last:
        where = f"event {first}" if first == last else f"events {first} to {last}"
        yield from lines_of(f"after {where}: {idle}\n", "dim")


def _part(part: Part) -> Iterator[Line]:
    if part.heading:
        yield from lines_of(part.heading, "bold")
        yield from _below(part.trees, "")
    else:
        for root in part.trees:
            yield from _step(root, "", "", "")
    for step in part.run:
        yield Line([("  ", ""), (f"{step.move:<8}", STYLES[step.move]), (step.text, "")], rest=" " * 10)
        for fact in step.facts:
            yield Line([(f"            {fact}", "dim")], rest=" " * 12)
    for line in part.lines:
        yield Line([(f"  {line}", "")], rest="  ")


def _below(steps: Sequence[Step], guide: str) -> Iterator[Line]:
    """The steps as branches; guide is what stands before the branches on each line."""
    for step in steps[:-1]:
        yield from _step(step, f"{guide}├── ", f"{guide}│   ", f"{guide}│   ")
    for step in steps[-1:]:
        yield from _step(step, f"{guide}└── ", f"{guide}    ", f"{guide}    ")


def _step(step: Step, first: str, rest: str, below: str) -> Iterator[Line]:
    """What a step is about, its clause and its facts, and the steps below it."""
    heading = [(step.text, "bold cyan"), (f"  {step.where}", ""), (f"  {step.bound}" if step.bound else "", "green")]
    yield Line(heading, first, rest)
    styled = [(step.clause, "yellow")] if step.clause else []
    for text, style in (*styled, *((fact, "dim") for fact in step.facts)):
        yield from (Line([(line, style)], rest, rest) for line in text.split("\n"))
    yield from _below(step.children, below)
