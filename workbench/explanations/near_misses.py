"""Show how far the sequences of a query came: a funnel, and the incomplete starts, each with the step that it lacks.

A start is an event that takes the first step. Its depth is the number of steps, counted from the first, that a sequence
which begins with it can take in the same windows and keys. All events after a start are examined until its window ends.
The work is bounded; starts that were not examined are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from math import inf
from typing import Any, Literal, TypeAlias

from cerify.automata.cea.model import intersection
from cerify.automata.evaluate.evaluation_plan import partitioned
from cerify.automata.evaluate.scope import Key, Scope, key_of, lookback_bounds, strip_windows, within_width
from cerify.automata.evaluate.tables import classify
from cerify.semantics.arguments import Budget, check_time, depth_limited, require_whole, timed_items
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import ContiguousRepeat, Formula, Repeat, show
from cerify.semantics.errors import InputError, InternalError, Unsupported
from cerify.semantics.events import TIME, Event, Stream
from cerify.semantics.predicates import (
    Both,
    Either,
    Not,
    OfType,
    Predicate,
    holds,
    mentions,
    show_predicate,
    show_value,
)
from cerify.semantics.values import Value, plain, show_seconds

Cause = Literal["forbidden", "not_next", "late", "filter", "open", "none", "overwritten"]
"""Why a start did not complete the sequence.

