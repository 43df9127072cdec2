"""The audit of a log in which engines with different faults have reported, each on its keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, starmap
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from cerify import match
from cerify.semantics.errors import InputError, ParseError, QueryWarning
from cerify.semantics.events import Event, Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from cerify.spark.auditing import Audit, Findings

Row: TypeAlias = tuple[int, int, list[int]]
"""A match as an engine reports it: its key, position and events."""

QUERY = "(A ; B ; C) FILTER A.x > 2 WITHIN 6 EVENTS"
COLUMNS: dict[str, Any] = {"order_by": "t", "id_col": "id", "partition_by": "k"}
WRONG = ["one longer", "greater or equal", "lost", "twice", "late", "unknown event", "early", "right"]  # by key


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    rng = Random(5)
    rows = [(k, k * 1000 + i, i, rng.choice("ABC"), rng.randint(0, 4)) for k in range(48) for i in range(40)]
    return spark.createDataFrame(rows, "k int, id long, t int, type string, x int").coalesce(2).cache()


@pytest.fixture(scope="module")
def right(events: DataFrame) -> DataFrame:
    from cerify.spark.batch import match

    return match(events, QUERY, **COLUMNS).select("k", "at", "events").coalesce(2).cache()


@pytest.fixture(scope="module")
def reported(spark: SparkSession, events: DataFrame, right: DataFrame) -> DataFrame:
    """What the engines report, made here: Spark would run a job for each of their faults."""
    streams: dict[int, list[Any]] = {}
    for row in events.collect():
        streams.setdefault(row["k"], []).append(row)
    rows = [(row["k"], row["at"], list(row["events"])) for row in right.collect()]

    def wrongly(wrong: str, query: str) -> Iterator[Row]:
        for k in range(WRONG.index(wrong), len(streams), len(WRONG)):
            S = Stream(Event(row["type"], {"x": row["x"]}) for row in sorted(streams[k], key=lambda row: int(row["t"])))
            yield from ((k, k * 1000 + m.at, [k * 1000 + p for p in m.events]) for m in match(query, S))

    def reports(k: int, at: int, C: list[int]) -> list[Row]:
        match WRONG[k % len(WRONG)]:
            case "lost":
                return [(k, at, C)] * (at % 2)
            case "twice":
                return [(k, at, C)] * (2 - at % 2)
            case "late":
                return [(k, at + (at % 1000 < 39), C)]
            case "unknown event":
                return [(k, at, [*C, -1])]
            case "early":
                return [(k, C[0], C)]
            case "right":
                return [(k, at, C)]
            case _:
                return []

    found = [
        *wrongly("one longer", QUERY.replace("6", "7")),
        *wrongly("greater or equal", QUERY.replace(">", ">=")),
        *chain.from_iterable(starmap(reports, rows)),
    ]
    return spark.createDataFrame(found, "k int, at long, events array<long>").coalesce(2).cache()


@pytest.fixture(scope="module")
def audited(events: DataFrame, reported: DataFrame) -> Audit:
    from cerify.spark.auditing import audit

    return audit(events, reported, QUERY, **COLUMNS)


@pytest.fixture(scope="module")
def verdicts(audited: Audit) -> list[Any]:
    return [row.asDict() for row in audited.verdicts.collect()]


@pytest.fixture(scope="module")
def findings(audited: Audit) -> Findings:
    return audited.findings(samples=6)


def test_each_key_has_the_verdicts_of_its_fault(verdicts: list[Any]) -> None:
    kinds: dict[str, set[str]] = {wrong: set() for wrong in WRONG}
    for row in verdicts:
        kinds[WRONG[row["k"] % len(WRONG)]].add(row["kind"])
    assert kinds == {
        "one longer": {"extra"},
        "greater or equal": {"extra"},
        "lost": {"missing"},
        "twice": {"duplicated"},
        "late": {"late"},
        "unknown event": {"malformed", "missing"},
        "early": {"early"},
        "right": set(),
    }


def test_every_match_that_was_lost_is_missing_once(right: DataFrame, verdicts: list[Any]) -> None:
    lost = right.where(f"k % {len(WRONG)} = {WRONG.index('lost')} and at % 2 = 0").collect()
    missing = [(row["at"], tuple(row["events"])) for row in verdicts if row["kind"] == "missing"]
    of_lost = [(at, C) for at, C in missing if at // 1000 % len(WRONG) == WRONG.index("lost")]
    assert sorted(of_lost) == sorted((row["at"], tuple(row["events"])) for row in lost)
    assert of_lost


def test_where_and_how_often_it_was_reported(verdicts: list[Any]) -> None:
    for row in verdicts:
        match row["kind"]:
            case "late":
                assert row["reported_at"] == row["at"] + 1
            case "early":
                assert row["reported_at"] == row["events"][0] < row["at"]
            case "duplicated":
                assert (row["times"], row["reported_at"]) == (2, row["at"])
            case "missing":
                assert (row["times"], row["reported_at"]) == (0, None)
            case "extra":
                assert row["at"] is None


@pytest.mark.thorough
def test_the_causes_are_named_and_shrunk(findings: Findings) -> None:
    causes = {name: one for one in findings.explained for name in (one.cause.name, *one.cause.alike)}
    assert {"window@events=off-by-one", "comparison=inclusive"} <= set(causes)
    for name in ("window@events=off-by-one", "comparison=inclusive"):
        smallest = causes[name].cause.smallest
        assert smallest is not None
        assert len(smallest.S) <= 3
    assert {one.kind for one in findings.unexplained} >= {"missing", "duplicated", "malformed"}
    lost = next(one for one in findings.unexplained if one.kind == "missing")
    assert lost.piece is not None
    assert [event.type for event in lost.piece.S] == ["A", "B", "C"]


@pytest.mark.thorough
def test_the_report_says_it(findings: Findings) -> None:
    from cerify.spark.auditing import as_json, html, text

    said, data, page = text(findings), json.loads(json.dumps(as_json(findings))), html(findings)
    for kind, count in findings.counts.items():
        assert kind in said
        assert data["counts"][kind] == count
        assert kind in page
    assert "window@events=off-by-one" in said
    assert "<svg" in page


@pytest.mark.thorough
def test_where_the_plain_definition_differs_cerify_is_wrong(audited: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    from cerify.spark.auditing import text

    monkeypatch.setattr("cerify.spark.auditing.second_opinion", lambda *of: frozenset())
    found = audited.findings(samples=1)
    assert {one.kind for one in found.unexplained} >= {"disputed"}
    assert not [one for one in found.explained if "missing" in one.kinds]
    assert "disputed: cerify contradicts itself here" in text(found)


def test_a_right_report_has_no_verdicts_in_whatever_order_it_names_events(events: DataFrame, right: DataFrame) -> None:
    from pyspark.sql import functions as F

    from cerify.spark.auditing import audit, html, text

    findings = audit(events, right.withColumn("events", F.reverse("events")), QUERY, **COLUMNS).findings()
    assert findings.counts == {}
    assert "No divergence" in text(findings)
    assert "No divergence" in html(findings)


def test_a_report_that_cannot_be_read(events: DataFrame, reported: DataFrame) -> None:
    from cerify.spark.auditing import audit

    with pytest.raises(InputError, match="no column 'at'"):
        audit(events, reported.drop("at"), QUERY, **COLUMNS)
    with pytest.raises(InputError, match="not an array"):
        audit(events, reported.withColumn("events", reported["at"]), QUERY, **COLUMNS)
    with pytest.raises(ParseError):
        audit(events, reported, "A ;", **COLUMNS)


def test_a_report_without_a_key(events: DataFrame, spark: SparkSession) -> None:
    from cerify.spark.auditing import audit

    rows = [(None, 3, [1, 2, 3]), (1, None, [1]), (1, 1003, None), (1, 1003, [1003, None])]
    broken = spark.createDataFrame(rows, "k int, at long, events array<long>")
    kinds = [row["kind"] for row in audit(events, broken, QUERY, **COLUMNS).verdicts.collect()]
    assert kinds.count("malformed") == 4
    assert set(kinds) == {"malformed", "missing"}


ABSENCE = "PATTERN SEQ(C c, ~P p) WITHIN 30 minutes"
BY_USER: dict[str, Any] = {"order_by": "time", "id_col": "id", "partition_by": "u"}


def absences(spark: SparkSession, rows: list[tuple[str, int, int, str]], right: list[tuple[str, int]]) -> Findings:
    """The findings about an engine that reports the absence after these events only."""
    from cerify.spark.auditing import audit

    events = spark.createDataFrame(rows, "u string, id long, time long, type string").coalesce(1)
    reported = spark.createDataFrame([(u, at, [at]) for u, at in right], "u string, at long, events array<long>")
    return audit(events, reported.coalesce(1), ABSENCE, language="sase", **BY_USER).findings()


def named(findings: Findings) -> set[str]:
    return {name for one in findings.explained for name in (one.cause.name, *one.cause.alike)}


def test_what_follows_the_window_is_part_of_the_evidence(spark: SparkSession, recwarn: pytest.WarningsRecorder) -> None:
    """The stream goes on after the window, so that its end is no cause; and experiments print no warnings."""
    found = named(absences(spark, [("a", 1, 0, "C"), ("a", 2, 600, "V"), ("a", 3, 7200, "P")], []))
    assert found == {"window=unlimited"}
    assert not [one for one in recwarn if issubclass(one.category, QueryWarning)]


def test_right_reports_of_other_keys_refute_a_cause(spark: SparkSession) -> None:
    rows = [(u, i, i * 10, "C") for i, u in enumerate("abc")]
    assert "stream_end=waits" in named(absences(spark, rows, []))
    assert not named(absences(spark, rows, [("b", 1), ("c", 2)]))


def test_the_findings_say_how_much_was_checked(spark: SparkSession) -> None:
    from cerify.spark.auditing import text

    rows = [("a", 1, 0, "C"), ("a", 2, 7200, "P"), ("b", 3, 0, "C"), ("b", 4, 7200, "V")]
    found = absences(spark, rows, [("b", 3)])
    assert "window=unlimited" in named(found)
    assert "Correct reports that could refute it, but do not: 1." in text(found)
