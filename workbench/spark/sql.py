"""The table functions cel_match and match_recognize for Spark SQL: a query over each partition of a table.

    SELECT * FROM cel_match(TABLE(flights), 'A ; B+ ; C', partition_by => 'tailnum', order_by => 'dep_time')
    SELECT * FROM match_recognize(TABLE(ticks), 'MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY day PATTERN (A B+) …)')

Both are of Spark's kind of table function that sees the schema and the arguments before it runs, so that these say how
the table is divided and ordered, and which columns the answer has. Its rows come one by one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Required, TypedDict, Unpack, cast

import pyarrow as pa
from pyspark.sql import Row, SparkSession
from pyspark.sql import types as T
from pyspark.sql.conversion import ArrowTableToRowsConversion, LocalDataToArrowConversion
from pyspark.sql.functions import udtf
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, OrderingColumn, PartitioningColumn, SelectedColumn

from cerify.languages import DEFAULT
from cerify.semantics.arguments import Budget, require_keywords
from cerify.semantics.errors import IllFormed, InputError
from cerify.spark.answers import Output, answer_batches
from cerify.spark.batch import answer_schema, query_for
from cerify.spark.columns import columns_of, field_at, problems, quoted, resolved, sql_path
from cerify.spark.row_patterns import RowQuery, output_rows, recognition
from cerify.spark.rows import AT_ONCE, Columns, nothing
from cerify.spark.transport import serialize_error

if TYPE_CHECKING:
    from pyspark.sql.udtf import UserDefinedTableFunction


class SqlOptions(TypedDict, total=False):
    """The arguments by name of cel_match, as of `match`; several columns are separated by commas, or an array."""

    order_by: Required[str | list[str]]
    partition_by: str | list[str]
    type_col: str
    id_col: str
    attributes: dict[str, str]
    language: str
    output: Output
    strict: bool


@dataclass
class PlannedMatch(AnalyzeResult):
    """The plan of a call of cel_match: the part for Spark, and the part for the workers."""

    query: str = ""
    columns: Columns = field(default_factory=lambda: Columns(()))
    output: Output = "matches"
    rows: T.StructType = field(default_factory=T.StructType)


class CelMatch:
    """The matches in the rows of one partition. Spark makes an instance for each."""

    def __init__(self, planned: PlannedMatch) -> None:
        self._planned = planned
        self._rows: list[tuple[Any, ...]] = []
        self._batches: list[pa.RecordBatch] = []

    @staticmethod
    def analyze(table: AnalyzeArgument, query: AnalyzeArgument, **options: AnalyzeArgument) -> PlannedMatch:
        """Return the columns of the answer, and how the table is divided and ordered."""
        with serialize_error():
            if not isinstance(table.dataType, T.StructType) or not isinstance(query.value, str):
                raise InputError("write cel_match(TABLE(name), 'query', order_by => '…'), the query as a literal")
            require_keywords(cel_match, options, SqlOptions)
            given: Any = {name: argument.value for name, argument in options.items()}
            return cel_match(table.dataType, query.value, **given)

    def eval(self, row: Row, query: str, **options: Any) -> None:
        """Store a row."""
        self._rows.append(tuple(row))
        if len(self._rows) == AT_ONCE:
            self._pack()

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the answer."""
        self._pack()
        planned = self._planned
        if not self._batches or any(nothing(self._batches[0].column(name))[0] for name in planned.columns.keys):
            return
        found = answer_batches(self._batches, planned.query, planned.columns, planned.output, Budget())
        for batch in found:
            yield from _rows_of_batch(batch, planned.schema)

    def _pack(self) -> None:
        self._batches += _batches_of_rows(self._rows, self._planned.rows)
        self._rows = []


def cel_match(rows: T.StructType, query: str, **options: Unpack[SqlOptions]) -> PlannedMatch:
    """Return the plan of a call of cel_match over a table with these columns. Raises as `match` does."""
    output = options.get("output", "matches")
    asked = query_for(query, options.get("language", DEFAULT), output)
    several: Any = {purpose: _names(purpose, options.get(purpose, [])) for purpose in ("order_by", "partition_by")}
    given, added = resolved(rows, {**options, **several}, str)
    paths = {name: sql_path(rows, str(one)) for name, one in added.items()}
    new = [T.StructField(name, field_at(rows, str(one), name).dataType) for name, one in added.items()]
    rows = T.StructType([*(field for field in rows if field.name not in added), *new])
    columns = columns_of(rows, asked, **given)
    if options.get("strict", True):
        for problem in problems(rows, asked, columns):
            raise IllFormed(f"{problem.hinted}; or give strict => false", problem.span)
    return PlannedMatch(
        answer_schema(rows, asked, columns, output),
        not columns.keys,
        [one for name in columns.keys for one in _partitioning(rows, name, paths.get(name, quoted(name)))],
        [OrderingColumn(paths.get(name, quoted(name))) for name in columns.order],
        [_selected(rows, name, paths.get(name, quoted(name))) for name in columns.all_columns],
        asked.to_json(),
        columns,
        output,
        T.StructType([rows[name] for name in columns.all_columns]),
    )


@dataclass
class Recognized(AnalyzeResult):
    """The plan of a call of match_recognize: the part for Spark, and the part for the workers."""

    query: RowQuery | None = None
    rows: T.StructType = field(default_factory=T.StructType)


