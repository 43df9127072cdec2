"""The ids of the events of a key's stream, by which its matches are told."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cerify.spark.runs.positions import map_positions
from cerify.spark.streams.ipc_blobs import packed, unpacked

POSITION, ID = "position", "id"


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
        return map_positions(matches, ids.type, lambda positions: ids.take(pa.array(np.searchsorted(known, positions))))

    def save(self, reachable: NDArray[np.int64]) -> bytes:
        """The ids of these positions; the others are forgotten."""
        self._known = self._known.filter(pa.array(np.isin(self._known[POSITION].to_numpy(), reachable)))
        return packed(self._known)
