"""Figures of MATCH_RECOGNIZE on Spark, against functions that hand on the rows of their group as they are."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import pyarrow as pa

from proofs_tests.benchmarks.figure import Figure
from proofs_tests.benchmarks.spark import QUICK, generate, watched, written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RUNS = 3
SHARE = 0.6  # the target, at 1,000 rows in a partition
CLAUSE = (
    "MATCH_RECOGNIZE (PARTITION BY key ORDER BY n MEASURES FIRST(DOWN.n) AS falls, LAST(UP.x) AS top, COUNT(*) AS rows "
    "{} PATTERN (STRT DOWN+ UP+) DEFINE DOWN AS x < PREV(x), UP AS x > PREV(x))"
)
CLOCKS = {"": "rows/s", ".cpu": "rows/CPU s"}  # by the wall, and of the JVM and Python's workers together
ROWS_PER_MATCH = {"": "", "all.": "ALL ROWS PER MATCH WITH UNMATCHED ROWS"}
BASELINES = {"groupBy.applyInArrow of the identity": "group", "the identity through the same plan": "plan"}


def recognize(quick: bool) -> Iterator[Figure]:
    """One row for each match, and all rows, with partitions of some hundred, thousand and ten thousand rows."""
    from cerify.spark.session import session

    events = QUICK if quick else 10 * QUICK
    settings = {"spark.driver.memory": "3g", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "8"}
    spark = session("local[2]", **settings)
    try:
        for rows in (100, 1_000, 10_000):
            with tempfile.TemporaryDirectory() as folder:
                generate(Path(folder) / "rows", events, per_key=rows)
                yield from figures(spark.read.parquet(f"{folder}/rows").select("key", "n", "x"), events, rows)
    finally:
        spark.stop()


def figures(df: DataFrame, events: int, rows: int) -> Iterator[Figure]:
    """The rows that are read in a second, in turns with both baselines; the first turn does not count."""
    plans = {name: partial(recognized, df, CLAUSE.format(text)) for name, text in ROWS_PER_MATCH.items()}
    plans |= {name: partial(identity, df, kind) for name, kind in BASELINES.items()}
    taken: dict[tuple[str, str], list[float]] = {(name, clock): [] for name in plans for clock in CLOCKS}
    for run in range(RUNS + 1):
        for name, plan in plans.items():
            for clock, seconds in zip(CLOCKS, watched(partial(written, plan)), strict=False):
                taken[name, clock] += [seconds] if run else []
    for name, clock in product(ROWS_PER_MATCH, CLOCKS):
        rates = sorted(events / mine for mine in taken[name, clock])
        for baseline, kind in BASELINES.items():
            ratio = median(base / mine for mine, base in zip(taken[name, clock], taken[baseline, clock], strict=True))
            target = f"≥ {SHARE:.0%} of it" if (kind, rows) == ("group", 1_000) else None
            yield Figure(
                f"recognize.{name}{kind}.{rows}{clock}", median(rates), CLOCKS[clock], baseline, ratio, RUNS,
                (rates[0], rates[-1]), target, ratio >= SHARE if target else None,
            )  # fmt: skip


def recognized(df: DataFrame, clause: str) -> DataFrame:
    """The output table."""
    from cerify.spark import match_recognize

    return match_recognize(df, clause)


def identity(df: DataFrame, kind: str) -> DataFrame:
    """The rows, group by group, or in batches that are grouped and sorted as for the clause."""
    if kind == "group":
        return df.groupBy("key").applyInArrow(_group, df.schema)
    return df.repartition("key").sortWithinPartitions("key", "n").mapInArrow(_batches, df.schema)


def _group(rows: pa.Table) -> pa.Table:
    return rows


def _batches(rows: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    yield from rows
