"""Batch evaluation on Spark against cerify.match, key by key: `python -m proofs_tests.campaigns.spark_batch`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from random import Random
from typing import TYPE_CHECKING, NoReturn

import click
import pyarrow as pa
import pyarrow.compute as pc

from cerify.api import match as local_match
from cerify.examples import flights
from cerify.languages import LANGUAGES as PLUGINS
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import CerifyError, IllFormed, InputError, Unsupported
from cerify.semantics.events import TYPE, Match, Stream, observed
from cerify.spark.runs import SparkQuery
from proofs_tests.campaigns.values import wild_case
from proofs_tests.unit.workbench.spark.spark_cases import LANGUAGES, pair, result_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEY, ORDER, ID = "key_", "order_", "id_"
BUDGET = Budget(matches=20_000, valuations=200_000)
FLIGHTS = (
    SparkQuery("Departure IN X ; Departure IN Y FILTER X[dep_delay > 120] AND Y[dep_delay < 0] WITHIN 1 day"),
    SparkQuery("Departure : Cancellation+ : Departure WITHIN 12 hours", output="valuations"),
    SparkQuery("relative(Cancellation, Departure[dep_delay > 60])", "event-expression"),
    SparkQuery("Departure AS x ; Cancellation AS y FILTER x[dep_delay > 200]", "core-cel"),
    SparkQuery(
        "PATTERN SEQ(Departure a, Departure b) WHERE partition_contiguity(a, b) "
        "{ [tailnum] and a.dep_delay < 0 and b.dep_delay > a.dep_delay + 90 } WITHIN 1 day "
        "RETURN a.flight, b.flight AS late, b.dep_delay",
        "sase",
    ),
)
"""What is asked of each aircraft."""

Answer = dict[str, list[Match]] | str


def data(rng: Random, S: Stream, query: SparkQuery) -> pa.Table:
    """The events of a stream dealt to some keys, one of them null, in disorder; an order, and ids."""
    from cerify.spark.columns import mentioned

    n, table = len(S), S.table
    absent = sorted(name for name in mentioned(query.parsed)[0] if name not in table.column_names)
    for name in absent:
        table = table.append_column(name, pa.nulls(n))
    for name, values in {
        KEY: pa.array(rng.choices(["a", "b", "c", None], (8, 4, 4, 1), k=n), pa.string()),
        ORDER: pa.array(range(n), pa.int64()),
        ID: pa.array([f"e{i * 7}" for i in range(n)], pa.string()),
    }.items():
        table = table.append_column(name, values)
    return table.take(pa.array(rng.sample(range(n), n), pa.int64()))


def expected(table: pa.Table, query: SparkQuery, key: str = KEY, order: str = ORDER) -> Answer:
    """What cerify.match says of each key's events in their order; of an error its kind."""
    found: dict[str, list[Match]] = {}
    rows = table.filter(pc.is_valid(table[key])).sort_by([(key, "ascending"), (order, "ascending")])
    keys = rows[key].to_pylist()
    if query.schema is not None and not set(rows[TYPE].to_pylist()) <= query.schema.types.keys():
        return InputError.code  # as the readers of files have it
    begins = [i for i in range(len(keys)) if i == 0 or keys[i] != keys[i - 1]]
    rows = rows.drop_columns([name for name in (KEY, ORDER, ID) if name in rows.column_names]).combine_chunks()
    for begin, end in zip(begins, [*begins[1:], len(keys)], strict=True):
        k, S = keys[begin], Stream.from_table(rows.slice(begin, end - begin))
        S.schema = query.schema
        try:
            found[k] = local_match(
                query.parsed, S, language=query.language, output=query.output, budget=BUDGET, evaluator="kernel"
            )
        except CerifyError as error:
            return error.code
    return {k: matches for k, matches in found.items() if matches}


def answered(df: DataFrame, query: SparkQuery, key: str = KEY, order: str = ORDER, id_col: str | None = None) -> Answer:
    """The same by Spark."""
    from cerify.spark.batch import match
    from cerify.spark.transport import worker_errors

    try:
        with worker_errors():
            rows = match(
                df, query.text, order_by=order, partition_by=key, id_col=id_col, schema=query.schema,
                language=query.language, output=query.output, budget=BUDGET,
            ).collect()  # fmt: skip
    except CerifyError as error:
        return error.code
    found: dict[str, list[Match]] = {}
    for row in rows:
        bound = row["bindings"]
        found.setdefault(row[key], []).append(
            Match(
                row["at"],
                tuple(row["events"]),
                None if bound is None else tuple(sorted((v, tuple(positions)) for v, positions in bound.items())),
                result_in(row.asDict(recursive=True)),
            )
        )
    return {k: sorted(matches) for k, matches in found.items()}


