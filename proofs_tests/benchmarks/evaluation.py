"""The figures of evaluation: the update phase and what stands around it, from columns to lists of matches."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial, reduce
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

import numpy as np
import pyarrow as pa
from numba import njit

import cerify
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.tables import EventBatch, enlarged
from cerify.semantics.cel.parse import parse
from cerify.semantics.events import Stream
from proofs_tests.benchmarks.figure import RUNS, Figure, rate
from proofs_tests.benchmarks.files import hundred
from proofs_tests.benchmarks.loop import loop_in_c
from proofs_tests.benchmarks.workloads import QUERIES, in_turn, uniform

Work = Callable[[], object]
BATCH = 50_000  # events
FAST = {f"Q{i}" for i in range(1, 7)}


@njit
def limit(classes, table):  # type: ignore[no-untyped-def]
    """Read the column of classes and look each up, and nothing else."""
    state = 0
    for i in range(classes.size):
        state = table[state, classes[i]]
    return state


class Reading:
    """An evaluator, a stream as its loops see it, and the loops over it from the beginning, again and again."""

    def __init__(self, query: str, S: Stream, room: bool = False) -> None:
        """With room there are arrays for all nodes from the beginning."""
        self.evaluator = CompiledCelEvaluator(parse(query))
        self.event_batches: list[EventBatch] = []
        for batch in self.evaluator.event_batches(S):
            self.event_batches.append(batch)
            for _ in self.evaluator.store.advance(batch, self.evaluator.transitions):
                pass
        self.classes = np.concatenate([batch.classes for batch in self.event_batches])
        fresh = deepcopy(CompiledCelEvaluator(parse(query)).store)
        fresh.resize(self.evaluator.tables.final.size, max(1, self.evaluator.keys.size))
        if room:
            fresh.tree = enlarged(fresh.tree, fresh.nodes, self.evaluator.store.nodes + 2 * len(self.classes))
        self._fresh = [deepcopy(fresh) for _ in range(RUNS + 3)]

    def read(self) -> int:
        """The update phase; sets of matches are not enumerated. To be called RUNS times, and three times more."""
        kept = self._fresh.pop()
        return sum(
            len(roots) for batch in self.event_batches for roots in kept.advance(batch, self.evaluator.transitions)
        )

    def limit(self) -> object:
        """A look-up per event."""
        return limit(self.classes, np.zeros((1, self.evaluator.tables.step.shape[1]), np.int32))


def update(quick: bool) -> Iterator[Figure]:
    """The compiled update phase, classes given, against the limit, what bounds it, and the same loop in C."""
    S = uniform(500_000 if quick else 2_000_000)
    turns = in_turn(len(S))
    for name, query in QUERIES.items():
        reading = Reading(query, S)
        target = "≥ 3e7 and ≤ 3 × limit" if name in FAST else None
        yield rate(
            f"update.{name}", len(S), "events/s", reading.read, "limit", reading.limit, target,
            (lambda value, ratio: value >= 3e7 and ratio >= 1 / 3) if target else None,
        )  # fmt: skip
        yield from bounds(name, query, S, turns)
        in_c = loop_in_c(reading.classes, reading.evaluator)
        if in_c is not None:
            yield rate(
                f"update.{name}.c", len(S), "events/s", Reading(query, S, room=True).read, "the same loop in C", in_c,
                "≤ 1.3 × C", lambda value, ratio: ratio >= 1 / 1.3,
            )  # fmt: skip


def bounds(name: str, query: str, S: Stream, turns: Stream) -> Iterator[Figure]:
    """The update phase with room for all nodes against copying the bytes that it reads and writes; and against itself
    over events whose types come in turn, so that no branch is mispredicted."""
    reading, even = Reading(query, S, room=True), Reading(query, turns, room=True)
    store = reading.evaluator.store
    moved = reading.classes.nbytes + store.node_count * store.tree[..., 0].nbytes + 24 * reading.read()
    some, others = np.ones(moved // 2, np.uint8), np.ones(moved // 2, np.uint8)
    yield rate(
        f"update.{name}.bytes", len(S), "events/s", reading.read, "copying as many bytes",
        lambda: np.copyto(others, some),
    )  # fmt: skip
    yield rate(
        f"update.{name}.in_turn", len(S), "events/s", Reading(query, S, room=True).read, "types in turn", even.read
    )


def columns(quick: bool) -> Iterator[Figure]:
    """From Arrow columns to sets of matches, classification included, against the limit; types as texts and coded."""
    S = uniform(500_000 if quick else 2_000_000)
    coded = Stream.from_table(S.table.set_column(0, "type", S.table["type"].dictionary_encode()))
    for name, query in QUERIES.items():
        reading = Reading(query, S)
        for kind, of, most in (("", S, 4.5), (".coded", coded, 3)):
            yield rate(
                f"columns.{name}{kind}", len(S), "events/s", from_columns(query, of), "limit", reading.limit,
                f"≥ 5e7 and ≤ {most} × limit",
                lambda value, ratio, most=most: value >= 5e7 and ratio >= 1 / most,  # type: ignore[misc]
            )  # fmt: skip
    query = f"{QUERIES['Q1']} WITHIN 1000 EVENTS"
    reading = Reading(query, S)
    yield rate("columns.Q1.1000", len(S), "events/s", from_columns(query, S), "limit", reading.limit)


def from_columns(query: str, S: Stream) -> Work:
    """The update phase over a table that has not been read, from a formula that is compiled already."""
    evaluators = [CompiledCelEvaluator(parse(query)) for _ in range(RUNS + 1)]
    return lambda: sum(len(roots) for roots in evaluators.pop().advance(Stream.from_table(S.table, valid=True)))


def window(quick: bool) -> Iterator[Figure]:
    """Q1 in windows of several sizes, classes given, against the update phase without a window."""
    S = uniform(200_000 if quick else 1_000_000)
    for events in (100, 1000, 10_000):
        reading, plain = Reading(f"{QUERIES['Q1']} WITHIN {events} EVENTS", S), Reading(QUERIES["Q1"], S)
        yield rate(
            f"window.Q1.{events}", len(S), "events/s", reading.read, "the update without a window", plain.read,
            "≥ 1.2e7", lambda value, ratio: value >= 1.2e7,
        )  # fmt: skip


def partition(quick: bool) -> Iterator[Figure]:
    """Q1 by keys of several numbers, classes and keys given; from columns; and where other keys' events move runs."""
    table = uniform(200_000 if quick else 1_000_000).table
    for keys, least, given in ((10, 8e6, 2.5e7), (1000, 8e6, 2.5e7), (100_000, 4e6, 1e7)):
        column = pa.array(np.random.default_rng(1).integers(0, keys, table.num_rows))
        S = Stream.from_table(table.append_column("k", column))
        for name, query in (("Q1", QUERIES["Q1"]), ("NXT", f"NXT({QUERIES['Q1']})"), ("UNLESS", "(A ; B) UNLESS C")):
            reading, plain = Reading(f"({query}) PARTITION BY [k]", S), Reading(query, S)
            yield rate(
                f"partition.{name}.{keys}", len(S), "events/s", reading.read, "the update without a partition",
                plain.read, f"≥ {least:.0e}", lambda value, ratio, least=least: value >= least,  # type: ignore[misc]
            )  # fmt: skip
        query = f"{QUERIES['Q1']} PARTITION BY [k]"
        reading = Reading(query, S)
        yield rate(
            f"partition.Q1.{keys}.columns", len(S), "events/s", from_columns(query, S), "classes and keys given",
            reading.read, f"≥ {given:.0e}", lambda value, ratio, given=given: value >= given,  # type: ignore[misc]
        )  # fmt: skip


