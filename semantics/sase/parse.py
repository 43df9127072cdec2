"""From text to a query of SASE+, with errors that know their place in the text (syntax.md, "SASE+").

What the tree does not keep is checked here: that an array is written with [], in the pattern and in the arguments of a
strategy, and that two predicates side by side are joined by "and", by ∧, or by a new line.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path
from typing import Any, cast

from lark import Lark, Token
from lark.tree import Meta
from lark.visitors import v_args

from cerify.semantics.errors import BudgetExceeded, IllFormed, ParseError, Span, errors_in
from cerify.semantics.parsing import MAX_DEPTH, PredicateBuilder, number_of, parsed, span_of
from cerify.semantics.predicates import Both, Constant, Either, Not, Predicate, Term
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import BUILT_IN, RANKED
from cerify.semantics.sase.operators import STRATEGIES


def parse(text: str) -> sase.Tree:
    """The query, or the queries, that the text writes. Raises ParseError, IllFormed, or BudgetExceeded if too deep."""
    q = cast("sase.Tree", parsed(text, _parser(), _Builder(text)))
    with errors_in(text):
        if sase.depth(q) > MAX_DEPTH:
            raise BudgetExceeded(f"the query is nested more than {MAX_DEPTH} operators deep", Span(0, len(text)))
    return q


@cache
def _parser() -> Lark:
    folder = Path(__file__).parent
    files = (folder.parent / "predicates.lark", folder / "grammar.lark")  # its own rules extend those of predicates
    grammar = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=False)


@dataclass(frozen=True)
class _Having:
    """The condition of HAVING, and the place of the clause."""

    condition: Predicate
    span: Span


@dataclass(frozen=True)
class _Argument:
    """An argument of a strategy as it is written."""

    selected: sase.Selected
    array: bool


@dataclass(frozen=True)
class _Named:
    """The name in a clause, with the kind of clause."""

    clause: str
    name: str


@dataclass(frozen=True)
class _Conjoined:
    """Conjuncts that are written as one, and whether this is an "or" without parentheses."""

    conjuncts: tuple[sase.Conjunct, ...]
    loose: bool
    span: Span


@dataclass(frozen=True)
class _Index:
    place: sase.Place
    variable: str | None  # the one written before LEN
    span: Span


@v_args(meta=True)
class _Builder(PredicateBuilder):
    """One method for each alternative of the grammar, in the grammar's order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    # --- queries ---

    def program(self, meta: Meta, children: list[Any]) -> sase.Tree:
        return (
            cast("sase.Tree", children[0]) if len(children) == 1 else sase.Program(tuple(children), span=span_of(meta))
        )

    def union(self, meta: Meta, children: list[Any]) -> sase.Query | sase.Union:
        return (
            cast("sase.Query", children[0]) if len(children) == 1 else sase.Union(tuple(children), span=span_of(meta))
        )

    def query(self, meta: Meta, children: list[Any]) -> sase.Query:
        source, within, having = None, None, None
        pattern: tuple[sase.Component, ...] = ()
        where: list[Any] = []
        for child in children[:-1]:
            if isinstance(child, _Named):
                source = child.name
            elif isinstance(child, sase.Window):
                within = child
            elif isinstance(child, _Having):
                having = child
            elif isinstance(child[0], sase.Component):
                pattern = tuple(child)
            else:
                where = list(child)
        blocks = tuple(
            _block(strategy, arguments, conjuncts, span, pattern) for strategy, arguments, conjuncts, span in where
        )
        condition, place = (None, None) if having is None else (having.condition, having.span)
        span = span_of(meta)
        return sase.Query(pattern, children[-1], blocks, within, condition, source, span=span, having_span=place)

    def from_(self, meta: Meta, children: list[Any]) -> _Named:
        return _Named("from", str(children[0]))

    def pattern(self, meta: Meta, children: list[Any]) -> tuple[sase.Component, ...]:
        return tuple(children)

    def component(self, meta: Meta, children: list[Any]) -> sase.Component:
        marks = {token.type for token in children}
        type_, variable = (str(token) for token in children if token.type == "NAME")
        kleene, array = "PLUS" in marks, "EMPTY" in marks
        if kleene != array:
            said = f"{type_}+ {variable}[]"
            why = (
                f"a Kleene plus declares an array: write {said}"
                if kleene
                else f"an array holds one or more: write {said}"
            )
            raise ParseError(why, span_of(meta))
        return sase.Component(type_, variable, kleene, "TILDE" in marks, span=span_of(meta))

    # --- WHERE ---

    def where(self, meta: Meta, children: list[Any]) -> list[Any]:
        return [
            (None, (), child, span_of(meta)) if isinstance(child[0], sase.Conjunct) else child for child in children
        ]

    def block(self, meta: Meta, children: list[Any]) -> Any:
        strategy, *rest = children
        name = STRATEGIES[str(strategy).lower()]
        conjuncts = next((child for child in rest if isinstance(child, tuple)), ())
        return name, tuple(child for child in rest if isinstance(child, _Argument)), conjuncts, span_of(meta)

    def selected(self, meta: Meta, children: list[Any]) -> _Argument:
        marks = {token.type for token in children[1:]}
        return _Argument(sase.Selected(str(children[0]), "CUT" in marks, span=span_of(meta)), "EMPTY" in marks)

    def body(self, meta: Meta, children: list[Any]) -> tuple[sase.Conjunct, ...]:
        found: list[sase.Conjunct] = []
        last: _Conjoined | None = None
        for before, child in zip([None, *children], children, strict=False):
            if isinstance(child, Token):
                continue
            if last is not None and isinstance(before, Token) and (last.loose or child.loose):
                raise ParseError(
                    "or and and side by side: which one comes first? Put parentheses around the or",
                    (last if last.loose else child).span,
                )
            if last is not None and last is before and "\n" not in self.text[last.span.end : child.span.start]:
                raise ParseError("what joins these two predicates? Write and between them, or a new line", child.span)
            found.extend(child.conjuncts)
            last = child
        return tuple(found)

    def joint(self, meta: Meta, children: list[Any]) -> Token:
        return Token("AND", "and")

    def underlined(self, meta: Meta, children: list[Any]) -> _Conjoined:
        span = span_of(meta)
        inner = children[1] if isinstance(children[1], _Conjoined) else _conjoined(children[1], False, span)
        return _Conjoined(tuple(sase.Conjunct(c.condition, True, span=span) for c in inner.conjuncts), False, span)

    def equivalence(self, meta: Meta, children: list[Any]) -> _Conjoined:
        span = span_of(meta)
        test = sase.Equivalence(str(children[0]), span=span)
        return _Conjoined((sase.Conjunct(test, span=span),), False, span)

    def disjunction(self, meta: Meta, children: list[Any]) -> _Conjoined:
        return _conjoined(reduce(Either, children), len(children) > 1, span_of(meta))

    # --- WITHIN, HAVING, RETURN ---

    def within(self, meta: Meta, children: list[Any]) -> sase.Window:
        amount, unit = children
        return sase.Window(
            number_of(amount), cast("sase.Unit", str(unit).lower().rstrip("s") + "s"), span=span_of(meta)
        )

    def having(self, meta: Meta, children: list[Any]) -> _Having:
        return _Having(cast("Predicate", children[0]), span_of(meta))

    def return_(self, meta: Meta, children: list[Any]) -> sase.Return:
        type_, stream, non_overlap = None, None, False
        items = tuple(child for child in children if isinstance(child, sase.Item))
        for child in children:
            match child:
                case Token(type="NON_OVERLAP"):
                    non_overlap = True
                case Token():
                    type_ = str(child)
                case _Named("stream", name):
                    stream = name
        return sase.Return(items, type_, stream, non_overlap, span=span_of(meta))

    def stream(self, meta: Meta, children: list[Any]) -> _Named:
        return _Named("stream", str(children[0]))

    def item(self, meta: Meta, children: list[Any]) -> sase.Item:
        output, *alias = children
        return sase.Item(output, str(alias[0]) if alias else None, span=span_of(meta))

    def simple(self, meta: Meta, children: list[Any]) -> sase.Output:
        return sase.Simple(children[0], span=span_of(meta))

    def series(self, meta: Meta, children: list[Any]) -> sase.Output:
        variable, _, name = map(str, children)
        return sase.Series(variable, name, span=span_of(meta))

    def composite_series(self, meta: Meta, children: list[Any]) -> sase.Output:
        variable, _, names = children
        return sase.CompositeSeries(str(variable), names, span=span_of(meta))

    def composite(self, meta: Meta, children: list[Any]) -> sase.Output:
        variable, *index, names = children
        place = _place(str(variable), index[0]) if index else "only"
        return sase.Composite(str(variable), place, names, span=span_of(meta))

    def names(self, meta: Meta, children: list[Any]) -> tuple[str, ...]:
        return tuple(map(str, children))

    # --- predicates and terms ---

    def either(self, meta: Meta, children: list[Any]) -> Predicate:
        return Either(children[0], children[-1])

    def both(self, meta: Meta, children: list[Any]) -> Predicate:
        return Both(children[0], children[-1])

    def negated(self, meta: Meta, children: list[Any]) -> Predicate:
        return Not(children[-1])

    def attribute(self, meta: Meta, children: list[Any]) -> Term:
        name = str(children[0])
        raise ParseError(
            f"whose attribute is {name!r}? Write it with the variable of an event, as in a.{name}", span_of(meta)
        )

    def mention(self, meta: Meta, children: list[Any]) -> Term:
        variable, name = map(str, children)
        return sase.Reference(name, variable)

    def reference(self, meta: Meta, children: list[Any]) -> Term:
        variable, index, name = children
        return sase.Reference(str(name), str(variable), _place(str(variable), index))

    def aggregate(self, meta: Meta, children: list[Any]) -> Term:
        function, *rest = children
        number = next((token for token in rest if isinstance(token, Token) and token.type == "NUMBER"), None)
        variable, *name = (str(token) for token in rest if isinstance(token, Token) and token.type == "NAME")
        running = not any(isinstance(token, Token) and token.type == "EMPTY" for token in rest)
        known = str(function).lower()
        known = known if known in (*BUILT_IN, *RANKED) else str(function)
        parameter = None if number is None else number_of(number)
        if (known in RANKED) != (parameter is not None):
            what = f"{known}(3, {variable}[].x)" if known in RANKED else f"{known}({variable}[].x)"
            raise ParseError(f"only highest and lowest take a number, and they need one: write {what}", span_of(meta))
        if parameter is not None and (not isinstance(parameter, int) or parameter < 1):
            raise ParseError(f"{known} takes a whole number of at least 1", span_of(cast("Token", number)))
        if not name and known != "count":
            raise ParseError(f"{known} of what? Name an attribute: {known}({variable}[].x)", span_of(meta))
        return sase.Aggregate(name[0] if name else "", variable, known, parameter, running)

    def percent(self, meta: Meta, children: list[Any]) -> Term:
        return Constant(number_of(children[0]) / 100)

    def index(self, meta: Meta, children: list[Any]) -> _Index:
        span = span_of(meta)
        match [str(token) for token in children]:
            case ["1"]:
                return _Index("first", None, span)
            case ["i"]:
                return _Index("current", None, span)
            case ["i", "-", "1"]:
                return _Index("previous", None, span)
            case [variable, "LEN" | "len"]:
                return _Index("last", variable, span)
        raise ParseError("an index is 1, i, i-1 or, for an array a, a.LEN", span)

    def running(self, meta: Meta, children: list[Any]) -> None:
        if [str(token) for token in children] != ["i", "-", "1"]:
            raise ParseError("the events before b[i] are written b[..i-1]", span_of(meta))


