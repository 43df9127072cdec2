"""What is around the clauses of MATCH_RECOGNIZE: the budget of a search, which counts its steps, and its time."""

import pytest

from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.row_pattern.interpreter import RowStepBudget
from proofs_tests.unit.semantics.row_pattern.tables import found, numbered


def test_a_call_and_each_of_its_labellings_is_a_step() -> None:
    watch = RowStepBudget(5)
    assert list(watch(iter("abc"))) == ["a", "b", "c"]
    assert list(watch(iter(""))) == []
    with pytest.raises(BudgetExceeded, match="more than 5 labellings"):
        watch(iter("d")).__next__()


def test_the_step_beyond_is_not_passed_on() -> None:
    steps = RowStepBudget(2)(iter("ab"))
    assert next(steps) == "a"
    with pytest.raises(BudgetExceeded, match="more than 2 labellings"):
        next(steps)


def test_no_step_is_passed_on_when_the_time_is_over() -> None:
    with Budget(seconds=0).timed(), pytest.raises(BudgetExceeded, match="0 seconds"):
        next(RowStepBudget(5)(iter("a")))


def test_the_steps_of_all_partitions_are_counted_together() -> None:
    text = "MATCH_RECOGNIZE (PARTITION BY k PATTERN ((A | B)* C) DEFINE C AS FALSE)"
    assert found(text, numbered("1 " * 7, "k")) == []
    with pytest.raises(BudgetExceeded, match="more than 20000 labellings"):
        found(text, numbered(" ".join(f"{k} " * 7 for k in range(30)), "k"))
