"""cerify.spark.batch.match: what it finds, what it moves, and what it says about rows that are not in order."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import cerify
from cerify.api import match as local_match
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.scope import ReachBounds
from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate import expressions
from cerify.examples import flights
from cerify.plan import reach_of
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.errors import BudgetExceeded, CerifyError, IllFormed, InputError, ParseError, Unsupported
from cerify.semantics.event_expressions.syntax import show as show_expression
from cerify.semantics.events import Event, Match, Schema, Stream
from cerify.semantics.values import Value
from cerify.spark.batch import answer_schema
from cerify.spark.chunks import (
    ChunkRun,
    Continued,
    Cuts,
    Effect,
    automaton_of,
    by_reach,
    composition,
    count_chunk_events,
    lows_of,
    place_of,
    starts_of,
    transfer_of,
    unpartitioned,
)
from cerify.spark.columns import columns_of, selected
from cerify.spark.runs import SparkQuery, start
from cerify.spark.transport import worker_errors as worker_errors_spark
from proofs_tests.campaigns import spark_batch
from proofs_tests.support import sampled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# ---- batch ----
#

COLUMNS = "k string, ts long, type string, x long, n string"


def match(df: DataFrame, query: str, **given: Any) -> DataFrame:
    from cerify.spark.batch import match as matches

    return matches(df, query, **{"order_by": "ts", "partition_by": "k", **given})


def worker_errors() -> AbstractContextManager[None]:
    from cerify.spark import worker_errors as errors

    return errors()


def seen(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    """The rows in disorder."""
    return spark.createDataFrame(list(reversed(rows)), COLUMNS).repartition(3)


def letters(k: str | None, types: str, first: int = 0) -> list[tuple[Any, ...]]:
    return [(k, first + t, R, t, f"{k}{t}") for t, R in enumerate(types)]


def test_generated_pairs_and_flights(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of the campaign."""
    table = flights.load().slice(0, 60_000)
    monkeypatch.setattr(flights, "load", lambda: table.filter(pc.is_in(table["carrier"], pa.array(["HA", "F9"]))))
    counts = Counter[str]()
    assert list(spark_batch.differing(spark, 8, 7, counts)) == []
    assert counts["with matches"] >= 4
    monkeypatch.setattr(spark_batch, "FLIGHTS", spark_batch.FLIGHTS[:1])
    assert list(spark_batch.flights_differing(spark, counts)) == []


def test_ids_stand_for_positions_also_of_a_key_that_lasts_over_many_batches(spark: SparkSession) -> None:
    rows = letters("a", "AB" * 150) + letters("b", "AB")
    found = match(seen(spark, *rows), "A : B WITHIN 2 EVENTS", id_col="n").collect()
    pairs = {(row["k"], row["at"], tuple(row["events"])) for row in found}
    assert pairs == {("a", f"a{t + 1}", (f"a{t}", f"a{t + 1}")) for t in range(0, 300, 2)} | {("b", "b1", ("b0", "b1"))}


def test_fractions_of_seconds_are_times_where_the_unit_is_named(spark: SparkSession) -> None:
    rows = [(1, 1588205199.82437, "A"), (1, 1588205200.82436, "B"), (1, 1588205200.82438, "B")]
    df = spark.createDataFrame(rows, "k int, time double, type string")
    query = "A ; B WITHIN 1 second"
    found = match(df, query, order_by="time", partition_by="k", time_unit="s").collect()
    assert [list(row.events) for row in found] == [[0, 1]]
    with pytest.raises(InputError, match=r"'time' has floats; .* write time_unit='s'"), worker_errors():
        match(df, query, order_by="time", partition_by="k").collect()
    bad = spark.createDataFrame([(1, float("nan"), "A")], "k int, time double, type string")
    with pytest.raises(Exception, match="NaN is outside the years 1 to 9999"):
        match(bad, query, order_by="time", partition_by="k", time_unit="s").collect()


@pytest.mark.parametrize(
    ("unit", "per", "named"),
    [("s", 1, True), ("s", 1, False), ("ms", 10**3, True), ("us", 10**6, False), ("ns", 10**9, True)],
)
def test_times_in_a_unit(unit: Any, per: int, named: bool, spark: SparkSession) -> None:
    """Whole numbers since 1970, in a column `time` or in the order, of which two are within a minute."""
    name = "time" if named else "ts"
    seconds = (1711836164, 1711836200, 1711837000)
    df = spark.createDataFrame([(1, s * per, t) for s, t in zip(seconds, "ABB", strict=True)], ["k", name, "type"])
    found = match(df, "A ; B WITHIN 1 minute", order_by=name, partition_by="k", time_unit=unit).collect()
    assert [list(row.events) for row in found] == [[0, 1]]
    at = "A[time < timestamp '2024-03-30T22:02:45Z']"
    assert match(df, at, order_by=name, partition_by="k", time_unit=unit).count() == 1
    with pytest.raises(IllFormed, match="there is no unit 'min' of times"):
        match(df, at, order_by=name, partition_by="k", time_unit="min")  # type: ignore[typeddict-item]
    with pytest.raises(InputError, match="time_unit is for numbers since 1970"):
        match(df.withColumn(name, df[name].cast("string")), at, order_by=name, time_unit=unit)


def test_a_rule_in_eql_over_fields_of_structs(spark: SparkSession) -> None:
    rule = (
        'sequence by host.id with maxspan=5s [process where process.name : "CMD*" and ?x.y == null] [file where true]'
    )
    rows = [
        ("a", 1, "process", ("cmd.exe",)),
        ("b", 2, "process", ("cmd",)),
        ("a", 3, "file", None),
        ("b", 9, "file", None),
    ]
    df = spark.createDataFrame(
        [(key, time, type_, process, n) for n, (key, time, type_, process) in enumerate(rows)],
        "`host.id` string, time long, cat string, process struct<name:string>, id long",
    )
    given = {"order_by": "time", "type_col": "cat", "id_col": "id", "language": "eql"}
    events = [
        Event(type_, {"host.id": key, "time": time} | ({"process.name": process[0]} if process else {}))
        for key, time, type_, process in rows
    ]
    local = [(m.at, list(m.events)) for m in local_match(rule, events, language="eql")]
    assert local == [(2, [0, 2])]
    by_host = match(df.withColumn("host", df["`host.id`"]), rule, partition_by="host", **given)
    assert [tuple(row) for row in by_host.select("at", "events").collect()] == local
    with pytest.raises(InputError, match="the query needs"):
        match(df.select("time", "cat", "process", "id"), rule, partition_by=None, **given)


