"""Pack rows of one key into a blob: an Arrow record batch in the IPC format without its schema.

Spark passes rows to a stateful processor in Python one by one, as Python objects. So rows are packed by key before the
shuffle, and the processor's results are unpacked after it. The types remain those of Arrow.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Row

from cerify.automata.cea.model import CEA
from cerify.automata.dfa.evaluators import CompiledRunner
from cerify.automata.dfa.model import DFA
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.evaluation_plan import batch_scope
from cerify.automata.evaluate.scope import ReachBounds, Width, reports_at_last_event
from cerify.automata.evaluate.scope_columns import MICROSECONDS
from cerify.automata.evaluator import seal, unseal
from cerify.plan import rows_out_of_reach
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.denote import NO_PREDICATES, Predicates
from cerify.semantics.errors import CerifyError, InputError, Unsupported, errors_in
from cerify.semantics.events import TIME
from cerify.semantics.predicates import Anything
from cerify.spark.rows import (
    NO_KEY,
    NO_TIME,
    NO_TYPE,
    NOT_IN_SCHEMA,
    NOTHING,
    Classes,
    Columns,
    Mask,
    SparkRun,
    events_of,
    map_positions,
    mask,
    masks,
    shift_positions,
    split,
)
from cerify.spark.runs import CelRun, ExpressionRun, SparkQuery, automaton_of, reach_of_block, reach_of_query, start
from cerify.spark.transport import KIND, MATCH, serialize_error

if TYPE_CHECKING:  # PySpark before 4.0 lacks these classes
    from pyspark.sql.streaming.stateful_processor import ListState, StatefulProcessorHandle, ValueState

ROWS = "rows"
ROWS_AT_ONCE = 65_536  # of a task, packed together


def packed(table: pa.Table) -> bytes:
    """Return the rows of a table as a blob (bytes). `unpacked` reads it, given the schema of the table."""
    batches: list[pa.RecordBatch] = table.combine_chunks().to_batches()
    (batch,) = batches or [pa.RecordBatch.from_pylist([], table.schema)]
    return bytes(batch.serialize())


def unpacked(rows: Iterable[bytes], schema: pa.Schema) -> pa.Table:
    """Return the rows of some blobs as one table, in their order. schema: that of the packed tables."""
    return pa.Table.from_batches([pa.ipc.read_record_batch(pa.py_buffer(blob), schema) for blob in rows], schema)


def key_name(i: int) -> str:
    """Return the name of the i-th column of the key between Spark's operators."""
    return f"k{i}"


def packing(keys: Sequence[str], schema: pa.Schema) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for mapInArrow that packs rows by key: from batches of rows to batches of keys and blobs.

    keys: the columns of the key. schema: that of the rows.
    """

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in _gathered(batches, schema):
            yield _by_key(table, keys)

    return pack


def _gathered(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    some: list[pa.RecordBatch] = []
    for batch in batches:
        some.append(batch.cast(schema))
        if sum(b.num_rows for b in some) >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(some)
            some = []
    if any(b.num_rows for b in some):
        yield pa.Table.from_batches(some)


def _by_key(table: pa.Table, keys: Sequence[str]) -> pa.RecordBatch:
    order = pc.sort_indices(table.select(list(keys)), [(key, "ascending") for key in keys])
    (batch,) = table.take(order).combine_chunks().to_batches()
    before, after = batch.slice(0, batch.num_rows - 1), batch.slice(1)
    differ = np.zeros(batch.num_rows - 1, np.bool_)
    for key in keys:
        left, right = before.column(key), after.column(key)
        # Two nulls count as equal: the rows without a key stay together, and the processor sets them aside.
        same = pc.or_kleene(pc.equal(left, right), pc.and_(left.is_null(), right.is_null()))
        differ |= ~pc.fill_null(same, False).to_numpy(zero_copy_only=False)
    starts = np.concatenate([[0], np.flatnonzero(differ) + 1])
    ends = np.append(starts[1:], batch.num_rows)
    blobs = [bytes(batch.slice(a, b - a).serialize()) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    columns = [_one_zero(batch.column(key).take(pa.array(starts))) for key in keys]
    return pa.record_batch(
        [*columns, pa.array(blobs, pa.binary())], names=[*(key_name(i) for i in range(len(keys))), ROWS]
    )


def _one_zero(values: pa.Array) -> pa.Array:
    """Return the column of a key with -0.0 replaced by 0.0, because Spark's store of states distinguishes them."""
    return pc.add(values, pa.scalar(0, values.type)) if pa.types.is_floating(values.type) else values


