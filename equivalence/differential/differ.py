"""Two functions from a query and a stream to matches, held against each other: the call for a program of one's own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypedDict, Unpack

from cerify.equivalence.differential.campaign import Plan, Progress, Summary, campaign
from cerify.equivalence.differential.checkpoint import Checkpoint
from cerify.equivalence.differential.judge import Output
from cerify.equivalence.generate.cel import CORE, Profile
from cerify.equivalence.generate.guided import guided_case
from cerify.semantics.arguments import require_keywords
from cerify.semantics.cel.show import show
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import Match, Stream

Answers: TypeAlias = Callable[[str, Stream], Iterable[Match | tuple[int, Iterable[int]]]]
"""From the text of a query and a stream to all matches: each a Match, or where it is reported and its positions."""


@dataclass(frozen=True)
class FunctionEvaluator:
    """A function of two arguments as an evaluator. Matches are compared by their complex events alone."""

    function: Answers

    def __call__(self, phi: Formula, S: Stream, output: Output) -> Collection[Match]:
        return {_match(found) for found in self.function(show(phi), S)}


class RunValues(TypedDict, total=False):
    """The values of a Run, as keyword arguments."""

    processes: int
    stop_after: int
    progress: Progress
    resume: Path | None


@dataclass(frozen=True)
class Run:
    """How a campaign is run: the number of processes, and of disagreements at which it stops.

    progress is called with the summary so far. resume: a file; cases in it are not run again, and new ones are added.
    """

    processes: int = 1
    stop_after: int = 10
    progress: Progress = lambda summary: None
    resume: Path | None = None


def differ(
    left: Answers,
    right: Answers,
    profile: Profile = CORE,
    cases: int = 1000,
    *,
    seed: int = 0,
    nodes: int = 12,
    events: int = 10,
    **run: Unpack[RunValues],
) -> Summary:
    """On which random queries and streams the two disagree; each disagreement shrunk, see causes.by_cause.

    The same seed gives the same cases; how the campaign is run are the keyword arguments of Run. A function that raises
    Unsupported does not answer the case; another exception is an answer, and a wrong one. With more processes the
    functions must be such that another process can import them.
    """
    require_keywords(differ, run, RunValues)
    how = Run(**run)
    plan = Plan(
        FunctionEvaluator(left), FunctionEvaluator(right), profile, cases, seed, nodes, events, maker=guided_case
    )
    tested = f"{_name(right)} against {_name(left)}"
    with nullcontext(None) if how.resume is None else Checkpoint(how.resume, plan, tested) as checkpoint:
        return campaign(plan, how.processes, how.stop_after, how.progress, checkpoint)


def _match(found: Match | tuple[int, Iterable[int]]) -> Match:
    at, events = (found.at, found.events) if isinstance(found, Match) else found
    return Match(at, tuple(sorted(events)))


def _name(function: Answers) -> str:
    return getattr(function, "__qualname__", type(function).__qualname__)
