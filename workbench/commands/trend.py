"""`cerify trend`: how the conformance of an engine changed from run to run."""

from __future__ import annotations

from pathlib import Path

import click

from cerify import protocol
from cerify.commands.options import FILE
from cerify.conformance.stored import read_stored, trend
from cerify.conformance.words import count_of
from cerify.console import screen
from cerify.semantics.packages import rich_table
from cerify.terminal import echo, printable

NAMED = 5  # cases of a step that are listed


@click.command("trend")
@click.option("--json", "as_json", is_flag=True, help="Print one object for each run, a line each.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILE)
def command(files: tuple[Path, ...], as_json: bool) -> int:
    """Compare stored runs of `cerify conform --json`, the oldest first: what passes, what is mended, what broke.

    A run under --policy or --reading is compared with the one before it that was held to the same choices.
    Exit status: 0 if the last run has no failing case that the one before it had not, 1 if it has, 2 on an error.
    """
    steps = list(trend([read_stored(path) for path in files]))
    if as_json:
        for step in steps:
            echo(protocol.line(step.json()))
        return 1 if steps[-1].broken else 0
    held = any(step.held_to for step in steps)
    table = rich_table.Table(
        "engine", *(["held to"] if held else []), "passed", "claimed", "defects", "mended", "broken"
    )
    for step in steps:
        numbers = (step.passed, step.claimed, step.defects, len(step.mended), len(step.broken))
        names = (step.engine, step.held_to) if held else (step.engine,)
        table.add_row(*map(printable, names), *map(str, numbers))
    console = screen()
    console.print(table)
    for step in steps:
        if step.broken:
            broken = count_of(sorted(step.broken), NAMED)
            console.print(f"broken in {step.engine}: {broken}", markup=False, highlight=False, soft_wrap=True)
    return 1 if steps[-1].broken else 0
