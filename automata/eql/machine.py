"""Evaluate EQL by slots: each key has one slot for each step, with at most one sequence that waits for the next step.

An event does three things. (1) It moves each waiting sequence whose next step it fits to the slot of that step, later
steps first. The sequence replaces any sequence in that slot; at the last step it is reported as a match. (2) It starts
a sequence if it fits the first step. (3) It empties the slots of its key if it fits `until`. The reading `until=last`
does (3) first. So an event costs time linear in the steps, and memory is bounded by keys times steps. When there are
many keys, slots too old to end within maxspan are dropped.

The window is tested only when a sequence ends. Emptying old slots at once would give the same matches: a sequence at a
later step began earlier, so an old sequence only overwrites older ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heappop, heappush
from typing import Any, TypeAlias

from cerify.automata.evaluator import Counters, Evaluator
from cerify.semantics.arguments import Budget, timed_items, too_many_matches
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import Key, filter_test, keys_of, span_of, time_of
from cerify.semantics.errors import InputError
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.readings import ELASTIC, EqlReading
from cerify.semantics.values import Microseconds, nanoseconds, time_at_nanoseconds

# ---------------------------------------------------------------------------------------------------------------------
# The state of the slot machine for one key, and its saved form.

NANOSECOND = Fraction(1, 1000)


@dataclass(frozen=True, slots=True)
class Pending:
    """A sequence that waits for its next step: its positions, and the time of its first event.

    gap: whether an event occurred that must be missing between two steps. before: the latest time of an event that must
    be missing before the first step.
    """

    positions: tuple[int, ...]
    time: Microseconds | None
    gap: bool = False
    before: Microseconds | None = None


@dataclass(slots=True)
class Places:
    """The state of one key: the sequence that waits at each step, and what is known of events that must be missing.

    missed: for each missing event (`![...]`) between two steps, the last position of an event that fits it. before: the
    latest time of an event that must be missing before the first step. waiting: sequences that are matches unless an
    event that must be missing occurs before the end of their window.
    """

    pending: list[Pending | None]
    missed: list[int]
    before: Microseconds | None = None
    waiting: list[Pending] = field(default_factory=list)

    def is_older_than(self, time: Microseconds) -> bool:
        """Return whether `waiting` is empty, and all pending sequences and `before` are from before this time."""
        times = [p.time for p in self.pending if p is not None and p.time is not None]
        return (
            not self.waiting and max([*times, *([] if self.before is None else [self.before])], default=time - 1) < time
        )


def pending_json(p: Pending) -> list[Any]:
    """Return a pending sequence as JSON."""
    return [list(p.positions), p.time, p.gap, p.before]


def pending_of_json(data: list[Any]) -> Pending:
    """Return the pending sequence that JSON holds."""
    positions, time, gap, before = data
    return Pending(tuple(map(int, positions)), time, bool(gap), before)


def key_json(K: Key) -> list[Any]:
    """Return a key as JSON; a time becomes its nanoseconds."""
    return [
        None if part is None else [part[0], nanoseconds(part[1]) if part[0] == "timestamp" else part[1]]  # type: ignore[arg-type]
        for part in K
    ]


def key_of_json(data: list[Any]) -> Key:
    """Return the key that JSON holds."""
    return tuple(
        None if part is None else (part[0], time_at_nanoseconds(part[1]) if part[0] == "timestamp" else part[1])
        for part in data
    )


def exact_json(ticks: Fraction) -> dict[str, list[int]]:
    """Return a fractional number of microseconds, such as that of a time with nanoseconds, as JSON."""
    return {"ticks": [ticks.numerator, ticks.denominator]}


def exact_of_json(data: dict[str, list[int]]) -> Fraction:
    """Return the microseconds that JSON holds."""
    return Fraction(*data["ticks"])


# ---------------------------------------------------------------------------------------------------------------------
# The machine.

Test: TypeAlias = Callable[[Event], bool]
KEYS_BEFORE_EVICTION = 4096


class SlotProgram:
    """A compiled sequence: its tests, its keys and its window."""

    def __init__(self, query: eql.EventSequence, reading: EqlReading) -> None:
        steps = eql.step_expanded(query)
        positive = [step for step in steps if not step.missing]
        before = [sum(not one.missing for one in steps[:i]) for i in range(len(steps))]
        self.reading = reading
        self.window = span_of(query.maxspan, reading)
        self.steps = [self._step(query, step) for step in positive]
        self.missing = [(n, self._step(query, s)) for n, s in zip(before, steps, strict=True) if s.missing]
        self.until = None if query.until is None else self._step(query, query.until)
        self.in_front = any(n == 0 for n, _ in self.missing)
        self.behind = any(n == len(positive) for n, _ in self.missing)

    def _step(self, query: eql.EventSequence, step: eql.SequenceStep) -> tuple[Test, tuple[eql.EventField, ...]]:
        return filter_test(step.filter, self.reading), eql.step_keys(query, step)

    def keys_at(self, step: tuple[Test, tuple[eql.EventField, ...]], event: Event) -> tuple[Key, ...]:
        """Return the keys of an event at a step; none if the event does not fit that step."""
        test, fields = step
        return keys_of(event, fields, self.reading) if test(event) else ()


class SlotMachine(Evaluator):
    """Finds the matches of an EQL query over a log that comes in batches.

    A match is returned with the batch that completes it. If an event must be missing after the last step, a match is
    returned with the first event whose time is beyond the window. `tail` waits for the end of the log; so does every
    other pipe if an event must be missing after the last step. Raises InputError for an event so far out of order that
    it might have needed a partial match that has been dropped.
    """

    STATE = "readable"

    def __init__(self, query: eql.EqlQuery, reading: EqlReading = ELASTIC, budget: Budget = Budget()) -> None:
        self.query, self.reading, self.budget = query, reading, budget
        body = query.body
        self._program = SlotProgram(body, reading) if isinstance(body, eql.EventSequence) else None
        self._filter = filter_test(body, reading) if isinstance(body, eql.EventFilter) else None
        self._sample = body if isinstance(body, eql.EventSample) else None
        behind = self._program is not None and self._program.behind
        self._holds_back = bool(query.pipes) and (behind or any(pipe.name == "tail" for pipe in query.pipes))
        self._heads = [pipe.count for pipe in query.pipes if pipe.name == "head"]
        self._places: dict[Key, Places] = {}
        self._sampled: dict[Key, list[list[int]] | None] = {}  # None once the key has its sample
        self._deadlines: list[tuple[Microseconds, int, int, Key]] = []  # a number orders the keys of one event
        self._held: list[Match] = []
        self._reported = 0
        self._latest: Microseconds | None = None
        self._lost: Microseconds | None = None  # an event up to this time may have needed what was dropped
        self._evict_at = KEYS_BEFORE_EVICTION

    def push_stream(self, S: Stream, limit: int | None = None) -> list[Match]:
        found: list[Match] = []
        self._whole = False
        for event in timed_items(S):
            found += self._after(event)
            self.position += 1
            if limit is None and len(found) > self.budget.matches:
                raise too_many_matches(self.budget.matches)
        self._whole = True
        return self._piped(sorted(found))[:limit]

    def flush(self) -> list[Match]:
        waiting = {Match(p.positions[-1], p.positions) for at in self._places.values() for p in at.waiting}
        if not self._holds_back:
            return self._piped(sorted(waiting))
        found = sorted([*self._held, *waiting])
        for pipe in self.query.pipes:
            found = found[: pipe.count] if pipe.name == "head" else found[-pipe.count :]
        return found

    def _piped(self, found: list[Match]) -> list[Match]:
        if self._holds_back:
            tail = self.query.pipes[0] if len(self.query.pipes) == 1 else None
            self._held = [*self._held, *found]
            if tail is not None and tail.name == "tail" and not (self._program and self._program.behind):
                self._held = self._held[-tail.count :]
            return []
        if self._heads:
            found = found[: max(0, min(self._heads) - self._reported)]
            self._reported += len(found)
        return found

    def _after(self, event: Event) -> list[Match]:
        """Return the matches that become certain with the next event."""
        if self._filter is not None:
            return [Match(self.position, (self.position,))] if self._filter(event) else []
        if self._sample is not None:
            return self._sampled_by(self._sample, event)
        assert self._program is not None
        return self._moved_by(self._program, event)

    # --- sequences ----------------------------------------------------------------------------------------------------

    def _moved_by(self, program: SlotProgram, event: Event) -> list[Match]:
        n, time, found = len(program.steps), time_of(event), list[Match]()
        if self.reading.until == "last":
            self._end_sequences(program, event)
        for i in range(n - 1, -1, -1):
            for number, K in enumerate(program.keys_at(program.steps[i], event)):
                self._require_in_order(time)
                if i > 0 and K not in self._places:
                    continue
                at = self._at(K, program)
                moved = self._move(program, at, i, time)
                if moved is None:
                    continue
                if i < n - 1:
                    at.pending[i] = moved
                elif self._ends_well(program, moved, time):
                    if program.behind:
                        at.waiting.append(moved)
                        # Until then a missing event may still come; a match is certain at the first later time.
                        deadline = (moved.time or 0) + (program.window or 0)
                        heappush(self._deadlines, (deadline, moved.positions[-1], number, K))
                    else:
                        found.append(Match(self.position, moved.positions))
        if self.reading.until == "between":
            self._end_sequences(program, event)
        if program.missing:
            self._miss(program, event, time)
        if time is not None:
            self._latest = time if self._latest is None else max(self._latest, time)
            found += self._released()
            if len(self._places) >= self._evict_at and program.window is not None:
                self._evict(program.window)
        return found if len(found) < 2 else list(dict.fromkeys(found))  # two keys may have the same events

    def _end_sequences(self, program: SlotProgram, event: Event) -> None:
        """Drop the pending sequences of each key that an event has at `until`."""
        for K in program.keys_at(program.until, event) if program.until is not None else ():
            if K in self._places:
                self._places[K].pending = [None] * len(program.steps)

    def _move(self, program: SlotProgram, at: Places, i: int, time: Microseconds | None) -> Pending | None:
        """Return the sequence that waits at step i after the event: a new one, or the sequence of the step before,
        extended by the event.
        """
        if i == 0:
            return Pending((self.position,), time, before=at.before)
        if (waiting := at.pending[i - 1]) is None:
            return None
        at.pending[i - 1] = None
        gap = waiting.gap or any(
            last > waiting.positions[-1]
            for (before, _), last in zip(program.missing, at.missed, strict=True)
            if before == i
        )
        return Pending((*waiting.positions, self.position), waiting.time, gap, waiting.before)

    @staticmethod
    def _ends_well(program: SlotProgram, ended: Pending, time: Microseconds | None) -> bool:
        if ended.gap:
            return False
        if program.window is None:
            return True
        if time is None or ended.time is None or time - ended.time > program.window:
            return False
        return ended.before is None or ended.before < time - program.window

    def _miss(self, program: SlotProgram, event: Event, time: Microseconds | None) -> None:
        """Record, for each of its keys, an event that must be missing from matches."""
        for j, (before, step) in enumerate(program.missing):
            for K in program.keys_at(step, event):
                if before > 0 and K not in self._places:
                    continue
                at = self._at(K, program)
                self._require_in_order(time)
                if 0 < before < len(program.steps):
                    at.missed[j] = self.position
                elif time is not None and before == 0:
                    at.before = time if at.before is None else max(at.before, time)
                elif time is not None and program.window is not None:
                    limit = time - program.window
                    at.waiting = [p for p in at.waiting if p.positions[-1] == self.position or (p.time or 0) < limit]

    def _released(self) -> list[Match]:
        """Remove and return the waiting matches whose time for missing events is over."""
        found: list[Match] = []
        while self._deadlines and self._latest is not None and self._deadlines[0][0] < self._latest:
            deadline, last, _, K = heappop(self._deadlines)
            self._lost = deadline if self._lost is None else max(self._lost, deadline)
            kept = [p for p in self._places[K].waiting if p.positions[-1] != last]
            found += [Match(last, p.positions) for p in self._places[K].waiting if p.positions[-1] == last]
            self._places[K].waiting = kept
        return found

    def _at(self, K: Key, program: SlotProgram) -> Places:
        if (at := self._places.get(K)) is None:
            at = self._places[K] = Places([None] * len(program.steps), [-1] * len(program.missing))
        return at

    def _evict(self, window: int) -> None:
        """Forget keys whose sequences all began more than twice the window before the latest event."""
        assert self._latest is not None
        # Twice the window, so that events which are late by up to a window still find their sequences.
        limit = self._latest - 2 * window
        kept = {K: at for K, at in self._places.items() if not at.is_older_than(limit)}
        if len(kept) < len(self._places):
            # What was dropped began before `limit`: only an event before limit + window could have ended it in time.
            lost = limit + window - NANOSECOND
            self._lost = lost if self._lost is None else max(self._lost, lost)
        self._places, self._evict_at = kept, max(KEYS_BEFORE_EVICTION, 2 * len(kept))

    def _require_in_order(self, time: Microseconds | None) -> None:
        if time is not None and self._lost is not None and time <= self._lost:
            raise InputError(
                f"event {self.position} comes too late: an event before it has a much later time, so the partial "
                "matches that it might complete have been dropped. Sort the log by time, or use "
                "evaluator='denotational' for the whole log"
            )

    # --- samples ------------------------------------------------------------------------------------------------------

    def _sampled_by(self, query: eql.EventSample, event: Event) -> list[Match]:
        found: list[Match] = []
        touched: dict[Key, None] = {}
        for i, step in enumerate(query.steps):
            fields = eql.step_keys(query, step)
            if filter_test(step.filter, self.reading)(event):
                for K in keys_of(event, fields, self.reading):
                    places = self._sampled.setdefault(K, [[] for _ in query.steps])
                    if places is not None and len(places[i]) < len(query.steps):  # no choice needs more
                        places[i].append(self.position)
                        touched[K] = None
        for K in touched:
            places = self._sampled[K]
            if places is not None and all(places) and (chosen := _first_choice(places)) is not None:
                found.append(Match(self.position, tuple(sorted(chosen))))
                self._sampled[K] = None
        return list(dict.fromkeys(found))

    # --- states -------------------------------------------------------------------------------------------------------

    @property
    def identity(self) -> str:
        return json.dumps([eql.show(self.query), repr(self.reading)])

    def dump(self) -> bytes:
        places = [
            [
                key_json(K),
                [None if p is None else pending_json(p) for p in at.pending],
                at.missed,
                at.before,
                [pending_json(p) for p in at.waiting],
            ]
            for K, at in self._places.items()
        ]
        sampled = [[key_json(K), positions] for K, positions in self._sampled.items()]
        deadlines = [[d, last, key_json(K)] for d, last, _, K in self._deadlines]
        held = [[m.at, list(m.events)] for m in self._held]
        numbers = [self.position, self._reported, self._latest, self._lost, self._evict_at]
        return json.dumps([numbers, places, sampled, deadlines, held], default=exact_json).encode()

    def load(self, data: bytes) -> None:
        numbers, places, sampled, deadlines, held = json.loads(data, object_hook=exact_of_json)
        position, reported, latest, lost, evict_at = numbers
        if not (isinstance(position, int) and isinstance(reported, int) and isinstance(evict_at, int)):
            raise ValueError("the position or a count is not an integer")
        new = {
            key_of_json(K): Places(
                [None if p is None else pending_of_json(p) for p in pending],
                list(map(int, missed)),
                before,
                [pending_of_json(p) for p in waiting],
            )
            for K, pending, missed, before, waiting in places
        }
        samples = {key_of_json(K): positions for K, positions in sampled}
        heap = [
            (d if isinstance(d, Fraction) else int(d), int(last), number, key_of_json(K))
            for number, (d, last, K) in enumerate(deadlines)
        ]
        matches = [Match(int(at), tuple(map(int, events))) for at, events in held]
        self.position, self._reported, self._latest, self._lost, self._evict_at = (
            position, reported, latest, lost, evict_at,
        )  # fmt: skip
        self._places, self._sampled, self._deadlines, self._held = new, samples, heap, matches

    @property
    def counters(self) -> Counters:
        """Return the number of events, 0 nodes, and as states the number of partial matches stored."""
        used = sum(p is not None for at in self._places.values() for p in at.pending)
        return Counters(self.position, 0, used)

    def remade(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        return type(self), (self.query, self.reading, self.budget)


def _first_choice(places: list[list[int]], taken: tuple[int, ...] = ()) -> tuple[int, ...] | None:
    """Choose a position from each list, so that all are different; return them in the order of the lists, or None if
    impossible.
    """
    if len(taken) == len(places):
        return taken
    for p in places[len(taken)]:
        if p not in taken and (found := _first_choice(places, (*taken, p))) is not None:
            return found
    return None
