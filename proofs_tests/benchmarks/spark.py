"""The figures of Spark: a query, key by key, against the identity function through the same plan, and its memory.

Each figure is of a process of its own (`python -m proofs_tests.benchmarks.spark …`), since how many cores there are is
settled when a JVM starts. `python -m proofs_tests.benchmarks.spark generate FOLDER` writes the events alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from proofs_tests.benchmarks.figure import RUNS, Figure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS, QUICK = 50_000_000, 1_000_000
PER_KEY = 5_000  # events, so that there are 10,000 keys, and fewer of fewer events
FILES = 8
TIMES = 2  # that the whole of them is read; fewer events are read oftener
PIECE = 500_000  # events that are made at a time
QUERY = "(A ; B ; C) FILTER A.x > 990 AND B.x > 990 AND C.x > 990 WITHIN 100 EVENTS"
SHARE, CORES = 0.85, 1.8  # the targets
FOLDER = "CERIFY_SPARK_EVENTS"  # an environment variable: where the events are, or are to be kept


def spark(quick: bool) -> Iterator[Figure]:
    """Uniform and skewed keys, one core and two, and no keys but a window."""
    events = QUICK if quick else EVENTS
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(os.environ.get(FOLDER, temporary))
        walls: dict[int, float] = {}
        for name, cores in (("uniform", 2), ("uniform", 1), ("skewed", 2), ("window", 2)):
            data = folder / f"{'skewed' if name == 'skewed' else 'uniform'}-{events}"
            if not data.exists():
                generate(data, events, skewed=name == "skewed")
            runs = RUNS if quick else TIMES
            said = measured(data, name, cores, runs)
            yield from figures(name, cores, events, said)
            if name == "uniform":
                walls[cores] = median(said["ours"])
        ratio = walls[1] / walls[2]
        yield Figure(
            "spark.cores", events / walls[2], "events/s", "one core", ratio, len(said["ours"]),
            (events / walls[2], events / walls[2]), f"≥ {CORES} × that of one core", ratio >= CORES,
        )  # fmt: skip


def figures(name: str, cores: int, events: int, said: dict[str, Any]) -> Iterator[Figure]:
    """The throughput and the memory of one process's measurements."""
    rates = sorted(events / seconds for seconds in said["ours"])
    ratio = median(base / mine for mine, base in zip(said["ours"], said["identity"], strict=True))
    target = f"≥ {SHARE:.0%} of it" if name == "uniform" else None
    yield Figure(
        f"spark.{name}.{cores}", median(rates), "events/s", "identity through the same plan", ratio, len(rates),
        (rates[0], rates[-1]), target, ratio >= SHARE if target else None,
    )  # fmt: skip
    cpu = [events / seconds for seconds in said["ours_cpu"]]
    spent = median(base / mine for mine, base in zip(said["ours_cpu"], said["identity_cpu"], strict=True))
    yield Figure(
        f"spark.{name}.{cores}.cpu", median(cpu), "events/CPU s", "identity through the same plan", spent, len(cpu),
        (min(cpu), max(cpu)),
    )  # fmt: skip
    peak = said["peak"] / 2**20
    yield Figure(
        f"spark.memory.{name}.{cores}", peak, "MB", "a worker of the identity", said["peak"] / said["peak_identity"],
        1, (peak, peak),
    )  # fmt: skip


