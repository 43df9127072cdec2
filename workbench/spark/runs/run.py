"""A run: the evaluation of a query over one stream of Arrow tables; and the table of its matches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerify.semantics.match_tables import NO_MATCHES, POSITIONS, RESULT

NOTHING = NO_MATCHES

Classes: TypeAlias = NDArray[np.int32]
"""For each event the number of its class; events of a class are equal for the query."""


class Run(ABC):
    """The evaluation of a query over one stream; positions count from its first event.

    The tables that are pushed have the columns of Stream.table: "type" and one for each attribute. streams: whether a
    match is reported by the push that completes it; else the events are gathered, and `finish` reports all matches.
    """

    streams: ClassVar[bool] = True

    @abstractmethod
    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """Read the next events; the matches that they complete, a table with the schema RESULT.

        classes: the result of `classes` for the table, if it was called.
        """

    def count(self, table: pa.Table, classes: Classes | None = None) -> int:
        """Read the next events; the exact number of the matches that they complete."""
        return len(self.push(table, classes))

    def classes(self, table: pa.Table) -> Classes | None:
        """The classes of events, of one stream or several; None if the run does not classify events."""
        return None

    @property
    def ascending(self) -> Mapping[str, bool]:
        """The attributes whose values must not decrease, each with whether every event must have a value."""
        return {}

    def finish(self) -> pa.Table:
        """The matches that the end of the stream completes."""
        return NOTHING

    def finish_count(self) -> int:
        """The exact number of the matches that the end of the stream completes."""
        return len(self.finish())

    @property
    def reaches(self) -> int:
        """The least position that a match not yet reported may have."""
        return 0


def of_events(at: pa.ChunkedArray | pa.Array, events: pa.ChunkedArray | pa.Array) -> pa.Table:
    """The table of matches without bindings and results."""
    rest = [pa.nulls(len(at), kind) for kind in RESULT.types[2:]]
    return pa.table([at, events.cast(POSITIONS), *rest], schema=RESULT)


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
