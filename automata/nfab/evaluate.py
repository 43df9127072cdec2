"""The matches of a SASE+ query over a stream that comes event by event, in readable Python.

All runs advance side by side (sase07, section 3.2). Four measures make that affordable:
- a run has registers instead of events (NfabRegisters), and the events selected are shared (BufferNode);
- runs in the same state that agree in all registers still to be read have the same future: they are merged;
- where events of other partitions cannot affect a run, runs are looked up by the partition of the event;
- when the window of a run is over, the run and all data that only it needs are deleted.
The last two need ascending times, or strategies that skip; the methods that use them say which. The definition of the
matches is moves.bindings.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby, islice
from typing import Any, Literal, TypeAlias, assert_never, overload

from cerify.automata.evaluate.scope import Unordered
from cerify.automata.nfab.compile import (
    EdgeLayout,
    EdgeTest,
    Identifier,
    Tested,
    absence_layout,
    compile_absence,
    identifier,
    match_layout,
    states_of,
)
from cerify.automata.nfab.moves import (
    Fold,
    NfabConfiguration,
    Runs,
    Values,
    accepted,
    fold_of,
    in_scope,
    in_window,
    is_unfinished,
    neighbours,
)
from cerify.semantics.arguments import Budget, check_time, timed_items
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import TIME, Bindings, Event, Stream, is_table
from cerify.semantics.packages import pa
from cerify.semantics.predicates import Attribute, Predicate, compare, satisfied
from cerify.semantics.readings import DECIDED, NO_OPERATIONS, Operations, Reading
from cerify.semantics.sase import syntax as sase
from cerify.semantics.values import Value, kind, value_type_of

# ---------------------------------------------------------------------------------------------------------------------
# Plan a query for the evaluators, before the first event: its states, and the conditions of each state.
#
# The states are those of compile.py, with the conditions on their edges. Some conditions read only the awaited event;
# the others also read the registers of a run.

# ---------------------------------------------------------------------------------------------------------------------
# Registers: a run keeps only those values of its selected events that later conditions can read.
#
# A register is a value of the first, the last or the last but one event of a variable, or the state of an aggregate of
# its events. Runs in one state whose registers are equal, as far as they will be read, have the same future.

RegisterValues: TypeAlias = tuple[Any, ...]
"""The values of all registers; the first is the first event of the run."""

Content = Literal["first", "last", "previous", "all", "before"]
"""What a register holds: a value of one event of its variable, or an aggregate of all events or of all but the last."""

SCALARS = frozenset({bool, int, float, str})
CONTENT: dict[Identifier, Content] = {
    "a": "first",
    "a[1]": "first",
    "a[i]": "last",
    "a[a.LEN]": "last",
    "a[i-1]": "previous",
    "a[]": "all",
    "a[..i-1]": "before",
}


@dataclass(frozen=True, slots=True)
class _Register:
    """A register: its number, its fold for an aggregate, and the register from which it is copied."""

    number: int
    fold: Fold | None = None
    source: int | None = None


class NfabRegisters:
    """The registers in which a run keeps the values that later conditions and equivalence tests compare."""

    def __init__(self, mentioned: Iterable[Attribute], tests: Iterable[str], operations: Operations) -> None:
        self.tests = tuple(tests)
        self.initial: RegisterValues = (None,) * (1 + len(self.tests))
        self._operations = operations
        self._by_key: dict[tuple[object, ...], _Register] = {}
        self._updates: dict[str, list[tuple[int, Content, str, Fold | None, int | None]]] = {}
        self._of_attribute: dict[Attribute, _Register] = {}
        for a in mentioned:
            self._of_attribute[a] = self._register(a)

    def _register(self, a: Attribute) -> _Register:
        """Return the register of an attribute; create it, and the register that it copies, if needed."""
        content = CONTENT[identifier(a)]
        fold = fold_of(a, self._operations) if isinstance(a, sase.SaseAggregate) else None
        match content:
            case "first" | "last" | "all":
                return self._added(content, a, fold, None)
            case "previous":
                return self._added(content, a, fold, self._added("last", a, fold, None).number)
            case "before":
                return self._added(content, a, fold, self._added("all", a, fold, None).number)

    def _added(self, content: Content, a: Attribute, fold: Fold | None, source: int | None) -> _Register:
        folded = (a.function, a.parameter) if isinstance(a, sase.SaseAggregate) else None
        key = (content, a.variable, a.name, folded)
        if key not in self._by_key:
            register = _Register(len(self.initial), fold, source)
            self._by_key[key] = register
            self.initial += (None if fold is None else fold.start,)
            self._updates.setdefault(a.variable or "", []).append((register.number, content, a.name, fold, source))
        return self._by_key[key]

    def after_selecting(self, values: RegisterValues, variable: str, is_first: bool, event: Event) -> RegisterValues:
        """Return the register values after the variable takes an event. is_first: whether this is its first event."""
        new = list(values)
        if values[0] is None:
            new[0] = event
        for number, test in enumerate(self.tests, 1):
            new[number] = event.attributes.get(test)
        for number, content, attribute, fold, source in self._updates.get(variable, ()):
            if content == "last" or (content == "first" and is_first):
                new[number] = event.attributes.get(attribute)
            elif content == "all" and fold is not None:
                new[number] = fold.add_event(values[number], event, attribute)
            elif source is not None:
                # From the values before this event: what was the last event is now the last but one.
                new[number] = None if is_first and content == "previous" else values[source]
        return tuple(new)

    def reader(self, values: RegisterValues) -> Values:
        """Return a function that reads the values of references and aggregates from the registers."""

        def value(a: Attribute) -> Any:
            register = self._of_attribute[a]
            found = values[register.number]
            return found if register.fold is None else register.fold.result(found)

        return value

    def key_of(self, mentioned: Iterable[Attribute], window: bool) -> Callable[[RegisterValues], object]:
        """Return a function that maps the register values of a run to a key.

        Two runs get equal keys if neither the conditions on the `mentioned` attributes nor, with `window`, the window
        can distinguish their values.
        """
        read = [self._of_attribute[a] for a in mentioned]
        numbers = {register.number for register in read} | set(range(1, 1 + len(self.tests)))
        # A copied register takes the value of its source at the next event, so the source matters too.
        numbers |= {register.source for register in read if register.source is not None}
        needed = sorted(numbers)

        def key(values: RegisterValues) -> object:
            first = (_key(values[0].get(TIME)),) if window else ()
            return (*first, *(_key(values[number]) for number in needed))

        return key


def _key(value: Any) -> object:
    """Return a key that is equal for values that no condition distinguishes.

    The states of a user's operation have equal keys only if they are the same object.
    """
    class_ = type(value)
    # With the class, because Python holds 1, 1.0 and True equal.
    if class_ in SCALARS or isinstance(value, datetime):
        return class_, value
    if value is None:
        return None
    return tuple(map(_key, value)) if class_ is tuple else id(value)


StateKind = Literal["single", "first", "more"]

Leaving = Literal["at_once", "by_condition", "after_each", "when_stopped"]
"""When a component is complete.

