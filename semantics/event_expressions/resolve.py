"""The second half of parsing: event types, named expressions, correlation and attribute variables, from bare names.

A scope is the body of a definition, or the expression after the definitions. In it a name in an argument's place is an
attribute variable; a name that an expression is equated with, or that exists binds, is a correlation variable where it
stands alone; a name that has been defined is a named expression; any other is an event type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from cerify.semantics.errors import ParseError
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.predicates import Attribute, Comparison

Names: TypeAlias = frozenset[str]


def resolved(raw: expr.Expression) -> expr.Expression:
    """The expression with each name taken for what it stands for. Raises ParseError for a name used in two senses."""
    if not isinstance(raw, expr.Let):
        return _Scope.of(raw, (), {}, frozenset()).resolve(raw, frozenset())
    all_names = frozenset(definition.name for definition in raw.definitions)
    known: dict[str, int] = {}
    definitions = []
    for definition in raw.definitions:
        if definition.name in known:
            raise ParseError(f"{definition.name} is defined twice", definition.span)
        if len(set(definition.parameters)) < len(definition.parameters):
            raise ParseError(f"two parameters of {definition.name} have the same name", definition.span)
        scope = _Scope.of(definition.body, definition.parameters, known, all_names - known.keys())
        definitions.append(replace(definition, body=scope.resolve(definition.body, frozenset())))
        known[definition.name] = len(definition.parameters)
    body = _Scope.of(raw.body, (), known, frozenset()).resolve(raw.body, frozenset())
    return replace(raw, definitions=tuple(definitions), body=body)


@dataclass(frozen=True)
class _Scope:
    attributes: Names  # the attribute variables
    free: Names  # the correlation variables that no exists binds
    known: Mapping[str, int]  # the expressions defined above, with the number of their parameters
    later: Names  # those defined here or below

    @classmethod
    def of(cls, body: expr.Expression, parameters: tuple[str, ...], known: Mapping[str, int], later: Names) -> _Scope:
        attributes = frozenset(parameters) | {X for node in expr.subexpressions(body) for X in _arguments(node)}
        return cls(attributes, frozenset(_unbound(body, attributes, frozenset())), dict(known), later)

    def resolve(self, E: expr.Expression, bound: Names) -> expr.Expression:
        match E:
            case expr.Primitive(name, (), None) if name in bound | self.free:
                return expr.Variable(name, span=E.span)
            case expr.Primitive(name) if name in bound | self.free:
                raise ParseError(f"{name} stands for an event here; it has neither arguments nor a mask", E.span)
            case expr.Primitive(name, given, mask) if name in self.known:
                if mask is not None:
                    raise ParseError(f"{name} is a named expression, which has no mask", E.span)
                if len(given) != self.known[name]:
                    raise ParseError(f"{name} has {self.known[name]} parameters; given are {len(given)}", E.span)
                return expr.Named(name, given, span=E.span)
            case expr.Primitive(name) if name in self.later:
                raise ParseError(f"{name} is used here but defined further on; define it before its use", E.span)
            case expr.Equated(expr.Primitive(X), Y) if _is_constraint(E, self.attributes):
                return expr.Constraint(Comparison("=", Attribute(X), Attribute(Y)), span=E.span)
            case expr.Exists(x) if x in self.attributes:
                raise ParseError(f"{x} cannot stand for an event and for the value of an attribute", E.span)
            case expr.Exists(x):
                bound |= {x}
        return expr.rebuilt(E, tuple(self.resolve(F, bound) for F in expr.children(E)))


def _arguments(E: expr.Expression) -> Iterator[str]:
    """The names in the arguments of an event or of a named expression; before resolution both are Primitive."""
    if isinstance(E, expr.Primitive):
        yield from (X for X in E.arguments if isinstance(X, str))


def _is_constraint(E: expr.Equated, attributes: Names) -> bool:
    return isinstance(E.operand, expr.Primitive) and bool({E.operand.type, E.variable} & attributes)


def _unbound(E: expr.Expression, attributes: Names, bound: Names) -> Iterator[str]:
    """The variables that something is equated with outside every exists that binds them."""
    match E:
        case expr.Equated(_, x) if x not in bound and not _is_constraint(E, attributes):
            yield x
        case expr.Exists(x):
            bound |= {x}
    for F in expr.children(E):
        yield from _unbound(F, attributes, bound)
