"""Evaluate a query over one stream of Arrow tables (a run), and make the table of its matches.

A `SparkRun` is what a worker does with the events of a stream; then come the rows that are read into events, with all
checks, and those that are set aside. Tasks gather small batches of rows first, because Arrow's cost for each batch is
high.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerify.automata.evaluate.scope_columns import decreasing_rows
from cerify.semantics.arrow_columns import numbers_of_decimals
from cerify.semantics.errors import BudgetExceeded, CerifyError, InputError
from cerify.semantics.events import TIME, TYPE, Schema
from cerify.semantics.match_frames import match_schema, no_matches, result_schema
from cerify.semantics.tables import fitted_table
from cerify.semantics.time_columns import UNIT_NAMES, unit_of

NOTHING = no_matches()

Classes: TypeAlias = NDArray[np.int32]
"""For each event the number of its class; events of a class are equal for the query."""


class SparkRun(ABC):
    """The evaluation of a query over one stream. Positions count from the first event of the stream.

    The tables that are pushed have the columns of Stream.table: "type" and one for each attribute. streams: whether
    each match is reported by the push that completes it; if not, `push` only stores events, and `finish` reports all
    matches.
    """

    streams: ClassVar[bool] = True

    @abstractmethod
    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """Read the next events; return the matches that they complete, as a table with the schema `result_schema`.

        classes: the result of `self.classes(table)`, if it was computed.
        """

    def count(self, table: pa.Table, classes: Classes | None = None) -> int:
        """Read the next events; return the exact number of the matches that they complete."""
        return len(self.push(table, classes))

    def classes(self, table: pa.Table) -> Classes | None:
        """Return the class of each event in a table, of one stream or several; None if the run does not use classes."""
        return None

    @property
    def ascending(self) -> Mapping[str, bool]:
        """Return the attributes whose values must not decrease; True for an attribute that every event must have."""
        return {}

    def finish(self) -> pa.Table:
        """Return the matches that the end of the stream completes."""
        return NOTHING

    def finish_count(self) -> int:
        """Return the exact number of the matches that the end of the stream completes."""
        return len(self.finish())

    @property
    def reaches(self) -> int:
        """Return a lower bound for the positions of the events in all matches that are still to be reported."""
        return 0


PositionMap = Callable[[pa.Array], pa.Array]
"""A function from an array of positions to an array of identifiers of the same length."""


def map_positions(matches: pa.Table, place: pa.DataType, identify: PositionMap) -> pa.Table:
    """Return the matches with identifiers of events instead of positions.

    identify: a function from positions to identifiers. place: the type of the identifiers.
    """
    columns = {name: matches[name].combine_chunks() for name in result_schema().names}
    schema, events, bindings = match_schema(place), columns["events"], columns["bindings"]
    if bindings.null_count:  # a query without bindings: all are null
        bound = pa.nulls(len(bindings), schema.field("bindings").type)
    else:
        lists = pa.ListArray.from_arrays(bindings.items.offsets, identify(bindings.items.values))
        bound = pa.MapArray.from_arrays(bindings.offsets, bindings.keys, lists)
    named = pa.ListArray.from_arrays(events.offsets, identify(events.values))
    return pa.table(columns | {"at": identify(columns["at"]), "events": named, "bindings": bound}, schema=schema)


def shift_positions(matches: pa.Table, by: int) -> pa.Table:
    """Return the matches with `by` added to all positions."""
    return map_positions(matches, pa.int64(), lambda positions: pc.add(positions, by)) if by else matches


# ---------------------------------------------------------------------------------------------------------------------
# The rows of a data frame as the events of streams: the columns that a query needs, and the checks of the rows.
#
# A worker reads the rows of a key one after the other, in their order. Two rows of a key with the same place in the
# order are an error, since the answer would depend on chance; so is a row without a place in the order or without a
# type.

AT_ONCE = 65_536  # rows
MOST_VALUES = 1_000  # of an array
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
Longs: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Columns:
    """The columns of the data by purpose: order, key, type, id, time and attributes of events.

    Without an id, events are identified by their positions. One column may have several purposes.
    """

    order: tuple[str, ...]
    keys: tuple[str, ...] = ()
    type: str = TYPE
    id: str | None = None
    time: str | None = None
    attributes: tuple[str, ...] = ()

    @property
    def all_columns(self) -> tuple[str, ...]:
        """Return all columns, each once."""
        optional = (name for name in (self.id, self.time) if name is not None)
        return tuple(dict.fromkeys((*self.keys, *self.order, self.type, *optional, *self.attributes)))


@dataclass(frozen=True)
class SparkRows:
    """Consecutive rows of one key, as the table of a stream.

    begins: whether they are the first rows of the key. key: the columns of the key, each with one value.
    """

    begins: bool
    key: dict[str, pa.Array]
    table: pa.Table
    ids: pa.Array | None
    classes: Classes | None


@dataclass(frozen=True)
class RowsOfKeys:
    """Consecutive rows of the input, with the streams of several keys one after the other, and their events.

    firsts: int64 [streams], the first row of each stream. before: the number of earlier rows of the stream that row 0
    belongs to. classes: the classes of the events, or None.
    """

    batch: pa.RecordBatch
    columns: Columns
    firsts: Longs
    before: int
    table: pa.Table
    classes: Classes | None

    @property
    def begins(self) -> Longs:
        """Return the rows at which a stream begins."""
        return self.firsts[1:] if self.before else self.firsts

    def origins(self, base: int = 0) -> Longs:
        """Return for each stream the position of its first event. base: the position of row 0."""
        found = self.firsts + base
        found[0] -= self.before
        return found

    @property
    def ids(self) -> pa.Array | None:
        """Return the ids of the events."""
        return None if self.columns.id is None else self.batch.column(self.columns.id)

    def keys(self, streams: Longs) -> dict[str, pa.Array]:
        """Return the key columns, with a row for each of these streams. streams: their numbers."""
        rows = pa.array(self.firsts[streams])
        return {name: self.batch.column(name).take(rows) for name in self.columns.keys}

    def key(self, stream: int) -> dict[str, pa.Array]:
        """Return the key columns of one stream, each with one value."""
        return {name: self.batch.column(name).slice(int(self.firsts[stream]), 1) for name in self.columns.keys}

    def streams(self, numbers: Iterable[int] | None = None) -> Iterator[SparkRows]:
        """Yield the rows of each stream. numbers: yield only these streams."""
        edges = [*self.firsts.tolist(), self.batch.num_rows]
        for i in range(len(self.firsts)) if numbers is None else numbers:
            begin, end = edges[i : i + 2]
            part = slice(begin, end)
            yield SparkRows(
                i > 0 or not self.before,
                self.key(i),
                self.table.slice(begin, end - begin),
                None if self.ids is None else self.ids[part],
                None if self.classes is None else self.classes[part],
            )


Classify: TypeAlias = Callable[[pa.Table], Classes | None]


def unused(name: str, names: Iterable[str]) -> str:
    """Return the name with underscores added until no column has it, ignoring case."""
    taken = {one.lower() for one in names}
    while name.lower() in taken:
        name += "_"
    return name


def rows_of(
    batches: Iterable[pa.RecordBatch], columns: Columns, schema: Schema | None, classify: Classify | None = None
) -> Iterator[RowsOfKeys]:
    """Yield the rows of some batches with the streams to which they belong, and their classes. Raises InputError."""
    last: pa.RecordBatch | None = None
    before = 0  # rows of the last stream so far
    for batch in batches:
        if not batch.num_rows:
            yield RowsOfKeys(batch, columns, np.zeros(0, np.int64), 0, pa.table({}), None)
            continue
        _require_places(batch, columns)
        firsts = np.array(begins_of(batch, last, columns), np.int64)
        if last is None or not same(last, batch.slice(0, 1), columns.keys):
            before = 0
        table = events_of(batch, columns, schema)
        yield RowsOfKeys(batch, columns, firsts, before, table, None if classify is None else classify(table))
        last = batch.slice(batch.num_rows - 1)
        # A stream can go through several batches: with one stream in this batch, the rows counted before still belong
        # to it.
        before = batch.num_rows - int(firsts[-1]) + (before if len(firsts) == 1 else 0)


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows in larger batches, of at least AT_ONCE rows except for the last one.

    Each batch has a fixed cost.
    """
    some: list[pa.RecordBatch] = []
    for batch in batches:
        some.append(batch)
        if sum(b.num_rows for b in some) >= AT_ONCE:
            yield from _combine_batches(some)
            some = []
    yield from _combine_batches(some)


