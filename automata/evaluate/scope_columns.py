"""Windows and partitions on Arrow columns, batch by batch; `lookback_bounds` and `key_of` do the same on events.

A window on values becomes a window on positions: because values ascend, each event reaches back to a fixed position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import filterfalse, repeat
from math import floor, inf, isfinite, nextafter
from sys import float_info
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerify.automata.evaluate.scope import Unordered, Width, decrease
from cerify.automata.evaluate.tables import numbered, require
from cerify.semantics.arrow_columns import is_nanoseconds
from cerify.semantics.events import dictionary_of

Longs = NDArray[np.int64]
Rows: TypeAlias = "Longs | slice"
"""The rows of a batch that have an effect; a slice takes all."""

NO_KEY, UNKNOWN = -1, -2
UNEQUAL = -2  # the number of a value that equals no other, such as NaN
MICROSECONDS, NANOSECONDS = 10**6, "timestamp with nanoseconds"
NO_BEGINS = np.zeros(0, np.int64)
SPREAD = 4  # a column of integers with at most this many numbers in its range for each row is encoded by a table


def indices(rows: Rows, number: int) -> Longs:
    """Return the indices of some rows of a batch as an array. number: the number of all rows of the batch."""
    return np.arange(number)[rows] if isinstance(rows, slice) else rows


@dataclass
class RangeWindowState:
    """A window on an attribute, and the positions and values of events that later windows may still contain."""

    attribute: str
    width: Width
    positions: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    values: NDArray[Any] = field(default_factory=lambda: np.zeros(0))
    kind: str = ""

    def advance(
        self, table: pa.Table, base: int, begins: Longs = NO_BEGINS, rows: Rows = slice(None)
    ) -> tuple[RangeWindowState, Longs, NDArray[np.bool_]]:
        """Return (state, low, marks) for a batch. Raises Unordered.

        state: the window after the batch. low: for each event the first position in its window. marks: whether the
        event has a measurable value. base: the position of row 0. begins: the rows at which a new stream begins. rows:
        the rows of the events; no match has an event of another row.
        """
        values, marks, kind = _measured(table, self.attribute)
        if {self.kind, kind} == {"timestamp", NANOSECONDS}:
            later = _in_nanoseconds(table, self.attribute)
            return self._in_nanoseconds(table).advance(later, base, begins, rows)
        if self.kind and kind and kind != self.kind:
            raise Unordered(
                f"{self.attribute!r} was a {self.kind} in earlier batches and is a {kind} now; a window on it needs "
                "values of one kind"
            )
        rows, marked = indices(rows, marks.size), marks[rows]
        if not marks.any() or self.width < 0:
            after = self if not begins.size else RangeWindowState(self.attribute, self.width)
            return after, np.zeros(rows.size, np.int64), marked & (self.width >= 0)
        from cerify.automata.evaluate.scoped_kernels import reach_in_window

        # Before the first value the array is empty, and its type says nothing.
        before, begins = self.values.astype(values.dtype), begins.astype(np.int64)
        if (row := _first_decrease(values, marks, begins, before[-1:])) >= 0:
            raise decrease(self.attribute, base + row, row)
        inside = rows if marked.all() else rows[marked]
        last = marks.size - 1 - int(np.argmax(marks[::-1]))
        if not inside.size or inside[-1] < last:  # the next batch is compared with the last value
            inside = np.append(inside, last)
        positions = np.concatenate([self.positions, inside + base])
        ascending = np.concatenate([before, values[inside]])
        starts = np.searchsorted(inside, begins) + before.size
        low = np.empty(inside.size, np.int64)
        if kind == "number":
            begin = reach_in_window(ascending, positions, before.size, _as_float(self.width), starts, low)
        else:  # as unsigned integers, whose differences cannot overflow
            width = np.uint64(min(_whole_width(self.width, kind), 2**64 - 1))
            begin = reach_in_window(ascending.view(np.uint64), positions, before.size, width, starts, low)
        low = low[: np.count_nonzero(marked)]
        if low.size < rows.size:
            low, of_marked = np.zeros(rows.size, np.int64), low
            low[marked] = of_marked
            # An event without a value is in no match, but its bound must not go back behind those of earlier events.
            low = np.maximum.accumulate(low)
        # Events of an earlier stream are in no later window.
        begin = max(begin, int(starts[-1])) if starts.size else begin
        state = RangeWindowState(self.attribute, self.width, positions[begin:], ascending[begin:], kind)
        return state, low, marked

    def _in_nanoseconds(self, table: pa.Table) -> RangeWindowState:
        """Return the state with times in nanoseconds, to match a batch that has them. Raises Unordered."""
        if self.kind == NANOSECONDS:
            return self
        if self.values.size and abs(self.values).max() > 2**63 // 1000 - 1:
            raise Unordered(
                f"{self.attribute!r} has nanoseconds in this batch, but earlier batches had times outside the years "
                "1678 to 2261, which nanoseconds cannot represent; use microseconds in all batches"
            )
        return replace(self, values=self.values * 1000, kind=NANOSECONDS)


def _in_nanoseconds(table: pa.Table, name: str) -> pa.Table:
    """Return the table with the times of a column in nanoseconds. Raises Unordered."""
    try:
        return table.set_column(
            table.column_names.index(name), name, table[name].cast(pa.timestamp("ns", tz=table[name].type.tz))
        )
    except pa.ArrowInvalid:
        raise Unordered(
            f"{name!r} has nanoseconds in earlier batches, which limits its times to the years 1678 to 2261, but this "
            "batch has times outside; use microseconds in all batches"
        ) from None


def _first_decrease(values: NDArray[Any], marks: NDArray[np.bool_], begins: Longs, last: NDArray[Any]) -> int:
    """Return the first marked row whose value is less than the one before in its stream; -1 if there is none.

    last: the value before row 0, or nothing.
    """
    known = values if marks.all() else values[marks]
    down = np.flatnonzero(known[1:] < known[:-1]) + 1
    if last.size and known[0] < last[0]:
        down = np.append(0, down)
    if not down.size:
        return -1
    rows = np.append(-1, np.flatnonzero(marks))  # row -1 is before the batch
    streams = np.searchsorted(begins, rows, "right")
    down = down[streams[down + 1] == streams[down]]
    return int(rows[down[0] + 1]) if down.size else -1


def decreasing_rows(table: pa.Table, name: str, begins: Longs, greatest: Any = None) -> tuple[NDArray[np.bool_], Any]:
    """Return (mask, greatest). mask: the rows with a smaller value than an earlier row of their stream.

    greatest: the greatest value so far in the last stream. The argument `greatest` is that of the stream that row 0
    continues. begins: the rows at which a new stream begins.
    """
    values, marks, _ = _measured(table, name)
    found, rows = np.zeros(values.size, np.bool_), np.flatnonzero(marks)
    if not rows.size:
        return found, None if begins.size else greatest
    known = values[rows]
    streams = np.searchsorted(begins, rows, "right")  # of each value; 0 for the one that continues
    continues = streams[0] == 0 and greatest is not None
    down = (known[1:] < known[:-1]) & (streams[1:] == streams[:-1])
    for i in np.unique(np.concatenate([streams[1:][down], streams[:1] if continues else streams[:0]])).tolist():
        part = np.flatnonzero(streams == i)
        above = np.maximum.accumulate(known[part])
        if i == 0 and continues:
            above = np.maximum(above, greatest)
        found[rows[part]] = known[part] < above
    if streams[-1] < begins.size:  # the last stream has no value
        return found, None
    last = known[streams == streams[-1]].max()
    return found, max(last, greatest) if continues and streams[-1] == 0 else last


def ascends(table: pa.Table, name: str) -> bool:
    """Return whether the values of a column never decrease. A window on it is then a window on positions."""
    values, marks, _ = _measured(table, name)
    known = values[marks]
    return bool((known[1:] >= known[:-1]).all())


def _measured(table: pa.Table, name: str) -> tuple[NDArray[Any], NDArray[np.bool_], str]:
    """Return (values, mask, kind) for a column: its values as numbers, whether each is measurable, and their kind."""
    nothing = np.zeros(table.num_rows), np.zeros(table.num_rows, np.bool_), ""
    if name not in table.column_names:
        return nothing
    column = table[name]
    if is_nanoseconds(column.type):
        column, kind = column.cast(pa.int64()), NANOSECONDS
    elif pa.types.is_timestamp(column.type):
        column, kind = column.cast(pa.timestamp("us")).cast(pa.int64()), "timestamp"
    elif pa.types.is_integer(column.type):
        column, kind = column.cast(pa.int64()), "whole number"
    elif pa.types.is_floating(column.type):
        column, kind = column.cast(pa.float64()), "number"
    else:
        return nothing
    marks = column.is_valid().to_numpy() if column.null_count else np.ones(table.num_rows, np.bool_)
    values = in_one_piece(pc.fill_null(column, pa.scalar(0, column.type)) if column.null_count else column)
    return values, marks & np.isfinite(values) if kind == "number" else marks, kind


def in_one_piece(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return the numbers of a column without nulls, where possible without copying them."""
    numbers: NDArray[Any] = (column.chunk(0) if column.num_chunks == 1 else column).to_numpy()
    return numbers


