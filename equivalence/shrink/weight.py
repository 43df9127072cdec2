"""How heavy a query and a stream are: the well-founded order that shrinking descends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import TypeAlias, assert_never

from cerify.equivalence.shrink.operations import Q, QueryOperations
from cerify.semantics import predicates as pred
from cerify.semantics.events import Stream
from cerify.semantics.predicates import nodes
from cerify.semantics.values import Value, microseconds

Weight: TypeAlias = tuple[int, ...]


def weight(language: QueryOperations[Q], query: Q, stream: Stream) -> Weight:
    """The place of a query and a stream in the order: a tuple of natural numbers, compared left to right.

    In turn: nodes of the query; events; predicate nodes; complexity of the operators; declared types and attributes;
    the number of attribute values; different names; how far the names, then the values and constants are from the
    simplest. Tuples of one length over the natural numbers are well-founded in this order, so that every descent ends.
    """
    schema = stream.schema.types if stream.schema is not None else {}
    names = [*language.names(query), *(event.type for event in stream)]
    values: Sequence[Value] = [value for event in stream for value in event.attributes.values()]
    return (
        language.size(query),
        len(stream),
        sum(map(predicate_weight, language.predicates(query))),
        language.complexity(query),
        sum(1 + len(attributes) for attributes in schema.values()),
        len(values),
        len(set(names)),
        sum(map(name_weight, names)),
        sum(map(value_weight, (*values, *language.constants(query)))),
    )


def predicate_weight(predicate: pred.Predicate) -> int:
    """The number of connectives, comparisons, terms and constants in it; an attribute is heavier than a constant."""
    return sum(_node_weight(node) for node in nodes(predicate))


def _node_weight(node: pred.Predicate | pred.Term) -> int:
    match node:
        case pred.OneOf(_, values):
            return 2 + len(values)
        case pred.InRange():
            return 4
        case pred.Like():
            return 3
        case pred.Attribute():
            return 2
        case (
            pred.Anything()
            | pred.OfType()
            | pred.Comparison()
            | pred.Not()
            | pred.Both()
            | pred.Either()
            | pred.Arithmetic()
            | pred.Constant()
        ):
            return 1
        case _:
            assert_never(node)


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