def with_ids(answer: Answer, table: pa.Table) -> Answer:
    """The same with the ids of the events for their positions in the stream of the key."""
    if isinstance(answer, str):
        return answer
    named: dict[str, list[Match]] = {}
    for k, matches in answer.items():
        ids = table.filter(pc.equal(table[KEY], k)).sort_by(ORDER)[ID].to_pylist()
        named[k] = sorted(
            Match(
                ids[m.at],
                tuple(ids[p] for p in m.events),
                None if m.bindings is None else tuple((v, tuple(ids[p] for p in ps)) for v, ps in m.bindings),
                m.result,
            )
            for m in matches
        )
    return named


def wild_pair(rng: Random, language: str) -> tuple[SparkQuery, Stream]:
    """A query and a stream of the campaign of values, with one kind of values for each attribute."""
    while True:
        with suppress(IllFormed, InputError, Unsupported):
            case = wild_case(PLUGINS[language], str(rng.random()))
            schema = case.S.schema
            if language == "event-expression":  # its arguments name attributes by position, which Spark wants declared
                schema = schema or observed(case.S)
            query = SparkQuery(PLUGINS[language].syntax.show(case.query), language, schema=schema)
            if case.typed and len(case.S.table) and query.parsed:
                return query, case.S


def differing(
    spark: SparkSession,
    cases: int,
    seed: int,
    counts: Counter[str],
    made: Callable[[Random, str], tuple[SparkQuery, Stream]] = partial(pair, events=40),
) -> Iterator[str]:
    """The generated pairs for which the two differ; counts says how many there were of what."""
    for i in range(cases):
        rng, language = Random(f"{seed}/{i}"), LANGUAGES[i % len(LANGUAGES)]
        query, S = made(rng, language)
        table = data(rng, S, query)
        right, ided = expected(table, query), i % 8 >= 4
        df = spark.createDataFrame(table).repartition(3)
        found = answered(df, query, id_col=ID if ided else None)
        counts["pairs"] += 1
        if counts["pairs"] % 20 == 0:
            click.echo(f"{counts['pairs']} of {cases} pairs", err=True)
        counts["refused by both"] += isinstance(right, str) and right == found
        counts["with matches"] += isinstance(right, dict) and bool(right)
        counts["matches"] += 0 if isinstance(right, str) else sum(map(len, right.values()))
        if found != (with_ids(right, table) if ided else right):
            yield f"#{i} {language}: {query.text} on {table.sort_by(ORDER).to_pylist()}: {found}, not {right}"


def flights_differing(spark: SparkSession, counts: Counter[str]) -> Iterator[str]:
    """The queries that differ on the flights, each aircraft a stream."""
    table = flights.load().filter(pc.is_valid(pc.field("tailnum")))
    table = table.append_column("number", pa.array(range(table.num_rows), pa.int64()))
    df = spark.createDataFrame(table)
    for query in FLIGHTS:
        right = expected(table, query, "tailnum", "number")
        counts["flights queries"] += 1
        counts["flights matches"] += 0 if isinstance(right, str) else sum(map(len, right.values()))
        if answered(df, query, "tailnum", "number") != right or isinstance(right, str):
            yield f"flights: {query.text}"


def report(spark: SparkSession, differing: Iterator[str], counts: Counter[str]) -> NoReturn:
    """Print what differs, and how much was compared, and end with status 1 if anything differs."""
    differ = 0
    for line in differing:
        click.echo(f"  differ: {line}")
        differ += 1
    spark.stop()
    click.echo(", ".join(f"{number:,} {name}" for name, number in counts.items()))
    click.echo(f"{differ} differ")
    sys.exit(1 if differ else 0)


@click.command()
@click.option("--cases", default=200, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--values", is_flag=True, help="Cases of the campaign of values, and no flights.")
def main(cases: int, seed: int, values: bool) -> None:
    """What differs, and how much was compared; status 1 if anything differs."""
    from cerify.spark.session import session

    spark = session("local[2]", **{"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "3"})
    counts = Counter[str]()
    generated = (
        differing(spark, cases, seed, counts, wild_pair)
        if values
        else chain(differing(spark, cases, seed, counts), flights_differing(spark, counts))
    )
    report(spark, generated, counts)


if __name__ == "__main__":
    main()
