"""Event expressions wherever CEL is served: match, check, explain, engine, fuzz and equiv."""

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
from cerify.api import contained, equivalent
from cerify.commands import engine, equiv, explain, fuzz, simplify
from cerify.commands import match as match_command
from cerify.conformance.campaigns import built_in, definition, plan_of
from cerify.equivalence.differential import CampaignPlan, campaign
from cerify.equivalence.generate.expressions import PROFILES, case
from cerify.equivalence.verdict import Contained, Equivalent
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
from cerify.semantics.errors import IllFormed, InputError, ParseError, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.occurrences import Occurrences
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Event, Match, Schema, Stream
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.event_expressions.examples import EXAMPLES, history
from proofs_tests.unit.workbench.test_html import HOSTILE, Outline

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
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_evaluator_has_the_papers_answers(name: str, evaluator: str) -> None:
    query, S, expected = EXAMPLES[name]
    found = cerify.match(query, history(S), language=LANGUAGE, evaluator=evaluator)
    assert found == [Match(e, (e,)) for e in expected]
    assert cerify.match(parse(query), history(S), evaluator=evaluator) == found


def test_what_is_not_carried_is_unsupported() -> None:
    S = history("a(1) b(1)")
    with pytest.raises(Unsupported, match="make them parameters"):
        cerify.match("p(X) := prior(a(X), b(Y)) and b(Y); !p(1)", S, language=LANGUAGE)
    for evaluator in LANGUAGES["event-expression"].evaluators:
        assert cerify.match("prior(a(X), b(X))", S, language=LANGUAGE, evaluator=evaluator) == [Match(1, (1,))]
        with pytest.raises(Unsupported, match="it binds no sets"):
            cerify.match("a", S, language=LANGUAGE, evaluator=evaluator, output="valuations")
        with pytest.raises(InputError, match="at its beginning or none"):
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
    assert "never: it takes place at no event of any history" in never.output
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
    E = parse("exists x (prior(deposit = x, withdraw) and !relative(x, interest))")
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
    E = parse("b")
    for text, steps in (("a b a b", 4), ("a " * 40 + "b", 2)):
        S = Stream(map(Event, text.split()))
        page = page_of(E, S, *explain_events(E, S), walked=True)
        assert page.count("<li") - page.count("<li>b") == steps
        assert page.count('href="#h') == text.count("b")
    assert "It takes place at no event" in page_of(E, S.part(0, 3), walked=True)


def test_nothing_of_a_history_becomes_markup_on_its_page() -> None:
    S = Stream([Event("a", {"s": HOSTILE})])
    for text in ("a[s = '<b>']", "a"):
        E = parse(text)
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
    assert nothing.stderr == "cerify: warning: it takes place at no event of any history\nNULL\n^^^^\n"
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
    ("relative(a, <2> b)", "a b", "<2> b: it is number 1 of the events of b"),
    ("relative(a, c)", "a a b", "relative(a, c): c does not take place there in what follows any of the events {0, 1}"),
    ("a | first", "a a", "first: event 0 is the first"),
    ("b / a", "b", "b / a: a does not take place before it"),
    ("b /+ a", "a a", "b /+ a: event 1 is itself one of a, which begins a new history after it"),
    ("firstAfter(a, b, c)", "a c b", "firstAfter(a, b, c): c has taken place at event 1"),
    ("a * b", "c b", "a * b: a does not take place at event 0 before it"),
    ("prefix(a and first)", "b", "prefix(a and first): a and first can take place at no event to come"),
    ("exists x (relative(b = x, a))", "a", "relative(b = x, a): b = x does not take place before event 0"),
    ("exists x (prior(b = x, a))", "a a",
     "exists x (prior(b = x, a)): prior(b = x, a) does not take place there, whichever event x is"),
    ("a(X) and b(X)", "a(1)", "b(X): event 0 is a p0=1"),
])  # fmt: skip
def test_why_not(query: str, S: str, why: str) -> None:
    stream = history(S)
    found = explain_event(parse(query), stream, len(stream) - 1)
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

    return list(LANGUAGES[LANGUAGE].matches(read(E), S))


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
    assert isinstance(equivalent("a", parse("a or a"), languages=EXPRESSIONS), Equivalent)
    assert isinstance(contained("a and b", "a", languages=EXPRESSIONS), Contained)
    with pytest.raises(ParseError, match="prior"):
        equivalent("a", "prior(", languages=EXPRESSIONS)
    with pytest.raises(IllFormed, match="unknown event type b"):
        equivalent("a", "b", languages=EXPRESSIONS, schema=Schema({"a": {}}))
