"""The values of identifiers over a buffer, and whether an event is in the window: sase07, appendix A.2.

While an array a has n events in the buffer, a[1] is the first of them, a[i] and a[a.LEN] the n-th, a[i-1] the one
before it and a[..i-1] all but the n-th. The event that is looked at is in the buffer where a formula speaks of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from cerify.automata.nfab.edges import Identifier, identifier
from cerify.automata.nfab.folds import value_over
from cerify.semantics.events import TIME, Bindings, Event
from cerify.semantics.predicates import Attribute
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import NO_OPERATIONS, Operations
from cerify.semantics.values import Value

Values: TypeAlias = Callable[[Attribute], Value | None]
"""The value of each reference and aggregate, None where there is none."""

NO_NUMBERS = (bool, str, datetime)
INDEX: Mapping[Identifier, int] = {"a": 0, "a[1]": 0, "a[i]": -1, "a[a.LEN]": -1, "a[i-1]": -2}
"""Which event of its array an identifier is instantiated with."""


def values_in(buffer: Bindings, S: Sequence[Event], operations: Operations = NO_OPERATIONS) -> Values:
    """The values of identifiers, the variables of the buffer being instantiated with their events."""
    selected = dict(buffer)

    def value(a: Attribute) -> Value | None:
        positions = selected.get(a.variable or "", ())
        form = identifier(a)
        if isinstance(a, sase.Aggregate):
            of = positions[:-1] if form == "a[..i-1]" else positions
            return value_over(a, [S[p] for p in of], operations)
        at = instantiated(form, positions)
        return None if at is None else S[at].get(a.name)

    return value


def instantiated(form: Identifier, positions: Sequence[int]) -> int | None:
    """The position that an identifier stands for among those of its variable, None where there are too few."""
    index = INDEX[form]
    return positions[index] if -len(positions) <= index < len(positions) else None


def in_window(window: sase.Window, closed: bool, first: Event, event: Event) -> bool | None:
    """Whether the event is within the window that begins with the first; None where their times cannot be compared."""
    elapsed = _seconds(first.get(TIME), event.get(TIME))
    if elapsed is None:
        return None
    if elapsed < window.seconds:
        return True
    if elapsed == window.seconds:
        return closed
    return False if elapsed > window.seconds else None  # NaN


def _seconds(start: Value | None, time: Value | None) -> int | float | None:
    if isinstance(start, datetime) and isinstance(time, datetime):
        return (time - start).total_seconds()
    if isinstance(start, NO_NUMBERS) or isinstance(time, NO_NUMBERS):
        return None
    try:
        return None if start is None or time is None else time - start
    except OverflowError:  # a whole number beyond binary64 and a float
        return None
