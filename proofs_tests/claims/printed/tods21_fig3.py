"""tods21, Figure 3 and section 7.1, letter for letter: the sets as they are written, with nothing remembered.

A valuation is its set of pairs (variable, position). Where a minimum or a maximum does not exist the condition on it is
false (docs/decisions/empty-supports.md), and STRICT asks k in sup(mu), where the text has "not in".
"""

from __future__ import annotations

from itertools import product

from cerify.semantics.cel import syntax as cel
from cerify.semantics.events import ComplexEvent, Stream, Valuation
from cerify.semantics.predicates import holds

Valuations = frozenset[Valuation]


def sup(mu: Valuation) -> ComplexEvent:
    return frozenset(p for _, p in mu)


def next_below(C1: ComplexEvent, C2: ComplexEvent) -> bool:
    return C1 == C2 or min(C1 ^ C2) in C2


def last_below(C1: ComplexEvent, C2: ComplexEvent) -> bool:
    return C1 == C2 or max(C1 ^ C2) in C2


def meaning(phi: cel.Formula, S: Stream, i: int, j: int) -> Valuations:
    """The valuations of phi on S from i to j."""
    inside = [(k, m) for k in range(i, j + 1) for m in range(k, j + 1)]
    match phi:
        case cel.EventAtom(R):
            return frozenset({frozenset({(R, j)})} if S[j].type == R else ())
        case cel.In(psi, A):
            return frozenset(
                frozenset(pair for pair in mu if pair[0] != A) | {(A, p) for p in sup(mu)}
                for mu in meaning(psi, S, i, j)
            )
        case cel.Filter(psi, cel.Every(A, P)):
            return frozenset(
                mu for mu in meaning(psi, S, i, j) if all(holds(P, S[p]) for variable, p in mu if variable == A)
            )
        case cel.Seq(left, right):
            return frozenset(
                mu1 | mu2
                for k in range(i, j)
                for mu1, mu2 in product(meaning(left, S, i, k), meaning(right, S, k + 1, j))
            )
        case cel.Plus(psi):
            return meaning(psi, S, i, j) | (meaning(cel.Seq(psi, phi), S, i, j) if i < j else frozenset())
        case cel.ContiguousSeq(left, right):
            return frozenset(
                mu1 | mu2
                for k in range(i, j)
                for mu1, mu2 in product(meaning(left, S, i, k), meaning(right, S, k + 1, j))
                if max(sup(mu1), default=None) == k and min(sup(mu2), default=None) == k + 1
            )
        case cel.ContiguousPlus(psi):
            return meaning(psi, S, i, j) | (meaning(cel.ContiguousSeq(psi, phi), S, i, j) if i < j else frozenset())
        case cel.Project(L, psi):
            return frozenset(frozenset(pair for pair in mu if pair[0] in L) for mu in meaning(psi, S, i, j))
        case cel.Start(psi):
            return frozenset(mu for mu in meaning(psi, S, i, j) if min(sup(mu), default=None) == i)
        case cel.Or(left, right):
            return meaning(left, S, i, j) | meaning(right, S, i, j)
        case cel.And(left, right):
            return meaning(left, S, i, j) & meaning(right, S, i, j)
        case cel.All(left, right):
            return frozenset(
                mu1 | mu2
                for (i1, j1), (i2, j2) in product(inside, repeat=2)
                if i == min(i1, i2) and j == max(j1, j2)
                for mu1, mu2 in product(meaning(left, S, i1, j1), meaning(right, S, i2, j2))
            )
        case cel.Unless(left, right):
            return meaning(left, S, i, j) if not any(meaning(right, S, k, m) for k, m in inside) else frozenset()
        case cel.Strict(psi):
            return frozenset(
                mu for mu in meaning(psi, S, i, j)
                if all(k in sup(mu) for k1, k2 in product(sup(mu), repeat=2) for k in range(k1 + 1, k2))
            )  # fmt: skip
        case cel.Next(psi) | cel.Last(psi):
            below = next_below if isinstance(phi, cel.Next) else last_below
            of = meaning(psi, S, i, j)
            return frozenset(mu for mu in of if all(below(sup(other), sup(mu)) for other in of))
        case cel.Max(psi):
            of = meaning(psi, S, i, j)
            return frozenset(mu for mu in of if not any(sup(mu) < sup(other) for other in of))
        case _:
            raise NotImplementedError(f"Figure 3 has no {type(phi).__name__}")
