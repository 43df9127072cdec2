"""What is said about a run before it."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "k string, ts long, type string, x long, n string"


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], COLUMNS)


def described(df: DataFrame, query: str, **given: Any) -> dict[str, str]:
    from cerify.spark import describe

    lines = describe(df, query, **given).splitlines()
    return {line[:12].strip(): line[12:] for line in lines}


@pytest.mark.parametrize(
    ("query", "given", "name", "line"),
    [
        ("A ; B", {"partition_by": "k"}, "tasks", "up to 3, shuffled by key, and sorted"),
        ("A ; B", {"partition_by": "k"}, "shuffled", "k string, ts bigint, type string"),
        ("A ; B", {"partition_by": "k"}, "evaluation", "streams read together; kept: what may still become part"),
        ("A ; B", {"partition_by": "k", "clustered": True}, "tasks", "rows stay where Spark knows them"),
        ("A ; B", {"partition_by": "k", "output": "count"}, "answer", "k string, count decimal(38,0), digits string"),
        ("A FILTER A[n > 3]", {"partition_by": "k"}, "warning 1", "n is a string and 3 a number"),
        ("A ; B WITHIN 5 EVENTS", {}, "tasks", "up to 3 chunks, which overlap by 5 events; the rows are counted first"),
        ("A ; B WITHIN 5 seconds", {}, "tasks", "which overlap by 5 seconds"),
        ("A ; B WITHIN 5 [x]", {}, "tasks", "one: the query has no key, no bounded window"),
        ("A ; B", {}, "tasks", "one: the query has no key, no bounded window"),
        ("A ; B", {"output": "count"}, "tasks", "up to 3 chunks, each read once"),
        ("relative(A, B)", {"language": "event-expression"}, "tasks", "up to 3 chunks, each read twice"),
        ("(A ; B) FILTER A.x < B.x", {"partition_by": "k"}, "evaluation", "gathered, up to 1000000 events, since"),
        ("A", {"on_error": "aside"}, "tasks", 'one: on_error="aside"'),
    ],
)
def test_how_a_query_runs(df: DataFrame, query: str, given: dict[str, Any], name: str, line: str) -> None:
    assert line in described(df, query, order_by="ts", **given)[name]


@pytest.mark.parametrize(
    ("query", "kept", "silent"),
    [
        ("A ; B WITHIN 1 minutes", "partial matches within the window", "forgotten after 60"),
        ("A ; B", "partial matches, which no window bounds", "kept for ever"),
        ("(A ; B) FILTER A.x < B.x WITHIN 5 EVENTS", "the rows of the last 5 events", "kept for ever"),
    ],
)
def test_how_a_stream_runs(spark: SparkSession, tmp_path: Path, query: str, kept: str, silent: str) -> None:
    df = spark.readStream.schema("k string, time timestamp, type string, x long").json(str(tmp_path))
    lines = described(df, query, event_time="time", partition_by="k", watermark="1 minute")
    assert kept in lines["kept"]
    assert silent in lines["silent keys"]


def test_the_description_is_that_of_the_plan(spark: SparkSession) -> None:
    """The number of tasks that is promised is the one that runs."""
    from cerify.spark import match

    df = spark.range(300).selectExpr("id AS ts", "if(id % 3 = 0, 'A', 'B') AS type")
    for query, given, tasks in (("A ; B WITHIN 5 EVENTS", {}, 3), ("A ; B", {"on_error": "aside"}, 1)):
        assert described(df, query, order_by="ts", **given)["tasks"].startswith("up to 3" if tasks > 1 else "one")
        with pytest.warns(UserWarning, match="one task") if tasks == 1 else nullcontext():
            assert match(df, query, order_by="ts", **given).rdd.getNumPartitions() == tasks
