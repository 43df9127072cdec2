"""cerify explain: why something matched, or why it did not."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import click

from cerify.api import read_query
from cerify.automata.evaluator import Output
from cerify.commands.files import Source, warn_of_never
from cerify.commands.options import EVENTS, OUTPUT, AtLeast, Choice, argument, group, language, option, takes
from cerify.explanations.explainer import Explainer, Request
from cerify.explanations.text import explanation_lines, listing_lines
from cerify.semantics.arguments import short_repr
from cerify.semantics.errors import InputError, errors_in
from cerify.semantics.events import ComplexEvent, Valuation
from cerify.semantics.output_files import write_whole
from cerify.terminal import echo, echo_lines


@dataclass(frozen=True)
class Arguments:
    """The options of a call."""

    query: str = argument()
    file: str = argument(type=EVENTS)
    language: str = language()
    match_text: str | None = option(
        "--match", metavar="POSITIONS", help="The positions to explain, as in 1,8.  [default: matches]"
    )
    valuation_text: str | None = option(
        "--valuation",
        metavar="JSON",
        help='Explain one valuation of a match: what each variable binds, as {"T": [1], "H": [8]}.',
    )
    output: Output = option(
        "--output",
        type=Choice(get_args(Output)),
        default="matches",
        help="Without --match: explain each match, or each valuation of each.",
    )
    at: int | None = option(
        "--at", type=int, metavar="N", help="Where it is reported.  [default: the last of POSITIONS]"
    )
    derivations: int = option("--derivations", type=AtLeast(1), default=1, metavar="N", help="With --match.")
    limit: int = option("--limit", type=AtLeast(1), default=10, metavar="N", help="Without --match.")
    source: Source = group(Source)
    as_json: bool = option("--json", is_flag=True, help="Print one JSON object.")
    html_file: Path | None = option("--html", type=OUTPUT, metavar="FILE", help="Write a page.")


@click.command()
@takes(Arguments)
def command(args: Arguments) -> int:
    """Explain why positions of FILE are a match of QUERY, or why they are not.

    With --valuation, why its variables bind what they bind. Without either, explain the matches of the stream in their
    order. Of an event expression, explain the event --at N; of a query of SASE+ the runs that bind the positions. FILE
    is CSV, JSON Lines, Parquet or Arrow IPC; - is standard input. Positions count from 0.

    Exit status: 0 if it is a match, 1 if it is not (of a whole stream: if there is none), 2 on an error.
    """
    query, match_text, valuation_text = args.query, args.match_text, args.valuation_text
    lang, tree = read_query(query, args.language, args.source.schema)
    if lang.answer and (valuation_text is not None or args.output != "matches"):
        raise click.UsageError(f"{lang.answer}; it has no valuations")
    with errors_in(query):
        explainer = lang.explainer(tree, args.source.read_for(query, args.language, args.file), query)
        request = Request(
            None if match_text is None else positions(match_text, explainer),
            None if valuation_text is None else valuation(valuation_text, explainer),
            args.at,
            args.derivations,
            args.limit,
            args.output,
        )
        found = explainer.one(request)
        listing = explainer.all(request) if found is None else None
        shown = [found] if listing is None else listing.found
        if args.html_file is not None:
            from cerify.explanations.html import render

            write_whole(args.html_file, render(explainer, shown, listing))
        if args.as_json:
            answer = explainer.json(found) if listing is None else explainer.listing_json(listing)
            echo(json.dumps(answer, ensure_ascii=False))
        else:
            echo_lines(explanation_lines(explainer, found) if listing is None else listing_lines(explainer, listing))
        if shown and explainer.view(shown[0]).matched:
            return 0
        warn_of_never(lang, tree, args.source.schema, query)
        return 1


def positions(text: str, explainer: Explainer[Any]) -> ComplexEvent:
    """The positions that --match names. Raises InputError."""
    places: list[int] = []
    for part in text.split(",") if text.strip() else ():
        if not re.fullmatch(r"\s*[0-9]{1,40}\s*", part):  # of more than 4,300 digits Python makes no number
            raise InputError(
                f"--match takes positions from 0 with commas between them, as in 1,8; not {short_repr(part.strip())}"
            )
        explainer.require_on_stream(int(part), "--match")
        places.append(int(part))
    if places != sorted(set(places)):
        raise InputError(f"--match takes each position once, going up: {','.join(map(str, sorted(set(places))))}")
    return frozenset(places)


def valuation(text: str, explainer: Explainer[Any]) -> Valuation:
    """The valuation that --valuation writes. Raises InputError."""
    try:
        read_ = json.loads(text)
    except (ValueError, RecursionError):
        read_ = None
    wrong = '--valuation takes a JSON object of variables and the positions that each binds, as in {"T": [1], "H": [8]}'
    if not isinstance(read_, dict):
        raise InputError(wrong)
    for places in read_.values():
        if not isinstance(places, list) or any(type(p) is not int for p in places):
            raise InputError(wrong)
        for p in places:
            explainer.require_on_stream(p, "--valuation")
    return frozenset((A, p) for A, places in read_.items() for p in places)
