"""From text to an event expression, with errors that know their place in the text.

The text does not say whether a name is an event type, a correlation variable or a named expression: resolve.py decides.
"""

from __future__ import annotations

from typing import Any, cast

from lark import Token
from lark.tree import Meta
from lark.visitors import v_args

from cerify.semantics.errors import BudgetExceeded, ParseError, Span, errors_in
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.resolve import resolved
from cerify.semantics.parsing import (
    MAX_DEPTH,
    PREDICATES,
    PredicateBuilder,
    comparator_of,
    node,
    number_of,
    parsed,
    parser_of,
    require_alone,
    span_of,
)
from cerify.semantics.predicates import Attribute, Comparison, Constant, Predicate
from cerify.semantics.trees import depth


def parse(text: str) -> expr.Expression:
    """The expression that the text writes. Raises ParseError, or BudgetExceeded where it is nested too deeply."""
    raw = parsed(text, parser_of("cerify.semantics.event_expressions", PREDICATES), _Builder())
    with errors_in(text):
        if depth(raw, expr.children) > MAX_DEPTH:
            raise BudgetExceeded(f"the expression is nested more than {MAX_DEPTH} operators deep", Span(0, len(text)))
        return resolved(raw)


@v_args(meta=True, inline=True)
class _Builder(PredicateBuilder):
    """One method for each alternative of the grammar, in the grammar's order."""

    def query(self, meta: Meta, *children: Any) -> expr.Expression:
        *_, body = children = tuple(child for child in children if not isinstance(child, Token))
        definitions = tuple(child for child in children if isinstance(child, expr.Definition))
        if isinstance(body, expr.Definition):  # a text that ends with a definition is the expression defined there
            body = expr.Primitive(body.name, body.parameters, span=body.span)
        return expr.Let(definitions, body, span=span_of(meta)) if definitions else cast("expr.Expression", body)

    def definition(self, meta: Meta, head: expr.Primitive, body: expr.Expression) -> expr.Definition:
        if head.mask is not None:
            raise ParseError(f"what is defined has no mask: write {head.type}(X, ...) := ...", head.span)
        parameters = tuple(argument for argument in head.arguments if isinstance(argument, str))
        if parameters != head.arguments:
            raise ParseError("the parameters of what is defined are names, as in complete(I) := ...", head.span)
        return expr.Definition(head.type, parameters, body, span=span_of(meta))

    or_ = node(expr.Or)
    and_ = node(expr.And)
    pipe = node(expr.Pipe)
    after = node(expr.After)
    between = node(expr.Between)
    series = node(expr.Series)

    def compared(self, meta: Meta, E: expr.Expression, comparator: Token, side: str | Constant) -> expr.Expression:
        if comparator == "=" and isinstance(side, str):
            return expr.Equated(E, side, span=span_of(meta))  # or a constraint X = Y: see resolve.py
        if not (isinstance(E, expr.Primitive) and not E.arguments and E.mask is None):
            raise ParseError(
                "an expression can be equated with a correlation variable, as in E = x; "
                "of attributes only variables are compared, as in X != Y",
                span_of(meta),
            )
        right = Attribute(side) if isinstance(side, str) else side
        return expr.Constraint(Comparison(comparator_of(comparator), Attribute(E.type), right), span=span_of(meta))

    not_ = node(expr.Not)

    def nth(self, meta: Meta, number: Token, E: expr.Expression) -> expr.Expression:
        return expr.Nth(_count(number), E, span=span_of(meta))

    def every(self, meta: Meta, number: Token, E: expr.Expression) -> expr.Expression:
        return expr.EveryNth(_count(number), E, span=span_of(meta))

    null = node(expr.Null)
    any = node(expr.AnyEvent)
    first = node(expr.First)
    relative = node(expr.Relative)
    relative_plus = node(expr.RelativePlus)
    prior = node(expr.Prior)
    sequence = node(expr.Sequence)
    first_after = node(expr.FirstAfter)
    before = node(expr.Before)
    happened = node(expr.Happened)
    prefix = node(expr.Prefix)
    exists = node(expr.Exists)

    def expressions(self, meta: Meta, *children: expr.Expression) -> tuple[expr.Expression, ...]:
        return children

    def event(self, meta: Meta, name: Token, *rest: Any) -> expr.Expression:
        arguments = next((part for part in rest if isinstance(part, tuple)), ())
        mask = next((part for part in rest if not isinstance(part, tuple)), None)
        return expr.Primitive(str(name), arguments, mask, span=span_of(meta))

    def arguments(self, meta: Meta, *children: expr.Argument) -> tuple[expr.Argument, ...]:
        return children

    def mask(self, meta: Meta, predicate: Predicate) -> Predicate:
        require_alone(predicate, "", "", span_of(meta))
        return predicate

    def unknown(self, meta: Meta, name: Token) -> str:
        return str(name)


def _count(token: Token) -> int:
    number = number_of(token)
    if not isinstance(number, int) or number == 0:
        raise ParseError("events are counted from <1> on, in whole numbers", span_of(token))
    return number
