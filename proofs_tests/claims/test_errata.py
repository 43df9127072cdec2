"""How a counterexample of the ledger is shown. That the errata are those of the ledger is in test_claims.py."""

from typing import Any

import pytest

from proofs_tests.claims.errata.case import lines
from proofs_tests.claims.errata.erratum import Erratum
from proofs_tests.claims.markdown import escaped

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
