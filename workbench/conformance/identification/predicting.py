"""What an engine at a point of the axes answers to a question, computed once for all points that agree on the query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from cerify.conformance.hypotheses import interpretation_of
from cerify.conformance.hypotheses.axis import Axis, Choices, EngineError, choices_of, concerned
from cerify.conformance.hypotheses.interpretation import BUDGET
from cerify.conformance.hypotheses.reporting import REPORTING, reported
from cerify.conformance.identification.questions import Question
from cerify.languages import LANGUAGES
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match

Told: TypeAlias = frozenset[tuple[int, tuple[int, ...]]] | Literal["error", "unmodelled", "no answer"]
"""The matches of an answer by position and events; a word where there are none."""


class Predictor:
    """The answers of all hypotheses about one language."""

    def __init__(self, language: str) -> None:
        self.language = LANGUAGES[language]
        self.interpretation = interpretation_of(language)
        self.default = choices_of({}, self.interpretation.axes)
        self._parsed: dict[str, tuple[Any, list[Axis]]] = {}
        self._matches: dict[tuple[Any, ...], list[Match] | Literal["error", "unmodelled"]] = {}
        self._answers: dict[tuple[Any, ...], Told] = {}

    def axes_of(self, query: str) -> list[Axis]:
        """The axes that bear on a query."""
        return self._read(query)[1]

    def answer(self, question: Question, choices: Choices) -> Told:
        """The answer of an engine with these choices."""
        phi, bearing = self._read(question.query)
        key = (question.query, question.key, *(choices[axis.name] for axis in bearing))
        if key not in self._answers:
            given = dict(self.default) | {axis.name: choices[axis.name] for axis in bearing}
            self._answers[key] = self._computed(phi, question, given)
        return self._answers[key]

    def _computed(self, phi: Any, question: Question, choices: Mapping[str, str]) -> Told:
        found = self._found(phi, question, choices)
        if isinstance(found, str):
            return found
        windowed = self.interpretation.has_window(phi)
        return frozenset((m.at, m.events) for m in reported(found, question.S, choices, windowed=windowed))

    def _found(
        self, phi: Any, question: Question, choices: Mapping[str, str]
    ) -> list[Match] | Literal["error", "unmodelled"]:
        """The matches before it is decided which are reported, computed once for all such decisions."""
        key = (question.query, question.key, *(value for name, value in choices.items() if name not in REPORTING))
        if key not in self._matches:
            try:
                self._matches[key] = list(self.interpretation.found(phi, question.S, choices, "matches", BUDGET))
            except EngineError:
                self._matches[key] = "error"
            except (Unsupported, BudgetExceeded):
                self._matches[key] = "unmodelled"
        return self._matches[key]

    def _read(self, query: str) -> tuple[Any, list[Axis]]:
        if query not in self._parsed:
            phi = self.language.parse(query)
            self._parsed[query] = phi, concerned(self.interpretation.axes, self.interpretation.operators(phi))
        return self._parsed[query]
