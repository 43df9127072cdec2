"""The figures of two cores: one stream read by two threads in one process, by the clock on the wall."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from statistics import median

import numpy as np
import pyarrow as pa

from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.parallel import ParallelEvaluator
from cerify.plan import reach_of
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
    """From Arrow columns to the number of matches, or to all of them, by two threads against one.

    `processes` is what no number of threads can be better than: two processes that share nothing, against one of them.
    """
    events = 500_000 if quick else 4_000_000
    yield _processes(CORES["window"], events)
    table = uniform(events).table
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


def _processes(query: str, events: int) -> Figure:
    """Events a second by two processes, each of which reads a stream of its own."""
    context = get_context("spawn")
    links, ends = zip(*(context.Pipe() for _ in range(2)), strict=True)
    processes = [context.Process(target=_read_when_asked, args=(query, events, end), daemon=True) for end in ends]
    for process in processes:
        process.start()
    _answers(links)
    pairs = []
    for _ in range(PAIRS):
        alone = _wall(lambda: _asked(links[:1]))
        pairs.append((_wall(lambda: _asked(links)), alone))
    for process in processes:
        process.terminate()
    rates, ratio = sorted(2 * events / both for both, _ in pairs), median(2 * one / both for both, one in pairs)
    return Figure(
        "cores.processes", median(rates), "events/s", "one process, wall time", ratio, PAIRS, (rates[0], rates[-1])
    )


def _read_when_asked(query: str, events: int, link: Connection) -> None:
    """Count the matches of a stream once, and once more for each message."""
    table, one = uniform(events).table, CompiledCelEvaluator(parse(query))
    while True:
        one.fresh().count(table)
        link.send(None)
        link.recv()


def _asked(links: Sequence[Connection]) -> None:
    for link in links:
        link.send(None)
    _answers(links)


def _answers(links: Sequence[Connection]) -> None:
    for link in links:
        link.recv()


def _wall(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
