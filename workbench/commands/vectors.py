"""`cerify vectors`: streams on which every implementation of bounded size that is wrong shows it."""

from __future__ import annotations

from pathlib import Path

import click

from cerify.api import match, parse
from cerify.commands.files import schema_of
from cerify.commands.options import OUTPUT, AtLeast
from cerify.conformance.cases import line_of_case
from cerify.conformance.model import Case
from cerify.equivalence.complete_tests import marked_dfa, vectors
from cerify.semantics.errors import errors_in
from cerify.semantics.events import Schema, Stream
from cerify.semantics.json_events import json_of_event, json_of_schema
from cerify.semantics.output_files import write_whole
from cerify.terminal import echo


@click.command("vectors")
@click.argument("query")
@click.option("--states", type=AtLeast(1), help="Of the implementation.  [default: those of the query]")
@click.option("--schema", "schema_text", metavar="JSON|FILE", help="Only events of this schema.")
@click.option("--out", type=OUTPUT, help="Write the cases to this file.")
@click.option("--json", "as_json", is_flag=True, help="Only the cases, without the summary.")
def command(query: str, states: int | None, schema_text: str | None, out: Path | None, as_json: bool) -> int:
    """Write a complete test of QUERY, a formula of CEL: streams with their matches, as cases for `conform --suite`.

    Every engine that behaves like a deterministic automaton of at most --states states, and is wrong on some
    stream, is wrong on one of these.
    """
    schema = None if schema_text is None else schema_of(schema_text)
    with errors_in(query):
        automaton = marked_dfa(parse(query), schema)
        streams = vectors(automaton, states)
        made = (Stream([automaton.events[type_] for type_ in types], schema) for types in streams)
        lines = [line_of_case(_case(query, number, S, schema)) for number, S in enumerate(made, start=1)]
    if out is None:
        for line in lines:
            echo(line)
    else:
        write_whole(out, "".join(f"{line}\n" for line in lines))
    if not as_json:
        own, kinds = len(automaton.steps), len(automaton.events)
        echo(
            f"{len(streams)} streams of {sum(map(len, streams))} events; the query has {own} states over {kinds} kinds "
            f"of events; complete for implementations of at most {states or own} states",
            error=True,
        )
    return 0


def _case(query: str, number: int, S: Stream, schema: Schema | None) -> Case:
    return Case(
        id=f"vectors/{number}",
        feature="vectors",
        clause="the W-method, docs/theory/complete-tests.md",
        language="cel",
        query=query,
        schema=None if schema is None else json_of_schema(schema),
        events=[json_of_event(event) for event in S],
        output="matches",
        matches=match(query, S, evaluator="denotational"),
    )
