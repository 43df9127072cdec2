"""Engines composed of hypotheses are identified, axis by axis, within 300 questions."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from cerify import protocol
from cerify.cli import cerify
from cerify.conformance.hypotheses.axis import Choices
from cerify.conformance.identification.engine import identified
from cerify.conformance.identification.identify import MOST, STAGES, Identification
from cerify.conformance.identification.predicting import Predictor, Told
from cerify.conformance.identification.profile import Finding
from cerify.conformance.identification.questions import Question, questions
from proofs_tests.support import sampled

SCHEMAS = Path(protocol.__file__).parent / "schemas"
ENGINE = (sys.executable, "-m", "cerify.cli", "engine")
ENGINES = 40
DEPARTS = 0.2  # the part of the axes in which an engine departs from the definition
LANGUAGE_OF = ("cel", "cel", "core-cel", "event-expression", "sase")


@cache
def predictor(language: str) -> Predictor:
    return Predictor(language)


def composed(language: str, seed: int) -> Choices:
    """An engine composed at random from the axes."""
    rng = Random(seed)
    axes = predictor(language).interpretation.axes.values()
    return {a.name: rng.choice(a.values[1:]) if rng.random() < DEPARTS else a.default for a in axes}


def identification(language: str, engine: Choices) -> tuple[Mapping[str, Finding], int]:
    """The findings about an engine in this process, and the number of questions."""
    known = predictor(language)
    state = Identification(known, lambda question: known.answer(question, engine))
    return state.run(STAGES[language]), len(state.answered)


def differs(language: str, engine: Choices, other: Choices) -> bool:
    """Whether any question of the pool has different answers."""
    known = predictor(language)
    pool = (q for stage in STAGES[language] for template in stage.templates for q in questions(template))
    return any(known.answer(question, engine) != known.answer(question, other) for question in pool)


@pytest.mark.parametrize("seed", sampled(range(ENGINES), (0, 2)))
def test_an_engine_composed_at_random_is_identified_on_every_axis(seed: int) -> None:
    """No question tells the profile from the engine, nor what the profile names as alike in one axis."""
    language = LANGUAGE_OF[seed % len(LANGUAGE_OF)]
    engine = composed(language, seed)
    found, asked = identification(language, engine)
    assert asked <= MOST
    profile = {axis.name: axis.default for axis in predictor(language).interpretation.axes.values()}
    for name, finding in found.items():
        assert finding.value is not None, name
        profile[name] = finding.value
    assert not differs(language, engine, profile)
    for name, finding in found.items():
        for other in finding.alike:
            assert not differs(language, engine, {**profile, name: other}), (name, other)


@pytest.mark.parametrize("language", sampled(STAGES, ("cel", "core-cel")))
def test_the_definition_is_identified_without_doubt(language: str) -> None:
    found, asked = identification(language, predictor(language).default)
    assert asked <= MOST
    for name, finding in found.items():
        axis = predictor(language).interpretation.axes[name]
        assert (finding.value, finding.explained) == (axis.default, finding.answers), name
    assert len(found) >= 0.8 * len(predictor(language).interpretation.axes)


@pytest.mark.parametrize("language", sampled(STAGES, ()))
def test_every_value_of_every_axis_is_identified(language: str) -> None:
    """An engine that departs in one axis alone: no value is the same as the definition."""
    known = predictor(language)
    for axis in known.interpretation.axes.values():
        for value in axis.values[1:]:
            if (axis.name, value) not in UNSEEN:
                found, _ = identification(language, {**known.default, axis.name: value})
                assert found[axis.name].value == value, (axis.name, value)
                others = {name: f.value for name, f in found.items() if name != axis.name and not f.alike}
                assert others == {name: known.default[name] for name in others}


UNSEEN = {("connectives", "and-as-or"), ("connectives", "or-as-and")}
"""Values that no query of SASE+ shows: its conditions have no `and` below `or`."""


def test_a_choice_that_is_no_hypothesis_fits_none() -> None:
    """The engine is right about one event, and reports the first event of every longer stream."""
    known = predictor("cel")

    def ask(question: Question) -> Told:
        return known.answer(question, known.default) if len(question.events) < 2 else frozenset({(0, (0,))})

    state = Identification(known, ask)
    found = state.run(STAGES["cel"])
    assert found["seq"].value is None
    assert found["seq"].exception is not None
    assert found["seq"].explained < found["seq"].answers


def test_what_the_engine_skips_is_not_in_the_profile() -> None:
    known = predictor("cel")

    def ask(question: Question) -> Told | None:
        return None if "+" in question.query or "FILTER" in question.query else known.answer(question, known.default)

    state = Identification(known, ask)
    found = state.run(STAGES["cel"])
    assert found.keys().isdisjoint({"loop", "loop@cplus", "filter-loop", "absent", "comparison"})
    assert found["seq"].value == "any"


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
    known = predictor("event-expression")
    found, asked = identification("event-expression", {**known.default, "relative": "last"})
    from cerify.conformance.identification.profile import Profile

    profile = Profile("toy", "1", "event-expression", found, asked)
    monkeypatch.setattr("cerify.commands.identify.identified", lambda *_: profile)
    shown = CliRunner().invoke(cerify, ["identify", "--", "toy"], standalone_mode=False)
    assert "last" in shown.output
    assert "not the definition's any" in shown.output
    as_json = CliRunner().invoke(cerify, ["identify", "--json", "--", "toy"], standalone_mode=False)
    assert json.loads(as_json.output)["axes"]["relative"]["value"] == "last"