RULES_WITH_ARRAYS = (
    ("sequence by tags with maxspan=6s [A where true] [B where true]", None),
    ('sequence by host, tags [any where p.q == "u"] [any where p.q == "v"] until [C where true]', "host"),
    (
        'sequence by host with maxspan=4s [A where tags : "X"] [B where not tags == "y"] until [C where ?p.q == "u"]',
        None,
    ),
    ('any where tags == "x" and not tags == "y" and ?r.s == "b"', None),
)


def test_fields_that_are_arrays_are_those_of_local_events(spark: SparkSession) -> None:
    rng, rows, events = Random(1), [], list[Event]()
    for n in range(60):
        drawn: list[list[str | None]] = [
            rng.choices(values, k=rng.randint(0, 3)) for values in (["x", "y", None], "uv", "bc")
        ]
        row = (rng.choice("ab"), n, rng.choice("ABC"), drawn[0] or None, [(v,) for v in drawn[1]], (drawn[2],))
        rows.append(row)
        given: dict[str, Any] = {"host": row[0], "time": n}
        for name, values in zip(("tags", "p.q", "r.s"), drawn, strict=True):
            there = [v for v in values if v is not None]
            given |= {f"{name}[{i}]" if i else name: v for i, v in enumerate(there)}
        events.append(Event(row[2], given))
    kinds = (
        "host string, time long, type string, tags array<string>, p array<struct<q:string>>, r struct<s:array<string>>"
    )
    df = spark.createDataFrame(rows, kinds)
    for rule, key in RULES_WITH_ARRAYS:
        got = match(df, rule, language="eql", partition_by=key, order_by="time", id_col="time").collect()
        local = sorted(m.events for m in local_match(rule, events, language="eql"))
        assert local
        assert sorted(tuple(row["events"]) for row in got) == local, rule
    for rule, key, reason in (
        ("sequence by tags [A where true] [B where true]", "tags", "grouped and ordered by atomic values"),
        ('A where ?p == "a"', None, "so convert it"),
    ):
        with pytest.raises(InputError, match=reason):
            match(df, rule, language="eql", partition_by=key, order_by="time")


def test_the_outputs(spark: SparkSession) -> None:
    df = seen(spark, *letters("a", "AAB"), *letters("b", "BA")).cache()
    (count_a, count_b) = sorted(match(df, "A ; B", output="count").collect())
    assert (tuple(count_a), tuple(count_b)) == (("a", 2, "2"), ("b", 0, "0"))
    events = match(df, "A ; B", output="events", id_col="n").collect()
    matches = {row["match"]: set[str]() for row in events}
    for row in events:
        assert row["at"] == "a2"
        matches[row["match"]].add(row["event"])
    assert sorted(map(sorted, matches.values())) == [["a0", "a2"], ["a1", "a2"]]
    valuations = match(df, "A IN X ; B", output="valuations").collect()
    assert sorted(row["bindings"]["X"] for row in valuations) == [[0], [1]]


def test_a_number_that_no_column_holds_is_written_out(spark: SparkSession) -> None:
    (row,) = match(seen(spark, *letters("a", "A" * 150)), "A+", output="count").collect()
    assert row["count"] is None
    assert int(row["digits"]) == 2**150 - 1


def test_clustered_data_is_not_shuffled_again_and_other_data_is(spark: SparkSession) -> None:
    df = spark.range(0, 6, 1, 3).selectExpr("CAST(id % 2 AS STRING) AS k", "id AS ts", "IF(id < 3, 'A', 'B') AS type")
    grouped = df.groupBy("k").agg({"ts": "max"}).selectExpr("k", "explode(sequence(0, `max(ts)`)) AS ts")
    by_key, elsewhere = grouped.selectExpr("*", "IF(ts < 1, 'A', 'B') AS type"), df.groupBy("k", "ts", "type").count()
    for rows, clustered, shuffles in (
        (df, True, 1), (by_key, True, 1), (by_key, False, 2), (elsewhere, True, 1), (df.repartition(2, "k"), True, 1)
    ):  # fmt: skip
        for how in ("fail", "aside"):
            found = match(rows, "A ; B", clustered=clustered, on_error=how)
            plan = found._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
            assert plan.count("Exchange hashpartitioning") == shuffles, plan
    assert {(row["k"], *row["events"]) for row in match(by_key, "A ; B WITHIN 2 EVENTS", clustered=True).collect()} == {
        ("0", 0, 1), ("1", 0, 1)
    }  # fmt: skip


def test_the_text_of_a_plan_may_be_cut(spark: SparkSession) -> None:
    """Nothing depends on how Spark shows its plans."""
    before = spark.conf.get("spark.sql.maxPlanStringLength")
    spark.conf.set("spark.sql.maxPlanStringLength", "8")
    try:
        for clustered in (False, True):
            found = match(seen(spark, *letters("a", "AAB")), "A ; B", clustered=clustered)
            assert "Exchange" not in found._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
            assert sorted(row["events"] for row in found.collect()) == [[0, 2], [1, 2]]
    finally:
        spark.conf.set("spark.sql.maxPlanStringLength", str(before))


