"""The rows that are no events of streams, and the keys that cannot be evaluated, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cerify.automata.evaluate.scope_columns import decreasing_rows
from cerify.semantics.errors import BudgetExceeded, CerifyError, InputError
from cerify.semantics.events import TIME, Schema
from cerify.spark.runs.rows import Columns, Mask, agree, begins_of, events_of, same

NO_KEY, NO_ORDER, NO_TIME, NO_TYPE = "no key", "no order", "no time", "no type"
NOT_IN_SCHEMA, BAD_VALUE, TIE, BACKWARD = "not in the schema", "bad value", "tie", "backward"
OVER_BUDGET, FAILED = "over budget", "failed"
REASONS = NO_KEY, NO_ORDER, NO_TIME, NO_TYPE, NOT_IN_SCHEMA, BAD_VALUE, TIE, BACKWARD, OVER_BUDGET, FAILED
"""The reasons for which a row or a key is set aside in batches."""


Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)


@dataclass(frozen=True)
class Invalid:
    """Some rows that are set aside, all for one reason; message: what the error would have been, or None."""

    reason: str
    message: str | None
    rows: pa.RecordBatch


def masks(
    rows: pa.Table | pa.RecordBatch, columns: Columns, schema: Schema | None, required: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, Mask]]:
    """Reasons with the rows to which they apply; required: reasons with columns that need a value."""
    for name in columns.keys:
        yield NO_KEY, nothing(rows[name])
    for reason, name in required:
        yield reason, nothing(rows[name]) if reason == NO_TIME else mask(rows[name].is_null())
    types = rows[columns.type]
    yield NO_TYPE, nothing(types) | mask(pc.equal(types, ""))
    if schema is not None:
        yield NOT_IN_SCHEMA, mask(pc.invert(_among(types, list(schema.types))))
        for name in columns.attributes:
            owners = [type_ for type_, attributes in schema.types.items() if name in attributes]
            yield NOT_IN_SCHEMA, mask(rows[name].is_valid()) & ~mask(_among(types, owners))


def split(rows: Rows, reasons: Iterable[tuple[str, Mask]]) -> tuple[Rows, list[tuple[str, Rows]]]:
    """The valid rows, and the others by the first reason that applies."""
    left, invalid = np.ones(rows.num_rows, np.bool_), []
    for reason, bad in reasons:
        if (found := left & bad).any():
            invalid.append((reason, rows.filter(pa.array(found))))
            left &= ~found
    return rows.filter(pa.array(left)) if invalid else rows, invalid


def nothing(column: pa.Array | pa.ChunkedArray) -> Mask:
    """Where a column has no value: null or NaN."""
    return mask(column.is_null(nan_is_null=pa.types.is_floating(column.type)))


def mask(values: pa.Array | pa.ChunkedArray) -> Mask:
    """Booleans as an array; null is false."""
    filled = pc.fill_null(values, False)
    found: Mask = np.asarray(filled) if isinstance(filled, pa.ChunkedArray) else filled.to_numpy(zero_copy_only=False)
    return found


def _among(types: pa.Array | pa.ChunkedArray, names: list[str]) -> pa.Array | pa.ChunkedArray:
    return pc.is_in(types, pa.array(names, types.type))


class ValidRows:
    """The rows of some batches that are events of streams; the others are collected, to be taken.

    ascending: the attributes whose values must not decrease in a stream, each with whether every event must have one.
    The last row of a batch is left for the next one, as it may have the same place in the order as the row after it.
    """

    def __init__(self, columns: Columns, schema: Schema | None, ascending: Mapping[str, bool]) -> None:
        self.columns, self._schema, self._ascending = columns, schema, ascending
        self._fields = pa.schema([])
        self._invalid: list[Invalid] = []
        self._pending: pa.RecordBatch | None = None
        self._tied: pa.RecordBatch | None = None  # the row before, if it has the same place as others
        self._last: pa.RecordBatch | None = None  # the last valid row
        self._greatest = dict.fromkeys(ascending)

    def take(self) -> list[Invalid]:
        """What has been set aside since this was called last."""
        found, self._invalid = self._invalid, []
        return found

    def set_aside_key(self, key: Mapping[str, pa.Array], error: CerifyError) -> None:
        """Set a key aside, as a row in which only the columns of the key have values."""
        reason = OVER_BUDGET if isinstance(error, BudgetExceeded) else FAILED
        fields = pa.schema([self._fields.field(name).with_nullable(True) for name in self.columns.needed])
        columns = [key[field.name] if field.name in key else pa.nulls(1, field.type) for field in fields]
        self._invalid.append(Invalid(reason, error.message, pa.record_batch(columns, schema=fields)))

    def of(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The valid rows of each batch, which may be none."""
        for batch in batches:
            self._fields = batch.schema
            good = self._well_formed(batch)
            if self._pending is not None:
                good = joined([self._pending, good])
            good, self._pending = self._placed(good), None
            if self._tied is None and (rows := good.num_rows):
                self._pending, good = good.slice(rows - 1), good.slice(0, rows - 1)
            yield self._forward(good)
        if self._pending is not None:
            yield self._forward(self._pending)

    def _split(self, rows: pa.RecordBatch, reason: str, bad: Mask, message: str | None = None) -> pa.RecordBatch:
        """The other rows; these are set aside."""
        if not bad.any():
            return rows
        self._invalid.append(Invalid(reason, message, rows.filter(pa.array(bad))))
        return rows.filter(pa.array(~bad))

    def _well_formed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that are events by themselves."""
        columns = self.columns
        required = [(NO_ORDER, name) for name in columns.order]
        if columns.time is not None and self._ascending.get(TIME):
            required.append((NO_TIME, columns.time))
        rows, invalid = split(rows, masks(rows, columns, self._schema, required))
        self._invalid += [Invalid(reason, None, some) for reason, some in invalid]
        for row, message in reversed(list(self._unfit(rows, 0))):
            self._invalid.append(Invalid(BAD_VALUE, message, rows.slice(row, 1)))
            rows = joined([rows.slice(0, row), rows.slice(row + 1)])
        return rows

    def _unfit(self, rows: pa.RecordBatch, first: int) -> Iterator[tuple[int, str]]:
        """The rows that `events_of` refuses, with its messages; they are found by bisection."""
        if not rows.num_rows:
            return
        try:
            events_of(rows, self.columns, self._schema)
        except InputError as error:
            if rows.num_rows == 1:
                yield first, error.message
                return
            middle = rows.num_rows // 2
            yield from self._unfit(rows.slice(0, middle), first)
            yield from self._unfit(rows.slice(middle), first + middle)

    def _placed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows with a place of their own in the order."""
        if not (number := rows.num_rows):
            return rows
        names = (*self.columns.keys, *self.columns.order)
        tied = np.zeros(number, np.bool_)
        pairs = agree(rows.slice(0, number - 1), rows.slice(1), names)
        tied[1:] |= pairs
        tied[:-1] |= pairs
        tied[0] |= self._tied is not None and same(self._tied, rows.slice(0, 1), names)
        self._tied = rows.slice(number - 1) if tied[-1] else None
        return self._split(rows, TIE, tied)

    def _forward(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows whose values do not decrease."""
        before, keys = self._last, Columns((), self.columns.keys)
        self._last = rows.slice(rows.num_rows - 1) if rows.num_rows else before
        for name in self._ascending:
            if rows.num_rows:
                continues = before is not None and same(before, rows.slice(0, 1), keys.keys)
                begins = np.array(begins_of(rows, None, keys)[continues:], np.int64)
                table = events_of(rows, self.columns, self._schema)
                bad, self._greatest[name] = decreasing_rows(table, name, begins, self._greatest[name])
                rows = self._split(rows, BACKWARD, bad, f"{name!r} is less than before")
        return rows


def joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of some batches in one."""
    table = pa.Table.from_batches(batches).combine_chunks()
    (batch,) = table.to_batches() or [batches[0].slice(0, 0)]
    return batch