def keyed(quick: bool) -> Iterator[Figure]:
    """PER KEY against PARTITION BY, and counts of events and of 200 users by key, from columns, of 1,000 keys."""
    table, rng = uniform(200_000 if quick else 1_000_000).table, np.random.default_rng(1)
    more = {
        "k": rng.integers(0, 1000, table.num_rows),
        "u": rng.integers(0, 200, table.num_rows),
        "t": np.cumsum(rng.integers(0, 2, table.num_rows)),
    }
    S = Stream.from_table(reduce(lambda table, name: table.append_column(name, pa.array(more[name])), more, table))
    for name, around in (("Q1", ""), ("window", " WITHIN 1000 EVENTS")):
        ours, other = (f"({QUERIES['Q1']}) {operator} [k]{around}" for operator in ("PER KEY", "PARTITION BY"))
        yield rate(
            f"keyed.{name}", len(S), "events/s", from_columns(ours, S), "PARTITION BY", from_columns(other, S),
            "≥ 0.9 of it", lambda value, ratio: ratio >= 0.9,
        )  # fmt: skip
    ours, other = (f"({QUERIES['Q1']}) {operator} [k] WITHIN 1000 EVENTS" for operator in ("PER KEY", "PARTITION BY"))
    works: dict[str, Callable[[str], object]] = {
        "match": lambda query: cerify.match(query, S, evaluator="kernel"),
        "count": lambda query: cerify.count(query, S, evaluator="kernel"),
        "stream": lambda query: _push(query, S),
    }
    for name, work in works.items():
        yield rate(
            f"keyed.{name}", len(S), "events/s", partial(work, ours), "PARTITION BY", partial(work, other),
            "≥ 0.9 of it", lambda value, ratio: ratio >= 0.9,
        )  # fmt: skip
    counts = {
        "60": "LAST(A{60})",
        "60.30": "LAST(A{60} ; B{30})",
        "60.window": "LAST(A{60} WITHIN 300000 [t])",
        "60.next": "NXT(A{60}) WITHIN 300000 [t]",
        "distinct": "LAST(A{3 DISTINCT [u]})",
        "distinct.30": "LAST(A{30 DISTINCT [u]})",
        "distinct.window": "LAST(A{3 DISTINCT [u]} WITHIN 20000 [t])",
    }
    for name, query in counts.items():
        yield rate(
            f"keyed.count.{name}", len(S), "events/s", from_columns(f"{query} PER KEY [k]", S), "A ; B PER KEY",
            from_columns("A ; B PER KEY [k]", S), "≥ 2e+07", lambda value, ratio: value >= 2e7,
        )  # fmt: skip


