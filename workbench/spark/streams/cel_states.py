"""The state of a CEL formula between batches: the arrays of its evaluator."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from cerify.automata.cea.model import CEA
from cerify.automata.evaluate.compiled_evaluator import CompiledCelEvaluator
from cerify.automata.evaluate.scope import Width, reports_at_last_event
from cerify.semantics.predicates import Anything
from cerify.spark.runs.cel import CelRun
from cerify.spark.streams.resumable import Compiled, Resumable


class ResumableCel(CelRun, Resumable):
    """A run whose saved state has no events that its windows have passed."""

    @property
    def position(self) -> int:
        """The position of the next event."""
        return self._evaluator.position

    def save(self) -> bytes:
        """The arrays of the evaluator, in the format of its `save`."""
        E = self._evaluator
        used = E.store.compact(self.reaches)
        if E.scope.attributes:
            E.keys.keep(used)
        return E.save()

    def reachable(self) -> NDArray[np.int64]:
        """The positions of the events in the nodes of the match store."""
        return np.unique(self._evaluator.store.arrays["tree"]["event"])


class CompiledCel(Compiled):
    """A formula with its automaton, given an evaluator that has read nothing."""

    def __init__(self, evaluator: CompiledCelEvaluator) -> None:
        self._evaluator = evaluator

    def start(self) -> ResumableCel:
        """A run with a new evaluator of the automaton."""
        return ResumableCel(self._evaluator.fresh())

    def restore(self, saved: bytes) -> ResumableCel:
        """The run that was saved. Raises InputError for the state of another formula, or for no state."""
        E = self._evaluator.fresh()
        E.restore(saved)
        return ResumableCel(E)

    @property
    def widths(self) -> Mapping[str, Width]:
        """The windows around the formula."""
        return dict(self._evaluator.scope.widths)

    @property
    def is_memoryless(self) -> bool:
        """Whether is_memoryless holds for the automaton."""
        return is_memoryless(self._evaluator.automaton.A)


def is_memoryless(A: CEA) -> bool:
    """Whether a match depends on no events before its first, and is reported at its last event.

    This holds if a run that has marked nothing stays in an initial state, whatever it reads. After an interval without
    events that is longer than a window on values the state of the automaton is then that of a new one.
    """
    stays = {t.source for t in A.transitions if not t.marks and t.predicate == Anything() and t.source == t.target}
    moves = {t.source for t in A.transitions if not t.marks and t.source != t.target}
    return A.initial <= stays - moves and reports_at_last_event(A)
