"""cerify vectors: write streams on which every wrong implementation of bounded size gives a wrong answer.

Each kind of query has a generator of tests of its own: formulas of CEL a complete test of bounded size, rules and
clauses tests that detect single changes. The command chooses the generator. Tests of formulas are written as cases for
`cerify conform --suite`, other tests as lines of logs or tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from cerify.api import match, parse
from cerify.automata.cea.compile import compilable
from cerify.commands.equiv import has_empty_text
from cerify.commands.options import (
    OUTPUT,
    AtLeast,
    dialect_option,
    language_option,
    reading_option,
    schema_of,
)
from cerify.commands.rules import with_rule_of
from cerify.conformance.cases import line_of_case
from cerify.conformance.model import Case
from cerify.equivalence.complete_tests import keyed_tests, marked_dfa, vectors
from cerify.equivalence.generate.row_tests import show_test
from cerify.languages import language_named
from cerify.languages.language import Explanations
from cerify.semantics.errors import errors_in
from cerify.semantics.events import Schema, Stream
from cerify.semantics.files import write_whole
from cerify.semantics.json_events import json_of_event, json_of_schema
from cerify.semantics.row_pattern.dialects import SqlDialect, dialect_named
from cerify.semantics.row_pattern.syntax import MatchRecognize
from cerify.semantics.values import ValueType, value_type_of
from cerify.terminal import echo


@click.command("vectors")
@click.argument("query")
@click.option(
    "--states", type=AtLeast(1), help="The most states of the implementations tested.  [default: those of the query]"
)
@click.option("--schema", "schema_text", metavar="JSON|FILE", help="Use only events of this schema.")
@click.option("--out", type=OUTPUT, help="Write the cases to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print the cases without the summary.")
@click.option(
    "--sql", is_flag=True, help="MATCH_RECOGNIZE: print SELECTs over the tables, in the dialect of QUERY, to paste."
)
@dialect_option
@reading_option
@language_option
def vectors_command(
    query: str,
    states: int | None,
    schema_text: str | None,
    out: Path | None,
    as_json: bool,
    language: str,
    sql: bool,
    dialect: str | None,
    readings: tuple[str, ...],
) -> int:
    """Write a complete test of QUERY, a formula of CEL: streams with their matches, as cases for `conform --suite`.

    The test covers engines that behave like a deterministic automaton of at most --states states and get conditions on
    one event right. If such an engine is wrong on some stream, it is wrong on a stream of the test. Of all events that
    satisfy the same conditions, the test uses one. If the query has partitions or time windows around whole matches,
    the automaton also reads which events have the same key as the last event, and how near to it they are.

    For a rule in EQL, given by its text or a file .eql or .toml, or rules of Sigma, given by a file .yml, the test has
    logs of documents. They detect rules that differ from the given rule in one place; the last lines say how many of
    those tried, and which ones no log detects. Each line has the log, the expected matches or alerts, and the
    differences that the log detects. For a clause of MATCH_RECOGNIZE, or a SELECT with a clause, the test has tables
    instead of logs, with the expected rows.
    """
    query, language = with_rule_of(query, language, dialect=dialect, readings=readings, schema=schema_text)
    schema = None if schema_text is None else schema_of(schema_text, language=language)
    if type(language_named(language).explanations).test_logs is not Explanations.test_logs:
        written = dialect_named(dialect or "standard") if sql else None
        return _logs(query, language, schema, out, as_json, written)
    if sql:
        raise click.UsageError("--sql is only for queries in MATCH_RECOGNIZE; leave it out")
    with errors_in(query):
        phi = parse(query)
        if compilable(phi):
            automaton = marked_dfa(phi, schema)
            own, kinds, seen = len(automaton.steps), len(automaton.events), ""
            words = vectors(automaton, states)
            streams = [Stream([automaton.events[type_] for type_ in types], schema) for types in words]
        else:
            tests = keyed_tests(phi, schema)
            own, kinds, seen = tests.states, tests.kinds, ", as the last event sees them"
            streams = tests.streams(states)
        lines = [line_of_case(_case(query, number, S, schema)) for number, S in enumerate(streams, start=1)]
    _write_lines(lines, out)
    if not as_json:
        echo(
            f"{len(streams)} streams of {sum(map(len, streams))} events; the query has {own} states over {kinds} kinds "
            f"of events{seen}; complete for implementations of at most {states or own} states",
            error=True,
        )
    return 0


def _write_lines(lines: Iterable[str], out: Path | None) -> None:
    """Write the lines to a file, or print them."""
    if out is None:
        for line in lines:
            echo(line)
    else:
        write_whole(out, "".join(f"{line}\n" for line in lines))


def _logs(
    query: str, language: str, schema: Schema | None, out: Path | None, as_json: bool, dialect: SqlDialect | None
) -> int:
    """Write logs or tables that detect rules that differ from the query in one place; return the exit status.

    With a dialect, write them as SQL.
    """
    with errors_in(query):
        lang = language_named(language)
        tree = lang.syntax.parse(query)
        if schema is not None:
            lang.syntax.require_typed(tree, schema)
        found = lang.explanations.test_logs(tree, schema)
        lines = [json.dumps(line, ensure_ascii=False) for line in found.lines]
        if dialect is not None:
            if not isinstance(tree, MatchRecognize):
                raise click.UsageError("--sql is only for queries in MATCH_RECOGNIZE; leave it out")
            types = dict(schema.attributes if schema is not None else ())
            for row_ in (event.attributes for S in found.tables for event in S):
                types |= {name: value_type_of(value) for name, value in row_.items() if name not in types}
            pairs = list(zip(found.lines, found.tables, strict=True))
            if dialect.empty_is_null:
                pairs, asked = [(line, S) for line, S in pairs if not has_empty_text(S)], len(pairs)
                if len(pairs) < asked:
                    left_out = f"{asked - len(pairs)} tables with an empty text, which is NULL in {dialect.title}"
                    echo(f"cerify: note: left out: {left_out}", error=True)
            lines = [_sql_of_test(tree, line, S, dialect, types) for line, S in pairs]
    _write_lines(lines, out)
    if not as_json:
        for words in found.summary:
            echo(words, error=True)
    return 0


def _sql_of_test(
    q: MatchRecognize, line: Mapping[str, Any], S: Stream, dialect: SqlDialect, types: Mapping[str, ValueType]
) -> str:
    """Return a SELECT over a table of `test_logs`; comments have the expected rows and the differences it detects."""
    expected = line["expected"]
    shown = "; ".join(", ".join("NULL" if value is None else str(value) for value in row) for row in expected["rows"])
    comments = [f"-- finds out: {words}" for words in line["kills"]]
    comments += [f"-- expected ({', '.join(expected['columns'])}): {shown or 'no row'}"]
    return "\n".join((*comments, show_test(q, S, dialect, types), ""))


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
