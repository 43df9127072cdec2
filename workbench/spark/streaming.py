"""The matches of a query over an unbounded stream of rows, by Spark's Structured Streaming and its state store."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Required, Unpack

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cerify.automata.evaluator import Output
from cerify.languages import DEFAULT
from cerify.semantics.arguments import require_keywords
from cerify.semantics.cel.registered import NO_PREDICATES, Predicates
from cerify.semantics.errors import InputError
from cerify.semantics.events import Schema
from cerify.spark.batch import answer_schema, counted, with_named_predicates
from cerify.spark.columns import columns_of, require_frame
from cerify.spark.fitting import KnownTypes, warn_of_misfits
from cerify.spark.named_columns import ColumnName, EventNames, listed, with_named
from cerify.spark.runs.query import Query
from cerify.spark.runs.run import match_schema
from cerify.spark.streams.ipc_blobs import ROWS, key_name, packing, unpacked
from cerify.spark.streams.keyed import LATE, REASONS
from cerify.spark.streams.plan import Plan
from cerify.spark.streams.state_schema import KIND, MATCH, MESSAGE, ROW
from cerify.spark.versions import STREAMS, arrow_schema, require_release

DELAY = "spark.watermarkDelayMs"  # in the metadata of a column that has a watermark
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class StreamOptions(EventNames, total=False):
    """Keyword arguments that match_stream and rest share; match_stream documents them."""

    event_time: Required[ColumnName]
    partition_by: Required[ColumnName | Sequence[ColumnName]]
    order_by: ColumnName | Sequence[ColumnName]
    schema: Schema | None
    types: str | Collection[str] | None
    strict: bool
    language: str
    output: Output
    predicates: Predicates


def match_stream(
    df: DataFrame,
    query: str,
    *,
    watermark: str | None = "10 minutes",
    observe: str = "cerify",
    **options: Unpack[StreamOptions],
) -> DataFrame:
    """The matches of a query over a streaming data frame; each key of partition_by is a stream of its own.

    event_time and partition_by are required; order_by, type_col, id_col, attributes, schema, types, strict, language,
    output and predicates are as in cerify.spark.match, output is "matches" or "valuations".

    The events of a key are read in the order of event_time, a timestamp, once the watermark has passed them: the
    greatest event_time of all rows so far minus the interval `watermark`. Events of equal time are ordered by the
    columns order_by, then id_col, then the other columns that the query needs. With watermark=None the data frame has
    to have a watermark of its own.

    The answer also contains the rows that can be part of no stream, and those that came after the watermark had passed
    them: `matches`, `late` and `malformed` select from it. Such a row has the columns of the data frame, and those that
    the arguments name as a Column or a field of a struct. Their numbers are observed under the name `observe`.

    Raises ParseError, IllFormed, InputError, and Unsupported for a query that no evaluator of batches carries.
    """
    require_keywords(match_stream, options, StreamOptions)
    prepared = prepare(df, query, options)
    df, event_time = prepared.df, prepared.plan.event_time
    warn_of_misfits(df, prepared.plan.query, prepared.plan.columns, prepared.known, 2)
    if watermark is not None:
        df = df.withWatermark(event_time, watermark)
    elif DELAY not in df.schema[event_time].metadata:
        raise InputError(f"column {event_time!r} has no watermark; give one, such as watermark='10 minutes'")
    from cerify.spark.streams.processor import Processor  # which earlier releases of PySpark cannot import

    plan, blobs = prepared.plan.to_json(), T.StructType([*prepared.keys, T.StructField(ROWS, T.BinaryType())])
    # the blobs have no column of times, so that Spark does not drop late rows, which belong into the answer
    return (
        df.mapInArrow(partial(_packed, plan=plan), blobs)
        .groupBy(*(field.name for field in prepared.keys))
        .transformWithState(Processor(plan, prepared.plan.query.predicates), prepared.yielded, "append", "EventTime")
        .mapInArrow(partial(unpacked_rows, plan=plan), prepared.answer)
        .observe(observe, *counted(MATCH, *REASONS))
    )


def matches(answer: DataFrame) -> DataFrame:
    """The matches of an answer of match_stream, or of match with on_error="aside", with the columns of `match`."""
    return answer.where(F.col(KIND) == MATCH).drop(KIND, MESSAGE, ROW)


def late(answer: DataFrame) -> DataFrame:
    """Of the answer of match_stream the rows that came after the watermark had passed them, unchanged."""
    return answer.where(F.col(KIND) == LATE).select(f"{ROW}.*")


def malformed(answer: DataFrame) -> DataFrame:
    """The rows of such an answer that can be part of no stream, and the keys that have failed, with the reason.

    Of a key that has failed `row` has the columns of the key only, and `message` (with match) is the error.
    """
    more = [MESSAGE] if MESSAGE in answer.columns else []
    return answer.where(~F.col(KIND).isin(MATCH, LATE)).select(F.col(KIND).alias("reason"), *more, ROW)


@dataclass(frozen=True)
class PreparedStream:
    """The checked arguments of match_stream; df has the columns that they name.

    keys: the columns of the key between Spark's operators; yielded: the columns that the stateful operator yields;
    answer: the columns of the answer.
    """

    df: DataFrame
    plan: Plan
    known: KnownTypes
    keys: list[T.StructField]
    yielded: T.StructType
    answer: T.StructType


def prepare(df: DataFrame, query: str, options: StreamOptions) -> PreparedStream:
    """The arguments of match_stream, checked. Raises what match_stream raises."""
    require_release(STREAMS, "match_stream")
    require_frame(df)
    if not df.isStreaming:
        raise InputError("match_stream reads a streaming data frame; for data at rest use cerify.spark.match")
    if options.get("event_time") is None:
        raise InputError("event_time names the column of times by which the events of a key are ordered")
    output, predicates = options.get("output", "matches"), options.get("predicates", NO_PREDICATES)
    asked = with_named_predicates(
        Query(query, options.get("language", DEFAULT), output, options.get("schema"), predicates)
    )
    order = [options["event_time"], *listed("order_by", options.get("order_by"))]
    df, names = with_named(df, {**options, "order_by": order})
    columns = columns_of(df.schema, asked, **names)
    event_time = columns.order[0]
    if not columns.keys:
        raise InputError("partition_by names the columns of the key; each key is a stream of its own")
    kind = df.schema[event_time].dataType
    if not isinstance(kind, T.TimestampType | T.TimestampNTZType):
        raise InputError(f"column {event_time!r} is {kind.simpleString()}; a watermark is on timestamps, so convert it")
    if columns.time not in (None, event_time):
        raise InputError(
            f"the query uses the time of events, which is the column {columns.time!r}, but they are read in the "
            f"order of {event_time!r}; rename {columns.time!r}, or make it the event_time"
        )
    plan = Plan(asked, columns, arrow_schema(df.schema))
    _ = plan.compiled
    answer = answer_schema(df.schema, asked, columns, output)
    if doubled := [name for name in (KIND, ROW) if name in answer.names]:
        raise InputError(f"the answer has a column {doubled[0]!r}; rename the column of the key")
    more = T.StructField(KIND, T.StringType()), T.StructField(ROW, df.schema)
    keys = [T.StructField(key_name(i), df.schema[name].dataType) for i, name in enumerate(columns.keys)]
    df.sparkSession.conf.set(PROVIDER, ROCKSDB)  # the only store with several states for one operator
    return PreparedStream(
        df,
        plan,
        KnownTypes(options.get("types"), strict=options.get("strict", False)),
        keys,
        T.StructType([*keys, T.StructField(KIND, T.StringType()), T.StructField(ROWS, T.BinaryType())]),
        T.StructType([T.StructField(field.name, field.dataType) for field in (*answer, *more)]),
    )


def _packed(batches: Iterable[pa.RecordBatch], plan: str) -> Iterator[pa.RecordBatch]:
    parsed = Plan.from_json(plan)
    return packing(parsed.columns.keys, parsed.schema)(batches)


def unpacked_rows(batches: Iterable[pa.RecordBatch], plan: str) -> Iterator[pa.RecordBatch]:
    """On a worker: the rows of the answer, from the blobs of matches and of invalid rows."""
    parsed = Plan.from_json(plan)
    id_col = parsed.columns.id
    found = match_schema(pa.int64() if id_col is None else parsed.schema.field(id_col).type)
    row = pa.struct(list(parsed.schema))
    names = found.names if parsed.query.plugin.results else found.names[:-1]
    header = [*parsed.columns.keys, *names, KIND, ROW]
    for batch in batches:
        for i in range(batch.num_rows):
            kind, blob = batch.column(KIND)[i].as_py(), batch.column(ROWS)[i].as_py()
            table = unpacked([blob], found if kind == MATCH else parsed.schema)
            n = table.num_rows
            if kind == MATCH:
                columns = [table[name] for name in names] + [pa.repeat(kind, n), pa.nulls(n, row)]
            else:
                nothing = [pa.nulls(n, found.field(name).type) for name in names]
                columns = [*nothing, pa.repeat(kind, n), table.to_struct_array()]
            keys = [batch.column(key_name(k)).take(pa.repeat(i, n)) for k in range(len(parsed.columns.keys))]
            yield from pa.table([*keys, *columns], names=header).combine_chunks().to_batches()
