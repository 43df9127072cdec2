"""Tuple predicates, that is conditions on one event: their syntax tree, and their truth value on an event.

A predicate is a decidable set of tuples (tods21, section 4, "CEA predicate"). Outside brackets the same tree is used
for correlation: there an attribute names the variable whose events it ranges over. How a predicate is evaluated on
whole columns is in columns.py; the two must agree, and a property test holds them together.

The rules, which every evaluator has to keep:
- a comparison in which an attribute is absent, or of values of different kinds, is false; NaN is as in IEEE 754;
- integers and floats compare exactly; integer arithmetic is exact, arithmetic with a float is that of binary64;
- `/` is true division; division by zero has no value, so that a comparison with it is false;
- booleans know = and != only, strings order by code point; `like` matches the whole string, in RE2's syntax.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar, assert_never

from cerify.semantics.events import Event
from cerify.semantics.like import matches
from cerify.semantics.values import Value, kind

Comparator = Literal["<", "<=", ">", ">=", "=", "!="]
Operator = Literal["+", "-", "*", "/"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Attribute:
    """The value of an attribute of the events of a variable, which is None inside brackets."""

    name: str
    variable: str | None = None


class _Written:
    """Has a place for its hash; values written in it are equal only with their types: in Python True == 1 == 1.0."""

    __slots__ = ("_hash",)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _key(self) == _key(other)

    def __hash__(self) -> int:
        return hash(_key(self))


@dataclass(frozen=True, slots=True, eq=False)
class Constant(_Written):
    """A value written in the query."""

    value: Value


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Arithmetic on two numbers."""

    operator: Operator
    left: Term
    right: Term


Term: TypeAlias = Attribute | Constant | Arithmetic


@dataclass(frozen=True, slots=True)
class Anything:
    """tuples(R) for the whole schema: true of every event."""


@dataclass(frozen=True, slots=True)
class OfType(_Written):
    """tuples(R): the event is of type R."""

    type: str


@dataclass(frozen=True, slots=True)
class Comparison(_Written):
    """Two terms compared."""

    comparator: Comparator
    left: Term
    right: Term


@dataclass(frozen=True, slots=True, eq=False)
class OneOf(_Written):
    """The term equals one of the values."""

    term: Term
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class InRange(_Written):
    """low <= term <= high."""

    term: Term
    low: Value
    high: Value


@dataclass(frozen=True, slots=True)
class Like(_Written):
    """The term is a string that a regular expression matches as a whole."""

    term: Term
    pattern: str


@dataclass(frozen=True, slots=True)
class Not(_Written):
    """Complement."""

    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Both(_Written):
    """Intersection."""

    left: Predicate
    right: Predicate


@dataclass(frozen=True, slots=True)
class Either(_Written):
    """Union."""

    left: Predicate
    right: Predicate


Atomic: TypeAlias = Anything | OfType | Comparison | OneOf | InRange | Like
"""The predicates that are not combined of others."""

Predicate: TypeAlias = Atomic | Not | Both | Either


def _hash_once(kind: Any) -> None:
    """Let the hash of a predicate of the class be computed once."""
    computed = kind.__hash__

    def __hash__(self: Any) -> Any:
        if not hasattr(self, "_hash"):
            object.__setattr__(self, "_hash", computed(self))
        return self._hash

    kind.__hash__ = __hash__


for _kind in (OfType, Comparison, OneOf, InRange, Like, Not, Both, Either):  # keys of tables again and again
    _hash_once(_kind)

