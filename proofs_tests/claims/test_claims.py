"""The ledger runs, its entries are whole, and what is known to be wrong in print stays found."""

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.parse import parse
from cerify.semantics.event_expressions import syntax as expr
from proofs_tests.claims import errata_page, vldb92_automata, vldb92_language, vldb92_search
from proofs_tests.claims import run as runner
from proofs_tests.claims.__main__ import main
from proofs_tests.claims.automata import automata
from proofs_tests.claims.cea_runs import valuations
from proofs_tests.claims.errata import ALL_ERRATA as ERRATA
from proofs_tests.claims.errata import Erratum, lines
from proofs_tests.claims.everything import LISTED, missing
from proofs_tests.claims.ledger import LEDGER, OPEN, PLANTED, Finding, claim, plant
from proofs_tests.claims.page import page, quick, with_totals
from proofs_tests.claims.tods21_constructions import by_theorem_6_2, by_theorem_7_2
from proofs_tests.conftest import Run
from proofs_tests.support import complex_events, sampled, stream

ROOT = Path(__file__).parent.parent.parent

# The smallest counterexamples found, and what the printed construction makes of them at the last position.
AS_PRINTED = [
    ("A:+", "A A A", by_theorem_6_2, {(1, 2), (2,)}),
    ("A ALL START(B)", "A A B", by_theorem_6_2, {(1, 2)}),
    ("A UNLESS B", "B A", by_theorem_6_2, {(1,)}),
    ("NXT((A OR A+ IN X) ; A)", "A A A", by_theorem_7_2("nxt"), {(0, 1, 2), (0, 2)}),
    ("LAST(START((A OR A+ IN X) ; A))", "A A A", by_theorem_7_2("last"), {(0, 1, 2), (0, 2)}),
    ("MAX((A OR A+ IN X) ; A)", "A A A", by_theorem_7_2("max"), {(0, 1, 2), (0, 2)}),
]