at_once: with its only event. by_condition: when the condition on its last event or on all its events holds. after_each:
after each event. when_stopped: when an event can begin the next component, or can neither be taken nor be ignored.
"""


@dataclass(frozen=True, eq=False)
class StatePlan:
    """A state of a query: its number, and the index of the component whose events it awaits.

    on_event: the conditions on the awaited event that mention no other event. on_run: its other conditions.
    in_partition: the tests that define the partition. at_end: the conditions on the component when it is complete.
    skips_next: whether events that the next component could select may be ignored under skip till next match.
    at_stream_end: whether the end of the stream stops a Kleene plus. key: a function from the values of a run to a key;
    runs in the state with equal keys have the same future.
    """

    number: int
    component: int
    variable: str
    type: str
    kind: StateKind
    strategy: sase.Strategy
    on_event: tuple[Predicate, ...]
    on_run: tuple[Predicate, ...]
    in_partition: tuple[Predicate, ...]
    at_end: tuple[Predicate, ...]
    key: Callable[[RegisterValues], object]
    is_last: bool
    cut: bool
    leaving: Leaving
    skips_next: bool
    at_stream_end: Literal["stops", "waits"]

    @property
    def stops_by_itself(self) -> bool:
        """Return whether a run in this state is a match as soon as no further event can follow.

        The state must be a Kleene plus in last place.
        """
        return self.leaving == "when_stopped" and self.is_last and not self.cut

    @property
    def stops_at_end(self) -> bool:
        """Return whether a run in this state is a match when the stream ends.

        The state must be a Kleene plus in last place.
        """
        return self.stops_by_itself and self.at_stream_end == "stops"


class QueryPlan:
    """The states of a query, the registers of its runs, and the attributes by which runs can be looked up."""

    def __init__(
        self, q: sase.SaseQuery, reading: Reading, operations: Operations, layout: EdgeLayout | None = None
    ) -> None:
        """Make the plan. layout: the layout of a negated component, to plan its automaton instead of the query's."""
        self.q, self.reading = q, reading
        self.layout = match_layout(q) if layout is None else layout
        self.pattern = self.layout.components
        self.partition = frozenset(x for x, defines in self.layout.equivalences if defines)
        self.registers = NfabRegisters(
            (a for test in self.layout.tests for a in test.mentioned),
            dict.fromkeys(x for x, _ in self.layout.equivalences),
            operations,
        )
        self.states: list[StatePlan] = []
        for component, k in enumerate(self.pattern):
            for state in states_of(k):
                self.states.append(self._state(component, k, state.kind))  # type: ignore[arg-type]
        self.routes = routes(self.layout)

    def after_selecting(self, state: StatePlan) -> StatePlan | None:
        """Return the state of a run after it selects an event in this state; None if this is the last state."""
        if state.kind == "more":
            return state
        return self.states[state.number + 1] if state.number + 1 < len(self.states) else None

    def _state(self, component: int, k: sase.Component, kind: StateKind) -> StatePlan:
        reading, layout = self.reading, self.layout
        edge: Tested = "take" if kind == "more" else "begin"
        here = layout.on(k.variable, edge)
        at_end = tuple(test.predicate for test in layout.on(k.variable, "proceed")) if kind == "more" else ()
        order = {c.variable: n for n, c in enumerate(self.pattern)}
        # Tests of earlier components are over. Runs that differ only in what these read are merged.
        to_come = [a for test in layout.tests if order[test.variable] >= component for a in test.mentioned]
        strategy, is_last = layout.strategies[k.variable], component == len(self.pattern) - 1
        no_effect = is_last and not at_end and reading.cut_in_last_place == "nothing"
        neither = strategy == "skip_till_next_match" and reading.kleene_skips == "neither"
        return StatePlan(
            number=len(self.states),
            component=component,
            variable=k.variable,
            type=k.type,
            kind=kind,
            strategy=strategy,
            on_event=tuple(test.predicate for test in here if _is_on_event(test, kind)),
            on_run=tuple(test.predicate for test in here if not _is_on_event(test, kind)),
            in_partition=tuple(test.predicate for test in here if test.underlined),
            at_end=at_end,
            key=self.registers.key_of(to_come, self.q.within is not None),
            is_last=is_last,
            cut=k.variable in layout.cuts and not no_effect,
            leaving=_leaving(kind, at_end, is_last, reading),
            skips_next=is_last or not neither,
            at_stream_end=reading.stream_end,
        )


