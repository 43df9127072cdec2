"""One process for a long time: `python -m proofs_tests.soak`; events through evaluators, and queries decided.

The counts are compared with loops in numpy that know nothing of automata, the verdicts with what is known of each pair.
Memory has to stay as it is after the first tenth of the work. SIGTERM ends what is being done, and what
was seen until then is reported.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median

import click
import numpy as np
import numpy.typing as npt
import psutil
import pyarrow as pa

import cerify
from cerify.equivalence.generate.cel import CORE, case
from cerify.equivalence.verdict import Different, Equivalent, Undecided
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import BudgetExceeded, QueryWarning
from cerify.semantics.events import Stream
from proofs_tests.robustness import store

BATCH = 2**20
TYPES = ("A", "B", *(f"T{i}" for i in range(14)))  # of sixteen events one is an A, and one a B
KEYS = 8  # at a time
LIFE = 4_000  # events, after which other keys come
EVENTS, SECONDS = 24, 3_000  # the widths of the windows
TICK = 400  # seconds between two events, at most
FLAT = 1.05  # of the memory in the second tenth, and some room for the allocators
ROOM = 24  # MiB
PROGRESS = 20_000  # queries between two lines about them
QUERIES = {
    "by key": f"(A ; B) WITHIN {EVENTS} EVENTS PARTITION BY [k]",
    "by time": f"(A ; B) WITHIN {SECONDS} seconds",
}

Ints = npt.NDArray[np.int64]
interrupted = threading.Event()
"""Set by SIGTERM while the command runs."""


@dataclass(frozen=True)
class Columns:
    """A part of the stream: types as indices into TYPES, keys, times in seconds."""

    types: npt.NDArray[np.int8]
    keys: Ints
    times: Ints

    def stream(self) -> Stream:
        """The same as events."""
        types = pa.DictionaryArray.from_arrays(pa.array(self.types), list(TYPES))
        return Stream.from_table(pa.table({"type": types, "k": self.keys, "time": self.times}))

    def joined(self, other: Columns) -> Columns:
        """These events, and then the others."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Columns(*(np.concatenate(pair) for pair in pairs))

    def last(self, events: int) -> Columns:
        """The last events."""
        return Columns(*(column[-events:] for column in vars(self).values()))


