"""cerify.spark.batch.match: what it finds, what it moves, and what it says about rows that are not in order."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from cerify.api import match as local_match
from cerify.examples import flights
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, CerifyError, IllFormed, InputError, ParseError, Unsupported
from cerify.semantics.events import Schema, Stream
from proofs_tests.campaigns import spark_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
        ("A", {"type_col": "x"}, InputError, "column 'x' is bigint; the event type is a string"),
        ("A ; B WITHIN 3 seconds", {"order_by": "n"}, InputError, "a window of time needs a column 'time'"),
        ("A(3)", {"language": "event-expression"}, InputError, "give the data's schema"),
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


def test_a_session_in_another_time_zone_finds_the_same(spark: SparkSession) -> None:
    """Half an hour from one to the next, over the night in which the clocks of New York are put forward."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        times = "timestamp_seconds(1710050400 + id * 1800) AS ts"
        df = spark.range(6).selectExpr(times, "if(id % 2 = 0, 'A', 'B') AS type", "'a' AS k")
        found = match(df, "A ; B WITHIN 30 minutes", id_col="ts").selectExpr("unix_seconds(at) AS at").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(zone))
    assert sorted(row["at"] for row in found) == [1710050400 + i * 1800 for i in (1, 3, 5)]
