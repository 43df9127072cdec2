"""The types of tests that are not simple: choices of the others that no value has are left before they are decided."""

from collections.abc import Mapping

import pytest

from cerify.automata.algebra import finite as searched
from cerify.automata.algebra import solver
from cerify.semantics.predicates import Arithmetic, Attribute, Comparison, Constant

x = Attribute("x")
SQUARE = Comparison(">", Arithmetic("*", x, x), Constant(20))


def test_choices_of_tests_that_no_value_has_are_left_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of twelve tests x = n one holds at most: of 8,192 choices 26 are left, with the square true or false."""
    asked: list[Mapping[solver.Test, bool]] = []

    def counted(tests: Mapping[solver.Test, bool], allowed: solver.Allowed, ask: bool = True) -> solver.Solution:
        asked.append(tests)
        return solver.solve(tests, allowed, ask)

    monkeypatch.setattr(searched, "solve", counted)
    tests = [Comparison("=", x, Constant(n)) for n in range(12)]
    found = searched.minterms([*tests, SQUARE], solver=False)
    assert len(asked) == 26
    assert {frozenset(i for i in one.chosen if i < 12) for one in found} == {frozenset[int]()} | {
        frozenset({n}) for n in range(12)
    }


def test_no_choice_that_a_value_has_is_left() -> None:
    """What is left early has no value at all: each value of a range is in one of the types, with its own tests."""
    tests = [
        Comparison(">", x, Constant(3)),
        Comparison("<=", x, Constant(5)),
        Comparison("!=", x, Constant(4)),
        SQUARE,
    ]
    types = {one.chosen for one in searched.minterms(tests)}
    for n in range(-7, 8):
        assert frozenset(i for i, yes in enumerate((n > 3, n <= 5, n != 4, n * n > 20)) if yes) in types