def routes(layout: EdgeLayout) -> tuple[str, ...]:
    """Return the attributes by whose values to look up the runs that an event can affect.

    They are attributes of equivalence tests such as [id]: a run with other values always skips the event. This holds
    under skip till next or any match, and under partition contiguity if the test defines the partition.
    """
    strategies = set(layout.strategies.values())
    if "strict_contiguity" in strategies:
        return ()
    by_partition = "partition_contiguity" in strategies
    return tuple(dict.fromkeys(x for x, defines in layout.equivalences if defines or not by_partition))


class AscendingTimes:
    """Checks times as they arrive: each must be finite, of the same kind as the others, and not less than the one
    before.
    """

    def __init__(self) -> None:
        self._last: Value | None = None

    def ascends(self, time: Value | None) -> bool:
        """Return whether the next time is not less than the one before."""
        last, self._last = self._last, time
        match time:
            case bool() | str() | None:
                return False
            case float() if not math.isfinite(time):
                return False
            case int() | float() | datetime():
                return last is None or (value_type_of(time) == value_type_of(last) and last <= time)  # type: ignore[operator]
            case _:
                assert_never(time)


def ascend(S: Stream) -> bool:
    """Return whether the times of a stream ascend: all finite, of one kind, and none less than the one before."""
    times = AscendingTimes()
    return all(times.ascends(event.attributes.get(TIME)) for event in S)


def _leaving(kind: StateKind, at_end: tuple[Predicate, ...], is_last: bool, reading: Reading) -> Leaving:
    if kind != "more":
        return "at_once"
    if at_end:
        return "by_condition"
    return "after_each" if is_last and reading.last_kleene == "every" else "when_stopped"


def _is_on_event(test: EdgeTest, kind: StateKind) -> bool:
    """Return whether a test uses the awaited event and no other event."""
    awaited = ("a[i]",) if kind == "more" else ("a", "a[1]", "a[i]")
    return all(a.variable == test.variable and identifier(a) in awaited for a in test.mentioned)


# ---------------------------------------------------------------------------------------------------------------------
# The shared match buffer: the events that the runs have selected, each stored once for all runs that extend it.
#
# Others keep one stack of events for each state, and mark each pointer with the version numbers of the runs it is for
# (doi 10.1145/1376616.1376634), so that runs can share an entry without sharing the events before it. Here a node never
# changes, so pointers need no versions: a run that reaches a node can use everything before it. The price is a node for
# each run that selects an event, where a stack has an entry and a pointer for each run. The gain is that runs with the
# same future become one run, whose node points to the last nodes of them all. So the nodes may stand for exponentially
# many matches, which are counted without being listed.

