"""Parts of a run of conformance, each by itself: names, causes, claims, elements, engines, the rows of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from random import Random
from typing import Any
from xml.sax.saxutils import unescape

import pytest

from cerify.conformance import engines
from cerify.conformance.campaigns import ClaimedMaker
from cerify.conformance.cases import Claims, learnt, load
from cerify.conformance.choices import Choices
from cerify.conformance.harness import Engine
from cerify.conformance.identification import schema_for
from cerify.conformance.model import Case, CaseResult, Defect, Report, of_output
from cerify.conformance.oracle import AxisFinding, merged
from cerify.conformance.peeling import canonical, without
from cerify.conformance.prediction import AXES, answer
from cerify.conformance.report import EXPLANATION, junit, rows_of
from cerify.hypotheses.cel import within
from cerify.hypotheses.interpretation import CONDITIONS, ConditionVariant, Template, events, questions
from cerify.languages import BUILT_IN, LANGUAGES, WITHOUT_SUITE
from cerify.protocol import MatchesAnswer
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.values import Value
from proofs_tests.support import stream

CEL = LANGUAGES["cel"]
CASE = Case("c1", "seq", "", "cel", "A ; B", None, [{"type": "A"}, {"type": "B"}], "matches", [Match(1, (0, 1))])


def shown(pairs: Any) -> list[str]:
    return [CEL.show(query) for query, _ in pairs]


def test_names_become_canonical_in_the_query_and_in_the_stream() -> None:
    query, S = canonical(CEL, CEL.parse("Foo ; (Bar IN v)"), stream("Bar Foo"))
    assert CEL.show(query) == "A ; B IN X"
    assert [event.type for event in S] == ["B", "A"]


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
        return CEL.parse("A OR B" if len(sizes) < 3 else "A ; B"), stream("A")

    maker = ClaimedMaker(CEL, make, Claims(operators=frozenset({"seq"})), CEL.generator().stream, tries=4)
    query, _ = maker(Random(1), None, 8, 5)
    assert CEL.show(query) == "A ; B"
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
    assert {"A", "B"} <= set(shown(without(CEL, CEL.parse("A OR B"), stream("A B"), "or")))


def test_a_thorough_search_looks_further() -> None:
    query, S = CEL.parse("(A OR B) ; C"), stream("A B C")
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
    """Without a value it is a number, if the query takes one."""
    text = {"string": "'a'", "bool": "true"}.get(kind, "1")
    question = next(questions(Template(f"A FILTER A[x = {text}]", events("A", x=(value,)), 1)))
    assert schema_for("cel", question) == {name: {"x": kind} for name in "ABC"}


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


def test_the_trees_of_each_language_have_a_schema() -> None:
    """Of each language that engines are asked in."""
    asked = {name for name in LANGUAGES if name not in WITHOUT_SUITE}
    assert set(BUILT_IN) == asked == set(AXES) == {case.language for case in load(None)}
