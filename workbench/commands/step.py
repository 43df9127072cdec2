"""cerify step: the run of an evaluator over a stream, as a page that goes forward and back."""

from __future__ import annotations

from pathlib import Path

import click

from cerify.commands.files import Source, language_option, reads_events, write
from cerify.draw.stepper import stepper, summary
from cerify.drawing import record
from cerify.semantics.errors import errors_in
from cerify.terminal import echo


@click.command()
@click.argument("query")
@click.argument("file")
@language_option
@click.option(
    "-o",
    "--output",
    "output_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    required=True,
    help="Where the page goes: FILE.html.",
)
@click.option("--valuations", is_flag=True, help="Keep which variable has which positions (CEL).")
@reads_events
def command(
    query: str,
    file: str,
    language: str,
    output_file: Path,
    valuations: bool,
    source: Source,
) -> int:
    """Show the evaluator at work: QUERY over the events of FILE, one step for each event.

    FILE is CSV, JSON Lines, Parquet or Arrow IPC; - is standard input. The page needs no other file: it shows the
    stream, the automaton with its active states, what they hold, and the matches, and goes forward and back.

    Exit status: 0 if it was written, 2 on an error.
    """
    if output_file.suffix != ".html":
        raise click.UsageError(f"-o takes a file that ends in .html, not {output_file.name}")
    with errors_in(query):
        S = source.read_for(query, language, file)
        run = record(query, S, language, "valuations" if valuations else "matches")
        text = stepper(run)
    write(output_file, text)
    echo(f"{output_file}: {summary(run)}")
    return 0
