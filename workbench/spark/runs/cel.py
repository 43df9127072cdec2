"""Runs of CEL formulas: evaluators of one automaton, which share its compiled transitions."""

from __future__ import annotations

import pyarrow as pa

from cerify.automata.evaluate.compiled_evaluator import CompiledCelEvaluator
from cerify.semantics.events import Stream
from cerify.semantics.matches import table_of_matches
from cerify.spark.runs.run import NOTHING, Classes, Run, of_events


class CelRun(Run):
    """A run by the compiled evaluator."""

    def __init__(self, evaluator: CompiledCelEvaluator) -> None:
        self._evaluator = evaluator

    def push(self, table: pa.Table, classes: Classes | None = None) -> pa.Table:
        """The matches that these events complete. Raises Unordered where a window's attribute decreases."""
        E = self._evaluator
        if E.output == "valuations":
            return table_of_matches(E.read(Stream.from_table(table), None, classes))
        found = E.push_arrow(table, None, classes)
        return of_events(found["at"], found["events"]) if found.num_rows else NOTHING

    def count(self, table: pa.Table, classes: Classes | None = None) -> int:
        """The number of these matches, without listing them."""
        return self._evaluator.tally(Stream.from_table(table), classes)

    def classes(self, table: pa.Table) -> Classes:
        """The classes of events by the predicates of the automaton."""
        return self._evaluator.classes(Stream.from_table(table))

    @property
    def reaches(self) -> int:
        """The position at which the windows begin if matches end where they are reported, else 0."""
        E = self._evaluator
        if not E.reports_at_last_event:
            return 0
        windows = [int(window.positions[0]) for window in E.range_windows if window.positions.size]
        return max([0, *windows, *([] if E.scope.events is None else [E.position + 1 - E.scope.events])])
