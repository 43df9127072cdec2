"""What a stream that has stopped still holds: the answer as if no row came any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cerify.spark.errors import told
from cerify.spark.streaming import asked, unpacked_rows
from cerify.spark.streams.keyed import Kept, evaluated, require_same
from cerify.spark.streams.packs import ROWS, key_name, packed, unpacked
from cerify.spark.streams.plan import Plan
from cerify.spark.streams.processor import HELD, KEPT, KIND, MATCH

END = 2**63 - 1  # a watermark that has passed everything


def rest(df: DataFrame, query: str, *, checkpoint: str, **options: Any) -> DataFrame:
    """The matches that rows still held are part of: what match_stream would say if the watermark passed them all.

    df, query and options are those of match_stream, but for `watermark` and `observe`. The checkpoint is read and not
    changed, so that the stream can go on from it; it then says these matches itself.
    """
    said = asked(df, query, **options)
    spark = df.sparkSession
    store = spark.read.format("statestore")
    held = store.option("stateVarName", HELD).load(checkpoint).select("key", F.col(f"list_element.{ROWS}").alias(ROWS))
    kept = store.option("stateVarName", KEPT).load(checkpoint).select("key", F.col("value").alias(KEPT))
    keys = [F.col(f"key.{field.name}").alias(field.name) for field in said.keys]
    packs = held.groupBy("key").agg(F.collect_list(ROWS).alias(HELD)).join(kept, "key").select(*keys, HELD, KEPT)
    return packs.mapInArrow(partial(_ended, plan=said.plan.to_json()), said.handed).mapInArrow(
        partial(unpacked_rows, plan=said.plan.to_json()), said.answer
    )


def _ended(batches: Iterable[pa.RecordBatch], plan: str) -> Iterator[pa.RecordBatch]:
    said = Plan.from_json(plan)
    names = [*(key_name(i) for i in range(len(said.columns.keys))), KIND, ROWS]
    with told():
        for batch in batches:
            for i, row in enumerate(batch.select([HELD, KEPT]).to_pylist()):
                kept = Kept(**row[KEPT])
                require_same(said, kept)
                _, _, found = evaluated(said, kept, unpacked(row[HELD], said.held), END)
                keys = [batch.column(name).slice(i, 1) for name in names[:-2]]
                for table in found:
                    yield pa.record_batch([*keys, pa.array([MATCH]), pa.array([packed(table)], pa.binary())], names)
