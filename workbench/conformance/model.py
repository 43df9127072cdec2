"""The data of a conformance run: cases, the result of each, and the divergences found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from cerify.automata.evaluator import Consumption
from cerify.semantics.events import Match

Json = dict[str, Any]

Outcome = Literal[
    "passed", "failed", "skipped", "error", "crashed", "timeout", "memory", "protocol", "not_run", "disputed"
]
"""The outcome of a case.

passed    the engine's matches are the expected ones
failed    it gave others
skipped   it does not claim the feature
error     it answered with an error
crashed   its process ended before it answered
timeout   it did not answer within the time limit
memory    it was stopped because it passed the memory cap
protocol  what it wrote is not an answer of the protocol
not_run   it was not asked, because the restarts were used up
disputed  its matches are not the expected ones, but cerify contradicts itself about what these are
"""

FAILURES: frozenset[Outcome] = frozenset({"failed", "error", "crashed", "timeout", "memory", "protocol", "not_run"})
"""The outcomes that are the engine's: all but passed, skipped and disputed."""


@dataclass(frozen=True)
class Case:
    """One query over one stream, and the matches that the denotational semantics gives for it.

    Queries, schema, events and matches are in the form of the engine protocol; feature is the operator under test
    ("seq", "plus", ...), clause the place in the paper that defines it. consumption: what matches take away from later
    ones; the cases of a suite have none.
    """

    id: str
    feature: str
    clause: str
    language: str
    query: str
    schema: Json | None
    events: Sequence[Json]
    output: Literal["matches", "valuations"]
    matches: Sequence[Match]
    consumption: Consumption = Consumption.NONE


@dataclass(frozen=True)
class Result:
    """The result of one case: the engine's matches where it gave some, and a sentence where it did not.

    second: of a disputed case, the matches that contradict the expected ones.
    """

    case: Case
    outcome: Outcome
    matches: Sequence[Match] | None = None
    detail: str = ""
    seconds: float = 0.0
    second: Sequence[Match] | None = None


@dataclass(frozen=True)
class Divergence:
    """A disagreement, shrunk: the smallest query and stream found on which the engine's answer is still wrong.

    result is what the engine did on the small case; cases are the ids of the suite's cases that it stands for; stopped
    says why the search for a smaller case ended early, if it did.
    """

    feature: str
    result: Result
    cases: Sequence[str]
    stopped: str = ""


@dataclass(frozen=True)
class Report:
    """The report of a conformance run.

    unasked: how many cases there were in languages that the engine does not speak; they have no result. disputed: the
    cases, of the suite and met while shrinking, about which cerify contradicts itself.
    """

    engine: str
    version: str
    suite: str
    results: Sequence[Result]
    divergences: Sequence[Divergence]
    restarts: int
    seconds: float
    unasked: Mapping[str, int] = field(default_factory=dict)
    disputed: Sequence[Result] = ()

    @property
    def totals(self) -> Counter[Outcome]:
        """How many cases had each outcome; the sum is the number of results, skipped cases included."""
        return Counter(result.outcome for result in self.results)

    @property
    def conforms(self) -> bool:
        """Whether something passed, nothing failed, and nothing is disputed. Skips stay in the denominator."""
        return self.totals["passed"] > 0 and FAILURES.isdisjoint(self.totals) and not self.disputed
