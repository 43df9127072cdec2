"""Compare formulas with windows on parts of a match, by automata with clocks.

A window around a part that ends before the match does cannot be judged from the last event. A clock measures it: it
starts with the first event of the part and is read at the last one. The comparison follows sets of configurations of
both formulas; a configuration is a state with the clocks that run. Runs share clocks: an event at which several runs
start clocks has one clock, so a set of runs needs no more clocks than events.

Two facts make the sets finite. First, a window only says that a clock is not too late. So of two configurations that
differ only in the age of their clocks, the younger accepts all that the older does, and the older is left out. Second,
only *zones* of times are followed: differences of the times of the events with clocks, of now, and of the last event,
from which windows around whole matches are measured (keys_and_windows.py). A zone is a matrix of bounds (D. Dill,
1989), and a difference above the widest window counts as unbounded. Times are whole numbers of ticks. A tick is a unit
of the schema's integers, a microsecond, or so small a part of the widths that rational times make no other difference.

A part whose events have one key, or other equal values, is followed with a *register* (M. Kaminski, N. Francez, 1994).
The first compared event stores its value, and later events must have the same value. The search follows only which
registers hold equal values, and whether an event's value is in a register, is the last event's key, or is neither.

NXT, LAST and MAX compare a run with rivals, which are sets of configurations too. So they may stand above such a window
if only filters, bindings, OR and other strategies are around them. In general, automata with clocks cannot be
determinized (R. Alur and D. Dill, 1994); then the search ends with BudgetExceeded, never with a wrong answer.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

from cerify.automata.cea.model import CEA, FIRST_OF, HELD, LAST_OF, Marks
from cerify.semantics.arguments import check_time
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.predicates import Predicate

Config: TypeAlias = tuple[Any, ...]
"""A configuration: nested tuples of numbers. Numbers up to KEY are values; other negative numbers are clocks, the
oldest -1."""

Bound: TypeAlias = int | float
Zone: TypeAlias = tuple[tuple[Bound, ...], ...]
"""Entry i, j is the most by which time i is after time j. Time 0 is the last event's, 1 is now, 1 + k is clock -k's."""


@dataclass(frozen=True)
class Ages:
    """The age of each open part of a match, compared with its window, when an event is read.

    widths: the width of the window of each part. passed: for each clock the widest window that has expired, -1 if none
    has. values: the value of each attribute of the event, None if it has no value.
    """

    widths: tuple[Bound, ...]
    passed: tuple[tuple[int, Bound], ...]
    values: tuple[tuple[str, int | None], ...] = ()

    def allow(self, part: int, clock: int) -> bool:
        """Return whether the clock of a part is still within the part's window."""
        return all(other != clock or self.widths[part] > bound for other, bound in self.passed)


# Clocks and values are numbers in one tuple, in ranges that never meet: clocks are above KEY, values from KEY down.
NEW = -(10**9)  # the clock that starts with the event that is read
KEY = -2 * 10**9  # the value that the last event has; below are values in registers, the oldest first
FRESH = -3 * 10**9  # a new value of the event's first attribute; each next attribute has PIECES less
LAST, NOW = 0, 1
PIECES = 64  # an attribute's values are in so many pieces; a value's number modulo PIECES tells its piece
VALUES = 4  # the most values in registers at once; each adds choices for an event


# --- automata with clocks ---------------------------------------------------------------------------------------------


class ClockedAutomaton(Protocol):
    """An automaton with clocks. A configuration is a state together with the clocks that run."""

    @property
    def initial(self) -> tuple[Config, ...]:
        """Return the configurations before the first event."""

    def step(self, config: Config, type_: int, within: Ages) -> Iterator[tuple[Marks, Config]]:
        """Yield (marks, configuration) for each way to read an event of a type.

        marks: the variables that hold the event. within: the age of each part of the match with its own window that
        has begun, but not ended.
        """

    def is_final(self, config: Config) -> bool:
        """Return whether a match may end here."""

    def rank(self, config: Config) -> tuple[Config, tuple[int, ...]]:
        """Return a configuration without its clocks, and its clocks.

        Of two configurations that are equal without clocks, the one with younger clocks accepts more.
        """


