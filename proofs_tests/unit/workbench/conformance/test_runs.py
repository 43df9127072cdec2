"""Parts of the harness one by one, on small reports: what they count, print, and leave out."""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree as ET
from xml.sax.saxutils import unescape

import pytest
from click.testing import CliRunner

from cerify import conform
from cerify.cli import cerify
from cerify.commands import conform as trend_command
from cerify.conformance import defects as defects_module
from cerify.conformance import engines, inquiry
from cerify.conformance.campaigns import BuiltInEvaluator, ClaimedMaker, EngineEvaluator, Job, PlanShare, plan_of
from cerify.conformance.cases import Claims, case_of_line, learnt, load, nodes
from cerify.conformance.defects import (
    UNPASSED,
    DefectGroup,
    _causes,
    _find_necessary_choice,
    bearing_choices,
    causes_of,
    choices_behind,
    defects_behind,
    why_of,
)
from cerify.conformance.harness import Engine, Losses
from cerify.conformance.identification import schema_for
from cerify.conformance.judgement import Choices
from cerify.conformance.model import (
    Case,
    CaseResult,
    Defect,
    DefectCause,
    Report,
    count_of,
    difference,
    format_matches,
    kinds_compared,
    kinds_of,
    of_output,
)
from cerify.conformance.oracle import AxisFinding, Oracle, merged, read_policies, read_policy, second_opinion
from cerify.conformance.peeling import Peeler, canonical, renaming, without
from cerify.conformance.prediction import AXES, answer, interpretation_of
from cerify.conformance.report import (
    EXPLANATION,
    GREEN,
    RED,
    again,
    against,
    axis_says,
    badge,
    case_json,
    defect_text,
    entitled,
    event_text,
    issue_text,
    junit,
    read_stored,
    render,
    report_lines,
    rows_of,
    summary,
    trend,
    verdict,
)
from cerify.conformance.run import search, unsteady
from cerify.hypotheses.cel import within
from cerify.hypotheses.interpretation import CONDITIONS, ConditionVariant, Template, choices_of, events, questions
from cerify.languages import BUILT_IN, LANGUAGES, WITHOUT_SUITE
from cerify.protocol import MatchesAnswer
from cerify.semantics.arguments import Budget, parse_reading
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import Event, Match, Schema, Stream
from cerify.semantics.readings import Reading
from cerify.semantics.row_pattern.scalars import NumberedMatch
from cerify.semantics.values import Value
from proofs_tests.conftest import Run
from proofs_tests.support import stream

# ---- small parts ----
#

CASE = Case("c1", "seq", "", "cel", "A ; B", None, [{"type": "A"}, {"type": "B"}], "matches", [Match(1, (0, 1))])
WRONG = CaseResult(CASE, "failed", [Match(0, (0,))], seconds=0.25)
RIGHT = CaseResult(replace(CASE, id="c2"), "passed", CASE.matches)
SKIPPED = CaseResult(replace(CASE, id="c3"), "skipped", detail="no")
NOT_RUN = CaseResult(replace(CASE, id="c4"), "not_run", detail="the engine is gone")
DEFECT = Defect("d1", "missing", ("seq",), WRONG, WRONG, ("c1",), why="B follows A", stopped="no time is left")
CEL = LANGUAGES["cel"]
EVALUATOR = BuiltInEvaluator(CEL, "automaton")


def report(*results: CaseResult, **more: Any) -> Report:
    return Report("mine", "1", "s", results, more.pop("defects", ()), 0, 1.0, **more)


