"""Differential testing as a Spark job: workers judge ranges of cases, and write their verdicts as Parquet.

The folder lists the ranges that are done, so that an interrupted campaign resumes: only unfinished ranges are judged
again. A worker that dies fails Spark's job, not the campaign: the remaining ranges are submitted again; see
fuzzing/limits.py.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import SparkSession

from cerify.conformance.campaign_plan import Job
from cerify.semantics.errors import InputError
from cerify.spark.fuzzing.files import Folder
from cerify.spark.fuzzing.range import Work
from cerify.spark.fuzzing.shrink import shrink_sample

RANGE = 1000  # cases that a task is given
DEATHS = 50  # of workers, in one call
POLL = 0.5  # seconds between two calls of progress
DONE_SQL = "begin long, end long, ended string"  # the rows that Work yields
NOT_EVEN = "exited unexpectedly"

Range = tuple[int, int]
Progress = Callable[[int], None]
"""A function that is called with the number of cases done."""


@dataclass(frozen=True)
class Ran:
    """A call of campaign: the cases done before and by it, its seconds, dead workers, and why it stopped early."""

    before: int
    cases: int
    seconds: float
    deaths: int
    ended: str | None


def campaign(
    job: Job,
    cases: int,
    path: Path,
    session: Callable[[], SparkSession],
    *,
    first: int = 0,
    size: int = RANGE,
    progress: Progress = lambda done: None,
) -> Ran:
    """Judge the `cases` cases from `first` on that the folder does not have, and shrink a sample of the disagreements.

    session is called only if a case is left. size: the cases of a range, if the folder is new. Raises InputError.
    """
    begun, folder = time.monotonic(), Folder(path)
    with folder.opened(job, size) as size:
        run, ended, deaths = uuid.uuid4().hex[:12], None, 0
        before = _cases(folder)
        while ended is None and (left := missing(folder.done(), first, first + cases, size)):
            try:
                work = Work(job.text(), str(path.absolute()), run, tuple(left))
                ended = _run_ranges(session(), work, lambda: progress(_cases(folder)))
            except (PySparkException, Py4JError) as error:
                deaths += 1
                if isinstance(error, PythonException) and NOT_EVEN not in str(error):
                    raise
                if deaths > DEATHS:
                    raise InputError(
                        f"{deaths} workers have died, which is too many; {folder.begun} has their last cases"
                    ) from error
        progress(_cases(folder))
        done = _cases(folder)
        if done > before or not (path / "shrunk.parquet").exists():
            shrink_sample(job, folder)
        return Ran(before, done - before, time.monotonic() - begun, deaths, ended)


def missing(done: set[Range], begin: int, end: int, size: int) -> list[Range]:
    """The ranges from begin to end that are not done, cut at the multiples of the size."""
    ends = dict(sorted(done))
    found, at = [], begin
    while at < end:
        if at in ends:
            at = ends[at]
        else:
            until = min(end, at - at % size + size, *(b for b in ends if b > at), end)
            found.append((at, until))
            at = until
    return found


def _run_ranges(spark: SparkSession, work: Work, look: Callable[[], None]) -> str | None:
    """Judge the ranges on workers, a task for each; the reason why the campaign has to stop, or None."""
    tasks = spark.range(0, len(work.ranges), 1, len(work.ranges)).mapInArrow(work, DONE_SQL)

    def collected() -> str | None:
        spark.addTag(work.run)
        try:
            return next((row["ended"] for row in tasks.collect() if row["ended"] is not None), None)
        finally:
            spark.removeTag(work.run)

    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(collected)
        try:
            while not wait([result], POLL).done:
                look()
        except BaseException:
            spark.interruptTag(work.run)
            raise
        return result.result()


def _cases(folder: Folder) -> int:
    return sum(end - begin for begin, end in folder.done())
