"""The meaning of CEL over a stream of unknown events: each valuation with the condition on the events for it.

The clauses are those of Figure 3 and section 7.1 (tods21), written a second time: positions are computed, conditions on
events are formulas for z3. No code is shared with the interpreter, which confirms every difference found here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias, assert_never

from cerify.automata.algebra.symbolic import Symbol, compared, constant
from cerify.equivalence.bounded.stream import UnknownStream
from cerify.semantics.budget import Budget, timed_items
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import TIME, ComplexEvent, Valuation
from cerify.semantics.packages import z3
from cerify.semantics.predicates import mentions

Guard: TypeAlias = Any
Guarded: TypeAlias = dict[Valuation, Guard]

MICROSECONDS = {"second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6, "day": 86400 * 10**6}
FALSE, TRUE = z3.BoolVal(False), z3.BoolVal(True)


class SymbolicMeaning:
    """The guarded valuations of formulas over intervals of one unknown stream."""

    def __init__(self, S: UnknownStream, budget: Budget) -> None:
        self.S = S
        self._left = budget.valuations
        self._known: dict[tuple[int, int, int], Guarded] = {}
        self._alive: list[cel.Formula] = []  # the table is by identity, so that its formulas must stay alive

    def meaning(self, phi: cel.Formula, i: int, j: int) -> Guarded:
        """Every valuation that phi may have from i to j. Raises BudgetExceeded, Unsupported, TooHard."""
        key = (id(phi), i, j)
        if key not in self._known:
            self._alive.append(phi)
            self._known[key] = self._united(self._clause(phi, i, j))
        return self._known[key]

    def supports(self, guarded: Guarded) -> dict[ComplexEvent, Guard]:
        """Every complex event of guarded valuations."""
        guards: dict[ComplexEvent, list[Guard]] = {}
        for mu, guard in guarded.items():
            guards.setdefault(support(mu), []).append(guard)
        return {C: z3.Or(some) for C, some in guards.items()}

    def _united(self, pairs: Iterable[tuple[Valuation, Guard]]) -> Guarded:
        guards: dict[Valuation, list[Guard]] = {}
        for mu, guard in timed_items(pairs):
            self._left -= 1
            if self._left < 0:
                raise BudgetExceeded("too many valuations for a stream of unknown events; take a smaller bound")
            if not z3.is_false(guard):
                guards.setdefault(mu, []).append(guard)
        return {mu: some[0] if len(some) == 1 else z3.Or(some) for mu, some in guards.items()}

    def _clause(self, phi: cel.Formula, i: int, j: int) -> Iterator[tuple[Valuation, Guard]]:
        match phi:
            case cel.Event(R):
                yield frozenset({(R, j)}), self.S.type_is(j, R)
            case cel.In(psi, A):
                for mu, guard in self.meaning(psi, i, j).items():
                    kept = frozenset(pair for pair in mu if pair[0] != A)
                    yield kept | {(A, p) for p in support(mu)}, guard
            case cel.Filter(psi, condition):
                for mu, guard in self.meaning(psi, i, j).items():
                    yield mu, z3.And(guard, self._condition(condition, mu))
            case cel.Seq(left, right):
                yield from self._split(left, right, i, j, contiguous=False)
            case cel.ContiguousSeq(left, right):
                yield from self._split(left, right, i, j, contiguous=True)
            case cel.Plus(psi) | cel.ContiguousPlus(psi):
                yield from self.meaning(psi, i, j).items()
                yield from self._split(psi, phi, i, j, contiguous=isinstance(phi, cel.ContiguousPlus))
            case cel.Project(L, psi):
                for mu, guard in self.meaning(psi, i, j).items():
                    yield frozenset(pair for pair in mu if pair[0] in L), guard
            case cel.Start(psi):
                yield from ((mu, guard) for mu, guard in self.meaning(psi, i, j).items() if _begins(mu, i))
            case cel.Or(left, right):
                yield from self.meaning(left, i, j).items()
                yield from self.meaning(right, i, j).items()
            case cel.And(left, right):
                others = self.meaning(right, i, j)
                for mu, guard in self.meaning(left, i, j).items():
                    yield mu, z3.And(guard, others.get(mu, FALSE))
            case cel.All(left, right):
                for (a, b), (c, d) in product(_intervals(i, j), repeat=2):
                    if min(a, c) == i and max(b, d) == j:
                        yield from _pairs(self.meaning(left, a, b), self.meaning(right, c, d))
            case cel.Unless(left, right):
                rivals = [guard for a, b in _intervals(i, j) for guard in self.meaning(right, a, b).values()]
                for mu, guard in self.meaning(left, i, j).items():
                    yield mu, z3.And(guard, z3.Not(z3.Or(rivals)))
            case cel.Strict(psi):
                for mu, guard in self.meaning(psi, i, j).items():
                    if len(support(mu)) == 0 or max(support(mu)) - min(support(mu)) + 1 == len(support(mu)):
                        yield mu, guard
            case cel.Next(psi):
                yield from self._selected(psi, i, j, lambda C, rival: min(C ^ rival) in rival)
            case cel.Last(psi):
                yield from self._selected(psi, i, j, lambda C, rival: max(C ^ rival) in rival)
            case cel.Max(psi):
                yield from self._selected(psi, i, j, lambda C, rival: rival > C)
            case cel.Within(psi, window):
                for mu, guard in self.meaning(psi, i, j).items():
                    yield mu, z3.And(guard, self._window(window, support(mu)))
            case cel.PartitionBy(psi, attribute):
                for mu, guard in self.meaning(psi, i, j).items():
                    values = [self.S.value(p, attribute) for p in support(mu)]
                    yield mu, z3.And(guard, *(compared("=", a, b) for a, b in product(values, repeat=2)))
            case cel.Derived():
                yield from self.meaning(phi.expansion, i, j).items()
            case _:
                assert_never(phi)

    def _split(
        self, left: cel.Formula, right: cel.Formula, i: int, j: int, contiguous: bool
    ) -> Iterator[tuple[Valuation, Guard]]:
        """left on i to k and right on k + 1 to j; contiguous if they meet there."""
        for k in range(i, j):
            before, after = self.meaning(left, i, k), self.meaning(right, k + 1, j)
            if contiguous:
                before = {mu: guard for mu, guard in before.items() if mu and max(support(mu)) == k}
                after = {mu: guard for mu, guard in after.items() if _begins(mu, k + 1)}
            yield from _pairs(before, after)

    def _selected(
        self, psi: cel.Formula, i: int, j: int, beats: Callable[[ComplexEvent, ComplexEvent], bool]
    ) -> Iterator[tuple[Valuation, Guard]]:
        """The valuations whose support is maximal in the order of the strategy."""
        guarded = self.meaning(psi, i, j)
        rivals = self.supports(guarded)
        for mu, guard in guarded.items():
            C = support(mu)
            better = [there for rival, there in rivals.items() if rival != C and beats(C, rival)]
            yield mu, z3.And(guard, z3.Not(z3.Or(better)))

    def _condition(self, condition: cel.Condition, mu: Valuation) -> Guard:
        match condition:
            case cel.Every(A, P):
                return z3.And([self.S.holds(P, p) for p in positions(mu, A)])
            case cel.Correlated(P):
                ranges = [positions(mu, attribute.variable) for attribute in mentions(P)]
                return z3.And([self._related(P, chosen) for chosen in product(*ranges)])
            case cel.Conjunction(left, right):
                return z3.And(self._condition(left, mu), self._condition(right, mu))
            case cel.Disjunction(left, right):
                return z3.Or(self._condition(left, mu), self._condition(right, mu))
            case cel.Named(name, _):
                raise Unsupported(f"the registered predicate {name} has values on known events only", condition.span)
            case _:
                assert_never(condition)

    def _related(self, P: Any, chosen: tuple[int, ...]) -> Guard:
        remaining = iter(chosen)
        return self.S.related(P, lambda _: next(remaining))

    def _window(self, window: cel.Window, C: ComplexEvent) -> Guard:
        match window:
            case cel.EventWindow(count):
                return z3.BoolVal(len(C) > 0 and max(C) - min(C) < count)
            case cel.TimeWindow(amount, unit):
                return self._near(C, TIME, Fraction(amount) * MICROSECONDS[unit])
            case cel.AttributeWindow(width, attribute):
                return self._near(C, attribute, Fraction(width))
            case _:
                assert_never(window)

    def _near(self, C: ComplexEvent, attribute: str, width: Fraction) -> Guard:
        """That all events have the attribute, and no two values are further apart than the width."""
        values = [self.S.value(p, attribute) for p in C]
        return z3.And(TRUE if values else FALSE, *(_apart(a, b, width) for a, b in product(values, repeat=2)))


def _apart(a: Symbol | None, b: Symbol | None, width: Fraction) -> Guard:
    """That b is no more than the width above a."""
    if a is None or b is None or a.kind in ("string", "bool"):
        return FALSE
    both = z3.And(a.defined, b.defined)
    if a.kind == "float":
        return compared("<=", Symbol("float", b.expression - a.expression, both), constant(float(width)))
    return z3.And(both, b.expression - a.expression <= width.numerator // width.denominator)


def support(mu: Valuation) -> ComplexEvent:
    """All positions that a valuation uses."""
    return frozenset(p for _, p in mu)


def positions(mu: Valuation, A: str | None) -> list[int]:
    """The positions that a valuation binds to a variable."""
    return [p for B, p in mu if B == A]


def _begins(mu: Valuation, i: int) -> bool:
    return len(mu) > 0 and min(support(mu)) == i


def _intervals(i: int, j: int) -> Iterator[tuple[int, int]]:
    return ((a, b) for a in range(i, j + 1) for b in range(a, j + 1))


def _pairs(left: Guarded, right: Guarded) -> Iterator[tuple[Valuation, Guard]]:
    for (mu1, guard1), (mu2, guard2) in product(left.items(), right.items()):
        yield mu1 | mu2, z3.And(guard1, guard2)
