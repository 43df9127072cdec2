"""Find the matches of core-CEL: with an automaton built for it (automata/cea/compile_core.py), or by its clauses.

An automaton is enough for filters on single events. The automaton of a formula that looks ahead reports all matches at
the end of the stream, because a later event may decide about an earlier match. Filters that compare events may have an
unbound variable, whose event can be anywhere; for these the automaton finds candidates, and each is checked by the
clauses of the definition. The check takes time, but no automaton can remember the values of all events.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from typing import TypeAlias, assert_never

from cerify.automata.cea.compile import COMPILED_CEL, CachedCompiler
from cerify.automata.cea.compile_core import (
    Variables,
    compile_core,
    defined_outside_iteration,
    free,
    looks_ahead,
    mentioned,
    whole_stream,
)
from cerify.automata.cea.model import CEA, Determinized
from cerify.automata.evaluate import streaming
from cerify.automata.evaluate.ces import Evaluation
from cerify.automata.evaluate.membership import Spending
from cerify.automata.evaluate.tables import classify
from cerify.semantics.arguments import Budget, depth_limited, timed_items
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.events import Match, Stream
from cerify.semantics.predicates import holds, satisfied
from cerify.semantics.trees import children, rebuilt


def matches(phi: core.Formula, S: Stream, budget: Budget = Budget()) -> list[Match]:
    """Return all matches, sorted. Raises Unsupported if filters compare events, and BudgetExceeded."""
    return streaming.at_most(budget.matches, enumerate_matches(phi, S, budget))


def enumerate_matches(phi: core.Formula, S: Stream, budget: Budget = Budget()) -> Iterator[Match]:
    """Return the matches, lazily and in the order of positions, if phi does not look ahead."""
    A, waits = COMPILED_CORE_CEL(phi, budget)
    return run_automaton(Determinized(A, budget), S, waits)


def automaton(phi: core.Formula, budget: Budget) -> tuple[CEA, bool]:
    """Return (automaton, waits); waits: whether the automaton reports all matches only at the end of the stream."""
    waits = bool(looks_ahead(phi))
    return (whole_stream if waits else compile_core)(phi, budget), waits


COMPILED_CORE_CEL = CachedCompiler(automaton)


def run_automaton(D: Determinized, S: Stream, waits: bool) -> Iterator[Match]:
    """Yield the matches in the order in which the automaton reports them. Raises BudgetExceeded.

    waits: whether the automaton reports all matches only at the end of the stream.
    """
    evaluation = Evaluation(D)
    for n, type_ in enumerate(timed_items(classify(D.A.predicates, S)), 1):
        evaluation.push(type_)
        if not waits or n == len(S):
            yield from (Match(C[-1], C) for C in map(evaluation.D.complex_event, evaluation.completed()))


# ---------------------------------------------------------------------------------------------------------------------
# The matches of core-CEL with cross-event filters: complex events of an automaton, checked by clauses.
#
# An automaton finds *candidates*: the complex events of the formula without its cross-event filters and without the
# strategies around them. A candidate is a match if it has a valuation, by the clauses of cep17, section 3: the complex
# event is split over the parts of the formula, and an unbound variable in a filter may be at any position. The rivals
# that a strategy compares with are candidates of its operand that end at the same position, checked under the valuation
# of the formula around the strategy (docs/decisions/core-cel.md).

Places: TypeAlias = Mapping[str, int]
"""The positions of some variables; the others may be anywhere."""

Positions: TypeAlias = tuple[int, ...]
"""A complex event, ascending."""

Candidates: TypeAlias = Callable[[core.Formula, Stream, Budget], Iterable[Match]]
"""Finds the matches of a formula that compares no events."""


def iterate_core_matches(phi: core.Formula, S: Stream, budget: Budget, candidates: Candidates) -> Iterator[Match]:
    """Yield the matches of a formula whose filters may compare events, by checking candidates one by one.

    candidates: finds the matches of the formula without filters that compare events; these come in the same order.
    Raises BudgetExceeded.
    """
    check = _Check(S, budget, candidates)
    with depth_limited(phi.span):
        for match in candidates(_relaxed(phi), S, budget):
            if check.is_one(phi, match.events, {}):
                yield match


class _Check:
    """Tests whether complex events of a stream belong to a formula. All work counts against one budget."""

    def __init__(self, S: Stream, budget: Budget, candidates: Candidates) -> None:
        self.S, self._budget, self._candidates = S, budget, candidates
        self._spending = Spending(budget)
        self._by_last: dict[int, Mapping[int, list[Positions]]] = {}
        self._rivals: dict[tuple[int, frozenset[tuple[str, int]], int], list[Positions]] = {}

    def is_one(self, phi: core.Formula, C: Positions, nu: Places) -> bool:
        """Return whether C is a complex event of phi under some valuation that extends nu."""
        return next(self._ways(phi, C, nu), None) is not None

    def _ways(self, phi: core.Formula, C: Positions, nu: Places) -> Iterator[Places]:
        """Yield the extensions of nu under which C is in [phi](S, nu).

        An extension may also place variables at events outside C.
        """
        self._spending.spend()
        match phi:
            case core.CoreEventAtom(R, x):
                if len(C) == 1 and self.S[C[0]].type == R and nu.get(x, C[0]) == C[0]:
                    yield {**nu, x: C[0]}
            case core.CoreFilter(psi, condition):
                for mu in self._ways(psi, C, nu):
                    for whole in self._placed(mu, mentioned(condition)):
                        if self._satisfies(whole, condition):
                            yield whole
            case core.CoreOr(left, right):
                yield from self._ways(left, C, nu)
                yield from self._ways(right, C, nu)
            case core.CoreSeq(left, right):
                for k in range(1, len(C)):
                    for mu in self._ways(left, C[:k], nu):
                        yield from self._ways(right, C[k:], mu)
            case core.CorePlus(psi):
                U = defined_outside_iteration(psi)
                # The rounds bind U anew, so the positions that U has around the iteration are set aside and put back.
                own = {x: p for x, p in nu.items() if x in U}
                yield from ({**mu, **own} for mu in self._rounds(psi, U, C, _outside(nu, U)))
            # Positions ascend, so they have no gap if they span no more events than they are.
            case core.CoreStrict(psi):
                if C[-1] - C[0] < len(C):
                    yield from self._ways(psi, C, nu)
            case core.CorePreference():
                W = free(phi.phi) - defined_outside_iteration(phi.phi)
                for mu in self._ways(phi.phi, C, nu):
                    for whole in self._placed(mu, W):
                        if _selected(phi, C, self._rivals_of(phi, {x: whole[x] for x in W}, C[-1])):
                            yield whole
            case _:
                assert_never(phi)

    def _rounds(self, psi: core.Formula, U: Variables, C: Positions, nu: Places) -> Iterator[Places]:
        """Yield extensions of nu under which C is one or more rounds of an iteration.

        Each round has its own positions for the variables in U.
        """
        yield from (_outside(mu, U) for mu in self._ways(psi, C, nu))
        for k in range(1, len(C)):
            for mu in self._ways(psi, C[:k], nu):
                yield from self._rounds(psi, U, C[k:], _outside(mu, U))

    def _rivals_of(self, phi: core.AnyCorePreference, nu: Places, last: int) -> list[Positions]:
        """Return the operand's complex events that end at `last`; nu has the places of variables bound outside phi."""
        # By identity: the caller's formula outlives this object, and hashing a tree takes time.
        key = id(phi), frozenset(nu.items()), last
        if key not in self._rivals:
            ending = self._ending(phi.phi).get(last, [])
            self._rivals[key] = [D for D in ending if self.is_one(phi.phi, D, nu)]
        return self._rivals[key]

    def _ending(self, phi: core.Formula) -> Mapping[int, list[Positions]]:
        """Return the candidates of a formula over the whole stream, grouped by their last positions."""
        if id(phi) not in self._by_last:
            by_last = defaultdict(list)
            for match in self._candidates(_relaxed(phi), self.S, self._budget):
                self._spending.spend()
                by_last[match.events[-1]].append(match.events)
            self._by_last[id(phi)] = by_last
        return self._by_last[id(phi)]

    def _placed(self, nu: Places, among: Variables) -> Iterator[Places]:
        """Yield all extensions of nu that give each variable of `among` some position of the stream."""
        missing = sorted(among - nu.keys())
        # An unbound variable may be at any event of the stream, even after the match (cep17, section 3).
        for positions in product(range(len(self.S)), repeat=len(missing)):
            self._spending.spend()
            yield {**nu, **dict(zip(missing, positions, strict=True))}

    def _satisfies(self, nu: Places, condition: core.Condition) -> bool:
        match condition:
            case core.Unary(x, predicate):
                return holds(predicate, self.S[nu[x]])
            case core.CoreCorrelated(predicate):
                return satisfied(predicate, lambda a: self.S[nu[a.variable or ""]].get(a.name))
            case core.CoreConjunction(left, right):
                return self._satisfies(nu, left) and self._satisfies(nu, right)
            case core.CoreDisjunction(left, right):
                return self._satisfies(nu, left) or self._satisfies(nu, right)
            case _:
                assert_never(condition)


