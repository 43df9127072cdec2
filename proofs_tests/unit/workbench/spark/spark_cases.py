"""Queries of every language by chance, each with a stream that fits it, and the matches that runs found."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa

from cerify.equivalence.generate import core_cel, expressions, sase
from cerify.equivalence.generate.cel import PROFILES, case
from cerify.equivalence.generate.row_pattern import RowProfile, clause, stream
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import show
from cerify.semantics.core_cel.syntax import show as show_core_cel
from cerify.semantics.errors import CerifyError
from cerify.semantics.event_expressions.syntax import show as show_expression
from cerify.semantics.events import Event, Match, Result, Stream, result_of
from cerify.semantics.match_frames import result_schema
from cerify.semantics.row_pattern.interpreter import RowOutput, find_matches
from cerify.semantics.row_pattern.syntax import ROW, MatchRecognize, Order, RowColumn
from cerify.semantics.sase.syntax import show as show_sase
from cerify.spark.runs import SparkQuery

# ---- pairs ----
#

LANGUAGES = ("cel", "core-cel", "event-expression", "sase")
WINDOWS = (None, cel.EventWindow(3), cel.EventWindow(6), cel.TimeWindow(4, "second"))


def pair(rng: Random, language: str, nodes: int = 7, events: int = 14) -> tuple[SparkQuery, Stream]:
    """A query and a stream; the stream has a column of times that ascend, strictly in SASE+."""
    match language:
        case "cel":
            phi, S = case(rng, PROFILES[rng.choice(("core", "everything", "typed", "correlated"))], nodes, events)
            if (window := rng.choice(WINDOWS)) is not None:
                phi = cel.Within(phi, window)
            S = Stream([Event(event.type, {**event.attributes, "time": i}) for i, event in enumerate(S)])
            return SparkQuery(show(phi), language, rng.choice(("matches", "valuations"))), S
        case "core-cel":
            profile = rng.choice(list(core_cel.CORE_CEL_PROFILES.values()))
            psi, S = core_cel.case(rng, profile, nodes, events)
            return SparkQuery(show_core_cel(psi), language), Stream(S)
        case "event-expression":
            E, S = expressions.case(rng, rng.choice(list(expressions.PROFILES.values())), nodes, events)
            return SparkQuery(show_expression(E), language, schema=rng.choice((None, S.schema))), S
        case _:
            q, S = sase.case(rng, rng.choice(list(sase.PROFILES.values())), nodes, events)
            return SparkQuery(show_sase(q), language), Stream(S)


def matches(tables: Iterable[pa.Table]) -> list[Match]:
    """What tables of results say, one match for each row."""
    found = []
    for table in tables:
        assert table.schema == result_schema()
        for row in table.to_pylist():
            bound, result = row["bindings"], row["result"]
            found.append(
                Match(
                    row["at"],
                    tuple(row["events"]),
                    None if bound is None else tuple((v, tuple(positions)) for v, positions in bound),
                    None if result is None else Result(result, json.loads(result)),
                )
            )
    return sorted(found)


# ---- row tables ----
# Random tables for clauses of MATCH_RECOGNIZE on Spark, and what the definition makes of them.

BUDGET = Budget(valuations=20_000)
TYPES = {"t": "int", "n": "int", "p": "int", "o": "int", "x": "int", "y": "float", "z": "string"}
ARROW = {"int": pa.int64(), "float": pa.float64(), "string": pa.string()}
SCHEMA = pa.schema([(name, ARROW[kind]) for name, kind in TYPES.items()])
Row = tuple[Any, ...]


def case_row_tables(
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


def result_in(row: Mapping[str, Any]) -> Result | None:
    """The result in a row of an answer, a struct or JSON, as the local evaluators have it."""
    match row.get("result"):
        case str(text):
            return Result(text, json.loads(text))
        case found:
            return None if found is None else result_of(found)


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