def _as_float(width: Width) -> float:
    """Return the greatest finite float that is at most the width."""
    # The nearest float may be above the width, and would let in events that are too far away.
    nearest = float(min(width, float_info.max))
    return nearest if nearest <= width else nextafter(nearest, -inf)


def _whole_width(width: Width, kind: str) -> int:
    """Return the width in the unit of values of this kind, rounded down."""
    if kind == NANOSECONDS:
        return floor(Fraction(width) * 10**9) if isfinite(width) else 2**64
    return _ticks(width) if kind == "timestamp" else floor(width)


def _ticks(seconds: Width) -> int:
    """Return the greatest number of microseconds that timedelta.total_seconds turns into at most this many seconds."""
    if seconds >= 2**64 / MICROSECONDS:
        return 2**64
    # The definition compares seconds as floats. The product is rounded, so it may be a little off in either direction.
    ticks = floor(seconds * MICROSECONDS)
    while (ticks + 1) / MICROSECONDS <= seconds:
        ticks += 1
    while ticks / MICROSECONDS > seconds:
        ticks -= 1
    return ticks


@dataclass
class KeyWindowState:
    """A window of the last n events of each key: for each key its last n - 1 events, in the order of the stream.

    keys, positions: int64, for each of these events the number of its key, and its position. count: n. Memory grows
    with the number of keys.
    """

    count: int
    keys: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    positions: Longs = field(default_factory=lambda: np.zeros(0, np.int64))

    def advance(self, numbers: NDArray[np.int32], base: int, begins: NDArray[np.bool_]) -> Longs:
        """Read the next events; return the first position of the window of each event.

        numbers: the number of the key of each event, or -1. base: the position of the first event. begins: whether a
        new stream begins with the event.
        """
        known, rows, n = self.keys.size, np.flatnonzero(numbers >= 0), self.count - 1
        streams = np.cumsum(begins)
        keys = np.concatenate([self.keys, numbers[rows].astype(np.int64)])
        positions = np.concatenate([self.positions, rows + base])
        # Stream and key in one number, so that one sort separates both. The events from before belong to stream 0,
        # which the batch continues. The sort is stable, because the events of a key must stay in the order of the
        # stream.
        groups = np.concatenate([np.zeros(known, np.int64), streams[rows]]) << 32 | keys
        order = np.argsort(groups, kind="stable")
        groups, found, more = groups[order], np.zeros(positions.size, np.int64), max(0, order.size - n)
        # Within a group, the event n places before is the first in the window; if the group is too short, that place
        # belongs to another group.
        full = groups[n:] == groups[:more]
        found[order[n:][full]] = positions[order[:more]][full]
        low = np.zeros(numbers.size, np.int64)
        low[rows] = found[known:]
        last = np.ones(order.size, np.bool_)
        last[:more] = ~full
        if streams.size:
            last &= groups >> 32 == streams[-1]
        self.keys, self.positions = keys[order[last]], positions[order[last]]
        return low

    def keep(self, used: NDArray[np.bool_]) -> None:
        """Forget the keys that are not used; their numbers may be given to other keys."""
        kept = used[self.keys]
        self.keys, self.positions = self.keys[kept], self.positions[kept]

    def load(self, keys: NDArray[Any], positions: NDArray[Any], size: int, position: int) -> None:
        """Continue from saved arrays. Raises ValueError if they do not fit `size` keys before the position."""
        require(keys.dtype == np.int64 and positions.dtype == np.int64, "an array has the wrong type")
        require(keys.ndim == 1 and keys.shape == positions.shape, "a window of events of a key is damaged")
        require(((keys >= 0) & (keys < size)).all(), "the number of a key is out of range")
        require(((positions >= 0) & (positions < position)).all(), "an event is after the saved position")
        self.keys, self.positions = keys, positions


