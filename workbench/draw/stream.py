"""A stream as a timeline with what matches on it: complex events of a query, or the events of expressions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from cerify.draw.svg import document
from cerify.draw.timeline import Column, Row, timeline
from cerify.semantics.events import Match, Stream
from cerify.semantics.predicate_text import show_value
from cerify.semantics.values import Value, show_time

WHOLE = 30  # events up to which a stream is drawn whole; of a longer one, what lies around the matches
AROUND = 1
MOST_ROWS = 16


def matches_svg(S: Stream, matches: Collection[Match]) -> str:
    """The stream as the text of an SVG file, with a row for each match; of many matches the first ones."""
    return document(drawn(S, [match_row(match) for match in sorted(matches)[:MOST_ROWS]]))


def places_svg(S: Stream, places: Mapping[str, Iterable[int]]) -> str:
    """The stream as the text of an SVG file, with a row for each expression: the events at which it takes place."""
    return document(drawn(S, [places_row(text, positions) for text, positions in places.items()]))


def match_row(match: Match) -> Row:
    """A match as a timeline draws it."""
    return Row("common", match.events, match.at, f"{{{', '.join(map(str, match.events))}}} at {match.at}")


def places_row(text: str, positions: Iterable[int]) -> Row:
    """The events at which an expression takes place as a timeline draws them."""
    found = sorted(positions)
    return Row("common", found, None, text if found else f"{text}: nowhere")


def drawn(S: Stream, rows: Sequence[Row]) -> str:
    """The stream with some rows below it, as inline SVG."""
    places = {p for row in rows for p in (*row.positions, row.at) if p is not None}
    return timeline(columns(S, places or {0, len(S) - 1}), rows)


def columns(S: Stream, places: Iterable[int], more: Mapping[int, str] | None = None) -> list[Column]:
    """The events to draw, each with its values: all of a short stream, of a longer one those around the places.

    more has a further line for some of them.
    """
    near = {p + d for p in places for d in range(-AROUND, AROUND + 1)} & set(range(len(S)))
    return [_column(S, p, more or {}) for p in (range(len(S)) if len(S) <= WHOLE else sorted(near))]


def every_column(S: Stream) -> list[Column]:
    """All events, each with its values."""
    return [_column(S, p, {}) for p in range(len(S))]


def _column(S: Stream, p: int, more: Mapping[int, str]) -> Column:
    values = [f"{name} {_shown(value)}" for name, value in S[p].attributes.items()]
    return Column(p, S[p].type, [*values, *([more[p]] if p in more else [])])


def _shown(value: Value) -> str:
    """A value as a query writes it, but for a time, of which the word and the quotes around it would leave little."""
    return show_time(value) if isinstance(value, datetime) else show_value(value)
