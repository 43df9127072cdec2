"""The folder of a campaign: its files, how a range of cases is committed, and how the results are read.

    plan.parquet                                     one row: the plan, and the size of a range
    ranges/<begin>-<end>.parquet                     how many cases ended how; there once all of the range is there
    verdicts/outcome=…/<begin>-<end>.parquet         every case that disagrees or is over a budget, in full
    shrunk.parquet                                   a sample of the disagreements, shrunk
    begun/                                           notes of running workers
    lock                                             locked by the process that runs the campaign

A file is written under a temporary name and renamed, and its name has the numbers of its cases: a range that is judged
again replaces its files, so no case is stored twice. The folder must be visible to all workers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cerify.conformance.campaign_plan import Job
from cerify.semantics.errors import InputError
from cerify.semantics.output_files import locked

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
        "reason": pa.string(),  # why a query is not carried
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
"""Whether a file was there before a campaign was begun in its folder."""
NAME = re.compile(r"(\d+)-(\d+)\.parquet")


@dataclass(frozen=True)
class Folder:
    """The files of a campaign."""

    path: Path

    @property
    def begun(self) -> Path:
        """The folder of the notes of running workers."""
        return self.path / "begun"

    @property
    def page(self) -> Path:
        """The path of the HTML report."""
        return self.path / "report.html"

    @contextmanager
    def opened(self, job: Job, size: int) -> Iterator[int]:
        """Begin a campaign in a new folder, or resume one with the same plan; the size of its ranges.

        No other process may have it open meanwhile. Raises InputError if one has, or the folder is that of another
        campaign, or cannot be used.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot use the folder {self.path}: {error}") from None
        if any(OTHERS(path.name) for path in self.path.iterdir()) and not (self.path / "plan.parquet").exists():
            raise InputError(f"{self.path} is not empty, and no folder of a campaign; give a new one")
        with locked(self.path / LOCK):
            try:
                yield self._begun(job, size)
            except OSError as error:
                raise InputError(f"cannot use the folder {self.path}: {error}") from None

    def _begun(self, job: Job, size: int) -> int:
        """The size of the ranges, after what a killed call has left was removed."""
        self.begun.mkdir(exist_ok=True)
        if not (self.path / "plan.parquet").exists():
            write([{"plan": job.text(), "range": size}], PLAN, self.path / "plan.parquet")
        known, size = self.plan()
        if known != job:
            raise InputError(f"{self.path} is of another campaign: {_differ(known, job)}")
        self._drop_unfinished()
        return size

    def plan(self) -> tuple[Job, int]:
        """The plan, and the size of a range. Raises InputError."""
        try:
            row = pq.read_table(self.path / "plan.parquet", schema=PLAN).to_pylist()[0]
            return Job.of_text(row["plan"]), row["range"]
        except (OSError, pa.ArrowException, IndexError, InputError) as error:
            raise InputError(f"{self.path} is no folder of a campaign: {error}") from None

    def done(self) -> set[tuple[int, int]]:
        """The ranges that are done."""
        return {_range(path) for path in (self.path / "ranges").glob("*.parquet")}

    def commit(self, begin: int, end: int, counts: Iterable[Row], verdicts: Mapping[str, Sequence[Row]]) -> None:
        """Write the files of a range, last the one that marks it as done."""
        for outcome, rows in verdicts.items():
            write(rows, VERDICTS, self.path / "verdicts" / f"outcome={outcome}" / _name(begin, end))
        write(counts, COUNTS, self.path / "ranges" / _name(begin, end))

    def counts(self) -> pa.Table:
        """The rows of COUNTS of all ranges that are done."""
        files = [self.path / "ranges" / _name(*ends) for ends in sorted(self.done())]
        return pa.concat_tables([COUNTS.empty_table(), *(pq.ParquetFile(file).read() for file in files)])

    def verdicts(self, outcome: str, columns: Sequence[str] = VERDICTS.names) -> pa.Table:
        """The cases of that outcome of all ranges that are done, in order."""
        folder, tables = self.path / "verdicts" / f"outcome={outcome}", []
        for ends in sorted(self.done()):
            if (path := folder / _name(*ends)).exists():
                tables.append(pq.ParquetFile(path).read(list(columns)))
        empty = pa.schema([VERDICTS.field(name) for name in columns]).empty_table()
        return pa.concat_tables([empty, *tables])

    def rows(self, outcome: str, numbers: Sequence[int]) -> list[Row]:
        """The full rows of the cases of that outcome with these indices among them."""
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
        """The shrunk sample of the disagreements."""
        rows: list[Row] = pq.ParquetFile(self.path / "shrunk.parquet").read().to_pylist()
        return rows

    def _drop_unfinished(self) -> None:
        """Remove the files of ranges that are not done."""
        done = self.done()
        for path in (self.path / "verdicts").glob("outcome=*/*"):
            if path.suffix != ".parquet" or _range(path) not in done:
                path.unlink()


def write(rows: Iterable[Row], schema: pa.Schema, path: Path) -> None:
    """Write a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    pq.write_table(pa.Table.from_pylist(list(rows), schema), beside, compression="zstd")
    os.replace(beside, path)


def _name(begin: int, end: int) -> str:
    return f"{begin:012}-{end:012}.parquet"


def _range(path: Path) -> tuple[int, int]:
    found = NAME.fullmatch(path.name)
    if found is None:
        raise InputError(f"{path} is no file of a campaign; remove it, or give another folder")
    return int(found[1]), int(found[2])


def _differ(known: Job, job: Job) -> str:
    fields = [name for name in vars(known) if name in job.__dataclass_fields__]
    name = next(name for name in fields if getattr(known, name) != getattr(job, name))
    there, here = getattr(known, name), getattr(job, name)
    return f"{name} is {there!r} there and {here!r} here; give the same plan, or a new folder"
