"""A second opinion on a query and a stream: the matches by the plain definition, which skips no clause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cerify.automata.evaluator import Output
from cerify.languages import LANGUAGES
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Stream

CLAUSES = Budget(valuations=50_000)
"""How many clauses are followed, which bounds the time: without a memory a query over a long stream has too many."""


def second_opinion(
    language: str, query: Any, S: Stream, output: Output, budget: Budget = CLAUSES
) -> frozenset[Match] | None:
    """The matches of a parsed query by the plain definition; None if the language has none, or the budget ends."""
    if language not in LANGUAGES:
        return None
    try:
        return frozenset(LANGUAGES[language].plain_matches(query, S, output, budget))
    except (BudgetExceeded, Unsupported, RecursionError):
        return None


@dataclass(frozen=True)
class SecondOpinionIn:
    """`second_opinion` in one language, as campaigns take it."""

    language: str

    def __call__(self, query: Any, S: Stream, output: Output) -> frozenset[Match] | None:
        return second_opinion(self.language, query, S, output)
