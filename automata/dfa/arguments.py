"""The attribute that each argument of a primitive event stands for (vldb92, section 6: attributes are positional)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from cerify.semantics.event_expressions.relation import KindedValue
from cerify.semantics.events import TIME, Schema, Stream
from cerify.semantics.values import Value, kind

ArgumentOrder: TypeAlias = Mapping[str, tuple[str, ...]]
"""The attributes of each event type but for the time, in the order of the arguments."""


def order_under(schema: Schema | None) -> ArgumentOrder:
    """The order in which the schema lists attributes; empty without a schema."""
    return {} if schema is None else {T: tuple(filter(TIME.__ne__, names)) for T, names in schema.types.items()}


def order_in(S: Stream) -> ArgumentOrder:
    """The order under the stream's schema; without one, that in which the stream first shows attributes, as columns."""
    if S.schema is not None:
        return order_under(S.schema)
    columns: dict[str, set[str]] = {}  # the types of each attribute
    types: dict[str, None] = {}
    for event in S:
        types[event.type] = None
        for name in event.attributes:
            columns.setdefault(name, set()).add(event.type)
    return {T: tuple(name for name, having in columns.items() if T in having and name != TIME) for T in types}


def kinded(v: Value) -> KindedValue:
    """A value with its kind: 1 and true are equal in Python, and different values here."""
    return kind(v), v
