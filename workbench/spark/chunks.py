"""Cut a stream without keys into chunks, and count the events of each chunk.

The cuts are values of the first column that orders the events, so this column alone determines the chunk of an event.
They are chosen from a sample. The events of each chunk are then counted exactly, since positions count from the first
event of the whole stream.
"""

from __future__ import annotations

import json
import math
import warnings
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import accumulate, chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cerify.automata.algebra.finite import types
from cerify.automata.dfa.evaluators import CompiledRunner
from cerify.automata.dfa.model import DFA
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.evaluation_plan import batch_scope
from cerify.automata.evaluate.jit import compiled
from cerify.automata.evaluate.scope import ReachBounds
from cerify.automata.evaluate.scope_columns import MICROSECONDS
from cerify.automata.evaluate.tables import classified
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import TIME, Stream
from cerify.spark.answers import (
    DIGITS,
    Answering,
    Output,
    answer_batches,
    batches_of,
    number_columns,
    result_type,
    with_typed_results,
)
from cerify.spark.columns import TIMES, WHOLE, column, map_in_arrow, utc_micros
from cerify.spark.rows import NOTHING, Classes, Columns, SparkRun, gathered, rows_of, shift_positions
from cerify.spark.runs import ExpressionRun, SparkQuery, automaton_of, reach_of_query, start
from cerify.spark.session import CHUNKS, release
from cerify.spark.transport import serialize_error

SAMPLE = 1_000  # events for each chunk
LEAST = 2**63  # the least whole number of a column is -LEAST

OrderValue: TypeAlias = Any
"""A value of the first column of the order; a time is in microseconds, and None comes before all other values."""


@dataclass(frozen=True)
class Cuts:
    """How a stream without keys is divided into chunks, which tasks read in parallel.

    starts, lows: values of the first column of the order. Chunk c reports matches at its own events: from starts[c-1]
    up to, but not including, starts[c]. It reads from lows[c-1] on, because matches may contain earlier events.

    For each chunk: first, the position of its first own event in the stream; before, the number of events that it reads
    before that event; owned, the number of its own events.
    """

    starts: tuple[OrderValue, ...] = ()
    lows: tuple[OrderValue, ...] = ()
    first: tuple[int, ...] = (0,)
    before: tuple[int, ...] = (0,)
    owned: tuple[int, ...] = (0,)

    @property
    def chunks(self) -> int:
        """Return the number of chunks."""
        return len(self.first)


def cuts_of(df: DataFrame, columns: Columns, reach: ReachBounds, parts: int) -> Cuts | None:
    """Divide the events into at most `parts` chunks. A chunk also reads the events before it that its matches may need.

    The number of chunks is chosen so that fewer events are read twice than there are events. reach: how far back a
    match may look. Return None if it has a width on an attribute other than the first one that orders the events.
    """
    widths = [width_in_places(df, columns, a, width) for a, width in reach.widths]
    if None in widths:
        return None
    place = place_of(df, columns)
    sample, scale = _sampled(df, place, parts)
    width = max((width for width in widths if width is not None), default=None)
    while parts > 1:
        starts = starts_of(sample, parts)
        lows = lows_of(sample, starts, reach.events, width, scale)
        begins = (0 if low is None else bisect_left(sample, low) for low in lows)
        foreign = sum(bisect_left(sample, start) - low for start, low in zip(starts, begins, strict=True))
        if foreign < len(sample):
            break
        # With fewer chunks the foreign events of each stay the same, and their sum gets smaller.
        parts //= 2
    else:
        return count_chunk_events(df, place, (), ())
    margin = 1
    while True:
        found = count_chunk_events(df, place, starts, lows_of(sample, starts, reach.events, width, scale, margin))
        # The sample only estimates where a chunk has to begin reading; the exact counts tell whether it was far enough.
        if all(b >= min(reach.events - 1, f) for b, f in zip(found.before, found.first, strict=True)):
            return found
        margin *= 2


def even_cuts(df: DataFrame, columns: Columns, parts: int) -> Cuts:
    """Divide the events into at most `parts` chunks of about equal size; each chunk reads only its own events.

    The events are not counted: `first`, `before` and `owned` of the result are all 0.
    """
    starts = tuple(starts_of(_sampled(df, place_of(df, columns), parts)[0], parts))
    nothing = (0,) * (len(starts) + 1)
    return Cuts(starts, starts, nothing, nothing, nothing)


