"""The matches of a SASE+ query by compiled loops over Arrow columns; the readable twin is evaluate.BlockRunner.

Supported are queries without negated components whose conditions between events programs.py compiles, over streams
whose times, if there is a window, ascend. Every run is followed on its own.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cerify.automata.evaluate.classify import classified
from cerify.automata.evaluate.stores import numba_required
from cerify.automata.nfab import answers
from cerify.automata.nfab import opcodes as op
from cerify.automata.nfab.encoder import ColumnEncoder, kinds_of
from cerify.automata.nfab.evaluate import require_matches
from cerify.automata.nfab.layout import Layout, layout_of
from cerify.automata.nfab.memory import Memory
from cerify.automata.nfab.plan import QueryPlan
from cerify.automata.nfab.programs import Kind, why_not
from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Bindings, Stream
from cerify.semantics.predicates import Both, OfType, about
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import NO_OPERATIONS, Operations
from cerify.semantics.sase.reading import DECIDED, Reading

T = TypeVar("T")
PIECE = 131_072  # events of a batch that are read at a time


class CompiledBlockRunner:
    """The matches of one query block over a stream that comes in batches.

    `tried` and `tried_count` return Unsupported for events that the loops cannot read, where `read` and `count` raise
    it. Raises Unsupported for a query of which `why_not` says why, and BudgetExceeded.
    """

    def __init__(self, q: sase.Query, reading: Reading = DECIDED, budget: Budget = Budget()) -> None:
        if (refused := why_not(q)) is not None:
            raise refused
        self.q, self.reading, self.budget = q, reading, budget
        self.plan = QueryPlan(q, reading, NO_OPERATIONS)
        self.variables = [k.variable for k in self.plan.pattern]
        self.position = 0
        self._passing = []
        for state in self.plan.states:
            passing: Any = OfType(state.type)
            for p in state.on_event:
                passing = Both(passing, about(p, None))
            self._passing.append(passing)
        self._encoder: ColumnEncoder | None = None  # once the columns of the first batch are known
        self._layouts: dict[tuple[tuple[str, Kind], ...], Layout] = {}

    def fresh(self) -> CompiledBlockRunner:
        """A runner at the beginning of another stream, which shares what has been compiled."""
        runner = copy(self)
        runner.position, runner._encoder = 0, None
        return runner

    def begin(self, start: int) -> None:
        """Begin with the event at that position of the stream. To be called before the first event."""
        self.position = start

    def bound(self, S: Stream) -> list[Bindings]:
        """What the events of a batch complete."""
        return self.rows(self.read(S))

    def bound_at_end(self) -> list[Bindings]:
        """What the end of the stream completes."""
        return self.rows(self.finish())

    def read(self, batch: Stream | pa.RecordBatch | pa.Table) -> pa.Table:
        """The matches that the rows of a batch complete: a table with a list of positions for each variable."""
        return _certain(self.tried(batch))

    def tried(self, batch: Stream | pa.RecordBatch | pa.Table) -> pa.Table | Unsupported:
        """As `read`, or why the batch cannot be read; if it is not the first one, the runner is of no use then."""
        tables = []
        for S in _pieces(batch):
            found = self._piece(S, True)
            if isinstance(found, Unsupported):
                return found
            if len(found[0]) > 1:
                tables.append(self._table(*found))
        return pa.concat_tables(tables) if tables else self._no_matches

    @cached_property
    def _no_matches(self) -> pa.Table:
        return self._table(np.zeros(1, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.int64))

    def count(self, batch: Stream | pa.RecordBatch | pa.Table) -> int:
        """The number of matches that the rows of a batch complete; they are not listed."""
        return _certain(self.tried_count(batch))

    def tried_count(self, batch: Stream | pa.RecordBatch | pa.Table) -> int | Unsupported:
        """As `count`, or why the batch cannot be read; see `tried`."""
        number = 0
        for S in _pieces(batch):
            found = self._piece(S, False)
            if isinstance(found, Unsupported):
                return found
            number += int(self._memory.numbers[op.FOUND])
        return number

    def finish(self) -> pa.Table:
        """The matches that the end of the stream completes, as a table like that of `read`."""
        found: list[list[tuple[int, int]]] = []
        if not (stopped := self._stopped()):
            return self._no_matches
        for last in stopped:
            events, node = [], last
            while node >= 0:
                before, position, component, _, _ = self._memory.nodes[node].tolist()
                events.append((component, position))
                node = before
            found.append(events[::-1])
        flat = [event for events in found for event in events]
        offsets = np.cumsum([0, *map(len, found)])
        labels, events_ = (np.array([event[i] for event in flat], np.int64) for i in (0, 1))
        return self._table(offsets, labels, events_)

    def finish_count(self) -> int:
        """The number of matches that the end of the stream completes."""
        return len(self._stopped())

    def rows(self, table: pa.Table) -> list[Bindings]:
        """The rows of a table that `read` or `finish` returned."""
        lists = [table[variable].to_pylist() for variable in self.variables]
        return [
            tuple((v, tuple(positions)) for v, positions in zip(self.variables, row, strict=True))
            for row in zip(*lists, strict=True)
        ]

    def oldest(self) -> int:
        """The position of the first event that a run under way has selected."""
        oldest = self.position
        if self._encoder is not None:
            head, runs, nodes = self._memory.head, self._memory.runs, self._memory.nodes
            for run in head[:, 0].tolist():
                while run >= 0:
                    run, _, node = runs[run].tolist()
                    while nodes[node, 0] >= 0:
                        node = nodes[node, 0]
                    oldest = min(oldest, int(nodes[node, 1]))
        return oldest

    @property
    def made(self) -> int:
        """The nodes made so far."""
        return 0 if self._encoder is None else int(self._memory.numbers[op.NODES]) + self._memory.deleted

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kinds of the columns of the first batch that had any."""
        return {} if self._encoder is None else dict(self._encoder.kinds)

    def _stopped(self) -> list[int]:
        """The last nodes of the runs that the end of the stream stops."""
        last = self.plan.states[-1]
        if self._encoder is None or not last.stops_at_end:
            return []
        runs, found = self._memory.runs, list[int]()
        for run in self._memory.head[:, 0].tolist():
            while run >= 0:
                run_after, state, node = runs[run].tolist()
                if state == last.number:
                    found.append(node)
                run = run_after
        return found

    def _piece(self, S: Stream, listed: bool) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | Unsupported:
        """Offsets, components and positions of the matches that some events complete; empty unless they are listed."""
        with numba_required():
            from cerify.automata.nfab.kernels import advance
        if self._encoder is None and (refused := self._prepare(S.table)) is not None:
            return refused
        assert self._encoder is not None
        classes, types = classified(self._passing, S)
        bits = np.array(types or [0], np.int64)[classes]
        keys, times = self._keys(S.table), self._encoder.times(S.table, self.q.within is not None)
        data = self._encoder.columns(S.table)
        if self._encoder.refused is not None:
            return self._encoder.refused
        window, closed = self.q.within, self.reading.window == "closed"
        width = -1.0 if window is None else float(window.seconds)
        memory, numbers = self._memory, self._memory.numbers
        numbers[op.FOUND : op.NEEDED + 1] = 0
        at = 0
        while True:
            check_time()
            at = advance(
                at, bits, keys, times, self._encoder.scale, width, closed, data, self._plan, self._work,
                self._initial, numbers, memory.head, memory.runs, memory.registers, memory.nodes, memory.queue_times,
                memory.queue_keys, memory.pending, memory.offsets, memory.labels, memory.events, self.budget.states,
                self.budget.matches, self.position, listed,
            )  # fmt: skip
            if not numbers[op.NEEDED]:
                break
            memory.make_room(int(keys[min(at, len(keys) - 1)]))
        self.position += len(S)
        match numbers[op.ERROR]:
            case op.RUNS_EXCEEDED:
                raise BudgetExceeded(
                    f"more than {self.budget.states} runs at a time; set a window, or a stricter strategy"
                )
            case op.MATCHES_EXCEEDED:
                raise BudgetExceeded(
                    f"more than {self.budget.matches} matches; set a window or a stricter strategy, or count them"
                )
            case op.INEXACT:
                return Unsupported("a number beyond 2^53, which the compiled evaluator does not carry exactly")
        found, end = int(numbers[op.FOUND]) if listed else 0, int(numbers[op.EVENTS])
        return memory.offsets[: found + 1].copy(), memory.labels[:end].copy(), memory.events[:end].copy()

    # --- preparing ---

    def _prepare(self, table: pa.Table) -> Unsupported | None:
        """Compile the conditions, for columns of the kinds that those of the first batch have, or say why not."""
        kinds = kinds_of(table)
        layout = self._layouts.get(tuple(kinds.items())) or layout_of(self.plan, kinds)
        if isinstance(layout, Unsupported):
            return layout
        self._layouts[tuple(kinds.items())] = layout
        self._encoder = ColumnEncoder(self.plan.routes, layout.programs)
        self._plan, self._work, self._initial = layout.plan, layout.work.copy(), layout.initial
        self._memory = Memory(len(self._initial))
        return None

    def _keys(self, table: pa.Table) -> NDArray[np.int32]:
        """The number of the partition of each event, int32 [rows]; partitions without runs are dropped now and then."""
        assert self._encoder is not None
        if (kept := self._encoder.drop_unused(self._memory.head[:, 0] >= 0)) is not None:
            self._memory.retain(kept)
        keys = self._encoder.keys(table)
        self._memory.resize(self._encoder.partitions)
        return keys

    # --- answers ---

    def _table(self, offsets: NDArray[Any], labels: NDArray[Any], events: NDArray[Any]) -> pa.Table:
        columns = {}
        for k, variable in enumerate(self.variables):
            of = labels == k
            starts = np.concatenate([[0], np.cumsum(of)])[offsets]
            columns[variable] = pa.LargeListArray.from_arrays(pa.array(starts, pa.int64()), pa.array(events[of]))
        return pa.table(columns)