@pytest.mark.parametrize("clustered", [False, True])
def test_a_table_with_as_many_buckets_as_there_are_shuffle_partitions(spark: SparkSession, clustered: bool) -> None:
    """Of a repartition by its key alone Spark makes no shuffle, and then reads it without its buckets."""
    df = spark.range(0, 60, 1, 4).selectExpr("CAST(id % 7 AS STRING) AS k", "id AS ts", "IF(id < 30, 'A', 'B') AS type")
    df.write.mode("overwrite").bucketBy(3, "k").saveAsTable("in_buckets")
    found = [match(rows, "A ; B", clustered=clustered).collect() for rows in (df, spark.table("in_buckets"))]
    assert sorted(found[0]) == sorted(found[1])
    assert len(found[0]) == sum(len(range(k, 30, 7)) * len(range(30 + (k - 2) % 7, 60, 7)) for k in range(7))


# --- rows that are not as they should be ------------------------------------------------------------------------------


def test_rows_without_a_key_are_in_no_stream_and_are_counted(spark: SparkSession) -> None:
    from pyspark.sql import Observation

    seen_ = Observation()
    df = seen(spark, *letters("a", "AB"), *letters(None, "ABA"))
    assert match(df, "A ; B", observation=seen_).count() == 1
    assert seen_.get == {"rows": 5, "without_key": 3}


GOOD = [("a", 1, "A", 1, "n1"), ("a", 2, "B", 2, "n2")]
SCHEMA = Schema({"A": {"x": "int"}, "B": {"x": "int"}})


@pytest.mark.parametrize(
    ("row", "given", "message"),
    [
        (("a", 3, None, 1, "n3"), {}, "k='a', ts=3: the column 'type' is empty"),
        (("a", 3, "", 1, "n3"), {}, "k='a', ts=3, field 'type': empty"),
        (
            ("a", None, "A", 1, "n3"),
            {},
            "k='a', ts=None: the column 'ts' is empty; every event has a place in the order",
        ),
        (("a", 2, "A", 1, "n3"), {}, "k='a', ts=2: two events of k have the same place in the order"),
        (("a", 3, "C", 1, "n3"), {"schema": SCHEMA}, "k='a', ts=3, field 'type': unknown event type 'C'"),
        (("a", 3, "A", 5, "n3"), {"budget": Budget(matches=1)}, "k='a': more than 1 matches"),
    ],
)
def test_a_malformed_row_is_told_with_its_place(
    spark: SparkSession, row: tuple[Any, ...], given: dict[str, Any], message: str
) -> None:
    with pytest.raises((InputError, BudgetExceeded)) as raised, worker_errors():
        match(seen(spark, *GOOD, row, ("a", 9, "B", 1, "n9"), *letters("b", "AB")), "A ; B", **given).collect()
    assert message in raised.value.message


def test_rows_and_keys_that_fail_come_back_with_their_reasons(spark: SparkSession) -> None:
    from pyspark.sql import Observation

    from cerify.spark import malformed, matches

    rows = [
        *GOOD, ("a", None, "A", 1, "n3"), ("a", 9, None, 1, "n4"), (None, 1, "A", 1, "n5"), (None, 1, "A", 1, "n6"),
        ("a", 5, "B", 1, "n7"), ("a", 5, "A", 1, "n8"), *letters("b", "AAAB"), *letters("c", "AB"),
    ]  # fmt: skip
    seen_ = Observation()
    answer = match(
        seen(spark, *rows), "A ; B", on_error="aside", id_col="n", budget=Budget(matches=2), observation=seen_
    ).cache()
    found = sorted((row["k"], row["events"]) for row in matches(answer).collect())
    assert found == [("a", ["n1", "n2"]), ("c", ["c0", "c1"])]
    aside = sorted((row["reason"], row["row"]["k"], row["row"]["n"]) for row in malformed(answer).collect())
    assert sorted(aside, key=repr) == sorted(
        [("no key", None, "n5"), ("no key", None, "n6"), ("no order", "a", "n3"), ("no type", "a", "n4"),
         ("over budget", "b", None), ("tie", "a", "n7"), ("tie", "a", "n8")], key=repr
    )  # fmt: skip
    assert {kind: n for kind, n in seen_.get.items() if n} == {
        "match": 2, "no key": 2, "no order": 1, "no type": 1, "tie": 2, "over budget": 1
    }  # fmt: skip
    with pytest.raises(IllFormed, match="there is no on_error 'drop'"):
        match(seen(spark, *rows), "A ; B", on_error="drop")
    with pytest.warns(UserWarning, match="all rows go through one task"):
        one = match(seen(spark, *letters("a", "AB")), "A ; B", partition_by=None, on_error="aside")
    assert [row["events"] for row in matches(one).collect()] == [[0, 1]]