forbidden: an event occurred that UNLESS forbids. not_next: the step must take the next event, but that is another one.
late: the event for the step comes after the window. filter: an event of the right type fails the step's filter. open:
the stream ends before the window does. none: there is no event for the step. overwritten (EQL): a later sequence took
its place.
"""

MISSES = 1_000  # the most near misses that are listed by default
STEPS = 20_000_000  # the most events examined after all starts together
BEYOND = 10_000  # the most events examined after a window for one that comes too late


@dataclass(frozen=True)
class NearMiss:
    """A start that did not complete the sequence.

    events: the positions of one of its deepest partial matches, one for each step. missing: the next step. event: the
    position of the event that is the cause, if there is one. key: the value of each attribute of PER KEY and PARTITION
    BY around the sequence.
    """

    start: int
    events: tuple[int, ...]
    missing: str
    cause: Cause
    event: int | None
    message: str
    key: Mapping[str, Value] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """Return the number of steps taken."""
        return len(self.events)


@dataclass(frozen=True)
class NearMissReport:
    """The number of starts that took each step, and the near misses.

    The deepest near misses come first; near misses of equal depth are sorted by how late they are.

    steps: the texts of the steps. reached: for each step, the number of starts that took it; for the first step, this
    is the number of all starts. causes: for each step, the number of starts that stopped before it, by cause. nearest:
    for each step, the start and the event that took the step too late by the least, and their distance as text.
    left_out: the number of near misses beyond the limit of the list. unread: the number of starts beyond the budget.
    candidates: for each step, the number of events of its types; in EQL, of events that pass its filter. excluded: for
    each step, how many of these cannot take it, by reason, such as {"without user": 2}.
    """

    steps: tuple[str, ...]
    reached: tuple[int, ...]
    causes: tuple[dict[Cause, int], ...]
    nearest: tuple[tuple[int, int, str] | None, ...]
    misses: tuple[NearMiss, ...]
    left_out: int
    unread: int
    candidates: tuple[int, ...]
    excluded: tuple[dict[str, int], ...]

    @property
    def starts(self) -> int:
        """Return how many starts were examined."""
        return self.reached[0]

    @property
    def completed(self) -> int:
        """Return how many starts completed the sequence."""
        return self.reached[-1]

    def json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        steps = zip(self.steps, self.reached, self.causes, self.nearest, self.candidates, self.excluded, strict=True)
        return {
            "steps": [
                {
                    "step": step,
                    "reached": reached,
                    "missed": missed,
                    "nearest": nearest and list(nearest[:2]),
                    "candidates": candidates,
                    "left_out": excluded,
                }
                for step, reached, missed, nearest, candidates, excluded in steps
            ],
            "misses": [
                {
                    "start": miss.start,
                    "depth": miss.depth,
                    "events": list(miss.events),
                    "missing": miss.missing,
                    "cause": miss.cause,
                    "event": miss.event,
                    "message": miss.message,
                    **({"key": {a: plain(value) for a, value in miss.key.items()}} if miss.key else {}),
                }
                for miss in self.misses
            ],
            "left_out": self.left_out,
            "unread": self.unread,
        }

    def show_sentences(self) -> Iterator[str]:
        """Yield sentences that say how many starts took each step, and why others did not."""
        yield f"{self.starts:,} {_events(self.starts)} {_takes(self.starts)} the first step, {self.steps[0]}"
        yield from self._show_excluded(0)
        for k in range(1, len(self.steps)):
            on, causes = self.reached[k], self.causes[k]
            line = f"{on:,} of these {'goes' if on == 1 else 'go'} on to {self.steps[k]}"
            said = [f"{number:,} {SAID[cause]}" for cause, number in causes.items() if number]
            yield f"{line}; {', '.join(said)}" if said else line
            if self.steps[k] not in self.steps[:k]:
                yield from self._show_excluded(k)
            if (nearest := self.nearest[k]) is not None:
                yield f"  nearest: events {nearest[0]} and {nearest[1]}, {nearest[2]} apart"
        if self.unread:
            yield f"{self.unread:,} more starts were not examined, because the budget was used up"

    def _show_excluded(self, k: int) -> Iterator[str]:
        """Yield a sentence about the events that are left out at step k, if there are any."""
        number, candidates = sum(self.excluded[k].values()), self.candidates[k]
        if number:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.excluded[k].items())
            yield f"  {number:,} of {candidates:,} such {_events(candidates)} left out: {reasons}"


SAID: dict[Cause, str] = {
    "forbidden": "stopped by a forbidden event",
    "not_next": "followed by another event",
    "late": "too late",
    "filter": "with an event that fails the filter",
    "open": "open at the end of the stream",
    "none": "without such an event",
    "overwritten": "overwritten by a later sequence",
}


def near_misses(phi: Formula, S: Stream, limit: int = MISSES, budget: Budget = Budget()) -> NearMissReport:
    """Report how far the sequences of a formula came on a stream.

    Raises Unsupported for a formula that is not a sequence of steps, BudgetExceeded, and InputError if the values of a
    window's attribute decrease, since no event then ends the window.
    """
    require_whole("limit", limit)
    sequence = sequence_of(phi)
    if isinstance(sequence, Unsupported):
        raise sequence
    with budget.timed():
        return _Search(sequence, S).funnel(limit)


@dataclass
class _Partial:
    """The partial matches of one start: at index k, a partial match with k steps, or None.

    alive: partial matches that the next step can continue. looping: partial matches whose last step may repeat,
    whatever events come in between.
    """

    alive: list[tuple[int, ...] | None]
    looping: list[tuple[int, ...] | None]
    deepest: tuple[int, ...]
    killed: int | None = None  # the event that ended the deepest partial match
    last: int = -1  # the last position that was examined
    over: bool = False  # whether the window ended


@dataclass
class _Tally:
    """The counts of a search while it runs."""

    reached: list[int]
    causes: list[dict[Cause, int]]
    nearest: list[tuple[float, int, int, str] | None]
    misses: list[tuple[tuple[float, ...], NearMiss]] = field(default_factory=list)  # each with its sort key


class _Search:
    """A search through the events after each start."""

    def __init__(self, sequence: StepSequence, S: Stream) -> None:
        self.steps, self.scope, self.S = sequence.steps, sequence.scope, S
        bounds = lookback_bounds(self.scope, S)
        if bounds.unordered:
            name = bounds.unordered[0][0]
            how = " (--sort; in Python, as_stream with sort=True)" if name == TIME else ""
            raise InputError(
                f"the values of {name!r} decrease; a window on it needs ascending values, so sort the stream by it{how}"
            )
        self._admitted = bounds.marks
        self.streams: list[Key | None] = bounds.keys
        self.parts: list[Key | None] = [key_of(self.scope.attributes, event) for event in S]
        self._classify()
        self._seen = self._visible()
        self._number = {p: n for positions in self._seen.values() for n, p in enumerate(positions)}
        self._left = STEPS

    def _classify(self) -> None:
        """Set `takes` and `forbids`: for each event, bit masks of the steps that it takes, and that it forbids."""
        predicates: list[Predicate] = []
        takes, forbids = [0] * len(self.steps), [0] * len(self.steps)
        for k, step in enumerate(self.steps):
            for P, _ in step.ways:
                takes[k] |= 1 << len(predicates)
                predicates.append(P)
            for _, P in step.guards:
                forbids[k] |= 1 << len(predicates)
                predicates.append(P)
        masks = classify(predicates, self.S)
        found: dict[int, tuple[int, int]] = {}
        # Once for each different mask, which are few, and not for each event.
        for mask in set(masks):
            of = [sum(1 << k for k, bits in enumerate(kind) if mask & bits) for kind in (takes, forbids)]
            found[mask] = of[0], of[1]
        self.takes = [found[mask][0] for mask in masks]
        self.forbids = [found[mask][1] for mask in masks]

    def _visible(self) -> dict[Key, list[int]]:
        """Return for each key the events that its sequences see; without PER KEY, all events under one key.

        An event that neither takes a step nor forbids one is left out, unless adjacency matters.
        """
        neighbours = any(step.next_to for step in self.steps) or self.scope.key_events is not None
        seen: dict[Key, list[int]] = {}
        for p, key in enumerate(self.streams):
            if key is not None and (neighbours or self.takes[p] or self.forbids[p]):
                seen.setdefault(key, []).append(p)
        return seen

    def funnel(self, limit: int) -> NearMissReport:
        """Follow all starts, one after the other, and return the report with at most `limit` near misses."""
        n = len(self.steps)
        tally = _Tally([0] * n, [{} for _ in range(n)], [None] * n)
        starts = [p for p in range(len(self.S)) if self.takes[p] & 1 and self._may_take(p)]
        read = 0
        for p in starts:
            if self._left <= 0:
                break
            self._follow(p, tally)
            read += 1
        candidates, excluded = self._count_excluded()
        misses = [miss for _, miss in sorted(tally.misses, key=lambda pair: pair[0])]
        return NearMissReport(
            tuple(step.text for step in self.steps),
            tuple(tally.reached),
            tuple(tally.causes),
            tuple(None if found is None else (found[1], found[2], found[3]) for found in tally.nearest),
            tuple(misses[:limit]),
            max(0, len(misses) - limit),
            len(starts) - read,
            candidates,
            excluded,
        )

    def _count_excluded(self) -> tuple[tuple[int, ...], tuple[dict[str, int], ...]]:
        """Count for each step the events of its types, and by reason those that cannot take it."""
        candidates, excluded = Counter[int](), [Counter[str]() for _ in self.steps]
        steps: dict[str, list[int]] = {}
        for k, step in enumerate(self.steps):
            for R in step.types:
                steps.setdefault(R, []).append(k)
        for p, event in enumerate(timed_items(self.S)):
            for k in steps.get(event.type, ()):
                candidates[k] += 1
                if not self.takes[p] >> k & 1:
                    excluded[k][_why_failing(self.steps[k], event)] += 1
                elif not self._may_take(p):
                    excluded[k][self._why_left_out(event)] += 1
        return tuple(candidates[k] for k in range(len(self.steps))), tuple(map(dict, excluded))

    def _why_left_out(self, event: Event) -> str:
        """Return the reason why an event is in no match: the first key or window attribute for which it has no
        value.
        """
        for a in (*self.scope.keys, *self.scope.attributes):
            if key_of((a,), event) is None:
                return f"without {a}"
        for a, width in self.scope.widths:
            if not within_width(width, [value := event.get(a)]):
                return f"without {'' if value is None else 'a measurable '}{a}"
        raise InternalError("every event with all keys and measurable values can be in a match")

    def _may_take(self, p: int) -> bool:
        return self._admitted[p] and self.streams[p] is not None and self.parts[p] is not None

    def _follow(self, start: int, tally: _Tally) -> None:
        found = self._partial(start)
        depth = len(found.deepest)
        for k in range(depth):
            tally.reached[k] += 1
        if depth == len(self.steps):
            return
        miss = self._miss(found)
        causes = tally.causes[depth]
        causes[miss.cause] = causes.get(miss.cause, 0) + 1
        distance, text = inf, ""
        if miss.cause == "late" and miss.event is not None:
            distance, text = self._apart(start, miss.event)
        tally.misses.append(((-depth, distance, start), miss))
        if miss.cause == "late" and miss.event is not None:
            nearest = tally.nearest[depth]
            if nearest is None or distance < nearest[0]:
                tally.nearest[depth] = distance, start, miss.event, text

    def _partial(self, start: int) -> _Partial:
        """Find the partial matches of a start, up to a match or the end of its window."""
        n, seen = len(self.steps), self._seen[self.streams[start] or ()]
        found = _Partial([None] * (n + 1), [None] * (n + 1), (start,), last=start)
        found.alive[1] = (start,)
        found.looping[1] = (start,) if self.steps[0].loops else None
        for place in range(self._number[start] + 1, len(seen)):
            self._left -= 1
            if self._left % 1024 == 0:
                check_time()
            p = seen[place]
            if not self._inside(start, p):
                found.over = True
                break
            self._extend(found, p, start)
            found.last = p
            if found.alive[n] is not None or not any((*found.alive, *found.looping)):
                break
        return found

    def _extend(self, found: _Partial, p: int, start: int) -> None:
        """Extend the partial matches of a start by one event."""
        alive, taken = found.alive, self.takes[p] if self._may_take(p) and self.parts[p] == self.parts[start] else 0
        for k in range(1, len(self.steps)):
            if alive[k] is not None and self.forbids[p] >> k & 1:
                if alive[k] is not None and k == len(found.deepest):
                    found.killed = p
                alive[k] = None
        # Collected first: an event takes one step of a partial match, so what it makes must not take it again.
        new: dict[int, tuple[int, ...]] = {}
        for k in range(len(self.steps)):
            if taken >> k & 1:
                before = alive[k] if k else None
                if before is not None:
                    new[k + 1] = (*before, p)
                elif (again := found.looping[k + 1]) is not None:
                    new[k + 1] = (*again[:-1], p)
        for k in range(1, len(self.steps)):
            if self.steps[k].next_to:
                alive[k] = None  # the next event has come
        for k, events in new.items():
            if self.steps[k - 1].loops and found.looping[k] is None:
                found.looping[k] = events
            if alive[k] is None or (k < len(self.steps) and self.steps[k].next_to):
                alive[k] = events
                # A partial match of this depth lives again, so the forbidden event was not what stopped it.
                found.killed = None if k >= len(found.deepest) else found.killed
            if k > len(found.deepest):
                found.deepest = events

    def _inside(self, start: int, p: int) -> bool:
        """Return whether some event from position p on can be in one window with the start.

        Call it only for events that the sequences see; see `_inside_all`.
        """
        scope = self.scope
        if scope.events is not None and p - start >= scope.events:
            return False
        if scope.key_events is not None and self._number[p] - self._number[start] >= scope.key_events:
            return False
        for a, width in scope.widths:
            value = self.S[p].get(a)
            # An event without a value is in no match, but does not end the window for the events after it.
            if value is not None and self._admitted[p] and not within_width(width, [self.S[start].get(a), value]):
                return False
        return True

    def _miss(self, found: _Partial) -> NearMiss:
        start, depth = found.deepest[0], len(found.deepest)
        step = self.steps[depth]
        cause, event, message = self._cause(found, step, depth)
        names = (*self.scope.keys, *self.scope.attributes)
        key = {a: value for a in names if (value := self.S[start].get(a)) is not None}
        return NearMiss(start, found.deepest, step.text, cause, event, message, key)

    def _cause(self, found: _Partial, step: StepOfSequence, depth: int) -> tuple[Cause, int | None, str]:
        start, last = found.deepest[0], found.deepest[-1]
        if found.killed is not None:
            forbidden = " or ".join(dict.fromkeys(text for text, _ in step.guards))
            return "forbidden", found.killed, f"event {found.killed} is a forbidden {forbidden}, before any {step.text}"
        seen = self._seen[self.streams[start] or ()]
        after = seen[self._number[last] + 1 :][:BEYOND] if step.next_to else seen[self._number[last] + 1 :]
        if step.next_to and after:
            following = f"the next event, {after[0]} ({self.S[after[0]].type}), does not take the step {step.text}"
            return "not_next", after[0], following
        if (late := self._late(found, after, depth)) is not None:
            return (
                "late",
                late,
                f"event {late} takes the step {step.text}, {self._apart(start, late)[1]} after the start",
            )
        if (failing := self._failing(start, last, step)) is not None:
            return "filter", failing, f"event {failing} has the type of the step {step.text}, but fails its filter"
        if not found.over and self._open(start):
            rest = "so far; the window continues after the end" if self.scope.windowed else "up to the end"
            return "open", None, f"no {step.text} {rest} of the stream"
        return "none", None, f"no {step.text} after event {last}"

    def _late(self, found: _Partial, after: Sequence[int], depth: int) -> int | None:
        """Return the position of the first event after the window that takes the missing step, or None."""
        start = found.deepest[0]
        beyond = 0
        for p in after if found.over else ():
            beyond += p > found.last
            if beyond > BEYOND:
                break
            if (
                p > found.last
                and self.takes[p] >> depth & 1
                and self._may_take(p)
                and self.parts[p] == self.parts[start]
            ):
                return p
        return None

    def _failing(self, start: int, last: int, step: StepOfSequence) -> int | None:
        """Return the position of the first event in the window of the step's type that fails its filter, or None."""
        for p in range(last + 1, min(len(self.S), last + BEYOND)):
            if self.streams[p] == self.streams[start] and self.parts[p] == self.parts[start]:
                if not self._inside_all(start, p):
                    return None
                if self.S[p].type in step.types:
                    return p
        return None

    def _inside_all(self, start: int, p: int) -> bool:
        """Return whether event p is in one window with the start. Unlike for `_inside`, the sequences need not see the
        event.
        """
        if p in self._number:
            return self._inside(start, p)
        scope = self.scope
        if scope.events is not None and p - start >= scope.events:
            return False
        values = ((width, self.S[start].get(a), self.S[p].get(a)) for a, width in scope.widths)
        return all(value is not None and within_width(width, [first, value]) for width, first, value in values)

    def _open(self, start: int) -> bool:
        """Return whether the window of a start may extend beyond the last event of the stream."""
        return not self.scope.windowed or self._inside_all(start, len(self.S) - 1)

    def _apart(self, start: int, p: int) -> tuple[float, str]:
        """Return the distance of two events, and its text: in the first window's attribute, else in positions."""
        for a, _ in self.scope.widths:
            one, two = self.S[start].get(a), self.S[p].get(a)
            if isinstance(one, datetime) and isinstance(two, datetime):
                seconds = (two - one).total_seconds()
                return float(seconds), duration(seconds)
            if isinstance(one, int | float) and isinstance(two, int | float):
                distance = two - one
                return float(distance), duration(distance) if a == TIME else f"{show_value(distance)} of {a}"
        return float(p - start), f"{p - start} events"


