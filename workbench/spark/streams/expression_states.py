"""The state of an event expression between batches: that of its automaton."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from cerify.automata.dfa.compiled import CompiledRunner
from cerify.automata.dfa.model import DFA
from cerify.automata.evaluate.scope import Width
from cerify.automata.saved_state import seal, unseal
from cerify.semantics.errors import InputError
from cerify.spark.runs.expression import ExpressionRun
from cerify.spark.streams.resumable import Compiled, Resumable

KIND = "event expression on Spark"


class ResumableExpression(ExpressionRun, Resumable):
    """One state of one automaton."""

    def __init__(self, evaluator: CompiledRunner, automaton: str, state: int = 0, position: int = 0) -> None:
        super().__init__(evaluator)
        self._automaton, self._states, self._position = automaton, [state], position

    @property
    def position(self) -> int:
        """The position of the next event."""
        return self._position

    def save(self) -> bytes:
        """The state as JSON."""
        (state,) = self._states
        return seal(KIND, self._automaton, json.dumps({"state": state, "position": self._position}).encode())

    def reachable(self) -> NDArray[np.int64]:
        """No positions: a match is the event at which the expression takes place."""
        return np.empty(0, np.int64)


class CompiledExpression(Compiled):
    """An expression with its automaton."""

    def __init__(self, A: DFA) -> None:
        self._evaluator, self._states = CompiledRunner([A]), len(A.following)
        self._automaton = A.fingerprint

    def start(self) -> ResumableExpression:
        """A run in the first state."""
        return ResumableExpression(self._evaluator, self._automaton)

    def restore(self, saved: bytes) -> ResumableExpression:
        """The run that was saved. Raises InputError for the state of another expression, or for no state."""
        fields = json.loads(unseal(saved, KIND, self._automaton))
        state, position = int(fields["state"]), int(fields["position"])
        if not 0 <= state < self._states:
            raise InputError("the saved state is damaged: the automaton has no such state; start again")
        return ResumableExpression(self._evaluator, self._automaton, state, position)

    @property
    def widths(self) -> Mapping[str, Width]:
        """No windows."""
        return {}

    @property
    def is_memoryless(self) -> bool:
        """False: an expression depends on all events before."""
        return False
