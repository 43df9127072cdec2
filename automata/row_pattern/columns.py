"""The columns of a table partition by partition, as Arrow arrays, and as lists where values are of several types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cerify.automata.row_pattern.evaluate import ranks
from cerify.semantics.arrow_types import ARROW
from cerify.semantics.events import Stream
from cerify.semantics.packages import np, pa, pc
from cerify.semantics.row_pattern.clauses import MatchRecognize, Order
from cerify.semantics.row_pattern.resolve import column_values
from cerify.semantics.row_pattern.scalars import Nullable
from cerify.semantics.values import value_type_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


class SeveralTypes(Exception):
    """Values of several types, or beyond 64 bits: no Arrow array has them without loss."""


def array_of(values: Sequence[Nullable]) -> pa.Array:
    """The values as an array of a type in ARROW, or of nulls. Raises SeveralTypes."""
    types = {value_type_of(value) for value in values if value is not None}
    if len(types) > 1:
        raise SeveralTypes
    try:
        return pa.array(values, ARROW[types.pop()]) if types else pa.nulls(len(values))
    except (pa.ArrowInvalid, OverflowError):
        raise SeveralTypes from None


@dataclass(frozen=True)
class PartitionedTable:
    """The rows of a table, partition by partition, each in its order; partitions in the order of their first row.

    order: int64, the position of each row in the table; None where the rows are as they were. starts: int64, the row
    at which each partition begins, and the number of rows.
    """

    S: Stream
    order: NDArray[np.int64] | None
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, q: MatchRecognize, S: Stream) -> PartitionedTable:
        """The table of a stream as the clause, whose columns have the names of the table, divides and orders it."""
        table = cls(S, None, np.array([0, len(S)] if len(S) else [0], np.int64))
        order = table._sorted(q.order)
        if not q.partition:
            return cls(S, order, table.starts)
        codes, number = table._groups([one.name for one in q.partition])
        codes = codes.astype(np.min_scalar_type(number))
        together = np.argsort(codes if order is None else codes[order], kind="stable")
        order = together if order is None else order[together]
        ordered = None if (order[1:] > order[:-1]).all() else order
        return cls(S, ordered, np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=number))]).astype(np.int64))

    def __len__(self) -> int:
        return len(self.S)

    @cached_property
    def positions(self) -> NDArray[np.int64]:
        """The position of each row in the table."""
        return np.arange(len(self.S)) if self.order is None else self.order

    @cached_property
    def number_in_partition(self) -> NDArray[np.int64]:
        """Of each row how many rows of its partition are before it."""
        return np.arange(len(self)) - np.repeat(self.starts[:-1], np.diff(self.starts))

    @cached_property
    def lists(self) -> Mapping[str, list[Nullable]]:
        """The columns as lists."""
        columns = column_values(self.S)
        if self.order is None:
            return columns
        places = self.order.tolist()
        return {name: [values[place] for place in places] for name, values in columns.items()}

    def array(self, name: str) -> pa.Array:
        """A column; one that is missing is null throughout. Raises SeveralTypes."""
        if not self.S.is_columnar:
            return array_of(self.lists[name]) if name in self.lists else pa.nulls(len(self))
        if name not in self.S.table.column_names:
            return pa.nulls(len(self))
        column = self.S.table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(ARROW["string"])
        array = (
            column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays([*column.chunks, pa.nulls(0, column.type)])
        )
        return array if self.order is None else array.take(pa.array(self.order))

    def shifted(self, array: pa.Array, rows: int) -> pa.Array:
        """For each row the value `rows` rows after it, before it if negative; null outside of its partition."""
        length = len(self)
        far = min(abs(rows), length)
        if not far:
            return array
        missing = pa.nulls(far, array.type)
        moved = [missing, array.slice(0, length - far)] if rows < 0 else [array.slice(far), missing]
        found = pa.concat_arrays(moved)
        if len(self.starts) <= 2:
            return found
        sizes = np.repeat(np.diff(self.starts), np.diff(self.starts))
        inside = self.number_in_partition >= far if rows < 0 else self.number_in_partition < sizes - far
        return pc.if_else(pa.array(inside), found, pa.scalar(None, array.type))

    def _groups(self, names: Sequence[str]) -> tuple[NDArray[np.int64], int]:
        """For each row the number of its group, from 0 in the order of their first rows; and how many there are."""
        codes, distinct = self._encoded(names[0])
        for name in names[1:]:
            own, its = self._encoded(name)
            codes, distinct = _encoded(pa.array(codes * len(its) + own))
        return codes, len(distinct)

    def _sorted(self, order: Sequence[Order]) -> NDArray[np.int64] | None:
        """The rows in order, ties as they were; None where they are."""
        if not order or (len(order) == 1 and self._ascends(order[0])):
            return None
        return np.lexsort([self._ranks(one) for one in reversed(order)]).astype(np.int64)

    def _ascends(self, one: Order) -> bool:
        """Whether the rows are in the order of a column, as far as a look at numbers and times shows."""
        try:
            array = self.array(one.column.name)
        except SeveralTypes:
            return False
        if array.null_count or array.type not in (ARROW["int"], ARROW["float"], ARROW["timestamp"]):
            return False
        values = array.to_numpy()
        before, after = (values[1:], values[:-1]) if one.descending else (values[:-1], values[1:])
        return bool((before <= after).all())

    def _ranks(self, one: Order) -> NDArray[Any]:
        """For each row the place of its value in the order of a column, NULL above all values."""
        nulls_first = one.descending if one.nulls is None else one.nulls == "FIRST"
        try:
            codes, distinct = _encoded(self.array(one.column.name))
        except SeveralTypes:
            return np.array(ranks(self.lists[one.column.name], len(self), one.descending, nulls_first))
        at = np.empty(len(distinct), np.int64)
        at[pc.sort_indices(distinct).to_numpy()] = np.arange(len(distinct))  # a null is the last
        values = len(distinct) - distinct.null_count
        if one.descending:
            at[at < values] = values - 1 - at[at < values]
        if distinct.null_count and nulls_first:
            at[at == values] = -1
        return at[codes]

    def _encoded(self, name: str) -> tuple[NDArray[np.int64], pa.Array]:
        try:
            return _encoded(self.array(name))
        except SeveralTypes:
            values = ranks(self.lists[name], len(self), False, False)
            return _encoded(pa.array(values, pa.int64()))


def _encoded(array: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    """For each value its number, from 0 in the order in which they occur first; and the values. NULL is one of them."""
    if array.type == ARROW["float"]:
        array = pc.add(array, 0.0)  # -0.0 and 0.0 are one value
    if array.type == ARROW["bool"]:
        array = array.cast(pa.int8())
    encoded = array.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary
