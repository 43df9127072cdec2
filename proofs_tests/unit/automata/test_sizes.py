"""Where the size of an automaton comes from, operator by operator (tods21, Theorems 6.2 and 7.2)."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from cerify.automata.cea.compile import compile_cel
from cerify.equivalence.generate.cel import CORE, formula
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse


def size(query: str) -> int:
    return compile_cel(parse(query)).size


@pytest.mark.parametrize("nodes", [10, 20, 40])
def test_the_core_is_linear(nodes: int) -> None:
    """Theorem 6.2: a few states and transitions for each node, also of formulas four times as large."""
    for seed in range(15):
        phi = formula(Random(f"sizes/{nodes}/{seed}"), CORE, nodes)
        assert compile_cel(phi).size <= 6 * cel.size(phi)


@pytest.mark.parametrize("join", [";", ":"])
def test_many_alternatives_after_many_others_are_linear(join: str) -> None:
    """They meet in one state; with a transition for each pair of them forty would have 6400."""
    for k in (5, 10, 20, 40):
        left, right = (" OR ".join(f"{R}{i}" for i in range(k)) for R in "AB")
        assert size(f"({left})+ {join} ({right})+") <= 18 * k


def test_operands_of_all_multiply_and_no_more() -> None:
    """Which of n events are marked: 2^n states, which is the minimum."""
    for n in (2, 4, 6):
        assert compile_cel(parse(" ALL ".join(f"A{i}" for i in range(n)))).states == 2**n


def test_a_window_inside_costs_a_state_for_each_event() -> None:
    for n in (4, 8, 16):
        assert compile_cel(parse(f"A ; ((B ; C) WITHIN {n} EVENTS)")).states == n + 2


def strategies(strategy: str, last: int) -> list[int]:
    """A family in which any of k events that have been seen may still decide who wins."""
    family = ["(A ; C)"]
    sizes = []
    for i in range(last):
        family.append(f"(A ; A{i} ; B{i} ; C)")
        sizes.append(size(f"{strategy}({' OR '.join(family)})"))
    return sizes


@pytest.mark.parametrize(("strategy", "last"), [("NXT", 4), ("LAST", 3), ("MAX", 6)])
def test_strategies_are_exponential(strategy: str, last: int) -> None:
    """Theorem 7.2's bound is of the right kind: each more of the k makes for close to twice the size, or more."""
    sizes = strategies(strategy, last)
    assert all(larger > 1.8 * smaller for smaller, larger in pairwise(sizes)), sizes


def test_strict_is_linear() -> None:
    sizes = strategies("STRICT", 12)
    assert {larger - smaller for smaller, larger in pairwise(sizes)} == {7}
