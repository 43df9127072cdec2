"""Compute the answer of a worker for the rows of some keys: the matches in each key's stream, with its key and ids.

A worker gets the rows of many keys, sorted by key. `OneByOne` evaluates each key by itself; `Together` evaluates many
small streams in one pass, because starting an evaluator for each of a million short keys costs more than the matching.
Rows that cannot be events are set aside with a reason, or raise.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerify.automata.evaluate.scope import Unordered, decrease
from cerify.semantics.arguments import Budget
from cerify.semantics.arrow_columns import ARROW, value_type_of_column
from cerify.semantics.cel.denote import NO_PREDICATES, Predicates
from cerify.semantics.errors import CerifyError, InputError, InternalError, Unsupported
from cerify.semantics.events import TIME
from cerify.semantics.match_frames import match_schema
from cerify.semantics.predicates import Term
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.check import value_type
from cerify.semantics.sase.syntax import names_of
from cerify.semantics.values import ValueType, parse_time
from cerify.spark.rows import (
    Columns,
    Invalid,
    Longs,
    RowsOfKeys,
    SparkRows,
    SparkRun,
    ValidRows,
    format_values,
    gathered,
    map_positions,
    rows_of,
    shift_positions,
)
from cerify.spark.runs import (
    Concatenated,
    Failures,
    Make,
    SaseStreams,
    SparkQuery,
    concatenated,
    starting,
    streams_of,
    whole_streams,
)
from cerify.spark.transport import KIND, MATCH, MESSAGE, ROW, serialize_error

Output = Literal["matches", "valuations", "count", "events"]
OnError = Literal["fail", "aside"]
DIGITS = 38  # of a number in a column
LARGE = 1 << 61  # numbers of matches whose sum may reach this are added as Python's integers
ROWS = 65_536  # of a batch of the answer


def answer_batches(
    batches: Iterable[pa.RecordBatch],
    query: str,
    columns: Columns,
    output: Output,
    budget: Budget,
    on_error: OnError = "fail",
    predicates: Predicates = NO_PREDICATES,
) -> Iterator[pa.RecordBatch]:
    """Yield the answer of a query for the rows of a task, in batches. The rows are grouped by key and in order.

    query: a SparkQuery as JSON. on_error: with "fail", errors of rows and keys are raised. With "aside", the answer
    also has the columns KIND, MESSAGE and ROW, and includes the rows and keys that have errors.
    """
    with serialize_error():
        parsed = SparkQuery.from_json(query, predicates)
        # One run for all keys if there is such an evaluator: with many small keys, starting runs costs more than the
        # events.
        together, make = concatenated(parsed, budget), starting(parsed, budget)
        run = make() if together is None else together
        valid = ValidRows(columns, parsed.schema, run.ascending) if on_error == "aside" else None
        whole = whole_streams(parsed, budget) if together is None else None
        reader = OneByOne(make, output, valid, whole) if together is None else Together(together, output, valid)
        some, fields, kind = gathered(batches), None, pa.string()
        for rows in rows_of(some if valid is None else valid.filter_batches(some), columns, parsed.schema, run.classes):
            # Only the first rows show the types of the columns.
            if fields is None:
                kind = result_type(parsed, columns, rows.batch.schema)
                fields = answer_fields(rows.batch.schema, columns, output, kind if parsed.plugin.results else None)
            yield from batches_of(_with_aside(with_typed_results(reader.answer_rows(rows), kind), valid, fields))
        yield from batches_of(_with_aside(with_typed_results(reader.finish(), kind), valid, fields))


def batches_of(tables: list[pa.Table]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some tables in batches."""
    if some := [table for table in tables if table.num_rows]:
        yield from pa.concat_tables(some).combine_chunks().to_batches(ROWS)