@dataclass(frozen=True)
class EncodedKeys:
    """The distinct keys of a batch, and which key each row has.

    codes: for each row the index of its key in `keys`. kinds: the kinds of the values in a key. keys: the keys; None
    stands for a key with NULL or NaN, which equals no key. numbers: the number that a KeyTable has given to each key;
    UNKNOWN if it has given none yet.
    """

    codes: NDArray[np.int32]
    kinds: tuple[str, ...]
    keys: list[Any]
    numbers: NDArray[np.int32]

    def unknown(self, rows: slice) -> NDArray[np.intp]:
        """Return the indices of the keys in the given rows that have no number yet."""
        unknown = self.numbers == UNKNOWN
        if not unknown.any():
            return np.zeros(0, np.intp)
        used = np.zeros(len(self.keys), np.bool_)
        used[self.codes[rows]] = True
        return np.flatnonzero(used & unknown)

    def keep(self, used: NDArray[np.bool_]) -> None:
        """Forget the numbers that are not used. used: for each number whether it is used."""
        known = np.flatnonzero(self.numbers >= 0)
        self.numbers[known[~used[self.numbers[known]]]] = UNKNOWN


@dataclass
class KeyTable:
    """The keys of a partition that have partial matches, each with a number.

    numbers[kinds][key] is the number of a key whose values are of these kinds. A key is a value, or a tuple of values
    for several attributes. free: numbers that no key has. size: all numbers are less than this.
    """

    attributes: tuple[str, ...]
    numbers: dict[tuple[str, ...], dict[Any, int]] = field(default_factory=dict)
    free: list[int] = field(default_factory=list)
    size: int = 0

    def encode(self, table: pa.Table, rows: Rows = slice(None)) -> EncodedKeys:
        """Return the keys of some rows of a batch."""
        codes, keys, kinds = encode_keys(table, self.attributes, rows)
        known = self.numbers.get(kinds, {})
        numbers = np.fromiter(map(known.get, keys, repeat(UNKNOWN)), np.int32, len(keys))
        if keys.count(None):
            numbers[[key is None for key in keys]] = NO_KEY
        return EncodedKeys(codes, kinds, keys, numbers)

    def dump(self) -> list[Any]:
        """Return the table as JSON rows (kinds, keys, numbers)."""
        return [
            [kinds, [_json_of_key(key) for key in numbers], list(numbers.values())]
            for kinds, numbers in self.numbers.items()
        ]

    def load(self, size: int, saved: list[Any]) -> None:
        """Continue from saved rows (kinds, keys, numbers). Raises ValueError for invalid numbers."""
        self.size = size
        for kinds, keys, numbers in saved:
            keys = [tuple(map(_key_of_json, key)) if isinstance(key, list) else _key_of_json(key) for key in keys]
            self.numbers[tuple(kinds)] = dict(zip(keys, map(int, numbers), strict=True))
        taken = [k for numbers in self.numbers.values() for k in numbers.values()]
        require(len(taken) == len(set(taken)), "two keys have the same number")
        self.free = sorted(set(range(size)).difference(taken), reverse=True)
        require(len(taken) + len(self.free) == size, "the number of a key is out of range")

    def grow(self, size: int) -> None:
        """Make room for a larger number of keys."""
        self.free, self.size = [*range(size - 1, self.size - 1, -1), *self.free], size

    def keep(self, used: NDArray[np.bool_]) -> None:
        """Free the numbers that are not used. used: for each number whether it is used."""
        for kinds, numbers in self.numbers.items():
            self.numbers[kinds] = {key: k for key, k in numbers.items() if used[k]}
        taken = {k for numbers in self.numbers.values() for k in numbers.values()}
        self.free = [k for k in range(self.size - 1, -1, -1) if k not in taken]

    def number(self, encoded: EncodedKeys, new: NDArray[np.intp]) -> None:
        """Assign numbers to new keys of a batch; enough numbers must be free."""
        numbers = self.numbers.setdefault(encoded.kinds, {})
        keys = [encoded.keys[x] for x in new.tolist()]
        fresh = dict.fromkeys(filterfalse(numbers.__contains__, keys))  # two keys may be equal, as 0.0 and -0.0 are
        numbers.update(zip(fresh, reversed(self.free), strict=False))
        del self.free[len(self.free) - len(fresh) :]
        encoded.numbers[new] = np.fromiter(map(numbers.__getitem__, keys), np.int32, len(keys))


