"""A second meaning of core-CEL, for tiny streams: the definition by the letter, trying every valuation and every set.

It shares with the interpreter the syntax, vdef+ and the predicates on single values, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import TypeAlias

from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import defined_outside_iteration, variables
from cerify.semantics.events import ComplexEvent, Stream
from cerify.semantics.predicates import holds, satisfied

Nu: TypeAlias = tuple[tuple[str, int], ...]
"""A total valuation of a formula's variables, its pairs in the order of the variables' names."""


def complex_events(phi: core.Formula, S: Stream) -> set[ComplexEvent]:
    """All C with C in [phi](S, nu) for some valuation nu of the variables of phi."""
    phi = desugared(phi)
    known: dict[tuple[ComplexEvent, int, Nu], bool] = {}  # by the identity of the formula: to compare trees takes long
    rounds = {id(psi): core.CoreSeq(psi.phi, psi) for psi in core.subformulas(phi) if isinstance(psi, core.CorePlus)}

    def member(C: ComplexEvent, psi: core.Formula, pairs: Nu) -> bool:
        key = (C, id(psi), pairs)
        if key not in known:
            known[key] = clause(C, psi, pairs)
        return known[key]

    def clause(C: ComplexEvent, psi: core.Formula, pairs: Nu) -> bool:
        nu = dict(pairs)
        match psi:
            case core.CoreEventAtom(R, x):
                return {nu[x]} == C and S[nu[x]].type == R
            case core.CoreFilter(rho, core.Unary(x, predicate)):
                return member(C, rho, pairs) and holds(predicate, S[nu[x]])
            case core.CoreFilter(rho, core.CoreCorrelated(predicate)):
                return member(C, rho, pairs) and satisfied(predicate, lambda a: S[nu[a.variable or ""]].get(a.name))
            case core.CoreOr(left, right):
                return member(C, left, pairs) or member(C, right, pairs)
            case core.CoreSeq(left, right):
                return any(member(C1, left, pairs) and member(C2, right, pairs) for C1, C2 in splits(C))
            case core.CorePlus(rho):
                return any(
                    member(C, rho, other) or member(C, rounds[id(psi)], other)
                    for other in rebound(nu, defined_outside_iteration(rho), S)
                )
            case core.CoreStrict(rho):
                return member(C, rho, pairs) and set(range(min(C), max(C) + 1)) == C
            case core.CoreNext(rho) | core.CoreLast(rho) | core.CoreMax(rho):
                rivals = (
                    other
                    for other in sets(S)
                    if max(other) == max(C)
                    and any(member(other, rho, mu) for mu in rebound(nu, defined_outside_iteration(rho), S))
                )
                return member(C, rho, pairs) and not any(beats(psi, other, C, S) for other in rivals)
            case _:
                raise AssertionError(psi)

    valuations = list(rebound({}, variables(phi), S))
    return {C for C in sets(S) if any(member(C, phi, nu) for nu in valuations)}


def desugared(phi: core.Formula) -> core.Formula:
    """The formula with AND and OR of filters written out."""
    match phi:
        case core.CoreFilter(psi, core.CoreConjunction(left, right)):
            return desugared(core.CoreFilter(core.CoreFilter(psi, left), right))
        case core.CoreFilter(psi, core.CoreDisjunction(left, right)):
            return core.CoreOr(desugared(core.CoreFilter(psi, left)), desugared(core.CoreFilter(psi, right)))
        case core.CoreFilter(psi, atom):
            return core.CoreFilter(desugared(psi), atom)
        case core.CoreEventAtom():
            return phi
        case core.CoreOr(left_, right_) | core.CoreSeq(left_, right_):
            return type(phi)(desugared(left_), desugared(right_))
        case _:
            return type(phi)(desugared(phi.phi))


def sets(S: Stream) -> Iterator[ComplexEvent]:
    """All sets of positions but the empty one."""
    for size in range(1, len(S) + 1):
        yield from map(frozenset, combinations(range(len(S)), size))


def splits(C: ComplexEvent) -> Iterator[tuple[ComplexEvent, ComplexEvent]]:
    """All C1, C2 with C = C1 . C2."""
    ordered = sorted(C)
    for cut in range(1, len(ordered)):
        yield frozenset(ordered[:cut]), frozenset(ordered[cut:])


def rebound(nu: Mapping[str, int], U: frozenset[str], S: Stream) -> Iterator[Nu]:
    """nu[nu'/U] for all nu'."""
    for positions in product(range(len(S)), repeat=len(U)):
        yield tuple(sorted({**nu, **dict(zip(sorted(U), positions, strict=True))}.items()))


def beats(strategy: core.Formula, other: ComplexEvent, C: ComplexEvent, S: Stream) -> bool:
    """Whether the strategy drops C where it has the other, by what each position of the stream is worth."""
    mine, its = ([n in D for n in range(len(S))] for D in (C, other))
    match strategy:
        case core.CoreNext():
            return its > mine
        case core.CoreLast():
            return its[::-1] > mine[::-1]
        case _:
            return other > C