def answer_fields(schema: pa.Schema, columns: Columns, output: Output, result: pa.DataType | None) -> pa.Schema:
    """Return the schema of an answer, including the columns for on_error="aside".

    schema: that of the rows of the input. result: the type of the results of matches, None if they have none.
    """
    place = pa.int64() if columns.id is None else schema.field(columns.id).type
    match output:
        case "count":
            fields = [pa.field("count", pa.decimal128(DIGITS, 0)), pa.field("digits", pa.string())]
        case "events":
            fields = [pa.field("match", pa.int64()), pa.field("at", place), pa.field("event", place)]
        case _:
            fields = [field for field in match_schema(place) if field.name != NAME]
            fields += [] if result is None else [pa.field(NAME, result)]
    row = pa.struct([schema.field(name).with_nullable(True) for name in columns.all_columns])
    keys = [pa.field(name, schema.field(name).type) for name in columns.keys]
    return pa.schema([*keys, *fields, (KIND, pa.string()), (MESSAGE, pa.string()), (ROW, row)])


def _with_aside(tables: list[pa.Table], valid: ValidRows | None, fields: pa.Schema | None) -> list[pa.Table]:
    """Return the rows of the answer; if valid and fields are given, also the rows that were set aside."""
    if valid is None or fields is None:
        return tables
    found = []
    for table in tables:
        if n := table.num_rows:
            more = [pa.repeat(MATCH, n), pa.nulls(n, pa.string()), pa.nulls(n, fields.field(ROW).type)]
            found.append(pa.table([*table.columns, *more], schema=fields))
    return found + [_aside(invalid, valid.columns, fields) for invalid in valid.take()]


def _aside(invalid: Invalid, columns: Columns, fields: pa.Schema) -> pa.Table:
    """Return rows that were set aside, in the form of rows of the answer."""
    n, rows, row = invalid.rows.num_rows, invalid.rows, fields.field(ROW).type
    parts = {name: rows.column(name) for name in columns.keys} | {KIND: pa.repeat(invalid.reason, n)}
    parts[MESSAGE] = pa.repeat(pa.scalar(invalid.message, pa.string()), n)
    parts[ROW] = pa.StructArray.from_arrays([rows.column(field.name) for field in row], fields=list(row))
    return pa.table([parts.get(field.name, pa.nulls(n, field.type)) for field in fields], schema=fields)


def number_columns(number: int) -> tuple[Decimal | None, str]:
    """Return a number of matches as two columns: a decimal (None if it has too many digits), and a text."""
    digits = str(Decimal(number))  # str of an integer stops at some thousand digits
    return Decimal(number) if len(digits) <= DIGITS else None, digits


def counts(numbers: NDArray[Any]) -> dict[str, pa.Array]:
    """Convert numbers of matches, one for each stream, to the columns of an answer with output="count"."""
    if numbers.dtype != object:
        return {
            "count": pa.array(numbers).cast(pa.decimal128(DIGITS, 0)),
            "digits": pa.array(numbers).cast(pa.string()),
        }
    pairs = [number_columns(number) for number in numbers.tolist()]
    kinds = {"count": pa.decimal128(DIGITS, 0), "digits": pa.string()}
    return {name: pa.array([pair[i] for pair in pairs], kind) for i, (name, kind) in enumerate(kinds.items())}


class Reader(ABC):
    """Makes the tables of an answer from the rows of a task: the rows of several streams, one stream after the other.

    valid: collects the keys that fail; None if their errors are raised.
    """

    @abstractmethod
    def answer_rows(self, rows: RowsOfKeys) -> list[pa.Table]:
        """Read the next rows of the input; return the rows of the answer that they complete."""

    @abstractmethod
    def finish(self) -> list[pa.Table]:
        """Return the rows of the answer that the end of the last stream completes."""


