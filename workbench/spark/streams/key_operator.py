"""The streams of keyed.py, one for each key, over the states in Spark's store.

Rows are read and yielded as blobs; see ipc_blobs.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import ListState, StatefulProcessorHandle, ValueState

from cerify.spark.errors import serialize_error
from cerify.spark.streams.ipc_blobs import ROWS, key_name, packed, unpacked
from cerify.spark.streams.keyed import (
    MILLISECOND,
    KeyState,
    evaluated,
    is_due,
    received,
    remembered,
    same_plan,
    wakes,
)
from cerify.spark.streams.plan import Plan
from cerify.spark.streams.state_schema import KIND, MATCH

PIECE = 8_192  # rows of a blob


class KeyOperator:
    """Reads and writes the two states of the current key.

    held: its rows that wait for the watermark, as Arrow IPC, a list of them. kept: its KeyState.
    """

    def __init__(self, plan: Plan, handle: StatefulProcessorHandle, held: ListState, kept: ValueState) -> None:
        self._plan = plan
        self._handle, self._held, self._kept = handle, held, kept

    def read(self, key: Any, rows: Iterable[Any], watermark: int) -> Iterator[Row]:
        """The rows of the answer for blobs of rows of the key. The watermark is in milliseconds."""
        plan, passed = self._plan, watermark * MILLISECOND
        with serialize_error():
            before = self._state()
            came = unpacked((row[ROWS] for row in rows), plan.schema)
            kept, more, invalid = received(plan, before, came, passed)
            for reason, table in invalid.items():
                yield from _output_rows(key, reason, table)
            if not more.num_rows:
                return
            if is_due(kept, passed):
                yield from self._evaluate(key, before, kept, more, passed)
            else:
                self._held.appendList(_blobs(more))
                self._keep(before, kept)

    def wake(self, key: Any, timer: int, watermark: int) -> Iterator[Row]:
        """The rows of the answer when the watermark, in milliseconds, has passed a timer of the key."""
        passed = watermark * MILLISECOND
        with serialize_error():
            kept = self._state()
            if kept.timer != timer:
                return
            before = replace(kept, timer=None)  # Spark has deleted it
            if is_due(kept, passed):
                yield from self._evaluate(key, before, before, None, passed)
            else:
                self._keep(before, remembered(self._plan, before, passed))

    def _evaluate(
        self, key: Any, before: KeyState, kept: KeyState, more: pa.Table | None, watermark: int
    ) -> Iterator[Row]:
        plan = self._plan
        held = unpacked((blob for (blob,) in self._held.get()), plan.held)
        held = held if more is None else pa.concat_tables([held, more])
        kept, rest, found = evaluated(plan, kept, held, watermark)
        for table in found:
            yield from _output_rows(key, MATCH, table)
        if rest.num_rows:
            self._held.put(_blobs(rest))
        else:
            self._held.clear()
        self._keep(before, remembered(plan, kept, watermark))

    def _state(self) -> KeyState:
        values: Any = self._kept.get()
        if values is None:
            return KeyState(self._plan.fingerprint)
        return same_plan(self._plan, KeyState(*values))

    def _keep(self, before: KeyState, kept: KeyState | None) -> None:
        timer = None if kept is None else wakes(self._plan, kept)
        if timer != before.timer:
            if before.timer is not None:
                self._handle.deleteTimer(before.timer)
            if timer is not None:
                self._handle.registerTimer(timer)
        if kept is None:
            self._kept.clear()
        else:
            self._kept.update(astuple(replace(kept, timer=timer)))


def _blobs(rows: pa.Table) -> list[tuple[bytes]]:
    return [(packed(rows.slice(start, PIECE)),) for start in range(0, rows.num_rows, PIECE)]


def _output_rows(key: Any, kind: str, table: pa.Table) -> Iterator[Row]:
    names = [key_name(i) for i in range(len(key))]
    for (blob,) in _blobs(table):
        yield Row(*names, KIND, ROWS)(*key, kind, blob)
