"""The meaning of ClickHouse's sequenceMatch and sequenceCount: patterns such as `(?1)(?t<=3600)(?2).*(?3)`.

A pattern is matched with the rows of one key, sorted by time; rows with equal times stay in the order of the stream.
Rows that satisfy no condition are dropped first, so `(?1)(?2)` matches neighbours among the remaining rows. Patterns
that end in a time clause or need no row are refused, because ClickHouse's answers to them depend on whether rows
remain.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cerify.semantics.errors import BudgetExceeded, ParseError, Span
from cerify.semantics.funnels import FunnelRow, Rows, Time

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
    """`(?t<=N)`: skips rows up to a row whose distance in time from the row before satisfies the comparison."""

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


def show_sequence_pattern(parts: Sequence[SequencePart]) -> str:
    """Return the text of a pattern; parsing the text gives the pattern again."""
    return "".join(map(_text, parts))


def sequence_match(parts: Sequence[SequencePart], rows: Rows) -> bool:
    """Return whether some rows of the key match the pattern."""
    return next(_matches(_search(parts, rows)), None) is not None


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


def _text(part: SequencePart) -> str:
    match part:
        case OfCondition(number):
            return f"(?{number})"
        case TimeClause(sign, distance):
            return f"(?t{sign}{distance})"
        case AnyRow():
            return "."
        case AnyRows():
            return ".*"


def _located(message: str, text: str, start: int, end: int) -> ParseError:
    error = ParseError(message, Span(start, end))
    error.text = text
    return error
