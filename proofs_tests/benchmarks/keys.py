"""Small keys on Spark: matches and their number, against identities over the groups and through the same plan.

Each number of cores is a process of its own (`python -m proofs_tests.benchmarks.keys FOLDER`), in which the plans run
in turns. An identity reads all of its rows and hands on none, as the query has few matches; of the dense query, which
has 1.75 matches a row, it hands on all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import click
import pyarrow as pa

from cerify.spark.batch import match
from proofs_tests.benchmarks.figure import Figure
from proofs_tests.benchmarks.spark import QUERY, QUICK, generate, watched, written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RUNS = 5
TARGETS = {1_000: 0.85, 100: 0.7, 10: 0.5}
"""By rows of a key, what share of an identity's speed is to be reached."""
WHOLE = "A ; B ; C"
DENSE, DENSE_ROWS = "A ; B WITHIN 114 EVENTS", 5_000
CLOCKS = {"": "rows/s", ".cpu": "rows/CPU s"}  # by the wall, and of the JVM and Python's workers together
OURS = ("matches", "count")
BASELINES = {"group": "groupBy.applyInArrow of the identity", "plan": "the identity through the same plan"}
Taken = dict[str, list[tuple[float, float]]]
"""By the name of a plan, the seconds of each run, by the wall and of the CPU."""


def keys(quick: bool) -> Iterator[Figure]:
    """On two cores and on one: 1,000, 100 and 10 rows of a key, and 1.75 matches for each row."""
    rows = QUICK if quick else 3 * QUICK
    with tempfile.TemporaryDirectory() as folder:
        for per_key in (*TARGETS, DENSE_ROWS):
            generate(Path(folder) / str(per_key), rows, per_key=per_key)
        for cores in (2, 1):
            command = [sys.executable, "-W", "ignore", "-m", "proofs_tests.benchmarks.keys", folder]
            done = subprocess.run([*command, "--cores", str(cores)], check=True, stdout=subprocess.PIPE, text=True)
            for per_key, taken in json.loads(done.stdout.splitlines()[-1]).items():
                yield from figures(int(per_key), cores, rows, taken)


def keyed_spark(quick: bool) -> Iterator[Figure]:
    """PER KEY and PARTITION BY in a query over one stream on Spark, in turns in one session of one core."""
    from cerify.spark.session import session

    rows = QUICK // (4 if quick else 1)
    spark = session("local[1]", **{"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "4"})
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder) / "rows", rows, per_key=1_000)
        df = spark.read.parquet(f"{folder}/rows")
        taken: dict[str, list[float]] = {"PER KEY": [], "PARTITION BY": []}
        for run in range(RUNS + 1):  # the first one does not count
            for name, seconds in taken.items():
                query = f"({WHOLE}) {name} [key] WITHIN 1000 EVENTS"
                seconds += [watched(partial(written, partial(match, df, query, order_by="n")))[1]] * (run > 0)
    spark.stop()
    ratio = median(other / ours for ours, other in zip(*taken.values(), strict=True))
    rates = sorted(rows / seconds for seconds in taken["PER KEY"])
    yield Figure(
        "keyed-spark", median(rates), "rows/CPU s", "PARTITION BY", ratio, len(rates), (rates[0], rates[-1]),
        "≥ 0.9 of it", ratio >= 0.9,
    )  # fmt: skip


def users_spark(quick: bool) -> Iterator[Figure]:
    """Queries by user, 25 events each, in turns with a window function, an identity, and each other, on one core."""
    from pyspark.sql import functions as F

    from cerify.spark import match_recognize, register, run_sql
    from cerify.spark.session import session
    from cerify.spark.sql import CelMatch, MatchRecognizeFunction, register_function

    rows = QUICK // 4 if quick else 5 * QUICK
    settings = {"spark.driver.memory": "3g", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "8"}
    spark = session("local[1]", **settings)
    register(spark)
    for function, of in (("same_rows", CelMatch), ("same_partitions", MatchRecognizeFunction)):
        register_function(spark, function, type(function, (of,), {"eval": _nothing, "terminate": _nothing}))
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder) / "rows", rows, per_key=25)
        how = {"partition_by": "key", "order_by": "n"}
        clause = (
            "MATCH_RECOGNIZE (PARTITION BY key ORDER BY n MEASURES FIRST(A.n) AS a, LAST(B.x) AS b "
            "PATTERN (A C B) DEFINE A AS type = 'A', B AS type = 'B', C AS type = 'C')"
        )
        sase = "PATTERN SEQ(A a, {}B b) WHERE a.key = a.key WITHIN {} seconds"
        within = rows // 5  # seconds, so that some five events of a user are within a window
        after = "PARTITION BY key ORDER BY n ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"
        paid = f"min(if(type = 'B', time, null)) OVER ({after})"
        overdue = f"type = 'A' AND (paid IS NULL OR paid >= time + make_dt_interval(0, 0, 0, {within}))"
        recognized = "SELECT * FROM {}(TABLE(users), :c)"
        call = f"(TABLE(users), 'A ; B WITHIN {within} seconds', partition_by => 'key', order_by => 'n')"
        plans: dict[str, Callable[[], DataFrame]] = {
            "identity": lambda: identity(df, "plan", False),
            "window": lambda: some.withColumn("paid", F.expr(paid)).where(overdue),
            "match": lambda: match(df, f"A ; B WITHIN {within} seconds", **how),
            "absence": lambda: match(df, sase.format("~", within), language="sase", **how),
            "sase": lambda: match(df, sase.format("", within), language="sase", **how),
            "per-key": lambda: match(df, f"(A ; B) PER KEY [key] WITHIN {rows // 200} seconds", order_by="time"),
            "sql": lambda: spark.sql(f"SELECT * FROM cel_match{call}"),
            "run-sql": lambda: run_sql(spark, f"SELECT * FROM cel_match{call}"),
            "sql-identity": lambda: spark.sql(f"SELECT * FROM same_rows{call}"),
            "recognize": lambda: match_recognize(df, clause),
            "recognize-sql": lambda: spark.sql(recognized.format("match_recognize"), {"c": clause}),
            "recognize-run-sql": lambda: run_sql(spark, recognized.format("match_recognize"), {"c": clause}),
            "recognize-sql-identity": lambda: spark.sql(recognized.format("same_partitions"), {"c": clause}),
        }
        taken: dict[str, list[float]] = {name: [] for name in plans}
        for run in range(2 if quick else 3):
            df = spark.read.parquet(f"{folder}/rows" if run else f"{folder}/rows/0.parquet")  # the first is a part
            df = df.withColumn("time", F.timestamp_seconds("n"))
            df.createOrReplaceTempView("users")
            some = df.select("key", "n", "type", "time")
            for name, plan in plans.items():
                taken[name] += [watched(partial(written, plan))[1]] * (run > 0)
    spark.stop()
    compared = [
        ("match", "identity", 1.5),
        ("absence", "window", 1.5),
        ("sase", "window", 1.5),
        ("per-key", "window", 1.5),
        ("sql", "match", 1.3),
        ("sql", "sql-identity", 1.3),
        ("run-sql", "match", 1.3),
        ("recognize-sql", "recognize", 1.3),
        ("recognize-run-sql", "recognize", 1.3),
        ("recognize-sql", "recognize-sql-identity", 1.3),
    ]
    for name, other, most in compared:
        ratio = median(mine / base for mine, base in zip(taken[name], taken[other], strict=True))
        ends, figure = (min(taken[name]), max(taken[name])), other if other == f"{name}-identity" else name
        yield Figure(
            f"users-spark.{figure}", median(taken[name]), "CPU s", other, ratio, len(taken[name]), ends,
            f"≤ {most} ×", ratio <= most,
        )  # fmt: skip


