"""Every path over the same rows gives the same answer: match, match_recognize, SQL, a stream, the audit, and locally.

A table of cases: keys, ids, numbers of rows, tasks without rows, and adaptive execution.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from math import isnan, nan
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import cerify
from cerify.semantics.events import Event
from proofs_tests.support import sampled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUERY = "A ; B WITHIN 3 EVENTS"
CLAUSE = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(A.id) AS a, B.id AS b
    AFTER MATCH SKIP TO NEXT ROW PATTERN (A X*? B) DEFINE A AS type = 'A', B AS type = 'B')"""
START = datetime(2024, 3, 31, 0, 30)

# The values of a key by its type in Spark, or one text; of two that are alike one key is made.
KEYS: dict[str, Sequence[Any]] = {
    "double": (nan, 0.0, 1.5, float("nan"), -0.0, None),
    "float": (0.0, nan, -0.0, float("inf"), float("-inf")),
    "string": ("a", "", None, "A", "ä"),
    "long": (2**53, 2**53 + 1, None, -(2**63), 2**63 - 1),
    "decimal(20,2)": (Decimal("0.00"), Decimal("-1.10"), Decimal("123456789012345678.99"), None),
    "boolean": (True, False, None),
    "date": (date(2024, 3, 31), date(1, 1, 1), None),
    "timestamp": (START, START + timedelta(microseconds=1), None),
    "timestamp_ntz": (START, START + timedelta(hours=2), None),
    "binary": (b"\x00", b"", None),
    "one": ("a",),
}
# The id of the row with a number, by its type in Spark.
IDS: dict[str, Any] = {
    "long": lambda i: 2**53 + i,
    "int": lambda i: i,
    "string": lambda i: f"e{i:06}",
    "timestamp": lambda i: START + timedelta(minutes=20 * i),
    "timestamp_ntz": lambda i: START + timedelta(minutes=20 * i),
    "date": lambda i: date(2024, 3, 1) + timedelta(days=i),
    "decimal(12,3)": lambda i: Decimal(i) / 8,
    "double": lambda i: i / 8,
}


def one_key(value: Any) -> Any:
    """The value that stands for all that are alike: NaN is one key, and both zeros are."""
    if isinstance(value, float):
        return "NaN" if isnan(value) else value + 0.0
    return bytes(value) if isinstance(value, bytearray) else value


