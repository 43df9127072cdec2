"""The figures of files: from Parquet to matches, and reading text, against Arrow's readers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.json as arrow_json
import pyarrow.parquet as pq

import cerify
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.commands.match import match_command
from cerify.semantics.cel.parse import parse
from cerify.semantics.files import read_stream
from proofs_tests.benchmarks.figure import Figure, rate
from proofs_tests.benchmarks.workloads import QUERIES, uniform

TWICE: tuple[str, Callable[[float, float], bool]] = "≤ 2 × reading", lambda value, ratio: ratio >= 0.5
NEEDED = {"Q1": ["type"], "Q8": ["type", "a", "b"]}
"""The columns that a query needs."""


def parquet(quick: bool) -> Iterator[Figure]:
    """A Parquet file, given by its path, to what a query under WITHIN 100 EVENTS has in it.

    `parquet` and `.Q8` have the sets of matches, from which any number can be listed; `.list` lists all; `.count`
    counts them. All are against reading the columns that the query needs; `.read` is that as cerify does it, which
    leaves the types a dictionary, and `.all` reading the whole file.
    """
    S = uniform(200_000 if quick else 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.parquet"
        pq.write_table(S.table, path)
        made = {name: CompiledCelEvaluator(parse(f"{QUERIES[name]} WITHIN 100 EVENTS")) for name in NEEDED}

        def sets(name: str) -> int:
            E = made[name].fresh()
            return sum(len(roots) for roots in E.advance(read_stream(path, attributes=E.attributes)))

        def listed(name: str) -> int:
            E = made[name].fresh()
            found = E.advance(read_stream(path, attributes=E.attributes))
            return sum(matches.at.size for roots in found for matches in E.match_batches(roots))

        def counted(name: str) -> int:
            return made[name].fresh().count(path)

        for figure, name, work in (
            ("parquet", "Q1", sets),
            ("parquet.Q8", "Q8", sets),
            ("parquet.list", "Q1", listed),
            ("parquet.list.Q8", "Q8", listed),
            ("parquet.count", "Q1", counted),
            ("parquet.count.Q8", "Q8", counted),
        ):
            columns = partial(pq.read_table, path, columns=NEEDED[name])
            yield rate(figure, len(S), "events/s", partial(work, name), "reading the needed columns", columns, *TWICE)
        alone = partial(read_stream, path, attributes=made["Q1"].attributes)
        columns = partial(pq.read_table, path, columns=NEEDED["Q1"])
        yield rate("parquet.read", len(S), "events/s", alone, "reading the needed columns", columns)
        yield rate(
            "parquet.all",
            len(S),
            "events/s",
            partial(read_stream, path),
            "reading the file",
            partial(pq.read_table, path),
        )


def text(quick: bool) -> Iterator[Figure]:
    """CSV and JSON Lines as streams, against Arrow's readers."""
    table = uniform(100_000 if quick else 500_000).table
    with tempfile.TemporaryDirectory() as folder:
        comma, lines = Path(folder) / "stream.csv", Path(folder) / "stream.jsonl"
        arrow_csv.write_csv(table, comma)
        with lines.open("w") as file:
            file.writelines(json.dumps(row) + "\n" for row in table.to_pylist())
        whole: tuple[tuple[str, Path, Callable[[Path], pa.Table]], ...] = (
            ("text.csv", comma, arrow_csv.read_csv),
            ("text.jsonl", lines, arrow_json.read_json),
        )
        for name, path, by_arrow in whole:
            yield rate(
                name,
                table.num_rows,
                "events/s",
                partial(read_stream, path),
                "Arrow's reader",
                partial(by_arrow, path),
                *TWICE,
            )


STREAMED = """
import sys
from pathlib import Path
from statistics import median
import pyarrow as pa
import pyarrow.parquet as pq

import cerify
query, path, tenth = *sys.argv[1:3], int(sys.argv[3])
counting, listing = (cerify.compile(query, evaluator="kernel") for _ in range(2))
found = 0
for i, batch in enumerate(pq.ParquetFile(path, read_dictionary=["type"]).iter_batches(250_000, columns=["type"])):
    found += counting.count(pa.table(batch))
    listing.push_arrow(pa.table(batch), limit=1000)
    if (i + 1) % tenth == 0:
        peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
        print(int(peak.split()[1]) * 1024, found)
"""
"""Counts, and lists the first matches of each batch of a file; prints the most memory that it had so far. That is not
the `ru_maxrss` of getrusage, which Linux begins with the memory of the process that started this one."""


