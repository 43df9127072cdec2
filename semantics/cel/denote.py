"""The meaning of CEL: tods21, Figure 3, and the strategies of section 7.1.

Letters, here and in every module of this package:
    phi  a formula          S  a stream            i, j, k  positions, 0-based, inclusive
    mu   a valuation        C  a complex event     sup(mu)  the positions that mu uses
Read it beside the figure: each case is one clause. What keeps it from running away is in the two classes at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import product
from typing import TypeAlias, assert_never

from cerify.semantics.budget import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import ComplexEvent, Stream, Valuation, Value
from cerify.semantics.predicates import compare, holds, kind, mentions, satisfied

Valuations: TypeAlias = frozenset[Valuation]
NONE: Valuations = frozenset()
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}


def valuations(phi: cel.Formula, S: Stream, n: int, budget: Budget = Budget()) -> Valuations:
    """The valuations of phi at position n: those over S from 0 to n (section 4). Raises BudgetExceeded."""
    return Interpreter(S, budget).meaning(phi, 0, n)


def complex_events(phi: cel.Formula, S: Stream, n: int, budget: Budget = Budget()) -> frozenset[ComplexEvent]:
    """The complex events of phi at position n: the supports of its valuations (section 4). Raises BudgetExceeded."""
    return frozenset(map(sup, valuations(phi, S, n, budget)))


def clause(phi: cel.Formula, S: Stream, i: int, j: int, meaning: Meaning) -> Iterable[Valuation]:
    """The valuations of phi over S from i to j, given the meaning of any formula over any interval of S."""
    match phi:
        case cel.Event(R):
            return {bind(R, {j})} if S[j].type == R else NONE
        case cel.In(psi, A):
            return (mu - at(mu, A) | bind(A, sup(mu)) for mu in meaning(psi, i, j))
        case cel.Filter(psi, condition):
            return (mu for mu in meaning(psi, i, j) if satisfies(mu, condition, S))
        case cel.Seq(left, right):
            return sequenced(left, right, i, j, meaning)
        case cel.Plus(psi):
            return meaning(psi, i, j).union(sequenced(psi, phi, i, j, meaning))
        case cel.ContiguousSeq(left, right):
            return contiguous(left, right, i, j, meaning)
        case cel.ContiguousPlus(psi):
            return meaning(psi, i, j).union(contiguous(psi, phi, i, j, meaning))
        case cel.Project(L, psi):
            return (frozenset((A, p) for A, p in mu if A in L) for mu in meaning(psi, i, j))
        case cel.Start(psi):
            return (mu for mu in meaning(psi, i, j) if mu and min(sup(mu)) == i)
        case cel.Or(left, right):
            return meaning(left, i, j) | meaning(right, i, j)
        case cel.And(left, right):
            return meaning(left, i, j) & meaning(right, i, j)
        case cel.All(left, right):
            return (
                mu1 | mu2
                for i1, j1, i2, j2 in interleavings(i, j)
                for mu1 in meaning(left, i1, j1)
                for mu2 in meaning(right, i2, j2)
            )
        case cel.Unless(left, right):
            intervals = ((i_, j_) for j_ in range(i, j + 1) for i_ in range(i, j_ + 1))
            return NONE if any(meaning(right, i_, j_) for i_, j_ in intervals) else meaning(left, i, j)
        case cel.Strict(psi):
            return (mu for mu in meaning(psi, i, j) if not mu or max(sup(mu)) - min(sup(mu)) < len(sup(mu)))
        case cel.Next(psi):
            mus = meaning(psi, i, j)
            return (mu for mu in mus if all(next_at_most(sup(other), sup(mu)) for other in mus))
        case cel.Last(psi):
            mus = meaning(psi, i, j)
            return (mu for mu in mus if all(last_at_most(sup(other), sup(mu)) for other in mus))
        case cel.Max(psi):
            mus = meaning(psi, i, j)
            return (mu for mu in mus if not any(sup(mu) < sup(other) for other in mus))
        case cel.Within(psi, window):
            return (mu for mu in meaning(psi, i, j) if spans_at_most(window, sup(mu), S))
        case cel.PartitionBy(psi, a):
            return (mu for mu in meaning(psi, i, j) if agree(a, sup(mu), S))
        case _:
            assert_never(phi)


def sequenced(left: cel.Formula, right: cel.Formula, i: int, j: int, meaning: Meaning) -> Iterator[Valuation]:
    """left ; right: the clause of sequencing and, with right the iteration itself, of its second half."""
    for k in range(i, j):
        for mu1 in meaning(left, i, k):
            for mu2 in meaning(right, k + 1, j):
                yield mu1 | mu2


def contiguous(left: cel.Formula, right: cel.Formula, i: int, j: int, meaning: Meaning) -> Iterator[Valuation]:
    """left : right: as sequencing, where left's last event is at k and right's first at k + 1."""
    for k in range(i, j):
        starts = [mu2 for mu2 in meaning(right, k + 1, j) if mu2 and min(sup(mu2)) == k + 1]
        for mu1 in meaning(left, i, k) if starts else NONE:
            if mu1 and max(sup(mu1)) == k:
                for mu2 in starts:
                    yield mu1 | mu2


def interleavings(i: int, j: int) -> Iterator[tuple[int, int, int, int]]:
    """All i1 <= j1 and i2 <= j2 with i the lesser of i1, i2 and j the greater of j1, j2 (the clause of ALL)."""
    for i1, i2 in {(i, k) for k in range(i, j + 1)} | {(k, i) for k in range(i, j + 1)}:
        for j1, j2 in {(j, k) for k in range(i, j + 1)} | {(k, j) for k in range(i, j + 1)}:
            if i1 <= j1 and i2 <= j2:
                yield i1, j1, i2, j2


def satisfies(mu: Valuation, condition: cel.Condition, S: Stream) -> bool:
    """Whether the events that mu binds are in the condition's predicate (section 4, with its sugar)."""
    match condition:
        case cel.Every(A, predicate):
            return all(holds(predicate, S[p]) for _, p in at(mu, A))
        case cel.Correlated(predicate):
            ranges = ([S[p] for _, p in at(mu, m.variable)] for m in mentions(predicate))
            for events in product(*ranges):
                remaining = iter(events)
                if not satisfied(predicate, lambda m, events=remaining: next(events).get(m.name)):  # type: ignore[misc]
                    return False
            return True
        case cel.Conjunction(left, right):
            return satisfies(mu, left, S) and satisfies(mu, right, S)
        case cel.Disjunction(left, right):
            return satisfies(mu, left, S) or satisfies(mu, right, S)
        case cel.Named(name, _):
            raise Unsupported(f"the predicate {name} is not registered", condition.span)
        case _:
            assert_never(condition)