class OneByOne(Reader):
    """Reads each stream with its own run.

    whole: reads together those streams that are complete in the rows of one call; None if there is no such evaluator.
    """

    def __init__(self, make: Make, output: Output, valid: ValidRows | None, whole: SaseStreams | None) -> None:
        self._make, self._output, self._valid, self._whole = make, output, valid, whole
        self._stream: Answering | None = None
        self._failed = False

    def answer_rows(self, rows: RowsOfKeys) -> list[pa.Table]:
        """Read the next rows of the input; return the rows of the answer that they complete."""
        numbers = list(range(len(rows.firsts)))
        found = self._read_whole(rows, 1 if rows.before else 0, len(numbers) - 1)
        if found:
            # The first stream may have begun in earlier rows, and the last one may go on in later rows.
            numbers = [*numbers[: 1 if rows.before else 0], numbers[-1]]
        for part in rows.streams(numbers):
            if part.begins or self._stream is None:
                found += self.finish()
                self._stream, self._failed = Answering(self._make(), part.key, self._output), False
            found += self._try(partial(Answering.push, rows=part))
        return found

    def finish(self) -> list[pa.Table]:
        """Return the rows of the answer that the end of the last stream completes."""
        return self._try(Answering.finish)

    def _read_whole(self, rows: RowsOfKeys, begin: int, end: int) -> list[pa.Table]:
        """Return the answer for the streams from begin to end - 1 as one table; an empty list if they must be read one
        by one.
        """
        if self._whole is None or end - begin < 2:
            return []
        firsts = rows.firsts[begin:end]
        first = int(firsts[0])
        try:
            known = self._whole.matches(rows.table.slice(first, int(rows.firsts[end]) - first), firsts - first)
        except CerifyError:  # a stream alone may not fail, and the error has to name the key
            return []
        if isinstance(known, Unsupported):
            return []
        found = shift_positions(known, first)
        streams = streams_of(rows.firsts, found["at"].to_numpy())
        if self._output == "count":
            numbers = np.bincount(streams, minlength=end)[begin:]
            return [pa.table(rows.keys(np.arange(begin, end)) | counts(numbers))]
        if rows.ids is None:

            def identify(positions: pa.Array) -> pa.Array:
                of = positions.to_numpy()
                return pa.array(of - rows.firsts[streams_of(rows.firsts, of)])

            named = map_positions(found, pa.int64(), identify)
        else:
            named = map_positions(found, rows.ids.type, rows.ids.take)
        if self._output != "events":
            return [pa.table(rows.keys(streams) | {name: named[name] for name in named.column_names})]
        events = named["events"].combine_chunks()
        parents = pc.list_parent_indices(events)
        matches = pa.array(np.arange(len(streams)) - np.searchsorted(streams, streams))
        columns = {
            "match": matches.take(parents),
            "at": named["at"].combine_chunks().take(parents),
            "event": events.flatten(),
        }
        return [pa.table(rows.keys(streams[parents.to_numpy()]) | columns)]

    def _try(self, step: Callable[[Answering], pa.Table]) -> list[pa.Table]:
        stream = self._stream
        if stream is None or self._failed:
            return []
        try:
            return [step(stream)]
        except CerifyError as error:
            if self._valid is None or isinstance(error, InternalError):
                raise
            self._failed = True
            self._valid.set_aside_key(stream.key, error)
            return []


class _FailedStreams(Failures):
    """The failed streams in one batch of rows. failed: whether the stream at the end of the previous batch failed."""

    def __init__(self, rows: RowsOfKeys, valid: ValidRows | None, failed: bool) -> None:
        self._rows, self._valid = rows, valid
        self.streams = {0} if failed and rows.before else set()

    def add(self, stream: int, error: CerifyError) -> None:
        """Record that a stream failed with this error; see Failures."""
        key = self._rows.key(stream)
        _place(error, key)
        if self._valid is None:
            raise error
        self.streams.add(stream)
        self._valid.set_aside_key(key, error)


