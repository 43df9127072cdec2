"""cerify funnel: count how many keys reach each step, and show where the others stop.

`funnels.py` counts; this module turns options into one call of `funnel` and prints tables, JSON or a drawing. The
drawing is made here as plain SVG, because bars need no layout by Graphviz.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from html import escape
from pathlib import Path
from typing import Any, Literal

import click

from cerify.automata.funnels import MODES
from cerify.commands.options import EVENTS, OUTPUT, ChoiceOption, FileSource, argument, group, once, option, takes
from cerify.draw.diagram import document, markup, page
from cerify.funnels import Funnel, StepCount, funnel, show_duration
from cerify.semantics.errors import QueryWarning, Unsupported, shortened
from cerify.semantics.events import TIME
from cerify.semantics.files import STDIN, write_whole
from cerify.terminal import echo, echo_lines, printable, table_lines

MOST_GROUPS = 20
DRAWN = (".svg", ".html")


@dataclass(frozen=True)
class FunnelArguments:
    """The arguments and options of `cerify funnel`."""

    file: str = argument(type=EVENTS)
    steps: tuple[str, ...] = argument(nargs=-1, required=True, metavar="STEP...")
    by: str | None = once(
        "--by",
        metavar="ATTRIBUTE",
        help="The attribute whose values are the keys; without it, all events have one key.",
    )
    within: str | None = once(
        "--within", metavar="WINDOW", help='The longest time from the first step to the last, such as "7 days".'
    )
    start: Literal["best", "first"] = option(
        "--start",
        type=ChoiceOption(["best", "first"]),
        default="best",
        help="first: start at the key's first event of STEP 1; best: at the event that leads furthest.",
    )
    order: Literal["stream", "time", "strict"] = option(
        "--order",
        type=ChoiceOption(["stream", "time", "strict"]),
        default="stream",
        help="The order of the events; strict: by time, and each step must be later than the one before.",
    )
    between: str | None = once(
        "--between", metavar='"not STEP"', help="No such event may occur from the first step to the last."
    )
    mode: str | None = once(
        "--mode", type=ChoiceOption(list(MODES)), help="Compute levels like ClickHouse's windowFunnel in this mode."
    )
    split: str | None = once(
        "--split", metavar="ATTRIBUTE", help="Print a table for each value of this attribute at the first step."
    )
    why: str | None = once("--why", metavar="KEY", help="Explain how far this key got, and why no further.")
    output: Path | None = option(
        "--output", "-o", type=OUTPUT, help="Write the keys (.csv, .parquet) or a drawing (.svg, .html) to a file."
    )
    as_json: bool = option("--json", is_flag=True, help="Print one JSON object.")
    source: FileSource = group(FileSource)


@click.command()
@takes(FunnelArguments)
def funnel_command(args: FunnelArguments) -> int:
    """Count how many keys do STEP, then STEP, … in the events of FILE, and show where the others stop.

    A STEP is an event type, as view, a type with a condition, as "view[price > 3]", or a condition on events of any
    type, as "[price > 3]". FILE is CSV, JSON Lines, Parquet or Arrow IPC; - is standard input.

    Exit status: 0 if a key reached the last step, 1 if none did, 2 on an error.
    """
    suffix = args.output.suffix.lower() if args.output is not None else ""
    if args.output is not None and suffix not in (".csv", ".parquet", *DRAWN):
        raise click.UsageError(f"--output: {args.output} must end in .csv, .parquet, .svg or .html")
    found = _run_funnel(args)
    groups = {} if args.split is None else found.split_by(args.split)
    if args.output is not None:
        if suffix in DRAWN:
            write_whole(args.output, _drawing(args, found, groups, suffix))
        else:
            found.write(args.output, args.split)
    if args.why is not None:
        told = found.why(args.why)
        echo(json.dumps({"key": args.why, "why": told}, ensure_ascii=False) if args.as_json else "\n".join(told))
    elif args.as_json:
        _print_json(args, found, groups)
    else:
        _print_tables(args, found, groups)
    return 0 if found.counts[-1].keys else 1


def _run_funnel(args: FunnelArguments) -> Funnel:
    """Return the funnel. Write warnings to standard error; with --strict the first warning is an error."""
    plain = args.file != STDIN and args.source.is_plain
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("error" if args.source.strict else "always", QueryWarning)
        try:
            found = funnel(
                args.file if plain else args.source.read_stream(args.file),
                args.steps,
                by=args.by,
                within=args.within,
                start=args.start,
                order=args.order,
                between=args.between,
                mode=args.mode,
            )
        except QueryWarning as warning:
            raise Unsupported(warning.message) from None
    for one in issued:
        echo(f"cerify: warning: {shortened(str(one.message))}", error=True)
    return found


def _print_json(args: FunnelArguments, found: Funnel, groups: dict[Any, tuple[StepCount, ...]]) -> None:
    query, reason = _query(found)
    answer: dict[str, Any] = {
        "steps": [count.json() for count in found.counts],
        "keys": found.keys,
        "without_key": found.without_key,
        "without_time": found.without_time,
        "query": query,
        "no_query": reason,
    }
    if args.split is not None:
        answer["split"] = [{"value": value, "steps": [c.json() for c in counts]} for value, counts in groups.items()]
    echo(json.dumps(answer, ensure_ascii=False, default=str))


def _print_tables(args: FunnelArguments, found: Funnel, groups: dict[Any, tuple[StepCount, ...]]) -> None:
    _print_table(args, found, found.counts)
    for value, counts in list(groups.items())[:MOST_GROUPS]:
        echo(printable(_group(args.split, value)))
        _print_table(args, found, counts)
    if len(groups) > MOST_GROUPS:
        echo(f"the {MOST_GROUPS} most frequent of {len(groups)} values of {args.split}; --json has all")
    keys = f"{found.keys} key{'' if found.keys == 1 else 's'}" if args.by else f"{len(found.events)} events"
    left_out = ", ".join(
        f"{count} event{'' if count == 1 else 's'} without {name} left out"
        for count, name in ((found.without_key, args.by), (found.without_time, found.axis_name))
        if count
    )
    echo(f"{keys}{f'; {left_out}' if left_out else ''}")
    query, reason = _query(found)
    echo(f"query: {query}" if reason is None else f"no query: {reason}")


def _print_table(args: FunnelArguments, found: Funnel, counts: Sequence[StepCount]) -> None:
    timed = any(count.median is not None for count in counts)
    rows = []
    for count in counts:
        row = [printable(count.step), str(count.keys), _percent(count.rate), _percent(count.of_previous)]
        rows.append([*row, *([_time(found, count.median)] if timed else [])])
    headings = ["step", printable(args.by or "reached"), "of the first", "of the one before", *["median time"] * timed]
    echo_lines(table_lines(headings, rows, ()))


def _query(found: Funnel) -> tuple[str | None, str | None]:
    """Return the CEL query of the funnel and None, or None and the reason why there is no such query."""
    try:
        return found.query, None
    except Unsupported as error:
        return None, error.message


def _percent(rate: float | None) -> str:
    return "" if rate is None else f"{100 * rate:.1f}%"


def _time(found: Funnel, median: float | None) -> str:
    if median is None:
        return ""
    return show_duration(median) if found.measure == TIME else f"{median:g}"


def _group(attribute: str | None, value: Any) -> str:
    """Return a heading for the keys whose first step has this value of an attribute; a value of None means no value."""
    shown = '""' if value == "" else value
    return f"{attribute} is missing" if value is None else f"{attribute} = {shown}"


def _drawing(args: FunnelArguments, found: Funnel, groups: dict[Any, tuple[StepCount, ...]], suffix: str) -> str:
    title = f"Funnel of {' , '.join(args.steps)}".replace(" , ", ", ")
    asked = [f"by {args.by}"] * (args.by is not None) + [f"within {args.within}"] * (args.within is not None)
    if suffix == ".svg":
        return funnel_document(title, _bars(found, found.counts))
    query, reason = _query(found)
    text = f"{', '.join(asked)}\n{query if reason is None else reason}".strip()
    drawings = [("", _bars(found, found.counts))]
    drawings += [(_group(args.split, value), _bars(found, counts)) for value, counts in groups.items()]
    return funnel_page(title, text, drawings[: MOST_GROUPS + 1])


def _bars(found: Funnel, counts: Sequence[StepCount]) -> list[tuple[str, float, str]]:
    bars = []
    for count in counts:
        said = f"{count.keys:,}"
        if count.rate is not None:
            said += f", {_percent(count.rate)}"
        if count.median is not None:
            said += f", after {_time(found, count.median)}"
        bars.append((count.step, count.rate or 0.0, said))
    return bars


# ---------------------------------------------------------------------------------------------------------------------
# Draw a funnel as bars: the length of each step's bar is the share of the keys that reached the step.

WIDTH, MARGIN, ROW, BAR = 640, 12, 62, 18
LONGEST = 56  # characters of a step's text
STYLES = ("draw/palette.css", "draw/funnel.css")


def funnel_svg(title: str, bars: Sequence[tuple[str, float, str]]) -> str:
    """Return inline SVG of bars: each has the step's text, its share from 0 to 1, and a remark."""
    height = MARGIN + len(bars) * ROW
    described = "; ".join(f"{name}: {said}" for name, _, said in bars)
    # A page may have several drawings, and their ids must be different.
    name = "f" + blake2b(repr((title, bars)).encode(), digest_size=5).hexdigest()
    parts = [
        f'<svg class="funnel" role="img" aria-labelledby="{name}t {name}d" '
        f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
        f'<title id="{name}t">{escape(title)}</title><desc id="{name}d">{escape(described)}</desc>',
    ]
    room = WIDTH - 2 * MARGIN
    for i, (name, share, said) in enumerate(bars):
        y = MARGIN + i * ROW
        shown = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
        parts += [
            f"<g><title>{escape(f'{name}: {said}')}</title>",
            f'<text class="name" x="{MARGIN}" y="{y + 12}">{escape(shown)}</text>',
            f'<rect class="room" x="{MARGIN}" y="{y + 18}" width="{room}" height="{BAR}" rx="3"/>',
            f'<rect class="reached" x="{MARGIN}" y="{y + 18}" width="{room * share:g}" height="{BAR}" rx="3"/>',
            f'<text class="soft" x="{WIDTH - MARGIN}" y="{y + 12}" text-anchor="end">{escape(said)}</text></g>',
        ]
    return "".join((*parts, "</svg>"))


def funnel_document(title: str, bars: Sequence[tuple[str, float, str]]) -> str:
    """Return the text of an SVG file of the bars."""
    return document(funnel_svg(title, bars), STYLES)


def funnel_page(title: str, query: str, drawings: Sequence[tuple[str, Sequence[tuple[str, float, str]]]]) -> str:
    """Return a self-contained page: the query of the funnel, and for each drawing its heading, bars and a table."""
    drawn = [(heading, markup(funnel_svg(heading or title, bars)), bars) for heading, bars in drawings]
    return page("draw/funnel.html", title=title, query=query, drawings=drawn)
