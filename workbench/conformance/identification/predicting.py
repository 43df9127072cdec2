"""What an engine at a point of the axes answers to a question, as far as a profile looks at answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from cerify.conformance.hypotheses.axis import Choices
from cerify.conformance.hypotheses.predicting import MatchPredictor
from cerify.conformance.identification.questions import Question
from cerify.semantics.events import Match

EngineAnswer: TypeAlias = (
    frozenset[tuple[int, tuple[int, ...]]] | frozenset[Match] | Literal["error", "unmodelled", "no answer"]
)
"""The matches of an answer by position and events, or wholly; a word where there are none."""


class Predictor(MatchPredictor):
    """The answers of all hypotheses about one language to questions."""

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self._answers: dict[tuple[object, ...], EngineAnswer] = {}

    def answer(self, question: Question, choices: Choices) -> EngineAnswer:
        """The answer of an engine with these choices."""
        key = question.query, question.key, self.chosen(question.query, choices)
        if key not in self._answers:
            found = self.matches(question.query, question.S, question.key, choices, self.interpretation.compared)
            self._answers[key] = found if isinstance(found, str) else self.compared_part(found)
        return self._answers[key]

    def compared_part(self, matches: Iterable[Match]) -> EngineAnswer:
        """What a profile compares of the matches of an answer."""
        if self.interpretation.compared == "valuations":
            return frozenset(matches)
        return frozenset((m.at, m.events) for m in matches)
