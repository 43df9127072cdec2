"""Figures of MATCH_RECOGNIZE: from Arrow columns to labelled rows, against a loop written for one query by hand."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from numba import njit

import cerify
from cerify.automata.row_pattern import evaluate
from cerify.automata.row_pattern.compiled import CompiledRun
from cerify.languages.language import Options
from cerify.languages.row_pattern import LANGUAGE
from cerify.semantics.arguments import Budget
from cerify.semantics.events import Stream
from cerify.semantics.row_pattern.parse import parse
from proofs_tests.benchmarks.figure import Figure, rate

TREND = "DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)"
QUERIES = {
    "falls": f"PATTERN (STRT DOWN+ UP+) {TREND}",
    "overlapping": f"AFTER MATCH SKIP TO NEXT ROW PATTERN (STRT DOWN+ UP+) {TREND}",
    "filtered": "PATTERN (A B+ C+) DEFINE A AS price BETWEEN 100 AND 900, B AS price < PREV(price) AND volume > 20, "
    "C AS price > PREV(price, 2) OR volume = 7",
    "nested": "PATTERN (((UP*)*)* TOP) DEFINE UP AS price >= 0, TOP AS price > 1000",
    "partitioned": f"PARTITION BY symbol PATTERN (STRT DOWN+ UP+) {TREND}",
}
TARGET, TABLE_TARGET = 4e7, 1e7
TABLE = "MEASURES FIRST(price) AS first, SUM(price) AS total, FINAL LAST(price) AS last ALL ROWS PER MATCH PATTERN ({})"
OUTPUT = "MEASURES FIRST(price) AS first, LAST(DOWN.price) AS low, COUNT(*) AS days {} PER MATCH"


@njit
def by_hand(price, labels):  # type: ignore[no-untyped-def]
    """The falls that are followed by a rise, and the label of each row: 1, 2, 3, or 0 outside of matches."""
    found, s = 0, 0
    while s < price.size:
        fall = s + 1
        while fall < price.size and price[fall] < price[fall - 1]:
            fall += 1
        rise = fall
        while fall > s + 1 and rise < price.size and price[rise] > price[rise - 1]:
            rise += 1
        if rise == fall:
            labels[s] = 0
            s += 1
            continue
        labels[s] = 1
        labels[s + 1 : fall] = 2
        labels[fall:rise] = 3
        found += 1
        s = rise
    return found


def ticks(rows: int) -> Stream:
    """A price, a volume and one of 1,000 symbols by chance."""
    random = np.random.default_rng(1)
    columns = {
        name: random.integers(0, most, rows) for name, most in (("price", 1000), ("volume", 100), ("symbol", 1000))
    }
    return Stream.from_table(
        pa.table({"type": pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), ["row"]), **columns})
    )


def readable(text: str, S: Stream) -> int:
    """The number of the matches by the readable automaton."""
    return sum(1 for _ in evaluate.find_matches(parse(text), S, Budget(valuations=10**9)))


def output_table(pattern: str, S: Stream) -> int:
    """The number of the rows of the output table."""
    q = parse(f"MATCH_RECOGNIZE ({TABLE.format(pattern)})")
    return len(LANGUAGE.evaluators.output_table(q, S, LANGUAGE.evaluators.matches(q, S, "automaton"), Options()).rows)


def row_patterns(quick: bool) -> Iterator[Figure]:
    """Matches with the state of each row, as arrays; the readable automaton, also by the search with a memory; tables.

    `rows.output` is what a user calls: from a table to the output table, in columns. One match of 20,000 rows is held
    against matches of ten: a row of the output takes the same time in both.
    """
    rows = 1_000_000 if quick else 5_000_000
    S, few = ticks(rows), ticks(20_000)
    price = S.table["price"].to_numpy()
    labels = np.empty(rows, np.uint8)
    assert CompiledRun(parse(f"MATCH_RECOGNIZE ({QUERIES['falls']})"), S).count() == by_hand(price, labels)
    for name, text in QUERIES.items():
        q = parse(f"MATCH_RECOGNIZE ({text})")
        yield rate(
            f"rows.{name}",
            rows,
            "rows/s",
            lambda q=q: CompiledRun(q, S).count(),  # type: ignore[misc]
            "falls by hand",
            partial(by_hand, price, labels),
            target=f"≥ {TARGET:g}",
            met=lambda value, ratio: value >= TARGET,
        )
    for name, text in (
        ("readable", QUERIES["falls"]),
        ("memory", "PATTERN (A B+ C+) DEFINE B AS price < LAST(price, 1), C AS price > FIRST(A.price)"),
    ):
        clause = f"MATCH_RECOGNIZE ({text})"
        loops = parse(f"MATCH_RECOGNIZE ({QUERIES['falls']})")
        yield rate(
            f"rows.{name}",
            len(few),
            "rows/s",
            partial(readable, clause, few),
            "falls in compiled loops",
            lambda loops=loops: CompiledRun(loops, few).count(),  # type: ignore[misc]
        )
    for name, shown in (("one", "ONE ROW"), ("all", "ALL ROWS")):
        clause = f"MATCH_RECOGNIZE ({OUTPUT.format(shown)} {QUERIES['falls']})"
        yield rate(
            f"rows.output.{name}",
            rows,
            "rows/s",
            partial(cerify.match, clause, S.table, language="row-pattern", output="rows", budget=Budget(matches=rows)),
            "falls in compiled loops",
            lambda: CompiledRun(parse(f"MATCH_RECOGNIZE ({QUERIES['falls']})"), S).count(),
            target=f"≥ {TABLE_TARGET:g}",
            met=lambda value, ratio: value >= TABLE_TARGET,
        )
    yield rate(
        "rows.table",
        len(few),
        "rows/s",
        partial(output_table, "A+", few),
        "matches of ten rows",
        partial(output_table, "A{10}", few),
        target="≥ 0.5 of short matches",
        met=lambda value, ratio: ratio >= 0.5,
    )
