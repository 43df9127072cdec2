"""Random core-CEL formulas: the size, the operators and the good manners that were asked for."""

from dataclasses import replace
from random import Random

import pytest

from cerify.equivalence.generate.core_cel import ANYTHING, CORE_CEL_PROFILES, UNARY_FILTERS, case, formula, stream
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import is_safe, is_unary, is_well_formed, problems, require_typed
from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.core_cel.syntax import show, size
from proofs_tests.support import sampled


@pytest.mark.parametrize("number", sampled([150, 400], [150]))
@pytest.mark.parametrize("name", CORE_CEL_PROFILES)
def test_formulas_are_as_their_profile_says(name: str, number: int) -> None:
    profile, rng = CORE_CEL_PROFILES[name], Random(1)
    unbound = unsafe = 0
    for _ in range(number):
        phi = formula(rng, profile, rng.randint(1, 12))
        found = [problem for problem in problems(phi, profile.schema) if problem.rule == "unbound"]
        unbound += bool(found)
        unsafe += not is_safe(phi)
        if not found:
            assert is_well_formed(phi)
        if name == "core":
            assert is_unary(phi)
        assert parse(show(phi)) == phi
        require_typed(phi, profile.schema)
    assert (unsafe == 0) == profile.safe
    assert (unbound == 0) == profile.well_formed


@pytest.mark.parametrize("nodes", [1, 2, 3, 7, 12, 30])
def test_formulas_have_the_size_asked_for(nodes: int) -> None:
    """Fewer nodes only where a filter was dropped, for want of a variable to speak of."""
    rng = Random(nodes)
    for _ in range(50):
        assert size(formula(rng, ANYTHING, nodes)) == nodes
    sizes = [size(formula(rng, UNARY_FILTERS, nodes)) for _ in range(50)]
    assert max(sizes) == nodes
    assert sum(n == nodes for n in sizes) > 20


def test_every_operator_is_used() -> None:
    rng = Random(2)
    used = {type(psi) for _ in range(200) for psi in core.subformulas(formula(rng, ANYTHING, 10))}
    assert used == {
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


def test_the_variables_do_not_run_out() -> None:
    rng, profile = Random(3), replace(UNARY_FILTERS, operators=(("seq", 1),))
    assert all(is_safe(formula(rng, profile, 31)) for _ in range(20))


def test_the_same_seed_gives_the_same_case_and_many_match() -> None:
    assert [case(Random(5), ANYTHING, 8, 6)[0] for _ in range(3)] == [case(Random(5), ANYTHING, 8, 6)[0]] * 3
    cases = [case(Random(i), UNARY_FILTERS, 8, 6) for i in range(200)]
    assert all(1 <= len(S) <= 6 and S.schema == UNARY_FILTERS.schema for _, S in cases)
    assert sum(bool(matches_of(phi, S)) for phi, S in cases) > 80
    assert len(stream(Random(1), UNARY_FILTERS, 4)) == 4
