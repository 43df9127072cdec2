"""Representatives of the events that may come: one for each way in which some tests on an event can turn out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from typing import assert_never

from cerify.semantics import predicates as pred
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, Span, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.events import Event
from cerify.semantics.predicates import atoms, holds
from cerify.semantics.values import Value, kind

FIRST_TIME, LAST_TIME = (time.replace(tzinfo=UTC) for time in (datetime.min, datetime.max))
MICROSECOND = timedelta(microseconds=1)


def events_to_come(
    tests: Mapping[str, Sequence[pred.Predicate]], budget: Budget = Budget(), span: Span | None = None
) -> tuple[Event, ...]:
    """Events of each of the types, one for each outcome of its tests, and an event of another type.

    The start event is none of them: nothing comes before it. An attribute may have any value, or none. Raises
    Unsupported for tests that do more than compare an attribute with values, and BudgetExceeded.
    """
    other = "other"
    while other in tests or other == expr.START:
        other += "_"
    return (*(event for T, some in tests.items() for event in _events(T, some, budget, span)), Event(other))


def _events(T: str, tests: Sequence[pred.Predicate], budget: Budget, span: Span | None) -> Iterator[Event]:
    constants: dict[str, list[Value]] = {}
    for test in tests:
        for name, value in _compared(test, span):
            constants.setdefault(name, []).append(value)
    pools = [(None, *_representatives(values)) for values in constants.values()]
    if math.prod(map(len, pools)) > budget.states:
        raise BudgetExceeded(f"the masks of {T} distinguish more than {budget.states} events", span)
    seen = set()
    for values in product(*pools):
        event = Event(T, {name: v for name, v in zip(constants, values, strict=True) if v is not None})
        outcome = tuple(holds(test, event) for test in tests)
        if outcome not in seen:
            seen.add(outcome)
            yield event


def _compared(test: pred.Predicate, span: Span | None) -> Iterator[tuple[str, Value]]:
    """The attributes of a test, each with a value that it is compared with."""
    for atom in atoms(test):
        match atom:
            case pred.Comparison(_, pred.Attribute(name), pred.Constant(value)) | pred.Comparison(
                _, pred.Constant(value), pred.Attribute(name)
            ):
                yield name, value
            case pred.OneOf(pred.Attribute(name), values):
                yield from ((name, value) for value in values)
            case pred.InRange(pred.Attribute(name), low, high):
                yield from ((name, low), (name, high))
            case pred.Comparison() | pred.OneOf() | pred.InRange() | pred.Like():
                raise Unsupported(
                    "prefix needs to know which events may come; it does for masks that compare an attribute with a "
                    "value, so write the mask with such comparisons",
                    span,
                )
            case pred.Anything() | pred.OfType():
                pass
            case _:
                assert_never(atom)


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
                if low > FIRST_TIME:
                    yield low - MICROSECOND
                yield from (v + MICROSECOND for v in ordered if isinstance(v, datetime) and v < LAST_TIME)
            case (int() | float() as low, int() | float() as high):
                yield low - 1 if low - 1 < low else math.nextafter(low, -math.inf)  # a large float less 1 is that float
                yield high + 1 if high + 1 > high else math.nextafter(high, math.inf)
                yield from (_between(a, b) for a, b in pairwise(v for v in ordered if isinstance(v, int | float)))


def _between(a: int | float, b: int | float) -> int | float:
    """A number between two, one of the two if there is none."""
    if isinstance(a, int) and isinstance(b, int) and b - a > 1:
        return (a + b) // 2
    try:
        return a / 2 + b / 2
    except OverflowError:  # of an integer beyond the floats
        return b - 1 if isinstance(b, int) else a + 1
