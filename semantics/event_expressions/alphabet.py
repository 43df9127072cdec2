"""The events that may come, as far as an expression tells them apart: one for each way in which its masks turn out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise, product
from math import prod
from typing import assert_never

from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.events import Event, Value
from cerify.semantics.predicates import (
    Anything,
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
    holds,
    kind,
)


def letters(E: expr.Expression, budget: Budget = Budget()) -> tuple[Event, ...]:
    """Events of each type that E names, and of one that it does not; every event that may come is like one of them.

    The start event is none of them: nothing comes before it. An attribute may have any value, or none.
    Raises Unsupported for masks that do more than compare an attribute with values, and BudgetExceeded.
    """
    masks: dict[str, list[Predicate]] = {}
    for node in expr.subexpressions(E):
        if isinstance(node, expr.Primitive) and node.type != expr.START:
            masks.setdefault(node.type, []).extend([] if node.mask is None else [node.mask])
    other = "other"
    while other in masks or other == expr.START:
        other += "_"
    return (*(event for T, tests in masks.items() for event in _events(T, tests, E, budget)), Event(other))


def _events(T: str, masks: list[Predicate], E: expr.Expression, budget: Budget) -> Iterator[Event]:
    constants: dict[str, list[Value]] = {}
    for mask in masks:
        for name, value in _compared(mask, E):
            constants.setdefault(name, []).append(value)
    pools = [(None, *_representatives(values)) for values in constants.values()]
    if prod(map(len, pools)) > budget.states:
        raise BudgetExceeded(f"the masks of {T} tell too many events apart", E.span)
    seen = set()
    for values in product(*pools):
        event = Event(T, {name: v for name, v in zip(constants, values, strict=True) if v is not None})
        outcome = tuple(holds(mask, event) for mask in masks)
        if outcome not in seen:
            seen.add(outcome)
            yield event


def _compared(mask: Predicate, E: expr.Expression) -> Iterator[tuple[str, Value]]:
    """The attributes of a mask with the values that they are compared with."""
    match mask:
        case Comparison(_, Attribute(name), Constant(value)) | Comparison(_, Constant(value), Attribute(name)):
            yield name, value
        case OneOf(Attribute(name), values):
            yield from ((name, value) for value in values)
        case InRange(Attribute(name), low, high):
            yield from ((name, low), (name, high))
        case Not(inner):
            yield from _compared(inner, E)
        case Both(left, right) | Either(left, right):
            yield from _compared(left, E)
            yield from _compared(right, E)
        case Anything() | OfType():
            return
        case Comparison() | OneOf() | InRange() | Like():
            raise Unsupported(
                "prefix has to know which events may come; of the masks in it, it knows that of those that compare "
                "an attribute with a value",
                E.span,
            )
        case _:
            assert_never(mask)


def _representatives(values: list[Value]) -> Iterator[Value]:
    """The values, and one from each of the gaps between them, below and above."""
    by_kind: dict[str, set[Value]] = {}
    for value in values:
        by_kind.setdefault(kind(value), set()).add(value)
    for group in by_kind.values():
        ordered = sorted(group)  # they are of one kind
        yield from ordered
        match ordered[0], ordered[-1]:
            case bool() as value, _:
                yield not value
            case str(), _:
                yield ""
                yield from (f"{value}\0" for value in ordered if isinstance(value, str))
            case datetime() as low, _:
                yield low - timedelta(microseconds=1)
                yield from (value + timedelta(microseconds=1) for value in ordered if isinstance(value, datetime))
            case (int() | float() as low, int() | float() as high):
                yield low - 1
                yield high + 1
                for a, b in pairwise(value for value in ordered if isinstance(value, int | float)):
                    yield (a + b) // 2 if isinstance(a, int) and isinstance(b, int) and b - a > 1 else a + (b - a) / 2
