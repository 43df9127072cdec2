"""The figures of two cores: one stream read by two threads in one process, by the clock on the wall."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
import pyarrow as pa

from cerify.automata.evaluate.compiled_evaluator import CompiledCelEvaluator
from cerify.automata.evaluate.parallel import ParallelEvaluator
from cerify.reach import reach_of
from cerify.semantics.cel.parse import parse
from proofs_tests.benchmarks.figure import Figure
from proofs_tests.benchmarks.workloads import QUERIES, uniform

PAIRS = 31
SPEEDUP = 1.8
CORES = {
    "window": f"{QUERIES['Q1']} WITHIN 1000 EVENTS",
    "window.Q8": f"{QUERIES['Q8']} WITHIN 1000 EVENTS",
    "keys": f"({QUERIES['Q1']}) PARTITION BY [k]",
    "plain": QUERIES["Q1"],
}
"""By chunks, by chunks with predicates on attributes, by keys, and where only the classification is divided."""


def cores(quick: bool) -> Iterator[Figure]:
    """From Arrow columns to the number of matches, or to all of them, by two threads against one."""
    table = uniform(500_000 if quick else 4_000_000).table
    keys = np.random.default_rng(1).integers(0, 1000, table.num_rows)
    table = table.append_column("k", pa.array(keys))
    for name, query in CORES.items():
        yield _figure(f"cores.{name}", query, table, lambda one, rows: one.fresh().count(rows), name != "plain")
    listed = f"{QUERIES['Q8']} WITHIN 100 EVENTS"
    yield _figure("cores.list", listed, table, lambda one, rows: one.fresh().push_arrow(rows, rows.num_rows * 9), True)


def _figure(name: str, query: str, table: pa.Table, read: Callable[..., object], asked: bool) -> Figure:
    """Events a second by two threads; the ratio is the median of pairs that are measured one after the other."""
    phi = parse(query)
    one = CompiledCelEvaluator(phi)
    two = ParallelEvaluator(one, 2, reach_of(phi))
    read(one, table), read(two, table)
    pairs = [(_wall(lambda: read(two, table)), _wall(lambda: read(one, table))) for _ in range(PAIRS)]
    rates, ratio = sorted(table.num_rows / mine for mine, _ in pairs), median(base / mine for mine, base in pairs)
    return Figure(
        name, median(rates), "events/s", "one thread, wall time", ratio, PAIRS, (rates[0], rates[-1]),
        f"≥ {SPEEDUP} ×" if asked else None, ratio >= SPEEDUP if asked else None,
    )  # fmt: skip


def _wall(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
