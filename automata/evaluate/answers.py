"""The valuations of a formula whose filters compare events, position by position, from those that pass its checks.

Where such a filter stands below an operator that compares valuations with each other, all valuations of a position are
collected, and the operator is applied to the set. That goes for every operator whose meaning over an interval is made
of meanings over the same interval, as long as there is nothing else around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import groupby, islice
from operator import itemgetter
from typing import TypeAlias, assert_never

from cerify.automata.cea.io_determinize import MARKED
from cerify.automata.cea.model import CEA, UNMARKED, Marks
from cerify.automata.evaluate.decorrelation import Decorrelated, ResidualFilter, correlated, decorrelated, is_mark
from cerify.automata.evaluate.filter_checker import CorrelatedFilterChecker
from cerify.automata.evaluate.partitions import partitioned
from cerify.automata.evaluate.scope import SECONDS, key_of, windows_around, within_width
from cerify.automata.evaluator import Output
from cerify.semantics.budget import Budget, depth_limited
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import TIME, ComplexEvent, Match, Stream, Valuation, bindings_of
from cerify.semantics.trees import children

Passing: TypeAlias = Callable[[Decorrelated, Stream, Output, Budget], Iterator[tuple[int, Valuation]]]
"""The valuations that satisfy the filters, without marks, in the order of positions; one may be repeated."""


def needs_checks(phi: Formula) -> bool:
    """Whether an automaton alone does not evaluate the formula, with windows and partitions around the whole."""
    if isinstance(windows_around(phi), Unsupported):
        return True
    return any(isinstance(psi, cel.Filter) and correlated(psi.condition) for psi in cel.subformulas(phi))


def found(phi: Formula, S: Stream, output: Output, budget: Budget, passing: Passing) -> Iterator[Match]:
    """The matches of a formula in the order of positions, each once. Raises Unsupported, BudgetExceeded."""
    query = _decorrelated(phi, budget)
    if isinstance(query, Decorrelated):
        valuations = passing(query, S, output, budget)
    else:
        valuations = ((n, mu) for n, mus in enumerate(_by_position(phi, S, budget, passing)) for mu in mus)
    for n, group in groupby(valuations, itemgetter(0)):
        seen = set()
        for _, mu in group:
            events = tuple(sorted(_sup(mu)))
            match = Match(n, events, bindings_of(mu) if output == "valuations" else None)
            if match not in seen:
                seen.add(match)
                yield match


def why_not(phi: Formula, budget: Budget) -> Unsupported | None:
    """What `found` raises for the formula on every stream, without raising it; None if an automaton evaluates it.

    Raises BudgetExceeded.
    """
    if not needs_checks(phi):
        return None
    reason = _decorrelated(phi, budget)
    if isinstance(reason, Decorrelated):
        return None
    match phi:
        case cel.Event() | cel.Seq() | cel.Plus() | cel.ContiguousSeq() | cel.ContiguousPlus() | cel.All():
            return reason
        case cel.Unless(left, right):  # the right side is looked for after any events, see _anywhere
            operands: tuple[Formula, ...] = (left, cel.Or(right, cel.Seq(cel.Event(""), right)))
        case cel.Or() | cel.And() | cel.Filter() | cel.In() | cel.Project() | cel.Next() | cel.Last() | cel.Max():
            operands = children(phi)
        case cel.Start() | cel.Strict() | cel.Within() | cel.PartitionBy():
            operands = children(phi)
        case cel.Derived():
            operands = (phi.expansion,)
        case _:
            assert_never(phi)
    return next((refused for psi in operands if (refused := why_not(psi, budget)) is not None), None)


def at_most(limit: int, matches: Iterator[Match]) -> list[Match]:
    """All of the matches, sorted. Raises BudgetExceeded if there are more than the limit."""
    some = list(islice(matches, limit + 1))
    if len(some) > limit:
        raise BudgetExceeded(f"more than {limit} matches; ask for the first ones, or count them")
    return sorted(some)


def kept_marks(A: CEA, output: Output) -> CEA:
    """The automaton of a formula with marks; for matches with one variable beside the marks."""
    if output == "valuations":
        return A

    def marks(L: Marks) -> Marks:
        own = frozenset(filter(is_mark, L))
        return own | (MARKED if len(own) < len(L) else UNMARKED)

    return A.remarked(marks)


def without_marks(mu: Iterable[tuple[str, int]]) -> Valuation:
    """A valuation of the query's own variables, or of the one that stands for them."""
    return frozenset(pair for pair in mu if not is_mark(pair[0]))


def _decorrelated(phi: Formula, budget: Budget) -> Decorrelated | Unsupported:
    """The formula without the filters that are to be checked, or why an automaton does not evaluate what is left.

    Raises BudgetExceeded.
    """
    with depth_limited(phi.span):
        try:
            query = decorrelated(partitioned(phi), budget)
        except Unsupported as reason:
            return reason
    scope = windows_around(query.phi)
    return scope if isinstance(scope, Unsupported) else query


