"""The compiled loop of EQL over columns has the matches of the definition, or says why it does not carry a query."""

from __future__ import annotations

from random import Random

import pytest

import cerify
from cerify.automata.eql import kernel
from cerify.automata.eql.kernel import matches_by_columns
from cerify.equivalence.generate.eql import PROFILES, random_case
from cerify.semantics.arguments import Budget
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.denote import matches_of
from cerify.semantics.eql.parse import parse
from cerify.semantics.eql.reading import ELASTIC, ENDGAME, EqlReading
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Event, Stream
from proofs_tests.support import sampled

READINGS = (ELASTIC, ENDGAME, EqlReading(null_keys="joined"), EqlReading(absent="unknown"))


@pytest.mark.parametrize("cases", sampled((800, 200_000), (800,)))
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


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("sample by x [A where true] [B where true]", "a sample"),
        ("sequence with maxspan=1s [A where true] ![B where true]", "missing events"),
        ("sequence [A where true] with runs=70", "at most 62 steps"),
        ("A where x + y == 3", "several fields together"),
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
