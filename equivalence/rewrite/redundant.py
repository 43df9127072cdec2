"""Ways to write a CEL formula with less that are known to change nothing: laws, and parts that nobody looks at.

Each candidate comes with the name of what allows it. At the level of valuations a law holds anywhere in a formula. One
of complex events, where nothing around it looks at variables: AND compares valuations, FILTER and PROJECT look at some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias, assert_never

from cerify.equivalence.claim import Level
from cerify.equivalence.decide.star import NEVER
from cerify.equivalence.rewrite.matching import rules
from cerify.equivalence.rewrite.trees import variables_of
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula, subformulas
from cerify.semantics.trees import children, rebuilt

Candidate: TypeAlias = tuple[str, Formula]
"""The name of what allows it, and the formula."""

CHAINS = (cel.Or, cel.And, cel.All, cel.Seq, cel.ContiguousSeq)
COMMUTATIVE = (cel.Or, cel.And, cel.All)
EVERYTHING: frozenset[str] | None = None


@dataclass(frozen=True)
class Subformula:
    """A sub-formula, how the whole is written with another there, and what the operators around it look at.

    looked: the variables that they look at, None for all. blind: they look at complex events only. chained: it is an
    operand of its own operator, so that the chain of operands goes on around it.
    """

    psi: Formula
    put: Callable[[Formula], Formula]
    looked: frozenset[str] | None = frozenset()
    blind: bool = True
    chained: bool = False


def places(phi: Formula) -> Iterator[Subformula]:
    """All sub-formulas in their places, outermost first."""
    pending = [Subformula(phi, lambda other: other)]
    while pending:
        place = pending.pop()
        yield place
        below = children(place.psi)
        pending.extend(_below(place, below, i) for i in reversed(range(len(below))))


def _below(place: Subformula, below: Sequence[Formula], i: int) -> Subformula:
    def put(other: Formula) -> Formula:
        return place.put(rebuilt(place.psi, (*below[:i], other, *below[i + 1 :])))

    looked, blind, chained = place.looked, place.blind, type(below[i]) is type(place.psi)
    match place.psi:
        case cel.And():
            return Subformula(below[i], put, EVERYTHING, False, chained)
        case cel.Filter(_, condition):
            more = frozenset(A for atom in cel.atoms(condition) for A in variables_of(atom))
            return Subformula(below[i], put, looked if looked is None else looked | more, False)
        case cel.Project(L, _):
            return Subformula(below[i], put, looked if looked is None else looked | L, False)
        case cel.Derived():  # its expansion may look at anything
            return Subformula(below[i], put, EVERYTHING, False)
        case (
            cel.In() | cel.Seq() | cel.ContiguousSeq() | cel.Or() | cel.All() | cel.Unless() | cel.Plus()
            | cel.ContiguousPlus() | cel.Start() | cel.Strict() | cel.Next() | cel.Last() | cel.Max() | cel.Within()
            | cel.PartitionBy()
        ):  # fmt: skip
            return Subformula(below[i], put, looked, blind, chained)
        case cel.Event():
            raise AssertionError("an event type has no operand")
        case _:
            assert_never(place.psi)


def redundant(phi: Formula, level: Level) -> Iterator[Candidate]:
    """The formula rewritten at one place, in every way that is known to change nothing at that level."""
    for place in places(phi):
        exact = level == "valuations" or not place.blind
        for name, other in _local(place, exact):
            yield name, place.put(other)
        if level == "events" and isinstance(place.psi, cel.In) and not _is_looked_at(place, place.psi.variable):
            yield "an IN that nobody looks at", place.put(place.psi.phi)


def _is_looked_at(place: Subformula, A: str) -> bool:
    return place.looked is None or A in place.looked


def _local(place: Subformula, exact: bool) -> Iterator[Candidate]:
    yield from of_nothing(place.psi)
    yield from fewer_conditions(place.psi)
    yield from by_laws(place.psi, exact)
    if isinstance(place.psi, CHAINS) and not place.chained:  # a pair of a part of a chain is a pair of the chain
        yield from in_chains(place.psi, exact)


def by_laws(psi: Formula, exact: bool) -> Iterator[Candidate]:
    """One side of a law for the other; only laws of valuations if exact."""
    for rule in rules():
        if not exact or rule.law.level == "valuations":
            other = rule.applied(psi)
            if other is not None:
                yield rule.law.name, other


def in_chains(psi: Formula, exact: bool) -> Iterator[Candidate]:
    """Laws on two operands of a chain: any two where the operator is commutative, neighbours where it is not."""
    kind = type(psi)
    operands = _operands(psi, kind)
    if len(operands) < 2 or not isinstance(psi, CHAINS):
        return
    for i in range(len(operands)):
        for j in range(len(operands)):
            if i == j or (kind not in COMMUTATIVE and j != i + 1):
                continue
            pair = type(psi)(operands[i], operands[j])
            rest = [chi for k, chi in enumerate(operands) if k not in (i, j)]
            place = min(i, j)
            for name, other in (*of_nothing(pair), *by_laws(pair, exact)):
                yield name, reduce(type(psi), [*rest[:place], other, *rest[place:]])


def _operands(psi: Formula, kind: type) -> list[Formula]:
    found: list[Formula] = []
    pending = [psi]
    while pending:
        chi = pending.pop()
        if type(chi) is kind:
            pending.extend(reversed(children(chi)))
        else:
            found.append(chi)
    return found


# --- nothing ----------------------------------------------------------------------------------------------------------


def nothing(phi: Formula) -> Formula:
    """A formula that matches nowhere, of the first event type of this one."""
    R = next(psi.type for psi in subformulas(phi) if isinstance(psi, cel.Event))
    return cel.Filter(cel.Event(R), cel.Every(R, NEVER))


def is_nothing(phi: Formula) -> bool:
    """Whether the formula is written as one that matches nowhere."""
    return isinstance(phi, cel.Filter) and phi == nothing(phi)


def of_nothing(psi: Formula) -> Iterator[Candidate]:
    """What an operator makes of an operand that matches nowhere."""
    match psi:
        case cel.Or(left, right) if is_nothing(left) or is_nothing(right):
            yield "OR with nothing", right if is_nothing(left) else left
        case cel.Unless(left, right) if is_nothing(right):
            yield "UNLESS nothing", left
        case cel.Unless(left, right) if left == right:
            yield "UNLESS itself", nothing(psi)
        case cel.Unless(left, right) if not is_nothing(left):
            return
        case cel.Or() | cel.Event():
            return
        case (
            cel.In() | cel.Filter() | cel.Project() | cel.Seq() | cel.ContiguousSeq() | cel.And() | cel.All()
            | cel.Unless() | cel.Plus() | cel.ContiguousPlus() | cel.Start() | cel.Strict() | cel.Next() | cel.Last()
            | cel.Max() | cel.Within() | cel.PartitionBy() | cel.Derived()
        ):  # fmt: skip
            if not is_nothing(psi) and any(map(is_nothing, children(psi))):
                yield "nothing, from nothing", nothing(psi)
        case _:
            assert_never(psi)


def fewer_conditions(psi: Formula) -> Iterator[Candidate]:
    """A filter without an operand of AND or OR that is there twice: the connectives are those of truth values."""
    if isinstance(psi, cel.Filter) and (condition := _without_copies(psi.condition)) != psi.condition:
        yield "a condition said twice", cel.Filter(psi.phi, condition)


def _without_copies(c: cel.Condition) -> cel.Condition:
    if not isinstance(c, cel.Conjunction | cel.Disjunction):
        return c
    kind = type(c)
    pending, found = [c.left, c.right], dict[cel.Condition, None]()
    while pending:
        d = pending.pop(0)
        if isinstance(d, kind):
            pending[:0] = [d.left, d.right]
        else:
            found.setdefault(_without_copies(d))
    return reduce(kind, found)
