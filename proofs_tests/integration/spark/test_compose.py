"""Chunks that are read from every state at once, and composed: event expressions, and exact numbers of matches."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import cerify
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate import expressions
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import InputError
from cerify.semantics.event_expressions.syntax import show as show_expression
from cerify.semantics.events import Event, Schema, Stream
from cerify.spark.chunks import ChunkRun, Continued, Cuts, composition
from cerify.spark.runs import SparkQuery
from cerify.spark.transfer import Effect, automaton_of, transfer_of
from proofs_tests.integration.spark.test_chunks import as_matches, asked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Parts = list[tuple[int, int]]


def cut(rng: Random, S: Stream) -> Parts:
    """The stream in chunks, some of them empty."""
    at = [0, *sorted(rng.randint(0, len(S)) for _ in range(rng.randint(0, 4))), len(S)]
    return list(pairwise(at))


def effects(query: SparkQuery, S: Stream, parts: Parts) -> dict[int, Effect] | None:
    """What each chunk does that has events; None where the query does not compose."""
    found = {}
    for c, (begin, end) in enumerate(parts):
        if begin < end:
            transfer = transfer_of(query.to_json(), Budget(), begins=begin == 0)
            if transfer is None:
                return None
            assert all(transfer.read(S.table.slice(at, min(3, end - at))) for at in range(begin, end, 3))
            found[c] = Effect.from_json(transfer.effect().to_json())
    return found


def composed(query: SparkQuery, S: Stream, parts: Parts) -> tuple[tuple[int, ...], int] | None:
    """The states in which the chunks begin, and the number of matches."""
    found = effects(query, S, parts)
    nothing = (0,) * len(parts)
    return None if found is None else composition(found, Cuts((), (), nothing, nothing, nothing))


def expression_cases(seed: int, number: int) -> Iterator[tuple[SparkQuery, Stream, list[int]]]:
    rng = Random(seed)
    for _ in range(number):
        E, S = expressions.case(rng, rng.choice(list(expressions.PROFILES.values())), 7, 12)
        found = [m.at for m in cerify.match(E, S)]
        yield SparkQuery(show_expression(E), "event-expression"), S, found


@pytest.mark.thorough
def test_chunks_of_an_event_expression_begin_where_those_before_them_end() -> None:
    rng, matched = Random(2), 0
    for query, S, expected in expression_cases(7, 150):
        parts = cut(rng, S)
        A = automaton_of(query, Budget())
        assert A is not None
        states, number = composed(query, S, parts) or ((), 0)
        found: list[int] = []
        for q, (begin, end) in zip(states, parts, strict=True):
            if begin < end:
                run = ChunkRun(Continued(A, q), 0, end - begin, begin)
                found += run.push(S.table.slice(begin, end - begin))["at"].to_pylist()
        assert found == expected
        assert number == len(expected)
        matched += len(expected) > 0
    assert matched > 50


def test_numbers_of_matches_are_composed() -> None:
    rng, profile, carried, matched = Random(4), replace(generate.EVERYTHING, correlated=0.0), 0, 0
    for _ in range(75):
        phi, S = generate.case(rng, profile, 7, 10)
        found = composed(SparkQuery(show(phi)), S, cut(rng, S))
        if found is not None:
            carried, matched = carried + 1, matched + (found[1] > 0)
            assert found[1] == len(cerify.match(phi, S))
    assert carried > 60
    assert matched > 25


def test_numbers_past_a_machines_word_are_exact() -> None:
    rng = Random(1)
    S = Stream(Event(rng.choice("AAB")) for _ in range(300))
    query = SparkQuery("A+ ; B")
    found = composed(query, S, [(0, 100), (100, 130), (130, 300)])
    assert found is not None
    assert found[1] == CompiledCelEvaluator(query.parsed).count(S.table) > 2**64


def test_numbers_that_grow_too_long_and_states_that_never_meet_are_given_up() -> None:
    long = transfer_of(SparkQuery("A+ ; B").to_json(), Budget(), begins=True)
    assert long is not None
    assert not long.read(Stream(Event("A") for _ in range(9_000)).table)
    many = transfer_of(SparkQuery("every <70> A", "event-expression").to_json(), Budget(), begins=True)
    assert many is not None
    assert not many.read(Stream([Event("A")]).table)


def test_a_start_event_in_a_later_chunk_is_an_error() -> None:
    query = SparkQuery("relative(A, B)", "event-expression").to_json()
    starting = Stream([Event("start"), Event("A")]).table
    first, later = (transfer_of(query, Budget(), begins=begins) for begins in (True, False))
    assert first is not None
    assert first.read(starting)
    assert later is not None
    with pytest.raises(InputError):
        later.read(starting)


@pytest.mark.thorough
def test_states_have_the_same_numbers_in_every_process() -> None:
    code = (
        "from cerify.semantics.arguments import Budget; from cerify.spark.runs import SparkQuery\n"
        "from cerify.spark.transfer import counter_of\n"
        "E = counter_of(SparkQuery('NXT((A OR B)+ ; C FILTER A.x > 1 AND C.y < 3)'), Budget())\n"
        "print(E.tables.step.tolist(), E.types)"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(said) == 1


# --- with Spark -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def S() -> Stream:
    rng = Random(5)
    return Stream(Event(rng.choice("ABC"), {"x": rng.randint(0, 2)}) for _ in range(120))


@pytest.fixture(scope="module")
def df(spark: SparkSession, S: Stream) -> DataFrame:
    rows = [(i, event.type, event.get("x")) for i, event in enumerate(S)]
    return spark.createDataFrame(Random(1).sample(rows, len(rows)), "n long, type string, x int").cache()


@pytest.mark.thorough
@pytest.mark.parametrize("output", ["matches", "count"])
def test_spark_composes_an_event_expression(df: DataFrame, S: Stream, output: Any) -> None:
    query = "relative(A, prior(B, C))"
    found, warned = asked(df, query, output, language="event-expression", order_by="n")
    expected = cerify.match(query, S, language="event-expression")
    assert not warned
    if output == "count":
        assert [row["count"] for row in found] == [len(expected)]
    else:
        assert as_matches(found) == expected


@pytest.mark.thorough
def test_spark_composes_a_number_of_matches(df: DataFrame, S: Stream) -> None:
    found, warned = asked(df, "(A+ ; B ; C) FILTER B.x > 0", "count", order_by="n")
    assert found[0]["digits"] == str(
        CompiledCelEvaluator(SparkQuery("(A+ ; B ; C) FILTER B.x > 0").parsed).count(S.table)
    )
    assert not warned


def test_an_expression_with_attribute_variables_goes_through_one_task(df: DataFrame, S: Stream) -> None:
    query, schema = "relative(A(X), B(X))", Schema({R: {"x": "int"} for R in "ABC"})
    found, warned = asked(df, query, language="event-expression", order_by="n", schema=schema)
    assert len(warned) == 1
    whole = Stream(S, schema)
    assert as_matches(found) == cerify.match(query, whole, language="event-expression")