@dataclass
class Memory:
    """The resident memory in MiB along the work."""

    done: list[int] = field(default_factory=list)
    mebibytes: list[float] = field(default_factory=list)

    def look(self, done: int) -> None:
        """Note what there is now. What is free is given back first: the C library keeps hundreds of MiB of it."""
        pa.default_memory_pool().release_unused()
        if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
            trim(0)
        self.done.append(done)
        self.mebibytes.append(psutil.Process().memory_info().rss / 2**20)

    @property
    def ends(self) -> tuple[float, float]:
        """The median of the second tenth of the work, and that of the last."""
        tenth = max(1, len(self.done) // 10)
        return median(self.mebibytes[tenth : 2 * tenth] or self.mebibytes), median(self.mebibytes[-tenth:])

    @property
    def flat(self) -> bool:
        """Whether it has not grown between these."""
        early, late = self.ends
        return late <= FLAT * early + ROOM


def parts(rng: np.random.Generator, size: int) -> Iterator[Columns]:
    """The stream without an end: types and times at random, each key for some thousand events and never again."""
    position = clock = 0
    while True:
        types = rng.integers(0, len(TYPES), size, np.int8)
        keys = (np.arange(position, position + size) // LIFE) * KEYS + rng.integers(0, KEYS, size)
        times = clock + np.cumsum(rng.integers(0, TICK, size))
        yield Columns(types, keys, times)
        position, clock = position + size, int(times[-1])


def by_key(before: Columns, new: Columns) -> int:
    """The pairs of an A and a later B, which is new, of one key, as near as the window wants."""
    near = before.last(EVENTS - 1).joined(new) if EVENTS > 1 else new
    start, found = len(near.types) - len(new.types), 0
    b_at = np.flatnonzero(near.types == 1)
    b_at = b_at[b_at >= start]
    for lag in range(1, EVENTS):
        later = b_at[b_at >= lag]
        found += int(np.count_nonzero((near.types[later - lag] == 0) & (near.keys[later - lag] == near.keys[later])))
    return found


def by_time(before: Columns, new: Columns) -> int:
    """The pairs of an A and a later B, which is new, as near in time as the window wants."""
    near = before.joined(new)
    b_at = np.flatnonzero(near.types == 1)
    b_at = b_at[b_at >= len(before.types)]
    as_before = np.concatenate([[0], np.cumsum(near.types == 0)])
    first = np.searchsorted(near.times, near.times[b_at] - SECONDS)
    return int((as_before[b_at] - as_before[first]).sum())


LOOPS: dict[str, Callable[[Columns, Columns], int]] = {"by key": by_key, "by time": by_time}


def events(name: str, wanted: int, seconds: float, size: int = BATCH) -> tuple[int, int, Memory]:
    """How many events were read within the seconds, how many matches, the memory. Raises AssertionError for a count."""
    evaluator, loop, memory = cerify.compile(QUERIES[name], evaluator="kernel"), LOOPS[name], Memory()
    until, matches, before = time.process_time() + seconds, 0, Columns(*(np.empty(0, np.int64) for _ in range(3)))
    done = 0
    for new in parts(np.random.default_rng(1), size):
        found = evaluator.count(new.stream())
        if found != (expected := loop(before, new)):
            raise AssertionError(f"{name}: {found} matches in events {done:,} to {done + size:,}, not {expected}")
        before, matches, done = new.last(10_000), matches + found, done + size
        memory.look(done)
        if done >= wanted or time.process_time() > until or interrupted.is_set():
            return done, matches, memory
    raise AssertionError("the stream has no end")


def queries(wanted: int, seconds: float, each: int = 500) -> tuple[int, int, Memory]:
    """How many random queries were compiled, evaluated and decided, how many of these differ from the one before."""
    memory, until, differ = Memory(), time.process_time() + seconds, 0
    budget = Budget(states=2_000, valuations=20_000, matches=2_000, seconds=2)
    before = "A"
    for done in range(1, wanted + 1):
        if done % each == 0:
            memory.look(done)
            if time.process_time() > until or interrupted.is_set():
                break
        if done % PROGRESS == 0:
            click.echo(f"queries: {done:,} in {time.process_time():.0f} s, {memory.mebibytes[-1]:.0f} MiB", err=True)
        phi, S = case(Random(f"soak/{done}"), CORE, 4, 6)
        query = show(phi)
        try:
            found = cerify.compile(query, evaluator="automaton", budget=budget).count(S)
            if done % 100 == 0 and found != (expected := len(cerify.match(query, S, evaluator="denotational"))):
                raise AssertionError(f"{query}: {found} matches, not {expected}, over {list(S)}")
            verdict = cerify.equivalent(query, f"({query}) OR ({query})", budget=budget)
            if isinstance(verdict, Undecided):  # the solver's time is that of the clock on the wall
                continue
            if not isinstance(verdict, Equivalent):
                raise AssertionError(f"{query} is not proved to be itself: {verdict}")
            differ += isinstance(cerify.equivalent(query, before, budget=budget), Different)
        except BudgetExceeded:
            continue
        before = query
    return done, differ, memory


def plot(memories: dict[str, Memory], folder: Path) -> None:
    """The memory along each work, as SVG."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "cerify"
    from matplotlib import pyplot

    for name, memory in memories.items():
        figure, axes = pyplot.subplots(figsize=(6, 2.6))
        axes.plot(memory.done, memory.mebibytes, linewidth=1)
        axes.set_ylim(0, 1.1 * max(memory.mebibytes))
        axes.set_xlabel("queries" if name == "queries" else "events")
        axes.set_ylabel("MiB")
        axes.set_title(f"Resident memory: {QUERIES.get(name, 'queries compiled and decided')}", fontsize=9)
        figure.tight_layout()
        figure.savefig(folder / f"soak-{name.replace(' ', '-')}.svg", metadata={"Date": None})
        pyplot.close(figure)


@click.command()
@click.option("--events", "wanted", default=10**9, show_default=True, help="Through the evaluator with keys.")
@click.option("--queries", "asked", default=10**6, show_default=True, help="Compiled and decided.")
@click.option("--minutes", default=5.0, show_default=True, help="Of the processor, at most, for each of the three.")
@click.option("--only", type=click.Choice([*QUERIES, "queries"]), help="One of them alone.")
@click.option("--store", "stores", is_flag=True, help="Add the figures to docs/findings/robustness.json.")
@click.option("--write", "folder", type=click.Path(path_type=Path), help="Write plots to this folder.")
def main(wanted: int, asked: int, minutes: float, only: str | None, stores: bool, folder: Path | None) -> None:
    """A line for each; status 1 if memory grew. A wrong count ends it."""
    warnings.simplefilter("ignore", QueryWarning)  # of random queries over random streams
    signal.signal(signal.SIGTERM, lambda *_: interrupted.set())
    works = {name: lambda name=name: events(name, wanted, 60 * minutes) for name in QUERIES}
    works["queries"] = lambda: queries(asked, 60 * minutes)
    memories = {}
    for name, work in works.items():
        if only not in (None, name):
            continue
        began = time.process_time()
        done, found, memory = work()
        memories[name] = memory
        what = "different from the one before" if name == "queries" else "matches"
        if stores:
            early, late = map(round, memory.ends)
            figures = {"done": done, "found": found, "what": what, "seconds": round(time.process_time() - began)}
            store("soak", name, figures | {"early": early, "late": late, "most": round(max(memory.mebibytes))})
        click.echo(
            f"{name}: {done:,}, {found:,} {what}, {time.process_time() - began:.0f} s; "
            f"{memory.ends[0]:.0f} MiB in the second tenth, {memory.ends[1]:.0f} in the last, "
            f"at most {max(memory.mebibytes):.0f}" + ("" if memory.flat else ": MEMORY GROWS")
        )
    if folder is not None:
        plot(memories, folder)
    sys.exit(0 if all(memory.flat for memory in memories.values()) else 1)


if __name__ == "__main__":
    main()
