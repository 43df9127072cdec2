"""The table that MATCH_RECOGNIZE or WINDOW makes of its matches: ISO/IEC 9075-2, features R010 and R020."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from cerify.semantics.budget import check_time
from cerify.semantics.events import Stream, result_of
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.row_pattern.denote import visible_rows
from cerify.semantics.row_pattern.expressions import Frame, Row, value
from cerify.semantics.row_pattern.interpreter import partitions, table_of
from cerify.semantics.row_pattern.matches import NumberedMatch
from cerify.semantics.row_pattern.reading import STANDARD, RowReading
from cerify.semantics.row_pattern.resolve import columns_of, resolved
from cerify.semantics.row_pattern.scalars import Nullable

OutputRow: TypeAlias = tuple[Nullable, ...]


@dataclass(frozen=True)
class Output:
    """What a clause makes of its matches over a table."""

    clause: MatchRecognize
    S: Stream
    reading: RowReading = STANDARD

    @cached_property
    def q(self) -> MatchRecognize:
        """The clause with the columns' names as the table has them."""
        return resolved(self.clause, columns_of(self.S))

    @cached_property
    def table(self) -> list[Row]:
        """The rows of the table."""
        return table_of(self.S)

    @cached_property
    def partitions(self) -> list[list[int]]:
        """The positions of the rows of each partition, in order."""
        return partitions(self.q, self.table, self.reading)

    @cached_property
    def place(self) -> dict[int, tuple[list[Row], int]]:
        """For each position the rows of its partition, and the number of its row there."""
        found: dict[int, tuple[list[Row], int]] = {}
        for places in self.partitions:
            partition = [self.table[place] for place in places]
            found.update((place, (partition, r)) for r, place in enumerate(places))
        return found

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The columns that come before the measures: those of PARTITION BY, and of ORDER BY if it has all."""
        order = (one.column.name for one in self.q.order if self.q.all_columns)
        return tuple(dict.fromkeys([*(one.name for one in self.q.partition), *order]))

    @cached_property
    def others(self) -> tuple[str, ...]:
        """The columns that come after the measures: the rest of the table's, if the output has all."""
        return tuple(name for name in columns_of(self.S) if self.q.all_columns and name not in self.keys)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return (*self.keys, *(one.name for one in self.q.measures), *self.others)

    def rows(self, found: Iterable[NumberedMatch]) -> Iterator[OutputRow]:
        """The rows of the table, of all matches of the clause."""
        starts = {self.row_of(match): match for match in found}
        matched = starts.keys() | {place for match in starts.values() for place in match.events}
        for start in (place for places in self.partitions for place in places):
            if start in starts:
                yield from (self._row(place, measures) for place, measures in self.measured(starts[start]))
            elif self.q.window is not None or (self.q.rows == "all with unmatched" and start not in matched):
                yield self._row(start, (None,) * len(self.q.measures))

    def measured(self, match: NumberedMatch) -> Iterator[tuple[int, OutputRow]]:
        """For each row of the table that a match makes: the position of the row it shows, and the measures.

        The measures of a match with a result are those.
        """
        if not match.events:
            shown = [] if self.q.rows == "all omit empty" else [(match.at, 0)]
        elif self.q.rows == "one":
            shown = [(match.at, len(match.events))]
        else:
            excluded = {*match.excluded}
            shown = [(place, k) for k, place in enumerate(match.events, 1) if place not in excluded]
        if match.result is None:
            found = self.measures(match, [k for _, k in shown])
        else:
            columns = [match.result.attributes[one.name] for one in self.q.measures]
            found = iter([tuple(columns)]) if self.q.rows == "one" else zip(*columns, strict=True)
        return zip((place for place, _ in shown), found, strict=True)

    def measures(self, match: NumberedMatch, seen: Sequence[int]) -> Iterator[OutputRow]:
        """The measures of a match in its rows of these numbers, from 1; 0 if it is empty."""
        labels = labels_of(match)
        for current in seen:
            check_time()
            f = self.frame(match, labels, current)
            yield tuple(value(one.expression, f) for one in self.q.measures)

    def frame(self, match: NumberedMatch, labels: tuple[str, ...], current: int) -> Frame:
        """What measures look at in a match with these labels, in the row of that number."""
        partition, s = self.place[match.events[0] if match.events else match.at]
        visible = visible_rows(self.q, self.place[match.at][1], len(partition))
        return Frame(partition, visible, s, labels, current, match.match_number, self.q.unions, self.reading)

    def with_result(self, match: NumberedMatch) -> NumberedMatch:
        """The match with the measures by name as its result; with ALL ROWS the list of the values in its rows."""
        if not self.q.measures:
            return match
        shown = [measures for _, measures in self.measured(match)]
        columns: dict[str, Any] = {one.name: [values[i] for values in shown] for i, one in enumerate(self.q.measures)}
        if self.q.rows == "one":
            columns = {name: values[0] for name, values in columns.items()}
        return replace(match, result=result_of(columns))

    def row_of(self, match: NumberedMatch) -> int:
        """The position of the row whose search finds a match: its first one, in WINDOW that of the frame."""
        return match.events[0] if match.events and self.q.window is None else match.at

    def _row(self, place: int, measures: OutputRow) -> OutputRow:
        row = self.table[place]
        return (*(row.get(name) for name in self.keys), *measures, *(row.get(name) for name in self.others))


def labels_of(match: NumberedMatch) -> tuple[str, ...]:
    """The variables of the rows of a match, in order."""
    label = {place: A for A, bound in match.bindings or () for place in bound}
    return tuple(label[place] for place in match.events)
