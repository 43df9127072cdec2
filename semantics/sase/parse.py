"""Parse queries of SASE+; errors have their place in the text (syntax.md, "SASE+").

This module also checks two rules that the tree does not show. An array is written with [], in the pattern and in the
arguments of a strategy. Two predicates side by side are joined by "and", by ∧, or by a new line.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any, cast

from lark import Lark, Token
from lark.exceptions import UnexpectedInput
from lark.tree import Meta
from lark.visitors import v_args

from cerify.semantics.errors import BudgetExceeded, IllFormed, ParseError, Span, errors_in
from cerify.semantics.parsing import (
    MAX_DEPTH,
    PREDICATES,
    PredicateBuilder,
    explained,
    node,
    number_of,
    parsed,
    parser_of,
    place_of,
    read_before,
    span_of,
)
from cerify.semantics.predicates import Both, Constant, Either, Predicate, Term
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.clauses import STRATEGIES
from cerify.semantics.sase.syntax import BUILT_IN, RANKED


def parse(text: str) -> sase.Tree:
    """Return the query or the queries of a text. Raises ParseError, IllFormed, or BudgetExceeded if too deep."""
    parser = parser_of(PREDICATES, "cerify.semantics.sase")  # the grammar of SASE+ extends that of predicates
    q = cast("sase.Tree", parsed(text, parser, _Builder(text), explained_query))
    with errors_in(text):
        if sase.depth(q) > MAX_DEPTH:
            raise BudgetExceeded(f"the query is nested more than {MAX_DEPTH} operators deep", Span(0, len(text)))
    return q


CLAUSES = ("FROM", "PATTERN", "WHERE", "WITHIN", "HAVING", "RETURN")
"""The clauses of a query, in their order."""


def explained_query(error: UnexpectedInput, text: str, parser: Lark) -> ParseError:
    """Return the error for a text that the grammar does not accept."""
    span = place_of(error, text)
    before = {token.type.strip("_") for token in read_before(text, span.start, parser)[0]}
    word = text[span.start : span.end].upper()
    later = [clause for clause in CLAUSES if word in CLAUSES and clause in before]
    if later and CLAUSES.index(later[-1]) > CLAUSES.index(word) and word not in before:
        return ParseError(f"{word} stands before {later[-1]}; the order is {', '.join(CLAUSES)}", span)
    return explained(error, text, parser)


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
    """The name in a clause, with the word that begins the clause."""

    clause: str
    name: str


@dataclass(frozen=True)
class _Conjoined:
    """Conjuncts that are written together, and whether they are an "or" without parentheses."""

    conjuncts: tuple[sase.Conjunct, ...]
    loose: bool
    span: Span


@dataclass(frozen=True)
class _Index:
    place: sase.Index
    variable: str | None  # the variable before LEN
    span: Span


@v_args(meta=True, inline=True)
class _Builder(PredicateBuilder):
    """One method for each alternative of the grammar, in the grammar's order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    # --- queries ---

    def program(self, meta: Meta, *queries: Any) -> sase.Tree:
        return cast("sase.Tree", queries[0]) if len(queries) == 1 else sase.Program(queries, span=span_of(meta))

    def union(self, meta: Meta, *parts: sase.SaseQuery) -> sase.SaseQuery | sase.SaseUnion:
        return parts[0] if len(parts) == 1 else sase.SaseUnion(parts, span=span_of(meta))

    def query(self, meta: Meta, *children: Any) -> sase.SaseQuery:
        source, within, having = None, None, None
        pattern: tuple[sase.Component, ...] = ()
        where: list[Any] = []
        returned = sase.Return(())
        # The parts are optional, so their places say nothing: each part is known by its class.
        for child in children:
            if isinstance(child, sase.Return):
                returned = child
            elif isinstance(child, _Named):
                source = child.name
            elif isinstance(child, sase.SaseWindow):
                within = child
            elif isinstance(child, _Having):
                having = child
            elif isinstance(child[0], sase.Component):
                pattern = child
            else:
                where = child
        blocks = tuple(
            _block(strategy, arguments, conjuncts, span, pattern) for strategy, arguments, conjuncts, span in where
        )
        condition, place = (None, None) if having is None else (having.condition, having.span)
        span = span_of(meta)
        return sase.SaseQuery(pattern, returned, blocks, within, condition, source, span=span, having_span=place)

    def from_(self, meta: Meta, name: Token) -> _Named:
        return _Named("from", str(name))

    def pattern(self, meta: Meta, *components: sase.Component) -> tuple[sase.Component, ...]:
        return components

    def component(self, meta: Meta, *tokens: Token) -> sase.Component:
        marks = {token.type for token in tokens}
        type_, variable = (str(token) for token in tokens if token.type == "NAME")
        kleene, array = "PLUS" in marks, "EMPTY" in marks
        if kleene != array:
            rule = "a Kleene plus declares an array" if kleene else "an array holds one or more"
            raise ParseError(f"{rule}: write {type_}+ {variable}[]", span_of(meta))
        return sase.Component(type_, variable, kleene, "TILDE" in marks, span=span_of(meta))

    # --- WHERE ---

    def where(self, meta: Meta, *children: Any) -> list[Any]:
        span = span_of(meta)
        return [(None, (), child, span) if isinstance(child[0], sase.Conjunct) else child for child in children]

    def block(self, meta: Meta, strategy: Token, *rest: Any) -> Any:
        name = STRATEGIES[str(strategy).lower()]
        conjuncts = next((child for child in rest if isinstance(child, tuple)), ())
        return name, tuple(child for child in rest if isinstance(child, _Argument)), conjuncts, span_of(meta)

    def selected(self, meta: Meta, name: Token, *tokens: Token) -> _Argument:
        marks = {token.type for token in tokens}
        return _Argument(sase.Selected(str(name), "CUT" in marks, span=span_of(meta)), "EMPTY" in marks)

    def body(self, meta: Meta, *children: Any) -> tuple[sase.Conjunct, ...]:
        found: list[sase.Conjunct] = []
        last: _Conjoined | None = None
        for before, child in zip([None, *children], children, strict=False):
            if isinstance(child, Token):
                continue
            if last is not None and isinstance(before, Token) and (last.loose or child.loose):
                raise ParseError(
                    "`or` beside `and` is ambiguous: put parentheses around the `or`",
                    (last if last.loose else child).span,
                )
            # The papers write one predicate on each line without `and`, so a new line joins predicates too.
            if last is not None and last is before and "\n" not in self.text[last.span.end : child.span.start]:
                raise ParseError("two predicates are not joined: write `and` or a new line between them", child.span)
            found.extend(child.conjuncts)
            last = child
        return tuple(found)

    def joint(self, meta: Meta, *tokens: Token) -> Token:
        return Token("AND", "and")

    def underlined(self, meta: Meta, mark: Token, p: Predicate | _Conjoined) -> _Conjoined:
        span = span_of(meta)
        inner = p if isinstance(p, _Conjoined) else _conjoined(p, False, span)
        return _Conjoined(tuple(sase.Conjunct(c.condition, True, span=span) for c in inner.conjuncts), False, span)

    def equivalence(self, meta: Meta, name: Token) -> _Conjoined:
        span = span_of(meta)
        return _Conjoined((sase.Conjunct(sase.Equivalence(str(name), span=span), span=span),), False, span)

    def disjunction(self, meta: Meta, *parts: Predicate) -> _Conjoined:
        return _conjoined(reduce(Either, parts), len(parts) > 1, span_of(meta))

    # --- WITHIN, HAVING, RETURN ---

    def within(self, meta: Meta, amount: Token, unit: Token) -> sase.SaseWindow:
        units = cast("sase.Unit", str(unit).lower().rstrip("s") + "s")
        return sase.SaseWindow(number_of(amount), units, span=span_of(meta))

    def having(self, meta: Meta, condition: Predicate) -> _Having:
        return _Having(condition, span_of(meta))

    def return_(self, meta: Meta, *children: Any) -> sase.Return:
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

    def stream(self, meta: Meta, name: Token) -> _Named:
        return _Named("stream", str(name))

    item = node(sase.Item)
    simple = node(sase.Simple)
    series = node(sase.SaseSeries)
    composite_series = node(sase.CompositeSeries)

    def composite(self, meta: Meta, variable: Token, *rest: Any) -> sase.Output:
        *index, names = rest
        place = _place(str(variable), index[0]) if index else "only"
        return sase.Composite(str(variable), place, names, span=span_of(meta))

    def names(self, meta: Meta, *names: Token) -> tuple[str, ...]:
        return tuple(map(str, names))

    # --- predicates and terms ---

    def attribute(self, meta: Meta, name: Token) -> Term:
        raise ParseError(
            f"whose attribute is {str(name)!r}? Write it with the variable of an event, as in a.{name}", span_of(meta)
        )

    def mention(self, meta: Meta, variable: Token, name: Token) -> Term:
        return sase.Reference(str(name), str(variable))

    def reference(self, meta: Meta, variable: Token, index: _Index, name: Token) -> Term:
        return sase.Reference(str(name), str(variable), _place(str(variable), index))

    def aggregate(self, meta: Meta, function: Token, *rest: Token | None) -> Term:
        tokens = {kind: [t for t in rest if t is not None and t.type == kind] for kind in ("NUMBER", "NAME", "EMPTY")}
        variable, *name = map(str, tokens["NAME"])
        # Built-in functions are read in any case. A function of your own keeps its case, because it is registered so.
        known = str(function).lower()
        known = known if known in (*BUILT_IN, *RANKED) else str(function)
        parameter = next(map(number_of, tokens["NUMBER"]), None)
        if (known in RANKED) != (parameter is not None):
            what = f"{known}(3, {variable}[].x)" if known in RANKED else f"{known}({variable}[].x)"
            raise ParseError(f"only highest and lowest take a number, and they need one: write {what}", span_of(meta))
        if parameter is not None and (not isinstance(parameter, int) or parameter < 1):
            raise ParseError(f"{known} takes a whole number of at least 1", span_of(tokens["NUMBER"][0]))
        if not name and known != "count":
            raise ParseError(f"{known} of what? Name an attribute: {known}({variable}[].x)", span_of(meta))
        return sase.SaseAggregate(name[0] if name else "", variable, known, parameter, not tokens["EMPTY"])

    def percent(self, meta: Meta, number: Token) -> Term:
        return Constant(number_of(number) / 100)

    def index(self, meta: Meta, *tokens: Token) -> _Index:
        span = span_of(meta)
        match [str(token) for token in tokens]:
            case ["1"]:
                return _Index("first", None, span)
            case ["i"]:
                return _Index("current", None, span)
            case ["i", "-", "1"]:
                return _Index("previous", None, span)
            case [variable, "LEN" | "len"]:
                return _Index("last", variable, span)
        raise ParseError("an index must be 1, i, i-1 or, for an array a, a.LEN", span)

    def running(self, meta: Meta, *tokens: Token) -> None:
        if [str(token) for token in tokens] != ["i", "-", "1"]:
            raise ParseError("write the events before b[i] as b[..i-1]", span_of(meta))


def _place(variable: str, index: _Index) -> sase.Index:
    if index.variable not in (None, variable):
        raise ParseError(f"write the last event of {variable} as {variable}[{variable}.LEN]", index.span)
    return index.place


def _conjoined(p: Predicate, loose: bool, span: Span) -> _Conjoined:
    """Return the conjuncts of a conjunction in parentheses."""
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
    """Return the block, with all variables as arguments if it has none (sase07, A.1).

    Raises IllFormed for an argument that is written as an array but is none, or the reverse.
    """
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
