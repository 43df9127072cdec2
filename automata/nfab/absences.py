"""Negated components for the evaluator: negation.py over a stream of which only the end is stored.

The positions of events that could be the first of what a negated component describes, by their type and by the
conditions on one event, are stored as they come. Between the events of most matches there is none.
"""

from __future__ import annotations

from bisect import bisect_left

from cerify.automata.nfab.compile import compile_absence
from cerify.automata.nfab.edges import absence_layout
from cerify.automata.nfab.moves import Configuration, Runs
from cerify.automata.nfab.negation import accepted, in_scope, is_unfinished, neighbours
from cerify.semantics.budget import Budget
from cerify.semantics.events import Bindings, Event, Stream
from cerify.semantics.predicates import mentions, satisfied
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import Operations
from cerify.semantics.sase.reading import Reading


class Past(Stream):
    """The end of the stream read so far; positions are those of the whole."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: list[Event] = []
        self.start = 0

    def __len__(self) -> int:
        return self.start + len(self.stored)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self.stored[index - self.start]

    def delete_before(self, start: int) -> None:
        """Delete the events before that position."""
        del self.stored[: start - self.start]
        self.start = max(start, self.start)


class Absences:
    """What the negated components of a query forbid, over the events read so far."""

    def __init__(self, q: sase.Query, reading: Reading, budget: Budget, operations: Operations) -> None:
        self.q, self.reading, self.past = q, reading, Past()
        self.components = [_Absence(q, k, reading, self.past, budget, operations) for k in q.pattern if k.negated]
        self.last = q.pattern[-1].negated
        in_front = q.pattern[0].negated
        self.needs_all = in_front and (q.within is None or reading.negation_in_front == "stream")

    def read(self, event: Event) -> None:
        """Store one more event."""
        for k in self.components:
            k.note(event, len(self.past))
        self.past.stored.append(event)

    def delete_before(self, start: int) -> None:
        """Delete the events before that position, which no match to come needs."""
        self.past.delete_before(start)
        for k in self.components:
            del k.noted[: bisect_left(k.noted, start)]

    def forbid(self, M: Bindings) -> bool:
        """Whether the events of a negated component are there, or events to come may be such."""
        return any(k.is_there(M) for k in self.components)


class _Absence:
    """One negated component."""

    def __init__(
        self, q: sase.Query, k: sase.Component, reading: Reading, past: Past, budget: Budget, operations: Operations
    ) -> None:
        self.q, self.k, self.reading, self.past = q, k, reading, past
        self.runs = Runs(compile_absence(q, k, reading), past, reading, budget, operations)
        self.on_event = [
            test.predicate
            for test in absence_layout(q, k).on(k.variable, "begin")
            if all(a.variable == k.variable for a in mentions(test.predicate))
        ]
        self.noted: list[int] = []

    def note(self, event: Event, position: int) -> None:
        """Store the position of the event if it could be the first of what the component describes."""
        if event.type == self.k.type and all(satisfied(p, lambda a: event.get(a.name)) for p in self.on_event):
            self.noted.append(position)

    def is_there(self, M: Bindings) -> bool:
        """Whether events in the scope are as the component describes, or events to come may be."""
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
            return any(self.runs.holds("begin", Configuration(initial, p, M)) for p in firsts)
        return accepted(self.runs, M, firsts, in_scope(q, k, M, past, reading, range(low, high)))
