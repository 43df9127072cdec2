"""A determinized automaton as flat tables, as far as the classes of a stream reach, for the compiled kernels.

Events of the same type (tods21, Definition 5.6) are of the same class; the order of the classes is the caller's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerify.automata.cea.io_determinize import Determinized
from cerify.automata.cea.model import UNMARKED, Marks
from cerify.automata.explore import explore
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded

NOWHERE = -1
BITS = 64  # of a mask of states; those from 63 on share the last bit


@dataclass(frozen=True)
class Tables:
    """A complete description of an I/O-deterministic automaton over some classes of events.

    step: int32 [states, classes, labels], the state reached or -1. Label 0 does not mark, label l marks with labels[l].
    final: bool [states]; ended: bool [states], whether no event at all leads on from a final one. State 0 is initial.
    """

    step: NDArray[np.int32]
    final: NDArray[np.bool_]
    ended: NDArray[np.bool_]
    labels: tuple[Marks, ...]


@dataclass(frozen=True)
class TransitionTables:
    """The same tables by classes, as the loops that read events need them.

    skip: int32 [classes, states], where a state goes without a mark. marks: int32 [., 3], the steps with one, as rows
    (state, label, next state); those of class c are from begin[c] to begin[c + 1]. finals: the final states; ended:
    bool [states], those in which nothing is left to do once they have been reported.
    moving, busy: uint64 [classes], masks of the other states: those that a skip does not leave where they are; and
    those of which an event of the class makes anything at all, final ones among them.
    """

    skip: NDArray[np.int32]
    begin: NDArray[np.int32]
    marks: NDArray[np.int32]
    finals: NDArray[np.int32]
    ended: NDArray[np.bool_]
    moving: NDArray[np.uint64]
    busy: NDArray[np.uint64]

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All of them, in the order in which the loops take them."""
        return self.skip, self.begin, self.marks, self.finals, self.ended, self.moving, self.busy


def tabulate(
    automaton: Determinized, types: list[int], budget: Budget = Budget(), labels: tuple[Marks, ...] = (UNMARKED,)
) -> Tables:
    """The tables over the classes with these types (bit masks); class c has type types[c]. Raises BudgetExceeded.

    The labels of earlier tables have the same numbers here, and so have the states of the automaton.
    """

    def successors(state: int) -> list[tuple[tuple[int, Marks], int]]:
        return [((c, marks), q) for c, type_ in enumerate(types) for marks, q in automaton.step(state, type_)]

    try:
        found = explore([0], successors, budget.states, f"the table of {automaton.described()}; it", budget.seconds)
    except BudgetExceeded as error:
        raise automaton.named(error) from None
    numbers = {marks: l for l, marks in enumerate(labels)}
    for edges in found.values():
        for (_, marks), _ in edges:
            numbers.setdefault(marks, len(numbers))
    states = max(found) + 1
    step = np.full((states, len(types), len(numbers)), NOWHERE, np.int32)
    for state, edges in found.items():
        for (c, marks), target in edges:
            step[state, c, numbers[marks]] = target
    final = np.array([automaton.final[q] for q in range(states)])
    every = (1 << len(automaton.A.predicates)) - 1  # no event is in all predicates, but each transition takes this type
    ended = np.array([q in found and automaton.final[q] and not automaton.step(q, every) for q in range(states)])
    return Tables(step, final, ended, tuple(numbers))


def transition_tables(tables: Tables) -> TransitionTables:
    """The tables by classes."""
    states, classes, _ = tables.step.shape
    bit = np.uint64(1) << np.minimum(np.arange(states), BITS - 1).astype(np.uint64)
    bit[tables.ended] = 0
    skip = np.ascontiguousarray(tables.step[:, :, 0].T)
    c, p, l = np.nonzero(tables.step[:, :, 1:].transpose(1, 0, 2) != NOWHERE)
    marks = np.stack([p, l + 1, tables.step[p, c, l + 1]], axis=1).astype(np.int32)
    begin = np.searchsorted(c, np.arange(classes + 1)).astype(np.int32)
    moving = np.bitwise_or.reduce(np.where(skip != np.arange(states), bit, np.uint64(0)), axis=1)
    marking = (tables.step[:, :, 1:] != NOWHERE).any(axis=2).T | tables.final
    busy = moving | np.bitwise_or.reduce(np.where(marking, bit, np.uint64(0)), axis=1)
    finals = np.flatnonzero(tables.final).astype(np.int32)
    return TransitionTables(skip, begin, marks, finals, tables.ended, moving, busy)


@dataclass(frozen=True)
class Snapshot:
    """The tables of an automaton over the types of events so far; immutable, a larger one replaces it.

    types: the class of each type. growth: the number of types after each step; states are numbered step by step.
    """

    types: Mapping[int, int]
    growth: tuple[int, ...]
    tables: Tables
    transitions: TransitionTables


class TransitionCache:
    """An automaton and its tables, shared by all its evaluators, which may run in several threads."""

    def __init__(self, automaton: Determinized) -> None:
        self.automaton = automaton
        nothing = np.zeros(1, np.bool_)
        tables = Tables(np.zeros((1, 0, 1), np.int32), nothing, nothing, (UNMARKED,))
        self.snapshot = Snapshot({}, (), tables, transition_tables(tables))
        self._growing = RLock()

    def ensure(self, types: list[int], budget: Budget) -> Snapshot:
        """The tables that cover these types of events too. Raises BudgetExceeded."""
        if any(type_ not in self.snapshot.types for type_ in types):
            with self._growing:
                new = [type_ for type_ in types if type_ not in self.snapshot.types]
                self.grow(new, [len(self.snapshot.types) + len(new)] if new else [], budget)
        return self.snapshot

    def grow(self, types: list[int], growth: list[int], budget: Budget) -> None:
        """Extend the tables by types of events, in steps that end with numbers of types. Raises BudgetExceeded."""
        with self._growing:
            snapshot = self.snapshot
            classes, tables = dict(snapshot.types), snapshot.tables
            for end in growth:
                new = types[: end - len(classes)]
                types = types[len(new) :]
                tables = tabulate(self.automaton, [*classes, *new], budget, tables.labels)
                classes |= {type_: len(classes) + i for i, type_ in enumerate(new)}
            self.snapshot = Snapshot(classes, (*snapshot.growth, *growth), tables, transition_tables(tables))
