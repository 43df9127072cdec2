"""What a query of the demo finds, how long that takes, and whether the evaluators agree on samples."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Protocol

from cerify.automata.cea.compile import compile_cel
from cerify.automata.evaluate.streaming import count, evaluate, matches
from cerify.conformance.model import Case, Result
from cerify.examples.flights import SCHEMA
from cerify.examples.queries import Example
from cerify.semantics.budget import Budget
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match, Stream
from cerify.semantics.json_events import json_of_event, json_of_schema
from cerify.semantics.packages import pa

SHORTEST, LONGEST = 12, 40  # events
AROUND, RANDOM = 4, 2  # windows at matches, and at random places
BUDGET = Budget(valuations=50_000)
KEPT = 100_000  # matches written out; the number of all of them is exact without
DRAWABLE = 10  # events of a match that a person can take in


@dataclass(frozen=True)
class Window:
    """Positions of a substream, ascending: at most 40, on which evaluators are compared with the definition.

    The interpreter is slow by design, so it cannot be given a year of flights. A window has consecutive events or,
    around a match that spans more, the events of the match with some of those between, in their order. Every evaluator
    gets it as a stream of its own, with positions from 0; what the whole substream has there may differ.
    """

    positions: Sequence[int]

    def of(self, S: Stream) -> Stream:
        """The window as a stream of its own."""
        return Stream.from_table(S.table.take(list(self.positions)), S.schema)


def windows(name: str, events: int, matches: Sequence[Match]) -> list[Window]:
    """Windows of a substream with `events` events: some that hold a match, some at random places by the name's seed."""
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


class Runner(Protocol):
    """An engine that can be asked a case."""

    def run(self, case: Case) -> Result:
        """What becomes of the case."""
        ...


@dataclass(frozen=True)
class Sample:
    """A window, the automaton's result on it, and that of each engine asked besides."""

    window: Window
    automaton: Result
    engine: Result | None


@dataclass(frozen=True)
class Finding:
    """An example, evaluated: the number of matches is exact, found are the first of them, at most KEPT."""

    example: Example
    stream: Stream
    total: int
    seconds: float
    found: Sequence[Match]
    samples: Sequence[Sample]

    @property
    def agree(self) -> bool:
        """Whether the automaton gives what the definition gives, on every sample."""
        return all(sample.automaton.outcome == "passed" for sample in self.samples)

    @property
    def illustrations(self) -> Sequence[Match]:
        """Matches worth a drawing: the first, and the one with most events among those a person can take in."""
        if not self.found:
            return []
        drawable = [match for match in self.found if len(match.events) <= DRAWABLE]
        longest = max(drawable, key=lambda match: (len(match.events), -match.at), default=self.found[0])
        return list(dict.fromkeys((self.found[0] if self.found[0] in drawable else longest, longest)))


def find(example: Example, table: pa.Table, engine: Runner | None = None) -> Finding:
    """Evaluate an example over the table of all events, and cross-check it on samples.

    seconds is the time of the automaton over the whole substream: classify every event, count every match.
    """
    stream, phi = example.cut.of(table), parse(example.query)
    started = time.perf_counter()
    total = sum(count(phi, stream))
    seconds = time.perf_counter() - started
    found = list(islice(evaluate(compile_cel(phi), stream), KEPT))
    samples = [sampled(example, window, stream, engine) for window in windows(example.name, len(stream), found)]
    return Finding(example, stream, total, seconds, found, samples)


def sampled(example: Example, window: Window, stream: Stream, engine: Runner | None) -> Sample:
    """The same window given to the definition, the automaton and the engine."""
    asked, window = case(example, window, stream)
    reported = matches(parse(example.query), window.of(stream))
    outcome = Result(asked, "passed" if reported == list(asked.matches) else "failed", reported)
    return Sample(window, outcome, engine.run(asked) if engine is not None else None)


def passed(results: Iterable[Result | None]) -> int:
    """How many of the results passed."""
    return sum(result is not None and result.outcome == "passed" for result in results)
