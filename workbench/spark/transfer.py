"""Compute, in compiled loops, how a chunk of a stream changes the numbers of partial matches.

An I/O-deterministic automaton has one run for each complex event, so numbers of runs are numbers of matches. The effect
of an event on the numbers of runs in the states is linear. So a chunk is a matrix: the number of runs in each state at
its end that result from one run in each state at its beginning, and a vector: the number of matches they report.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cerify.automata.algebra.finite import types
from cerify.automata.dfa.evaluators import CompiledRunner
from cerify.automata.dfa.model import DFA
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.evaluation_plan import batch_scope
from cerify.automata.evaluate.jit import compiled
from cerify.automata.evaluate.tables import classified
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Stream
from cerify.spark.runs import SparkQuery, automaton_of

ROOM = 1 << 62


@compiled
def transfer(classes, begun, skip, begin, marks, finals, ended, idle, runs, after, totals):  # type: ignore[no-untyped-def]
    """Follow a run from each of K states through the events from index `begun` on, and count the matches that result.

    Return the index at which a number might exceed int64, or the end. skip, begin, marks, finals, ended: the arrays of
    TransitionTables. idle: bool [classes], whether such an event has no effect. runs, after: int64 [states, K], the
    number of runs in each state that result from one run in each of K states; after is scratch. totals: int64 [K], the
    matches that these have reported. Finished states are emptied.
    """
    states, starts = runs.shape
    # A number of the next step is a sum of at most so many numbers, so below this limit it fits into int64.
    limit = ROOM // (states + marks.shape[0] + 1)
    for i in range(begun, classes.size):
        c = classes[i]
        if idle[c]:
            continue
        after[:] = 0
        for p in range(states):
            q = skip[c, p]
            if q >= 0:
                for k in range(starts):
                    after[q, k] += runs[p, k]
        for t in range(begin[c], begin[c + 1]):
            p, q = marks[t, 0], marks[t, 2]
            for k in range(starts):
                after[q, k] += runs[p, k]
        for q in range(states):
            for k in range(starts):
                if after[q, k] > limit:
                    return i
        for k in range(starts):
            if totals[k] > ROOM:
                return i
        for f in range(finals.size):
            q = finals[f]
            for k in range(starts):
                totals[k] += after[q, k]
            if ended[q]:
                after[q] = 0
        for q in range(states):  # `runs[:] = after` would make numba compile, for seconds, the error for unequal shapes
            for k in range(starts):
                runs[q, k] = after[q, k]
    return classes.size


# ---------------------------------------------------------------------------------------------------------------------
# The effect of a chunk of a stream, from every state: on the state of an event expression, on numbers of matches.
#
# Effects compose: that of two chunks is that of the first, then that of the second. So chunks are read in parallel,
# and their effects are composed afterwards.

STATES = 64  # followed in parallel
BITS = 1 << 13  # of a number of matches

Runs: TypeAlias = Mapping[int, int]
"""The number of runs in each state, by state."""

NOTHING_READ: Runs = {0: 1}


@dataclass(frozen=True)
class Effect:
    """What a chunk of a stream does to one run in each state: the runs that result, and how many matches they report.

    For an event expression one run results, and a match is an event at which the expression takes place.
    """

    rows: int
    runs: tuple[Runs, ...]
    reports: tuple[int, ...]

    def after(self, runs: Runs) -> tuple[Runs, int]:
        """Return the runs after the chunk, given the runs before it, and the number of matches that it reports."""
        found: dict[int, int] = {}
        for p, number in runs.items():
            for q, more in self.runs[p].items():
                found[q] = found.get(q, 0) + number * more
        return found, sum(number * self.reports[p] for p, number in runs.items())

    def to_json(self) -> str:
        """Return the effect as JSON."""
        return json.dumps([self.rows, [list(runs.items()) for runs in self.runs], self.reports])

    @classmethod
    def from_json(cls, text: str) -> Effect:
        """Return the effect that `to_json` wrote."""
        rows, runs, reports = json.loads(text)
        return cls(rows, tuple(dict(pairs) for pairs in runs), tuple(reports))


class Transfer(ABC):
    """Computes the effect of a chunk from every state at once."""

    @abstractmethod
    def advance(self, table: pa.Table) -> bool:
        """Read the next events; return False if there are too many states, or too large numbers."""

    @abstractmethod
    def effect(self) -> Effect:
        """Return the effect of the events so far."""


class ExpressionTransfer(Transfer):
    """Computes the effect on the states of an event expression. States that lead to the same state
    are followed once.
    """

    def __init__(self, A: DFA, begins: bool) -> None:
        self._evaluator = CompiledRunner([A])
        self._rows, self._before = 0, 0 if begins else 1
        self._at = list(range(len(A.following)))
        self._reports = [0] * len(self._at)

    def advance(self, table: pa.Table) -> bool:
        """Read the next events. Raises InputError for a start event that is not the first event."""
        E, S = self._evaluator, Stream.from_table(table)
        classes: NDArray[np.int32] | None = None
        moved: dict[int, tuple[int, int]] = {}
        for q in sorted(set(self._at)):
            E.states, E.position = [q], self._before + self._rows
            if classes is None:
                (found,) = E.advance(S)
                classes = E.classes.of_stream(S)
            else:
                (found,) = E.read_classes(classes)
            moved[q] = E.states[0], len(found)
        self._rows += len(S)
        self._reports = [n + moved[q][1] for n, q in zip(self._reports, self._at, strict=True)]
        self._at = [moved[q][0] for q in self._at]
        return len(set(self._at)) <= STATES

    def effect(self) -> Effect:
        """Return the effect of the events so far."""
        return Effect(self._rows, tuple({q: 1} for q in self._at), tuple(self._reports))


class CountTransfer(Transfer):
    """Computes how many partial matches result from one partial match in each state, for a formula without windows.

    Numbers are int64 as long as they fit, and Python's integers after that.
    """

    def __init__(self, evaluator: CompiledCelEvaluator) -> None:
        self._evaluator, transitions = evaluator, evaluator.transitions
        states = transitions.ended.size
        self._rows = 0
        # Column k follows the run that begins in state k.
        self._runs: NDArray[Any] = np.eye(states, dtype=np.int64)
        self._reports: NDArray[Any] = np.zeros(states, np.int64)
        stays = (transitions.skip == np.arange(states)) | transitions.ended
        marked = np.diff(transitions.begin) > 0
        # Where a final state is not emptied, its runs report at every event, so that no event is without effect.
        self._idle = stays.all(axis=1) & ~marked & bool(transitions.ended[transitions.finals].all())

    def advance(self, table: pa.Table) -> bool:
        """Read the next events; return False if there are too many states."""
        E = self._evaluator
        numbers, kinds = classified(E.automaton.A.predicates, Stream.from_table(table))
        classes = np.array([E.types[kind] for kind in kinds], np.int32)[numbers]
        self._rows += classes.size
        begun, m = 0, E.transitions
        if self._runs.dtype != object:
            begun = transfer(
                classes, 0, m.skip, m.begin, m.marks, m.finals, m.ended, self._idle,
                self._runs, np.empty_like(self._runs), self._reports,
            )  # fmt: skip
            if begun < classes.size:
                self._runs, self._reports = self._runs.astype(object), self._reports.astype(object)
        for c in classes[begun:].tolist():
            if not self._idle[c]:
                self._step(c)
        return self._runs.dtype != object or max(self._runs.max(), self._reports.max()).bit_length() <= BITS

    def effect(self) -> Effect:
        """Return the effect of the events so far."""
        runs = tuple({q: n for q, n in enumerate(column) if n} for column in self._runs.T.tolist())
        return Effect(self._rows, runs, tuple(self._reports.tolist()))

    def _step(self, c: int) -> None:
        """Read one event of class c, in Python's integers."""
        m = self._evaluator.transitions
        steps = [(p, q) for p, q in enumerate(m.skip[c].tolist()) if q >= 0]
        steps += [(p, q) for p, _, q in m.marks[m.begin[c] : m.begin[c + 1]].tolist()]
        after = np.zeros_like(self._runs)
        for p, q in steps:
            after[q] += self._runs[p]
        for q in m.finals.tolist():
            self._reports = self._reports + after[q]
            if m.ended[q]:
                after[q] = 0
        self._runs = after


