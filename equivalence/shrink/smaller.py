"""The ways to make a query and a stream smaller, each a generator of candidates, what cuts deepest first.

A candidate need not be smaller in fact: shrinking drops those that are not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import count
from typing import TypeAlias, TypeVar, assert_never

from cerify.equivalence.rewrite.trees import at_each_node, attribute_names, constants, mapped, names
from cerify.equivalence.shrink.weight import BINARY, UNARY
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Condition, Formula, size, subformulas
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.predicates import (
    Anything,
    Arithmetic,
    Attribute,
    Both,
    Comparison,
    Constant,
    Either,
    InRange,
    Like,
    Not,
    OfType,
    OneOf,
    Predicate,
    Term,
    about,
    mentions,
)
from cerify.semantics.trees import children
from cerify.semantics.values import EPOCH, Value

Q = TypeVar("Q")
Candidates: TypeAlias = Iterator[tuple[Formula, Stream]]

SIMPLEST_VARIABLES = ("X", "Y", "Z")


def fewer_events(phi: Q, S: Stream) -> Iterator[tuple[Q, Stream]]:
    """Without a part of the stream: halves first, then ever shorter parts, at last single events."""
    length = (len(S) + 1) // 2
    while length > 0:
        for start in range(0, len(S), length):
            yield phi, Stream(S[:start] + S[start + length :], S.schema)
        length //= 2


def smaller_formulas(phi: Formula, S: Stream) -> Candidates:
    """A sub-formula, or its iteration, in the place of a formula around it, the smallest first; a filter with less."""

    def local(psi: Formula) -> Iterator[Formula]:
        inside = sorted(list(subformulas(psi))[1:], key=size)
        yield from inside
        yield from map(cel.Plus, inside)
        if isinstance(psi, cel.Filter):
            yield from (cel.Filter(psi.phi, c) for c in fewer_atoms(psi.condition))

    return ((other, S) for other in at_each_node(phi, local))


def simpler_operators(phi: Formula, S: Stream) -> Candidates:
    """An operator in the place of a more complex one with as many operands, and a projection to fewer variables."""

    def local(psi: Formula) -> Iterator[Formula]:
        below = children(psi)
        kinds = ((), UNARY, BINARY)[len(below)]
        simpler = kinds[: kinds.index(type(psi))] if type(psi) in kinds else kinds
        yield from (kind(*below) for kind in simpler)
        match psi:
            case cel.Project(L, inner):
                yield from (cel.Project(L - {A}, inner) for A in sorted(L))
            case cel.Within(inner, cel.EventWindow(count)):
                yield from (cel.Within(inner, cel.EventWindow(n)) for n in (1, count // 2, count - 1) if n > 0)
            case cel.Within(inner, cel.TimeWindow(amount, unit)):
                yield from (cel.Within(inner, cel.TimeWindow(n, unit)) for n in simpler_numbers(amount) if n >= 0)
            case cel.Within(inner, cel.AttributeWindow(width, name)):
                yield from (cel.Within(inner, cel.AttributeWindow(n, name)) for n in simpler_numbers(width) if n >= 0)
            case _:
                pass

    return ((other, S) for other in at_each_node(phi, local))


def simpler_predicates(phi: Formula, S: Stream) -> Candidates:
    """A predicate in a filter replaced by a part of it, or by a comparison."""

    def conditions(c: Condition) -> Iterator[Condition]:
        match c:
            case cel.Every(A, P):
                yield from (cel.Every(A, Q) for Q in parts(P))
            case cel.Correlated(P):
                yield from (atom for Q in parts(P) if (atom := across(Q)) is not None)
                for A in sorted({a.variable for a in mentions(P) if a.variable is not None}):
                    yield cel.Every(A, about(P, None))
            case cel.Named():
                return
            case cel.Conjunction(left, right) | cel.Disjunction(left, right):
                yield from (type(c)(other, right) for other in conditions(left))
                yield from (type(c)(left, other) for other in conditions(right))
            case _:
                assert_never(c)

    def local(psi: Formula) -> Iterator[Formula]:
        if isinstance(psi, cel.Filter):
            yield from (cel.Filter(psi.phi, c) for c in conditions(psi.condition))

    return ((other, S) for other in at_each_node(phi, local))


def less_declared(phi: Formula, S: Stream) -> Candidates:
    """Without attributes that the formula does not ask for, and without types that nobody speaks of."""
    asked = set(attribute_names(phi))
    spoken = {*names(phi), *(event.type for event in S)}

    def kept(attributes: set[str], types: set[str]) -> Stream:
        events = [Event(e.type, {a: v for a, v in e.attributes.items() if a in attributes}) for e in S]
        if S.schema is None:
            return Stream(events)
        declared = {R: {a: t for a, t in of.items() if a in attributes} for R, of in S.schema.types.items()}
        return Stream(events, Schema({R: of for R, of in declared.items() if R in types}))

    declared = set(S.schema.attributes) if S.schema is not None else set()
    present = sorted(declared | {a for event in S for a in event.attributes})
    every_type = set(S.schema.types) if S.schema is not None else set()
    yield phi, kept(asked, spoken)
    yield phi, kept(set(present), spoken)
    yield phi, kept(asked, every_type)
    for name in present:
        if name not in asked:
            yield phi, kept(set(present) - {name}, every_type)


def fewer_names(phi: Formula, S: Stream) -> Candidates:
    """Two names made one, variables called X, Y, Z, and types replaced by simpler ones, of one event or throughout.

    A type may become another that is there, or one that the schema declares with the same attributes.
    """
    declared = S.schema.types if S.schema is not None else {}
    types = sorted({*(event.type for event in S), *(R.type for R in subformulas(phi) if isinstance(R, cel.Event))})
    variables = sorted(set(names(phi)) - {*types, *declared})
    for old in reversed(types):
        alike = [R for R in declared if old in declared and declared[R] == declared[old]]
        for new in sorted({*types, *alike}):
            yield (
                mapped(phi, name=lambda n, old=old, new=new: new if n == old else n),  # type: ignore[misc]
                Stream([retyped(e, new, S.schema) if e.type == old else e for e in S], S.schema),
            )
    for old in variables:
        for new in (*types, *variables, *SIMPLEST_VARIABLES):
            yield mapped(phi, name=lambda n, old=old, new=new: new if n == old else n), S  # type: ignore[misc]
    for i, event in enumerate(S):
        for R in types:
            yield phi, Stream([*S[:i], retyped(event, R, S.schema), *S[i + 1 :]], S.schema)

    def local(psi: Formula) -> Iterator[Formula]:
        match psi:
            case cel.Event():
                yield from map(cel.Event, types)
            case cel.In(inner, _):
                yield from (cel.In(inner, A) for A in (*types, *variables))
            case _:
                return

    yield from ((other, S) for other in at_each_node(phi, local))


def simpler_values(phi: Formula, S: Stream) -> Candidates:
    """Simpler attribute values and constants: all numbers at once, keeping their order; then one by one."""
    values = [*constants(phi), *(value for event in S for value in event.attributes.values())]
    for kind, shift in ((int, 0), (int, 1), (float, 0), (float, 1)):
        numbers = sorted({v for v in values if isinstance(v, int | float) and type(v) is kind})
        ranked: dict[tuple[type, Value], Value] = {(kind, v): kind(rank + shift) for rank, v in enumerate(numbers)}

        def simpler_value(v: Value, ranked: Mapping[tuple[type, Value], Value] = ranked) -> Value:
            return ranked.get((type(v), v), v)

        yield (
            mapped(phi, value=simpler_value),
            Stream([Event(e.type, {a: simpler_value(v) for a, v in e.attributes.items()}) for e in S], S.schema),
        )
    for i, event in enumerate(S):
        for name, value in event.attributes.items():
            for simpler in simpler_than(value):
                changed = Event(event.type, {**event.attributes, name: simpler})
                yield phi, Stream([*S[:i], changed, *S[i + 1 :]], S.schema)
    for i, value in enumerate(constants(phi)):
        for simpler in simpler_than(value):
            yield with_constant(phi, i, simpler), S


# --- parts of conditions and predicates -------------------------------------------------------------------------------


def fewer_atoms(condition: Condition) -> Iterator[Condition]:
    """The condition without one of its operands."""
    match condition:
        case cel.Conjunction(left, right) | cel.Disjunction(left, right):
            yield left
            yield right
            yield from (type(condition)(other, right) for other in fewer_atoms(left))
            yield from (type(condition)(left, other) for other in fewer_atoms(right))
            if isinstance(condition, cel.Disjunction):
                yield cel.Conjunction(left, right)
        case cel.Every() | cel.Correlated() | cel.Named():
            return
        case _:
            assert_never(condition)


def across(predicate: Predicate) -> Condition | None:
    """The condition that a predicate across variables makes, None where it speaks of none."""
    match [a.variable for a in mentions(predicate)]:
        case []:
            return None
        case [str(A)]:
            return cel.Every(A, about(predicate, None))
        case _:
            return cel.Correlated(predicate)


def parts(P: Predicate) -> Iterator[Predicate]:
    """Predicates with fewer nodes: operands of connectives, comparisons for longer tests, operands of arithmetic."""
    match P:
        case Both(left, right) | Either(left, right):
            yield left
            yield right
            yield from (type(P)(other, right) for other in parts(left))
            yield from (type(P)(left, other) for other in parts(right))
        case Not(inner):
            yield inner
            yield from map(Not, parts(inner))
        case OneOf(term, values):
            yield from (Comparison("=", term, Constant(value)) for value in values)
            yield from (OneOf(term, values[:i] + values[i + 1 :]) for i in range(len(values)) if len(values) > 1)
            yield from (OneOf(t, values) for t in operands(term))
        case InRange(term, low, high):
            yield Comparison(">=", term, Constant(low))
            yield Comparison("<=", term, Constant(high))
            yield from (InRange(t, low, high) for t in operands(term))
        case Like(term, pattern):
            yield Comparison("=", term, Constant(pattern))
        case Comparison(comparator, left_, right_):
            yield from (Comparison(comparator, t, right_) for t in operands(left_))
            yield from (Comparison(comparator, left_, t) for t in operands(right_))
            yield from (Comparison(comparator, t, Constant(0)) for t in (left_, right_) if isinstance(t, Attribute))
        case Anything() | OfType():
            return
        case _:
            assert_never(P)


def operands(term: Term) -> Iterator[Term]:
    """The terms inside an arithmetic term, and it with one of its operands made smaller."""
    if isinstance(term, Arithmetic):
        yield term.left
        yield term.right
        yield from (Arithmetic(term.operator, t, term.right) for t in operands(term.left))
        yield from (Arithmetic(term.operator, term.left, t) for t in operands(term.right))


# --- events and values ------------------------------------------------------------------------------------------------


def retyped(event: Event, R: str, schema: Schema | None) -> Event:
    """The event as one of type R, with those of its attributes that R has."""
    if schema is None or R not in schema.types:
        return Event(R, event.attributes)
    return Event(R, {a: v for a, v in event.attributes.items() if a in schema.types[R]})


def with_constant(phi: Formula, index: int, value: Value) -> Formula:
    """The formula with the constant of that index (in the order of `constants`) replaced."""
    place = count()
    return mapped(phi, value=lambda old: value if next(place) == index else old)


def simpler_than(value: Value) -> Iterator[Value]:
    """Values of the same kind nearer to the simplest one, the simplest first."""
    match value:
        case bool():
            yield False
        case int() | float():
            yield from simpler_numbers(value)
        case str():
            yield from ("", "a", value[: len(value) // 2], value[1:], value[:-1])
        case datetime():
            yield EPOCH
            yield EPOCH + timedelta(seconds=1)
            yield value.replace(microsecond=0)
            yield value.replace(minute=0, second=0, microsecond=0)
            yield value.replace(month=1, day=1, hour=0, minute=0, second=0, microsecond=0)


def simpler_numbers(value: int | float) -> Iterator[int | float]:
    """Numbers of the same type nearer to 0."""
    if isinstance(value, float) and not math.isfinite(value):
        yield from (0.0, 1.0)
        return
    kind, towards = type(value), 1 if value > 0 else -1
    yield from (kind(0), kind(1), abs(value), kind(int(value)), kind(int(value / 2)), value - towards)
