"""The answers of the definition over a table: its partitions, their matches, and the budget of the search."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import TYPE, Stream
from cerify.semantics.row_pattern.clauses import MatchRecognize, Order
from cerify.semantics.row_pattern.denote import RowMatch, matches
from cerify.semantics.row_pattern.expressions import Row
from cerify.semantics.row_pattern.matches import NumberedMatch
from cerify.semantics.row_pattern.reading import STANDARD, RowReading
from cerify.semantics.row_pattern.resolve import columns_of, resolved
from cerify.semantics.values import Value, kind

T = TypeVar("T")


def answers(
    q: MatchRecognize, S: Stream, reading: RowReading = STANDARD, budget: Budget = Budget()
) -> Iterator[NumberedMatch]:
    """The matches in the order in which they are found, the partitions in the order of their first row.

    Raises IllFormed where AFTER MATCH SKIP leads nowhere, and BudgetExceeded after budget.valuations labellings.
    """
    table, q = table_of(S), resolved(q, columns_of(S))
    watch = Watch(budget.valuations)
    for places in partitions(q, table, reading):
        for found in matches(q, [table[place] for place in places], reading, watch):
            yield match_of(q, found, places)


def table_of(S: Stream) -> list[Row]:
    """The rows of a table, with the column "type"."""
    return [{**event.attributes, TYPE: event.type} for event in S]


def partitions(q: MatchRecognize, table: Sequence[Row], reading: RowReading) -> list[list[int]]:
    """The positions of the rows of each partition in order; rows that tie stay in the order of the table."""
    found: dict[Any, list[int]] = {}
    for place, row in enumerate(table):
        found.setdefault(tuple(_key(row.get(one.name)) for one in q.partition), []).append(place)
    for one in reversed(q.order):
        for key, places in found.items():
            found[key] = _ordered(places, table, one, reading)
    return list(found.values())


def _ordered(places: list[int], table: Sequence[Row], one: Order, reading: RowReading) -> list[int]:
    name = one.column.name
    there = [place for place in places if name in table[place]]
    there.sort(key=lambda place: _key(table[place][name]), reverse=one.descending)
    nulls = [place for place in places if name not in table[place]]
    first = {"high": one.descending, "low": not one.descending, "last": False}[reading.nulls]
    if one.nulls is not None:
        first = one.nulls == "FIRST"
    return nulls + there if first else there + nulls


def _key(value: Value | None) -> Any:
    """What values that are not distinct have in common, and what they are ordered by: NaN comes after all numbers."""
    if value is None:
        return None
    is_nan = isinstance(value, float) and math.isnan(value)
    return kind(value), is_nan, 0 if is_nan else value


def match_of(q: MatchRecognize, found: RowMatch, places: list[int]) -> NumberedMatch:
    """A match in a partition whose rows have these positions."""
    events = tuple(places[found.start : found.end])
    bound: dict[str, list[int]] = {}
    for place, label in zip(events, found.labelling, strict=True):
        bound.setdefault(label.variable, []).append(place)
    excluded = tuple(place for place, label in zip(events, found.labelling, strict=True) if label.excluded)
    bindings = tuple((A, tuple(sorted(bound[A]))) for A in sorted(bound))
    at = events[-1] if events and q.window is None else places[found.row]
    return NumberedMatch(at, events, bindings, match_number=found.number, excluded=excluded)


class Watch:
    """Counts the steps of a search. Raises BudgetExceeded where there are more than the limit."""

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
                f"more than {self.limit} labellings; the definition is followed one by one, so give a smaller table, "
                "or a pattern in which less can be labelled in several ways"
            )
