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

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from cerify.semantics.arguments import check_time
from cerify.semantics.errors import BudgetExceeded, ParseError, Span

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
    """Yield the chains of the first k steps, in ascending order of their positions.

    A chain has k different rows in the order of the stream. Row i satisfies step i, the last is within the window of
    the first, and there is no row from the first to the last that must not occur (`FunnelRow.barred`).
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
    # From the highest level down: a least chain of level k need not begin like the least chain of level k + 1.
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
    """Return the highest step that a row reaches, if each step looks only at the newest row of the step before.

    Rows are read by time, then by step. A row of step 1 reaches it. A row of step s > 1 reaches it if it is later than
    the newest row that reached step s - 1, and within w of the row of step 1 from which that row was reached. So A at
    second 1, A and B at second 2 give 1: B is not later than the newest A, and the first A is forgotten.
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

    An entry is a row with one step that it satisfies; a row that satisfies no step is an entry without a step. Entries
    are read by time, then by step, from the first entry of step 1 on; at equal times, entries without a step come
    first. An entry breaks the order if it has no step, or if the step before its step is not reached. Reached steps may
    repeat.
    """
    kept: list[tuple[Time, int]] = []
    for time, step in _from_first(rows):
        if step == 0 or not _is_due(kept, step, n, w):
            break
        kept.append((time, step))
    return _level_of_entries(kept, n, w)


def allow_reentry(rows: Rows, n: int, w: Time) -> int:
    """Return the level of `strict_order`, but ignore entries of steps whose preceding step is not reached.

    An entry (see `strict_order`) without a step still ends the funnel.
    """
    kept: list[tuple[Time, int]] = []
    for time, step in _from_first(rows):
        if step == 0:
            break
        if _is_due(kept, step, n, w):
            kept.append((time, step))
    return _level_of_entries(kept, n, w)


def strict_deduplication(rows: Rows, n: int, w: Time) -> int:
    """Return the level of `window_funnel` for the entries (see `strict_order`) before the first repeat of a reached
    step.

    Repeats of step 1 do not count. After such a repeat the rest of the key's rows are ignored, also outside the window.
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


# ---------------------------------------------------------------------------------------------------------------------
# The meaning of ClickHouse's sequenceMatch and sequenceCount: patterns such as `(?1)(?t<=3600)(?2).*(?3)`.
#
# A pattern is matched with the rows of one key, sorted by time; rows with equal times stay in the order of the stream.
# Rows that satisfy no condition are dropped first, so `(?1)(?2)` matches neighbours among the remaining rows. Patterns
# that end in a time clause or need no row are refused, because ClickHouse's answers to them depend on whether rows
# remain.

