"""`cerify fuzz --selection`: a strategy around each random query."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from cerify.commands import fuzz
from cerify.languages import LANGUAGES
from cerify.languages.language import BuiltIn
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import Unsupported

OPTIONS = ["--evaluator", "automaton", "--processes", "1", "--nodes", "5", "--events", "5", "--json"]


def run(*options: str) -> Any:
    return CliRunner().invoke(fuzz.command, [*OPTIONS, *options], standalone_mode=False)


@pytest.mark.parametrize("language", ["cel", "core-cel"])
def test_the_evaluators_agree_under_a_strategy(language: str) -> None:
    said = run("--language", language, "--cases", "60", "--selection", "max")
    assert said.return_value == 0, said.output


def test_every_query_has_the_strategy(monkeypatch: pytest.MonkeyPatch) -> None:
    """An automaton that forgets the strategy is found."""
    known = LANGUAGES["cel"].evaluators["automaton"]
    asked: list[Any] = []

    def forgetful(phi: Any, S: Any, options: Any) -> Any:
        asked.append(phi)
        return known.matches(phi.phi if isinstance(phi, cel.Next) else phi, S, options)

    monkeypatch.setitem(LANGUAGES["cel"].evaluators, "automaton", BuiltIn.of(forgetful))  # type: ignore[arg-type]
    said = run("--cases", "60", "--selection", "next", "--stop-after", "1")
    assert said.return_value == 1
    assert isinstance(asked[0], cel.Next)
    _, found = map(json.loads, said.output.splitlines())
    assert "NXT" in found["query"]


def test_a_language_without_it_says_so() -> None:
    assert isinstance(run("--language", "sase", "--selection", "max").exception, Unsupported)
