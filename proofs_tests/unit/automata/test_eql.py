"""The compiled loop of EQL over columns has the matches of the definition, or says why it does not carry a query."""

from __future__ import annotations

from random import Random

import pytest

import cerify
from cerify.automata.eql import kernel, machine
from cerify.automata.eql.kernel import EqlColumnEvaluator, matches_by_columns
from cerify.automata.eql.machine import SlotMachine
from cerify.equivalence.generate.eql import PROFILES, random_case
from cerify.semantics.arguments import Budget
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.denote import matches_of
from cerify.semantics.eql.parse import parse
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.readings import ELASTIC, ENDGAME, EqlReading
from proofs_tests.support import sampled

# ---- eql kernel ----
#

READINGS = (ELASTIC, ENDGAME, EqlReading(null_keys="joined"), EqlReading(absent="unknown"), EqlReading(until="last"))


@pytest.mark.parametrize("cases", sampled((800, 200_000), (800,)))
@pytest.mark.slow
def test_it_has_the_matches_of_the_definition(cases: int) -> None:
    carried = with_matches = 0
    for seed in range(cases):
        rng = Random(seed)
        query, S = random_case(rng, rng.choice(list(PROFILES.values())), 8, 14)
        reading = rng.choice(READINGS)
        try:
            found = matches_by_columns(query, S, reading)
        except Unsupported:
            continue
        expected = matches_of(query, S, reading)
        assert found == expected, (seed, eql.show(query))
        carried, with_matches = carried + 1, with_matches + bool(expected)
    assert carried > cases * 0.7
    assert with_matches > cases / 10


@pytest.mark.parametrize("cases", sampled((400, 20_000), (400,)))
@pytest.mark.slow
def test_batches_of_columns_and_their_states_change_nothing(cases: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "KEYS_BEFORE_EVICTION", 1)
    carried = 0
    for seed in range(cases):
        rng = Random(seed)
        query, S = random_case(rng, PROFILES["sequences" if seed % 2 else "rules"], 8, 14)
        S = Stream(sorted(S, key=lambda e: e.attributes["time"]))  # type: ignore[arg-type, return-value]
        reading = rng.choice(READINGS)
        found: list[Match] = []
        try:
            evaluator, at = EqlColumnEvaluator(query, reading), 0
            while at < len(S):
                size = rng.randint(1, 5)
                found += evaluator.push(S.part(at, min(size, len(S) - at)))
                at += size
                if rng.random() < 0.5:
                    other = evaluator.fresh()
                    other.restore(evaluator.save())
                    evaluator = other
            found += evaluator.finish()
        except Unsupported:
            continue
        carried += 1
        assert sorted(found) == matches_of(query, S, reading), (seed, eql.show(query))
    assert carried > cases * 0.6


def test_numbers_of_keys_that_are_too_old_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "KEYS_BEFORE_EVICTION", 10)
    evaluator = EqlColumnEvaluator(parse("sequence by x, y with maxspan=5s [A where true] [B where true]"))
    for n in range(0, 1000, 10):
        evaluator.push([Event("A", {"time": i, "x": i, "y": "k"}) for i in range(n, n + 10)])
    assert evaluator.counters.states < 40
    assert [m.events for m in evaluator.push([Event("B", {"time": 1000, "x": 999, "y": "k"})])] == [(999, 1000)]
    with pytest.raises(InputError, match="Sort the log by time"):
        evaluator.push([Event("B", {"time": 3, "x": 2, "y": "k"})])


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("sample by x [A where true] [B where true]", "support samples"),
        ("sequence with maxspan=1s [A where true] ![B where true]", "missing events"),
        ("sequence [A where true] with runs=70", "at most 62 steps"),
        ("A where x + y == 3", "a condition on several fields"),
    ],
)
def test_what_it_does_not_carry_is_said(query: str, reason: str) -> None:
    log = [Event("A", {"x": 1, "y": 2})]
    with pytest.raises(Unsupported, match=reason):
        cerify.match(query, log, language="eql", evaluator="kernel")


