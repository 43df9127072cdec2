"""What a query of the demo finds, how long that takes, and whether the evaluators agree on samples."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import pyarrow as pa

from cerify.automata.cea.compile import compile_cel
from cerify.automata.evaluate.streaming import count, evaluate, matches
from cerify.conformance.model import Case, Result
from cerify.examples.queries import Example
from cerify.examples.windows import Window, case, windows
from cerify.semantics.cel.parse import parse
from cerify.semantics.events import Match, Stream

KEPT = 100_000  # matches written out; the number of all of them is exact without
DRAWABLE = 10  # events of a match that a person can take in


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
