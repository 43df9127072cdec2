"""Rows of one key as one binary value, so that Spark moves, and keeps, few values for many rows.

Spark hands a stateful processor of Python its rows one by one, each made of Python objects. So the rows of a task are
packed by key before the shuffle, and what the processor says is unpacked after it; types stay those of Arrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ROWS = "rows"
ROWS_AT_ONCE = 65_536  # of a task that are packed together


def packed(table: pa.Table) -> bytes:
    """The rows of a table, less its schema, which whoever unpacks them has to know."""
    batches: list[pa.RecordBatch] = table.combine_chunks().to_batches() or [_empty(table.schema)]
    (batch,) = batches
    return bytes(batch.serialize())


def unpacked(rows: Iterable[bytes], schema: pa.Schema) -> pa.Table:
    """The rows of some packs, in their order."""
    return pa.Table.from_batches([pa.ipc.read_record_batch(pa.py_buffer(pack), schema) for pack in rows], schema)


def key_name(i: int) -> str:
    """What the i-th column of a key is called on the way."""
    return f"k{i}"


def packing(keys: Sequence[str], schema: pa.Schema) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For mapInArrow: batches of rows to batches of keys and packs of rows."""

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in _gathered(batches, schema):
            yield _by_key(table, keys)

    return pack


def _gathered(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch.cast(schema))
        if sum(b.num_rows for b in held) >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(held)
            held = []
    if any(b.num_rows for b in held):
        yield pa.Table.from_batches(held)


def _by_key(table: pa.Table, keys: Sequence[str]) -> pa.RecordBatch:
    order = pc.sort_indices(table.select(list(keys)), [(key, "ascending") for key in keys])
    (batch,) = table.take(order).combine_chunks().to_batches()
    before, after = batch.slice(0, batch.num_rows - 1), batch.slice(1)
    differ = np.zeros(batch.num_rows - 1, np.bool_)
    for key in keys:
        left, right = before.column(key), after.column(key)
        same = pc.or_kleene(pc.equal(left, right), pc.and_(left.is_null(), right.is_null()))
        differ |= ~pc.fill_null(same, False).to_numpy(zero_copy_only=False)
    starts = np.concatenate([[0], np.flatnonzero(differ) + 1])
    ends = np.append(starts[1:], batch.num_rows)
    packs = [bytes(batch.slice(a, b - a).serialize()) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    columns = [batch.column(key).take(pa.array(starts)) for key in keys]
    return pa.record_batch(
        [*columns, pa.array(packs, pa.binary())], names=[*(key_name(i) for i in range(len(keys))), ROWS]
    )


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], kind) for kind in schema.types], schema=schema)