def test_places_and_matches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    query = parse("sequence by x [A where true] [A where true]")
    log = Stream([Event("A", {"x": n % 3}) for n in range(9)])
    with pytest.raises(BudgetExceeded, match="more than 2 matches"):
        matches_by_columns(query, log, ELASTIC, Budget(matches=2))
    monkeypatch.setattr(kernel, "MOST_CELLS", 10)
    with pytest.raises(BudgetExceeded, match="too many keys"):
        matches_by_columns(query, log)


# ---- slot machine ----
# The slot machine of EQL: the same as the definition, batch by batch too, with states and the eviction of keys.

SLOT_READINGS = (ELASTIC, ENDGAME)


@pytest.mark.parametrize("cases", sampled((2_000, 200_000), (2_000,)))
@pytest.mark.slow
def test_it_has_the_matches_of_the_definition_slot_machine(cases: int) -> None:
    with_matches = 0
    for seed in range(cases):
        rng = Random(seed)
        query, S = random_case(rng, rng.choice(list(PROFILES.values())), 8, 14)
        reading = rng.choice(SLOT_READINGS)
        expected = matches_of(query, S, reading)
        assert list(SlotMachine(query, reading).evaluate(S)) == expected, (seed, eql.show(query))
        with_matches += bool(expected)
    assert with_matches > cases / 10


@pytest.mark.parametrize("cases", sampled((400, 20_000), (400,)))
@pytest.mark.slow
def test_batches_and_saved_states_change_nothing(cases: int) -> None:
    for seed in range(cases):
        rng = Random(seed)
        query, S = random_case(rng, PROFILES["rules"], 8, 12)
        evaluator, found, at = SlotMachine(query), [], 0
        while at < len(S):
            size = rng.randint(1, 4)
            found += evaluator.push(S.part(at, min(size, len(S) - at)))
            at += size
            if rng.random() < 0.5:
                other = evaluator.fresh()
                other.restore(evaluator.save())
                evaluator = other
        assert sorted(found + evaluator.finish()) == matches_of(query, S), (seed, eql.show(query))


@pytest.mark.parametrize("cases", sampled((1_000, 50_000), (1_000,)))
@pytest.mark.slow
def test_times_out_of_order_change_nothing_where_no_missing_event_is_behind(cases: int) -> None:
    for seed in range(cases):
        rng = Random(seed)
        query, S = random_case(rng, PROFILES["sequences"], 8, 12)
        mixed = Stream(rng.sample(list(S), len(S)))
        assert list(SlotMachine(query).evaluate(mixed)) == matches_of(query, mixed), (seed, eql.show(query))


def a_log_of_many_keys(number: int) -> list[Event]:
    return [Event("A", {"time": i, "x": i}) for i in range(number)]


def test_keys_that_are_too_old_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "KEYS_BEFORE_EVICTION", 10)
    query = parse("sequence by x with maxspan=5s [A where true] [B where true]")
    evaluator = SlotMachine(query)
    evaluator.push(a_log_of_many_keys(1000))
    assert evaluator.counters.states < 30
    assert [m.events for m in evaluator.push([Event("B", {"time": 1000, "x": 999})])] == [(999, 1000)]
    with pytest.raises(InputError, match="Sort the log by time"):
        evaluator.push([Event("B", {"time": 3, "x": 2})])


def test_a_sequence_that_waits_for_a_missing_event_is_reported_when_its_time_is_over() -> None:
    query = parse("sequence with maxspan=5s [A where true] ![C where true]")
    evaluator = SlotMachine(query)
    assert not evaluator.push([Event("A", {"time": 1}), Event("A", {"time": 4})])
    assert [m.events for m in evaluator.push([Event("B", {"time": 7})])] == [(0,)]
    assert not evaluator.push([Event("C", {"time": 8})])
    assert not evaluator.finish()
