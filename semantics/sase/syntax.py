"""The syntax of SASE+: sase07, sections 2.2 and A.1, and icde08, section II.

The letters used for these trees, here and in every module of this package:
    q        a query                   a, b, c  variables, each of a component of the pattern
    k        a component of a pattern   p        a condition: a Predicate over References and Aggregates
    S        a stream                   i        an index into an array variable, from 1 as the papers have it
Two trees are equal if they are the same query, whatever their places in a text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import ClassVar, Literal, TypeAlias, assert_never, dataclass_transform, get_args

from cerify.semantics.arguments import depth_limited
from cerify.semantics.errors import Span
from cerify.semantics.predicates import (
    Attribute,
    Comparison,
    Constant,
    Either,
    Predicate,
    Term,
    WrittenTerm,
    mapped_predicate,
    show_name,
    show_predicate,
    show_term,
)

Strategy = Literal["strict_contiguity", "partition_contiguity", "skip_till_next_match", "skip_till_any_match"]
STRATEGIES: tuple[Strategy, ...] = (
    "strict_contiguity",
    "partition_contiguity",
    "skip_till_next_match",
    "skip_till_any_match",
)
DEFAULT: Strategy = "skip_till_next_match"
"""The strategy of a component for which the query gives none (section 2.2.1)."""

INPUT_STREAM = "InputStream"
"""The name of the input stream in FROM (icde08, Figure 1)."""

Index = Literal["only", "first", "current", "previous", "last"]
"""Which event of a variable: a, b[1], b[i], b[i-1], b[b.LEN]."""

Unit = Literal["seconds", "minutes", "hours", "days", "weeks"]
SECONDS: dict[Unit, int] = {"seconds": 1, "minutes": 60, "hours": 3_600, "days": 86_400, "weeks": 604_800}


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
@dataclass(frozen=True)
class SaseNode:
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
class SaseAggregate(Attribute):
    """avg(b[].name), over all events of b; or avg(b[..i-1].name), a running aggregate, over the events of b before
    b[i].

    name is "" if the function counts events without an attribute: count(b[]). parameter is the number in
    highest(3, b[].name) and lowest(3, b[].name).
    """

    WORD: ClassVar[str] = "Aggregate"

    function: str = "count"
    parameter: int | None = None
    running: bool = False


# --- PATTERN and WHERE ------------------------------------------------------------------------------------------------


class Component(SaseNode):
    """A a: one event of type A. A+ a[]: one event or more. ~A a, ~A+ a[]: no such event in between."""

    type: str
    variable: str
    kleene: bool = False
    negated: bool = False


class Equivalence(SaseNode):
    """[attribute]: all events of a match agree on the attribute."""

    attribute: str


class Conjunct(SaseNode):
    """One predicate of WHERE; underlined, _( p )_, if it defines the partitions (sase07, section 2.2.1)."""

    condition: Predicate | Equivalence
    underlined: bool = False


class Selected(SaseNode):
    """a, b[] or b[]! as the argument of a strategy; cut is true for `!`, which makes the Kleene plus stop (icde08)."""

    variable: str
    cut: bool = False


class Block(SaseNode):
    """strategy(a, b[]!) { conjuncts }; if WHERE has bare predicates, strategy is None and arguments are empty."""

    strategy: Strategy | None
    arguments: tuple[Selected, ...]
    conjuncts: tuple[Conjunct, ...]


class SaseWindow(SaseNode):
    """The length of the window, as in WITHIN 4 hours."""

    WORD: ClassVar[str] = "Window"

    amount: int | float
    unit: Unit

    @property
    def seconds(self) -> int | float:
        """Return the length of the window in seconds."""
        return self.amount * SECONDS[self.unit]


# --- RETURN -----------------------------------------------------------------------------------------------------------


class Simple(SaseNode):
    """A term: one value of a simple type."""

    term: Term


class SaseSeries(SaseNode):
    """b[].name: the sequence of the values of an attribute."""

    WORD: ClassVar[str] = "Series"

    variable: str
    name: str


class Composite(SaseNode):
    """a.(x, y), or b[i].(x, y) with any index: one value, composed of the values of several attributes."""

    variable: str
    place: Index
    names: tuple[str, ...]


class CompositeSeries(SaseNode):
    """b[].(x, y): a sequence of composed values."""

    variable: str
    names: tuple[str, ...]


Output: TypeAlias = Simple | SaseSeries | Composite | CompositeSeries


class Item(SaseNode):
    """One attribute of the resulting event; alias is the name given by AS."""

    output: Output
    alias: str | None = None


class Return(SaseNode):
    """RETURN [NON-OVERLAP] [type](items) [IN STREAM stream], or RETURN items: the result event of a match.

    Without items it stands for the absence of RETURN; the result then has no attributes.
    """

    items: tuple[Item, ...]
    type: str | None = None
    stream: str | None = None
    non_overlap: bool = False


# --- queries ----------------------------------------------------------------------------------------------------------


class SaseQuery(SaseNode):
    """A query block; source is the name of the stream it reads, None for the input stream."""

    WORD: ClassVar[str] = "Query"

    pattern: tuple[Component, ...]
    returned: Return
    where: tuple[Block, ...] = ()
    within: SaseWindow | None = None
    having: Predicate | None = None
    source: str | None = None
    having_span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


class SaseUnion(SaseNode):
    """q UNION q …: the results of all its queries."""

    WORD: ClassVar[str] = "Union"

    parts: tuple[SaseQuery, ...]


class Program(SaseNode):
    """Queries that read each other's streams, named by IN STREAM; the results are those of the last query."""

    queries: tuple[SaseQuery | SaseUnion, ...]


