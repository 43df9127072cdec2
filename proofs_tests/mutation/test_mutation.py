"""Every mutant of the clauses fails a case of the conformance suite, and in every clause one breaks a law."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from cerify.semantics.cel import denote
from proofs_tests.mutation.kill import SOURCE, Killed, answers, breaks, cases, killed, laws
from proofs_tests.mutation.patches import KINDS, PATCHES, DoesNotApply, Patch, clauses, patched


@cache
def found(patch: Patch) -> Killed:
    return killed(patch)


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: f"{patch.clause}: {patch.name}")
def test_a_case_of_the_suite_fails_with_the_mutant(patch: Patch) -> None:
    assert found(patch).case is not None


@pytest.mark.parametrize("clause", list(clauses()))
def test_in_each_clause_a_mutant_breaks_a_law(clause: str) -> None:
    assert any(found(patch).law is not None for patch in PATCHES if patch.clause == clause)


def test_there_are_enough_mutants_of_each_clause() -> None:
    counts = Counter(patch.clause for patch in PATCHES)
    assert set(counts) == set(KINDS)
    assert min(counts.values()) >= 4
    assert len(set(PATCHES)) == len(PATCHES)


def test_the_semantics_itself_breaks_no_law_and_fails_no_case() -> None:
    """Else a mutant would be killed by what has nothing to do with it."""
    assert not any(breaks(denote, law) for law in laws())
    assert all(answers(denote, phi, S, case) == set(case.matches) for case, phi, S in cases())


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        (Patch(";", "def sequenced", "no such text", ""), "stands 0 times, not once"),
        (Patch(";", "def sequenced", "k", ""), "not once"),
        (Patch(";", "def no_such_place", "k", ""), "begins 0 lines, not one"),
        (Patch(";", "case cel", "k", ""), "lines, not one"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_mutant_that_no_longer_applies_says_so(patch: Patch, says: str) -> None:
    with pytest.raises(DoesNotApply, match=says):
        patched(SOURCE, patch)


def test_an_edit_stays_in_its_place() -> None:
    """The same text stands in the clauses of + and IN."""
    patch = next(p for p in PATCHES if p.place == "case cel.In(psi, A):" and p.old == "meaning(psi, i, j)")
    after = patched(SOURCE, patch)
    assert after.count("meaning(psi, j, j)") == 1
    before, _, _ = after.partition("meaning(psi, j, j)")
    assert before.rstrip().splitlines()[-2].strip() == patch.place