def _push(query: str, S: Stream) -> int:
    """The number of matches of batches, as they come from a stream."""
    evaluator = cerify.compile(query, evaluator="kernel")
    return sum(len(evaluator.push(S.table.slice(start, BATCH))) for start in range(0, len(S), BATCH))


def strategy(quick: bool) -> Iterator[Figure]:
    """The update phase of Q1 under each selection strategy, classes given, against that of Q1."""
    S = uniform(200_000 if quick else 1_000_000)
    for name in ("NXT", "LAST", "MAX", "STRICT"):
        reading, plain = Reading(f"{name}({QUERIES['Q1']})", S), Reading(QUERIES["Q1"], S)
        asked = name in ("NXT", "LAST")
        yield rate(
            f"strategy.{name}", len(S), "events/s", reading.read, "plain", plain.read,
            "≥ half of plain" if asked else None, (lambda value, ratio: ratio >= 0.5) if asked else None,
        )  # fmt: skip


def listing(quick: bool) -> Iterator[Figure]:
    """Enumeration of matches of length 3 into the arrays of an Arrow list, against copying these."""
    S = uniform(1000 if quick else 2000)
    for name, query in (("enumerate", QUERIES["Q1"]), ("enumerate.window", f"{QUERIES['Q1']} WITHIN 10000 EVENTS")):
        evaluator = CompiledCelEvaluator(parse(query))
        roots = np.concatenate([some.copy() for some in evaluator.advance(S)])
        chunks = list(evaluator.match_batches(roots))
        number = sum(matches.at.size for matches in chunks)

        def ours(evaluator: CompiledCelEvaluator = evaluator, roots: object = roots) -> None:
            for _ in evaluator.match_batches(roots):  # type: ignore[arg-type]
                pass

        def copied(chunks: object = chunks) -> None:
            for matches in chunks:  # type: ignore[attr-defined]
                _ = matches.at.copy(), matches.offsets.copy(), matches.events.copy()

        yield rate(
            name, number, "matches/s", ours, "copying the arrays", copied, "≥ 1e8 and ≤ 1.5 × copying",
            lambda value, ratio: value >= 1e8 and ratio >= 1 / 1.5,
        )  # fmt: skip


