"""From what was reported to the hypothesis behind it, and the smallest case of that."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from cerify.commands import fuzz, options
from cerify.commands.conform import conform_command
from cerify.commands.rules import cases_of_rules
from cerify.conformance import cases as cases_second_opinion
from cerify.conformance import defects as defects_module
from cerify.conformance import run as run_module
from cerify.conformance.cases import claims_of_json, line_of_case, load
from cerify.conformance.defects import (
    SUSPECTS,
    Evidence,
    Piece,
    _doubt,
    _is_limit_elsewhere,
    _is_refuted,
    _nearly_standing,
    _unexplained,
    causes,
    defects_behind,
    evaluate_by_definition,
    shrink_case,
    thinned,
)
from cerify.conformance.inquiry import Inquiry
from cerify.conformance.judgement import Choice, Choices, ChoiceScorer, operators_in, silent_operators
from cerify.conformance.model import ASKED, Case, CaseResult, Defect, Report
from cerify.conformance.oracle import Oracle, SecondOpinionIn, second_opinion, stream_of
from cerify.conformance.peeling import (
    ABSENT,
    INTERRUPTED,
    AllowanceOver,
    DiagnosisStopped,
    Peeler,
    Watch,
    elements,
    without,
)
from cerify.conformance.prediction import MatchPredictor
from cerify.conformance.report import cases_text, cause_text, opening, title
from cerify.conformance.rule_causes import MOST_ASKED, NONE_FOUND, RuleInquiry, defects_of_rules
from cerify.conformance.run import ALIKE, judge_all_again, judged_again, reconsidered, same_error, search
from cerify.equivalence.differential import CampaignPlan, judge
from cerify.equivalence.generate.expressions import without_names
from cerify.languages import LANGUAGES
from cerify.languages.language import Language
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import denote, interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse as parse_cel
from cerify.semantics.errors import IllFormed, InputError, ParseError
from cerify.semantics.event_expressions.interpreter import Machine, takes_place
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.parse import parse as parse_expression
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Event, Match, Schema, Stream
from cerify.semantics.values import ValueType
from proofs_tests.campaigns.causes import cases as cases_of
from proofs_tests.campaigns.causes import composed, composed_of_sigma, identified, judged
from proofs_tests.campaigns.causes import recorded as recorded_by
from proofs_tests.conftest import Run
from proofs_tests.support import sampled, stream
from proofs_tests.unit.workbench.conformance.test_peeling import cases, defects_of, recorded

# ---- diagnosis ----
#

QUERY = "(A ; B+ ; C) FILTER A.x > 2 WITHIN 6 EVENTS"


def pieces(wrong: str, count: int, query: str = QUERY, language: str = "cel") -> list[Piece]:
    """Pieces on which an engine with this semantics departs from the meaning."""
    rng = Random(wrong)
    found: list[Piece] = []
    while len(found) < count:
        S = Stream([Event(rng.choice("ABCD"), {"x": rng.randint(0, 4)}) for _ in range(8)])
        reported = SUSPECTS[language][wrong](query, S)
        expected = evaluate_by_definition(query, language, S)
        if reported is not None and reported != expected:
            found.append(Piece(S, expected, frozenset((n, C) for n, C in reported if n < len(S))))
    return found


WRONG = ["window@events=off-by-one", "comparison=inclusive", "loop=greedy", "seq=strict"]


@pytest.mark.parametrize("wrong", sampled(WRONG, WRONG[1:2]))
def test_the_wrong_semantics_is_found_and_its_smallest_case(wrong: str) -> None:
    evidence = [Evidence(piece) for piece in pieces(wrong, 4)]
    (cause, *more), unknown = causes(QUERY, "cel", evidence)
    assert not more
    assert not unknown
    assert wrong in (cause.name, *cause.alike)
    assert cause.explains == tuple(evidence)
    assert cause.smallest is not None
    assert len(cause.smallest.S) <= 3
    assert (
        evaluate_by_definition(cause.smallest.query, "cel", cause.smallest.S)
        == cause.smallest.expected
        != cause.smallest.reported
    )


def test_what_is_reported_one_position_later_is_not_asked_for_past_the_end() -> None:
    (cause,), unknown = causes(QUERY, "cel", map(Evidence, pieces("emit=one-later", 4)))
    assert cause.name == "emit=one-later"
    assert not unknown


def test_two_wrong_engines_in_one_log() -> None:
    evidence = [Evidence(p) for wrong in ("comparison=inclusive", "loop=greedy") for p in pieces(wrong, 4)]
    found, unknown = causes(QUERY, "cel", evidence)
    assert not unknown
    assert {"comparison=inclusive", "loop=greedy"} <= {name for c in found for name in (c.name, *c.alike)}


def test_a_match_that_is_lost_by_chance_has_no_cause() -> None:
    """A semantics that reports nothing would explain it; what is reported beside it says otherwise."""
    S = Stream([Event("A", {"x": 3}), Event("B"), Event("C")])
    right, nothing = evaluate_by_definition(QUERY, "cel", S), frozenset[tuple[int, tuple[int, ...]]]()
    lost, kept = Piece(S, right, nothing), Piece(S, right, right)
    assert causes(QUERY, "cel", [Evidence(lost)])[0]
    found, unknown = causes(QUERY, "cel", [Evidence(lost, (kept,))])
    assert not found
    assert unknown == [Evidence(lost, (kept,))]


def test_a_rightly_reported_match_of_another_key_refutes_what_would_not_report_it() -> None:
    S, about = Stream([Event("A", {"x": 3}), Event("B"), Event("C")]), (2, (0, 1, 2))
    right = evaluate_by_definition(QUERY, "cel", S)
    lost = Evidence(Piece(S, right, frozenset()))
    (cause, *_), _ = causes(QUERY, "cel", [lost])
    assert cause.checked == 0
    assert causes(QUERY, "cel", [lost], right=[(Piece(S, right, right), about)]) == ([], [lost])
    (extra,) = pieces("comparison=inclusive", 1)
    (cause, *_), _ = causes(QUERY, "cel", [Evidence(extra)], right=[(Piece(S, right, right), about)] * 3)
    assert cause.checked == 3


@pytest.mark.parametrize(
    ("language", "query", "wrong"),
    [
        ("core-cel", "(A AS a ; B AS b) FILTER a.x > 2", "filter=ignored"),
        ("event-expression", "prior(A, B)", "prior=sequence"),
        ("sase", "PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { a.x > 2 } RETURN a.x", "strategy@any=strict"),
    ],
)
def test_every_language_has_its_suspects(language: str, query: str, wrong: str) -> None:
    (cause, *_), _ = causes(query, language, map(Evidence, pieces(wrong, 4, query, language)))
    assert wrong in (cause.name, *cause.alike)
    assert cause.smallest is not None


def test_events_that_do_not_matter_are_left_out() -> None:
    S = Stream([Event("D"), Event("A", {"x": 3}), Event("D"), Event("B"), Event("B"), Event("C")])
    right = evaluate_by_definition(QUERY, "cel", S)
    about = (5, (1, 3, 5))
    piece, moved = thinned(QUERY, "cel", Piece(S, right, right - {about}), about)
    assert [event.type for event in piece.S] == ["A", "B", "C"]
    assert moved == (2, (0, 1, 2))
    assert moved in piece.expected
    assert moved not in piece.reported


def test_of_an_extra_match_what_forbids_it_stays() -> None:
    query = "(A ; C) UNLESS B"
    S = Stream([Event("A"), Event("D"), Event("B"), Event("D"), Event("C")])
    about = (4, (0, 4))
    piece, moved = thinned(query, "cel", Piece(S, evaluate_by_definition(query, "cel", S), frozenset({about})), about)
    assert [event.type for event in piece.S] == ["A", "B", "C"]
    assert moved == (2, (0, 2))


def test_a_query_that_does_not_parse() -> None:
    with pytest.raises(ParseError):
        causes("A ;", "cel", [])


# ---- judgement ----
# A cause that contradicts an answer is none; the search for causes ends in time, and at an interrupt at once.

ENGINES = range(70)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", ENGINES)
def test_no_cause_of_a_composed_engine_is_wrong(seed: int) -> None:
    """All: python -m proofs_tests.campaigns.causes; more than four of five defects have their cause."""
    counted, wrong = judged(*composed(seed), hidden=False)
    assert not wrong
    assert counted["right"] or counted["unseen"]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(28))
def test_causes_of_a_converter_that_show_only_together_are_named(seed: int) -> None:
    """With one of its choices alone, answers contradict it; all: the campaign with --sigma."""
    counted, wrong = judged(*composed_of_sigma(seed), hidden=False)
    assert not wrong
    assert counted["right"] >= 2 * counted["absent"]


def windows_of_keys(case: Case) -> CaseResult:
    """An engine takes the last event before each, in the key alone, where it also counts the events of a window."""
    within = re.fullmatch(r"(.*) WITHIN \d+ EVENTS|(.*) WITHIN \d+ EVENTS( PARTITION BY .*)", case.query)
    query = "".join(filter(None, within.groups())) if within and "PARTITION" in case.query else case.query
    given = recorded_by("cel", {"seq": "next-from-right", "partition": "substream"}, replace(case, query=query))
    outcome = given.outcome if given.outcome == "skipped" else "passed"
    wrong = outcome == "passed" and set(given.matches or ()) != set(case.matches)
    return replace(given, case=case, outcome="failed" if wrong else outcome)


@pytest.mark.thorough
def test_a_fault_of_two_operators_contradicts_no_choice_about_a_third() -> None:
    """Cases with PARTITION BY and WITHIN EVENTS contradicted seq=next-from-right, so that 37 cases had no cause."""
    language, kept = LANGUAGES["cel"], {"seq", "or", "within", "partition", "filter", "event"}
    every = [case for case in cases_of("cel") if language.syntax.constructs(language.syntax.parse(case.query)) <= kept]
    results = [windows_of_keys(case) for case in every]
    peeler = Peeler(lambda case, query, S: windows_of_keys(case))
    found = defects_behind(peeler, [one for one in results if one.outcome == "failed"], results)
    assert "seq=next-from-right" in [f"{c.axis}={c.value}" for one in found for c in one.causes]
    assert [one for one in found if not one.causes and {"partition", "within"} <= {*one.operators}]
    assert all(c.explains == c.of for one in found for c in one.causes)


@pytest.mark.thorough
def test_wrong_answers_with_the_same_likely_cause_are_one_defect() -> None:
    """They were six, each with the same sentence."""
    engine = {"overlap@partition": "key", "overlap": "consume-latest"}
    counted, _ = judged("cel", engine, hidden=False)
    assert (counted["wrong"], counted["too many"]) == (0, 0)
    assert counted["right"] + counted["absent"] <= 2


@pytest.mark.thorough
def test_no_defect_hides_another() -> None:
    """A case of a window where none is asked got smaller until its times were equal, which is the other defect."""
    counted, _ = judged(*composed(28), hidden=False)
    assert (counted["right"], counted["hidden"], counted["too many"]) == (2, 0, 0)


@pytest.mark.thorough
def test_the_smallest_case_of_a_choice_needs_it() -> None:
    """Either choice gives the answer to A+ on A A; and no question tells the latest from the shortest match here."""
    counted, _ = judged("cel", {"overlap": "once-per-step", "emit": "latest-per-position"}, hidden=False)
    assert (counted["right"], counted["hidden"], counted["too many"]) == (2, 0, 0)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", sampled(ENGINES, (3, 5, 9, 11)))
def test_a_meaning_without_a_name_gets_none(seed: int) -> None:
    """The values of the engine are not among those that are searched; all: the campaign with --hidden."""
    assert not judged(*composed(seed), hidden=True)[1]


RULE = """title: both
correlation: {{type: {}, rules: [one, two], timespan: 1m{}}}
---
title: one
name: one
logsource: {{product: test}}
detection: {{sel: {{Kind: a}}, condition: sel}}
---
title: two
name: two
logsource: {{product: test}}
detection: {{sel: {{Kind: b}}, condition: sel}}
"""


def defects_of_rule(engine: dict[str, str], rule: str, *logs: str) -> tuple[list[Defect], list[CaseResult]]:
    """The defects found in a converter by one rule; each letter of a log is an event, "." a minute and a second."""
    language = LANGUAGES["sigma"]
    origin = cases_of("sigma")[0]
    results = []
    for number, log in enumerate(logs):
        events: list[dict[str, Any]] = [
            {"type": "event", "Kind": kind, "time": f"2026-01-01T00:{log[:n].count('.'):02}:{n:02}Z"}
            for n, kind in enumerate(log)
            if kind != "."
        ]
        given = replace(origin, id=f"rule:{number}", events=events)
        case = Oracle().case(language.syntax.parse(rule), stream_of(given), given)
        results.append(recorded_by("sigma", engine, case))
    peeler = Peeler(lambda case, query, S: recorded_by("sigma", engine, case))
    return defects_behind(peeler, [r for r in results if r.outcome != "passed"], results), results


@pytest.mark.thorough
def test_where_a_rule_has_no_right_answer_several_wrong_ones_give_the_cause_and_one_does_not() -> None:
    rule, engine = RULE.format("temporal", ""), {"temporal-default": "one-rule"}
    found, results = defects_of_rule(engine, rule, "a", "b", "aa", "ab", "ba", "a.b", "bb", "aab")
    assert not any(result.outcome == "passed" for result in results)
    assert [f"{c.axis}={c.value}" for defect in found for c in defect.causes] == ["temporal-default=one-rule"]
    assert not any(defect.causes for defect in defects_of_rule(engine, rule, "a")[0])


def test_two_wrong_answers_of_which_each_has_a_choice_of_its_own_give_both() -> None:
    """Without a right answer no cause was named, however clear the two answers are."""
    rule = RULE.format("event_count", ", group-by: [Host], condition: {eq: 1}")
    engine = {"null_groups": "joined", "alerts": "last"}
    found, _ = defects_of_rule(engine, rule, "a", "b")
    assert [defect.likeliest for defect in found] == [("null_groups", "joined")]


@pytest.mark.parametrize(
    "engine",
    [
        {"seq": "next-from-left", "guard": "step", "absent": "null-equal"},
        pytest.param(
            {
                "seq": "next-from-left",
                "partition": "substream",
                "partition@absent": "one-key",
                "guard": "step-only",
                "absent": "null-equal",
                "integers": "doubles",
                "alternatives": "apart",
                "brackets": "dropped",
            },
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_all_choices_of_an_engine_are_named_even_if_no_case_could_be_made_smaller(engine: dict[str, str]) -> None:
    """A filter that decides which event is next made the next event look wrong, and the time was over: bacon.js."""
    chains = r"[A-Z ;:()]*( FILTER A\.\w* [<>=!]* \d*| (PARTITION BY|OR) .*)?"
    suite = [case for case in load(None) if case.language == "cel" and simple(case)]
    some = [case for case in suite if re.fullmatch(chains, case.query) or case.id == "cel/in/008"]
    results = [recorded_by("cel", engine, case) for case in some]
    peeler = Peeler(lambda case, query, S: recorded_by("cel", engine, case))
    stop = lambda *_: peeler.watch.stop("the search stopped after 1 s")  # noqa: E731
    found = defects_behind(peeler, [r for r in results if r.outcome == "failed"], results, stop)
    named = {defect.likeliest for defect in found}
    assert ("seq", "next-from-left") in named
    assert named <= set(engine.items())


def never_twice(case: Case, *_: object) -> CaseResult:
    """What an engine answers that takes the last events, and never has a match if `;` is about one type."""
    found = recorded({"seq": "next-from-right"}, case)
    types = re.findall(r"\b[A-Z]\b", case.query)
    given = [] if ";" in case.query and len(types) > len({*types}) else list(found.matches or ())
    return replace(found, outcome="passed" if given == case.matches else "failed", matches=given)


def test_a_type_named_twice_that_never_matches_is_told_and_hides_no_choice() -> None:
    """`identify` had a note, and here no cause was found."""
    some = [case for case in load(None) if case.language == "cel" and re.fullmatch(r"[A-Z] ; .*|A", case.query)]
    results = [never_twice(case) for case in some if simple(case) and len(case.query) < 10]
    found = defects_behind(Peeler(never_twice), [r for r in results if r.outcome == "failed"], results)
    assert {(d.likeliest, d.description) for d in found} == {
        (("seq", "next-from-right"), ""),
        (None, "the engine gives no match for any query with seq that names a type twice"),
    }


def test_all_choices_of_a_converter_are_named_even_if_no_case_could_be_made_smaller() -> None:
    """The search for smaller cases used up the time, and no choice was named of a converter that has sixteen."""
    engine = {
        "window": "unlimited",
        "null_groups": "joined",
        "alerts": "last",
        "counted": "matches",
        "absent": "unknown",
    }
    claims = claims_of_json({"sigma": {"output": ["groups"]}}, "sigma")
    known = [claims.restrict_case(case) for case in load("sigma") if case.feature == "event_count"]
    results = [recorded_by("sigma", engine, case) for case in known]
    peeler = Peeler(lambda case, query, S: recorded_by("sigma", engine, case))
    stop = lambda *_: peeler.watch.stop("the search stopped after 1 s")  # noqa: E731
    found = defects_behind(peeler, [r for r in results if r.outcome == "failed"], results, stop)
    assert {d.likeliest for d in found} == set(engine.items())
    assert all(defect.is_explained for defect in found)


@pytest.mark.thorough
def test_a_cause_says_how_many_answers_it_gives_alone() -> None:
    rule, engine = RULE.format("event_count", ", condition: {eq: 2}"), {"alerts": "last", "window": "unlimited"}
    found, results = defects_of_rule(engine, rule, "ab", "abb", "ab.a", "a.b", "aa.bb", "a", "abbb", "aabb.a")
    (defect,) = (one for one in found if one.causes[0].axis == "alerts")
    (cause,) = defect.causes
    assert cause.needed == ("window=unlimited",)
    failing = {one.case.id: one for one in results}
    answers = [defect.result, *(failing[id_] for id_ in defect.cases)]
    given = [one.matches == recorded_by("sigma", {"alerts": "last"}, one.case).matches for one in answers]
    assert cause.alone == sum(given) < cause.explains
    assert f"{cause.alone} of these alone and {cause.explains - cause.alone} with window=unlimited" in cause_text(
        defect
    )


@pytest.mark.thorough
def test_of_choices_that_no_log_tells_apart_the_one_that_changes_less_is_first() -> None:
    rule = RULE.format("event_count", ", group-by: [Host], condition: {gte: 2}")
    (defect,) = defects_of_rule({"null_groups": "joined"}, rule, "a", "b", "ab", "aa", "a.b")[0]
    (cause,) = defect.causes
    assert (cause.axis, cause.value, cause.alike) == ("null_groups", "joined", ("groups=ignored",))


DUCKDB = {
    "case": "exact", "alerts": "last", "window": "unlimited", "null_groups": "joined", "counted": "matches",
    "window-temporal": "extent", "alerts-temporal": "last", "order": "any", "absent": "unknown",
    "constants": "truncated",
}  # fmt: skip
EQL = {
    "several-rules": "sequence", "threshold": "at-least", "threshold-temporal":
    "all-rules", "sample": "events", "sequence": "used-up", "null_groups": "joined", "groups": "folded",
    "counted-values": "same",
}  # fmt: skip
SQLITE = {"sequence": "ends-by-event", "instant": "together", "groups": "folded"}
RSIGMA = {"temporal-default": "one-rule", "null_groups": "joined"}


def test_one_choice_names_a_rule_that_never_fires() -> None:
    """Of a rule that an engine never fires it was said only that it gives no match."""
    rule = RULE.format("temporal_ordered", ", condition: {eq: 1}")
    logs = ("a", "b", "aa", "ab", "ba", "bb", "aab", "c")
    found, results = defects_of_rule({"sequence": "anywhere-in-window"}, rule, *logs)
    assert not any(result.matches for result in results)
    assert [f"{c.axis}={c.value}" for defect in found for c in defect.causes] == ["sequence=anywhere-in-window"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("engine", "output", "body", "named"),
    [
        pytest.param(
            DUCKDB,
            "groups",
            "event_count, condition: {lte: 2}",
            {"case", "alerts", "window", "null_groups", "counted"},
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            DUCKDB,
            "groups",
            "event_count, condition: {lt: 3}",
            {"case", "alerts", "window", "null_groups", "counted"},
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            DUCKDB,
            "groups",
            "temporal_ordered",
            {"case", "window-temporal", "null_groups", "order"},
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            DUCKDB,
            "groups",
            "value_avg, condition: {field: Size, gt: 3.5}",
            {"case", "alerts", "window", "null_groups", "constants"},
            marks=pytest.mark.thorough,
        ),
        (EQL, "positions", "temporal_ordered", {"sequence", "null_groups", "groups"}),
        pytest.param(
            EQL,
            "positions",
            "value_count, condition: {field: Size, lte: 2}",
            {"counted-values", "threshold", "groups"},
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            EQL,
            "positions",
            "event_count, condition: {gte: 2}",
            {"several-rules", "sequence"},
            marks=pytest.mark.thorough,
        ),
        (SQLITE, "positions", "temporal_ordered", {"sequence", "instant", "groups"}),
        (RSIGMA, "positions", "temporal", {"temporal-default", "null_groups"}),
    ],
)
def test_the_causes_of_a_converter_on_one_rule(
    engine: dict[str, str], output: str, body: str, named: set[str], tmp_path: Path
) -> None:
    """A choice that answers contradict was taken first and ended the search; and no log told choices apart."""
    kind, _, more = body.partition(",")
    text = RULE.format(kind, f", group-by: [Host]{',' * bool(more)}{more}")
    (tmp_path / "rule.yml").write_text(text.replace("Kind: b", "Role: b"))
    claims = claims_of_json({"sigma": {"output": [output]}}, "sigma")
    cases = [claims.restrict_case(case) for case in cases_of_rules(tmp_path / "rule.yml")[0]]
    results = [recorded_by("sigma", engine, case) for case in cases]
    peeler = Peeler(lambda case, query, S: recorded_by("sigma", engine, case))
    found, asked = defects_of_rules(peeler, results, progress_of)
    causes = [cause for defect in found for cause in defect.causes[:1]]
    assert len(causes) == len(found)
    chosen = {cause.axis: cause.value for cause in causes}
    assert named <= chosen.keys()
    assert chosen.items() <= engine.items()
    assert len(asked) < MOST_ASKED


def progress_of(what: str, done: int, total: int) -> None:
    """Takes the place of a bar."""


def latest(case: Case, *_: object) -> CaseResult:
    """What an engine answers that reports of the matches that end at one position the one that begins last, by `;`
    that takes the next: EQL's sequences."""
    found = recorded({"seq": "next-from-left"}, case)
    if found.matches is None:
        return found
    kept = {m.at: m for m in sorted(found.matches, key=lambda m: (m.at, m.events))}
    return CaseResult(case, "passed" if set(kept.values()) == set(case.matches) else "failed", sorted(kept.values()))


