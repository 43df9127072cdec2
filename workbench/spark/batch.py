"""Find the matches of a query over a data frame, with a stream for each key and a task for each partition of data.

`match` plans on the driver and reads no row: it parses the query, finds the columns, and gives each task a plan that
can be pickled. `answers.py` runs on the workers. A frame without keys is one stream, which no cluster can split in this
way; `chunks.py` treats it.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import or_
from typing import Unpack, get_args

from pyspark.sql import Column, DataFrame, Observation, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type

from cerify.languages import DEFAULT
from cerify.semantics.arguments import Budget, require_keywords, require_kind
from cerify.semantics.cel.denote import NO_PREDICATES, Predicates, find_named_atoms
from cerify.semantics.errors import IllFormed, InputError
from cerify.semantics.events import Schema
from cerify.spark.answers import DIGITS, NAME, OnError, Output, answer_batches, result_type
from cerify.spark.chunks import unpartitioned
from cerify.spark.columns import (
    ColumnNames,
    KnownTypes,
    column,
    columns_of,
    keyless,
    map_in_arrow,
    require_frame,
    selected,
    warn_of_misfits,
    with_fields,
    with_kept_in_row,
    with_named,
)
from cerify.spark.rows import REASONS as INVALID
from cerify.spark.rows import Columns, unused
from cerify.spark.runs import SparkQuery
from cerify.spark.session import arrow_schema
from cerify.spark.transport import KIND, MATCH, MESSAGE, ROW, worker_errors

NUMBER = "cerify_row"
ONE_TASK_BY_DEFINITION = (
    "without partition_by all rows go through one task, because the query names a predicate; give partition_by"
)
ONE_TASK = 'without partition_by all rows go through one task with on_error="aside"; give partition_by'


class MatchOptions(ColumnNames, total=False):
    """The keyword arguments of `match`, which documents them."""

    schema: Schema | None
    types: str | Collection[str] | None
    sample: int
    strict: bool
    language: str
    output: Output
    budget: Budget
    on_error: OnError
    clustered: bool
    observation: Observation | None
    predicates: Predicates


def match(df: DataFrame, query: str, **options: Unpack[MatchOptions]) -> DataFrame:
    """Return the matches of a query over the rows of a data frame, as a data frame.

    The columns are named by order_by (required), partition_by, type_col and id_col. The rows are read in the order of
    order_by. With partition_by each key is a stream of its own, with its own positions and windows. Rows without a key
    are in no stream; observation, if given, counts them. type_col, "type" by default, is the type of an event. Events
    are identified by the column id_col, or else by their positions in their stream. With keep (one column or several),
    they are identified by structs of id_col, if given, and of their values in these columns. attributes maps names of
    attributes in the query to columns. A column may be given as a Column, or be a field of a struct, as "payload.user".
    time_unit ("s", "ms", "us", "ns") is the unit of times that are numbers since 1970, in the column `time` or else the
    first column of order_by; without time_unit, whole numbers are seconds.

    output is the kind of row in the answer: one for each match ("matches"), one for each match and assignment of its
    variables ("valuations"), one for each event of a match ("events"), or one for each stream with its number of
    matches ("count").

    A comparison that can never be true, given the types of the columns, gives a QueryWarning; with strict, an error.
    types are the possible event types; any other type in the query is an error. sample is a number of rows to read
    types from; any other type in the query gives a warning. A schema has the types too.

    predicates are functions for a query of CEL, as for cerify.match; each worker gets them, pickled. They may read all
    columns that can be attributes. A query that names one is evaluated by the definition, each key by itself.

    on_error: with "fail", an invalid row or a failing key is an error of the action that reads it. With "aside" the
    answer also contains these rows and keys, with the reason in the column `kind`; `matches` and `malformed` select
    from it. observation then counts the rows of the answer by kind.

    clustered: whether Spark may skip the shuffle if it knows that the rows are already grouped by key, as after a
    groupBy or repartition by the key, or in a bucketed table. The answer is the same.

    Raises ParseError, IllFormed, Unsupported and InputError. Errors in the rows are raised by the action that reads
    them; put the action into `worker_errors()` to have them as errors of cerify.
    """
    require_keywords(match, options, MatchOptions)
    prepared = prepare(df, query, options)
    df, columns, observation = prepared.df, prepared.columns, options.get("observation")
    warn_of_misfits(df, prepared.query, columns, prepared.known, 2)
    task = partial(
        answer_batches,
        query=prepared.query.to_json(),
        columns=columns,
        output=prepared.output,
        budget=prepared.budget,
        on_error=prepared.on_error,
        predicates=prepared.query.predicates,
    )
    if prepared.on_error == "aside":
        found = map_in_arrow(_group_rows(df, columns, prepared.clustered), task, prepared.answer)
        found = with_kept_in_row(found, columns.id, options.get("keep"))
        return found if observation is None else found.observe(observation, *count_kinds(MATCH, *INVALID))
    if observation is not None:
        nothing = reduce(or_, (keyless(df, name) for name in columns.keys), F.lit(False))
        df = df.observe(observation, F.count("*").alias("rows"), F.count_if(nothing).alias("without_key"))
    some = selected(df, columns)
    if not columns.keys and prepared.query.predicates:
        warnings.warn(ONE_TASK_BY_DEFINITION, stacklevel=2)
        rows = some.repartition(1).sortWithinPartitions(*map(column, columns.order))
        return map_in_arrow(rows, task, prepared.answer)
    if not columns.keys:
        with worker_errors():
            return unpartitioned(some, prepared.query, columns, prepared.output, prepared.budget, prepared.answer)
    keys, order = [*map(column, columns.keys)], [*map(column, columns.order)]
    return map_in_arrow(by_key(some, keys, order, clustered=prepared.clustered), task, prepared.answer)


@dataclass(frozen=True)
class Prepared:
    """The checked arguments of match. df has the columns that they name; answer is the schema of the answer."""

    df: DataFrame
    query: SparkQuery
    columns: Columns
    answer: T.StructType
    known: KnownTypes
    output: Output
    budget: Budget
    on_error: OnError
    clustered: bool


def prepare(df: DataFrame, query: str, options: MatchOptions) -> Prepared:
    """Return the arguments of match, checked. Raises what match raises."""
    on_error, output = options.get("on_error", "fail"), options.get("output", "matches")
    if on_error not in get_args(OnError):
        raise IllFormed(f"there is no on_error {on_error!r}; use one of {', '.join(get_args(OnError))}")
    budget = options.get("budget", Budget())
    require_kind("budget", budget, Budget, "a cerify.Budget")
    require_frame(df)
    if df.isStreaming:
        raise InputError("match cannot read a streaming data frame; use cerify.spark.match_stream")
    language, predicates = options.get("language", DEFAULT), options.get("predicates", NO_PREDICATES)
    asked = query_for(query, language, output, options.get("schema"), predicates)
    df, names = with_named(df, options)
    df = with_fields(df, asked)
    columns = columns_of(df.schema, asked, **names)
    answer = answer_schema(df.schema, asked, columns, output)
    return Prepared(
        df,
        asked,
        columns,
        _with_aside(df, answer, columns) if on_error == "aside" else answer,
        KnownTypes(options.get("types"), options.get("sample", 0), options.get("strict", False)),
        output,
        budget,
        on_error,
        options.get("clustered", False),
    )


def query_for(
    text: str,
    language: str,
    output: Output,
    schema: Schema | None = None,
    predicates: Predicates = NO_PREDICATES,
) -> SparkQuery:
    """Parse and check a query for an answer of this kind. Raises ParseError, IllFormed and Unsupported."""
    if output not in get_args(Output):
        raise IllFormed(f"there is no output {output!r}; use one of {', '.join(get_args(Output))}")
    asked = SparkQuery(text, language, "valuations" if output == "valuations" else "matches", schema, predicates)
    return with_named_predicates(asked)


def with_named_predicates(query: SparkQuery) -> SparkQuery:
    """Return the query, checked, without the predicates that it does not name. Raises what query_for raises."""
    parsed = query.parsed
    names = {one.name for one in find_named_atoms(parsed)} if query.predicates and query.language == DEFAULT else set()
    return replace(query, predicates={name: query.predicates[name] for name in sorted(names)})


def count_kinds(*kinds: str) -> list[Column]:
    """Return, for each kind, a column expression that counts the rows of an answer of this kind."""
    return [F.count_if(F.col(KIND) == kind).alias(kind) for kind in kinds]


def _group_rows(df: DataFrame, columns: Columns, clustered: bool) -> DataFrame:
    """Return all rows, grouped by key and sorted. Rows without a key are spread over the tasks, to be set aside
    there.
    """
    some = df.select(*map(column, columns.all_columns))
    order = [*map(column, columns.order)]
    if not columns.keys:
        warnings.warn(ONE_TASK, stacklevel=3)
        return some.repartition(1).sortWithinPartitions(*order)
    nothing = reduce(or_, (keyless(df, name) for name in columns.keys))
    # Otherwise all rows without a key would go to one task, which they could overload.
    spread = F.when(nothing, F.xxhash64(*order))
    return by_key(some, [*map(column, columns.keys)], order, spread, clustered=clustered)


def _with_aside(df: DataFrame, answer: T.StructType, columns: Columns) -> T.StructType:
    """Return the schema of an answer that includes rows set aside. Raises InputError if a key column has a reserved
    name.
    """
    if taken := [name for name in (KIND, MESSAGE, ROW) if name in answer.names]:
        raise InputError(f"the answer has its own column {taken[0]!r}; give the column of the key another name")
    row = T.StructType([T.StructField(name, df.schema[name].dataType) for name in columns.all_columns])
    more = [T.StructField(KIND, T.StringType()), T.StructField(MESSAGE, T.StringType()), T.StructField(ROW, row)]
    return T.StructType([*(T.StructField(field.name, field.dataType) for field in answer), *more])


def answer_schema(rows: T.StructType, query: SparkQuery, columns: Columns, output: Output) -> T.StructType:
    """Return the schema of an answer. Raises InputError if a key column has the name of another column of the
    answer.
    """
    place = T.LongType() if columns.id is None else rows[columns.id].dataType
    places = T.ArrayType(place)
    fields: dict[str, T.DataType]
    match output:
        case "count":
            fields = {"count": T.DecimalType(DIGITS, 0), "digits": T.StringType()}
        case "events":
            fields = {"match": T.LongType(), "at": place, "event": place}
        case _:
            fields = {"at": place, "events": places, "bindings": T.MapType(T.StringType(), places)}
            if query.plugin.results:
                some = arrow_schema(T.StructType([rows[name] for name in columns.all_columns]))
                fields[NAME] = from_arrow_type(result_type(query, columns, some), prefer_timestamp_ntz=True)
    if doubled := [name for name in columns.keys if name in fields]:
        raise InputError(f"the answer has its own column {doubled[0]!r}; give the column of the key another name")
    keys = [rows[name] for name in columns.keys]
    return T.StructType([*keys, *(T.StructField(name, kind) for name, kind in fields.items())])


def by_key(
    df: DataFrame,
    keys: Sequence[Column],
    order: Sequence[Column],
    spread: Column | None = None,
    *,
    clustered: bool = False,
) -> DataFrame:
    """Return the rows grouped by key and sorted by `order`, after a shuffle.

    spread: a further column for dividing rows between tasks; it must be equal for all rows of a key. clustered: whether
    Spark may skip the shuffle if it knows that the rows are already grouped by key. In that case Spark numbers the rows
    of each key, and buffers them for that.
    """
    # If a table has as many buckets by the keys as there are tasks, Spark leaves out a shuffle by the keys alone. It
    # then reads the table without its buckets, so that the rows of a key are in several tasks (PySpark 4.3).
    divided = [*keys, F.lit(0) if spread is None else spread]
    if clustered:
        number = unused(NUMBER, df.columns)  # withColumn would replace a column of that name
        return df.withColumn(number, F.row_number().over(Window.partitionBy(*divided).orderBy(*order)))
    return df.repartition(*divided).sortWithinPartitions(*keys, *order)