def test_a_line_that_does_not_fit_is_told_if_it_has_no_place(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    file.write_text("k,ts,type,x\na,1,A,1\na,2,B,much\na,soon,A,1\n")
    df = spark.read.csv(str(file), header=True, schema="k string, ts long, type string, x long")
    with (
        pytest.raises(InputError, match="the column 'ts' is empty; every event has a place in the order"),
        worker_errors(),
    ):
        match(df, "A ; B").collect()
    fitting = df.where("ts IS NOT NULL")
    assert match(fitting, "A ; B").count() == 1
    assert match(fitting, "A ; B FILTER B[x > 0]").count() == 0


def test_the_same_event_twice_is_a_tie_and_the_same_id_elsewhere_is_another_event(spark: SparkSession) -> None:
    with pytest.raises(InputError, match="if it is one event twice, drop one by dropDuplicates"), worker_errors():
        match(seen(spark, *GOOD, GOOD[0]), "A ; B", id_col="n").collect()
    deduplicated = seen(spark, *GOOD, GOOD[0]).dropDuplicates(["n"])
    assert match(deduplicated, "A ; B", id_col="n").count() == 1
    (first, second) = match(seen(spark, ("a", 0, "A", 1, "n1"), *GOOD), "A ; B", id_col="n").collect()
    assert first["events"] == second["events"] == ["n1", "n2"]


def test_a_window_s_attribute_that_goes_back_in_the_order_is_told(spark: SparkSession) -> None:
    rows = [("a", 1, "A", 5, "n1"), ("a", 2, "B", 4, "n2")]
    with pytest.raises(InputError, match="k='a': position 1: 'x' is less than before"), worker_errors():
        match(seen(spark, *rows), "A ; B WITHIN 3 [x]").collect()


@pytest.mark.parametrize(
    ("query", "given", "kind", "message"),
    [
        ("A ;", {}, ParseError, "expected"),
        ("A FILTER A[y > 1]", {}, InputError, "the query needs 'y'; the columns are k, ts, type, x, n"),
        ("A FILTER A[x > 1]", {"schema": Schema({"A": {"x": "string"}})}, IllFormed, "x"),
        ("A[x = 1]", {"language": "event-expression", "schema": Schema({"A": {"x": "bool"}})}, CerifyError, "x"),
        ("A", {"order_by": "when"}, InputError, "order_by: there is no column 'when'"),
        ("A", {"partition_by": ["k", "kk"]}, InputError, "partition_by: there is no column 'kk'"),
        ("A", {"type_col": "x"}, InputError, "column 'x' is bigint; the event type must be a string"),
        ("A ; B WITHIN 3 seconds", {"order_by": "n"}, InputError, "a time window needs a column 'time'"),
        ("A(3)", {"language": "event-expression"}, InputError, "give the schema of the data"),
        ("A", {"output": "all"}, IllFormed, "no output 'all'"),
        ("A", {"language": "core-cel", "output": "valuations"}, CerifyError, "it is a query in another language"),
        ("A FILTER near(A)", {}, Unsupported, "near is not registered"),
    ],
)
def test_what_can_be_told_before_rows_are_read_is(
    spark: SparkSession, query: str, given: dict[str, Any], kind: type[CerifyError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        match(spark.createDataFrame(GOOD, COLUMNS), query, **given)


def test_a_column_of_another_type_than_the_schema_says_is_told_at_once(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", 1, "A", "one", "n1")], "k string, ts long, type string, x string, n string")
    with pytest.raises(InputError, match="column 'x' is string; the schema has int, so convert it"):
        match(df, "A FILTER A[x > 1]", schema=SCHEMA)


def test_the_time_of_events_is_the_order_where_there_is_no_column_of_that_name(spark: SparkSession) -> None:
    df = seen(spark, *letters("a", "AB"), ("a", 9, "B", 0, "late"))
    assert [row["at"] for row in match(df, "A ; B WITHIN 3 seconds").collect()] == [1]
    timed = df.selectExpr("k", "ts", "type", "x", "n", "0 AS time")
    assert sorted(row["at"] for row in match(timed, "A ; B WITHIN 3 seconds").collect()) == [1, 2]


def test_times_are_in_utc_whatever_their_type(spark: SparkSession) -> None:
    df = seen(spark, *letters("a", "ABAB")).selectExpr(
        "timestamp_seconds(ts * 86400) AS ts", "type", "date(timestamp_seconds(0)) AS k"
    )
    rows = match(df, "A ; B WITHIN 1 day").collect()
    assert [(str(row["k"]), row["events"]) for row in sorted(rows)] == [("1970-01-01", [0, 1]), ("1970-01-01", [2, 3])]
    S = Stream.from_table(df.toArrow().sort_by("ts"))
    assert len(local_match("A ; B", S)) == 3


ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
NIGHTS = ("03-10T01", "03-31T00", "04-06T12", "04-07T00", "10-05T12", "10-06T00", "10-27T00", "11-03T01")
"""Hours of 2024 from which each 20 minutes have an event: in some of the zones clocks are changed then."""
SINCE = datetime(1970, 1, 1, tzinfo=UTC)
EACH_20_MINUTES = [
    datetime.fromisoformat(f"2024-{night}:00:00+00:00") + timedelta(minutes=20 * i)
    for night in NIGHTS
    for i in range(24)
]
EACH_DAY = [datetime(2024, 3, 1, tzinfo=UTC) + timedelta(days=i) for i in range(250)]
TIMED = {  # the times of events, their column by microseconds, and a window that just contains two of them
    "timestamp": (EACH_20_MINUTES, "timestamp_micros(us)", "20 minutes"),
    "timestamp_ntz": (
        EACH_20_MINUTES,
        "TIMESTAMP_NTZ '1970-01-01' + make_dt_interval(0, 0, 0, CAST(us DIV 1000000 AS DECIMAL(18, 6)))",
        "20 minutes",
    ),
    "date": (EACH_DAY, "date_from_unix_date(CAST(us DIV 86400000000 AS INT))", "1 day"),
}


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("kind", TIMED)
def test_the_zone_of_a_session_changes_no_answer(spark: SparkSession, kind: str, zone: str) -> None:
    from cerify.spark import match_recognize, register

    times, column, width = TIMED[kind]
    events = [(i, (time - SINCE) // timedelta(microseconds=1), "AB"[i % 5 % 2]) for i, time in enumerate(times)]
    df = spark.createDataFrame(events, "id long, us long, type string").repartition(3)
    df = df.selectExpr("id", "type", f"{column} AS ts", "'a' AS k")
    register(spark)
    df.createOrReplaceTempView("zoned")
    queries = [f"A ; B WITHIN {width}", "A ; B WITHIN 2 EVENTS"]
    S = [Event(type_, {"time": time}) for (_, _, type_), time in zip(events, times, strict=True)]
    expected = [sorted((m.at, *m.events) for m in cerify.match(query, S)) for query in queries]
    settings = {"spark.sql.session.timeZone": zone, "spark.sql.shuffle.partitions": "3"}
    before = {name: str(spark.conf.get(name)) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        for query, right in zip(queries, expected, strict=True):
            for given in ({"partition_by": "k"}, {}):
                if not given:  # into chunks of few rows, so that some begin where the clocks are changed
                    spark.conf.set("spark.sql.shuffle.partitions", "30")
                found = cerify.spark.match(df, query, order_by="ts", id_col="id", **given).collect()
                spark.conf.set("spark.sql.shuffle.partitions", "3")
                assert sorted((row["at"], *row["events"]) for row in found) == right, (query, given)
            asked = f"cel_match(TABLE(zoned), '{query}', order_by => 'ts', partition_by => 'k', id_col => 'ts')"
            rows = spark.sql(f"SELECT id FROM {asked} JOIN zoned ON at = ts").collect()
            assert sorted(row[0] for row in rows) == [at for at, *_ in right], query
        number, unit = width.removesuffix("s").split()
        clause = (
            "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.id AS a, B.id AS b, A.ts AS t "
            "AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE A AS type = 'A', "
            f"B AS type = 'B' AND B.ts - A.ts <= INTERVAL '{number}' {unit})"
        )
        pairs = [(a, b, int(times[a].timestamp())) for _, a, b in expected[0] if b == a + 1]
        in_sql = spark.sql("SELECT * FROM match_recognize(TABLE(zoned), :clause)", {"clause": clause})
        for found in (match_recognize(df, clause), in_sql):
            seconds = "unix_date(t) * 86400" if kind == "date" else "unix_seconds(t)"  # a date comes back as one
            assert sorted(map(tuple, found.selectExpr("a", "b", seconds).collect())) == pairs
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
        spark.catalog.dropTempView("zoned")


def test_the_zone_of_the_process_changes_no_answer(spark: SparkSession) -> None:
    """The same in a process of its own; that of the session is UTC in it."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-m", "thorough", "-p", "no:cacheprovider"]
    chosen = f"{__file__}::test_the_zone_of_a_session_changes_no_answer[timestamp-UTC]"
    run = subprocess.run([*command, chosen], env={**os.environ, "TZ": "Europe/Berlin"}, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:]


# ---- chunks ----
# Streams without keys in overlapping chunks: the same matches as over the whole, none twice.

PROFILE = generate.CelProfile(generate.EVERYTHING.operators)
INSIDE = (cel.Next, cel.Last, cel.Max, cel.Strict, lambda phi: cel.Project(frozenset({"A", "X"}), phi))


def windowed(rng: Random) -> Formula:
    """A formula in a window, sometimes with a strategy or a partition around it."""
    phi = generate.formula(rng, PROFILE, rng.randint(2, 6))
    windows = (cel.EventWindow(rng.randint(1, 6)), cel.TimeWindow(rng.randint(0, 8), "second"))
    phi = cel.Within(phi, rng.choice(windows))
    if rng.random() < 0.3:
        phi = rng.choice(INSIDE)(phi)
    return cel.PartitionBy(phi, "y") if rng.random() < 0.2 else phi


def timed(rng: Random, phi: Formula, length: int) -> Stream:
    """A stream whose times ascend."""
    time, events = 0, []
    for event in generate.stream(rng, PROFILE, length, phi):
        time += rng.choice((1, 1, 2, 4))
        events.append(Event(event.type, {**event.attributes, "time": time}))
    return Stream(events)


def in_chunks(query: SparkQuery, S: Stream, reach: ReachBounds, starts: list[int], less: int = 0) -> list[Match]:
    """What the chunks report that begin at these times, each looking back no further than it has to, or less."""
    times = [event.get("time") for event in S]
    found = []
    for begin, end in pairwise([0, *(times.index(time) for time in starts), len(times)]):
        low = max(0, begin - reach.events + 1)
        for _, width in reach.widths if begin < len(times) else ():
            low = min([low, *(p for p in range(begin) if times[p] >= times[begin] - width)])
        low = min(begin, low + less)
        run = ChunkRun(start(query), begin - low, end - begin, low)
        tables = [run.push(S.table.slice(at, min(3, end - at))) for at in range(low, end, 3)]
        for row in pa.concat_tables([*tables, run.finish()]).to_pylist():
            bound = row["bindings"]
            found.append(
                Match(
                    row["at"],
                    tuple(row["events"]),
                    None if bound is None else tuple(sorted((x, tuple(events)) for x, events in bound)),
                )
            )
    return found


def cases(seed: int, number: int) -> Iterator[tuple[SparkQuery, Stream, ReachBounds, list[int], list[Match]]]:
    """Queries that look back over a bounded part of their streams, with the matches over the whole."""
    rng = Random(seed)
    while number:
        phi = windowed(rng)
        if (reach := reach_of(phi)) is None:
            continue
        S = timed(rng, phi, rng.randint(1, 14))
        times = [event.get("time") for event in S]
        starts = sorted(rng.sample(times[1:], min(len(times) - 1, rng.randint(1, 6))))
        output: Any = rng.choice(("matches", "valuations"))
        expected = cerify.match(phi, S, output=output)
        yield SparkQuery(show(phi), output=output), S, reach, starts, expected
        number -= 1


@pytest.mark.parametrize("number", sampled([20, 160], [20]))
def test_chunks_report_what_the_whole_stream_has_and_none_twice(number: int) -> None:
    matched = 0
    for query, S, reach, starts, expected in cases(5, number):
        assert sorted(in_chunks(query, S, reach, starts)) == expected, query
        matched += bool(expected)
    assert matched > number / 2


@pytest.mark.parametrize("number", sampled([60, 120], [60]))
def test_an_overlap_that_is_one_too_small_is_found_out(number: int) -> None:
    faults = sum(
        sorted(in_chunks(query, S, reach, starts, less=1)) != expected
        for query, S, reach, starts, expected in cases(5, number)
    )
    assert faults > number / 12


def test_cuts_are_places_of_the_sample_and_lows_ascend() -> None:
    sample = [1, 1, 1, 4, 6, 6, 7, 20, 21, 22]
    assert starts_of(sample, 4) == [6, 20]  # the first quarter ends among equals, and none is cut off before it
    assert starts_of([5, 5, 5], 3) == starts_of([], 3) == []
    assert lows_of(sample, [6, 20], 1, None, 1.0) == [6, 20]
    assert lows_of(sample, [6, 20], 1, 3, 1.0) == [3, 17]
    assert lows_of(sample, [6, 20], 3, None, 1.0) == [1, 4]
    assert lows_of(sample, [6, 20], 5, None, 1.0) == [None, 1]
    assert lows_of(sample, [6, 20], 3, 18, 1.0) == [-12, 2]
    assert lows_of([0.5, 1.5], [1.5], 1, 1, 1.0) < [0.5]  # rounded to the safe side
    assert lows_of([0, 2**62], [2**62], 1, 1e300, 1.0) == [None]


# --- with Spark -------------------------------------------------------------------------------------------------------

DAY = datetime(2021, 1, 1, tzinfo=UTC)
ROWS = 150


@pytest.fixture(scope="module")
def rows() -> list[tuple[Value, ...]]:
    rng, time, made = Random(11), 0, list[tuple[Value, ...]]()
    for i in range(ROWS):
        time += rng.choice((1, 1, 2, 5))
        made.append((time, DAY + timedelta(seconds=time), rng.choice("ABCD"), rng.randint(0, 3), f"e{i}"))
    return made


@pytest.fixture(scope="module")
def df(spark: SparkSession, rows: list[tuple[Value, ...]]) -> DataFrame:
    shuffled = Random(1).sample(rows, len(rows))
    return spark.createDataFrame(shuffled, "n long, time timestamp, type string, x int, id string").cache()


@pytest.fixture(scope="module")
def S(rows: list[tuple[Value, ...]]) -> Stream:
    return Stream(Event(str(row[2]), {"n": row[0], "time": row[1], "x": row[3]}) for row in rows)


def asked(df: DataFrame, text: str, output: Any = "matches", cuts: Any = None, **how: Any) -> Any:
    """The answer, and what was warned of; with cuts those, else as it comes."""
    language = how.pop("language", "cel")
    query = SparkQuery(text, language, "valuations" if output == "valuations" else "matches", how.pop("schema", None))
    columns = columns_of(df.schema, query, **{"order_by": "time", **how})
    answer, some = answer_schema(df.schema, query, columns, output), selected(df, columns)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if cuts is None:
            found = unpartitioned(some, query, columns, output, Budget(), answer)
        else:
            places = count_chunk_events(some, place_of(some, columns), *cuts)
            found = by_reach(some, query, columns, output, Budget(), answer, places)
    with worker_errors_spark():
        rows = found.collect()
    return rows, [str(w.message) for w in caught if "rows go through one task" in str(w.message)]


def as_matches(found: list[Any]) -> list[Match]:
    return sorted(
        Match(
            row["at"],
            tuple(row["events"]),
            None if not row["bindings"] else tuple(sorted((x, tuple(p)) for x, p in row["bindings"].items())),
        )
        for row in found
    )


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("A ; B ; C WITHIN 10 EVENTS", 7),
        pytest.param("A ; B WITHIN 9 seconds PARTITION BY [x]", 5, marks=pytest.mark.thorough),
        ("NXT(A ; B WITHIN 4 [n])", 2),
    ],
)
def test_spark_reports_what_the_whole_stream_has(
    spark: SparkSession, df: DataFrame, S: Stream, query: str, parts: int
) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", parts)
    try:
        order = {"order_by": "n"} if "[n]" in query else {}
        found, warned = asked(df, query, "valuations", **order)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", 3)
    assert as_matches(found) == cerify.match(query, S, output="valuations")
    assert not warned


def test_a_window_over_several_chunks(df: DataFrame, S: Stream) -> None:
    micros = [(event.get("time") - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) for event in S]
    starts = [micros[at] for at in (20, 24, 28, 32, 33, 100)]
    lows = [micros[at - 15] for at in (20, 24, 28, 32, 33, 100)]
    found, _ = asked(df, "A ; B ; C WITHIN 16 EVENTS", cuts=(starts, lows))
    assert as_matches(found) == cerify.match("A ; B ; C WITHIN 16 EVENTS", S)


def test_ids_numbers_and_counts(df: DataFrame, S: Stream) -> None:
    query = "A ; B+ WITHIN 7 EVENTS"
    expected = cerify.match(query, S)
    found, _ = asked(df, query, id_col="id")
    named = sorted((f"e{m.at}", [f"e{p}" for p in m.events]) for m in expected)
    assert sorted((row["at"], row["events"]) for row in found) == named
    ((number, digits),) = asked(df, query, "count")[0]
    assert (number, digits) == (len(expected), str(len(expected)))
    events, _ = asked(df, query, "events")
    together: dict[int, set[int]] = {}
    for row in events:
        together.setdefault(row["match"], set()).add(row["event"])
    assert sorted(map(sorted, together.values())) == sorted(sorted(m.events) for m in expected)


def test_a_query_of_sase(df: DataFrame, S: Stream) -> None:
    query = """PATTERN SEQ(A a, B+ b[], C c)
        WHERE skip_till_next_match(a, b[], c) { b[i].x >= a.x } WITHIN 12 seconds RETURN a.x"""
    found, warned = asked(df, query, language="sase")
    assert as_matches(found) == [Match(m.at, m.events, m.bindings) for m in cerify.match(query, S, language="sase")]
    assert not warned


def test_what_return_makes_is_a_struct_on_all_paths(spark: SparkSession, tmp_path: Path) -> None:
    from cerify.spark import match, register
    from cerify.spark.streaming import match_rest, match_stream, matches, supervised

    query = 'PATTERN SEQ(A a, B+ b[]) WITHIN 1 hour RETURN a.price, b[].(price, "in.at") AS all, count(b[]) AS n'
    kinds = "price:decimal(12,2),all:array<struct<price:decimal(12,2),in.at:timestamp>>,n:bigint"
    rows = "SELECT 'u' AS k, timestamp_seconds(id) AS ts, if(id = 0, 'A', 'B') AS type, "
    rows += "cast(id * 1.1 AS decimal(12,2)) AS price, struct(timestamp_seconds(id) AS at) AS in FROM range(3)"
    spark.sql(rows).coalesce(1).write.parquet(str(tmp_path / "in"))
    df = spark.read.parquet(str(tmp_path / "in"))
    how: dict[str, Any] = {"partition_by": "k", "language": "sase"}
    with pytest.raises(InputError, match=r"convert it, or leave it out and give keep=\['in'\]"):
        match(df, "PATTERN SEQ(A a) RETURN a.in", order_by="ts", **how)
    found = match(df, query, order_by="ts", **how)
    assert found.schema["result"].dataType.simpleString() == f"struct<{kinds}>"
    found.write.parquet(str(tmp_path / "out"))
    due = sorted(row["result"] for row in spark.read.parquet(str(tmp_path / "out")).collect())
    assert len(due) == 1
    assert due[0].asDict(recursive=True)["all"][0]["price"] == Decimal("1.10")
    aside = match(df, query, order_by="ts", on_error="aside", **how)
    assert sorted(row["result"] for row in matches(aside).collect()) == due
    register(spark)
    df.createOrReplaceTempView("returned")
    text = (
        "SELECT result FROM cel_match(TABLE(returned), :q, partition_by => 'k', order_by => 'ts', language => 'sase')"
    )
    assert sorted(row["result"] for row in spark.sql(text, {"q": query}).collect()) == due
    stream = spark.readStream.schema(df.schema).parquet(str(tmp_path / "in"))
    answer = match_stream(stream, query, event_time="ts", watermark="1 day", **how)
    writer = answer.writeStream.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True)
    supervised(partial(writer.start, str(tmp_path / "stream")), pause=0)
    rest = match_rest(stream, query, checkpoint=str(tmp_path / "state"), event_time="ts", **how)
    assert sorted(row["result"] for row in matches(rest).collect()) == due


@pytest.mark.parametrize("query", ["A : B UNLESS D", "NXT(A ; B) WITHIN 5 EVENTS", "A ; B WITHIN 2 [x]"])
def test_what_depends_on_more_goes_through_one_task_and_that_is_said(df: DataFrame, S: Stream, query: str) -> None:
    if "[x]" in query:
        with pytest.raises(InputError, match="sort the stream"):
            asked(df, query)
        return
    found, warned = asked(df, query)
    assert as_matches(found) == cerify.match(query, S)
    assert len(warned) == 1


def test_a_window_over_all_of_the_data_goes_through_one_task_and_that_is_said(df: DataFrame, S: Stream) -> None:
    query = "A ; B ; C WITHIN 10 days"
    ((number, _),), warned = asked(df, query, "count")
    assert number == len(cerify.match(query, S, evaluator="kernel"))
    assert len(warned) == 1
    assert "shorter window" in warned[0]


def test_data_that_changes_after_it_was_counted_is_an_error(df: DataFrame) -> None:
    text = "A ; B WITHIN 4 EVENTS"
    query = SparkQuery(text)
    columns = columns_of(df.schema, query, order_by="n")
    some = selected(df, columns)
    places = count_chunk_events(some, place_of(some, columns), [100], [90])
    fewer = some.where("n < 120 or n > 125")
    with pytest.raises(InputError, match="has changed since its rows were counted"), worker_errors_spark():
        by_reach(
            fewer, query, columns, "matches", Budget(), answer_schema(df.schema, query, columns, "matches"), places
        ).collect()


# ---- compose ----
# Chunks that are read from every state at once, and composed: event expressions, and exact numbers of matches.

Parts = list[tuple[int, int]]


def cut(rng: Random, S: Stream) -> Parts:
    """The stream in chunks, some of them empty."""
    at = [0, *sorted(rng.randint(0, len(S)) for _ in range(rng.randint(0, 4))), len(S)]
    return list(pairwise(at))


def effects(query: SparkQuery, S: Stream, parts: Parts) -> dict[int, Effect] | None:
    """What each chunk does that has events; None where the query does not compose."""
    found = {}
    for c, (begin, end) in enumerate(parts):
        if begin < end:
            transfer = transfer_of(query.to_json(), Budget(), begins=begin == 0)
            if transfer is None:
                return None
            assert all(transfer.advance(S.table.slice(at, min(3, end - at))) for at in range(begin, end, 3))
            found[c] = Effect.from_json(transfer.effect().to_json())
    return found


def composed(query: SparkQuery, S: Stream, parts: Parts) -> tuple[tuple[int, ...], int] | None:
    """The states in which the chunks begin, and the number of matches."""
    found = effects(query, S, parts)
    nothing = (0,) * len(parts)
    return None if found is None else composition(found, Cuts((), (), nothing, nothing, nothing))


def expression_cases(seed: int, number: int) -> Iterator[tuple[SparkQuery, Stream, list[int]]]:
    rng = Random(seed)
    for _ in range(number):
        E, S = expressions.case(rng, rng.choice(list(expressions.PROFILES.values())), 7, 12)
        found = [m.at for m in cerify.match(E, S)]
        yield SparkQuery(show_expression(E), "event-expression"), S, found


@pytest.mark.thorough
def test_chunks_of_an_event_expression_begin_where_those_before_them_end() -> None:
    rng, matched = Random(2), 0
    for query, S, expected in expression_cases(7, 150):
        parts = cut(rng, S)
        A = automaton_of(query, Budget())
        assert A is not None
        states, number = composed(query, S, parts) or ((), 0)
        found: list[int] = []
        for q, (begin, end) in zip(states, parts, strict=True):
            if begin < end:
                run = ChunkRun(Continued(A, q), 0, end - begin, begin)
                found += run.push(S.table.slice(begin, end - begin))["at"].to_pylist()
        assert found == expected
        assert number == len(expected)
        matched += len(expected) > 0
    assert matched > 50


def test_numbers_of_matches_are_composed() -> None:
    rng, profile, carried, matched = Random(4), replace(generate.EVERYTHING, correlated=0.0), 0, 0
    for _ in range(75):
        phi, S = generate.case(rng, profile, 7, 10)
        found = composed(SparkQuery(show(phi)), S, cut(rng, S))
        if found is not None:
            carried, matched = carried + 1, matched + (found[1] > 0)
            assert found[1] == len(cerify.match(phi, S))
    assert carried > 60
    assert matched > 25


def test_numbers_past_a_machines_word_are_exact() -> None:
    rng = Random(1)
    S = Stream(Event(rng.choice("AAB")) for _ in range(300))
    query = SparkQuery("A+ ; B")
    found = composed(query, S, [(0, 100), (100, 130), (130, 300)])
    assert found is not None
    assert found[1] == CompiledCelEvaluator(query.parsed).count(S.table) > 2**64


def test_numbers_that_grow_too_long_and_states_that_never_meet_are_given_up() -> None:
    long = transfer_of(SparkQuery("A+ ; B").to_json(), Budget(), begins=True)
    assert long is not None
    assert not long.advance(Stream(Event("A") for _ in range(9_000)).table)
    many = transfer_of(SparkQuery("every <70> A", "event-expression").to_json(), Budget(), begins=True)
    assert many is not None
    assert not many.advance(Stream([Event("A")]).table)


def test_a_start_event_in_a_later_chunk_is_an_error() -> None:
    query = SparkQuery("relative(A, B)", "event-expression").to_json()
    starting = Stream([Event("start"), Event("A")]).table
    first, later = (transfer_of(query, Budget(), begins=begins) for begins in (True, False))
    assert first is not None
    assert first.advance(starting)
    assert later is not None
    with pytest.raises(InputError):
        later.advance(starting)


@pytest.mark.thorough
def test_states_have_the_same_numbers_in_every_process() -> None:
    code = (
        "from cerify.semantics.arguments import Budget; from cerify.spark.runs import SparkQuery\n"
        "from cerify.spark.chunks import counter_of\n"
        "E = counter_of(SparkQuery('NXT((A OR B)+ ; C FILTER A.x > 1 AND C.y < 3)'), Budget())\n"
        "print(E.tables.step.tolist(), E.types)"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(said) == 1


# --- with Spark -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def abc() -> Stream:
    rng = Random(5)
    return Stream(Event(rng.choice("ABC"), {"x": rng.randint(0, 2)}) for _ in range(120))


@pytest.fixture(scope="module")
def df_compose(spark: SparkSession, abc: Stream) -> DataFrame:
    rows = [(i, event.type, event.get("x")) for i, event in enumerate(abc)]
    return spark.createDataFrame(Random(1).sample(rows, len(rows)), "n long, type string, x int").cache()


@pytest.mark.thorough
@pytest.mark.parametrize("output", ["matches", "count"])
def test_spark_composes_an_event_expression(df_compose: DataFrame, abc: Stream, output: Any) -> None:
    query = "relative(A, prior(B, C))"
    found, warned = asked(df_compose, query, output, language="event-expression", order_by="n")
    expected = cerify.match(query, abc, language="event-expression")
    assert not warned
    if output == "count":
        assert [row["count"] for row in found] == [len(expected)]
    else:
        assert as_matches(found) == expected


@pytest.mark.thorough
def test_spark_composes_a_number_of_matches(df_compose: DataFrame, abc: Stream) -> None:
    found, warned = asked(df_compose, "(A+ ; B ; C) FILTER B.x > 0", "count", order_by="n")
    assert found[0]["digits"] == str(
        CompiledCelEvaluator(SparkQuery("(A+ ; B ; C) FILTER B.x > 0").parsed).count(abc.table)
    )
    assert not warned


def test_an_expression_with_attribute_variables_goes_through_one_task(df_compose: DataFrame, abc: Stream) -> None:
    query, schema = "relative(A(X), B(X))", Schema({R: {"x": "int"} for R in "ABC"})
    found, warned = asked(df_compose, query, language="event-expression", order_by="n", schema=schema)
    assert len(warned) == 1
    whole = Stream(abc, schema)
    assert as_matches(found) == cerify.match(query, whole, language="event-expression")


# ---- empty ----
# Data without rows: a day on which nothing happened, `limit(0)`, a filter that nothing passes.

EMPTY_COLUMNS = "k string, ts long, type string"


def of_no_rows(spark: SparkSession, made: str) -> DataFrame:
    some = spark.createDataFrame([("a", 1, "A"), ("a", 2, "B")], EMPTY_COLUMNS)
    match made:
        case "no data":
            return spark.createDataFrame([], EMPTY_COLUMNS)
        case "limit":
            return some.limit(0)
        case "filter":
            return some.where("ts > 2").repartition(2)
    raise AssertionError(made)


MADE = ["no data", "limit", "filter"]


ASKED: list[tuple[str, dict[str, Any]]] = [
    ("A ; B", {"partition_by": "k"}),
    ("A ; B", {"partition_by": "k", "output": "count"}),
    ("A ; B WITHIN 2 EVENTS", {}),
    ("A ; B WITHIN 2 EVENTS", {"output": "count"}),
    ("A ; B WITHIN 2 [ts]", {}),
    ("A ; B", {"output": "count"}),
    ("relative(A, B)", {"language": "event-expression"}),
]
CASES = [(made, *asked) for asked in ASKED for made in MADE]
SOME = [(MADE[2 * (n % 2)], *asked) for n, asked in enumerate(ASKED)]
"""Each query without data or with a filter, in turn."""


@pytest.mark.parametrize("case", sampled(CASES, SOME), ids=str)
def test_the_answer_of_no_rows_has_none(spark: SparkSession, case: tuple[str, str, dict[str, Any]]) -> None:
    from cerify.spark import match

    made, query, given = case
    assert match(of_no_rows(spark, made), query, order_by="ts", **given).collect() == []
