"""Hypothesis strategies for formulas, streams, and both together, for property tests of your evaluator or rewriting.

They are built from Hypothesis's own strategies, so that Hypothesis shrinks failing examples: formulas towards an event
type, streams towards few events with small values. Hypothesis is an extra: pip install 'cerify[hypothesis]'.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TypeAlias

try:
    from hypothesis import strategies as st
except ImportError:
    raise ImportError("these strategies need Hypothesis: pip install 'cerify[hypothesis]'") from None

from cerify.equivalence.bounded import inferred_schema
from cerify.equivalence.generate.cel import BINARY, BY_NAME, COMPARATORS, CORE, EQUALITIES, CelProfile
from cerify.equivalence.rewrite.trees import constants
from cerify.semantics import predicates as pred
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Condition, Formula
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.values import INT64, Value, ValueType, value_type_of

Scope: TypeAlias = tuple[str, ...]
Scoped: TypeAlias = tuple[Formula, Scope]
"""A formula, and the variables that it binds, which filters around it may use."""

Draw: TypeAlias = st.DrawFn
Values: TypeAlias = Callable[[str], st.SearchStrategy[Value]]
"""A function that returns a strategy for the values of the attribute of that name."""

OF_TYPE: dict[ValueType, st.SearchStrategy[Value]] = {
    "int": st.integers(INT64[0], INT64[-1]),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "string": st.text(st.characters(codec="utf-8")),
    "bool": st.booleans(),
    "timestamp": st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
}


def formulas(profile: CelProfile = CORE, nodes: int = 12) -> st.SearchStrategy[Formula]:
    """Generate formulas with at most `nodes` nodes, made of the operators, types, variables and constants of a profile.

    The weights of operators in the profile are ignored, because Hypothesis chooses how often to try each operator.
    """
    return _scoped(profile, nodes).map(lambda found: found[0])


def streams(of: Schema | Formula | CelProfile, events: int = 10) -> st.SearchStrategy[Stream]:
    """Generate streams of up to `events` events.

    From a schema: events of its types with any values. From a formula: events of its types and of one other type, with
    its attributes; values are often constants of the formula or neighbours of them. From a profile: events with the
    profile's values.
    """
    match of:
        case Schema():
            return _streams(of, lambda name: OF_TYPE[of.attributes[name]], events)
        case CelProfile():
            pools = dict(of.attributes)
            return _streams(of.schema, lambda name: st.sampled_from(pools[name]), events)
    schema = inferred_schema(of)
    return _streams(schema, partial(_near, constants(of), schema), events)


def cases(profile: CelProfile = CORE, nodes: int = 12, events: int = 10) -> st.SearchStrategy[tuple[Formula, Stream]]:
    """Generate pairs of a formula and a stream of a profile."""
    return st.tuples(formulas(profile, nodes), streams(profile, events))


def schemas(types: int = 3, attributes: int = 3) -> st.SearchStrategy[Schema]:
    """Generate schemas of up to `types` event types A, B, … with up to `attributes` attributes a, b, … each."""
    names = [chr(ord("a") + i) for i in range(attributes)]
    kinds = st.tuples(*(st.sampled_from(list(OF_TYPE)) for _ in names))
    subsets = st.lists(st.sets(st.sampled_from(names)) if names else st.just(set[str]()), min_size=1, max_size=types)

    def schema(declared: list[set[str]], kinds: tuple[ValueType, ...]) -> Schema:
        of = dict(zip(names, kinds, strict=True))
        return Schema({chr(ord("A") + i): {a: of[a] for a in sorted(names)} for i, names in enumerate(declared)})

    return st.builds(schema, subsets, kinds)


# --- streams ----------------------------------------------------------------------------------------------------------


def _streams(schema: Schema, values: Values, events: int) -> st.SearchStrategy[Stream]:
    if not schema.types:
        return st.just(Stream([], schema))
    kinds = [
        st.builds(Event, st.just(R), st.fixed_dictionaries({}, optional={a: values(a) for a in attributes}))
        for R, attributes in schema.types.items()
    ]
    return st.lists(st.one_of(kinds), max_size=events).map(lambda found: Stream(found, schema))


def _near(known: list[Value], schema: Schema, name: str) -> st.SearchStrategy[Value]:
    """Generate values of an attribute's type: the constants of a formula, their neighbours, and any others."""
    kind = schema.attributes[name]
    pool: list[Value] = []
    for value in known:
        match kind, value:
            case "int" | "float", int() | float() if not isinstance(value, bool):
                near = (value, value - 1, value + 1)
                pool += map(float, near) if kind == "float" else [int(n) for n in near if int(n) in INT64]
            case _ if value_type_of(value) == kind:
                pool.append(value)
    return st.one_of(st.sampled_from(pool), OF_TYPE[kind]) if pool else OF_TYPE[kind]


