"""cerify explain: why something matched, or why it did not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import click

from cerify.commands.files import Source, reads_events, write
from cerify.explain.explanation import (
    Derived,
    Explanation,
    Output,
    Step,
    as_json,
    explain,
    explain_stream,
    steps,
    steps_as_json,
)
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.show import show
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.cel.wellformed import require_typed
from cerify.semantics.errors import InputError, errors_in
from cerify.semantics.events import ComplexEvent, Schema, Stream, Valuation, bindings_of


@click.command()
@click.argument("query")
@click.argument("file")
@click.option("--language", type=click.Choice(["cel", "event-expression", "sase"]), default="cel", show_default=True)
@click.option(
    "--match", "match_text", metavar="POSITIONS", help="The positions to explain, as in 1,8.  [default: matches]"
)
@click.option(
    "--valuation",
    "valuation_text",
    metavar="JSON",
    help='Explain one valuation of a match: what each variable binds, as {"T": [1], "H": [8]}.',
)
@click.option(
    "--output",
    type=click.Choice(get_args(Output)),
    default="matches",
    show_default=True,
    help="Without --match: explain each match, or each valuation of each.",
)
@click.option("--at", type=int, metavar="N", help="Where it is reported.  [default: the last of POSITIONS]")
@click.option(
    "--derivations", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="With --match."
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Without --match."
)
@reads_events
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--html", "html_file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a page."
)
def command(language: str, output: Output, **given: Any) -> int:
    """Explain why positions of FILE are a match of QUERY, or why they are not.

    With --valuation, why its variables bind what they bind. Without either, explain the matches of the stream in their
    order. Of an event expression, explain the event --at N; of a query of SASE+ the runs that bind the positions. FILE
    is CSV, JSON Lines, Parquet or Arrow IPC; - is standard input. Positions count from 0.

    Exit status: 0 if it is a match, 1 if it is not (of a whole stream: if there is none), 2 on an error.
    """
    asked = _Asked(language=language, **given)
    schema = asked.source.schema
    match language:
        case "event-expression":
            if asked.valuation_text is not None or output != "matches":
                raise click.UsageError("an event expression has no valuations")
            return _expression(asked, schema)
        case "sase":
            return _sase(asked, schema)
        case _:
            return _cel(asked, schema, output)


@dataclass(frozen=True)
class _Asked:
    """What is to be explained, and how it is to be shown: the options that all languages have."""

    query: str
    language: str
    file: str
    source: Source
    match_text: str | None
    valuation_text: str | None
    at: int | None
    derivations: int
    limit: int
    as_json: bool
    html_file: Path | None

    def stream(self) -> Stream:
        """The events."""
        return self.source.read_for(self.query, self.language, self.file)


def _cel(asked: _Asked, schema: Schema | None, output: Output) -> int:
    phi, at = parse(asked.query), asked.at
    with errors_in(asked.query):
        if schema is not None:
            require_typed(phi, schema)
        S = asked.stream()
        if at is not None:
            _require_on(S, at, "--at")
        if asked.match_text is None and asked.valuation_text is None:
            return _stream(phi, S, asked, output)
        mu = None if asked.valuation_text is None else valuation(asked.valuation_text, S)
        events = positions(asked.match_text, S) if asked.match_text is not None else sup(mu or frozenset())
        if at is None and not events:
            raise InputError("the match of no event needs --at: it has no last event to be reported at")
        n = max(events) if at is None else at
        return _one(phi, S, explain(phi, S, events, n, valuation=mu, count=asked.derivations), asked)


def _expression(asked: _Asked, schema: Schema | None) -> int:
    """Explain an event of an event expression, or each of those at which it takes place."""
    from cerify.explain import occurring
    from cerify.explain.occurring_html import render
    from cerify.semantics.event_expressions import wellformed
    from cerify.semantics.event_expressions.parse import parse as parse_expression

    E, at, limit = parse_expression(asked.query), asked.at, asked.limit
    with errors_in(asked.query):
        if schema is not None:
            wellformed.require_typed(E, schema)
        S = asked.stream()
        if asked.match_text is not None:
            places = positions(asked.match_text, S)
            if len(places) != 1 or (at is not None and places != {at}):
                raise InputError("an event expression takes place at single events: give --match one position")
            (at,) = places
        if at is not None:
            _require_on(S, at, "--at")
            found = occurring.explain_event(E, S, at, asked.derivations)
            if asked.html_file is not None:
                write(asked.html_file, render(E, S, [found]))
            if asked.as_json:
                _print_json(occurring.as_json(found, E))
            else:
                occurring.print_event(found, E, S, _console())
            return 0 if isinstance(found, occurring.TakesPlace) else 1
        listed = list(islice(occurring.explain_events(E, S), limit + 1))
        if asked.html_file is not None:
            walked = listed[limit - 1].at + 1 if len(listed) > limit else len(S)
            write(asked.html_file, render(E, S, listed[:limit], len(listed) > limit, walked))
        if not asked.as_json:
            return 0 if occurring.print_events(listed, E, S, limit, _console()) else 1
        matches = [occurring.as_json(one, E) for one in listed[:limit]]
        _print_json({"query": asked.query, "matches": matches, "more": len(listed) > limit})
        return 0 if listed else 1


def _sase(asked: _Asked, schema: Schema | None) -> int:
    """Explain a match of a query of SASE+, or each of its matches; positions are those of the stream that it reads."""
    from cerify.explain import running
    from cerify.explain.running_json import as_json
    from cerify.explain.running_text import print_found, print_matches
    from cerify.languages import LANGUAGES

    q, at = LANGUAGES["sase"].parse(asked.query), asked.at
    with errors_in(asked.query):
        if schema is not None:
            LANGUAGES["sase"].require_typed(q, schema)
        known = running.Explainer(q, asked.stream())
        mu = None if asked.valuation_text is None else bindings_of(valuation(asked.valuation_text, known.S))
        if asked.match_text is not None or mu is not None:
            bound = frozenset(p for _, places in mu or () for p in places)
            events = positions(asked.match_text or "", known.S) or bound
            if at is not None and events and at != max(events):
                raise InputError(f"a match of SASE+ is reported at its last event, {max(events)}, not at {at}")
            found = known.explain(events, mu, asked.derivations)
            shown: list[Any] = [found]
            if asked.as_json:
                _print_json(as_json(found, q))
            else:
                print_found(found, _console())
        else:
            listed = [one for one in known.all() if at is None or one.match.at == at]
            shown = listed[: asked.limit]
            if asked.as_json:
                matches = [as_json(one, q) for one in shown]
                _print_json({"query": asked.query, "matches": matches, "more": len(listed) > asked.limit})
            else:
                print_matches(shown, len(listed), known, _console())
        if asked.html_file is not None:
            from cerify.explain.running_html import render

            write(asked.html_file, render(known, shown))
        return 0 if shown and isinstance(shown[0], running.Accepted) else 1


def positions(text: str, S: Stream) -> ComplexEvent:
    """The positions that --match names. Raises InputError."""
    places: list[int] = []
    for part in text.split(",") if text.strip() else ():
        if not part.strip().isascii() or not part.strip().isdecimal():
            raise InputError(
                f"--match takes positions from 0 with commas between them, as in 1,8; not {part.strip()!r}"
            )
        _require_on(S, int(part), "--match")
        places.append(int(part))
    if places != sorted(set(places)):
        raise InputError(f"--match takes each position once, going up: {','.join(map(str, sorted(set(places))))}")
    return frozenset(places)


def valuation(text: str, S: Stream) -> Valuation:
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
            _require_on(S, p, "--valuation")
    return frozenset((A, p) for A, places in read_.items() for p in places)


def _require_on(S: Stream, position: int, option: str) -> None:
    if not 0 <= position < len(S):
        extent = f"{len(S)} events, 0 to {len(S) - 1}" if len(S) else "no events"
        raise InputError(f"{option}: position {position} is not on the stream, which has {extent}")


def _one(phi: Formula, S: Stream, explanation: Explanation, asked: _Asked) -> int:
    if asked.html_file is not None:
        _write(asked.html_file, phi, S, [explanation], False)
    if asked.as_json:
        _print_json(as_json(explanation, phi))
    else:
        from cerify.explain.text import print_explanation

        print_explanation(explanation, S, _console())
    return 0 if isinstance(explanation, Derived) else 1


def _stream(phi: Formula, S: Stream, asked: _Asked, output: Output) -> int:
    limit, (first, last) = asked.limit, (0, len(S) - 1) if asked.at is None else (asked.at, asked.at)
    found = list(islice(explain_stream(phi, S, first, last, output=output), limit + 1))
    more = len(found) > limit  # then what comes after the last one that is shown is not known
    walked = steps(found[:limit], first, found[limit - 1].at if more else last)
    if asked.html_file is not None:
        _write(asked.html_file, phi, S, found[:limit], more, walked)
    if asked.as_json:
        matches = [as_json(explanation, phi) for explanation in found[:limit]]
        _print_json({"query": show(phi), "steps": steps_as_json(walked), "matches": matches, "more": more})
    else:
        from cerify.explain.text import print_stream

        print_stream(found, S, limit, _console(), first, last)
    return 0 if found else 1


def _write(path: Path, phi: Formula, S: Stream, found: list[Any], more: bool, walked: Sequence[Step] = ()) -> None:
    from cerify.explain.html import render

    write(path, render(phi, S, found, more, walked))


def _print_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, ensure_ascii=False))


def _console() -> Any:
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False)
    # into a pipe lines are as long as they need to be
    return console if console.is_terminal else Console(highlight=False, width=1000)