def measured(data: Path, name: str, cores: int, runs: int) -> dict[str, Any]:
    """What a process of its own measures, with `cores` cores."""
    command = [sys.executable, "-W", "ignore", "-m", "proofs_tests.benchmarks.spark", "measure"]
    done = subprocess.run(
        [*command, str(data), name, "--cores", str(cores), "--runs", str(runs)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def generate(folder: Path, events: int, skewed: bool = False, per_key: int = PER_KEY) -> None:
    """Events in Parquet: `n` is their order; `key` is uniform, or half of the events have key 0; `type`; `x`."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(7)
    all_keys = max(1, events // per_key)
    types = np.array(["A", "B", "C", "D", "E", "F", "G", "H"])
    per_file = -(-events // FILES)
    for file in range(FILES):
        first, end = file * per_file, min(events, (file + 1) * per_file)
        with pq.ParquetWriter(folder / f"{file}.parquet", _schema()) as writer:
            for begin in range(first, end, PIECE):
                n = min(PIECE, end - begin)
                keys = random.integers(0, all_keys, n)
                if skewed:
                    keys[random.random(n) < 0.5] = 0
                columns = {
                    "n": np.arange(begin, begin + n),
                    "key": keys,
                    "type": types[random.integers(0, 8, n)],
                    "x": random.integers(0, 1000, n),
                }
                writer.write_table(pa.table(columns, _schema()))


def _schema() -> pa.Schema:
    return pa.schema([("n", pa.int64()), ("key", pa.int64()), ("type", pa.string()), ("x", pa.int64())])


def identity_like(df: DataFrame, name: str) -> DataFrame:
    """The plan of the query, with a function in it that hands on its rows."""
    from pyspark.sql import functions as F

    some = df.select("key", "n", "type", "x") if name != "window" else df.select("n", "type", "x")
    if name != "window":
        return some.repartition("key").sortWithinPartitions("key", "n").mapInArrow(_same, some.schema)
    from cerify.semantics.arguments import Budget
    from cerify.spark.chunks import CHUNK, cuts_of, in_chunks
    from cerify.spark.rows import Columns
    from cerify.spark.runs import SparkQuery, reach_of_query

    columns = Columns(("n",), attributes=("x",))
    reach = reach_of_query(SparkQuery(QUERY), Budget())
    assert reach is not None
    cuts = cuts_of(some, columns, reach, int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1))
    assert cuts is not None
    chunks = in_chunks(some, columns, cuts).withColumn(CHUNK, F.col(CHUNK).cast("long"))
    return chunks.mapInArrow(_same, chunks.schema)


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows are read; no more of them is handed on than there are matches, so that nothing else is measured."""
    for batch in batches:
        yield batch.slice(0, batch.num_rows // 10_000)


def ours(df: DataFrame, name: str) -> DataFrame:
    """The matches."""
    from cerify.spark.batch import match

    return match(df, QUERY, order_by="n", partition_by=None if name == "window" else "key")


@click.group()
def main() -> None:
    """Make the events, or measure one data set."""


@main.command("generate")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--events", default=EVENTS, show_default=True)
@click.option("--skewed", is_flag=True, help="Half of the events have one key.")
@click.option("--per-key", default=PER_KEY, show_default=True, help="Events of a key, on average.")
def generate_command(folder: Path, events: int, skewed: bool, per_key: int) -> None:
    """Write the events into FOLDER, which must not be there yet."""
    generate(folder, events, skewed, per_key)


@main.command("measure")
@click.argument("data", type=click.Path(exists=True, path_type=Path))
@click.argument("name", type=click.Choice(["uniform", "skewed", "window"]))
@click.option("--cores", default=2, show_default=True)
@click.option("--runs", default=RUNS, show_default=True)
def measure(data: Path, name: str, cores: int, runs: int) -> None:
    """Print, as JSON, the seconds of the query and of the identity, interleaved, and the memory of the workers."""
    from cerify.spark.session import session

    settings = {"spark.driver.memory": "3g", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "8"}
    spark = session(f"local[{cores}]", **settings)
    try:
        click.echo(json.dumps(timed(spark, data, name, runs)))
    finally:
        spark.stop()


def timed(spark: SparkSession, data: Path, name: str, runs: int) -> dict[str, Any]:
    """Seconds and peaks; one run of each over a part of the data goes before and does not count."""
    df, part = spark.read.parquet(str(data)), spark.read.parquet(str(data / "0.parquet"))
    said: dict[str, Any] = {"ours": [], "identity": [], "ours_cpu": [], "identity_cpu": []}
    said |= {"peak": 0, "peak_identity": 0}
    for run in range(runs + 1):
        for what, peak, plan in (("identity", "peak_identity", identity_like), ("ours", "peak", ours)):
            seconds, cpu, most = watched(partial(written, partial(plan, df if run else part, name)))
            if run:
                said[what].append(seconds)
                said[f"{what}_cpu"].append(cpu)
                said[peak] = max(said[peak], most)
    return said


def written(plan: Callable[[], DataFrame]) -> None:
    """Make the plan, with all it does beforehand, and run it to the end; what comes out is dropped."""
    plan().write.format("noop").mode("overwrite").save()


def watched(work: Callable[[], object]) -> tuple[float, float, int]:
    """The seconds of some work, those of the CPU, and the most memory that one of Spark's workers had meanwhile."""
    peak, done, before = 0, threading.Event(), dict(_cpu())
    after: dict[tuple[int, float], float] = {}

    def look() -> None:
        nonlocal peak
        after.update(_cpu())
        peak = max([peak, *_workers()])

    def watch() -> None:
        while not done.wait(0.2):
            look()

    thread = threading.Thread(target=watch)
    thread.start()
    started = time.perf_counter()
    try:
        work()
        seconds = time.perf_counter() - started
        look()
        return seconds, sum(spent - before.get(process, 0.0) for process, spent in after.items()), peak
    finally:
        done.set()
        thread.join()


def _cpu() -> Iterator[tuple[tuple[int, float], float]]:
    """The CPU seconds of this process and of each that it has begun: the JVM and Python's workers.

    A worker that Spark ends after a minute of idleness takes its seconds with it, so they are looked up all the time.
    """
    here = psutil.Process()
    for process in (here, *here.children(recursive=True)):
        try:
            yield (process.pid, process.create_time()), sum(process.cpu_times()[:2])
        except psutil.Error:  # it has ended
            continue


def _workers() -> Iterator[int]:
    """The memory of each process of Python that Spark has begun."""
    for process in psutil.Process().children(recursive=True):
        try:
            if "pyspark" in " ".join(process.cmdline()) and "python" in process.name():
                yield process.memory_info().rss
        except psutil.Error:  # it has ended
            continue


if __name__ == "__main__":
    main()
