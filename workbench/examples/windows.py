"""Short windows of a substream, on which evaluators are held against the definition.

The denotational interpreter is slow by design, so it cannot be given a year of flights. It is given windows of at most
40 events: consecutive ones, or, around a match that spans more, the events of the match with some of those between, in
their order. Every evaluator compared gets the same window as a stream of its own, with positions from 0, so the answers
are comparable as they are. (They are answers about the window: what the whole substream has there may differ.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from cerify.conformance.model import Case
from cerify.examples.flights import SCHEMA
from cerify.examples.queries import Example
from cerify.semantics.budget import Budget
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match, Stream
from cerify.semantics.json_events import json_of_event, json_of_schema

SHORTEST, LONGEST = 12, 40  # events
AROUND, RANDOM = 4, 2  # windows at matches, and at random places
BUDGET = Budget(valuations=50_000)


@dataclass(frozen=True)
class Window:
    """Positions of a substream, ascending."""

    positions: Sequence[int]

    def of(self, S: Stream) -> Stream:
        """The window as a stream of its own."""
        return Stream.from_table(S.table.take(list(self.positions)), S.schema)


def windows(name: str, events: int, matches: Sequence[Match]) -> list[Window]:
    """Windows of a substream with so many events: some that hold a match, some at random places by the name's seed."""
    random = Random(name)
    around = min(AROUND, len(matches))
    chosen = [matches[i * len(matches) // around] for i in range(around)]
    found = [_around(match, events, random) for match in chosen]
    found += [_consecutive(random.randrange(events), 2 * SHORTEST, events) for _ in range(RANDOM if events else 0)]
    return list(dict.fromkeys(found))


def _around(match: Match, events: int, random: Random) -> Window:
    first, last = match.events[0], match.events[-1]
    span = last - first + 1
    if span <= LONGEST:
        length = max(SHORTEST, min(LONGEST, span + 4))
        return _consecutive(first - (length - span) // 2, length, events)
    kept = match.events[-LONGEST:]
    others = sorted(set(range(first, last + 1)) - set(match.events))
    some = random.sample(others, min(len(others), max(0, 2 * SHORTEST - len(kept))))
    return Window(tuple(sorted({*kept, *some})))


def _consecutive(start: int, length: int, events: int) -> Window:
    length = min(length, events)
    start = max(0, min(start, events - length))
    return Window(tuple(range(start, start + length)))


def case(example: Example, window: Window, S: Stream) -> tuple[Case, Window]:
    """The query on the window, as a case with the matches of the definition, and the window used.

    Where the definition's own cost is beyond the budget, the window loses its first half, as often as need be.
    """
    phi = parse(example.query)
    while True:
        part = window.of(S)
        try:
            expected = matches_of(phi, part, "matches", BUDGET)
            break
        except BudgetExceeded:
            if len(window.positions) == 1:
                raise
            window = Window(window.positions[len(window.positions) // 2 :])
    return Case(
        id=f"{example.name}, from position {window.positions[0]}",
        feature=example.name,
        clause="tods21, Figure 3",
        language="cel",
        query=example.query,
        schema=json_of_schema(SCHEMA),
        events=[json_of_event(event) for event in part],
        output="matches",
        matches=expected,
    ), window