SLOW = {
    "acel26.bags",
    "cep17.alg1",
    "cep17.alg2",
    "cep17.alg3",
    "cep17.alg4",
    "cep17.alg5",
    "cep17.alg6",
    "cep17.alg7",
    "cep17.alg8",
    "cep17.appC.2",
    "cep17.appC.3:last",
    "cep17.appC.3:max",
    "cep17.appC.3:nxt",
    "cep17.appC.3:strict",
    "cep17.appE:espertech",
    "cep17.appE:sase",
    "cep17.enum*",
    "cep17.fig4",
    "cep17.fig5",
    "cep17.lem2",
    "cep17.lem2:size",
    "cep17.lemB.10",
    "cep17.lemB.12",
    "cep17.lemB.12:size",
    "cep17.lemB.8",
    "cep17.lemC.14:last",
    "cep17.lemC.14:nxt",
    "cep17.lemC.16",
    "cep17.lemC.18",
    "cep17.not-in-cel",
    "cep17.prop1:complement",
    "cep17.prop1:io-determinization",
    "cep17.sec3:+",
    "cep17.sec3:;",
    "cep17.sec3:FILTER",
    "cep17.sec3:OR",
    "cep17.sec3:sugar",
    "cep17.sec3:valuation",
    "cep17.sec4:last",
    "cep17.sec4:max",
    "cep17.sec4:nxt",
    "cep17.sec4:strict",
    "cep17.tab2",
    "cep17.thm1",
    "cep17.thm1:size",
    "cep17.thm2",
    "cep17.thm2:size",
    "cep17.thm3",
    "cep17.thm3:size",
    "cep17.thm4:last",
    "cep17.thm4:last-size",
    "cep17.thm4:max",
    "cep17.thm4:max-size",
    "cep17.thm4:nxt",
    "cep17.thm4:nxt-size",
    "cep17.thm4:strict",
    "cep17.thm5",
    "cep17.thm6:last",
    "cep17.thm6:max",
    "cep17.thm6:nxt",
    "cep17.thm6:strict",
    "eql.by",
    "eql.keyless",
    "icde08.break",
    "icde08.time-constraint",
    "icdt20.binary",
    "icdt20.incomparable:one",
    "icdt20.incomparable:sets",
    "icdt20.unary:one-to-sets",
    "icdt20.unary:sets-to-one",
    "icdt22.swg",
    "icdt25.joins",
    "pods25.lower-bound",
    "sase07.aggregates",
    "sase07.cayuga:proper",
    "sase07.cayuga:sections",
    "sase07.def-nfab",
    "sase07.def-run",
    "sase07.fig1",
    "sase07.fig2",
    "sase07.in-cel",
    "sase07.lem4.2",
    "sase07.lemA.1",
    "sase07.negation",
    "sase07.sec2.2:where",
    "sase07.secA.1:identifiers",
    "sase07.secA.1:pattern",
    "sase07.secA.1:terms",
    "sase07.sqlts:proper",
    "sase07.strategies",
    "sase07.thm4.1:1-2",
    "sase07.thm4.1:5-1",
    "sase07.thm4.1:5-1-closure",
    "sase07.thm4.1:times",
    "sase07.thm4.3",
    "sase07.thm4.5",
    "sase07.thm4.6",
    "sigmod14.counts",
    "tods21.alg1",
    "tods21.alg2",
    "tods21.cor6.4",
    "tods21.cor8.10",
    "tods21.cor8.11:all",
    "tods21.cor8.11:and",
    "tods21.cor9.3",
    "tods21.def5.1",
    "tods21.def6.1",
    "tods21.def8.4",
    "tods21.def8.7",
    *(id_ for id_ in LEDGER if id_.startswith("tods21.fig3:") and id_ != "tods21.fig3:event"),
    "tods21.fig6",
    "tods21.fig6:strict-not-in-cplus",
    "tods21.lem8.2",
    "tods21.lem8.3",
    "tods21.lemB.1",
    "tods21.lemD.1",
    "tods21.prop8.12:containment",
    "tods21.prop8.12:filter",
    "tods21.prop8.15",
    "tods21.prop8.15:arity",
    "tods21.prop8.15:or",
    "tods21.prop8.5",
    "tods21.prop8.8",
    "tods21.prop9.2",
    "tods21.sec4:at-n",
    "tods21.thm6.2:all",
    "tods21.thm6.2:and",
    "tods21.thm6.2:cplus",
    "tods21.thm6.2:cseq",
    "tods21.thm6.2:event",
    "tods21.thm6.2:filter",
    "tods21.thm6.2:in",
    "tods21.thm6.2:or",
    "tods21.thm6.2:plus",
    "tods21.thm6.2:project",
    "tods21.thm6.2:seq",
    "tods21.thm6.2:start",
    "tods21.thm6.2:unless",
    "tods21.thm6.3",
    "tods21.thm7.2:last",
    "tods21.thm7.2:max",
    "tods21.thm7.2:nxt",
    "tods21.thm7.2:nxt-size",
    "tods21.thm7.2:size",
    "tods21.thm8.9:to-cel",
    "tods21.thm9.1",
    "tods21.window4",
    "vldb22.partition",
    "vldb22.window",
    "vldb23.joins",
    "vldb23.joins:rows-differ",
    "vldb23.joins:self-contained",
    "vldb92.attr",
    "vldb92.attr-spawn",
    "vldb92.attr-spawn:several",
    *(f"vldb92.constr:{name}" for name in ("and", "not", "pipe", "prefix", "relative", "relative+", "slashplus")),
    "vldb92.constr-corr:and",
    "vldb92.constr-corr:exists",
    "vldb92.cor1",
    "vldb92.corr-general",
    *(f"vldb92.derived:{name}" for name in ("a", "c", "d", "e", "e2", "g", "h", "h1", "i", "j", "j2")),
    *(f"vldb92.derived:{name}" for name in ("k", "l", "m", "n", "o", "p")),
    "vldb92.minimal:and",
    "vldb92.minimal:not",
    "vldb92.minimal:relative",
    *(f"vldb92.occ:{name}" for name in ("and", "not", "relative", "relative+")),
    "vldb92.ops:not",
    "vldb92.ops:relative+",
    "vldb92.racket:points",
    "vldb92.racket:prefix",
    "vldb92.regular:to",
    "vldb92.sec2.1:history",
    "vldb92.sec2:masks",
    "vldb92.slashplus-corr",
    "vldb92.thm1",
    "vldb92.thm2",
}
"""Claims whose check, alone or with its planted error, takes a fifth of a second: for `pytest -m thorough`."""

NONE = Erratum("None", ("tods21.none",), "", "")
HOLDS = Erratum("Holds", ("tods21.alg1",), "", "")


@pytest.mark.parametrize("id_", sampled(LEDGER, LEDGER.keys() - SLOW))
def test_each_claim_passes_its_check_at_least_corrected(id_: str) -> None:
    found = quick(id_)
    assert found["bound"]
    assert found["status"] != "refuted", found
    fails = ("holds-corrected", "refuted", "text-damaged")
    assert (found["status"] in fails) == (found["counterexample"] is not None)
    assert (found["status"] in ("holds-corrected", "text-damaged")) == (found["correction"] is not None)
    assert (found["status"] == "open") == (found["evidence"] is None)
    if found["evidence"] == "random":
        assert any(word in found["bound"] for word in ("seed", "every", "sample")), "a sample says how it is drawn"
    if found["evidence"] == "exhaustive":
        assert "all" in found["bound"].split(), "all of what"
    json.dumps(found)


