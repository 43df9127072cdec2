"""cerify schema: show what files of events contain, and suggest options for reading them."""

from __future__ import annotations

import json
from dataclasses import dataclass

import click

from cerify.commands.options import EVENTS, FileSource, argument, group, language, option, takes
from cerify.languages import language_named
from cerify.semantics.ecs import TIMESTAMP
from cerify.semantics.errors import InputError
from cerify.semantics.events import TYPE, observed
from cerify.semantics.json_events import json_of_schema
from cerify.semantics.predicates import show_name
from cerify.semantics.stream_summary import StreamSummary, listed_names, shown_range, summarized
from cerify.terminal import echo, echo_lines, printable, table_lines

UNTYPED = "event"  # the type of events in a file without types
MOST_TYPES = 50


@dataclass(frozen=True)
class SchemaArguments:
    """The arguments and options of `cerify schema`."""

    file: tuple[str, ...] = argument(type=EVENTS, nargs=-1, required=True)
    source: FileSource = group(FileSource)
    language: str = language()
    as_schema: bool = option("--as-schema", is_flag=True, help="Print only the schema, as --schema takes it.")
    as_json: bool = option("--json", is_flag=True, help="Print the summary as JSON.")


@click.command()
@takes(SchemaArguments)
def schema_command(args: SchemaArguments) -> int:
    """Print what the events in FILE have: types, attributes, kinds, ranges, and what may be a key or the time.

    Names are printed as a query must write them. The events need no types. At the end, options for reading the file are
    suggested. With --language eql, documents of the Elastic Common Schema are read as EQL reads them: arrays,
    categories, `@timestamp`.
    """
    typed = True
    try:
        S = args.source.read_in(language_named(args.language), args.file)
    except InputError:
        if args.source.type_column != TYPE:
            raise
        S, typed = args.source.read_stream(args.file, UNTYPED), False
    if args.as_schema:
        echo(json.dumps(json_of_schema(observed(S)), ensure_ascii=False))
        return 0
    summary = summarized(S)
    suggested = summary.suggestions(typed)
    if not typed and TIMESTAMP in summary.attributes and any(n.startswith("event.") for n in summary.attributes):
        suggested.insert(0, "--language eql")  # for the documents of the Elastic Common Schema
    if args.as_json:
        echo(json.dumps(summary.json() | {"suggestions": suggested}, ensure_ascii=False, allow_nan=False))
        return 0
    _print_summary(summary, typed, suggested)
    return 0


def _print_summary(summary: StreamSummary, typed: bool, suggested: list[str]) -> None:
    echo(f"{summary.events} events" + ("" if typed else ", none of which has a type"))
    if typed:
        rows = [
            [printable(show_name(type_)), str(number), printable(listed_names(summary.of_types[type_]))]
            for type_, number in list(summary.types.items())[:MOST_TYPES]
        ]
        echo_lines(table_lines(["type", "events", "attributes"], rows))
    keys, times = {one.name for one in summary.likely_keys()}, {one.name for one in summary.likely_times()[:1]}
    rows = []
    for one in summary.attributes.values():
        uses = [*["a key?"] * (one.name in keys), *["the time?"] * (one.name in times)]
        distinct = "many" if one.distinct is None else str(one.distinct)
        kind = "mixed" if one.mixed else str(one.value_type)
        cells = [show_name(one.name), kind, str(one.present), distinct, shown_range(one), ", ".join(uses)]
        rows.append([*map(printable, cells)])
    echo_lines(table_lines(["attribute", "kind", "events", "values", "range", "use"], rows))
    for reason in summary.unread.values():
        echo(f"left out: {printable(reason)}")
    if suggested:
        echo(f"options that may help: {' '.join(suggested)}")
