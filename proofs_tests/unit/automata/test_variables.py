"""Which variables a condition of core-CEL mentions, as the automata read it."""

import pytest

from cerify.automata.cea.variables import mentioned
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.predicates import Anything


@pytest.mark.parametrize("both", [core.Conjunction, core.Disjunction])
def test_both_sides_of_a_condition_are_mentioned(both: type[core.Conjunction | core.Disjunction]) -> None:
    assert mentioned(both(core.Unary("x", Anything()), core.Unary("y", Anything()))) == {"x", "y"}
