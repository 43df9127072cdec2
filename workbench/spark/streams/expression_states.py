"""What is kept of an event expression between batches: the state of its automaton."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from cerify.automata.dfa.compiled import CompiledRunner
from cerify.automata.dfa.model import DFA
from cerify.automata.evaluate.scope import Width
from cerify.semantics.errors import InputError
from cerify.spark.runs.expression import ExpressionRun
from cerify.spark.streams.resumable import Compiled, Resumable

VERSION = 1


class ResumableExpression(ExpressionRun, Resumable):
    """One state of one automaton."""

    def __init__(self, evaluator: CompiledRunner, automaton: str, state: int = 0, position: int = 0) -> None:
        super().__init__(evaluator)
        self._automaton, self._states, self._position = automaton, [state], position

    @property
    def position(self) -> int:
        """Of the next event."""
        return self._position

    def save(self) -> bytes:
        """The state, and of which automaton it is, as JSON."""
        (state,) = self._states
        said = {"version": VERSION, "automaton": self._automaton, "state": state, "position": self._position}
        return json.dumps(said).encode()

    def reachable(self) -> NDArray[np.int64]:
        """None: a match is the event at which the expression takes place."""
        return np.empty(0, np.int64)


class CompiledExpression(Compiled):
    """An expression with its automaton."""

    def __init__(self, A: DFA) -> None:
        self._evaluator, self._states = CompiledRunner([A]), len(A.following)
        self._automaton = A.fingerprint

    def start(self) -> ResumableExpression:
        """The automaton in its first state."""
        return ResumableExpression(self._evaluator, self._automaton)

    def restore(self, saved: bytes) -> ResumableExpression:
        """The automaton in the state that was saved. Raises InputError for the state of anything else."""
        try:
            said = json.loads(saved)
            of = said["version"], said["automaton"]
            state, position = int(said["state"]), int(said["position"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"this is no saved state of an event expression: {error!r}") from None
        if of != (VERSION, self._automaton) or not 0 <= state < self._states:
            raise InputError("the state is of another expression, or another version of its automaton; start again")
        return ResumableExpression(self._evaluator, self._automaton, state, position)

    @property
    def widths(self) -> Mapping[str, Width]:
        """None."""
        return {}

    @property
    def is_memoryless(self) -> bool:
        """An expression speaks of all of its history."""
        return False