def prune(automaton: ClockedAutomaton, configs: Iterable[Config]) -> tuple[Config, ...]:
    """Drop each configuration for which another one accepts at least as much; return the others, sorted."""
    groups: dict[Config, list[tuple[tuple[int, ...], Config]]] = {}
    for config in set(configs):
        shared, clocks = automaton.rank(config)
        groups.setdefault(shared, []).append((clocks, config))
    kept = []
    for group in groups.values():
        for clocks, config in group:
            if not any(o != clocks and all(a <= b for a, b in zip(o, clocks, strict=True)) for o, _ in group):
                kept.append(config)
    return tuple(sorted(kept))


@dataclass(frozen=True)
class PlainClocked:
    """The automaton with clocks of a compiled formula, whose marks say where each part with its own window begins and
    ends.

    A configuration is a state with the parts that have begun but not ended, and the clock of each.
    """

    A: CEA
    types: Mapping[Predicate, Sequence[int]]
    _known: dict[Any, list[tuple[Marks, Config]]] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def initial(self) -> tuple[Config, ...]:
        return tuple((q, ()) for q in sorted(self.A.initial))

    @cached_property
    def _steps(self) -> list[dict[int, list[_EdgeStep]]]:
        found: list[dict[int, list[_EdgeStep]]] = [{} for _ in range(self.A.states)]
        for t in self.A.transitions:
            first, last = (
                [int(v.removeprefix(edge)) for v in sorted(t.marks) if v.startswith(edge)]
                for edge in (FIRST_OF, LAST_OF)
            )
            visible = frozenset(v for v in t.marks if not v.startswith((FIRST_OF, LAST_OF, HELD)))
            for type_ in self.types[t.predicate]:
                found[t.source].setdefault(type_, []).append((visible, first, last, registers_in(t.marks), t.target))
        return found

    @cached_property
    def _compared_later(self) -> list[frozenset[int]]:
        """Return for each state the registers with which a run may still compare before it empties them."""
        # A value that is never compared again is dropped: otherwise runs that go on alike would count as different.
        asked = [frozenset[int]()] * self.A.states
        changed = True
        while changed:
            changed = False
            for t in self.A.transitions:
                emptied = {int(v.removeprefix(LAST_OF)) for v in t.marks if v.startswith(LAST_OF)}
                more = asked[t.source] | (asked[t.target] - emptied) | {i for i, _ in registers_in(t.marks)}
                changed, asked[t.source] = changed or more != asked[t.source], more
        return asked

    def step(self, config: Config, type_: int, within: Ages) -> Iterator[tuple[Marks, Config]]:
        key = config, type_, within.passed, within.values
        if key not in self._known:
            self._known[key] = list(self._step(config, type_, within))
        return iter(self._known[key])

    def _step(self, config: Config, type_: int, within: Ages) -> Iterator[tuple[Marks, Config]]:
        q, parts = config
        if not all(within.allow(i, clock) for i, clock in parts):
            return
        values = dict(within.values)
        for marks, first, last, compared, target in self._steps[q].get(type_, ()):
            running = {**dict(parts), **dict.fromkeys(first, NEW)}
            if any(values[a] is None or running.setdefault(i, values[a]) != values[a] for i, a in compared):
                continue
            kept = (
                (i, x) for i, x in running.items() if i not in last and (x > KEY or i in self._compared_later[target])
            )
            yield marks, (target, tuple(sorted(kept)))

    def is_final(self, config: Config) -> bool:
        return config[0] in self.A.final

    def rank(self, config: Config) -> tuple[Config, tuple[int, ...]]:
        q, parts = config
        shared = tuple((i, x if x <= KEY else 0) for i, x in parts)
        return (q, shared), tuple(clock for _, clock in parts if clock > KEY)


_EdgeStep: TypeAlias = tuple[Marks, list[int], list[int], list[tuple[int, str]], int]
"""The marks, the parts that begin and that end, registers with the attributes compared, and the target."""


def registers_in(marks: Marks) -> list[tuple[int, str]]:
    """Return the registers with which an event with these marks is compared, each with the compared attribute."""
    pairs = (v.removeprefix(HELD).split(" ", 1) for v in sorted(marks) if v.startswith(HELD))
    return [(int(number), name) for number, name in pairs]


