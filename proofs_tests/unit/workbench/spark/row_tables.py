"""Random tables for clauses of MATCH_RECOGNIZE on Spark, and what the definition makes of them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa

from cerify.equivalence.generate.row_pattern import RowProfile, clause, stream
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Stream
from cerify.semantics.row_pattern.interpreter import RowOutput, find_matches
from cerify.semantics.row_pattern.syntax import ROW, MatchRecognize, Order, RowColumn

BUDGET = Budget(valuations=20_000)
TYPES = {"t": "int", "n": "int", "p": "int", "o": "int", "x": "int", "y": "float", "z": "string"}
ARROW = {"int": pa.int64(), "float": pa.float64(), "string": pa.string()}
SCHEMA = pa.schema([(name, ARROW[kind]) for name, kind in TYPES.items()])
Row = tuple[Any, ...]


def case(
    rng: Random, profile: RowProfile, tables: int, nodes: int = 8, rows: int = 8
) -> tuple[MatchRecognize, list[Row]]:
    """A clause, partitioned by t and ordered by n at last, and the rows of tables t for which it has an answer."""
    q = clause(rng, profile, rng.randint(1, nodes))
    q = replace(q, partition=(RowColumn("t"), *q.partition), order=(*q.order, Order(RowColumn("n"))))
    found: list[Row] = []
    for t in range(tables):
        S = stream(rng, profile, rng.randint(0, rows), q)
        mine = [(t, n, *(event.get(name) for name in "poxyz")) for n, event in enumerate(S)]
        try:
            expected(q, mine)
        except CerifyError:
            continue
        found += mine
    return q, found


def arrow(rows: Sequence[Row], schema: pa.Schema = SCHEMA) -> pa.Table:
    """The rows as a table."""
    return pa.table([pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)], schema=schema)


def expected(q: MatchRecognize, rows: Sequence[Row], schema: pa.Schema = SCHEMA) -> dict[Row, list[Row]]:
    """The rows of the output of each partition, in order. Raises what the definition raises."""
    table = arrow(rows, schema)
    S = Stream.from_table(table.append_column("type", pa.array([ROW] * len(table), pa.string())))
    output = RowOutput(q, S)
    return by_partition(output.rows(find_matches(q, S, budget=BUDGET)), len(q.partition))


def by_partition(rows: Iterable[Sequence[Any]], keys: int) -> dict[Row, list[Row]]:
    """The rows of the output by the columns of PARTITION BY, which are the first; NaN is one value."""
    found: dict[Row, list[Row]] = defaultdict(list)
    for row in rows:
        values = tuple("NaN" if isinstance(value, float) and math.isnan(value) else value for value in row)
        found[values[:keys]].append(values)
    return found


def grouped(rows: Sequence[Row], q: MatchRecognize, rng: Random, names: Sequence[str] = tuple(TYPES)) -> list[Row]:
    """The rows as Spark hands them to a worker: the partitions in some order, each in its own order."""
    found: dict[Row, list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(row[names.index(one.name)] for one in q.partition)].append(row)
    for one in reversed(q.order):
        place, nulls_first = names.index(one.column.name), one.descending if one.nulls is None else one.nulls == "FIRST"
        for key, its in found.items():
            there = sorted(
                (row for row in its if row[place] is not None), key=lambda row: row[place], reverse=one.descending
            )
            nulls = [row for row in its if row[place] is None]
            found[key] = nulls + there if nulls_first else there + nulls
    partitions = list(found.values())
    rng.shuffle(partitions)
    return [row for its in partitions for row in its]
