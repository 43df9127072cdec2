"""Evaluates funnels over columns: the rows of each key are put together, then a loop reads them once or twice.

The definition is semantics/funnels.py, with which this module shares nothing. The loops are compiled where numba is
installed; without it Python runs them, which is far slower.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cerify.semantics.arguments import format_names
from cerify.semantics.errors import IllFormed
from cerify.semantics.packages import installed, np

_BUCKET_ROWS = 2**15
"""About so many rows are put together by key at a time, so that they fit in a cache."""
_MOST_BUCKET_BITS = 10

MODES: dict[str, tuple[bool, bool, bool, bool] | None] = {
    "windowFunnel": (False, False, False, False),
    "strict_increase": (True, False, False, False),
    "strict_order": (False, True, False, False),
    "strict_order,allow_reentry": (False, True, True, False),
    "strict_deduplication": (False, False, False, True),
    "strict_once": None,
    "strict_increase,strict_once": None,
}
"""ClickHouse's modes: what `entry_levels` is asked for, or None where another loop has the mode."""


@dataclass(frozen=True)
class FunnelRows:
    """The rows of a funnel, or of a bucket, those of a key together and in order.

    keys: the number of keys, numbered from 0. starts: `keys + 1` offsets into the other columns. rows: the
    position of each row in the stream. times and masks: see `funnel_kernels`.
    """

    keys: int
    starts: np.ndarray
    rows: np.ndarray
    times: np.ndarray
    masks: np.ndarray


@dataclass(frozen=True)
class Reached:
    """The progress of the keys: the level of each, and the rows of its chain in `FunnelRows`, -1 from the level on."""

    levels: np.ndarray
    chains: np.ndarray | None


