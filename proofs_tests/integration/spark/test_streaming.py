"""A stream of rows in disorder on Spark: what it says, what it refuses, and what is left when it has been killed."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import Row as SparkRow
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues

from cerify.semantics.errors import CerifyError, InputError, ParseError, Unsupported
from cerify.semantics.events import Schema
from cerify.spark.keyed_streams import REASONS, ROWS, KeyState, StreamPlan, compiled, packing, unpacked
from cerify.spark.processor import Processor
from cerify.spark.rows import Columns, match_schema
from cerify.spark.runs import SparkQuery
from cerify.spark.streaming import late, malformed, match_rest, match_stream, matches
from cerify.spark.transport import MATCH, WorkerError
from proofs_tests.campaigns.spark_streaming import differences, killed, write
from proofs_tests.integration.spark.disorder import (
    ATTRIBUTES,
    DELAY,
    SCHEMA,
    START,
    Found,
    Pair,
    Row,
    expected,
    found_in,
    pair,
    punctual_and_late,
    watermarks,
)
from proofs_tests.support import sampled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# ---- streaming ----
#

HOW = {"event_time": "time", "partition_by": "k", "id_col": "id"}
SEED = 7
DISORDERED = {"cel": 4, "sase": 30, "absence": 58, "event-expression": 61, "the rows of a window": 80}
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
        row.asDict(True) for row in matches(match_rest(df, its.query.text, checkpoint=checkpoint, **how)).collect()
    )
    assert 0 < len(now) < len(all_)
    assert said == now
    assert sorted(said + left, key=repr) == all_
    assert sorted(row["id"] for row in late(found).collect()) == sorted(row["id"] for row in too_late) != []
    assert [(row["reason"], row["row"].asDict()) for row in malformed(found).collect()] == [("no key", broken)]
    assert counted == {"match": len(now), "late": len(too_late), "no key": 1}


def test_times_without_zone_are_in_utc_and_a_key_of_zero_is_one(spark: SparkSession, tmp_path: Path) -> None:
    """In the night in which the clocks of the session are put forward; each row is a batch."""
    (tmp_path / "in").mkdir()
    df = spark.readStream.schema("k double, time timestamp_ntz, type string").option("maxFilesPerTrigger", 1)
    df = df.json(str(tmp_path / "in"))
    rows = [(0.0, "02:50", "A"), (-0.0, "03:00", "B"), (1.0, "09:00", "A"), (1.0, "09:00", "A")]
    for n, (k, time, type_) in enumerate(rows):
        path = tmp_path / "in" / f"{n}.json"
        path.write_text(f'{{"k": {k}, "time": "2024-03-31T{time}:00", "type": "{type_}"}}')
        os.utime(path, (n, n))  # files are read in the order of their times
    zone = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        answer = match_stream(df, "A ; B WITHIN 10 minutes", watermark="1 seconds", event_time="time", partition_by="k")
        writer = answer.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
        found = matches(spark.read.parquet(str(tmp_path / "out"))).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert [(row["k"], row["events"]) for row in found] == [(0.0, [0, 1])]


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
        ("(A ; B) FILTER A.x < B.x", {}, Unsupported, "cross-event"),
        (
            "prior(a(v), b(v))",
            {"language": "event-expression", "schema": Schema({"a": {"x": "int"}, "b": {"x": "int"}})},
            Unsupported,
            "cannot be saved",
        ),
        ("PATTERN SEQ(A a, B b) RETURN a.x", {"language": "sase"}, Unsupported, "must have WITHIN"),
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
    with pytest.raises(InputError, match="cannot read data at rest"):
        match_stream(spark.createDataFrame([], "k string, time timestamp, type string, id string"), "A", **HOW)


# ---- streaming keys ----
# What is done for each key of a stream, on a store in memory: in any order and any batches, as the local evaluator.

PAIRS = 40


class Cell:
    """A value, and a list, of one key."""

    def __init__(self) -> None:
        self.value: tuple[Any, ...] | None = None
        self.values: list[tuple[Any, ...]] = []

    def get(self) -> Any:
        return self.value

    def update(self, value: tuple[Any, ...]) -> None:
        self.value = value

    def clear(self) -> None:
        self.value, self.values = None, []


class Listed(Cell):
    def get(self) -> Any:
        return iter(self.values)

    def put(self, values: list[tuple[Any, ...]]) -> None:
        assert values, "Spark refuses an empty list"
        self.values = list(values)

    def appendList(self, values: list[tuple[Any, ...]]) -> None:
        self.values += values


class Store:
    """One key's states and timers, as Spark has them."""

    def __init__(self) -> None:
        self.kept, self.held, self.timers = Cell(), Listed(), set[int]()

    def getListState(self, name: str, schema: str) -> Listed:
        return self.held

    def getValueState(self, name: str, schema: str) -> Cell:
        return self.kept

    def registerTimer(self, time: int) -> None:
        self.timers.add(time)

    def deleteTimer(self, time: int) -> None:
        assert time in self.timers
        self.timers.discard(time)