def _why_failing(step: StepOfSequence, event: Event) -> str:
    """Describe the first part of a step's condition that an event of the step's type does not satisfy."""
    ways = [conditions for P, _ in step.ways if _holds_type(conditions := tuple(_conjuncts(P)), event)]
    if len(ways) != 1:
        return "that satisfy no side of OR"
    failing = next(P for P in ways[0] if not holds(P, event))
    missing = [a.name for a in mentions(failing) if event.get(a.name) is None]
    if missing and not isinstance(failing, Not | Either):
        return f"without {missing[0]}"
    return f"where {show_predicate(failing)} does not hold"


def _conjuncts(P: Predicate) -> Iterator[Predicate]:
    if isinstance(P, Both):
        yield from _conjuncts(P.left)
        yield from _conjuncts(P.right)
    else:
        yield P


def _holds_type(conditions: Sequence[Predicate], event: Event) -> bool:
    return all(holds(P, event) for P in conditions if isinstance(P, OfType))


def duration(seconds: float | Fraction) -> str:
    """Format seconds in words, such as "11 minutes 3 seconds"; a Fraction may have nanoseconds."""
    parts, rest = [], seconds
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        number, rest = divmod(rest, size)
        if number:
            parts.append(f"{int(number)} {unit}{'s' * (number != 1)}")
    if rest or not parts:
        shown = show_seconds(rest * 10**6) if isinstance(rest, Fraction) else f"{rest:g}"
        parts.append(f"{shown} second{'s' * (rest != 1)}")
    return " ".join(parts)


