"""An audit of a large log in which twelve faults are planted, each on the keys of an engine of its own.

A fault is found if the verdicts on its keys are all of the kinds that it can have, and explained if the findings name
its cause with a smallest case, or, where no semantics is the cause, show a smallest piece of the log. The keys of each
engine are audited separately: what one engine reports rightly says nothing about another.

Run as: python -m proofs_tests.campaigns.spark_audit [--events N] [--keys N] [--master URL]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import click
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from cerify.spark.auditing import Findings, audit, text
from cerify.spark.batch import match
from cerify.spark.session import session

QUERY = "(A ; B+ ; C) FILTER A.x < 3 AND C.s = 'Up' WITHIN 8 EVENTS"


@dataclass(frozen=True)
class Fault:
    """What an engine gets wrong: the query, the events, or what it reports; kinds are the verdicts that it can have.

    cause is the wrong semantics that the findings are to name; None where none reports this.
    """

    name: str
    kinds: frozenset[str]
    cause: str | None = None
    query: str = QUERY
    events: Callable[[DataFrame], DataFrame] = lambda df: df
    reported: Callable[[DataFrame, int], DataFrame] = lambda df, keys: df


def some(one_of: int) -> Column:
    """A part of the matches, by chance."""
    return F.pmod(F.xxhash64("at", "events"), F.lit(one_of)) == 0


FAULTS = (
    Fault("the window is one longer", frozenset({"extra"}), "window@events=off-by-one", QUERY.replace("8", "9")),
    Fault("the window is open", frozenset({"missing"}), "window@events=open", QUERY.replace("8", "7")),
    Fault("< is taken for <=", frozenset({"extra"}), "comparison=inclusive", QUERY.replace("<", "<=")),
    Fault("+ is taken once", frozenset({"missing"}), "loop=single", QUERY.replace("B+", "B")),
    Fault("+ is contiguous", frozenset({"missing"}), "loop=contiguous", QUERY.replace("B+", "B:+")),
    Fault("AND is taken for OR", frozenset({"extra"}), "filter-connectives=and-as-or", QUERY.replace("AND", "OR")),
    Fault(
        "strings in any case",
        frozenset({"extra"}),
        "strings=any-case",
        events=lambda df: df.withColumn("s", F.initcap("s")),
    ),
    Fault(
        "absent is 0",
        frozenset({"extra"}),
        "absent=zero",
        events=lambda df: df.withColumn("x", F.coalesce("x", F.lit(0))),
    ),
    Fault("one match in fifty is lost", frozenset({"missing"}), reported=lambda df, keys: df.where(~some(50))),
    Fault(
        "one match in fifty is reported twice",
        frozenset({"duplicated"}),
        reported=lambda df, keys: df.unionByName(df.where(some(50))),
    ),
    Fault(
        "reported one event later",
        frozenset({"late", "malformed"}),  # the stream of a key ends, and so there is no later event
        "emit=one-later",
        reported=lambda df, keys: df.withColumn("at", F.col("at") + keys),
    ),
    Fault(
        "reported at the first event",
        frozenset({"early"}),
        "emit=at-first-event",
        reported=lambda df, keys: df.withColumn("at", F.element_at("events", 1)),
    ),
)


def log(spark: SparkSession, events: int, keys: int) -> DataFrame:
    """The events: key, id, type, and the attributes x, an integer or absent, and s, a string."""

    def chance(salt: int, of: int) -> Column:
        return F.pmod(F.xxhash64("id", F.lit(salt)), F.lit(of))

    return spark.range(events).select(
        (F.col("id") % keys).cast("int").alias("k"),
        "id",
        F.element_at(F.array(*map(F.lit, "ABCDE")), (chance(1, 5) + 1).cast("int")).alias("type"),
        F.when(chance(2, 10) > 0, chance(3, 6).cast("int")).alias("x"),
        F.element_at(F.array(*map(F.lit, ("Up", "up", "Down"))), (chance(4, 3) + 1).cast("int")).alias("s"),
    )


def report(events: DataFrame, keys: int) -> DataFrame:
    """Return the reports of all engines. Each engine has the keys of one remainder; one more remainder is right.

    Engines with the same query are evaluated together.
    """
    columns: dict[str, Any] = {"order_by": "id", "id_col": "id", "partition_by": "k"}
    engine = F.col("k") % (len(FAULTS) + 1)
    of_query: dict[str, list[tuple[int, Fault]]] = {}
    for number, fault in enumerate((*FAULTS, Fault("right", frozenset()))):
        of_query.setdefault(fault.query, []).append((number, fault))
    parts = []
    for query, some_faults in of_query.items():
        seen = reduce(
            DataFrame.unionByName, (fault.events(events.where(engine == number)) for number, fault in some_faults)
        )
        found = match(seen, query, **columns).select("k", "at", "events").persist()
        parts += [fault.reported(found.where(engine == number), keys) for number, fault in some_faults]
    return reduce(DataFrame.unionByName, parts)


def checked(fault: Fault, findings: Findings) -> tuple[bool, bool]:
    """Return whether the fault was found, and whether it was explained."""
    found = bool(findings.counts) and findings.counts.keys() <= fault.kinds
    if fault.cause is None:
        return found, fault.kinds <= {one.kind for one in findings.unexplained if one.piece is not None}
    named = {name: one for one in findings.explained for name in (one.cause.name, *one.cause.alike)}
    return found, fault.cause in named and named[fault.cause].cause.smallest is not None


@click.command()
@click.option("--events", default=10_000_000, show_default=True)
@click.option("--keys", default=10_000, show_default=True)
@click.option("--master", default="local[2]", show_default=True)
def main(events: int, keys: int, master: str) -> None:
    """The faults with what was found; status 1 if one was not found, or not explained."""
    spark = session(
        master, **{"spark.ui.enabled": "false", "spark.driver.memory": "3g", "spark.sql.shuffle.partitions": "4"}
    )
    began = time.perf_counter()
    data = log(spark, events, keys)
    reported = report(data, keys).persist()
    click.echo(f"{reported.count():,} matches reported about {events:,} events: {time.perf_counter() - began:.0f} s")
    engine, good = F.col("k") % (len(FAULTS) + 1), True
    for number, fault in enumerate((*FAULTS, None)):
        began, own = time.perf_counter(), engine == number
        log_of_engine = audit(data.where(own), reported.where(own), QUERY, order_by="id", id_col="id", partition_by="k")
        findings = log_of_engine.findings()
        found, explained = (not findings.counts, True) if fault is None else checked(fault, findings)
        good = good and found and explained
        click.echo(
            f"{'found' if found else 'NOT FOUND'}, {'explained' if explained else 'NOT EXPLAINED'}: "
            f"{'no fault' if fault is None else fault.name}: {time.perf_counter() - began:.0f} s\n{text(findings)}\n"
        )
    spark.stop()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
