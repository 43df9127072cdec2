"""The meaning of funnels: how far a key gets on the way A, then B, then C, clause by clause.

The question "how many users did A, then B, then C within a week" has several answers in use, because databases differ
in what they do with equal times, repeated steps and rows that match no step. Here each such answer is a *reading*: a
function from the rows of one key to a level. It follows its description in docs/guide/funnels.md word for word, without
regard to speed. The evaluator of funnels over columns (automata/funnels.py) shares no code with this module and is
compared with it.

Letters, in every function of this module:
    rows  the rows of one key, in the order of the stream       n  the number of steps, which are numbered from 1
    w     the length of the window, in the unit of the times    k  a level: the steps 1 to k have been reached
The readings of ClickHouse were compared with ClickHouse 26.9 (proofs_tests/campaigns/funnels.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from cerify.semantics.arguments import check_time

Time: TypeAlias = int | float | Fraction
Chain: TypeAlias = tuple[int, ...]
"""The positions, in the rows of a key, of the steps 1 to k of a funnel."""
Follows: TypeAlias = Callable[[Chain, int], bool]
"""Returns whether a row may be the next step after the chain."""


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """A row of one key: its time, the steps whose condition it satisfies, and whether it must not occur in a chain."""

    time: Time
    steps: frozenset[int]
    barred: bool = False


Rows: TypeAlias = Sequence[FunnelRow]


# --- cerify's own meaning ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChainReading:
    """The options of a funnel, as cerify reads it.

    first: a funnel begins only at the key's first row of step 1. increasing: each step has a later time than the step
    before. window: the longest allowed time from the first step to the last; None: any time.
    """

    window: Time | None = None
    first: bool = False
    increasing: bool = False


def chains(rows: Rows, k: int, reading: ChainReading = ChainReading()) -> Iterator[Chain]:
    """Yield the chains of level k, in ascending order of their positions.

    A chain has k different rows in the order of the stream. Row i satisfies step i, the last is within the window of
    the first, and no row from the first to the last is barred.
    """
    first = next((p for p, row in enumerate(rows) if 1 in row.steps), None)

    def extended(chain: Chain) -> Iterator[Chain]:
        check_time()
        if len(chain) == k:
            yield chain
            return
        for p in range(chain[-1] + 1 if chain else 0, len(rows)):
            row = rows[p]
            if row.barred and chain:
                return
            if len(chain) + 1 not in row.steps or row.barred or (not chain and reading.first and p != first):
                continue
            if chain and reading.window is not None and row.time - rows[chain[0]].time > reading.window:
                continue
            if chain and reading.increasing and not row.time > rows[chain[-1]].time:
                continue
            yield from extended((*chain, p))

    return extended(())


def deepest_chain(rows: Rows, n: int, reading: ChainReading = ChainReading()) -> Chain:
    """Return the least chain of the highest level; the empty chain if no row satisfies step 1.

    The least chain is the one that begins first; of these, the one whose second step is first; and so on. Its length
    is the level of the key.

    >>> view, cart = FunnelRow(0, frozenset({1})), FunnelRow(5, frozenset({2}))
    >>> deepest_chain([view, view, cart, cart], 3)
    (0, 2)
    """
    found = (next(chains(rows, k, reading), None) for k in range(n, 0, -1))
    return next((chain for chain in found if chain is not None), ())


# --- the readings of ClickHouse's windowFunnel ------------------------------------------------------------------------


def window_funnel(rows: Rows, n: int, w: Time) -> int:
    """Return the largest k for which rows of the steps 1 to k have times that do not decrease and lie within w.

    One row may serve several steps, and rows of equal times are in any order.
    """
    return _largest(rows, n, w, lambda chain, p: rows[chain[-1]].time <= rows[p].time)


def strict_once(rows: Rows, n: int, w: Time) -> int:
    """Return the level of `window_funnel` with different rows for different steps."""
    return _largest(rows, n, w, lambda chain, p: p not in chain and rows[chain[-1]].time <= rows[p].time)


def strict_increase_once(rows: Rows, n: int, w: Time) -> int:
    """Return the level of `window_funnel` with times that increase: strict_increase and strict_once together."""
    return _largest(rows, n, w, lambda chain, p: rows[chain[-1]].time < rows[p].time)


def strict_increase(rows: Rows, n: int, w: Time) -> int:
    """Return the highest accepted step, where a row is compared with only one earlier row.

    Rows are read by time, then by step. A row of step 1 is accepted. A row of step s > 1 is accepted if it is later
    than the newest accepted row of step s - 1, and within w of the row of step 1 at which that row's chain began. An
    earlier row of step s - 1 is forgotten: A twice in one second, then B in that second, stays at level 1.
    """
    newest: dict[int, tuple[Time, Time]] = {}  # by step: the time at which the chain began, and the time of the step
    for time, step in _entries(rows):
        if step == 1:
            newest[1] = (time, time)
        elif step - 1 in newest:
            began, last = newest[step - 1]
            if time - began <= w and last < time:
                newest[step] = (began, time)
    return max(newest, default=0)


def strict_order(rows: Rows, n: int, w: Time) -> int:
    """Return the level of `window_funnel` for the entries before the first entry that breaks the order.

    Entries are read by time, then by step, from the first entry of step 1 on; at equal times, entries without a step
    come first. An entry breaks the order if it has no step, or if the step before its step is not reached. Reached
    steps may repeat.
    """
    kept: list[tuple[Time, int]] = []
    for time, step in _from_first(rows):
        if step == 0 or not _is_due(kept, step, n, w):
            break
        kept.append((time, step))
    return _level_of_entries(kept, n, w)


def allow_reentry(rows: Rows, n: int, w: Time) -> int:
    """Return the level of `strict_order`, but ignore entries of steps whose preceding step is not reached.

    An entry without a step still ends the funnel.
    """
    kept: list[tuple[Time, int]] = []
    for time, step in _from_first(rows):
        if step == 0:
            break
        if _is_due(kept, step, n, w):
            kept.append((time, step))
    return _level_of_entries(kept, n, w)


def strict_deduplication(rows: Rows, n: int, w: Time) -> int:
    """Return the level of `window_funnel` for the entries before the first repeat of a reached step.

    Repeats of step 1 do not count. The repeat ends the history of the key, not only the window.
    """
    kept: list[tuple[Time, int]] = []
    for time, step in _entries(rows):
        if step >= 2 and _level_of_entries(kept, n, w) >= step:
            break
        kept.append((time, step))
    return _level_of_entries(kept, n, w)


FUNNEL_MODES: Mapping[str, Callable[[Rows, int, Time], int]] = {
    "windowFunnel": window_funnel,
    "strict_once": strict_once,
    "strict_increase": strict_increase,
    "strict_increase,strict_once": strict_increase_once,
    "strict_order": strict_order,
    "strict_order,allow_reentry": allow_reentry,
    "strict_deduplication": strict_deduplication,
}
"""The readings of ClickHouse by the modes that are written in a call; windowFunnel is the reading of a call without a
mode.
"""


def _largest(rows: Rows, n: int, w: Time, follows: Follows) -> int:
    def exists(chain: Chain, k: int) -> bool:
        check_time()
        if len(chain) == k:
            return rows[chain[-1]].time - rows[chain[0]].time <= w
        steps = (p for p, row in enumerate(rows) if len(chain) + 1 in row.steps)
        return any(exists((*chain, p), k) for p in steps if not chain or follows(chain, p))

    return max((k for k in range(1, n + 1) if exists((), k)), default=0)


def _entries(rows: Rows) -> list[tuple[Time, int]]:
    """Return an entry (time, step) for each step of each row, and (time, 0) for a row that matches no step."""
    return sorted((row.time, step) for row in rows for step in (row.steps or {0}))


def _from_first(rows: Rows) -> Iterator[tuple[Time, int]]:
    begun = False
    for time, step in _entries(rows):
        begun = begun or step == 1
        if begun:
            yield time, step


def _is_due(kept: Sequence[tuple[Time, int]], step: int, n: int, w: Time) -> bool:
    return step == 1 or _level_of_entries(kept, n, w) >= step - 1


def _level_of_entries(entries: Sequence[tuple[Time, int]], n: int, w: Time) -> int:
    return window_funnel([FunnelRow(time, frozenset({step} - {0})) for time, step in entries], n, w)


# --- retention --------------------------------------------------------------------------------------------------------


def retention(rows: Rows, n: int) -> tuple[bool, ...]:
    """Return for each step i whether a row satisfies step 1 and a row satisfies step i; times do not matter."""
    reached = frozenset[int]().union(*(row.steps for row in rows))
    return tuple(1 in reached and step in reached for step in range(1, n + 1))
