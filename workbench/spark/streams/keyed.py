"""The stream of one key while its events come in any order: what is held, evaluated, and kept for later.

An event is held until the watermark has passed its time, and is late if it comes after that. So what is found depends
on which events are late, and not on how the others come in batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from cerify.semantics.errors import CerifyError, InputError
from cerify.spark.runs.positions import moved
from cerify.spark.runs.rows import events_of
from cerify.spark.streams.event_ids import Ids
from cerify.spark.streams.invalid_rows import micros, split_invalid_rows
from cerify.spark.streams.plan import Plan

MILLISECOND = 1000
PIECE = 65_536  # events that are evaluated at a time


@dataclass(frozen=True)
class KeyState:
    """What is kept of a key besides the rows that are held.

    plan: the fingerprint of the query and its columns. first: the time of the earliest row held, last: that of the
    latest one evaluated, both in microseconds. began, position: so many events came before the first that the evaluator
    knows, and in all. run, ids: the evaluator, and the ids of events that it may still tell. timer: when there is
    something to do if no event comes until then, in milliseconds.
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
    plan: Plan, kept: KeyState, came: pa.Table, watermark: int
) -> tuple[KeyState, pa.Table, Mapping[str, pa.Table]]:
    """For rows that came: what is kept then, the rows to be held, and those that are put aside, by the reason.

    Here and below the watermark is in microseconds; none has been seen as long as it is 0.
    """
    good, aside = split_invalid_rows(plan, came, watermark)
    if good.num_rows:
        first = pc.min(micros(good[plan.event_time])).as_py()
        kept = replace(kept, first=first if kept.first is None else min(first, kept.first))
    return kept, good.select(plan.held.names), aside


def is_due(kept: KeyState, watermark: int) -> bool:
    """Whether the watermark has passed a row that is held."""
    return kept.first is not None and watermark > 0 and kept.first < watermark


def evaluated(plan: Plan, kept: KeyState, held: pa.Table, watermark: int) -> tuple[KeyState, pa.Table, list[pa.Table]]:
    """Hand the rows before the watermark to the evaluator: what is kept then, the rows still held, the matches."""
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
            found.append(moved(matches, kept.began) if ids is None else ids.of(matches))
    kept = replace(
        kept,
        first=pc.min(micros(rest[plan.event_time])).as_py(),
        last=pc.max(micros(ready[plan.event_time])).as_py(),
        position=kept.began + run.position,
        run=run.save(),
    )
    return kept if ids is None else replace(kept, ids=ids.save(run.reachable())), rest, found


def remembered(plan: Plan, kept: KeyState, watermark: int) -> KeyState | None:
    """What is kept when the watermark is there; None if that is nothing."""
    wake = wakes(plan, kept)
    if kept.first is not None or kept.run is None or wake is None or watermark < wake * MILLISECOND:
        return kept
    if plan.columns.id is not None:
        return None
    return KeyState(kept.plan, began=kept.position, position=kept.position, timer=kept.timer)


def wakes(plan: Plan, kept: KeyState) -> int | None:
    """From which watermark on, in milliseconds, there is something to do even if no event comes."""
    if kept.first is not None:
        time = kept.first
    elif kept.run is not None and kept.last is not None and plan.idle_timeout is not None:
        time = kept.last + plan.idle_timeout
    else:
        return None
    return max(0, time // MILLISECOND) + 1  # after 0, which says that there is no watermark


def require_same(plan: Plan, kept: KeyState) -> None:
    """Raises InputError if what is kept is of another query."""
    if kept.plan != plan.fingerprint:
        raise InputError(
            "the checkpoint is of another query, or of other columns; go on with the query it was made with, or start "
            "again with a new checkpoint"
        )


def _placed(plan: Plan, rows: pa.RecordBatch, error: CerifyError) -> CerifyError:
    key = ", ".join(f"{name}={rows.column(name)[0].as_py()!r}" for name in plan.columns.keys)
    error.message = f"{key}: {error.message}"
    return error
