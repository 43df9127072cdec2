"""A determinized automaton as flat tables for the compiled kernels, for the event classes that a stream has had so far.

Events of the same type (tods21, Definition 5.6) are of the same class; the caller chooses the order of the classes.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, assert_never

from cerify.automata.cea.model import ADVICE, UNMARKED, Determinized, Marks
from cerify.automata.exploration import explore
from cerify.semantics import predicates as pred
from cerify.semantics.arguments import Budget, timed_items
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Event, Stream
from cerify.semantics.match_frames import PositionArrays
from cerify.semantics.packages import installed, np, pa
from cerify.semantics.predicates import atoms, classify_event, combined

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOWHERE = -1
BITS = 64  # bits of a mask of states; the states from 63 on share the last bit


@dataclass(frozen=True)
class Tables:
    """A complete description of an I/O-deterministic automaton over some classes of events.

    step: int32 [states, classes, labels], the state reached or -1. Label 0 does not mark, label l marks with labels[l].
    final: bool [states]. ended: bool [states], whether the state is final and has no steps. State 0 is initial.
    """

    step: NDArray[np.int32]
    final: NDArray[np.bool_]
    ended: NDArray[np.bool_]
    labels: tuple[Marks, ...]


@dataclass(frozen=True)
class TransitionTables:
    """The transitions of an automaton for each class of events, in the form that the compiled evaluator reads.

    skip: int32 [classes, states], the next state if the event is not marked. marks: int32 [., 3], the steps that mark
    the event, as rows (state, label, next state); rows begin[c] to begin[c + 1] belong to class c. finals: the final
    states. ended: bool [states], the final states without further steps; they can be dropped once they have been
    reported. moving, busy: uint64 [classes], masks of states, without the `ended` ones. moving: the states that an
    unmarked event changes. busy: the states in which an event of the class has any effect, and the final states.
    """

    skip: NDArray[np.int32]
    begin: NDArray[np.int32]
    marks: NDArray[np.int32]
    finals: NDArray[np.int32]
    ended: NDArray[np.bool_]
    moving: NDArray[np.uint64]
    busy: NDArray[np.uint64]

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return all arrays, in the order in which the compiled functions take them."""
        return self.skip, self.begin, self.marks, self.finals, self.ended, self.moving, self.busy


def tabulate(
    automaton: Determinized, types: list[int], budget: Budget = Budget(), labels: tuple[Marks, ...] = (UNMARKED,)
) -> Tables:
    """Return the automaton's transition tables for some classes of events. Raises BudgetExceeded.

    types: for each class, the type of its events as a bit mask. Labels and states keep the numbers that they have in
    earlier tables of the automaton.
    """

    def successors(state: int) -> list[tuple[tuple[int, Marks], int]]:
        return [((c, marks), q) for c, type_ in enumerate(types) for marks, q in automaton.step(state, type_)]

    try:
        found = explore([0], successors, budget.states, f"the table of {automaton.described()}", budget.seconds)
    except BudgetExceeded as error:
        if error.message.endswith(ADVICE):  # from a step of the automaton
            raise
        raise automaton.exceeded(error.message) from None
    numbers = {marks: l for l, marks in enumerate(labels)}
    for edges in found.values():
        for (_, marks), _ in edges:
            numbers.setdefault(marks, len(numbers))
    states = max(found) + 1
    step = np.full((states, len(types), len(numbers)), NOWHERE, np.int32)
    for state, edges in found.items():
        for (c, marks), target in edges:
            step[state, c, numbers[marks]] = target
    final = np.array([automaton.final[q] for q in range(states)])
    every = (1 << len(automaton.A.predicates)) - 1  # no event is in all predicates, but each transition takes this type
    ended = np.array([q in found and automaton.final[q] and not automaton.step(q, every) for q in range(states)])
    return Tables(step, final, ended, tuple(numbers))


