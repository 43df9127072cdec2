"""What a mutant is: a wrong semantics by name, and its matches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cerify.automata.evaluator import Output
from cerify.semantics.events import Match, Stream


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
