"""Which strategies select the same, and how long what a formula matches can be: against all streams up to a length."""

from __future__ import annotations

from itertools import product

import pytest

from cerify.automata.algebra import solver
from cerify.equivalence.decide.checker import flaw
from cerify.equivalence.verdict import Different, Equivalent, Undecided
from cerify.semantics.cel.interpreter import complex_events
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Event, Stream
from proofs_tests.claims.lengths import STRATEGIES, Lengths, coinciding, output_lengths

EVENTS = [Event(R, {"x": x}) for R in ("A", "B") for x in (0, 1)]


def same(query: str) -> set[tuple[str, str]]:
    verdicts = coinciding(parse(query))
    assert set(verdicts) == {
        (a, b) for a in STRATEGIES for b in STRATEGIES if list(STRATEGIES).index(a) < list(STRATEGIES).index(b)
    }
    for verdict in verdicts.values():
        assert isinstance(verdict, Equivalent | Different)
        assert isinstance(verdict, Different) or flaw(verdict.certificate) is None
    return {pair for pair, verdict in verdicts.items() if isinstance(verdict, Equivalent)}


def test_on_an_event_type_all_strategies_are_the_same() -> None:
    assert len(same("A")) == 10


def test_on_a_sequence_they_all_differ_but_for_max() -> None:
    """All matches of A ; B have two events, so that each is maximal."""
    assert same("A ; B") == {("none", "MAX")}


def test_on_an_iteration_the_greatest_match_is_the_only_best() -> None:
    assert same("A+") == {("NXT", "LAST"), ("NXT", "MAX"), ("LAST", "MAX")}


def test_next_to_each_other_strict_selects_nothing_away() -> None:
    assert ("none", "STRICT") in same("A : B")


def test_a_formula_that_compares_events_is_not_decided() -> None:
    assert all(isinstance(v, Undecided) for v in coinciding(parse("(A ; B) FILTER A.x = B.x")).values())


@pytest.mark.parametrize(
    "query",
    [
        "A", "A ; B", "A+", "(A ; A)+", "A : A : A", "START(A ; B)", "(A ; B):+", "A UNLESS A", "PROJECT[](A ; B)",
        "PROJECT[A](A ; B ; B)", "A OR (A : B : B : B)", "(A : B) AND (A : B)", "A FILTER A.x > 1 AND A.x < 0",
        "START(A : B) ; A FILTER A.x = 0", "A+ ALL B", "NXT(A ; B)", "(A ; B) UNLESS B", "PROJECT[A](B+ OR A)",
    ],
)  # fmt: skip
def test_lengths_are_those_of_all_short_streams(query: str) -> None:
    phi = parse(query)
    streams: set[int] = set()
    matches: set[int] = set()
    for n in range(1, 6):
        for events in product(EVENTS if n < 5 else EVENTS[::2], repeat=n):
            for C in complex_events(phi, Stream(events), n - 1):
                streams.add(n)
                matches.add(len(C))
    found = output_lengths(phi, 5)
    assert set(found.streams) == streams
    assert {k for k in found.matches if k <= 3} == {k for k in matches if k <= 3}
    assert list(found.streams) == sorted(found.streams)


def test_lengths_far_beyond_what_can_be_tried() -> None:
    found = output_lengths(parse("START((A : A : A):+)"), 40)
    assert found == Lengths(tuple(range(3, 41, 3)), tuple(range(3, 41, 3)))
    assert output_lengths(parse("START(A : B)"), 40) == Lengths((2,), (2,))


def test_a_formula_that_compares_events_has_no_automaton() -> None:
    with pytest.raises(Unsupported):
        output_lengths(parse("(A ; B) FILTER A.x = B.x"), 3)


def test_an_event_that_the_solver_cannot_find_leaves_the_lengths_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "STEPS", 100_000)  # more decide it, or not, by what z3 was asked before
    with pytest.raises(Unsupported, match="schema"):
        output_lengths(parse("A FILTER A[x / y = 7 and x = 1]"), 3)