def transition_tables(tables: Tables) -> TransitionTables:
    """Return the transitions for each class of events, in the form that the compiled code reads."""
    states, classes, _ = tables.step.shape
    # Many states may share the last bit: then some events without effect are read, and none with an effect is left out.
    bit = np.uint64(1) << np.minimum(np.arange(states), BITS - 1).astype(np.uint64)
    bit[tables.ended] = 0
    skip = np.ascontiguousarray(tables.step[:, :, 0].T)
    c, p, l = np.nonzero(tables.step[:, :, 1:].transpose(1, 0, 2) != NOWHERE)
    marks = np.stack([p, l + 1, tables.step[p, c, l + 1]], axis=1).astype(np.int32)
    begin = np.searchsorted(c, np.arange(classes + 1)).astype(np.int32)
    moving = np.bitwise_or.reduce(np.where(skip != np.arange(states), bit, np.uint64(0)), axis=1)
    marking = (tables.step[:, :, 1:] != NOWHERE).any(axis=2).T | tables.final
    busy = moving | np.bitwise_or.reduce(np.where(marking, bit, np.uint64(0)), axis=1)
    finals = np.flatnonzero(tables.final).astype(np.int32)
    return TransitionTables(skip, begin, marks, finals, tables.ended, moving, busy)


@dataclass(frozen=True)
class Snapshot:
    """The tables of an automaton for the types of events that have occurred so far. A larger snapshot replaces it.

    types: the class of each type. growth: the number of types after each extension; states are numbered extension by
    extension.
    """

    types: Mapping[int, int]
    growth: tuple[int, ...]
    tables: Tables
    transitions: TransitionTables


class TransitionCache:
    """An automaton with its transition tables. All evaluators of the automaton share it, also in several threads."""

    def __init__(self, automaton: Determinized) -> None:
        self.automaton = automaton
        nothing = np.zeros(1, np.bool_)
        tables = Tables(np.zeros((1, 0, 1), np.int32), nothing, nothing, (UNMARKED,))
        self.snapshot = Snapshot({}, (), tables, transition_tables(tables))
        self._growing = RLock()

    def ensure(self, types: list[int], budget: Budget) -> Snapshot:
        """Return tables that also cover these types of events. Raises BudgetExceeded."""
        if any(type_ not in self.snapshot.types for type_ in types):
            with self._growing:
                # Looked up again inside the lock: another thread may have added some of them.
                new = [type_ for type_ in types if type_ not in self.snapshot.types]
                self.grow(new, [len(self.snapshot.types) + len(new)] if new else [], budget)
        return self.snapshot

    def grow(self, types: list[int], growth: list[int], budget: Budget) -> None:
        """Extend the tables by types of events, in one or more steps. Raises BudgetExceeded.

        growth: the number of types after each step.
        """
        with self._growing:
            snapshot = self.snapshot
            classes, tables = dict(snapshot.types), snapshot.tables
            # In the steps of the first run: a saved state names states by number, and the numbers depend on the order
            # in which the states were found.
            for end in growth:
                new = types[: end - len(classes)]
                types = types[len(new) :]
                tables = tabulate(self.automaton, [*classes, *new], budget, tables.labels)
                classes |= {type_: len(classes) + i for i, type_ in enumerate(new)}
            self.snapshot = Snapshot(classes, (*snapshot.growth, *growth), tables, transition_tables(tables))


# ---------------------------------------------------------------------------------------------------------------------
# The types of a stream's events with respect to an automaton's predicates, as bit masks (tods21, Definition 5.6).

SHORT = 256  # events; below this, going event by event is faster than going by columns
DENSE = 1 << 16  # numbers; more than this are sorted rather than looked up in a table

TYPED = pred.Anything | pred.OfType
"""The atomic predicates that depend on the type of an event only."""

Mask: TypeAlias = "NDArray[np.bool_]"


def classify(predicates: Sequence[pred.Predicate], S: Stream) -> list[int]:
    """Return for each event of the stream a bit mask: bit i is set if the event satisfies predicates[i]."""
    if len(S) < SHORT or not installed("pyarrow"):
        numbers, types = _of_events(predicates, S)
    else:
        classes, types = classified(predicates, S)
        numbers = classes.tolist()
    return [types[c] for c in numbers]


def classified(predicates: Sequence[pred.Predicate], S: Stream) -> tuple[NDArray[np.int32], list[int]]:
    """Return the class of each event, and the type of each class as a bit mask; no two classes have the same type."""
    codes, classes, types = coded(predicates, S)
    return np.take(classes, codes), types