Path: TypeAlias = "tuple[int, int, Path] | None"
"""The last events of a match as a linked list: component and position of the first of these events, and the rest."""


@dataclass(slots=True, eq=False)
class BufferNode:
    """An event selected for a component, and the nodes of the events selected before it (none for a first event).

    Different nodes stand for different sequences of selected events. count: the number of these sequences. component:
    the index of the component.
    """

    component: int
    position: int
    before: tuple[BufferNode, ...] = ()
    count: int = field(init=False)
    is_match: bool = False

    def __post_init__(self) -> None:
        self.count = sum(node.count for node in self.before) if self.before else 1


def matches_of(node: BufferNode, variables: Sequence[str]) -> Iterator[Bindings]:
    """Yield the bindings of all paths from a node back to a first node."""
    pending: list[tuple[BufferNode, Path]] = [(node, None)]
    while pending:
        node, after = pending.pop()
        path: Path = (node.component, node.position, after)
        if node.before:
            pending.extend((before, path) for before in node.before)
        else:
            yield tuple(
                (variables[k], tuple(position for _, position in events))
                for k, events in groupby(_events(path), lambda pair: pair[0])
            )


def _events(path: Path) -> Iterator[tuple[int, int]]:
    while path is not None:
        component, position, path = path
        yield component, position


# ---------------------------------------------------------------------------------------------------------------------
# Negated components, over a stream of which only the end is stored.
#
# The positions of the events with which a negated component could begin, judging by their type and the conditions on
# one event, are stored as the events come. Between the events of most matches there are none.