# ---------------------------------------------------------------------------------------------------------------------
# The state of a query between batches: its saved run, and the choice among the kinds of runs.

QUERIES = 16  # compiled queries cached in a process
EXPRESSION = "event expression on Spark"
WINDOW, POSITION, SETTLED = "window on Spark", b"cerify position", b"cerify settled"


class Resumable(SparkRun):
    """A run: the evaluation of a query over the stream of one key. Its state can be saved between batches."""

    @property
    @abstractmethod
    def position(self) -> int:
        """Return the position of the next event."""

    def settle(self, watermark: int) -> pa.Table:
        """Return the matches that are certain once all events before the watermark (in microseconds) have been read."""
        return NOTHING

    @property
    def due(self) -> int | None:
        """Return the time, in microseconds, after which `settle` will have matches; None if there is none."""
        return None

    @abstractmethod
    def save(self) -> bytes:
        """Return the state of the run for `restore`. It contains only what later matches need."""

    @abstractmethod
    def reachable(self) -> NDArray[np.int64]:
        """Return the positions of all events that later matches may contain, ascending; perhaps also others.

        Call `save` before.
        """


class Compiled(ABC):
    """A compiled query, which can start runs (evaluations of one stream each) that share its automaton."""

    @abstractmethod
    def start(self) -> Resumable:
        """Return a run at the beginning of a stream."""

    @abstractmethod
    def restore(self, saved: bytes) -> Resumable:
        """Return the saved run. Raises InputError for the state of another query, or for an invalid state."""

    @property
    @abstractmethod
    def state(self) -> str:
        """Return a phrase for the contents of a saved run, such as "partial matches within the window"."""

    @property
    @abstractmethod
    def widths(self) -> Mapping[str, Width]:
        """Return the widths of the windows on values, by attribute."""

    @property
    @abstractmethod
    def is_memoryless(self) -> bool:
        """Return whether a run is equal to a new one after all its events have left every window."""


class ResumableCel(CelRun, Resumable):
    """The run of a CEL formula over the stream of one key. Its saved state has only events inside the windows."""

    @property
    def position(self) -> int:
        """Return the position of the next event."""
        return self._evaluator.position

    def save(self) -> bytes:
        """Return the state of the evaluator, as its own `save` returns it."""
        E = self._evaluator
        # Before saving, so that a key's state has only what matches in its window can still contain.
        used = E.store.compact(self.reaches)
        if E.scope.attributes:
            E.keys.keep(used)
        return E.save()

    def reachable(self) -> NDArray[np.int64]:
        """Return the positions of the events in partial matches."""
        return np.unique(self._evaluator.store.positions)


class CompiledCel(Compiled):
    """A compiled formula of CEL. evaluator: an evaluator of the formula that has read nothing."""

    def __init__(self, evaluator: CompiledCelEvaluator) -> None:
        self._evaluator = evaluator

    def start(self) -> ResumableCel:
        """Return a run with a new evaluator of the same automaton."""
        return ResumableCel(self._evaluator.fresh())

    def restore(self, saved: bytes) -> ResumableCel:
        """Return the saved run. Raises InputError for the state of another formula, or for an invalid state."""
        E = self._evaluator.fresh()
        E.restore(saved)
        return ResumableCel(E)

    @property
    def state(self) -> str:
        """Return a phrase for the contents of a saved run: partial matches, and whether a window bounds them."""
        scope = self._evaluator.scope
        bounded = scope.events is not None or scope.widths
        return f"partial matches{' within the window' if bounded else ', which no window bounds'}"

    @property
    def widths(self) -> Mapping[str, Width]:
        """Return the widths of the windows on values around the formula, by attribute."""
        return dict(self._evaluator.scope.widths)

    @property
    def is_memoryless(self) -> bool:
        """Return whether a match depends on no event before its first; see the function `is_memoryless`."""
        return is_memoryless(self._evaluator.automaton.A)


