"""Each lemma of docs/theory is valid, each broken one is not, and the pages and the lemmas name each other."""

import re
from pathlib import Path

import pytest
import z3

from proofs_tests.claims.everything import LISTED  # noqa: F401  (enters the claims)
from proofs_tests.claims.ledger import LEDGER
from proofs_tests.lemmas.everything import LEMMAS, Lemma
from proofs_tests.lemmas.lemma import lemma, refuted

PAGES = sorted((Path(__file__).parent.parent.parent / "docs" / "theory").glob("*.md"))
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


@pytest.mark.parametrize("lemma_", LEMMAS.values(), ids=LEMMAS)
def test_a_lemma_is_valid_and_its_broken_version_is_not(lemma_: Lemma) -> None:
    assert not refuted(lemma_.statement)
    assert refuted(lemma_.broken)


def test_the_proofs_use_each_lemma_and_no_other() -> None:
    cited = set(re.findall(r"`((?:orders|intervals|star)\.[a-z-]+)`", TEXT))
    assert cited == set(LEMMAS)


def test_the_entries_that_the_proofs_name_are_in_the_ledger() -> None:
    named = set(re.findall(r"`((?:tods21|cep17|vldb92|sase07)\.[^`]+)`", TEXT))
    assert named
    assert [id_ for id_ in named if not any(known == id_ or known.startswith(f"{id_}:") for known in LEDGER)] == []


def test_a_lemma_is_entered_once() -> None:
    with pytest.raises(ValueError, match=r"orders\.next-tied"):
        lemma("orders.next-tied", "again", z3.BoolVal(True), z3.BoolVal(False))


def test_a_statement_that_z3_leaves_open_is_an_error() -> None:
    f = z3.Function("f", z3.IntSort(), z3.IntSort())
    x, y, n = z3.Ints("x y n")
    hard = z3.And(n > 2, x > 0, y > 0, f(x) ** n + f(y) ** n == f(x + y) ** n)
    from proofs_tests.lemmas import lemma as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PATIENCE", 200)
        with pytest.raises(TimeoutError, match="z3 gives up"):
            refuted(z3.Not(hard))
