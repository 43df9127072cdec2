"""The matches of a clause by its automaton: partitions and frames, where the search goes on, match numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Protocol

from cerify.automata.row_pattern.backtracking import Backtracking
from cerify.automata.row_pattern.compile import Automaton, compile_pattern
from cerify.automata.row_pattern.conditions import Columns, why_not
from cerify.automata.row_pattern.distances import at_fixed_distances
from cerify.automata.row_pattern.lookahead import ROWS_TOGETHER, Lookahead
from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import Stream
from cerify.semantics.row_pattern.clauses import MatchRecognize, Skip
from cerify.semantics.row_pattern.matches import NumberedMatch
from cerify.semantics.row_pattern.resolve import column_values, columns_of, resolved
from cerify.semantics.values import Value


def answers(q: MatchRecognize, S: Stream, budget: Budget = Budget()) -> Iterator[NumberedMatch]:
    """The matches in the order in which they are found, the partitions in the order of their first row.

    Raises IllFormed where AFTER MATCH SKIP leads nowhere, and BudgetExceeded.
    """
    q = at_fixed_distances(resolved(q, columns_of(S)), budget)
    automaton = compile_pattern(q.pattern, budget)
    columns = column_values(S)
    for places in partitions(q, columns, len(S)):
        mine = {name: [values[place] for place in places] for name, values in columns.items()}
        yield from Run(q, automaton, places, mine, budget).matches()


def partitions(q: MatchRecognize, columns: Columns, length: int) -> list[list[int]]:
    """The positions of each partition in order, by the ranks of the values of PARTITION BY and ORDER BY."""
    keys = [ranks(columns.get(one.name), length, False, False) for one in q.partition]
    order = []
    for one in q.order:
        first = one.descending if one.nulls is None else one.nulls == "FIRST"  # NULL is above all values
        order.append(ranks(columns.get(one.column.name), length, one.descending, first))
    found: dict[tuple[int, ...], list[int]] = {}
    for place in range(length):
        found.setdefault(tuple(key[place] for key in keys), []).append(place)
    return [sorted(places, key=lambda place: tuple(key[place] for key in order)) for places in found.values()]


def ranks(values: Sequence[Any] | None, length: int, descending: bool, nulls_first: bool) -> list[int]:
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


class Search(Protocol):
    """What finds the match that starts at a row of a partition."""

    def match_at(self, s: int, number: int) -> list[int] | None:
        """The states of its rows, if it has this number; None where there is none."""


@dataclass(frozen=True)
class Run:
    """One partition: the positions of its rows, and its columns."""

    q: MatchRecognize
    automaton: Automaton
    places: Sequence[int]
    columns: Mapping[str, Sequence[Any]]
    budget: Budget = field(default_factory=Budget)

    @cached_property
    def search(self) -> Search:
        """What finds the match that starts at a row, over all rows."""
        ahead = Lookahead(self.q, self.automaton, self.columns, len(self.places))
        return ahead if why_not(self.q) is None else Backtracking(ahead, self.budget)

    def found(self, r: int, number: int) -> tuple[int, list[int]] | None:
        """The row at which the match starts that a search at the row r finds, and the states of the match.

        In WINDOW the rows of the frame of r are searched as if they were a partition.
        """
        window = self.q.window
        if window is None:
            states = self.search.match_at(r, number)
            return None if states is None else (r, states)
        check_time()
        rows = slice(r, None if window.following is None else r + window.following + 1)
        columns = {name: values[rows] for name, values in self.columns.items()}
        framed = replace(self, places=self.places[rows], columns=columns)
        for n in range(len(framed.places) if window.seek else 1):
            if (states := framed.search.match_at(n, number)) is not None:
                return r + n, states
        return None

    def matches(self) -> Iterator[NumberedMatch]:
        """The matches in order. Raises IllFormed where AFTER MATCH SKIP leads nowhere."""
        r, number = 0, 0
        while r < len(self.places):
            if r % ROWS_TOGETHER == 0:
                check_time()
            found = self.found(r, number + 1)
            if found is None:
                r += 1
                continue
            number += 1
            s, states = found
            places = self.places[s : s + len(states)]
            at = places[-1] if states and self.q.window is None else self.places[r]
            yield numbered(self.automaton, at, places, states, number)
            r = self.resumed(r, s, states, number)

    def resumed(self, r: int, s: int, states: list[int], number: int) -> int:
        """The row where the search goes on after that at the row r. Raises IllFormed where that is no later row."""
        skip = self.q.skip
        if skip.to == "next row" or not states:
            return r + 1
        if skip.variable is None:
            return s + len(states)
        its = self.q.unions[skip.variable]
        there = [n for n, state in enumerate(states) if self.automaton.variables[state] in its]
        step = there[0 if skip.to == "first" else -1] if there else 0
        if step == 0:
            raise skip_error(skip, number, bool(there))
        return s + step


def numbered(A: Automaton, at: int, places: Sequence[int], states: Sequence[int], number: int) -> NumberedMatch:
    """The match of the rows at these positions in these states, reported at a position."""
    bound: dict[str, list[int]] = {}
    for place, state in zip(places, states, strict=True):
        bound.setdefault(A.variables[state], []).append(place)
    excluded = tuple(place for place, state in zip(places, states, strict=True) if A.excluded[state])
    bindings = tuple((name, tuple(sorted(bound[name]))) for name in sorted(bound))
    return NumberedMatch(at, tuple(places), bindings, match_number=number, excluded=excluded)


def skip_error(skip: Skip, number: int, to_first: bool) -> IllFormed:
    """That AFTER MATCH SKIP leads to the first row of a match, or to none."""
    if to_first:
        return IllFormed(f"AFTER MATCH SKIP: to the first row of match {number}, again and again", skip.span)
    return IllFormed(f"AFTER MATCH SKIP: match {number} has no row of {skip.variable}", skip.span)