@pytest.mark.parametrize(("seed", "of_three"), [(3, 15), (4, 19), (5, 23), (6, 21), (8, 20), (9, 15)])
def test_the_small_automata_are_as_many_as_the_page_says(seed: int, of_three: int) -> None:
    """Of one state 2^3 - 1; of two, of the sets of at most 3 of 12 transitions those with one of 3 from 0 to 1."""
    found = list(automata("quick", seed))
    two = sum(math.comb(12, n) - math.comb(9, n) for n in (1, 2, 3))
    assert [sum(A.states == n for A in found) for n in (1, 2, 3)] == [7, two, of_three] == [7, 169, of_three]
    assert len({(A.states, frozenset(A.transitions)) for A in found}) == len(found)


def test_every_listed_claim_has_an_entry() -> None:
    assert missing() == []
    assert len(LISTED) == len(set(LISTED))


@pytest.mark.thorough
def test_the_page_is_current() -> None:
    """If not: cerify claims --write docs/claims.md."""
    assert (ROOT / "docs" / "claims.md").read_text(encoding="utf-8") == page()


@pytest.mark.thorough
def test_each_claim_that_fails_has_one_erratum() -> None:
    assert list(errata_page.problems()) == []
    assert sum(len(erratum.claims) for erratum in ERRATA) > 30


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("told", "problem"),
    [
        (ERRATA[1:], "tods21.thm6.2:cplus is holds-corrected, and no erratum is about it"),
        ([*ERRATA, HOLDS], "an erratum is about tods21.alg1, which is holds"),
        ([*ERRATA, replace(HOLDS, claims=("sase07.cayuga",))], "an erratum is about sase07.cayuga, which is open"),
        ([*ERRATA, ERRATA[0]], "2 errata are about tods21.thm6.2:cplus"),
        ([*ERRATA, NONE], "an erratum is about tods21.none, which is no claim"),
    ],
)
def test_other_errata_are_told(told: list[Erratum], problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errata_page, "ALL_ERRATA", told)
    assert list(errata_page.problems()) == [problem]


@pytest.mark.thorough
def test_the_page_of_the_errata_is_current() -> None:
    """If not: cerify claims --write docs/claims.md."""
    assert (ROOT / "docs" / "errata.md").read_text(encoding="utf-8") == errata_page.page()


@pytest.mark.thorough
def test_what_a_check_finds_is_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    id_ = "tods21.thm6.2:unless"
    found = quick(id_)
    other = found | {
        "status": "refuted",
        "counterexample": found["counterexample"] | {"query": "B UNLESS A", "got": []},
        "correction": "another one",
    }
    monkeypatch.setattr(errata_page, "quick", lambda asked: other if asked == id_ else quick(asked))
    written = errata_page.page()
    assert written.count("B UNLESS A") == 1
    assert written.count("another one") == 1
    assert any(line.startswith("|") and f"`{id_}`" in line and "refuted" in line for line in written.splitlines())
    assert f"\n`{id_}`: *refuted*.\n" in written


@pytest.mark.thorough
def test_an_erratum_is_of_one_paper_and_has_an_anchor_of_its_own() -> None:
    assert len({erratum.anchor for erratum in ERRATA}) == len(ERRATA)
    for erratum in ERRATA:
        assert {id_.partition(".")[0] for id_ in erratum.claims} == {erratum.paper}
        assert f"(errata.md#{erratum.anchor})" in page()


@pytest.mark.thorough
def test_both_pages_are_written_together(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "README.md", tmp_path)
    ran = CliRunner().invoke(main, ["--write", str(tmp_path / "docs" / "claims.md"), "--jobs", "1"])
    assert ran.exit_code == 0, ran.output
    for name in ("docs/claims.md", "docs/errata.md", "README.md"):
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()