class Past(Stream):
    """The last events of the stream read so far. Positions count from the beginning of the whole stream."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: list[Event] = []
        self.start = 0

    def __len__(self) -> int:
        return self.start + len(self.stored)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self.stored[index - self.start]

    def delete_before(self, start: int) -> None:
        """Delete the stored events before this position."""
        del self.stored[: start - self.start]
        self.start = max(start, self.start)


class NfabAbsences:
    """Stores the events that negated components of a query may forbid, and tells whether a match is forbidden."""

    def __init__(self, q: sase.SaseQuery, reading: Reading, budget: Budget, operations: Operations) -> None:
        self.q, self.reading, self.past = q, reading, Past()
        self.components = [_Absence(q, k, reading, self.past, budget, operations) for k in q.pattern if k.negated]
        self.last = q.pattern[-1].negated
        in_front = q.pattern[0].negated
        self.needs_all = in_front and (q.within is None or reading.negation_in_front == "stream")

    def store(self, event: Event) -> None:
        """Store one more event."""
        for k in self.components:
            k.note(event, len(self.past))
        self.past.stored.append(event)

    def delete_before(self, start: int) -> None:
        """Delete the events before this position, because no future match needs them."""
        self.past.delete_before(start)
        for k in self.components:
            del k.noted[: bisect_left(k.noted, start)]

    def forbid(self, M: Bindings) -> bool:
        """Return whether a negated component forbids the match, or may still forbid it because of a later event."""
        return any(k.is_there(M) for k in self.components)


class _Absence:
    """Finds the events that one negated component forbids."""

    def __init__(
        self, q: sase.SaseQuery, k: sase.Component, reading: Reading, past: Past, budget: Budget, operations: Operations
    ) -> None:
        self.q, self.k, self.reading, self.past = q, k, reading, past
        self.runs = Runs(compile_absence(q, k, reading), past, reading, budget, operations)
        self.on_event = [
            test.predicate
            for test in absence_layout(q, k).on(k.variable, "begin")
            if all(a.variable == k.variable for a in test.mentioned)
        ]
        self.noted: list[int] = []

    def note(self, event: Event, position: int) -> None:
        """Store the position of the event if events of the negated component may begin with it."""
        if event.type == self.k.type and all(satisfied(p, lambda a: event.get(a.name)) for p in self.on_event):
            self.noted.append(position)

    def is_there(self, M: Bindings) -> bool:
        """Return whether events of the component occur in their scope in the match, or may still occur there."""
        q, k, past, reading = self.q, self.k, self.past, self.reading
        low, high = neighbours(q, k, M, past.start, len(past))
        if is_unfinished(q, k, M, past, reading, range(low, high)):
            return True
        noted = self.noted[bisect_left(self.noted, low) : bisect_left(self.noted, high)]
        firsts = in_scope(q, k, M, past, reading, noted)
        if not firsts:
            return False
        if not k.kleene:
            initial = self.runs.A.initial
            return any(self.runs.holds("begin", NfabConfiguration(initial, p, M)) for p in firsts)
        return accepted(self.runs, M, firsts, in_scope(q, k, M, past, reading, range(low, high)))


# ---------------------------------------------------------------------------------------------------------------------
# Whether a state selects an event, or skips it: sase07, section 3.2.


@dataclass(slots=True, eq=False)
class EventContext:
    """An event and its position.

    passing: for each state tested so far, by number, whether the event passes those of its conditions that look at no
    other event.
    """

    event: Event
    position: int
    passing: dict[int, bool] = field(default_factory=dict)


class NfabSelection:
    """Decides what a run may do with an event: select it, skip it, or go on to the next component.

    It evaluates the formulas on the edges of a query's automaton.
    """

    def __init__(self, q: sase.SaseQuery, reading: Reading, plan: QueryPlan) -> None:
        self.q, self.reading, self.plan = q, reading, plan

    def select(self, state: StatePlan, values: RegisterValues, at: EventContext) -> RegisterValues | None:
        """Return the register values after a run selects the event; None if its state does not accept it."""
        event, registers = at.event, self.plan.registers
        if not self.passes(state, at):
            return None
        if self.q.within is not None and not self.spans(values[0], event):
            return None
        if not all(compare("=", event.get(x), values[number]) for number, x in enumerate(registers.tests, 1)):
            return None
        new = registers.after_selecting(values, state.variable, state.kind != "more", event)
        read = registers.reader(new)
        return new if all(satisfied(p, read) for p in state.on_run) else None

    def passes(self, state: StatePlan, at: EventContext) -> bool:
        """Return whether the event has the type of the state and satisfies the state's conditions on one event."""
        if state.number not in at.passing:
            event = at.event
            at.passing[state.number] = event.type == state.type and all(
                satisfied(p, lambda a: event.get(a.name)) for p in state.on_event
            )
        return at.passing[state.number]

    def skips(
        self, state: StatePlan, values: RegisterValues, at: EventContext, selected: RegisterValues | None
    ) -> bool:
        """Return whether the run may skip the event (θ_skip: sase07, Table 1)."""
        match state.strategy:
            case "strict_contiguity":
                return False
            case "partition_contiguity":
                return not self._is_in_partition(state, values, at)
            case "skip_till_next_match":
                return selected is None
            case "skip_till_any_match":
                return True
            case strategy:
                assert_never(strategy)

    def _is_in_partition(self, state: StatePlan, values: RegisterValues, at: EventContext) -> bool:
        registers = self.plan.registers
        for number, x in enumerate(registers.tests, 1):
            if x in self.plan.partition and not compare("=", at.event.get(x), values[number]):
                return False
        if not state.in_partition:
            return True
        read = registers.reader(registers.after_selecting(values, state.variable, state.kind != "more", at.event))
        return all(satisfied(p, read) for p in state.in_partition)

    def follows(self, state: StatePlan, values: RegisterValues, at: EventContext) -> bool:
        """Return whether the event fits the next component (θ_begin of the next state); False if the next state need
        not be tested.
        """
        if state.is_last or (state.leaving == "by_condition" and state.skips_next):
            return False
        return self.select(self.plan.states[state.number + 1], values, at) is not None

    def is_complete(self, state: StatePlan, values: RegisterValues) -> bool:
        """Return whether the conditions on the component as a whole hold."""
        read = self.plan.registers.reader(values)
        return all(satisfied(p, read) for p in state.at_end)

    def spans(self, first: Event, event: Event) -> bool | None:
        """Return whether an event is within the window that begins with the event `first`; None if the times cannot be
        compared.
        """
        if self.q.within is None:
            return True
        return in_window(self.q.within, self.reading.window == "closed", first, event)


# ---------------------------------------------------------------------------------------------------------------------
# The evaluation of one query block.

Key: TypeAlias = object


@dataclass(slots=True, eq=False)
class RunGroup:
    """Runs in one state whose registers have the same values. nodes: the last events that the runs selected."""

    values: RegisterValues
    nodes: dict[int, BufferNode]


Table: TypeAlias = dict[object, RunGroup]
"""The groups of one state, by the key of their values."""