class MatchRecognizeFunction:
    """The output table of one partition. Spark makes an instance for each."""

    def __init__(self, recognized: Recognized) -> None:
        self._recognized = recognized
        self._rows: list[tuple[Any, ...]] = []

    @staticmethod
    def analyze(table: AnalyzeArgument, clause: AnalyzeArgument) -> Recognized:
        """Return the columns of the answer, and how the table is divided and ordered."""
        with serialize_error():
            if not isinstance(table.dataType, T.StructType) or not isinstance(clause.value, str):
                raise InputError("write match_recognize(TABLE(name), 'MATCH_RECOGNIZE (…)'), the clause as a literal")
            found = recognition(table.dataType, clause.value)
            keys = found.query.columns.keys
            return Recognized(
                found.output,
                not keys,
                [one for name in keys for one in _partitioning(table.dataType, name, quoted(name))],
                [OrderingColumn(quoted(name), not descending, first) for name, descending, first in found.order],
                [_selected(table.dataType, name, quoted(name)) for name in found.moved],
                found.query,
                T.StructType([table.dataType[name] for name in found.moved]),
            )

    def eval(self, row: Row, clause: str) -> None:
        """Store a row."""
        self._rows.append(tuple(row))

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the output."""
        given, query = self._recognized.rows, self._recognized.query
        assert query is not None
        for batch in output_rows(_batches_of_rows(self._rows, given), query):
            yield from _rows_of_batch(batch, self._recognized.schema)


def register(session: SparkSession, name: str = "cel_match") -> None:
    """Register the table functions with Spark SQL: match_recognize, and cel_match by this name.

    The arguments of match_recognize are the table and the clause. Those of cel_match are the table, the query, and by
    name those of SqlOptions. Errors in the query are raised by `session.sql`, those in the rows by the action that
    reads the answer; see worker_errors.
    """
    session.udtf.register(name, cast("UserDefinedTableFunction", udtf(CelMatch)))
    session.udtf.register("match_recognize", cast("UserDefinedTableFunction", udtf(MatchRecognizeFunction)))


# ---------------------------------------------------------------------------------------------------------------------
# What Spark hands over to a table function, and takes back. Its partitions end where Python says that values differ, so
# that each NaN would be one. Its times are those of the clock where the worker runs, of which an hour comes twice.


def _partitioning(rows: T.StructType, name: str, sql: str) -> list[PartitioningColumn]:
    """Return the columns that divide the rows by a key column, as a SQL expression in which NaN,
    and 0, are one value.
    """
    if isinstance(rows[name].dataType, T.FloatType | T.DoubleType):
        return [PartitioningColumn(f"nanvl({sql}, 0D) + 0D"), PartitioningColumn(f"isnan({sql})")]
    return [PartitioningColumn(sql)]


def _selected(rows: T.StructType, name: str, sql: str) -> SelectedColumn:
    """Return the columns of the rows as an SQL expression; times as microseconds. Raises InputError
    for nested times.
    """
    kind = rows[name].dataType
    if isinstance(kind, T.TimestampType):
        return SelectedColumn(f"unix_micros({sql})", name)
    if _map_times(kind) != kind and (time.timezone or time.daylight):
        raise InputError(
            f"column {name!r} is {kind.simpleString()}; its times would be those of a clock on which one hour comes "
            "twice, so set TZ=UTC for Spark's processes, or leave the column out"
        )
    return SelectedColumn(sql, name)


def _batches_of_rows(rows: list[tuple[Any, ...]], schema: T.StructType) -> list[pa.RecordBatch]:
    """Return the rows, with columns as `_selected` has them, in batches with the types of the schema."""
    if not rows:
        return []
    times = {field.name for field in schema if isinstance(field.dataType, T.TimestampType)}
    given = T.StructType([T.StructField(f.name, T.LongType() if f.name in times else f.dataType) for f in schema])
    table = LocalDataToArrowConversion.convert(rows, given, False)
    moments = [
        column.cast(pa.timestamp("us", "UTC")) if f.name in times else column
        for f, column in zip(schema, table.columns, strict=True)
    ]
    batches: list[pa.RecordBatch] = pa.table(moments, schema.names).to_batches()
    return batches


def _rows_of_batch(batch: pa.RecordBatch, schema: T.StructType) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of an answer, their times in UTC, which PySpark would make those of the clock."""
    yield from ArrowTableToRowsConversion.convert(pa.Table.from_batches([batch]), _map_times(schema))


def _map_times(kind: Any) -> Any:
    """Return the type with dates, which PySpark passes on unchanged, in place of timestamps."""
    match kind:
        case T.TimestampType():
            return T.DateType()
        case T.ArrayType():
            return T.ArrayType(_map_times(kind.elementType), kind.containsNull)
        case T.MapType():
            return T.MapType(_map_times(kind.keyType), _map_times(kind.valueType), kind.valueContainsNull)
        case T.StructType():
            return T.StructType([T.StructField(f.name, _map_times(f.dataType), f.nullable, f.metadata) for f in kind])
    return kind


def _names(purpose: str, given: Any) -> list[str]:
    names = given.split(",") if isinstance(given, str) else list(given) if isinstance(given, list) else [given]
    if not all(isinstance(name, str) for name in names):
        raise IllFormed(f"{purpose} names columns, as {purpose} => 'a, b', not {given!r}")
    return [name.strip() for name in names]
