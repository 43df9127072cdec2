"""A run over the streams of many keys, one after the other: one call of the compiled loops reads a whole batch of rows.

Positions count on from stream to stream; `KeyedRows` says which rows are of which stream.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from cerify.automata.dfa.compiled import CompiledRunner
from cerify.automata.dfa.model import late_start
from cerify.automata.evaluate.batches import MatchBatch, Numbers
from cerify.automata.evaluate.compiled_evaluator import CompiledCelEvaluator
from cerify.semantics.budget import too_many_matches
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Stream
from cerify.spark.runs.rows import KeyedRows, Longs
from cerify.spark.runs.run import Classes


class Failures(ABC):
    """The streams of some rows, by their numbers, that have failed and of which no more is to be found."""

    streams: set[int]

    @abstractmethod
    def add(self, stream: int, error: CerifyError) -> None:
        """Raise the error, or add the stream."""


class Concatenated(ABC):
    """The evaluation of a query over streams that come one after the other; position: that of the next event."""

    position: int

    @abstractmethod
    def classes(self, table: pa.Table) -> Classes:
        """The classes of events."""

    @abstractmethod
    def matches(self, rows: KeyedRows, failures: Failures) -> Iterator[MatchBatch]:
        """Read the next events, with their classes; the matches that they complete. Raises Unordered."""

    @abstractmethod
    def numbers(self, rows: KeyedRows, failures: Failures) -> Iterator[Numbers]:
        """Read the next events; ascending positions with the numbers of matches that they complete."""

    @property
    def reaches(self) -> int:
        """The least position that a match not yet reported may have."""
        return 0

    @property
    def ascending(self) -> Mapping[str, bool]:
        """As of Run."""
        return {}


class ConcatenatedCel(Concatenated):
    """A run by the compiled evaluator."""

    def __init__(self, evaluator: CompiledCelEvaluator) -> None:
        self._evaluator, self.position = evaluator, 0

    def classes(self, table: pa.Table) -> Classes:
        """The classes of events by the predicates of the automaton."""
        return self._evaluator.classes(Stream.from_table(table))

    def matches(self, rows: KeyedRows, failures: Failures) -> Iterator[MatchBatch]:
        """See Concatenated. A stream with more matches in these rows than the budget has fails."""
        E, first = self._evaluator, rows.origins(self.position)
        most, found = E.budget.matches, np.zeros(len(first), np.int64)
        for roots in E.advance(Stream.from_table(rows.table), rows.classes, rows.begins):
            while len(roots := roots[~np.isin(streams_of(first, roots[:, 0]), list(failures.streams))]):
                for matches in E.match_batches(roots):
                    found += np.bincount(streams_of(first, matches.at), minlength=len(first))
                    if not (over := set(np.flatnonzero(found > most).tolist()) - failures.streams):
                        yield matches
                        continue
                    stream = min(over)
                    failures.add(stream, too_many_matches(most))
                    yield matches.first(int((streams_of(first, matches.at) <= stream).sum()))
                    found[stream + 1 :] = 0  # these are enumerated again
                    roots = roots[streams_of(first, roots[:, 0]) > stream]
                    break
                else:
                    break
        self.position = E.position

    def numbers(self, rows: KeyedRows, failures: Failures) -> Iterator[Numbers]:
        """See Concatenated."""
        yield from self._evaluator.tallies(Stream.from_table(rows.table), rows.classes, rows.begins)
        self.position = self._evaluator.position

    @property
    def reaches(self) -> int:
        """As of CelRun."""
        return reaches(self._evaluator)

    @property
    def ascending(self) -> Mapping[str, bool]:
        """The attributes of windows on values."""
        return dict.fromkeys((window.attribute for window in self._evaluator.range_windows), False)


def streams_of(first: Longs, positions: Longs | int) -> Longs:
    """The numbers of the streams of some positions, given the position of the first event of each."""
    return np.asarray(np.searchsorted(first, positions, "right") - 1)


def reaches(E: CompiledCelEvaluator) -> int:
    """The position at which the windows begin if matches end where they are reported, else 0."""
    if not E.reports_at_last_event:
        return 0
    windows = [int(window.positions[0]) for window in E.range_windows if window.positions.size]
    return max([0, *windows, *([] if E.scope.events is None else [E.position + 1 - E.scope.events])])


class ConcatenatedExpression(Concatenated):
    """A run in one state of an automaton; the evaluator is shared with other runs of the process."""

    def __init__(self, evaluator: CompiledRunner) -> None:
        self._evaluator, self._states, self.position = evaluator, [0], 0

    def classes(self, table: pa.Table) -> Classes:
        """For each event its letter in the alphabet of the automaton."""
        return self._evaluator.classes.of_stream(Stream.from_table(table))

    def matches(self, rows: KeyedRows, failures: Failures) -> Iterator[MatchBatch]:
        """See Concatenated."""
        at = self._read(rows, failures)
        yield MatchBatch(at, np.arange(len(at) + 1), at, np.empty(0, np.int32))

    def numbers(self, rows: KeyedRows, failures: Failures) -> Iterator[Numbers]:
        """See Concatenated."""
        at = self._read(rows, failures)
        yield at, np.ones(len(at), np.int64)

    def _read(self, rows: KeyedRows, failures: Failures) -> Longs:
        """The positions at which the expression takes place. A stream with a late start event fails."""
        E, classes = self._evaluator, rows.classes
        assert classes is not None
        late = np.isin(classes, list(E.classes.starts))
        late[rows.begins] = False
        for row in np.flatnonzero(late).tolist():
            stream = int(streams_of(rows.origins(), row))
            if stream not in failures.streams:
                failures.add(stream, late_start(row - int(rows.origins()[stream])))
        E.states, E.position = self._states, self.position
        (positions,) = E.read_classes(classes, rows.begins)
        self._states, self.position = E.states, E.position
        return np.asarray(positions)
