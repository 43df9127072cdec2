"""cerify step: the run of an evaluator over a stream, as a page that goes forward and back."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from cerify.draw.record import RECORDERS, record
from cerify.draw.stepper import stepper, summary
from cerify.semantics.errors import InputError, errors_in
from cerify.semantics.events import TYPE
from cerify.semantics.readers import Format, read, read_schema


@click.command()
@click.argument("query")
@click.argument("file")
@click.option("--language", type=click.Choice(list(RECORDERS)), default="cel", show_default=True)
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
@click.option("--schema", "schema_text", metavar="JSON|FILE", help='As {"T": {"id": "int", "tmp": "float"}}.')
@click.option("--time", "time_column", metavar="COLUMN", help="The field with the events' time.")
@click.option("--type", "type_column", metavar="COLUMN", default=TYPE, show_default=True, help="The one with the type.")
@click.option("--format", "format_", type=click.Choice(get_args(Format)), help="If not what the file's suffix says.")
def command(
    query: str,
    file: str,
    language: str,
    output_file: Path,
    valuations: bool,
    schema_text: str | None,
    time_column: str | None,
    type_column: str,
    format_: Format | None,
) -> int:
    """Show the evaluator at work: QUERY over the events of FILE, one step for each event.

    FILE is CSV, JSON Lines, Parquet or Arrow IPC; - is standard input. The page needs no other file: it shows the
    stream, the automaton with its active states, what they hold, and the matches, and goes forward and back.

    Exit status: 0 if it was written, 2 on an error.
    """
    if output_file.suffix != ".html":
        raise click.UsageError(f"-o takes a file that ends in .html, not {output_file.name}")
    schema = None if schema_text is None else read_schema(schema_text)
    with errors_in(query):
        S = read(file, format=format_, schema=schema, type_column=type_column, time_column=time_column)
        run = record(query, S, language, "valuations" if valuations else "matches")
        text = stepper(run)
    try:
        output_file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {output_file}: {error.strerror}") from None
    click.echo(f"{output_file}: {summary(run)}")
    return 0
