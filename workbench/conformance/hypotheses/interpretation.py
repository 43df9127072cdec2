"""What the hypotheses about one language consist of: axes, and an interpreter that takes a value for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cerify.automata.evaluator import Output
from cerify.conformance.hypotheses.axis import Axis, Choices
from cerify.conformance.hypotheses.reporting import reported
from cerify.semantics.budget import Budget
from cerify.semantics.events import Match, Stream

BUDGET = Budget(valuations=200_000, matches=20_000, seconds=2.0)
"""The budget of one answer."""

Found = Callable[[Any, Stream, Choices, Output, Budget], Iterable[Match]]
"""The matches of a syntax tree over a stream, before it is decided which of them are reported, and when."""


@dataclass(frozen=True)
class Interpretation:
    """The axes of a language and its interpreter.

    operators gives the names of the operators in a syntax tree. require raises IllFormed for a tree that found does not
    take. compared: whether a profile compares matches by position and events ("matches"), or wholly. strategies: those
    of the operators that are selection strategies.
    """

    axes: Mapping[str, Axis]
    found: Found
    operators: Callable[[Any], frozenset[str]]
    require: Callable[[Any], None] = lambda query: None
    compared: Output = "matches"
    strategies: frozenset[str] = frozenset()

    def matches(
        self, query: Any, S: Stream, choices: Choices, output: Output = "matches", budget: Budget = BUDGET
    ) -> frozenset[Match]:
        """The matches of a syntax tree that are reported.

        Raises EngineError where the engine answers with an error, IllFormed, Unsupported and BudgetExceeded.
        """
        self.require(query)
        found = self.found(query, S, choices, output, budget)
        return frozenset(reported(found, S, choices, windowed=self.has_window(query)))

    def has_window(self, query: Any) -> bool:
        """Whether a syntax tree has a window."""
        return any(name.startswith("within") for name in self.operators(query))