# --- formulas ---------------------------------------------------------------------------------------------------------


@st.composite
def _scoped(draw: Draw, profile: CelProfile, nodes: int) -> Scoped:
    """Generate a formula and the names in its scope.

    There is one strategy for all depths, so that Hypothesis can replace a formula by one of its sub-formulas.
    """
    chosen = draw(st.integers(0, len(profile.operators)))  # 0 is an event type, because Hypothesis shrinks towards 0
    operator = profile.operators[chosen - 1][0]
    if chosen == 0 or nodes < (3 if operator in BINARY else 2):
        R = draw(st.sampled_from(profile.types))
        return cel.EventAtom(R), (R,)
    if operator in BINARY:
        left, scope = draw(_scoped(profile, (nodes - 1) // 2))
        right, more = draw(_scoped(profile, nodes // 2))
        return BINARY[operator].node(left, right), (*scope, *more)
    phi, scope = draw(_scoped(profile, nodes - 1))
    match operator:
        case "filter":
            return cel.Filter(phi, draw(_atom(profile, scope))), scope
        case "in":
            A = draw(st.sampled_from((*profile.variables, *profile.types)))
            return cel.In(phi, A), (*scope, A)
        case "project":
            kept = tuple(A for A in dict.fromkeys(scope) if draw(st.booleans()))
            return cel.Project(frozenset(kept), phi), kept
    return draw(st.sampled_from(BY_NAME[operator].instances()))(phi), scope


@st.composite
def _atom(draw: Draw, profile: CelProfile, scope: Scope) -> Condition:
    variables = st.sampled_from(tuple(dict.fromkeys(scope)) or profile.variables)
    # Hypothesis shrinks numbers towards 0, which is then the simpler filter, on one event.
    if profile.correlated and draw(st.floats(0, 1)) > 1 - profile.correlated:
        name, pool = draw(st.sampled_from(profile.attributes))
        left, right = (pred.Attribute(name, draw(variables)) for _ in range(2))
        return cel.Correlated(pred.Comparison(draw(_comparators(pool)), left, right))
    return cel.Every(draw(variables), draw(_predicates(profile)))


def _predicates(profile: CelProfile) -> st.SearchStrategy[pred.Predicate]:
    simple = st.one_of([_simple(name, pool) for name, pool in profile.attributes])
    both = st.one_of(st.builds(pred.Both, simple, simple), st.builds(pred.Either, simple, simple))
    return st.one_of(simple, st.builds(pred.Not, simple), both)


def _simple(name: str, pool: tuple[Value, ...]) -> st.SearchStrategy[pred.Predicate]:
    attribute, values = pred.Attribute(name), st.sampled_from(pool)
    ways: list[st.SearchStrategy[pred.Predicate]] = [
        st.builds(pred.Comparison, _comparators(pool), st.just(attribute), values.map(pred.Constant))
    ]
    if not isinstance(pool[0], bool):
        among = st.lists(values, min_size=1, max_size=3, unique=True).map(tuple)
        ways.append(st.builds(pred.OneOf, st.just(attribute), among))
        ways.append(st.tuples(values, values).map(lambda ends: pred.InRange(attribute, min(ends), max(ends))))
    return st.one_of(ways)


def _comparators(pool: tuple[Value, ...]) -> st.SearchStrategy[pred.Comparator]:
    return st.sampled_from(EQUALITIES if isinstance(pool[0], bool) else COMPARATORS)
