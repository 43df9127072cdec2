"""Predicates of the caller's own, as Python functions, in batches and in streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cerify
from cerify.semantics.errors import IllFormed, ParseError, Unsupported

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = [
    *[("p", n, type_, zone) for n, (type_, zone) in enumerate([("A", 1), ("A", 2), ("B", 2), ("B", 1), ("B", 3)])],
    *[("q", n, type_, zone) for n, (type_, zone) in enumerate([("B", 1), ("A", 1), ("B", 1)])],
]
QUERY = "A ; B FILTER same_zone(A, B) WITHIN 3 EVENTS"


def same_zone(left: Any, right: Any) -> bool:
    """A relation that the language does not have."""
    return {event.get("zone") for event in left} == {event.get("zone") for event in right}


def expected() -> set[tuple[str, tuple[int, ...]]]:
    found = set()
    for k in ("p", "q"):
        events = [{"type": type_, "zone": zone} for key, _, type_, zone in ROWS if key == k]
        found |= {(k, one.events) for one in cerify.match(QUERY, events, predicates={"same_zone": same_zone})}
    return found


def test_what_a_predicate_selects_is_what_it_selects_locally(spark: SparkSession) -> None:
    """The predicate looks at an attribute that the query does not mention."""
    from cerify.spark import match, worker_errors

    df = spark.createDataFrame(ROWS, "k string, n long, type string, zone long")
    given: dict[str, Any] = {"partition_by": "k", "order_by": "n"}
    known = {"same_zone": same_zone, "other": same_zone}
    found = match(df, QUERY, predicates=known, **given).collect()
    assert {(row["k"], tuple(row["events"])) for row in found} == expected() == {("p", (1, 2)), ("q", (1, 2))}
    with pytest.raises(Unsupported, match="same_zone is not registered"):
        match(df, QUERY, **given)
    with pytest.raises(ParseError):
        match(df, "A FILTER (lambda A: True)(A)", predicates=known, **given)
    with pytest.raises(IllFormed, match="same_zone failed with ZeroDivisionError"), worker_errors():
        match(df, QUERY, predicates={"same_zone": lambda left, right: 1 / 0 > 0}, **given).collect()
    assert match(df, "A ; B", predicates=known, **given).count() == match(df, "A ; B", **given).count()


@pytest.mark.thorough
def test_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    from cerify.spark.streaming import match_stream, matches, rest, supervised

    (tmp_path / "in").mkdir()
    df = spark.readStream.schema("k string, time timestamp, type string, zone long").json(str(tmp_path / "in"))
    given: dict[str, Any] = {"event_time": "time", "partition_by": "k", "predicates": {"same_zone": same_zone}}
    found: list[Any] = []
    for part in (ROWS[:2], ROWS[2:]):
        lines = [{"k": k, "time": f"2024-01-01T10:00:0{n}Z", "type": type_, "zone": zone} for k, n, type_, zone in part]
        (tmp_path / "in" / f"{len(part)}.json").write_text("\n".join(map(json.dumps, lines)))
        writer = match_stream(df, QUERY, watermark="1 seconds", **given).writeStream.trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        supervised(writer.foreachBatch(lambda batch, _: found.extend(matches(batch).collect())).start, pause=0)
    found += matches(rest(df, QUERY, checkpoint=str(tmp_path / "checkpoint"), **given)).collect()
    assert sorted((row["k"], tuple(row["events"])) for row in found) == sorted(expected())
