"""The compiler on all small formulas; in full by `python -m proofs_tests.campaigns.compiler`."""

from __future__ import annotations

import pytest

from proofs_tests.unit.automata.exhaustive import QUICK, wrong


@pytest.mark.parametrize(
    ("name", "operator"), [(name, operator) for name, space in QUICK.items() for operator in space.operators]
)
def test_the_automaton_has_the_meaning_of_every_small_formula(name: str, operator: str) -> None:
    tried = 0
    for phi in QUICK[name].topped(operator):
        assert wrong(phi, QUICK[name]) is None
        tried += 1
    assert tried > 1
