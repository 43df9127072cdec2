"""Find all matches of a stream with compiled code: the same answers as streaming.py, but much faster.

The loops do not know the query: they read the automaton from tables, and the events as numbers of classes. So numba
compiles each loop once for each machine; code made for each query would take seconds before its first event. All state
between batches is in flat arrays, so that it can be saved without pickles, and loaded with checks. What the tables lack
is computed when a batch brings events of a new type.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from itertools import pairwise
from operator import attrgetter
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cerify.automata.cea.model import Determinized
from cerify.automata.evaluate import streaming
from cerify.automata.evaluate.evaluation_plan import AutomatonPlan, EvaluationPlan, required_plan, scope_of_counts
from cerify.automata.evaluate.membership import CorrelatedFilterChecker, ListNodes, Spending, in_reference
from cerify.automata.evaluate.readable import AutomatonEvaluator, CelEvaluator, CoreEvaluator
from cerify.automata.evaluate.scope import KindOfValues, Scope, within_width
from cerify.automata.evaluate.scope_columns import (
    NO_BEGINS,
    NO_KEY,
    UNEQUAL,
    EncodedKeys,
    KeyTable,
    KeyWindowState,
    Longs,
    RangeWindowState,
    Rows,
    ascends,
    indices,
    nan_rows,
)
from cerify.automata.evaluate.tables import (
    EventBatch,
    MatchBatch,
    MatchStore,
    Numbers,
    Tables,
    TransitionCache,
    TransitionTables,
    classified,
    coded,
    require,
    sorted_arrays,
    tabulate,
    total,
    transition_tables,
)
from cerify.automata.evaluator import Batch, Consumption, Counters, Output
from cerify.semantics.arguments import Budget, check_time, timed_items, too_many_matches
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Match, Stream, Valuation, bindings_of
from cerify.semantics.match_frames import Matches
from cerify.semantics.values import kind

T = TypeVar("T")

# ---------------------------------------------------------------------------------------------------------------------
# Empty match stores. They need numba, which is imported when the first store is made.


@contextmanager
def numba_required() -> Iterator[None]:
    """Turn an import error inside the block into Unsupported if numba is not installed."""
    try:
        yield
    except ImportError as error:
        raise Unsupported(f"the compiled evaluator needs numba: pip install 'cerify[fast]' ({error})") from None


def unwindowed_store(labelled: bool) -> MatchStore:
    """Return a match store for formulas without windows and partitions. Raises Unsupported if numba is not
    installed.
    """
    with numba_required():
        from cerify.automata.evaluate.match_stores import UnwindowedStore
    return UnwindowedStore(labelled)


def windowed_store(reports_at_last_event: bool, windowed: bool, consuming: bool) -> MatchStore:
    """Return a match store for formulas with windows or partitions; for the arguments, see WindowedStore.

    Raises Unsupported if numba is not installed.
    """
    with numba_required():
        from cerify.automata.evaluate.match_stores import WindowedStore
    return WindowedStore(reports_at_last_event, windowed, consuming)


def keyed_store(reports_at_last_event: bool, windowed: bool, consuming: bool, ascending: bool) -> MatchStore:
    """Return a match store for formulas under PER KEY; for the arguments, see KeyedStore.

    Raises Unsupported if numba is not installed.
    """
    with numba_required():
        from cerify.automata.evaluate.chain_store import KeyedStore
    return KeyedStore(reports_at_last_event, windowed, consuming, ascending)


def chain_store(lengths: tuple[int, ...], is_last: bool, consuming: bool, ascending: bool) -> MatchStore:
    """Return a match store for LAST (is_last) or NXT of a number of events, such as LAST(A{60} ; B).

    lengths: the number of events in each run, here 60 and 1. consuming, ascending: see KeyedStore. Raises Unsupported
    if numba is not installed.
    """
    with numba_required():
        from cerify.automata.evaluate.chain_store import ChainStore, EarliestStore, RunsStore
    if not is_last:
        return EarliestStore(lengths, consuming, ascending)
    if len(lengths) == 1:
        return ChainStore(*lengths, consuming, ascending)
    return RunsStore(lengths, consuming, ascending)


# ---------------------------------------------------------------------------------------------------------------------
# The state of a compiled evaluator between batches, and its saved form.
#
# Its data are a header in JSON and flat arrays, in numpy's npz format without pickles. Compiled code does not
# check indices into arrays. So arrays are checked when they are loaded: the tables of the automaton must be the same,
# and indices must be inside the arrays.

MOST_RUNS = 63  # runs of counted events; a store for counted events has a bit for each run
LAST = 2**62  # the greatest position; compiled code counts on from it in 64 bits


FRONT = "lists grow at the front"


def values_store(length: int, consuming: bool, ascending: bool, labelled: bool) -> MatchStore:
    """Return a match store for LAST of events with different values; for the arguments, see ValuesStore.

    Raises Unsupported if numba is not installed.
    """
    with numba_required():
        from cerify.automata.evaluate.chain_store import ValuesStore
    return ValuesStore(length, consuming, ascending, labelled)


def divided_twice() -> Unsupported:
    """Return the error for PER KEY with PARTITION BY on another attribute, which the compiled evaluator does not
    support.
    """
    return Unsupported(
        "the compiled evaluator does not support PER KEY together with PARTITION BY on another attribute; "
        "write PER KEY [a, b] for both, or use evaluator='automaton'"
    )


class CompiledState(AutomatonEvaluator):
    """The state of a compiled evaluator: the shared automaton, and the arrays that depend on the stream.

    scope: the windows and partitions. cache: the automaton with its tables. snapshot: the tables that this evaluator
    uses. range_windows: the state of windows on values. key_window: the state of a window of events of a key. keys: the
    keys of partitions or PER KEY. store: the partial matches. Raises Unsupported for a partition under PER KEY on
    another attribute.
    """

    STATE = "compiled"

    def _start(self, automaton: Determinized) -> None:
        if self.scope.divided:
            raise divided_twice()
        self.cache = TransitionCache(automaton)
        self.unwindowed = self.scope.everything and self.consumption is Consumption.NONE
        self._begin()

    def _begin(self) -> None:
        """Set the state to the beginning of a stream."""
        self.range_windows = [RangeWindowState(a, width) for a, width in self.scope.widths]
        self.keys = KeyTable(self.scope.keys or self.scope.attributes)
        self.key_window = KeyWindowState(self.scope.key_events or 0)
        self.values, self.value_kind = (
            KeyTable(self.scope.values[:1] if self.scope.values else ()),
            KindOfValues(self.scope),
        )
        self.position, self._first, self.finished = 0, 0, False
        self.store = self._empty_store()
        self.snapshot = self.cache.snapshot
        self._whole = True

    @property
    def identity(self) -> str:
        """Return a text for the query and the options; evaluators with equal texts can exchange saved states.

        Without windows, the text also names the layout of the nodes, because a saved state fits only one layout.
        """
        if not self.unwindowed:
            if not self.lengths:
                return super().identity
            taken = "last" if self.chain is None or self.chain.is_last else "first"
            return f"{super().identity} the {taken} {' '.join(map(str, self.lengths))}"
        return f"{super().identity} {FRONT}"

    @property
    def lengths(self) -> tuple[int, ...]:
        """Return how many events each part of a chain takes: (60, 1) for LAST(A{60} ; B). () for other formulas."""
        runs = () if self.chain is None else self.chain.runs
        return tuple(length for _, length, _ in runs) if len(runs) <= MOST_RUNS else ()

    def _members(self) -> NDArray[np.uint64]:
        """Return for each class of events a bit mask of the runs of the chain in which such an event can stand."""
        predicates, runs = self.automaton.A.predicates, () if self.chain is None else self.chain.runs
        bits = [sum(1 << predicates.index(P) for P in {P for P, _ in link} if P in predicates) for link, _, _ in runs]
        members = (sum(1 << g for g, of_run in enumerate(bits) if type_ & of_run) for type_ in self.types)
        return np.fromiter(members, np.uint64, len(self.types))

    def _empty_store(self) -> MatchStore:
        if self.unwindowed:
            return unwindowed_store(self.output == "valuations")
        consuming = self.consumption is Consumption.ANY
        ascending = self.scope.key_events is None
        if self.scope.values:
            return values_store(self.scope.values[1], consuming, ascending, self.output == "valuations")
        if self.lengths and self.output == "matches" and not self.scope.attributes:
            assert self.chain is not None
            return chain_store(self.lengths, self.chain.is_last, consuming, ascending)
        if self.scope.keys:
            return keyed_store(self.reports_at_last_event, self.scope.windowed, consuming, ascending)
        return windowed_store(self.reports_at_last_event, self.scope.windowed, consuming)

    @property
    def automaton(self) -> Determinized:
        """Return the automaton, as far as it has been determinized."""
        return self.cache.automaton

    @property
    def types(self) -> Mapping[int, int]:
        """Return for each type of events its class in the tables of this evaluator."""
        return self.snapshot.types

    @property
    def tables(self) -> Tables:
        """Return the tables of the automaton over the types of this evaluator."""
        return self.snapshot.tables

    @property
    def transitions(self) -> TransitionTables:
        """Return the tables of the automaton by classes of events."""
        return self.snapshot.transitions

    @property
    def counters(self) -> Counters:
        return Counters(self.position - self._first, self.store.node_count, len(self.automaton.subsets))

    def fresh(self) -> Self:
        """Return an evaluator of the same query that has read nothing, with the same automaton and tables.

        Evaluators that share an automaton may run in different threads, but each of them only in one thread.
        """
        E = object.__new__(type(self))
        # Not by __init__: the automaton and its tables are shared, and _begin replaces all that depends on the stream.
        E.__dict__.update(self.__dict__)
        E._begin()
        return E

    def grow(self, types: list[int], growth: list[int]) -> None:
        """Add types of events to the tables and resize the store.

        growth: the number of types after each earlier extension of the tables, as a saved state lists them.
        """
        if growth:
            self.cache.grow(types, growth, self.budget)
        self.snapshot = self.cache.snapshot
        self.store.resize(self.tables.final.size, max(1, self.keys.size))
        self.store.members = self._members()

    def values_used(self) -> NDArray[np.bool_]:
        """Return which values of the attribute in DISTINCT a stored event has, as a mask over the numbers of values.

        Raises IndexError if a stored event has a number that is too large.
        """
        from cerify.automata.evaluate.chain_store import ValuesStore

        assert isinstance(self.store, ValuesStore)
        return self.store.values_used(self.values.size)

    def dump(self) -> bytes:
        self.grow([], [])  # because other evaluators of the automaton may have met more types
        header = {
            "position": self.position,
            "types": [str(type_) for type_ in self.types],
            "growth": self.snapshot.growth,
            "keys": self.keys.dump(),
            "clocks": [window.kind for window in self.range_windows],
        }
        if self.scope.values:
            header |= {"values": self.values.dump(), "room": self.values.size, "kind": self.value_kind.kind}
        arrays = self._arrays()
        for i, window in enumerate(self.range_windows):
            arrays |= {f"positions{i}": window.positions, f"values{i}": window.values}
        if self.scope.key_events is not None:
            arrays |= {"last_keys": self.key_window.keys, "last_positions": self.key_window.positions}
        text, file = np.frombuffer(json.dumps(header).encode(), np.uint8), BytesIO()
        np.savez(file, header=text, step=self.tables.step, **arrays)
        return file.getvalue()

    def _arrays(self) -> dict[str, Any]:
        return dict(self.store.arrays)

    def load(self, data: bytes) -> None:
        with np.load(BytesIO(data), allow_pickle=False) as loaded:
            arrays = dict(loaded)
        header = json.loads(arrays.pop("header").tobytes())
        fresh = self.fresh()
        fresh.cache = TransitionCache(self.automaton.anew())  # so that its states are numbered as in the saved state
        types, growth = list(map(int, header["types"])), list(map(int, header["growth"]))
        require(growth == sorted(set(growth)), "the numbers of types do not increase")
        require(max(growth, default=0) == len(set(types)), "the number of types is wrong")
        fresh.grow(types, growth)
        require(np.array_equal(fresh.tables.step, arrays["step"]), "the tables of the automaton differ")
        fresh.position = int(header["position"])
        require(0 <= fresh.position <= LAST, "the position is out of range")
        fresh.store.load(arrays, fresh.position)
        labels = fresh.store.labels
        require(((labels >= 0) & (labels < len(fresh.tables.labels))).all(), "a label is out of range")
        fresh._load_rest(arrays)
        if fresh.keys.attributes:
            fresh.keys.load(len(arrays["rows"]), header["keys"])
        if fresh.scope.values:
            fresh.values.load(int(header["room"]), header["values"])
            fresh.value_kind.kind = str(header["kind"])
            require(not fresh.values_used()[fresh.values.free].any(), "a value that is in use has no number")
        if fresh.scope.key_events is not None:
            fresh.key_window.load(arrays["last_keys"], arrays["last_positions"], fresh.keys.size, fresh.position)
        for i, (window, clock) in enumerate(zip(fresh.range_windows, header["clocks"], strict=True)):
            positions, values = arrays[f"positions{i}"].astype(np.int64), arrays[f"values{i}"]
            require(positions.shape == values.shape and values.ndim == 1, "a window on values is damaged")
            require(values.dtype.kind in "if", "a window on values is damaged")
            fresh.range_windows[i] = replace(window, positions=positions, values=values, kind=str(clock))
        self.__dict__.update(fresh.__dict__)

    def _load_rest(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Load the arrays that a subclass adds."""


