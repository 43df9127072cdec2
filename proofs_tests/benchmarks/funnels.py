"""Figures of funnels: ten steps by user, from a file of Parquet to the counts, against reading the file alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cerify import funnel
from cerify.semantics.files import read_stream
from proofs_tests.benchmarks.figure import Figure, rate

STEPS = tuple(f"step{i}" for i in range(10))
TARGET = 6e6


def shop(events: int, users: int) -> pa.Table:
    """Events of twelve types, ten of which are steps, of random users within 30 days, in the order of time."""
    random = np.random.default_rng(1)
    names = pa.array([*STEPS, "home", "help"])
    types = pa.DictionaryArray.from_arrays(pa.array(random.integers(0, len(names), events), pa.int8()), names)
    seconds = np.sort(random.integers(0, 30 * 86400, events))
    return pa.table(
        {
            "type": types.cast(pa.string()),
            "user": random.integers(0, users, events),
            "time": pa.array(1_700_000_000_000_000 + seconds * 1_000_000, pa.timestamp("us", tz="UTC")),
        }
    )


def funnels(quick: bool) -> Iterator[Figure]:
    """The best chain within a week, and the levels of ClickHouse's strict_order, of a million or ten million events."""
    events = 1_000_000 if quick else 10_000_000
    pa.set_cpu_count(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.parquet"
        pq.write_table(shop(events, events // 10), path)

        def reading() -> None:
            read_stream(path, attributes={"user", "time"})

        for mode in (None, "strict_order"):

            def ours(mode: str | None = mode) -> None:
                _ = funnel(path, STEPS, by="user", within="7 days", mode=mode).counts

            name = f"funnels.{mode or 'best'}"
            target = None if mode else f"{TARGET / 1e6:g} M events/s"
            met = None if mode else (lambda value, _: value >= TARGET)
            yield rate(name, events, "events/s", ours, "reading the file", reading, target, met)
