"""Figures of funnels: ten steps by user, from a file of Parquet to the counts.

They are held against reading the file alone, and against windowFunnel of ClickHouse, on one thread each, where
`cerify conform --engine clickhouse` has installed it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cerify import funnel
from cerify.conformance.engines import PACKAGE_ADAPTERS, cache_folder
from cerify.equivalence.rewrite.translate_funnels import funnel_sql
from cerify.semantics.files import read_stream
from cerify.semantics.funnel_queries import make_funnel_question
from proofs_tests.benchmarks.figure import RUNS, Figure, cpu_seconds

STEPS = tuple(f"step{i}" for i in range(10))
TARGET = 6e6
FASTER = 5  # times ClickHouse
MOST_MB = 500
CLICKHOUSE = """
import sys, time, chdb
connection = chdb.connect(":memory:")
for _ in sys.stdin:
    started = time.process_time()
    connection.query(sys.argv[1])
    print(time.process_time() - started, flush=True)
"""
MEMORY = """
import sys, pyarrow
from cerify import funnel
def peak():  # ru_maxrss would begin with that of the process which has started this one
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
pyarrow.set_cpu_count(1)
_ = funnel(pyarrow.table({"type": ["a"], "user": [1], "time": [0]}), ["a"], by="user", within="7 days").counts
before = peak()
_ = funnel(sys.argv[1], sys.argv[2:], by="user", within="7 days").counts
print(peak() - before)
"""


def shop(events: int, users: int) -> pa.Table:
    """Events of twelve types, ten of which are steps, of random users within 30 days, in the order of time."""
    random = np.random.default_rng(1)
    names = pa.array([*STEPS, "home", "help"])
    types = pa.DictionaryArray.from_arrays(pa.array(random.integers(0, len(names), events), pa.int8()), names)
    seconds = np.sort(random.integers(0, 30 * 86400, events))
    return pa.table(
        {
            "type": types.cast(pa.string()),
            "user": random.integers(0, users, events),
            "time": pa.array(1_700_000_000_000_000 + seconds * 1_000_000, pa.timestamp("us", tz="UTC")),
        }
    )


def funnels(quick: bool) -> Iterator[Figure]:
    """The best chain within a week, of a million or ten million events, beside ClickHouse where it is installed."""
    python = PACKAGE_ADAPTERS["clickhouse"].environment("clickhouse", cache_folder(os.environ)) / "bin/python"
    events = 1_000_000 if quick else 10_000_000
    pa.set_cpu_count(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.parquet"
        pq.write_table(shop(events, events // 10), path)
        works: dict[str, Callable[[], float]] = {
            "best": lambda: cpu_seconds(lambda: funnel(path, STEPS, by="user", within="7 days").counts),
            "reading the file": lambda: cpu_seconds(lambda: read_stream(path, attributes={"user", "time"})),
        }
        with ExitStack() as running:
            if python.exists():
                for mode in ("", "strict_once"):
                    theirs = running.enter_context(_clickhouse(str(python), path, mode))
                    works[f"windowFunnel{mode and ', '}{mode}"] = partial(_ask, theirs)
            rounds = [{name: work() for name, work in works.items()} for _ in range(RUNS + 1)][1:]  # the first compiles
        rates = sorted(events / seconds["best"] for seconds in rounds)
        for other in (name for name in works if name != "best"):
            ratio = median(seconds[other] / seconds["best"] for seconds in rounds)
            by_reading = other == "reading the file"
            target = f"{TARGET / 1e6:g} M events/s" if by_reading else f"{FASTER} x windowFunnel"
            met = median(rates) >= TARGET if by_reading else ratio >= FASTER
            name = "funnels.best" if by_reading else f"funnels.best.{other.split(', ')[-1]}"
            spread = rates[0], rates[-1]
            yield Figure(name, median(rates), "events/s", other, ratio, RUNS, spread, target, met)
        ran = subprocess.run([sys.executable, "-c", MEMORY, path, *STEPS], capture_output=True, text=True, check=True)
        used, size = float(ran.stdout), path.stat().st_size / 2**20
        target = f"{MOST_MB} MB"
        yield Figure("funnels.memory", used, "MB", "the file", used / size, 1, (used, used), target, used <= MOST_MB)


def funnels_spark(quick: bool) -> Iterator[Figure]:
    """The SQL of a translated funnel of three steps on Spark, beside window functions as an analyst writes them."""
    from cerify.spark.session import session
    from proofs_tests.benchmarks.spark import watched

    events, steps = 200_000 if quick else 1_000_000, STEPS[:3]
    question = make_funnel_question(steps, by="user", within="7 days")
    over = "OVER (PARTITION BY user ORDER BY time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(shop(events, events // 10), Path(folder) / "shop.parquet")
        spark = session("local[1]", **{"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "4"})
        spark.read.parquet(folder).createOrReplaceTempView("events")
        by_hand = f"""
            SELECT user, COUNT(DISTINCT reached) AS level FROM (
                SELECT user, CASE WHEN type = 'step0' THEN 1 WHEN time - first_2 <= INTERVAL 7 DAYS THEN 2
                    WHEN time - MAX(IF(time - first_2 <= INTERVAL 7 DAYS, first_2, NULL)) {over} <= INTERVAL 7 DAYS
                        AND type = 'step2' THEN 3 END AS reached
                FROM (
                    SELECT user, type, time,
                        IF(type = 'step1', MAX(IF(type = 'step0', time, NULL)) {over}, NULL) AS first_2
                    FROM events WHERE type IN ('step0', 'step1', 'step2')))
            GROUP BY user"""
        queries = [funnel_sql(question, "spark").query, by_hand]

        def levels(query: str) -> list[tuple[int, int]]:
            return sorted(map(tuple, spark.sql(f"SELECT level, COUNT(*) FROM ({query}) GROUP BY level").collect()))

        assert levels(queries[0]) == levels(queries[1])
        pairs = [[watched(partial(levels, query))[1] for query in queries] for _ in range(RUNS + 1)][1:]
        spark.stop()
    rates = sorted(events / ours for ours, _ in pairs)
    ratio, against = median(base / ours for ours, base in pairs), "window functions by hand"
    spread, most = (rates[0], rates[-1]), 1.3
    yield Figure(
        "funnels-spark.sql",
        median(rates),
        "events/CPU s",
        against,
        ratio,
        RUNS,
        spread,
        "1.3 x as long",
        ratio >= 1 / most,
    )


@contextmanager
def _clickhouse(python: str, path: Path, mode: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process that answers each line by the CPU seconds that windowFunnel takes over the file."""
    steps, modes = ", ".join(f"type = '{step}'" for step in STEPS), f", '{mode}'" if mode else ""
    query = f"""
        SELECT level, count() FROM (
            SELECT user, windowFunnel(604800{modes})(toDateTime(time), {steps}) AS level
            FROM file('{path}', Parquet, 'type String, user Int64, time DateTime64(6)') GROUP BY user
        ) GROUP BY level SETTINGS max_threads = 1, max_download_threads = 1, max_parsing_threads = 1"""
    with subprocess.Popen(
        [python, "-c", CLICKHOUSE, query], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as theirs:
        yield theirs
        assert theirs.stdin is not None
        theirs.stdin.close()


def _ask(theirs: subprocess.Popen[str]) -> float:
    assert theirs.stdin is not None
    assert theirs.stdout is not None
    theirs.stdin.write("\n")
    theirs.stdin.flush()
    return float(theirs.stdout.readline())
