"""Beside rustevex, a compiled matcher that pip installs, on streams with few matches, prepared as it likes them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa

import cerify
from proofs_tests.benchmarks.figure import Figure, rate

TYPES, KEYS, PER_SECOND, WINDOW = "ABCDEFGH", 100, 10, 30
SHAPES: dict[str, tuple[str, list[dict[str, str]], float]] = {
    "sequence": ("(A ; B) PARTITION BY [id]", [{"match_token": "A"}, {"match_token": "B"}], 2),
    "three": ("(A ; B ; C) PARTITION BY [id]", [{"match_token": R} for R in "ABC"], 2),
    "absence": (
        "(A ; (B UNLESS C)) PER KEY [id]",
        [{"match_token": "A"}, {"match_token": "B", "block_token": "C"}],
        1.2,
    ),
}
"""The query, the elements of rustevex's pattern, and how many times as fast as it the target asks to be."""


def pip(quick: bool) -> Iterator[Figure]:
    """Events per second from Arrow columns to matches in Arrow, by 100 keys in 30 seconds, where rustevex is installed.

    Its streams are prepared before, one for each key.
    """
    if find_spec("rustevex") is None:
        return
    import rustevex

    n, random = 100_000 if quick else 1_000_000, np.random.default_rng(5)
    codes, ids, seconds = random.integers(0, len(TYPES), n), random.integers(0, KEYS, n), np.arange(n) // PER_SECOND
    types = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), list(TYPES))
    times = pa.array(seconds, pa.timestamp("s", "UTC"))
    table = pa.table({"type": types, "id": ids, "time": times})
    names, moments = np.array(list(TYPES))[codes], seconds.astype(float)
    streams = [(names[ids == key].tolist(), moments[ids == key]) for key in range(KEYS)]
    for name, (query, elements, least) in SHAPES.items():
        pattern = rustevex.Pattern(max_dt=float(WINDOW))
        for element in elements:
            pattern.add_event(**element)
        matcher = rustevex.EventExpressions(pattern)
        theirs = partial(_matches_of_rustevex, matcher, [matcher.preprocess(*stream) for stream in streams])
        ours = partial(_matches, f"({query}) WITHIN {WINDOW} seconds", table)
        found, other = ours().num_rows, theirs()
        if found != other:
            raise AssertionError(f"{name}: {found} matches, and {other} of rustevex")
        against = f"rustevex {version('rustevex')}, {found:,} matches"
        target = f"≥ {least} × as fast"
        yield rate(f"pip.{name}", n, "events/s", ours, against, theirs, target, lambda _, ratio, m=least: ratio >= m)


def _matches_of_rustevex(matcher: Any, streams: list[Any]) -> int:
    return sum(len(matcher.match_preprocessed(stream)["m_start"]) for stream in streams)


def _matches(query: str, table: pa.Table) -> Any:
    return cerify.compile(query, evaluator="kernel").push_arrow(table)
