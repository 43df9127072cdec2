"""Why a valuation belongs to a formula: its derivation by the clauses of tods21, Figure 3 and section 7.1.

Letters as in cerify.semantics.cel.denote. The oracle is its Interpreter: a derivation is built downwards, and each
node's valuation is one that the interpreter itself gives for the node's formula and interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from cerify.explanations.evidence import braces, event, of_window, reasons_for
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import interleavings, sup
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.operators import OPERATORS
from cerify.semantics.cel.show import show, show_window
from cerify.semantics.errors import BudgetExceeded, InternalError
from cerify.semantics.events import ComplexEvent, Valuation

FIGURE_3 = "tods21, Figure 3"
STRATEGIES = "tods21, section 7.1"
SUGAR = "tods21, section 4"

Preference: TypeAlias = cel.Next | cel.Last | cel.Max
"""The strategies that hold the valuations of an interval against each other."""


@dataclass(frozen=True)
class Node:
    """A step of a derivation: valuation belongs to formula over the stream from i to j, because of the clause.

    clause says in words which clause it is, citation where it is printed, detail what it was applied with, as in
    "k = 4"; evidence are facts of the stream that its side conditions rest on.
    """

    formula: cel.Formula
    i: int
    j: int
    valuation: Valuation
    clause: str
    citation: str
    detail: str = ""
    evidence: tuple[str, ...] = ()
    children: tuple[Node, ...] = ()


def derivations(phi: cel.Formula, mu: Valuation, i: int, j: int, oracle: Interpreter) -> Iterator[Node]:
    """All derivations of mu from phi over the oracle's stream from i to j, one at a time; none if mu does not belong.

    The order is fixed. Raises BudgetExceeded, Unsupported.
    """
    try:
        if mu in oracle.meaning(phi, i, j):
            yield from _derive(phi, mu, i, j, oracle)
    except RecursionError:
        raise BudgetExceeded("the derivation is too deep; explain a shorter stream", phi.span) from None


def nodes(root: Node) -> Iterator[Node]:
    """All nodes of a derivation, each before its children."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))


def ordered(mus: Iterable[Valuation]) -> list[Valuation]:
    """Valuations in an order that does not depend on the run."""
    return sorted(mus, key=lambda mu: sorted((p, A) for A, p in mu))


def _derive(phi: cel.Formula, mu: Valuation, i: int, j: int, oracle: Interpreter) -> Iterator[Node]:
    S = oracle.S

    def below(psi: cel.Formula, nu: Valuation = mu, a: int = i, b: int = j) -> Iterator[Node]:
        return _derive(psi, nu, a, b, oracle)

    def node(clause: str, *children: Node, detail: str = "", evidence: Iterable[str] = (), of: str = FIGURE_3) -> Node:
        return Node(phi, i, j, mu, clause, of, detail, tuple(evidence), children)

    if mu not in oracle.meaning(phi, i, j):
        raise InternalError(f"a derivation of {show(phi)} over ({i}, {j}) is not one by the interpreter", phi.span)
    match phi:
        case cel.Event(R):
            yield node("event type", detail=f"S[{j}] has type {R}", evidence=[event(j, S)])
        case cel.In(psi, A):
            for nu in ordered(oracle.meaning(psi, i, j)):
                if frozenset(pair for pair in nu if pair[0] != A) | {(A, p) for p in sup(nu)} == mu:
                    for child in below(psi, nu):
                        yield node("variable binding", child, detail=f"{A} binds {braces(sup(nu))}")
        case cel.Filter(psi, condition):
            for child in below(psi):
                yield node("filter", child, evidence=reasons_for(condition, mu, S))
        case cel.Seq(left, right):
            for k, one, two in _splits(phi, mu, i, j, oracle):
                for first in below(left, one, i, k):
                    for second in below(right, two, k + 1, j):
                        yield node("sequencing", first, second, detail=f"k = {k}")
        case cel.ContiguousSeq(left, right):
            for k, one, two in _splits(phi, mu, i, j, oracle):
                for first in below(left, one, i, k):
                    for second in below(right, two, k + 1, j):
                        fact = f"the left side ends at {k}, the right side begins at {k + 1}"
                        yield node("contiguous sequencing", first, second, detail=f"k = {k}", evidence=[fact])
        case cel.Plus(psi) | cel.ContiguousPlus(psi):
            name = "iteration" if isinstance(phi, cel.Plus) else "contiguous iteration"
            if mu in oracle.meaning(psi, i, j):
                for child in below(psi):
                    yield node(name, child, detail="the last round")
            for k, one, two in _splits(phi, mu, i, j, oracle):
                for first in below(psi, one, i, k):
                    for rest in below(phi, two, k + 1, j):
                        yield node(name, first, rest, detail=f"one round up to k = {k}, then more")
        case cel.Project(L, psi):
            for nu in ordered(oracle.meaning(psi, i, j)):
                if frozenset(pair for pair in nu if pair[0] in L) == mu:
                    dropped = sup(nu) - sup(mu)
                    for child in below(psi, nu):
                        yield node(
                            "projection", child, detail=f"drops the positions {braces(dropped)}" if dropped else ""
                        )
        case cel.Start(psi):
            for child in below(psi):
                yield node("anchoring", child, detail=f"the first position is i = {i}")
        case cel.Or(left, right):
            for side, psi in (("left", left), ("right", right)):
                if mu in oracle.meaning(psi, i, j):
                    for child in below(psi):
                        yield node("disjunction", child, detail=f"by the {side} side")
        case cel.And(left, right):
            for first in below(left):
                for second in below(right):
                    yield node("conjunction", first, second, detail="the same valuation on both sides")
        case cel.All(left, right):
            for i1, j1, i2, j2 in sorted(interleavings(i, j)):
                for one, two in _parts(mu, oracle.meaning(left, i1, j1), oracle.meaning(right, i2, j2)):
                    for first in below(left, one, i1, j1):
                        for second in below(right, two, i2, j2):
                            where = f"({i1}, {j1}) on the left, ({i2}, {j2}) on the right"
                            yield node("interleaved conjunction", first, second, detail=where)
        case cel.Unless(left, right):
            fact = f"{show(right)} has no valuation over any interval within ({i}, {j})"
            for child in below(left):
                yield node("guarded negation", child, evidence=[fact])
        case cel.Strict(psi):
            span = f"{min(sup(mu))} to {max(sup(mu))}, without a gap" if mu else "nothing, which has no gap"
            for child in below(psi):
                yield node("STRICT", child, detail=f"the support is {span}", of=STRATEGIES)
        case cel.Next(psi) | cel.Last(psi) | cel.Max(psi):
            name = {cel.Next: "NXT", cel.Last: "LAST", cel.Max: "MAX"}[type(phi)]
            lost = list(_losers(phi, sup(mu), supports(psi, i, j, oracle)))
            detail = f"won against {len(lost)}" if lost else "there was no other candidate"
            for child in below(psi):
                yield node(name, child, detail=detail, evidence=lost, of=STRATEGIES)
        case cel.Within(psi, window):
            fact = f"within {show_window(window)}: {of_window(window, mu, S)}"
            for child in below(psi):
                yield node("window", child, evidence=[fact], of=SUGAR)
        case cel.PartitionBy(psi, name):
            shared = {event(p, S, [name]) for p in sup(mu)}
            for child in below(psi):
                yield node("partition", child, evidence=sorted(shared), of=SUGAR)
        case cel.Derived():
            operator = OPERATORS[type(phi)]
            for child in below(phi.expansion):
                yield node(operator.title, child, detail="by its expansion", of=operator.clause)
        case _:
            assert_never(phi)


