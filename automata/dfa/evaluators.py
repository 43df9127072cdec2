"""Evaluate event expressions by the interface of all evaluators: each event at which one takes place is a match.

ReadableExpressionEvaluator takes an automaton, or the automata of an expression with attribute variables (Symbolic);
CompiledExpressionEvaluator takes an automaton.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerify.automata.dfa.evaluate import Positions, TableRunner
from cerify.automata.dfa.model import DFA
from cerify.automata.dfa.parametric import ParametricMonitor, Symbolic
from cerify.automata.evaluate.compiled import numba_required
from cerify.automata.evaluator import Counters, Evaluator
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match, Stream

# ---------------------------------------------------------------------------------------------------------------------
# The evaluators.

LATEST = 2**62  # a position that no stream reaches; it and the positions after it fit 64 bits


class ReadableExpressionEvaluator(Evaluator):
    """Finds the matches of one event expression, with tables, or with a parametric monitor for attribute variables.

    push and count raise InputError for a start event that is not the first event. After BudgetExceeded, a part of the
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
        """Read the next events; return the exact number of matches. No match is built."""
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
        """Return the counters. states: the number of states of all automata.

        nodes: the number of choices of values for the attribute variables that are followed; 0 without such variables.
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
        return CompiledRunner([A])


# ---------------------------------------------------------------------------------------------------------------------
# Evaluate event expressions with tables in compiled loops; the readable twin is evaluate.TableRunner.

CHUNK = 1 << 22  # events read at a time; each automaton gets room for this many positions


class CompiledRunner(TableRunner):
    """Same as TableRunner, but a batch is classified by columns and read by compiled loops."""

    def __init__(self, automata: Sequence[DFA]) -> None:
        super().__init__(automata)
        sizes = [len(A.following) for A in self.automata]
        self._first = np.cumsum([0, *sizes[:-1]], dtype=np.int32)[: len(sizes)]  # the initial state of each
        self._accepting = np.zeros(sum(sizes), np.uint8)
        for first, A in zip(self._first.tolist(), self.automata, strict=True):
            self._accepting[[first + q for q in A.accepting]] = 1
        self._step = np.empty((0, sum(sizes)), np.int32)

    def advance(self, S: Stream) -> list[Positions]:
        """Return for each expression the positions, among the next events, at which it takes place.

        Raises InputError for a late start event, and Unsupported where numba is not installed.
        """
        return self.read_classes(self.classes.of_stream(S))

    def read_classes(self, classes: NDArray[np.int32], begins: NDArray[np.int64] | None = None) -> list[Positions]:
        """Same as `advance`, but for events given by their classes (see `self.classes`).

        begins: the rows at which a new history begins; its positions continue those of the previous history. The caller
        has checked the start events of these histories.
        """
        if begins is None and (starts := sorted(self.classes.starts)):
            self._require_starts(np.flatnonzero(np.isin(classes, starts)).tolist())
        with numba_required():
            from cerify.automata.dfa.kernels import advance_four, advance_one
        self._tabulate()
        step = self._step
        if begins is not None:  # for each class, one more class whose steps leave the first state
            first = np.repeat(self._first, [len(A.following) for A in self.automata])
            classes = classes.copy()
            classes[begins] += len(step)
            step = np.concatenate([step, step[:, first]])
        automata = len(self.automata)
        states, counts = self._first + np.array(self.states, np.int32), np.zeros(automata, np.int64)
        found: list[list[NDArray[np.int64]]] = [[np.empty(0, np.int64)] for _ in self.automata]
        # Four automata at a time wait for memory together, and read each class only once.
        rest = automata - automata % 4
        fours, ones = (slice(k, k + 4) for k in range(0, rest, 4)), (slice(k, k + 1) for k in range(rest, automata))
        lanes = [(advance_four, four) for four in fours] + [(advance_one, one) for one in ones]
        for begin in range(0, len(classes), CHUNK):
            chunk = classes[begin : begin + CHUNK]
            for advance, some in lanes:
                ends = [np.empty(len(chunk) + 1, np.int64) for _ in found[some]]
                advance(chunk, self.position + begin, step, self._accepting, states[some], counts[some], *ends)
                for parts, positions, count in zip(found[some], ends, counts[some].tolist(), strict=True):
                    # A slice keeps the whole array in memory, which is a waste where few positions are used.
                    parts.append(positions[:count] if 2 * count > len(chunk) else positions[:count].copy())
        self.states = (states - self._first).tolist()
        self.position += len(classes)
        return [parts[-1] if len(parts) <= 2 else np.concatenate(parts) for parts in found]

    def _tabulate(self) -> None:
        known = len(self._steps)
        super()._tabulate()
        rows = [
            [first + q for first, column in zip(self._first.tolist(), columns, strict=True) for q in column]
            for columns in self._steps[known:]
        ]
        if rows:
            self._step = np.concatenate([self._step, np.array(rows, np.int32)])
