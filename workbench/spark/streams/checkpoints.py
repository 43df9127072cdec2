"""The states in the checkpoint of a stream that has stopped: whether they are those of a query, and as a data frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Unpack

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cerify.semantics.arguments import require_keywords
from cerify.semantics.cel.registered import Predicates
from cerify.semantics.errors import InputError
from cerify.spark.errors import serialize_error, worker_errors
from cerify.spark.streaming import PreparedStream, StreamOptions, prepare
from cerify.spark.streams.ipc_blobs import ROWS, key_name, unpacked
from cerify.spark.streams.keyed import KeyState, same_plan
from cerify.spark.streams.plan import Plan
from cerify.spark.streams.state_schema import HELD, KEPT

EVENTS, LAST, WAITING, RUN = "events", "last", "waiting", "run"
NO_BATCH = "STDS_COMMITTED_BATCH_UNAVAILABLE"  # Spark's error class


class NoCommittedBatch(InputError):
    """A checkpoint has no state yet: its stream has finished no batch, or was never started."""


def require_checkpoint(df: DataFrame, query: str, *, checkpoint: str, **options: Unpack[StreamOptions]) -> None:
    """Raises InputError if the checkpoint has states of another query or of other columns.

    df, query and options are those of match_stream. The state of one key is read. Nothing is refused where the stream
    has finished no batch yet.
    """
    require_keywords(require_checkpoint, options, StreamOptions)
    prepared = prepare(df, query, options)
    try:
        blobs = blobs_of(df, prepared, checkpoint)
    except NoCommittedBatch:
        return
    with worker_errors():
        one = blobs.limit(1)
        one.mapInArrow(_exporting(prepared), exported_schema(prepared)).collect()


def export_state(df: DataFrame, query: str, *, checkpoint: str, **options: Unpack[StreamOptions]) -> DataFrame:
    """The state of each key in a checkpoint, a row for each.

    The columns are those of the key; `events`, the number of events evaluated; `last`, the time of the latest of them;
    `waiting`, the rows that the watermark has not passed, with the columns that the query needs; and `run`, the
    evaluator's saved state, null if there is none. The checkpoint is only read. df, query and options are those of
    match_stream. Raises InputError if the stream has finished no batch.
    """
    require_keywords(export_state, options, StreamOptions)
    prepared = prepare(df, query, options)
    return blobs_of(df, prepared, checkpoint).mapInArrow(_exporting(prepared), exported_schema(prepared))


def blobs_of(df: DataFrame, prepared: PreparedStream, checkpoint: str) -> DataFrame:
    """For each key its columns, the blobs of the rows that are held, and its KeyState. Raises NoCommittedBatch."""
    store = df.sparkSession.read.format("statestore")
    try:
        held, kept = (store.option("stateVarName", name).load(checkpoint) for name in (HELD, KEPT))
    except PySparkException as error:
        if error.getCondition() != NO_BATCH:
            raise
        raise NoCommittedBatch(f"{checkpoint} has no state: its stream has finished no batch") from None
    held = held.select("key", F.col(f"list_element.{ROWS}").alias(ROWS))
    kept = kept.select("key", F.col("value").alias(KEPT))
    keys = [F.col(f"key.{field.name}").alias(field.name) for field in prepared.keys]
    return kept.join(held.groupBy("key").agg(F.collect_list(ROWS).alias(HELD)), "key", "left").select(*keys, HELD, KEPT)


def exported_schema(prepared: PreparedStream) -> T.StructType:
    """The schema of what export_state returns."""
    rows = prepared.answer["row"].dataType
    assert isinstance(rows, T.StructType)
    plan = prepared.plan
    keys = [T.StructField(name, field.dataType) for name, field in zip(plan.columns.keys, prepared.keys, strict=True)]
    waiting = T.ArrayType(T.StructType([rows[name] for name in plan.held.names]))
    types = {EVENTS: T.LongType(), LAST: T.TimestampType(), WAITING: waiting, RUN: T.BinaryType()}
    return T.StructType([*keys, *(T.StructField(name, type_) for name, type_ in types.items())])


def _exporting(prepared: PreparedStream) -> partial[Iterator[pa.RecordBatch]]:
    plan = prepared.plan
    return partial(_exported, plan=plan.to_json(), predicates=plan.query.predicates)


def _exported(batches: Iterable[pa.RecordBatch], plan: str, predicates: Predicates) -> Iterator[pa.RecordBatch]:
    parsed = Plan.from_json(plan, predicates)
    keys, waiting = parsed.columns.keys, pa.list_(pa.struct(list(parsed.held)))
    with serialize_error():
        for batch in batches:
            rows = batch.select([HELD, KEPT]).to_pylist()
            kept = [same_plan(parsed, KeyState(**row[KEPT])) for row in rows]
            held = [unpacked(row[HELD] or [], parsed.held).to_pylist() for row in rows]
            columns = {name: batch.column(key_name(i)) for i, name in enumerate(keys)}
            columns[EVENTS] = pa.array([one.position for one in kept], pa.int64())
            columns[LAST] = pa.array([one.last for one in kept], pa.timestamp("us", "UTC"))
            columns[WAITING] = pa.array(held, waiting)
            columns[RUN] = pa.array([one.run for one in kept], pa.binary())
            yield pa.record_batch(columns)