def _nothing(self: object, *_: object, **__: object) -> None:
    """Hand on no row, as a method of a table function."""


def figures(per_key: int, cores: int, rows: int, taken: Taken) -> Iterator[Figure]:
    """The rows that are read in a second, against each of the others."""
    for name in OURS:
        share = 0.5 if per_key == DENSE_ROWS else TARGETS[per_key]
        baselines = BASELINES | ({"matches": "the matches"} if name == "count" else {})
        for i, (clock, unit) in enumerate(CLOCKS.items()):
            rates = sorted(rows / run[i] for run in taken[name])
            for kind, baseline in baselines.items():
                ratio = median(base[i] / mine[i] for mine, base in zip(taken[name], taken[kind], strict=True))
                least = share if kind in BASELINES else 1.0 if per_key == DENSE_ROWS else None  # else few are counted
                yield Figure(
                    f"keys.{name}.{kind}.{per_key}.{cores}{clock}", median(rates), unit, baseline, ratio, len(rates),
                    (rates[0], rates[-1]), least and f"≥ {least:.0%} of it", None if least is None else ratio >= least,
                )  # fmt: skip


def ours(df: DataFrame, query: str, output: str) -> DataFrame:
    """The answer."""
    return match(df, query, partition_by="key", order_by="n", output=output)


def identity(df: DataFrame, kind: str, all_rows: bool) -> DataFrame:
    """The rows, group by group, or in batches that are grouped and sorted as for a query."""
    some = df.select("key", "n", "type", "x")
    if kind == "group":
        return some.groupBy("key").applyInArrow(_whole if all_rows else _none, some.schema)
    sorted_ = some.repartition("key").sortWithinPartitions("key", "n")
    return sorted_.mapInArrow(partial(_batches, all_rows=all_rows), some.schema)


# Spark reads from the annotations whether a function takes tables, and does not find them in a partial.
def _whole(rows: pa.Table) -> pa.Table:
    return rows


def _none(rows: pa.Table) -> pa.Table:
    return rows.slice(0, 0)


def _batches(rows: Iterable[pa.RecordBatch], all_rows: bool) -> Iterator[pa.RecordBatch]:
    for batch in rows:
        yield batch if all_rows else batch.slice(0, 0)


@click.command()
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option("--cores", default=2, show_default=True)
@click.option("--runs", default=RUNS, show_default=True)
@click.option("--per-key", "only", type=int, multiple=True, help="Of the data sets in FOLDER only these.")
def main(folder: Path, cores: int, runs: int, only: tuple[int, ...]) -> None:
    """Print, as JSON, the seconds of each plan over each data set of FOLDER; the load goes to standard error."""
    from cerify.spark.session import session

    settings = {"spark.driver.memory": "3g", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "8"}
    spark = session(f"local[{cores}]", **settings)
    found: dict[int, Taken] = {}
    for per_key in only or (*TARGETS, DENSE_ROWS):
        df, dense = spark.read.parquet(str(folder / str(per_key))), per_key == DENSE_ROWS
        plans: dict[str, Callable[[], DataFrame]] = {
            name: partial(ours, df, DENSE if dense else QUERY, name) for name in OURS
        }
        plans |= {kind: partial(identity, df, kind, dense) for kind in BASELINES}
        found[per_key] = {name: [] for name in plans}
        for run in range(runs + 1):  # the first one does not count
            for name, plan in plans.items():
                found[per_key][name] += [watched(partial(written, plan))[:2]] * (run > 0)
        click.echo(f"{cores} cores, {per_key} rows of a key, load {os.getloadavg()[0]:.1f}", err=True)
    spark.stop()
    click.echo(json.dumps(found))


if __name__ == "__main__":
    main()
