"""A stream of rows in disorder on Spark: what it says, what it refuses, and what is left when it has been killed."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from cerify.semantics.errors import CerifyError, InputError, ParseError, Unsupported
from cerify.semantics.events import Schema
from cerify.spark.streaming import late, malformed, match_stream, matches, rest
from proofs_tests.campaigns.spark_streaming import differences, killed, write
from proofs_tests.integration.spark.disorder import (
    DELAY,
    SCHEMA,
    Pair,
    expected,
    found_in,
    pair,
    punctual_and_late,
    watermarks,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HOW = {"event_time": "time", "partition_by": "k", "id_col": "id"}
SEED = 7
DISORDERED = {"cel": 4, "sase": 6, "event-expression": 61, "the rows of a window": 80}
"""Seeds of pairs of which some rows are late, and some matches still held at the end."""


@pytest.mark.thorough
@pytest.mark.parametrize("kind", DISORDERED)
def test_a_stream_in_disorder(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    its = pair(Random(DISORDERED[kind]), batches=2)
    broken = dict.fromkeys(SCHEMA.names) | {"type": "A", "id": "broken", "x": 1}
    write(tmp_path, Pair(its.query, [[*its.batches[0], broken], its.batches[1]]))
    rows = spark.readStream.schema(spark.read.parquet(str(tmp_path / "in")).schema)
    df = rows.option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    how: dict[str, Any] = {**HOW, "language": its.query.language, "output": its.query.output}
    answer = match_stream(df, its.query.text, watermark=f"{DELAY.seconds} seconds", **how)
    checkpoint = str(tmp_path / "checkpoint")
    stream = answer.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    running = stream.start(str(tmp_path / "out"))
    running.awaitTermination()
    counted = sum((Counter(p["observedMetrics"]["cerify"].asDict()) for p in running.recentProgress), Counter[str]())
    found = spark.read.parquet(str(tmp_path / "out"))
    in_time, too_late = punctual_and_late(its.batches)
    last = watermarks(its.batches)[-1]
    assert last is not None
    now, all_ = expected(its.query, in_time, last), expected(its.query, in_time, timedelta.max)
    said = found_in(row.asDict(True) for row in matches(found).collect())
    left = found_in(
        row.asDict(True) for row in matches(rest(df, its.query.text, checkpoint=checkpoint, **how)).collect()
    )
    assert 0 < len(now) < len(all_)
    assert said == now
    assert sorted(said + left, key=repr) == all_
    assert sorted(row["id"] for row in late(found).collect()) == sorted(row["id"] for row in too_late) != []
    assert [(row["reason"], row["row"].asDict()) for row in malformed(found).collect()] == [("no key", broken)]
    assert counted == {"match": len(now), "late": len(too_late), "no key": 1}


@pytest.mark.thorough
def test_a_driver_that_is_killed_and_a_worker_that_is_killed(tmp_path: Path) -> None:
    its = [pair(Random(SEED), events=40, batches=4)]
    folders = [tmp_path / str(i) for i in range(len(its))]
    for folder, each in zip(folders, its, strict=True):
        write(folder, each)
    counts = killed(folders, 1, Random(SEED))
    assert [said for folder, each in zip(folders, its, strict=True) for said in differences(folder, each)] == []
    assert counts == {"drivers": 1, "workers": 1, "streams in mid-stream": 1}


@pytest.fixture(scope="module")
def df(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    columns = "k string, time timestamp, type string, id string, x bigint, kind string, d decimal(30, 4)"
    return spark.readStream.schema(columns).json(str(tmp_path_factory.mktemp("rows")))


@pytest.mark.parametrize(
    ("query", "how", "error", "said"),
    [
        ("A ;", {}, ParseError, "expected"),
        ("(A ; B) FILTER A.x < B.x", {}, Unsupported, "across events"),
        (
            "prior(a(v), b(v))",
            {"language": "event-expression", "schema": Schema({"a": {"x": "int"}, "b": {"x": "int"}})},
            Unsupported,
            "no state can be saved",
        ),
        ("PATTERN SEQ(A a, B b) RETURN a.x", {"language": "sase"}, Unsupported, "put WITHIN around it"),
        ("A", {"event_time": "x"}, InputError, "timestamps"),
        ("A", {"event_time": "nowhere"}, InputError, "no column 'nowhere'"),
        ("A", {"partition_by": ()}, InputError, "partition_by"),
        ("A", {"partition_by": "kind"}, InputError, "rename"),
        ("A FILTER A[d > 1]", {}, InputError, "decimal"),
        ("A FILTER A[x > 1]", {"schema": Schema({"A": {"x": "string"}})}, CerifyError, "x"),
        (
            "A FILTER A[x = 'a']",
            {"schema": Schema({"A": {"x": "string"}})},
            InputError,
            "the schema has string",
        ),
    ],
)
def test_what_is_refused_before_anything_runs(
    df: DataFrame, query: str, how: dict[str, Any], error: type[CerifyError], said: str
) -> None:
    with pytest.raises(error, match=said):
        match_stream(df, query, **{**HOW, **how})


def test_a_time_of_events_that_is_not_their_event_time_is_refused(df: DataFrame) -> None:
    other = df.withColumn("at", df["time"])
    with pytest.raises(InputError, match="rename 'time'"):
        match_stream(other, "(A ; B) WITHIN 3 seconds", **{**HOW, "event_time": "at"})
    match_stream(other, "(A ; B) WITHIN 3 EVENTS", **{**HOW, "event_time": "at"})


def test_data_at_rest_is_refused(spark: SparkSession) -> None:
    with pytest.raises(InputError, match="streaming data frame"):
        match_stream(spark.createDataFrame([], "k string, time timestamp, type string, id string"), "A", **HOW)