@pytest.fixture
def few_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `identify` ask one stage of its questions: all of them take half a minute where the engine answers none."""
    stages = [stage for stage in inquiry.STAGES["cel"] if stage.axes == ("seq@cseq",)]
    monkeypatch.setattr(inquiry, "STAGES", {"cel": stages})


class NothingMatches:
    """An engine that reports no match."""

    def run(self, case: Case) -> CaseResult:
        return CaseResult(case, "failed" if case.matches else "passed", [])


def test_all_streams_over_the_types_of_a_query_and_one_other() -> None:
    """Of 3 streams of one event, and 9 of two, one has A and then B."""
    found = search(NothingMatches(), CEL, "A ; B", 2, "matches")  # type: ignore[arg-type]
    assert (found.asked, found.planned, len(found.wrong)) == (12, 12, 1)
    assert found.shortest is not None
    assert [event["type"] for event in found.shortest.case.events] == ["A", "B"]


def test_a_badge_is_green_where_the_engine_conforms() -> None:
    conforms, departs = badge(report(RIGHT)), badge(report(WRONG, RIGHT))
    assert GREEN in conforms
    assert RED in departs
    assert ET.fromstring(conforms).attrib["height"] == "20"


def test_the_choice_that_is_needed_beside_others() -> None:
    class Both:
        def reproduces(self, chosen: Sequence[tuple[str, str]], result: CaseResult) -> bool:
            return {("a", "1"), ("b", "1")} <= set(chosen)

    both: Any = Both()
    chosen = [("c", "1"), ("a", "1"), ("b", "1")]
    assert _find_necessary_choice(both, chosen, WRONG, ()) == ("a", "1")
    assert _find_necessary_choice(both, chosen, WRONG, {("a", "1")}) == ("b", "1")
    assert _find_necessary_choice(both, chosen[:2], WRONG, ()) is None


def test_streams_of_a_campaign_are_random_only_where_that_is_asked() -> None:
    generator = CEL.require_cases().generator()
    random, guided = (plan_of(CEL, "core", how, EVALUATOR, cases=1) for how in ("random", None))
    assert random.maker == generator.case
    assert guided.maker == generator.guided != generator.case


def test_types_of_a_schema_alone_get_names_of_their_own() -> None:
    S = Stream([Event("Tick")], Schema({"Tick": {"price": "int"}, "Quote": {"price": "int"}}))
    assert renaming(CEL, "Tick", parse("Tick"), S) == {"Tick": "A", "Quote": "B", "price": "x"}


def test_a_language_without_hypotheses_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="no hypotheses about the meaning of other"):
        interpretation_of("other")


def test_windows_are_seen_where_they_are() -> None:
    interpretation = interpretation_of("cel")
    assert interpretation.has_window(parse("(A ; B) WITHIN 3 EVENTS"))
    assert not interpretation.has_window(parse("A ; B"))


def test_a_choice_for_all_windows_is_one_for_each_that_has_it() -> None:
    axes = interpretation_of("cel").axes
    chosen = choices_of({}, axes)
    assert chosen == {name: axis.default for name, axis in axes.items()}


def test_a_template_has_its_shortest_streams_first() -> None:
    template = Template("A", ({"type": "A"}, {"type": "B"}), 2)
    assert [len(events) for events in template.streams()] == [1, 1, 2, 2, 2, 2]


def test_cases_without_an_answer_are_errors_of_junit_but_skipped_ones_are_not() -> None:
    root = ET.fromstring(junit(report(WRONG, RIGHT, SKIPPED, NOT_RUN)))
    counts = [root.attrib[name] for name in ("tests", "failures", "skipped", "errors")]
    assert counts == ["4", "1", "1", "1"]


def test_what_is_known_from_a_baseline_is_skipped_in_junit() -> None:
    root = ET.fromstring(junit(replace(report(WRONG, RIGHT), known=frozenset({WRONG.case.id}))))
    assert (root.get("failures"), root.get("errors"), root.get("skipped")) == ("0", "0", "1")
    (skipped,) = root.iter("skipped")
    assert str(skipped.get("message")).startswith("known from the baseline: ")


def test_a_badge_says_that_there_is_a_profile() -> None:
    assert ", by its profile</text>" in badge(replace(report(RIGHT), held_to="CEL with loop=single"))


def test_only_failing_cases_that_were_asked_are_unexplained() -> None:
    other = CaseResult(replace(CASE, id="c5"), "crashed", detail="exit status 1")
    assert report(WRONG, RIGHT, NOT_RUN, other, defects=(DEFECT,)).unexplained == ("c5",)


def test_an_oracle_with_other_answers_is_not_decided_and_concerns_one_language() -> None:
    policy, reading = Oracle(choices={"cel": {"seq": "strict"}}), Oracle(reading=Reading(window="closed"))
    assert [oracle.is_decided for oracle in (Oracle(), policy, reading)] == [True, False, False]
    assert [policy.concerns(name) for name in ("cel", "sase")] == [True, False]
    assert [reading.concerns(name) for name in ("cel", "sase")] == [False, True]


def test_a_policy_of_several_lines_may_have_empty_ones(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    line = '{"language": "sase", "axes": {"window": {"value": "closed"}}}\n'
    path.write_text(f"{line}\n{line}\n", encoding="utf-8")
    assert read_policy(path) == {"sase": {"window": "closed"}}
    path.write_text('{"language": "sase", "axes": {"window": {"value": "ajar"}}}', encoding="utf-8")
    with pytest.raises(InputError, match="the axis window has the values"):
        read_policy(path)


@pytest.mark.parametrize("version", [2, 0, "1", None])
def test_a_profile_of_another_version_is_refused(version: object, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"profile": version, "language": "sase", "axes": {"window": "closed"}}))
    with pytest.raises(InputError, match=r"version .*, but this cerify reads version 1: write it again with"):
        read_policy(path)


def test_a_stored_run_may_have_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("\n\n".join(report_lines(report(WRONG, RIGHT))) + "\n\n", encoding="utf-8")
    found = read_stored(path)
    assert found.summary["engine"]["name"] == "mine"
    assert set(found.cases) == {"c1", "c2"}


def test_the_nodes_of_trees_are_those_that_a_query_can_have() -> None:
    assert "Derived" not in nodes("cel")
    assert not [name for name in nodes("cel") if name.startswith("_")]


def test_a_report_says_why_a_search_stopped_and_how_long_a_case_took() -> None:
    summary = json.loads(next(iter(report_lines(report(WRONG, defects=(DEFECT,))))))["summary"]
    assert [one["stopped"] for one in (*summary["defects"], *summary["divergences"])] == ["no time is left"] * 2
    assert case_json(WRONG)["seconds"] == 0.25


def test_an_issue_has_the_reason_if_there_is_one() -> None:
    of = report(WRONG, defects=(DEFECT,))
    assert "Why:\n```\nB follows A\n```" in issue_text(DEFECT, of)
    assert "Why:" not in issue_text(replace(DEFECT, why=""), of)


def test_a_verdict_calls_failures_known_only_if_all_of_them_are() -> None:
    assert "in 1 case, all of them known" in verdict(report(WRONG, RIGHT, known=frozenset({"c1"})))
    assert verdict(report(WRONG, RIGHT)).endswith("departs from the semantics in 1 case.")
    assert verdict(report(RIGHT)).endswith("conforms on all it claims.")
    slow = replace(WRONG, case=replace(WRONG.case, id="c3"), outcome="timeout", matches=None)
    late = verdict(report(slow, WRONG, RIGHT))
    assert "1 not answered in time" in late
    assert late.endswith("departs from the semantics in 1 case.")


def test_a_second_opinion_is_none_without_a_language_or_within_no_budget() -> None:
    S = stream("A A A B")
    assert second_opinion("other", parse("A"), S, "matches") is None
    assert second_opinion("cel", parse("A+ ; B"), S, "matches", Budget(valuations=2)) is None
    assert second_opinion("cel", parse("A : B"), S, "matches") == {Match(3, (2, 3))}


def test_a_wrong_answer_has_a_kind_and_a_reason_and_no_answer_is_none() -> None:
    assert kinds_of(WRONG) == {"missing", "extra"}
    assert kinds_of(replace(WRONG, matches=[*CASE.matches, Match(0, (0,))])) == {"extra"}
    assert kinds_of(RIGHT) == frozenset()
    extra = replace(WRONG, matches=[*CASE.matches, Match(0, (0,))])
    assert why_of(extra) != why_of(WRONG) != ""
    assert why_of(replace(WRONG, matches=[*CASE.matches, Match(9, (9,))])) == ""


def test_what_is_left_out_is_counted_and_moved_matches_are_named() -> None:
    assert count_of(["a", "b", "c"], 2) == "a, b and 1 more"
    assert count_of(["a", "b"], 2) == "a, b"
    moved = difference({Match(1, (0, 1))}, {Match(2, (0, 1))})
    assert moved.endswith("the same events are reported at another position")


def test_after_eight_types_names_have_numbers() -> None:
    query = " OR ".join(f"Type{n}" for n in range(9))
    names = renaming(CEL, query, parse(query), Stream([]))
    assert (names["Type0"], names["Type7"], names["Type8"]) == ("A", "H", "A1")


def test_a_case_without_matches_has_those_of_the_definition() -> None:
    obj = {"id": "c", "feature": "f", "clause": "", "language": "cel", "query": "A FILTER A.x > 0.5", "events": []}
    of = {"schema": {"A": {"x": "float"}}, "events": [{"type": "A", "x": 1}, {"type": "A", "x": 0}]}
    case = case_of_line(json.dumps(obj | of | {"output": "matches"}), "here")
    assert (case.id, case.matches) == ("c", [Match(0, (0,))])


def test_a_case_of_a_campaign_belongs_to_one_of_its_parts() -> None:
    job = Job((PlanShare("cel", "core"), PlanShare("cel", "figure3")), ("automaton",))
    assert {job.part(index) for index in range(20)} == set(job.parts)


def test_matches_after_the_end_or_after_the_beginning_of_the_last_one() -> None:
    found = {}
    for how in ("past-last", "to-next"):
        given = answer("cel", "A ; B", stream("A A B B"), {"overlap": how})
        assert isinstance(given, MatchesAnswer)
        found[how] = [m.events for m in given.matches]
    assert found == {"past-last": [(0, 2)], "to-next": [(0, 2), (1, 2)]}


def test_what_is_forbidden_anywhere_in_a_match() -> None:
    """By the definition B is forbidden between A and C; by this hypothesis also between C and D."""
    query = "PATTERN SEQ(A a, ~B b, C c, D d) WHERE skip_till_any_match(a, c, d) { } RETURN a.x"
    for choices, number in (({}, 1), ({"negation": "any-between"}, 0)):
        given = answer("sase", query, stream("A C B D"), choices, "valuations")
        assert isinstance(given, MatchesAnswer)
        assert len(given.matches) == number


@pytest.mark.parametrize("language", AXES)
def test_the_option_that_a_report_names_for_a_cause_is_one(language: str, tmp_path: Path) -> None:
    """A value that is no reading of SASE+ is declared in a policy, as those of the other languages are."""
    small = replace(DEFECT, result=replace(WRONG, case=replace(CASE, language=language)))
    for axis in AXES[language].values():
        for value in axis.values[1:]:
            option, _, text = entitled(small, DefectCause(axis.name, value, 1, 1)).partition(" ")
            if option == "--reading":
                assert getattr(parse_reading(Reading, [text]), axis.name) == value
            else:
                (tmp_path / "policy.json").write_text(text[text.index("{") :], encoding="utf-8")
                assert read_policy(tmp_path / "policy.json") == {language: {axis.name: value}}


def test_an_option_for_a_cause_holds_the_engine_to_what_it_was_held_to_before(tmp_path: Path) -> None:
    held = replace(DEFECT, held={"seq": "strict", "loop": "single"})
    text = entitled(held, DefectCause("seq", "any", 1, 1))
    (tmp_path / "policy.json").write_text(text[text.index("{") :], encoding="utf-8")
    assert read_policy(tmp_path / "policy.json") == {"cel": {"loop": "single"}}
    sase = replace(DEFECT, result=replace(WRONG, case=replace(CASE, language="sase")), held={"window": "closed"})
    assert (
        entitled(sase, DefectCause("stream_end", "waits", 1, 1)) == "--reading window=closed --reading stream_end=waits"
    )


def test_the_choices_that_an_engine_is_held_to_are_those_of_the_policy_and_the_reading() -> None:
    oracle = Oracle(
        Reading(window="closed"), {"cel": {"window": "open"}, "sase": {"loop": AXES["sase"]["loop"].values[1]}}
    )
    assert oracle.find_choices("cel") == {f"window@{measure}": "open" for measure in ("events", "time", "attribute")}
    assert oracle.find_choices("sase") == {"window": "closed", "loop": AXES["sase"]["loop"].values[1]}
    assert oracle.find_choices("event-expression") == {}


def test_an_engine_is_held_to_a_policy_and_a_reading_together() -> None:
    query = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { } WITHIN 2 seconds"
    events = [{"type": "A", "time": 0}, {"type": "B", "time": 2}]
    edge = replace(CASE, language="sase", query=query, events=events, matches=[])
    other, closed = {"strategy@next": "any"}, {"window": "closed"}
    for reading, policy, number in (
        (Reading(), other, 0),
        (Reading(window="closed"), other, 1),
        (Reading(), closed, 1),
    ):
        oracle = Oracle(reading, {"sase": policy})
        assert len(oracle.expecting(edge).matches) == number


@pytest.fixture(scope="module")
def under_a_policy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A policy, and of an engine that means the definition by `;` the text and the page of a run under it."""
    path = tmp_path_factory.mktemp("policy") / "next.json"
    path.write_text('{"language": "cel", "axes": {"seq": "next-from-left"}}', encoding="utf-8")
    engine = ("--", sys.executable, "-m", "cerify.cli", "engine")
    options = ("--feature", "seq", "--policy", str(path), "--html", str(path.with_suffix(".html")))
    ran = CliRunner().invoke(cerify, ["conform", *options, *engine], standalone_mode=False)
    assert ran.return_value == 1, ran.output
    return path, ran.output, path.with_suffix(".html").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_under_a_policy_the_meaning_of_the_definition_is_a_cause(under_a_policy: tuple[Path, str, str]) -> None:
    """`seq@cseq=next-from-left` was named for `A ; A`, which has no `:`, since it leaves the definition as it is."""
    _, text, _ = under_a_policy
    (cause,) = (line.split(maxsplit=1)[1] for line in text.splitlines() if line.startswith("  cause "))
    assert cause.startswith("seq=any gives ")
    assert "as likely" not in cause
    assert "@" not in text


