"""Figures of EQL: two-step rules by one key over columns of Arrow, and why a rule did not fire, on NDJSON in ECS."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from cerify.automata.eql.kernel import match_positions
from cerify.explanations.eql import EqlExplainer
from cerify.explanations.explanation import Request
from cerify.semantics.ecs import read_ecs
from cerify.semantics.eql.parse import parse
from cerify.semantics.events import Stream
from proofs_tests.benchmarks.figure import Figure, rate

TARGET = 25e6
RULE = 'sequence by host with maxspan=1m [process where name : "cmd*"] [network where port == 443]'
STEPS = '[process where process.name : "cmd*"] [network where destination.port == 443]'
LOGGED = f"sequence by host.id with maxspan=1m {STEPS}"
LOG = 100_000
SECONDS = 3.0
"""Of the processor, for the explanation of a log."""


def log(events: int, hosts: int) -> pa.Table:
    """Events of two categories from random hosts, ten a second, one in a hundred of them at a step of the rule."""
    random = np.random.default_rng(1)
    categories, names = pa.array(["process", "network"]), pa.array(["cmd.exe", *(f"p{n}.exe" for n in range(49))])
    ports = np.where(random.random(events) < 0.02, 443, random.integers(1000, 60_000, events))
    return pa.table(
        {
            "type": pa.DictionaryArray.from_arrays(pa.array(random.integers(0, 2, events), pa.int8()), categories),
            "time": pa.array(1_700_000_000_000_000 + np.arange(events) * 100_000, pa.timestamp("us", tz="UTC")),
            "host": pa.array(random.integers(0, hosts, events)),
            "name": pa.DictionaryArray.from_arrays(pa.array(random.integers(0, 50, events), pa.int8()), names),
            "port": pa.array(ports),
        }
    )


def write_log(file: Path, events: int) -> None:
    """Write such events as documents in ECS, one on each line."""
    with file.open("w", encoding="utf-8") as lines:
        for row in log(events, 1000).to_pylist():
            process = {"name": row["name"], "pid": row["port"], "args": [row["name"], "-q"], "parent": {"name": "init"}}
            document = {
                "@timestamp": row["time"].isoformat(),
                "event": {"category": [row["type"]], "type": ["start"], "action": "exec"},
                "process": process,
                "destination": {"ip": "203.0.113.9", "port": row["port"]},
                "host": {"id": row["host"], "os": {"type": "linux"}},
                "user": {"name": "alice", "id": "1000"},
                "ecs": {"version": "8.17.0"},
            }
            lines.write(json.dumps(document) + "\n")


def eql(quick: bool) -> Iterator[Figure]:
    """The matches of a two-step rule, against encoding its columns; the explanation of a log, against reading it."""
    events = 1_000_000 if quick else 10_000_000
    pa.set_cpu_count(1)
    table, query = log(events, events // 100), parse(RULE)

    def matched() -> None:
        match_positions(query, Stream(table))

    def encoded() -> None:
        for name in ("type", "host", "name"):
            column = table[name].combine_chunks()
            (column if pa.types.is_dictionary(column.type) else column.dictionary_encode())

    target = f"{TARGET / 1e6:g} M events/s"
    yield rate(
        "eql.two-steps", events, "events/s", matched, "encoding the columns", encoded, target, lambda v, _: v >= TARGET
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.ndjson"
        write_log(file, LOG)

        def explained() -> None:
            explainer = EqlExplainer(parse(LOGGED), read_ecs(file), LOGGED)
            explainer.all(Request(None, None, LOG - 1, 1, 10, "matches"))

        limit = LOG / SECONDS
        yield rate(
            "eql.explained", LOG, "events/s", explained, "reading the log", lambda: read_ecs(file),
            f"{LOG:,} events within {SECONDS:g} s", lambda v, _: v >= limit,
        )  # fmt: skip