def is_memoryless(A: CEA) -> bool:
    """Return whether a match depends only on events from its first to its last, where it is reported.

    This holds if a run without marks stays in an initial state, whatever it reads. Then, after a gap longer than every
    window on values, the automaton is in the state of a new one.
    """
    stays = {t.source for t in A.transitions if not t.marks and t.predicate == Anything() and t.source == t.target}
    moves = {t.source for t in A.transitions if not t.marks and t.source != t.target}
    return A.initial <= stays - moves and reports_at_last_event(A)


class ResumableExpression(ExpressionRun, Resumable):
    """The run of an event expression over the stream of one key: the current state of its automaton."""

    def __init__(self, evaluator: CompiledRunner, automaton: str, state: int = 0, position: int = 0) -> None:
        super().__init__(evaluator)
        self._automaton, self._states, self._position = automaton, [state], position

    @property
    def position(self) -> int:
        """Return the position of the next event."""
        return self._position

    def save(self) -> bytes:
        """Return the state as JSON."""
        (state,) = self._states
        return seal(EXPRESSION, self._automaton, json.dumps({"state": state, "position": self._position}).encode())

    def reachable(self) -> NDArray[np.int64]:
        """Return no positions, because a match is a single event at which the expression takes place."""
        return np.empty(0, np.int64)


class CompiledExpression(Compiled):
    """A compiled event expression: its automaton."""

    def __init__(self, A: DFA) -> None:
        self._evaluator, self._states = CompiledRunner([A]), len(A.following)
        self._automaton = A.fingerprint

    def start(self) -> ResumableExpression:
        """Return a run in the first state."""
        return ResumableExpression(self._evaluator, self._automaton)

    def restore(self, saved: bytes) -> ResumableExpression:
        """Return the saved run. Raises InputError for the state of another expression, or for an invalid state."""
        fields = json.loads(unseal(saved, EXPRESSION, self._automaton))
        state, position = int(fields["state"]), int(fields["position"])
        if not 0 <= state < self._states:
            raise InputError("the saved state is damaged: the automaton has no such state; start again")
        return ResumableExpression(self._evaluator, self._automaton, state, position)

    @property
    def state(self) -> str:
        """Return a phrase for the contents of a saved run: the state of an automaton."""
        return "the number of a state of an automaton"

    @property
    def widths(self) -> Mapping[str, Width]:
        """Return no widths: expressions have no windows."""
        return {}

    @property
    def is_memoryless(self) -> bool:
        """Return False, because an expression may depend on all earlier events."""
        return False


