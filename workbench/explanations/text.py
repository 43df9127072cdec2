"""Explanations as text: trees with a line for the step, a line for its clause, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from cerify.explanations.evidence import row
from cerify.explanations.explainer import Explainer, Listing
from cerify.explanations.step import Part, Step, View
from cerify.semantics.events import Stream

E = TypeVar("E")
STYLES = {"begin": "green", "take": "blue", "ignore": "dim", "proceed": "dim", "stuck": "red"}  # of the moves of a run


def print_explanation(explainer: Explainer[E], found: E, console: Console) -> None:
    """Print what a set of positions is to the query, and why."""
    _print_view(explainer.view(found), explainer.S, console)


def _print_view(view: View, S: Stream, console: Console) -> None:
    console.print(Text(view.sentence, style="bold green" if view.matched else "bold red"))
    for p in view.places if view.listed else ():
        console.print(Text(f"  {p}  {row(S[p])}", style="dim"))
    for part in view.parts:
        console.print()
        _print_part(part, console)
    if view.more:
        console.print(Text(f"\nThere are more {view.more}: --derivations N shows N of them.", style="dim"))


def print_listing(explainer: Explainer[E], listing: Listing[E], console: Console) -> None:
    """Print the explanations of a listing, position by position."""
    if not explainer.S:
        console.print(f"{explainer.idle} in 0 events")
    first = listing.first
    for view in map(explainer.view, listing.found):
        _print_idle(first, view.at - 1, explainer.idle, console)
        if first <= view.at:
            console.print(Text(f"after event {view.at}: {row(explainer.S[view.at])}", style="bold"))
        first = view.at + 1
        _print_view(view, explainer.S, console)
        console.print()
    if listing.more:
        shown = len(listing.found)
        console.print(Text(f"\nThere are more than {shown}: --limit N explains the first N matches.", style="dim"))
    else:
        _print_idle(first, listing.last, explainer.idle, console)


def _print_idle(first: int, last: int, idle: str, console: Console) -> None:
    if first <= last:
        where = f"event {first}" if first == last else f"events {first} to {last}"
        console.print(Text(f"after {where}: {idle}\n", style="dim"))


def _print_part(part: Part, console: Console) -> None:
    heading = Text(part.heading, style="bold")
    if part.heading and not part.trees:
        console.print(heading)
    if part.heading and part.trees:
        console.print(_tree(Tree(heading), part.trees))
    else:
        for root in part.trees:
            console.print(_tree(Tree(_label(root)), root.children))
    for step in part.run:
        console.print(Text.assemble("  ", (f"{step.move:<8}", STYLES[step.move]), step.text))
        for fact in step.facts:
            console.print(Text(f"            {fact}", style="dim"))
    for line in part.lines:
        console.print(Text(f"  {line}"))


def _tree(top: Tree, below: Iterable[Step]) -> Tree:
    pending = [(step, top.add(_label(step))) for step in below]
    while pending:
        step, branch = pending.pop()
        pending.extend([(child, branch.add(_label(child))) for child in step.children])
    return top


def _label(step: Step) -> Text:
    """What a step is about, its clause, and its facts."""
    text = Text.assemble((step.text, "bold cyan"), f"  {step.where}")
    if step.bound:
        text.append(f"  {step.bound}", style="green")
    if step.clause:
        text.append(f"\n{step.clause}", style="yellow")
    for fact in step.facts:
        text.append(f"\n{fact}", style="dim")
    return text
