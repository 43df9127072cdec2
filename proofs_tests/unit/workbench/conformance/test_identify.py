"""Engines composed of hypotheses are identified, axis by axis, within 500 questions."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema_rs import Draft202012Validator

from cerify import protocol
from cerify.cli import cerify
from cerify.conformance.identification import MOST, Answered, Identification, identified
from cerify.conformance.oracle import AxisFinding, EngineProfile
from cerify.conformance.prediction import EngineAnswer
from cerify.hypotheses import STAGES
from cerify.hypotheses.interpretation import EngineQuestion
from proofs_tests.conftest import Run
from proofs_tests.support import sampled
from proofs_tests.unit.workbench.conformance.random_engines import (
    ENGINES,
    composed,
    departures,
    identification,
    predictor,
    problems,
    problems_with_one,
)

SCHEMAS = Path(protocol.__file__).parent / "schemas"
ENGINE = (sys.executable, "-m", "cerify.cli", "engine")


@pytest.mark.parametrize("seed", sampled(range(0, ENGINES, 4), (0,)))
def test_an_engine_composed_at_random_is_identified_on_every_axis(seed: int) -> None:
    """All forty, which are composed of the axes of each language: python -m proofs_tests.campaigns.identify."""
    asked, wrong = problems(*composed(seed))
    assert not wrong
    assert asked <= MOST


@pytest.mark.parametrize("language", sampled(STAGES, ("core-cel",)))
def test_the_definition_is_identified_without_doubt(language: str) -> None:
    found, asked = identification(language, predictor(language).default)
    assert asked <= MOST
    for name, finding in found.items():
        axis = predictor(language).interpretation.axes[name]
        assert (finding.value, finding.explained) == (axis.default, finding.answers), name
    assert len(found) >= 0.8 * len(predictor(language).interpretation.axes)


@pytest.mark.thorough
@pytest.mark.parametrize("language", STAGES)
def test_a_value_of_an_axis_is_identified(language: str) -> None:
    """An engine that departs in one axis alone; every value: python -m proofs_tests.campaigns.identify --values."""
    for name, value in list(departures(language))[3::9]:
        assert not problems_with_one(language, name, value), (name, value)


SIMPLE = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    match = {"at": 0, "events": [0]}
    print(json.dumps({"protocol": 1, "engine": {"name": "simple", "version": "1"}, "languages": ["cel"],
                      "claims": {"cel": {"operators": ["or"], "output": ["matches"]}}}
                     if m["cmd"] == "start" else {"id": m["id"], "matches": MATCHES}), flush=True)
"""


