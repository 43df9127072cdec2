"""Every command prints JSON with --json."""

import json
from pathlib import Path

import pytest

from cerify.cli import COMMANDS
from proofs_tests.conftest import ROOT, Run

FARM = str(ROOT / "workbench/examples/farm.csv")

ASKED = {
    "check": ["T ; H"],
    "claims": ["cep17.lem1"],
    "conform": ["--engine", "automaton", "--case", "cel/seq/001"],
    "draw": ["T ; H", "-o", "{folder}/automaton.svg"],
    "engines": [],
    "equiv": ["T ; H", "T : H"],
    "explain": ["T ; H", FARM, "--match", "1,2"],
    "fuzz": ["--cases", "2", "--engine", "automaton"],
    "grade": ["cel-then", "Open : Close"],
    "identify": ["--engine", "automaton"],
    "match": ["T ; H", FARM],
    "normalize": ["(A OR B) ; C", "--to", "disjunctive"],
    "simplify": ["T OR T"],
    "step": ["T ; H", FARM, "-o", "{folder}/steps.html"],
    "translate": ["T ; H", "--from", "cel", "--to", "core-cel"],
    "trend": ["{folder}/run.jsonl"],
    "vectors": ["T"],
    "verify": ["{folder}/certificate.json"],
}
"""Arguments of each command, with which it ends soon."""

WITHOUT = {
    "engine": "it speaks the protocol, which is JSON, and prints nothing else",
    "demo": "it takes minutes; integration/test_demo.py reads its JSON",
}


def test_every_command_is_asked_or_says_why_not() -> None:
    assert ASKED.keys() | WITHOUT.keys() == COMMANDS.keys()


@pytest.mark.parametrize("name", ASKED)
def test_a_command_prints_json(name: str, tmp_path: Path, run: Run) -> None:
    """One object, or one for each line; with a status of 0 or 1, so that it is an answer and no error."""
    if name == "trend":
        (tmp_path / "run.jsonl").write_text(run("conform", *ASKED["conform"], "--json")[1])
    if name == "verify":
        run("equiv", "T OR H", "H OR T", "--certificate", str(tmp_path / "certificate.json"))
    status, out, _ = run(name, *(text.format(folder=tmp_path) for text in ASKED[name]), "--json")
    assert status in (0, 1)
    found = [json.loads(line) for line in out.splitlines()]
    assert found
    assert all(isinstance(one, dict) and "error" not in one for one in found)