@pytest.mark.thorough
@pytest.mark.slow
def test_under_a_policy_an_expected_match_is_not_explained_by_the_definition(
    under_a_policy: tuple[Path, str, str],
) -> None:
    path, text, page = under_a_policy
    why = "the expected matches follow seq=next-from-left, which is not the default meaning"
    for shown in (text, html.unescape(page)):
        assert why in shown
        assert "is a match at" not in shown
        assert "cerify match" not in shown
        assert f"cerify conform --policy {path} --case " in shown


@pytest.mark.thorough
def test_a_defect_of_an_engine_with_a_name_is_seen_again_by_the_name(tmp_path: Path) -> None:
    """The command that starts its adapter is in a folder of this machine, which no bug tracker knows."""
    path = tmp_path / "next.json"
    path.write_text('{"language": "cel", "axes": {"seq": "next-from-left"}}', encoding="utf-8")
    options = ("--engine", "denotational", "--policy", str(path), "--feature", "seq", "--diagnosis-limit", "0")
    ran = CliRunner().invoke(cerify, ["conform", *options], standalone_mode=False)
    again = re.findall(r"cerify conform (.*)", ran.output)
    assert again
    assert all(re.fullmatch(rf"--engine denotational --policy {path} --case \S+", one) for one in again)


def test_a_choice_that_changes_no_expected_match_is_no_reason() -> None:
    """It stood under each disagreement of an engine with a policy, with a command that gave other matches."""
    held = {"seq": "strict", "emit": "one-per-position"}
    case = replace(CASE, query="A ; B", events=[{"type": "A"}, {"type": "B"}], schema=None, matches=[Match(1, (0, 1))])
    assert bearing_choices(case, held) == {}
    other = replace(case, events=[{"type": name} for name in "ACB"], matches=[])
    assert bearing_choices(other, held) == {"seq": "strict"}
    longer = replace(other, events=[{"type": name} for name in "ABAB"], matches=[Match(1, (0, 1)), Match(3, (2, 3))])
    lacking, beside = ([Match(1, (0, 1)), *more] for more in ([], [Match(3, (2, 3)), Match(3, (0, 3))]))
    for given, why in ((lacking, "{2, 3} is a match at 3"), (beside, "the expected matches follow seq=strict")):
        assert why_of(CaseResult(longer, "failed", given), {"seq": "strict"}).startswith(why)
    by_policy = why_of(CaseResult(longer, "failed", beside), {"seq": "strict"}).splitlines()
    assert "strict is “" in by_policy[1]
    assert by_policy[-1] == "by this, {0, 3} at 3 is not expected"
    derived = why_of(CaseResult(longer, "failed", lacking), choices_behind(longer, {"seq": "strict", "and": "events"}))
    assert derived.startswith("{2, 3} is a match at 3 by seq=strict, as by the default meaning\n")


