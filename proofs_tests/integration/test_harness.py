"""The harness against engines that die, hang, flood and talk nonsense: one clear result, and nothing left running."""

import itertools
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import psutil
import pytest

from cerify.automata.evaluator import Output
from cerify.conformance import harness, peeling
from cerify.conformance.campaigns import EngineEvaluator
from cerify.conformance.engines import command_of
from cerify.conformance.harness import LONGEST_LINE, Engine, Limits, Losses
from cerify.conformance.model import Case, sentence
from cerify.conformance.report import case_json, render, summary
from cerify.conformance.run import conform
from cerify.languages import LANGUAGES
from cerify.languages.language import Language
from cerify.semantics import arguments
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import InputError
from cerify.semantics.events import Event, Match, Stream

RUDE = Path(__file__).parent / "engines" / "rude.py"
LIMITS = Limits(start_seconds=10, run_seconds=1.0, memory=300 * 2**20, restarts=3)


def case(id_: str, output: Output = "matches") -> Case:
    return Case(id_, "event", "none", "cel", "A", None, [{"type": "A"}], output, [Match(0, (0,))])


def rude(how: str) -> list[str]:
    return [sys.executable, str(RUDE), how]


def children() -> set[int]:
    return {p.pid for p in psutil.Process(os.getpid()).children(recursive=True)}


@pytest.mark.parametrize(
    ("how", "outcome", "says"),
    [
        ("dies", "crashed", "ended with status 7 before it answered; on its standard error: out of luck"),
        ("hangs", "timeout", "no answer within 1 s"),
        ("hangs with a child", "timeout", "no answer within 1 s"),
        ("floods a line", "protocol", f"a line of more than {LONGEST_LINE} bytes"),
        ("floods lines", "protocol", "the id 'flood', but the question has 'second'"),
        ("nonsense", "protocol", "not JSON"),
        ("another schema", "protocol", 'at matches[0].at: "two" is not of type "integer"'),
        ("another id", "protocol", "the id 'somebody else', but the question has 'second'"),
        ("a repetition", "failed", "more than once"),
        (
            "a null beside",
            "protocol",
            "an answer must have exactly one of matches, tables, skipped, error, not matches and error",
        ),
        ("no kind", "protocol", "an answer must have exactly one of matches, tables, skipped, error, not none"),
        ("a result left out", "protocol", "some matches have a 'result' and others have none"),
        ("a position with a point", "protocol", "matches[0].at: a position is a whole number from 0, written without"),
        ("a position twice", "failed", "matches[0].events: a list of positions, each once"),
        ("dies but its child lives", "crashed", "ended with status 7 before it answered"),
        ("unsupported", "skipped", "no such operator"),
        ("out of bounds", "failed", "beyond the 1 events sent"),
        ("not text", "protocol", "not text in UTF-8"),
        ("eats memory", "memory", "the cap is 300 MiB"),
        ("skips", "skipped", "not today (https://example.org/why)"),
        ("fails", "error", "internal: oops"),
        ("an unknown code", "protocol", 'at error.code: "wild" is not one of'),
    ],
)
def test_each_rudeness_has_one_clear_result(how: str, outcome: str, says: str) -> None:
    before = children()
    limits = Limits(10, 20.0, LIMITS.memory, 3) if how in ("floods a line", "eats memory") else LIMITS
    with Engine(rude(how), limits) as engine:
        first = engine.run(case("first"))
        second = engine.run(case("second", "valuations" if how == "a result left out" else "matches"))
    assert first.outcome == "passed"
    assert (second.outcome, says in second.detail) == (outcome, True), second.detail
    assert second.outcome != "passed"
    time.sleep(0.05)
    assert children() <= before, "a process was left running"


