"""Runs say, table by table, what cerify.match says of the stream as a whole."""

from collections import Counter
from itertools import pairwise
from random import Random

import pyarrow as pa
import pytest

from cerify.api import match
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, CerifyError, InputError
from cerify.semantics.events import Match, Schema, Stream
from cerify.spark import runs
from cerify.spark.keyed_streams import compiled
from cerify.spark.rows import SparkRun
from cerify.spark.runs import SparkQuery, start
from proofs_tests.unit.workbench.spark.pairs import LANGUAGES, matches, pair

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


@pytest.mark.parametrize("language", LANGUAGES)
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
    with pytest.raises(InputError, match=r"the state is of another|no saved"):
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
    with pytest.raises(BudgetExceeded, match="gathered up to 9 events"):
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
        (SparkQuery("A", "event-expression", "valuations"), "binds no sets"),
        (SparkQuery("A FILTER A[y > 1]", schema=Schema({"A": {"x": "int"}})), "A has no attribute 'y'"),
    ],
)
def test_a_query_that_makes_no_sense_is_told_before_anything_runs(query: SparkQuery, message: str) -> None:
    with pytest.raises(CerifyError, match=message):
        start(query)
