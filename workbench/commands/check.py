"""cerify check: whether a formula parses, which fragment it is in, and what of it makes no sense under a schema."""

from __future__ import annotations

import json
from typing import Any

import click

from cerify.api import check
from cerify.commands.files import schema_of
from cerify.commands.options import language_option
from cerify.languages import language_named
from cerify.semantics.errors import errors_in, underline
from cerify.semantics.events import TYPE
from cerify.terminal import echo


@click.command()
@click.argument("query")
@language_option
@click.option(
    "--schema",
    "schema_text",
    metavar="JSON|FILE",
    help="Attributes of each event type, or a file of events that shows them: look for type errors.",
)
@click.option("--time", "time_column", metavar="COLUMN", help="The field with the time, in a file of events.")
@click.option("--type", "type_column", metavar="COLUMN", default=TYPE, show_default=True, help="The one with the type.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    query: str, language: str, schema_text: str | None, time_column: str | None, type_column: str, as_json: bool
) -> int:
    """Tell whether QUERY parses, what fragment it is in, and whether it fits a schema.

    Exit status: 0 if there is no problem, 1 if there is one, 2 if QUERY is no formula.
    """
    schema = None
    if schema_text is not None:
        schema = schema_of(schema_text, type_column, time_column, language_named(language).row_type)
    with errors_in(query):
        known = check(query, schema, language=language)
    if as_json:
        listed = [
            {"rule": p.rule, "message": p.message, "mend": p.mend, "span": p.span and [p.span.start, p.span.end]}
            for p in known.problems
        ]
        answer: dict[str, Any] = {
            "language": language,
            "fragment": known.fragment,
            "satisfiable": known.satisfiable,
            "problems": listed,
        }
        if known.predicates:
            answer["predicates"] = [{"name": P, "variables": list(variables)} for P, variables in known.predicates]
        echo(json.dumps(answer, ensure_ascii=False))
        return 1 if known.problems else 0
    echo(known.summary)
    if known.predicates:
        needed = ", ".join(f"{P}({', '.join(variables)})" for P, variables in known.predicates)
        echo(f"needs registered predicates: {needed}")
    for problem in known.problems:
        echo("")
        echo(f"{problem.rule}: {problem.message}", colour="red")
        if problem.span is not None:
            echo(underline(query, problem.span))
        echo(f"to mend it: {problem.mend}")
    if not known.problems:
        echo("no problems" if schema_text else "no problems; give a schema to have its types checked too")
    return 1 if known.problems else 0
