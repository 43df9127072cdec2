"""cerify draw: the automaton of a query, a stream with its matches, or what is preferred to them, as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import click

from cerify.api import planned
from cerify.commands.files import Source
from cerify.commands.options import EVENTS, OUTPUT, argument, either, group, language, option, takes
from cerify.commands.written import echo_written
from cerify.draw.diagram import Diagram, dot
from cerify.draw.page import markup, page
from cerify.draw.stream import MOST_ROWS, WHOLE, drawn, match_row, places_row
from cerify.draw.svg import document, svg
from cerify.drawing import diagram_of, hoa_of, preference_tree
from cerify.languages.language import Options
from cerify.semantics.errors import errors_in
from cerify.semantics.events import Stream
from cerify.semantics.output_files import write_whole
from cerify.terminal import echo

SUFFIXES = (".svg", ".html")


@dataclass(frozen=True)
class Arguments:
    """The options of a call."""

    query: str = argument()
    file: str | None = argument(required=False, type=EVENTS)
    tree: int | None = option(
        "--tree", type=int, metavar="ROW", help="With FILE, the labellings from ROW by preferment (MATCH_RECOGNIZE)."
    )
    language: str = language()
    output_file: Path | None = option(
        "-o", "--output", type=OUTPUT, metavar="FILE", help="Where the picture goes: FILE.svg, or FILE.html for a page."
    )
    printed: str | None = either(
        option("--svg", flag_value="svg", help="Print the picture."),
        option("--dot", flag_value="dot", help="Print the automaton for Graphviz."),
        option(
            "--hoa", flag_value="hoa", help="Print the automaton in the HOA format (not of SASE+, MATCH_RECOGNIZE)."
        ),
    )
    source: Source = group(Source)
    as_json: bool = option("--json", is_flag=True, help="With -o, print what was written as one JSON object.")


@click.command()
@takes(Arguments)
def command(args: Arguments) -> int:
    """Draw the automaton of QUERY; with FILE, draw the events of FILE and what QUERY matches there.

    With --tree, draw which labellings of the rows from ROW on are tried, the most preferred one first.

    FILE is CSV, JSON Lines, Parquet or Arrow IPC; - is standard input. The picture needs no other file and follows
    the reader's choice of light or dark. With -o it goes to a file, with --svg, --dot or --hoa to standard output.

    Exit status: 0 if it was drawn, 2 on an error.
    """
    _require_consistent(args)
    query, output_file = args.query, args.output_file
    with errors_in(query):
        if args.printed == "hoa":
            echo(hoa_of(query, args.language, args.source.schema), newline=False)
            return 0
        if args.file is None or args.tree is not None:
            title = "Automaton" if args.tree is None else "Labellings"
            diagram = _diagram(args)
            if args.printed == "dot":
                echo(dot(diagram), newline=False)
                return 0
            inline = svg(diagram)
            node, edge = ("node", "branch") if diagram.is_tree else ("state", "arrow")
            says = f"{_count(len(diagram.states), node)}, {_count(len(diagram.edges), edge)}"
        else:
            title = "Stream and matches"
            inline, says = _stream(query, args.language, args.source.read_for(query, args.language, args.file))
    if output_file is None:
        echo(document(inline), newline=False)
        return 0
    if output_file.suffix == ".svg":
        text = document(inline)
    else:
        text = page("draw/drawing.html", title=title, query=query, says=f"{says}.", drawing=markup(inline))
    write_whole(output_file, text)
    echo_written(query, args.language, output_file, says, args.as_json)
    return 0


def _require_consistent(args: Arguments) -> None:
    """Raises UsageError for options that do not go together."""
    output_file, printed = args.output_file, args.printed
    if (output_file is None) == (printed is None):
        raise click.UsageError("say where the picture goes: -o FILE, or one of --svg, --dot, --hoa to print it")
    if args.tree is not None and (args.file is None or printed == "hoa"):
        raise click.UsageError("--tree needs FILE, the table whose row is meant, and goes with -o, --svg or --dot")
    if args.file is not None and args.tree is None and printed in ("dot", "hoa"):
        raise click.UsageError(f"--{printed} is for an automaton; a stream with its matches takes --svg or -o")
    if args.as_json and output_file is None:
        raise click.UsageError("--json goes with -o: without it the picture is what is printed")
    if output_file is not None and output_file.suffix not in SUFFIXES:
        raise click.UsageError(f"-o takes a file that ends in {' or '.join(SUFFIXES)}, not {output_file.name}")


def _diagram(args: Arguments) -> Diagram:
    """The automaton, or the tree of labellings."""
    if args.file is None or args.tree is None:
        return diagram_of(args.query, args.language, args.source.schema)
    S = args.source.read_for(args.query, args.language, args.file)
    return preference_tree(args.query, S, args.tree, args.language)


def _stream(query: str, language: str, S: Stream) -> tuple[str, str]:
    plan = planned(query, language, S.schema, Options(), None)
    if plan.language.takes_place:
        found = list(plan.matches(S))
        shown = found if len(S) <= WHOLE else found[:MOST_ROWS]
        rows = [places_row(" ".join(query.split()), [match.at for match in shown])]
        says = f"{_count(len(S), 'event')}, it takes place at {len(found)}"
    else:
        found = list(islice(plan.matches(S), MOST_ROWS + 1))
        shown = found[:MOST_ROWS]
        rows = list(map(match_row, shown))
        says = f"{_count(len(S), 'event')}, {_count(len(shown), 'match')}"
    if len(found) > len(shown):
        says = f"{says}; only the first {len(shown)} are drawn" if rows[0].at is None else f"{says}, and there are more"
    return drawn(S, rows), says


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 'es' if word.endswith('ch') else 's'}"
