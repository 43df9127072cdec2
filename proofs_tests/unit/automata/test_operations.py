"""Union is union, complement is complement, the smallest automaton is the smallest: decided."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import (
    CEA,
    complement,
    intersect_automata,
    io_determinize,
    minimized,
    single_variable,
    trim,
    union,
)
from cerify.automata.exploration import classes
from cerify.equivalence.decide.cel import difference
from cerify.equivalence.generate.cel import EVERYTHING, formula, stream
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.check import is_unary
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import BudgetExceeded
from proofs_tests.claims.cea_runs import valuations

TINY = replace(EVERYTHING, types=("A", "B"), correlated=0.0, attributes=(("x", (0, 1)),))
EMPTY = CEA(0, (), frozenset(), frozenset())


def automaton(rng: Random, nodes: int = 4) -> CEA:
    while not is_unary(phi := formula(rng, TINY, nodes)) or "Arithmetic" in repr(phi):
        pass
    return compile_cel(phi)


def test_both_halves_of_a_block_that_waits_are_looked_at() -> None:
    """All four states differ: a block that is split before it has split others has two halves that may split them."""
    steps = [{"a": 1, "b": 0}, {"a": 0, "b": 3}, {"b": 2}, {"a": 3, "b": 0}]
    assert classes(steps, [True, False, True, False]) == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(12))
def test_the_laws_of_a_boolean_algebra(seed: int) -> None:
    rng = Random(seed)
    A, B = single_variable(automaton(rng)), single_variable(automaton(rng))
    marks = [t.marks for t in (*A.transitions, *B.transitions)]
    neither = intersect_automata(complement(A, marks), complement(B, marks))
    assert difference(complement(union(A, B), marks), neither) is None
    assert difference(complement(complement(A, marks), marks), A) is None
    assert difference(intersect_automata(A, complement(A, marks)), EMPTY) is None
    everything = union(A, complement(A, marks))
    assert difference(union(B, complement(B, marks)), everything) is None
    assert difference(intersect_automata(A, union(A, B)), A) is None
    assert difference(intersect_automata(union(A, B), A), A) is None


@pytest.mark.parametrize("seed", range(12))
def test_a_complement_has_what_the_automaton_has_not(seed: int) -> None:
    rng = Random(seed)
    A = single_variable(automaton(rng))
    S = stream(rng, TINY, 3)
    (mark,) = {t.marks for t in A.transitions if t.marks} or {frozenset({"•"})}
    everything = {frozenset((x, p) for x in mark for p in range(3) if bits >> p & 1) for bits in range(8)}
    assert valuations(complement(A, [mark]), S, 2) == everything - valuations(A, S, 2)


@pytest.mark.parametrize("seed", range(25))
def test_the_smallest_automaton_has_the_same_valuations_and_no_fewer_states_would_do(seed: int) -> None:
    A = automaton(Random(seed), 5)
    small = minimized(A)
    assert difference(small, A) is None
    again = minimized(small)
    assert (again.states, len(again.transitions)) == (small.states, len(small.transitions))
    assert small.states <= trim(io_determinize(A)).states
    for p in range(small.states):  # from no two states the same is accepted, from each something
        from_p = replace(small, initial=frozenset({p}))
        assert trim(from_p).states
        for q in range(p):
            from_q = replace(small, initial=frozenset({q}))
            assert (p in small.final) != (q in small.final) or difference(from_p, from_q) is not None


@pytest.mark.parametrize(
    ("query", "states"),
    [("A", 2), ("A ; B", 3), ("A : B", 3), ("A+", 2), ("(A ; A) OR (A ; A)", 3), ("A OR B", 2), ("A UNLESS A", 0),
     ("A AND A", 2), ("(A OR B) ; (A OR B)", 3), ("START(A)", 2), ("STRICT(A ; B)", 3)],
)  # fmt: skip
def test_known_minima(query: str, states: int) -> None:
    assert minimized(compile_cel(parse(query))).states == states


def test_equivalent_formulas_have_the_same_smallest_automaton_up_to_numbers() -> None:
    left, right = minimized(compile_cel(parse("(A ; B) ; C"))), minimized(compile_cel(parse("A ; (B ; C)")))
    assert (left.states, len(left.transitions)) == (right.states, len(right.transitions))
    assert difference(left, right) is None


def test_what_grows_too_large_stops() -> None:
    phi = cel.EventAtom("A")
    grown: cel.Formula = phi
    for _ in range(9):
        grown = cel.Seq(cel.Or(grown, cel.EventAtom("B")), phi)
    with pytest.raises(BudgetExceeded):
        minimized(compile_cel(grown), Budget(states=5))
    with pytest.raises(BudgetExceeded):
        complement(compile_cel(grown), budget=Budget(states=5))
