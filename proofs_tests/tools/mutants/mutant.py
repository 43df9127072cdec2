"""What a mutant is: a wrong semantics by name, and its matches.

Where the hypotheses about engines (cerify.hypotheses) have the wrong meaning, it is drawn from them. The modules beside
this one have the others: mistakes that no engine is known to make.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from cerify.automata.evaluator import Output
from cerify.hypotheses.interpretation import EngineError, Interpretation, choices_of, read_hypothesis
from cerify.languages import language_named
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Stream

BUDGET = Budget(valuations=100_000, matches=20_000)


@dataclass(frozen=True)
class Mutant(ABC):
    """One way to be wrong about a language. Its name is a feature of the suite, a colon, and what it gets wrong."""

    name: str

    @abstractmethod
    def matches(self, query: Any, S: Stream, output: Output = "matches") -> frozenset[Match] | None:
        """The matches of a parsed query by this semantics; None where they take too long or there are none to tell.

        A match may be reported at a position behind the end of S.
        """

    def concerns(self, query: Any, S: Stream) -> bool:
        """Whether this semantics could differ from the meaning on this query and stream."""
        return True


def killed_by(
    query: Any, S: Stream, meaning: Mutant, mutants: Iterable[Mutant], output: Output = "matches"
) -> frozenset[str]:
    """The names of the mutants whose matches are not those of the meaning; one without an answer is not killed."""
    right = meaning.matches(query, S, output)
    concerned = (mutant for mutant in mutants if mutant.concerns(query, S))
    found = ((mutant.name, mutant.matches(query, S, output)) for mutant in concerned)
    return frozenset(name for name, wrong in found if wrong is not None and wrong != right)


@dataclass(frozen=True)
class DrawnMutant(Mutant):
    """A wrong meaning that the hypotheses about engines have: a value of an axis of the language, as "axis=value"."""

    language: str
    value: str

    @property
    def interpretation(self) -> Interpretation:
        """The hypotheses of the language."""
        hypotheses = language_named(self.language).hypotheses
        assert hypotheses is not None
        return hypotheses()

    def matches(self, query: Any, S: Stream, output: Output = "matches") -> frozenset[Match] | None:
        """The matches under the hypothesis."""
        axes = self.interpretation.axes
        choices = choices_of(read_hypothesis([self.value], axes), axes)
        try:
            return self.interpretation.matches(query, S, choices, output, BUDGET)
        except (BudgetExceeded, EngineError, Unsupported):
            return None

    def concerns(self, query: Any, S: Stream) -> bool:
        """Whether the axis bears on an operator of the query."""
        axis = self.interpretation.axes[self.value.partition("=")[0]]
        return not axis.operators or not self.interpretation.operators(query).isdisjoint(axis.operators)


def drawn(language: str) -> Callable[[str, str], DrawnMutant]:
    """Return the maker of mutants of a language from their names and the values of axes."""
    return lambda name, value: DrawnMutant(name, language, value)
