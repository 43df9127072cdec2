"""The state of the slot machine for one key, and its saved form."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from cerify.semantics.eql.conditions import Key
from cerify.semantics.nanoseconds import nanoseconds, time_at_nanoseconds
from cerify.semantics.values import Microseconds

NANOSECOND = Fraction(1, 1000)


@dataclass(frozen=True, slots=True)
class Pending:
    """An incomplete sequence: its positions, the time of its first event, and whether events that must be missing
    occurred.

    gap: whether an event occurred that must be missing between two steps. before: the latest time of an event that must
    be missing before the first step.
    """

    positions: tuple[int, ...]
    time: Microseconds | None
    gap: bool = False
    before: Microseconds | None = None


@dataclass(slots=True)
class Places:
    """The state of one key: the sequence at each step, the latest events that fit missing steps, and sequences that
    wait for the end of their window.

    missed: for each missing step between two others, the last position of an event that fits it. before: the latest
    time of an event that must be missing before the first step. waiting: sequences that are complete unless an event
    that must be missing follows.
    """

    pending: list[Pending | None]
    missed: list[int]
    before: Microseconds | None = None
    waiting: list[Pending] = field(default_factory=list)

    def is_older_than(self, time: Microseconds) -> bool:
        """Return whether `waiting` is empty, and all pending sequences and `before` are from before this time."""
        times = [p.time for p in self.pending if p is not None and p.time is not None]
        return (
            not self.waiting and max([*times, *([] if self.before is None else [self.before])], default=time - 1) < time
        )


def pending_json(p: Pending) -> list[Any]:
    """Return a pending sequence as JSON."""
    return [list(p.positions), p.time, p.gap, p.before]


def pending_of_json(data: list[Any]) -> Pending:
    """Return the pending sequence that JSON holds."""
    positions, time, gap, before = data
    return Pending(tuple(map(int, positions)), time, bool(gap), before)


def key_json(K: Key) -> list[Any]:
    """Return a key as JSON; a time becomes its nanoseconds."""
    return [
        None if part is None else [part[0], nanoseconds(part[1]) if part[0] == "timestamp" else part[1]]  # type: ignore[arg-type]
        for part in K
    ]


def key_of_json(data: list[Any]) -> Key:
    """Return the key that JSON holds."""
    return tuple(
        None if part is None else (part[0], time_at_nanoseconds(part[1]) if part[0] == "timestamp" else part[1])
        for part in data
    )


def exact_json(ticks: Fraction) -> dict[str, list[int]]:
    """Return a fractional number of microseconds, such as that of a time with nanoseconds, as JSON."""
    return {"ticks": [ticks.numerator, ticks.denominator]}


def exact_of_json(data: dict[str, list[int]]) -> Fraction:
    """Return the microseconds that JSON holds."""
    return Fraction(*data["ticks"])
