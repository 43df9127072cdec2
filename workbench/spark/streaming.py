"""The matches of a query over a stream of rows that goes on, by Spark's Structured Streaming and its state store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from cerify.automata.evaluator import Output
from cerify.languages import DEFAULT
from cerify.semantics.errors import InputError
from cerify.semantics.events import Schema
from cerify.spark.batch import answer_schema
from cerify.spark.columns import columns_of
from cerify.spark.errors import listen
from cerify.spark.runs.places import told_by
from cerify.spark.runs.query import Query
from cerify.spark.streams.aside import LATE, REASONS
from cerify.spark.streams.packs import ROWS, key_name, packing, unpacked
from cerify.spark.streams.plan import Plan
from cerify.spark.streams.processor import KIND, MATCH, Processor

ROW = "row"
DELAY = "spark.watermarkDelayMs"  # in the metadata of a column that has a watermark
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def match_stream(
    df: DataFrame,
    query: str,
    *,
    event_time: str,
    partition_by: str | Sequence[str],
    watermark: str | None = "10 minutes",
    order_by: str | Sequence[str] = (),
    type_col: str | None = None,
    id_col: str | None = None,
    schema: Schema | None = None,
    language: str = DEFAULT,
    output: Output = "matches",
    observe: str = "cerify",
) -> DataFrame:
    """The matches of a query over a streaming data frame; each key of partition_by is a stream of its own.

    The events of a key are read in the order of event_time, a timestamp, as soon as no event that comes can be before
    them: the watermark is the latest event_time of all rows so far less that much. Events of the same time are in the
    order of the columns order_by, then id_col, then of what else the query asks for. With watermark None that of the
    data frame is meant, which has one then.

    Rows that cannot be part of a stream, and those that come after the watermark has passed them, are in the answer
    too: `matches`, `late` and `malformed` tell them apart. How many there are is observed under the name `observe`.

    Raises ParseError, IllFormed, InputError, and Unsupported for a query that no evaluator of batches carries.
    """
    said = asked(
        df, query, event_time=event_time, partition_by=partition_by, order_by=order_by, type_col=type_col,
        id_col=id_col, schema=schema, language=language, output=output,
    )  # fmt: skip
    if watermark is not None:
        df = df.withWatermark(event_time, watermark)
    elif DELAY not in df.schema[event_time].metadata:
        raise InputError(f"column {event_time!r} has no watermark; give one, such as watermark='10 minutes'")
    plan, moved = said.plan.to_json(), T.StructType([*said.keys, T.StructField(ROWS, T.BinaryType())])
    # the packs have no column of times, so that Spark, which would drop late rows, leaves that to us
    return (
        df.mapInArrow(partial(_packed, plan=plan), moved)
        .groupBy(*(field.name for field in said.keys))
        .transformWithState(Processor(plan), said.handed, "append", "EventTime")
        .mapInArrow(partial(unpacked_rows, plan=plan), said.answer)
        .observe(observe, *(F.count_if(F.col(KIND) == kind).alias(kind) for kind in (MATCH, *REASONS)))
    )


def matches(answer: DataFrame) -> DataFrame:
    """Of the answer of match_stream the matches: the key, at, events and bindings."""
    return answer.where(F.col(KIND) == MATCH).drop(KIND, ROW)


def late(answer: DataFrame) -> DataFrame:
    """Of the answer of match_stream the rows that came too late, as they were."""
    return answer.where(F.col(KIND) == LATE).select(f"{ROW}.*")


def malformed(answer: DataFrame) -> DataFrame:
    """Of the answer of match_stream the rows that can be part of no stream, and why."""
    return answer.where(~F.col(KIND).isin(MATCH, LATE)).select(F.col(KIND).alias("reason"), ROW)


@dataclass(frozen=True)
class Asked:
    """What is asked: the plan, the columns of the key on the way, those that the processor hands on, the answer's."""

    plan: Plan
    keys: list[T.StructField]
    handed: T.StructType
    answer: T.StructType