class ResumableWindow(Resumable):
    """A run that keeps the rows that later matches may contain, and evaluates them again with the next rows.

    first: the position of the first row that is kept. ahead: None, or the seconds after a match in which further events
    may show that it is no match. Matches at the rows from position `settled` on are then still uncertain.
    """

    def __init__(
        self,
        query: SparkQuery,
        budget: Budget,
        reach: ReachBounds,
        ahead: Width | None,
        rows: pa.Table | None = None,
        first: int = 0,
        settled: int = 0,
    ) -> None:
        self._query, self._budget, self._reach, self._ahead = query, budget, reach, ahead
        # One microsecond more: the end of the window is inside it, and a fraction of a microsecond was cut off.
        self._width = 0 if ahead is None else int(ahead * MICROSECONDS) + 1
        self._rows, self._first, self._settled = rows, first, settled

    @property
    def position(self) -> int:
        """Return the position of the next event."""
        return self._first + (0 if self._rows is None else self._rows.num_rows)

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """Read events and return the matches that they complete.

        If later events may show that a match is none (`ahead`), return no matches: `settle` returns them.
        """
        before = 0 if self._rows is None else self._rows.num_rows
        self._rows = table if self._rows is None else pa.concat_tables([self._rows, table])
        if self._ahead is not None:
            return NOTHING
        found = self._matches(before, self._rows.num_rows)
        self._delete(rows_out_of_reach(self._rows, self._reach))
        return found

    def settle(self, watermark: int) -> pa.Table:
        """Return the matches that are certain, because every event that could refute them is before the watermark."""
        if self.due is None or self.due >= watermark:
            return NOTHING
        before, ends = self._settled - self._first, self._ends()
        settled = int(np.searchsorted(ends, watermark))
        found = self._matches(before, settled)
        self._settled = self._first + settled
        kept = ends[settled] - self._width if settled < len(ends) else watermark  # it looks back as far as ahead
        self._delete(int(np.searchsorted(ends, kept)))
        return found

    @property
    def due(self) -> int | None:
        """Return the time in microseconds after which the earliest uncertain matches are certain; None if there are
        none.
        """
        ends = self._ends()[self._settled - self._first :]
        return int(ends[0]) if len(ends) else None

    def _ends(self) -> NDArray[np.int64]:
        """Return for each row the time in microseconds until which events can refute its matches; empty if `ahead` is
        None.
        """
        if self._ahead is None or self._rows is None or not self._rows.num_rows:
            return np.empty(0, np.int64)
        return np.asarray(micros(self._rows[TIME])) + self._width

    def _matches(self, begin: int, end: int) -> pa.Table:
        """Return the matches at the rows begin to end - 1."""
        # A new run over the kept rows each time, since the evaluator's own state cannot be saved.
        run = start(self._query, self._budget)
        found = pa.concat_tables([run.push(self._rows), run.finish()])
        # The other rows are read again only for the matches that reach back to them; their own were reported before.
        among = pc.and_(pc.greater_equal(found["at"], begin), pc.less(found["at"], end))
        return shift_positions(found.filter(among), self._first)

    def _delete(self, old: int) -> None:
        """Delete the first `old` rows."""
        assert self._rows is not None
        self._rows, self._first = self._rows.slice(old), self._first + old

    def save(self) -> bytes:
        """Return the rows as an Arrow IPC stream, with the position of the first row as metadata."""
        rows = pa.table({}) if self._rows is None else self._rows
        places = {POSITION: str(self._first).encode(), SETTLED: str(self._settled).encode()}
        rows = rows.replace_schema_metadata(places)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows)
        return seal(WINDOW, self._query.identity, bytes(sink.getvalue()))

    def reachable(self) -> NDArray[np.int64]:
        """Return the positions of the rows that are kept."""
        return np.arange(self._first, self.position)


class CompiledWindow(Compiled):
    """A query whose matches depend only on the events of a bounded window, on the attribute that orders the rows.

    Its runs evaluate the rows of the window again and again. So every such query can run over a stream, even if the
    state of its evaluator cannot be saved. ahead: see ResumableWindow.
    """

    def __init__(self, query: SparkQuery, budget: Budget, reach: ReachBounds, ahead: Width | None) -> None:
        self._query, self._budget, self._reach, self.ahead = query, budget, reach, ahead
        start(query, budget)

    def start(self) -> ResumableWindow:
        """Return a run without rows."""
        return ResumableWindow(self._query, self._budget, self._reach, self.ahead)

    def restore(self, saved: bytes) -> ResumableWindow:
        """Return the saved run. Raises InputError for the state of another query, or for an invalid state."""
        rows = pa.ipc.open_stream(unseal(saved, WINDOW, self._query.identity)).read_all()
        first, settled = (int(rows.schema.metadata.get(name, 0)) for name in (POSITION, SETTLED))
        saved_rows = rows if rows.num_columns else None
        return ResumableWindow(self._query, self._budget, self._reach, self.ahead, saved_rows, first, settled)

    @property
    def state(self) -> str:
        """Return a phrase for the contents of a saved run: the rows of the window."""
        ahead = "" if self.ahead is None else f"; a match is reported {self.ahead:g} seconds after its last event"
        return f"the rows of the last {self._reach}, which are evaluated again with the next ones{ahead}"

    @property
    def widths(self) -> Mapping[str, Width]:
        """Return by attribute how far back rows are kept for later matches."""
        return dict(self._reach.widths)

    @property
    def is_memoryless(self) -> bool:
        """Return True, unless the window counts events."""
        return self._reach.events == 1


@lru_cache(QUERIES)
def compiled(text: str, clock: str = TIME, budget: Budget = Budget()) -> Compiled:
    """Return the compiled form of a query, given as JSON; it is cached. clock: the attribute that orders the rows.

    Raises ParseError, IllFormed, Unsupported, BudgetExceeded.
    """
    return compiled_query(SparkQuery.from_json(text), clock, budget)