@dataclass(frozen=True)
class EitherClocked:
    """Two automata side by side, which share no states.

    A configuration is (0, a configuration of the left one) or (1, a configuration of the right one).
    """

    left: ClockedAutomaton
    right: ClockedAutomaton

    @cached_property
    def initial(self) -> tuple[Config, ...]:
        return tuple((side, c) for side in (0, 1) for c in (self.left, self.right)[side].initial)

    def step(self, config: Config, type_: int, within: Ages) -> Iterator[tuple[Marks, Config]]:
        side, inner = config
        for marks, c in (self.left, self.right)[side].step(inner, type_, within):
            yield marks, (side, c)

    def is_final(self, config: Config) -> bool:
        return (self.left, self.right)[config[0]].is_final(config[1])

    def rank(self, config: Config) -> tuple[Config, tuple[int, ...]]:
        shared, clocks = (self.left, self.right)[config[0]].rank(config[1])
        return (config[0], shared), clocks


@dataclass(frozen=True)
class FilteredClocked:
    """An automaton that changes the marks of another one (`inner`), or refuses events because of their marks.

    The marks of an event are the variables that hold it.

    change: returns the new marks of an event of a type; None refuses the event. hidden: whether a type of events is
    ignored.
    """

    inner: ClockedAutomaton
    change: Callable[[Marks, int], Marks | None]
    hidden: Callable[[int], bool]

    @property
    def initial(self) -> tuple[Config, ...]:
        return self.inner.initial

    def step(self, config: Config, type_: int, within: Ages) -> Iterator[tuple[Marks, Config]]:
        if self.hidden(type_):
            yield frozenset(), config
            return
        for marks, c in self.inner.step(config, type_, within):
            if (changed := self.change(marks, type_)) is not None:
                yield changed, c

    def is_final(self, config: Config) -> bool:
        return self.inner.is_final(config)

    def rank(self, config: Config) -> tuple[Config, tuple[int, ...]]:
        return self.inner.rank(config)


@dataclass(frozen=True)
class StrategyClocked:
    """NXT, LAST or MAX around an automaton.

    A configuration is one of that automaton, together with the configurations of the rival matches that the strategy
    compares with it. monitor: returns the rivals after an event.
    """

    inner: ClockedAutomaton
    monitor: Callable[..., Any]
    _followed: dict[Any, list[tuple[Config, ...]]] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def initial(self) -> tuple[Config, ...]:
        rivals = prune(self.inner, self.inner.initial)
        return tuple((c, rivals, (), ()) for c in self.inner.initial)

    def step(self, config: Config, type_: int, within: Ages) -> Iterator[tuple[Marks, Config]]:
        def delta(configs: frozenset[Config], marked: bool) -> frozenset[Config]:
            steps = (step for c in configs for step in self.inner.step(c, type_, within))
            return frozenset(c for marks, c in steps if bool(marks) == marked)

        main, *monitor = config
        for marks, c in self.inner.step(main, type_, within):
            key = (*monitor, type_, within.passed, within.values, bool(marks))
            if key not in self._followed:
                followed = self.monitor(tuple(map(frozenset, monitor)), bool(marks), delta)
                self._followed[key] = [prune(self.inner, configs) for configs in followed]
            yield marks, (c, *self._followed[key])

    def is_final(self, config: Config) -> bool:
        return self.inner.is_final(config[0]) and not any(map(self.inner.is_final, config[2]))

    def rank(self, config: Config) -> tuple[Config, tuple[int, ...]]:
        shared, clocks = self.inner.rank(config[0])
        # The rivals decide too, so only configurations with the same rivals are compared by their clocks.
        return (shared, *config[1:]), clocks


# --- zones ------------------------------------------------------------------------------------------------------------

UNBOUNDED: Zone = ((0, math.inf), (0, 0))  # now is not after the last event