def coded(predicates: Sequence[pred.Predicate], S: Stream) -> tuple[NDArray[Any], NDArray[np.int32], list[int]]:
    """Return (codes, classes, types) for a stream: the class of event n is classes[codes[n]], with the type
    types[classes[codes[n]]], as in `classified`.
    """
    if len(S) < SHORT:
        found, types = _of_events(predicates, S)
        codes: NDArray[Any] = np.array(found, np.int32)
    else:
        columns = _Columns.from_stream(S)
        if all(map(_of_types, predicates)):
            codes, classes, types = _classes(predicates, replace(columns, codes=np.arange(len(columns.names))))
            return columns.codes, classes[codes], types
        return _classes(predicates, columns)
    return codes, np.arange(len(types), dtype=np.int32), types


def _of_events(predicates: Sequence[pred.Predicate], S: Stream) -> tuple[list[int], list[int]]:
    """Same as `classified`, but event by event."""
    events = S.events
    if all(map(_of_types, predicates)):
        by_type = {R: _mask(predicates, event) for R, event in {event.type: event for event in events}.items()}
        masks = [by_type[event.type] for event in events]
    else:
        masks = [_mask(predicates, event) for event in timed_items(events, 1)]  # numbers may be of any length
    numbers: dict[int, int] = {}
    classes = [numbers.setdefault(mask, len(numbers)) for mask in masks]
    return classes, list(numbers)


def _mask(predicates: Sequence[pred.Predicate], event: Event) -> int:
    return sum(1 << i for i in classify_event(predicates, event))


def _classes(
    predicates: Sequence[pred.Predicate], columns: _Columns
) -> tuple[NDArray[Any], NDArray[np.int32], list[int]]:
    """Return (codes, classes, types) for the rows, as in `coded`."""
    codes: NDArray[Any] = np.zeros(len(columns.codes), np.uint8)
    classes, types = np.zeros(256, np.int32), [0]
    for start in range(0, len(predicates), 8):
        byte = np.zeros(len(columns.codes), np.uint8)
        for i, P in enumerate(timed_items(predicates[start : start + 8], 1)):
            byte |= columns.mask(P).view(np.uint8) << np.uint8(i)
        if start == 0:  # most formulas need no more, and their rows keep codes of a byte
            there = byte.tobytes()
            # At most 256 searches, each of which ends at the first hit; np.unique would sort all rows.
            distinct = np.array([value for value in range(1 << len(predicates[:8])) if value in there], int)
            codes, classes[distinct] = byte, np.arange(distinct.size)
        else:
            codes, distinct = numbered((classes[codes].astype(np.int64) << 8) + byte, len(types) << 8)
            classes = np.arange(distinct.size, dtype=np.int32)
        types = [types[pair >> 8] | (pair & 255) << start for pair in distinct.tolist()]
    return codes, classes, types


