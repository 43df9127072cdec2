"""Predict the answers of an engine whose semantics is described by choices on independent axes.

An axis is an aspect of meaning on which engines differ; its values are the possible meanings. `AXES` has for each
language its axes by name. A hypothesis maps some axes to values; the others have their default. `answer` interprets a
query as an engine with these choices would. With the default of every axis it returns the matches of the reference
evaluator; a property test compares the two. They share the syntax, the events and the helpers of single clauses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Literal, TypeAlias

from cerify.conformance.model import AnswerOutput, evaluated_output, of_output
from cerify.hypotheses.interpretation import (
    BACKTRACKING,
    BETWEEN_STEPS,
    BUDGET,
    EVENT_ORDER,
    REPORTING,
    Axis,
    Choices,
    EngineError,
    EngineQuestion,
    Interpretation,
    Stage,
    choices_of,
    concerned,
    moves_events,
)
from cerify.languages import LANGUAGES
from cerify.protocol import Failed, MatchesAnswer
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Stream

INTERPRETATIONS: Mapping[str, Interpretation] = {
    name: language.hypotheses() for name, language in LANGUAGES.items() if language.hypotheses is not None
}
"""For each language with hypotheses, its axes and its interpreter."""
STAGES: Mapping[str, Sequence[Stage]] = {name: one.stages for name, one in INTERPRETATIONS.items() if one.stages}
"""For each language, the stages of questions that identify an engine."""
AXES: Mapping[str, Mapping[str, Axis]] = {name: one.axes for name, one in INTERPRETATIONS.items()}
"""For each language, a mapping from the names of its axes to the axes."""

FOUND = (*BACKTRACKING, BETWEEN_STEPS)
"""Values of the axes about reporting that also change which matches the interpreter finds."""

__all__ = ["AXES", "INTERPRETATIONS", "STAGES", "Axis", "Choices", "answer", "concerned", "interpretation_of"]


def interpretation_of(language: str) -> Interpretation:
    """Return the axes of a language and its interpreter. Raises Unsupported for a language without hypotheses."""
    if language not in INTERPRETATIONS:
        raise Unsupported(f"there are no hypotheses about the meaning of {language}")
    return INTERPRETATIONS[language]


def answer(
    language: str,
    query: str,
    events: Stream,
    hypothesis: Mapping[str, str],
    output: AnswerOutput = "matches",
    budget: Budget = BUDGET,
) -> MatchesAnswer | Failed:
    """Return the answer of an engine with these choices to a query. Axes without a choice have their default.

    The answer is Failed if such an engine reports an error. Raises ParseError and IllFormed for the query, InputError
    for an axis or value that does not exist, Unsupported if a choice has no prediction for the query, and
    BudgetExceeded.
    """
    interpretation = interpretation_of(language)
    choices = choices_of(hypothesis, interpretation.axes)
    try:
        found = interpretation.matches(
            LANGUAGES[language].syntax.parse(query), events, choices, evaluated_output(output), budget
        )
    except EngineError as error:
        return Failed("internal", str(error))
    return MatchesAnswer(of_output(found, language, output))


# ---------------------------------------------------------------------------------------------------------------------
# The matches of an engine with given choices, computed once for all choices that agree on the axes of the query.

Unanswered = Literal["error", "unmodelled"]
"""error: an engine with these choices reports an error; unmodelled: its answer cannot be predicted."""

Chosen: TypeAlias = tuple[str, ...] | str
"""The values of the axes that can affect a query, as a tuple; if there is only one axis, its value as a string."""


@dataclass(frozen=True)
class Parsed:
    """A parsed query, the axes that can affect its matches, and the values of these axes."""

    phi: Any
    bearing: list[Axis]
    values: Callable[[Choices], Chosen]


class MatchPredictor:
    """Predicts the matches that engines with given choices report, for queries of one language."""

    def __init__(self, language: str) -> None:
        self.language = LANGUAGES[language]
        self.interpretation = interpretation_of(language)
        self.default = choices_of({}, self.interpretation.axes)
        self._parsed: dict[str, Parsed] = {}
        self._found: dict[tuple[Any, ...], list[Match] | Unanswered] = {}
        self._matches: dict[tuple[Any, ...], frozenset[Match] | Unanswered] = {}

    def axes_of(self, query: str) -> list[Axis]:
        """Return the axes that can affect the matches of a query."""
        return self._parse(query).bearing

    def choose_values(self, query: str, choices: Choices) -> Chosen:
        """Return the values of the axes that can affect a query. They determine the engine's answer."""
        return self._parse(query).values(choices)

    def classes(self, query: str, hypotheses: Iterable[Choices]) -> list[tuple[Choices, int]]:
        """Group hypotheses by the values that matter for a query; return one hypothesis of each group, and the group's
        size.
        """
        found: dict[Chosen, list[Choices]] = {}
        for hypothesis in hypotheses:
            found.setdefault(self.choose_values(query, hypothesis), []).append(hypothesis)
        return [(some[0], len(some)) for some in found.values()]

    def matches(
        self, query: str, S: Stream, name: str, choices: Choices, output: AnswerOutput = "matches"
    ) -> frozenset[Match] | Unanswered:
        """Return the matches over a stream that an engine with these choices reports.

        name: a key for the stream, under which answers are cached. Raises ParseError, IllFormed.
        """
        parsed = self._parse(query)
        key = query, name, output, parsed.values(choices)
        if key not in self._matches:
            # Axes without effect on the query get their default, so that the answer depends on the key alone.
            given = dict(self.default) | {axis.name: choices[axis.name] for axis in parsed.bearing}
            self._matches[key] = self._reported(parsed, query, S, name, given, output)
        return self._matches[key]

    def _reported(
        self, parsed: Parsed, query: str, S: Stream, name: str, choices: Mapping[str, str], output: AnswerOutput
    ) -> frozenset[Match] | Unanswered:
        """Return only the matches that the engine reports, according to the axes about reporting."""
        try:
            parts = self.interpretation.parts(parsed.phi, choices)
        except BudgetExceeded:
            return "unmodelled"
        matches: set[Match] = set()
        for number, part in enumerate(parts):
            phi, shown = self.interpretation.unhidden(part, choices)
            wanted: AnswerOutput = output if shown is None else "valuations"
            key = f"{query} #{number} of {len(parts)}"
            found = self._all(phi, parsed.bearing, key, S, name, choices, wanted)
            if isinstance(found, str):
                return found
            some = self.interpretation.reported(found, phi, shown, S, choices, output)
            matches.update(of_output(some, self.language.name, output))
        return frozenset(matches)

    def _all(
        self,
        phi: Any,
        bearing: Iterable[Axis],
        query: str,
        S: Stream,
        name: str,
        choices: Mapping[str, str],
        output: AnswerOutput,
    ) -> list[Match] | Unanswered:
        """Return all matches of a query, reported or not.

        They are cached, because they are the same for all choices about reporting.
        """
        with suppress(Unsupported):
            # On a stream that is already in this order the axis has no effect, and the answer can be shared.
            if not moves_events(S, choices.get(EVENT_ORDER.name, EVENT_ORDER.default)):
                choices = {**choices, EVENT_ORDER.name: EVENT_ORDER.default} if EVENT_ORDER.name in choices else choices
        # Values about reporting filter what was found, so they are left out of the key, except those that change the
        # search.
        finds = [axis.name for axis in bearing if axis.name not in REPORTING or choices[axis.name] in FOUND]
        key = query, name, output, *((name, choices[name]) for name in finds)
        if key not in self._found:
            try:
                wanted = evaluated_output(output)
                self._found[key] = list(self.interpretation.found_in_order(phi, S, choices, wanted, BUDGET))
            except EngineError:
                self._found[key] = "error"
            except (Unsupported, BudgetExceeded):
                self._found[key] = "unmodelled"
        return self._found[key]

    def _parse(self, query: str) -> Parsed:
        if query not in self._parsed:
            phi = self.language.syntax.parse(query)
            self.interpretation.require(phi)
            bearing = concerned(self.interpretation.axes, self.interpretation.operators(phi))
            names = [axis.name for axis in bearing]
            values: Callable[[Choices], Chosen] = itemgetter(*names) if names else lambda choices: ()
            self._parsed[query] = Parsed(phi, bearing, values)
        return self._parsed[query]


