"""Find times for the events of a log, given which waiting sequences have expired at each event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cerify.semantics.errors import BudgetExceeded

UNITS = (1_000_000, 1_000, 1)


class SlotFollower(Protocol):
    """Follows a rule from event to event: see slots.SlotRule."""

    @property
    def steps(self) -> tuple[int, ...]:
        """Return the numbers of the filters of its steps."""

    def after(
        self, slots: tuple[tuple[int, ...], ...], passes: frozenset[int], event: int
    ) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
        """Return the places after an event, and the sequence that it completes."""


@dataclass(frozen=True)
class Moment:
    """An event of the log: the filters that it passes, and how many first events of waiting sequences have expired."""

    passes: frozenset[int]
    old: int


def times_of(moments: Sequence[Moment], window: int, rules: Sequence[SlotFollower]) -> list[int]:
    """Return ascending times in microseconds at which exactly these sequences are older than the window.

    The constraints bound differences of times from above and below, and are solved by shortest paths (R. Bellman,
    1958). Times are whole seconds if possible, else milliseconds, else microseconds. Raises BudgetExceeded if there are
    no such times.
    """
    young, old = _ages(moments, rules)
    for unit in UNITS:
        if window % unit == 0 and (times := _solve_times(len(moments), young, old, window // unit)) is not None:
            return [t * unit for t in times]
    raise BudgetExceeded("maxspan is too short to construct a log that shows a difference")


def _ages(
    moments: Sequence[Moment], rules: Sequence[SlotFollower]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the pairs of a first and a later event within the window, and those outside it."""
    slots: list[tuple[tuple[int, ...], ...]] = [((),) * (len(rule.steps) - 1) for rule in rules]
    young: list[tuple[int, int]] = []
    old: list[tuple[int, int]] = []
    for event, moment in enumerate(moments):
        firsts = sorted({slot[0] for places in slots for slot in places if slot})
        gone = set(firsts[: moment.old])
        old += ((first, event) for first in gone)
        young += ((first, event) for first in firsts[moment.old :])
        for i, rule in enumerate(rules):
            kept = tuple(() if slot and slot[0] in gone else slot for slot in slots[i])
            slots[i], _ = rule.after(kept, moment.passes, event)
    return young, old


def _solve_times(
    number: int, young: list[tuple[int, int]], old: list[tuple[int, int]], window: int
) -> list[int] | None:
    """Return the least times, in the unit of the window; None if there are none."""
    bounds = [(i, i + 1, 0) for i in range(number - 1)]  # (a, b, d): the time of b is at least d after that of a
    bounds += [(first, event, window + 1) for first, event in old]
    bounds += [(event, first, -window) for first, event in young]
    times = [0] * number
    for _ in range(number + 1):
        changed = False
        for a, b, least in bounds:
            if times[a] + least > times[b]:
                times[b], changed = times[a] + least, True
        if not changed:
            return times
    return None