def count_chunk_events(df: DataFrame, place: Column, starts: Sequence[OrderValue], lows: Sequence[OrderValue]) -> Cuts:
    """Count the events of each chunk; return the Cuts with these numbers.

    place: the first column of the order. starts: for each chunk except the first, the value at which its own events
    begin. lows: the value from which it reads.
    """
    here = df.select(*spread(place, starts, lows)).groupBy(CHUNK, LAST).count().collect()
    owned, before = [0] * (len(starts) + 1), [0] * (len(starts) + 1)
    for c, last, number in here:
        owned[c] += number
        for later in range(c + 1, last + 1):
            before[later] += number
    first = tuple(accumulate(owned[:-1], initial=0))
    return Cuts(tuple(starts), tuple(lows), first, tuple(before), tuple(owned))


def spread(place: Column, starts: Sequence[OrderValue], lows: Sequence[OrderValue]) -> tuple[Column, Column]:
    """Return two columns: the chunk to which a row belongs, and the last chunk that reads it.

    All chunks from the first to the second of these read the row. place: the first column of the order.
    """
    always = sum(low is None for low in lows)
    return (_at_most(place, list(starts)).alias(CHUNK), _at_most(place, list(lows[always:]), always).alias(LAST))


def place_of(df: DataFrame, columns: Columns) -> Column:
    """Return the first column of the order, by which rows are divided into chunks; times as microseconds."""
    name = columns.order[0]
    place: Column = utc_micros(df.schema, name) if isinstance(df.schema[name].dataType, TIMES) else column(name)
    return place


def in_chunks(df: DataFrame, columns: Columns, cuts: Cuts) -> DataFrame:
    """Copy each row to all chunks that read it; return a data frame with one sorted partition for each chunk."""
    chunk, last = spread(place_of(df, columns), cuts.starts, cuts.lows)
    if cuts.lows == cuts.starts:
        # Without foreign events no row is copied, so `explode` is spared.
        some = df.withColumn(CHUNK, chunk)
    else:
        some = df.withColumn(CHUNK, F.explode(F.sequence(chunk, last)))
    order = map(column, columns.order)
    return some.repartitionById(cuts.chunks, CHUNK).sortWithinPartitions(CHUNK, *order)


def _at_most(place: Column, values: list[OrderValue], base: int = 0) -> Column:
    """Return base plus the number of ascending values that are at most the place, by bisection."""
    if not values:
        return F.lit(base)
    # A tree of comparisons: a row is compared with log n cuts, and a chain of n WHENs would nest too deep for Spark.
    middle = len(values) // 2
    below, above = _at_most(place, values[:middle], base), _at_most(place, values[middle + 1 :], base + middle + 1)
    number: Column = F.when(place < F.lit(values[middle]), below).otherwise(above)
    return number


def _sampled(df: DataFrame, place: Column, parts: int) -> tuple[list[OrderValue], float]:
    """Return a sample of the places, ascending, and how many events each place of it stands for."""
    name = "place"
    rows = df.count()
    places = df.select(place.alias(name))
    valid = F.col(name).isNotNull()
    if isinstance(places.schema[name].dataType, T.FloatType | T.DoubleType):
        valid = valid & ~F.isnan(name)
    share = SAMPLE * parts / max(rows, 1)
    some = places.where(valid) if share >= 1 else places.where(valid).sample(share, 0)
    found = sorted(row[0] for row in some.collect())
    return found, max(1, rows) / max(1, len(found))


