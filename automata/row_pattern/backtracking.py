"""The match at a row where conditions look at what the match has so far: a search with a memory.

The ways are tried in the order of preferment. What follows depends on the row, on the state of the automaton and on
what conditions see of the rows so far alone (registers.py); where a search from these has failed it is not tried again.
Ways that fail also if all conditions on the match are taken to be true are not tried at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from cerify.automata.row_pattern.compile import ACCEPT, Way
from cerify.automata.row_pattern.conditions import on_columns
from cerify.automata.row_pattern.lookahead import ROWS_TOGETHER, Lookahead
from cerify.automata.row_pattern.registers import Registers, View
from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import BudgetExceeded


class Backtracking:
    """The rows of a partition.

    failed: of the rows, states and views from which no match is completed those that are known.
    """

    def __init__(self, ahead: Lookahead, budget: Budget = Budget()) -> None:
        self.ahead, self.limit = ahead, budget.valuations
        self.failed: set[tuple[int, int, View]] = set()
        self.steps = 0

    @cached_property
    def registers(self) -> Registers:
        """What the conditions see."""
        q = self.ahead.q
        return Registers([q.conditions[A] for A in self._contextual], q.unions, self.ahead.columns, self.ahead.length)

    def match_at(self, s: int, number: int) -> list[int] | None:
        """The states of the rows of the match that starts at a row, if it has this number; None where there is none.

        Raises BudgetExceeded where more than budget.valuations failures would have to be remembered.
        """
        automaton, ahead = self.ahead.automaton, self.ahead
        view = self.registers.initial(number)
        taken: list[tuple[int, View]] = []
        pending: list[Iterator[Way]] = [ahead.possible(automaton.first, s, s == 0)]
        while pending:
            way = next(pending[-1], None)
            r = s + len(taken)
            if way is None:
                pending.pop()
                if taken:
                    state, at = taken.pop()
                    self.give_back(s, r - 1, state, at)
            elif way.target == ACCEPT:
                return [state for state, _ in taken]
            elif (after := self.taken(r, way.target, taken[-1][1] if taken else view)) is not None:
                taken.append((way.target, after))
                pending.append(ahead.possible(automaton.follow[way.target], r + 1, False))
        return None

    def taken(self, r: int, state: int, view: View) -> View | None:
        """The view after the row r is taken in a state; None if its condition is not true, or it leads nowhere."""
        self.steps += 1
        if self.steps % ROWS_TOGETHER == 0:
            check_time()
        A, q = self.ahead.automaton.variables[state], self.ahead.q
        after = self.registers.after(view, r, A)
        if (r, state, after) in self.failed:
            return None
        if A in self._contextual and self.registers.value(q.conditions[A], after, r, A) is not True:
            return None
        return after

    @cached_property
    def _contextual(self) -> frozenset[str]:
        """The variables whose conditions look at what the match has so far."""
        q = self.ahead.q
        return frozenset(A for A in q.conditions if not on_columns(q, A))

    def give_back(self, s: int, r: int, state: int, view: View) -> None:
        """Remember that the row r in a state leads to no match. Raises BudgetExceeded as match_at does."""
        self.failed.add((r, state, view))
        if len(self.failed) > self.limit:
            self.failed = {other for other in self.failed if other[0] >= s}
            if 2 * len(self.failed) > self.limit:
                raise BudgetExceeded(
                    f"more than {self.limit} ways to label rows had to be remembered; give smaller partitions, or a "
                    "pattern in which less can be labelled in several ways"
                )
