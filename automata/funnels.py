"""Evaluates funnels over columns: the rows of each key are put together, then a loop reads them once or twice.

The definition is semantics/funnels.py, with which this module shares nothing. The loops are compiled where numba is
installed; without it Python runs them, which is far slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cerify.semantics.arguments import format_names
from cerify.semantics.errors import IllFormed
from cerify.semantics.packages import installed, np

_BUCKET_BITS = 10
"""With more keys than two to this power, rows are moved by the high bits of their key first.

Each of the two times the places that are written to fit in a cache.
"""

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
    """The rows of a funnel, those of a key together and in order.

    keys: the number of keys, which are numbered from 0. starts: `keys + 1` offsets into the other columns. rows: the
    position of each row in the stream. times and masks: see `funnel_kernels`.
    """

    keys: int
    starts: np.ndarray
    rows: np.ndarray
    times: np.ndarray
    masks: np.ndarray


@dataclass(frozen=True)
class Reached:
    """The progress of the keys: the level of each, and the stream positions of its chain, -1 from the level on."""

    levels: np.ndarray
    chains: np.ndarray | None


def group_rows(
    codes: np.ndarray, keys: int, times: np.ndarray, masks: np.ndarray, kept: np.ndarray | None = None
) -> FunnelRows:
    """Return the rows with those of a key together, in the order in which they come.

    codes: the number of each row's key, below `keys`. kept: which rows there are, None for all; a row that is not kept
    may have any code. All columns have the same length.
    """
    kept = np.ones(len(codes), np.bool_) if kept is None else kept
    starts = np.zeros(keys + 1, np.int64)
    number = np.int32 if len(codes) < 2**31 else np.int64
    if not installed("numba"):
        rows = np.flatnonzero(kept)
        rows = rows[np.argsort(codes[rows], kind="stable")].astype(number)
        np.cumsum(np.bincount(codes[rows], minlength=keys), out=starts[1:])
        return FunnelRows(keys, starts, rows, times[rows], masks[rows])
    from cerify.automata.funnel_kernels import count_kept, scatter, scatter_kept

    count_kept(codes, kept, starts[1:])
    np.cumsum(starts, out=starts)
    size = int(starts[-1])

    def placed() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.empty(size, number), np.empty(size, times.dtype), np.empty(size, masks.dtype)

    shift = max(0, keys.bit_length() - _BUCKET_BITS)
    by_bucket = np.empty(size, codes.dtype), *placed()
    scatter_kept(shift, starts[:-1][:: 1 << shift].copy(), kept, (codes, times, masks), by_bucket)
    if shift == 0:
        return FunnelRows(keys, starts, *by_bucket[1:])
    by_key = placed()
    scatter(starts[:-1].copy(), by_bucket, by_key)
    return FunnelRows(keys, starts, *by_key)


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
    if len(rows.rows):
        for step in range(n):  # a column at a time, to need little memory
            column = chains[:, step]
            chains[:, step] = np.where(column < 0, -1, rows.rows[column])
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
