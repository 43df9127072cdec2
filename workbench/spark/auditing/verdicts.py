"""Verdicts: the differences between the matches of a log of events and what an engine reported."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Literal, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cerify.semantics.errors import InputError
from cerify.spark.columns import column

Discrepancy: TypeAlias = Literal["missing", "extra", "late", "early", "duplicated", "malformed"]
"""What is wrong:

missing     a match was not reported
extra       what was reported is no match
late        a match was reported at a later event than it is due
early       a match was reported at an earlier event than it is due
duplicated  a match was reported more than once
malformed   what was reported has no key, no event or no events; or an event that is not in the log
"""


def verdicts(due: DataFrame, reported: DataFrame, places: DataFrame, keys: Sequence[str]) -> DataFrame:
    """A row for each divergence: the keys, kind, at, events, reported_at and times.

    due and reported have the keys, `at` and `events`, ids of events; places has the keys, the `id` of each event, and
    its `place` in the order. `at` is where the match is due, null where it is not; `reported_at` where it was reported,
    null where it was not; `times` how often. What was reported is compared as a set of events.
    """
    names = [*keys, "events"]
    broken = reduce(or_, (column(name).isNull() for name in [*names, "at"]))
    broken = broken | F.exists("events", lambda event: event.isNull())
    well = reported.where(~broken).select(*map(column, keys), "at", _in_order("events"), F.lit(False).alias("is_due"))
    both = due.select(*map(column, keys), "at", _in_order("events"), F.lit(True).alias("is_due")).unionByName(well)
    compared = both.groupBy(*map(column, names)).agg(
        F.array_sort(F.collect_list(F.when(F.col("is_due"), F.col("at")))).alias("due"),
        F.array_sort(F.collect_list(F.when(~F.col("is_due"), F.col("at")))).alias("reported"),
    )
    found = (
        compared.withColumn("missing", F.array_except("due", "reported"))
        .withColumn("extra", F.array_except("reported", "due"))
        .withColumn("verdict", F.explode(_verdicts(places.schema["id"].dataType)))
        .select(*map(column, keys), "verdict.kind", "verdict.at", "events", "verdict.reported_at", "verdict.times")
    )
    found = _ordered(found, places, keys)
    malformed = reported.where(broken).select(
        *map(column, keys),
        F.lit("malformed").alias("kind"),
        F.lit(None).cast(places.schema["id"].dataType).alias("at"),
        "events",
        F.col("at").alias("reported_at"),
        F.lit(1).alias("times"),
    )
    return found.unionByName(malformed)


def _verdicts(id_: T.DataType) -> Column:
    """The verdicts on one set of events: a missing and an extra position make a pair."""
    paired = F.least(F.size("missing"), F.size("extra"))

    def verdict(kind: str, at: Column | None, reported: Column | None, times: Column) -> Column:
        nowhere = F.lit(None).cast(id_)
        return F.struct(
            F.lit(kind).alias("kind"),
            (nowhere if at is None else at).alias("at"),
            (nowhere if reported is None else reported).alias("reported_at"),
            times.cast("int").alias("times"),
        )

    def times(at: Column) -> Column:
        return F.size(F.filter("reported", lambda other: other == at))

    one = F.lit(1)
    moved = F.transform(
        F.arrays_zip(F.slice("missing", one, paired), F.slice("extra", one, paired)),
        lambda pair: verdict("late", pair["0"], pair["1"], times(pair["1"])),
    )
    missing = F.transform(_from("missing", paired), lambda at: verdict("missing", at, None, F.lit(0)))
    extra = F.transform(_from("extra", paired), lambda at: verdict("extra", None, at, times(at)))
    repeated = F.transform(
        F.filter(F.array_distinct("reported"), lambda at: (times(at) > 1) & F.array_contains("due", at)),
        lambda at: verdict("duplicated", at, at, times(at)),
    )
    return F.concat(moved, missing, extra, repeated)


def _from(name: str, start: Column) -> Column:
    return F.slice(name, start + 1, F.size(name))


def _ordered(found: DataFrame, places: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The verdicts; `late` becomes `early` where it is, and verdicts with events not in the log `malformed`.

    The log is read once to look up the events that such verdicts name.
    """
    named = F.concat(
        _named("due", F.array("at")), _named("reported", F.array("reported_at")), _named("", F.col("events"))
    )
    wanted = F.when(F.col("kind").isin("late", "extra"), named)
    where = places.select(*map(column, keys), F.col("id").alias("named"), F.col("place"))
    seen = (
        found.withColumn("one", F.explode_outer(wanted))
        .withColumn("named", F.col("one.id"))
        .join(where, [*keys, "named"], "left")
        .groupBy(*map(column, found.columns))
        .agg(
            F.max(F.when(F.col("one.as") == "due", F.col("place"))).alias("due"),
            F.max(F.when(F.col("one.as") == "reported", F.col("place"))).alias("reported"),
            F.coalesce(F.bool_or(F.col("named").isNotNull() & F.col("place").isNull()), F.lit(False)).alias("unknown"),
        )
    )
    early = (F.col("kind") == "late") & (F.col("reported") < F.col("due"))
    kind = F.when(F.col("unknown"), "malformed").when(early, "early").otherwise(F.col("kind"))
    return seen.withColumn("kind", kind).select(*map(column, found.columns))


def _named(role: str, ids: Column) -> Column:
    return F.transform(ids, lambda one: F.struct(F.lit(role).alias("as"), one.alias("id")))


def _in_order(name: str) -> Column:
    return F.array_sort(name).alias(name)


def reports(reported: DataFrame, keys: Sequence[str], id_: T.DataType) -> DataFrame:
    """What was reported, its ids cast to the type of the log. Raises InputError if a column is missing."""
    names = [*keys, "at", "events"]
    if missing := [name for name in names if name not in reported.columns]:
        raise InputError(
            f"what was reported has no column {missing[0]!r}; it needs {', '.join(names)}, and has "
            f"{', '.join(reported.columns)}"
        )
    if not isinstance(kind := reported.schema["events"].dataType, T.ArrayType):
        raise InputError(f"the column 'events' of what was reported is {kind.simpleString()}, not an array of ids")
    return reported.select(*map(column, keys), F.col("at").cast(id_), F.col("events").cast(T.ArrayType(id_)))
