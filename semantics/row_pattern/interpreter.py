"""Evaluate a clause as defined: partition the table, search for matches within a budget, and make the output.

The search itself is in `denote.py`; here are the steps around it, in the standard's order: partitions, their order, the
search with AFTER MATCH SKIP, and then one or all rows per match. `RowOutput` makes the rows of the answer; hypotheses
about engines derive from it to change one step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from itertools import groupby
from typing import Any, TypeAlias, TypeVar

from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.errors import BudgetExceeded, IllFormed
from cerify.semantics.events import TYPE, Stream, result_of
from cerify.semantics.predicates import show_value
from cerify.semantics.readings import STANDARD, RowReading
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.denote import Frame, Row, RowMatch, matches, value, visible_rows
from cerify.semantics.row_pattern.scalars import Nullable, NumberedMatch, columns_of, key_value, resolved
from cerify.semantics.row_pattern.syntax import MatchRecognize, Order, key_name, show_expression
from cerify.semantics.values import kind

T = TypeVar("T")


def find_matches(
    q: MatchRecognize, S: Stream, reading: RowReading = STANDARD, budget: Budget = Budget()
) -> Iterator[NumberedMatch]:
    """Yield the matches in the order in which they are found, the partitions in the order of their first rows.

    Raises IllFormed if AFTER MATCH SKIP has no row to skip to, and BudgetExceeded after budget.valuations labellings.
    """
    table, q = table_of(S), resolved(q, columns_of(S))
    watch = RowStepBudget(budget.valuations)
    for places in partitions(q, table, reading):
        for found in matches(q, [table[place] for place in places], reading, watch):
            yield match_of(q, found, places)


def table_of(S: Stream) -> list[Row]:
    """Return the events as the rows of a table, with the column "type"."""
    return [{**event.attributes, TYPE: event.type} for event in S]


def partitions(q: MatchRecognize, table: Sequence[Row], reading: RowReading) -> list[list[int]]:
    """Return, for each partition, the positions of its rows in order; rows that tie keep the order of the table."""
    found: dict[Any, list[int]] = {}
    for place, row in enumerate(table):
        found.setdefault(tuple(_key(key_value(e, row, reading)) for e in q.partition), []).append(place)
    # From the last key to the first: sorting is stable, so each key keeps the order of those after it.
    for one in reversed(q.order):
        for key, places in found.items():
            found[key] = _ordered(places, table, one, reading)
    return list(found.values())


def _ordered(places: list[int], table: Sequence[Row], one: Order, reading: RowReading) -> list[int]:
    values = {place: key_value(one.column, table[place], reading) for place in places}
    there = [place for place in places if values[place] is not None]
    there.sort(key=lambda place: _key(values[place]), reverse=one.descending)
    nulls = [place for place in places if values[place] is None]
    first = {"high": one.descending, "low": not one.descending, "last": False}[reading.nulls]
    if one.nulls is not None:
        first = one.nulls == "FIRST"
    return nulls + there if first else there + nulls


def _key(value: Nullable) -> Any:
    """Return a key by which values are sorted and grouped; NaN comes after all numbers."""
    if value is None:
        return None
    is_nan = isinstance(value, float) and math.isnan(value)
    # NaN is unequal to itself: as a key it would give each of its rows a partition of its own.
    return kind(value), is_nan, 0 if is_nan else value


def match_of(q: MatchRecognize, found: RowMatch, places: list[int]) -> NumberedMatch:
    """Return a match of a partition as a match of the whole table: its rows are given by their positions in the table.

    places: the positions in the table of all rows of the partition.
    """
    events = tuple(places[found.start : found.end])
    bound: dict[str, list[int]] = {}
    for place, label in zip(events, found.labelling, strict=True):
        bound.setdefault(label.variable, []).append(place)
    excluded = tuple(place for place, label in zip(events, found.labelling, strict=True) if label.excluded)
    bindings = tuple((A, tuple(sorted(bound[A]))) for A in sorted(bound))
    # An empty match has no last row, and a match of WINDOW belongs to the row whose frame was searched.
    at = events[-1] if events and q.window is None else places[found.row]
    return NumberedMatch(at, events, bindings, match_number=found.number, excluded=excluded)


class RowStepBudget:
    """Counts the steps of a search. Raises BudgetExceeded if there are more than the limit."""

    def __init__(self, limit: int) -> None:
        self.limit, self.number = limit, 0

    def __call__(self, steps: Iterator[T]) -> Iterator[T]:
        self._step()
        for step in steps:
            self._step()
            yield step

    def _step(self) -> None:
        check_time()
        self.number += 1
        if self.number > self.limit:
            raise BudgetExceeded(
                f"the pattern labels rows in more than {self.limit} ways; the interpreter follows the definition and "
                "is slow by design: use a smaller table, or a pattern with fewer ways to label rows"
            )


# ---------------------------------------------------------------------------------------------------------------------
# The table that MATCH_RECOGNIZE or WINDOW makes of its matches: ISO/IEC 9075-2, features R010 and R020.

OutputRow: TypeAlias = tuple[Nullable, ...]


@dataclass(frozen=True)
class RowOutput:
    """The output of a clause for its matches over a table."""

    clause: MatchRecognize
    S: Stream
    reading: RowReading = STANDARD

    @cached_property
    def q(self) -> MatchRecognize:
        """Return the clause with the names of its columns spelled as in the table."""
        return resolved(self.clause, columns_of(self.S))

    @cached_property
    def table(self) -> list[Row]:
        """Return the rows of the table."""
        return table_of(self.S)

    @cached_property
    def partitions(self) -> list[list[int]]:
        """Return the positions of the rows of each partition, in order."""
        return partitions(self.q, self.table, self.reading)

    @cached_property
    def place(self) -> dict[int, tuple[list[Row], int]]:
        """Return, for the position of each row, the rows of its partition and its index among them."""
        found: dict[int, tuple[list[Row], int]] = {}
        for places in self.partitions:
            partition = [self.table[place] for place in places]
            found.update((place, (partition, r)) for r, place in enumerate(places))
        return found

    @cached_property
    def keys(self) -> dict[str, rows.Expression]:
        """Return the columns before the measures: the columns of PARTITION BY, and those of ORDER BY if the output has
        all columns.

        An expression in ORDER BY is left out: it has no name, and its columns are in the output anyway.
        """
        order = (one.column for one in self.q.order if self.q.all_columns and isinstance(one.column, rows.RowColumn))
        return {key_name(e): e for e in (*self.q.partition, *order)}

    @cached_property
    def other_columns(self) -> tuple[str, ...]:
        """Return the columns after the measures: all columns of the table except the keys, or none.

        There are none unless the output has all columns (ALL ROWS PER MATCH).
        """
        return tuple(name for name in columns_of(self.S) if self.q.all_columns and name not in self.keys)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns. Raises IllFormed if a measure has the name of a column of the table."""
        for one in self.q.measures:
            if (
                doubled := next((name for name in self.other_columns if name.lower() == one.name.lower()), None)
            ) is not None:
                message = f"the output has two columns {one.name}: a measure, and {doubled} of the table"
                raise IllFormed(f"{message}; give the measure another name", one.span)
        return (*self.keys, *(one.name for one in self.q.measures), *self.other_columns)

    def rows(self, found: Iterable[NumberedMatch]) -> Iterator[OutputRow]:
        """Yield the output rows of the clause, given all its matches."""
        starts = {self.row_of(match): match for match in found}
        matched = starts.keys() | {place for match in starts.values() for place in match.events}
        for start in (place for places in self.partitions for place in places):
            if start in starts:
                yield from (self._row(place, measures) for place, measures in self.measured(starts[start]))
            elif self.q.window is not None or (self.q.rows == "all with unmatched" and start not in matched):
                yield self._row(start, (None,) * len(self.q.measures))

    def measured(self, match: NumberedMatch) -> Iterator[tuple[int, OutputRow]]:
        """Yield, for each output row of a match, the position of the table's row that it shows, and its measures.

        If the match has a result, the measures are taken from the result.
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
        """Yield the measures at some rows of a match.

        seen: the numbers of these rows in the match, from 1; 0 for an empty match.
        """
        labels = labels_of(match)
        for current in seen:
            check_time()
            f = self.frame(match, labels, current)
            yield tuple(value(one.expression, f) for one in self.q.measures)

    def frame(self, match: NumberedMatch, labels: tuple[str, ...], current: int) -> Frame:
        """Return the frame for measures in a match with these labels, at its row number `current`."""
        partition, s = self.place[match.events[0] if match.events else match.at]
        visible = visible_rows(self.q, self.place[match.at][1], len(partition))
        return Frame(partition, visible, s, labels, current, match.match_number, self.q.unions, self.reading)

    def with_result(self, match: NumberedMatch) -> NumberedMatch:
        """Return the match with its measures by name as its result; with ALL ROWS each is the list of its values."""
        if not self.q.measures:
            return match
        shown = [measures for _, measures in self.measured(match)]
        columns: dict[str, Any] = {one.name: [values[i] for values in shown] for i, one in enumerate(self.q.measures)}
        if self.q.rows == "one":
            columns = {name: values[0] for name, values in columns.items()}
        return replace(match, result=result_of(columns))

    def row_of(self, match: NumberedMatch) -> int:
        """Return the position of the row at which a match is found: its first row, or in WINDOW the frame's row."""
        return match.events[0] if match.events and self.q.window is None else match.at

    def _row(self, place: int, measures: OutputRow) -> OutputRow:
        row = self.table[place]
        keys = (key_value(e, row, self.reading) for e in self.keys.values())
        return (*keys, *measures, *(row.get(name) for name in self.other_columns))