# ---------------------------------------------------------------------------------------------------------------------
# Compiled evaluators that read a stream in batches, for all automata and for CEL.
#
# The window bounds what they keep, including the keys of a partition, unless the formula projects its last event away:
# then a match is reported again at every later position.

Classes: TypeAlias = NDArray[np.int32]

PIECE = 262_144  # events of a batch that are read at a time
KEYS = 256  # rows for keys at first


class CompiledEvaluator(CompiledState):
    """Runs an I/O-determinized automaton over a stream, within windows. The readable twin is ReadableEvaluator."""

    def push_stream(self, S: Stream, limit: int | None = None, classes: Classes | None = None) -> Matches:
        """Same as `push`, but for a Stream.

        classes: the result of `self.classes(S)`, if already computed.
        """
        if self.output == "matches":
            return Matches(sorted_arrays(self._limited(S, limit, classes)))
        # Python objects are made only here: with the output "matches", arrays go to the result as they are.
        found = []
        for matches in self._limited(S, limit, classes):
            names, ends = self.tables.labels, matches.offsets.tolist()
            events, labels = matches.events.tolist(), matches.labels.tolist()
            for at, start, end in timed_items(zip(matches.at.tolist(), ends[:-1], ends[1:], strict=True)):
                pairs = zip(events[start:end], labels[start:end], strict=True)
                bindings = bindings_of(frozenset((A, position) for position, l in pairs for A in names[l]))
                found.append(Match(at, tuple(events[start:end]), bindings))
        return Matches(sorted(found, key=attrgetter("at", "events", "bindings")))  # in C, not by Match.__lt__

    def push_arrow(self, batch: Batch, limit: int | None = None, classes: Classes | None = None) -> pa.Table:
        """Same as `push`, but return a table with the columns `at` and `events`. Its rows are not sorted."""
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
        """Read the next events; return the exact number of matches, without listing them.

        Without a partition, counting takes about as much time as reading; with windows, only while all numbers are
        below 2^61. In all other cases, each position with matches takes time linear in the number of nodes in the
        window.
        """
        return sum(total(numbers) for _, numbers in self.tallies(S, classes))

    def tallies(self, S: Stream, classes: Classes | None = None, begins: Longs = NO_BEGINS) -> Iterator[Numbers]:
        """Read the next events; yield positions with their numbers of matches. begins: see `advance`."""
        for batch in self.event_batches(S, classes, begins):
            yield from self.store.numbers(batch, self.transitions)

    def numbers(self, S: Stream) -> Iterator[tuple[int, int]]:
        """Read the next events; yield (position, number of matches) for each position with matches.

        Go through the whole iterator, because it reads the events as it goes.
        """
        number, at = 0, -1
        for positions, numbers in self.tallies(S):
            for position, more in zip(positions.tolist(), numbers.tolist(), strict=True):
                if position != at and number:
                    yield at, number
                number, at = (number if position == at else 0) + more, position
        if number:
            yield at, number

    def _limited(self, S: Stream, limit: int | None, classes: Classes | None = None) -> Iterator[MatchBatch]:
        """Yield the complex events of a batch in chunks, up to the limit; the batch is read to its end."""
        most = self.budget.matches if limit is None else limit
        found = 0
        for roots in self.advance(S, classes):
            # The events beyond the limit are read too, because later batches build on their partial matches.
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
        """Read all events; yield the roots of the completed sets of complex events, for `match_batches`.

        A root is a row (position, node). It is valid until the next one is requested. begins: the rows at which a new
        stream begins; positions continue to count there.
        """
        for batch in self.event_batches(S, classes, begins):
            for roots in self.store.advance(batch, self.transitions):
                check_time()
                yield roots

    def match_batches(self, roots: NDArray[np.int64]) -> Iterator[MatchBatch]:
        """Yield the complex events of the roots that `advance` has yielded last."""
        return self.store.match_batches(roots, self.output == "valuations")

    def classes(self, S: Stream) -> Classes:
        """Return the class of each event. Classes are the same for all evaluators of the automaton, so that events of
        several streams can be classified together.
        """
        from cerify.automata.evaluate.list_kernels import look_up

        codes, classes, types = coded(self.automaton.A.predicates, S)
        known = self.cache.ensure(types, self.budget).types
        numbers, found = np.array([known[type_] for type_ in types], np.int32), np.empty(len(codes), np.int32)
        look_up(codes, numbers[classes], found)
        return found

    def event_batches(
        self, S: Stream, classes: Classes | None = None, begins: Longs = NO_BEGINS
    ) -> Iterator[EventBatch]:
        """Yield a batch of events in pieces; read each piece before you request the next. begins: see `advance`.

        Errors in the batch are raised before anything changes.
        """
        self._require_whole()
        n, base = len(S), self.position
        if classes is None:
            classes = self.classes(S)
        if begins.size:
            # A copy, because the caller may give the same array to several evaluators; a negative class begins a
            # stream.
            classes = classes.copy()
            classes[begins] = -1 - classes[begins]
        if self.unwindowed:
            self.grow([], [])
            self._whole = False
            for start in range(0, n, PIECE):
                yield EventBatch.of_classes(classes[start : start + PIECE], base + start)
                self.position = base + min(start + PIECE, n)
        else:
            yield from self._in_scope(S, classes, begins)
        self.position, self._whole = base + n, True

    def _in_scope(self, S: Stream, classes: Classes, begins: Longs) -> Iterator[EventBatch]:
        """Yield the events that have an effect, in pieces, like `event_batches`, with their keys and windows."""
        base, rows = self.position, self._effective_rows(classes)
        positions, classes = base + indices(rows, len(S)), classes[rows]
        low, admitted = np.zeros(classes.size, np.int64), np.ones(classes.size, np.bool_)
        range_windows, seen = [], None
        if self.scope.events is not None:
            low = np.maximum(positions + 1 - min(self.scope.events, base + len(S)), 0)
        for range_window in self.range_windows:
            range_window_, low_, admitted_ = range_window.advance(S.table, base, begins, rows)
            range_windows.append(range_window_)
            # an event that is not admitted still keeps the bounds that earlier events have set
            low, admitted = np.maximum(low, low_), admitted & admitted_  # both ascend
            if range_window.attribute in self.scope.skipped:
                seen = admitted_ if seen is None else seen & admitted_
        encoded = self.keys.encode(S.table, rows) if self.keys.attributes else None
        values = self.values.encode(S.table, rows) if self.values.attributes else None
        if values is not None:
            self.value_kind.require(values.kinds if any(key is not None for key in values.keys) else ())
            unequal = nan_rows(S.table, self.value_kind.attribute)
        self.grow([], [])
        self.range_windows = range_windows
        self._whole = False
        for start in range(0, classes.size, PIECE):
            part = slice(start, start + PIECE)
            piece, compared = low[part], None
            keys = np.zeros(piece.size, np.int32)
            if values is not None:  # before the keys, because this may forget some keys
                compared = self._numbered_values(values, part, int(piece[0]), encoded)
                if unequal is not None:
                    compared = np.where(unequal[part], np.int32(UNEQUAL), compared)
            if encoded is not None:
                keys = self._numbered(encoded, part, int(piece[0]))
            if self.scope.key_events is not None:
                piece = np.maximum(piece, self.key_window.advance(keys, base, classes[part] < 0))
            if seen is not None:
                keys = np.where(seen[part], keys, np.int32(NO_KEY))
            yield EventBatch(base, classes[part], positions[part], keys, admitted[part], piece, compared)
            base = int(positions[part][-1]) + 1

    def _effective_rows(self, classes: Classes) -> Rows:
        """Return the rows of the events that have an effect on any partial match, or that count in a window."""
        busy = self.cache.snapshot.transitions.busy
        if busy.all() or self.scope.key_events is not None or self.scope.values:
            # A window of events of a key, and the newest values, also count events that no partial match can use.
            return slice(None)
        from cerify.automata.evaluate.list_kernels import effective_rows

        rows = np.empty(classes.size + 1, np.int64)
        return rows[: effective_rows(classes, busy, rows)]

    def _numbered(self, encoded: EncodedKeys, rows: slice, low: int) -> NDArray[np.int32]:
        """Return the numbers of the keys of some events. Numbers of forgotten keys are used again."""
        new = encoded.unknown(rows)
        if new.size > len(self.keys.free):
            self._forget_keys(low, encoded)
            new = encoded.unknown(rows)
            needed = self.keys.size - len(self.keys.free) + new.size
            if 2 * needed > self.keys.size:
                # Now at least half of the numbers are free. So the cost of looking for free ones is spread over many
                # new keys.
                self.keys.grow(max(KEYS, 2 * needed))
                self.store.resize(self.tables.final.size, self.keys.size)
        self.keys.number(encoded, new)
        return np.take(encoded.numbers, encoded.codes[rows])

    def _forget_keys(self, low: int, encoded: EncodedKeys | None) -> None:
        """Forget the keys that no match can use any more."""
        used = self.store.compact(low)
        if encoded is not None:
            self.keys.keep(used)
            self.key_window.keep(used)
            encoded.keep(used)

    def _numbered_values(
        self, values: EncodedKeys, rows: slice, low: int, encoded: EncodedKeys | None
    ) -> NDArray[np.int32]:
        """Return the numbers of the values of some events. Numbers of values without a stored event are used again."""
        new = values.unknown(rows)
        if new.size > len(self.values.free):
            self._forget_keys(low, encoded)
            used = self.values_used()
            self.values.keep(used)
            values.keep(used)
            new = values.unknown(rows)
            needed = self.values.size - len(self.values.free) + new.size
            if 2 * needed > self.values.size:
                self.values.grow(max(KEYS, 2 * needed))
        self.values.number(values, new)
        return np.take(values.numbers, values.codes[rows])