def _place(variable: str, index: _Index) -> sase.Place:
    if index.variable not in (None, variable):
        raise ParseError(f"the last event of {variable} is {variable}[{variable}.LEN]", index.span)
    return index.place


def _conjoined(p: Predicate, loose: bool, span: Span) -> _Conjoined:
    """The conjuncts of a conjunction in parentheses."""
    found: list[sase.Conjunct] = []
    pending = [p]
    while pending:
        match pending.pop():
            case Both(left, right):
                pending += [right, left]
            case other:
                found.append(sase.Conjunct(other, span=span))
    return _Conjoined(tuple(found), loose, span)


def _block(
    strategy: sase.Strategy | None,
    arguments: tuple[_Argument, ...],
    conjuncts: tuple[sase.Conjunct, ...],
    span: Span,
    pattern: tuple[sase.Component, ...],
) -> sase.Block:
    """The block, whose arguments are written as the pattern declares them; all of them if there are none (A.1)."""
    arrays = {k.variable: k.kleene for k in pattern}
    for argument in arguments:
        a = argument.selected.variable
        if a in arrays and arrays[a] != argument.array:
            raise IllFormed(
                f"the pattern declares {a}{'[]' if arrays[a] else ''}; write it so here", argument.selected.span
            )
    selected = tuple(argument.selected for argument in arguments)
    if strategy is not None and not selected:
        selected = tuple(sase.Selected(k.variable) for k in pattern)
    return sase.Block(strategy, selected, conjuncts, span=span)
