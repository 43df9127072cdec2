"""A fifth language, of one folder and one module: nothing in the workbench knows of it but the registry."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import cerify
from cerify.api import check
from cerify.equivalence.differential import EACH
from cerify.languages import LANGUAGES, language_of, register
from cerify.languages.language import Language
from cerify.semantics.errors import IllFormed, ParseError, Unsupported
from cerify.semantics.events import Event, Schema, Stream
from proofs_tests.conftest import Run
from proofs_tests.toy_language import FOLDER, TOY
from proofs_tests.unit.workbench.test_html import Outline

ABAB = [Event(R, {}) for R in "ABAB"]


@pytest.fixture(autouse=True)
def toy() -> Iterator[Language[Any]]:
    register(TOY)
    yield TOY
    LANGUAGES.remove(TOY)


@pytest.fixture
def events(tmp_path: Path) -> str:
    file = tmp_path / "events.jsonl"
    file.write_text("".join(json.dumps({"type": event.type}) + "\n" for event in ABAB))
    return str(file)


def test_the_registry_has_it_by_its_name_and_by_its_trees(toy: Language[Any]) -> None:
    assert LANGUAGES["toy"] == toy == language_of(toy.syntax.parse("A B"))
    assert list(LANGUAGES)[-1] == "toy"
    with pytest.raises(IllFormed, match="the name 'toy' belongs to the language words"):
        register(replace(toy, title="other words"))


def test_match_by_each_evaluator(toy: Language[Any]) -> None:
    for evaluator in (None, *toy.evaluators):
        found = cerify.match("A B", ABAB, language="toy", evaluator=evaluator)
        assert [(m.at, m.events) for m in found] == [(1, (0, 1)), (3, (2, 3))]
    assert cerify.match(toy.syntax.parse("B A"), ABAB)[0].events == (1, 2)
    with pytest.raises(IllFormed, match="there is no evaluator 'kernel' of words; use one of denotational, automaton"):
        cerify.match("A", ABAB, language="toy", evaluator="kernel")
    with pytest.raises(IllFormed, match="unknown event type C"):
        cerify.match("C", Stream(ABAB, Schema({"A": {}, "B": {}})), language="toy")


def test_the_trees_are_taken_apart_and_put_together(toy: Language[Any]) -> None:
    word = toy.syntax.parse("A B C")
    assert toy.syntax.size(word) == 5
    assert [toy.syntax.show(part) for part in toy.syntax.subterms(word)] == ["A B C", "A B", "A", "B", "C"]
    assert toy.syntax.show(toy.syntax.rebuilt(word, (toy.syntax.parse("C"), toy.syntax.parse("A")))) == "C A"


def test_the_commands(events: str, run: Run) -> None:
    status, out, _ = run("match", "A B", events, "--language", "toy", "--json")
    assert (status, out) == (0, '{"at": 1, "events": [0, 1]}\n{"at": 3, "events": [2, 3]}\n')
    status, out, _ = run("check", "A B", "--language", "toy", "--json")
    assert (status, json.loads(out)["problems"]) == (0, [])
    assert run("check", "A +", "--language", "toy")[0] == 2
    status, out, _ = run("equiv", "A", "A", "--language", "toy")
    assert (status, out) == (3, "undecided: there is no decider for words\n")
    status, _, err = run("draw", "A", "--language", "toy", "--dot")
    assert (status, err) == (2, "cerify: a query in words has no automaton to draw\n")
    status, _, err = run("draw", "A B", events, "--language", "toy", "--svg")
    assert status == 0, err


def test_explain(events: str, run: Run, tmp_path: Path) -> None:
    status, out, _ = run("explain", "A B", events, "--language", "toy", "--match", "0,1", "--json")
    assert (status, json.loads(out)) == (0, {"query": "A B", "events": [0, 1], "at": 1, "match": True})
    status, out, _ = run("explain", "A B", events, "--language", "toy", "--match", "0,3", "--json")
    assert (status, json.loads(out)["nearest"][0]) == (1, {"events": [0, 1], "at": 1})
    status, out, _ = run("explain", "A B", events, "--language", "toy", "--limit", "1", "--json")
    assert (status, len(json.loads(out)["matches"]), json.loads(out)["more"]) == (0, 1, True)
    status, out, _ = run("explain", "A B", events, "--language", "toy")
    assert (status, out.splitlines()[0]) == (0, "after event 0: no match")
    assert "{0, 1} is a match at 1" in out
    page = tmp_path / "explained.html"
    for options in ((), ("--match", "0,3")):
        run("explain", "A B", events, "--language", "toy", "--html", str(page), *options)
        outline = Outline(page.read_text(encoding="utf-8"))
        assert outline.complaints == outline.open == []
        assert outline.tags.count("svg") >= 1


def test_what_it_does_not_have_is_said(toy: Language[Any]) -> None:
    assert check("A", language="toy").summary == "words"
    with pytest.raises(ParseError):
        check("+", language="toy")
    with pytest.raises(Unsupported, match="the evaluator automaton of words evaluates only whole streams"):
        cerify.compile("A", language="toy", evaluator="automaton")
    with pytest.raises(Unsupported, match="a query in toy cannot be evaluated as a query of CEL"):
        toy.deciders.cel_formula(toy.syntax.parse("A"), cerify.Budget())


def a_suite(folder: Path, toy: Language[Any]) -> Path:
    """A conformance suite of words, with the matches of the definition."""
    lines = []
    for number, query in enumerate(("A", "A B", "A B A", "C")):
        case = {"id": f"toy/{number}", "feature": "words", "clause": "toy", "language": "toy", "query": query}
        events = [{"type": event.type} for event in ABAB]
        matches = [
            {"at": m.at, "events": list(m.events)}
            for m in toy.evaluators.matches(toy.syntax.parse(query), Stream(ABAB))
        ]
        lines.append(json.dumps({**case, "events": events, "output": "matches", "matches": matches}) + "\n")
    file = folder / "toy.jsonl"
    file.write_text("".join(lines))
    return file


@pytest.mark.parametrize(("engine", "status", "failed"), [("right", 0, 0), ("short", 1, 1)])
def test_conform(tmp_path: Path, toy: Language[Any], run: Run, engine: str, status: int, failed: int) -> None:
    """The engine that drops long words fails on the one case with such a word, and the case is shrunk."""
    command = sys.executable, "-m", "proofs_tests.integration.engines.toy", engine
    code, out, err = run("conform", "--suite", str(a_suite(tmp_path, toy)), "--json", "--", *command)
    assert code == status, err
    summary, *cases = map(json.loads, out.splitlines())
    assert sum(case.get("outcome") == "failed" for case in cases) == failed, out
    shrunk = [[event["type"] for event in one["events"]] for one in summary["summary"]["divergences"]]
    assert shrunk == [["A", "A", "A"]] * failed


def test_fuzz(run: Run) -> None:
    """The built-in evaluator agrees; the first words that the faulty engine drops are shrunk to three letters."""
    code, out, err = run("fuzz", "--language", "toy", "--evaluator", "automaton", "--cases", "60", "--json")
    assert (code, json.loads(out)["summary"]["agreed"]) == (0, 60), err
    command = sys.executable, "-m", "proofs_tests.integration.engines.toy", "short"
    code, out, err = run("fuzz", "--language", "toy", "--cases", "60", "--stop-after", "2", "--json", "--", *command)
    assert code == 1, err
    summary, *found = map(json.loads, out.splitlines())
    assert list(summary["summary"]["causes"].values()) == [len(found)]  # one cause, so not all of them are shrunk
    assert [(len(one["query"].split()), len(one["events"])) for one in found[:EACH]] == [(3, 3)] * EACH


def test_the_plug_in_of_the_book_is_found_by_its_entry_point(events: str, tmp_path: Path) -> None:
    """As it is installed: the module on the path, and beside it the entry points that its pyproject.toml declares."""
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))
    shutil.copy(FOLDER / "words.py", tmp_path)
    (installed := tmp_path / "cerify_words-0.1.dist-info").mkdir()
    points = [f"[{group}]" for group in project["project"]["entry-points"]]
    points += [f"{name} = {at}" for one in project["project"]["entry-points"].values() for name, at in one.items()]
    (installed / "entry_points.txt").write_text("\n".join(points))
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: cerify-words\nVersion: 0.1\n")
    for arguments, says in (
        (["match", "A B", events, "--json"], '{"at": 1, "events": [0, 1]}\n{"at": 3, "events": [2, 3]}\n'),
        (
            ["check", "A +"],
            "cerify: '+' is not an event type; it is a query in another language: --language cel\nA +\n  ^\n",
        ),
    ):
        command = [sys.executable, "-m", "cerify.cli", *arguments, "--language", "words"]
        ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(tmp_path)})
        assert ran.stdout + ran.stderr == says
