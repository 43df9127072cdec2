"""Laws, normal forms and translations, decided: not on streams that were tried, but on all."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from cerify.equivalence.decide.cel import equivalent
from cerify.equivalence.generate.cel import EVERYTHING, formula
from cerify.equivalence.generate.core_cel import CORE_CEL_PROFILES
from cerify.equivalence.generate.core_cel import formula as core_formula
from cerify.equivalence.rewrite.laws import LAWS, Law
from cerify.equivalence.rewrite.normal_forms import (
    core_disjunctive,
    disjunctive,
    lp_normal,
    push_filters,
    push_in,
    safe,
)
from cerify.equivalence.rewrite.translate_core_cel import to_cel, to_core_cel
from cerify.equivalence.verdict import Different, Equivalent, Undecided
from cerify.semantics.cel.check import is_unary
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import BudgetExceeded, IllFormed, Unsupported
from proofs_tests.support import sampled

TINY = replace(EVERYTHING, types=("A", "B"), correlated=0.0, attributes=(("x", (0, 1)),))
ABC = tuple(map(parse, "ABC"))
UNARY = [law for law in LAWS if all(map(is_unary, law.instance(*ABC)))]
OPERANDS = ["A", "B", "C", "A+", "A OR B", "A : B", "A ; B", "B IN X", "A FILTER A.x > 0", "A ALL B"]


HOLDING = [law for law in UNARY if law.holds]


@pytest.mark.parametrize("law", sampled(HOLDING, HOLDING[::4]), ids=lambda law: law.name)
def test_a_law_holds_on_all_streams(law: Law) -> None:
    rng = Random(law.name)
    for _ in range(6):
        operands = [parse(rng.choice(OPERANDS)) for _ in range(3)]
        if law.applies(*operands):
            left, right = law.instance(*operands)
            assert isinstance(equivalent(left, right, law.level), Equivalent)


@pytest.mark.parametrize("law", [law for law in UNARY if not law.holds], ids=lambda law: law.name)
def test_a_law_that_fails_has_no_shorter_witness(law: Law) -> None:
    """The stream that the page shows is a shortest for its operands."""
    assert law.witness is not None
    left, right = law.instance(*law.witness.formulas)
    verdict = equivalent(left, right, law.level)
    assert isinstance(verdict, Different)
    assert len(verdict.stream) == law.witness.at + 1


@pytest.mark.parametrize("rewrite", [disjunctive, push_in, push_filters], ids=lambda rewrite: rewrite.__name__)
def test_a_normal_form_has_the_same_valuations(rewrite) -> None:  # type: ignore[no-untyped-def]
    rng, decided = Random(1), 0
    while decided < 40:
        if not is_unary(phi := formula(rng, TINY, rng.randint(1, 7))):
            continue
        verdict = equivalent(phi, rewrite(phi), "valuations")
        assert not isinstance(verdict, Different)
        decided += isinstance(verdict, Equivalent)


@pytest.mark.parametrize("rewrite", [core_disjunctive, safe, lp_normal], ids=["disjunctive", "safe", "lp_normal"])
def test_a_normal_form_of_core_cel_has_the_same_complex_events(rewrite) -> None:  # type: ignore[no-untyped-def]
    rng, decided = Random(2), 0
    while decided < 25:
        phi = core_formula(rng, CORE_CEL_PROFILES["core"], rng.randint(1, 6))
        try:
            before, after = to_cel(phi), to_cel(rewrite(phi))
        except (Unsupported, IllFormed, BudgetExceeded):
            continue
        verdict = equivalent(before, after)
        assert not isinstance(verdict, Different)
        decided += isinstance(verdict, Equivalent)


def test_there_and_back_is_the_same() -> None:
    rng, decided = Random(3), 0
    while decided < 25:
        phi = formula(rng, TINY, rng.randint(1, 6))
        try:
            back = to_cel(to_core_cel(phi))
        except (Unsupported, BudgetExceeded):
            continue
        verdict = equivalent(phi, back)
        assert not isinstance(verdict, Different)
        decided += isinstance(verdict, Equivalent)


def test_most_of_this_is_decided() -> None:
    """What is not unary, or not within the solver's reach, is not counted above: here is how often that is so."""
    rng = Random(4)
    formulas = [phi for _ in range(60) if is_unary(phi := formula(rng, TINY, 6))]
    undecided = [phi for phi in formulas if isinstance(equivalent(phi, push_in(phi)), Undecided)]
    assert len(undecided) <= 3
