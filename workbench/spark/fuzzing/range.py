"""The work on a range of cases: generate them, judge them, and write the results to the folder."""

from __future__ import annotations

import atexit
import json
import os
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

from cerify.automata.evaluate.caching import share_compiled
from cerify.conformance.campaign_plan import Job, Part, asked_of
from cerify.conformance.campaigns import EngineEvaluator
from cerify.conformance.harness import Engine
from cerify.conformance.process import Limits
from cerify.conformance.words import shown
from cerify.equivalence.differential.campaign import Disagreement
from cerify.equivalence.differential.causes import cause
from cerify.equivalence.differential.judge import Answer, GiveUp, Outcome, Output, Query, Verdict, judge
from cerify.languages import language_named
from cerify.protocol import json_of_match
from cerify.semantics.errors import BudgetExceeded, CerifyError
from cerify.semantics.events import Stream
from cerify.semantics.json_events import json_of_event, json_of_schema
from cerify.spark.fuzzing.files import Folder, Row
from cerify.spark.fuzzing.limits import DEATHS, Limited, Notes, limited_memory, time_limit

DEFINITION = "definition"  # the name of the reference evaluator
GENERATOR = "generator"  # in place of an evaluator where no case could be generated
IN_FULL: tuple[Outcome, ...] = ("disputed", "disagreed", "budget")
"""The outcomes of which every case is stored; the others are counted only."""
WORST: tuple[Outcome, ...] = ("disputed", "disagreed", "budget", "unsupported", "matched", "empty")
WARMING = 6  # small cases of each part, evaluated before time is measured
SLACK = 30.0  # seconds of a worker beyond the limits of its evaluators


DONE = pa.schema({"begin": pa.int64(), "end": pa.int64(), "ended": pa.string()})


