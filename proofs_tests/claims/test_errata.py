"""How a counterexample of the ledger is shown. That the errata are those of the ledger is in test_claims.py."""

import re
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.claims.errata import ALL_DAMAGED as DAMAGED
from proofs_tests.claims.errata import ALL_ERRATA as ERRATA
from proofs_tests.claims.errata import TEXTS, Erratum, lines
from proofs_tests.claims.everything import PAPERS
from proofs_tests.claims.page import escaped
from proofs_tests.claims.sase_power import recognized, regular_query
from proofs_tests.claims.tods21_measured import printed_delays

DOCS = Path(__file__).parent.parent.parent / "docs"

AUTOMATON = {
    "initial": [0],
    "final": [0, 1],
    "transitions": [{"from": 0, "on": "any", "mark": False, "to": 0}, {"from": 0, "on": "A", "mark": True, "to": 1}],
}
CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({"query": "A *\n  [x]"}, ["- query: `A * [x]`"]),
    ({"events": [{"type": "A"}, {"type": "B", "x": 0, "y": "k"}]}, ["- stream: `A B(x=0, y=k)`"]),
    (
        {"at": 2, "expected": [], "got": [[0], [0, 2]]},
        ["- position: 2", "- expected: nothing", "- as printed: {0}, {0, 2}"],
    ),
    ({"got": [[["A", 0], ["A", 2], ["X", 0]], []]}, ["- as printed: {A: 0, 2; X: 0}, {}"]),
    ({"got": [[["•", 0], ["•", 2]]]}, ["- as printed: {0, 2}"]),
    ({"expected": [0, 2]}, ["- expected: 0, 2"]),
    ({"expected": ["0,1 2", "3"]}, ["- expected: `0,1 2`, `3`"]),
    ({"why": "a_b < `a_b`", "values": 0.5}, ["- since: a\\_b \\< `a_b`", "- values: 0.5"]),
    ({"automaton": AUTOMATON}, ["- automaton: `0 ◦ 0, 0 • 1 on A`; initial 0, final 0, 1"]),
    (
        {"runs": [{"marks": [1], "ends in": 0}, {"marks": [], "ends in": 2}]},
        ["- runs: marks 1, ends in 0; marks nothing, ends in 2"],
    ),
    ({"on a formula": {"events": [{"type": "A"}], "at": 0}}, ["- on a formula:", "  - stream: `A`", "  - position: 0"]),
]


@pytest.mark.parametrize(("case", "shown"), CASES, ids=[" ".join(case) for case, _ in CASES])
def test_a_case_is_shown(case: dict[str, Any], shown: list[str]) -> None:
    assert list(lines(case)) == shown


def test_signs_are_escaped_but_for_code() -> None:
    assert escaped("a_b `c_d` * [e](f) | <g>") == "a\\_b `c_d` \\* \\[e\\]\\(f) \\| \\<g>"


def test_the_anchor_is_that_of_the_heading() -> None:
    assert Erratum("Theorem 4.1, A+ and B", ("x.y",), "", "").anchor == "theorem-41-a-and-b"


def test_algorithm_1_comes_back_from_each_node_of_a_list() -> None:
    """By hand, for n times A before B B C: n calls of line 7 return, and five steps lead to the next output."""
    for n in (3, 30):
        assert max(steps for steps, _ in printed_delays(n, line_7_is_a_loop=False)) == n + 5
        assert max(steps for steps, _ in printed_delays(n, line_7_is_a_loop=True)) == 6
        assert [length for _, length in printed_delays(n, line_7_is_a_loop=False)] == [3] * 2 * n


@pytest.mark.parametrize(("word", "expected"), [("A", False), ("AA", True), ("AAA", False), ("AAAAAA", True)])
def test_a_composed_query_recognizes_the_words_of_even_length(word: str, expected: bool) -> None:
    """sase07, Theorem 4.1, 1 implies 2, for (aa)+: without times, aggregates and negation."""
    even = regular_query({(0, "A"): 1, (1, "A"): 0}, 0, {0})
    assert recognized(even, 4, word) == expected


def test_a_composed_query_reads_two_letters() -> None:
    """An even number of B: in another order of the tokens of a letter BA is recognized."""
    even = regular_query({(0, "A"): 0, (0, "B"): 1, (1, "A"): 1, (1, "B"): 0}, 0, {0})
    assert [recognized(even, 4, word) for word in ("A", "BA", "BB", "BAB")] == [True, False, True, True]


def test_every_erratum_says_whether_damage_would_explain_it() -> None:
    assert all(erratum.damage.startswith(("No", "Not", "Perhaps")) for erratum in ERRATA)
    assert {erratum.paper for erratum in ERRATA} | {text.claims[0].partition(".")[0] for text in DAMAGED} <= set(TEXTS)
    assert not {id_ for erratum in ERRATA for id_ in erratum.claims} & {id_ for text in DAMAGED for id_ in text.claims}


AUTHORS = re.compile(r"@\w+\{(\w+),\s+author\s+= \{((?:[^{}]|\{[^{}]*\})*)\}")
BIBLIOGRAPHY = {
    key: [name.partition(",")[0].strip() for name in re.split(r"\s+and\s+", authors)]
    for key, authors in AUTHORS.findall((DOCS / "bibliography.bib").read_text(encoding="utf-8"))
}
"""The family names of the authors by key."""


def test_the_bibliography_has_the_papers() -> None:
    assert set(PAPERS) <= BIBLIOGRAPHY.keys()
    assert BIBLIOGRAPHY["cep17"] == ["Bucchi", "Grez", "Riveros", "Ugarte"]


@pytest.mark.parametrize("paper", PAPERS)
def test_where_authors_are_listed_they_are_all_there(paper: str) -> None:
    """A line with a paper's title and its second author, if it has one, has all of them."""
    title = PAPERS[paper].partition(" (")[0].partition(":")[0]
    for path in [*DOCS.rglob("*.md"), DOCS.parent / "README.md"]:
        for line in path.read_text(encoding="utf-8").splitlines():
            if title in line and any(name in line for name in BIBLIOGRAPHY[paper][1:2]):
                assert all(name in line for name in BIBLIOGRAPHY[paper]), f"{path}: {line}"