def asked(
    df: DataFrame,
    query: str,
    *,
    event_time: str,
    partition_by: str | Sequence[str],
    order_by: str | Sequence[str] = (),
    type_col: str | None = None,
    id_col: str | None = None,
    schema: Schema | None = None,
    language: str = DEFAULT,
    output: Output = "matches",
) -> Asked:
    """The arguments of match_stream, checked; the errors are said there."""
    if not df.isStreaming:
        raise InputError("match_stream reads a streaming data frame; for data at rest use cerify.spark.match")
    listen()
    its = Query(query, language, output, schema)
    order = (event_time, *([order_by] if isinstance(order_by, str) else order_by))
    columns = columns_of(df, its, order_by=order, type_col=type_col, partition_by=partition_by, id_col=id_col)
    if not columns.keys:
        raise InputError("partition_by names the columns of the key; each key is a stream of its own")
    kind = df.schema[event_time].dataType
    if not isinstance(kind, T.TimestampType | T.TimestampNTZType):
        raise InputError(f"column {event_time!r} is {kind.simpleString()}; a watermark is on timestamps, so convert it")
    if columns.time not in (None, event_time):
        raise InputError(
            f"the query asks for the time of events, which is the column {columns.time!r}, but they are read in the "
            f"order of {event_time!r}; rename {columns.time!r}, or make it the event_time"
        )
    plan = Plan(its, columns, to_arrow_schema(df.schema, timezone="UTC"))
    _ = plan.compiled
    answer = answer_schema(df, its, columns, output)
    if doubled := [name for name in (KIND, ROW) if name in answer.names]:
        raise InputError(f"the answer has a column {doubled[0]!r} of its own; rename that of the key")
    more = T.StructField(KIND, T.StringType()), T.StructField(ROW, df.schema)
    keys = [T.StructField(key_name(i), df.schema[name].dataType) for i, name in enumerate(columns.keys)]
    df.sparkSession.conf.set(PROVIDER, ROCKSDB)  # the only one in which an operator keeps several states
    return Asked(
        plan,
        keys,
        T.StructType([*keys, T.StructField(KIND, T.StringType()), T.StructField(ROWS, T.BinaryType())]),
        T.StructType([T.StructField(field.name, field.dataType) for field in (*answer, *more)]),
    )


def _packed(batches: Iterable[pa.RecordBatch], plan: str) -> Iterator[pa.RecordBatch]:
    said = Plan.from_json(plan)
    return packing(said.columns.keys, said.schema)(batches)


def unpacked_rows(batches: Iterable[pa.RecordBatch], plan: str) -> Iterator[pa.RecordBatch]:
    """On a worker: the rows of the answer, from packs of matches and of rows that were put aside."""
    said = Plan.from_json(plan)
    id_col = said.columns.id
    found = told_by(pa.int64() if id_col is None else said.schema.field(id_col).type)
    row = pa.struct(list(said.schema))
    told = found.names if said.query.plugin.results else found.names[:-1]  # only these have results
    for batch in batches:
        for i in range(batch.num_rows):
            kind, pack = batch.column(KIND)[i].as_py(), batch.column(ROWS)[i].as_py()
            table = unpacked([pack], found if kind == MATCH else said.schema)
            n = table.num_rows
            if kind == MATCH:
                columns = [table[name] for name in told] + [pa.repeat(kind, n), pa.nulls(n, row)]
            else:
                nothing = [pa.nulls(n, found.field(name).type) for name in told]
                columns = [*nothing, pa.repeat(kind, n), table.to_struct_array()]
            keys = [batch.column(key_name(k)).take(pa.repeat(i, n)) for k in range(len(said.columns.keys))]
            names = [*said.columns.keys, *told, KIND, ROW]
            yield from pa.table([*keys, *columns], names=names).combine_chunks().to_batches()
