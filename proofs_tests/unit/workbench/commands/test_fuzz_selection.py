"""`cerify fuzz --selection` and `--consumption`: around each random query, and in the messages of the protocol."""

import json
import sys
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from click.testing import CliRunner

from cerify import protocol
from cerify.automata.evaluator import Consumption
from cerify.commands import engine, fuzz
from cerify.conformance.harness import message_of
from cerify.conformance.model import Case
from cerify.languages import LANGUAGES
from cerify.languages.language import BuiltIn, Options
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import Unsupported

OPTIONS = ["--processes", "1", "--nodes", "5", "--events", "5", "--json"]


EVALUATOR = ("--evaluator", "automaton")


def run(*options: str) -> Any:
    under_test = () if "--evaluator" in options else EVALUATOR
    return CliRunner().invoke(fuzz.fuzz_command, [*OPTIONS, *under_test, *options], standalone_mode=False)


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

    monkeypatch.setitem(LANGUAGES["cel"].evaluators, "automaton", BuiltIn.from_matches(forgetful))  # type: ignore[arg-type]
    said = run("--cases", "60", "--selection", "next", "--stop-after", "1")
    assert said.return_value == 1
    assert isinstance(asked[0], cel.Next)
    _, found = map(json.loads, said.output.splitlines())
    assert "NXT" in found["query"]


def test_a_language_without_it_says_so() -> None:
    assert isinstance(run("--language", "sase", "--selection", "max").exception, Unsupported)


@pytest.mark.parametrize("evaluator", ["automaton", "kernel"])
def test_the_evaluators_agree_where_matches_consume(evaluator: str) -> None:
    said = run("--evaluator", evaluator, "--cases", "60", "--consumption", "any")
    assert said.return_value == 0, said.output


def test_an_evaluator_that_consumes_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    known = LANGUAGES["cel"].evaluators["automaton"]

    def gluttonous(phi: Any, schema: Any, options: Options) -> Any:
        return known.batches(phi, schema, replace(options, consumption=Consumption.NONE))  # type: ignore[misc]

    monkeypatch.setitem(LANGUAGES["cel"].evaluators, "automaton", replace(known, batches=gluttonous))
    assert run("--cases", "60", "--consumption", "any", "--stop-after", "1").return_value == 1


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, [(1, [0, 1]), (2, [0, 2]), (2, [1, 2])]),
        ({"consumption": "any"}, [(1, [0, 1])]),
        ({"selection": "last"}, [(1, [0, 1]), (2, [1, 2])]),
        ({"selection": "last", "consumption": "none"}, [(1, [0, 1]), (2, [1, 2])]),
    ],
)
def test_a_run_message_may_have_both(options: dict[str, str], found: list[Any]) -> None:
    language, events = LANGUAGES["cel"], [{"type": "A"}] * 3
    message = {"cmd": "run", "id": "1", "language": "cel", "query": "A ; A", "events": events, **options}
    served = {"cel": partial(engine._matches, language, "automaton")}
    answer = engine.answered(json.dumps(message).encode(), protocol.EngineInfo("e", "1", ["cel"]), served)
    assert answer == {"id": "1", "matches": [{"at": at, "events": positions} for at, positions in found]}


def test_an_engine_is_sent_consumption_only_if_it_names_it() -> None:
    case = Case("1", "fuzz", "", "cel", "A", None, [], "matches", ())
    assert "consumption" not in message_of(case)
    message = message_of(replace(case, consumption=Consumption.ANY))
    assert protocol.parse_message(json.dumps(message), "run")["consumption"] == "any"
    code = ["import json, sys", "for line in sys.stdin:", " if 'stop' in line: break"]
    code.append(
        " print(json.dumps({'protocol': 1, 'engine': {'name': 'e', 'version': '1'}, 'languages': ['cel']}), flush=True)"
    )
    command = ["--consumption", "any", "--json", "--", sys.executable, "-c", "\n".join(code)]
    said = CliRunner().invoke(fuzz.fuzz_command, command, standalone_mode=False)
    assert said.return_value == 1
    assert "does not list consumption" in json.loads(said.output.splitlines()[0])["summary"]["ended"]
