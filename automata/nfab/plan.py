"""Plan a query for the evaluators, before the first event: its states, and the conditions of each state.

The states are those of compile.py, with the conditions on their edges. Some conditions read only the awaited event;
the others also read the registers of a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any, Literal, TypeAlias, assert_never

from cerify.automata.nfab.compile import EdgeLayout, EdgeTest, Identifier, Tested, identifier, match_layout, states_of
from cerify.automata.nfab.moves import Fold, Values, fold_of
from cerify.semantics.events import TIME, Bindings, Event, Stream
from cerify.semantics.predicates import Attribute, Predicate
from cerify.semantics.readings import Operations, Reading
from cerify.semantics.sase import syntax as sase
from cerify.semantics.values import Value, value_type_of

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
    """The registers of a query's runs, for the values that its conditions and equivalence tests compare."""

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
        """Return a function that maps the values of a run to a key.

        Keys are equal if the window and the conditions on the `mentioned` attributes cannot distinguish the values.
        """
        read = [self._of_attribute[a] for a in mentioned]
        numbers = {register.number for register in read} | set(range(1, 1 + len(self.tests)))
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
        """Return whether a run in this state, a Kleene plus in last place, is a match as soon as no event can
        follow.
        """
        return self.leaving == "when_stopped" and self.is_last and not self.cut

    @property
    def stops_at_end(self) -> bool:
        """Return whether a run in this state, a Kleene plus in last place, is a match when the stream ends."""
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
    """Return whether all times of a stream ascend."""
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
    """An event selected for a component, and the nodes before it; none if it is the first event of its runs.

    Different nodes stand for different sequences of selected events. count: the number of these sequences.
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