def counter_of(query: SparkQuery, budget: Budget) -> CompiledCelEvaluator | None:
    """Return the evaluator of a formula without windows, with its automaton determinized for all classes of events.

    The states therefore have the same numbers in every process. Return None if it has too many states, or if there is
    no such evaluator.
    """
    phi = query.in_cel(budget)
    scope = phi if isinstance(phi, Unsupported) else batch_scope(phi)
    if isinstance(phi, Unsupported) or isinstance(scope, Unsupported) or not scope.everything:
        return None
    try:
        E = CompiledCelEvaluator(phi, budget=budget, scope=scope)
        kinds = [sum(1 << i for i in chosen) for chosen, _ in types(E.automaton.A.predicates, budget)]
        E.budget = replace(budget, states=min(budget.states, STATES))
        E.grow(kinds, [len(kinds)])
    except BudgetExceeded:
        return None
    return E


@lru_cache(8)
def _transfers(text: str, budget: Budget) -> DFA | CompiledCelEvaluator | None:
    query = SparkQuery.from_json(text)
    return automaton_of(query, budget) or counter_of(query, budget)


def transfer_of(query: str, budget: Budget, begins: bool) -> Transfer | None:
    """Return the Transfer for a chunk, or None if there is none.

    query: the query as JSON. begins: whether the chunk is the first one.
    """
    match _transfers(query, budget):
        case None:
            return None
        case CompiledCelEvaluator() as evaluator:
            return CountTransfer(evaluator)
        case A:
            return ExpressionTransfer(A, begins)
