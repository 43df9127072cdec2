"""The syntax of core-CEL: cep17, section 3, with the selection strategies of section 4.

The letters used for these trees, here and in every module of this package:
    phi, psi  formulas      R  an event type        x, y  variables, each of which holds one event
Two trees are equal if they are the same formula; where in a text they stood does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from cerify.semantics.errors import Span
from cerify.semantics.predicates import Predicate


@dataclass(frozen=True)
class _Node:
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


# --- filter conditions ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unary(_Node):
    """P(x): the event of x satisfies a tuple predicate."""

    variable: str
    predicate: Predicate


@dataclass(frozen=True)
class Correlated(_Node):
    """P(x, y, ...): a comparison between the events of two variables or more; each attribute names its variable."""

    predicate: Predicate


@dataclass(frozen=True)
class Conjunction(_Node):
    """Both conditions; phi FILTER (c AND d) is (phi FILTER c) FILTER d."""

    left: Condition
    right: Condition


@dataclass(frozen=True)
class Disjunction(_Node):
    """Either condition; phi FILTER (c OR d) is (phi FILTER c) OR (phi FILTER d)."""

    left: Condition
    right: Condition


Atom: TypeAlias = Unary | Correlated
Condition: TypeAlias = Atom | Conjunction | Disjunction

# --- formulas ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Event(_Node):
    """R AS x: one event of type R, held by x."""

    type: str
    variable: str


@dataclass(frozen=True)
class Filter(_Node):
    """phi FILTER condition."""

    phi: Formula
    condition: Condition


@dataclass(frozen=True)
class Or(_Node):
    """phi OR phi: disjunction."""

    left: Formula
    right: Formula


@dataclass(frozen=True)
class Seq(_Node):
    """phi ; phi: one after the other, with anything in between."""

    left: Formula
    right: Formula


@dataclass(frozen=True)
class Plus(_Node):
    """phi+: iteration, in which the variables that phi defines hold another event in each round."""

    phi: Formula


@dataclass(frozen=True)
class Strict(_Node):
    """STRICT(phi): only complex events that are intervals (section 4)."""

    phi: Formula


@dataclass(frozen=True)
class Next(_Node):
    """NXT(phi): of the complex events with one last position the greatest in the order next (section 4)."""

    phi: Formula


@dataclass(frozen=True)
class Last(_Node):
    """LAST(phi): of the complex events with one last position the greatest in the order last (section 4)."""

    phi: Formula


@dataclass(frozen=True)
class Max(_Node):
    """MAX(phi): of the complex events with one last position those maximal under inclusion (section 4)."""

    phi: Formula


Strategy: TypeAlias = Strict | Next | Last | Max
Formula: TypeAlias = Event | Filter | Or | Seq | Plus | Strategy


def children(phi: Formula) -> tuple[Formula, ...]:
    """The formulas directly below a formula, left to right."""
    match phi:
        case Event():
            return ()
        case Or(left, right) | Seq(left, right):
            return (left, right)
        case Filter(psi, _) | Plus(psi) | Strict(psi) | Next(psi) | Last(psi) | Max(psi):
            return (psi,)
        case _:
            assert_never(phi)


def subformulas(phi: Formula) -> Iterator[Formula]:
    """All formulas in a formula, itself first."""
    pending = [phi]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


def atoms(condition: Condition) -> Iterator[Atom]:
    """The atoms of a condition, left to right."""
    match condition:
        case Conjunction(left, right) | Disjunction(left, right):
            yield from atoms(left)
            yield from atoms(right)
        case Unary() | Correlated():
            yield condition
        case _:
            assert_never(condition)


def size(phi: Formula) -> int:
    """The number of nodes: one for each operator and event type, and one for each atom of a filter."""
    return sum(len(list(atoms(n.condition))) if isinstance(n, Filter) else 1 for n in subformulas(phi))
