"""The rows of a data frame as the events of streams: the columns that a query needs, and the checks of the rows.

A worker reads the rows of a key one after the other, in their order. Two rows of a key with the same place in the order
are an error, since the answer would depend on chance; so is a row without a place in the order or without a type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerify.semantics.arrow_tables import fitted_table
from cerify.semantics.errors import InputError
from cerify.semantics.events import TIME, TYPE, Schema
from cerify.spark.runs.decimals import plain_numbers
from cerify.spark.runs.run import Classes

AT_ONCE = 65_536  # rows
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
Longs: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Columns:
    """The columns of the data by purpose: the order, the key, the type of an event, its id, its time, its attributes.

    Without an id events are identified by their positions. A column may have several purposes.
    """

    order: tuple[str, ...]
    keys: tuple[str, ...] = ()
    type: str = TYPE
    id: str | None = None
    time: str | None = None
    attributes: tuple[str, ...] = ()

    @property
    def needed(self) -> tuple[str, ...]:
        """All columns, each once."""
        optional = (name for name in (self.id, self.time) if name is not None)
        return tuple(dict.fromkeys((*self.keys, *self.order, self.type, *optional, *self.attributes)))


@dataclass(frozen=True)
class Rows:
    """Consecutive rows of one key as the table of a stream; begins: whether they are the first of their key.

    key: the columns of the key, of one row.
    """

    begins: bool
    key: dict[str, pa.Array]
    table: pa.Table
    ids: pa.Array | None
    classes: Classes | None


@dataclass(frozen=True)
class KeyedRows:
    """Consecutive rows of some keys, with the table of their events, one stream after the other.

    firsts: int64 [streams], the first row of each; before: the number of earlier rows of the stream of row 0. classes:
    those of the events, or None.
    """

    batch: pa.RecordBatch
    columns: Columns
    firsts: Longs
    before: int
    table: pa.Table
    classes: Classes | None

    @property
    def begins(self) -> Longs:
        """The rows at which a stream begins."""
        return self.firsts[1:] if self.before else self.firsts

    def origins(self, base: int = 0) -> Longs:
        """The position of the first event of each stream, where row 0 has the position base."""
        found = self.firsts + base
        found[0] -= self.before
        return found

    @property
    def ids(self) -> pa.Array | None:
        """The ids of the events."""
        return None if self.columns.id is None else self.batch.column(self.columns.id)

    def keys(self, streams: Longs) -> dict[str, pa.Array]:
        """The columns of the key, for some of the streams by their numbers."""
        rows = pa.array(self.firsts[streams])
        return {name: self.batch.column(name).take(rows) for name in self.columns.keys}

    def key(self, stream: int) -> dict[str, pa.Array]:
        """The columns of the key of one of the streams, of one row."""
        return {name: self.batch.column(name).slice(int(self.firsts[stream]), 1) for name in self.columns.keys}

    def streams(self) -> Iterator[Rows]:
        """The rows of each stream."""
        ends = [*self.firsts[1:].tolist(), self.batch.num_rows]
        for i, begin in enumerate(self.firsts.tolist()):
            part = slice(begin, ends[i])
            yield Rows(
                i > 0 or not self.before,
                self.key(i),
                self.table.slice(begin, ends[i] - begin),
                None if self.ids is None else self.ids[part],
                None if self.classes is None else self.classes[part],
            )


Classify: TypeAlias = Callable[[pa.Table], Classes | None]


def unused(name: str, names: Iterable[str]) -> str:
    """The name, with underscores after it if columns are called so, in any case."""
    taken = {one.lower() for one in names}
    while name.lower() in taken:
        name += "_"
    return name


def rows_of(
    batches: Iterable[pa.RecordBatch], columns: Columns, schema: Schema | None, classify: Classify | None = None
) -> Iterator[KeyedRows]:
    """The rows of some batches, with their classes. Raises InputError."""
    last: pa.RecordBatch | None = None
    before = 0  # rows of the last stream so far
    for batch in batches:
        if not batch.num_rows:
            yield KeyedRows(batch, columns, np.zeros(0, np.int64), 0, pa.table({}), None)
            continue
        _require_places(batch, columns)
        firsts = np.array(begins_of(batch, last, columns), np.int64)
        if last is None or not same(last, batch.slice(0, 1), columns.keys):
            before = 0
        table = events_of(batch, columns, schema)
        yield KeyedRows(batch, columns, firsts, before, table, None if classify is None else classify(table))
        last = batch.slice(batch.num_rows - 1)
        before = batch.num_rows - int(firsts[-1]) + (before if len(firsts) == 1 else 0)


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of at least AT_ONCE rows, except the last, since each batch has a fixed cost."""
    some: list[pa.RecordBatch] = []
    for batch in batches:
        some.append(batch)
        if sum(b.num_rows for b in some) >= AT_ONCE:
            yield from _one(some)
            some = []
    yield from _one(some)