def numbered(values: NDArray[Any], bound: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Number the distinct values of an array, from 0 on. Return (numbers, distinct), so that values ==
    distinct[numbers].

    All values must be in range(bound).
    """
    if bound > max(DENSE, 4 * values.size):
        distinct, numbers = np.unique(values, return_inverse=True)
        return numbers.astype(np.int32), distinct
    used = np.zeros(bound, np.bool_)
    used[values] = True
    return (np.cumsum(used) - 1).astype(np.int32)[values], np.flatnonzero(used)


def _of_types(P: pred.Predicate) -> bool:
    """Return whether a predicate depends only on the type of an event."""
    return isinstance(P, TYPED) or all(isinstance(atom, TYPED) for atom in atoms(P))


@dataclass(frozen=True)
class _Columns:
    """Predicates on the rows of a table; each test of an attribute is evaluated once.

    names: the number of each event type; codes: int [rows], the numbers of the rows' types; tests: the results so far.
    """

    table: pa.Table
    names: dict[str, int]
    codes: NDArray[Any]
    tests: dict[pred.Predicate, Mask] = field(default_factory=dict)

    @staticmethod
    def from_stream(S: Stream) -> _Columns:
        """Return the rows of a stream's table."""
        encoded = S.coded_types
        names = {str(name): code for code, name in enumerate(encoded.dictionary.to_pylist())}
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        return _Columns(S.table, names, codes.astype(np.uint8 if len(names) <= 256 else np.int32))

    def mask(self, P: pred.Predicate) -> Mask:
        """Return which rows satisfy the predicate."""
        return combined(P, self._of_atom, operator.invert, operator.and_, operator.or_)

    def _of_atom(self, P: pred.Atomic) -> Mask:
        match P:
            case pred.Anything():
                return np.ones(len(self.codes), np.bool_)
            case pred.OfType(name):
                code = self.names.get(name)
                return self.codes == code if code is not None else np.zeros(len(self.codes), np.bool_)
            case pred.Comparison() | pred.OneOf() | pred.InRange() | pred.Like():
                if P not in self.tests:
                    from cerify.semantics.columns import mask

                    self.tests[P] = mask(P, self.table).to_numpy(zero_copy_only=False)
                return self.tests[P]
            case _:
                assert_never(P)


def pieces(batch: Stream | pa.RecordBatch | pa.Table, size: int) -> list[Stream]:
    """Divide a batch into streams of this size; the last stream may be shorter."""
    S = batch if isinstance(batch, Stream) else Stream.from_table(batch)
    return [S.part(start, size) for start in range(0, len(S), size)]


# ---------------------------------------------------------------------------------------------------------------------
# The arguments and results of the compiled loops: batches of events and of matches.

CHUNK = 16_384  # complex events enumerated at a time, so that the result stays in a cache

Numbers: TypeAlias = "tuple[NDArray[np.int64], NDArray[Any]]"
"""Ascending positions, int64 [n], and a number for each: int64, or Python's integers (object) if that overflows."""


@dataclass(frozen=True)
class EventBatch:
    """Events as arrays. Events without effect on any partial match may be left out.

    base: from this position on, no event is left out. classes: the class of each event. positions: its position. keys:
    the number of its key, or -1. admitted: whether a match can contain it. low: the first position at which a match
    that ends with the event may begin. values: for DISTINCT, the number of its value; -1 if it has no value, -2 if the
    value equals no other. Without windows and partitions no event is left out, and only base and classes are used.
    """

    base: int
    classes: NDArray[np.int32]
    positions: NDArray[np.int64]
    keys: NDArray[np.int32]
    admitted: NDArray[np.bool_]
    low: NDArray[np.int64]
    values: NDArray[np.int32] | None = None

    def part(self, start: int, end: int) -> EventBatch:
        """Return the events from one index up to, but not including, another."""
        base = int(self.positions[start - 1]) + 1 if start else self.base
        return EventBatch(base, *(array[start:end] for array in self._arrays))

    def then(self, other: EventBatch) -> EventBatch:
        """Return these events followed by the other events."""
        return EventBatch(self.base, *map(np.concatenate, zip(self._arrays, other._arrays, strict=True)))

    @property
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return self.classes, self.positions, self.keys, self.admitted, self.low

    @classmethod
    def of_classes(cls, classes: NDArray[np.int32], base: int = 0) -> EventBatch:
        """Return the batch of consecutive events, given their classes, without windows and partitions."""
        none = np.zeros(0, np.int64)
        return cls(base, classes, none, none.astype(np.int32), none.astype(np.bool_), none)


@dataclass(frozen=True)
class MatchBatch:
    """Complex events as arrays.

    at: the position at which each complex event is reported. events: the positions of all complex events, one after
    the other; offsets: where each begins, as in an Arrow list array. labels: how each position is marked, as an index
    into Tables.labels; empty if not wanted.
    """

    at: NDArray[np.int64]
    offsets: NDArray[np.int64]
    events: NDArray[np.int64]
    labels: NDArray[np.int32]

    def first(self, number: int) -> MatchBatch:
        """Return the first complex events, at most the given number."""
        end = self.offsets[number]
        return MatchBatch(self.at[:number], self.offsets[: number + 1], self.events[:end], self.labels[:end])


def sorted_arrays(batches: Iterable[MatchBatch]) -> PositionArrays:
    """Return the complex events of all batches, sorted by where they are reported, then by their positions."""
    some = list(batches)
    if not some:
        return PositionArrays(np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, np.int64))
    at, events = (np.concatenate(arrays) for arrays in ([m.at for m in some], [m.events for m in some]))
    lengths = np.concatenate([np.diff(m.offsets) for m in some])
    starts = np.cumsum(lengths) - lengths
    longest = int(lengths.max(initial=0))
    if longest * len(at) <= 4 * len(events):
        # positions relative to `at` are so small that a complex event fits in one word; 0 stands after the end, so that
        # a complex event is before those that begin with it
        behind = events - np.repeat(at, lengths)
        behind = np.append(behind - behind.min(initial=0) + 1, 0)
        places = [behind[np.where(lengths > k, starts + k, -1)] for k in range(longest)]
        width, key = int(behind.max()) + 1, at - at.min(initial=0)
        if (int(key.max(initial=0)) + 1) * width**longest < 2**63:
            for column in places:
                key = key * width + column
            order = np.argsort(key, kind="stable")  # this is fast, because the keys are nearly sorted
        else:
            order = np.lexsort([at, *places][::-1])
    else:
        listed, whole = events.tolist(), np.arange(len(at)).tolist()
        order = np.array(sorted(whole, key=lambda i: (at[i], listed[starts[i] : starts[i] + lengths[i]])), np.int64)
    at, lengths, starts = at[order], lengths[order], starts[order]
    offsets = np.append(0, np.cumsum(lengths))
    return PositionArrays(at, offsets, events[np.repeat(starts - offsets[:-1], lengths) + np.arange(len(events))])