@pytest.mark.thorough
@pytest.mark.usefixtures("few_questions")
def test_what_a_policy_does_not_concern_is_explained_by_the_definition() -> None:
    result = replace(WRONG, case=replace(CASE, query="A", matches=[Match(0, (0,))]), matches=[])
    peeler = Peeler(lambda case, query, S: replace(result, case=case), Oracle(choices={"cel": {"seq": "strict"}}))
    (defect,) = defects_behind(peeler, [result], [result])
    assert (defect.held, defect.bearing) == ({"seq": "strict"}, ())
    assert "{0} is a match at 0" in defect.why
    assert len(again(defect, report(result))) == 2


def test_an_operator_on_which_an_engine_is_lost_is_not_asked_again_and_all_else_is() -> None:
    """Ten crashes on one kind of window once left 215 cases unasked, and most axes of a profile."""
    losses = Losses(skips=True)

    def expected(query: str) -> str | None:
        return losses.why_not(replace(CASE, query=query))

    losses.answer(replace(CASE, query="A ; B"))
    for query in ("A WITHIN 1 EVENTS", "(A ; B) WITHIN 2 EVENTS", "A+ WITHIN 2 EVENTS"):
        assert expected(query) is None
        losses.lose(replace(CASE, query=query), "crashed", "it died")
    assert expected("(A OR B) WITHIN 1 EVENTS") == (
        "not run, because 3 queries with within-events had no answer: it died"
    )
    assert [expected(query) for query in ("A ; B", "A+", "(A ; B) WITHIN 2 seconds")] == [None, None, None]
    losses.answer(replace(CASE, query="A WITHIN 3 EVENTS"))
    assert expected("A WITHIN 1 EVENTS") is None


def test_a_cause_gives_the_smallest_case() -> None:
    """One that gives a few of the other answers alone is none."""
    lost = replace(WRONG, case=replace(CASE, query="A+", matches=[Match(0, (0,))]), matches=[])
    choices = Choices("cel")
    found = [(c.axis, c.value) for c in causes_of(choices, [lost, WRONG])]
    assert ("loop", "at-least-two") in found
    assert all(choices.reproduces([choice], lost) for choice in found)


def test_what_gives_less_than_half_of_the_answers_is_no_cause() -> None:
    lost = replace(WRONG, case=replace(CASE, query="A+", matches=[Match(0, (0,))]), matches=[])
    assert causes_of(Choices("cel"), [lost, WRONG])
    assert causes_of(Choices("cel"), [lost, WRONG, WRONG]) == ()


def test_a_choice_that_predicts_no_answer_of_its_defect_is_not_named() -> None:
    group = DefectGroup((), ("loop", "at-least-two"))
    lost = replace(WRONG, case=replace(CASE, query="A+", matches=[Match(0, (0,))]), matches=[])
    assert _causes(Choices("cel"), [lost], group)
    assert _causes(Choices("cel"), [WRONG], group) == ()


def asked(query: str, S: str, got: Callable[[Case], Sequence[Match]], detail: str = "") -> CaseResult:
    origin = Case("", "f", "", "cel", query, None, [], "matches", ())
    case = replace(Oracle().case(parse(query), stream(S), origin), id=query)
    found = sorted(got(case))
    return CaseResult(case, "passed" if found == sorted(case.matches) and not detail else "failed", found, detail)


