"""Matches under windows are counted as many as there are, whatever the evaluator does from batch to batch."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest

from cerify.automata.evaluate import match_stores, streaming
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.scope import Unordered
from cerify.equivalence.generate.cel import PROFILES, around, clocked, formula
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Event, Stream
from proofs_tests.support import sampled, stream


def events(rng: Random, number: int) -> Stream:
    """Events of which a few are of types that a formula has, with attributes that are there mostly."""
    values = [{a: rng.randint(0, 2) for a in "ab" if rng.random() < 0.9} for _ in range(number)]
    return clocked(rng, Stream([Event(rng.choice("AABBCDN"), some) for some in values]))


def numbers(evaluator: CompiledCelEvaluator, S: Stream, rng: Random) -> Counter[int]:
    """The number of matches at each position; batches are counted or listed, and the state saved between them."""
    found: Counter[int] = Counter()
    while evaluator.position < len(S):
        batch = S.part(evaluator.position, rng.choice((1, 5, 20, 60)))
        if rng.random() < 0.8:
            for position, number in evaluator.numbers(batch):
                found[position] += number
        else:
            found.update(match.at for match in evaluator.push_stream(batch))
        if rng.random() < 0.2:
            saved, evaluator = evaluator.dump(), evaluator.fresh()
            evaluator.load(saved)
    return found


@pytest.mark.parametrize("part", sampled(range(20), [0]))
def test_counts_from_batch_to_batch(part: int) -> None:
    compared = 0
    for i in range(40 * part, 40 * part + 40):
        rng = Random(f"counting/{i}")
        phi, S = (
            formula(rng, PROFILES[rng.choice(("core", "everything", "typed"))], rng.randint(2, 8)),
            events(rng, 120),
        )
        for _ in range(rng.choice((1, 1, 2))):
            phi = around(rng, phi)
        try:
            expected = {n: k for n, k in enumerate(streaming.count_matches(phi, S, Budget(states=100))) if k}
            if sum(expected.values()) < 20_000:
                assert numbers(CompiledCelEvaluator(phi), S, rng) == expected
                compared += bool(expected)
        except (Unsupported, BudgetExceeded, Unordered):
            continue
    assert compared > 5


@pytest.mark.parametrize("part", sampled(range(20), [0, 1]))
def test_counts_in_integers_of_any_length(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted where numbers pass a machine word, also where they do not."""
    monkeypatch.setattr(match_stores, "CAP", 1)
    compared = 0
    for i in range(40 * part, 40 * part + 40):
        rng = Random(f"integers/{i}")
        phi, S = formula(rng, PROFILES[rng.choice(("core", "everything"))], rng.randint(2, 8)), events(rng, 60)
        try:
            expected = {n: k for n, k in enumerate(streaming.count_matches(phi, S, Budget(states=100))) if k}
            evaluator, found = CompiledCelEvaluator(phi), Counter[int]()
        except (Unsupported, BudgetExceeded):
            continue
        if evaluator.unwindowed:
            for start in range(0, 60, 20):
                found.update(dict(evaluator.numbers(S.part(start, 20))))
            assert found == expected
            compared += bool(expected)
    assert compared > 5


QUERIES = (
    "A ; B ; C", "A+ ; B", "(A ; B) UNLESS C", "NXT(A ; B ; C)", "LAST(A ; B)", "A : B", "(A OR B) ; (B OR C)", "A",
    "(A+ ; B)+ ; C",
)  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
def test_streams_begin_inside_of_a_batch(query: str) -> None:
    rng = Random(query)
    phi, streams = (
        parse(f"{query} WITHIN 7 EVENTS"),
        [stream(" ".join(rng.choices("AABBCN", k=rng.randint(1, 30)))) for _ in range(20)],
    )
    expected, begins = Counter[int](), [0]
    for S in streams:
        expected.update({begins[-1] + n: k for n, k in enumerate(streaming.count_matches(phi, S)) if k})
        begins.append(begins[-1] + len(S))
    evaluator, found = CompiledCelEvaluator(phi), Counter[int]()
    whole = Stream([event for S in streams for event in S])
    for positions, some in evaluator.tallies(whole, begins=np.array(begins[:-1])):
        found.update(dict(zip(positions.tolist(), some.tolist(), strict=True)))
    assert found == expected


@pytest.mark.parametrize("query", QUERIES)
def test_the_run_that_has_marked_nothing_goes_on_where_it_was(query: str) -> None:
    """Also where nodes are made of the last window only: under NXT it ends with the first event that is marked."""
    phi, S = parse(f"{query} WITHIN 7 EVENTS"), stream(" ".join(Random(query).choices("AABBCN", k=200)))
    expected = {n: k for n, k in enumerate(streaming.count_matches(phi, S)) if k}
    evaluator, found = CompiledCelEvaluator(phi), Counter[int]()
    for start in range(0, 200, 50):
        evaluator.load(evaluator.dump())
        found.update(dict(evaluator.numbers(S.part(start, 50))))
    assert found == expected


def test_a_number_that_passes_a_machine_word_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matches of 62 events and more; counted by nodes, and in the batches after that again without."""
    phi, S = parse("A+ ; B WITHIN 100 EVENTS"), stream("A " * 99 + "B " + "N " * 300 + "A B " * 100)
    expected = {n: k for n, k in enumerate(streaming.count_matches(phi, S)) if k}
    assert max(expected.values()) == 2**99 - 1
    evaluator = CompiledCelEvaluator(phi)
    assert dict(evaluator.numbers(S)) == expected
    monkeypatch.setattr(match_stores, "numbers", None)
    again = stream("N " * 100 + "A " * 40 + "B")
    assert dict(evaluator.numbers(S.part(100, 300))) == {}
    assert dict(evaluator.numbers(again)) == {len(S) + 300 + 140: 2**40 - 1}


def test_what_a_window_has_left_is_not_made_again() -> None:
    """Of all events but those of the last window there are no nodes."""
    evaluator, other = (CompiledCelEvaluator(parse("A ; B WITHIN 10 EVENTS")) for _ in range(2))
    S = stream("A B " * 500)
    assert evaluator.count(S) == len(other.push_stream(S)) == 5 * 500 - 10
    assert evaluator.counters.nodes < 20 < other.counters.nodes
    more = stream("N B A N B")
    assert evaluator.push_stream(more) == other.push_stream(more) != []