class Together(Reader):
    """Reads all streams of a task with one run, one stream after the other."""

    def __init__(self, run: Concatenated, output: Output, valid: ValidRows | None) -> None:
        self._run, self._output, self._valid = run, output, valid
        self._ids: _Ids | None = None
        self._number = 0  # of matches of the last stream
        self._failed = False  # the last stream
        self._last: dict[str, pa.Array] | None = None  # the key of the last stream

    def answer_rows(self, rows: RowsOfKeys) -> list[pa.Table]:
        """Read the next rows of the input; return the rows of the answer that they complete."""
        if not rows.firsts.size:
            return []
        if rows.ids is not None:
            self._ids = self._ids or _Ids(rows.ids.type)
            self._ids.add(rows.ids)
        first, failures = rows.origins(self._run.position), _FailedStreams(rows, self._valid, self._failed)
        try:
            found = (self._count if self._output == "count" else self._matched)(rows, first, failures)
        except Unordered as error:
            if error.row < 0:
                raise
            stream = int(streams_of(rows.origins(), error.row))
            failures.add(stream, decrease(error.attribute, error.row - int(rows.origins()[stream])))
            raise InternalError("rows whose values decrease must be left out before") from None
        self._failed = len(first) - 1 in failures.streams
        if self._ids is not None:
            # No later match has events of the streams before the last one.
            self._ids.discard_before(max(int(first[-1]), self._run.reaches))
        return found

    def finish(self) -> list[pa.Table]:
        """Return the rows of the answer that the end of the last stream completes."""
        if self._output != "count" or self._last is None or self._failed:
            return []
        return [pa.table(self._last | counts(np.array([self._number], object)))]

    def _count(self, rows: RowsOfKeys, first: Longs, failures: Failures) -> list[pa.Table]:
        """Return the numbers of matches of the streams that ended; the number of the last stream is kept for later."""
        before = [] if rows.before else self.finish()
        totals: NDArray[Any] = np.zeros(len(first), np.int64)
        if rows.before:
            so_far = np.array([self._number], np.int64 if self._number < LARGE else object)
            totals = _added(totals, np.zeros(1, np.int64), so_far)
        for positions, numbers in self._run.numbers(rows, failures):
            totals = _added(totals, streams_of(first, positions), numbers)
        # The last stream may go on in the next rows, so its number waits.
        ended = np.setdiff1d(np.arange(len(first) - 1), list(failures.streams))
        self._last, self._number = rows.keys(np.array([len(first) - 1])), int(totals[-1])
        return [*before, pa.table(rows.keys(ended) | counts(totals[ended]))]

    def _matched(self, rows: RowsOfKeys, first: Longs, failures: Failures) -> list[pa.Table]:
        """Return the matches in these rows."""
        batches = list(self._run.matches(rows, failures))
        if not batches:
            return []
        at, events = (np.concatenate([getattr(one, name) for one in batches]) for name in ("at", "events"))
        sizes = np.concatenate([np.diff(one.offsets) for one in batches])
        streams = streams_of(first, at)
        if failures.streams:
            left = ~np.isin(streams, list(failures.streams))
            events = events[np.repeat(left, sizes)]
            at, sizes, streams = at[left], sizes[left], streams[left]
        parents = np.repeat(np.arange(len(at)), sizes)
        if self._ids is None:
            places, events_ = pa.array(at - first[streams]), pa.array(events - first[streams[parents]])
        else:
            places, events_ = self._ids.take_ids(pa.array(at)), self._ids.take_ids(pa.array(events))
        if self._output == "events":
            numbers = np.arange(len(at)) - np.searchsorted(streams, streams)
            if rows.before:
                # The first stream goes on from earlier rows, where it had so many matches.
                numbers[streams == 0] += self._number
            of_last = int((streams == len(first) - 1).sum())
            self._number = of_last + (self._number if rows.before and len(first) == 1 else 0)
            columns = {"match": pa.array(numbers[parents]), "at": places.take(pa.array(parents)), "event": events_}
            return [pa.table(rows.keys(streams[parents]) | columns)]
        offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
        lists = pa.ListArray.from_arrays(offsets, events_)
        bound = pa.nulls(len(at), match_schema(places.type).field("bindings").type)
        return [pa.table(rows.keys(streams) | {"at": places, "events": lists, "bindings": bound})]