# ---------------------------------------------------------------------------------------------------------------------
# The answers of an engine with given choices to questions, reduced to what a profile compares.

EngineAnswer: TypeAlias = (
    frozenset[tuple[int, tuple[int, ...]]] | frozenset[Match] | Literal["error", "unmodelled", "no answer"]
)
"""The matches of an answer, whole or as (position, events); if there are none to compare, a word that says why."""


class Predictor(MatchPredictor):
    """Predicts how engines with given choices answer questions."""

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self._answers: dict[tuple[object, ...], EngineAnswer] = {}

    def compare_rows(self) -> None:
        """Compare matches only by position and events, for an engine that shows neither labels nor measures."""
        self.interpretation = replace(self.interpretation, compared="matches")

    def answer(self, question: EngineQuestion, choices: Choices) -> EngineAnswer:
        """Return the answer that an engine with these choices gives to a question."""
        key = question.query, question.key, self.choose_values(question.query, choices)
        if key not in self._answers:
            found = self.matches(question.query, question.S, question.key, choices, self.interpretation.compared)
            self._answers[key] = found if isinstance(found, str) else self.compared_part(found)
        return self._answers[key]

    def exceeds(self, question: EngineQuestion, choices: Choices, others: Choices) -> bool:
        """Return whether an engine with these choices has a match that an engine with the other choices lacks."""
        mine, other = self.answer(question, choices), self.answer(question, others)
        return not isinstance(mine, str) and not isinstance(other, str) and bool(mine - other)

    def compared_part(self, matches: Iterable[Match]) -> EngineAnswer:
        """Return the matches reduced to what a profile compares: without bindings or results if these do not count."""
        if self.interpretation.compared == "matches":
            return frozenset((m.at, m.events) for m in matches)
        return frozenset(matches)
