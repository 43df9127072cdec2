"""The matches of a clause by its automaton: backwards over the rows to see what can be completed, then forwards.

From the last row to the first it is found for each row and state whether a match can be completed that takes the row in
that state. From a row the match is then found without trying: at each step the first way that can be completed is the
preferred one. Both passes take time in proportion to the rows, whatever the pattern.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from cerify.automata.row_pattern.compile import ACCEPT, Automaton, Way, compile_pattern
from cerify.automata.row_pattern.conditions import Columns, truths, why_not
from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import Stream
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.row_pattern.matches import NumberedMatch
from cerify.semantics.row_pattern.resolve import column_values, columns_of, resolved
from cerify.semantics.values import Value

ROWS_TOGETHER = 4096  # rows between two looks at the clock


def answers(q: MatchRecognize, S: Stream, budget: Budget = Budget()) -> Iterator[NumberedMatch]:
    """The matches in the order in which they are found, the partitions in the order of their first row.

    Raises Unsupported where a condition looks at more than columns, IllFormed where AFTER MATCH SKIP leads nowhere, and
    BudgetExceeded.
    """
    if (refused := why_not(q)) is not None:
        raise refused
    q = resolved(q, columns_of(S))
    automaton = compile_pattern(q.pattern, budget)
    columns = column_values(S)
    for places in partitions(q, columns, len(S)):
        mine = {name: [values[place] for place in places] for name, values in columns.items()}
        yield from Run(q, automaton, places, mine).matches()


def partitions(q: MatchRecognize, columns: Columns, length: int) -> list[list[int]]:
    """The positions of each partition in order, by the ranks of the values of PARTITION BY and ORDER BY."""
    keys = [_ranks(columns.get(one.name), length, False, False) for one in q.partition]
    order = []
    for one in q.order:
        first = one.descending if one.nulls is None else one.nulls == "FIRST"  # NULL is above all values
        order.append(_ranks(columns.get(one.column.name), length, one.descending, first))
    found: dict[tuple[int, ...], list[int]] = {}
    for place in range(length):
        found.setdefault(tuple(key[place] for key in keys), []).append(place)
    return [sorted(places, key=lambda place: tuple(key[place] for key in order)) for places in found.values()]


def _ranks(values: Sequence[Any] | None, length: int, descending: bool, nulls_first: bool) -> list[int]:
    """For each row the place of its value among the distinct ones of its column."""
    if values is None:
        return [0] * length
    keys = [None if value is None else _key(value) for value in values]
    distinct = sorted({key for key in keys if key is not None}, reverse=descending)
    rank = {key: n for n, key in enumerate(distinct)}
    null = -1 if nulls_first else len(distinct)
    return [null if key is None else rank[key] for key in keys]


def _key(value: Value) -> tuple[int, Any]:
    """What a value is ordered by: first booleans, then numbers, NaN after the others, then strings, then times."""
    match value:
        case bool():
            return 0, value
        case float() if value != value:
            return 2, 0
        case int() | float():
            return 1, value
        case str():
            return 3, value
        case datetime():
            return 4, value


@dataclass(frozen=True)
class Run:
    """One partition: the positions of its rows, and its columns."""

    q: MatchRecognize
    automaton: Automaton
    places: Sequence[int]
    columns: Mapping[str, Sequence[Any]]

    @cached_property
    def open(self) -> list[int]:
        """For each row the states in which it may be taken so that a match can be completed, as the bits of a number.

        There is one more, after the last row, in which there is no state.
        """
        length, follow = len(self.places), self.automaton.follow
        conditions = {A: truths(e, A, self.columns, length) for A, e in self.q.conditions.items()}
        taken = [conditions.get(A) for A in self.automaton.variables]
        onward = [sum(1 << way.target for way in ways if way.target != ACCEPT and not way.end) for ways in follow]
        ends = [any(way.target == ACCEPT and not way.end for way in ways) for ways in follow]
        last = [any(way.target == ACCEPT for way in ways) for ways in follow]
        found = [0] * (length + 1)
        for r in range(length - 1, -1, -1):
            if r % ROWS_TOGETHER == 0:
                check_time()
            completed = last if r == length - 1 else ends
            later = found[r + 1]
            for state, true in enumerate(taken):
                if (true is None or true[r]) and (completed[state] or onward[state] & later):
                    found[r] |= 1 << state
        return found

    def matches(self) -> Iterator[NumberedMatch]:
        """The matches in order. Raises IllFormed where AFTER MATCH SKIP leads nowhere."""
        s, number = 0, 0
        while s < len(self.places):
            if s % ROWS_TOGETHER == 0:
                check_time()
            states = self.match_at(s)
            if states is None:
                s += 1
                continue
            number += 1
            yield self._numbered(s, states, number)
            s = self._resumed(s, states, number)

    def match_at(self, s: int) -> list[int] | None:
        """The states of the rows of the match that starts at a row; None where there is none."""
        taken: list[int] = []
        way = self._chosen(self.automaton.first, s, s == 0)
        while way is not None and way.target != ACCEPT:
            taken.append(way.target)
            way = self._chosen(self.automaton.follow[way.target], s + len(taken), False)
        return None if way is None else taken

    def _chosen(self, ways: Sequence[Way], r: int, at_start: bool) -> Way | None:
        """The first of the ways at the row r that can be completed."""
        at_end = r == len(self.places)
        for way in ways:
            held = (at_start or not way.start) and (at_end or not way.end)
            if held and (way.target == ACCEPT or self.open[r] >> way.target & 1):
                return way
        return None

    def _numbered(self, s: int, states: list[int], number: int) -> NumberedMatch:
        events = tuple(self.places[s : s + len(states)])
        bound: dict[str, list[int]] = {}
        for place, state in zip(events, states, strict=True):
            bound.setdefault(self.automaton.variables[state], []).append(place)
        left_out = tuple(p for p, state in zip(events, states, strict=True) if self.automaton.excluded[state])
        bindings = tuple(sorted((A, tuple(sorted(its))) for A, its in bound.items()))
        at = events[-1] if events else self.places[s]
        return NumberedMatch(at, events, bindings, match_number=number, excluded=left_out)

    def _resumed(self, s: int, states: list[int], number: int) -> int:
        """The row where the search goes on. Raises IllFormed where that is no later row."""
        skip = self.q.skip
        if skip.to == "next row" or not states:
            return s + 1
        if skip.variable is None:
            return s + len(states)
        its = self.q.unions[skip.variable]
        there = [n for n, state in enumerate(states) if self.automaton.variables[state] in its]
        if not there:
            raise IllFormed(f"AFTER MATCH SKIP: match {number} has no row of {skip.variable}", skip.span)
        if (step := there[0 if skip.to == "first" else -1]) == 0:
            raise IllFormed(f"AFTER MATCH SKIP: to the first row of match {number}, again and again", skip.span)
        return s + step
