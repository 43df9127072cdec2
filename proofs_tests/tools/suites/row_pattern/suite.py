"""The suite of MATCH_RECOGNIZE: its clauses, and random tables for them.

Where another reading gives another answer the text of the case's clause names it: an engine that fails just there has
that reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random

from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.row_pattern.scalars import columns_in, list_other_readings
from cerify.semantics.row_pattern.syntax import ROW
from cerify.semantics.values import Value
from proofs_tests.tools.mutants.row_pattern import MEANING, MUTANTS
from proofs_tests.tools.mutants.row_pattern.model import ERROR
from proofs_tests.tools.suites.row_pattern.queries import CLAUSES, QUERIES
from proofs_tests.tools.suites.source import Printed, Source, parsed

POOLS: dict[str, tuple[Value, ...]] = {
    "p": (0, 1),
    "o": (1, 2, 2, 3, 10),
    "x": (0, 1, 1, 2, 2, 3),
    "y": (0, 1, 2),
    "z": ("a", "ab", "b", "B", "a%", ""),
}
TYPES = {"p": "int", "o": "int", "x": "int", "y": "int", "z": "string"}
ABSENT = {"p": 0.15, "o": 0.15, "x": 0.08, "y": 0.2, "z": 0.15}
MORE_ABSENT = frozenset({"row-null", "row-aggregate", "row-order"})
TRIES = 24  # tables looked at for these
TABLES = 2  # taken for one clause
LENGTHS = {"row-long": (9, 22), "row-expression": (3, 5), "row-null": (3, 6)}
MOST = 24  # matches of a case
SEPARATING = (
    ("row-empty", "MATCH_RECOGNIZE (PATTERN ((() | A | B){0,2} C? $) DEFINE C AS COUNT(B.*) = 1)", (1, 1)),
    ("row-null", "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS NOT x NOT IN (1, NULL))", (2, 1)),
    ("row-reluctant", "MATCH_RECOGNIZE (PATTERN (A*? B) DEFINE B AS x > 1)", (1, 2, 2)),
    ("row-classifier", "MATCH_RECOGNIZE (PATTERN ((A | B) C) DEFINE C AS PREV(CLASSIFIER()) = 'B')", (1, 1)),
)
"""Clauses with the column x of a table that few tables are like: wrong semantics have another answer there."""
READ = {f"{name}={value}" for name, value in list_other_readings()}
READINGS = {m.name.removeprefix("axis: "): m for m in MUTANTS if m.name.removeprefix("axis: ") in READ}


def candidates(feature: str, query: str) -> list[Stream]:
    """The first tables on which the definition has an answer, and most of them some matches."""
    rng, found, q = Random(query), list[Stream](), parsed("row-pattern", query)
    names = [name for name in POOLS if name in {one.name.lower() for one in columns_in(q)}] or ["x"]
    for S in islice(tables(rng, feature, names), TRIES):
        right = MEANING.matches(q, S)
        if S not in found and right not in (None, ERROR) and len(right or ()) <= MOST and (right or rng.random() < 0.1):
            found.append(S)
        if len(found) == TABLES:
            break
    return found


def printed() -> Iterator[Printed]:
    """The clauses and tables that are not chosen."""
    schema = Schema({ROW: {"x": "int"}})
    for feature, query, values in SEPARATING:
        yield feature, query, Stream([Event(ROW, {"x": x}) for x in values], schema)


def tables(rng: Random, feature: str, names: list[str]) -> Iterator[Stream]:
    """Random tables with these columns."""
    low, high = LENGTHS.get(feature, (2, 8))
    schema = Schema({ROW: {name: TYPES[name] for name in names}})  # type: ignore[misc]
    factor = 2.0 if feature in MORE_ABSENT else 1.0
    while True:
        yield Stream(
            [
                Event(ROW, {n: rng.choice(POOLS[n]) for n in names if rng.random() >= ABSENT[n] * factor})
                for _ in range(rng.randint(low, high))
            ],
            schema,
        )


def other_readings(feature: str, query: str, S: Stream) -> Iterator[str]:
    """The other readings with another answer."""
    q, right = parsed("row-pattern", query), MEANING.matches(parsed("row-pattern", query), S)
    apart = [name for name, m in READINGS.items() if m.concerns(q, S) and m.matches(q, S) != right]
    if apart:
        yield f"not with {' or '.join(apart)}"


SOURCE = Source(
    "row-pattern",
    "row-pattern",
    CLAUSES,
    QUERIES,
    candidates,
    TABLES,
    MEANING,
    MUTANTS,
    printed,
    notes=other_readings,
    choosing=lambda feature: (),
)
