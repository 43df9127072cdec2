"""The valuations of a formula whose filters compare events, position by position, from those that pass its checks.

Where such a filter stands below an operator that compares valuations with each other, all valuations of a position are
collected, and the operator is applied to the set. That goes for every operator whose meaning over an interval is made
of meanings over the same interval, as long as there is nothing else around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import groupby, islice
from operator import itemgetter
from typing import TypeAlias, assert_never

from cerify.automata.cea.io_determinize import MARKED
from cerify.automata.cea.model import CEA, UNMARKED, Marks
from cerify.automata.evaluate.decorrelation import ResidualFilter, correlated, decorrelated, is_mark
from cerify.automata.evaluate.filter_checker import CorrelatedFilterChecker
from cerify.automata.evaluate.partitions import partitioned
from cerify.automata.evaluate.scope import SECONDS, Scope, key_of, strip_windows, within_width
from cerify.automata.evaluator import Output
from cerify.semantics.budget import Budget, depth_limited, timed_items
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import TIME, ComplexEvent, Match, Stream, Valuation, bindings_of
from cerify.semantics.trees import children


@dataclass(frozen=True)
class AutomatonPlan:
    """A formula that one automaton evaluates: its scope, and the filters that are checked on the matches."""

    scope: Scope
    checks: tuple[ResidualFilter, ...] = ()


@dataclass(frozen=True)
class Applied:
    """An operator that is applied, position by position, to the valuations of its operands.

    Of UNLESS the right operand is planned with the stream, since the event types that precede it are those of the
    stream. refused: why one automaton does not evaluate the formula.
    """

    phi: Formula
    operands: tuple[EvaluationPlan, ...]
    refused: Unsupported


EvaluationPlan: TypeAlias = AutomatonPlan | Applied
"""How automata evaluate a formula."""

Passing: TypeAlias = Callable[[AutomatonPlan, Stream, Output, Budget], Iterator[tuple[int, Valuation]]]
"""The valuations that satisfy the filters, without marks, in the order of positions; one may be repeated."""


def evaluation_plan(phi: Formula, budget: Budget = Budget()) -> EvaluationPlan | Unsupported:
    """How automata evaluate the formula, or why they do not. Raises BudgetExceeded."""
    filters = (psi for psi in cel.subformulas(phi) if isinstance(psi, cel.Filter))
    across = [psi.condition for psi in filters if correlated(psi.condition)]
    for atom in (atom for condition in across for atom in cel.atoms(condition) if isinstance(atom, cel.Named)):
        return Unsupported(f"no automaton carries a registered predicate such as {atom.name}", atom.span)
    carried = _automaton_plan(phi, bool(across), budget)
    if isinstance(carried, AutomatonPlan):
        return carried
    match phi:
        case cel.Event() | cel.Seq() | cel.Plus() | cel.ContiguousSeq() | cel.ContiguousPlus() | cel.All():
            return carried
        case cel.Unless(left, right):
            refused = evaluation_plan(cel.Or(right, cel.Seq(cel.Event(""), right)), budget)  # as _anywhere makes it
            if isinstance(refused, Unsupported):
                return refused
            operands: tuple[Formula, ...] = (left,)
        case cel.Or() | cel.And() | cel.Filter() | cel.In() | cel.Project() | cel.Next() | cel.Last() | cel.Max():
            operands = children(phi)
        case cel.Start() | cel.Strict() | cel.Within() | cel.PartitionBy():
            operands = children(phi)
        case cel.Derived():
            return evaluation_plan(phi.expansion, budget)
        case _:
            assert_never(phi)
    plans: list[EvaluationPlan] = []
    for psi in operands:
        planned = evaluation_plan(psi, budget)
        if isinstance(planned, Unsupported):
            return planned
        plans.append(planned)
    return Applied(phi, tuple(plans), carried)


def required_plan(phi: Formula, budget: Budget = Budget()) -> EvaluationPlan:
    """As `evaluation_plan`. Raises Unsupported where automata do not evaluate the formula, and BudgetExceeded."""
    plan = evaluation_plan(phi, budget)
    if isinstance(plan, Unsupported):
        raise plan
    return plan


def found(plan: EvaluationPlan, S: Stream, output: Output, budget: Budget, passing: Passing) -> Iterator[Match]:
    """The matches of a planned formula in the order of positions, each once. Raises BudgetExceeded."""
    match plan:
        case AutomatonPlan():
            valuations = passing(plan, S, output, budget)
        case Applied():
            valuations = ((n, mu) for n, mus in enumerate(_by_position(plan, S, budget, passing)) for mu in mus)
        case _:
            assert_never(plan)
    for n, group in groupby(valuations, itemgetter(0)):
        seen = set()
        for _, mu in group:
            events = tuple(sorted(_sup(mu)))
            match = Match(n, events, bindings_of(mu) if output == "valuations" else None)
            if match not in seen:
                seen.add(match)
                yield match


def at_most(limit: int, matches: Iterator[Match]) -> list[Match]:
    """All of the matches, sorted. Raises BudgetExceeded if there are more than the limit."""
    some = list(islice(timed_items(matches), limit + 1))
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


def _automaton_plan(phi: Formula, compares: bool, budget: Budget) -> AutomatonPlan | Unsupported:
    """The formula without the filters that are to be checked, or why one automaton does not evaluate what is left.

    compares: whether a filter in it compares events.
    """
    if not compares:
        scope = strip_windows(phi)
        if isinstance(scope, Scope):
            return AutomatonPlan(scope)
    with depth_limited(phi.span):
        query = decorrelated(partitioned(phi), budget)
    if isinstance(query, Unsupported):
        return query
    scope = strip_windows(query.phi)
    return scope if isinstance(scope, Unsupported) else AutomatonPlan(scope, query.checks)


def _by_position(plan: EvaluationPlan, S: Stream, budget: Budget, passing: Passing) -> Iterator[set[Valuation]]:
    """The valuations at each position. Raises BudgetExceeded."""
    if isinstance(plan, Applied):
        yield from _applied(
            plan.phi, [_by_position(one, S, budget, passing) for one in plan.operands], S, budget, passing
        )
        return
    n = -1
    for m, group in groupby(passing(plan, S, "valuations", budget), itemgetter(0)):
        yield from (set[Valuation]() for _ in range(n + 1, m))
        yield {mu for _, mu in group}
        n = m
    yield from (set[Valuation]() for _ in range(n + 1, len(S)))


def _applied(
    phi: Formula, operands: list[Iterator[set[Valuation]]], S: Stream, budget: Budget, passing: Passing
) -> Iterator[set[Valuation]]:
    """An operator applied to what its operands have, over the same intervals."""
    of, other = operands[0], operands[-1]
    match phi:
        case cel.Or():
            yield from (mus | nus for mus, nus in zip(of, other, strict=True))
        case cel.And():
            yield from (mus & nus for mus, nus in zip(of, other, strict=True))
        case cel.Unless(_, right):
            anywhere = _by_position(required_plan(_anywhere(right, S), budget), S, budget, passing)
            begin = next((n for n, mus in enumerate(anywhere) if mus), len(S))
            yield from (mus if n < begin else set() for n, mus in enumerate(of))
        case cel.Filter(_, condition):
            for mus in of:
                yield _satisfying(mus, condition, S, budget)
        case cel.In(_, A):
            yield from ({mu | {(A, p) for p in _sup(mu)} for mu in mus} for mus in of)
        case cel.Project(L, _):
            yield from ({frozenset(pair for pair in mu if pair[0] in L) for mu in mus} for mus in of)
        case cel.Next():
            yield from (_greatest(mus, lambda C, D: min(C ^ D) in C) for mus in of)
        case cel.Last():
            yield from (_greatest(mus, lambda C, D: max(C ^ D) in C) for mus in of)
        case cel.Max():
            for mus in of:
                Cs = set(map(_sup, mus))
                yield {mu for mu in mus if not any(map(_sup(mu).__lt__, Cs))}
        case cel.Start() | cel.Strict() | cel.Within() | cel.PartitionBy():
            yield from ({mu for mu in mus if _admits(phi, _sup(mu), S)} for mus in of)
        case cel.Event() | cel.Seq() | cel.Plus() | cel.ContiguousSeq() | cel.ContiguousPlus() | cel.All():
            raise AssertionError("its operands are over other intervals, so that it is not planned")
        case cel.Derived():
            raise AssertionError("its expansion is planned")
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
