"""The two definitions of SASE+ say the same: runs of the automaton, and which positions are a match."""

from dataclasses import fields
from random import Random

import pytest

from cerify.automata.nfab import moves
from cerify.semantics.sase import denote
from cerify.semantics.sase.syntax import Reading, choices, list_other_readings
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.sase import small

OTHERS = [reading for (name, _), reading in list_other_readings().items() if name != "non_overlap"]


def _named(reading: Reading) -> str:
    """What it has otherwise."""
    return " ".join(f"{n}={getattr(reading, n)}" for n in choices() if getattr(reading, n) != getattr(Reading(), n))


@pytest.mark.parametrize("start", sampled(range(4), (0,)))
def test_all_queries_of_one_component_on_all_streams_of_three_events(start: int) -> None:
    letters = ("A1/k", "A2/k", "B1/l")
    streams = list(small.streams(3, letters))
    for q in small.queries(1, windows=("", "WITHIN 2 seconds"), start=start, step=4):
        for S in streams:
            assert moves.bindings(q, S) == denote.bindings(q, S)


@pytest.mark.parametrize("start", sampled(range(12), (0,)))
def test_all_queries_of_two_components_on_a_stream_by_chance(start: int) -> None:
    rng, found = Random(start), 0
    for q in small.queries(2, start=start, step=12):
        S = small.by_chance(rng, 7)
        expected = denote.bindings(q, S)
        found += bool(expected)
        assert moves.bindings(q, S) == expected
    assert found > 41


@pytest.mark.parametrize("number", sampled([40, 100], [40]))
@pytest.mark.parametrize("reading", [Reading(), *OTHERS], ids=["decided", *map(_named, OTHERS)])
def test_mixed_strategies_and_negation_under_every_reading(reading: Reading, number: int) -> None:
    rng, found = Random(2), 0
    for _ in range(number):
        q = small.query(small.text_by_chance(rng, 3, ("WITHIN 5 seconds",)))
        S = small.by_chance(rng, 7)
        expected = denote.bindings(q, S, reading)
        found += bool(expected)
        assert moves.bindings(q, S, reading) == expected
    assert found > number / 10


def test_every_reading_is_there() -> None:
    differing = {
        f.name for reading in OTHERS for f in fields(Reading) if getattr(reading, f.name) != getattr(Reading(), f.name)
    }
    assert differing == {f.name for f in fields(Reading)} - {"non_overlap"}
    assert all(reading != Reading() for reading in OTHERS)
