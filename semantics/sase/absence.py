"""The meaning of negation: in its scope nothing is as the negated component describes (sase07, section 2.2.3).

A match of the other components stands unless events in the scope, one or, for a Kleene plus, a series, satisfy all
clauses that mention the negated variable. The paper does not say where the scope of a first or last component begins or
ends, nor what a strategy means for it: see docs/decisions/sase.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from cerify.semantics.events import Bindings, Stream
from cerify.semantics.predicates import Predicate, satisfied
from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import Operations
from cerify.semantics.sase.conditions import Edge, agree, placed, value_of
from cerify.semantics.sase.reading import Reading
from cerify.semantics.sase.watch import Watch


class Absences:
    """What the negated components of a query forbid, over one stream; watch passes on the series that are tried."""

    def __init__(self, q: sase.Query, S: Stream, reading: Reading, operations: Operations, watch: Watch) -> None:
        self.q, self.S, self.reading, self.operations, self.watch = q, S, reading, operations, watch

    def forbid(self, M: Bindings) -> bool:
        """Whether the events of some negated component are there, or events to come may be such."""
        return any(self.is_there(k, M) for k in self.q.pattern if k.negated)

    def is_there(self, k: sase.Component, M: Bindings) -> bool:
        """Whether a series in the scope satisfies all clauses on the negated component, or one to come may."""
        scope = self.scope(k, M)
        if scope is None:
            return True
        return any(self.satisfy(k, M, series, ("end",)) for series in self.watch(self.series(k, M, scope)))

    def series(self, k: sase.Component, M: Bindings, scope: list[int]) -> Iterator[tuple[int, ...]]:
        """The events, or for a Kleene plus the series of events, that the component describes, complete or not."""
        pending: list[tuple[int, ...]] = [(p,) for p in scope if self.describes(k, M, (p,))]
        while pending:
            series = pending.pop()
            yield series
            if k.kleene:
                pending.extend((*series, p) for p in scope if p > series[-1] and self.goes_on(k, M, series, p))

    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        """The positions in a negated component's scope: between its neighbours, or to the end of the window."""
        at, bound, n = self.q.pattern.index(k), dict(M), len(self.S)
        low = max((p + 1 for c in self.q.pattern[:at] for p in bound.get(c.variable, ())), default=None)
        high = min((p for c in self.q.pattern[at:] for p in bound.get(c.variable, ())), default=None)
        match low, high, self.q.within:
            case None, int(), sase.Window() as window if self.reading.negation_in_front == "window":
                return [p for p in range(high) if self.spans(window, p, M[-1][1][-1])]
            case int(), None, sase.Window() as window:
                since = {p: self.spans(window, M[0][1][0], p) for p in range(low, n)}
                if self.reading.stream_end == "waits" and False not in since.values():
                    return None
                return [p for p, within in since.items() if within]
            case _:
                return list(range(low or 0, n if high is None else high))

    def spans(self, window: sase.Window, p: int, r: int) -> bool | None:
        return clauses.spans(window, self.S[p], self.S[r], closed=self.reading.window == "closed")

    def goes_on(self, k: sase.Component, M: Bindings, series: tuple[int, ...], p: int) -> bool:
        """Whether the event at p may be the next of the series."""
        return self.describes(k, M, (*series, p)) and all(
            self.leaves_out(k, M, series, r) for r in range(series[-1] + 1, p)
        )

    def describes(self, k: sase.Component, M: Bindings, series: tuple[int, ...]) -> bool:
        """Whether the last event of the series, after those before it, is as the negated component describes."""
        edges: tuple[Edge, ...] = ("first", "each") if len(series) == 1 else ("each", "later")
        tests = [x for x, _ in clauses.equivalences(self.q)]
        return (
            self.S[series[-1]].type == k.type and self.agrees(k, M, series, tests) and self.satisfy(k, M, series, edges)
        )

    def leaves_out(self, k: sase.Component, M: Bindings, series: tuple[int, ...], r: int) -> bool:
        """Whether a series may leave out the event at r, by the strategy of its component."""
        if self.reading.negated_series == "any":
            return True
        match clauses.strategy_of(self.q, k.variable):
            case "strict_contiguity":
                return False
            case "partition_contiguity":
                return not self.in_partition(k, M, (*series, r))
            case "skip_till_next_match":
                return not self.describes(k, M, (*series, r))
            case "skip_till_any_match":
                return True
            case strategy:
                assert_never(strategy)

    def in_partition(self, k: sase.Component, M: Bindings, series: tuple[int, ...]) -> bool:
        """Whether the last of the series belongs to the partition of the one before it."""
        marked = [c.condition for c in clauses.conjuncts(self.q) if c.underlined]
        tests = [x for x, underlined in clauses.equivalences(self.q) if underlined or not marked]
        return self.agrees(k, M, series, tests) and self.satisfy(k, M, series, ("each", "later"), marked)

    def agrees(self, k: sase.Component, M: Bindings, series: tuple[int, ...], tests: Iterable[str]) -> bool:
        """[attribute]: with the event before it; before the first component, with the first event of the match."""
        *before, p = series
        earlier = [r for c in self.q.pattern[: self.q.pattern.index(k)] for r in dict(M).get(c.variable, ())]
        neighbour = before[-1] if before else earlier[-1] if earlier else M[0][1][0]
        return all(agree(x, self.S[p], self.S[neighbour]) for x in tests)

    def satisfy(
        self,
        k: sase.Component,
        M: Bindings,
        series: tuple[int, ...],
        edges: tuple[Edge, ...],
        only: list[Predicate | sase.Equivalence] | None = None,
    ) -> bool:
        """Whether the clauses on the negated variable with one of these edges hold; with `only`, those among them.

        All variables of the match are bound, so that a clause is placed as if the negated component were the last.
        """
        value = value_of(dict(M) | {k.variable: series}, self.S, self.operations)
        order = (*clauses.positive(self.q), k)
        return all(
            satisfied(c, value)
            for c in clauses.clauses_of_absence(self.q, k.variable)
            if placed(c, order).edge in edges and (only is None or c in only)
        )
