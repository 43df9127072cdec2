"""Explanations as text: trees with a line for the step, a line for its clause, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from cerify.explanations.evidence import bindings_text, braces, row
from cerify.explanations.explainer import Listing
from cerify.explanations.explanation import Derived, Explanation, Rejected, changes, relaxed_text, steps_of, summary
from cerify.explanations.rejection import Rejection
from cerify.explanations.step import printed_tree
from cerify.semantics.cel.show import show
from cerify.semantics.events import Stream


def print_explanation(explanation: Explanation, S: Stream, console: Console) -> None:
    """Print what a set of positions is to a formula, and why."""
    yes = isinstance(explanation, Derived)
    console.print(Text(summary(explanation), style="bold green" if yes else "bold red"))
    for p in sorted(explanation.events):
        console.print(Text(f"  {p}  {row(S[p])}", style="dim"))
    match explanation:
        case Derived(derivations=found, more=more):
            for root in found:
                console.print()
                console.print(printed_tree(steps_of(root)))
            if more:
                console.print(Text("\nThere are more derivations: --derivations N shows N of them.", style="dim"))
        case Rejected(at=at, rejection=rejection):
            _print_rejection(rejection, explanation, at, console)


def print_stream(listing: Listing[Derived], S: Stream, console: Console) -> None:
    """Print the first matches, position by position, each with its derivation."""
    if listing.last < listing.first:
        console.print("no match in 0 events")
    done = listing.first
    for explanation in listing.found:
        _print_idle(done, explanation.at - 1, console)
        if done <= explanation.at:
            console.print(Text(f"after event {explanation.at}: {row(S[explanation.at])}", style="bold"))
        done = explanation.at + 1
        print_explanation(explanation, S, console)
        console.print()
    if listing.more:
        known = len(listing.found)
        console.print(Text(f"\nThere are more than {known}: --limit N explains the first N matches.", style="dim"))
    else:
        _print_idle(done, listing.last, console)


def rejection_lines(rejection: Rejection, at: int) -> Iterator[str]:
    """What is to be said of a rejection besides its reasons and its nearest matches."""
    if rejection.gave_up:
        yield "The search for the reason took too long and was given up. Ask about a shorter stream."
    elif not rejection.reasons:
        yield "With looser filters, strategies, order and types the formula still does not match exactly these events."
    if rejection.nearest is None:
        yield f"The matches at {at} could not all be found, so the nearest are not known. Ask about a shorter stream."
    elif not rejection.nearest:
        yield f"Nothing matches at {at}."


def _print_rejection(rejection: Rejection, explanation: Rejected, at: int, console: Console) -> None:
    if rejection.reasons:
        tree = Tree(Text("rejected by", style="bold"))
        for reason in rejection.reasons:
            label = Text.assemble((reason.clause, "bold yellow"), ": ", reason.message)
            if reason.valuation is not None:
                label.append(f"\nin {show(reason.formula)}", style="cyan")
                label.append(f"\nover ({reason.i}, {reason.j}), {bindings_text(reason.valuation)}", style="dim")
            tree.add(label)
        console.print()
        console.print(tree)
    if text := relaxed_text(rejection):
        console.print(Text.assemble("\nIt is a match of ", (text, "cyan")))
    if rejection.bindings:
        console.print(Text(f"\n{braces(explanation.events)} is a match at {at} with", style="bold"))
        for mu in rejection.bindings:
            console.print(Text(f"  {bindings_text(mu)}", style="green"))
    elif rejection.nearest:
        console.print(Text(f"\nnearest matches at {at}", style="bold"))
        for C in rejection.nearest:
            console.print(Text(f"  {braces(C)}: {changes(C, explanation.events)}"))
    for line in rejection_lines(rejection, at):
        console.print(Text(f"\n{line}"))


def _print_idle(first: int, last: int, console: Console) -> None:
    if first <= last:
        where = f"event {first}" if first == last else f"events {first} to {last}"
        console.print(Text(f"after {where}: no match\n", style="dim"))
