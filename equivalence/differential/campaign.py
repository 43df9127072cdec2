"""Two evaluators held against each other on random cases; where they disagree, the case is shrunk."""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from random import Random
from threading import Thread
from typing import Any, Protocol, TypeAlias

from cerify.automata.evaluate.caching import compiled_shared
from cerify.equivalence.differential.judge import (
    Answer,
    Evaluator,
    GiveUp,
    Outcome,
    Output,
    Query,
    SecondOpinion,
    Verdict,
    answer,
    checked,
    failure_form,
    judge,
)
from cerify.equivalence.generate import cel
from cerify.equivalence.generate.generator import CaseMaker, StreamMaker
from cerify.equivalence.shrink.cel import CEL
from cerify.equivalence.shrink.operations import QueryOperations
from cerify.equivalence.shrink.shrink import shrink
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Stream

EACH = 5
"""How many disagreements of one cause are made as small as can be, and are looked for before a campaign stops."""

SLOW_TRIES = 20  # questions to shrink a time-out, each of which may take the whole time limit
CHUNK = 250  # cases that a process is given at a time

Difference: TypeAlias = tuple[Output, Verdict]
CaseOutcome: TypeAlias = tuple[int, Outcome, Difference | None]


@dataclass(frozen=True)
class Disagreement:
    """A query and a stream on which the evaluators disagree, and the answer of each: as found, and shrunk.

    disputed: whether the reference is at fault, which failed, or which second, the second opinion, contradicts.
    """

    index: int
    output: Output
    found: tuple[Query, Stream]
    phi: Query
    stream: Stream
    left: Answer
    right: Answer
    disputed: bool = False
    second: frozenset[Match] | None = None


@dataclass(frozen=True)
class Plan:
    """A campaign: which evaluators, on which cases. Case i of a seed is the same whatever else is asked.

    tries: how often the evaluators are called again to shrink one disagreement. language: that of the queries. maker:
    makes the cases. stream: makes another stream for a query. together: how many cases in a row share their query,
    which is then compiled once; the first of them is the maker's. second_opinion: checks the left evaluator wherever
    the right one disagrees with it.
    """

    left: Evaluator
    right: Evaluator
    profile: Any
    cases: int
    seed: int = 0
    nodes: int = 12
    events: int = 10
    outputs: tuple[Output, ...] = ("matches",)
    tries: int = 2000
    language: QueryOperations[Any] = CEL
    maker: CaseMaker[Any] = cel.case
    stream: StreamMaker[Any] = cel.stream
    together: int = 1
    second_opinion: SecondOpinion | None = None

    def case(self, index: int) -> tuple[Query, Stream]:
        """The query and the stream of that index."""
        if self.together == 1:
            return self.made(index)
        first = index - index % self.together
        phi, S = _made(self, first)
        if index == first:
            return phi, S
        rng = Random(f"{self.seed}/{index}")
        length = max(rng.randint(1, self.events), rng.randint(1, self.events))  # longer ones are more frequent
        return phi, self.stream(rng, self.profile, length, phi)

    def made(self, index: int) -> tuple[Query, Stream]:
        """The random query of that index, and a stream for it."""
        return self.maker(Random(f"{self.seed}/{index}"), self.profile, self.nodes, self.events)


@dataclass
class Summary:
    """What a campaign found. Cases that could not be compared are counted, and are not agreement.

    disputes: cases on which the reference is at fault; they are not in disagreements. resumed: how many cases were done
    before. ended: why it stopped early, if an evaluator gave up, or it was interrupted. stopped: why it stopped as was
    asked, before all cases were done.
    """

    planned: int
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    disagreements: list[Disagreement] = field(default_factory=list)
    disputes: list[Disagreement] = field(default_factory=list)
    seconds: float = 0.0
    resumed: int = 0
    ended: str | None = None
    stopped: str | None = None

    @property
    def cases(self) -> int:
        """How many cases were asked: fewer than planned if it stopped at a disagreement."""
        return self.outcomes.total()

    @property
    def found(self) -> int:
        """How many disagreements and disputes there are."""
        return len(self.disagreements) + len(self.disputes)

    @property
    def agreed(self) -> int:
        """How many cases both answered, with the same matches."""
        return self.outcomes["matched"] + self.outcomes["empty"]

    @property
    def per_second(self) -> float:
        """Cases asked per second, shrinking included."""
        return (self.cases - self.resumed) / self.seconds if self.seconds else 0.0