def hundred() -> Figure:
    """The most memory of a process that reads 10^8 events under a window from a Parquet file, by batches of 250,000,
    against that after a tenth of them."""
    query, groups = f"{QUERIES['Q1']} WITHIN 1000 EVENTS", 100
    table = uniform(1_000_000).table.select(["type", "a"])
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "stream.parquet")
        with pq.ParquetWriter(path, table.schema) as file:
            for _ in range(groups):
                file.write_table(table)
        command = [sys.executable, "-c", STREAMED, query, path, str(4 * groups // 10)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    sizes = [float(line.split()[0]) for line in done.stdout.splitlines()]
    ratio = sizes[-1] / sizes[0]
    return Figure(
        "memory.parquet", sizes[-1], "bytes", "after a tenth of the stream", ratio, 1, (min(sizes), max(sizes)),
        "≤ 1.1 × that", ratio <= 1.1,
    )  # fmt: skip


COUNTED = """
import sys, time
from pathlib import Path
import cerify
from cerify.commands.match import match_command
for path in sys.argv[3:]:
    started = time.process_time()
    if sys.argv[1] == "count":
        number = cerify.count(sys.argv[2], path)
    else:
        number = match_command.main([sys.argv[2], path, "-o", sys.argv[1]], standalone_mode=False)
    taken = time.process_time() - started
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(number, taken, int(peak.split()[1]) * 1024)
"""


KEYED = "((A ; B) PARTITION BY [id]) WITHIN 60 seconds"


def _write_keyed(path: Path, number: int) -> None:
    """Write events of three types and 100 keys, ten a second, to a Parquet file."""
    random, times = np.random.default_rng(1), 1_700_000_000_000_000 + np.arange(number) * 100_000
    types = pa.array(["A", "B", "C"]).dictionary_encode().take(pa.array(random.integers(0, 3, number)))
    columns = {"type": types.cast(pa.string()), "id": random.integers(0, 100, number)}
    pq.write_table(pa.table(columns | {"time": pa.array(times, pa.timestamp("us", "UTC"))}), path)


def matched(quick: bool) -> Iterator[Figure]:
    """`cerify.match` of the query of `counted` over a million events, beside the same with an object for each match.

    And `cerify match --json`, beside that: the matches that are printed in a second.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.parquet"
        _write_keyed(path, 1_000_000)
        cerify.match(KEYED, path)  # compiles
        rates: dict[bool, list[float]] = {False: [], True: []}
        printed = []
        for objects in [False, True] * (1 if quick else 5):
            started = time.process_time()
            found = cerify.match(KEYED, path)
            if objects:
                list(found)
            rates[objects].append(1_000_000 / (time.process_time() - started))
            started = time.process_time()
            with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
                match_command.main([KEYED, str(path), "--json"], standalone_mode=False)
            printed.append(len(found) / (time.process_time() - started))
    plain, listed = (sorted(rates[objects]) for objects in (False, True))
    speed = median(plain)
    yield Figure(
        "matched.file", speed, "events/s", f"with {len(found):,} objects", speed / median(listed), len(plain),
        (plain[0], plain[-1]), "≥ 5e6", speed >= 5e6,
    )  # fmt: skip
    lines = median(printed)
    yield Figure(
        "matched.json", lines, "matches/s", "cerify.match", lines * 1_000_000 / len(found) / speed, len(printed),
        (min(printed), max(printed)), "≥ 1e6", lines >= 1e6,
    )  # fmt: skip


def counted(quick: bool) -> Iterator[Figure]:
    """`cerify.count` of `A ; B` by 100 keys within a minute, ten events a second, over 5 or 50 million events.

    The rate is that over the whole file, and the memory the most of the process, each against a file of a tenth.
    `.written` is the same for `cerify match -o`, which writes the matches with their attributes to a Parquet file.
    """
    part, beside = 500_000 if quick else 5_000_000, "over a tenth of it"
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.parquet" for name in ("first", "tenth", "whole")]
        for path, parts in zip(paths, (1, 1, 10), strict=True):  # the first compiles
            _write_keyed(path, part * parts)
        for name, work, target in (("counted", "count", "≥ 1.5e7"), ("counted.written", f"{folder}/m.parquet", None)):
            command = [sys.executable, "-c", COUNTED, work, KEYED, *paths]
            ran = subprocess.run(command, capture_output=True, text=True, check=True)
            (_, tenth, least), (_, whole, most) = (map(float, line.split()) for line in ran.stdout.splitlines()[1:])
            rate = 10 * part / whole
            met = None if target is None else rate >= 1.5e7
            yield Figure(f"{name}.file", rate, "events/s", beside, 10 * tenth / whole, 1, (rate, rate), target, met)
            ratio, met = most / least, most <= 1e9
            yield Figure(f"{name}.memory", most, "bytes", beside, ratio, 1, (least, most), "≤ 1e9", met)