class Operator:
    """Spark's operator; each batch is read by a new processor, as after a restart."""

    def __init__(self, plan: StreamPlan) -> None:
        self.plan = plan
        self.stores: dict[Any, Store] = defaultdict(Store)
        self.said: list[SparkRow] = []

    def batch(self, rows: Sequence[Row], watermark: datetime | None) -> None:
        times = TimerValues(0, 0 if watermark is None else millis(watermark))
        table = pa.Table.from_pylist(list(rows), self.plan.schema)
        packs = defaultdict(list)
        for batch in packing(self.plan.columns.keys, self.plan.schema)(table.to_batches()):
            for k, pack in zip(batch.column("k0").to_pylist(), batch.column(ROWS).to_pylist(), strict=True):
                packs[k].append(SparkRow("k0", ROWS)(k, pack))
        for k, those in packs.items():
            self.said += self._processor(k).handleInputRows((k,), iter(those), times)
        for k, store in list(self.stores.items()):
            for timer in sorted(t for t in store.timers if t <= times.getCurrentWatermarkInMs()):
                self.said += self._processor(k).handleExpiredTimer((k,), times, ExpiredTimerInfo(timer))
                store.timers.discard(timer)

    def _processor(self, k: Any) -> Processor:
        processor = Processor(self.plan.to_json(), {})
        processor.init(self.stores[k])  # type: ignore[arg-type]
        return processor

    def rows(self, kind: str) -> Iterator[tuple[Any, Row]]:
        """What was said of this kind, with the key."""
        id_col = self.plan.columns.id
        found = match_schema(pa.int64() if id_col is None else self.plan.schema.field(id_col).type)
        for said in self.said:
            if said["kind"] == kind:
                for row in unpacked([said[ROWS]], found if kind == MATCH else self.plan.schema).to_pylist():
                    yield said["k0"], row


def millis(time: datetime) -> int:
    return (time - datetime(1970, 1, 1, tzinfo=time.tzinfo)) // timedelta(milliseconds=1)


def plan_of(query: SparkQuery, id_col: str | None = "id") -> StreamPlan:
    return StreamPlan(query, Columns(("time",), ("k",), id=id_col, time="time", attributes=tuple(ATTRIBUTES)), SCHEMA)


def found(operator: Operator) -> Found:
    return found_in({**row, "k": k} for k, row in operator.rows(MATCH))


