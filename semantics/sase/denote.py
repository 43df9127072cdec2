"""The meaning of SASE+ without an automaton: which positions of a stream are a match, by sase07, section 2.2.

A match is a sequence of events, each selected for a component of the pattern. Three things make it one:
- of what is selected: each event satisfies all conditions of WHERE on it and on those selected before (`selects`);
- of what is skipped: each event between two of them may be passed over, by the strategy (`skips`);
- of a Kleene plus: it goes on until it stops. Between its last event and the next component's there is a place where it
  may stop (`may_stop`); what lies before is skipped by the Kleene plus, what lies after by the next component. Where it
  must stop (`must_stop`) it neither selects nor skips.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias, assert_never

from cerify.semantics.budget import Budget
from cerify.semantics.events import Bindings, Stream
from cerify.semantics.predicates import Predicate, satisfied
from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.absence import Absences
from cerify.semantics.sase.aggregates import NO_OPERATIONS, Operations
from cerify.semantics.sase.conditions import Edge, agree, placed, value_of
from cerify.semantics.sase.reading import DECIDED, Reading
from cerify.semantics.sase.watch import Counted, Watch, unwatched

Chosen: TypeAlias = tuple[tuple[int, int], ...]
"""What is selected so far: the pairs (component, position), in the order of the stream."""

Conditions: TypeAlias = dict[tuple[int, Edge], list[Predicate]]
"""The clauses of WHERE by their last identifier: its component, and when it is looked at (appendix A.1)."""


def bindings(
    q: sase.Query,
    S: Stream,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> set[Bindings]:
    """The matches of a query over a stream. Raises BudgetExceeded."""
    return set(matches_by(Definition, q, S, reading, budget, operations))


class Definition:
    """The definition for one query over one stream."""

    def __init__(
        self,
        q: sase.Query,
        S: Stream,
        reading: Reading = DECIDED,
        operations: Operations = NO_OPERATIONS,
        watch: Watch = unwatched,
    ) -> None:
        self.q, self.S, self.reading, self.operations, self.watch = q, S, reading, operations, watch
        self.pattern = clauses.positive(q)
        predicates, tests = clauses.clauses_of_matches(q), clauses.equivalences(q)
        self.conditions = self._by_place(c for c, _ in predicates)
        self.marked_conditions = self._by_place(c for c, underlined in predicates if underlined)
        self.tests = [x for x, _ in tests]
        self.marked_tests = [x for x, underlined in tests if underlined]
        self.absences = Absences(q, S, reading, operations, watch)

    # --- matches ------------------------------------------------------------------------------------------------------

    def matches(self) -> Iterator[Bindings]:
        """The matches: complete selections for which no negated component is there."""
        for chosen in self.watch(self.selections()):
            if self.is_complete(chosen) and not self.absences.forbid(M := self.bindings(chosen)):
                yield M

    def selections(self) -> Iterator[Chosen]:
        """All selections, complete or not: each grows by one event after the other, in every way allowed."""
        pending: list[Chosen] = [()]
        while pending:
            chosen = pending.pop()
            yield chosen
            pending.extend((*chosen, following) for following in self.following(chosen))

    def following(self, chosen: Chosen) -> Iterator[tuple[int, int]]:
        """The events, each with its component, that a selection may have next."""
        if not chosen:
            yield from ((0, p) for p in range(len(self.S)) if self.selects(chosen, 0, p))
            return
        k, last = chosen[-1]
        for p in range(last + 1, len(self.S)):
            if self.pattern[k].kleene and self.goes_on(chosen, p):
                yield k, p
            if k + 1 < len(self.pattern) and self.comes_next(chosen, p):
                yield k + 1, p

    def goes_on(self, chosen: Chosen, p: int) -> bool:
        """Whether a Kleene plus selects the event at p next: it has not stopped, and has skipped all before."""
        k, last = chosen[-1]
        return (
            self.selects(chosen, k, p)
            and not self.must_stop(chosen, p)
            and all(self.passes(chosen, r) for r in range(last + 1, p))
        )

    def comes_next(self, chosen: Chosen, p: int) -> bool:
        """Whether the next component's first event is the one at p."""
        k = chosen[-1][0]
        if not self.selects(chosen, k + 1, p):
            return False
        return any(all(self.skips(chosen, k + 1, r) for r in range(t, p)) for t in self.stops(chosen, p))

    def is_complete(self, chosen: Chosen) -> bool:
        """Whether the last component is selected and, if it is a Kleene plus, may stop."""
        return bool(chosen) and chosen[-1][0] == len(self.pattern) - 1 and any(self.stops(chosen, len(self.S)))

    def stops(self, chosen: Chosen, until: int) -> Iterator[int]:
        """The positions, up to one, at which the component selected last may be left: where a Kleene plus stops."""
        k, last = chosen[-1]
        if not self.pattern[k].kleene:
            yield last + 1
            return
        for t in range(last + 1, until + 1):
            if self.may_stop(chosen, t):
                yield t
            if t == len(self.S) or not self.passes(chosen, t):
                return

    # --- what must hold of the events selected ------------------------------------------------------------------------

    def selects(self, chosen: Chosen, k: int, p: int) -> bool:
        """Whether the event at p is one for component k: of its type, in the window, satisfying its clauses."""
        if self.S[p].type != self.pattern[k].type:
            return False
        if chosen and not self.in_window(chosen[0][1], p):
            return False
        return self.agrees(chosen, p, self.tests) and self.satisfies(chosen, k, p, self.conditions)

    def satisfies(self, chosen: Chosen, k: int, p: int, conditions: Conditions) -> bool:
        """Whether the conditions hold whose last identifier is the event at p as the next of component k."""
        edges: tuple[Edge, Edge] = ("each", "later") if chosen and chosen[-1][0] == k else ("first", "each")
        bound = dict(self.bindings((*chosen, (k, p))))
        return all(self.satisfied(c, bound) for edge in edges for c in conditions.get((k, edge), ()))

    def in_window(self, first: int, p: int) -> bool:
        """Whether the event at p is within the window of the first of the match (WITHIN)."""
        return self.q.within is None or self.spans(first, p) is True

    def spans(self, first: int, p: int) -> bool | None:
        """Whether the time between two events is within the window; None where their times cannot be compared."""
        window, closed = self.q.within, self.reading.window == "closed"
        return None if window is None else clauses.spans(window, self.S[first], self.S[p], closed)

    def agrees(self, chosen: Chosen, p: int, tests: Iterable[str]) -> bool:
        """Whether the event at p agrees on these attributes with the event selected before it."""
        return not chosen or all(agree(x, self.S[p], self.S[chosen[-1][1]]) for x in tests)

    # --- what may be skipped: the strategies of section 2.2.1 ---------------------------------------------------------

    def skips(self, chosen: Chosen, k: int, r: int) -> bool:
        """Whether the event at r may be passed over while the next one of component k is awaited."""
        match clauses.strategy_of(self.q, self.pattern[k].variable):
            case "strict_contiguity":
                return False
            case "partition_contiguity":
                return not self.in_partition(chosen, k, r)
            case "skip_till_next_match":
                return not self.selects(chosen, k, r)
            case "skip_till_any_match":
                return True
            case strategy:
                assert_never(strategy)

    def in_partition(self, chosen: Chosen, k: int, r: int) -> bool:
        """Whether the event at r is in the partition: by what is underlined, else by the equivalence tests."""
        if any(c.underlined for c in clauses.conjuncts(self.q)):
            return self.agrees(chosen, r, self.marked_tests) and self.satisfies(chosen, k, r, self.marked_conditions)
        return self.agrees(chosen, r, self.tests)

    def passes(self, chosen: Chosen, r: int) -> bool:
        """Whether a Kleene plus that has not stopped skips the event at r."""
        k = chosen[-1][0]
        if self.must_stop(chosen, r) or not self.skips(chosen, k, r):
            return False
        careful = self.reading.kleene_skips == "neither"
        by_relevance = clauses.strategy_of(self.q, self.pattern[k].variable) == "skip_till_next_match"
        return not (careful and by_relevance and self.next_selects(chosen, r))

    # --- when a Kleene plus stops: section 2.2.2 ----------------------------------------------------------------------

    def may_stop(self, chosen: Chosen, t: int) -> bool:
        """Whether it may stop, having got to t: its condition on the last event holds; if it has none, the event at t
        is one for the next component, or the Kleene plus can neither select nor skip it."""
        k = chosen[-1][0]
        if self.ends(k):
            return self.is_ended(chosen)
        if k == len(self.pattern) - 1 and self.reading.last_kleene == "every":
            return True
        if t == len(self.S):
            return self.reading.stream_end == "stops" or self.must_stop(chosen, t)
        return self.next_selects(chosen, t) or not (
            self.passes(chosen, t) or (self.selects(chosen, k, t) and not self.must_stop(chosen, t))
        )

    def must_stop(self, chosen: Chosen, t: int) -> bool:
        """Whether it must stop before position t: the window is over, or `!` cuts it."""
        k, at_end = chosen[-1][0], t == len(self.S)
        if not at_end and self.spans(chosen[0][1], t) is False:
            return True
        if not clauses.is_cut(self.q, self.pattern[k].variable):
            return False
        if self.ends(k):
            return self.is_ended(chosen)
        if k == len(self.pattern) - 1:
            return self.reading.cut_in_last_place == "first"
        return not at_end and self.next_selects(chosen, t)

    def next_selects(self, chosen: Chosen, t: int) -> bool:
        """Whether the event at t is one for the next component."""
        k = chosen[-1][0]
        return k + 1 < len(self.pattern) and self.selects(chosen, k + 1, t)

    def ends(self, k: int) -> list[Predicate]:
        """The conditions on a[a.LEN] and on all of a[]."""
        return self.conditions.get((k, "end"), [])

    def is_ended(self, chosen: Chosen) -> bool:
        """Whether these conditions hold of the selection."""
        bound = dict(self.bindings(chosen))
        return all(self.satisfied(c, bound) for c in self.ends(chosen[-1][0]))

    # --- for all clauses ----------------------------------------------------------------------------------------------

    def bindings(self, chosen: Chosen) -> Bindings:
        """The selection by variable."""
        return tuple(
            (self.pattern[k].variable, tuple(p for j, p in chosen if j == k)) for k in sorted({j for j, _ in chosen})
        )

    def satisfied(self, c: Predicate, bound: dict[str, tuple[int, ...]]) -> bool:
        return satisfied(c, value_of(bound, self.S, self.operations))

    def _by_place(self, conditions: Iterable[Predicate]) -> Conditions:
        found: Conditions = {}
        for c in conditions:
            at = placed(c, self.pattern)
            found.setdefault((at.component, at.edge), []).append(c)
        return found


# --- the budget around it ---------------------------------------------------------------------------------------------


def matches_by(
    definition: type[Definition],
    q: sase.Query,
    S: Stream,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> Iterable[Bindings]:
    """The matches by a definition, whose steps are counted. Raises BudgetExceeded."""
    watch = Counted(budget.valuations, "sequences of events")
    return Counted(budget.matches, "matches")(definition(q, S, reading, operations, watch).matches())