def labels_of(match: NumberedMatch) -> tuple[str, ...]:
    """Return the variables of the rows of a match, in order."""
    label = {place: A for A, bound in match.bindings or () for place in bound}
    return tuple(label[place] for place in match.events)


# ---------------------------------------------------------------------------------------------------------------------
# Texts that explain a search: a condition of DEFINE with the values that it looks up, and the labels of rows.


def condition_text(made: RowOutput, A: str, frame: Frame, outcome: str = "") -> str:
    """Return the text of a variable's condition, followed by the values of the columns that it looks up.

    outcome: a text to put between the two, such as "is false".
    """
    condition = next(one.condition for one in made.clause.define if one.variable == A)
    found = (value(e, frame) for e in rows.lookups(made.q.conditions[A]))
    values = zip(map(show_expression, rows.lookups(condition)), found, strict=True)
    shown = dict.fromkeys(f"{text} is {_value_text(v)}" for text, v in values)
    return f"{show_expression(condition)}{outcome}{', where ' + ', '.join(shown) if shown else ''}"


def _value_text(v: Nullable) -> str:
    return show_expression(rows.RowConstant(v)) if v is None or isinstance(v, timedelta) else show_value(v)


def labels_text(labels: Iterable[str]) -> str:
    """Return the labels of rows as text; more than three equal labels in a row are written as A{4}."""
    runs = ((A, len(list(run))) for A, run in groupby(labels))
    texts = (f"{A}{{{n}}}" if n > 3 else " ".join([A] * n) for A, n in runs)
    return " ".join(texts) or "the empty match"
