"""Rows that are put aside: those that belong to no stream, and those that come too late. None is dropped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cerify.spark.streams.plan import Plan

NO_KEY, NO_TIME, NO_TYPE, NOT_IN_SCHEMA, LATE = "no key", "no time", "no type", "not in the schema", "late"
REASONS = NO_KEY, NO_TIME, NO_TYPE, NOT_IN_SCHEMA, LATE

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


def split_invalid_rows(plan: Plan, came: pa.Table, watermark: int) -> tuple[pa.Table, Mapping[str, pa.Table]]:
    """The rows of a stream, and the others by the first reason there is. The watermark is in microseconds."""
    left = np.ones(came.num_rows, np.bool_)
    aside: dict[str, list[pa.Table]] = {}
    for reason, mask in _masks(plan, came, watermark):
        if (found := left & mask).any():
            aside.setdefault(reason, []).append(came.filter(pa.array(found)))
            left &= ~found
    good = came.filter(pa.array(left)) if aside else came
    return good, {reason: pa.concat_tables(tables) for reason, tables in aside.items()}


def micros(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times as whole microseconds."""
    return times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64())


def _masks(plan: Plan, came: pa.Table, watermark: int) -> Iterator[tuple[str, Mask]]:
    columns = plan.columns
    for name in columns.keys:
        yield NO_KEY, _nothing(came[name])
    times, types = came[plan.event_time], came[columns.type]
    yield NO_TIME, _nothing(times)
    yield NO_TYPE, _nothing(types) | _mask(pc.equal(types, ""))
    if plan.query.schema is not None:
        known = plan.query.schema.types
        yield NOT_IN_SCHEMA, _mask(pc.invert(_among(types, list(known))))
        for name in columns.attributes:
            owners = [type_ for type_, attributes in known.items() if name in attributes]
            yield NOT_IN_SCHEMA, ~_nothing(came[name]) & ~_mask(_among(types, owners))
    if watermark > 0:
        yield LATE, _mask(pc.less(micros(times), watermark))


def _among(types: pa.ChunkedArray, names: list[str]) -> pa.ChunkedArray:
    return pc.is_in(types, pa.array(names, types.type))


def _nothing(column: pa.ChunkedArray) -> Mask:
    """Where a column has no value; NaN is none."""
    return _mask(column.is_null(nan_is_null=pa.types.is_floating(column.type)))


def _mask(values: pa.ChunkedArray) -> Mask:
    mask: Mask = pc.fill_null(values, False).to_numpy()
    return mask
