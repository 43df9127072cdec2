"""The syntax of core-CEL: cep17, section 3, with the selection strategies of section 4.

The letters used for these trees, here and in every module of this package:
    phi, psi  formulas      R  an event type        x, y  variables, each of which holds one event
Two trees are equal if they are the same formula; where in a text they stood does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import ClassVar, TypeAlias, assert_never

from cerify.semantics.errors import Span
from cerify.semantics.predicates import Predicate
from cerify.semantics.trees import Tree, subtrees


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


class Unary(_Node):
    """P(x): the event of x satisfies a tuple predicate."""

    variable: str
    predicate: Predicate


class Correlated(_Node):
    """P(x, y, ...): a comparison between the events of two variables or more; each attribute names its variable."""

    predicate: Predicate


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


Atom: TypeAlias = Unary | Correlated
Condition: TypeAlias = Atom | Conjunction | Disjunction

# --- formulas ---------------------------------------------------------------------------------------------------------


class Event(_Node):
    """R AS x: one event of type R, held by x."""

    type: str
    variable: str


class Filter(_OneOperand):
    """phi FILTER condition."""

    condition: Condition


class Or(_TwoOperands):
    """phi OR phi: disjunction."""


class Seq(_TwoOperands):
    """phi ; phi: one after the other, with anything in between."""


class Plus(_OneOperand):
    """phi+: iteration, in which the variables that phi defines hold another event in each round."""


class Strict(_OneOperand):
    """STRICT(phi): only complex events that are intervals (section 4)."""


class Next(_OneOperand):
    """NXT(phi): of the complex events with one last position the greatest in the order next (section 4)."""


class Last(_OneOperand):
    """LAST(phi): of the complex events with one last position the greatest in the order last (section 4)."""


class Max(_OneOperand):
    """MAX(phi): of the complex events with one last position those maximal under inclusion (section 4)."""


Strategy: TypeAlias = Strict | Next | Last | Max
Formula: TypeAlias = Event | Filter | Or | Seq | Plus | Strategy


subformulas = subtrees
"""All formulas in a formula, itself first."""


def atoms(condition: Condition) -> Iterator[Atom]:
    """The atoms of a condition, left to right."""
    for part in subtrees(condition):
        match part:
            case Conjunction() | Disjunction():
                pass
            case Unary() | Correlated():
                yield part
            case _:
                assert_never(part)


def size(phi: Formula) -> int:
    """The number of nodes: one for each operator and event type, and one for each atom of a filter."""
    return sum(len(list(atoms(n.condition))) if isinstance(n, Filter) else 1 for n in subformulas(phi))
