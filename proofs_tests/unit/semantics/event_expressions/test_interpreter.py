"""The interpreter of event expressions looks at the clock."""

import pytest

from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.parse import parse
from proofs_tests.support import stream


def test_no_expression_is_applied_when_the_time_is_over() -> None:
    E, S = parse("prior(a, b)"), stream("a b")
    assert takes_place(E, S) == {1}
    with Budget(seconds=0).timed(), pytest.raises(BudgetExceeded, match="0 seconds"):
        takes_place(E, S)
