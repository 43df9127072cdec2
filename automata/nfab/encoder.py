"""Arrow columns as numbers for the compiled loops: partitions, times, and the values that conditions compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerify.automata.evaluate.classify import classified, dictionary_of
from cerify.automata.nfab import opcodes as op
from cerify.automata.nfab.programs import Programs
from cerify.semantics.arrow_types import ARROW, VALUE_TYPES
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import TIME, TYPE, Stream
from cerify.semantics.values import ValueType

MOST_UNUSED = 65_536  # partitions without runs, above which they are dropped


def kinds_of(table: pa.Table) -> dict[str, ValueType]:
    """The kind of each column of a stream that has values."""
    kinds = {name: kind_of(table[name].type) for name in table.column_names if name != TYPE}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def kind_of(type_: pa.DataType) -> ValueType | None:
    """The kind of a column of a stream; None if it has no values at all."""
    return "string" if pa.types.is_dictionary(type_) else VALUE_TYPES.get(type_)


class ColumnEncoder:
    """The numbers of partitions, times and values of one stream; strings and partitions are numbered as they come.

    refused: the first reason why a batch has no such numbers; what the methods return is of no use then.
    """

    def __init__(self, routes: tuple[str, ...], programs: Programs) -> None:
        self.routes = routes
        self.names = tuple(programs.columns)
        self.kinds: Mapping[str, ValueType] = programs.kinds
        self.strings, self.in_order, self._patterns = dict(programs.strings), programs.in_order, programs.patterns
        self.scale = 1e6 if self.kinds.get(TIME) == "timestamp" else 1.0
        self._partitions: dict[tuple[Any, ...], int] = {}
        self._last = -np.inf
        self.refused: Unsupported | None = None

    @property
    def partitions(self) -> int:
        """The number of partitions with a number; 0 is for the events that have a partition of their own."""
        return len(self._partitions) + 1

    def keys(self, table: pa.Table) -> NDArray[np.int32]:
        """The number of the partition of each row, int32 [rows]; 0 where a value is absent, or is NaN."""
        n = table.num_rows
        if not self.routes:
            self._partitions.setdefault((), 1)
            return np.ones(n, np.int32)
        codes, alone, values = np.zeros(n, np.int64), np.zeros(n, np.bool_), []
        for name in self.routes:
            if self._kind(table, name) is None:
                return np.zeros(n, np.int32)
            encoded = dictionary_of(table[name])
            of = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
            known = encoded.dictionary.to_pylist() or [None]
            nan = np.array([value is None or value != value for value in known])
            alone |= encoded.indices.is_null().to_numpy(zero_copy_only=False) | nan[of]
            values.append(known)
            codes = codes * len(known) + of
        if len(self.routes) == 1:
            numbers = self._number([(value,) for value in values[0]])
            keys = numbers[codes]
        else:
            distinct, inverse = np.unique(codes, return_inverse=True)
            rows = []
            for code in distinct.tolist():
                row = []
                for known in reversed(values):
                    code, at = divmod(code, len(known))
                    row.append(known[at])
                rows.append(tuple(reversed(row)))
            keys = self._number(rows)[inverse]
        keys[alone] = 0
        return keys

    def _number(self, rows: list[tuple[Any, ...]]) -> NDArray[np.int32]:
        return np.array([self._partitions.setdefault(row, len(self._partitions) + 1) for row in rows], np.int32)

    def drop_unused(self, alive: NDArray[np.bool_]) -> NDArray[np.int64] | None:
        """The old numbers of the partitions that stay; drops those without runs if they are the most, else None."""
        if not self.routes or len(alive) < 2 * int(alive.sum()) + MOST_UNUSED:
            return None
        alive[0] = True
        kept = np.flatnonzero(alive)
        new = {old: number for number, old in enumerate(kept.tolist())}
        self._partitions = {row: new[old] for row, old in self._partitions.items() if old in new}
        return kept

    def times(self, table: pa.Table, windowed: bool, ascending: bool = True) -> NDArray[np.float64]:
        """The times, float64 [rows], NaN where there is none, which have to ascend; none without a window.

        The array is read-only, as columns of Arrow are, so that the loop is compiled for one kind of array.
        """
        times = self._times(table, windowed, ascending)
        times.flags.writeable = False
        return times

    def _times(self, table: pa.Table, windowed: bool, ascending: bool) -> NDArray[np.float64]:
        if not windowed:
            return np.zeros(0)
        if not ascending:
            if self._kind(table, TIME) not in ("int", "float", "timestamp"):
                return np.full(table.num_rows, np.nan)
            times, there = self._floats(table[TIME])
            return np.where(there, times, np.nan)
        if self._kind(table, TIME) not in ("int", "float", "timestamp"):
            self._refuse("a window needs times, which are numbers or timestamps")
            return np.zeros(0)
        times, there = self._floats(table[TIME])
        steps = np.diff(times, prepend=self._last)
        if not (there.all() and np.isfinite(times).all() and (steps >= 0).all()):
            self._refuse("the times have to be there, and to ascend, for the compiled evaluator; sort the stream")
        if times.size:
            self._last = times[-1]
        return times

    def columns(self, table: pa.Table) -> NDArray[np.float64]:
        """The values that conditions compare, float64 [rows, 2 D]: each column, and beside it 1 for a value."""
        data = np.zeros((table.num_rows, 2 * len(self.names)))
        for at, name in enumerate(self.names):
            if name in self._patterns:
                classes, masks = classified([self._patterns[name]], Stream.from_table(table))
                data[:, 2 * at], data[:, 2 * at + 1] = np.array(masks or [0])[classes], 1.0
            elif self._kind(table, name) is not None:
                data[:, 2 * at], data[:, 2 * at + 1] = self._floats(table[name])
        return data

    def sorted_strings(self, table: pa.Table) -> NDArray[np.float64] | None:
        """The new number of each string by its old one, so that numbers are in their order; None where they are."""
        names = [name for name in self.names if self._kind(table, name) == "string"]
        texts = {text for name in names for text in dictionary_of(table[name]).dictionary.to_pylist()} - {None}
        ordered = sorted({*self.strings, *texts})
        if ordered == list(self.strings):
            return None
        number = {text: n for n, text in enumerate(ordered)}
        new = np.array([number[text] for text in self.strings] or [0], np.float64)
        self.strings = number
        return new

    def _kind(self, table: pa.Table, name: str) -> ValueType | None:
        """The kind of a column, which has to be that of the first batch."""
        kind = kind_of(table[name].type) if name in table.column_names and name != TYPE else None
        if kind is None or kind == self.kinds.get(name):
            return kind
        before = self.kinds.get(name)
        first = "no value" if before is None else f"values of the type {before}"
        self._refuse(
            f"the column {name} has values of the type {kind}, and had {first} in the first batch; give all batches "
            "the same columns, or use the readable evaluator"
        )
        return None

    def _floats(self, column: pa.ChunkedArray) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """A column as numbers, and where it has values."""
        there = column.is_valid().to_numpy()
        kind = kind_of(column.type)
        if kind == "string":
            encoded = dictionary_of(column)
            numbers = [self.strings.setdefault(text, len(self.strings)) for text in encoded.dictionary.to_pylist()]
            of = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
            return np.array(numbers or [0], np.float64)[of], there
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if kind == "timestamp":
            column = column.cast(ARROW["timestamp"]).cast(pa.int64())
        elif kind == "bool":
            column = column.cast(pa.int64())
        if kind in ("int", "timestamp"):
            extremes = pc.min_max(column).as_py()
            if extremes["min"] is not None and not (extremes["min"] > -op.EXACT and extremes["max"] < op.EXACT):
                self._refuse("a number beyond 2^53, which the compiled evaluator does not carry exactly")
                return np.zeros(len(column)), there
        if column.null_count:
            column = column.fill_null(0)
        return column.cast(pa.float64()).to_numpy(), there

    def _refuse(self, why: str) -> None:
        self.refused = self.refused or Unsupported(why)
