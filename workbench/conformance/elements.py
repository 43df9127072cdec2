"""What a defect may depend on: the operators of a query, those inside its filters, and absent values; and how to do
without one of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice, product
from typing import Any, TypeAlias, TypeVar, assert_never

from cerify.automata.algebra.values import DEFAULT
from cerify.equivalence.shrink.operations import QueryOperations
from cerify.equivalence.shrink.smaller import fewer_events, renamed, replacing
from cerify.languages.language import Language
from cerify.semantics.errors import Unsupported
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
)
from cerify.semantics.values import Value, ValueType

Elements: TypeAlias = frozenset[str]
Pair: TypeAlias = tuple[Any, Stream]
Q = TypeVar("Q")

ABSENT = "absent"
"""The element of a case in which an event lacks an attribute that the query reads."""

UNBOUND = "unbound"
"""The element of a query that names a variable which nothing binds."""

TYPES = [f"{letter}{number}" for number in range(100) for letter in "ABCDEFGH"]  # names for new event types
CHOICES = 8  # ways to put operands in the place of operators
ALTERNATIVES = 40  # pairs without an element that are looked at
FURTHER = 100  # the same for those that are one reduction further away


def operations_of(language: Language[Any]) -> QueryOperations[Any] | None:
    """How queries of the language get simpler; None where it does not say so."""
    with suppress(Unsupported):
        return language.operations()
    return None


def elements(language: Language[Any], query: Any, S: Stream) -> Elements:
    """The names of the operators in a query, of those in its predicates, and ABSENT and UNBOUND where they apply."""
    found = set(language.constructs(query))
    if (operations := operations_of(language)) is not None:
        found.update(name for P in operations.predicates(query) for name in _inside(P))
        read = set(operations.attributes(query))
        if any(_lacking(event, read, S) for event in S):
            found.add(ABSENT)
    if any(problem.rule == UNBOUND for problem in language.problems(query, S.schema)):
        found.add(UNBOUND)
    return frozenset(found)


def _inside(P: Predicate | Term) -> Iterator[str]:
    """The operators in a predicate; conjunctions and comparisons are none, since every filter has them."""
    match P:
        case Both(left, right):
            yield from (*_inside(left), *_inside(right))
        case Either(left, right):
            yield from ("or in a filter", *_inside(left), *_inside(right))
        case Not(inner):
            yield from ("not in a filter", *_inside(inner))
        case Comparison(_, left_, right_):
            yield from (*_inside(left_), *_inside(right_))
        case Arithmetic(operator, left_, right_):
            yield from (operator, *_inside(left_), *_inside(right_))
        case OneOf(term, _):
            yield from ("one of", *_inside(term))
        case InRange(term, _, _):
            yield from ("between", *_inside(term))
        case Like(term, _):
            yield from ("like", *_inside(term))
        case Anything() | OfType() | Attribute() | Constant():
            return
        case _:
            assert_never(P)


def _lacking(event: Event, read: set[str], S: Stream) -> set[str]:
    """The attributes among those read that the event could have and lacks."""
    declared = read if S.schema is None else read & set(S.schema.types.get(event.type, ()))
    return declared - set(event.attributes)


def without(language: Language[Any], query: Any, S: Stream, element: str, thorough: bool = False) -> Iterator[Pair]:
    """Queries and streams that have no such element, and else what the given ones have, as near to them as found.

    thorough: with those that are one event further away, or one reduction that leaves all other elements.
    """
    if (operations := operations_of(language)) is None:
        return
    if element == ABSENT:
        yield from ((query, other) for other in _filled(set(operations.attributes(query)), S))
        return
    least = elements(language, query, S) - {element}
    if any(language.operator_of(node) == element for node in language.subterms(query)):
        found = _cut(language, query, element)
    else:
        found = (other for reduction in operations.reductions for other in reduction(query))
    near = (
        one for other in found for one in (other, *_bound_otherwise(operations, other), *_tuned(operations, other, S))
    )
    nearest = list(islice((one for one in near if elements(language, one, S) <= least), ALTERNATIVES))
    yield from ((one, S) for one in nearest)
    if thorough:
        reduced = (other for one in nearest for reduction in operations.reductions for other in reduction(one))
        yield from islice(((one, S) for one in reduced if elements(language, one, S) == least), FURTHER)
        yield from ((one, other) for one in nearest for _, other in fewer_events(operations, one, S))


def _cut(language: Language[Any], query: Q, name: str) -> Iterator[Q]:
    """The query with an operand in the place of each operator of that name, in several ways."""
    number = sum(language.operator_of(node) == name for node in language.subterms(query))
    most = max(len(language.children(n)) for n in language.subterms(query) if language.operator_of(n) == name)

    def cut(node: Any, choice: Iterator[int]) -> Any:
        below = language.children(node)
        if language.operator_of(node) == name:
            return cut(below[next(choice) % len(below)], choice)
        return language.rebuilt(node, tuple(cut(child, choice) for child in below)) if below else node

    for chosen in islice(product(range(most), repeat=min(number, 10)), CHOICES):
        yield cut(query, iter((*chosen, *([0] * number))))
    if most > 1:
        yield cut(query, iter([most - 1] * number))


def _bound_otherwise(operations: QueryOperations[Q], query: Q) -> Iterator[Q]:
    """The query with event types in place of its variables, of which one may be bound no longer."""
    types = sorted(set(operations.types(query)))
    for variable in sorted(set(operations.names(query)) - set(types)):
        yield from (renamed(operations, query, variable, R) for R in types)


def of_another_type(operations: QueryOperations[Q], query: Q, S: Stream) -> Iterator[tuple[Q, Stream]]:
    """The query and the stream with a new event type in place of one name in the query, and for some of the events."""
    used = {*operations.names(query), *(event.type for event in S), *(S.schema.types if S.schema is not None else ())}
    new = next(name for name in TYPES if name not in used)
    schema = S.schema
    if schema is not None:
        schema = Schema({**schema.types, new: dict(schema.attributes)})
    for number in range(len(operations.names(query))):
        other = operations.mapped(query, name=replacing(number, new))
        for chosen in product((False, True), repeat=len(S)):
            events = [Event(new, e.attributes) if c else e for e, c in zip(S, chosen, strict=True)]
            yield other, Stream(events, schema)


def _tuned(operations: QueryOperations[Q], query: Q, S: Stream) -> Iterator[Q]:
    """The query with a value of the stream in place of each constant, since other tests divide values elsewhere."""
    if not operations.constants(query):
        return
    values = {v for event in S for v in event.attributes.values() if isinstance(v, int | float) and type(v) is not bool}
    for v in sorted(values)[:4]:
        yield operations.mapped(query, value=lambda old, v=v: v if type(old) in (int, float) else old)


def _filled(read: set[str], S: Stream) -> Iterator[Stream]:
    """The stream with values in place of those that are absent: such as others have, and the simplest."""
    present = {a: {e.attributes[a] for e in S if a in e.attributes} for a in read}
    for number in range(3):
        events = []
        for event in S:
            added: dict[str, Value] = {}
            for a in sorted(_lacking(event, read, S)):
                value_type: ValueType = S.schema.types[event.type][a] if S.schema is not None else "int"
                choices = [*sorted(present[a], key=repr), DEFAULT[value_type]]
                added[a] = choices[number % len(choices)]
            events.append(Event(event.type, {**event.attributes, **added}))
        yield Stream(events, S.schema)
