"""What a mutant of CEL is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from cerify.automata.evaluator import Output
from cerify.equivalence.rewrite.trees import same
from cerify.semantics.cel.denote import Meaning, Valuations, clause, sup
from cerify.semantics.cel.syntax import Formula, subformulas
from cerify.semantics.events import Event, Match, Stream, Valuation, bindings_of
from proofs_tests.tools.mutants.mutant import Mutant

Clause: TypeAlias = Callable[[Formula, Stream, int, int, Meaning], Iterable[Valuation] | None]
Reported: TypeAlias = frozenset[tuple[int, Valuation]]
"""What is reported over a whole stream: pairs of a position and a valuation."""


@dataclass(frozen=True)
class CelMutant(Mutant):
    """Another query is evaluated, over other events, an operator has another clause, or the answer is changed.

    kind: the operator whose clause is another.
    """

    asked: Callable[[Formula], Formula] = same
    events: Callable[[Event], Event] = same
    kind: type[Formula] | None = None
    clause: Clause = lambda phi, S, i, j, meaning: None
    reported: Callable[[Reported], Reported] = same

    def matches(self, query: Formula, S: Stream, output: Output = "matches") -> frozenset[Match]:
        """The matches, with bindings where these are wanted."""
        phi, S = self.asked(query), Stream(map(self.events, S), S.schema)
        known: dict[tuple[int, int, int], Valuations] = {}

        def meaning(psi: Formula, i: int, j: int) -> Valuations:
            key = (id(psi), i, j)
            if key not in known:
                mus = self.clause(psi, S, i, j, meaning)
                known[key] = frozenset(clause(psi, S, i, j, meaning) if mus is None else mus)
            return known[key]

        found = self.reported(frozenset((n, mu) for n in range(len(S)) for mu in meaning(phi, 0, n)))
        with_bindings = output == "valuations"
        return frozenset(
            Match(n, tuple(sorted(sup(mu))), bindings_of(mu) if with_bindings else None) for n, mu in found
        )

    def concerns(self, query: Formula, S: Stream) -> bool:
        """Whether it changes the query, one of the events, the clause of an operator in the query, or the answer."""
        if self.kind is not None:
            return any(isinstance(psi, self.kind) for psi in subformulas(query))
        if self.asked is not same:
            return self.asked(query) != query
        if self.events is not same:
            return any(self.events(event) != event for event in S)
        return True