def _json_of_key(key: Any) -> Any:
    """Return a key as JSON. A time with nanoseconds becomes a fraction of microseconds."""
    if isinstance(key, tuple):
        return [_json_of_key(value) for value in key]
    return {"nanoseconds": int(key * 1000)} if isinstance(key, Fraction) else key


def _key_of_json(value: Any) -> Any:
    return Fraction(int(value["nanoseconds"]), 1000) if isinstance(value, dict) else value


def encode_keys(
    table: pa.Table, attributes: Sequence[str], rows: Rows = slice(None)
) -> tuple[NDArray[np.int32], list[Any], tuple[str, ...]]:
    """Return (codes, keys, kinds) for some rows of a batch: the key of the r-th row is keys[codes[r]].

    A key is a value, or a tuple of values for several attributes; None for a key with NULL or NaN. kinds: the kinds of
    the values in a key.
    """
    columns = [_encoded(table, name, rows) for name in attributes]
    codes, keys, _ = columns[0]
    if len(columns) > 1:
        keys = [(key,) for key in keys]
        for each, values, _ in columns[1:]:
            pairs = pa.array(codes.astype(np.int64) * len(values) + each).dictionary_encode()
            codes = pairs.indices.to_numpy()
            keys = [(*keys[p // len(values)], values[p % len(values)]) for p in pairs.dictionary.to_numpy().tolist()]
        keys = [None if None in key else key for key in keys]
    return codes, keys, tuple(kind for _, _, kind in columns)


def nan_rows(table: pa.Table, name: str) -> NDArray[np.bool_] | None:
    """Return which rows have NaN in a column; None if the column has none."""
    if name not in table.column_names or not pa.types.is_floating(table[name].type):
        return None
    found: NDArray[np.bool_] = pc.fill_null(pc.is_nan(table[name]), False).to_numpy()
    return found if found.any() else None


def _encoded(table: pa.Table, name: str, rows: Rows) -> tuple[NDArray[np.int32], list[Any], str]:
    """Encode some rows of a column. Return (codes, values, kind): the value of the r-th row is values[codes[r]], None
    for NaN and NULL.
    """
    if name not in table.column_names or pa.types.is_null(table[name].type):
        return np.zeros(np.empty(table.num_rows, np.bool_)[rows].size, np.int32), [None], ""
    column, kind = table[name], "number"
    if pa.types.is_dictionary(column.type):
        if table.num_rows and pa.types.is_string(column.type.value_type):
            texts = dictionary_of(column)
            if not texts.null_count and len(texts.dictionary) <= len(texts):
                codes = texts.indices.to_numpy().astype(np.int32, copy=False)
                return codes[rows], texts.dictionary.to_pylist(), "string"
        column = column.cast(column.type.value_type)
    if is_nanoseconds(column.type):
        column, kind = column.cast(pa.int64()), NANOSECONDS
    elif pa.types.is_timestamp(column.type):
        column, kind = column.cast(pa.timestamp("us")).cast(pa.int64()), "timestamp"
    elif pa.types.is_boolean(column.type):
        kind = "bool"
    elif pa.types.is_string(column.type):
        kind = "string"
    if pa.types.is_int64(column.type) and kind == "number" and not column.null_count and table.num_rows:
        numbers = in_one_piece(column)[rows]
        least = int(numbers.min(initial=2**63 - 1))
        if (spread := int(numbers.max(initial=least)) - least + 1) <= SPREAD * numbers.size:
            codes, distinct = numbered(numbers - least, spread)
            return codes, (distinct + least).tolist(), kind
    if not isinstance(rows, slice):
        column = column.take(pa.array(rows))
    encoded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # of no rows
        return np.zeros(0, np.int32), [None], kind
    values = encoded.dictionary
    values = values.to_pylist() if kind == "string" or values.null_count else values.to_numpy(False).tolist()
    if pa.types.is_floating(column.type):
        values = [None if v != v else v for v in values]
    if kind == NANOSECONDS:  # equal to the values of batches without nanoseconds
        values = [None if v is None else v // 1000 if v % 1000 == 0 else Fraction(v, 1000) for v in values]
        kind = "timestamp"
    return encoded.indices.to_numpy(), values or [None], kind
