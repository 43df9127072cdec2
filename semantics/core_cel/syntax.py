"""The syntax of core-CEL: cep17, section 3, with the selection strategies of section 4.

The letters used for these trees, here and in every module of this package:
    phi, psi  formulas      R  an event type        x, y  variables, each of which holds one event
Two trees are equal if they are the same formula, wherever they stood in a text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import ClassVar, TypeAlias, assert_never

from cerify.semantics.errors import Span
from cerify.semantics.predicates import (
    RESERVED_VARIABLES,
    Attribute,
    Comparison,
    Constant,
    InRange,
    Like,
    OneOf,
    Predicate,
    about,
    mentions,
    parenthesized,
    show_name,
    show_predicate,
)
from cerify.semantics.trees import Operator, Tree, printed, subtrees, table


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


class CoreCorrelated(_Node):
    """P(x, y, ...): a comparison between the events of two variables or more; each attribute names its variable."""

    WORD: ClassVar[str] = "Correlated"

    predicate: Predicate


class CoreConjunction(_Node):
    """c AND d: `phi FILTER (c AND d)` means `(phi FILTER c) FILTER d`."""

    WORD: ClassVar[str] = "Conjunction"

    operands: ClassVar = ("left", "right")
    left: Condition
    right: Condition


class CoreDisjunction(_Node):
    """c OR d: `phi FILTER (c OR d)` means `(phi FILTER c) OR (phi FILTER d)`."""

    WORD: ClassVar[str] = "Disjunction"

    operands: ClassVar = ("left", "right")
    left: Condition
    right: Condition


Atom: TypeAlias = Unary | CoreCorrelated
Condition: TypeAlias = Atom | CoreConjunction | CoreDisjunction

# --- formulas ---------------------------------------------------------------------------------------------------------


class CoreEventAtom(_Node):
    """R AS x: one event of type R, bound to x."""

    WORD: ClassVar[str] = "Event"

    type: str
    variable: str


class CoreFilter(_OneOperand):
    """phi FILTER condition: only complex events whose variables satisfy the condition."""

    WORD: ClassVar[str] = "Filter"

    condition: Condition


class CoreOr(_TwoOperands):
    """phi OR psi: disjunction."""

    WORD: ClassVar[str] = "Or"


class CoreSeq(_TwoOperands):
    """phi ; psi: first phi, then psi, with any events in between."""

    WORD: ClassVar[str] = "Seq"


class CorePlus(_OneOperand):
    """phi+: iteration. Each round binds the variables of phi to new events."""

    WORD: ClassVar[str] = "Plus"


class CoreSelection(_OneOperand):
    """A selection strategy: it keeps some complex events of its operand."""


class CorePreference(CoreSelection):
    """A strategy that compares complex events with the same last position and keeps the preferred ones (cep17, section
    4).
    """


class CoreStrict(CoreSelection):
    """STRICT(phi): only complex events without a gap between their positions (cep17, section 4)."""

    WORD: ClassVar[str] = "Strict"


class CoreNext(CorePreference):
    """NXT(phi): of the complex events with the same last position, the one with the earliest positions.

    Positions are compared from the first one on: the order <=next of cep17, section 4.
    """

    WORD: ClassVar[str] = "Next"


class CoreLast(CorePreference):
    """LAST(phi): of the complex events with the same last position, the one with the latest positions.

    Positions are compared from the last one on: the order <=last of cep17, section 4.
    """

    WORD: ClassVar[str] = "Last"


class CoreMax(CorePreference):
    """MAX(phi): of the complex events with the same last position, those that are maximal under inclusion."""

    WORD: ClassVar[str] = "Max"


AnyCorePreference: TypeAlias = CoreNext | CoreLast | CoreMax
Strategy: TypeAlias = CoreStrict | AnyCorePreference
Formula: TypeAlias = CoreEventAtom | CoreFilter | CoreOr | CoreSeq | CorePlus | Strategy


subformulas = subtrees
"""All formulas in a formula, itself first."""


def atoms(condition: Condition) -> Iterator[Atom]:
    """Yield the atoms of a condition, left to right."""
    for part in subtrees(condition):
        match part:
            case CoreConjunction() | CoreDisjunction():
                pass
            case Unary() | CoreCorrelated():
                yield part
            case _:
                assert_never(part)


def size(phi: Formula) -> int:
    """Return the number of nodes: one for each operator, event type, and atom of a filter."""
    return sum(len(list(atoms(n.condition))) if isinstance(n, CoreFilter) else 1 for n in subformulas(phi))


# ---------------------------------------------------------------------------------------------------------------------
# The operators of core-CEL, as a table: cep17, sections 3 and 4.

FILTERED, COMBINED, SEQUENCED, DEFINED, POSTFIX = range(5)  # levels, from loose to tight
SMALL = Comparison("<=", Attribute("x"), Constant(1))

OPERATORS = table(
    Operator(  # (T AS x)+ in parentheses: T AS x+ would parse, but reads as if the variable were called x+
        CoreEventAtom, "event", "an event type", "event type", "cep17 section 3, R AS x", "{type} AS {variable}",
        "infix", DEFINED, samples=(lambda: CoreEventAtom("A", "x"),),
    ),
    Operator(
        CoreOr, "or", "OR", "disjunction", "cep17 section 3, OR", "{left} OR {right}",
        "infix", COMBINED, aliases=("∨",),
    ),
    Operator(
        CoreSeq, "seq", ";", "sequencing", "cep17 section 3, sequencing", "{left} ; {right}",
        "infix", SEQUENCED,
    ),
    Operator(CorePlus, "plus", "+", "iteration", "cep17 section 3, iteration", "{phi}+", "postfix", POSTFIX),
    Operator(
        CoreStrict, "strict", "STRICT", "STRICT", "cep17 section 4, STRICT", "STRICT({phi})",
        "call", POSTFIX,
    ),
    Operator(
        CoreMax, "max", "MAX", "MAX", "cep17 section 4, MAX", "MAX({phi})", "call", POSTFIX, monotone=False,
    ),
    Operator(
        CoreLast, "last", "LAST", "LAST", "cep17 section 4, LAST", "LAST({phi})", "call", POSTFIX, monotone=False,
    ),
    Operator(
        CoreNext, "nxt", "NXT", "NXT", "cep17 section 4, NXT", "NXT({phi})", "call", POSTFIX, aliases=("NEXT",),
        monotone=False,
    ),
    Operator(
        CoreFilter, "filter", "FILTER", "filtering", "cep17 section 3, FILTER", "{phi} FILTER {condition}",
        "postfix", FILTERED, samples=(lambda phi: CoreFilter(phi, Unary("x", SMALL)),),
    ),
)  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# From a core-CEL formula to its text, which parses back to an equal formula.

RESERVED = frozenset({"STRICT", "NXT", "NEXT", "LAST", "MAX"})
"""Words that cannot be an event type without quotes."""


def show(phi: Formula) -> str:
    """Return the text of a formula, with no more parentheses than needed."""
    return printed(phi, OPERATORS, _show_field)


def _show_field(value: str | Condition) -> str:
    return show_name(value, RESERVED) if isinstance(value, str) else show_condition(value)


def show_condition(condition: Condition) -> str:
    """Return the text of a filter's condition."""
    match condition:
        case Unary(x, predicate):
            if isinstance(predicate, Comparison | OneOf | InRange | Like) and any(mentions(predicate)):
                return show_predicate(about(predicate, x))
            return f"{show_name(x, RESERVED_VARIABLES)}[{show_predicate(predicate)}]"
        case CoreCorrelated(predicate):
            return show_predicate(predicate)
        case CoreConjunction(left, right):
            both = isinstance(right, CoreConjunction | CoreDisjunction)
            first = parenthesized(show_condition(left), isinstance(left, CoreDisjunction))
            return f"{first} AND {parenthesized(show_condition(right), both)}"
        case CoreDisjunction(left, right):
            tail = parenthesized(show_condition(right), isinstance(right, CoreDisjunction))
            return f"{show_condition(left)} OR {tail}"
        case _:
            assert_never(condition)
