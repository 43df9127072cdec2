"""Find the matches of a query over an unbounded stream of rows, by Spark's Structured Streaming and its state store.

Events of a key may arrive out of order, but evaluators read them in order. So rows wait in the state of their key until
the watermark has passed them. Between Spark's operators, rows are blobs without columns of times: Spark drops late rows
by such columns, but here late rows belong into the answer, so that no event disappears without notice.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Required, Unpack

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)
from pyspark.sql.streaming.query import StreamingQuery

from cerify.automata.evaluator import Output
from cerify.languages import DEFAULT
from cerify.semantics.arguments import require_keywords
from cerify.semantics.cel.denote import NO_PREDICATES, Predicates
from cerify.semantics.errors import CerifyError, InputError
from cerify.semantics.events import Schema
from cerify.semantics.match_frames import match_schema
from cerify.spark.answers import NAME, result_type, with_typed_results
from cerify.spark.batch import answer_schema, count_kinds, with_named_predicates
from cerify.spark.columns import (
    ColumnName,
    EventNames,
    KnownTypes,
    columns_of,
    list_columns,
    map_in_arrow,
    quoted,
    require_frame,
    utc_micros,
    warn_of_misfits,
    with_fields,
    with_kept_in_row,
    with_named,
)
from cerify.spark.keyed_streams import (
    LATE,
    REASONS,
    ROWS,
    KeyState,
    StreamPlan,
    evaluated,
    key_name,
    packed,
    packing,
    same_plan,
    unpacked,
)
from cerify.spark.rows import unused
from cerify.spark.runs import SparkQuery
from cerify.spark.session import STREAMS, arrow_schema, require_release
from cerify.spark.transport import (
    HELD,
    KEPT,
    KIND,
    MATCH,
    MESSAGE,
    ROW,
    deserialize_error,
    error_line,
    serialize_error,
    worker_errors,
)

CLOCK = "cerify_clock"
DELAY = "spark.watermarkDelayMs"  # in the metadata of a column that has a watermark
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class StreamOptions(EventNames, total=False):
    """Keyword arguments of match_stream and match_rest. match_stream documents them."""

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
    """Return the matches of a query over a streaming data frame; each key of partition_by is a stream of its own.

    event_time and partition_by are required. order_by, type_col, id_col, keep, attributes, schema, types, strict,
    language, output and predicates mean the same as in cerify.spark.match; output is "matches" or "valuations".

    The events of a key are read in the order of event_time, a timestamp, once the watermark has passed them. The
    watermark is the greatest event_time of all rows so far, minus the interval `watermark`. Events of equal time are
    ordered by the columns order_by, then id_col, then the other columns of the query. With watermark=None the data
    frame must have a watermark of its own.

    The answer also contains the rows that cannot be part of a stream, and the rows that came too late for the
    watermark: `matches`, `late` and `malformed` select from it. Such a row has the columns of the data frame, and those
    that an argument gives as a Column or as a field of a struct. The numbers of these rows are observed under the name
    `observe`.

    Raises ParseError, IllFormed, InputError, and Unsupported for a query that no evaluator can read in batches.
    """
    require_keywords(match_stream, options, StreamOptions)
    prepared = prepare(df, query, options)
    df, event_time = prepared.df, prepared.plan.event_time
    warn_of_misfits(df, prepared.plan.query, prepared.plan.columns, prepared.known, 2)
    if watermark is not None and isinstance(df.schema[event_time].dataType, T.TimestampType):
        df = df.withWatermark(quoted(event_time), watermark)
    elif watermark is not None:  # Spark has no watermark on times without zone, which are in UTC here
        clock = unused(CLOCK, df.columns)
        timed = df.withColumn(clock, F.timestamp_micros(utc_micros(df.schema, event_time)))
        # The column can go: Spark keeps the watermark of the plan without it.
        df = timed.withWatermark(clock, watermark).drop(clock)
    elif DELAY not in df.schema[event_time].metadata:
        raise InputError(f"column {event_time!r} has no watermark; give one, such as watermark='10 minutes'")
    from cerify.spark.processor import Processor  # which earlier releases of PySpark cannot import

    plan, blobs = prepared.plan.to_json(), T.StructType([*prepared.keys, T.StructField(ROWS, T.BinaryType())])
    # the blobs have no column of times, so that Spark does not drop late rows, which belong into the answer
    answer = (
        map_in_arrow(df, partial(_packed, plan=plan), blobs)
        .groupBy(*(field.name for field in prepared.keys))
        .transformWithState(Processor(plan, prepared.plan.query.predicates), prepared.yielded, "append", "EventTime")
        .mapInArrow(partial(unpacked_rows, plan=plan), prepared.answer)
    )
    answer = with_kept_in_row(answer, prepared.plan.columns.id, options.get("keep"))
    return answer.observe(observe, *count_kinds(MATCH, *REASONS))


def matches(answer: DataFrame) -> DataFrame:
    """Return the matches in an answer of match_stream, or of match with on_error="aside", with the
    columns of `match`.
    """
    return answer.where(F.col(KIND) == MATCH).drop(KIND, MESSAGE, ROW)


def late(answer: DataFrame) -> DataFrame:
    """Return the late rows in an answer of match_stream, unchanged: rows that arrived after the watermark had passed
    their time.
    """
    return answer.where(F.col(KIND) == LATE).select(f"{ROW}.*")


def malformed(answer: DataFrame) -> DataFrame:
    """Return what could not be evaluated, a row for each: input rows that belong to no stream, and keys that failed.

    `reason` says why. For a failed key, `row` has only the columns of the key. In an answer of `match`, `message` is
    the error of a failed key.
    """
    more = [MESSAGE] if MESSAGE in answer.columns else []
    return answer.where(~F.col(KIND).isin(MATCH, LATE)).select(F.col(KIND).alias("reason"), *more, ROW)


@dataclass(frozen=True)
class PreparedStream:
    """The checked arguments of match_stream.

    df has the columns that the arguments name. keys: the columns of the key between Spark's operators. yielded: the
    columns that the stateful operator yields. answer: the columns of the answer.
    """

    df: DataFrame
    plan: StreamPlan
    known: KnownTypes
    keys: list[T.StructField]
    yielded: T.StructType
    answer: T.StructType


def prepare(df: DataFrame, query: str, options: StreamOptions) -> PreparedStream:
    """Check the arguments of match_stream. Raises what match_stream raises."""
    require_release(STREAMS, "match_stream")
    require_frame(df)
    if not df.isStreaming:
        raise InputError("match_stream cannot read data at rest; use cerify.spark.match")
    if options.get("event_time") is None:
        raise InputError("event_time is missing; name the column of the time that orders the events of a key")
    output, predicates = options.get("output", "matches"), options.get("predicates", NO_PREDICATES)
    asked = with_named_predicates(
        SparkQuery(query, options.get("language", DEFAULT), output, options.get("schema"), predicates)
    )
    order = [options["event_time"], *list_columns("order_by", options.get("order_by"))]
    df, names = with_named(df, {**options, "order_by": order})
    df = with_fields(df, asked)
    columns = columns_of(df.schema, asked, **names)
    event_time = columns.order[0]
    if not columns.keys:
        raise InputError(
            "partition_by is missing; name the columns of the key, because each key is a stream of its own"
        )
    kind = df.schema[event_time].dataType
    if not isinstance(kind, T.TimestampType | T.TimestampNTZType):
        raise InputError(f"column {event_time!r} is {kind.simpleString()}; a watermark is on timestamps, so convert it")
    if columns.time not in (None, event_time):
        raise InputError(
            f"the query uses the time of events, which is the column {columns.time!r}, but they are read in the "
            f"order of {event_time!r}; rename {columns.time!r}, or make it the event_time"
        )
    plan = StreamPlan(asked, columns, arrow_schema(df.schema))
    # Compiled here too, so that a query without an evaluator of batches is refused now and not by a worker.
    _ = plan.compiled
    answer = answer_schema(df.schema, asked, columns, output)
    if doubled := [name for name in (KIND, ROW) if name in answer.names]:
        raise InputError(f"the answer has its own column {doubled[0]!r}; give the column of the key another name")
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
    parsed = StreamPlan.from_json(plan)
    return packing(parsed.columns.keys, parsed.schema)(batches)


def unpacked_rows(batches: Iterable[pa.RecordBatch], plan: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the answer, on a worker, from blobs of matches and of invalid rows. plan: a
    StreamPlan as JSON.
    """
    parsed = StreamPlan.from_json(plan)
    id_col = parsed.columns.id
    found = match_schema(pa.int64() if id_col is None else parsed.schema.field(id_col).type)
    row, result = pa.struct(list(parsed.schema)), result_type(parsed.query, parsed.columns, parsed.schema)
    names = [name for name in found.names if name != NAME or parsed.query.plugin.results]
    header = [*parsed.columns.keys, *names, KIND, ROW]
    for batch in batches:
        for i in range(batch.num_rows):
            kind, blob = batch.column(KIND)[i].as_py(), batch.column(ROWS)[i].as_py()
            table = unpacked([blob], found if kind == MATCH else parsed.schema)
            n = table.num_rows
            if kind == MATCH:
                (table,) = with_typed_results([table], result)
                columns = [table[name] for name in names] + [pa.repeat(kind, n), pa.nulls(n, row)]
            else:
                nothing = [pa.nulls(n, result if name == NAME else found.field(name).type) for name in names]
                columns = [*nothing, pa.repeat(kind, n), table.to_struct_array()]
            keys = [batch.column(key_name(k)).take(pa.repeat(i, n)) for k in range(len(parsed.columns.keys))]
            yield from pa.table([*keys, *columns], names=header).combine_chunks().to_batches()


