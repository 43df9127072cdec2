"""What the driver finds out about a query by the schema of a data frame, and columns that are named by expressions."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cerify.semantics.errors import CerifyError, IllFormed, InputError, QueryWarning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = (
    "k string, ts long, type string, x long, n string, price decimal(9, 2), huge decimal(30, 4), at date, "
    "p struct<user: string, k: string, when: struct<t: long>>"
)


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    from pyspark.sql import functions as F

    rows = [(i, "AB"[i % 2], 110 + i) for i in range(4)]
    return spark.createDataFrame(rows, "ts long, type string, cents long").select(
        F.lit("a").alias("k"), "ts", "type", F.col("ts").alias("x"), F.lit("n").alias("n"),
        (F.col("cents").cast("decimal(9, 0)") / 100).cast("decimal(9, 2)").alias("price"),
        F.lit(1).cast("decimal(30, 4)").alias("huge"),
        F.to_date(F.lit("2024-01-05")).alias("at"),
        F.struct(F.lit("bob").alias("user"), F.lit("b").alias("k"), F.struct(F.col("ts").alias("t")).alias("when"))
        .alias("p"),
    )  # fmt: skip


def match(df: DataFrame, query: str, **given: Any) -> DataFrame:
    from cerify.spark.batch import match as matches

    return matches(df, query, **{"order_by": "ts", "partition_by": "k", **given})


def describe(df: DataFrame, query: str, **given: Any) -> str:
    from cerify.spark import describe as described

    return described(df, query, **{"order_by": "ts", "partition_by": "k", **given})


@pytest.mark.parametrize(
    ("query", "given", "message"),
    [
        ("A FILTER A[x = 'one']", {}, "x"),
        ("A FILTER A[n > 3]", {}, "n"),
        ("A FILTER A[price = 'dear']", {}, "price"),
        ("A AS a ; B AS b FILTER a[n > 3]", {"language": "core-cel"}, "n"),
        ("PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { a.n > 3 } RETURN a.x", {"language": "sase"}, "n"),
        ("A[n > 3]", {"language": "event-expression"}, "n"),
        ("A ; Bee", {"sample": 4}, "unknown event type Bee; the events have A, B"),
    ],
)
def test_what_never_holds_by_the_types_of_columns_is_a_warning(
    df: DataFrame, query: str, given: dict[str, Any], message: str
) -> None:
    with pytest.warns(QueryWarning, match=message) as raised:
        match(df, query, **given)
    assert raised[0].filename.endswith("test_fitting.py")
    for function in (match, describe):
        with pytest.raises(IllFormed, match=message):
            function(df, query, strict=True, **given)


@pytest.mark.parametrize(
    ("query", "given", "kind", "message"),
    [
        ("A ; Bee", {"types": "Been"}, IllFormed, "the events have Been"),
        ("A ; Bee", {"types": ["A", "Been"]}, IllFormed, "unknown event type Bee; .* did you mean Been?"),
        ("A FILTER A[prise > 1]", {}, InputError, "the query needs 'prise'; .* did you mean 'price'?"),
        ("A FILTER A[user = 'bob']", {}, InputError, 'give attributes={"user": "p.user"}'),
        ("A FILTER A[huge > 1]", {}, InputError, "at most 18 digits, or 15 with a fraction"),
        ("A", {"order_by": "tss"}, InputError, "did you mean 'ts'?"),
        ("A", {"order_by": "p.whem"}, InputError, "order_by: there is no column 'p.whem'; .* did you mean 'p.when'?"),
        ("A", {"partition_by": "user"}, InputError, "partition_by: .* did you mean 'p.user'?"),
        (
            "A",
            {"partition_by": "p.user", "id_col": "t"},
            InputError,
            "columns are k, .*, at, p; did you mean 'p.when.t'?",
        ),
        ("A FILTER A[prise > 1]", {"partition_by": "p.user"}, InputError, "columns are k, .*, at, p; did you mean"),
        ("A", {"partition_by": "p.user", "attributes": {"user": "n"}}, InputError, "two columns would have the name"),
        ("A", {"partition_by": "p.k"}, InputError, "there is a column 'k' too"),
        ("A", {"attributes": {"u": "p.nobody"}}, InputError, "no column 'p.nobody'"),
        ("A", {"attributes": {"u": 5}}, IllFormed, "attributes, u: expected a name of a column, not 5"),
        ("A", {"partition_by": 3}, IllFormed, "partition_by: expected a column, or a list of them, not 3"),
        ("A", {"order_by": ["ts", 3]}, IllFormed, "order_by: expected a name of a column, not 3"),
        ("A", {"id_col": 3}, IllFormed, "id_col: expected a name of a column, not 3"),
        ("A", {"budget": 5}, IllFormed, "budget: expected a cerify.Budget, not 5"),
    ],
)
def test_what_there_is_not_is_an_error(
    df: DataFrame, query: str, given: dict[str, Any], kind: type[CerifyError], message: str
) -> None:
    for function in (match, describe):
        with pytest.raises(kind, match=message):
            function(df, query, **given)


@pytest.mark.parametrize("argument", ["order_by", "partition_by", "id_col", "attributes"])
def test_a_sort_order_is_no_column(df: DataFrame, argument: str) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    def given(one: Any) -> dict[str, Any]:
        return {argument: {"late": one} if argument == "attributes" else one}

    for order in (F.col("x").desc(), F.asc("x"), F.col("x").desc_nulls_first().alias("r")):
        with pytest.raises(InputError, match=f"{argument}: .* is a sort order"):
            match(df, "A", **given(order))
    for value in (-F.col("x"), F.rank().over(Window.partitionBy("k").orderBy(F.col("x").desc())).alias("r")):
        match(df, "A", **given(value))


def test_what_is_no_data_frame() -> None:
    from cerify.spark import describe, key_costs, match_recognize, match_stream

    events: Any = [{"type": "A"}]
    clause = "MATCH_RECOGNIZE (ORDER BY ts PATTERN (A) DEFINE A AS x > 1)"
    for use in (
        lambda: match(events, "A"),
        lambda: match_stream(events, "A", event_time="at", partition_by="k"),
        lambda: match_recognize(events, clause),
        lambda: key_costs(events, "A", order_by="ts", partition_by="k"),
        lambda: describe(events, "A", order_by="ts"),
    ):
        with pytest.raises(InputError, match="a data frame of Spark, not list"):
            use()


def test_a_stream_is_looked_at_as_data_at_rest_is(spark: SparkSession, tmp_path: Path) -> None:
    """A stream whose query compares texts with numbers would run for days and find nothing."""
    from cerify.spark import describe, match_stream

    df = spark.readStream.schema("k string, at timestamp, type string, x long").json(str(tmp_path))
    how: dict[str, Any] = {"event_time": "at", "partition_by": "k"}
    with pytest.warns(QueryWarning, match="x is a number and 'one' a string") as raised:
        match_stream(df, "A FILTER A[x = 'one']", **how)
    assert raised[0].filename.endswith("test_fitting.py")
    assert "x is a number and 'one' a string" in describe(df, "A FILTER A[x = 'one']", **how)
    with pytest.raises(IllFormed, match="x is a number and 'one' a string"):
        match_stream(df, "A FILTER A[x = 'one']", strict=True, **how)
    with pytest.raises(IllFormed, match="unknown event type Bee; the events have A, B"):
        match_stream(df, "A ; Bee", types=["A", "B"], **how)
    with pytest.raises(InputError, match="event_time names the column"):
        match_stream(df, "A", event_time=None, partition_by="k")  # type: ignore[arg-type]


def test_fields_of_structs_and_columns_of_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    from cerify.spark import match_stream

    df = spark.readStream.schema("p struct<user: string, at: timestamp>, type string, x long").json(str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = match_stream(
            df,
            "A ; B FILTER A[late < 3] WITHIN 5 minutes",
            event_time="p.at",
            partition_by=[F.upper("p.user").alias("key"), "p.user"],
            order_by=-F.col("x"),
            attributes={"late": F.col("x") + 1},
        )
    assert answer.columns[:2] == ["key", "user"]
    with pytest.raises(InputError, match="is a sort order"):
        match_stream(df, "A", event_time="p.at", partition_by="p.user", order_by=F.desc("x"))


@pytest.mark.thorough
def test_a_stream_with_fields_of_structs_runs(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    from cerify.spark import match_stream, matches
    from cerify.spark.streaming import export_state, require_checkpoint, rest, supervised

    lines = [
        {"p": {"user": user, "at": f"2024-01-01T10:00:0{n}Z"}, "type": type_, "x": n}
        for n, (user, type_) in enumerate([("u", "A"), ("v", "A"), ("U", "B"), (None, "A"), ("u", "B")])
    ]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text("\n".join(map(json.dumps, lines)))
    df = spark.readStream.schema("p struct<user: string, at: timestamp>, type string, x long").json(
        str(tmp_path / "in")
    )
    how: dict[str, Any] = {
        "event_time": "p.at",
        "partition_by": F.upper("p.user").alias("key"),
        "attributes": {"place": F.col("x") * 10},
    }
    query, checkpoint, found = "A ; B FILTER B[place > 30]", str(tmp_path / "checkpoint"), list[Any]()
    writer = match_stream(df, query, watermark="1 seconds", **how).writeStream.trigger(availableNow=True)
    writer = writer.option("checkpointLocation", checkpoint)
    supervised(writer.foreachBatch(lambda batch, _: found.extend(batch.collect())).start, pause=0)
    assert [(row["kind"], row["row"]["x"]) for row in found if row["kind"] != "match"] == [("no key", 3)]
    require_checkpoint(df, query, checkpoint=checkpoint, **how)
    assert {row["key"] for row in export_state(df, query, checkpoint=checkpoint, **how).collect()} == {"U", "V"}
    kept = matches(rest(df, query, checkpoint=checkpoint, **how)).collect()
    assert [(row["key"], row["events"]) for row in kept] == [("U", [0, 2])]


def test_decimals_dates_fields_of_structs_and_columns(df: DataFrame) -> None:
    from pyspark.sql import functions as F

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = match(
            df,
            "A ; B FILTER A[price = 1.1 and user = 'bob' and at < timestamp '2024-01-06T00:00:00Z'] AND B[late > 2]",
            order_by="p.when.t",
            partition_by=F.upper("p.k").alias("key"),
            attributes={"user": "p.user", "late": F.col("x")},
            types=["A", "B"],
        )
    assert [(row["key"], row["events"]) for row in found.collect()] == [("B", [0, 3])]
