"""cerify check: whether a formula parses, which fragment it is in, and what of it makes no sense under a schema."""

from __future__ import annotations

import json

import click

from cerify.semantics.cel.fragment import beyond_star
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.wellformed import is_unary, problems
from cerify.semantics.errors import underline
from cerify.semantics.readers import read_schema


@click.command()
@click.argument("query")
@click.option(
    "--schema", "schema_text", metavar="JSON|FILE", help="Attributes of each event type: look for type errors."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(query: str, schema_text: str | None, as_json: bool) -> int:
    """Tell whether QUERY parses and fits a schema.

    Exit status: 0 if there is no problem, 1 if there is one, 2 if QUERY is no formula.
    """
    phi = parse(query)
    unary, beyond = is_unary(phi), beyond_star(phi)
    found = problems(phi, None if schema_text is None else read_schema(schema_text))
    if as_json:
        listed = [{"rule": p.rule, "message": p.message, "span": p.span and [p.span.start, p.span.end]} for p in found]
        written = {"unary": unary, "star": not beyond, "beyond_star": sorted(beyond)}
        answer = {"language": "cel", "fragment": written, "satisfiable": None, "problems": listed}
        click.echo(json.dumps(answer, ensure_ascii=False))
        return 1 if found else 0
    fragment = f"CEL* with {', '.join(sorted(beyond))}" if beyond else "CEL*"
    click.echo(f"{fragment}, {'unary' if unary else 'not unary: it compares events with each other'}")
    for problem in found:
        click.echo(f"\n{click.style(problem.rule, fg='red', bold=True)}: {problem.message}")
        if problem.span is not None:
            click.echo(underline(query, problem.span))
    if not found:
        click.echo("no problems" if schema_text else "no problems; give a schema to have its types checked too")
    return 1 if found else 0
