"""SASE+ wherever it is served: match, check, engine and fuzz."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

import cerify
from cerify import protocol
from cerify.commands import engine, fuzz, simplify
from cerify.commands import match as match_command
from cerify.conformance.campaigns import built_in, definition, plan_of
from cerify.equivalence.differential import CampaignPlan, Checkpoint, campaign, cause
from cerify.languages import LANGUAGES
from cerify.languages.language import BuiltIn
from cerify.semantics.errors import IllFormed, InputError
from cerify.semantics.events import Event, Match, Schema, Stream, result_of
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.parse import parse

QUERY = "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_any_match(a, b[]) { b[i].x > a.x } RETURN a.x, b[].x AS y"
EVENTS = [{"type": "A", "x": 1}, {"type": "B", "x": 2}, {"type": "B", "x": 3}]
S = Stream([Event(e["type"], {"x": e["x"]}) for e in EVENTS])  # type: ignore[arg-type]
ANSWER = [
    {"at": 1, "events": [0, 1], "bindings": {"a": [0], "b": [1]}, "result": {"x": 1, "y": [2]}},
    {"at": 2, "events": [0, 1, 2], "bindings": {"a": [0], "b": [1, 2]}, "result": {"x": 1, "y": [2, 3]}},
    {"at": 2, "events": [0, 2], "bindings": {"a": [0], "b": [2]}, "result": {"x": 1, "y": [3]}},
]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(map(json.dumps, EVENTS)), encoding="utf-8")
    return str(path)


# --- match ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evaluator", LANGUAGES["sase"].evaluators)
def test_matches_have_bindings_and_results(evaluator: str) -> None:
    found = cerify.match(QUERY, S, language="sase", evaluator=evaluator)
    assert [protocol.json_of_match(m) for m in found] == ANSWER
    assert cerify.match(parse(QUERY), S, evaluator=evaluator) == found  # a query says what language it is of


def test_a_query_is_checked_against_the_schema() -> None:
    with pytest.raises(IllFormed, match="has no attribute 'x'") as error:
        cerify.match(QUERY, Stream(S, Schema({"A": {"x": "int"}, "B": {"y": "int"}})), language="sase")
    assert "^^^^" in error.value.described()
    assert cerify.match(QUERY, S, language="sase", evaluator="kernel") == cerify.match(QUERY, S, language="sase")


@pytest.mark.parametrize("options", [[], ["--evaluator", "denotational"]])
def test_the_command_match(options: list[str], file: str) -> None:
    found = CliRunner().invoke(match_command.match_command, ["--language", "sase", "--json", *options, QUERY, file])
    assert [json.loads(line) for line in found.output.splitlines()] == ANSWER
    table = CliRunner().invoke(match_command.match_command, ["--language", "sase", *options, QUERY, file]).output
    assert "b: 1 2" in table
    assert "y: [2, 3]" in table


# --- check ------------------------------------------------------------------------------------------------------------


def test_the_command_check() -> None:
    said = CliRunner().invoke(simplify.check_command, ["--language", "sase", "--json", QUERY], standalone_mode=False)
    answer = json.loads(said.output)
    assert (said.return_value, answer["problems"]) == (0, [])
    assert answer["fragment"]["strategies"] == ["skip_till_any_match"]
    assert answer["fragment"]["beyond_cayuga"][0] == "A a is selected by skip_till_any_match"
    bad = QUERY.replace("b[i].x > a.x", "b[i].x > a.x or a.x = 1")
    said = CliRunner().invoke(simplify.check_command, ["--language", "sase", bad], standalone_mode=False)
    assert said.return_value == 1
    assert "good_formula: in b[i].x > a.x or a.x = 1 the last identifier" in said.output


# --- the engine and its protocol --------------------------------------------------------------------------------------


def answered(evaluator: str, messages: list[Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    lines = "".join(json.dumps(message) + "\n" for message in messages)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(lines.encode())))
    said = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=said))
    engine.engine_command.callback(evaluator, "cel", None)  # type: ignore[misc]
    return [json.loads(line) for line in said.getvalue().decode().splitlines()]


def test_the_engine_answers_with_results(monkeypatch: pytest.MonkeyPatch) -> None:
    run = {"cmd": "run", "id": "1", "language": "sase", "query": QUERY, "events": EVENTS}
    started, answer = answered("automaton", [{"cmd": "start", "protocol": 1}, run], monkeypatch)
    assert "sase" in started["languages"]
    assert answer == {"id": "1", "matches": ANSWER}
    read = protocol.read(json.dumps(answer), "answer")
    assert protocol.answer_of_json(read, "valuations", 3) == protocol.MatchesAnswer(
        cerify.match(QUERY, S, language="sase")
    )
    assert answered("kernel", [{"cmd": "start", "protocol": 1}, run], monkeypatch) == [
        {**started, "engine": {**started["engine"], "name": "cerify-kernel"}},
        answer,
    ]


def test_results_are_read_and_compared() -> None:
    answer = {"at": 0, "events": [0], "bindings": {}, "result": {"y": 2.0}}
    (match,) = protocol.matches_of_json([answer], "valuations")
    assert match == Match(0, (0,), (), result_of({"y": 2}))
    assert match != Match(0, (0,), (), result_of({"y": 3}))
    assert protocol.matches_of_json([answer], "matches") == [Match(0, (0,))]
    with pytest.raises(InputError, match="a result is an object"):
        protocol.matches_of_json([{**answer, "result": 2}], "valuations")


# --- fuzz -------------------------------------------------------------------------------------------------------------


def forgetful(q: sase.SaseQuery, S: Stream, output: Any) -> list[Match]:
    """An evaluator with a fault: under a window it forgets matches of several events."""
    found = LANGUAGES["sase"].matches(q, S)
    return [m for m in found if not (q.within is not None and len(m.events) > 1)]


def plan(right: Any) -> CampaignPlan:
    language = LANGUAGES["sase"]
    asked = plan_of(language, "plain", "random", definition(language), cases=120, nodes=6, events=6)
    return replace(asked, right=right)


def test_the_runs_agree_with_the_definition() -> None:
    summary = campaign(plan(built_in(LANGUAGES["sase"])["automaton"]))
    assert summary.disagreements == []
    assert summary.outcomes["matched"] > 40


def test_a_fault_is_found_and_shrunk(tmp_path: Path) -> None:
    asked = plan(forgetful)
    with Checkpoint(tmp_path / "campaign.jsonl", asked, "faulty") as checkpoint:
        (found,) = campaign(asked, stop_after=1, checkpoint=checkpoint).disagreements
    assert len(found.phi.pattern) + len(found.stream) <= 4
    assert "WITHIN" in cause(found, asked.language).operators
    with Checkpoint(tmp_path / "campaign.jsonl", asked, "faulty") as checkpoint:
        (again,) = campaign(asked, stop_after=1, checkpoint=checkpoint).disagreements
    assert (again.phi, again.stream.events) == (found.phi, found.stream.events)


def test_the_command_fuzz(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--language", "sase", "--evaluator", "automaton", "--cases", "20", "--processes", "1", "--nodes", "5"]
    said = CliRunner().invoke(fuzz.fuzz_command, options, standalone_mode=False)
    assert said.return_value == 0, said.output
    faulty = BuiltIn[Any].of(lambda q, S, options: forgetful(q, S, options.output))
    monkeypatch.setitem(LANGUAGES["sase"].evaluators, "automaton", faulty)  # type: ignore[arg-type]
    said = CliRunner().invoke(
        fuzz.fuzz_command, [*options, "--cases", "60", "--stop-after", "1"], standalone_mode=False
    )
    assert said.return_value == 1
    assert "WITHIN" in said.output
