"""cerify simplify: a smaller query that means the same."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from cerify.automata.cea.compile import compilable
from cerify.commands.files import schema_of
from cerify.commands.options import LEVELS, OUTPUT, AtLeast, argument, option, takes
from cerify.equivalence.claim import Level
from cerify.equivalence.rewrite.simplify import TRIES, Simplified, simplify
from cerify.semantics.budget import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.show import show
from cerify.semantics.cel.syntax import size
from cerify.semantics.cel.wellformed import require_typed
from cerify.semantics.errors import InputError, errors_in
from cerify.semantics.output_files import write_whole
from cerify.terminal import echo


@dataclass(frozen=True)
class Arguments:
    """The options of a call."""

    query: str = argument()
    level: Level = option(
        "--level", type=LEVELS, default="events", help="Keep the complex events, or the valuations too."
    )
    schema_text: str | None = option("--schema", metavar="JSON|FILE", help="Keep them on the streams of this schema.")
    show_steps: bool = option("--steps", is_flag=True, help="Print the steps too.")
    tries: int = option("--tries", type=AtLeast(0), default=TRIES, help="Questions to the decider.")
    seconds: float | None = option(
        "--seconds", type=click.FloatRange(0, min_open=True), help="Stop after so long, with what there is."
    )
    certificate_file: Path | None = option(
        "--certificate",
        type=OUTPUT,
        metavar="FILE",
        help="Write the proof that the result means the same, for cerify verify.",
    )
    as_json: bool = option("--json", is_flag=True, help="Print one JSON object.")


@click.command()
@takes(Arguments)
def command(args: Arguments) -> None:
    """Write QUERY, a formula of CEL, smaller, with the same meaning.

    Every step on a unary query, or on a unary part of another, is proved for all streams. Other steps stand on a law,
    and are counted apart.
    """
    schema = None if args.schema_text is None else schema_of(args.schema_text)
    with errors_in(args.query):
        phi = parse(args.query)
        if schema is not None:
            require_typed(phi, schema)
        found = simplify(phi, args.level, schema, Budget(seconds=args.seconds), args.tries)
    if args.certificate_file is not None:
        _write(args.certificate_file, found)
    if args.as_json:
        echo(json.dumps(_json(args.query, found), ensure_ascii=False))
        return
    echo(show(found.phi))
    if args.show_steps:
        for step in found.steps:
            echo(f"  {step.by}: {show(step.before)}  ->  {show(step.after)}")
    echo(f"size {size(found.original)} -> {size(found.phi)}; {_said(found)}")


def _said(found: Simplified) -> str:
    """How it is known that the result means the same."""
    by_law = len(found.by_law_only)
    ended = "" if found.finished else "; stopped early, there may be a smaller one"
    if not found.steps:
        return f"nothing smaller was found{ended}"
    if found.proof is not None:
        return f"proved for all streams{ended}"
    taken = f"{len(found.steps)} step{'s' * (len(found.steps) > 1)}"
    return f"{taken}, {by_law or 'none'} of them by a law only{ended}"


def _json(query: str, found: Simplified) -> dict[str, Any]:
    steps = [
        {"by": s.by, "before": show(s.before), "after": show(s.after), "proved": s.proof is not None}
        for s in found.steps
    ]
    return {
        "query": query,
        "level": found.level,
        "result": show(found.phi),
        "size": {"before": size(found.original), "after": size(found.phi)},
        "proved": found.proof is not None,
        "finished": found.finished,
        "steps": steps,
    }


def _write(path: Path, found: Simplified) -> None:
    if found.proof is None:
        why = "could not be decided as a whole" if compilable(found.original) else "compares events with each other"
        raise InputError(f"there is no certificate: the query {why}")
    write_whole(path, found.proof.to_json() + "\n")
