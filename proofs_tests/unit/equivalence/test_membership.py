"""Which formulas can be written in CEL*: tods21, section 8.1."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.to_cel import star
from cerify.automata.exploration import classes
from cerify.equivalence.decide.cel import InStar, NotInStar, star_form
from cerify.equivalence.decide.checker import flaw
from cerify.equivalence.generate.cel import EVERYTHING, formula, stream
from cerify.equivalence.verdict import Undecided
from cerify.semantics.cel.check import beyond_star, is_unary
from cerify.semantics.cel.interpreter import complex_events
from cerify.semantics.cel.parse import parse
from cerify.semantics.events import Stream
from proofs_tests.claims.cea_runs import valuations

TINY = replace(EVERYTHING, types=("A", "B"), correlated=0.0, attributes=(("x", (0, 1)),))


@pytest.mark.parametrize(
    "query",
    ["A ALL B", "A AND B", "STRICT(A)", "MAX(A)", "NXT(A OR B)", "(A+ ALL B) ; C", "(A ALL B) FILTER A[x > 3]",
     "(A OR B)+ AND (A+ ; B)", "A UNLESS A", "STRICT((A ; B) AND (B ; A))", "PROJECT[B](B)", "A+ IN X FILTER X[x > 0]"],
)  # fmt: skip
def test_what_has_the_star_property_is_written_in_the_fragment(query: str) -> None:
    found = star_form(parse(query))
    assert isinstance(found, InStar)
    assert not beyond_star(found.phi)
    assert flaw(found.proof.certificate) is None


@pytest.mark.parametrize(
    "query",
    [
        "A : B",
        "A:+",
        "START(A)",
        "A UNLESS B",
        "NXT(A ; B)",
        "LAST(A ; B)",
        "MAX(A+)",
        "STRICT(A ; B)",
        "PROJECT[B](A ; B)",
    ],
)
def test_each_operator_of_corollary_8_6_breaks_the_property(query: str) -> None:
    found = star_form(parse(query))
    assert isinstance(found, NotInStar)
    assert found.unmatched is not None
    (S, C), (T, D) = found.matched, found.unmatched
    assert [S[p] for p in sorted(C)] == [T[p] for p in sorted(D)]
    assert C in complex_events(parse(query), S, len(S) - 1)
    assert D not in complex_events(parse(query), T, len(T) - 1)


@pytest.mark.parametrize("query", ["PROJECT[A](A ; B)", "PROJECT[](A)"])
def test_a_match_reported_after_its_last_event_breaks_it_too(query: str) -> None:
    found = star_form(parse(query))
    assert isinstance(found, NotInStar)
    S, C = found.matched
    assert found.unmatched is None
    assert len(S) - 1 not in C
    assert C in complex_events(parse(query), S, len(S) - 1)


@pytest.mark.parametrize("seed", range(40))
def test_random_formulas(seed: int) -> None:
    """Either a formula of the fragment with the same complex events, or a break of the property: each replayed."""
    rng = Random(seed)
    while not is_unary(phi := formula(rng, TINY, 5)):
        pass
    found = star_form(phi)
    assert not isinstance(found, Undecided)
    if isinstance(found, InStar):
        S = stream(rng, TINY, 5, phi)
        assert complex_events(phi, S, 4) == complex_events(found.phi, S, 4)
    else:
        assert beyond_star(phi)


@pytest.mark.parametrize("seed", range(20))
def test_the_star_of_an_automaton_skips_between_marks(seed: int) -> None:
    """Definition 8.7: what it has are the runs of marks alone, on the events that are marked."""
    rng = Random(seed)
    while not is_unary(phi := formula(rng, TINY, 5)):
        pass
    A, S = compile_cel(phi), stream(rng, TINY, 4, phi)
    starred = {frozenset(p for _, p in mu) for mu in valuations(star(A), S, 3)}
    for C in {frozenset(p for p in range(4) if bits >> p & 1) for bits in range(1, 16)}:
        alone = Stream([S[p] for p in sorted(C)])
        everything = frozenset(range(len(C)))
        marked = any(frozenset(p for _, p in mu) == everything for mu in valuations(A, alone, len(C) - 1))
        assert (C in starred) == (marked and 3 in C)


def test_states_that_no_word_tells_apart_are_one() -> None:
    """Words over 0 and 1 with an even number of 1, on an automaton that counts modulo four."""
    steps = [{0: q, 1: (q + 1) % 4} for q in range(4)]
    of = classes(steps, [True, False, True, False])
    assert of[0] == of[2] != of[1] == of[3]
    assert classes([{0: 1}, {}, {0: 1}], [False, True, False]) == [0, 1, 0]
