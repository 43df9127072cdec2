"""Random queries and streams that fit each other: formulas of a given size, streams on which they are likely to match.

Everything comes from the random.Random that is passed in, so that the same seed gives the same cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import accumulate
from random import Random
from typing import Any, TypeAlias, get_args

from cerify.semantics import predicates as pred
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.operators import OPERATORS
from cerify.semantics.cel.syntax import Condition, Formula, subformulas
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.operators import Operator, named
from cerify.semantics.values import Value, value_type_of

BY_NAME = named(OPERATORS)
BINARY = {name: operator for name, operator in BY_NAME.items() if len(operator.node.operands) == 2}
COMPARATORS: tuple[pred.Comparator, ...] = get_args(pred.Comparator)
EQUALITIES: tuple[pred.Comparator, ...] = ("=", "!=")

Scope: TypeAlias = tuple[str, ...]  # the variables that a formula binds, for filters around it to speak of


@dataclass(frozen=True)
class Profile:
    """What random queries and streams are made of.

    operators: how often each is chosen, as weights; those left out never are.
    attributes: every type has each of them; its values in streams and the constants in filters come from one pool.
    correlated: the share of filter atoms that compare two mentions of variables.
    absent: the share of attribute values that a stream leaves out.
    """

    operators: tuple[tuple[str, int], ...]
    types: tuple[str, ...] = ("A", "B", "C")
    variables: tuple[str, ...] = ("X", "Y")
    attributes: tuple[tuple[str, tuple[Value, ...]], ...] = (("x", (0, 1, 2, 3, 4)), ("y", (0, 1, 2)))
    correlated: float = 0.0
    absent: float = 0.0

    @cached_property
    def schema(self) -> Schema:
        """The schema of the streams."""
        return Schema({R: {name: value_type_of(pool[0]) for name, pool in self.attributes} for R in self.types})

    @cached_property
    def choices(self) -> tuple[tuple[list[str], list[int]], tuple[list[str], list[int]]]:
        """The operators with their cumulative weights: those that fit in two nodes, and all."""
        narrow = [(name, weight) for name, weight in self.operators if name not in BINARY]
        return _cumulative(narrow), _cumulative(self.operators)

    @cached_property
    def beyond(self) -> Profile:
        """The profile with a number below and one above those that it has, so that every comparison can be true."""
        return replace(self, attributes=tuple((name, (*pool, *_neighbours(pool))) for name, pool in self.attributes))


def _neighbours(pool: tuple[Value, ...]) -> Sequence[Value]:
    numbers = [value for value in pool if isinstance(value, int | float) and not isinstance(value, bool)]
    return [min(numbers) - 1, max(numbers) + 1] if numbers else []


def _cumulative(weighted: Sequence[tuple[str, int]]) -> tuple[list[str], list[int]]:
    return [name for name, _ in weighted], list(accumulate(weight for _, weight in weighted))


CORE = Profile((("seq", 6), ("cseq", 4), ("or", 4), ("plus", 3), ("cplus", 3), ("in", 3), ("filter", 5)))
"""The fragment that the denotation and the automaton share: R IN FILTER ; + : :+ OR with unary filters."""

CORRELATED = replace(CORE, correlated=0.4)
"""The core, with filters across variables."""

TYPED = replace(
    CORE,
    operators=(("seq", 4), ("cseq", 2), ("or", 2), ("plus", 3), ("cplus", 2), ("in", 2), ("filter", 9)),
    attributes=(
        ("x", (0, 1, 2, 3)),
        ("f", (0.0, 0.5, 1.0, 2.5)),
        ("s", ("", "a", "ab", "b")),
        ("b", (False, True)),
        ("t", tuple(datetime(2021, 1, day, tzinfo=UTC) for day in (1, 2, 3))),
    ),
    absent=0.1,
)
"""The core, with attributes of every value type, some of them absent."""

FIGURE_3 = replace(
    CORE,
    operators=(*CORE.operators, ("project", 2), ("start", 2), ("and", 2), ("all", 2), ("unless", 2)),
    correlated=0.2,
)
"""All operators of tods21, Figure 3."""

EVERYTHING = replace(FIGURE_3, operators=(*FIGURE_3.operators, ("strict", 1), ("nxt", 1), ("last", 1), ("max", 1)))
"""All operators of tods21, Figure 3, and the selection strategies of section 7.1."""

PROFILES = {
    "core": CORE,
    "correlated": CORRELATED,
    "typed": TYPED,
    "figure3": FIGURE_3,
    "everything": EVERYTHING,
}


def case(rng: Random, profile: Profile, nodes: int, events: int) -> tuple[Formula, Stream]:
    """A formula of up to `nodes` nodes and a stream of up to `events` events; larger ones are more frequent."""
    phi = formula(rng, profile, max(rng.randint(1, nodes), rng.randint(1, nodes)))
    return phi, stream(rng, profile, max(rng.randint(1, events), rng.randint(1, events)), phi)


def formula(rng: Random, profile: Profile, nodes: int) -> Formula:
    """A formula of exactly `nodes` nodes, as `cel.size` counts; of fewer where the operators do not admit one."""
    return _formula(rng, profile, nodes)[0]


def stream(rng: Random, profile: Profile, length: int, phi: Formula | None = None) -> Stream:
    """A stream of that length; most events have the types that the formula asks for."""
    types = types_asked(profile, phi)
    return Stream([event(rng, profile, types) for _ in range(length)], profile.schema)


def types_asked(profile: Profile, phi: Formula | None) -> list[str]:
    """The types of the profile; those that the formula asks for are there many times."""
    asked = sorted({psi.type for psi in subformulas(phi) if isinstance(psi, cel.Event)}) if phi is not None else []
    return asked * 4 * len(profile.types) + [*profile.types] * len(asked) if asked else [*profile.types]


def event(rng: Random, profile: Profile, types: Sequence[str]) -> Event:
    """A random event of one of the types."""
    attributes = {name: rng.choice(pool) for name, pool in profile.attributes if rng.random() >= profile.absent}
    return Event(rng.choice(types), attributes)


def _formula(rng: Random, profile: Profile, nodes: int) -> tuple[Formula, Scope]:
    narrow, wide = profile.choices
    names, weights = wide if nodes > 2 else narrow
    if nodes == 1 or not names:
        R = rng.choice(profile.types)
        return cel.Event(R), (R,)
    operator = rng.choices(names, cum_weights=weights)[0]
    if operator in BINARY:
        left_nodes = rng.randint(1, nodes - 2)
        left, left_scope = _formula(rng, profile, left_nodes)
        right, right_scope = _formula(rng, profile, nodes - 1 - left_nodes)
        return instance(rng, BINARY[operator])(left, right), (*left_scope, *right_scope)
    atoms = 2 if operator == "filter" and nodes > 2 and rng.random() < 0.3 else 1
    phi, scope = _formula(rng, profile, nodes - atoms)
    match operator:
        case "filter":
            return cel.Filter(phi, _condition(rng, profile, scope, atoms)), scope
        case "in":
            A = rng.choice(profile.variables if rng.random() < 0.85 else profile.types)
            return cel.In(phi, A), (*scope, A)
        case "project":
            kept = tuple(A for A in dict.fromkeys(scope) if rng.random() < 0.6)
            return cel.Project(frozenset(kept), phi), kept
    return instance(rng, BY_NAME[operator])(phi), scope


def instance(rng: Random, operator: Operator) -> Callable[..., Any]:
    """A function from operands to a node of the operator, with other fields, if it has any, from its samples."""
    made = operator.instances()
    return made[0] if len(made) == 1 else rng.choice(made)


def _condition(rng: Random, profile: Profile, scope: Scope, atoms: int) -> Condition:
    first = _atom(rng, profile, scope)
    if atoms == 1:
        return first
    combine = cel.Conjunction if rng.random() < 0.5 else cel.Disjunction
    return combine(first, _atom(rng, profile, scope))


def _atom(rng: Random, profile: Profile, scope: Scope) -> Condition:
    if rng.random() < profile.correlated:
        name, pool = rng.choice(profile.attributes)
        left, right = (pred.Attribute(name, _variable(rng, profile, scope)) for _ in range(2))
        return cel.Correlated(pred.Comparison(rng.choice(_comparators(pool)), left, right))
    return cel.Every(_variable(rng, profile, scope), _predicate(rng, profile))


def _variable(rng: Random, profile: Profile, scope: Scope) -> str:
    """A variable that the formula binds; now and then any, because a filter on an unbound one has a meaning too."""
    return rng.choice(scope) if scope and rng.random() < 0.95 else rng.choice(profile.variables)


def _predicate(rng: Random, profile: Profile) -> pred.Predicate:
    name, pool = rng.choice(profile.attributes)
    attribute = pred.Attribute(name)
    chance = rng.random()
    if chance < 0.7:
        return pred.Comparison(rng.choice(_comparators(pool)), attribute, pred.Constant(rng.choice(pool)))
    if chance < 0.76:
        return pred.OneOf(attribute, tuple(rng.sample(pool, rng.randint(1, min(2, len(pool))))))
    if chance < 0.84:
        return pred.Not(_predicate(rng, profile))
    if chance < 0.92:
        return (pred.Both if rng.random() < 0.5 else pred.Either)(_predicate(rng, profile), _predicate(rng, profile))
    return _special(rng, profile, attribute, pool)


def _special(rng: Random, profile: Profile, attribute: pred.Attribute, pool: tuple[Value, ...]) -> pred.Predicate:
    """A test that only values of the pool's type know."""
    match pool[0]:
        case bool():
            return pred.Comparison(rng.choice(EQUALITIES), attribute, pred.Constant(rng.choice(pool)))
        case str():
            return pred.Like(attribute, rng.choice(("a.*", ".*b", "[ab]+", "a?b?", "")))
        case int() | float() if rng.random() < 0.5:
            numbers = [name for name, other in profile.attributes if value_type_of(other[0]) in ("int", "float")]
            sum_ = pred.Arithmetic(rng.choice(("+", "-", "*", "/")), attribute, pred.Attribute(rng.choice(numbers)))
            return pred.Comparison(rng.choice(COMPARATORS), sum_, pred.Constant(rng.choice(pool)))
    low, high = sorted(rng.choices(pool, k=2))
    return pred.InRange(attribute, low, high)


def _comparators(pool: tuple[Value, ...]) -> tuple[pred.Comparator, ...]:
    return EQUALITIES if isinstance(pool[0], bool) else COMPARATORS