class Enumeration:
    """Lists complex events by a compiled loop, in chunks: has the place reached, and buffers that grow as needed."""

    def __init__(self, labelled: bool) -> None:
        self.path, self.marks = np.empty(1024, np.int64), np.empty(1024, np.int32)
        self.pending = np.empty((1024, 2), np.int32)
        self.state = np.zeros(4, np.int64)
        self._run = np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int64), np.zeros(2 * CHUNK, np.int32)
        self._labelled, self._room = labelled, 4 * CHUNK

    def match_batches(self, kernel: Any, roots: NDArray[np.int64], nodes: Any) -> Any:
        """Yield the complex events of the roots. kernel: enumerate_lists or enumerate_scoped, with its nodes."""
        r = -1
        while r < roots.shape[0]:
            # New arrays for each chunk: the caller may keep the chunks before.
            at, offsets = np.empty(CHUNK, np.int64), np.empty(CHUNK + 1, np.int64)
            offsets[0] = 0
            events = np.empty(self._room, np.int64)
            labels = np.empty(self._room if self._labelled else 0, np.int32)
            r, found = kernel(
                roots, r, nodes, self.path, self.marks, self.pending, self.state, self._run, at, offsets, events, labels
            )
            if found:
                yield MatchBatch(at, offsets, events, labels).first(found)
            elif r < roots.shape[0]:  # something does not fit: the path, the stack, or one complex event
                self.path, self.marks, self.pending = (
                    np.concatenate([x, np.empty_like(x)]) for x in (self.path, self.marks, self.pending)
                )
                self._room *= 2


def total(numbers: NDArray[Any]) -> int:
    """Return the sum of non-negative numbers as an exact integer of any size."""
    if numbers.dtype == object:
        return sum(numbers.tolist())
    # In halves of 32 bits, because the sum of many numbers below 2^61 does not fit in 64 bits.
    return (int((numbers >> 32).sum()) << 32) + int((numbers & 0xFFFFFFFF).sum())


def enlarged(tree: NDArray[Any], nodes: int, size: int) -> NDArray[Any]:
    """Return a larger array that begins with the nodes of a tree."""
    larger = np.zeros((*tree.shape[:-1], size), tree.dtype)  # what no kernel writes is saved, too
    width = nodes * tree.itemsize
    larger.view(np.uint8)[..., :width] = tree.view(np.uint8)[..., :width]  # field by field numpy is slow
    return larger


def require(condition: bool | np.bool_, otherwise: str) -> None:
    """Raise ValueError with the message `otherwise` unless the condition is true."""
    if not condition:
        raise ValueError(otherwise)