@dataclass(frozen=True)
class Work:
    """The work for a Spark job: the text of the Job, the folder, a name for this call of the campaign, the ranges."""

    job: str
    path: str
    run: str
    ranges: tuple[tuple[int, int], ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Judge the ranges with these indices; a row DONE for each, `ended` with the reason to stop the campaign."""
        for batch in batches:
            for number in batch.column("id").to_pylist():
                begin, end = self.ranges[number]
                row = {"begin": begin, "end": end, "ended": self.do(begin, end)}
                yield pa.RecordBatch.from_pylist([row], schema=DONE)

    def do(self, begin: int, end: int) -> str | None:
        """Judge one range, unless it is done; the reason why the campaign has to stop, or None."""
        folder = Folder(Path(self.path))
        ended = folder.begun / f"{self.run}.ended"
        try:
            if ended.exists():
                return ended.read_text(encoding="utf-8")
            if (begin, end) not in folder.done():  # done already if Spark took its task for lost
                self._judge(folder, begin, end)
            return None
        except (GiveUp, CerifyError, OSError) as error:
            why = error.message if isinstance(error, CerifyError) else str(error)
        with suppress(OSError):
            ended.write_text(why, encoding="utf-8")
        return why

    def _judge(self, folder: Folder, begin: int, end: int) -> None:
        job = prepared(self.job)
        watched = (len(job.evaluators) + 2) * job.seconds + (2 * job.seconds + 120 if job.engine else 0) + SLACK
        with Notes(folder.begun / f"{begin}-{end}", self.run, watched) as notes:
            with limited_memory(None if job.engine else job.memory):  # an engine would inherit the limit
                tally = judged(job, notes, begin, end)
            folder.commit(begin, end, tally.counts(begin, end), tally.kept)
            notes.end()


@cache
def prepared(text: str) -> Job:
    """The job, after its evaluators were imported and compiled in this process."""
    share_compiled()
    job = Job.of_text(text)
    for part in job.parts:  # so that no case is charged for imports and compilation
        small = replace(job.plans[part], nodes=2, events=2, together=1)
        for index in range(WARMING):
            phi, S = small.case(index)
            for evaluator in (job.definition(part), *job.built_in(part).values()):
                for output in asked_of(part, index):
                    with suppress(Exception):
                        evaluator(phi, S, output)
    return job


@dataclass
class Tally:
    """The results of a range: the number of cases and seconds by outcome, and the cases stored in full."""

    cases: Counter[tuple[str | None, ...]] = field(default_factory=Counter)
    seconds: Counter[tuple[str | None, ...]] = field(default_factory=Counter)
    kept: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))

    def count(self, part: Part, evaluator: str | None, output: str | None, verdict: Verdict) -> None:
        """Add a verdict; one without an evaluator is that of a case as a whole."""
        reason = verdict.detail[:200] if verdict.outcome == "unsupported" and evaluator else None
        key = (part.language, part.profile, evaluator, output, verdict.outcome, reason)
        self.cases[key] += 1
        self.seconds[key] += verdict.seconds  # type: ignore[assignment]

    def counts(self, begin: int, end: int) -> list[Row]:
        """The rows of the range."""
        names = ("begin", "end", "language", "profile", "evaluator", "output", "outcome", "reason", "cases", "seconds")
        keys = sorted(self.cases, key=lambda key: [value or "" for value in key])
        return [dict(zip(names, (begin, end, *k, self.cases[k], self.seconds[k]), strict=True)) for k in keys]


def judged(job: Job, notes: Notes, begin: int, end: int) -> Tally:
    """The results of the cases of a range. Raises GiveUp, InputError."""
    tally = Tally()
    evaluators = {part: _evaluators(job, part, notes) for part in job.parts}
    for index in range(begin, end):
        part, begun = job.part(index), time.perf_counter()
        try:
            outcome = _judge_one(job, index, notes, *evaluators[part], tally)
        except NotMade as error:
            outcome = "budget"
            made = Verdict("budget", time.perf_counter() - begun, str(error))
            tally.kept["budget"].append(row_of(job, index, part, None, Stream([]), None, GENERATOR, made))
        tally.count(part, None, None, Verdict(outcome, time.perf_counter() - begun))
    return tally


def _judge_one(
    job: Job, index: int, notes: Notes, definition: Limited, evaluators: Mapping[str, Limited], tally: Tally
) -> Outcome:
    """The worst outcome of one case."""
    part, phi, S, outputs = _made(job, index, notes)
    for limited in (definition, *evaluators.values()):
        limited.index = index
    outcomes = set[Outcome]()
    for output in outputs:
        own, verdicts = judge(definition, evaluators, phi, S, output, job.plans[part].second_opinion)
        for name, verdict in {DEFINITION: own, **verdicts}.items():
            tally.count(part, name, output, verdict)
            outcomes.add(verdict.outcome)
            if verdict.outcome in IN_FULL and (name != DEFINITION or verdict.outcome == "budget"):
                tally.kept[verdict.outcome].append(row_of(job, index, part, phi, S, output, name, verdict))
    return next(outcome for outcome in WORST if outcome in outcomes)


class NotMade(Exception):
    """Raised if the case cannot be generated."""


def _made(job: Job, index: int, notes: Notes) -> tuple[Part, Query, Stream, tuple[Output, ...]]:
    if notes.deaths[index, GENERATOR] >= DEATHS:
        raise NotMade("the process of its generator died, twice")
    notes.begin(index, GENERATOR)
    try:
        with time_limit(job.seconds):
            return job.case(index)
    except BudgetExceeded as error:
        raise NotMade(error.message) from None


def _evaluators(job: Job, part: Part, notes: Notes) -> tuple[Limited, dict[str, Limited]]:
    """The definition and the evaluators under test, each within its limits."""
    found = {name: Limited(name, evaluator, notes, job.seconds) for name, evaluator in job.built_in(part).items()}
    if job.engine:
        engine = started(job.engine, job.seconds, job.memory, job.restarts)
        evaluator = EngineEvaluator(engine, language_named(part.language))
        found[name_of(engine)] = Limited(name_of(engine), evaluator, notes, None)
    return Limited(DEFINITION, job.definition(part), notes, job.seconds), found


@cache
def started(argv: tuple[str, ...], seconds: float, memory: int, restarts: int) -> Engine:
    """The engine of this process, shared by its tasks, and closed when the process exits."""
    engine = Engine(argv, Limits(run_seconds=seconds, memory=memory * 2**20, restarts=restarts))
    atexit.register(engine.close)
    for number in (signal.SIGTERM, signal.SIGHUP):  # Spark kills workers by these, and atexit does not run
        before = signal.getsignal(number)
        signal.signal(number, partial(_closed, engine, before))
    return engine


def _closed(engine: Engine, before: Any, number: int, frame: FrameType | None) -> None:
    engine.close()
    if callable(before):
        before(number, frame)
    os._exit(128 + number)


def name_of(engine: Engine) -> str:
    """The name and version of the engine."""
    return f"{engine.info.name} {engine.info.version}"


def row_of(
    job: Job, index: int, part: Part, phi: Query | None, S: Stream, output: Output | None, name: str, verdict: Verdict
) -> dict[str, Any]:
    """The row VERDICTS of a case; query is null if none was generated."""
    why = None
    if (
        output is not None
        and verdict.outcome in ("disagreed", "disputed")
        and verdict.expected is not None
        and verdict.got is not None
    ):
        found = Disagreement(index, output, (phi, S), phi, S, verdict.expected, verdict.got)
        why = str(cause(found, job.plans[part].language))
    return {
        "case": index,
        "seed": job.seed,
        "language": part.language,
        "profile": part.profile,
        "query": None if phi is None else language_named(part.language).show(phi),
        "stream": stream_text(S),
        "output": output,
        "evaluator": name,
        "detail": _detail(verdict),
        "expected": _answer(verdict.expected),
        "got": _answer(verdict.got),
        "seconds": verdict.seconds,
        "cause": why,
    }


def _detail(verdict: Verdict) -> str:
    """The failure of an evaluator, the second opinion on a disputed case, or the reason for no answer."""
    if verdict.second is not None:
        return f"the plain definition gives {shown(sorted(verdict.second), 20) or 'nothing'}"
    failed = next((given for given in (verdict.expected, verdict.got) if isinstance(given, str)), None)
    return verdict.detail if failed is None else failed


def stream_text(S: Stream) -> str:
    """A stream and its schema as JSON."""
    schema = None if S.schema is None else json_of_schema(S.schema)
    return json.dumps({"schema": schema, "events": [json_of_event(e) for e in S]}, ensure_ascii=False)


def _answer(answer: Answer | None) -> str | None:
    if answer is None:
        return None
    return json.dumps(
        answer if isinstance(answer, str) else [json_of_match(m) for m in sorted(answer)], ensure_ascii=False
    )
