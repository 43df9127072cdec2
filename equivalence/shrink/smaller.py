"""The ways to make a query and a stream smaller together, in any language, each a generator of candidates.

A candidate need not be smaller in fact: shrinking drops those that are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import count
from typing import TypeAlias, TypeVar, assert_never

from cerify.equivalence.shrink.operations import Q, QueryOperations
from cerify.semantics import predicates as pred
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.values import EPOCH, Value

V = TypeVar("V")
Candidates: TypeAlias = Iterator[tuple[Q, Stream]]

SIMPLEST_VARIABLES = ("X", "Y", "Z")


def fewer_events(language: QueryOperations[Q], query: Q, S: Stream) -> Candidates[Q]:
    """Without a part of the stream: halves first, then ever shorter parts, at last single events."""
    length = (len(S) + 1) // 2
    while length > 0:
        for start in range(0, len(S), length):
            yield query, Stream(S[:start] + S[start + length :], S.schema)
        length //= 2


def less_declared(language: QueryOperations[Q], query: Q, S: Stream) -> Candidates[Q]:
    """Without attributes that the query does not read, and without types that neither the query nor an event has."""
    read = set(language.attributes(query))
    named = {*language.names(query), *(event.type for event in S)}

    def restricted(attributes: set[str], types: set[str]) -> Stream:
        events = [Event(e.type, {a: v for a, v in e.attributes.items() if a in attributes}) for e in S]
        if S.schema is None:
            return Stream(events)
        declared = {R: {a: t for a, t in of.items() if a in attributes} for R, of in S.schema.types.items()}
        return Stream(events, Schema({R: of for R, of in declared.items() if R in types}))

    declared = set(S.schema.attributes) if S.schema is not None else set()
    present = sorted(declared | {a for event in S for a in event.attributes})
    every_type = set(S.schema.types) if S.schema is not None else set()
    yield query, restricted(read, named)
    yield query, restricted(set(present), named)
    yield query, restricted(read, every_type)
    for name in present:
        if name not in read:
            yield query, restricted(set(present) - {name}, every_type)


def fewer_names(language: QueryOperations[Q], query: Q, S: Stream) -> Candidates[Q]:
    """Two names made one, variables called X, Y, Z, and types replaced by simpler ones, at one place or throughout.

    A type may become another that is there, or one that the schema declares with the same attributes.
    """
    declared = S.schema.types if S.schema is not None else {}
    types = sorted({*(event.type for event in S), *language.types(query)})
    names = language.names(query)
    variables = sorted(set(names) - {*types, *declared})
    for old in reversed(types):
        alike = [R for R in declared if old in declared and declared[R] == declared[old]]
        for new in sorted({*types, *alike}):
            events = [retyped(e, new, S.schema) if e.type == old else e for e in S]
            yield renamed(language, query, old, new), Stream(events, S.schema)
    for old in variables:
        for new in (*types, *variables, *SIMPLEST_VARIABLES):
            yield renamed(language, query, old, new), S
    for i, event in enumerate(S):
        for R in types:
            yield query, Stream([*S[:i], retyped(event, R, S.schema), *S[i + 1 :]], S.schema)
    for i in range(len(names)):
        for new in (*types, *variables):
            yield language.mapped(query, name=replacing(i, new)), S


def replacing(index: int, new: V) -> Callable[[V], V]:
    """A function that gives the new value at its call of that number, counted from 0, and else its argument."""
    calls = count()
    return lambda old: new if next(calls) == index else old


def renamed(language: QueryOperations[Q], query: Q, old: str, new: str) -> Q:
    """The query with one name in place of another, wherever that stands."""
    return language.mapped(query, name=lambda name: new if name == old else name)


def simpler_values(language: QueryOperations[Q], query: Q, S: Stream) -> Candidates[Q]:
    """Simpler attribute values and constants: all numbers at once, keeping their order; then one by one."""
    constants = language.constants(query)
    values = [*constants, *(value for event in S for value in event.attributes.values())]
    for kind, shift in ((int, 0), (int, 1), (float, 0), (float, 1)):
        numbers = sorted({v for v in values if isinstance(v, int | float) and type(v) is kind})
        ranked: dict[tuple[type, Value], Value] = {(kind, v): kind(rank + shift) for rank, v in enumerate(numbers)}

        def simpler_value(v: Value, ranked: Mapping[tuple[type, Value], Value] = ranked) -> Value:
            return ranked.get((type(v), v), v)

        yield (
            language.mapped(query, value=simpler_value),
            Stream([Event(e.type, {a: simpler_value(v) for a, v in e.attributes.items()}) for e in S], S.schema),
        )
    for i, event in enumerate(S):
        for name, value in event.attributes.items():
            for simpler in simpler_than(value):
                changed = Event(event.type, {**event.attributes, name: simpler})
                yield query, Stream([*S[:i], changed, *S[i + 1 :]], S.schema)
    for i, value in enumerate(constants):
        for simpler in simpler_than(value):
            yield language.mapped(query, value=replacing(i, simpler)), S


# --- parts of predicates ----------------------------------------------------------------------------------------------


def parts(P: pred.Predicate) -> Iterator[pred.Predicate]:
    """Predicates with fewer nodes: operands of connectives, comparisons for longer tests, operands of arithmetic."""
    match P:
        case pred.Both(left, right) | pred.Either(left, right):
            yield left
            yield right
            yield from (type(P)(other, right) for other in parts(left))
            yield from (type(P)(left, other) for other in parts(right))
        case pred.Not(inner):
            yield inner
            yield from map(pred.Not, parts(inner))
        case pred.OneOf(term, values):
            yield from (pred.Comparison("=", term, pred.Constant(value)) for value in values)
            yield from (pred.OneOf(term, values[:i] + values[i + 1 :]) for i in range(len(values)) if len(values) > 1)
            yield from (pred.OneOf(t, values) for t in operands(term))
        case pred.InRange(term, low, high):
            yield pred.Comparison(">=", term, pred.Constant(low))
            yield pred.Comparison("<=", term, pred.Constant(high))
            yield from (pred.InRange(t, low, high) for t in operands(term))
        case pred.Like(term, pattern):
            yield pred.Comparison("=", term, pred.Constant(pattern))
        case pred.Comparison(comparator, left_, right_):
            yield from (pred.Comparison(comparator, t, right_) for t in operands(left_))
            yield from (pred.Comparison(comparator, left_, t) for t in operands(right_))
            yield from (
                pred.Comparison(comparator, t, pred.Constant(0))
                for t in (left_, right_)
                if isinstance(t, pred.Attribute)
            )
        case pred.Anything() | pred.OfType():
            return
        case _:
            assert_never(P)


def operands(term: pred.Term) -> Iterator[pred.Term]:
    """The terms inside an arithmetic term, and it with one of its operands made smaller."""
    if isinstance(term, pred.Arithmetic):
        yield term.left
        yield term.right
        yield from (pred.Arithmetic(term.operator, t, term.right) for t in operands(term.left))
        yield from (pred.Arithmetic(term.operator, term.left, t) for t in operands(term.right))


# --- events and values ------------------------------------------------------------------------------------------------


def retyped(event: Event, R: str, schema: Schema | None) -> Event:
    """The event as one of type R, with those of its attributes that R has."""
    if schema is None or R not in schema.types:
        return Event(R, event.attributes)
    return Event(R, {a: v for a, v in event.attributes.items() if a in schema.types[R]})


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
