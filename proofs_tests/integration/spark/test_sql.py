"""cel_match in Spark SQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from cerify.semantics.errors import CerifyError, IllFormed, InputError, ParseError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = [("a", t, "AB"[t % 2], f"e{t}") for t in range(4)] + [("b", t, "BA"[t % 2], f"f{t}") for t in range(300)]
ASKED = "SELECT * FROM cel_match(TABLE(seen), {}, partition_by => 'k', order_by => 'ts')"


@pytest.fixture(scope="module")
def sql(spark: SparkSession) -> Iterator[SparkSession]:
    from cerify.spark.sql import register

    register(spark)
    df = spark.createDataFrame(
        [*ROWS, (None, 0, "A", "n0"), (None, 1, "B", "n1")], "k string, ts long, type string, n string"
    )
    df.repartition(3).selectExpr("*", "timestamp_seconds(ts) AS at_").createOrReplaceTempView("seen")
    yield spark
    spark.catalog.dropTempView("seen")


def test_the_answer_is_that_of_match_and_has_its_types(sql: SparkSession) -> None:
    from cerify.spark import match

    for query, given, named in (
        ("A ; B WITHIN 3 EVENTS", {}, ""),
        ("A : B", {"id_col": "n", "output": "valuations"}, ", id_col => 'n', output => 'valuations'"),
        ("A : B", {"id_col": "at_", "output": "events"}, ", id_col => 'at_', output => 'events'"),
    ):
        right = match(sql.table("seen"), query, partition_by="k", order_by="ts", **given)  # type: ignore[arg-type]
        made = sql.sql(ASKED.format(f"'{query}'").replace("'ts')", f"'ts'{named})"))
        assert [(f.name, f.dataType) for f in made.schema] == [(f.name, f.dataType) for f in right.schema]
        found = [sorted(map(repr, df.collect())) for df in (made, right)]
        assert found[0] == found[1] != []


def test_the_query_by_name_another_language_and_several_columns(sql: SparkSession) -> None:
    text = (
        "SELECT * FROM cel_match(TABLE(seen), query => 'relative(A, B)', language => 'event-expression', "
        "order_by => array('ts', 'n'), partition_by => 'k', output => 'count') WHERE k = 'a'"
    )
    assert [(row["k"], row["count"]) for row in sql.sql(text).collect()] == [("a", 2)]


def test_fields_of_structs(sql: SparkSession) -> None:
    from cerify.spark import match

    sql.table("seen").selectExpr("struct(k, struct(ts) AS at) AS p", "type", "n").createOrReplaceTempView("nested")
    query = "A ; B FILTER A[late > 1]"
    how = "partition_by => 'p.k', order_by => 'p.at.ts, n', attributes => map('late', 'p.at.ts')"
    found = sql.sql(f"SELECT * FROM cel_match(TABLE(nested), '{query}', {how}) WHERE k = 'a'")
    given: dict[str, Any] = {"partition_by": "p.k", "order_by": ["p.at.ts", "n"], "attributes": {"late": "p.at.ts"}}
    right = match(sql.table("nested"), query, **given).where("k = 'a'")
    assert [row["events"] for row in found.collect()] == [row["events"] for row in right.collect()] == [[2, 3]]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ("'A ;'", ParseError, "expected"),
        ("'A', orderby => 'ts'", IllFormed, "did you mean 'order_by'"),
        ("'A FILTER A[n > 3]', order_by => 'ts'", IllFormed, "n is a string and 3 a number"),
        *(
            pytest.param(*one, marks=pytest.mark.thorough)
            for one in (
                ("'A ; B WITHIN 1 second', order_by => 'n'", InputError, "a window of time needs a column"),
                ("'A', order_by => 'ts', partition_by => 'kk'", InputError, "no column 'kk'"),
                ("'A', key => 'k'", IllFormed, "cel_match has no argument 'key'"),
                ("'A', order_by => 'ts', output => 'all'", IllFormed, "no output 'all'"),
                ("upper(concat('A', 'B')), order_by => 3", IllFormed, "order_by names columns"),
                ("'A'", InputError, "order_by orders the events"),
            )
        ),
    ],
)
def test_errors_of_the_query_are_raised_before_it_runs(
    sql: SparkSession, arguments: str, kind: type[CerifyError], message: str
) -> None:
    from cerify.spark import worker_errors

    with pytest.raises(kind, match=message), worker_errors():
        sql.sql(f"SELECT * FROM cel_match(TABLE(seen), {arguments})")


def test_errors_of_rows_reach_the_caller(sql: SparkSession) -> None:
    from cerify.spark import worker_errors

    with pytest.raises(InputError, match="two events of k have the same place in the order"), worker_errors():
        sql.sql(ASKED.format("'A'").replace("'ts'", "'type'")).collect()