Progress: TypeAlias = Callable[[Summary], None]
CauseOf: TypeAlias = Callable[[Disagreement], object | None]
"""From a disagreement to what it counts as; None for one that does not count, since it is known."""


def by_index(d: Disagreement) -> object:
    """The number of the case: each disagreement counts by itself."""
    return d.index


class Record(Protocol):
    """Where a campaign finds the cases that are done, and adds those that it does; see Checkpoint."""

    known: dict[int, tuple[Outcome, Disagreement | None]]

    def add(self, index: int, outcome: Outcome, found: Disagreement | None) -> None:
        """Add a case."""


@compiled_shared()  # a guided stream is made with the automaton that an evaluator needs, too
def campaign(
    plan: Plan,
    processes: int = 1,
    stop_after: int = 10,
    progress: Progress = lambda summary: None,
    checkpoint: Record | None = None,
    cause_of: CauseOf = by_index,
    seconds: float | None = None,
) -> Summary:
    """What the evaluators disagree on, until stop_after causes or EACH times as many disagreements are found.

    A disagreement is shrunk until its cause is one that EACH others have, or is known, first to what the last one about
    the same query was. A case is not begun after the seconds. A KeyboardInterrupt ends the campaign with what was found
    until then. With several processes the evaluators must be functions that another process can import. The cases and
    disagreements do not depend on their number, nor on what a checkpoint has. Raises BrokenProcessPool if one dies.
    """
    begun = time.monotonic()
    summary = Summary(plan.cases)
    known = {} if checkpoint is None else dict(checkpoint.known)
    causes, most = Counter[object](), EACH * stop_after

    def frequent(d: Disagreement) -> bool:
        why = cause_of(d)
        return not d.disputed and (why is None or causes[why] >= EACH)

    try:
        with closing(_outcomes(plan, processes, (i for i in range(plan.cases) if i not in known))) as outcomes:
            for index in range(plan.cases):
                if index in known:
                    outcome, disagreement = known[index]
                    summary.resumed += 1
                else:
                    _, outcome, found = next(outcomes)
                    last = summary.disagreements[-1:]
                    disagreement = None if found is None else shrunk(plan, index, found, frequent, *last)
                    if checkpoint is not None:
                        checkpoint.add(index, outcome, disagreement)
                summary.outcomes[outcome] += 1
                if disagreement is not None:
                    (summary.disputes if disagreement.disputed else summary.disagreements).append(disagreement)
                summary.seconds = time.monotonic() - begun
                progress(summary)
                if disagreement is not None and (why := cause_of(disagreement)) is not None:
                    causes[why] += 1
                if len(causes) >= stop_after:
                    summary.stopped = f"stopped after {stop_after} causes, at case {index}"
                    break
                if disagreement is not None and summary.found >= most:
                    summary.stopped = f"stopped after {most} disagreements, at case {index}"
                    break
                if seconds is not None and summary.seconds >= seconds:
                    summary.stopped = f"stopped after {seconds:g} seconds, at case {index}"
                    break
    except (GiveUp, Unsupported) as error:  # Unsupported: a case could not be made, as the engine claims too little
        if isinstance(error, Unsupported) and not summary.cases:
            raise
        summary.ended = str(error)
    except KeyboardInterrupt:
        summary.ended = "interrupted"
    return summary


def one_case(plan: Plan, index: int) -> Summary:
    """What the evaluators do on the case of that index alone."""
    begun = time.monotonic()
    outcome, found = compare(plan, *plan.case(index))
    summary = Summary(1, Counter({outcome: 1}))
    if found is not None:
        disagreement = shrunk(plan, index, found)
        (summary.disputes if disagreement.disputed else summary.disagreements).append(disagreement)
    summary.seconds = time.monotonic() - begun
    return summary


