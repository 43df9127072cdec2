"""Simplify core-CEL formulas, for shrinking and campaigns."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cerify.equivalence.rewrite.trees import same
from cerify.equivalence.shrink.shrink import FormulaShape, QueryOperations, parts
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.core_cel.syntax import OPERATORS, Condition, Formula, show, size, subformulas
from cerify.semantics.predicates import Attribute, Predicate, about, mapped_predicate, mentions
from cerify.semantics.trees import children, ranks, rebuilt
from cerify.semantics.values import Value

RANKS = ranks(OPERATORS)


def _simpler_atoms(atom: Condition) -> Iterator[Condition]:
    match atom:
        case core.Unary(x, P):
            yield from (core.Unary(x, Q) for Q in parts(P))
        case core.CoreCorrelated(P):
            yield from (across(Q) for Q in parts(P) if mentions(Q))
            for x in sorted({a.variable or "" for a in mentions(P)}):
                yield core.Unary(x, about(P, None))


def across(predicate: Predicate) -> core.Atom:
    """Return the condition for a predicate over one or more variables."""
    match sorted({a.variable or "" for a in mentions(predicate)}):
        case [x]:
            return core.Unary(x, about(predicate, None))
    return core.CoreCorrelated(predicate)


def mapped(phi: Formula, name: Callable[[str], str] = same, value: Callable[[Value], Value] = same) -> Formula:
    """Return the formula with other names (for event types and variables alike) and constants, without spans."""

    def condition(c: Condition) -> Condition:
        match c:
            case core.Unary(x, P):
                return core.Unary(name(x), mapped_predicate(P, value=value))
            case core.CoreCorrelated(P):
                return across(mapped_predicate(P, lambda a: Attribute(a.name, name(a.variable or "")), value))
            case core.CoreConjunction(left, right) | core.CoreDisjunction(left, right):
                return type(c)(condition(left), condition(right))

    below = [mapped(psi, name, value) for psi in children(phi)]
    match phi:
        case core.CoreEventAtom(R, x):
            return core.CoreEventAtom(name(R), name(x))
        case core.CoreFilter(_, c):
            return core.CoreFilter(below[0], condition(c))
    return rebuilt(phi, below)


def predicates(phi: Formula) -> Iterator[Predicate]:
    """Yield the predicates in the filters of a formula."""
    for psi in subformulas(phi):
        if isinstance(psi, core.CoreFilter):
            yield from (atom.predicate for atom in core.atoms(psi.condition))


def attributes(phi: Formula) -> Iterator[str]:
    """Yield the attributes that the filters of a formula read."""
    return (a.name for P in predicates(phi) for a in mentions(P))


def _shape() -> FormulaShape[Formula]:
    return SHAPE


SHAPE = FormulaShape[Formula](
    children,
    rebuilt,
    OPERATORS,
    core.CoreEventAtom,
    core.CorePlus,
    core.CoreFilter,
    core.CoreConjunction,
    _simpler_atoms,
    _shape,
)


def complexity(phi: Formula) -> int:
    """Return the sum of the operators' ranks, plus the number of cross-event comparisons."""
    correlated = (
        isinstance(atom, core.CoreCorrelated)
        for psi in subformulas(phi)
        if isinstance(psi, core.CoreFilter)
        for atom in core.atoms(psi.condition)
    )
    return sum(RANKS[type(psi)] for psi in subformulas(phi)) + sum(correlated)


CORE_CEL = QueryOperations[Formula](
    parse,
    show,
    (SHAPE.smaller, SHAPE.simpler_operators, SHAPE.simpler_predicates),
    size,
    complexity,
    SHAPE.types,
    attributes,
    predicates,
    mapped,
    SHAPE.symbols,
    expanded=mapped,  # spans refer to the text of the original formula
)
