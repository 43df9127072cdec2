"""The state of a compiled evaluator between batches, and its saved form.

Its data are a header in JSON and flat arrays, in numpy's npz format without pickles. The loops trust their arrays, so
they are checked when they are loaded: the tables of the automaton are the same, and indices lie inside the arrays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cerify.automata.cea.io_determinize import Determinized
from cerify.automata.evaluate.automaton_evaluator import AutomatonEvaluator
from cerify.automata.evaluate.batches import require
from cerify.automata.evaluate.match_store import MatchStore
from cerify.automata.evaluate.scope_columns import KeyTable, RangeWindowState
from cerify.automata.evaluate.stores import unwindowed_store, windowed_store
from cerify.automata.evaluate.tables import Tables, TransitionCache, TransitionTables
from cerify.automata.evaluator import Consumption, Counters

LAST = 2**62  # position; the loops count on from it in 64 bits


FRONT = "lists grow at the front"


class CompiledState(AutomatonEvaluator):
    """The state of a compiled evaluator: the automaton, shared with others, and all that depends on the stream.

    scope: the windows and partitions. cache: the automaton with its tables; snapshot: those that this evaluator uses.
    range_windows and keys: the state of windows on values and of partitions. store: the partial matches.
    """

    STATE = "compiled"

    def _start(self, automaton: Determinized) -> None:
        self.cache = TransitionCache(automaton)
        self.unwindowed = self.scope.everything and self.consumption is Consumption.NONE
        self._begin()

    def _begin(self) -> None:
        """Be at the beginning of a stream."""
        self.range_windows = [RangeWindowState(a, width) for a, width in self.scope.widths]
        self.keys = KeyTable(self.scope.attributes)
        self.position, self._first, self.finished = 0, 0, False
        self.store = self._empty_store()
        self.snapshot = self.cache.snapshot
        self._whole = True

    @property
    def identity(self) -> str:
        """As of all evaluators; without windows also the layout of the nodes, which was another in release 0.1."""
        return f"{super().identity} {FRONT}" if self.unwindowed else super().identity

    def _empty_store(self) -> MatchStore:
        if self.unwindowed:
            return unwindowed_store(self.output == "valuations")
        consuming = self.consumption is Consumption.ANY
        return windowed_store(self.reports_at_last_event, self.scope.windowed, consuming)

    @property
    def automaton(self) -> Determinized:
        """The automaton, as far as it is determinized."""
        return self.cache.automaton

    @property
    def types(self) -> Mapping[int, int]:
        """The class of each type of events in the tables of this evaluator."""
        return self.snapshot.types

    @property
    def tables(self) -> Tables:
        """The automaton over these types."""
        return self.snapshot.tables

    @property
    def transitions(self) -> TransitionTables:
        """The same by classes."""
        return self.snapshot.transitions

    @property
    def counters(self) -> Counters:
        return Counters(self.position - self._first, self.store.made, len(self.automaton.subsets))

    def fresh(self) -> Self:
        """As Evaluator.fresh, with the same automaton and tables.

        Evaluators that share these may run in several threads, each of them in one.
        """
        E = object.__new__(type(self))
        E.__dict__.update(self.__dict__)
        E._begin()
        return E

    def grow(self, types: list[int], growth: list[int]) -> None:
        """Extend the tables by types of events, in steps that end with these numbers of types; resize the store."""
        if growth:
            self.cache.grow(types, growth, self.budget)
        self.snapshot = self.cache.snapshot
        self.store.resize(self.tables.final.size, max(1, self.keys.size))

    def dump(self) -> bytes:
        self.grow([], [])  # as others of the automaton may have met more types
        header = {
            "position": self.position,
            "types": [str(type_) for type_ in self.types],
            "growth": self.snapshot.growth,
            "keys": [[kinds, list(numbers), list(numbers.values())] for kinds, numbers in self.keys.numbers.items()],
            "clocks": [window.kind for window in self.range_windows],
        }
        arrays = self._arrays()
        for i, window in enumerate(self.range_windows):
            arrays |= {f"positions{i}": window.positions, f"values{i}": window.values}
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
        require(growth == sorted(set(growth)), "the types are not in steps")
        require(max(growth, default=0) == len(set(types)), "the types are not in steps")
        fresh.grow(types, growth)
        require(np.array_equal(fresh.tables.step, arrays["step"]), "the tables of the automaton differ")
        fresh.position = int(header["position"])
        require(0 <= fresh.position <= LAST, "the position is out of range")
        fresh.store.load(arrays, fresh.position)
        labels = fresh.store.labels
        require(((labels >= 0) & (labels < len(fresh.tables.labels))).all(), "a label is out of range")
        fresh._load_rest(arrays)
        if fresh.scope.attributes:
            fresh.keys.load(len(arrays["rows"]), header["keys"])
        for i, (window, kind) in enumerate(zip(fresh.range_windows, header["clocks"], strict=True)):
            positions, values = arrays[f"positions{i}"].astype(np.int64), arrays[f"values{i}"]
            require(positions.shape == values.shape and values.ndim == 1, "a window on values is damaged")
            require(values.dtype.kind in "if", "a window on values is damaged")
            fresh.range_windows[i] = replace(window, positions=positions, values=values, kind=str(kind))
        self.__dict__.update(fresh.__dict__)

    def _load_rest(self, arrays: dict[str, NDArray[Any]]) -> None:
        """For arrays that a subclass adds."""