class KeyedRows:
    """Rows of a funnel, added in the order of the stream, in buckets of neighbouring keys.

    codes: the number of each row's key, below `keys`, -1 for a row of none; counts: the number of rows of each key.
    Rows come part by part with their times and masks, and go out bucket by bucket with those of a key together.
    """

    def __init__(self, codes: np.ndarray, keys: int, times: np.dtype, masks: np.dtype, every: bool) -> None:
        """Make room; rows of no step are left out, but with `every`."""
        from cerify.automata.funnel_kernels import count_codes

        self.codes, self.keys, self.every = codes, keys, every
        if installed("numba"):
            self.counts = np.zeros(keys, np.int64)
            count_codes(codes, self.counts)
        else:
            self.counts = np.bincount(codes[codes >= 0], minlength=keys)
        bits = min(_MOST_BUCKET_BITS, (len(codes) // _BUCKET_ROWS).bit_length()) if installed("numba") else 0
        self._shift = max(0, keys.bit_length() - bits)  # without numba there is one bucket
        self._ends = np.add.reduceat(self.counts, np.arange(0, keys, 1 << self._shift)).cumsum()
        self._free = np.concatenate([[0], self._ends[:-1]])
        size, number = int(self._ends[-1]), np.int32 if len(codes) < 2**31 else np.int64
        within = np.uint16 if self._shift <= 16 else codes.dtype  # a key's number in its bucket
        self._placed = tuple(np.empty(size, kind) for kind in (within, number, times, masks))

    def add(self, first: int, times: np.ndarray, masks: np.ndarray, kept: np.ndarray | None = None) -> None:
        """Add the rows whose positions begin with `first`, but those that are not kept."""
        codes = self.codes[first : first + len(times)]
        if kept is not None:
            codes = np.where(kept, codes, np.array(-1, codes.dtype))
        if installed("numba"):
            from cerify.automata.funnel_kernels import place_rows

            place_rows(first, self._shift, self.every, self._free, (codes, times, masks), self._placed)
            return
        there = np.flatnonzero((codes >= 0) & (self.every | (masks != 0)))
        low, high = self._free[0], self._free[0] + len(there)
        given = codes, np.arange(first, first + len(codes)), times, masks
        for column, values in zip(self._placed, given, strict=True):
            column[low:high] = values[there]
        self._free[0] = high

    def groups(self, key: int | None = None) -> Iterator[tuple[int, FunnelRows]]:
        """Yield the rows of each bucket with the number of its first key; with a key, those of its bucket alone."""
        if self.keys == 0:
            return
        buckets = range(len(self._ends)) if key is None else [key >> self._shift]
        for bucket in buckets:
            low = bucket << self._shift
            keys = min(1 << self._shift, self.keys - low)
            begin = 0 if bucket == 0 else self._ends[bucket - 1]
            codes, *columns = (column[begin : self._free[bucket]] for column in self._placed)
            if installed("numba"):
                from cerify.automata.funnel_kernels import group_bucket

                starts, placed = np.zeros(keys + 1, np.int64), tuple(map(np.empty_like, columns))
                group_bucket(starts, (codes, *columns), placed)
                yield low, FunnelRows(keys, starts, *placed)
            else:
                order = np.argsort(codes, kind="stable")
                starts = np.concatenate([[0], np.bincount(codes, minlength=keys).cumsum()])
                yield low, FunnelRows(keys, starts, *(column[order] for column in columns))


def sorted_by_time(rows: FunnelRows) -> FunnelRows:
    """Return the rows with those of each key in the order of their times; rows of equal times stay in their order."""
    if first_step_back(rows) is None:
        return rows
    owners = np.repeat(np.arange(rows.keys), np.diff(rows.starts))
    order = np.lexsort((rows.times, owners))
    return FunnelRows(rows.keys, rows.starts, rows.rows[order], rows.times[order], rows.masks[order])


def first_step_back(rows: FunnelRows) -> tuple[int, int] | None:
    """Return the stream positions of two rows of a key, the second of which has an earlier time; None if none has."""
    if len(rows.times) < 2:
        return None
    back = rows.times[1:] < rows.times[:-1]
    inner = rows.starts[1:-1]
    back[inner[(inner > 0) & (inner < len(rows.times))] - 1] = False  # between two keys
    found = np.flatnonzero(back)
    return None if len(found) == 0 else (int(rows.rows[found[0]]), int(rows.rows[found[0] + 1]))


def find_chains(rows: FunnelRows, n: int, window: int | float | None, *, first: bool, increasing: bool) -> Reached:
    """Return the level and the least deepest chain of each key, see `cerify.semantics.funnels.deepest_chain`.

    The times of each key have to ascend. window is in the unit of the times; None for no window.
    """
    from cerify.automata.funnel_kernels import chain_levels, first_levels

    levels = np.zeros(rows.keys, np.int8)
    chains = np.full((rows.keys, n), -1, np.int32 if len(rows.rows) < 2**31 else np.int64)
    loop = first_levels if first else chain_levels
    loop(*_columns(rows), n, _limit(window, rows.times), increasing, np.zeros((2, n), np.int64), (levels, chains))
    return Reached(levels, chains)


def find_mode_levels(rows: FunnelRows, n: int, window: int | float | None, mode: str) -> Reached:
    """Return the level of each key in a reading of ClickHouse's windowFunnel. Raises IllFormed for an unknown mode.

    The times of each key have to ascend; in the modes with strict_order the rows of no step have to be there too.
    """
    from cerify.automata.funnel_kernels import entry_levels, once_levels

    if mode not in MODES:
        raise IllFormed(f"there is no mode {mode!r}; choose one of {format_names(MODES)}")
    rules = MODES[mode]
    if rules is None and "increase" in mode:
        return Reached(find_chains(rows, n, window, first=False, increasing=True).levels, None)
    levels = np.zeros(rows.keys, np.int8)
    work, limit = np.zeros((2, n), np.int64), _limit(window, rows.times)
    if rules is None:
        once_levels(*_columns(rows), n, limit, work, levels)
    else:
        entry_levels(*_columns(rows), n, limit, np.array(rules), work, levels)
    return Reached(levels, None)


def _columns(rows: FunnelRows) -> tuple[Any, Any, Any]:
    """Return the columns that the loops read, as lists where Python runs these, which is twice as fast."""
    columns = rows.starts, rows.times, rows.masks
    return columns if installed("numba") else tuple(column.tolist() for column in columns)


def _limit(window: int | float | None, times: np.ndarray) -> Any:
    """Return the window as a number of the kind of the times, larger than any difference if there is none."""
    if times.dtype.kind == "f":
        return np.inf if window is None else float(window)
    return 2**62 if window is None else min(int(window), 2**62)