def compiled_query(query: SparkQuery, clock: str = TIME, budget: Budget = Budget()) -> Compiled:
    """Same as `compiled`, but for a SparkQuery, and without a cache."""
    with errors_in(query.text):
        if query.language == "eql":
            raise Unsupported("rules in EQL cannot run over a stream; use cerify.spark.match over data at rest")
        if (A := automaton_of(query, budget)) is not None:
            return CompiledExpression(A)
        phi = query.in_cel(budget)
        scope = phi if isinstance(phi, Unsupported) else batch_scope(phi)
        if not isinstance(phi, Unsupported) and not isinstance(scope, Unsupported):
            return CompiledCel(CompiledCelEvaluator(phi, query.output, budget=budget, scope=scope))
        assert isinstance(scope, Unsupported)
        ahead, reach = None, reach_of_query(query, budget)
        if reach is None and (reach := reach_of_block(query.parsed, ahead=True)) is not None:
            ((_, ahead),) = reach.widths
        if reach is None or not {a for a, _ in reach.widths} <= {clock}:
            raise _refused(query, scope)
        return CompiledWindow(query, budget, reach, ahead)


def _refused(query: SparkQuery, error: Unsupported) -> Unsupported:
    if query.plugin.unsaved:
        return Unsupported(query.plugin.unsaved)
    return Unsupported(
        f"{error.message}; or bound the state by WITHIN around the query, in events or in time", error.span
    )


# ---------------------------------------------------------------------------------------------------------------------
# The description of a stream for workers: the query, and the columns of the data by their purpose.


@dataclass(frozen=True)
class StreamPlan:
    """A query, its columns, and the Arrow schema of the rows. The first column of the order is the event time."""

    query: SparkQuery
    columns: Columns
    schema: pa.Schema

    @property
    def event_time(self) -> str:
        """Return the column of the event time, to which the watermark refers."""
        return self.columns.order[0]

    @cached_property
    def compiled(self) -> Compiled:
        """Return the compiled query. Raises ParseError, IllFormed, Unsupported, BudgetExceeded."""
        if self.query.predicates:  # the JSON, which is the key of the cache, lacks them
            return compiled_query(self.query, self.clock)
        return compiled(self.query.to_json(), self.clock)

    @property
    def clock(self) -> str:
        """Return the name that the event time has in the query: `time`, or an attribute."""
        return TIME if self.columns.time == self.event_time else self.event_time

    @cached_property
    def held_schema(self) -> pa.Schema:
        """Return the schema of the rows that wait until the watermark passes them."""
        return pa.schema([self.schema.field(name) for name in self.columns.all_columns])

    @cached_property
    def order(self) -> list[str]:
        """Return the columns that order events. Events that are equal in all of them are interchangeable."""
        # The other columns come last: events that differ in them get one order, however Spark delivers them.
        ids = () if self.columns.id is None else (self.columns.id,)
        return [*dict.fromkeys((*self.columns.order, *ids, *self.columns.all_columns))]

    @cached_property
    def idle_timeout(self) -> int | None:
        """Return after how many microseconds without an event a key's state can be removed; None if it must be kept."""
        widths = self.compiled.widths
        if self.clock not in widths or not self.compiled.is_memoryless:
            return None
        return int(widths[self.clock] * MICROSECONDS) + 1

    @cached_property
    def fingerprint(self) -> bytes:
        """Return a hash of all that the state of a key depends on: the parsed query, and the columns that it needs."""
        parts = [self.query.identity, asdict(self.columns), self._types]
        return sha256(json.dumps(parts, sort_keys=True).encode()).digest()[:16]

    @property
    def _types(self) -> list[tuple[str, str]]:
        return [(field.name, str(field.type)) for field in self.held_schema]

    def to_json(self) -> str:
        """Return the plan as JSON."""
        schema = self.schema.serialize().to_pybytes().hex()
        return json.dumps({"query": self.query.to_json(), "columns": asdict(self.columns), "schema": schema})

    @classmethod
    def from_json(cls, text: str, predicates: Predicates = NO_PREDICATES) -> StreamPlan:
        """Return the plan that `to_json` wrote, with the predicates of its query."""
        fields = json.loads(text)
        columns: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in fields["columns"].items()
        }
        schema = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(fields["schema"])))
        return cls(SparkQuery.from_json(fields["query"], predicates), Columns(**columns), schema)


