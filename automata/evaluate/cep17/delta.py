"""The transition relation as a function of states and marks (cep17, appendix C.3).

A CEA of cep17 marks a position or leaves it, and its accepting runs end with a mark. Events are given by their types,
as bit masks: bit i is set if the event is in A.predicates[i].
"""

from __future__ import annotations

from cerify.automata.cea.io_determinize import single_variable
from cerify.automata.cea.model import CEA
from cerify.automata.subsets import Subset, members, subset


class Delta:
    """Delta(q, t, m) and Delta(R, t, m), for m marked or not."""

    def __init__(self, A: CEA) -> None:
        self.A = A = single_variable(A)
        self.initial, self.final = subset(A.initial), subset(A.final)
        bit = {P: 1 << i for i, P in enumerate(A.predicates)}
        self._leaving = [
            {
                marked: [(bit[t.predicate], t.target) for t in leaving if bool(t.marks) == marked]
                for marked in (True, False)
            }
            for leaving in A.leaving
        ]

    def of(self, q: int, type_: int, marked: bool) -> list[int]:
        """The states after a state on an event of the type; each transition with the mark is visited once."""
        return [target for bit, target in self._leaving[q][marked] if type_ & bit]

    def __call__(self, R: Subset, type_: int, marked: bool) -> Subset:
        """Where the states of a set may go."""
        reached = 0
        for q in members(R):
            for target in self.of(q, type_, marked):
                reached |= 1 << target
        return reached