def simple(case: Case) -> bool:
    return case.output == "matches" and not any(word in case.query for word in ("LAST", "MAX", "NXT", "ALL", "AND"))


@pytest.mark.thorough
def test_neighbours_are_not_the_cause_of_what_passed_with_events_between() -> None:
    """Once it was named with 71 of 83 answers: nobody had looked at all that the engine answered rightly."""
    asked = [case for case in cases() if simple(case)]
    results = [latest(case) for case in asked]
    failures = [result for result in results if result.outcome == "failed"]
    defects = defects_behind(Peeler(latest), failures, results)
    assert ("seq", "strict") not in {(cause.axis, cause.value) for d in defects for cause in d.causes}
    judge = ChoiceScorer(Choices("cel", [r.case for r in results if r.outcome == "passed"]), results)
    weight = judge.weigh(("seq", "strict"), ())
    assert len(weight.for_) > 20
    assert not weight.stands
    assert any(not one.wrong for one in weight.against)


@pytest.mark.thorough
def test_more_evidence_never_gives_a_worse_name() -> None:
    engine = {"partition": "substream", "in": "last"}
    right = {*engine.items()}
    for feature in ("partition", "in", None):
        asked = [case for case in cases() if feature in (None, case.feature)]
        defects, _ = defects_of(engine, asked)
        for defect in defects:
            names = {(c.axis, c.value) for c in defect.causes} | {
                tuple(other.split("=")) for c in defect.causes for other in c.alike
            }
            assert not names or names & right, (feature, names)


