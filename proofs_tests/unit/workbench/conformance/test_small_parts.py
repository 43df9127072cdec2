"""Parts of the harness one by one, on small reports: what they count, print, and leave out."""

from __future__ import annotations

import html
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from cerify.cli import cerify
from cerify.conformance.campaigns import BuiltInEvaluator, EngineEvaluator, Job, PlanShare, plan_of
from cerify.conformance.cases import case_of_line, nodes
from cerify.conformance.choices import Choices
from cerify.conformance.defects import _find_necessary_choice, causes_of, defects_behind, why_of
from cerify.conformance.harness import Losses
from cerify.conformance.model import Case, CaseResult, Defect, DefectCause, Report, count_of, difference, kinds_of
from cerify.conformance.oracle import Oracle, read_policy, second_opinion
from cerify.conformance.peeling import Peeler, renaming
from cerify.conformance.prediction import AXES, answer, interpretation_of
from cerify.conformance.report import (
    GREEN,
    RED,
    again,
    badge,
    case_json,
    defect_text,
    entitled,
    event_text,
    issue_text,
    junit,
    read_stored,
    report_lines,
    verdict,
)
from cerify.conformance.run import search, unsteady
from cerify.hypotheses.interpretation import Template, choices_of
from cerify.languages import LANGUAGES
from cerify.protocol import MatchesAnswer
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import Event, Match, Schema, Stream
from cerify.semantics.sase.syntax import Reading, read_reading
from proofs_tests.support import stream

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
    generator = CEL.generator()
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
    assert [oracle.decided for oracle in (Oracle(), policy, reading)] == [True, False, False]
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
    with pytest.raises(InputError, match=r"version .*, where this cerify reads version 1: have it written again by"):
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
                assert getattr(read_reading([text]), axis.name) == value
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
    assert oracle.held("cel") == {f"window@{measure}": "open" for measure in ("events", "time", "attribute")}
    assert oracle.held("sase") == {"window": "closed", "loop": AXES["sase"]["loop"].values[1]}
    assert oracle.held("event-expression") == {}


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


def test_under_a_policy_the_meaning_of_the_definition_is_a_cause(under_a_policy: tuple[Path, str, str]) -> None:
    """`seq@cseq=next-from-left` was named for `A ; A`, which has no `:`, since it leaves the definition as it is."""
    _, text, _ = under_a_policy
    (cause,) = (line.split(maxsplit=1)[1] for line in text.splitlines() if line.startswith("  cause "))
    assert cause.startswith("seq=any gives ")
    assert "as likely" not in cause
    assert "@" not in text


def test_under_a_policy_an_expected_match_is_not_explained_by_the_definition(
    under_a_policy: tuple[Path, str, str],
) -> None:
    path, text, page = under_a_policy
    why = "the engine is held to seq=next-from-left: that is not the definition's meaning"
    for shown in (text, html.unescape(page)):
        assert why in shown
        assert "is a match at" not in shown
        assert "cerify match" not in shown
        assert f"cerify conform --policy {path} --case " in shown


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
    assert expected("(A OR B) WITHIN 1 EVENTS") == ("not asked, as 3 queries with within-events had no answer: it died")
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


def asked(query: str, S: str, got: Callable[[Case], Sequence[Match]], detail: str = "") -> CaseResult:
    origin = Case("", "f", "", "cel", query, None, [], "matches", ())
    case = replace(Oracle().case(parse(query), stream(S), origin), id=query)
    found = sorted(got(case))
    return CaseResult(case, "passed" if found == sorted(case.matches) and not detail else "failed", found, detail)


def test_without_a_case_that_was_passed_there_is_no_cause() -> None:
    """Of one wrong answer many choices are the cause, and nothing speaks against any."""
    wrong = asked("A ; B", "A B", lambda case: ())
    peeler = Peeler(lambda case, query, S: CaseResult(case, "failed", []))
    (defect,) = defects_behind(peeler, [wrong], [wrong])
    assert defect.causes == ()


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
