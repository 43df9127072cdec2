"""Random core-CEL formulas of a given size, safe and well-formed or not, and streams that fit them.

Everything comes from the random.Random that is passed in, so that the same seed gives the same cases. The last part
simplifies formulas, for shrinking and campaigns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from random import Random

from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate.cel import EQUALITIES, CelProfile
from cerify.equivalence.generate.shrink import FormulaShape, Generator, QueryOperations, parts
from cerify.equivalence.rewrite.trees import same
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import Variables, bound, defined_outside_iteration
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.core_cel.syntax import OPERATORS, Condition, Formula, show, size, subformulas
from cerify.semantics.events import Stream
from cerify.semantics.predicates import (
    Anything,
    Arithmetic,
    Attribute,
    Comparison,
    Predicate,
    about,
    mapped_predicate,
    mentions,
)
from cerify.semantics.trees import children, index_by_name, ranks, rebuilt
from cerify.semantics.values import Value

BY_NAME = index_by_name(OPERATORS)
BINARY = {name: operator for name, operator in BY_NAME.items() if len(operator.node.operands) == 2}
STRATEGIES: tuple[tuple[str, int], ...] = (("strict", 1), ("nxt", 1), ("last", 1), ("max", 1))
# Filters are chosen last: only the whole formula says which variables are bound where a filter stands.
OPEN = core.Unary("", Anything())
"""A placeholder for a filter that is still to be chosen."""


@dataclass(frozen=True)
class CoreProfile(CelProfile):
    """The parameters of random core-CEL formulas and streams; the operators are those of core-CEL.

    safe: whether no variable is defined on both sides of a sequence; if the variables run out, a fresh name is used.
    well_formed: whether each filter uses only variables that are certainly bound, so that `problems` reports no unbound
    variable. If False, some filters use arbitrary variables.
    """

    variables: tuple[str, ...] = ("x", "y", "z")
    safe: bool = True
    well_formed: bool = True


UNARY_FILTERS = CoreProfile((("seq", 6), ("or", 3), ("plus", 3), ("filter", 6)))
"""The operators of section 3 of cep17, with filters of single events."""

CORRELATED = replace(UNARY_FILTERS, correlated=0.4)
"""The operators of section 3, with filters across events."""

STRATEGIES_TOO = replace(CORRELATED, operators=(*UNARY_FILTERS.operators, *STRATEGIES))
"""All of core-CEL, safe and well-formed."""

ANYTHING = replace(STRATEGIES_TOO, safe=False, well_formed=False)
"""All of core-CEL: variables defined twice, in one branch only, or nowhere."""

CORE_CEL_PROFILES = {
    "core": UNARY_FILTERS,
    "correlated": CORRELATED,
    "strategies": STRATEGIES_TOO,
    "everything": ANYTHING,
}


def case(rng: Random, profile: CoreProfile, nodes: int, events: int) -> tuple[core.Formula, Stream]:
    """Return a formula of up to `nodes` nodes and a stream of up to `events` events; larger ones are more frequent."""
    phi = formula(rng, profile, max(rng.randint(1, nodes), rng.randint(1, nodes)))
    return phi, stream(rng, profile, max(rng.randint(1, events), rng.randint(1, events)), phi)


def formula(rng: Random, profile: CoreProfile, nodes: int) -> core.Formula:
    """Return a random formula with about this number of nodes (`core.size`); fewer if a filter has no variable."""
    return _filtered(rng, profile, _skeleton(rng, profile, nodes, frozenset()), frozenset())


def stream(rng: Random, profile: CoreProfile, length: int, phi: core.Formula | None = None) -> Stream:
    """Return a random stream of this length, mostly of event types in the formula."""
    asked = sorted({psi.type for psi in core.subformulas(phi) if isinstance(psi, core.CoreEventAtom)}) if phi else []
    weighted = (*asked * 4 * len(profile.types), *profile.types * max(1, len(asked)))
    return Stream(generate.stream(rng, replace(profile, types=weighted), length).events, profile.schema)


def _skeleton(rng: Random, profile: CoreProfile, nodes: int, taken: Variables) -> core.Formula:
    """Return a formula with placeholders for filters. If the profile is safe, it defines no variable in `taken`."""
    narrow, wide = profile.choices
    names, weights = wide if nodes > 2 else narrow
    if nodes == 1 or not names:
        return core.CoreEventAtom(rng.choice(profile.types), rng.choice(_names(profile, taken)))
    operator = rng.choices(names, cum_weights=weights)[0]
    if operator == "filter":
        atoms = 2 if nodes > 2 and rng.random() < 0.3 else 1
        condition = (
            OPEN if atoms == 1 else (core.CoreConjunction if rng.random() < 0.5 else core.CoreDisjunction)(OPEN, OPEN)
        )
        return core.CoreFilter(_skeleton(rng, profile, nodes - atoms, taken), condition)
    if operator in BINARY:
        left_nodes = rng.randint(1, nodes - 2)
        left = _skeleton(rng, profile, left_nodes, taken)
        sequenced = profile.safe and operator == "seq"
        beside = taken | defined_outside_iteration(left) if sequenced else taken
        phi: core.Formula = generate.instance(rng, BINARY[operator])(
            left, _skeleton(rng, profile, nodes - 1 - left_nodes, beside)
        )
        return phi
    # the variables of an iteration are its own
    inside = frozenset[str]() if operator == "plus" else taken
    psi: core.Formula = generate.instance(rng, BY_NAME[operator])(_skeleton(rng, profile, nodes - 1, inside))
    return psi


def _names(profile: CoreProfile, taken: Variables) -> list[str]:
    """Return the unused variables; a fresh variable if all are in use."""
    left = [x for x in profile.variables if x not in taken]
    return left or [next(x for x in _fresh() if x not in taken)]


def _fresh() -> Iterator[str]:
    return (f"v{i}" for i in count(1))


def _filtered(rng: Random, profile: CoreProfile, phi: core.Formula, around: Variables) -> core.Formula:
    """Return the formula with conditions in place of its placeholders. around: the variables that are bound outside
    it.
    """
    around = around | bound(phi)
    match phi:
        case core.CoreEventAtom():
            return phi
        case core.CoreFilter(psi, condition):
            below = _filtered(rng, profile, psi, around)
            scope = tuple(sorted(around))
            if profile.well_formed and not scope:
                return below
            return core.CoreFilter(below, _condition(rng, profile, condition, scope))
        case core.CoreOr(left, right) | core.CoreSeq(left, right):
            return type(phi)(_filtered(rng, profile, left, around), _filtered(rng, profile, right, around))
        case core.CorePlus(psi):
            return core.CorePlus(_filtered(rng, profile, psi, around - defined_outside_iteration(psi)))
    return type(phi)(_filtered(rng, profile, phi.phi, around))


def _condition(rng: Random, profile: CoreProfile, open_: core.Condition, scope: tuple[str, ...]) -> core.Condition:
    if isinstance(open_, core.CoreConjunction | core.CoreDisjunction):
        left, right = (_condition(rng, profile, part, scope) for part in (open_.left, open_.right))
        return type(open_)(left, right)
    x, y = (_variable(rng, profile, scope) for _ in range(2))
    if x == y or rng.random() >= profile.correlated:
        return core.Unary(x, generate._predicate(rng, profile))
    name, pool = rng.choice(profile.attributes)
    left_, right_ = Attribute(name, x), Attribute(name, y)
    if isinstance(pool[0], int) and not isinstance(pool[0], bool) and rng.random() < 0.2:
        sum_ = Arithmetic(rng.choice(("+", "-")), left_, right_)
        return core.CoreCorrelated(
            Comparison(rng.choice(EQUALITIES), sum_, Attribute(name, _variable(rng, profile, scope)))
        )
    return core.CoreCorrelated(Comparison(rng.choice(generate._comparators(pool)), left_, right_))


def _variable(rng: Random, profile: CoreProfile, scope: tuple[str, ...]) -> str:
    """Return a bound variable; if the formula need not be well-formed, sometimes return any variable."""
    if profile.well_formed or (scope and rng.random() < 0.8):
        return rng.choice(scope)
    return rng.choice(profile.variables)


CORE_CEL_GENERATOR = Generator[core.Formula](CORE_CEL_PROFILES, case, stream)


# ---------------------------------------------------------------------------------------------------------------------
# Simplify core-CEL formulas, for shrinking and campaigns.

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
    """Return the formula with `name` applied to event types and variables, and `value` to constants, without spans."""

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
