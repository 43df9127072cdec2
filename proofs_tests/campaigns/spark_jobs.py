"""Random jobs on Spark against local evaluation: queries of all languages, keys of all sizes, bad rows, empty days.

Run as: python -m proofs_tests.campaigns.spark_jobs [--jobs N] [--seed S] [--at-once N]
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa
import pyarrow.compute as pc

from cerify.api import count as local_count
from cerify.api import match as local_match
from cerify.equivalence.generate.row_pattern import PROFILES
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, CerifyError
from cerify.semantics.events import TYPE, Match, Stream
from cerify.semantics.row_pattern.syntax import show
from cerify.spark.runs import SparkQuery
from proofs_tests.campaigns.spark_batch import BUDGET, ID, KEY, ORDER, data, report
from proofs_tests.unit.workbench.spark import spark_cases as row_tables
from proofs_tests.unit.workbench.spark.spark_cases import LANGUAGES, pair, result_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KINDS = (*LANGUAGES, "row-pattern")
TABLE = "t long, n long, p long, o long, x long, y double, z string"
ONLY = "all"  # the key of a stream without keys
MORE = replace(BUDGET, matches=10 * BUDGET.matches)
BAD = ("no key", "no order", "no type", "tie")
Found = dict[str, Any]
"""What is found in the stream of each key: matches, or their number; of a key that fails its error's code."""


@dataclass(frozen=True)
class Job:
    """A query over some rows; good are those that are events, aside the ids of the others with the reason for each."""

    query: SparkQuery
    rows: pa.Table
    good: pa.Table
    aside: dict[str, str]
    options: dict[str, Any] = field(default_factory=dict)


def job(rng: Random, language: str) -> Job:
    """A job by chance."""
    query, S = pair(rng, language, events=rng.choice((6, 20, 60)))
    good = data(rng, S, query)
    if query.schema is not None:  # which does not have the event "start" of event expressions
        good = good.filter(pc.is_in(good[TYPE], pa.array(list(query.schema.types), good[TYPE].type)))
    keys = rng.choice((1, 3, 20))  # of one event or two, or of all
    names = pa.array([f"k{rng.randrange(keys)}" for _ in range(len(good))], pa.string())
    good = good.set_column(good.column_names.index(KEY), KEY, names)
    if rng.random() < 0.07:
        good = good.slice(0, 0)
    options: dict[str, Any] = {"clustered": rng.random() < 0.3, "partition_by": KEY if rng.random() < 0.8 else None}
    if query.output == "matches":
        options["output"] = rng.choice(("matches", "matches", "count"))
    rows, aside = good, dict[str, str]()
    if rng.random() < 0.5:
        options |= {"on_error": "aside", "id_col": ID, "output": query.output}
        good, rows, aside = _spoilt(rng, good, options["partition_by"] is not None)
    elif rng.random() < 0.5:
        options["id_col"] = ID
    return Job(query, rows, good, aside, options)


def _spoilt(rng: Random, good: pa.Table, keyed: bool) -> tuple[pa.Table, pa.Table, dict[str, str]]:
    """The events that stay, all rows, and the rows that do not stay by their ids, with the reasons."""
    aside: dict[str, str] = {}
    rows = [good]
    for i in range(rng.choice((0, 1, 4)) if len(good) else 0):
        one = good.slice(rng.randrange(len(good)), 1)
        reason = rng.choice(BAD if keyed else BAD[1:])
        bad = _with(one, ID, f"bad{i}")
        if reason == "tie":
            if one[ID][0].as_py() in aside:
                continue
            aside[one[ID][0].as_py()] = reason
        else:
            value = rng.choice((None, "")) if reason == "no type" else None
            bad = _with(bad, {"no key": KEY, "no order": ORDER, "no type": TYPE}[reason], value)
        aside[f"bad{i}"] = reason
        rows.append(bad)
    table = pa.concat_tables(rows).combine_chunks()
    stays = pc.invert(pc.is_in(good[ID], pa.array(list(aside), pa.string())))
    return good.filter(stays), table.take(pa.array(rng.sample(range(len(table)), len(table)), pa.int64())), aside


def _with(row: pa.Table, name: str, value: Any) -> pa.Table:
    return row.set_column(row.column_names.index(name), name, pa.array([value], row.schema.field(name).type))


def expected(its: Job, budget: Budget = BUDGET) -> Found:
    """What cerify.match finds in the stream of each key of the good rows."""
    found: Found = {}
    keyed = its.options["partition_by"] is not None
    rows = its.good.sort_by(ORDER)
    for k in rows[KEY].unique().to_pylist() if keyed else [ONLY] * bool(len(rows)):
        of_key = rows.filter(pc.equal(rows[KEY], k)) if keyed else rows
        S = Stream.from_table(of_key.drop_columns([KEY, ORDER, ID]).combine_chunks())
        S.schema = its.query.schema
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                local = local_count if its.options.get("output") == "count" else local_match
                matches = local(
                    its.query.parsed, S, language=its.query.language, output=its.query.output, budget=budget,
                    evaluator="kernel",
                )  # fmt: skip
        except CerifyError as error:
            found[k] = error.code
            continue
        if isinstance(matches, int):
            found[k] = matches
        elif matches:
            ids = of_key[ID].to_pylist() if "id_col" in its.options else range(len(S))
            found[k] = sorted(repr(_identified(m, ids)) for m in matches)
    return found


def _identified(m: Match, ids: Any) -> Match:
    bound = m.bindings
    named = None if bound is None else tuple((v, tuple(ids[p] for p in positions)) for v, positions in bound)
    return replace(m, at=ids[m.at], events=tuple(ids[p] for p in m.events), bindings=named)