class CompiledCelEvaluator(CelEvaluator, CompiledEvaluator):
    """Finds the matches of a formula of CEL with compiled code."""


def matches(phi: Formula, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> Sequence[Match]:
    """Return all matches of a formula over a stream, sorted. Raises Unsupported, BudgetExceeded."""
    return evaluate_plan(required_plan(phi, budget), S, output, budget)


def evaluate_plan(
    plan: EvaluationPlan, S: Stream, output: Output = "matches", budget: Budget = Budget()
) -> Sequence[Match]:
    """Same as `matches`, but for the plan of a formula.

    If the values of a window's attribute decrease, the window is checked for each match.
    """
    scope: Scope | None
    if isinstance(plan, AutomatonPlan) and not plan.checks:
        # The only plans of one automaton that the compiled stores cannot run; see `divided_twice`.
        if plan.scope.divided:
            return sorted(streaming.evaluate_plan(plan, S, output, budget))
        scope = plan.scope
    else:
        scope = None if isinstance(plan, AutomatonPlan) else scope_of_counts(plan.phi)
        if scope is None or not _has_columns(S) or not all(ascends(S.table, a) for a in scope.skipped):
            return streaming.at_most(budget.matches, streaming.find_planned(plan, S, output, budget, filter_valuations))
    widths = tuple((a, width) for a, width in scope.widths if ascends(S.table, a))
    # Where values decrease, a window on values is no window on positions: it is left out here and checked at the end.
    scope, checked = replace(scope, widths=widths), set(scope.widths) - set(widths)
    found = CompiledCelEvaluator(scope.core, output, budget=budget, scope=scope).push_stream(S)
    if not checked:
        return found
    return [m for m in found if all(within_width(width, [S[i].get(a) for i in m.events]) for a, width in checked)]


def _has_columns(S: Stream) -> bool:
    """Return whether each attribute of a stream has values of one kind, so that the stream has a table."""
    kinds: dict[str, str] = {}
    return S.is_columnar or all(
        kinds.setdefault(name, kind(value)) == kind(value) for event in S for name, value in event.attributes.items()
    )


def filter_valuations(
    query: AutomatonPlan, automaton: Determinized, S: Stream, budget: Budget, spending: Spending
) -> Iterator[tuple[int, Valuation]]:
    """Yield the valuations of a formula that satisfy its cross-event filters, with their positions.

    A valuation is abandoned at the first event at which a filter fails. Without windows and partitions, compiled code
    reads the stream, and Python enumerates the valuations that it has stored. With windows or partitions that is no
    faster than the readable evaluator, so the readable evaluator is used.
    """
    if not query.scope.everything:
        return streaming.count_passing(query, automaton, S, budget, spending)
    checker = CorrelatedFilterChecker(query.checks, S, spending)
    return _filter_valuations(unwindowed_store(labelled=True), automaton, S, checker, budget)


def _filter_valuations(
    store: MatchStore, automaton: Determinized, S: Stream, checker: CorrelatedFilterChecker, budget: Budget
) -> Iterator[tuple[int, Valuation]]:
    classes, types = classified(automaton.A.predicates, S)
    tables = tabulate(automaton, types, budget)
    store.resize(tables.final.size, 1)
    for roots in store.advance(EventBatch.of_classes(classes), transition_tables(tables)):
        # Lists, because Python reads single items of an array much more slowly.
        marks = [tables.labels[label] for label in store.labels.tolist()]
        nodes = ListNodes(store.positions.tolist(), marks, *store.tree[1:3, : store.nodes].tolist())
        for position, ref, _ in roots.tolist():
            for mu in in_reference(nodes, ref, checker):
                yield position, streaming.without_marks(mu)


# ---------------------------------------------------------------------------------------------------------------------
# The compiled evaluator of batches for unary core-CEL; ReadableCoreEvaluator is its readable twin.


class CompiledCoreEvaluator(CoreEvaluator, CompiledEvaluator):
    """Finds the matches of a unary formula of core-CEL with compiled code.

    last: for a formula that looks ahead, the roots of the matches found last, as int64 [., 3]; see update_lists.
    """

    def advance(
        self, S: Stream, classes: Classes | None = None, begins: Longs = NO_BEGINS
    ) -> Iterator[NDArray[np.int64]]:
        """Read all events like CompiledEvaluator.advance, but yield no roots if the formula looks ahead.

        In that case the last roots are stored, from which the end of the stream reports the matches.
        """
        for roots in super().advance(S, classes, begins):
            if self.waits:
                # A copy, because the store uses the array of roots again.
                self.last = roots[roots[:, 0] == roots[-1, 0]].copy()
            else:
                yield roots

    def tally(self, S: Stream, classes: Classes | None = None) -> int:
        """Return the number of matches like `count`."""
        if not self.waits:
            return super().tally(S, classes)
        return len(self.push_stream(S, None, classes))

    def at_end(self) -> Iterator[tuple[int, ...]]:
        roots = self._last_roots()
        for matches in self.store.match_batches(roots, False) if roots.size else ():
            events, ends = matches.events.tolist(), matches.offsets.tolist()
            yield from (tuple(events[start:end]) for start, end in pairwise(ends))

    def _begin(self) -> None:
        super()._begin()
        self.last = np.empty((0, 3), np.int64)

    def _arrays(self) -> dict[str, Any]:
        return super()._arrays() | {"last": self._last_roots()}

    def _last_roots(self) -> NDArray[np.int64]:
        """Return the roots at the last position read; nodes of earlier roots may be deleted."""
        roots: NDArray[np.int64] = self.last[self.last[:, 0] == self.position - 1]
        return roots

    def _load_rest(self, arrays: dict[str, NDArray[Any]]) -> None:
        last = arrays["last"]
        require(last.dtype == np.int64 and last.shape[1:] == (3,), "the last roots have the wrong shape")
        lists = np.maximum(last[:, 1], ~last[:, 1])
        require(((last[:, 1] != 0) & (lists < self.store.nodes)).all(), "a root is out of range")
        self.last = last


def core_matches(phi: core.Formula, S: Stream, budget: Budget = Budget()) -> Sequence[Match]:
    """Return all matches of a stream, sorted. Raises Unsupported if filters compare events, and BudgetExceeded."""
    return CompiledCoreEvaluator(phi, budget).evaluate_stream(S)
