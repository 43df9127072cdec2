"""The ids of the events of a key's stream, which its matches have in place of positions."""

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
        self._ids = self._schema.empty_table() if saved is None else unpacked([saved], self._schema)

    def add(self, position: int, ids: pa.ChunkedArray) -> None:
        """Add the ids of the next events; the first one has this position."""
        positions = pa.array(np.arange(position, position + len(ids)))
        self._ids = pa.concat_tables([self._ids, pa.table([positions, ids], schema=self._schema)])

    def of(self, matches: pa.Table) -> pa.Table:
        """The matches with ids in place of positions."""
        known = self._ids[POSITION].to_numpy()
        ids = self._ids[ID].combine_chunks()
        return map_positions(matches, ids.type, lambda positions: ids.take(pa.array(np.searchsorted(known, positions))))

    def save(self, reachable: NDArray[np.int64]) -> bytes:
        """Discard the ids of all other positions; those of these positions as a blob."""
        self._ids = self._ids.filter(pa.array(np.isin(self._ids[POSITION].to_numpy(), reachable)))
        return packed(self._ids)