def tightened(zone: Zone, i: int, j: int, bound: Bound) -> Zone | None:
    """Return the zone (bounds on times) in which time i is also at most `bound` after time j; None if it is empty."""
    if bound >= zone[i][j]:
        return zone
    if zone[j][i] + bound < 0:
        return None
    n = range(len(zone))
    return tuple(tuple(min(zone[a][b], zone[a][i] + bound + zone[j][b]) for b in n) for a in n)


def elapsed(zone: Zone, gap: int) -> Zone | None:
    """Return the zone (bounds on times) with the time of the next event added; None if no such time is possible.

    This time is at least `gap` after now, and not after the last event.
    """
    new = len(zone)
    wider: Zone = (*((*row, math.inf) for row in zone), (*[math.inf] * new, 0))
    later = tightened(wider, NOW, new, -gap)
    return None if later is None else tightened(later, new, LAST, 0)


def selected(zone: Zone, times: Sequence[int], widest: int) -> Zone:
    """Return the zone (bounds on times) with only these times. Differences above the widest window become unbounded."""
    rough = [[zone[i][j] for j in times] for i in times]
    for i, row in enumerate(rough):
        for j, bound in enumerate(row):
            # No window tells differences above the widest one apart. Without this rounding there would be infinitely
            # many zones.
            row[j] = 0 if i == j else math.inf if bound > widest else max(bound, -widest - 1)
    # Shortest paths make the bounds tight again, so that zones with the same times are equal matrices.
    n = range(len(rough))
    for k in n:
        for i in n:
            for j in n:
                rough[i][j] = min(rough[i][j], rough[i][k] + rough[k][j])
    return tuple(map(tuple, rough))


def includes(zone: Zone, other: Zone) -> bool:
    """Return whether all times within the bounds of `other` are also within the bounds of `zone`."""
    return all(a >= b for mine, theirs in zip(zone, other, strict=True) for a, b in zip(mine, theirs, strict=True))


@lru_cache(maxsize=10_000)
def clocks_in(config: Any) -> frozenset[int]:
    """Return the clocks and the values of registers that occur in a configuration, or in several."""
    if isinstance(config, int):
        return frozenset({config} if config < 0 else ())
    return frozenset().union(*map(clocks_in, config))


def names_of(config: Any) -> dict[int, int]:
    """Map the clocks and the values in registers of a configuration to new numbers without gaps; clocks come first."""
    running = sorted(clocks_in(tuple(config)), reverse=True)
    clocks, values = ([x for x in running if (x > KEY) == is_clock and x != KEY] for is_clock in (True, False))
    names = {clock: -1 - i for i, clock in enumerate(clocks)}
    named = {x: KEY - 1 - i * PIECES - piece_of(x) for i, x in enumerate(values)}
    return {**names, **({KEY: KEY} if KEY in running else {}), **named}


def piece_of(value: int) -> int:
    """Return the number of the piece (of an attribute's values) to which a register's value belongs."""
    return ((FRESH if value <= FRESH else KEY - 1) - value) % PIECES


def renamed(config: Any, names: Mapping[int, int]) -> Any:
    """Replace clocks and register values in a configuration by their new numbers."""
    if isinstance(config, int):
        return names.get(config, config)
    return tuple(renamed(part, names) for part in config)


# --- the search -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClockedLetter:
    """A type of events, as the search with clocks reads it.

    timed: whether its events have a time. least, most: the least and the greatest time from such an event to the last
    event of the stream. The other fields are about the attributes whose values registers hold. keyed: those with the
    value of the last event. absent: those that the event may lack. present: those that the event may have, each with
    the piece (by number) of its values. single: those whose piece has only one value.
    """

    type: int
    timed: bool
    least: Bound = 0
    most: Bound = math.inf
    keyed: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()
    present: Mapping[str, int] = field(default_factory=dict)
    single: frozenset[str] = frozenset()


Held: TypeAlias = Mapping[str, Any]
"""For each attribute of an event, where its value comes from: (event, attribute) of its first occurrence, or KEY; None
for no value.
"""


