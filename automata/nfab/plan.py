"""The plan of the evaluators for a query, made before the first event: its states, and the conditions of each.

The states are those of compile.py, with the conditions on their edges. The conditions on an event are split into those
on that event alone, which do not depend on the run, and those that read the registers of a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, assert_never

from cerify.automata.nfab.compile import states_of
from cerify.automata.nfab.edges import EdgeTest, Layout, Tested, identifier, match_layout
from cerify.automata.nfab.registers import Registers, RegisterValues
from cerify.semantics.events import TIME, Stream
from cerify.semantics.predicates import Predicate, mentions
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import Operations
from cerify.semantics.sase.reading import Reading
from cerify.semantics.values import Value

StateKind = Literal["single", "first", "more"]

Leaving = Literal["at_once", "by_condition", "after_each", "when_stopped"]
"""When a component is complete: with its event (no Kleene plus), when the condition on its last event or on all of them
holds, after each event, or when the next component could begin or the Kleene plus can neither take nor ignore."""


@dataclass(frozen=True, eq=False)
class StatePlan:
    """A state of the line: its number, and the component, by its index, whose events it awaits.

    on_event, on_run: the conditions on the event awaited that mention no other event, and the others. in_partition:
    those that define the partition. at_end: the conditions on the component when it is complete.
    skips_next: whether events that the next component could select may be ignored under skip till next match.
    at_stream_end: whether the end of the stream stops a Kleene plus.
    key: a function from the values of a run to a key; runs in the state with equal keys have the same future.
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
        """Whether it is a Kleene plus in last place that is a match when nothing more can come."""
        return self.leaving == "when_stopped" and self.is_last and not self.cut

    @property
    def stops_at_end(self) -> bool:
        """Whether such a one is a match at the end of the stream."""
        return self.stops_by_itself and self.at_stream_end == "stops"


class QueryPlan:
    """The states of a query, the registers of its runs, and the attributes by whose values runs can be found."""

    def __init__(self, q: sase.Query, reading: Reading, operations: Operations, layout: Layout | None = None) -> None:
        """layout: that of a negated component, for the states of its automaton."""
        self.q, self.reading = q, reading
        self.layout = match_layout(q) if layout is None else layout
        self.pattern = self.layout.components
        self.partition = frozenset(x for x, defines in self.layout.equivalences if defines)
        self.registers = Registers(
            (test.predicate for test in self.layout.tests),
            dict.fromkeys(x for x, _ in self.layout.equivalences),
            operations,
        )
        self.states: list[StatePlan] = []
        for component, k in enumerate(self.pattern):
            for state in states_of(k):
                self.states.append(self._state(component, k, state.kind))  # type: ignore[arg-type]
        self.routes = routes(self.layout)

    def after_selecting(self, state: StatePlan) -> StatePlan | None:
        """Where a run is after selecting an event there; None if that was the last one."""
        if state.kind == "more":
            return state
        return self.states[state.number + 1] if state.number + 1 < len(self.states) else None

    def _state(self, component: int, k: sase.Component, kind: StateKind) -> StatePlan:
        reading, layout = self.reading, self.layout
        edge: Tested = "take" if kind == "more" else "begin"
        here = layout.on(k.variable, edge)
        at_end = tuple(test.predicate for test in layout.on(k.variable, "proceed")) if kind == "more" else ()
        order = {c.variable: n for n, c in enumerate(self.pattern)}
        to_come = [test.predicate for test in layout.tests if order[test.variable] >= component]
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


def routes(layout: Layout) -> tuple[str, ...]:
    """The attributes of the equivalence tests by whose values the runs that an event concerns can be found.

    An event that disagrees with the last one selected is not selected, and is skipped, whatever else holds of it: under
    skip till next or any match, and under partition contiguity if the test defines the partition.
    """
    strategies = set(layout.strategies.values())
    if "strict_contiguity" in strategies:
        return ()
    by_partition = "partition_contiguity" in strategies
    return tuple(dict.fromkeys(x for x, defines in layout.equivalences if defines or not by_partition))


class AscendingTimes:
    """A check of times, one after the other: all of one kind, finite, none less than the one before."""

    def __init__(self) -> None:
        self._last: Value | None = None

    def ascends(self, time: Value | None) -> bool:
        """Whether the next time ascends."""
        last, self._last = self._last, time
        match time:
            case bool() | str() | None:
                return False
            case float() if not math.isfinite(time):
                return False
            case int() | float() | datetime():
                return last is None or (type(time) is type(last) and last <= time)  # type: ignore[operator]
            case _:
                assert_never(time)


def ascend(S: Stream) -> bool:
    """Whether all times of a stream ascend."""
    times = AscendingTimes()
    return all(times.ascends(event.get(TIME)) for event in S)


def _leaving(kind: StateKind, at_end: tuple[Predicate, ...], is_last: bool, reading: Reading) -> Leaving:
    if kind != "more":
        return "at_once"
    if at_end:
        return "by_condition"
    return "after_each" if is_last and reading.last_kleene == "every" else "when_stopped"


def _is_on_event(test: EdgeTest, kind: StateKind) -> bool:
    """Whether a test mentions the event that is awaited, and no other."""
    awaited = ("a[i]",) if kind == "more" else ("a", "a[1]", "a[i]")
    return all(a.variable == test.variable and identifier(a) in awaited for a in mentions(test.predicate))
