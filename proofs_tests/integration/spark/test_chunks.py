"""Streams without keys in overlapping chunks: the same matches as over the whole, none twice."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import cerify
from cerify.automata.evaluate.scope import ReachBounds
from cerify.equivalence.generate import cel as generate
from cerify.plan import reach_of
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.errors import InputError
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.values import Value
from cerify.spark.batch import answer_schema
from cerify.spark.chunks import ChunkRun, by_reach, count_chunk_events, lows_of, place_of, starts_of, unpartitioned
from cerify.spark.columns import columns_of, selected
from cerify.spark.runs import SparkQuery, start
from cerify.spark.transport import worker_errors
from proofs_tests.support import sampled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROFILE = generate.CelProfile(generate.EVERYTHING.operators)
INSIDE = (cel.Next, cel.Last, cel.Max, cel.Strict, lambda phi: cel.Project(frozenset({"A", "X"}), phi))


def windowed(rng: Random) -> Formula:
    """A formula in a window, sometimes with a strategy or a partition around it."""
    phi = generate.formula(rng, PROFILE, rng.randint(2, 6))
    windows = (cel.EventWindow(rng.randint(1, 6)), cel.TimeWindow(rng.randint(0, 8), "second"))
    phi = cel.Within(phi, rng.choice(windows))
    if rng.random() < 0.3:
        phi = rng.choice(INSIDE)(phi)
    return cel.PartitionBy(phi, "y") if rng.random() < 0.2 else phi


def timed(rng: Random, phi: Formula, length: int) -> Stream:
    """A stream whose times ascend."""
    time, events = 0, []
    for event in generate.stream(rng, PROFILE, length, phi):
        time += rng.choice((1, 1, 2, 4))
        events.append(Event(event.type, {**event.attributes, "time": time}))
    return Stream(events)


def in_chunks(query: SparkQuery, S: Stream, reach: ReachBounds, starts: list[int], less: int = 0) -> list[Match]:
    """What the chunks report that begin at these times, each looking back no further than it has to, or less."""
    times = [event.get("time") for event in S]
    found = []
    for begin, end in pairwise([0, *(times.index(time) for time in starts), len(times)]):
        low = max(0, begin - reach.events + 1)
        for _, width in reach.widths if begin < len(times) else ():
            low = min([low, *(p for p in range(begin) if times[p] >= times[begin] - width)])
        low = min(begin, low + less)
        run = ChunkRun(start(query), begin - low, end - begin, low)
        tables = [run.push(S.table.slice(at, min(3, end - at))) for at in range(low, end, 3)]
        for row in pa.concat_tables([*tables, run.finish()]).to_pylist():
            bound = row["bindings"]
            found.append(
                Match(
                    row["at"],
                    tuple(row["events"]),
                    None if bound is None else tuple(sorted((x, tuple(events)) for x, events in bound)),
                )
            )
    return found


def cases(seed: int, number: int) -> Iterator[tuple[SparkQuery, Stream, ReachBounds, list[int], list[Match]]]:
    """Queries that look back over a bounded part of their streams, with the matches over the whole."""
    rng = Random(seed)
    while number:
        phi = windowed(rng)
        if (reach := reach_of(phi)) is None:
            continue
        S = timed(rng, phi, rng.randint(1, 14))
        times = [event.get("time") for event in S]
        starts = sorted(rng.sample(times[1:], min(len(times) - 1, rng.randint(1, 6))))
        output: Any = rng.choice(("matches", "valuations"))
        expected = cerify.match(phi, S, output=output)
        yield SparkQuery(show(phi), output=output), S, reach, starts, expected
        number -= 1


@pytest.mark.parametrize("number", sampled([60, 120], [60]))
def test_chunks_report_what_the_whole_stream_has_and_none_twice(number: int) -> None:
    matched = 0
    for query, S, reach, starts, expected in cases(5, number):
        assert sorted(in_chunks(query, S, reach, starts)) == expected, query
        matched += bool(expected)
    assert matched > number / 2


@pytest.mark.parametrize("number", sampled([60, 120], [60]))
def test_an_overlap_that_is_one_too_small_is_found_out(number: int) -> None:
    faults = sum(
        sorted(in_chunks(query, S, reach, starts, less=1)) != expected
        for query, S, reach, starts, expected in cases(5, number)
    )
    assert faults > number / 12


def test_cuts_are_places_of_the_sample_and_lows_ascend() -> None:
    sample = [1, 1, 1, 4, 6, 6, 7, 20, 21, 22]
    assert starts_of(sample, 4) == [6, 20]  # the first quarter ends among equals, and none is cut off before it
    assert starts_of([5, 5, 5], 3) == starts_of([], 3) == []
    assert lows_of(sample, [6, 20], 1, None, 1.0) == [6, 20]
    assert lows_of(sample, [6, 20], 1, 3, 1.0) == [3, 17]
    assert lows_of(sample, [6, 20], 3, None, 1.0) == [1, 4]
    assert lows_of(sample, [6, 20], 5, None, 1.0) == [None, 1]
    assert lows_of(sample, [6, 20], 3, 18, 1.0) == [-12, 2]
    assert lows_of([0.5, 1.5], [1.5], 1, 1, 1.0) < [0.5]  # rounded to the safe side
    assert lows_of([0, 2**62], [2**62], 1, 1e300, 1.0) == [None]


# --- with Spark -------------------------------------------------------------------------------------------------------

DAY = datetime(2021, 1, 1, tzinfo=UTC)
ROWS = 150


@pytest.fixture(scope="module")
def rows() -> list[tuple[Value, ...]]:
    rng, time, made = Random(11), 0, list[tuple[Value, ...]]()
    for i in range(ROWS):
        time += rng.choice((1, 1, 2, 5))
        made.append((time, DAY + timedelta(seconds=time), rng.choice("ABCD"), rng.randint(0, 3), f"e{i}"))
    return made


@pytest.fixture(scope="module")
def df(spark: SparkSession, rows: list[tuple[Value, ...]]) -> DataFrame:
    shuffled = Random(1).sample(rows, len(rows))
    return spark.createDataFrame(shuffled, "n long, time timestamp, type string, x int, id string").cache()


@pytest.fixture(scope="module")
def S(rows: list[tuple[Value, ...]]) -> Stream:
    return Stream(Event(str(row[2]), {"n": row[0], "time": row[1], "x": row[3]}) for row in rows)


def asked(df: DataFrame, text: str, output: Any = "matches", cuts: Any = None, **how: Any) -> Any:
    """The answer, and what was warned of; with cuts those, else as it comes."""
    language = how.pop("language", "cel")
    query = SparkQuery(text, language, "valuations" if output == "valuations" else "matches", how.pop("schema", None))
    columns = columns_of(df.schema, query, **{"order_by": "time", **how})
    answer, some = answer_schema(df.schema, query, columns, output), selected(df, columns)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if cuts is None:
            found = unpartitioned(some, query, columns, output, Budget(), answer)
        else:
            places = count_chunk_events(some, place_of(some, columns), *cuts)
            found = by_reach(some, query, columns, output, Budget(), answer, places)
    with worker_errors():
        rows = found.collect()
    return rows, [str(w.message) for w in caught if "rows go through one task" in str(w.message)]


def as_matches(found: list[Any]) -> list[Match]:
    return sorted(
        Match(
            row["at"],
            tuple(row["events"]),
            None if not row["bindings"] else tuple(sorted((x, tuple(p)) for x, p in row["bindings"].items())),
        )
        for row in found
    )


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("A ; B ; C WITHIN 10 EVENTS", 7),
        pytest.param("A ; B WITHIN 9 seconds PARTITION BY [x]", 5, marks=pytest.mark.thorough),
        ("NXT(A ; B WITHIN 4 [n])", 2),
    ],
)
def test_spark_reports_what_the_whole_stream_has(
    spark: SparkSession, df: DataFrame, S: Stream, query: str, parts: int
) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", parts)
    try:
        order = {"order_by": "n"} if "[n]" in query else {}
        found, warned = asked(df, query, "valuations", **order)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", 3)
    assert as_matches(found) == cerify.match(query, S, output="valuations")
    assert not warned


def test_a_window_over_several_chunks(df: DataFrame, S: Stream) -> None:
    micros = [(event.get("time") - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) for event in S]
    starts = [micros[at] for at in (20, 24, 28, 32, 33, 100)]
    lows = [micros[at - 15] for at in (20, 24, 28, 32, 33, 100)]
    found, _ = asked(df, "A ; B ; C WITHIN 16 EVENTS", cuts=(starts, lows))
    assert as_matches(found) == cerify.match("A ; B ; C WITHIN 16 EVENTS", S)


def test_ids_numbers_and_counts(df: DataFrame, S: Stream) -> None:
    query = "A ; B+ WITHIN 7 EVENTS"
    expected = cerify.match(query, S)
    found, _ = asked(df, query, id_col="id")
    named = sorted((f"e{m.at}", [f"e{p}" for p in m.events]) for m in expected)
    assert sorted((row["at"], row["events"]) for row in found) == named
    ((number, digits),) = asked(df, query, "count")[0]
    assert (number, digits) == (len(expected), str(len(expected)))
    events, _ = asked(df, query, "events")
    together: dict[int, set[int]] = {}
    for row in events:
        together.setdefault(row["match"], set()).add(row["event"])
    assert sorted(map(sorted, together.values())) == sorted(sorted(m.events) for m in expected)


def test_a_query_of_sase(df: DataFrame, S: Stream) -> None:
    query = """PATTERN SEQ(A a, B+ b[], C c)
        WHERE skip_till_next_match(a, b[], c) { b[i].x >= a.x } WITHIN 12 seconds RETURN a.x"""
    found, warned = asked(df, query, language="sase")
    assert as_matches(found) == [Match(m.at, m.events, m.bindings) for m in cerify.match(query, S, language="sase")]
    assert not warned


@pytest.mark.parametrize("query", ["A : B UNLESS D", "NXT(A ; B) WITHIN 5 EVENTS", "A ; B WITHIN 2 [x]"])
def test_what_depends_on_more_goes_through_one_task_and_that_is_said(df: DataFrame, S: Stream, query: str) -> None:
    if "[x]" in query:
        with pytest.raises(InputError, match="sort the stream"):
            asked(df, query)
        return
    found, warned = asked(df, query)
    assert as_matches(found) == cerify.match(query, S)
    assert len(warned) == 1


def test_a_window_over_all_of_the_data_goes_through_one_task_and_that_is_said(df: DataFrame, S: Stream) -> None:
    query = "A ; B ; C WITHIN 10 days"
    ((number, _),), warned = asked(df, query, "count")
    assert number == len(cerify.match(query, S, evaluator="kernel"))
    assert len(warned) == 1
    assert "shorter window" in warned[0]


def test_data_that_changes_after_it_was_counted_is_an_error(df: DataFrame) -> None:
    text = "A ; B WITHIN 4 EVENTS"
    query = SparkQuery(text)
    columns = columns_of(df.schema, query, order_by="n")
    some = selected(df, columns)
    places = count_chunk_events(some, place_of(some, columns), [100], [90])
    fewer = some.where("n < 120 or n > 125")
    with pytest.raises(InputError, match="other rows than when they were counted"), worker_errors():
        by_reach(
            fewer, query, columns, "matches", Budget(), answer_schema(df.schema, query, columns, "matches"), places
        ).collect()