def counting(quick: bool) -> Iterator[Figure]:
    """All matches counted, exactly, from columns; and where only the last of many events completes any."""
    S = uniform(200_000 if quick else 1_000_000)
    evaluators = {}
    for name in ("Q1", "Q2"):
        evaluators[name] = [CompiledCelEvaluator(parse(QUERIES[name])) for _ in range(RUNS + 1)]
        yield rate(
            f"count.{name}", len(S), "events/s", lambda name=name: evaluators[name].pop().count(S),  # type: ignore[misc]
            "without counting", from_columns(QUERIES[name], S),
        )  # fmt: skip
    for events in (2000, 20_000) if quick else (2000, 100_000):
        stress = Stream.from_table(pa.table({"type": ["A"] * (events - 1) + ["B"]}))
        reading = Reading(QUERIES["Q4"], stress)
        counters = [CompiledCelEvaluator(parse(QUERIES["Q4"])) for _ in range(RUNS + 1)]

        def all_of_them(
            counters: list[CompiledCelEvaluator] = counters, stress: Stream = stress, events: int = events
        ) -> None:
            assert counters.pop().count(stress) == 2 ** (events - 1) - 1

        yield rate(f"count.stress.{events}", events, "events/s", all_of_them, "the update", reading.read)


def memory(quick: bool) -> Iterator[Figure]:
    """Bytes of nodes per marked event without a window; and with one, those after a stream against a tenth of it, and
    of the whole process."""
    S = uniform(50_000 if quick else 200_000)
    for name in ("Q1", "Q4", "Q6"):
        evaluator = CompiledCelEvaluator(parse(QUERIES[name]))
        kept = evaluator.store
        kept.tree = enlarged(kept.tree, kept.nodes, 2 * len(S))  # so that all nodes stay
        for _ in evaluator.advance(S):
            pass
        marked = np.unique(kept.positions[1:]).size
        value = kept.tree[..., : kept.nodes].nbytes / marked
        yield Figure(
            f"memory.{name}", value, "bytes/event", "nodes per marked event", kept.nodes / marked, 1, (value, value),
            "≤ 16", value <= 16.01,
        )  # fmt: skip
    evaluator = CompiledCelEvaluator(parse(f"{QUERIES['Q1']} WITHIN 10000 EVENTS"))
    sizes = []
    for _ in range(10):
        for _ in evaluator.advance(S):
            pass
        sizes.append(sum(array.nbytes for array in evaluator.store.arrays.values()))
        sizes[-1] += evaluator.store.tree.nbytes - evaluator.store.nodes * evaluator.store.tree.itemsize
    yield Figure(
        "memory.Q1.10000", sizes[-1], "bytes", "after a tenth of the stream", sizes[-1] / sizes[0], 1,
        (min(sizes), max(sizes)), "ratio 1", sizes[-1] == sizes[0],
    )  # fmt: skip
    if not quick:
        yield hundred()


COLD = """
import pyarrow as pa
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.semantics.cel.parse import parse
table = pa.ipc.open_file({path!r}).read_all()
assert CompiledCelEvaluator(parse("A ; B ; C{window}")).push(table)
"""

LOOP = """
from numba import njit
@njit(cache=True)
def f(x):
    return x
f(1)
"""


def cold(quick: bool) -> Iterator[Figure]:
    """A new process that reads an Arrow file, to its first match, the compiled loops cached; and numba's part of it.

    That is a loop of one line, cached too.
    """
    table = pa.table({"type": ["A", "B", "C"]})
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "stream.arrow")
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
        (Path(folder) / "loop.py").write_text(LOOP)
        yield from started("cold", COLD.format(path=path, window=""), "≤ 1.5 s", 1.5)
        yield from started("cold.100", COLD.format(path=path, window=" WITHIN 100 EVENTS"), "≤ 1.5 s", 1.5)
        yield from started("cold.numba", f"import sys; sys.path.append({folder!r}); import loop")


def import_(quick: bool) -> Iterator[Figure]:
    """Starting Python and importing cerify, against starting Python."""
    yield from started("import", "import cerify", "≤ 0.3 s", 0.3)


def started(name: str, code: str, target: str | None = None, most: float | None = None) -> Iterator[Figure]:
    """How long a new process takes for the code, less what starting Python takes: wall time, and CPU time."""

    def seconds(code: str) -> tuple[float, float]:
        begin, before = time.perf_counter(), getrusage(RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        wall, after = time.perf_counter() - begin, getrusage(RUSAGE_CHILDREN)
        return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    pairs = [(seconds(code), seconds("pass")) for _ in range(RUNS + 1)][1:]
    for i, which in enumerate((name, f"{name}.cpu")):
        extra = sorted(mine[i] - base[i] for mine, base in pairs)
        value, ratio = median(extra), median(mine[i] / base[i] for mine, base in pairs)
        met = None if most is None else value <= most
        yield Figure(which, value, "s", "starting Python", ratio, RUNS, (extra[0], extra[-1]), target, met)
