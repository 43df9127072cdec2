"""Differential testing as a Spark job: workers judge ranges of cases, and write their verdicts as Parquet.

The folder lists the finished ranges, so an interrupted campaign resumes with the others. If a worker dies, Spark's job
fails, but not the campaign: the remaining ranges are submitted again.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import json
import os
import re
import signal
import threading
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from types import FrameType
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from markupsafe import Markup
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import SparkSession

from cerify.automata.evaluate.core import share_compiled
from cerify.conformance.campaigns import EngineEvaluator, Job, PlanShare, asked_of
from cerify.conformance.harness import Engine, Limits
from cerify.conformance.model import CONTRADICTION, FUZZED_OUTCOMES, Case, CaseResult, difference, format_matches
from cerify.conformance.report import columns_of, rows_of
from cerify.draw.diagram import page
from cerify.draw.timeline import timeline
from cerify.equivalence.differential import (
    Answer,
    Disagreement,
    Evaluator,
    GiveUp,
    NoAnswer,
    Outcome,
    Output,
    Query,
    Verdict,
    cause,
    judge,
    shrunk,
)
from cerify.languages import language_named
from cerify.protocol import matches_of_json
from cerify.semantics.errors import BudgetExceeded, CerifyError, InputError
from cerify.semantics.events import Match, Stream
from cerify.semantics.files import locked
from cerify.semantics.json_events import json_of_event, json_of_schema
from cerify.terminal import picked

# ---------------------------------------------------------------------------------------------------------------------
# The folder of a campaign: its files, how a range of cases is committed, and how the results are read.
#
#     plan.parquet                                     one row: the plan, and the size of a range
#     ranges/<begin>-<end>.parquet                     the number of cases by outcome; written last of a range's files
#     verdicts/outcome=…/<begin>-<end>.parquet         every case that disagrees or is over a budget, in full
#     shrunk.parquet                                   a sample of the disagreements, shrunk
#     begun/                                           notes of running workers
#     lock                                             locked by the process that runs the campaign
#
# A file is written under a temporary name and renamed, and its name has the numbers of its cases: a range that is
# judged again replaces its files, so no case is stored twice. The folder must be visible to all workers.

Row = Mapping[str, Any]

COUNTS = pa.schema(
    {
        "begin": pa.int64(),
        "end": pa.int64(),
        "language": pa.string(),
        "profile": pa.string(),
        "evaluator": pa.string(),  # null: the case as a whole
        "output": pa.string(),
        "outcome": pa.string(),
        "reason": pa.string(),  # why an evaluator does not support a query
        "cases": pa.int64(),
        "seconds": pa.float64(),
    }
)
VERDICTS = pa.schema(
    {
        "case": pa.int64(),
        "seed": pa.int64(),
        "language": pa.string(),
        "profile": pa.string(),
        "query": pa.string(),
        "stream": pa.string(),  # JSON: schema, events
        "output": pa.string(),
        "evaluator": pa.string(),
        "detail": pa.string(),
        "expected": pa.string(),  # JSON: the matches, or a failure as text
        "got": pa.string(),
        "seconds": pa.float64(),
        "cause": pa.string(),
    }
)
SHRUNK = pa.schema([*VERDICTS, pa.field("found", pa.string()), pa.field("note", pa.string())])  # found: the query
PLAN = pa.schema({"plan": pa.string(), "range": pa.int64()})
LOCK = "lock"
OTHERS = re.compile(r"(?!lock$|begun$|\.plan\.parquet\.).*").fullmatch
"""Matches the name of a file that beginning a campaign does not make, so that it was in the folder before."""
NAME = re.compile(r"(\d+)-(\d+)\.parquet")


@dataclass(frozen=True)
class Folder:
    """The folder in which a campaign on Spark keeps its plan, its finished ranges of cases, and its report."""

    path: Path

    @property
    def begun(self) -> Path:
        """Return the subfolder with the notes of workers on unfinished ranges."""
        return self.path / "begun"

    @property
    def page(self) -> Path:
        """Return the path of the HTML report."""
        return self.path / "report.html"

    @contextmanager
    def opened(self, job: Job, size: int) -> Iterator[int]:
        """Begin a campaign in a new folder, or resume one with the same plan; return the size of the ranges.

        Raises InputError if another process has the folder open, if it belongs to another campaign, or if it cannot be
        used.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot use the folder {self.path}: {error}") from None
        if any(OTHERS(path.name) for path in self.path.iterdir()) and not (self.path / "plan.parquet").exists():
            raise InputError(f"{self.path} is neither empty nor a folder of a campaign; give a new one")
        with locked(self.path / LOCK):
            try:
                yield self._begun(job, size)
            except OSError as error:
                raise InputError(f"cannot use the folder {self.path}: {error}") from None

    def _begun(self, job: Job, size: int) -> int:
        """Remove the files left by a killed call; return the size of the ranges."""
        self.begun.mkdir(exist_ok=True)
        if not (self.path / "plan.parquet").exists():
            write([{"plan": job.text(), "range": size}], PLAN, self.path / "plan.parquet")
        known, size = self.plan()
        if known != job:
            raise InputError(f"{self.path} belongs to another campaign: {_differ(known, job)}")
        self._drop_unfinished()
        return size

    def plan(self) -> tuple[Job, int]:
        """Return the job, and the size of a range. Raises InputError."""
        try:
            row = pq.read_table(self.path / "plan.parquet", schema=PLAN).to_pylist()[0]
            return Job.of_text(row["plan"]), row["range"]
        except (OSError, pa.ArrowException, IndexError, InputError) as error:
            raise InputError(f"{self.path} is not a folder of a campaign: {error}") from None

    def done(self) -> set[tuple[int, int]]:
        """Return the finished ranges."""
        return {_range(path) for path in (self.path / "ranges").glob("*.parquet")}

    def commit(self, begin: int, end: int, counts: Iterable[Row], verdicts: Mapping[str, Sequence[Row]]) -> None:
        """Write the results of a range of cases: counts and verdicts. Writing the last file marks the range as
        finished.
        """
        for outcome, rows in verdicts.items():
            write(rows, VERDICTS, self.path / "verdicts" / f"outcome={outcome}" / _name(begin, end))
        write(counts, COUNTS, self.path / "ranges" / _name(begin, end))

    def counts(self) -> pa.Table:
        """Return the numbers of cases and seconds of all finished ranges, as a table with the schema COUNTS."""
        files = [self.path / "ranges" / _name(*ends) for ends in sorted(self.done())]
        return pa.concat_tables([COUNTS.empty_table(), *(pq.ParquetFile(file).read() for file in files)])

    def verdicts(self, outcome: str, columns: Sequence[str] = VERDICTS.names) -> pa.Table:
        """Return the stored cases with this outcome, of all finished ranges, in order."""
        folder, tables = self.path / "verdicts" / f"outcome={outcome}", []
        for ends in sorted(self.done()):
            if (path := folder / _name(*ends)).exists():
                tables.append(pq.ParquetFile(path).read(list(columns)))
        empty = pa.schema([VERDICTS.field(name) for name in columns]).empty_table()
        return pa.concat_tables([empty, *tables])

    def rows(self, outcome: str, numbers: Sequence[int]) -> list[Row]:
        """Return the full rows of cases. numbers: their indices among the cases with this outcome."""
        folder = self.path / "verdicts" / f"outcome={outcome}"
        rows: dict[int, Row] = {}
        at, wanted = 0, sorted(numbers)
        for ends in sorted(self.done()):
            path = folder / _name(*ends)
            if not path.exists():
                continue
            file = pq.ParquetFile(path)
            size = file.metadata.num_rows
            if here := [number for number in wanted if at <= number < at + size]:
                table = file.read()
                rows.update((number, table.slice(number - at, 1).to_pylist()[0]) for number in here)
            at += size
        return [rows[number] for number in numbers]

    def shrunk(self) -> list[Row]:
        """Return the shrunk disagreements as rows; only a sample of all disagreements is shrunk."""
        rows: list[Row] = pq.ParquetFile(self.path / "shrunk.parquet").read().to_pylist()
        return rows

    def _drop_unfinished(self) -> None:
        """Remove the files of unfinished ranges."""
        done = self.done()
        for path in (self.path / "verdicts").glob("outcome=*/*"):
            if path.suffix != ".parquet" or _range(path) not in done:
                path.unlink()