@lru_cache(maxsize=4)
def _made(plan: Plan, index: int) -> tuple[Query, Stream]:
    """The case of that index; kept, since others may share the query, and be evaluated together if it is the same."""
    return plan.made(index)


def compare(plan: Plan, phi: Query, stream: Stream) -> tuple[Outcome, Difference | None]:
    """The outcome of one case, and, where the evaluators disagree, the output that shows it with its verdict."""
    outcome: Outcome = "empty"
    for output in plan.outputs:
        left, rights = judge(plan.left, {"right": plan.right}, phi, stream, output, plan.second_opinion)
        verdict = rights.get("right", left)
        if verdict.got is None or verdict.outcome in ("disagreed", "disputed"):
            return verdict.outcome, None if verdict.expected is None or verdict.got is None else (output, verdict)
        outcome = verdict.outcome
    return outcome, None


def shrunk(
    plan: Plan,
    index: int,
    difference: Difference,
    small_enough: Callable[[Disagreement], bool] = lambda d: False,
    last: Disagreement | None = None,
) -> Disagreement:
    """The disagreement on the case of that index, as small as found: of the same outcome and kinds of failures.

    last: one that was shrunk before; if it has the same query, what that was shrunk to is tried first.
    """
    found = plan.case(index)
    output, best = difference
    assert best.expected is not None
    assert best.got is not None
    forms = failure_form(best.expected), failure_form(best.got)

    def differs(phi: Query, stream: Stream) -> bool:
        nonlocal best
        try:
            expected = answer(plan.left, phi, stream, output)
            if failure_form(expected) != forms[0]:
                return False  # an engine is not called with a query that the reference refuses
            got = answer(plan.right, phi, stream, output)
        except (GiveUp, Unsupported, BudgetExceeded):
            return False
        if failure_form(got) != forms[1] or got == expected:
            return False
        outcome, second = checked(expected, plan.second_opinion, phi, stream, output)
        if outcome != best.outcome:
            return False
        best = replace(best, expected=expected, got=got, second=second)
        return True

    def disagreement(phi: Query, stream: Stream) -> Disagreement:
        assert best.expected is not None
        assert best.got is not None
        disputed = best.outcome == "disputed"
        return Disagreement(index, output, found, phi, stream, best.expected, best.got, disputed, best.second)

    tries = min(plan.tries, SLOW_TRIES) if forms[1] == "timeout" else plan.tries
    phi, S = found
    if last is not None and last.found[0] == phi and differs(last.phi, S):
        phi = last.phi
    small = shrink(plan.language, phi, S, differs, tries, lambda *pair: small_enough(disagreement(*pair)))
    return disagreement(*small)


def _outcomes(plan: Plan, processes: int, indices: Iterator[int]) -> Generator[CaseOutcome, None, None]:
    """The outcomes of the cases in order; other processes are at most a few chunks ahead of what is asked for."""
    if processes == 1:
        yield from _chunk(plan, indices)
        return
    chunks = iter(lambda: list(islice(indices, CHUNK)), [])
    with ProcessPoolExecutor(processes, get_context("spawn"), end_with_parent) as pool:
        pending: deque[Future[list[CaseOutcome]]] = deque()
        try:
            while True:
                ahead = islice(chunks, 3 * processes - len(pending))
                pending.extend(pool.submit(_whole_chunk, plan, chunk) for chunk in ahead)
                if not pending:
                    return
                yield from pending.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def end_with_parent() -> None:
    """In a process of a pool, end it when the one that started it has ended, which may have been killed."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _chunk(plan: Plan, indices: Iterable[int]) -> Iterator[CaseOutcome]:
    return ((i, *compare(plan, *plan.case(i))) for i in indices)


@compiled_shared()
def _whole_chunk(plan: Plan, indices: Sequence[int]) -> list[CaseOutcome]:
    return list(_chunk(plan, indices))
