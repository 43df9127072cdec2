"""What the suite's queries are asked of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from cerify.semantics.values import Value

Pool: TypeAlias = tuple[str, tuple[Value, ...]]


@dataclass(frozen=True)
class Group:
    """Queries of one feature, and what the streams for them are made of: event types, and attributes with their values.

    absent: the share of attribute values left out. length: the most events of a stream.
    ordered: whether the events are in the order of time.
    """

    feature: str
    queries: tuple[str, ...]
    attributes: tuple[Pool, ...] = ()
    types: tuple[str, ...] = ("A", "B", "C")
    output: Literal["matches", "valuations"] = "matches"
    absent: float = 0.0
    length: int = 4
    ordered: bool = False


def each(*queries: str, **names: str) -> tuple[str, ...]:
    """The queries with the names put in."""
    return tuple(query.format(**names) for query in queries)
