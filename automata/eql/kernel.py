"""The slot machine of EQL as a compiled loop over columns: one pass, with a slot for each key and step.

machine.py says why slots suffice. Here filters, keys and times are computed on whole columns before the loop, and rows
that fit no step are left out. So the loop reads whole numbers only, and does not depend on the query; a loop that
called the tests of a query would have to be compiled for each query.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from cerify.automata.eql.columns import MOST_STEPS, NO_KEY, TIMELESS, EqlColumns, KeyNumbers, why_not_compiled
from cerify.automata.eql.machine import key_json, key_of_json
from cerify.automata.evaluate.jit import bare
from cerify.automata.evaluator import Counters, Evaluator
from cerify.semantics.arguments import Budget, check_time, too_many_matches
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import span_of
from cerify.semantics.errors import BudgetExceeded, InputError
from cerify.semantics.events import Match, Stream
from cerify.semantics.packages import np
from cerify.semantics.readings import ELASTIC, EqlReading

MOST_CELLS = 200_000_000  # cells of the array of places, 8 bytes each
KEYS_BEFORE_EVICTION = 65_536


def matches_by_columns(
    query: eql.EqlQuery, S: Stream, reading: EqlReading = ELASTIC, budget: Budget = Budget()
) -> list[Match]:
    """Return the matches of a query over the columns of a whole log. Raises Unsupported, BudgetExceeded."""
    found = match_positions(query, S, reading, budget)
    if len(found) > budget.matches:
        raise too_many_matches(budget.matches)
    listed = [Match(row[-1], tuple(row)) for row in found.tolist()]
    for pipe in query.pipes:
        listed = listed[: pipe.count] if pipe.name == "head" else listed[-pipe.count :]
    return listed


def match_positions(query: eql.EqlQuery, S: Stream, reading: EqlReading = ELASTIC, budget: Budget = Budget()) -> Any:
    """Return the positions of all matches before pipes are applied, in the order of the log.

    The result is an array with a row for each match and a column for each step. Raises Unsupported, BudgetExceeded.
    """
    return _SlotColumns(query, reading).after(S, 0)


class _SlotColumns:
    """The waiting sequences of a query as arrays, which are carried from batch to batch."""

    def __init__(self, query: eql.EqlQuery, reading: EqlReading) -> None:
        body = query.body
        if (refused := why_not_compiled(query)) is not None:
            raise refused
        self.query, self.reading, self.numbers = query, reading, KeyNumbers()
        self.latest = self.lost = TIMELESS  # the latest time; an event up to `lost` may have needed evicted keys
        if isinstance(body, eql.EventFilter):
            self.steps: tuple[eql.SequenceStep, ...] = ()
            return
        assert isinstance(body, eql.EventSequence)
        self.steps = tuple(eql.step_expanded(body))
        self.asked = [*self.steps, *([] if body.until is None else [body.until])]
        self.until = body.until
        fields = [eql.step_keys(body, step) for step in self.asked]
        self.groups = list(dict.fromkeys(fields))
        self.of_step = np.array([self.groups.index(one) for one in fields], np.int64)
        self.window = span_of(body.maxspan, reading)
        self.evict_at = KEYS_BEFORE_EVICTION
        self._make_places(0)

    def _make_places(self, number: int) -> None:
        n = len(self.steps)
        if number * n * n > MOST_CELLS:
            raise BudgetExceeded("there are too many keys for the compiled evaluator; use evaluator='automaton'")
        self.places = np.full((number, n, n), -1, np.int64)
        self.begun = np.empty((number, n), np.int64)

    def after(self, S: Stream, first: int) -> Any:
        """Return the matches that end in the next events; `first` is the position of the first of these events."""
        columns = EqlColumns(S.table, self.reading)
        if not self.steps:
            assert isinstance(self.query.body, eql.EventFilter)
            return np.flatnonzero(columns.filter_rows(self.query.body)).reshape(-1, 1) + first
        masks = {step.filter: columns.filter_rows(step.filter) for step in self.asked}
        check_time()
        rows = np.flatnonzero(np.logical_or.reduce(list(masks.values())))
        bits = np.zeros(len(rows), np.int64)
        for i, step in enumerate(self.steps):
            bits |= masks[step.filter][rows].astype(np.int64) << i
        if self.until is not None:
            bits |= masks[self.until.filter][rows].astype(np.int64) << MOST_STEPS
        choices = [columns.element_choices(fields) for fields in self.groups]
        several = max(map(len, choices)) > 1
        of_step = self.of_step * (not several)
        if several:
            rows, bits, keys = self._by_each_key(columns, choices, rows, bits)
        else:
            keys = np.empty((len(self.groups), len(rows)), np.int64)
            for k, fields in enumerate(self.groups):
                keys[k] = columns.keys(fields, rows, self.numbers)
        self._grow(int(keys.max(initial=0)) + 1)
        window, n = self.window, len(self.steps)
        times = columns.times()[rows] if window is not None else np.zeros(len(rows), np.int64)
        self._require_in_order(times, first + rows)
        # Room for all matches: an event at the last step ends at most one sequence of its key.
        found = np.empty((int(np.count_nonzero(bits >> (n - 1) & 1)), n), np.int64)
        count = _run_kernel(
            rows + first, bits, keys, of_step, times, -1 if window is None else window, n, self.places, self.begun,
            found, self.reading.until == "between",
        )  # fmt: skip
        if window is not None and len(times):
            self.latest = max(self.latest, int(times.max()))
            if len(self.places) > self.evict_at:
                self._evict(window)
        if several:  # two keys may give the same match; matches are ordered by their last event
            return np.roll(np.unique(np.roll(found[:count], 1, axis=1), axis=0), -1, axis=1)
        return found[:count]

    def _by_each_key(
        self, columns: EqlColumns, choices: list[list[tuple[int, ...]]], rows: Any, bits: Any
    ) -> tuple[Any, Any, Any]:
        """Return (rows, bits, keys), in which a row is repeated for each of its keys, with the steps at which it has
        this key.

        A row has several keys if a field is an array.
        """
        parts = []
        for k, fields in enumerate(self.groups):
            at = sum(1 << (i if i < len(self.steps) else MOST_STEPS) for i, own in enumerate(self.of_step) if own == k)
            for elements in choices[k]:
                keys = columns.keys(fields, rows, self.numbers, elements)
                here = np.flatnonzero((keys != NO_KEY) & (bits & at != 0))
                parts.append(np.stack([rows[here], keys[here], bits[here] & at]))
        entries = np.concatenate(parts, axis=1)
        entries = entries[:, np.lexsort(entries[1::-1])]
        begins = np.flatnonzero(np.any(np.diff(entries[:2], axis=1, prepend=-2), axis=0))
        joined = np.bitwise_or.reduceat(entries[2], begins) if len(begins) else entries[2]
        return entries[0, begins], joined, entries[1:2, begins]

    def _grow(self, number: int) -> None:
        have = len(self.places)
        if number > have:
            places, begun = self.places, self.begun
            self._make_places(max(number, 2 * have))
            self.places[:have], self.begun[:have] = places, begun

    def _evict(self, window: int) -> None:
        """Forget keys whose waiting sequences all began more than twice the window before the latest event."""
        limit = self.latest - 2 * window
        alive = np.flatnonzero(((self.places[:, :, 0] >= 0) & (self.begun >= limit)).any(axis=1))
        self._keep(alive)
        self.lost = max(self.lost, limit + window - 1)
        self.evict_at = max(KEYS_BEFORE_EVICTION, 2 * len(alive))

    def _keep(self, alive: Any) -> None:
        keys = self.numbers.keys(len(self.groups[0]))
        self.numbers, found = KeyNumbers.of_keys([keys[int(number)] for number in alive])
        places, begun = self.places[alive], self.begun[alive]
        self._make_places(max(found, default=0) + 1)
        self.places[found], self.begun[found] = places, begun

    def _require_in_order(self, times: Any, positions: Any) -> None:
        if self.lost != TIMELESS and (early := (times <= self.lost) & (times != TIMELESS)).any():
            raise InputError(
                f"event {positions[int(early.argmax())]} comes too late: an event before it has a much later time, so "
                "the partial matches that it might complete have been dropped. Sort the log by time, or use "
                "evaluator='denotational' for the whole log"
            )


class EqlColumnEvaluator(Evaluator):
    """Finds the matches of an EQL query over a log that comes in batches of columns, with the compiled loop.

    Memory is bounded by the number of keys times the square of the number of steps. With maxspan, only the keys of the
    last 2 * maxspan are kept. Raises InputError for an event too old for the kept keys.
    """

    STATE = "columns"

    def __init__(self, query: eql.EqlQuery, reading: EqlReading = ELASTIC, budget: Budget = Budget()) -> None:
        self.query, self.reading, self.budget = query, reading, budget
        self._slots, self._reported, self._held = _SlotColumns(query, reading), 0, list[Match]()

    def push_stream(self, S: Stream, limit: int | None = None) -> list[Match]:
        self._whole = False
        found = self._slots.after(S, self.position) if len(S) else np.empty((0, 1), np.int64)
        if limit is None and len(found) > self.budget.matches:
            raise too_many_matches(self.budget.matches)
        self.position += len(S)
        self._whole = True
        listed = [Match(row[-1], tuple(row)) for row in found[:limit].tolist()]
        return self._piped(listed)

    def tally(self, S: Stream) -> int:
        if self.query.pipes:
            return len(self.push_stream(S))
        self._whole = False
        number = len(self._slots.after(S, self.position)) if len(S) else 0
        self.position += len(S)
        self._whole = True
        return number

    def _piped(self, found: list[Match]) -> list[Match]:
        if any(pipe.name == "tail" for pipe in self.query.pipes):
            self._held += found
            return []
        heads = [pipe.count for pipe in self.query.pipes]
        found = found[: max(0, min(heads) - self._reported)] if heads else found
        self._reported += len(found)
        return found

    def flush(self) -> list[Match]:
        found = self._held
        for pipe in self.query.pipes if found else ():
            found = found[: pipe.count] if pipe.name == "head" else found[-pipe.count :]
        return found

    @property
    def identity(self) -> str:
        return json.dumps([eql.show(self.query), repr(self.reading)])

    def dump(self) -> bytes:
        slots = self._slots
        held = [[m.at, list(m.events)] for m in self._held]
        rest: list[Any] = []
        if slots.steps:
            used = np.flatnonzero((slots.places[:, :, 0] >= 0).any(axis=1))
            keys = slots.numbers.keys(len(slots.groups[0]))
            begun = np.where(slots.places[used, :, 0] >= 0, slots.begun[used], 0)
            rest = [[key_json(keys[int(k)]) for k in used], slots.places[used].tolist(), begun.tolist()]
        return json.dumps([self.position, self._reported, slots.latest, slots.lost, held, rest]).encode()

    def load(self, data: bytes) -> None:
        position, reported, latest, lost, held, rest = json.loads(data)
        slots, matches = _SlotColumns(self.query, self.reading), [Match(int(at), tuple(map(int, e))) for at, e in held]
        slots.latest, slots.lost = int(latest), int(lost)
        if slots.steps:
            keys, places, begun = rest
            n = len(slots.steps)
            slots.numbers, found = KeyNumbers.of_keys(list(map(key_of_json, keys)))
            slots._make_places(max(found, default=0) + 1)
            slots.places[found] = np.array(places, np.int64).reshape(-1, n, n)
            slots.begun[found] = np.array(begun, np.int64).reshape(-1, n)
        if not (isinstance(position, int) and isinstance(reported, int)):
            raise ValueError("the position or the number of reported matches is not an integer")
        self._slots, self.position, self._reported, self._held = slots, position, reported, matches

    @property
    def counters(self) -> Counters:
        """Return the number of events, 0 nodes, and as states the number of partial matches stored."""
        used = int(np.count_nonzero(self._slots.places[:, :, 0] >= 0)) if self._slots.steps else 0
        return Counters(self.position, 0, used)

    def remade(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        return type(self), (self.query, self.reading, self.budget)


@bare
def _run_kernel(
    rows: Any, bits: Any, keys: Any, of_step: Any, times: Any, window: Any, n: Any, places: Any, begun: Any, found: Any,
    after_steps: Any,
) -> Any:  # fmt: skip
    """Write the matches to `found`, and return their number.

    places: for each key and step, the positions of the waiting sequence; -1 if there is none. after_steps: whether an
    event of `until` first takes its steps and then empties the places of its key; otherwise it empties them first.
    """
    count = 0
    for r in range(len(rows)):
        b = bits[r]
        ends = (b >> MOST_STEPS) & 1
        if ends and not after_steps:
            key = keys[of_step[n], r]
            if key != NO_KEY:
                for i in range(n):
                    places[key, i, 0] = -1
        # Later steps first, so that an event moves no sequence by two steps.
        for i in range(n - 1, -1, -1):
            if not (b >> i) & 1:
                continue
            key = keys[of_step[i], r]
            if key == NO_KEY:
                continue
            if i == 0:
                places[key, 0, 0] = rows[r]
                begun[key, 0] = times[r]
                continue
            if places[key, i - 1, 0] < 0:
                continue
            if i < n - 1:
                for j in range(i):
                    places[key, i, j] = places[key, i - 1, j]
                places[key, i, i] = rows[r]
                begun[key, i] = begun[key, i - 1]
            else:
                first, last = begun[key, i - 1], times[r]
                inside = first != TIMELESS and last != TIMELESS and last - first <= window
                if window < 0 or inside:
                    for j in range(i):
                        found[count, j] = places[key, i - 1, j]
                    found[count, i] = rows[r]
                    count += 1
            places[key, i - 1, 0] = -1
        if ends and after_steps:
            key = keys[of_step[n], r]
            if key != NO_KEY:
                for i in range(n):
                    places[key, i, 0] = -1
    return count
