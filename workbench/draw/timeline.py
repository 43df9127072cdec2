"""Draw a stream as a timeline, with complex events marked on it, as inline SVG.

First the drawing: cards for events in a row, and below them a line of dots for each match. Positions that no line
mentions are left out, because a stream may have millions. Then the functions that make these rows from a stream and its
matches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from itertools import pairwise
from typing import Literal

from cerify.draw.diagram import document
from cerify.semantics.events import Match, Stream
from cerify.semantics.predicates import show_value
from cerify.semantics.values import Value, show_time

Presence = Literal["common", "missing", "extra"]
"""Who reports a complex event: both the reference evaluator and the engine, or only one of them."""


@dataclass(frozen=True)
class TimelineColumn:
    """An event on a timeline: its position, a title (its type), and a line for each value."""

    position: int
    title: str
    lines: Sequence[str] = ()


@dataclass(frozen=True)
class Row:
    """A complex event on a timeline: a dot at each of its positions, a flag where it is reported, and a caption.

    A row may also show positions that do not form one complex event, such as those at which an event expression takes
    place. Then there is no line between them, and `at` is None.
    """

    kind: Presence
    positions: Sequence[int]
    at: int | None
    caption: str


# All lengths in CSS pixels. The text is monospaced: at 12 px a character takes 7.3 at most.
CHARACTER = 7.3
LONGEST = 25  # characters of a card's line, enough for a time; a longer line is cut, and is complete in the tooltip
PADDING = 8
BETWEEN = 10  # from card to card
GAP = 46  # where positions are left out
LINE = 16
TOP = 22  # above the cards, for the positions
ROW = 46
MARGIN = 4


def timeline(columns: Sequence[TimelineColumn], rows: Sequence[Row] = ()) -> str:
    """Return the SVG of a stream's events, left to right by position, and below them one row for each complex event.

    Columns may omit positions; the drawing shows how many. A row's positions without a column are not drawn but named
    in its caption. Colours and fonts are those of timeline.css, which the page must include.
    """
    texts = (text for column in columns for text in (column.title, *column.lines))
    card = max(56, max((min(len(text), LONGEST) for text in texts), default=0) * CHARACTER + 2 * PADDING)
    centre, width = _places(columns, card)
    width = max(width, max((_width(_caption(row, centre)) for row in rows), default=0) + 2 * MARGIN)
    height = TOP + (1 + max((len(column.lines) for column in columns), default=0)) * LINE + 2 * PADDING
    bottom = height + len(rows) * ROW + (MARGIN if rows else 0)
    parts = [
        f'<svg class="timeline" role="img" '
        f'aria-label="{escape(_description(columns, rows))}" '
        f'width="{width:g}" height="{bottom:g}" viewBox="0 0 {width:g} {bottom:g}">',
        f'<path class="axis" d="M0 {TOP + PADDING + LINE / 2:g}H{width:g}"/>',
        *(_gap(a, b, centre) for a, b in pairwise(columns) if b.position > a.position + 1),
        *(_card(column, centre[column.position], card, height, bottom) for column in columns),
        *(_row(row, centre, height + i * ROW, width) for i, row in enumerate(rows)),
        "</svg>",
    ]
    return "".join(parts)


def _places(columns: Sequence[TimelineColumn], card: float) -> tuple[dict[int, float], float]:
    """Return the middle of each position's card, and the width of the whole timeline. card: the width of a card."""
    centre: dict[int, float] = {}
    x, previous = float(MARGIN), None
    for column in columns:
        if previous is not None and column.position > previous + 1:
            x += GAP
        centre[column.position] = x + card / 2
        x += card + BETWEEN
        previous = column.position
    return centre, x + MARGIN + 8


def _card(column: TimelineColumn, x: float, card: float, height: float, bottom: float) -> str:
    left = x - card / 2
    lines = (
        f'<text class="value" x="{left + PADDING:g}" y="{TOP + PADDING + 12 + (i + 1) * LINE:g}">{_cut(line)}</text>'
        for i, line in enumerate(column.lines)
    )
    whole = "\n".join((f"position {column.position}", column.title, *column.lines))
    return (
        f'<g><title>{escape(whole)}</title><path class="guide" d="M{x:g} {height:g}V{bottom:g}"/>'
        f'<text class="position" x="{x:g}" y="14">{column.position}</text>'
        f'<rect class="event" x="{left:g}" y="{TOP}" width="{card:g}" height="{height - TOP - PADDING / 2:g}" rx="5"/>'
        f'<text class="type" x="{left + PADDING:g}" y="{TOP + PADDING + 12}">{_cut(column.title)}</text>'
        f"{''.join(lines)}</g>"
    )


def _gap(a: TimelineColumn, b: TimelineColumn, centre: Mapping[int, float]) -> str:
    x, left_out = (centre[a.position] + centre[b.position]) / 2, b.position - a.position - 1
    return (
        f"<g><title>{left_out} events left out</title>"
        f'<text class="gap" x="{x:g}" y="{TOP + PADDING + 4}">{left_out}</text>'
        f'<text class="gap" x="{x:g}" y="{TOP + PADDING + 24}">more</text></g>'
    )


