"""Find the matches of a SASE+ query with compiled loops over Arrow columns; the readable twin is
evaluate.BlockRunner.

programs.py has to support the query's conditions between events. Every run is followed separately. Negated components
are looked for around the matches of the positive components.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from functools import cached_property, reduce
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cerify.automata.evaluate.compiled import numba_required
from cerify.automata.evaluate.tables import MatchBatch, coded, pieces
from cerify.automata.nfab import evaluate
from cerify.automata.nfab import opcodes as op
from cerify.automata.nfab.evaluate import ascend, require_matches
from cerify.automata.nfab.programs import ArrayLayout, ColumnEncoder, CompiledPlan, kinds_of, why_not
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Bindings, Stream
from cerify.semantics.predicates import Both, OfType, Predicate, about
from cerify.semantics.readings import DECIDED, NO_OPERATIONS, Operations, Reading
from cerify.semantics.sase import syntax as sase
from cerify.semantics.values import ValueType

# ---------------------------------------------------------------------------------------------------------------------
# The flat arrays of the compiled loops, which live from batch to batch and grow; kernels.py says what is in them.


class Memory:
    """The arrays of one evaluator. registers: the number of registers of each run."""

    def __init__(self, registers: int) -> None:
        self.numbers = np.zeros(10, np.int64)
        self.numbers[op.FREE] = -1
        self.deleted = 0  # nodes
        self.head = np.array([[-1, 0]], np.int32)
        self.runs, self.registers = np.empty((0, 3), np.int32), np.empty((0, registers))
        self.nodes = np.empty((4096, 5), np.int64)
        self.queue_times, self.queue_keys = np.empty(1024), np.empty(1024, np.int32)
        self.pending = np.empty(64, np.int64)
        self.offsets = np.zeros(1024, np.int64)
        self.labels, self.events = np.empty(4096, np.uint8), np.empty(4096, np.int64)

    def make_room(self, key: int) -> None:
        """Enlarge the array that was too short for an event of the partition `key`."""
        numbers, at_most = self.numbers, 3 * int(self.head[key, 1]) + 4
        match numbers[op.NEEDED]:
            case op.ROOM_FOR_PENDING:
                most = max(at_most, int(self.head[:, 1].max()))
                self.pending = _grown(self.pending, 2 * (int(numbers[op.PENDING]) + most))
            case op.ROOM_FOR_NODES:
                from cerify.automata.nfab.kernels import clear

                before = int(numbers[op.NODES])
                # Cleared before it grows; it grows unless half is free then, so that clearing does not come often.
                clear(self.nodes, self.runs, self.head, self.pending, numbers)
                self.deleted += before - int(numbers[op.NODES])
                if 2 * (needed := int(numbers[op.NODES]) + at_most) > len(self.nodes):
                    self.nodes = _grown(self.nodes, 4 * needed)
            case op.ROOM_FOR_RUNS:
                there, more = len(self.runs), 2 * (int(numbers[op.ALIVE]) + at_most)
                self.runs, self.registers = _grown(self.runs, more), _grown(self.registers, more)
                # The free runs are a list in the array itself: each new place leads to the one before, the first to the
                # old list.
                self.runs[there:, 0] = np.arange(there - 1, more - 1)
                self.runs[there, 0] = numbers[op.FREE]
                numbers[op.FREE] = more - 1
            case op.ROOM_IN_QUEUE:
                begin, end = int(numbers[op.QUEUE_FROM]), int(numbers[op.QUEUE_TO])
                room = max(1024, 2 * (end - begin))
                self.queue_times = _grown(self.queue_times[begin:end], room)
                self.queue_keys = _grown(self.queue_keys[begin:end], room)
                numbers[op.QUEUE_FROM], numbers[op.QUEUE_TO] = 0, end - begin
            case op.OUTPUT:
                length = int(self.nodes[self.pending[numbers[op.PENDING] - 1], 3])
                if int(numbers[op.FOUND]) + 1 == len(self.offsets):
                    self.offsets = _grown(self.offsets, 2 * len(self.offsets))
                if (needed := int(numbers[op.EVENTS]) + length) > len(self.events):
                    self.labels, self.events = _grown(self.labels, 2 * needed), _grown(self.events, 2 * needed)
        numbers[op.NEEDED] = 0

    def resize(self, partitions: int) -> None:
        """Make room for the runs of that many partitions."""
        if (more := partitions - len(self.head)) > 0:
            self.head = np.concatenate([self.head, np.array([[-1, 0]] * more, np.int32)])

    def retain(self, partitions: NDArray[np.int64]) -> None:
        """Keep only these partitions and renumber them; they have to include all partitions with runs."""
        numbers = np.zeros(len(self.head), np.int32)
        numbers[partitions] = np.arange(len(partitions))
        self.head = self.head[partitions]
        # The queue names partitions, too; what lies outside these bounds is no longer read.
        queued = slice(int(self.numbers[op.QUEUE_FROM]), int(self.numbers[op.QUEUE_TO]))
        self.queue_keys[queued] = numbers[self.queue_keys[queued]]


def _grown(array: NDArray[Any], length: int) -> NDArray[Any]:
    """Return a copy of the array with the new length; zeros follow the old values."""
    larger = np.zeros((length, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


# ---------------------------------------------------------------------------------------------------------------------
# Negated components of the compiled evaluator: the stored end of the stream, and the matches that they may forbid.


class MatchArrays(NamedTuple):
    """Matches as arrays: match i has the entries from offsets[i] up to offsets[i + 1] of the other arrays.

    events: the positions of its events. labels: the component to which each event belongs.
    """

    offsets: NDArray[np.int64]
    labels: NDArray[np.uint8]
    events: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def those(self, some: NDArray[np.bool_]) -> MatchArrays:
        """Return the matches for which `some` is true; it has a Boolean for each match."""
        lengths = np.diff(self.offsets)
        of = np.repeat(some, lengths)
        return MatchArrays(np.append(0, np.cumsum(lengths[some])), self.labels[of], self.events[of])

    def __add__(self, other: MatchArrays) -> MatchArrays:  # type: ignore[override]
        return MatchArrays(
            np.append(self.offsets, other.offsets[1:] + self.offsets[-1]),
            np.append(self.labels, other.labels),
            np.append(self.events, other.events),
        )


NONE = MatchArrays(np.zeros(1, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.int64))


class NegatedComponents:
    """Finds out which matches of a stream the negated components of its query forbid.

    It stores the events that a negated component may still use. A match is withheld as long as a future event may
    forbid it. start: the position of the first event stored. inexact: whether a number was beyond 2^53, so that the
    answers must not be used.
    """

    def __init__(self, plan: CompiledPlan, layout: ArrayLayout, budget: Budget, scale: float, start: int) -> None:
        q, reading = plan.q, plan.reading
        self.ascending, self.windowed, self.layout, self.budget = plan.ascending, q.within is not None, layout, budget
        self.scale, self.start = scale, start
        self.width = 0.0 if q.within is None else float(q.within.seconds)
        self.closed, self.waits = reading.window == "closed", reading.stream_end == "waits"
        self.withholds, self.withheld = q.pattern[-1].negated, NONE
        in_front = q.pattern[0].negated
        # Without a window, or with a negation that looks back to the beginning, an event of any age can forbid a match.
        self._needs_all = not self.windowed or (in_front and reading.negation_in_front == "stream")
        self._stored = 0
        self._keys, self._times, self._bits = np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int64)
        self._previous, self._following = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._data = np.zeros((0, 2 * len(layout.programs.columns)))
        self._last = np.zeros(0, np.int64)  # the position of the last event of each partition
        self._rows = 16
        self.inexact = False

    def store(
        self, keys: NDArray[np.int32], times: NDArray[np.float64], bits: NDArray[np.int64], data: NDArray[np.float64]
    ) -> None:
        """Store some more events."""
        n, begin = len(keys), self._stored
        if begin + n > len(self._keys):
            self._resize(2 * (begin + n))
        self._stored += n
        own = slice(begin, self._stored)
        self._keys[own], self._bits[own], self._data[own] = keys, bits, data
        self._times[own] = times if self.windowed else 0.0
        if (more := int(keys.max(initial=0)) + 1 - len(self._last)) > 0:
            self._last = np.append(self._last, np.full(2 * more, -1))
        with numba_required():
            from cerify.automata.nfab.kernels import link
        link(begin, self._stored, self.start, self._keys, self._last, self._previous, self._following)

    def standing(self, found: MatchArrays, at_end: bool = False) -> MatchArrays:
        """Return the matches that no later event can forbid any more: new ones, and withheld ones.

        found: the new matches. at_end: whether the stream has ended, so that no match is withheld.
        """
        if self.withholds:
            found, self.withheld = self.withheld + found, NONE
            if not at_end or (self.waits and self.windowed):
                over = self._over(found)
                self.withheld, found = found.those(~over), found.those(over)
        with numba_required():
            from cerify.automata.nfab.kernels import stand
        layout, stands, done = self.layout, np.zeros(len(found), np.uint8), 0
        match, numbers = np.empty((1, len(layout.initial))), np.zeros(10, np.int64)
        while True:
            check_time()
            now, then = (np.empty((self._rows, len(layout.initial))) for _ in range(2))
            done = stand(
                done, stands, *found, self.start, *self._arrays(), layout.negated, layout.begins, layout.plan,
                layout.work, layout.initial, match, now, then, numbers, self.scale, self.width, self.closed,
                self.ascending,
            )  # fmt: skip
            if done == len(stands):
                break
            self._rows *= 2
            if self._rows > 2 * self.budget.states:
                raise BudgetExceeded(
                    f"the events of a negated component can be combined in more than {self.budget.states} ways; set a "
                    "shorter window, or raise the budget"
                )
        self.inexact |= bool(numbers[op.ERROR] == op.INEXACT)
        return found.those(stands == 1)

    def delete_unneeded(self, oldest: float) -> None:
        """Delete the events that no negated component can use any more.

        They lie before the window that ends at the time `oldest`, when the oldest partial match began.
        """
        if not self._needs_all:
            since = (oldest - self._times[: self._stored]) / self.scale
            number = int(((since > self.width) if self.closed else (since >= self.width)).sum())
            # Only if more than half goes: moving the rest costs as much as it has events.
            if 2 * number > self._stored:
                self._resize(2 * (self._stored - number), number)

    def renumber(self, kept: NDArray[np.int64]) -> None:
        """Number the partitions by their indices in `kept`: ascending old numbers, of all partitions with stored
        events.
        """
        self._keys = np.searchsorted(kept, self._keys).astype(np.int32)
        self._last = self._last[kept[kept < len(self._last)]]

    def renumber_strings(self, column: int, new: NDArray[np.float64]) -> None:
        """Renumber the strings of a column; `new` maps old numbers to new ones."""
        self._data[:, column] = new[self._data[:, column].astype(np.int64)]

    def mark(self, alive: NDArray[np.bool_]) -> None:
        """Set `alive` to True for the partitions that have stored events."""
        alive[self._keys[: self._stored]] = True

    def _arrays(self) -> list[NDArray[Any]]:
        """Return the arrays of the stored events, in the order in which kernels.py takes them."""
        arrays = (self._keys, self._times, self._bits, self._data, self._previous, self._following)
        return [array[: self._stored] for array in arrays]

    def _resize(self, room: int, without: int = 0) -> None:
        """Move the events to arrays with `room` entries, dropping the first `without` events."""
        moved = []
        for array in self._arrays():
            larger = np.zeros((room, *array.shape[1:]), array.dtype)
            larger[: len(array) - without] = array[without:]
            moved.append(larger)
        self._keys, self._times, self._bits, self._data, self._previous, self._following = moved
        self._stored -= without
        self.start += without

    def _over(self, found: MatchArrays) -> NDArray[np.bool_]:
        """Return for each match whether some later event comes after its window."""
        firsts, behind = found.events[found.offsets[:-1]] - self.start, found.events[found.offsets[1:] - 1] + 1
        times = self._times[: self._stored]
        # fmax, because an event without a time (NaN) ends no window.
        latest = np.append(np.fmax.accumulate(times[::-1])[::-1], -np.inf)
        since = (latest[behind - self.start] - times[firsts]) / self.scale
        over: NDArray[np.bool_] = (since > self.width) if self.closed else (since >= self.width)
        return over & self.windowed


T = TypeVar("T")
PIECE = 131_072  # events of a batch that are read at a time
TOGETHER = 65_536  # matches around which negated components are looked for at a time


class CompiledBlockRunner:
    """Finds the matches of one query block over a stream that comes in batches.

    If the compiled functions cannot read the events, `try_advance` and `tried_count` return Unsupported, and `advance`
    and `count` raise it. ascending=False is for a whole stream whose times do not ascend. Raises BudgetExceeded, and
    Unsupported for a query for which `why_not` gives a reason.
    """

    def __init__(
        self, q: sase.SaseQuery, reading: Reading = DECIDED, budget: Budget = Budget(), *, ascending: bool = True
    ) -> None:
        if (refused := why_not(q)) is not None:
            raise refused
        self.q, self.reading, self.budget = q, reading, budget
        self._compiled = CompiledPlan(q, reading, ascending)
        self.plan = self._compiled.matched
        self.variables = [k.variable for k in self.plan.pattern]
        self.position = 0
        self._passing = [
            reduce(Both, [about(p, None) for p in state.on_event], cast(Predicate, OfType(state.type)))
            for _, state in self._compiled.placed
        ]
        self._encoder: ColumnEncoder | None = None  # once the columns of the first batch are known
        self._negated: NegatedComponents | None = None  # likewise, where the query has any
        self._layouts: dict[tuple[tuple[str, ValueType], ...], ArrayLayout] = {}

    def fresh(self) -> CompiledBlockRunner:
        """Return a runner at the beginning of another stream that shares the compiled code."""
        runner = copy(self)
        runner.position, runner._encoder, runner._negated = 0, None, None
        return runner

    def begin(self, start: int) -> None:
        """Start with the event at that position of the stream. Call this before the first event."""
        self.position = start

    def bound(self, S: Stream) -> list[Bindings]:
        """Read a batch and return the bindings that its events complete."""
        return self.rows(self.advance(S))

    def bound_at_end(self) -> list[Bindings]:
        """End the stream and return the bindings that its end completes."""
        return self.rows(self.finish())

    def advance(self, batch: Stream | pa.RecordBatch | pa.Table) -> pa.Table:
        """Return a table of the matches that the rows of a batch complete, with a list of positions for each
        variable.
        """
        return _certain(self.try_advance(batch))

    def try_advance(self, batch: Stream | pa.RecordBatch | pa.Table) -> pa.Table | Unsupported:
        """Return the matches of a batch like `advance`, or Unsupported if the compiled functions cannot read it.

        If Unsupported is returned after the first batch, the runner cannot be used any more.
        """
        tables = []
        for S in pieces(batch, PIECE):
            found = self._piece(S, True)
            if isinstance(found, Unsupported):
                return found
            if len(found):
                tables.append(self._table(*found))
        return pa.concat_tables(tables) if tables else self._no_matches

    def match_batches(self, batch: Stream) -> Iterator[MatchBatch]:
        """Yield the matches that the events of a batch complete, as arrays. Raises Unsupported."""
        for S in pieces(batch, PIECE):
            found, none = _certain(self._piece(S, True)), np.zeros(0, np.int32)
            yield MatchBatch(found.events[found.offsets[1:] - 1], found.offsets, found.events, none)

    @cached_property
    def _no_matches(self) -> pa.Table:
        return self._table(*NONE)

    def count(self, batch: Stream | pa.RecordBatch | pa.Table) -> int:
        """Return the number of matches that the rows of a batch complete.

        Matches are listed only if there are negated components.
        """
        return _certain(self.tried_count(batch))

    def tried_count(self, batch: Stream | pa.RecordBatch | pa.Table) -> int | Unsupported:
        """Return the number of matches like `count`, or Unsupported if the compiled functions cannot read it; see
        `try_advance`.
        """
        number = 0
        for S in pieces(batch, PIECE):
            found = self._piece(S, False)
            if isinstance(found, Unsupported):
                return found
            number += int(self._memory.numbers[op.FOUND]) if self._negated is None else len(found)
        return number

    def tried_count_all(self, S: Stream) -> int | Unsupported:
        """Return the number of matches of a whole stream; Unsupported if the compiled functions cannot read it."""
        if isinstance(number := self.tried_count(S), Unsupported):
            return number
        at_end = self._stopped() if self._negated is None else self._ended(NONE)
        return at_end if isinstance(at_end, Unsupported) else number + len(at_end)

    def finish(self) -> pa.Table:
        """Return the matches that the end of the stream completes, in a table as `advance` does. Raises Unsupported."""
        found = self._at_end()
        return self._table(*found) if len(found) else self._no_matches

    def finish_count(self) -> int:
        """Return the number of matches that the end of the stream completes."""
        return len(self._stopped()) if self._negated is None else len(self._at_end())

    def _at_end(self) -> MatchArrays:
        return _certain(self._ended(NONE))

    def _ended(self, earlier: MatchArrays) -> MatchArrays | Unsupported:
        """Return the earlier matches and those that the end of the stream completes, unless a negation forbids them."""
        found: list[list[tuple[int, int]]] = []
        for last in self._stopped():
            events, node = [], last
            while node >= 0:
                before, position, component, _, _ = self._memory.nodes[node].tolist()
                events.append((component, position))
                node = before
            found.append(events[::-1])
        flat = [event for events in found for event in events]
        labels, events_ = np.array([k for k, _ in flat], np.uint8), np.array([p for _, p in flat], np.int64)
        stopped = earlier + MatchArrays(np.cumsum([0, *map(len, found)]), labels, events_)
        return stopped if self._negated is None else self._standing(self._negated, stopped, True)

    def match_streams(self, table: pa.Table, firsts: NDArray[np.int64]) -> MatchArrays | Unsupported:
        """Return the matches of several whole streams, one after the other in a table, in one pass.

        firsts: int64 [streams], the row at which each stream begins. Positions in matches are rows of the table. Each
        stream has its own partitions, so no run looks at events of another stream. The times of each stream are shifted
        behind those of the stream before, because windows are evaluated in the order of time. All streams end together.
        """
        if self.reading.stream_end != "stops":
            return Unsupported(
                "with stream_end=waits, several streams cannot be read in one pass; evaluate each stream alone"
            )
        runner, window, n = self.fresh(), self.q.within, table.num_rows
        if (refused := runner._prepare(table)) is not None:
            return refused
        encoder = runner._encoder
        assert encoder is not None
        lengths = np.diff(np.append(firsts, n))
        streams, times = np.repeat(np.arange(len(firsts)), lengths), encoder.times(table, window is not None, False)
        if window is not None:
            steps = np.diff(times, prepend=times[:1])
            # From one stream to the next, times may go back.
            steps[firsts] = 0.0
            if not ((steps >= 0.0).all() and (times == np.floor(times)).all()):
                return Unsupported(
                    "one pass over several streams needs ascending times in whole numbers; evaluate each stream alone"
                )
            earliest = times[firsts]
            ends = np.cumsum(times[firsts + lengths - 1] - earliest)
            if ends[-1] >= op.EXACT:
                # Floats would round times that are shifted so far: the streams are halved until the times fit.
                half = len(firsts) // 2
                if not half:
                    return Unsupported(
                        "the times of a stream are too far apart for one pass; evaluate each stream alone"
                    )
                row = int(firsts[half])
                parts = [
                    self.match_streams(table.slice(0, row), firsts[:half]),
                    self.match_streams(table.slice(row), firsts[half:] - row),
                ]
                if (refused := next((part for part in parts if isinstance(part, Unsupported)), None)) is not None:
                    return refused
                before, after = cast(list[MatchArrays], parts)
                return before + MatchArrays(after.offsets, after.labels, after.events + row)
            times = times - np.repeat(earliest - np.append(0.0, ends[:-1]), lengths)
            times.flags.writeable = False
        own = runner._keys(table)
        distinct, numbers = np.unique(streams * encoder.partitions + own, return_inverse=True)
        keys = np.where(own == 0, 0, numbers + 1).astype(np.int32)
        runner._memory.resize(len(distinct) + 1)
        found = runner._match_components(Stream.from_table(table), keys, times, True)
        return found if isinstance(found, Unsupported) else runner._ended(found)

    def rows(self, table: pa.Table) -> list[Bindings]:
        """Return the bindings in a table from `advance` or `finish`: for each row the variables with their
        positions.
        """
        lists = [table[variable].to_pylist() for variable in self.variables]
        return [
            tuple((v, tuple(positions)) for v, positions in zip(self.variables, row, strict=True))
            for row in zip(*lists, strict=True)
        ]

    def oldest(self) -> int:
        """Return the position of the first event that is still needed: by a current run, or by a negated component."""
        oldest = self.position if self._negated is None else self._negated.start
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
    def node_count(self) -> int:
        """Return the number of nodes made so far."""
        return 0 if self._encoder is None else int(self._memory.numbers[op.NODES]) + self._memory.deleted

    @property
    def kinds(self) -> dict[str, ValueType]:
        """Return the kind of values of each column, which the first batch with events determines; {} before that."""
        return {} if self._encoder is None else dict(self._encoder.kinds)

    def _stopped(self) -> list[int]:
        """Return the last nodes of the runs that stop because the stream ends."""
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

    def _piece(self, S: Stream, listed: bool) -> MatchArrays | Unsupported:
        """Return the matches that some events complete; none if matches are only counted."""
        if self._encoder is None and (refused := self._prepare(S.table)) is not None:
            return refused
        assert self._encoder is not None
        times = self._encoder.times(S.table, self.q.within is not None, self._compiled.ascending)
        found = self._match_components(S, self._keys(S.table), times, listed)
        if self._negated is None or isinstance(found, Unsupported):
            return found
        stands = self._standing(self._negated, found, False)
        numbers, since = self._memory.numbers, self._memory.queue_times
        if len(times):
            queued = numbers[op.QUEUE_FROM] < numbers[op.QUEUE_TO]
            self._negated.delete_unneeded(since[numbers[op.QUEUE_FROM]] if queued else times[-1])
        return stands

    def _match_components(
        self, S: Stream, keys: NDArray[np.int32], times: NDArray[np.float64], listed: bool
    ) -> MatchArrays | Unsupported:
        """Return the matches of the positive components; store the events that negated components may look at."""
        assert self._encoder is not None
        codes, classes, types = coded(self._passing, S)
        bits = np.array(types or [0], np.int64)[classes][codes]
        if self._encoder.in_order and (new := self._encoder.sorted_strings(S.table)) is not None:
            self._renumber_strings(new)
        data = self._encoder.columns(S.table)
        if self._encoder.refused is not None:
            return self._encoder.refused
        if self._negated is not None:
            self._negated.store(keys, times, bits, data)
        return self._advanced(bits, keys, times, data, listed or self._negated is not None)

    def _advanced(
        self,
        bits: NDArray[np.int64],
        keys: NDArray[np.int32],
        times: NDArray[np.float64],
        data: NDArray[np.float64],
        listed: bool,
    ) -> MatchArrays | Unsupported:
        """Return the matches, regardless of negated components."""
        with numba_required():
            from cerify.automata.nfab.kernels import advance
        assert self._encoder is not None
        window, closed = self.q.within, self.reading.window == "closed"
        width = -1.0 if window is None or not self._compiled.ascending else float(window.seconds)
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
        self.position += len(bits)
        match numbers[op.ERROR]:
            case op.RUNS_EXCEEDED:
                raise BudgetExceeded(
                    f"there are more than {self.budget.states} partial matches (runs) at a time; set a window, or a "
                    "stricter strategy"
                )
            case op.MATCHES_EXCEEDED:
                raise BudgetExceeded(
                    f"there are more than {self.budget.matches} matches; set a window or a stricter strategy, or "
                    f"count them"
                )
            case op.INEXACT:
                return _inexact()
        found, end = int(numbers[op.FOUND]) if listed else 0, int(numbers[op.EVENTS])
        # Copies, because the next call writes into the same arrays.
        return MatchArrays(memory.offsets[: found + 1].copy(), memory.labels[:end].copy(), memory.events[:end].copy())

    def _standing(self, negated: NegatedComponents, found: MatchArrays, at_end: bool) -> MatchArrays | Unsupported:
        """Return the matches that no negated component forbids."""
        stands = negated.standing(found, at_end)
        return _inexact() if negated.inexact else stands

    # --- preparing ---

    def _prepare(self, table: pa.Table) -> Unsupported | None:
        """Compile the conditions for the kinds of columns in the first batch; return Unsupported if impossible."""
        kinds = kinds_of(table)
        layout = self._layouts.get(tuple(kinds.items())) or self._compiled.layout(kinds)
        if isinstance(layout, Unsupported):
            return layout
        self._layouts[tuple(kinds.items())] = layout
        self._encoder = ColumnEncoder(self._compiled.routes, layout.programs)
        # Runners share layouts, but the loops write their stack into `work`, and strings are renumbered in it.
        layout = replace(layout, work=layout.work.copy())
        self._layout, self._plan, self._work, self._initial = layout, layout.plan, layout.work, layout.initial
        self._memory = Memory(len(self._initial))
        if any(k.negated for k in self.q.pattern):
            self._negated = NegatedComponents(self._compiled, layout, self.budget, self._encoder.scale, self.position)
        return None

    def _keys(self, table: pa.Table) -> NDArray[np.int32]:
        """Return the partition number of each event, int32 [rows]. This may drop partitions without runs."""
        assert self._encoder is not None
        alive = self._memory.head[:, 0] >= 0
        if self._negated is not None:
            self._negated.mark(alive)
        if (kept := self._encoder.drop_unused(alive)) is not None:
            self._memory.retain(kept)
            if self._negated is not None:
                self._negated.renumber(kept)
        keys = self._encoder.keys(table)
        self._memory.resize(self._encoder.partitions)
        return keys

    def _renumber_strings(self, new: NDArray[np.float64]) -> None:
        """Renumber strings in all arrays; `new` maps old numbers to new ones."""
        programs, registers = self._layout.programs, self._memory.registers
        for register in programs.string_registers:
            registers[:, 2 * register + 1] = new[registers[:, 2 * register + 1].astype(np.int64)]
        constants = len(self._work) - len(programs.constants) + np.array(programs.string_constants, np.int64)
        self._work[constants] = new[self._work[constants].astype(np.int64)]
        for column in (2 * i for name, i in programs.columns.items() if programs.kinds.get(name) == "string"):
            if self._negated is not None:
                self._negated.renumber_strings(column, new)

    # --- answers ---

    def _table(self, offsets: NDArray[Any], labels: NDArray[Any], events: NDArray[Any]) -> pa.Table:
        columns = {}
        for k, variable in enumerate(self.variables):
            of = labels == k
            starts = np.concatenate([[0], np.cumsum(of)])[offsets]
            columns[variable] = pa.LargeListArray.from_arrays(pa.array(starts, pa.int64()), pa.array(events[of]))
        return pa.table(columns)


def bindings(
    q: sase.SaseQuery,
    S: Stream,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> set[Bindings]:
    """Return the bindings of a query over a stream, by the readable evaluator if the compiled one does not support the
    query.
    """
    found = tried_bindings(q, S, reading, budget)
    return evaluate.bindings(q, S, reading, budget, operations) if isinstance(found, Unsupported) else found


def tried_bindings(q: sase.SaseQuery, S: Stream, reading: Reading, budget: Budget) -> set[Bindings] | Unsupported:
    """Return the bindings of a query over a stream, or the reason why the compiled evaluator cannot compute them.

    Raises BudgetExceeded.
    """
    if (refused := why_not(q)) is not None:
        return refused
    E = CompiledBlockRunner(q, reading, budget, ascending=q.within is None or ascend(S))
    if isinstance(table := E.try_advance(S), Unsupported):
        return table
    found = {row for part in (table, E.finish()) for row in E.rows(part)}
    require_matches(len(found), budget)
    return found


def _inexact() -> Unsupported:
    return Unsupported("the compiled evaluator is not exact for numbers beyond 2^53; use evaluator='automaton'")


def _certain(found: T | Unsupported) -> T:
    """Return the result, or raise it if it is Unsupported."""
    if isinstance(found, Unsupported):
        raise found
    return found
