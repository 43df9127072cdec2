"""Result events: the attributes that RETURN makes of a match (sase07, sections 2.1 and 2.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, assert_never

from cerify.semantics.events import Bindings, Event
from cerify.semantics.predicates import Term, evaluate
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import NO_OPERATIONS, Operations
from cerify.semantics.sase.conditions import position, value_of
from cerify.semantics.sase.naming import names_of
from cerify.semantics.values import Value

Composed: TypeAlias = dict[str, Value | None]
"""A value of a composite type, by the names of its parts."""

ResultValue: TypeAlias = Value | Composed | list[Value | None] | list[Composed] | None
"""Of the four types: atomic-simple, atomic-composite, sequence-simple, sequence-composite; None where it is absent."""


def result(
    q: sase.Query, match: Bindings, S: Sequence[Event], operations: Operations = NO_OPERATIONS
) -> dict[str, ResultValue]:
    """The attributes of the result event that a match becomes."""
    bound = dict(match)
    values = (_value(item.output, bound, S, operations) for item in q.returned.items)
    return dict(zip(names_of(q.returned), values, strict=True))


def _value(
    output: sase.Output, bound: Mapping[str, tuple[int, ...]], S: Sequence[Event], operations: Operations
) -> ResultValue:
    match output:
        case sase.Simple(term):
            return simple(term, bound, S, operations)
        case sase.Series(b, name):
            return [S[p].get(name) for p in bound[b]]
        case sase.Composite(a, place, names):
            p = position(bound[a], place)
            return None if p is None else {name: S[p].get(name) for name in names}
        case sase.CompositeSeries(b, names):
            return [{name: S[p].get(name) for name in names} for p in bound[b]]
        case _:
            assert_never(output)


def simple(
    term: Term, bound: Mapping[str, tuple[int, ...]], S: Sequence[Event], operations: Operations = NO_OPERATIONS
) -> Value | None:
    """The value of a term over a match."""
    return evaluate(term, value_of(bound, S, operations))
