"""Random queries of SASE+ and their streams: the same from the same seed, as the profile says, mostly with matches."""

from random import Random

import pytest

from cerify.equivalence.generate.sase import EVERYTHING, PER_EVENT, PROFILES, case, query, size
from cerify.semantics.events import Schema
from cerify.semantics.sase import denote
from cerify.semantics.sase.clauses import operators, strategies
from cerify.semantics.sase.interpreter import matches_of
from cerify.semantics.sase.syntax import STRATEGIES


@pytest.mark.parametrize("name", PROFILES)
def test_the_same_seed_gives_the_same_cases_within_the_limits(name: str) -> None:
    for n in range(100):
        q, S = case(Random(n), PROFILES[name], 7, 9)
        assert (q, S.events) == (lambda c: (c[0], c[1].events))(case(Random(n), PROFILES[name], 7, 9))
        assert size(q) <= 8  # one more where a partition has to be said
        assert 1 <= len(S) <= 9
        assert S.schema == PROFILES[name].schema
        assert isinstance(S.schema, Schema)


def test_together_they_use_everything() -> None:
    queries = [query(Random(n), EVERYTHING, 9) for n in range(400)]
    assert frozenset().union(*map(strategies, queries)) == set(STRATEGIES)
    used = frozenset().union(*map(operators, queries))
    assert used >= {
        "Kleene plus",
        "negation",
        "!",
        "equivalence test",
        "underlining",
        "WITHIN",
        "HAVING",
        "NON-OVERLAP",
    }
    assert used >= {"running aggregate", "aggregate", "correlated iterator", "a.LEN"}
    assert any(len({b.strategy for b in q.where}) > 1 for q in queries)
    assert any(k.kleene for q in queries for k in q.pattern[:-1])
    assert any(k.negated and k.kleene for q in queries for k in q.pattern)
    assert {q.pattern[0].negated for q in queries} == {q.pattern[-1].negated for q in queries} == {True, False}


def test_conditions_on_single_events_alone() -> None:
    used = frozenset().union(*(operators(query(Random(n), PER_EVENT, 9)) for n in range(200)))
    assert "aggregate" not in used
    assert "negation" not in used


def test_most_streams_have_a_match() -> None:
    matched = sum(bool(matches_of(*case(Random(n), PROFILES["plain"], 6, 8), denote.bindings)) for n in range(200))
    assert matched > 100