def _events(number: int) -> str:
    return "event" if number == 1 else "events"


def _takes(number: int) -> str:
    return "takes" if number == 1 else "take"


# ---------------------------------------------------------------------------------------------------------------------
# Convert a query to a sequence of steps, each taken by one event, for near misses and funnels.
#
# `A ; (B UNLESS C) ; D PER KEY [k] WITHIN 10 minutes` has three steps, A, B and D; B is guarded by C. Whether an event
# takes a step depends on this event alone. Whether one step follows another depends on a window, a key, and forbidden
# events in between. So it is defined how far a sequence that begins with an event came. This is not defined for
# formulas that compare matches, such as those with NXT, or that combine events in other ways.

Ways: TypeAlias = tuple[tuple[Predicate, frozenset[str]], ...]
"""The ways for one event to take a step: for each, the predicate that it satisfies and the variables that bind it."""

LISTED = 60  # the most steps of a sequence


@dataclass(frozen=True)
class StepOfSequence:
    """One step of a sequence, taken by one event.

    text: the part of the query. types: the event types that can take the step. guards: conditions that no event may
    satisfy after the step before and up to this step. next_to: whether the event must directly follow the event of the
    step before. loops: whether the step may repeat.
    """

    text: str
    ways: Ways
    types: frozenset[str]
    guards: tuple[tuple[str, Predicate], ...] = ()
    next_to: bool = False
    loops: bool = False


