"""What a chunk of a stream does, whatever came before it: to the state of an event expression, to numbers of matches.

Both are composed: what two chunks do is what the first does and then the second. So chunks are read side by side, and
what they do is put together afterwards.
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
from cerify.automata.dfa.compiled import CompiledRunner
from cerify.automata.dfa.model import DFA
from cerify.automata.evaluate.classify import classified
from cerify.automata.evaluate.compiled_evaluator import CompiledCelEvaluator
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Stream
from cerify.spark.chunking.count_kernels import transfer
from cerify.spark.runs.expression import automaton_of
from cerify.spark.runs.query import Query

STATES = 64  # that are followed side by side
BITS = 1 << 13  # of a number of matches

Runs: TypeAlias = Mapping[int, int]
"""How many runs are in a state."""

NOTHING_READ: Runs = {0: 1}


@dataclass(frozen=True)
class Effect:
    """What a chunk of so many rows does to one run in each state: the runs that come of it, and what they report.

    Of a state of an event expression comes one state, and a match is an event at which the expression takes place.
    """

    rows: int
    runs: tuple[Runs, ...]
    reports: tuple[int, ...]

    def after(self, runs: Runs) -> tuple[Runs, int]:
        """The runs after the chunk, and how many matches it reports."""
        found: dict[int, int] = {}
        for p, number in runs.items():
            for q, more in self.runs[p].items():
                found[q] = found.get(q, 0) + number * more
        return found, sum(number * self.reports[p] for p, number in runs.items())

    def to_json(self) -> str:
        """All of it as text."""
        return json.dumps([self.rows, [list(runs.items()) for runs in self.runs], self.reports])

    @classmethod
    def from_json(cls, text: str) -> Effect:
        """The effect of that text."""
        rows, runs, reports = json.loads(text)
        return cls(rows, tuple(dict(pairs) for pairs in runs), tuple(reports))


class Transfer(ABC):
    """A chunk that is being read, from every state at once."""

    @abstractmethod
    def read(self, table: pa.Table) -> bool:
        """Read the next events; False if there is too much to follow."""

    @abstractmethod
    def effect(self) -> Effect:
        """What the events so far do."""


class ExpressionTransfer(Transfer):
    """Of an event expression: where each state has moved to. States that have come to the same one go on as one."""

    def __init__(self, A: DFA, begins: bool) -> None:
        self._evaluator = CompiledRunner([A])
        self._rows, self._before = 0, 0 if begins else 1
        self._at = list(range(len(A.following)))
        self._reports = [0] * len(self._at)

    def read(self, table: pa.Table) -> bool:
        """As Transfer says. Raises InputError for a start event that does not come first."""
        E, S = self._evaluator, Stream.from_table(table)
        classes: NDArray[np.int32] | None = None
        moved: dict[int, tuple[int, int]] = {}
        for q in sorted(set(self._at)):
            E.states, E.position = [q], self._before + self._rows
            if classes is None:
                (found,) = E.read(S)
                classes = E.classes.of_stream(S)
            else:
                (found,) = E.read_classes(classes)
            moved[q] = E.states[0], len(found)
        self._rows += len(S)
        self._reports = [n + moved[q][1] for n, q in zip(self._reports, self._at, strict=True)]
        self._at = [moved[q][0] for q in self._at]
        return len(set(self._at)) <= STATES

    def effect(self) -> Effect:
        """As Transfer says."""
        return Effect(self._rows, tuple({q: 1} for q in self._at), tuple(self._reports))


class CountTransfer(Transfer):
    """Of a formula without windows: how many partial matches come of one in each state.

    Numbers are the machine's words as long as these hold them, and Python's after that.
    """

    def __init__(self, evaluator: CompiledCelEvaluator) -> None:
        self._evaluator, transitions = evaluator, evaluator.transitions
        states = transitions.ended.size
        self._rows = 0
        self._runs: NDArray[Any] = np.eye(states, dtype=np.int64)
        self._reports: NDArray[Any] = np.zeros(states, np.int64)
        stays = (transitions.skip == np.arange(states)) | transitions.ended
        marked = np.diff(transitions.begin) > 0
        self._idle = stays.all(axis=1) & ~marked & bool(transitions.ended[transitions.finals].all())

    def read(self, table: pa.Table) -> bool:
        """As Transfer says."""
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
        """As Transfer says."""
        runs = tuple({q: n for q, n in enumerate(column) if n} for column in self._runs.T.tolist())
        return Effect(self._rows, runs, tuple(self._reports.tolist()))

    def _step(self, c: int) -> None:
        """One event, in Python's numbers."""
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


def counter_of(query: Query, budget: Budget) -> CompiledCelEvaluator | None:
    """The evaluator of a formula without windows, its automaton made for all events that there can be.

    So its states have the same numbers wherever it is made. None where that is too much, or there is no such evaluator.
    """
    try:
        E = CompiledCelEvaluator(query.in_cel(budget), budget=budget)
        if not E.scope.everything:
            return None
        kinds = [sum(1 << i for i in chosen) for chosen, _ in types(E.automaton.A.predicates, budget)]
        E.budget = replace(budget, states=min(budget.states, STATES))
        E.grow(kinds, [len(kinds)])
    except (Unsupported, BudgetExceeded):
        return None
    return E


@lru_cache(8)
def _transfers(text: str, budget: Budget) -> DFA | CompiledCelEvaluator | None:
    query = Query.from_json(text)
    return automaton_of(query, budget) or counter_of(query, budget)


def transfer_of(query: str, budget: Budget, begins: bool) -> Transfer | None:
    """What reads a chunk, for a query as JSON; begins says whether it is the first one."""
    match _transfers(query, budget):
        case None:
            return None
        case CompiledCelEvaluator() as evaluator:
            return CountTransfer(evaluator)
        case A:
            return ExpressionTransfer(A, begins)
