"""Streams on Spark whose driver is killed in mid-stream: `python -m proofs_tests.campaigns.spark_streaming`.

Each query, with some sets of rows in disorder, is a streaming query of its own, with one file of rows for each batch.
Some of them share a driver, which is killed, with its JVM and workers, and started again; in its last life one Python
worker is killed. In the end the files written are held against the local evaluator.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq

from cerify.semantics.events import TIME, TYPE
from cerify.semantics.values import show_time
from cerify.spark.runs import SparkQuery
from proofs_tests.integration.spark.disorder import (
    DELAY,
    SCHEMA,
    Pair,
    Row,
    expected,
    found_in,
    pair,
    punctual_and_late,
    watermarks,
)  # fmt: skip

SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.sql.streaming.metricsEnabled": "false",
}
MASTER = "local[2,4]"  # a task may fail three times, as on a cluster
AT_ONCE = 6  # streams of a driver
SETS = 8  # of data, with one query; each has keys of its own in the stream, so that it makes pairs
BATCHES = 5  # of a stream: between two kills each stream is to get on, and then to its end
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LIVES = 9  # drivers beyond those that are killed; on a busy machine Spark may give up by itself
FLIGHTS = "((Cancellation ; Departure) FILTER Departure[x > 60]) WITHIN 10 minutes"


def write(folder: Path, its: Pair) -> None:
    """The rows as files, one for each batch, and the query."""
    (folder / "in").mkdir(parents=True)
    said = {"query": its.query.to_json()}
    (folder / "said.json").write_text(json.dumps(said), encoding="utf-8")
    batches = [batch for batch in its.batches if batch]
    for i, batch in enumerate(batches):
        file = folder / "in" / f"{i:04}.parquet"
        pq.write_table(pa.Table.from_pylist(list(batch), SCHEMA), file)
        os.utime(file, (i + 1, i + 1))  # Spark reads the oldest first


def committed(folder: Path) -> int:
    """How many batches of a stream are done."""
    return sum(file.name.isdigit() for file in (folder / "checkpoint" / "commits").glob("*"))


def run(folders: Sequence[Path]) -> None:
    """A driver: all streams at a time, until there is nothing more to read; then what they have written."""
    from cerify.spark.session import session
    from cerify.spark.streaming import late, match_rest, match_stream, matches, supervised

    spark = session(MASTER, **SETTINGS)
    spark.sparkContext.setLogLevel("OFF")
    streams, starts = {}, []
    for folder in folders:
        query = SparkQuery.from_json(json.loads((folder / "said.json").read_text(encoding="utf-8"))["query"])
        rows = spark.readStream.schema(spark.read.parquet(str(folder / "in")).schema)
        df = rows.option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
        told = {"event_time": TIME, "partition_by": "k", "id_col": "id"}
        told |= {"language": query.language, "output": query.output}
        answer = match_stream(df, query.text, watermark=f"{int(DELAY.total_seconds())} seconds", **told)
        writer = answer.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
        streams[folder] = query, df, told
        starts.append(partial(writer.trigger(availableNow=True).start, str(folder / "out")))
    with ThreadPoolExecutor(len(starts)) as threads:  # on a busy machine Spark gives up on a worker after ten seconds
        list(threads.map(partial(supervised, attempts=20, pause=1.0), starts))
    for folder, (query, df, told) in streams.items():
        answer = spark.read.parquet(str(folder / "out"))
        left = match_rest(df, query.text, checkpoint=str(folder / "checkpoint"), **told)
        result = {
            "matches": [row.asDict(True) for row in matches(answer).collect()],
            "late": [row["id"] for row in late(answer).select("id").collect()],
            "rest": [row.asDict(True) for row in matches(left).collect()],
        }
        (folder / "result.json").write_text(json.dumps(result, default=show_time), encoding="utf-8")
    spark.stop()


def drive(folders: Sequence[Path]) -> None:
    """Run a driver, and print a line for each stream that is read; of an error one line, with status 2."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from cerify.semantics.errors import CerifyError
    from cerify.spark.transport import error_line

    try:
        run(folders)
        click.echo("".join(f"{folder.name}: read\n" for folder in folders), nl=False)
    except (CerifyError, OSError, PySparkException, Py4JError) as error:
        click.echo(error_line(error), err=True)
        sys.exit(2)


