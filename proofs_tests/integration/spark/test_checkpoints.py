"""Checkpoints: those of the release before, a schema that grows, what is in one, and a stream that is started again.

states/release-0.1.tar.gz has the checkpoints of two streams that release 0.1 wrote over the rows of FIRST, in the
folder /checkpoints, whose path Spark writes into them.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cerify.semantics.errors import InputError
from cerify.spark.rows import Columns
from cerify.spark.runs import SparkQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STATES = Path(__file__).parent / "states" / "release-0.1.tar.gz"
COLUMNS = "id string, k string, time timestamp, type string, x bigint, y string"
HOW: dict[str, Any] = {"event_time": "time", "partition_by": "k"}
QUERIES = {
    "cel": ("(A ; B) FILTER A[x < 3 and y = 'u'] WITHIN 1 minutes", {"id_col": "id"}),
    "sase": (
        "PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { a.x < b.x } WITHIN 1 minutes RETURN a.x, b.x",
        {"language": "sase"},
    ),
}
FIRST = [
    *((f"{k}{i}", k, f"10:00:0{i}", type_, i) for k in "pq" for i, type_ in enumerate("AABA")),
    ("p9", "p", "10:00:30", "A", 1),
    ("w", "w", "10:00:20", "C", 1),
]
NEXT = [("pb", "p", "10:00:40", "B", 4), ("pc", "p", "10:00:45", "B", 9), ("v", "v", "10:02:00", "C", 1)]
FOUND = {"cel": [["p1", "pb"], ["p1", "pc"], ["p9", "pb"], ["p9", "pc"]], "sase": [[1, 5], [1, 6]]}
"""The first matches of p that the rows of NEXT complete, in part."""


def plan(query: SparkQuery, columns: Columns = Columns(("time",), ("k",), attributes=("x",))) -> Any:
    import pyarrow as pa

    from cerify.spark.keyed_streams import StreamPlan

    fields = [("k", pa.string()), ("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("x", pa.int64())]
    return StreamPlan(query, columns, pa.schema(fields))


def test_the_fingerprint_is_of_the_query_and_not_of_its_text() -> None:
    base = plan(SparkQuery("(A ; B) FILTER A[x > 1] WITHIN 3 EVENTS"))
    same = plan(SparkQuery("(A;B)   FILTER A[ x>1 ] WITHIN 3  EVENTS"))
    assert base.fingerprint == same.fingerprint
    others = [
        plan(SparkQuery("(A ; B) FILTER A[x > 2] WITHIN 3 EVENTS")),
        plan(SparkQuery("(A ; B) FILTER A[x > 1] WITHIN 3 EVENTS", output="valuations")),
        plan(base.query, Columns(("time",), ("x",))),
    ]
    assert len({base.fingerprint, *(other.fingerprint for other in others)}) == 4


def rows(spark: SparkSession, folder: Path, name: str, found: list[tuple[Any, ...]], more: str = "") -> DataFrame:
    folder.mkdir(exist_ok=True)
    lines = [
        {"id": i, "k": k, "time": f"2024-01-01T{time}Z", "type": type_, "x": x, "y": "u", "z": 1}
        for i, k, time, type_, x in found
    ]
    (folder / f"{name}.json").write_text("\n".join(map(json.dumps, lines)))
    return spark.readStream.schema(f"{more}{COLUMNS}").json(str(folder))


def run(df: DataFrame, query: str, checkpoint: Path, options: dict[str, Any]) -> list[Any]:
    """The rows of the answer of the batches until no rows are left."""
    from cerify.spark.streaming import match_stream, supervised

    found: list[Any] = []
    answer = match_stream(df, query, watermark="10 seconds", **options)
    writer = answer.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    supervised(writer.foreachBatch(lambda batch, _: found.extend(batch.collect())).start)
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("kind", QUERIES)
def test_states_of_the_release_before_with_a_schema_that_has_grown(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    from cerify.spark.streaming import export_state, require_checkpoint

    with tarfile.open(STATES) as archive:
        archive.extractall(tmp_path, filter="data")
    metadata = tmp_path / kind / "state" / "0" / "_metadata" / "v2" / "0"
    metadata.write_text(metadata.read_text().replace("file:/checkpoints", f"file:{tmp_path}"))
    checkpoint, (query, more) = tmp_path / kind, QUERIES[kind]
    how = {**HOW, **more}
    df = rows(spark, tmp_path / "in", "1", NEXT, "z bigint, ")
    state = {row["k"]: row for row in export_state(df, query, checkpoint=str(checkpoint), **how).collect()}
    assert {k: row["events"] for k, row in state.items()} == {"p": 4, "q": 4, "w": 0}
    assert [row["x"] for row in state["p"]["waiting"]] == [1]
    require_checkpoint(df, query, checkpoint=str(checkpoint), **how)
    with pytest.raises(InputError, match="of another query"):
        require_checkpoint(df, query.replace("1 minutes", "2 minutes"), checkpoint=str(checkpoint), **how)
    found = [row["events"] for row in run(df, query, checkpoint, how) if row["kind"] == "match" and row["k"] == "p"]
    assert [one for one in FOUND[kind] if one not in found] == []
    again = rows(spark, tmp_path / "in", "2", [("pd", "p", "10:02:05", "A", 0)], "z bigint, ")
    assert run(again, query.replace(" ", "  "), checkpoint, how) == []


def test_a_checkpoint_of_a_stream_that_has_finished_no_batch(spark: SparkSession, tmp_path: Path) -> None:
    """A first run that fails leaves the folder of a checkpoint, with offsets and without a state."""
    from cerify.spark.streaming import export_state, require_checkpoint, rest

    df, failed = rows(spark, tmp_path / "in", "1", FIRST), tmp_path / "failed"
    for name in ("offsets", "commits", "state"):
        (failed / name).mkdir(parents=True)
    (failed / "metadata").write_text('{"id":"00000000-0000-0000-0000-000000000000"}')
    (failed / "offsets" / "0").write_text('v1\n{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}\n{"logOffset":0}')
    for folder in (failed, tmp_path / "none"):
        require_checkpoint(df, "A ; B", checkpoint=str(folder), **HOW)
        for read in (rest, export_state):
            with pytest.raises(InputError, match="has finished no batch"):
                read(df, "A ; B", checkpoint=str(folder), **HOW)


def test_a_stream_is_started_again_when_spark_fails_and_not_when_the_data_does() -> None:
    from pyspark.errors import StreamingQueryException

    from cerify.semantics.errors import InputError
    from cerify.spark.streaming import supervised
    from cerify.spark.transport import WorkerError, serialize_error

    class Stream:
        def __init__(self, error: Exception | None, batch: int) -> None:
            self.error, self.lastProgress = error, {"batchId": batch}

        def awaitTermination(self) -> None:
            if self.error is not None:
                raise self.error

    def streams(*found: Stream) -> Any:
        remaining = list(found)
        return lambda: remaining.pop(0), remaining

    slow = StreamingQueryException("Python worker failed to connect back")
    start, left = streams(Stream(slow, 0), Stream(slow, 1), Stream(slow, 1), Stream(None, 2), Stream(None, 3))
    supervised(start, attempts=3, pause=0)
    assert len(left) == 1
    start, left = streams(*(Stream(slow, 0) for _ in range(4)))
    with pytest.raises(StreamingQueryException):
        supervised(start, attempts=3, pause=0)
    assert len(left) == 1
    with pytest.raises(WorkerError) as raised, serialize_error():
        raise InputError("no")
    start, left = streams(Stream(StreamingQueryException(str(raised.value)), 0), Stream(None, 1))
    with pytest.raises(InputError, match="no"):
        supervised(start, pause=0)
    assert len(left) == 1
    for words in (
        "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for 1.",
        "Multiple streaming queries are concurrently using file:/checkpoint/offsets/1.",
        "Race while writing batch 1",
    ):
        start, left = streams(Stream(StreamingQueryException(words), 0), Stream(None, 1))
        with pytest.raises(InputError, match="another run uses the checkpoint"):
            supervised(start, pause=0)
        assert len(left) == 1
