"""Simplify CEL formulas, for shrinking and campaigns."""

from __future__ import annotations

from collections.abc import Iterator

from cerify.equivalence.rewrite.trees import attribute_names, mapped, predicates
from cerify.equivalence.shrink.shrink import FormulaShape, QueryOperations, parts, simpler_numbers, value_weight
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import OPERATORS, Condition, Formula, show, size, subformulas
from cerify.semantics.predicates import Predicate, about, mentions
from cerify.semantics.trees import children, ranks, rebuilt

RANKS = ranks(OPERATORS)


def simpler_operators(phi: Formula) -> Iterator[Formula]:
    """Yield formulas with a simpler operator, a projection to fewer variables, or a narrower window."""
    yield from SHAPE.simpler_operators(phi)

    def local(psi: Formula) -> Iterator[Formula]:
        match psi:
            case cel.Project(L, inner):
                yield from (cel.Project(L - {A}, inner) for A in sorted(L))
            case cel.Derived():
                yield from psi.simpler()
            case cel.Within(inner, window):
                yield from (cel.Within(inner, narrower) for narrower in narrower_windows(window))

    yield from SHAPE.at_each_node(phi, local)


def narrower_windows(window: cel.Window) -> Iterator[cel.Window]:
    """Yield windows of the same kind that are narrower."""
    match window:
        case cel.EventWindow(count):
            yield from (cel.EventWindow(n) for n in (1, count // 2, count - 1) if n > 0)
        case cel.TimeWindow(amount, unit):
            yield from (cel.TimeWindow(n, unit) for n in simpler_numbers(amount) if n >= 0)
        case cel.AttributeWindow(width, name):
            yield from (cel.AttributeWindow(n, name) for n in simpler_numbers(width) if n >= 0)


def _simpler_atoms(atom: Condition) -> Iterator[Condition]:
    match atom:
        case cel.Every(A, P):
            yield from (cel.Every(A, Q) for Q in parts(P))
        case cel.Correlated(P):
            yield from (other for Q in parts(P) if (other := across(Q)) is not None)
            for A in sorted({a.variable for a in mentions(P) if a.variable is not None}):
                yield cel.Every(A, about(P, None))


def across(predicate: Predicate) -> Condition | None:
    """Return the condition for a predicate on variables; None if the predicate mentions no variable."""
    match [a.variable for a in mentions(predicate)]:
        case []:
            return None
        case [str(A)]:
            return cel.Every(A, about(predicate, None))
    return cel.Correlated(predicate)


def _shape() -> FormulaShape[Formula]:
    return SHAPE


SHAPE = FormulaShape[Formula](
    children,
    rebuilt,
    OPERATORS,
    cel.EventAtom,
    cel.Plus,
    cel.Filter,
    cel.Conjunction,
    _simpler_atoms,
    _shape,
)


def complexity(phi: Formula) -> int:
    """Return the sum of the operators' ranks and of the sizes of their fields.

    The rank of an operator is its place among operators with as many operands.
    """
    return sum(map(_complexity, subformulas(phi)))


def _complexity(phi: Formula) -> int:
    rank = RANKS[type(phi)]
    match phi:
        case cel.Project(L, _):
            return rank + len(L)
        case cel.Filter(_, condition):
            return rank + sum(isinstance(c, cel.Correlated | cel.Named) for c in cel.atoms(condition))
        case cel.Within(_, cel.EventWindow(amount) | cel.TimeWindow(amount, _) | cel.AttributeWindow(amount, _)):
            return rank + value_weight(amount)
        case cel.Derived():
            return rank + phi.load()
    return rank


CEL = QueryOperations[Formula](
    parse,
    show,
    (SHAPE.smaller, simpler_operators, SHAPE.simpler_predicates),
    size,
    complexity,
    SHAPE.types,
    attribute_names,
    predicates,
    mapped,
    SHAPE.symbols,
    expanded=mapped,  # spans refer to the text of the original formula
)
