"""cerify count: count the matches of a query over files of events."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import click

from cerify.api import count, read_query
from cerify.commands.options import EVENTS, FileSource, argument, echoed_warnings, group, language, option, takes
from cerify.commands.rules import with_rule_of
from cerify.languages import language_named
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import errors_in
from cerify.terminal import echo


@dataclass(frozen=True)
class CountArguments:
    """The arguments and options of `cerify count`."""

    query: str = argument()
    file: tuple[str, ...] = argument(type=EVENTS, nargs=-1, required=True)
    language: str = language()
    source: FileSource = group(FileSource)
    time_limit: float | None = option(
        "--time-limit",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="Stop with an error after this time.",
    )
    as_json: bool = option("--json", is_flag=True, help="Print an object with the number, as JSON.")


@click.command()
@takes(CountArguments)
def count_command(args: CountArguments) -> int:
    """Print how many matches QUERY has over the events in FILE.

    Matches are counted without being listed if an evaluator supports that. QUERY may also be a rule in EQL, given as a
    file .eql or .toml.

    Exit status: 0 if something matched, 1 if nothing did, 2 on an error.
    """
    budget = Budget(seconds=args.time_limit)
    text, language_ = with_rule_of(args.query, args.language)
    _, tree = read_query(text, language_, args.source.schema_for(language_))
    with errors_in(text), budget.timed():
        plain = args.source.is_parquet(args.file)
        with echoed_warnings(text):
            events: Any = args.file if plain else args.source.read_in(language_named(language_), args.file)
            number = count(tree, events, strict=args.source.strict, budget=budget)
    echo(json.dumps({"count": number}) if args.as_json else str(number))
    return 0 if number else 1