COMPARE_TIMES: Mapping[str, Callable[[Time, Time], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
}
_PART = re.compile(
    r"\(\?(?P<number>[0-9]+)\)|\(\?t(?P<sign><=|>=|==|<|>)(?P<seconds>[0-9]+)\)|(?P<star>\.\*)|(?P<any>\.)"
)
_SEARCHED = 100_000  # the most rows that a search may look at for one key
_LONGEST = 100  # the most parts of a pattern


@dataclass(frozen=True, slots=True)
class OfCondition:
    """`(?N)`: a row that satisfies condition N."""

    number: int


@dataclass(frozen=True, slots=True)
class AnyRow:
    """`.`: any row."""


@dataclass(frozen=True, slots=True)
class AnyRows:
    """`.*`: any number of rows, as few as possible."""


@dataclass(frozen=True, slots=True)
class TimeClause:
    """`(?t<=N)`: skips rows up to the first whose time since the row before the clause satisfies the comparison, here
    <= N.
    """

    sign: str
    distance: int


SequencePart: TypeAlias = OfCondition | AnyRow | AnyRows | TimeClause


def parse_sequence_pattern(text: str) -> tuple[SequencePart, ...]:
    """Return the parts of a pattern of sequenceMatch. Raises ParseError with the place.

    >>> parse_sequence_pattern("(?1).*(?2)")
    (OfCondition(number=1), AnyRows(), OfCondition(number=2))
    """
    parts: list[SequencePart] = []
    at = 0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            wrong = "this is not a part of a pattern; the parts are (?1), (?2), …, (?t<=3600), . and .*"
            raise _located(wrong, text, at, len(text))
        part = _part(found)
        if isinstance(part, OfCondition) and part.number < 1:
            raise _located(
                f"there is no condition {part.number}: conditions are numbered from 1", text, at, found.end()
            )
        if isinstance(part, TimeClause) and (not parts or isinstance(parts[-1], TimeClause)):
            raise _located(
                "a time clause must follow (?N), `.` or `.*`: it measures the time from there", text, at, found.end()
            )
        parts.append(part)
        at = found.end()
    if len(parts) > _LONGEST:
        raise _located(f"the pattern has more than {_LONGEST} parts; write a shorter one", text, 0, at)
    if not any(isinstance(part, OfCondition | AnyRow) for part in parts):
        wrong = "the pattern needs no row: write (?1) for a row that satisfies the first condition"
        raise _located(wrong, text, 0, len(text))
    last = next(part for part in reversed(parts) if not isinstance(part, AnyRows))
    if isinstance(last, TimeClause):
        raise _located("a time clause needs a row after it: write (?N) after it", text, 0, at)
    return tuple(parts)


def sequence_count(parts: Sequence[SequencePart], rows: Rows) -> int:
    """Return the number of matches without overlap: the first match, the first match after its last row, and so on."""
    return sum(1 for _ in _matches(_search(parts, rows)))


def sequence_rows(parts: Sequence[SequencePart], rows: Rows) -> tuple[int, ...] | None:
    """Return the rows that the `(?N)` parts take in the first match; None if there is no match.

    Rows are numbered from 0, in the order of their times; rows that satisfy no condition are not counted.

    >>> view, cart = FunnelRow(0, frozenset({1})), FunnelRow(5, frozenset({2}))
    >>> sequence_rows(parse_sequence_pattern("(?1).*(?2)"), [view, FunnelRow(1, frozenset()), cart])
    (0, 1)
    """
    search = _search(parts, rows)
    return next(_matches(search), None) and search.taken


def longest_attempt(parts: Sequence[SequencePart], rows: Rows) -> tuple[int, ...] | None:
    """Return the rows that the `(?N)` parts take in the longest attempt to match; None if no attempt takes a row.

    Of several longest attempts, the first counts. This is the answer of ClickHouse's sequenceMatchEvents, also for a
    key with a match. If a pattern ends in `.`, an attempt that fails only at this `.` takes as many rows as a match,
    and is the answer if it comes first. Rows are numbered as in `sequence_rows`.
    """
    search = _search(parts, rows)
    next(_matches(search), None)
    return search.longest or None


def _search(parts: Sequence[SequencePart], rows: Rows) -> _Search:
    return _Search(parts, sorted((row for row in rows if row.steps), key=lambda row: row.time))


def _matches(search: _Search) -> Iterator[tuple[int, int]]:
    kept, start = search.rows, 0
    while start < len(kept):
        ends = (end for end in (search.first_end(begin) for begin in range(start, len(kept))) if end is not None)
        end = next(ends, None)
        if end is None:
            return
        yield start, end
        start = end


@dataclass
class _Search:
    parts: Sequence[SequencePart]
    rows: Sequence[FunnelRow]
    looked: int = 0
    taken: tuple[int, ...] = ()  # the rows that the match took
    longest: tuple[int, ...] = ()  # the most rows that any attempt took

    def first_end(self, begin: int) -> int | None:
        """Return the row after the preferred match that begins at row `begin`; None if there is no such match."""
        return next(self._ends(0, begin, begin, ()), None)

    def _ends(self, part: int, at: int, base: int, taken: tuple[int, ...]) -> Iterator[int]:
        """Yield the ends of the matches of the parts from number `part` on, the preferred match first.

        base: the row from which a time clause measures: the row that the part before took, or after `.*` the row at
        which `.*` stopped. The clause measures up to row `at`, even if `.*` follows. taken: the rows that `(?N)` parts
        took before.
        """
        while True:
            self.looked += 1
            # Each `.*` multiplies the ways to match, so the steps are limited and not only the rows.
            if self.looked > _SEARCHED:
                raise BudgetExceeded(
                    f"the search looks at more than {_SEARCHED} rows of one key; give fewer rows for each key"
                )
            if part == len(self.parts):
                self.taken = taken
                yield at
                return
            this = self.parts[part]
            if at == len(self.rows):
                # At the end of the rows only `.*` can still match, and it matches nothing.
                if all(isinstance(left, AnyRows) for left in self.parts[part:]):
                    self.taken = taken
                    yield at
                return
            if isinstance(this, OfCondition | AnyRow):
                if isinstance(this, OfCondition):
                    if this.number not in self.rows[at].steps:
                        return
                    taken = (*taken, at)
                    self.longest = max(self.longest, taken, key=len)  # the first of two with equal lengths
                part, at, base = part + 1, at + 1, at
                continue
            if isinstance(this, AnyRows) or COMPARE_TIMES[this.sign](
                self.rows[at].time, self.rows[base].time + this.distance
            ):
                yield from self._ends(part + 1, at, at, taken)
            at += 1


def _part(found: re.Match[str]) -> SequencePart:
    if found["number"]:
        return OfCondition(int(found["number"]))
    if found["sign"]:
        return TimeClause(found["sign"], int(found["seconds"]))
    return AnyRows() if found["star"] else AnyRow()


def _located(message: str, text: str, start: int, end: int) -> ParseError:
    error = ParseError(message, Span(start, end))
    error.text = text
    return error