def _row(row: Row, centre: Mapping[int, float], top: float, width: float) -> str:
    y = top + 31
    dots = [centre[p] for p in sorted(row.positions) if p in centre]
    ends = dots + ([centre[row.at] + 15] if row.at is not None and row.at in centre else [])
    caption = _caption(row, centre)
    beginning = MARGIN if row.at is None else min(ends, default=MARGIN) - 7
    x = max(MARGIN, min(beginning, width - _width(caption) - MARGIN))
    parts = [f'<g class="{row.kind}">', f'<text class="caption" x="{x:g}" y="{top + 14:g}">{escape(caption)}</text>']
    if ends and row.at is not None:
        parts.append(f'<path class="join" d="M{min(ends):g} {y:g}H{max(ends):g}"/>')
    if row.at is not None and row.at in centre:
        flag = centre[row.at] + 15
        parts.append(f'<path class="flag" d="M{flag:g} {y + 8:g}V{y - 9:g}l9 4.5l-9 4.5"/>')
    parts.extend(_dot(row.kind, x, y) for x in dots)
    return "".join((*parts, "</g>"))


def _dot(kind: Presence, x: float, y: float) -> str:
    """Return a full circle, a ring or a diamond: the kinds differ in shape, not in colour alone."""
    if kind == "extra":
        return f'<path class="dot" d="M{x:g} {y - 8:g}l8 8l-8 8l-8 -8z"/>'
    return f'<circle class="dot" cx="{x:g}" cy="{y:g}" r="6"/>'


def _caption(row: Row, centre: Mapping[int, float]) -> str:
    beyond = sorted({p for p in (*row.positions, row.at) if p is not None and p not in centre})
    if not beyond:
        return row.caption
    return f"{row.caption} (not on the stream: {', '.join(map(str, beyond))})"


def _description(columns: Sequence[TimelineColumn], rows: Sequence[Row]) -> str:
    """Describe the drawing in words, for people who cannot see it."""
    events = "; ".join(f"{c.position}: {' '.join((c.title, *c.lines))}" for c in columns)
    return f"Stream of {len(columns)} events. {events}." + "".join(f" {row.caption}." for row in rows)


def _cut(text: str) -> str:
    return escape(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


def _width(text: str) -> float:
    return len(text) * CHARACTER


# ---------------------------------------------------------------------------------------------------------------------
# A stream as a timeline, with the complex events of a query, or the events at which expressions take place.

WHOLE = 30  # a stream with more events is drawn only around the matches
AROUND = 1
MOST_ROWS = 16


def matches_svg(S: Stream, matches: Collection[Match]) -> str:
    """Return the stream as an SVG file, with a row for each of the first matches."""
    return document(drawn(S, [match_row(match) for match in sorted(matches)[:MOST_ROWS]]))


def places_svg(S: Stream, places: Mapping[str, Iterable[int]]) -> str:
    """Return the stream as an SVG file, with a row for each expression: the events at which it takes place."""
    return document(drawn(S, [places_row(text, positions) for text, positions in places.items()]))


def match_row(match: Match) -> Row:
    """Return the row of a timeline for a match."""
    return Row("common", match.events, match.at, f"{{{', '.join(map(str, match.events))}}} at {match.at}")


def places_row(text: str, positions: Iterable[int]) -> Row:
    """Return the row of a timeline for the events at which an expression takes place."""
    found = sorted(positions)
    return Row("common", found, None, text if found else f"{text}: nowhere")


def drawn(S: Stream, rows: Sequence[Row]) -> str:
    """Return the stream with some rows below it, as inline SVG."""
    places = {p for row in rows for p in (*row.positions, row.at) if p is not None}
    return timeline(columns(S, places or {0, len(S) - 1}), rows)


def columns(S: Stream, places: Iterable[int], more: Mapping[int, str] | None = None) -> list[TimelineColumn]:
    """Return the events to draw, with their values: all of a short stream, else those around `places`.

    more: a further line of text for some positions.
    """
    near = {p + d for p in places for d in range(-AROUND, AROUND + 1)} & set(range(len(S)))
    return [_column(S, p, more or {}) for p in (range(len(S)) if len(S) <= WHOLE else sorted(near))]


def every_column(S: Stream) -> list[TimelineColumn]:
    """Return all events, each with its values."""
    return [_column(S, p, {}) for p in range(len(S))]


def _column(S: Stream, p: int, more: Mapping[int, str]) -> TimelineColumn:
    values = [f"{name} {_format_value(value)}" for name, value in S[p].attributes.items()]
    return TimelineColumn(p, S[p].type, [*values, *([more[p]] if p in more else [])])


def _format_value(value: Value) -> str:
    """Write a value as in a query; a time without its keyword and quotes, to save room."""
    return show_time(value) if isinstance(value, datetime) else show_value(value)
