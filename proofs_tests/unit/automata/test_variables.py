"""Which variables a condition of core-CEL mentions, as the automata read it."""

from random import Random

import pytest

from cerify.automata.cea import variables
from cerify.automata.cea.variables import mentioned
from cerify.equivalence.generate.core_cel import ANYTHING, case
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel import variables as by_definition
from cerify.semantics.predicates import Anything


@pytest.mark.parametrize("both", [core.Conjunction, core.Disjunction])
def test_both_sides_of_a_condition_are_mentioned(both: type[core.Conjunction | core.Disjunction]) -> None:
    assert mentioned(both(core.Unary("x", Anything()), core.Unary("y", Anything()))) == {"x", "y"}


def test_the_variables_of_every_operator_are_those_of_the_definition() -> None:
    rng, met = Random(1), set[type]()
    for _ in range(300):
        phi, _ = case(rng, ANYTHING, 8, 1)
        for psi in core.subformulas(phi):
            met.add(type(psi))
            assert variables.defined_outside_iteration(psi) == by_definition.defined_outside_iteration(psi)
            assert variables.free(psi) == by_definition.free(psi)
            assert variables.bound(psi) == by_definition.bound(psi)
    assert met == {core.Event, core.Filter, core.Or, core.Seq, core.Plus, core.Strict, core.Next, core.Last, core.Max}
