"""The limits that hold where none are given, as the documentation states them, and the limit on nesting."""

import math
import time
from fractions import Fraction

import pytest

from cerify.semantics.arguments import Budget, check_time, depth_limited, time_left, timed_items
from cerify.semantics.errors import BudgetExceeded, Span


def test_the_defaults_are_those_of_the_documentation() -> None:
    assert Budget() == Budget(valuations=2_000_000, states=100_000, matches=1_000_000, seconds=None)


def test_a_tree_nested_too_deeply_is_an_error_at_its_place() -> None:
    span = Span(1, 2)
    with pytest.raises(BudgetExceeded, match="nested too deeply") as caught, depth_limited(span):
        raise RecursionError
    assert caught.value.span == span


def test_the_earliest_of_the_limits_around_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with Budget(seconds=5).timed():
        assert time_left() == 5
        with Budget(seconds=2).timed():
            assert time_left() == 2
            now = 103.0
            with pytest.raises(BudgetExceeded, match="more than 2 seconds"):
                check_time()
        with Budget(seconds=9).timed(), Budget().timed():
            check_time()
            now = 105.5
            with pytest.raises(BudgetExceeded, match="more than 5 seconds"):
                list(timed_items([1]))
    assert time_left() == math.inf
    assert list(timed_items(range(600))) == list(range(600))


def test_the_seconds_may_be_a_fraction() -> None:
    with Budget(seconds=Fraction(0)).timed(), pytest.raises(BudgetExceeded, match="more than 0 seconds"):  # type: ignore[arg-type]
        check_time()
