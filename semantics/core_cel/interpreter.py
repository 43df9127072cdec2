"""Evaluate core-CEL under all valuations at once, with memoization and a budget.

The interpreter represents the meaning of phi as a set of pairs (C, nu) with C in [phi](S, nu). In a pair, nu gives
positions only to the variables on which C depends; the pair stands for all extensions of nu. `clause` restates the
clauses of denote.py for these pairs. The results are those of denote.meaning: proofs_tests/campaigns/definitions.py
compares the two.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from itertools import chain, groupby, product
from typing import TypeAlias, TypeVar, assert_never

from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.core_cel import denote
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import Variables, defined_outside_iteration, free, mentioned, variables
from cerify.semantics.core_cel.denote import Valuation, last_at_most, next_at_most, satisfies
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import ComplexEvent, Match, Stream

Pair: TypeAlias = tuple[ComplexEvent, Valuation]
Pairs: TypeAlias = frozenset[Pair]
NONE: Pairs = frozenset()


def complex_events(phi: core.Formula, S: Stream, n: int, budget: Budget = Budget()) -> frozenset[ComplexEvent]:
    """Return the complex events of phi over S whose last position is n. Raises BudgetExceeded."""
    return frozenset(C for C, _ in CoreInterpreter(S, budget).pairs(phi) if max(C) == n)


def matches_of(phi: core.Formula, S: Stream, budget: Budget = Budget()) -> list[Match]:
    """Return the complex events of phi over S, each reported at its last position, sorted. Raises BudgetExceeded."""
    return sorted({Match(max(C), tuple(sorted(C))) for C, _ in CoreInterpreter(S, budget).pairs(phi)})


def by_clauses(phi: core.Formula, S: Stream, budget: Budget = Budget()) -> list[Match]:
    """Return the complex events of phi over S, sorted, by trying every valuation, as the definition in cep17 says.

    Use short streams: with n events and v variables there are n to the power of v valuations. Raises BudgetExceeded.
    """
    computed: dict[tuple[int, Valuation, int], denote.ComplexEvents] = {}
    made = 0

    def meaning(psi: core.Formula, nu: Valuation, i: int) -> denote.ComplexEvents:
        nonlocal made
        if i >= len(S):
            return denote.NONE
        found = computed.get((id(psi), nu, i))
        if found is None:
            found = computed[id(psi), nu, i] = frozenset(denote.clause(psi, S, nu, i, meaning))
            made += 1 + len(found)
            if made > budget.valuations:
                raise BudgetExceeded(
                    f"the query needs more than {budget.valuations} valuations and complex events; shorten the stream"
                )
        return found

    nus = denote.changed(denote.EMPTY, variables(phi), S)
    return sorted({Match(max(C), tuple(sorted(C))) for nu in nus for C in meaning(phi, nu, 0)})


def clause(phi: core.Formula, S: Stream, i: int, interpreter: CoreInterpreter) -> Iterable[Pair]:
    """Return the pairs (complex event, valuation) of phi whose complex event begins at i, from the pairs of its
    operands.
    """
    match phi:
        case core.CoreEventAtom(R, x):  # C = {nu(x)}, and S[nu(x)] has type R
            return {(frozenset({i}), frozenset({(x, i)}))} if S[i].type == R else NONE
        case core.CoreFilter(psi, condition):  # C in [psi](S, nu), and (S[nu(x1)], ..., S[nu(xn)]) in P
            return (
                (C, mu)
                for C, nu in interpreter.meaning(psi, i)
                for mu in interpreter.extended(nu, mentioned(condition))
                if satisfies(mu, condition, S)
            )
        case core.CoreOr(left, right):  # C in [left](S, nu) or C in [right](S, nu)
            return chain(interpreter.meaning(left, i), interpreter.meaning(right, i))
        case core.CoreSeq(left, right):  # C = C1 . C2 with C1 in [left](S, nu) and C2 in [right](S, nu)
            return sequenced(left, right, S, i, interpreter)
        case core.CorePlus(psi):  # for some nu', C in [psi](S, nu[nu'/U]) or C in [psi ; phi](S, nu[nu'/U])
            U = defined_outside_iteration(psi)
            rounds = chain(interpreter.meaning(psi, i), sequenced(psi, phi, S, i, interpreter))
            # Each round chooses the variables of U anew, so their positions must not constrain the rounds after it.
            return ((C, without(nu, U)) for C, nu in rounds)
        case core.CoreStrict(psi):  # C in [psi](S, nu), and C is an interval
            return ((C, nu) for C, nu in interpreter.meaning(psi, i) if max(C) - min(C) < len(C))
        case core.CorePreference(psi):  # C in [psi](S, nu), and no rival is better
            U = defined_outside_iteration(psi)
            return (
                (C, mu)
                for C, nu in interpreter.meaning(psi, i)
                for mu in interpreter.extended(nu, free(psi) - U)
                if C in interpreter.selected(phi)[max(C), without(mu, U)]
            )
        case _:
            assert_never(phi)


def sequenced(
    left: core.Formula, right: core.Formula, S: Stream, i: int, interpreter: CoreInterpreter
) -> Iterator[Pair]:
    """Yield the pairs (complex event, valuation) of `left ; right` that begin at i.

    The clause of iteration calls it with the iteration as `right`.
    """
    for C1, nu1 in interpreter.meaning(left, i):
        # Every start is tried, because `meaning` returns the pairs that begin exactly at k; in denote.py it is k or
        # later.
        for k in range(max(C1) + 1, len(S)):
            for C2, nu2 in interpreter.meaning(right, k):
                if is_function(nu1 | nu2):
                    yield C1 | C2, nu1 | nu2


def selection(phi: core.AnyCorePreference, S: Stream, interpreter: CoreInterpreter) -> Selection:
    """Return the complex events that a strategy keeps from each set of rivals.

    The rivals of C in [psi](S, nu) are the complex events of psi with the same last position, under any valuation that
    agrees with nu outside vdef+(psi) (docs/decisions/core-cel.md).
    """
    U = defined_outside_iteration(phi.phi)
    rivals: defaultdict[tuple[int, Valuation], set[ComplexEvent]] = defaultdict(set)
    for k in range(len(S)):
        # The rivals of a pair are those that agree on all free variables outside U, so variables that nu leaves open
        # get every position here: otherwise a pair without a position would compete with none of those that have one.
        for C, nu in interpreter.meaning(phi.phi, k):
            for mu in interpreter.extended(nu, free(phi.phi) - U):
                rivals[max(C), without(mu, U)].add(C)
    match phi:
        case core.CoreNext():
            return {key: greatest(Cs, next_at_most) for key, Cs in rivals.items()}
        case core.CoreLast():
            return {key: greatest(Cs, last_at_most) for key, Cs in rivals.items()}
        case core.CoreMax():
            return {key: maximal(Cs, interpreter) for key, Cs in rivals.items()}
        case _:
            assert_never(phi)


def greatest(Cs: set[ComplexEvent], at_most: Callable[[ComplexEvent, ComplexEvent], bool]) -> set[ComplexEvent]:
    """Return the greatest complex event in the total order `at_most` (cep17, Lemma 1), as a set."""
    return {reduce(lambda C1, C2: C2 if at_most(C1, C2) else C1, Cs)}


def maximal(Cs: set[ComplexEvent], interpreter: CoreInterpreter) -> set[ComplexEvent]:
    """Return the complex events that no other complex event of Cs includes."""
    found: set[ComplexEvent] = set()
    # Larger ones first: events of one size do not include each other, and whatever includes C is itself in a kept one.
    # So C is compared with the kept ones only.
    for _, same_size in groupby(sorted(Cs, key=len, reverse=True), key=len):
        found |= {C for C in same_size if not any(other > C for other in interpreter.limit_items(found))}
    return found


def extensions(nu: Valuation, U: Variables, S: Stream) -> Iterator[Valuation]:
    """Yield all extensions of nu that give every variable of U a position of S."""
    missing = sorted(U - {x for x, _ in nu})
    for positions in product(range(len(S)), repeat=len(missing)):
        yield nu | frozenset(zip(missing, positions, strict=True))


def without(nu: Valuation, U: Variables) -> Valuation:
    """Return the valuation nu without the variables in U."""
    return frozenset(pair for pair in nu if pair[0] not in U)


def is_function(pairs: frozenset[tuple[str, int]]) -> bool:
    """Return whether the pairs give each variable at most one position."""
    return len({x for x, _ in pairs}) == len(pairs)


T = TypeVar("T")
Selection: TypeAlias = Mapping[tuple[int, Valuation], set[ComplexEvent]]
"""Maps a last position, and a valuation outside vdef+ of the operand, to the complex events that a strategy keeps."""


class CoreInterpreter:
    """Computes the meaning of each formula over one stream once, within a budget.

    The budget limits the pairs computed or reused, the valuations extended, and the comparisons for MAX, all together.
    """

    def __init__(self, S: Stream, budget: Budget = Budget()) -> None:
        self.S = S
        self.budget = budget
        self._counted = 0
        self._deadline = None if budget.seconds is None else time.monotonic() + budget.seconds
        self._meanings: dict[tuple[int, int], Pairs] = {}
        self._selections: dict[int, Selection] = {}
        self._alive: dict[int, core.Formula] = {}  # the keys are identities of formulas, which must not be reused

    def pairs(self, phi: core.Formula) -> Iterator[Pair]:
        """Yield all pairs (complex event, valuation) of phi. Raises BudgetExceeded."""
        for i in reversed(range(len(self.S))):  # an iteration needs its own meaning further on
            yield from self.meaning(phi, i)

    def meaning(self, phi: core.Formula, i: int) -> Pairs:
        """Return the pairs (complex event, valuation) of phi whose complex event begins at i. Raises BudgetExceeded."""
        key = (id(phi), i)
        if (pairs := self._meanings.get(key)) is None:
            self._alive[id(phi)] = phi
            try:
                pairs = frozenset(self.limit_items(clause(phi, self.S, i, self)))
            except RecursionError:
                raise BudgetExceeded("the stream is too long for a formula nested this deeply", phi.span) from None
            self._meanings[key] = pairs
        self._count(len(pairs))
        return pairs

    def selected(self, phi: core.AnyCorePreference) -> Selection:
        """Return the complex events that the strategy phi keeps; `selection` computes them once. Raises
        BudgetExceeded.
        """
        if (selection_ := self._selections.get(id(phi))) is None:
            self._alive[id(phi)] = phi
            selection_ = self._selections[id(phi)] = selection(phi, self.S, self)
        return selection_

    def extended(self, nu: Valuation, U: Variables) -> Iterator[Valuation]:
        """Yield all extensions of nu that give every variable of U a position; each counts against the budget."""
        return self.limit_items(extensions(nu, U, self.S))

    def limit_items(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items; each counts against the budget. Raises BudgetExceeded."""
        for item in items:
            self._count(1)
            yield item

    def _count(self, more: int) -> None:
        self._counted += more
        check_time()
        if self._counted > self.budget.valuations:
            limit = f"{self.budget.valuations} valuations"
        elif self._deadline is not None and time.monotonic() > self._deadline:
            limit = f"{self.budget.seconds} seconds"
        else:
            return
        raise BudgetExceeded(
            f"the query needs more than {limit}; the interpreter follows the definition and is slow by design: use a "
            f"shorter stream, or raise the budget (so far {self._counted} valuations for {len(self._meanings)} pairs "
            "of a subformula and a position)"
        )
