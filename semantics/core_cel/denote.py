"""The meaning of core-CEL: cep17, section 3, and the strategies of section 4.

Letters, here and in every module of this package:
    phi, psi  formulas      S  a stream            i, n     positions, 0-based
    nu   a valuation        C  a complex event     U        the variables that an iteration chooses anew in each round
Read it beside the paper: each case is one clause, for one valuation nu of all variables. interpreter.py computes the
same for all valuations at once, with memory and a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, product
from typing import TypeAlias, assert_never

from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import Variables, defined_outside_iteration, variables
from cerify.semantics.events import ComplexEvent, Stream
from cerify.semantics.predicates import holds, satisfied

Valuation: TypeAlias = frozenset[tuple[str, int]]
"""A map from variables to single positions, as the set of its pairs."""

ComplexEvents: TypeAlias = frozenset[ComplexEvent]
NONE: ComplexEvents = frozenset()
EMPTY: Valuation = frozenset()

Meaning: TypeAlias = Callable[[core.Formula, Valuation, int], ComplexEvents]


def meaning(phi: core.Formula, S: Stream) -> ComplexEvents:
    """Return [phi](S): the complex events of phi under some valuation, by the clauses alone.

    Use it for short streams and few variables, as a reference.
    """

    def under(psi: core.Formula, nu: Valuation, i: int) -> ComplexEvents:
        return frozenset(clause(psi, S, nu, i, under)) if i < len(S) else NONE

    return NONE.union(*(under(phi, nu, 0) for nu in changed(EMPTY, variables(phi), S)))


def clause(phi: core.Formula, S: Stream, nu: Valuation, i: int, meaning: Meaning) -> Iterable[ComplexEvent]:
    """Return the complex events of phi over S under the valuation nu that begin at position i or later.

    meaning: a function that returns these complex events for any formula, valuation and position.
    """
    match phi:
        case core.CoreEventAtom(R, x):  # C = {nu(x)}, and S[nu(x)] has type R
            p = dict(nu)[x]
            return {frozenset({p})} if p >= i and S[p].type == R else NONE
        case core.CoreFilter(psi, condition):  # C in [psi](S, nu), and (S[nu(x1)], ..., S[nu(xn)]) in P
            return meaning(psi, nu, i) if satisfies(nu, condition, S) else NONE
        case core.CoreOr(left, right):  # C in [left](S, nu) or C in [right](S, nu)
            return meaning(left, nu, i) | meaning(right, nu, i)
        case core.CoreSeq(left, right):  # C = C1 . C2 with C1 in [left](S, nu) and C2 in [right](S, nu)
            return sequenced(left, right, nu, i, meaning)
        case core.CorePlus(psi):  # for some nu', C in [psi](S, nu[nu'/U]) or C in [psi ; phi](S, nu[nu'/U])
            return chain.from_iterable(
                chain(meaning(psi, mu, i), sequenced(psi, phi, mu, i, meaning))
                for mu in changed(nu, defined_outside_iteration(psi), S)
            )
        case core.CoreStrict(psi):  # C in [psi](S, nu), and C is an interval
            return (C for C in meaning(psi, nu, i) if max(C) - min(C) < len(C))
        case core.CoreNext(psi):  # C in [psi](S, nu), and all rivals are at most C
            Cs = rivals(psi, S, nu, meaning)
            return (C for C in meaning(psi, nu, i) if all(next_at_most(D, C) for D in Cs if max(D) == max(C)))
        case core.CoreLast(psi):
            Cs = rivals(psi, S, nu, meaning)
            return (C for C in meaning(psi, nu, i) if all(last_at_most(D, C) for D in Cs if max(D) == max(C)))
        case core.CoreMax(psi):  # C in [psi](S, nu), and no rival includes C
            Cs = rivals(psi, S, nu, meaning)
            return (C for C in meaning(psi, nu, i) if not any(D > C for D in Cs if max(D) == max(C)))
        case _:
            assert_never(phi)


def sequenced(
    left: core.Formula, right: core.Formula, nu: Valuation, i: int, meaning: Meaning
) -> Iterator[ComplexEvent]:
    """Yield the complex events of `left ; right`. The clause of iteration calls it with the iteration as `right`."""
    for C1 in meaning(left, nu, i):
        for C2 in meaning(right, nu, max(C1) + 1):
            yield C1 | C2


def rivals(psi: core.Formula, S: Stream, nu: Valuation, meaning: Meaning) -> ComplexEvents:
    """Return the complex events that a strategy compares: the complex events of psi under each rival valuation.

    A rival valuation agrees with nu outside vdef+(psi), the variables that psi defines, so that nothing changes for the
    formula around psi (docs/decisions/core-cel.md).
    """
    # From 0 on, although C begins at i or later: a rival that begins before i can beat C too.
    return NONE.union(*(meaning(psi, mu, 0) for mu in changed(nu, defined_outside_iteration(psi), S)))


def changed(nu: Valuation, U: Variables, S: Stream) -> Iterator[Valuation]:
    """Yield each valuation over S that agrees with nu on all variables outside U: nu[nu'/U] for all nu'."""
    kept = frozenset(pair for pair in nu if pair[0] not in U)
    for positions in product(range(len(S)), repeat=len(U)):
        yield kept | frozenset(zip(sorted(U), positions, strict=True))


def next_at_most(C1: ComplexEvent, C2: ComplexEvent) -> bool:
    """Return whether C1 <=next C2: they are equal, or C2 has the first position that is in only one of them (cep17,
    section 4).
    """
    return C1 == C2 or min(C1 ^ C2) in C2


def last_at_most(C1: ComplexEvent, C2: ComplexEvent) -> bool:
    """Return whether C1 <=last C2: they are equal, or C2 has the last position that is in only one of them (cep17,
    section 4).
    """
    return C1 == C2 or max(C1 ^ C2) in C2


def satisfies(nu: Valuation, condition: core.Condition, S: Stream) -> bool:
    """Return whether the events that nu gives to the condition's variables satisfy the condition."""
    at = dict(nu)
    match condition:
        case core.Unary(x, predicate):
            return holds(predicate, S[at[x]])
        case core.CoreCorrelated(predicate):
            return satisfied(predicate, lambda a: S[at[a.variable or ""]].get(a.name))
        case core.CoreConjunction(left, right):
            return satisfies(nu, left, S) and satisfies(nu, right, S)
        case core.CoreDisjunction(left, right):
            return satisfies(nu, left, S) or satisfies(nu, right, S)
        case _:
            assert_never(condition)
