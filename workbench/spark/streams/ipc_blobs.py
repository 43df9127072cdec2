"""Blobs: rows of one key as one binary value, an Arrow record batch in the IPC format without its schema.

Spark passes rows to a stateful processor in Python one by one, as Python objects. So the rows of a task are packed by
key before the shuffle, and what the processor yields is unpacked after it; the types remain those of Arrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ROWS = "rows"
ROWS_AT_ONCE = 65_536  # of a task, packed together


def packed(table: pa.Table) -> bytes:
    """The rows of a table as a blob; `unpacked` needs the schema of the table."""
    batches: list[pa.RecordBatch] = table.combine_chunks().to_batches()
    (batch,) = batches or [pa.RecordBatch.from_pylist([], table.schema)]
    return bytes(batch.serialize())


def unpacked(rows: Iterable[bytes], schema: pa.Schema) -> pa.Table:
    """The table of the rows of some blobs, in their order."""
    return pa.Table.from_batches([pa.ipc.read_record_batch(pa.py_buffer(blob), schema) for blob in rows], schema)


def key_name(i: int) -> str:
    """The name of the i-th column of the key between Spark's operators."""
    return f"k{i}"


def packing(keys: Sequence[str], schema: pa.Schema) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for mapInArrow: from batches of rows to batches of keys and blobs."""

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in _gathered(batches, schema):
            yield _by_key(table, keys)

    return pack


def _gathered(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    some: list[pa.RecordBatch] = []
    for batch in batches:
        some.append(batch.cast(schema))
        if sum(b.num_rows for b in some) >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(some)
            some = []
    if any(b.num_rows for b in some):
        yield pa.Table.from_batches(some)


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
    blobs = [bytes(batch.slice(a, b - a).serialize()) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    columns = [batch.column(key).take(pa.array(starts)) for key in keys]
    return pa.record_batch(
        [*columns, pa.array(blobs, pa.binary())], names=[*(key_name(i) for i in range(len(keys))), ROWS]
    )