class BlockRunner:
    """Finds the matches of one query block over a stream.

    A query with a window needs times that ascend. ordered=False is for a whole stream with times in any order: then
    runs are not deleted when their window is over.
    """

    def __init__(
        self,
        q: sase.SaseQuery,
        reading: Reading = DECIDED,
        budget: Budget = Budget(),
        operations: Operations = NO_OPERATIONS,
        *,
        ordered: bool = True,
    ) -> None:
        self.q, self.reading, self.budget = q, reading, budget
        self.plan = QueryPlan(q, reading, operations)
        self.expires = ordered and q.within is not None
        self.routes = self.plan.routes if ordered or q.within is None else ()
        self.absences = NfabAbsences(q, reading, budget, operations) if any(k.negated for k in q.pattern) else None
        self.partitions: dict[Key, list[Table]] = {}
        self.starts: deque[tuple[Event, Key]] = deque()
        self._withheld: dict[int, list[BufferNode]] = {}  # matches that a negated component at the end may still forbid
        self.position = 0
        self.alive = 0
        self.node_count = 0  # nodes
        self._selection = NfabSelection(q, reading, self.plan)
        self._times = AscendingTimes()
        self._variables = [k.variable for k in self.plan.pattern]
        self._found: list[BufferNode] = []

    # --- the interface ---

    def begin(self, start: int) -> None:
        """Start with the event at this position of the stream. Call this before the first event."""
        self.position = start
        if self.absences is not None:
            self.absences.past.start = start

    def oldest(self) -> int:
        """Return the position of the first event that is still needed: by a current run, or by a negated component."""
        pending = [node for nodes in self._withheld.values() for node in nodes]
        for tables in self.partitions.values():
            pending += [node for table in tables for group in table.values() for node in group.nodes.values()]
        oldest, seen = self.position if self.absences is None else self.absences.past.start, set[int]()
        while pending:
            node = pending.pop()
            if id(node) not in seen:
                seen.add(id(node))
                oldest = min(oldest, node.position)
                pending += node.before
        return oldest

    def push(self, event: Event) -> list[Bindings]:
        """Return, in no particular order, the matches that one more event completes. Raises InputError,
        BudgetExceeded.
        """
        return list(self.list_matches(self.nodes(event)))

    def advance(self, S: Iterable[Event] | pa.RecordBatch | pa.Table) -> list[Bindings]:
        """Return the matches that the events of a batch complete."""
        found: list[Bindings] = []
        for event in Stream.from_table(S) if is_table(S) else S:
            found += self.push(event)
            require_matches(len(found), self.budget)
        return found

    def finish(self) -> list[Bindings]:
        """Return the matches that the end of the stream completes."""
        return list(self.list_matches(self.end()))

    bound, bound_at_end = advance, finish

    def count(self, S: Iterable[Event]) -> int:
        """Return the number of matches that some events complete. Matches that a negated component forbids are
        included.
        """
        return sum(node.count for event in S for node in self.nodes(event))

    def nodes(self, event: Event) -> list[BufferNode]:
        """Read one more event; return for each match that it completes the buffer node of its last selected event.

        Negated components may forbid some of these matches; `list_matches` leaves them out.
        """
        if self.expires and not self._times.ascends(event.get(TIME)):
            error = Unordered(
                f"event {self.position} has no time, a time of another type, or a time less than before; WITHIN needs "
                "ascending times: sort the stream, or pass it as a whole"
            )
            error.attribute = TIME
            raise error
        if self.absences is not None:
            if self.expires and not self.absences.needs_all:
                self._delete_past(self.absences, event)
            self.absences.store(event)
        self._found = []
        check_time()
        if self.expires:
            self._expire(event)
        at = EventContext(event, self.position)
        key = self._key(event)
        tables = self.partitions.get(key)
        if tables is not None:
            self._advance(tables, at)
        self._start(key, tables, at)
        self.position += 1
        if self.alive > self.budget.states:
            raise BudgetExceeded(
                f"there are more than {self.budget.states} partial matches (runs) at a time; set a window, or a "
                "stricter strategy"
            )
        return self._found

    def end(self) -> list[BufferNode]:
        """End the stream; return for each match that this completes the buffer node of its last selected event."""
        self._found = [node for nodes in self._withheld.values() for node in nodes]
        last = self.plan.states[-1]
        if last.stops_at_end:
            for tables in self.partitions.values():
                for group in tables[last.number].values():
                    self._match(group, hold=False)
        return self._found

    # --- one event ---

    def _advance(self, tables: list[Table], at: EventContext) -> None:
        """Move every run of a partition by one event.

        States are handled in order, because a run that proceeds looks at the event again in its next state.
        """
        before = sum(map(len, tables))
        old, tables[:] = tables[:], [{} for _ in tables]
        for state in self.plan.states[1:]:
            for group in old[state.number].values():
                if state.kind == "more":
                    self._more(state, group, at, old, tables)
                else:
                    self._await(state, group, at, tables)
        self.alive += sum(map(len, tables)) - before

    def _start(self, key: Key, tables: list[Table] | None, at: EventContext) -> None:
        """Begin a run with the event, if the first state selects it."""
        first = self.plan.states[0]
        if not self._selection.passes(first, at):
            return
        values = self.plan.registers.after_selecting(self.plan.registers.initial, first.variable, True, at.event)
        if not all(satisfied(p, self.plan.registers.reader(values)) for p in first.on_run):
            return
        if tables is None:
            tables = self.partitions[key] = [{} for _ in self.plan.states]
        before = sum(map(len, tables))
        self.node_count += 1
        self._enter(first, values, BufferNode(0, at.position), tables)
        self.alive += sum(map(len, tables)) - before
        if not any(tables):
            del self.partitions[key]
        if self.expires:
            self.starts.append((at.event, key))

    def _await(self, state: StatePlan, group: RunGroup, at: EventContext, tables: list[Table]) -> None:
        """Move a run that waits for the first event of a component."""
        selected = self._selection.select(state, group.values, at)
        if selected is not None:
            self._enter(state, selected, self._node(state, group, at), tables)
        if self._selection.skips(state, group.values, at, selected) and not (self.expires and self._is_over(group, at)):
            self._add(tables, state.number, group.values, group.nodes)

    def _more(self, state: StatePlan, group: RunGroup, at: EventContext, old: list[Table], tables: list[Table]) -> None:
        """Move a run in a Kleene plus. It takes or ignores the event unless it must stop, and proceeds if it may."""
        by_condition = state.leaving == "by_condition"
        following = self._selection.follows(state, group.values, at)
        complete = by_condition and self._selection.is_complete(state, group.values)
        cut = state.cut and (complete if by_condition else following or state.is_last)
        stops = cut or self._is_over(group, at)
        selected = None if stops else self._selection.select(state, group.values, at)
        skips = not stops and self._selection.skips(state, group.values, at, selected)
        if following and not state.skips_next:
            skips = False
        if selected is not None:
            self._enter(state, selected, self._node(state, group, at), tables)
        if skips:
            self._add(tables, state.number, group.values, group.nodes)
        auto_stop = selected is None and not skips
        if complete if by_condition else state.leaving == "after_each" or following or auto_stop:
            if state.is_last:
                self._match(group)
            else:
                self._add(old, state.number + 1, group.values, group.nodes)

    def _enter(self, state: StatePlan, values: RegisterValues, node: BufferNode, tables: list[Table]) -> None:
        """Put a run that has selected an event into its next state: in a Kleene plus, the state for more events."""
        following = self.plan.after_selecting(state)
        if following is None:
            self._match(RunGroup(values, {id(node): node}))
            return
        if following.kind == "more" and following.is_last and self._matches_at_once(following, values):
            self._match(RunGroup(values, {id(node): node}))
            if following.cut:
                return
        self._add(tables, following.number, values, {id(node): node})

    def _add(self, tables: list[Table], number: int, values: RegisterValues, nodes: dict[int, BufferNode]) -> None:
        """Add runs to a state; merge them with runs there that have the same future."""
        key = self.plan.states[number].key(values)
        there = tables[number].get(key)
        if there is None:
            tables[number][key] = RunGroup(values, dict(nodes))
        else:
            there.nodes.update(nodes)

    def _node(self, state: StatePlan, group: RunGroup, at: EventContext) -> BufferNode:
        self.node_count += 1
        return BufferNode(state.component, at.position, tuple(group.nodes.values()))

    def _match(self, group: RunGroup, hold: bool = True) -> None:
        """Report the matches of runs in the final state, each node once.

        hold: whether to withhold them if a negated component at the end may still forbid them.
        """
        # A node may be in groups of several states, and its matches must be reported once.
        for node in group.nodes.values():
            if not node.is_match:
                node.is_match = True
                if hold and self.absences is not None and self.absences.last:
                    # By the identity of the first event, which `starts` keeps alive until the window is over.
                    self._withheld.setdefault(id(group.values[0]), []).append(node)
                else:
                    self._found.append(node)

    def _matches_at_once(self, state: StatePlan, values: RegisterValues) -> bool:
        """Return whether a run in a Kleene plus in last place is already a match, whatever events follow."""
        if state.leaving == "by_condition":
            return self._selection.is_complete(state, values)
        return state.leaving == "after_each" or state.cut

    def _is_over(self, group: RunGroup, at: EventContext) -> bool:
        return self._selection.spans(group.values[0], at.event) is False

    # --- partitions and windows ---

    def _key(self, event: Event) -> Key:
        """Return the values of the routing attributes; a unique object if one is missing."""
        values = [event.get(x) for x in self.routes]
        if any(value is None or value != value for value in values):
            return object()
        return tuple((kind(value), value) for value in values if value is not None)

    def _expire(self, event: Event) -> None:
        """Delete the runs whose window is over at the event. A run in a Kleene plus in last place stops and is a match.

        Because times ascend, a run that still waits for an event will never select one. A run sees only the events of
        its own partition. It would skip all others, because they fail the equivalence tests.
        """
        last = self.plan.states[-1]
        while self.starts and self._selection.spans(self.starts[0][0], event) is False:
            first, key = self.starts.popleft()
            self._found += self._withheld.pop(id(first), ())
            tables = self.partitions.get(key)
            if tables is None:
                continue
            for state, table in zip(self.plan.states, tables, strict=True):
                for known, group in list(table.items()):
                    if self._selection.spans(group.values[0], event) is False:
                        del table[known]
                        self.alive -= 1
                        if state is last and state.stops_by_itself:
                            self._match(group, hold=False)
            if not any(tables):
                del self.partitions[key]

    def _delete_past(self, absences: NfabAbsences, event: Event) -> None:
        """Delete the events that negation no longer needs, because every window that contains them ended before the
        oldest run began.
        """
        past = absences.past
        oldest = self.starts[0][0] if self.starts else event
        start = past.start
        while start < len(past) and self._selection.spans(past[start], oldest) is False:
            start += 1
        absences.delete_before(start)

    # --- answers ---

    def list_matches(self, nodes: Iterable[BufferNode]) -> Iterator[Bindings]:
        """Return the matches of nodes, except matches that a negated component forbids. Raises BudgetExceeded."""
        found = 0
        for node in nodes:
            for M in timed_items(matches_of(node, self._variables)):
                if self.absences is None or not self.absences.forbid(M):
                    found += 1
                    require_matches(found, self.budget)
                    yield M


