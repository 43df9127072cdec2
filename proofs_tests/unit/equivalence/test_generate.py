"""Generated queries and streams: of the size asked for, of the fragment asked for, and apt to match."""

from random import Random

import pytest

from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate.cel import CORE, EVERYTHING, PROFILES, CelProfile
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.check import require_typed
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show, size, subformulas
from proofs_tests.support import sampled

EVERY_OPERATOR = (
    cel.EventAtom, cel.In, cel.Filter, cel.Seq, cel.Plus, cel.ContiguousSeq, cel.ContiguousPlus, cel.Project, cel.Start,
    cel.Or, cel.And, cel.All, cel.Unless, cel.Strict, cel.Next, cel.Last, cel.Max,
)  # fmt: skip


def formulas(profile: CelProfile, number: int, nodes: int = 9) -> list[Formula]:
    rng = Random(3)
    return [generate.formula(rng, profile, nodes) for _ in range(number)]


@pytest.mark.parametrize("name", PROFILES)
def test_sizes_are_exact(name: str) -> None:
    rng = Random(1)
    for nodes in range(1, 13):
        assert {size(generate.formula(rng, PROFILES[name], nodes)) for _ in range(30)} == {nodes}


@pytest.mark.parametrize("number", sampled([100, 300], [100]))
@pytest.mark.parametrize("name", PROFILES)
def test_what_is_generated_can_be_written_and_is_well_typed(name: str, number: int) -> None:
    """A formula that its own text does not parse back to could never be put to an engine."""
    for phi in formulas(PROFILES[name], number):
        assert parse(show(phi)) == phi
        require_typed(phi, PROFILES[name].schema)


def test_the_core_is_the_core_and_everything_is_everything() -> None:
    core = {type(psi) for phi in formulas(CORE, 300) for psi in subformulas(phi)}
    assert core == {
        cel.EventAtom, cel.In, cel.Filter, cel.Seq, cel.Plus, cel.ContiguousSeq, cel.ContiguousPlus, cel.Or,
    }  # fmt: skip
    assert {type(psi) for phi in formulas(EVERYTHING, 500) for psi in subformulas(phi)} == set(EVERY_OPERATOR)


def test_filters_of_the_core_are_unary_and_speak_of_bound_variables() -> None:
    speaking, bound = 0, 0
    for phi in formulas(CORE, 500):
        for psi in subformulas(phi):
            if isinstance(psi, cel.Filter):
                inside = {n.type for n in subformulas(psi) if isinstance(n, cel.EventAtom)}
                inside |= {n.variable for n in subformulas(psi) if isinstance(n, cel.In)}
                for atom in cel.atoms(psi.condition):
                    assert isinstance(atom, cel.Every)
                    speaking += 1
                    bound += atom.variable in inside
    assert 0.9 < bound / speaking < 1  # and not all: a filter on an unbound variable has a meaning to be tested


@pytest.mark.parametrize("name", PROFILES)
def test_a_good_share_of_cases_match(name: str) -> None:
    """Two evaluators that agree on nothing but empty answers have shown little."""
    rng, matched = Random(5), 0
    for _ in range(200):
        phi, S = generate.case(rng, PROFILES[name], 12, 10)
        interpreter = Interpreter(S)
        matched += any(interpreter.meaning(phi, 0, n) for n in range(len(S)))
    assert matched > 70


def test_the_seed_decides() -> None:
    one, two, other = (generate.case(Random(seed), EVERYTHING, 12, 10) for seed in (7, 7, 8))
    assert (one[0], one[1].events) == (two[0], two[1].events)
    assert (one[0], one[1].events) != (other[0], other[1].events)


def test_some_attributes_are_absent_where_the_profile_says_so() -> None:
    S = generate.stream(Random(2), PROFILES["typed"], 200)
    left_out = sum(1 for event in S for name, _ in PROFILES["typed"].attributes if name not in event.attributes)
    assert 0.05 < left_out / (200 * len(PROFILES["typed"].attributes)) < 0.15
