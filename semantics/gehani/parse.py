"""From text to an event expression, with errors that know their place in the text.

The text does not say whether a name is an event type, a correlation variable or a named expression: scope.py decides.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, cast

from lark import Lark, Token
from lark.tree import Meta
from lark.visitors import v_args

from cerify.semantics.errors import BudgetExceeded, ParseError, Span, errors_in
from cerify.semantics.gehani import syntax as ev
from cerify.semantics.gehani.scope import resolved
from cerify.semantics.parsing import COMPARATORS, MAX_DEPTH, PredicateBuilder, parsed, parser_of, span_of
from cerify.semantics.predicates import Attribute, Comparator, Comparison, Predicate, mentions


def parse(text: str) -> ev.Expression:
    """The expression that the text writes. Raises ParseError, or BudgetExceeded where it is nested too deeply."""
    raw = parsed(text, _parser(), _Builder())
    with errors_in(text):
        if depth(raw) > MAX_DEPTH:
            raise BudgetExceeded(f"the expression is nested more than {MAX_DEPTH} operators deep", Span(0, len(text)))
        return resolved(raw)


def depth(E: ev.Expression) -> int:
    """How deeply the operators of an expression are nested."""
    deepest, pending = 0, [(E, 1)]
    while pending:
        node, level = pending.pop()
        deepest = max(deepest, level)
        pending.extend((child, level + 1) for child in ev.children(node))
    return deepest


@cache
def _parser() -> Lark:
    return parser_of(Path(__file__).parent)


@v_args(meta=True)
class _Builder(PredicateBuilder):
    """One method for each alternative of the grammar, in the grammar's order."""

    def query(self, meta: Meta, children: list[Any]) -> ev.Expression:
        children = [child for child in children if not isinstance(child, Token)]
        definitions = tuple(child for child in children if isinstance(child, ev.Definition))
        body = children[-1]
        if isinstance(body, ev.Definition):  # a text that ends with a definition asks for what it defines
            body = ev.Primitive(body.name, body.parameters, span=body.span)
        return ev.Let(definitions, body, span=span_of(meta)) if definitions else cast("ev.Expression", body)

    def definition(self, meta: Meta, children: list[Any]) -> ev.Definition:
        head, body = children
        if head.mask is not None:
            raise ParseError(f"what is defined has no mask: write {head.type}(X, ...) := ...", head.span)
        if not all(isinstance(argument, str) for argument in head.arguments):
            raise ParseError("the parameters of what is defined are names, as in complete(I) := ...", head.span)
        return ev.Definition(head.type, head.arguments, body, span=span_of(meta))

    def or_(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.Or(children[0], children[-1], span=span_of(meta))

    def and_(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.And(children[0], children[-1], span=span_of(meta))

    def pipe(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.Pipe(*children, span=span_of(meta))

    def after(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.After(children[0], children[-1], span=span_of(meta))

    def between(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.Between(*children, span=span_of(meta))

    def series(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.Series(children[0], children[-1], span=span_of(meta))

    def compared(self, meta: Meta, children: list[Any]) -> ev.Expression:
        E, comparator, side = children
        if comparator == "=" and isinstance(side, str):
            return ev.Equated(E, side, span=span_of(meta))  # or a constraint X = Y: see scope.py
        if not (isinstance(E, ev.Primitive) and not E.arguments and E.mask is None):
            raise ParseError(
                "an expression can be equated with a correlation variable, as in E = x; "
                "of attributes only variables are compared, as in X != Y",
                span_of(meta),
            )
        right = Attribute(side) if isinstance(side, str) else side
        symbol = cast("Comparator", COMPARATORS.get(comparator, str(comparator)))
        return ev.Constraint(Comparison(symbol, Attribute(E.type), right), span=span_of(meta))

    def not_(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.Not(children[-1], span=span_of(meta))

    def nth(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.Nth(_count(children[0]), children[1], span=span_of(meta))

    def every(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.EveryNth(_count(children[0]), children[1], span=span_of(meta))

    def null(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.Null(span=span_of(meta))

    def any(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.AnyEvent(span=span_of(meta))

    def first(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.First(span=span_of(meta))

    def relative(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.Relative(children[0], span=span_of(meta))

    def relative_plus(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.RelativePlus(children[-1], span=span_of(meta))

    def prior(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.Prior(children[0], span=span_of(meta))

    def sequence(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.Sequence(children[0], span=span_of(meta))

    def first_after(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.FirstAfter(*children, span=span_of(meta))

    def before(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.Before(children[0], span=span_of(meta))

    def happened(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.Happened(children[0], span=span_of(meta))

    def prefix(self, meta: Meta, children: list[Any]) -> ev.Expression:
        return ev.Prefix(children[0], span=span_of(meta))

    def exists(self, meta: Meta, children: list[Any]) -> ev.Expression:
        x, E = children
        return ev.Exists(str(x), E, span=span_of(meta))

    def expressions(self, meta: Meta, children: list[Any]) -> tuple[ev.Expression, ...]:
        return tuple(children)

    def event(self, meta: Meta, children: list[Any]) -> ev.Expression:
        name, *rest = children
        arguments = next((part for part in rest if isinstance(part, tuple)), ())
        mask = next((part for part in rest if not isinstance(part, tuple)), None)
        return ev.Primitive(str(name), arguments, mask, span=span_of(meta))

    def arguments(self, meta: Meta, children: list[Any]) -> tuple[ev.Argument, ...]:
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
