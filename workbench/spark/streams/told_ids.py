"""Matches as a key's stream tells them: by positions from its first event, or by ids."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerify.spark.runs.run import RESULT
from cerify.spark.streams.packs import packed, unpacked

POSITION, ID = "position", "id"


def answer(place: pa.DataType) -> pa.Schema:
    """The columns of matches whose events are told by values of this type."""
    places = pa.list_(place)
    bindings = pa.map_(pa.string(), places)
    return pa.schema([("at", place), ("events", places), ("bindings", bindings), ("result", pa.string())])


def moved(matches: pa.Table, by: int) -> pa.Table:
    """Matches of a run whose first event has that position."""
    return _told(matches, pa.int64(), lambda positions: pc.add(positions, by))


class Ids:
    """The ids of the events that later matches may have, by their positions in a run."""

    def __init__(self, kind: pa.DataType, saved: bytes | None = None) -> None:
        self._schema = pa.schema([(POSITION, pa.int64()), (ID, kind)])
        self._known = self._schema.empty_table() if saved is None else unpacked([saved], self._schema)

    def add(self, position: int, ids: pa.ChunkedArray) -> None:
        """The ids of the next events, of which the first is at that position."""
        positions = pa.array(np.arange(position, position + len(ids)))
        self._known = pa.concat_tables([self._known, pa.table([positions, ids], schema=self._schema)])

    def of(self, matches: pa.Table) -> pa.Table:
        """Matches with ids for positions."""
        known = self._known[POSITION].to_numpy()
        ids = self._known[ID].combine_chunks()
        return _told(matches, ids.type, lambda positions: ids.take(pa.array(np.searchsorted(known, positions))))

    def save(self, reachable: NDArray[np.int64]) -> bytes:
        """The ids of these positions; the others are forgotten."""
        self._known = self._known.filter(pa.array(np.isin(self._known[POSITION].to_numpy(), reachable)))
        return packed(self._known)


def _told(matches: pa.Table, place: pa.DataType, tell: Callable[[pa.Array], pa.Array]) -> pa.Table:
    """The matches with what tell makes of positions."""
    at, events, bindings, result = (matches[name].combine_chunks() for name in RESULT.names)
    said = answer(place)
    if bindings.null_count == len(bindings):
        bound = pa.nulls(len(bindings), said.field("bindings").type)
    else:
        lists = pa.ListArray.from_arrays(bindings.items.offsets, tell(bindings.items.values))
        bound = pa.MapArray.from_arrays(bindings.offsets, bindings.keys, lists)
    told = pa.ListArray.from_arrays(events.offsets, tell(events.values))
    return pa.table([tell(at), told, bound, result], schema=said)