@pytest.mark.parametrize("seed", sampled(range(PAIRS), range(0, PAIRS, 4)))
def test_rows_in_disorder_give_what_the_local_evaluator_finds_in_those_that_are_in_time(seed: int) -> None:
    rng = Random(seed)
    its = pair(rng)
    operator = Operator(plan_of(its.query))
    marks = watermarks(its.batches)
    for batch, watermark in zip(its.batches, marks, strict=False):
        operator.batch(batch, watermark)
    operator.batch([], marks[-1])
    in_time, too_late = punctual_and_late(its.batches)
    assert marks[-1] is not None
    assert found(operator) == expected(its.query, in_time, marks[-1])
    assert sorted(row["id"] for _, row in operator.rows("late")) == sorted(row["id"] for row in too_late)
    operator.batch([], marks[-1] + timedelta(days=1))
    assert found(operator) == expected(its.query, in_time, timedelta.max)


def events(*said: tuple[str, float, str], k: str | None = "p") -> list[Row]:
    """Rows by type, seconds and id."""
    return [{"k": k, "time": at(s), "type": T, "id": i, "x": 0, "y": 0} for T, s, i in said]


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def after(query: str, *batches: tuple[Sequence[Row], float | None], id_col: str | None = "id") -> Operator:
    """The operator after some batches, each with the watermark, in seconds, at which it is read."""
    operator = Operator(plan_of(SparkQuery(query), id_col))
    for rows, watermark in batches:
        operator.batch(rows, None if watermark is None else at(watermark))
    return operator


def test_an_event_at_the_watermark_is_held_and_one_before_it_is_late() -> None:
    rows = events(("A", 1, "a"), ("B", 2, "b"))
    assert found(after("A ; B", (rows, None), ([], 2))) == []
    assert found(after("A ; B", (rows, None), ([], 2.001))) == [("p", "b", ("a", "b"), None)]
    operator = after("A ; B", (rows, None), (events(("B", 2, "in time"), ("B", 1.999999, "late")), 2), ([], 3))
    assert found(operator) == [("p", "b", ("a", "b"), None), ("p", "in time", ("a", "in time"), None)]
    assert [(k, row["id"]) for k, row in operator.rows("late")] == [("p", "late")]


def test_events_before_1970_are_held_until_there_is_a_watermark() -> None:
    rows = [{**row, "time": row["time"].replace(year=1960)} for row in events(("B", 2, "b"), ("A", 1, "a"))]
    operator = after("A ; B", (rows[:1], None), (rows[1:], None))
    assert found(operator) == []
    assert not list(operator.rows("late"))
    operator.batch([], None)
    operator.batch([], at(0))
    assert found(operator) == [("p", "b", ("a", "b"), None)]


def test_events_of_the_same_time_are_in_the_order_of_their_ids_however_they_come() -> None:
    rows = events(("B", 1, "2"), ("A", 1, "1"), ("B", 1, "0"))
    for order in (rows, rows[::-1]):
        assert found(after("A ; B", *(([row], None) for row in order), ([], 9))) == [("p", "2", ("1", "2"), None)]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"k": None}, "no key"),
        ({"time": None}, "no time"),
        ({"type": None}, "no type"),
        ({"type": ""}, "no type"),
        ({"k": None, "type": None, "time": None}, "no key"),
    ],
)
def test_a_row_of_no_stream_comes_out_as_it_was(row: Row, reason: str) -> None:
    (bad,) = ({**event, **row} for event in events(("A", 1, "bad")))
    operator = after("A", ([bad, *events(("A", 2, "good"))], None), ([], 9))
    assert found(operator) == [("p", "good", ("good",), None)]
    assert [(k, {name: said[name] for name in bad}) for k, said in operator.rows(reason)] == [(bad["k"], bad)]
    assert sum(len(list(operator.rows(kind))) for kind in REASONS) == 1
    assert operator.stores.get(None, Store()).kept.get() is None


def test_rows_that_the_schema_does_not_know_come_out_as_they_were() -> None:
    plan = plan_of(SparkQuery("A", schema=Schema({"A": {"x": "int"}, "B": {"y": "int"}})))
    operator = Operator(plan)
    rows = events(("A", 1, "a"), ("C", 1, "c"), ("A", 1, "y too"))
    rows[0]["y"] = rows[1]["y"] = None
    operator.batch(rows, None)
    operator.batch([], at(9))
    assert found(operator) == [("p", "a", ("a",), None)]
    assert sorted(row["id"] for _, row in operator.rows("not in the schema")) == ["c", "y too"]


