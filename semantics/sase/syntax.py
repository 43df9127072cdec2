"""The syntax of SASE+: sase07, sections 2.2 and A.1, and icde08, section II.

The letters used for these trees, here and in every module of this package:
    q        a query                   a, b, c  variables, each of a component of the pattern
    k        a component of a pattern   p        a condition: a Predicate over References and Aggregates
    S        a stream                   i        an index into an array variable, from 1 as the papers have it
Two trees are equal if they are the same query; where in a text they stood does not count.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Literal, TypeAlias, dataclass_transform

from cerify.semantics.errors import Span
from cerify.semantics.predicates import Attribute, Predicate, Term

Strategy = Literal["strict_contiguity", "partition_contiguity", "skip_till_next_match", "skip_till_any_match"]
STRATEGIES: tuple[Strategy, ...] = (
    "strict_contiguity",
    "partition_contiguity",
    "skip_till_next_match",
    "skip_till_any_match",
)
DEFAULT: Strategy = "skip_till_next_match"
"""The strategy of a component that is given none (section 2.2.1)."""

INPUT_STREAM = "InputStream"
"""The name that FROM may give to the stream that comes from outside (icde08, Figure 1)."""

Index = Literal["only", "first", "current", "previous", "last"]
"""Which event of a variable: a, b[1], b[i], b[i-1], b[b.LEN]."""

Unit = Literal["seconds", "minutes", "hours", "days", "weeks"]
SECONDS: dict[Unit, int] = {"seconds": 1, "minutes": 60, "hours": 3_600, "days": 86_400, "weeks": 604_800}


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
@dataclass(frozen=True)
class Node:
    """A part of a query with its place in the text; each subclass is a frozen dataclass too."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


# --- terms: what a condition may say of the events of a match ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reference(Attribute):
    """a.name, b[1].name, b[i].name, b[i-1].name, b[b.LEN].name: an attribute of one event; variable is never None."""

    place: Index = "only"


@dataclass(frozen=True, slots=True)
class Aggregate(Attribute):
    """avg(b[].name), or avg(b[..i-1].name) if it is running: of all events of b, or of those before b[i].

    name is "" where the function counts events and looks at no attribute: count(b[]). parameter is the number that
    highest(3, b[].name) and lowest(3, b[].name) take.
    """

    function: str = "count"
    parameter: int | None = None
    running: bool = False


# --- PATTERN and WHERE ------------------------------------------------------------------------------------------------


class Component(Node):
    """A a, A+ a[], ~A a, ~A+ a[]: one event of a type, or one or more, or with ~ that there are none."""

    type: str
    variable: str
    kleene: bool = False
    negated: bool = False


class Equivalence(Node):
    """[attribute]: all events of a match agree on the attribute."""

    attribute: str


class Conjunct(Node):
    """One predicate of WHERE; underlined, _( p )_, if it defines the partitions (section 2.2.1)."""

    condition: Predicate | Equivalence
    underlined: bool = False


class Selected(Node):
    """a, b[] or b[]! as the argument of a strategy; cut is the forced break, `!`."""

    variable: str
    cut: bool = False


class Block(Node):
    """strategy(a, b[]!) { conjuncts }; strategy is None, and arguments are empty, where WHERE has bare predicates."""

    strategy: Strategy | None
    arguments: tuple[Selected, ...]
    conjuncts: tuple[Conjunct, ...]


class Window(Node):
    """WITHIN 4 hours."""

    amount: int | float
    unit: Unit

    @property
    def seconds(self) -> int | float:
        """The length of the window."""
        return self.amount * SECONDS[self.unit]


# --- RETURN -----------------------------------------------------------------------------------------------------------


class Simple(Node):
    """A term: one value of a simple type."""

    term: Term


class Series(Node):
    """b[].name: the sequence of the values of an attribute."""

    variable: str
    name: str


class Composite(Node):
    """a.(x, y), b[i].(x, y) at any place: one value that is composed of several."""

    variable: str
    place: Index
    names: tuple[str, ...]


class CompositeSeries(Node):
    """b[].(x, y): a sequence of composed values."""

    variable: str
    names: tuple[str, ...]


Output: TypeAlias = Simple | Series | Composite | CompositeSeries


class Item(Node):
    """One attribute of the resulting event; alias is the name given by AS."""

    output: Output
    alias: str | None = None


class Return(Node):
    """RETURN [NON-OVERLAP] [type](items) [IN STREAM stream], or RETURN items: the result event of a match.

    Without items it is a query without RETURN, whose result has no attributes.
    """

    items: tuple[Item, ...]
    type: str | None = None
    stream: str | None = None
    non_overlap: bool = False


# --- queries ----------------------------------------------------------------------------------------------------------


class Query(Node):
    """A query block; source is the name of the stream it reads, None for the input stream."""

    pattern: tuple[Component, ...]
    returned: Return
    where: tuple[Block, ...] = ()
    within: Window | None = None
    having: Predicate | None = None
    source: str | None = None
    having_span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


class Union(Node):
    """q UNION q …: the results of all."""

    parts: tuple[Query, ...]


class Program(Node):
    """Queries that read each other's streams, named by IN STREAM; the answers are those of the last one."""

    queries: tuple[Query | Union, ...]


Tree: TypeAlias = Query | Union | Program


def depth(root: object) -> int:
    """How deeply a tree is nested."""
    deepest, pending = 0, [(root, 1)]
    while pending:
        node, level = pending.pop()
        deepest = max(deepest, level)
        if isinstance(node, tuple):
            pending.extend((child, level) for child in node)
        elif is_dataclass(node):
            pending.extend((getattr(node, f.name), level + 1) for f in fields(node) if not f.name.endswith("span"))
    return deepest
