"""core-CEL wherever CEL is served: match, engine, fuzz and translate."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

import cerify
from cerify.api import contained, equivalent, match
from cerify.commands import engine, fuzz, simplify
from cerify.commands import match as match_command
from cerify.conformance.campaigns import DEFINITION_BUDGET, built_in, definition, plan_of
from cerify.equivalence.differential import campaign
from cerify.equivalence.generate.core_cel import CORE_CEL_PROFILES
from cerify.equivalence.shrink.core_cel import CORE_CEL
from cerify.equivalence.verdict import Contained, Different, Equivalent, Undecided
from cerify.languages import LANGUAGES
from cerify.languages.language import EVALUATORS, BuiltIn, Options
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.errors import IllFormed, ParseError, Unsupported
from cerify.semantics.events import Match, Stream
from proofs_tests.support import FIGURE_1, stream
from proofs_tests.unit.semantics.core_cel.examples import EXAMPLES

UNARY = [name for name in EXAMPLES if name not in ("correlated", "not well-formed")]


# --- match ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize("name", UNARY)
def test_every_evaluator_has_the_papers_answers(name: str, evaluator: str) -> None:
    query, expected = EXAMPLES[name]
    found = cerify.match(query, FIGURE_1, language="core-cel", evaluator=evaluator)
    assert found == sorted(Match(n, C) for n, Cs in expected.items() for C in Cs)
    assert cerify.match(parse(query), FIGURE_1, evaluator=evaluator) == found  # a formula says what language it is of


def test_every_evaluator_carries_every_formula_and_no_valuations() -> None:
    query, S = "A AS x ; B AS y FILTER x.a = y.a", stream("A B", a=[1, 1])
    for evaluator in EVALUATORS:  # y may be any event of the stream
        assert cerify.match(query, S, language="core-cel", evaluator=evaluator) == [Match(1, (0, 1))]
        for condition in ("y.a = 1", "y.a = x.a"):
            lone = f"A AS x FILTER {condition}"
            assert cerify.match(lone, S, language="core-cel", evaluator=evaluator) == [Match(0, (0,))]
    with pytest.raises(Unsupported, match="its valuations are not listed"):
        cerify.match("A AS x", S, language="core-cel", output="valuations")
    with pytest.raises(
        IllFormed, match="no language 'basic'; use one of cel, core-cel, event-expression, sase, row-pattern"
    ):
        cerify.match("A AS x", S, language="basic")
    with pytest.raises(IllFormed, match="no output 'nope'; use one of matches, valuations"):
        cerify.match("A", S, output="nope")  # type: ignore[arg-type]
    with pytest.raises(IllFormed, match="a query is a text or a parsed formula, not 5"):
        cerify.match(5, S)  # type: ignore[arg-type]


def test_a_schema_is_looked_at_in_the_language_of_the_query() -> None:
    S = Stream(stream("A", a=[1]), cerify.Schema({"A": {"a": "int"}}))
    assert cerify.match("A AS x FILTER x.a = 1", S, language="core-cel") == [Match(0, (0,))]
    with pytest.raises(IllFormed, match="which x may hold, has no attribute 'b'"):
        cerify.match("A AS x FILTER x.b = 1", S, language="core-cel")


def test_the_command_matches_by_automaton_if_asked(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("type,a\nA,1\nB,2\nB,1\n")
    run = CliRunner().invoke

    def lines(*arguments: str) -> list[dict[str, Any]]:
        result = run(
            match_command.match_command, [*arguments, "--language", "core-cel", "--json"], standalone_mode=False
        )
        return [json.loads(line) for line in result.output.splitlines()]

    query, file = "A AS x ; (B AS y FILTER y.a = 1)", str(tmp_path / "e.csv")
    assert lines(query, file) == lines(query, file, "--evaluator", "automaton") == [{"at": 2, "events": [0, 2]}]
    assert lines("A AS x ; LAST((B AS y)+)", file, "--evaluator", "automaton") == [
        {"at": 1, "events": [0, 1]},
        {"at": 2, "events": [0, 1, 2]},
    ]
    across = "A AS x ; LAST((B AS y ; B AS z) FILTER z.a = x.a)"  # has no formula of CEL
    assert lines(across, file, "--evaluator", "automaton") == [{"at": 2, "events": [0, 1, 2]}]


# --- engine -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_the_engine_speaks_core_cel(
    evaluator: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def message(id_: str, query: str, **more: object) -> dict[str, object]:
        events = [{"type": "A", "a": 1}, {"type": "B", "a": 1}]
        return {"cmd": "run", "id": id_, "language": "core-cel", "query": query, "events": events, **more}

    messages = [
        {"cmd": "start", "protocol": 1},
        message("1", "A AS x ; (B AS y FILTER y.a = 1)"),
        message("2", "A AS x ; B AS y FILTER y.a = x.a"),
        message("3", "A ; B"),
        message("4", "A AS x FILTER x.b = 1", schema={"A": {"a": "int"}, "B": {"a": "int"}}),
        message("5", "A AS x", output="valuations"),
        {**message("6", "A"), "language": "sase"},
        {**message("7", "A"), "language": "cel"},
    ]
    lines = "".join(json.dumps(m) + "\n" for m in messages)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(lines.encode())))
    engine.engine_command.callback(evaluator, "cel", None)  # type: ignore[misc]
    started, one, two, three, four, five, six, seven = map(json.loads, capsys.readouterr().out.splitlines())
    assert "core-cel" in started["languages"]
    assert one == {"id": "1", "matches": [{"at": 1, "events": [0, 1]}]}
    assert two == {"id": "2", "matches": [{"at": 1, "events": [0, 1]}]}
    assert three["error"]["code"] == "parse"
    assert four["error"]["code"] == "ill_formed"
    assert "valuations" in five["skipped"]
    assert six["error"]["code"] == "parse"
    assert seven == {"id": "7", "matches": [{"at": 0, "events": [0]}]}


# --- fuzz -------------------------------------------------------------------------------------------------------------


def test_a_comparison_within_one_event_is_read_as_one() -> None:
    """Shrinking gives two variables one name."""
    phi = parse("(A AS x ; A AS y) FILTER x.a = y.b")
    assert CORE_CEL.mapped(phi, name=lambda name: "x" if name == "y" else name) == parse(
        "(A AS x ; A AS x) FILTER x.a = x.b"
    )


@pytest.mark.parametrize("profile", CORE_CEL_PROFILES)
def test_the_automaton_agrees_with_the_definition(profile: str) -> None:
    language = LANGUAGES["core-cel"]
    plan = plan_of(language, profile, "random", definition(language), cases=60, nodes=8, events=6)
    summary = campaign(replace(plan, right=built_in(language)["automaton"]))
    assert not summary.disagreements
    assert summary.outcomes["matched"] > 5


def one_variable_for_all_rounds(phi: core.Formula) -> core.Formula:
    """A wrong semantics: an iteration is one round."""
    match phi:
        case core.CoreEventAtom():
            return phi
        case core.CoreFilter(psi, condition):
            return core.CoreFilter(one_variable_for_all_rounds(psi), condition)
        case core.CoreOr(left, right) | core.CoreSeq(left, right):
            return type(phi)(one_variable_for_all_rounds(left), one_variable_for_all_rounds(right))
        case core.CorePlus(psi):
            return one_variable_for_all_rounds(psi)
        case _:
            return type(phi)(one_variable_for_all_rounds(phi.phi))


def test_a_wrong_evaluator_is_found_and_shrunk_and_shown_in_core_cel(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(phi: core.Formula, S: Stream, options: Options) -> Collection[Match]:
        return match(one_variable_for_all_rounds(phi), S, evaluator="denotational", budget=DEFINITION_BUDGET)

    monkeypatch.setitem(LANGUAGES["core-cel"].evaluators, "automaton", BuiltIn.of(wrong))  # type: ignore[arg-type]
    arguments = [
        "--language",
        "core-cel",
        "--evaluator",
        "automaton",
        "--processes",
        "1",
        "--stop-after",
        "1",
        "--json",
    ]
    result = CliRunner().invoke(fuzz.fuzz_command, arguments, standalone_mode=False)
    assert result.exception is None
    _, found = map(json.loads, result.output.splitlines())
    assert found["query"] == "(A AS A)+"
    assert [event["type"] for event in found["events"]] == ["A", "A"]
    assert isinstance(parse(found["found"]["query"]), core.Formula)


def test_an_engine_is_asked_in_core_cel() -> None:
    command = [sys.executable, "-m", "cerify.cli", "engine", "--evaluator", "denotational"]
    arguments = ["--language", "core-cel", "--cases", "40", "--profile", "strategies", "--json", "--", *command]
    result = CliRunner().invoke(fuzz.fuzz_command, arguments, standalone_mode=False)
    assert result.return_value == 0
    summary = json.loads(result.output)["summary"]
    assert summary["agreed"] == 40


@pytest.mark.parametrize("option", [["--profile", "figure3"], ["--output", "both"]])
def test_what_core_cel_has_not_is_a_usage_error(option: list[str]) -> None:
    result = CliRunner().invoke(fuzz.fuzz_command, ["--language", "core-cel", "--evaluator", "automaton", *option])
    assert result.exit_code == 2
    assert "core-c" in result.output.lower()


# --- translate --------------------------------------------------------------------------------------------------------


def translated(query: str, from_: str, to: str, *options: str) -> tuple[int, str]:
    """The exit status and the output of the command."""
    arguments = [query, "--from", from_, "--to", to, *options]
    result = CliRunner().invoke(simplify.translate_command, arguments, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value, result.output


def test_translate_writes_the_query_or_says_why_not() -> None:
    assert translated("A AS x ; B AS y", "core-cel", "cel") == (0, "A IN x ; B IN y\n")
    assert translated("A ; B+", "cel", "core-cel") == (0, "A AS a ; (B AS b)+\n")
    status, out = translated("A ; (B ALL C)", "cel", "core-cel")
    assert status == 1
    assert out.startswith("no translation: ALL lets matches overlap")
    assert out.endswith("\nA ; (B ALL C)\n     ^^^^^^^\n")


def test_translate_prints_json() -> None:
    status, out = translated("A AS x ; B AS y", "core-cel", "cel", "--json")
    assert (status, json.loads(out)) == (
        0,
        {"from": "core-cel", "to": "cel", "query": "A IN x ; B IN y", "refused": None},
    )
    status, out = translated("START(A)", "cel", "core-cel", "--json")
    answer = json.loads(out)
    assert (status, answer["query"], answer["refused"]["span"]) == (1, None, [0, 8])


def test_translate_says_what_is_no_query_and_quotes_words_of_the_other_language() -> None:
    with pytest.raises(ParseError):
        translated("A ; B", "core-cel", "cel")
    status, out = translated("START AS x", "core-cel", "cel")
    assert (status, '"START"' in out) == (0, True)
    result = CliRunner().invoke(simplify.translate_command, ["A", "--from", "cel", "--to", "cel"])
    assert result.exit_code == 2


def test_a_translation_that_is_too_large_is_refused() -> None:
    status, out = translated(" : ".join(["A"] * 120), "cel", "core-cel")
    assert (status, "it would be nested more than 200 operators deep" in out) == (1, True)
    unsafe = " ; ".join(f"(A AS x{i} OR B AS y{i})" for i in [*range(12), *range(12)])
    status, out = translated(unsafe, "core-cel", "cel")
    assert (status, out.startswith("no translation: the CEL formula would have more than ")) == (1, True)


def test_core_cel_is_compared_with_cel() -> None:
    same = equivalent("A AS x ; (B AS y)+", "A ; B+", languages=("core-cel", "cel"))
    assert isinstance(same, Equivalent)
    assert isinstance(equivalent("A AS x ; B AS y", "A AS u ; B AS v", languages=("core-cel", "core-cel")), Equivalent)
    assert isinstance(equivalent("A AS x ; B AS y", "A : B", languages=("core-cel", "cel")), Different)
    assert isinstance(contained("A : B", "A AS x ; B AS y", languages=("cel", "core-cel")), Contained)


def test_what_cel_cannot_say_is_undecided() -> None:
    verdict = equivalent("A AS x ; NXT(B AS y ; C AS z)", "A AS x", languages=("core-cel", "core-cel"))
    assert isinstance(verdict, Undecided)
    assert "NXT" in verdict.reason
    with pytest.raises(IllFormed):
        equivalent("A AS x", "A AS x", level="valuations", languages=("core-cel", "core-cel"))
