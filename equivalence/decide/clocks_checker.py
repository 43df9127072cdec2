"""Check whether a list of pairs proves a claim about two formulas with windows on parts of a match.

A pair has two sets of configurations and the times at which they are reached. clocks.py explains these, but none of its
code is used here. A list is a proof if the first pair is in it, if no pair has a match on one side only, and if each
event, at each time at which it may come, leads from a pair in the list to a pair in the list. Every list that is closed
in this sense is accepted, whether or not the search made it. The check trusts the compiler, with its steps of the
monitors of NXT, LAST and MAX, and the algebra.

Values in registers are numbers. LAST_VALUE is the value of the last event; the other values are smaller numbers. Such a
number shows in which piece of the attribute's values the value is, and older values have greater numbers.

Times are compared in a matrix: entry i, j is the most by which time i is after time j. Row 0 is the last event, row 1
is now, and the other rows are the events at which clocks started, in their order.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.model import CEA, FIRST_OF, HELD, LAST_OF, Marks
from cerify.semantics.arguments import check_time
from cerify.semantics.predicates import Predicate

Run: TypeAlias = tuple[Any, ...]
Runs: TypeAlias = tuple[Run, ...]
Times: TypeAlias = list[list[int | float]]
LAST_VALUE, NEW_VALUE, PIECES = -2_000_000_000, -3_000_000_000, 64
Values: TypeAlias = tuple[tuple[str, int | None], ...]
"""The current event's value of each attribute that registers compare; None is no value."""
# Clocks are negative numbers above LAST_VALUE, and values are the numbers from LAST_VALUE down: one comparison tells
# them apart in a nested tuple, and numbers of states are not negative.
Started = -(10**9)  # stands for the clock that starts with the current event
Late: TypeAlias = frozenset[tuple[int, int]]
"""The parts whose windows are over, each with its clock."""
Passed: TypeAlias = Mapping[int, int | float]
"""For each clock the widest window that it has passed, in ticks; -1 for none."""


class NotClosed(Exception):
    """Raised if a certificate's list of pairs proves nothing; the message says why."""


@dataclass(frozen=True)
class AttributeOptions:
    """The values that an attribute may have in the events of one type.

    The values of an attribute are divided into numbered pieces. is_last: it has the last event's value. piece:
    otherwise, the piece of its values; None if it has none. lonely: whether that piece has only one value. may_lack: it
    may be absent. group: the group of attributes that are compared with each other.
    """

    name: str
    group: int
    is_last: bool
    may_lack: bool
    piece: int | None
    lonely: bool

    def options(self, held: Iterable[int], new: int) -> list[int | None]:
        """Return the values that the event may have: None for absent, LAST_VALUE, a value in a register, or a new one.

        Values are numbers. held: the values in registers. new: a new value of piece 0 (see the class); a new value of
        piece n is `new - n`.
        """
        if self.is_last:
            return [LAST_VALUE]
        found: list[int | None] = [None] if self.may_lack else []
        if self.piece is not None:
            equal = [x for x in held if x != LAST_VALUE and _piece(x) == self.piece]
            found += equal
            if not (self.lonely and equal):
                found.append(new - self.piece)
        return found


@dataclass(frozen=True)
class KnownEvent:
    """A type of events: whether it has a time, and its least and greatest distance from the last event."""

    number: int
    timed: bool
    nearest: int | float
    furthest: int | float
    attributes: tuple[AttributeOptions, ...] = ()


