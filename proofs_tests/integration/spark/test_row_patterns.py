"""cerify.spark.match_recognize against the definition: rows, their types, and what it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from cerify.equivalence.generate.row_pattern import PROFILES
from cerify.semantics.errors import BudgetExceeded, CerifyError, IllFormed, InputError, ParseError
from cerify.semantics.row_pattern.syntax import show
from proofs_tests.unit.workbench.spark.spark_cases import Row, by_partition, expected
from proofs_tests.unit.workbench.spark.spark_cases import case_row_tables as case

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLE = "t long, n long, p long, o long, x long, y double, z string"
TICKS = "symbol string, day long, price long"
FALLS = "PATTERN (STRT DOWN+ UP+) DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)"
MEASURES = "MEASURES FIRST(DOWN.day) AS falls, LAST(UP.price) AS top"
CLAUSE = f"MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY day {MEASURES} {FALLS})"
UNIQUE = CLAUSE.replace("ORDER BY day", "ORDER BY day, price")
NOWHERE = UNIQUE.replace("PATTERN", "AFTER MATCH SKIP TO STRT PATTERN")
BEYOND = UNIQUE.replace("LAST(UP.price)", "SUM(UP.price * 900000000000000000)")
SLOW = pytest.mark.thorough
PRICES = (12, 17, 11, 9, 14, 15, 8)


def recognized(df: DataFrame, clause: str, **given: Any) -> list[Row]:
    from cerify.spark import match_recognize, worker_errors

    with worker_errors():
        return [tuple(row) for row in match_recognize(df, clause, **given).collect()]


def ticks(spark: SparkSession, *symbols: str | None, prices: tuple[int, ...] = PRICES) -> DataFrame:
    """The prices of each symbol, day by day, in disorder."""
    rows = [(symbol, day, price) for symbol in symbols for day, price in enumerate(prices, 1)]
    return spark.createDataFrame(list(reversed(rows)), TICKS).repartition(3)


@pytest.mark.parametrize("seeds", [range(1, 2), pytest.param(range(2, 40), marks=pytest.mark.thorough)])
def test_random_clauses_over_many_tables(spark: SparkSession, seeds: range) -> None:
    """A job for each clause; a table is a part of the key."""
    found = 0
    for seed in seeds:
        rng = Random(seed)
        q, rows = case(rng, PROFILES[rng.choice(["everything", "columns"])], 60)
        df = spark.createDataFrame(rng.sample(rows, len(rows)), TABLE).repartition(3)
        right = expected(q, rows)
        assert by_partition(recognized(df, show(q)), len(q.partition)) == right, (seed, show(q))
        found += len(right)
    assert found > 10 * len(seeds)


def test_the_output_has_the_types_of_the_frame_and_of_the_measures(spark: SparkSession) -> None:
    from cerify.spark import match_recognize

    row = ("a", 1, date(2020, 2, 29), Decimal("1.50"), datetime(2020, 1, 1, 12), 0.5, [1, 2], True)
    df = spark.createDataFrame(
        [row], "k string, n int, d date, m decimal(10,2), ts timestamp, f float, list array<int>, b boolean"
    )
    measures = {
        "i": "n + 1", "f1": "f * n", "avg_": "AVG(n)", "s": "CLASSIFIER()", "d1": "A.d", "t1": "FIRST(ts)",
        "c": "n = 1", "void": "NULL", "both": "COALESCE(n, f)", "many": "COUNT(*)", "dec": "m + 1",
        "m1": "LAST(A.m)", "l1": "list", "ls": "ARRAY_AGG(A.list)", "ds": "ARRAY_AGG(d)", "none": "PREV(list)",
    }  # fmt: skip
    listed = ", ".join(f"{e} AS {name}" for name, e in measures.items())
    text = f"MATCH_RECOGNIZE (PARTITION BY k ORDER BY m MEASURES {listed} ALL ROWS PER MATCH PATTERN (A))"
    made = match_recognize(df, text)
    assert ", ".join(f"{one.name} {one.dataType.simpleString()}" for one in made.schema) == (
        "k string, m decimal(10,2), i bigint, f1 double, avg_ double, s string, d1 date, t1 timestamp, c boolean, "
        "void void, both double, many bigint, dec double, m1 decimal(10,2), l1 array<int>, ls array<array<int>>, "
        "ds array<date>, none array<int>, "
        "n int, d date, ts timestamp, f float, list array<int>, b boolean"
    )
    moment = datetime(2020, 1, 1, 12, tzinfo=UTC).astimezone().replace(tzinfo=None)
    ((*values,),) = made.collect()
    assert values == [
        "a", Decimal("1.50"), 2, 0.5, 1.0, "A", row[2], moment, True, None,
        1.0, 1, 2.5, row[3], [1, 2], [[1, 2]], [row[2]], None, 1, row[2], row[4], 0.5, [1, 2], True
    ]  # fmt: skip


def test_a_stream_is_refused_before_it_starts(spark: SparkSession) -> None:
    from cerify.spark import describe, match_recognize

    stream = spark.readStream.format("rate").load().selectExpr("'a' AS symbol", "value AS day", "value AS price")
    for function in (match_recognize, describe):
        with pytest.raises(InputError, match="cannot read a stream"):
            function(stream, CLAUSE)


def test_partitions_are_groups_and_null_is_one(spark: SparkSession) -> None:
    df = ticks(spark, "a", None, "b")
    assert sorted(map(str, recognized(df, CLAUSE))) == ["('a', 3, 15)", "('b', 3, 15)", "(None, 3, 15)"]


def test_an_empty_frame_has_a_schema_and_no_rows(spark: SparkSession) -> None:
    from cerify.spark import match_recognize

    made = match_recognize(ticks(spark, "a").limit(0), CLAUSE)
    assert made.schema.simpleString() == "struct<symbol:string,falls:bigint,top:bigint>"
    assert made.collect() == []


def test_one_hot_key_lasts_over_many_batches_and_may_be_too_long(spark: SparkSession) -> None:
    df = ticks(spark, "hot", prices=PRICES * 100).union(ticks(spark, "a", "b"))
    assert len(recognized(df, CLAUSE)) == 102
    with pytest.raises(BudgetExceeded, match="symbol='hot': more than 699 rows"):
        recognized(df, CLAUSE, partition_rows=699)


def test_without_partition_by_all_rows_are_one_partition_and_a_warning_says_so(spark: SparkSession) -> None:
    clause = CLAUSE.replace("PARTITION BY symbol ", "").replace("MEASURES", "MEASURES MATCH_NUMBER() AS m,")
    with pytest.warns(UserWarning, match="one task"):
        assert recognized(ticks(spark, "a"), clause) == [(1, 3, 15)]


@pytest.mark.thorough
def test_rows_are_sorted_as_the_clause_says(spark: SparkSession) -> None:
    rows = [("a", None, 1), ("a", 1, 2), ("a", 2, 3)]
    df = spark.createDataFrame(rows, TICKS)
    for order, numbers in {
        "day": [2, 3, 1], "day DESC": [1, 3, 2], "day NULLS FIRST": [1, 2, 3], "day DESC NULLS LAST": [3, 2, 1],
    }.items():  # fmt: skip
        text = f"MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY {order} ALL ROWS PER MATCH PATTERN (A*))"
        assert [row[2] for row in recognized(df, text)] == numbers


@pytest.mark.parametrize(
    ("clause", "kind", "message", "underlined"),
    [
        (CLAUSE.replace("price <", "pricee <"), IllFormed, "did you mean price", "pricee"),
        (CLAUSE.replace("ORDER BY day ", ""), IllFormed, "write ORDER BY", None),
        (CLAUSE.replace("UP+", "UP+("), ParseError, "is missing", None),
        (CLAUSE.replace("price <", "symbol <"), IllFormed, "symbol is a string", None),
        (CLAUSE.replace("price <", "amount <"), InputError, "column 'amount' is decimal", "amount"),
        (CLAUSE.replace("ORDER BY day", "ORDER BY list"), InputError, "column 'list' is array<int>", None),
        (CLAUSE.replace("AS top", "AS symbol"), IllFormed, "2 times", None),
        (CLAUSE.replace("AS top", "AS Amount ALL ROWS PER MATCH"), InputError, "'Amount' already", None),
    ],
)  # fmt: skip
def test_errors_come_before_any_row_is_read(
    spark: SparkSession, clause: str, kind: type[CerifyError], message: str, underlined: str | None
) -> None:
    from cerify.spark import match_recognize

    df = ticks(spark, "a").selectExpr(
        "*", "raise_error('read') AS z", "cast(1 AS decimal(20,2)) AS amount", "array(1) AS list"
    )
    with pytest.raises(kind, match=message) as raised:
        match_recognize(df, clause)
    if underlined is not None:
        assert raised.value.span is not None
        assert clause[raised.value.span.start : raised.value.span.end].startswith(underlined)
        assert "^" in raised.value.described()


@pytest.mark.parametrize(
    ("clause", "kind", "message"),
    [
        (CLAUSE, InputError, "symbol='a', day=1: two events of symbol have the same place in the order"),
        pytest.param(NOWHERE, IllFormed, "symbol='a': AFTER MATCH SKIP", marks=SLOW),
        pytest.param(BEYOND, InputError, "measure top", marks=SLOW),
    ],
)  # fmt: skip
def test_errors_of_rows_are_raised_by_the_action(
    spark: SparkSession, clause: str, kind: type[CerifyError], message: str
) -> None:
    df = ticks(spark, "a").union(spark.createDataFrame([("a", 1, 13)], TICKS))
    with pytest.raises(kind, match=message):
        recognized(df, clause)


def test_the_plan_is_shown(spark: SparkSession) -> None:
    from cerify.spark import describe

    lines = describe(ticks(spark, "a"), CLAUSE).splitlines()
    assert lines[0] == "partitions  by symbol, in one shuffle"
    assert "evaluator   kernel" in lines
    memory = describe(ticks(spark, "a"), CLAUSE.replace("price >", "FIRST(price) >"))
    assert "evaluator   automaton; not kernel: the condition of UP depends on the match so far" in memory


def test_a_column_with_the_name_of_the_number_of_a_row(spark: SparkSession) -> None:
    """Where rows are numbered (clustered) the numbers were in the place of the column's values."""
    df = spark.createDataFrame([(0, n, 5) for n in range(3)], "p long, n long, cerify_row long")
    clause = "MATCH_RECOGNIZE (PARTITION BY p ORDER BY n MEASURES SUM(cerify_row) AS s PATTERN (A+))"
    assert recognized(df, clause, clustered=True) == [(0, 15)]


