"""The variables of a resolved expression, as the automata read them: vldb92, sections 5 and 6.

The definition has a reading of its own, in semantics/event_expressions/scope.py; neither uses the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.predicates import Attribute

ArgumentPosition: TypeAlias = tuple[str, int]
"""An event type, and the 0-based number of one of its arguments."""

ArgumentPositions: TypeAlias = Mapping[str, frozenset[ArgumentPosition]]
"""The places of each attribute variable; a variable with none may be missing."""


def unbound_variables(E: expr.Expression) -> tuple[str, ...]:
    """The correlation variables that occur in E outside every exists that binds them, sorted (section 5, 1 to 7)."""
    found: set[str] = set()
    pending: list[tuple[expr.Expression, frozenset[str]]] = [(E, frozenset())]
    while pending:
        F, bound = pending.pop()
        match F:
            case expr.Exists(x, _):
                bound |= {x}
            case expr.Equated(_, x) | expr.Variable(x):
                found |= {x} - bound
        pending.extend((G, bound) for G in expr.children(F))
    return tuple(sorted(found))


def ranging_variables(body: expr.Expression, parameters: Sequence[str] = ()) -> tuple[str, ...]:
    """The attribute variables of a scope that range over values, sorted (section 6.2).

    The caller of a definition chooses the values of its parameters. Of the others, one that has a single place in a
    single primitive event constrains nothing: "if the same variable appears in multiple places in an expression, it
    constrains the corresponding values to be identical". One in a constraint, or passed to a name, does constrain.
    """
    once: set[str] = set()
    ranging: set[str] = set()
    for F in expr.subexpressions(body):
        match F:
            case expr.Primitive(_, arguments):
                for X in arguments:
                    if isinstance(X, str):
                        (ranging if X in once else once).add(X)
            case expr.Named(_, arguments):
                ranging.update(X for X in arguments if isinstance(X, str))
            case expr.Constraint(comparison):
                sides = (comparison.left, comparison.right)
                ranging.update(side.name for side in sides if isinstance(side, Attribute))
    return tuple(sorted(ranging.difference(parameters)))


def variable_names(E: expr.Expression) -> frozenset[str]:
    """All correlation and attribute variables that occur in E, bound or not."""
    found: set[str] = set()
    for F in expr.subexpressions(E):
        match F:
            case expr.Primitive(_, arguments) | expr.Named(_, arguments):
                found.update(X for X in arguments if isinstance(X, str))
            case expr.Constraint(comparison):
                sides = (comparison.left, comparison.right)
                found.update(side.name for side in sides if isinstance(side, Attribute))
            case expr.Variable(x) | expr.Equated(_, x) | expr.Exists(x, _):
                found.add(x)
    return frozenset(found)


def argument_places(body: expr.Expression, definitions: Mapping[str, expr.Definition]) -> ArgumentPositions:
    """The places of each attribute variable of a scope, also those of the parameters that it is passed for.

    definitions has each definition after those that it uses.
    """
    of_parameters: dict[str, tuple[frozenset[ArgumentPosition], ...]] = {}
    for name, definition in definitions.items():
        inside = _places(definition.body, of_parameters)
        of_parameters[name] = tuple(inside.get(X, frozenset()) for X in definition.parameters)
    return _places(body, of_parameters)


def _places(
    body: expr.Expression, of_parameters: Mapping[str, Sequence[frozenset[ArgumentPosition]]]
) -> ArgumentPositions:
    found: defaultdict[str, frozenset[ArgumentPosition]] = defaultdict(frozenset)
    for F in expr.subexpressions(body):
        match F:
            case expr.Primitive(T, arguments):
                for k, X in enumerate(arguments):
                    if isinstance(X, str):
                        found[X] |= {(T, k)}
            case expr.Named(name, arguments):
                for X, where in zip(arguments, of_parameters[name], strict=True):
                    if isinstance(X, str):
                        found[X] |= where
    return found
