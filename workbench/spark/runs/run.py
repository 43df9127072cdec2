"""A run: a query on its way through one stream, which comes in Arrow tables; and the table of what it finds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cerify.semantics.matches import POSITIONS, RESULT

NOTHING = RESULT.empty_table()

Classes: TypeAlias = NDArray[np.int32]
"""For each event what the query can tell of it, as a number."""


class Run(ABC):
    """What is known of one stream; positions count from its first event.

    The tables that are pushed have the column "type" and one for each attribute, as Stream.table has them. streams says
    whether matches are reported as soon as they are known; else the events are gathered, and all are found at the end.
    """

    streams: ClassVar[bool] = True

    @abstractmethod
    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """Read the next events; the matches known by them, a table as RESULT says.

        classes: what `classes` says of them, if it has been asked.
        """

    def count(self, table: pa.Table, classes: Classes | None = None) -> int:
        """Read the next events; the exact number of the matches known by them."""
        return len(self.push(table, classes))

    def classes(self, table: pa.Table) -> Classes | None:
        """The classes of events, which may be of several streams, so that they are looked at together; else None."""
        return None

    def finish(self) -> pa.Table:
        """The matches that are known by the end of the stream."""
        return NOTHING

    def finish_count(self) -> int:
        """The exact number of the matches that are known by the end of the stream."""
        return len(self.finish())

    @property
    def reaches(self) -> int:
        """The least position that a match which is not known yet may have."""
        return 0


def of_events(at: pa.ChunkedArray | pa.Array, events: pa.ChunkedArray | pa.Array) -> pa.Table:
    """The table of matches that say neither bindings nor a result."""
    rest = [pa.nulls(len(at), kind) for kind in RESULT.types[2:]]
    return pa.table([at, events.cast(POSITIONS), *rest], schema=RESULT)
