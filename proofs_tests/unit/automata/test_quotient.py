"""The quotient by bisimulation: fewer states, the same valuations."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.compile import compile_cel, generators
from cerify.automata.cea.model import CEA, Transition, quotient
from cerify.equivalence.generate.cel import EVERYTHING, formula, stream
from cerify.semantics.cel.check import is_unary
from cerify.semantics.cel.parse import parse
from cerify.semantics.predicates import Anything, OfType
from proofs_tests.claims.cea_runs import valuations

PROFILE = replace(EVERYTHING, correlated=0.0)
A, B, ANY = OfType("A"), OfType("B"), Anything()
X, NONE = frozenset({"X"}), frozenset[str]()


def test_states_that_behave_alike_are_one() -> None:
    automaton = CEA(
        4,
        (Transition(0, A, X, 1), Transition(0, B, X, 2), Transition(1, ANY, NONE, 3), Transition(2, ANY, NONE, 3)),
        frozenset({0}),
        frozenset({3}),
    )
    assert quotient(automaton).states == 3


def test_what_differs_in_marks_predicates_or_acceptance_is_kept_apart() -> None:
    kept = (Transition(0, A, X, 3), Transition(1, A, NONE, 3), Transition(2, B, X, 3))
    automaton = CEA(5, kept, frozenset({0, 1, 2, 4}), frozenset({3}))
    assert quotient(automaton) == automaton


@pytest.mark.parametrize("seed", range(40))
def test_the_valuations_are_the_same(seed: int) -> None:
    rng = Random(seed)
    while not is_unary(phi := formula(rng, PROFILE, 6)):
        pass
    automaton, S = compile_cel(phi), stream(rng, PROFILE, 5, phi)
    doubled = CEA(
        2 * automaton.states,
        tuple(
            t._replace(source=t.source + i * automaton.states, target=t.target + j * automaton.states)
            for t in automaton.transitions for i in (0, 1) for j in (0, 1)
        ),
        automaton.initial,
        automaton.final | {q + automaton.states for q in automaton.final},
    )  # fmt: skip
    small = quotient(doubled)
    assert small.states <= automaton.states
    for n in range(5):
        assert valuations(small, S, n) == valuations(automaton, S, n)


def test_a_nest_of_strategies_stays_small() -> None:
    """Without it this has 923 states, and takes ten times as long."""
    phi = parse("LAST((((A FILTER A.x > 1) UNLESS B) ALL A):+ IN X+)")
    assert compile_cel(phi, algebra=Algebra(generators(phi))).states < 50
