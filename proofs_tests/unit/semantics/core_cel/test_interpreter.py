"""What is around the clauses of core-CEL: how a budget is counted."""

import time

import pytest

from cerify.semantics.arguments import Budget
from cerify.semantics.core_cel.interpreter import CoreInterpreter, by_clauses, matches_of
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match
from proofs_tests.support import stream


def test_a_position_and_a_pair_are_counted() -> None:
    S, phi = stream("A"), parse("A AS x")
    assert matches_of(phi, S, Budget(valuations=2)) == [Match(0, (0,))]
    with pytest.raises(BudgetExceeded, match="more than 1 valuations"):
        matches_of(phi, S, Budget(valuations=1))


def test_what_the_clauses_alone_make_is_counted() -> None:
    """A AS x, for the one valuation: the formula, and its complex event."""
    S, phi = stream("A"), parse("A AS x")
    assert by_clauses(phi, S, Budget(valuations=2)) == [Match(0, (0,))]
    with pytest.raises(BudgetExceeded, match="more than 1 valuations"):
        by_clauses(phi, S, Budget(valuations=1))


def test_the_time_of_the_budget_counts_from_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    interpreter = CoreInterpreter(stream("A A"), Budget(seconds=5))
    monkeypatch.setattr(time, "monotonic", lambda: 1004.0)
    assert len(list(interpreter.counted("ab"))) == 2
    monkeypatch.setattr(time, "monotonic", lambda: 1006.0)
    with pytest.raises(BudgetExceeded, match="5 seconds"):
        list(interpreter.counted("ab"))
