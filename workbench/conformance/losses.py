"""Which queries an engine does not come back from, so that a run does not spend all its restarts on them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import TypeAlias

from cerify.conformance.hypotheses import INTERPRETATIONS
from cerify.conformance.model import Case
from cerify.conformance.process import Cause
from cerify.languages import LANGUAGES

HANGS = 2  # queries with the same operators that may pass the time limit in a run that skips
LOST = 3  # queries with an operator, or with two, that the engine may be lost on as long as it answers none with these

Part: TypeAlias = tuple[str, ...]
"""The name of an operator, or of two."""


@dataclass
class Losses:
    """The queries that engines of one command answered, and the operators of those from which they did not come back.

    skips: whether a query is not asked where the engine passed the time limit on two with the same operators, or never
    came back from queries with one of its operators, or two. False where cases are shrunk or drawn, since another case
    with the operators may be answered.
    """

    skips: bool = False
    hung: Counter[str] = field(default_factory=Counter)
    lost: dict[Part, list[str]] = field(default_factory=dict)
    answered: set[Part] = field(default_factory=set)
    unread: set[tuple[str, str]] = field(default_factory=set)

    def answer(self, case: Case) -> None:
        """Record that the engine came back from a case; its query is not read before something is lost."""
        self.unread.add((case.language, case.query))

    def lose(self, case: Case, cause: Cause, detail: str) -> None:
        """Record that the engine had to be ended on a case, and why."""
        self.hung[operators_of(case)] += cause == "timeout"
        for part in parts(case.language, case.query):
            self.lost.setdefault(part, []).append(detail)

    def why_not(self, case: Case) -> str | None:
        """Why a case is not worth a restart; None if it is to be asked."""
        if not (self.skips and self.lost):
            return None
        if self.hung[names := operators_of(case)] >= HANGS:
            return f"not asked, as {HANGS} queries with {names or 'no operators'} passed the time limit"
        while self.unread:
            language, query = self.unread.pop()
            self.answered.update(parts(language, query))
        for part in parts(case.language, case.query):
            lost = self.lost.get(part, [])
            if len(lost) >= LOST and part not in self.answered:
                return f"not asked, as {len(lost)} queries with {' and '.join(part)} had no answer: {lost[-1]}"
        return None


@lru_cache(maxsize=10_000)
def parts(language: str, text: str) -> tuple[Part, ...]:
    """The operators of a query, and every two of them; a window with what it measures."""
    query = LANGUAGES[language].parse(text)
    names = set(LANGUAGES[language].constructs(query))
    if language in INTERPRETATIONS:
        names |= INTERPRETATIONS[language].operators(query)
    exact = sorted(name for name in names if not any(other.startswith(f"{name}-") for other in names))
    return (*((name,) for name in exact), *combinations(exact, 2))


def operators_of(case: Case) -> str:
    """The names of the operators of a case's query, as text."""
    language = LANGUAGES[case.language]
    return ", ".join(sorted(language.constructs(language.parse(case.query))))
