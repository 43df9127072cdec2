"""Evaluate event expressions by the interface of all evaluators: each event at which one takes place is a match.

ReadableExpressionEvaluator takes an automaton, or the automata of an expression with attribute variables (Symbolic);
CompiledExpressionEvaluator takes an automaton.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from cerify.automata.dfa.evaluate import Positions, TableRunner
from cerify.automata.dfa.model import DFA
from cerify.automata.dfa.parametric import ParametricMonitor, Symbolic
from cerify.automata.evaluator import Counters, Evaluator
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match, Stream

LATEST = 2**62  # a position that no stream reaches; it and the positions after it fit 64 bits


class ReadableExpressionEvaluator(Evaluator):
    """Finds the matches of one event expression, with tables or a parametric monitor.

    push and count raise InputError for a start event that is not the first event. After BudgetExceeded a part of the
    batch may have been read, and the state cannot be saved.
    """

    STATE = "event expression"

    def __init__(self, automaton: DFA | Symbolic, budget: Budget = Budget()) -> None:
        self.automaton, self.budget = automaton, budget
        self._machine: TableRunner | ParametricMonitor
        if isinstance(automaton, DFA):
            self._machine = self._runner(automaton)
        else:
            self._machine = ParametricMonitor(automaton, budget)

    def push_stream(self, S: Stream, limit: int | None = None) -> list[Match]:
        """Same as `push`, but for a Stream. Also raises BudgetExceeded for more than budget.matches matches."""
        positions = self._positions(S)[:limit].tolist()
        if limit is None and len(positions) > self.budget.matches:
            self._whole = False
            raise BudgetExceeded(
                f"there are more than {self.budget.matches} matches in a batch; push smaller batches, or count matches"
            )
        return [Match(e, (e,)) for e in positions]

    def tally(self, S: Stream) -> int:
        """Return the number of matches like `count`, without building a match for each position."""
        return len(self._positions(S))

    @property
    def identity(self) -> str:
        return self.automaton.fingerprint

    def dump(self) -> bytes:
        """Return the states of the automaton as JSON."""
        return json.dumps({"position": self.position, "machine": self._machine.state()}).encode()

    def load(self, data: bytes) -> None:
        state = json.loads(data)
        position = int(state["position"])
        if not 0 <= position < LATEST:
            raise ValueError("the position is negative or too large")
        self._machine.resume(state["machine"], position)
        self.position = position

    @property
    def counters(self) -> Counters:
        """Return the counters. states: the number of states of all automata. nodes: the number of choices of values
        tracked; 0 without variables.
        """
        automata = (self.automaton,) if isinstance(self.automaton, DFA) else self.automaton.automata.values()
        choices = len(self._machine) if isinstance(self._machine, ParametricMonitor) else 0
        return Counters(self.position - self._first, choices, sum(len(A.following) for A in automata))

    def remade(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        return type(self), (self.automaton, self.budget)

    def _runner(self, A: DFA) -> TableRunner:
        return TableRunner([A])

    def _positions(self, S: Stream) -> Positions:
        self._require_whole()
        try:
            machine = self._machine
            found = machine.advance(S) if isinstance(machine, ParametricMonitor) else machine.advance(S)[0]
        except BudgetExceeded:
            self._whole = False
            raise
        self.position += len(S)
        return found


class CompiledExpressionEvaluator(ReadableExpressionEvaluator):
    """Like ReadableExpressionEvaluator, but with compiled code.

    Raises Unsupported at the first batch if numba is not installed.
    """

    def __init__(self, automaton: DFA, budget: Budget = Budget()) -> None:
        super().__init__(automaton, budget)

    def _runner(self, A: DFA) -> TableRunner:
        from cerify.automata.dfa.compiled import CompiledRunner

        return CompiledRunner([A])