@pytest.mark.thorough
def test_no_page_is_written_if_an_erratum_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errata_page, "ALL_ERRATA", ERRATA[1:])
    ran = CliRunner().invoke(main, ["--write", str(tmp_path / "claims.md"), "--jobs", "1"])
    assert (ran.exit_code, "tods21.thm6.2:cplus is holds-corrected" in ran.output) == (1, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_every_case_of_the_ledger_is_shown_whole() -> None:
    """Nothing is left as Python writes it."""
    for id_ in LEDGER:
        text = "\n".join(lines(quick(id_)["counterexample"] or {}))
        assert "': " not in text
        assert "[[" not in text


@pytest.mark.thorough
def test_nine_in_ten_claims_are_more_than_sampled() -> None:
    weak = [id_ for id_ in LEDGER if quick(id_)["evidence"] in (None, "random")]
    assert len(weak) <= len(LEDGER) / 10, weak


@pytest.mark.thorough
def test_the_totals_of_the_readme_are_current() -> None:
    page()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "| open |" in readme
    assert with_totals(readme) == readme


@pytest.mark.parametrize("jobs", sampled(["1", "2"], ["1"]))
def test_the_command_runs_a_few(run: Run, jobs: str) -> None:
    status, out, err = run("claims", "tods21.ex3", "--jobs", jobs, "--json")
    assert status == 0, err
    found = [json.loads(line) for line in out.splitlines()]
    assert [one["id"] for one in found] == [id_ for id_ in LEDGER if id_.startswith("tods21.ex3")]
    assert {one["status"] for one in found} == {"holds"}


@pytest.mark.parametrize("ids", [["tods99"], ["tods21.ex3", "tods99"]])
def test_an_id_that_is_none_is_an_error(ids: list[str]) -> None:
    ran = CliRunner().invoke(main, ids)
    assert (ran.exit_code, "no entry begins with tods99;" in ran.stderr) == (2, True)


@pytest.mark.parametrize(("query", "types", "printed", "wrong"), AS_PRINTED, ids=[query for query, *_ in AS_PRINTED])
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


def test_each_entry_with_a_check_has_a_planted_error() -> None:
    assert PLANTED.keys() == LEDGER.keys() - OPEN


@pytest.mark.parametrize("id_", sampled(PLANTED, PLANTED.keys() - SLOW))
def test_a_planted_error_is_found(id_: str) -> None:
    assert PLANTED[id_].finding().status == PLANTED[id_].says


def test_what_is_replaced_comes_back() -> None:
    before = PLANTED["tods21.thm6.2:start"].owner._anchor
    PLANTED["tods21.thm6.2:start"].finding()
    assert PLANTED["tods21.thm6.2:start"].owner._anchor is before


def test_an_error_is_planted_once() -> None:
    with pytest.raises(ValueError, match=r"tods21\.fig8"):
        plant("tods21.fig8", "again", json, "dumps", lambda right: right)


def test_the_command_plants_errors(run: Run) -> None:
    status, out, err = run("claims", "tods21.fig8", "vldb92.ops:null", "--planted", "--jobs", "2")
    assert status == 0, err
    assert "tods21.fig8: a node has the last child only: found" in out
    assert out.endswith("3 of 3 found\n")


def test_an_error_that_is_not_found_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    blind = replace(PLANTED["tods21.fig8"], broken=lambda right: right)
    monkeypatch.setitem(PLANTED, "tods21.fig8", blind)
    assert blind.finding().status != blind.says
    monkeypatch.delitem(PLANTED, "tods21.fig8")
    monkeypatch.setattr(runner, "planted", lambda ids, jobs: map(runner._planted, ids))
    ran = CliRunner().invoke(main, ["tods21.fig8", "--planted"])
    assert (ran.exit_code, ran.output) == (1, "tods21.fig8: NO ERROR IS PLANTED\n0 of 1 found\n")
    monkeypatch.setitem(PLANTED, "tods21.fig8", blind)
    ran = CliRunner().invoke(main, ["tods21.fig8", "--planted"])
    assert (ran.exit_code, "only: NOT FOUND" in ran.output) == (1, True)


def _relative(E: expr.Expression, F: expr.Expression) -> expr.Expression:
    return expr.Relative((E, F))


@pytest.mark.parametrize(
    ("Es", "wrong"),
    [
        (vldb92_automata.rooted("relative+", 2), lambda E: E.operand),
        (vldb92_automata.rooted("pipe", 2), lambda E: expr.ExpressionAnd(E.left, E.right)),
        (vldb92_automata.rooted("slashplus", 2), lambda E: _relative(E.right, E.left)),
        ([expr.After(E, F) for E, F in product(vldb92_search.LEAVES, repeat=2)], lambda E: _relative(E.right, E.left)),
        ([expr.Prior(of) for of in product(vldb92_search.LEAVES, repeat=2)], lambda E: expr.Relative(E.parts)),
        ([expr.Sequence(of) for of in product(vldb92_language.THREE, repeat=3)], lambda E: expr.Prior(E.parts)),
    ],
    ids=["relative+", "pipe", "slashplus", "after", "prior", "sequence of three"],
)
def test_the_expressions_looked_at_tell_an_operator_from_a_simpler_one(
    Es: list[expr.Expression], wrong: Callable[[Any], expr.Expression]
) -> None:
    """Of operands whose taking place depends on no other event each of these operators is the simpler one."""
    cases = product(Es, vldb92_search.histories(4))
    assert any(vldb92_search.meaning(E, h) != vldb92_search.meaning(wrong(E), h) for E, h in cases)


def test_expressions_to_three_nodes_tell_prefix_from_always_and_never() -> None:
    for E in (vldb92_search.AFTER_A, expr.Relative((vldb92_search.FIRST, vldb92_search.FIRST))):
        answers = {len(h) - 1 in vldb92_search.meaning(expr.Prefix(E), h) for h in vldb92_search.histories(2)}
        assert answers == {True, False}
