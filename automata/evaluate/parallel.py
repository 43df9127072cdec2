"""Read one stream on several cores: each thread reads a chunk of a batch, or the events of some keys.

The compiled loops and Arrow run without the interpreter's lock. How a batch is divided depends on the query; the
matches do not.

- If the query looks back only over a window (cerify.plan), each thread reads a chunk of consecutive events. Before its
  chunk, the thread reads the events of one window without reporting matches. The partial matches after the last chunk
  are those of the whole batch.
- Else, under PARTITION BY, each thread reads all events and follows the partial matches of some keys. It treats all
  other events as having no key, and skips them.
- Else one thread reads the events, while others classify the next ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from io import BytesIO
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerify.automata.evaluate.compiled import PIECE, Classes, CompiledCelEvaluator
from cerify.automata.evaluate.scope import ReachBounds
from cerify.automata.evaluate.scope_columns import RangeWindowState
from cerify.automata.evaluate.tables import pieces
from cerify.automata.evaluator import Batch, Consumption, Counters, Evaluator
from cerify.semantics.arguments import too_many_matches
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Match, Stream, dictionary_of

T = TypeVar("T")
Work = Callable[[CompiledCelEvaluator, Stream, Classes | None], T]

LEAST = 65_536  # events of a chunk; below, threads gain little
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # an odd number whose multiples spread over 64 bits


class ParallelEvaluator(Evaluator):
    """Finds the matches of a formula of CEL with compiled code in several threads.

    parts: the evaluators. If threads divide the keys, each thread has one of them; otherwise there is only one. An
    error inside a batch makes all of them unusable.
    """

    STATE = "parallel"

    def __init__(
        self, evaluator: CompiledCelEvaluator, workers: int, reach: ReachBounds | None, least: int = LEAST
    ) -> None:
        """Make an evaluator of the same query as `evaluator` that has read nothing.

        reach: how far the query looks back; None if it may depend on all earlier events. least: the least number of
        events in a chunk.
        """
        self.workers, self.budget, self._least = workers, evaluator.budget, least
        self.attributes = evaluator.attributes
        divisible = evaluator.consumption is Consumption.NONE  # else a match takes events away from all later ones
        self._reach = reach if divisible else None
        # a match that binds nothing has no key, and would be reported by each thread
        scope = evaluator.scope
        keyed = scope.keys or (scope.attributes and evaluator.reports_at_last_event)
        keyed = divisible and self._reach is None and keyed
        self.parts = [evaluator.fresh() for _ in range(workers if keyed else 1)]
        for E in self.parts:
            E.check = None
        self._made = 0  # nodes of parts that are gone

    def push_stream(self, S: Stream, limit: int | None = None) -> list[Match]:
        found = sorted(m for some in self._map_parts(S, lambda E, part, c: E.push_stream(part, limit, c)) for m in some)
        self._require_at_most(len(found), limit)
        return found[:limit]

    def push_arrow(self, batch: Batch, limit: int | None = None) -> pa.Table:
        """Return what CompiledEvaluator.push_arrow returns, computed in several threads.

        If each thread has its own keys, the table lists the matches of one thread after those of another.
        """
        with self.budget.timed():
            S = self._opened(batch, limit)
            found = pa.concat_tables(self._map_parts(S, lambda E, part, c: E.push_arrow(part, limit, c)))
        self._require_at_most(found.num_rows, limit)
        if limit is not None and found.num_rows > limit:
            found = found.take(pc.sort_indices(found["at"])[:limit])
        return found

    def tally(self, S: Stream) -> int:
        return sum(self._map_parts(S, lambda E, part, classes: E.tally(part, classes)))

    def _require_at_most(self, found: int, limit: int | None) -> None:
        if limit is None and found > self.budget.matches:
            raise too_many_matches(self.budget.matches)

    def _map_parts(self, S: Stream, work: Work[T]) -> list[T]:
        """Read a batch in several threads; return the result of `work` for each part."""
        self._require_whole()
        self._whole = False
        with ThreadPoolExecutor(self.workers) as pool:
            threads = _Threads(pool)
            if len(self.parts) > 1:
                found = self._by_keys(S, work, threads)
            elif (cuts := self._cuts(S)) is not None:
                found = self._by_chunks(S, cuts, work, threads)
            else:
                parts = pieces(S, PIECE) or [S]
                classes = threads.start(self.parts[0].classes, parts)
                found = [work(self.parts[0], part, some()) for part, some in zip(parts, classes, strict=True)]
        self.position = self.parts[0].position
        self._whole = True
        return found

    def _by_keys(self, S: Stream, work: Work[T], threads: _Threads) -> list[T]:
        first = self.parts[0]
        name, slices = first.keys.attributes[0], pieces(S, len(S) // self.workers + 1) or [S]
        classes = np.concatenate(threads.all(first.classes, slices))
        shares = np.concatenate(threads.all(lambda part: shares_of(part.table, name, self.workers), slices))
        numbered = list(enumerate(self.parts))
        return threads.all(lambda one: work(one[1], _with_keys(S, name, shares == one[0]), classes), numbered)

    def _cuts(self, S: Stream) -> list[tuple[int, int, int]] | None:
        """Return (low, start, end) for each chunk: its thread reads from low on, and reports matches from start to end.

        Return None if the query cannot be evaluated in chunks, if the chunks are too short, or if a window may begin
        before the batch.
        """
        size = -(-len(S) // self.workers)
        if self._reach is None or self.workers == 1 or size < self._least:
            return None
        cuts = [(0, 0, size)]
        for start in range(size, len(S), size):
            lows = [start - self._reach.events + 1, *(self._low(S, start, *one) for one in self._reach.widths)]
            if min(lows) < 1:
                return None
            cuts.append((min(lows), start, min(start + size, len(S))))
        return cuts

    def _low(self, S: Stream, start: int, attribute: str, width: float) -> int:
        """Return the first row of the window on this attribute that ends with row `start`.

        Return 0 if the window may reach into an earlier batch.
        """
        # How many rows a window on values spans is known only from the values: the slice doubles until it is long
        # enough.
        length = self._least
        while length < start:
            first = self.position + start - length
            _, low, _ = RangeWindowState(attribute, width).advance(S.table.slice(start - length, length + 1), first)
            if low[-1] > first:
                return int(low[-1]) - self.position
            length *= 2
        return 0

    def _by_chunks(self, S: Stream, cuts: list[tuple[int, int, int]], work: Work[T], threads: _Threads) -> list[T]:
        before, parts = self.parts[0].position, [self.parts[0], *(self.parts[0].fresh() for _ in cuts[1:])]

        def chunk(one: tuple[CompiledCelEvaluator, tuple[int, int, int]]) -> T:
            E, (low, start, end) = one
            E.position = before + low
            for _ in E.advance(S.part(low, start - low)):
                pass
            return work(E, S.part(start, end - start), None)

        found = threads.all(chunk, list(zip(parts, cuts, strict=True)))
        self._made += sum(E.store.node_count for E in parts[:-1])
        self.parts = parts[-1:]
        return found

    @property
    def identity(self) -> str:
        return f"{self.parts[0].identity} {len(self.parts)}"

    def dump(self) -> bytes:
        file = BytesIO()
        np.savez(file, *(np.frombuffer(E.dump(), np.uint8) for E in self.parts))
        return file.getvalue()

    def load(self, data: bytes) -> None:
        with np.load(BytesIO(data), allow_pickle=False) as saved:
            parts = [E.fresh() for E in self.parts]
            for i, E in enumerate(parts):
                E.load(saved[f"arr_{i}"].tobytes())
        if len({E.position for E in parts}) > 1:
            raise ValueError("the saved evaluators of the threads are at different positions")
        self.parts, self.position = parts, parts[0].position

    @property
    def counters(self) -> Counters:
        made = self._made + sum(E.store.node_count for E in self.parts)
        return Counters(self.position - self._first, made, self.parts[0].counters.states)

    def remade(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        return ParallelEvaluator, (self.parts[0].fresh(), self.workers, self._reach, self._least)


class _Threads:
    """Runs work in a pool of threads, in the context of the caller, so that the caller's time limit applies."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool

    def start(self, work: Callable[[Any], T], items: Iterable[Any]) -> list[Callable[[], T]]:
        """Start the work on each item; return for each a function that waits for the result."""
        return [self._pool.submit(copy_context().run, work, item).result for item in items]

    def all(self, work: Callable[[Any], T], items: Iterable[Any]) -> list[T]:
        """Return the result of the work for each item."""
        return [result() for result in self.start(work, items)]


