"""The syntax of event expressions: vldb92, sections 2.2 and 2.3, 5 (correlation variables) and 6 (attribute variables).

The letters used for these trees, here and in every module of this package:
    E, F, G  expressions        h  a history            x, y  correlation variables, each of which names one event
    T        an event type      e  a position in it     X, Y  attribute variables, each of which has one value
Two trees are equal if they are the same expression, wherever they stood in a text. Below, (a) to (p) are the items of
section 2.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from textwrap import shorten
from typing import ClassVar, NamedTuple, TypeAlias, assert_never

from cerify.semantics import trees
from cerify.semantics.errors import Span
from cerify.semantics.predicates import (
    RESERVED_TERMS,
    Attribute,
    Comparison,
    Constant,
    Predicate,
    show_name,
    show_predicate,
    show_value,
)
from cerify.semantics.trees import Operator, Tree, printed, table
from cerify.semantics.values import Value

START = "start"  # the event type of the event with which the history of a system begins (section 2.1)

Argument: TypeAlias = str | Constant
"""An argument at an attribute's place, as in order(I, 40): an attribute variable, or a value."""


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
    """T, T[mask], T(X, 40): an event of type T that passes the mask.

    The arguments are compared with the event's first attributes; a variable gets the attribute's value.
    """

    type: str
    arguments: tuple[Argument, ...] = ()
    mask: Predicate | None = None


class ExpressionAnd(_Binary):
    """E and F: the events at which both E and F take place."""

    WORD: ClassVar[str] = "And"


class ExpressionNot(_Unary):
    """!E: every event of the history at which E does not take place."""

    WORD: ClassVar[str] = "Not"


class Relative(_Nary):
    """relative(E, F): F takes place in the history that begins after some event at which E takes place."""


class RelativePlus(_Unary):
    """relative+(E): any number of E after each other: E, relative(E, E), relative(E, E, E), ..."""


# --- section 2.3: the derived operators -------------------------------------------------------------------------------


class ExpressionOr(_Binary):
    """E or F: the events at which E or F takes place (vldb92, 2.3, item a)."""

    WORD: ClassVar[str] = "Or"


class AnyEvent(_Node):
    """any: every event but the start event (vldb92, 2.3, item b)."""


class Prior(_Nary):
    """prior(E, F): F takes place after E, and may have begun before E (vldb92, 2.3, items c, d)."""


class Sequence(_Nary):
    """sequence(E, F): F takes place at the event directly after one at which E takes place (vldb92, 2.3, item e)."""


class First(_Node):
    """first: the first event of the history (vldb92, 2.3, item f)."""


class Pipe(_Binary):
    """E | F: F takes place in the history of only the events at which E takes place (vldb92, 2.3, item g)."""


class Nth(_Counted):
    """<n> E: the n-th event at which E takes place (vldb92, 2.3, item h)."""


class EveryNth(_Counted):
    """every <n> E: the n-th, 2n-th, 3n-th, ... event at which E takes place (vldb92, 2.3, item i)."""


class After(_Binary):
    """F / E: F takes place in the history after the first event at which E takes place (vldb92, 2.3, item j)."""


class ExpressionBetween(_Binary):
    """F /+ E: F takes place in a part of the history between two consecutive events of E, or after the last one.

    See vldb92, 2.3, item k.
    """

    WORD: ClassVar[str] = "Between"


class FirstAfter(_Node):
    """firstAfter(E1, E2, F): E2 relative to the last E1, with no F in between (vldb92, 2.3, item l)."""

    operands: ClassVar = ("opening", "event", "closing")
    opening: Expression
    event: Expression
    closing: Expression


class Before(_Unary):
    """before(E): every event after one at which E takes place (vldb92, 2.3, item m)."""


class Happened(_Unary):
    """happened(E): the first event at which E takes place, and every event after it (vldb92, 2.3, item n)."""


class Prefix(_Unary):
    """prefix(E): every event after which E can still take place (vldb92, 2.3, item o)."""