Tree: TypeAlias = SaseQuery | SaseUnion | Program


def depth(root: object) -> int:
    """Return the depth of nesting of a tree."""
    deepest, pending = 0, [(root, 1)]
    while pending:
        node, level = pending.pop()
        deepest = max(deepest, level)
        if isinstance(node, tuple):
            pending.extend((child, level) for child in node)
        elif is_dataclass(node):
            pending.extend((getattr(node, f.name), level + 1) for f in fields(node) if not f.name.endswith("span"))
    return deepest


# ---------------------------------------------------------------------------------------------------------------------
# From a query of SASE+ to its text, which parses back to an equal query.

RESERVED = frozenset({"within", "having", "return", "union", "from", "not", "and", "or", "true", "false"}).union(
    get_args(Strategy), ("skip_til_next_match", "skip_til_any_match")
)
"""Words, in either case, that cannot be a variable at the beginning of a condition."""


def show(q: Tree) -> str:
    """Return the text of a query. Raises BudgetExceeded if it is nested too deeply."""
    with depth_limited(q.span):
        match q:
            case SaseQuery():
                return _query(q)
            case SaseUnion(parts):
                return " UNION ".join(map(_query, parts))
            case Program(queries):
                return "; ".join(map(show, queries))
            case _:
                assert_never(q)


def _variable(name: str) -> str:
    return name and show_name(name, frozenset() if name.casefold() not in RESERVED else frozenset({name}))


def _query(q: SaseQuery) -> str:
    clauses = [] if q.source is None else [f"FROM {show_name(q.source)}"]
    clauses.append(f"PATTERN SEQ({', '.join(map(show_component, q.pattern))})")
    if q.where:
        clauses.append(f"WHERE {' '.join(show_block(block, q) for block in q.where)}")
    if q.within is not None:
        clauses.append(f"WITHIN {show_window(q.within)}")
    if q.having is not None:
        clauses.append(f"HAVING {show_condition(q.having)}")
    if q.returned.items:
        clauses.append(f"RETURN {show_return(q.returned)}")
    return " ".join(clauses)


def show_component(k: Component) -> str:
    """Return the text of a component, as in A a, B+ b[] and ~C c."""
    mark, plus, array = "~" * k.negated, "+" * k.kleene, "[]" * k.kleene
    return f"{mark}{show_name(k.type)}{plus} {_variable(k.variable)}{array}"


def show_block(block: Block, q: SaseQuery) -> str:
    """Return the text of a block: strategy(a, b[]!) { … }, or bare predicates."""
    inner = " and ".join(show_conjunct(conjunct, len(block.conjuncts) > 1) for conjunct in block.conjuncts)
    if block.strategy is None:
        return inner
    arrays = {k.variable for k in q.pattern if k.kleene}
    arguments = (
        f"{_variable(s.variable)}{'[]' if s.variable in arrays else ''}{'!' if s.cut else ''}" for s in block.arguments
    )
    return (
        f"{block.strategy}({', '.join(arguments)}) {{ {inner} }}"
        if inner
        else f"{block.strategy}({', '.join(arguments)}) {{ }}"
    )


def show_conjunct(conjunct: Conjunct, among_others: bool = False) -> str:
    """Return the text of a conjunct; if it stands among others, an "or" is in parentheses."""
    match conjunct.condition:
        case Equivalence(attribute):
            text = f"[{show_name(attribute)}]"
        case p:
            text = show_condition(p)
            if isinstance(p, Either) and among_others and not conjunct.underlined:
                text = f"({text})"
    return f"_({text})_" if conjunct.underlined else text


