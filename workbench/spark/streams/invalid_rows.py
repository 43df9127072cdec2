"""Rows that no stream has: without a key, time or type, not in the schema, or late. They are returned, not dropped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cerify.spark.streams.plan import Plan

NO_KEY, NO_TIME, NO_TYPE, NOT_IN_SCHEMA, LATE = "no key", "no time", "no type", "not in the schema", "late"
REASONS = NO_KEY, NO_TIME, NO_TYPE, NOT_IN_SCHEMA, LATE

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


def split_invalid_rows(plan: Plan, rows: pa.Table, watermark: int) -> tuple[pa.Table, Mapping[str, pa.Table]]:
    """The valid rows, and the invalid rows by the first reason that applies. The watermark is in microseconds."""
    left = np.ones(rows.num_rows, np.bool_)
    invalid: dict[str, list[pa.Table]] = {}
    for reason, mask in _masks(plan, rows, watermark):
        if (found := left & mask).any():
            invalid.setdefault(reason, []).append(rows.filter(pa.array(found)))
            left &= ~found
    good = rows.filter(pa.array(left)) if invalid else rows
    return good, {reason: pa.concat_tables(tables) for reason, tables in invalid.items()}


def micros(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times as whole microseconds."""
    return times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64())


def _masks(plan: Plan, rows: pa.Table, watermark: int) -> Iterator[tuple[str, Mask]]:
    columns = plan.columns
    for name in columns.keys:
        yield NO_KEY, _nothing(rows[name])
    times, types = rows[plan.event_time], rows[columns.type]
    yield NO_TIME, _nothing(times)
    yield NO_TYPE, _nothing(types) | _mask(pc.equal(types, ""))
    if plan.query.schema is not None:
        known = plan.query.schema.types
        yield NOT_IN_SCHEMA, _mask(pc.invert(_among(types, list(known))))
        for name in columns.attributes:
            owners = [type_ for type_, attributes in known.items() if name in attributes]
            yield NOT_IN_SCHEMA, ~_nothing(rows[name]) & ~_mask(_among(types, owners))
    if watermark > 0:
        yield LATE, _mask(pc.less(micros(times), watermark))


def _among(types: pa.ChunkedArray, names: list[str]) -> pa.ChunkedArray:
    return pc.is_in(types, pa.array(names, types.type))


def _nothing(column: pa.ChunkedArray) -> Mask:
    """Where a column has no value: null or NaN."""
    return _mask(column.is_null(nan_is_null=pa.types.is_floating(column.type)))


def _mask(values: pa.ChunkedArray) -> Mask:
    mask: Mask = pc.fill_null(values, False).to_numpy()
    return mask
