"""Which variables a condition of core-CEL mentions, as the automata read it."""

from random import Random

import pytest

from cerify.automata.cea import compile_core
from cerify.automata.cea.compile_core import mentioned
from cerify.equivalence.generate.core_cel import ANYTHING, case
from cerify.semantics.core_cel import check as by_definition
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.predicates import Anything


@pytest.mark.parametrize("both", [core.CoreConjunction, core.CoreDisjunction])
def test_both_sides_of_a_condition_are_mentioned(both: type[core.CoreConjunction | core.CoreDisjunction]) -> None:
    assert mentioned(both(core.Unary("x", Anything()), core.Unary("y", Anything()))) == {"x", "y"}


def test_the_variables_of_every_operator_are_those_of_the_definition() -> None:
    rng, met = Random(1), set[type]()
    for _ in range(300):
        phi, _ = case(rng, ANYTHING, 8, 1)
        for psi in core.subformulas(phi):
            met.add(type(psi))
            assert compile_core.defined_outside_iteration(psi) == by_definition.defined_outside_iteration(psi)
            assert compile_core.free(psi) == by_definition.free(psi)
            assert compile_core.bound(psi) == by_definition.bound(psi)
    assert met == {
        core.CoreEventAtom,
        core.CoreFilter,
        core.CoreOr,
        core.CoreSeq,
        core.CorePlus,
        core.CoreStrict,
        core.CoreNext,
        core.CoreLast,
        core.CoreMax,
    }
