"""Queries over a stream without keys: in chunks where that gives the same answer, else in one task.

A match is reported by the chunk that owns the event at which it is reported, so no two chunks report the same one. A
chunk also reads the events before its own that the reach of the query includes (reach.py), without reporting matches.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from cerify.semantics.budget import Budget
from cerify.spark.chunking.chunk_run import ChunkRun, answers_of_run, chunk_of
from cerify.spark.chunking.compose import composed
from cerify.spark.chunking.cuts import Cuts, cuts_of, in_chunks
from cerify.spark.columns import column
from cerify.spark.errors import serialize_error
from cerify.spark.runs.answers import DIGITS, Output, answers, number_columns
from cerify.spark.runs.query import Query
from cerify.spark.runs.reach import reach_of_query
from cerify.spark.runs.rows import Columns
from cerify.spark.runs.start import start

ADVICE = (
    "the query has no key, no bounded window and no other property by which it can run in parts, so that all rows go "
    "through one task, in order: give partition_by, or put WITHIN around the formula, a window of events or on the "
    "first column of order_by"
)
WIDE = (
    "the window of the query contains so much of the data that all rows go through one task: give partition_by, or a "
    "shorter window"
)


def unpartitioned(
    df: DataFrame, query: Query, columns: Columns, output: Output, budget: Budget, answer: T.StructType
) -> DataFrame:
    """The answer of a query over rows that are one stream; df has the needed columns only.

    Runs jobs that count the rows; errors in the rows are raised when the answer is read.
    """
    parts = int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    found: DataFrame | None = None
    if (reach := reach_of_query(query, budget)) is not None:
        cuts = cuts_of(df, columns, reach, parts)
        if cuts is not None:
            if cuts.chunks == 1 < min(parts, cuts.owned[0]):
                warnings.warn(WIDE, stacklevel=3)
            found = by_reach(df, query, columns, output, budget, answer, cuts)
    if found is None:
        found = composed(df, query, columns, output, budget, answer, parts)
    if found is not None:
        return found
    warnings.warn(ADVICE, stacklevel=3)
    task = partial(answers, query=query.to_json(), columns=columns, output=output, budget=budget)
    return df.repartition(1).sortWithinPartitions(*map(column, columns.order)).mapInArrow(task, answer)


def by_reach(
    df: DataFrame, query: Query, columns: Columns, output: Output, budget: Budget, answer: T.StructType, cuts: Cuts
) -> DataFrame:
    """The answer, a partition for each chunk; with output="count" the sum over the chunks."""
    task = partial(_chunk_answered, query=query.to_json(), columns=columns, output=output, budget=budget, cuts=cuts)
    parts = in_chunks(df, columns, cuts).mapInArrow(task, answer)
    return parts.repartition(1).mapInArrow(_sum, answer) if output == "count" else parts


def _sum(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    numbers = [int(digits) for batch in batches for digits in batch.column("digits").to_pylist()]
    if numbers:
        number, digits = number_columns(sum(numbers))
        yield pa.record_batch({"count": pa.array([number], pa.decimal128(DIGITS, 0)), "digits": pa.array([digits])})


def _chunk_answered(
    batches: Iterator[pa.RecordBatch], query: str, columns: Columns, output: Output, budget: Budget, cuts: Cuts
) -> Iterator[pa.RecordBatch]:
    """The batches of the answer for a chunk, which is a partition."""
    with serialize_error():
        parsed = Query.from_json(query)
        c, rows = chunk_of(batches)
        if c >= 0:
            # ids are looked up by positions in the chunk
            by = cuts.first[c] - cuts.before[c] if columns.id is None else 0
            run = ChunkRun(start(parsed, budget), cuts.before[c], cuts.owned[c], by)
            yield from answers_of_run(rows, run, parsed, columns, output, c)
