"""Follow every sequence of an EQL rule: how far each came, and what stopped it.

For each key, every step has one place, in which a sequence waits for the next step. A sequence stops for one of these
reasons: a later sequence overwrites it, `until` ends it, it reaches its last step too late, a forbidden event (`!`)
occurs, or it still waits at the end of the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from cerify.explanations.explanation import braces
from cerify.semantics.arguments import timed_items
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import Key, filter_test, keys_of, span_of, time_of
from cerify.semantics.events import Event, Match
from cerify.semantics.values import show_seconds

SHOWN = 3
STOPPED = {
    "overwritten": "overwritten by a later sequence",
    "until": "ended by until",
    "expired": "too late for maxspan at the last step",
    "gap": "stopped by an event that must be missing",
    "waiting": "still waiting when the log ended",
}


@dataclass(frozen=True)
class StoppedSequence:
    """A sequence that did not become a match.

    kind: the reason why it stopped, a key of STOPPED. at: the position of the event that stopped it, if there is one.
    words: details for a message.
    """

    positions: tuple[int, ...]
    kind: str
    at: int | None
    words: str


@dataclass
class StepEvents:
    """The counts of a step.

    passing: events that pass its filter. keyless: passing events without a key. unawaited: passing events with a key
    for which no sequence waits for this step. reached: sequences that reached the step. examples: positions of some
    unawaited events. keys: the keys of passing events.
    """

    text: str
    passing: int = 0
    keyless: int = 0
    unawaited: int = 0
    reached: int = 0
    examples: list[int] = field(default_factory=list)
    keys: set[Key] = field(default_factory=set)


@dataclass
class EventCounts:
    """The counts of a funnel: events that pass each step, sequences that stopped, and the matches before pipes."""

    events: int
    steps: list[StepEvents]
    stopped: list[StoppedSequence]
    found: list[Match] = field(default_factory=list)

    @property
    def matches(self) -> int:
        """Return the number of different matches; with arrays, two keys may have matches of the same events."""
        return len(set(self.found))

    def _step_lines(self) -> Iterator[str]:
        """Yield a line about each step. The filter of a step with `runs=n` is written once."""
        first: dict[str, int] = {}
        for number, step in enumerate(self.steps, 1):
            about = []
            if step.keyless:
                about.append(f"{step.keyless} without a key")
            if number > 1 and step.unawaited:
                examples = ", ".join(map(str, step.examples))
                about.append(f"for {step.unawaited}, no sequence with their key waits, as for event {examples}")
            more = f" ({'; '.join(about)})" if about else ""
            keys = f" of {len(step.keys)} keys" if len(step.keys) > 1 else ""
            text = step.text if first.setdefault(step.text, number) == number else f"as step {first[step.text]}"
            passes = "event passes" if step.passing == 1 else "events pass"
            reach = "sequence reaches" if step.reached == 1 else "sequences reach"
            yield f"{step.passing} {passes}{keys}, {step.reached} {reach} the step{more}: {text}"

    def lines(self) -> Iterator[str]:
        """Yield the funnel as text: a line for each step and each reason why sequences stopped."""
        yield f"of {self.events} events"
        for said, same in groupby(enumerate(self._step_lines(), 1), key=lambda pair: pair[1]):
            numbers = [number for number, _ in same]
            yield f"step{f's {numbers[0]} to {numbers[-1]}' if len(numbers) > 1 else f' {numbers[0]}'}: {said}"
        counts = Counter(one.kind for one in self.stopped)
        for kind, words in STOPPED.items():
            if counts[kind]:
                examples = list(dict.fromkeys(one for one in self.stopped if one.kind == kind))[:SHOWN]
                shown = "; ".join(f"{braces(one.positions)} {one.words}" for one in examples)
                yield f"{counts[kind]} {words}: {shown}"
        yield f"{self.matches} match{'' if self.matches == 1 else 'es'}"


def follow(query: eql.EventSequence, S: Sequence[Event]) -> EventCounts:
    """Return how far the sequences of a rule came on a log, and what stopped them, by Elastic's semantics.

    Raises BudgetExceeded.
    """
    return _Follower(query, S).run()


class _Follower:
    def __init__(self, query: eql.EventSequence, S: Sequence[Event]) -> None:
        steps = eql.step_expanded(query)
        self.query, self.S, self.window = query, S, span_of(query.maxspan)
        self.steps = [self._step(step) for step in steps if not step.missing]
        self.gaps = [
            (sum(not one.missing for one in steps[:i]), self._step(step))
            for i, step in enumerate(steps)
            if step.missing
        ]
        self.until = None if query.until is None else self._step(query.until)
        counts = [StepEvents(eql.show_filter(step.filter)) for step in steps if not step.missing]
        self.funnel = EventCounts(len(S), counts, [])
        self.places: dict[Key, list[tuple[int, ...]]] = {}
        self.missed: dict[tuple[int, Key], list[int]] = {}
        self.complete: list[tuple[Key, tuple[int, ...]]] = []

    def _step(self, step: eql.SequenceStep) -> tuple[Callable[[Event], bool], tuple[eql.EventField, ...]]:
        return filter_test(step.filter), eql.step_keys(self.query, step)

    def run(self) -> EventCounts:
        """Follow the sequences through the whole log."""
        for position, event in enumerate(timed_items(self.S)):
            self.after(position, event)
        self.end()
        return self.funnel

    def after(self, position: int, event: Event) -> None:
        """Follow the sequences through one event."""
        for i in range(len(self.steps) - 1, -1, -1):
            test, fields = self.steps[i]
            if test(event):
                self._at_step(i, position, keys_of(event, fields))
        if self.until is not None and self.until[0](event):
            for K in keys_of(event, self.until[1]):
                for waiting in filter(None, self.places.get(K, [])):
                    self._stop(waiting, "until", position, f"by event {position}")
                if K in self.places:
                    self.places[K] = [()] * len(self.steps)
        for j, (_, (test, fields)) in enumerate(self.gaps):
            for K in keys_of(event, fields) if test(event) else ():
                self.missed.setdefault((j, K), []).append(position)

    def _at_step(self, i: int, position: int, keys: tuple[Key, ...]) -> None:
        count = self.funnel.steps[i]
        count.passing += 1
        count.keyless += not keys
        count.keys.update(keys)
        moved = [self._move(i, position, K) for K in keys]
        if keys and not any(moved):
            count.unawaited += 1
            if len(count.examples) < SHOWN:
                count.examples.append(position)

    def _move(self, i: int, position: int, K: Key) -> bool:
        """Move the sequence of this key that waits for step i to this step, or begin a sequence if i is 0.

        Return False if no sequence waits for the step.
        """
        places = self.places.get(K) or [()] * len(self.steps)
        if i > 0 and not places[i - 1]:
            return False
        self.places[K] = places
        moved = (*(places[i - 1] if i else ()), position)
        if i:
            places[i - 1] = ()
        self.funnel.steps[i].reached += 1
        if i == len(self.steps) - 1:
            self.complete.append((K, moved))
            return True
        if places[i]:
            self._stop(places[i], "overwritten", position, f"by event {position}")
        places[i] = moved
        return True

    def end(self) -> None:
        """Check the windows and the gaps of complete sequences, and stop the sequences that still wait."""
        for K, positions in self.complete:
            late = self._late(positions)
            came = self._came(K, positions)
            if late is not None:
                self._stop(positions, "expired", positions[-1], late)
            elif came is not None:
                self._stop(positions, "gap", came, f"by event {came}")
            else:
                self.funnel.found.append(Match(positions[-1], positions))
        for places in self.places.values():
            for i, waiting in enumerate(places):
                if waiting:
                    self._stop(waiting, "waiting", None, f"for step {i + 2}")

    def _late(self, positions: tuple[int, ...]) -> str | None:
        """Return a text that says by how much the last event is too late; None if it is not too late."""
        if self.window is None:
            return None
        begin, end = (time_of(self.S[p]) for p in (positions[0], positions[-1]))
        if begin is None or end is None:
            return f"event {positions[0] if begin is None else positions[-1]} has no time"
        over = end - begin - self.window
        return f"by {show_seconds(over)} s" if over > 0 else None

    def _came(self, K: Key, run: tuple[int, ...]) -> int | None:
        """Return the position of the first event that must be missing but occurs; None if there is no such event."""
        begin, end = time_of(self.S[run[0]]), time_of(self.S[run[-1]])
        for j, (before, _) in enumerate(self.gaps):
            for p in self.missed.get((j, K), ()):
                time = time_of(self.S[p])
                if 0 < before < len(run):
                    inside = run[before - 1] < p < run[before]
                elif begin is None or end is None or time is None or self.window is None:
                    inside = False
                elif before == 0:
                    inside = p < run[0] and time >= end - self.window
                else:
                    inside = p > run[-1] and time <= begin + self.window
                if inside:
                    return p
        return None

    def _stop(self, positions: tuple[int, ...], kind: str, at: int | None, words: str) -> None:
        self.funnel.stopped.append(StoppedSequence(positions, kind, at, words))
