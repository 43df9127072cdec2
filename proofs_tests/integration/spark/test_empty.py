"""Data without rows: a day on which nothing happened, `limit(0)`, a filter that nothing passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from proofs_tests.support import sampled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "k string, ts long, type string"


def of_no_rows(spark: SparkSession, made: str) -> DataFrame:
    some = spark.createDataFrame([("a", 1, "A"), ("a", 2, "B")], COLUMNS)
    match made:
        case "no data":
            return spark.createDataFrame([], COLUMNS)
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
