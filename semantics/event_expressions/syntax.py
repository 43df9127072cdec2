"""The syntax of event expressions: vldb92, sections 2.2 and 2.3, 5 (correlation variables) and 6 (attribute variables).

The letters used for these trees, here and in every module of this package:
    E, F, G  expressions        h  a history            x, y  correlation variables, each of which names one event
    T        an event type      e  a position in it     X, Y  attribute variables, each of which has one value
Two trees are equal if they are the same expression; where in a text they stood does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from typing import ClassVar, TypeAlias

from cerify.semantics import trees
from cerify.semantics.errors import Span
from cerify.semantics.predicates import Comparison, Constant, Predicate
from cerify.semantics.trees import Tree

START = "start"  # the event type of the event with which the history of a system begins (section 2.1)

Argument: TypeAlias = str | Constant
"""What stands at an attribute's place in order(I, 40): an attribute variable, or a value."""


class _Node(Tree):
    span: Span | None = field(default=None, kw_only=True)  # not positional: no part of a tree's value


class _Unary(_Node):
    operands: ClassVar = ("operand",)
    operand: Expression


class _Binary(_Node):
    operands: ClassVar = ("left", "right")
    left: Expression
    right: Expression


class _Nary(_Node):
    operands: ClassVar = ("parts",)
    parts: tuple[Expression, ...]


class _Counted(_Node):
    operands: ClassVar = ("operand",)
    n: int
    operand: Expression


# --- section 2.2: the base operators ----------------------------------------------------------------------------------


class Null(_Node):
    """NULL: never takes place."""


class Primitive(_Node):
    """T, T[mask], T(X, 40): an event of type T that passes the mask; arguments stand for its first attributes."""

    type: str
    arguments: tuple[Argument, ...] = ()
    mask: Predicate | None = None


class And(_Binary):
    """E and F: both at one event."""


class Not(_Unary):
    """!E: every other event of the history."""


class Relative(_Nary):
    """relative(E, F): F in the history that is left after some event at which E takes place."""


class RelativePlus(_Unary):
    """relative+(E): E, relative(E, E), relative(E, E, E), ..."""


# --- section 2.3: the derived operators -------------------------------------------------------------------------------


class Or(_Binary):
    """E or F (a)."""


class AnyEvent(_Node):
    """any: every event but the start event (b)."""


class Prior(_Nary):
    """prior(E, F): F after E, where F may have begun before (c, d)."""


class Sequence(_Nary):
    """sequence(E, F): F at the event just after one of E (e)."""


class First(_Node):
    """first: the first event of the history (f)."""


class Pipe(_Binary):
    """E | F: F on the history that E makes (g)."""


class Nth(_Counted):
    """<n> E: the n-th event of E (h)."""


class EveryNth(_Counted):
    """every <n> E: the n-th, 2n-th, ... event of E (i)."""


class After(_Binary):
    """F / E: F in the history after the first event of E (j)."""


class Between(_Binary):
    """F /+ E: F in each of the histories that the events of E cut (k)."""


class FirstAfter(_Node):
    """firstAfter(E1, E2, F): E2 relative to the last E1, with no F in between (l)."""

    operands: ClassVar = ("opening", "event", "closing")
    opening: Expression
    event: Expression
    closing: Expression


class Before(_Unary):
    """before(E): every event after one of E (m)."""


class Happened(_Unary):
    """happened(E): the first event of E and every one after it (n)."""


class Prefix(_Unary):
    """prefix(E): E may still take place, at an event to come (o)."""


class Series(_Binary):
    """E * T: T, where E takes place at every event before (p)."""


# --- section 5: correlation variables ---------------------------------------------------------------------------------


class Exists(_Node):
    """exists x (E): E, for some event x."""

    operands: ClassVar = ("operand",)
    variable: str
    operand: Expression


class Equated(_Node):
    """E = x: E, at the event x."""

    operands: ClassVar = ("operand",)
    operand: Expression
    variable: str


class Variable(_Node):
    """x: the event x."""

    name: str


# --- section 6: attribute variables, and names for expressions --------------------------------------------------------


class Constraint(_Node):
    """X != Y, X = 5: a comparison of attribute variables, which stand in it as attributes."""

    comparison: Comparison


class Named(_Node):
    """complete(I): the expression of that name, its parameters being the arguments."""

    name: str
    arguments: tuple[Argument, ...] = ()


class Definition(_Node):
    """complete(I) := E."""

    name: str
    parameters: tuple[str, ...]
    body: Expression


class Let(_Node):
    """name := E; ...; F: an expression that uses names; it is the whole of a text, never a part of an expression."""

    definitions: tuple[Definition, ...]
    body: Expression


Unary: TypeAlias = Not | RelativePlus | Before | Happened | Prefix
Binary: TypeAlias = And | Or | Pipe | After | Between | Series
Nary: TypeAlias = Relative | Prior | Sequence
Counted: TypeAlias = Nth | EveryNth
Leaf: TypeAlias = Null | Primitive | AnyEvent | First | Variable | Constraint | Named
Derived: TypeAlias = (
    Or
    | AnyEvent
    | Prior
    | Sequence
    | First
    | Pipe
    | Nth
    | EveryNth
    | After
    | Between
    | FirstAfter
    | Before
    | Happened
    | Prefix
    | Series
)
"""The operators of section 2.3."""

Expression: TypeAlias = Leaf | Unary | Binary | Nary | Counted | FirstAfter | Exists | Equated | Let


def children(E: Expression) -> tuple[Expression, ...]:
    """The expressions directly below an expression, left to right; for Let those of the definitions first."""
    if isinstance(E, Let):
        return (*(definition.body for definition in E.definitions), E.body)
    return trees.children(E)


def rebuilt(E: Expression, below: tuple[Expression, ...]) -> Expression:
    """The same expression, with its span, and with others directly below it, in the order of children."""
    if isinstance(E, Let):
        changed = tuple(replace(d, body=body) for d, body in zip(E.definitions, below[:-1], strict=True))
        return replace(E, definitions=changed, body=below[-1])
    return replace(trees.rebuilt(E, below), span=E.span)


def subexpressions(E: Expression) -> Iterator[Expression]:
    """All expressions in an expression, itself first."""
    return trees.subtrees(E, children)


def size(E: Expression) -> int:
    """The number of nodes: one for each operator, event and name."""
    return sum(1 for _ in subexpressions(E))
