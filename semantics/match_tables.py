"""The matches of a query as an Arrow table: the columns, and the tables of matches that are objects or arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cerify.semantics.packages import pa


def match_schema(place: pa.DataType) -> pa.Schema:
    """Return the columns for a match. `at` and `events` say where it is, by positions or other values of type `place`.

    `bindings` maps variables to such places, `result` is JSON; they are null if the query does not give them.
    """
    places = pa.list_(place)
    bindings = pa.map_(pa.string(), places)
    return pa.schema([("at", place), ("events", places), ("bindings", bindings), ("result", pa.string())])


RESULT = match_schema(pa.int64())
"""The columns for a match with positions."""

NO_MATCHES = RESULT.empty_table()


def table_of_matches(matches: Sequence[Any]) -> pa.Table:
    """Return a table with the columns of RESULT and a row for each match. The matches are of the class events.Match."""
    if not matches:  # a shortcut, because short streams often have no match
        return NO_MATCHES
    columns: list[Any] = [
        [m.at for m in matches],
        [m.events for m in matches],
        [m.bindings for m in matches],
        [None if m.result is None else m.result.text for m in matches],
    ]
    return pa.table([pa.array(values, kind) for values, kind in zip(columns, RESULT.types, strict=True)], RESULT)


def table_of_positions(at: pa.ChunkedArray | pa.Array, events: pa.ChunkedArray | pa.Array) -> pa.Table:
    """Return a table with the columns of RESULT for matches that have positions alone."""
    rest = [pa.nulls(len(at), kind) for kind in RESULT.types[2:]]
    return pa.table([at, events.cast(RESULT.field("events").type), *rest], RESULT)
