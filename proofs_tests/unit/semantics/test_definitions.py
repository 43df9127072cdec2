"""A small share of the campaign that compares definitions with what computes the same; it finds planted faults."""

from collections import Counter
from random import Random

import pytest

from cerify.semantics.cel import interpreter
from cerify.semantics.cel import syntax as cel
from proofs_tests.campaigns.definitions import DEFINITIONS, differing
from proofs_tests.support import sampled


@pytest.mark.parametrize("number", sampled([60, 400], [60]))
@pytest.mark.parametrize("language", DEFINITIONS)
def test_definitions_agree(language: str, number: int) -> None:
    rng, counts = Random(language), Counter[str]()
    found = [line for _ in range(number) for line in differing(DEFINITIONS[language], rng, 4, 4, counts)]
    assert not found
    assert counts["matched"] > number // 4
    assert all(counts[f"{name} agrees"] > number // 2 for name in ("interpreter", "automaton", "kernel"))


def test_a_clause_that_is_skipped_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "INHERITING", interpreter.INHERITING | {cel.Next, cel.Last, cel.Max})
    rng, counts = Random(1), Counter[str]()
    assert any(line for _ in range(300) for line in differing(DEFINITIONS["cel"], rng, 5, 5, counts))
