"""Matches with other identifiers of events than positions in a run: positions in a longer stream, or ids."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from cerify.semantics.matches import RESULT

PositionMap = Callable[[pa.Array], pa.Array]
"""A function from an array of positions to an array of identifiers of the same length."""


def match_schema(place: pa.DataType) -> pa.Schema:
    """The schema of matches whose events are identified by values of this type."""
    places = pa.list_(place)
    bindings = pa.map_(pa.string(), places)
    return pa.schema([("at", place), ("events", places), ("bindings", bindings), ("result", pa.string())])


def map_positions(matches: pa.Table, place: pa.DataType, identify: PositionMap) -> pa.Table:
    """The matches with identifiers of the type `place`, which `identify` gives, in place of positions."""
    at, events, bindings, result = (matches[name].combine_chunks() for name in RESULT.names)
    schema = match_schema(place)
    if bindings.null_count:  # a query without bindings: all are null
        bound = pa.nulls(len(bindings), schema.field("bindings").type)
    else:
        lists = pa.ListArray.from_arrays(bindings.items.offsets, identify(bindings.items.values))
        bound = pa.MapArray.from_arrays(bindings.offsets, bindings.keys, lists)
    return pa.table(
        [identify(at), pa.ListArray.from_arrays(events.offsets, identify(events.values)), bound, result], schema=schema
    )


def shift_positions(matches: pa.Table, by: int) -> pa.Table:
    """The matches of a run with `by`, the position of its first event in the stream, added to all positions."""
    return map_positions(matches, pa.int64(), lambda positions: pc.add(positions, by)) if by else matches