def bindings(
    q: sase.Query,
    S: Stream,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> set[Bindings]:
    """The bindings of a query over a stream; by the readable evaluator where the compiled one does not take them."""
    found = tried_bindings(q, S, reading, budget)
    return answers.bindings(q, S, reading, budget, operations) if isinstance(found, Unsupported) else found


def compiled_bindings(q: sase.Query, S: Stream, reading: Reading = DECIDED, budget: Budget = Budget()) -> set[Bindings]:
    """The bindings of a query over a stream. Raises Unsupported and BudgetExceeded."""
    return _certain(tried_bindings(q, S, reading, budget))


def tried_bindings(q: sase.Query, S: Stream, reading: Reading, budget: Budget) -> set[Bindings] | Unsupported:
    """The bindings of a query over a stream, or why the compiled evaluator has none. Raises BudgetExceeded."""
    if (refused := why_not(q)) is not None:
        return refused
    E = CompiledBlockRunner(q, reading, budget)
    table = E.tried(S)
    if isinstance(table, Unsupported):
        return table
    found = {row for part in (table, E.finish()) for row in E.rows(part)}
    require_matches(len(found), budget)
    return found


def _certain(found: T | Unsupported) -> T:
    """What was found. Raises it where it is Unsupported."""
    if isinstance(found, Unsupported):
        raise found
    return found


def _pieces(batch: Stream | pa.RecordBatch | pa.Table) -> list[Stream]:
    S = batch if isinstance(batch, Stream) else Stream.from_table(batch)
    return [S.part(start, min(PIECE, len(S) - start)) for start in range(0, len(S), PIECE)]
