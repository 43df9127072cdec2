"""A run over a chunk of a stream, which reports the matches of the chunk by positions in the stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from cerify.semantics.errors import InputError
from cerify.spark.chunking.cuts import CHUNK
from cerify.spark.runs.answers import Answering, Output, batches_of
from cerify.spark.runs.query import Query
from cerify.spark.runs.rows import Columns, rows_of
from cerify.spark.runs.run import NOTHING, Classes, Run, shift_positions

MATCHES = 1 << 40  # greatest number of matches of a chunk with output="events"


class ChunkRun(Run):
    """A run over a chunk that reports the matches at the events which the chunk owns.

    before: the number of leading events that the chunk reads but does not own. owned: the number of events it owns.
    by: added to each position.
    """

    def __init__(self, run: Run, before: int, owned: int, by: int) -> None:
        self._run, self._before, self._owned, self._by = run, before, owned, by
        self._read = 0

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """The matches that these events complete, if reported at an event that the chunk owns."""
        own = self._own(table)
        return self._own_matches(self._run.push(own)) if own.num_rows else NOTHING

    def count(self, table: pa.Table, classes: Classes | None = None) -> int:
        """The number of these matches."""
        own = self._own(table)
        return self._run.count(own) if own.num_rows else 0

    def finish(self) -> pa.Table:
        """The matches that the end of the chunk completes. Raises InputError if there were other rows than counted."""
        if self._read != self._before + self._owned:
            raise InputError(
                "the data has other rows than when they were counted, so that positions are unknown: write it to a "
                "file first, or persist it"
            )
        return self._own_matches(self._run.finish())

    @property
    def reaches(self) -> int:
        """That of the run."""
        return self._run.reaches

    def _own(self, table: pa.Table) -> pa.Table:
        """The events that the chunk owns; the run reads the others, which come before, without a report."""
        foreign = max(0, min(table.num_rows, self._before - self._read))
        self._read += table.num_rows
        if foreign:
            self._run.push(table.slice(0, foreign))
        return table.slice(foreign)

    def _own_matches(self, found: pa.Table) -> pa.Table:
        """The matches at events that the chunk owns, by their positions in the stream."""
        return shift_positions(found.filter(pc.greater_equal(found["at"], self._before)), self._by)


def answers_of_run(
    batches: Iterable[pa.RecordBatch], run: Run, query: Query, columns: Columns, output: Output, chunk: int
) -> Iterator[pa.RecordBatch]:
    """The batches of the answer for the rows of a chunk, read by this run."""
    stream: Answering | None = None
    for parts in rows_of(batches, columns, query.schema):
        for rows in parts:
            stream = stream or Answering(run, rows.key, columns, output)
            yield from batches_of([_numbered(stream.push(rows), output, chunk)])
    if stream is not None:
        yield from batches_of([_numbered(stream.finish(), output, chunk)])


def chunk_of(batches: Iterator[pa.RecordBatch]) -> tuple[int, Iterator[pa.RecordBatch]]:
    """The chunk of the rows of a partition, or -1 if there are none, and the rows."""
    for batch in batches:
        if batch.num_rows:
            return batch.column(CHUNK)[0].as_py(), chain([batch], batches)
    return -1, iter(())


def _numbered(found: pa.Table, output: Output, chunk: int) -> pa.Table:
    """The events of matches, the matches numbered differently from those of all other chunks."""
    if output != "events" or not found.num_rows:
        return found
    return found.set_column(0, "match", pc.add(found["match"], chunk * MATCHES))