def require_matches(found: int, budget: Budget) -> None:
    """Raise BudgetExceeded if there are more matches than the budget allows."""
    if found > budget.matches:
        raise BudgetExceeded(
            f"there are more than {budget.matches} matches; set a window or a stricter strategy, or count them"
        )


# ---------------------------------------------------------------------------------------------------------------------
# The end of a stream that comes in batches: the batches still needed, by the positions of the whole stream.


class StoredEvents(Sequence[Event]):
    """The events of a stream from position `start` on; earlier ones have been deleted.

    Positions, and the length of this object, count from the beginning of the stream.
    """

    def __init__(self, start: int = 0) -> None:
        self.start = self._end = start
        self._firsts: list[int] = []
        self._parts: list[Stream] = []
        self._events: dict[int, Event] = {}  # the events read so far: aggregates read an event many times

    def add(self, S: Stream) -> None:
        """Store one more batch."""
        if len(S):
            self._firsts.append(self._end)
            self._parts.append(S)
            self._end += len(S)

    def delete_before(self, start: int) -> None:
        """Delete the stored events before this position."""
        self.start = max(self.start, min(start, self._end))
        while self._parts and self._firsts[0] + len(self._parts[0]) <= self.start:
            del self._firsts[0], self._parts[0]
            self._events.clear()

    def table(self) -> pa.Table:
        """Return the stored events as a table, with a column for each attribute that has a value.

        Raises InputError if an attribute has values of several types that do not fit in one column.
        """
        streams = [
            S.part(max(0, self.start - first), len(S)) for first, S in zip(self._firsts, self._parts, strict=True)
        ]
        try:
            return pa.concat_tables([S.table for S in (streams or [Stream()])], promote_options="permissive")
        except pa.ArrowException:  # no type has the values of both columns, such as a number and a text
            return Stream([event for S in streams for event in S]).table

    def __len__(self) -> int:
        return self._end

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | Sequence[Event]:
        if isinstance(index, slice):
            return [self[p] for p in range(*index.indices(self._end))]
        if not self.start <= index < self._end:
            raise IndexError(index)
        if index not in self._events:
            at = bisect_right(self._firsts, index) - 1
            self._events[index] = self._parts[at].part(index - self._firsts[at], 1)[0]
        return self._events[index]