COMPARE: Mapping[Comparator, Callable[[Value, Value], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "!=": operator.ne,
}  # fmt: skip
ARITHMETIC: Mapping[Operator, Callable[[int | float, int | float], int | float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip


def holds(predicate: Predicate, event: Event) -> bool:
    """Whether the event is in the predicate."""
    return satisfied(predicate, lambda attribute: event.get(attribute.name), event.type)


def chosen(predicates: Sequence[Predicate], event: Event) -> frozenset[int]:
    """The type of an event: the numbers of the predicates that it is in (tods21, Definition 5.6)."""
    return frozenset(i for i, P in enumerate(predicates) if holds(P, event))


def satisfied(predicate: Predicate, value_of: Callable[[Attribute], Value | None], type_: str = "") -> bool:
    """Whether the predicate is true when value_of gives the values of its attributes, left to right."""
    match predicate:
        case Anything():
            return True
        case OfType(name):
            return type_ == name
        case Comparison(comparator, left, right):
            return compare(comparator, evaluate(left, value_of), evaluate(right, value_of))
        case OneOf(term, values):
            value = evaluate(term, value_of)
            return any(compare("=", value, v) for v in values)
        case InRange(term, low, high):
            value = evaluate(term, value_of)
            return compare("<=", low, value) and compare("<=", value, high)
        case Like(term, pattern):
            return matches(pattern, evaluate(term, value_of))
        case Not(inner):
            return not satisfied(inner, value_of, type_)
        case Both(left_, right_):
            return satisfied(left_, value_of, type_) and satisfied(right_, value_of, type_)
        case Either(left_, right_):
            return satisfied(left_, value_of, type_) or satisfied(right_, value_of, type_)
        case _:
            assert_never(predicate)


def evaluate(term: Term, value_of: Callable[[Attribute], Value | None]) -> Value | None:
    """The value of a term, None where it has none."""
    match term:
        case Attribute():
            return value_of(term)
        case Constant(value):
            return value
        case Arithmetic(symbol, left, right):
            a, b = evaluate(left, value_of), evaluate(right, value_of)
            if not (_is_number(a) and _is_number(b)):
                return None
            try:
                return ARITHMETIC[symbol](a, b)  # type: ignore[arg-type]
            except (ZeroDivisionError, OverflowError):
                return None
        case _:
            assert_never(term)


def compare(comparator: Comparator, left: Value | None, right: Value | None) -> bool:
    """The comparison of two values; false where either is absent or they are of different kinds."""
    if left is None or right is None or kind(left) != kind(right):
        return False
    if isinstance(left, bool) and comparator not in ("=", "!="):
        return False
    return COMPARE[comparator](left, right)


def nodes(root: Predicate | Term) -> Iterator[Predicate | Term]:
    """All predicates and terms in a predicate or a term, each before those in it, left to right."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        match node:
            case Comparison(_, left, right) | Arithmetic(_, left, right):
                pending += [right, left]
            case Both() | Either():
                pending += [node.right, node.left]
            case OneOf(inner, _) | InRange(inner, _, _) | Like(inner, _) | Not(inner):
                pending.append(inner)
            case Anything() | OfType() | Attribute() | Constant():
                pass
            case _:
                assert_never(node)


def atoms(predicate: Predicate) -> Iterator[Atomic]:
    """The atomic predicates of which a predicate is combined, left to right, with repetitions."""
    return (node for node in nodes(predicate) if isinstance(node, Atomic))


def mentions(root: Predicate | Term) -> Iterator[Attribute]:
    """The attributes of a predicate or a term, left to right, with repetitions."""
    return (node for node in nodes(root) if isinstance(node, Attribute))


def combined(
    predicate: Predicate,
    of_atom: Callable[[Atomic], T],
    negation: Callable[[T], T],
    conjunction: Callable[[T, T], T],
    disjunction: Callable[[T, T], T],
) -> T:
    """What `of_atom` gives for the atomic predicates, combined as these are in the predicate."""

    def of(P: Predicate) -> T:  # no cycle of references, which would keep what of_atom holds, such as a table of events
        return combined(P, of_atom, negation, conjunction, disjunction)

    match predicate:
        case Not(inner):
            return negation(of(inner))
        case Both(left, right):
            return conjunction(of(left), of(right))
        case Either(left, right):
            return disjunction(of(left), of(right))
        case Anything() | OfType() | Comparison() | OneOf() | InRange() | Like():
            return of_atom(predicate)
        case _:
            assert_never(predicate)


def outcomes(predicate: Predicate, of_atom: Callable[[Atomic], tuple[bool, bool]]) -> tuple[bool, bool]:
    """Whether it can be true and whether it can be false, given that of its atomic predicates, as free choices."""
    return combined(
        predicate,
        of_atom,
        lambda a: (a[1], a[0]),
        lambda a, b: (a[0] and b[0], a[1] or b[1]),
        lambda a, b: (a[0] or b[0], a[1] and b[1]),
    )


def about(predicate: Predicate, variable: str | None) -> Predicate:
    """The same predicate with every attribute that of the variable, or of the one event if it is None."""
    return mapped_predicate(predicate, lambda attribute: Attribute(attribute.name, variable))


def mapped_predicate(
    P: Predicate,
    attribute: Callable[[Attribute], Attribute] = lambda a: a,
    value: Callable[[Value], Value] = lambda v: v,
) -> Predicate:
    """The predicate with other attributes and constants."""

    def term(t: Term) -> Term:
        match t:
            case Attribute():
                return attribute(t)
            case Constant(v):
                return Constant(value(v))
            case Arithmetic(symbol, left, right):
                return Arithmetic(symbol, term(left), term(right))
            case _:
                assert_never(t)

    def predicate(Q: Predicate) -> Predicate:
        match Q:
            case Comparison(comparator, left, right):
                return Comparison(comparator, term(left), term(right))
            case OneOf(t, values):
                return OneOf(term(t), tuple(map(value, values)))
            case InRange(t, low, high):
                return InRange(term(t), value(low), value(high))
            case Like(t, pattern):
                return Like(term(t), pattern)
            case Not(inner):
                return Not(predicate(inner))
            case Both(left_, right_) | Either(left_, right_):
                return type(Q)(predicate(left_), predicate(right_))
            case Anything() | OfType():
                return Q
            case _:
                assert_never(Q)

    return predicate(P)


def _key(written: object) -> object:
    """The fields, with the types of the values in them."""
    found = [getattr(written, name) for name in type(written).__match_args__]  # type: ignore[attr-defined]
    return tuple((v, tuple(map(type, v)) if isinstance(v, tuple) else type(v)) for v in found)


def _is_number(value: Value | None) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
