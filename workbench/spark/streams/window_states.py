"""What is kept of a query that looks back over a window only: the rows of the window, which are read again.

So every query streams that looks back no further than over a window, also where no state of its evaluator can be saved:
SASE+, and filters across events.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, inf, nextafter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerify.automata.evaluate.scope import Width
from cerify.automata.evaluate.scope_columns import MICROSECONDS
from cerify.semantics.budget import Budget
from cerify.semantics.errors import InputError
from cerify.semantics.values import ARROW
from cerify.spark.runs.positions import moved
from cerify.spark.runs.query import Query
from cerify.spark.runs.reach import Reach
from cerify.spark.runs.run import Classes
from cerify.spark.runs.start import start
from cerify.spark.streams.resumable import Compiled, Resumable

POSITION = b"cerify position"


class ResumableWindow(Resumable):
    """The rows that a later match may have; the first has the position first."""

    def __init__(
        self, query: Query, budget: Budget, reach: Reach, rows: pa.Table | None = None, first: int = 0
    ) -> None:
        self._query, self._budget, self._reach = query, budget, reach
        self._rows, self._first = rows, first

    @property
    def position(self) -> int:
        """Of the next event."""
        return self._first + (0 if self._rows is None else self._rows.num_rows)

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """The matches reported at these events, found in what the window holds of those before and in them."""
        before = 0 if self._rows is None else self._rows.num_rows
        rows = table if self._rows is None else pa.concat_tables([self._rows, table])
        run = start(self._query, self._budget)
        found = pa.concat_tables([run.push(rows), run.finish()])
        found = moved(found.filter(pc.greater_equal(found["at"], before)), self._first)
        old = _old(rows, self._reach)
        self._rows, self._first = rows.slice(old), self._first + old
        return found

    def save(self) -> bytes:
        """The rows, as Arrow writes them, with the position of the first."""
        rows = pa.table({}) if self._rows is None else self._rows
        rows = rows.replace_schema_metadata({POSITION: str(self._first).encode()})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows)
        return bytes(sink.getvalue())

    def reachable(self) -> NDArray[np.int64]:
        """Those of the rows."""
        return np.arange(self._first, self.position)


class CompiledWindow(Compiled):
    """A query with its reach, the widths of which are all on what the rows are ordered by."""

    def __init__(self, query: Query, budget: Budget, reach: Reach) -> None:
        self._query, self._budget, self._reach = query, budget, reach
        start(query, budget)

    def start(self) -> ResumableWindow:
        """No rows."""
        return ResumableWindow(self._query, self._budget, self._reach)

    def restore(self, saved: bytes) -> ResumableWindow:
        """The rows that were saved. Raises InputError for anything else."""
        try:
            rows = pa.ipc.open_stream(saved).read_all()
            first = int((rows.schema.metadata or {})[POSITION])
        except (pa.ArrowInvalid, KeyError, ValueError) as error:
            raise InputError(f"these are no saved rows of a window: {error!r}") from None
        known = rows if rows.num_columns else None
        return ResumableWindow(self._query, self._budget, self._reach, known, first)

    @property
    def widths(self) -> Mapping[str, Width]:
        """Those of the reach."""
        return dict(self._reach.widths)

    @property
    def is_memoryless(self) -> bool:
        """Unless it looks back over a number of events too."""
        return self._reach.events == 1


def _old(rows: pa.Table, reach: Reach) -> int:
    """How many of the first rows no later match can have: those that have left all of the windows."""
    kept = min(rows.num_rows, reach.events - 1)
    for name, width in reach.widths:
        kept = max(kept, rows.num_rows - _before(rows[name], width))
    return int(rows.num_rows - kept)


def _before(values: pa.ChunkedArray, width: Width) -> int:
    """How many of the ascending values are further than the width below the last one."""
    if pa.types.is_timestamp(values.type):
        values, width = values.cast(ARROW["timestamp"]).cast(pa.int64()), width * MICROSECONDS
    last = pc.max(values).as_py()
    if last is None:
        return 0
    low = last - ceil(width) if isinstance(last, int) else nextafter(last - width, -inf)
    return int(pc.sum(pc.less(values, low)).as_py() or 0)
