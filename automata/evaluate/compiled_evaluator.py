"""Evaluators in compiled loops that read a stream in batches, for all automata and for CEL.

What it keeps is bounded by the window, also the keys of a partition, unless the formula projects its last event away:
then a match is reported again at every later position.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cerify.automata.evaluate.automaton_evaluator import CelEvaluator
from cerify.automata.evaluate.batches import EventBatch, MatchBatch, Numbers, total
from cerify.automata.evaluate.classify import classified
from cerify.automata.evaluate.compiled_state import CompiledState
from cerify.automata.evaluate.scope_columns import NO_BEGINS, EncodedKeys, Longs
from cerify.automata.evaluator import Batch
from cerify.semantics.budget import check_time, timed_items, too_many_matches
from cerify.semantics.events import Match, Stream, bindings_of

Classes: TypeAlias = NDArray[np.int32]

PIECE = 262_144  # events of a batch that are read at a time
KEYS = 256  # rows for keys at first


class CompiledEvaluator(CompiledState):
    """An I/O-determinized automaton on its way through a stream, within windows; ReadableEvaluator is the twin."""

    def read(self, S: Stream, limit: int | None = None, classes: Classes | None = None) -> list[Match]:
        """As `push`; classes: those of the events, from `classes`, if they have been looked up."""
        found = []
        for matches in self._limited(S, limit, classes):
            names, ends = self.tables.labels, matches.offsets.tolist()
            events, labels = matches.events.tolist(), matches.labels.tolist()
            for at, start, end in timed_items(zip(matches.at.tolist(), ends[:-1], ends[1:], strict=True)):
                bindings = None
                if self.output == "valuations":
                    pairs = zip(events[start:end], labels[start:end], strict=True)
                    bindings = bindings_of(frozenset((A, position) for position, l in pairs for A in names[l]))
                found.append(Match(at, tuple(events[start:end]), bindings))
        return sorted(found)

    def push_arrow(self, batch: Batch, limit: int | None = None, classes: Classes | None = None) -> pa.Table:
        """As `read`; the matches as a table with the columns at and events, in the order in which they are found."""
        ats, lists = [], []
        for matches in self._limited(self._opened(batch, limit), limit, classes):
            ats.append(pa.array(matches.at))
            lists.append(pa.LargeListArray.from_arrays(matches.offsets, matches.events))
        return pa.table(
            {
                "at": pa.chunked_array(ats, pa.int64()),
                "events": pa.chunked_array(lists, pa.large_list(pa.int64())),
            }
        )

    def tally(self, S: Stream, classes: Classes | None = None) -> int:
        """As `count`; the matches are not enumerated.

        Without a partition that takes about as much time as reading, in windows if the numbers are below 2^61; else
        time linear in the nodes of the window for each position with matches.
        """
        return sum(total(numbers) for _, numbers in self.tallies(S, classes))

    def tallies(self, S: Stream, classes: Classes | None = None, begins: Longs = NO_BEGINS) -> Iterator[Numbers]:
        """As `tally`, the positions and the numbers of matches; begins: as in `advance`."""
        for batch in self.event_batches(S, classes, begins):
            yield from self.store.numbers(batch, self.transitions)

    def numbers(self, S: Stream) -> Iterator[tuple[int, int]]:
        """Each position with matches, and their number, as `tally`. The iterator must be exhausted."""
        number, at = 0, -1
        for positions, numbers in self.tallies(S):
            for position, more in zip(positions.tolist(), numbers.tolist(), strict=True):
                if position != at and number:
                    yield at, number
                number, at = (number if position == at else 0) + more, position
        if number:
            yield at, number

    def _limited(self, S: Stream, limit: int | None, classes: Classes | None = None) -> Iterator[MatchBatch]:
        """The complex events of a batch, a chunk at a time, as far as the limit; the batch is read to its end."""
        most = self.budget.matches if limit is None else limit
        found = 0
        for roots in self.advance(S, classes):
            for matches in self.match_batches(roots) if found < most or limit is None else ():
                if found + matches.at.size <= most:
                    found += matches.at.size
                    yield matches
                elif limit is None:
                    raise too_many_matches(most)
                else:
                    left = most - found
                    found = most
                    yield matches.first(left)
                    break

    def advance(
        self, S: Stream, classes: Classes | None = None, begins: Longs = NO_BEGINS
    ) -> Iterator[NDArray[np.int64]]:
        """Read all events; yields the roots of the sets of complex events completed, to be used before the next.

        A new stream begins at each row in begins; positions count on.
        """
        for batch in self.event_batches(S, classes, begins):
            for roots in self.store.advance(batch, self.transitions):
                check_time()
                yield roots

    def match_batches(self, roots: NDArray[np.int64]) -> Iterator[MatchBatch]:
        """The complex events of the roots that `advance` yielded last."""
        return self.store.match_batches(roots, self.output == "valuations")

    def classes(self, S: Stream) -> Classes:
        """The class of each event. They are the same for all evaluators of the automaton, so that events of several
        streams can be looked at together."""
        classes, types = classified(self.automaton.A.predicates, S)
        known = self.cache.ensure(types, self.budget).types
        numbers = [known[type_] for type_ in types]
        return classes if numbers == list(range(len(numbers))) else np.array(numbers, np.int32)[classes]

    def event_batches(
        self, S: Stream, classes: Classes | None = None, begins: Longs = NO_BEGINS
    ) -> Iterator[EventBatch]:
        """A batch piece by piece, each to be read before the next is taken; begins: as in `advance`.

        Whatever is wrong with the batch is found before anything changes.
        """
        self._require_whole()
        n, base, none = len(S), self.position, np.zeros(0, np.int64)
        if classes is None:
            classes = self.classes(S)
        if begins.size:
            classes = classes.copy()
            classes[begins] = -1 - classes[begins]
        low, admitted, range_windows = none, none.astype(np.bool_), []
        if not self.unwindowed:
            first = max(base + 1 - self.scope.events, -n) if self.scope.events is not None else -n
            low, admitted = np.maximum(np.arange(first, first + n), 0), np.ones(n, np.bool_)
            for range_window in self.range_windows:
                range_window_, low_, admitted_ = range_window.read(S.table, base, begins)
                range_windows.append(range_window_)
                # an event that reaches nowhere itself still follows what the ones before it have left behind
                low, admitted = np.maximum.accumulate(np.maximum(low, low_)), admitted & admitted_
        encoded = self.keys.read(S.table) if self.scope.attributes else None
        self.grow([], [])
        self.range_windows = range_windows
        self._whole = False
        for start in range(0, n, PIECE):
            part = slice(start, start + PIECE)
            piece = low[part]
            keys = np.zeros(piece.size, np.int32)
            if encoded is not None:
                keys = self._numbered(encoded, part, int(piece[0]))
            yield EventBatch(base + start, classes[part], keys, admitted[part], piece)
            self.position = base + min(start + PIECE, n)
        self._whole = True

    def _numbered(self, encoded: EncodedKeys, rows: slice, low: int) -> NDArray[np.int32]:
        """The number of the key of some events. Numbers of keys of which nothing is left are used again."""
        new = encoded.unknown(rows)
        if new.size > len(self.keys.free):
            used = self.store.compact(low)
            self.keys.keep(used)
            encoded.keep(used)
            new = encoded.unknown(rows)
            needed = self.keys.size - len(self.keys.free) + new.size
            if 2 * needed > self.keys.size:
                self.keys.grow(max(KEYS, 2 * needed))
                self.store.resize(self.tables.final.size, self.keys.size)
        self.keys.number(encoded, new)
        return encoded.numbers[encoded.codes[rows]]


class CompiledCelEvaluator(CelEvaluator, CompiledEvaluator):
    """The matches of a formula of CEL by compiled loops."""
