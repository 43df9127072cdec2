"""A sample of the disagreements of a campaign, shrunk on the driver.

A shrunk query has no operators that the original query lacks. So of the cases of one evaluator with one cause, those
come first whose sets of operators are minimal by inclusion; then, up to SAMPLE, the smallest with other operators.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cerify.conformance.campaign_plan import Job
from cerify.conformance.campaigns import EngineEvaluator
from cerify.conformance.harness import Engine
from cerify.conformance.process import Limits
from cerify.equivalence.differential.campaign import shrunk
from cerify.equivalence.differential.judge import Evaluator, GiveUp, Output, Query, judge
from cerify.languages import language_named
from cerify.semantics.events import Match, Stream
from cerify.spark.fuzzing.files import SHRUNK, Folder, Row, write
from cerify.spark.fuzzing.limits import CRASHED, time_limit
from cerify.spark.fuzzing.range import row_of

SAMPLE = 5  # cases of each language, evaluator and cause
MOST = 60  # cases of the sample
NO_OPERATORS = "an event type"  # of a cause, in place of operators
LOOKED = ("language", "evaluator", "cause", "query", "stream")


@dataclass(frozen=True)
class Timed:
    """An evaluator with a limit of seconds for each case."""

    evaluator: Evaluator
    seconds: float

    def __call__(self, phi: Query, S: Stream, output: Output) -> Collection[Match]:
        with time_limit(self.seconds):
            return self.evaluator(phi, S, output)


def shrink_sample(job: Job, folder: Folder) -> None:
    """Shrink a sample of the disagreements in the folder, and write it there."""
    chosen = folder.rows("disagreed", sample(folder.verdicts("disagreed", LOOKED)))
    with ExitStack() as engines:
        tested: dict[str, Evaluator] = {}

        def evaluator_of(row: Row) -> Evaluator:
            part = job.part(row["case"])
            if row["evaluator"] in job.built_in(part):
                return Timed(job.built_in(part)[row["evaluator"]], job.seconds)
            if part.language not in tested:
                limits = Limits(run_seconds=job.seconds, memory=job.memory * 2**20, restarts=job.restarts)
                engine = engines.enter_context(Engine(job.engine, limits))
                tested[part.language] = EngineEvaluator(engine, language_named(part.language))
            return tested[part.language]

        rows = [_shrunk(job, row, evaluator_of(row)) for row in chosen]
    write(rows, SHRUNK, folder.path / "shrunk.parquet")


def sample(disagreed: pa.Table) -> list[int]:
    """The indices of the rows of the sample."""
    sizes = pc.add(pc.utf8_length(disagreed["query"]), pc.utf8_length(disagreed["stream"]))
    light = disagreed.drop_columns(["query", "stream"]).append_column("size", sizes)
    groups: dict[tuple[str, ...], dict[frozenset[str], int]] = defaultdict(dict)
    rows = light.to_pylist()
    for number in sorted(range(len(rows)), key=lambda number: (rows[number]["size"], number)):
        row = rows[number]
        operators, _, shape = row["cause"].rpartition(": ")
        own = frozenset() if operators == NO_OPERATORS else frozenset(operators.split())
        groups[row["language"], row["evaluator"], shape].setdefault(own, number)
    found: list[int] = []
    for _, group in sorted(groups.items()):
        few = sorted(group, key=lambda own: (len(own), group[own]))
        first = [own for own in few if not any(other < own for other in few)]
        found += [group[own] for own in [*first, *(own for own in few if own not in first)][:SAMPLE]]
    return found[:MOST]


def _shrunk(job: Job, full: Row, evaluator: Evaluator) -> dict[str, Any]:
    """The row SHRUNK of a disagreement; not shrunk if it is not reproduced, or its evaluator killed its process."""
    index, output, name = full["case"], full["output"], full["evaluator"]
    found = dict(full) | {"found": full["query"], "note": None}
    if name in job.evaluators and full["detail"].startswith(CRASHED):
        return found | {"note": "not shrunk: its process died"}
    part, phi, S, _ = job.case(index)
    plan = replace(job.plans[part], left=Timed(job.definition(part), job.seconds), right=evaluator)
    try:
        _, verdicts = judge(plan.left, {name: plan.right}, phi, S, output, plan.second_opinion)
    except GiveUp as error:
        return found | {"note": f"not shrunk: {error}"}
    verdict = verdicts.get(name)
    if verdict is None or verdict.outcome != "disagreed" or verdict.expected is None or verdict.got is None:
        return found | {"note": "not shrunk: it was not reproduced"}
    d = shrunk(plan, index, (output, verdict))
    again = replace(verdict, expected=d.left, got=d.right)
    return found | row_of(job, index, part, d.phi, d.stream, output, name, again)
