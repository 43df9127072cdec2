"""The running examples of cep17 in text, and what the paper says they output on the stream of Figure 1 of tods21."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations, product
from random import Random
from typing import TypeAlias

from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import defined_outside_iteration, variables
from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.events import ComplexEvent, Event, Stream
from cerify.semantics.predicates import Attribute, Comparison, Constant, holds, satisfied
from proofs_tests.support import stream

# ---- examples ----
#

FIRE = "FILTER (x.tmp > 40 ∧ y.hum <= 25 ∧ x.id = 0 ∧ y.id = 0)"
RISE = "x.hum < 30 ∧ z.hum > 60"

EXAMPLES: dict[str, tuple[str, dict[int, set[tuple[int, ...]]]]] = {
    "phi1": (f"(T AS x ; H AS y) {FIRE}", {2: {(1, 2)}, 8: {(1, 8), (5, 8)}}),
    "phi2": (
        f"((T AS x ; H AS y) OR (H AS y ; T AS x)) {FIRE}",
        {2: {(1, 2)}, 5: {(2, 5)}, 8: {(1, 8), (5, 8)}},
    ),
    "phi3": (
        f"(H AS x ; (T AS y FILTER y.id = 1)+ ; H AS z) FILTER ({RISE} ∧ x.id = 1 ∧ z.id = 1)",
        {7: {(3, 4, 6, 7), (3, 4, 7), (3, 6, 7)}},
    ),
    "correlated": (
        f"(H AS x ; (T AS y FILTER y.id = x.id)+ ; H AS z) FILTER ({RISE} ∧ x.id = z.id)",
        {7: {(3, 4, 6, 7), (3, 4, 7), (3, 6, 7)}},
    ),
    "not well-formed": ("H AS x FILTER y.tmp > 40", {n: {(n,)} for n in (0, 2, 3, 7, 8)}),
    "unsatisfiable": ("T AS x ; T AS x", {}),
    "conditional": (
        "T AS x ; ((T AS y FILTER x.tmp > 40) OR (H AS y FILTER x.tmp <= 40))",
        {4: {(1, 4)}, 5: {(1, 5)}, 6: {(1, 6), (5, 6)}, 7: {(4, 7), (6, 7)}, 8: {(4, 8), (6, 8)}},
    ),
}


def by_position(query: str, S: Stream | str) -> dict[int, set[tuple[int, ...]]]:
    """The complex events of a core-CEL query, by their last position."""
    found: dict[int, set[tuple[int, ...]]] = {}
    for match in matches_of(parse(query), stream(S) if isinstance(S, str) else S):
        found.setdefault(match.at, set()).add(match.events)
    return found


def events(query: str, S: Stream | str) -> set[tuple[int, ...]]:
    """The complex events of a core-CEL query."""
    return set[tuple[int, ...]]().union(*by_position(query, S).values())


# ---- formulas ----
# All small core-CEL formulas, and random larger ones, with streams to hold them against.

WRAPPERS = (core.CorePlus, core.CoreStrict, core.CoreNext, core.CoreLast, core.CoreMax)


def about(x: str, value: int) -> core.Atom:
    return core.Unary(x, Comparison("=", Attribute("a"), Constant(value)))


def equal(x: str, y: str) -> core.Atom:
    return core.CoreCorrelated(Comparison("=", Attribute("a", x), Attribute("a", y)))


@cache
def of_size(n: int) -> tuple[core.Formula, ...]:
    """All formulas of n nodes over the types A, B and the variables x, y, with three filters."""
    if n == 1:
        return tuple(core.CoreEventAtom(R, x) for R in "AB" for x in "xy")
    found: list[core.Formula] = []
    for psi in of_size(n - 1):
        found.extend(wrapper(psi) for wrapper in WRAPPERS)
        found.extend(core.CoreFilter(psi, atom) for atom in (about("x", 1), about("y", 0), equal("x", "y")))
    for left_size in range(1, n - 1):
        for left in of_size(left_size):
            for right in of_size(n - 1 - left_size):
                found += [core.CoreOr(left, right), core.CoreSeq(left, right)]
    return tuple(found)


def condition(random: Random, depth: int = 2) -> core.Condition:
    match random.randrange(4 if depth else 2):
        case 0:
            return about(random.choice("xyz"), random.randrange(2))
        case 1:
            x, y = random.sample("xyz", 2)
            return equal(x, y)
        case 2:
            return core.CoreConjunction(condition(random, depth - 1), condition(random, depth - 1))
        case _:
            return core.CoreDisjunction(condition(random, depth - 1), condition(random, depth - 1))


def formula(random: Random, nodes: int) -> core.Formula:
    """A random formula with that many operators and event types."""
    if nodes == 1:
        return core.CoreEventAtom(random.choice("AB"), random.choice("xyz"))
    if nodes > 2 and random.random() < 0.5:
        left = random.randrange(1, nodes - 1)
        binary = core.CoreSeq if random.random() < 0.7 else core.CoreOr
        return binary(formula(random, left), formula(random, nodes - 1 - left))
    psi = formula(random, nodes - 1)
    match random.randrange(3):
        case 0:
            return core.CoreFilter(psi, condition(random))
        case 1:
            return core.CorePlus(psi)
        case _:
            return random.choice(WRAPPERS)(psi)


def stream_of(random: Random, length: int) -> Stream:
    return Stream(Event(random.choice("AB"), {"a": random.randrange(2)}) for _ in range(length))


def cases(seed: int, count: int) -> Iterator[tuple[core.Formula, Stream]]:
    """Random formulas, each with a random stream of up to four events."""
    random = Random(seed)
    for _ in range(count):
        yield formula(random, random.randrange(3, 10)), stream_of(random, random.randrange(5))


# ---- naive ----
# A second meaning of core-CEL, for tiny streams: the definition by the letter, trying every valuation and every set.
#
# It shares with the interpreter the syntax, vdef+ and the predicates on single values, and nothing else.

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
            case core.CorePreference(rho):
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