def killed(folders: Sequence[Path], kills: int, rng: Random) -> Counter[str]:
    """Drivers, one after the other, until all is said; `kills` of them are killed in mid-stream. Counts what was."""
    counts: Counter[str] = Counter()
    last = {folder: sum(1 for _ in (folder / "in").iterdir()) for folder in folders}
    for life in range(kills + LIVES):
        if all((folder / "result.json").exists() for folder in folders):
            break
        goal = {folder: min(committed(folder) + 1, last[folder]) for folder in folders}
        driver = subprocess.Popen(
            [sys.executable, "-m", "proofs_tests.campaigns.spark_streaming", "--run", *map(str, folders)],
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=(folders[0] / f"driver{life}.log").open("w"),
        )
        try:
            wait_for(driver, lambda goal=goal: all(committed(f) >= n for f, n in goal.items()))
            if driver.poll() is None and counts["drivers"] < kills:
                time.sleep(rng.random())
                counts["streams in mid-stream"] += sum(committed(f) < last[f] for f in folders)
                counts["drivers"] += 1
            else:
                counts["workers"] += kill_worker(driver)
                wait_for(driver, lambda: False)
                counts["failed by themselves"] += driver.poll() != 0
        finally:
            kill_all(driver)
    return +counts


def wait_for(driver: subprocess.Popen[bytes], done: Any) -> None:
    """Until it is done, or the driver has ended by itself."""
    while driver.poll() is None and not done():
        time.sleep(0.1)


def kill_worker(driver: subprocess.Popen[bytes]) -> int:
    """Kill one of the driver's Python workers while it works; how many were."""
    while driver.poll() is None:
        workers = [pid for pid, parent in below(driver.pid) if is_daemon(pid) and is_daemon(parent)]
        if workers:
            with suppress(ProcessLookupError):
                os.kill(workers[-1], signal.SIGKILL)
                return 1
        time.sleep(0.05)
    return 0


def kill_all(driver: subprocess.Popen[bytes]) -> None:
    """Kill the driver with all that it has started."""
    for pid in [driver.pid, *(pid for pid, _ in below(driver.pid))]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    driver.wait()


