"""cerify misses: how far the sequences of a query came, and what the others lacked."""

from __future__ import annotations

import json
from dataclasses import dataclass

import click

from cerify.api import read_query
from cerify.commands.options import EVENTS, AtLeast, FileSource, argument, group, language, option, takes
from cerify.commands.rules import with_rule_of
from cerify.explanations.near_misses import NearMissReport
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import errors_in
from cerify.semantics.values import plain
from cerify.terminal import Line, echo, echo_lines, table_lines


@dataclass(frozen=True)
class MissesArguments:
    """The options of a call."""

    query: str = argument()
    file: tuple[str, ...] = argument(type=EVENTS, nargs=-1, required=True)
    language: str = language()
    limit: int = option(
        "--limit", type=AtLeast(1), default=20, metavar="N", help="List N near misses, the deepest first."
    )
    time_limit: float | None = option(
        "--time-limit",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="Stop with an error after so long.",
    )
    source: FileSource = group(FileSource)
    as_json: bool = option("--json", is_flag=True, help="Print one JSON object.")


@click.command()
@takes(MissesArguments)
def misses_command(args: MissesArguments) -> int:
    """Print how far the sequences of QUERY came over the events in FILE, step by step.

    Of each event that takes the first step and did not complete, the steps that it took and the cause. QUERY is a
    sequence of single events, with windows, keys and UNLESS, or a sequence in EQL, by its text or a file .eql or .toml;
    FILE is CSV, JSON Lines, Parquet or Arrow IPC.

    Exit status: 0 if a sequence completed, 1 if none did, 2 on an error.
    """
    query, language_ = with_rule_of(args.query, args.language)
    lang, tree = read_query(query, language_, args.source.schema_for(language_))
    budget = Budget(seconds=args.time_limit)
    with errors_in(query), budget.timed():
        funnel = lang.explanations.near_misses(
            tree, args.source.read_for(query, language_, args.file), args.limit, budget
        )
    if args.as_json:
        echo(json.dumps(funnel.json(), ensure_ascii=False))
    else:
        for line in funnel.show_sentences():
            echo(line)
        if funnel.misses:
            echo_lines(_table(funnel))
        if funnel.left_out:
            echo(f"and {funnel.left_out:,} more; --limit N lists more")
    return 0 if funnel.completed else 1


def _table(funnel: NearMissReport) -> list[Line]:
    names = list(dict.fromkeys(name for miss in funnel.misses for name in miss.key))
    rows = [
        (
            str(miss.start),
            *(str(plain(miss.key.get(name, ""))) for name in names),
            f"{miss.depth} of {len(funnel.steps)}",
            ", ".join(map(str, miss.events)),
            miss.message,
        )
        for miss in funnel.misses
    ]
    return table_lines(("start", *names, "steps", "events", "what is missing"), rows)