def _one(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    return pa.Table.from_batches(batches).combine_chunks().to_batches() if any(b.num_rows for b in batches) else []


def events_of(batch: pa.RecordBatch, columns: Columns, schema: Schema | None) -> pa.Table:
    """The table of a stream with these rows. Raises InputError for one without type or id, or not in the schema."""
    types = batch.column(columns.type)
    if types.null_count:
        row = pc.index(types.is_null(), True).as_py()
        raise InputError(f"{place(batch, row, columns)}: the column {columns.type!r} is empty; every event has a type")
    if columns.id is not None and batch.column(columns.id).null_count:
        row = pc.index(batch.column(columns.id).is_null(), True).as_py()
        raise InputError(f"{place(batch, row, columns)}: the column {columns.id!r} is empty; it identifies the event")
    parts = {name: plain_numbers(batch.column(name)) for name in columns.attributes} | {TYPE: types}
    if columns.time is not None:
        parts[TIME] = batch.column(columns.time)
    return fitted_table(pa.table(parts), schema, {}, "the data", lambda row: place(batch, row, columns))


def place(batch: pa.RecordBatch, row: int, columns: Columns) -> str:
    """The place of a row for messages: its key, and its place in the order."""
    values = {name: batch.column(name)[row].as_py() for name in (*columns.keys, *columns.order)}
    return shown(values)


def shown(values: Mapping[str, Any]) -> str:
    """Names with their values, as `name=value, …`."""
    return ", ".join(f"{name}={v!r}" if isinstance(v, str) else f"{name}={v}" for name, v in values.items())


def _require_places(batch: pa.RecordBatch, columns: Columns) -> None:
    """Raises InputError for nulls in the order."""
    for name in columns.order:
        if batch.column(name).null_count:
            row = pc.index(batch.column(name).is_null(), True).as_py()
            raise InputError(
                f"{place(batch, row, columns)}: the column {name!r} is empty; every event has a place in the order"
            )


def begins_of(batch: pa.RecordBatch, last: pa.RecordBatch | None, columns: Columns) -> list[int]:
    """The indices at which the rows of a key begin, 0 included; last: the row before them. Raises InputError for ties.

    Two rows without a value in a column agree on it.
    """
    rest, before = batch.slice(1), batch.slice(0, batch.num_rows - 1)
    same_key = agree(before, rest, columns.keys)
    if columns.order:  # else the caller has sorted the rows
        tied = np.flatnonzero(same_key & agree(before, rest, columns.order))
        if tied.size:
            raise _tie(batch, int(tied[0]) + 1, columns)
        if last is not None and same(last, batch.slice(0, 1), (*columns.keys, *columns.order)):
            raise _tie(batch, 0, columns)
    return [0, *(np.flatnonzero(~same_key) + 1).tolist()]


def _tie(batch: pa.RecordBatch, row: int, columns: Columns) -> InputError:
    of = "" if not columns.keys else f" of {', '.join(columns.keys)}"
    return InputError(
        f"{place(batch, row, columns)}: two events{of} have the same place in the order, so that their "
        f"sequence is undefined; order by more columns than {', '.join(columns.order)}, or, if it is one event twice, "
        "drop one by dropDuplicates"
    )


def same(left: pa.RecordBatch, right: pa.RecordBatch, names: tuple[str, ...]) -> bool:
    """Whether two rows agree on these columns."""
    return bool(agree(left, right, names).all())


def agree(left: pa.RecordBatch, right: pa.RecordBatch, names: tuple[str, ...]) -> Mask:
    """Row by row, whether two batches agree on these columns; null agrees with null, and NaN with NaN."""
    found: list[Mask] = [_equal(left.column(name), right.column(name)) for name in names]
    return reduce(np.logical_and, found, np.ones(left.num_rows, np.bool_))


def _equal(left: pa.Array, right: pa.Array) -> Mask:
    equal = pc.fill_null(pc.equal(left, right), False)
    if left.null_count and right.null_count:
        equal = pc.or_(equal, pc.and_(left.is_null(), right.is_null()))
    if pa.types.is_floating(left.type):
        equal = pc.or_(equal, pc.fill_null(pc.and_(pc.is_nan(left), pc.is_nan(right)), False))
    mask: Mask = equal.to_numpy(zero_copy_only=False)
    return mask
