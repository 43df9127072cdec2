"""Several threads find what one finds, however the stream is divided."""

from __future__ import annotations

import pickle
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from cerify.api import compile, count
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.evaluation_plan import batch_scope
from cerify.automata.evaluate.parallel import ParallelEvaluator, shares_of
from cerify.equivalence.generate.cel import PROFILES
from cerify.plan import reach_of
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import BudgetExceeded, CerifyError, IllFormed, InputError, Unsupported
from proofs_tests.support import sampled
from proofs_tests.unit.automata.evaluate.cases import scoped_case


def events(rows: int, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "type": pa.array(rng.choice(list("ABCX"), rows)),
            "k": pa.array(rng.integers(0, 5, rows), mask=rng.random(rows) < 0.1),
            "s": pa.array(rng.choice(["", "x", "yy", "z"], rows)),
            "x": pa.array(rng.integers(0, 9, rows)),
            "time": pa.array(np.cumsum(rng.integers(0, 3, rows))),
        }
    )


def divided(query: str, workers: int = 3, least: int = 4) -> ParallelEvaluator:
    return ParallelEvaluator(CompiledCelEvaluator(parse(query)), workers, reach_of(parse(query)), least)


QUERIES = [
    "A ; B ; C WITHIN 7 EVENTS",
    "(A ; B+ ; C FILTER B[x > 4]) WITHIN 5 seconds",
    "A : B : C",
    "NXT(A ; B WITHIN 4 EVENTS)",
    "(A ; B ; C) PARTITION BY [k]",
    "(A ; B ; C) PARTITION BY [s]",
    "(A ; B) PARTITION BY [k] PARTITION BY [s]",
    "NXT(A ; B) PARTITION BY [k]",
    "(A : B OR C ; X) PARTITION BY [k]",
    "(A ; B) PARTITION BY [k] WITHIN 9 EVENTS",
    "PROJECT[A](A ; B) PARTITION BY [k]",
    "NXT(A ; B) WITHIN 6 EVENTS",
    "(A ; B) UNLESS (X : X : X : C)",
]


@pytest.mark.parametrize("query", QUERIES)
def test_threads_find_what_one_finds(query: str) -> None:
    """Over batches, so that what a thread leaves behind is what the next batch needs."""
    table = events(200)
    seen = 0
    one, many, listed, counted = CompiledCelEvaluator(parse(query)), divided(query), divided(query), divided(query)
    for start, length in ((0, 50), (50, 1), (51, 0), (51, 69)):
        batch = table.slice(start, length)
        expected = one.push(batch)
        seen += len(expected)
        assert many.push(batch) == listed.push(batch) == expected
        assert counted.count(batch) == len(expected)
        many = pickle.loads(pickle.dumps(many))
    assert many.position == one.position == counted.counters.events == 120
    assert listed.counters.nodes > 0.8 * one.counters.nodes > 0
    more = table.slice(120)
    found = many.push_arrow(more).sort_by("at")
    assert found["at"].to_pylist() == [m.at for m in one.push(more)]
    assert seen  # the query has matches


@pytest.mark.parametrize("cases", sampled([60, 150], [60]))
@pytest.mark.parametrize("seed", sampled(range(20), range(1)))
def test_random_formulas_under_windows_and_partitions(seed: int, cases: int) -> None:
    rng, compared = Random(f"parallel/{seed}"), 0
    for _ in range(cases):
        phi, S = scoped_case(rng, PROFILES[rng.choice(("everything", "core"))])
        if isinstance(batch_scope(phi), Unsupported):
            continue
        try:
            expected = CompiledCelEvaluator(phi).push(S)
        except InputError:  # a window on values that decrease
            continue
        found = ParallelEvaluator(CompiledCelEvaluator(phi), rng.choice((2, 3)), reach_of(phi), 1).push(S)
        assert found == expected, (show(phi), S.events)
        compared += bool(expected)
    assert compared > 20 * cases / 150


def test_equal_keys_are_of_one_share_whatever_their_type() -> None:
    whole = pa.table({"k": pa.array([1, 2, 0, 3, 2**60, None] * 9)})
    floats = pa.table({"k": pa.array([1.0, 2.0, -0.0, 3.0, 2.0**60, None] * 9)})
    assert (shares_of(whole, "k", 3)[:5] == shares_of(floats, "k", 3)[:5]).all()
    texts = pa.table({"k": pa.array([f"key {i}" for i in range(99)])})
    coded = pa.table({"k": texts["k"].dictionary_encode()})
    assert (shares_of(texts, "k", 4) == shares_of(coded, "k", 4)).all()
    many = shares_of(pa.table({"k": np.arange(100_000)}), "k", 2)
    assert abs(int(many.sum()) - 50_000) < 2_000


def test_an_error_in_one_thread_stops_the_evaluator() -> None:
    """The events after the middle are less than before."""
    table = pa.table({"type": ["A", "B"] * 20, "time": [*range(30), *range(10)]})
    many = divided("A ; B WITHIN 3 seconds", workers=2)
    with pytest.raises(InputError, match="position 30: 'time' is less than before"):
        many.push(table)
    with pytest.raises(InputError, match="stopped inside an earlier batch"):
        many.push(table)


def test_limits_are_those_of_all_threads_together() -> None:
    table = pa.table({"type": ["A", "B"] * 20})
    query = "A : B"
    assert [m.at for m in divided(query).push(table, limit=12)] == list(range(1, 24, 2))
    assert divided(query).push_arrow(table, limit=12)["at"].to_pylist() == list(range(1, 24, 2))
    few = ParallelEvaluator(CompiledCelEvaluator(parse(query), budget=Budget(matches=15)), 2, reach_of(parse(query)), 1)
    with pytest.raises(BudgetExceeded, match="more than 15 matches"):
        few.push(table)


def test_workers_of_the_public_functions() -> None:
    table = events(200)
    query = "A ; B ; C WITHIN 7 EVENTS"
    expected = count(query, table)
    assert count(query, table, evaluator="kernel", workers=2) == expected
    assert compile(query, evaluator="kernel", workers=2).count(table) == expected
    with pytest.raises(Unsupported, match="use evaluator='kernel'"):
        compile(query, workers=2)
    with pytest.raises(IllFormed, match="workers: expected a whole number from 1 on"):
        count(query, table, workers=0)


def test_a_damaged_state_is_refused() -> None:
    many = divided("(A ; B) PARTITION BY [k]")
    with pytest.raises(CerifyError):
        many.restore(b"")


def test_a_chunk_reads_the_whole_window_before_it() -> None:
    """The second chunk begins with a B whose window begins with an A."""
    table = pa.table({"type": ["B", "A"] * 20, "time": range(40)})
    for window in ("3 seconds", "4 EVENTS"):
        expected = CompiledCelEvaluator(parse(f"A ; B WITHIN {window}")).push(table)
        assert divided(f"A ; B WITHIN {window}", workers=2).push(table) == expected
        assert any(m.at == 20 and m.events == (17, 20) for m in expected)