def write(rows: Iterable[Row], schema: pa.Schema, path: Path) -> None:
    """Write a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Beside the file, since a rename is atomic within one file system only; a leading dot hides it
    # from readers such as Spark.
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    pq.write_table(pa.Table.from_pylist(list(rows), schema), beside, compression="zstd")
    os.replace(beside, path)


def _name(begin: int, end: int) -> str:
    return f"{begin:012}-{end:012}.parquet"


def _range(path: Path) -> tuple[int, int]:
    found = NAME.fullmatch(path.name)
    if found is None:
        raise InputError(f"{path} is not a file of a campaign; remove it, or give another folder")
    return int(found[1]), int(found[2])


def _differ(known: Job, job: Job) -> str:
    fields = [name for name in vars(known) if name in job.__dataclass_fields__]
    name = next(name for name in fields if getattr(known, name) != getattr(job, name))
    there, here = getattr(known, name), getattr(job, name)
    return f"{name} is {there!r} there and {here!r} here; give the same plan, or a new folder"


# ---------------------------------------------------------------------------------------------------------------------
# The limits of one case in a worker: seconds and memory, and a record of workers that died in spite of them.
#
# Before an evaluator is called, its name and the number of the case are written to a file. A worker reads the file of
# a worker that died in its range; an evaluator that killed a worker twice is not called on that case again.

DEATHS = 2  # of workers in one evaluator on one case, after which it is not called
AGAIN = 0.5  # seconds after which the signal is sent again, in case it was lost where nothing can be raised
REARMED = 1.0  # seconds between two settings of the watchdog, each of which starts a thread
UNBROKEN = ("importlib", f"{os.sep}numba{os.sep}")  # an exception there would leave a half-made module or kernel
CRASHED = "crashed"  # the kind of failure


class _OutOfTime(BaseException):
    """Raised by the signal handler; a BaseException, so that no `except Exception` catches it."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise BudgetExceeded in this context after these seconds, but not inside an import or a compilation.

    Without effect in threads that receive no signals.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def end(_: int, frame: FrameType | None) -> None:
        while frame is not None:
            if any(part in frame.f_code.co_filename for part in UNBROKEN):
                return  # the signal comes again
            frame = frame.f_back
        raise _OutOfTime

    before = signal.signal(signal.SIGALRM, end)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
        yield
    except _OutOfTime:
        raise BudgetExceeded(f"no answer within {seconds:g} s") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def limited_memory(mebibytes: int | None) -> Iterator[None]:
    """Limit, in this context, the additional memory of this process, if the system supports that; None for no limit."""
    try:
        import resource
    except ImportError:
        mebibytes = None
    if mebibytes is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    # Beyond what the process has now: its address space already includes imports and compiled code.
    most = psutil.Process().memory_info().vms + mebibytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


