"""The pool of questions: each axis has a stage, in which each of its values differs from the definition."""

from __future__ import annotations

import pytest

from cerify.conformance.prediction import AXES, Predictor
from cerify.hypotheses import STAGES
from cerify.hypotheses.interpretation import questions
from proofs_tests.support import sampled

NUMBER = {"cel": 9433, "core-cel": 4739, "sase": 8912, "event-expression": 6144, "row-pattern": 3478}
"""The questions of each language."""


@pytest.mark.parametrize("language", STAGES)
def test_every_axis_has_a_stage(language: str) -> None:
    named = {name for stage in STAGES[language] for name in stage.axes}
    assert named == set(AXES[language])


@pytest.mark.parametrize("language", STAGES)
def test_the_number_of_questions(language: str) -> None:
    assert sum(1 for stage in STAGES[language] for t in stage.templates for _ in t.streams()) == NUMBER[language]


@pytest.mark.parametrize("language", sampled(STAGES, ("core-cel",)))
def test_every_value_shows_in_a_question_of_its_stage(language: str) -> None:
    known = Predictor(language)
    unseen = []
    for stage in STAGES[language]:
        pool = [question for template in stage.templates for question in questions(template)]
        for axis in (known.interpretation.axes[name] for name in stage.axes):
            for value in axis.values[1:]:
                other = {**known.default, axis.name: value}
                if all(known.answer(question, other) == known.answer(question, known.default) for question in pool):
                    unseen.append((axis.name, value))
    assert unseen == [("connectives", "and-as-or")] * (language == "sase")  # its conditions have no `and` below `or`


def test_every_value_is_described_but_those_of_readings() -> None:
    for language, axes in AXES.items():
        for axis in axes.values():
            if axis.name != "window-default" and not axis.says.startswith("the reading "):
                assert set(axis.meanings) == set(axis.values), (language, axis.name)
    assert AXES["cel"]["seq@cseq"].meanings["strict"] == AXES["cel"]["seq"].meanings["strict"] == "the next event"
    assert AXES["cel"]["loop"].meanings["at-most-5"] == "at most 5"


def test_tables_with_partitions_have_two() -> None:
    templates = [t for stage in STAGES["row-pattern"] for t in stage.templates if "PARTITION BY p" in t.query]
    assert templates
    for template in templates:
        assert {event.get("p") for event in template.letters} == {0, 1}
