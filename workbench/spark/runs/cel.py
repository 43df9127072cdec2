"""Runs of CEL formulas: many evaluators of one automaton, which share all that no stream makes its own."""

from __future__ import annotations

import copy
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cerify.automata.evaluate import state
from cerify.automata.evaluate.evaluator import Evaluator
from cerify.automata.evaluate.scope import punctual
from cerify.automata.evaluate.scope_columns import Clock, Keys
from cerify.evaluators import Output
from cerify.semantics.budget import Budget
from cerify.semantics.cel.syntax import Formula
from cerify.spark.runs.run import NOTHING, Run, of_events, of_matches

if TYPE_CHECKING:
    from cerify.automata.evaluate.lists import Lists
    from cerify.automata.evaluate.trees import Trees


class Shared:
    """A compiled formula, and the tables of the types of events that some run of it has met.

    Types and states are numbered as the runs meet them one after the other, so that what one run saves can be taken up
    by any other.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.punctual = punctual(evaluator.automaton.A)
        self._nothing = _unread(evaluator.kept)

    def new(self) -> Evaluator:
        """An evaluator that has read nothing."""
        E = copy.copy(self.evaluator)
        E.clocks = [Clock(a, width) for a, width in E.scope.widths]
        E.keys, E.kept, E.position = Keys(E.scope.attributes), _unread(self._nothing), 0
        return E


class CelRun(Run):
    """An evaluator of batches."""

    def __init__(self, shared: Shared, evaluator: Evaluator | None = None) -> None:
        self._shared, self._evaluator = shared, evaluator or shared.new()

    def push(self, table: pa.Table) -> pa.Table:
        """The matches that end in these events. Raises Unordered where a window's attribute goes back."""
        E = self._latest()
        try:
            if E.output == "valuations":
                return of_matches(E.push(table))
            found = E.push_arrow(table)
            return of_events(found["at"], found["events"]) if found.num_rows else NOTHING
        finally:
            self._learned()

    def count(self, table: pa.Table) -> int:
        """Their number, without listing them."""
        E = self._latest()
        try:
            return E.count(table)
        finally:
            self._learned()

    @property
    def reaches(self) -> int:
        """Where the windows begin now, if a match ends where it is reported."""
        E = self._evaluator
        if not self._shared.punctual:
            return 0
        windows = [int(clock.positions[0]) for clock in E.clocks if clock.positions.size]
        return max([0, *windows, *([] if E.scope.events is None else [E.position + 1 - E.scope.events])])

    def save(self) -> bytes:
        """The arrays of the evaluator, as automata/evaluate/state.py writes them."""
        E, file = self._latest(), BytesIO()
        E.kept.widen(E.tables.final.size, max(1, E.keys.size))  # other runs may have met more types of events
        state.save(E, file)
        return file.getvalue()

    def _latest(self) -> Evaluator:
        E, first = self._evaluator, self._shared.evaluator
        E.tables, E.moves = first.tables, first.moves
        return E

    def _learned(self) -> None:
        E, first = self._evaluator, self._shared.evaluator
        first.tables, first.moves = E.tables, E.moves


def _unread(kept: Lists | Trees) -> Lists | Trees:
    """A copy of what an evaluator keeps that has read nothing: of the nodes there is the first one, others are written
    before they are read."""
    fresh = copy.copy(kept)
    for name, array in vars(kept).items():
        if isinstance(array, np.ndarray) and name != "tree":
            setattr(fresh, name, array.copy())
    fresh.tree = np.empty_like(kept.tree)
    fresh.tree[:1] = kept.tree[:1]
    return fresh


def shared_of(phi: Formula, output: Output, budget: Budget) -> Shared:
    """The formula, compiled. Raises Unsupported where no evaluator of batches carries it, and BudgetExceeded."""
    return Shared(Evaluator(phi, output=output, budget=budget))


def restored(phi: Formula, output: Output, budget: Budget, saved: bytes) -> CelRun:
    """The run that was saved. Raises InputError for anything else."""
    E = Evaluator(phi, output=output, budget=budget)
    state.restore(E, BytesIO(saved))
    return CelRun(Shared(E), E)
