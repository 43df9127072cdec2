"""cerify misses: show how far each start of a sequence came, and which step incomplete sequences lacked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from cerify.api import read_query
from cerify.commands.options import (
    EVENTS,
    OUTPUT,
    AtLeast,
    FileSource,
    argument,
    format_of,
    group,
    language,
    option,
    parse_attributes,
    takes,
)
from cerify.commands.rules import with_rule_of
from cerify.explanations.near_misses import MISSES, NearMissReport
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import errors_in
from cerify.semantics.events import Match
from cerify.semantics.files import write_bytes
from cerify.semantics.match_frames import MatchColumns, shown_cell, written_table
from cerify.semantics.values import plain
from cerify.terminal import Line, echo, echo_lines, table_lines

SHOWN = 20  # the most near misses in a table on the terminal


@dataclass(frozen=True)
class MissesArguments:
    """The arguments and options of `cerify misses`."""

    query: str = argument()
    file: tuple[str, ...] = argument(type=EVENTS, nargs=-1, required=True)
    language: str = language()
    limit: int | None = option(
        "--limit",
        type=AtLeast(1),
        metavar="N",
        help="List N near misses, the deepest first.  [default: 20, or 1,000 in a file]",
    )
    time_limit: float | None = option(
        "--time-limit",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="Stop with an error after this time.",
    )
    source: FileSource = group(FileSource)
    show: str | None = option(
        "--show", metavar="ATTRIBUTES", help="Show these attributes of the events of near misses, such as time,amount."
    )
    out: Path | None = option(
        "-o", type=OUTPUT, metavar="FILE", help="Write the near misses to a file (.csv, .parquet, .jsonl)."
    )
    as_json: bool = option("--json", is_flag=True, help="Print one JSON object.")


@click.command()
@takes(MissesArguments)
def misses_command(args: MissesArguments) -> int:
    """Print how far the sequences of QUERY came over the events in FILE, step by step.

    For each event that takes the first step without completing the sequence, print the steps taken and the cause. QUERY
    is a sequence of single events, with windows, keys and UNLESS, or a sequence in EQL, by its text or a file .eql or
    .toml. FILE is CSV, JSON Lines, Parquet or Arrow IPC.

    Exit status: 0 if a sequence completed, 1 if none did, 2 on an error.
    """
    query, language_ = with_rule_of(args.query, args.language)
    lang, tree = read_query(query, language_, args.source.schema_for(language_))
    budget = Budget(seconds=args.time_limit)
    limit = args.limit or (SHOWN if args.out is None else MISSES)
    format_ = None if args.out is None else format_of(args.out)
    with errors_in(query), budget.timed():
        S = args.source.read_for(query, language_, args.file)
        funnel = lang.explanations.near_misses(tree, S, limit, budget)
    names = parse_attributes(args.show)
    matches = [Match(miss.start, miss.events) for miss in funnel.misses]
    shown = {} if names is None and args.out is None else MatchColumns(matches, S, names).columns_of_attributes()
    if args.out is not None and format_ is not None:
        write_bytes(args.out, written_table(_columns(funnel) | shown, format_))
    if args.as_json:
        echo(json.dumps(funnel.json(), ensure_ascii=False))
    else:
        for line in funnel.show_sentences():
            echo(line)
        if funnel.misses and args.out is None:
            echo_lines(_table(funnel, shown))
        if funnel.left_out:
            echo(f"and {funnel.left_out:,} more; --limit N lists more")
    if args.out is not None:
        number = len(funnel.misses)
        echo(f"{number:,} near miss{'' if number == 1 else 'es'} written to {args.out}", error=True)
    return 0 if funnel.completed else 1


def _columns(funnel: NearMissReport) -> dict[str, list[Any]]:
    """Return the near misses as the columns of a table, with a column for each attribute of the key."""
    misses = funnel.misses
    names = dict.fromkeys(name for miss in misses for name in miss.key)
    return {
        "start": [miss.start for miss in misses],
        **{name: [miss.key.get(name) for miss in misses] for name in names},
        "steps": [miss.depth for miss in misses],
        "events": [list(miss.events) for miss in misses],
        "missing": [miss.missing for miss in misses],
        "cause": [miss.cause for miss in misses],
        "event": [miss.event for miss in misses],
        "message": [miss.message for miss in misses],
    }


def _table(funnel: NearMissReport, shown: Mapping[str, Sequence[Any]]) -> list[Line]:
    names = list(dict.fromkeys(name for miss in funnel.misses for name in miss.key))
    rows = [
        (
            str(miss.start),
            *(str(plain(miss.key.get(name, ""))) for name in names),
            f"{miss.depth} of {len(funnel.steps)}",
            ", ".join(map(str, miss.events)),
            *(shown_cell(values[i]) for values in shown.values()),
            miss.message,
        )
        for i, miss in enumerate(funnel.misses)
    ]
    return table_lines(("start", *names, "steps", "events", *shown, "what is missing"), rows)
