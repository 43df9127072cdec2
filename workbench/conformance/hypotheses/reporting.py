"""Which of the matches found an engine reports, and at which position: the axes that bear on every query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any, Literal, assert_never, cast, get_args

from cerify.conformance.hypotheses.axis import Axis, Choices
from cerify.semantics.events import TIME, Event, Match, Stream

Overlap = Literal["shared", "past-last", "to-next", "consume"]
Emit = Literal[
    "complete",
    "one-per-position",
    "longest-per-position",
    "shortest-per-position",
    "one-per-start",
    "at-end",
    "at-first-event",
    "one-later",
]

OVERLAP = Axis(
    "overlap",
    get_args(Overlap),
    says="whether two matches may share events: yes; no, the next one begins after the last event of the one before; "
    "no, the next one begins after the first event of the one before; no event is used twice",
)
EMIT = Axis(
    "emit",
    get_args(Emit),
    says="which matches are reported, and when: all as they are complete; of those at one position the first; "
    "of those at one position the longest; of those at one position the shortest; the first of each first event; "
    "all at the end of the stream; at their first event; one position later",
)
TIES = Axis(
    "ties",
    ("in-order", "no-match"),
    says="events with the same time: they are in the order of their arrival; they are never in one match",
)
WINDOW_DEFAULT = Axis(
    "window-default",
    ("none", "60", "3600", "86400"),
    says="the longest time in seconds between the first and the last event of a match where the query has no window",
)

REPORTING = frozenset(axis.name for axis in (OVERLAP, EMIT, TIES, WINDOW_DEFAULT))
"""The names of these axes."""


def reported(found: Iterable[Match], S: Stream, choices: Choices, *, windowed: bool) -> Iterable[Match]:
    """The matches that are reported, at the positions at which they are; windowed: whether the query has a window."""
    possible = [m for m in found if _may_tie(m, S, choices) and (windowed or _in_default_window(m, S, choices))]
    return emitted(apart(possible, cast("Overlap", choices.get("overlap", "shared"))), len(S), choices)


def _may_tie(m: Match, S: Stream, choices: Choices) -> bool:
    if choices.get("ties", "in-order") == "in-order":
        return True
    times = [S[p].get(TIME) for p in m.events]
    present = [time for time in times if time is not None]
    return len(set(present)) == len(present)


def _in_default_window(m: Match, S: Stream, choices: Choices) -> bool:
    width = choices.get("window-default", "none")
    if width == "none" or not m.events:
        return True
    seconds = seconds_between(S[m.events[0]], S[m.events[-1]])
    return seconds is None or seconds <= int(width)


def seconds_between(first: Event, last: Event) -> float | None:
    """The seconds from one event's time to the other's; None where their times cannot be compared."""
    match first.get(TIME), last.get(TIME):
        case (datetime() as t1, datetime() as t2):
            return (t2 - t1).total_seconds()
        case (int() | float() as t1, int() | float() as t2) if not isinstance(t1, bool) and not isinstance(t2, bool):
            return t2 - t1
        case _:
            return None


def apart(found: list[Match], overlap: Overlap) -> list[Match]:
    """The matches that are left when each is taken, in the order of their ends, unless it overlaps one taken before.

    Of those that end at one position the first is the one that begins first. Matches with the same events count as one.
    """
    if overlap == "shared":
        return found
    taken: set[tuple[int, ...]] = set()
    result: list[Match] = []
    used: set[int] = set()
    since = -1
    for m in sorted(found, key=lambda m: (m.at, m.events)):
        if m.events not in taken and m.events:
            match overlap:
                case "past-last" | "to-next":
                    free = m.events[0] > since
                case "consume":
                    free = used.isdisjoint(m.events)
                case _:
                    assert_never(overlap)
            if not free:
                continue
            since = m.events[-1] if overlap == "past-last" else m.events[0]
            used.update(m.events)
            taken.add(m.events)
        result.append(m)
    return result


def emitted(found: list[Match], length: int, choices: Choices) -> list[Match]:
    """The matches that are reported of those that are left, with their positions."""
    emit = cast("Emit", choices.get("emit", "complete"))
    match emit:
        case "complete":
            return found
        case "one-per-position":
            return _best(found, lambda m: m.at, lambda m: (m.events,))
        case "longest-per-position":
            return _best(found, lambda m: m.at, lambda m: (-len(m.events), m.events))
        case "shortest-per-position":
            return _best(found, lambda m: m.at, lambda m: (len(m.events), m.events))
        case "one-per-start":
            return _best(found, lambda m: m.events[:1], lambda m: (m.at, m.events))
        case "at-end":
            return [replace(m, at=length - 1) for m in found]
        case "at-first-event":
            return [replace(m, at=m.events[0] if m.events else m.at) for m in found]
        case "one-later":
            return [replace(m, at=m.at + 1) for m in found if m.at + 1 < length]
        case _:
            assert_never(emit)


def _best(found: list[Match], group: Any, order: Any) -> list[Match]:
    """Of each group the first complex event in the order, with all its bindings."""
    result: list[Match] = []
    for _, some in groupby(sorted(found, key=group), key=group):
        matches = list(some)
        first = min(map(order, matches))
        result += [m for m in matches if order(m) == first]
    return result