def test_a_failure_with_the_same_absent_key_refutes_a_value() -> None:
    """Absent keys are the key 0: A and A(0) have one key, which one-key does not say."""
    one_key = ("partition@absent", "one-key")

    def kernel(query: str, events: list[dict[str, Any]], reported: list[Match], *blamed: str) -> Any:
        case = Case("", "", "", "cel", query, {"A": {"x": "int"}}, events, "matches", [])
        return SimpleNamespace(
            signature=SimpleNamespace(blamed=frozenset((ABSENT, *blamed))), result=CaseResult(case, "failed", reported)
        )

    explained = kernel("A PARTITION BY [x]", [{"type": "A"}], [Match(0, (0,))], "partition")
    query, events = "(A ; A) PARTITION BY [x]", [{"type": "A"}, {"type": "A", "x": 0}]
    refuting = kernel(query, events, [Match(1, (0, 1))], "partition", "seq")
    left = _unexplained(Choices("cel"), [one_key], [explained, refuting])
    assert _is_refuted(Choices("cel"), one_key, [explained, refuting], left)
    assert not _is_refuted(Choices("cel"), one_key, [explained], [frozenset({"seq"}), frozenset({ABSENT, "filter"})])


def test_matches_missing_without_a_loop_are_no_limit_of_its_rounds() -> None:
    """The engine keeps three events."""
    limit, missing = ("loop@cplus", "at-most-3"), {frozenset(["seq"])}

    def kernel(length: int) -> Any:
        case = Case("", "", "", "cel", "A ; A", {"A": {}}, [{"type": "A"}] * length, "matches", [])
        signature = SimpleNamespace(kind="missing", blamed=frozenset(["seq"]))
        return SimpleNamespace(signature=signature, result=CaseResult(case, "failed", []))

    choices = Choices("cel")
    assert _is_limit_elsewhere(choices, limit, [kernel(3), kernel(4)], missing)
    assert not _is_limit_elsewhere(choices, limit, [kernel(3)], missing)
    assert not _is_limit_elsewhere(choices, limit, [kernel(4)], set())
    assert not _is_limit_elsewhere(choices, ("loop@cplus", "single"), [kernel(4)], missing)


def test_what_is_nearly_a_cause_is_told_with_what_contradicts_it() -> None:
    choice = ("seq", "next-from-left")
    some = [case for case in cases() if case.feature in ("seq", "within", "filter") and ";" in case.query]
    right = [recorded({"seq": "next-from-left"}, case) for case in some]
    failing = [one for one in right if one.outcome == "failed"]
    other = replace(failing[0], matches=[])
    passed = replace(failing[0], outcome="passed", matches=failing[0].case.matches)
    for results, told in (([*right, other], True), (right, False), ([*right, other, passed], False)):
        scorer = ChoiceScorer(Choices("cel"), results)
        assert _nearly_standing(scorer, [], [choice]) == [choice]
        doubt = _doubt(scorer, [], [choice], failing[0], failing)
        assert (f"{other.case.query} on " in doubt) == told


def test_choices_that_have_nothing_to_do_with_each_other_are_told_apart() -> None:
    """Each defect names what its own answer needs, of two choices that are contradicted."""
    planted = [("seq", "next-from-left"), ("window@events", "open")]
    some = [case for case in cases() if case.feature in ("seq", "within") and operators_in(case) <= {"seq", "within"}]
    results = [recorded(dict(planted), case) for case in some]
    failing = [one for one in results if one.outcome == "failed"]
    own = [[one for one in failing if one.matches == recorded({a: v}, one.case).matches] for a, v in planted]
    strange = [replace(some[-1], matches=[Match(0, (0,))]) for some in own]  # which no choice predicts
    scorer = ChoiceScorer(Choices("cel"), [*results, *strange])
    for (axis, value), other, mine in zip(planted, planted[::-1], own, strict=True):
        doubt = _doubt(scorer, [], planted, mine[0], failing)
        assert f"perhaps {axis}={value}, which" in doubt
        assert other[0] not in doubt


def test_a_fault_of_two_constructs_together_does_not_hide_a_choice() -> None:
    """The engine takes the next event, but not with both keys and events that are counted: those answers are right."""
    choice = ("seq", "next-from-left")
    some = [case for case in cases() if {"seq"} < operators_in(case) <= {"seq", "within", "partition"}]
    some += [replace(case, query=f"{case.query} WITHIN 9 EVENTS") for case in some if "PARTITION" in case.query]
    both = [case for case in some if "PARTITION" in case.query and "EVENTS" in case.query]
    results = [recorded({} if case in both else dict([choice]), case) for case in some]
    failing = [one for one in results if one.outcome == "failed"]
    doubt = _doubt(ChoiceScorer(Choices("cel"), results), [], [choice], failing[0], failing)
    assert f"perhaps seq=next-from-left, which would give {len(failing)} of the {len(failing)} answers" in doubt
    (number,) = re.findall(r"because (\d+) right answers? would differ", doubt)
    assert int(number) <= len(both)
    spread = replace(failing[0], outcome="passed", matches=failing[0].case.matches)
    assert not _doubt(ChoiceScorer(Choices("cel"), [*results, spread]), [], [choice], failing[0], failing)


