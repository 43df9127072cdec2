"""cerify check: whether a formula parses, which fragment it is in, and what of it makes no sense under a schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import click

from cerify.equivalence.decide.vacuous import satisfiable, vacuous
from cerify.semantics.cel.fragment import beyond_star
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.registered import named
from cerify.semantics.cel.syntax import Named
from cerify.semantics.cel.wellformed import is_unary, problems
from cerify.semantics.errors import BudgetExceeded, Unsupported, underline
from cerify.semantics.events import TYPE, Schema
from cerify.semantics.predicate_types import Problem
from cerify.semantics.readers import read_schema


@click.command()
@click.argument("query")
@click.option(
    "--language", type=click.Choice(["cel", "core-cel", "event-expression", "sase"]), default="cel", show_default=True
)
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
        schema = read_schema(schema_text, type_column=type_column, time_column=time_column)
    fragment, summary, found, predicates, matches = CHECKS[language](query, schema)
    if as_json:
        listed = [
            {"rule": p.rule, "message": p.message, "mend": p.mend, "span": p.span and [p.span.start, p.span.end]}
            for p in found
        ]
        answer: dict[str, Any] = {
            "language": language,
            "fragment": fragment,
            "satisfiable": matches,
            "problems": listed,
        }
        if predicates:
            answer["predicates"] = [{"name": atom.name, "variables": list(atom.variables)} for atom in predicates]
        click.echo(json.dumps(answer, ensure_ascii=False))
        return 1 if found else 0
    click.echo(summary)
    if predicates:
        listed_ = ", ".join(f"{atom.name}({', '.join(atom.variables)})" for atom in predicates)
        click.echo(f"needs registered predicates: {listed_}")
    for problem in found:
        click.echo(f"\n{click.style(problem.rule, fg='red', bold=True)}: {problem.message}")
        if problem.span is not None:
            click.echo(underline(query, problem.span))
        click.echo(f"to mend it: {problem.mend}")
    if not found:
        click.echo("no problems" if schema_text else "no problems; give a schema to have its types checked too")
    return 1 if found else 0


Checked = tuple[dict[str, Any], str, list[Problem], list[Named], bool | None]
"""What a check tells of a formula: its fragment as JSON and in words, its problems, the predicates it names, and
whether it has a match on some stream, None where that is not decided."""


def _cel(query: str, schema: Schema | None) -> Checked:
    phi = parse(query)
    predicates = list(dict.fromkeys(named(phi)))
    unary, beyond = is_unary(phi), sorted(beyond_star(phi))
    written = f"CEL* with {', '.join(beyond)}" if beyond else "CEL*"
    summary = f"{written}, {'unary' if unary else 'not unary: it compares events with each other'}"
    found = problems(phi, schema)
    if not found or all(problem.rule == "unused" for problem in found):
        found += vacuous(phi, schema)
    fragment = {"unary": unary, "star": not beyond, "beyond_star": beyond}
    return fragment, summary, found, predicates, satisfiable(phi, schema)


def _core_cel(query: str, schema: Schema | None) -> Checked:
    from cerify.semantics.core_cel import wellformed as core
    from cerify.semantics.core_cel.parse import parse as parse_core_cel

    phi = parse_core_cel(query)
    fragment = {
        "unary": core.is_unary(phi),
        "well_formed": core.is_well_formed(phi),
        "safe": core.is_safe(phi),
        "lp_normal": core.is_lp_normal(phi),
    }
    said = (name.replace("_", "-") if yes else f"not {name.replace('_', '-')}" for name, yes in fragment.items())
    return fragment, f"core-CEL: {', '.join(said)}", core.problems(phi, schema), [], None


def _event_expression(query: str, schema: Schema | None) -> Checked:
    from cerify.equivalence.decide.expressions import shortest_history
    from cerify.semantics.event_expressions import syntax as expr
    from cerify.semantics.event_expressions import wellformed
    from cerify.semantics.event_expressions.parse import parse as parse_expression
    from cerify.semantics.event_expressions.scope import chosen

    E = parse_expression(query)
    definitions = E.definitions if isinstance(E, expr.Let) else ()
    whole = E.body if isinstance(E, expr.Let) else E
    values = bool(chosen(whole, ())) or any(chosen(d.body, d.parameters) for d in definitions)
    fragment = {
        "names": bool(definitions),
        "correlation_variables": any(
            isinstance(F, expr.Exists | expr.Equated | expr.Variable) for F in expr.subexpressions(E)
        ),
        "attribute_variables": values,
    }
    used = ", ".join(name.replace("_", " ") for name, yes in fragment.items() if yes)
    automaton = "an automaton for each value" if values else "a finite automaton"
    summary = f"event expression{f' with {used}' if used else ''}: {automaton}"
    found = wellformed.problems(E, schema)
    try:
        takes_place = shortest_history(E, schema) is not None
    except (Unsupported, BudgetExceeded):
        return fragment, summary, found, [], None
    if not found and not takes_place:
        found = [Problem("never", "it takes place at no event of any history", whole.span)]
    return fragment, summary, found, [], takes_place


def _sase(query: str, schema: Schema | None) -> Checked:
    from cerify.semantics.sase.fragment import beyond_cayuga, beyond_sql_ts, operators, strategies
    from cerify.semantics.sase.parse import parse as parse_sase
    from cerify.semantics.sase.wellformed import problems as problems_of

    q = parse_sase(query)
    fragment: dict[str, Any] = {
        "strategies": sorted(strategies(q)),
        "operators": sorted(operators(q)),
        "beyond_sql_ts": beyond_sql_ts(q),
        "beyond_cayuga": beyond_cayuga(q),
    }
    lines = [f"SASE+: {', '.join([*fragment['strategies'], *fragment['operators']])}"]
    for name, why in (("SQL-TS", fragment["beyond_sql_ts"]), ("Cayuga", fragment["beyond_cayuga"])):
        lines.append(f"not of {name}: {'; '.join(why)}" if why else f"of {name} too")
    return fragment, "\n".join(lines), problems_of(q, schema), [], None


CHECKS: Mapping[str, Callable[[str, Schema | None], Checked]] = {
    "cel": _cel,
    "core-cel": _core_cel,
    "event-expression": _event_expression,
    "sase": _sase,
}
