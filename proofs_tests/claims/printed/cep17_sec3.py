"""cep17, section 3: the meaning of core-CEL, clause by clause, for one valuation of all variables at a time.

The formulas are lost in the copy at hand; the clauses are taken from the words around them. Nothing is shared with the
library but the syntax and the predicates. A valuation maps every variable to one position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from cerify.semantics.core_cel import syntax as core
from cerify.semantics.events import ComplexEvent, Stream
from cerify.semantics.predicates import Predicate, satisfied
from cerify.semantics.trees import children

Nu = Mapping[str, int]


def defined(phi: core.Formula, outside_iteration: bool = False) -> frozenset[str]:
    """vdef(phi), the variables of its subformulas R AS x; or vdef+(phi), of those outside the scope of every +."""
    if isinstance(phi, core.CoreEventAtom):
        return frozenset({phi.variable})
    if isinstance(phi, core.CorePlus) and outside_iteration:
        return frozenset()
    return frozenset[str]().union(*(defined(psi, outside_iteration) for psi in children(phi)))


def complex_events(phi: core.Formula, S: Stream, variables: frozenset[str]) -> frozenset[ComplexEvent]:
    """⟦phi⟧(S): the C of some valuation of the variables, which are all that phi mentions."""
    found = (meaning(phi, S, nu, len(S)) for nu in valuations(variables, S))
    return frozenset[ComplexEvent]().union(*found)


def valuations(variables: frozenset[str], S: Stream) -> Iterator[Nu]:
    names = sorted(variables)
    return (dict(zip(names, at, strict=True)) for at in product(range(len(S)), repeat=len(names)))


def meaning(phi: core.Formula, S: Stream, nu: Nu, rounds: int) -> frozenset[ComplexEvent]:
    """⟦phi⟧(S, nu); an iteration has so many rounds at most, which on S is no restriction if they are len(S)."""
    match phi:
        case core.CoreEventAtom(R, x):
            return frozenset({frozenset({nu[x]})}) if S[nu[x]].type == R else frozenset()
        case core.CoreFilter(rho, condition):
            return meaning(rho, S, nu, rounds) if satisfies(condition, S, nu) else frozenset()
        case core.CoreOr(left, right):
            return meaning(left, S, nu, rounds) | meaning(right, S, nu, rounds)
        case core.CoreSeq(left, right):
            return concatenated(meaning(left, S, nu, rounds), meaning(right, S, nu, rounds))
        case core.CorePlus(rho):
            return iterated(rho, S, nu, rounds)
        case _:
            raise NotImplementedError(f"section 3 has no {type(phi).__name__}")


def concatenated(left: frozenset[ComplexEvent], right: frozenset[ComplexEvent]) -> frozenset[ComplexEvent]:
    return frozenset(C1 | C2 for C1, C2 in product(left, right) if max(C1) < min(C2))


def iterated(rho: core.Formula, S: Stream, nu: Nu, rounds: int) -> frozenset[ComplexEvent]:
    """For some nu' a C of rho, or of rho ; rho+, under nu with the variables of U as in nu'."""
    found: frozenset[ComplexEvent] = frozenset()
    for chosen in valuations(defined(rho, outside_iteration=True), S):
        changed = {**nu, **chosen}
        first = meaning(rho, S, changed, len(S))
        found |= first
        if first and rounds > 1:
            found |= concatenated(first, iterated(rho, S, changed, rounds - 1))
    return found


def satisfies(condition: core.Condition, S: Stream, nu: Nu) -> bool:
    match condition:
        case core.Unary(x, P):
            return _asked(P, S, {**nu, "": nu[x]})
        case core.CoreCorrelated(P):
            return _asked(P, S, nu)
        case _:
            raise NotImplementedError("AND and OR are sugar")


def _asked(P: Predicate, S: Stream, nu: Nu) -> bool:
    return satisfied(P, lambda a: S[nu[a.variable or ""]].get(a.name))