def one_event_twice(case: Case, *_: object) -> CaseResult:
    """What an engine answers that takes the last event, and lets one event take two steps of one type."""
    found = recorded({"seq": "next-from-right"}, case)
    if (same := re.fullmatch(r"(\w+) ; \1", case.query)) is None:
        return found
    given = [Match(n, (n,)) for n, event in enumerate(case.events) if event["type"] == same[1]]
    return CaseResult(case, "passed" if given == case.matches else "failed", given)


def test_a_case_does_not_shrink_to_one_that_shows_another_fault() -> None:
    """Of A ; B on A A B the smallest case was A ; A on A A, where the engine reports single events."""
    events, expected = [{"type": name} for name in "AAB"], [Match(2, (0, 2)), Match(2, (1, 2))]
    asked = Case("", "seq", "", "cel", "A ; B", {"A": {}, "B": {}}, events, "matches", expected)
    (kernel,) = Peeler(one_event_twice).kernels([one_event_twice(asked)])
    assert (kernel.result.case.query, kernel.result.matches) == ("A ; B", [Match(2, (1, 2))])


def test_wrong_matches_without_a_cause_are_not_called_explained() -> None:
    case = Case("one", "seq", "", "cel", "A ; A", {"A": {}}, [{"type": "A"}] * 2, "matches", [Match(1, (0, 1))])
    result = CaseResult(case, "failed", [])
    defect = Defect("d1", "missing", ("seq",), result, result, ("one",))
    assert cases_text(defect) == "1 case, no cause found: one"
    assert not replace(defect, description="perhaps seq=strict, which").is_explained
    assert replace(defect, description="the engine gives no match in any of its answers").is_explained
    assert replace(defect, kind="timeout").is_explained
    stopped = replace(defect, stopped="the search stopped after 60 s")
    assert not replace(stopped, kind="timeout").is_explained
    assert replace(stopped, kind="error").is_explained  # the message is the cause
    report = Report("e", "1", "s", [result, result], [stopped, stopped], 0, 1.0)
    assert opening(report) == "2 groups of 1 failing case, not all diagnosed: the search stopped after 60 s"
    assert title(defect) == "seq"
    assert title(replace(defect, operators=())) == "no operator to blame"


def test_a_choice_that_fits_only_beside_a_contradicted_one_is_told_with_it() -> None:
    """An answer contradicts the next event; without it, the answers to queries of both contradict the wider window."""
    planted = [("seq", "next-from-left"), ("window@time", "off-by-one")]
    some = [case for case in cases() if {"seq"} <= operators_in(case) <= {"seq", "within"}]
    results = [recorded(dict(planted), case) for case in some]
    failing = [one for one in results if one.outcome == "failed"]
    window = next(one for one in failing if one.matches == recorded(dict(planted[1:]), one.case).matches)
    strange = replace(next(one for one in failing if "WITHIN" not in one.case.query), matches=[])
    doubt = _doubt(ChoiceScorer(Choices("cel"), [*results, strange]), [], planted, window, failing)
    assert "perhaps window@time=off-by-one, which" in doubt
    assert "would differ without seq=next-from-left, such as" in doubt
    given, answers, unaffected = map(int, re.findall(r"(\d+) of the (\d+) .* does not affect (\d+);", doubt)[0])
    assert given + unaffected <= answers


def test_a_choice_that_differs_by_type_is_told_with_the_types() -> None:
    """An absent number differs from all numbers, and an absent string from no string."""

    def result(query: str, kind: str, given: list[Match]) -> CaseResult:
        case = Case(query, "", "", "cel", query, {"A": {"x": kind}}, [{"type": "A"}], "matches", [])
        return CaseResult(case, "failed" if given else "passed", given)

    numbers = [result(f"A FILTER A[x != {n}]", kind, [Match(0, (0,))]) for kind in ("int", "float") for n in (0, 1)]
    scorer = ChoiceScorer(Choices("cel"), [*numbers, result("A FILTER A[x != 'a']", "string", [])])
    doubt = _doubt(scorer, [], [("absent", "null-unequal")], numbers[0], numbers)
    assert "perhaps absent=null-unequal, for float and int alone, which would give 4 of the 4 answers" in doubt
    assert "not named, because for string 1 right answer would differ" in doubt


def test_what_says_nothing_of_a_choice() -> None:
    """An error, and an answer, wrong or right, to a query with an operator that has a meaning without a name."""
    choice, events = ("overlap", "past-last"), [{"type": "A"}] * 3
    expected = [Match(1, (0, 1)), Match(2, (0, 1, 2)), Match(2, (0, 2)), Match(2, (1, 2))]
    case = Case("", "", "", "cel", "A ; A:{1,2}", {"A": {}}, events, "matches", expected)
    strange = CaseResult(case, "failed", [])
    for unfit, result, against in (([], strange, 1), (["crepeat"], strange, 0), (["plus"], strange, 1)):
        scorer = ChoiceScorer(Choices("cel"), [result], [], [frozenset([name]) for name in unfit])
        assert len(scorer.weigh(choice, []).against) == against
    events = [{"type": "A", "k": k} for k in (1, 2, 1)]
    keyed = Case(
        "", "", "", "cel", "(A ; A) PARTITION BY [k]", {"A": {"k": "int"}}, events, "matches", [Match(2, (0, 2))]
    )
    for unfit, against in (([], 1), ([frozenset(["partition"])], 0), ([frozenset(["seq"])], 1)):
        scorer = ChoiceScorer(Choices("cel"), [CaseResult(keyed, "passed", keyed.matches)], [], unfit)
        assert len(scorer.weigh(("seq", "next-from-left"), []).against) == against
    error = CaseResult(case, "error", detail="internal: of the adapter")
    assert not ChoiceScorer(Choices("cel"), [error]).weigh(choice, []).against


def as_expressions(case: Case, *_: object) -> CaseResult:
    """What REfO answers, with another fault in its iterations: regular expressions whose gaps take what they can."""
    found = recorded({"overlap": "leftmost-latest", "alternatives": "apart"}, case)
    if found.matches is None or not re.search(r":\+|:\{", case.query):
        return found
    kept = [m for m in found.matches if len(m.events) != 2]
    return CaseResult(case, "passed" if set(kept) == set(case.matches) else "failed", kept)


@pytest.mark.thorough
def test_an_operator_without_a_meaning_does_not_hide_a_choice_that_is_everywhere() -> None:
    asked = [case for case in cases() if simple(case)]
    results = [as_expressions(case) for case in asked]
    failures = [result for result in results if result.outcome == "failed"]
    defects = defects_behind(Peeler(as_expressions), failures, results)
    causes = {(cause.axis, cause.value) for defect in defects for cause in defect.causes}
    assert ("overlap", "leftmost-latest") in causes
    assert causes <= {("overlap", "leftmost-latest"), ("alternatives", "apart")}


def silent_negation(case: Case, *_: object) -> CaseResult:
    found = [] if "UNLESS" in case.query else list(case.matches)
    return CaseResult(case, "passed" if set(found) == set(case.matches) else "failed", found)


def test_a_construct_that_never_answers_is_no_choice_of_it() -> None:
    results = [silent_negation(case) for case in cases()]
    failures = [result for result in results if result.outcome == "failed"]
    defects = defects_behind(Peeler(silent_negation), failures, results)
    assert [defect.causes for defect in defects] == [()] * len(defects)
    assert silent_operators(results, 3) == ["unless"]
    assert defects[0].description == "the engine gives no match for any query with unless"


def first_of_sequence(case: Case, *_: object) -> CaseResult:
    """The answer of an engine of sequences alone, of which each that begins is reported once."""
    if not all(part.strip().isalpha() for part in case.query.split(";")):
        return CaseResult(case, "skipped")
    return recorded({"seq": "next-from-left"}, case)


