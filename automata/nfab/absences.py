"""Negated components for the evaluator: negation.py over a stream of which only the end is kept.

Events that could be the first of what a negated component describes, by their type and by the clauses on one event, are
noted as they come. Between the events of most matches there is none.
"""

from __future__ import annotations

from bisect import bisect_left

from cerify.automata.nfab.compile import compile_absence
from cerify.automata.nfab.moves import Configuration, Runs
from cerify.automata.nfab.negation import accepted
from cerify.semantics.budget import Budget
from cerify.semantics.events import Bindings, Event, Stream
from cerify.semantics.predicates import Predicate, mentions, satisfied
from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import Operations
from cerify.semantics.sase.conditions import placed
from cerify.semantics.sase.reading import Reading


class Past(Stream):
    """The end of the stream read so far; positions are those of the whole."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Event] = []
        self.start = 0

    def __len__(self) -> int:
        return self.start + len(self.kept)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self.kept[index - self.start]

    def forget(self, start: int) -> None:
        """Keep no event before that position."""
        del self.kept[: start - self.start]
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
        """One more event."""
        for k in self.components:
            k.note(event, len(self.past))
        self.past.kept.append(event)

    def forget(self, start: int) -> None:
        """No match to come looks at an event before that position."""
        self.past.forget(start)
        for k in self.components:
            del k.noted[: bisect_left(k.noted, start)]

    def forbid(self, M: Bindings) -> bool:
        """Whether some negated component is there after all, or still may be."""
        return any(k.is_there(M) for k in self.components)


class _Absence:
    """One negated component."""

    def __init__(
        self, q: sase.Query, k: sase.Component, reading: Reading, past: Past, budget: Budget, operations: Operations
    ) -> None:
        self.q, self.k, self.reading, self.past = q, k, reading, past
        self.runs = Runs(compile_absence(q, k, reading), past, reading, budget, operations)
        self.own = [p for p in clauses.clauses_of_absence(q, k.variable) if _is_per_event(p, q, k)]
        self.noted: list[int] = []
        at = q.pattern.index(k)
        self.before = [c.variable for c in q.pattern[:at] if not c.negated][-1:]
        self.after = [c.variable for c in q.pattern[at:] if not c.negated][:1]

    def note(self, event: Event, position: int) -> None:
        """Whether the event, at that position, could be the first."""
        if event.type == self.k.type and all(satisfied(p, lambda a: event.get(a.name)) for p in self.own):
            self.noted.append(position)

    def is_there(self, M: Bindings) -> bool:
        """Whether events between its neighbours' are as it describes, or whether the stream must go on to tell."""
        bound = dict(M)
        low = bound[self.before[0]][-1] + 1 if self.before else self.past.start
        high = bound[self.after[0]][0] if self.after else len(self.past)
        window = self.q.within
        if window is not None and not self.after and self.reading.stream_end == "waits":
            since = (self._spans(window, M[0][1][0], p) for p in range(low, high))
            if False not in since:
                return True
        firsts = self._scope(M, self.noted[bisect_left(self.noted, low) : bisect_left(self.noted, high)])
        if not firsts:
            return False
        if not self.k.kleene:
            initial = self.runs.A.initial
            return any(self.runs.holds("begin", Configuration(initial, p, M)) for p in firsts)
        return accepted(self.runs, M, firsts, self._scope(M, list(range(low, high))))

    def _scope(self, M: Bindings, positions: list[int]) -> list[int]:
        """Those of the positions, between the neighbours, that the window lets it look at."""
        window = self.q.within
        if window is None or (self.before and self.after):
            return positions
        if not self.before:
            in_all, last = self.reading.negation_in_front == "stream", M[-1][1][-1]
            return [p for p in positions if in_all or self._spans(window, p, last)]
        return [p for p in positions if self._spans(window, M[0][1][0], p)]

    def _spans(self, window: sase.Window, p: int, r: int) -> bool | None:
        return clauses.spans(window, self.past[p], self.past[r], self.reading.window == "closed")


def _is_per_event(p: Predicate, q: sase.Query, k: sase.Component) -> bool:
    """Whether a clause speaks of the first of the negated events, and of no other."""
    order = (*clauses.positive(q), k)
    return placed(p, order).edge in ("first", "each") and all(
        isinstance(a, sase.Reference) and a.variable == k.variable for a in mentions(p)
    )