class ExpressionSeries(_Binary):
    """E * T: takes place at an event of T if E takes place at every event before that one (vldb92, 2.3, item p)."""

    WORD: ClassVar[str] = "Series"


# --- section 5: correlation variables ---------------------------------------------------------------------------------


class Exists(_Node):
    """exists x (E): E takes place with x bound to some event of the history."""

    operands: ClassVar = ("operand",)
    variable: str
    operand: Expression


class Equated(_Node):
    """E = x: the event to which x is bound, if E takes place there."""

    operands: ClassVar = ("operand",)
    operand: Expression
    variable: str


class ExpressionVariable(_Node):
    """x: the event to which x is bound."""

    WORD: ClassVar[str] = "Variable"

    name: str


# --- section 6: attribute variables, and names for expressions --------------------------------------------------------


class Constraint(_Node):
    """X != Y, X = 5: a comparison of attribute variables. `comparison` holds each variable as an Attribute."""

    comparison: Comparison


class ExpressionNamed(_Node):
    """complete(I): stands for the expression that is defined as `complete`, with I for its parameter."""

    WORD: ClassVar[str] = "Named"

    name: str
    arguments: tuple[Argument, ...] = ()


class ExpressionDefinition(_Node):
    """complete(I) := E: defines `complete`, with the parameter I, as a name for the expression E."""

    WORD: ClassVar[str] = "Definition"

    name: str
    parameters: tuple[str, ...]
    body: Expression


class Let(_Node):
    """name := E; ...; F: named expressions and the expression that uses them; only at the top of a text."""

    definitions: tuple[ExpressionDefinition, ...]
    body: Expression


Unary: TypeAlias = ExpressionNot | RelativePlus | Before | Happened | Prefix
Binary: TypeAlias = ExpressionAnd | ExpressionOr | Pipe | After | ExpressionBetween | ExpressionSeries
Nary: TypeAlias = Relative | Prior | Sequence
Counted: TypeAlias = Nth | EveryNth
Leaf: TypeAlias = Null | Primitive | AnyEvent | First | ExpressionVariable | Constraint | ExpressionNamed
Derived: TypeAlias = (
    ExpressionOr
    | AnyEvent
    | Prior
    | Sequence
    | First
    | Pipe
    | Nth
    | EveryNth
    | After
    | ExpressionBetween
    | FirstAfter
    | Before
    | Happened
    | Prefix
    | ExpressionSeries
)
"""The operators of section 2.3."""

Expression: TypeAlias = Leaf | Unary | Binary | Nary | Counted | FirstAfter | Exists | Equated | Let


def children(E: Expression) -> tuple[Expression, ...]:
    """Return the expressions directly below an expression, left to right; for Let, first the definitions' bodies."""
    if isinstance(E, Let):
        return (*(definition.body for definition in E.definitions), E.body)
    return trees.children(E)


def rebuilt(E: Expression, below: tuple[Expression, ...]) -> Expression:
    """Return the expression with these operands, in the order of `children`; its span stays."""
    if isinstance(E, Let):
        changed = tuple(replace(d, body=body) for d, body in zip(E.definitions, below[:-1], strict=True))
        return replace(E, definitions=changed, body=below[-1])
    return replace(trees.rebuilt(E, below), span=E.span)


def subexpressions(E: Expression) -> Iterator[Expression]:
    """Return all expressions in an expression, itself first."""
    return trees.subtrees(E, children)


def size(E: Expression) -> int:
    """Return the number of nodes: one for each operator, event and name."""
    return sum(1 for _ in subexpressions(E))


# ---------------------------------------------------------------------------------------------------------------------
# The operators of event expressions, as a table: vldb92, sections 2.2, 2.3, 5 and 6. Let is not an operator.

OR, AND, PIPE, SLASH, SERIES, EQUATED, COUNTED, PRIMARY = range(8)  # levels, from loose to tight
SMALL = Comparison("<=", Attribute("n"), Constant(1))

