"""The variables of a resolved expression, as the definition reads them: vldb92, sections 5 and 6.

The automata have a reading of their own, in automata/dfa/scopes.py; neither uses the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.predicates import Attribute

Names: TypeAlias = frozenset[str]
ArgumentPosition: TypeAlias = tuple[str, int]
"""An event type, and the 0-based number of an argument."""


def arguments(E: expr.Expression) -> Iterator[str]:
    """The attribute variables that a primitive event or a named expression has for arguments."""
    if isinstance(E, expr.Primitive | expr.Named):
        yield from (X for X in E.arguments if isinstance(X, str))


def constrained(E: expr.Expression) -> Iterator[str]:
    """The attribute variables of a constraint."""
    if isinstance(E, expr.Constraint):
        sides = (E.comparison.left, E.comparison.right)
        yield from (side.name for side in sides if isinstance(side, Attribute))


def free_variables(E: expr.Expression) -> Names:
    """The correlation variables that are free in an expression (section 5, items 1 to 7); a name stands for a whole."""
    match E:
        case expr.Variable(x):
            return frozenset({x})
        case expr.Equated(F, x):
            return free_variables(F) | {x}
        case expr.Exists(x, F):
            return free_variables(F) - {x}
    return frozenset[str]().union(*map(free_variables, expr.children(E)))


def chosen(body: expr.Expression, parameters: tuple[str, ...]) -> tuple[str, ...]:
    """The attribute variables of a scope for which there is one expression for each value, sorted.

    The parameters have theirs from outside. A variable that stands in a single place, the argument of a primitive
    event, is no constraint, and stands for any value.
    """
    nodes = list(expr.subexpressions(body))
    mentioned = [X for node in nodes for X in (*arguments(node), *constrained(node))]
    shared = {
        X for node in nodes if not isinstance(node, expr.Primitive) for X in (*arguments(node), *constrained(node))
    }
    shared |= {X for X in mentioned if mentioned.count(X) > 1}
    return tuple(sorted(shared - set(parameters)))


def names_in(E: expr.Expression) -> Names:
    """All variables that occur in an expression, of both sorts."""
    found: set[str] = set()
    for node in expr.subexpressions(E):
        found.update(arguments(node))
        found.update(constrained(node))
        match node:
            case expr.Variable(x) | expr.Equated(_, x) | expr.Exists(x, _):
                found.add(x)
    return frozenset(found)


def places(X: str, body: expr.Expression, definitions: Mapping[str, expr.Definition]) -> frozenset[ArgumentPosition]:
    """Where an attribute variable stands in primitive events, also in the definitions that it is handed to."""
    found: set[ArgumentPosition] = set()
    pending = [(X, body)]
    seen: set[tuple[str, str]] = set()
    while pending:
        Y, E = pending.pop()
        for node in expr.subexpressions(E):
            match node:
                case expr.Primitive(T, given):
                    found.update((T, k) for k, argument in enumerate(given) if argument == Y)
                case expr.Named(name, given):
                    definition = definitions[name]
                    for Z, argument in zip(definition.parameters, given, strict=False):
                        if argument == Y and (name, Z) not in seen:
                            seen.add((name, Z))
                            pending.append((Z, definition.body))
    return frozenset(found)
