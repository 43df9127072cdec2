"""Certificates, states, cases and links that were changed are refused or mean the same: some of the campaign."""

from __future__ import annotations

from typing import Any

import pytest

from proofs_tests.campaigns import tampered
from proofs_tests.campaigns.tampered import KINDS, tried

pytestmark = pytest.mark.filterwarnings("ignore::cerify.semantics.errors.InputWarning")  # of changed links


@pytest.mark.parametrize("name", KINDS)
def test_no_edit_is_believed(name: str) -> None:
    counted, wrong = tried(name, 150, seed=0)
    assert wrong == []
    assert counted["refused"] > 50


def test_a_checker_that_takes_everything_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for language in tampered.LANGUAGES.values():
        monkeypatch.setattr(type(language.deciders), "flaw", lambda self, certificate, budget: None)
    _, wrong = tried("certificate", 150, seed=0)
    assert any("Different" in line for line in wrong)


def test_a_case_with_other_matches_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second opinion that nothing matches differs from what the cases say, and from what the page shows of a link."""

    def none(*arguments: Any) -> frozenset[Any]:
        return frozenset()

    monkeypatch.setattr(tampered, "second_opinion", none)
    for name in ("suite", "link"):
        assert tried(name, 150, seed=0)[1], name