def spans_at_most(window: cel.Window, C: ComplexEvent, S: Stream) -> bool:
    """The predicate Q of section 4, its difference read as last - first (docs/decisions/windows.md)."""
    match window:
        case cel.EventWindow(count):
            return bool(C) and max(C) - min(C) < count
        case cel.TimeWindow(amount, unit):
            return _within(amount * SECONDS[unit], [S[p].get("time") for p in C])
        case cel.AttributeWindow(width, a):
            return _within(width, [S[p].get(a) for p in C])
        case _:
            assert_never(window)


def _within(width: int | float, values: list[Value | None]) -> bool:
    """Whether the values are all numbers or all times, and the last is at most the width (seconds) after the first."""
    present = [value for value in values if value is not None]
    if not present or len(present) < len(values) or len(set(map(kind, present))) > 1:
        return False
    match min(present), max(present):
        case (datetime() as first, datetime() as last):
            return (last - first).total_seconds() <= width
        case (int() | float() as first, int() | float() as last) if not isinstance(first, bool):
            return last - first <= width
        case _:
            return False


def agree(a: str, C: ComplexEvent, S: Stream) -> bool:
    """Whether all events of C have the same value of a: the filter W.a = W.a where W binds them all."""
    return all(compare("=", S[p].get(a), S[q].get(a)) for p in C for q in C)


def bind(A: str, C: Iterable[int]) -> Valuation:
    """The valuation that maps A to C, and every other variable to nothing."""
    return frozenset((A, p) for p in C)


def at(mu: Valuation, A: str | None) -> Valuation:
    """The pairs of mu that bind A."""
    return frozenset(pair for pair in mu if pair[0] == A)


def sup(mu: Valuation) -> ComplexEvent:
    """The support of mu: all positions that it uses."""
    return frozenset(p for _, p in mu)


def next_at_most(C1: ComplexEvent, C2: ComplexEvent) -> bool:
    """C1 <=next C2: they are equal, or the first position in which they differ is one of C2 (section 7.1)."""
    return C1 == C2 or min(C1 ^ C2) in C2


def last_at_most(C1: ComplexEvent, C2: ComplexEvent) -> bool:
    """C1 <=last C2: they are equal, or the last position in which they differ is one of C2 (section 7.1)."""
    return C1 == C2 or max(C1 ^ C2) in C2


Meaning: TypeAlias = Callable[[cel.Formula, int, int], Valuations]


class Interpreter:
    """The meaning of formulas over one stream; remembers what it has computed, and keeps to a budget."""

    def __init__(self, S: Stream, budget: Budget = Budget()) -> None:
        self.S = S
        self.budget = budget
        self._made = 0
        self._known: dict[tuple[int, int, int], Valuations] = {}
        self._kept: dict[int, cel.Formula] = {}  # formulas are known by identity, so they must stay alive

    def meaning(self, phi: cel.Formula, i: int, j: int) -> Valuations:
        """The valuations of phi over the stream from i to j. Raises BudgetExceeded, Unsupported."""
        key = (id(phi), i, j)
        if (known := self._known.get(key)) is None:
            self._kept[id(phi)] = phi
            try:
                known = frozenset(self._counted(clause(phi, self.S, i, j, self.meaning)))
            except RecursionError:
                raise BudgetExceeded("the stream is too long for a formula nested this deeply", phi.span) from None
            self._known[key] = known
        return known

    def _counted(self, mus: Iterable[Valuation]) -> Iterator[Valuation]:
        for mu in mus:
            self._made += 1
            if self._made > self.budget.valuations:
                raise BudgetExceeded(
                    f"more than {self.budget.valuations} valuations; the interpreter follows the definition and "
                    "keeps them all, so give it a shorter stream or a larger budget"
                )
            yield mu