def test_rows_that_are_clustered_by_the_key_are_not_shuffled_again(spark: SparkSession) -> None:
    from cerify.spark import match_recognize

    df = ticks(spark, "a", "b")
    clustered = df.groupBy("symbol", "day").max("price").toDF("symbol", "day", "price").repartition(2, "symbol")
    for rows, given in ((df, {}), (clustered, {"clustered": True})):
        found = match_recognize(rows, CLAUSE, **given)
        plan = found._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
        assert len(re.findall(r"hashpartitioning\(symbol#\d+, (0, )?\d\)", plan)) == 1, plan
        assert plan.count("Sort [") == 1, plan


@pytest.fixture
def sql(spark: SparkSession) -> Iterator[SparkSession]:
    from cerify.spark import register

    register(spark)
    ticks(spark, "a", None).createOrReplaceTempView("ticks")
    yield spark
    spark.catalog.dropTempView("ticks")


def test_the_clause_in_sql(sql: SparkSession) -> None:
    made = sql.sql(f"SELECT * FROM match_recognize(TABLE(ticks), '{CLAUSE}') ORDER BY symbol")
    assert made.schema.simpleString() == "struct<symbol:string,falls:bigint,top:bigint>"
    assert [tuple(row) for row in made.collect()] == [(None, 3, 15), ("a", 3, 15)]


