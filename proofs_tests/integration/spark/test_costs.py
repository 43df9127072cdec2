"""What each key costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cerify.semantics.arguments import Budget
from cerify.semantics.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_rows_matches_and_seconds_of_keys(spark: SparkSession) -> None:
    """A key that fails is a row with its error, and the others have their numbers."""
    from cerify.spark import key_costs

    df = spark.range(400).selectExpr(
        "if(id < 300, 'long', string(id % 10)) AS k", "id AS n", "if(id % 2 = 0, 'A', 'B') AS type"
    )
    given = {"partition_by": "k", "order_by": "n"}
    found = {row["k"]: row for row in key_costs(df, "A : B", budget=Budget(matches=100), **given).collect()}
    assert {k: row["rows"] for k, row in found.items()} == {"long": 300} | {str(k): 10 for k in range(10)}
    assert "more than 100 matches" in found["long"]["error"]
    assert [row["matches"] for k, row in found.items() if k != "long"] == [0] * 10
    counted = key_costs(df, "A : B", budget=Budget(matches=100), output="count", **given).collect()
    assert {row["k"]: row["matches"] for row in counted if row["matches"]} == {"long": 150}
    seconds = [row["seconds"] for row in counted]
    assert seconds == sorted(seconds, reverse=True)
    assert min(seconds) > 0
    with pytest.raises(InputError, match="partition_by"):
        key_costs(df, "A : B", order_by="n")
