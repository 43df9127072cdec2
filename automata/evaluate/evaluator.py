"""An evaluator that is handed a stream batch by batch, and keeps what it needs in between in flat arrays.

It runs the kernels for windows and partitions; one without either is a window that reaches back to the beginning. What
it keeps is bounded by the window (and by the number of keys), unless the formula projects its last event away: then
what has matched goes on matching for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.io_determinize import Determinized, single_variable
from cerify.automata.cea.model import UNMARKED
from cerify.automata.evaluate.classify import classify
from cerify.automata.evaluate.scope import punctual, split
from cerify.automata.evaluate.scope_columns import Clock, Keys
from cerify.automata.evaluate.tables import Tables, tabulate
from cerify.semantics.budget import Budget
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import Match, Stream, bindings_of

Consumption = Literal["none", "any"]
Output = Literal["matches", "valuations"]

CHUNK = 65_536  # complex events enumerated at a time
AT_FIRST = 32_768  # nodes
ROOTS = 16_384  # sets of complex events between two enumerations
LARGEST = 2**30  # nodes, and entries of a table of series
NODE = np.dtype(
    [("event", "<i8"), ("latest", "<i8"), ("floor", "<i8"), ("left", "<i4"), ("right", "<i4"), ("label", "<i2")],
    align=True,
)
STATES = {"series": np.int32, "sizes": np.int32, "active": np.int32, "actives": np.int32, "seen": np.int64}


@dataclass(frozen=True)
class Scene:
    """A batch as the kernels see it."""

    classes: NDArray[np.int32]
    keys: NDArray[np.int32]
    marks: NDArray[np.bool_]
    low: NDArray[np.int64]


@dataclass(frozen=True)
class Chunk:
    """Complex events: the position of each, the offsets of their nodes, and the nodes from first to latest."""

    at: NDArray[np.int64]
    offsets: NDArray[np.int64]
    nodes: NDArray[np.int32]


class Evaluator:
    """The matches of a formula over a stream that comes in batches.

    With consume="any" a position with a match forgets everything before it: what follows is evaluated as if the stream
    began there. With "none", the default, nothing is consumed. Raises Unsupported (also where numba is not installed),
    and BudgetExceeded.
    """

    def __init__(
        self, phi: Formula, *, output: Output = "matches", consume: Consumption = "none", budget: Budget = Budget()
    ) -> None:
        try:
            from cerify.automata.evaluate import scoped_kernels
        except ImportError as error:
            raise Unsupported(f"an evaluator of batches needs numba: pip install 'cerify[fast]' ({error})") from None
        self._kernels = scoped_kernels
        self.phi, self.output, self.consume, self.budget = phi, output, consume, budget
        self.scope = split(phi)
        A = compile_cel(self.scope.core, budget)
        self.automaton = Determinized(A if output == "valuations" else single_variable(A), budget)
        self.types: dict[int, int] = {}
        self.growth: list[int] = []
        self.clocks = [Clock(a, width) for a, width in self.scope.widths]
        self.keys = Keys(self.scope.attributes)
        self.position = 0  # of the next event
        self.unmarked, self.restart, self.nodes = 0, 0, 1
        self.tables = Tables(np.zeros((1, 0, 1), np.int32), np.zeros(1, np.bool_), (UNMARKED,))
        self.tree = np.zeros(AT_FIRST, NODE)
        self.tree["latest"][0] = np.iinfo(np.int64).max
        self.series = _series(0, 1)
        self._punctual = punctual(A)
        self._whole = True

    def push(self, batch: pa.RecordBatch | pa.Table, limit: int | None = None) -> list[Match]:
        """Read the rows of a batch; their matches, sorted, or the first ones that are found."""
        return self.read(Stream.from_table(_table(batch)), limit)

    def read(self, S: Stream, limit: int | None = None) -> list[Match]:
        """As push, for a piece of the stream as a Stream."""
        found = []
        for chunk in self._limited(S, limit):
            labels, events, marks = self.tables.labels, self.tree["event"], self.tree["label"]
            for at, start, end in zip(chunk.at.tolist(), chunk.offsets[:-1], chunk.offsets[1:], strict=True):
                path = chunk.nodes[start:end]
                positions = tuple(events[path].tolist())
                bindings = None
                if self.output == "valuations":
                    pairs = zip(positions, marks[path].tolist(), strict=True)
                    bindings = bindings_of(frozenset((A, position) for position, l in pairs for A in labels[l]))
                found.append(Match(at, positions, bindings))
        return sorted(found)

    def push_arrow(self, batch: pa.RecordBatch | pa.Table, limit: int | None = None) -> pa.Table:
        """As push; the matches as a table with the columns at and events, in the order in which they are found."""
        ats, lists = [], []
        for chunk in self._limited(Stream.from_table(_table(batch)), limit):
            ats.append(pa.array(chunk.at))
            lists.append(pa.LargeListArray.from_arrays(chunk.offsets, self.tree["event"][chunk.nodes]))
        return pa.table(
            {
                "at": pa.chunked_array(ats, pa.int64()),
                "events": pa.chunked_array(lists, pa.large_list(pa.int64())),
            }
        )

    def count(self, batch: pa.RecordBatch | pa.Table) -> int:
        """Read the rows of a batch; the exact number of their matches, which are not enumerated.

        The time is linear in the nodes of the window for each position with matches.
        """
        return self.count_in(Stream.from_table(_table(batch)))

    def count_in(self, S: Stream) -> int:
        """As count, for a piece of the stream as a Stream."""
        from cerify.automata.evaluate.counting import numbers

        return sum(sum(numbers(roots, self.tree)) for roots in self.advance(self.seen(S)))

    def _limited(self, S: Stream, limit: int | None) -> Iterator[Chunk]:
        """The complex events of a batch, a chunk at a time, as far as the limit; the batch is read to its end."""
        most = self.budget.matches if limit is None else limit
        found = 0
        for roots in self.advance(self.seen(S)):
            for chunk in self._enumerate(roots) if found < most or limit is None else ():
                if found + chunk.at.size <= most:
                    found += chunk.at.size
                    yield chunk
                elif limit is None:
                    raise BudgetExceeded(f"more than {most} matches; ask for the first ones, or count them")
                else:
                    left = most - found
                    found = most
                    yield Chunk(chunk.at[:left], chunk.offsets[: left + 1], chunk.nodes[: chunk.offsets[left]])
                    break

    def seen(self, S: Stream) -> Scene:
        """A batch as classes, keys and reach; whatever is wrong with it is found here, before anything changes."""
        self.require_whole()
        n, base = len(S), self.position
        types = classify(self.automaton.A.predicates, S)
        low = np.zeros(n, np.int64)
        if self.scope.events is not None:
            low = np.maximum(low, np.arange(base, base + n) - self.scope.events + 1)
        marks, clocks = np.ones(n, np.bool_), []
        for clock in self.clocks:
            clock_, low_, marks_ = clock.read(S.table, base)
            clocks.append(clock_)
            # an event that reaches nowhere itself still follows what the ones before it have left behind
            low, marks = np.maximum(low, low_), marks & marks_
        low = np.maximum.accumulate(low)
        keys = self.keys.read(S.table) if self.scope.attributes else np.zeros(n, np.int32)
        new = [type_ for type_ in dict.fromkeys(types) if type_ not in self.types]
        if new:
            self.grow(new, [len(self.types) + len(new)])
        self._widen()
        self.clocks = clocks
        return Scene(np.fromiter((self.types[t] for t in types), np.int32, n), keys, marks, low)

    def require_whole(self) -> None:
        """Raises InputError if an error has stopped the evaluator inside a batch."""
        if not self._whole:
            raise InputError("the evaluator stopped inside an earlier batch; go on from a saved state, or start again")

    def grow(self, types: list[int], growth: list[int]) -> None:
        """Extend the tables by types of events, in steps that end with so many; states are numbered step by step."""
        for end in growth:
            new = types[: end - len(self.types)]
            types = types[len(new) :]
            tables = tabulate(self.automaton, [*self.types, *new], self.budget, self.tables.labels)
            if self.scope.attributes and not patient(tables):
                raise Unsupported(
                    "the compiled evaluator partitions formulas that wait for their events whatever comes between; "
                    "this one (UNLESS, ALL, a strategy, PROJECT) needs the evaluator 'automaton'",
                    self.phi.span,
                )
            self.tables = tables
            self.types |= {type_: len(self.types) + i for i, type_ in enumerate(new)}
            self.growth.append(end)

    def _widen(self) -> None:
        """Room in the series for the states and keys there are."""
        keys, states = (len(self.keys.numbers) if self.scope.attributes else 1), self.tables.final.size
        old = self.series
        had_keys, had_states = old["sizes"].shape
        if keys > had_keys or states > had_states:
            keys = max(keys, had_keys if keys <= had_keys else 2 * had_keys)
            if keys * states * (states + 2) > LARGEST:
                raise BudgetExceeded(f"{keys} keys in {states} states are more than the compiled evaluator keeps")
            self.series = _series(keys, states)
            for name, array in old.items():
                self.series[name][tuple(map(slice, array.shape))] = array

    def advance(self, scene: Scene) -> Iterator[NDArray[np.int64]]:
        """Read all events; hand out the sets of complex events completed on the way, which have to be used at once."""
        step, final = self.tables.step, self.tables.final
        own = np.arange(final.size)[:, None]
        idle = (step[:, :, 0] == own) & (step[:, :, 1:] < 0).all(axis=2) & ~final[:, None]
        states, _, labels = step.shape
        width = self.series["series"].shape[2]
        room = (states + 1) * (labels + 2) * (width + 4)
        roots = np.empty((max(ROOTS, 2 * (states * width + 1)), 2), np.int64)
        flat = self.series["series"].reshape(-1)
        index, base, self._whole = 0, self.position, False
        while index < scene.classes.size:
            if self.tree.size - self.nodes < room:
                bound = scene.low[index] if self._punctual else 0
                self.nodes = self._kernels.compact(self.tree, self.nodes, *self.series.values(), self.restart, bound)
                while self.tree.size < 2 * self.nodes + room:
                    if self.tree.size > LARGEST:
                        raise BudgetExceeded("the window holds more than 2^30 nodes")
                    tree = np.empty(2 * self.tree.size, NODE)
                    tree[: self.nodes] = self.tree[: self.nodes]
                    self.tree = tree
            index, self.nodes, found, self.unmarked, self.restart = self._kernels.update_scoped(
                scene.classes, scene.keys, scene.marks, scene.low, base, index, step, idle, final,
                self._punctual, self.scope.windowed, self.consume == "any", self.unmarked, self.restart,
                self.tree, self.nodes, flat, *list(self.series.values())[1:], roots, 0,
            )  # fmt: skip
            self.position = base + index
            if found:
                yield roots[:found]
        self._whole = True

    def _enumerate(self, roots: NDArray[np.int64]) -> Iterator[Chunk]:
        path, pending, depths = (np.zeros(1024, np.int32) for _ in range(3))
        walk = np.zeros(3, np.int64)
        at, lengths, out = np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64), np.empty(4 * CHUNK, np.int32)
        r = -1
        while True:
            r, events, written = self._kernels.enumerate_scoped(
                roots, r, self.tree, path, pending, depths, walk, at, lengths, out
            )
            if events:
                offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[:events])])
                yield Chunk(at[:events].copy(), offsets, out[:written].copy())
            if r >= roots.shape[0]:
                return
            if not events:  # something does not fit: the path, the stack, or one event in out
                path, pending, depths = (np.concatenate([x, np.zeros_like(x)]) for x in (path, pending, depths))
                out = np.empty(2 * out.size, np.int32)


def patient(tables: Tables) -> bool:
    """Whether runs that have marked something make the same of every event they skip, and of several as of one.

    Then events of other keys can be left out, and what they do to the runs of a key be made up for later.
    """
    step, final = tables.step, tables.final
    if not tables.step.shape[1]:
        return True
    skip = step[:, 0, 0]
    marked = np.zeros(final.size, np.bool_)
    pending = [int(q) for q in np.unique(step[:, :, 1:]) if q >= 0]
    while pending:
        q = pending.pop()
        if not marked[q]:
            marked[q] = True
            pending.extend(int(t) for t in np.unique(step[q]) if t >= 0)
    return all(
        bool((step[q, :, 0] == skip[q]).all()) and (skip[q] < 0 or (skip[skip[q]] == skip[q] and not final[skip[q]]))
        for q in np.flatnonzero(marked)
    )


def _series(keys: int, states: int) -> dict[str, NDArray[Any]]:
    shapes = ((keys, states, states + 2), (keys, states), (keys, states), (keys,), (keys,))
    arrays = {name: np.zeros(shape, STATES[name]) for name, shape in zip(STATES, shapes, strict=True)}
    arrays["seen"][:] = -1
    return arrays


def _table(batch: pa.RecordBatch | pa.Table) -> pa.Table:
    return batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
