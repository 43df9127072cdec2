"""Check an event expression before evaluation (vldb92, sections 5 and 6).

An expression with problems still has a meaning: an unbound variable stands for some event, and a comparison that the
schema rules out is false.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cerify.semantics.arguments import format_names
from cerify.semantics.errors import IllFormed, Span
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import (
    ORDINARY_START,
    constrained,
    find_scope_variables,
    free_variables,
    in_order,
    places,
)
from cerify.semantics.event_expressions.syntax import OPERATORS
from cerify.semantics.events import Schema
from cerify.semantics.predicates import Attribute, Constant, Problem, kind_problems, lacking, mentions, unknown_type
from cerify.semantics.values import KIND_OF, kind


def problems(E: expr.Expression, schema: Schema | None = None) -> list[Problem]:
    """Return all problems of the expression and how to fix them; type errors only if there is a schema."""
    definitions = E.definitions if isinstance(E, expr.Let) else ()
    known = {definition.name: definition for definition in definitions}
    found: list[Problem] = []
    for definition in definitions:
        found.extend(_in_scope(definition.body, definition.parameters, known, schema))
    found.extend(_in_scope(E.body if isinstance(E, expr.Let) else E, (), known, schema))
    if schema is not None and not schema.timed and expr.START in schema.types:  # the schema of a stream
        nodes = [node for body in (*(d.body for d in definitions), E) for node in expr.subexpressions(body)]
        if not any(isinstance(node, expr.Primitive) and node.type == expr.START for node in nodes):
            message = f"the event of the type {expr.START} is the beginning of the history: `any` leaves it out"
            found.append(Problem("event_type", message + ORDINARY_START, E.span))
    return found


def type_errors(E: expr.Expression, schema: Schema) -> list[Problem]:
    """Return the type errors of the expression under the schema. Wrong uses of variables are not type errors."""
    return [problem for problem in problems(E, schema) if problem.rule not in ("unbound", "unsafe")]


def require_typed(E: expr.Expression, schema: Schema) -> None:
    """Raise IllFormed for the first type error."""
    for problem in type_errors(E, schema):
        raise IllFormed(problem.hinted, problem.span)


def _in_scope(
    body: expr.Expression,
    parameters: tuple[str, ...],
    known: Mapping[str, expr.ExpressionDefinition],
    schema: Schema | None,
) -> Iterator[Problem]:
    for x in sorted(free_variables(body)):
        message = (
            f"{x} is bound by no exists: it stands for some event, as in exists {x} (...) around the whole expression"
        )
        yield Problem("unbound", message, body.span)
    for X in find_scope_variables(body, parameters):
        if not places(X, body, known):
            message = f"{X} has no value: it is not an argument of an event. Make it an argument, as in order({X})"
            yield Problem("unbound", message, body.span)
    for node in expr.subexpressions(body):
        yield from _variables(node)
        if schema is not None:
            yield from _types(node, schema)
    if schema is not None:
        yield from _kinds(body, known, schema)


def _variables(E: expr.Expression) -> Iterator[Problem]:
    """Yield the problems of correlation variables: breaches of section 5, items 3 and 7, and unused variables."""
    match E:
        case expr.RelativePlus(F) if free := free_variables(F):
            names = ", ".join(sorted(free))
            message = (
                f"relative+ repeats its operand, so {names} cannot be an event outside the operand; "
                f"bind {names} inside it with exists"
            )
            yield Problem("unsafe", message, E.span)
        case expr.Equated(F, x) if x in free_variables(F):
            yield Problem(
                "unsafe", f"{x} is equated with an expression that contains {x}; use another variable", E.span
            )
        case expr.Exists(x, F) if x not in free_variables(F):
            yield Problem("unbound", f"no expression is equated with {x}; remove `exists {x}`", E.span)


def _types(E: expr.Expression, schema: Schema) -> Iterator[Problem]:
    if not isinstance(E, expr.Primitive) or E.type == expr.START:
        return
    operators = [one.symbol for one in OPERATORS.values() if one.position == "call"] if E.arguments else []
    yield from unknown_type(E.type, schema, E.span, operators)  # relativ(a, b) parses as an event with arguments
    if E.type not in schema.types:
        return
    attributes = in_order(schema)[E.type]
    if len(E.arguments) > len(attributes):
        message = f"{E.type} is given {len(E.arguments)} arguments, but its attributes are {format_names(attributes)}"
        yield Problem("attribute", message, E.span)
    for name, argument in zip(attributes, E.arguments, strict=False):
        if isinstance(argument, Constant) and kind(argument.value) != KIND_OF[schema.attributes[name]]:
            message = f"{name} of {E.type} is a {KIND_OF[schema.attributes[name]]}, not a {kind(argument.value)}"
            yield Problem("kind", message, E.span)
    if E.mask is not None:
        for name in dict.fromkeys(attribute.name for attribute in mentions(E.mask)):
            yield from lacking(E.type, name, frozenset({E.type}), schema, E.span)
        yield from kind_problems(E.mask, schema, E.span)


def _kinds(body: expr.Expression, known: Mapping[str, expr.ExpressionDefinition], schema: Schema) -> Iterator[Problem]:
    """Yield a problem for each attribute variable with values of two kinds, and for each constraint that compares two
    kinds.
    """
    attributes = in_order(schema)

    def kinds(X: str) -> list[str]:
        named = (attributes[T][k] for T, k in sorted(places(X, body, known)) if k < len(attributes.get(T, ())))
        return sorted({KIND_OF[schema.attributes[name]] for name in named})

    for X in dict.fromkeys(
        (*find_scope_variables(body, ()), *(X for node in expr.subexpressions(body) for X in constrained(node)))
    ):
        if len(kinds(X)) > 1:
            yield Problem("kind", f"{X} would have to be a {' and a '.join(kinds(X))}", body.span)
    for node in expr.subexpressions(body):
        if isinstance(node, expr.Constraint):
            yield from _compared(node, {X: kinds(X) for X in constrained(node)}, node.span)


def _compared(E: expr.Constraint, kinds: Mapping[str, list[str]], span: Span | None) -> Iterator[Problem]:
    sides = []
    for side in (E.comparison.left, E.comparison.right):
        match side:
            case Attribute(X) if len(kinds[X]) == 1:
                sides.append((X, kinds[X][0]))
            case Constant(value):
                sides.append((str(value), kind(value)))
    if len(sides) < 2:
        return
    (left, one), (right, other) = sides
    if one != other:
        yield Problem("kind", f"{left} is a {one} and {right} a {other}, so they cannot be compared", span)
    elif one == "bool" and E.comparison.comparator not in ("=", "!="):
        yield Problem("order", f"{left} is a bool, which supports = and != but not {E.comparison.comparator}", span)
