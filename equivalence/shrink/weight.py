"""How heavy a query and a stream are: the well-founded order that shrinking descends."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any, TypeAlias, assert_never

from cerify.equivalence.rewrite.trees import constants, names, predicates
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.operators import OPERATORS
from cerify.semantics.cel.syntax import Formula, size, subformulas
from cerify.semantics.events import Stream
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
from cerify.semantics.values import Value, microseconds

Weight: TypeAlias = tuple[int, ...]


def _with_operands(number: int, plain: bool) -> tuple[type[Any], ...]:
    found = (o for o in OPERATORS.values() if len(o.node.operands) == number and o.plain is plain)
    return tuple(operator.node for operator in found)


# Operators that have no fields but their operands, the simpler first: one may be replaced by an earlier one.
BINARY, UNARY = _with_operands(2, plain=True), _with_operands(1, plain=True)
RANK: dict[type, int] = {
    kind: rank for group in (BINARY, UNARY + _with_operands(1, plain=False)) for rank, kind in enumerate(group)
}


def weight(phi: Formula, stream: Stream) -> Weight:
    """The place of a query and a stream in the order: a tuple of natural numbers, compared left to right.

    In turn: formula nodes; events; predicate nodes; complexity of the operators; declared types and attributes;
    attribute values there are; different names; how far the names, then the values and constants are from the simplest.
    Tuples of one length over the natural numbers are well-founded in this order, so that every descent ends.
    """
    said = list(names(phi))
    schema = stream.schema.types if stream.schema is not None else {}
    types = [event.type for event in stream]
    values = [value for event in stream for value in event.attributes.values()]
    return (
        size(phi),
        len(stream),
        sum(map(nodes, predicates(phi))),
        sum(map(complexity, subformulas(phi))),
        sum(1 + len(attributes) for attributes in schema.values()),
        len(values),
        len({*said, *types}),
        sum(map(name_weight, (*said, *types))),
        sum(map(value_weight, (*values, *constants(phi)))),
    )


def complexity(phi: Formula) -> int:
    """How far an operator is from the simplest of its arity, with what it carries."""
    match phi:
        case cel.Event():
            return 0
        case cel.Project(L, _):
            return RANK[cel.Project] + len(L)
        case cel.Filter(_, condition):
            return RANK[cel.Filter] + sum(isinstance(c, cel.Correlated | cel.Named) for c in cel.atoms(condition))
        case cel.Within(_, cel.EventWindow(amount) | cel.TimeWindow(amount, _) | cel.AttributeWindow(amount, _)):
            return RANK[cel.Within] + value_weight(amount)
        case _:
            return RANK[type(phi)]


def nodes(predicate: Predicate) -> int:
    """The number of connectives, comparisons, terms and constants in a predicate."""
    match predicate:
        case Anything() | OfType():
            return 1
        case Comparison(_, left, right):
            return 1 + term_nodes(left) + term_nodes(right)
        case OneOf(term, values):
            return 2 + term_nodes(term) + len(values)
        case InRange(term, _, _):
            return 4 + term_nodes(term)
        case Like(term, _):
            return 3 + term_nodes(term)
        case Not(inner):
            return 1 + nodes(inner)
        case Both(left_, right_) | Either(left_, right_):
            return 1 + nodes(left_) + nodes(right_)
        case _:
            assert_never(predicate)


def term_nodes(term: Term) -> int:
    """The number of operators, attributes and constants in a term; an attribute is heavier than a constant."""
    match term:
        case Attribute():
            return 2
        case Constant():
            return 1
        case Arithmetic(_, left, right):
            return 1 + term_nodes(left) + term_nodes(right)
        case _:
            assert_never(term)


def name_weight(name: str) -> int:
    """The place of a name in the order by length, then by code."""
    return int.from_bytes(name.encode())


def value_weight(value: Value) -> int:
    """How far a value is from the simplest of its kind; 0, 0.0, false, '' and the epoch are."""
    match value:
        case bool():
            return int(value)
        case int():
            return 2 * abs(value) + (value < 0)
        case float():
            if not math.isfinite(value):
                return 1 << 1100
            return 2 * (2 * math.ceil(abs(value)) + (value < 0)) + (not value.is_integer())
        case str():
            return int.from_bytes(value.encode())
        case datetime():
            return value_weight(microseconds(value))