@dataclass
class NestedAutomaton:
    """A formula as an automaton whose runs are nested tuples, built from the automata of its operands.

    The marks of an event are the variables that hold it. kind: "plain" is a compiled formula, "either" two automata
    side by side. In a "filter", `shown` returns the new marks of an event, or None to refuse the event; `unseen` says
    whether it ignores a type of events. In a "strategy", `monitor` returns the rival matches after an event.
    """

    kind: Literal["plain", "either", "filter", "strategy"]
    algebra: Algebra
    below: list[NestedAutomaton] = field(default_factory=list)
    plain: CEA | None = None
    shown: Callable[[Marks, int], Marks | None] = lambda marks, _: marks
    unseen: Callable[[int], bool] = lambda _: False
    monitor: Any = None
    followed: dict[Any, tuple[Runs, ...]] = field(default_factory=dict)
    wanted: list[set[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Find for each state of a compiled formula the registers that a run may still read before it empties them."""
        if self.plain is None:
            return
        self.wanted = [set() for _ in range(self.plain.states)]
        edges = [
            (t.source, t.target, {i for i, _ in _looked_at(t.marks)}, _numbers(t.marks, LAST_OF))
            for t in self.plain.transitions
        ]
        while any(not (looked | (self.wanted[q] - emptied)) <= self.wanted[p] for p, q, looked, emptied in edges):
            for p, q, looked, emptied in edges:
                self.wanted[p] |= looked | (self.wanted[q] - emptied)

    def has_run(self, run: Any, parts: int) -> bool:
        """Return whether a value has the form of a run of this automaton, with at most `parts` clocks."""
        if not isinstance(run, tuple):
            return False
        if self.plain is not None:
            return (
                len(run) == 2
                and run[0] in range(self.plain.states)
                and isinstance(run[1], tuple)
                and all(isinstance(c, tuple) and len(c) == 2 and c[0] in range(parts) for c in run[1])
                and all(isinstance(c[1], int) and c[1] < 0 for c in run[1])
            )
        if self.kind == "either":
            return len(run) == 2 and run[0] in (0, 1) and self.below[run[0]].has_run(run[1], parts)
        inner = self.below[0]
        if self.kind == "strategy":
            sets = run[1:]
            return (
                len(run) == 4
                and inner.has_run(run[0], parts)
                and all(isinstance(s, tuple) and all(inner.has_run(one, parts) for one in s) for s in sets)
            )
        return inner.has_run(run, parts)

    def starts(self) -> Runs:
        """Return the runs before the first event."""
        if self.plain is not None:
            return tuple((q, ()) for q in sorted(self.plain.initial))
        if self.kind == "either":
            return tuple((side, run) for side in (0, 1) for run in self.below[side].starts())
        inner = self.below[0].starts()
        if self.kind == "strategy":
            return tuple((run, self.below[0].youngest(inner), (), ()) for run in inner)
        return inner

    def accepts(self, run: Run) -> bool:
        """Return whether a match may end with this run."""
        if self.plain is not None:
            return run[0] in self.plain.final
        if self.kind == "either":
            return self.below[run[0]].accepts(run[1])
        if self.kind == "strategy":
            inner = self.below[0]
            return inner.accepts(run[0]) and not any(inner.accepts(winner) for winner in run[2])
        return self.below[0].accepts(run)

    def after(self, run: Run, type_: int, late: Late, values: Values) -> Iterator[tuple[Marks, Run]]:
        """Yield (marks, run) for each way to continue a run with an event. late: the parts with expired windows."""
        if self.plain is not None:
            yield from self._plain_after(self.plain, run, type_, late, values)
        elif self.kind == "either":
            for marks, then in self.below[run[0]].after(run[1], type_, late, values):
                yield marks, (run[0], then)
        elif self.kind == "strategy":
            yield from self._choosing_after(run, type_, late, values)
        elif self.unseen(type_):
            yield frozenset(), run
        else:
            for marks, then in self.below[0].after(run, type_, late, values):
                if (left := self.shown(marks, type_)) is not None:
                    yield left, then

    def _has(self, P: Predicate, type_: int) -> bool:
        return bool(self.algebra.mask(P) >> type_ & 1)

    def _plain_after(self, A: CEA, run: Run, type_: int, late: Late, values: Values) -> Iterator[tuple[Marks, Run]]:
        state, running = run
        if not late.isdisjoint(running):
            return
        for t in A.leaving[state]:
            if self._has(t.predicate, type_):
                clocks = dict(running)
                clocks.update(dict.fromkeys(_numbers(t.marks, FIRST_OF), Started))
                if not _is_equal_in(clocks, _looked_at(t.marks), dict(values)):
                    continue
                ended = _numbers(t.marks, LAST_OF)
                # A value that is not read again is forgotten: otherwise runs that have the same future would be
                # different runs.
                left = [
                    (part, x)
                    for part, x in clocks.items()
                    if part not in ended and (x > LAST_VALUE or part in self.wanted[t.target])
                ]
                shown = frozenset(name for name in t.marks if not name.startswith((FIRST_OF, LAST_OF, HELD)))
                yield shown, (t.target, tuple(sorted(left)))

    def _choosing_after(self, run: Run, type_: int, late: Late, values: Values) -> Iterator[tuple[Marks, Run]]:
        inner = self.below[0]

        def reached(runs: Iterable[Run], marked: bool) -> frozenset[Run]:
            return frozenset(
                then for one in runs for marks, then in inner.after(one, type_, late, values) if bool(marks) == marked
            )

        for marks, then in inner.after(run[0], type_, late, values):
            key = run[1:], type_, late, values, bool(marks)
            if key not in self.followed:  # all runs with the same marks have the same rivals
                rivals = tuple(frozenset(some) for some in run[1:])
                stepped = self.monitor(rivals, bool(marks), reached)
                self.followed[key] = tuple(inner.youngest(some) for some in stepped)
            yield marks, (then, *self.followed[key])

    def clocks_of(self, run: Run) -> tuple[Any, list[int]]:
        """Return a run without its clocks, and its clocks. Two runs are compared by age only if they are equal without
        clocks.
        """
        if self.plain is not None:
            clocks = [x for _, x in run[1] if x > LAST_VALUE]
            return (run[0], [(part, min(x, LAST_VALUE + 1)) for part, x in run[1]]), clocks
        if self.kind == "either":
            shared, clocks = self.below[run[0]].clocks_of(run[1])
            return (run[0], shared), clocks
        if self.kind == "strategy":
            shared, clocks = self.below[0].clocks_of(run[0])
            return (shared, run[1:]), clocks
        return self.below[0].clocks_of(run)

    def youngest(self, runs: Iterable[Run]) -> Runs:
        """Drop each run for which another run has the same state and younger clocks; return the others."""
        known = [(run, *self.clocks_of(run)) for run in set(runs)]
        kept = []
        for run, shared, clocks in known:
            others = [c for _, s, c in known if s == shared and c != clocks]
            if not any(all(a <= b for a, b in zip(c, clocks, strict=True)) for c in others):
                kept.append(run)
        return tuple(sorted(kept))


def _numbers(marks: Marks, begin: str) -> set[int]:
    """Return the numbers of the parts whose marks start with `begin`."""
    return {int(name[len(begin) :]) for name in marks if name.startswith(begin)}


def _looked_at(marks: Marks) -> list[tuple[int, str]]:
    """Return the registers with which an event with these marks is compared, each with its attribute."""
    found = []
    for name in marks:
        if name.startswith(HELD):
            number, _, attribute = name[len(HELD) :].partition(" ")
            found.append((int(number), attribute))
    return found


def _is_equal_in(held: dict[int, int], looked: Iterable[tuple[int, str]], values: Mapping[str, int | None]) -> bool:
    """Return whether the values equal those in the registers; an empty register stores its first value."""
    for register, attribute in looked:
        value = values[attribute]
        if value is None or held.setdefault(register, value) != value:
            return False
    return True


def _piece(value: int) -> int:
    """Return the piece that contains a value."""
    return (NEW_VALUE - value if value <= NEW_VALUE else LAST_VALUE - 1 - value) % PIECES


# --- times ------------------------------------------------------------------------------------------------------------


def closed(times: Times) -> Times | None:
    """Return the matrix with the tightest bounds that follow from these; None if no times satisfy the bounds."""
    n = len(times)
    found = [row[:] for row in times]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                found[i][j] = min(found[i][j], found[i][k] + found[k][j])
    return None if any(found[i][i] < 0 for i in range(n)) else found


def with_event(times: Times, event: KnownEvent, gap: int) -> Times | None:
    """Return the matrix with the time of the event in a new last row; None if the event cannot have any time."""
    n = len(times)
    more: Times = [[*row, math.inf] for row in times]
    more.append([math.inf] * n + [0])
    # Now is at least `gap` before the event, and the event from `nearest` to `furthest` before the last event.
    more[1][n] = -gap
    more[n][0] = -event.nearest
    more[0][n] = event.furthest
    return closed(more)


def by_ages(times: Times, uses: Mapping[int, Iterable[int | float]]) -> Iterator[tuple[Times, dict[int, int | float]]]:
    """Divide the possible times into cases; in each case every clock has passed the same widths of windows.

    Yield the times of each case as a matrix, with the greatest width that each clock has passed. The last row of the
    matrix is that of the event.
    """
    choices: list[tuple[Times, dict[int, int | float]]] = [(times, {})]
    now = len(times) - 1
    for clock, widths in uses.items():
        row, edges = 1 - clock, [-1, *sorted(set(widths)), math.inf]
        parts = []
        for known, passed in choices:
            for i in range(len(edges) - 1):
                cut = [line[:] for line in known]
                # Times are whole ticks: more than a width is at least one tick more.
                cut[row][now] = min(cut[row][now], -(edges[i] + 1))
                cut[now][row] = min(cut[now][row], edges[i + 1])
                if (kept := closed(cut)) is not None:
                    parts.append((kept, {**passed, clock: edges[i]}))
        choices = parts
    yield from choices


# --- the check --------------------------------------------------------------------------------------------------------


@dataclass
class ClosedList:
    """Checks that a certificate's list of pairs is closed: each event leads from a pair of the list to one of the list.

    machines: the automata of the left and of the right formula. follow: returns the known facts about a stream after
    one more event, or None if no stream has this event. ends: whether a stream may end there. widths: the windows on
    parts of matches, in ticks. gap: the least time between two events. shown: returns the marks of an event (the
    variables that hold it) that are compared. groups: for each register the group of its attribute. keyless: the
    attributes that the last event lacks.
    """

    machines: tuple[NestedAutomaton, NestedAutomaton]
    events: Sequence[KnownEvent]
    follow: Callable[[tuple[int, ...], int], tuple[int, ...] | None]
    ends: Callable[[tuple[int, ...]], bool]
    widths: Sequence[int | float]
    gap: int
    shown: Callable[[Marks], Marks]
    groups: Mapping[int, int] = field(default_factory=dict)
    keyless: frozenset[str] = frozenset()

    def check(self, pairs: Sequence[tuple[Any, ...]], start: tuple[int, ...], contained: bool) -> None:
        """Raise NotClosed unless these pairs of sets of runs prove that the two formulas have the same matches.

        contained: prove only that the right formula has all matches of the left.
        """
        table: dict[tuple[Any, ...], list[Times]] = defaultdict(list)
        for known, left, right, times in pairs:
            self._check_shape(known, (left, right), times, len(start))
            table[known, left, right].append([[math.inf if bound is None else bound for bound in row] for row in times])
        sides = [tuple((side, run) for run in machine.starts()) for side, machine in enumerate(self.machines)]
        first = (start, (*sides[0], *sides[1]) if contained else sides[0], sides[1])
        self._require(table, *first, [[0, math.inf], [0, 0]])
        for (known, left, right), matrices in table.items():
            for times in matrices:
                check_time()
                for event in self.events:
                    if (then := self.follow(known, event.number)) is not None:
                        self._check_event(table, then, (left, right), times, event)

    def _accepts(self, run: Run) -> bool:
        return self.machines[run[0]].accepts(run[1])

    def _check_shape(self, known: Any, pair: tuple[Any, Any], times: Any, length: int) -> None:
        """Raise NotClosed if a pair does not consist of runs of these machines and of times for their clocks."""
        n = len(times)
        if len(known) != length or not all(isinstance(x, int) for x in known):
            raise NotClosed("a pair of the certificate lacks the state that says which streams can exist")
        if n < 2 or not all(isinstance(row, tuple) and len(row) == n for row in times):
            raise NotClosed("in a pair of the certificate, the bounds on times are not a square matrix")
        if not all(bound is None or isinstance(bound, int) for row in times for bound in row):
            raise NotClosed("in a pair of the certificate, the bounds on times are not whole numbers or null")
        for run in (*pair[0], *pair[1]):
            if not (isinstance(run, tuple) and len(run) == 2 and run[0] in (0, 1)):
                raise NotClosed("a pair of the certificate has a run that belongs to neither query")
            if not self.machines[run[0]].has_run(run[1], len(self.widths)):
                raise NotClosed("a pair of the certificate has a value that is not a run of the automata")
        if not {x for x in _names(pair) if x > LAST_VALUE} <= {-1 - i for i in range(n - 2)}:
            raise NotClosed("a pair of the certificate has clocks without bounds on their times")

    def _check_event(
        self, table: Mapping[Any, list[Times]], then: tuple[int, ...], pair: tuple[Runs, Runs], times: Times,
        event: KnownEvent,
    ) -> None:  # fmt: skip
        choices = list(self._values_of(event, pair))
        if not event.timed:
            for values in choices:
                self._check_after(table, then, pair, times, 1, event, {}, values)
            return
        if (later := with_event(times, event, self.gap)) is None:
            return
        uses: dict[int, list[int | float]] = defaultdict(list)
        for part, clock in _running(pair):
            if clock > LAST_VALUE:
                uses[clock].append(self.widths[part])
        for cut, passed in by_ages(later, uses):
            for values in choices:
                self._check_after(table, then, pair, cut, len(times), event, passed, values)

    def _values_of(self, event: KnownEvent, pair: tuple[Runs, Runs]) -> Iterator[Values]:
        """Yield the values that the event may have, given the values in registers."""
        held: dict[int, set[int]] = defaultdict(set)
        for part, value in _running(pair):
            if value <= LAST_VALUE:
                held[self.groups[part]].add(value)
        known: list[tuple[Values, dict[int, set[int]]]] = [((), held)]
        for i, attribute in enumerate(event.attributes):
            more = []
            for values, seen in known:
                here = sorted(seen[attribute.group]) if attribute.group in seen else []
                for option in attribute.options(here, NEW_VALUE - i * PIECES):
                    with_it = {**seen, attribute.group: {*here, *([] if option is None else [option])}}
                    more.append(((*values, (attribute.name, option)), with_it))
            known = more
        for values, _ in known:
            check_time()
            yield values

    def _check_after(
        self, table: Mapping[Any, list[Times]], then: tuple[int, ...], pair: tuple[Runs, Runs], times: Times, now: int,
        event: KnownEvent, passed: Passed, values: Values,
    ) -> None:  # fmt: skip
        if any(value is not None for name, value in values if name in self.keyless):
            then = (*then[:-1], 0)  # it is not the last event
        late = frozenset((p, c) for p, c in _running(pair) if c in passed and self.widths[p] <= passed[c])
        after: dict[Marks, tuple[set[Run], set[Run]]] = defaultdict(lambda: (set(), set()))
        for which in (0, 1):
            for side, run in pair[which]:
                for marks, reached in self.machines[side].after(run, event.number, late, values):
                    after[self.shown(marks)][which].add((side, reached))
        for sets in after.values():
            left, right = (self._pruned(some) for some in sets)
            if self.ends(then) and any(map(self._accepts, left)) != any(map(self._accepts, right)):
                last = [row[:] for row in times]
                # A match ends here only if this is the last event, that is, if the last event is no later.
                last[0][now] = min(last[0][now], 0)
                if not event.timed or closed(last) is not None:
                    raise NotClosed(
                        "the certificate has a pair after which an event completes a match of only one of the queries"
                    )
            everything = sorted(_names((left, right)), reverse=True)
            clocks = [x for x in everything if x > LAST_VALUE]
            rows = [0, now, *(now if clock == Started else 1 - clock for clock in clocks)]
            names = {clock: -1 - i for i, clock in enumerate(clocks)}
            values_ = [x for x in everything if x < LAST_VALUE]
            names |= {x: LAST_VALUE - 1 - i * PIECES - _piece(x) for i, x in enumerate(values_)}
            if any(clock != name for clock, name in names.items()):
                left, right = _rename_clocks(left, names), _rename_clocks(right, names)
            kept = [[times[i][j] for j in rows] for i in rows]
            self._require(table, then, left, right, kept)

    def _pruned(self, runs: Iterable[Run]) -> Runs:
        sides = [[run for s, run in runs if s == side] for side in (0, 1)]
        return tuple((side, run) for side in (0, 1) for run in self.machines[side].youngest(sides[side]))

    def _require(self, table: Mapping[Any, list[Times]], known: Any, left: Runs, right: Runs, times: Times) -> None:
        left, right = tuple(sorted(left)), tuple(sorted(right))
        # Equal sets agree whatever comes, so the list need not have them.
        if left == right:
            return
        for wider in table.get((known, left, right), ()):
            if all(times[i][j] <= wider[i][j] for i in range(len(times)) for j in range(len(times))):
                return
        raise NotClosed("the certificate is incomplete: an event leads from one of its pairs to a pair that it lacks")


@lru_cache(maxsize=10_000)
def _names(config: Any) -> frozenset[int]:
    """Return the clocks and values in nested tuples."""
    if isinstance(config, tuple):
        return frozenset[int]().union(*map(_names, config))
    return frozenset({config} if config < 0 else ())


def _rename_clocks(config: Any, names: Mapping[int, int]) -> Any:
    """Return nested tuples with their clocks and values renamed."""
    return (
        tuple(_rename_clocks(part, names) for part in config)
        if isinstance(config, tuple)
        else names.get(config, config)
    )


@lru_cache(maxsize=10_000)
def _running(config: Any) -> frozenset[tuple[int, int]]:
    """Return the pairs (part, clock or value) in nested tuples."""
    if not isinstance(config, tuple):
        return frozenset()
    if len(config) == 2 and all(isinstance(x, int) for x in config) and config[1] < 0:
        return frozenset({config})
    return frozenset[tuple[int, int]]().union(*map(_running, config))