def test_a_key_silent_for_longer_than_the_window_costs_nothing() -> None:
    rows = events(("A", 1, "a"))
    query = "(A ; B) WITHIN 5 seconds"
    kept = after(query, (rows, None), ([], 6))
    assert kept.stores["p"].kept.get() is not None
    assert found(after(query, (rows, None), ([], 6), (events(("B", 6, "b")), 6), ([], 7))) != []
    gone = after(query, (rows, None), ([], 6), ([], 6.002))
    store = gone.stores["p"]
    assert (store.kept.get(), store.held.values, store.timers) == (None, [], set())


def test_without_ids_a_silent_key_costs_the_number_of_its_events() -> None:
    query = "(A ; B) WITHIN 5 seconds"
    operator = after(query, (events(("A", 1, "a"), ("C", 2, "c")), None), ([], 3), ([], 30), id_col=None)
    kept = KeyState(*operator.stores["p"].kept.get())
    assert (kept.position, kept.run, operator.stores["p"].timers) == (2, None, set())
    operator.batch(events(("A", 40, "d"), ("B", 41, "e")), at(30))
    operator.batch([], at(50))
    assert found(operator) == [("p", 3, (2, 3), None)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("(A ; B) WITHIN 5 seconds", True),
        ("(A ; B+) WITHIN 5 seconds PARTITION BY [x]", True),
        ("STRICT(A ; B) WITHIN 5 seconds", True),
        ("START(A ; B) WITHIN 5 seconds", False),
        ("NXT(A ; B) WITHIN 5 seconds", False),
        ("((A ; B) UNLESS C) WITHIN 5 seconds", False),
        ("PROJECT[A](A ; B) WITHIN 5 seconds", False),
        ("PROJECT[B](A ; B) WITHIN 5 seconds", False),
        ("(A ; B) WITHIN 5 EVENTS", False),
        ("A ; B", False),
    ],
)
def test_what_may_be_forgotten_after_a_silence(query: str, expected: bool) -> None:
    assert (plan_of(SparkQuery(query)).idle_timeout is not None) == expected


def test_a_query_that_may_not_be_forgotten_is_not() -> None:
    operator = after("START(A ; B) WITHIN 5 seconds", (events(("A", 1, "a")), None), ([], 30))
    operator.batch(events(("A", 40, "c"), ("B", 41, "d")), at(30))
    operator.batch([], at(50))
    assert found(operator) == []


@pytest.mark.thorough
def test_absence_is_reported_when_its_window_is_over_also_of_a_key_that_falls_silent() -> None:
    """It was refused, with advice to put a WITHIN that was there."""
    query = SparkQuery("PATTERN SEQ(A a, ~B b) WITHIN 10 seconds RETURN a.x", "sase")
    for id_col, ids in (("id", ["a2", "a3"]), (None, [2, 3])):
        operator = Operator(plan_of(query, id_col))
        operator.batch(events(("A", 1, "a1"), ("A", 9, "a2"), ("B", 8, "b")), None)
        operator.batch(events(("A", 15, "a3")), at(9.5))
        for seconds, number in ((19, 0), (19.5, 1), (25, 1), (25.5, 2)):
            operator.batch([], at(seconds))
            assert [one[1] for one in found(operator)] == ids[:number]
        operator.batch([], at(100))
        kept = operator.stores["p"].kept.get()
        assert kept is None if id_col else (KeyState(*kept).run, KeyState(*kept).position) == (None, 4)


def test_ids_that_no_match_can_have_any_more_are_forgotten() -> None:
    query = "(A ; B) WITHIN 3 EVENTS"
    rows = events(*(("A", i, f"a{i}") for i in range(1, 2000)))
    operator = after(query, (rows, None), ([], 3000))
    kept = KeyState(*operator.stores["p"].kept.get())
    assert kept.position == 1999
    assert len(kept.ids or b"") < 1000
    assert len(kept.run or b"") < 8000