def _added(totals: NDArray[Any], streams: Longs, numbers: NDArray[Any]) -> NDArray[Any]:
    """Return the totals of streams with new numbers added. The numbers of the streams ascend."""
    if not len(streams):
        return totals
    begins = np.flatnonzero(np.diff(streams, prepend=-1))
    # A product of floats, because one of integers could itself wrap around.
    if numbers.dtype == object or totals.dtype == object or float(numbers.max()) * len(numbers) >= LARGE // 2:
        numbers, totals = numbers.astype(object), totals.astype(object)
    # Integers of NumPy wrap around silently, so large ones become Python's before a sum can overflow.
    elif int(totals.max()) >= LARGE:
        totals = totals.astype(object)
    totals[streams[begins]] += np.add.reduceat(numbers, begins)
    return totals


def _place(error: CerifyError, key: dict[str, pa.Array]) -> CerifyError:
    """Return the error with the key in its message."""
    text = format_values({name: values[0].as_py() for name, values in key.items()})
    error.message = f"{text}: {error.message}" if text else error.message
    return error


class Answering:
    """Makes the answer for the stream of one key."""

    def __init__(self, run: SparkRun, key: dict[str, pa.Array], output: Output) -> None:
        self.run, self.key, self.output = run, key, output
        self._ids: _Ids | None = None
        self._number = 0  # of matches

    def push(self, rows: SparkRows) -> pa.Table:
        """Return the rows of the answer that these rows complete."""
        if rows.ids is not None:
            self._ids = self._ids or _Ids(rows.ids.type)
            self._ids.add(rows.ids)
        try:
            if self.output == "count":
                self._number += self.run.count(rows.table, rows.classes)
                return pa.table({})
            found = self._add_key_and_ids(self.run.push(rows.table, rows.classes))
        except CerifyError as error:
            raise _place(error, self.key) from None
        if self._ids is not None:
            self._ids.discard_before(self.run.reaches)
        return found

    def finish(self) -> pa.Table:
        """Return the rows of the answer that the end of the stream completes."""
        try:
            if self.output != "count":
                return self._add_key_and_ids(self.run.finish())
            self._number += self.run.finish_count()
        except CerifyError as error:
            raise _place(error, self.key) from None
        return self._keyed(counts(np.array([self._number], object)))

    def _add_key_and_ids(self, found: pa.Table) -> pa.Table:
        """Return the rows of the answer for some matches: with the key, and with ids in place of positions."""
        if not found.num_rows:
            return pa.table({})
        named = found if self._ids is None else map_positions(found, self._ids.kind, self._ids.take_ids)
        columns = {name: named[name].combine_chunks() for name in named.column_names}
        at, events = columns["at"], columns["events"]
        if self.output == "events":
            parents = pc.list_parent_indices(events)
            numbers = pc.add(parents, self._number)
            self._number += len(found)
            return self._keyed({"match": numbers, "at": at.take(parents), "event": pc.list_flatten(events)})
        return self._keyed({name: values for name, values in columns.items() if name != NAME or not values.null_count})

    def _keyed(self, columns: dict[str, pa.Array]) -> pa.Table:
        first = next(iter(columns.values()))
        zeros = pa.repeat(0, len(first))
        return pa.table({name: values.take(zeros) for name, values in self.key.items()} | columns)


