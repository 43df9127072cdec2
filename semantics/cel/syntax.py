"""The syntax of CEL: tods21, Figure 2, with the selection strategies of section 7 and the sugar of section 4.

The letters used for these trees, here and in every module of this package:
    phi  a formula          R  an event type        A, B  variables        L  a set of variables
Two trees are equal if they are the same formula; where in a text they stood does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Literal, TypeAlias, assert_never

from cerify.semantics.errors import Span
from cerify.semantics.predicates import Predicate
from cerify.semantics.trees import Tree, children, rebuilt, subtrees

Unit = Literal["second", "minute", "hour", "day"]


class _Node(Tree):
    span: Span | None = field(default=None, kw_only=True)  # not positional: no part of a tree's value


class _OneOperand(_Node):
    operands: ClassVar = ("phi",)
    phi: Formula


class _TwoOperands(_Node):
    operands: ClassVar = ("left", "right")
    left: Formula
    right: Formula


# --- filter conditions ------------------------------------------------------------------------------------------------


class Every(_Node):
    """A[p]: every event of A satisfies p, the second-order extension of a tuple predicate (Definition 4.1)."""

    variable: str
    predicate: Predicate


class Correlated(_Node):
    """A predicate across events: each mention A.x ranges over the events of A on its own (section 4, sugar)."""

    predicate: Predicate


class Named(_Node):
    """name(A, B): a CEL predicate over sets of events that the user has registered."""

    name: str
    variables: tuple[str, ...]


class Conjunction(_Node):
    """Both conditions; phi FILTER (c AND d) is (phi FILTER c) FILTER d."""

    operands: ClassVar = ("left", "right")
    left: Condition
    right: Condition


class Disjunction(_Node):
    """Either condition; phi FILTER (c OR d) is (phi FILTER c) OR (phi FILTER d)."""

    operands: ClassVar = ("left", "right")
    left: Condition
    right: Condition


Atom: TypeAlias = Every | Correlated | Named
Condition: TypeAlias = Atom | Conjunction | Disjunction

# --- formulas ---------------------------------------------------------------------------------------------------------


class Event(_Node):
    """R: one event of type R, bound to the variable R."""

    type: str


class In(_OneOperand):
    """phi IN A: A is bound to all that phi matched."""

    variable: str


class Filter(_OneOperand):
    """phi FILTER condition."""

    condition: Condition


class Seq(_TwoOperands):
    """phi ; phi: non-contiguous sequencing."""


class Plus(_OneOperand):
    """phi+: non-contiguous iteration."""


class ContiguousSeq(_TwoOperands):
    """phi : phi: contiguous sequencing."""


class ContiguousPlus(_OneOperand):
    """phi:+: contiguous iteration."""


class Project(_Node):
    """PROJECT[L](phi): only the variables of L are kept."""

    operands: ClassVar = ("phi",)
    variables: frozenset[str]
    phi: Formula


class Start(_OneOperand):
    """START(phi): the match begins where the interval does."""


class Or(_TwoOperands):
    """phi OR phi: disjunction."""


class And(_TwoOperands):
    """phi AND phi: conjunction, the same valuation on both sides."""


class All(_TwoOperands):
    """phi ALL phi: interleaved conjunction."""


class Unless(_TwoOperands):
    """phi UNLESS phi: guarded negation."""


class Strict(_OneOperand):
    """STRICT(phi): only valuations whose support is an interval (section 7.1)."""


class Next(_OneOperand):
    """NXT(phi): only valuations whose support is the greatest in the order next (section 7.1)."""


class Last(_OneOperand):
    """LAST(phi): only valuations whose support is the greatest in the order last (section 7.1)."""


class Max(_OneOperand):
    """MAX(phi): only valuations whose support is maximal under inclusion (section 7.1)."""


@dataclass(frozen=True)
class EventWindow:
    """A window of this many events."""

    count: int


@dataclass(frozen=True)
class TimeWindow:
    """A window of this long on the events' time."""

    amount: int | float
    unit: Unit


@dataclass(frozen=True)
class AttributeWindow:
    """A window of this width on an attribute."""

    width: int | float
    attribute: str


Window: TypeAlias = EventWindow | TimeWindow | AttributeWindow


class Within(_OneOperand):
    """phi WITHIN window: sugar for the filter Q of section 4."""

    window: Window


class PartitionBy(_OneOperand):
    """phi PARTITION BY [a]: every event of a match agrees on the attribute."""

    attribute: str


class Derived(_OneOperand):
    """An operator that stands for another formula, its expansion.

    A function that has no better case for it uses the expansion, so a new derived operator needs no case anywhere.
    """

    @cached_property
    def expansion(self) -> Formula:
        """The formula that this one stands for, the same object each time. Raises BudgetExceeded."""
        return self.expand()

    def expand(self) -> Formula:
        """The formula that this one stands for. Raises BudgetExceeded where it would be too large."""
        raise NotImplementedError

    def simpler(self) -> Iterator[Formula]:
        """The same operator with simpler fields, for shrinking."""
        return iter(())

    def load(self) -> int:
        """How far the fields are from the simplest, for shrinking."""
        return 0


Strategy: TypeAlias = Strict | Next | Last | Max
Plain: TypeAlias = Seq | Plus | ContiguousSeq | ContiguousPlus | Start | Or | And | All | Unless | Strategy
"""The operators that have no other fields than their operands."""

Formula: TypeAlias = Event | In | Filter | Project | Within | PartitionBy | Plain | Derived


subformulas: Callable[[Formula], Iterator[Formula]] = subtrees
"""All formulas in a formula, itself first."""


def expanded(phi: Formula) -> Formula:
    """The formula with every derived operator replaced by its expansion; the same object if it has none.

    Raises BudgetExceeded where an expansion would be too large.
    """
    done: dict[int, Formula] = {}  # by identity: all of these are parts of phi or of an expansion, which it keeps

    def inside(psi: Formula) -> Formula:
        if id(psi) not in done:
            if isinstance(psi, Derived):
                done[id(psi)] = inside(psi.expansion)
            else:
                below = children(psi)
                others = [inside(child) for child in below]
                changed = any(other is not child for other, child in zip(others, below, strict=True))
                done[id(psi)] = replace(rebuilt(psi, others), span=psi.span) if changed else psi
        return done[id(psi)]

    return inside(phi) if any(isinstance(psi, Derived) for psi in subformulas(phi)) else phi


def atoms(condition: Condition) -> Iterator[Atom]:
    """The atoms of a condition, left to right."""
    for part in subtrees(condition):
        match part:
            case Conjunction() | Disjunction():
                pass
            case Every() | Correlated() | Named():
                yield part
            case _:
                assert_never(part)


def size(phi: Formula) -> int:
    """The number of nodes: one for each operator and event type, and one for each atom of a filter."""
    return sum(len(list(atoms(n.condition))) if isinstance(n, Filter) else 1 for n in subformulas(phi))
