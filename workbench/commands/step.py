"""cerify step: the run of an evaluator over a stream, as a page that goes forward and back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from cerify.commands.files import Source
from cerify.commands.options import EVENTS, OUTPUT, argument, group, language, option, takes
from cerify.commands.written import echo_written
from cerify.draw.stepper import stepper, summary
from cerify.drawing import record
from cerify.semantics.errors import errors_in
from cerify.semantics.output_files import write_whole


@dataclass(frozen=True)
class Arguments:
    """The options of a call."""

    query: str = argument()
    file: str = argument(type=EVENTS)
    language: str = language()
    output_file: Path = option(
        "-o", "--output", type=OUTPUT, metavar="FILE", required=True, help="Where the page goes: FILE.html."
    )
    valuations: bool = option("--valuations", is_flag=True, help="Keep which variable has which positions (CEL).")
    source: Source = group(Source)
    as_json: bool = option("--json", is_flag=True, help="Print what was written as one JSON object.")


@click.command()
@takes(Arguments)
def command(args: Arguments) -> int:
    """Show the evaluator at work: QUERY over the events of FILE, one step for each event.

    FILE is CSV, JSON Lines, Parquet or Arrow IPC; - is standard input. The page needs no other file: it shows the
    stream, the automaton with its active states, what they hold, and the matches, and goes forward and back.

    Exit status: 0 if it was written, 2 on an error.
    """
    if args.output_file.suffix != ".html":
        raise click.UsageError(f"-o takes a file that ends in .html, not {args.output_file.name}")
    with errors_in(args.query):
        S = args.source.read_for(args.query, args.language, args.file)
        run = record(args.query, S, args.language, "valuations" if args.valuations else "matches")
        text = stepper(run)
    write_whole(args.output_file, text)
    echo_written(args.query, args.language, args.output_file, summary(run), args.as_json)
    return 0