OPERATORS = table(
    Operator(
        Null, "null", "NULL", "null", "vldb92 section 2.2, 2", "NULL",
        "leaf", PRIMARY, samples=(Null,),
    ),
    Operator(
        Primitive, "event", "an event type", "primitive event", "vldb92 section 2.2, 3", "{}",
        "leaf", PRIMARY,
        samples=(
            lambda: Primitive("a"),
            lambda: Primitive("a", ("I", Constant(1))),
            lambda: Primitive("a", (), SMALL),
            lambda: Primitive("a", ("I",), SMALL),
        ),
    ),
    Operator(
        ExpressionAnd, "and", "and", "conjunction", "vldb92 section 2.2, 4", "{left} and {right}",
        "infix", AND, aliases=("^", "AND", "∧"),
    ),
    Operator(
        ExpressionNot, "not", "!", "negation", "vldb92 section 2.2, 5", "!{operand}",
        "prefix", COUNTED, monotone=False, aliases=("not ", "¬"),
    ),
    Operator(
        Relative, "relative", "relative", "relative", "vldb92 section 2.2, 6", "relative({parts})",
        "call", PRIMARY, samples=(lambda *parts: Relative(parts),),
    ),
    Operator(
        RelativePlus, "relative_plus", "relative+", "relative+", "vldb92 section 2.2, 7", "relative+({operand})",
        "call", PRIMARY, aliases=("rel+",),
    ),
    Operator(
        ExpressionOr, "or", "or", "disjunction", "vldb92 section 2.3, a", "{left} or {right}",
        "infix", OR, aliases=("OR", "∨"),
    ),
    Operator(
        AnyEvent, "any", "any", "any event", "vldb92 section 2.3, b", "any",
        "leaf", PRIMARY, samples=(AnyEvent,),
    ),
    Operator(
        Prior, "prior", "prior", "prior", "vldb92 section 2.3, c and d", "prior({parts})",
        "call", PRIMARY, samples=(lambda *parts: Prior(parts),),
    ),
    Operator(
        Sequence, "sequence", "sequence", "sequence", "vldb92 section 2.3, e", "sequence({parts})",
        "call", PRIMARY, samples=(lambda *parts: Sequence(parts),),
    ),
    Operator(
        First, "first", "first", "first event", "vldb92 section 2.3, f", "first",
        "leaf", PRIMARY, samples=(First,),
    ),
    Operator(
        Pipe, "pipe", "|", "pipe", "vldb92 section 2.3, g", "{left} | {right}", "infix", PIPE,
        monotone=False,
    ),
    Operator(
        Nth, "nth", "<n>", "the n-th event", "vldb92 section 2.3, h", "<{n}> {operand}",
        "prefix", COUNTED, samples=tuple(lambda operand, n=n: Nth(n, operand) for n in (1, 2, 3)),
        monotone=False,
    ),
    Operator(
        EveryNth, "every", "every <n>", "every n-th event", "vldb92 section 2.3, i", "every <{n}> {operand}",
        "prefix", COUNTED, samples=tuple(lambda operand, n=n: EveryNth(n, operand) for n in (1, 2, 3)),
        monotone=False,
    ),
    Operator(
        After, "after", "/", "after the first", "vldb92 section 2.3, j", "{left} / {right}",
        "infix", SLASH, chains=True, monotone=False,
    ),
    Operator(
        ExpressionBetween, "between", "/+", "between two", "vldb92 section 2.3, k", "{left} /+ {right}",
        "infix", SLASH, chains=True, monotone=False,
    ),
    Operator(
        FirstAfter, "first_after", "firstAfter", "firstAfter", "vldb92 section 2.3, l",
        "firstAfter({opening}, {event}, {closing})", "call", PRIMARY, monotone=False,
    ),
    Operator(Before, "before", "before", "before", "vldb92 section 2.3, m", "before({operand})", "call", PRIMARY),
    Operator(
        Happened, "happened", "happened", "happened", "vldb92 section 2.3, n", "happened({operand})",
        "call", PRIMARY,
    ),
    Operator(Prefix, "prefix", "prefix", "prefix", "vldb92 section 2.3, o", "prefix({operand})", "call", PRIMARY),
    Operator(ExpressionSeries, "series", "*", "series", "vldb92 section 2.3, p", "{left} * {right}", "infix", SERIES),
    Operator(
        Exists, "exists", "exists", "exists", "vldb92 section 5, 6", "exists {variable} ({operand})",
        "call", PRIMARY, samples=(lambda operand: Exists("x", operand),), aliases=("∃",),
    ),
    Operator(
        Equated, "equated", "=", "at a correlation variable", "vldb92 section 5, 7", "{operand} = {variable}",
        "postfix", EQUATED, samples=(lambda operand: Equated(operand, "x"),),
    ),
    Operator(
        ExpressionVariable, "variable", "a variable", "correlation variable", "vldb92 section 5", "{name}",
        "leaf", PRIMARY, samples=(lambda: ExpressionVariable("x"),),
    ),
    Operator(
        Constraint, "constraint", "a comparison", "constraint", "vldb92 section 6.2", "{comparison}",
        "postfix", EQUATED, samples=(lambda: Constraint(Comparison("!=", Attribute("I"), Constant(1))),),
    ),
    Operator(
        ExpressionNamed, "named", "a name", "named expression", "vldb92 section 6", "{}",
        "leaf", PRIMARY, samples=(lambda: ExpressionNamed("p"), lambda: ExpressionNamed("p", ("I", Constant(1)))),
    ),
)  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# From an event expression to its text, which parses back to an equal expression.

