"""The table functions cel_match and match_recognize for Spark SQL: a query over each partition of a table.

    SELECT * FROM cel_match(TABLE(flights), 'A ; B+ ; C', partition_by => 'tailnum', order_by => 'dep_time')
    SELECT * FROM match_recognize(TABLE(ticks), 'MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY day PATTERN (A B+) …)')

Spark shows both functions the schema and the arguments before they run; these determine how the table is divided and
ordered, and the columns of the answer. Spark makes an instance for each part of a table. An instance costs as much as
many rows, so a part has all rows of several keys. From PySpark 4.1 on the rows come and go in Arrow batches; before,
one by one. Either way Spark copies the arguments of the call to each row, and each row into a struct. `run_sql` avoids
these copies: it runs the calls in a text as the functions over data frames.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain, pairwise, repeat
from operator import or_
from typing import TYPE_CHECKING, Any, Required, TypedDict, Unpack, cast

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import types as T
from pyspark.sql.conversion import ArrowTableToRowsConversion, LocalDataToArrowConversion
from pyspark.sql.functions import udtf
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, OrderingColumn, PartitioningColumn, SelectedColumn
from pyspark.util import PythonEvalType

from cerify.languages import DEFAULT
from cerify.semantics.arguments import Budget, require_keywords
from cerify.semantics.errors import IllFormed, InputError
from cerify.spark.answers import Output, answer_batches
from cerify.spark.batch import answer_schema, match, query_for
from cerify.spark.columns import (
    EVENT,
    columns_of,
    field_at,
    fields_used,
    kept_columns,
    problems,
    quoted,
    resolved,
    sql_path,
    with_paths,
)
from cerify.spark.row_patterns import RowQuery, match_recognize, output_rows, recognition
from cerify.spark.rows import AT_ONCE, Columns, nothing, unused
from cerify.spark.session import arrow_schema
from cerify.spark.transport import serialize_error

if TYPE_CHECKING:
    from pyspark.sql.udtf import UserDefinedTableFunction


class SqlOptions(TypedDict, total=False):
    """The named arguments of cel_match, which are those of `match`. Several columns are separated by commas, or an
    array.
    """

    order_by: Required[str | list[str]]
    partition_by: str | list[str]
    type_col: str
    id_col: str
    keep: str | list[str]
    attributes: dict[str, str]
    language: str
    output: Output
    strict: bool


SEVERAL = ("order_by", "partition_by", "keep")
"""The arguments that name several columns."""


@dataclass
class PlannedMatch(AnalyzeResult):
    """The plan of a call of cel_match: for Spark, how to divide the table; for workers, the query and its columns."""

    query: str = ""
    columns: Columns = field(default_factory=lambda: Columns(()))
    output: Output = "matches"
    rows: T.StructType = field(default_factory=T.StructType)


class GatheredRows:
    """Collects the rows of one part of a table. Spark passes them in batches, or one by one with the columns
    of `rows`.
    """

    def __init__(self, rows: T.StructType) -> None:
        self._schema = rows
        self._rows: list[tuple[Any, ...]] = []
        self._batches: list[pa.RecordBatch] = []

    def add(self, rows: pa.RecordBatch | Row) -> None:
        """Add the rows that Spark passes: a batch, or a single row."""
        if isinstance(rows, pa.RecordBatch):
            self._batches.append(rows)
            return
        self._rows.append(tuple(rows))
        if len(self._rows) == AT_ONCE:
            self._pack()

    def batches(self) -> list[pa.RecordBatch]:
        """Return all rows collected so far, as batches."""
        self._pack()
        return self._batches

    def _pack(self) -> None:
        self._batches += _batches_of_rows(self._rows, self._schema)
        self._rows = []


class CelMatch:
    """The table function cel_match: it finds the matches in the rows of some keys.

    Spark makes an instance for each part of the table.
    """

    def __init__(self, planned: PlannedMatch) -> None:
        self._planned, self._rows = planned, GatheredRows(planned.rows)

    @staticmethod
    def analyze(table: AnalyzeArgument, query: AnalyzeArgument, **options: AnalyzeArgument) -> PlannedMatch:
        """Return the schema of the answer, and how Spark must divide and order the table."""
        with serialize_error():
            if not isinstance(table.dataType, T.StructType) or not isinstance(query.value, str):
                raise InputError("write cel_match(TABLE(name), 'query', order_by => '…'), the query as a literal")
            require_keywords(cel_match, options, SqlOptions)
            given: Any = {name: argument.value for name, argument in options.items()}
            return cel_match(table.dataType, query.value, **given)

    def eval(self, rows: pa.RecordBatch | Row, query: Any, **options: Any) -> None:
        """Collect the rows of one part of the table; `terminate` evaluates the query over them.

        The planned call already has the query and the options.
        """
        self._rows.add(rows)

    def terminate(self) -> Iterator[Any]:
        """Yield the rows of the answer, after `eval` has collected all rows of the part."""
        planned = self._planned
        keyed = [_with_keys(batch, planned.columns.keys) for batch in self._rows.batches()]
        if any(batch.num_rows for batch in keyed):
            found = answer_batches(keyed, planned.query, planned.columns, planned.output, Budget())
            yield from _rows_of_batches(found, planned.schema)


def cel_match(rows: T.StructType, query: str, **options: Unpack[SqlOptions]) -> PlannedMatch:
    """Return the plan of a call of cel_match over a table with these columns. Raises what `match` raises."""
    output = options.get("output", "matches")
    asked = query_for(query, options.get("language", DEFAULT), output)
    several: Any = {purpose: _names(purpose, options.get(purpose, [])) for purpose in SEVERAL}
    given, added = resolved(rows, {**options, **several}, str)
    new = fields_used(rows, asked)
    new |= {name: (field_at(rows, str(one), name), sql_path(rows, str(one))) for name, one in added.items()}
    if kept := kept_columns(rows, {**options, **several}, str):
        given["id_col"] = unused(EVENT, [*rows.names, *new])
        values = [f"{sql_path(rows, str(one))} AS {quoted(name)}" for name, one in kept.items()]
        event = [T.StructField(name, field_at(rows, str(one), "keep").dataType) for name, one in kept.items()]
        new[given["id_col"]] = T.StructField("", T.StructType(event)), f"struct({', '.join(values)})"
    paths = {name: sql for name, (_, sql) in new.items()}
    more = [T.StructField(name, of.dataType) for name, (of, _) in new.items()]
    rows = T.StructType([*(one for one in rows if one.name not in new), *more])
    columns = columns_of(rows, asked, **given)
    if options.get("strict", True):
        for problem in problems(rows, asked, columns):
            raise IllFormed(f"{problem.hinted}; or give strict => false", problem.span)
    return PlannedMatch(
        answer_schema(rows, asked, columns, output),
        not columns.keys,
        _parts(rows, {name: paths.get(name, quoted(name)) for name in columns.keys}),
        [OrderingColumn(paths.get(name, quoted(name))) for name in (*columns.keys, *columns.order)],
        [_selected(rows, name, paths.get(name, quoted(name))) for name in columns.all_columns],
        asked.to_json(),
        columns,
        output,
        T.StructType([rows[name] for name in columns.all_columns]),
    )


@dataclass
class Recognized(AnalyzeResult):
    """The plan of a call of match_recognize: for Spark, how to divide the table; for workers, the clause."""

    query: RowQuery | None = None
    rows: T.StructType = field(default_factory=T.StructType)


class MatchRecognizeFunction:
    """The table function match_recognize: the output table for the rows of some partitions.

    Spark makes an instance for each part of the table.
    """

    def __init__(self, recognized: Recognized) -> None:
        self._recognized, self._rows = recognized, GatheredRows(recognized.rows)

    @staticmethod
    def analyze(table: AnalyzeArgument, clause: AnalyzeArgument) -> Recognized:
        """Return the schema of the output, and how Spark must divide and order the table."""
        with serialize_error():
            if not isinstance(table.dataType, T.StructType) or not isinstance(clause.value, str):
                raise InputError("write match_recognize(TABLE(name), 'MATCH_RECOGNIZE (…)'), the clause as a literal")
            found = recognition(table.dataType, clause.value)
            keys, given = found.query.columns.keys, table.dataType
            rows = T.StructType([with_paths(given)[name] for name in found.moved])
            return Recognized(
                found.output,
                not keys,
                _parts(rows, {name: sql_path(given, name) for name in keys}),
                [
                    *(OrderingColumn(sql_path(given, name)) for name in keys),
                    *(OrderingColumn(sql_path(given, name), not down, first) for name, down, first in found.order),
                ],
                [_selected(rows, name, sql_path(given, name)) for name in found.moved],
                found.query,
                rows,
            )

    def eval(self, rows: pa.RecordBatch | Row, clause: Any) -> None:
        """Collect the rows of one part of the table; `terminate` evaluates the clause over them."""
        self._rows.add(rows)

    def terminate(self) -> Iterator[Any]:
        """Yield the rows of the output, after `eval` has collected all rows of the part."""
        query = self._recognized.query
        assert query is not None
        yield from _rows_of_batches(output_rows(self._rows.batches(), query), self._recognized.schema)


def register(session: SparkSession, name: str = "cel_match") -> None:
    """Register the table functions with Spark SQL: match_recognize, and cel_match by the given name.

    match_recognize takes the table and the clause. cel_match takes the table, the query, and the named arguments of
    SqlOptions. Errors in the query are raised by `session.sql`, errors in the rows by the action that reads the answer;
    see worker_errors.
    """
    register_function(session, name, CelMatch)
    register_function(session, "match_recognize", MatchRecognizeFunction)


def register_function(session: SparkSession, name: str, handler: type) -> None:
    """Register one table function. If this PySpark supports it, the function takes rows in batches."""
    function = cast("UserDefinedTableFunction", udtf(handler))
    if ARROW is not None:  # PySpark's own decorator refuses such a function with `analyze`, which Spark runs
        function.evalType = ARROW
    session.udtf.register(name, function)


# ---------------------------------------------------------------------------------------------------------------------
# The calls in a text as functions over data frames.

TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*|/\*(?!\+).*?\*/)|[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
    r"|`(?:[^`]|``)*`|\w+|\S",
    re.DOTALL,
)
ARGUMENT = re.compile(r"\s*(?:(?P<name>\w+)\s*=>)?(?P<value>.*)", re.DOTALL)
TABLE = re.compile(r"\s*TABLE\s*\((.*)\)\s*", re.DOTALL | re.IGNORECASE)
READS = {"SELECT", "FROM", "INSERT"}
"""The first words of statements that do not define a table or a view."""


def run_sql(
    session: SparkSession, text: str, args: Mapping[str, Any] | None = None, *, name: str = "cel_match"
) -> DataFrame:
    """Run an SQL statement, with calls of cel_match and match_recognize as fast as the functions over data frames.

    The answer is that of `session.sql(text, args)`, where args are the values of named parameters. Each call over
    TABLE(…) with literal arguments is run by the function over data frames: `match` or `match_recognize`. Other calls
    are left to Spark; so are all calls in a statement that has WITH, or that defines a table or a view. name: the name
    of cel_match, as for `register`.
    """
    # Without comments, whose words and brackets would be taken for calls; hints such as /*+ … */ stay.
    text = TOKEN.sub(lambda token: " " if token["comment"] else token[0], text)
    pieces, end, frames = list[str](), 0, dict[str, DataFrame]()
    for call, arguments, after in find_calls(text, {name.upper(), "MATCH_RECOGNIZE"}):
        if call.start() < end or (frame := _frame_of(session, call[0].lower(), arguments, args)) is None:
            continue
        frames[f"cerify_{end}"] = frame
        pieces += [_escaped(text[end : call.start()]), f"{{cerify_{end}}}"]
        end = after
    if not frames:
        return session.sql(text, dict(args or {}))
    return session.sql("".join([*pieces, _escaped(text[end:])]), dict(args or {}), **frames)


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def find_calls(text: str, functions: set[str]) -> Iterator[tuple[re.Match[str], list[str], int]]:
    """Yield the calls of these functions in an SQL text: (match of the name, texts of the arguments, end of
    the call).
    """
    tokens = list(TOKEN.finditer(text))
    words = [token[0].upper() for token in tokens]
    # A view keeps its text, so the data frame of a call could not be part of it; a table of WITH has no name outside.
    if not words or words[0] not in READS or "WITH" in words:
        return
    for number, pair in enumerate(pairwise(words)):
        if pair[0] not in functions or pair[1] != "(" or words[number - 1] in ("LATERAL", "."):
            continue
        depth, begin, arguments = 0, tokens[number + 1].end(), list[str]()
        for token in tokens[number + 1 :]:
            depth += (token[0] == "(") - (token[0] == ")")
            if depth == 0 or (depth == 1 and token[0] == ","):
                arguments.append(text[begin : token.start()])
                begin = token.end()
            if depth == 0:
                yield tokens[number], arguments, token.end()
                break


def _frame_of(
    session: SparkSession, function: str, arguments: Sequence[str], args: Mapping[str, Any] | None
) -> DataFrame | None:
    """Return the answer of a call; None if Spark cannot read its table or arguments by themselves."""
    names = ["table", "clause" if function == "match_recognize" else "query"]
    parts = (found for argument in arguments if (found := ARGUMENT.fullmatch(argument)))
    given = {part["name"] or name: part["value"] for part, name in zip(parts, chain(names, repeat("")), strict=False)}
    table = TABLE.fullmatch(given.pop("table", ""))
    if table is None or names[1] not in given:
        return None
    try:
        df = run_sql(session, f"SELECT * FROM ({table[1]})", args)
        literals = ", ".join(f"{value} AS {quoted(name)}" for name, value in given.items())
        values = session.sql(f"SELECT {literals}", dict(args or {})).collect()[0].asDict()
    # The table may be a CTE or refer to columns of the statement around it; Spark then runs the call as a table
    # function.
    except PySparkException:
        return None
    text = values.pop(names[1])
    if function == "match_recognize":
        return match_recognize(df, text)
    require_keywords(cel_match, values, SqlOptions)
    several = {name: _names(name, value) for name, value in values.items() if name in SEVERAL}
    return match(df, text, **{"strict": True, **values, **several})


# ---------------------------------------------------------------------------------------------------------------------
# The rows that Spark passes to a table function, and those that it takes back. If rows come one by one, their times are
# those of the worker's local clock, on which one hour of the year comes twice.

ARROW: int | None = getattr(PythonEvalType, "SQL_ARROW_UDTF", None)
PARTS = 256


def _parts(rows: T.StructType, keys: dict[str, str]) -> list[PartitioningColumn]:
    """Return the column that divides a table into parts, by keys with their SQL expressions; none without keys."""
    if not keys:
        return []
    floats = {name for name in keys if isinstance(rows[name].dataType, T.FloatType | T.DoubleType)}
    # -0.0 plus 0.0 is 0.0: the two are one key, but have different hashes.
    hashed = (f"nanvl({sql}, 0D) + 0D" if name in floats else sql for name, sql in keys.items())
    return [PartitioningColumn(f"pmod(hash({', '.join(hashed)}), {PARTS})")]


def _with_keys(batch: pa.RecordBatch, keys: Sequence[str]) -> pa.RecordBatch:
    """Return only the rows that have a key."""
    without = reduce(or_, (nothing(batch.column(name)) for name in keys), np.zeros(batch.num_rows, np.bool_))
    return batch.filter(pa.array(~without)) if without.any() else batch


def _selected(rows: T.StructType, name: str, sql: str) -> SelectedColumn:
    """Return the column of the rows given by an SQL expression. If rows come one by one, times are microseconds.

    Raises InputError for nested times there.
    """
    kind = rows[name].dataType
    if ARROW is not None:
        return SelectedColumn(sql, name)
    if isinstance(kind, T.TimestampType):
        return SelectedColumn(f"unix_micros({sql})", name)
    if _map_times(kind) != kind and (time.timezone or time.daylight):
        raise InputError(
            f"column {name!r} is {kind.simpleString()}; in this time zone one hour of each year comes twice, so "
            "its times are ambiguous: set TZ=UTC for Spark's processes, or leave the column out"
        )
    return SelectedColumn(sql, name)


def _batches_of_rows(rows: list[tuple[Any, ...]], schema: T.StructType) -> list[pa.RecordBatch]:
    """Return the rows, with columns made by `_selected`, in batches with the types of the schema."""
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


def _rows_of_batches(batches: Iterable[pa.RecordBatch], schema: T.StructType) -> Iterator[Any]:
    """Yield the answer in the form that Spark accepts. Times in rows are in UTC; PySpark would shift them to local
    time.
    """
    if ARROW is not None:  # all batches of a task have one schema, also in what may be null
        kind = arrow_schema(schema)
        yield from (pa.Table.from_batches([batch]).cast(kind) for batch in batches)
        return
    for batch in batches:
        yield from ArrowTableToRowsConversion.convert(pa.Table.from_batches([batch]), _map_times(schema))


def _map_times(kind: Any) -> Any:
    """Return the type with dates instead of timestamps, because PySpark passes dates on unchanged."""
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
