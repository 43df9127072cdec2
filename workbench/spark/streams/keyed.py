"""The stream of one key whose events come in any order: the rows it holds, their evaluation, and its state.

A row is held until the watermark has passed its time, and is late if it comes after that. So the matches depend on
which rows are late, not on how the others are distributed over batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerify.semantics.errors import CerifyError, InputError
from cerify.spark.runs.invalid import NO_KEY, NO_TIME, NO_TYPE, NOT_IN_SCHEMA, mask, masks, split
from cerify.spark.runs.rows import Mask, events_of
from cerify.spark.runs.run import map_positions, shift_positions
from cerify.spark.streams.ipc_blobs import packed, unpacked
from cerify.spark.streams.plan import Plan

POSITION, ID = "position", "id"
LATE = "late"
REASONS = NO_KEY, NO_TIME, NO_TYPE, NOT_IN_SCHEMA, LATE
MILLISECOND = 1000
PIECE = 65_536  # events evaluated at a time


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


def split_invalid_rows(plan: Plan, rows: pa.Table, watermark: int) -> tuple[pa.Table, Mapping[str, pa.Table]]:
    """The valid rows, and the invalid rows by the first reason that applies. The watermark is in microseconds.

    Invalid rows are in no stream: without a key, time or type, not in the schema, or late. They are returned, not
    dropped.
    """
    good, invalid = split(rows, _masks(plan, rows, watermark))
    reasons = dict.fromkeys(reason for reason, _ in invalid)
    return good, {one: pa.concat_tables([some for reason, some in invalid if reason == one]) for one in reasons}


def micros(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times as whole microseconds."""
    return times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64())


def _masks(plan: Plan, rows: pa.Table, watermark: int) -> Iterator[tuple[str, Mask]]:
    yield from masks(rows, plan.columns, plan.query.schema, [(NO_TIME, plan.event_time)])
    if watermark > 0:
        yield LATE, mask(pc.less(micros(rows[plan.event_time]), watermark))


@dataclass(frozen=True)
class KeyState:
    """The state of a key, without its rows that wait for the watermark, which are called held.

    plan: the fingerprint of the query and its columns. first: the time of the earliest row held; last: that of the
    latest row evaluated; both in microseconds. began: the number of events before the first one of the run; position:
    the number of events evaluated. run: the saved run. ids: the ids of the events that later matches may have. timer:
    the watermark, in milliseconds, at which the key is visited if no event comes before.
    """

    plan: bytes
    first: int | None = None
    last: int | None = None
    began: int = 0
    position: int = 0
    run: bytes | None = None
    ids: bytes | None = None
    timer: int | None = None


def received(
    plan: Plan, kept: KeyState, rows: pa.Table, watermark: int
) -> tuple[KeyState, pa.Table, Mapping[str, pa.Table]]:
    """The state after some rows were received, the rows to hold, and the invalid rows by their reason.

    Here and below the watermark is in microseconds; 0 if there is none yet.
    """
    good, invalid = split_invalid_rows(plan, rows, watermark)
    if good.num_rows:
        first = pc.min(micros(good[plan.event_time])).as_py()
        kept = replace(kept, first=first if kept.first is None else min(first, kept.first))
    return kept, good.select(plan.held.names), invalid


def is_due(kept: KeyState, watermark: int) -> bool:
    """Whether the watermark has passed the time of a row that is held."""
    return kept.first is not None and watermark > 0 and kept.first < watermark


def evaluated(plan: Plan, kept: KeyState, held: pa.Table, watermark: int) -> tuple[KeyState, pa.Table, list[pa.Table]]:
    """Evaluate the rows before the watermark: the state afterwards, the rows still held, the tables of matches."""
    passed = pc.less(micros(held[plan.event_time]), watermark)
    ready, rest = held.filter(passed).sort_by(plan.order), held.filter(pc.invert(passed))
    run = plan.compiled.start() if kept.run is None else plan.compiled.restore(kept.run)
    id_col = plan.columns.id
    ids = None if id_col is None else Ids(plan.held.field(id_col).type, kept.ids)
    found = []
    for start in range(0, ready.num_rows, PIECE):
        (rows,) = ready.slice(start, PIECE).combine_chunks().to_batches()
        if ids is not None:
            ids.add(run.position, rows.column(id_col))
        try:
            matches = run.push(events_of(rows, plan.columns, plan.query.schema))
        except CerifyError as error:
            raise _placed(plan, rows, error) from None
        if matches.num_rows:
            found.append(shift_positions(matches, kept.began) if ids is None else ids.of(matches))
    kept = replace(
        kept,
        first=pc.min(micros(rest[plan.event_time])).as_py(),
        last=pc.max(micros(ready[plan.event_time])).as_py(),
        position=kept.began + run.position,
        run=run.save(),
    )
    return kept if ids is None else replace(kept, ids=ids.save(run.reachable())), rest, found


def remembered(plan: Plan, kept: KeyState, watermark: int) -> KeyState | None:
    """The state to keep at this watermark; None if a new key has the same one."""
    wake = wakes(plan, kept)
    if kept.first is not None or kept.run is None or wake is None or watermark < wake * MILLISECOND:
        return kept
    if plan.columns.id is not None:
        return None
    return KeyState(kept.plan, began=kept.position, position=kept.position, timer=kept.timer)


def wakes(plan: Plan, kept: KeyState) -> int | None:
    """The watermark, in milliseconds, at which to visit the key if no event comes before; None if there is none."""
    if kept.first is not None:
        time = kept.first
    elif kept.run is not None and kept.last is not None and plan.idle_timeout is not None:
        time = kept.last + plan.idle_timeout
    else:
        return None
    return max(0, time // MILLISECOND) + 1  # 0 stands for no watermark


def same_plan(plan: Plan, kept: KeyState) -> KeyState:
    """The state, which may be one of the release before. Raises InputError if it is that of another query."""
    if kept.plan not in plan.fingerprints:
        raise InputError(
            "the checkpoint is of another query, or of other columns; continue with the query it was made with, or "
            "start with a new checkpoint"
        )
    return replace(kept, plan=plan.fingerprint)


def _placed(plan: Plan, rows: pa.RecordBatch, error: CerifyError) -> CerifyError:
    key = ", ".join(f"{name}={rows.column(name)[0].as_py()!r}" for name in plan.columns.keys)
    error.message = f"{key}: {error.message}"
    return error