def test_the_state_of_another_query_is_refused() -> None:
    operator = after("A ; B", (events(("A", 1, "a")), None))
    operator.plan = plan_of(SparkQuery("A ; C"))
    with pytest.raises(WorkerError, match="another query"):
        operator.batch(events(("A", 2, "b")), None)


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("(A ; B) FILTER A.x < B.x", "cel"),
        ("(A ; B) FILTER A.x < B.x WITHIN 5 [x]", "cel"),
        ("prior(A(v), B(v))", "event-expression"),
        ("PATTERN SEQ(A a, B b) RETURN a.x", "sase"),
        ("PATTERN SEQ(A a, ~B b) WITHIN 5 seconds RETURN NON-OVERLAP R(a.x)", "sase"),
    ],
)
def test_a_query_that_may_need_all_rows_is_refused(query: str, language: str) -> None:
    with pytest.raises(Unsupported, match=r"WITHIN|at rest"):
        compiled(SparkQuery(query, language).to_json())


# ---- checkpoints ----
# Checkpoints: a schema that grows, what is in one, and a stream that is started again.

COLUMNS = "id string, k string, time timestamp, type string, x bigint, y string"
CHECKPOINTS_HOW: dict[str, Any] = {"event_time": "time", "partition_by": "k"}
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
def test_a_checkpoint_with_a_schema_that_has_grown(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    from cerify.spark.streaming import export_state, require_checkpoint

    checkpoint, (query, more) = tmp_path / kind, QUERIES[kind]
    how = {**CHECKPOINTS_HOW, **more}
    run(rows(spark, tmp_path / "in", "1", FIRST), query, checkpoint, how)
    df = rows(spark, tmp_path / "in", "2", NEXT, "z bigint, ")
    state = {row["k"]: row for row in export_state(df, query, checkpoint=str(checkpoint), **how).collect()}
    assert {k: row["events"] for k, row in state.items()} == {"p": 4, "q": 4, "w": 0}
    assert [row["x"] for row in state["p"]["waiting"]] == [1]
    require_checkpoint(df, query, checkpoint=str(checkpoint), **how)
    with pytest.raises(InputError, match="another query"):
        require_checkpoint(df, query.replace("1 minutes", "2 minutes"), checkpoint=str(checkpoint), **how)
    found = [row["events"] for row in run(df, query, checkpoint, how) if row["kind"] == "match" and row["k"] == "p"]
    assert [one for one in FOUND[kind] if one not in found] == []
    again = rows(spark, tmp_path / "in", "3", [("pd", "p", "10:02:05", "A", 0)], "z bigint, ")
    assert run(again, query.replace(" ", "  "), checkpoint, how) == []


def test_a_checkpoint_of_a_stream_that_has_finished_no_batch(spark: SparkSession, tmp_path: Path) -> None:
    """A first run that fails leaves the folder of a checkpoint, with offsets and without a state."""
    from cerify.spark.streaming import export_state, match_rest, require_checkpoint

    df, failed = rows(spark, tmp_path / "in", "1", FIRST), tmp_path / "failed"
    for name in ("offsets", "commits", "state"):
        (failed / name).mkdir(parents=True)
    (failed / "metadata").write_text('{"id":"00000000-0000-0000-0000-000000000000"}')
    (failed / "offsets" / "0").write_text('v1\n{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}\n{"logOffset":0}')
    for folder in (failed, tmp_path / "none"):
        require_checkpoint(df, "A ; B", checkpoint=str(folder), **CHECKPOINTS_HOW)
        for read in (match_rest, export_state):
            with pytest.raises(InputError, match="has finished no batch"):
                read(df, "A ; B", checkpoint=str(folder), **CHECKPOINTS_HOW)


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
