"""The ledger runs, its entries are whole, and what is known to be wrong in print stays found."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA
from cerify.automata.cea.run import valuations
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.parse import parse
from proofs_tests.claims.everything import LISTED, missing
from proofs_tests.claims.ledger import LEDGER, Finding, claim
from proofs_tests.claims.page import page, quick, with_totals
from proofs_tests.claims.planted import PLANTED, Planted
from proofs_tests.claims.tods21_constructions import by_theorem_6_2, by_theorem_7_2
from proofs_tests.support import complex_events, stream

ROOT = Path(__file__).parent.parent.parent

# The smallest counterexamples found, and what the printed construction makes of them at the last position.
ERRATA = [
    ("A:+", "A A A", by_theorem_6_2, {(1, 2), (2,)}),
    ("A ALL START(B)", "A A B", by_theorem_6_2, {(1, 2)}),
    ("A UNLESS B", "B A", by_theorem_6_2, {(1,)}),
    ("NXT((A OR A+ IN X) ; A)", "A A A", by_theorem_7_2("nxt"), {(0, 1, 2), (0, 2)}),
    ("LAST(START((A OR A+ IN X) ; A))", "A A A", by_theorem_7_2("last"), {(0, 1, 2), (0, 2)}),
    ("MAX((A OR A+ IN X) ; A)", "A A A", by_theorem_7_2("max"), {(0, 1, 2), (0, 2)}),
]


REFUTED = {"vldb92.racket:points"}


@pytest.mark.parametrize("id_", LEDGER)
def test_each_claim_passes_its_check_at_least_corrected(id_: str) -> None:
    found = quick(id_)
    assert found["bound"]
    assert (found["status"] == "refuted") == (id_ in REFUTED), found
    assert (found["status"] in ("holds-corrected", "refuted")) == (found["counterexample"] is not None)
    assert (found["status"] == "holds-corrected") == (found["correction"] is not None)
    assert (found["status"] == "open") == (found["evidence"] is None)
    json.dumps(found)


def test_every_listed_claim_has_an_entry() -> None:
    assert missing() == []
    assert len(LISTED) == len(set(LISTED))


def test_the_page_is_current() -> None:
    """If not: cerify claims --write docs/claims.md."""
    assert (ROOT / "docs" / "claims.md").read_text(encoding="utf-8") == page()


def test_the_errata_name_every_claim_that_fails_as_printed() -> None:
    errata = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    failing = [id_ for id_ in LEDGER if quick(id_)["counterexample"] is not None]
    assert len(failing) > 40
    assert [id_ for id_ in failing if f"`{id_}`" not in errata] == []


def test_nine_in_ten_claims_are_more_than_sampled() -> None:
    weak = [id_ for id_ in LEDGER if quick(id_)["evidence"] in (None, "random")]
    assert len(weak) <= len(LEDGER) / 10, weak


def test_the_totals_of_the_readme_are_current() -> None:
    page()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "| open |" in readme
    assert with_totals(readme) == readme


def test_the_command_runs_a_few_in_parallel() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "cerify.cli", "claims", "tods21.ex3", "--jobs", "2", "--json"],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [one["id"] for one in found] == [id_ for id_ in LEDGER if id_.startswith("tods21.ex3")]
    assert {one["status"] for one in found} == {"holds"}


def test_an_id_that_is_none_is_an_error() -> None:
    ran = subprocess.run([sys.executable, "-m", "cerify.cli", "claims", "tods99"], capture_output=True, text=True)
    assert (ran.returncode, "no entry begins with tods99" in ran.stderr) == (2, True)


@pytest.mark.parametrize(("query", "types", "printed", "wrong"), ERRATA, ids=[query for query, *_ in ERRATA])
def test_a_printed_construction_fails_and_ours_does_not(query, types, printed, wrong) -> None:  # type: ignore[no-untyped-def]
    phi, S = parse(query), stream(types)
    n = len(S) - 1

    def outputs(A: CEA) -> set[tuple[int, ...]]:
        return {tuple(sorted(sup(mu))) for mu in valuations(A, S, n)}

    right = complex_events(query, S, n)
    assert outputs(printed(phi)) == wrong
    assert outputs(compile_cel(phi)) == right
    assert wrong != right


def test_an_id_is_entered_once() -> None:
    with pytest.raises(ValueError, match=r"tods21\.fig8"):
        claim("tods21.fig8", "again", "figure")(lambda effort: Finding("open", "proof", ""))


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.claim)
def test_a_planted_error_is_found(planted: Planted) -> None:
    assert planted.finding().status == "refuted"
