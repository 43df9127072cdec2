"""Matches whose events are told in another way than by positions in a run: by those in a longer stream, or by ids."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from cerify.semantics.matches import RESULT

PositionMap = Callable[[pa.Array], pa.Array]
"""What tells events, given their positions."""


def match_schema(place: pa.DataType) -> pa.Schema:
    """The columns of matches whose events are told by values of this type."""
    places = pa.list_(place)
    bindings = pa.map_(pa.string(), places)
    return pa.schema([("at", place), ("events", places), ("bindings", bindings), ("result", pa.string())])


def map_positions(matches: pa.Table, place: pa.DataType, tell: PositionMap) -> pa.Table:
    """The matches with what tell makes of positions."""
    at, events, bindings, result = (matches[name].combine_chunks() for name in RESULT.names)
    said = match_schema(place)
    if bindings.null_count:  # of a query that tells none, all are null
        bound = pa.nulls(len(bindings), said.field("bindings").type)
    else:
        lists = pa.ListArray.from_arrays(bindings.items.offsets, tell(bindings.items.values))
        bound = pa.MapArray.from_arrays(bindings.offsets, bindings.keys, lists)
    return pa.table(
        [tell(at), pa.ListArray.from_arrays(events.offsets, tell(events.values)), bound, result], schema=said
    )


def moved(matches: pa.Table, by: int) -> pa.Table:
    """Matches of a run whose first event has that position."""
    return map_positions(matches, pa.int64(), lambda positions: pc.add(positions, by)) if by else matches