def answered(df: DataFrame, its: Job) -> tuple[Found, dict[str, str]]:
    """The same by Spark, and the rows that are set aside, by their ids, with the reasons; keys that fail by the key."""
    from cerify.spark import malformed, match, matches

    given = {"order_by": ORDER, "schema": its.query.schema, "language": its.query.language, "budget": BUDGET}
    answer = match(
        df, its.query.text, **{**given, **its.options, "output": its.options.get("output", its.query.output)}
    )
    keyed, aside = its.options["partition_by"] is not None, dict[str, str]()
    found: Found = {}
    rows = answer
    if its.options.get("on_error") == "aside":
        answer = answer.cache()
        for row in malformed(answer).collect():
            aside[row["row"][ID] or f"key {row['row'][KEY] if keyed else ONLY}"] = row["reason"]
        rows = matches(answer)
    collected = rows.collect()
    answer.unpersist()
    for row in collected:
        k = row[KEY] if keyed else ONLY
        if "count" in row:
            found[k] = int(row["digits"])
            continue
        bound = row["bindings"]
        m = Match(
            row["at"],
            tuple(row["events"]),
            None if bound is None else tuple(sorted((v, tuple(positions)) for v, positions in bound.items())),
            result_in(row.asDict(recursive=True)),
        )
        found.setdefault(k, []).append(repr(m))
    return {k: sorted(its) if isinstance(its, list) else its for k, its in found.items()}, aside


def difference(spark: SparkSession, its: Job, counts: Counter[str]) -> str | None:
    """What differs, if anything does."""
    from cerify.spark import worker_errors

    right, df = expected(its), spark.createDataFrame(its.rows).repartition(3)
    try:
        with worker_errors():
            found, aside = answered(df, its)
    except CerifyError as error:
        counts["refused by both"] += error.code in right.values()
        return None if error.code in right.values() else f"{error.code}: {error.message}, not {right}"
    return compared(its, right, found, aside, counts)


def compared(its: Job, right: Found, found: Found, aside: dict[str, str], counts: Counter[str]) -> str | None:
    """What differs in an answer, if anything does.

    Budget.matches holds for what one batch of rows adds, so that a key over it may have all of its matches.
    """
    counts["matches"] += sum(len(one) if isinstance(one, list) else one for one in found.values())
    counts["rows aside"] += len(its.aside)
    failed = {k for k, one in right.items() if isinstance(one, str)}
    batched = {k for k in failed if right[k] == BudgetExceeded.code and k in found and f"key {k}" not in aside}
    if batched:
        right = right | {k: one for k, one in expected(its, MORE).items() if k in batched}
    failed = failed - batched if its.options.get("on_error") == "aside" else set()
    wanted = its.aside | {f"key {k}": aside.get(f"key {k}", "") for k in failed}
    if aside != wanted or not all(wanted.values()):
        return f"aside {aside}, not {wanted}"
    counts["keys aside"] += len(failed)
    left = {k: one for k, one in right.items() if k not in failed}
    found = {k: one for k, one in found.items() if k not in failed}
    return None if found == left else f"{found}, not {left}"


def row_pattern_difference(spark: SparkSession, rng: Random, counts: Counter[str]) -> str | None:
    """As `difference`, for a clause of MATCH_RECOGNIZE over tables of all sizes."""
    from cerify.spark import match_recognize

    q, rows = row_tables.case_row_tables(rng, PROFILES[rng.choice(("everything", "columns"))], rng.choice((0, 1, 30)))
    df = spark.createDataFrame(rng.sample(rows, len(rows)), TABLE).repartition(3)
    made = match_recognize(df, show(q), clustered=rng.random() < 0.3).collect()
    counts["rows of clauses"] += len(made)
    right = row_tables.expected(q, rows) if rows else {}
    found = row_tables.by_partition(map(tuple, made), len(q.partition))
    return None if found == right else f"{show(q)}: {dict(found)}, not {dict(right)}"


def tried(spark: SparkSession, i: int, seed: int) -> tuple[str | None, Counter[str]]:
    """What differs in job i, if anything does, and how much there was of what."""
    rng, kind, counts = Random(f"{seed}/{i}"), KINDS[i % len(KINDS)], Counter(jobs=1)
    if kind == "row-pattern":
        found, about = row_pattern_difference(spark, rng, counts), kind
    else:
        its = job(rng, kind)
        counts["empty"] += not len(its.rows)
        found = difference(spark, its, counts)
        about = f"{kind}: {its.query.text} {its.options} on {its.rows.sort_by(ORDER).to_pylist()}"
    return None if found is None else f"#{i} {about}: {found}", counts


def differing(spark: SparkSession, jobs: int, seed: int, counts: Counter[str], at_once: int) -> Iterator[str]:
    """The jobs whose answers differ; counts says how many there were of what."""
    with ThreadPoolExecutor(at_once) as threads, warnings.catch_warnings():  # those of the threads too
        warnings.simplefilter("ignore")
        for found, its in threads.map(partial(tried, spark, seed=seed), range(jobs)):
            counts.update(its)
            if counts["jobs"] % 10 == 0:
                click.echo(f"{counts['jobs']} of {jobs} jobs", err=True)
            if found is not None:
                yield found


@click.command()
@click.option("--jobs", default=100, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--at-once", default=2, show_default=True, help="Jobs of the session, which are the same for a seed.")
def main(jobs: int, seed: int, at_once: int) -> None:
    """What differs, and how much was compared; status 1 if anything differs."""
    from cerify.spark.session import session

    settings = {"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "3", "spark.ui.enabled": "false"}
    spark = session(f"local[{max(2, at_once)}]", **settings)
    spark.sparkContext.setLogLevel("OFF")
    counts = Counter[str]()
    report(spark, differing(spark, jobs, seed, counts, at_once), counts)


if __name__ == "__main__":
    main()
