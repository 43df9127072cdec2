"""Queries over a stream without keys: in chunks where that gives the same answer, else in one task.

A match is reported by the chunk that owns the event at which it is reported, so no two chunks report the same one. A
chunk also reads the events before its own that the reach of the query includes (runs/reach.py), without reporting
matches.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from cerify.automata.dfa.compiled import CompiledRunner
from cerify.automata.dfa.model import DFA
from cerify.semantics.budget import Budget
from cerify.semantics.errors import InputError
from cerify.spark.chunking.cuts import CHUNK, Cuts, cuts_of, even_cuts, in_chunks
from cerify.spark.chunking.transfer import NOTHING_READ, Effect, transfer_of
from cerify.spark.columns import column
from cerify.spark.errors import serialize_error
from cerify.spark.runs.answers import DIGITS, Answering, Output, answers, batches_of, number_columns
from cerify.spark.runs.query import Query
from cerify.spark.runs.reach import reach_of_query
from cerify.spark.runs.rows import Columns, gathered, rows_of
from cerify.spark.runs.run import NOTHING, Classes, Run, shift_positions
from cerify.spark.runs.start import ExpressionRun, automaton_of, start
from cerify.spark.versions import CHUNKS, release

READ = "chunk long, effect string"
ADVICE = (
    "the query has no key, no bounded window and no other property by which it can run in parts, so that all rows go "
    "through one task, in order: give partition_by, or put WITHIN around the formula, a window of events or on the "
    "first column of order_by"
)
WIDE = (
    "the window of the query contains so much of the data that all rows go through one task: give partition_by, or a "
    "shorter window"
)


OLD = (
    "without partition_by all rows go through one task, since PySpark divides rows by numbers of chunks from release "
    "{}.{} on, and this is {}.{}"
)
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
    for some in rows_of(gathered(batches), columns, query.schema):
        for rows in some.streams():
            stream = stream or Answering(run, rows.key, output)
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


@dataclass(frozen=True)
class Begins:
    """For each chunk the state in which it begins, the position of its first event, and its number of events."""

    states: tuple[int, ...]
    first: tuple[int, ...]
    owned: tuple[int, ...]


class Continued(ExpressionRun):
    """A run that begins in a given state of the automaton."""

    def __init__(self, A: DFA, state: int) -> None:
        super().__init__(CompiledRunner([A]))
        self._states = [state]


def composed(
    df: DataFrame, query: Query, columns: Columns, output: Output, budget: Budget, answer: T.StructType, parts: int
) -> DataFrame | None:
    """The answer, by composition of chunks; None if the query does not compose, or has too many states.

    The queries are event expressions, and numbers of matches. The chunks are read twice: first for the effect of each
    on every state, which gives the state in which each begins; then for the matches. Numbers need the first pass only.
    """
    text = query.to_json()
    expression = query.plugin.takes_place
    if (not expression and output != "count") or transfer_of(text, budget, begins=True) is None:
        return None
    cuts = even_cuts(df, columns, parts)
    chunks = in_chunks(df, columns, cuts)
    read = chunks.mapInArrow(partial(_effects, query=text, columns=columns, budget=budget), READ).collect()
    if any(effect is None for _, effect in read):
        return None
    effects = {c: Effect.from_json(effect) for c, effect in read}
    states, number = composition(effects, cuts)
    if output == "count":
        return df.sparkSession.createDataFrame([number_columns(number)] if effects else [], answer)
    owned = tuple(effects[c].rows if c in effects else 0 for c in range(cuts.chunks))
    begins = Begins(states, tuple(accumulate(owned[:-1], initial=0)), owned)
    task = partial(_answered, query=text, columns=columns, output=output, budget=budget, begins=begins)
    return chunks.mapInArrow(task, answer)


def composition(effects: dict[int, Effect], cuts: Cuts) -> tuple[tuple[int, ...], int]:
    """The state in which each chunk begins (of an expression), and the number of matches of all chunks."""
    runs, states, number = NOTHING_READ, [], 0
    for c in range(cuts.chunks):
        states.append(min(runs, default=0))  # of an expression there is one
        if c in effects:
            runs, more = effects[c].after(runs)
            number += more
    return tuple(states), number


def _effects(
    batches: Iterator[pa.RecordBatch], query: str, columns: Columns, budget: Budget
) -> Iterator[pa.RecordBatch]:
    """The effect of a chunk, as JSON; null if it follows too many states, or too large numbers."""
    with serialize_error():
        c, rows = chunk_of(batches)
        if c < 0:
            return
        transfer = transfer_of(query, budget, begins=c == 0)
        parts = (some.table for some in rows_of(gathered(rows), columns, Query.from_json(query).schema))
        known = transfer is not None and all(transfer.read(part) for part in parts)
        effect = transfer.effect().to_json() if known and transfer is not None else None
        yield pa.record_batch({"chunk": pa.array([c], pa.int64()), "effect": pa.array([effect], pa.string())})


def _answered(
    batches: Iterator[pa.RecordBatch], query: str, columns: Columns, output: Output, budget: Budget, begins: Begins
) -> Iterator[pa.RecordBatch]:
    """The batches of the answer for a chunk whose first state is known."""
    with serialize_error():
        c, rows = chunk_of(batches)
        if c >= 0:
            parsed = Query.from_json(query)
            A = automaton_of(parsed, budget)
            assert A is not None
            by = begins.first[c] if columns.id is None else 0
            run = ChunkRun(Continued(A, begins.states[c]), 0, begins.owned[c], by)
            yield from answers_of_run(rows, run, parsed, columns, output, c)


def unpartitioned(
    df: DataFrame, query: Query, columns: Columns, output: Output, budget: Budget, answer: T.StructType
) -> DataFrame:
    """The answer of a query over rows that are one stream; df has the needed columns only.

    Runs jobs that count the rows; errors in the rows are raised when the answer is read.
    """
    parts = int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    found: DataFrame | None = None
    if release() < CHUNKS:
        warnings.warn(OLD.format(*CHUNKS, *release()), stacklevel=3)
        return _in_one_task(df, query, columns, output, budget, answer)
    if (reach := reach_of_query(query, budget)) is not None:
        cuts = cuts_of(df, columns, reach, parts)
        if cuts is not None:
            if cuts.chunks == 1 < min(parts, cuts.owned[0]):
                warnings.warn(WIDE, stacklevel=3)
            found = by_reach(df, query, columns, output, budget, answer, cuts)
    if found is None:
        found = composed(df, query, columns, output, budget, answer, parts)
    if found is not None:
        return found
    warnings.warn(ADVICE, stacklevel=3)
    return _in_one_task(df, query, columns, output, budget, answer)


def _in_one_task(
    df: DataFrame, query: Query, columns: Columns, output: Output, budget: Budget, answer: T.StructType
) -> DataFrame:
    task = partial(answers, query=query.to_json(), columns=columns, output=output, budget=budget)
    return df.repartition(1).sortWithinPartitions(*map(column, columns.order)).mapInArrow(task, answer)


def by_reach(
    df: DataFrame, query: Query, columns: Columns, output: Output, budget: Budget, answer: T.StructType, cuts: Cuts
) -> DataFrame:
    """The answer, a partition for each chunk; with output="count" the sum over the chunks."""
    task = partial(_chunk_answered, query=query.to_json(), columns=columns, output=output, budget=budget, cuts=cuts)
    parts = in_chunks(df, columns, cuts).mapInArrow(task, answer)
    return parts.repartition(1).mapInArrow(_sum, answer) if output == "count" else parts


def _sum(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    numbers = [int(digits) for batch in batches for digits in batch.column("digits").to_pylist()]
    if numbers:
        number, digits = number_columns(sum(numbers))
        yield pa.record_batch({"count": pa.array([number], pa.decimal128(DIGITS, 0)), "digits": pa.array([digits])})


def _chunk_answered(
    batches: Iterator[pa.RecordBatch], query: str, columns: Columns, output: Output, budget: Budget, cuts: Cuts
) -> Iterator[pa.RecordBatch]:
    """The batches of the answer for a chunk, which is a partition."""
    with serialize_error():
        parsed = Query.from_json(query)
        c, rows = chunk_of(batches)
        if c >= 0:
            # ids are looked up by positions in the chunk
            by = cuts.first[c] - cuts.before[c] if columns.id is None else 0
            run = ChunkRun(start(parsed, budget), cuts.before[c], cuts.owned[c], by)
            yield from answers_of_run(rows, run, parsed, columns, output, c)
