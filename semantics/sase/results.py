"""Result events: what RETURN makes of a match (sase07, sections 2.1 and 2.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias, assert_never

from cerify.semantics.events import Event, Value
from cerify.semantics.predicates import Term, evaluate
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import NO_OPERATIONS, Operations
from cerify.semantics.sase.conditions import Bindings, position, value_of
from cerify.semantics.sase.show import show_output

Composed: TypeAlias = dict[str, Value | None]
"""A value of a composite type, by the names of its parts."""

ResultValue: TypeAlias = Value | Composed | list[Value | None] | list[Composed] | None
"""Of the four types: atomic-simple, atomic-composite, sequence-simple, sequence-composite; None where it is absent."""


def names_of(returned: sase.Return) -> tuple[str, ...]:
    """The names of the attributes of a result event.

    An item without AS has the name of its attribute, or of the variable whose attributes it composes; its text, where
    it has no such name or another item has it too.
    """
    short = [item.alias or _short(item.output) for item in returned.items]
    times = Counter(short)
    return tuple(
        name if name is not None and (item.alias is not None or times[name] == 1) else show_output(item.output)
        for item, name in zip(returned.items, short, strict=True)
    )


def _short(output: sase.Output) -> str | None:
    match output:
        case sase.Simple(sase.Reference(name)) | sase.Series(_, name):
            return name
        case sase.Composite(a) | sase.CompositeSeries(a):
            return a
        case sase.Simple():
            return None
        case _:
            assert_never(output)


def type_of(returned: sase.Return) -> str:
    """The type of the result events: as named, or after their stream."""
    return returned.type or returned.stream or "result"


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
