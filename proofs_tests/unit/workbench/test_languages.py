"""Languages wherever CEL is served: match, check, explain, engine, fuzz, equiv and translate."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

import cerify
from cerify import protocol
from cerify.api import contained, equivalent, match
from cerify.commands import engine, equiv, explain, fuzz, simplify, translate
from cerify.commands import match as match_command
from cerify.conformance.campaigns import DEFINITION_BUDGET, built_in, definition, plan_of
from cerify.equivalence.differential import CampaignPlan, Checkpoint, campaign, cause
from cerify.equivalence.generate.core_cel import CORE_CEL, CORE_CEL_PROFILES
from cerify.equivalence.generate.expressions import PROFILES, case
from cerify.equivalence.verdict import Contained, Different, Equivalent, Undecided
from cerify.explanations.event_expressions import (
    DoesNot,
    ExpressionExplainer,
    TakesPlace,
    absences,
    explain_event,
    explain_events,
)
from cerify.explanations.explanation import Listing, render
from cerify.languages import LANGUAGES
from cerify.languages.language import EVALUATORS, BuiltIn, Options
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.errors import IllFormed, InputError, ParseError, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.occurrences import Occurrences
from cerify.semantics.event_expressions.parse import parse as parse_expressions
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Event, Match, Schema, Stream, result_of
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.parse import parse as parse_sase
from proofs_tests.support import FIGURE_1, sampled, stream
from proofs_tests.unit.semantics.core_cel_cases import EXAMPLES
from proofs_tests.unit.semantics.expression_cases import EXAMPLES as EXPRESSION_EXAMPLES
from proofs_tests.unit.semantics.expression_cases import history
from proofs_tests.unit.workbench.test_html import HOSTILE, Outline

# ---- core cel ----
# core-CEL wherever CEL is served: match, engine, fuzz and translate.

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
    with pytest.raises(Unsupported, match="it has no valuations"):
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

    monkeypatch.setitem(LANGUAGES["core-cel"].evaluators, "automaton", BuiltIn.from_matches(wrong))  # type: ignore[arg-type]
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
    summary = json.loads(result.stdout)["summary"]
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
    result = CliRunner().invoke(translate.translate_command, arguments, standalone_mode=False)
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
    result = CliRunner().invoke(translate.translate_command, ["A", "--from", "cel", "--to", "cel"])
    assert result.exit_code == 2


def test_a_translation_that_is_too_large_is_refused() -> None:
    status, out = translated(" : ".join(["A"] * 120), "cel", "core-cel")
    assert (status, "would be nested more than 200 operators deep" in out) == (1, True)
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


# ---- event expressions ----
# Event expressions wherever CEL is served: match, check, explain, engine, fuzz and equiv.

EXPRESSIONS = ("event-expression", "event-expression")

LANGUAGE = "event-expression"
EVENTS = "type,amount\ndeposit,1\nwithdraw,2000\nwithdraw,5\n"
Run = Callable[..., Any]


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "e.csv").write_text(EVENTS)
    return str(tmp_path / "e.csv")


@pytest.fixture
def run() -> Run:
    def invoke(command: click.Command, *arguments: str) -> Any:
        return CliRunner().invoke(command, [*arguments, "--language", LANGUAGE], standalone_mode=False)

    return invoke


# --- match ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evaluator", LANGUAGES["event-expression"].evaluators)
@pytest.mark.parametrize("name", EXPRESSION_EXAMPLES)
def test_every_evaluator_has_the_papers_answers_event_expressions(name: str, evaluator: str) -> None:
    query, S, expected = EXPRESSION_EXAMPLES[name]
    found = cerify.match(query, history(S), language=LANGUAGE, evaluator=evaluator)
    assert found == [Match(e, (e,)) for e in expected]
    assert cerify.match(parse_expressions(query), history(S), evaluator=evaluator) == found


def test_what_is_not_carried_is_unsupported() -> None:
    S = history("a(1) b(1)")
    with pytest.raises(Unsupported, match=r"make .* parameters"):
        cerify.match("p(X) := prior(a(X), b(Y)) and b(Y); !p(1)", S, language=LANGUAGE)
    for evaluator in LANGUAGES["event-expression"].evaluators:
        assert cerify.match("prior(a(X), b(X))", S, language=LANGUAGE, evaluator=evaluator) == [Match(1, (1,))]
        with pytest.raises(Unsupported, match="it has no valuations"):
            cerify.match("a", S, language=LANGUAGE, evaluator=evaluator, output="valuations")
        with pytest.raises(InputError, match="only the first event of a history"):
            cerify.match("a", history("a start"), language=LANGUAGE, evaluator=evaluator)
    with pytest.raises(IllFormed, match="unknown event type c"):
        cerify.match("c", Stream([Event("a")], Schema({"a": {}})), language=LANGUAGE)


def test_the_command_matches(run: Run, file: str) -> None:
    for evaluator in ((), ("--evaluator", "automaton"), ("--evaluator", "denotational")):
        result = run(match_command.match_command, "prior(deposit, withdraw)", file, "--json", *evaluator)
        assert [json.loads(line) for line in result.output.splitlines()] == [
            {"at": 1, "events": [1]},
            {"at": 2, "events": [2]},
        ]
        values = run(match_command.match_command, "p(X) := withdraw(X)", file, "--json", "--valuations", *evaluator)
        assert [json.loads(line) for line in values.output.splitlines()] == [
            {"at": 1, "events": [1], "values": {"X": 2000}},
            {"at": 2, "events": [2], "values": {"X": 5}},
        ]
    refused = run(match_command.match_command, "p(X) := deposit(X) and deposit(Y) and withdraw(Y); !p(1)", file)
    assert refused.exception.message.endswith("; try --evaluator denotational")
    assert "X: 2000" in run(match_command.match_command, "p(X) := withdraw(X)", file, "--valuations").output
    assert run(match_command.match_command, "NULL", file).return_value == 1


# --- check ------------------------------------------------------------------------------------------------------------


def test_check(run: Run) -> None:
    unsafe = run(simplify.check_command, "exists x (relative+(prior(a = x, b)))", "--json")
    answer = json.loads(unsafe.output)
    assert answer["language"] == LANGUAGE
    assert answer["fragment"] == {"names": False, "correlation_variables": True, "attribute_variables": False}
    assert [(problem["rule"], problem["span"]) for problem in answer["problems"]] == [("unsafe", [10, 36])]
    assert (unsafe.return_value, answer["satisfiable"]) == (1, True)
    never = run(simplify.check_command, "a and b")
    assert "never: the expression takes place at no event of any history" in never.output
    values = json.loads(run(simplify.check_command, "p(X) := a(X, Y) and b(Y); p(1)", "--json").output)
    assert (values["satisfiable"], values["problems"]) == (None, [])
    assert values["fragment"] == {"names": True, "correlation_variables": False, "attribute_variables": True}
    plain = run(simplify.check_command, "a", "--schema", '{"a": {"n": "int"}}')
    assert (plain.output, plain.return_value) == ("event expression: a finite automaton\nno problems\n", 0)
    assert isinstance(run(simplify.check_command, "prior(a)").exception, ParseError)


# --- explain ----------------------------------------------------------------------------------------------------------


def test_an_event_is_explained(run: Run, file: str) -> None:
    result = run(explain.explain_command, "prior(deposit, withdraw[amount < 10])", file, "--at", "2", "--json")
    answer = json.loads(result.output)
    assert (answer["match"], answer["events"], answer["more"]) == (True, [2], False)
    (root,) = answer["derivations"]
    assert root["tuple"] == [0, [[0, 2], [0, 0], [0, 2]]]
    assert root["citation"] == "vldb92 2.3, c"
    assert [(child["formula"], child["interval"]) for child in root["children"]] == [
        ("deposit", [0, 0]),
        ("withdraw[amount < 10]", [0, 2]),
    ]
    assert result.return_value == 0
    for option in ("--at", "--match"):
        printed = run(explain.explain_command, "exists x (prior(deposit = x, withdraw))", file, option, "1")
        assert "takes place at event 1: withdraw amount=2000" in printed.output
        assert "x is event 0" in printed.output


def test_an_event_at_which_it_does_not_take_place(run: Run, file: str) -> None:
    result = run(explain.explain_command, "prior(deposit, withdraw[amount < 10])", file, "--at", "1", "--json")
    answer = json.loads(result.output)
    assert (answer["match"], result.return_value) == (False, 1)
    assert answer["reasons"] == [
        {
            "formula": "withdraw[amount < 10]",
            "interval": [0, 1],
            "message": "amount < 10 is false: event 1 is withdraw amount=2000",
        }
    ]
    printed = run(explain.explain_command, "sequence(deposit, withdraw)", file, "--at", "2")
    assert "deposit does not take place just before event 2" in printed.output


def test_the_command_writes_the_page(run: Run, file: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run(explain.explain_command, "withdraw", file, "--html", str(page)).exception is None
    assert "The history, event by event" in page.read_text(encoding="utf-8")
    assert run(explain.explain_command, "withdraw", file, "--at", "1", "--html", str(page)).exception is None
    assert "event by event" not in page.read_text(encoding="utf-8")
    assert isinstance(
        run(explain.explain_command, "a", file, "--html", str(tmp_path)).exception, click.UsageError | InputError
    )


def page_of(E: expr.Expression, S: Stream, *found: TakesPlace | DoesNot, walked: bool = False) -> str:
    """The page that explains some events, at its beginning the whole history if it is walked."""
    return render(ExpressionExplainer(E, S, show(E)), found, Listing(found, False, 0, len(S) - 1) if walked else None)


def test_the_page_of_an_event_has_a_fold_for_every_step_and_a_drawing_for_every_occurrence() -> None:
    E = parse_expressions("exists x (prior(deposit = x, withdraw) and !relative(x, interest))")
    S = Stream(map(Event, ["deposit", "deposit", "withdraw"]))
    outline = Outline(page_of(E, S, explain_event(E, S, 2, 3)))
    assert outline.complaints == outline.open == []
    assert outline.tags.count("svg") == 2
    assert outline.tags.count("details") == 2 * 7
    page = page_of(E, S, explain_event(E, S, 2, 1))
    assert "There are more occurrences" in page
    assert "is x" in page
    assert "takes place at 2, because of {0, 2}" in page
    no = page_of(E, S, explain_event(E, S, 1))
    assert "does not take place at event 1" in no
    assert "what is in the way" in no


def test_the_page_of_a_history_goes_through_it_event_by_event() -> None:
    E = parse_expressions("b")
    for text, steps in (("a b a b", 4), ("a " * 40 + "b", 2)):
        S = Stream(map(Event, text.split()))
        page = page_of(E, S, *explain_events(E, S), walked=True)
        assert page.count("<li") - page.count("<li>b") == steps
        assert page.count('href="#h') == text.count("b")
    assert "It takes place at no event" in page_of(E, S.part(0, 3), walked=True)


def test_nothing_of_a_history_becomes_markup_on_its_page() -> None:
    S = Stream([Event("a", {"s": HOSTILE})])
    for text in ("a[s = '<b>']", "a"):
        E = parse_expressions(text)
        outline = Outline(page_of(E, S, explain_event(E, S, 0), walked=True))
        assert outline.complaints == outline.open == []
        assert not {"script", "img", "link", "iframe", "b"} & set(outline.tags)


def test_a_whole_stream_is_explained(run: Run, file: str) -> None:
    result = run(explain.explain_command, "withdraw", file, "--limit", "1", "--json")
    answer = json.loads(result.output)
    assert ([one["at"] for one in answer["matches"]], answer["more"]) == ([1], True)
    printed = run(explain.explain_command, "withdraw", file, "--limit", "1")
    assert "There are more than 1" in printed.output
    nothing = run(explain.explain_command, "NULL", file)
    hint = "--at N says why it does not take place at event N."
    expected = f"after events 0 to 2: does not take place\n\n{hint}\n"
    assert (nothing.stdout, nothing.return_value) == (expected, 1)
    assert nothing.stderr == "cerify: warning: the expression takes place at no event of any history\nNULL\n^^^^\n"
    for wrong in (["--output", "valuations"], ["--valuation", "{}"]):
        assert isinstance(run(explain.explain_command, "withdraw", file, *wrong).exception, click.UsageError)
    for wrong in (["--match", "1,2"], ["--match", "1", "--at", "2"], ["--at", "9"]):
        assert isinstance(run(explain.explain_command, "withdraw", file, *wrong).exception, InputError)


@pytest.mark.parametrize(("query", "S", "why"), [
    ("a", "b", "a: event 0 is b"),
    ("a[p0 > 1 and p0 < 9]", "a(1)", "a[p0 > 1 and p0 < 9]: p0 > 1 and p0 < 9 is false: event 0 is a p0=1"),
    ("a[p0 > 1]", "b(1)", "a[p0 > 1]: event 0 is b p0=1"),
    ("a and !b", "b", "a: event 0 is b; !b: b does take place there"),
    ("relative(a, b)", "b", "relative(a, b): a does not take place before event 0"),
    ("relative(a, <2> b)", "a b", "<2> b: event 1 is number 1 of the events of b"),
    ("relative(a, c)", "a a b",
     "relative(a, c): c does not take place at event 2 if only the events after one of the events {0, 1} count"),
    ("a | first", "a a", "first: event 0 is the first"),
    ("b / a", "b", "b / a: a does not take place before it"),
    ("b /+ a", "a a", "b /+ a: a takes place at event 1, so that a new history begins after it"),
    ("firstAfter(a, b, c)", "a c b", "firstAfter(a, b, c): c has taken place at event 1"),
    ("a * b", "c b", "a * b: a does not take place at event 0 before it"),
    ("prefix(a and first)", "b", "prefix(a and first): a and first cannot take place at any later event"),
    ("exists x (relative(b = x, a))", "a", "relative(b = x, a): b = x does not take place before event 0"),
    ("exists x (prior(b = x, a))", "a a",
     "exists x (prior(b = x, a)): prior(b = x, a) does not take place there, whichever event x is"),
    ("a(X) and b(X)", "a(1)", "b(X): event 0 is a p0=1"),
])  # fmt: skip
def test_why_not(query: str, S: str, why: str) -> None:
    stream = history(S)
    found = explain_event(parse_expressions(query), stream, len(stream) - 1)
    assert isinstance(found, DoesNot)
    assert "; ".join(f"{show(reason.expression)}: {reason.why}" for reason in found.reasons) == why


@pytest.mark.parametrize("cases", sampled([40, 80], [40]))
@pytest.mark.parametrize("name", PROFILES)
def test_there_is_a_reason_just_where_it_does_not_take_place(name: str, cases: int) -> None:
    rng = Random(5)
    for _ in range(cases):
        E, S = case(rng, PROFILES[name], 8, 6)
        expected = takes_place(E, S)
        known = Occurrences(E, S)
        for e in range(len(S)):
            assert bool(absences(known, e)) == (e not in expected), f"{show(E)} at {e} of {S.events}"
            assert isinstance(explain_event(E, S, e), TakesPlace if e in expected else DoesNot)


# --- engine -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evaluator", LANGUAGES["event-expression"].evaluators)
def test_the_engine_speaks_it(
    evaluator: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def message(id_: str, query: str, **more: object) -> dict[str, object]:
        events = [{"type": "a", "n": 1}, {"type": "b", "n": 1}]
        return {"cmd": "run", "id": id_, "language": LANGUAGE, "query": query, "events": events, **more}

    messages = [
        {"cmd": "start", "protocol": 1},
        message("1", "prior(a, b)"),
        message("2", "p(I) := prior(a(X), b(X)); prior(p(1), b)"),
        message("6", "prior(a(X), b(X))"),
        message("3", "a ; b"),
        message("4", "c", schema={"a": {"n": "int"}, "b": {"n": "int"}}),
        message("5", "a", output="valuations"),
    ]
    lines = "".join(json.dumps(m) + "\n" for m in messages)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(lines.encode())))
    engine.engine_command.callback(evaluator, "cel", None)  # type: ignore[misc]
    started, one, two, six, three, four, five = map(json.loads, capsys.readouterr().out.splitlines())
    assert LANGUAGE in started["languages"]
    assert one == {"id": "1", "matches": [{"at": 1, "events": [1]}]}
    assert six == {"id": "6", "matches": [{"at": 1, "events": [1]}]}
    assert ("matches" if evaluator == "denotational" else "skipped") in two
    assert three["error"]["code"] == "parse"
    assert four["error"]["code"] == "ill_formed"
    assert "skipped" in five


# --- fuzz -------------------------------------------------------------------------------------------------------------


def plan(profile: str, cases: int, right: Any) -> CampaignPlan:
    language = LANGUAGES[LANGUAGE]
    return replace(plan_of(language, profile, "random", definition(language), cases=cases), right=right)


@pytest.mark.parametrize("cases", sampled([30, 60], [30]))
@pytest.mark.parametrize("evaluator", ["automaton", "kernel"])
def test_a_campaign_agrees(evaluator: str, cases: int) -> None:
    for name in ("masked", "started", "correlated"):
        summary = campaign(plan(name, cases, built_in(LANGUAGES[LANGUAGE])[evaluator]))
        assert (summary.agreed, summary.disagreements) == (cases, [])
        assert summary.outcomes["matched"] > cases / 4


def _after_for_between(E: expr.Expression, S: Stream, output: Any) -> Collection[Match]:
    """F /+ E taken for F / E."""

    def read(F: expr.Expression) -> expr.Expression:
        below = tuple(map(read, expr.children(F)))
        return expr.After(*below) if isinstance(F, expr.ExpressionBetween) else expr.rebuilt(F, below)

    return list(LANGUAGES[LANGUAGE].evaluators.matches(read(E), S))


def test_a_fault_is_found_and_shrunk() -> None:
    summary = campaign(plan("derived", 2000, _after_for_between), stop_after=3)
    assert len(summary.disagreements) == 3
    for one in summary.disagreements:
        assert any(isinstance(F, expr.ExpressionBetween) for F in expr.subexpressions(one.phi)), show(one.phi)
        assert (len(one.stream), expr.size(one.phi)) <= (2, 5)


def test_an_engine_is_asked_in_event_expressions() -> None:
    command = [sys.executable, "-m", "cerify.cli", "engine"]
    result = CliRunner().invoke(
        fuzz.fuzz_command,
        ["--language", LANGUAGE, "--profile", "derived", "--cases", "30", "--json", "--", *command],
        standalone_mode=False,
    )
    assert result.return_value == 0
    assert json.loads(result.output)["summary"]["agreed"] == 30


@pytest.mark.parametrize("arguments", [
    ["--evaluator", "automaton", "--output", "valuations"],
    ["--evaluator", "automaton", "--profile", "core"],
])  # fmt: skip
def test_what_fuzz_does_not_do(arguments: list[str], run: Run) -> None:
    assert isinstance(run(fuzz.fuzz_command, *arguments).exception, click.UsageError)


# --- equiv ------------------------------------------------------------------------------------------------------------


def test_equiv(run: Run) -> None:
    same = run(equiv.equiv_command, "(I or D) | sequence(D, D)", "relative(D, !prior(I, D) and D)")
    assert (same.return_value, same.output.startswith("equivalent: both take place at the same events")) == (0, True)
    different = run(equiv.equiv_command, "prior(a, <2> b)", "relative(a, <2> b)", "--json")
    answer = json.loads(different.output)
    assert (different.return_value, answer["verdict"]) == (1, "different")
    assert answer["witness"]["events"] == [{"type": "b"}, {"type": "a"}, {"type": "b"}]
    assert (answer["witness"]["left_only"], answer["witness"]["right_only"]) == ([[2]], [])
    within = run(equiv.equiv_command, "relative(a, b)", "b", "--contained")
    assert (within.return_value, within.output.startswith("contained: in every history")) == (0, True)
    unknown = run(equiv.equiv_command, "prior(a(X), b(X))", "b")
    assert (unknown.return_value, unknown.output.startswith("undecided: ")) == (3, True)
    assert isinstance(run(equiv.equiv_command, "a", "b", "--level", "valuations").exception, IllFormed)


def test_expressions_are_compared_as_text_or_as_trees() -> None:
    assert isinstance(equivalent("a", parse_expressions("a or a"), languages=EXPRESSIONS), Equivalent)
    assert isinstance(contained("a and b", "a", languages=EXPRESSIONS), Contained)
    with pytest.raises(ParseError, match="prior"):
        equivalent("a", "prior(", languages=EXPRESSIONS)
    with pytest.raises(IllFormed, match="unknown event type b"):
        equivalent("a", "b", languages=EXPRESSIONS, schema=Schema({"a": {}}))


# ---- sase ----
# SASE+ wherever it is served: match, check, engine and fuzz.

QUERY = "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_any_match(a, b[]) { b[i].x > a.x } RETURN a.x, b[].x AS y"
SASE_EVENTS = [{"type": "A", "x": 1}, {"type": "B", "x": 2}, {"type": "B", "x": 3}]
S = Stream([Event(e["type"], {"x": e["x"]}) for e in SASE_EVENTS])  # type: ignore[arg-type]
ANSWER = [
    {"at": 1, "events": [0, 1], "bindings": {"a": [0], "b": [1]}, "result": {"x": 1, "y": [2]}},
    {"at": 2, "events": [0, 1, 2], "bindings": {"a": [0], "b": [1, 2]}, "result": {"x": 1, "y": [2, 3]}},
    {"at": 2, "events": [0, 2], "bindings": {"a": [0], "b": [2]}, "result": {"x": 1, "y": [3]}},
]


@pytest.fixture
def file_sase(tmp_path: Path) -> str:
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(map(json.dumps, SASE_EVENTS)), encoding="utf-8")
    return str(path)


# --- match ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evaluator", LANGUAGES["sase"].evaluators)
def test_matches_have_bindings_and_results(evaluator: str) -> None:
    found = cerify.match(QUERY, S, language="sase", evaluator=evaluator)
    assert [m.json() for m in found] == ANSWER
    assert cerify.match(parse_sase(QUERY), S, evaluator=evaluator) == found  # a query says what language it is of


def test_a_query_is_checked_against_the_schema() -> None:
    with pytest.raises(IllFormed, match="has no attribute 'x'") as error:
        cerify.match(QUERY, Stream(S, Schema({"A": {"x": "int"}, "B": {"y": "int"}})), language="sase")
    assert "^^^^" in error.value.described()
    assert cerify.match(QUERY, S, language="sase", evaluator="kernel") == cerify.match(QUERY, S, language="sase")


@pytest.mark.parametrize("options", [[], ["--evaluator", "denotational"]])
def test_the_command_match(options: list[str], file_sase: str) -> None:
    found = CliRunner().invoke(
        match_command.match_command, ["--language", "sase", "--json", *options, QUERY, file_sase]
    )
    assert [json.loads(line) for line in found.output.splitlines()] == ANSWER
    table = CliRunner().invoke(match_command.match_command, ["--language", "sase", *options, QUERY, file_sase]).output
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
    assert "good_formula: b[i].x > a.x or a.x = 1: each operand of `or` must contain the last identifier" in said.output


# --- the engine and its protocol --------------------------------------------------------------------------------------


def answered(evaluator: str, messages: list[Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    lines = "".join(json.dumps(message) + "\n" for message in messages)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(lines.encode())))
    said = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=said))
    engine.engine_command.callback(evaluator, "cel", None)  # type: ignore[misc]
    return [json.loads(line) for line in said.getvalue().decode().splitlines()]


def test_the_engine_answers_with_results(monkeypatch: pytest.MonkeyPatch) -> None:
    run = {"cmd": "run", "id": "1", "language": "sase", "query": QUERY, "events": SASE_EVENTS}
    started, answer = answered("automaton", [{"cmd": "start", "protocol": 1}, run], monkeypatch)
    assert "sase" in started["languages"]
    assert answer == {"id": "1", "matches": ANSWER}
    read = protocol.parse_message(json.dumps(answer), "answer")
    assert protocol.answer_of_json(read, "valuations", 3) == protocol.MatchesAnswer(
        cerify.match(QUERY, S, language="sase")
    )
    compiled, same = answered("kernel", [{"cmd": "start", "protocol": 1}, run], monkeypatch)
    assert compiled["engine"]["name"] == "cerify-kernel"
    assert set(compiled["languages"]) == set(started["languages"]) - {"sigma"}
    assert same == answer


def test_results_are_read_and_compared() -> None:
    answer = {"at": 0, "events": [0], "bindings": {}, "result": {"y": 2.0}}
    (match,) = protocol.matches_of_json([answer], "valuations")
    assert match == Match(0, (0,), (), result_of({"y": 2}))
    assert match != Match(0, (0,), (), result_of({"y": 3}))
    assert protocol.matches_of_json([answer], "matches") == [Match(0, (0,))]
    with pytest.raises(InputError, match="a result must be an object"):
        protocol.matches_of_json([{**answer, "result": 2}], "valuations")


# --- fuzz -------------------------------------------------------------------------------------------------------------


def forgetful(q: sase.SaseQuery, S: Stream, output: Any) -> list[Match]:
    """An evaluator with a fault: under a window it forgets matches of several events."""
    found = LANGUAGES["sase"].evaluators.matches(q, S)
    return [m for m in found if not (q.within is not None and len(m.events) > 1)]


def plan_sase(right: Any) -> CampaignPlan:
    language = LANGUAGES["sase"]
    asked = plan_of(language, "plain", "random", definition(language), cases=120, nodes=6, events=6)
    return replace(asked, right=right)


def test_the_runs_agree_with_the_definition() -> None:
    summary = campaign(plan_sase(built_in(LANGUAGES["sase"])["automaton"]))
    assert summary.disagreements == []
    assert summary.outcomes["matched"] > 40


def test_a_fault_is_found_and_shrunk_sase(tmp_path: Path) -> None:
    asked = plan_sase(forgetful)
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
    faulty = BuiltIn[Any].from_matches(lambda q, S, options: forgetful(q, S, options.output))
    monkeypatch.setitem(LANGUAGES["sase"].evaluators, "automaton", faulty)  # type: ignore[arg-type]
    said = CliRunner().invoke(
        fuzz.fuzz_command, [*options, "--cases", "60", "--stop-after", "1"], standalone_mode=False
    )
    assert said.return_value == 1
    assert "WITHIN" in said.output
