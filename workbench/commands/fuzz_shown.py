"""A disagreement of `cerify fuzz`, as it is printed for a person."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console

from cerify.conformance.words import difference, shown
from cerify.semantics.events import Match
from cerify.terminal import printable

Answer = Sequence[Match] | str


def print_disagreement(
    console: Console,
    query: str,
    events: Iterable[Mapping[str, Any]],
    expected: Answer,
    got: Answer,
    notes: Mapping[str, str],
) -> None:
    """Print the difference, the query, the events in the form of the protocol, both answers, and the notes by label."""
    console.print()
    if isinstance(expected, str) or isinstance(got, str):
        console.print("no answer", style="bold")
    else:
        console.print(difference(set(expected), set(got)), style="bold")
    console.print(f"  query     {printable(query)}")
    lines: list[str] = []
    for event in events:
        rest = {name: value for name, value in event.items() if name != "type"}
        text = f"{event['type']} {json.dumps(rest, ensure_ascii=False) if rest else ''}".rstrip()
        lines.append(f"{len(lines)}: {printable(text)}")
    for number, text in enumerate(lines or ["no events"]):
        console.print(f"  {'' if number else 'stream':9} {text}")
    for label, given in (("expected", expected), ("got", got)):
        console.print(f"  {label:9} {printable(given if isinstance(given, str) else shown(given, 20) or 'nothing')}")
    for label, text in notes.items():
        console.print(f"  {label:9} {printable(text)}")