def _combine_batches(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    return pa.Table.from_batches(batches).combine_chunks().to_batches() if any(b.num_rows for b in batches) else []


def events_of(batch: pa.RecordBatch, columns: Columns, schema: Schema | None) -> pa.Table:
    """Return the rows as the table of a stream.

    Raises InputError for a row that has no type or no id, or that does not fit the schema.
    """
    types = batch.column(columns.type)
    if types.null_count:
        row = pc.index(types.is_null(), True).as_py()
        raise InputError(
            f"{place(batch, row, columns)}: the column {columns.type!r} is empty; every event needs a type"
        )
    if columns.id is not None and batch.column(columns.id).null_count:
        row = pc.index(batch.column(columns.id).is_null(), True).as_py()
        raise InputError(f"{place(batch, row, columns)}: the column {columns.id!r} is empty; it identifies the event")
    parts: dict[str, pa.Array] = {}
    for name in columns.attributes:
        parts |= _values_of_field(name, batch.column(name))
    parts[TYPE] = types
    if columns.time is not None:
        parts[TIME] = batch.column(columns.time)
        _require_seconds(parts[TIME], batch, columns)
    return fitted_table(pa.table(parts), schema, {}, "the data", lambda row: place(batch, row, columns))


def _values_of_field(name: str, column: pa.Array) -> dict[str, pa.Array]:
    """Return the columns for a field of EQL. Arrays have several: `name` for the first value that is not null,
    `name[1]` for the next, and so on.

    Raises InputError for an array that is longer than MOST_VALUES.
    """
    if not pa.types.is_list(column.type):
        return {name: numbers_of_decimals(column)}
    parents, values = pc.list_parent_indices(column).to_numpy(), pc.list_flatten(column)
    there = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
    parents = parents[there]
    # Counted after nulls are left out, as in JSON documents: [null, "a"] gives `name` the value "a".
    places = np.arange(len(parents)) - np.searchsorted(parents, parents)
    if (longest := int(places.max(initial=0)) + 1) > MOST_VALUES:
        raise InputError(f"the field {name!r} has an array of {longest:,} values; at most {MOST_VALUES:,} are read")
    found = {}
    for n in range(longest):
        rows = np.full(len(column), -1)
        rows[parents[places == n]] = there[places == n]
        found[f"{name}[{n}]" if n else name] = numbers_of_decimals(values.take(pa.array(rows, mask=rows < 0)))
    return found


def _require_seconds(times: pa.Array, batch: pa.RecordBatch, columns: Columns) -> None:
    """Raise InputError for whole numbers that seem to be milliseconds or smaller units since 1970 instead of seconds.

    The unit is not detected here as it is for files: a batch is only a part of the data, and others may look different.
    """
    if pa.types.is_floating(times.type) and times.null_count < len(times):
        raise InputError(
            f"{place(batch, 0, columns)}: the column {columns.time!r} has floats; if they are seconds since "
            "1970, write time_unit='s'"
        )
    if not pa.types.is_integer(times.type) or times.null_count == len(times):
        return
    extremes = pc.min_max(times).as_py()
    unit = unit_of(extremes["min"], extremes["max"])
    if unit != "s":
        convert = {"ms": "timestamp_millis", "us": "timestamp_micros"}.get(unit)
        advice = f"{convert}({columns.time})" if convert else f"timestamp_micros({columns.time} div 1000)"
        raise InputError(
            f"{place(batch, 0, columns)}: the column {columns.time!r} has {UNIT_NAMES[unit]} since 1970, but a time "
            f"must be in seconds or a timestamp. Give time_unit={unit!r}, or convert the column, in SQL by {advice}"
        )


def place(batch: pa.RecordBatch, row: int, columns: Columns) -> str:
    """Return, for messages, the place of a row: its key, and its values in the order."""
    values = {name: batch.column(name)[row].as_py() for name in (*columns.keys, *columns.order)}
    return format_values(values)


def format_values(values: Mapping[str, Any]) -> str:
    """Return names with their values, as `name=value, …`."""
    return ", ".join(f"{name}={v!r}" if isinstance(v, str) else f"{name}={v}" for name, v in values.items())


def _require_places(batch: pa.RecordBatch, columns: Columns) -> None:
    """Raise InputError if a column that orders the rows has a null."""
    for name in columns.order:
        if batch.column(name).null_count:
            row = pc.index(batch.column(name).is_null(), True).as_py()
            raise InputError(
                f"{place(batch, row, columns)}: the column {name!r} is empty; every event has a place in the order"
            )


def begins_of(batch: pa.RecordBatch, last: pa.RecordBatch | None, columns: Columns) -> list[int]:
    """Return the indices at which the rows of a new key begin, including 0. Raises InputError for ties.

    A tie is a row with the same key and the same place in the order as the row before. last: the row before the batch.
    Two rows without a value in a column count as equal in it.
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
        f"{place(batch, row, columns)}: two events{of} have the same place in the order, so their sequence "
        f"is undefined. Order by more columns than {', '.join(columns.order)}; if it is one event twice, drop one by "
        "dropDuplicates"
    )


def same(left: pa.RecordBatch, right: pa.RecordBatch, names: tuple[str, ...]) -> bool:
    """Return whether two batches of one row each are equal in these columns."""
    return bool(agree(left, right, names).all())


def agree(left: pa.RecordBatch, right: pa.RecordBatch, names: tuple[str, ...]) -> Mask:
    """Return for each row whether two batches are equal in these columns. Nulls are equal, and so are NaNs."""
    found: list[Mask] = [_equal(left.column(name), right.column(name)) for name in names]
    return reduce(np.logical_and, found, np.ones(left.num_rows, np.bool_))


def _equal(left: pa.Array, right: pa.Array) -> Mask:
    equal = pc.fill_null(pc.equal(left, right), False)
    if left.null_count and right.null_count:
        equal = pc.or_(equal, pc.and_(left.is_null(), right.is_null()))
    if pa.types.is_floating(left.type):
        # Spark groups NaNs into one key and orders them as equal.
        equal = pc.or_(equal, pc.fill_null(pc.and_(pc.is_nan(left), pc.is_nan(right)), False))
    mask: Mask = equal.to_numpy(zero_copy_only=False)
    return mask


# ---------------------------------------------------------------------------------------------------------------------
# The rows that are no events of streams, and the keys that cannot be evaluated, each with its reason.

NO_KEY, NO_ORDER, NO_TIME, NO_TYPE = "no key", "no order", "no time", "no type"
NOT_IN_SCHEMA, BAD_VALUE, TIE, BACKWARD = "not in the schema", "bad value", "tie", "backward"
OVER_BUDGET, FAILED = "over budget", "failed"
REASONS = NO_KEY, NO_ORDER, NO_TIME, NO_TYPE, NOT_IN_SCHEMA, BAD_VALUE, TIE, BACKWARD, OVER_BUDGET, FAILED
"""The reasons for which a row or a key is set aside in batches."""


InvalidRows = TypeVar("InvalidRows", pa.Table, pa.RecordBatch)


@dataclass(frozen=True)
class Invalid:
    """Rows that are set aside for one reason. message: the error that they would have caused, or None."""

    reason: str
    message: str | None
    rows: pa.RecordBatch


def masks(
    rows: pa.Table | pa.RecordBatch, columns: Columns, schema: Schema | None, required: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, Mask]]:
    """Yield each reason for which rows are invalid, with a mask of these rows.

    required: pairs (reason, column); a row without a value in the column is invalid for this reason.
    """
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


def split(rows: InvalidRows, reasons: Iterable[tuple[str, Mask]]) -> tuple[InvalidRows, list[tuple[str, InvalidRows]]]:
    """Return (valid, invalid): the rows without a reason, and pairs (reason, rows) by the first reason that applies."""
    left, invalid = np.ones(rows.num_rows, np.bool_), []
    for reason, bad in reasons:
        if (found := left & bad).any():
            invalid.append((reason, rows.filter(pa.array(found))))
            left &= ~found
    return rows.filter(pa.array(left)) if invalid else rows, invalid


def nothing(column: pa.Array | pa.ChunkedArray) -> Mask:
    """Return a mask of the rows that have no value in a column: null or NaN."""
    return mask(column.is_null(nan_is_null=pa.types.is_floating(column.type)))


def mask(values: pa.Array | pa.ChunkedArray) -> Mask:
    """Return a column of Booleans as a NumPy array; a null becomes False."""
    filled = pc.fill_null(values, False)
    found: Mask = np.asarray(filled) if isinstance(filled, pa.ChunkedArray) else filled.to_numpy(zero_copy_only=False)
    return found


def _among(types: pa.Array | pa.ChunkedArray, names: list[str]) -> pa.Array | pa.ChunkedArray:
    return pc.is_in(types, pa.array(names, types.type))


class ValidRows:
    """Finds the valid rows of some batches. The others are set aside, until `take` returns them.

    ascending: see SparkRun.ascending; a row that breaks this is invalid. The last row of a batch is kept for the next
    one, because it may have the same place in the order as the row after it.
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
        """Return the rows that have been set aside since the last call."""
        found, self._invalid = self._invalid, []
        return found

    def set_aside_key(self, key: Mapping[str, pa.Array], error: CerifyError) -> None:
        """Set a failed key aside, as a row in which only the columns of the key have values. error: why it failed."""
        reason = OVER_BUDGET if isinstance(error, BudgetExceeded) else FAILED
        fields = pa.schema([self._fields.field(name).with_nullable(True) for name in self.columns.all_columns])
        columns = [key[field.name] if field.name in key else pa.nulls(1, field.type) for field in fields]
        self._invalid.append(Invalid(reason, error.message, pa.record_batch(columns, schema=fields)))

    def filter_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the valid rows of each batch, which may be empty."""
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
        """Set rows aside, and return the others."""
        if not bad.any():
            return rows
        self._invalid.append(Invalid(reason, message, rows.filter(pa.array(bad))))
        return rows.filter(pa.array(~bad))

    def _well_formed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that are valid, each looked at alone; keep the others as invalid."""
        columns = self.columns
        required = [(NO_ORDER, name) for name in columns.order]
        if columns.time is not None and self._ascending.get(TIME):
            required.append((NO_TIME, columns.time))
        rows, invalid = split(rows, masks(rows, columns, self._schema, required))
        self._invalid += [Invalid(reason, None, some) for reason, some in invalid]
        # From the end, so that the indices of the rows before stay right while rows are taken out.
        for row, message in reversed(list(self._unfit(rows, 0))):
            self._invalid.append(Invalid(BAD_VALUE, message, rows.slice(row, 1)))
            rows = joined([rows.slice(0, row), rows.slice(row + 1)])
        return rows

    def _unfit(self, rows: pa.RecordBatch, first: int) -> Iterator[tuple[int, str]]:
        """Yield the index of each row that `events_of` refuses, with the error message. The rows are found by
        bisection.
        """
        if not rows.num_rows:
            return
        try:
            events_of(rows, self.columns, self._schema)
        except InputError as error:
            if rows.num_rows == 1:
                yield first, error.message
                return
            # Most batches have no such row and are read once; testing row by row would read each one alone.
            middle = rows.num_rows // 2
            yield from self._unfit(rows.slice(0, middle), first)
            yield from self._unfit(rows.slice(middle), first + middle)

    def _placed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows whose place in the order is unique."""
        if not (number := rows.num_rows):
            return rows
        names = (*self.columns.keys, *self.columns.order)
        tied = np.zeros(number, np.bool_)
        pairs = agree(rows.slice(0, number - 1), rows.slice(1), names)
        # Both rows of a tie are set aside: to keep one of them would make the answer depend on chance.
        tied[1:] |= pairs
        tied[:-1] |= pairs
        tied[0] |= self._tied is not None and same(self._tied, rows.slice(0, 1), names)
        self._tied = rows.slice(number - 1) if tied[-1] else None
        return self._split(rows, TIE, tied)

    def _forward(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows whose values, in the ascending attributes, do not decrease."""
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
    """Return the rows of some batches in one batch."""
    table = pa.Table.from_batches(batches).combine_chunks()
    (batch,) = table.to_batches() or [batches[0].slice(0, 0)]
    return batch
