"""What a mutant is, and what it reports over a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from cerify.equivalence.rewrite.trees import same
from cerify.semantics.cel.denote import Meaning, Valuations, clause
from cerify.semantics.cel.syntax import Formula, subformulas
from cerify.semantics.events import Event, Stream, Valuation

Clause: TypeAlias = Callable[[Formula, Stream, int, int, Meaning], Iterable[Valuation] | None]
Reported: TypeAlias = frozenset[tuple[int, Valuation]]
"""What is reported over a whole stream: pairs of a position and a valuation."""


@dataclass(frozen=True)
class Mutant:
    """One way to be wrong: another query is asked, of other events, by another clause, or the answer is changed."""

    name: str
    asked: Callable[[Formula], Formula] = same
    events: Callable[[Event], Event] = same
    kind: type[Formula] | None = None  # the operator whose clause is another
    clause: Clause = lambda phi, S, i, j, meaning: None
    reported: Callable[[Reported], Reported] = same

    @property
    def changes_only_the_answer(self) -> bool:
        """Whether the mutant understands the query and the events, and reports something else."""
        return self.kind is None and self.asked is same and self.events is same

    def concerns(self, phi: Formula, S: Stream) -> bool:
        """Whether the mutant could go wrong here: it changes the query, the events, a clause in use or the answer."""
        if self.kind is not None:
            return any(isinstance(psi, self.kind) for psi in subformulas(phi))
        if self.asked is not same:
            return self.asked(phi) != phi
        if self.events is not same:
            return any(self.events(event) != event for event in S)
        return True


def report(phi: Formula, S: Stream, mutant: Mutant | None = None) -> Reported:
    """What the meaning of a formula reports over a stream, or a mutant of it."""
    mutant = mutant or Mutant("none")
    phi, S = mutant.asked(phi), Stream(map(mutant.events, S), S.schema)
    known: dict[tuple[int, int, int], Valuations] = {}

    def meaning(psi: Formula, i: int, j: int) -> Valuations:
        key = (id(psi), i, j)
        if key not in known:
            mus = mutant.clause(psi, S, i, j, meaning)
            known[key] = frozenset(clause(psi, S, i, j, meaning) if mus is None else mus)
        return known[key]

    return mutant.reported(frozenset((n, mu) for n in range(len(S)) for mu in meaning(phi, 0, n)))