# ---------------------------------------------------------------------------------------------------------------------
# The stream of one key whose events come in any order: the rows it holds, their evaluation, and its state.
#
# A row is held until the watermark has passed its time, and is late if it comes after that. So the matches depend on
# which rows are late, not on how the others are distributed over batches.

POSITION_FIELD, ID = "position", "id"
LATE = "late"
REASONS = NO_KEY, NO_TIME, NO_TYPE, NOT_IN_SCHEMA, LATE
MILLISECOND = 1000
PIECE = 65_536  # events evaluated at a time


class Ids:
    """The ids of the events that later matches may contain, by position."""

    def __init__(self, kind: pa.DataType, saved: bytes | None = None) -> None:
        self._schema = pa.schema([(POSITION_FIELD, pa.int64()), (ID, kind)])
        self._ids = self._schema.empty_table() if saved is None else unpacked([saved], self._schema)

    def add(self, position: int, ids: pa.ChunkedArray) -> None:
        """Add the ids of the next events; the first one has this position."""
        positions = pa.array(np.arange(position, position + len(ids)))
        self._ids = pa.concat_tables([self._ids, pa.table([positions, ids], schema=self._schema)])

    def replace_positions(self, matches: pa.Table) -> pa.Table:
        """Return the matches with ids in place of positions."""
        known = self._ids[POSITION_FIELD].to_numpy()
        ids = self._ids[ID].combine_chunks()
        return map_positions(matches, ids.type, lambda positions: ids.take(pa.array(np.searchsorted(known, positions))))

    def save(self, reachable: NDArray[np.int64]) -> bytes:
        """Return the ids of these positions as a blob, and remove all others."""
        self._ids = self._ids.filter(pa.array(np.isin(self._ids[POSITION_FIELD].to_numpy(), reachable)))
        return packed(self._ids)


def split_invalid_rows(plan: StreamPlan, rows: pa.Table, watermark: int) -> tuple[pa.Table, Mapping[str, pa.Table]]:
    """Return (valid, invalid): the rows of streams, and the other rows by the first reason that applies.

    A row is invalid if it has no key, no time or no type, if it does not fit the schema, or if it is late. watermark:
    in microseconds.
    """
    good, invalid = split(rows, _masks(plan, rows, watermark))
    reasons = dict.fromkeys(reason for reason, _ in invalid)
    return good, {one: pa.concat_tables([some for reason, some in invalid if reason == one]) for one in reasons}


