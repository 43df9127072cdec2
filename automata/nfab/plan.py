"""What the evaluator knows of a query before the first event: its states, and which clauses are asked where.

The states are those of compile.py, and so is what holds on their edges; of the clauses on an event those that speak of
it alone are told from those that read what the run has selected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from cerify.automata.nfab.cells import Cells, Values
from cerify.automata.nfab.compile import EDGES, states_of
from cerify.semantics.events import TIME, Stream, Value
from cerify.semantics.predicates import Predicate, mentions
from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import Operations
from cerify.semantics.sase.conditions import Edge, placed
from cerify.semantics.sase.reading import Reading


@dataclass(frozen=True, eq=False)
class Place:
    """A state: single, first or more, of a component; number is its place on the line.

    own, related: the clauses on the event that it awaits, of that alone, and those that read the run. marked: those of
    them that are underlined. end: on the component when it is complete. key: what of the values will still be read.
    """

    number: int
    component: int
    variable: str
    type: str
    kind: Literal["single", "first", "more"]
    strategy: sase.Strategy
    own: tuple[Predicate, ...]
    related: tuple[Predicate, ...]
    marked: tuple[Predicate, ...]
    end: tuple[Predicate, ...]
    key: Callable[[Values], object]
    is_last: bool
    cut: bool
    always: bool
    careful: bool
    waits: bool

    @property
    def stops_by_itself(self) -> bool:
        """Whether it is a Kleene plus in last place that is a match when nothing more can come."""
        return self.kind == "more" and self.is_last and not (self.end or self.always or self.cut)

    @property
    def stops_at_end(self) -> bool:
        """Whether the end of the stream stops it too."""
        return self.stops_by_itself and not self.waits


class Plan:
    """The states of a query, the cells of its runs, and the attributes by whose values runs can be found."""

    def __init__(self, q: sase.Query, reading: Reading, operations: Operations) -> None:
        self.q, self.reading = q, reading
        self.pattern = clauses.positive(q)
        self._said = [
            (p, underlined, place.edge, q.pattern[place.component].variable)
            for p, underlined in clauses.clauses_of_matches(q)
            for place in [placed(p, q.pattern)]
        ]
        tests = clauses.equivalences(q)
        underlined = any(c.underlined for c in clauses.conjuncts(q))
        self.marked = frozenset(x for x, marked in tests if marked or not underlined)
        self.cells = Cells((p for p, _, _, _ in self._said), dict.fromkeys(x for x, _ in tests), operations)
        self.places: list[Place] = []
        for component, k in enumerate(self.pattern):
            for state in states_of(k):
                self.places.append(self._place(component, k, state.kind))  # type: ignore[arg-type]
        self.routes = self._routes()

    def after_selecting(self, place: Place) -> Place | None:
        """Where a run is after selecting an event there; None if that was the last one."""
        if place.kind == "more":
            return place
        return self.places[place.number + 1] if place.number + 1 < len(self.places) else None

    def _place(self, component: int, k: sase.Component, kind: Literal["single", "first", "more"]) -> Place:
        reading, edges = self.reading, EDGES[kind]
        here = [(p, u) for p, u, edge, variable in self._said if variable == k.variable and edge in edges]
        end = tuple(p for p, _, edge, variable in self._said if variable == k.variable and edge == "end")
        order = {c.variable: n for n, c in enumerate(self.pattern)}
        still = [p for p, _, _, variable in self._said if order[variable] >= component]
        strategy, last = clauses.strategy_of(self.q, k.variable), component == len(self.pattern) - 1
        nothing = last and not end and reading.cut_in_last_place == "nothing"
        return Place(
            number=len(self.places),
            component=component,
            variable=k.variable,
            type=k.type,
            kind=kind,
            strategy=strategy,
            own=tuple(p for p, _ in here if _is_own(p, k.variable, kind)),
            related=tuple(p for p, _ in here if not _is_own(p, k.variable, kind)),
            marked=tuple(p for p, underlined in here if underlined),
            end=end if kind == "more" else (),
            key=self.cells.key_of(still, self.q.within is not None),
            is_last=last,
            cut=clauses.is_cut(self.q, k.variable) and not nothing,
            always=last and reading.last_kleene == "every",
            careful=strategy == "skip_till_next_match" and reading.kleene_skips == "neither" and not last,
            waits=reading.stream_end == "waits",
        )

    def _routes(self) -> tuple[str, ...]:
        """The equivalence tests by which runs can be found.

        An event that disagrees with the last one selected is not selected, and is skipped, whatever else is true of
        it: under skip till next or any match, and under partition contiguity if the test says what the partition is.
        """
        strategies = {clauses.strategy_of(self.q, k.variable) for k in self.pattern}
        if "strict_contiguity" in strategies:
            return ()
        if "partition_contiguity" in strategies:
            return tuple(x for x in self.cells.tests if x in self.marked)
        return self.cells.tests


class Clock:
    """Whether times come one after the other: all of one kind, finite, none before the one that came before."""

    def __init__(self) -> None:
        self._last: Value | None = None

    def ascends(self, time: Value | None) -> bool:
        """Whether the next one does."""
        last, self._last = self._last, time
        match time:
            case bool() | str() | None:
                return False
            case float() if not math.isfinite(time):
                return False
            case _ if last is None:
                return True
            case int() | float() | datetime():
                return type(time) is type(last) and last <= time  # type: ignore[operator]


def ascend(S: Stream) -> bool:
    """Whether all times of a stream do."""
    clock = Clock()
    return all(clock.ascends(event.get(TIME)) for event in S)


def _is_own(p: Predicate, variable: str, kind: Literal["single", "first", "more"]) -> bool:
    """Whether a clause speaks of the event that is awaited, and of no other."""
    here: tuple[Edge | sase.Place, ...] = ("current",) if kind == "more" else ("only", "first", "current")
    return all(isinstance(a, sase.Reference) and a.variable == variable and a.place in here for a in mentions(p))