def _selected(phi: core.AnyCorePreference, C: Positions, rivals: list[Positions]) -> bool:
    """Return whether no rival is above C in the order of the strategy (cep17, section 4)."""
    events = set(C)
    differences = (events ^ set(D) for D in rivals if D != C)
    match phi:
        case core.CoreNext():
            return all(min(between) in events for between in differences)
        case core.CoreLast():
            return all(max(between) in events for between in differences)
        case core.CoreMax():
            return not any(events < set(D) for D in rivals)
        case _:
            assert_never(phi)


def _relaxed(phi: core.Formula) -> core.Formula:
    """Return a formula without comparisons of events that has all complex events of phi under each valuation."""
    if not _compares(phi):
        return phi
    match phi:
        case core.CorePreference(psi):
            return _relaxed(psi)
        case core.CoreFilter(psi, condition):
            # The whole condition goes, also its tests of single events: they may be alternatives to a comparison (OR).
            return _relaxed(psi) if _across(condition) else replace(phi, phi=_relaxed(psi))
        case core.CoreEventAtom() | core.CoreOr() | core.CoreSeq() | core.CorePlus() | core.CoreStrict():
            return rebuilt(phi, [_relaxed(psi) for psi in children(phi)])
        case _:
            assert_never(phi)


def _compares(phi: core.Formula) -> bool:
    return any(isinstance(psi, core.CoreFilter) and _across(psi.condition) for psi in core.subformulas(phi))


def _across(condition: core.Condition) -> bool:
    return any(isinstance(atom, core.CoreCorrelated) for atom in core.atoms(condition))


def _outside(nu: Places, U: Variables) -> Places:
    return {x: p for x, p in nu.items() if x not in U}


# ---------------------------------------------------------------------------------------------------------------------
# The evaluators of a process share what they compile.

QUERIES = 80  # the number of queries whose automata are kept


def share_compiled() -> None:
    """Let the evaluators of CEL and core-CEL share compiled automata of recent queries from now on."""
    gc.set_threshold(100_000)  # a campaign makes many small objects, and few cycles
    COMPILED_CEL.retain(QUERIES)
    COMPILED_CORE_CEL.retain(QUERIES)


@contextmanager
def compiled_shared() -> Iterator[None]:
    """Return a context manager in which `share_compiled` is in effect; afterwards the previous state is restored."""
    threshold, before = gc.get_threshold(), (COMPILED_CEL.retained, COMPILED_CORE_CEL.retained)
    share_compiled()
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
        COMPILED_CEL.retain(before[0])
        COMPILED_CORE_CEL.retain(before[1])
