"""An evaluator that is handed a stream batch by batch, and keeps what it needs in between in flat arrays.

Under windows and partitions these are the trees of trees.py, else the lists of lists.py. What is kept is bounded by the
window, also the keys of a partition, unless the formula projects its last event away: then what has matched goes on
matching for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cerify.automata.cea.culprit import lazily
from cerify.automata.cea.io_determinize import Determinized, single_variable
from cerify.automata.evaluate.batches import EventBatch, MatchBatch, total
from cerify.automata.evaluate.classify import classified
from cerify.automata.evaluate.decorrelation import correlated
from cerify.automata.evaluate.partitions import partitioned
from cerify.automata.evaluate.scope import reports_at_last_event, strip_windows
from cerify.automata.evaluate.scope_columns import EncodedKeys, KeyTable, RangeWindowState
from cerify.automata.evaluate.tables import Tables, TransitionCache, TransitionTables
from cerify.semantics.budget import Budget, depth_limited
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded, IllFormed, InputError, Unsupported
from cerify.semantics.events import Match, Stream, bindings_of

if TYPE_CHECKING:
    from cerify.automata.evaluate.lists import Lists
    from cerify.automata.evaluate.trees import Trees

Consumption = Literal["none", "any"]
Output = Literal["matches", "valuations"]
Classes: TypeAlias = NDArray[np.int32]

PIECE = 262_144  # events of a batch that are read at a time
KEYS = 256  # rows for keys at first


class Evaluator:
    """The matches of a formula over a stream that comes in batches.

    With consume="any" a position with a match forgets everything before it: what follows is evaluated as if the stream
    began there. With "none", the default, nothing is consumed. Raises IllFormed, Unsupported (also where numba is not
    installed), and BudgetExceeded.
    """

    def __init__(
        self, phi: Formula, *, output: Output = "matches", consume: Consumption = "none", budget: Budget = Budget()
    ) -> None:
        for what, given, known in (("output", output, Output), ("consumption", consume, Consumption)):
            if given not in get_args(known):
                raise IllFormed(f"there is no {what} {given!r}; use one of {', '.join(get_args(known))}")
        try:
            from cerify.automata.evaluate.lists import Lists
            from cerify.automata.evaluate.trees import Trees
        except ImportError as error:
            raise Unsupported(f"an evaluator of batches needs numba: pip install 'cerify[fast]' ({error})") from None
        self.phi, self.output, self.consume, self.budget = phi, output, consume, budget
        self.scope = strip_windows(_decorrelated(phi))
        self.cache = TransitionCache(
            lazily(self.scope.core, budget, None if output == "valuations" else single_variable)
        )
        self.reports_at_last_event = reports_at_last_event(self.automaton.A)
        self._plain = self.scope.everything and consume == "none"
        self._empty: Callable[[], Lists | Trees] = (
            Lists if self._plain else partial(Trees, self.reports_at_last_event, self.scope.windowed, consume == "any")
        )
        self._begin()

    def _begin(self) -> None:
        """Be at the beginning of a stream."""
        self.range_windows = [RangeWindowState(a, width) for a, width in self.scope.widths]
        self.keys = KeyTable(self.scope.attributes)
        self.position = 0  # of the next event
        self.kept = self._empty()
        self.snapshot = self.cache.snapshot
        self._whole = True

    @property
    def automaton(self) -> Determinized:
        """The automaton, as far as it is determinized."""
        return self.cache.automaton

    @property
    def types(self) -> Mapping[int, int]:
        """The types of events that this evaluator knows of, each with its class."""
        return self.snapshot.types

    @property
    def tables(self) -> Tables:
        """The automaton over these types."""
        return self.snapshot.tables

    @property
    def transitions(self) -> TransitionTables:
        """The same by classes."""
        return self.snapshot.transitions

    def fresh(self) -> Evaluator:
        """An evaluator of the same formula that has read nothing; the two share the automaton and its tables.

        Evaluators that do may be in several threads, each of them in one.
        """
        E = copy(self)
        E._begin()
        return E

    def push(self, batch: pa.RecordBatch | pa.Table, limit: int | None = None) -> list[Match]:
        """Read the rows of a batch; their matches, sorted, or the first ones that are found."""
        return self.read(Stream.from_table(batch), limit)

    def read(self, S: Stream, limit: int | None = None, classes: Classes | None = None) -> list[Match]:
        """As push, for a piece of the stream as a Stream."""
        found = []
        for matches in self._limited(S, limit, classes):
            names, ends = self.tables.labels, matches.offsets.tolist()
            events, labels = matches.events.tolist(), matches.labels.tolist()
            for at, start, end in zip(matches.at.tolist(), ends[:-1], ends[1:], strict=True):
                bindings = None
                if self.output == "valuations":
                    pairs = zip(events[start:end], labels[start:end], strict=True)
                    bindings = bindings_of(frozenset((A, position) for position, l in pairs for A in names[l]))
                found.append(Match(at, tuple(events[start:end]), bindings))
        return sorted(found)

    def push_arrow(
        self, batch: pa.RecordBatch | pa.Table, limit: int | None = None, classes: Classes | None = None
    ) -> pa.Table:
        """As push; the matches as a table with the columns at and events, in the order in which they are found.

        classes: those of the events, if they are known; else they are looked up.
        """
        ats, lists = [], []
        for matches in self._limited(Stream.from_table(batch), limit, classes):
            ats.append(pa.array(matches.at))
            lists.append(pa.LargeListArray.from_arrays(matches.offsets, matches.events))
        return pa.table(
            {
                "at": pa.chunked_array(ats, pa.int64()),
                "events": pa.chunked_array(lists, pa.large_list(pa.int64())),
            }
        )

    def count(self, batch: pa.RecordBatch | pa.Table, classes: Classes | None = None) -> int:
        """Read the rows of a batch; the exact number of their matches, which are not enumerated.

        Without window and partition that takes no more than reading them; else time linear in the nodes of the window
        for each position with matches.
        """
        return self.count_in(Stream.from_table(batch), classes)

    def count_in(self, S: Stream, classes: Classes | None = None) -> int:
        """As count, for a piece of the stream as a Stream."""
        event_batches = self.event_batches(S, classes)
        return sum(
            total(numbers) for batch in event_batches for _, numbers in self.kept.numbers(batch, self.transitions)
        )

    def numbers(self, S: Stream) -> Iterator[tuple[int, int]]:
        """As count_in; each position with matches, and how many. To be taken to its end."""
        number, at = 0, -1
        for batch in self.event_batches(S):
            for positions, numbers in self.kept.numbers(batch, self.transitions):
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
                    raise BudgetExceeded(f"more than {most} matches; ask for the first ones, or count them")
                else:
                    left = most - found
                    found = most
                    yield matches.first(left)
                    break

    def advance(self, S: Stream, classes: Classes | None = None) -> Iterator[NDArray[np.int64]]:
        """Read all events; hand out the sets of complex events completed on the way, which have to be used at once."""
        for batch in self.event_batches(S, classes):
            yield from self.kept.advance(batch, self.transitions)

    def match_batches(self, roots: NDArray[np.int64]) -> Iterator[MatchBatch]:
        """The complex events of sets that advance has handed out."""
        return self.kept.match_batches(roots, self.output == "valuations")

    def classes(self, S: Stream) -> Classes:
        """The class of each event. They are the same for all evaluators of the automaton, so that events of several
        streams can be looked at together."""
        classes, types = classified(self.automaton.A.predicates, S)
        known = self.cache.ensure(types, self.budget).types
        numbers = [known[type_] for type_ in types]
        return classes if numbers == list(range(len(numbers))) else np.array(numbers, np.int32)[classes]

    def event_batches(self, S: Stream, classes: Classes | None = None) -> Iterator[EventBatch]:
        """A batch piece by piece, each to be read before the next is taken.

        Whatever is wrong with the batch is found before anything changes.
        """
        self.require_whole()
        n, base, none = len(S), self.position, np.zeros(0, np.int64)
        if classes is None:
            classes = self.classes(S)
        low, admitted, range_windows = none, none.astype(np.bool_), []
        if not self._plain:
            first = max(base + 1 - self.scope.events, -n) if self.scope.events is not None else -n
            low, admitted = np.maximum(np.arange(first, first + n), 0), np.ones(n, np.bool_)
            for range_window in self.range_windows:
                range_window_, low_, admitted_ = range_window.read(S.table, base)
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
            used = self.kept.let_go(low)
            self.keys.keep(used)
            encoded.keep(used)
            new = encoded.unknown(rows)
            needed = self.keys.size - len(self.keys.free) + new.size
            if 2 * needed > self.keys.size:
                self.keys.grow(max(KEYS, 2 * needed))
                self.kept.widen(self.tables.final.size, self.keys.size)
        self.keys.number(encoded, new)
        return encoded.numbers[encoded.codes[rows]]

    def require_whole(self) -> None:
        """Raises InputError if an error has stopped the evaluator inside a batch."""
        if not self._whole:
            raise InputError("the evaluator stopped inside an earlier batch; go on from a saved state, or start again")

    def grow(self, types: list[int], growth: list[int]) -> None:
        """Extend the tables by types of events, in steps that end with so many, and have room for all states."""
        if growth:
            self.cache.grow(types, growth, self.budget)
        self.snapshot = self.cache.snapshot
        self.kept.widen(self.tables.final.size, max(1, self.keys.size))


def _decorrelated(phi: Formula) -> Formula:
    """The formula, with filters as partitions where that is the same. Raises Unsupported for other correlated ones."""
    with depth_limited(phi.span):
        psi = partitioned(phi)
    for node in cel.subformulas(psi):
        if isinstance(node, cel.Filter) and correlated(node.condition):
            raise Unsupported(
                "an evaluator of batches carries a filter across events only if all events of a match agree on an "
                "attribute by it, as by PARTITION BY; collect the stream and use cerify.match, which carries all",
                node.span,
            )
    return psi
