"""What the page on the suite's strength counts: the automata are those of the queries, and words lead through them."""

from __future__ import annotations

from itertools import product

import pytest

from cerify.api import match
from cerify.equivalence.complete_tests import vectors
from cerify.semantics.events import Stream
from proofs_tests.tools.suite_strength import CONDITIONS, automaton_of, covered

QUERIES = [
    ("cel", "A+ ; B"),
    ("core-cel", "A AS x ; (B AS y)+"),
    ("sase", "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match(a, b, c) { } RETURN 1 AS one"),
    ("event-expression", "relative(A, B) or <2> A"),
]


@pytest.mark.parametrize(("language", "query"), QUERIES)
def test_an_automaton_accepts_what_the_query_means(language: str, query: str) -> None:
    automaton = automaton_of(language, query)
    assert not CONDITIONS[language].search(query)
    for word in product(range(len(automaton.events)), repeat=3):
        S = Stream([automaton.events[kind] for kind in word])
        found = {(m.at, m.events) for m in match(query, S, language=language)}
        for end in range(len(word)):
            for marks in product(automaton.marks, repeat=end + 1):
                chosen = (end,) if len(automaton.marks) == 1 else tuple(p for p, marked in enumerate(marks) if marked)
                accepted = automaton.accepts(list(zip(word, marks, strict=False)))
                assert accepted == ((end, chosen) in found), (word, marks)


@pytest.mark.parametrize(("language", "query"), QUERIES)
def test_a_complete_test_goes_through_all_of_an_automaton(language: str, query: str) -> None:
    automaton = automaton_of(language, query)
    own = len(automaton.steps)
    streams = vectors(automaton)
    found = covered(automaton, streams)
    assert (found.states, found.transitions, found.reached) == (own, own * len(automaton.letters), own)
    assert covered(automaton, streams[:-1]).reached is None
