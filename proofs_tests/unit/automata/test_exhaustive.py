"""The compiler on all small formulas; in full by `python -m proofs_tests.campaigns.compiler`."""

from __future__ import annotations

import pytest

from proofs_tests.support import sampled
from proofs_tests.unit.automata.exhaustive import QUICK, wrong

SPACES = [(name, operator) for name, space in QUICK.items() for operator in space.operators]


@pytest.mark.parametrize("of", sampled(SPACES, SPACES[::3]), ids="-".join)
def test_the_automaton_has_the_meaning_of_every_small_formula(of: tuple[str, str]) -> None:
    (name, operator), tried = of, 0
    for phi in QUICK[name].topped(operator):
        assert wrong(phi, QUICK[name]) is None
        tried += 1
    assert tried > 1
