"""What is done for each key of a stream, on a store in memory: in any order and any batches, as the local evaluator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row as SparkRow
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues

from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Schema
from cerify.spark.keyed_streams import REASONS, ROWS, KeyState, StreamPlan, compiled, packing, unpacked
from cerify.spark.processor import Processor
from cerify.spark.rows import Columns, match_schema
from cerify.spark.runs import SparkQuery
from cerify.spark.transport import MATCH, WorkerError
from proofs_tests.integration.spark.disorder import (
    ATTRIBUTES,
    SCHEMA,
    START,
    Found,
    Row,
    expected,
    found_in,
    pair,
    punctual_and_late,
    watermarks,
)  # fmt: skip
from proofs_tests.support import sampled

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
        ("PATTERN SEQ(A a, B+ b[]) WITHIN 5 seconds RETURN a.x", "sase"),
    ],
)
def test_a_query_that_may_need_all_rows_is_refused(query: str, language: str) -> None:
    with pytest.raises(Unsupported, match=r"WITHIN|at rest"):
        compiled(SparkQuery(query, language).to_json())