@pytest.fixture
def kept_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What engines would answer is computed once for all tests."""
    monkeypatch.setattr("cerify.conformance.identification.Predictor", predictor)


@pytest.mark.thorough
@pytest.mark.usefixtures("kept_answers")
def test_answers_without_any_match_are_no_choice() -> None:
    """A value fits some axes all the same, such as one that loses the matches of all streams of a question."""
    profile = identified([sys.executable, "-c", SIMPLE.replace("MATCHES", "[]")])
    assert profile.axes
    assert all(finding.value is None for finding in profile.axes.values())
    assert any("no match in any of its answers" in remark for remark in profile.remarks)
    Draft202012Validator(json.loads((SCHEMAS / "profile.json").read_text(encoding="utf-8"))).validate(profile.as_json())


@pytest.mark.thorough
@pytest.mark.usefixtures("kept_answers")
def test_answers_that_are_wrong_in_their_form_are_counted() -> None:
    profile = identified([sys.executable, "-c", SIMPLE.replace("MATCHES", "[match, match]")])
    assert re.match(r"\d+ answers are wrong in their form: .* more than once", profile.remarks[0])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("language", "axis", "most"),
    [
        pytest.param("cel", "loop", 7, marks=pytest.mark.thorough),
        pytest.param("cel", "loop@cplus", 4, marks=pytest.mark.thorough),
        pytest.param("core-cel", "loop", 7, marks=pytest.mark.thorough),
        ("event-expression", "relative_plus", 7),
        pytest.param("sase", "loop", 5, marks=pytest.mark.thorough),
    ],
)
def test_an_iteration_with_a_largest_number_of_rounds_is_named(language: str, axis: str, most: int) -> None:
    assert not problems_with_one(language, axis, f"at-most-{most}")


def unexplained(state: Identification, axis: str) -> list[Answered]:
    """The answers about an axis that what is found does not explain."""
    return state.wrong(state.left[0], state.about(axis))


@pytest.mark.thorough
def test_a_choice_that_is_no_hypothesis_fits_none() -> None:
    """The engine is right about one event, and reports the first event of every longer stream."""
    known = predictor("cel")

    def ask(question: EngineQuestion) -> EngineAnswer:
        return known.answer(question, known.default) if len(question.events) < 2 else frozenset({(0, (0,))})

    state = Identification(known, ask)
    found = state.run(STAGES["cel"])
    assert found["seq"].value is None
    assert found["seq"].exception is not None
    assert found["seq"].explained < found["seq"].answers
    state.answered.reverse()  # the longest come first
    shown = state.findings()["seq"].exception
    assert shown is not None
    assert len(shown.events) == min(len(one.question.events) for one in unexplained(state, "seq"))


WRONG = ((" > ", " >= "), (" >= ", " > "), (" < ", " <= "), ("s = ", "s != "))


@pytest.mark.thorough
@pytest.mark.parametrize("wrong", sampled(WRONG, WRONG[:1]))
def test_a_value_that_explains_one_comparator_alone_fits_none(wrong: tuple[str, str]) -> None:
    """An engine with a wrong `>` and a right `<` was said to be inclusive, as no question about `<` was asked."""
    known = predictor("core-cel")

    def ask(question: EngineQuestion) -> EngineAnswer:
        return known.answer(replace(question, query=question.query.replace(*wrong)), known.default)

    found = Identification(known, ask).run(STAGES["core-cel"])
    axis = "strings" if "s" in wrong[0] else "comparison"
    assert {name for name, finding in found.items() if finding.value is None} == {axis}
    assert found[axis].exception is not None


def test_what_the_engine_skips_is_not_in_the_profile() -> None:
    known = predictor("cel")

    def ask(question: EngineQuestion) -> EngineAnswer | None:
        return None if "+" in question.query or "FILTER" in question.query else known.answer(question, known.default)

    state = Identification(known, ask)
    found = state.run(STAGES["cel"])
    assert found.keys().isdisjoint({"loop", "loop@cplus", "filter-loop", "absent", "comparison"})
    assert found["seq"].value == "any"


def test_a_question_that_is_skipped_settles_nothing() -> None:
    known = predictor("cel")
    state = Identification(known, lambda question: None)
    state.left = [known.default, {**known.default, "loop": known.interpretation.axes["loop"].values[1]}]
    state.settle(STAGES["cel"])
    assert not state.answered
    assert state.skipped


@pytest.fixture(scope="module", params=sampled([1, 2], [1]))
def of_odd_loops(request: pytest.FixtureRequest) -> dict[str, AxisFinding]:
    """What is found of an engine whose loops are no hypothesis: the largest matches alone, at the first positions.

    It skips connectives, division, LIKE and ranges.
    """
    known = predictor("cel")

    def ask(question: EngineQuestion) -> EngineAnswer | None:
        if re.search(r"like|/|range| (and|or) |not ", question.query):
            return None
        told = known.answer(question, known.default)
        if isinstance(told, str) or not re.search(r"[^:]\+", question.query):
            return told
        largest = {at: max(len(events) for end, events in told if end == at) for at, _ in told}
        return frozenset((at, events) for at, events in told if at < request.param and len(events) == largest[at])

    return Identification(known, ask).run(STAGES["cel"])


@pytest.mark.thorough
def test_an_axis_for_which_none_fits_does_not_count_against_the_others(of_odd_loops: dict[str, AxisFinding]) -> None:
    """Answers to queries with a loop had been counted for seq, emit and partition, for which none fitted either."""
    assert [name for name, finding in of_odd_loops.items() if finding.value is None] == ["loop"]
    axes = predictor("cel").interpretation.axes
    for name, finding in of_odd_loops.items():
        if name != "loop":
            assert (finding.value, finding.explained) == (axes[name].default, finding.answers), name


@pytest.mark.thorough
def test_an_axis_whose_own_questions_are_all_skipped_is_left_out(of_odd_loops: dict[str, AxisFinding]) -> None:
    """A question about something else that has the operator, but on which the axis does not bear, is none about it."""
    assert of_odd_loops.keys().isdisjoint({"connectives", "integer-division", "like", "range"})
    assert of_odd_loops.keys() >= {"seq", "filter", "comparison", "absent", "filter-loop"}


HYPOTHESIS = "seq=next-from-left,window=open,selection@nxt=last"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("language", "hypothesis"), [("cel", HYPOTHESIS), ("sase", "window=closed"), ("event-expression", "relative=last")]
)
def test_an_engine_behind_the_protocol(language: str, hypothesis: str) -> None:
    profile = identified((*ENGINE, "--language", language, "--hypothesis", hypothesis))
    for text in hypothesis.split(","):
        name, _, value = text.partition("=")
        assert profile.axes[name].value == value
    data = json.loads(json.dumps(profile.as_json()))
    Draft202012Validator(json.loads((SCHEMAS / "profile.json").read_text())).validate(data)
    assert data["questions"] <= MOST


def test_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    known = predictor("core-cel")
    found, asked = identification("core-cel", {**known.default, "comparison": "inclusive"})
    profile = EngineProfile("toy", "1", "core-cel", found, asked)
    monkeypatch.setattr("cerify.commands.conform.identified", lambda *_: profile)
    shown = CliRunner().invoke(cerify, ["identify", "--", "toy"], standalone_mode=False)
    assert "inclusive" in shown.output
    assert "not the definition's exact" in shown.output
    as_json = CliRunner().invoke(cerify, ["identify", "--json", "--", "toy"], standalone_mode=False)
    assert json.loads(as_json.output)["axes"]["comparison"]["value"] == "inclusive"


@pytest.mark.usefixtures("kept_answers")
def test_an_engine_that_answers_nothing_is_not_known(tmp_path: Path, run: Run) -> None:
    engine = tmp_path / "engine.py"
    engine.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        "    if m['cmd'] == 'stop':\n"
        "        break\n"
        "    info = {'protocol': 1, 'engine': {'name': 'e', 'version': '1'}, 'languages': ['core-cel']}\n"
        "    print(json.dumps(info if m['cmd'] == 'start' else {'id': m.get('id'), 'skipped': 'no'}), flush=True)\n"
    )
    status, out, _ = run("identify", "--", sys.executable, str(engine))
    assert status == 1
    assert "Note: the engine answered none of the questions, so nothing is known of what it means." in out
