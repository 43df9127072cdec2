"""The figures of files: from Parquet to matches, and reading text, against Arrow's readers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.json as arrow_json
import pyarrow.parquet as pq

from cerify.automata.evaluate.compiled_evaluator import CompiledCelEvaluator
from cerify.semantics.cel.parse import parse
from cerify.semantics.readers import read
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
            return sum(len(roots) for roots in E.advance(read(path, attributes=E.attributes)))

        def listed(name: str) -> int:
            E = made[name].fresh()
            found = E.advance(read(path, attributes=E.attributes))
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
        alone = partial(read, path, attributes=made["Q1"].attributes)
        columns = partial(pq.read_table, path, columns=NEEDED["Q1"])
        yield rate("parquet.read", len(S), "events/s", alone, "reading the needed columns", columns)
        yield rate(
            "parquet.all", len(S), "events/s", partial(read, path), "reading the file", partial(pq.read_table, path)
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
                name, table.num_rows, "events/s", partial(read, path), "Arrow's reader", partial(by_arrow, path), *TWICE
            )
