"""The matches of a SASE+ query over a stream that comes event by event, in readable Python.

All runs go on side by side (sase07, section 3.2), with what makes that affordable:
- a run keeps values, not events (cells.py), and the events selected are shared (buffer.py);
- runs in the same state whose values agree as far as they will be read have the same future: they become one;
- where an event of another partition cannot do anything to a run, runs are found by the partition of the event;
- a run ends with its window, and so does all that is kept for it.
The last two need the order of times and of the strategies; what they rest on is said where it is decided. The matches
are those of run.bindings.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from cerify.automata.nfab.absences import Absences
from cerify.automata.nfab.buffer import Node, matches_of
from cerify.automata.nfab.cells import Values
from cerify.automata.nfab.plan import Clock, Place, Plan
from cerify.automata.nfab.selection import Look, Selection
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, InputError
from cerify.semantics.events import TIME, Bindings, Event, Stream
from cerify.semantics.predicates import kind, satisfied
from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import NO_OPERATIONS, Operations
from cerify.semantics.sase.reading import DECIDED, Reading

Key: TypeAlias = object


@dataclass(slots=True, eq=False)
class Group:
    """Runs in one state with the same values; nodes are the last events that they have selected."""

    values: Values
    nodes: dict[int, Node]


Table: TypeAlias = dict[object, Group]
"""The groups of one state, by what of their values will be read."""


class Evaluator:
    """The matches of one query block over a stream.

    A query with a window needs times that ascend. ordered=False does without, for a stream that is there as a whole:
    then nothing ends with its window.
    """

    def __init__(
        self,
        q: sase.Query,
        reading: Reading = DECIDED,
        budget: Budget = Budget(),
        operations: Operations = NO_OPERATIONS,
        *,
        ordered: bool = True,
    ) -> None:
        self.q, self.reading, self.budget = q, reading, budget
        self.plan = Plan(q, reading, operations)
        self.expires = ordered and q.within is not None
        self.routes = self.plan.routes if ordered or q.within is None else ()
        self.absences = Absences(q, reading, budget, operations) if clauses.negated(q) else None
        self.partitions: dict[Key, list[Table]] = {}
        self.starts: deque[tuple[Event, Key]] = deque()
        self.held: dict[int, list[Node]] = {}  # matches that a negated component at the end may still forbid
        self.position = 0
        self.alive = 0
        self._selection = Selection(q, reading, self.plan)
        self._clock = Clock()
        self._variables = [k.variable for k in self.plan.pattern]
        self._found: list[Node] = []

    # --- what is asked from outside ---

    def push(self, event: Event) -> list[Bindings]:
        """Read one event; the matches that are known by it, which are in no order."""
        return list(self.listed(self.nodes(event)))

    def read(self, S: Iterable[Event] | pa.RecordBatch | pa.Table) -> list[Bindings]:
        """The same for some events, or for the rows of a batch."""
        found: list[Bindings] = []
        for event in Stream.from_table(S) if isinstance(S, pa.Table | pa.RecordBatch) else S:
            found += self.push(event)
            require_matches(len(found), self.budget)
        return found

    def finish(self) -> list[Bindings]:
        """The matches that are known by the end of the stream."""
        return list(self.listed(self.end()))

    def nodes(self, event: Event) -> list[Node]:
        """Read one event; the matches that are known by it, each node standing for some.

        Negated components may still forbid them, which `push` looks at.
        """
        if self.expires and not self._clock.ascends(event.get(TIME)):
            raise InputError(
                f"event {self.position}: under WITHIN the times have to be there, to be of one kind, and to ascend; "
                "sort the stream, or hand it over as a whole"
            )
        if self.absences is not None:
            if self.expires and not self.absences.needs_all:
                self._forget(self.absences, event)
            self.absences.read(event)
        self._found = []
        if self.expires:
            self._expire(event)
        look = Look(event, self.position, {})
        key = self._key(event)
        tables = self.partitions.get(key)
        if tables is not None:
            self._advance(tables, look)
        self._start(key, tables, look)
        self.position += 1
        if self.alive > self.budget.states:
            raise BudgetExceeded(f"more than {self.budget.states} runs at a time; set a window, or a stricter strategy")
        return self._found

    def end(self) -> list[Node]:
        """As finish, each node standing for some matches."""
        self._found = [node for nodes in self.held.values() for node in nodes]
        last = self.plan.places[-1]
        if last.stops_at_end:
            for tables in self.partitions.values():
                for group in tables[last.number].values():
                    self._match(group, hold=False)
        return self._found

    # --- one event ---

    def _advance(self, tables: list[Table], look: Look) -> None:
        """Every run of a partition looks at the event; the states in their order, so that proceeding is followed up."""
        before = sum(map(len, tables))
        old, tables[:] = tables[:], [{} for _ in tables]
        for place in self.plan.places[1:]:
            for group in old[place.number].values():
                if place.kind == "more":
                    self._more(place, group, look, old, tables)
                else:
                    self._await(place, group, look, tables)
        self.alive += sum(map(len, tables)) - before

    def _start(self, key: Key, tables: list[Table] | None, look: Look) -> None:
        """A new run begins with the event, if it can."""
        first = self.plan.places[0]
        if not self._selection.passes(first, look):
            return
        values = self.plan.cells.selected(self.plan.cells.initial, first.variable, True, look.event)
        if not all(satisfied(p, self.plan.cells.reader(values)) for p in first.related):
            return
        if tables is None:
            tables = self.partitions[key] = [{} for _ in self.plan.places]
        before = sum(map(len, tables))
        self._enter(first, values, Node(0, look.position), tables)
        self.alive += sum(map(len, tables)) - before
        if not any(tables):
            del self.partitions[key]
        if self.expires:
            self.starts.append((look.event, key))

    def _await(self, place: Place, group: Group, look: Look, tables: list[Table]) -> None:
        """A run that awaits the first event of a component."""
        selected = self._selection.select(place, group.values, look)
        if selected is not None:
            self._enter(place, selected, self._node(place, group, look), tables)
        if self._selection.skips(place, group.values, look, selected) and not (
            self.expires and self._is_over(group, look)
        ):
            self._add(tables, place.number, group.values, group.nodes)

    def _more(self, place: Place, group: Group, look: Look, old: list[Table], tables: list[Table]) -> None:
        """A run in a Kleene plus: it takes or ignores the event unless it must stop, and proceeds if it may."""
        following = self._selection.follows(place, group.values, look)
        ended = bool(place.end) and self._selection.is_ended(place, group.values)
        stops = self._is_over(group, look) or (place.cut and (ended if place.end else following or place.is_last))
        selected = None if stops else self._selection.select(place, group.values, look)
        skips = not stops and self._selection.skips(place, group.values, look, selected)
        if skips and place.careful:
            skips = not following
        if selected is not None:
            self._enter(place, selected, self._node(place, group, look), tables)
        if skips:
            self._add(tables, place.number, group.values, group.nodes)
        auto_stop = selected is None and not skips
        if ended if place.end else place.always or following or auto_stop:
            if place.is_last:
                self._match(group)
            else:
                self._add(old, place.number + 1, group.values, group.nodes)

    def _enter(self, place: Place, values: Values, node: Node, tables: list[Table]) -> None:
        """A run has selected an event and goes on: to the next state, or, in a Kleene plus, to the state for more."""
        following = self.plan.after_selecting(place)
        if following is None:
            self._match(Group(values, {id(node): node}))
            return
        if following.kind == "more" and following.is_last and self._matches_at_once(following, values):
            self._match(Group(values, {id(node): node}))
            if following.cut:
                return
        self._add(tables, following.number, values, {id(node): node})

    def _add(self, tables: list[Table], number: int, values: Values, nodes: dict[int, Node]) -> None:
        """Runs in a state; with others there that have the same future they become one."""
        key = self.plan.places[number].key(values)
        there = tables[number].get(key)
        if there is None:
            tables[number][key] = Group(values, dict(nodes))
        else:
            there.nodes.update(nodes)

    def _node(self, place: Place, group: Group, look: Look) -> Node:
        return Node(place.component, look.position, tuple(group.nodes.values()))

    def _match(self, group: Group, hold: bool = True) -> None:
        """The runs have come to the final state; each of their buffers counts once."""
        for node in group.nodes.values():
            if not node.is_match:
                node.is_match = True
                if hold and self.absences is not None and self.absences.last:
                    self.held.setdefault(id(group.values[0]), []).append(node)
                else:
                    self._found.append(node)

    def _matches_at_once(self, place: Place, values: Values) -> bool:
        """Whether a Kleene plus in last place is a match whatever comes next, even if nothing does."""
        return self._selection.is_ended(place, values) if place.end else place.always or place.cut

    def _is_over(self, group: Group, look: Look) -> bool:
        return self._selection.spans(group.values[0], look.event) is False

    # --- partitions and windows ---

    def _key(self, event: Event) -> Key:
        """What events have in common that the equivalence tests relate; an event that lacks it is on its own."""
        values = [event.get(x) for x in self.routes]
        if any(value is None or value != value for value in values):
            return object()
        return tuple((kind(value), value) for value in values if value is not None)

    def _expire(self, event: Event) -> None:
        """The runs whose window the event ends: a Kleene plus in last place stops, the others are given up.

        A run that awaits an event is given up, for as times ascend it will never get one. One in another partition than
        the event's looks at no event until its own; it would skip the others, as none agrees with what it has selected.
        """
        last = self.plan.places[-1]
        while self.starts and self._selection.spans(self.starts[0][0], event) is False:
            first, key = self.starts.popleft()
            self._found += self.held.pop(id(first), ())
            tables = self.partitions.get(key)
            if tables is None:
                continue
            for place, table in zip(self.plan.places, tables, strict=True):
                for known, group in list(table.items()):
                    if self._selection.spans(group.values[0], event) is False:
                        del table[known]
                        self.alive -= 1
                        if place is last and place.stops_by_itself:
                            self._match(group, hold=False)
            if not any(tables):
                del self.partitions[key]

    def _forget(self, absences: Absences, event: Event) -> None:
        """Of the past, negation needs what is in the window before the oldest run."""
        past = absences.past
        oldest = self.starts[0][0] if self.starts else event
        start = past.start
        while start < len(past) and self._selection.spans(past[start], oldest) is False:
            start += 1
        absences.forget(start)

    # --- answers ---

    def listed(self, nodes: Iterable[Node]) -> Iterator[Bindings]:
        """The matches that nodes stand for, but for those that a negated component forbids."""
        found = 0
        for node in nodes:
            for M in matches_of(node, self._variables):
                if self.absences is None or not self.absences.forbid(M):
                    found += 1
                    require_matches(found, self.budget)
                    yield M


def require_matches(found: int, budget: Budget) -> None:
    """Raises BudgetExceeded if there are more matches than the budget has."""
    if found > budget.matches:
        raise BudgetExceeded(f"more than {budget.matches} matches; set a window or a stricter strategy, or count them")
