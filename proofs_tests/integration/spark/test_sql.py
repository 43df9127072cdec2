"""cel_match in Spark SQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from cerify.semantics.errors import CerifyError, InputError, ParseError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = [("a", t, "AB"[t % 2], f"e{t}") for t in range(4)] + [("b", t, "BA"[t % 2], f"f{t}") for t in range(300)]
ASKED = "SELECT * FROM cel_match(TABLE(seen) PARTITION BY k ORDER BY (ts), {})"


@pytest.fixture(scope="module")
def sql(spark: SparkSession) -> Iterator[SparkSession]:
    from cerify.spark.sql import register

    register(spark)
    df = spark.createDataFrame(
        [*ROWS, (None, 0, "A", "n0"), (None, 1, "B", "n1")], "k string, ts long, type string, n string"
    )
    df.repartition(3).createOrReplaceTempView("seen")
    yield spark
    spark.catalog.dropTempView("seen")


def test_a_query_over_each_partition(sql: SparkSession) -> None:
    rows = sql.sql(ASKED.format("'A ; B', key => 'k'") + " WHERE key = 'a'").collect()
    assert sorted((row["key"], row["at"], row["events"], row["ids"], row["bindings"]) for row in rows) == [
        ("a", 1, [0, 1], None, None),
        ("a", 3, [0, 3], None, None),
        ("a", 3, [2, 3], None, None),
    ]


def test_a_partition_lasts_over_several_batches_and_one_without_a_key_is_left_out(sql: SparkSession) -> None:
    rows = sql.sql(ASKED.format("'A : B', key => 'k', id => 'n', output => 'valuations'")).collect()
    found = {(row["key"], tuple(row["ids"]), row["bindings"]["A"][0]) for row in rows}
    assert found == {("a", (f"e{t}", f"e{t + 1}"), t) for t in (0, 2)} | {
        ("b", (f"f{t}", f"f{t + 1}"), t) for t in range(1, 299, 2)
    }


def test_the_query_may_be_given_by_name(sql: SparkSession) -> None:
    text = (
        "SELECT * FROM cel_match(TABLE(seen) PARTITION BY k ORDER BY ts, query => 'A ; B', key => 'k') WHERE key = 'a'"
    )
    assert sql.sql(text).count() == 3


def test_other_languages_and_times(sql: SparkSession) -> None:
    relative = ASKED.format("'relative(A, B)', language => 'event-expression', key => 'k'")
    assert len(sql.sql(relative).where("key = 'a'").collect()) == 2
    near = ASKED.format("'A ; B WITHIN 1 second', time => 'ts', key => 'k'")
    assert sorted(row["at"] for row in sql.sql(near).where("key = 'a'").collect()) == [1, 3]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ("'A ;'", ParseError, "expected"),
        ("'A ; B WITHIN 1 second'", InputError, "time => the column"),
        ("'A', key => 'kk'", InputError, "no column 'kk'"),
    ],
)
def test_errors_reach_the_caller(sql: SparkSession, arguments: str, kind: type[CerifyError], message: str) -> None:
    from cerify.spark import worker_errors

    with pytest.raises(kind, match=message), worker_errors():
        sql.sql(ASKED.format(arguments)).collect()