SHOWN = 200  # characters of an expression in an error

RESERVED = RESERVED_TERMS | {
    *("NULL", "any", "first", "relative", "prior", "sequence", "firstAfter", "before", "happened", "prefix", "exists"),
    *("every", "∃", "or", "and"),
}
"""Words that cannot be an event type, a variable or a named expression."""

Field: TypeAlias = str | int | Comparison | Primitive | ExpressionNamed


def show(E: Expression) -> str:
    """Return the text of an expression, with no more parentheses than needed."""
    if not isinstance(E, Let):
        return printed(E, OPERATORS, _show_field)
    heads = (f"{_event(d.name, d.parameters)} := {show(d.body)}; " for d in E.definitions)
    return "".join(heads) + show(E.body)


def brief(E: Expression) -> str:
    """Return the text of an expression for an error, shortened if long."""
    return shorten(show(E), SHOWN)


def _show_field(value: Field) -> str:
    match value:
        case int():
            return str(value)
        case str():
            return show_name(value, RESERVED)
        case Comparison():
            return show_predicate(value)
        case Primitive(T, arguments, mask):
            return _event(T, arguments) + ("" if mask is None else f"[{show_predicate(mask)}]")
        case ExpressionNamed(name, arguments):
            return _event(name, arguments)
        case _:
            assert_never(value)


def _event(name: str, arguments: tuple[Argument, ...]) -> str:
    text = show_name(name, RESERVED)
    if not arguments:
        return text
    shown = (show_name(a, RESERVED_TERMS) if isinstance(a, str) else show_value(a.value) for a in arguments)
    return f"{text}({', '.join(shown)})"


# ---------------------------------------------------------------------------------------------------------------------
# The type of the relation of compatible tuples (vldb92, section 6.1), which the definition and the automata return.

KindedValue: TypeAlias = tuple[str, Value]
"""A value with its kind, because 1 and true are different values."""

Row: TypeAlias = tuple[int, tuple[KindedValue, ...]]
"""The position of an event, and a value of each variable."""


class Relation(NamedTuple):
    """A table of bindings: the names of the variables, and a row for each event and each choice of values."""

    variables: tuple[str, ...]
    rows: frozenset[Row]