@dataclass(frozen=True)
class StepSequence:
    """The steps of a query, and the windows and keys around them; scope.core is the formula of the steps."""

    steps: tuple[StepOfSequence, ...]
    scope: Scope


def sequence_of(phi: cel.Formula) -> StepSequence | Unsupported:
    """Return the steps of a query, or the reason why it is not a sequence. Raises BudgetExceeded."""
    with depth_limited(phi.span):
        scope = strip_windows(partitioned(phi))
        if isinstance(scope, Unsupported):
            return scope
        steps = _steps(scope.core)
    if isinstance(steps, Unsupported):
        return steps
    if steps[0].guards:
        return Unsupported(
            "UNLESS around the first step depends on all events before it; put it around a later step", phi.span
        )
    if len(steps) > LISTED:
        return Unsupported(f"the query has more than {LISTED} steps; near misses support no more", phi.span)
    return StepSequence(steps, scope)


def _steps(phi: cel.Formula) -> tuple[StepOfSequence, ...] | Unsupported:
    match phi:
        case cel.EventAtom(R):
            return (StepOfSequence(R, ((OfType(R), frozenset({R})),), frozenset({R})),)
        case cel.In(psi, A):
            steps = _steps(psi)
            return steps if isinstance(steps, Unsupported) else tuple(_bound(step, A) for step in steps)
        case cel.Filter(psi, condition):
            steps = _steps(psi)
            return steps if isinstance(steps, Unsupported) else _filtered(steps, condition)
        case cel.Seq(left, right) | cel.ContiguousSeq(left, right):
            one, two = _steps(left), _steps(right)
            if isinstance(one, Unsupported) or isinstance(two, Unsupported):
                return one if isinstance(one, Unsupported) else two
            next_to = isinstance(phi, cel.ContiguousSeq)
            return (*one, replace(two[0], next_to=next_to), *two[1:])
        case cel.Or(left, right):
            return _either(phi, _steps(left), _steps(right))
        case cel.Unless(left, right):
            return _guarded(phi, _steps(left), _steps(right))
        case cel.Plus(psi):
            return _repeated(phi, _steps(psi), 1, more=True)
        case Repeat(psi, least, most) if not isinstance(phi, ContiguousRepeat):
            return _repeated(phi, _steps(psi), least, more=most != least)
    return _no_steps(phi)