class Notes:
    """The notes of a worker on the range that it judges, from which deaths of workers are detected; a context manager.

    A finished range has no notes. run: a name for this call of the campaign; deaths of workers in other calls do not
    count. watched: the seconds after which the worker exits if a case exceeds its time limit.
    """

    def __init__(self, path: Path, run: str, watched: float) -> None:
        self._path, self._died, self._trace = path, path.with_suffix(".died"), path.with_suffix(".trace")
        self._run, self._watched, self._armed = run, watched, 0.0
        self.deaths: Counter[tuple[int, str]] = Counter()
        self.hung: set[tuple[int, str]] = set()
        self._read_deaths()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        self._stacks = self._trace.open("w")

    def begin(self, index: int, evaluator: str) -> None:
        """Record the case and the evaluator that will be called next."""
        # Overwritten in place and padded: opening a file for each call would cost more than small cases.
        os.pwrite(self._file, json.dumps([self._run, index, evaluator]).ljust(200).encode(), 0)
        if time.monotonic() - self._armed > REARMED:
            self._armed = time.monotonic()
            # A thread in C, since a signal handler of Python does not run while an evaluator is in a compiled loop.
            faulthandler.dump_traceback_later(self._watched, exit=True, file=self._stacks)

    def end(self) -> None:
        """Remove the notes of a finished range."""
        for path in (self._path, self._died, self._trace):
            path.unlink(missing_ok=True)

    def __enter__(self) -> Notes:
        return self

    def __exit__(self, *_: object) -> None:
        faulthandler.cancel_dump_traceback_later()
        os.close(self._file)
        self._stacks.close()

    def _read_deaths(self) -> None:
        """Read the deaths of workers in this range; add the death of the worker that left notes."""
        died = self._lines(self._died)
        for run, index, evaluator in self._lines(self._path):
            hung = self._trace.exists() and self._trace.stat().st_size > 0
            died.append([run, index, evaluator, hung])
        for run, index, evaluator, hung in died:
            if run == self._run:
                self.deaths[index, evaluator] += 1
                if hung:
                    self.hung.add((index, evaluator))
        if died:
            self._died.write_text("".join(json.dumps(line) + "\n" for line in died), encoding="utf-8")

    @staticmethod
    def _lines(path: Path) -> list[list[Any]]:
        """Return the notes in a file; incomplete ones are left out."""
        found = []
        with contextlib.suppress(FileNotFoundError):
            for line in path.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):
                    found.append(json.loads(line))
        return found


@dataclass
class Limited:
    """An evaluator with limits of time and memory, for the cases of one range.

    seconds: the limit for each case; None if the evaluator has its own limit. index: the number of the current case.
    """

    name: str
    evaluator: Evaluator
    notes: Notes
    seconds: float | None
    index: int = 0

    def __call__(self, phi: Query, S: Stream, output: Output) -> Collection[Match]:
        at = self.index, self.name
        if self.notes.deaths[at] >= DEATHS:
            if at in self.notes.hung:
                raise BudgetExceeded("the evaluator did not return within its limit, and its process was killed, twice")
            raise NoAnswer(f"{CRASHED}: the process of the evaluator died, twice")
        self.notes.begin(*at)
        if self.seconds is None:
            return self.evaluator(phi, S, output)
        with time_limit(self.seconds):
            try:
                return self.evaluator(phi, S, output)
            except MemoryError:
                raise BudgetExceeded("the evaluator needs more memory than it may use") from None


# ---------------------------------------------------------------------------------------------------------------------
# The work on a range of cases: generate them, judge them, and write the results to the folder.

