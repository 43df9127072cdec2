"""Store the matches of LAST and NXT of counted events, such as `LAST(A{60})` and `LAST(A{3 DISTINCT [user]})`.

The automaton of such a chain (cea/compile.py) holds the last sixty events of the kind in sixty states and their nodes.
The stores here hold only the events of each key, so the time to add an event does not depend on the counts. They hold
the last positions for one kind of event; a node for each event, linked to the run before it, for several runs; and the
newest event of each of the newest values for DISTINCT.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerify.automata.evaluate import keyed_kernels as kernels
from cerify.automata.evaluate.match_stores import ENTRIES, NODE, ROOTS, TreeStore, numbers, require_tree
from cerify.automata.evaluate.scope_columns import UNEQUAL
from cerify.automata.evaluate.scoped_kernels import NODES
from cerify.automata.evaluate.tables import (
    EventBatch,
    MatchBatch,
    MatchStore,
    Numbers,
    TransitionTables,
    enlarged,
    require,
)
from cerify.semantics.errors import BudgetExceeded

AFTER = "an event is after the saved position"
POSITIONS = 2**20  # positions of the events of matches that are found before these matches are enumerated


class CountStore(MatchStore):
    """A match store for chains of single events, such as LAST(A{60} ; B). All matches have equally many events."""

    growth, most = 2, 2**30
    _length: int  # events of a match

    @abstractmethod
    def _find(self, batch: EventBatch, transitions: TransitionTables, listed: bool) -> Iterator[NDArray[np.int64]]:
        """Yield the roots of the matches of a batch. listed: whether the events of these matches will be listed; only
        then does a store without nodes keep them.
        """

    @property
    def labels(self) -> NDArray[np.int32]:
        """Return an empty array: all events of a match have the same marks, so no labels are stored."""
        return np.zeros(0, np.int32)

    def advance(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[NDArray[np.int64]]:
        return self._find(batch, transitions, listed=True)

    def match_batches(self, roots: NDArray[np.int64], labelled: bool) -> Iterator[MatchBatch]:
        most = max(1, POSITIONS // self._length)
        for start in range(0, len(roots), most):
            some = roots[start : start + most]
            offsets = np.arange(len(some) + 1, dtype=np.int64) * self._length
            yield MatchBatch(some[:, 0].copy(), offsets, self._list(some).reshape(-1), np.zeros(0, np.int32))

    @abstractmethod
    def _list(self, roots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the events of each match, one match per row."""

    def numbers(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[Numbers]:
        for roots in self._find(batch, transitions, listed=False):
            yield roots[:, 0].copy(), np.ones(len(roots), np.int64)


class ChainStore(CountStore):
    """A match store for LAST of a number of events of one kind, such as LAST(A{60}): the last events of each key.

    keyed_kernels.last_of_chain reads the events.

    length: the number of events in a match. consume, ascending: see KeyedStore. The kind of the events is known from
    the transitions of the automaton's initial state.
    """

    HOME = 2

    def __init__(self, length: int, consume: bool, ascending: bool) -> None:
        super().__init__((), NODE)
        self._length, self._consume, self._ascending = length, consume, ascending
        self.counters = np.zeros(kernels.COUNTERS, np.int64)
        self.rows = np.zeros((0, length), np.int64)
        self.home = np.zeros((0, self.HOME), np.int64)
        self._events = np.zeros(0, np.int64)  # the events of the matches found last, one match after the other

    @property
    def nodes(self) -> int:
        return int(self.counters[kernels.NODES_MADE])

    @property
    def node_count(self) -> int:
        return self.nodes - self._loaded + 1

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"counters": self.counters, "rows": self.rows, "home": self.home}

    @property
    def positions(self) -> NDArray[np.int64]:
        positions: NDArray[np.int64] = self.rows.reshape(-1)
        return positions

    def resize(self, states: int, keys: int) -> None:
        had = len(self.rows)
        if keys > had:
            if keys * self._length > ENTRIES:
                raise BudgetExceeded(
                    f"the last {self._length} events of {keys} keys do not fit in the compiled evaluator; use a "
                    "shorter window"
                )
            rows, home = np.zeros((keys, self._length), np.int64), np.full((keys, self.HOME), -1, np.int64)
            rows[:had], home[:had] = self.rows, self.home
            self.rows, self.home = rows, home

    def _load(self, arrays: dict[str, NDArray[Any]], position: int) -> None:
        counters, rows, home = (arrays[name] for name in ("counters", "rows", "home"))
        require(all(a.dtype == np.int64 for a in (counters, rows, home)), "an array has the wrong type")
        require(counters.shape == (kernels.COUNTERS,) and (counters >= 0).all(), "the counters have the wrong shape")
        require(rows.ndim == 2 and rows.shape[1] == self._length, "a table has the wrong shape")
        require(home.shape == (len(rows), self.HOME) and (home >= -1).all(), "a table has the wrong shape")
        require((home[:, kernels.COUNT] <= position).all(), "a count of events is too large")
        require(((rows >= 0) & (rows < max(1, position))).all(), AFTER)
        self.counters, self.rows, self.home = counters, np.ascontiguousarray(rows), np.ascontiguousarray(home)

    def compact(self, bound: int) -> NDArray[np.bool_]:
        """Forget the keys whose last event is before the bound. Return for each key whether anything is left."""
        present = self.home[:, kernels.STREAM] == self.counters[kernels.STREAMS]
        used: NDArray[np.bool_] = present & (self.home[:, kernels.COUNT] > 0)
        if self._ascending:
            used &= self._newest() >= bound
        self.home[~used] = -1
        return used

    def _newest(self) -> NDArray[np.int64]:
        """Return the position of the newest event of each key that has any."""
        newest = (np.maximum(self.home[:, kernels.COUNT], 1) - 1) % self._length
        positions: NDArray[np.int64] = self.rows[np.arange(len(self.rows)), newest]
        return positions

    def _compact(self, bound: int) -> NDArray[np.bool_]:
        return self.compact(bound)

    def _find(self, batch: EventBatch, transitions: TransitionTables, listed: bool) -> Iterator[NDArray[np.int64]]:
        most = max(1, POSITIONS // self._length) if listed else ROOTS
        roots, self._events = np.empty((most, 2), np.int64), np.empty(most * self._length * listed, np.int64)
        taken = np.array([bool(ways) for ways in _marks_of(transitions)], np.bool_)
        index = 0
        while index < batch.classes.size:
            index, found = kernels.last_of_chain(
                batch.classes, batch.keys, batch.admitted, batch.low, batch.positions, index, taken, self._consume,
                self.counters, self.rows, self.home, roots, self._events,
            )  # fmt: skip
            if found:
                yield roots[:found]

    def _list(self, roots: NDArray[np.int64]) -> NDArray[np.int64]:
        events: NDArray[np.int64] = self._events.reshape(-1, self._length)[roots[:, 1]]
        return events


class EarliestStore(ChainStore):
    """A match store for NXT of a number of events, such as NXT(A{3} ; B): for each key, the earliest events that fit.

    keyed_kernels.first_of_runs reads the events.

    lengths: how many events each run has; here B is a run of one event. A key is kept even if its events are outside
    every window.
    """

    HOME = 3

    def __init__(self, lengths: tuple[int, ...], consume: bool, ascending: bool) -> None:
        super().__init__(sum(lengths), consume, ascending)
        self._places = np.repeat(np.arange(len(lengths)), lengths)

    def _load(self, arrays: dict[str, NDArray[Any]], position: int) -> None:
        super()._load(arrays, position)
        require((self.home[:, kernels.COUNT] < self._length).all(), "a count of places is too large")

    def compact(self, bound: int) -> NDArray[np.bool_]:
        """Forget the keys without an event, whatever the bound. Return for each key whether it still has an event."""
        # No bound: without its earliest events a key would take later ones as the earliest, and report other matches.
        return super().compact(0)

    def _find(self, batch: EventBatch, transitions: TransitionTables, listed: bool) -> Iterator[NDArray[np.int64]]:
        most = max(1, POSITIONS // self._length) if listed else ROOTS
        roots, self._events = np.empty((most, 2), np.int64), np.empty(most * self._length * listed, np.int64)
        index = 0
        while index < batch.classes.size:
            index, found = kernels.first_of_runs(
                batch.classes, batch.keys, batch.admitted, batch.low, batch.positions, index, self.members,
                self._places, self._consume, self.counters, self.rows, self.home, roots, self._events,
            )  # fmt: skip
            if found:
                yield roots[:found]


class ValuesStore(ChainStore):
    """A match store for LAST of events with different values, such as LAST(A{3 DISTINCT [user]}).

    For each key it has the newest event of each of the newest values. keyed_kernels.newest_values reads the events.

    labelled: whether matches differ by how their events are marked. The other arguments are those of ChainStore.
    """

    HOME = 3

    def __init__(self, length: int, consume: bool, ascending: bool, labelled: bool) -> None:
        super().__init__(length, consume, ascending)
        self.names, self.kinds = np.zeros((2, 0, length), np.int32)
        self._labelled, self._ways = labelled, list[list[int]]()
        self._classes = np.zeros(0, np.int32)  # the classes of the events of the matches found last

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        return super().arrays | {"names": self.names, "kinds": self.kinds}

    @property
    def positions(self) -> NDArray[np.int64]:
        return super().positions >> 1

    def values_used(self, size: int) -> NDArray[np.bool_]:
        """Return for each of the first `size` values whether an event with that value is kept."""
        used, count = np.zeros(size, np.bool_), self.home[:, kernels.COUNT]
        kept = self.names[np.arange(self._length) < count[:, None]]
        used[kept[kept >= 0]] = True
        return used

    def resize(self, states: int, keys: int) -> None:
        had = len(self.rows)
        super().resize(states, keys)
        if keys > had:
            names, kinds = np.zeros((2, keys, self._length), np.int32)
            names[:had], kinds[:had] = self.names, self.kinds
            self.names, self.kinds = names, kinds

    def _load(self, arrays: dict[str, NDArray[Any]], position: int) -> None:
        super()._load(arrays | {"rows": arrays["rows"] >> 1}, position)
        names, kinds = arrays["names"], arrays["kinds"]
        require(names.dtype == np.int32 and kinds.dtype == np.int32, "an array has the wrong type")
        require(names.shape == kinds.shape == self.rows.shape, "a table has the wrong shape")
        require((self.home[:, kernels.COUNT :] <= self._length).all(), "a count of places is too large")
        require(
            (names >= UNEQUAL).all() and ((kinds >= 0) & (kinds < max(1, self.members.size))).all(),
            "a number is out of range",
        )
        self.rows, self.names, self.kinds = map(np.ascontiguousarray, (arrays["rows"], names, kinds))

    def _newest(self) -> NDArray[np.int64]:
        newest: NDArray[np.int64] = self.rows.max(axis=1, initial=0) >> 1
        return newest

    def _find(self, batch: EventBatch, transitions: TransitionTables, listed: bool) -> Iterator[NDArray[np.int64]]:
        self._ways = _marks_of(transitions)
        listed = listed or self._labelled
        most = max(1, POSITIONS // self._length) if listed else ROOTS
        roots, self._events = np.empty((most, 2), np.int64), np.empty(most * self._length * listed, np.int64)
        self._classes, index = np.empty(self._events.size, np.int32), 0
        taken = np.array([bool(ways) for ways in self._ways], np.bool_)
        while index < batch.classes.size:
            index, found = kernels.newest_values(
                batch.classes, batch.keys, batch.values, batch.admitted, batch.low, batch.positions, index, taken,
                self._consume, self.counters, self.rows, self.names, self.kinds, self.home, roots, self._events,
                self._classes,
            )  # fmt: skip
            if found:
                yield roots[:found]

    def _list(self, roots: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.sort(super()._list(roots), axis=1)

    def match_batches(self, roots: NDArray[np.int64], labelled: bool) -> Iterator[MatchBatch]:
        if not labelled:
            yield from super().match_batches(roots, labelled)
            return
        for at, row in roots.tolist():
            part = slice(row * self._length, (row + 1) * self._length)
            order = np.argsort(self._events[part])
            events, ways = self._events[part][order], (self._ways[c] for c in self._classes[part][order].tolist())
            labels = np.array(list(product(*ways)), np.int32)
            offsets = np.arange(len(labels) + 1, dtype=np.int64) * self._length
            ats = np.full(len(labels), at, np.int64)
            yield MatchBatch(ats, offsets, np.tile(events, len(labels)), labels.reshape(-1))

    def numbers(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[Numbers]:
        if not self._labelled:
            yield from super().numbers(batch, transitions)
            return
        for roots in self._find(batch, transitions, listed=True):
            # Python's integers, because sixty events with two ways each are 2^60 matches, and more do not fit in 64
            # bits.
            ways = np.array([max(1, len(ways)) for ways in self._ways], object)
            classes = self._classes.reshape(-1, self._length)[: len(roots)]
            yield roots[:, 0].copy(), ways[classes].prod(axis=1)


def _marks_of(transitions: TransitionTables) -> list[list[int]]:
    """Return, for each class of events, the label sets of the transitions from the initial state that mark it."""
    begin = transitions.begin.tolist()
    steps = [transitions.marks[begin[c] : begin[c + 1]] for c in range(len(transitions.skip))]
    return [of_class[of_class[:, 0] == 0, 1].tolist() for of_class in steps]


class RunsStore(CountStore):
    """A match store for LAST of several runs of events, such as LAST(A{60} ; B), for each key.

    keyed_kernels.last_of_runs reads the events.

    lengths: how many events each run has. consume, ascending: see KeyedStore. With windows, only the nodes in the
    window are kept.
    """

    def __init__(self, lengths: tuple[int, ...], consume: bool, ascending: bool) -> None:
        super().__init__((kernels.RUN_NODE,), np.dtype(np.int64))
        self._loaded = 0
        self._lengths = np.array(lengths, np.int64)
        self._begins = np.cumsum(self._lengths) - self._lengths
        self._length, self._consume, self._ascending = sum(lengths), consume, ascending
        self.counters = np.zeros(kernels.COUNTERS, np.int64)
        self.ring = np.zeros((0, self._length), np.int64)
        self.taken = np.zeros((0, len(lengths)), np.int64)
        self.home = np.zeros((0, 2), np.int64)

    @property
    def nodes(self) -> int:
        return int(self.counters[kernels.NODES_MADE] - self.counters[kernels.KEPT_FROM])

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        kept = {"counters": self.counters, "tree": self.tree[:, : self.nodes]}
        return kept | {"rows": self.ring, "taken": self.taken, "home": self.home}

    @property
    def positions(self) -> NDArray[np.int64]:
        positions: NDArray[np.int64] = self.tree[kernels.EVENT, : self.nodes]
        return positions

    def resize(self, states: int, keys: int) -> None:
        had = len(self.ring)
        if keys > had:
            if keys * self._length > ENTRIES:
                raise BudgetExceeded(
                    f"the last {self._length} events of {keys} keys do not fit in the compiled evaluator; use a "
                    "shorter window"
                )
            ring, taken = np.zeros((keys, self._length), np.int64), np.zeros((keys, self._lengths.size), np.int64)
            home = np.full((keys, 2), -1, np.int64)
            ring[:had], taken[:had], home[:had] = self.ring, self.taken, self.home
            self.ring, self.taken, self.home = ring, taken, home

    def _load(self, arrays: dict[str, NDArray[Any]], position: int) -> None:
        counters, tree, ring, taken, home = (arrays[n] for n in ("counters", "tree", "rows", "taken", "home"))
        require(all(a.dtype == np.int64 for a in (counters, tree, ring, taken, home)), "an array has the wrong type")
        require(counters.shape == (kernels.COUNTERS,) and (counters >= 0).all(), "the counters have the wrong shape")
        made, kept = int(counters[kernels.NODES_MADE]), int(counters[kernels.KEPT_FROM])
        require(tree.shape == (kernels.RUN_NODE, made - kept), "the number of nodes is wrong")
        require(ring.ndim == 2 and ring.shape[1] == self._length, "a table has the wrong shape")
        require(taken.shape == (len(ring), self._lengths.size) and (taken >= 0).all(), "a table has the wrong shape")
        require(home.shape == (len(ring), 2) and (home >= -1).all(), "a table has the wrong shape")
        require(((ring >= 0) & (ring < max(1, made))).all(), "a node is after the saved position")
        numbers = np.arange(kept, made)
        links = tree[[kernels.BEFORE, kernels.BASE]]
        require((links < numbers).all(), "a node is after the saved position")
        require((tree[[kernels.EVENT, kernels.FIRST, kernels.FIRST_OF_BASE]] < position).all(), AFTER)
        self.counters, self.tree = counters, enlarged(tree, made - kept, made - kept + POSITIONS // 64)
        self.ring, self.taken, self.home = map(np.ascontiguousarray, (ring, taken, home))

    def _compact(self, bound: int) -> NDArray[np.bool_]:
        """Forget the nodes whose event, and the keys whose last event, is before the bound."""
        used: NDArray[np.bool_] = self.home[:, kernels.STREAM] == self.counters[kernels.STREAMS]
        if self._ascending:
            used &= self.home[:, kernels.COUNT] >= bound
            over = int(np.searchsorted(self.positions, bound))
            self.tree[:, : self.nodes - over] = self.tree[:, over : self.nodes].copy()
            self.counters[kernels.KEPT_FROM] += over
        self.home[~used] = -1
        return used

    def _find(self, batch: EventBatch, transitions: TransitionTables, listed: bool) -> Iterator[NDArray[np.int64]]:
        roots, index = np.empty((ROOTS, 2), np.int64), 0
        while index < batch.classes.size:
            index, found = kernels.last_of_runs(
                batch.classes, batch.keys, batch.admitted, batch.low, batch.positions, index, self.members,
                self._lengths, self._begins, self._consume, self.counters, self.tree, self.ring, self.taken, self.home,
                roots,
            )  # fmt: skip
            if found:
                yield roots[:found]
            room = self._lengths.size
            if index < batch.classes.size and self.nodes + room > self.tree.shape[1]:
                self._make_room(room, int(batch.low[index]) if self._ascending else 0)

    def _list(self, roots: NDArray[np.int64]) -> NDArray[np.int64]:
        events = np.empty((len(roots), self._length), np.int64)
        kernels.list_runs(roots, self._lengths, self.counters[kernels.KEPT_FROM], self.tree, events)
        return events


# ---------------------------------------------------------------------------------------------------------------------
# The match store under PER KEY: the sets of ces.py for the stream of each key, compiled.


class KeyedStore(TreeStore):
    """A match store under PER KEY: each key has its own partial matches in each state of the automaton.

    reports_at_last_event, windowed, consume: see WindowedStore. ascending: whether the windows never move back along
    the whole stream. A window of n events of each key may move back, because the next event may have another key.
    """

    growth, most = 2, 2**30

    def __init__(self, reports_at_last_event: bool, windowed: bool, consume: bool, ascending: bool) -> None:
        self._how = reports_at_last_event, windowed, consume
        self._bounded = reports_at_last_event and ascending
        super().__init__((), NODE)
        self.tree["latest"][0] = np.iinfo(np.int64).max
        self.counters = np.zeros(kernels.COUNTERS, np.int64)
        self.counters[kernels.NODES_MADE] = 1
        self.rows = np.zeros((0, 0, NODES), np.int32)
        self.home = np.zeros((0, kernels.HOME), np.int64)

    @property
    def nodes(self) -> int:
        return int(self.counters[kernels.NODES_MADE])

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"tree": self.tree[: self.nodes], "counters": self.counters, "rows": self.rows, "home": self.home}

    def resize(self, states: int, keys: int) -> None:
        had_keys, had_states, had_width = self.rows.shape
        if keys > had_keys or states > had_states:
            keys = max(had_keys, keys)
            shape = keys, states, NODES + states + 2
            if np.prod(shape, dtype=object) > ENTRIES:
                raise BudgetExceeded(
                    f"the compiled evaluator has no room for {keys} keys and {states} states; use a shorter window"
                )
            rows = np.zeros(shape, np.int32)
            rows[:had_keys, :had_states, :had_width] = self.rows
            home = np.full((keys, kernels.HOME), -1, np.int64)  # they belong to no stream
            home[:had_keys] = self.home
            self.rows, self.home = rows, home

    def _load(self, arrays: dict[str, NDArray[Any]], position: int) -> None:
        tree, counters, rows, home = (arrays[name] for name in ("tree", "counters", "rows", "home"))
        require(tree.dtype == NODE and counters.dtype == np.int64, "an array has the wrong type")
        require(rows.dtype == np.int32 and home.dtype == np.int64, "an array has the wrong type")
        tree = tree.view(NODE)
        require(rows.ndim == 3 and rows.shape[1:] == self.rows.shape[1:], "a table has the wrong shape")
        require(home.shape == (len(rows), kernels.HOME), "a table has the wrong shape")
        require(
            counters.shape == (kernels.COUNTERS,) and counters[kernels.NODES_MADE] == tree.size >= 1,
            "the number of nodes is wrong",
        )
        require_tree(tree, position)
        stream = int(counters[kernels.STREAMS])
        fitting = 0 <= stream < 2**62 and kernels.rows_fit(rows, home, stream, tree.size)
        require(fitting, "the rows of a key are damaged")
        self.tree, self.counters = tree, counters
        self.rows, self.home = np.ascontiguousarray(rows), np.ascontiguousarray(home)

    def _compact(self, bound: int) -> NDArray[np.bool_]:
        used = np.zeros(len(self.rows), np.bool_)
        kernels.compact_keyed(self.tree, self.rows, self.home, used, self.counters, bound if self._bounded else 0)
        return used

    def advance(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[NDArray[np.int64]]:
        roots = np.empty((ROOTS, 2), np.int64)
        made, into = (np.empty(2 * len(transitions.marks), np.int32) for _ in range(2))
        aside = np.empty(self.rows[:1].size, np.int32)
        index = 0
        while True:
            index, found = kernels.update_keyed(
                batch.classes, batch.keys, batch.admitted, batch.low, batch.positions, index, *transitions.arrays,
                *self._how, self.counters, made, into, aside, self.tree, self.rows, self.home, roots,
            )  # fmt: skip
            if found:
                yield roots[:found]
            if index == batch.classes.size:
                return
            room, ends = self.counters[[kernels.NODES_SHORT, kernels.ROOTS_SHORT]].tolist()
            if self.nodes + room > self.tree.size:
                self._make_room(room, int(batch.low[index]) if self._bounded else 0)
            if ends > len(roots):
                roots = np.empty((2 * ends, 2), np.int64)

    def numbers(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[Numbers]:
        for roots in self.advance(batch, transitions):
            yield roots[:, 0].copy(), numbers(roots, self.tree)
