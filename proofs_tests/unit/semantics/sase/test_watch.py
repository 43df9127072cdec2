"""The budget of a search counts its steps, in one search or several."""

import pytest

from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.sase.denote import Counted, unwatched


def test_as_many_steps_as_allowed_are_passed_on() -> None:
    watch = Counted(5, "bindings")
    assert list(watch("abc")) == ["a", "b", "c"]
    assert list(watch("de")) == ["d", "e"]
    with pytest.raises(BudgetExceeded, match="more than 5 bindings"):
        list(watch("f"))


def test_the_step_beyond_is_not_passed_on() -> None:
    steps, passed = iter("abc"), []
    with pytest.raises(BudgetExceeded):
        passed.extend(Counted(2, "bindings")(steps))
    assert list(steps) == []
    watch = iter(Counted(1, "bindings")("ab"))
    assert next(watch) == "a"
    with pytest.raises(BudgetExceeded):
        next(watch)


def test_no_step_is_passed_on_when_the_time_is_over() -> None:
    with Budget(seconds=0).timed(), pytest.raises(BudgetExceeded, match="0 seconds"):
        list(Counted(5, "bindings")("a"))


def test_without_a_budget_all_are() -> None:
    assert list(unwatched("abc")) == ["a", "b", "c"]
