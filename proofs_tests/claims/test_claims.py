"""The ledger runs, its entries are whole, and what is known to be wrong in print stays found."""

import pytest

from proofs_tests.claims import tods21_core  # noqa: F401  (enters its claims)
from proofs_tests.claims.ledger import LEDGER, Finding, claim, entry

KNOWN_ERRORS = {"tods21.thm6.2:cplus"}


@pytest.mark.parametrize("id_", LEDGER)
def test_each_claim_has_the_status_we_know(id_: str) -> None:
    found = entry(LEDGER[id_])
    assert found["status"] == ("holds-corrected" if id_ in KNOWN_ERRORS else "holds"), found
    assert found["bound"]
    assert (found["counterexample"] is not None) == (id_ in KNOWN_ERRORS)


def test_the_smallest_counterexample_to_contiguous_iteration_is_three_rounds_of_one_event() -> None:
    case = entry(LEDGER["tods21.thm6.2:cplus"])["counterexample"]
    assert case["query"] == "A:+"
    assert len(case["events"]) == 3
    assert len(case["expected"]) == len(case["got"]) + 1


def test_an_id_is_entered_once() -> None:
    with pytest.raises(ValueError, match=r"tods21\.fig8"):
        claim("tods21.fig8", "again", "figure")(lambda: Finding("open", "proof", ""))
