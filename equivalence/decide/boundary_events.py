"""Try events at the edges of predicates, to find types of events that a list lacks.

A type is the set of the predicates that an event satisfies (tods21, Definition 5.6). A certificate needs the list of
all types, which the predicate algebra computes. This module proves nothing: it makes events from the constants of the
predicates and their neighbours. If one of these events has a type that is not listed, the certificate is wrong.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random
from typing import TypeAlias

from cerify.semantics.arguments import timed_items
from cerify.semantics.events import TIME, Event, Schema
from cerify.semantics.predicates import (
    Comparison,
    Constant,
    InRange,
    OfType,
    OneOf,
    Predicate,
    classify_event,
    mentions,
    nodes,
)
from cerify.semantics.values import INT64, Value, ValueType, value_type_of

Test: TypeAlias = Comparison | OneOf | InRange
MOST = 500  # the greatest number of events that are tried of one event type
USUAL: tuple[Value, ...] = (0, 1, -1, 0.0, 0.5, math.nan, math.inf, -math.inf, "", "a", False, True)
TICK = timedelta(microseconds=1)
EARLIEST, LATEST = (time.replace(tzinfo=UTC) for time in (datetime.min, datetime.max))
OTHER = "an event type of no predicate"


def unlisted(predicates: Sequence[Predicate], types: Collection[frozenset[int]], schema: Schema | None) -> Event | None:
    """Return an event whose type is not among `types`; None if no such event was found.

    The event conforms to the schema, if there is one. Only some events are tried. Raises BudgetExceeded.
    """
    events = timed_items(_events(predicates, schema), 1)
    return next((event for event in events if classify_event(predicates, event) not in types), None)


def _events(predicates: Sequence[Predicate], schema: Schema | None) -> Iterator[Event]:
    """Yield events of each event type with values at the edges: all combinations of values, or MOST random ones."""
    found = [node for P in predicates for node in nodes(P)]
    tests = [node for node in found if isinstance(node, Comparison | OneOf | InRange)]
    names = list(dict.fromkeys(attribute.name for P in predicates for attribute in mentions(P)))
    edges = {name: [*USUAL, *(edge for c in _constants(name, tests) for edge in _around(c))] for name in names}
    named = [node.type for node in found if isinstance(node, OfType)]
    for R in [*dict.fromkeys(named), OTHER] if schema is None else schema.types:
        allowed = None if schema is None else schema.types[R]
        pools = [_pool(edges[name], name, allowed) for name in names]
        for choice in _choices(pools):
            yield Event(R, {name: v for name, v in zip(names, choice, strict=True) if v is not None})


def _choices(pools: Sequence[Sequence[Value | None]]) -> Iterator[tuple[Value | None, ...]]:
    """Yield all choices of one value from each pool, or MOST random choices."""
    if math.prod(map(len, pools)) <= MOST:
        yield from product(*pools)
        return
    rng = Random(0)
    for _ in range(MOST):
        yield tuple(rng.choice(pool) for pool in pools)


def _pool(edges: Sequence[Value], name: str, allowed: Mapping[str, ValueType] | None) -> list[Value | None]:
    """Return the edges that the schema allows as values of an attribute, and None for a missing value."""
    if allowed is None or (name == TIME and name not in allowed):
        return [*edges, None]
    wanted = allowed.get(name)
    fitting = [v for v in edges if value_type_of(v) == wanted and (not isinstance(v, int) or v in INT64)]
    return [*fitting, None]


def _constants(name: str, tests: Sequence[Test]) -> Iterator[Value]:
    """Yield the constants of the tests that mention an attribute."""
    for test in tests:
        if any(attribute.name == name for attribute in mentions(test)):
            for node in nodes(test):
                match node:
                    case Constant(value):
                        yield value
                    case OneOf(_, values):
                        yield from values
                    case InRange(_, low, high):
                        yield from (low, high)


def _around(constant: Value) -> Iterator[Value]:
    """Yield the constant and values next to it. Those of a number are whole numbers and floats."""
    yield constant
    match constant:
        case int() | float() if not isinstance(constant, bool) and -math.inf < constant < math.inf:
            whole = math.floor(constant)
            yield from (whole - 1, whole, whole + 1)
            if abs(constant) <= sys.float_info.max:
                near = float(constant)
                yield from (near, math.nextafter(near, math.inf), math.nextafter(near, -math.inf))
        case str():
            yield from (constant + "\0", constant[:-1])
        case datetime():
            yield from (constant + step for step in (TICK, -TICK) if EARLIEST < constant < LATEST)
