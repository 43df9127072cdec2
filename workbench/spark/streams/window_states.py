"""The state of a query that looks back over a window only: the rows of the window, which are evaluated again.

So every query with a bounded window streams, also where the state of its evaluator cannot be saved: SASE+, and filters
across events.
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
from cerify.automata.saved_state import seal, unseal
from cerify.semantics.budget import Budget
from cerify.semantics.values import ARROW
from cerify.spark.runs.positions import shift_positions
from cerify.spark.runs.query import Query
from cerify.spark.runs.reach import Reach
from cerify.spark.runs.run import Classes
from cerify.spark.runs.start import start
from cerify.spark.streams.resumable import Compiled, Resumable

KIND, POSITION = "window on Spark", b"cerify position"


class ResumableWindow(Resumable):
    """A run whose state is the rows that a later match may have; the first row has the position `first`."""

    def __init__(
        self, query: Query, budget: Budget, reach: Reach, rows: pa.Table | None = None, first: int = 0
    ) -> None:
        self._query, self._budget, self._reach = query, budget, reach
        self._rows, self._first = rows, first

    @property
    def position(self) -> int:
        """The position of the next event."""
        return self._first + (0 if self._rows is None else self._rows.num_rows)

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """The matches reported at these events, by evaluating them with the rows of the window before."""
        before = 0 if self._rows is None else self._rows.num_rows
        rows = table if self._rows is None else pa.concat_tables([self._rows, table])
        run = start(self._query, self._budget)
        found = pa.concat_tables([run.push(rows), run.finish()])
        found = shift_positions(found.filter(pc.greater_equal(found["at"], before)), self._first)
        old = _old(rows, self._reach)
        self._rows, self._first = rows.slice(old), self._first + old
        return found

    def save(self) -> bytes:
        """The rows as an Arrow IPC stream, with the position of the first row as metadata."""
        rows = pa.table({}) if self._rows is None else self._rows
        rows = rows.replace_schema_metadata({POSITION: str(self._first).encode()})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows)
        return seal(KIND, self._query.to_json(), bytes(sink.getvalue()))

    def reachable(self) -> NDArray[np.int64]:
        """The positions of the rows."""
        return np.arange(self._first, self.position)


class CompiledWindow(Compiled):
    """A query with its reach, whose widths are all on the attribute that orders the rows."""

    def __init__(self, query: Query, budget: Budget, reach: Reach) -> None:
        self._query, self._budget, self._reach = query, budget, reach
        start(query, budget)

    def start(self) -> ResumableWindow:
        """A run without rows."""
        return ResumableWindow(self._query, self._budget, self._reach)

    def restore(self, saved: bytes) -> ResumableWindow:
        """The run that was saved. Raises InputError for the state of another query, or for no state."""
        rows = pa.ipc.open_stream(unseal(saved, KIND, self._query.to_json())).read_all()
        first = int(rows.schema.metadata[POSITION])
        saved_rows = rows if rows.num_columns else None
        return ResumableWindow(self._query, self._budget, self._reach, saved_rows, first)

    @property
    def widths(self) -> Mapping[str, Width]:
        """The widths of the reach."""
        return dict(self._reach.widths)

    @property
    def is_memoryless(self) -> bool:
        """True unless the reach has a number of events."""
        return self._reach.events == 1


def _old(rows: pa.Table, reach: Reach) -> int:
    """The number of leading rows that no later match can have, since all windows have passed them."""
    kept = min(rows.num_rows, reach.events - 1)
    for name, width in reach.widths:
        kept = max(kept, rows.num_rows - _before(rows[name], width))
    return int(rows.num_rows - kept)


def _before(values: pa.ChunkedArray, width: Width) -> int:
    """The number of ascending values that are less than the last one minus the width."""
    if pa.types.is_timestamp(values.type):
        values, width = values.cast(ARROW["timestamp"]).cast(pa.int64()), width * MICROSECONDS
    last = pc.max(values).as_py()
    if last is None:
        return 0
    low = last - ceil(width) if isinstance(last, int) else nextafter(last - width, -inf)
    return int(pc.sum(pc.less(values, low)).as_py() or 0)
