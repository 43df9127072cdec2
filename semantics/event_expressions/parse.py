"""From text to an event expression, with errors that know their place in the text.

The text does not say whether a name is an event type, a correlation variable or a named expression: resolve.py decides.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, cast

from lark import Lark, Token
from lark.tree import Meta
from lark.visitors import v_args

from cerify.semantics.errors import BudgetExceeded, ParseError, Span, errors_in
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.resolve import resolved
from cerify.semantics.parsing import COMPARATORS, MAX_DEPTH, PredicateBuilder, parsed, parser_of, span_of
from cerify.semantics.predicates import Attribute, Comparator, Comparison, Predicate, mentions


def parse(text: str) -> expr.Expression:
    """The expression that the text writes. Raises ParseError, or BudgetExceeded where it is nested too deeply."""
    raw = parsed(text, _parser(), _Builder())
    with errors_in(text):
        if depth(raw) > MAX_DEPTH:
            raise BudgetExceeded(f"the expression is nested more than {MAX_DEPTH} operators deep", Span(0, len(text)))
        return resolved(raw)


def depth(E: expr.Expression) -> int:
    """How deeply the operators of an expression are nested."""
    deepest, pending = 0, [(E, 1)]
    while pending:
        node, level = pending.pop()
        deepest = max(deepest, level)
        pending.extend((child, level + 1) for child in expr.children(node))
    return deepest


@cache
def _parser() -> Lark:
    return parser_of(Path(__file__).parent)


@v_args(meta=True)
class _Builder(PredicateBuilder):
    """One method for each alternative of the grammar, in the grammar's order."""

    def query(self, meta: Meta, children: list[Any]) -> expr.Expression:
        children = [child for child in children if not isinstance(child, Token)]
        definitions = tuple(child for child in children if isinstance(child, expr.Definition))
        body = children[-1]
        if isinstance(body, expr.Definition):  # a text that ends with a definition is the expression defined there
            body = expr.Primitive(body.name, body.parameters, span=body.span)
        return expr.Let(definitions, body, span=span_of(meta)) if definitions else cast("expr.Expression", body)

    def definition(self, meta: Meta, children: list[Any]) -> expr.Definition:
        head, body = children
        if head.mask is not None:
            raise ParseError(f"what is defined has no mask: write {head.type}(X, ...) := ...", head.span)
        if not all(isinstance(argument, str) for argument in head.arguments):
            raise ParseError("the parameters of what is defined are names, as in complete(I) := ...", head.span)
        return expr.Definition(head.type, head.arguments, body, span=span_of(meta))

    def or_(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.Or(children[0], children[-1], span=span_of(meta))

    def and_(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.And(children[0], children[-1], span=span_of(meta))

    def pipe(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.Pipe(*children, span=span_of(meta))

    def after(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.After(children[0], children[-1], span=span_of(meta))

    def between(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.Between(*children, span=span_of(meta))

    def series(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.Series(children[0], children[-1], span=span_of(meta))

    def compared(self, meta: Meta, children: list[Any]) -> expr.Expression:
        E, comparator, side = children
        if comparator == "=" and isinstance(side, str):
            return expr.Equated(E, side, span=span_of(meta))  # or a constraint X = Y: see resolve.py
        if not (isinstance(E, expr.Primitive) and not E.arguments and E.mask is None):
            raise ParseError(
                "an expression can be equated with a correlation variable, as in E = x; "
                "of attributes only variables are compared, as in X != Y",
                span_of(meta),
            )
        right = Attribute(side) if isinstance(side, str) else side
        symbol = cast("Comparator", COMPARATORS.get(comparator, str(comparator)))
        return expr.Constraint(Comparison(symbol, Attribute(E.type), right), span=span_of(meta))

    def not_(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.Not(children[-1], span=span_of(meta))

    def nth(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.Nth(_count(children[0]), children[1], span=span_of(meta))

    def every(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.EveryNth(_count(children[0]), children[1], span=span_of(meta))

    def null(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.Null(span=span_of(meta))

    def any(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.AnyEvent(span=span_of(meta))

    def first(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.First(span=span_of(meta))

    def relative(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.Relative(children[0], span=span_of(meta))

    def relative_plus(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.RelativePlus(children[-1], span=span_of(meta))

    def prior(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.Prior(children[0], span=span_of(meta))

    def sequence(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.Sequence(children[0], span=span_of(meta))

    def first_after(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.FirstAfter(*children, span=span_of(meta))

    def before(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.Before(children[0], span=span_of(meta))

    def happened(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.Happened(children[0], span=span_of(meta))

    def prefix(self, meta: Meta, children: list[Any]) -> expr.Expression:
        return expr.Prefix(children[0], span=span_of(meta))

    def exists(self, meta: Meta, children: list[Any]) -> expr.Expression:
        x, E = children
        return expr.Exists(str(x), E, span=span_of(meta))

    def expressions(self, meta: Meta, children: list[Any]) -> tuple[expr.Expression, ...]:
        return tuple(children)

    def event(self, meta: Meta, children: list[Any]) -> expr.Expression:
        name, *rest = children
        arguments = next((part for part in rest if isinstance(part, tuple)), ())
        mask = next((part for part in rest if not isinstance(part, tuple)), None)
        return expr.Primitive(str(name), arguments, mask, span=span_of(meta))

    def arguments(self, meta: Meta, children: list[Any]) -> tuple[expr.Argument, ...]:
        return tuple(children)

    def mask(self, meta: Meta, children: list[Any]) -> Predicate:
        for attribute in mentions(children[0]):
            if attribute.variable is not None:
                raise ParseError(
                    f"inside the brackets an attribute stands alone: write {attribute.name}, "
                    f"not {attribute.variable}.{attribute.name}",
                    span_of(meta),
                )
        return cast("Predicate", children[0])

    def unknown(self, meta: Meta, children: list[Any]) -> str:
        return str(children[0])


def _count(token: Token) -> int:
    if not token.isdecimal() or int(token) == 0:
        raise ParseError("events are counted from <1> on, in whole numbers", span_of(token))
    return int(token)