@pytest.mark.parametrize("ids", [["first", "second"], ["first", "second", "third"]])
def test_a_second_answer_fails_the_case_that_it_belongs_to(ids: list[str]) -> None:
    """It is seen with the next question, in place of the next answer, or at the end; the case after it is no worse."""
    for _ in range(5):  # which of these it is is a matter of time
        report = conform(rude("talks too much"), [case(id_) for id_ in ids], limits=LIMITS)
        assert [r.outcome for r in report.results] == ["passed", "protocol", "passed"][: len(ids)]
        assert report.results[1].detail.startswith("answered twice; the second time it wrote: ")


def test_reading_an_answer_is_bounded_by_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that moves when it is looked at; a line of 64 MiB kept the harness busy for minutes."""
    monkeypatch.setattr(arguments, "time", SimpleNamespace(monotonic=itertools.count(0, 0.01).__next__))
    with Engine(rude("at length"), LIMITS) as engine:
        assert engine.run(case("first")).outcome == "passed"
        second = engine.run(case("second"))
    assert (second.outcome, "bytes takes more than 1 s to read" in second.detail) == ("timeout", True), second.detail


@pytest.mark.parametrize(
    ("how", "outcome", "says"),
    [
        ("a long skip", "skipped", "a… (2,345 more characters)"),
        ("a long id", "protocol", "… (2,4"),
        ("a long key twice", "protocol", "… (2,3"),
        ("a long translation", "failed", "… (2,345 more characters)"),
        ("wrong matches", "failed", "of its wrong matches are left out here"),
        ("a wrong match of many positions", "failed", "1 of its wrong matches are left out here"),
    ],
)
def test_what_is_kept_of_an_answer_is_bounded(how: str, outcome: str, says: str) -> None:
    with Engine(rude(how), LIMITS) as engine:
        engine.run(case("first"))
        second = engine.run(case("second"))
    assert second.outcome == outcome
    assert says in second.detail + second.translation
    assert len(json.dumps(case_json(second))) < 50_000
    missed = how in ("a long translation", "a wrong match of many positions")
    assert outcome != "failed" or ("missing" in sentence(second)) == missed  # what is expected is never left out


def test_a_campaign_compares_whole_answers() -> None:
    with Engine(rude("wrong matches"), LIMITS) as engine:
        evaluator = EngineEvaluator(engine, LANGUAGES["cel"])
        evaluator(parse("A"), Stream([Event("A")]), "matches")
        assert len(evaluator(parse("A"), Stream([Event("A")]), "matches")) == 5_000


def test_an_answer_to_start_is_no_longer_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "LONGEST_START", 20)
    with pytest.raises(InputError, match=r"its answer to start has [0-9]+ bytes, more than 20"):
        Engine(rude("dies"), LIMITS)


def test_an_answer_for_which_there_is_no_memory_fails_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: object) -> NoReturn:
        raise MemoryError

    with Engine(rude("unsupported"), LIMITS) as engine:
        monkeypatch.setattr(harness, "parse_json", none_left)
        result = engine.run(case("first"))
    assert result.outcome == "memory"
    assert "takes more memory to read than there is" in result.detail


def test_a_line_that_nobody_asked_for_fails_the_next_case() -> None:
    with Engine(rude("goes on talking"), LIMITS) as engine:
        engine.run(case("first"))
        engine.run(case("second"))
        time.sleep(0.2)
        third = engine.run(case("third"))
    assert third.outcome == "protocol"
    assert "answers no request" in third.detail


def test_memory_is_capped_for_an_engine_that_answers_at_once() -> None:
    """It is looked at between answers too, and not only while one is waited for."""
    with Engine(rude("grows"), replace(LIMITS, run_seconds=20.0)) as engine:
        outcomes = []
        for i in range(8):
            outcomes.append(engine.run(case(str(i))).outcome)
            time.sleep(0.06)
    assert "memory" in outcomes


def test_shrinking_takes_from_the_same_restarts(tmp_path: Path) -> None:
    """A run and its search for smaller cases together restart an engine no more often than the limit says."""
    started = tmp_path / "started"
    limits = Limits(start_seconds=10, run_seconds=0.3, restarts=1)
    events, matches = [{"type": "A"}] * 4, [Match(i, (i,)) for i in range(4)]
    larger = replace(case("b"), query="A OR A OR A", events=events, matches=matches)
    report = conform([*rude("hangs"), str(started)], [case("a"), larger, case("c"), larger], limits=limits)
    assert report.restarts == 1
    assert report.totals["timeout"] == 2
    (divergence,) = report.defects
    assert divergence.stopped == "the engine was restarted 1 times, which is the limit"
    first_starts = 2  # of the run, and of the search
    assert len(started.read_text().splitlines()) <= first_starts + limits.restarts
    assert divergence.stopped in render(report)
    assert summary(report)["divergences"][0]["stopped"] == divergence.stopped


@pytest.mark.parametrize("how", ["an unknown code", "another schema", "a position twice", "out of bounds"])
def test_a_wrong_line_fails_its_case_and_not_the_engine(how: str) -> None:
    """Nine answers with an unknown error code once ended a run of 2,106 cases."""
    with Engine(rude(how), LIMITS) as engine:
        results = [engine.run(case(str(i))) for i in range(7)]
        words = how == "an unknown code"
        while words and "careful" not in results[-1].stderr and len(results) < 200:
            time.sleep(0.05)  # in which what it wrote on standard error may arrive
            results.append(engine.run(case(str(len(results)))))
        assert engine.restarts == 0
    assert [r.outcome for r in results] == ["passed"] + [results[1].outcome] * (len(results) - 1)
    if words:
        assert "careful" in results[-1].stderr


def test_queries_with_operators_that_hang_twice_are_not_asked_again(tmp_path: Path) -> None:
    """Each process answers its first case; the other operators are asked all the same."""
    started = tmp_path / "started"
    limits = Limits(start_seconds=10, run_seconds=0.3, restarts=9)
    loops = [replace(case(f"l{i}"), query="A OR A+") for i in range(6)]
    with Engine([*rude("hangs"), str(started)], limits, losses=Losses(skips=True)) as engine:
        outcomes = [engine.run(one).outcome for one in (case("a"), *loops, case("b"))]
        last = engine.run(loops[0])
    assert outcomes == ["passed", "timeout", "passed", "timeout", "not_run", "not_run", "not_run", "passed"]
    assert last.detail == "not run, because 2 queries with or, plus exceeded the time limit"
    assert len(started.read_text().splitlines()) == 1 + 2


def test_no_longer_chain_is_run_than_one_that_hung() -> None:
    """Each of three chains of 64 steps had cost a restart, and two of them the short queries of `;`."""
    losses = Losses(skips=True)
    short, chain, longer = (replace(case("c"), query=" ; ".join(["A"] * n)) for n in (20, 24, 64))
    losses.lose(chain, "timeout", "no answer within 3 s")
    for skips in (True, False):
        losses.skips = skips
        assert losses.why_not(longer) == "not run, because a shorter query with seq exceeded the time limit"
        assert losses.why_not(short) is None
    losses.lose(replace(case("c"), query="A ; A"), "timeout", "no answer within 3 s")
    losses.skips = True
    assert losses.why_not(short) is None


def test_the_last_restarts_are_not_spent_on_the_operators_of_lost_queries() -> None:
    """Loops that do not end had used up all restarts, and no case of other operators was run."""
    losses = Losses(skips=True)
    for query in ("A ; B", "A OR B", "A ; (B OR C)", "A+", "A ; B OR A:+ ; B"):
        losses.answer(replace(case("a"), query=query))
    for query in ("A+ ; B", "A OR A+", "A:+ ; A", "(A+ ; B) WITHIN 2 EVENTS"):
        losses.lose(replace(case("l"), query=query), "timeout", "no answer within 3 s")
    assert losses.suspects() == ["cplus", "plus"]
    loop, seq = replace(case("b"), query="B OR C+"), replace(case("c"), query="C ; A")
    assert losses.why_not(loop) is None
    assert losses.why_not(loop, scarce=True) == (
        "not run, because queries with plus had no answer, and few restarts are left"
    )
    assert losses.why_not(seq, scarce=True) is None


def test_an_interrupted_run_reports_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Engine.run

    def interrupted(engine: Engine, one: Case, then: Case | None) -> object:
        if one.id == "2":
            raise KeyboardInterrupt
        return run(engine, one, then)

    monkeypatch.setattr(Engine, "run", interrupted)
    report = conform(rude("skips"), [case(str(i)) for i in range(5)], limits=LIMITS)
    assert report.ended == "interrupted after 2 of 5 cases"
    assert report.totals == {"passed": 1, "skipped": 1, "not_run": 3}
    assert not report.conforms
    assert summary(report)["ended"] == report.ended
    assert report.ended in render(report)


def test_a_search_for_defects_that_is_interrupted_between_two_questions_reports_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elements, calls = peeling.elements, itertools.count()

    def interrupted(language: Language[Any], query: Any, S: Stream) -> object:
        if next(calls) == 1:
            raise KeyboardInterrupt
        return elements(language, query, S)

    monkeypatch.setattr(peeling, "elements", interrupted)
    report = conform(rude("a repetition"), [case(str(i)) for i in range(3)], limits=LIMITS)
    assert report.ended == peeling.INTERRUPTED
    assert report.totals == {"passed": 1, "failed": 2}
    assert {id_ for defect in report.defects for id_ in defect.cases} == {"1", "2"}


def test_cases_in_languages_that_the_engine_does_not_speak_are_not_asked() -> None:
    """Cases in other languages are no skips: they would fill the table with features that the engine cannot know."""
    other = [replace(case(str(i)), language="sase", feature="sase-any") for i in range(3)]
    report = conform(rude("skips"), [case("a"), *other], limits=LIMITS)
    assert report.totals == {"passed": 1}
    assert report.unasked == {"sase": 3}
    assert summary(report)["unasked"] == {"sase": 3}
    page = render(report)
    assert "3 in sase" in page
    assert "sase-any" not in page


def test_an_engine_that_claims_nothing_does_not_conform() -> None:
    cases = [replace(case(str(i)), language="sase") for i in range(3)]
    report = conform(rude("skips"), cases, limits=LIMITS)
    assert report.totals == {}
    assert not report.conforms


def test_an_engine_is_restarted_so_often_and_no_more() -> None:
    """Each process answers one case and dies on the next: every other case passes until the restarts are used up."""
    cases = [case(str(i)) for i in range(12)]
    report = conform(rude("dies"), cases, limits=LIMITS)
    assert report.restarts == 3
    assert report.totals == {"passed": 4, "crashed": 4, "not_run": 4}
    assert not report.conforms
    assert len(report.results) == 12


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["no-such-engine-anywhere"], "cannot be started: no-such-engine-anywhere: No such file"),
        ([str(RUDE)], "cannot be started"),
        (rude("dies at once"), "did not start.*no licence"),
        (rude("starts with nonsense"), "did not start.*(not JSON.*it wrote|that answers no request): hello"),
        (rude("never starts"), "did not start.*no answer within 1 s"),
    ],
)
def test_an_engine_that_does_not_start_is_an_error_of_input(argv: list[str], says: str) -> None:
    before = children()
    with pytest.raises(InputError, match=rf"(?s){says}"):
        Engine(argv, Limits(start_seconds=1.0))
    assert children() <= before


def test_a_message_that_was_prepared_is_sent_for_its_own_case_only() -> None:
    """The case that is asked next is not always the one that was to come, as after an answer that was not awaited."""
    right, other = case("right"), replace(case("other"), query="B", matches=())
    prepared: list[str] = []
    with Engine(command_of("automaton"), LIMITS) as engine:
        for now, then in ((right, other), (right, right), (right, replace(right, query="B")), (right, None)):
            assert engine.run(now, then).outcome == "passed", (now, then)
            prepared.append("" if engine._prepared is None else engine._prepared[1])
        assert engine.run(other).outcome == "passed"
    assert ['"B"' in text for text in prepared] == [True, False, True, False]