@pytest.mark.usefixtures("few_questions")
@pytest.mark.parametrize(("least", "named"), [(UNPASSED, False), (0, True)])
@pytest.mark.slow
def test_without_a_case_that_was_passed_there_is_no_cause(
    least: int, named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one wrong answer many choices are the cause, and nothing speaks against any."""
    monkeypatch.setattr(defects_module, "UNPASSED", least)
    wrong = asked("A ; B", "A B B", lambda case: case.matches[:1])

    def result(case: Case, *_: object) -> CaseResult:
        same = (case.query, case.events) == (wrong.case.query, wrong.case.events)
        return replace(wrong, case=case) if same else CaseResult(case, "skipped")

    (defect,) = defects_behind(Peeler(result), [wrong], [wrong])
    assert bool(defect.causes) == named


@pytest.mark.parametrize(
    ("got", "detail", "description"),
    [
        (lambda case: case.matches, "the answer has a match more than once", "only the form of the answers is wrong"),
        (lambda case: (), "", "the engine gives no match in any of its answers"),
    ],
)
def test_what_does_not_depend_on_the_queries_is_described_and_has_no_cause(
    got: Callable[[Case], Sequence[Match]], detail: str, description: str
) -> None:
    """As sets the answers are those of every choice that no query is about, and a choice loses some other matches."""
    queries = {"A": "A", "A ; B": "A B", "A+": "A A", "A OR B FILTER A.x > 0": "B"}
    results = [asked(query, S, got, detail) for query, S in queries.items()]
    peeler = Peeler(lambda case, query, S: CaseResult(case, "failed", list(got(case)), detail))
    *others, defect = defects_behind(peeler, results, results)
    assert others == []
    assert defect.result.case.query == "A"
    assert set(defect.cases) == queries.keys()
    assert description in defect.description
    assert defect.causes == ()
    text = "\n".join(defect_text(defect, report(*results)))
    assert f"cause     {defect.description}" in text
    assert "--policy" not in text
    assert f"Likely cause: {defect.description}" in issue_text(defect, report(*results))


def test_an_engine_that_changes_its_answers_is_described_as_such() -> None:
    answers = iter([WRONG.matches, WRONG.matches, CASE.matches])

    def run(case: Case) -> CaseResult:
        return CaseResult(case, "failed", next(answers))

    caused = replace(DEFECT, causes=(DefectCause("seq", "any", 1, 1),))
    found = unsteady(caused, run)
    assert found.description.startswith(
        "the engine gives different answers to the same question, here {0} at 0 and {0,"
    )
    assert found.causes == ()
    assert unsteady(caused, lambda case: WRONG) == caused


def test_an_event_of_a_table_has_no_type() -> None:
    assert event_text({"price": 1}) == '{"price": 1}'
    assert event_text({"type": "A"}) == "A"


class Recorder:
    """An engine that passes all cases."""

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.twice: dict[str, str] = {}

    def answer(self, case: Case) -> CaseResult:
        self.cases.append(case)
        return CaseResult(case, "passed", [])


def test_an_engine_is_given_the_schema_of_a_random_stream() -> None:
    engine = Recorder()
    evaluator = EngineEvaluator(engine, LANGUAGES["cel"])  # type: ignore[arg-type]
    for schema in (None, Schema({"A": {"x": "int"}})):
        evaluator(parse("A"), Stream([Event("A", {"x": 1})], schema), "matches")
    assert [case.schema for case in engine.cases] == [None, {"A": {"x": "int"}}]


# ---- parts of runs ----
# Parts of a run of conformance, each by itself: names, causes, claims, elements, engines, the rows of a page.


def shown(pairs: Any) -> list[str]:
    return [CEL.syntax.show(query) for query, _ in pairs]


def test_names_become_canonical_in_the_query_and_in_the_stream() -> None:
    query, S = canonical(CEL, CEL.syntax.parse("Foo ; (Bar IN v)"), stream("Bar Foo"))
    assert CEL.syntax.show(query) == "A ; B IN X"
    assert [event.type for event in S] == ["B", "A"]
    query, S = canonical(CEL, CEL.syntax.parse('A["my x" = 1]'), Stream([Event("A", {"my x": 1})]))
    assert (CEL.syntax.show(query), S[0].attributes) == ("A FILTER A.x = 1", {"x": 1})


def test_the_kinds_of_the_attributes_that_a_query_reads() -> None:
    """By the parsed query: a type, a string or a comment may have the name of an attribute, and a name has blanks."""
    schema = {"A": {"my x": "int", "A": "string", "x": "float", "k": "bool", "y": "string"}}
    for language, query, kinds in (
        ("cel", """A["my x" > 1]""", {"int"}),
        ("cel", "(A ; A) FILTER A[x > 1] WITHIN 2 [x] PARTITION BY [k]", {"float", "bool"}),
        ("cel", "A[y = 'my x']", {"string"}),
        ("row-pattern", 'MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS "my x" > 1) /* x */', {"int"}),
        ("sigma", "title: y\nlogsource: {category: c}\ndetection: {s: {x: 1}, condition: s}", {"float"}),
    ):
        assert kinds_compared(language, query, schema) == kinds, query


def test_the_choices_are_all_values_but_the_defaults() -> None:
    assert set(Choices("cel")) == {(a.name, value) for a in AXES["cel"].values() for value in a.values[1:]}


def test_a_choice_is_possible_unless_it_is_wrong_about_cases_that_were_passed() -> None:
    choices = Choices("cel", [CASE])
    assert choices.possible(("overlap", "consume"))
    assert not choices.possible(("emit", "one-later"))


def test_a_random_case_has_at_first_as_many_nodes_as_are_wanted() -> None:
    sizes = []

    def make(rng: Random, profile: Any, nodes: int, events: int) -> tuple[Any, Stream]:
        sizes.append(nodes)
        return CEL.syntax.parse("A OR B" if len(sizes) < 3 else "A ; B"), stream("A")

    maker = ClaimedMaker(
        CEL, make, Claims(operators=frozenset({"seq"})), CEL.require_cases().generator().stream, tries=4
    )
    query, _ = maker(Random(1), None, 8, 5)
    assert CEL.syntax.show(query) == "A ; B"
    assert sizes == [8, 8, 8]


def test_what_is_skipped_is_not_claimed() -> None:
    def run(case: Case) -> CaseResult:
        return CaseResult(case, "skipped" if "OR" in case.query else "passed")

    cases = [replace(CASE, id=query, query=query) for query in ("A ; B", "A OR B", "(A ; B) OR A")]
    assert learnt(run, "cel", cases) == Claims(operators=frozenset({"seq"}))


@pytest.mark.parametrize(
    ("condition", "name"),
    [
        ("A.x = 1", "comparison"),
        ("A.x in {1, 2}", "in"),
        ("A.x in range(1, 2)", "range"),
        ("A.x like 'a'", "like"),
        ("A.x + 1 = 2", "arithmetic"),
        ("not A.x = 1", "not"),
        ("A.x = 1 and A.y = 1", "and"),
        ("A.x = 1 or A.y = 1", "or"),
    ],
)
def test_each_kind_of_predicate_is_claimed_by_its_name(condition: str, name: str) -> None:
    every = frozenset({"comparison", "in", "range", "like", "arithmetic", "not", "and", "or"})
    claims = Claims(predicates=every - {name})
    assert claims.objection("cel", f"A FILTER A[{condition.replace('A.', '')}]", [], "matches").endswith(f" {name}")


def test_a_query_without_an_operator_has_either_operand_in_its_place() -> None:
    assert {"A", "B"} <= set(shown(without(CEL, CEL.syntax.parse("A OR B"), stream("A B"), "or")))


def test_a_thorough_search_looks_further() -> None:
    query, S = CEL.syntax.parse("(A OR B) ; C"), stream("A B C")
    near, far = (shown(without(CEL, query, S, "or", thorough=thorough)) for thorough in (False, True))
    assert far[: len(near)] == near
    assert len(far) > len(near)


def test_an_adapter_in_java_is_started_by_java(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    monkeypatch.setattr("shutil.which", lambda program: f"/bin/{program}")
    monkeypatch.setattr(engines, "build_folder", lambda java, cache: Path("nowhere"))
    monkeypatch.setattr(engines, "_build", lambda name, command: built.append(f"{command[0]} {name}"))
    command = engines.command_of("flink")
    assert (command[0], command[-1]) == ("java", "nowhere/flink/target/cerify-flink.jar")
    assert built == ["mvn flink"]


def test_nothing_is_missing_where_all_programs_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda program: f"/bin/{program}")
    assert engines.missing_for("flink") is None


def test_an_engine_has_not_been_restarted_at_first() -> None:
    assert signature(Engine).parameters["restarts"].default == 0


def test_the_rows_of_a_wrong_answer_are_what_is_missing_and_what_is_extra() -> None:
    rows = rows_of(CaseResult(CASE, "failed", [Match(0, (0,))]))
    assert [(row.kind, tuple(row.positions)) for row in rows] == [("missing", (0, 1)), ("extra", (0,))]
    assert {"passed", "failed", "skipped"} <= set(EXPLANATION)


def test_a_result_is_left_out_only_where_matches_alone_are_wanted() -> None:
    match = Match(1, (0, 1), (("a", 0), ("b", 1)))
    found: dict[str, Sequence[Match]] = {
        output: of_output([match], "sase", output) for output in ("matches", "valuations")
    }
    assert found == {"matches": [Match(1, (0, 1))], "valuations": [match]}
    assert of_output([match], "cel", "valuations") == [match]


def test_one_unit_more_is_within_a_width_that_is_off_by_one() -> None:
    assert [within(span, 2, "off-by-one") for span in (2, 3, 3.5, 4)] == [True, True, False, False]


def test_conditions_of_three_values() -> None:
    unknown = ConditionVariant({**{axis.name: axis.default for axis in CONDITIONS}, "absent": "unknown"})
    assert [unknown.both(parts) for parts in ([True, True], [True, None], [None, False])] == [True, None, False]
    assert [unknown.either(parts) for parts in ([False, False], [False, None], [None, True])] == [False, None, True]
    assert [unknown.like("a", value) for value in ("a", "b", None)] == [True, False, None]


def test_of_two_next_events_only_those_that_agree_with_the_event_before_count() -> None:
    S = Stream([Event(R, {"x": x}) for R, x in (("A", 1), ("A", 2), ("B", 2), ("B", 1))])
    found = answer("core-cel", "A AS a ; (B AS b FILTER b.x = a.x)", S, {"seq": "next-from-left"})
    assert isinstance(found, MatchesAnswer)
    assert sorted(match.events for match in found.matches) == [(0, 3), (1, 2)]


@pytest.mark.parametrize(("types", "places"), [("A B", [0]), ("B B", [0, 1])])
def test_the_right_side_counts_only_where_the_left_does_not_occur(types: str, places: list[int]) -> None:
    found = answer("event-expression", "A or B", stream(types), {"or": "left-first"})
    assert isinstance(found, MatchesAnswer)
    assert [match.at for match in found.matches] == places


@pytest.mark.parametrize(
    ("value", "kind"), [(1, "int"), (1.5, "float"), ("a", "string"), (True, "bool"), (None, "int")]
)
def test_the_schema_of_a_question_has_the_kinds_of_its_values(value: Value | None, kind: str) -> None:
    """Without a value the schema has a whole number, a text and a fraction, if the query needs them."""
    text = {"string": "'a'", "bool": "true"}.get(kind, "1")
    question = next(questions(Template(f"A FILTER A[x = {text}]", events("A", x=(value,)), 1)))
    others = {"s": "string", "z": "float"} if value is None else {}
    assert schema_for("cel", question) == {name: {"x": kind, **others} for name in "ABC"}


def test_findings_of_one_base_are_one_where_they_agree() -> None:
    known = {"window@time": "window", "window@events": "window", "seq": "seq"}
    time, other, seq = AxisFinding("open", (), 2, 2), AxisFinding("open", (), 3, 1), AxisFinding("any", (), 5, 5)
    assert merged({"window@time": time, "window@events": other, "seq": seq}, known) == {
        "window": AxisFinding("open", (), 5, 3),
        "seq": seq,
    }
    for different in (AxisFinding("closed", (), 3, 3), AxisFinding("open", ("closed",), 3, 3)):
        axes = {"window@time": time, "window@events": different}
        assert merged(axes, known) == axes
    assert merged({"window@time": time}, known) == {"window@time": time}
    assert merged({"window": time, "window@time": other}, {"window": "window", "window@time": "window"}) == {
        "window": time,
        "window@time": other,
    }


def test_a_failure_of_a_defect_has_it_in_junit() -> None:
    wrong = CaseResult(CASE, "failed", [Match(0, (0,))])
    defect = Defect("d1", "missing", ("seq",), wrong, wrong, ("c1",))
    text = junit(Report("mine", "1", "s", [wrong], [defect], 0, 1.0))
    assert '"defect"' in unescape(text, {"&quot;": '"'})


@pytest.mark.slow
def test_the_trees_of_each_language_have_a_schema() -> None:
    """Of each language that engines are asked in."""
    asked = {name for name in LANGUAGES if name not in WITHOUT_SUITE}
    assert set(BUILT_IN) == asked == set(AXES) - {"sigma", "funnel"} == {case.language for case in load(None)}


# ---- stored ----
# Stored runs: a baseline, a trend, a badge, JUnit, and policies.

STORED_CASE = Case("c1", "seq", "clause", "cel", "A ; B", None, [{"type": "A"}], "matches", [Match(1, (0, 1))])
STORED_WRONG = CaseResult(STORED_CASE, "failed", [Match(0, (0,))], stderr="a line of the engine")
STORED_RIGHT = CaseResult(replace(STORED_CASE, id="c2"), "passed", STORED_CASE.matches)
STORED_DEFECT = Defect("d1", "missing", ("seq",), STORED_WRONG, STORED_WRONG, ("c1",))


def report_stored(*results: CaseResult, version: str = "1", defects: tuple[Defect, ...] = ()) -> Report:
    return Report("mine", version, "s", results, defects, 0, 1.0)


def stored(path: Path, of: Report) -> Path:
    path.write_text("\n".join(report_lines(of)) + "\n", encoding="utf-8")
    return path


def test_what_a_baseline_has_is_known_if_the_answer_is_the_same(tmp_path: Path) -> None:
    before = read_stored(stored(tmp_path / "a.jsonl", report_stored(STORED_WRONG, STORED_RIGHT)))
    again = against(report_stored(STORED_WRONG, STORED_RIGHT), before)
    assert again.known == {"c1"}
    assert again.conforms
    other = against(report_stored(replace(STORED_WRONG, matches=[]), STORED_RIGHT), before)
    assert other.known == frozenset()
    assert not other.conforms
    assert not against(
        report_stored(STORED_WRONG, replace(STORED_RIGHT, outcome="failed", matches=[])), before
    ).conforms


def test_with_a_baseline_new_defects_come_first_and_each_says_whether_it_is_known(tmp_path: Path) -> None:
    before = read_stored(stored(tmp_path / "a.jsonl", report_stored(STORED_WRONG, STORED_RIGHT)))
    broken = replace(STORED_RIGHT, outcome="failed", matches=[])
    other = replace(STORED_DEFECT, id="d2", result=broken, original=broken, cases=("c2",))
    found = against(report_stored(STORED_WRONG, broken, defects=(STORED_DEFECT, other)), before)
    assert [(d.id, d.cases, d.baseline) for d in found.defects] == [("d1", ("c2",), "new"), ("d2", ("c1",), "known")]
    assert [one["baseline"] for one in summary(found)["defects"]] == ["new", "known"]
    assert [next(defect_text(d, found)).split(":")[0] for d in found.defects] == ["d1  new  seq", "d2  known  seq"]
    assert "· known ·" in render(found)
    assert next(defect_text(STORED_DEFECT, report_stored(STORED_WRONG))).startswith("d1  seq:")


def test_a_trend_says_what_is_mended_and_what_broke(tmp_path: Path) -> None:
    broken = replace(STORED_RIGHT, outcome="failed", matches=[])
    mended = replace(STORED_WRONG, outcome="passed", matches=STORED_CASE.matches)
    paths = [
        stored(tmp_path / "1.jsonl", report_stored(STORED_WRONG, STORED_RIGHT, defects=(STORED_DEFECT,))),
        stored(tmp_path / "2.jsonl", report_stored(mended, broken, version="2")),
    ]
    first, second = trend([read_stored(path) for path in paths])
    assert (first.passed, first.claimed, first.defects, first.broken) == (1, 2, 1, frozenset())
    assert (second.mended, second.broken) == ({"c1"}, {"c2"})
    said = CliRunner().invoke(trend_command.trend_command, [*map(str, paths)], standalone_mode=False)
    assert said.return_value == 1
    assert "broken in mine 2: c2" in said.output


def test_a_trend_compares_runs_that_were_held_to_the_same_choices(tmp_path: Path) -> None:
    """What fails by the definition alone was not broken since the run under a policy, nor mended by it."""
    broken = replace(STORED_RIGHT, outcome="failed", matches=[])
    runs = [
        report_stored(STORED_WRONG, STORED_RIGHT),
        report_stored(STORED_RIGHT),
        report_stored(STORED_WRONG, broken),
        report_stored(broken),
    ]
    runs[1::2] = [replace(run, held_to="cel with seq=next-from-left") for run in runs[1::2]]
    paths = [stored(tmp_path / f"{i}.jsonl", run) for i, run in enumerate(runs)]
    steps = list(trend([read_stored(path) for path in paths]))
    assert [(set(step.mended), set(step.broken)) for step in steps] == [(set(), set())] * 2 + [(set(), {"c2"})] * 2
    said = CliRunner().invoke(trend_command.trend_command, [*map(str, paths[:2])], standalone_mode=False)
    assert said.return_value == 0
    assert "cel with" in said.output


def test_a_file_that_is_no_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("{}\n", encoding="utf-8")
    with pytest.raises(InputError, match="is not a stored run"):
        read_stored(path)
    with pytest.raises(InputError, match=r"^no file .*none$"):
        read_stored(tmp_path / "none")
    path.write_text('{"summary": {"engine": "\u2028"}}\n\n{"id":\n', encoding="utf-8")
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}, line 3: not JSON"):
        read_stored(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("[]", "the field summary.engine.name is missing"),
        ('{"summary": {"engine": {"name": "e", "version": "1"}}}', r"the field summary\.totals\.passed is missing"),
        ("RUN\n5", "line 2 is not a case: the field id is missing"),
        ('RUN\n{"id": [], "outcome": "failed"}', "line 2 is not a case: the field id is missing"),
        ('RUN\n{"id": "c1"}', "line 2 is not a case: the field outcome is missing"),
        ("RUN", "was cut: it has the results of 0 of its 2 cases"),
        ('RUN\n\n{"id": "c1", "outcome": "failed"}', "was cut: it has the results of 1 of its 2 cases"),
    ],
)
def test_a_run_that_was_cut_or_lacks_a_field_is_refused(text: str, says: str, tmp_path: Path, run: Run) -> None:
    """A run without the cases that fail would say that none of them broke."""
    path = tmp_path / "x.jsonl"
    path.write_text(text.replace("RUN", report_lines(report_stored(STORED_WRONG, STORED_RIGHT))[0]), encoding="utf-8")
    with pytest.raises(InputError, match=says):
        read_stored(path)
    for command in (["trend"], ["conform", "--engine", "automaton", "--baseline"]):
        status, _, err = run(*command, str(path))
        assert status == 2
        assert str(path) in err


def test_a_failing_case_is_whole_in_junit() -> None:
    element = ET.fromstring(junit(report_stored(STORED_WRONG, STORED_RIGHT, defects=(STORED_DEFECT,))))
    (failure,) = element.findall("testcase/failure")
    assert failure.text is not None
    for part in ('"query":"A ; B"', '"events":[{"type":"A"}]', '"expected":', '"got":', '"defect":"d1"'):
        assert part in failure.text
    assert [e.text for e in element.findall("testcase/system-err")] == ["a line of the engine"]


def test_the_files_of_a_run_have_no_character_that_steers() -> None:
    hostile = "e\x1b[2K\x9b31m\u202e\x07\x00\ud800 <b>\n"
    skipped = replace(STORED_RIGHT, outcome="skipped", matches=None, detail=hostile)
    wrong = replace(STORED_WRONG, stderr=hostile, translation=hostile)
    defect = replace(STORED_DEFECT, result=wrong, original=wrong)
    of = replace(report_stored(wrong, skipped, version=hostile, defects=(defect,)), engine=hostile, warnings=(hostile,))
    ET.fromstring(badge(of))
    ET.fromstring(junit(of))
    for text, escape in (
        (badge(of), r"\x1b[2K\x9b31m\u202e"),
        *((f(of), r"\u001b[2K\u009b31m\u202e") for f in (render, junit)),
    ):
        assert escape in text
        assert not [c for c in text if not c.isprintable() and c not in "\n\t"]


def test_a_cause_is_described_by_its_value_and_the_definitions() -> None:
    """The values were told by their order, so that one had to count to find what at-most-5 is."""
    assert axis_says("cel", "loop", "at-most-5") == (
        "loop (rounds of an iteration): at-most-5 is “at most 5”, the default all is “any”"
    )
    assert axis_says("row-pattern", "nulls", "at-most-5") == "nulls: the reading nulls"


def test_a_badge_shows_the_share_of_what_is_claimed() -> None:
    skipped = replace(STORED_RIGHT, outcome="skipped", matches=None)
    text = badge(report_stored(STORED_WRONG, STORED_RIGHT, skipped, defects=(STORED_DEFECT,)))
    assert "50 % of 2, 1 defect" in ET.fromstring(text).attrib["aria-label"]


def test_a_policy_is_the_choices_that_are_not_the_default(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    axes = '{"seq": {"value": "next-from-left", "answers": 3}, "loop": {"value": "all"}, "overlap": {"value": null}}'
    path.write_text(f'{{"profile": 1, "language": "cel", "axes": {axes}}}', encoding="utf-8")
    assert read_policy(path) == {"cel": {"seq": "next-from-left"}}
    path.write_text('{"language": "sase", "axes": {"window": {"value": "closed"}}}\n' * 2, encoding="utf-8")
    assert read_policy(path) == {"sase": {"window": "closed"}}


def test_policies_are_for_different_languages(tmp_path: Path) -> None:
    """The second one replaced the first without a word."""
    for name, language in (("a", "cel"), ("b", "sase"), ("c", "cel")):
        text = f'{{"language": "{language}", "axes": {{"absent": "null-equal"}}}}'
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    a, b, c = (tmp_path / f"{name}.json" for name in "abc")
    assert read_policies((a, b)) == {"cel": {"absent": "null-equal"}, "sase": {"absent": "null-equal"}}
    call = ["conform", "--policy", str(a), "--policy", str(c), "--", "engine"]
    with pytest.raises(InputError, match=r"a\.json and .*c\.json are both policies for cel"):
        CliRunner().invoke(cerify, call, standalone_mode=False, catch_exceptions=False)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", 'it has no "axes"'),
        ("\n", "has no profile"),
        ('{"axes": {"sequence": {"value": "any"}}}', "no axis 'sequence'; there are seq"),
        ('{"axes": {"seq": {"value": "some"}}}', "the axis seq has the values any"),
        ('{"language": "sql", "axes": {}}', "'sql' has no axes"),
    ],
)
def test_what_is_no_policy_is_refused(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=says):
        read_policy(path)


def test_a_separator_of_lines_in_a_text_ends_no_line_of_a_policy(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('\n{"axes": {}, "engine": "a\u2028b"}\n{"axes": {"seq": {"value": "some"}}}', encoding="utf-8")
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}: the axis seq has the values"):
        read_policy(path)


TRANSLATING = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    query = m.get("query", "")
    print(json.dumps({"protocol": 1, "engine": {"name": "e", "version": "1"}, "languages": ["cel"]}
                     if m["cmd"] == "start" else
                     {"id": m["id"], "matches": [], "translation": f"every [{query}]"}), flush=True)
"""


@pytest.mark.thorough
@pytest.mark.usefixtures("few_questions")
def test_a_defect_shows_the_query_in_the_terms_of_the_engine() -> None:
    """The authors of an engine do not read CEL, and the adapter's translation could be found in its source alone."""
    found = conform([sys.executable, "-c", TRANSLATING], [replace(STORED_CASE, events=[{"type": "A"}, {"type": "B"}])])
    (defect,) = found.defects
    own = f"every [{defect.result.case.query}]"
    assert f"  its query {own}" in list(defect_text(defect, found))
    assert f"In its own terms:\n```\n{own}\n```" in issue_text(defect, found)
    assert f"<pre>{own}</pre>" in render(found)
    assert summary(found)["defects"][0]["translation"] == own
    right = conform([sys.executable, "-c", TRANSLATING], [replace(STORED_CASE, matches=[])])
    assert [one.translation for one in right.results] == [""]


def test_one_cause_in_two_languages_is_said_to_be_perhaps_one_defect() -> None:
    """An engine that compares absent values in its core has the same defect in each language that it speaks."""
    cause = (DefectCause("absent", "null-equal", 1, 1),)
    sase = replace(STORED_WRONG, case=replace(STORED_CASE, language="sase", query="PATTERN SEQ(A a, B b)"))
    both = (
        replace(STORED_DEFECT, causes=cause),
        replace(STORED_DEFECT, id="d2", result=sase, original=sase, causes=cause),
    )
    other = replace(STORED_DEFECT, id="d3", causes=(DefectCause("seq", "strict", 1, 1),))
    found = report_stored(STORED_WRONG, sase, defects=(*both, other))
    assert [one["same_cause"] for one in summary(found)["defects"]] == [["d2"], ["d1"], []]
    assert "  alike     probably the same as d2 in SASE+, which has this cause too" in list(defect_text(both[0], found))
    assert "Probably the same as d1 in CEL" in issue_text(both[1], found)
    assert render(found).count("It is probably the same as") == 2


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (NumberedMatch(0, (), (), match_number=2), "{} at 0 (), match number 2"),
        (Match(0, (), ()), "{} at 0 (), without a match number"),
    ],
)
def test_matches_that_differ_in_their_numbers_alone_are_told_apart(given: Match, text: str) -> None:
    """They were printed alike, as expected and as given."""
    expected = NumberedMatch(0, (), (), match_number=1)
    assert f"missing {{}} at 0 (), match number 1; not expected {text};" in difference({expected}, {given})
    assert format_matches([expected], beside=[expected]) == "{} at 0 ()"
