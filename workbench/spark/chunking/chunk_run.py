"""A run over a chunk of a stream: what it may report, and by which positions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from cerify.semantics.errors import InputError
from cerify.spark.chunking.cuts import CHUNK
from cerify.spark.runs.answers import Answering, Output, batches_of
from cerify.spark.runs.positions import moved
from cerify.spark.runs.query import Query
from cerify.spark.runs.rows import Columns, rows_of
from cerify.spark.runs.run import NOTHING, Classes, Run

MATCHES = 1 << 40  # of a chunk, at most, whose matches are numbered one by one


class ChunkRun(Run):
    """A run over a chunk, which reports what happens at events of its own.

    before: how many events come that are not its own; owned: how many that are. by: added to each position.
    """

    def __init__(self, run: Run, before: int, owned: int, by: int) -> None:
        self._run, self._before, self._owned, self._by = run, before, owned, by
        self._read = 0

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """The matches known by these events that are its to report."""
        own = self._own(table)
        return self._told(self._run.push(own)) if own.num_rows else NOTHING

    def count(self, table: pa.Table, classes: Classes | None = None) -> int:
        """Their number."""
        own = self._own(table)
        return self._run.count(own) if own.num_rows else 0

    def finish(self) -> pa.Table:
        """The matches known at the end. Raises InputError where the rows are not those that were counted."""
        if self._read != self._before + self._owned:
            raise InputError(
                "the data has other rows than when they were counted, so that positions cannot be told: write it to a "
                "file first, or persist it"
            )
        return self._told(self._run.finish())

    @property
    def reaches(self) -> int:
        """As of the run."""
        return self._run.reaches

    def _own(self, table: pa.Table) -> pa.Table:
        """Those of the events that are its own; the others before them are read."""
        seam = max(0, min(table.num_rows, self._before - self._read))
        self._read += table.num_rows
        if seam:
            self._run.push(table.slice(0, seam))
        return table.slice(seam)

    def _told(self, found: pa.Table) -> pa.Table:
        """Its own matches, by their positions in the whole stream."""
        return moved(found.filter(pc.greater_equal(found["at"], self._before)), self._by)


def answers_of_run(
    batches: Iterable[pa.RecordBatch], run: Run, query: Query, columns: Columns, output: Output, chunk: int
) -> Iterator[pa.RecordBatch]:
    """What to hand back for the rows of a chunk, which a run reads."""
    stream: Answering | None = None
    for parts in rows_of(batches, columns, query.schema):
        for rows in parts:
            stream = stream or Answering(run, rows.key, columns, output)
            yield from batches_of([_numbered(stream.push(rows), output, chunk)])
    if stream is not None:
        yield from batches_of([_numbered(stream.finish(), output, chunk)])


def chunk_of(batches: Iterator[pa.RecordBatch]) -> tuple[int, Iterator[pa.RecordBatch]]:
    """The chunk that the rows of a partition belong to, and the rows; -1 where there are none."""
    for batch in batches:
        if batch.num_rows:
            return batch.column(CHUNK)[0].as_py(), chain([batch], batches)
    return -1, iter(())


def _numbered(found: pa.Table, output: Output, chunk: int) -> pa.Table:
    """Matches that are numbered one by one have other numbers in other chunks."""
    if output != "events" or not found.num_rows:
        return found
    return found.set_column(0, "match", pc.add(found["match"], chunk * MATCHES))