@dataclass(frozen=True)
class Registers:
    """The registers of a comparison: memories for attribute values that later events are compared with.

    attributes: the attributes that registers hold or compare. groups: sets of attributes that are compared with each
    other. compared: the attributes of each register. ends_without: the attributes that the last event lacks.
    """

    attributes: tuple[str, ...] = ()
    groups: tuple[frozenset[str], ...] = ()
    compared: Mapping[int, frozenset[str]] = field(default_factory=dict)
    ends_without: frozenset[str] = frozenset()

    def choices(self, letter: ClockedLetter, config: Any) -> Iterator[tuple[tuple[str, int | None], ...]]:
        """Yield each combination of values that the registered attributes of an event may have; None stands for no
        value.

        letter: the type of the event. config: the configuration before the event; its registers hold values that the
        event may repeat. Raises BudgetExceeded.
        """
        held = _parts(config) if self.compared else ()
        running = {(self._group(next(iter(self.compared[i]))), x) for i, x in held if x <= KEY}
        if len(running) > VALUES:
            raise BudgetExceeded(
                f"comparing must remember more than {VALUES} keys of parts of a match at once; compare fewer attributes"
            )

        def visit(known: tuple[tuple[str, int | None], ...]) -> Iterator[tuple[tuple[str, int | None], ...]]:
            if len(known) == len(self.attributes):
                yield known
                return
            name = self.attributes[len(known)]
            options: list[int | None] = [KEY] if name in letter.keyed else [None] if name in letter.absent else []
            if (piece := letter.present.get(name)) is not None and name not in letter.keyed:
                mine = self._group(name)
                before = {x for a, x in known if x is not None and x <= FRESH and self._group(a) == mine}
                own = [x for x in (*sorted(x for group, x in running if group == mine), *sorted(before)) if x != KEY]
                equal = [x for x in own if piece_of(x) == piece]
                # The only value of the piece is in a register already, so there is no new one.
                is_new = not (equal and name in letter.single)
                options += [*equal, *([FRESH - len(known) * PIECES - piece] if is_new else [])]
            for option in options:
                yield from visit((*known, (name, option)))

        yield from visit(())

    def _group(self, name: str) -> int:
        return next(i for i, group in enumerate(self.groups) if name in group)


@dataclass(frozen=True)
class ClockedPair:
    """A state of the search: facts about the stream, each automaton's configurations, and bounds on times (a zone)."""

    known: tuple[int, ...]
    left: tuple[Config, ...]
    right: tuple[Config, ...]
    zone: Zone


Constraint: TypeAlias = tuple[int, int, Bound]
"""(i, j, bound): event i is at most `bound` after event j; -1 is the last event of the stream."""


@dataclass(frozen=True)
class ClockedStep:
    """A step of the search for a stream on which two automata differ; the steps up to it give the stream.

    parent: the state of the search before the step. letter: the type of the event that is read. times: constraints on
    its time. events: the numbers of this event, of the last event with a time, and of the event at which each clock
    started. values: where the event's attribute values come from. origins: for each value in a register, the event and
    the attribute that it comes from.
    """

    parent: ClockedPair | None
    letter: ClockedLetter | None
    times: tuple[Constraint, ...]
    events: tuple[int, ...] = ()
    values: Held = field(default_factory=dict)
    origins: Mapping[int, Any] = field(default_factory=dict)


