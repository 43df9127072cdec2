"""The limits that hold where none are given, as the documentation states them, and the limit on nesting."""

import pytest

from cerify.semantics.budget import Budget, depth_limited
from cerify.semantics.errors import BudgetExceeded, Span


def test_the_defaults_are_those_of_the_documentation() -> None:
    assert Budget() == Budget(valuations=2_000_000, states=100_000, matches=1_000_000, seconds=None)


def test_a_tree_nested_too_deeply_is_an_error_at_its_place() -> None:
    span = Span(1, 2)
    with pytest.raises(BudgetExceeded, match="nested too deeply") as caught, depth_limited(span):
        raise RecursionError
    assert caught.value.span == span
