"""Automata compared with each other: what each construction on them promises, decided."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA, io_determinize, quotient, single_variable, trim
from cerify.automata.cea.to_cel import star
from cerify.equivalence.decide.cel import difference
from cerify.equivalence.generate.cel import EVERYTHING, formula
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.check import is_unary
from cerify.semantics.cel.parse import parse
from proofs_tests.claims.cea_runs import valuations

TINY = replace(EVERYTHING, types=("A", "B"), correlated=0.0, attributes=(("x", (0, 1)),))


def unary(rng: Random, nodes: int) -> cel.Formula:
    while not is_unary(phi := formula(rng, TINY, nodes)) or "/" in str(phi) or "*" in str(phi):
        pass
    return phi


@pytest.mark.parametrize("seed", range(25))
def test_constructions_keep_what_they_promise_to_keep(seed: int) -> None:
    A = compile_cel(unary(Random(seed), 5))
    assert difference(io_determinize(A), A) is None
    assert difference(quotient(A), A) is None
    assert difference(trim(A), A) is None
    assert difference(single_variable(A), A, "events") is None
    assert difference(star(star(A)), star(A)) is None
    one_of_each = single_variable(A)
    assert difference(io_determinize(one_of_each), one_of_each) is None


@pytest.mark.parametrize("seed", range(15))
def test_the_operators_are_what_their_names_say(seed: int) -> None:
    """OR is a union, AND an intersection, and what a strategy keeps is a part."""
    rng = Random(seed)
    phi, psi = unary(rng, 3), unary(rng, 3)
    both, either = compile_cel(cel.And(phi, psi)), compile_cel(cel.Or(phi, psi))
    A, B = compile_cel(phi), compile_cel(psi)
    for part, whole in ((both, A), (both, B), (A, either), (B, either), (compile_cel(cel.Next(phi)), A)):
        assert difference(part, whole, one_way=True) is None
    assert difference(compile_cel(cel.And(phi, cel.Or(phi, psi))), A) is None


def test_a_difference_is_a_shortest_stream() -> None:
    contiguous, anywhere = compile_cel(parse("A : B")), compile_cel(parse("A ; B"))
    S = difference(contiguous, anywhere)
    assert S is not None
    assert len(S) == 3
    assert valuations(contiguous, S, 2) != valuations(anywhere, S, 2)
    assert difference(contiguous, anywhere, one_way=True) is None
    assert difference(anywhere, contiguous, one_way=True) is not None
    assert difference(compile_cel(parse("B")), compile_cel(parse("(A FILTER A[x + y = 6]) OR B"))) is not None


@pytest.mark.parametrize("broken", ["a transition less", "a final state less", "a mark less"])
def test_a_broken_automaton_is_told_apart(broken: str) -> None:
    A = compile_cel(parse("(A ; B+) IN X"))
    marking = [t for t in A.transitions if t.marks]
    match broken:
        case "a transition less":
            worse = replace(A, transitions=tuple(t for t in A.transitions if t != marking[0]))
        case "a final state less":
            worse = replace(A, final=frozenset())
        case _:
            worse = A.remarked({marks: marks - {"X"} for marks in A.marks})
    assert difference(A, worse) is not None
    assert isinstance(worse, CEA)