@dataclass
class ClockedComparison:
    """A search for a stream on which two automata with clocks differ.

    The marks of an event are the variables that hold it. A part is a part of a match with its own window or register.

    both: the two automata side by side. letters: the letters of all types of events. known: the step of an automaton
    that accepts the streams that can exist; it returns None if no such stream continues with the letter. may_end:
    whether a stream may end in a state of that automaton. widths: the window of each part, in ticks; widest: the widest
    of all windows. gap: the least number of ticks between two events. visible: maps marks to the marks to compare.
    registers: the registers of the parts.
    """

    both: EitherClocked
    letters: Sequence[ClockedLetter]
    known: Callable[[tuple[int, ...], int], tuple[int, ...] | None]
    may_end: Callable[[tuple[int, ...]], bool]
    widths: Sequence[Bound]
    widest: int
    gap: int
    visible: Callable[[Marks], Marks]
    registers: Registers = field(default_factory=Registers)

    def search(
        self, start: tuple[int, ...], contained: bool, limit: int
    ) -> list[ClockedPair] | tuple[list[ClockedLetter], list[Constraint], list[Held]]:
        """Return pairs of states that prove the two automata equivalent, or a shortest stream on which they differ.

        With `contained` the proof is that the right automaton contains the left one. The stream is given by letters
        (types with their marks), constraints on the times, and values for each event. Raises BudgetExceeded.
        """
        left = tuple(c for c in self.both.initial if contained or c[0] == 0)
        right = tuple(c for c in self.both.initial if c[0] == 1)
        first = ClockedPair(start, left, right, UNBOUNDED)
        steps = {first: ClockedStep(None, None, ())}
        covered: dict[tuple[Any, ...], list[Zone]] = {}
        pending, relation = deque([first]), list[ClockedPair]()
        while pending:
            check_time()
            pair = pending.popleft()
            if (end := self._end(pair, steps[pair])) is not None:
                return self._word(pair, steps, end)
            zones = covered.setdefault((pair.known, pair.left, pair.right), [])
            # With a wider zone the same sets have been followed already, at all times of this one.
            if pair.left == pair.right or any(includes(zone, pair.zone) for zone in zones):
                continue
            zones.append(pair.zone)
            relation.append(pair)
            if len(steps) > limit:
                raise BudgetExceeded(
                    f"comparing windows around parts of a match needs more than {limit} states; "
                    "allow more: Budget(states=...)"
                )
            for successor, step in self.steps(pair, steps[pair]):
                if successor not in steps:
                    steps[successor] = step
                    pending.append(successor)
        return relation

    def steps(self, pair: ClockedPair, here: ClockedStep) -> Iterator[tuple[ClockedPair, ClockedStep]]:
        """Yield each pair of sets of states that one more event can reach, with the step that reaches it."""
        number = 0 if here.letter is None else here.events[0] + 1
        for letter in self.letters:
            if (known := self.known(pair.known, letter.type)) is None:
                continue
            regions = list(self._regions(pair, letter, number, here))
            for values in self.registers.choices(letter, (pair.left, pair.right)):
                fresh = {x: (number, a) for a, x in values if x is not None and x <= FRESH}
                origins = {KEY: KEY, **here.origins, **fresh}
                shown = {a: None if x is None else origins[x] for a, x in values}
                is_last = all(x is None for a, x in values if a in self.registers.ends_without)
                # An event with an attribute that the last event lacks is not the last, so the stream cannot end here.
                state = known if is_last else (*known[:-1], 0)
                for zone, ages, times in regions:
                    within = Ages(tuple(self.widths), tuple(ages.items()), values)
                    left, right = (self._after(configs, letter.type, within) for configs in (pair.left, pair.right))
                    for marks in left.keys() | right.keys():
                        after = [prune(self.both, side.get(marks, ())) for side in (left, right)]
                        names = names_of(after)
                        running = [clock for clock in names if clock > KEY]
                        now = len(zone) - 1 if letter.timed else NOW
                        times_of = {NEW: now, **{clock: 1 - clock for clock in running if clock != NEW}}
                        kept = selected(zone, [LAST, now, *(times_of[clock] for clock in running)], self.widest)
                        same = all(clock == name for clock, name in names.items())
                        mine, theirs = after if same else (renamed(side, names) for side in after)
                        last_timed = number if letter.timed else here.events[1] if here.events else -1
                        events = [number if clock == NEW else here.events[1 - clock] for clock in running]
                        yield (
                            ClockedPair(state, tuple(sorted(mine)), tuple(sorted(theirs)), kept),
                            ClockedStep(
                                pair, letter, times, (number, last_timed, *events), shown,
                                {name: origins[x] for x, name in names.items() if x <= KEY},
                            ),
                        )  # fmt: skip

    def _after(self, configs: Iterable[Config], type_: int, within: Ages) -> dict[Marks, list[Config]]:
        found: dict[Marks, list[Config]] = {}
        for config in configs:
            for marks, c in self.both.step(config, type_, within):
                found.setdefault(self.visible(marks), []).append(c)
        return found

    def _regions(
        self, pair: ClockedPair, letter: ClockedLetter, number: int, here: ClockedStep
    ) -> Iterator[tuple[Zone, dict[int, Bound], tuple[Constraint, ...]]]:
        """Yield ranges of times for the event, cut where a clock passes the width of a window.

        Each range comes with the widest window that each clock has passed, and with the range as bounds on times.
        """
        if not letter.timed:
            yield pair.zone, {}, ()
            return
        zone = elapsed(pair.zone, self.gap)
        zone = zone and tightened(zone, LAST, len(pair.zone), letter.most)
        zone = zone and tightened(zone, len(pair.zone), LAST, -letter.least)
        if zone is None:
            return
        before = here.events[1] if here.events else -1
        times: list[Constraint] = [(number, -1, -letter.least), (-1, number, letter.most)]
        times += [(before, number, -self.gap)] if before >= 0 else []
        uses: dict[int, set[Bound]] = {}
        for part, clock in _parts((pair.left, pair.right)):
            if clock > KEY:
                uses.setdefault(clock, set()).add(self.widths[part])
        split: list[tuple[Zone, dict[int, Bound], list[Constraint]]] = [(zone, {}, times)]
        new = len(pair.zone)
        for clock, widths in sorted(uses.items(), reverse=True):
            cut: list[tuple[Zone, dict[int, Bound], list[Constraint]]] = []
            event, edges = here.events[1 - clock], [-1, *sorted(widths), math.inf]
            for zone, ages, times in split:
                for low, high in pairwise(edges):
                    # Times are whole ticks, so what is over a width is over by a tick.
                    part_ = tightened(zone, 1 - clock, new, -low - 1)
                    part_ = part_ and tightened(part_, new, 1 - clock, high)
                    if part_ is not None:
                        more = [(event, number, -low - 1), (number, event, high)]
                        cut.append((part_, {**ages, clock: low}, [*times, *more]))
            split = cut
        yield from ((zone, ages, tuple(times)) for zone, ages, times in split)

    def _end(self, pair: ClockedPair, here: ClockedStep) -> tuple[Constraint, ...] | None:
        """Return the bounds on times if a stream may end here, with a difference; None if it may not."""
        if here.letter is None or not self.may_end(pair.known):
            return None
        if any(map(self.both.is_final, pair.left)) == any(map(self.both.is_final, pair.right)):
            return None
        if not here.letter.timed:
            return ()
        # A stream ends here only if its last event is no later than now.
        return None if tightened(pair.zone, LAST, NOW, 0) is None else ((-1, here.events[0], 0),)

    @staticmethod
    def _word(
        pair: ClockedPair, steps: Mapping[ClockedPair, ClockedStep], end: tuple[Constraint, ...]
    ) -> tuple[list[ClockedLetter], list[Constraint], list[Held]]:
        letters, times, values = list[ClockedLetter](), [*end], list[Held]()
        at: ClockedPair | None = pair
        while at is not None:
            step = steps[at]
            at = step.parent
            if step.letter is not None:
                letters.append(step.letter)
                times += step.times
                values.append(step.values)
        return letters[::-1], times, values[::-1]


def _parts(config: Any) -> Iterator[tuple[int, int]]:
    """Yield the pairs (part, clock) in nested tuples."""
    if isinstance(config, tuple):
        if len(config) == 2 and isinstance(config[1], int) and config[1] < 0:
            yield config
        else:
            for inner in config:
                yield from _parts(inner)


def earliest_times(count: int, bounds: Iterable[Constraint], step: int) -> list[int] | None:
    """Return the least times from 0 on for this many events that satisfy the bounds; None if there are none.

    Times are whole multiples of `step`, so that they are easy to read.
    """
    known = [(i, j, bound) for i, j, bound in bounds if math.isfinite(bound)]
    times = dict.fromkeys(range(-1, count), 0)
    # With more rounds, some bounds form a cycle that pushes the times up for ever: no times satisfy them.
    for _ in range(count + 2):
        changed = False
        for i, j, bound in known:  # time j is at least time i less the bound
            least = times[i] - int(bound)
            least = -(-least // step) * step
            if times[j] < least:
                times[j], changed = least, True
        if not changed:
            return [times[i] for i in range(count)]
    return None
