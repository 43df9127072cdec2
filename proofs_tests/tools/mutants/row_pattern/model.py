"""What a mutant of MATCH_RECOGNIZE is, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from cerify.automata.evaluator import Output
from cerify.hypotheses.row_pattern import Departure, as_it_is
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, CerifyError
from cerify.semantics.events import Match, Stream
from cerify.semantics.row_pattern.check import require_wellformed
from cerify.semantics.row_pattern.syntax import MatchRecognize, features
from proofs_tests.tools.mutants.mutant import Mutant

BUDGET = Budget(valuations=4_000)
ERROR = frozenset({Match(-1, ())})
"""The answer of an engine that stops with an error."""

known_features = lru_cache(maxsize=2_000)(features)


@dataclass(frozen=True)
class RowMutant(Mutant):
    """departure: what that engine does otherwise. bears: it is the same on queries with none of these, if there are."""

    departure: Departure
    bears: frozenset[str] = frozenset()

    def matches(self, query: MatchRecognize, S: Stream, output: Output = "valuations") -> frozenset[Match] | None:
        """The matches, with bindings and results; None where they take too long."""
        try:
            require_wellformed(query, self.departure.reading)
            return frozenset(self.departure.list_matches(query, S, BUDGET))
        except BudgetExceeded:
            return None
        except (CerifyError, KeyError):  # the pattern may have lost a variable that an expression names
            return ERROR

    def concerns(self, query: MatchRecognize, S: Stream) -> bool:
        return (not self.bears or not self.bears.isdisjoint(known_features(query))) and not self.reads_alike(query)

    @lru_cache(maxsize=5_000)  # noqa: B019  # mutants live as long as the process
    def reads_alike(self, query: MatchRecognize) -> bool:
        """Whether that engine does nothing otherwise than to read a clause, and reads this one as it is."""
        return replace(self.departure, clause=as_it_is) == Departure() and self.departure.clause(query) == query


def wrong(feature: str, bears: str, ways: Mapping[str, Departure]) -> tuple[RowMutant, ...]:
    """The mutants that get a feature wrong, each by the way in which it does; bears: names of operators."""
    names = frozenset(filter(None, bears.split(", ")))
    return tuple(RowMutant(f"{feature}: {way}", departure, names) for way, departure in ways.items())


MEANING = RowMutant("none", Departure())
