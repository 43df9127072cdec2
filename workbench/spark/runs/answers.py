"""The answer of a worker for the rows of some keys: the matches of a run for each key, with the key and ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from cerify.semantics.budget import Budget
from cerify.semantics.errors import CerifyError
from cerify.spark.errors import serialize_error
from cerify.spark.runs.query import Query
from cerify.spark.runs.rows import Columns, Rows, rows_of, shown
from cerify.spark.runs.run import Run, map_positions
from cerify.spark.runs.start import starting

Output = Literal["matches", "valuations", "count", "events"]
DIGITS = 38  # of a number in a column
ROWS = 65_536  # of a batch of the answer


def answers(
    batches: Iterable[pa.RecordBatch], query: str, columns: Columns, output: Output, budget: Budget
) -> Iterator[pa.RecordBatch]:
    """The batches of the answer for some rows, grouped by key, in their order; query is a Query as JSON."""
    with serialize_error():
        parsed = Query.from_json(query)
        stream: Answering | None = None
        begin = starting(parsed, budget)
        for parts in rows_of(batches, columns, parsed.schema, begin().classes):
            found: list[pa.Table] = []
            for rows in parts:
                if rows.begins or stream is None:
                    if stream is not None:
                        found.append(stream.finish())
                    stream = Answering(begin(), rows.key, columns, output)
                found.append(stream.push(rows))
            yield from batches_of(found)
        if stream is not None:
            yield from batches_of([stream.finish()])


def batches_of(tables: list[pa.Table]) -> Iterator[pa.RecordBatch]:
    if some := [table for table in tables if table.num_rows]:
        yield from pa.concat_tables(some).combine_chunks().to_batches(ROWS)


def number_columns(number: int) -> tuple[Decimal | None, str]:
    """A number of matches as the columns of an answer: a decimal, or None if it has more digits, and text."""
    digits = str(Decimal(number))  # str of an integer stops at some thousand digits
    return Decimal(number) if len(digits) <= DIGITS else None, digits


class Answering:
    """The answer for the stream of one key."""

    def __init__(self, run: Run, key: pa.RecordBatch, columns: Columns, output: Output) -> None:
        self.run, self.key, self.output = run, key, output
        self._columns = columns
        self._ids: _Ids | None = None
        self._number = 0  # of matches

    def push(self, rows: Rows) -> pa.Table:
        """The rows of the answer that these rows complete."""
        if rows.ids is not None:
            self._ids = self._ids or _Ids(rows.ids.type)
            self._ids.add(rows.ids)
        try:
            if self.output == "count":
                self._number += self.run.count(rows.table, rows.classes)
                return pa.table({})
            found = self._named(self.run.push(rows.table, rows.classes))
        except CerifyError as error:
            raise self._placed(error) from None
        if self._ids is not None:
            self._ids.discard_before(self.run.reaches)
        return found

    def finish(self) -> pa.Table:
        """The rows of the answer that the end of the stream completes."""
        try:
            if self.output != "count":
                return self._named(self.run.finish())
            self._number += self.run.finish_count()
        except CerifyError as error:
            raise self._placed(error) from None
        number, digits = number_columns(self._number)
        return self._keyed({"count": pa.array([number], pa.decimal128(DIGITS, 0)), "digits": pa.array([digits])})

    def _placed(self, error: CerifyError) -> CerifyError:
        key = shown({name: self.key.column(name)[0].as_py() for name in self._columns.keys})
        error.message = f"{key}: {error.message}" if key else error.message
        return error

    def _named(self, found: pa.Table) -> pa.Table:
        """The rows of the answer for some matches: with the key, and with ids in place of positions."""
        if not found.num_rows:
            return pa.table({})
        named = found if self._ids is None else map_positions(found, self._ids.kind, self._ids.of)
        at, events, bindings, result = (named.column(i).combine_chunks() for i in range(4))
        if self.output == "events":
            parents = pc.list_parent_indices(events)
            numbers = pc.add(parents, self._number)
            self._number += len(found)
            return self._keyed({"match": numbers, "at": at.take(parents), "event": pc.list_flatten(events)})
        columns = {"at": at, "events": events, "bindings": bindings}
        return self._keyed(columns if result.null_count else columns | {"result": result})

    def _keyed(self, columns: dict[str, pa.Array]) -> pa.Table:
        first = next(iter(columns.values()))
        zeros = pa.repeat(0, len(first))
        return pa.table({name: self.key.column(name).take(zeros) for name in self._columns.keys} | columns)


class _Ids:
    """The ids of the events of a stream by position, as far back as a match may have one; kind is their type."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind, self._first = kind, 0
        self._parts: list[pa.Array] = []

    def add(self, ids: pa.Array) -> None:
        # a copy, so that the batch of which the ids are a slice can be freed
        self._parts.append(pa.concat_arrays([ids, ids.slice(0, 0)]))

    def of(self, positions: pa.Array) -> pa.Array:
        found = pa.chunked_array(self._parts).take(pc.subtract(positions, self._first))
        return found.combine_chunks() if found.num_chunks != 1 else found.chunk(0)

    def discard_before(self, before: int) -> None:
        while self._parts and self._first + len(self._parts[0]) <= before:
            self._first += len(self._parts.pop(0))