def supports(phi: cel.Formula, i: int, j: int, oracle: Interpreter) -> list[ComplexEvent]:
    """The complex events of phi from i to j, in a fixed order."""
    return sorted(set(map(sup, oracle.meaning(phi, i, j))), key=sorted)


def _splits(
    phi: cel.Seq | cel.ContiguousSeq | cel.Plus | cel.ContiguousPlus,
    mu: Valuation,
    i: int,
    j: int,
    oracle: Interpreter,
) -> Iterator[tuple[int, Valuation, Valuation]]:
    """Every k with the valuations on its two sides that make up mu; the right side of an iteration is itself."""
    left, right = (phi.left, phi.right) if isinstance(phi, cel.Seq | cel.ContiguousSeq) else (phi.phi, phi)
    touching = isinstance(phi, cel.ContiguousSeq | cel.ContiguousPlus)
    for k in range(i, j):
        for one, two in _parts(mu, oracle.meaning(left, i, k), oracle.meaning(right, k + 1, j)):
            if not touching or (one and two and max(sup(one)) == k and min(sup(two)) == k + 1):
                yield k, one, two


def _parts(
    mu: Valuation, lefts: Iterable[Valuation], rights: Iterable[Valuation]
) -> Iterator[tuple[Valuation, Valuation]]:
    """The pairs of a left and a right valuation whose union is mu."""
    fitting = ordered(nu for nu in rights if nu <= mu)
    for one in ordered(nu for nu in lefts if nu <= mu) if fitting else ():
        for two in fitting:
            if one | two == mu:
                yield one, two


def _losers(phi: Preference, C: ComplexEvent, candidates: Iterable[ComplexEvent]) -> Iterator[str]:
    """Each candidate that C won against by the strategy, with the reason."""
    for other in candidates:
        if other != C and (not isinstance(phi, cel.Max) or other < C):
            yield comparison(phi, C, other)


def comparison(phi: Preference, winner: ComplexEvent, loser: ComplexEvent) -> str:
    """Why the strategy prefers one complex event to another."""
    match phi:
        case cel.Max():
            return f"{braces(winner)} before {braces(loser)}: it contains it"
        case cel.Next():
            p, which = min(winner ^ loser), "first"
        case cel.Last():
            p, which = max(winner ^ loser), "last"
        case _:
            assert_never(phi)
    return f"{braces(winner)} before {braces(loser)}: it has {p}, the {which} position in which they differ"