def show_window(window: SaseWindow) -> str:
    """Return the text of a window's length, as in 4 hours."""
    return f"{window.amount} {window.unit.removesuffix('s') if window.amount == 1 else window.unit}"


def show_return(returned: Return) -> str:
    """Return the text of RETURN: [NON-OVERLAP] items, or a type and its items, and [IN STREAM …]."""
    items = [show_item(item) for item in returned.items]
    match returned.items[:1]:
        case [Item(Simple(Constant() as c))] if returned.type is not None:
            # in parentheses, because T(3, a.x) would be parsed as an aggregate, such as highest(3, a[].x)
            items[0] = items[0].replace(text := show_term(c), f"({text})", 1)
    listed = ", ".join(items)
    text = listed if returned.type is None else f"{_variable(returned.type)}({listed})"
    stream = "" if returned.stream is None else f" IN STREAM {show_name(returned.stream)}"
    return f"{'NON-OVERLAP ' if returned.non_overlap else ''}{text}{stream}"


def show_item(item: Item) -> str:
    """Return the text of an attribute of the result, with its name."""
    return show_output(item.output) + ("" if item.alias is None else f" AS {show_name(item.alias)}")


def show_output(output: Output) -> str:
    """Return the text of an attribute of the result, without its name."""
    match output:
        case Simple(term):
            return show_of(term)
        case SaseSeries(b, name):
            return f"{_variable(b)}[].{show_name(name)}"
        case Composite(a, place, names):
            return f"{_variable(a)}{_index(a, place)}.({', '.join(map(show_name, names))})"
        case CompositeSeries(b, names):
            return f"{_variable(b)}[].({', '.join(map(show_name, names))})"
        case _:
            assert_never(output)


def show_condition(p: Predicate) -> str:
    """Return the text of a predicate over references and aggregates."""
    return show_predicate(mapped_predicate(p, as_written))


def show_of(term: Term) -> str:
    """Return the text of a term over references and aggregates."""
    written = mapped_predicate(Comparison("=", term, Constant(0)), as_written)
    assert isinstance(written, Comparison)
    return show_term(written.left)


def as_written(attribute: Attribute) -> Attribute:
    """Return a plain Attribute whose name is the text of the reference or aggregate."""
    return WrittenTerm(show_attribute(attribute))


def show_attribute(attribute: Attribute) -> str:
    """Return the text of a reference or an aggregate, as in a.x, b[i-1].x and avg(b[].x)."""
    a = _variable(attribute.variable or "")
    name = f".{show_name(attribute.name)}" if attribute.name else ""
    match attribute:
        case SaseAggregate(function=function, parameter=parameter, running=running):
            number = "" if parameter is None else f"{parameter}, "
            return f"{_variable(function)}({number}{a}{'[..i-1]' if running else '[]'}{name})"
        case Reference(place=place):
            return f"{a}{_index(attribute.variable or '', place)}{name}"
        case _:
            raise TypeError(f"{attribute} is not a reference of SASE+")


def _index(a: str, place: Index) -> str:
    return f"[{show_name(a)}.LEN]" if place == "last" else _INDEXES[place]


_INDEXES: Mapping[Index, str] = {"only": "", "first": "[1]", "current": "[i]", "previous": "[i-1]"}


# ---------------------------------------------------------------------------------------------------------------------
# The names of the attributes of a result event, and of its type (sase07, section 2.1).


def names_of(returned: Return) -> tuple[str, ...]:
    """Return the names of the attributes of a result event.

    An item without AS has the name of its attribute, or of the variable whose attributes it composes. If it has no such
    name, or another item has the same one, its name is its text.
    """
    short = [item.alias or _short(item.output) for item in returned.items]
    times = Counter(short)
    return tuple(
        name if name is not None and (item.alias is not None or times[name] == 1) else show_output(item.output)
        for item, name in zip(returned.items, short, strict=True)
    )


def _short(output: Output) -> str | None:
    match output:
        case Simple(Reference(name)) | SaseSeries(_, name):
            return name
        case Composite(a) | CompositeSeries(a):
            return a
        case Simple():
            return None
        case _:
            assert_never(output)


def type_of(returned: Return) -> str:
    """Return the type of the result events: as RETURN names it, else the name of their stream."""
    return returned.type or returned.stream or "result"


# ---------------------------------------------------------------------------------------------------------------------
# The names of the aggregates of SASE+. Each is an associative operation with an identity (sase07, section 2.2.4 and
# footnote 3). The definition computes them by `folded` in denote.py, the automata step by step in
# automata/nfab/moves.py.

BUILT_IN = ("count", "sum", "avg", "min", "max")
RANKED = ("highest", "lowest")  # aggregates with a number as their first argument
