"""What an engine may mean by a query, as a point in independent axes, and the answer of an engine at that point.

`AXES` has for each language its axes by name; a hypothesis maps some of them to values, and the others have their
default. `answer` interprets a query as an engine with these choices would. At the default of every axis it gives the
matches of the definition, with which it shares the syntax, the events and the helpers of one clause, and a property
test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from cerify.automata.evaluator import Output
from cerify.conformance.hypotheses.axis import Axis, Choices, EngineError, choices_of, concerned
from cerify.conformance.hypotheses.interpretation import BUDGET, Interpretation
from cerify.conformance.model import of_output
from cerify.languages import BUILT_IN, LANGUAGES
from cerify.protocol import Failed, Matches
from cerify.semantics.budget import Budget
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Stream

INTERPRETATIONS: Mapping[str, Interpretation] = {
    name: import_module(f"{__name__}.{module}").INTERPRETATION for name, module in BUILT_IN.items()
}
AXES: Mapping[str, Mapping[str, Axis]] = {name: one.axes for name, one in INTERPRETATIONS.items()}
"""For each language its axes by name."""

__all__ = ["AXES", "INTERPRETATIONS", "Axis", "Choices", "answer", "concerned", "interpretation_of"]


def interpretation_of(language: str) -> Interpretation:
    """The axes of a language and its interpreter. Raises Unsupported for a language without hypotheses."""
    if language not in INTERPRETATIONS:
        raise Unsupported(f"there are no hypotheses about the meaning of {language}")
    return INTERPRETATIONS[language]


def answer(
    language: str,
    query: str,
    events: Stream,
    hypothesis: Mapping[str, str],
    output: Output = "matches",
    budget: Budget = BUDGET,
) -> Matches | Failed:
    """The answer to a query that an engine with these choices would give; axes that are not named have their default.

    Failed where such an engine reports an error. Raises ParseError and IllFormed for the query, InputError for an axis
    or value that does not exist, Unsupported where a choice is not modelled for the query, and BudgetExceeded.
    """
    interpretation = interpretation_of(language)
    choices = choices_of(hypothesis, interpretation.axes)
    try:
        found = interpretation.matches(LANGUAGES[language].parse(query), events, choices, output, budget)
    except EngineError as error:
        return Failed("internal", str(error))
    return Matches(of_output(found, language, output))
