"""Simplify event expressions, for shrinking and campaigns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import cast

from cerify.equivalence.rewrite.trees import same
from cerify.equivalence.shrink.shrink import QueryOperations, TreeShape, dropped, parts
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import OPERATORS, Expression, show, size, subexpressions
from cerify.semantics.predicates import Attribute, Comparison, Constant, Predicate, mapped_predicate, mentions
from cerify.semantics.values import Value

SHAPE = TreeShape[Expression](expr.children, expr.rebuilt)


def smaller_expressions(E: Expression) -> Iterator[Expression]:
    """Yield simpler expressions: a descendant in place of an ancestor, fewer operands, arguments or definitions, or no
    mask or variable.
    """
    yield from SHAPE.parts_instead(E)
    yield from SHAPE.at_each_node(E, _fewer)


def _fewer(E: Expression) -> Iterator[Expression]:
    match E:
        case expr.Relative(below) | expr.Prior(below) | expr.Sequence(below) if len(below) > 2:
            yield from map(type(E), dropped(below))
        case expr.Primitive(T, arguments, mask):
            if mask is not None:
                yield expr.Primitive(T, arguments)
            if arguments:
                yield expr.Primitive(T, arguments[:-1], mask)
        case expr.Let(definitions, body):
            yield from (expr.Let(fewer, body) for fewer in dropped(definitions))
        case expr.Exists(x, operand):
            yield without_variable(operand, x)


def without_variable(E: Expression, x: str) -> Expression:
    """Return the expression without a correlation variable: AnyEvent replaces its uses."""
    if isinstance(E, expr.ExpressionVariable) and E.name == x:
        return expr.AnyEvent()
    below = tuple(without_variable(F, x) for F in expr.children(E))
    return below[0] if isinstance(E, expr.Equated) and E.variable == x else expr.rebuilt(E, below)


def smaller_counts(E: Expression) -> Iterator[Expression]:
    """Yield the expression with a smaller n in one `<n>` or `every <n>`."""

    def local(F: Expression) -> Iterator[Expression]:
        if isinstance(F, expr.Counted):
            yield from (replace(F, n=m) for m in dict.fromkeys((1, F.n // 2, F.n - 1)) if 0 < m < F.n)

    return SHAPE.at_each_node(E, local)


def simpler_predicates(E: Expression) -> Iterator[Expression]:
    """Yield the expression with one mask or constraint replaced by a simpler one."""

    def local(F: Expression) -> Iterator[Expression]:
        match F:
            case expr.Primitive(T, arguments, mask) if mask is not None:
                yield from (expr.Primitive(T, arguments, P) for P in parts(mask))
            case expr.Constraint(comparison):
                yield from (expr.Constraint(P) for P in parts(comparison) if isinstance(P, Comparison))

    return SHAPE.at_each_node(E, local)


def mapped(E: Expression, name: Callable[[str], str] = same, value: Callable[[Value], Value] = same) -> Expression:
    """Return the expression without spans, with other constants and other names of types, variables and definitions."""

    def argument(given: expr.Argument) -> expr.Argument:
        return name(given) if isinstance(given, str) else Constant(value(given.value))

    def predicate(P: Predicate, attribute: Callable[[str], str] = same) -> Predicate:
        return mapped_predicate(P, lambda a: Attribute(attribute(a.name), a.variable), value)

    below = tuple(mapped(F, name, value) for F in expr.children(E))
    match E:
        case expr.Primitive(T, arguments, mask):
            other = None if mask is None else predicate(mask)
            return expr.Primitive(name(T), tuple(map(argument, arguments)), other)
        case expr.ExpressionNamed(p, arguments):
            return expr.ExpressionNamed(name(p), tuple(map(argument, arguments)))
        case expr.Constraint(comparison):
            return expr.Constraint(cast("Comparison", predicate(comparison, name)))
        case expr.ExpressionVariable(x):
            return expr.ExpressionVariable(name(x))
        case expr.Exists(x, _):
            return expr.Exists(name(x), below[0])
        case expr.Equated(_, x):
            return expr.Equated(below[0], name(x))
        case expr.Let(definitions, _):
            heads = ((name(d.name), tuple(map(name, d.parameters))) for d in definitions)
            others = tuple(expr.ExpressionDefinition(*head, body) for head, body in zip(heads, below[:-1], strict=True))
            return expr.Let(others, below[-1])
    return expr.rebuilt(E, below)


def without_names(E: Expression) -> Expression:
    """Return the expression with its definitions substituted; as names have scopes, its meaning may differ."""
    if not isinstance(E, expr.Let):
        return E
    known: dict[str, expr.ExpressionDefinition] = {}

    def substitute_values(F: Expression, values: Mapping[str, expr.Argument]) -> Expression:
        match F:
            case expr.ExpressionNamed(name, arguments) if name in known:
                given = (values.get(X, X) if isinstance(X, str) else X for X in arguments)
                return substitute_values(known[name].body, dict(zip(known[name].parameters, given, strict=True)))
            case expr.Primitive(T, arguments, mask):
                return expr.Primitive(T, tuple(values.get(X, X) if isinstance(X, str) else X for X in arguments), mask)
        return expr.rebuilt(F, tuple(substitute_values(G, values) for G in expr.children(F)))

    known.update((definition.name, definition) for definition in E.definitions)
    return substitute_values(E.body, {})


def predicates(E: Expression) -> Iterator[Predicate]:
    """Yield the masks and constraints in an expression."""
    for F in subexpressions(E):
        if isinstance(F, expr.Primitive) and F.mask is not None:
            yield F.mask
        if isinstance(F, expr.Constraint):
            yield F.comparison


def attributes(E: Expression) -> Iterator[str]:
    """Yield the attributes that masks read. Arguments read attributes by position, not by name."""
    return (a.name for F in subexpressions(E) if isinstance(F, expr.Primitive) and F.mask for a in mentions(F.mask))


def complexity(E: Expression) -> int:
    """Return the sum of all n in `<n>` and `every <n>`, plus the number of arguments and definitions."""
    found = 0
    for F in subexpressions(E):
        match F:
            case expr.Nth(n, _) | expr.EveryNth(n, _):
                found += n
            case expr.Primitive(_, arguments, _) | expr.ExpressionNamed(_, arguments):
                found += len(arguments)
            case expr.Let(definitions, _):
                found += len(definitions)
    return found


def types(E: Expression) -> Iterator[str]:
    """Yield the event types in an expression."""
    return (F.type for F in subexpressions(E) if isinstance(F, expr.Primitive))


def operators(E: Expression) -> set[str]:
    """Return the symbols of the operators of an expression; `:=` for definitions."""
    kinds = {type(F) for F in subexpressions(E)} - {expr.Primitive}
    return {":=" if kind is expr.Let else OPERATORS[kind].symbol for kind in kinds}


EVENT_EXPRESSION = QueryOperations[Expression](
    parse,
    show,
    (smaller_expressions, smaller_counts, simpler_predicates),
    size,
    complexity,
    types,
    attributes,
    predicates,
    mapped,
    operators,
    expanded=without_names,
)