def below(pid: int) -> list[tuple[int, int]]:
    """The processes that a process has started, and those that they have, each with its parent."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found, pending = [], [pid]
    while pending:
        parent = pending.pop()
        for child in [child for child, its in parents.items() if its == parent]:
            found.append((child, parent))
            pending.append(child)
    return found


def is_daemon(pid: int) -> bool:
    """Whether a process is one of Python that Spark has started."""
    try:
        return b"pyspark.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def as_read(folder: Path, its: Pair) -> tuple[list[list[Row]], list[datetime | None]]:
    """The rows in the batches in which Spark has read them, and the watermark of each and of the end, by Spark's log.

    If a driver is killed after it has noted a file and before it has noted the batch, the next one takes two files. If
    it is killed after the files of a batch are written and before Spark has noted that, the next one does not do the
    batch again, and the watermark does not advance by its rows.
    """
    files = [batch for batch in its.batches if batch]
    logs = sorted((folder / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda log: int(log.name))
    ends, marks = [0], list[datetime | None]()
    for log in logs:
        said = log.read_text(encoding="utf-8").splitlines()
        end, mark = json.loads(said[-1])["logOffset"] + 1, json.loads(said[1])["batchWatermarkMs"]
        if end > ends[-1]:
            marks.append(EPOCH + timedelta(milliseconds=mark) if mark else None)
            ends.append(end)
    last = json.loads((folder / "checkpoint" / "commits" / logs[-1].name).read_text(encoding="utf-8").splitlines()[-1])
    marks.append(EPOCH + timedelta(milliseconds=last["nextBatchWatermarkMs"]))
    return [[row for file in files[a:b] for row in file] for a, b in pairwise(ends)], marks


def differences(folder: Path, its: Pair) -> Iterator[str]:
    """What is not as the local evaluator has it."""
    if not (folder / "result.json").exists():
        logs = sorted(folder.parent.glob("*/driver*.log"))
        yield f"no result; {logs[-1].read_text(encoding='utf-8')[-2000:] if logs else ''}"
        return
    batches, marks = as_read(folder, its)
    if sum(map(len, batches)) != sum(map(len, its.batches)):
        yield "not all rows have been read"
        return
    if any(
        mark is not None and (due is None or mark > due) for mark, due in zip(marks, watermarks(batches), strict=True)
    ):
        yield "a watermark is beyond that of the rows before it"
    last = marks[-1]
    in_time, too_late = punctual_and_late(batches, marks)
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert last is not None
    said, left = found_in(result["matches"]), found_in(result["rest"])
    all_found = expected(its.query, in_time, timedelta.max)
    for name, mine, other in (
        ("matches", said, expected(its.query, in_time, last)),
        ("late rows", sorted(result["late"]), sorted(row["id"] for row in too_late)),
        ("matches with the rest", sorted(said + left, key=repr), all_found),
    ):
        lost, more = Counter(other) - Counter(mine), Counter(mine) - Counter(other)
        if lost or more:
            yield f"{name}: {sum(lost.values())} lost, {sum(more.values())} too many, as {[*lost, *more][0]}"


def flights(events: int) -> Pair:
    """Flights by their airport, nearly in order; x is how late they left."""
    from cerify.examples.flights import load

    rng = Random(1)
    rows: list[Row] = []
    for i, row in enumerate(load().slice(50_000, events).to_pylist()):
        said = {"k": row["origin"], "time": row[TIME], "type": row[TYPE], "id": f"e{i:06}"}
        rows.append(said | {"x": row["dep_delay"]})
    order = sorted(range(len(rows)), key=lambda i: rows[i]["time"] + timedelta(seconds=rng.random() * 7))
    rows = [rows[i] for i in order]
    size = -(-len(rows) // BATCHES)
    return Pair(SparkQuery(FLIGHTS), [rows[start : start + size] for start in range(0, len(rows), size)])


@click.command()
@click.option("--pairs", default=200, show_default=True, help="How many generated ones.")
@click.option("--kills", default=3, show_default=True, help="How often a driver is killed.")
@click.option("--flights", "flown", default=20_000, show_default=True, help="Events of the flights data; 0 for none.")
@click.option("--seed", default=1, show_default=True)
@click.option("--batches", default=BATCHES, show_default=True, help="Of a stream; a kill in mid-stream needs one.")
@click.option("--at-once", default=AT_ONCE, show_default=True, help="Streams of a driver.")
@click.option("--run", "driven", is_flag=True, hidden=True)
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path))
def main(
    pairs: int,
    kills: int,
    flown: int,
    seed: int,
    batches: int,
    at_once: int,
    driven: bool,
    folders: Sequence[Path],
) -> None:
    """A line for each driver's streams; status 1 if anything differs."""
    if driven:
        drive(folders)
        return
    its = [pair(Random(f"{seed}/{i}"), events=60, batches=batches, sets=SETS) for i in range(-(-pairs // SETS))]
    its += [flights(flown)] if flown else []
    differ, counts, found = 0, Counter[str](), 0
    with tempfile.TemporaryDirectory() as place:
        for start in range(0, len(its), at_once):
            some = {Path(place) / str(i): its[i] for i in range(start, min(start + at_once, len(its)))}
            for folder, each in some.items():
                write(folder, each)
            counts += killed(list(some), kills, Random(seed + start))
            for folder, each in some.items():
                for said in differences(folder, each):
                    differ += 1
                    click.echo(f"DIFFERS {folder.name} {each.query.text}: {said}")
                found += len(expected(each.query, punctual_and_late(*as_read(folder, each))[0], timedelta.max))
            click.echo(
                f"{start + len(some)}/{len(its)} streams, {found:,} matches, {differ} differences, {dict(counts)}"
            )
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
