"""Before a divergence is reported it is judged again: where cerify contradicts itself, the engine is not blamed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from cerify.commands import fuzz
from cerify.conformance import cases
from cerify.conformance.cases import line_of_case, load
from cerify.conformance.model import Case, CaseResult
from cerify.conformance.oracle import Oracle, SecondOpinionIn, second_opinion, stream_of
from cerify.conformance.run import judged_again, reconsidered, search
from cerify.equivalence.differential import CampaignPlan, judge
from cerify.languages import LANGUAGES
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import denote, interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import InputError
from cerify.semantics.event_expressions.continuations import Machine
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.parse import parse as parse_expression
from cerify.semantics.events import Match, Stream
from proofs_tests.conftest import Run
from proofs_tests.support import stream

QUERY, S = "A ; NXT(A ; B)", stream("A A A B")
ORIGIN = Case("x", "nxt", "", "cel", QUERY, None, [], "matches", ())


def forget_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant a fault in what saves the definition time: NXT is taken to have the matches of longer intervals."""
    monkeypatch.setattr(interpreter, "INHERITING", interpreter.INHERITING | {cel.Next})


def right() -> frozenset[Match]:
    found = second_opinion("cel", parse(QUERY), S, "matches")
    assert found is not None
    return found


def test_the_plain_definition_has_no_part_in_what_saves_time(monkeypatch: pytest.MonkeyPatch) -> None:
    before = right()
    forget_next(monkeypatch)
    interpreter = Interpreter(S)
    assert frozenset({1, 2, 3}) not in map(denote.sup, interpreter.meaning(parse(QUERY), 0, 3))
    assert right() == before
    assert Match(3, (1, 2, 3)) in before


def test_a_right_engine_is_not_blamed_for_a_fault_of_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_next(monkeypatch)
    case = Oracle().case(parse(QUERY), S, ORIGIN)
    found = judged_again(CaseResult(case, "failed", sorted(right())), parse(QUERY), S)
    assert found.outcome == "disputed"
    assert found.second == sorted(right())
    assert "cerify contradicts itself" in found.detail
    assert "{1, 2, 3} at 3" in found.detail


class Right:
    """An engine that answers by the plain definition."""

    def run(self, case: Case) -> CaseResult:
        found = second_opinion("cel", parse(case.query), stream_of(case), "matches")
        assert found is not None
        return CaseResult(case, "passed" if found == set(case.matches) else "failed", sorted(found))