def micros(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return times as integers in microseconds."""
    return times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64())


def _masks(plan: StreamPlan, rows: pa.Table, watermark: int) -> Iterator[tuple[str, Mask]]:
    yield from masks(rows, plan.columns, plan.query.schema, [(NO_TIME, plan.event_time)])
    if watermark > 0:
        yield LATE, mask(pc.less(micros(rows[plan.event_time]), watermark))


@dataclass(frozen=True)
class KeyState:
    """The state of a key between batches, except its rows that wait for the watermark (the held rows).

    plan: the fingerprint of the query and its columns. first: the time of the earliest held row, or, if earlier, the
    time after which the run has more matches. last: the time of the latest evaluated row. Both are in microseconds.
    began: the number of events before the first one of the run. position: the number of events evaluated. run: the
    saved run. ids: the ids of the events that later matches may contain. timer: the watermark, in milliseconds, at
    which Spark visits the key if no event comes earlier.
    """

    plan: bytes
    first: int | None = None
    last: int | None = None
    began: int = 0
    position: int = 0
    run: bytes | None = None
    ids: bytes | None = None
    timer: int | None = None


def received(
    plan: StreamPlan, kept: KeyState, rows: pa.Table, watermark: int
) -> tuple[KeyState, pa.Table, Mapping[str, pa.Table]]:
    """Add new rows to the rows of a key. Return (state, rows, invalid).

    state: the new state of the key. rows: the valid new rows, which wait for the watermark. invalid: the others, by
    reason. kept: the state before. watermark: in microseconds; 0 if there is none yet.
    """
    good, invalid = split_invalid_rows(plan, rows, watermark)
    if good.num_rows:
        first = pc.min(micros(good[plan.event_time])).as_py()
        kept = replace(kept, first=first if kept.first is None else min(first, kept.first))
    return kept, good.select(plan.held_schema.names), invalid


def is_due(kept: KeyState, watermark: int) -> bool:
    """Return whether there is something to evaluate: waiting rows before the watermark, or matches that are now
    certain.

    watermark: in microseconds; 0 if there is none yet.
    """
    return kept.first is not None and watermark > 0 and kept.first < watermark


def evaluated(
    plan: StreamPlan, kept: KeyState, held: pa.Table, watermark: int
) -> tuple[KeyState, pa.Table, list[pa.Table]]:
    """Evaluate the held rows before the watermark. Return (state, rest, matches).

    state: the state of the key afterwards. rest: the rows that still wait. matches: tables of matches. kept: the state
    before. watermark: in microseconds.
    """
    passed = pc.less(micros(held[plan.event_time]), watermark)
    # Strictly before the watermark: an event at exactly this time may still come.
    ready, rest = _sorted(held.filter(passed), plan.order), held.filter(pc.invert(passed))
    run = plan.compiled.start() if kept.run is None else plan.compiled.restore(kept.run)
    id_col = plan.columns.id
    ids = None if id_col is None else Ids(plan.held_schema.field(id_col).type, kept.ids)
    found = []

    def add(matches: pa.Table) -> None:
        if matches.num_rows:
            found.append(shift_positions(matches, kept.began) if ids is None else ids.replace_positions(matches))

    for first in range(0, ready.num_rows, PIECE):
        (rows,) = ready.slice(first, PIECE).combine_chunks().to_batches()
        if ids is not None:
            ids.add(run.position, rows.column(id_col))
        try:
            add(run.push(events_of(rows, plan.columns, plan.query.schema)))
        except CerifyError as error:
            raise _placed(plan, rows, error) from None
    add(run.settle(watermark))
    due = [pc.min(micros(rest[plan.event_time])).as_py(), run.due]
    kept = replace(
        kept,
        first=min((time for time in due if time is not None), default=None),
        last=pc.max(micros(ready[plan.event_time])).as_py() if ready.num_rows else kept.last,
        position=kept.began + run.position,
        run=run.save(),
    )
    return kept if ids is None else replace(kept, ids=ids.save(run.reachable())), rest, found


def _sorted(rows: pa.Table, names: list[str]) -> pa.Table:
    """Return the rows ordered by these columns. A struct is compared field by field; lists have no order."""
    flat = rows.select(names)
    while any(pa.types.is_struct(field.type) for field in flat.schema):
        flat = flat.flatten()
    flat = flat.rename_columns([str(i) for i in range(flat.num_columns)])
    keys = [(field.name, "ascending") for field in flat.schema if not pa.types.is_nested(field.type)]
    return rows.take(pc.sort_indices(flat, keys))


def remembered(plan: StreamPlan, kept: KeyState, watermark: int) -> KeyState | None:
    """Return the state of a key to store at this watermark; None if the key needs no state any more."""
    wake = wakes(plan, kept)
    if kept.first is not None or kept.run is None or wake is None or watermark < wake * MILLISECOND:
        return kept
    if plan.columns.id is not None:
        return None
    return KeyState(kept.plan, began=kept.position, position=kept.position, timer=kept.timer)


def wakes(plan: StreamPlan, kept: KeyState) -> int | None:
    """Return the watermark, in milliseconds, at which Spark must visit the key if no event comes earlier.

    Return None if it need not visit the key.
    """
    if kept.first is not None:
        time = kept.first
    elif kept.run is not None and kept.last is not None and plan.idle_timeout is not None:
        time = kept.last + plan.idle_timeout
    else:
        return None
    return max(0, time // MILLISECOND) + 1  # 0 stands for no watermark


def same_plan(plan: StreamPlan, kept: KeyState) -> KeyState:
    """Return the state if it belongs to this query, otherwise raise InputError.

    A state that the previous release wrote is converted.
    """
    if kept.plan != plan.fingerprint:
        raise InputError(
            "the checkpoint belongs to another query or other columns; continue with its own query, or "
            "start with a new checkpoint"
        )
    return replace(kept, plan=plan.fingerprint)


def _placed(plan: StreamPlan, rows: pa.RecordBatch, error: CerifyError) -> CerifyError:
    key = ", ".join(f"{name}={rows.column(name)[0].as_py()!r}" for name in plan.columns.keys)
    error.message = f"{key}: {error.message}"
    return error


# ---------------------------------------------------------------------------------------------------------------------
# The stream of each key, evaluated with the state in Spark's store.
#
# Rows are read and yielded as blobs: Arrow tables as bytes.

PIECE_SIZE = 8_192  # rows of a blob


class KeyOperator:
    """Evaluates the rows of one key at a time, and reads and writes the key's two states in Spark.

    held: the rows that wait for the watermark, as Arrow IPC. kept: the KeyState.
    """

    def __init__(self, plan: StreamPlan, handle: StatefulProcessorHandle, held: ListState, kept: ValueState) -> None:
        self._plan = plan
        self._handle, self._held, self._kept = handle, held, kept

    def process_rows(self, key: Any, rows: Iterable[Any], watermark: int) -> Iterator[Row]:
        """Yield the rows of the answer for new rows of a key, given as blobs. The watermark is in milliseconds."""
        plan, passed = self._plan, watermark * MILLISECOND
        with serialize_error():
            before = self._state()
            came = unpacked((row[ROWS] for row in rows), plan.schema)
            kept, more, invalid = received(plan, before, came, passed)
            for reason, table in invalid.items():
                yield from _output_rows(key, reason, table)
            if not more.num_rows:
                return
            if is_due(kept, passed):
                yield from self._evaluate(key, before, kept, more, passed)
            else:
                self._held.appendList(_blobs(more))
                self._keep(before, kept)

    def wake(self, key: Any, timer: int, watermark: int) -> Iterator[Row]:
        """Yield the rows of the answer after the watermark has passed a timer of the key. Both are in milliseconds."""
        passed = watermark * MILLISECOND
        with serialize_error():
            kept = self._state()
            if kept.timer != timer:
                return
            before = replace(kept, timer=None)  # Spark has deleted it
            if is_due(kept, passed):
                yield from self._evaluate(key, before, before, None, passed)
            else:
                self._keep(before, remembered(self._plan, before, passed))

    def _evaluate(
        self, key: Any, before: KeyState, kept: KeyState, more: pa.Table | None, watermark: int
    ) -> Iterator[Row]:
        plan = self._plan
        held = unpacked((blob for (blob,) in self._held.get()), plan.held_schema)
        held = held if more is None else pa.concat_tables([held, more])
        kept, rest, found = evaluated(plan, kept, held, watermark)
        for table in found:
            yield from _output_rows(key, MATCH, table)
        if rest.num_rows:
            self._held.put(_blobs(rest))
        else:
            self._held.clear()
        self._keep(before, remembered(plan, kept, watermark))

    def _state(self) -> KeyState:
        values: Any = self._kept.get()
        if values is None:
            return KeyState(self._plan.fingerprint)
        return same_plan(self._plan, KeyState(*values))

    def _keep(self, before: KeyState, kept: KeyState | None) -> None:
        timer = None if kept is None else wakes(self._plan, kept)
        if timer != before.timer:
            if before.timer is not None:
                self._handle.deleteTimer(before.timer)
            if timer is not None:
                self._handle.registerTimer(timer)
        if kept is None:
            self._kept.clear()
        else:
            self._kept.update(astuple(replace(kept, timer=timer)))


def _blobs(rows: pa.Table) -> list[tuple[bytes]]:
    return [(packed(rows.slice(start, PIECE_SIZE)),) for start in range(0, rows.num_rows, PIECE_SIZE)]


def _output_rows(key: Any, kind: str, table: pa.Table) -> Iterator[Row]:
    names = [key_name(i) for i in range(len(key))]
    for (blob,) in _blobs(table):
        yield Row(*names, KIND, ROWS)(*key, kind, blob)
