"""Queries made to blow up end with the seconds of their budget, by a clock that moves when it is looked at.

Without a limit each of them runs for minutes, or fills the memory; the others are in the campaign.
"""

from __future__ import annotations

import itertools
import time
import warnings

import pytest

from cerify import Budget, Undecided
from cerify.semantics.errors import BudgetExceeded
from proofs_tests.campaigns.budgets import QUERIES, cases

TICK = 0.1  # seconds between two looks at the clock
FEW = [
    ("cel", "matches", "push-automaton"),
    ("cel", "matches", "count"),
    ("cel", "types", "match-automaton"),
    ("cel", "correlated", "match-automaton"),
    ("cel", "patterns", "contained"),
    ("core-cel", "matches", "match-denotational"),
    ("event-expression", "th", "contained"),
    ("sase", "rounds", "match-denotational"),
    ("sase", "matches", "match-automaton"),
    ("sase", "matches", "explain"),
]


@pytest.mark.parametrize(("language", "name", "function"), FEW)
def test_the_clock_ends_it(language: str, name: str, function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = dict(cases(language, QUERIES[language][name]))[function]
    monkeypatch.setattr(time, "monotonic", itertools.count(0, TICK).__next__)
    warnings.simplefilter("ignore")
    if function in ("contained", "equivalent"):
        found = case(Budget(seconds=1))
        assert isinstance(found, Undecided)
        assert "more than 1 seconds" in found.reason
    else:
        with pytest.raises(BudgetExceeded, match="more than 1 seconds"):
            case(Budget(seconds=1))