def parallel(
    evaluator: Evaluator, workers: int, reach_of: Callable[[Formula], ReachBounds | None]
) -> ParallelEvaluator:
    """Return an evaluator of the same query with `workers` threads. Raises Unsupported unless it is compiled CEL."""
    if not isinstance(evaluator, CompiledCelEvaluator):
        raise Unsupported(
            "only the compiled evaluator of CEL supports workers; leave the option out, or use evaluator='kernel'"
        )
    return ParallelEvaluator(evaluator, workers, reach_of(evaluator.phi))


def shares_of(table: pa.Table, name: str, workers: int) -> NDArray[np.uint8]:
    """Return for each row the number of its thread. Rows with equal values of an attribute get the same thread."""
    if name not in table.column_names or pa.types.is_null(table[name].type):
        return np.zeros(table.num_rows, np.uint8)
    column = table[name]
    if pa.types.is_dictionary(column.type) or pa.types.is_string(column.type):
        encoded = dictionary_of(column)
        # Not `hash`, which differs between processes: after a restored state each key must go to the same part.
        hashes = [crc32((value or "").encode()) % workers for value in encoded.dictionary.to_pylist()]
        codes = pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False)
        by_text: NDArray[np.uint8] = np.array(hashes or [0], np.uint8)[codes]
        return by_text
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())  # nanoseconds do not matter here
    # as floats, since 1 and 1.0 are one key, even if the column's type changes between batches; -0.0 + 0.0 is 0.0
    values = pc.fill_null(column.cast(pa.float64(), safe=False), 0.0).to_numpy() + 0.0
    shares: NDArray[np.uint8] = ((values.view(np.uint64) * GOLDEN >> np.uint64(48)) % np.uint64(workers)).astype(
        np.uint8
    )
    return shares


def _with_keys(S: Stream, name: str, rows: NDArray[np.bool_]) -> Stream:
    """Return the stream with NULL as the key attribute in all other rows."""
    if name not in S.table.column_names:
        return S
    column = S.table[name]
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kept = pc.if_else(pa.array(rows), column, pa.scalar(None, column.type))
    return Stream.from_table(S.table.set_column(S.table.column_names.index(name), name, kept))