def rows_of(keys: Sequence[Any], identify: Any, number: int) -> list[tuple[Any, ...]]:
    """Rows whose keys take turns: key, id, time in seconds, type."""
    return [(keys[i % len(keys)], identify(i), i, "ABBCA"[(i // len(keys)) % 5]) for i in range(number)]


def local(rows: Sequence[tuple[Any, ...]]) -> tuple[Counter[Any], Counter[Any]]:
    """The matches of the query, and the pairs of the clause, of each key by the local evaluators."""
    groups: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        groups[one_key(row[0])].append(row)
    matches, pairs = Counter[Any](), Counter[Any]()
    for key, group in groups.items():
        S = [Event(type_, {"id": i}) for i, (_, _, _, type_) in enumerate(group)]
        if key not in (None, "NaN"):  # NaN is no key, and a partition
            matches.update((key, group[m.at][1], tuple(group[e][1] for e in m.events)) for m in cerify.match(QUERY, S))
        clause = CLAUSE.replace("PARTITION BY k ORDER BY ts", "ORDER BY id")
        found = cerify.match(clause, S, language="row-pattern", output="rows")
        pairs.update((key, group[a][1], group[b][1]) for a, b in found.rows)
    return matches, pairs


@contextmanager
def settings(spark: SparkSession, given: Mapping[str, str]) -> Iterator[None]:
    """Run with these settings of the session."""
    before = {name: str(spark.conf.get(name)) for name in given}
    try:
        for name, value in given.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def frame(spark: SparkSession, rows: Sequence[tuple[Any, ...]], key: str, id_: str) -> DataFrame:
    df = spark.createDataFrame(list(rows), f"k {key}, id {id_}, s long, type string")
    return df.repartition(3).selectExpr("k", "id", "timestamp_seconds(s) AS ts", "type")


def matches_of(df: DataFrame) -> Counter[Any]:
    return Counter((one_key(row["k"]), row["at"], tuple(row["events"])) for row in df.collect())


def pairs_of(df: DataFrame) -> Counter[Any]:
    return Counter((one_key(row["k"]), day_of(row["a"]), day_of(row["b"])) for row in df.collect())


def day_of(value: Any) -> Any:
    """The day of a midnight: measures of dates are timestamps."""
    return value.date() if isinstance(value, datetime) and value.time() == time() else value


def answers(spark: SparkSession, rows: Sequence[tuple[Any, ...]], key: str, id_: str, folder: Path) -> Iterator[Any]:
    """Each path with its answer; those over data at rest first."""
    from cerify.spark import match, match_recognize, register, run_sql
    from cerify.spark.auditing import audit
    from cerify.spark.streaming import match_rest, match_stream, matches, supervised

    register(spark)
    frame(spark, rows, key, id_).write.parquet(str(folder / "in"))
    df = spark.read.parquet(str(folder / "in"))
    df.createOrReplaceTempView("alike")
    how: dict[str, Any] = {"partition_by": "k", "order_by": "ts", "id_col": "id"}
    due = match(df, QUERY, **how)
    yield "match", matches_of(due)
    named = ", ".join(f"{name} => '{value}'" for name, value in how.items())
    statement = f"SELECT * FROM cel_match(TABLE(alike), '{QUERY}', {named})"
    yield "cel_match", matches_of(spark.sql(statement))
    yield "run_sql", matches_of(run_sql(spark, statement))
    yield "match_recognize", pairs_of(match_recognize(df, CLAUSE))
    for path, run in (("match_recognize in SQL", spark.sql), ("match_recognize by run_sql", partial(run_sql, spark))):
        yield path, pairs_of(run("SELECT * FROM match_recognize(TABLE(alike), :clause)", {"clause": CLAUSE}))
    due = due.select("k", "at", "events")
    audited = audit(df, due.exceptAll(due.limit(1)), QUERY, **how)
    yield "audit", matches_of(due) - matches_of(audited.verdicts.where("kind = 'missing'"))
    assert audited.findings().counts == {"missing": 1}
    stream = spark.readStream.schema(df.schema).parquet(str(folder / "in"))
    given: dict[str, Any] = {"partition_by": "k", "event_time": "ts", "id_col": "id"}
    answer = match_stream(stream, QUERY, watermark="1000000 seconds", **given)
    writer = answer.writeStream.option("checkpointLocation", str(folder / "state")).trigger(availableNow=True)
    # Spark waits ten seconds for the Python process of a stream to start, which takes longer on a busy machine.
    supervised(partial(writer.start, str(folder / "out")), attempts=30, pause=0)
    held = match_rest(stream, QUERY, checkpoint=str(folder / "state"), **given)
    yield "match_stream", matches_of(matches(spark.read.parquet(str(folder / "out")))) + matches_of(matches(held))


def differing(spark: SparkSession, rows: Sequence[tuple[Any, ...]], key: str, id_: str, folder: Path) -> list[str]:
    """The paths whose answer is not that of the local evaluators."""
    matches, pairs = local(rows)
    wrong = []
    for path, answer in answers(spark, rows, key, id_, folder):
        if path == "audit":
            right = (matches - answer).total() == 1 and not answer - matches
        else:
            right = answer == (pairs if path.startswith("match_recognize") else matches)
        wrong += [] if right else [path]
    return wrong


ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
FEW, FULL = 60, 65_536
"""Rows of a case: some, or for one key as many as a worker takes at once, one less and one more."""
CASES = [
    *((key, "long", FEW, "true") for key in KEYS if key != "one"),
    *(("double", id_, FEW, "false") for id_ in IDS),
    ("string", "long", 12, "false"),  # more tasks than keys
    *(("one", "string", FULL + more, "true") for more in (-1, 0, 1)),
]


@pytest.mark.parametrize("number", sampled(list(range(len(CASES))), [0, 13, 18]))
def test_all_paths_answer_alike(spark: SparkSession, tmp_path: Path, number: int) -> None:
    key, id_, length, adaptive = CASES[number]
    rows = rows_of(KEYS[key], IDS[id_], length)
    given = {
        "spark.sql.adaptive.enabled": adaptive,
        "spark.sql.session.timeZone": ZONES[number % 4],
        "spark.sql.shuffle.partitions": "2" if length > FEW else "5",
    }
    with settings(spark, given):
        assert differing(spark, rows, "string" if key == "one" else key, id_, tmp_path) == []


def newest_users(rows: Sequence[tuple[Any, ...]], users: int, seconds: int) -> Counter[Any]:
    """The matches of LAST(A{users DISTINCT [u]} WITHIN seconds) of each key, by the sentence: the newest A of each of
    the newest users, if there are so many within these seconds.
    """
    found = Counter[Any]()
    for i, (key, _, second, type_, user) in enumerate(rows):
        newest: dict[str, int] = {}
        for other, id_, at, kind, name in reversed(rows[: i + 1]):
            if other == key and kind == "A" and name is not None and second - at <= seconds and len(newest) < users:
                newest.setdefault(name, id_)
        if type_ == "A" and user is not None and len(newest) == users:
            found[key, rows[i][1], tuple(sorted(newest.values()))] += 1
    return found


@pytest.mark.parametrize("users", sampled([2, 3, 5], [3]))
def test_different_values_on_all_paths(spark: SparkSession, tmp_path: Path, users: int) -> None:
    """DISTINCT by match, its number, in SQL, in a stream and by PER KEY, beside the sentence."""
    from cerify.spark import match, register
    from cerify.spark.streaming import match_rest, match_stream, matches, supervised

    rng = Random(users)
    rows = [
        (rng.choice("xyz"), i, i, rng.choice("AAB"), rng.choice(["a", "b", "c", "d", "e", "f", None]))
        for i in range(400)
    ]
    expected = newest_users(rows, users, 30)
    assert expected.total() >= 40
    made = spark.createDataFrame(rows, "k string, id long, s long, type string, u string").repartition(3)
    made.selectExpr("k", "id", "timestamp_seconds(s) AS ts", "type", "u", "1 AS one").write.parquet(
        str(tmp_path / "in")
    )
    df, query = spark.read.parquet(str(tmp_path / "in")), f"LAST(A{{{users} DISTINCT [u]}} WITHIN 30 seconds)"
    how: dict[str, Any] = {"partition_by": "k", "order_by": "ts", "id_col": "id"}
    assert matches_of(match(df, query, **how)) == expected
    outside = query.replace(" WITHIN 30 seconds)", ") WITHIN 30 seconds")
    assert matches_of(match(df, outside, **how)) == expected
    numbers = {row["k"]: row["count"] for row in match(df, query, **how, output="count").collect()}
    assert numbers == Counter(key for key, _, _ in expected.elements())
    whole = match(df, f"{query} PER KEY [k]", partition_by="one", order_by="ts", id_col="id")
    assert Counter((rows[at][0], at, tuple(events)) for _, at, events, *_ in whole.collect()) == expected
    register(spark)
    df.createOrReplaceTempView("users")
    named = ", ".join(f"{name} => '{value}'" for name, value in how.items())
    assert matches_of(spark.sql(f"SELECT * FROM cel_match(TABLE(users), '{query}', {named})")) == expected
    stream = spark.readStream.schema(df.schema).parquet(str(tmp_path / "in"))
    given: dict[str, Any] = {"partition_by": "k", "event_time": "ts", "id_col": "id"}
    writer = match_stream(stream, query, watermark="1000000 seconds", **given).writeStream
    writer = writer.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True)
    supervised(partial(writer.start, str(tmp_path / "out")), pause=0)
    held = match_rest(stream, query, checkpoint=str(tmp_path / "state"), **given)
    assert matches_of(matches(spark.read.parquet(str(tmp_path / "out")))) + matches_of(matches(held)) == expected
