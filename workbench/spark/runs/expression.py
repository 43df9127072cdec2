"""Runs of event expressions: a finite automaton, or with attribute variables one for each assignment of values."""

from __future__ import annotations

import pyarrow as pa

from cerify.automata.dfa.compiled import CompiledRunner
from cerify.automata.dfa.model import DFA
from cerify.automata.dfa.parametric import ParametricMonitor, Symbolic
from cerify.semantics.budget import Budget
from cerify.semantics.events import Stream
from cerify.spark.runs.query import Query
from cerify.spark.runs.run import NOTHING, Classes, Run, of_events


def automaton_of(query: Query, budget: Budget) -> DFA | None:
    """The finite automaton that finds the matches of a query; None if it has none."""
    return query.plugin.dfa(query.parsed, query.schema, budget)


class ExpressionRun(Run):
    """A run in one state of an automaton; all runs of the expression share the evaluator."""

    def __init__(self, evaluator: CompiledRunner) -> None:
        self._evaluator = evaluator
        self._states, self._position = [0], 0

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """A match for each event at which the expression takes place."""
        return _each(self._read(table, classes))

    def count(self, table: pa.Table, classes: Classes | None = None) -> int:
        """The number of these matches."""
        return len(self._read(table, classes))

    def classes(self, table: pa.Table) -> Classes:
        """For each event its letter in the alphabet of the automaton."""
        return self._evaluator.classes.of_stream(Stream.from_table(table))

    def _read(self, table: pa.Table, classes: Classes | None) -> pa.Array:
        E = self._evaluator
        E.states, E.position = self._states, self._position
        (positions,) = E.read_classes(self.classes(table) if classes is None else classes)
        self._states, self._position = E.states, E.position
        return pa.array(positions, pa.int64())


class ParametricRun(Run):
    """An expression with attribute variables."""

    def __init__(self, symbolic: Symbolic, budget: Budget) -> None:
        self._machines = ParametricMonitor(symbolic, budget)

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """A match for each event at which the expression takes place for some values."""
        return _each(pa.array(self._machines.read(Stream.from_table(table)), pa.int64()))


def _each(positions: pa.Array) -> pa.Table:
    """A match of one event for each position."""
    if not len(positions):
        return NOTHING
    offsets = pa.array(range(len(positions) + 1), pa.int32())
    return of_events(positions, pa.ListArray.from_arrays(offsets, positions))