# ---------------------------------------------------------------------------------------------------------------------
# The states in the checkpoint of a stream that has stopped: whether they are those of a query, and as a data frame.

EVENTS, LAST, WAITING, RUN = "events", "last", "waiting", "run"
NO_BATCH = "STDS_COMMITTED_BATCH_UNAVAILABLE"  # Spark's error class


class NoCommittedBatch(InputError):
    """Raised for a checkpoint without a state: its stream has not finished a batch, or was never started."""


def require_checkpoint(df: DataFrame, query: str, *, checkpoint: str, **options: Unpack[StreamOptions]) -> None:
    """Raise InputError if the checkpoint has states of another query or of other columns.

    df, query and options are those of match_stream. Only the state of one key is read. A checkpoint without a finished
    batch is accepted.
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
    """Return the state of each key in a checkpoint, a row for each.

    The columns are those of the key; `events`, the number of events evaluated; `last`, the time of the latest of them;
    `waiting`, the rows that the watermark has not passed, with the columns that the query needs; and `run`, the
    evaluator's saved state, null if there is none. The checkpoint is not changed. df, query and options are those of
    match_stream. Raises InputError if the stream has not finished a batch.
    """
    require_keywords(export_state, options, StreamOptions)
    prepared = prepare(df, query, options)
    return blobs_of(df, prepared, checkpoint).mapInArrow(_exporting(prepared), exported_schema(prepared))


def blobs_of(df: DataFrame, prepared: PreparedStream, checkpoint: str) -> DataFrame:
    """Return for each key its columns, the blobs of its waiting rows, and its KeyState. Raises NoCommittedBatch."""
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
    """Return the schema of the result of export_state."""
    rows = prepared.answer["row"].dataType
    assert isinstance(rows, T.StructType)
    plan = prepared.plan
    keys = [T.StructField(name, field.dataType) for name, field in zip(plan.columns.keys, prepared.keys, strict=True)]
    waiting = T.ArrayType(T.StructType([rows[name] for name in plan.held_schema.names]))
    types = {EVENTS: T.LongType(), LAST: T.TimestampType(), WAITING: waiting, RUN: T.BinaryType()}
    return T.StructType([*keys, *(T.StructField(name, type_) for name, type_ in types.items())])


def _exporting(prepared: PreparedStream) -> partial[Iterator[pa.RecordBatch]]:
    plan = prepared.plan
    return partial(_exported, plan=plan.to_json(), predicates=plan.query.predicates)


def _exported(batches: Iterable[pa.RecordBatch], plan: str, predicates: Predicates) -> Iterator[pa.RecordBatch]:
    parsed = StreamPlan.from_json(plan, predicates)
    keys, waiting = parsed.columns.keys, pa.list_(pa.struct(list(parsed.held_schema)))
    with serialize_error():
        for batch in batches:
            rows = batch.select([HELD, KEPT]).to_pylist()
            kept = [same_plan(parsed, KeyState(**row[KEPT])) for row in rows]
            held = [unpacked(row[HELD] or [], parsed.held_schema).to_pylist() for row in rows]
            columns = {name: batch.column(key_name(i)) for i, name in enumerate(keys)}
            columns[EVENTS] = pa.array([one.position for one in kept], pa.int64())
            columns[LAST] = pa.array([one.last for one in kept], pa.timestamp("us", "UTC"))
            columns[WAITING] = pa.array(held, waiting)
            columns[RUN] = pa.array([one.run for one in kept], pa.binary())
            yield pa.record_batch(columns)


# ---------------------------------------------------------------------------------------------------------------------
# The matches of a stopped stream among the rows that its checkpoint holds, as if its watermark had passed them.

END = 2**63 - 1  # a watermark greater than every time


def match_rest(df: DataFrame, query: str, *, checkpoint: str, **options: Unpack[StreamOptions]) -> DataFrame:
    """Return the matches that match_stream would report if the watermark passed all rows in the checkpoint.

    df, query and options are those of match_stream, without `watermark` and `observe`. The checkpoint is not changed,
    so a stream that continues from it reports these matches again. Raises InputError if the stream has not finished a
    batch.
    """
    require_keywords(match_rest, options, StreamOptions)
    prepared = prepare(df, query, options)
    blobs = blobs_of(df, prepared, checkpoint).where(F.col(HELD).isNotNull() | F.col(f"{KEPT}.first").isNotNull())
    plan, predicates = prepared.plan.to_json(), prepared.plan.query.predicates
    found = blobs.mapInArrow(partial(_remaining, plan=plan, predicates=predicates), prepared.yielded)
    answer = found.mapInArrow(partial(unpacked_rows, plan=plan), prepared.answer)
    return with_kept_in_row(answer, prepared.plan.columns.id, options.get("keep"))


def _remaining(batches: Iterable[pa.RecordBatch], plan: str, predicates: Predicates) -> Iterator[pa.RecordBatch]:
    parsed = StreamPlan.from_json(plan, predicates)
    names = [*(key_name(i) for i in range(len(parsed.columns.keys))), KIND, ROWS]
    with serialize_error():
        for batch in batches:
            for i, row in enumerate(batch.select([HELD, KEPT]).to_pylist()):
                kept = same_plan(parsed, KeyState(**row[KEPT]))
                _, _, found = evaluated(parsed, kept, unpacked(row[HELD] or [], parsed.held_schema), END)
                keys = [batch.column(name).slice(i, 1) for name in names[:-2]]
                for table in found:
                    yield pa.record_batch([*keys, pa.array([MATCH]), pa.array([packed(table)], pa.binary())], names)


# ---------------------------------------------------------------------------------------------------------------------
# A stream that is started again if Spark fails, but not if the data or the query are at fault.

ANOTHER_RUN = re.compile(r"Multiple streaming (jobs|queries)|Race while writing batch")  # Spark's words for two drivers
ONE_RUN = "another run uses the checkpoint of this stream, so this run has ended; stop the other run first"
LOGGER = logging.getLogger("cerify.spark")


def supervised(start: Callable[[], StreamingQuery], *, attempts: int = 5, pause: float = 10.0) -> None:
    """Start a stream, wait for its end, and start it again after `pause` seconds if Spark has failed.

    start: a function that starts the stream, which continues from its checkpoint. attempts: how many times in a row the
    stream may fail without finishing a batch. Errors of cerify are raised at once, Spark's exception after the last
    attempt.
    """
    failed, batch = 0, -1
    while True:
        stream: StreamingQuery | None = None
        try:
            stream = start()
            stream.awaitTermination()
            return
        except PySparkException as error:
            found = deserialize_error(error)
            if isinstance(found, CerifyError):
                raise found from None
            # Starting again would take the checkpoint away from the other run, which would then do the same.
            if ANOTHER_RUN.search(str(error)):
                raise InputError(ONE_RUN) from None
            last = None if stream is None else stream.lastProgress
            reached = batch if last is None else int(last["batchId"])
            # Progress since the last failure resets the attempts: a fault once a day must not end a stream after five
            # days.
            failed, batch = (1, reached) if reached > batch else (failed + 1, batch)
            if failed >= attempts:
                raise
            LOGGER.warning("the stream failed, and is started again in %g s: %s", pause, error_line(error))
            time.sleep(pause)


# ---------------------------------------------------------------------------------------------------------------------
# A line for each batch of a stream: what it read and found, and how long it took.


class ProgressLines(StreamingQueryListener):
    """A listener that writes a line for each batch of the streams of match_stream, and a line for a stream that fails.

    write: called with the line; by default the `info` of a logger. observe: as in match_stream. Add a listener by
    `spark.streams.addListener(ProgressLines())`.
    """

    def __init__(self, write: Callable[[str], Any] = LOGGER.info, observe: str = "cerify") -> None:
        self._write, self._observe = write, observe

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing: the first batch writes the first line."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Write a line about the batch."""
        if self._observe in event.progress.observedMetrics:
            self._write(line_of(event.progress, self._observe))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Write a line if the stream has failed."""
        if event.exception is not None:
            self._write(f"stream {event.id} failed: {error_line(event.exception)}")


def line_of(progress: StreamingQueryProgress, observe: str = "cerify") -> str:
    """Return a line about a batch: rows read, rows of the answer by kind, keys with a state, watermark, seconds."""
    found = {kind: number for kind, number in progress.observedMetrics[observe].asDict().items() if number}
    matches = found.pop(MATCH, 0)
    keys = sum(operator.numRowsTotal for operator in progress.stateOperators)
    parts = [
        f"{progress.numInputRows} rows read",
        f"{matches} matches",
        *(f"{number} {kind}" for kind, number in found.items()),
        f"{keys} states",
        f"watermark {progress.eventTime.get('watermark', 'none')}",
        f"{progress.batchDuration / 1000:.1f} s",
    ]
    return f"stream {progress.name or progress.id}, batch {progress.batchId}: {', '.join(parts)}"
