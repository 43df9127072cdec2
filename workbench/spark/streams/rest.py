"""The matches of a stopped stream among the rows that its checkpoint holds, as if its watermark had passed them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Unpack

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cerify.semantics.arguments import require_keywords
from cerify.semantics.cel.registered import Predicates
from cerify.spark.errors import serialize_error
from cerify.spark.streaming import StreamOptions, prepare, unpacked_rows
from cerify.spark.streams.checkpoints import blobs_of
from cerify.spark.streams.ipc_blobs import ROWS, key_name, packed, unpacked
from cerify.spark.streams.keyed import KeyState, evaluated, same_plan
from cerify.spark.streams.plan import Plan
from cerify.spark.streams.state_schema import HELD, KEPT, KIND, MATCH

END = 2**63 - 1  # a watermark greater than every time


def rest(df: DataFrame, query: str, *, checkpoint: str, **options: Unpack[StreamOptions]) -> DataFrame:
    """The matches that match_stream would report if the watermark passed all rows in the checkpoint.

    df, query and options are those of match_stream, without `watermark` and `observe`. The checkpoint is only read; a
    stream that continues from it reports these matches itself. Raises InputError if the stream has finished no batch.
    """
    require_keywords(rest, options, StreamOptions)
    prepared = prepare(df, query, options)
    blobs = blobs_of(df, prepared, checkpoint).where(F.col(HELD).isNotNull())
    plan, predicates = prepared.plan.to_json(), prepared.plan.query.predicates
    found = blobs.mapInArrow(partial(_remaining, plan=plan, predicates=predicates), prepared.yielded)
    return found.mapInArrow(partial(unpacked_rows, plan=plan), prepared.answer)


def _remaining(batches: Iterable[pa.RecordBatch], plan: str, predicates: Predicates) -> Iterator[pa.RecordBatch]:
    parsed = Plan.from_json(plan, predicates)
    names = [*(key_name(i) for i in range(len(parsed.columns.keys))), KIND, ROWS]
    with serialize_error():
        for batch in batches:
            for i, row in enumerate(batch.select([HELD, KEPT]).to_pylist()):
                kept = same_plan(parsed, KeyState(**row[KEPT]))
                _, _, found = evaluated(parsed, kept, unpacked(row[HELD], parsed.held), END)
                keys = [batch.column(name).slice(i, 1) for name in names[:-2]]
                for table in found:
                    yield pa.record_batch([*keys, pa.array([MATCH]), pa.array([packed(table)], pa.binary())], names)
