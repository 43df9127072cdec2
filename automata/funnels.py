"""Evaluate funnels over columns: the rows of each key are grouped, then read once or twice.

The reference evaluator is semantics/funnels.py; the two modules share no code. The functions of funnel_kernels.py are
compiled if numba is installed. Otherwise Python runs them, far more slowly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from cerify.semantics.arguments import format_names
from cerify.semantics.errors import IllFormed
from cerify.semantics.packages import installed, np

_BUCKET_ROWS = 2**15
"""About this many rows are grouped by key at a time, so that they fit in a cache."""
_MOST_BUCKET_BITS = 10
_ROOM = 2**22
"""Memory grows by this many rows at a time."""

MODES: dict[str, tuple[bool, bool, bool, bool] | None] = {
    "windowFunnel": (False, False, False, False),
    "strict_increase": (True, False, False, False),
    "strict_order": (False, True, False, False),
    "strict_order,allow_reentry": (False, True, True, False),
    "strict_deduplication": (False, False, False, True),
    "strict_once": None,
    "strict_increase,strict_once": None,
}
"""The `rules` with which `entry_levels` evaluates each mode of ClickHouse; None if another function evaluates the
mode.
"""


@dataclass(frozen=True)
class FunnelRows:
    """The rows of a funnel, or of a bucket of neighbouring keys. The rows of a key are together and in order.

    keys: the number of keys, numbered from 0. starts: `keys + 1` offsets into the other columns. rows: the position of
    each row in the stream. times and masks: see `funnel_kernels`.
    """

    keys: int
    starts: np.ndarray
    rows: np.ndarray
    times: np.ndarray
    masks: np.ndarray


@dataclass(frozen=True)
class Reached:
    """The level of each key: the number of steps that it reaches.

    levels: an integer for each key. chains: the rows of the chains of all keys, one key after the other, as indices
    into `FunnelRows`; None if not computed. The chain of a key has as many rows as its level.
    """

    levels: np.ndarray
    chains: np.ndarray | None


class KeyedRows:
    """Collects the rows of a funnel in stream order, and returns them grouped by key.

    keys: the number of keys, numbered from 0. The rows are returned in buckets of neighbouring keys that fit in a
        cache.
    """

    def __init__(self, keys: int, every: bool, steps: int | None = None) -> None:
        """Begin without rows. every: whether to keep rows that match no step.

        steps: the number of steps, or None. If it is given, many rows that no chain can contain are left out, and the
        rows of each key must come in the order in which `find_chains` reads them.
        """
        self.keys, self._every, self._steps = keys, every, steps
        self._reached, self._counts = np.zeros(keys, np.uint8), np.zeros(3, np.int64)
        self._latest: np.ndarray | None = None
        self._parts: list[tuple[np.ndarray, ...]] = []
        self._room: tuple[np.ndarray, ...] = ()  # for the next rows: memory that nobody has touched yet costs nothing

    @property
    def present(self) -> np.ndarray:
        """Return for each key whether it has a row."""
        present: np.ndarray = self._reached > 0
        return present

    @property
    def without_key(self) -> int:
        """Return the number of rows that have no key."""
        return int(self._counts[0])

    @property
    def without_time(self) -> int:
        """Return the number of rows that have a key but no time."""
        return int(self._counts[1])

    @property
    def ascending(self) -> bool:
        """Return whether no row, with or without a key, has an earlier time than a row before it."""
        return not self._counts[2]

    def add(
        self,
        first: int,
        keys: np.ndarray,
        times: np.ndarray,
        masks: np.ndarray,
        valid: np.ndarray | None = None,
        *,
        least: int = 0,
        bits: np.ndarray | None = None,
    ) -> None:
        """Add the rows whose positions begin with `first`.

        keys: whole numbers. Keys are numbered from `least` on; a key out of range means that the row has no key. valid:
        whether each row has a time; None if all have. bits: if given, the table of masks; `masks` then has for each row
        an index into it.
        """
        from cerify.automata.funnel_kernels import keep_rows

        rows = np.int32 if first + len(keys) < 2**31 else np.int64
        kinds = np.int32, rows, times.dtype, (masks if bits is None else bits).dtype
        if not self._room or len(self._room[0]) < len(keys) or self._room[1].dtype != kinds[1]:
            self._room = tuple(np.empty(max(_ROOM, len(keys)), kind) for kind in kinds)
        if self._latest is None:
            lowest = -np.inf if times.dtype.kind == "f" else np.iinfo(times.dtype).min
            self._latest = np.array([lowest], times.dtype)
        state, steps = (self._reached, self._counts, self._latest), self._steps or 0
        keys, times, masks, valid, bits = _for_loops(keys, times, masks, valid, bits)
        given = keys, least, times, masks
        count = keep_rows(first, steps, self._every, steps > 0, given, valid, bits, state, self._room)
        self._parts.append(tuple(column[:count] for column in self._room))
        self._room = tuple(column[count:] for column in self._room)

    def groups(self) -> Iterator[tuple[int, FunnelRows]]:
        """Yield the rows of each bucket, with the number of its first key. This removes the rows."""
        if self.keys == 0 or not self._parts:
            return
        if not installed("numba"):
            codes, *columns = map(np.concatenate, zip(*self._parts, strict=True))
            order = np.argsort(codes, kind="stable")
            starts = np.concatenate([[0], np.bincount(codes, minlength=self.keys).cumsum()])
            yield 0, FunnelRows(self.keys, starts, *(column[order] for column in columns))
            return
        from cerify.automata.funnel_kernels import group_bucket

        shift, ends, placed = self._place()
        for bucket, (begin, end) in enumerate(pairwise([0, *ends.tolist()])):
            low = bucket << shift
            keys = min(1 << shift, self.keys - low)
            codes, *columns = (column[begin:end] for column in placed)
            starts, grouped = np.zeros(keys + 1, np.int64), tuple(map(np.empty_like, columns))
            group_bucket(starts, (codes, *columns), grouped)
            yield low, FunnelRows(keys, starts, *grouped)

    def _place(self) -> tuple[int, np.ndarray, tuple[np.ndarray, ...]]:
        """Return (shift, ends, placed): the rows bucket by bucket, and where each bucket ends.

        The bucket of a key is the key without its `shift` low bits.
        """
        from cerify.automata.funnel_kernels import place_rows

        size = sum(len(codes) for codes, *_ in self._parts)
        bits = min(_MOST_BUCKET_BITS, (size // _BUCKET_ROWS).bit_length())
        shift = max(0, self.keys.bit_length() - bits)
        buckets = ((self.keys - 1) >> shift) + 1
        counts = sum(np.bincount(codes >> shift, minlength=buckets) for codes, *_ in self._parts)
        ends = np.cumsum(counts)
        codes, *columns = self._parts[-1]
        kinds = np.uint16 if shift <= 16 else codes.dtype, *(column.dtype for column in columns)
        placed, free = tuple(np.empty(size, kind) for kind in kinds), ends - counts
        self._parts.reverse()
        # Each part is freed once it is placed: at no time are all rows in memory twice.
        while self._parts:
            place_rows(shift, free, self._parts.pop(), placed)
        return shift, ends, placed


def sorted_by_time(rows: FunnelRows) -> FunnelRows:
    """Return the rows, sorted by time for each key. Rows of equal times keep their order."""
    if first_step_back(rows) is None:
        return rows
    owners = np.repeat(np.arange(rows.keys), np.diff(rows.starts))
    order = np.lexsort((rows.times, owners))
    return FunnelRows(rows.keys, rows.starts, rows.rows[order], rows.times[order], rows.masks[order])


def first_step_back(rows: FunnelRows) -> tuple[int, int] | None:
    """Return the stream positions of two neighbouring rows of a key of which the second is earlier; None if there are
    none.
    """
    if len(rows.times) < 2:
        return None
    back = rows.times[1:] < rows.times[:-1]
    inner = rows.starts[1:-1]
    back[inner[(inner > 0) & (inner < len(rows.times))] - 1] = False  # between two keys
    found = np.flatnonzero(back)
    return None if len(found) == 0 else (int(rows.rows[found[0]]), int(rows.rows[found[0] + 1]))


def find_chains(rows: FunnelRows, n: int, window: int | float | None, *, first: bool, increasing: bool) -> Reached:
    """Return for each key its level and its first chain of that level; see `cerify.semantics.funnels.deepest_chain`.

    The times of each key must ascend. window is in the unit of the times; None for no window.
    """
    from cerify.automata.funnel_kernels import chain_levels, first_levels

    levels = np.zeros(rows.keys, np.int8)
    chains = np.empty(len(rows.rows), np.int32 if len(rows.rows) < 2**31 else np.int64)
    loop = first_levels if first else chain_levels
    loop(*_columns(rows), n, _limit(window, rows.times), increasing, np.zeros((2, n), np.int64), (levels, chains))
    return Reached(levels, chains[: levels.sum()])


def find_mode_levels(rows: FunnelRows, n: int, window: int | float | None, mode: str) -> Reached:
    """Return the level of each key in a mode of ClickHouse's windowFunnel. Raises IllFormed for an unknown mode.

    The times of each key must ascend. In the modes with strict_order, the rows that match no step must be included.
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


def _columns(rows: FunnelRows) -> tuple[Any, ...]:
    return _for_loops(rows.starts, rows.times, rows.masks)


def _for_loops(*columns: np.ndarray | None) -> tuple[Any, ...]:
    """Return the columns as the functions of funnel_kernels.py read them: as lists if Python runs these, which is twice
    as fast.
    """
    return columns if installed("numba") else tuple(None if c is None else c.tolist() for c in columns)


def _limit(window: int | float | None, times: np.ndarray) -> Any:
    """Return the window in the number type of the times; without a window, a number larger than any difference."""
    if times.dtype.kind == "f":
        return np.inf if window is None else float(window)
    return 2**62 if window is None else min(int(window), 2**62)
