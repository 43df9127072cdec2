"""A determinized automaton as flat tables, as far as the classes of a stream reach, for the compiled kernels.

Events of the same type (tods21, Definition 5.6) are of the same class; classes are numbered in order of first use.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cerify.automata.cea.io_determinize import Determinized
from cerify.automata.cea.model import UNMARKED, Marks
from cerify.automata.explore import explore
from cerify.semantics.budget import Budget

NOWHERE = -1


@dataclass(frozen=True)
class Tables:
    """A complete description of an I/O-deterministic automaton over some classes of events.

    step: int32 [states, classes, labels], the state reached or -1. Label 0 does not mark, label l marks with labels[l].
    final: bool [states]. State 0 is initial.
    """

    step: NDArray[np.int32]
    final: NDArray[np.bool_]
    labels: tuple[Marks, ...]


def tabulate(
    automaton: Determinized, types: list[int], budget: Budget = Budget(), known: tuple[Marks, ...] = (UNMARKED,)
) -> Tables:
    """The tables over the classes with these types (bit masks); class c has type types[c]. Raises BudgetExceeded.

    The labels known so far keep their numbers, as the states of the automaton do.
    """

    def successors(state: int) -> list[tuple[tuple[int, Marks], int]]:
        return [((c, marks), q) for c, type_ in enumerate(types) for marks, q in automaton.step(state, type_)]

    found = explore([0], successors, budget.states, "the table of the automaton")
    labels = {marks: l for l, marks in enumerate(known)}
    for edges in found.values():
        for (_, marks), _ in edges:
            labels.setdefault(marks, len(labels))
    states = max(found) + 1
    step = np.full((states, len(types), len(labels)), NOWHERE, np.int32)
    for state, edges in found.items():
        for (c, marks), target in edges:
            step[state, c, labels[marks]] = target
    return Tables(step, np.array([automaton.final[q] for q in range(states)]), tuple(labels))
