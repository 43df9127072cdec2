"""The figures of windows and partitions: the compiled update phase under them, and what it keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy

import numpy as np
import pyarrow as pa

from cerify.automata.evaluate.compiled import prepare, run
from cerify.automata.evaluate.evaluator import Evaluator
from cerify.semantics.budget import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.events import Stream
from proofs_tests.benchmarks.figure import Figure, rate
from proofs_tests.benchmarks.workloads import QUERIES, uniform


def reader(query: str, S: Stream) -> Callable[[], int]:
    """The update phase over a stream whose classes and keys are given; sets of matches are not enumerated."""
    evaluator = Evaluator(parse(query))
    scene = evaluator.seen(S)

    def run_() -> int:
        fresh = copy(evaluator)
        fresh.tree = evaluator.tree.copy()
        fresh.series = {name: array.copy() for name, array in evaluator.series.items()}
        return sum(len(roots) for roots in fresh.advance(scene))

    return run_


def window(quick: bool) -> Iterator[Figure]:
    """Q1 in windows of several sizes, classes given, against the update phase without a window."""
    S = uniform(200_000 if quick else 1_000_000)
    plain = prepare(parse(QUERIES["Q1"]), S, "matches", Budget())
    for events in (100, 1000, 10_000):
        yield rate(
            f"window.Q1.{events}",
            len(S),
            "events/s",
            reader(f"{QUERIES['Q1']} WITHIN {events} EVENTS", S),
            "the update without a window",
            lambda: run(*plain),
            target="≥ 1.2e7",
            met=lambda value, ratio: value >= 1.2e7,
        )


def partition(quick: bool) -> Iterator[Figure]:
    """Q1 by keys of several numbers, classes and keys given, against the update phase without a partition."""
    table = uniform(200_000 if quick else 1_000_000).table
    plain = prepare(parse(QUERIES["Q1"]), Stream.from_table(table), "matches", Budget())
    for keys, least in ((10, 8e6), (1000, 8e6), (100_000, 4e6)):
        column = pa.array(np.random.default_rng(1).integers(0, keys, table.num_rows))
        S = Stream.from_table(table.append_column("k", column))
        yield rate(
            f"partition.Q1.{keys}",
            len(S),
            "events/s",
            reader(f"{QUERIES['Q1']} PARTITION BY [k]", S),
            "the update without a partition",
            lambda: run(*plain),
            target=f"≥ {least:.0e}",
            met=lambda value, ratio, least=least: value >= least,  # type: ignore[misc]
        )


def memory(quick: bool) -> Iterator[Figure]:
    """Bytes in the arrays of an evaluator after a stream, against those after a tenth of it."""
    S = uniform(50_000 if quick else 200_000)
    evaluator = Evaluator(parse(f"{QUERIES['Q1']} WITHIN 10000 EVENTS"))
    kept = []
    for _ in range(10):
        for _ in evaluator.advance(evaluator.seen(S)):
            pass
        kept.append(sum(array.nbytes for array in (evaluator.tree, *evaluator.series.values())))
    yield Figure(
        "memory.Q1.10000", kept[-1], "bytes", "after a tenth of the stream", kept[-1] / kept[0], 1,
        (min(kept), max(kept)), "ratio 1", kept[-1] == kept[0],
    )  # fmt: skip