def _by_position(phi: Formula, S: Stream, budget: Budget, passing: Passing) -> Iterator[set[Valuation]]:
    """The valuations at each position. Raises Unsupported, BudgetExceeded."""
    query = _decorrelated(phi, budget)
    if isinstance(query, Unsupported):
        yield from _applied(phi, S, budget, passing, query)
        return
    n = -1
    for m, group in groupby(passing(query, S, "valuations", budget), itemgetter(0)):
        yield from (set[Valuation]() for _ in range(n + 1, m))
        yield {mu for _, mu in group}
        n = m
    yield from (set[Valuation]() for _ in range(n + 1, len(S)))


def _applied(
    phi: Formula, S: Stream, budget: Budget, passing: Passing, refused: Unsupported
) -> Iterator[set[Valuation]]:
    """An operator applied to what its operands have, over the same intervals."""

    def of(psi: Formula) -> Iterator[set[Valuation]]:
        return _by_position(psi, S, budget, passing)

    match phi:
        case cel.Or(left, right):
            yield from (mus | nus for mus, nus in zip(of(left), of(right), strict=True))
        case cel.And(left, right):
            yield from (mus & nus for mus, nus in zip(of(left), of(right), strict=True))
        case cel.Unless(left, right):
            begin = next((n for n, mus in enumerate(of(_anywhere(right, S))) if mus), len(S))
            yield from (mus if n < begin else set() for n, mus in enumerate(of(left)))
        case cel.Filter(psi, condition):
            for mus in of(psi):
                yield _satisfying(mus, condition, S, budget)
        case cel.In(psi, A):
            yield from ({mu | {(A, p) for p in _sup(mu)} for mu in mus} for mus in of(psi))
        case cel.Project(L, psi):
            yield from ({frozenset(pair for pair in mu if pair[0] in L) for mu in mus} for mus in of(psi))
        case cel.Next(psi):
            yield from (_greatest(mus, lambda C, D: min(C ^ D) in C) for mus in of(psi))
        case cel.Last(psi):
            yield from (_greatest(mus, lambda C, D: max(C ^ D) in C) for mus in of(psi))
        case cel.Max(psi):
            for mus in of(psi):
                Cs = set(map(_sup, mus))
                yield {mu for mu in mus if not any(map(_sup(mu).__lt__, Cs))}
        case cel.Start() | cel.Strict() | cel.Within() | cel.PartitionBy():
            yield from ({mu for mu in mus if _admits(phi, _sup(mu), S)} for mus in of(phi.phi))
        case cel.Event() | cel.Seq() | cel.Plus() | cel.ContiguousSeq() | cel.ContiguousPlus() | cel.All():
            raise refused
        case cel.Derived():
            yield from of(phi.expansion)
        case _:
            assert_never(phi)


def _admits(phi: cel.Start | cel.Strict | cel.Within | cel.PartitionBy, C: ComplexEvent, S: Stream) -> bool:
    """Whether a valuation with this support satisfies the operator, over the stream from its beginning."""
    match phi:
        case cel.Start():
            return 0 in C
        case cel.Strict():
            return not C or max(C) - min(C) < len(C)
        case cel.Within(_, window):
            match window:
                case cel.EventWindow(count):
                    return bool(C) and max(C) - min(C) < count
                case cel.TimeWindow(amount, unit):
                    return within_width(amount * SECONDS[unit], [S[p].get(TIME) for p in C])
                case cel.AttributeWindow(width, a):
                    return within_width(width, [S[p].get(a) for p in C])
        case cel.PartitionBy(_, a):
            keys = {key_of((a,), S[p]) for p in C}
            return len(keys) < 2 and None not in keys
        case _:
            assert_never(phi)


def _satisfying(mus: set[Valuation], condition: cel.Condition, S: Stream, budget: Budget) -> set[Valuation]:
    checker = CorrelatedFilterChecker((ResidualFilter.of(condition),), S, budget)
    return {mu for mu in mus if checker.passes(mu)}


def _greatest(mus: set[Valuation], above: Callable[[ComplexEvent, ComplexEvent], bool]) -> set[Valuation]:
    """The valuations whose support is the greatest in a total order."""
    Cs = {_sup(mu) for mu in mus}
    greatest = reduce(lambda C, D: C if C == D or above(C, D) else D, Cs, next(iter(Cs), frozenset[int]()))
    return {mu for mu in mus if _sup(mu) == greatest}


def _anywhere(phi: Formula, S: Stream) -> Formula:
    """A formula with a valuation over the stream to j if phi has one over some interval that ends in j."""
    events: list[Formula] = [cel.Event(R) for R in sorted({event.type for event in S})]
    return cel.Or(phi, cel.Seq(reduce(cel.Or, events), phi)) if events else phi


def _sup(mu: Valuation) -> ComplexEvent:
    return frozenset(p for _, p in mu)
