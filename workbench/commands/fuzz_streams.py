"""`cerify fuzz --query --all-streams`: one query on all short streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cerify import protocol
from cerify.commands.fuzz_shown import print_disagreement
from cerify.commands.progress import interruptible, progress
from cerify.conformance.all_streams import Search, search
from cerify.conformance.harness import Engine
from cerify.conformance.process import Limits
from cerify.conformance.report_json import result_json
from cerify.conformance.words import sentence
from cerify.console import screen
from cerify.languages.language import Language
from cerify.semantics.errors import InputError
from cerify.terminal import echo, picked


def run(argv: Sequence[str], language: Language[Any], query: str, longest: int, limits: Limits, as_json: bool) -> int:
    """Ask an engine and print what was found; the status of the command. Raises InputError if it does not start."""
    with progress() as shown, interruptible(), Engine(argv, limits) as engine:
        name = f"{engine.info.name} {engine.info.version}"
        if language.name not in engine.info.languages:
            raise InputError(f"the engine does not speak {language.name}, but {', '.join(engine.info.languages)}")
        output = "valuations" if language.results else "matches"
        found = search(engine, language, query, longest, output, lambda done, total: shown("asking", done, total))
    (_print_json if as_json else _print)(name, query, found)
    return 0 if not (found.wrong or found.disputed) and not found.ended and found.skipped < found.asked else 1


def _print_json(name: str, query: str, found: Search) -> None:
    summary = {
        "tested": name,
        "query": query,
        **picked(found, "planned", "asked", "skipped"),
        "wrong": len(found.wrong),
        "disputed": len(found.disputed),
        "ended": found.ended or None,
        "shortest": None if found.shortest is None else result_json(found.shortest),
    }
    echo(protocol.line({"summary": summary}))
    for result in (*found.wrong, *found.disputed):
        echo(protocol.line(result_json(result)))


def _print(name: str, query: str, found: Search) -> None:
    console = screen(soft_wrap=True)
    console.print(f"{name}: {query} on all short streams", style="bold")
    text = f"{len(found.wrong):,} of {found.asked:,} streams are answered wrongly"
    if (shortest := found.shortest) is not None:
        text += f", the shortest {' '.join(event['type'] for event in shortest.case.events)}"
    console.print(text)
    if found.disputed:
        first = found.disputed[0]
        types = " ".join(event["type"] for event in first.case.events)
        console.print(
            f"{len(found.disputed):,} have no verdict, which is a fault of cerify; on {types}, {first.detail}",
            style="red",
        )
    if found.skipped:
        console.print(f"{found.skipped:,} skipped")
    if found.ended:
        console.print(f"ended early: {found.ended}")
    if shortest is not None:
        print_disagreement(console, replace(shortest, detail=sentence(shortest)), {})
