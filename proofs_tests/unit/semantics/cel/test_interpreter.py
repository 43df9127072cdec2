"""What is around the clauses of CEL: what is remembered by identity, and how a budget is counted."""

import sys
import time

import pytest

from cerify.semantics.arguments import Budget
from cerify.semantics.cel.denote import RememberedFacts
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.predicates import Attribute, Comparison, Constant
from proofs_tests.support import stream


def test_a_predicate_that_is_no_longer_used_elsewhere_is_not_taken_for_a_new_one() -> None:
    """Truth is remembered by the identity of a predicate, and Python gives the identity of what is gone to others."""
    facts = RememberedFacts(stream("A", x=[5]))
    found = [n for n in range(100) if facts.holds(Comparison(">", Attribute("x"), Constant(n)), 0)]
    assert found == [0, 1, 2, 3, 4]


def test_a_predicate_whose_identity_is_remembered_is_kept_alive() -> None:
    """As the test before, where Python happens not to give the identity to another."""
    facts, predicate = RememberedFacts(stream("A", x=[5])), Comparison(">", Attribute("x"), Constant(0))
    before = sys.getrefcount(predicate)
    assert facts.holds(predicate, 0)
    assert sys.getrefcount(predicate) > before


def test_a_formula_that_is_no_longer_used_elsewhere_is_not_taken_for_a_new_one() -> None:
    interpreter = Interpreter(stream("A"))
    found = [len(interpreter.meaning(parse(R), 0, 0)) for R in "AB" * 50]
    assert found == [1, 0] * 50


def test_valuations_and_intervals_are_counted_from_the_first() -> None:
    """A over 0 to 0 and over 0 to 1, B over 1 to 2, two of the whole; B over 2 to 2 inherits its valuation."""
    S, phi = stream("A A B"), parse("A ; B")
    assert len(Interpreter(S, Budget(valuations=5)).meaning(phi, 0, 2)) == 2
    with pytest.raises(BudgetExceeded, match=r"more than 4 valuations.*so far 5 valuations, over 4 intervals"):
        Interpreter(S, Budget(valuations=4)).meaning(phi, 0, 2)


def test_the_time_of_the_budget_counts_from_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    interpreter = Interpreter(stream("A A A A"), Budget(seconds=5))
    phi = parse("A+ ; A")
    monkeypatch.setattr(time, "monotonic", lambda: 1004.0)
    assert interpreter.meaning(phi, 0, 2)
    monkeypatch.setattr(time, "monotonic", lambda: 1006.0)
    with pytest.raises(BudgetExceeded, match="5 seconds"):
        interpreter.meaning(phi, 0, 3)