# ---------------------------------------------------------------------------------------------------------------------
# The answers of the readable evaluator on a whole stream: all bindings of a query, the first of them, or how many.


def bindings(
    q: sase.SaseQuery,
    S: Stream,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> set[Bindings]:
    """Return the bindings of a query over a stream. Raises BudgetExceeded."""
    E = BlockRunner(q, reading, budget, operations, ordered=ascend(S))
    found = {*E.advance(S), *E.finish()}
    require_matches(len(found), budget)
    return found


def count(
    q: sase.SaseQuery,
    S: Stream,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> int:
    """Return the number of matches. They are listed only if negated components have to be checked for each match."""
    E = BlockRunner(q, reading, budget, operations, ordered=ascend(S))
    if E.absences is not None:
        return sum(1 for _ in _all(E, S))
    return E.count(S) + sum(node.count for node in E.end())


def first(
    q: sase.SaseQuery,
    S: Stream,
    limit: int,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> list[Bindings]:
    """Return the first `limit` matches to be completed. Later events of the stream are not read."""
    return list(islice(_all(BlockRunner(q, reading, budget, operations, ordered=ascend(S)), S), limit))


def _all(E: BlockRunner, S: Stream) -> Iterator[Bindings]:
    for event in S:
        yield from E.list_matches(E.nodes(event))
    yield from E.list_matches(E.end())