# ---------------------------------------------------------------------------------------------------------------------
# The partial matches of a compiled evaluator as arrays: nodes that share their beginnings.
#
# A single kind of store would be slow. Without windows and partitions a node needs no window, a state has one list
# instead of a series for each key, and matches are counted as events are read. See docs/guide/performance.md.

NODES_AT_FIRST = 32_768  # so many fit in a cache, and few compactions are needed


class MatchStore(ABC):
    """The partial matches of one stream. `tree` [..., capacity] has the nodes; node 0 is the terminator.

    growth: the factor by which the capacity grows. most: the greatest capacity. members: for a chain of events such as
    LAST(A{60} ; B), for each class a bit mask of the runs in which its events can stand; the evaluator sets it before
    each batch.
    """

    growth: ClassVar[int]
    most: ClassVar[int]
    members: NDArray[np.uint64]

    def __init__(self, rows: tuple[int, ...], node: np.dtype[Any]) -> None:
        self.tree: NDArray[Any] = np.zeros((*rows, NODES_AT_FIRST), node)
        self._compact_from = 0  # the capacity from which on compaction is tried; greater after one that freed little
        self._freed, self._loaded = 0, 1  # nodes removed by compaction; nodes at the beginning

    @property
    @abstractmethod
    def nodes(self) -> int:
        """Return the number of nodes."""

    @property
    def node_count(self) -> int:
        """Return the number of nodes made since the store was created or loaded."""
        return self.nodes + self._freed - self._loaded

    @property
    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays, by their names in saved states."""

    @property
    @abstractmethod
    def labels(self) -> NDArray[np.int32]:
        """Return the label of each node, as an index into Tables.labels."""

    @property
    @abstractmethod
    def positions(self) -> NDArray[np.int64]:
        """Return the position of each node. The position of a node that is not an event means nothing."""

    @abstractmethod
    def resize(self, states: int, keys: int) -> None:
        """Make room for this many states and keys. Raises BudgetExceeded."""

    def load(self, arrays: dict[str, NDArray[Any]], position: int) -> None:
        """Continue from saved arrays, which hold the state before the event at `position` is read.

        Raises ValueError, or an error of NumPy, for invalid arrays.
        """
        self._load(arrays, position)
        self._freed, self._loaded = 0, self.nodes

    def compact(self, bound: int) -> NDArray[np.bool_]:
        """Remove the nodes that no match can use any more, if no later match begins before the bound.

        Return for each key whether any node of it is left.
        """
        before = self.nodes
        used = self._compact(bound)
        self._freed += before - self.nodes
        return used

    @abstractmethod
    def advance(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[NDArray[np.int64]]:
        """Read events; yield arrays of roots, the nodes from which the completed matches can be listed.

        A row for a root begins with the position at which the matches are reported. Roots are valid until the next ones
        are requested. Raises BudgetExceeded.
        """

    @abstractmethod
    def match_batches(self, roots: NDArray[np.int64], labelled: bool) -> Iterator[MatchBatch]:
        """Yield the complex events of roots returned by the last call of `advance`."""

    @abstractmethod
    def numbers(self, batch: EventBatch, transitions: TransitionTables) -> Iterator[Numbers]:
        """Read events; yield the positions of the completed sets and the exact number of matches of each, in order."""

    @abstractmethod
    def _load(self, arrays: dict[str, NDArray[Any]], position: int) -> None: ...

    @abstractmethod
    def _compact(self, bound: int) -> NDArray[np.bool_]: ...

    def _make_room(self, more: int, bound: int) -> None:
        """Make room for more nodes, by compaction or a larger array. Raises BudgetExceeded."""
        size = self.tree.shape[-1]
        if bound > 0 or size >= self._compact_from:
            self.compact(bound)
            # A compaction walks all nodes. After one that freed less than half, the array grows first.
            self._compact_from = 16 * size if 2 * self.nodes > size else size
        while size < 2 * self.nodes + more:
            size *= self.growth
        size = min(size, self.most)
        if size < self.nodes + more:
            raise BudgetExceeded(f"the partial matches need more than {self.most} nodes; use a shorter window")
        if size > self.tree.shape[-1]:
            self.tree = enlarged(self.tree, self.nodes, size)