class _Ids:
    """The ids of a stream's events by position, as far back as matches need them. kind: the type of the ids."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind, self._first = kind, 0
        self._parts: list[pa.Array] = []

    def add(self, ids: pa.Array) -> None:
        # a copy, so that the batch of which the ids are a slice can be freed
        self._parts.append(pa.concat_arrays([ids, ids.slice(0, 0)]))

    def take_ids(self, positions: pa.Array) -> pa.Array:
        found = pa.chunked_array(self._parts).take(pc.subtract(positions, self._first))
        return found.combine_chunks() if found.num_chunks != 1 else found.chunk(0)

    def discard_before(self, before: int) -> None:
        while self._parts and self._first + len(self._parts[0]) <= before:
            self._first += len(self._parts.pop(0))


# ---------------------------------------------------------------------------------------------------------------------
# The column `result`: the values of RETURN in SASE+. Runs write them as JSON; in the answer they are a struct with the
# types of the columns of the rows.

NAME = "result"


def result_type(query: SparkQuery, columns: Columns, rows: pa.Schema) -> pa.DataType:
    """Return the type of the column `result`: a struct with a field for each item of RETURN.

    rows: the schema of the input. If the query has no RETURN, or several blocks, the type is text: the result as JSON.
    """
    if not query.plugin.results:  # not parsed: a worker that unpacks answers lacks the registered predicates
        return pa.string()
    q = query.parsed
    if not isinstance(q, sase.SaseQuery) or not q.returned.items:
        return pa.string()
    names = zip(names_of(q.returned), q.returned.items, strict=True)
    return pa.struct([(name, _type_of_output(item.output, q, columns, rows)) for name, item in names])


def _type_of_output(output: sase.Output, q: sase.SaseQuery, columns: Columns, rows: pa.Schema) -> pa.DataType:
    match output:
        case sase.Simple(term):
            return _type_of_term(term, q, columns, rows)
        case sase.SaseSeries(_, name):
            return pa.list_(_type_of_attribute(name, columns, rows))
        case sase.Composite(_, _, names):
            return pa.struct([(name, _type_of_attribute(name, columns, rows)) for name in names])
        case sase.CompositeSeries(_, names):
            return pa.list_(pa.struct([(name, _type_of_attribute(name, columns, rows)) for name in names]))


def _type_of_term(term: Term, q: sase.SaseQuery, columns: Columns, rows: pa.Schema) -> pa.DataType:
    if isinstance(term, sase.Reference) or (isinstance(term, sase.SaseAggregate) and term.function in ("min", "max")):
        return _type_of_attribute(term.name, columns, rows)
    known = {name: _value_type(_type_of_attribute(name, columns, rows)) for name in (*columns.attributes, TIME)}
    return ARROW[value_type(term, q, {part.type: known for part in q.pattern}) or "string"]


def _type_of_attribute(name: str, columns: Columns, rows: pa.Schema) -> pa.DataType:
    """Return the type of the attribute's column; whole numbers that are read as times are timestamps."""
    found = columns.time if name == TIME else columns.type if name not in rows.names else name
    kind = ARROW["timestamp"] if found is None else rows.field(found).type
    if name == TIME and not pa.types.is_temporal(kind):
        return ARROW["timestamp"]
    return ARROW["string"] if pa.types.is_null(kind) else kind


def _value_type(kind: pa.DataType) -> ValueType:
    """Return the value type of the attributes in a column of this type."""
    if pa.types.is_decimal(kind):
        return "int" if kind.scale == 0 else "float"
    return value_type_of_column(kind) or "string"


def with_typed_results(tables: Iterable[pa.Table], kind: pa.DataType) -> list[pa.Table]:
    """Return the tables of matches with their results, which are JSON texts, converted to this type. Raises
    InputError.
    """
    found = []
    for table in tables:
        if NAME in table.column_names and not pa.types.is_string(kind):
            i = table.column_names.index(NAME)
            table = table.set_column(i, NAME, _typed_results(table.column(i), kind))
        found.append(table)
    return found


def _typed_results(texts: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    values = [None if text is None else _typed_value(json.loads(text), kind) for text in texts.to_pylist()]
    try:
        return pa.array(values, kind)
    except (OverflowError, pa.ArrowException) as error:
        raise InputError(f"RETURN makes a value that its column cannot hold: {error}; return the operands") from None


def _typed_value(value: Any, kind: pa.DataType) -> Any:
    """Return a value of a result's JSON as Arrow takes it for this type."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {part.name: _typed_value(value[part.name], part.type) for part in kind}
    if pa.types.is_list(kind):
        return [_typed_value(one, kind.value_type) for one in value]
    if pa.types.is_temporal(kind):
        time: datetime = parse_time(value)
        return time.date() if pa.types.is_date(kind) else time if kind.tz else time.replace(tzinfo=None)
    if pa.types.is_decimal(kind):
        # By `repr`, whose digits are the ones written; the float itself has more of them.
        return Decimal(repr(value)).quantize(Decimal(1).scaleb(-kind.scale))
    return float(value) if pa.types.is_floating(kind) else value