def _no_steps(phi: cel.Formula) -> Unsupported:
    return Unsupported(
        f"`{show(phi)}` is not a sequence of steps: single events, joined by ; or :, with +, {{n}} and UNLESS around "
        "single events",
        phi.span,
    )


def _single(steps: tuple[StepOfSequence, ...] | Unsupported) -> StepOfSequence | None:
    """Return the only step of a sequence, if it has no guard; else None."""
    return steps[0] if isinstance(steps, tuple) and len(steps) == 1 and not steps[0].guards else None


def _bound(step: StepOfSequence, A: str) -> StepOfSequence:
    return replace(step, ways=tuple((P, L | {A}) for P, L in step.ways))


def _either(
    phi: cel.Or, left: tuple[StepOfSequence, ...] | Unsupported, right: tuple[StepOfSequence, ...] | Unsupported
) -> tuple[StepOfSequence, ...] | Unsupported:
    one, two = _single(left), _single(right)
    if one is None or two is None or one.loops or two.loops:
        return _no_steps(phi)
    return (StepOfSequence(show(phi), (*one.ways, *two.ways), one.types | two.types),)


def _guarded(
    phi: cel.Unless, left: tuple[StepOfSequence, ...] | Unsupported, right: tuple[StepOfSequence, ...] | Unsupported
) -> tuple[StepOfSequence, ...] | Unsupported:
    forbidden = _single(right)
    if isinstance(left, Unsupported) or len(left) > 1 or left[0].loops or forbidden is None:
        return _no_steps(phi)
    guards = tuple((show(phi.right), P) for P, _ in forbidden.ways)
    return (replace(left[0], guards=(*left[0].guards, *guards)),)


def _repeated(
    phi: cel.Formula, steps: tuple[StepOfSequence, ...] | Unsupported, least: int, more: bool
) -> tuple[StepOfSequence, ...] | Unsupported:
    """Return the steps of an iteration: `least` copies of its only step. more: whether the last copy may repeat."""
    step = _single(steps)
    return _no_steps(phi) if step is None else (*(step,) * (least - 1), replace(step, loops=more))


def _filtered(steps: tuple[StepOfSequence, ...], condition: cel.Condition) -> tuple[StepOfSequence, ...] | Unsupported:
    match condition:
        case cel.Every(A, Q):
            return tuple(
                replace(step, ways=tuple((intersection(P, Q) if A in L else P, L) for P, L in step.ways))
                for step in steps
            )
        case cel.Conjunction(left, right):
            found = _filtered(steps, left)
            return found if isinstance(found, Unsupported) else _filtered(found, right)
    return Unsupported(
        "this filter compares events, or has OR; near misses support only filters on single steps", condition.span
    )