@pytest.mark.thorough
def test_in_sql_the_answer_is_that_over_the_data_frame(sql: SparkSession) -> None:
    values = (
        "n, n / 2 AS f, DATE '2020-01-01' + CAST(n AS INT) AS d, CAST(n AS DECIMAL(9, 2)) AS m, array(n, 2) AS list"
    )
    others = "timestamp_micros(n) AS ts, IF(n = 2, NULL, 'a') AS s, CAST(NULL AS VOID) AS v, n % 2 = 0 AS even"
    sql.sql(f"SELECT {values}, {others} FROM (SELECT id AS n FROM range(6))").createOrReplaceTempView("typed")
    for rows in ("ONE ROW PER MATCH", "ALL ROWS PER MATCH WITH UNMATCHED ROWS"):
        measures = "FIRST(d) AS d1, LAST(A.ts) AS t1, CLASSIFIER() AS c, AVG(f) AS f1, v AS v1"
        pattern = "PATTERN (A B+) DEFINE B AS n % 4 <> 0"
        clause = f"MATCH_RECOGNIZE (ORDER BY even DESC NULLS LAST, m DESC MEASURES {measures} {rows} {pattern})"
        made = sql.sql(f"SELECT * FROM match_recognize(TABLE(typed), '{clause}')")
        right = recognized(sql.table("typed"), clause)
        assert [tuple(row) for row in made.collect()] == right
        assert right
    sql.catalog.dropTempView("typed")


def test_errors_of_the_clause_in_sql(sql: SparkSession) -> None:
    from cerify.spark import worker_errors

    wrong = CLAUSE.replace("price <", "pricee <")
    with pytest.raises(IllFormed, match="did you mean price"), worker_errors():
        sql.sql(f"SELECT * FROM match_recognize(TABLE(ticks), '{wrong}')").collect()
