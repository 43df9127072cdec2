"""Flatness: update time per event and enumeration delay along streams of 10^3 to 10^7 events, and memory in a window.

`python -m proofs_tests.benchmarks flat [--quick] [--write FOLDER]`. Nodes made and bytes are counted; they do not drift
as seconds do.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.semantics.cel.parse import parse
from proofs_tests.benchmarks.figure import Figure
from proofs_tests.benchmarks.workloads import QUERIES, uniform

BATCH = 100_000
LISTED = 200_000  # matches enumerated at a time
WINDOWS = ("", " WITHIN 100 EVENTS", " WITHIN 10000 EVENTS")
LENGTHS = tuple(10**k for k in range(3, 8))


def measured(query: str, lengths: tuple[int, ...]) -> list[dict[str, Any]]:
    """For each length: nanoseconds and nodes made per event over its second half, the bytes of all arrays, the delay.

    The delay is the time per match over the first matches that the last batch completes.
    """
    evaluator, S = CompiledCelEvaluator(parse(query)), uniform(BATCH)
    found: list[dict[str, Any]] = []
    for length in lengths:
        seconds, events, nodes, waited, first = 0.0, 0, 0, 0.0, 0.0
        size = min(BATCH, length // 4)
        while evaluator.position < length:
            here = evaluator.position
            last = length - here <= size
            for batch in evaluator.event_batches(S.part(here % BATCH, min(size, length - here))):
                before, begin = evaluator.store.node_count, time.process_time()
                for some in evaluator.store.advance(batch, evaluator.transitions):
                    if last:
                        waited, first = delay(evaluator, some), first_match(evaluator, some)
                if here >= length // 2 and not last:
                    seconds += time.process_time() - begin
                    events += batch.classes.size
                    nodes += evaluator.store.node_count - before
        kept = evaluator.store.tree.nbytes + sum(
            a.nbytes for name, a in evaluator.store.arrays.items() if name != "tree"
        )
        per_event = {"nanoseconds": 1e9 * seconds / events, "nodes": nodes / events}
        found.append({"events": length, **per_event, "bytes": kept, "delay": waited, "first": first})
    return found


def delay(evaluator: CompiledCelEvaluator, roots: NDArray[np.int64]) -> float:
    """Nanoseconds per match over the first matches of some sets, the least of five times."""
    times = []
    for _ in range(6):
        begin, number = time.process_time(), 0
        for matches in evaluator.match_batches(roots):
            number += matches.at.size
            if number >= LISTED:
                break
        times.append(1e9 * (time.process_time() - begin) / number)
    return min(times[1:])


def first_match(evaluator: CompiledCelEvaluator, roots: NDArray[np.int64]) -> float:
    """Microseconds to the first chunk of matches of the last set, at most 16,384 of them; the least of five times."""
    times = []
    for _ in range(6):
        begin = time.process_time()
        next(evaluator.match_batches(roots[-1:]))
        times.append(1e6 * (time.process_time() - begin))
    return min(times[1:])


def flat(quick: bool, folder: Path | None = None) -> Iterator[Figure]:
    """The last value of each against that at 10^4 events, or at 10^5 in the wide window; with a folder, plots."""
    for window in WINDOWS:  # so that what is compiled is loaded
        measured(QUERIES["Q1"] + window, LENGTHS[:2])
    rows = {window: measured(QUERIES["Q1"] + window, LENGTHS[: 3 if quick else 5]) for window in WINDOWS}
    if folder is not None:
        plot(rows, folder)
    for window, points in rows.items():
        name = f"flat.Q1.{window.split()[1] if window else 'plain'}"
        for what, unit, most in (
            ("nanoseconds", "ns/event", 2.0), ("nodes", "nodes/event", 1.1), ("delay", "ns/match", 2.0),
            ("first", "µs", 2.0), ("bytes", "bytes", 1.5),
        ):  # fmt: skip
            if what == "bytes" and not window:
                continue
            values = [point[what] for point in points]
            ratio = values[-1] / values[1 if "10000" not in window else min(2, len(values) - 1)]
            yield Figure(
                f"{name}.{what}", values[-1], unit, "at 10^4 events" if "10000" not in window else "at 10^5 events",
                ratio, 1, (min(values), max(values)), f"ratio ≤ {most}", ratio <= most,
            )  # fmt: skip


def plot(rows: dict[str, list[dict[str, Any]]], folder: Path) -> None:
    """A plot of each, as SVG."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "cerify"
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    for what, title, label in (
        ("nanoseconds", "Update time per event", "nanoseconds"),
        ("nodes", "Nodes made per event", "nodes"),
        ("delay", "Time between two matches, enumerated", "nanoseconds"),
        ("first", "Time to the first 16,384 matches of a set", "microseconds"),
        ("bytes", "What is kept", "bytes"),
    ):
        figure, axes = pyplot.subplots(figsize=(6, 3.2))
        for (window, points), marker in zip(rows.items(), "os^", strict=True):
            x, y = [point["events"] for point in points], [point[what] for point in points]
            axes.plot(x, y, marker=marker, label=window.strip() or "no window")
        axes.set_xscale("log")
        axes.set_title(f"{title}: {QUERIES['Q1']}")
        axes.set_xlabel("events in the stream so far")
        axes.set_ylabel(label)
        if what == "bytes":
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.legend()
        figure.tight_layout()
        figure.savefig(folder / f"flat-{what}.svg", metadata={"Date": None})
        pyplot.close(figure)
