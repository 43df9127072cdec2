"""Parse event expressions; errors name their place in the text.

The text does not say whether a name is an event type, a correlation variable or a named expression: `resolved` decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from lark import Token
from lark.tree import Meta
from lark.visitors import v_args

from cerify.semantics.errors import BudgetExceeded, ParseError, Span, errors_in
from cerify.semantics.event_expressions import syntax as expr
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

# ---------------------------------------------------------------------------------------------------------------------
# The second half of parsing: event types, named expressions, correlation and attribute variables, from bare names.
#
# A scope is the body of a definition, or the expression after the definitions. In a scope, a name is
#   an attribute variable if it is an argument,
#   a correlation variable if an expression is equated with it, or `exists` binds it,
#   a named expression if it is defined above,
#   and otherwise an event type.

Names: TypeAlias = frozenset[str]


def resolved(raw: expr.Expression) -> expr.Expression:
    """Return the expression with each name resolved. Raises ParseError for a name that is used in two senses."""
    if not isinstance(raw, expr.Let):
        return _Scope.from_body(raw, (), {}, frozenset()).resolve(raw, frozenset())
    all_names = frozenset(definition.name for definition in raw.definitions)
    known: dict[str, int] = {}
    definitions = []
    for definition in raw.definitions:
        if definition.name in known:
            raise ParseError(f"{definition.name} is defined twice", definition.span)
        if len(set(definition.parameters)) < len(definition.parameters):
            raise ParseError(f"two parameters of {definition.name} have the same name", definition.span)
        scope = _Scope.from_body(definition.body, definition.parameters, known, all_names - known.keys())
        definitions.append(replace(definition, body=scope.resolve(definition.body, frozenset())))
        known[definition.name] = len(definition.parameters)
    body = _Scope.from_body(raw.body, (), known, frozenset()).resolve(raw.body, frozenset())
    return replace(raw, definitions=tuple(definitions), body=body)


@dataclass(frozen=True)
class _Scope:
    attributes: Names  # the attribute variables
    free: Names  # the correlation variables that no exists binds
    known: Mapping[str, int]  # the expressions defined above, with the number of their parameters
    later: Names  # the expressions defined here or below

    @classmethod
    def from_body(
        cls, body: expr.Expression, parameters: tuple[str, ...], known: Mapping[str, int], later: Names
    ) -> _Scope:
        attributes = frozenset(parameters) | {X for node in expr.subexpressions(body) for X in _arguments(node)}
        return cls(attributes, frozenset(_unbound(body, attributes, frozenset())), dict(known), later)

    def resolve(self, E: expr.Expression, bound: Names) -> expr.Expression:
        match E:
            case expr.Primitive(name, (), None) if name in bound | self.free:
                return expr.ExpressionVariable(name, span=E.span)
            case expr.Primitive(name) if name in bound | self.free:
                raise ParseError(
                    f"{name} stands for an event here, so it cannot have arguments or a condition in brackets", E.span
                )
            case expr.Primitive(name, given, mask) if name in self.known:
                if mask is not None:
                    raise ParseError(f"{name} is a named expression, which cannot have a condition in brackets", E.span)
                if len(given) != self.known[name]:
                    raise ParseError(f"{name} has {self.known[name]} parameters, but {len(given)} are given", E.span)
                return expr.ExpressionNamed(name, given, span=E.span)
            case expr.Primitive(name) if name in self.later:
                raise ParseError(f"{name} is used before its definition; move the definition to the front", E.span)
            case expr.Equated(expr.Primitive(X), Y) if _is_constraint(E, self.attributes):
                return expr.Constraint(Comparison("=", Attribute(X), Attribute(Y)), span=E.span)
            case expr.Exists(x) if x in self.attributes:
                raise ParseError(f"{x} cannot be both an event and the value of an attribute", E.span)
            case expr.Exists(x):
                bound |= {x}
        return expr.rebuilt(E, tuple(self.resolve(F, bound) for F in expr.children(E)))


def _arguments(E: expr.Expression) -> Iterator[str]:
    """Yield the names in the arguments of an event or of a named expression; before resolution both are Primitive."""
    if isinstance(E, expr.Primitive):
        yield from (X for X in E.arguments if isinstance(X, str))


def _is_constraint(E: expr.Equated, attributes: Names) -> bool:
    return isinstance(E.operand, expr.Primitive) and bool({E.operand.type, E.variable} & attributes)


def _unbound(E: expr.Expression, attributes: Names, bound: Names) -> Iterator[str]:
    """Yield the variables in equations that no `exists` around the equation binds."""
    match E:
        case expr.Equated(_, x) if x not in bound and not _is_constraint(E, attributes):
            yield x
        case expr.Exists(x):
            bound |= {x}
    for F in expr.children(E):
        yield from _unbound(F, attributes, bound)


def parse(text: str) -> expr.Expression:
    """Parse the text of an expression. Raises ParseError, or BudgetExceeded if the expression is nested too deeply."""
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
        definitions = tuple(child for child in children if isinstance(child, expr.ExpressionDefinition))
        if isinstance(
            body, expr.ExpressionDefinition
        ):  # a text that ends with a definition is the expression defined there
            body = expr.Primitive(body.name, body.parameters, span=body.span)
        return expr.Let(definitions, body, span=span_of(meta)) if definitions else cast("expr.Expression", body)

    def definition(self, meta: Meta, head: expr.Primitive, body: expr.Expression) -> expr.ExpressionDefinition:
        if head.mask is not None:
            raise ParseError(
                f"a definition cannot have a condition in brackets: write {head.type}(X, ...) := ...", head.span
            )
        parameters = tuple(argument for argument in head.arguments if isinstance(argument, str))
        if parameters != head.arguments:
            raise ParseError("the parameters of a definition must be names, as in complete(I) := ...", head.span)
        return expr.ExpressionDefinition(head.type, parameters, body, span=span_of(meta))

    or_ = node(expr.ExpressionOr)
    and_ = node(expr.ExpressionAnd)
    pipe = node(expr.Pipe)
    after = node(expr.After)
    between = node(expr.ExpressionBetween)
    series = node(expr.ExpressionSeries)

    def compared(self, meta: Meta, E: expr.Expression, comparator: Token, side: str | Constant) -> expr.Expression:
        if comparator == "=" and isinstance(side, str):
            return expr.Equated(E, side, span=span_of(meta))  # or a constraint X = Y: see `resolved`
        if not (isinstance(E, expr.Primitive) and not E.arguments and E.mask is None):
            raise ParseError(
                "= compares an expression with a correlation variable, as in E = x, and != two attribute "
                "variables, as in X != Y",
                span_of(meta),
            )
        right = Attribute(side) if isinstance(side, str) else side
        return expr.Constraint(Comparison(comparator_of(comparator), Attribute(E.type), right), span=span_of(meta))

    not_ = node(expr.ExpressionNot)

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
        raise ParseError("the number in <n> must be a whole number of at least 1", span_of(token))
    return number
