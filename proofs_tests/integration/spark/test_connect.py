"""match on Spark Connect, against a server on this machine, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")

CODE = """
from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as F
from cerify.spark import match
spark = (
    SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.session.timeZone", "UTC").getOrCreate()
)
rows = [("a", 1, "A", 71), ("a", 2, "B", 72), ("a", 3, "A", 75), ("b", 1, "A", 73), (None, 1, "C", 76)]
df = spark.createDataFrame(rows, "k string, ts long, type string, id long")
print(match(df, "A ; B", partition_by="k", order_by="ts", id_col="id").collect())
print(sorted(match(df, "A", partition_by=F.upper("k").alias("u"), order_by=F.col("ts"), output="count").collect()))
seen = Observation()
answer = match(df, "A", partition_by="k", order_by="ts", on_error="aside", observation=seen).collect()
print(sorted(row.kind for row in answer), {kind: number for kind, number in seen.get.items() if number})
print(match(df.where("k = 'a'"), "A : B", order_by="ts").collect())
spark.stop()
"""


@pytest.mark.thorough
def test_keys_columns_rows_set_aside_and_chunks() -> None:
    made = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert made == [
        "[Row(k='a', at=72, events=[71, 72], bindings=None)]",
        "[Row(u='A', count=Decimal('2'), digits='2'), Row(u='B', count=Decimal('1'), digits='1')]",
        "['match', 'match', 'match', 'no key'] {'match': 3, 'no key': 1}",
        "[Row(at=1, events=[0, 1], bindings=None)]",
    ]
