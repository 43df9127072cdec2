"""The table functions cel_match and match_recognize for Spark SQL: a query over each partition of a table.

    SELECT * FROM cel_match(TABLE(flights) PARTITION BY tailnum ORDER BY (dep_time), 'A ; B+ ; C', key => 'tailnum')
    SELECT * FROM match_recognize(TABLE(ticks), 'MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY day PATTERN (A B+) …)')

The second one is Spark's kind of table function that sees the schema and the clause before it runs, so that the clause
says how the table is divided and ordered, and which columns the answer has. Its rows come one by one. The first one
reads Arrow batches, which Spark does not combine with that.
For it Spark fixes the columns of the answer when it is registered, and does not pass to it the columns by which the
table is partitioned and ordered. So key and ids are text, and arguments name their columns. The parentheses around
dep_time are Spark's syntax: without them, what follows the comma would be one more column to order by.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from pyspark.sql import Row, SparkSession
from pyspark.sql import types as T
from pyspark.sql.conversion import ArrowTableToRowsConversion, LocalDataToArrowConversion
from pyspark.sql.functions import arrow_udtf, udtf
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, OrderingColumn, PartitioningColumn, SelectedColumn

from cerify.automata.evaluator import Output
from cerify.languages import DEFAULT
from cerify.semantics.errors import InputError
from cerify.semantics.events import TIME, TYPE
from cerify.semantics.match_tables import RESULT
from cerify.spark.columns import mentioned, quoted
from cerify.spark.errors import serialize_error
from cerify.spark.row_patterns import recognition
from cerify.spark.runs.query import Query
from cerify.spark.runs.row_patterns import RowQuery, output_rows
from cerify.spark.runs.rows import Columns, Rows, rows_of
from cerify.spark.runs.run import Run
from cerify.spark.runs.start import start

if TYPE_CHECKING:
    from pyspark.sql.udtf import UserDefinedTableFunction

ANSWER = (
    "key string, at bigint, events array<bigint>, ids array<string>, bindings map<string, array<bigint>>, result string"
)
WRITTEN = pa.schema([("key", pa.string()), *list(RESULT)[:2], ("ids", pa.list_(pa.string())), *list(RESULT)[2:]])


class CelMatch:
    """The run over one partition of the table. Spark makes an instance for each."""

    def __init__(self) -> None:
        self._run: Run | None = None
        self._key: str | None = None
        self._ids: list[str] = []
        self._skipped = False

    def eval(
        self,
        rows: pa.RecordBatch,
        query: pa.Array,
        language: pa.Array | None = None,
        output: pa.Array | None = None,
        key: pa.Array | None = None,
        id: pa.Array | None = None,
        type: pa.Array | None = None,
        time: pa.Array | None = None,
    ) -> Iterator[pa.Table]:
        """The matches that some rows of the partition complete."""
        with serialize_error():
            shown: Output = "valuations" if _text(output) == "valuations" else "matches"
            parsed = Query(_text(query) or "", _text(language) or DEFAULT, shown)
            columns = _columns(rows, parsed, _names(key), _text(id), _text(type) or TYPE, _text(time))
            if self._run is None:
                self._run = start(parsed)
                values = {name: rows.column(name)[0].as_py() for name in columns.keys}
                self._skipped = any(value is None or value != value for value in values.values())
                self._key = _one(values)
            if not self._skipped:
                for some in rows_of([rows], columns, None):
                    yield from map(self._pushed, some.streams())

    def terminate(self) -> Iterator[pa.Table]:
        """The matches that the end of the partition completes."""
        with serialize_error():
            if self._run is not None and not self._skipped:
                yield self._written(self._run.finish())

    def _pushed(self, part: Rows) -> pa.Table:
        assert self._run is not None
        if part.ids is not None:
            self._ids += part.ids.cast(pa.string()).to_pylist()
        return self._written(self._run.push(part.table))

    def _written(self, found: pa.Table) -> pa.Table:
        events = found["events"].to_pylist() if self._ids else []
        ids = [[self._ids[p] for p in positions] for positions in events] if self._ids else [None] * len(found)
        columns: dict[str, Any] = {name: found[name] for name in RESULT.names}
        columns |= {"key": [self._key] * len(found), "ids": ids}
        return pa.table({name: columns[name] for name in WRITTEN.names}, schema=WRITTEN)


@dataclass
class Recognized(AnalyzeResult):
    """What Spark is to know of a call of match_recognize, and what the workers are to know."""

    query: RowQuery | None = None
    rows: T.StructType = field(default_factory=T.StructType)


class MatchRecognize:
    """The output table of one partition. Spark makes an instance for each."""

    def __init__(self, recognized: Recognized) -> None:
        self._recognized = recognized
        self._rows: list[tuple[Any, ...]] = []

    @staticmethod
    def analyze(table: AnalyzeArgument, clause: AnalyzeArgument) -> Recognized:
        """The columns of the answer, and how the table is divided and ordered."""
        with serialize_error():
            if not isinstance(table.dataType, T.StructType) or not isinstance(clause.value, str):
                raise InputError("write match_recognize(TABLE(name), 'MATCH_RECOGNIZE (…)'), the clause as a literal")
            found = recognition(table.dataType, clause.value)
            keys = found.query.columns.keys
            return Recognized(
                found.output,
                not keys,
                [PartitioningColumn(quoted(name)) for name in keys],
                [OrderingColumn(quoted(name), not descending, first) for name, descending, first in found.order],
                [SelectedColumn(quoted(name)) for name in found.moved],
                found.query,
                T.StructType([table.dataType[name] for name in found.moved]),
            )

    def eval(self, row: Row, clause: str) -> None:
        """Gather a row."""
        self._rows.append(tuple(row))

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """The rows of the output."""
        given, query = self._recognized.rows, self._recognized.query
        assert query is not None
        table = LocalDataToArrowConversion.convert(self._rows, given, False)
        for batch in output_rows(table.to_batches(), query):
            yield from ArrowTableToRowsConversion.convert(pa.Table.from_batches([batch]), self._recognized.schema)


def register(session: SparkSession, name: str = "cel_match") -> None:
    """Register the table functions with Spark SQL: match_recognize, and cel_match by this name.

    The arguments of match_recognize are the table and the clause. Those of cel_match are the table, the query, and by
    name: language, output ("matches" or "valuations"), key, the columns that the table is partitioned by, for the
    answer; id, type and time, the columns with an event's id, type and time. Errors are raised by the action that reads
    the answer, those of a clause by `session.sql`; see worker_errors.
    """
    session.udtf.register(name, cast("UserDefinedTableFunction", arrow_udtf(CelMatch, returnType=ANSWER)))
    session.udtf.register("match_recognize", cast("UserDefinedTableFunction", udtf(MatchRecognize)))


def _columns(
    rows: pa.RecordBatch, query: Query, keys: tuple[str, ...], id: str | None, type_: str, time: str | None
) -> Columns:
    """The columns by purpose, as of columns.columns_of, from the rows alone. Raises InputError."""
    names = rows.schema.names
    for name in (*keys, type_, *([id] if id else []), *([time] if time else [])):
        if name not in names:
            raise InputError(f"there is no column {name!r}; the columns are {', '.join(names)}")
    named, timed = mentioned(query.parsed)
    clock = time or (TIME if TIME in names else None)
    if timed and clock is None:
        raise InputError(f"a window of time needs a column {TIME!r}, or time => the column that has it")
    attributes = tuple(name for name in names if name in named and name not in (type_, TYPE, TIME))
    return Columns((), keys, type_, id, clock, attributes)


def _text(argument: pa.Array | None) -> str | None:
    """The value of an argument, which is equal in all rows."""
    return None if argument is None or not len(argument) else argument[0].as_py()


def _names(argument: pa.Array | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (_text(argument) or "").split(",") if name.strip())


def _one(values: dict[str, Any]) -> str | None:
    """The values of a key as one text; as JSON if there are several."""
    if len(values) < 2:
        return next((str(value) for value in values.values()), None)
    return json.dumps({name: value if isinstance(value, int | float) else str(value) for name, value in values.items()})