def starts_of(sample: list[OrderValue], parts: int) -> list[OrderValue]:
    """Divide a sorted sample into at most `parts` equal parts; return the value with which each begins, except the
    first.
    """
    cuts = sorted({sample[len(sample) * c // parts] for c in range(1, parts)}) if sample else []
    return [place for place in cuts if place > sample[0]]


def lows_of(
    sample: list[OrderValue], starts: Sequence[OrderValue], events: int, width: Any, scale: float, margin: int = 1
) -> list[OrderValue]:
    """Return, for each start of a chunk, the value from which the chunk has to read, ascending.

    A chunk has to read `events` - 1 events before its start, and all events at most `width` before it. sample: values
    of the first column of the order; each stands for `scale` events, so the answer is an estimate. margin: a factor
    that makes the chunk read more. None means: from the beginning.
    """
    back = 0 if events == 1 else math.ceil(margin * 1.5 * (events - 1) / scale) + margin
    lows: list[OrderValue] = []
    for first in starts:
        at = bisect_left(sample, first) - back
        low = None if at < 0 else first if back == 0 else sample[at]
        if width is not None and low is not None:
            least = _less(first, width)
            low = None if least is None else min(low, least)
        lows.append(low)
    for c in range(len(lows) - 1, 0, -1):  # so that the places ascend
        if lows[c] is None or (lows[c - 1] is not None and lows[c] < lows[c - 1]):
            lows[c - 1] = lows[c]
    return lows


def _less(start: Any, width: int | float) -> Any:
    """Return the start minus the width, rounded down; None if it is below all whole numbers of a column."""
    if isinstance(start, int):
        # Bounded first: `ceil` of an infinite width fails.
        low = start - math.ceil(min(width, 2 * LEAST))
        return low if low >= -LEAST else None
    # One float lower, because the subtraction may have rounded up.
    return math.nextafter(start - width, -math.inf)


def width_in_places(df: DataFrame, columns: Columns, attribute: str, width: int | float) -> int | float | None:
    """Return the width of a window in the unit of the first column of the order: for times, microseconds.

    Return None if the window is on another column, or if the column has no times or numbers.
    """
    name = columns.time if attribute == TIME else attribute
    kind = df.schema[columns.order[0]].dataType
    if name != columns.order[0]:
        return None
    if isinstance(kind, TIMES):
        return max(0, width) * MICROSECONDS
    return max(0, width) if isinstance(kind, (*WHOLE, T.FloatType, T.DoubleType)) else None


# ---------------------------------------------------------------------------------------------------------------------
# Queries over a stream without keys: in chunks where that gives the same answer, else in one task.
#
# A match is reported by the chunk that owns the event at which it is reported, so no two chunks report the same one. A
# chunk also reads the events before its own that the reach of the query includes (reach_of_query), without reporting
# matches.

READ = "chunk long, effect string"
ADVICE = (
    "all rows go through one task, in order, because the query has neither a key nor a window by which to divide the "
    "rows. Give partition_by, or put WITHIN around the formula: WITHIN n EVENTS, or a width on the first column of "
    "order_by"
)
WIDE = (
    "all rows go through one task, because the window of the query contains too much of the data. Give partition_by, "
    "or a shorter window"
)


OLD = (
    "without partition_by all rows go through one task: they are divided into chunks only from PySpark {}.{} on, and "
    "this is {}.{}. Give partition_by, or use a newer PySpark"
)
MATCHES = 1 << 40  # greatest number of matches of a chunk with output="events"


class ChunkRun(SparkRun):
    """A run over a chunk that reports only the matches at the chunk's own events.

    before: the number of events that the chunk reads before its own. owned: the number of its own events. by: the
    number added to each position.
    """

    def __init__(self, run: SparkRun, before: int, owned: int, by: int) -> None:
        self._run, self._before, self._owned, self._by = run, before, owned, by
        self._read = 0

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """Read events; return the matches that are reported at the chunk's own events."""
        own = self._select_own(table)
        return self._own_matches(self._run.push(own)) if own.num_rows else NOTHING

    def count(self, table: pa.Table, classes: Classes | None = None) -> int:
        """Read events; return the number of matches that are reported at the chunk's own events."""
        own = self._select_own(table)
        return self._run.count(own) if own.num_rows else 0

    def finish(self) -> pa.Table:
        """Return the matches that the end of the chunk completes.

        Raises InputError if the chunk has not as many rows as were counted, because the data has changed.
        """
        if self._read != self._before + self._owned:
            raise InputError(
                "the data has changed since its rows were counted, so positions are unknown: write it to a "
                "file first, or persist it"
            )
        return self._own_matches(self._run.finish())

    @property
    def reaches(self) -> int:
        """Return a lower bound for the positions of the events in all matches that are still to be reported."""
        return self._run.reaches

    def _select_own(self, table: pa.Table) -> pa.Table:
        """Return the events that the chunk owns. The run reads the earlier ones without reporting matches."""
        foreign = max(0, min(table.num_rows, self._before - self._read))
        self._read += table.num_rows
        if foreign:
            self._run.push(table.slice(0, foreign))
        return table.slice(foreign)

    def _own_matches(self, found: pa.Table) -> pa.Table:
        """Return the matches at events that the chunk owns, by their positions in the stream."""
        return shift_positions(found.filter(pc.greater_equal(found["at"], self._before)), self._by)


def answers_of_run(
    batches: Iterable[pa.RecordBatch], run: SparkRun, query: SparkQuery, columns: Columns, output: Output, chunk: int
) -> Iterator[pa.RecordBatch]:
    """Yield the answer for the rows of a chunk, read by this run, in batches."""
    stream: Answering | None = None
    kind = pa.string()
    for some in rows_of(gathered(batches), columns, query.schema):
        kind = result_type(query, columns, some.batch.schema)
        for rows in some.streams():
            stream = stream or Answering(run, rows.key, output)
            yield from batches_of(with_typed_results([_numbered(stream.push(rows), output, chunk)], kind))
    if stream is not None:
        yield from batches_of(with_typed_results([_numbered(stream.finish(), output, chunk)], kind))


def chunk_of(batches: Iterator[pa.RecordBatch]) -> tuple[int, Iterator[pa.RecordBatch]]:
    """Return (chunk, batches): the number of the chunk that a task reads, and its rows; -1 if there are no rows."""
    for batch in batches:
        if batch.num_rows:
            return batch.column(CHUNK)[0].as_py(), chain([batch], batches)
    return -1, iter(())


def _numbered(found: pa.Table, output: Output, chunk: int) -> pa.Table:
    """Return the table; if it lists events of matches, with match numbers that no other chunk uses."""
    if output != "events" or not found.num_rows:
        return found
    # Each chunk numbers its matches from 0 and knows nothing of the others, so it gets a range of its own.
    return found.set_column(0, "match", pc.add(found["match"], chunk * MATCHES))


@dataclass(frozen=True)
class Begins:
    """The start of each chunk: its first state, the position of its first event, and its number of events."""

    states: tuple[int, ...]
    first: tuple[int, ...]
    owned: tuple[int, ...]


class Continued(ExpressionRun):
    """A run that starts in a given state of an automaton."""

    def __init__(self, A: DFA, state: int) -> None:
        super().__init__(CompiledRunner([A]))
        self._states = [state]


def composed(
    df: DataFrame, query: SparkQuery, columns: Columns, output: Output, budget: Budget, answer: T.StructType, parts: int
) -> DataFrame | None:
    """Return the answer by a computation in chunks, for a query whose state at the end of a chunk can be composed.

    The chunks are read twice. The first pass computes the effect of each chunk on every state of the automaton, and so
    the state in which each chunk begins. The second pass finds the matches; it is not needed to count them. Return None
    if this is impossible for the query, or if the automaton has too many states.
    """
    text = query.to_json()
    expression = query.plugin.takes_place
    if (not expression and output != "count") or transfer_of(text, budget, begins=True) is None:
        return None
    cuts = even_cuts(df, columns, parts)
    chunks = in_chunks(df, columns, cuts)
    read = map_in_arrow(chunks, partial(_effects, query=text, columns=columns, budget=budget), READ).collect()
    if any(effect is None for _, effect in read):
        return None
    effects = {c: Effect.from_json(effect) for c, effect in read}
    states, number = composition(effects, cuts)
    if output == "count":
        return df.sparkSession.createDataFrame([number_columns(number)] if effects else [], answer)
    owned = tuple(effects[c].rows if c in effects else 0 for c in range(cuts.chunks))
    begins = Begins(states, tuple(accumulate(owned[:-1], initial=0)), owned)
    task = partial(_answered, query=text, columns=columns, output=output, budget=budget, begins=begins)
    return map_in_arrow(chunks, task, answer)


def composition(effects: dict[int, Effect], cuts: Cuts) -> tuple[tuple[int, ...], int]:
    """Compose the effects of the chunks; return the state in which each chunk begins, and the total number of matches.

    The states have a meaning only for an event expression.
    """
    runs, states, number = NOTHING_READ, [], 0
    for c in range(cuts.chunks):
        states.append(min(runs, default=0))  # an expression has one run
        if c in effects:
            runs, more = effects[c].after(runs)
            number += more
    return tuple(states), number


def _effects(
    batches: Iterator[pa.RecordBatch], query: str, columns: Columns, budget: Budget
) -> Iterator[pa.RecordBatch]:
    """Yield the effect of a chunk as JSON; null if it has too many states, or too large numbers."""
    with serialize_error():
        c, rows = chunk_of(batches)
        if c < 0:
            return
        transfer = transfer_of(query, budget, begins=c == 0)
        parts = (some.table for some in rows_of(gathered(rows), columns, SparkQuery.from_json(query).schema))
        known = transfer is not None and all(transfer.advance(part) for part in parts)
        effect = transfer.effect().to_json() if known and transfer is not None else None
        yield pa.record_batch({"chunk": pa.array([c], pa.int64()), "effect": pa.array([effect], pa.string())})


def _answered(
    batches: Iterator[pa.RecordBatch], query: str, columns: Columns, output: Output, budget: Budget, begins: Begins
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of the answer for a chunk, given its first state."""
    with serialize_error():
        c, rows = chunk_of(batches)
        if c >= 0:
            parsed = SparkQuery.from_json(query)
            A = automaton_of(parsed, budget)
            assert A is not None
            by = begins.first[c] if columns.id is None else 0
            run = ChunkRun(Continued(A, begins.states[c]), 0, begins.owned[c], by)
            yield from answers_of_run(rows, run, parsed, columns, output, c)


def unpartitioned(
    df: DataFrame, query: SparkQuery, columns: Columns, output: Output, budget: Budget, answer: T.StructType
) -> DataFrame:
    """Return the answer of a query over rows without a key, which are one stream.

    df must have only the needed columns. Warns if all rows go through one task.
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
    df: DataFrame, query: SparkQuery, columns: Columns, output: Output, budget: Budget, answer: T.StructType
) -> DataFrame:
    task = partial(answer_batches, query=query.to_json(), columns=columns, output=output, budget=budget)
    return map_in_arrow(df.repartition(1).sortWithinPartitions(*map(column, columns.order)), task, answer)


def by_reach(
    df: DataFrame, query: SparkQuery, columns: Columns, output: Output, budget: Budget, answer: T.StructType, cuts: Cuts
) -> DataFrame:
    """Return the answer, computed in chunks that also read the events before them that the window reaches.

    With output="count", the numbers of all chunks are added.
    """
    task = partial(_chunk_answered, query=query.to_json(), columns=columns, output=output, budget=budget, cuts=cuts)
    parts = map_in_arrow(in_chunks(df, columns, cuts), task, answer)
    return parts.repartition(1).mapInArrow(_sum, answer) if output == "count" else parts


def _sum(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    numbers = [int(digits) for batch in batches for digits in batch.column("digits").to_pylist()]
    if numbers:
        number, digits = number_columns(sum(numbers))
        yield pa.record_batch({"count": pa.array([number], pa.decimal128(DIGITS, 0)), "digits": pa.array([digits])})


def _chunk_answered(
    batches: Iterator[pa.RecordBatch], query: str, columns: Columns, output: Output, budget: Budget, cuts: Cuts
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of the answer for one chunk, which is a partition."""
    with serialize_error():
        parsed = SparkQuery.from_json(query)
        c, rows = chunk_of(batches)
        if c >= 0:
            # ids are looked up by positions in the chunk
            by = cuts.first[c] - cuts.before[c] if columns.id is None else 0
            run = ChunkRun(start(parsed, budget), cuts.before[c], cuts.owned[c], by)
            yield from answers_of_run(rows, run, parsed, columns, output, c)


# ---------------------------------------------------------------------------------------------------------------------
# Compute, in compiled loops, how a chunk of a stream changes the numbers of partial matches.
#
# An I/O-deterministic automaton has one run for each complex event, so numbers of runs are numbers of matches. The
# effect of an event on the numbers of runs in the states is linear. So a chunk is a matrix: the number of runs in each
# state at its end that result from one run in each state at its beginning, and a vector: the number of matches they
# report.

ROOM = 1 << 62


@compiled
def transfer(classes, begun, skip, begin, marks, finals, ended, idle, runs, after, totals):  # type: ignore[no-untyped-def]
    """Follow one run from each of K states through the events from index `begun` on, and count the matches.

    Return the index at which a number might exceed int64, or the end. skip, begin, marks, finals, ended: the arrays of
    TransitionTables. idle: bool [classes], whether an event of the class has no effect. runs: int64 [states, K], how
    many runs in each state result from one run in each of the K states; after: scratch of the same shape. totals: int64
    [K], the matches that these runs have reported. Finished states are emptied.
    """
    states, starts = runs.shape
    # A number of the next step is a sum of at most so many numbers, so below this limit it fits into int64.
    limit = ROOM // (states + marks.shape[0] + 1)
    for i in range(begun, classes.size):
        c = classes[i]
        if idle[c]:
            continue
        after[:] = 0
        for p in range(states):
            q = skip[c, p]
            if q >= 0:
                for k in range(starts):
                    after[q, k] += runs[p, k]
        for t in range(begin[c], begin[c + 1]):
            p, q = marks[t, 0], marks[t, 2]
            for k in range(starts):
                after[q, k] += runs[p, k]
        for q in range(states):
            for k in range(starts):
                if after[q, k] > limit:
                    return i
        for k in range(starts):
            if totals[k] > ROOM:
                return i
        for f in range(finals.size):
            q = finals[f]
            for k in range(starts):
                totals[k] += after[q, k]
            if ended[q]:
                after[q] = 0
        for q in range(states):  # `runs[:] = after` would make numba compile, for seconds, the error for unequal shapes
            for k in range(starts):
                runs[q, k] = after[q, k]
    return classes.size


# ---------------------------------------------------------------------------------------------------------------------
# The effect of a chunk of a stream, from every state: on the state of an event expression, on numbers of matches.
#
# Effects compose: that of two chunks is that of the first, then that of the second. So chunks are read in parallel,
# and their effects are composed afterwards.

STATES = 64  # followed in parallel
BITS = 1 << 13  # of a number of matches

Runs: TypeAlias = Mapping[int, int]
"""The number of runs in each state, by state."""

NOTHING_READ: Runs = {0: 1}


@dataclass(frozen=True)
class Effect:
    """The effect of a chunk of a stream on one run in each state of an automaton.

    rows: the number of rows. runs: for each state at the beginning, the number of runs in each state at the end.
    reports: for each state at the beginning, the number of matches that these runs report. For an event expression
    there is one run, and a match is an event at which the expression takes place.
    """

    rows: int
    runs: tuple[Runs, ...]
    reports: tuple[int, ...]

    def after(self, runs: Runs) -> tuple[Runs, int]:
        """Return (after, matches): the number of runs in each state after the chunk, and the matches reported in it.

        runs: the number of runs in each state before the chunk.
        """
        found: dict[int, int] = {}
        for p, number in runs.items():
            for q, more in self.runs[p].items():
                found[q] = found.get(q, 0) + number * more
        return found, sum(number * self.reports[p] for p, number in runs.items())

    def to_json(self) -> str:
        """Return the effect as JSON."""
        return json.dumps([self.rows, [list(runs.items()) for runs in self.runs], self.reports])

    @classmethod
    def from_json(cls, text: str) -> Effect:
        """Return the effect that `to_json` wrote."""
        rows, runs, reports = json.loads(text)
        return cls(rows, tuple(dict(pairs) for pairs in runs), tuple(reports))


class Transfer(ABC):
    """Computes the effect of a chunk from every state at once; see Effect."""

    @abstractmethod
    def advance(self, table: pa.Table) -> bool:
        """Read the next events. Return False if the effect cannot be computed: too many states, or too large
        numbers.
        """

    @abstractmethod
    def effect(self) -> Effect:
        """Return the effect of the events so far."""


class ExpressionTransfer(Transfer):
    """Computes the effect of a chunk on the states of an event expression.

    States that lead to the same state are then followed together.
    """

    def __init__(self, A: DFA, begins: bool) -> None:
        self._evaluator = CompiledRunner([A])
        self._rows, self._before = 0, 0 if begins else 1
        self._at = list(range(len(A.following)))
        self._reports = [0] * len(self._at)

    def advance(self, table: pa.Table) -> bool:
        """Read the next events. Raises InputError for a start event that is not the first event."""
        E, S = self._evaluator, Stream.from_table(table)
        classes: NDArray[np.int32] | None = None
        moved: dict[int, tuple[int, int]] = {}
        for q in sorted(set(self._at)):
            E.states, E.position = [q], self._before + self._rows
            if classes is None:
                (found,) = E.advance(S)
                classes = E.classes.of_stream(S)
            else:
                (found,) = E.read_classes(classes)
            moved[q] = E.states[0], len(found)
        self._rows += len(S)
        self._reports = [n + moved[q][1] for n, q in zip(self._reports, self._at, strict=True)]
        self._at = [moved[q][0] for q in self._at]
        return len(set(self._at)) <= STATES

    def effect(self) -> Effect:
        """Return the effect of the events so far."""
        return Effect(self._rows, tuple({q: 1} for q in self._at), tuple(self._reports))


class CountTransfer(Transfer):
    """Computes how many partial matches result from one partial match in each state, for a formula without windows.

    Numbers are int64 as long as they fit, and Python's integers after that.
    """

    def __init__(self, evaluator: CompiledCelEvaluator) -> None:
        self._evaluator, transitions = evaluator, evaluator.transitions
        states = transitions.ended.size
        self._rows = 0
        # Column k follows the run that begins in state k.
        self._runs: NDArray[Any] = np.eye(states, dtype=np.int64)
        self._reports: NDArray[Any] = np.zeros(states, np.int64)
        stays = (transitions.skip == np.arange(states)) | transitions.ended
        marked = np.diff(transitions.begin) > 0
        # Where a final state is not emptied, its runs report at every event, so that no event is without effect.
        self._idle = stays.all(axis=1) & ~marked & bool(transitions.ended[transitions.finals].all())

    def advance(self, table: pa.Table) -> bool:
        """Read the next events; return False if there are too many states."""
        E = self._evaluator
        numbers, kinds = classified(E.automaton.A.predicates, Stream.from_table(table))
        classes = np.array([E.types[kind] for kind in kinds], np.int32)[numbers]
        self._rows += classes.size
        begun, m = 0, E.transitions
        if self._runs.dtype != object:
            begun = transfer(
                classes, 0, m.skip, m.begin, m.marks, m.finals, m.ended, self._idle,
                self._runs, np.empty_like(self._runs), self._reports,
            )  # fmt: skip
            if begun < classes.size:
                self._runs, self._reports = self._runs.astype(object), self._reports.astype(object)
        for c in classes[begun:].tolist():
            if not self._idle[c]:
                self._step(c)
        return self._runs.dtype != object or max(self._runs.max(), self._reports.max()).bit_length() <= BITS

    def effect(self) -> Effect:
        """Return the effect of the events so far."""
        runs = tuple({q: n for q, n in enumerate(column) if n} for column in self._runs.T.tolist())
        return Effect(self._rows, runs, tuple(self._reports.tolist()))

    def _step(self, c: int) -> None:
        """Read one event of class c, in Python's integers."""
        m = self._evaluator.transitions
        steps = [(p, q) for p, q in enumerate(m.skip[c].tolist()) if q >= 0]
        steps += [(p, q) for p, _, q in m.marks[m.begin[c] : m.begin[c + 1]].tolist()]
        after = np.zeros_like(self._runs)
        for p, q in steps:
            after[q] += self._runs[p]
        for q in m.finals.tolist():
            self._reports = self._reports + after[q]
            if m.ended[q]:
                after[q] = 0
        self._runs = after


def counter_of(query: SparkQuery, budget: Budget) -> CompiledCelEvaluator | None:
    """Return an evaluator that counts the matches of a formula without windows.

    Its automaton is determinized for all classes of events, so the states have the same numbers in every process.
    Return None if there is no such evaluator, or if it has too many states.
    """
    phi = query.in_cel(budget)
    scope = phi if isinstance(phi, Unsupported) else batch_scope(phi)
    if isinstance(phi, Unsupported) or isinstance(scope, Unsupported) or not scope.everything:
        return None
    try:
        E = CompiledCelEvaluator(phi, budget=budget, scope=scope)
        kinds = [sum(1 << i for i in chosen) for chosen, _ in types(E.automaton.A.predicates, budget)]
        E.budget = replace(budget, states=min(budget.states, STATES))
        E.grow(kinds, [len(kinds)])
    except BudgetExceeded:
        return None
    return E


@lru_cache(8)
def _transfers(text: str, budget: Budget) -> DFA | CompiledCelEvaluator | None:
    query = SparkQuery.from_json(text)
    return automaton_of(query, budget) or counter_of(query, budget)


def transfer_of(query: str, budget: Budget, begins: bool) -> Transfer | None:
    """Return the Transfer that computes the effect of a chunk; None if there is none for the query.

    query: the query as JSON. begins: whether the chunk is the first one.
    """
    match _transfers(query, budget):
        case None:
            return None
        case CompiledCelEvaluator() as evaluator:
            return CountTransfer(evaluator)
        case A:
            return ExpressionTransfer(A, begins)


CHUNK, LAST = "cerify_chunk", "cerify_last_chunk"