@pytest.mark.parametrize("late", [False, True], ids=["in time", "the time ends after the refutation"])
def test_a_cause_that_a_question_refutes_is_not_reported(late: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine takes the next event in the suite, and answers further questions by the definition."""
    looks = Inquiry.look_beside
    by_definition = [False]

    def engine(case: Case, *_: object) -> CaseResult:
        return recorded({} if by_definition[0] else {"seq": "next-from-left"}, case)

    def look(self: Inquiry, *given: Any) -> None:
        by_definition[0] = True
        looks(self, *given)
        by_definition[0] = False

    def probe(self: Inquiry, *_: object) -> None:
        self.peeler.watch.stop("stopped after 1 s")
        self.peeler.watch.check()

    monkeypatch.setattr(Inquiry, "look_beside", look)
    if late:
        monkeypatch.setattr(Inquiry, "probe", probe)
    results = [engine(case) for case in cases() if re.fullmatch(r"[A-Z] ; [A-Z]|[A-Z]", case.query)]
    failures = [result for result in results if result.outcome == "failed"]
    assert failures
    assert not any(defect.causes for defect in defects_behind(Peeler(engine), failures, results))


def test_a_cause_has_those_like_it_even_if_the_time_ends_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stood alone, as if a question had separated it from them."""

    def cut(*_: object) -> bool:
        raise DiagnosisStopped("stopped after 7 s")

    monkeypatch.setattr(defects_module, "_suggest", lambda *_: set())
    monkeypatch.setattr(defects_module, "_is_open", cut)
    monkeypatch.setattr(defects_module, "_settle_choices", lambda *_: [("seq", "next-from-left")])
    results = [one for one in map(first_of_sequence, cases()) if one.outcome in ("passed", "failed")][:14]
    failures = [result for result in results if result.outcome == "failed"]
    (defect,) = defects_behind(Peeler(first_of_sequence), failures, results)
    assert {"=".join(defect.likeliest or ()), *defect.causes[0].alike} >= {"seq=next-from-left", "emit=one-per-start"}


@pytest.mark.thorough
def test_of_choices_that_nothing_tells_apart_both_are_named() -> None:
    first = first_of_sequence
    results = [first(case) for case in cases()]
    failures = [result for result in results if result.outcome == "failed"]
    (defect,) = defects_behind(Peeler(first), failures, results)
    (cause,) = defect.causes
    assert {f"{cause.axis}={cause.value}", *cause.alike} >= {"seq=next-from-left", "emit=one-per-start"}
    assert " on A" in cause.apart
    assert cause.then < cause.now == len(failures)


@pytest.mark.thorough
def test_a_policy_is_offered_only_if_fewer_cases_fail_under_it() -> None:
    defects, results = defects_of({"loop": "single", "or": "left-first"}, cases())
    for defect in defects:
        (cause,) = defect.causes
        assert cause.helps
        fails = sum(
            recorded({"loop": "single", "or": "left-first"}, one.case).matches
            != recorded({cause.axis: cause.value}, one.case).matches
            for one in results
            if one.matches is not None
        )
        assert (cause.now, cause.then) == (sum(r.outcome == "failed" for r in results), fails)


# --- time -------------------------------------------------------------------------------------------------------------


def test_a_watch() -> None:
    watch = Watch(1000.0)
    watch.check()
    watch.allowance = -1.0
    watch.allow()
    with pytest.raises(AllowanceOver):
        watch.check()
    watch.allow_all()
    watch.check()
    with pytest.raises(DiagnosisStopped, match="after 0 s"):
        Watch(0.0).check()
    watch.stop("enough")
    with pytest.raises(DiagnosisStopped, match="enough"):
        watch.check()


def failing_somewhere(watch: Watch, ask: Callable[[Case], CaseResult]) -> tuple[list[Defect], int]:
    results = [ask(case) for case in cases()]
    failures = [result for result in results if result.outcome == "failed"]
    return defects_behind(Peeler(lambda case, query, S: ask(case), watch=watch), failures, results), len(failures)


def test_a_search_without_time_has_all_cases_all_the_same() -> None:
    defects, failing = failing_somewhere(Watch(0.0), lambda case: recorded({"loop": "single"}, case))
    assert sum(len(defect.cases) for defect in defects) == failing
    assert all("stopped after 0 s" in defect.stopped for defect in defects)


@pytest.mark.parametrize("seconds", [0, 1, 5, 34, 256, 8192])
def test_a_search_ends_at_any_check_of_the_time_with_all_cases(seconds: int) -> None:
    """Each look at the clock takes a second. Answers to rules that are all errors ended the report with a fault."""
    clock = Watch(seconds, clock=count().__next__)
    peeler, results = answers_of({"null_groups": "joined"}, GROUPED, [{"Kind": "a"}, {"Kind": "a"}])
    refused = [replace(r, outcome="error", matches=None, detail="no") for r in results]
    refused = [replace(r, case=replace(r.case, id="e.yml:0", query=f"{r.case.query}\n")) for r in refused]
    peeler.watch = clock
    found, _ = defects_of_rules(peeler, [*refused, *results], progress_of)
    assert {id_ for defect in found for id_ in defect.cases} >= {"r.yml:0", "e.yml:0"}
    clock = Watch(seconds, clock=count().__next__)
    some = [recorded({"loop": "single"}, case) for case in cases()[:150]]
    failures = [one for one in some if one.outcome == "failed"]
    found = defects_behind(Peeler(lambda case, *_: recorded({"loop": "single"}, case), watch=clock), failures, some)
    assert sum(len(defect.cases) for defect in found) == len(failures) > 0


@pytest.mark.parametrize("error", [RuntimeError("lost"), DiagnosisStopped("late"), KeyboardInterrupt()])
def test_a_failure_of_the_search_for_causes_loses_no_verdict(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard output was empty."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(run_module, "_diagnosed", fail)
    options = ["--feature", "seq", "--", sys.executable, "docs/guide/adapters/toy.py"]
    found = CliRunner().invoke(conform_command, options, standalone_mode=False)
    assert "0 defects in 6 failing cases, 6 of them unexplained" in found.stdout
    if isinstance(error, KeyboardInterrupt):
        assert (found.return_value, INTERRUPTED in found.stdout) == (130, True)
        return
    assert (found.return_value, repr(error) in found.stdout, "Traceback" in found.stderr) == (70, True, True)
    found = CliRunner().invoke(conform_command, ["--json", *options], standalone_mode=False)
    summary = json.loads(found.stdout.splitlines()[0])["summary"]
    assert (len(summary["unexplained"]), summary["failure"]) == (6, repr(error))


def test_a_search_for_causes_that_is_cut_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(*_: object) -> list[Choice]:
        raise DiagnosisStopped("stopped after 7 s")

    monkeypatch.setattr(defects_module, "_standing", cut)
    case = next(case for case in cases() if recorded({"loop": "single"}, case).outcome == "failed")
    results = [recorded({"loop": "single"}, case)]
    peeler = Peeler(lambda case, query, S: recorded({"loop": "single"}, case))
    assert [defect.stopped for defect in defects_behind(peeler, results, results)] == ["stopped after 7 s"]


def test_frequent_causes_are_found_without_smaller_cases_unless_an_answer_contradicts_them() -> None:
    some = [case for case in cases() if "+" in case.query][:80]
    results = [recorded({"loop": "single"}, case) for case in some]
    failing = [one for one in results if one.outcome == "failed"]
    passed = [one for one in results if one.outcome == "passed"]

    def found(answered: list[CaseResult]) -> list[Choice]:
        scorer = ChoiceScorer(Choices("cel", [one.case for one in passed]), answered)
        return scorer.confirm(scorer.climb())

    assert found(results) == [("loop", "single")]
    right = [CaseResult(one.case, "passed", list(one.case.matches)) for one in failing[-1:]]
    assert found([*results, *right]) == []


@pytest.mark.parametrize(("odd", "named"), [(None, {"next-from-left"}), (" OR ", set())])
def test_a_frequent_cause_is_asked_about_before_the_time_is_over(
    odd: str | None, named: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine takes the next event, perhaps but in queries with OR, which no case has beside a sequence."""

    def cut(*_: object) -> list[Choice]:
        raise DiagnosisStopped("stopped after 7 s")

    def ask(case: Case) -> CaseResult:
        return recorded({} if odd and odd in case.query else {"seq": "next-from-left"}, case)

    monkeypatch.setattr(defects_module, "_standing", cut)
    plain = [case for case in cases() if re.fullmatch(r"[A-Z ;()]+|[A-Z OR()]+", case.query)]
    some = [case for case in plain if not (" OR " in case.query and ";" in case.query)]
    results = [ask(case) for case in some if case.output == "matches"]
    failing = [one for one in results if one.outcome == "failed"]
    defects = defects_behind(Peeler(lambda case, query, S: ask(case)), failing, results)
    assert {defect.causes[0].value for defect in defects if defect.causes} == named


@pytest.mark.thorough
def test_a_search_without_an_allowance_shrinks_all_the_same() -> None:
    defects, failing = failing_somewhere(Watch(allowance=0.2), lambda case: recorded({"loop": "single"}, case))
    assert sum(len(defect.cases) for defect in defects) == failing
    assert min(len(defect.result.case.query) for defect in defects) <= 6


def test_an_interrupt_anywhere_ends_the_search() -> None:
    asked = 0

    def ask(case: Case) -> CaseResult:
        nonlocal asked
        asked += 1
        if asked == len(cases()) + 40:
            raise KeyboardInterrupt
        assert asked <= len(cases()) + 40, "asked after the interrupt"
        return recorded({"loop": "single"}, case)

    watch = Watch()
    defects, failing = failing_somewhere(watch, ask)
    assert watch.interrupted
    assert sum(len(defect.cases) for defect in defects) == failing


@pytest.mark.parametrize("interrupted", [False, True])
def test_choices_are_not_confirmed_after_the_end_of_a_search(
    interrupted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a converter were, for seconds; now the report says how many were not."""
    engine = {"null_groups": "joined", "alerts": "last"}
    results = [recorded_by("sigma", engine, case) for case in load("sigma") if case.feature == "event_count"]
    peeler = Peeler(lambda case, query, S: recorded_by("sigma", engine, case))
    climb, predict, ended = ChoiceScorer.climb, MatchPredictor.matches, False

    def climb_and_end(self: ChoiceScorer) -> list[Choice]:
        nonlocal ended
        climb(self)
        ended = True
        peeler.watch.stop("stopped after 7 s")
        raise KeyboardInterrupt if interrupted else DiagnosisStopped("stopped after 7 s")

    def predict_before_the_end(self: MatchPredictor, *of: Any) -> Any:
        assert not ended
        return predict(self, *of)

    monkeypatch.setattr(ChoiceScorer, "climb", climb_and_end)
    monkeypatch.setattr(MatchPredictor, "matches", predict_before_the_end)
    found = defects_behind(peeler, [one for one in results if one.outcome == "failed"], results)
    why = INTERRUPTED if interrupted else "stopped after 7 s"
    assert {defect.stopped for defect in found} == {f"{why}, before 2 likely choices were confirmed"}


SLOW = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m["cmd"] == "start":
        info = {"name": "slow", "version": "1"}
        print(json.dumps({"protocol": 1, "engine": info, "languages": ["row-pattern"]}), flush=True)
    elif m["cmd"] == "run":
        first = [{"at": 0, "events": [0], "bindings": {"A": [0]}, "match_number": 1}] if m["events"] else []
        print(json.dumps({"id": m["id"], "matches": first}), flush=True)
    else:
        break
"""


def _end_by_signal(folder: Path, number: int, cpu: float, *asked: str) -> str:
    """Return what a command that puts this engine under test prints when a signal ends it after some seconds of CPU."""
    (folder / "slow.py").write_text(SLOW, encoding="utf-8")
    command = [sys.executable, "-m", "cerify.cli", *asked, "--json", "--", sys.executable, "slow.py"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begun = time.monotonic()
    while time.monotonic() < begun + 300 and _cpu(process.pid) < cpu:
        time.sleep(0.1)
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    return out


SIGNALS = [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.thorough)]
unix_alone = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no such signals")


@unix_alone
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.thorough
def test_a_signal_ends_the_search_with_what_it_has(tmp_path: Path, number: int) -> None:
    """The search for the causes of this engine takes minutes; the report comes at the signal."""
    asked = ("conform", "--language", "row-pattern", "--feature", "row-nested", "--html", "report.html")
    out = _end_by_signal(tmp_path, number, 4.0, *asked)
    summary = json.loads(out.splitlines()[0])["summary"]
    assert summary["cases"] == len(out.splitlines()) - 1
    assert summary["ended"] == INTERRUPTED
    assert {id_ for defect in summary["defects"] for id_ in defect["cases"]} == {
        case["id"] for case in map(json.loads, out.splitlines()[1:]) if case["outcome"] == "failed"
    }
    assert INTERRUPTED in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.thorough
@unix_alone
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_an_identification_with_the_axes_that_it_has(tmp_path: Path, number: int) -> None:
    profile = json.loads(_end_by_signal(tmp_path, number, 3.5, "identify"))
    assert profile["stopped"] == "interrupted"
    assert "skip" in profile["axes"]
    assert "integer_division" not in profile["axes"]


CONFORM, FUZZ = ("conform", "--feature", "plus"), ("fuzz", "--cases", "60")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "asked",
    sampled([(CONFORM, True), (FUZZ, False), (CONFORM, False), (FUZZ, True)], [(FUZZ, False)]),
)
def test_a_long_run_says_what_it_finds_before_its_report(
    run: Run, monkeypatch: pytest.MonkeyPatch, asked: tuple[tuple[str, ...], bool]
) -> None:
    command, as_json = asked
    engine = (sys.executable, "-m", "cerify.cli", "engine", "--hypothesis", "seq=strict")
    call = (*command, *(["--json"] if as_json else []), "--", *engine)
    monkeypatch.setattr(options, "EARLY_SECONDS", 1e9)
    assert "found" not in run(*call)[2], "a short run has its report alone"
    monkeypatch.setattr(options, "EARLY_SECONDS", 0.0)
    _, out, err = run(*call)
    lines = [line for line in err.splitlines() if "found" in line]
    assert lines
    if as_json:
        assert "summary" in json.loads(out.splitlines()[0])
        assert all(json.loads(line)["found"]["outcome"] == "failed" for line in lines)
    else:
        assert all(line.startswith("found so far: ") for line in lines)


def _cpu(pid: int) -> float:
    """The processor time of a process in seconds."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --- errors that are alike --------------------------------------------------------------------------------------------


def error(number: int, detail: str, outcome: str = "error") -> CaseResult:
    case = Case("A" * (number + 1), "f", "", "cel", "A" * (number + 1), None, [], "matches", [Match(0, (0,))])
    return CaseResult(case, outcome, detail=detail)  # type: ignore[arg-type]


def test_errors_of_one_kind_are_one_defect() -> None:
    texts = {
        "A ; B": "at line 2\nno 'x' here (f)",
        "A+": "at line 31\nno 'long name' here (g)",
        "A OR B": "at line 2\nz",
    }
    results = [replace(r, case=replace(r.case, query=q)) for q, r in ((q, error(len(q), t)) for q, t in texts.items())]
    defects = defects_behind(Peeler(lambda case, *_: replace(results[0], case=case)), results, results)
    assert sorted(len(defect.cases) for defect in defects) == [1, 2]


def test_errors_of_two_classes_are_two_defects() -> None:
    """Only the first of them was shown, with the cases of both."""
    texts = {"A ; B": "internal: TypeError: no order of x", "A ; C": "internal: PatternError: no x"}
    given = {q: error(n, text) for n, (q, text) in enumerate(texts.items())}
    results = [replace(one, case=replace(one.case, query=q)) for q, one in given.items()]
    ask = lambda case, *_: replace(given[next((q for q in texts if q[-1] in case.query), "A ; B")], case=case)  # noqa: E731
    defects = defects_behind(Peeler(ask), results, results)
    assert {defect.result.detail for defect in defects} == {*texts.values()}
    assert [len(defect.cases) for defect in defects] == [1, 1]


def test_errors_that_quote_the_query_in_the_engines_terms_are_one_defect() -> None:
    results = []
    for query, field in (("A ; B", "host"), ("A+", "user")):
        quoted = f"{field} AS who UNION ALL SELECT 1"
        one = replace(error(len(query), f"Syntax error: failed: {quoted}"), translation=f"SELECT 2 FROM logs {quoted}")
        results.append(replace(one, case=replace(one.case, query=query)))
    defects = defects_behind(Peeler(lambda case, *_: CaseResult(case, "passed")), results, results)
    assert [len(defect.cases) for defect in defects] == [2]


def test_errors_that_are_all_alike_are_one() -> None:
    alike = [error(n, f"internal: KeyError: 'x{n}' at line {n}\nmore {n}") for n in range(ALIKE)]
    defect = same_error([*alike, CaseResult(alike[0].case, "skipped")])
    assert defect is not None
    assert defect.description == f"all {ALIKE} answers are the same error: internal: KeyError: 'x0' at line 0\nmore 0"
    assert len(defect.cases) == ALIKE
    assert same_error([error(n, f"internal: wrong in case {'A' * (n + 1)}") for n in range(ALIKE)]) is not None
    assert same_error(alike[1:]) is None
    assert same_error([*alike, error(99, "internal: ValueError")]) is None
    assert same_error([*alike, CaseResult(alike[0].case, "passed")]) is None


BROKEN = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m["cmd"] == "start":
        print(json.dumps({"protocol": 1, "engine": {"name": "b", "version": "1"}, "languages": ["cel"]}), flush=True)
    elif m["cmd"] == "run":
        print(json.dumps({"id": m["id"], "error": {"code": "internal", "message": "KeyError: 'type'"}}), flush=True)
    else:
        break
"""


def test_an_adapter_with_one_bug_gives_one_line(tmp_path: Path, run: Run) -> None:
    (tmp_path / "broken.py").write_text(BROKEN, encoding="utf-8")
    status, out, _ = run("conform", "--feature", "seq", "--", sys.executable, str(tmp_path / "broken.py"))
    assert status == 1
    assert "1 defect in 102 failing cases" in out
    assert "all 102 answers are the same error: internal: KeyError: 'type'" in out
    status, out, _ = run("identify", "--", sys.executable, str(tmp_path / "broken.py"))
    assert status == 1
    assert "the first 10 answers are the same error: internal: KeyError: 'type'" in out


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(0, 40, 5))
def test_a_profile_is_right_or_open(seed: int) -> None:
    assert not identified(*composed(seed), hidden=False)[1]
    assert not identified(*composed(seed), hidden=True)[1]


# ---- elements ----
# What of a case a failure is blamed on, and cases without it.

CEL = LANGUAGES["cel"]


@pytest.mark.parametrize("value_type", ["int", "float", "string", "bool", "timestamp"])
def test_an_absent_value_of_every_type_is_filled_in(value_type: ValueType) -> None:
    query = CEL.syntax.parse("A FILTER A.x = A.x")
    S = Stream([Event("A")], Schema({"A": {"x": value_type}}))
    assert ABSENT in elements(CEL, query, S)
    cases = list(without(CEL, query, S, ABSENT))
    assert cases
    for other, filled in cases:
        assert other == query
        assert ABSENT not in elements(CEL, other, filled)


# ---- shrinking ----
# Shrinking by language: every language that is served has a way, and what it keeps still fails.


def shrunk(language: Language[Any], query: str, S: Stream, said: str, types: str) -> tuple[str, str]:
    """The last query that has said in its text and over a stream with these types in a row, and the stream."""
    best = (query, "".join(event.type for event in S))

    def fails(query: str, S: Stream) -> bool:
        nonlocal best
        if not len(S):
            raise IllFormed("an error is no failure")
        text = "".join(event.type for event in S)
        if said in query and types in text:
            best = (query, text)
            return True
        return False

    shrink_case(language, query, S, fails, 2_000)
    return best


S = Stream([Event(T, {"n": 3}) for T in "cabac"])


@pytest.mark.parametrize(
    ("language", "query", "said", "small"),
    [
        ("cel", "(a ; b+ ; c) FILTER b.n > 2", "+", "a+"),
        ("core-cel", "NXT(a AS x ; (b AS y ; c AS z)+) FILTER x.n > 2", "+", "(a AS a)+"),
        ("event-expression", "prior(a, <7> b and !before(c)) | relative(a, c)", "<", "<1> a"),
        ("event-expression", "p(X) := prior(a(X, 4), b(X)) and X = 9; c or p(3)", "(", "prior(a, b)"),
    ],
)
def test_a_query_and_a_stream_get_smaller(language: str, query: str, said: str, small: str) -> None:
    found, stream = shrunk(LANGUAGES[language], query, S, said, "a")
    assert (len(found), found) <= (len(small), small)
    assert said in found
    assert stream == "a"
    LANGUAGES[language].syntax.parse(found)


def test_of_a_language_that_nobody_knows_the_stream_gets_shorter() -> None:
    unknown = replace(LANGUAGES["sase"], cases=None)
    assert shrunk(unknown, "PATTERN SEQ(A a)", S, "SEQ", "ab") == (
        "PATTERN SEQ(A a)",
        "ab",
    )


@pytest.mark.parametrize(
    ("text", "written_out"),
    [
        ("a", "a"),
        ("p := a; q := p or b; !q", "!(a or b)"),
        ("p(I) := prior(a(I), b(I)[n > 1]); p(3) or p(J)", "prior(a(3), b(3)[n > 1]) or prior(a(J), b(J)[n > 1])"),
    ],
)
def test_names_are_written_out(text: str, written_out: str) -> None:
    assert show(without_names(parse(text))) == written_out


# ---- second opinion ----
# Before a divergence is reported it is judged again: where cerify contradicts itself, the engine is not blamed.

TWICE_QUERY, TWICE_S = "A ; NXT(A ; B)", stream("A A A B")
ORIGIN = Case("x", "nxt", "", "cel", TWICE_QUERY, None, [], "matches", ())


def forget_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant a fault in what saves the definition time: NXT is taken to have the matches of longer intervals."""
    monkeypatch.setattr(interpreter, "INHERITING", (*interpreter.INHERITING, cel.Next))


def right() -> frozenset[Match]:
    found = second_opinion("cel", parse_cel(TWICE_QUERY), TWICE_S, "matches")
    assert found is not None
    return found


def test_the_plain_definition_has_no_part_in_what_saves_time(monkeypatch: pytest.MonkeyPatch) -> None:
    before = right()
    forget_next(monkeypatch)
    interpreter = Interpreter(TWICE_S)
    assert frozenset({1, 2, 3}) not in map(denote.sup, interpreter.meaning(parse_cel(TWICE_QUERY), 0, 3))
    assert right() == before
    assert Match(3, (1, 2, 3)) in before


def test_a_right_engine_is_not_blamed_for_a_fault_of_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_next(monkeypatch)
    case = Oracle().case(parse_cel(TWICE_QUERY), TWICE_S, ORIGIN)
    found = judged_again(CaseResult(case, "failed", sorted(right())), parse_cel(TWICE_QUERY), TWICE_S)
    assert found.outcome == "disputed"
    assert found.second == sorted(right())
    assert "cerify contradicts itself" in found.detail
    assert "{1, 2, 3} at 3" in found.detail


class Right:
    """An engine that answers by the plain definition."""

    def run(self, case: Case) -> CaseResult:
        found = second_opinion("cel", parse_cel(case.query), stream_of(case), "matches")
        assert found is not None
        return CaseResult(case, "passed" if found == set(case.matches) else "failed", sorted(found))


def test_on_all_short_streams_a_right_engine_is_not_blamed_either(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_next(monkeypatch)
    found = search(Right(), LANGUAGES["cel"], TWICE_QUERY, 4, "matches")  # type: ignore[arg-type]
    assert not found.wrong
    assert len(found.disputed) == 1
    assert [event["type"] for event in found.disputed[0].case.events] == ["A", "A", "A", "B"]


def test_a_wrong_engine_is_blamed() -> None:
    case = Oracle().case(parse_cel(TWICE_QUERY), TWICE_S, ORIGIN)
    failed = CaseResult(case, "failed", ())
    agreed = replace(failed, second=case.matches)
    assert judged_again(failed, parse_cel(TWICE_QUERY), TWICE_S) == agreed
    assert reconsidered(failed) == agreed


@pytest.mark.thorough
def test_an_engine_that_ignores_all_windows_has_one_defect() -> None:
    """Each kind of window had its own; where one kind is right, two of them still have."""
    some = [case for case in cases_of("cel") if case.output == "matches" and len(case.query) < 40]
    some = [case for case in some if "WITHIN" in case.query]
    for engine, named in (
        ({"window": "unlimited"}, {("window", "unlimited")}),
        (
            {"window@events": "unlimited", "window@time": "unlimited"},
            {("window@events", "unlimited"), ("window@time", "unlimited")},
        ),
    ):
        results = [recorded_by("cel", engine, case) for case in some]
        peeler = Peeler(lambda case, query, S, engine=engine: recorded_by("cel", engine, case))  # type: ignore[misc]
        found = defects_behind(peeler, [one for one in results if one.outcome == "failed"], results)
        assert {defect.likeliest for defect in found} == named
        assert len(found) == len(named)
        assert all(defect.causes[0].then == 0 for defect in found[:1] if len(named) == 1)


def test_failures_are_judged_again_within_the_time_of_the_diagnosis(run: Run) -> None:
    """It had no limit; the report names the cases that were left out, and the shortest are judged first."""
    some = [Oracle().case(parse_cel("A ; B"), stream(text), replace(ORIGIN, id=text)) for text in ("A A B", "A B")]
    failed = [CaseResult(case, "failed", ()) for case in some]
    judged, unjudged, ended = judge_all_again(failed, Oracle(), Watch())
    assert (judged, unjudged, ended) == ([replace(r, second=r.case.matches) for r in failed], [], "")
    assert judge_all_again(failed, Oracle(), Watch(0)) == (failed, ["A B", "A A B"], "")
    argv = ("conform", "--feature", "seq", "--diagnosis-limit", "0", "--", sys.executable, "docs/guide/adapters/toy.py")
    assert "Not judged again by the plain definition, because time ran out: 6 failed cases (" in run(*argv)[1]
    summary = json.loads(run(*argv[:1], "--json", *argv[1:])[1].splitlines()[0])["summary"]
    assert len(summary["not_judged_again"]) == 6


def test_no_opinion_is_no_contradiction() -> None:
    assert second_opinion("cel", parse_cel("A+"), stream("A A A A"), "matches", Budget(valuations=3)) is None
    assert second_opinion("cel", parse_cel("A FILTER p(A)"), stream("A"), "matches") is None
    assert second_opinion("nobody's", "A", TWICE_S, "matches") is None


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
    wrong = replace(Oracle().case(parse_cel("A ; B"), stream("A B"), ORIGIN), matches=[Match(1, (1,))])
    suite = tmp_path / "mine.jsonl"
    suite.write_text(line_of_case(wrong) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1: the field 'matches' contradicts the reference evaluator.*\[0,1\]"):
        load(str(suite))


def test_expected_matches_may_be_left_out(tmp_path: Path) -> None:
    right = Oracle().case(parse_cel("A ; B"), stream("A B"), ORIGIN)
    line = {name: value for name, value in json.loads(line_of_case(right)).items() if name != "matches"}
    suite = tmp_path / "mine.jsonl"
    suite.write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert load(str(suite)) == [right]


def blowing_up(tmp_path: Path) -> Path:
    """A suite of a case without matches, which take half a minute."""
    case = Oracle().case(parse_cel("A"), stream("A"), ORIGIN)
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
    assert (
        "mine.jsonl, line 2: the field 'query': the call takes more than 0.02 seconds; simplify the query, or allow"
        in err
    )


def test_expected_matches_of_a_suite_have_a_limit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases_second_opinion, "SUITE_SECONDS", 0)
    with pytest.raises(
        InputError, match="computing the expected matches up to this line took 0 seconds; split the suite"
    ):
        load(str(blowing_up(tmp_path)))


def test_a_case_that_expects_something_else_is_disputed() -> None:
    """A built-in suite is taken as it is; where it is wrong, the engine is not."""
    wrong = replace(Oracle().case(parse_cel("A ; B"), stream("A B"), ORIGIN), matches=[Match(1, (1,))])
    result = reconsidered(CaseResult(wrong, "failed", [Match(1, (0, 1))]))
    assert result.outcome == "disputed"
    assert result.second == [Match(1, (0, 1))]
    assert (
        result.detail == "cerify contradicts itself: it expects {1} at 1, and the reference evaluator gives {0, 1} at 1"
    )


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
    monkeypatch.setattr(CampaignPlan, "make_case", lambda plan, index: (parse_cel(TWICE_QUERY), TWICE_S))
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
        _, verdicts = judge(broken, {"e": none}, parse_cel("A"), TWICE_S, "matches", opinion)
        assert verdicts["e"].outcome == outcome


# ---- causes rule by rule ----
#

LOW = """
title: Low average
name: low
correlation:
  type: value_avg
  rules: [transfer]
  group-by: [User]
  timespan: 5m
  condition: {field: Bytes, lt: 40.5}
---
title: transfer
name: transfer
logsource: {category: test}
detection:
  selection: {Kind: transfer}
  filter: {HOST}
  condition: selection and not FILTERS
"""


def rule_defects(
    engine: dict[str, str], output: str, *texts: str, folder: Path, ask: Any = None
) -> tuple[list[Defect], list[CaseResult], list[CaseResult]]:
    """The defects of an engine with these choices, by the test logs of rules; with the results, and those asked."""
    for number, text in enumerate(texts):
        (folder / f"{number}.yml").write_text(text)
    claims = claims_of_json({"sigma": {"output": [output]}}, "sigma")
    ask = ask or (lambda case: recorded_by("sigma", engine, case))
    results = [ask(claims.restrict_case(case)) for case in cases_of_rules(folder)[0]]
    found, asked = defects_of_rules(Peeler(lambda case, query, S: ask(case)), results, progress_of)
    return found, results, asked


@pytest.mark.parametrize(
    ("test", "negated"),
    [
        pytest.param("Host|endswith: .local", "filter", marks=pytest.mark.thorough),
        pytest.param("Host|cidr: 10.0.0.0/8", "1 of filter*", marks=pytest.mark.thorough),
    ],
)
def test_an_absent_field_of_a_filter_hides_no_other_cause(test: str, negated: str, tmp_path: Path) -> None:
    """No log had a value there that the filter does not take, so that one choice explained all answers."""
    engine = {"window": "unlimited", "alerts": "last", "constants": "truncated", "absent": "unknown"}
    text = LOW.replace("HOST", test).replace("FILTERS", negated)
    found, results, _ = rule_defects(engine, "groups", text, folder=tmp_path)
    assert {(d.causes[0].axis, d.causes[0].value) for d in found} == set(engine.items())
    events = [event for result in results for event in result.case.events]
    assert {"Host" in event for event in events} == {True, False}


@pytest.mark.thorough
def test_a_rule_without_a_cause_leaves_those_of_others(tmp_path: Path) -> None:
    """A single answer that no choice gave took the causes of all rules of a folder away."""
    strange = RULE.format("event_count", ", group-by: [Host], condition: {gte: 2}").replace(
        "title: T", "title: Strange"
    )
    text = LOW.replace("HOST", "Host: a").replace("FILTERS", "filter")
    engine = {"window": "unlimited"}

    def ask(case: Case) -> CaseResult:
        found = recorded_by("sigma", engine, case)
        if "value_avg" in case.query:
            return found
        given = sorted({Match(len(case.events) - 1, ())} - set(case.matches))  # an alert where there is none
        return CaseResult(case, "passed" if set(given) == set(case.matches) else "failed", given)

    found, results, _ = rule_defects(engine, "positions", text, strange, folder=tmp_path, ask=ask)
    by_cause = {d.causes[0].axis if d.causes else d.description: d for d in found}
    (unknown,) = (text for text in by_cause if text.startswith(NONE_FOUND))
    assert by_cause.keys() == {"window", unknown}
    own = {r.case.id for r in results if r.outcome == "failed" and "value_avg" not in r.case.query}
    assert set(by_cause[unknown].cases) >= own


@pytest.mark.thorough
def test_a_search_that_ends_early_describes_what_it_found_and_tries_it_on_the_other_rules(tmp_path: Path) -> None:
    """The end of the time stopped the report with a fault, and rules not reached were said to have no cause."""
    (tmp_path / "0.yml").write_text(LOW.replace("HOST", "Host: a").replace("FILTERS", "filter"))
    (tmp_path / "1.yml").write_text(LOW.replace("HOST", "Role: b").replace("FILTERS", "filter"))
    (tmp_path / "2.yml").write_text(RULE.format("event_count", ", group-by: [Host], condition: {gte: 2}"))
    cases = cases_of_rules(tmp_path)[0]

    def ask(case: Case, *_: Any) -> CaseResult:
        if "value_avg" in case.query:
            return recorded_by("sigma", {"window": "unlimited"}, case)
        return CaseResult(case, "failed" if case.matches else "passed", [])  # it never fires

    peeler = Peeler(ask)

    def stop_after_the_first(what: str, done: int, of: int) -> None:
        if done == 1:
            peeler.watch.stop("the search stopped after 1 s")

    found, _ = defects_of_rules(peeler, list(map(ask, cases)), stop_after_the_first)
    rest, window = sorted(found, key=lambda d: len(d.causes))
    assert (window.likeliest, rest.causes) == (("window", "unlimited"), ())
    assert {id_.partition(":")[0] for id_ in window.cases} == {"0.yml", "1.yml"}
    assert rest.description == "the search stopped after 1 s"


def test_a_network_that_is_compared_as_a_text_is_named(tmp_path: Path) -> None:
    """No log had a text that begins like an address, on which alone the two differ."""
    text = RULE.format("event_count", ", group-by: [User], condition: {gte: 2}")
    text = text.replace("Kind: a}", "Kind: a, Host|cidr: 10.20.0.0/16}")
    found, _, _ = rule_defects({"networks": "texts"}, "positions", text, folder=tmp_path)
    assert [defect.likeliest for defect in found] == [("networks", "texts")]


GROUPED = RULE.format("event_count", ", group-by: [Host], condition: {gte: 2}")


def answers_of(engine: dict[str, str], rule: str, *logs: list[dict[str, Any]]) -> tuple[Peeler, list[CaseResult]]:
    """The answers of an engine with these choices to logs of a rule, one event a second, and what asks it further."""
    results = []
    for number, log in enumerate(logs):
        events = [{"type": "event", "time": f"2026-01-01T00:00:{n:02}Z", **event} for n, event in enumerate(log)]
        case = Case(f"r.yml:{number}", "f", "", "sigma", rule, None, events, "positions", [])
        case = Oracle().case(LANGUAGES["sigma"].syntax.parse(rule), stream_of(case), case)
        results.append(recorded_by("sigma", engine, case))
    return Peeler(lambda case, *_: recorded_by("sigma", engine, case)), results


@pytest.mark.parametrize("late", ["_ask", "_near_all"])
def test_a_search_that_ends_before_its_questions_names_no_cause(late: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of several choices that gave the same answers stood as the cause."""
    peeler, results = answers_of({"null_groups": "joined"}, GROUPED, [{"Kind": "a"}, {"Kind": "a"}])

    def stop(*_: Any) -> None:
        raise DiagnosisStopped("the search stopped after 7 s")

    monkeypatch.setattr(RuleInquiry, late, stop)
    (defect,), _ = defects_of_rules(peeler, results, progress_of)
    assert (defect.causes, defect.cases) == ((), ("r.yml:0",))
    assert defect.description == "the search stopped after 7 s: perhaps null_groups=joined, or groups=ignored"
    assert cases_text(defect) == "1 case, no cause found: r.yml:0"  # not: explains 1 case


def test_two_choices_are_found_of_which_each_alone_gives_no_answer_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was said that no combination of choices gives the answer, as the beam did not keep the first of the two."""
    rule = GROUPED.replace("Kind: a}, condition: sel", "Kind: a}, f: {Role: x}, condition: sel and not f")
    without, kept = {"Kind": "a"}, {"Kind": "a", "Role": "y"}
    peeler, results = answers_of({"null_groups": "joined", "absent": "unknown"}, rule, [kept, kept], [without, without])
    assert [one.outcome for one in results] == ["failed", "passed"]
    monkeypatch.setattr(RuleInquiry, "_asks_about_rivals", lambda self: False)
    (defect,), _ = defects_of_rules(peeler, results, progress_of)
    assert (defect.likeliest, defect.cases) == (("null_groups", "joined"), ("r.yml:0",))


def test_logs_that_the_engine_did_not_get_are_no_defect() -> None:
    """The report ended with a fault."""
    peeler, (wrong, _) = answers_of({"case": "exact"}, GROUPED, [{"Kind": "A"}, {"Kind": "a"}], [{"Kind": "a"}])
    assert defects_of_rules(peeler, [replace(wrong, outcome="not_run", matches=None)], progress_of) == ([], [])


def test_each_rule_gets_a_share_of_the_time_and_then_what_others_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first rule of a folder took all of it, and no cause of the others was looked for."""
    EVENT, ALERT = {"type": "event"}, Match(0, (0,))
    results = [
        CaseResult(
            Case(name, "f", "", "sigma", RULE.format(name, ", condition: {gte: 2}"), None, [EVENT], "matches", []),
            "failed",
            [ALERT],
        )
        for name in ("event_count", "temporal")
    ]
    left: list[tuple[str, int]] = []

    def fit(inquiry: RuleInquiry) -> frozenset[Choice]:
        left.append((inquiry.results[0].case.id, round(inquiry.choices.watch.seconds_left(), -1)))
        while "event_count" in left[-1]:
            inquiry.choices.watch.check()
        return frozenset()

    monkeypatch.setattr(RuleInquiry, "_fit", fit)
    monkeypatch.setattr(RuleInquiry, "_asks_about_rivals", lambda self: False)
    peeler = Peeler(lambda case, *_: results[0], watch=Watch(1000, clock=count().__next__))
    defects_of_rules(peeler, results, progress_of)
    assert left == [("event_count", 500), ("temporal", 500), ("event_count", 490)]


@pytest.mark.thorough
def test_a_cause_is_asked_about_until_nothing_else_gives_the_answers(tmp_path: Path) -> None:
    """Without the test logs for converters the answers to one log fit several choices."""
    text = LOW.replace("HOST", "Host: a").replace("FILTERS", "filter")
    (tmp_path / "0.yml").write_text(text)
    case = next(case for case in cases_of_rules(tmp_path / "0.yml")[0] if "window=unlimited" in case.clause)
    engine = {"window": "unlimited", "null_groups": "joined", "groups": "folded"}  # not groups=ignored
    ask = lambda case, *_: recorded_by("sigma", engine, case)  # noqa: E731
    found, asked = defects_of_rules(Peeler(ask), [ask(case)], progress_of)
    assert {(d.causes[0].axis, d.causes[0].value): d.causes[0].alike for d in found} == dict.fromkeys(
        engine.items(), ()
    )
    assert 0 < len(asked) <= MOST_ASKED
    assert all(result.case.clause == ASKED for result in asked)


@pytest.mark.thorough
def test_a_choice_that_another_rule_decides_is_one_cause(tmp_path: Path) -> None:
    """Texts without a wildcard do not tell `exact` from `wildcards`: there were two causes."""
    plain = RULE.format("event_count", ", group-by: [Host], condition: {gte: 2}")
    wild = plain.replace("Kind: a", "Kind: 'a*'").replace("Kind: b", "Role: b")
    assert wild != plain
    (defect,), _, _ = rule_defects({"case": "wildcards"}, "positions", plain, wild, folder=tmp_path)
    assert (defect.likeliest, defect.causes[0].alike) == (("case", "wildcards"), ())
    assert {id_.partition(":")[0] for id_ in defect.cases} == {"0.yml", "1.yml"}


@pytest.mark.thorough
def test_errors_and_answers_that_did_not_come_are_apart_from_wrong_ones(tmp_path: Path) -> None:
    text = LOW.replace("HOST", "Host: a").replace("FILTERS", "filter")
    slow = RULE.format("event_count", ", group-by: [Host], condition: {gte: 2}")

    def ask(case: Case) -> CaseResult:
        late = CaseResult(case, "timeout", detail="no answer within 1 s")
        return recorded_by("sigma", {"window": "unlimited"}, case) if "value_avg" in case.query else late

    found, results, _ = rule_defects({}, "positions", text, slow, folder=tmp_path, ask=ask)
    assert {(d.kind, d.likeliest) for d in found} >= {("timeout", None)}
    assert all(d.likeliest == ("window", "unlimited") for d in found if d.kind != "timeout")
    assert len(results) > len({id_ for d in found if d.kind == "timeout" for id_ in d.cases})