DEFINITION = "definition"  # the name of the reference evaluator
GENERATOR = "generator"  # in place of an evaluator where no case could be generated
IN_FULL: tuple[Outcome, ...] = ("disputed", "disagreed", "budget")
"""The outcomes of which every case is stored; the others are counted only."""
WORST: tuple[Outcome, ...] = ("disputed", "disagreed", "budget", "unsupported", "matched", "empty")
WARMING = 6  # small cases of each part, evaluated before time is measured
SLACK = 30.0  # seconds of a worker beyond the limits of its evaluators


DONE = pa.schema({"begin": pa.int64(), "end": pa.int64(), "ended": pa.string()})


@dataclass(frozen=True)
class Work:
    """The work of a Spark job, as plain data for workers.

    job: the Job as text. path: the folder of the campaign. run: a name for this call of the campaign. ranges: the
    ranges of cases to judge.
    """

    job: str
    path: str
    run: str
    ranges: tuple[tuple[int, int], ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Judge the ranges whose indices the batches contain. Yield a row (schema DONE) for each range.

        Its field `ended` is the reason to stop the campaign, or null.
        """
        for batch in batches:
            for number in batch.column("id").to_pylist():
                begin, end = self.ranges[number]
                row = {"begin": begin, "end": end, "ended": self.do(begin, end)}
                yield pa.RecordBatch.from_pylist([row], schema=DONE)

    def do(self, begin: int, end: int) -> str | None:
        """Judge one range, unless it is finished; return the reason to stop the campaign, or None."""
        folder = Folder(Path(self.path))
        ended = folder.begun / f"{self.run}.ended"
        try:
            # Another worker has found a reason to stop; ranges that are not begun are then left out.
            if ended.exists():
                return ended.read_text(encoding="utf-8")
            if (begin, end) not in folder.done():  # done already if Spark took its task for lost
                self._judge(folder, begin, end)
            return None
        except (GiveUp, CerifyError, OSError) as error:
            why = error.message if isinstance(error, CerifyError) else str(error)
        with suppress(OSError):
            ended.write_text(why, encoding="utf-8")
        return why

    def _judge(self, folder: Folder, begin: int, end: int) -> None:
        job = prepared(self.job)
        watched = (len(job.evaluators) + 2) * job.seconds + (2 * job.seconds + 120 if job.engine else 0) + SLACK
        with Notes(folder.begun / f"{begin}-{end}", self.run, watched) as notes:
            with limited_memory(None if job.engine else job.memory):  # an engine would inherit the limit
                tally = judged(job, notes, begin, end)
            folder.commit(begin, end, tally.counts(begin, end), tally.kept)
            notes.end()


@cache
def prepared(text: str) -> Job:
    """Return the job, after importing and compiling its evaluators."""
    share_compiled()
    job = Job.of_text(text)
    for part in job.parts:  # so that no case is charged for imports and compilation
        small = replace(job.plans[part], nodes=2, events=2, together=1)
        for index in range(WARMING):
            phi, S = small.case(index)
            for evaluator in (job.definition(part), *job.built_in(part).values()):
                for output in asked_of(part, index):
                    with suppress(Exception):
                        evaluator(phi, S, output)
    return job


@dataclass
class Tally:
    """The results of a range of cases.

    cases, seconds: for each outcome (with language, evaluator and so on), the number of cases and their total time.
    kept: by outcome, the cases that are stored with their query and stream, such as disagreements.
    """

    cases: Counter[tuple[str | None, ...]] = field(default_factory=Counter)
    seconds: Counter[tuple[str | None, ...]] = field(default_factory=Counter)
    kept: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))

    def count(self, part: PlanShare, evaluator: str | None, output: str | None, verdict: Verdict) -> None:
        """Add the verdict on an evaluator's matches with this output; without an evaluator, on the whole case.

        part: the share of the campaign (language and profile) to which the case belongs.
        """
        reason = verdict.detail[:200] if verdict.outcome == "unsupported" and evaluator else None
        key = (part.language, part.profile, evaluator, output, verdict.outcome, reason)
        self.cases[key] += 1
        self.seconds[key] += verdict.seconds  # type: ignore[assignment]

    def counts(self, begin: int, end: int) -> list[Row]:
        """Return the rows for the table COUNTS of a range."""
        names = ("begin", "end", "language", "profile", "evaluator", "output", "outcome", "reason", "cases", "seconds")
        keys = sorted(self.cases, key=lambda key: [value or "" for value in key])
        return [dict(zip(names, (begin, end, *k, self.cases[k], self.seconds[k]), strict=True)) for k in keys]


def judged(job: Job, notes: Notes, begin: int, end: int) -> Tally:
    """Judge the cases of a range, and return the results. Raises GiveUp, InputError."""
    tally = Tally()
    evaluators = {part: _evaluators(job, part, notes) for part in job.parts}
    for index in range(begin, end):
        part, begun = job.part(index), time.perf_counter()
        try:
            outcome = _judge_one(job, index, notes, *evaluators[part], tally)
        except NotMade as error:
            outcome = "budget"
            made = Verdict("budget", time.perf_counter() - begun, str(error))
            tally.kept["budget"].append(row_of(job, index, part, None, Stream([]), None, GENERATOR, made))
        tally.count(part, None, None, Verdict(outcome, time.perf_counter() - begun))
    return tally


def _judge_one(
    job: Job, index: int, notes: Notes, definition: Limited, evaluators: Mapping[str, Limited], tally: Tally
) -> Outcome:
    """Judge one case, and return the worst outcome."""
    part, phi, S, outputs = _make_case(job, index, notes)
    for limited in (definition, *evaluators.values()):
        limited.index = index
    outcomes = set[Outcome]()
    for output in outputs:
        own, verdicts = judge(definition, evaluators, phi, S, output, job.plans[part].second_opinion)
        for name, verdict in {DEFINITION: own, **verdicts}.items():
            tally.count(part, name, output, verdict)
            outcomes.add(verdict.outcome)
            if verdict.outcome in IN_FULL and (name != DEFINITION or verdict.outcome == "budget"):
                tally.kept[verdict.outcome].append(row_of(job, index, part, phi, S, output, name, verdict))
    return next(outcome for outcome in WORST if outcome in outcomes)


class NotMade(Exception):
    """Raised if a case cannot be generated."""


def _make_case(job: Job, index: int, notes: Notes) -> tuple[PlanShare, Query, Stream, tuple[Output, ...]]:
    if notes.deaths[index, GENERATOR] >= DEATHS:
        raise NotMade("the process of its generator died, twice")
    notes.begin(index, GENERATOR)
    try:
        with time_limit(job.seconds):
            return job.case(index)
    except BudgetExceeded as error:
        raise NotMade(error.message) from None


def _evaluators(job: Job, part: PlanShare, notes: Notes) -> tuple[Limited, dict[str, Limited]]:
    """Return the reference evaluator and the evaluators under test, each within its limits."""
    found = {name: Limited(name, evaluator, notes, job.seconds) for name, evaluator in job.built_in(part).items()}
    if job.engine:
        engine = started(job.engine, job.seconds, job.memory, job.restarts)
        evaluator = EngineEvaluator(engine, language_named(part.language))
        found[name_of(engine)] = Limited(name_of(engine), evaluator, notes, None)
    return Limited(DEFINITION, job.definition(part), notes, job.seconds), found


@cache
def started(argv: tuple[str, ...], seconds: float, memory: int, restarts: int) -> Engine:
    """Return the engine under test in this process, started if needed. All tasks of the process share it.

    It is closed when the process exits.
    """
    engine = Engine(argv, Limits(run_seconds=seconds, memory=memory * 2**20, restarts=restarts))
    atexit.register(engine.close)
    for number in (signal.SIGTERM, signal.SIGHUP):  # Spark kills workers by these, and atexit does not run
        before = signal.getsignal(number)
        signal.signal(number, partial(_closed, engine, before))
    return engine


def _closed(engine: Engine, before: Any, number: int, frame: FrameType | None) -> None:
    engine.close()
    if callable(before):
        before(number, frame)
    # Not sys.exit, which raises an exception that an evaluator or the loop of the worker could catch.
    os._exit(128 + number)


def name_of(engine: Engine) -> str:
    """Return the name and version of the engine."""
    return f"{engine.info.name} {engine.info.version}"


def row_of(
    job: Job,
    index: int,
    part: PlanShare,
    phi: Query | None,
    S: Stream,
    output: Output | None,
    name: str,
    verdict: Verdict,
) -> dict[str, Any]:
    """Return a case and its verdict as a row of the table VERDICTS. The query is null if none could be generated."""
    why = None
    if (
        output is not None
        and verdict.outcome in ("disagreed", "disputed")
        and verdict.expected is not None
        and verdict.got is not None
    ):
        found = Disagreement(index, output, (phi, S), phi, S, verdict.expected, verdict.got)
        why = str(cause(found, job.plans[part].language))
    return {
        "case": index,
        "seed": job.seed,
        "language": part.language,
        "profile": part.profile,
        "query": None if phi is None else language_named(part.language).syntax.show(phi),
        "stream": stream_text(S),
        "output": output,
        "evaluator": name,
        "detail": _detail(verdict),
        "expected": _answer(verdict.expected),
        "got": _answer(verdict.got),
        "seconds": verdict.seconds,
        "cause": why,
    }


def _detail(verdict: Verdict) -> str:
    """Return the details of a verdict: a failure, the second opinion on a disputed case, or why there is no answer."""
    if verdict.second is not None:
        return f"the plain definition gives {format_matches(sorted(verdict.second), 20) or 'nothing'}"
    failed = next((given for given in (verdict.expected, verdict.got) if isinstance(given, str)), None)
    return verdict.detail if failed is None else failed


def stream_text(S: Stream) -> str:
    """Return a stream and its schema as JSON."""
    schema = None if S.schema is None else json_of_schema(S.schema)
    return json.dumps({"schema": schema, "events": [json_of_event(e) for e in S]}, ensure_ascii=False)


def _answer(answer: Answer | None) -> str | None:
    if answer is None:
        return None
    return json.dumps(answer if isinstance(answer, str) else [m.json() for m in sorted(answer)], ensure_ascii=False)


# ---------------------------------------------------------------------------------------------------------------------
# A sample of the disagreements of a campaign, shrunk on the driver.
#
# A shrunk query has no operators that the original query lacks. So of the cases of one evaluator with one cause, the
# sample first takes those whose sets of operators are minimal by inclusion; then the smallest with other operators.

SAMPLE = 5  # cases of each language, evaluator and cause
MOST = 60  # cases of the sample
NO_OPERATORS = "an event type"  # shown for a cause without operators
LOOKED = ("language", "evaluator", "cause", "query", "stream")


@dataclass(frozen=True)
class Timed:
    """An evaluator with a limit of seconds for each case."""

    evaluator: Evaluator
    seconds: float

    def __call__(self, phi: Query, S: Stream, output: Output) -> Collection[Match]:
        with time_limit(self.seconds):
            return self.evaluator(phi, S, output)


def shrink_sample(job: Job, folder: Folder) -> None:
    """Shrink a sample of the disagreements in the folder, and write it there."""
    chosen = folder.rows("disagreed", sample(folder.verdicts("disagreed", LOOKED)))
    with ExitStack() as engines:
        tested: dict[str, Evaluator] = {}

        def evaluator_of(row: Row) -> Evaluator:
            part = job.part(row["case"])
            if row["evaluator"] in job.built_in(part):
                return Timed(job.built_in(part)[row["evaluator"]], job.seconds)
            if part.language not in tested:
                limits = Limits(run_seconds=job.seconds, memory=job.memory * 2**20, restarts=job.restarts)
                engine = engines.enter_context(Engine(job.engine, limits))
                tested[part.language] = EngineEvaluator(engine, language_named(part.language))
            return tested[part.language]

        rows = [_shrunk(job, row, evaluator_of(row)) for row in chosen]
    write(rows, SHRUNK, folder.path / "shrunk.parquet")


def sample(disagreed: pa.Table) -> list[int]:
    """Choose disagreements to shrink; return the indices of their rows in the table."""
    sizes = pc.add(pc.utf8_length(disagreed["query"]), pc.utf8_length(disagreed["stream"]))
    light = disagreed.drop_columns(["query", "stream"]).append_column("size", sizes)
    groups: dict[tuple[str, ...], dict[frozenset[str], int]] = defaultdict(dict)
    rows = light.to_pylist()
    for number in sorted(range(len(rows)), key=lambda number: (rows[number]["size"], number)):
        row = rows[number]
        operators, _, shape = row["cause"].rpartition(": ")
        own = frozenset() if operators == NO_OPERATORS else frozenset(operators.split())
        groups[row["language"], row["evaluator"], shape].setdefault(own, number)
    found: list[int] = []
    for _, group in sorted(groups.items()):
        few = sorted(group, key=lambda own: (len(own), group[own]))
        first = [own for own in few if not any(other < own for other in few)]
        found += [group[own] for own in [*first, *(own for own in few if own not in first)][:SAMPLE]]
    return found[:MOST]


def _shrunk(job: Job, full: Row, evaluator: Evaluator) -> dict[str, Any]:
    """Return a disagreement as a row of SHRUNK.

    It is not shrunk if it could not be reproduced, or if its evaluator killed its process.
    """
    index, output, name = full["case"], full["output"], full["evaluator"]
    found = dict(full) | {"found": full["query"], "note": None}
    if name in job.evaluators and full["detail"].startswith(CRASHED):
        return found | {"note": "not shrunk: its process died"}
    part, phi, S, _ = job.case(index)
    plan = replace(job.plans[part], left=Timed(job.definition(part), job.seconds), right=evaluator)
    try:
        _, verdicts = judge(plan.left, {name: plan.right}, phi, S, output, plan.second_opinion)
    except GiveUp as error:
        return found | {"note": f"not shrunk: {error}"}
    verdict = verdicts.get(name)
    if verdict is None or verdict.outcome != "disagreed" or verdict.expected is None or verdict.got is None:
        return found | {"note": "not shrunk: it was not reproduced"}
    d = shrunk(plan, index, (output, verdict))
    again = replace(verdict, expected=d.left, got=d.right)
    return found | row_of(job, index, part, d.phi, d.stream, output, name, again)


RANGE = 1000  # cases that a task is given
CAMPAIGN_DEATHS = 50  # of workers in one call, after which it fails
POLL = 0.5  # seconds between two calls of progress
DONE_SQL = "begin long, end long, ended string"  # the rows that Work yields
NOT_EVEN = "exited unexpectedly"

Range = tuple[int, int]
Progress = Callable[[int], None]
"""A function that is called with the number of cases done."""


@dataclass(frozen=True)
class Ran:
    """The result of a call of `campaign`.

    before: the number of cases done before the call. cases: the number done by it. seconds: its time. deaths: how many
    workers died. ended: why it stopped early, or None.
    """

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
    """Judge `cases` cases from the number `first` on, then shrink a sample of the disagreements.

    Cases that are already in the folder at `path` are not judged again. session: a function that returns the Spark
    session; it is called only if a case is left to judge. size: the number of cases in a range, for a new folder.
    progress: called with the number of cases done. Raises InputError.
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
                if deaths > CAMPAIGN_DEATHS:
                    raise InputError(
                        f"{deaths} workers have died, which is too many; {folder.begun} has their last cases"
                    ) from error
        progress(_cases(folder))
        done = _cases(folder)
        if done > before or not (path / "shrunk.parquet").exists():
            shrink_sample(job, folder)
        return Ran(before, done - before, time.monotonic() - begun, deaths, ended)


def missing(done: set[Range], begin: int, end: int, size: int) -> list[Range]:
    """Return the ranges from begin to end that are not finished, divided at the multiples of the size."""
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
    """Judge the ranges on workers, with a task for each. Return the reason to stop the campaign, or None."""
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


# ---------------------------------------------------------------------------------------------------------------------
# The report of a campaign from its Parquet files: as data, as JSON, and as an HTML page.

DRAWN = 16  # matches drawn for one disagreement
REASONS = 20  # reasons why queries are not evaluated that the page lists
OVER = 200  # cases over a budget, and disputed cases, that the page lists

BAR: dict[Outcome, str] = {
    "matched": "passed",
    "empty": "passed",
    "disagreed": "failed",
    "disputed": "other",
    "budget": "other",
    "unsupported": "skipped",
}


@dataclass(frozen=True)
class CampaignVerdicts:
    """The verdicts of a campaign, read from its folder.

    totals: the number of cases by worst outcome. by_language: these numbers for each language and profile.
    by_evaluator: the outcomes of each evaluator. reasons: why evaluators did not evaluate queries. causes: the causes
    of disagreements by evaluator. sample: shrunk disagreements. over: cases over a budget. disputed: cases on which
    cerify contradicts itself. seconds: the time of all workers. of_evaluators: the time of each evaluator.
    """

    job: Job
    totals: Counter[Outcome]
    by_language: dict[tuple[str, str], Counter[Outcome]]
    by_evaluator: dict[str, Counter[Outcome]]
    reasons: Counter[tuple[str, str]]
    causes: Counter[tuple[str, str, str]]
    sample: tuple[Row, ...]
    over: tuple[Row, ...]
    disputed: tuple[Row, ...]
    seconds: float
    of_evaluators: dict[str, float]

    @property
    def cases(self) -> int:
        """Return the number of cases."""
        return self.totals.total()

    @property
    def agreed(self) -> int:
        """Return the number of cases on which all evaluators have the same matches."""
        return self.totals["matched"] + self.totals["empty"]

    @property
    def wrong(self) -> int:
        """Return the number of cases with a fault of an evaluator or of cerify's definition."""
        return self.totals["disagreed"] + self.totals["disputed"]

    @property
    def per_second(self) -> float:
        """Return the number of cases per second and worker. A worker uses one core."""
        return self.cases / self.seconds if self.seconds else 0.0

    @cached_property
    def groups(self) -> dict[tuple[str, str, str], list[Row]]:
        """Return the sample grouped by language, evaluator and cause, each group with its smallest case first."""
        found: dict[tuple[str, str, str], list[Row]] = {}
        for row in sorted(self.sample, key=lambda row: (len(row["query"]) + len(row["stream"]), row["case"])):
            found.setdefault((row["language"], row["evaluator"], row["cause"]), []).append(row)
        return found

    def json(self) -> dict[str, Any]:
        """Return the report as JSON; apart from seconds it does not depend on interruptions of the campaign."""
        return {
            "tested": sorted(name for name in self.by_evaluator if name != DEFINITION),
            "parts": [[part.language, part.profile] for part in self.job.parts],
            **picked(self.job, "seed", "nodes", "events"),
            **picked(self, "cases", "agreed"),
            "outcomes": _all(self.totals),
            "languages": {" ".join(key): _all(counts) for key, counts in self.by_language.items()},
            "evaluators": {name: _all(counts) for name, counts in self.by_evaluator.items()},
            "reasons": [[*key, cases] for key, cases in _ordered(self.reasons)],
            "disputed": [
                picked(row, "case", "language", "evaluator", "output", "query", "detail") for row in self.disputed
            ],
            "causes_as_found": [[*key, cases] for key, cases in _ordered(self.causes)],
            "seconds": round(self.seconds, 3),
            "cases_per_second_of_a_worker": round(self.per_second, 1),
        }

    def disagreements(self) -> list[dict[str, Any]]:
        """Return the sample of disagreements as a list of objects."""
        return [
            {
                **picked(row, "case", "language", "evaluator", "cause", "output", "query"),
                **json.loads(row["stream"]),
                "expected": json.loads(row["expected"]),
                "got": json.loads(row["got"]),
                **picked(row, "found", "note"),
            }
            for group in self.groups.values()
            for row in group
        ]


def found_in(path: Path) -> CampaignVerdicts:
    """Return the verdicts in the folder of a campaign. Raises InputError."""
    folder = Folder(path)
    job, _ = folder.plan()
    totals, reasons, causes = Counter[Outcome](), Counter[tuple[str, str]](), Counter[tuple[str, str, str]]()
    languages: dict[tuple[str, str], Counter[Outcome]] = {}
    evaluators: dict[str, Counter[Outcome]] = {}
    seconds, of_evaluators = 0.0, Counter[str]()
    for row in folder.counts().to_pylist():
        outcome, cases, name = row["outcome"], row["cases"], row["evaluator"]
        if name is None:
            totals[outcome] += cases
            languages.setdefault((row["language"], row["profile"]), Counter())[outcome] += cases
            seconds += row["seconds"]
        else:
            evaluators.setdefault(name, Counter())[outcome] += cases
            of_evaluators[name] += row["seconds"]
            if row["reason"]:
                reasons[name, row["reason"]] += cases
    for row in folder.verdicts("disagreed", ("language", "evaluator", "cause")).to_pylist():
        causes[row["language"], row["evaluator"], row["cause"]] += 1
    disputed = folder.verdicts("disputed").slice(0, OVER).to_pylist()
    over = folder.verdicts("budget", ("case", "language", "evaluator", "query", "detail")).slice(0, OVER).to_pylist()
    return CampaignVerdicts(
        job,
        totals,
        dict(sorted(languages.items())),
        dict(sorted(evaluators.items())),
        reasons,
        causes,
        tuple(folder.shrunk()),
        tuple(over),
        tuple(disputed),
        seconds,
        dict(of_evaluators),
    )


def render(found: CampaignVerdicts) -> str:
    """Return the page of a campaign."""
    return page(
        "spark/campaign.html",
        found=found,
        words=FUZZED_OUTCOMES,
        contradiction=CONTRADICTION,
        parts=_parts(found.totals),
        languages=[(" · ".join(key), counts, _parts(counts)) for key, counts in found.by_language.items()],
        evaluators=[
            (name, counts, found.of_evaluators[name] / max(1, counts.total()) * 1000)
            for name, counts in found.by_evaluator.items()
        ],
        examples=[
            CampaignExample.from_group(number, group) for number, group in enumerate(found.groups.values(), start=1)
        ],
        causes=_ordered(found.causes),
        reasons=_ordered(found.reasons)[:REASONS],
    )


@dataclass(frozen=True)
class CampaignExample:
    """A cause of disagreements with its smallest case, for the page of a campaign."""

    number: int
    row: Row
    cases: Sequence[int]
    sentence: str
    drawing: Markup
    undrawn: int

    @classmethod
    def from_group(cls, number: int, group: Sequence[Row]) -> CampaignExample:
        row = group[0]
        result = result_of(row)
        rows = rows_of(result)
        svg = timeline(columns_of(result.case.events), rows[:DRAWN])
        cases = sorted({other["case"] for other in group})
        return cls(number, row, cases, sentence(result), Markup(svg), max(0, len(rows) - DRAWN))


def result_of(row: Row) -> CaseResult:
    """Convert a row of the table of verdicts, a disagreement, to the result of a case."""
    stream, expected, got = json.loads(row["stream"]), json.loads(row["expected"]), json.loads(row["got"])

    def matches(answer: Any) -> Any:
        return () if isinstance(answer, str) else tuple(matches_of_json(answer, row["output"]))

    case = Case(
        f"case {row['case']}",
        row["cause"],
        "",
        row["language"],
        row["query"],
        stream["schema"],
        stream["events"],
        row["output"],
        matches(expected),
    )
    if isinstance(failure := next((s for s in (got, expected) if isinstance(s, str)), None), str):
        return CaseResult(case, "error", None, failure)
    return CaseResult(case, "failed", matches(got))


def sentence(result: CaseResult) -> str:
    """Describe in words how the answers differ."""
    if result.matches is None:
        return f"no answer: {result.detail}"
    return difference(set(result.case.matches), set(result.matches))


def _parts(counts: Counter[Outcome]) -> dict[str, int]:
    parts = dict.fromkeys(("passed", "failed", "other", "skipped"), 0)
    for outcome, cases in counts.items():
        parts[BAR[outcome]] += cases
    return parts


def _all(counts: Counter[Outcome]) -> dict[str, int]:
    return {outcome: counts[outcome] for outcome in FUZZED_OUTCOMES}


def _ordered(counts: Counter[Any]) -> list[tuple[Any, int]]:
    """Return the counts, the most frequent first, then by name."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
