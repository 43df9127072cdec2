"""Explanations of matches of SASE+ as text: the runs, step by step."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from cerify.explanations.evidence import braces, printable
from cerify.explanations.explanation import changes
from cerify.explanations.sase import Accepted, Explainer, NoMatch, bound_text
from cerify.explanations.step import print_facts, print_run
from cerify.semantics.values import plain


def print_found(found: Accepted | NoMatch, console: Console) -> None:
    """Print why some events are a match, or why they are not."""
    match found:
        case Accepted(match, M, runs, more, absent):
            head = f"{braces(match.events)} is a match at {match.at}: {bound_text(M)}"
            console.print(Text(head, style="bold green"))
            for number, run in enumerate(runs, 1):
                if len(runs) > 1:
                    console.print(Text(f"run {number}", style="bold"))
                print_run((move.step for move in run), console)
            for fact in absent:
                console.print(Text(f"  {fact}"))
            if match.result is not None:
                result = json.dumps(plain(match.result.attributes), ensure_ascii=False)
                console.print(Text(f"  RETURN {printable(result)}"))
            if more:
                console.print(Text("  There are more runs: --derivations N shows N of them.", style="dim"))
        case NoMatch(events, failures, nearest):
            console.print(Text(f"{braces(events)} is not a match", style="bold red"))
            for failure in failures:
                if failure.bindings:
                    console.print(Text(f"with {bound_text(failure.bindings)}", style="bold"))
                print_run((move.step for move in failure.steps), console)
                console.print(Text(f"  {failure.text}", style="red"))
                print_facts(failure.because, console)
            for near in nearest:
                console.print(Text(f"nearest match: {braces(near)}, {changes(frozenset(near), events)}"))


def print_matches(shown: Sequence[Accepted], number: int, known: Explainer, console: Console) -> None:
    """Print matches, each with a run; number says how many there are."""
    for one in shown:
        print_found(one, console)
        console.print()
    if not number:
        console.print(f"no match in {len(known.S)} events")
    elif number > len(shown):
        console.print(Text(f"There are {number} matches: --limit N explains the first N.", style="dim"))
