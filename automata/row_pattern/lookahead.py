"""The match at a row where conditions look at columns alone: backwards over the rows, then forwards.

From the last row to the first it is found for each row and state whether a match can be completed that takes the row in
that state. From a row the match is then found without trying: at each step the first way that can be completed is the
preferred one. Both passes take time in proportion to the rows, whatever the pattern.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from cerify.automata.row_pattern.compile import ACCEPT, Automaton, Way
from cerify.automata.row_pattern.conditions import Columns, on_columns, truths
from cerify.semantics.budget import check_time
from cerify.semantics.row_pattern.clauses import MatchRecognize

ROWS_TOGETHER = 4096  # rows between two looks at the clock; fewer where a row has many states


@dataclass(frozen=True)
class Lookahead:
    """The columns of a partition. A condition that looks at more than columns is taken to be true."""

    q: MatchRecognize
    automaton: Automaton
    columns: Columns
    length: int

    @cached_property
    def open(self) -> list[int]:
        """For each row the states in which it may be taken so that a match can be completed, as the bits of a number.

        There is one more, after the last row, in which there is no state.
        """
        length, follow = self.length, self.automaton.follow
        conditions = {
            A: truths(e, A, self.columns, length) for A, e in self.q.conditions.items() if on_columns(self.q, A)
        }
        taken = [conditions.get(A) for A in self.automaton.variables]
        onward = [sum(1 << way.target for way in ways if way.target != ACCEPT and not way.end) for ways in follow]
        ends = [any(way.target == ACCEPT and not way.end for way in ways) for ways in follow]
        last = [any(way.target == ACCEPT for way in ways) for ways in follow]
        found = [0] * (length + 1)
        together = max(1, ROWS_TOGETHER // max(1, len(taken)))
        for r in range(length - 1, -1, -1):
            if r % together == 0:
                check_time()
            completed = last if r == length - 1 else ends
            later = found[r + 1]
            for state, true in enumerate(taken):
                if (true is None or true[r]) and (completed[state] or onward[state] & later):
                    found[r] |= 1 << state
        return found

    def match_at(self, s: int, number: int) -> list[int] | None:
        """The states of the rows of the match that starts at a row; None where there is none."""
        taken: list[int] = []
        way = self._chosen(self.automaton.first, s, s == 0)
        while way is not None and way.target != ACCEPT:
            taken.append(way.target)
            way = self._chosen(self.automaton.follow[way.target], s + len(taken), False)
        return None if way is None else taken

    def _chosen(self, ways: Sequence[Way], r: int, at_start: bool) -> Way | None:
        """The first of the ways at the row r that can be completed."""
        return next(self.possible(ways, r, at_start), None)

    def possible(self, ways: Sequence[Way], r: int, at_start: bool) -> Iterator[Way]:
        """The ways at the row r that can be completed."""
        at_end = r == self.length
        for way in ways:
            held = (at_start or not way.start) and (at_end or not way.end)
            if held and (way.target == ACCEPT or self.open[r] >> way.target & 1):
                yield way
