"""What a mutant of SASE+ is, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cerify.automata.evaluator import Output
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Match, Stream
from cerify.semantics.sase import interpreter
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.denote import bindings
from proofs_tests.tools.mutants.mutant import Mutant

BUDGET = Budget(valuations=20_000, matches=2_000)
Answers: TypeAlias = Callable[[sase.Tree, Stream], "list[Match] | None"]


@dataclass(frozen=True)
class SaseMutant(Mutant):
    """answers: the matches of that engine, None where it is no other engine on that query."""

    answers: Answers

    def matches(self, query: sase.Tree, S: Stream, output: Output = "valuations") -> frozenset[Match] | None:
        """The matches, with bindings and results; None where they take too long."""
        try:
            found = self.answers(query, S)
        except CerifyError:
            return None
        return None if found is None else frozenset(found)


def wrong(feature: str, ways: Mapping[str, Answers]) -> tuple[SaseMutant, ...]:
    """The mutants that get a feature wrong, each by the way in which it does."""
    return tuple(SaseMutant(f"{feature}: {way}", found) for way, found in ways.items())


MEANING = SaseMutant("none", lambda q, S: interpreter.matches_of(q, S, bindings, budget=BUDGET))