def test_on_all_short_streams_a_right_engine_is_not_blamed_either(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_next(monkeypatch)
    found = search(Right(), LANGUAGES["cel"], QUERY, 4, "matches")  # type: ignore[arg-type]
    assert not found.wrong
    assert len(found.disputed) == 1
    assert [event["type"] for event in found.disputed[0].case.events] == ["A", "A", "A", "B"]


def test_a_wrong_engine_is_blamed() -> None:
    case = Oracle().case(parse(QUERY), S, ORIGIN)
    failed = CaseResult(case, "failed", ())
    agreed = replace(failed, second=case.matches)
    assert judged_again(failed, parse(QUERY), S) == agreed
    assert reconsidered(failed) == agreed


def test_no_opinion_is_no_contradiction() -> None:
    assert second_opinion("cel", parse("A+"), stream("A A A A"), "matches", Budget(valuations=3)) is None
    assert second_opinion("cel", parse("A FILTER p(A)"), stream("A"), "matches") is None
    assert second_opinion("nobody's", "A", S, "matches") is None


def test_that_on_event_expressions_searches_for_prefix_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in the state machine with which the interpreter saves time is none of the plain definition."""
    E, h = parse_expression("prefix(b) and a"), stream("a b a")
    right = {Match(0, (0,)), Match(2, (2,))}
    assert second_opinion("event-expression", E, h, "matches") == right
    monkeypatch.setattr(Machine, "may_accept", lambda machine, state: False)
    assert takes_place(E, h) == frozenset()
    assert second_opinion("event-expression", E, h, "matches") == right
    assert second_opinion("event-expression", parse_expression("prefix(<9> a)"), h, "matches", Budget(99)) is None


def test_a_suite_that_expects_something_else_is_refused(tmp_path: Path) -> None:
    wrong = replace(Oracle().case(parse("A ; B"), stream("A B"), ORIGIN), matches=[Match(1, (1,))])
    suite = tmp_path / "mine.jsonl"
    suite.write_text(line_of_case(wrong) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1: the field 'matches': it contradicts the definition.*\[0,1\]"):
        load(str(suite))


def test_expected_matches_may_be_left_out(tmp_path: Path) -> None:
    right = Oracle().case(parse("A ; B"), stream("A B"), ORIGIN)
    line = {name: value for name, value in json.loads(line_of_case(right)).items() if name != "matches"}
    suite = tmp_path / "mine.jsonl"
    suite.write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert load(str(suite)) == [right]


def blowing_up(tmp_path: Path) -> Path:
    """A suite of a case without matches, which take half a minute."""
    case = Oracle().case(parse("A"), stream("A"), ORIGIN)
    line = json.loads(line_of_case(case)) | {"query": "A+ ; B+ ; A+ ; B+", "events": [{"type": R} for R in "AB" * 40]}
    del line["matches"]
    suite = tmp_path / "mine.jsonl"
    suite.write_text(f"{line_of_case(case)}\n{json.dumps(line)}\n", encoding="utf-8")
    return suite


def test_expected_matches_have_the_time_limit_of_a_case(tmp_path: Path, run: Run) -> None:
    status, _, err = run(
        "conform", "--suite", str(blowing_up(tmp_path)), "--time-limit", "0.02", "--engine", "automaton"
    )
    assert status == 2
    assert "mine.jsonl, line 2: the field 'query': it takes more than 0.02 seconds; simplify it, or allow more" in err


def test_expected_matches_of_a_suite_have_a_limit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "SUITE_SECONDS", 0)
    with pytest.raises(InputError, match="computing the matches up to here took 0 seconds; split the suite"):
        load(str(blowing_up(tmp_path)))


def test_a_case_that_expects_something_else_is_disputed() -> None:
    """A built-in suite is taken as it is; where it is wrong, the engine is not."""
    wrong = replace(Oracle().case(parse("A ; B"), stream("A B"), ORIGIN), matches=[Match(1, (1,))])
    result = reconsidered(CaseResult(wrong, "failed", [Match(1, (0, 1))]))
    assert result.outcome == "disputed"
    assert result.second == [Match(1, (0, 1))]
    assert result.detail == "cerify contradicts itself: it expects {1} at 1, and the definition gives {0, 1} at 1"


def test_a_campaign_says_that_cerify_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The automaton is right on NXT inside a formula, the definition with the planted fault is not."""
    arguments = ["--evaluator", "automaton", "--profile", "everything", "--cases", "3000", "--processes", "1"]
    arguments += ["--nodes", "6", "--events", "5", "--stop-after", "1", "--json", "--seed", "3"]  # meets it early
    forget_next(monkeypatch)
    said = CliRunner().invoke(fuzz.fuzz_command, arguments, standalone_mode=False)
    assert said.return_value == 1
    summary, found = map(json.loads, said.stdout.splitlines())
    assert summary["summary"]["outcomes"]["disputed"] == 1
    assert summary["summary"]["outcomes"]["disagreed"] == 0
    assert found["disputed"]
    assert found["second_opinion"] == found["got"] != found["expected"]
    assert "NXT" in found["query"]
    assert len(found["query"]) < 20


def test_a_contradiction_is_printed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cases that shrink to the same contradiction are one entry with both numbers."""
    forget_next(monkeypatch)
    monkeypatch.setattr(CampaignPlan, "made", lambda plan, index: (parse(QUERY), S))
    arguments = ["--evaluator", "automaton", "--cases", "2", "--processes", "1"]
    printed = CliRunner().invoke(fuzz.fuzz_command, arguments, standalone_mode=False).stdout
    assert printed.count("the plain definition gives") == 1
    assert "case 0, 1" in printed


def test_a_reference_that_fails_is_at_fault_where_there_is_a_second_opinion() -> None:
    def broken(phi: object, S: Stream, output: str) -> list[Match]:
        raise ZeroDivisionError

    def none(phi: object, S: Stream, output: str) -> list[Match]:
        return []

    for opinion, outcome in ((None, "disagreed"), (SecondOpinionIn("cel"), "disputed")):
        _, verdicts = judge(broken, {"e": none}, parse("A"), S, "matches", opinion)
        assert verdicts["e"].outcome == outcome
